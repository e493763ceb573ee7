//! Parquet files, Arrow files (IPC) and batches of Arrow: tables whose columns have types. They are read by batches.

mod parquet;
mod sizes;

use std::cell::Cell;
use std::fmt::Display;
use std::fs::File;
use std::io::BufReader;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::Once;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal128Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType, DictionaryArray, RecordBatch, RecordBatchReader, StringArray};
use arrow_ipc::reader::FileReader;
use arrow_schema::{ArrowError, DataType, TimeUnit};

use self::parquet::Parquet;
use super::header::{Header, Label};
use super::source::Source;
use super::spellings::Spellings;
use super::{number, quoted};
use crate::context::Context;
use crate::data::{Labels, Names};
use crate::error::{Error, Reason, Result, reserve};
use crate::parallel;
use crate::table::cells::is_missing;
use crate::table::{Ask, Frame, How, Impute, MISSING, Options, Recipe, Series, Survey, Texts, Unit, asked};

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
    shape: Shape,
    batches: Option<Batches>,
    labels: Spellings,
    context: Context,
}

/// What is known of the columns.
struct Shape {
    header: Header,
    types: Vec<DataType>,
    /// Columns that are read, and whether as text whatever they are.
    plan: Vec<Option<bool>>,
    /// Rows that were read.
    rows: usize,
}

impl Frames {
    /// Reads the schema of a file.
    pub(super) fn open(source: &Source, parquet: bool, label: Label<'_>, context: &Context) -> Result<Self> {
        let path = source.plain_file().ok_or_else(|| {
            source.error("a table of this kind must be a file, and not compressed as a whole")
        })?;
        let place = if parquet { Place::Parquet(path.to_owned()) } else { Place::Arrow(path.to_owned()) };
        Self::at(place, source.name(), label, context)
    }

    /// Takes batches from elsewhere.
    pub(super) fn given(
        batches: Box<dyn RecordBatchReader + Send>,
        name: &str,
        label: Label<'_>,
        context: &Context,
    ) -> Result<Self> {
        Self::at(Place::Given(Some(batches)), name, label, context)
    }

    fn at(place: Place, name: &str, label: Label<'_>, context: &Context) -> Result<Self> {
        let fields: Vec<(String, DataType)> = guarded(name, || {
            let schema = match &place {
                Place::Parquet(path) => return Ok(Parquet::open(file(path)?)?.columns()),
                Place::Arrow(path) => {
                    sizes::check(&mut file(path)?)?;
                    FileReader::try_new(BufReader::new(file(path)?), None)?.schema()
                }
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
        let shape = Shape { header, types, plan, rows: 0 };
        Ok(Self { place, shape, batches: None, labels: Spellings::default(), context: context.clone() })
    }

    pub(super) fn file(&self) -> &str {
        &self.shape.header.file
    }

    pub(super) fn names(&self) -> &[String] {
        &self.shape.header.names
    }

    pub(super) fn outcome(&self) -> Vec<usize> {
        self.shape.header.outcome().collect()
    }

    pub(super) fn input_names(&self, names: Vec<String>) -> Names {
        self.shape.header.beside_label(names)
    }

    /// What users want, and what types of columns say where users say nothing: numbers of a dictionary are names of categories.
    pub(super) fn options(&self, options: &Options) -> Result<Options> {
        let Shape { header, types, .. } = &self.shape;
        let asked = asked(options, &header.names)?;
        let names_numbers = |k: usize| matches!(&types[k], DataType::Dictionary(_, of) if !of.is_string());
        let is_category = |k: &usize| asked[*k].is_none() && !header.is_outcome(*k) && names_numbers(*k);
        let mut options = options.clone();
        options.category.extend((0..types.len()).filter(is_category).map(|k| header.names[k].clone()));
        Ok(options)
    }

    /// Reads all columns as what they are, but those that users want otherwise.
    fn ask(&mut self, options: &Options) -> Result<()> {
        let asked = asked(options, &self.shape.header.names)?;
        for (k, ask) in asked.into_iter().enumerate() {
            self.shape.plan[k] = match ask {
                _ if self.shape.header.is_outcome(k) => None,
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
        let whole = self.next(usize::MAX)?.ok_or_else(|| self.shape.header.no_rows())?;
        Ok((whole, self.take_labels()))
    }

    /// What is known of the columns when all were seen.
    pub(super) fn survey(&mut self, options: &Options, size: usize) -> Result<Survey> {
        self.ask(options)?;
        let mut survey = Survey::new(options.impute == Impute::Median);
        while let Some(frame) = self.next(size)? {
            survey.add(&frame);
        }
        if survey.rows == 0 { Err(self.shape.header.no_rows()) } else { Ok(survey) }
    }

    /// From now on reads the columns of a recipe, and of them only those that are wanted.
    pub(super) fn follow(&mut self, recipe: &Recipe, wanted: impl Fn(&str) -> bool) {
        let places = self.shape.header.places();
        for column in recipe.columns().iter().filter(|column| wanted(&column.column)) {
            if let Some(&k) = places.get(&column.column) {
                self.shape.plan[k] = Some(matches!(column.how, How::Category(_)));
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
            None if self.shape.rows == 0 => Err(self.shape.header.no_rows()),
            None => Ok(None),
        }
    }

    fn take_labels(&mut self) -> Option<Labels> {
        self.shape.header.label.map(|_| self.labels.take(&self.shape.header.file))
    }

    /// The columns that must be read, in order.
    fn needed(&self) -> Vec<usize> {
        (0..self.shape.plan.len())
            .filter(|&k| self.shape.plan[k].is_some() || self.shape.header.is_outcome(k))
            .collect()
    }

    /// The next rows, of about `most` cells; `None` at the end.
    fn next(&mut self, most: usize) -> Result<Option<Frame>> {
        let needed = self.needed();
        if self.batches.is_none() {
            self.batches = Some(self.begin(&needed, most)?);
        }
        let mut frame = self.shape.empty()?;
        while frame.rows.saturating_mul(needed.len().max(1)) < most {
            let batches = self.batches.as_mut().expect("just begun");
            let Some(batch) = guarded(&self.shape.header.file, || batches.next().transpose())? else { break };
            self.add(&batch, &needed, &mut frame)?;
        }
        Ok((frame.rows > 0).then_some(frame))
    }

    fn begin(&mut self, needed: &[usize], most: usize) -> Result<Batches> {
        const ROWS: usize = 1 << 13;
        let rows = (most / needed.len().max(1)).clamp(1, ROWS);
        guarded(&self.shape.header.file, || {
            Ok(match &mut self.place {
                Place::Parquet(path) => {
                    Box::new(Parquet::open(file(path)?)?.batches(needed, rows)?) as Batches
                }
                Place::Arrow(path) => {
                    let mut reader = FileReader::try_new(BufReader::new(file(path)?), Some(needed.to_vec()))?;
                    let count = reader.num_batches();
                    // Its iterator ends at a message that is no batch, as if there were no more.
                    let missing = |k: usize| ArrowError::IpcError(format!("batch {} is missing", k + 1));
                    let batch = move |k| reader.next().unwrap_or_else(|| Err(missing(k)));
                    Box::new((0..count).map(batch))
                }
                Place::Given(batches) => {
                    let (batches, needed) = (given(batches.take())?, needed.to_vec());
                    Box::new(batches.map(move |batch| batch?.project(&needed)))
                }
            })
        })
    }

    /// Adds the rows of a batch of the columns `needed`.
    fn add(&mut self, batch: &RecordBatch, needed: &[usize], frame: &mut Frame) -> Result<()> {
        let Self { shape, context, .. } = self;
        let (rows, width, before) = (batch.num_rows(), frame.width, frame.numbers.len());
        reserve(&mut frame.numbers, rows.saturating_mul(width), &shape.header.file)?;
        frame.numbers.resize(before + rows * width, 0.0);
        let (mut arrays, mut words) = (batch.columns().iter().zip(needed).peekable(), Vec::new());
        for (k, series) in frame.columns.iter_mut().enumerate() {
            let Some((array, _)) = arrays.next_if(|(_, own)| **own == k) else { continue };
            match series {
                Series::Unread => {}
                Series::Texts(texts) => words.push((k, array, texts)),
                Series::Numbers(place, _) => {
                    let to = frame.numbers[before..].iter_mut().skip(*place).step_by(width);
                    to.zip(shape.numbers(k, array)?).for_each(|(to, x)| *to = x);
                }
            }
        }
        // Words take most of the time: many columns of them at a time. What is wrong with the first of them is said.
        let shape = &*shape;
        let added: Vec<Result<()>> = context
            .run(|| parallel::map_into(words, |(k, array, texts)| shape.add_texts(k, array, texts)))?;
        added.into_iter().collect::<Result<()>>()?;
        self.read_outcome(batch, needed)?;
        self.shape.rows += rows;
        frame.rows += rows;
        Ok(())
    }

    /// Reads the labels of a batch.
    fn read_outcome(&mut self, batch: &RecordBatch, needed: &[usize]) -> Result<()> {
        let Some(k) = self.shape.header.label else { return Ok(()) };
        let array = |k: usize| needed.iter().position(|&own| own == k).map(|at| &*batch.columns()[at]);
        let mut events: Option<Vec<String>> = None;
        if let Some(event) = self.shape.header.event {
            let texts = events.insert(Vec::with_capacity(batch.num_rows()));
            let read = array(event).and_then(|array| {
                each_text(array, &mut |_, text| {
                    texts.push(text.unwrap_or_default().to_owned());
                    Ok(())
                })
            });
            read.unwrap_or_else(|| Err(self.shape.unsupported(event)))?;
        }
        let (header, labels, before) = (&self.shape.header, &mut self.labels, self.shape.rows);
        let read = array(k).and_then(|array| {
            each_text(array, &mut |row, label| {
                let line = (before + row + 1) as u64;
                let event = events.as_ref().map(|events| events[row].as_bytes());
                let read = header.resolve(label.unwrap_or_default().trim(), event, line, labels);
                read.map_err(|(_, reason)| {
                    Error::input(header.file.as_str(), format!("row {line}, {reason}"))
                })
            })
        });
        read.unwrap_or_else(|| Err(self.shape.unsupported(k)))
    }
}

impl Shape {
    /// A table without rows, of the columns that are read.
    fn empty(&self) -> Result<Frame> {
        let mut width = 0;
        let series = |k: usize| match self.plan[k] {
            None => Ok(Series::Unread),
            Some(true) => Ok(Series::Texts(Texts::default())),
            Some(false) if is_text(&self.types[k]) => Ok(Series::Texts(Texts::default())),
            Some(false) => {
                width += 1;
                let unit = unit(&self.types[k]).ok_or_else(|| self.unsupported(k))?;
                Ok(Series::Numbers(width - 1, unit))
            }
        };
        let columns = (0..self.plan.len()).map(series).collect::<Result<Vec<_>>>()?;
        Ok(Frame::empty(self.header.names.clone(), columns))
    }

    /// The numbers of a column, which must be finite where they are there.
    fn numbers(&self, k: usize, array: &dyn Array) -> Result<Vec<f64>> {
        let values = numbers(array).ok_or_else(|| self.unsupported(k))?;
        match values.iter().position(|x| x.is_infinite()) {
            Some(row) => Err(self.wrong(k, row, format_args!("{} is not a finite number", values[row]))),
            None => Ok(values),
        }
    }

    /// Adds the cells of a column as text.
    fn add_texts(&self, k: usize, array: &dyn Array, texts: &mut Texts) -> Result<()> {
        // As they are checked and shown where they are numbers.
        if unit(&self.types[k]).is_some() {
            self.numbers(k, array)?;
        }
        // Few of a batch are different: they are told apart near the processor before all are.
        let mut own = Texts::default();
        let numbers = array.as_dictionary_opt::<Int32Type>();
        let dictionary = numbers.and_then(|numbers| numbers.values().as_string_opt::<i32>());
        match (numbers, dictionary) {
            // Dictionaries may hold far more than an array has rows.
            (Some(numbers), Some(dictionary)) if dictionary.len() / 8 <= array.len() => {
                self.add_looked_up(k, numbers, dictionary, &mut own)?;
            }
            _ => each_text(array, &mut |row, text| self.add_cell(k, row, text, &mut own))
                .unwrap_or_else(|| Err(self.unsupported(k)))?,
        }
        texts.append(&own);
        Ok(())
    }

    /// Adds the cells of an array of dictionary numbers as text: each text of the dictionary is looked at once, where it is met first.
    fn add_looked_up(
        &self,
        k: usize,
        numbers: &DictionaryArray<Int32Type>,
        dictionary: &StringArray,
        own: &mut Texts,
    ) -> Result<()> {
        const NEW: u32 = MISSING - 1;
        let mut codes = vec![NEW; dictionary.len()];
        let (nulls, last) = (numbers.nulls(), dictionary.len().checked_sub(1));
        for (row, &number) in numbers.keys().values().iter().enumerate() {
            let is_there = nulls.is_none_or(|nulls| nulls.is_valid(row));
            // Arrays from elsewhere are taken as they are, whatever their numbers.
            let Some(number) = last.filter(|_| is_there).map(|last| (number as usize).min(last)) else {
                own.push_missing();
                continue;
            };
            if codes[number] == NEW {
                let text = dictionary.is_valid(number).then(|| dictionary.value(number));
                self.add_cell(k, row, text, own)?;
                codes[number] = own.codes().last().copied().unwrap_or(MISSING);
            } else {
                own.push_again(codes[number]);
            }
        }
        Ok(())
    }

    /// Adds a cell as text.
    fn add_cell(&self, k: usize, row: usize, text: Option<&str>, own: &mut Texts) -> Result<()> {
        match text.map(str::trim).filter(|text| !is_missing(text.as_bytes())) {
            Some(text) if text.contains('\0') => {
                return Err(self.wrong(k, row, format_args!("{} is not text", quoted(text.as_bytes()))));
            }
            Some(text) => _ = own.push(text),
            None => own.push_missing(),
        }
        Ok(())
    }

    /// What is wrong with a cell of a batch that follows the rows before.
    fn wrong(&self, k: usize, row: usize, what: impl Display) -> Error {
        let reason = format!("row {}, {}: {what}", self.rows + row + 1, self.header.column(k));
        Error::input(self.header.file.as_str(), reason)
    }

    fn unsupported(&self, k: usize) -> Error {
        let reason = format!(
            "{} holds values of type {}, which nothing can be made of: ",
            self.header.column(k),
            self.types[k]
        );
        Error::input(
            self.header.file.as_str(),
            Reason::from(reason).parameter("ignore").words(" leaves it out"),
        )
    }
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
    match quietly(act) {
        Some(Ok(done)) => Ok(done),
        Some(Err(ArrowError::IoError(_, error))) if error.raw_os_error().is_some() => {
            Err(Error::io(name, error))
        }
        Some(Err(error)) => Err(damaged(error.to_string().lines().next().unwrap_or_default().to_owned())),
        None => Err(damaged("its reader gave up".to_owned())),
    }
}

/// What `act` makes; `None` if it panics. Nothing is printed then: the process has a hook that prints the panics of all threads, and
/// the first call puts one before it that keeps those of such calls to itself.
fn quietly<T>(act: impl FnOnce() -> T) -> Option<T> {
    thread_local! {
        static QUIET: Cell<bool> = const { Cell::new(false) };
    }
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                before(panic);
            }
        }));
    });
    QUIET.set(true);
    let done = panic::catch_unwind(AssertUnwindSafe(act));
    QUIET.set(false);
    done.ok()
}

/// Whether a column holds text, plain or by numbers of a dictionary.
fn is_text(of: &DataType) -> bool {
    match of {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// Calls `each` with every row of an array of text, truths or numbers; `None` if it holds none of these.
fn each_text(
    array: &dyn Array,
    each: &mut dyn FnMut(usize, Option<&str>) -> Result<()>,
) -> Option<Result<()>> {
    Some(match array.data_type() {
        DataType::Utf8 => all(array.as_string::<i32>().iter(), each),
        DataType::LargeUtf8 => all(array.as_string::<i64>().iter(), each),
        DataType::Utf8View => all(array.as_string_view().iter(), each),
        DataType::Dictionary(_, of) if is_text(of) => all((0..array.len()).map(texts(array)?), each),
        of => {
            let truths = unit(of)? == Unit::Truth;
            let shown = |x: f64| if truths { (x == 1.0).to_string() } else { x.to_string() };
            let texts = numbers(array)?.into_iter().map(|x| (!x.is_nan()).then(|| shown(x)));
            texts.enumerate().try_for_each(|(row, text)| each(row, text.as_deref()))
        }
    })
}

/// The text of every row of an array of texts, looked up when it is asked for: dictionaries may hold far more than an array has rows.
fn texts<'a>(array: &'a dyn Array) -> Option<Box<dyn Fn(usize) -> Option<&'a str> + 'a>> {
    macro_rules! of {
        ($texts:expr) => {{
            let texts = $texts;
            Box::new(move |row| texts.is_valid(row).then(|| texts.value(row)))
        }};
    }
    Some(match array.data_type() {
        DataType::Utf8 => of!(array.as_string::<i32>()),
        DataType::LargeUtf8 => of!(array.as_string::<i64>()),
        DataType::Utf8View => of!(array.as_string_view()),
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            let values = dictionary.values();
            // Where there are no values, no key can be looked up.
            let keys = if values.is_empty() { Vec::new() } else { dictionary.normalized_keys() };
            let (value, nulls) = (texts(values.as_ref())?, array.nulls());
            let is_valid = move |row| nulls.is_none_or(|nulls| nulls.is_valid(row));
            Box::new(move |row| keys.get(row).filter(|_| is_valid(row)).and_then(|&key| value(key)))
        }
        _ => return None,
    })
}

fn all<'a>(
    texts: impl Iterator<Item = Option<&'a str>>,
    each: &mut dyn FnMut(usize, Option<&str>) -> Result<()>,
) -> Result<()> {
    texts.enumerate().try_for_each(|(row, text)| each(row, text))
}

/// For each row of a dictionary array its value, of these, or what stands for none.
fn by_dictionary<T: Copy>(array: &dyn Array, values: &[T], none: T) -> Vec<T> {
    // Where there are no values, no key can be looked up.
    if values.is_empty() {
        return vec![none; array.len()];
    }
    let keys = array.as_any_dictionary().normalized_keys();
    let value = |(row, key): (usize, usize)| if array.is_null(row) { none } else { values[key] };
    keys.into_iter().enumerate().map(value).collect()
}

/// What the numbers of a type stand for; `None` if it is not one of numbers.
fn unit(of: &DataType) -> Option<Unit> {
    match of {
        DataType::Boolean => Some(Unit::Truth),
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => Some(Unit::Days),
        DataType::Null | DataType::Decimal128(..) => Some(Unit::Plain),
        of if of.is_integer() || of.is_floating() => Some(Unit::Plain),
        DataType::Dictionary(_, values) => unit(values),
        _ => None,
    }
}

/// All numbers of an array, if they are such; what is null is not a number.
fn numbers(array: &dyn Array) -> Option<Vec<f64>> {
    fn of<T: ArrowPrimitiveType>(array: &dyn Array, number: impl Fn(T::Native) -> f64) -> Vec<f64> {
        array.as_primitive::<T>().iter().map(|x| x.map_or(f64::NAN, &number)).collect()
    }
    Some(match array.data_type() {
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
            let values = numbers(array.as_any_dictionary().values().as_ref())?;
            by_dictionary(array, &values, f64::NAN)
        }
        DataType::Boolean => array.as_boolean().iter().map(|x| x.map_or(f64::NAN, f64::from)).collect(),
        DataType::Date32 => of::<Date32Type>(array, f64::from),
        DataType::Date64 => of::<Date64Type>(array, |x| x as f64 / (1e3 * DAY)),
        DataType::Timestamp(TimeUnit::Second, _) => of::<TimestampSecondType>(array, |x| x as f64 / DAY),
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
    })
}
