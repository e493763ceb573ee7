//! What a run holds, known before it begins.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::params::Machine;
use crate::data::Columns;
use crate::error::Result;
use crate::subproblem;

/// Vectors of one number per instance: labels and costs, margins, dual variables, and those of the solver.
const VECTORS: u64 = 14;

/// Bytes of a value in the cache: a row and a 64-bit float.
const VALUE: u64 = 12;

impl Machine {
    /// Bytes that a run on features as they are takes at most beside the data themselves: vectors of one number per
    /// instance, and copies of the columns selected, were they the longest of all.
    pub fn memory(&self, columns: &dyn Columns) -> Result<u64> {
        let plan = self.check()?;
        let selected = match (self.features, plan.max_rounds) {
            (Some(features), _) => features,
            (None, rounds) => plan.budget.saturating_mul(rounds),
        };
        let vectors = VECTORS * 8 * columns.rows() as u64;
        Ok(vectors.saturating_add(longest(columns, selected)).saturating_add(hessian(selected)))
    }
}

/// The matrix that Newton steps are taken with, and its factor.
fn hessian(selected: usize) -> u64 {
    let wide = subproblem::WIDEST.min(selected) as u64;
    2 * 8 * wide * wide
}

/// Bytes of copies of the `count` longest columns.
fn longest(columns: &dyn Columns, count: usize) -> u64 {
    let mut kept = BinaryHeap::new();
    for position in 0..columns.len() {
        kept.push(Reverse(columns.filled(position) as u64));
        if kept.len() > count {
            kept.pop();
        }
    }
    kept.into_iter().map(|Reverse(values)| VALUE * values).sum()
}
