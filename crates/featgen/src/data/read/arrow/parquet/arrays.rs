//! Arrays of Arrow from the values of a column of a Parquet file that is not one of texts.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal128Type, Float16Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{AsBytes, DataType as Physical, Int96};

use super::{damaged, uneven, wrong};

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// The next rows of a column of a group, after which it has no more if it `ends`. A dictionary is not kept: it is an array of its values.
pub(super) fn next(
    reader: &mut ColumnReader,
    of: &DataType,
    rows: usize,
    ends: bool,
) -> Result<ArrayRef, ArrowError> {
    let of = match of {
        DataType::Dictionary(_, of) => of,
        of => of,
    };
    match reader {
        ColumnReader::BoolColumnReader(reader) => truths(&Cells::read(reader, rows, ends)?, of),
        ColumnReader::Int32ColumnReader(reader) => {
            let cells = Cells::read(reader, rows, ends)?;
            let unit = if *of == DataType::Date64 { DAY } else { 1 };
            integers(cells.map(|x| i64::from(x) * unit), of)
        }
        ColumnReader::Int64ColumnReader(reader) => integers(Cells::read(reader, rows, ends)?, of),
        ColumnReader::Int96ColumnReader(reader) => times(Cells::read(reader, rows, ends)?, of),
        ColumnReader::FloatColumnReader(reader) => match of {
            DataType::Float32 => Ok(Cells::read(reader, rows, ends)?.array::<Float32Type>(|x| x)),
            of => Err(strange(of)),
        },
        ColumnReader::DoubleColumnReader(reader) => match of {
            DataType::Float64 => Ok(Cells::read(reader, rows, ends)?.array::<Float64Type>(|x| x)),
            of => Err(strange(of)),
        },
        ColumnReader::ByteArrayColumnReader(reader) => bytes(&Cells::read(reader, rows, ends)?, of),
        ColumnReader::FixedLenByteArrayColumnReader(reader) => bytes(&Cells::read(reader, rows, ends)?, of),
    }
}

/// Some rows of a column.
struct Cells<V> {
    /// What is there.
    values: Vec<V>,
    /// For each row, whether it is: 1, or else 0. Nothing where it always is.
    there: Vec<i16>,
}

impl<V> Cells<V> {
    fn read<T: Physical<T = V>>(
        reader: &mut ColumnReaderImpl<T>,
        rows: usize,
        ends: bool,
    ) -> Result<Self, ArrowError> {
        let (mut values, mut there) = (Vec::with_capacity(rows), Vec::new());
        let mut read =
            |rows, values: &mut _| reader.read_records(rows, Some(&mut there), None, values).map_err(wrong);
        if read(rows, &mut values)?.0 != rows || (ends && read(1, &mut Vec::new())?.0 != 0) {
            return Err(uneven());
        }
        if values.len() == rows {
            there.clear();
        }
        Ok(Self { values, there })
    }

    fn map<W>(self, make: impl Fn(V) -> W) -> Cells<W> {
        Cells { values: self.values.into_iter().map(make).collect(), there: self.there }
    }

    fn nulls(&self) -> Option<NullBuffer> {
        let of = |there: &[i16]| BooleanBuffer::collect_bool(there.len(), |row| there[row] > 0).into();
        (!self.there.is_empty()).then(|| of(&self.there))
    }

    /// Calls `each` with every row, in order.
    fn for_each(&self, mut each: impl FnMut(Option<&V>)) {
        let mut values = self.values.iter();
        if self.there.is_empty() {
            values.for_each(|value| each(Some(value)));
        } else {
            self.there.iter().for_each(|&there| each(if there > 0 { values.next() } else { None }));
        }
    }

    fn primitive<T: ArrowPrimitiveType>(&self, make: impl Fn(V) -> T::Native) -> PrimitiveArray<T>
    where
        V: Copy,
    {
        let mut all = Vec::with_capacity(self.values.len().max(self.there.len()));
        self.for_each(|value| all.push(value.map_or_else(T::Native::default, |&value| make(value))));
        PrimitiveArray::new(all.into(), self.nulls())
    }

    fn array<T: ArrowPrimitiveType>(&self, make: impl Fn(V) -> T::Native) -> ArrayRef
    where
        V: Copy,
    {
        Arc::new(self.primitive::<T>(make))
    }
}

fn truths(cells: &Cells<bool>, of: &DataType) -> Result<ArrayRef, ArrowError> {
    if *of != DataType::Boolean {
        return Err(strange(of));
    }
    let mut all = Vec::with_capacity(cells.values.len().max(cells.there.len()));
    cells.for_each(|value| all.push(value.is_some_and(|&value| value)));
    let all = BooleanBuffer::collect_bool(all.len(), |row| all[row]);
    Ok(Arc::new(BooleanArray::new(all, cells.nulls())))
}

/// What is kept as integers. Where these have fewer bits, those above say nothing; where they have no sign, the first bit is none.
fn integers(cells: Cells<i64>, of: &DataType) -> Result<ArrayRef, ArrowError> {
    Ok(match of {
        DataType::Int8 => cells.array::<Int8Type>(|x| x as i8),
        DataType::Int16 => cells.array::<Int16Type>(|x| x as i16),
        DataType::Int32 => cells.array::<Int32Type>(|x| x as i32),
        DataType::Int64 => cells.array::<Int64Type>(|x| x),
        DataType::UInt8 => cells.array::<UInt8Type>(|x| x as u8),
        DataType::UInt16 => cells.array::<UInt16Type>(|x| x as u16),
        DataType::UInt32 => cells.array::<UInt32Type>(|x| x as u32),
        DataType::UInt64 => cells.array::<UInt64Type>(|x| x as u64),
        DataType::Date32 => cells.array::<Date32Type>(|x| x as i32),
        DataType::Date64 => cells.array::<Date64Type>(|x| x),
        DataType::Timestamp(unit, zone) => {
            macro_rules! of {
                ($unit:ty) => {
                    Arc::new(cells.primitive::<$unit>(|x| x).with_timezone_opt(zone.clone()))
                };
            }
            match unit {
                TimeUnit::Second => of!(TimestampSecondType),
                TimeUnit::Millisecond => of!(TimestampMillisecondType),
                TimeUnit::Microsecond => of!(TimestampMicrosecondType),
                TimeUnit::Nanosecond => of!(TimestampNanosecondType),
            }
        }
        DataType::Decimal128(..) => decimals(&cells.map(i128::from), of)?,
        of => return Err(strange(of)),
    })
}

/// Times as they were kept before there were integers for them.
fn times(cells: Cells<Int96>, of: &DataType) -> Result<ArrayRef, ArrowError> {
    let DataType::Timestamp(unit, _) = of else { return Err(strange(of)) };
    let time = match unit {
        TimeUnit::Second => |x: Int96| x.to_seconds(),
        TimeUnit::Millisecond => |x: Int96| x.to_millis(),
        TimeUnit::Microsecond => |x: Int96| x.to_micros(),
        TimeUnit::Nanosecond => |x: Int96| x.to_nanos(),
    };
    integers(cells.map(time), of)
}

fn decimals(cells: &Cells<i128>, of: &DataType) -> Result<ArrayRef, ArrowError> {
    let &DataType::Decimal128(precision, scale) = of else { return Err(strange(of)) };
    let array = cells.primitive::<Decimal128Type>(|x| x);
    Ok(Arc::new(array.with_precision_and_scale(precision, scale)?))
}

/// What is kept as bytes, and is no text.
fn bytes<V: AsBytes>(cells: &Cells<V>, of: &DataType) -> Result<ArrayRef, ArrowError> {
    match of {
        DataType::Decimal128(..) => {
            let value = |value: &V| {
                big_endian(value.as_bytes()).ok_or_else(|| damaged("a decimal has not 1 to 16 bytes"))
            };
            let values = cells.values.iter().map(value).collect::<Result<_, _>>()?;
            decimals(&Cells { values, there: cells.there.clone() }, of)
        }
        DataType::Float16 => {
            let value = |value: &V| {
                let bytes = value.as_bytes().try_into();
                bytes.map_err(|_| damaged("a number of 16 bits has not 2 bytes"))
            };
            let values = cells.values.iter().map(value).collect::<Result<Vec<[u8; 2]>, _>>()?;
            let cells = Cells { values, there: cells.there.clone() };
            Ok(cells.array::<Float16Type>(<Float16Type as ArrowPrimitiveType>::Native::from_le_bytes))
        }
        of => Err(strange(of)),
    }
}

/// An integer whose first byte is the greatest, and has the sign.
fn big_endian(bytes: &[u8]) -> Option<i128> {
    let sign = if bytes.first()? & 0x80 == 0 { 0 } else { 0xff };
    let mut all = [sign; 16];
    all.get_mut(16_usize.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
    Some(i128::from_be_bytes(all))
}

/// What no column can be that was found to hold such values.
fn strange(of: &DataType) -> ArrowError {
    damaged(&format!("a column of type {of} holds other values"))
}
