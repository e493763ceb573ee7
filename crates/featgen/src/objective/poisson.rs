//! Half the deviance of a Poisson distribution with mean `exp f`: counts.

use std::sync::Arc;

use super::{Loss, LossSpec, Objective, Output, PointLoss, Separable};
use crate::data::Labels;
use crate::error::Result;
use crate::rounding::UNIT;

pub(super) const SPEC: LossSpec = LossSpec {
    name: "poisson",
    help: "counts, or other numbers of at least 0, whose logarithm is predicted: Poisson regression",
    output: Output::Rate,
    many_classes: false,
    parameters: &[],
    probabilities: None,
    make: |_| Arc::new(Poisson),
};

/// `exp f - y f - (y - y log y)`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Poisson;

impl Loss for Poisson {
    fn name(&self) -> &str {
        SPEC.name
    }

    fn output(&self) -> Output {
        SPEC.output
    }

    fn objective(&self, labels: &Labels, costs: Vec<f64>) -> Result<Box<dyn Objective>> {
        let y = labels.numbers()?.into_owned();
        if let Some(i) = y.iter().position(|&y| y < 0.0) {
            return Err(labels.bad(i, &format!("a count cannot be {}: it must be at least 0", y[i])));
        }
        if !y.iter().zip(&costs).any(|(&y, &cost)| y > 0.0 && cost > 0.0) {
            return Err(labels.useless("all counts are 0: at least one must be above"));
        }
        Ok(Box::new(Separable::new(Self, y, costs)))
    }
}

/// Means above `exp` of this are not computed with.
const LARGEST: f64 = 600.0;

/// The mean, finite for any decision value.
#[inline]
fn mean(f: f64) -> f64 {
    f.min(LARGEST).exp()
}

/// `x log x`, continued to 0.
#[inline]
fn entropy(x: f64) -> f64 {
    if x > 0.0 { x * x.ln() } else { 0.0 }
}

impl PointLoss for Poisson {
    fn is_smooth(&self) -> bool {
        false
    }

    #[inline]
    fn value(&self, f: f64, y: f64) -> f64 {
        if y > 0.0 {
            // With u = f - log y it is y (exp u - 1 - u), which keeps its digits near 0.
            let u = f - y.ln();
            let more = if u < LARGEST { u.exp_m1() - u } else { u * mean(u) };
            y * more.max(0.0)
        } else {
            if f < LARGEST { mean(f) } else { f * mean(f) }
        }
    }

    #[inline]
    fn residual(&self, f: f64, y: f64) -> f64 {
        y - mean(f)
    }

    #[inline]
    fn curvature(&self, f: f64, _y: f64) -> f64 {
        mean(f)
    }

    #[inline]
    fn conjugate(&self, v: f64, y: f64) -> f64 {
        let mean = (y - v).max(0.0);
        (mean - y) - entropy(mean) + entropy(y)
    }

    #[inline]
    fn conjugate_below(&self, v: f64, y: f64) -> f64 {
        let mean = (y - v).max(0.0);
        // The mean has an error of its own, which counts as often as the slope of the entropy there says.
        let slope = 1.0 + if mean > 0.0 { mean.ln().abs() } else { 750.0 };
        let size = mean + y + entropy(mean).abs() + entropy(y).abs() + slope * (y + v.abs());
        self.conjugate(v, y) - 8.0 * UNIT * size
    }

    #[inline]
    fn conjugate_slopes(&self, v: f64, y: f64) -> (f64, f64) {
        let mean = (y - v).max(f64::MIN_POSITIVE);
        (mean.ln(), -1.0 / mean)
    }

    #[inline]
    fn limit(&self, v: f64, y: f64) -> f64 {
        if v > 0.0 { y / v } else { f64::INFINITY }
    }

    #[inline]
    fn clamp(&self, v: f64, y: f64) -> f64 {
        v.min(y)
    }
}
