//! Blocks of a table as groups of rows of a Parquet file.

use std::ops::Range;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type as Schema;

use super::{Block, Column, Type};
use crate::files::WholeFile;
use crate::table::cells::Dates;

/// A file that is being written.
pub(super) type File<'a> = SerializedFileWriter<&'a mut WholeFile>;

/// Begins a file of such columns.
pub(super) fn begin<'a>(out: &'a mut WholeFile, columns: &[Column]) -> Result<File<'a>> {
    // What would help to skip rows takes a tenth of the time.
    let properties = WriterProperties::builder().set_statistics_enabled(EnabledStatistics::None);
    let properties = properties.set_compression(Compression::SNAPPY).build();
    SerializedFileWriter::new(out, Arc::new(schema(columns)?), Arc::new(properties))
}

fn schema(columns: &[Column]) -> Result<Schema> {
    let field = |column: &Column| {
        let (of, means) = match column.of {
            Type::Number => (Physical::INT64, None),
            Type::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Type::Truth => (Physical::BOOLEAN, None),
            Type::Date => (Physical::INT32, Some(LogicalType::Date)),
        };
        let field = Schema::primitive_type_builder(&column.name, of).with_repetition(Repetition::OPTIONAL);
        field.with_logical_type(means).build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<_>>()?;
    Schema::group_type_builder("schema").with_fields(fields).build()
}

/// The cells of a column of a block: those that are there, and for each whether it is.
pub(super) struct Cells {
    values: Values,
    there: Vec<i16>,
}

enum Values {
    Numbers(Vec<i64>),
    Texts(Vec<ByteArray>),
    Truths(Vec<bool>),
    Days(Vec<i32>),
}

/// The columns of a block.
pub(super) fn cells(columns: &[Column], block: &Block) -> Vec<Cells> {
    let text = ByteArray::from(block.text.as_bytes());
    let place = |k: usize| k.checked_sub(1).map_or(0, |before| block.ends[before])..block.ends[k];
    let column = |(k, column): (usize, &Column)| {
        let places = (k..block.ends.len()).step_by(columns.len()).map(place);
        let places = places.map(|place| Some(place).filter(|place| !place.is_empty()));
        let cells = places.clone().map(|place| place.map(|place| &block.text[place]));
        match column.of {
            Type::Number => Cells::of(cells.map(|cell| cell?.parse().ok()), Values::Numbers),
            // They share the bytes of the whole.
            Type::Text => {
                let shared = |place: Range<usize>| text.slice(place.start, place.len());
                Cells::of(places.map(|place| place.map(shared)), Values::Texts)
            }
            Type::Truth => Cells::of(cells.map(|cell| Some(cell? == "TRUE")), Values::Truths),
            Type::Date => {
                Cells::of(cells.map(|cell| Dates::Iso.days(cell?).map(|days| days as i32)), Values::Days)
            }
        }
    };
    columns.iter().enumerate().map(column).collect()
}

impl Cells {
    fn of<T>(cells: impl Iterator<Item = Option<T>>, values: impl Fn(Vec<T>) -> Values) -> Self {
        let mut there = Vec::new();
        let cells = cells.inspect(|cell| there.push(cell.is_some().into())).flatten().collect();
        Self { values: values(cells), there }
    }

    fn write(&self, mut column: SerializedColumnWriter<'_>) -> Result<()> {
        match &self.values {
            Values::Numbers(values) => put::<Int64Type>(&mut column, values, &self.there),
            Values::Texts(values) => put::<ByteArrayType>(&mut column, values, &self.there),
            Values::Truths(values) => put::<BoolType>(&mut column, values, &self.there),
            Values::Days(values) => put::<Int32Type>(&mut column, values, &self.there),
        }?;
        column.close()
    }
}

fn put<T: DataType>(column: &mut SerializedColumnWriter<'_>, values: &[T::T], there: &[i16]) -> Result<()> {
    column.typed::<T>().write_batch(values, Some(there), None).map(drop)
}

/// Adds the rows of a block.
pub(super) fn write(file: &mut File<'_>, columns: &[Cells]) -> Result<()> {
    let mut rows = file.next_row_group()?;
    for cells in columns {
        if let Some(column) = rows.next_column()? {
            cells.write(column)?;
        }
    }
    rows.close().map(drop)
}
