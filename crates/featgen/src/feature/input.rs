//! An input feature as it is.

use serde::{Deserialize, Serialize};

use super::{Feature, FeatureKind, Negative, Scaled, from_one};
use crate::data::Column;

/// An input feature as it is, by its id counted from 0. In files it is counted from 1, as users see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Input(#[serde(with = "from_one::id")] pub u64);

const FORMULA: &str = "{\"input\": j}: the value x_j.";

impl Feature {
    /// The input feature with this id, counted from 0.
    pub fn input(id: u64) -> Self {
        Self::Input(Input(id))
    }

    /// The id, if this is an input as it is.
    pub fn as_input(&self) -> Option<u64> {
        if let Self::Input(Input(id)) = self { Some(*id) } else { None }
    }
}

impl FeatureKind for Input {
    fn formula(&self, _negative: Negative) -> &'static str {
        FORMULA
    }

    fn inputs(&self) -> &[u64] {
        std::slice::from_ref(&self.0)
    }

    fn is_sound(&self) -> bool {
        true
    }

    fn show(&self, name: &dyn Fn(u64) -> String) -> String {
        name(self.0)
    }

    fn unscaled(&self, made: &dyn Fn(u64) -> Scaled) -> Result<Scaled, &'static str> {
        Ok(made(self.0))
    }

    fn column(&self, mut inputs: Vec<Column>, _rows: usize) -> Column {
        inputs.swap_remove(0)
    }
}
