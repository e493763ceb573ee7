//! What a space needs beside the data, known before a run begins.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::data::Columns;
use crate::subproblem::Cache;

/// What a run may ask of a space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// Candidates whose columns are held, chosen or only tried.
    pub held: usize,
    /// Candidates whose gains are wanted at a time; 0 where only scores are. A space that finds candidates by score has the columns of
    /// so many made in each search.
    pub measured: usize,
    /// Decision values of an instance.
    pub outputs: usize,
    /// Threads that search.
    pub threads: usize,
}

/// What a search for candidates, and the candidates held, take at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Footprint {
    /// Bytes that a search holds beside the data and the duals if it is [limited](super::FeatureSpace::limit) as far as it
    /// can be.
    pub least: u64,
    /// The same if nothing limits it.
    pub most: u64,
    /// Bytes of the columns held.
    pub columns: u64,
    /// Their number, if a matrix of all pairs of them is made.
    pub width: u64,
}

impl Footprint {
    /// Of a search of so many bytes among input columns, which knows their gains.
    pub(super) fn of_inputs(search: u64, columns: &dyn Columns, demand: &Demand) -> Self {
        let chosen = longest(columns, demand.held);
        let (width, values) = (chosen.len() as u64, chosen.iter().sum());
        Self { least: search, most: search, columns: Cache::most_bytes(columns.rows(), width, values), width }
    }

    /// Of a search of so many bytes, at least and at most, for products: none has more values than the longest input.
    pub(super) fn of_products(search: [u64; 2], rows: usize, longest: u64, demand: &Demand) -> Self {
        let columns =
            |count: usize| Cache::most_bytes(rows, count as u64, (count as u64).saturating_mul(longest));
        let [least, most] = search.map(|bytes| bytes.saturating_add(columns(demand.measured)));
        Self { least, most, columns: columns(demand.held), width: demand.held as u64 }
    }

    /// Of a search of so many bytes among groups, given how many columns each has, and how many values these have together.
    pub(super) fn of_groups(
        search: u64,
        rows: usize,
        groups: impl Iterator<Item = [u64; 2]> + Clone,
        demand: &Demand,
    ) -> Self {
        let sum =
            |k: usize, count: usize| largest(groups.clone().map(|group| group[k]), count).iter().sum::<u64>();
        let columns = |count: usize| Cache::most_bytes(rows, sum(0, count), sum(1, count));
        let search = search.saturating_add(columns(demand.measured));
        Self { least: search, most: search, columns: columns(demand.held), width: sum(0, demand.held) }
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
