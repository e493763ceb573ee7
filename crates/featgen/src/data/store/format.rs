//! The bytes of a store: a prologue, arrays, and at the end an index of them.
//!
//! ```text
//! prologue   64 bytes: magic, version, zeros
//! arrays     each at a multiple of 64 bytes, filled up with zeros, with a checksum that covers the filling too
//! index      JSON: what the data are, where each array is, its checksum
//! trailer    32 bytes: where the index is, its length and checksum, magic
//! ```
//!
//! All numbers are little-endian. Every byte is under some checksum or compared with what it must be.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::data::width::Width;

pub(super) const MAGIC: &[u8; 8] = b"featgenS";
const END_MAGIC: &[u8; 8] = b"Sfeatgen";
const VERSION: u32 = 1;

/// Arrays begin at multiples of this, so that they can be used where they are mapped.
pub(super) const ALIGNMENT: u64 = 64;
const TRAILER: usize = 32;

/// Where an array is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Section {
    pub(super) offset: u64,
    /// Bytes without the filling.
    pub(super) length: u64,
    /// Of the bytes with the filling.
    pub(super) checksum: u64,
}

impl Section {
    /// Its bytes with the filling.
    pub(super) fn extent(&self) -> Option<Range<u64>> {
        let end = self.offset.checked_add(self.length)?.checked_next_multiple_of(ALIGNMENT)?;
        Some(self.offset..end)
    }
}

/// How values are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// All are 1, and not kept at all.
    Ones,
    /// Whole numbers from 0 to 255.
    U8,
    F32,
    F64,
}

impl Kind {
    /// Bytes of a value.
    pub(super) fn size(self) -> u64 {
        match self {
            Self::Ones => 0,
            Self::U8 => 1,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// Some columns that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Shard {
    pub(super) columns: u64,
    /// Where columns are sparse: ids, pointers and row numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sparse: Option<SparseSections>,
    pub(super) values: Section,
    /// Where columns are dense: perhaps a copy of them in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) copy: Option<CopySections>,
}

/// A copy of full columns in one byte a value, from which scores are computed roughly: the bytes, and what those of each column tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CopySections {
    pub(super) bytes: Section,
    pub(super) facts: Section,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SparseSections {
    pub(super) ids: Section,
    pub(super) pointers: Section,
    pub(super) rows: Section,
}

impl Shard {
    /// Its arrays, but for the copy.
    pub(super) fn sections(&self) -> impl Iterator<Item = Section> {
        let sparse = self.sparse.into_iter().flat_map(|s| [s.ids, s.pointers, s.rows]);
        sparse.chain([self.values])
    }

    /// The arrays of its copy.
    pub(super) fn copied(&self) -> impl Iterator<Item = Section> {
        self.copy.into_iter().flat_map(|copy| [copy.bytes, copy.facts])
    }
}

/// What the data are, and where.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Index {
    pub(super) rows: u64,
    pub(super) dimension: u64,
    pub(super) nonzeros: u64,
    pub(super) values: Kind,
    /// Bytes of each row number in sparse shards.
    pub(super) row_bytes: Width,
    pub(super) shards: Vec<Shard>,
    /// Classes in order; empty without labels.
    pub(super) classes: Vec<String>,
    /// The class of each row, in 32 bits.
    pub(super) labels: Option<Section>,
    /// Where labels are numbers: that of each row, in 64-bit floats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) numbers: Option<Section>,
    /// The weight of each row, in 64-bit floats.
    pub(super) weights: Option<Section>,
    /// A JSON list of names.
    pub(super) names: Option<Section>,
    /// Whether features are told apart by their names.
    pub(super) by_name: bool,
    /// Of a table: a recipe, in JSON, of how its columns became features.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) recipe: Option<Section>,
}

impl Index {
    /// All arrays of the file, in no particular order.
    fn sections(&self) -> impl Iterator<Item = Section> + '_ {
        let columns = self.shards.iter().flat_map(|shard| shard.sections().chain(shard.copied()));
        columns.chain(self.others())
    }

    /// All but those of shards.
    pub(super) fn others(&self) -> impl Iterator<Item = Section> + use<> {
        [self.labels, self.numbers, self.weights, self.names, self.recipe].into_iter().flatten()
    }
}

/// Rows that a store may have however small it is, and for each of its bytes. Rows without values and labels take no bytes,
/// but memory when predictions are made for them.
const FEW_ROWS: u64 = 1 << 24;
const ROWS_PER_BYTE: u64 = 16;

/// How row numbers are kept where there are so many rows.
pub(super) fn row_width(rows: u64) -> Width {
    Width::of(rows.saturating_sub(1))
}

/// The first bytes of every store.
pub(super) fn prologue() -> [u8; ALIGNMENT as usize] {
    let mut bytes = [0; ALIGNMENT as usize];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes
}

/// Index and trailer, to follow the arrays at `offset`.
pub(super) fn ending(index: &Index, offset: u64) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(index).expect("an index can always be written");
    let (length, checksum) = (bytes.len() as u64, xxh3_64(&bytes));
    for number in [offset, length, checksum] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(END_MAGIC);
    bytes
}

/// The index of a store, or what is wrong with the file. Arrays are known to lie inside it, one after the other, and to
/// leave no byte out; their content has still to be checked.
pub(super) fn index(file: &[u8]) -> Result<Index, String> {
    let incomplete = || "the store is incomplete or damaged".to_owned();
    let expected = prologue();
    if file.len() < expected.len() + TRAILER || !file.starts_with(MAGIC) {
        return Err(incomplete());
    }
    let version = u32::from_le_bytes(file[8..12].try_into().expect("four bytes"));
    if version != VERSION {
        return Err(format!("the store has version {version}; this featgen reads version {VERSION}"));
    }
    let trailer = &file[file.len() - TRAILER..];
    let number = |k: usize| u64::from_le_bytes(trailer[8 * k..][..8].try_into().expect("eight bytes"));
    let [offset, length, checksum] = [number(0), number(1), number(2)];
    let whole = offset.checked_add(length).and_then(|end| end.checked_add(TRAILER as u64));
    if !file.starts_with(&expected) || trailer[24..] != *END_MAGIC || whole != Some(file.len() as u64) {
        return Err(incomplete());
    }
    let bytes = &file[offset as usize..][..length as usize];
    if xxh3_64(bytes) != checksum {
        return Err("the store is damaged: its index does not have the checksum it should".into());
    }
    let index: Index = serde_json::from_slice(bytes).map_err(|e| format!("a strange store: {e}"))?;
    if index.row_bytes < row_width(index.rows) {
        let (rows, bytes) = (index.rows, index.row_bytes.bytes());
        return Err(format!("a strange store: {bytes} bytes are too few for the numbers of {rows} rows"));
    }
    let most = (file.len() as u64).saturating_mul(ROWS_PER_BYTE).max(FEW_ROWS);
    if index.rows > most.min(u32::MAX.into()) {
        let (rows, bytes) = (index.rows, file.len());
        return Err(format!("a strange store: {rows} rows in {bytes} bytes"));
    }
    let mut extents: Vec<Range<u64>> = Vec::new();
    for section in index.sections() {
        // An empty array may be anywhere, but not beyond the others.
        let extent = section.extent().filter(|extent| extent.end <= offset);
        extents.push(extent.ok_or_else(incomplete)?);
    }
    extents.retain(|extent| !extent.is_empty());
    extents.sort_unstable_by_key(|extent| extent.start);
    let mut end = ALIGNMENT;
    for extent in extents {
        if extent.start != end {
            return Err(incomplete());
        }
        end = extent.end;
    }
    if end == offset { Ok(index) } else { Err(incomplete()) }
}
