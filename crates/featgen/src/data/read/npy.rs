//! NumPy's `.npy`: a short header and the bytes of an array. A matrix in a plain file is mapped, not read.

use std::fs::File;
use std::marker::PhantomData;
use std::path::Path;

use memmap2::{Mmap, MmapOptions};

use super::source::Source;
use super::spellings::Spellings;
use crate::data::{Columns, Dense, Labels, Layout, Real};
use crate::error::{Error, Result};

/// What an array begins with.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// Headers longer than this describe something else than numbers.
const HEADER_LIMIT: usize = 1 << 16;

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

/// Reads a matrix of `f4` or `f8`.
pub(super) fn read_matrix(mut source: Source) -> Result<Box<dyn Columns>> {
    let header = Header::read(&mut source)?;
    let [rows, columns] = header.shape[..] else {
        return Err(
            source.error(format!("an array of shape {}: two dimensions are needed", header.shown_shape()))
        );
    };
    if rows == 0 {
        return Err(source.error("no instances"));
    }
    let matrix = Matrix {
        rows,
        columns,
        layout: if header.fortran_order { Layout::ColumnMajor } else { Layout::RowMajor },
    };
    match header.descr.as_str() {
        "<f4" => matrix.read::<f32>(source, &header),
        "<f8" => matrix.read::<f64>(source, &header),
        other => Err(source.error(unusable(other, "f4 or f8"))),
    }
}

/// Reads labels from an array of one dimension.
pub(super) fn read_labels(mut source: Source) -> Result<Labels> {
    let header = Header::read(&mut source)?;
    let [length] = header.shape[..] else {
        let reason = format!("labels of shape {}: one dimension is needed", header.shown_shape());
        return Err(source.error(reason));
    };
    match header.descr.trim_start_matches(['<', '|']) {
        "b1" => labels::<u8>(source, length),
        "i1" => labels::<i8>(source, length),
        "u1" => labels::<u8>(source, length),
        "i2" => labels::<i16>(source, length),
        "u2" => labels::<u16>(source, length),
        "i4" => labels::<i32>(source, length),
        "u4" => labels::<u32>(source, length),
        "i8" => labels::<i64>(source, length),
        "u8" => labels::<u64>(source, length),
        "f4" => labels::<f32>(source, length),
        "f8" => labels::<f64>(source, length),
        _ => Err(source.error(unusable(&header.descr, "whole numbers, floats or booleans"))),
    }
}

fn labels<T: bytemuck::Pod + std::fmt::Display>(mut source: Source, length: usize) -> Result<Labels> {
    let mut spellings = Spellings::default();
    for (k, value) in read_values::<T>(&mut source, length)?.iter().enumerate() {
        let text = value.to_string();
        if text == "NaN" {
            return Err(source.error(format!("label {} is not a number", k + 1)));
        }
        spellings.push(&text).map_err(|reason| source.error(reason))?;
    }
    Ok(spellings.into_labels())
}

fn unusable(descr: &str, needed: &str) -> String {
    match descr.strip_prefix('>') {
        Some(kind) => format!("big-endian values (>{kind}): save them as little-endian (<{kind})"),
        None => format!("values of type {}: {needed} are needed", super::quoted(descr.as_bytes())),
    }
}

struct Matrix {
    rows: usize,
    columns: usize,
    layout: Layout,
}

impl Matrix {
    fn read<T: Real>(self, mut source: Source, header: &Header) -> Result<Box<dyn Columns>> {
        let Some(length) =
            self.rows.checked_mul(self.columns).filter(|n| n.checked_mul(size_of::<T>()).is_some())
        else {
            return Err(source.error(format!("a shape of {} is too large", header.shown_shape())));
        };
        let mapped = match source.plain_file() {
            Some(path) => Mapped::<T>::new(path, header.length, length).map_err(|e| source.read_error(e))?,
            None => None,
        };
        match mapped {
            Some(values) if values.as_ref().len() < length => {
                Err(truncated(&source, values.as_ref().len(), length))
            }
            Some(values) => Ok(Box::new(Dense::new(values, self.rows, self.columns, self.layout)?)),
            None => {
                let values = read_values::<T>(&mut source, length)?;
                Ok(Box::new(Dense::new(values, self.rows, self.columns, self.layout)?))
            }
        }
    }
}

fn truncated(source: &Source, held: usize, needed: usize) -> Error {
    source.error(format!("the file is cut short: {held} values where the header says {needed}"))
}

/// Reads `length` values that follow the header.
fn read_values<T: bytemuck::Pod>(source: &mut Source, length: usize) -> Result<Vec<T>> {
    let mut values: Vec<T> = Vec::new();
    while values.len() < length {
        let begin = values.len();
        values.resize(length.min(begin + READ_STEP), T::zeroed());
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values[begin..]);
        let read = source.read_fully(bytes)?;
        if read < bytes.len() {
            return Err(truncated(source, begin + read / size_of::<T>(), length));
        }
    }
    Ok(values)
}

/// Values in a file, as many as there are of the number asked for.
struct Mapped<T> {
    map: Mmap,
    begin: usize,
    end: usize,
    element: PhantomData<T>,
}

impl<T: Real> Mapped<T> {
    /// `None` where the values are not aligned in the file.
    fn new(path: &Path, begin: usize, length: usize) -> std::io::Result<Option<Self>> {
        let map = map(&File::open(path)?)?;
        let held = map.len().saturating_sub(begin) / size_of::<T>();
        let end = begin + length.min(held) * size_of::<T>();
        let aligned = begin.is_multiple_of(align_of::<T>());
        Ok(aligned.then_some(Self { map, begin, end, element: PhantomData }))
    }
}

impl<T: Real> AsRef<[T]> for Mapped<T> {
    fn as_ref(&self) -> &[T] {
        bytemuck::cast_slice(&self.map[self.begin..self.end])
    }
}

/// Files up to this many bytes are surely held by memory: their pages are mapped in one go, which is cheaper than one by one.
const SMALL: u64 = 1 << 30;

/// Maps a file. Pages of a large one are read as they are needed and not before: an array may be larger than memory.
#[allow(unsafe_code)]
fn map(file: &File) -> std::io::Result<Mmap> {
    let mut options = MmapOptions::new();
    if file.metadata()?.len() <= SMALL {
        options.populate();
    }
    // SAFETY: the map is only read, and any bytes are valid numbers. As with every mapped file, it is assumed that
    // nobody shortens the file while it is in use: the system would stop the process.
    unsafe { options.map(file) }
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
