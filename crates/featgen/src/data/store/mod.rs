//! Data on disk, mapped into memory: columns in shards, used where they are.
//!
//! Nothing is read before it is needed but what checks need: the whole file once, when it is opened. Memory holds what the
//! index says, and whatever pages the system likes to keep.

mod convert;
mod filled;
mod format;
mod parts;
mod runs;
mod write;

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use bytemuck::Pod;
use xxhash_rust::xxh3::xxh3_64;

pub use self::convert::{Conversion, Converted, Progress, convert};
use self::format::{Index, Kind, Section, Shard, SparseSections};
pub use self::parts::StoreBuilder;
use super::mapped::Mapped;
use super::pieces::Pieces;
use super::rough::{BytesView, Copied, FactNumbers};
use super::width::Width;
use super::{
    Column, ColumnView, Columns, Dataset, Dense, GoOn, Labels, Layout, Names, Outputs, SparseView,
    ValuesView, exact_as_rough,
};
use crate::error::{Error, Result};
use crate::kernels::RowNumber;
use crate::parallel;
use crate::table::Recipe;

/// The bytes that a store begins with.
pub(crate) const MAGIC: &[u8] = format::MAGIC;

/// Why nothing can be wrong with the arrays of an open store.
const CHECKED: &str = "checked when the store was opened";

/// The ids of all columns that a store can have.
const ALL: Range<u64> = 0..u64::MAX;

/// What to say of a store that is not damaged, and still cannot be right.
fn strange() -> String {
    "a strange store: its parts do not fit together".into()
}

/// A store, open and checked.
pub struct Store {
    map: Mapped,
    index: Index,
    /// The position of each shard's first column, and one more than the last.
    starts: Vec<usize>,
    /// The id of each sparse shard's first column.
    first_ids: Vec<u64>,
    /// Whether there is a copy of dense columns in bytes, for rough sums.
    has_copy: bool,
    /// Or one that is made.
    copied: Copied,
}

/// Whether a file begins as stores do.
pub fn is_store(path: impl AsRef<Path>) -> bool {
    let mut head = [0; MAGIC.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok_and(|()| head == *MAGIC)
}

impl Store {
    /// Opens a store. All of it is read once and compared with its checksums.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_for(path, ALL)
    }

    /// Opens a store for those of its columns whose ids are in a range. Of the others nothing is read or checked, and nothing may be
    /// asked.
    pub fn open_for(path: impl AsRef<Path>, ids: Range<u64>) -> Result<Self> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let file = File::open(path).map_err(|e| Error::io(&name, e))?;
        let map = Mapped::file(&file, path, false).map_err(|e| Error::io(&name, e))?;
        Self::over(map, ids).map_err(|reason| Error::input(name.as_str(), reason))
    }

    /// A store of these bytes, for tests.
    pub(crate) fn open_bytes(bytes: &[u8]) -> Result<Self> {
        let map = Mapped::memory(bytes).map_err(|e| Error::io("test", e))?;
        Self::over(map, ALL).map_err(|reason| Error::input("test", reason))
    }

    fn over(map: Mapped, ids: Range<u64>) -> Result<Self, String> {
        if cfg!(target_endian = "big") {
            return Err("stores are read on little-endian machines only".into());
        }
        let index = format::index(&map)?;
        let mut starts = vec![0usize];
        for shard in &index.shards {
            let next = usize::try_from(shard.columns)
                .ok()
                .and_then(|columns| starts[starts.len() - 1].checked_add(columns));
            starts.push(next.ok_or("too many columns")?);
        }
        let (first_ids, copied) = (Vec::new(), Copied::default());
        let mut store = Self { map, index, starts, first_ids, has_copy: false, copied };
        let extents = store.extents().ok_or_else(strange)?;
        store.first_ids = extents.iter().map(|ids| ids[0]).collect();
        let wanted = store.shards_with(&extents, ids);
        store.check_sums(&store.index.shards[wanted.clone()])?;
        store.has_copy = store.check_copies(&wanted)?;
        store.check_shards(&extents, wanted)?;
        Ok(store)
    }

    /// The first and the last id of each sparse shard; none if columns are dense.
    fn extents(&self) -> Option<Vec<[u64; 2]>> {
        let of_shard = |shard: &Shard| {
            shard.sparse.map(|sections| {
                let ids: &[u64] = self.array(&sections.ids)?;
                (ids.len() as u64 == shard.columns).then_some(())?;
                Some([*ids.first()?, *ids.last()?])
            })
        };
        let extents: Vec<[u64; 2]> = self.index.shards.iter().filter_map(of_shard).collect::<Option<_>>()?;
        let dense = self.starts[self.starts.len() - 1] as u64 == self.index.dimension;
        (extents.len() == self.index.shards.len() || (extents.is_empty() && dense)).then_some(extents)
    }

    /// The shards that hold columns whose ids are in a range.
    fn shards_with(&self, extents: &[[u64; 2]], ids: Range<u64>) -> Range<usize> {
        let (first, end) = if extents.is_empty() {
            let ends = &self.starts[1..];
            let first = ends.partition_point(|&end| end as u64 <= ids.start);
            (first, self.starts[..ends.len()].partition_point(|&start| (start as u64) < ids.end))
        } else {
            let first = extents.partition_point(|own| own[1] < ids.start);
            (first, extents.partition_point(|own| own[0] < ids.end))
        };
        first..end.max(first)
    }

    /// Compares the arrays of these shards, and all that are not of columns, with their checksums.
    fn check_sums(&self, shards: &[Shard]) -> Result<(), String> {
        let others = self.index.others();
        self.check_sections(shards.iter().flat_map(Shard::sections).chain(others).collect())?;
        // What is read last is most likely to stay in memory: the bytes that every search looks at.
        self.check_sections(shards.iter().flat_map(Shard::copied).collect())
    }

    fn check_sections(&self, sections: Vec<Section>) -> Result<(), String> {
        let right = |section: &Section| {
            let extent = section.extent().expect("known to lie in the file");
            xxh3_64(&self.map[extent.start as usize..extent.end as usize]) == section.checksum
        };
        let damaged = || "the store is damaged: a part of it does not have the checksum it should".into();
        let check = |k: usize| if right(&sections[k]) { Ok(()) } else { Err(damaged()) };
        parallel::reduce(sections.len(), check, |(), ()| ()).map(|_| ())
    }

    /// Makes sure that these shards are what they must be: who wrote them may have been mistaken.
    fn check_shards(&self, extents: &[[u64; 2]], wanted: Range<usize>) -> Result<(), String> {
        let all = wanted.len() == self.index.shards.len();
        let shards = &self.index.shards[wanted];
        let count = |k: usize| self.checked(&shards[k]).map(|columns| columns.nonzeros()).ok_or_else(strange);
        let values = parallel::reduce(shards.len(), count, |a, b| a + b)?.unwrap_or(0);
        let fits =
            extents.windows(2).all(|pair| pair[0][1] < pair[1][0]) && (!all || values == self.index.nonzeros);
        if fits { Ok(()) } else { Err(strange()) }
    }

    /// Whether these shards have copies in bytes; an error if such a copy cannot be one.
    fn check_copies(&self, wanted: &Range<usize>) -> Result<bool, String> {
        let copied = |s: usize| self.index.shards[s].copy.is_some();
        if !wanted.clone().any(copied) {
            return Ok(false);
        }
        let right =
            self.is_dense() && wanted.clone().all(|s| self.copy_of(s).is_some_and(|copy| copy.may_be()));
        if right { Ok(true) } else { Err(strange()) }
    }

    /// The copy of a shard's columns, unless there is none, or its arrays do not fit together.
    fn copy_of(&self, s: usize) -> Option<BytesView<'_>> {
        let shard = &self.index.shards[s];
        let sections = shard.copy?;
        let facts: &[FactNumbers] = self.array(&sections.facts)?;
        (facts.len() as u64 == shard.columns).then_some(())?;
        BytesView::new(usize::try_from(self.index.rows).ok()?, self.array(&sections.bytes)?, facts)
    }

    /// The positions of columns whose ids are in a range.
    pub fn positions(&self, ids: Range<u64>) -> Range<usize> {
        let first = self.below(ids.start);
        first..self.below(ids.end).max(first)
    }

    /// How many columns have a smaller id.
    fn below(&self, id: u64) -> usize {
        if self.is_dense() {
            return usize::try_from(id).map_or(self.len(), |id| id.min(self.len()));
        }
        let Some(s) = self.first_ids.partition_point(|&first| first < id).checked_sub(1) else { return 0 };
        let ids: &[u64] = self.index.shards[s].sparse.and_then(|own| self.array(&own.ids)).expect(CHECKED);
        self.starts[s] + ids.partition_point(|&other| other < id)
    }

    /// The shard's columns, unless its arrays do not fit together.
    fn checked(&self, shard: &Shard) -> Option<Box<dyn Columns + '_>> {
        let rows = usize::try_from(self.index.rows).ok()?;
        let columns = usize::try_from(shard.columns).ok()?;
        match shard.sparse {
            Some(sections) => match self.index.row_bytes {
                Width::Two => Some(Box::new(self.checked_sparse::<u16>(shard, &sections)?)),
                Width::Four => Some(Box::new(self.checked_sparse::<u32>(shard, &sections)?)),
            },
            None => match self.values(shard)? {
                ValuesView::Ones => None,
                ValuesView::U8(x) => Some(Box::new(Dense::new(x, rows, columns, Layout::ColumnMajor).ok()?)),
                ValuesView::F32(x) => Some(Box::new(Dense::new(x, rows, columns, Layout::ColumnMajor).ok()?)),
                ValuesView::F64(x) => Some(Box::new(Dense::new(x, rows, columns, Layout::ColumnMajor).ok()?)),
            },
        }
    }

    /// A sparse shard's columns, likewise, looked at through row numbers as wide as they are.
    fn checked_sparse<R: RowNumber + Pod>(
        &self,
        shard: &Shard,
        sections: &SparseSections,
    ) -> Option<SparseView<'_, R>> {
        let (rows, dimension) = (usize::try_from(self.index.rows).ok()?, self.index.dimension);
        let (ids, pointers, indices) = self.sparse_arrays(sections)?;
        (ids.len() as u64 == shard.columns && !ids.is_empty()).then_some(())?;
        SparseView::new(rows, dimension, Some(ids), pointers, indices, self.values(shard)?).ok()
    }

    /// The same, known to be right.
    fn sparse<R: RowNumber + Pod>(&self, shard: &Shard, sections: &SparseSections) -> SparseView<'_, R> {
        let (rows, dimension) = (self.index.rows as usize, self.index.dimension);
        let (ids, pointers, indices) = self.sparse_arrays(sections).expect(CHECKED);
        let values = self.values(shard).expect(CHECKED);
        SparseView::trusted(rows, dimension, Some(ids), pointers, indices, values)
    }

    fn sparse_arrays<R: Pod>(&self, sections: &SparseSections) -> Option<(&[u64], &[u64], &[R])> {
        Some((self.array(&sections.ids)?, self.array(&sections.pointers)?, self.array(&sections.rows)?))
    }

    fn values(&self, shard: &Shard) -> Option<ValuesView<'_>> {
        Some(match self.index.values {
            Kind::Ones => ValuesView::Ones,
            Kind::U8 => ValuesView::U8(self.array(&shard.values)?),
            Kind::F32 => ValuesView::F32(self.array(&shard.values)?),
            Kind::F64 => ValuesView::F64(self.array(&shard.values)?),
        })
    }

    fn array<T: Pod>(&self, section: &Section) -> Option<&[T]> {
        let bytes = &self.map[section.offset as usize..][..section.length as usize];
        bytemuck::try_cast_slice(bytes).ok()
    }

    /// Calls `f` with the columns of shard `s`.
    fn with<R>(&self, s: usize, f: impl FnOnce(&dyn Columns) -> R) -> R {
        let shard = &self.index.shards[s];
        match shard.sparse {
            Some(sections) => match self.index.row_bytes {
                Width::Two => f(&self.sparse::<u16>(shard, &sections)),
                Width::Four => f(&self.sparse::<u32>(shard, &sections)),
            },
            None => {
                let (rows, columns) = (self.index.rows as usize, shard.columns as usize);
                match self.values(shard).expect(CHECKED) {
                    ValuesView::F64(x) => {
                        f(&Dense::new(x, rows, columns, Layout::ColumnMajor).expect(CHECKED))
                    }
                    ValuesView::U8(x) => {
                        f(&Dense::new(x, rows, columns, Layout::ColumnMajor).expect(CHECKED))
                    }
                    ValuesView::F32(x) => {
                        f(&Dense::new(x, rows, columns, Layout::ColumnMajor).expect(CHECKED))
                    }
                    ValuesView::Ones => unreachable!("{CHECKED}"),
                }
            }
        }
    }

    /// The shard that holds a position.
    fn shard_of(&self, position: usize) -> usize {
        self.starts.partition_point(|&start| start <= position) - 1
    }

    /// Calls `f` with each shard that holds some of `range`, and the range of positions there.
    fn for_each_part(&self, range: Range<usize>, mut f: impl FnMut(&dyn Columns, Range<usize>)) {
        self.for_each_shard(range, |s, part| self.with(s, |columns| f(columns, part)));
    }

    /// The same with its number.
    fn for_each_shard(&self, range: Range<usize>, mut f: impl FnMut(usize, Range<usize>)) {
        let mut at = range.start;
        while at < range.end {
            let s = self.shard_of(at);
            let (start, end) = (self.starts[s], self.starts[s + 1].min(range.end));
            f(s, at - start..end - start);
            at = end;
        }
    }

    /// Calls `f` with the shard of a position, and the position there.
    fn at<R>(&self, position: usize, f: impl FnOnce(&dyn Columns, usize) -> R) -> R {
        let s = self.shard_of(position);
        self.with(s, |columns| f(columns, position - self.starts[s]))
    }

    /// Labels, with weights where there are some.
    fn labels(&self) -> Option<Labels> {
        let rows = usize::try_from(self.index.rows).ok()?;
        let labels = match (&self.index.labels, &self.index.numbers) {
            (Some(section), None) => self.classes(section, rows)?,
            (None, Some(section)) => {
                let numbers: &[f64] = self.array(section)?;
                (numbers.len() == rows && numbers.iter().all(|x| x.is_finite())).then_some(())?;
                Labels::from_numbers(numbers.to_vec())
            }
            (None, None) => return Some(Labels::default()),
            (Some(_), Some(_)) => return None,
        };
        match &self.index.weights {
            Some(section) => labels.with_weights(self.array(section)?.to_vec()).ok(),
            None => Some(labels),
        }
    }

    /// Labels that are classes.
    fn classes(&self, section: &Section, rows: usize) -> Option<Labels> {
        let codes: &[u32] = self.array(section)?;
        let classes: HashSet<&String> = self.index.classes.iter().collect();
        (classes.len() == self.index.classes.len()).then_some(())?;
        let known = codes.iter().all(|&code| (code as usize) < self.index.classes.len());
        (codes.len() == rows && known).then_some(())?;
        Some(Labels::from_classes(self.index.classes.clone(), codes.to_vec()))
    }

    fn names(&self) -> Option<Names> {
        let Some(section) = &self.index.names else { return Some(Names::default()) };
        let list: Vec<String> = serde_json::from_slice(self.array(section)?).ok()?;
        (list.len() as u64 == self.index.dimension).then_some(())?;
        Some(if self.index.by_name { Names::identifying(list) } else { Names::shown(list) })
    }

    /// How the columns of a table became features, if it was one.
    pub fn recipe(&self) -> Result<Option<Recipe>, String> {
        let Some(section) = &self.index.recipe else { return Ok(None) };
        let strange = || "a strange store: its recipe does not fit the data".to_owned();
        let recipe: Recipe =
            serde_json::from_slice(self.array(section).ok_or_else(strange)?).map_err(|_| strange())?;
        recipe.check()?;
        let fits = self.names().is_some_and(|names| names.identify() && names.list() == recipe.names());
        if fits { Ok(Some(recipe)) } else { Err(strange()) }
    }

    /// What the instances' classes are and what features are called; `source` is for messages.
    pub fn labels_and_names(&self, source: &str) -> Result<(Labels, Names)> {
        let strange = || Error::input(source, "a strange store: labels or names do not fit the data");
        Ok((self.labels().ok_or_else(strange)?, self.names().ok_or_else(strange)?))
    }

    /// The store with its labels and names.
    pub fn into_dataset(self, source: &str) -> Result<Dataset> {
        let (labels, names) = self.labels_and_names(source)?;
        let recipe = self.recipe().map_err(|reason| Error::input(source, reason))?;
        let names = recipe.iter().fold(names, Names::of_columns);
        Ok(Dataset { recipe, ..Dataset::new(Box::new(self), labels, names, source) })
    }

    /// How many shards there are.
    pub fn shards(&self) -> usize {
        self.index.shards.len()
    }

    /// How values are kept.
    pub fn kept_as(&self) -> &'static str {
        match self.index.values {
            Kind::Ones => "1 (not kept)",
            Kind::U8 => "whole numbers from 0 to 255",
            Kind::F32 => "32-bit floats",
            Kind::F64 => "64-bit floats",
        }
    }

    /// Whether dense columns are there in one byte a value as well.
    pub fn has_copy(&self) -> bool {
        self.has_copy
    }

    /// How many bytes each row number takes; dense columns have none.
    pub fn row_bytes(&self) -> Option<usize> {
        (!self.is_dense()).then_some(self.index.row_bytes.bytes())
    }

    /// Whether columns hold a value for every row.
    pub fn is_dense(&self) -> bool {
        self.first_ids.is_empty()
    }
}

impl Columns for Store {
    fn rows(&self) -> usize {
        self.index.rows as usize
    }

    fn len(&self) -> usize {
        self.starts[self.starts.len() - 1]
    }

    fn dimension(&self) -> u64 {
        self.index.dimension
    }

    fn nonzeros(&self) -> u64 {
        self.index.nonzeros
    }

    fn id(&self, position: usize) -> u64 {
        if self.is_dense() { position as u64 } else { self.at(position, |columns, k| columns.id(k)) }
    }

    fn position(&self, id: u64) -> Option<usize> {
        if self.is_dense() {
            return usize::try_from(id).ok().filter(|_| id < self.index.dimension);
        }
        let s = self.first_ids.partition_point(|&first| first <= id).checked_sub(1)?;
        self.with(s, |columns| columns.position(id)).map(|k| self.starts[s] + k)
    }

    fn batch(&self) -> usize {
        if self.index.shards.is_empty() { 1 } else { self.with(0, |columns| columns.batch()) }
    }

    fn dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        let mut pieces = Pieces::new(out, range.len());
        self.for_each_part(range, |columns, part| pieces.next(part, |part, out| columns.dots(part, v, out)));
    }

    fn dots_with(&self, range: Range<usize>, v: &Outputs<'_>, out: &mut [f64]) {
        let mut pieces = Pieces::new(out, range.len());
        self.for_each_part(range, |columns, part| {
            pieces.next(part, |part, out| columns.dots_with(part, v, out))
        });
    }

    fn square_dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        let mut pieces = Pieces::new(out, range.len());
        self.for_each_part(range, |columns, part| {
            pieces.next(part, |part, out| columns.square_dots(part, v, out))
        });
    }

    fn gain_dots(&self, range: Range<usize>, both: &Outputs<'_>, out: &mut [f64]) {
        let mut pieces = Pieces::new(out, range.len());
        self.for_each_part(range, |columns, part| {
            pieces.next(part, |part, out| columns.gain_dots(part, both, out))
        });
    }

    fn has_rough(&self, room: u64) -> bool {
        self.has_copy || (self.is_dense() && self.copied.is_there(self, room))
    }

    fn rough_bytes(&self) -> u64 {
        if self.is_dense() && !self.has_copy { Copied::most_bytes(self) } else { 0 }
    }

    fn rough_dots(&self, range: Range<usize>, v: &Outputs<'_>, out: &mut [f64]) {
        if self.has_copy {
            let mut pieces = Pieces::new(out, range.len());
            self.for_each_shard(range, |s, part| {
                let copy = self.copy_of(s).expect(CHECKED);
                pieces.next(part, |part, out| copy.rough_dots(part, v, out));
            });
        } else if !self.copied.dots(self, range.clone(), v, out) {
            exact_as_rough(out, |sums| self.dots_with(range, v, sums));
        }
    }

    fn gather(&self, positions: &[usize]) -> Vec<Column> {
        let one = |&position: &usize| self.at(position, |columns, k| columns.gather(&[k]).remove(0));
        positions.iter().map(one).collect()
    }

    fn visit(&self, range: Range<usize>, each: &mut dyn FnMut(usize, ColumnView<'_>)) {
        let mut first = range.start;
        self.for_each_part(range, |columns, part| {
            let (before, count) = (part.start, part.len());
            columns.visit(part, &mut |k, column| each(first + k - before, column));
            first += count;
        });
    }

    fn filled(&self, position: usize) -> usize {
        self.at(position, |columns, k| columns.filled(k))
    }

    fn will_read(&self, range: Range<usize>) {
        if !self.is_dense() {
            return;
        }
        let column = self.index.rows * self.index.values.size();
        self.for_each_shard(range, |s, part| {
            let start = self.index.shards[s].values.offset;
            self.map.will_read(start + part.start as u64 * column..start + part.end as u64 * column);
        });
    }

    fn let_go(&self) {
        self.map.let_go();
    }

    fn value_bytes(&self) -> u64 {
        self.index.values.size()
    }

    fn all_ones(&self) -> bool {
        self.index.values == Kind::Ones
    }

    fn largest(&self, go_on: GoOn<'_>) -> Result<f64> {
        let shard = |s: usize| match self.copy_of(s) {
            // Known without a look at the values.
            Some(copy) => Ok(copy.largest()),
            None => self.with(s, |columns| columns.largest(go_on)),
        };
        (0..self.shards()).map(shard).try_fold(0.0, |a, b| Ok(f64::max(a, b?)))
    }
}
