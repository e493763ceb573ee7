//! Lines of fields with blanks between them, as all text files of PLINK have them.

use crate::data::read::Source;
use crate::error::{Error, Place, Result};

/// A line of such a file.
pub(super) struct Line<'a> {
    file: &'a str,
    /// Counted from 1.
    pub(super) number: u64,
    text: &'a str,
    fields: &'a [&'a str],
}

impl Line<'_> {
    /// The fields.
    pub(super) fn fields(&self) -> &[&str] {
        self.fields
    }

    /// Something is wrong with a field, or with what should stand there.
    pub(super) fn error(&self, field: usize, reason: impl Into<String>) -> Error {
        let after = self.text.trim_end().len();
        let begin = |field: &&str| field.as_ptr() as usize - self.text.as_ptr() as usize;
        let column = self.fields.get(field).map_or(after, begin) + 1;
        Error::input(Place::at(self.file, self.number, column as u64), reason.into())
    }
}

/// Calls `each` with every line that is not blank.
pub(super) fn for_each_line(source: Source, mut each: impl FnMut(&Line<'_>) -> Result<()>) -> Result<()> {
    let file = source.name().to_owned();
    source.for_each_line(|number, bytes| {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Err(Error::input(Place::at(&file, number, 1), "not text in UTF-8"));
        };
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        if fields.is_empty() {
            return Ok(());
        }
        each(&Line { file: &file, number, text, fields: &fields })
    })
}
