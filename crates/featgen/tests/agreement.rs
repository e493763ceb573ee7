//! The machine, run to a certified gap of 1e-6, finds the optimum that a conic solver finds, with any of its own
//! solvers.

mod common;

use common::Problem;
use featgen::data::{Labels, Names};
use featgen::objective::{self, Kept};
use featgen::{Context, LinearSpace, Machine};
use rayon::prelude::*;

const GAP: f64 = 1e-6;

/// Runs the machine on all problems; the solver should close the gap, unless its last digits are beyond it.
fn agrees(solver: &str, make: fn(u64) -> Problem, closes: bool) {
    agrees_to(GAP, 80, solver, make, closes);
}

fn agrees_to(gap: f64, count: u64, solver: &str, make: fn(u64) -> Problem, closes: bool) {
    // One problem a thread: they are small, and plain gradients take long.
    (0..count).into_par_iter().map(make).for_each(|problem| {
        let columns = problem.store();
        let space = LinearSpace::over(&*columns);
        let model = problem
            .machine()
            .gap(gap)
            .solver(solver)
            .context(&Context::new().threads(1))
            .fit(&space, &problem.labels())
            .unwrap();
        let (found, expected) = (model.certificate.objective, problem.optimum(problem.cost));
        let (rounds, reached) = (model.rounds.len(), model.certificate.gap());
        let away = (found - expected) / expected;
        assert!(away.abs() <= gap, "{problem}: {found}, not {expected}: {away:e} away after {rounds} rounds");
        assert!(reached <= gap || !closes, "{problem}: a gap of {reached:e} after {rounds} rounds");
    });
}

#[test]
fn newton_agrees() {
    agrees("newton", Problem::random, true);
}

#[test]
fn apg_agrees() {
    agrees("apg", Problem::random, true);
}

#[test]
fn pg_agrees() {
    agrees("pg", Problem::mild, false);
}

#[test]
fn mkl_agrees() {
    agrees_to(1e-5, 20, "mkl", Problem::mild, false);
}

/// What has no dual in one variable an instance, and what it would have to keep out of the dual, is refused before any work.
#[test]
fn mkl_refuses_what_it_cannot_solve() {
    let problem = Problem::random(0);
    let columns = problem.store();
    let space = LinearSpace::over(&*columns);
    let refusal = |machine: Machine, labels: &Labels| {
        machine.solver("mkl").fit(&space, labels).unwrap_err().to_string()
    };
    let kept = Kept::new(&*columns, &Names::default(), &[problem.ids[0]]).unwrap();
    let message = refusal(Machine::new().keep(kept), &problem.labels());
    assert!(
        message.contains("solver") && message.contains("mkl knows no columns that are kept"),
        "{message}"
    );
    let counts = Labels::from_numbers((0..problem.signs.len()).map(|i| (i % 3) as f64).collect());
    let three = Labels::from_text((0..problem.signs.len()).map(|i| ["a", "b", "c"][i % 3]));
    for (loss, labels) in [("softmax", &three), ("squared-hinge", &three), ("poisson", &counts)] {
        let message = refusal(Machine::new().loss(objective::by_name(loss).unwrap()), labels);
        assert!(message.contains("mkl is for two classes and for numbers"), "{loss}: {message}");
    }
}
