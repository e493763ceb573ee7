//! The contract of [`Columns`], one routine run on every storage: what it says of a matrix is what brute force says.

use std::ops::Range;

use featgen::data::{
    Column, ColumnView, Columns, Dense, Except, Genotypes, Joined, Layout, Outputs, RowBlocks, Sparse, Value,
    Values, ValuesView, dense_of, dense_over,
};
use proptest::prelude::*;

/// A matrix by rows, its columns' ids, and vectors to multiply with, one after the other.
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

    /// The same without some columns.
    fn without(&self, hidden: &[usize]) -> Self {
        let kept: Vec<usize> = (0..self.ids.len()).filter(|j| !hidden.contains(j)).collect();
        let row = |i: usize| kept.iter().map(move |&j| self.value(i, j));
        Self {
            rows: self.rows,
            ids: kept.iter().map(|&j| self.ids[j]).collect(),
            values: (0..self.rows).flat_map(row).collect(),
            v: self.v.clone(),
        }
    }

    fn largest(&self) -> f64 {
        self.values.iter().fold(0.0, |most, x| most.max(x.abs()))
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

    fn dense<T: Value>(&self, narrow: impl Fn(f64) -> T, layout: Layout) -> Dense<T, Vec<T>> {
        let values = if layout == Layout::RowMajor { self.values.clone() } else { self.by_columns() };
        Dense::new(values.into_iter().map(narrow).collect(), self.rows, self.ids.len(), layout).unwrap()
    }
}

fn keeps_contract(storage: &dyn Columns, expected: &Example) -> Result<(), TestCaseError> {
    let n = expected.ids.len();
    prop_assert_eq!((storage.rows(), storage.len(), storage.is_empty()), (expected.rows, n, n == 0));
    prop_assert!(storage.dimension() >= expected.ids.last().map_or(0, |id| id + 1));
    prop_assert!(storage.batch() > 0);
    for (j, &id) in expected.ids.iter().enumerate() {
        prop_assert_eq!((storage.id(j), storage.position(id)), (id, Some(j)));
    }
    for absent in [storage.dimension(), u64::MAX] {
        prop_assert_eq!(storage.position(absent), None);
    }
    prop_assert_eq!(storage.largest(&|| Ok(())).unwrap(), expected.largest());
    for (first, end) in (0..=storage.len()).flat_map(|end| (0..=end).map(move |first| (first, end))) {
        let columns = (first..end).flat_map(|position| expected.column(position));
        let largest = columns.fold(0.0, |most: f64, x| most.max(x.abs()));
        prop_assert_eq!(storage.largest_in(first..end, &|| Ok(())).unwrap(), largest);
    }
    prop_assert!(storage.nonzeros() >= expected.values.iter().filter(|x| **x != 0.0).count() as u64);
    same_columns(storage, expected)?;
    same_dots(storage, expected)
}

/// The contract of a storage, and of it without some of its columns.
fn keeps_contracts(storage: &dyn Columns, expected: &Example) -> Result<(), TestCaseError> {
    prop_assert_eq!(storage.dimension(), expected.ids.last().map_or(0, |id| id + 1));
    keeps_contract(storage, expected)?;
    let n = expected.ids.len();
    for hidden in [vec![], vec![n / 2], vec![n / 3 + 1, n / 3, 0, n / 3], (0..n).collect()] {
        let hidden: Vec<usize> = hidden.into_iter().filter(|&j| j < n).collect();
        let ids = hidden.iter().map(|&j| expected.ids[j]).chain([u64::MAX]);
        let rest = Except::new(storage, ids);
        let shown = expected.without(&hidden);
        prop_assert_eq!(rest.dimension(), storage.dimension());
        prop_assert!(hidden.iter().all(|&j| rest.position(expected.ids[j]).is_none()));
        prop_assert_eq!((rest.value_bytes(), rest.all_ones()), (storage.value_bytes(), storage.all_ones()));
        prop_assert_eq!(rest.by_blocks().is_some(), storage.by_blocks().is_some());
        let filled: usize = (0..rest.len()).map(|j| rest.filled(j)).sum();
        prop_assert_eq!(rest.nonzeros(), filled as u64);
        keeps_contract(&rest, &shown)?;
        // The bits are those of the storage.
        let (all, some) = (dots(storage, 0..n, &expected.v[..expected.rows]), &expected.v[..expected.rows]);
        let all = all.into_iter().enumerate().filter(|(j, _)| !hidden.contains(j)).map(|(_, bits)| bits);
        prop_assert_eq!(dots(&rest, 0..rest.len(), some), all.collect::<Vec<_>>());
    }
    Ok(())
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
    let mut visited = Vec::new();
    let range = storage.len() / 3..storage.len();
    storage.visit(range.clone(), &mut |position, column| {
        let mut found = vec![0.0; expected.rows];
        column.for_each(|row, x| found[row as usize] = x);
        visited.push((position, found));
    });
    prop_assert_eq!(visited, range.clone().map(|j| (j, expected.column(j))).collect::<Vec<_>>());
    let written = |column: ColumnView<'_>| {
        let mut found = vec![0.0; expected.rows];
        column.for_each(|row, x| found[row as usize] = x);
        found
    };
    let mut visited = Vec::new();
    storage.visit_ahead(range.clone(), &mut |position, column, next| {
        visited.push((position, written(column), next.map(written)));
    });
    prop_assert_eq!(visited.len(), range.len());
    for (j, (position, column, next)) in range.clone().zip(visited) {
        prop_assert_eq!((position, column), (j, expected.column(j)));
        if let Some(next) = next {
            prop_assert!(j + 1 < range.end);
            prop_assert_eq!(next, expected.column(j + 1));
        }
    }
    Ok(())
}

/// The vectors that an example has.
const OUTPUTS: usize = 5;

/// The sums of these columns with one vector, as bits.
fn dots(storage: &dyn Columns, range: Range<usize>, v: &[f64]) -> Vec<u64> {
    let mut out = vec![f64::NAN; range.len()];
    storage.dots(range, v, &mut out);
    out.into_iter().map(f64::to_bits).collect()
}

fn same_dots(storage: &dyn Columns, expected: &Example) -> Result<(), TestCaseError> {
    let (n, rows) = (storage.len(), expected.rows);
    let output = |k: usize| &expected.v[k * rows..(k + 1) * rows];
    let whole: Vec<Vec<u64>> = (0..OUTPUTS).map(|k| dots(storage, 0..n, output(k))).collect();
    for (k, whole) in whole.iter().enumerate() {
        for j in 0..n {
            let terms = || (0..rows).map(|i| expected.value(i, j) * output(k)[i]);
            let tolerance = 1e-14 * terms().map(f64::abs).sum::<f64>();
            let found = f64::from_bits(whole[j]);
            prop_assert!((found - terms().sum::<f64>()).abs() <= tolerance, "column {}, output {}", j, k);
        }
    }
    // The same bits, however the columns are asked for, and with whichever outputs.
    for begin in 0..=n {
        for end in begin..=n {
            prop_assert_eq!(&dots(storage, begin..end, output(0)), &whole[0][begin..end]);
        }
    }
    for (outputs, range) in
        [(0..2, 0..n), (1..OUTPUTS, 0..n), (0..OUTPUTS, n / 3..n), (0..OUTPUTS, n / 2..n / 2)]
    {
        let mut out = vec![f64::NAN; outputs.len() * range.len()];
        storage.dots(range.clone(), &expected.v[outputs.start * rows..outputs.end * rows], &mut out);
        let found: Vec<u64> = out.into_iter().map(f64::to_bits).collect();
        let alone: Vec<u64> = outputs.flat_map(|k| whole[k][range.clone()].to_vec()).collect();
        prop_assert_eq!(found, alone, "columns {:?}", range);
    }
    for range in [0..n, n / 3..n, n / 2..n / 2] {
        let mut squares = vec![f64::NAN; OUTPUTS * range.len()];
        storage.square_dots(range.clone(), &expected.v, &mut squares);
        for (at, found) in squares.into_iter().enumerate() {
            let (k, j) = (at / range.len(), range.start + at % range.len());
            let terms = || (0..rows).map(|i| expected.value(i, j).powi(2) * output(k)[i]);
            let tolerance = 1e-14 * terms().map(f64::abs).sum::<f64>();
            prop_assert!((found - terms().sum::<f64>()).abs() <= tolerance, "squares of {}, output {}", j, k);
        }
    }
    same_gains(storage, expected, &whole)?;
    rough_sums_hold(storage, expected)?;
    same_moments(storage, expected)?;
    if let Some(blocks) = storage.by_blocks() {
        same_blocks(blocks, storage, &expected.v, &whole.concat())?;
    }
    Ok(())
}

/// What gains are made of are the sums that would be asked for one by one.
fn same_gains(storage: &dyn Columns, expected: &Example, whole: &[Vec<u64>]) -> Result<(), TestCaseError> {
    let (n, rows) = (storage.len(), expected.rows);
    for (outputs, range) in [(1, 0..n), (1, n / 3..n), (2, 0..n), (2, n / 3..n)] {
        let mut out = vec![f64::NAN; 3 * outputs * range.len()];
        let both = &expected.v[..2 * outputs * rows];
        storage.gain_dots(range.clone(), &Outputs::new(both, rows), &mut out);
        let (dots, squares) = out.split_at(2 * outputs * range.len());
        let found: Vec<u64> = dots.iter().map(|sum| sum.to_bits()).collect();
        let sums = whole[..2 * outputs].iter();
        let alone: Vec<u64> = sums.flat_map(|sums| sums[range.clone()].to_vec()).collect();
        prop_assert_eq!(found, alone, "{} outputs, columns {:?}", outputs, range);
        let mut apart = vec![f64::NAN; squares.len()];
        storage.square_dots(range, &both[outputs * rows..], &mut apart);
        for (a, b) in squares.iter().zip(&apart) {
            prop_assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{} {}", a, b);
        }
    }
    Ok(())
}

/// Rough sums are no further from the exact ones than they say.
fn rough_sums_hold(storage: &dyn Columns, expected: &Example) -> Result<(), TestCaseError> {
    let (n, rows) = (storage.len(), expected.rows);
    let near = |rough: &[f64], exact: &[f64]| {
        let (sums, errors) = rough.split_at(exact.len());
        sums.iter().zip(errors).zip(exact).all(|((sum, error), exact)| (sum - exact).abs() <= *error)
    };
    for (outputs, range) in [(1, 0..n), (1, n / 3..n), (2, 0..n), (2, n / 3..n), (1, n / 2..n / 2)] {
        let v = &expected.v[..2 * outputs * rows];
        let (laid, width) = (Outputs::new(v, rows), range.len());
        let (mut exact, mut rough) =
            (vec![f64::NAN; 2 * outputs * width], vec![f64::NAN; 4 * outputs * width]);
        storage.dots_with(range.clone(), &laid, &mut exact);
        storage.rough_dots(range.clone(), &laid, &mut rough);
        prop_assert!(near(&rough, &exact), "columns {:?}: {:?} for {:?}", range, rough, exact);
        let (mut exact, mut rough) =
            (vec![f64::NAN; 3 * outputs * width], vec![f64::NAN; 6 * outputs * width]);
        storage.gain_dots(range.clone(), &laid, &mut exact);
        storage.rough_gain_dots(range.clone(), &laid, &mut rough);
        prop_assert!(near(&rough, &exact), "gains of {:?}: {:?} for {:?}", range, rough, exact);
    }
    Ok(())
}

fn same_moments(storage: &dyn Columns, expected: &Example) -> Result<(), TestCaseError> {
    // Who counts for nothing is not counted.
    let mut weights: Vec<f64> = expected.v[..expected.rows].iter().map(|v| v.abs()).collect();
    weights.iter_mut().step_by(3).for_each(|weight| *weight = 0.0);
    let range = storage.len() / 3..storage.len();
    let moments = storage.moments(range.clone(), &weights);
    prop_assert_eq!(moments.len(), range.len());
    for (j, found) in range.zip(moments) {
        let column = expected.column(j);
        let counted = || column.iter().zip(&weights).filter(|(_, weight)| **weight > 0.0).map(|(x, _)| *x);
        let sum: f64 = column.iter().zip(&weights).map(|(x, w)| x * w).sum();
        let square: f64 = column.iter().zip(&weights).map(|(x, w)| x * x * w).sum();
        prop_assert!((found.sum - sum).abs() <= 1e-11 * (1.0 + sum.abs()), "{} {}", found.sum, sum);
        prop_assert!((found.square - square).abs() <= 1e-11 * (1.0 + square), "{} {}", found.square, square);
        prop_assert_eq!(found.nonzeros as usize, counted().filter(|x| *x != 0.0).count());
        prop_assert_eq!(found.largest, counted().fold(0.0, |most: f64, x| most.max(x.abs())));
    }
    Ok(())
}

/// Sums that grow block after block, of any size, are the same.
fn same_blocks(
    blocks: &dyn RowBlocks,
    storage: &dyn Columns,
    v: &[f64],
    expected: &[u64],
) -> Result<(), TestCaseError> {
    let (rows, n) = (storage.rows(), storage.len());
    for block in [1, 7, blocks.block()] {
        let mut out = vec![0.0; expected.len()];
        for first in (0..rows).step_by(block) {
            let part = first..rows.min(first + block);
            blocks.fetch(part.clone());
            blocks.add_dots(part, 0..n, v, &mut out);
        }
        let found: Vec<u64> = out.into_iter().map(f64::to_bits).collect();
        prop_assert_eq!(&found, expected, "blocks of {} rows", block);
    }
    Ok(())
}

fn examples() -> impl Strategy<Value = Example> {
    let ids = proptest::collection::btree_set(prop_oneof![0u64..30, 0..u64::MAX - 1], 0..12);
    (0usize..40, ids).prop_flat_map(|(rows, ids)| {
        let value = prop_oneof![2 => Just(0.0), 3 => -10.0..10.0];
        let values = proptest::collection::vec(value, rows * ids.len());
        let v = proptest::collection::vec(prop_oneof![1 => Just(0.0), 4 => -1.0..1.0], OUTPUTS * rows);
        let ids: Vec<u64> = ids.into_iter().collect();
        (values, v).prop_map(move |(values, v)| Example { rows, ids: ids.clone(), values, v })
    })
}

fn narrowed(x: f64) -> f64 {
    f64::from(x as f32)
}

/// A whole number from 0 to 255, more of them as numbers are larger.
fn whole(x: f64) -> f64 {
    f64::from((40.0 * x.abs()) as u8)
}

proptest! {
    #[test]
    fn sparse_storage(example in examples()) {
        keeps_contracts(&example.sparse(Values::F64), &example)?;
        let narrow = example.clone().map(narrowed);
        keeps_contracts(&narrow.sparse(|x| Values::F32(x.iter().map(|&x| x as f32).collect())), &narrow)?;
        let whole = example.clone().map(whole);
        keeps_contracts(&whole.sparse(|x| Values::U8(x.iter().map(|&x| x as u8).collect())), &whole)?;
        let ones = example.map(|x| f64::from(x != 0.0));
        keeps_contracts(&ones.sparse(|_| Values::Ones), &ones)?;
    }

    #[test]
    fn dense_storage(mut example in examples()) {
        example.ids = (0..example.ids.len() as u64).collect();
        let (narrow, whole) = (example.clone().map(narrowed), example.clone().map(whole));
        for layout in [Layout::RowMajor, Layout::ColumnMajor] {
            keeps_contracts(&example.dense(|x| x, layout), &example)?;
            keeps_contracts(&narrow.dense(|x| x as f32, layout), &narrow)?;
            keeps_contracts(&whole.dense(|x| x as u8, layout), &whole)?;
            let (rows, columns) = (example.rows, example.ids.len());
            let lent = if layout == Layout::RowMajor { example.values.clone() } else { example.by_columns() };
            keeps_contracts(&*dense_over(ValuesView::F64(&lent), rows, columns, layout).unwrap(), &example)?;
            keeps_contracts(&*dense_of(Values::F64(lent), rows, columns, layout).unwrap(), &example)?;
            prop_assert!(dense_of(Values::Ones, rows, columns, layout).is_err());
        }
        keeps_contracts(&ByBlocks(example.dense(|x| x, Layout::RowMajor)), &example)?;
    }
}

/// Codes of genotypes of some people, of whom some are instances; the last variant has more than one value.
#[derive(Debug, Clone)]
struct Codes {
    people: usize,
    kept: Vec<u32>,
    columns: Vec<Vec<u8>>,
    v: Vec<f64>,
}

impl Codes {
    fn packed(&self) -> Vec<u8> {
        let column = |codes: &Vec<u8>| -> Vec<u8> {
            let byte = |four: &[u8]| four.iter().rev().fold(0, |byte, code| byte << 2 | code);
            codes.chunks(4).map(byte).collect()
        };
        self.columns.iter().flat_map(column).collect()
    }

    /// What the instances have, one by one: variants with one value are not there.
    fn example(&self) -> Example {
        let columns: Vec<Option<Vec<f64>>> = self.columns.iter().map(|codes| self.decoded(codes)).collect();
        let there = |id: &u64| columns[*id as usize].is_some();
        let ids: Vec<u64> = (0..columns.len() as u64).filter(there).collect();
        let row = |i: usize| columns.iter().flatten().map(move |column| column[i]);
        let values = (0..self.kept.len()).flat_map(row).collect();
        Example { rows: self.kept.len(), ids, values, v: self.v.clone() }
    }

    fn decoded(&self, codes: &[u8]) -> Option<Vec<f64>> {
        let dosage = |code: u8| [Some(2.0), None, Some(1.0), Some(0.0)][usize::from(code)];
        let values: Vec<Option<f64>> = self.kept.iter().map(|&i| dosage(codes[i as usize])).collect();
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        let varies = known.iter().any(|x| *x != known[0]);
        varies.then(|| values.into_iter().map(|x| x.unwrap_or(mean)).collect())
    }
}

fn genotypes() -> impl Strategy<Value = Codes> {
    (2usize..150, 1usize..9, 0.0..1.0f64).prop_flat_map(|(people, variants, missing)| {
        let code = prop_oneof![1 + (missing * 10.0) as u32 => Just(1u8), 3 => Just(0u8), 3 => Just(2u8), 4 => Just(3u8)];
        let column = prop_oneof![5 => proptest::collection::vec(code, people), 1 => Just(vec![2; people])];
        let columns = proptest::collection::vec(column, variants);
        let kept = proptest::collection::btree_set(0..people as u32, 2..=people);
        let kept = prop_oneof![Just((0..people as u32).collect()), kept];
        let v = proptest::collection::vec(prop_oneof![1 => Just(0.0), 4 => -1.0..1.0], OUTPUTS * people);
        (columns, kept, v).prop_map(move |(mut columns, kept, mut v)| {
            let kept: Vec<u32> = kept.into_iter().collect();
            let last = columns.last_mut().unwrap();
            (last[kept[0] as usize], last[kept[1] as usize]) = (0, 3);
            v.truncate(OUTPUTS * kept.len());
            Codes { people, kept, columns, v }
        })
    })
}

proptest! {
    #[test]
    fn genotypes_of_two_bits(codes in genotypes()) {
        let kept = (codes.kept.len() < codes.people).then(|| codes.kept.clone());
        let stored = || Genotypes::new(codes.packed(), codes.people, codes.columns.len(), kept.clone(), None).unwrap();
        let example = codes.example();
        keeps_contracts(&stored(), &example)?;
        // Whatever stands in the bits that belong to nobody.
        let (mut packed, stride) = (codes.packed(), codes.people.div_ceil(4));
        let filled = 2 * (codes.people - 4 * (stride - 1)) as u32;
        packed.iter_mut().skip(stride - 1).step_by(stride).for_each(|byte| *byte |= (0xff_u32 << filled) as u8);
        let odd = Genotypes::new(packed, codes.people, codes.columns.len(), kept.clone(), None).unwrap();
        keeps_contract(&odd, &example)?;
        // Beside other columns.
        let ages = Dense::new(codes.v[..2 * example.rows].to_vec(), example.rows, 2, Layout::ColumnMajor).unwrap();
        let joined = Joined::new(Box::new(stored()), Box::new(ages)).unwrap();
        let first = codes.columns.len() as u64;
        let row = |i: usize| (0..example.ids.len()).map(move |j| (i, j));
        let both = |i: usize| {
            row(i).map(|(i, j)| example.value(i, j)).chain([0, 1].map(|k| codes.v[k * example.rows + i]))
        };
        let values = (0..example.rows).flat_map(both).collect();
        let ids = example.ids.iter().copied().chain([first, first + 1]).collect();
        keeps_contracts(&joined, &Example { rows: example.rows, ids, values, v: codes.v.clone() })?;
    }
}

/// More people than are looked at together: several blocks, and many who are missing or few.
#[test]
fn genotypes_of_many_people() {
    for (people, part) in [(2048, 3), (2049, 0), (5000, 1000), (4100, 2)] {
        let code = |i: usize, j: usize| match (i * i + 31 * i * j + j) % 97 {
            k if k < part.min(40) || part > 40 && (i + j).is_multiple_of(part) => 1,
            k => [0, 2, 3, 3, 2][k % 5],
        };
        let columns: Vec<Vec<u8>> = (0..40).map(|j| (0..people).map(|i| code(i, j)).collect()).collect();
        let kept: Vec<u32> = (0..people as u32).filter(|i| part != 2 || i % 7 != 0).collect();
        let v = (0..OUTPUTS * kept.len()).map(|i| (i as f64 * 0.7).cos()).collect();
        let codes = Codes { people, kept: kept.clone(), columns, v };
        let stored = Genotypes::new(codes.packed(), people, 40, Some(kept), None).unwrap();
        keeps_contract(&stored, &codes.example()).unwrap();
    }
}

#[test]
fn genotypes_that_do_not_fit_are_refused() {
    let refused = |bytes: usize, people, variants, kept| {
        Genotypes::new(vec![0; bytes], people, variants, kept, None).is_err()
    };
    assert!(!refused(6, 7, 3, None));
    assert!(refused(5, 7, 3, None), "a byte too few");
    assert!(refused(7, 7, 3, None), "a byte too many");
    assert!(refused(6, 7, 3, Some(vec![0, 7])), "a person who is not there");
    assert!(refused(6, 7, 3, Some(vec![3, 2])), "people out of order");
}

/// Longer and wider than what is read at a time, in every direction.
#[test]
fn large_data_are_summed_as_small_ones() {
    for (rows, columns) in [(4999, 39), (130, 1200)] {
        let value = |k: usize| if k.is_multiple_of(11) { 0.0 } else { ((k * k) as f64).sin() };
        let example = Example {
            rows,
            ids: (0..columns as u64).collect(),
            values: (0..rows * columns).map(value).collect(),
            v: (0..OUTPUTS * rows).map(|i| if i % 7 == 0 { 0.0 } else { (i as f64 * 0.7).cos() }).collect(),
        };
        let storages: [&dyn Columns; 4] = [
            &example.dense(|x| x, Layout::RowMajor),
            &example.dense(|x| x, Layout::ColumnMajor),
            &example.sparse(Values::F64),
            &ByBlocks(example.dense(|x| x, Layout::RowMajor)),
        ];
        for storage in storages {
            let mut all = vec![f64::NAN; OUTPUTS * columns];
            storage.dots(0..columns, &example.v, &mut all);
            let bits: Vec<u64> = all.iter().map(|sum| sum.to_bits()).collect();
            for (k, found) in bits.chunks(columns).enumerate() {
                assert_eq!(found, dots(storage, 0..columns, &example.v[k * rows..(k + 1) * rows]));
            }
            for j in [0, columns / 2, columns - 1] {
                let terms = example.column(j).into_iter().zip(&example.v[rows..]);
                let expected: f64 = terms.map(|(x, v)| x * v).sum();
                assert!((all[columns + j] - expected).abs() < 1e-10, "{} {expected}", all[columns + j]);
            }
            if let Some(blocks) = storage.by_blocks() {
                same_blocks(blocks, storage, &example.v, &bits).unwrap();
            }
        }
    }
}

/// A matrix by rows that is read by blocks although it is small.
struct ByBlocks(Dense<f64, Vec<f64>>);

impl Columns for ByBlocks {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn dimension(&self) -> u64 {
        self.0.dimension()
    }

    fn nonzeros(&self) -> u64 {
        self.0.nonzeros()
    }

    fn id(&self, position: usize) -> u64 {
        self.0.id(position)
    }

    fn position(&self, id: u64) -> Option<usize> {
        self.0.position(id)
    }

    fn batch(&self) -> usize {
        self.0.batch()
    }

    fn dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        self.0.dots(range, v, out);
    }

    fn by_blocks(&self) -> Option<&dyn RowBlocks> {
        Some(&self.0)
    }

    fn gather(&self, positions: &[usize]) -> Vec<Column> {
        self.0.gather(positions)
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
