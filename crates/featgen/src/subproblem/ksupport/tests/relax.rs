//! The relaxation over everything, by a working set, and what its dual point proves.

use std::sync::LazyLock;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use rayon::prelude::*;

use crate::context::Context;
use crate::data::{Column, Labels};
use crate::kernels;
use crate::objective::{Free, Objective, by_name};
use crate::operator::Operator;
use crate::subproblem::ksupport::Solver;
use crate::subproblem::ksupport::norm::sorted;
use crate::subproblem::ksupport::relax::{Candidates, Found, Relaxation, Wanted};
use crate::subproblem::{Cache, Goal, Problem, State};
use crate::synth::Linear;

/// Columns to choose from, in groups.
struct Listed<'a> {
    columns: &'a [Vec<f64>],
    groups: Vec<Vec<usize>>,
    taken: Vec<bool>,
}

impl<'a> Listed<'a> {
    fn new(columns: &'a [Vec<f64>], size: usize) -> Self {
        let all: Vec<usize> = (0..columns.len()).collect();
        let groups: Vec<Vec<usize>> = all.chunks(size).map(<[usize]>::to_vec).collect();
        Self { columns, taken: vec![false; groups.len()], groups }
    }
}

/// The squared score of a column.
fn score(x: &[f64], v: &[f64]) -> f64 {
    v.chunks_exact(x.len()).map(|v| kernels::dot(x, v).powi(2)).sum()
}

impl Candidates for Listed<'_> {
    fn search(&mut self, wanted: &Wanted<'_>, cache: &mut Cache) -> crate::error::Result<Found> {
        let single: Vec<f64> = self.columns.par_iter().map(|x| score(x, wanted.v)).collect();
        let squares: Vec<f64> =
            self.groups.iter().map(|group| group.iter().map(|&j| single[j]).sum()).collect();
        let mut order: Vec<usize> = (0..squares.len()).collect();
        order.sort_by(|&a, &b| squares[b].total_cmp(&squares[a]));
        let top = order.iter().take(wanted.k).map(|&u| squares[u]).sum::<f64>() * (1.0 + 1e-10);
        let useful = |u: &usize| !self.taken[*u] && squares[*u] > wanted.beyond;
        let new: Vec<usize> = order.iter().copied().filter(useful).take(wanted.most).collect();
        let mut units = Vec::new();
        for u in new {
            self.taken[u] = true;
            units
                .push((cache.len() as u32..).zip(&self.groups[u]).map(|(column, _)| (column, 1.0)).collect());
            let written = |&j: &usize| Operator::Column(Column::Dense(self.columns[j].clone()));
            cache.extend(self.groups[u].iter().map(written).collect());
        }
        Ok(Found { top, units })
    }
}

fn goal(gap: f64) -> Goal<'static> {
    static NEVER: LazyLock<Context> = LazyLock::new(Context::new);
    Goal { gap, decrease: None, context: &NEVER }
}

fn columns(rng: &mut ChaCha8Rng, n: usize, p: usize) -> Vec<Vec<f64>> {
    (0..p).map(|_| (0..n).map(|_| rng.sample(StandardNormal)).collect()).collect()
}

/// An objective whose labels depend on the first three columns.
fn objective(rng: &mut ChaCha8Rng, loss: &str, columns: &[Vec<f64>], cost: f64) -> Box<dyn Objective> {
    let n = columns[0].len();
    let mut sum = |i: usize| {
        let noise: f64 = rng.sample(StandardNormal);
        columns.iter().take(3).map(|x| x[i]).sum::<f64>() + 0.5 * noise
    };
    let f: Vec<f64> = (0..n).map(&mut sum).collect();
    let class = |(i, f): (usize, &f64)| match i {
        0..3 => i,
        _ => usize::from(*f > -0.7) + usize::from(*f > 0.7),
    };
    let sign = |(i, f): (usize, &f64)| usize::from(i > 0 && (i == 1 || *f > 0.0));
    let text = |classes: Vec<usize>| Labels::from_text(classes.iter().map(|k| k.to_string()));
    let labels = match loss {
        "squared" => Labels::from_numbers(f),
        "softmax" => text(f.iter().enumerate().map(class).collect()),
        _ => text(f.iter().enumerate().map(sign).collect()),
    };
    by_name(loss).unwrap().objective(&labels, vec![cost; n]).unwrap()
}

const LOSSES: [&str; 4] = ["squared-hinge", "logistic", "squared", "softmax"];

/// The objective of the relaxation with all columns, in groups of that size, in the working set.
fn on_all(columns: &[Vec<f64>], size: usize, objective: &dyn Objective, k: usize) -> f64 {
    let n = columns[0].len();
    let (free, mut cache) = (Free::new(n, true), Cache::new(n));
    let mut state = State::new(n, objective.outputs(), 1);
    for group in columns.chunks(size) {
        state.blocks.push((cache.len() as u32..).zip(group).map(|(column, _)| (column, 1.0)));
        cache.extend(group.iter().map(|x| Operator::Column(Column::Dense(x.clone()))).collect());
    }
    state.omega = vec![0.0; state.blocks.columns.len()];
    let problem = Problem { cache: &cache, objective, free: &free };
    Solver::new(k, objective.outputs()).solve(&problem, &mut state, &goal(1e-7)).objective
}

/// The working set reaches the optimum over everything, and no bound on the way is above it.
#[test]
fn a_working_set_is_enough() {
    let cases = LOSSES.into_iter().flat_map(|loss| [(loss, 1), (loss, 3)]);
    for (seed, (loss, size)) in (0..).zip(cases) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let columns = columns(&mut rng, 60, 240);
        let objective = objective(&mut rng, loss, &columns, 0.1);
        let (free, k) = (Free::new(60, true), 4);
        let expected = on_all(&columns, size, &*objective, k);
        let mut listed = Listed::new(&columns, size);
        let mut relaxation = Relaxation::new(k, &*objective, &free, Cache::new(60));
        for gap in [0.3, 1e-2, 1e-6] {
            relaxation.run(&*objective, &free, &mut listed, &goal(gap)).unwrap();
            let Relaxation { objective: found, lower_bound, rounds, .. } = relaxation;
            assert!(relaxation.gap() <= gap, "{loss}: {} after {rounds} rounds", relaxation.gap());
            assert!(lower_bound <= expected * (1.0 + 1e-9), "{loss}: {lower_bound} above {expected}");
            assert!(found >= expected * (1.0 - 2e-7), "{loss}: {found} below {expected}");
        }
        assert!((relaxation.objective - expected).abs() <= 2e-6 * expected);
        assert!(relaxation.state.blocks.len() < listed.groups.len());
    }
}

/// What limits exclude is in no best set, and what they force is in all, as trying all sets shows.
#[test]
fn limits_exclude_and_force_rightly() {
    let (n, p, k) = (40, 9, 2);
    let (mut excluded, mut forced) = (0, 0);
    for (seed, loss) in (0..6).flat_map(|seed| LOSSES.map(|loss| (seed, loss))) {
        let mut rng = ChaCha8Rng::seed_from_u64(100 + seed);
        let columns = columns(&mut rng, n, p);
        let objective = objective(&mut rng, loss, &columns[..2], 10f64.powi(-(seed as i32 % 3)));
        let free = Free::new(n, true);
        let ridge = |set: [usize; 2]| (on_all(&set.map(|j| columns[j].clone()), 1, &*objective, k), set);
        let sets = (0..p).flat_map(|a| (0..a).map(move |b| [a, b]));
        let (best, set) = sets.map(ridge).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        let mut relaxation = Relaxation::new(k, &*objective, &free, Cache::new(n));
        relaxation.run(&*objective, &free, &mut Listed::new(&columns, 1), &goal(1e-6)).unwrap();
        assert!(relaxation.lower_bound <= best * (1.0 + 1e-9));
        let dual = relaxation.dual.unwrap();
        let Some(limit) = dual.limit(&*objective, best * (1.0 + 1e-6)) else { continue };
        assert!(
            dual.bound(&*objective, limit) > best && dual.bound(&*objective, 1.001 * limit) <= 1.001 * best
        );
        let scores: Vec<f64> = columns.iter().map(|x| score(x, &dual.residual)).collect();
        let order = sorted(&scores);
        for (j, &s) in scores.iter().enumerate() {
            if s < order[k - 1] && dual.top - order[k - 1] + s <= limit {
                excluded += 1;
                assert!(!set.contains(&j), "{loss}: {j} is in the best set");
            }
            if s >= order[k - 1] && dual.top - s + order[k] <= limit {
                forced += 1;
                assert!(set.contains(&j), "{loss}: {j} is not in the best set");
            }
        }
    }
    assert!(excluded > 50 && forced > 10, "{excluded} {forced}");
}

/// The paper's synthetic problem, with as many relevant features as units.
#[test]
#[ignore = "takes seconds: for figures"]
#[allow(clippy::print_stdout, reason = "figures are to be seen")]
fn large_problem() {
    let (n, p, k) = (4096, 4096, 200);
    let data = Linear { rows: n, features: p, relevant: k, ..Linear::default() }.train().unwrap();
    let filled = |x: Column| {
        let mut values = vec![0.0; n];
        x.add_to(1.0, &mut values);
        values
    };
    let positions: Vec<usize> = (0..p).collect();
    let columns: Vec<Vec<f64>> = data.columns.gather(&positions).into_iter().map(filled).collect();
    let objective = by_name("squared-hinge").unwrap().objective(&data.labels, vec![0.01; n]).unwrap();
    let free = Free::new(n, true);
    for gap in [1e-3, 1e-6] {
        let mut listed = Listed::new(&columns, 1);
        let start = std::time::Instant::now();
        let mut relaxation = Relaxation::new(k, &*objective, &free, Cache::new(n));
        relaxation.run(&*objective, &free, &mut listed, &goal(gap)).unwrap();
        let seconds = start.elapsed().as_secs_f64();
        let Relaxation { rounds, steps, state, objective, lower_bound, .. } = &relaxation;
        let (held, filled) = (state.blocks.len(), state.omega.iter().filter(|w| **w != 0.0).count());
        println!("{seconds:.2} s, {rounds} rounds, {steps} steps, {filled} of {held} units have weights");
        println!("objective {objective}, bound {lower_bound}, gap {:e}", relaxation.gap());
        assert!(relaxation.gap() <= gap);
    }
}
