//! The input features as they are.

use super::{Kind, Makes};
use crate::space::LinearSpace;

pub(super) static LINEAR: Kind = Kind {
    name: "linear",
    help: "The input features as they are",
    makes: Makes::Inputs,
    takes_negative: true,
    parameters: &[],
    build: |_, inputs, _| Ok(Box::new(LinearSpace::from(inputs))),
};
