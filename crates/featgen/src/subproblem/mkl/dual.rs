//! One machine in its dual: `max over v of conjugate(v) - 1/2 sum_j delta_j (x_j' v)^2`, by coordinate ascent over instances, as in
//! LIBLINEAR (Hsieh, Chang, Lin, Keerthi and Sundararajan 2008; Yu, Huang and Lin 2011).
//!
//! With an intercept the dual has the constraint `sum v = 0`, which single coordinates cannot keep. It is moved into the objective,
//! `- b sum v - rho/2 (sum v)^2`: to the coordinates that is one more column. The multiplier b is the intercept.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::kernels;
use crate::objective::Objective;
use crate::subproblem::row_view::RowView;
use crate::subproblem::{Goal, Problem};

/// A machine is trained until what it leaves open may change the whole gap by no more than this part: the rest is due to the weights
/// of the kernels.
const OWN_PART: f64 = 0.05;

/// Passes over all instances for one machine, at most, and between two measurements, at most.
const MOST_SWEEPS: usize = 10_000;
const MOST_BETWEEN: usize = 16;

/// Steps of Newton's method for one coordinate, at most.
const NEWTON_STEPS: usize = 60;

/// Dual variables, and the intercept where there is one.
pub(super) struct Dual {
    pub(super) v: Vec<f64>,
    pub(super) intercept: Option<f64>,
}

/// How far a machine is from its optimum.
pub(super) struct Measured {
    /// How far the slopes in the weights of kernels may be from those at the machine's optimum.
    pub(super) own: f64,
    /// The gap of the problem that weights of kernels belong to as well.
    pub(super) whole: f64,
}

/// The cached columns by rows: coordinates are instances.
pub(super) struct Machine<'a> {
    problem: &'a Problem<'a>,
    rows: Rows,
}

enum Rows {
    Dense { width: usize, values: Vec<f64> },
    Sparse(RowView),
}

impl<'a> Machine<'a> {
    pub(super) fn new(problem: &'a Problem<'a>) -> Self {
        Self { problem, rows: Rows::new(problem) }
    }

    /// Trains from `start`. `measure` is given `X' v` and the intercept now and then, and says how far there is to go and whether
    /// that is near enough.
    pub(super) fn train(
        &self,
        delta: &[f64],
        start: &Dual,
        goal: &Goal<'_>,
        mut measure: impl FnMut(&[f64], Option<f64>) -> (Measured, bool),
    ) -> Dual {
        let n = self.problem.cache.rows();
        let squares: Vec<f64> = (0..n).map(|i| self.rows.square(i, delta)).collect();
        let with_intercept = self.problem.free.intercept;
        let mean = squares.iter().sum::<f64>() / n.max(1) as f64;
        let rho = match with_intercept {
            true if mean > 0.0 => mean,
            true => 1.0,
            false => 0.0,
        };
        let mut dual = Dual { v: start.v.clone(), intercept: start.intercept };
        let mut order: Vec<usize> = (0..n).filter(|&i| self.problem.objective.costs()[i] > 0.0).collect();
        // One seed for all: results are to be the same again.
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let (mut sweeps, mut between) = (0, 1);
        loop {
            // Sums are made afresh after each measurement, so that rounding does not pile up.
            let c = self.problem.transpose(&dual.v);
            let (measured, content) = measure(&c, dual.intercept);
            let solved = measured.own <= OWN_PART * measured.whole;
            if content || solved || sweeps >= MOST_SWEEPS || goal.interrupted() {
                return dual;
            }
            let mut ascent = Ascent {
                objective: self.problem.objective,
                offset: self.problem.free.offset.as_deref(),
                rows: &self.rows,
                delta,
                squares: &squares,
                weights: c.iter().zip(delta).map(|(c, delta)| c * delta).collect(),
                sum: dual.v.iter().sum(),
                intercept: dual.intercept.unwrap_or(0.0),
                rho,
            };
            for _ in 0..between {
                order.shuffle(&mut random);
                order.iter().for_each(|&i| ascent.step(i, &mut dual.v));
                // The method of multipliers; not the intercept that suits decision values best, which may jump far from pass to pass.
                ascent.intercept += rho * ascent.sum;
            }
            dual.intercept = dual.intercept.map(|_| ascent.intercept);
            sweeps += between;
            between = (2 * between).min(MOST_BETWEEN);
        }
    }
}

/// The sums that change with every coordinate.
struct Ascent<'a> {
    objective: &'a dyn Objective,
    offset: Option<&'a [f64]>,
    rows: &'a Rows,
    delta: &'a [f64],
    squares: &'a [f64],
    /// `delta_j x_j' v` of every column.
    weights: Vec<f64>,
    sum: f64,
    intercept: f64,
    rho: f64,
}

impl Ascent<'_> {
    /// Maximises over one coordinate. Its optimum is the residual at the decision value d that this residual itself leads to,
    /// `d = f + q (residual(d) - v)`.
    fn step(&mut self, i: usize, v: &mut [f64]) {
        let offset = self.offset.map_or(0.0, |offset| offset[i]);
        let f = self.rows.product(i, &self.weights) + self.intercept + self.rho * self.sum + offset;
        let q = self.squares[i] + self.rho;
        let new = consistent_residual(|d| self.objective.of_instance(i, d).unwrap_or_default(), f, q, v[i]);
        let change = new - v[i];
        if change != 0.0 {
            v[i] = new;
            self.sum += change;
            self.rows.add(i, change, self.delta, &mut self.weights);
        }
    }
}

/// The residual at the root of `d - q residual(d) = f - q v`: it rises at least as fast as d, so that Newton's method is kept
/// between ends that enclose the root.
fn consistent_residual(at: impl Fn(f64) -> (f64, f64), f: f64, q: f64, v: f64) -> f64 {
    let target = f - q * v;
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut d = f;
    for _ in 0..NEWTON_STEPS {
        let (residual, curvature) = at(d);
        let over = d - q * residual - target;
        if over.abs() <= 1e-15 * (d.abs() + (q * residual).abs() + target.abs()) {
            return residual;
        }
        // The slope is at least 1: the root is no further away than `over`.
        (low, high) = if over > 0.0 { (low.max(d - over), d) } else { (d, high.min(d - over)) };
        let newton = d - over / (1.0 + q * curvature);
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if next == d {
            return residual;
        }
        d = next;
    }
    at(d).0
}

impl Rows {
    fn new(problem: &Problem<'_>) -> Self {
        let (n, width) = (problem.cache.rows(), problem.cache.len());
        let Some(sparse) = problem.cache.sparse() else {
            let all: Vec<(u32, f64)> = (0..n as u32).map(|i| (i, 1.0)).collect();
            let mut values = vec![0.0; n * width];
            problem.cache.pack(&all, width, &mut values);
            return Self::Dense { width, values };
        };
        Self::Sparse(RowView::new(sparse, n))
    }

    /// `sum_j delta_j x_ij^2`.
    fn square(&self, i: usize, delta: &[f64]) -> f64 {
        match self {
            Self::Dense { width, values } => {
                values[i * width..][..*width].iter().zip(delta).map(|(x, delta)| delta * x * x).sum()
            }
            Self::Sparse(rows) => {
                let mut sum = 0.0;
                rows.see(i, |j, x| sum += delta[j] * x * x);
                sum
            }
        }
    }

    /// `sum_j x_ij w_j`.
    fn product(&self, i: usize, w: &[f64]) -> f64 {
        match self {
            Self::Dense { width, values } => kernels::dot(&values[i * width..][..*width], w),
            Self::Sparse(rows) => {
                let mut sum = 0.0;
                rows.see(i, |j, x| sum += x * w[j]);
                sum
            }
        }
    }

    /// Adds `change delta_j x_ij` to all `w_j`.
    fn add(&self, i: usize, change: f64, delta: &[f64], w: &mut [f64]) {
        match self {
            Self::Dense { width, values } => {
                let x = &values[i * width..][..*width];
                w.iter_mut().zip(x).zip(delta).for_each(|((w, x), delta)| *w += change * delta * x);
            }
            Self::Sparse(rows) => rows.see(i, |j, x| w[j] += change * delta[j] * x),
        }
    }
}
