//! Some columns of a table, as if all were there.

use std::ops::Range;

use crate::data::{Column, ColumnView, Columns, Outputs};

/// Columns that keep the ids they have among all columns of their table.
pub(super) struct Picked<C> {
    columns: C,
    /// In order; one for each column.
    ids: Vec<u64>,
    dimension: u64,
}

impl<C: Columns> Picked<C> {
    /// `columns` are those of these `ids`, which increase, of a table that has `dimension`.
    pub(super) fn new(columns: C, ids: Vec<u64>, dimension: u64) -> Self {
        Self { columns, ids, dimension }
    }
}

impl<C: Columns> Columns for Picked<C> {
    fn rows(&self) -> usize {
        self.columns.rows()
    }

    fn len(&self) -> usize {
        self.ids.len()
    }

    fn dimension(&self) -> u64 {
        self.dimension
    }

    fn nonzeros(&self) -> u64 {
        self.columns.nonzeros()
    }

    fn id(&self, position: usize) -> u64 {
        self.ids[position]
    }

    fn position(&self, id: u64) -> Option<usize> {
        self.ids.binary_search(&id).ok()
    }

    fn batch(&self) -> usize {
        self.columns.batch()
    }

    fn dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        self.columns.dots(range, v, out);
    }

    fn dots_with(&self, range: Range<usize>, v: &Outputs<'_>, out: &mut [f64]) {
        self.columns.dots_with(range, v, out);
    }

    fn has_rough(&self, room: u64) -> bool {
        self.columns.has_rough(room)
    }

    fn rough_bytes(&self) -> u64 {
        self.columns.rough_bytes()
    }

    fn rough_dots(&self, range: Range<usize>, v: &Outputs<'_>, out: &mut [f64]) {
        self.columns.rough_dots(range, v, out);
    }

    fn gather(&self, positions: &[usize]) -> Vec<Column> {
        self.columns.gather(positions)
    }

    fn visit(&self, range: Range<usize>, each: &mut dyn FnMut(usize, ColumnView<'_>)) {
        self.columns.visit(range, each);
    }
}
