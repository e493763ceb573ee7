//! From a table to inputs, as a recipe says: dense where every column makes one input, else sparse by columns.

use std::collections::HashMap;

use super::frame::{Frame, Series};
use super::recipe::{Category, Column, How, Number, Recipe};
use super::texts::{MISSING, Texts};
use crate::data::read::quoted;
use crate::data::{Columns, Dense, Layout, Sparse, Values, is_bytes};
use crate::error::{Error, Result};

/// Inputs that were made of a table.
pub struct Encoded {
    /// Their values.
    pub columns: Inputs,
    /// Levels that the recipe does not know.
    pub unseen: Vec<Unseen>,
}

/// The storage of inputs.
pub enum Inputs {
    /// By rows.
    Dense(Dense<f64, Vec<f64>>),
    /// By columns.
    Sparse(Sparse),
}

impl Inputs {
    /// As any storage.
    pub fn boxed(self) -> Box<dyn Columns> {
        match self {
            Self::Dense(dense) => Box::new(dense),
            Self::Sparse(sparse) => sparse.lighter(),
        }
    }
}

/// A level that did not occur in the training data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unseen {
    /// The column.
    pub column: String,
    /// The first such level.
    pub level: String,
    /// Rows that have it or others.
    pub rows: u64,
}

impl Recipe {
    /// The inputs of a table. Columns that it lacks, or that were not read, make none.
    pub fn encode(&self, frame: &mut Frame, file: &str) -> Result<Encoded> {
        let places: HashMap<&str, usize> =
            frame.names.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
        let places: Vec<Option<usize>> =
            self.columns().iter().map(|c| places.get(c.column.as_str()).copied()).collect();
        if let Some(numbers) = self.all_numbers(frame, &places) {
            let values = self.dense(frame, &numbers, file)?;
            let matrix = Dense::new(values, frame.rows, self.columns().len(), Layout::RowMajor)?;
            return Ok(Encoded { columns: Inputs::Dense(matrix), unseen: Vec::new() });
        }
        let mut encoder = Encoder::new(frame.rows, self.inputs(), file);
        for ((column, range), place) in self.ranges().zip(places) {
            let Some(place) = place else { continue };
            let first = range.start;
            match (&column.how, std::mem::replace(&mut frame.columns[place], Series::Unread)) {
                (_, Series::Unread) => {}
                (How::Number(number), series) => encoder.number(column, number, first, &series, frame)?,
                (How::Category(category), Series::Texts(texts)) => {
                    encoder.category(column, category, first, &texts)
                }
                (How::Category(_), Series::Numbers(..)) => {
                    let reason = format!(
                        "column {} holds numbers, and not categories",
                        quoted(column.column.as_bytes())
                    );
                    return Err(Error::input(file, reason));
                }
            }
        }
        Ok(encoder.end())
    }

    /// Where the numbers of all columns are in a row, if each is there and makes one input.
    fn all_numbers(&self, frame: &Frame, places: &[Option<usize>]) -> Option<Vec<Source>> {
        self.is_one_each().then_some(())?;
        let source = |place: &Option<usize>| match &frame.columns[(*place)?] {
            Series::Numbers(at, _) => Some(Source::Row(*at)),
            Series::Texts(_) => Some(Source::Column((*place)?)),
            Series::Unread => None,
        };
        places.iter().map(source).collect()
    }

    /// All numbers, row after row, with what is put where one is missing.
    fn dense(&self, frame: &mut Frame, sources: &[Source], file: &str) -> Result<Vec<f64>> {
        let rows: Option<Vec<usize>> = sources
            .iter()
            .map(|source| if let Source::Row(at) = source { Some(*at) } else { None })
            .collect();
        let mut values = match rows {
            Some(places) => frame.take_numbers(&places),
            None => self.gathered(frame, sources, file)?,
        };
        let fills: Vec<Option<f64>> = self.columns().iter().map(|column| fill(&column.how)).collect();
        for (row, values) in values.chunks_exact_mut(fills.len().max(1)).enumerate() {
            for (k, (x, fill)) in values.iter_mut().zip(&fills).enumerate().filter(|(_, (x, _))| x.is_nan()) {
                *x = fill.ok_or_else(|| missing(&self.columns()[k], row, file))?;
            }
        }
        Ok(values)
    }

    /// The numbers of columns some of which are text.
    fn gathered(&self, frame: &Frame, sources: &[Source], file: &str) -> Result<Vec<f64>> {
        let width = sources.len();
        let mut values = vec![0.0; frame.rows * width];
        for (k, (source, column)) in sources.iter().zip(self.columns()).enumerate() {
            let to = values.iter_mut().skip(k).step_by(width);
            match (source, &column.how) {
                (Source::Row(at), _) => to.zip(frame.at(*at)).for_each(|(to, x)| *to = x),
                (Source::Column(place), How::Number(number)) => {
                    let Series::Texts(texts) = &frame.columns[*place] else { continue };
                    let levels = numbers_of(column, number, texts, file)?;
                    to.zip(texts.codes()).for_each(|(to, &code)| *to = number_at(&levels, code));
                }
                (Source::Column(_), How::Category(_)) => {}
            }
        }
        Ok(values)
    }
}

/// Where the numbers of a column are.
enum Source {
    Row(usize),
    Column(usize),
}

fn fill(how: &How) -> Option<f64> {
    if let How::Number(number) = how { number.missing } else { None }
}

fn missing(column: &Column, row: usize, file: &str) -> Error {
    let reason = "the value is missing, and no other is known, for none was missing in the training data";
    Error::input(file, format!("row {}, column {}: {reason}", row + 1, quoted(column.column.as_bytes())))
}

/// The numbers that the levels of a text are.
fn numbers_of(column: &Column, number: &Number, texts: &Texts, file: &str) -> Result<Vec<f64>> {
    let wrong = |text: &str| {
        let (name, cell) = (quoted(column.column.as_bytes()), quoted(text.as_bytes()));
        Error::input(file, format!("column {name}: {cell} {}", number.written.complaint()))
    };
    let levels = texts.levels().iter();
    levels.map(|(text, _)| number.written.number(text).ok_or_else(|| wrong(text))).collect()
}

fn number_at(levels: &[f64], code: u32) -> f64 {
    if code == MISSING { f64::NAN } else { levels[code as usize] }
}

/// Sparse columns in the making, in the order of their ids.
struct Encoder<'a> {
    rows: usize,
    dimension: usize,
    file: &'a str,
    ids: Vec<u64>,
    pointers: Vec<u64>,
    indices: Vec<u32>,
    values: Vec<f64>,
    unseen: Vec<Unseen>,
}

impl<'a> Encoder<'a> {
    fn new(rows: usize, dimension: usize, file: &'a str) -> Self {
        let (ids, indices, values, unseen) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { rows, dimension, file, ids, pointers: vec![0], indices, values, unseen }
    }

    /// Ends the column of an id; one without values is not held.
    fn column(&mut self, id: u64) {
        if self.pointers.last() != Some(&(self.indices.len() as u64)) {
            self.ids.push(id);
            self.pointers.push(self.indices.len() as u64);
        }
    }

    fn number(
        &mut self,
        column: &Column,
        number: &Number,
        first: u64,
        series: &Series,
        frame: &Frame,
    ) -> Result<()> {
        let numbers: Vec<f64> = match series {
            Series::Numbers(at, _) => frame.at(*at).collect(),
            Series::Texts(texts) => {
                let levels = numbers_of(column, number, texts, self.file)?;
                texts.codes().iter().map(|&code| number_at(&levels, code)).collect()
            }
            Series::Unread => return Ok(()),
        };
        for (row, &x) in numbers.iter().enumerate() {
            let x = match number.missing {
                _ if !x.is_nan() => x,
                Some(fill) => fill,
                None => return Err(missing(column, row, self.file)),
            };
            if x != 0.0 {
                self.indices.push(row as u32);
                self.values.push(x);
            }
        }
        self.column(first);
        if number.indicator {
            let missing = (0u32..).zip(&numbers).filter(|(_, x)| x.is_nan()).map(|(row, _)| row);
            self.indices.extend(missing);
            self.values.resize(self.indices.len(), 1.0);
            self.column(first + 1);
        }
        Ok(())
    }

    fn category(&mut self, column: &Column, category: &Category, first: u64, texts: &Texts) {
        const NOWHERE: usize = usize::MAX;
        let other = category.other_place().unwrap_or(NOWHERE);
        let (mut unknown, mut strangers) = (None, 0);
        let mut of_level = Vec::with_capacity(texts.levels().len());
        for (text, count) in texts.levels().iter() {
            of_level.push(category.place(text).unwrap_or(other));
            if category.place(text).is_none() && count > 0 {
                unknown.get_or_insert(text);
                strangers += u64::from(count);
            }
        }
        let of_missing = category.missing_place().unwrap_or(other);
        let place = |code: u32| if code == MISSING { of_missing } else { of_level[code as usize] };
        // Where the rows of each input begin; then, as they fill, where they go on.
        let inputs = column.inputs();
        let mut next = vec![0; inputs + 1];
        let placed = || texts.codes().iter().map(|&code| place(code));
        placed().filter(|&at| at != NOWHERE).for_each(|at| next[at + 1] += 1);
        for at in 0..inputs {
            next[at + 1] += next[at];
        }
        let (start, ends) = (self.indices.len(), next[1..].to_vec());
        self.indices.resize(start + next[inputs], 0);
        for (row, at) in (0u32..).zip(placed()).filter(|&(_, at)| at != NOWHERE) {
            self.indices[start + next[at]] = row;
            next[at] += 1;
        }
        self.values.resize(self.indices.len(), 1.0);
        for (at, end) in (0u64..).zip(ends) {
            let end = (start + end) as u64;
            if self.pointers.last() != Some(&end) {
                self.ids.push(first + at);
                self.pointers.push(end);
            }
        }
        if let Some(level) = unknown {
            let (column, level) = (column.column.clone(), level.to_owned());
            self.unseen.push(Unseen { column, level, rows: strangers });
        }
    }

    /// The columns, with values in the narrowest form that holds them.
    fn end(self) -> Encoded {
        let Self { rows, dimension, ids, pointers, indices, values, unseen, .. } = self;
        let narrow = |x: &f64| f64::from(*x as f32) == *x;
        let values = if values.iter().all(|&x| x == 1.0) {
            Values::Ones
        } else if is_bytes(&values) {
            Values::U8(values.iter().map(|&x| x as u8).collect())
        } else if values.iter().all(narrow) {
            Values::F32(values.iter().map(|&x| x as f32).collect())
        } else {
            Values::F64(values)
        };
        let columns = Sparse::trusted(rows, dimension as u64, ids, pointers, indices, values);
        Encoded { columns: Inputs::Sparse(columns), unseen }
    }
}
