//! What a machine must know of the data that a space is over, wherever they are.

use super::Inputs;
use crate::digest::digest;
use crate::error::Result;

/// Sizes and names of the data, and a number that stands for their values.
pub trait DataFacts: Send + Sync {
    /// Number of instances.
    fn rows(&self) -> usize;

    /// Number of input features, with those that never occur.
    fn dimension(&self) -> u64;

    /// Number of stored values.
    fn nonzeros(&self) -> u64;

    /// What a user calls the input feature `id`.
    fn input_name(&self, id: u64) -> String;

    /// Whether names, rather than numbers, tell features apart.
    fn named(&self) -> bool;

    /// The column of the same table that holds the labels.
    fn label_column(&self) -> Option<String>;

    /// A number that stands for all names, and for whether they tell features apart.
    fn names_digest(&self) -> u64;

    /// A number that stands for all values. May read all of them once.
    fn fingerprint(&self) -> Result<u64>;
}

impl DataFacts for Inputs<'_> {
    fn rows(&self) -> usize {
        Self::rows(self)
    }

    fn dimension(&self) -> u64 {
        Self::dimension(self)
    }

    fn nonzeros(&self) -> u64 {
        self.columns().nonzeros()
    }

    fn input_name(&self, id: u64) -> String {
        Self::input_name(self, id)
    }

    fn named(&self) -> bool {
        Self::named(self)
    }

    fn label_column(&self) -> Option<String> {
        Self::label_column(self)
    }

    fn names_digest(&self) -> u64 {
        digest((self.names(), Self::named(self)))
    }

    fn fingerprint(&self) -> Result<u64> {
        Self::fingerprint(self)
    }
}
