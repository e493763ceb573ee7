//! Dense storage: a matrix of f32 or f64 in either order, wherever its bytes are. Never copied to be transposed.

use std::ops::Range;

use super::{Bins, Column, Columns, Lanes};
use crate::error::{Error, Result};
use crate::kernels::{self, Number};

/// A number that dense storage can hold.
pub trait Real: Number + bytemuck::Pod {}

impl Real for f32 {}
impl Real for f64 {}

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
    element: std::marker::PhantomData<T>,
}

/// What one thread reads in one go, in bytes: large enough to stream, small enough to balance the load.
const BATCH_BYTES: usize = 1 << 19;

/// Data by rows are shared out in about this many bytes.
const TASK_BYTES: usize = 1 << 27;

/// Rows from which the wanted columns are taken together.
const GATHERED_ROWS: usize = 256;

impl<T: Real, S: AsRef<[T]> + Send + Sync> Dense<T, S> {
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
        Ok(Self { buffer, rows: part, height, columns, layout, element: std::marker::PhantomData })
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

    /// Rows whose `v` is 0 (instances that a hinge loss is content with) are not even read.
    fn dots_by_row(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        let read: Vec<usize> = (0..self.rows.len()).filter(|&i| v[i] != 0.0).collect();
        let (together, rest) = read.as_chunks::<{ kernels::ROWS }>();
        for rows in together {
            kernels::add_rows(rows.map(|i| self.row_part(i, &range)), rows.map(|i| v[i]), out);
        }
        for &i in rest {
            kernels::add_scaled(v[i], self.row_part(i, &range), out);
        }
    }
}

impl<T: Real, S: AsRef<[T]> + Send + Sync> Columns for Dense<T, S> {
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

    fn is_narrow(&self) -> bool {
        size_of::<T>() == size_of::<f32>()
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
            Layout::ColumnMajor => self.dots_by_column(range, v, out),
            Layout::RowMajor => self.dots_by_row(range, v, out),
        }
    }

    fn histogram(&self, position: usize, v: &[f64], bins: &Bins, sums: &mut [Lanes]) {
        match self.layout {
            Layout::ColumnMajor => bins.add_dense(self.column(position), v, sums),
            Layout::RowMajor => {
                let column: Vec<T> =
                    self.values()[position..].iter().copied().step_by(self.columns).collect();
                bins.add_dense(&column, v, sums);
            }
        }
    }

    fn gather(&self, positions: &[usize]) -> Vec<Column> {
        let mut columns: Vec<Vec<f64>> =
            positions.iter().map(|_| Vec::with_capacity(self.rows.len())).collect();
        match self.layout {
            Layout::ColumnMajor => {
                for (column, &j) in columns.iter_mut().zip(positions) {
                    column.extend(self.column(j).iter().map(|x| x.wide()));
                }
            }
            // Some rows at a time: their pages are visited once, and the reads do not wait for each other.
            Layout::RowMajor => {
                for first in self.rows.clone().step_by(GATHERED_ROWS) {
                    let rows = first..self.rows.end.min(first + GATHERED_ROWS);
                    for (column, &j) in columns.iter_mut().zip(positions) {
                        column.extend(rows.clone().map(|i| self.values()[i * self.columns + j].wide()));
                    }
                }
            }
        }
        columns.into_iter().map(Column::Dense).collect()
    }
}
