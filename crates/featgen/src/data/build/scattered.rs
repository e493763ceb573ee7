//! Entries that come in any order, each with its row: by rows, by columns, or mixed.

use super::panel::{SPAN, Stored, ValueKind, span};
use super::{Bounds, Builder, Compressed, Entries, PANELS, SAMPLE, sample_of};
use crate::data::sparse::{Sparse, Values};
use crate::error::Result;
use crate::parallel;

/// Entries as a parser leaves them, and the same sorted by panel. Reused, so that memory is taken once.
#[derive(Default)]
pub(crate) struct Scattered {
    ids: Vec<u64>,
    rows: Vec<u32>,
    values: Vec<f64>,
    by_panel: Entries,
}

/// An entry that is there twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Repeated {
    pub(crate) id: u64,
    pub(crate) row: u32,
}

impl Scattered {
    /// Forgets the entries, keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.ids.clear();
        self.rows.clear();
        self.values.clear();
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, id: u64, row: u32, value: f64) {
        self.ids.push(id);
        self.rows.push(row);
        self.values.push(value);
    }

    fn sort_by_panel(&mut self, bounds: &Bounds) {
        let sorted = &mut self.by_panel;
        let mut next = [0u32; PANELS];
        sorted.largest_id = 0;
        for &id in &self.ids {
            next[bounds.panel(id)] += 1;
            sorted.largest_id = sorted.largest_id.max(id);
        }
        let mut begin = 0;
        for count in &mut next {
            begin += std::mem::replace(count, begin);
        }
        sorted.ids.resize(self.ids.len(), 0);
        sorted.rows.resize(self.ids.len(), 0);
        sorted.values.resize(self.ids.len(), 0.0);
        for (k, &id) in self.ids.iter().enumerate() {
            let slot = &mut next[bounds.panel(id)];
            let to = *slot as usize;
            *slot += 1;
            sorted.ids[to] = id;
            sorted.rows[to] = self.rows[k];
            sorted.values[to] = self.values[k];
        }
        sorted.ends.clear();
        sorted.ends.extend_from_slice(&next);
        sorted.order_far_rows();
    }
}

impl Entries {
    /// Sorts the entries of panels by row where rows are too far apart for one run: they are staged as several.
    fn order_far_rows(&mut self) {
        let mut begin = 0;
        for p in 0..self.ends.len() {
            let at = begin..self.ends[p] as usize;
            begin = at.end;
            let rows = &mut self.rows[at.clone()];
            if span(rows).is_none_or(|[least, most]| most - least < SPAN) || rows.is_sorted() {
                continue;
            }
            let (ids, values) = (&mut self.ids[at.clone()], &mut self.values[at]);
            let mut entries: Vec<(u32, u64, f64)> =
                rows.iter().zip(&*ids).zip(&*values).map(|((&row, &id), &x)| (row, id, x)).collect();
            entries.sort_by_key(|entry| entry.0);
            for (k, (row, id, x)) in entries.into_iter().enumerate() {
                (rows[k], ids[k], values[k]) = (row, id, x);
            }
        }
    }
}

impl Builder {
    /// For entries in any order of so many rows.
    pub(crate) fn of_rows(rows: usize) -> Self {
        Self { rows, ..Self::new() }
    }

    /// Adds entries in any order, of ids below `dimension`, on the threads of the current pool.
    pub(crate) fn scatter(&mut self, parts: &mut [Scattered], dimension: u64) -> Result<()> {
        self.follow_new_ids();
        // Entries by columns begin with few of them: the others must not all end up in one panel.
        let bounds = self.bounds.get_or_insert_with(|| {
            let mut ids = sample_of(parts.iter().map(|part| &*part.ids));
            ids.extend(evenly(dimension, ids.len().max(SAMPLE / 8)));
            Bounds::dividing(ids)
        });
        parallel::chunks_mut(parts, 1, &|_, part| part[0].sort_by_panel(bounds));
        let panels = bounds.starts.len();
        self.panels.resize_with(panels, Default::default);
        for part in parts.iter() {
            self.entries += part.ids.len() as u64;
            self.largest_id = self.largest_id.max(part.by_panel.largest_id);
        }
        let parts = &*parts;
        self.for_each_panel(parts.len(), |panel, base, p| {
            parts.iter().try_for_each(|part| {
                let (ids, rows, values) = part.by_panel.of(p);
                panel.append_any(base, ids, rows, values)
            })
        })
    }

    /// The columns of entries in any order; fails with an entry that is there twice.
    pub(crate) fn gather(self, dimension: u64) -> Result<Sparse, Repeated> {
        let rows = self.rows;
        Ok(match self.kind() {
            ValueKind::Ones => self.columns::<()>().ordered()?.sparse(rows, dimension, |_| Values::Ones),
            ValueKind::U8 => self.columns().ordered()?.sparse(rows, dimension, Values::U8),
            ValueKind::F32 => self.columns().ordered()?.sparse(rows, dimension, Values::F32),
            ValueKind::F64 => self.columns().ordered()?.sparse(rows, dimension, Values::F64),
        })
    }
}

/// Columns that one thread puts in order one after the other.
const ORDERED: usize = 64;

/// So many ids below `dimension`, evenly.
fn evenly(dimension: u64, count: usize) -> impl Iterator<Item = u64> {
    let id = move |k: usize| (u128::from(dimension) * k as u128 / count as u128) as u64;
    (0..count).map(id)
}

impl<V: Stored> Compressed<V> {
    /// The same with rows in order within columns.
    fn ordered(mut self) -> Result<Self, Repeated> {
        let of = |pair: &[u64]| pair[0] as usize..pair[1] as usize;
        let indices = &self.indices;
        let in_order = |pair: &[u64]| indices[of(pair)].is_sorted_by(|a, b| a < b);
        if parallel::map_runs(self.ids.len(), ORDERED, |k| in_order(&self.pointers[k..k + 2]))
            .iter()
            .all(|&is| is)
        {
            return Ok(self);
        }
        let (mut indices, mut values) = (self.indices.as_mut_slice(), self.values.as_mut_slice());
        let mut columns = Vec::with_capacity(self.ids.len());
        for (pair, &id) in self.pointers.windows(2).zip(&self.ids) {
            let (rows, numbers);
            (rows, indices) = indices.split_at_mut(of(pair).len());
            (numbers, values) = values.split_at_mut(of(pair).len());
            columns.push((id, rows, numbers));
        }
        let repeated = |(id, rows, values): &mut (u64, &mut [u32], &mut [V])| {
            order_column(rows, values).map(|row| Repeated { id: *id, row })
        };
        let order = |_: usize, some: &mut [_]| some.iter_mut().find_map(repeated).map_or(Ok(()), Err);
        parallel::try_chunks_mut(&mut columns, ORDERED, &order)?;
        Ok(self)
    }
}

/// Sorts a column by row; the first row that is there twice, if any is.
pub(crate) fn order_column<V: Copy>(rows: &mut [u32], values: &mut [V]) -> Option<u32> {
    if !rows.is_sorted() {
        let mut entries: Vec<(u32, V)> = rows.iter().copied().zip(values.iter().copied()).collect();
        entries.sort_unstable_by_key(|entry| entry.0);
        for (k, (row, value)) in entries.into_iter().enumerate() {
            (rows[k], values[k]) = (row, value);
        }
    }
    rows.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}
