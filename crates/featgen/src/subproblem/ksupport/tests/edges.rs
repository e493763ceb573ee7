//! Columns and data that leave little or nothing to solve, working sets that grow, and the same bits on any number of threads.

use std::sync::LazyLock;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use crate::context::Context;
use crate::data::{Column, Labels};
use crate::objective::{Free, Objective, by_name};
use crate::operator::Operator;
use crate::subproblem::ksupport::Solver;
use crate::subproblem::{Cache, Goal, Outcome, Problem, State, Subproblem};

static NEVER: LazyLock<Context> = LazyLock::new(Context::new);

fn goal(gap: f64) -> Goal<'static> {
    Goal { gap, decrease: None, context: &NEVER }
}

fn normal(rng: &mut ChaCha8Rng, n: usize, size: f64) -> Vec<f64> {
    (0..n).map(|_| size * rng.sample::<f64, _>(StandardNormal)).collect()
}

/// Labels of two classes by the sum of the first columns, with noise.
fn labels(columns: &[Vec<f64>], noise: &[f64]) -> Labels {
    let sum = |i: usize| columns.iter().take(3).map(|x| x[i]).sum::<f64>() + noise[i];
    Labels::from_text((0..noise.len()).map(|i| if i > 0 && (i == 1 || sum(i) > 0.0) { "1" } else { "-1" }))
}

fn hinge(columns: &[Vec<f64>], noise: &[f64], cost: f64) -> Box<dyn Objective> {
    let labels = labels(columns, noise);
    by_name("squared-hinge").unwrap().objective(&labels, vec![cost; noise.len()]).unwrap()
}

/// Adds columns as units of their own.
fn add(columns: &[Vec<f64>], cache: &mut Cache, state: &mut State) {
    for x in columns {
        state.blocks.push([(cache.len() as u32, 1.0)]);
        cache.extend(vec![Operator::Column(Column::Dense(x.clone()))]);
    }
    state.omega.resize(state.blocks.columns.len(), 0.0);
}

fn solve(columns: &[Vec<f64>], objective: &dyn Objective, k: usize, gap: f64) -> (Outcome, Vec<f64>) {
    let n = objective.costs().len();
    let (free, mut cache, mut state) = (Free::new(n, true), Cache::new(n), State::new(n, 1, 1));
    add(columns, &mut cache, &mut state);
    let problem = Problem { cache: &cache, objective, free: &free };
    let outcome = Solver::with_units(k, 1).solve(&problem, &mut state, &goal(gap));
    assert!(outcome.gap <= gap, "{outcome:?}");
    (outcome, state.omega)
}

#[test]
fn no_units_and_columns_that_say_nothing_leave_the_loss() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (real, noise) = (vec![normal(&mut rng, 40, 1.0)], normal(&mut rng, 40, 1.0));
    let objective = hinge(&real, &noise, 1.0);
    let (none, _) = solve(&[], &*objective, 3, 1e-10);
    let idle = [vec![0.0; 40], vec![7.0; 40], vec![1e6; 40], vec![0.0; 40]];
    let (same, w) = solve(&idle, &*objective, 3, 1e-10);
    assert!((none.objective - same.objective).abs() <= 1e-10 * none.objective);
    assert!(w.iter().all(|w| w.abs() < 1e-6), "{w:?}");
    // Beside a real one they change nothing.
    let (alone, _) = solve(&real, &*objective, 3, 1e-10);
    let all: Vec<Vec<f64>> = idle.into_iter().chain(real).collect();
    let (together, _) = solve(&all, &*objective, 3, 1e-10);
    assert!((alone.objective - together.objective).abs() <= 1e-9 * alone.objective);
}

/// With K = 1 a copy is of no use; with a larger K the same column may be used twice, at half the price.
#[test]
fn copies_of_a_column_share_its_weight() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let (x, noise) = (normal(&mut rng, 50, 1.0), normal(&mut rng, 50, 1.0));
    let objective = hinge(std::slice::from_ref(&x), &noise, 0.3);
    let copies = vec![x.clone(); 6];
    let (once, _) = solve(&copies[..1], &*objective, 1, 1e-10);
    let (lasso, _) = solve(&copies, &*objective, 1, 1e-10);
    assert!((once.objective - lasso.objective).abs() <= 1e-9 * once.objective);
    let (several, _) = solve(&copies, &*objective, 4, 1e-10);
    let doubled: Vec<f64> = x.iter().map(|x| 2.0 * x).collect();
    let (longer, _) = solve(&[doubled], &*objective, 1, 1e-10);
    assert!((several.objective - longer.objective).abs() <= 1e-9 * longer.objective);
}

/// At the optimum a unit at the top is as long as its score, one in the middle has the threshold as its score, and one without a
/// weight no more than that.
#[test]
fn the_threshold_splits_the_optimum() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let (n, k) = (100, 6);
    let columns: Vec<Vec<f64>> = (0..40).map(|_| normal(&mut rng, n, 1.0)).collect();
    let objective = hinge(&columns, &normal(&mut rng, n, 1.0), 0.1);
    let (free, mut cache, mut state) = (Free::new(n, true), Cache::new(n), State::new(n, 1, 1));
    add(&columns, &mut cache, &mut state);
    let problem = Problem { cache: &cache, objective: &*objective, free: &free };
    let mut solver = Solver::with_units(k, 1);
    solver.solve(&problem, &mut state, &goal(1e-12));
    let theta = solver.theta(&state);
    let scores = problem.transpose(&problem.residual(&free.decision(&state.f, &state.free)));
    let mut counts = [0; 3];
    for (w, score) in state.omega.iter().zip(scores) {
        let (kind, expected) = match w.abs() {
            0.0 => (0, score.clamp(-theta, theta)),
            length if length < theta => (1, theta.copysign(*w)),
            _ => (2, *w),
        };
        counts[kind] += 1;
        assert!((score - expected).abs() <= 1e-5 * theta, "{w} with score {score}, threshold {theta}");
    }
    assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
}

#[test]
fn separable_data_and_many_columns_are_solved() {
    for (n, p, cost, k) in [(20, 400, 1e4, 5), (60, 8, 1e6, 3), (30, 300, 1e-3, 10), (12, 500, 10.0, 1)] {
        let mut rng = ChaCha8Rng::seed_from_u64(p as u64);
        let columns: Vec<Vec<f64>> = (0..p).map(|_| normal(&mut rng, n, 1.0)).collect();
        let objective = hinge(&columns, &vec![0.0; n], cost);
        solve(&columns, &*objective, k, 1e-7);
        let labels = labels(&columns, &vec![0.0; n]);
        let logistic = by_name("logistic").unwrap().objective(&labels, vec![cost; n]).unwrap();
        solve(&columns, &*logistic, k, 1e-7);
    }
}

/// Columns of sizes from 1e-3 to 1e6.
#[test]
fn columns_of_all_sizes_are_solved() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let columns: Vec<Vec<f64>> = (0..60).map(|j| normal(&mut rng, 80, 10f64.powi(j % 10 - 3))).collect();
    let noise = normal(&mut rng, 80, 1e-3);
    for k in [1, 4, 20, 100] {
        solve(&columns, &*hinge(&columns, &noise, 1.0), k, 1e-7);
    }
}

/// All numbers of a path of growing working sets, on so many threads; `resumed` replaces the solver by another at every step.
fn path(threads: usize, resumed: bool) -> Vec<u64> {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let (n, k) = (300, 15);
    let columns: Vec<Vec<f64>> = (0..360).map(|_| normal(&mut rng, n, 1.0)).collect();
    let objective = hinge(&columns, &normal(&mut rng, n, 1.0), 0.05);
    let (free, mut cache, mut state) = (Free::new(n, true), Cache::new(n), State::new(n, 1, 1));
    let mut bits = Vec::new();
    Context::new()
        .threads(threads)
        .run(|| {
            let mut solver = Solver::with_units(k, 1);
            for part in columns.chunks(120) {
                add(part, &mut cache, &mut state);
                let problem = Problem { cache: &cache, objective: &*objective, free: &free };
                let outcome = solver.solve(&problem, &mut state, &goal(1e-9));
                assert!(outcome.gap <= 1e-9, "{outcome:?}");
                bits.extend(state.omega.iter().chain([&outcome.objective]).map(|x| x.to_bits()));
                if resumed {
                    let kept: Vec<Vec<f64>> = solver.kept().into_iter().map(|x| x.into_owned()).collect();
                    solver = Solver::with_units(k, 1);
                    assert!(solver.resume(kept, 1, &cache));
                }
            }
        })
        .unwrap();
    bits
}

#[test]
fn bits_depend_neither_on_threads_nor_on_interruptions() {
    let bits = path(1, false);
    assert_eq!(bits, path(2, false));
    assert_eq!(bits, path(2, true));
}
