//! How far the features of a model are discoveries.

use serde::{Deserialize, Serialize};

/// Features of which no more than a given part is expected to be false: the path adds them one by one, those that chance explains
/// least first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Discoveries {
    /// The part that may be false.
    pub rate: f64,
    /// From how many features they were chosen.
    pub considered: usize,
    /// For each of them, in the order of the path, which is the order of these numbers: how many of all other candidates would gain as
    /// much in its place.
    pub by_chance: Vec<f64>,
}

impl Discoveries {
    /// The part of them that is expected to be false: as many without effect would do as well as the last of them.
    pub fn expected_rate(&self) -> f64 {
        let last = self.by_chance.last().copied().unwrap_or(0.0);
        last / self.by_chance.len().max(1) as f64
    }
}
