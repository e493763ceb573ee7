//! Cholesky factors `A = L S L'` of symmetric matrices, where S is 1 but for the last rows, in which it may be -1.

use std::ops::Range;

use super::{Matrix, View, add_product};
use crate::kernels;

/// The factor of a matrix.
pub(crate) struct Cholesky {
    /// L, and above the diagonal what was there.
    lower: Matrix,
    /// Where S becomes -1.
    positive: usize,
}

/// Columns that are factorised one by one.
const NARROW: usize = 16;

/// Columns that are brought up to date at a time: what lies above the diagonal is computed in vain.
const STRIP: usize = 64;

/// Rows of the inverse that are computed at a time.
const SOME_ROWS: usize = 64;

impl Cholesky {
    /// Of a positive definite matrix, of which only the lower triangle is read; `None` if it is not positive definite.
    pub(crate) fn new(matrix: Matrix) -> Option<Self> {
        let positive = matrix.columns;
        Self::signed(matrix, positive)
    }

    /// Of a matrix in which these first rows and columns are positive definite, and minus what these leave of the others is, too; `None`
    /// if it is not so.
    pub(crate) fn signed(matrix: Matrix, positive: usize) -> Option<Self> {
        assert_eq!(matrix.rows, matrix.columns);
        let mut factor = Self { lower: matrix, positive };
        let width = factor.width();
        factorise(&mut factor.lower.numbers, width, 0..width, positive).then_some(factor)
    }

    fn width(&self) -> usize {
        self.lower.columns
    }

    /// `v = A^-1 v`.
    pub(crate) fn solve(&self, v: &mut [f64]) {
        for j in 0..v.len() {
            let column = &self.lower.column(j)[j..];
            v[j] /= column[0];
            let (done, rest) = v[j..].split_at_mut(1);
            kernels::add_scaled(-done[0], &column[1..], rest);
        }
        v[self.positive.min(self.width())..].iter_mut().for_each(|v| *v = -*v);
        for j in (0..v.len()).rev() {
            let column = &self.lower.column(j)[j..];
            let rest = kernels::dot(&column[1..], &v[j + 1..]);
            v[j] = (v[j] - rest) / column[0];
        }
    }

    /// `B A^-1`: the solution for each row.
    pub(crate) fn solve_rows(&self, mut rows: Matrix) -> Matrix {
        assert_eq!(rows.columns, self.width());
        self.solve_from(0, rows.rows, &mut rows.numbers);
        rows
    }

    /// The same of the part of A from some row and column on, of which the others know nothing.
    fn solve_from(&self, first: usize, count: usize, rows: &mut [f64]) {
        if count == 0 {
            return;
        }
        let width = self.width();
        let lower = self.lower.view().part(first..width, first..width);
        forward(lower, rows, count, 0..width - first);
        let negative = self.positive.clamp(first, width) - first;
        rows[negative * count..].iter_mut().for_each(|x| *x = -*x);
        backward(lower, rows, count, 0..width - first);
    }

    /// `A^-1`.
    pub(crate) fn inverse(&self) -> Matrix {
        let width = self.width();
        let mut inverse = Matrix::zeros(width, width);
        for first in (0..width).step_by(SOME_ROWS) {
            let count = SOME_ROWS.min(width - first);
            // Rows of the identity are 0 before their 1, and so is what L^-1 makes of them.
            let mut rows = Matrix::zeros(count, width - first);
            (0..count).for_each(|i| rows[(i, i)] = 1.0);
            self.solve_from(first, count, &mut rows.numbers);
            for j in first..width {
                for i in first..(first + count).min(j + 1) {
                    let x = rows[(i - first, j - first)];
                    inverse[(i, j)] = x;
                    inverse[(j, i)] = x;
                }
            }
        }
        inverse
    }
}

/// Factorises some columns of a matrix that lies column by column, which know of those before, together with all that is below them.
/// Says whether that was possible.
fn factorise(matrix: &mut [f64], width: usize, columns: Range<usize>, positive: usize) -> bool {
    if columns.len() <= NARROW {
        return factorise_narrow(matrix, width, columns, positive);
    }
    let middle = columns.start + columns.len() / 2;
    if !factorise(matrix, width, columns.start..middle, positive) {
        return false;
    }
    let (done, rest) = matrix.split_at_mut(middle * width);
    let done = View::by_columns(done, width, middle);
    // Those whose sign is -1 add what others take away.
    let change = positive.clamp(columns.start, middle);
    for first in (middle..columns.end).step_by(STRIP) {
        let strip = first..columns.end.min(first + STRIP);
        let out = &mut rest[(first - middle) * width + first..];
        for (scale, columns) in [(-1.0, columns.start..change), (1.0, change..middle)] {
            let left = done.part(first..width, columns.clone());
            add_product(scale, left, done.part(strip.clone(), columns).transposed(), out, width);
        }
    }
    factorise(matrix, width, middle..columns.end, positive)
}

fn factorise_narrow(matrix: &mut [f64], width: usize, columns: Range<usize>, positive: usize) -> bool {
    for j in columns.clone() {
        let (done, rest) = matrix.split_at_mut((j + 1) * width);
        let column = &mut done[j * width + j..];
        let sign = if j < positive { 1.0 } else { -1.0 };
        let square = sign * column[0];
        // Nor if it is not a number.
        if !(square > 0.0 && square.is_finite()) {
            return false;
        }
        let scale = sign / square.sqrt();
        column.iter_mut().for_each(|x| *x *= scale);
        for (k, other) in rest.chunks_exact_mut(width).take(columns.end - j - 1).enumerate() {
            let k = j + 1 + k;
            kernels::add_scaled(-sign * column[k - j], &column[k - j..], &mut other[k..]);
        }
    }
    true
}

/// `X = X L^-T` in some columns of X, which know of those before.
fn forward(lower: View<'_>, x: &mut [f64], rows: usize, columns: Range<usize>) {
    let at = |i: usize, j: usize| lower.numbers[j * lower.beside + i];
    if columns.len() <= NARROW {
        for j in columns.clone() {
            let (done, rest) = x.split_at_mut((j + 1) * rows);
            let column = &mut done[j * rows..];
            column.iter_mut().for_each(|x| *x /= at(j, j));
            for (k, other) in rest.chunks_exact_mut(rows).take(columns.end - j - 1).enumerate() {
                kernels::add_scaled(-at(j + 1 + k, j), column, other);
            }
        }
        return;
    }
    let middle = columns.start + columns.len() / 2;
    forward(lower, x, rows, columns.start..middle);
    let (done, rest) = x.split_at_mut(middle * rows);
    let left = View::by_columns(&done[columns.start * rows..], rows, middle - columns.start);
    let right = lower.part(middle..columns.end, columns.start..middle).transposed();
    add_product(-1.0, left, right, rest, rows);
    forward(lower, x, rows, middle..columns.end);
}

/// `X = X L^-1` in some columns of X, which know of those after.
fn backward(lower: View<'_>, x: &mut [f64], rows: usize, columns: Range<usize>) {
    let at = |i: usize, j: usize| lower.numbers[j * lower.beside + i];
    if columns.len() <= NARROW {
        for j in columns.clone().rev() {
            let (rest, done) = x.split_at_mut(j * rows);
            let column = &mut done[..rows];
            column.iter_mut().for_each(|x| *x /= at(j, j));
            let rest = &mut rest[columns.start * rows..];
            for (k, other) in rest.chunks_exact_mut(rows).enumerate() {
                kernels::add_scaled(-at(j, columns.start + k), column, other);
            }
        }
        return;
    }
    let middle = columns.start + columns.len() / 2;
    backward(lower, x, rows, middle..columns.end);
    let (rest, done) = x.split_at_mut(middle * rows);
    let left = View::by_columns(done, rows, columns.end - middle);
    let right = lower.part(middle..columns.end, columns.start..middle);
    add_product(-1.0, left, right, &mut rest[columns.start * rows..], rows);
    backward(lower, x, rows, columns.start..middle);
}

#[cfg(test)]
mod tests {
    use faer::linalg::solvers::DenseSolveCore;
    use faer::{Mat, Side};

    use super::super::product;
    use super::super::tests::{made, near};
    use super::*;

    const WIDTHS: [usize; 8] = [0, 1, 2, 16, 17, 33, 100, 211];

    /// A positive definite matrix.
    fn definite(width: usize) -> Matrix {
        let root = made(width, width);
        let mut matrix = product(root.view(), root.transposed());
        (0..width).for_each(|i| matrix[(i, i)] += 1.0);
        matrix
    }

    #[test]
    fn solves_what_another_program_solves() {
        for width in WIDTHS {
            let matrix = definite(width);
            let other = Mat::from_fn(width, width, |i, j| matrix[(i, j)]);
            let expected = other.llt(Side::Lower).unwrap().inverse();
            let factor = Cholesky::new(matrix.clone()).unwrap();
            near(&factor.inverse(), |i, j| expected[(i, j)]);
            let rows = made(5, width);
            near(&factor.solve_rows(rows.clone()), |i, j| {
                (0..width).map(|k| rows[(i, k)] * expected[(k, j)]).sum::<f64>()
            });
            let mut v: Vec<f64> = (0..width).map(|k| rows[(3, k)]).collect();
            factor.solve(&mut v);
            near(&Matrix::from_fn(1, width, |_, j| v[j]), |_, j| {
                (0..width).map(|k| rows[(3, k)] * expected[(k, j)]).sum::<f64>()
            });
        }
    }

    /// `[I + B B', B C'; C B', C C' - I]`, where C is small beside B.
    #[test]
    fn signs_may_change() {
        for width in WIDTHS {
            let positive = width - width / 4;
            let mut rows = made(width, 7);
            (0..7).for_each(|j| rows.column_mut(j)[positive..].iter_mut().for_each(|x| *x *= 0.05));
            let mut matrix = product(rows.view(), rows.transposed());
            (0..width).for_each(|i| matrix[(i, i)] += if i < positive { 1.0 } else { -1.0 });
            let factor = Cholesky::signed(matrix.clone(), positive).unwrap();
            near(&product(factor.inverse().view(), matrix.view()), |i, j| f64::from(u8::from(i == j)));
            near(&factor.solve_rows(matrix.clone()), |i, j| f64::from(u8::from(i == j)));
            for j in 0..width {
                let mut v = matrix.column(j).to_vec();
                factor.solve(&mut v);
                near(&Matrix::from_fn(width, 1, |i, _| v[i]), |i, _| f64::from(u8::from(i == j)));
            }
            assert!(width < 4 || Cholesky::new(matrix).is_none());
        }
    }

    #[test]
    fn what_is_not_definite_is_refused() {
        for width in [1, 40, 90] {
            for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
                let mut matrix = definite(width);
                matrix[(width - 1, width - 1)] = bad;
                assert!(Cholesky::new(matrix).is_none(), "{width} {bad}");
            }
        }
    }
}
