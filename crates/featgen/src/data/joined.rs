//! The columns of two storages side by side: genotypes, and what else is known of the same people.

use std::ops::Range;

use super::pieces::Pieces;
use super::{Column, ColumnView, Columns, GoOn, Moments, Outputs};
use crate::error::{Error, Result};

/// The columns of one storage and, with ids that follow its own, those of another with the same rows.
pub struct Joined {
    left: Box<dyn Columns>,
    right: Box<dyn Columns>,
}

impl Joined {
    /// The columns of both.
    pub fn new(left: Box<dyn Columns>, right: Box<dyn Columns>) -> Result<Self> {
        if left.rows() != right.rows() {
            return Err(Error::Data(format!("{} rows beside {}", left.rows(), right.rows())));
        }
        if left.dimension().checked_add(right.dimension()).is_none() {
            return Err(Error::Data("too many columns".into()));
        }
        Ok(Self { left, right })
    }

    /// The parts of a range: which storage, and its positions there.
    fn parts(&self, range: Range<usize>) -> [(&dyn Columns, Range<usize>); 2] {
        let middle = self.left.len();
        let left = range.start.min(middle)..range.end.min(middle);
        let right = range.start.max(middle) - middle..range.end.max(middle) - middle;
        [(&*self.left, left), (&*self.right, right)]
    }

    /// Fills the sums of a range from those of its parts.
    fn fill(
        &self,
        range: Range<usize>,
        out: &mut [f64],
        fill: impl Fn(&dyn Columns, Range<usize>, &mut [f64]),
    ) {
        let mut pieces = Pieces::new(out, range.len());
        for (columns, part) in self.parts(range).into_iter().filter(|(_, part)| !part.is_empty()) {
            pieces.next(part, |part, out| fill(columns, part, out));
        }
    }

    /// The storage of a column, and its position there.
    fn one(&self, position: usize) -> (&dyn Columns, usize) {
        match position.checked_sub(self.left.len()) {
            Some(position) => (&*self.right, position),
            None => (&*self.left, position),
        }
    }
}

impl Columns for Joined {
    fn rows(&self) -> usize {
        self.left.rows()
    }

    fn len(&self) -> usize {
        self.left.len() + self.right.len()
    }

    fn dimension(&self) -> u64 {
        self.left.dimension() + self.right.dimension()
    }

    fn nonzeros(&self) -> u64 {
        self.left.nonzeros() + self.right.nonzeros()
    }

    fn id(&self, position: usize) -> u64 {
        match position.checked_sub(self.left.len()) {
            Some(position) => self.left.dimension() + self.right.id(position),
            None => self.left.id(position),
        }
    }

    fn position(&self, id: u64) -> Option<usize> {
        match id.checked_sub(self.left.dimension()) {
            Some(id) => self.right.position(id).map(|position| self.left.len() + position),
            None => self.left.position(id),
        }
    }

    fn batch(&self) -> usize {
        self.left.batch()
    }

    fn dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        self.fill(range, out, |columns, part, out| columns.dots(part, v, out));
    }

    fn dots_with(&self, range: Range<usize>, v: &Outputs<'_>, out: &mut [f64]) {
        self.fill(range, out, |columns, part, out| columns.dots_with(part, v, out));
    }

    fn square_dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        self.fill(range, out, |columns, part, out| columns.square_dots(part, v, out));
    }

    fn gain_dots(&self, range: Range<usize>, both: &Outputs<'_>, out: &mut [f64]) {
        self.fill(range, out, |columns, part, out| columns.gain_dots(part, both, out));
    }

    fn has_rough(&self, room: u64) -> bool {
        // Both are asked: one may have a copy to make. Whichever has none of its own gives exact sums.
        self.left.has_rough(room) | self.right.has_rough(room.saturating_sub(self.left.rough_bytes()))
    }

    fn has_rough_gains(&self) -> bool {
        self.left.has_rough_gains() || self.right.has_rough_gains()
    }

    fn rough_bytes(&self) -> u64 {
        self.left.rough_bytes().saturating_add(self.right.rough_bytes())
    }

    fn rough_dots(&self, range: Range<usize>, v: &Outputs<'_>, out: &mut [f64]) {
        self.fill(range, out, |columns, part, out| columns.rough_dots(part, v, out));
    }

    fn rough_gain_dots(&self, range: Range<usize>, both: &Outputs<'_>, out: &mut [f64]) {
        self.fill(range, out, |columns, part, out| columns.rough_gain_dots(part, both, out));
    }

    fn moments(&self, range: Range<usize>, weights: &[f64]) -> Vec<Moments> {
        let parts = self.parts(range).into_iter();
        parts.flat_map(|(columns, part)| columns.moments(part, weights)).collect()
    }

    fn will_read(&self, range: Range<usize>) {
        self.parts(range).into_iter().for_each(|(columns, part)| columns.will_read(part));
    }

    fn gather(&self, positions: &[usize]) -> Vec<Column> {
        let middle = self.left.len();
        let (left, right): (Vec<usize>, Vec<usize>) = positions.iter().partition(|&&k| k < middle);
        let right: Vec<usize> = right.iter().map(|k| k - middle).collect();
        let mut sides = [self.left.gather(&left).into_iter(), self.right.gather(&right).into_iter()];
        positions.iter().filter_map(|&k| sides[usize::from(k >= middle)].next()).collect()
    }

    fn visit(&self, range: Range<usize>, each: &mut dyn FnMut(usize, ColumnView<'_>)) {
        let [(left, first), (right, second)] = self.parts(range);
        left.visit(first, each);
        right.visit(second, &mut |position, column| each(left.len() + position, column));
    }

    fn visit_bytes(&self) -> u64 {
        self.left.visit_bytes().max(self.right.visit_bytes())
    }

    fn laid_bytes(&self, outputs: usize) -> u64 {
        self.left.laid_bytes(outputs) + self.right.laid_bytes(outputs)
    }

    fn filled(&self, position: usize) -> usize {
        let (columns, position) = self.one(position);
        columns.filled(position)
    }

    fn value_bytes(&self) -> u64 {
        self.left.value_bytes().max(self.right.value_bytes())
    }

    fn all_ones(&self) -> bool {
        self.left.all_ones() && self.right.all_ones()
    }

    fn largest_in(&self, range: Range<usize>, go_on: GoOn<'_>) -> Result<f64> {
        self.parts(range).into_iter().try_fold(0.0, |most: f64, (columns, part)| {
            // Of all together it may be known.
            let whole = part.len() == columns.len();
            Ok(most.max(if whole { columns.largest(go_on)? } else { columns.largest_in(part, go_on)? }))
        })
    }
}
