//! What weights the chosen features get: the convex problem of one round (section 5.2 of the paper),
//!
//! ```text
//! min over omega, b of   F = 1/2 (sum_h ||omega_h||)^2 + sum_i C_i loss(y_i (sum_h omega_h . x_ih - b))
//! ```
//!
//! Blocks `h` are lists of cached columns, one block per round; a feature may be in several.

mod apg;
mod auto;
mod cache;
mod curvature;
mod gram;
mod model;
mod moreau;
mod newton;
mod shift;

pub(crate) use auto::WIDEST;
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

pub use cache::Cache;
pub(crate) use shift::{best_shift, feasible_duals};

use crate::error::{Error, Result};
use crate::kernels;
use crate::loss::Loss;
use crate::ordered;

/// The problem of a round: data, labels and loss. Blocks and weights are in [`State`].
pub struct Problem<'a> {
    /// The columns that blocks refer to.
    pub cache: &'a Cache,
    /// -1 or +1 per instance.
    pub signs: &'a [f64],
    /// Cost per instance.
    pub costs: &'a [f64],
    /// How errors count.
    pub loss: &'a dyn Loss,
    /// Whether b is learned.
    pub shift: bool,
}

/// Blocks of cached columns, one after the other.
///
/// A coordinate is a cached column times a scale: groups with weights scale their columns, and never copy them.
#[derive(Debug, Clone, Default)]
pub struct Blocks {
    /// The cached column of every coordinate.
    pub columns: Vec<u32>,
    /// What it is multiplied by.
    pub scales: Vec<f64>,
    /// Where each block ends among the coordinates.
    pub ends: Vec<usize>,
}

impl Blocks {
    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no block.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The coordinates of block `h`.
    pub fn range(&self, h: usize) -> std::ops::Range<usize> {
        (if h == 0 { 0 } else { self.ends[h - 1] })..self.ends[h]
    }

    /// The coordinates of every block in turn.
    pub fn ranges(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        (0..self.len()).map(|h| self.range(h))
    }

    /// Adds a block of columns with their scales.
    pub fn push(&mut self, coordinates: impl IntoIterator<Item = (u32, f64)>) {
        for (column, scale) in coordinates {
            self.columns.push(column);
            self.scales.push(scale);
        }
        self.ends.push(self.columns.len());
    }

    /// Length of every block of a vector over all coordinates.
    pub fn norms<'a>(&'a self, x: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        self.ranges().map(|range| norm(&x[range]))
    }

    /// `sum_h ||x_h||`: the norm whose square is the regulariser.
    pub fn norm(&self, x: &[f64]) -> f64 {
        self.norms(x).sum()
    }

    /// Weights per cached column: `w_j = sum over coordinates of j`.
    pub fn gather(&self, x: &[f64], width: usize) -> Vec<f64> {
        let mut w = vec![0.0; width];
        (0..x.len()).for_each(|k| w[self.columns[k] as usize] += self.scales[k] * x[k]);
        w
    }

    /// What a vector over cached columns, such as a gradient, is for coordinate `k`.
    pub fn pull(&self, k: usize, c: &[f64]) -> f64 {
        self.scales[k] * c[self.columns[k] as usize]
    }

    /// The regulariser's side of the duality gap at weights `x` whose gradient (of the loss, per cached column) is `-c`:
    /// by Fenchel, `F - D = 1/2 S^2 + 1/2 M^2 - c.x` with S the norm of x and M the largest block of c.
    pub fn gap(&self, x: &[f64], c: &[f64]) -> f64 {
        let (mut s, mut m, mut product) = (0.0_f64, 0.0_f64, 0.0);
        for range in self.ranges() {
            let (mut xx, mut cc) = (0.0, 0.0);
            for k in range {
                let c = self.pull(k, c);
                xx += x[k] * x[k];
                cc += c * c;
                product += c * x[k];
            }
            s += xx.sqrt();
            m = m.max(cc);
        }
        (0.5 * (s * s + m) - product).max(0.0)
    }
}

pub(crate) fn norm(x: &[f64]) -> f64 {
    kernels::dot(x, x).sqrt()
}

/// Blocks, their weights, and the decision values they give. Solvers start from it and leave the solution in it.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// The blocks.
    pub blocks: Blocks,
    /// A weight per coordinate.
    pub omega: Vec<f64>,
    /// The shift b.
    pub bias: f64,
    /// `sum_h omega_h . x_ih` per instance: decision values before the shift.
    pub f: Vec<f64>,
}

/// When to be content.
pub struct Goal<'a> {
    /// Relative duality gap of the subproblem.
    pub gap: f64,
    /// The paper's rule instead (eq. 37): relative decrease of one iteration.
    pub decrease: Option<f64>,
    /// Set from outside to stop at once.
    pub interrupt: &'a AtomicBool,
}

impl Goal<'_> {
    fn interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }
}

/// What a solver achieved.
#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    /// F at the weights found.
    pub objective: f64,
    /// Their relative duality gap.
    pub gap: f64,
    /// Iterations made.
    pub iterations: usize,
}

/// A way to solve the problem of a round. It may keep what helps it in the next round: the cache only ever grows, while
/// blocks come and go.
pub trait Subproblem: Send {
    /// Improves `state` until the goal is met, or as far as numbers allow. Never makes it worse.
    fn solve(&mut self, problem: &Problem<'_>, state: &mut State, goal: &Goal<'_>) -> Outcome;

    /// All that it keeps from round to round: numbers with which another of its kind goes on with the same bits.
    fn kept(&self) -> Vec<Cow<'_, [f64]>>;

    /// Goes on from what another of its kind [`kept`](Self::kept) when it had the columns of `cache`; says whether it can be
    /// that.
    fn resume(&mut self, kept: Vec<Vec<f64>>, cache: &Cache) -> bool;
}

/// The solvers by name: the one place where the choice is made.
pub fn by_name(name: &str) -> Result<Box<dyn Subproblem>> {
    match name {
        "auto" => Ok(Box::new(auto::Auto::default())),
        "newton" => Ok(Box::new(newton::Newton::default())),
        "apg" => Ok(Box::new(apg::Apg::accelerated())),
        "pg" => Ok(Box::new(apg::Apg::plain())),
        other => Err(Error::parameter("solver", format!("{other} is not one of auto, newton, apg, pg"))),
    }
}

/// Whether the solver called `name` is one to which the paper's inner rule applies.
pub fn is_first_order(name: &str) -> bool {
    matches!(name, "apg" | "pg")
}

impl Problem<'_> {
    fn rows(&self) -> usize {
        self.signs.len()
    }

    fn margins(&self, f: &[f64], bias: f64) -> Vec<f64> {
        let mut z = vec![0.0; f.len()];
        ordered::fill(&mut z, |i| self.signs[i] * (f[i] - bias));
        z
    }

    /// `v_i = y_i alpha_i`: what the loss pulls each instance by.
    fn pulls(&self, z: &[f64]) -> Vec<f64> {
        let mut v = vec![0.0; z.len()];
        self.loss.duals(z, self.costs, &mut v);
        v.iter_mut().zip(self.signs).for_each(|(v, y)| *v *= y);
        v
    }
}
