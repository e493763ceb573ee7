//! What a Matrix Market file says of itself: `%%MatrixMarket matrix coordinate real general`, comments, and its size.

use super::lines::after_line;
use crate::data::read::quoted;
use crate::data::read::source::{Chunk, Chunks};
use crate::error::{Error, Place, Result};

/// What such a file begins with, in any case.
pub(in crate::data::read) const MAGIC: &[u8] = b"%%MatrixMarket";

/// Instances that a file may have in any case, and for each of its entries: those without a value take no bytes of the file,
/// but memory.
const ROWS: u64 = 1 << 24;
const ROWS_PER_ENTRY: u64 = 16;

/// How the values of a matrix are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `row column value` a line, for those that are not 0.
    Coordinate,
    /// `row column` a line, for those that are 1.
    Pattern,
    /// All values, column after column.
    Array,
}

impl Form {
    /// What a line holds, for messages.
    pub(super) fn unit(self) -> &'static str {
        if self == Self::Array { "values" } else { "entries" }
    }
}

/// What a file holds; rows and columns are those of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) form: Form,
    pub(super) rows: u64,
    pub(super) columns: u64,
    /// Lines that follow: entries, or all values.
    pub(super) entries: u64,
}

/// Where in a line, from 0, and what is wrong.
type Fault = (usize, String);

impl Header {
    /// Reads the header, puts back what follows it, and returns it with the number of its lines.
    pub(super) fn read(chunks: &mut Chunks) -> Result<(Self, u64)> {
        let name = chunks.name().to_owned();
        let (mut form, mut line) = (None, 0);
        while let Some(chunk) = chunks.next(Vec::new())? {
            let (text, length) = chunk.padded();
            let mut at = 0;
            while at < length {
                let next = after_line(text, at);
                line += 1;
                let read = next_line(&text[at..next], &mut form);
                let fault = |(at, reason): Fault| Error::input(Place::at(&name, line, at as u64 + 1), reason);
                if let Some(header) = read.map_err(fault)? {
                    put_back(chunks, &chunk, next);
                    return Ok((header, line));
                }
                at = next;
            }
        }
        let reason = "the file is cut short: no line says how many rows and columns there are";
        Err(Error::input(name.as_str(), reason))
    }

    /// Instances and features; columns are instances if that is said.
    pub(super) fn shape(&self, transposed: bool) -> [u64; 2] {
        if transposed { [self.columns, self.rows] } else { [self.rows, self.columns] }
    }

    /// Whether a matrix of this size can be read; why not.
    pub(super) fn check(&self, transposed: bool) -> Result<(), String> {
        let [instances, features] = self.shape(transposed);
        let most = ROWS.max(self.entries.saturating_mul(ROWS_PER_ENTRY));
        if instances == 0 {
            Err("no instances".into())
        } else if features == 0 {
            Err(format!("a matrix of {} x {}: no features", self.rows, self.columns))
        } else if u32::try_from(instances).is_err() {
            Err(format!("{instances} instances: at most {} are supported", u32::MAX))
        } else if instances > most {
            Err(format!("{instances} instances with {} values in all: nearly all are empty", self.entries))
        } else {
            Ok(())
        }
    }
}

fn put_back(chunks: &mut Chunks, chunk: &Chunk, from: usize) {
    let (text, length) = chunk.padded();
    chunks.put_back(&text[from..length]);
}

/// Takes the next line of a header, of which `form` is known after the first; the whole header after the last.
fn next_line(line: &[u8], form: &mut Option<Form>) -> Result<Option<Header>, Fault> {
    match *form {
        None => {
            *form = Some(banner(line)?);
            Ok(None)
        }
        Some(_) if line.trim_ascii().is_empty() || line.starts_with(b"%") => Ok(None),
        Some(form) => size(line, form).map(Some),
    }
}

/// The words of a line, and where they begin.
fn words(line: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let whole = line.split(u8::is_ascii_whitespace);
    let placed = whole.scan(0, |next, word| {
        let at = *next;
        *next += word.len() + 1;
        Some((at, word))
    });
    placed.filter(|(_, word)| !word.is_empty())
}

/// The first line: what it is, how it is written, of which numbers, and whether half of it is left out.
fn banner(line: &[u8]) -> Result<Form, Fault> {
    let mut words = words(line).skip(1);
    let mut next = |known: &[&str], other: &str| {
        let (at, word) = words.next().unwrap_or((line.trim_ascii_end().len(), b""));
        let found = known.iter().position(|name| name.as_bytes().eq_ignore_ascii_case(word));
        found.ok_or_else(|| (at, format!("{}: {other}", quoted(word))))
    };
    next(&["matrix"], "only a `matrix` can be read")?;
    let array = next(&["coordinate", "array"], "a matrix is `coordinate` or `array`")? == 1;
    let pattern =
        next(&["real", "integer", "double", "pattern"], "values are `real`, `integer` or `pattern`")? == 3;
    // Half of it would be data that only look like instances and features.
    next(&["general"], "only a `general` matrix can be read: write all of its entries")?;
    match (array, pattern) {
        (true, true) => Err((0, "an array of pattern: it has no values".into())),
        (true, false) => Ok(Form::Array),
        (false, true) => Ok(Form::Pattern),
        (false, false) => Ok(Form::Coordinate),
    }
}

/// The line of sizes.
fn size(line: &[u8], form: Form) -> Result<Header, Fault> {
    let needed: &[&str] = match form {
        Form::Array => &["rows", "columns"],
        Form::Coordinate | Form::Pattern => &["rows", "columns", "entries"],
    };
    let mut words = words(line);
    let mut numbers = [0u64; 3];
    for (number, what) in numbers.iter_mut().zip(needed) {
        let Some((at, word)) = words.next() else {
            return Err((line.trim_ascii_end().len(), format!("the number of {what} is expected")));
        };
        let digits = word.iter().all(u8::is_ascii_digit).then(|| std::str::from_utf8(word).ok()).flatten();
        let Some(digits) = digits else {
            return Err((at, format!("{} is not a number of {what}", quoted(word))));
        };
        *number = digits.parse().map_err(|_| (at, format!("{} {what} are too many", quoted(word))))?;
    }
    if let Some((at, word)) = words.next() {
        return Err((at, format!("{} after the size of the matrix", quoted(word))));
    }
    let [rows, columns, entries] = numbers;
    let all = rows.checked_mul(columns).filter(|&all| all <= u64::MAX / 8);
    let entries = match (form, all) {
        (Form::Array, None) => return Err((0, format!("a matrix of {rows} x {columns} is too large"))),
        (Form::Array, Some(all)) => all,
        (_, Some(all)) if entries > all => {
            return Err((0, format!("{entries} entries in a matrix of {rows} x {columns}")));
        }
        _ => entries,
    };
    Ok(Header { form, rows, columns, entries })
}
