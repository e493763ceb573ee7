//! What a space needs beside the data, known before a run begins.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::data::Columns;
use crate::subproblem::Cache;

/// What a search for candidates, and the candidates selected, take at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Footprint {
    /// Bytes that a search holds beside the data and the duals if it is [limited](super::FeatureSpace::limit) as far as it
    /// can be.
    pub least: u64,
    /// The same if nothing limits it.
    pub most: u64,
    /// Bytes of the columns selected.
    pub columns: u64,
    /// Their number, if a matrix of all pairs of them is made.
    pub width: u64,
}

impl Footprint {
    /// Of a search of so many bytes that has `count` input columns selected.
    pub(super) fn of_inputs(search: u64, columns: &dyn Columns, count: usize) -> Self {
        let chosen = longest(columns, count);
        let (width, values) = (chosen.len() as u64, chosen.iter().sum());
        Self { least: search, most: search, columns: Cache::most_bytes(columns.rows(), width, values), width }
    }

    /// The same with `count` products: none has more values than the longest input.
    pub(super) fn of_products(least: u64, most: u64, rows: usize, longest: u64, count: usize) -> Self {
        let width = count as u64;
        let columns = Cache::most_bytes(rows, width, width.saturating_mul(longest));
        Self { least, most, columns, width }
    }

    /// The same with `count` groups, given how many columns each has, and how many values these have together.
    pub(super) fn of_groups(
        search: u64,
        rows: usize,
        groups: impl Iterator<Item = [u64; 2]> + Clone,
        count: usize,
    ) -> Self {
        let sum = |k: usize| largest(groups.clone().map(|group| group[k]), count).iter().sum();
        let (width, values) = (sum(0), sum(1));
        Self { least: search, most: search, columns: Cache::most_bytes(rows, width, values), width }
    }
}

/// The numbers of values of the `count` longest columns.
pub(super) fn longest(columns: &dyn Columns, count: usize) -> Vec<u64> {
    largest((0..columns.len()).map(|position| columns.filled(position) as u64), count)
}

/// The `count` largest, in no particular order.
fn largest(sizes: impl Iterator<Item = u64>, count: usize) -> Vec<u64> {
    let mut kept = BinaryHeap::new();
    for size in sizes {
        if kept.len() < count {
            kept.push(Reverse(size));
        } else if kept.peek().is_some_and(|Reverse(least)| *least < size) {
            kept.pop();
            kept.push(Reverse(size));
        }
    }
    kept.into_iter().map(|Reverse(size)| size).collect()
}
