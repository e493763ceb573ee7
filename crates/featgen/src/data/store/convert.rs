//! From data of any size to a store, in bounded memory (the paper's Algorithm 5 begins with data laid out so).
//!
//! Rows are gathered until memory is full, turned into columns and put aside in a temporary file as a *run*. In the end the
//! runs are merged by columns: each is read from front to back, and a column's parts follow each other in the order of
//! the runs, which is that of the rows. (Of a file whose entries come in any order, runs have some entries of all rows; a
//! column is then sorted when all of it is there.) Should there be more runs than can be read at once, some are merged into larger
//! ones before. Data that fit are never put aside.

use std::collections::HashMap;
use std::path::Path;

use super::filled::lighter;
use super::format::{Kind, row_width};
use super::runs::Runs;
use super::write::{Plan, Share, StoreWriter};
use crate::data::read::{Part, Reader, Repeats};
use crate::data::rough::Copied;
use crate::data::width::Width;
use crate::data::{Column, Columns, Dataset, Labels, Names, Sparse, ValuesView, is_bytes};
use crate::error::{Error, Reason, Result};
use crate::files::{WholeFile, check_outputs};
use crate::table::Recipe;

/// Bytes of memory that a stored value takes while rows become columns, at most.
const BYTES_PER_ENTRY: u64 = 32;

/// Shards are about as large as this, unless their number is given.
const SHARD_BYTES: u64 = 1 << 26;

/// Values after which progress is worth showing again.
const WORTH_SHOWING: u64 = 1 << 22;

/// How to convert.
#[derive(Debug, Clone)]
pub struct Conversion {
    /// Bytes of memory that data may take.
    pub memory: u64,
    /// The number of shards; by default as many as make them 64 MiB each.
    pub shards: Option<usize>,
    /// Whether large dense columns are also kept as bytes that are arranged for sums, one a value, from which most scores are computed:
    /// searches read no more. That takes a quarter more on disk where values are 32-bit floats, an eighth where they are 64-bit ones, and
    /// as much again where they are bytes themselves.
    pub copy: bool,
}

impl Default for Conversion {
    fn default() -> Self {
        Self { memory: 1 << 30, shards: None, copy: true }
    }
}

/// How far a conversion is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// So many rows and values were read.
    Read {
        /// Rows.
        rows: u64,
        /// Stored values.
        values: u64,
    },
    /// So many of all columns were written.
    Written {
        /// Columns.
        columns: u64,
        /// All columns.
        of: u64,
    },
}

/// What was converted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// Instances.
    pub rows: u64,
    /// Features.
    pub dimension: u64,
    /// Stored values.
    pub nonzeros: u64,
    /// Shards written.
    pub shards: usize,
    /// Runs that were put aside; 0 if the data fitted.
    pub runs: usize,
    /// What may surprise.
    pub notes: Vec<Reason>,
}

/// Reads `from` as `reader` does and writes a store, which appears whole or not at all.
pub fn convert(
    reader: &Reader,
    from: &Path,
    to: &Path,
    options: &Conversion,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Converted> {
    if options.shards == Some(0) {
        return Err(Error::parameter("shards", "must be at least 1"));
    }
    let inputs: Vec<(&str, &Path)> = std::iter::once(("the data", from)).chain(reader.files()).collect();
    check_outputs(&inputs, &[("the store", to)])?;
    if !reader.must_learn(from)? {
        // Most tables are of numbers: what others are is only looked for once something else was met.
        match convert_as(reader, from, to, options, progress) {
            Err(Error::Input { .. }) if reader.can_learn(from) => {}
            done => return done,
        }
    }
    let (recipe, notes) = reader.learn(from)?;
    let made = convert_as(&reader.clone().recipe(Some(&recipe)), from, to, options, progress)?;
    Ok(Converted { notes, ..made })
}

/// The same where it is known what the columns of a table are.
fn convert_as(
    reader: &Reader,
    from: &Path,
    to: &Path,
    options: &Conversion,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Converted> {
    let file = WholeFile::create(to)?;
    let entries = (options.memory / BYTES_PER_ENTRY).max(1 << 12);
    let batches = reader.batches(from)?;
    let recipe = batches.recipe().cloned();
    let inside = Some(batches.names().clone()).filter(|names| !names.list().is_empty());
    let known = batches.dimension().map(|features| reader.names_of(inside, features)).transpose()?;
    let given = if known.is_none() { reader.given_names()? } else { None };
    let named = given.as_ref().map_or(0, |names| names.list().len() as u64);
    let mut gathered = Gathered { repeats: batches.repeats(), ..Gathered::new(to, named) };
    batches.for_each_part(entries, |part, labels| {
        gathered.take(part, labels)?;
        progress(Progress::Read { rows: gathered.rows, values: gathered.values });
        Ok::<_, Error>(())
    })?;
    if gathered.rows > u64::from(u32::MAX) {
        return Err(Error::Data(format!("{} rows: at most {} are supported", gathered.rows, u32::MAX)));
    }
    let labels = reader.weighted(gathered.labels.take(), gathered.rows as usize)?;
    let names = match known {
        Some(names) => names,
        None => reader.checked_names(given, gathered.dimension)?,
    };
    let known = Known { labels: &labels, names: &names, recipe: recipe.as_ref() };
    gathered.write(file, options, &known, progress)
}

/// What a store holds beside columns.
pub(super) struct Known<'a> {
    pub(super) labels: &'a Labels,
    pub(super) names: &'a Names,
    pub(super) recipe: Option<&'a Recipe>,
}

/// What was read so far.
struct Gathered<'a> {
    to: &'a Path,
    rows: u64,
    values: u64,
    dimension: u64,
    labels: Classes,
    /// The only part so far. Once another comes, both are put aside.
    only: Option<Part>,
    runs: Option<Runs>,
    /// Who says where entries are that several scattered parts have.
    repeats: Option<Repeats>,
}

impl<'a> Gathered<'a> {
    fn new(to: &'a Path, dimension: u64) -> Self {
        Self {
            to,
            rows: 0,
            values: 0,
            dimension,
            labels: Classes::default(),
            only: None,
            runs: None,
            repeats: None,
        }
    }

    fn take(&mut self, part: Part, labels: &Labels) -> Result<()> {
        self.labels.extend(labels)?;
        let columns = part.columns();
        let (rows, values) = (columns.rows() as u64, columns.nonzeros());
        let scattered = matches!(part, Part::Scattered(_));
        let before = if scattered { 0 } else { self.rows };
        self.dimension = self.dimension.max(columns.dimension());
        if self.rows == 0 {
            self.only = Some(part);
        } else {
            if let Some(first) = self.only.take() {
                let mut runs = Runs::beside(self.to, self.repeats.take())?;
                runs.put_aside(first, 0)?;
                self.runs = Some(runs);
            }
            let runs = self.runs.as_mut().expect("begun with the second part");
            runs.put_aside(part, before)?;
        }
        self.rows = before + rows;
        self.values += values;
        Ok(())
    }

    fn write(
        self,
        file: WholeFile,
        options: &Conversion,
        known: &Known<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Converted> {
        let Self { rows, dimension, only, runs, .. } = self;
        let source: Box<dyn ColumnSource> = match (only, runs) {
            (Some(Part::Sparse(sparse) | Part::Scattered(sparse)), _) => Box::new(sparse),
            (Some(Part::Dense(columns)), _) => Box::new(Taken::new(columns, options.memory)),
            (None, Some(runs)) => Box::new(runs.few_enough(options.memory)?),
            (None, None) => return Err(Error::Data("no instances".into())),
        };
        let source = lighter(source, [rows, dimension])?;
        write(file, source, [rows, dimension], options, known, progress)
    }
}

/// Writes the columns of a source as a store of that many rows and features.
pub(super) fn write(
    file: WholeFile,
    mut source: Box<dyn ColumnSource + '_>,
    [rows, dimension]: [u64; 2],
    options: &Conversion,
    known: &Known<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Converted> {
    let runs = source.runs();
    let (values, sparse) = (source.kind()?, source.is_sparse());
    let row_width = row_width(rows);
    let shares = shares(&mut *source, values, sparse.then_some(row_width), options.shards)?;
    let all: u64 = shares.iter().map(|share| share.columns).sum();
    let (nonzeros, shards) = (shares.iter().map(|share| share.values).sum(), shares.len());
    let copied = options.copy && !sparse && Copied::is_of_use(rows as usize, all, values.size());
    let plan = Plan { rows, dimension, values, row_width, sparse, copied, shares };
    let mut writer = StoreWriter::new(file, plan)?;
    let (mut columns, mut entries) = (0, 0);
    source.columns(values, &mut |step| match step {
        Step::Column(id, length) => {
            (columns, entries) = (columns + 1, entries + length);
            if entries > WORTH_SHOWING {
                entries = 0;
                progress(Progress::Written { columns, of: all });
            }
            writer.column(id, length)
        }
        Step::Entries(rows, values) => writer.entries(rows, values),
    })?;
    writer.finish(known.labels, known.names, known.recipe)?;
    Ok(Converted { rows, dimension, nonzeros, shards, runs, notes: Vec::new() })
}

impl Dataset {
    /// Writes a store, which appears whole or not at all. Columns are taken out some at a time: they may be made as they
    /// are asked for.
    pub fn write_store(
        &self,
        path: impl AsRef<Path>,
        options: &Conversion,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Converted> {
        let columns = &*self.columns;
        let size = [columns.rows() as u64, columns.dimension()];
        let source = Box::new(Taken::new(columns, options.memory));
        let known = Known { labels: &self.labels, names: &self.names, recipe: self.recipe.as_ref() };
        write(WholeFile::create(path.as_ref())?, source, size, options, &known, progress)
    }
}

/// How columns come: one begins, then its entries, in one piece or several.
pub(super) enum Step<'a> {
    /// The id of a column, and how many values it has.
    Column(u64, u64),
    /// Bytes of row numbers, 32 bits each (none in dense data), and of values.
    Entries(&'a [u8], &'a [u8]),
}

/// Whoever has all columns, in order.
pub(super) trait ColumnSource {
    fn is_sparse(&self) -> bool;

    /// How values can be kept without loss.
    fn kind(&mut self) -> Result<Kind>;

    /// Calls `each` with the id of every column and the number of its values.
    fn lengths(&mut self, each: &mut dyn FnMut(u64, u64)) -> Result<()>;

    /// All columns, with values as `kind`.
    fn columns(&mut self, kind: Kind, each: &mut dyn FnMut(Step<'_>) -> Result<()>) -> Result<()>;

    /// Runs it was put together from.
    fn runs(&self) -> usize {
        0
    }
}

/// Cuts columns into shards of about the same size. Only sparse ones have row numbers.
fn shares(
    source: &mut dyn ColumnSource,
    kind: Kind,
    row_width: Option<Width>,
    count: Option<usize>,
) -> Result<Vec<Share>> {
    let around = |length: u64| row_width.map_or(0, |width| 16 + width.bytes() as u64 * length);
    let bytes = |length: u64| around(length) + kind.size() * length;
    let mut total = 0;
    source.lengths(&mut |_, length| total += bytes(length))?;
    let count = count.unwrap_or(total.div_ceil(SHARD_BYTES) as usize).max(1) as u128;
    let (mut shares, mut done) = (Vec::new(), 0u128);
    let mut share = Share { columns: 0, values: 0 };
    source.lengths(&mut |_, length| {
        share.columns += 1;
        share.values += length;
        done += u128::from(bytes(length));
        if done * count >= u128::from(total) * (shares.len() as u128 + 1) {
            shares.push(std::mem::replace(&mut share, Share { columns: 0, values: 0 }));
        }
    })?;
    if share.columns > 0 {
        shares.push(share);
    }
    Ok(shares)
}

impl ColumnSource for Sparse {
    fn is_sparse(&self) -> bool {
        true
    }

    fn kind(&mut self) -> Result<Kind> {
        Ok(kind_of(self.view().values()))
    }

    fn lengths(&mut self, each: &mut dyn FnMut(u64, u64)) -> Result<()> {
        let view = self.view();
        (0..view.len()).for_each(|k| each(view.id(k), view.range(k).len() as u64));
        Ok(())
    }

    fn columns(&mut self, kind: Kind, each: &mut dyn FnMut(Step<'_>) -> Result<()>) -> Result<()> {
        let view = self.view();
        debug_assert_eq!(kind_of(view.values()), kind);
        for k in 0..view.len() {
            let at = view.range(k);
            each(Step::Column(view.id(k), at.len() as u64))?;
            let values = match view.values() {
                ValuesView::Ones => &[],
                ValuesView::U8(x) => &x[at.clone()],
                ValuesView::F32(x) => bytemuck::cast_slice(&x[at.clone()]),
                ValuesView::F64(x) => bytemuck::cast_slice(&x[at.clone()]),
            };
            each(Step::Entries(bytemuck::cast_slice(&view.indices()[at]), values))?;
        }
        Ok(())
    }
}

/// Any columns, some taken out at a time.
struct Taken<C> {
    columns: C,
    memory: u64,
    sparse: bool,
}

impl<C: std::ops::Deref<Target: Columns>> Taken<C> {
    fn new(columns: C, memory: u64) -> Self {
        let sparse = columns.is_empty() || matches!(columns.gather(&[0])[..], [Column::Sparse { .. }]);
        Self { columns, memory, sparse }
    }

    /// The positions of all columns, as many at a time as may be taken out together.
    fn some(&self) -> impl Iterator<Item = Vec<usize>> {
        let held = self.columns.len();
        let values = (self.columns.nonzeros() / held.max(1) as u64).max(1);
        // Half for the columns, half for what is around.
        let step = (self.memory / 2 / (12 * values)).clamp(1, held.max(1) as u64) as usize;
        (0..held).step_by(step).map(move |first| (first..held.min(first + step)).collect())
    }

    /// Calls `each` with every column and its id, in order.
    fn for_each(&self, mut each: impl FnMut(u64, &Column) -> Result<()>) -> Result<()> {
        for positions in self.some() {
            for (&position, column) in positions.iter().zip(self.columns.gather(&positions)) {
                each(self.columns.id(position), &column)?;
            }
        }
        Ok(())
    }
}

impl<C: std::ops::Deref<Target: Columns>> ColumnSource for Taken<C> {
    fn is_sparse(&self) -> bool {
        self.sparse
    }

    fn kind(&mut self) -> Result<Kind> {
        if self.columns.all_ones() {
            return Ok(Kind::Ones);
        }
        let least = if self.sparse { Kind::Ones } else { Kind::U8 };
        let columns = self.some().flat_map(|positions| self.columns.gather(&positions));
        Ok(kind_of_columns(columns, least, self.columns.value_bytes()))
    }

    fn lengths(&mut self, each: &mut dyn FnMut(u64, u64)) -> Result<()> {
        if !self.sparse {
            let rows = self.columns.rows() as u64;
            (0..self.columns.len() as u64).for_each(|id| each(id, rows));
            return Ok(());
        }
        self.for_each(|id, column| {
            let (Column::Dense(values) | Column::Sparse { values, .. }) = column;
            each(id, values.len() as u64);
            Ok(())
        })
    }

    fn columns(&mut self, kind: Kind, each: &mut dyn FnMut(Step<'_>) -> Result<()>) -> Result<()> {
        self.for_each(|id, column| {
            let (rows, values): (&[u32], _) = match column {
                Column::Dense(values) => (&[], values),
                Column::Sparse { rows, values } => (rows, values),
            };
            each(Step::Column(id, values.len() as u64))?;
            each(Step::Entries(bytemuck::cast_slice(rows), &bytes_of(values, kind)))
        })
    }
}

/// The narrowest kind, from `least` on, that holds all values of columns, of which it is known that so many bytes do. Looks at no more
/// columns than it must.
pub(super) fn kind_of_columns(columns: impl Iterator<Item = Column>, least: Kind, value_bytes: u64) -> Kind {
    let mut kind = least;
    for Column::Dense(values) | Column::Sparse { values, .. } in columns {
        if kind.size() >= value_bytes {
            break;
        }
        if kind > Kind::Ones || values.iter().any(|&x| x != 1.0) {
            kind = kind.max(narrowest(&values));
        }
    }
    kind
}

/// The narrowest kind that holds these exactly, though they be all 1.
pub(super) fn narrowest(values: &[f64]) -> Kind {
    // Not a number is kept as wide as it came.
    let exact = |x: &f64| f64::from(*x as f32) == *x;
    match values.iter().all(exact) {
        true if is_bytes(values) => Kind::U8,
        true => Kind::F32,
        false => Kind::F64,
    }
}

pub(super) fn bytes_of(values: &[f64], kind: Kind) -> Vec<u8> {
    match kind {
        Kind::Ones => Vec::new(),
        Kind::U8 => values.iter().map(|&x| x as u8).collect(),
        Kind::F32 => values.iter().flat_map(|&x| (x as f32).to_le_bytes()).collect(),
        Kind::F64 => bytemuck::cast_slice(values).to_vec(),
    }
}

pub(super) fn kind_of(values: ValuesView<'_>) -> Kind {
    match values {
        ValuesView::Ones => Kind::Ones,
        ValuesView::U8(_) => Kind::U8,
        ValuesView::F32(_) => Kind::F32,
        ValuesView::F64(_) => Kind::F64,
    }
}

/// Labels of parts as labels of the whole: a later part may know more classes, or that there are too many to be classes.
#[derive(Default)]
struct Classes {
    list: Vec<String>,
    codes: Vec<u32>,
    known: HashMap<String, u32>,
    numbers: Option<Vec<f64>>,
}

impl Classes {
    fn extend(&mut self, part: &Labels) -> Result<()> {
        if let (None, Some(_)) = (&self.numbers, part.only_numbers()) {
            let before = std::mem::take(self).take();
            self.numbers = Some(if before.is_empty() { Vec::new() } else { before.numbers()?.into_owned() });
        }
        if let Some(numbers) = &mut self.numbers {
            numbers.extend_from_slice(&part.numbers()?);
            return Ok(());
        }
        let Self { list, codes, known, .. } = self;
        let code = |class: &String| {
            *known.entry(class.clone()).or_insert_with(|| {
                list.push(class.clone());
                list.len() as u32 - 1
            })
        };
        let by_class: Vec<u32> = part.classes().iter().map(code).collect();
        codes.extend(part.codes().iter().map(|&code| by_class[code as usize]));
        Ok(())
    }

    fn take(&mut self) -> Labels {
        let Self { list, codes, numbers, .. } = std::mem::take(self);
        numbers.map_or_else(|| Labels::from_codes(list, codes), Labels::from_numbers)
    }
}
