//! Columns that need not be written down: what a solver sees of chosen features.
//!
//! A kind of feature that turns one input into many columns has them as one [`LinearOperator`], in its own file of
//! [`feature`](crate::feature). Memory is that of the input's column, for any number of columns made of it.

use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;

use crate::data::{Column, ColumnView};
use crate::kernels;

mod codes;

pub use codes::Coded;
pub(crate) use codes::Codes;

/// Some columns of a matrix X over the instances.
#[derive(Debug, Clone)]
pub enum Operator {
    /// One column, written down.
    Column(Column),
    /// Any number of columns that are not written down.
    Implicit(Arc<dyn LinearOperator>),
}

impl Deref for Operator {
    type Target = dyn LinearOperator;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Column(column) => column,
            Self::Implicit(operator) => &**operator,
        }
    }
}

/// What solvers do with some columns of a matrix X. All values are finite.
pub trait LinearOperator: Debug + Send + Sync {
    /// Number of columns.
    fn width(&self) -> usize;

    /// Whether products with all columns cost about as much as with one. Solvers then work with the operator itself, rather than
    /// with a matrix that has a row and a column for each of its columns.
    fn costs_as_one_column(&self) -> bool {
        false
    }

    /// Whether every column is the one before it on fewer rows, so that the product of two is that of the later with itself.
    fn is_nested(&self) -> bool {
        false
    }

    /// The columns by the codes of rows, if they depend on these alone.
    fn coded(&self) -> Option<&Coded> {
        None
    }

    /// `f += X w`.
    fn apply(&self, w: &[f64], f: &mut [f64]);

    /// `X' v`.
    fn transpose(&self, v: &[f64]) -> Vec<f64>;

    /// `sum_i v_i x_ij^2` of every column j.
    fn squares(&self, v: &[f64]) -> Vec<f64>;

    /// Writes what some rows hold into `out`: the k-th of them from `out[k * stride]` on, a number for each column. What is between
    /// belongs to other operators. Rows come in order, each with a number that is for others.
    fn pack(&self, rows: &[(u32, f64)], stride: usize, out: &mut [f64]);

    /// The same columns over some of the rows only: `place` says where each row goes, if it is kept. Order does not change.
    fn restrict(&self, place: &[Option<u32>]) -> Operator;
}

impl LinearOperator for Column {
    fn width(&self) -> usize {
        1
    }

    fn apply(&self, w: &[f64], f: &mut [f64]) {
        self.add_to(w[0], f);
    }

    fn transpose(&self, v: &[f64]) -> Vec<f64> {
        vec![match self {
            Self::Dense(values) => kernels::dot(values, v),
            Self::Sparse { rows, values } => kernels::dot_sparse(rows, values, v),
        }]
    }

    fn squares(&self, v: &[f64]) -> Vec<f64> {
        vec![self.entries().map(|(i, x)| v[i as usize] * x * x).sum()]
    }

    fn pack(&self, rows: &[(u32, f64)], stride: usize, out: &mut [f64]) {
        match self {
            Self::Dense(values) => {
                out.iter_mut().step_by(stride).zip(rows).for_each(|(out, &(i, _))| *out = values[i as usize]);
            }
            Self::Sparse { rows: filled, values } => find_rows(rows, filled, |at, found| {
                out[at * stride] = found.map_or(0.0, |found| values[found]);
            }),
        }
    }

    fn restrict(&self, place: &[Option<u32>]) -> Operator {
        Operator::Column(match self {
            Self::Dense(values) => {
                let kept = values.iter().zip(place).filter_map(|(&x, place)| place.map(|_| x));
                Self::Dense(kept.collect())
            }
            Self::Sparse { rows, values } => {
                let (rows, from) = moved_rows(rows, place);
                Self::Sparse { rows, values: from.into_iter().map(|k| values[k]).collect() }
            }
        })
    }
}

/// The rows whose value is not 0, and what `map` makes of their values.
pub(crate) fn map_nonzeros<T>(column: ColumnView<'_>, map: impl Fn(f64) -> T) -> (Vec<u32>, Vec<T>) {
    let (mut rows, mut mapped) = (Vec::with_capacity(column.len()), Vec::with_capacity(column.len()));
    column.each_nonzero(|row, x| {
        rows.push(row);
        mapped.push(map(x));
    });
    (rows, mapped)
}

/// Looks some rows up among those that are filled, both in order: calls `each` with the index of every row, and with the index at
/// which it is found.
pub(crate) fn find_rows(rows: &[(u32, f64)], filled: &[u32], mut each: impl FnMut(usize, Option<usize>)) {
    let mut next = filled.partition_point(|&i| rows.first().is_some_and(|first| i < first.0));
    for (at, &(i, _)) in rows.iter().enumerate() {
        next += filled[next..].iter().take_while(|&&other| other < i).count();
        each(at, filled.get(next).filter(|&&other| other == i).map(|_| next));
    }
}

/// Where the rows that are kept go, and which of `rows` they were.
pub(crate) fn moved_rows(rows: &[u32], place: &[Option<u32>]) -> (Vec<u32>, Vec<usize>) {
    let places = rows.iter().enumerate().map(|(k, &i)| (place[i as usize], k));
    places.filter_map(|(place, k)| place.map(|place| (place, k))).unzip()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An operator does what the matrix with these columns does, which has more rows than 3.
    pub(crate) fn is_the_matrix(operator: &dyn LinearOperator, matrix: &[Vec<f64>]) {
        let (n, width) = (matrix[0].len(), matrix.len());
        let near = |x: f64, y: f64| assert!((x - y).abs() < 1e-13, "{x} {y}: {operator:?}");
        assert_eq!(operator.width(), width);
        let v: Vec<f64> = (0..n).map(|i| [1.0, 9.0, -2.0, 0.5, 7.0][i % 5]).collect();
        let w: Vec<f64> = (0..width).map(|l| 1.0 + l as f64).collect();

        let mut f = vec![1.0; n];
        operator.apply(&w, &mut f);
        for (i, f) in f.iter().enumerate() {
            near(*f, 1.0 + matrix.iter().zip(&w).map(|(x, w)| x[i] * w).sum::<f64>());
        }
        for ((sum, square), x) in operator.transpose(&v).iter().zip(operator.squares(&v)).zip(matrix) {
            near(*sum, kernels::dot(x, &v));
            near(square, x.iter().zip(&v).map(|(x, v)| v * x * x).sum());
        }

        let some: Vec<(u32, f64)> =
            (1..n as u32).filter(|i| i % 3 != 1 || *i == 1).map(|i| (i, 0.0)).collect();
        let stride = width + 2;
        let mut packed = vec![f64::NAN; some.len() * stride - 2];
        operator.pack(&some, stride, &mut packed);
        for (&(i, _), row) in some.iter().zip(packed.chunks(stride)) {
            row.iter().zip(matrix).for_each(|(packed, x)| near(*packed, x[i as usize]));
            assert!(row[width..].iter().all(|x| x.is_nan()), "what is beside them is left alone");
        }

        let mut place = vec![None; n];
        (0..).zip(&some).for_each(|(to, &(i, _))| place[i as usize] = Some(to));
        let restricted = operator.restrict(&place);
        let mut f = vec![0.0; some.len()];
        restricted.apply(&w, &mut f);
        for (f, &(i, _)) in f.iter().zip(&some) {
            near(*f, matrix.iter().zip(&w).map(|(x, w)| x[i as usize] * w).sum());
        }
    }

    #[test]
    fn a_column_is_a_matrix_of_one_column() {
        let values = vec![1.0, 0.0, -2.0, 3.0, 0.0, 0.5];
        let rows = vec![0, 2, 3, 5];
        let sparse = Column::Sparse { rows, values: vec![1.0, -2.0, 3.0, 0.5] };
        for column in [sparse, Column::Dense(values.clone())] {
            is_the_matrix(&column, std::slice::from_ref(&values));
        }
    }
}
