//! Columns without row numbers, where that takes less memory: of text and tables most of whose values are not 0.

use super::{Columns, Dense, Layout, Sparse, Value, Values};

/// Bytes of a row number in memory.
const ROW: u64 = 4;

/// Whether a value for every row of every column takes no more memory than row numbers with those that are not 0, and these are no fewer
/// than the others: small values take little room, but time.
pub(crate) fn is_lighter_full(rows: u64, columns: u64, nonzeros: u64, value_bytes: u64) -> bool {
    let (cells, nonzeros) = (u128::from(rows) * u128::from(columns), u128::from(nonzeros));
    let lighter = cells * u128::from(value_bytes) <= nonzeros * u128::from(ROW + value_bytes);
    value_bytes > 0 && lighter && cells <= 2 * nonzeros
}

impl Sparse {
    /// The same columns in whichever form takes less memory.
    pub(crate) fn lighter(self) -> Box<dyn Columns> {
        let [rows, columns] = [self.rows() as u64, self.dimension()];
        let bytes = match self.values() {
            Values::Ones => 0,
            Values::U8(_) => 1,
            Values::F32(_) => 4,
            Values::F64(_) => 8,
        };
        if !is_lighter_full(rows, columns, self.nonzeros(), bytes) {
            return Box::new(self);
        }
        let (rows, columns) = (rows as usize, columns as usize);
        let starts: Vec<usize> = (0..self.len()).map(|k| self.view().range(k).start).collect();
        let ids: Vec<usize> = (0..self.len()).map(|k| self.id(k) as usize).collect();
        let (indices, values) = self.into_entries();
        let entries = Entries { rows, columns, ids, starts, indices };
        match values {
            Values::U8(values) => entries.filled(values),
            Values::F32(values) => entries.filled(values),
            Values::F64(values) => entries.filled(values),
            Values::Ones => unreachable!("values that take no bytes are lightest as they are"),
        }
    }
}

/// What says where the values of sparse columns are.
struct Entries {
    rows: usize,
    columns: usize,
    ids: Vec<usize>,
    starts: Vec<usize>,
    indices: Vec<u32>,
}

impl Entries {
    /// A matrix of these values, by columns, in the memory that they are in.
    fn filled<T: Value>(self, mut values: Vec<T>) -> Box<dyn Columns> {
        let Self { rows, columns, ids, starts, indices } = self;
        let mut end = values.len();
        if end < rows * columns {
            values.resize(rows * columns, T::ZERO);
            let mut column = vec![T::ZERO; rows];
            // From the last column to the first, for a column's place is never before its values, and those of columns before it are
            // before both.
            let mut next = columns;
            for (&id, &start) in ids.iter().zip(&starts).rev() {
                values[(id + 1) * rows..next * rows].fill(T::ZERO);
                column.fill(T::ZERO);
                let entries = indices[start..end].iter().zip(&values[start..end]);
                entries.for_each(|(&row, &x)| column[row as usize] = x);
                values[id * rows..][..rows].copy_from_slice(&column);
                (end, next) = (start, id);
            }
            values[..next * rows].fill(T::ZERO);
        }
        Box::new(Dense::new(values, rows, columns, Layout::ColumnMajor).expect("a value for every row"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Column, SparseView};

    /// Columns of 0 between others and at both ends, full columns and others: every value has its place.
    #[test]
    fn values_find_their_places() {
        let (rows, dimension) = (5, 7);
        let full = [0, 1, 2, 3, 4];
        for (bytes, columns) in [
            (4, vec![(1, &full[..]), (2, &full), (4, &full[1..4]), (5, &full)]),
            (1, vec![(0, &full[3..]), (2, &full), (4, &full[1..4]), (5, &full), (6, &full[..3])]),
            (8, vec![(1, &full[..]), (2, &full), (4, &full[..4]), (5, &full), (6, &full)]),
        ] {
            let ids = columns.iter().map(|&(id, _)| id).collect();
            let indices = columns.iter().flat_map(|&(_, rows)| rows.to_vec()).collect::<Vec<u32>>();
            let ends = columns.iter().scan(0, |end, &(_, rows)| {
                *end += rows.len() as u64;
                Some(*end)
            });
            let pointers = std::iter::once(0).chain(ends).collect();
            let numbers: Vec<f32> = (1..=indices.len() as u8).map(f32::from).collect();
            let values = match bytes {
                1 => Values::U8(numbers.iter().map(|&x| x as u8).collect()),
                4 => Values::F32(numbers),
                _ => Values::F64(numbers.iter().map(|&x| f64::from(x) + 1e-9).collect()),
            };
            let sparse = Sparse::new(rows, dimension, ids, pointers, indices, values).unwrap();
            let mut expected = vec![vec![0.0; rows]; dimension as usize];
            for (k, &(id, _)) in columns.iter().enumerate() {
                sparse.gather(&[k])[0].each_nonzero(|row, x| expected[id as usize][row as usize] = x);
            }
            let filled = sparse.lighter();
            assert_eq!(filled.value_bytes(), bytes);
            let expected: Vec<Column> = expected.into_iter().map(Column::Dense).collect();
            assert_eq!(filled.gather(&(0..dimension as usize).collect::<Vec<_>>()), expected);
        }
    }

    #[test]
    fn what_is_mostly_empty_or_all_ones_stays() {
        let stays = |view: SparseView<'_>| {
            let (bytes, nonzeros) = (if view.all_ones() { 0 } else { 4 }, view.nonzeros());
            !is_lighter_full(view.rows() as u64, view.dimension(), nonzeros, bytes)
        };
        use crate::data::ValuesView::{F32, Ones};
        let view =
            |pointers, indices, values| SparseView::new(4, 2, None, pointers, indices, values).unwrap();
        assert!(stays(view(&[0, 2, 3], &[0, 1, 2], F32(&[1.0, 2.0, 3.0]))));
        assert!(!stays(view(&[0, 2, 4], &[0, 1, 2, 3], F32(&[1.0, 2.0, 3.0, 4.0]))));
        assert!(stays(view(&[0, 4, 8], &[0, 1, 2, 3, 0, 1, 2, 3], Ones)));
    }
}
