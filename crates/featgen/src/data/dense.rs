//! Dense storage: a matrix of f32, f64 or u8 in either order, wherever its bytes are. Never copied to be transposed.

use std::ops::Range;

use super::moments::Neighbours;
use super::rough::Copied;
use super::{
    Column, ColumnView, Columns, GoOn, Moments, Outputs, RowBlocks, Values, ValuesView, VisitAhead,
    exact_as_rough, gain_dots_apart, sparse,
};
use crate::error::{Error, Result};
use crate::kernels::{self, Number, Sums};
use crate::parallel;

/// A number that dense storage can hold: `f32`, `f64` or `u8`.
pub trait Value: Number + bytemuck::Pod {
    /// Nothing.
    const ZERO: Self;

    /// Many of them, whichever type they have.
    fn many(values: &[Self]) -> ValuesView<'_>;
}

impl Value for f32 {
    const ZERO: Self = 0.0;

    fn many(values: &[Self]) -> ValuesView<'_> {
        ValuesView::F32(values)
    }
}

impl Value for f64 {
    const ZERO: Self = 0.0;

    fn many(values: &[Self]) -> ValuesView<'_> {
        ValuesView::F64(values)
    }
}

impl Value for u8 {
    const ZERO: Self = 0;

    fn many(values: &[Self]) -> ValuesView<'_> {
        ValuesView::U8(values)
    }
}

/// In which order the values of a matrix follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// A column's values are neighbours (Fortran order).
    ColumnMajor,
    /// A row's values are neighbours (C order).
    RowMajor,
}

/// A dense matrix over any buffer: `Vec<T>`, `&[T]`, or a memory map; all its rows, or some that follow each other.
pub struct Dense<T, S> {
    buffer: S,
    rows: Range<usize>,
    /// Rows in the buffer.
    height: usize,
    columns: usize,
    layout: Layout,
    copied: Copied,
    element: std::marker::PhantomData<T>,
}

/// A matrix of such numbers over values that belong to somebody else. Unlike [`Dense::new`], it has what is done with it
/// compiled in this crate, and optimised as this crate is.
pub fn dense_over<'a>(
    values: ValuesView<'a>,
    rows: usize,
    columns: usize,
    layout: Layout,
) -> Result<Box<dyn Columns + 'a>> {
    Ok(match values {
        ValuesView::U8(x) => Box::new(Dense::new(x, rows, columns, layout)?),
        ValuesView::F32(x) => Box::new(Dense::new(x, rows, columns, layout)?),
        ValuesView::F64(x) => Box::new(Dense::new(x, rows, columns, layout)?),
        ValuesView::Ones => return Err(no_values()),
    })
}

/// The same of its own values.
pub fn dense_of(values: Values, rows: usize, columns: usize, layout: Layout) -> Result<Box<dyn Columns>> {
    Ok(match values {
        Values::U8(x) => Box::new(Dense::new(x, rows, columns, layout)?),
        Values::F32(x) => Box::new(Dense::new(x, rows, columns, layout)?),
        Values::F64(x) => Box::new(Dense::new(x, rows, columns, layout)?),
        Values::Ones => return Err(no_values()),
    })
}

fn no_values() -> Error {
    Error::Data("a matrix that is not sparse needs values".into())
}

/// What one thread reads in one go, in bytes: large enough to stream, small enough to balance the load.
const BATCH_BYTES: usize = 1 << 19;

/// Data by rows are shared out in about this many bytes.
const TASK_BYTES: usize = 1 << 27;

/// Data by rows of more bytes are taken for larger than memory, and read by blocks of about so many.
pub(crate) const LARGE: u64 = 1 << 30;
const BLOCK_BYTES: usize = 1 << 25;

/// Bytes of which one brings in the others; and how many more the system then reads around them.
const PAGE: usize = 1 << 12;
const READ_AROUND: usize = 1 << 17;

/// Neighbouring columns of data by rows that are taken out for several sums: with more of them, cache lines are read for the whole.
const FEW_COLUMNS: usize = 2;

/// Rows from which the wanted columns are taken together.
const GATHERED_ROWS: usize = 256;

/// Neighbouring columns that are taken out of data by rows together, at most, and about how many bytes.
const NEIGHBOURS: usize = 64;
const NEIGHBOURS_BYTES: usize = 1 << 24;

/// Rows and columns of a tile of data by columns, which are read once for all outputs: it stays in a near cache. Rows are whole
/// lanes, see [`kernels::add_dot`].
const TILE_ROWS: usize = 1 << 9;
const TILE_COLUMNS: usize = 1 << 5;

/// The same of data by rows.
const TILE_HEIGHT: usize = 1 << 6;
const TILE_WIDTH: usize = 1 << 9;

impl<T: Value, S: AsRef<[T]> + Send + Sync> Dense<T, S> {
    /// A matrix of `rows` by `columns` laid over `buffer`.
    pub fn new(buffer: S, rows: usize, columns: usize, layout: Layout) -> Result<Self> {
        Self::part(buffer, rows, columns, layout, 0..rows)
    }

    /// The rows `part` of a matrix of `height` by `columns` laid over `buffer`.
    pub fn part(
        buffer: S,
        height: usize,
        columns: usize,
        layout: Layout,
        part: Range<usize>,
    ) -> Result<Self> {
        let held = buffer.as_ref().len();
        if height.checked_mul(columns) != Some(held) {
            return Err(Error::Data(format!("a matrix of {height} x {columns} cannot hold {held} values")));
        }
        if part.start > part.end || part.end > height {
            return Err(Error::Data(format!("no rows {part:?} in a matrix of {height}")));
        }
        if u32::try_from(part.len()).is_err() {
            return Err(Error::Data(format!("{} rows: at most {} are supported", part.len(), u32::MAX)));
        }
        let (copied, element) = (Copied::default(), std::marker::PhantomData);
        Ok(Self { buffer, rows: part, height, columns, layout, copied, element })
    }

    fn values(&self) -> &[T] {
        self.buffer.as_ref()
    }

    fn column(&self, j: usize) -> &[T] {
        &self.values()[j * self.height..][self.rows.clone()]
    }

    fn row_part(&self, i: usize, range: &Range<usize>) -> &[T] {
        &self.values()[(self.rows.start + i) * self.columns..][range.clone()]
    }

    /// The values of some rows of data by rows.
    fn row_values(&self, rows: Range<usize>) -> &[T] {
        let first = self.rows.start;
        &self.values()[(first + rows.start) * self.columns..(first + rows.end) * self.columns]
    }

    /// Columns that are taken out of data by rows together.
    fn neighbours(&self) -> usize {
        (NEIGHBOURS_BYTES / (self.rows.len().max(1) * size_of::<T>())).clamp(1, NEIGHBOURS)
    }

    /// Copies of the columns at `positions`, every value as `made` makes it.
    fn taken<U>(&self, positions: &[usize], made: impl Fn(T) -> U) -> Vec<Vec<U>> {
        let mut columns: Vec<Vec<U>> =
            positions.iter().map(|_| Vec::with_capacity(self.rows.len())).collect();
        match self.layout {
            Layout::ColumnMajor => {
                for (column, &j) in columns.iter_mut().zip(positions) {
                    column.extend(self.column(j).iter().map(|&x| made(x)));
                }
            }
            // Some rows at a time: their pages are visited once, and the reads do not wait for each other.
            Layout::RowMajor => {
                // Where most of what is between them would be read all the same, it is read from the first to the last.
                let most = positions.len() * READ_AROUND >= self.columns * size_of::<T>();
                let blocks = self.by_blocks().filter(|_| most);
                for first in self.rows.clone().step_by(GATHERED_ROWS) {
                    let rows = first..self.rows.end.min(first + GATHERED_ROWS);
                    if let Some(blocks) = blocks {
                        blocks.fetch(rows.start - self.rows.start..rows.end - self.rows.start);
                    }
                    for (column, &j) in columns.iter_mut().zip(positions) {
                        column.extend(rows.clone().map(|i| made(self.values()[i * self.columns + j])));
                    }
                }
            }
        }
        columns
    }

    /// The sums of one output.
    fn dots_by_column(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        let fours = range.len() / 4 * 4;
        for k in (0..fours).step_by(4) {
            let j = range.start + k;
            let four = [self.column(j), self.column(j + 1), self.column(j + 2), self.column(j + 3)];
            out[k..k + 4].copy_from_slice(&kernels::dot4(four, v));
        }
        for k in fours..range.len() {
            out[k] = kernels::dot(self.column(range.start + k), v);
        }
    }

    /// The sums of several outputs, whose number is given: a tile of some rows and columns after the other, which stays in a near
    /// cache until all outputs have used it.
    fn tiled_dots(&self, range: Range<usize>, v: &[f64], outputs: usize, out: &mut [f64]) {
        let (n, width) = (self.rows.len(), range.len());
        let whole = n / kernels::LANES * kernels::LANES;
        for first in (0..width).step_by(TILE_COLUMNS) {
            let columns = first..width.min(first + TILE_COLUMNS);
            // The sums of a column's outputs are neighbours.
            let mut sums = vec![Sums::default(); outputs * columns.len()];
            for top in (0..whole).step_by(TILE_ROWS) {
                let rows = top..whole.min(top + TILE_ROWS);
                let v = |k: usize| &v[k * n..][rows.clone()];
                for (j, sums) in columns.clone().zip(sums.chunks_mut(outputs)) {
                    let x = &self.column(range.start + j)[rows.clone()];
                    let (fours, rest) = sums.as_chunks_mut::<4>();
                    for (k, sums) in (0..).step_by(4).zip(fours) {
                        kernels::add_dot4(sums, x, [v(k), v(k + 1), v(k + 2), v(k + 3)]);
                    }
                    for (k, sums) in (outputs - rest.len()..).zip(rest) {
                        kernels::add_dot(sums, x, v(k));
                    }
                }
            }
            for (j, sums) in columns.zip(sums.chunks(outputs)) {
                let rest = &self.column(range.start + j)[whole..];
                for (k, &sums) in sums.iter().enumerate() {
                    out[k * width + j] = kernels::finish_dot(sums, rest, &v[k * n..][whole..n]);
                }
            }
        }
    }

    /// Adds what some rows contribute to the sums of one output. Rows whose `v` is 0 (instances that a hinge loss is content with)
    /// are not even read.
    fn add_one(&self, rows: Range<usize>, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        let read: Vec<usize> = rows.filter(|&i| v[i] != 0.0).collect();
        let (together, rest) = read.as_chunks::<{ kernels::ROWS }>();
        for rows in together {
            kernels::add_rows(rows.map(|i| self.row_part(i, &range)), rows.map(|i| v[i]), out);
        }
        for &i in rest {
            kernels::add_scaled(v[i], self.row_part(i, &range), out);
        }
    }
}

impl<T: Value, S: AsRef<[T]> + Send + Sync> Dense<T, S> {
    /// [`Columns::gain_dots`] of few columns of data by rows. Each value is in a cache line of its own, so that a column is taken out once for
    /// all sums; they are added up in the order of rows, as all sums of such data are.
    fn gain_dots_of_few(&self, range: Range<usize>, both: &Outputs<'_>, out: &mut [f64]) {
        let (n, width) = (self.rows.len(), range.len());
        let outputs = out.len() / (3 * width.max(1));
        let (v, d) = both.by_output().split_at(outputs * n);
        let columns = self.taken(&range.collect::<Vec<usize>>(), |x| x);
        for (j, x) in columns.iter().enumerate() {
            for k in 0..outputs {
                let sums = kernels::sums_in_order(x, &v[k * n..(k + 1) * n], &d[k * n..(k + 1) * n]);
                (0..3).for_each(|s| out[(s * outputs + k) * width + j] = sums[s]);
            }
        }
    }
}

impl<T: Value, S: AsRef<[T]> + Send + Sync> RowBlocks for Dense<T, S> {
    fn block(&self) -> usize {
        (BLOCK_BYTES / (self.columns.max(1) * size_of::<T>())).max(kernels::ROWS)
    }

    fn fetch(&self, rows: Range<usize>) {
        // One thread alone: the system reads ahead best for who goes from the first page to the last.
        let pages = self.row_values(rows).iter().step_by(PAGE / size_of::<T>());
        pages.for_each(|value| _ = std::hint::black_box(*value));
    }

    fn add_dots(&self, rows: Range<usize>, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        let (n, width) = (self.rows.len(), range.len());
        if out.len() == width {
            return self.add_one(rows, range, v, out);
        }
        for first in (0..width).step_by(TILE_WIDTH) {
            let columns = first..width.min(first + TILE_WIDTH);
            for top in rows.clone().step_by(TILE_HEIGHT) {
                let tile = top..rows.end.min(top + TILE_HEIGHT);
                for (k, out) in out.chunks_mut(width).enumerate() {
                    let (v, out) = (&v[k * n..][..n], &mut out[columns.clone()]);
                    self.add_one(
                        tile.clone(),
                        range.start + columns.start..range.start + columns.end,
                        v,
                        out,
                    );
                }
            }
        }
    }

    fn copy_row(&self, row: usize, range: Range<usize>, out: &mut [f64]) {
        out.iter_mut().zip(self.row_part(row, &range)).for_each(|(out, x)| *out = x.wide());
    }

    fn add_square_dots(&self, rows: Range<usize>, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        let (n, width) = (self.rows.len(), range.len());
        for (v, out) in v.chunks_exact(n.max(1)).zip(out.chunks_mut(width.max(1))) {
            for i in rows.clone().filter(|&i| v[i] != 0.0) {
                kernels::add_scaled_squares(v[i], self.row_part(i, &range), out);
            }
        }
    }
}

impl<T: Value, S: AsRef<[T]> + Send + Sync> Columns for Dense<T, S> {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn len(&self) -> usize {
        self.columns
    }

    fn dimension(&self) -> u64 {
        self.columns as u64
    }

    fn nonzeros(&self) -> u64 {
        self.rows.len() as u64 * self.columns as u64
    }

    fn id(&self, position: usize) -> u64 {
        position as u64
    }

    fn position(&self, id: u64) -> Option<usize> {
        usize::try_from(id).ok().filter(|&j| j < self.columns)
    }

    fn value_bytes(&self) -> u64 {
        size_of::<T>() as u64
    }

    fn batch(&self) -> usize {
        match self.layout {
            Layout::ColumnMajor => (BATCH_BYTES / (self.rows.len().max(1) * size_of::<T>())).max(4),
            // The wider, the longer the stretches that are read; but their sums should stay in the cache, and large
            // data should give work to many threads.
            Layout::RowMajor => {
                let tasks = (self.rows.len() * self.columns * size_of::<T>() / TASK_BYTES).clamp(2, 64);
                self.columns.div_ceil(tasks).next_multiple_of(64).clamp(64, 4096)
            }
        }
    }

    fn dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        match self.layout {
            Layout::ColumnMajor if out.len() == range.len() => self.dots_by_column(range, v, out),
            Layout::ColumnMajor => {
                let outputs = out.len() / range.len().max(1);
                self.tiled_dots(range, v, outputs, out);
            }
            Layout::RowMajor => {
                out.fill(0.0);
                self.add_dots(0..self.rows.len(), range, v, out);
            }
        }
    }

    fn square_dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        let (n, width) = (self.rows.len(), range.len());
        out.fill(0.0);
        match self.layout {
            Layout::ColumnMajor => {
                for (v, out) in v.chunks_exact(n.max(1)).zip(out.chunks_mut(width.max(1))) {
                    let columns = range.clone().zip(out);
                    columns.for_each(|(j, out)| *out = kernels::square_dot(self.column(j), v));
                }
            }
            Layout::RowMajor => self.add_square_dots(0..n, range, v, out),
        }
    }

    fn gain_dots(&self, range: Range<usize>, both: &Outputs<'_>, out: &mut [f64]) {
        let width = range.len();
        if self.layout == Layout::RowMajor && width <= FEW_COLUMNS && self.by_blocks().is_none() {
            return self.gain_dots_of_few(range, both, out);
        }
        if self.layout == Layout::RowMajor || out.len() != 3 * width {
            return gain_dots_apart(self, range, both, out);
        }
        // All from one reading of a column.
        let (v, d) = both.by_output().split_at(self.rows.len());
        for (k, j) in range.enumerate() {
            let sums = kernels::dots_and_square(self.column(j), v, d);
            (0..3).for_each(|s| out[s * width + k] = sums[s]);
        }
    }

    fn has_rough(&self, room: u64) -> bool {
        self.copied.is_there(self, room)
    }

    fn rough_bytes(&self) -> u64 {
        Copied::most_bytes(self)
    }

    fn rough_dots(&self, range: Range<usize>, v: &Outputs<'_>, out: &mut [f64]) {
        if !self.copied.dots(self, range.clone(), v, out) {
            exact_as_rough(out, |sums| self.dots_with(range, v, sums));
        }
    }

    fn moments(&self, range: Range<usize>, weights: &[f64]) -> Vec<Moments> {
        match self.layout {
            // Sums in the order of rows wait for each other, unless they are those of several columns.
            Layout::ColumnMajor => {
                let mut moments = Vec::with_capacity(range.len());
                let (fours, end) = (range.len() / 4 * 4 + range.start, range.end);
                for j in range.step_by(4).take_while(|&j| j < fours) {
                    let four = std::array::from_fn(|k| self.column(j + k));
                    moments.extend(Moments::of_four(four, weights));
                }
                let view = |j: usize| ColumnView::dense(T::many(self.column(j)));
                moments.extend((fours..end).map(|j| Moments::of(&view(j), weights)));
                moments
            }
            Layout::RowMajor => {
                let mut moments = Neighbours::new(range.len());
                weights
                    .iter()
                    .enumerate()
                    .for_each(|(i, &weight)| moments.add(weight, self.row_part(i, &range)));
                moments.finish()
            }
        }
    }

    fn by_blocks(&self) -> Option<&dyn RowBlocks> {
        (self.bytes_by_rows() > LARGE).then_some(self)
    }

    fn bytes_by_rows(&self) -> u64 {
        let bytes = (self.rows.len() * self.columns * size_of::<T>()) as u64;
        if self.layout == Layout::RowMajor { bytes } else { 0 }
    }

    fn visit(&self, range: Range<usize>, each: &mut dyn FnMut(usize, ColumnView<'_>)) {
        match self.layout {
            Layout::ColumnMajor => {
                range.for_each(|j| each(j, ColumnView::dense(T::many(self.column(j)))));
            }
            Layout::RowMajor => {
                let together = self.neighbours();
                for first in range.clone().step_by(together) {
                    let some: Vec<usize> = (first..range.end.min(first + together)).collect();
                    for (&j, column) in some.iter().zip(self.taken(&some, |x| x)) {
                        each(j, ColumnView::dense(T::many(&column)));
                    }
                }
            }
        }
    }

    fn visit_ahead(&self, range: Range<usize>, each: &mut VisitAhead<'_>) {
        if self.layout == Layout::RowMajor {
            return self.visit(range, &mut |j, column| each(j, column, None));
        }
        let view = |j: usize| ColumnView::dense(T::many(self.column(j)));
        range.clone().for_each(|j| each(j, view(j), Some(j + 1).filter(|next| *next < range.end).map(view)));
    }

    fn largest(&self, go_on: GoOn<'_>) -> Result<f64> {
        if let Some(largest) = self.copied.largest() {
            return Ok(largest);
        }
        match self.layout {
            Layout::ColumnMajor => {
                let batch = self.batch();
                let largest = |j: usize| kernels::largest(self.column(j));
                let one = |k: usize| {
                    go_on()?;
                    Ok((k * batch..self.columns.min((k + 1) * batch)).map(largest).fold(0.0, f64::max))
                };
                Ok(parallel::reduce(self.columns.div_ceil(batch), one, f64::max)?.unwrap_or(0.0))
            }
            // Block after block, from the first row to the last: the data may be larger than memory.
            Layout::RowMajor => {
                let (rows, step) = (self.rows.len(), self.block());
                let block = |first: usize| self.row_values(first..rows.min(first + step));
                let starts = (0..rows).step_by(step);
                starts
                    .map(|first| sparse::largest(block(first), go_on))
                    .try_fold(0.0, |a, b| Ok(f64::max(a, b?)))
            }
        }
    }

    fn visit_bytes(&self) -> u64 {
        let together = if self.layout == Layout::RowMajor { self.neighbours().min(self.columns) } else { 0 };
        (together * self.rows.len() * size_of::<T>()) as u64
    }

    fn gather(&self, positions: &[usize]) -> Vec<Column> {
        self.taken(positions, Number::wide).into_iter().map(Column::Dense).collect()
    }
}
