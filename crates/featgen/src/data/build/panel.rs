//! A range of ids: its entries as they are staged, and the columns they become.

use bytemuck::Pod;
use memmap2::{MmapMut, MmapOptions};

use crate::error::{Error, Result};
use crate::kernels::Number;

/// Bytes of a panel's first slab.
const SLAB: usize = 1 << 16;

/// A number as final storage holds it; `()` where every value is 1.
pub(super) trait Stored: Copy + Default + Send + Sync {
    fn narrowed(value: f64) -> Self;
}

impl Stored for () {
    fn narrowed(_: f64) {}
}

impl Stored for f32 {
    fn narrowed(value: f64) -> Self {
        value as f32
    }
}

impl Stored for f64 {
    fn narrowed(value: f64) -> Self {
        value
    }
}

/// What it takes to hold values exactly, the narrowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValueKind {
    Ones,
    F32,
    F64,
}

impl ValueKind {
    fn of(values: &[f64]) -> Self {
        if values.iter().all(|&x| x == 1.0) {
            Self::Ones
        } else if values.iter().all(|&x| f64::from(x as f32) == x) {
            Self::F32
        } else {
            Self::F64
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Ones => 0,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// How many bytes the ids of a run take, relative to their panel.
#[derive(Debug, Clone, Copy)]
enum IdWidth {
    Two,
    Four,
    Eight,
}

impl IdWidth {
    fn of(largest: u64) -> Self {
        if u16::try_from(largest).is_ok() {
            Self::Two
        } else if u32::try_from(largest).is_ok() {
            Self::Four
        } else {
            Self::Eight
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }
}

/// Consecutive entries of a panel, held in one way: ids, then rows, then values, each from a multiple of eight bytes.
struct Run {
    begin: usize,
    length: usize,
    first_row: u32,
    ids: IdWidth,
    values: ValueKind,
}

impl Run {
    fn rows_at(&self) -> usize {
        self.begin + (self.length * self.ids.bytes()).next_multiple_of(8)
    }

    fn values_at(&self) -> usize {
        self.rows_at() + (self.length * size_of::<u16>()).next_multiple_of(8)
    }

    fn end(&self) -> usize {
        self.values_at() + (self.length * self.values.bytes()).next_multiple_of(8)
    }
}

/// Memory taken from the system and given back to it as a whole: a general allocator may keep what is freed.
struct Slab {
    bytes: MmapMut,
    used: usize,
    runs: Vec<Run>,
}

impl Slab {
    fn part<T: Pod>(&self, begin: usize, length: usize) -> &[T] {
        bytemuck::cast_slice(&self.bytes[begin..begin + length * size_of::<T>()])
    }

    fn part_mut<T: Pod>(&mut self, begin: usize, length: usize) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.bytes[begin..begin + length * size_of::<T>()])
    }

    fn write<T: Pod>(&mut self, begin: usize, items: impl ExactSizeIterator<Item = T>) {
        self.part_mut(begin, items.len()).iter_mut().zip(items).for_each(|(slot, item)| *slot = item);
    }

    /// Calls `visit` with the relative id, the row and the value of every entry, in order.
    #[inline(always)]
    fn for_each(&self, mut visit: impl FnMut(u64, u32, f64)) {
        for run in &self.runs {
            match run.ids {
                IdWidth::Two => self.walk::<u16>(run, &mut visit),
                IdWidth::Four => self.walk::<u32>(run, &mut visit),
                IdWidth::Eight => self.walk::<u64>(run, &mut visit),
            }
        }
    }

    #[inline(always)]
    fn walk<I: Pod + Into<u64>>(&self, run: &Run, visit: &mut impl FnMut(u64, u32, f64)) {
        let ids: &[I] = self.part(run.begin, run.length);
        let rows: &[u16] = self.part(run.rows_at(), run.length);
        let entries = ids.iter().zip(rows).map(|(&id, &row)| (id.into(), run.first_row + u32::from(row)));
        match run.values {
            ValueKind::Ones => entries.for_each(|(id, row)| visit(id, row, 1.0)),
            ValueKind::F32 => {
                let values: &[f32] = self.part(run.values_at(), run.length);
                entries.zip(values).for_each(|((id, row), x)| visit(id, row, x.wide()));
            }
            ValueKind::F64 => {
                let values: &[f64] = self.part(run.values_at(), run.length);
                entries.zip(values).for_each(|((id, row), &x)| visit(id, row, x));
            }
        }
    }
}

/// The staged entries of a range of ids, in order of row.
#[derive(Default)]
pub(super) struct Panel {
    slabs: Vec<Slab>,
    bytes: usize,
    length: usize,
    kind: Option<ValueKind>,
    /// The largest id, relative to the panel.
    largest: u64,
}

/// Columns of one panel: ids, and how many entries each has.
pub(super) struct Columns {
    pub(super) ids: Vec<u64>,
    pub(super) lengths: Vec<u32>,
}

impl Panel {
    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// What it takes to hold all values of this panel.
    pub(super) fn kind(&self) -> ValueKind {
        self.kind.unwrap_or(ValueKind::Ones)
    }

    /// Adds entries; `rows` count from `first_row` and never decrease.
    pub(super) fn append(
        &mut self,
        base: u64,
        first_row: u32,
        mut ids: &[u64],
        mut rows: &[u32],
        mut values: &[f64],
    ) -> Result<()> {
        while let Some(&first) = rows.first() {
            // A run's rows fit 16 bits.
            let spans = |row: u32| row - first > u32::from(u16::MAX);
            let length =
                if spans(rows[rows.len() - 1]) { rows.partition_point(|&r| !spans(r)) } else { rows.len() };
            let (run_ids, run_rows, run_values);
            (run_ids, ids) = ids.split_at(length);
            (run_rows, rows) = rows.split_at(length);
            (run_values, values) = values.split_at(length);
            self.append_run(base, first_row + first, run_ids, run_rows, run_values)?;
        }
        Ok(())
    }

    fn append_run(
        &mut self,
        base: u64,
        first_row: u32,
        ids: &[u64],
        rows: &[u32],
        values: &[f64],
    ) -> Result<()> {
        let largest = ids.iter().fold(0, |max, &id| max.max(id)) - base;
        let kind = ValueKind::of(values);
        self.largest = self.largest.max(largest);
        self.kind = Some(self.kind().max(kind));
        self.length += ids.len();

        let mut run = Run { begin: 0, length: ids.len(), first_row, ids: IdWidth::of(largest), values: kind };
        let slab = self.slab_with(run.end())?;
        run.begin = slab.used;
        slab.used = run.end();
        match run.ids {
            IdWidth::Two => slab.write(run.begin, ids.iter().map(|&id| (id - base) as u16)),
            IdWidth::Four => slab.write(run.begin, ids.iter().map(|&id| (id - base) as u32)),
            IdWidth::Eight => slab.write(run.begin, ids.iter().map(|&id| id - base)),
        }
        slab.write(run.rows_at(), rows.iter().map(|&row| (row - rows[0]) as u16));
        match kind {
            ValueKind::Ones => {}
            ValueKind::F32 => slab.write(run.values_at(), values.iter().map(|&x| x as f32)),
            ValueKind::F64 => slab.write(run.values_at(), values.iter().copied()),
        }
        slab.runs.push(run);
        Ok(())
    }

    /// The last slab, if that many bytes are left in it; else a new one, larger where the panel is large.
    fn slab_with(&mut self, bytes: usize) -> Result<&mut Slab> {
        if self.slabs.last().is_none_or(|slab| slab.bytes.len() - slab.used < bytes) {
            let size = bytes.max(self.bytes / 8).max(SLAB).next_multiple_of(SLAB);
            // All pages at once: much cheaper than one by one as they are written to.
            let map = MmapOptions::new().len(size).populate().map_anon();
            let map = map.map_err(|e| Error::io("memory for the data", e))?;
            self.bytes += size;
            self.slabs.push(Slab { bytes: map, used: 0, runs: Vec::new() });
        }
        Ok(self.slabs.last_mut().expect("there is one now"))
    }

    /// Writes the entries by column, rows increasing, and gives the staging memory back.
    pub(super) fn into_columns<V: Stored>(self, base: u64, rows: &mut [u32], values: &mut [V]) -> Columns {
        let dense = self.largest < (2 * self.length as u64).max(1 << 16);
        if dense { self.by_counting(base, rows, values) } else { self.by_sorting(base, rows, values) }
    }

    fn by_counting<V: Stored>(self, base: u64, rows: &mut [u32], values: &mut [V]) -> Columns {
        let mut next = vec![0usize; self.largest as usize + 1];
        for slab in &self.slabs {
            slab.for_each(|id, _, _| next[id as usize] += 1);
        }
        let mut columns = Columns { ids: Vec::new(), lengths: Vec::new() };
        let mut begin = 0;
        for (id, slot) in next.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
            columns.ids.push(base + id as u64);
            columns.lengths.push(*slot as u32);
            begin += std::mem::replace(slot, begin);
        }
        for slab in self.slabs {
            slab.for_each(|id, row, value| {
                let slot = &mut next[id as usize];
                rows[*slot] = row;
                values[*slot] = V::narrowed(value);
                *slot += 1;
            });
        }
        columns
    }

    fn by_sorting<V: Stored>(self, base: u64, rows: &mut [u32], values: &mut [V]) -> Columns {
        // Id and order of arrival in one number: equal ids stay in order of row.
        let mut keys: Vec<u128> = Vec::with_capacity(self.length);
        let mut entries: Vec<(u32, V)> = Vec::with_capacity(self.length);
        for slab in self.slabs {
            slab.for_each(|id, row, value| {
                keys.push(u128::from(id) << 64 | entries.len() as u128);
                entries.push((row, V::narrowed(value)));
            });
        }
        keys.sort_unstable();
        for (k, &key) in keys.iter().enumerate() {
            (rows[k], values[k]) = entries[key as u64 as usize];
        }
        let mut columns = Columns { ids: Vec::new(), lengths: Vec::new() };
        for column in keys.chunk_by(|a, b| a >> 64 == b >> 64) {
            columns.ids.push(base + (column[0] >> 64) as u64);
            columns.lengths.push(column.len() as u32);
        }
        columns
    }
}
