//! Least squares near the target, absolute errors beyond `delta`: a few wild numbers do not spoil the fit.

use std::sync::Arc;

use super::squared::Squared;
use super::{Loss, LossParameter, LossSpec, Objective, Output, PointLoss, Separable};
use crate::data::Labels;
use crate::error::Result;

pub(super) const SPEC: LossSpec = LossSpec {
    name: "huber",
    help: "numbers, some of which may be far off: squared errors up to delta, absolute ones beyond",
    output: Output::Number,
    many_classes: false,
    parameters: &[LossParameter {
        name: "delta",
        help: "the error, in the units of the label, from which it counts by its size instead of its square",
        default: 1.35,
    }],
    probabilities: None,
    make: |parameters| Arc::new(Huber { delta: parameters[0] }),
};

/// `1/2 r^2` where `|r| <= delta`, else `delta |r| - 1/2 delta^2`, for the error `r = y - f`.
#[derive(Debug, Clone, Copy)]
pub struct Huber {
    /// The error from which it counts by its size.
    pub delta: f64,
}

impl Loss for Huber {
    fn name(&self) -> &str {
        SPEC.name
    }

    fn output(&self) -> Output {
        SPEC.output
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        vec![("delta", self.delta.to_string())]
    }

    fn objective(&self, labels: &Labels, costs: Vec<f64>) -> Result<Box<dyn Objective>> {
        let y = labels.numbers()?.into_owned();
        Ok(Box::new(Separable::new(*self, y, costs)))
    }
}

impl PointLoss for Huber {
    #[inline]
    fn value(&self, f: f64, y: f64) -> f64 {
        let size = (y - f).abs();
        if size <= self.delta { 0.5 * size * size } else { self.delta * (size - 0.5 * self.delta) }
    }

    #[inline]
    fn residual(&self, f: f64, y: f64) -> f64 {
        (y - f).clamp(-self.delta, self.delta)
    }

    #[inline]
    fn curvature(&self, f: f64, y: f64) -> f64 {
        if (y - f).abs() <= self.delta { 1.0 } else { 0.0 }
    }

    #[inline]
    fn conjugate(&self, v: f64, y: f64) -> f64 {
        Squared.conjugate(v, y)
    }

    #[inline]
    fn conjugate_below(&self, v: f64, y: f64) -> f64 {
        Squared.conjugate_below(v, y)
    }

    #[inline]
    fn conjugate_slopes(&self, v: f64, y: f64) -> (f64, f64) {
        Squared.conjugate_slopes(v, y)
    }

    #[inline]
    fn limit(&self, v: f64, _y: f64) -> f64 {
        self.delta / v.abs()
    }

    #[inline]
    fn clamp(&self, v: f64, _y: f64) -> f64 {
        v.clamp(-self.delta, self.delta)
    }
}
