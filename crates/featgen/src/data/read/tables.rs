//! From tables to inputs: what the columns are is found out once, or known from a recipe.

use std::path::Path;

use super::csv::{Found, Frames, Surveyor};
use super::source::{Format, Source};
use super::{Reader, Table};
use crate::data::{Dataset, Labels, Names};
use crate::error::{Error, Reason, Result};
use crate::table::{Frame, Options, Recipe, Schema, Series, Strangers, Survey, is_called_id};

/// A table of any format, whose header was read.
pub(super) enum Open {
    Csv(Box<Frames>),
    #[cfg(feature = "arrow")]
    Arrow(Box<super::arrow::Frames>),
}

/// Calls a method of whatever is open.
macro_rules! of_any {
    ($open:expr, $frames:ident => $call:expr) => {
        match $open {
            Open::Csv($frames) => $call,
            #[cfg(feature = "arrow")]
            Open::Arrow($frames) => $call,
        }
    };
}

impl Open {
    fn file(&self) -> &str {
        of_any!(self, frames => frames.file())
    }

    pub(super) fn names(&self) -> &[String] {
        of_any!(self, frames => frames.names())
    }

    fn outcome(&self) -> Vec<usize> {
        of_any!(self, frames => frames.outcome())
    }

    /// Names of inputs made of this table.
    pub(super) fn input_names(&self, recipe: &Recipe) -> Names {
        of_any!(self, frames => frames.input_names(recipe.names())).of_columns(recipe)
    }

    /// From now on reads the columns of a recipe, and of them only those that are wanted.
    pub(super) fn follow(&mut self, recipe: &Recipe, wanted: impl Fn(&str) -> bool) {
        of_any!(self, frames => frames.follow(recipe, wanted));
    }

    /// The next rows, of about `most` cells, as the recipe that is followed says, and their labels; `None` at the end.
    pub(super) fn read(&mut self, most: usize, eager: bool) -> Result<Option<(Frame, Option<Labels>)>> {
        match self {
            Self::Csv(frames) => frames.read(most, eager),
            #[cfg(feature = "arrow")]
            Self::Arrow(frames) => frames.read(most),
        }
    }
}

impl Open {
    /// All rows, likewise.
    fn read_all(&mut self) -> Result<(Frame, Option<Labels>)> {
        match self {
            Self::Csv(frames) => {
                let all = frames.read(usize::MAX, false)?.expect("no rows are an error the first time");
                // All that can follow is a mistake.
                frames.read(usize::MAX, false)?;
                Ok(all)
            }
            #[cfg(feature = "arrow")]
            Self::Arrow(frames) => frames.read_all(),
        }
    }
}

impl Reader {
    /// Opens a table of any format; `None` for what is none.
    pub(super) fn open_table(&self, source: Source, format: Format) -> Result<Option<Open>> {
        Ok(match format {
            Format::Csv { delimiter } => Some(Open::Csv(Box::new(self.open_frames(source, delimiter)?))),
            #[cfg(feature = "arrow")]
            Format::Parquet | Format::Arrow => {
                let frames = self.open_arrow(&source, format)?;
                Some(Open::Arrow(Box::new(frames)))
            }
            #[cfg(not(feature = "arrow"))]
            Format::Parquet | Format::Arrow => {
                return Err(source.error("this featgen was built without Parquet and Arrow"));
            }
            Format::Store | Format::Npy | Format::Mtx | Format::Bed | Format::Svmlight { .. } => None,
        })
    }

    /// Reads a table of a format that says what its columns are.
    #[cfg(feature = "arrow")]
    pub(super) fn read_arrow(&self, source: Source, format: Format) -> Result<Table> {
        self.table_of(self.open_arrow(&source, format)?)
    }

    #[cfg(not(feature = "arrow"))]
    pub(super) fn read_arrow(&self, source: Source, format: Format) -> Result<Table> {
        self.open_table(source, format).map(|_| unreachable!("refused when it is opened"))
    }

    #[cfg(feature = "arrow")]
    fn open_arrow(&self, source: &Source, format: Format) -> Result<super::arrow::Frames> {
        super::arrow::Frames::open(source, format == Format::Parquet, self.label()?, &self.context)
    }

    /// Reads a table that is in memory, or comes from elsewhere, by batches; `name` is for messages.
    #[cfg(feature = "arrow")]
    pub fn read_batches(
        &self,
        batches: Box<dyn arrow_array::RecordBatchReader + Send>,
        name: &str,
    ) -> Result<Dataset> {
        let table =
            self.table_of(super::arrow::Frames::given(batches, name, self.label()?, &self.context)?)?;
        let Table { columns, labels, names, recipe, notes } = table;
        let (labels, names) = (labels.unwrap_or_default(), names.unwrap_or_default());
        Ok(Dataset { columns, labels, names, source: name.to_owned(), recipe, notes, genotypes: None })
    }

    #[cfg(feature = "arrow")]
    fn table_of(&self, mut frames: super::arrow::Frames) -> Result<Table> {
        if let Some(recipe) = &self.recipe {
            return by_recipe(Open::Arrow(Box::new(frames)), recipe);
        }
        let options = frames.options(&self.table)?;
        let (frame, labels, gaps) = frames.find_out(&options)?;
        let read = ReadFrame { frame, labels, gaps, outcome: frames.outcome() };
        read.into_table(&Self { table: options, ..self.clone() }, frames.file(), |names| {
            frames.input_names(names)
        })
    }

    /// Reads a table, whose columns are found out where there is no recipe.
    pub(super) fn read_csv(&self, mut source: Source, delimiter: u8) -> Result<Table> {
        let mut texts = Vec::new();
        loop {
            let again = source.again();
            let mut frames = self.open_frames(source, delimiter)?;
            if let Some(recipe) = &self.recipe {
                return by_recipe(Open::Csv(Box::new(frames)), recipe);
            }
            match frames.find_out(&self.table, &texts)? {
                Found::Table { frame, labels, gaps } => {
                    let read = ReadFrame { frame: *frame, labels, gaps, outcome: frames.outcome() };
                    return read.into_table(self, frames.file(), |names| frames.input_names(names));
                }
                Found::Again(columns) => {
                    source = reopened(again, &columns, &frames)?;
                    texts.extend(columns);
                }
            }
        }
    }

    /// What is known of the columns of a table once all rows were seen; none are kept.
    pub(super) fn survey_csv(&self, mut source: Source, delimiter: u8) -> Result<Schema> {
        let mut texts = Vec::new();
        loop {
            let again = source.again();
            let mut frames = self.open_frames(source, delimiter)?;
            match frames.survey(&self.table, &texts, self.chunk)? {
                Surveyor::Done(survey) => return Schema::new(&survey, &self.table, &frames.outcome()),
                Surveyor::Again(columns) => {
                    source = reopened(again, &columns, &frames)?;
                    texts.extend(columns);
                }
            }
        }
    }

    /// What a column of a table holds, row by row, whatever else is in it.
    pub fn column(&self, path: impl AsRef<Path>, name: &str) -> Result<Labels> {
        let label_column = Some(name.to_owned());
        let reader = Self { label_column, event_column: None, labels_file: None, ..self.clone() };
        let mut source = Source::open(path.as_ref())?;
        let format = source.format(true)?;
        let no_table = source.error(format!("only a table has columns, and this is {}", format.name()));
        let mut table = reader.open_table(source, format)?.ok_or(no_table)?;
        table.follow(&Recipe::plain([]), |_| false);
        Ok(table.read_all()?.1.unwrap_or_default())
    }

    /// Whether the columns of data must be looked at before they are read in parts: those of a table that may hold numbers of rows,
    /// or of which something is said.
    pub(crate) fn must_learn(&self, path: &Path) -> Result<bool> {
        if !self.can_learn(path) {
            return Ok(false);
        }
        let mut source = Source::open(path)?;
        let format = source.format(self.label_column.is_some())?;
        let Some(frames) = self.open_table(source, format)? else { return Ok(false) };
        if !matches!(format, Format::Csv { .. }) {
            return Ok(true);
        }
        let outcome = frames.outcome();
        let mut names = frames.names().iter().enumerate().filter(|(k, _)| !outcome.contains(k));
        Ok(self.table != Options::default() || names.any(|(_, name)| is_called_id(name)))
    }

    /// Whether what the columns of data are can be found out: they are a table, in a file.
    pub(crate) fn can_learn(&self, path: &Path) -> bool {
        if self.recipe.is_some()
            || path == Path::new("-")
            || !path.metadata().is_ok_and(|data| data.is_file())
        {
            return false;
        }
        let format = Source::open(path).and_then(|mut source| source.format(self.label_column.is_some()));
        matches!(format, Ok(Format::Csv { .. } | Format::Parquet | Format::Arrow))
    }

    /// Whether bytes would be read as a table.
    pub(crate) fn takes_for_table(&self, source: &mut Source) -> bool {
        let format = source.format(self.label_column.is_some());
        matches!(format, Ok(Format::Csv { .. } | Format::Parquet | Format::Arrow))
    }

    /// Whether a file holds a table with columns of its own.
    pub fn is_table(path: impl AsRef<Path>) -> bool {
        // What can be read only once is left to who asks.
        if !path.as_ref().metadata().is_ok_and(|data| data.is_file()) {
            return false;
        }
        let Ok(mut source) = Source::open(path.as_ref()) else { return false };
        let readable = |line: Vec<u8>| {
            let text = String::from_utf8(line).ok();
            text.is_some_and(|text| {
                !text.starts_with(['{', '[']) && !text.contains(|c: char| c.is_control() && c != '\t')
            })
        };
        match source.format(false) {
            Ok(Format::Parquet | Format::Arrow) => true,
            Ok(Format::Csv { .. }) => source.first_line().is_ok_and(readable),
            _ => false,
        }
    }

    /// How the columns of a table become inputs, and what may surprise about it. All rows are read, and none are kept.
    pub(crate) fn learn(&self, path: &Path) -> Result<(Recipe, Vec<Reason>)> {
        learned(&self.schema(path)?, &path.display().to_string())
    }

    /// What the columns of a table are. All rows are read, and none are kept.
    pub fn schema(&self, path: impl AsRef<Path>) -> Result<Schema> {
        let mut source = Source::open(path.as_ref())?;
        match source.format(self.label_column.is_some())? {
            Format::Csv { delimiter } => self.survey_csv(source, delimiter),
            #[cfg(feature = "arrow")]
            format @ (Format::Parquet | Format::Arrow) => {
                let mut frames = self.open_arrow(&source, format)?;
                let options = frames.options(&self.table)?;
                Schema::new(&frames.survey(&options, self.chunk)?, &options, &frames.outcome())
            }
            other => Err(source
                .error(format!("only the columns of tables can be shown, and this is {}", other.name()))),
        }
    }

    pub(super) fn open_frames(&self, source: Source, delimiter: u8) -> Result<Frames> {
        Frames::open(source, delimiter, self.label()?)
    }
}

/// A source from its beginning, as these columns turned out to be text after some rows.
fn reopened(again: Option<Result<Source>>, columns: &[usize], frames: &Frames) -> Result<Source> {
    again.unwrap_or_else(|| {
        let name = columns.first().map_or("", |&k| frames.names()[k].as_str());
        let reason =
            Reason::from(format!("the column {name} holds numbers and text, and cannot be read twice: "))
                .parameter("category");
        Err(Error::input(
            frames.file(),
            reason.words(" takes it as text, ").parameter("ignore").words(" leaves it out"),
        ))
    })
}

/// A table in memory.
pub(super) struct ReadFrame {
    pub(super) frame: Frame,
    pub(super) labels: Option<Labels>,
    /// Whether any number is missing.
    pub(super) gaps: bool,
    /// Columns that are no inputs.
    pub(super) outcome: Vec<usize>,
}

impl ReadFrame {
    /// The inputs that are made of it, called as `named` says.
    pub(super) fn into_table(
        mut self,
        reader: &Reader,
        file: &str,
        named: impl FnOnce(Vec<String>) -> Names,
    ) -> Result<Table> {
        let options = &reader.table;
        let (recipe, notes) = match self.is_plain(options) {
            true => {
                let inputs = self.frame.names.iter().enumerate().filter(|(k, _)| !self.outcome.contains(k));
                (Recipe::plain(inputs.map(|(_, name)| name.clone())), Vec::new())
            }
            false => {
                let schema = Schema::new(&surveyed(&self.frame, options), options, &self.outcome)?;
                let schema = match &reader.known_rows {
                    Some(known) => {
                        let known = self.frame.rows_where(|row| known.get(row).is_some_and(|known| *known));
                        schema.relearned(&surveyed(&known, options), options)
                    }
                    None => schema,
                };
                learned(&schema, file)?
            }
        };
        let encoded = recipe.encode(&mut self.frame, file)?;
        let names = Some(named(recipe.names()).of_columns(&recipe));
        Ok(Table {
            columns: encoded.columns.boxed(),
            labels: self.labels,
            names,
            recipe: Some(recipe),
            notes,
        })
    }

    /// Whether it is nothing but numbers, all of them there, and all of them inputs.
    fn is_plain(&self, options: &Options) -> bool {
        let mut inputs = (0..self.frame.names.len()).filter(|k| !self.outcome.contains(k));
        let plain = |k: usize| {
            let number = matches!(self.frame.columns[k], Series::Numbers(_, crate::table::Unit::Plain));
            number && !is_called_id(&self.frame.names[k])
        };
        !self.gaps && *options == Options::default() && inputs.all(plain)
    }
}

/// What is known of the columns of a table.
fn surveyed(frame: &Frame, options: &Options) -> Survey {
    let mut survey = Survey::new(options.impute == crate::table::Impute::Median);
    survey.add(frame);
    survey
}

/// The recipe for tables of a kind, and what is to be said about it.
pub(super) fn learned(schema: &Schema, file: &str) -> Result<(Recipe, Vec<Reason>)> {
    let recipe = Recipe::new(schema).map_err(|error| Error::input(file, error.to_string()))?;
    let left_out = schema.left_out();
    if recipe.inputs() > 0 {
        return Ok((recipe, left_out.into_iter().collect()));
    }
    let reason = Reason::from("no column is left to learn from");
    Err(Error::input(file, left_out.into_iter().fold(reason, |reason, why| reason.words(": ").and(why))))
}

/// Reads the columns of a recipe, as many of them as there are.
fn by_recipe(mut frames: Open, recipe: &Recipe) -> Result<Table> {
    let recipe = present(recipe, frames.names());
    frames.follow(&recipe, |_| true);
    let (mut frame, labels) = frames.read_all()?;
    let encoded = recipe.encode(&mut frame, frames.file())?;
    let strangers = Strangers::default();
    strangers.add(encoded.unseen);
    let names = Some(frames.input_names(&recipe));
    Ok(Table {
        columns: encoded.columns.boxed(),
        labels,
        names,
        recipe: Some(recipe),
        notes: strangers.notes(),
    })
}

/// What a recipe says of the columns that are there.
pub(super) fn present(recipe: &Recipe, names: &[String]) -> Recipe {
    let names: std::collections::HashSet<&str> = names.iter().map(String::as_str).collect();
    recipe.only(|column, _| names.contains(column.column.as_str()))
}
