//! What a space can be told: parameters with their ranges, and values that lie in them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A parameter of one space or of several.
#[derive(Debug, PartialEq)]
pub struct Parameter {
    /// What models, checkpoints and errors call it, in words with dashes: `min-support`. The command's option is
    /// `--min-support`, Python's parameter `min_support`.
    pub id: &'static str,
    /// A letter or a word that stands for its value in help.
    pub symbol: &'static str,
    /// What it means, in a few words.
    pub help: &'static str,
    /// What its value may be.
    pub range: Range,
    /// Its value if none is given; `None` if it then has none.
    pub default: Option<Value>,
    /// What is done where it has no value, in a few words; may be empty.
    pub otherwise: &'static str,
}

/// What the value of a parameter may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Range {
    /// A whole number within these two.
    Whole(usize, usize),
    /// A finite number above this one.
    Above(f64),
    /// A finite number of at least this one.
    AtLeast(f64),
    /// A list of input features.
    Features,
}

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A whole number.
    Whole(usize),
    /// A number.
    Real(f64),
    /// Ids of input features, counted from 0.
    Features(Vec<u64>),
}

impl Parameter {
    /// The value that a text says.
    pub fn read(&self, text: &str) -> Result<Value> {
        let value = match self.range {
            Range::Whole(..) => text.parse().ok().map(Value::Whole),
            Range::Above(_) | Range::AtLeast(_) => text.parse().ok().map(Value::Real),
            Range::Features => None,
        };
        value.filter(|value| self.range.holds(value)).ok_or_else(|| self.wrong(text))
    }

    /// The value itself if it is one that the parameter may have.
    pub fn check(&self, value: Value) -> Result<Value> {
        let value = match (value, self.range) {
            // Files have 1 for 1.0.
            (Value::Whole(x), Range::Above(_) | Range::AtLeast(_)) => Value::Real(x as f64),
            (value, _) => value,
        };
        if self.range.holds(&value) { Ok(value) } else { Err(self.wrong(&value.to_string())) }
    }

    fn wrong(&self, value: &str) -> Error {
        Error::parameter(self.id, format!("must be {}, not {value}", self.range))
    }
}

impl Range {
    fn holds(self, value: &Value) -> bool {
        match (value, self) {
            (Value::Whole(x), Self::Whole(least, most)) => (least..=most).contains(x),
            (Value::Real(x), Self::Above(least)) => x.is_finite() && *x > least,
            (Value::Real(x), Self::AtLeast(least)) => x.is_finite() && *x >= least,
            (Value::Features(_), Self::Features) => true,
            _ => false,
        }
    }
}

impl fmt::Display for Range {
    /// As it stands after "must be".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(least, usize::MAX) => write!(f, "a whole number of at least {least}"),
            Self::Whole(least, most) => write!(f, "a whole number within {least} and {most}"),
            Self::Above(least) => write!(f, "a finite number above {least}"),
            Self::AtLeast(least) => write!(f, "a finite number of at least {least}"),
            Self::Features => f.write_str("a list of features"),
        }
    }
}

impl fmt::Display for Value {
    /// As models and checkpoints have it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(x) => x.fmt(f),
            Self::Real(x) => x.fmt(f),
            Self::Features(ids) => write!(f, "{} features", ids.len()),
        }
    }
}
