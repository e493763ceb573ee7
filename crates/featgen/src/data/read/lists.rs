//! Files with one thing a line: names, labels, weights. No more of them is read than is needed.

use std::path::Path;

use super::source::{Lines, Source};
use super::spellings::Spellings;
use super::{npy, number, quoted};
use crate::data::{Labels, Names};
use crate::error::{Error, Place, Result};

/// Reads names; `features` is how many there must be, where that is known.
pub(crate) fn read_names(source: Source, features: Option<u64>) -> Result<Names> {
    let mut lines = TextLines::new(source, "name");
    let mut names = Vec::new();
    while let Some((_, text)) = lines.next()? {
        names.push(text.to_owned());
        if let Some(features) = features.filter(|&features| names.len() as u64 > features) {
            return Err(lines.error(format!("more than {features} names for {features} features")));
        }
    }
    let given = names.len() as u64;
    match features.filter(|&features| given != features) {
        Some(features) => Err(lines.error(format!("{given} names for {features} features"))),
        None => Ok(Names::shown(names)),
    }
}

/// Reads the weights of so many rows.
pub(crate) fn read_weights(source: Source, rows: usize) -> Result<Vec<f64>> {
    let sound: fn(f64) -> bool = |weight| weight >= 0.0;
    read_numbers(source, "weight", (sound, "a weight: a finite number of at least 0"), Some(rows))
}

/// Reads numbers that are added to the decision values of instances, one a line: of so many rows, if it is known how many.
pub fn read_offsets(path: impl AsRef<Path>, rows: Option<usize>) -> Result<Vec<f64>> {
    read_numbers(Source::open(path.as_ref())?, "number", (|_| true, "a finite number"), rows)
}

/// Reads what says which of so many instances belong together, one a line: any words or numbers.
pub fn read_folds(path: impl AsRef<Path>, rows: usize) -> Result<Labels> {
    let mut lines = TextLines::new(Source::open(path.as_ref())?, "fold");
    let mut folds = Vec::new();
    while let Some((_, text)) = lines.next()? {
        folds.push(text.to_owned());
        if folds.len() > rows {
            return Err(lines.error(format!("more than {rows} folds for {rows} instances")));
        }
    }
    match folds.len() == rows {
        true => Ok(Labels::from_text(folds)),
        false => Err(lines.error(format!("{} folds for {rows} instances", folds.len()))),
    }
}

/// Reads a number a line, each of which must be `sound`, in words and as a test.
fn read_numbers(
    source: Source,
    what: &'static str,
    sound: (fn(f64) -> bool, &str),
    rows: Option<usize>,
) -> Result<Vec<f64>> {
    let mut lines = TextLines::new(source, what);
    let mut numbers = Vec::new();
    while let Some((line, text)) = lines.next()? {
        let Some(number) = number::parse(text.as_bytes()).filter(|&number| sound.0(number)) else {
            let reason = format!("{} is not {}", quoted(text.as_bytes()), sound.1);
            return Err(Error::input(Place::at(lines.name(), line, 1), reason));
        };
        if let Some(rows) = rows.filter(|&rows| rows == numbers.len()) {
            return Err(lines.error(format!("more than {rows} {what}s for {rows} instances")));
        }
        numbers.push(number);
    }
    match rows.filter(|&rows| rows != numbers.len()) {
        None => Ok(numbers),
        Some(rows) => Err(lines.error(format!("{} {what}s for {rows} instances", numbers.len()))),
    }
}

/// Reads the labels of so many rows.
pub(crate) fn read_labels(path: &Path, rows: usize) -> Result<Labels> {
    let mut file = LabelFile::open(path)?;
    file.check_length(rows)?;
    let labels = file.next(rows)?;
    if labels.len() < rows {
        return Err(file.error(format!("{} labels for {rows} instances", labels.len())));
    }
    file.end()?;
    Ok(labels)
}

/// A file of labels, one a line or a one-dimensional array, of which some are read at a time.
pub(crate) struct LabelFile {
    labels: Form,
    spellings: Spellings,
    /// How many were read.
    read: usize,
}

enum Form {
    Text(TextLines),
    Array(npy::LabelArray),
}

impl LabelFile {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Self::of(Source::open(path)?)
    }

    pub(crate) fn of(mut source: Source) -> Result<Self> {
        let labels = match source.is_npy()? {
            true => Form::Array(npy::LabelArray::open(source)?),
            false => Form::Text(TextLines::new(source, "label")),
        };
        Ok(Self { labels, spellings: Spellings::default(), read: 0 })
    }

    fn name(&self) -> &str {
        match &self.labels {
            Form::Text(lines) => lines.name(),
            Form::Array(array) => array.name(),
        }
    }

    fn error(&self, reason: String) -> Error {
        Error::input(self.name(), reason)
    }

    /// Whether there are labels for so many rows, where that is known before they are read.
    pub(crate) fn check_length(&self, rows: usize) -> Result<()> {
        match &self.labels {
            Form::Array(array) if array.length() != rows => {
                Err(self.error(format!("{} labels for {rows} instances", array.length())))
            }
            _ => Ok(()),
        }
    }

    /// The labels of the next rows; fewer if there are no more. Classes are those that were met so far.
    fn next(&mut self, rows: usize) -> Result<Labels> {
        match &mut self.labels {
            Form::Array(array) => array.next(rows, &mut self.spellings)?,
            Form::Text(lines) => {
                for _ in 0..rows {
                    let Some((line, text)) = lines.next()? else { break };
                    let label = self.spellings.resolve(text, line);
                    let name = lines.name();
                    self.spellings
                        .push(label.map_err(|reason| Error::input(Place::at(name, line, 1), reason))?);
                }
            }
        }
        let name = match &self.labels {
            Form::Text(lines) => lines.name(),
            Form::Array(array) => array.name(),
        };
        let labels = self.spellings.take(name);
        self.read += labels.len();
        Ok(labels)
    }

    /// The labels of the next rows, after which others may come.
    pub(crate) fn next_of_many(&mut self, rows: usize) -> Result<Labels> {
        let needed = self.read + rows;
        let labels = self.next(rows)?;
        match self.read == needed {
            true => Ok(labels),
            false => Err(self.error(format!("{} labels for at least {needed} instances", self.read))),
        }
    }

    /// All rows have come: there must be no more labels.
    pub(crate) fn end(mut self) -> Result<()> {
        self.check_length(self.read)?;
        if let Form::Text(lines) = &mut self.labels
            && lines.next()?.is_some()
        {
            let rows = self.read;
            return Err(lines.error(format!("more than {rows} labels for {rows} instances")));
        }
        Ok(())
    }
}

/// The lines of a list, trimmed. Only its end may be blank.
struct TextLines {
    lines: Lines,
    /// The line at hand.
    text: String,
    /// What stands on a line, for messages.
    what: &'static str,
}

impl TextLines {
    fn new(source: Source, what: &'static str) -> Self {
        Self { lines: Lines::new(source), text: String::new(), what }
    }

    fn name(&self) -> &str {
        self.lines.name()
    }

    fn error(&self, reason: String) -> Error {
        Error::input(self.name(), reason)
    }

    /// The next line and its number, from 1.
    fn next(&mut self) -> Result<Option<(u64, &str)>> {
        let mut blank = None;
        loop {
            let Some((number, bytes)) = self.lines.next()? else { return Ok(None) };
            let Ok(text) = std::str::from_utf8(bytes) else {
                return Err(Error::input(Place::at(self.name(), number, 1), "not text in UTF-8"));
            };
            if text.trim().is_empty() {
                blank.get_or_insert(number);
                continue;
            }
            if let Some(blank) = blank {
                let reason = format!("an empty line where a {} is expected", self.what);
                return Err(Error::input(Place::at(self.name(), blank, 1), reason));
            }
            self.text.clear();
            self.text.push_str(text.trim());
            return Ok(Some((number, &self.text)));
        }
    }
}
