//! Sums over a range of columns that lies in several pieces, each of which knows its own sums only.

use std::ops::Range;

/// The sums of a range, by outputs, which are filled piece after piece from the first column on.
pub(super) struct Pieces<'o> {
    out: &'o mut [f64],
    /// Columns of the whole range.
    width: usize,
    /// Columns that were filled.
    done: usize,
    /// A copy of the sums of one piece.
    room: Vec<f64>,
}

impl<'o> Pieces<'o> {
    /// Over the sums of so many columns.
    pub(super) fn new(out: &'o mut [f64], width: usize) -> Self {
        Self { out, width, done: 0, room: Vec::new() }
    }

    /// Calls `fill` with the sums, by outputs, of the next columns, as many as `piece` has.
    pub(super) fn next(&mut self, piece: Range<usize>, fill: impl FnOnce(Range<usize>, &mut [f64])) {
        let Self { out, width, done, room } = self;
        let columns = *done..*done + piece.len();
        *done = columns.end;
        // The sums of one output lie together, and those of a piece that is the whole.
        if out.len() == *width || columns.len() == *width {
            let outputs = out.len() / (*width).max(1);
            return fill(piece, &mut out[columns.start * outputs..columns.end * outputs]);
        }
        room.clear();
        out.chunks(*width).for_each(|sums| room.extend(&sums[columns.clone()]));
        fill(piece, room);
        let sums = out.chunks_mut(*width).zip(room.chunks(columns.len().max(1)));
        sums.for_each(|(out, sums)| out[columns.clone()].copy_from_slice(sums));
    }
}
