//! All columns of a storage but some: those that a model has in any case, and that no space may propose again.

use std::ops::Range;

use super::pieces::Pieces;
use super::{Column, ColumnView, Columns, GoOn, Moments, Outputs, RowBlocks};
use crate::error::Result;

/// A storage without some of its columns. The others keep their ids, and everything they are computed from their bits.
pub struct Except<'a> {
    columns: &'a dyn Columns,
    /// The positions, in the storage, of the columns that are hidden, in order.
    hidden: Vec<usize>,
    /// How many of the columns that are shown stand before each of them.
    before: Vec<usize>,
}

impl<'a> Except<'a> {
    /// The columns of a storage without those of these ids, in any order. Ids that do not occur, and repeated ones, do not matter.
    pub fn new(columns: &'a dyn Columns, ids: impl IntoIterator<Item = u64>) -> Self {
        let mut hidden: Vec<usize> = ids.into_iter().filter_map(|id| columns.position(id)).collect();
        hidden.sort_unstable();
        hidden.dedup();
        let before = hidden.iter().enumerate().map(|(k, position)| position - k).collect();
        Self { columns, hidden, before }
    }

    /// How many hidden columns stand before the one shown at `position`.
    fn skipped(&self, position: usize) -> usize {
        self.before.partition_point(|&before| before <= position)
    }

    /// Where a column is in the storage.
    fn inner(&self, position: usize) -> usize {
        position + self.skipped(position)
    }

    /// A range in pieces that are neighbours in the storage too, by their positions there.
    fn pieces(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut at = range.start;
        std::iter::from_fn(move || {
            (at < range.end).then(|| {
                let skipped = self.skipped(at);
                let end = self.before.get(skipped).map_or(range.end, |&next| next.min(range.end));
                let piece = at + skipped..end + skipped;
                at = end;
                piece
            })
        })
    }
}

impl Columns for Except<'_> {
    fn rows(&self) -> usize {
        self.columns.rows()
    }

    fn len(&self) -> usize {
        self.columns.len() - self.hidden.len()
    }

    fn dimension(&self) -> u64 {
        self.columns.dimension()
    }

    fn nonzeros(&self) -> u64 {
        let hidden: u64 = self.hidden.iter().map(|&position| self.columns.filled(position) as u64).sum();
        self.columns.nonzeros().saturating_sub(hidden)
    }

    fn id(&self, position: usize) -> u64 {
        self.columns.id(self.inner(position))
    }

    fn position(&self, id: u64) -> Option<usize> {
        let inner = self.columns.position(id)?;
        self.hidden.binary_search(&inner).err().map(|skipped| inner - skipped)
    }

    fn batch(&self) -> usize {
        self.columns.batch()
    }

    fn dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        let mut pieces = Pieces::new(out, range.len());
        for piece in self.pieces(range) {
            pieces.next(piece, |piece, out| self.columns.dots(piece, v, out));
        }
    }

    fn dots_with(&self, range: Range<usize>, v: &Outputs<'_>, out: &mut [f64]) {
        let mut pieces = Pieces::new(out, range.len());
        for piece in self.pieces(range) {
            pieces.next(piece, |piece, out| self.columns.dots_with(piece, v, out));
        }
    }

    fn square_dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        let mut pieces = Pieces::new(out, range.len());
        for piece in self.pieces(range) {
            pieces.next(piece, |piece, out| self.columns.square_dots(piece, v, out));
        }
    }

    fn gain_dots(&self, range: Range<usize>, both: &Outputs<'_>, out: &mut [f64]) {
        let mut pieces = Pieces::new(out, range.len());
        for piece in self.pieces(range) {
            pieces.next(piece, |piece, out| self.columns.gain_dots(piece, both, out));
        }
    }

    fn has_rough(&self, room: u64) -> bool {
        self.columns.has_rough(room)
    }

    fn has_rough_gains(&self) -> bool {
        self.columns.has_rough_gains()
    }

    fn rough_bytes(&self) -> u64 {
        self.columns.rough_bytes()
    }

    fn rough_dots(&self, range: Range<usize>, v: &Outputs<'_>, out: &mut [f64]) {
        let mut pieces = Pieces::new(out, range.len());
        for piece in self.pieces(range) {
            pieces.next(piece, |piece, out| self.columns.rough_dots(piece, v, out));
        }
    }

    fn rough_gain_dots(&self, range: Range<usize>, both: &Outputs<'_>, out: &mut [f64]) {
        let mut pieces = Pieces::new(out, range.len());
        for piece in self.pieces(range) {
            pieces.next(piece, |piece, out| self.columns.rough_gain_dots(piece, both, out));
        }
    }

    fn moments(&self, range: Range<usize>, weights: &[f64]) -> Vec<Moments> {
        self.pieces(range).flat_map(|piece| self.columns.moments(piece, weights)).collect()
    }

    fn by_blocks(&self) -> Option<&dyn RowBlocks> {
        self.columns.by_blocks().map(|_| self as &dyn RowBlocks)
    }

    fn largest_in(&self, range: Range<usize>, go_on: GoOn<'_>) -> Result<f64> {
        self.pieces(range)
            .try_fold(0.0, |most: f64, piece| Ok(most.max(self.columns.largest_in(piece, go_on)?)))
    }

    fn will_read(&self, range: Range<usize>) {
        self.pieces(range).for_each(|piece| self.columns.will_read(piece));
    }

    fn gather(&self, positions: &[usize]) -> Vec<Column> {
        let inner: Vec<usize> = positions.iter().map(|&position| self.inner(position)).collect();
        self.columns.gather(&inner)
    }

    fn visit(&self, range: Range<usize>, each: &mut dyn FnMut(usize, ColumnView<'_>)) {
        for piece in self.pieces(range) {
            let skipped = self.hidden.partition_point(|&hidden| hidden < piece.start);
            self.columns.visit(piece, &mut |inner, column| each(inner - skipped, column));
        }
    }

    fn visit_bytes(&self) -> u64 {
        self.columns.visit_bytes()
    }

    fn laid_bytes(&self, outputs: usize) -> u64 {
        self.columns.laid_bytes(outputs)
    }

    fn filled(&self, position: usize) -> usize {
        self.columns.filled(self.inner(position))
    }

    fn bytes_by_rows(&self) -> u64 {
        self.columns.bytes_by_rows()
    }

    fn value_bytes(&self) -> u64 {
        self.columns.value_bytes()
    }

    fn all_ones(&self) -> bool {
        self.columns.all_ones()
    }

    fn largest(&self, go_on: GoOn<'_>) -> Result<f64> {
        let hidden = self.columns.gather(&self.hidden).iter().map(|c| c.view().largest()).fold(0.0, f64::max);
        let all = self.columns.largest(go_on)?;
        // Where no hidden value is as large, the largest of all is one that is shown.
        if hidden < all || all == 0.0 {
            return Ok(all);
        }
        self.largest_in(0..self.len(), go_on)
    }
}

impl Except<'_> {
    fn blocks(&self) -> &dyn RowBlocks {
        self.columns.by_blocks().expect("asked for only where the storage is read by blocks")
    }
}

impl RowBlocks for Except<'_> {
    fn block(&self) -> usize {
        self.blocks().block()
    }

    fn fetch(&self, rows: Range<usize>) {
        self.blocks().fetch(rows);
    }

    fn add_dots(&self, rows: Range<usize>, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        let mut pieces = Pieces::new(out, range.len());
        for piece in self.pieces(range) {
            pieces.next(piece, |piece, out| self.blocks().add_dots(rows.clone(), piece, v, out));
        }
    }

    fn copy_row(&self, row: usize, range: Range<usize>, out: &mut [f64]) {
        let mut pieces = Pieces::new(out, range.len());
        for piece in self.pieces(range) {
            pieces.next(piece, |piece, out| self.blocks().copy_row(row, piece, out));
        }
    }

    fn add_square_dots(&self, rows: Range<usize>, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        let mut pieces = Pieces::new(out, range.len());
        for piece in self.pieces(range) {
            pieces.next(piece, |piece, out| self.blocks().add_square_dots(rows.clone(), piece, v, out));
        }
    }
}
