//! The machine, run to a certified gap of 1e-6, finds the optimum that a conic solver finds, with any of its own
//! solvers.

mod common;

use common::Problem;
use featgen::Context;
use featgen::LinearSpace;
use rayon::prelude::*;

const GAP: f64 = 1e-6;

/// Runs the machine on all problems; the solver should close the gap, unless its last digits are beyond it.
fn agrees(solver: &str, make: fn(u64) -> Problem, closes: bool) {
    // One problem a thread: they are small, and plain gradients take long.
    (0..80).into_par_iter().map(make).for_each(|problem| {
        let columns = problem.store();
        let space = LinearSpace::over(&*columns);
        let model = problem
            .machine()
            .gap(GAP)
            .solver(solver)
            .context(&Context::new().threads(1))
            .fit(&space, &problem.labels())
            .unwrap();
        let (found, expected) = (model.certificate.objective, problem.optimum(problem.cost));
        let (rounds, gap) = (model.rounds.len(), model.certificate.gap());
        let away = (found - expected) / expected;
        assert!(away.abs() <= GAP, "{problem}: {found}, not {expected}: {away:e} away after {rounds} rounds");
        assert!(gap <= GAP || !closes, "{problem}: a gap of {gap:e} after {rounds} rounds");
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
