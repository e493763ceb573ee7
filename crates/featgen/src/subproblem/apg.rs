//! Accelerated proximal gradient over the data (Algorithm 4 of the paper), and the same without momentum.
//!
//! Three corrections make the algorithm as printed converge: the step size is not capped by what is only an estimate of the
//! Lipschitz constant; the free weights are minimised exactly wherever the objective is evaluated, so that gradient and test are
//! at the same point; and momentum starts anew whenever it raised the objective.

use std::borrow::Cow;

use super::moreau::shrink_factors;
use super::{Blocks, Cache, Goal, Outcome, Problem, State, Subproblem};
use crate::kernels;

/// Keeps the step size from round to round.
pub(super) struct Apg {
    momentum: bool,
    tau: Option<f64>,
}

/// How far the step size may grow from one iteration to the next.
const ETA: f64 = 0.8;

const MAX_ITERATIONS: usize = 1_000_000;

/// Iterations that neither lower the objective nor narrow the gap after which numbers allow no more.
const PATIENCE: usize = 500;

/// Relative differences of objectives that are only rounding: below it neither step sizes nor restarts can be judged by them.
const ROUNDING: f64 = 1e-13;

impl Apg {
    pub(super) fn accelerated() -> Self {
        Self { momentum: true, tau: None }
    }

    pub(super) fn plain() -> Self {
        Self { momentum: false, tau: None }
    }
}

/// Weights with the products `X_h w_h` of every block (section 5.5: the cache of inner products).
#[derive(Clone)]
struct Iterate {
    w: Vec<f64>,
    products: Vec<Vec<f64>>,
    objective: f64,
}

/// The objective at a point, with the free weights that are best there.
struct Smooth {
    value: f64,
    free: Vec<f64>,
    /// Decision values.
    d: Vec<f64>,
}

impl Problem<'_> {
    fn block_products(&self, blocks: &Blocks, w: &[f64]) -> Vec<Vec<f64>> {
        let product = |range: std::ops::Range<usize>| {
            let width = self.cache.len();
            let mut weights = vec![0.0; blocks.outputs() * width];
            range.for_each(|k| weights[blocks.place(k, width)] += blocks.scales[k] * w[k]);
            self.apply(&weights)
        };
        blocks.ranges().map(product).collect()
    }

    fn smooth(&self, f: &[f64], start: &[f64]) -> Smooth {
        let mut free = start.to_vec();
        self.free.fit(self.objective, f, &mut free);
        let d = self.free.decision(f, &free);
        Smooth { value: self.objective.value(&d), free, d }
    }

    fn gradient(&self, at: &Smooth) -> Vec<f64> {
        self.transpose(&self.residual(&at.d))
    }

    /// Number of decision values.
    fn values(&self) -> usize {
        self.objective.outputs() * self.cache.rows()
    }
}

fn total(products: &[Vec<f64>], n: usize) -> Vec<f64> {
    let mut f = vec![0.0; n];
    products.iter().for_each(|product| kernels::add_scaled(1.0, product, &mut f));
    f
}

impl Subproblem for Apg {
    fn solve(&mut self, problem: &Problem<'_>, state: &mut State, goal: &Goal<'_>) -> Outcome {
        let blocks = state.blocks.clone();
        let regulariser = |w: &[f64]| 0.5 * blocks.norm(w).powi(2);
        let mut tau =
            self.tau.unwrap_or_else(|| 0.01 * problem.objective.costs().iter().sum::<f64>()).max(1e-12);
        let products = problem.block_products(&blocks, &state.omega);
        let f = total(&products, problem.values());
        let mut free = state.free.clone();
        let objective = problem.smooth(&f, &free).value + regulariser(&state.omega);
        let mut best = Iterate { w: state.omega.clone(), products, objective };
        let mut at = best.clone();
        let (mut momentum, mut idle, mut narrowest) = (1.0_f64, 0, f64::INFINITY);
        let (mut iterations, mut measurable) = (0, true);
        let gap = loop {
            // The extrapolated point: its gradient also gives its duality gap, for free.
            let f = total(&at.products, problem.values());
            let here = problem.smooth(&f, &free);
            free.clone_from(&here.free);
            at.objective = here.value + regulariser(&at.w);
            let c = problem.gradient(&here);
            let gap = blocks.gap(&at.w, &c) / at.objective.max(f64::MIN_POSITIVE);
            idle = if gap < narrowest { 0 } else { idle + 1 };
            narrowest = narrowest.min(gap);
            let content = goal.decrease.is_none() && gap <= goal.gap;
            if content || iterations == MAX_ITERATIONS || idle == PATIENCE || goal.interrupted() {
                if content || at.objective <= best.objective {
                    best = at;
                }
                break gap;
            }
            iterations += 1;
            let pull: Vec<f64> = (0..at.w.len()).map(|k| blocks.pull(k, &c, problem.cache.len())).collect();
            let pulled = problem.block_products(&blocks, &pull);
            let rounding = ROUNDING * here.value.abs();
            tau *= if measurable { ETA } else { 1.0 };
            let new = loop {
                let new = forward_backward(problem, &blocks, &at, (&pull, &pulled), tau, &free);
                let (mut linear, mut square) = (0.0, 0.0);
                for ((new, old), pull) in new.w.iter().zip(&at.w).zip(&pull) {
                    linear -= pull * (new - old);
                    square += (new - old) * (new - old);
                }
                let loss = new.objective - regulariser(&new.w);
                measurable = 0.5 * tau * square > 10.0 * rounding;
                if loss <= here.value + linear + 0.5 * tau * square + rounding || !tau.is_finite() {
                    break new;
                }
                tau /= ETA;
            };
            let decrease = best.objective - new.objective;
            // Momentum that points uphill has served its turn; where objectives still tell, they decide.
            let uphill = |((v, n), o): ((&f64, &f64), &f64)| (v - n) * (n - o);
            let against: f64 = at.w.iter().zip(&new.w).zip(&best.w).map(uphill).sum();
            if momentum > 1.0 && (decrease < -rounding || against > 0.0) {
                momentum = 1.0;
                at = best.clone();
                continue;
            }
            idle = if decrease > rounding { 0 } else { idle };
            let next =
                if self.momentum { 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt()) } else { 1.0 };
            at = extrapolate(&new, &best, (momentum - 1.0) / next);
            momentum = next;
            let met = goal.decrease.is_some_and(|part| decrease <= part * best.objective);
            if decrease >= -rounding {
                best = new;
            }
            if met {
                let f = total(&best.products, problem.values());
                let c = problem.gradient(&problem.smooth(&f, &free));
                break blocks.gap(&best.w, &c) / best.objective.max(f64::MIN_POSITIVE);
            }
        };
        self.tau = Some(tau);
        state.f = total(&best.products, problem.values());
        state.omega = best.w;
        let end = problem.smooth(&state.f, &free);
        state.free = end.free;
        Outcome { objective: end.value + regulariser(&state.omega), gap, iterations }
    }

    fn kept(&self) -> Vec<Cow<'_, [f64]>> {
        vec![self.tau.into_iter().collect()]
    }

    fn resume(&mut self, kept: Vec<Vec<f64>>, _outputs: usize, _cache: &Cache) -> bool {
        let [one] = kept.as_slice() else { return false };
        self.tau = one.first().copied();
        one.len() <= 1 && self.tau.is_none_or(|tau| tau > 0.0)
    }
}

/// `S_tau(v + pull / tau)`: by the cached products, its decision values cost O(n t), whatever the blocks' sizes.
fn forward_backward(
    problem: &Problem<'_>,
    blocks: &Blocks,
    at: &Iterate,
    (pull, pulled): (&[f64], &[Vec<f64>]),
    tau: f64,
    free: &[f64],
) -> Iterate {
    let mut w: Vec<f64> = at.w.iter().zip(pull).map(|(v, p)| v + p / tau).collect();
    let factors = shrink_factors(blocks, &w, tau);
    for (range, factor) in blocks.ranges().zip(&factors) {
        w[range].iter_mut().for_each(|w| *w *= factor);
    }
    let combine = |((v, p), factor): ((&Vec<f64>, &Vec<f64>), &f64)| {
        v.iter().zip(p).map(|(v, p)| factor * (v + p / tau)).collect()
    };
    let products: Vec<Vec<f64>> = at.products.iter().zip(pulled).zip(&factors).map(combine).collect();
    let loss = problem.smooth(&total(&products, problem.values()), free).value;
    let objective = loss + 0.5 * blocks.norm(&w).powi(2);
    Iterate { w, products, objective }
}

/// `new + beta (new - old)`, products included. Its objective is not known yet.
fn extrapolate(new: &Iterate, old: &Iterate, beta: f64) -> Iterate {
    let beyond =
        |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + beta * (a - b)).collect::<Vec<f64>>();
    let products = new.products.iter().zip(&old.products).map(|(a, b)| beyond(a, b)).collect();
    Iterate { w: beyond(&new.w, &old.w), products, objective: f64::NAN }
}
