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

use super::newton::Newton;
use super::{State, WIDEST};

/// Newton steps of a call. Where the curvature that an objective tells is only a bound, as with several classes, each step wins the
/// same part of what is left.
const MAX_STEPS: usize = 1000;

/// A solver of the relaxation on a working set, which may grow between calls: units and columns are only ever added. A block of the
/// state is a unit.
pub(crate) type Solver = Newton<KSupport>;

impl Solver {
    /// For the norm with `k` units, over so many outputs.
    pub(crate) fn with_units(k: usize, outputs: usize) -> Self {
        // Every output has a matrix of its own: together they take no more room than one of the widest.
        let widest = (WIDEST as f64 / (outputs as f64).sqrt()) as usize;
        Newton::new(KSupport::new(k.max(1)), widest, MAX_STEPS)
    }

    /// From now on, solves for this norm. What is kept from call to call is of the objective alone.
    pub(crate) fn set_norm(&mut self, norm: KSupport) {
        self.regulariser = norm;
    }

    /// Where the norm splits the units of a state: those at the top are at least that long. 0 if no more than K have weights.
    pub(crate) fn theta(&self, state: &State) -> f64 {
        let lengths: Vec<f64> = state.blocks.norms(&state.omega).skip(self.regulariser.forced).collect();
        self.regulariser.split(&norm::sorted(&lengths)).theta
    }
}

#[cfg(test)]
mod tests;
