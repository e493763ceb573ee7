//! Dense features in an order, multiplied with each other in blocks: `sum_i v_i x_ij x_ik` of many pairs as one product of
//! matrices, which a processor does twenty times faster than pair by pair.
//!
//! The order of its additions depends on the blocks. So it only tells which pairs are worth a second look: these are summed
//! again, row by row, and are the same to the bit however they were found.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use crate::space::ask::{Residuals, Sums, length};

/// The values of features, one after the other, in the rows that have a dual weight.
pub(super) struct Blocks {
    /// Where each row of the data is, if it is kept.
    places: Vec<Option<u32>>,
    /// Rows that are kept.
    rows: usize,
    /// Their residuals, output after output.
    v: Vec<f64>,
    values: Vec<f64>,
}

/// Partners that are multiplied at a time: their products with the pivots stay in the cache.
const PARTNERS: usize = 512;
/// The same where there are many outputs, at least.
const FEWEST_PARTNERS: usize = 64;

impl Blocks {
    /// No features yet, but room for `count`.
    pub(super) fn new(v: Residuals<'_>, count: usize) -> Self {
        let mut next = 0..;
        let place = |row: usize| if v.weighs(row) { next.next() } else { None };
        let places: Vec<Option<u32>> = (0..v.rows).map(place).collect();
        let kept = |v: &[f64]| -> Vec<f64> {
            v.iter().zip(&places).filter(|(_, place)| place.is_some()).map(|(v, _)| *v).collect()
        };
        let (rows, v) = (next.start as usize, v.each().flat_map(kept).collect());
        Self { places, rows, v, values: Vec::with_capacity(count * rows) }
    }

    /// Adds a feature by its values that are not 0.
    pub(super) fn push(&mut self, entries: &[(u32, f64)]) {
        let start = self.values.len();
        self.values.resize(start + self.rows, 0.0);
        for &(row, x) in entries {
            if let Some(place) = self.places[row as usize] {
                self.values[start + place as usize] = x;
            }
        }
    }

    /// Rows that are kept.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    fn outputs(&self) -> usize {
        self.v.len() / self.rows.max(1)
    }

    /// The residuals of every output.
    fn residuals(&self) -> impl Iterator<Item = &[f64]> + Clone {
        self.v.chunks(self.rows.max(1))
    }

    fn column(&self, rank: usize) -> &[f64] {
        &self.values[rank * self.rows..][..self.rows]
    }

    /// The length of the sums of a feature here and one of `pivots`, each added up row by row.
    pub(super) fn sum(&self, pivots: &Self, pivot: usize, partner: usize) -> f64 {
        let sum = |v: &[f64]| {
            let rows = v.iter().zip(pivots.column(pivot)).zip(self.column(partner));
            rows.fold(0.0, |sum, ((v, x), y)| sum + v * x * y)
        };
        length(self.residuals().map(sum))
    }

    /// How far a product of blocks may be from the sum, relative to `sum_i |v_i x_ij x_ik|`: both are within rows + 2
    /// roundings of the truth, and one more for every further output.
    pub(super) fn error(&self) -> f64 {
        2.0 * (self.rows as f64 + 1.0 + self.outputs() as f64) * f64::EPSILON
    }

    /// Calls `each` with pairs of some of the `pivots` and of partners here, by their places, and about the length of their sums:
    /// with the first `last` of the partners, and of these with as many as are `before` each pivot.
    pub(super) fn products(
        &self,
        (pivots, some): (&Self, Range<usize>),
        before: &[usize],
        last: usize,
        mut each: impl FnMut(usize, usize, f64),
    ) {
        // Every output of a pivot is a column of its own.
        let (n, width) = (self.rows, some.len() * self.outputs());
        let partners = (PARTNERS / self.outputs().max(1)).max(FEWEST_PARTNERS);
        let weighted: Vec<f64> = some
            .clone()
            .flat_map(|place| self.residuals().map(move |v| (place, v)))
            .flat_map(|(place, v)| v.iter().zip(pivots.column(place)).map(|(v, x)| v * x))
            .collect();
        let right = MatRef::from_column_major_slice(&weighted, n, width);
        let mut out = vec![0.0; partners * width];
        for first in (0..last).step_by(partners) {
            let count = partners.min(last - first);
            let left = MatRef::from_column_major_slice(&self.values[first * n..][..count * n], n, count);
            let out = &mut out[..count * width];
            let product = MatMut::from_column_major_slice_mut(out, count, width);
            matmul(product, Accum::Replace, left.transpose(), right, 1.0, Par::Seq);
            let sums = out.chunks(count * self.outputs());
            for ((pivot, &before), sums) in some.clone().zip(before).zip(sums) {
                let sums = Sums::new(sums, count);
                for (j, partner) in (first..before.min(first + count)).enumerate() {
                    each(pivot, partner, sums.length(j));
                }
            }
        }
    }
}
