//! How the columns of a table become inputs. A recipe is learned from training data and kept with the model, which then takes
//! tables as they come.

use std::collections::HashSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::cells::{self, Dates, Separators};
use super::schema::{Fate, Schema};
use crate::data::read::quoted;
use crate::error::{Error, Result};
use crate::model::GivenGroup;

const VERSION: u32 = 1;

/// How a table's columns become inputs, in their order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    version: u32,
    columns: Vec<Column>,
}

/// A column of a table, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// What the column is called.
    pub column: String,
    /// What becomes of it.
    #[serde(flatten)]
    pub how: How,
}

/// What becomes of a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// A number, and perhaps another input that says whether it is missing.
    Number(Number),
    /// An input for each level: 1 where the column has it, else 0.
    Category(Category),
}

/// A column of numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Number {
    /// How they are written in text.
    #[serde(default, skip_serializing_if = "Written::is_point")]
    pub written: Written,
    /// What is put where there is none; without it, a missing value is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<f64>,
    /// Whether there is an input for that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub indicator: bool,
}

/// How numbers are written in text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Written {
    /// `1234.5`.
    #[default]
    Point,
    /// `1,234.5`, or with blanks between the thousands.
    Grouped,
    /// `1.234,5`.
    Comma,
    /// `true` and `false`, `yes` and `no`, 1 and 0.
    Truth,
    /// `2026-11-17`, as days since 1970.
    Iso,
    /// `17/11/2026`, likewise.
    DayFirst,
    /// `11/17/2026`, likewise.
    MonthFirst,
}

impl From<Separators> for Written {
    fn from(separators: Separators) -> Self {
        match separators {
            Separators::Point => Self::Point,
            Separators::Grouped => Self::Grouped,
            Separators::Comma => Self::Comma,
        }
    }
}

impl From<Dates> for Written {
    fn from(dates: Dates) -> Self {
        match dates {
            Dates::Iso => Self::Iso,
            Dates::DayFirst => Self::DayFirst,
            Dates::MonthFirst => Self::MonthFirst,
        }
    }
}

impl Written {
    fn is_point(&self) -> bool {
        *self == Self::Point
    }

    /// The number that a cell is.
    pub fn number(self, cell: &str) -> Option<f64> {
        match self {
            Self::Point => Separators::Point.number(cell),
            Self::Grouped => Separators::Grouped.number(cell),
            Self::Comma => Separators::Comma.number(cell),
            Self::Truth => cells::truth(cell).map(f64::from),
            Self::Iso => Dates::Iso.days(cell),
            Self::DayFirst => Dates::DayFirst.days(cell),
            Self::MonthFirst => Dates::MonthFirst.days(cell),
        }
    }

    /// What to say of a cell that is no such number.
    pub fn complaint(self) -> &'static str {
        match self {
            Self::Point | Self::Grouped => "is not a number",
            Self::Comma => "is not a number with a decimal comma, as those of the training data are",
            Self::Truth => "is neither true nor false",
            Self::Iso => "is not a date such as 2026-11-17",
            Self::DayFirst => "is not a date such as 17/11/2026",
            Self::MonthFirst => "is not a date such as 11/17/2026",
        }
    }
}

impl Number {
    pub(super) fn written(written: Written) -> Self {
        Self { written, missing: None, indicator: false }
    }
}

/// A column of categories.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Category {
    /// Those that have inputs, in the order of the alphabet.
    pub levels: Vec<String>,
    /// Whether there is an input for all others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub other: bool,
    /// Whether there is one for missing values.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
}

/// What the inputs of all other levels and of missing values are called. A level that is called so has the same input.
pub(super) const OTHER: &str = "other";
pub(super) const NONE: &str = "missing";

impl Category {
    /// The place of a level among the inputs.
    pub(super) fn place(&self, level: &str) -> Option<usize> {
        self.levels.binary_search_by(|known| known.as_str().cmp(level)).ok()
    }

    /// That of all others.
    pub(super) fn other_place(&self) -> Option<usize> {
        self.other.then(|| self.place(OTHER).unwrap_or(self.levels.len()))
    }

    /// That of missing values.
    pub(super) fn missing_place(&self) -> Option<usize> {
        let after = self.levels.len() + usize::from(self.other && self.place(OTHER).is_none());
        self.missing.then(|| self.place(NONE).unwrap_or(after))
    }

    fn inputs(&self) -> usize {
        let own = |place: Option<usize>| usize::from(place.is_some_and(|place| place >= self.levels.len()));
        self.levels.len() + own(self.other_place()) + own(self.missing_place())
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let added = [(self.other_place(), OTHER), (self.missing_place(), NONE)];
        let added = added.into_iter().filter(|(place, _)| place.is_some_and(|at| at >= self.levels.len()));
        self.levels.iter().map(String::as_str).chain(added.map(|(_, name)| name))
    }
}

impl How {
    /// How many inputs it makes.
    pub fn inputs(&self) -> usize {
        match self {
            Self::Number(number) => 1 + usize::from(number.indicator),
            Self::Category(category) => category.inputs(),
        }
    }
}

impl Column {
    /// How many inputs it makes.
    pub fn inputs(&self) -> usize {
        self.how.inputs()
    }

    /// What they are called.
    fn names(&self) -> Vec<String> {
        let column = &self.column;
        match &self.how {
            How::Number(number) => {
                let missing = number.indicator.then(|| format!("{column} = {NONE}"));
                std::iter::once(column.clone()).chain(missing).collect()
            }
            How::Category(category) => category.names().map(|level| format!("{column} = {level}")).collect(),
        }
    }
}

impl Recipe {
    /// What becomes of a table of this kind.
    pub fn new(schema: &Schema) -> Result<Self> {
        let taken = schema.columns.iter().filter_map(|described| match &described.fate {
            Fate::Taken(how) => Some(Column { column: described.name.clone(), how: how.clone() }),
            _ => None,
        });
        let recipe = Self { version: VERSION, columns: taken.collect() };
        recipe.check().map_err(Error::Data)?;
        Ok(recipe)
    }

    /// Numbers of columns that are called so, with nothing missing.
    pub fn plain(names: impl IntoIterator<Item = String>) -> Self {
        let number = |column| Column { column, how: How::Number(Number::written(Written::Point)) };
        Self { version: VERSION, columns: names.into_iter().map(number).collect() }
    }

    /// What becomes of each column.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Whether it says nothing but that all columns are numbers, as they are in data without a recipe.
    pub fn is_plain(&self) -> bool {
        let plain = How::Number(Number::written(Written::Point));
        self.columns.iter().all(|column| column.how == plain)
    }

    /// Whether no column makes more than one input, so that there is nothing to be taken together.
    pub fn is_one_each(&self) -> bool {
        self.columns.iter().all(|column| matches!(&column.how, How::Number(number) if !number.indicator))
    }

    /// How many inputs there are.
    pub fn inputs(&self) -> usize {
        self.columns.iter().map(Column::inputs).sum()
    }

    /// What the inputs are called: `age`, `age = missing`, `colour = red`.
    pub fn names(&self) -> Vec<String> {
        self.columns.iter().flat_map(Column::names).collect()
    }

    /// The inputs of each column, by their numbers from 0.
    pub fn ranges(&self) -> impl Iterator<Item = (&Column, Range<u64>)> {
        let mut next = 0;
        self.columns.iter().map(move |column| {
            let first = next;
            next += column.inputs() as u64;
            (column, first..next)
        })
    }

    /// The inputs of the column of a name, without the first level of a category: it follows from the others, of which every row
    /// has one.
    pub fn independent(&self, name: &str) -> Option<Range<u64>> {
        let (column, inputs) = self.ranges().find(|(column, _)| column.column == name)?;
        let category = matches!(column.how, How::Category(_)) && inputs.end > inputs.start;
        Some(inputs.start + u64::from(category)..inputs.end)
    }

    /// The inputs of each column as a group that is selected as a whole, where there is more than one of any.
    pub fn groups(&self) -> Option<Vec<GivenGroup>> {
        let group = |(column, range): (&Column, Range<u64>)| GivenGroup {
            name: Some(column.column.clone()),
            features: range.collect(),
        };
        (!self.is_one_each())
            .then(|| self.ranges().map(group).filter(|group| !group.features.is_empty()).collect())
    }

    /// What becomes of these columns only.
    pub fn only(&self, keep: impl Fn(&Column, Range<u64>) -> bool) -> Self {
        let kept = self.ranges().filter(|(column, range)| keep(column, range.clone()));
        Self { version: self.version, columns: kept.map(|(column, _)| column.clone()).collect() }
    }

    /// What is wrong with it, which may come from a file.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.version != VERSION {
            let version = self.version;
            return Err(format!("the recipe has version {version}; this featgen reads version {VERSION}"));
        }
        let mut names = HashSet::new();
        for column in &self.columns {
            let shown = || quoted(column.column.as_bytes());
            match &column.how {
                How::Number(number) if number.missing.is_some_and(|x| !x.is_finite()) => {
                    return Err(format!("column {}: what is put where no number is must be finite", shown()));
                }
                How::Category(category) if !category.levels.is_sorted_by(|a, b| a < b) => {
                    return Err(format!("column {}: its levels are not in order", shown()));
                }
                _ => {}
            }
            if let Some(name) = column.names().into_iter().find(|name| !names.insert(name.clone())) {
                return Err(format!(
                    "two inputs would be called {}: rename a column",
                    quoted(name.as_bytes())
                ));
            }
        }
        Ok(())
    }
}
