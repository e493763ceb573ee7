//! A table, or some rows of one, in memory: numbers by rows, text by columns.

use super::texts::Texts;
use crate::error::{Result, reserve};

/// What numbers of a column were before they were numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Numbers.
    Plain,
    /// True and false, as 1 and 0.
    Truth,
    /// Dates, as days since 1970.
    Days,
}

/// What is known of the cells of a column.
#[derive(Debug, Clone)]
pub enum Series {
    /// Numbers, which are at this place of every row; what is missing is not a number.
    Numbers(usize, Unit),
    /// Text.
    Texts(Texts),
    /// Nothing: they are not looked at.
    Unread,
}

/// Some rows of a table. Numbers lie together by rows, as a reader meets them and as dense data are kept.
#[derive(Debug, Clone)]
pub struct Frame {
    /// What the columns are called, in the order of the table.
    pub names: Vec<String>,
    /// The cells of each.
    pub columns: Vec<Series>,
    /// Number of rows.
    pub rows: usize,
    /// Numbers in a row.
    pub width: usize,
    /// All numbers, row after row.
    pub numbers: Vec<f64>,
}

impl Frame {
    /// A table without rows.
    pub fn empty(names: Vec<String>, columns: Vec<Series>) -> Self {
        let width = columns.iter().filter(|column| matches!(column, Series::Numbers(..))).count();
        Self { names, columns, rows: 0, width, numbers: Vec::new() }
    }

    /// The numbers at a place of every row.
    pub fn at(&self, place: usize) -> impl Iterator<Item = f64> + '_ {
        self.numbers.iter().skip(place).step_by(self.width.max(1)).copied()
    }

    /// Adds the rows of another part of the same table, whose columns are of the same kinds.
    pub fn append(&mut self, other: &Self, file: &str) -> Result<()> {
        reserve(&mut self.numbers, other.numbers.len(), file)?;
        self.numbers.extend_from_slice(&other.numbers);
        for (own, added) in self.columns.iter_mut().zip(&other.columns) {
            if let (Series::Texts(own), Series::Texts(added)) = (own, added) {
                own.append(added);
            }
        }
        self.rows += other.rows;
        Ok(())
    }

    /// Some of its rows.
    pub fn rows_where(&self, wanted: impl Fn(usize) -> bool) -> Self {
        let rows: Vec<usize> = (0..self.rows).filter(|&row| wanted(row)).collect();
        let numbers = rows.iter().flat_map(|row| &self.numbers[row * self.width..(row + 1) * self.width]);
        let series = |series: &Series| match series {
            Series::Texts(texts) => Series::Texts(texts.at(&rows)),
            other => other.clone(),
        };
        Self {
            names: self.names.clone(),
            columns: self.columns.iter().map(series).collect(),
            rows: rows.len(),
            width: self.width,
            numbers: numbers.copied().collect(),
        }
    }

    /// Takes the numbers at these places of every row, in that order. In place where these are all, or in order.
    pub fn take_numbers(&mut self, places: &[usize]) -> Vec<f64> {
        let mut numbers = std::mem::take(&mut self.numbers);
        if places.iter().copied().eq(0..self.width) {
            return numbers;
        }
        if places.is_sorted() {
            let mut to = 0;
            for row in 0..self.rows {
                for &place in places {
                    numbers[to] = numbers[row * self.width + place];
                    to += 1;
                }
            }
            numbers.truncate(to);
            numbers.shrink_to_fit();
            return numbers;
        }
        let rows = numbers.chunks_exact(self.width.max(1));
        rows.flat_map(|row| places.iter().map(|&place| row[place])).collect()
    }
}
