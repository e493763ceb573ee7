//! Runs: parts of the rows, by columns, put aside in a file without a name that is gone when the program is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::convert::{ColumnSource, Step, bytes_of, kind_of, kind_of_columns};
use super::format::Kind;
use super::write::{Array, read_at};
use crate::data::build::{Repeated, order_column};
use crate::data::read::{Part, Repeats};
use crate::data::{Column, Columns, SparseView, ValuesView};
use crate::error::{Error, Result};
use crate::files::folder_of;

/// Bytes of a column's id and number of values.
const HEAD: u64 = 16;

/// Bytes of a row number.
const ROW: u64 = 4;

/// Bytes that are read of a run in one go: at least, and at most.
const READ: [u64; 2] = [1 << 16, 1 << 20];

/// Columns of a dense part that are taken together.
const TOGETHER: usize = 64;

/// A part of the rows: for each of its columns id and length, all row numbers, all values.
#[derive(Debug, Clone, Copy)]
struct Run {
    kind: Kind,
    sparse: bool,
    heads: u64,
    rows: u64,
    values: u64,
    /// Columns that it has.
    columns: u64,
    entries: u64,
}

/// Runs in the order of their rows.
pub(super) struct Runs {
    folder: PathBuf,
    file: File,
    /// Where the next run goes.
    end: u64,
    runs: Vec<Run>,
    /// Runs that were put aside in the first place.
    aside: usize,
    /// Bytes read of each stream of each run in one go.
    read: u64,
    /// There if runs are not of some rows each, but of some entries of all: who says where one is that is there twice.
    repeats: Option<Repeats>,
}

impl Runs {
    /// None yet, in a file beside `path`; with `repeats`, of scattered entries.
    pub(super) fn beside(path: &Path, repeats: Option<Repeats>) -> Result<Self> {
        Self::inside(folder_of(path), repeats)
    }

    fn inside(folder: PathBuf, repeats: Option<Repeats>) -> Result<Self> {
        let file = tempfile::tempfile_in(&folder).map_err(|e| Error::io(folder.display(), e))?;
        Ok(Self { folder, file, end: 0, runs: Vec::new(), aside: 0, read: READ[1], repeats })
    }

    fn error(&self, error: io::Error) -> Error {
        Error::io(format_args!("a temporary file in {}", self.folder.display()), error)
    }

    /// Puts a part aside whose first row is `first` of all.
    pub(super) fn put_aside(&mut self, part: Part, first: u64) -> Result<()> {
        match part {
            Part::Sparse(sparse) | Part::Scattered(sparse) => self.put_sparse_aside(sparse.view(), first),
            Part::Dense(columns) => self.put_dense_aside(&*columns),
        }
    }

    /// The same of a sparse one.
    pub(super) fn put_sparse_aside(&mut self, part: SparseView<'_>, first: u64) -> Result<()> {
        self.aside += 1;
        self.put_sparse(part, first as u32).map_err(|e| self.error(e))
    }

    /// The same of a dense one, which follows those before.
    pub(super) fn put_dense_aside(&mut self, part: &dyn Columns) -> Result<()> {
        self.aside += 1;
        self.put_dense(part).map_err(|e| self.error(e))
    }

    /// The arrays of a run of that many columns and values, and where they are.
    fn begin(
        &mut self,
        kind: Kind,
        sparse: bool,
        columns: u64,
        entries: u64,
    ) -> io::Result<(Run, [Array; 3])> {
        let [heads, rows] = [self.end, self.end + HEAD * columns];
        let values = rows + if sparse { ROW * entries } else { 0 };
        let run = Run { kind, sparse, heads, rows, values, columns, entries };
        self.end = values + kind.size() * entries;
        let array = |from, to| io::Result::Ok(Array::new(self.file.try_clone()?, from, to - from));
        Ok((run, [array(heads, rows)?, array(rows, values)?, array(values, self.end)?]))
    }

    fn put_sparse(&mut self, view: SparseView<'_>, first: u32) -> io::Result<()> {
        let kind = kind_of(view.values());
        let (run, [mut heads, mut rows, mut values]) =
            self.begin(kind, true, view.len() as u64, view.nonzeros())?;
        for k in 0..view.len() {
            heads.push(&view.id(k).to_le_bytes())?;
            heads.push(&(view.range(k).len() as u64).to_le_bytes())?;
        }
        for some in view.indices().chunks(1 << 16) {
            let moved: Vec<u32> = some.iter().map(|row| row + first).collect();
            rows.push(bytemuck::cast_slice(&moved))?;
        }
        match view.values() {
            ValuesView::Ones => {}
            ValuesView::U8(x) => values.push(x)?,
            ValuesView::F32(x) => values.push(bytemuck::cast_slice(x))?,
            ValuesView::F64(x) => values.push(bytemuck::cast_slice(x))?,
        }
        [heads, rows, values].into_iter().try_for_each(Array::finish)?;
        self.runs.push(run);
        Ok(())
    }

    fn put_dense(&mut self, columns: &dyn Columns) -> io::Result<()> {
        let (held, length) = (columns.len(), columns.rows() as u64);
        let groups = || (0..held).step_by(TOGETHER).map(|first| first..held.min(first + TOGETHER));
        let gather = |group: std::ops::Range<usize>| columns.gather(&group.collect::<Vec<_>>());
        let values_of = |column: Column| match column {
            Column::Dense(values) => Ok(values),
            Column::Sparse { .. } => Err(io::Error::other("dense data with a sparse column")),
        };
        let kind = kind_of_columns(groups().flat_map(gather), Kind::U8, columns.value_bytes());
        let (run, [mut heads, rows, mut values]) =
            self.begin(kind, false, held as u64, held as u64 * length)?;
        for (id, column) in (0u64..).zip(groups().flat_map(gather)) {
            heads.push(&id.to_le_bytes())?;
            heads.push(&length.to_le_bytes())?;
            values.push(&bytes_of(&values_of(column)?, kind))?;
        }
        [heads, rows, values].into_iter().try_for_each(Array::finish)?;
        self.runs.push(run);
        Ok(())
    }

    /// The same in so few runs that all can be read at once within `memory`.
    pub(super) fn few_enough(mut self, memory: u64) -> Result<Self> {
        let most = (memory / 2 / (3 * READ[0])).clamp(2, 1 << 10) as usize;
        while self.runs.len() > most {
            let mut larger = Self::inside(self.folder.clone(), self.repeats.take())?;
            for group in self.runs.chunks(most) {
                larger.put_merged(&self.file, group).map_err(|e| self.error(e))?;
            }
            larger.aside = self.aside;
            self = larger;
        }
        self.read = (memory / 2 / (3 * self.runs.len().max(1) as u64)).clamp(READ[0], READ[1]);
        Ok(self)
    }

    /// Merges runs of another file into one.
    fn put_merged(&mut self, file: &File, runs: &[Run]) -> io::Result<()> {
        let mut columns = 0;
        for_each_column(file, runs, READ[0], |_, _, _| {
            columns += 1;
            Ok(())
        })?;
        let (kind, sparse) = common(runs);
        let entries = runs.iter().map(|run| run.entries).sum();
        let (run, [mut heads, mut rows, mut values]) = self.begin(kind, sparse, columns, entries)?;
        let mut streams = Streams::new(file, runs, READ[0]);
        for_each_column(file, runs, READ[0], |id, length, parts| {
            heads.push(&id.to_le_bytes())?;
            heads.push(&length.to_le_bytes())?;
            streams.entries(parts, kind, |r, v| {
                rows.push(r)?;
                values.push(v)
            })
        })?;
        [heads, rows, values].into_iter().try_for_each(Array::finish)?;
        self.runs.push(run);
        Ok(())
    }
}

impl ColumnSource for Runs {
    fn is_sparse(&self) -> bool {
        common(&self.runs).1
    }

    fn kind(&mut self) -> Result<Kind> {
        Ok(common(&self.runs).0)
    }

    fn lengths(&mut self, each: &mut dyn FnMut(u64, u64)) -> Result<()> {
        let heads = for_each_column(&self.file, &self.runs, self.read, |id, length, _| {
            each(id, length);
            Ok(())
        });
        heads.map_err(|e| self.error(e))
    }

    fn columns(&mut self, kind: Kind, each: &mut dyn FnMut(Step<'_>) -> Result<()>) -> Result<()> {
        let mut streams = Streams::new(&self.file, &self.runs, self.read);
        let mut whole = WholeColumn::default();
        // A failure to write is not one to read: it travels in its own way, and so does an entry that is there twice.
        let mut failure = None;
        let merged = for_each_column(&self.file, &self.runs, self.read, |id, length, parts| {
            let mut kept = |done: Result<()>| {
                done.map_err(|e| {
                    failure = Some(e);
                    io::Error::other("not written")
                })
            };
            kept(each(Step::Column(id, length)))?;
            let Some(repeats) = &self.repeats else {
                return streams.entries(parts, kind, |rows, values| kept(each(Step::Entries(rows, values))));
            };
            whole.clear();
            streams.entries(parts, kind, |rows, values| whole.add(rows, values))?;
            match whole.order(kind) {
                None => kept(each(Step::Entries(bytemuck::cast_slice(&whole.rows), &whole.values))),
                Some(row) => kept(Err(repeats.error(Repeated { id, row }))),
            }
        });
        match failure {
            Some(failure) => Err(failure),
            None => merged.map_err(|e| self.error(e)),
        }
    }

    fn runs(&self) -> usize {
        self.aside
    }
}

/// All of a column whose entries come in no order.
#[derive(Default)]
struct WholeColumn {
    rows: Vec<u32>,
    /// Bytes of the values.
    values: Vec<u8>,
}

impl WholeColumn {
    fn clear(&mut self) {
        self.rows.clear();
        self.values.clear();
    }

    fn add(&mut self, rows: &[u8], values: &[u8]) -> io::Result<()> {
        let row = |bytes: &[u8]| u32::from_ne_bytes(bytes.try_into().expect("four bytes"));
        self.rows.extend(rows.chunks_exact(ROW as usize).map(row));
        self.values.extend_from_slice(values);
        Ok(())
    }

    /// Sorts the entries, with values as `kind`, by row; returns one that is there twice.
    fn order(&mut self, kind: Kind) -> Option<u32> {
        let Self { rows, values } = self;
        match kind {
            Kind::Ones => {
                let ones = &mut vec![(); rows.len()];
                order_column(rows, ones)
            }
            Kind::U8 => order_column(rows, values),
            Kind::F32 => order_column(rows, bytemuck::cast_slice_mut::<u8, [u8; 4]>(values)),
            Kind::F64 => order_column(rows, bytemuck::cast_slice_mut::<u8, [u8; 8]>(values)),
        }
    }
}

/// What values of all runs can be kept as, and whether their columns are sparse.
fn common(runs: &[Run]) -> (Kind, bool) {
    let kind = runs.iter().map(|run| run.kind).max().unwrap_or(Kind::Ones);
    (kind, runs.iter().any(|run| run.sparse))
}

/// Walks over the heads of all runs: calls `each` with every id in order, the number of values in all, and in which runs
/// how many of them are.
fn for_each_column(
    file: &File,
    runs: &[Run],
    read: u64,
    mut each: impl FnMut(u64, u64, &[(usize, u64)]) -> io::Result<()>,
) -> io::Result<()> {
    let mut heads: Vec<Stream<'_>> =
        runs.iter().map(|run| Stream::new(file, run.heads, HEAD * run.columns, read)).collect();
    let mut next = BinaryHeap::new();
    let mut advance = |r: usize, next: &mut BinaryHeap<_>| -> io::Result<()> {
        if heads[r].left() > 0 {
            let bytes = heads[r].take(HEAD as usize)?;
            let number = |k: usize| u64::from_le_bytes(bytes[8 * k..][..8].try_into().expect("eight bytes"));
            next.push(Reverse((number(0), r, number(1))));
        }
        Ok(())
    };
    (0..runs.len()).try_for_each(|r| advance(r, &mut next))?;
    let mut parts = Vec::new();
    while let Some(&Reverse((id, ..))) = next.peek() {
        parts.clear();
        while let Some(&Reverse((same, r, length))) = next.peek().filter(|head| head.0.0 == id) {
            debug_assert_eq!(same, id);
            next.pop();
            parts.push((r, length));
            advance(r, &mut next)?;
        }
        each(id, parts.iter().map(|part| part.1).sum(), &parts)?;
    }
    Ok(())
}

/// The row numbers and values of all runs, each read from front to back.
struct Streams<'a> {
    runs: &'a [Run],
    rows: Vec<Stream<'a>>,
    values: Vec<Stream<'a>>,
}

impl<'a> Streams<'a> {
    fn new(file: &'a File, runs: &'a [Run], read: u64) -> Self {
        let rows = |run: &Run| Stream::new(file, run.rows, run.values - run.rows, read);
        let values = |run: &Run| Stream::new(file, run.values, run.kind.size() * run.entries, read);
        Self { runs, rows: runs.iter().map(rows).collect(), values: runs.iter().map(values).collect() }
    }

    /// The next entries of some runs, with values as `kind`, a few at a time.
    fn entries(
        &mut self,
        parts: &[(usize, u64)],
        kind: Kind,
        mut each: impl FnMut(&[u8], &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        const FEW: u64 = 1 << 12;
        for &(r, length) in parts {
            let run = self.runs[r];
            let mut left = length;
            while left > 0 {
                let few = left.min(FEW);
                let rows = if run.sparse { self.rows[r].take((ROW * few) as usize)? } else { &[] };
                let values = self.values[r].take((run.kind.size() * few) as usize)?;
                match widened(values, run.kind, kind, few as usize) {
                    Some(wide) => each(rows, &wide)?,
                    None => each(rows, values)?,
                }
                left -= few;
            }
        }
        Ok(())
    }
}

/// Values kept as one kind as another, wider one; `None` if they are that already.
fn widened(bytes: &[u8], from: Kind, to: Kind, count: usize) -> Option<Vec<u8>> {
    if from == to {
        return None;
    }
    let floats: Vec<f64> = match from {
        Kind::Ones => vec![1.0; count],
        Kind::U8 => bytes.iter().map(|&x| f64::from(x)).collect(),
        _ => {
            let four = bytes.chunks_exact(4);
            four.map(|b| f64::from(f32::from_le_bytes(b.try_into().expect("four bytes")))).collect()
        }
    };
    Some(bytes_of(&floats, to))
}

/// A part of a file, read in large pieces.
struct Stream<'a> {
    file: &'a File,
    /// What has not been read yet.
    at: u64,
    end: u64,
    piece: u64,
    buffer: Vec<u8>,
    taken: usize,
}

impl<'a> Stream<'a> {
    fn new(file: &'a File, at: u64, length: u64, piece: u64) -> Self {
        Self { file, at, end: at + length, piece, buffer: Vec::new(), taken: 0 }
    }

    /// Bytes that were not taken yet.
    fn left(&self) -> u64 {
        self.end - self.at + (self.buffer.len() - self.taken) as u64
    }

    /// The next bytes; as many must be left.
    fn take(&mut self, count: usize) -> io::Result<&[u8]> {
        if self.buffer.len() - self.taken < count {
            self.buffer.drain(..self.taken);
            self.taken = 0;
            let (kept, wanted) = (self.buffer.len(), self.piece.max(count as u64));
            let more = wanted.min(self.end - self.at) as usize;
            self.buffer.resize(kept + more, 0);
            read_at(self.file, &mut self.buffer[kept..], self.at)?;
            self.at += more as u64;
        }
        self.taken += count;
        self.buffer.get(self.taken - count..self.taken).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}
