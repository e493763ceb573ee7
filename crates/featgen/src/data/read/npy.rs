//! NumPy's `.npy`: a short header and the bytes of an array. A matrix in a plain file is mapped, not read.

use std::fs::File;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::source::Source;
use super::spellings::Spellings;
use crate::data::mapped::Mapped;
use crate::data::{Columns, Dense, Layout, Value};
use crate::error::{Error, Result, reserve};

/// What an array begins with.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// Headers longer than this describe something else than numbers.
const HEADER_LIMIT: usize = 1 << 16;

/// Files up to this many bytes are surely held by memory: their pages are mapped in one go, which is cheaper than one by one.
/// Pages of a larger one are read as they are needed and not before: an array may be larger than memory.
const SMALL: u64 = 1 << 30;

/// Values that are read in one go where an array is not mapped: a header may claim any size, the bytes must follow.
const READ_STEP: usize = 1 << 17;

/// What the header says.
#[derive(Debug, Clone, PartialEq)]
struct Header {
    descr: String,
    fortran_order: bool,
    shape: Vec<usize>,
    /// Where the values begin.
    length: usize,
}

/// Numbers that can be used where they are mapped.
#[derive(Debug, Clone, Copy)]
enum Kind {
    U8,
    F32,
    F64,
}

/// An array whose header was read: two dimensions of floats or of bytes.
pub(super) struct Array {
    source: Source,
    kind: Kind,
    begin: usize,
    rows: usize,
    columns: usize,
    layout: Layout,
}

impl Array {
    /// Reads the header.
    pub(super) fn open(mut source: Source) -> Result<Self> {
        let header = Header::read(&mut source)?;
        let [rows, columns] = header.shape[..] else {
            return Err(source
                .error(format!("an array of shape {}: two dimensions are needed", header.shown_shape())));
        };
        if rows == 0 {
            return Err(source.error("no instances"));
        }
        // They could be any number without taking a byte.
        if columns == 0 {
            return Err(source.error(format!("an array of shape {}: no features", header.shown_shape())));
        }
        let (kind, bytes) = match header.descr.as_str() {
            // What is true is a byte of 1.
            "|u1" | "|b1" => (Kind::U8, 1),
            "<f4" => (Kind::F32, 4),
            "<f8" => (Kind::F64, 8),
            other => {
                return Err(source.error(unusable(other, "f4 or f8 are needed, or bytes: u1 or booleans")));
            }
        };
        if rows.checked_mul(columns).is_none_or(|values| values.checked_mul(bytes).is_none()) {
            return Err(source.error(format!("a shape of {} is too large", header.shown_shape())));
        }
        let layout = if header.fortran_order { Layout::ColumnMajor } else { Layout::RowMajor };
        Ok(Self { source, kind, begin: header.length, rows, columns, layout })
    }

    /// Number of instances.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Number of features.
    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// Whether columns can be read one after the other from where they are, as far as can be known without trying.
    pub(super) fn has_columns_at_hand(&self) -> bool {
        self.layout == Layout::ColumnMajor && self.source.plain_file().is_some()
    }

    /// All of it.
    pub(super) fn read(self) -> Result<Box<dyn Columns>> {
        match self.kind {
            Kind::U8 => self.read_as::<u8>(),
            Kind::F32 => self.read_as::<f32>(),
            Kind::F64 => self.read_as::<f64>(),
        }
    }

    /// Some rows at a time, of about `size` values, in order. What is neither in a plain file nor by rows can only be had as a whole.
    pub(super) fn for_each_batch<E: From<Error>>(
        self,
        size: usize,
        each: impl FnMut(Box<dyn Columns>) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.kind {
            Kind::U8 => self.batches_of::<u8, E>(size, each),
            Kind::F32 => self.batches_of::<f32, E>(size, each),
            Kind::F64 => self.batches_of::<f64, E>(size, each),
        }
    }

    fn read_as<T: Value>(mut self) -> Result<Box<dyn Columns>> {
        let Self { rows, columns, layout, .. } = self;
        Ok(match self.mapped::<T>()? {
            Some(values) => Box::new(Dense::new(values, rows, columns, layout)?),
            None => {
                let values = read_values::<T>(&mut self.source, 0..rows * columns, rows * columns)?;
                Box::new(Dense::new(values, rows, columns, layout)?)
            }
        })
    }

    fn batches_of<T: Value, E: From<Error>>(
        mut self,
        size: usize,
        mut each: impl FnMut(Box<dyn Columns>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { rows, columns, layout, .. } = self;
        let mapped = self.mapped::<T>()?;
        if mapped.is_none() && layout == Layout::ColumnMajor {
            return each(self.read_as::<T>()?);
        }
        let step = (size / columns.max(1)).max(1);
        for first in (0..rows).step_by(step) {
            let part = first..rows.min(first + step);
            each(match &mapped {
                Some(values) => Box::new(Dense::part(values.clone(), rows, columns, layout, part)?),
                None => {
                    let range = part.start * columns..part.end * columns;
                    let values = read_values::<T>(&mut self.source, range, rows * columns)?;
                    Box::new(Dense::new(values, part.len(), columns, layout)?)
                }
            })?;
        }
        Ok(())
    }

    /// The values of a plain file in which they are aligned.
    fn mapped<T: Value>(&self) -> Result<Option<MappedValues<T>>> {
        let Some(path) = self.source.plain_file() else { return Ok(None) };
        let length = self.rows * self.columns;
        let mapped =
            MappedValues::<T>::new(path, self.begin, length).map_err(|e| self.source.read_error(e))?;
        match mapped {
            Some(values) if values.as_ref().len() < length => {
                Err(truncated(&self.source, values.as_ref().len(), length))
            }
            mapped => Ok(mapped),
        }
    }
}

/// Labels in an array of one dimension, of which some are read at a time.
pub(super) struct LabelArray {
    source: Source,
    descr: String,
    length: usize,
    read: usize,
}

impl LabelArray {
    /// Reads the header.
    pub(super) fn open(mut source: Source) -> Result<Self> {
        let header = Header::read(&mut source)?;
        let [length] = header.shape[..] else {
            let reason = format!("labels of shape {}: one dimension is needed", header.shown_shape());
            return Err(source.error(reason));
        };
        Ok(Self { source, descr: header.descr, length, read: 0 })
    }

    pub(super) fn name(&self) -> &str {
        self.source.name()
    }

    /// How many labels there are.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Adds the next labels; fewer if there are no more.
    pub(super) fn next(&mut self, count: usize, spellings: &mut Spellings) -> Result<()> {
        let count = count.min(self.length - self.read);
        match self.descr.trim_start_matches(['<', '|']) {
            "b1" => self.spell::<u8>(count, spellings),
            "i1" => self.spell::<i8>(count, spellings),
            "u1" => self.spell::<u8>(count, spellings),
            "i2" => self.spell::<i16>(count, spellings),
            "u2" => self.spell::<u16>(count, spellings),
            "i4" => self.spell::<i32>(count, spellings),
            "u4" => self.spell::<u32>(count, spellings),
            "i8" => self.spell::<i64>(count, spellings),
            "u8" => self.spell::<u64>(count, spellings),
            "f4" => self.spell::<f32>(count, spellings),
            "f8" => self.spell::<f64>(count, spellings),
            _ => {
                Err(self.source.error(unusable(&self.descr, "whole numbers, floats or booleans are needed")))
            }
        }
    }

    fn spell<T>(&mut self, count: usize, spellings: &mut Spellings) -> Result<()>
    where
        T: bytemuck::Pod + std::fmt::Display,
    {
        let end = self.read + count;
        while self.read < end {
            // Some at a time: a header may claim any number, and too many different ones are refused on the way.
            let range = self.read..end.min(self.read + READ_STEP);
            let values = read_values::<T>(&mut self.source, range, self.length)?;
            for (k, value) in values.iter().enumerate() {
                let text = value.to_string();
                if text == "NaN" {
                    return Err(self.source.error(format!("label {} is not a number", self.read + k + 1)));
                }
                // Arrays have no lines; their places are as good.
                let label = spellings.resolve(&text, (self.read + k + 1) as u64);
                spellings.push(label.map_err(|reason| self.source.error(reason))?);
            }
            self.read += values.len();
        }
        Ok(())
    }
}

fn unusable(descr: &str, needed: &str) -> String {
    match descr.strip_prefix('>') {
        Some(kind) => format!("big-endian values (>{kind}): save them as little-endian (<{kind})"),
        None => format!("values of type {}: {needed}", super::quoted(descr.as_bytes())),
    }
}

fn truncated(source: &Source, held: usize, needed: usize) -> Error {
    source.error(format!("the file is cut short: {held} values where the header says {needed}"))
}

/// Reads the values `range` of so many, which come next.
fn read_values<T: bytemuck::Pod>(source: &mut Source, range: Range<usize>, of: usize) -> Result<Vec<T>> {
    let mut values: Vec<T> = Vec::new();
    while values.len() < range.len() {
        let begin = values.len();
        let end = range.len().min(begin + READ_STEP);
        reserve(&mut values, end - begin, source.name())?;
        values.resize(end, T::zeroed());
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values[begin..]);
        let read = source.read_fully(bytes)?;
        if read < bytes.len() {
            return Err(truncated(source, range.start + begin + read / size_of::<T>(), of));
        }
    }
    Ok(values)
}

/// Values in a file, as many as there are of the number asked for.
#[derive(Clone)]
struct MappedValues<T> {
    map: Arc<Mapped>,
    begin: usize,
    end: usize,
    element: PhantomData<T>,
}

impl<T: Value> MappedValues<T> {
    /// `None` where the values are not aligned in the file.
    fn new(path: &Path, begin: usize, length: usize) -> std::io::Result<Option<Self>> {
        let file = File::open(path)?;
        let map = Arc::new(Mapped::file(&file, path, file.metadata()?.len() <= SMALL)?);
        let held = map.len().saturating_sub(begin) / size_of::<T>();
        let end = begin + length.min(held) * size_of::<T>();
        let aligned = begin.is_multiple_of(align_of::<T>());
        Ok(aligned.then_some(Self { map, begin, end, element: PhantomData }))
    }
}

impl<T: Value> AsRef<[T]> for MappedValues<T> {
    fn as_ref(&self) -> &[T] {
        bytemuck::cast_slice(&self.map[self.begin..self.end])
    }
}

impl Header {
    /// Reads the header and leaves the source at the first value.
    fn read(source: &mut Source) -> Result<Self> {
        if cfg!(target_endian = "big") {
            return Err(source.error("arrays are read on little-endian machines only"));
        }
        let mut fixed = [0; 8];
        let mut size = [0; 4];
        let read = source.read_fully(&mut fixed)?;
        let size_bytes = if fixed[6] == 1 { 2 } else { 4 };
        let read = read + source.read_fully(&mut size[..size_bytes])?;
        if read < fixed.len() + size_bytes || !fixed.starts_with(MAGIC) {
            return Err(source.error("the header of the array is cut short"));
        }
        if !(1..=3).contains(&fixed[6]) {
            return Err(source.error(format!("version {} of the array format is not known", fixed[6])));
        }
        let size = u32::from_le_bytes(size) as usize;
        if size > HEADER_LIMIT {
            return Err(source.error("the header of the array is too long: it must describe plain numbers"));
        }
        let mut text = vec![0; size];
        if source.read_fully(&mut text)? < size {
            return Err(source.error("the header of the array is cut short"));
        }
        Self::parse(&text, read + size)
            .ok_or_else(|| source.error("the header of the array cannot be understood"))
    }

    /// Parses a dictionary as Python writes it: `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`.
    fn parse(text: &[u8], length: usize) -> Option<Self> {
        let mut rest =
            std::str::from_utf8(text).ok()?.trim().strip_prefix('{')?.strip_suffix('}')?.trim_start();
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        while !rest.is_empty() {
            let (key, after) = string(rest)?;
            let value = after.trim_start().strip_prefix(':')?.trim_start();
            rest = match key {
                "descr" => take(
                    &mut descr,
                    string(value)
                        .map(|(text, rest)| (text.to_owned(), rest))
                        .or_else(|| list(value).map(|rest| ("a record".to_owned(), rest)))?,
                ),
                "fortran_order" => take(&mut fortran_order, boolean(value)?),
                "shape" => take(&mut shape, tuple(value)?),
                _ => return None,
            };
            rest = rest.trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        }
        Some(Self { descr: descr?, fortran_order: fortran_order?, shape: shape?, length })
    }

    fn shown_shape(&self) -> String {
        let sizes: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        format!("({})", sizes.join(", "))
    }
}

/// Stores what was parsed and returns what follows it.
fn take<'a, T>(slot: &mut Option<T>, (value, rest): (T, &'a str)) -> &'a str {
    *slot = Some(value);
    rest
}

fn string(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

/// What follows a list, whose content does not matter.
fn list(text: &str) -> Option<&str> {
    text.starts_with('[').then(|| text.rsplit_once(']').map(|(_, rest)| rest)).flatten()
}

fn boolean(text: &str) -> Option<(bool, &str)> {
    let yes = text.strip_prefix("True").map(|rest| (true, rest));
    yes.or_else(|| text.strip_prefix("False").map(|rest| (false, rest)))
}

fn tuple(text: &str) -> Option<(Vec<usize>, &str)> {
    let (inside, rest) = text.strip_prefix('(')?.split_once(')')?;
    let sizes = inside.split(',').map(str::trim).filter(|size| !size.is_empty());
    Some((sizes.map(|size| size.parse().ok()).collect::<Option<_>>()?, rest))
}
