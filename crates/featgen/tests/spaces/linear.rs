//! Columns as they are.

use std::collections::HashSet;

use featgen::LinearSpace;
use featgen::data::Columns;
use featgen::space::{Ask, Candidate, Feature, FeatureSpace};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use crate::common::{Problem, Storage};
use crate::contract::{Known, MOST_OUTPUTS, OUTPUTS, keeps_the_contract};

/// The candidates of a linear space: its columns.
fn linear(stored: &dyn Columns, columns: &[Vec<f64>]) -> Vec<Known> {
    let known = |(k, x): (usize, &Vec<f64>)| {
        let feature = Feature::input(stored.id(k));
        let candidate = Candidate::Feature(feature.clone());
        Known { candidate, features: vec![(feature, x.clone())], eta_squared: 1.0 }
    };
    columns.iter().enumerate().map(known).collect()
}

/// A matrix large enough that every storage splits it into several batches.
const ROWS: usize = 3000;
const COLUMNS: usize = 150;

fn ids() -> Vec<u64> {
    (0..COLUMNS as u64).map(|j| 3 * j * j + 5).collect()
}

fn check_linear(columns: &[Vec<f64>], vs: &[Vec<f64>], exact: bool) {
    for storage in Storage::ALL {
        let stored = storage.store(columns, &ids());
        assert!(stored.batch() < COLUMNS, "{storage:?}: only one batch");
        let space = LinearSpace::over(&*stored);
        keeps_the_contract(
            &space,
            &linear(&*stored, columns),
            vs,
            exact,
            &format!("linear over {storage:?}"),
        );
    }
}

#[test]
fn linear_with_real_values() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut normal =
        |n: usize| (0..n).map(|_| rng.sample::<f32, _>(StandardNormal).into()).collect::<Vec<f64>>();
    let mut columns: Vec<_> = (0..COLUMNS).map(|_| normal(ROWS)).collect();
    // Equal columns have equal scores, to the bit, wherever they stand.
    for (copy, of) in [(3, 2), (COLUMNS - 1, 1), (70, 2), (71, 70)] {
        columns[copy] = columns[of].clone();
    }
    columns[90].fill(0.0);
    let vs = [normal(MOST_OUTPUTS * ROWS)];
    check_linear(&columns, &vs, false);
    for storage in Storage::ALL {
        let stored = storage.store(&columns, &ids());
        let none = HashSet::new();
        let ask = Ask::many(&vs[0], MOST_OUTPUTS, COLUMNS, &none);
        let found = LinearSpace::over(&*stored).worst_case(&ask).unwrap();
        let place = |j: usize| {
            let candidate = Candidate::Feature(Feature::input(stored.id(j)));
            found.best.iter().position(|s| s.item == candidate).unwrap()
        };
        for [first, second] in [[2, 3], [1, COLUMNS - 1], [3, 70], [70, 71]] {
            assert_eq!(
                place(second),
                place(first) + 1,
                "{storage:?}: columns {first} and {second} are equal"
            );
        }
    }
}

#[test]
fn linear_with_ties() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut small = |n: usize, most: i32, zeros: f64| -> Vec<f64> {
        (0..n)
            .map(|_| if rng.random_bool(zeros) { 0.0 } else { rng.random_range(-most..=most).into() })
            .collect()
    };
    // Few distinct sums, so that many features tie and many have score 0.
    let columns: Vec<_> = (0..COLUMNS).map(|_| small(ROWS, 2, 0.6)).collect();
    let all = MOST_OUTPUTS * ROWS;
    let vs = vec![small(all, 1, 0.99), small(all, 1, 0.997), small(all, 3, 0.5), vec![0.0; all]];
    check_linear(&columns, &vs, true);
}

#[test]
fn linear_on_small_problems() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for problem in (0..20).map(Problem::random) {
        let stored = problem.store();
        let signs = problem.signs.iter().cycle().take(MOST_OUTPUTS * problem.signs.len());
        let v: Vec<f64> = signs.map(|y| y * rng.random_range(0.0..2.0)).collect();
        let features = linear(&*stored, &problem.columns);
        keeps_the_contract(&LinearSpace::over(&*stored), &features, &[v], false, &problem.to_string());
    }
}

#[test]
fn a_value_that_is_not_a_number_is_named() {
    for storage in Storage::ALL {
        for bad in [f64::NAN, f64::INFINITY] {
            let mut columns = vec![vec![1.0; 6]; 4];
            columns[2][4] = bad;
            let stored = storage.store(&columns, &[0, 1, 2, 3]);
            for outputs in OUTPUTS {
                let (v, none) = (vec![1.0; 6 * outputs], HashSet::new());
                let worst = LinearSpace::over(&*stored).worst_case(&Ask::many(&v, outputs, 2, &none));
                let error = worst.unwrap_err().to_string();
                assert!(error.contains("row 5, feature 3"), "{storage:?}: {error}");
            }
        }
    }
}
