//! Data of any length, some rows at a time.

use std::path::Path;

use super::idset::IdSet;
use super::source::{Format, Source};
use super::{Reader, check_label_count, csv, npy, read_all_labels, svmlight};
use crate::data::{Columns, Labels, Names};
use crate::error::{Error, Result};

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
///     predictor.decision(&*batch.columns)?.iter().for_each(|f| println!("{f}"));
///     Ok(())
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
    threads: rayon::ThreadPool,
    /// Labels of a file of their own.
    labels: Option<(String, Labels)>,
}

/// Some rows that follow each other.
pub struct Batch {
    /// The features' values.
    pub columns: Box<dyn Columns>,
    /// The instances' classes; empty if the source has none.
    pub labels: Labels,
}

/// What an input looks like inside.
enum Rows {
    Svmlight(Source, svmlight::Options),
    Csv(Box<csv::Rows>),
    Npy(npy::Array),
}

impl Reader {
    /// Opens a file, or standard input for `-`, to be read in batches. Weights and names of other files are left out.
    pub fn batches(&self, path: impl AsRef<Path>) -> Result<Batches> {
        self.batches_of(Source::open(path.as_ref())?)
    }

    pub(super) fn batches_of(&self, mut source: Source) -> Result<Batches> {
        let name = source.name().to_owned();
        let rows = match source.format(self.label_column.is_some())? {
            Format::Svmlight { labelled } => {
                let options = self.svmlight_options(labelled, 0)?;
                Rows::Svmlight(source, options)
            }
            Format::Csv { delimiter } => Rows::Csv(Box::new(self.open_csv(source, delimiter)?)),
            Format::Npy => Rows::Npy(self.open_npy(source)?),
        };
        let names = match &rows {
            Rows::Csv(table) => table.names(),
            Rows::Svmlight(..) | Rows::Npy(_) => Names::default(),
        };
        let read = |path: &Path| Ok((path.display().to_string(), read_all_labels(path)?));
        let labels = self.labels_file.as_deref().map(read).transpose()?;
        if let (Rows::Npy(array), Some((file, labels))) = (&rows, &labels) {
            check_label_count(file, labels, array.rows())?;
        }
        Ok(Batches { name, names, rows, size: self.chunk, threads: self.pool()?, labels })
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

    /// Hands on all rows in order, up to the first error. Columns that are not `wanted`, by their ids, need not be there.
    pub fn for_each<E: From<Error> + Send>(
        self,
        wanted: &[u64],
        mut each: impl FnMut(Batch) -> Result<(), E> + Send,
    ) -> Result<(), E> {
        let Self { rows, size, threads, labels: given, .. } = self;
        let mut done = 0;
        let mut hand_on = |columns: Box<dyn Columns>, inside: Option<Labels>| {
            let first = done;
            done += columns.rows();
            let labels = match &given {
                Some((file, all)) if done > all.len() => {
                    let reason = format!("{} labels for at least {done} instances", all.len());
                    return Err(Error::input(file.as_str(), reason).into());
                }
                Some((_, all)) => all.part(first..done),
                None => inside.unwrap_or_default(),
            };
            // Blank lines and comments alone make no batch.
            if columns.rows() == 0 {
                return Ok(());
            }
            each(Batch { columns, labels })
        };
        match rows {
            Rows::Svmlight(source, options) => {
                let wanted = IdSet::new(wanted.to_vec());
                let hand_on = |columns, labels| hand_on(Box::new(columns), labels);
                threads.install(|| svmlight::for_each_batch(source, options, &wanted, hand_on))?;
            }
            Rows::Csv(mut table) => {
                while let Some((columns, labels)) = table.read(size)? {
                    hand_on(columns, labels)?;
                }
            }
            Rows::Npy(array) => array.for_each_batch(size, |columns| hand_on(columns, None))?,
        }
        Ok(given.map_or(Ok(()), |(file, labels)| check_label_count(&file, &labels, done))?)
    }
}
