//! Spaces in which every input has a curve.

use super::{Kind, Makes, Parameter, Range, Value};
use crate::error::Result;
use crate::space::{AdditiveSpace, FeatureSpace, MOST_LEVELS};

pub(in crate::space) const LEVELS: Parameter = Parameter {
    id: "levels",
    symbol: "L",
    help: "how many levels a feature has",
    range: Range::Whole(2, MOST_LEVELS),
    default: Some(Value::Whole(100)),
    otherwise: "",
};

pub(in crate::space) const POWER: Parameter = Parameter {
    id: "power",
    symbol: "A",
    help: "the power of the features' size",
    range: Range::Above(0.0),
    default: Some(Value::Real(1.0)),
    otherwise: "",
};

pub(in crate::space) const SIGMA: Parameter = Parameter {
    id: "sigma",
    symbol: "S",
    help: "the kernel's width",
    range: Range::Above(0.0),
    default: None,
    otherwise: "the standard deviation of each feature",
};

pub(super) static HIK: Kind = Kind {
    name: "hik",
    help: "A curve of each feature in many steps, as the kernel min(x, z) makes it",
    makes: Makes::Curves,
    takes_negative: false,
    parameters: &[LEVELS],
    build: |spec, inputs, counts| counting(AdditiveSpace::hik(inputs, spec.whole("levels"))?, counts),
};

pub(super) static INTERSECTION: Kind = Kind {
    name: "intersection",
    help: "The same for min(|x|^A, |z|^A)",
    makes: Makes::Curves,
    takes_negative: true,
    parameters: &[LEVELS, POWER],
    build: |spec, inputs, counts| {
        let space = AdditiveSpace::intersection(inputs, spec.whole("levels"), spec.real("power"))?;
        counting(space, counts)
    },
};

pub(super) static GAUSSIAN: Kind = Kind {
    name: "gaussian",
    help: "A smooth curve of each feature, as the kernel exp(-(x - z)^2 / (2 S^2)) makes it",
    makes: Makes::Curves,
    takes_negative: true,
    parameters: &[SIGMA],
    build: |spec, inputs, counts| {
        counting(AdditiveSpace::gaussian(inputs, spec.real_if_any("sigma"))?, counts)
    },
};

/// Levels and widths are those of the instances as often as they count.
fn counting<'a>(space: AdditiveSpace<'a>, counts: Option<&[f64]>) -> Result<Box<dyn FeatureSpace + 'a>> {
    Ok(Box::new(match counts {
        Some(counts) => space.counting(counts)?,
        None => space,
    }))
}
