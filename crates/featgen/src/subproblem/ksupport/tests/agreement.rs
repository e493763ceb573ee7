//! The optimum on a working set agrees with a conic solver: every outcome, with single columns and groups, and with all that is not
//! penalised.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use rayon::prelude::*;

use crate::context::Context;
use crate::data::{Column, Labels};
use crate::objective::{Free, LossSpec, Objective};
use crate::operator::Operator;
use crate::subproblem::ksupport::{KSupport, Solver};
use crate::subproblem::newton::Newton;
use crate::subproblem::{Cache, Goal, Outcome, Problem, State, Subproblem};

#[allow(dead_code, reason = "it serves other tests as well")]
#[path = "../../../../tests/common/conic.rs"]
mod conic;

/// The losses of a margin, as the reference knows them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Loss {
    SquaredHinge,
    Logistic,
}

const LOSSES: [&str; 8] =
    ["squared", "huber", "poisson", "softmax", "squared-hinge", "many hinges", "logistic", "cox"];

const GAP: f64 = 1e-7;

struct Case {
    name: String,
    columns: Vec<Vec<f64>>,
    /// Sizes of units, and what their columns are multiplied by.
    units: Vec<(usize, f64)>,
    outcome: conic::Outcome,
    objective: Box<dyn Objective>,
    free: Free,
    k: usize,
}

/// Losses, two kinds of units, five variants of what is free, and three kinds of K.
fn case(seed: u64) -> Case {
    let pick = |k: u64, of: u64| (seed / k % of) as usize;
    let (loss, grouped, variant, kind) = (LOSSES[pick(1, 8)], pick(8, 2) == 1, pick(16, 5), pick(80, 3));
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (n, m) = (rng.random_range(12..=30), rng.random_range(4..=16));
    let mut normal = |count: usize, size: f64| -> Vec<f64> {
        (0..count).map(|_| size * rng.sample::<f64, _>(StandardNormal)).collect()
    };
    let columns: Vec<Vec<f64>> = (0..m).map(|j| normal(n, [1.0, 0.4, 2.0][j % 3])).collect();
    let kept: Vec<Vec<f64>> =
        if variant == 2 { (0..2).map(|_| normal(n, 1.0)).collect() } else { Vec::new() };
    let offset = (variant == 3 && !matches!(loss, "softmax" | "many hinges")).then(|| normal(n, 0.5));
    let noise = normal(n, 1.0);
    let f: Vec<f64> = (0..n).map(|i| columns[0][i] - 0.5 * columns[1][i] + noise[i]).collect();
    let weight = |i: usize| {
        if variant != 4 {
            1.0
        } else if i + 1 == n {
            0.0
        } else {
            0.2 + (i % 5) as f64 * 0.5
        }
    };
    let class =
        |(i, f): (usize, &f64)| if i < 3 { i } else { usize::from(*f > -0.6) + usize::from(*f > 0.7) };
    let classes: Vec<usize> = f.iter().enumerate().map(class).collect();
    let signs: Vec<f64> =
        f.iter().enumerate().map(|(i, &f)| if i == 0 || (i > 1 && f > 0.0) { 1.0 } else { -1.0 }).collect();
    let counts: Vec<f64> = f.iter().map(|f| (0.4 * f + 0.5).exp().round()).collect();
    let time = |f: &f64| 1.0 + (4.0 * (-0.5 * f).exp()).floor();
    let times: Vec<f64> =
        f.iter().enumerate().map(|(i, f)| time(f) * if i > 0 && i % 4 == 0 { -1.0 } else { 1.0 }).collect();
    let weights: Vec<f64> = (0..n).map(weight).collect();
    let of_signs = || Labels::from_text(signs.iter().map(|y| y.to_string()));
    let of_classes = || Labels::from_text(classes.iter().map(|k| k.to_string()));
    let (labels, outcome) = match loss {
        "squared" => (Labels::from_numbers(f.clone()), conic::Outcome::Squared(f)),
        "huber" => (Labels::from_numbers(f.clone()), conic::Outcome::Huber(f, 0.8)),
        "poisson" => (Labels::from_numbers(counts.clone()), conic::Outcome::Poisson(counts)),
        "softmax" => (of_classes(), conic::Outcome::Softmax(classes, 3)),
        "many hinges" => (of_classes(), conic::Outcome::Hinges(classes, 3)),
        "squared-hinge" => (of_signs(), conic::Outcome::Margin(Loss::SquaredHinge, signs)),
        "logistic" => (of_signs(), conic::Outcome::Margin(Loss::Logistic, signs)),
        _ => (Labels::from_numbers(times.clone()), conic::Outcome::Cox(times, weights.clone())),
    };
    let labels = if variant == 4 { labels.with_weights(weights.clone()).unwrap() } else { labels };
    let given: &[(&str, f64)] = if loss == "huber" { &[("delta", 0.8)] } else { &[] };
    let name = if loss == "many hinges" { "squared-hinge" } else { loss };
    let cost = 10f64.powf(rng.random_range(-1.5..0.7));
    let costs = weights.iter().map(|weight| cost * weight).collect();
    let objective = LossSpec::find(name).unwrap().make(given).unwrap().objective(&labels, costs).unwrap();
    let mut units: Vec<(usize, f64)> = Vec::new();
    while units.iter().map(|(size, _)| size).sum::<usize>() < m {
        let left = m - units.iter().map(|(size, _)| size).sum::<usize>();
        units.push(if grouped {
            (left.min(1 + units.len() % 3), [1.0, 0.6][units.len() % 2])
        } else {
            (1, 1.0)
        });
    }
    let k = match kind {
        0 => 1,
        1 => rng.random_range(2..=4),
        _ => units.len() + usize::from(seed.is_multiple_of(2)),
    };
    let mut free = Free::new(n, variant != 1 && loss != "cox");
    (free.columns, free.offset) = (kept, offset);
    let name =
        format!("seed {seed}: {loss}, {n} x {m}, grouped {grouped}, variant {variant}, K {k}, C {cost:.4}");
    Case { name, columns, units, outcome, objective, free, k }
}

impl Case {
    /// The columns kept and all others, and a state with all units.
    fn start(&self) -> (Cache, State) {
        let n = self.columns[0].len();
        let written = |x: &Vec<f64>| Operator::Column(Column::Dense(x.clone()));
        let mut cache = Cache::new(n);
        cache.extend(self.free.columns.iter().chain(&self.columns).map(written).collect());
        let mut state = State::new(n, self.objective.outputs(), self.free.width());
        let mut columns = self.free.columns.len() as u32..;
        for &(size, scale) in &self.units {
            state.blocks.push(columns.by_ref().take(size).map(|j| (j, scale)));
        }
        state.omega = vec![0.0; state.blocks.columns.len()];
        (cache, state)
    }

    fn solve(&self, mut solver: Solver, gap: f64) -> Outcome {
        let (cache, mut state) = self.start();
        let problem = Problem { cache: &cache, objective: &*self.objective, free: &self.free };
        let context = Context::new();
        solver.solve(&problem, &mut state, &Goal { gap, decrease: None, context: &context })
    }

    fn optimum(&self) -> f64 {
        let sizes: Vec<usize> = self.units.iter().map(|(size, _)| *size).collect();
        let scales = self.units.iter().flat_map(|&(size, scale)| std::iter::repeat_n(scale, size));
        let scaled = |(x, scale): (&Vec<f64>, f64)| x.iter().map(|x| scale * x).collect();
        let design = conic::Design {
            columns: &self.columns.iter().zip(scales).map(scaled).collect::<Vec<_>>(),
            groups: &sizes,
            kept: &self.free.columns,
            offset: self.free.offset.as_deref(),
            costs: self.objective.costs(),
            budget: self.k,
            intercept: self.free.intercept,
        };
        design.optimum(&self.outcome)
    }
}

/// All losses, units, variants and kinds of K, with and without a matrix.
#[test]
fn the_optimum_is_that_of_a_conic_solver() {
    (0..8 * 2 * 5 * 3 * 2u64).into_par_iter().for_each(|seed| {
        let case = case(seed);
        let expected = case.optimum();
        let without_matrix = Newton::new(KSupport::new(case.k), 0, 1000);
        for solver in [Solver::with_units(case.k, case.objective.outputs()), without_matrix] {
            let found = case.solve(solver, GAP);
            let (name, away) = (&case.name, (found.objective - expected) / expected);
            // What is free may leave nothing to explain.
            if expected < 1e-9 && found.objective < 1e-9 {
                continue;
            }
            assert!(away.abs() <= 1e-6, "{name}: {away:e} away from {expected}, {found:?}");
            assert!(found.gap <= GAP, "{name}: {found:?}");
            assert!(
                found.objective * (1.0 - found.gap) <= expected * (1.0 + 1e-7),
                "{name}: {found:?} above {expected}"
            );
        }
    });
}
