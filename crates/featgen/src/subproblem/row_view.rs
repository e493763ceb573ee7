//! Sparse cached columns by rows: for whatever looks at all columns of an instance at once.

use super::cache::SparseColumn;
use crate::parallel;

/// Cached columns by rows. Values of 1, which is what levels of a category and words of a text have, are not written down.
#[derive(Default)]
pub(super) struct RowView {
    /// Number of columns.
    width: usize,
    /// The columns in which all values are 1.
    ones: Entries,
    /// All others.
    others: Entries,
}

/// What rows hold in some of the columns.
#[derive(Default)]
struct Entries {
    /// Where the entries of each row begin, and where those of the last one end; nothing if there are no columns.
    pointers: Vec<usize>,
    /// The columns of a row increase.
    columns: Vec<u32>,
    /// A value for every entry, or none where all are 1.
    values: Vec<f64>,
}

/// Parts in which rows are summed, each by one thread. Fixed, so that sums are the same on any number of threads.
const PARTS: usize = 16;

/// Rows below which one part is enough.
const FEW_ROWS: usize = 1 << 14;

impl RowView {
    pub(super) fn new(columns: &[SparseColumn], rows: usize) -> Self {
        let some = |ones: bool| {
            let chosen = (0..).zip(columns).filter(move |(_, column)| column.is_ones() == ones);
            Entries::new(chosen, rows, ones)
        };
        Self { width: columns.len(), ones: some(true), others: some(false) }
    }

    /// Whether it is not that of any columns.
    pub(super) fn is_empty(&self) -> bool {
        self.width == 0
    }

    /// Calls `each` with the columns of row `i`, in order, and their values.
    pub(super) fn see(&self, i: usize, mut each: impl FnMut(usize, f64)) {
        let (ones, (others, values)) = (self.ones.row(i).0, self.others.row(i));
        let mut next = 0;
        for (&column, &x) in others.iter().zip(values) {
            while next < ones.len() && ones[next] < column {
                each(ones[next] as usize, 1.0);
                next += 1;
            }
            each(column as usize, x);
        }
        ones[next..].iter().for_each(|&column| each(column as usize, 1.0));
    }

    /// `X' D X w` with D a diagonal of weights: one pass over the rows whose weight is not 0.
    pub(super) fn weigh(&self, weights: &[f64], w: &[f64]) -> Vec<f64> {
        let rows = weights.len();
        let parts = if rows < FEW_ROWS { 1 } else { PARTS };
        let size = rows.div_ceil(parts).max(1);
        let part = |first: usize| {
            let mut out = vec![0.0; self.width];
            for i in (first..rows.min(first + size)).filter(|&i| weights[i] != 0.0) {
                let (ones, (others, values)) = (self.ones.row(i).0, self.others.row(i));
                let mut f: f64 = ones.iter().map(|&j| w[j as usize]).sum();
                f += others.iter().zip(values).map(|(&j, x)| x * w[j as usize]).sum::<f64>();
                f *= weights[i];
                ones.iter().for_each(|&j| out[j as usize] += f);
                others.iter().zip(values).for_each(|(&j, x)| out[j as usize] += f * x);
            }
            out
        };
        let parts: Vec<Vec<f64>> = parallel::map(parts, |c| part(c * size));
        let mut sums = parts.into_iter();
        let mut out = sums.next().unwrap_or_default();
        sums.for_each(|part| out.iter_mut().zip(part).for_each(|(out, x)| *out += x));
        out
    }
}

impl Entries {
    /// Those of some columns, in order of their numbers.
    fn new<'a>(
        columns: impl Iterator<Item = (u32, &'a SparseColumn)> + Clone,
        rows: usize,
        ones: bool,
    ) -> Self {
        if columns.clone().next().is_none() {
            return Self::default();
        }
        let mut pointers = vec![0; rows + 1];
        for (_, column) in columns.clone() {
            column.rows.iter().for_each(|&i| pointers[i as usize + 1] += 1);
        }
        (0..rows).for_each(|i| pointers[i + 1] += pointers[i]);
        let held = pointers[rows];
        let mut entries = Self {
            columns: vec![0; held],
            values: if ones { Vec::new() } else { vec![0.0; held] },
            pointers: Vec::new(),
        };
        // While entries come, a row's pointer is where its next one goes: in the end, where the next row begins.
        for (j, column) in columns {
            column.for_each(|i, x| {
                let at = &mut pointers[i as usize];
                entries.columns[*at] = j;
                if !ones {
                    entries.values[*at] = x;
                }
                *at += 1;
            });
        }
        pointers.rotate_right(1);
        pointers[0] = 0;
        entries.pointers = pointers;
        entries
    }

    /// The columns of a row, and their values unless all are 1.
    fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let Some(&[start, end]) = self.pointers.get(i..i + 2).and_then(<[usize]>::first_chunk) else {
            return (&[], &[]);
        };
        (&self.columns[start..end], self.values.get(start..end).unwrap_or(&[]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Column;

    fn column(rows: &[u32], values: &[f64]) -> SparseColumn {
        SparseColumn::from(Column::Sparse { rows: rows.to_vec(), values: values.to_vec() })
    }

    #[test]
    fn rows_have_the_entries_of_columns_in_order() {
        let columns = [
            column(&[0, 2], &[1.0, 1.0]),
            column(&[0, 1, 3], &[2.0, -1.0, 0.5]),
            column(&[], &[]),
            column(&[0, 3], &[1.0, 1.0]),
            column(&[0], &[7.0]),
        ];
        let view = RowView::new(&columns, 5);
        let row = |i: usize| {
            let mut entries = Vec::new();
            view.see(i, |column, x| entries.push((column, x)));
            entries
        };
        assert_eq!(row(0), [(0, 1.0), (1, 2.0), (3, 1.0), (4, 7.0)]);
        assert_eq!(row(1), [(1, -1.0)]);
        assert_eq!(row(2), [(0, 1.0)]);
        assert_eq!(row(3), [(1, 0.5), (3, 1.0)]);
        assert_eq!(row(4), []);
    }

    /// More rows than one part has, with and without columns of ones alone.
    #[test]
    fn products_are_those_of_the_columns() {
        let n = FEW_ROWS as u32 + 1001;
        let every = |step: usize, value: f64| {
            let rows: Vec<u32> = (0..n).step_by(step).collect();
            column(&rows, &vec![value; rows.len()])
        };
        let weights: Vec<f64> = (0..n).map(|i| f64::from(i % 3)).collect();
        for columns in [vec![every(2, 1.0), every(7, 1.0)], vec![every(3, -2.0), every(5, 1.0)]] {
            let w = [0.3, -0.7];
            let full = |column: &SparseColumn| {
                let mut x = vec![0.0; n as usize];
                column.for_each(|i, value| x[i as usize] = value);
                x
            };
            let x: Vec<Vec<f64>> = columns.iter().map(full).collect();
            let f = (0..n as usize).map(|i| weights[i] * (w[0] * x[0][i] + w[1] * x[1][i]));
            let f: Vec<f64> = f.collect();
            let found = RowView::new(&columns, n as usize).weigh(&weights, &w);
            for (x, found) in x.iter().zip(found) {
                let expected: f64 = x.iter().zip(&f).map(|(x, f)| x * f).sum();
                assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found} {expected}");
            }
        }
    }
}
