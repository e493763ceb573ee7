//! What is proven of a number of features that were chosen.

use serde::{Deserialize, Serialize};

use super::Certificate;

/// The objective of a ridge fit on K features, and what no K features at all can be below.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// The objective of the features chosen, before any refit.
    pub objective: f64,
    /// No ridge fit on as many features has a lower one.
    pub lower_bound: f64,
    /// How many features are in every best set.
    pub forced: usize,
    /// How many others may be in a best set; all others are in none.
    pub undecided: u128,
    /// Nodes of the search tree that were looked at: none if only what comes for free was proven.
    pub nodes: u64,
}

impl Proof {
    /// Its two bounds.
    pub(super) fn certificate(&self) -> Certificate {
        Certificate { objective: self.objective, lower_bound: self.lower_bound }
    }

    /// How far the features chosen may be from the best, relative to their objective.
    pub fn gap(&self) -> f64 {
        self.certificate().gap()
    }
}
