//! The contract of [`Columns`], one routine run on every storage: what it says of a matrix is what brute force says.

use featgen::data::{Column, Columns, Dense, Layout, Real, Sparse, Values};
use proptest::prelude::*;

/// A matrix by rows, its columns' ids, and a vector to multiply with.
#[derive(Debug, Clone)]
struct Example {
    rows: usize,
    ids: Vec<u64>,
    values: Vec<f64>,
    v: Vec<f64>,
}

impl Example {
    fn value(&self, i: usize, j: usize) -> f64 {
        self.values[i * self.ids.len() + j]
    }

    fn column(&self, j: usize) -> Vec<f64> {
        (0..self.rows).map(|i| self.value(i, j)).collect()
    }

    /// The same with every value replaced.
    fn map(mut self, f: impl Fn(f64) -> f64) -> Self {
        self.values.iter_mut().for_each(|x| *x = f(*x));
        self
    }

    fn by_columns(&self) -> Vec<f64> {
        (0..self.ids.len()).flat_map(|j| self.column(j)).collect()
    }

    fn sparse(&self, wrap: impl Fn(Vec<f64>) -> Values) -> Sparse {
        let (mut pointers, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for j in 0..self.ids.len() {
            for i in (0..self.rows).filter(|&i| self.value(i, j) != 0.0) {
                indices.push(i as u32);
                values.push(self.value(i, j));
            }
            pointers.push(indices.len() as u64);
        }
        let dimension = self.ids.last().map_or(0, |id| id + 1);
        Sparse::new(self.rows, dimension, self.ids.clone(), pointers, indices, wrap(values)).unwrap()
    }

    fn dense<T: Real>(&self, narrow: impl Fn(f64) -> T, layout: Layout) -> Dense<T, Vec<T>> {
        let values = if layout == Layout::RowMajor { self.values.clone() } else { self.by_columns() };
        Dense::new(values.into_iter().map(narrow).collect(), self.rows, self.ids.len(), layout).unwrap()
    }
}

fn keeps_contract(storage: &dyn Columns, expected: &Example) -> Result<(), TestCaseError> {
    let n = expected.ids.len();
    prop_assert_eq!((storage.rows(), storage.len(), storage.is_empty()), (expected.rows, n, n == 0));
    prop_assert_eq!(storage.dimension(), expected.ids.last().map_or(0, |id| id + 1));
    prop_assert!(storage.batch() > 0);
    for (j, &id) in expected.ids.iter().enumerate() {
        prop_assert_eq!((storage.id(j), storage.position(id)), (id, Some(j)));
    }
    for absent in [storage.dimension(), u64::MAX] {
        prop_assert_eq!(storage.position(absent), None);
    }
    same_columns(storage, expected)?;
    same_dots(storage, expected)
}

fn same_columns(storage: &dyn Columns, expected: &Example) -> Result<(), TestCaseError> {
    // In any order, and one twice.
    let mut positions: Vec<usize> = (0..storage.len()).rev().collect();
    positions.extend(storage.len().checked_sub(1));
    let gathered = storage.gather(&positions);
    prop_assert_eq!(gathered.len(), positions.len());
    for (column, &j) in gathered.iter().zip(&positions) {
        let mut found = vec![0.0; expected.rows];
        column.add_to(1.0, &mut found);
        prop_assert_eq!(&found, &expected.column(j));
        if let Column::Sparse { rows, values } = column {
            prop_assert!(rows.is_sorted_by(|a, b| a < b) && rows.len() == values.len());
        }
    }
    Ok(())
}

fn same_dots(storage: &dyn Columns, expected: &Example) -> Result<(), TestCaseError> {
    let n = storage.len();
    let mut whole = vec![f64::NAN; n];
    storage.dots(0..n, &expected.v, &mut whole);
    for j in 0..n {
        let terms = || (0..expected.rows).map(|i| expected.value(i, j) * expected.v[i]);
        let tolerance = 1e-14 * terms().map(f64::abs).sum::<f64>();
        prop_assert!((whole[j] - terms().sum::<f64>()).abs() <= tolerance, "column {}", j);
    }
    // The same bits, however the columns are asked for.
    for begin in 0..=n {
        for end in begin..=n {
            let mut part = vec![f64::NAN; end - begin];
            storage.dots(begin..end, &expected.v, &mut part);
            let same = part.iter().zip(&whole[begin..end]).all(|(a, b)| a.to_bits() == b.to_bits());
            prop_assert!(same, "columns {}..{}", begin, end);
        }
    }
    Ok(())
}

fn examples() -> impl Strategy<Value = Example> {
    let ids = proptest::collection::btree_set(prop_oneof![0u64..30, 0..u64::MAX - 1], 0..12);
    (0usize..40, ids).prop_flat_map(|(rows, ids)| {
        let value = prop_oneof![2 => Just(0.0), 3 => -10.0..10.0];
        let values = proptest::collection::vec(value, rows * ids.len());
        let v = proptest::collection::vec(-1.0..1.0, rows);
        let ids: Vec<u64> = ids.into_iter().collect();
        (values, v).prop_map(move |(values, v)| Example { rows, ids: ids.clone(), values, v })
    })
}

fn narrowed(x: f64) -> f64 {
    f64::from(x as f32)
}

proptest! {
    #[test]
    fn sparse_storage(example in examples()) {
        keeps_contract(&example.sparse(Values::F64), &example)?;
        let narrow = example.clone().map(narrowed);
        keeps_contract(&narrow.sparse(|x| Values::F32(x.iter().map(|&x| x as f32).collect())), &narrow)?;
        let ones = example.map(|x| f64::from(x != 0.0));
        keeps_contract(&ones.sparse(|_| Values::Ones), &ones)?;
    }

    #[test]
    fn dense_storage(mut example in examples()) {
        example.ids = (0..example.ids.len() as u64).collect();
        let narrow = example.clone().map(narrowed);
        for layout in [Layout::RowMajor, Layout::ColumnMajor] {
            keeps_contract(&example.dense(|x| x, layout), &example)?;
            keeps_contract(&narrow.dense(|x| x as f32, layout), &narrow)?;
        }
    }

    #[test]
    fn rows_are_the_same_values(example in examples()) {
        let rows = example.sparse(Values::F64).to_rows();
        prop_assert_eq!(rows.len(), example.rows);
        for i in 0..example.rows {
            let expected = (0..example.ids.len()).map(|j| (j, example.value(i, j))).filter(|(_, x)| *x != 0.0);
            prop_assert!(rows.row(i).eq(expected));
        }
    }
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let refused = |rows, dimension, ids: &[u64], pointers: &[u64], indices: &[u32]| {
        Sparse::new(rows, dimension, ids.into(), pointers.into(), indices.into(), Values::Ones).is_err()
    };
    assert!(!refused(2, 9, &[3, 8], &[0, 1, 3], &[1, 0, 1]));
    assert!(refused(2, 8, &[3, 8], &[0, 1, 3], &[1, 0, 1]), "an id beyond the dimension");
    assert!(refused(2, 9, &[8, 3], &[0, 1, 3], &[1, 0, 1]), "ids that fall");
    assert!(refused(2, 9, &[3, 8], &[0, 1, 2], &[1, 0, 1]), "a value of no column");
    assert!(refused(2, 9, &[3, 8], &[0, 4, 3], &[1, 0, 1]), "pointers that fall");
    assert!(refused(2, 9, &[3, 8], &[0, 1, 3], &[1, 1, 0]), "rows that fall");
    assert!(refused(2, 9, &[3, 8], &[0, 1, 3], &[1, 0, 2]), "a row that is not there");
    assert!(refused(2, 9, &[], &[], &[]), "no pointers");
    assert!(Dense::<f64, _>::new(vec![1.0; 5], 2, 3, Layout::RowMajor).is_err());
}
