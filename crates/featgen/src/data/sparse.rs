//! Sparse storage by columns, holding only columns that occur and only as many bytes per value as the values need.

use std::ops::Range;

use super::outputs::{TOGETHER, Tile};
use super::{Column, ColumnView, Columns, GoOn, Outputs};
use crate::error::{Error, Result};
use crate::kernels::{self, Number, RowNumber};
use crate::parallel;

/// The values of sparse storage, in the narrowest form that holds them exactly.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Every stored value is 1: nothing is kept.
    Ones,
    /// Every value is a whole number from 0 to 255.
    U8(Vec<u8>),
    /// Every value is exactly a 32-bit float.
    F32(Vec<f32>),
    /// Anything else.
    F64(Vec<f64>),
}

impl Values {
    /// The same, borrowed.
    pub fn view(&self) -> ValuesView<'_> {
        match self {
            Self::Ones => ValuesView::Ones,
            Self::U8(x) => ValuesView::U8(x),
            Self::F32(x) => ValuesView::F32(x),
            Self::F64(x) => ValuesView::F64(x),
        }
    }
}

/// The values of sparse storage, wherever they are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ValuesView<'a> {
    /// Every stored value is 1.
    Ones,
    /// Whole numbers from 0 to 255.
    U8(&'a [u8]),
    /// 32-bit floats.
    F32(&'a [f32]),
    /// 64-bit floats.
    F64(&'a [f64]),
}

impl<'a> ValuesView<'a> {
    /// Those in a range.
    #[inline]
    fn part(self, range: Range<usize>) -> Self {
        match self {
            Self::Ones => self,
            Self::U8(x) => Self::U8(&x[range]),
            Self::F32(x) => Self::F32(&x[range]),
            Self::F64(x) => Self::F64(&x[range]),
        }
    }

    /// `sum_i v[i] x[i]`, where there is a value for every row.
    fn dot(&self, v: &[f64]) -> f64 {
        match self {
            Self::Ones => v.iter().sum(),
            Self::U8(x) => kernels::dot(x, v),
            Self::F32(x) => kernels::dot(x, v),
            Self::F64(x) => kernels::dot(x, v),
        }
    }

    /// The largest absolute value, infinite if a value is not a number, by all threads.
    fn largest(&self, go_on: GoOn<'_>) -> Result<f64> {
        match self {
            Self::Ones => Ok(1.0),
            Self::U8(x) => largest(x, go_on),
            Self::F32(x) => largest(x, go_on),
            Self::F64(x) => largest(x, go_on),
        }
    }

    /// The value at `k`.
    #[inline]
    pub fn get(&self, k: usize) -> f64 {
        match self {
            Self::Ones => 1.0,
            Self::U8(x) => f64::from(x[k]),
            Self::F32(x) => f64::from(x[k]),
            Self::F64(x) => x[k],
        }
    }
}

/// Whether all are whole numbers from 0 to 255.
pub(crate) fn is_bytes(values: &[f64]) -> bool {
    values.iter().all(|&x| f64::from(x as u8) == x)
}

/// The same of any values.
pub(super) fn largest<T: Number>(x: &[T], go_on: GoOn<'_>) -> Result<f64> {
    let part = |k: usize| {
        go_on()?;
        Ok(kernels::largest(&x[k * LARGEST_CHUNK..x.len().min((k + 1) * LARGEST_CHUNK)]))
    };
    Ok(parallel::reduce(x.len().div_ceil(LARGEST_CHUNK), part, f64::max)?.unwrap_or(0.0))
}

/// Values that one thread looks through in one go.
const LARGEST_CHUNK: usize = 1 << 16;

/// Compressed sparse columns: `u32` rows, `u64` pointers, any `u64` ids.
#[derive(Debug, Clone, PartialEq)]
pub struct Sparse {
    rows: usize,
    dimension: u64,
    ids: Vec<u64>,
    pointers: Vec<u64>,
    indices: Vec<u32>,
    values: Values,
}

/// Stored values that one thread reads in one go.
const BATCH_VALUES: u64 = 1 << 16;

impl Sparse {
    /// From its parts. `ids` increase; column `k` holds rows `indices[pointers[k]..pointers[k + 1]]`, increasing.
    pub fn new(
        rows: usize,
        dimension: u64,
        ids: Vec<u64>,
        pointers: Vec<u64>,
        indices: Vec<u32>,
        values: Values,
    ) -> Result<Self> {
        SparseView::new(rows, dimension, Some(&ids), &pointers, &indices, values.view())?;
        Ok(Self { rows, dimension, ids, pointers, indices, values })
    }

    /// From parts that are right by construction; checked in debug builds only.
    pub(crate) fn trusted(
        rows: usize,
        dimension: u64,
        ids: Vec<u64>,
        pointers: Vec<u64>,
        indices: Vec<u32>,
        values: Values,
    ) -> Self {
        if cfg!(debug_assertions) {
            return Self::new(rows, dimension, ids, pointers, indices, values).expect("built by columns");
        }
        Self { rows, dimension, ids, pointers, indices, values }
    }

    /// The values of all columns.
    pub(super) fn values(&self) -> &Values {
        &self.values
    }

    /// The rows and the values of all columns.
    pub(super) fn into_entries(self) -> (Vec<u32>, Values) {
        (self.indices, self.values)
    }

    /// The same, borrowed.
    pub fn view(&self) -> SparseView<'_> {
        SparseView {
            rows: self.rows,
            dimension: self.dimension,
            ids: Some(&self.ids),
            pointers: &self.pointers,
            indices: &self.indices,
            values: self.values.view(),
        }
    }
}

/// Everything is done by the view.
impl Columns for Sparse {
    fn rows(&self) -> usize {
        self.rows
    }

    fn len(&self) -> usize {
        self.ids.len()
    }

    fn dimension(&self) -> u64 {
        self.dimension
    }

    fn nonzeros(&self) -> u64 {
        self.indices.len() as u64
    }

    fn id(&self, position: usize) -> u64 {
        self.ids[position]
    }

    fn position(&self, id: u64) -> Option<usize> {
        self.view().position(id)
    }

    fn batch(&self) -> usize {
        self.view().batch()
    }

    fn dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        self.view().dots(range, v, out);
    }

    fn dots_with(&self, range: Range<usize>, v: &Outputs<'_>, out: &mut [f64]) {
        self.view().dots_with(range, v, out);
    }

    fn gain_dots(&self, range: Range<usize>, both: &Outputs<'_>, out: &mut [f64]) {
        self.view().gain_dots(range, both, out);
    }

    fn visit(&self, range: Range<usize>, each: &mut dyn FnMut(usize, ColumnView<'_>)) {
        self.view().visit(range, each);
    }

    fn filled(&self, position: usize) -> usize {
        self.view().filled(position)
    }

    fn all_ones(&self) -> bool {
        self.view().all_ones()
    }

    fn largest(&self, go_on: GoOn<'_>) -> Result<f64> {
        self.view().largest(go_on)
    }

    fn gather(&self, positions: &[usize]) -> Vec<Column> {
        self.view().gather(positions)
    }
}

/// Compressed sparse columns over borrowed arrays: what [`Sparse`] holds, a store, or arrays of another program. Row
/// numbers are `u32`, or `u16` where those suffice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SparseView<'a, R = u32> {
    rows: usize,
    dimension: u64,
    /// `None` if every feature has a column, empty or not.
    ids: Option<&'a [u64]>,
    pointers: &'a [u64],
    indices: &'a [R],
    values: ValuesView<'a>,
}

impl<'a, R: RowNumber> SparseView<'a, R> {
    /// From its parts. `ids` increase, and may be left out if every feature has a column; column `k` holds rows
    /// `indices[pointers[k]..pointers[k + 1]]`, increasing.
    pub fn new(
        rows: usize,
        dimension: u64,
        ids: Option<&'a [u64]>,
        pointers: &'a [u64],
        indices: &'a [R],
        values: ValuesView<'a>,
    ) -> Result<Self> {
        let wrong = |what: &str| Err(Error::Data(format!("sparse columns: {what}")));
        let held = indices.len();
        let stored = match &values {
            ValuesView::Ones => held,
            ValuesView::U8(x) => x.len(),
            ValuesView::F32(x) => x.len(),
            ValuesView::F64(x) => x.len(),
        };
        let columns = ids.map_or(dimension, |ids| ids.len() as u64);
        if u32::try_from(rows).is_err() {
            return wrong("more rows than 32 bits can count");
        }
        if stored != held || columns.checked_add(1) != Some(pointers.len() as u64) {
            return wrong("arrays of different lengths");
        }
        if pointers[0] != 0 || pointers.last() != Some(&(held as u64)) || !pointers.is_sorted() {
            return wrong("pointers must rise from 0 to the number of values");
        }
        let ids_fit =
            |ids: &[u64]| ids.windows(2).all(|w| w[0] < w[1]) && ids.last().is_none_or(|&id| id < dimension);
        if !ids.is_none_or(ids_fit) {
            return wrong("ids must increase and stay below the dimension");
        }
        let increasing =
            |w: &[u64]| indices[w[0] as usize..w[1] as usize].windows(2).all(|pair| pair[0] < pair[1]);
        if !pointers.windows(2).all(increasing) || indices.iter().any(|&i| i.at() >= rows) {
            return wrong("rows of a column must increase and exist");
        }
        Ok(Self { rows, dimension, ids, pointers, indices, values })
    }

    /// From parts that are known to be right.
    pub(super) fn trusted(
        rows: usize,
        dimension: u64,
        ids: Option<&'a [u64]>,
        pointers: &'a [u64],
        indices: &'a [R],
        values: ValuesView<'a>,
    ) -> Self {
        Self { rows, dimension, ids, pointers, indices, values }
    }

    /// The rows of all stored values, column after column.
    pub(super) fn indices(&self) -> &'a [R] {
        self.indices
    }

    /// All stored values, column after column.
    pub(super) fn values(&self) -> ValuesView<'a> {
        self.values
    }

    /// The values of a column whose entries are there, if there is one for every row. Such a column is summed as a dense one is: its row
    /// numbers tell nothing. (Where all are 1, there are only row numbers.)
    fn full(&self, at: &Range<usize>) -> Option<ValuesView<'a>> {
        (at.len() == self.rows && self.values != ValuesView::Ones).then(|| self.values.part(at.clone()))
    }

    /// Where the entries of a column are.
    pub(super) fn range(&self, position: usize) -> Range<usize> {
        self.pointers[position] as usize..self.pointers[position + 1] as usize
    }
}

impl<R: RowNumber> SparseView<'_, R> {
    /// [`Columns::gain_dots`] of several outputs: a column stays in the nearest cache until all have used it.
    fn gain_dots_of_many(&self, range: Range<usize>, both: &Outputs<'_>, out: &mut [f64]) {
        if self.rows == 0 {
            return out.fill(0.0);
        }
        let (width, outputs) = (range.len(), both.by_output().len() / (2 * self.rows));
        let (dots, squares) = out.split_at_mut(2 * outputs * width);
        for (j, position) in range.enumerate() {
            let at = self.range(position);
            if let Some(x) = self.full(&at) {
                let vectors = both.by_output().chunks_exact(self.rows);
                vectors.clone().enumerate().for_each(|(k, v)| dots[k * width + j] = x.dot(v));
                let column = ColumnView::dense(x);
                let d = vectors.skip(outputs).enumerate();
                d.for_each(|(k, d)| squares[k * width + j] = column.square_dot(d));
                continue;
            }
            for (first, tiles) in (0..).step_by(TOGETHER).zip(both.tiles()) {
                let sums = self.tile_sums(at.clone(), tiles);
                for k in first..(first + TOGETHER).min(2 * outputs) {
                    dots[k * width + j] = sums[0][k - first];
                    if k >= outputs {
                        squares[(k - outputs) * width + j] = sums[1][k - first];
                    }
                }
            }
        }
    }

    /// The sums of a column, and of its squares, with some vectors.
    fn tile_sums(&self, at: Range<usize>, tiles: &[Tile]) -> [Tile; 2] {
        let rows = &self.indices[at.clone()];
        match self.values {
            ValuesView::Ones => [kernels::sum_tiles(rows, tiles); 2],
            ValuesView::U8(x) => kernels::dot_and_square_tiles(rows, &x[at], tiles),
            ValuesView::F32(x) => kernels::dot_and_square_tiles(rows, &x[at], tiles),
            ValuesView::F64(x) => kernels::dot_and_square_tiles(rows, &x[at], tiles),
        }
    }
}

impl<R: RowNumber> Columns for SparseView<'_, R> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn len(&self) -> usize {
        self.pointers.len() - 1
    }

    fn dimension(&self) -> u64 {
        self.dimension
    }

    fn nonzeros(&self) -> u64 {
        self.indices.len() as u64
    }

    fn id(&self, position: usize) -> u64 {
        self.ids.map_or(position as u64, |ids| ids[position])
    }

    fn position(&self, id: u64) -> Option<usize> {
        let Some(ids) = self.ids else {
            return usize::try_from(id).ok().filter(|_| id < self.dimension);
        };
        // Before a column there are at most as many others as its id says, and at most all that never occur are missing:
        // where nearly every feature occurs, as in large group lists, this leaves little to search.
        let missing = self.dimension - ids.len() as u64;
        let last = usize::try_from(id).unwrap_or(usize::MAX).saturating_add(1).min(ids.len());
        let first = usize::try_from(id.saturating_sub(missing)).unwrap_or(usize::MAX).min(last);
        ids[first..last].binary_search(&id).ok().map(|k| first + k)
    }

    fn batch(&self) -> usize {
        let per_column = (self.nonzeros() / self.len().max(1) as u64).max(1);
        (BATCH_VALUES / per_column).clamp(16, 1 << 14) as usize
    }

    fn dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        if out.len() != range.len() {
            return self.dots_with(range, &Outputs::new(v, self.rows), out);
        }
        for (out, position) in out.iter_mut().zip(range) {
            let at = self.range(position);
            let rows = &self.indices[at.clone()];
            if let Some(x) = self.full(&at) {
                *out = x.dot(v);
                continue;
            }
            *out = match self.values {
                ValuesView::Ones => kernels::sum_at(rows, v),
                ValuesView::U8(x) => kernels::dot_sparse(rows, &x[at], v),
                ValuesView::F32(x) => kernels::dot_sparse(rows, &x[at], v),
                ValuesView::F64(x) => kernels::dot_sparse(rows, &x[at], v),
            };
        }
    }

    fn dots_with(&self, range: Range<usize>, v: &Outputs<'_>, out: &mut [f64]) {
        let width = range.len();
        if out.len() == width {
            return self.dots(range, v.by_output(), out);
        }
        // Without rows there is no tile to say so.
        if self.rows == 0 {
            return out.fill(0.0);
        }
        for (j, position) in range.enumerate() {
            let at = self.range(position);
            let rows = &self.indices[at.clone()];
            if let Some(x) = self.full(&at) {
                let sums = v.by_output().chunks_exact(self.rows).map(|v| x.dot(v));
                out.iter_mut().skip(j).step_by(width).zip(sums).for_each(|(out, sum)| *out = sum);
                continue;
            }
            // A column stays in the nearest cache until all outputs have used it.
            for (v, out) in v.tiles().zip(out.chunks_mut(width * TOGETHER)) {
                let sums = match self.values {
                    ValuesView::Ones => kernels::sum_tiles(rows, v),
                    ValuesView::U8(x) => kernels::dot_tiles(rows, &x[at.clone()], v),
                    ValuesView::F32(x) => kernels::dot_tiles(rows, &x[at.clone()], v),
                    ValuesView::F64(x) => kernels::dot_tiles(rows, &x[at.clone()], v),
                };
                out.iter_mut().skip(j).step_by(width).zip(sums).for_each(|(out, sum)| *out = sum);
            }
        }
    }

    fn gain_dots(&self, range: Range<usize>, both: &Outputs<'_>, out: &mut [f64]) {
        let width = range.len();
        if out.len() != 3 * width {
            return self.gain_dots_of_many(range, both, out);
        }
        // Of one output, residual and curvature are in the same tiles. Without rows there is none.
        let Some(tiles) = both.tiles().next() else { return out.fill(0.0) };
        let (v, d) = both.by_output().split_at(self.rows);
        for (j, position) in range.enumerate() {
            let at = self.range(position);
            let rows = &self.indices[at.clone()];
            let sums = match self.values {
                ValuesView::U8(x) if at.len() == self.rows => kernels::dots_and_square(&x[at], v, d),
                ValuesView::F32(x) if at.len() == self.rows => kernels::dots_and_square(&x[at], v, d),
                ValuesView::F64(x) if at.len() == self.rows => kernels::dots_and_square(&x[at], v, d),
                // The squares are those values.
                ValuesView::Ones => {
                    let [v, d, ..] = kernels::sum_tiles(rows, tiles);
                    [v, d, d]
                }
                ValuesView::U8(x) => kernels::gain_tiles(rows, &x[at], tiles),
                ValuesView::F32(x) => kernels::gain_tiles(rows, &x[at], tiles),
                ValuesView::F64(x) => kernels::gain_tiles(rows, &x[at], tiles),
            };
            (0..3).for_each(|s| out[s * width + j] = sums[s]);
        }
    }

    fn visit(&self, range: Range<usize>, each: &mut dyn FnMut(usize, ColumnView<'_>)) {
        for position in range {
            let at = self.range(position);
            let column = match self.full(&at) {
                Some(values) => ColumnView::dense(values),
                None => ColumnView::sparse(&self.indices[at.clone()], self.values.part(at)),
            };
            each(position, column);
        }
    }

    fn filled(&self, position: usize) -> usize {
        self.range(position).len()
    }

    fn all_ones(&self) -> bool {
        self.values == ValuesView::Ones
    }

    fn largest(&self, go_on: GoOn<'_>) -> Result<f64> {
        if self.indices.is_empty() { Ok(0.0) } else { self.values.largest(go_on) }
    }

    fn gather(&self, positions: &[usize]) -> Vec<Column> {
        let copy = |&position: &usize| {
            let at = self.range(position);
            let rows = self.indices[at.clone()].iter().map(|row| row.wide()).collect();
            Column::Sparse { rows, values: at.map(|k| self.values.get(k)).collect() }
        };
        positions.iter().map(copy).collect()
    }
}
