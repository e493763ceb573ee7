//! `1/2 (y - f)^2`: least squares.

use std::sync::Arc;

use super::{Loss, LossSpec, Objective, Output, PointLoss, Separable};
use crate::data::Labels;
use crate::error::Result;
use crate::rounding::UNIT;

pub(super) const SPEC: LossSpec = LossSpec {
    name: "squared",
    help: "numbers: least squares",
    output: Output::Number,
    many_classes: false,
    parameters: &[],
    probabilities: None,
    make: |_| Arc::new(Squared),
};

/// The squared error.
#[derive(Debug, Clone, Copy, Default)]
pub struct Squared;

impl Loss for Squared {
    fn name(&self) -> &str {
        SPEC.name
    }

    fn output(&self) -> Output {
        SPEC.output
    }

    fn objective(&self, labels: &Labels, costs: Vec<f64>) -> Result<Box<dyn Objective>> {
        let y = labels.numbers()?.into_owned();
        Ok(Box::new(Separable::new(Self, y, costs)))
    }
}

impl PointLoss for Squared {
    #[inline]
    fn value(&self, f: f64, y: f64) -> f64 {
        0.5 * (y - f) * (y - f)
    }

    #[inline]
    fn residual(&self, f: f64, y: f64) -> f64 {
        y - f
    }

    #[inline]
    fn curvature(&self, _f: f64, _y: f64) -> f64 {
        1.0
    }

    #[inline]
    fn conjugate(&self, v: f64, y: f64) -> f64 {
        v * y - 0.5 * v * v
    }

    #[inline]
    fn conjugate_below(&self, v: f64, y: f64) -> f64 {
        let (product, half) = (v * y, 0.5 * v * v);
        product - half - 4.0 * UNIT * (product.abs() + half)
    }

    #[inline]
    fn conjugate_slopes(&self, v: f64, y: f64) -> (f64, f64) {
        (y - v, -1.0)
    }

    #[inline]
    fn limit(&self, _v: f64, _y: f64) -> f64 {
        f64::INFINITY
    }

    #[inline]
    fn clamp(&self, v: f64, _y: f64) -> f64 {
        v
    }
}
