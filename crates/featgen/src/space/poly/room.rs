//! How many bytes the features take that a search for pairs has at hand.

use crate::data::{ByteColumns, Columns};
use crate::space::ranked::RankedRows;

/// Bytes of the features that are taken together, at most, unless one alone has more.
pub(super) const BATCH_BYTES: u64 = 1 << 28;
/// Bytes of a value that is taken: its row and itself.
pub(super) const TAKEN: u64 = size_of::<(u32, f64)>() as u64;

/// Sums that a thread keeps at once while rows are read from the first to the last: as many as stay in a cache.
pub(super) const ROOM: usize = 1 << 18;

/// Bytes of those sums of all threads: of pairs of no more features than there are.
pub(super) fn sums_by_rows(columns: &dyn Columns, outputs: usize, threads: usize) -> u64 {
    let pairs = columns.len().saturating_mul(columns.len()).saturating_mul(outputs);
    let sums = if is_dense(columns) { 0 } else { pairs.min(ROOM).next_power_of_two() };
    (threads * sums * size_of::<f64>()) as u64
}

/// Parts that a search is divided into, about, if there is as little room as can be: each goes past all features.
const MOST_PARTS: u64 = 64;

/// Bytes for the features that a search has at hand, half of them for partners: the least that it can do with, and as many as
/// it has a use for. `longest` is the largest number of values of a feature.
pub(super) fn room(columns: &dyn Columns, outputs: usize, longest: u64) -> [u64; 2] {
    let kept = Kept::of(columns, is_dense(columns), outputs);
    let all = kept.bytes(columns.len() as u64, columns.nonzeros());
    let least = all.div_ceil(MOST_PARTS).max(kept.bytes(1, longest)).max(TAKEN * longest + kept.copy);
    [least, all.max(BATCH_BYTES)].map(|half| half.saturating_mul(2))
}

/// How values of partners are kept.
pub(super) struct Kept {
    /// Bytes of a value where they are kept by rows.
    value: u64,
    /// Bytes of a feature where all its values are kept, one byte each.
    pub(super) copy: u64,
    /// Bytes of the sums of a feature as a partner.
    sums: u64,
}

/// Room is made as for so many threads, whatever their number, so that what is looked at does not depend on it.
pub(super) const THREADS: usize = 8;

/// Bytes of the sums that threads have for a partner and an output: up to two each.
const SUMS: u64 = (2 * THREADS * size_of::<f64>()) as u64;

impl Kept {
    pub(super) fn of(columns: &dyn Columns, dense: bool, outputs: usize) -> Self {
        let sums = SUMS.saturating_mul(outputs as u64);
        match dense {
            true => Self { value: 0, copy: ByteColumns::bytes(columns.rows()), sums },
            false => Self { value: RankedRows::value_size(columns.all_ones()), copy: 0, sums },
        }
    }

    pub(super) fn bytes(&self, features: u64, values: u64) -> u64 {
        let feature = self.copy.saturating_add(self.sums);
        feature.saturating_mul(features).saturating_add(self.value.saturating_mul(values))
    }
}

/// Whether most values are not 0: then features are held by columns, in bytes, and not by rows.
pub(super) fn is_dense(columns: &dyn Columns) -> bool {
    let all = columns.rows() as u64 * columns.len() as u64;
    columns.nonzeros() >= all / 2 && !columns.all_ones()
}
