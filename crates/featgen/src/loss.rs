//! How errors count. A loss is a convex function of the margin `z = y f(x)`, described by four numbers.

use std::sync::Arc;

use crate::bracket::Bracket;
use crate::error::{Error, Result};
use crate::ordered;
use crate::rounding::{self, UNIT};

/// A loss of the margin, per unit of cost, and all that is derived from it.
///
/// The four scalar functions define a loss; the provided ones apply them to all instances. Every function must be
/// safe at any finite margin.
pub trait Loss: Send + Sync {
    /// The name in the command line and in models.
    fn name(&self) -> &'static str;

    /// `loss(z)`, at least 0.
    fn value(&self, z: f64) -> f64;

    /// `-loss'(z)`, at least 0: the dual variable per unit of cost.
    fn dual(&self, z: f64) -> f64;

    /// `loss''(z)`, at least 0.
    fn curvature(&self, z: f64) -> f64;

    /// The concave term of the dual objective at dual variable `a` per unit of cost: `min_z loss(z) + a z`, taken with the
    /// sign that makes the dual a lower bound. Defined on `0 <= a <= dual_limit()`.
    fn conjugate(&self, a: f64) -> f64;

    /// The same less all that rounding may have added to it: surely not above the exact value at `a`.
    fn conjugate_below(&self, a: f64) -> f64;

    /// First and second derivative of [`conjugate`](Loss::conjugate); finite everywhere on its domain.
    fn conjugate_slopes(&self, a: f64) -> (f64, f64);

    /// The largest feasible dual variable per unit of cost.
    fn dual_limit(&self) -> f64;

    /// The probability of the positive class at decision value `f`, if the loss is a likelihood.
    fn probability(&self, _f: f64) -> Option<f64> {
        None
    }

    /// `sum_i cost_i loss(y_i (f_i - b))`.
    fn total(&self, f: &[f64], b: f64, signs: &[f64], costs: &[f64]) -> f64 {
        ordered::sum(f.len(), |i| costs[i] * self.value(signs[i] * (f[i] - b)))
    }

    /// Of the same as a function of b: the slope, the sum of its terms' sizes, and the curvature.
    fn slopes(&self, f: &[f64], b: f64, signs: &[f64], costs: &[f64]) -> [f64; 3] {
        ordered::sums(f.len(), |i| {
            let z = signs[i] * (f[i] - b);
            let alpha = costs[i] * self.dual(z);
            [signs[i] * alpha, alpha, costs[i] * self.curvature(z)]
        })
    }

    /// `alpha_i = cost_i * dual(z_i)`.
    fn duals(&self, z: &[f64], costs: &[f64], alpha: &mut [f64]) {
        ordered::fill(alpha, |i| costs[i] * self.dual(z[i]));
    }

    /// `h_i = cost_i * curvature(z_i)`.
    fn curvatures(&self, z: &[f64], costs: &[f64], h: &mut [f64]) {
        ordered::fill(h, |i| costs[i] * self.curvature(z[i]));
    }

    /// The best lower bound that multiples of `alpha` give: `max over kappa of D(kappa alpha)`, where
    /// `D(alpha) = sum_i cost_i conjugate(alpha_i / cost_i) - top / 2` and `top`, at least the sum of the largest scores,
    /// is quadratic in alpha.
    ///
    /// It holds as it is printed: whatever rounding may have added is taken off. For that `alpha` must be feasible as the
    /// numbers it consists of, and `top` must not be too small by rounding.
    fn bound(&self, alpha: &[f64], costs: &[f64], top: f64) -> f64 {
        let multiple = self.best_multiple(alpha, costs, top);
        self.bound_at(multiple, alpha, costs, top).max(0.0)
    }

    /// The multiple of `alpha` that makes the largest bound, about, and surely feasible.
    ///
    /// `D` is concave in kappa: Newton's method from kappa = 1, which is the maximum at the optimum, and exact in one step
    /// where the conjugate is quadratic.
    fn best_multiple(&self, alpha: &[f64], costs: &[f64], top: f64) -> f64 {
        let ratio = |i: usize| ratio(alpha[i], costs[i]);
        let largest = (0..alpha.len()).map(ratio).fold(0.0, f64::max);
        if largest == 0.0 {
            return 0.0;
        }
        // As it is, alpha is feasible; larger multiples must be so with rounding.
        let limit = (self.dual_limit() / largest * (1.0 - 8.0 * UNIT)).max(1.0);
        let expand = |kappa: f64| {
            let each = |i: usize| {
                let a = (kappa * ratio(i)).min(self.dual_limit());
                let (slope, curvature) = self.conjugate_slopes(a);
                [costs[i] * self.conjugate(a), alpha[i] * slope, alpha[i] * (ratio(i) * curvature)]
            };
            let [value, slope, curvature] = ordered::sums(alpha.len(), each);
            (value - 0.5 * kappa * kappa * top, slope - kappa * top, curvature - top)
        };
        let mut bracket = Bracket { low: 0.0, high: limit };
        let mut kappa = 1.0;
        let (mut best, mut most) = (0.0, 0.0);
        for _ in 0..50 {
            let (value, slope, curvature) = expand(kappa);
            if value > most {
                (best, most) = (kappa, value);
            }
            let next = bracket.next(kappa, slope > 0.0, kappa - slope / curvature, 2.0 * kappa);
            // The value is flat at the maximum: half the digits of kappa give all digits of the bound.
            if slope == 0.0 || (next - kappa).abs() <= 1e-9 * kappa {
                break;
            }
            kappa = next;
        }
        best
    }

    /// A number that is surely not above `D(kappa alpha)`.
    fn bound_at(&self, kappa: f64, alpha: &[f64], costs: &[f64], top: f64) -> f64 {
        let each = |i: usize| {
            // Two operations make the ratio; a concave function is smallest at an end of where it may be.
            let a = kappa * alpha[i] / costs[i];
            let [low, high] = [a * (1.0 - 4.0 * UNIT), (a * (1.0 + 4.0 * UNIT)).min(self.dual_limit())];
            let term = match costs[i] > 0.0 {
                true => costs[i] * self.conjugate_below(low).min(self.conjugate_below(high)),
                false => 0.0,
            };
            [term, term.abs()]
        };
        let [sum, size] = ordered::sums(alpha.len(), each);
        let half = 0.5 * kappa * kappa * top;
        let lost = rounding::relative(ordered::depth(alpha.len()) + 8) * (size + half);
        // What is too small to be a number of full precision may be lost as well, but never this much.
        sum - half - lost - f64::MIN_POSITIVE
    }
}

/// The dual variable per unit of cost; 0 for instances that do not count.
fn ratio(alpha: f64, cost: f64) -> f64 {
    if cost > 0.0 { alpha / cost } else { 0.0 }
}

/// `1/2 max(0, 1 - z)^2`: the support vector machine's loss, squared.
#[derive(Debug, Clone, Copy, Default)]
pub struct SquaredHinge;

impl Loss for SquaredHinge {
    fn name(&self) -> &'static str {
        "squared-hinge"
    }

    #[inline]
    fn value(&self, z: f64) -> f64 {
        let slack = (1.0 - z).max(0.0);
        0.5 * slack * slack
    }

    #[inline]
    fn dual(&self, z: f64) -> f64 {
        (1.0 - z).max(0.0)
    }

    #[inline]
    fn curvature(&self, z: f64) -> f64 {
        if z < 1.0 { 1.0 } else { 0.0 }
    }

    #[inline]
    fn conjugate(&self, a: f64) -> f64 {
        a - 0.5 * a * a
    }

    #[inline]
    fn conjugate_below(&self, a: f64) -> f64 {
        let (one, half) = (a, 0.5 * a * a);
        one - half - 4.0 * UNIT * (one + half)
    }

    #[inline]
    fn conjugate_slopes(&self, a: f64) -> (f64, f64) {
        (1.0 - a, -1.0)
    }

    fn dual_limit(&self) -> f64 {
        f64::INFINITY
    }
}

/// `log(1 + exp(-z))`: logistic regression.
#[derive(Debug, Clone, Copy, Default)]
pub struct Logistic;

impl Loss for Logistic {
    fn name(&self) -> &'static str {
        "logistic"
    }

    #[inline]
    fn value(&self, z: f64) -> f64 {
        // log(1 + exp(-z)) = max(0, -z) + log(1 + exp(-|z|)): nothing overflows.
        (-z).max(0.0) + (-z.abs()).exp().ln_1p()
    }

    #[inline]
    fn dual(&self, z: f64) -> f64 {
        let e = (-z.abs()).exp();
        if z > 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) }
    }

    #[inline]
    fn curvature(&self, z: f64) -> f64 {
        let e = (-z.abs()).exp();
        e / ((1.0 + e) * (1.0 + e))
    }

    #[inline]
    fn conjugate(&self, a: f64) -> f64 {
        // The entropy of a coin. Beside a small a, `1 - a` has lost its digits; its logarithm need not.
        let rest = 1.0 - a;
        let log = if a < 0.5 { (-a).ln_1p() } else { rest.ln() };
        let first = if a > 0.0 { a * a.ln() } else { 0.0 };
        let second = if rest > 0.0 { rest * log } else { 0.0 };
        -(first + second)
    }

    #[inline]
    fn conjugate_below(&self, a: f64) -> f64 {
        // Both terms have the same sign, and each but a few roundings.
        self.conjugate(a) * (1.0 - 16.0 * UNIT)
    }

    #[inline]
    fn conjugate_slopes(&self, a: f64) -> (f64, f64) {
        let (p, q) = (a.max(f64::MIN_POSITIVE), (1.0 - a).max(f64::EPSILON));
        (q.ln() - p.ln(), -1.0 / (p * q))
    }

    fn dual_limit(&self) -> f64 {
        1.0
    }

    fn probability(&self, f: f64) -> Option<f64> {
        Some(self.dual(-f))
    }
}

/// The losses by name: the one place where the choice is made.
pub fn by_name(name: &str) -> Result<Arc<dyn Loss>> {
    match name {
        "squared-hinge" => Ok(Arc::new(SquaredHinge)),
        "logistic" => Ok(Arc::new(Logistic)),
        other => Err(Error::parameter("loss", format!("{other} is not one of squared-hinge, logistic"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Big = dashu_float::FBig;

    /// The conjugates a second time, with many digits.
    fn exact_conjugate(loss: &str, a: &Big) -> Big {
        let number = |x: f64| Big::try_from(x).unwrap().with_precision(300).value();
        let entropy = |p: Big| {
            if p > number(0.0) { &p * p.clone().with_precision(300).value().ln() } else { number(0.0) }
        };
        match loss {
            "squared-hinge" => a - a * a / number(2.0),
            _ => -(entropy(a.clone()) + entropy(number(1.0) - a)),
        }
    }

    fn losses() -> [Box<dyn Loss>; 2] {
        [Box::new(SquaredHinge), Box::new(Logistic)]
    }

    #[test]
    fn safe_at_any_margin() {
        for loss in losses() {
            for z in [0.0, 1.0, -1.0, 40.0, -40.0, 800.0, -800.0, 1e9, -1e9, 1e150, -1e150] {
                let all = [loss.value(z), loss.dual(z), loss.curvature(z)];
                assert!(all.iter().all(|x| x.is_finite() && *x >= 0.0), "{} at {z}: {all:?}", loss.name());
                assert!(loss.dual(z) <= loss.dual_limit());
            }
        }
    }

    proptest! {
        #[test]
        fn derivatives_agree_with_differences(z in -30.0f64..30.0) {
            prop_assume!((z - 1.0).abs() > 1e-3);
            for loss in losses() {
                let e = 1e-5;
                let slope = (loss.value(z + e) - loss.value(z - e)) / (2.0 * e);
                prop_assert!((slope + loss.dual(z)).abs() < 1e-6 * (1.0 + slope.abs()));
                let curve = -(loss.dual(z + e) - loss.dual(z - e)) / (2.0 * e);
                prop_assert!((curve - loss.curvature(z)).abs() < 1e-6 * (1.0 + curve.abs()));
            }
        }

        #[test]
        fn fenchel_young(z in -30.0f64..30.0, u in 0.0f64..1.0) {
            // conjugate(a) <= loss(z) + a z for every z and a, with equality at a = dual(z).
            for loss in losses() {
                let a = u * loss.dual_limit().min(50.0);
                prop_assert!(loss.conjugate(a) <= loss.value(z) + a * z + 1e-12);
                let a = loss.dual(z);
                prop_assert!((loss.conjugate(a) - loss.value(z) - a * z).abs() < 1e-9 * (1.0 + z * z));
            }
        }

        /// At any cost and any dual variables: no more than the exact value, and hardly less.
        #[test]
        fn bounds_hold_in_spite_of_rounding(
            rows in prop::collection::vec((-60.0f64..60.0, -20.0f64..13.0), 1..12), kappa in 0.01f64..1.0, top in 0.0f64..1e3,
        ) {
            let big = |x: f64| Big::try_from(x).unwrap().with_precision(300).value();
            let costs: Vec<f64> = rows.iter().map(|row| 10f64.powf(row.1)).collect();
            for loss in losses() {
                let alpha: Vec<f64> = (0..rows.len()).map(|i| costs[i] * loss.dual(rows[i].0)).collect();
                let term = |i: usize| {
                    let a = big(kappa) * big(alpha[i]) / big(costs[i]);
                    big(costs[i]) * exact_conjugate(loss.name(), &a)
                };
                let sum = (0..rows.len()).map(term).fold(big(0.0), |sum, term| sum + term);
                let half = big(kappa) * big(kappa) * big(top) / big(2.0);
                let bound = loss.bound_at(kappa, &alpha, &costs, top);
                prop_assert!(big(bound) <= &sum - &half, "{}: {bound:e} above the exact value", loss.name());
                let size = (0..rows.len()).map(|i| alpha[i] * (1.0 + alpha[i] / costs[i]) * 40.0).sum::<f64>();
                prop_assert!(big(bound + 1e-14 * (size + top) + 1e-300) >= sum - half, "{}: {bound:e} is far below", loss.name());
            }
        }

        #[test]
        fn bound_is_the_best_multiple(
            rows in prop::collection::vec((-3.0f64..3.0, 0.1f64..5.0), 1..20), top in 0.0f64..100.0,
        ) {
            for loss in losses() {
                let costs: Vec<f64> = rows.iter().map(|r| r.1).collect();
                let alpha: Vec<f64> = rows.iter().map(|r| r.1 * loss.dual(r.0)).collect();
                let bound = loss.bound(&alpha, &costs, top);
                let limit = loss.dual_limit() / rows.iter().map(|r| loss.dual(r.0)).fold(1e-9, f64::max);
                for k in 0..=400 {
                    let kappa = limit.min(20.0) * f64::from(k) / 400.0;
                    let terms = alpha.iter().zip(&costs).map(|(a, c)| c * loss.conjugate(kappa * a / c));
                    let value = terms.sum::<f64>() - 0.5 * kappa * kappa * top;
                    prop_assert!(value <= bound + 1e-9 * (1.0 + bound.abs()), "{}: {value} > {bound}", loss.name());
                }
            }
        }
    }
}
