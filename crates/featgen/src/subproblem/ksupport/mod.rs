//! The relaxation on features: weights of a *working set* of units under the k-support norm,
//!
//! ```text
//! min over W, beta of   1/2 ||W||_K^2 + objective(X W + Z beta)
//! ```
//!
//! A unit is what is chosen as a whole: a column with a weight for every output, or a group of columns. In terms of
//! [`Blocks`](super::Blocks) it is a block of its own. With K = 1 this is the problem of a round of the paper, whose blocks are of
//! many columns; where K is large, units are the better coordinates, for a block of K columns says only one thing about them all.

mod model;
pub(crate) mod norm;

pub(crate) use norm::KSupport;
use std::borrow::Cow;

use super::newton::Newton;
use super::{Cache, Goal, Problem, State, Subproblem, WIDEST};

/// A solver of the relaxation on a working set, which may grow between calls: units are only ever added, and so are columns.
pub(crate) struct Solver {
    newton: Newton<KSupport>,
}

/// What a solver achieved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    /// The objective with the norm, at the weights found.
    pub(crate) objective: f64,
    /// Below this, but for rounding, no weights on the working set can take it.
    pub(crate) lower_bound: f64,
    /// How far apart these are, relative to the objective.
    pub(crate) gap: f64,
    /// Newton steps made.
    pub(crate) iterations: usize,
    /// Where the norm splits the units: those at the top are at least that long. 0 if no more than K have weights.
    pub(crate) theta: f64,
}

/// Newton steps of a call. Where the curvature that an objective tells is only a bound, as with several classes, each step wins the
/// same part of what is left.
const MAX_STEPS: usize = 1000;

/// Newton's method under the norm with `k` units, over so many outputs.
pub(super) fn newton(k: usize, outputs: usize) -> Newton<KSupport> {
    // Every output has a matrix of its own: together they take no more room than one of the widest.
    let widest = (WIDEST as f64 / (outputs as f64).sqrt()) as usize;
    Newton::new(KSupport::new(k.max(1)), widest, MAX_STEPS)
}

impl Solver {
    /// For the norm with `k` units, over so many outputs.
    pub(crate) fn new(k: usize, outputs: usize) -> Self {
        Self { newton: newton(k, outputs) }
    }

    /// From now on, solves for this norm.
    pub(crate) fn set_norm(&mut self, norm: KSupport) {
        *self.newton.regulariser_mut() = norm;
    }

    fn norm(&mut self) -> KSupport {
        *self.newton.regulariser_mut()
    }

    /// Improves `state`, whose blocks are the units of the working set, until the goal is met, or as far as numbers allow. Never
    /// makes it worse.
    pub(crate) fn solve(&mut self, problem: &Problem<'_>, state: &mut State, goal: &Goal<'_>) -> Outcome {
        let super::Outcome { objective, gap, iterations } = self.newton.solve(problem, state, goal);
        let norm = self.norm();
        let lengths = model::lengths(&state.blocks, &state.omega);
        let theta = norm.split(&norm::sorted(&lengths[norm.forced.min(lengths.len())..])).theta;
        Outcome { objective, lower_bound: objective * (1.0 - gap), gap, iterations, theta }
    }

    /// All that it keeps from call to call: numbers with which another of its kind goes on with the same bits.
    pub(crate) fn kept(&self) -> Vec<Cow<'_, [f64]>> {
        self.newton.kept()
    }

    /// Goes on from what another of its kind [`kept`](Self::kept) when it had the columns of `cache`; says whether it can be that.
    pub(crate) fn resume(&mut self, kept: Vec<Vec<f64>>, outputs: usize, cache: &Cache) -> bool {
        self.newton.resume(kept, outputs, cache)
    }
}

#[cfg(test)]
mod tests;
