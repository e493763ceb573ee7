//! From rows as a parser delivers them to sparse columns, in little more memory than the columns take.
//!
//! Entries are staged by *panel*, a range of ids, in the narrowest form that holds them: an id relative to its panel, a
//! row relative to its run, and as many bytes of value as the run needs. At the end each panel is turned into columns
//! and its staging memory is given back before the next one is touched, so that the data are never held twice.
//!
//! Entries that come in no order ([`Scattered`]) are staged in the same way; their columns are sorted in the end.

mod dictionary;
mod panel;
mod scattered;

use self::panel::{Panel, Stored, ValueKind};
pub(crate) use self::scattered::{Repeated, Scattered, order_column};
use super::sparse::{Sparse, Values};
use crate::error::{Error, Result};
use crate::parallel;

/// Panels at most: as many as a byte can count, and few enough for the places where each is written to stay in the cache.
const PANELS: usize = 128;

/// Bits of an id that decide on its panel.
const TABLE_BITS: u32 = 12;

/// Panels of about the same number of entries that the first rows are divided into; the rest are kept for ids that only
/// appear later.
const SHARES: usize = 64;

/// Panels no wider than this need two bytes per id.
const NARROW: u64 = 1 << 16;

/// Rows as a parser leaves them, and the same entries sorted by panel. Reused, so that memory is taken once.
#[derive(Default)]
pub(crate) struct Block {
    ids: Vec<u64>,
    values: Vec<f64>,
    row_ends: Vec<u32>,
    by_panel: Entries,
}

/// Entries in order of panel, then of row; `ends[p]` is where those of panel `p` end.
#[derive(Default)]
struct Entries {
    ends: Vec<u32>,
    largest_id: u64,
    ids: Vec<u64>,
    rows: Vec<u32>,
    values: Vec<f64>,
}

impl Entries {
    /// Ids, rows and values of panel `p`.
    fn of(&self, p: usize) -> (&[u64], &[u32], &[f64]) {
        let begin = if p == 0 { 0 } else { self.ends[p - 1] as usize };
        let at = begin..self.ends[p] as usize;
        (&self.ids[at.clone()], &self.rows[at.clone()], &self.values[at])
    }
}

impl Block {
    /// Forgets the rows, keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.ids.clear();
        self.values.clear();
        self.row_ends.clear();
    }

    /// Adds an entry to the current row. Ids within a row increase.
    #[inline(always)]
    pub(crate) fn push(&mut self, id: u64, value: f64) {
        self.ids.push(id);
        self.values.push(value);
    }

    /// Ends the current row.
    #[inline]
    pub(crate) fn end_row(&mut self) {
        self.row_ends.push(self.ids.len() as u32);
    }

    /// Number of rows that were ended.
    pub(crate) fn rows(&self) -> usize {
        self.row_ends.len()
    }

    /// Keeps the first rows, and nothing of one that was begun.
    pub(crate) fn truncate(&mut self, rows: usize) {
        self.row_ends.truncate(rows);
        let entries = self.row_ends.last().map_or(0, |&end| end as usize);
        self.ids.truncate(entries);
        self.values.truncate(entries);
    }

    fn sort_by_panel(&mut self, bounds: &Bounds) {
        let sorted = &mut self.by_panel;
        let mut counts = [0u32; PANELS];
        sorted.largest_id = 0;
        for &id in &self.ids {
            counts[bounds.panel(id)] += 1;
            sorted.largest_id = sorted.largest_id.max(id);
        }
        let mut next = [0u32; PANELS];
        for p in 1..PANELS {
            next[p] = next[p - 1] + counts[p - 1];
        }
        sorted.ids.resize(self.ids.len(), 0);
        sorted.rows.resize(self.ids.len(), 0);
        sorted.values.resize(self.ids.len(), 0.0);
        let mut k = 0;
        for (row, &end) in self.row_ends.iter().enumerate() {
            while k < end as usize {
                let slot = &mut next[bounds.panel(self.ids[k])];
                let to = *slot as usize;
                *slot += 1;
                sorted.ids[to] = self.ids[k];
                sorted.rows[to] = row as u32;
                sorted.values[to] = self.values[k];
                k += 1;
            }
        }
        sorted.ends.clear();
        sorted.ends.extend_from_slice(&next);
    }
}

/// The columns of a few `ids`, by whose numbers in that list the blocks have them.
pub(crate) fn few_columns(blocks: &[Block], ids: &[u64], dimension: u64) -> Sparse {
    // Where the column of each number begins; then, as it fills, where it goes on.
    let mut next = vec![0u64; ids.len() + 1];
    let entries = || blocks.iter().flat_map(|block| &block.ids);
    entries().for_each(|&number| next[number as usize + 1] += 1);
    let held: Vec<usize> = (0..ids.len()).filter(|&number| next[number + 1] > 0).collect();
    for number in 0..ids.len() {
        next[number + 1] += next[number];
    }
    let pointers = std::iter::once(0).chain(held.iter().map(|&number| next[number + 1])).collect();
    let total = entries().count();
    let (mut indices, mut values) = (vec![0; total], vec![0.0; total]);
    let mut row = 0;
    for block in blocks {
        let mut k = 0;
        for &end in &block.row_ends {
            for k in k..end as usize {
                let slot = &mut next[block.ids[k] as usize];
                indices[*slot as usize] = row;
                values[*slot as usize] = block.values[k];
                *slot += 1;
            }
            k = end as usize;
            row += 1;
        }
    }
    let ids = held.iter().map(|&number| ids[number]).collect();
    Sparse::trusted(row as usize, dimension, ids, pointers, indices, Values::F64(values))
}

/// Where panels begin, and a table to find the panel of an id without searching.
struct Bounds {
    /// Increasing; the first is 0.
    starts: Vec<u64>,
    /// The panel of every id, by its bits above `shift`. Larger ids, that only appeared later, are searched for.
    table: Vec<u8>,
    shift: u32,
}

impl Bounds {
    /// Bounds that divide these ids about evenly, and into narrow panels where a few more suffice for that.
    fn dividing(mut sample: Vec<u64>) -> Self {
        sample.sort_unstable();
        let share = |q: usize| sample.get(q * sample.len() / SHARES).copied();
        let mut starts: Vec<u64> = (1..SHARES).filter_map(share).collect();
        let narrow = sample.last().map_or(0, |largest| largest / NARROW);
        if narrow < (PANELS / 4) as u64 {
            starts.extend((1..=narrow).map(|k| k * NARROW));
        }
        let last = starts.iter().copied().max().unwrap_or(0);
        let shift = (u64::BITS - last.leading_zeros()).saturating_sub(TABLE_BITS);
        starts.iter_mut().for_each(|start| *start = *start >> shift << shift);
        starts.push(0);
        starts.sort_unstable();
        starts.dedup();
        let panel = |k: u64| starts.partition_point(|&start| start <= k << shift) - 1;
        let table = (0..=last >> shift).map(|k| panel(k) as u8).collect();
        Self { starts, table, shift }
    }

    #[inline(always)]
    fn panel(&self, id: u64) -> usize {
        match usize::try_from(id >> self.shift).ok().and_then(|k| self.table.get(k)) {
            Some(&panel) => panel as usize,
            None => self.starts.partition_point(|&start| start <= id) - 1,
        }
    }

    fn last(&self) -> u64 {
        self.starts[self.starts.len() - 1]
    }
}

/// Collects rows and yields sparse columns.
pub(crate) struct Builder {
    bounds: Option<Bounds>,
    panels: Vec<Panel>,
    rows: usize,
    entries: u64,
    largest_id: u64,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self { bounds: None, panels: Vec::new(), rows: 0, entries: 0, largest_id: 0 }
    }

    /// Number of entries so far.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// Adds the rows of these blocks, in order, on the threads of the current pool.
    pub(crate) fn append(&mut self, blocks: &mut [Block]) -> Result<()> {
        self.follow_new_ids();
        let bounds = self
            .bounds
            .get_or_insert_with(|| Bounds::dividing(sample_of(blocks.iter().map(|block| &*block.ids))));
        parallel::chunks_mut(blocks, 1, &|_, block| block[0].sort_by_panel(bounds));
        self.panels.resize_with(bounds.starts.len(), Panel::default);
        let mut first_rows = Vec::with_capacity(blocks.len());
        for block in blocks.iter() {
            first_rows.push(self.rows as u32);
            self.rows += block.rows();
            self.entries += block.ids.len() as u64;
            self.largest_id = self.largest_id.max(block.by_panel.largest_id);
        }
        if u32::try_from(self.rows).is_err() {
            return Err(Error::Data(format!("more than {} rows", u32::MAX)));
        }
        let blocks = &*blocks;
        self.for_each_panel(blocks.len(), |panel, base, p| {
            let mut parts = blocks.iter().zip(&first_rows);
            parts.try_for_each(|(block, &first_row)| {
                let (ids, rows, values) = block.by_panel.of(p);
                panel.append(base, first_row, ids, rows, values)
            })
        })
    }

    /// Calls `each` with every panel, where it begins and its number, on the threads of the current pool. What one part has for
    /// all panels is not worth sharing.
    fn for_each_panel(
        &mut self,
        parts: usize,
        each: impl Fn(&mut Panel, u64, usize) -> Result<()> + Sync,
    ) -> Result<()> {
        let starts = self.bounds.as_ref().map_or(&[][..], |bounds| &bounds.starts);
        let together = (PANELS / parts.max(1)).max(1);
        parallel::try_chunks_mut(&mut self.panels, together, &|k, panels| {
            let mut panels = (k * together..).zip(panels);
            panels.try_for_each(|(p, panel)| each(panel, starts[p], p))
        })
    }

    /// Where ids are numbered as they first appear, the last panel would end up with most of the data: closed once it
    /// holds more than its share, so that ids not seen yet go to a new one.
    fn follow_new_ids(&mut self) {
        let (Some(bounds), Some(last)) = (&mut self.bounds, self.panels.last()) else { return };
        let full = last.len() as u64 > self.entries / SHARES as u64;
        if full
            && bounds.starts.len() < PANELS
            && self.largest_id > bounds.last()
            && self.largest_id < u64::MAX
        {
            bounds.starts.push(self.largest_id + 1);
        }
    }

    /// The columns, of at least the given dimension, made on the threads of the current pool.
    pub(crate) fn finish(self, dimension: u64) -> Sparse {
        let rows = self.rows;
        match self.kind() {
            ValueKind::Ones => self.columns::<()>().sparse(rows, dimension, |_| Values::Ones),
            ValueKind::U8 => self.columns().sparse(rows, dimension, Values::U8),
            ValueKind::F32 => self.columns().sparse(rows, dimension, Values::F32),
            ValueKind::F64 => self.columns().sparse(rows, dimension, Values::F64),
        }
    }

    /// What it takes to hold all values.
    fn kind(&self) -> ValueKind {
        self.panels.iter().map(Panel::kind).max().unwrap_or(ValueKind::Ones)
    }

    fn columns<V: Stored>(self) -> Compressed<V> {
        let total = self.panels.iter().map(Panel::len).sum();
        // Zeroed memory is taken page by page as it is written to.
        let mut indices = vec![0u32; total];
        let mut values = vec![V::default(); total];
        let starts = self.bounds.map_or_else(Vec::new, |bounds| bounds.starts);
        let mut tasks = Vec::with_capacity(self.panels.len());
        let (mut indices_rest, mut values_rest) = (indices.as_mut_slice(), values.as_mut_slice());
        for (panel, base) in self.panels.into_iter().zip(starts) {
            let (i, rest) = indices_rest.split_at_mut(panel.len());
            indices_rest = rest;
            let (v, rest) = values_rest.split_at_mut(panel.len());
            values_rest = rest;
            tasks.push((panel, base, i, v));
        }
        let parts = parallel::map_into(tasks, |(panel, base, i, v)| panel.into_columns(base, i, v));

        let held = parts.iter().map(|part| part.ids.len()).sum();
        let mut ids = Vec::with_capacity(held);
        let mut pointers = Vec::with_capacity(held + 1);
        let mut end = 0;
        pointers.push(end);
        for part in parts {
            ids.extend_from_slice(&part.ids);
            pointers.extend(part.lengths.iter().map(|&length| {
                end += u64::from(length);
                end
            }));
        }
        Compressed { ids, pointers, indices, values }
    }
}

/// Columns that occur: those of `ids[k]` are from `pointers[k]` to `pointers[k + 1]`.
struct Compressed<V> {
    ids: Vec<u64>,
    pointers: Vec<u64>,
    indices: Vec<u32>,
    values: Vec<V>,
}

impl<V> Compressed<V> {
    /// As storage; rows must increase within columns.
    fn sparse(self, rows: usize, dimension: u64, wrap: impl Fn(Vec<V>) -> Values) -> Sparse {
        Sparse::trusted(rows, dimension, self.ids, self.pointers, self.indices, wrap(self.values))
    }
}

/// As many ids as it takes to divide them well.
const SAMPLE: usize = 1 << 15;

/// Some of all ids, evenly.
fn sample_of<'a>(parts: impl Iterator<Item = &'a [u64]> + Clone) -> Vec<u64> {
    let total: usize = parts.clone().map(<[u64]>::len).sum();
    let step = total.div_ceil(SAMPLE).max(1);
    parts.flat_map(|ids| ids.iter().step_by(step)).copied().collect()
}
