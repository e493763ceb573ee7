//! The machine, run to a certified gap of 1e-6, finds the optimum that a conic solver finds, with any of its own
//! solvers.

mod common;

use common::Problem;
use featgen::LinearSpace;

const GAP: f64 = 1e-6;

fn agrees(solver: &str) {
    for problem in (0..80).map(Problem::random) {
        let columns = problem.store();
        let space = LinearSpace::over(&*columns);
        let model = problem.machine().gap(GAP).solver(solver).fit(&space, &problem.labels()).unwrap();
        let (found, expected) = (model.certificate.objective, problem.optimum(problem.cost));
        let rounds = model.rounds.len();
        assert!(
            (found - expected).abs() <= GAP * found,
            "{problem}: {found} after {rounds} rounds, but the optimum is {expected}: {:e} away",
            (found - expected) / expected
        );
        assert!(model.certificate.gap() <= GAP, "{problem}: stopped with gap {:e}", model.certificate.gap());
    }
}

#[test]
fn newton_agrees() {
    agrees("newton");
}

#[test]
fn apg_agrees() {
    agrees("apg");
}

#[test]
fn pg_agrees() {
    agrees("pg");
}
