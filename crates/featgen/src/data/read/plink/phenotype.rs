//! What is to be predicted of people: what a column says of each, unless it says that nothing is known.

use super::people::{People, Said, Table};
use crate::data::Labels;
use crate::data::read::spellings::Spellings;
use crate::data::read::{header, number, quoted};
use crate::error::{Error, Place, Result};

/// What stands for a value that is not known.
pub(super) fn is_missing(text: &str) -> bool {
    text == "-9" || text.eq_ignore_ascii_case("na") || text.eq_ignore_ascii_case("nan")
}

/// A label for each person, as it is written; `None` where it is not known.
pub(super) struct Phenotypes {
    file: String,
    said: Vec<Option<Said>>,
}

impl Phenotypes {
    /// Those of the sixth column of the `.fam` file.
    pub(super) fn of_people(people: &mut People, file: &str) -> Self {
        let said = std::mem::take(&mut people.phenotypes).into_iter().map(Some).collect();
        Self { file: file.to_owned(), said }.without_missing()
    }

    /// Those of a column of a table; where they are times, another says whether there was an event.
    pub(super) fn of_table(mut table: Table, column: usize, event: Option<usize>) -> Result<Self> {
        let file = table.file.clone();
        let mut said = Vec::with_capacity(table.rows.len());
        for row in &mut table.rows {
            let Some(cells) = row.take() else {
                said.push(None);
                continue;
            };
            said.push(match event {
                Some(event) => timed(&file, &cells[column], &cells[event])?,
                None => Some(cells[column].clone()),
            });
        }
        let phenotypes = Self { file, said };
        Ok(if event.is_some() { phenotypes } else { phenotypes.without_missing() })
    }

    /// Leaves out what stands for a value that is not known: among cases and controls, 2 and 1, that may also be 0.
    fn without_missing(mut self) -> Self {
        self.said.iter_mut().for_each(|said| _ = said.take_if(|said| is_missing(&said.text)));
        let known = || self.said.iter().flatten().map(|said| said.text.as_str());
        let cases = known().any(|text| text == "2") && known().all(|text| ["0", "1", "2"].contains(&text));
        if cases {
            self.said.iter_mut().for_each(|said| _ = said.take_if(|said| said.text == "0"));
        }
        self
    }

    /// The file that holds them.
    pub(super) fn file(&self) -> &str {
        &self.file
    }

    /// Number of people.
    pub(super) fn len(&self) -> usize {
        self.said.len()
    }

    /// Whether something is known of a person.
    pub(super) fn knows(&self, person: usize) -> bool {
        self.said[person].is_some()
    }

    /// The labels of these people, of all of whom they are known.
    pub(super) fn labels(&self, people: impl Iterator<Item = usize>) -> Result<Labels> {
        let mut spellings = Spellings::default();
        for said in people.filter_map(|person| self.said[person].as_ref()) {
            let label = spellings
                .resolve(&said.text, said.line)
                .map_err(|reason| Error::input(Place::at(&self.file, said.line, said.column), reason))?;
            spellings.push(label);
        }
        Ok(spellings.take(&self.file))
    }
}

/// A time, negative if there was no event until then.
fn timed(file: &str, time: &Said, event: &Said) -> Result<Option<Said>> {
    if is_missing(&time.text) || is_missing(&event.text) {
        return Ok(None);
    }
    let wrong =
        |said: &Said, reason: String| Err(Error::input(Place::at(file, said.line, said.column), reason));
    if !number::parse(time.text.as_bytes()).is_some_and(|time| time > 0.0) {
        return wrong(time, format!("{} is not a time: a number above 0", quoted(time.text.as_bytes())));
    }
    match header::truth(event.text.as_bytes()) {
        Some(true) => Ok(Some(time.clone())),
        Some(false) => Ok(Some(Said { text: format!("-{}", time.text), ..time.clone() })),
        None => {
            let reason = "does not say whether there was an event: 1 or 0, true or false";
            wrong(event, format!("{} {reason}", quoted(event.text.as_bytes())))
        }
    }
}
