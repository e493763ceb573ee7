//! Dense matrices: products, Cholesky factors and a tridiagonal form.
//!
//! Products are those of the crate `gemm-f64`. All else is arranged so that nearly all of its work is such products, and needs little code
//! besides. Matrices lie column by column.

mod cholesky;
mod tridiagonal;

use std::ops::{Index, IndexMut, Range};

use gemm_common::Parallelism;
use gemm_f64::gemm::f64::get_gemm_fn;

pub(crate) use cholesky::Cholesky;
pub(crate) use tridiagonal::Tridiagonal;

use crate::kernels;

/// A matrix.
#[derive(Debug, Clone)]
pub(crate) struct Matrix {
    rows: usize,
    columns: usize,
    numbers: Vec<f64>,
}

/// A matrix of numbers that are kept elsewhere, in some regular order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    numbers: &'a [f64],
    rows: usize,
    columns: usize,
    /// How far it is from a number to the one below it, and to the one beside it.
    down: usize,
    beside: usize,
}

impl<'a> View<'a> {
    /// Numbers that lie column by column.
    pub(crate) fn by_columns(numbers: &'a [f64], rows: usize, columns: usize) -> Self {
        Self::new(numbers, [rows, columns], [1, rows])
    }

    /// Numbers that lie row by row.
    pub(crate) fn by_rows(numbers: &'a [f64], rows: usize, columns: usize) -> Self {
        Self::new(numbers, [rows, columns], [columns, 1])
    }

    fn new(numbers: &'a [f64], [rows, columns]: [usize; 2], [down, beside]: [usize; 2]) -> Self {
        let last = (rows.max(1) - 1) * down + (columns.max(1) - 1) * beside;
        assert!(rows * columns == 0 || last < numbers.len(), "the last number is among those that there are");
        Self { numbers, rows, columns, down, beside }
    }

    /// Rows for columns.
    pub(crate) fn transposed(self) -> Self {
        Self { rows: self.columns, columns: self.rows, down: self.beside, beside: self.down, ..self }
    }

    /// Some of its rows and columns.
    pub(crate) fn part(self, rows: Range<usize>, columns: Range<usize>) -> Self {
        assert!(rows.end <= self.rows && columns.end <= self.columns);
        let first = (rows.start * self.down + columns.start * self.beside).min(self.numbers.len());
        Self::new(&self.numbers[first..], [rows.len(), columns.len()], [self.down, self.beside])
    }
}

/// `out += scale left right`, where columns of `out` begin `stride` numbers after each other.
pub(crate) fn add_product(scale: f64, left: View<'_>, right: View<'_>, out: &mut [f64], stride: usize) {
    let (rows, columns, inner) = (left.rows, right.columns, left.columns);
    assert_eq!(inner, right.rows);
    if rows * columns * inner == 0 {
        return;
    }
    assert!(rows <= stride && (columns - 1) * stride + rows <= out.len());
    // SAFETY: all places are inside of the slices: of what is written by the line above, of what is read since views were made.
    // Strides are those of slices, which fit an `isize`. What is written is nobody else's.
    #[allow(unsafe_code)]
    unsafe {
        get_gemm_fn()(
            rows,
            columns,
            inner,
            out.as_mut_ptr(),
            stride as isize,
            1,
            true,
            left.numbers.as_ptr(),
            left.beside as isize,
            left.down as isize,
            right.numbers.as_ptr(),
            right.beside as isize,
            right.down as isize,
            1.0,
            scale,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// `left right`.
pub(crate) fn product(left: View<'_>, right: View<'_>) -> Matrix {
    let mut out = Matrix::zeros(left.rows, right.columns);
    out.add_product(1.0, left, right);
    out
}

impl Matrix {
    /// A matrix of zeros.
    pub(crate) fn zeros(rows: usize, columns: usize) -> Self {
        Self { rows, columns, numbers: vec![0.0; rows * columns] }
    }

    /// A matrix of what a function of row and column gives.
    pub(crate) fn from_fn(rows: usize, columns: usize, number: impl Fn(usize, usize) -> f64) -> Self {
        let numbers = (0..columns).flat_map(|j| (0..rows).map(move |i| (i, j))).map(|(i, j)| number(i, j));
        Self { rows, columns, numbers: numbers.collect() }
    }

    /// How many columns it has.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// A column.
    pub(crate) fn column(&self, j: usize) -> &[f64] {
        &self.numbers[j * self.rows..][..self.rows]
    }

    /// A column, to be changed.
    pub(crate) fn column_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.numbers[j * self.rows..][..self.rows]
    }

    /// These columns.
    pub(crate) fn select(&self, columns: &[usize]) -> Self {
        let numbers = columns.iter().flat_map(|&j| self.column(j)).copied().collect();
        Self { rows: self.rows, columns: columns.len(), numbers }
    }

    /// What these rows and columns have in common.
    pub(crate) fn crossing(&self, rows: &[usize], columns: &[usize]) -> Self {
        let number = |&j: &usize| rows.iter().map(move |&i| self.column(j)[i]);
        Self { rows: rows.len(), columns: columns.len(), numbers: columns.iter().flat_map(number).collect() }
    }

    pub(crate) fn view(&self) -> View<'_> {
        View::by_columns(&self.numbers, self.rows, self.columns)
    }

    pub(crate) fn transposed(&self) -> View<'_> {
        self.view().transposed()
    }

    /// Adds `scale left right`.
    pub(crate) fn add_product(&mut self, scale: f64, left: View<'_>, right: View<'_>) {
        assert_eq!((self.rows, self.columns), (left.rows, right.columns));
        add_product(scale, left, right, &mut self.numbers, self.rows);
    }

    /// Its product with a vector.
    pub(crate) fn apply(&self, v: &[f64]) -> Vec<f64> {
        assert_eq!(v.len(), self.columns);
        let mut out = vec![0.0; self.rows];
        v.iter().enumerate().for_each(|(j, &v)| kernels::add_scaled(v, self.column(j), &mut out));
        out
    }

    /// The product of its transpose with a vector.
    pub(crate) fn transpose_apply(&self, v: &[f64]) -> Vec<f64> {
        assert_eq!(v.len(), self.rows);
        (0..self.columns).map(|j| kernels::dot(self.column(j), v)).collect()
    }
}

impl Index<(usize, usize)> for Matrix {
    type Output = f64;

    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        &self.column(j)[i]
    }
}

impl IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        &mut self.column_mut(j)[i]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn made(rows: usize, columns: usize) -> Matrix {
        Matrix::from_fn(rows, columns, |i, j| ((i * 31 + j * 17 + i * j) as f64).sin())
    }

    pub(super) fn near(a: &Matrix, b: impl Fn(usize, usize) -> f64) {
        for j in 0..a.columns {
            for i in 0..a.rows {
                let (a, b) = (a[(i, j)], b(i, j));
                assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{i} {j}: {a} {b}");
            }
        }
    }

    #[test]
    fn products_are_sums_of_products() {
        for (rows, inner, columns) in [(1, 1, 1), (3, 0, 2), (0, 3, 2), (7, 5, 9), (70, 33, 41)] {
            let (a, b) = (made(rows, inner), made(inner, columns));
            let expected = |i: usize, j: usize| (0..inner).map(|k| a[(i, k)] * b[(k, j)]).sum::<f64>();
            near(&product(a.view(), b.view()), expected);
            near(&product(b.transposed(), a.transposed()), |i, j| expected(j, i));
            let by_rows: Vec<f64> =
                (0..rows).flat_map(|i| (0..inner).map(move |k| (i, k))).map(|at| a[at]).collect();
            near(&product(View::by_rows(&by_rows, rows, inner), b.view()), expected);
            let mut twice = product(a.view(), b.view());
            twice.add_product(-3.0, a.view(), b.view());
            near(&twice, |i, j| -2.0 * expected(i, j));
            for j in 0..columns {
                let images = [a.apply(b.column(j)), product(a.view(), b.view()).column(j).to_vec()];
                images[0].iter().zip(&images[1]).for_each(|(a, b)| assert!((a - b).abs() < 1e-12));
            }
        }
        let a = made(9, 8);
        let part = product(a.view().part(2..6, 1..8), a.transposed().part(1..8, 0..3));
        near(&part, |i, j| (1..8).map(|k| a[(i + 2, k)] * a[(j, k)]).sum::<f64>());
        assert_eq!(a.select(&[3, 1]).column(1), a.column(1));
        assert_eq!(a.crossing(&[4, 0], &[7])[(1, 0)], a[(0, 7)]);
        let image = a.transpose_apply(a.column(2));
        image.iter().enumerate().for_each(|(j, x)| assert_eq!(*x, kernels::dot(a.column(j), a.column(2))));
    }
}
