//! Labels as they are read: distinct spellings, and one code per instance.

use std::collections::HashMap;

use crate::data::Labels;

/// More distinct labels than this are taken for measurements, not classes.
const LIMIT: usize = 1000;

/// Why [`Spellings::code`] refuses a label.
pub(super) const TOO_MANY: &str = "more than 1000 different labels: they look like measurements, not classes";

/// Distinct labels in order of appearance, and the labels of instances in terms of them.
#[derive(Default)]
pub(super) struct Spellings {
    list: Vec<String>,
    code_of: HashMap<String, u32>,
    codes: Vec<u32>,
}

impl Spellings {
    /// The code of a label, new or known; refused where there are too many.
    pub(super) fn code(&mut self, label: &str) -> Result<u32, &'static str> {
        if let Some(&code) = self.code_of.get(label) {
            return Ok(code);
        }
        if self.list.len() == LIMIT {
            return Err(TOO_MANY);
        }
        let code = self.list.len() as u32;
        self.list.push(label.to_owned());
        self.code_of.insert(label.to_owned(), code);
        Ok(code)
    }

    /// Labels the next instance.
    pub(super) fn push(&mut self, label: &str) -> Result<(), &'static str> {
        let code = self.code(label)?;
        self.codes.push(code);
        Ok(())
    }

    /// Labels the next instances by code.
    pub(super) fn extend(&mut self, codes: impl IntoIterator<Item = u32>) {
        self.codes.extend(codes);
    }

    /// The labels of all instances since this was last asked.
    pub(super) fn take(&mut self) -> Labels {
        Labels::from_codes(self.list.clone(), std::mem::take(&mut self.codes))
    }
}
