//! The values of features by rows, in an order of the features: what searches for products read.

use super::work::Work;
use crate::data::Columns;
use crate::error::Result;

/// Rows that are filled together, at least, and values that are then taken from a column, about.
const FEWEST_ROWS: usize = 1 << 12;
const PER_VISIT: usize = 32;

/// Rows that fill up as features come, in order of their ranks. There is room for all of them from the start.
#[derive(Default)]
pub(super) struct RankedRows {
    /// Where each row begins, and where what is there of it ends.
    starts: Vec<u64>,
    ends: Vec<u64>,
    ranks: Vec<u32>,
    /// Empty where every value is 1.
    values: Vec<f64>,
}

impl RankedRows {
    /// Bytes of a value; of `ones` only the rank is stored.
    pub(super) fn value_size(ones: bool) -> u64 {
        if ones { 4 } else { 12 }
    }

    /// Bytes of a row, beside its values.
    pub(super) const ROW_SIZE: u64 = 2 * 8 + 4;

    /// Room for the values of the features at the positions `order`, in the rows that are kept. With `ones`, values need
    /// not be stored.
    pub(super) fn new(
        columns: &dyn Columns,
        order: &[u32],
        ones: bool,
        kept: impl Fn(u32) -> bool,
        work: &Work<'_>,
    ) -> Result<Self> {
        let mut counts = vec![0u32; columns.rows()];
        for &position in order {
            work.go_on()?;
            columns.see(position as usize, |column| column.each_nonzero(|row, _| counts[row as usize] += 1));
        }
        Ok(Self::with_room(counts, ones, kept))
    }

    /// Room for so many values in each row that is kept.
    pub(super) fn with_room(counts: Vec<u32>, ones: bool, kept: impl Fn(u32) -> bool) -> Self {
        let (mut starts, mut held) = (Vec::with_capacity(counts.len()), 0);
        for (row, count) in (0..).zip(counts) {
            starts.push(held);
            held += if kept(row) { u64::from(count) } else { 0 };
        }
        let held = held as usize;
        let values = vec![0.0; if ones { 0 } else { held }];
        Self { ends: starts.clone(), starts, ranks: vec![0; held], values }
    }

    /// Adds whole columns, of ranks that begin with `first`. Many rows are filled a few at a time, while they are at hand.
    pub(super) fn append(&mut self, first: u32, columns: &[Vec<(u32, f64)>]) {
        let values: usize = columns.iter().map(Vec::len).sum();
        let parts = (values / (columns.len() * PER_VISIT).max(1)).max(1);
        let rows = (self.starts.len() / parts).max(FEWEST_ROWS);
        let mut rest: Vec<&[(u32, f64)]> = columns.iter().map(Vec::as_slice).collect();
        for end in (0..self.starts.len()).step_by(rows).map(|start| start + rows) {
            for (rank, rest) in (first..).zip(&mut rest) {
                while let Some((&(row, x), more)) = rest.split_first()
                    && (row as usize) < end
                {
                    self.push(row, rank, x);
                    *rest = more;
                }
            }
        }
    }

    /// Adds a value at the end of a row; returns how many stand before it.
    pub(super) fn push(&mut self, row: u32, rank: u32, value: f64) -> u32 {
        let end = &mut self.ends[row as usize];
        let at = *end as usize;
        *end += 1;
        self.ranks[at] = rank;
        if let Some(place) = self.values.get_mut(at) {
            *place = value;
        }
        (at - self.starts[row as usize] as usize) as u32
    }

    /// The ranks of what is in a row.
    pub(super) fn ranks(&self, row: u32) -> &[u32] {
        &self.ranks[self.starts[row as usize] as usize..self.ends[row as usize] as usize]
    }

    /// The value at a place of a row.
    pub(super) fn value(&self, row: u32, at: usize) -> f64 {
        self.values.get(self.starts[row as usize] as usize + at).copied().unwrap_or(1.0)
    }

    /// Calls `add` with the ranks and values of the first `count` in a row.
    #[inline]
    pub(super) fn each(&self, row: u32, count: usize, mut add: impl FnMut(usize, f64)) {
        let start = self.starts[row as usize] as usize;
        let ranks = &self.ranks[start..start + count];
        if self.values.is_empty() {
            ranks.iter().for_each(|&rank| add(rank as usize, 1.0));
        } else {
            let values = &self.values[start..start + count];
            ranks.iter().zip(values).for_each(|(&rank, &x)| add(rank as usize, x));
        }
    }

    /// Calls `add` with the ranks below `limit` among the first `most` in a row, and their values; returns how many they are.
    #[inline]
    pub(super) fn each_below(
        &self,
        row: u32,
        most: usize,
        limit: u32,
        mut add: impl FnMut(usize, f64),
    ) -> usize {
        let ranks = self.ranks(row);
        let ranks = &ranks[..most.min(ranks.len())];
        let mut count = 0;
        if self.values.is_empty() {
            for &rank in ranks.iter().take_while(|&&rank| rank < limit) {
                add(rank as usize, 1.0);
                count += 1;
            }
        } else {
            let values = &self.values[self.starts[row as usize] as usize..];
            for (&rank, &x) in ranks.iter().zip(values).take_while(|(rank, _)| **rank < limit) {
                add(rank as usize, x);
                count += 1;
            }
        }
        count
    }
}
