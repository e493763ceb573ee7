//! What the columns of a table mean: numbers, categories, dates, missing values. Knows nothing of files or of learning.
//!
//! Readers make [`Frame`]s. A [`Survey`] of all rows says what the columns are, a [`Schema`] what becomes of each, and a [`Recipe`],
//! which is kept with the model, how they become inputs.

pub mod cells;
mod encode;
mod frame;
mod listed;
mod recipe;
mod schema;
mod strangers;
mod survey;
mod texts;

pub use encode::{Encoded, Inputs, Unseen};
pub use frame::{Frame, Series, Unit};
pub use listed::listed;
pub use recipe::{Category, Column, How, Number, Recipe, Written};
pub(crate) use schema::{Ask, asked, is_called_id};
pub use schema::{Described, Fate, Kind, Schema};
pub use strangers::Strangers;
pub use survey::{Survey, Surveyed, Tally};
pub use texts::{Levels, MISSING, Texts};

use crate::error::{Error, Result};

/// What is put where a number is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Impute {
    /// The mean of those of the training data.
    #[default]
    Mean,
    /// Their median.
    Median,
}

impl Impute {
    /// Both, with what users call them.
    pub const ALL: [(&'static str, &'static str, Self); 2] =
        [("mean", "The mean of the training data", Self::Mean), ("median", "Their median", Self::Median)];

    /// The one of that name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(own, ..)| *own == name).map(|(.., impute)| *impute)
    }
}

/// How users want the columns of a table to be taken. Columns are listed by names, numbers from 1, ranges of them and patterns with
/// `*`, each an item.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Columns that are not looked at.
    pub ignore: Vec<String>,
    /// Columns that tell rows apart, and are no inputs either.
    pub id: Vec<String>,
    /// Columns that are numbers, be they dates, or look like numbers of rows.
    pub number: Vec<String>,
    /// Columns that are categories, be they numbers.
    pub category: Vec<String>,
    /// What is put where a number is missing.
    pub impute: Impute,
    /// Levels of a category that have inputs of their own, at most: the most frequent.
    pub most_levels: usize,
}

impl Default for Options {
    fn default() -> Self {
        let (ignore, id, number, category) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { ignore, id, number, category, impute: Impute::Mean, most_levels: 1000 }
    }
}

impl Options {
    /// The items of a list with commas between.
    pub fn items(list: &str) -> Vec<String> {
        list.split(',').map(|item| item.trim().to_owned()).collect()
    }

    /// What may be wrong with them, whatever the table is.
    pub fn check(&self) -> Result<()> {
        if self.most_levels == 0 {
            return Err(Error::parameter("most-levels", "must be at least 1"));
        }
        Ok(())
    }
}
