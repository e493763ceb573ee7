//! A range of ids: its entries as they are staged, and the columns they become.

use bytemuck::Pod;
use memmap2::{MmapMut, MmapOptions};

use super::dictionary::Dictionary;
use crate::data::is_bytes;
use crate::data::width::Width;
use crate::error::{Error, Result};
use crate::kernels::Number;

/// Bytes of a panel's first slab.
const SLAB: usize = 1 << 16;

/// The rows of a run fit 16 bits: they are fewer than so many apart.
pub(super) const SPAN: u32 = 1 << 16;

/// The least and the largest of some rows.
pub(super) fn span(rows: &[u32]) -> Option<[u32; 2]> {
    let first = *rows.first()?;
    Some(rows.iter().fold([first, first], |[least, most], &row| [least.min(row), most.max(row)]))
}

/// A number as final storage holds it; `()` where every value is 1.
pub(super) trait Stored: Copy + Default + Send + Sync {
    fn narrowed(value: f64) -> Self;
}

impl Stored for () {
    fn narrowed(_: f64) {}
}

impl Stored for u8 {
    fn narrowed(value: f64) -> Self {
        value as Self
    }
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
    U8,
    F32,
    F64,
}

impl ValueKind {
    fn of(values: &[f64]) -> Self {
        if values.iter().all(|&x| x == 1.0) {
            Self::Ones
        } else if is_bytes(values) {
            Self::U8
        } else if values.iter().all(|&x| f64::from(x as f32) == x) {
            Self::F32
        } else {
            Self::F64
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Ones => 0,
            Self::U8 => 1,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// Consecutive entries of a panel, held in one way: keys, then rows, then values, each from a multiple of eight bytes.
struct Run {
    begin: usize,
    length: usize,
    first_row: u32,
    keys: Width,
    /// Whether keys are numbers of the panel's dictionary, not ids relative to the panel.
    numbered: bool,
    values: ValueKind,
}

impl Run {
    fn rows_at(&self) -> usize {
        self.begin + (self.length * self.keys.bytes()).next_multiple_of(8)
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

    /// Calls `visit` with the key, the row and the value of every entry, in order; `key` is asked for the key of an id
    /// that does not stand under its number.
    #[inline(always)]
    fn for_each(&self, mut key: impl FnMut(u64) -> usize, mut visit: impl FnMut(usize, u32, f64)) {
        for run in &self.runs {
            match (run.keys, run.numbered) {
                (Width::Two, true) => self.walk(run, |k: u16| usize::from(k), &mut visit),
                (Width::Four, true) => self.walk(run, |k: u32| k as usize, &mut visit),
                (Width::Two, false) => self.walk(run, |id: u16| key(u64::from(id)), &mut visit),
                (Width::Four, false) => self.walk(run, |id: u32| key(u64::from(id)), &mut visit),
            }
        }
    }

    #[inline(always)]
    fn walk<K: Pod>(
        &self,
        run: &Run,
        mut key: impl FnMut(K) -> usize,
        visit: &mut impl FnMut(usize, u32, f64),
    ) {
        let keys: &[K] = self.part(run.begin, run.length);
        let rows: &[u16] = self.part(run.rows_at(), run.length);
        let entries = keys.iter().zip(rows).map(|(&k, &row)| (key(k), run.first_row + u32::from(row)));
        match run.values {
            ValueKind::Ones => entries.for_each(|(key, row)| visit(key, row, 1.0)),
            ValueKind::U8 => {
                let values: &[u8] = self.part(run.values_at(), run.length);
                entries.zip(values).for_each(|((key, row), x)| visit(key, row, x.wide()));
            }
            ValueKind::F32 => {
                let values: &[f32] = self.part(run.values_at(), run.length);
                entries.zip(values).for_each(|((key, row), x)| visit(key, row, x.wide()));
            }
            ValueKind::F64 => {
                let values: &[f64] = self.part(run.values_at(), run.length);
                entries.zip(values).for_each(|((key, row), &x)| visit(key, row, x));
            }
        }
    }

    fn write_keys(&mut self, run: &Run, keys: impl ExactSizeIterator<Item = u64>) {
        match run.keys {
            Width::Two => self.write(run.begin, keys.map(|key| key as u16)),
            Width::Four => self.write(run.begin, keys.map(|key| key as u32)),
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
    /// Numbers of ids, relative to the panel, where some take more than 32 bits.
    dictionary: Option<Dictionary>,
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
            let spans = |row: u32| row - first >= SPAN;
            let length =
                if spans(rows[rows.len() - 1]) { rows.partition_point(|&r| !spans(r)) } else { rows.len() };
            let (run_ids, run_rows, run_values);
            (run_ids, ids) = ids.split_at(length);
            (run_rows, rows) = rows.split_at(length);
            (run_values, values) = values.split_at(length);
            self.append_run(base, [first_row + first, first], run_ids, run_rows, run_values)?;
        }
        Ok(())
    }

    /// Adds entries whose rows stand as they are, in any order if they are within [`SPAN`] of each other, and else increase.
    pub(super) fn append_any(&mut self, base: u64, ids: &[u64], rows: &[u32], values: &[f64]) -> Result<()> {
        match span(rows) {
            Some([least, most]) if most - least < SPAN => {
                self.append_run(base, [least, least], ids, rows, values)
            }
            _ => self.append(base, 0, ids, rows, values),
        }
    }

    /// Adds a run whose least row is the first of all, and called the second here.
    fn append_run(
        &mut self,
        base: u64,
        [first_row, least]: [u32; 2],
        ids: &[u64],
        rows: &[u32],
        values: &[f64],
    ) -> Result<()> {
        let largest = ids.iter().fold(0, |max, &id| max.max(id)) - base;
        let kind = ValueKind::of(values);
        self.largest = self.largest.max(largest);
        self.kind = Some(self.kind().max(kind));
        self.length += ids.len();

        let numbers = self.numbers(largest, base, ids);
        let largest_key =
            self.dictionary.as_ref().filter(|_| numbers.is_some()).map_or(largest, |d| d.len() as u64);
        let (keys, numbered) = (Width::of(largest_key), numbers.is_some());
        let mut run = Run { begin: 0, length: ids.len(), first_row, keys, numbered, values: kind };
        let slab = self.slab_with(run.end())?;
        run.begin = slab.used;
        slab.used = run.end();
        match numbers {
            Some(numbers) => slab.write_keys(&run, numbers.into_iter().map(u64::from)),
            None => slab.write_keys(&run, ids.iter().map(|&id| id - base)),
        }
        slab.write(run.rows_at(), rows.iter().map(|&row| (row - least) as u16));
        match kind {
            ValueKind::Ones => {}
            ValueKind::U8 => slab.write(run.values_at(), values.iter().map(|&x| x as u8)),
            ValueKind::F32 => slab.write(run.values_at(), values.iter().map(|&x| x as f32)),
            ValueKind::F64 => slab.write(run.values_at(), values.iter().copied()),
        }
        slab.runs.push(run);
        Ok(())
    }

    /// The numbers of these ids, if they are too wide to be held themselves.
    fn numbers(&mut self, largest: u64, base: u64, ids: &[u64]) -> Option<Vec<u32>> {
        if u32::try_from(largest).is_ok() {
            return None;
        }
        let dictionary = self.dictionary.get_or_insert_default();
        Some(ids.iter().map(|&id| dictionary.number(id - base)).collect())
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
        let width = self.largest + 1;
        if self.dictionary.is_none() && width <= (2 * self.length as u64).max(1 << 16) {
            let order = (0..width).map(|id| (id as usize, base + id));
            return by_counting(self.slabs, width as usize, |id| id as usize, order, rows, values);
        }
        let mut dictionary = self.dictionary.unwrap_or_default();
        for slab in &self.slabs {
            slab.for_each(|id| dictionary.number(id) as usize, |_, _, _| ());
        }
        let order = dictionary.in_order().into_iter().map(|(number, id)| (number, base + id));
        let length = dictionary.len();
        by_counting(self.slabs, length, |id| dictionary.number(id) as usize, order, rows, values)
    }
}

/// Writes entries whose keys are below `keys`; `order` yields all keys with their ids, by increasing id.
fn by_counting<V: Stored>(
    slabs: Vec<Slab>,
    keys: usize,
    mut key: impl FnMut(u64) -> usize,
    order: impl Iterator<Item = (usize, u64)>,
    rows: &mut [u32],
    values: &mut [V],
) -> Columns {
    let mut next = vec![0usize; keys];
    for slab in &slabs {
        slab.for_each(&mut key, |key, _, _| next[key] += 1);
    }
    let mut columns = Columns { ids: Vec::new(), lengths: Vec::new() };
    let mut begin = 0;
    for (key, id) in order {
        let count = std::mem::replace(&mut next[key], begin);
        if count > 0 {
            columns.ids.push(id);
            columns.lengths.push(count as u32);
            begin += count;
        }
    }
    for slab in slabs {
        slab.for_each(&mut key, |key, row, value| {
            let slot = &mut next[key];
            rows[*slot] = row;
            values[*slot] = V::narrowed(value);
            *slot += 1;
        });
    }
    columns
}
