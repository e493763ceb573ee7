//! How errors count. A loss is a convex function of the margin `z = y f(x)`, described by four numbers.

use std::sync::Arc;

use crate::bracket::Bracket;
use crate::error::{Error, Result};
use crate::ordered;

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
    /// `D(alpha) = sum_i cost_i conjugate(alpha_i / cost_i) - top / 2` and `top`, the sum of the largest scores, is
    /// quadratic in alpha.
    ///
    /// `D` is concave in kappa, and every feasible kappa gives a valid bound: Newton's method from kappa = 1, which is
    /// the maximum at the optimum, and exact in one step where the conjugate is quadratic.
    fn bound(&self, alpha: &[f64], costs: &[f64], top: f64) -> f64 {
        let ratio = |i: usize| if costs[i] > 0.0 { alpha[i] / costs[i] } else { 0.0 };
        let largest = (0..alpha.len()).map(ratio).fold(0.0, f64::max);
        if largest == 0.0 {
            return 0.0;
        }
        let limit = self.dual_limit() / largest;
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
        let mut kappa = limit.min(1.0);
        let mut best = 0.0_f64;
        for _ in 0..50 {
            let (value, slope, curvature) = expand(kappa);
            best = best.max(value);
            let next = bracket.next(kappa, slope > 0.0, kappa - slope / curvature, 2.0 * kappa);
            // The value is flat at the maximum: half the digits of kappa give all digits of the bound.
            if slope == 0.0 || (next - kappa).abs() <= 1e-9 * kappa {
                break;
            }
            kappa = next;
        }
        best
    }
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
        -(entropy(a) + entropy(1.0 - a))
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

/// `p log p`, with `0 log 0 = 0`.
fn entropy(p: f64) -> f64 {
    if p > 0.0 { p * p.ln() } else { 0.0 }
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
