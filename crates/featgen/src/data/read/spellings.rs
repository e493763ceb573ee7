//! Labels as they are read: distinct spellings, and one code per instance; or numbers, if there are too many of them.

use std::collections::HashMap;

use crate::data::Labels;
use crate::target::number;

/// More distinct labels than this are numbers, not classes.
const LIMIT: usize = 1000;

/// Why labels are refused.
pub(super) const TOO_MANY: &str =
    "more than 1000 different labels, of which some are not numbers: neither classes nor measurements";

/// What a label was taken for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Label {
    /// One of the classes.
    Code(u32),
    Number(f64),
}

/// Distinct labels in order of appearance, and the labels of instances in terms of them.
#[derive(Default)]
pub(super) struct Spellings {
    list: Vec<String>,
    /// The line on which each first appeared.
    lines: Vec<u64>,
    code_of: HashMap<String, u32>,
    codes: Vec<u32>,
    /// Where there were too many to be classes: what the listed ones are, and the labels of instances.
    numbers: Option<(Vec<f64>, Vec<f64>)>,
}

impl Spellings {
    /// What a label on this line, new or known, is; refused where there are too many that are no numbers.
    pub(super) fn resolve(&mut self, label: &str, line: u64) -> Result<Label, &'static str> {
        if self.numbers.is_some() {
            return number(label).map(Label::Number).ok_or(TOO_MANY);
        }
        if let Some(&code) = self.code_of.get(label) {
            return Ok(Label::Code(code));
        }
        if self.list.len() == LIMIT {
            self.become_numbers()?;
            return self.resolve(label, line);
        }
        let code = self.list.len() as u32;
        self.list.push(label.to_owned());
        self.lines.push(line);
        self.code_of.insert(label.to_owned(), code);
        Ok(Label::Code(code))
    }

    fn become_numbers(&mut self) -> Result<(), &'static str> {
        let values = self.list.iter().map(|label| number(label)).collect::<Option<Vec<f64>>>();
        let values = values.ok_or(TOO_MANY)?;
        let known = std::mem::take(&mut self.codes).iter().map(|&code| values[code as usize]).collect();
        self.numbers = Some((values, known));
        Ok(())
    }

    /// Labels the next instance.
    pub(super) fn push(&mut self, label: Label) {
        match (&mut self.numbers, label) {
            (None, Label::Code(code)) => self.codes.push(code),
            (Some((values, numbers)), Label::Code(code)) => numbers.push(values[code as usize]),
            (Some((_, numbers)), Label::Number(x)) => numbers.push(x),
            (None, Label::Number(_)) => unreachable!("labels are numbers once one was"),
        }
    }

    /// The labels of all instances since this was last asked, read from `file`.
    pub(super) fn take(&mut self, file: &str) -> Labels {
        match &mut self.numbers {
            Some((_, numbers)) => Labels::from_numbers(std::mem::take(numbers)),
            None => Labels::read_from(file, &self.list, &self.lines, std::mem::take(&mut self.codes)),
        }
    }
}
