//! What could stand in for a feature.

use serde::{Deserialize, Serialize};

/// An input whose values say much the same as those of a feature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StandIn {
    /// Its id, counted from 0; in files from 1.
    #[serde(with = "crate::feature::from_one::id")]
    pub input: u64,
    /// What the user calls it.
    pub name: String,
    /// Its correlation with the feature on the training data, from -1 to 1.
    pub correlation: f64,
}
