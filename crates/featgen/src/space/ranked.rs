//! The values of features by rows, in an order of the features: what searches for products read.

use super::work::Work;
use crate::data::Columns;
use crate::error::Result;

/// Rows that fill up as features come, in order of their ranks. There is room for all of them from the start.
#[derive(Default)]
pub(super) struct RankedRows {
    /// Where each row begins, and how much of it is there.
    starts: Vec<u64>,
    filled: Vec<u32>,
    ranks: Vec<u32>,
    /// Empty where every value is 1.
    values: Vec<f64>,
}

impl RankedRows {
    /// Room for the values of the features at the positions `order`, in the rows that are kept. With `ones`, values need
    /// not be stored.
    pub(super) fn new(
        columns: &dyn Columns,
        order: &[u32],
        ones: bool,
        kept: impl Fn(u32) -> bool,
        work: &Work<'_>,
    ) -> Result<Self> {
        let rows = columns.rows();
        let mut starts = vec![0u64; rows + 1];
        for &position in order {
            work.go_on()?;
            let column = &columns.gather(&[position as usize])[0];
            column.each_nonzero(|row, _| starts[row as usize + 1] += u64::from(kept(row)));
        }
        for i in 0..rows {
            starts[i + 1] += starts[i];
        }
        let held = starts[rows] as usize;
        let values = vec![0.0; if ones { 0 } else { held }];
        Ok(Self { starts, filled: vec![0; rows], ranks: vec![0; held], values })
    }

    /// Adds a value at the end of a row; returns how many stand before it.
    pub(super) fn push(&mut self, row: u32, rank: u32, value: f64) -> u32 {
        let filled = &mut self.filled[row as usize];
        let (before, at) = (*filled, self.starts[row as usize] as usize + *filled as usize);
        *filled += 1;
        self.ranks[at] = rank;
        if let Some(place) = self.values.get_mut(at) {
            *place = value;
        }
        before
    }

    /// The ranks of what is in a row.
    pub(super) fn ranks(&self, row: u32) -> &[u32] {
        let start = self.starts[row as usize] as usize;
        &self.ranks[start..start + self.filled[row as usize] as usize]
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
}
