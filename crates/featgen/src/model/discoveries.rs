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
    /// For each of them, in the order of the path: how many of all candidates would gain as much if none had anything to do with the
    /// outcome.
    pub by_chance: Vec<f64>,
}

impl Discoveries {
    /// The part of them that is expected to be false.
    pub fn expected_rate(&self) -> f64 {
        let sum: f64 = self.by_chance.iter().sum();
        sum / self.by_chance.len().max(1) as f64
    }
}
