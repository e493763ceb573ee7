//! The header of a table, and the columns that say what is to be predicted.

use std::collections::{HashMap, HashSet};

use csv::ByteRecord;

use super::quoted;
use super::spellings::Spellings;
use crate::data::Names;
use crate::error::{Error, Place, Reason, Result};
use crate::table::cells::is_missing_label;

/// Where labels stand.
#[derive(Clone, Copy)]
pub(super) struct Label<'a> {
    /// The column's name, or its number from 1.
    pub(super) column: Option<&'a str>,
    /// Where labels are times: the column that says whether there was an event, likewise.
    pub(super) event: Option<&'a str>,
    /// Whether there must be one.
    pub(super) required: bool,
}

/// Names shown of a header that does not hold what is looked for.
const NAMES_SHOWN: usize = 8;

/// What a table says before its rows.
pub(super) struct Header {
    pub(super) file: String,
    pub(super) names: Vec<String>,
    pub(super) label: Option<usize>,
    /// Where labels are times: the column that says whether there was an event.
    pub(super) event: Option<usize>,
}

impl Header {
    pub(super) fn new(file: String, line: u64, record: &ByteRecord, label: Label<'_>) -> Result<Self> {
        let mut names: Vec<String> = Vec::with_capacity(record.len());
        let mut seen = HashSet::new();
        for (k, cell) in record.iter().map(<[u8]>::trim_ascii).enumerate() {
            let wrong = |reason: String| Err(Error::input(Place::at(&file, line, k as u64 + 1), reason));
            let Ok(name) = std::str::from_utf8(cell) else {
                return wrong(format!(
                    "the name of column {}, {}, is not text in UTF-8",
                    k + 1,
                    quoted(cell)
                ));
            };
            if !seen.insert(name) {
                return wrong(format!("two columns are called {}", quoted(cell)));
            }
            names.push(name.to_owned());
        }
        Self::found(Place::at(file.clone(), line, 1), file, names, label)
    }

    /// That of a table whose columns are called so.
    #[cfg(feature = "arrow")]
    pub(super) fn of(file: String, names: Vec<String>, label: Label<'_>) -> Result<Self> {
        let mut seen = HashSet::new();
        if let Some(name) = names.iter().find(|name| !seen.insert(name.as_str())) {
            let reason = format!("two columns are called {}", quoted(name.as_bytes()));
            return Err(Error::input(file.as_str(), reason));
        }
        Self::found(Place::from(file.as_str()), file, names, label)
    }

    /// Finds what is to be predicted; if it is not there, that is wrong at a place.
    fn found(place: Place, file: String, names: Vec<String>, label: Label<'_>) -> Result<Self> {
        let here = |reason| Error::input(place.clone(), reason);
        let event = match label.event {
            Some(column) if label.required => Some(find(&names, column).map_err(here)?),
            Some(column) => find(&names, column).ok(),
            None => None,
        };
        let label = find_label(&names, label).map_err(here)?;
        if event.is_some() && event == label {
            return Err(Error::parameter("event", "the times are in the same column"));
        }
        Ok(Self { file, names, label, event })
    }

    /// Names of inputs of this table, which are found by name, beside its label.
    pub(super) fn beside_label(&self, names: Vec<String>) -> Names {
        let names = Names::identifying(names);
        match self.label {
            Some(k) => names.beside_label(self.names[k].as_str()),
            None => names,
        }
    }

    /// Where the column of each name is.
    pub(super) fn places(&self) -> HashMap<String, usize> {
        self.names.iter().cloned().zip(0..).collect()
    }

    /// Number of features.
    pub(super) fn features(&self) -> usize {
        self.names.len() - self.outcome().count()
    }

    /// The columns that are no features, in order.
    pub(super) fn outcome(&self) -> impl Iterator<Item = usize> {
        let (first, second) = (self.label.min(self.event), self.label.max(self.event));
        [first, second].into_iter().flatten()
    }

    pub(super) fn is_outcome(&self, column: usize) -> bool {
        self.label == Some(column) || self.event == Some(column)
    }

    /// Reads the label of a row. Called when nothing else is wrong with the row: one that is refused must leave no label.
    pub(super) fn read_outcome(&self, line: u64, record: &ByteRecord, labels: &mut Spellings) -> Result<()> {
        let Some(k) = self.label else { return Ok(()) };
        let cell = record[k].trim_ascii();
        let Ok(label) = std::str::from_utf8(cell) else {
            let reason = format!("{}: the label {} is not text in UTF-8", self.column(k), quoted(cell));
            return Err(self.wrong(line, k, reason));
        };
        let event = self.event.map(|k| record[k].trim_ascii());
        self.resolve(label, event, line, labels).map_err(|(k, reason)| self.wrong(line, k, reason))
    }

    /// Adds the label of a row, which may be a time with or without an event; or says what is wrong, and in which column.
    pub(super) fn resolve(
        &self,
        label: &str,
        event: Option<&[u8]>,
        line: u64,
        labels: &mut Spellings,
    ) -> Result<(), (usize, String)> {
        let mut happened = true;
        if let (Some(cell), Some(k)) = (event, self.event) {
            let reason = "does not say whether there was an event: 1 or 0, true or false";
            let unclear = || (k, format!("{}: {} {reason}", self.column(k), quoted(cell)));
            happened = truth(cell).ok_or_else(unclear)?;
        }
        let Some(k) = self.label else { return Ok(()) };
        if is_missing_label(label.as_bytes()) {
            return Err((k, format!("{}: the label is missing", self.column(k))));
        }
        let censored;
        let label = match (event, label.starts_with('-')) {
            (Some(_), true) => return Err((k, format!("a time cannot be {label}: it must be above 0"))),
            (Some(_), false) if !happened => {
                censored = format!("-{label}");
                &censored
            }
            _ => label,
        };
        let label = labels.resolve(label, line).map_err(|reason| (k, reason.to_owned()))?;
        labels.push(label);
        Ok(())
    }

    /// What is wrong in a cell.
    pub(super) fn wrong(&self, line: u64, column: usize, reason: impl Into<Reason>) -> Error {
        Error::input(Place::at(&self.file, line, column as u64 + 1), reason)
    }

    /// A column as messages speak of it.
    pub(super) fn column(&self, k: usize) -> String {
        format!("column {} ({})", k + 1, quoted(self.names[k].as_bytes()))
    }

    /// A table without rows.
    pub(super) fn no_rows(&self) -> Error {
        Error::input(self.file.as_str(), "no instances: only a header")
    }

    /// Whether a row has a cell for each column.
    pub(super) fn check_length(&self, line: u64, record: &ByteRecord) -> Result<()> {
        let (found, expected) = (record.len(), self.names.len());
        if found == expected {
            return Ok(());
        }
        Err(self.wrong(line, found.min(expected), format!("{found} cells where the header has {expected}")))
    }
}

/// Whether a cell says yes or no.
pub(super) fn truth(cell: &[u8]) -> Option<bool> {
    match cell.to_ascii_lowercase().as_slice() {
        b"1" | b"1.0" | b"true" | b"yes" => Some(true),
        b"0" | b"0.0" | b"false" | b"no" => Some(false),
        _ => None,
    }
}

/// The position of the label column.
fn find_label(names: &[String], label: Label<'_>) -> Result<Option<usize>, Reason> {
    let Some(wanted) = label.column else {
        return match label.required {
            true => {
                let which = Reason::from("a table: say which column holds the labels (").parameter("label");
                Err(which.words(format!("); the columns are {}", some_of(names))))
            }
            false => Ok(None),
        };
    };
    let found = find(names, wanted);
    if label.required { found.map(Some) } else { Ok(found.ok()) }
}

/// The position of a column: by name, else by number.
fn find(names: &[String], wanted: &str) -> Result<usize, Reason> {
    let numbered = || wanted.parse::<usize>().ok().filter(|k| (1..=names.len()).contains(k)).map(|k| k - 1);
    let found = names.iter().position(|name| name == wanted).or_else(numbered);
    let missing = || format!("no column {}; the columns are {}", quoted(wanted.as_bytes()), some_of(names));
    found.ok_or_else(|| missing().into())
}

fn some_of(names: &[String]) -> String {
    let more = if names.len() > NAMES_SHOWN { ", ..." } else { "" };
    names[..names.len().min(NAMES_SHOWN)].join(", ") + more
}
