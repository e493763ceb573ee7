//! `1/2 max(0, 1 - y f)^2`: the support vector machine's loss, squared. With more than two classes each is set against all
//! others, and all share their features.

use std::sync::Arc;

use super::{Loss, LossSpec, Objective, Output, PointLoss, Separable};
use crate::data::Labels;
use crate::error::Result;
use crate::rounding::UNIT;

pub(super) const SPEC: LossSpec = LossSpec {
    name: "squared-hinge",
    help: "classes: the squared hinge loss of support vector machines; more than two are set each against the rest",
    output: Output::Classes,
    many_classes: true,
    parameters: &[],
    probabilities: None,
    make: |_| Arc::new(SquaredHinge),
};

/// The squared hinge loss, for two classes or more.
#[derive(Debug, Clone, Copy, Default)]
pub struct SquaredHinge;

impl Loss for SquaredHinge {
    fn name(&self) -> &str {
        SPEC.name
    }

    fn output(&self) -> Output {
        SPEC.output
    }

    fn objective(&self, labels: &Labels, costs: Vec<f64>) -> Result<Box<dyn Objective>> {
        let classes = labels.weighed_classes(&costs)?.len();
        let y = match classes {
            2 => labels.signs(1),
            _ => (0..classes as u32).flat_map(|class| labels.signs(class)).collect(),
        };
        Ok(Box::new(Separable::new(Self, y, costs)))
    }
}

impl PointLoss for SquaredHinge {
    #[inline]
    fn value(&self, f: f64, y: f64) -> f64 {
        let slack = (1.0 - y * f).max(0.0);
        0.5 * slack * slack
    }

    #[inline]
    fn residual(&self, f: f64, y: f64) -> f64 {
        y * (1.0 - y * f).max(0.0)
    }

    #[inline]
    fn curvature(&self, f: f64, y: f64) -> f64 {
        if y * f < 1.0 { 1.0 } else { 0.0 }
    }

    #[inline]
    fn conjugate(&self, v: f64, y: f64) -> f64 {
        let a = y * v;
        a - 0.5 * a * a
    }

    #[inline]
    fn conjugate_below(&self, v: f64, y: f64) -> f64 {
        let a = y * v;
        let (one, half) = (a, 0.5 * a * a);
        one - half - 4.0 * UNIT * (one + half)
    }

    #[inline]
    fn conjugate_slopes(&self, v: f64, y: f64) -> (f64, f64) {
        (y * (1.0 - y * v), -1.0)
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
