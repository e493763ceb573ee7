//! Parquet files as batches of Arrow: of each group of rows, the columns that are wanted, some rows at a time.
//!
//! Columns of one value in each row are read, whose numbers, dates, truths or texts something can be made of. All others only
//! have a type, which says what they are.

mod arrays;
mod pages;
mod runs;
#[cfg(test)]
mod tests;
mod texts;
mod types;

use std::fs::File;
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, NullArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::{is_text, unit};

/// A file whose metadata were read.
pub(super) struct Parquet {
    file: SerializedFileReader<File>,
    /// Columns of the top level: their names, and what they hold.
    columns: Vec<(String, DataType)>,
}

impl Parquet {
    pub(super) fn open(file: File) -> Result<Self, ArrowError> {
        let file = SerializedFileReader::new(file).map_err(wrong)?;
        let columns = types::columns(file.metadata().file_metadata());
        Ok(Self { file, columns })
    }

    pub(super) fn columns(self) -> Vec<(String, DataType)> {
        self.columns
    }

    /// Batches of the columns `needed`, of so many rows at most.
    pub(super) fn batches(self, needed: &[usize], rows: usize) -> Result<Batches, ArrowError> {
        let schema = self.file.metadata().file_metadata().schema_descr_ptr();
        let leaves: Vec<usize> =
            (0..schema.num_columns()).map(|leaf| schema.get_column_root_idx(leaf)).collect();
        let column = |&k: &usize| {
            let (name, of) = self.columns.get(k).ok_or_else(|| damaged("a column is missing"))?;
            let place = match of {
                DataType::Null => Place::Missing,
                of if unit(of).is_none() && !is_text(of) => Place::Unread,
                // Such a column has one leaf.
                _ => Place::Leaf(
                    leaves
                        .iter()
                        .position(|&root| root == k)
                        .ok_or_else(|| damaged("a column is missing"))?,
                ),
            };
            Ok(Column { name: name.clone(), of: of.clone(), place })
        };
        let columns = needed.iter().map(column).collect::<Result<Vec<_>, ArrowError>>()?;
        Ok(Batches { file: self.file, columns, rows, readers: Vec::new(), next_group: 0, left: 0 })
    }
}

/// A column that is wanted.
struct Column {
    name: String,
    of: DataType,
    place: Place,
}

/// Where the values of a column are.
enum Place {
    /// In this leaf of the schema.
    Leaf(usize),
    /// Nowhere: none has any.
    Missing,
    /// Where they stay, for nothing can be made of them.
    Unread,
}

/// What reads a column of a group of rows.
enum Reader {
    Texts(texts::Texts),
    Values(ColumnReader),
}

/// Batches of some columns of a file.
pub(super) struct Batches {
    file: SerializedFileReader<File>,
    columns: Vec<Column>,
    /// Rows of a batch, at most.
    rows: usize,
    /// The columns in a group of rows; `None` where there is nothing to read.
    readers: Vec<Option<Reader>>,
    /// The group that comes after it.
    next_group: usize,
    /// Rows of the group that are still to be read.
    left: usize,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.left == 0 {
            if self.next_group == self.file.num_row_groups() {
                return None;
            }
            if let Err(error) = self.begin_group() {
                return Some(Err(error));
            }
        }
        Some(self.batch())
    }
}

impl Batches {
    fn begin_group(&mut self) -> Result<(), ArrowError> {
        let group = self.file.get_row_group(self.next_group).map_err(wrong)?;
        let meta = group.metadata();
        self.left = usize::try_from(meta.num_rows()).map_err(|_| damaged("a group has no number of rows"))?;
        let reader = |column: &Column| {
            let Place::Leaf(leaf) = column.place else { return Ok(None) };
            check_chunk(meta, leaf)?;
            let of = meta.schema_descr().column(leaf);
            let pages = group.get_column_page_reader(leaf).map_err(wrong)?;
            Ok(Some(if is_text(&column.of) {
                Reader::Texts(texts::Texts::new(of, pages))
            } else {
                let pages = pages::Checked::new(pages, &of);
                Reader::Values(get_column_reader(of, Box::new(pages)))
            }))
        };
        self.readers = self.columns.iter().map(reader).collect::<Result<_, ArrowError>>()?;
        self.next_group += 1;
        Ok(())
    }

    fn batch(&mut self) -> Result<RecordBatch, ArrowError> {
        let rows = self.rows.min(self.left);
        self.left -= rows;
        let ends = self.left == 0;
        let array = |(column, reader): (&Column, &mut Option<Reader>)| {
            let array: ArrayRef = match reader {
                Some(Reader::Texts(texts)) => texts.next(rows, ends)?,
                Some(Reader::Values(values)) => arrays::next(values, &column.of, rows, ends)?,
                None if matches!(column.place, Place::Missing) => Arc::new(NullArray::new(rows)),
                None => Arc::new(BinaryArray::new_null(rows)),
            };
            Ok((Field::new(&column.name, array.data_type().clone(), true), array))
        };
        let columns = self.columns.iter().zip(&mut self.readers).map(array);
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) =
            columns.collect::<Result<Vec<_>, ArrowError>>()?.into_iter().unzip();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
    }
}

/// Whether a column of a group of rows is there, and in this file.
fn check_chunk(group: &RowGroupMetaData, leaf: usize) -> Result<(), ArrowError> {
    let chunk = group.columns().get(leaf).ok_or_else(|| damaged("a group lacks a column"))?;
    match chunk.file_path() {
        Some(path) if !path.is_empty() => Err(damaged(&format!("its rows are in another file, `{path}`"))),
        _ => Ok(()),
    }
}

/// What is wrong where a column has fewer rows than its group, or more.
fn uneven() -> ArrowError {
    damaged("the columns of a group of rows have different lengths")
}

fn damaged(what: &str) -> ArrowError {
    ArrowError::ParquetError(what.to_owned())
}

fn wrong(error: ParquetError) -> ArrowError {
    ArrowError::ParquetError(error.to_string())
}
