//! Parquet files, Arrow files (IPC) and batches of Arrow: tables whose columns have types. They are read by batches.

use std::fs::File;
use std::io::BufReader;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal128Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType, RecordBatch, RecordBatchReader};
use arrow_ipc::reader::FileReader;
use arrow_schema::{ArrowError, DataType, TimeUnit};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::header::{Header, Label};
use super::source::Source;
use super::spellings::Spellings;
use super::{number, quoted};
use crate::data::{Labels, Names};
use crate::error::{Error, Reason, Result};
use crate::table::cells::is_missing;
use crate::table::{Ask, Frame, How, Impute, Options, Recipe, Series, Survey, Texts, Unit, asked};

/// Milliseconds, or other parts of it, in a day.
const DAY: f64 = 86400.0;

/// Where such a table is.
enum Place {
    Parquet(PathBuf),
    Arrow(PathBuf),
    /// Batches that come from elsewhere, once.
    Given(Option<Box<dyn RecordBatchReader + Send>>),
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// A table whose schema was read.
pub(in crate::data) struct Frames {
    place: Place,
    header: Header,
    types: Vec<DataType>,
    /// Columns that are read, and whether as text whatever they are.
    plan: Vec<Option<bool>>,
    batches: Option<Batches>,
    /// Rows that were read.
    rows: usize,
    labels: Spellings,
}

impl Frames {
    /// Reads the schema of a file.
    pub(super) fn open(source: &Source, parquet: bool, label: Label<'_>) -> Result<Self> {
        let path = source.plain_file().ok_or_else(|| {
            source.error("a table of this kind must be a file, and not compressed as a whole")
        })?;
        let place = if parquet { Place::Parquet(path.to_owned()) } else { Place::Arrow(path.to_owned()) };
        Self::at(place, source.name(), label)
    }

    /// Takes batches from elsewhere.
    pub(super) fn given(
        batches: Box<dyn RecordBatchReader + Send>,
        name: &str,
        label: Label<'_>,
    ) -> Result<Self> {
        Self::at(Place::Given(Some(batches)), name, label)
    }

    fn at(place: Place, name: &str, label: Label<'_>) -> Result<Self> {
        let fields: Vec<(String, DataType)> = guarded(name, || {
            let schema = match &place {
                Place::Parquet(path) => {
                    ParquetRecordBatchReaderBuilder::try_new(file(path)?)?.schema().clone()
                }
                Place::Arrow(path) => FileReader::try_new(BufReader::new(file(path)?), None)?.schema(),
                Place::Given(batches) => given(batches.as_ref())?.schema(),
            };
            Ok(schema
                .fields()
                .iter()
                .map(|field| (field.name().clone(), field.data_type().clone()))
                .collect())
        })?;
        let (names, types): (Vec<String>, Vec<DataType>) = fields.into_iter().unzip();
        let header = Header::of(name.to_owned(), names, label)?;
        let plan = vec![None; types.len()];
        Ok(Self { place, header, types, plan, batches: None, rows: 0, labels: Spellings::default() })
    }

    pub(super) fn file(&self) -> &str {
        &self.header.file
    }

    pub(super) fn names(&self) -> &[String] {
        &self.header.names
    }

    pub(super) fn outcome(&self) -> Vec<usize> {
        self.header.outcome().collect()
    }

    pub(super) fn input_names(&self, names: Vec<String>) -> Names {
        self.header.beside_label(names)
    }

    /// What users want, and what types of columns say where users say nothing: numbers of a dictionary are names of categories.
    pub(super) fn options(&self, options: &Options) -> Result<Options> {
        let asked = asked(options, &self.header.names)?;
        let is_category =
            |k: &usize| asked[*k].is_none() && !self.header.is_outcome(*k) && self.names_numbers(*k);
        let mut options = options.clone();
        let categories = (0..self.types.len()).filter(is_category).map(|k| self.header.names[k].clone());
        options.category.extend(categories);
        Ok(options)
    }

    fn names_numbers(&self, k: usize) -> bool {
        matches!(&self.types[k], DataType::Dictionary(_, values) if !values.is_string())
    }

    /// Reads all columns as what they are, but those that users want otherwise.
    fn ask(&mut self, options: &Options) -> Result<()> {
        let asked = asked(options, &self.header.names)?;
        for (k, ask) in asked.into_iter().enumerate() {
            self.plan[k] = match ask {
                _ if self.header.is_outcome(k) => None,
                Some(Ask::Ignore | Ask::Id) => None,
                ask => Some(ask == Some(Ask::Category)),
            };
        }
        Ok(())
    }

    /// The whole table as it is, with its labels, and whether anything is missing in its numbers.
    pub(super) fn find_out(&mut self, options: &Options) -> Result<(Frame, Option<Labels>, bool)> {
        self.ask(options)?;
        let (frame, labels) = self.read_all()?;
        let gaps = frame.numbers.iter().any(|x| x.is_nan());
        Ok((frame, labels, gaps))
    }

    /// All rows of the columns that are read, and their labels.
    pub(super) fn read_all(&mut self) -> Result<(Frame, Option<Labels>)> {
        let mut whole: Option<Frame> = None;
        while let Some(frame) = self.next(usize::MAX)? {
            match &mut whole {
                Some(whole) => whole.append(&frame, &self.header.file)?,
                None => whole = Some(frame),
            }
        }
        let whole = whole.ok_or_else(|| self.header.no_rows())?;
        Ok((whole, self.take_labels()))
    }

    /// What is known of the columns when all were seen.
    pub(super) fn survey(&mut self, options: &Options, size: usize) -> Result<Survey> {
        self.ask(options)?;
        let mut survey = Survey::new(options.impute == Impute::Median);
        while let Some(frame) = self.next(size)? {
            survey.add(&frame);
        }
        if survey.rows == 0 { Err(self.header.no_rows()) } else { Ok(survey) }
    }

    /// From now on reads the columns of a recipe, and of them only those that are wanted.
    pub(super) fn follow(&mut self, recipe: &Recipe, wanted: impl Fn(&str) -> bool) {
        let places = self.header.places();
        for column in recipe.columns().iter().filter(|column| wanted(&column.column)) {
            if let Some(&k) = places.get(&column.column) {
                self.plan[k] = Some(matches!(column.how, How::Category(_)));
            }
        }
    }

    /// The next rows, of about `most` cells at most, and their labels; `None` at the end.
    pub(super) fn read(&mut self, most: usize) -> Result<Option<(Frame, Option<Labels>)>> {
        match self.next(most)? {
            Some(frame) => {
                let labels = self.take_labels();
                Ok(Some((frame, labels)))
            }
            None if self.rows == 0 => Err(self.header.no_rows()),
            None => Ok(None),
        }
    }

    fn take_labels(&mut self) -> Option<Labels> {
        self.header.label.map(|_| self.labels.take(&self.header.file))
    }

    /// The columns that must be read, in order.
    fn needed(&self) -> Vec<usize> {
        (0..self.plan.len()).filter(|&k| self.plan[k].is_some() || self.header.is_outcome(k)).collect()
    }

    fn next(&mut self, most: usize) -> Result<Option<Frame>> {
        let needed = self.needed();
        if self.batches.is_none() {
            self.batches = Some(self.begin(&needed, most)?);
        }
        loop {
            let batches = self.batches.as_mut().expect("just begun");
            let Some(batch) = guarded(&self.header.file, || batches.next().transpose())? else {
                return Ok(None);
            };
            if batch.num_rows() > 0 {
                return self.frame(&batch, &needed).map(Some);
            }
        }
    }

    fn begin(&mut self, needed: &[usize], most: usize) -> Result<Batches> {
        const ROWS: usize = 1 << 13;
        let rows = (most / needed.len().max(1)).clamp(1, ROWS);
        guarded(&self.header.file, || {
            Ok(match &mut self.place {
                Place::Parquet(path) => {
                    let builder = ParquetRecordBatchReaderBuilder::try_new(file(path)?)?;
                    let mask = ProjectionMask::roots(builder.parquet_schema(), needed.iter().copied());
                    Box::new(builder.with_projection(mask).with_batch_size(rows).build()?) as Batches
                }
                Place::Arrow(path) => {
                    Box::new(FileReader::try_new(BufReader::new(file(path)?), Some(needed.to_vec()))?)
                }
                Place::Given(batches) => {
                    let (batches, needed) = (given(batches.take())?, needed.to_vec());
                    Box::new(batches.map(move |batch| batch?.project(&needed)))
                }
            })
        })
    }

    /// A batch of the columns `needed` as rows of the table.
    fn frame(&mut self, batch: &RecordBatch, needed: &[usize]) -> Result<Frame> {
        let rows = batch.num_rows();
        let mut columns = vec![Series::Unread; self.plan.len()];
        let mut numbers: Vec<Vec<f64>> = Vec::new();
        for (array, &k) in batch.columns().iter().zip(needed) {
            let Some(as_text) = self.plan[k] else { continue };
            columns[k] = match self.cells(k, array, as_text)? {
                Cells::Numbers(values, unit) => {
                    numbers.push(values);
                    Series::Numbers(numbers.len() - 1, unit)
                }
                Cells::Texts(texts) => Series::Texts(texts),
            };
        }
        self.read_outcome(batch, needed)?;
        let width = numbers.len();
        let mut by_rows = vec![0.0; rows * width];
        for (place, values) in numbers.iter().enumerate() {
            by_rows.iter_mut().skip(place).step_by(width.max(1)).zip(values).for_each(|(to, x)| *to = *x);
        }
        self.rows += rows;
        Ok(Frame { names: self.header.names.clone(), columns, rows, width, numbers: by_rows })
    }

    /// The cells of a column.
    fn cells(&self, k: usize, array: &dyn Array, as_text: bool) -> Result<Cells> {
        if let Some(strings) = strings(array) {
            return self.texts(k, strings.into_iter());
        }
        let (values, unit) = numbers(array).ok_or_else(|| self.unsupported(k))?;
        if let Some(row) = values.iter().position(|x| x.is_infinite()) {
            let reason = format!(
                "row {}, {}: {} is not a finite number",
                self.rows + row + 1,
                self.header.column(k),
                values[row]
            );
            return Err(Error::input(self.file(), reason));
        }
        if !as_text {
            return Ok(Cells::Numbers(values, unit));
        }
        let shown = |x: f64| match unit {
            Unit::Truth => if x == 1.0 { "true" } else { "false" }.to_owned(),
            Unit::Plain | Unit::Days => x.to_string(),
        };
        self.texts(k, values.into_iter().map(|x| (!x.is_nan()).then(|| shown(x))))
    }

    fn texts<S: AsRef<str>>(&self, k: usize, strings: impl Iterator<Item = Option<S>>) -> Result<Cells> {
        let mut texts = Texts::default();
        for (row, text) in strings.enumerate() {
            let text = text.as_ref().map(|text| text.as_ref().trim());
            match text.filter(|text| !is_missing(text.as_bytes())) {
                Some(text) if text.contains('\0') => {
                    let reason = format!(
                        "row {}, {}: {} is not text",
                        self.rows + row + 1,
                        self.header.column(k),
                        quoted(text.as_bytes())
                    );
                    return Err(Error::input(self.file(), reason));
                }
                Some(text) => _ = texts.push(text),
                None => texts.push_missing(),
            }
        }
        Ok(Cells::Texts(texts))
    }

    fn unsupported(&self, k: usize) -> Error {
        let reason = format!(
            "{} holds values of type {}, which nothing can be made of: ",
            self.header.column(k),
            self.types[k]
        );
        Error::input(self.file(), Reason::from(reason).parameter("ignore").words(" leaves it out"))
    }

    /// Reads the labels of a batch.
    fn read_outcome(&mut self, batch: &RecordBatch, needed: &[usize]) -> Result<()> {
        let texts_of = |k: usize| {
            let array = &batch.columns()[needed.iter().position(|&own| own == k)?];
            let owned = |texts: Vec<Option<&str>>| {
                texts.into_iter().map(|text| text.map(str::to_owned)).collect::<Vec<_>>()
            };
            strings(array).map(owned).or_else(|| {
                let (values, unit) = numbers(array)?;
                let text = |x: f64| if unit == Unit::Truth { (x == 1.0).to_string() } else { x.to_string() };
                Some(values.into_iter().map(|x| (!x.is_nan()).then(|| text(x))).collect())
            })
        };
        let Some(k) = self.header.label else { return Ok(()) };
        let labels = texts_of(k).ok_or_else(|| self.unsupported(k))?;
        let events = match self.header.event {
            Some(event) => Some(texts_of(event).ok_or_else(|| self.unsupported(event))?),
            None => None,
        };
        for (row, label) in labels.iter().enumerate() {
            let line = (self.rows + row + 1) as u64;
            let event = events.as_ref().map(|events| events[row].as_deref().unwrap_or_default().as_bytes());
            let read = self.header.resolve(
                label.as_deref().unwrap_or_default().trim(),
                event,
                line,
                &mut self.labels,
            );
            read.map_err(|(_, reason)| {
                Error::input(self.header.file.as_str(), format!("row {line}, {reason}"))
            })?;
        }
        Ok(())
    }
}

/// The cells of a column, of some rows.
enum Cells {
    Numbers(Vec<f64>, Unit),
    Texts(Texts),
}

/// Batches that can be had once.
fn given<T>(batches: Option<T>) -> Result<T, ArrowError> {
    batches.ok_or_else(|| ArrowError::ComputeError("the batches were read before".to_owned()))
}

fn file(path: &PathBuf) -> Result<File, ArrowError> {
    Ok(File::open(path)?)
}

/// What is done with a file that may be damaged in ways that its reader did not think of.
fn guarded<T>(name: &str, act: impl FnOnce() -> Result<T, ArrowError>) -> Result<T> {
    let damaged = |why: String| {
        Error::input(name, format!("the table is damaged, or of a kind that is not read ({why})"))
    };
    match catch_unwind(AssertUnwindSafe(act)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(ArrowError::IoError(_, error))) if error.raw_os_error().is_some() => {
            Err(Error::io(name, error))
        }
        Ok(Err(error)) => Err(damaged(error.to_string().lines().next().unwrap_or_default().to_owned())),
        Err(_) => Err(damaged("its reader gave up".to_owned())),
    }
}

/// All texts of an array, if it holds text, plain or by numbers of a dictionary.
fn strings(array: &dyn Array) -> Option<Vec<Option<&str>>> {
    Some(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().collect(),
        DataType::Utf8View => array.as_string_view().iter().collect(),
        DataType::Dictionary(_, _) => {
            let values = strings(array.as_any_dictionary().values().as_ref())?;
            by_dictionary(array, &values, None)
        }
        _ => return None,
    })
}

/// For each row of a dictionary array its value, of these, or what stands for none.
fn by_dictionary<T: Copy>(array: &dyn Array, values: &[T], none: T) -> Vec<T> {
    if values.is_empty() {
        return vec![none; array.len()];
    }
    let keys = array.as_any_dictionary().normalized_keys();
    let value = |(row, key): (usize, usize)| if array.is_null(row) { none } else { values[key] };
    keys.into_iter().enumerate().map(value).collect()
}

/// All numbers of an array, if they are such, and what they stand for; what is null is not a number.
fn numbers(array: &dyn Array) -> Option<(Vec<f64>, Unit)> {
    fn of<T: ArrowPrimitiveType>(array: &dyn Array, number: impl Fn(T::Native) -> f64) -> Vec<f64> {
        array.as_primitive::<T>().iter().map(|x| x.map_or(f64::NAN, &number)).collect()
    }
    let plain = match array.data_type() {
        DataType::Int8 => of::<Int8Type>(array, f64::from),
        DataType::Int16 => of::<Int16Type>(array, f64::from),
        DataType::Int32 => of::<Int32Type>(array, f64::from),
        DataType::Int64 => of::<Int64Type>(array, |x| x as f64),
        DataType::UInt8 => of::<UInt8Type>(array, f64::from),
        DataType::UInt16 => of::<UInt16Type>(array, f64::from),
        DataType::UInt32 => of::<UInt32Type>(array, f64::from),
        DataType::UInt64 => of::<UInt64Type>(array, |x| x as f64),
        DataType::Float16 => of::<Float16Type>(array, f64::from),
        DataType::Float32 => of::<Float32Type>(array, f64::from),
        DataType::Float64 => of::<Float64Type>(array, |x| x),
        DataType::Null => vec![f64::NAN; array.len()],
        DataType::Decimal128(_, _) => {
            // By their digits, so that they are rounded once.
            let decimals = array.as_primitive::<Decimal128Type>();
            let number =
                |row: usize| number::parse(decimals.value_as_string(row).as_bytes()).unwrap_or(f64::NAN);
            (0..array.len()).map(|row| if array.is_null(row) { f64::NAN } else { number(row) }).collect()
        }
        DataType::Dictionary(_, _) => {
            let (values, unit) = numbers(array.as_any_dictionary().values().as_ref())?;
            return Some((by_dictionary(array, &values, f64::NAN), unit));
        }
        DataType::Boolean => {
            let truths = array.as_boolean().iter().map(|x| x.map_or(f64::NAN, f64::from));
            return Some((truths.collect(), Unit::Truth));
        }
        dates => {
            let days = match dates {
                DataType::Date32 => of::<Date32Type>(array, f64::from),
                DataType::Date64 => of::<Date64Type>(array, |x| x as f64 / (1e3 * DAY)),
                DataType::Timestamp(TimeUnit::Second, _) => {
                    of::<TimestampSecondType>(array, |x| x as f64 / DAY)
                }
                DataType::Timestamp(TimeUnit::Millisecond, _) => {
                    of::<TimestampMillisecondType>(array, |x| x as f64 / (1e3 * DAY))
                }
                DataType::Timestamp(TimeUnit::Microsecond, _) => {
                    of::<TimestampMicrosecondType>(array, |x| x as f64 / (1e6 * DAY))
                }
                DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                    of::<TimestampNanosecondType>(array, |x| x as f64 / (1e9 * DAY))
                }
                _ => return None,
            };
            return Some((days, Unit::Days));
        }
    };
    Some((plain, Unit::Plain))
}
