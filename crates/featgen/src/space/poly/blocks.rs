//! Dense features in an order, multiplied with each other in blocks: `sum_i v_i x_ij x_ik` of many pairs as one product of
//! matrices.
//!
//! Features are held in one byte a value and multiplied in whole numbers, which a processor does a hundred times faster than pair by
//! pair. That only tells which pairs are worth a second look, and proves of all others that they are not. The few that are left are
//! summed again from the values themselves, row by row, and are the same to the bit however they were found.

use std::ops::Range;

use crate::data::{ByteColumns, ColumnView, Rounded};
use crate::space::ask::{Residuals, length};

/// The values of features, one after the other, in the rows that have a dual weight.
pub(super) struct Blocks {
    /// The rows that have one.
    kept: Vec<u32>,
    columns: ByteColumns,
    /// Room for a value of every row of the data, all 0.
    scratch: Vec<f64>,
}

/// A feature that others are multiplied with: its values times the residuals.
pub(super) struct Pivot {
    /// `v_i x_i` of every row of the data, output after output.
    weighted: Vec<f64>,
    rows: usize,
}

impl Blocks {
    /// No features yet, but room for `count`.
    pub(super) fn new(v: Residuals<'_>, count: usize) -> Self {
        let kept: Vec<u32> = (0..v.rows as u32).filter(|&row| v.weighs(row as usize)).collect();
        let columns = ByteColumns::new(kept.len(), count);
        Self { kept, columns, scratch: vec![0.0; v.rows] }
    }

    /// Adds a feature by its values that are not 0.
    pub(super) fn push(&mut self, entries: &[(u32, f64)]) {
        entries.iter().for_each(|&(row, x)| self.scratch[row as usize] = x);
        self.columns.push(&self.gathered(&self.scratch));
        entries.iter().for_each(|&(row, _)| self.scratch[row as usize] = 0.0);
    }

    /// Rows that are kept.
    pub(super) fn rows(&self) -> usize {
        self.kept.len()
    }

    fn gathered(&self, all: &[f64]) -> Vec<f64> {
        self.kept.iter().map(|&row| all[row as usize]).collect()
    }

    /// The vectors of pivots, output after output, as features here can be multiplied with them.
    pub(super) fn rounded(&self, pivots: &[Pivot]) -> Vec<Rounded> {
        let one = |weighted: &[f64]| Rounded::new(&self.gathered(weighted), self.rows(), |row| row);
        pivots.iter().flat_map(Pivot::outputs).map(one).collect()
    }

    /// About the sums of some features with all vectors, and how far each may be off: vector after vector.
    pub(super) fn dots(&self, some: Range<usize>, vectors: &[Rounded]) -> Vec<(f64, f64)> {
        self.columns.dots(some, vectors)
    }
}

impl Pivot {
    /// A feature by its values that are not 0.
    pub(super) fn new(v: Residuals<'_>, entries: &[(u32, f64)]) -> Self {
        let mut weighted = vec![0.0; v.v.len()];
        for (v, weighted) in v.each().zip(weighted.chunks_mut(v.rows.max(1))) {
            entries.iter().for_each(|&(row, x)| weighted[row as usize] = v[row as usize] * x);
        }
        Self { weighted, rows: v.rows }
    }

    fn outputs(&self) -> impl Iterator<Item = &[f64]> + Clone {
        self.weighted.chunks(self.rows.max(1))
    }

    /// The length of the sums with another feature, each added up row by row.
    pub(super) fn sum(&self, partner: ColumnView<'_>) -> f64 {
        let sum = |weighted: &[f64]| {
            let mut sum = 0.0;
            partner.each_nonzero(|row, x| sum += weighted[row as usize] * x);
            sum
        };
        length(self.outputs().map(sum))
    }
}
