//! Blocks of a table as groups of rows of a Parquet file.

use std::io;
use std::sync::Arc;

use arrow_array::types::{Date32Type, Int64Type};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::{BLOCK, Block, Column, Type};
use crate::files::WholeFile;
use crate::table::cells::Dates;

/// Begins a file of such columns.
pub(super) fn begin<'a>(
    out: &'a mut WholeFile,
    columns: &[Column],
) -> io::Result<ArrowWriter<&'a mut WholeFile>> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(BLOCK))
        .build();
    Ok(ArrowWriter::try_new(out, schema(columns), Some(properties))?)
}

fn schema(columns: &[Column]) -> Arc<Schema> {
    let field = |column: &Column| {
        let of = match column.of {
            Type::Number => DataType::Int64,
            Type::Text => DataType::Utf8,
            Type::Truth => DataType::Boolean,
            Type::Date => DataType::Date32,
        };
        Field::new(&column.name, of, true)
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// The rows of a block.
pub(super) fn batch(columns: &[Column], block: &Block) -> io::Result<RecordBatch> {
    let cells: Vec<&str> = block.cells().collect();
    let array = |(k, column): (usize, &Column)| -> ArrayRef {
        let cells = cells.iter().skip(k).step_by(columns.len());
        let there = cells.map(|&cell| Some(cell).filter(|cell| !cell.is_empty()));
        match column.of {
            Type::Number => Arc::new(PrimitiveArray::<Int64Type>::from_iter(
                there.map(|cell| cell.and_then(|cell| cell.parse::<i64>().ok())),
            )),
            Type::Text => Arc::new(StringArray::from_iter(there)),
            Type::Truth => {
                Arc::new(BooleanArray::from_iter(there.map(|cell| cell.map(|cell| cell == "TRUE"))))
            }
            Type::Date => Arc::new(PrimitiveArray::<Date32Type>::from_iter(
                there.map(|cell| cell.and_then(|cell| Dates::Iso.days(cell)).map(|days| days as i32)),
            )),
        }
    };
    let arrays = columns.iter().enumerate().map(array).collect();
    RecordBatch::try_new(schema(columns), arrays).map_err(io::Error::other)
}
