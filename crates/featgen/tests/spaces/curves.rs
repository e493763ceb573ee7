//! A curve for every column.

use featgen::space::{AdditiveSpace, Candidate, Feature, FeatureSpace, Inputs};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::cases;
use crate::common::Storage;
use crate::contract::{Known, MOST_OUTPUTS, keeps_the_contract};

/// The candidates of an additive space: for each input a group of features, with the columns that their formulas give.
fn additive(
    space: &AdditiveSpace<'_>,
    columns: &[Vec<f64>],
    value: impl Fn(&Feature, f64) -> f64,
) -> Vec<Known> {
    let known = |(g, x): (u32, &Vec<f64>)| {
        let candidate = Candidate::Group(g);
        let features = space.group(&candidate).unwrap().features;
        let column = |feature: Feature| {
            let values = x.iter().map(|&x| value(&feature, x)).collect();
            (feature, values)
        };
        Known { candidate, features: features.into_iter().map(column).collect(), eta_squared: 1.0 }
    };
    (0..).zip(columns).map(known).collect()
}

/// The value of a part of a curve, by its definition.
fn part_of_curve(feature: &Feature, x: f64) -> f64 {
    match feature {
        Feature::Step(step) => {
            let size = x.abs().powf(step.power.0) / step.top.0 * f64::from(step.of);
            let level = if x == 0.0 { 0.0 } else { size.round_ties_even().clamp(1.0, step.of.into()) };
            if level >= step.level.into() { (step.top.0 / f64::from(step.of)).sqrt() } else { 0.0 }
        }
        Feature::Wave(wave) => {
            let density = |k: i32| (-0.5 * (f64::from(k) * 0.55).powi(2)).exp();
            let total: f64 = (-5..=5).map(density).sum();
            let amplitude = (2.0 * density(wave.harmonic as i32) / total).sqrt();
            let phase = f64::from(wave.harmonic) * 0.55 * x / wave.sigma.0;
            amplitude * if wave.sine { phase.sin() } else { phase.cos() - 1.0 }
        }
        other => panic!("{other:?} is no part of a curve"),
    }
}

proptest! {
    #![proptest_config(cases(40))]

    /// Curves: levels of any number, powers, and waves, in every storage.
    #[test]
    fn curves(
        seed in any::<u64>(), n in 8usize..30, m in 1usize..14, zeros in 0.0..0.9, levels in 2usize..20, power in 0.3f64..3.0,
    ) {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let value = |rng: &mut ChaCha8Rng| if rng.random_bool(zeros) { 0.0 } else { rng.random_range(-2f32..2.0).into() };
        let columns: Vec<Vec<f64>> = (0..m).map(|_| (0..n).map(|_| value(rng)).collect()).collect();
        let sizes: Vec<Vec<f64>> = columns.iter().map(|x| x.iter().map(|x| x.abs()).collect()).collect();
        let v = (0..MOST_OUTPUTS * n).map(|_| value(rng)).collect::<Vec<_>>();
        for storage in Storage::ALL {
            let ids: Vec<u64> = (0..m as u64).map(|j| 5 * j + 1).collect();
            let (stored, positive) = (storage.store(&columns, &ids), storage.store(&sizes, &ids));
            let inputs = Inputs::over(&*stored);
            for (name, space, columns) in [
                ("hik", AdditiveSpace::hik(Inputs::over(&*positive), levels).unwrap(), &sizes),
                ("intersection", AdditiveSpace::intersection(inputs, levels, power).unwrap(), &columns),
                ("gaussian", AdditiveSpace::gaussian(inputs, Some(power)).unwrap(), &columns),
                ("gaussian by column", AdditiveSpace::gaussian(inputs, None).unwrap(), &columns),
            ] {
                let known = additive(&space, columns, part_of_curve);
                let what = format!("{name}, seed {seed}, {n} x {m} {storage:?}, {levels} levels, power {power}");
                keeps_the_contract(&space, &known, std::slice::from_ref(&v), false, &what);
            }
        }
    }
}
