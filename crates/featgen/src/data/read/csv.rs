//! Tables with a header, cells between delimiters. One column may hold the labels; all others must be numbers.

use std::io::{self, Read};
use std::ops::Range;

use csv::{ByteRecord, ReaderBuilder};

use super::picked::Picked;
use super::source::Source;
use super::spellings::Spellings;
use super::{number, quoted};
use crate::data::{Columns, Dense, Labels, Layout, Names};
use crate::error::{Error, Place, Reason, Result, reserve};

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

/// Some rows, and their labels where there is a column of labels.
pub(super) type Part = (Box<dyn Columns>, Option<Labels>);

/// A table whose header was read.
pub(super) struct Rows {
    reader: csv::Reader<PlainLines>,
    record: ByteRecord,
    header: Header,
    labels: Spellings,
    rows: u64,
    /// What is wrong with the row after those that were handed on.
    fault: Option<Error>,
}

impl Rows {
    /// Reads the header.
    pub(super) fn open(source: Source, delimiter: u8, label: Label<'_>) -> Result<Self> {
        let file = source.name().to_owned();
        let mut reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .flexible(true)
            .has_headers(false)
            .from_reader(PlainLines::new(source, delimiter));
        let mut record = ByteRecord::new();
        let first = next(&mut reader, &mut record)?.unwrap_or(1);
        let header = Header::new(file, first, &record, label)?;
        Ok(Self { reader, record, header, labels: Spellings::default(), rows: 0, fault: None })
    }

    /// The names of the features.
    pub(super) fn names(&self) -> Names {
        let Header { names, label, .. } = &self.header;
        let features = names.iter().enumerate().filter(|(k, _)| !self.header.is_outcome(*k));
        let features = Names::identifying(features.map(|(_, name)| name.clone()).collect());
        match label {
            Some(k) => features.beside_label(names[*k].as_str()),
            None => features,
        }
    }

    /// From now on looks at these features only, by id, and at labels: other cells may hold anything.
    pub(super) fn pick(&mut self, wanted: &[u64]) {
        let mut ids = wanted.to_vec();
        ids.sort_unstable();
        ids.dedup();
        ids.retain(|&id| id < self.header.features() as u64);
        self.header.picked = Some(ids);
    }

    /// The next rows, of about `most` values, and their labels; `None` at the end. Rows before a mistake come first, and the
    /// mistake the next time. If `eager`, rows that are there do not wait for more where the source pauses.
    pub(super) fn read(&mut self, most: usize, eager: bool) -> Result<Option<Part>> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let cells = self.header.cells();
        let columns = cells.len() - self.header.outcome().count();
        let (mut values, mut rows) = (Vec::new(), 0);
        while rows == 0 || (rows * columns.max(1) < most && !(eager && self.pauses())) {
            match self.row(&cells, &mut values) {
                Ok(true) => rows += 1,
                Ok(false) => break,
                Err(fault) if rows == 0 => return Err(fault),
                Err(fault) => {
                    values.truncate(rows * columns);
                    self.fault = Some(fault);
                    break;
                }
            }
        }
        self.rows += rows as u64;
        if rows == 0 {
            let none = || Error::input(self.header.file.as_str(), "no instances: only a header");
            return if self.rows == 0 { Err(none()) } else { Ok(None) };
        }
        values.shrink_to_fit();
        let matrix = Dense::new(values, rows, columns, Layout::RowMajor)?;
        let labels = self.header.label.map(|_| self.labels.take(&self.header.file));
        let features = self.header.features() as u64;
        Ok(Some(match &self.header.picked {
            Some(ids) => (Box::new(Picked::new(matrix, ids.clone(), features)), labels),
            None => (Box::new(matrix), labels),
        }))
    }

    /// Reads one row, of which `cells` are looked at; `false` at the end.
    fn row(&mut self, cells: &[usize], values: &mut Vec<f64>) -> Result<bool> {
        let Some(line) = next(&mut self.reader, &mut self.record)? else { return Ok(false) };
        self.header.row(line, &self.record, cells, values, &mut self.labels)?;
        Ok(true)
    }

    /// Whether the next row would have to be waited for.
    fn pauses(&mut self) -> bool {
        let used = self.reader.position().byte();
        let lines = self.reader.get_mut();
        used == lines.handed_on && !lines.have_line(false)
    }
}

/// Reads a record that is not blank; the line it begins on, or `None` at the end.
fn next(reader: &mut csv::Reader<PlainLines>, record: &mut ByteRecord) -> Result<Option<u64>> {
    loop {
        let before = reader.position().line();
        reader.get_mut().taken = 0;
        match reader.read_byte_record(record) {
            Ok(false) => return Ok(None),
            Ok(true) if record.len() == 1 && record[0].trim_ascii().is_empty() => {}
            // A record ends with its line, unless an open quote swallowed all the rest.
            Ok(true) => return Ok(Some((reader.position().line() - 1 - line_ends(record)).max(before))),
            Err(error) => return Err(failure(error, &reader.get_ref().source)),
        }
    }
}

/// Line ends within the cells of a record.
fn line_ends(record: &ByteRecord) -> u64 {
    memchr::memchr_iter(b'\n', record.as_slice()).count() as u64
}

/// Text in which every line, the last one too, ends with `\n` alone: then lines can be counted. Carriage returns become
/// blanks, which cells are rid of anyway. Lines are handed on whole, if they are not very long, so that whoever has read all
/// that was handed on has begun no other line. A record that would take too much memory is refused.
struct PlainLines {
    source: Source,
    delimiter: u8,
    text: Vec<u8>,
    /// The bytes of the text that can be handed on; after them, a line begins.
    whole: Range<usize>,
    last: u8,
    ended: bool,
    failure: Option<io::Error>,
    handed_on: u64,
    /// Bytes of memory that the record at hand takes, about: those of its text, and where each cell ends.
    taken: usize,
}

/// Bytes that are read in one go, and of a line that are kept back.
const READ_STEP: usize = 1 << 16;

impl PlainLines {
    fn new(source: Source, delimiter: u8) -> Self {
        let (text, whole) = (Vec::new(), 0..0);
        let (last, ended, failure) = (b'\n', false, None);
        Self { source, delimiter, text, whole, last, ended, failure, handed_on: 0, taken: 0 }
    }

    /// Reads on, if there is nothing to be handed on. Whether there then is, or never will be: `false` says that the source
    /// pauses, unless it is to be waited for.
    fn have_line(&mut self, wait: bool) -> bool {
        while self.whole.is_empty() && !self.ended && self.failure.is_none() {
            self.text.drain(..self.whole.end);
            let known = self.text.len();
            self.whole = 0..0;
            if known >= READ_STEP {
                self.whole.end = known;
                break;
            }
            self.text.resize(known + READ_STEP, 0);
            let read = self.source.read_or_pause(&mut self.text[known..]);
            self.text.truncate(known + read.as_ref().map_or(0, |read| read.unwrap_or(0)));
            match read {
                Ok(None) if wait => {}
                Ok(None) => return false,
                Ok(Some(0)) => self.end(),
                Ok(Some(_)) => {
                    let fresh = &mut self.text[known..];
                    fresh.iter_mut().filter(|c| **c == b'\r').for_each(|c| *c = b' ');
                    self.last = fresh[fresh.len() - 1];
                    self.whole.end = memchr::memrchr(b'\n', fresh).map_or(0, |at| known + at + 1);
                }
                Err(error) => self.failure = Some(error),
            }
        }
        true
    }

    fn end(&mut self) {
        if self.last != b'\n' {
            self.text.push(b'\n');
        }
        self.ended = true;
        self.whole = 0..self.text.len();
    }
}

impl Read for PlainLines {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.have_line(true);
        if self.whole.is_empty()
            && let Some(failure) = self.failure.take()
        {
            return Err(failure);
        }
        let read = (&self.text[self.whole.clone()]).read(out)?;
        self.whole.start += read;
        self.handed_on += read as u64;
        self.taken += read + size_of::<usize>() * memchr::memchr_iter(self.delimiter, &out[..read]).count();
        if self.taken > self.source.longest_line() { Err(self.source.too_long()) } else { Ok(read) }
    }
}

fn failure(error: csv::Error, source: &Source) -> Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => source.read_error(error),
        other => source.error(format!("{other:?}")),
    }
}

struct Header {
    file: String,
    names: Vec<String>,
    label: Option<usize>,
    /// Where labels are times: the column that says whether there was an event.
    event: Option<usize>,
    /// The features that are looked at, by id, where not all are.
    picked: Option<Vec<u64>>,
}

impl Header {
    fn new(file: String, line: u64, record: &ByteRecord, label: Label<'_>) -> Result<Self> {
        let mut names: Vec<String> = Vec::with_capacity(record.len());
        let mut seen = std::collections::HashSet::new();
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
        let here = |reason| Error::input(Place::at(&file, line, 1), reason);
        let event = match label.event {
            Some(column) if label.required => Some(find(&names, column).map_err(here)?),
            Some(column) => find(&names, column).ok(),
            None => None,
        };
        let label = find_label(&names, label).map_err(here)?;
        if event.is_some() && event == label {
            return Err(Error::parameter("event", "the times are in the same column"));
        }
        Ok(Self { file, names, label, event, picked: None })
    }

    /// Number of features.
    fn features(&self) -> usize {
        self.names.len() - self.outcome().count()
    }

    /// The columns that are no features, in order.
    fn outcome(&self) -> impl Iterator<Item = usize> {
        let (first, second) = (self.label.min(self.event), self.label.max(self.event));
        [first, second].into_iter().flatten()
    }

    fn is_outcome(&self, column: usize) -> bool {
        self.label == Some(column) || self.event == Some(column)
    }

    /// The columns that are looked at, the label's among them.
    fn cells(&self) -> Vec<usize> {
        let Some(ids) = &self.picked else { return (0..self.names.len()).collect() };
        let column = |id: &u64| self.outcome().fold(*id as usize, |at, own| at + usize::from(own <= at));
        let mut cells: Vec<usize> = ids.iter().map(column).chain(self.outcome()).collect();
        cells.sort_unstable();
        cells
    }

    fn row(
        &self,
        line: u64,
        record: &ByteRecord,
        cells: &[usize],
        values: &mut Vec<f64>,
        labels: &mut Spellings,
    ) -> Result<()> {
        let wrong =
            |k: usize, reason: String| Err(Error::input(Place::at(&self.file, line, k as u64 + 1), reason));
        if record.len() != self.names.len() {
            let (found, expected) = (record.len(), self.names.len());
            return wrong(found.min(expected), format!("{found} cells where the header has {expected}"));
        }
        reserve(values, cells.len(), &self.file)?;
        let (mut label, mut event) = (None, true);
        for (k, cell) in cells.iter().map(|&k| (k, record[k].trim_ascii())) {
            let column = || format!("column {} ({})", k + 1, quoted(self.names[k].as_bytes()));
            if self.event == Some(k) {
                match truth(cell) {
                    Some(happened) => event = happened,
                    None => {
                        let reason = "does not say whether there was an event: 1 or 0, true or false";
                        return wrong(k, format!("{}: {} {reason}", column(), quoted(cell)));
                    }
                }
            } else if self.label == Some(k) {
                match std::str::from_utf8(cell) {
                    Ok("") => return wrong(k, format!("{}: the label is missing", column())),
                    Ok(text) => label = Some((k, text)),
                    Err(_) => {
                        return wrong(
                            k,
                            format!("{}: the label {} is not text in UTF-8", column(), quoted(cell)),
                        );
                    }
                }
            } else if let Some(value) = number::parse(cell) {
                values.push(value);
            } else if cell.is_empty() {
                return wrong(k, format!("{}: the value is missing", column()));
            } else {
                return wrong(k, format!("{}: {} {}", column(), quoted(cell), number::complaint(cell)));
            }
        }
        // Last, for a row that is refused must leave no label.
        if let Some((k, label)) = label {
            let censored;
            let label = match (self.event, label.starts_with('-')) {
                (Some(_), true) => return wrong(k, format!("a time cannot be {label}: it must be above 0")),
                (Some(_), false) if !event => {
                    censored = format!("-{label}");
                    &censored
                }
                _ => label,
            };
            match labels.resolve(label, line) {
                Ok(label) => labels.push(label),
                Err(reason) => return wrong(k, reason.into()),
            }
        }
        Ok(())
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
