//! Products of two columns, with the columns themselves and a constant.

use featgen::data::Columns;
use featgen::space::{Candidate, Feature, Inputs, PolySpace};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use crate::cases;
use crate::common::Storage;
use crate::contract::{Known, MOST_OUTPUTS, keeps_the_contract};

/// The candidates of a space of degree two, with the coefficients of the kernel.
fn quadratic(stored: &dyn Columns, columns: &[Vec<f64>], gamma: f64, coef0: f64) -> Vec<Known> {
    let id = |j: usize| stored.id(j);
    let known = |feature: Feature, column: Vec<f64>, coefficient: f64| Known {
        candidate: Candidate::Feature(feature.clone()),
        features: vec![(feature, column)],
        eta_squared: coefficient.powi(-2),
    };
    let mut all = vec![known(Feature::product([]), vec![1.0; stored.rows()], coef0)];
    for (j, x) in columns.iter().enumerate() {
        all.push(known(Feature::input(id(j)), x.clone(), (2.0 * gamma * coef0).sqrt()));
        for (k, z) in columns.iter().enumerate().skip(j) {
            let product = x.iter().zip(z).map(|(x, z)| x * z).collect();
            let coefficient = if j == k { gamma } else { 2f64.sqrt() * gamma };
            all.push(known(Feature::product([id(j), id(k)]), product, coefficient));
        }
    }
    all.retain(|known| known.eta_squared.is_finite());
    all
}

proptest! {
    #![proptest_config(cases(40))]

    /// Products of two: pruned and exhaustive search are what brute force finds, in every storage.
    #[test]
    fn products_of_two(
        seed in any::<u64>(), n in 2usize..30, m in 1usize..14, zeros in 0.0..0.9, coef0 in any::<bool>(),
        one_signed in any::<bool>(),
    ) {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let real = |rng: &mut ChaCha8Rng| rng.sample::<f32, _>(StandardNormal).into();
        let value = |rng: &mut ChaCha8Rng| if rng.random_bool(zeros) { 0.0 } else { real(rng) };
        let mut columns: Vec<Vec<f64>> = (0..m).map(|_| (0..n).map(|_| value(rng)).collect()).collect();
        columns[m / 2] = columns[0].clone();
        if one_signed {
            columns.iter_mut().flatten().for_each(|x| *x = x.abs());
            columns[0].iter_mut().for_each(|x| *x = -*x);
        }
        let v = (0..MOST_OUTPUTS * n).map(|_| value(rng)).collect::<Vec<_>>();
        let (gamma, coef0) = (rng.random_range(0.1..3.0), if coef0 { rng.random_range(0.1..3.0) } else { 0.0 });
        for storage in Storage::ALL {
            let stored = storage.store(&columns, &(0..m as u64).map(|j| 5 * j + 1).collect::<Vec<_>>());
            let known = quadratic(&*stored, &columns, gamma, coef0);
            let space = || PolySpace::new(Inputs::over(&*stored), gamma, coef0).unwrap();
            let what = format!("seed {seed}, {n} x {m} {storage:?}, gamma {gamma}, coef0 {coef0}");
            keeps_the_contract(&space(), &known, std::slice::from_ref(&v), false, &what);
            keeps_the_contract(&space().exhaustive(), &known, std::slice::from_ref(&v), false, &format!("{what}, exhaustive"));
        }
    }
}
