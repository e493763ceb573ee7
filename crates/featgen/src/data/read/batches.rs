//! Data of any length, some rows at a time.

use std::collections::HashSet;
use std::path::Path;

use super::idset::IdSet;
use super::lists::LabelFile;
use super::mtx::{self, Repeats, Whole};
use super::source::{Format, Source};
use super::tables::{Open, present};
use super::{Reader, Table, csv, npy, svmlight};
use crate::context::Context;
use crate::data::{Columns, Labels, Names, Sparse};
use crate::error::{Error, Result};
use crate::table::{Inputs, Recipe, Strangers};

/// An open input that is handed on in batches of rows, so that memory does not grow with their number.
///
/// ```no_run
/// # fn main() -> featgen::Result<()> {
/// # use featgen::Model;
/// # use featgen::data::read::Reader;
/// let model = Model::load("model.json")?;
/// let batches = Reader::new().require_labels(false).batches("new.svm")?;
/// let predictor = model.predictor(batches.names(), batches.source());
/// batches.for_each(predictor.inputs(), |batch| {
///     let decisions = predictor.decision_of(&batch);
///     decisions.values.iter().for_each(|f| println!("{f}"));
///     decisions.fault.map_or(Ok(()), Err)
/// })?;
/// # Ok(())
/// # }
/// ```
pub struct Batches {
    name: String,
    names: Names,
    rows: Rows,
    /// Values in a batch of dense data, about.
    size: usize,
    context: Context,
    /// Labels of a file of their own.
    labels: Option<LabelFile>,
    strangers: Strangers,
}

/// Some rows that follow each other.
pub struct Batch {
    /// The features' values.
    pub columns: Box<dyn Columns>,
    /// The instances' classes; empty if the source has none.
    pub labels: Labels,
    /// How many rows come before these.
    pub first: usize,
    /// Whether any of the wanted columns is there. In svmlight text, that is: mentioned in any of these rows, be it with 0.
    pub has_wanted: bool,
}

/// What an input looks like inside.
enum Rows {
    Svmlight(Source, svmlight::Options),
    Csv(Box<csv::Rows>),
    /// A table whose columns become inputs as a recipe says.
    Frames(Open, Recipe),
    Npy(npy::Array),
    Mtx(mtx::Matrix),
    /// A store is mapped as a whole.
    Store(Box<Table>),
    /// And so are genotypes.
    Bed(Box<Table>),
}

impl Reader {
    /// Opens a file, or standard input for `-`, to be read in batches. Weights and names of other files are left out.
    pub fn batches(&self, path: impl AsRef<Path>) -> Result<Batches> {
        self.batches_of(Source::open(path.as_ref())?)
    }

    pub(crate) fn batches_of(&self, mut source: Source) -> Result<Batches> {
        let name = source.name().to_owned();
        let rows = match self.format(&mut source)? {
            Format::Svmlight { labelled } => {
                let options = self.svmlight_options(labelled, 0)?;
                Rows::Svmlight(source, options)
            }
            Format::Csv { delimiter } if self.recipe.is_none() => {
                Rows::Csv(Box::new(self.open_csv(source, delimiter)?))
            }
            format @ (Format::Csv { .. } | Format::Parquet | Format::Arrow) => {
                let open = self.open_table(source, format)?.expect("these are tables");
                let recipe = match &self.recipe {
                    Some(recipe) => present(recipe, open.names()),
                    None => Recipe::plain(open.names().iter().cloned()),
                };
                Rows::Frames(open, recipe)
            }
            Format::Npy => Rows::Npy(self.open_npy(source)?),
            Format::Mtx => Rows::Mtx(self.open_mtx(source)?),
            Format::Store => Rows::Store(Box::new(self.open_store(&source)?)),
            Format::Bed => Rows::Bed(Box::new(self.open_bed(source)?.0)),
        };
        let names = match &rows {
            Rows::Csv(table) => table.names(),
            Rows::Frames(frames, recipe) => frames.input_names(recipe),
            Rows::Store(table) | Rows::Bed(table) => table.names.clone().unwrap_or_default(),
            Rows::Svmlight(..) | Rows::Npy(_) | Rows::Mtx(_) => Names::default(),
        };
        let labels = self.labels_file.as_deref().map(LabelFile::open).transpose()?;
        let known = match &rows {
            Rows::Npy(array) => Some(array.rows()),
            Rows::Mtx(matrix) => Some(matrix.rows()),
            Rows::Svmlight(..) | Rows::Csv(_) | Rows::Frames(..) | Rows::Store(_) | Rows::Bed(_) => None,
        };
        if let (Some(rows), Some(labels)) = (known, &labels) {
            labels.check_length(rows)?;
        }
        let strangers = Strangers::default();
        Ok(Batches { name, names, rows, size: self.chunk, context: self.context.clone(), labels, strangers })
    }
}

impl Batches {
    /// Where the data come from.
    pub fn source(&self) -> &str {
        &self.name
    }

    /// What the features are called.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// How many features the data have; `None` where that is known only when all is read.
    pub fn dimension(&self) -> Option<u64> {
        match &self.rows {
            Rows::Svmlight(..) => None,
            Rows::Csv(_) | Rows::Frames(..) => Some(self.names.list().len() as u64),
            Rows::Npy(array) => Some(array.columns() as u64),
            Rows::Mtx(matrix) => Some(matrix.dimension()),
            Rows::Store(table) | Rows::Bed(table) => Some(table.columns.dimension()),
        }
    }

    /// How the columns of a table become features, if it is one and that is known.
    pub fn recipe(&self) -> Option<&Recipe> {
        match &self.rows {
            Rows::Frames(_, recipe) => Some(recipe),
            Rows::Store(table) => table.recipe.as_ref(),
            Rows::Svmlight(..) | Rows::Csv(_) | Rows::Npy(_) | Rows::Mtx(_) | Rows::Bed(_) => None,
        }
    }

    /// What will be said of levels that the training data did not have, when all rows were handed on.
    pub fn strangers(&self) -> Strangers {
        self.strangers.clone()
    }

    /// Hands on all rows in order, up to the first error; those of text before a mistake come first. Columns that are not
    /// `wanted`, by their ids, need not be there, and cells of tables are not even looked at. Where text is made while it is
    /// read, and pauses, the lines that are there are handed on at once.
    pub fn for_each<E: From<Error> + Send>(
        self,
        wanted: &[u64],
        mut each: impl FnMut(Batch) -> Result<(), E> + Send,
    ) -> Result<(), E> {
        let mut first = None;
        let handed_on = self.hand_on(wanted, &mut |batch| {
            each(batch).map_err(|error| {
                first = Some(error);
                Error::Data("broken off".into())
            })
        });
        first.map_or_else(|| Ok(handed_on?), Err)
    }

    /// The same for one kind of errors: all of reading is compiled here, once, not by whoever has errors of a kind.
    fn hand_on(self, wanted: &[u64], each: &mut (dyn FnMut(Batch) -> Result<()> + Send)) -> Result<()> {
        let Self { name, rows, size, context, labels, strangers, .. } = self;
        let (mut labelled, mut first) = (Labelled { given: labels }, 0);
        let mut hand_on = |columns: Box<dyn Columns>, inside: Option<Labels>, mentioned: bool| {
            let labels = labelled.next(columns.rows(), inside)?;
            // Blank lines and comments alone make no batch.
            if columns.rows() == 0 {
                return Ok(());
            }
            let has_wanted = mentioned || wanted.iter().any(|&id| columns.position(id).is_some());
            let batch = Batch { labels, first, has_wanted, columns };
            first += batch.columns.rows();
            each(batch)
        };
        match rows {
            Rows::Svmlight(source, options) => {
                let wanted = IdSet::new(wanted.to_vec());
                let hand_on = |columns, labels, mentioned| hand_on(Box::new(columns), labels, mentioned);
                context.run(|| svmlight::for_each_batch(source, options, &wanted, hand_on))??;
            }
            Rows::Csv(mut table) => {
                table.pick(wanted);
                while let Some((columns, labels)) = table.read(size, true)? {
                    hand_on(columns, labels, false)?;
                }
            }
            Rows::Frames(mut frames, recipe) => {
                let asked: HashSet<u64> = wanted.iter().copied().collect();
                let needed = recipe.only(|_, mut range| range.any(|id| asked.contains(&id)));
                let needed: HashSet<&str> =
                    needed.columns().iter().map(|column| column.column.as_str()).collect();
                frames.follow(&recipe, |column| needed.contains(column));
                while let Some((mut frame, labels)) = frames.read(size, true)? {
                    let encoded = recipe.encode(&mut frame, &name)?;
                    strangers.add(encoded.unseen);
                    // A level may occur in no row of a batch, and the column is there.
                    hand_on(encoded.columns.boxed(), labels, !needed.is_empty())?;
                }
            }
            Rows::Npy(array) => array.for_each_batch(size, |columns| hand_on(columns, None, false))?,
            // Entries may come in any order: no row is complete before all is read.
            Rows::Mtx(matrix) => {
                let there = wanted.iter().any(|&id| id < matrix.dimension());
                let set = IdSet::new(wanted.to_vec());
                let columns = context.run(|| matrix.read(|id| set.number(id).is_some()))??;
                hand_on(columns, None, there)?;
            }
            Rows::Store(table) | Rows::Bed(table) => hand_on(table.columns, table.labels, false)?,
        }
        labelled.end()
    }

    /// Who says where an entry stands that several parts have, where parts are [scattered](Part::Scattered).
    pub(crate) fn repeats(&self) -> Option<Repeats> {
        match &self.rows {
            Rows::Mtx(matrix) => Some(matrix.repeats()),
            Rows::Svmlight(..)
            | Rows::Csv(_)
            | Rows::Frames(..)
            | Rows::Npy(_)
            | Rows::Store(_)
            | Rows::Bed(_) => None,
        }
    }

    /// Hands on all rows with all their columns, as many at a time as hold about so many values. An array by columns in a plain
    /// file, which takes no memory, is handed on as a whole.
    pub(crate) fn for_each_part<E: From<Error> + Send>(
        self,
        entries: u64,
        mut each: impl FnMut(Part, &Labels) -> Result<(), E> + Send,
    ) -> Result<(), E> {
        let Self { name, rows, context, labels, .. } = self;
        let (mut labelled, none) = (Labelled { given: labels }, Labels::default());
        let size = usize::try_from(entries).unwrap_or(usize::MAX);
        let mut hand_on = |part: Part, inside: Option<Labels>| {
            let rows = part.columns().rows();
            let labels = labelled.next(rows, inside)?;
            if rows == 0 { Ok(()) } else { each(part, &labels) }
        };
        match rows {
            Rows::Svmlight(source, options) => {
                let hand_on = |columns, labels| hand_on(Part::Sparse(columns), labels);
                context.run(|| svmlight::for_each_part(source, options, entries, hand_on))??;
            }
            Rows::Csv(mut table) => {
                while let Some((columns, labels)) = table.read(size, false)? {
                    hand_on(Part::Dense(columns), labels)?;
                }
            }
            Rows::Frames(mut frames, recipe) => {
                frames.follow(&recipe, |_| true);
                // Cells are held as they were read, with every different text, beside what becomes of them.
                while let Some((mut frame, labels)) = frames.read(size / 2, false)? {
                    let part = match recipe.encode(&mut frame, &name)?.columns {
                        Inputs::Sparse(sparse) => Part::Sparse(sparse),
                        Inputs::Dense(dense) => Part::Dense(Box::new(dense)),
                    };
                    hand_on(part, labels)?;
                }
            }
            Rows::Npy(array) => {
                let size = if array.has_columns_at_hand() { usize::MAX } else { size };
                array.for_each_batch(size, |columns| hand_on(Part::Dense(columns), None))?;
            }
            Rows::Mtx(matrix) => {
                // Each part is of all rows: their labels come with the first.
                let labels = labelled.next(matrix.rows(), None)?;
                let mut labels = Some(&labels);
                let hand_on = |whole| match whole {
                    Whole::Entries(some) => each(Part::Scattered(some), labels.take().unwrap_or(&none)),
                    Whole::Array(columns) => each(Part::Dense(columns), labels.take().unwrap_or(&none)),
                };
                context.run(|| matrix.for_each_part(entries, hand_on))??;
            }
            Rows::Store(_) => return Err(Error::input(name.as_str(), "this is a store already").into()),
            Rows::Bed(_) => {
                let reason =
                    "genotypes are mapped and take less room as they are: there is nothing to convert";
                return Err(Error::input(name.as_str(), reason).into());
            }
        }
        Ok(labelled.end()?)
    }
}

/// Some rows with all their columns.
pub(crate) enum Part {
    Sparse(Sparse),
    Dense(Box<dyn Columns>),
    /// Not some rows but some entries of all rows. The labels come with the first such part.
    Scattered(Sparse),
}

impl Part {
    pub(crate) fn columns(&self) -> &dyn Columns {
        match self {
            Self::Sparse(sparse) | Self::Scattered(sparse) => sparse,
            Self::Dense(columns) => &**columns,
        }
    }
}

/// Labels of one batch after the other: those of a file of their own, where there is one.
struct Labelled {
    given: Option<LabelFile>,
}

impl Labelled {
    fn next(&mut self, rows: usize, inside: Option<Labels>) -> Result<Labels> {
        match &mut self.given {
            Some(file) => file.next_of_many(rows),
            None => Ok(inside.unwrap_or_default()),
        }
    }

    fn end(self) -> Result<()> {
        self.given.map_or(Ok(()), LabelFile::end)
    }
}
