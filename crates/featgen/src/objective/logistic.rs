//! `log(1 + exp(-y f))`: logistic regression.

use std::sync::Arc;

use super::{Loss, LossSpec, Objective, Output, PointLoss, Separable};
use crate::data::Labels;
use crate::elementary::{exp, ln, ln_1p};
use crate::error::Result;
use crate::rounding::UNIT;

pub(super) const SPEC: LossSpec = LossSpec {
    name: "logistic",
    help: "two classes, with probabilities: logistic regression",
    output: Output::Classes,
    many_classes: false,
    parameters: &[],
    probabilities: Some(|d| {
        let p = dual(-d[0]);
        vec![1.0 - p, p]
    }),
    make: |_| Arc::new(Logistic),
};

/// The logistic loss, for two classes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Logistic;

impl Loss for Logistic {
    fn name(&self) -> &str {
        SPEC.name
    }

    fn output(&self) -> Output {
        SPEC.output
    }

    fn objective(&self, labels: &Labels, costs: Vec<f64>) -> Result<Box<dyn Objective>> {
        labels.two_classes()?;
        labels.weighed_classes(&costs)?;
        Ok(Box::new(Separable::new(Self, labels.signs(1), costs)))
    }
}

/// `1 / (1 + exp(z))`, of full precision for any z.
#[inline(always)]
fn dual(z: f64) -> f64 {
    let e = exp(-z.abs());
    if z > 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) }
}

impl PointLoss for Logistic {
    #[inline(always)]
    fn value(&self, f: f64, y: f64) -> f64 {
        // log(1 + exp(-z)) = max(0, -z) + log(1 + exp(-|z|)): nothing overflows.
        let z = y * f;
        (-z).max(0.0) + ln_1p(exp(-z.abs()))
    }

    #[inline(always)]
    fn residual(&self, f: f64, y: f64) -> f64 {
        y * dual(y * f)
    }

    #[inline(always)]
    fn curvature(&self, f: f64, y: f64) -> f64 {
        // Of `y f`, though the sign does not matter: beside the residual, the exponential is computed once.
        let e = exp(-(y * f).abs());
        e / ((1.0 + e) * (1.0 + e))
    }

    #[inline(always)]
    fn conjugate(&self, v: f64, _y: f64) -> f64 {
        // The entropy of a coin. Beside a small a, `1 - a` has lost its digits; its logarithm need not.
        let a = v.abs();
        let rest = (1.0 - a).max(0.0);
        let log = if a < 0.5 { ln_1p(-a.min(0.5)) } else { ln(rest.max(f64::MIN_POSITIVE)) };
        -(a * ln(a.max(f64::MIN_POSITIVE)) + rest * log)
    }

    #[inline(always)]
    fn conjugate_below(&self, v: f64, y: f64) -> f64 {
        // Both terms have the same sign, and each but a few roundings.
        self.conjugate(v, y) * (1.0 - 16.0 * UNIT)
    }

    #[inline(always)]
    fn conjugate_slopes(&self, v: f64, y: f64) -> (f64, f64) {
        let [_, slope, curvature] = self.expand_conjugate(v, y);
        (slope, curvature)
    }

    #[inline(always)]
    fn expand_conjugate(&self, v: f64, y: f64) -> [f64; 3] {
        let a = v.abs();
        let (p, q) = (a.max(f64::MIN_POSITIVE), (1.0 - a).max(f64::EPSILON));
        let (log_p, log_q) = (ln(p), ln(q));
        [-(p * log_p + q * log_q), y * (log_q - log_p), -1.0 / (p * q)]
    }

    #[inline(always)]
    fn limit(&self, v: f64, _y: f64) -> f64 {
        1.0 / v.abs()
    }

    #[inline(always)]
    fn clamp(&self, v: f64, _y: f64) -> f64 {
        v.clamp(-1.0, 1.0)
    }
}
