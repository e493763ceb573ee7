//! Spaces of products.

use super::{Kind, Makes, Parameter, Range, Value};
use crate::space::{MOST_FACTORS, PolySpace, ProductSpace};

const ONLY: Parameter = Parameter {
    id: "only",
    symbol: "FILE",
    help: "the features that may be multiplied",
    range: Range::Features,
    default: None,
    otherwise: "",
};

pub(super) static POLY2: Kind = Kind {
    name: "poly2",
    help: "The inputs, their squares and all products of two, as the kernel (gamma x.z + coef0)^2 weighs them",
    makes: Makes::Products,
    takes_negative: true,
    parameters: &[
        Parameter {
            id: "gamma",
            symbol: "G",
            help: "the kernel's factor",
            range: Range::Above(0.0),
            default: Some(Value::Real(1.0)),
            otherwise: "",
        },
        Parameter {
            id: "coef0",
            symbol: "R",
            help: "the kernel's constant; 0 leaves out single features",
            range: Range::AtLeast(0.0),
            default: Some(Value::Real(1.0)),
            otherwise: "",
        },
        ONLY,
    ],
    build: |spec, inputs, _| {
        let space = PolySpace::new(inputs, spec.real("gamma"), spec.real("coef0"))?;
        Ok(match spec.only() {
            Some(only) => Box::new(space.only(only.iter().copied())),
            None => Box::new(space),
        })
    },
};

pub(super) static PRODUCTS: Kind = Kind {
    name: "products",
    help: "The inputs and all products of up to D different ones, for values from 0 to 1",
    makes: Makes::Products,
    takes_negative: false,
    parameters: &[
        Parameter {
            id: "degree",
            symbol: "D",
            help: "how many features are multiplied at most",
            range: Range::Whole(1, MOST_FACTORS),
            default: Some(Value::Whole(2)),
            otherwise: "",
        },
        Parameter {
            id: "min-support",
            symbol: "K",
            help: "leave out products that are not 0 in fewer instances than this",
            range: Range::Whole(0, usize::MAX),
            default: Some(Value::Whole(1)),
            otherwise: "",
        },
        ONLY,
    ],
    build: |spec, inputs, _| {
        let space = ProductSpace::new(inputs, spec.whole("degree"))?.min_support(spec.whole("min-support"));
        Ok(match spec.only() {
            Some(only) => Box::new(space.only(only.iter().copied())),
            None => Box::new(space),
        })
    },
};
