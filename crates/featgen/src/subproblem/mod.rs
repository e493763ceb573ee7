//! What weights the chosen features get: the convex problem of one round (section 5.2 of the paper),
//!
//! ```text
//! min over omega, beta of   F = 1/2 (sum_h ||omega_h||)^2 + objective(sum_h X_h omega_h + Z beta)
//! ```
//!
//! Blocks `h` are lists of cached columns, one block per round; a feature may be in several. `Z` holds what is never penalised:
//! the intercept, and columns that are kept. With several outputs a column has a weight for each, and vectors over cached columns
//! or instances hold one output after the other.

mod apg;
mod auto;
mod cache;
mod curvature;
mod eliminate;
mod full;
mod gram;
mod implicit;
pub(crate) mod ksupport;
mod mkl;
mod model;
mod moreau;
mod newton;
mod panels;
mod precondition;
mod row_view;
mod system;
mod thinning;

pub(crate) use auto::WIDEST;
use std::borrow::Cow;

pub use cache::Cache;
pub(crate) use thinning::Thinned;
pub use thinning::Thinning;

use model::SumOfNorms;
use newton::Newton;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::kernels;
use crate::objective::{Free, Objective};

/// The problem of a round: data and objective. Blocks and weights are in [`State`].
pub struct Problem<'a> {
    /// The columns that blocks refer to; before them, those that are kept.
    pub cache: &'a Cache,
    /// How errors count.
    pub objective: &'a dyn Objective,
    /// What is never penalised.
    pub free: &'a Free,
}

/// Blocks of cached columns, one after the other.
///
/// A coordinate is a cached column times a scale, for one output: groups with weights scale their columns, and never copy them.
#[derive(Debug, Clone)]
pub struct Blocks {
    /// Number of outputs.
    outputs: usize,
    /// The cached column of every coordinate. The outputs of a column follow each other.
    pub columns: Vec<u32>,
    /// The output of every coordinate.
    pub output: Vec<u32>,
    /// What it is multiplied by.
    pub scales: Vec<f64>,
    /// Where each block ends among the coordinates.
    pub ends: Vec<usize>,
}

impl Blocks {
    /// No blocks yet, for so many outputs.
    pub fn new(outputs: usize) -> Self {
        Self { outputs, columns: Vec::new(), output: Vec::new(), scales: Vec::new(), ends: Vec::new() }
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

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
            for output in 0..self.outputs as u32 {
                self.columns.push(column);
                self.output.push(output);
                self.scales.push(scale);
            }
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

    /// Where coordinate `k` is in a vector over `width` cached columns, output after output.
    pub fn place(&self, k: usize, width: usize) -> usize {
        self.output[k] as usize * width + self.columns[k] as usize
    }

    /// Weights over `width` cached columns, output after output: each is the sum over its coordinates.
    pub fn gather(&self, x: &[f64], width: usize) -> Vec<f64> {
        let mut w = vec![0.0; self.outputs * width];
        (0..x.len()).for_each(|k| w[self.place(k, width)] += self.scales[k] * x[k]);
        w
    }

    /// What a vector over `width` cached columns, such as a gradient, is for coordinate `k`.
    pub fn pull(&self, k: usize, c: &[f64], width: usize) -> f64 {
        self.scales[k] * c[self.place(k, width)]
    }

    /// The regulariser's side of the duality gap at weights `x` whose gradient (of the loss, per cached column) is `-c`:
    /// by Fenchel, `F - D = 1/2 S^2 + 1/2 M^2 - c.x` with S the norm of x and M the largest block of c.
    pub fn gap(&self, x: &[f64], c: &[f64]) -> f64 {
        let (mut s, mut m, mut product) = (0.0_f64, 0.0_f64, 0.0);
        let width = c.len() / self.outputs;
        for range in self.ranges() {
            let (mut xx, mut cc) = (0.0, 0.0);
            for k in range {
                let c = self.pull(k, c, width);
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
#[derive(Debug, Clone)]
pub struct State {
    /// The blocks.
    pub blocks: Blocks,
    /// A weight per coordinate.
    pub omega: Vec<f64>,
    /// The weights of what is never penalised, output after output: the intercept first, then the columns kept.
    pub free: Vec<f64>,
    /// `sum_h X_h omega_h`, output after output: decision values without the free part.
    pub f: Vec<f64>,
}

impl State {
    /// Without blocks, for so many instances, outputs, and free weights an output.
    pub fn new(rows: usize, outputs: usize, free: usize) -> Self {
        let (free, f) = (vec![0.0; outputs * free], vec![0.0; outputs * rows]);
        Self { blocks: Blocks::new(outputs), omega: Vec::new(), free, f }
    }
}

/// When a solver may stop.
pub struct Goal<'a> {
    /// Relative duality gap of the subproblem.
    pub gap: f64,
    /// The paper's rule instead (eq. 37): relative decrease of one iteration.
    pub decrease: Option<f64>,
    /// Says when to stop at once.
    pub context: &'a Context,
}

impl Goal<'_> {
    fn interrupted(&self) -> bool {
        self.context.is_interrupted()
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

/// A way to solve the problem of a round. It may keep what helps it in the next round: the cache grows, unless it is told what to
/// [`forget`](Subproblem::forget), while blocks come and go.
pub trait Subproblem: Send {
    /// Improves `state` until the goal is met, or as far as numbers allow. Never makes it worse.
    fn solve(&mut self, problem: &Problem<'_>, state: &mut State, goal: &Goal<'_>) -> Outcome;

    /// Why it cannot solve problems with this objective and these free columns, if it cannot.
    fn refuses(&self, _objective: &dyn Objective, _free: &Free) -> Option<&'static str> {
        None
    }

    /// What weights cost for themselves: half the square of their norm.
    fn penalty(&self, blocks: &Blocks, omega: &[f64]) -> f64 {
        let size = blocks.norm(omega);
        0.5 * size * size
    }

    /// A model of what the features of a state that has one block are worth beside each other.
    fn thinning(&mut self, problem: &Problem<'_>, state: &State) -> Thinning {
        Newton::new(SumOfNorms, WIDEST, 0).thinning(problem, state)
    }

    /// Forgets the columns that the cache has no more: some of the last.
    fn forget(&mut self, _cache: &Cache) {}

    /// All that it keeps from round to round: numbers with which another of its kind goes on with the same bits.
    fn kept(&self) -> Vec<Cow<'_, [f64]>>;

    /// Goes on from what another of its kind [`kept`](Self::kept) when it had the columns of `cache`, for so many outputs; says
    /// whether it can be that.
    fn resume(&mut self, kept: Vec<Vec<f64>>, outputs: usize, cache: &Cache) -> bool;
}

/// A kind of solver: what users have to know of it, and how one is made.
pub struct SolverSpec {
    /// What users, models and checkpoints call it.
    pub name: &'static str,
    /// What it does, on one line.
    pub help: &'static str,
    /// Whether it is one to which the paper's inner rule applies.
    pub first_order: bool,
    /// Whether it knows blocks only: then also rounds to a certified gap work on blocks.
    pub blocks_only: bool,
    /// Whether it has a copy of all cached columns, by rows.
    pub copies_columns: bool,
    make: fn() -> Box<dyn Subproblem>,
}

/// All solvers, in the order in which users see them: the one place where they are named.
pub static ALL: &[SolverSpec] = &[
    SolverSpec {
        name: "auto",
        help: "Newton's method on few features, accelerated gradients on many",
        first_order: false,
        blocks_only: false,
        copies_columns: false,
        make: || Box::new(auto::Auto::default()),
    },
    SolverSpec {
        name: "newton",
        help: "Newton's method: few steps, for up to some thousand features",
        first_order: false,
        blocks_only: false,
        copies_columns: false,
        make: || Box::new(newton::Newton::<model::SumOfNorms>::default()),
    },
    SolverSpec {
        name: "apg",
        help: "Accelerated proximal gradients, as in the paper",
        first_order: true,
        blocks_only: true,
        copies_columns: false,
        make: || Box::new(apg::Apg::accelerated()),
    },
    SolverSpec {
        name: "pg",
        help: "Proximal gradients without acceleration, for comparison",
        first_order: true,
        blocks_only: true,
        copies_columns: false,
        make: || Box::new(apg::Apg::plain()),
    },
    SolverSpec {
        name: "mkl",
        help: "Multiple kernel learning in the dual, slow: a second opinion",
        first_order: false,
        blocks_only: true,
        copies_columns: true,
        make: || Box::new(mkl::Mkl),
    },
];

/// The solver of that name.
pub fn by_name(name: &str) -> Result<Box<dyn Subproblem>> {
    let unknown = || Error::parameter("solver", format!("{name} is not one of {}", names(|_| true, ", ")));
    ALL.iter().find(|solver| solver.name == name).map(|solver| (solver.make)()).ok_or_else(unknown)
}

/// The solver for rounds that work on features: each block is one that may be chosen, under the norm that prices sets of `budget`.
pub(crate) fn on_features(budget: usize, outputs: usize) -> Box<dyn Subproblem> {
    Box::new(ksupport::Solver::with_units(budget, outputs))
}

/// Whether the solver called `name` is one to which the paper's inner rule applies.
pub fn is_first_order(name: &str) -> bool {
    is(name, |solver| solver.first_order)
}

/// Whether there is a solver called `name` of which something is true.
pub(crate) fn is(name: &str, what: impl Fn(&SolverSpec) -> bool) -> bool {
    ALL.iter().any(|solver| solver.name == name && what(solver))
}

/// The names of some solvers.
pub(crate) fn names(which: impl Fn(&SolverSpec) -> bool, between: &str) -> String {
    ALL.iter().filter(|solver| which(solver)).map(|solver| solver.name).collect::<Vec<_>>().join(between)
}

impl Problem<'_> {
    /// `X w` of every output, for weights over the cached columns.
    fn apply(&self, w: &[f64]) -> Vec<f64> {
        if self.objective.outputs() == 1 {
            return self.cache.apply(w);
        }
        w.chunks_exact(self.cache.len()).flat_map(|w| self.cache.apply(w)).collect()
    }

    /// `X' v` of every output.
    fn transpose(&self, v: &[f64]) -> Vec<f64> {
        if self.objective.outputs() == 1 {
            return self.cache.transpose(v);
        }
        v.chunks_exact(self.cache.rows()).flat_map(|v| self.cache.transpose(v)).collect()
    }

    /// The negative gradient of the objective at decision values `d`.
    fn residual(&self, d: &[f64]) -> Vec<f64> {
        let mut v = vec![0.0; d.len()];
        self.objective.residual(d, &mut v);
        v
    }
}
