//! Matrix Market files (`.mtx`): a header, and then `row column value` a line in any order, or all values column by column.
//!
//! Rows are instances, unless columns are said to be. Entries may come in any order, so that no row is complete before all is
//! read: nothing is handed on before. What is kept meanwhile is as narrow as for svmlight text, and of no more columns than are
//! wanted. Only a conversion, which puts parts aside on disk, goes on in pieces.

mod header;
mod lines;

use std::path::Path;

pub(super) use self::header::MAGIC;
use self::header::{Form, Header};
use self::lines::{Meaning, Part, entry_of, repeated, spot_of};
use super::parallel::for_each_chunk;
use super::source::{Chunk, Chunks, Lines, Source};
use crate::data::build::{Builder, Repeated, Scattered};
use crate::data::{Columns, Dense, Layout, Sparse};
use crate::error::{Error, Place, Result, reserve};

/// A file whose header was read.
pub(super) struct Matrix {
    chunks: Chunks,
    header: Header,
    /// Lines of the header.
    lines: u64,
    transposed: bool,
}

impl Matrix {
    /// Reads the header. `transposed` says that columns are instances; `chunk` is how many bytes of text one task parses.
    pub(super) fn open(source: Source, transposed: bool, chunk: usize) -> Result<Self> {
        let mut chunks = Chunks::new(source, chunk);
        let (header, lines) = Header::read(&mut chunks)?;
        let place = || Place { file: chunks.name().to_owned(), line: Some(lines), column: None };
        header.check(transposed).map_err(|reason| Error::input(place(), reason))?;
        Ok(Self { chunks, header, lines, transposed })
    }

    /// Number of instances.
    pub(super) fn rows(&self) -> usize {
        self.header.shape(self.transposed)[0] as usize
    }

    /// Number of features.
    pub(super) fn dimension(&self) -> u64 {
        self.header.shape(self.transposed)[1]
    }

    /// Who finds entries that are there twice, where parts of the data cannot.
    pub(super) fn repeats(&self) -> Repeats {
        Repeats { name: self.chunks.name().to_owned(), transposed: self.transposed }
    }

    /// All of it, on the threads of the current pool; of entries, those of `wanted` features.
    pub(super) fn read(self, wanted: impl Fn(u64) -> bool + Sync) -> Result<Box<dyn Columns>> {
        match self.header.form {
            Form::Array => Ok(Box::new(self.read_array()?)),
            Form::Coordinate | Form::Pattern => {
                let (repeats, dimension) = (self.repeats(), self.dimension());
                let mut builder = Builder::of_rows(self.rows());
                self.parse(wanted, |parts| with_entries(parts, |some| builder.scatter(some, dimension)))?;
                Ok(builder.gather(dimension).map_err(|found| repeats.error(found))?.lighter())
            }
        }
    }

    /// Hands on some entries at a time, of all rows: as many as `entries`, but for the last. An array comes as a whole.
    pub(super) fn for_each_part<E: From<Error>>(
        self,
        entries: u64,
        mut each: impl FnMut(Whole) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.header.form == Form::Array {
            return each(Whole::Array(Box::new(self.read_array()?)));
        }
        let (repeats, dimension, rows) = (self.repeats(), self.dimension(), self.rows());
        let gather = |builder: Builder| builder.gather(dimension).map_err(|found| repeats.error(found));
        let mut builder = Builder::of_rows(rows);
        self.parse(
            |_| true,
            |parts| {
                with_entries(parts, |some| builder.scatter(some, dimension))?;
                if builder.entries() < entries {
                    return Ok(());
                }
                let full = std::mem::replace(&mut builder, Builder::of_rows(rows));
                each(Whole::Entries(gather(full)?))
            },
        )?;
        each(Whole::Entries(gather(builder)?))
    }

    fn read_array(self) -> Result<Dense<f64, Vec<f64>>> {
        let (rows, dimension, name) = (self.rows(), self.dimension(), self.chunks.name().to_owned());
        // Columns follow each other in the file.
        let layout = if self.transposed { Layout::RowMajor } else { Layout::ColumnMajor };
        let mut values: Vec<f64> = Vec::new();
        self.parse(
            |_| true,
            |parts| {
                parts.iter().try_for_each(|part| {
                    reserve(&mut values, part.values.len(), &name)?;
                    values.extend_from_slice(&part.values);
                    Ok::<_, Error>(())
                })
            },
        )?;
        Dense::new(values, rows, dimension as usize, layout)
    }

    /// Parses all lines. `each` gets what a few chunks hold at a time.
    fn parse<E: From<Error>>(
        self,
        wanted: impl Fn(u64) -> bool + Sync,
        mut each: impl FnMut(&mut [Part]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { chunks, header, lines, transposed } = self;
        let mut reading = Reading { name: chunks.name().to_owned(), header, lines, count: 0, last: (0, 0) };
        let meaning = Meaning { header, transposed, wanted };
        let parse = |part: &mut Part, chunk: &Chunk| part.parse(chunk, &meaning);
        for_each_chunk(chunks, &parse, &mut |parts, chunks| {
            parts.iter_mut().zip(chunks).try_for_each(|(part, chunk)| reading.take(part, chunk))?;
            each(parts)
        })?;
        Ok(reading.end()?)
    }
}

/// Does something with the entries of some parts, which must lie side by side.
fn with_entries<T>(parts: &mut [Part], work: impl FnOnce(&mut [Scattered]) -> T) -> T {
    let mut entries: Vec<_> = parts.iter_mut().map(|part| std::mem::take(&mut part.entries)).collect();
    let done = work(&mut entries);
    parts.iter_mut().zip(entries).for_each(|(part, entries)| part.entries = entries);
    done
}

/// Some of a matrix, over all of its rows.
pub(super) enum Whole {
    /// Some entries; others may follow in the same columns, of other rows.
    Entries(Sparse),
    Array(Box<dyn Columns>),
}

/// What was read so far.
struct Reading {
    name: String,
    header: Header,
    lines: u64,
    count: u64,
    /// Row and column of the last entry.
    last: (u64, u64),
}

impl Reading {
    /// Takes note of a parsed chunk; fails with its first fault.
    fn take(&mut self, part: &mut Part, chunk: &Chunk) -> Result<()> {
        let Header { entries, form, .. } = self.header;
        let [first, last] = part.ends;
        let (spot, reason) = if part.count > 0 && first.0 > 0 && first == self.last {
            (spot_of(chunk, 0, form), repeated(first.0, first.1))
        } else if part.count > entries - self.count {
            let spot = spot_of(chunk, entries - self.count, form);
            (spot, format!("more than {entries} {}, though the header says so many", form.unit()))
        } else if let Some(fault) = part.fault.take() {
            fault
        } else {
            self.count += part.count;
            self.lines += part.lines;
            if part.count > 0 {
                self.last = last;
            }
            return Ok(());
        };
        Err(Error::input(Place::at(&self.name, self.lines + spot.line, spot.column), reason))
    }

    /// All is read.
    fn end(self) -> Result<()> {
        let (found, entries, unit) = (self.count, self.header.entries, self.header.form.unit());
        if found == entries {
            return Ok(());
        }
        let reason = format!("the file is cut short: {found} {unit} where the header says {entries}");
        Err(Error::input(self.name.as_str(), reason))
    }
}

/// Who says where an entry stands that is there twice. Entries that follow each other are found as they are read; of others
/// only row and column are known in the end, and a file is read once more to find the line.
#[derive(Debug, Clone)]
pub(crate) struct Repeats {
    name: String,
    transposed: bool,
}

impl Repeats {
    /// The error for such an entry.
    pub(crate) fn error(&self, found: Repeated) -> Error {
        let (instance, feature) = (u64::from(found.row) + 1, found.id + 1);
        let (row, column) = if self.transposed { (feature, instance) } else { (instance, feature) };
        let place = match self.second(row, column) {
            Ok(Some((line, at))) => Place::at(&self.name, line, at as u64 + 1),
            _ => Place::from(self.name.as_str()),
        };
        Error::input(place, repeated(row, column))
    }

    /// The line where an entry stands for the second time, and where in it, if the file can be read again.
    fn second(&self, row: u64, column: u64) -> Result<Option<(u64, usize)>> {
        let path = Path::new(&self.name);
        if !path.is_file() {
            return Ok(None);
        }
        let mut lines = Lines::new(Source::open(path)?);
        // The first line that says something is that of the size.
        let (mut sized, mut found) = (false, false);
        while let Some((number, line)) = lines.next()? {
            if line.trim_ascii().is_empty() || line.starts_with(b"%") {
                continue;
            }
            let entry = if sized { entry_of(line, row, column) } else { None };
            sized = true;
            if let Some(at) = entry {
                if found {
                    return Ok(Some((number, at)));
                }
                found = true;
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
