//! Some columns of a storage that follow each other, as a part of a larger whole that may be elsewhere.

use std::ops::Range;

use super::rough::Copied;
use super::{Column, ColumnView, Columns, GoOn, Moments, Outputs, exact_as_rough, largest_of_visited};
use crate::error::{Error, Result};

/// A range of the columns of a storage, with the ids that they have in the whole. What is computed from them keeps its bits.
pub struct Part {
    columns: Box<dyn Columns>,
    positions: Range<usize>,
    /// What is added to the ids of the storage.
    first: u64,
    dimension: u64,
    /// A copy of these columns and no others, for rough sums.
    copied: Copied,
}

impl Part {
    /// All columns of a storage, as those from the id `first` on of a whole that has `dimension` features.
    pub fn placed(columns: Box<dyn Columns>, first: u64, dimension: u64) -> Result<Self> {
        let fits = first.checked_add(columns.dimension()).is_some_and(|end| end <= dimension);
        if !fits {
            let reason = format!("{} columns from {first} on are not among {dimension}", columns.dimension());
            return Err(Error::Data(reason));
        }
        Ok(Self { positions: 0..columns.len(), columns, first, dimension, copied: Copied::default() })
    }

    /// The columns of a storage at some positions; they keep their ids.
    pub fn of(columns: Box<dyn Columns>, positions: Range<usize>) -> Result<Self> {
        if positions.start > positions.end || positions.end > columns.len() {
            return Err(Error::Data(format!("no columns {positions:?} among {}", columns.len())));
        }
        Ok(Self { first: 0, dimension: columns.dimension(), columns, positions, copied: Copied::default() })
    }

    /// Positions in the storage.
    fn inner(&self, range: Range<usize>) -> Range<usize> {
        self.positions.start + range.start..self.positions.start + range.end
    }

    fn is_all(&self) -> bool {
        self.positions.len() == self.columns.len()
    }
}

impl Columns for Part {
    fn rows(&self) -> usize {
        self.columns.rows()
    }

    fn len(&self) -> usize {
        self.positions.len()
    }

    fn dimension(&self) -> u64 {
        self.dimension
    }

    fn nonzeros(&self) -> u64 {
        if self.is_all() {
            return self.columns.nonzeros();
        }
        self.positions.clone().map(|position| self.columns.filled(position) as u64).sum()
    }

    fn id(&self, position: usize) -> u64 {
        self.first + self.columns.id(self.positions.start + position)
    }

    fn position(&self, id: u64) -> Option<usize> {
        let position = self.columns.position(id.checked_sub(self.first)?)?;
        self.positions.contains(&position).then(|| position - self.positions.start)
    }

    fn batch(&self) -> usize {
        self.columns.batch()
    }

    fn dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        self.columns.dots(self.inner(range), v, out);
    }

    fn dots_with(&self, range: Range<usize>, v: &Outputs<'_>, out: &mut [f64]) {
        self.columns.dots_with(self.inner(range), v, out);
    }

    fn square_dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        self.columns.square_dots(self.inner(range), v, out);
    }

    fn gain_dots(&self, range: Range<usize>, both: &Outputs<'_>, out: &mut [f64]) {
        self.columns.gain_dots(self.inner(range), both, out);
    }

    fn has_rough(&self, room: u64) -> bool {
        if self.is_all() { self.columns.has_rough(room) } else { self.copied.is_there(self, room) }
    }

    fn has_rough_gains(&self) -> bool {
        self.is_all() && self.columns.has_rough_gains()
    }

    fn rough_bytes(&self) -> u64 {
        if self.is_all() { self.columns.rough_bytes() } else { Copied::most_bytes(self) }
    }

    fn rough_dots(&self, range: Range<usize>, v: &Outputs<'_>, out: &mut [f64]) {
        if self.is_all() {
            self.columns.rough_dots(range, v, out);
        } else if !self.copied.dots(self, range.clone(), v, out) {
            exact_as_rough(out, |sums| self.dots_with(range, v, sums));
        }
    }

    fn rough_gain_dots(&self, range: Range<usize>, both: &Outputs<'_>, out: &mut [f64]) {
        self.columns.rough_gain_dots(self.inner(range), both, out);
    }

    fn moments(&self, range: Range<usize>, weights: &[f64]) -> Vec<Moments> {
        self.columns.moments(self.inner(range), weights)
    }

    fn gather(&self, positions: &[usize]) -> Vec<Column> {
        let inner: Vec<usize> = positions.iter().map(|position| self.positions.start + position).collect();
        self.columns.gather(&inner)
    }

    fn visit(&self, range: Range<usize>, each: &mut dyn FnMut(usize, ColumnView<'_>)) {
        let first = self.positions.start;
        self.columns.visit(self.inner(range), &mut |position, column| each(position - first, column));
    }

    fn visit_bytes(&self) -> u64 {
        self.columns.visit_bytes()
    }

    fn laid_bytes(&self, outputs: usize) -> u64 {
        self.columns.laid_bytes(outputs)
    }

    fn will_read(&self, range: Range<usize>) {
        self.columns.will_read(self.inner(range));
    }

    fn let_go(&self) {
        self.columns.let_go();
    }

    fn filled(&self, position: usize) -> usize {
        self.columns.filled(self.positions.start + position)
    }

    fn bytes_by_rows(&self) -> u64 {
        // Of data by rows, every column has the same part.
        let (all, len) = (self.columns.bytes_by_rows(), self.columns.len().max(1) as u64);
        all / len * self.positions.len() as u64
    }

    fn value_bytes(&self) -> u64 {
        self.columns.value_bytes()
    }

    fn all_ones(&self) -> bool {
        self.columns.all_ones()
    }

    fn largest(&self, go_on: GoOn<'_>) -> Result<f64> {
        if self.is_all() {
            return self.columns.largest(go_on);
        }
        self.copied.largest().map_or_else(|| largest_of_visited(self, 0..self.len(), go_on), Ok)
    }
}
