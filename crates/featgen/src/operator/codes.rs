//! Columns of which each row holds one of few things, told by a code.

use std::sync::{Arc, OnceLock};

use super::{LinearOperator, Operator, find_rows, moved_rows};
use crate::data::ColumnView;

/// A code for every row, 0 for rows that hold nothing.
#[derive(Debug)]
pub(crate) enum Codes {
    /// Of the first rows, one after the other; all others have code 0.
    First(Vec<u16>),
    /// Of some rows, which increase; all others have code 0.
    Some(Vec<u32>, Vec<u16>),
}

/// Rows, for each one that has a code, up to which it takes no more memory to keep a code for all.
const SPARSE: usize = 3;

/// The most values that are told apart, and how many rows each should have on average for codes to pay.
const FEW: usize = 255;
const ROWS_EACH: usize = 4;

/// Places where values are looked up: a power of two, and enough that few of them share one.
const SLOTS: usize = 1 << 11;

/// Entries that are added up apart: rows that follow each other need not wait for each other, even if they have the same code.
const APART: usize = 4;

impl Codes {
    /// Of rows, which increase, with codes above 0.
    pub(crate) fn new(rows: Vec<u32>, codes: Vec<u16>) -> Self {
        let all = rows.last().map_or(0, |&last| last as usize + 1);
        if all > SPARSE * rows.len() {
            return Self::Some(rows, codes);
        }
        let mut first = vec![0; all];
        rows.iter().zip(codes).for_each(|(&row, code)| first[row as usize] = code);
        Self::First(first)
    }

    /// A code for each of the values of a column other than 0, and these values, if they are few.
    pub(crate) fn of_few(column: ColumnView<'_>) -> Option<(Self, Vec<f64>)> {
        let (mut values, mut slots) = (Vec::new(), vec![0; SLOTS]);
        let (mut rows, mut codes) = (Vec::with_capacity(column.len()), Vec::with_capacity(column.len()));
        column.each_nonzero(|row, x| {
            if values.len() <= FEW {
                rows.push(row);
                codes.push(code_of(x, &mut values, &mut slots));
            }
        });
        let pays = values.len() <= FEW && ROWS_EACH * values.len() <= rows.len();
        pays.then(|| (Self::new(rows, codes), values))
    }

    /// Adds to every row what the table has for its code: 0 for code 0.
    fn add(&self, table: &[f64], f: &mut [f64]) {
        match self {
            Self::First(codes) => f.iter_mut().zip(codes).for_each(|(f, &code)| *f += table[code as usize]),
            Self::Some(rows, codes) => {
                rows.iter().zip(codes).for_each(|(&row, &code)| f[row as usize] += table[code as usize]);
            }
        }
    }

    /// The sum of `v` over the rows of each of so many codes; nothing for code 0.
    fn sums(&self, v: &[f64], count: usize) -> Vec<f64> {
        let mut sums = vec![[0.0; APART]; count];
        match self {
            Self::First(codes) => {
                for (codes, v) in codes.chunks(APART).zip(v.chunks(APART)) {
                    for (k, (&code, v)) in codes.iter().zip(v).enumerate() {
                        sums[code as usize][k] += v;
                    }
                }
            }
            Self::Some(rows, codes) => {
                for (rows, codes) in rows.chunks(APART).zip(codes.chunks(APART)) {
                    for (k, (&row, &code)) in rows.iter().zip(codes).enumerate() {
                        sums[code as usize][k] += v[row as usize];
                    }
                }
            }
        }
        sums[0] = [0.0; APART];
        sums.into_iter().map(|sums| sums.iter().sum()).collect()
    }

    /// Calls `each` with every row that has a code above 0, in order, and the code.
    pub(crate) fn for_each(&self, mut each: impl FnMut(usize, usize)) {
        match self {
            Self::First(codes) => {
                let codes = codes.iter().enumerate().filter(|(_, code)| **code > 0);
                codes.for_each(|(row, &code)| each(row, code as usize));
            }
            Self::Some(rows, codes) => {
                rows.iter().zip(codes).for_each(|(&row, &code)| each(row as usize, code as usize));
            }
        }
    }

    /// Calls `each` with the index of every one of some rows, in order, and with its code.
    fn each_of(&self, rows: &[(u32, f64)], mut each: impl FnMut(usize, usize)) {
        match self {
            Self::First(codes) => {
                let code = |row: u32| codes.get(row as usize).map_or(0, |&code| code as usize);
                rows.iter().enumerate().for_each(|(at, &(row, _))| each(at, code(row)));
            }
            Self::Some(filled, codes) => {
                find_rows(rows, filled, |at, found| each(at, found.map_or(0, |found| codes[found] as usize)));
            }
        }
    }

    fn restrict(&self, place: &[Option<u32>]) -> Self {
        match self {
            Self::First(codes) => {
                let kept = codes.iter().zip(place).filter(|(_, place)| place.is_some());
                Self::First(kept.map(|(code, _)| *code).collect())
            }
            Self::Some(rows, codes) => {
                let (rows, from) = moved_rows(rows, place);
                Self::Some(rows, from.into_iter().map(|k| codes[k]).collect())
            }
        }
    }
}

/// The code of a value, which is added to the `values` if it is new. `slots` have the codes seen so far, or 0.
fn code_of(x: f64, values: &mut Vec<f64>, slots: &mut [u16]) -> u16 {
    // The highest bits of such a product depend on all bits.
    let hash = x.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SLOTS.ilog2());
    let mut slot = hash as usize;
    loop {
        match slots[slot] {
            0 => {
                values.push(x);
                slots[slot] = values.len() as u16;
                return slots[slot];
            }
            code if values[code as usize - 1] == x => return code,
            _ => slot = (slot + 1) % SLOTS,
        }
    }
}

/// Columns that depend on the code of a row alone: what is to be done with all rows is done with all codes, which are fewer.
#[derive(Debug)]
pub struct Coded {
    codes: Codes,
    /// Number of codes, with 0.
    count: usize,
    /// The same columns over codes instead of rows. Code 0 has nothing but zeros.
    over_codes: Arc<dyn LinearOperator>,
    /// These written down, code after code, once they are needed.
    written: OnceLock<Vec<f64>>,
}

impl Coded {
    /// Columns that are known for each of so many codes, 0 among them.
    pub(crate) fn new(codes: Codes, count: usize, over_codes: Arc<dyn LinearOperator>) -> Self {
        Self { codes, count, over_codes, written: OnceLock::new() }
    }

    pub(crate) fn codes(&self) -> &Codes {
        &self.codes
    }

    /// Number of codes, with 0.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The columns over codes instead of rows.
    pub(crate) fn over_codes(&self) -> &Arc<dyn LinearOperator> {
        &self.over_codes
    }
}

impl LinearOperator for Coded {
    fn width(&self) -> usize {
        self.over_codes.width()
    }

    fn costs_as_one_column(&self) -> bool {
        self.over_codes.costs_as_one_column()
    }

    fn is_nested(&self) -> bool {
        self.over_codes.is_nested()
    }

    fn coded(&self) -> Option<&Coded> {
        Some(self)
    }

    fn apply(&self, w: &[f64], f: &mut [f64]) {
        let mut table = vec![0.0; self.count];
        self.over_codes.apply(w, &mut table);
        self.codes.add(&table, f);
    }

    fn transpose(&self, v: &[f64]) -> Vec<f64> {
        self.over_codes.transpose(&self.codes.sums(v, self.count))
    }

    fn squares(&self, v: &[f64]) -> Vec<f64> {
        self.over_codes.squares(&self.codes.sums(v, self.count))
    }

    fn pack(&self, rows: &[(u32, f64)], stride: usize, out: &mut [f64]) {
        let width = self.width();
        let written = self.written.get_or_init(|| {
            let all: Vec<(u32, f64)> = (0..self.count as u32).map(|code| (code, 0.0)).collect();
            let mut written = vec![0.0; self.count * width];
            self.over_codes.pack(&all, width, &mut written);
            written
        });
        self.codes.each_of(rows, |at, code| {
            out[at * stride..][..width].copy_from_slice(&written[code * width..][..width]);
        });
    }

    fn restrict(&self, place: &[Option<u32>]) -> Operator {
        let codes = self.codes.restrict(place);
        Operator::Implicit(Arc::new(Self::new(codes, self.count, Arc::clone(&self.over_codes))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Column;

    #[test]
    fn values_have_codes_if_they_are_few() {
        let few: Vec<f64> = (0..2000).map(|i| f64::from(i % 256) - 100.0).collect();
        let (codes, values) = Codes::of_few(Column::Dense(few.clone()).view()).unwrap();
        assert_eq!(values.len(), 255);
        let rows: Vec<(u32, f64)> = (0..2000).step_by(3).map(|row| (row, 0.0)).collect();
        codes.each_of(&rows, |at, code| {
            assert_eq!(if code == 0 { 0.0 } else { values[code - 1] }, few[3 * at]);
        });
        let more: Vec<f64> = (0..2000).map(|i| f64::from(i % 257) - 100.0).collect();
        assert!(Codes::of_few(Column::Dense(more).view()).is_none());
        let different: Vec<f64> = (1..40).map(f64::from).collect();
        assert!(Codes::of_few(Column::Dense(different).view()).is_none());
        let (codes, values) = Codes::of_few(Column::Dense(vec![0.0; 9]).view()).unwrap();
        assert!(values.is_empty() && matches!(codes, Codes::First(codes) if codes.is_empty()));
    }
}
