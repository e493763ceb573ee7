//! Who proposes features. A space knows features and their scores; whether it stores them is its own affair.

mod linear;
mod topb;

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

pub use linear::LinearSpace;
pub use topb::{Scored, TopB};

use crate::data::Column;
use crate::error::Result;

/// One feature, in the vocabulary that spaces and models share: enough to compute it from a raw instance.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Feature {
    /// An input feature as it is, by its id counted from 0. In files it is counted from 1, as users see it.
    Input(#[serde(with = "from_one")] u64),
}

/// Ids in files: counted from 1.
mod from_one {
    use serde::de::{Deserialize, Deserializer, Error, Unexpected};
    use serde::ser::{Error as _, Serializer};

    pub(super) fn serialize<S: Serializer>(id: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(id.checked_add(1).ok_or_else(|| S::Error::custom("the id is too large"))?)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        let number = u64::deserialize(from)?;
        let zero = || D::Error::invalid_value(Unexpected::Unsigned(0), &"a number of at least 1");
        number.checked_sub(1).ok_or_else(zero)
    }
}

/// A set of features to choose from, each with a score for a given `v = alpha * y`.
///
/// Two operations are all the machine needs: find the best-scored features, and generate their columns.
pub trait FeatureSpace: Sync {
    /// Number of instances.
    fn rows(&self) -> usize;

    /// Number of features to choose from.
    fn size(&self) -> u128;

    /// Number of input features.
    fn inputs(&self) -> u64;

    /// Number of stored input values.
    fn nonzeros(&self) -> u64;

    /// The worst-case analysis (Algorithms 2 and 5 of the paper): the `budget` features of largest score, exactly, ties
    /// broken by the smaller feature; and the same among features that are not in `taken`.
    ///
    /// The score of a feature is `|sum_i v_i x_i|`; features of score 0 are never proposed.
    fn worst_case(&self, v: &[f64], budget: usize, taken: &HashSet<Feature>) -> Result<WorstCase>;

    /// The columns of `features` on the training data.
    fn generate(&self, features: &[Feature]) -> Result<Vec<Column>>;

    /// What a user calls `feature`.
    fn name(&self, feature: &Feature) -> String;

    /// Whether names, rather than numbers, tell input features apart.
    fn named(&self) -> bool;
}

/// What a worst-case analysis finds, best first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WorstCase {
    /// The best of all features: they make the lower bound.
    pub best: Vec<Scored<Feature>>,
    /// The best of those not taken yet: they make the next block.
    pub fresh: Vec<Scored<Feature>>,
}

impl WorstCase {
    /// The sum of squared scores of the best: the dual norm's square (math: sum of the B largest s_g).
    pub fn top(&self) -> f64 {
        self.best.iter().map(|scored| scored.score * scored.score).sum()
    }
}
