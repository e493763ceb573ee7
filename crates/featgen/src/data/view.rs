//! One column where it lies, in the form it is stored: what anything beyond a plain dot product is computed from.

use super::{Bins, Lanes, ValuesView};
use crate::kernels::{self, Number, RowNumber, RowNumbers};

/// The values of one feature, borrowed from a storage.
///
/// Every loop over them is compiled for each kind of storage, and runs in the order of rows: what it adds up does not
/// depend on how the values are stored.
#[derive(Debug, Clone, Copy)]
pub struct ColumnView<'a> {
    rows: RowNumbers<'a>,
    values: ValuesView<'a>,
}

impl<'a> ColumnView<'a> {
    /// A value for every row.
    pub fn dense(values: ValuesView<'a>) -> Self {
        let rows = match values {
            ValuesView::Ones => 0,
            ValuesView::U8(x) => x.len(),
            ValuesView::F32(x) => x.len(),
            ValuesView::F64(x) => x.len(),
        };
        Self { rows: RowNumbers::All(rows), values }
    }

    /// Values of these rows, which increase.
    pub fn sparse<R: RowNumber>(rows: &'a [R], values: ValuesView<'a>) -> Self {
        Self { rows: R::many(rows), values }
    }

    /// Number of stored values.
    pub fn len(&self) -> usize {
        match self.rows {
            RowNumbers::All(count) => count,
            RowNumbers::U16(rows) => rows.len(),
            RowNumbers::U32(rows) => rows.len(),
        }
    }

    /// Whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is a value for every row.
    pub fn is_dense(&self) -> bool {
        matches!(self.rows, RowNumbers::All(_))
    }

    /// The values of all rows, if there is one for each.
    pub(super) fn full(&self) -> Option<ValuesView<'a>> {
        self.is_dense().then_some(self.values)
    }

    /// Calls `each` with every row that has a value, and the value, which may be 0.
    #[inline]
    pub fn for_each(&self, each: impl FnMut(u32, f64)) {
        match self.rows {
            RowNumbers::All(count) => self.zip(0..count as u32, each),
            RowNumbers::U16(rows) => self.zip(rows.iter().map(|row| row.wide()), each),
            RowNumbers::U32(rows) => self.zip(rows.iter().copied(), each),
        }
    }

    #[inline]
    fn zip(&self, rows: impl Iterator<Item = u32>, mut each: impl FnMut(u32, f64)) {
        match self.values {
            ValuesView::Ones => rows.for_each(|row| each(row, 1.0)),
            ValuesView::U8(x) => rows.zip(x).for_each(|(row, x)| each(row, x.wide())),
            ValuesView::F32(x) => rows.zip(x).for_each(|(row, x)| each(row, x.wide())),
            ValuesView::F64(x) => rows.zip(x).for_each(|(row, x)| each(row, x.wide())),
        }
    }

    /// Calls `each` with every row whose value is not 0.
    #[inline]
    pub fn each_nonzero(&self, mut each: impl FnMut(u32, f64)) {
        self.for_each(|row, x| {
            if x != 0.0 {
                each(row, x);
            }
        });
    }

    /// The largest absolute value, infinite if a value is not a number.
    pub fn largest(&self) -> f64 {
        match self.values {
            ValuesView::Ones => f64::from(u8::from(!self.is_empty())),
            ValuesView::U8(x) => kernels::largest(x),
            ValuesView::F32(x) => kernels::largest(x),
            ValuesView::F64(x) => kernels::largest(x),
        }
    }

    /// `sum_i v[i] x[i]^2`.
    pub fn square_dot(&self, v: &[f64]) -> f64 {
        match self.rows {
            RowNumbers::All(_) => match self.values {
                ValuesView::Ones => 0.0,
                ValuesView::U8(x) => kernels::square_dot(x, v),
                ValuesView::F32(x) => kernels::square_dot(x, v),
                ValuesView::F64(x) => kernels::square_dot(x, v),
            },
            RowNumbers::U16(rows) => self.square_dot_at(rows, v),
            RowNumbers::U32(rows) => self.square_dot_at(rows, v),
        }
    }

    fn square_dot_at<R: RowNumber>(&self, rows: &[R], v: &[f64]) -> f64 {
        match self.values {
            ValuesView::Ones => kernels::sum_at(rows, v),
            ValuesView::U8(x) => kernels::square_dot_sparse(rows, x, v),
            ValuesView::F32(x) => kernels::square_dot_sparse(rows, x, v),
            ValuesView::F64(x) => kernels::square_dot_sparse(rows, x, v),
        }
    }

    /// The first value that is such, and its row.
    pub fn find(&self, is_such: impl Fn(f64) -> bool) -> Option<(u32, f64)> {
        let mut found = None;
        self.for_each(|row, x| {
            if found.is_none() && is_such(x) {
                found = Some((row, x));
            }
        });
        found
    }

    /// `sum_i f(v[i], x[i])` over the instances with `v[i] > 0`, and the same of `-v[i]` over those with `v[i] < 0`. `f` of 0 and
    /// anything must be 0.
    #[inline]
    pub fn signed_sums(&self, v: &[f64], f: impl Fn(f64, f64) -> f64) -> [f64; 2] {
        let [mut up, mut down] = [0.0; 2];
        self.for_each(|row, x| {
            let v = v[row as usize];
            // Each has a part, be it 0: there is nothing to guess, and both sums are under way at once.
            up += f(v.max(0.0), x);
            down += f((-v).max(0.0), x);
        });
        [up, down]
    }

    /// The same sums for several outputs, of which `v` has one after the other: for as many as there are `sums`, to which they are
    /// added. The column is read once.
    #[inline]
    pub fn add_signed_sums(&self, v: &[f64], f: impl Fn(f64, f64) -> f64, sums: &mut [[f64; 2]]) {
        let n = v.len() / sums.len().max(1);
        self.for_each(|row, x| {
            for (k, [up, down]) in sums.iter_mut().enumerate() {
                let v = v[k * n + row as usize];
                *up += f(v.max(0.0), x);
                *down += f((-v).max(0.0), x);
            }
        });
    }

    /// Adds `v[i]` to one of the lanes of `sums[level]` for every instance, by the level of its value. Level 0 need not be
    /// counted. `v` may be of several outputs, one after the other; then `sums` are so, too.
    pub fn histogram(&self, v: &[f64], bins: &Bins, sums: &mut [Lanes]) {
        match self.rows {
            RowNumbers::All(_) => match self.values {
                ValuesView::Ones => {}
                ValuesView::U8(x) => bins.add_dense(x, v, sums),
                ValuesView::F32(x) => bins.add_dense(x, v, sums),
                ValuesView::F64(x) => bins.add_dense(x, v, sums),
            },
            RowNumbers::U16(rows) => self.levels(rows, v, bins, sums),
            RowNumbers::U32(rows) => self.levels(rows, v, bins, sums),
        }
    }

    fn levels<R: RowNumber>(&self, rows: &[R], v: &[f64], bins: &Bins, sums: &mut [Lanes]) {
        match self.values {
            ValuesView::Ones => bins.add_ones(rows, v, sums),
            ValuesView::U8(x) => bins.add(rows, x, v, sums),
            ValuesView::F32(x) => bins.add(rows, x, v, sums),
            ValuesView::F64(x) => bins.add(rows, x, v, sums),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::data::{Column, Columns, Dense, Layout, Sparse, SparseView, Values};

    const ROWS: usize = 37;
    const COLUMNS: usize = 70;

    fn value(i: usize, j: usize) -> f32 {
        if (i + j).is_multiple_of(3) { 0.0 } else { (i as f32 - 20.0) * 0.25 + j as f32 }
    }

    /// What is shown of a column is what would be copied out of it, in every storage and for any range.
    fn check(columns: &dyn Columns) {
        for range in [0..COLUMNS, 3..3, 5..66, COLUMNS - 1..COLUMNS] {
            let mut next = range.start;
            columns.visit(range.clone(), &mut |position, view| {
                assert_eq!(position, next);
                next += 1;
                let (mut shown, mut copied) = (Vec::new(), Vec::new());
                view.each_nonzero(|row, x| shown.push((row, x)));
                columns.gather(&[position])[0].each_nonzero(|row, x| copied.push((row, x)));
                assert_eq!(shown, copied);
                assert_eq!(columns.see(position, |view| view.len()), columns.filled(position));
            });
            assert_eq!(next, range.end);
        }
        let lengths = columns.see_all(|position, view| (position, view.len()));
        assert!(lengths.iter().enumerate().all(|(p, &(position, len))| p == position && len > 0));
    }

    #[test]
    fn columns_are_shown_as_they_are_copied() {
        let by_columns = || (0..COLUMNS).flat_map(|j| (0..ROWS).map(move |i| value(i, j)));
        let by_rows = || (0..ROWS).flat_map(|i| (0..COLUMNS).map(move |j| value(i, j)));
        let wide = |values: Vec<f32>| values.into_iter().map(f64::from).collect::<Vec<_>>();
        let (c, r): (Vec<f32>, Vec<f32>) = (by_columns().collect(), by_rows().collect());
        check(&Dense::new(c.clone(), ROWS, COLUMNS, Layout::ColumnMajor).unwrap());
        check(&Dense::new(r.clone(), ROWS, COLUMNS, Layout::RowMajor).unwrap());
        check(&Dense::new(wide(c), ROWS, COLUMNS, Layout::ColumnMajor).unwrap());
        check(&Dense::new(wide(r.clone()), ROWS, COLUMNS, Layout::RowMajor).unwrap());
        check(&Dense::part(r, ROWS, COLUMNS, Layout::RowMajor, 4..30).unwrap());

        let (mut pointers, mut rows, mut values) = (vec![0], Vec::new(), Vec::new());
        for j in 0..COLUMNS {
            let filled = (0..ROWS).filter(|&i| value(i, j) != 0.0);
            filled.for_each(|i| (rows.push(i as u32), values.push(value(i, j))).0);
            pointers.push(rows.len() as u64);
        }
        let narrow: Vec<u16> = rows.iter().map(|&row| row as u16).collect();
        let ids: Vec<u64> = (0..COLUMNS as u64).collect();
        for values in [Values::Ones, Values::F32(values.clone()), Values::F64(wide(values))] {
            let all = COLUMNS as u64;
            check(&SparseView::new(ROWS, all, None, &pointers, &narrow, values.view()).unwrap());
            check(&Sparse::new(ROWS, all, ids.clone(), pointers.clone(), rows.clone(), values).unwrap());
        }
    }

    #[test]
    fn sums_are_apart_by_sign() {
        let column = Column::Sparse { rows: vec![0, 2, 3], values: vec![2.0, -1.0, 4.0] };
        let sums = column.view().signed_sums(&[1.0, 9.0, -3.0, -0.5], |v, x| v * x * x);
        assert_eq!(sums, [4.0, 11.0]);
        let mut both = [[0.0; 2]; 2];
        column.view().add_signed_sums(
            &[1.0, 9.0, -3.0, -0.5, 0.0, 0.0, 2.0, 0.0],
            |v, x| v * x * x,
            &mut both,
        );
        assert_eq!(both, [[4.0, 11.0], [2.0, 0.0]]);
    }
}
