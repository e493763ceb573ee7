//! Objectives that are sums of a function of one decision value and one number to be predicted.

use super::balance::balance;
use super::{Objective, bound};
use crate::bracket::Bracket;
use crate::ordered;
use crate::rounding::UNIT;

/// A loss of a decision value `f` for an instance whose target is `y`, per unit of cost: convex in `f`, at least 0.
///
/// With two classes, `y` is -1 or 1. Every function must be safe at any finite decision value.
pub trait PointLoss: Send + Sync + 'static {
    /// The loss, at least 0.
    fn value(&self, f: f64, y: f64) -> f64;

    /// Its negative derivative in f.
    fn residual(&self, f: f64, y: f64) -> f64;

    /// Its second derivative in f, at least 0.
    fn curvature(&self, f: f64, y: f64) -> f64;

    /// Whether the second derivative is below some number everywhere.
    fn is_smooth(&self) -> bool {
        true
    }

    /// The concave term of the dual objective at residual `v`: `min over f of value(f, y) + v f`.
    fn conjugate(&self, v: f64, y: f64) -> f64;

    /// The same less all that rounding may have added to it: surely not above the exact value at `v`.
    fn conjugate_below(&self, v: f64, y: f64) -> f64;

    /// First and second derivative of [`conjugate`](Self::conjugate) in v; finite wherever it is defined.
    fn conjugate_slopes(&self, v: f64, y: f64) -> (f64, f64);

    /// The conjugate, about, with its first and second derivative: what these have in common may be computed once.
    fn expand_conjugate(&self, v: f64, y: f64) -> [f64; 3] {
        let (slope, curvature) = self.conjugate_slopes(v, y);
        [self.conjugate(v, y), slope, curvature]
    }

    /// The largest multiple of `v` at which the conjugate is defined; it is defined at 0 and, but for rounding, at every residual.
    fn limit(&self, v: f64, y: f64) -> f64;

    /// The nearest number to `v` at which the conjugate is defined.
    fn clamp(&self, v: f64, y: f64) -> f64;
}

/// A point loss, weighted and summed over instances and outputs.
pub struct Separable<L> {
    loss: L,
    /// The target of every instance, output after output.
    y: Vec<f64>,
    costs: Vec<f64>,
}

impl<L: PointLoss> Separable<L> {
    /// From the targets of all instances, output after output, and the instances' costs.
    pub fn new(loss: L, y: Vec<f64>, costs: Vec<f64>) -> Self {
        Self { loss, y, costs }
    }

    /// The targets of every output beside a part of `x`.
    fn by_output<'a>(&'a self, x: &'a [f64]) -> impl Iterator<Item = (&'a [f64], &'a [f64])> {
        let n = self.costs.len().max(1);
        self.y.chunks_exact(n).zip(x.chunks_exact(n))
    }

    /// `K` sums over all instances and outputs of what `terms` makes of the target, the number in `x` and the cost.
    fn sums<const K: usize>(&self, x: &[f64], terms: impl Fn(f64, f64, f64) -> [f64; K] + Sync) -> [f64; K] {
        let mut all = [0.0; K];
        for (y, x) in self.by_output(x) {
            let part = ordered::sums_over(
                [y, x, &self.costs],
                #[inline(always)]
                |[y, x, cost]| terms(y, x, cost),
            );
            all.iter_mut().zip(part).for_each(|(all, part)| *all += part);
        }
        all
    }

    /// Makes `out` of the target, the number in `x` and the cost of every instance and output.
    fn map(&self, x: &[f64], out: &mut [f64], each: impl Fn(f64, f64, f64) -> f64 + Sync) {
        let n = self.costs.len().max(1);
        for ((y, x), out) in self.by_output(x).zip(out.chunks_exact_mut(n)) {
            ordered::fill_from(
                [y, x, &self.costs],
                out,
                #[inline(always)]
                |[y, x, cost]| each(y, x, cost),
            );
        }
    }

    /// The b that minimises the loss of one output at `f - b`: Newton's method kept inside a bracket by bisection.
    fn best_shift(&self, y: &[f64], f: &[f64], start: f64) -> f64 {
        let mut b = start;
        let mut bracket = Bracket { low: f64::NEG_INFINITY, high: f64::INFINITY };
        for _ in 0..200 {
            let [slope, size, curvature] = ordered::sums_over(
                [y, f, &self.costs],
                #[inline(always)]
                |[y, f, cost]| {
                    let v = cost * self.loss.residual(f - b, y);
                    [v, v.abs(), cost * self.loss.curvature(f - b, y)]
                },
            );
            if slope.abs() <= 1e-14 * size {
                break;
            }
            let outwards = b - slope.signum() * (1.0 + b.abs());
            let next = bracket.next(b, slope <= 0.0, b - slope / curvature, outwards);
            if next == b || (next - b).abs() <= 1e-16 * b.abs() {
                break;
            }
            b = next;
        }
        b
    }

    /// The multiple of `v` that makes the largest bound, about, and surely feasible.
    fn best_multiple(&self, v: &[f64], top: f64, linear: f64) -> f64 {
        let mut limit = f64::INFINITY;
        let mut nothing = true;
        for (y, v) in self.by_output(v) {
            for i in 0..v.len() {
                let v = ratio(v[i], self.costs[i]);
                nothing &= v == 0.0;
                limit = limit.min(self.loss.limit(v, y[i]));
            }
        }
        if nothing {
            return 0.0;
        }
        // As it is, v is feasible; larger multiples must be so with rounding.
        let limit = (limit * (1.0 - 8.0 * UNIT)).max(1.0);
        bound::best_multiple(limit, top, linear, |kappa| {
            self.sums(
                v,
                #[inline(always)]
                |y, v, cost| {
                    let ratio = ratio(v, cost);
                    let a = self.loss.clamp(kappa * ratio, y);
                    let [value, slope, curvature] = self.loss.expand_conjugate(a, y);
                    [cost * value, v * slope, v * (ratio * curvature)]
                },
            )
        })
    }

    /// A number that is surely not above what the multiple kappa of `v` proves.
    pub(super) fn bound_at(&self, kappa: f64, v: &[f64], top: f64, linear: f64) -> f64 {
        let [sum, size] = self.sums(
            v,
            #[inline(always)]
            |y, v, cost| {
                // Two operations make the ratio; a concave function is smallest at an end of where it may be.
                let a = ratio(kappa * v, cost);
                let end = |off: f64| self.loss.conjugate_below(self.loss.clamp(a * (1.0 + off), y), y);
                let term = cost * end(-4.0 * UNIT).min(end(4.0 * UNIT));
                [term, term.abs()]
            },
        );
        let operations = ordered::depth(self.costs.len()) + 7 + self.outputs();
        bound::surely(sum, size, operations, kappa, top, linear)
    }
}

/// The residual per unit of cost; 0 for instances that do not count.
fn ratio(v: f64, cost: f64) -> f64 {
    if cost > 0.0 { v / cost } else { 0.0 }
}

impl<L: PointLoss> Objective for Separable<L> {
    fn outputs(&self) -> usize {
        self.y.len() / self.costs.len().max(1)
    }

    fn costs(&self) -> &[f64] {
        &self.costs
    }

    fn rescale(&mut self, factor: f64) {
        self.costs.iter_mut().for_each(|cost| *cost *= factor);
    }

    fn value(&self, d: &[f64]) -> f64 {
        let [value] = self.sums(d, |y, d, cost| [cost * self.loss.value(d, y)]);
        value
    }

    fn residual(&self, d: &[f64], v: &mut [f64]) {
        self.map(d, v, |y, d, cost| cost * self.loss.residual(d, y));
    }

    fn curvature(&self, d: &[f64], h: &mut [f64]) {
        self.map(d, h, |y, d, cost| cost * self.loss.curvature(d, y));
    }

    fn of_instance(&self, i: usize, d: f64) -> Option<(f64, f64)> {
        let one = self.y.len() == self.costs.len() && self.loss.is_smooth();
        let (y, cost) = (*self.y.get(i).filter(|_| one)?, self.costs[i]);
        Some((cost * self.loss.residual(d, y), cost * self.loss.curvature(d, y)))
    }

    fn fit_intercept(&self, f: &[f64], at: &mut [f64]) -> bool {
        for ((y, f), at) in self.by_output(f).zip(at) {
            *at = 0.0 - self.best_shift(y, f, -*at);
        }
        true
    }

    fn make_feasible(&self, v: &mut [f64], intercept: bool) -> bool {
        if intercept {
            v.chunks_exact_mut(self.costs.len().max(1)).for_each(balance);
        }
        true
    }

    fn lower_bound(&self, _d: &[f64], v: &[f64], top: f64, linear: f64) -> f64 {
        self.bound_at(self.best_multiple(v, top, linear), v, top, linear).max(0.0)
    }
}
