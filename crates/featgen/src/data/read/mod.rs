//! Readers: from files in the usual formats to a [`Dataset`], recognised by content.
//!
//! | content | becomes |
//! |---|---|
//! | svmlight/LIBSVM text | sparse columns |
//! | CSV with a header (comma, semicolon or tab) | dense rows; with categories, sparse columns: see [`crate::table`] |
//! | Parquet, Arrow (IPC) | the same, to the bit, as a CSV of the same table |
//! | Matrix Market `.mtx`, by coordinates or an array | sparse columns, or dense ones |
//! | a [store](crate::data::store) | what it holds, mapped |
//! | NumPy `.npy`, two-dimensional, `f4` or `f8` | dense, in the file's order and precision, mapped rather than read |
//! | PLINK `.bed`, with `.bim` and `.fam` beside it | genotypes of two bits, mapped |
//!
//! Each but stores and genotypes may be compressed with gzip or zstd. What is wrong with an input is said with file, line and column.

#[cfg(feature = "arrow")]
mod arrow;
mod batches;
mod csv;
mod header;
mod idset;
mod limits;
pub(crate) mod lists;
mod mtx;
mod npy;
pub(crate) mod number;
mod parallel;
mod pausing;
mod picked;
mod plink;
mod source;
mod spellings;
mod svmlight;
mod tables;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub(crate) use self::batches::Part;
pub use self::batches::{Batch, Batches};
pub use self::lists::{read_folds, read_offsets};
pub(crate) use self::mtx::Repeats;
pub(crate) use self::plink::text_from_bytes;
pub use self::plink::{Genotyped, LeftOut, Region, Variants};
use self::source::Format;
pub(crate) use self::source::Source;
use super::genotypes::Genotype;
use super::store::Store;
use super::{Columns, Dataset, Labels, Names};
use crate::context::Context;
use crate::error::{Error, Reason, Result};
use crate::table::{Options, Recipe};

/// Bytes of text that one task parses, and values of a table or an array in a batch: small enough for what they leave to
/// stay in the cache.
const CHUNK: usize = 1 << 19;

/// Reads data sets. The defaults suit training on svmlight text; formats that need more are told here.
///
/// ```no_run
/// # fn main() -> featgen::Result<()> {
/// use featgen::data::read::Reader;
/// let table = Reader::new().label_column("species").read("iris.csv")?;
/// let array = Reader::new().labels_file("y.txt").read("x.npy")?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Reader {
    label_column: Option<String>,
    event_column: Option<String>,
    labels_file: Option<PathBuf>,
    names_file: Option<PathBuf>,
    weights_file: Option<PathBuf>,
    transpose: bool,
    pheno_file: Option<PathBuf>,
    covar_file: Option<PathBuf>,
    genotypes: Option<HashMap<String, Genotype>>,
    require_labels: bool,
    table: Options,
    recipe: Option<Recipe>,
    known_rows: Option<Vec<bool>>,
    context: Context,
    chunk: usize,
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            label_column: None,
            event_column: None,
            labels_file: None,
            names_file: None,
            weights_file: None,
            transpose: false,
            pheno_file: None,
            covar_file: None,
            genotypes: None,
            require_labels: true,
            table: Options::default(),
            recipe: None,
            known_rows: None,
            context: Context::new(),
            chunk: CHUNK,
        }
    }
}

/// What a format yields.
struct Table {
    columns: Box<dyn Columns>,
    labels: Option<Labels>,
    names: Option<Names>,
    /// How the columns of a table became these.
    recipe: Option<Recipe>,
    /// What may surprise.
    notes: Vec<Reason>,
}

impl Table {
    /// Columns that are no table's.
    fn of(columns: Box<dyn Columns>, labels: Option<Labels>, names: Option<Names>) -> Self {
        Self { columns, labels, names, recipe: None, notes: Vec::new() }
    }
}

impl Reader {
    /// A reader with default settings: labels are required, and all processors are used.
    pub fn new() -> Self {
        Self::default()
    }

    /// The column of a CSV that holds the labels: its name, or its number from 1 if no column is called so.
    pub fn label_column(mut self, column: impl Into<String>) -> Self {
        self.label_column = Some(column.into());
        self
    }

    /// Where labels are times: the column of a CSV that says whether there was an event, by 1 and 0 or true and false. Labels of
    /// instances without one become negative.
    pub fn event_column(mut self, column: impl Into<String>) -> Self {
        self.event_column = Some(column.into());
        self
    }

    /// A file of labels, one a line or a one-dimensional `.npy`. They replace labels that the data have.
    pub fn labels_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.labels_file = Some(path.into());
        self
    }

    /// A file of feature names, one a line, in order of feature number.
    pub fn names_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.names_file = Some(path.into());
        self
    }

    /// A file of instance weights, one a line, in order of instances.
    pub fn weights_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.weights_file = Some(path.into());
        self
    }

    /// Whether the columns of a Matrix Market file are instances, and its rows features, as in files of 10x Genomics.
    pub fn transpose(mut self, transpose: bool) -> Self {
        self.transpose = transpose;
        self
    }

    /// Of genotypes: a table of phenotypes, `FID IID` and more columns under a header, of which the label column is used.
    pub fn pheno_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.pheno_file = Some(path.into());
        self
    }

    /// Of genotypes: a table of covariates, likewise, whose columns follow the variants.
    pub fn covar_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.covar_file = Some(path.into());
        self
    }

    /// Of genotypes: what the values of variants meant where a model was trained, by name. Only these variants are then read, and
    /// so that they mean the same.
    pub fn genotypes(mut self, known: HashMap<String, Genotype>) -> Self {
        self.genotypes = Some(known);
        self
    }

    /// Whether data without labels are refused. They are by default; predictions can do without.
    ///
    /// All lines of svmlight text have labels or none has. Without labels, an instance without features would be a blank
    /// line, and those are skipped.
    pub fn require_labels(mut self, required: bool) -> Self {
        self.require_labels = required;
        self
    }

    /// How the columns of a table are to be taken; without a word, what they are is found out.
    pub fn table(mut self, options: Options) -> Self {
        self.table = options;
        self
    }

    /// How the columns of a table are known to become inputs: as in the data that a model was trained on.
    pub fn recipe(mut self, recipe: Option<&Recipe>) -> Self {
        self.recipe = recipe.cloned();
        self
    }

    /// Of all instances, those from which is learned what is learned of values: the levels of categories in a table, and what is put
    /// where a number, or a genotype, is missing. The others are read as a model would read them that was trained on these alone.
    pub fn learning_from(mut self, known: Vec<bool>) -> Self {
        self.known_rows = Some(known);
        self
    }

    /// The threads that parse. What is read does not depend on how many they are.
    pub fn context(mut self, context: &Context) -> Self {
        self.context = context.clone();
        self
    }

    /// How many bytes of text one task parses. What is read does not depend on it.
    pub fn chunk(mut self, bytes: usize) -> Self {
        self.chunk = bytes.max(1);
        self
    }

    /// Reads a file; `-` is standard input.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Dataset> {
        self.read_source(Source::open(path.as_ref())?)
    }

    pub(crate) fn read_source(&self, mut source: Source) -> Result<Dataset> {
        let name = source.name().to_owned();
        let format = self.format(&mut source)?;
        let mut genotypes = None;
        self.refuse_columns(format)?;
        let table = match format {
            Format::Svmlight { labelled } => self.read_svmlight(source, labelled)?,
            Format::Csv { delimiter } => self.named(self.read_csv(source, delimiter)?)?,
            format @ (Format::Parquet | Format::Arrow) => self.named(self.read_arrow(source, format)?)?,
            Format::Store => self.named(self.open_store(&source)?)?,
            Format::Npy => self.named(Table::of(self.open_npy(source)?.read()?, None, None))?,
            Format::Mtx => {
                let matrix = self.open_mtx(source)?;
                let columns = self.context.run(|| matrix.read(|_| true))??;
                self.named(Table::of(columns, None, None))?
            }
            Format::Bed => {
                let (table, facts) = self.open_bed(source)?;
                genotypes = Some(facts);
                self.named(table)?
            }
        };
        let rows = table.columns.rows();
        let labels = match &self.labels_file {
            Some(path) => Some(lists::read_labels(path, rows)?),
            None => table.labels,
        };
        let labels = self.weighted(labels.unwrap_or_default(), rows)?;
        let Table { columns, names, recipe, notes, .. } = table;
        Ok(Dataset {
            columns,
            labels,
            names: names.unwrap_or_default(),
            source: name,
            recipe,
            notes,
            genotypes,
        })
    }

    /// Tables about people are of use for genotypes alone.
    fn check_people(&self, format: Format) -> Result<()> {
        let given = [("pheno", &self.pheno_file), ("covar", &self.covar_file)];
        match given.into_iter().find(|(_, file)| file.is_some() && format != Format::Bed) {
            Some((name, _)) => Err(Error::parameter(name, "only the people of a .bed have such a table")),
            None => Ok(()),
        }
    }

    /// What a source holds; a wish that this kind of data cannot fulfil is refused.
    fn format(&self, source: &mut Source) -> Result<Format> {
        let format = source.format(self.label_column.is_some())?;
        if self.transpose && format != Format::Mtx {
            let reason = format!("{}: only a Matrix Market file (.mtx) can be read so", source.name());
            return Err(Error::parameter("transpose", reason));
        }
        self.check_people(format)?;
        Ok(format)
    }

    /// All names of the file for them, if there is one, for data that do not say how many features there are.
    pub(crate) fn given_names(&self) -> Result<Option<Names>> {
        let read = |path: &PathBuf| lists::read_names(Source::open_list(path)?, None);
        self.names_file.as_ref().map(read).transpose()
    }

    /// Those names, if they are as many as there turned out to be features.
    pub(crate) fn checked_names(&self, given: Option<Names>, features: u64) -> Result<Names> {
        let names = given.unwrap_or_default();
        match (&self.names_file, names.list().len() as u64) {
            (Some(path), given) if given != features => {
                let reason = format!("{given} names for {features} features");
                Err(Error::input(path.display().to_string().as_str(), reason))
            }
            _ => Ok(names),
        }
    }

    /// What the features are called of data that say how many there are, and perhaps have names already.
    pub(crate) fn names_of(&self, inside: Option<Names>, features: u64) -> Result<Names> {
        match (inside, &self.names_file) {
            (Some(_), Some(_)) => Err(Error::parameter("names", "a table has its names in its header")),
            (Some(names), None) => Ok(names),
            (None, Some(path)) => lists::read_names(Source::open_list(path)?, Some(features)),
            (None, None) => Ok(Names::default()),
        }
    }

    fn named(&self, mut table: Table) -> Result<Table> {
        table.names = Some(self.names_of(table.names, table.columns.dimension())?);
        Ok(table)
    }

    /// The labels with the weights of the file for them, if there is one.
    pub(crate) fn weighted(&self, labels: Labels, rows: usize) -> Result<Labels> {
        let Some(path) = &self.weights_file else { return Ok(labels) };
        let weights = lists::read_weights(Source::open(path)?, rows)?;
        if labels.is_empty() {
            return Err(Error::parameter("weights", "instances without labels cannot be weighted"));
        }
        labels.with_weights(weights)
    }

    /// The files that are read beside the data, and what they hold.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let files = [
            ("labels", &self.labels_file),
            ("names", &self.names_file),
            ("weights", &self.weights_file),
            ("phenotypes", &self.pheno_file),
            ("covariates", &self.covar_file),
        ];
        files.into_iter().filter_map(|(what, file)| Some((what, file.as_deref()?)))
    }

    /// Whether labels must come from the data themselves.
    fn labels_inside(&self) -> bool {
        self.require_labels && self.labels_file.is_none()
    }

    fn read_svmlight(&self, source: Source, labelled: bool) -> Result<Table> {
        let given = self.given_names()?;
        let named = given.as_ref().map_or(0, |names| names.list().len() as u64);
        let options = self.svmlight_options(labelled, named)?;
        let (columns, labels) = self.context.run(|| svmlight::read(source, options))??;
        let names = Some(self.checked_names(given, columns.dimension())?);
        Ok(Table::of(columns.lighter(), labels, names))
    }

    fn svmlight_options(&self, labelled: bool, dimension: u64) -> Result<svmlight::Options> {
        if self.label_column.is_some() || self.event_column.is_some() {
            let reason = "only a table has label columns, and this is svmlight text";
            return Err(Error::parameter("label", reason));
        }
        Ok(svmlight::Options { labelled: labelled || self.labels_inside(), dimension, chunk: self.chunk })
    }

    /// Where labels are in a table.
    fn label(&self) -> Result<header::Label<'_>> {
        if self.label_column.is_some() && self.labels_file.is_some() {
            return Err(Error::parameter(
                "labels",
                "labels can come from a column or from a file, not from both",
            ));
        }
        let (column, event) = (self.label_column.as_deref(), self.event_column.as_deref());
        Ok(header::Label { column, event, required: self.labels_inside() })
    }

    fn open_csv(&self, source: Source, delimiter: u8) -> Result<csv::Rows> {
        csv::Rows::open(source, delimiter, self.label()?)
    }

    /// Only the columns of tables can be spoken of.
    fn refuse_columns(&self, format: Format) -> Result<()> {
        let Options { ignore, id, number, category, .. } = &self.table;
        let lists = [("ignore", ignore), ("id", id), ("number", number), ("category", category)];
        let is_table = matches!(format, Format::Csv { .. } | Format::Parquet | Format::Arrow);
        match lists.into_iter().find(|(_, list)| !list.is_empty() && !is_table) {
            Some((parameter, _)) => Err(Error::parameter(
                parameter,
                format!("only a table has such columns, and this is {}", format.name()),
            )),
            None => Ok(()),
        }
    }

    fn open_store(&self, source: &Source) -> Result<Table> {
        let path = source.mappable()?;
        if self.label_column.is_some() {
            return Err(Error::parameter("label", "only a table has label columns, and this is a store"));
        }
        let store = self.context.run(|| Store::open(path))??;
        let Dataset { columns, labels, names, recipe, .. } = store.into_dataset(source.name())?;
        if labels.is_empty() && self.labels_inside() {
            let missing = Reason::from("the store has no labels: they must be given (").parameter("labels");
            return Err(source.error(missing.words(")")));
        }
        let names = Some(names).filter(|names| !names.list().is_empty());
        let labels = Some(labels).filter(|labels| !labels.is_empty());
        Ok(Table { recipe, ..Table::of(columns, labels, names) })
    }

    fn open_npy(&self, source: Source) -> Result<npy::Array> {
        if self.labels_inside() {
            let missing = Reason::from("an array has no labels: they must be given in a file of their own (");
            return Err(source.error(missing.parameter("labels").words(")")));
        }
        npy::Array::open(source)
    }

    fn open_mtx(&self, source: Source) -> Result<mtx::Matrix> {
        if self.label_column.is_some() || self.event_column.is_some() {
            let reason = "only a table has label columns, and this is a Matrix Market file";
            return Err(Error::parameter("label", reason));
        }
        if self.labels_inside() {
            let missing = Reason::from("a matrix has no labels: they must be given in a file of their own (");
            return Err(source.error(missing.parameter("labels").words(")")));
        }
        mtx::Matrix::open(source, self.transpose, self.chunk)
    }
}

/// A token as a message shows it: short, and without characters that a terminal would act on.
pub(crate) fn quoted(token: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = String::from_utf8_lossy(token);
    let shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    let dots = if text.chars().nth(SHOWN).is_some() { "..." } else { "" };
    format!("`{shown}{dots}`")
}

#[cfg(test)]
mod tests;
