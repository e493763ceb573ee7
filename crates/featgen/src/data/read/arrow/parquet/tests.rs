//! What is read is what Parquet's own reader of Arrow reads.

use std::fs::File;
use std::io::{Seek, Write};

use arrow_array::builder::{ListBuilder, PrimitiveDictionaryBuilder, StringDictionaryBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal128Type, Decimal256Type, DurationSecondType,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32SecondType,
    Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, BooleanArray, FixedSizeBinaryArray, LargeStringArray, PrimitiveArray, StringArray,
    StringViewArray, StructArray,
};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, FixedLenByteArrayType, Int96, Int96Type};
use parquet::file::metadata::{KeyValue, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::super::{each_text, numbers};
use super::*;

const ROWS: usize = 2500;

/// The value of a row, where there is one: in none, in all, in some, or in all but the first and last ones.
fn value(row: usize, pattern: usize) -> Option<i64> {
    let there = match pattern {
        0 => false,
        1 => true,
        2 => !row.is_multiple_of(3) && row % 7 < 5,
        _ => (900..ROWS - 500).contains(&row),
    };
    there.then_some((row * row % 101) as i64)
}

fn integers<T: ArrowPrimitiveType>(pattern: usize, native: impl Fn(i64) -> T::Native) -> PrimitiveArray<T> {
    (0..ROWS).map(|row| value(row, pattern).map(&native)).collect()
}

/// A table of columns of every type that can be made something of, or not.
fn table(pattern: usize) -> RecordBatch {
    let words = || (0..ROWS).map(move |row| value(row, pattern).map(|x| format!("wörd {x}")));
    let mut categories = StringDictionaryBuilder::<Int32Type>::new();
    words().for_each(|word| categories.append_option(word));
    let mut codes = PrimitiveDictionaryBuilder::<Int8Type, Int64Type>::new();
    let mut lists = ListBuilder::new(arrow_array::builder::Int64Builder::new());
    for row in 0..ROWS {
        codes.append_option(value(row, pattern).map(|x| 1000 * x));
        lists.append_option(value(row, pattern).map(|x| vec![Some(x); row % 3]));
    }
    let inner: ArrayRef = Arc::new(integers::<Int64Type>(pattern, |x| x));
    let binary = (0..ROWS).map(|row| value(row, pattern).map(|x| [x as u8; 3]));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i8", Arc::new(integers::<Int8Type>(pattern, |x| x as i8 - 50))),
        ("i16", Arc::new(integers::<Int16Type>(pattern, |x| x as i16 * -300))),
        ("i32", Arc::new(integers::<Int32Type>(pattern, |x| x as i32 - 50))),
        ("i64", Arc::new(integers::<Int64Type>(pattern, |x| x * -(1 << 50)))),
        ("u8", Arc::new(integers::<UInt8Type>(pattern, |x| x as u8 + 150))),
        ("u16", Arc::new(integers::<UInt16Type>(pattern, |x| x as u16 + 65_000))),
        ("u32", Arc::new(integers::<UInt32Type>(pattern, |x| u32::MAX - x as u32))),
        ("u64", Arc::new(integers::<UInt64Type>(pattern, |x| u64::MAX - x as u64))),
        ("f16", Arc::new(integers::<Float16Type>(pattern, half))),
        ("f32", Arc::new(integers::<Float32Type>(pattern, |x| x as f32 / 3.0))),
        ("f64", Arc::new(integers::<Float64Type>(pattern, |x| x as f64 / 3.0))),
        (
            "truth",
            Arc::new((0..ROWS).map(|row| value(row, pattern).map(|x| x % 3 == 0)).collect::<BooleanArray>()),
        ),
        ("text", Arc::new(words().collect::<StringArray>())),
        ("large", Arc::new(words().collect::<LargeStringArray>())),
        ("view", Arc::new(words().collect::<StringViewArray>())),
        (
            "own",
            Arc::new(
                (0..ROWS).map(|row| value(row, pattern).map(|_| row.to_string())).collect::<StringArray>(),
            ),
        ),
        ("category", Arc::new(categories.finish())),
        ("codes", Arc::new(codes.finish())),
        ("date", Arc::new(integers::<Date32Type>(pattern, |x| x as i32 - 50))),
        ("date64", Arc::new(integers::<Date64Type>(pattern, |x| x * 86_400_000))),
        ("s", Arc::new(integers::<TimestampSecondType>(pattern, |x| x * 1_000_003))),
        ("ms", Arc::new(integers::<TimestampMillisecondType>(pattern, |x| x * 1_000_003))),
        (
            "us",
            Arc::new(integers::<TimestampMicrosecondType>(pattern, |x| -x).with_timezone("Europe/Berlin")),
        ),
        ("ns", Arc::new(integers::<TimestampNanosecondType>(pattern, |x| x << 50).with_timezone("UTC"))),
        ("short", Arc::new(decimals(pattern, 7, 2))),
        ("middle", Arc::new(decimals(pattern, 18, 0))),
        ("long", Arc::new(decimals(pattern, 38, 10))),
        ("nothing", Arc::new(NullArray::new(ROWS))),
        ("wide", Arc::new(integers::<Decimal256Type>(pattern, |x| x.into()))),
        ("time", Arc::new(integers::<Time32SecondType>(pattern, |x| x as i32))),
        ("time64", Arc::new(integers::<Time64NanosecondType>(pattern, |x| x))),
        ("duration", Arc::new(integers::<DurationSecondType>(pattern, |x| x))),
        (
            "bytes",
            Arc::new(
                (0..ROWS).map(|row| value(row, pattern).map(|x| vec![x as u8])).collect::<BinaryArray>(),
            ),
        ),
        ("three", Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(binary, 3).unwrap())),
        ("list", Arc::new(lists.finish())),
        (
            "struct",
            Arc::new(StructArray::from(vec![(Arc::new(Field::new("a", DataType::Int64, true)), inner)])),
        ),
        ("last", Arc::new(integers::<Int64Type>(1, |x| x))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

/// A number of 16 bits.
fn half(x: i64) -> <Float16Type as ArrowPrimitiveType>::Native {
    <Float16Type as ArrowPrimitiveType>::Native::from_f64(x as f64 / 8.0)
}

fn decimals(pattern: usize, precision: u8, scale: i8) -> PrimitiveArray<Decimal128Type> {
    let far = 10_i128.pow(u32::from(precision) - 4);
    let array = integers::<Decimal128Type>(pattern, |x| i128::from(x - 50) * far);
    array.with_precision_and_scale(precision, scale).unwrap()
}

fn properties() -> WriterPropertiesBuilder {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(1000));
    properties.set_data_page_row_count_limit(300).set_write_batch_size(100)
}

fn written(batch: &RecordBatch, properties: WriterPropertiesBuilder) -> File {
    let file = tempfile::tempfile().unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties.build())).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

/// A file of one column of a type that is described in Parquet's own words.
fn described(
    column: &str,
    write: impl FnOnce(&mut parquet::file::writer::SerializedColumnWriter<'_>),
) -> File {
    let schema = Arc::new(parse_message_type(&format!("message m {{ {column}; }}")).unwrap());
    let mut writer =
        SerializedFileWriter::new(tempfile::tempfile().unwrap(), schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    write(&mut column);
    column.close().unwrap();
    group.close().unwrap();
    writer.into_inner().unwrap()
}

fn read(file: &File, needed: &[usize], rows: usize) -> Result<Vec<RecordBatch>, ArrowError> {
    Parquet::open(file.try_clone().unwrap())?.batches(needed, rows)?.collect()
}

type Made = (Option<Vec<u64>>, Vec<Option<String>>);

/// What becomes of an array: numbers to the bit, and text; `None` if nothing does.
fn made(array: &dyn Array) -> Option<Made> {
    let mut texts = Vec::new();
    let mut add = |_, text: Option<&str>| {
        texts.push(text.map(str::to_owned));
        Ok(())
    };
    each_text(array, &mut add)?.unwrap();
    Some((numbers(array).map(|numbers| numbers.into_iter().map(f64::to_bits).collect()), texts))
}

/// Reads a file by batches of so many rows, and by Parquet's own reader of Arrow.
fn check(file: &File, rows: usize, what: &str) {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file.try_clone().unwrap()).unwrap();
    let schema = builder.schema().clone();
    let columns = Parquet::open(file.try_clone().unwrap()).unwrap().columns();
    let expected: Vec<_> =
        schema.fields().iter().map(|field| (field.name().clone(), field.data_type().clone())).collect();
    assert_eq!(columns, expected, "{what}");
    let whole = builder.with_batch_size(1 << 20).build().unwrap().next().unwrap().unwrap();
    let needed: Vec<usize> = (0..columns.len()).collect();
    let mut at = 0;
    for batch in read(file, &needed, rows).unwrap() {
        for (k, (name, of)) in columns.iter().enumerate() {
            let (own, other) = (batch.column(k), whole.column(k).slice(at, batch.num_rows()));
            assert_eq!(made(own), made(&other), "{what}: {name}");
            let is_known = unit(of).is_some() || is_text(of);
            assert_eq!(made(own).is_some(), is_known, "{what}: {name}");
            if own.data_type() == other.data_type() && is_known {
                assert_eq!(own, &other, "{what}: {name}");
            }
        }
        at += batch.num_rows();
    }
    assert_eq!(at, whole.num_rows(), "{what}");
}

#[test]
fn all_types_are_read_as_they_were_written() {
    for pattern in 0..4 {
        let batch = table(pattern);
        for rows in [1, 7, 700, 5000] {
            check(&written(&batch, properties()), rows, &format!("pattern {pattern}, {rows} rows"));
        }
    }
}

#[test]
fn all_ways_to_write_are_read() {
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
    ];
    let batch = table(2);
    for codec in codecs {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let with = || properties().set_compression(codec).set_writer_version(version);
            let what = format!("{codec:?}, {version:?}");
            check(&written(&batch, with()), 700, &what);
            check(&written(&batch, with().set_dictionary_enabled(false)), 700, &format!("{what}, plain"));
            // The dictionary is given up in the middle of a column.
            let small = with().set_dictionary_page_size_limit(500);
            check(&written(&batch, small), 700, &format!("{what}, half plain"));
        }
    }
    let text = ["text", "own"].map(|name| (name, batch.column_by_name(name).unwrap().clone(), true));
    let text = RecordBatch::try_from_iter_with_nullable(text).unwrap();
    for encoding in [Encoding::PLAIN, Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY] {
        let properties = properties().set_dictionary_enabled(false).set_encoding(encoding);
        check(&written(&text, properties), 77, &format!("{encoding}"));
    }
}

/// Columns without any missing values need not say so.
#[test]
fn columns_that_are_required_are_read() {
    let batch = table(1);
    let columns = ["i32", "text", "truth", "long", "f16"];
    let columns = columns.map(|name| (name, batch.column_by_name(name).unwrap().clone(), false));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    check(&written(&batch, properties()), 700, "required");
    check(&written(&batch, properties().set_dictionary_enabled(false)), 700, "required, plain");
}

#[test]
fn files_without_the_schema_of_arrow_are_read() {
    let options = parquet::arrow::arrow_writer::ArrowWriterOptions::new().with_skip_arrow_metadata(true);
    let batch = table(3);
    let mut writer =
        ArrowWriter::try_new_with_options(tempfile::tempfile().unwrap(), batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    check(&writer.into_inner().unwrap(), 999, "without");
    // Nor does one matter that cannot be read.
    for schema in ["", "no base 64!", "AAAA", "/////wAAAAA="] {
        let entry = KeyValue::new(types::ARROW_SCHEMA.to_owned(), schema.to_owned());
        let own = Arc::new(parse_message_type("message m { optional int64 a; }").unwrap());
        let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![entry])).build();
        let writer = SerializedFileWriter::new(tempfile::tempfile().unwrap(), own, Arc::new(properties));
        let file = Parquet::open(writer.unwrap().into_inner().unwrap()).unwrap();
        assert_eq!(file.columns(), [("a".to_owned(), DataType::Int64)], "{schema}");
    }
}

#[test]
fn old_times_and_decimals_of_bytes_are_read() {
    let times = [[0, 0, 2_440_588], [5, 1, 2_450_000], [7, 0, 2_440_000]];
    let times = times.map(|time| Int96::from(time.to_vec()));
    let there = [1, 0, 1, 1, 0];
    let file = described("optional int96 a", |column| {
        column.typed::<Int96Type>().write_batch(&times, Some(&there), None).unwrap();
    });
    check(&file, 2, "times");
    let numbers = [vec![5], vec![0xff, 0x38], vec![0x7f; 4]].map(ByteArray::from);
    let file = described("optional binary a (DECIMAL(12, 3))", |column| {
        column.typed::<ByteArrayType>().write_batch(&numbers, Some(&there), None).unwrap();
    });
    check(&file, 2, "decimals");
    let numbers = [vec![0, 0, 5], vec![0xff, 0x38, 0], vec![0x7f; 3]].map(Into::into);
    let file = described("optional fixed_len_byte_array(3) a (DECIMAL(6, 3))", |column| {
        column.typed::<FixedLenByteArrayType>().write_batch(&numbers, Some(&there), None).unwrap();
    });
    check(&file, 2, "decimals of three bytes");
    // More bytes than a number of 38 digits takes, or none.
    for bytes in [vec![1; 17], vec![]] {
        let file = described("required binary a (DECIMAL(12, 3))", |column| {
            column.typed::<ByteArrayType>().write_batch(&[ByteArray::from(bytes)], None, None).unwrap();
        });
        assert!(read(&file, &[0], 10).unwrap_err().to_string().contains("1 to 16 bytes"));
    }
}

#[test]
fn names_of_an_enumeration_are_text() {
    let file = described("required binary a (ENUM)", |column| {
        column
            .typed::<ByteArrayType>()
            .write_batch(&["x", "y", "x"].map(ByteArray::from), None, None)
            .unwrap();
    });
    let expected: ArrayRef = Arc::new(StringArray::from(vec!["x", "y", "x"]));
    assert_eq!(made(read(&file, &[0], 10).unwrap()[0].column(0)), made(&expected));
}

#[test]
fn text_must_be_utf_8() {
    // The second would be UTF-8 together with the first.
    let texts = [&b"a\xc3"[..], b"\xa4b"].map(|text| ByteArray::from(text.to_vec()));
    for rows in [1, 2] {
        let file = described("required binary a (UTF8)", |column| {
            column.typed::<ByteArrayType>().write_batch(&texts, None, None).unwrap();
        });
        assert!(read(&file, &[0], rows).is_err());
    }
}

/// Schemas of other programs: groups, and columns of several values.
#[test]
fn what_is_not_read_has_a_type() {
    let columns = [
        "repeated int32 a",
        "optional group a (LIST) { repeated group list { optional int32 element; } }",
        "optional group a (LIST) { repeated int32 element; }",
        "optional group a (LIST) { repeated group element { required int32 b; required int32 c; } }",
        "optional group a (MAP) { repeated group key_value { required binary key (UTF8); optional int32 value; } }",
        "required group a { required group b { optional double c; } repeated int32 d; }",
        "repeated group a { required int32 b; }",
        "required fixed_len_byte_array(16) a (UUID)",
        "required fixed_len_byte_array(12) a (INTERVAL)",
        "required int32 a (TIME(MILLIS,true))",
        "required int64 a (TIME(NANOS,false))",
        "required binary a (BSON)",
    ];
    for column in columns {
        let end = if column.ends_with('}') { "" } else { ";" };
        let message = format!("message m {{ {column}{end} optional int32 z; }}");
        let schema = Arc::new(parse_message_type(&message).unwrap());
        let writer = SerializedFileWriter::new(tempfile::tempfile().unwrap(), schema, Arc::default());
        let file = writer.unwrap().into_inner().unwrap();
        let builder = ParquetRecordBatchReaderBuilder::try_new(file.try_clone().unwrap()).unwrap();
        let columns = Parquet::open(file).unwrap().columns();
        assert_eq!(columns[0].1.to_string(), builder.schema().field(0).data_type().to_string());
        assert!(unit(&columns[0].1).is_none() && !is_text(&columns[0].1), "{column}");
        assert_eq!(columns[1], ("z".to_owned(), DataType::Int32));
    }
}

#[test]
fn files_may_have_no_rows_and_batches_no_columns() {
    let batch = table(1);
    assert!(read(&written(&batch.slice(0, 0), properties()), &[0, 12], 10).unwrap().is_empty());
    let file = written(&batch, properties());
    let rows = read(&file, &[], 700).unwrap().iter().map(RecordBatch::num_rows).collect::<Vec<_>>();
    assert_eq!(rows, [700, 300, 700, 300, 500]);
    assert!(read(&file, &[99], 700).is_err());
}

/// The same file with other metadata of its groups of rows.
fn changed(file: &File, change: impl Fn(RowGroupMetaData) -> RowGroupMetaData) -> File {
    let mut file = file.try_clone().unwrap();
    let old = SerializedFileReader::new(file.try_clone().unwrap()).unwrap().metadata().clone();
    let groups = old.row_groups().iter().cloned().map(change).collect();
    file.seek(std::io::SeekFrom::End(0)).unwrap();
    let new = ParquetMetaData::new(old.file_metadata().clone(), groups);
    ParquetMetaDataWriter::new(&mut file, &new).finish().unwrap();
    file.flush().unwrap();
    file
}

#[test]
fn columns_that_do_not_agree_with_their_group_are_refused() {
    let batch = table(2);
    for rows in [999, 1001, -1] {
        let file = changed(&written(&batch, properties()), |group| {
            group.into_builder().set_num_rows(rows).build().unwrap()
        });
        for name in ["i64", "text", "f16"] {
            let k = batch.schema().index_of(name).unwrap();
            assert!(read(&file, &[k], 700).is_err(), "{rows}: {name}");
        }
    }
}

#[test]
fn columns_of_other_files_are_refused() {
    let file = changed(&written(&table(1), properties()), |group| {
        let columns = group
            .columns()
            .iter()
            .map(|column| column.clone().into_builder().set_file_path("other".to_owned()).build().unwrap());
        let columns = columns.collect();
        group.into_builder().set_column_metadata(columns).build().unwrap()
    });
    assert!(read(&file, &[0], 700).unwrap_err().to_string().contains("`other`"));
}
