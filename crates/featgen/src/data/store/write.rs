//! Writing a store: arrays at places that are known before, several of them at a time.

use std::fs::File;
use std::io::{self, Write};

use xxhash_rust::xxh3::Xxh3Default;

use super::format::{self, ALIGNMENT, CopySections, Index, Kind, Section, Shard, SparseSections};
use crate::data::rough::{Chunk, FactNumbers, Facts};
use crate::data::width::Width;
use crate::data::{Labels, Names};
use crate::error::Result;
use crate::files::WholeFile;
use crate::table::Recipe;

/// Bytes that an array gathers before they are written.
const BUFFER: usize = 1 << 18;

/// How many columns and values each shard gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) columns: u64,
    /// Stored values; all of them in dense data.
    pub(super) values: u64,
}

/// What is known of the data before their columns come.
pub(super) struct Plan {
    pub(super) rows: u64,
    pub(super) dimension: u64,
    pub(super) values: Kind,
    pub(super) row_width: Width,
    pub(super) sparse: bool,
    /// Whether columns, which are dense then, are also written in bytes.
    pub(super) copied: bool,
    pub(super) shares: Vec<Share>,
}

/// A store in the making. Columns come in order, each into the shard whose turn it is.
pub(super) struct StoreWriter {
    file: WholeFile,
    plan: Plan,
    next: u64,
    shards: Vec<Shard>,
    current: Option<Arrays>,
}

/// The arrays of the shard at hand.
struct Arrays {
    share: Share,
    sparse: Option<[Array; 3]>,
    values: Array,
    copy: Option<Copy>,
    columns: u64,
    nonzeros: u64,
}

/// A copy of the shard's columns in bytes.
struct Copy {
    /// The bytes of the values of the column that was begun last.
    column: Vec<u8>,
    bytes: Array,
    facts: Array,
}

impl Arrays {
    /// The column that was begun last, if any was, is there.
    fn end_column(&mut self, kind: Kind) -> io::Result<()> {
        match &mut self.copy {
            Some(copy) if !copy.column.is_empty() => copy.end_column(kind),
            _ => Ok(()),
        }
    }
}

impl Copy {
    /// Adds the bytes and the facts of a column.
    fn end_column(&mut self, kind: Kind) -> io::Result<()> {
        let rows = self.column.len() / kind.size() as usize;
        let mut chunks = vec![Chunk::default(); rows.div_ceil(size_of::<Chunk>())];
        let bytes = chunks.as_flattened_mut();
        let facts = match kind {
            Kind::Ones | Kind::U8 => Facts::copy_whole(&self.column, bytes),
            Kind::F32 => {
                let values = self.column.as_chunks().0.iter().map(|x| f32::from_le_bytes(*x));
                Facts::copy(&values.collect::<Vec<f32>>(), bytes)
            }
            Kind::F64 => {
                let values = self.column.as_chunks().0.iter().map(|x| f64::from_le_bytes(*x));
                Facts::copy(&values.collect::<Vec<f64>>(), bytes)
            }
        };
        self.column.clear();
        self.bytes.push(bytes)?;
        self.facts.push(bytemuck::bytes_of(&FactNumbers::from(facts)))
    }
}

impl StoreWriter {
    pub(super) fn new(mut file: WholeFile, plan: Plan) -> Result<Self> {
        file.write_all(&format::prologue()).map_err(|e| file.error(e))?;
        Ok(Self { file, plan, next: ALIGNMENT, shards: Vec::new(), current: None })
    }

    /// Begins a column of `length` values, of a sparse one with the id.
    pub(super) fn column(&mut self, id: u64, length: u64) -> Result<()> {
        self.begin_column(id, length).map_err(|e| self.file.error(e))
    }

    fn begin_column(&mut self, id: u64, length: u64) -> io::Result<()> {
        let full = self.current.as_ref().is_some_and(|arrays| arrays.columns == arrays.share.columns);
        if full {
            self.end_shard()?;
        }
        if self.current.is_none() {
            self.begin_shard()?;
        }
        let arrays = self.current.as_mut().expect("just begun");
        arrays.end_column(self.plan.values)?;
        arrays.columns += 1;
        arrays.nonzeros += length;
        if let Some([ids, pointers, _]) = &mut arrays.sparse {
            ids.push(&id.to_le_bytes())?;
            pointers.push(&arrays.nonzeros.to_le_bytes())?;
        }
        Ok(())
    }

    /// Adds row numbers, each in 32 bits, and bytes of values to the column begun last.
    pub(super) fn entries(&mut self, rows: &[u8], values: &[u8]) -> Result<()> {
        let arrays = self.current.as_mut().expect("a column was begun");
        let mut write = || -> io::Result<()> {
            if let Some([_, _, array]) = &mut arrays.sparse {
                match self.plan.row_width {
                    Width::Two => array.push(bytemuck::cast_slice(&narrowed(rows)))?,
                    Width::Four => array.push(rows)?,
                }
            }
            if let Some(copy) = &mut arrays.copy {
                copy.column.extend_from_slice(values);
            }
            arrays.values.push(values)
        };
        write().map_err(|e| self.file.error(e))
    }

    fn begin_shard(&mut self) -> io::Result<()> {
        let share = self.plan.shares[self.shards.len()];
        let file = self.file.file()?;
        let mut array = |length: u64| {
            let array = Array::new(file.try_clone()?, self.next, length);
            self.next = (self.next + length).next_multiple_of(ALIGNMENT);
            io::Result::Ok(array)
        };
        let sparse = match self.plan.sparse {
            false => None,
            true => {
                let (ids, pointers) = (array(8 * share.columns)?, array(8 * (share.columns + 1))?);
                Some([ids, pointers, array(self.plan.row_width.bytes() as u64 * share.values)?])
            }
        };
        let values = array(self.plan.values.size() * share.values)?;
        let copy = match self.plan.copied {
            false => None,
            true => {
                let chunks = self.plan.rows.div_ceil(size_of::<Chunk>() as u64);
                let bytes = array(chunks * size_of::<Chunk>() as u64 * share.columns)?;
                Some(Copy {
                    column: Vec::new(),
                    bytes,
                    facts: array(size_of::<FactNumbers>() as u64 * share.columns)?,
                })
            }
        };
        let mut arrays = Arrays { share, sparse, values, copy, columns: 0, nonzeros: 0 };
        if let Some([_, pointers, _]) = &mut arrays.sparse {
            pointers.push(&0u64.to_le_bytes())?;
        }
        self.current = Some(arrays);
        Ok(())
    }

    fn end_shard(&mut self) -> io::Result<()> {
        let Some(mut arrays) = self.current.take() else { return Ok(()) };
        arrays.end_column(self.plan.values)?;
        let Arrays { share, sparse, values, copy, columns, nonzeros } = arrays;
        if columns != share.columns || nonzeros != share.values {
            return Err(io::Error::other("a shard did not get what was planned"));
        }
        let sparse = sparse.map(|[ids, pointers, rows]| {
            io::Result::Ok(SparseSections { ids: ids.end()?, pointers: pointers.end()?, rows: rows.end()? })
        });
        let copy = copy
            .map(|copy| io::Result::Ok(CopySections { bytes: copy.bytes.end()?, facts: copy.facts.end()? }));
        self.shards.push(Shard {
            columns,
            sparse: sparse.transpose()?,
            values: values.end()?,
            copy: copy.transpose()?,
        });
        Ok(())
    }

    /// All columns are there: adds labels, names and a recipe, and gives the file its name.
    pub(super) fn finish(mut self, labels: &Labels, names: &Names, recipe: Option<&Recipe>) -> Result<()> {
        self.end(labels, names, recipe).map_err(|e| self.file.error(e))?;
        self.file.finish()
    }

    fn end(&mut self, labels: &Labels, names: &Names, recipe: Option<&Recipe>) -> io::Result<()> {
        self.end_shard()?;
        let list = if names.list().is_empty() { None } else { Some(serde_json::to_vec(names.list())?) };
        let codes = (!labels.codes().is_empty()).then(|| bytemuck::cast_slice(labels.codes()));
        let labels_section = codes.map(|bytes| self.whole(bytes)).transpose()?;
        let numbers = labels.only_numbers().map(|x| self.whole(bytemuck::cast_slice(x))).transpose()?;
        let weights =
            labels.weights().map(|weights| self.whole(bytemuck::cast_slice(weights))).transpose()?;
        let names_section = list.map(|bytes| self.whole(&bytes)).transpose()?;
        // One that says no more than the names is not kept.
        let recipe = recipe.filter(|recipe| !recipe.is_plain()).map(serde_json::to_vec).transpose()?;
        let recipe = recipe.map(|bytes| self.whole(&bytes)).transpose()?;
        let index = Index {
            rows: self.plan.rows,
            dimension: self.plan.dimension,
            nonzeros: self.plan.shares.iter().map(|share| share.values).sum(),
            values: self.plan.values,
            row_bytes: self.plan.row_width,
            shards: std::mem::take(&mut self.shards),
            classes: labels.classes().to_vec(),
            labels: labels_section,
            numbers,
            weights,
            names: names_section,
            by_name: names.identify(),
            recipe,
        };
        write_at(self.file.file()?, &format::ending(&index, self.next), self.next)
    }

    /// An array that is there as a whole.
    fn whole(&mut self, bytes: &[u8]) -> io::Result<Section> {
        let mut array = Array::new(self.file.file()?.try_clone()?, self.next, bytes.len() as u64);
        self.next = (self.next + bytes.len() as u64).next_multiple_of(ALIGNMENT);
        array.push(bytes)?;
        array.end()
    }
}

/// Row numbers of 32 bits that are known to need 16 only.
fn narrowed(rows: &[u8]) -> Vec<u16> {
    rows.as_chunks().0.iter().map(|&row| u32::from_le_bytes(row) as u16).collect()
}

/// An array being written at its place.
pub(super) struct Array {
    file: File,
    section: Section,
    written: u64,
    buffer: Vec<u8>,
    checksum: Xxh3Default,
}

impl Array {
    pub(super) fn new(file: File, offset: u64, length: u64) -> Self {
        let section = Section { offset, length, checksum: 0 };
        Self { file, section, written: 0, buffer: Vec::new(), checksum: Xxh3Default::new() }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() < BUFFER { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.checksum.update(&self.buffer);
        write_at(&self.file, &self.buffer, self.section.offset + self.written)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Writes what is left.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.check_length()?;
        self.flush()
    }

    fn check_length(&self) -> io::Result<u64> {
        let length = self.written + self.buffer.len() as u64;
        let right = length == self.section.length;
        right.then_some(length).ok_or_else(|| io::Error::other("an array did not get the length planned"))
    }

    /// Fills up, writes what is left, and says where everything is.
    fn end(mut self) -> io::Result<Section> {
        let length = self.check_length()?;
        let filled = length.next_multiple_of(ALIGNMENT);
        self.buffer.resize(self.buffer.len() + (filled - length) as usize, 0);
        self.flush()?;
        self.section.checksum = self.checksum.digest();
        Ok(self.section)
    }
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(unix)]
pub(super) fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
pub(super) fn read_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => (bytes, offset) = (&mut bytes[read..], offset + read as u64),
        }
    }
    Ok(())
}

#[cfg(windows)]
fn write_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = std::os::windows::fs::FileExt::seek_write(file, bytes, offset)?;
        (bytes, offset) = (&bytes[written..], offset + written as u64);
    }
    Ok(())
}
