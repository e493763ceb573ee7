//! What the columns of a Parquet file hold, as types of Arrow.
//!
//! The file's own schema says how values are kept. Programs that write from Arrow add the schema that they had, which says what
//! Parquet cannot: where both agree, that one counts.

use std::sync::Arc;

use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::root_as_message;
use arrow_schema::{DECIMAL128_MAX_PRECISION, DataType, Field, Fields, IntervalUnit, Schema, TimeUnit};
use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit as Resolution, Type as Physical};
use parquet::file::metadata::FileMetaData;
use parquet::schema::types::Type;

/// Under this name a file has the schema of Arrow that it was written from.
pub(super) const ARROW_SCHEMA: &str = "ARROW:schema";

/// The names of a file's columns, and what these hold.
pub(super) fn columns(file: &FileMetaData) -> Vec<(String, DataType)> {
    let told = told(file);
    let column = |(k, field): (usize, &Arc<Type>)| {
        let told = told.as_ref().and_then(|schema| schema.fields().get(k));
        let told = told.filter(|told| told.name() == field.name()).map(|told| told.data_type());
        (field.name().to_owned(), of(field, told))
    };
    file.schema_descr().root_schema().get_fields().iter().enumerate().map(column).collect()
}

/// The schema that a file was written from, if it tells one that can be read.
fn told(file: &FileMetaData) -> Option<Schema> {
    let entries = file.key_value_metadata()?;
    let text = entries.iter().find(|entry| entry.key == ARROW_SCHEMA)?.value.as_ref()?;
    let message = base64(text)?;
    // Since version 0.15 of the format a mark comes before the length.
    let message = message.strip_prefix(&[0xff; 4]).and_then(|rest| rest.get(4..)).unwrap_or(&message);
    try_fb_to_schema(root_as_message(message).ok()?.header_as_schema()?).ok()
}

/// What a text in base 64 stands for.
fn base64(text: &str) -> Option<Vec<u8>> {
    let digit = |letter: u8| match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let digits = text.trim_end_matches('=').bytes().map(digit).collect::<Option<Vec<u8>>>()?;
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for four in digits.chunks(4) {
        let bits =
            four.iter().zip([18, 12, 6, 0]).fold(0, |bits, (&digit, at)| bits | u32::from(digit) << at);
        // Each digit after the first completes a byte.
        bytes.extend(&bits.to_be_bytes()[1..four.len()]);
    }
    Some(bytes)
}

/// What a column holds of which the schema of Arrow may tell more.
fn of(field: &Type, told: Option<&DataType>) -> DataType {
    if field.is_group() || is_repeated(field) {
        return nested(field);
    }
    let own = value(field);
    let is_old_time = field.get_physical_type() == Physical::INT96;
    told.map_or(own.clone(), |told| as_told(own, is_old_time, told))
}

fn is_repeated(field: &Type) -> bool {
    let info = field.get_basic_info();
    info.has_repetition() && info.repetition() == Repetition::REPEATED
}

/// What a column holds that is `own` by itself, and was told to be something else.
fn as_told(own: DataType, is_old_time: bool, told: &DataType) -> DataType {
    use DataType::{
        Binary, BinaryView, Date32, Date64, Decimal32, Decimal64, Decimal128, Decimal256, Dictionary,
        Duration, Int32, Int64, LargeBinary, LargeUtf8, Time32, Time64, Timestamp, Utf8, Utf8View,
    };
    let agree = match (&own, told) {
        (_, Dictionary(_, values)) => {
            let own = as_told(own, is_old_time, values);
            return if own == **values { told.clone() } else { own };
        }
        (Int32, Timestamp(..) | Time32(_))
        | (Int64, Timestamp(..) | Time64(_) | Duration(_) | Date64)
        | (Date32, Date64)
        | (Utf8, LargeUtf8 | Utf8View)
        | (Binary, Utf8 | LargeUtf8 | Utf8View | LargeBinary | BinaryView)
        | (Decimal128(..), Decimal32(..) | Decimal64(..) | Decimal256(..)) => true,
        (Timestamp(own, _), Timestamp(told, zone)) => is_old_time || (own == told && zone.is_some()),
        _ => false,
    };
    if agree { told.clone() } else { own }
}

/// What a column holds that has one value in a row, by the file's own schema.
fn value(field: &Type) -> DataType {
    let info = field.get_basic_info();
    let (logical, converted) = (info.logical_type_ref(), info.converted_type());
    if let Some(LogicalType::Unknown) = logical {
        return DataType::Null;
    }
    let decimal = match (logical, converted) {
        (Some(LogicalType::Decimal(decimal)), _) => Some((decimal.precision, decimal.scale)),
        (None, ConvertedType::DECIMAL) => Some((field.get_precision(), field.get_scale())),
        _ => None,
    };
    let length = match field {
        Type::PrimitiveType { type_length, .. } => *type_length,
        Type::GroupType { .. } => 0,
    };
    match (field.get_physical_type(), decimal) {
        (Physical::BOOLEAN, _) => DataType::Boolean,
        (Physical::INT96, _) => DataType::Timestamp(TimeUnit::Nanosecond, None),
        (Physical::FLOAT, _) => DataType::Float32,
        (Physical::DOUBLE, _) => DataType::Float64,
        (Physical::FIXED_LEN_BYTE_ARRAY, Some((precision, scale))) => {
            self::decimal(precision, scale, length > 16)
        }
        (_, Some((precision, scale))) => self::decimal(precision, scale, false),
        (Physical::INT32, None) => integer(32, logical, converted),
        (Physical::INT64, None) => integer(64, logical, converted),
        (Physical::BYTE_ARRAY, None) => match (logical, converted) {
            (Some(LogicalType::String | LogicalType::Json | LogicalType::Enum), _)
            | (None, ConvertedType::UTF8 | ConvertedType::JSON | ConvertedType::ENUM) => DataType::Utf8,
            _ => DataType::Binary,
        },
        (Physical::FIXED_LEN_BYTE_ARRAY, None) => match (logical, converted) {
            (Some(LogicalType::Float16), _) if length == 2 => DataType::Float16,
            (None, ConvertedType::INTERVAL) => DataType::Interval(IntervalUnit::DayTime),
            _ => DataType::FixedSizeBinary(length),
        },
    }
}

/// Decimals, of many digits or kept in many bytes.
fn decimal(precision: i32, scale: i32, is_wide: bool) -> DataType {
    match (u8::try_from(precision), i8::try_from(scale)) {
        (Ok(precision), Ok(scale)) if is_wide || precision > DECIMAL128_MAX_PRECISION => {
            DataType::Decimal256(precision, scale)
        }
        (Ok(precision), Ok(scale)) => DataType::Decimal128(precision, scale),
        _ => DataType::Binary,
    }
}

/// What integers of so many bits stand for.
fn integer(bits: i8, logical: Option<&LogicalType>, converted: ConvertedType) -> DataType {
    let utc = |is_utc: bool| is_utc.then(|| "UTC".into());
    match (bits, logical, converted) {
        (_, Some(LogicalType::Integer(int)), _) => whole(int.bit_width, int.is_signed, bits),
        (_, None, ConvertedType::NONE) => whole(bits, true, bits),
        (_, None, ConvertedType::INT_8) => whole(8, true, bits),
        (_, None, ConvertedType::INT_16) => whole(16, true, bits),
        (_, None, ConvertedType::INT_32) => whole(32, true, bits),
        (_, None, ConvertedType::INT_64) => whole(64, true, bits),
        (_, None, ConvertedType::UINT_8) => whole(8, false, bits),
        (_, None, ConvertedType::UINT_16) => whole(16, false, bits),
        (_, None, ConvertedType::UINT_32) => whole(32, false, bits),
        (_, None, ConvertedType::UINT_64) => whole(64, false, bits),
        (32, Some(LogicalType::Date), _) | (32, None, ConvertedType::DATE) => DataType::Date32,
        (32, Some(LogicalType::Time(_)), _) | (32, None, ConvertedType::TIME_MILLIS) => {
            DataType::Time32(TimeUnit::Millisecond)
        }
        (64, Some(LogicalType::Time(time)), _) => DataType::Time64(unit(time.unit)),
        (64, None, ConvertedType::TIME_MICROS) => DataType::Time64(TimeUnit::Microsecond),
        (64, Some(LogicalType::Timestamp(time)), _) => {
            DataType::Timestamp(unit(time.unit), utc(time.is_adjusted_to_u_t_c))
        }
        (64, None, ConvertedType::TIMESTAMP_MILLIS) => DataType::Timestamp(TimeUnit::Millisecond, utc(true)),
        (64, None, ConvertedType::TIMESTAMP_MICROS) => DataType::Timestamp(TimeUnit::Microsecond, utc(true)),
        // What this version of the format does not say.
        _ => DataType::Binary,
    }
}

/// Whole numbers of so many bits, with or without a sign, kept in at least as many.
fn whole(width: i8, signed: bool, bits: i8) -> DataType {
    match (bits, width, signed) {
        (32, 8, true) => DataType::Int8,
        (32, 16, true) => DataType::Int16,
        (32, 32, true) => DataType::Int32,
        (64, 64, true) => DataType::Int64,
        (32, 8, false) => DataType::UInt8,
        (32, 16, false) => DataType::UInt16,
        (32, 32, false) => DataType::UInt32,
        (64, 64, false) => DataType::UInt64,
        _ => DataType::Binary,
    }
}

fn unit(of: Resolution) -> TimeUnit {
    match of {
        Resolution::MILLIS => TimeUnit::Millisecond,
        Resolution::MICROS => TimeUnit::Microsecond,
        Resolution::NANOS => TimeUnit::Nanosecond,
    }
}

/// The type of a column that may have several values in a row. It is only shown: such columns are not read.
fn nested(field: &Type) -> DataType {
    let is_optional = |field: &Type| field.is_optional() && !is_repeated(field);
    let shown = |field: &Type| Field::new(field.name(), of(field, None), is_optional(field));
    let list = |field: Field| DataType::List(Arc::new(field));
    if field.is_primitive() {
        return list(Field::new(field.name(), value(field), false));
    }
    let fields = field.get_fields();
    let of_all =
        |fields: &[Arc<Type>]| DataType::Struct(fields.iter().map(|field| shown(field)).collect::<Fields>());
    match (field.get_basic_info().converted_type(), fields) {
        (ConvertedType::LIST, [items]) if items.is_primitive() => of(items, None),
        (ConvertedType::LIST, [items]) => match items.get_fields() {
            [item] => list(shown(item)),
            fields => list(Field::new(items.name(), of_all(fields), false)),
        },
        (ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE, [entries]) if entries.is_group() => {
            DataType::Map(Arc::new(Field::new(entries.name(), of_all(entries.get_fields()), false)), false)
        }
        _ if is_repeated(field) => list(Field::new(field.name(), of_all(fields), false)),
        _ => of_all(fields),
    }
}
