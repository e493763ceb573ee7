//! Tables with a header, cells between delimiters. One column may hold the labels; all others must be numbers.

use std::io::{self, Read};

use csv::{ByteRecord, ReaderBuilder};

use super::source::Source;
use super::spellings::Spellings;
use super::{number, quoted};
use crate::data::{Columns, Dense, Labels, Layout, Names};
use crate::error::{Error, Place, Result};

/// Where labels stand.
#[derive(Clone, Copy)]
pub(super) struct Label<'a> {
    /// The column's name, or its number from 1.
    pub(super) column: Option<&'a str>,
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
}

impl Rows {
    /// Reads the header.
    pub(super) fn open(source: Source, delimiter: u8, label: Label<'_>) -> Result<Self> {
        let file = source.name().to_owned();
        let mut reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .flexible(true)
            .has_headers(false)
            .from_reader(PlainLines { source, last: b'\n' });
        let mut record = ByteRecord::new();
        let first = next(&mut reader, &mut record)?.unwrap_or(1);
        let header = Header::new(file, first, &record, label)?;
        Ok(Self { reader, record, header, labels: Spellings::default(), rows: 0 })
    }

    /// The names of the features.
    pub(super) fn names(&self) -> Names {
        let Header { names, label, .. } = &self.header;
        let features = names.iter().enumerate().filter(|(k, _)| *label != Some(*k));
        Names::identifying(features.map(|(_, name)| name.clone()).collect())
    }

    /// The next rows, of about `most` values, and their labels; `None` at the end.
    pub(super) fn read(&mut self, most: usize) -> Result<Option<Part>> {
        let columns = self.header.names.len() - usize::from(self.header.label.is_some());
        let (mut values, mut rows) = (Vec::new(), 0);
        while rows == 0 || rows * columns.max(1) < most {
            let Some(line) = next(&mut self.reader, &mut self.record)? else { break };
            self.header.row(line, &self.record, &mut values, &mut self.labels)?;
            rows += 1;
        }
        self.rows += rows as u64;
        if rows == 0 {
            let none = || Error::input(self.header.file.as_str(), "no instances: only a header");
            return if self.rows == 0 { Err(none()) } else { Ok(None) };
        }
        values.shrink_to_fit();
        let matrix = Dense::new(values, rows, columns, Layout::RowMajor)?;
        let labels = self.header.label.map(|_| self.labels.take());
        Ok(Some((Box::new(matrix), labels)))
    }
}

/// Reads a record that is not blank; the line it begins on, or `None` at the end.
fn next(reader: &mut csv::Reader<PlainLines>, record: &mut ByteRecord) -> Result<Option<u64>> {
    loop {
        let before = reader.position().line();
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
/// blanks, which cells are rid of anyway.
struct PlainLines {
    source: Source,
    last: u8,
}

impl Read for PlainLines {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(out)?;
        if read == 0 && !out.is_empty() && self.last != b'\n' {
            out[0] = b'\n';
            self.last = b'\n';
            return Ok(1);
        }
        out[..read].iter_mut().filter(|c| **c == b'\r').for_each(|c| *c = b' ');
        self.last = out[..read].last().copied().unwrap_or(self.last);
        Ok(read)
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
        let label =
            find_label(&names, label).map_err(|reason| Error::input(Place::at(&file, line, 1), reason))?;
        Ok(Self { file, names, label })
    }

    fn row(
        &self,
        line: u64,
        record: &ByteRecord,
        values: &mut Vec<f64>,
        labels: &mut Spellings,
    ) -> Result<()> {
        let wrong =
            |k: usize, reason: String| Err(Error::input(Place::at(&self.file, line, k as u64 + 1), reason));
        if record.len() != self.names.len() {
            let (found, expected) = (record.len(), self.names.len());
            return wrong(found.min(expected), format!("{found} cells where the header has {expected}"));
        }
        for (k, cell) in record.iter().map(<[u8]>::trim_ascii).enumerate() {
            let column = || format!("column {} ({})", k + 1, quoted(self.names[k].as_bytes()));
            if self.label == Some(k) {
                match std::str::from_utf8(cell) {
                    Ok("") => return wrong(k, format!("{}: the label is missing", column())),
                    Ok(label) => labels.push(label).or_else(|reason| wrong(k, reason.into()))?,
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
        Ok(())
    }
}

/// The position of the label column: by name, else by number.
fn find_label(names: &[String], label: Label<'_>) -> Result<Option<usize>, String> {
    let mut shown = names[..names.len().min(NAMES_SHOWN)].join(", ");
    if names.len() > NAMES_SHOWN {
        shown.push_str(", ...");
    }
    let Some(wanted) = label.column else {
        return match label.required {
            true => {
                Err(format!("a table: say which column holds the labels (--label); the columns are {shown}"))
            }
            false => Ok(None),
        };
    };
    let numbered = || wanted.parse::<usize>().ok().filter(|k| (1..=names.len()).contains(k)).map(|k| k - 1);
    match names.iter().position(|name| name == wanted).or_else(numbered) {
        None if label.required => {
            Err(format!("no column {}; the columns are {shown}", quoted(wanted.as_bytes())))
        }
        found => Ok(found),
    }
}
