//! Records of a table, and the lines that they are on.

use std::io::{self, Read};
use std::ops::Range;

use csv::{ByteRecord, ReaderBuilder};

use crate::data::read::source::Source;
use crate::error::{Error, Result};

/// The records of a table, one after the other.
pub(super) struct Records {
    reader: csv::Reader<PlainLines>,
    /// Lines before the first record.
    skipped: u64,
}

impl Records {
    /// Those of a source, from its header on: comments before it are skipped.
    pub(super) fn new(mut source: Source, delimiter: u8) -> Result<Self> {
        let skipped = source.skip_comments(delimiter)?;
        let reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .flexible(true)
            .has_headers(false)
            .from_reader(PlainLines::new(source, delimiter));
        Ok(Self { reader, skipped })
    }

    /// Reads a record that is not blank; the line it begins on, or `None` at the end.
    pub(super) fn next(&mut self, record: &mut ByteRecord) -> Result<Option<u64>> {
        Ok(next(&mut self.reader, record)?.map(|line| line + self.skipped))
    }

    /// Whether the next record would have to be waited for.
    pub(super) fn pauses(&mut self) -> bool {
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
