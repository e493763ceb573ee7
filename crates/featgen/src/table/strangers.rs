//! Levels that the training data did not have, met anywhere in data of any length.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::Unseen;
use crate::data::read::quoted;
use crate::error::Reason;

/// What was met so far; copies know the same.
#[derive(Debug, Clone, Default)]
pub struct Strangers(Arc<Mutex<BTreeMap<String, (String, u64)>>>);

impl Strangers {
    /// Adds what was met in some rows.
    pub fn add(&self, unseen: Vec<Unseen>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for Unseen { column, level, rows } in unseen {
            known.entry(column).or_insert((level, 0)).1 += rows;
        }
    }

    /// What there is to say, a column each.
    pub fn notes(&self) -> Vec<Reason> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let note = |(column, (level, rows)): (&String, &(String, u64))| {
            let (column, level) = (quoted(column.as_bytes()), quoted(level.as_bytes()));
            let have = if *rows == 1 { "row has" } else { "rows have" };
            format!("{rows} {have} a value of {column} that the model does not know, such as {level}: taken as other").into()
        };
        known.iter().map(note).collect()
    }
}
