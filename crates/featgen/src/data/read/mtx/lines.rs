//! The lines of a Matrix Market file after its header: entries, or values.

use super::header::{Form, Header};
use crate::data::build::Scattered;
use crate::data::read::source::Chunk;
use crate::data::read::{number, quoted};

/// A place in a chunk: lines count from 1 at its beginning, columns from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) line: u64,
    pub(super) column: u64,
}

/// A parsed chunk. Reused, so that memory is taken once.
#[derive(Default)]
pub(super) struct Part {
    /// Entries whose values are not 0; of an array, nothing.
    pub(super) entries: Scattered,
    /// The values of an array.
    pub(super) values: Vec<f64>,
    /// Entries, or values, with those that are 0 or not wanted.
    pub(super) count: u64,
    pub(super) lines: u64,
    /// Row and column of the first entry and of the last; zeros if there is none.
    pub(super) ends: [(u64, u64); 2],
    pub(super) fault: Option<(Spot, String)>,
}

/// How entries become those of instances and features.
pub(super) struct Meaning<W> {
    pub(super) header: Header,
    /// Whether columns are instances.
    pub(super) transposed: bool,
    /// Whether a feature is wanted.
    pub(super) wanted: W,
}

impl Part {
    /// Parses a chunk up to its end or its first fault.
    pub(super) fn parse(&mut self, chunk: &Chunk, meaning: &Meaning<impl Fn(u64) -> bool>) {
        self.entries.clear();
        self.values.clear();
        (self.count, self.lines, self.fault, self.ends) = (0, 0, None, [(0, 0); 2]);
        let (text, length) = chunk.padded();
        let mut at = 0;
        while at < length {
            self.lines += 1;
            let begin = after_blanks(text, at);
            let line = match (text[begin], meaning.header.form) {
                (b'\n', _) => Ok(begin + 1),
                (b'%', _) => Ok(after_line(text, begin)),
                (_, Form::Array) => self.values(text, begin),
                _ => self.entry(text, begin, meaning),
            };
            match line {
                Ok(next) => at = next,
                Err((place, reason)) => {
                    let column = (place - at) as u64 + 1;
                    self.fault = Some((Spot { line: self.lines, column }, reason));
                    return;
                }
            }
        }
    }

    /// Takes the entry at `at`; returns where the next line begins.
    #[inline(always)]
    fn entry(
        &mut self,
        text: &[u8],
        at: usize,
        meaning: &Meaning<impl Fn(u64) -> bool>,
    ) -> Result<usize, Fault> {
        let Header { form, rows, columns, .. } = meaning.header;
        let within = |row: u64, column: u64| row.wrapping_sub(1) < rows && column.wrapping_sub(1) < columns;
        let (row, column, value, next) = match usual_entry(text, at, form) {
            Some(entry) if within(entry.0, entry.1) => entry,
            _ => any_entry(text, at, &meaning.header)?,
        };
        if (row, column) == self.ends[1] {
            return Err((at, repeated(row, column)));
        }
        self.ends[1] = (row, column);
        if self.count == 0 {
            self.ends[0] = self.ends[1];
        }
        self.count += 1;
        let (instance, feature) = if meaning.transposed { (column, row) } else { (row, column) };
        if value != 0.0 && (meaning.wanted)(feature - 1) {
            self.entries.push(feature - 1, (instance - 1) as u32, value);
        }
        Ok(next)
    }

    /// Takes the values of a line of an array; returns where the next line begins.
    fn values(&mut self, text: &[u8], mut at: usize) -> Result<usize, Fault> {
        while text[at] != b'\n' {
            let (value, end) = match usual_number(text, at) {
                Some(usual) => usual,
                None => {
                    let word = word(text, at);
                    (any_number(word).map_err(|reason| (at, reason))?, at + word.len())
                }
            };
            self.values.push(value);
            self.count += 1;
            at = after_blanks(text, end);
        }
        Ok(at + 1)
    }
}

/// Where in the text, and what is wrong.
type Fault = (usize, String);

/// What to say of an entry that is there twice, by its row and column.
pub(super) fn repeated(row: u64, column: u64) -> String {
    format!("row {row}, column {column} stands twice")
}

#[inline(always)]
fn after_blanks(text: &[u8], mut at: usize) -> usize {
    while is_blank(text[at]) {
        at += 1;
    }
    at
}

#[inline(always)]
fn is_blank(c: u8) -> bool {
    matches!(c, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

/// The beginning of the next line.
pub(super) fn after_line(text: &[u8], at: usize) -> usize {
    at + memchr::memchr(b'\n', &text[at..]).map_or(text.len() - at, |newline| newline + 1)
}

/// The word at `at`; empty at the end of the line.
fn word(text: &[u8], at: usize) -> &[u8] {
    let length = text[at..].iter().position(|&c| is_blank(c) || c == b'\n').unwrap_or(text.len() - at);
    &text[at..at + length]
}

/// Row, column, value and the beginning of the next line, of an entry in its usual spelling; `None` says nothing but that the
/// slow way must be gone.
#[inline(always)]
fn usual_entry(text: &[u8], at: usize, form: Form) -> Option<(u64, u64, f64, usize)> {
    let (row, end) = number::integer(text, at).filter(|&(_, end)| is_blank(text[end]))?;
    let (column, end) = number::integer(text, after_blanks(text, end))?;
    let (value, end) = match form {
        Form::Pattern => (1.0, end),
        _ if is_blank(text[end]) => usual_number(text, after_blanks(text, end))?,
        _ => return None,
    };
    let end = after_blanks(text, end);
    (text[end] == b'\n').then_some((row, column, value, end + 1))
}

/// A number in its usual spelling, and where it ends.
#[inline(always)]
fn usual_number(text: &[u8], at: usize) -> Option<(f64, usize)> {
    let (value, end) = match number::decimal(text, at) {
        // An exponent may follow.
        Some((value, end)) if text[end] <= b' ' => (value, end),
        _ => number::parse_beginning(&text[at..]).map(|(value, length)| (value, at + length))?,
    };
    (text[end] <= b' ').then_some((value, end))
}

/// The same of any entry, or what is wrong with it.
#[cold]
fn any_entry(text: &[u8], at: usize, header: &Header) -> Result<(u64, u64, f64, usize), Fault> {
    let fault = |at: usize| move |reason: String| (at, reason);
    let mut at = at;
    let mut next = || {
        let found = (at, word(text, at));
        at = after_blanks(text, at + found.1.len());
        found
    };
    let (place, row) = next();
    let row = index(row, "row", header.rows).map_err(fault(place))?;
    let (place, column) = next();
    let column = index(column, "column", header.columns).map_err(fault(place))?;
    let value = match header.form {
        Form::Pattern => 1.0,
        _ => {
            let (place, value) = next();
            let of = |reason: String| (place, format!("{reason} (row {row}, column {column})"));
            any_number(value).map_err(of)?
        }
    };
    match next() {
        (end, b"") => Ok((row, column, value, end + 1)),
        (place, more) => Err((place, format!("{} after the entry", quoted(more)))),
    }
}

/// A row or a column of so many.
fn index(word: &[u8], what: &str, most: u64) -> Result<u64, String> {
    if word.is_empty() {
        return Err(format!("a {what} is expected"));
    }
    if !word.iter().all(u8::is_ascii_digit) {
        return Err(format!("{} is not a {what}: a whole number from 1", quoted(word)));
    }
    match std::str::from_utf8(word).ok().and_then(|digits| digits.parse().ok()) {
        Some(0) => Err(format!("{what} 0: {what}s are counted from 1")),
        Some(index) if index <= most => Ok(index),
        _ => Err(format!("{what} {}: the header says that there are {most}", quoted(word))),
    }
}

/// Any number that can be a value.
fn any_number(word: &[u8]) -> Result<f64, String> {
    match number::parse(word) {
        Some(value) => Ok(value),
        None if word.is_empty() => Err("no value".into()),
        None => Err(format!("the value {} {}", quoted(word), number::complaint(word))),
    }
}

/// Where in a chunk the entry, or value, after so many others is: of more than there should be, the first.
#[cold]
pub(super) fn spot_of(chunk: &Chunk, mut before: u64, form: Form) -> Spot {
    let (text, length) = chunk.padded();
    let (mut at, mut line) = (0, 0);
    while at < length {
        line += 1;
        let mut place = after_blanks(text, at);
        while !matches!(text[place], b'\n' | b'%') {
            if before == 0 {
                return Spot { line, column: (place - at) as u64 + 1 };
            }
            before -= 1;
            match form {
                Form::Array => place = after_blanks(text, place + word(text, place).len()),
                Form::Coordinate | Form::Pattern => break,
            }
        }
        at = after_line(text, place);
    }
    Spot { line, column: 1 }
}

/// Whether a line without its end is the entry of this row and column; if so, where it begins.
pub(super) fn entry_of(line: &[u8], row: u64, column: u64) -> Option<usize> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let mut is = |index: u64| {
        let text = words.next().and_then(|word| std::str::from_utf8(word).ok());
        text.and_then(|text| text.parse().ok()) == Some(index)
    };
    (is(row) && is(column)).then(|| line.len() - line.trim_ascii_start().len())
}
