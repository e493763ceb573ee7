//! The subproblem in its dual, as multiple kernel learning (section 5.1 of the paper, MKL-FGM): a second opinion on what the primal
//! solvers find, which shares nothing with them but the statement of the problem, and the slow baseline of the paper.
//!
//! ```text
//! min over mu >= 0, sum mu = 1   of   J(mu) = max over v of   conjugate(v) - 1/2 sum_h mu_h ||X_h' v||^2
//! ```
//!
//! A block is a kernel `X_h X_h'`. For fixed weights mu of the kernels the inner problem is one support vector machine (logistic
//! regression, ...) in its dual, see `dual.rs`. J is convex and smooth, with slope `-1/2 ||X_h' v||^2` at its maximiser, and is
//! lowered by the reduced gradient of SimpleMKL (Rakotomamonjy, Bach, Canu and Grandvalet 2008). At the optimum `omega_h = mu_h X_h' v`.

mod dual;

use std::borrow::Cow;

use super::{Blocks, Cache, Goal, Outcome, Problem, State, Subproblem};
use crate::objective::{Free, Objective};
use dual::{Dual, Machine, Measured};

/// Weights of kernels below this part of the largest are 0.
const NEGLIGIBLE: f64 = 1e-12;

/// Machines trained for one subproblem, at most.
const MOST_MACHINES: usize = 2000;

/// Machines trained in one search along a line, at most, and the part of the slope at its start that ends it.
const TRIALS: usize = 12;
const FLAT: f64 = 0.1;

/// Directions in a row along which the gap does not get narrower, after which numbers allow no more.
const PATIENCE: usize = 30;

/// Keeps nothing from round to round: weights of kernels are those of the blocks, and dual variables the residuals.
#[derive(Default)]
pub(super) struct Mkl;

impl Subproblem for Mkl {
    fn refuses(&self, objective: &dyn Objective, free: &Free) -> Option<&'static str> {
        if objective.of_instance(0, 0.0).is_none() {
            return Some(
                "mkl is for two classes and for numbers; counts, times and more classes need another solver",
            );
        }
        (!free.columns.is_empty()).then_some("mkl knows no columns that are kept")
    }

    fn solve(&mut self, problem: &Problem<'_>, state: &mut State, goal: &Goal<'_>) -> Outcome {
        let mut descent = Descent::new(problem, state, goal);
        descent.run();
        let Descent { best, machines, .. } = descent;
        (state.omega, state.f, state.free) = (best.omega, best.f, best.free);
        let gap = best.gap / best.objective.max(f64::MIN_POSITIVE);
        Outcome { objective: best.objective, gap, iterations: machines }
    }

    fn kept(&self) -> Vec<Cow<'_, [f64]>> {
        Vec::new()
    }

    fn resume(&mut self, kept: Vec<Vec<f64>>, _outputs: usize, _cache: &Cache) -> bool {
        kept.is_empty()
    }
}

/// Weights of the blocks, and what they reach.
struct Primal {
    omega: Vec<f64>,
    f: Vec<f64>,
    free: Vec<f64>,
    objective: f64,
    /// How far the objective is from the optimum, at most.
    gap: f64,
}

/// The machine at some weights of kernels.
struct Trained {
    mu: Vec<f64>,
    dual: Dual,
    /// `||X_h' v||^2` of every block, for the residual v that its weights leave.
    scores: Vec<f64>,
}

struct Descent<'a> {
    problem: &'a Problem<'a>,
    goal: &'a Goal<'a>,
    blocks: Blocks,
    machine: Machine<'a>,
    /// The weights that reach the lowest objective so far.
    best: Primal,
    /// The narrowest gap so far.
    narrowest: f64,
    machines: usize,
}

impl<'a> Descent<'a> {
    fn new(problem: &'a Problem<'a>, state: &State, goal: &'a Goal<'a>) -> Self {
        let blocks = state.blocks.clone();
        let best = evaluate(problem, &blocks, state.omega.clone(), &state.free).0;
        let machine = Machine::new(problem);
        let narrowest = best.gap;
        Self { problem, goal, blocks, machine, best, narrowest, machines: 0 }
    }

    fn run(&mut self) {
        if self.is_done() || self.blocks.is_empty() {
            return;
        }
        let norms: Vec<f64> = self.blocks.norms(&self.best.omega).collect();
        let start = Dual { v: self.best_residual(), intercept: self.best.free.first().copied() };
        let mut at = self.train(on_simplex(norms), &start);
        let mut idle = 0;
        while !self.is_done() && idle < PATIENCE {
            let before = self.narrowest;
            let Some(direction) = direction(&at) else { return };
            at = self.search(at, &direction);
            idle = if self.narrowest < before { 0 } else { idle + 1 };
        }
    }

    fn best_residual(&self) -> Vec<f64> {
        self.problem.residual(&self.problem.free.decision(&self.best.f, &self.best.free))
    }

    fn is_done(&self) -> bool {
        let content = self.best.gap <= self.goal.gap * self.best.objective;
        content || self.machines >= MOST_MACHINES || self.goal.interrupted()
    }

    /// Trains the machine of these weights, from dual variables near its own, and keeps its solution if it is the best so far.
    fn train(&mut self, mu: Vec<f64>, start: &Dual) -> Trained {
        self.machines += 1;
        let width = self.problem.cache.len();
        let mut delta = vec![0.0; width];
        for (range, mu) in self.blocks.ranges().zip(&mu) {
            range.for_each(|k| delta[self.blocks.columns[k] as usize] += mu * self.blocks.scales[k].powi(2));
        }
        let (problem, blocks, goal) = (self.problem, &self.blocks, self.goal);
        let (mut reached, mut narrowest, mut scores) = (None, self.narrowest, Vec::new());
        let dual = self.machine.train(&delta, start, goal, |c, intercept| {
            let mut omega = vec![0.0; blocks.columns.len()];
            for (range, mu) in blocks.ranges().zip(&mu) {
                range.for_each(|k| omega[k] = mu * blocks.pull(k, c, width));
            }
            let free: Vec<f64> = intercept.into_iter().collect();
            let (primal, gradient) = evaluate(problem, blocks, omega, &free);
            // The machine's own gap is a square; slopes change by about its root.
            let (open, size) = (0..width).fold((0.0, 0.0), |(open, size), j| {
                let largest = f64::max(c[j].abs(), gradient[j].abs());
                (open + delta[j] * (c[j] - gradient[j]).powi(2), size + delta[j] * largest * largest)
            });
            let measured = Measured { own: f64::sqrt(open * size), whole: primal.gap };
            let score =
                |range: std::ops::Range<usize>| range.map(|k| blocks.pull(k, &gradient, width).powi(2)).sum();
            scores = blocks.ranges().map(score).collect();
            narrowest = narrowest.min(primal.gap);
            let content = primal.gap <= goal.gap * primal.objective;
            if reached.as_ref().is_none_or(|other: &Primal| primal.objective < other.objective || content) {
                reached = Some(primal);
            }
            (measured, content)
        });
        self.narrowest = narrowest;
        let done = |primal: &Primal| primal.gap <= goal.gap * primal.objective;
        if let Some(primal) = reached.filter(|new| new.objective < self.best.objective || done(new)) {
            self.best = primal;
        }
        Trained { mu, dual, scores }
    }

    /// Goes along a direction to where J is lowest on it: to the end if J still falls there, else to a root of its slope.
    fn search(&mut self, from: Trained, direction: &[f64]) -> Trained {
        let towards = |step: f64| -> Vec<f64> {
            on_simplex(from.mu.iter().zip(direction).map(|(mu, d)| (mu + step * d).max(0.0)).collect())
        };
        let first = slope(&from, direction);
        let room = |(mu, d): (&f64, &f64)| if *d < 0.0 { -mu / d } else { f64::INFINITY };
        let end = from.mu.iter().zip(direction).map(room).fold(f64::INFINITY, f64::min);
        let (mut low, mut high) = ((0.0, first), None);
        let mut step = end;
        let mut at = self.train(towards(step), &from.dual);
        for _ in 1..TRIALS {
            let here = slope(&at, direction);
            if self.is_done() || here.abs() <= FLAT * first.abs() || (high.is_none() && here <= 0.0) {
                break;
            }
            if here > 0.0 {
                high = Some((step, here));
            } else {
                low = (step, here);
            }
            let Some(high) = high else { break };
            step = next_step(low, high);
            at = self.train(towards(step), &at.dual);
        }
        at
    }
}

/// Where a line through two slopes is 0, not too near to either end.
fn next_step(low: (f64, f64), high: (f64, f64)) -> f64 {
    let part = (low.1 / (low.1 - high.1)).clamp(0.05, 0.95);
    low.0 + part * (high.0 - low.0)
}

/// The derivative of J along a direction.
fn slope(at: &Trained, direction: &[f64]) -> f64 {
    -0.5 * at.scores.iter().zip(direction).map(|(score, d)| score * d).sum::<f64>()
}

/// The reduced gradient: what the largest weight gives or takes, so that weights go on to sum to 1; weights that are 0 only grow.
/// `None` at a minimum.
fn direction(at: &Trained) -> Option<Vec<f64>> {
    let largest = (0..at.mu.len()).fold(0, |best, h| if at.mu[h] > at.mu[best] { h } else { best });
    let reduced = |h: usize| 0.5 * (at.scores[h] - at.scores[largest]);
    let mut direction: Vec<f64> = (0..at.mu.len()).map(reduced).collect();
    for (d, mu) in direction.iter_mut().zip(&at.mu) {
        if *mu == 0.0 {
            *d = d.max(0.0);
        }
    }
    direction[largest] = 0.0;
    direction[largest] = -direction.iter().sum::<f64>();
    (slope(at, &direction) < 0.0).then_some(direction)
}

/// Weights that sum to 1; equal ones if there is nothing else to go by.
fn on_simplex(mut mu: Vec<f64>) -> Vec<f64> {
    let most = mu.iter().fold(0.0, |most: f64, mu| most.max(*mu));
    mu.iter_mut().filter(|mu| **mu <= NEGLIGIBLE * most).for_each(|mu| *mu = 0.0);
    let sum: f64 = mu.iter().sum();
    let equal = 1.0 / mu.len() as f64;
    mu.iter_mut().for_each(|mu| *mu = if sum > 0.0 { *mu / sum } else { equal });
    mu
}

/// What weights of the blocks reach with the free weights that suit them best, and the negative gradient there.
fn evaluate(problem: &Problem<'_>, blocks: &Blocks, omega: Vec<f64>, free: &[f64]) -> (Primal, Vec<f64>) {
    let f = problem.apply(&blocks.gather(&omega, problem.cache.len()));
    let mut free = free.to_vec();
    problem.free.fit(problem.objective, &f, &mut free);
    let d = problem.free.decision(&f, &free);
    let c = problem.transpose(&problem.residual(&d));
    let objective = problem.objective.value(&d) + 0.5 * blocks.norm(&omega).powi(2);
    let gap = blocks.gap(&omega, &c);
    (Primal { omega, f, free, objective, gap }, c)
}

#[cfg(test)]
mod tests;
