//! The columns that blocks refer to: each feature once, dense or sparse, as its values are, or as an operator.

use super::full::Full;
use super::panels::ABREAST;
use crate::data::Column;
use crate::kernels;
use crate::operator::{Operator, find_rows};
use crate::parallel;

/// Cached columns of length `rows`, addressed in the order in which they were added.
///
/// All are sparse while less than a fifth of their values are filled, else all are dense.
#[derive(Debug, Clone)]
pub struct Cache {
    rows: usize,
    /// Values of the columns that are written down.
    filled: usize,
    columns: Columns,
}

#[derive(Debug, Clone)]
enum Columns {
    Sparse(Vec<SparseColumn>),
    Dense(Full),
    Operators(Vec<Operator>),
}

/// A column of which only what is not 0 is written down, and values only if some are not 1.
#[derive(Debug, Clone)]
pub(super) struct SparseColumn {
    pub(super) rows: Vec<u32>,
    /// None at all where every one is 1.
    values: Vec<f64>,
}

/// Rows that one task writes one after the other.
const PACKED: usize = 64;

/// The part of filled values from which dense loops beat sparse ones.
const DENSE_FROM: f64 = 0.2;

/// Bytes of a value in a sparse column: its row and itself, and the same once more in the solver's view by rows.
const SPARSE_VALUE: u64 = 24;

impl Cache {
    /// No columns yet.
    pub fn new(rows: usize) -> Self {
        Self { rows, filled: 0, columns: Columns::Sparse(Vec::new()) }
    }

    /// Bytes that so many columns of that many rows and values together take at most, whatever the order in which they come.
    pub(crate) fn most_bytes(rows: usize, columns: u64, values: u64) -> u64 {
        // Full columns are held in panels, the last of which may lack some.
        let panels = columns.saturating_add(ABREAST as u64 - 1);
        let full = panels.saturating_mul(8 * rows as u64);
        let missing = (ABREAST as u64 - 1).saturating_mul(8 * rows as u64);
        let dense = full.min(((8.0 / DENSE_FROM) as u64).saturating_mul(values).saturating_add(missing));
        dense.max(SPARSE_VALUE.saturating_mul(values))
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        match &self.columns {
            Columns::Sparse(columns) => columns.len(),
            Columns::Dense(columns) => columns.len(),
            Columns::Operators(operators) => operators.iter().map(|operator| operator.width()).sum(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of instances.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Adds columns. Once one of them is not written down, none is.
    pub fn extend(&mut self, new: Vec<Operator>) {
        let written = |operator| match operator {
            Operator::Column(column) => Some(column),
            Operator::Implicit(_) => None,
        };
        if !self.has_operators() && new.iter().all(|operator| matches!(operator, Operator::Column(_))) {
            return self.extend_written(new.into_iter().filter_map(written).collect());
        }
        let column = |values: Vec<f64>| Operator::Column(Column::Dense(values));
        let mut operators: Vec<Operator> =
            match std::mem::replace(&mut self.columns, Columns::Sparse(Vec::new())) {
                Columns::Dense(columns) => columns.into_columns().into_iter().map(column).collect(),
                Columns::Sparse(columns) => {
                    columns.into_iter().map(Column::from).map(Operator::Column).collect()
                }
                Columns::Operators(operators) => operators,
            };
        operators.extend(new);
        self.columns = Columns::Operators(operators);
    }

    /// What tells how columns are held: see [`truncate`](Self::truncate).
    pub(crate) fn filled(&self) -> usize {
        self.filled
    }

    /// Forgets all but the first `width` columns, which had [`filled`](Self::filled) so many values when there were no others. The
    /// cache is then as if these others had never come.
    pub(crate) fn truncate(&mut self, width: usize, filled: usize) {
        match &mut self.columns {
            Columns::Dense(columns) => columns.truncate(width),
            Columns::Sparse(columns) => columns.truncate(width),
            Columns::Operators(operators) => {
                let mut left = width;
                let stay = operators.iter().take_while(|operator| {
                    let stays = left > 0;
                    left = left.saturating_sub(operator.width());
                    stays
                });
                let count = stay.count();
                operators.truncate(count);
                if operators.iter().all(|operator| matches!(operator, Operator::Column(_))) {
                    let new = std::mem::take(operators);
                    self.columns = Columns::Sparse(Vec::new());
                    self.extend(new);
                }
            }
        }
        self.filled = filled;
        if !self.has_operators() {
            self.settle(width);
        }
    }

    fn has_operators(&self) -> bool {
        matches!(self.columns, Columns::Operators(_))
    }

    /// Whether many columns together cost no more than one: then a matrix of them all is not worth making.
    pub(super) fn has_tables(&self) -> bool {
        let Columns::Operators(operators) = &self.columns else { return false };
        operators.iter().any(|operator| operator.costs_as_one_column())
    }

    /// The operators, if columns are not written down.
    pub(super) fn operators(&self) -> Option<&[Operator]> {
        match &self.columns {
            Columns::Operators(operators) => Some(operators),
            Columns::Dense(_) | Columns::Sparse(_) => None,
        }
    }

    fn extend_written(&mut self, new: Vec<Column>) {
        let filled = |column: &Column| match column {
            Column::Dense(values) => values.len(),
            Column::Sparse { rows, .. } => rows.len(),
        };
        self.filled += new.iter().map(filled).sum::<usize>();
        self.settle(self.len() + new.len());
        match &mut self.columns {
            Columns::Dense(columns) => new.into_iter().for_each(|c| columns.push(dense(c, self.rows))),
            Columns::Sparse(columns) => columns.extend(new.into_iter().map(SparseColumn::from)),
            Columns::Operators(operators) => operators.extend(new.into_iter().map(Operator::Column)),
        }
    }

    /// Holds columns as suits so many of them.
    fn settle(&mut self, columns: usize) {
        if is_dense(self.filled as f64, self.rows, columns) {
            self.make_dense();
        } else {
            self.make_sparse();
        }
    }

    fn make_dense(&mut self) {
        if let Columns::Sparse(columns) = &mut self.columns {
            let mut full = Full::new();
            std::mem::take(columns).into_iter().for_each(|column| full.push(dense(column.into(), self.rows)));
            self.columns = Columns::Dense(full);
        }
    }

    /// A few full columns must not make thousands of others take the room of full ones.
    fn make_sparse(&mut self) {
        if let Columns::Dense(columns) = &mut self.columns {
            let columns = std::mem::replace(columns, Full::new()).into_columns().into_iter();
            let thin = |values: Vec<f64>| SparseColumn::from(Column::Dense(values));
            self.columns = Columns::Sparse(columns.map(thin).collect());
        }
    }

    /// Writes what some rows, in order, hold in the first columns into `out`, row after row, as many columns as a row is long.
    pub(super) fn pack(&self, rows: &[(u32, f64)], width: usize, out: &mut [f64]) {
        if width == 0 {
            return;
        }
        parallel::chunks_mut(out, width * PACKED, &|k, out| {
            self.pack_few(&rows[k * PACKED..][..out.len() / width], width, out);
        });
    }

    fn pack_few(&self, rows: &[(u32, f64)], width: usize, out: &mut [f64]) {
        match &self.columns {
            Columns::Dense(columns) => columns.pack(rows, width, out),
            Columns::Sparse(columns) => {
                for (j, x) in columns[..width].iter().enumerate() {
                    find_rows(rows, &x.rows, |at, found| {
                        out[at * width + j] = found.map_or(0.0, |found| x.value(found));
                    });
                }
            }
            Columns::Operators(operators) => {
                // Columns are added operator by operator, so that none is cut.
                let mut first = 0;
                for operator in operators {
                    if first == width {
                        break;
                    }
                    operator.pack(rows, width, &mut out[first..]);
                    first += operator.width();
                }
            }
        }
    }

    /// The columns if they are sparse.
    pub(super) fn sparse(&self) -> Option<&[SparseColumn]> {
        match &self.columns {
            Columns::Sparse(columns) => Some(columns),
            Columns::Dense(_) | Columns::Operators(_) => None,
        }
    }

    /// `X w`: columns are added in order, whoever computes which rows.
    pub fn apply(&self, w: &[f64]) -> Vec<f64> {
        let mut f = vec![0.0; self.rows];
        match &self.columns {
            Columns::Dense(columns) => columns.apply(w, &mut f),
            Columns::Sparse(columns) => {
                for (column, &w) in columns.iter().zip(w).filter(|(_, w)| **w != 0.0) {
                    column.for_each(|i, x| f[i as usize] += w * x);
                }
            }
            Columns::Operators(operators) => {
                let mut rest = w;
                for operator in operators {
                    let (own, after) = rest.split_at(operator.width());
                    rest = after;
                    if own.iter().any(|&w| w != 0.0) {
                        operator.apply(own, &mut f);
                    }
                }
            }
        }
        f
    }

    /// Up to how many rows [`transpose_few`](Self::transpose_few) is cheaper than going through all columns.
    pub(super) fn few(&self) -> usize {
        if matches!(self.columns, Columns::Dense(_)) { self.rows / 8 } else { 0 }
    }

    /// `X' v` for a `v` that is zero but for a few rows; `None` if going by rows would not be cheaper.
    pub(super) fn transpose_few(&self, v: &[(u32, f64)]) -> Option<Vec<f64>> {
        let Columns::Dense(columns) = &self.columns else { return None };
        (v.len() <= self.few()).then(|| columns.transpose_few(v))
    }

    /// `sum_i h_i x_ij^2` of every column.
    pub(super) fn square_sums(&self, h: &[f64]) -> Vec<f64> {
        match &self.columns {
            Columns::Dense(columns) => columns.square_sums(h),
            Columns::Sparse(columns) => {
                let one = |column: &SparseColumn| {
                    let mut sum = 0.0;
                    column.for_each(|i, x| sum += h[i as usize] * x * x);
                    sum
                };
                parallel::map_runs(columns.len(), 16, |k| one(&columns[k]))
            }
            Columns::Operators(operators) => {
                parallel::map(operators.len(), |k| operators[k].squares(h)).concat()
            }
        }
    }

    /// `X' v`.
    pub fn transpose(&self, v: &[f64]) -> Vec<f64> {
        match &self.columns {
            Columns::Dense(columns) => columns.transpose(v),
            Columns::Sparse(columns) => parallel::map_runs(columns.len(), 16, |k| columns[k].dot(v)),
            Columns::Operators(operators) => {
                parallel::map(operators.len(), |k| operators[k].transpose(v)).concat()
            }
        }
    }
}

/// Whether that many columns with that many values together are best kept dense.
fn is_dense(values: f64, rows: usize, columns: usize) -> bool {
    values >= DENSE_FROM * rows as f64 * columns as f64
}

fn dense(column: Column, n: usize) -> Vec<f64> {
    match column {
        Column::Dense(values) => values,
        sparse => {
            let mut values = vec![0.0; n];
            sparse.add_to(1.0, &mut values);
            values
        }
    }
}

impl SparseColumn {
    /// Whether every value that is written down is 1.
    pub(super) fn is_ones(&self) -> bool {
        self.values.is_empty()
    }

    /// The value of the entry at that place.
    fn value(&self, place: usize) -> f64 {
        self.values.get(place).copied().unwrap_or(1.0)
    }

    /// Calls `each` with every row that has a value, in order, and the value.
    pub(super) fn for_each(&self, mut each: impl FnMut(u32, f64)) {
        match self.is_ones() {
            true => self.rows.iter().for_each(|&i| each(i, 1.0)),
            false => self.rows.iter().zip(&self.values).for_each(|(&i, &x)| each(i, x)),
        }
    }

    /// The product with a vector.
    fn dot(&self, v: &[f64]) -> f64 {
        match self.is_ones() {
            true => kernels::sum_at(&self.rows, v),
            false => kernels::dot_sparse(&self.rows, &self.values, v),
        }
    }
}

impl From<Column> for SparseColumn {
    fn from(column: Column) -> Self {
        let (rows, mut values) = match column {
            Column::Sparse { rows, values } => (rows, values),
            Column::Dense(values) => {
                (0..).zip(values).filter(|(_, x)| *x != 0.0).unzip::<u32, f64, Vec<_>, Vec<_>>()
            }
        };
        if values.iter().all(|&x| x == 1.0) {
            values = Vec::new();
        }
        Self { rows, values }
    }
}

impl From<SparseColumn> for Column {
    fn from(column: SparseColumn) -> Self {
        let values = if column.is_ones() { vec![1.0; column.rows.len()] } else { column.values };
        Self::Sparse { rows: column.rows, values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full column, then nearly empty ones: they do not become full because of it, and products stay what they are.
    #[test]
    fn a_few_full_columns_do_not_fill_the_others() {
        let n = 100;
        let full = || Operator::Column(Column::Dense((1..=n).map(f64::from).collect()));
        let thin =
            |i: u32| Operator::Column(Column::Sparse { rows: vec![i, i + 50], values: vec![2.0, -1.0] });
        let mut cache = Cache::new(n as usize);
        cache.extend(vec![full()]);
        assert!(cache.sparse().is_none());
        cache.extend((0..3).map(thin).collect());
        assert!(cache.sparse().is_none());
        cache.extend((3..20).map(thin).collect());
        let held: usize = cache.sparse().unwrap().iter().map(|column| column.rows.len()).sum();
        assert_eq!(held, 100 + 2 * 20);
        assert!((held * 12) as u64 <= Cache::most_bytes(n as usize, 21, held as u64));
        let mut expected: Vec<f64> = (1..=n).map(f64::from).collect();
        (0..20).for_each(|i| (expected[i], expected[i + 50]) = (expected[i] + 2.0, expected[i + 50] - 1.0));
        assert_eq!(cache.apply(&[1.0; 21]), expected);
        assert_eq!(cache.transpose(&vec![1.0; n as usize])[1..], [1.0; 20]);
        cache.extend((0..9).map(|_| full()).collect());
        assert!(cache.sparse().is_none());
    }

    /// After columns were forgotten, the cache is as if they had never come: held in the same way, with the same products.
    #[test]
    fn what_is_forgotten_leaves_nothing_behind() {
        let n = 60;
        let full = |shift: f64| Column::Dense((0..n).map(|i| f64::from(i) - shift).collect());
        let thin = |i: u32| Column::Sparse { rows: vec![i, i + 20], values: vec![2.0, -1.0] };
        let written = |columns: Vec<Column>| columns.into_iter().map(Operator::Column).collect::<Vec<_>>();
        let few = || written((0..9).map(thin).collect());
        let many = || written((0..9).map(|j| full(f64::from(j))).collect());
        let implicit = || vec![Operator::Implicit(std::sync::Arc::new(full(1.0)))];
        let pairs =
            [(few(), many()), (many(), few()), (few(), few()), (few(), implicit()), (many(), implicit())];
        for (first, second) in pairs {
            let mut expected = Cache::new(n as usize);
            expected.extend(first.clone());
            let mut cache = expected.clone();
            let filled = cache.filled();
            cache.extend(second);
            cache.truncate(9, filled);
            assert_eq!((cache.len(), cache.filled()), (9, filled));
            assert_eq!(cache.sparse().is_some(), expected.sparse().is_some());
            let w: Vec<f64> = (0..9).map(|j| f64::from(j) - 3.5).collect();
            let v: Vec<f64> = (0..n).map(|i| f64::from(i % 7)).collect();
            assert_eq!(cache.apply(&w), expected.apply(&w));
            assert_eq!(cache.transpose(&v), expected.transpose(&v));
        }
    }
}
