//! Rounds to a certified gap that work on features instead of blocks.

mod common;

use common::{Problem, Storage};
use featgen::data::{Columns, Labels, Layout};
use featgen::machine::Stop;
use featgen::{LinearSpace, Machine, Model};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Uniform columns, and classes apart by the sum of the first few.
fn planted(rows: usize, columns: usize, relevant: usize) -> (Box<dyn Columns>, Labels) {
    let rng = &mut ChaCha8Rng::seed_from_u64(5);
    let x: Vec<Vec<f64>> =
        (0..columns).map(|_| (0..rows).map(|_| rng.random_range(-1.0..1.0)).collect()).collect();
    let class = |i: usize| if x[..relevant].iter().map(|x| x[i]).sum::<f64>() > 0.0 { "+1" } else { "-1" };
    let ids: Vec<u64> = (0..columns as u64).collect();
    (Storage::F64(Layout::ColumnMajor).store(&x, &ids), Labels::from_text((0..rows).map(class)))
}

/// Few rounds are enough, whatever B is.
#[test]
fn takes_few_rounds_for_any_budget() {
    let (data, labels) = planted(300, 500, 40);
    let fit = |budget: usize| -> Model {
        let machine = Machine::new().cost(0.1).budget(budget).gap(1e-5);
        machine.fit(&LinearSpace::over(&*data), &labels).unwrap()
    };
    for budget in [1, 10, 60, 200, 1000] {
        let model = fit(budget);
        let (rounds, gap) = (model.rounds.len(), model.certificate.gap());
        assert!(model.stopped == Stop::Gap && gap <= 1e-5, "B = {budget}: {:?}, {gap}", model.stopped);
        assert!(rounds <= 12, "B = {budget}: {rounds} rounds");
    }
}

/// Blocks, which first-order solvers and wanted numbers of features go by, come to the same optimum.
#[test]
fn blocks_come_to_the_same_optimum() {
    for problem in (0..20).map(Problem::mild) {
        let columns = problem.store();
        let fit = |machine: Machine| {
            machine.gap(1e-5).fit(&LinearSpace::over(&*columns), &problem.labels()).unwrap().certificate
        };
        let on_features = fit(problem.machine());
        for certificate in
            [fit(problem.machine().solver("apg")), fit(problem.machine().features(problem.columns.len()))]
        {
            let (a, b) = (on_features, certificate);
            let apart = a.lower_bound > b.objective || b.lower_bound > a.objective;
            assert!(!apart, "{problem}: {a:?} {b:?}");
        }
    }
}

/// A gap that is asked for switches off no rule that is given.
#[test]
fn stops_by_the_rules_that_are_given() {
    let (data, labels) = planted(300, 500, 40);
    let machine = || Machine::new().cost(0.1).budget(5).gap(1e-9);
    let fit = |machine: Machine| machine.fit(&LinearSpace::over(&*data), &labels).unwrap();
    let rounds = fit(machine().max_rounds(2));
    assert_eq!((rounds.stopped, rounds.rounds.len()), (Stop::Rounds, 2));
    let tolerance = fit(machine().tol(0.5));
    assert_eq!(tolerance.stopped, Stop::Tolerance);
    assert_eq!(fit(machine()).stopped, Stop::Gap);
}
