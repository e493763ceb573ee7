//! What the columns of a table are, which of them become inputs, and why others do not.

use super::cells::Guess;
use super::listed::listed;
use super::recipe::{Category, How, Number, Written};
use super::survey::{Survey, Surveyed, Tally};
use super::texts::Levels;
use super::{Impute, Options, Unit};
use crate::data::read::quoted;
use crate::error::{Error, Reason, Result};

/// A missing value has an input of its own if it is missing in at least this part of the rows, and in so many of them: the weight
/// of one that is rarer would be decided by next to nothing.
const COMMON_PART: f64 = 0.01;
const COMMON_ROWS: u64 = 5;

/// A level in fewer rows goes to the others: what is seen once says nothing that could be seen again.
const RAREST: u32 = 2;

/// Text of more levels than this, different in more than half of the rows, is not taken for categories.
const FEW_LEVELS: usize = 20;

/// What a column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Numbers.
    Number,
    /// Yes and no.
    Boolean,
    /// One of a few words.
    Category,
    /// Dates, perhaps with times.
    Date,
    /// Words that hardly ever come again.
    Text,
    /// What tells rows apart.
    Id,
    /// No value in any row.
    Empty,
    /// What is to be predicted.
    Outcome,
    /// Not looked at.
    Unknown,
}

impl Kind {
    /// What users call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Category => "category",
            Self::Date => "date",
            Self::Text => "text",
            Self::Id => "id",
            Self::Empty => "empty",
            Self::Outcome => "outcome",
            Self::Unknown => "",
        }
    }
}

/// What becomes of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Fate {
    /// Inputs.
    Taken(How),
    /// None, as somebody asked for that.
    Ignored,
    /// None, for this reason; it may say how it can be taken all the same.
    LeftOut(Reason),
    /// Labels.
    Outcome,
}

impl Fate {
    /// How many inputs the column makes.
    pub fn inputs(&self) -> usize {
        match self {
            Self::Taken(how) => how.inputs(),
            Self::Ignored | Self::LeftOut(_) | Self::Outcome => 0,
        }
    }
}

/// What is known of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Rows without a value.
    pub missing: u64,
    /// How many different values there are, where they were counted.
    pub levels: Option<u64>,
    /// The least and the largest, of numbers.
    pub range: Option<[f64; 2]>,
    /// What becomes of it.
    pub fate: Fate,
}

/// What is known of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// The number of rows.
    pub rows: u64,
    /// All columns, in order.
    pub columns: Vec<Described>,
}

/// What a user says of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    Ignore,
    Id,
    Number,
    Category,
}

/// What users say of each column of that name.
pub(crate) fn asked(options: &Options, names: &[String]) -> Result<Vec<Option<Ask>>> {
    let lists = [
        ("ignore", &options.ignore, Ask::Ignore),
        ("id", &options.id, Ask::Id),
        ("number", &options.number, Ask::Number),
        ("category", &options.category, Ask::Category),
    ];
    let mut asked = vec![None; names.len()];
    for (parameter, list, ask) in lists {
        let found = listed(list, names, names.len() as u64);
        let unknown = |item: &str| {
            Error::parameter(parameter, format!("the table has no column {}", quoted(item.as_bytes())))
        };
        for place in found.map_err(unknown)?.into_iter().flatten() {
            let place = place as usize;
            if asked[place].is_some_and(|other| other != ask) {
                let reason = format!("{} is in two such lists", quoted(names[place].as_bytes()));
                return Err(Error::parameter(parameter, reason));
            }
            asked[place] = Some(ask);
        }
    }
    Ok(asked)
}

/// Whether a column has a name that numbers of rows have: none, `id`, `index`, `Unnamed: 0`, `PassengerId`, `sample_id` ...
pub(crate) fn is_called_id(name: &str) -> bool {
    let lower = name.trim().to_lowercase();
    let whole = [
        "", "id", "index", "idx", "key", "row", "rowid", "row_id", "rowname", "rownames", "no", "nr", "uuid",
    ];
    let ends = ["_id", " id", "-id", ".id", "_index", "_idx"];
    let camel = name.len() > 2 && (name.ends_with("Id") || name.ends_with("ID"));
    whole.contains(&lower.as_str())
        || lower.starts_with("unnamed")
        || camel
        || ends.iter().any(|end| lower.ends_with(end))
}

impl Schema {
    /// Of a table that was seen, as users want its columns; those of `outcome` are no inputs.
    pub fn new(survey: &Survey, options: &Options, outcome: &[usize]) -> Result<Self> {
        let asked = asked(options, &survey.names)?;
        let one = |k: usize| {
            let judge = Judge { name: &survey.names[k], rows: survey.rows, ask: asked[k], options };
            match &survey.columns[k] {
                _ if outcome.contains(&k) => Ok(judge.described(Kind::Outcome, 0, Fate::Outcome)),
                Surveyed::Unread => Ok(judge.described(Kind::Unknown, 0, Fate::Ignored)),
                Surveyed::Numbers(unit, tally) => judge.numbers(*unit, tally),
                Surveyed::Texts(levels) => judge.texts(levels),
            }
        };
        let mut columns = (0..survey.names.len()).map(one).collect::<Result<Vec<_>>>()?;
        fill(&mut columns, survey, options);
        Ok(Self { rows: survey.rows, columns })
    }

    /// The same, with all that is learned of values (the levels of categories, what is put where numbers are missing, and whether
    /// that has an input) taken from these rows of the table alone. What the columns are, and which are taken, stays.
    pub fn relearned(mut self, some: &Survey, options: &Options) -> Self {
        for (column, surveyed) in self.columns.iter_mut().zip(&some.columns) {
            let judge = Judge { name: &column.name, rows: some.rows, ask: None, options };
            match (&mut column.fate, surveyed) {
                (Fate::Taken(How::Category(category)), Surveyed::Texts(levels)) => {
                    column.missing = some.rows - levels.rows();
                    *category = judge.category(levels, column.missing);
                }
                (Fate::Taken(How::Number(number)), Surveyed::Numbers(_, tally)) => {
                    (column.missing, *number) = (some.rows - tally.count, Number::written(number.written));
                }
                (Fate::Taken(How::Number(number)), Surveyed::Texts(levels)) => {
                    (column.missing, *number) = (some.rows - levels.rows(), Number::written(number.written));
                }
                _ => {}
            }
        }
        fill_all(&mut self.columns, some, options);
        Self { rows: some.rows, ..self }
    }

    /// Columns that were left out by themselves, in words.
    pub fn left_out(&self) -> Option<Reason> {
        const SHOWN: usize = 4;
        let out: Vec<(&str, &Reason)> = self
            .columns
            .iter()
            .filter_map(|column| match &column.fate {
                Fate::LeftOut(why) => Some((column.name.as_str(), why)),
                _ => None,
            })
            .collect();
        let begin = match out.len() {
            0 => return None,
            1 => "1 column is left out: ".to_owned(),
            n => format!("{n} columns are left out: "),
        };
        let mut reason = Reason::from(begin);
        for (k, (name, why)) in out.iter().take(SHOWN).enumerate() {
            let comma = if k == 0 { "" } else { ", " };
            reason =
                reason.words(format!("{comma}{} (", quoted(name.as_bytes()))).and((*why).clone()).words(")");
        }
        Some(if out.len() > SHOWN { reason.words(", ...") } else { reason })
    }
}

/// Says what numbers are put where none is. A table that has nothing but numbers, all of them there, needs none.
fn fill(columns: &mut [Described], survey: &Survey, options: &Options) {
    let gaps = |column: &Described| match &column.fate {
        Fate::Taken(How::Number(number)) => column.missing > 0 || number.written != Written::Point,
        Fate::Taken(How::Category(_)) => true,
        _ => false,
    };
    if columns.iter().any(gaps) {
        fill_all(columns, survey, options);
    }
}

/// The same, whether or not any is missing.
fn fill_all(columns: &mut [Described], survey: &Survey, options: &Options) {
    for (column, surveyed) in columns.iter_mut().zip(&survey.columns) {
        let Fate::Taken(How::Number(number)) = &mut column.fate else { continue };
        let of_texts;
        let tally = match surveyed {
            Surveyed::Numbers(_, tally) => tally,
            Surveyed::Texts(levels) => {
                of_texts = tally_of(levels, number.written, options.impute == Impute::Median);
                &of_texts
            }
            Surveyed::Unread => continue,
        };
        let middle = if options.impute == Impute::Median { tally.median() } else { None };
        number.missing = Some(middle.unwrap_or_else(|| tally.mean()));
        let common = (COMMON_PART * survey.rows as f64).max(COMMON_ROWS as f64);
        number.indicator = column.missing as f64 >= common;
    }
}

/// What the numbers that texts are add up to, those of a level together.
fn tally_of(levels: &Levels, written: Written, keep: bool) -> Tally {
    let mut tally = Tally::keeping(keep);
    for (text, count) in levels.iter() {
        tally.add_times(written.number(text).unwrap_or(f64::NAN), count);
    }
    tally
}

/// Judges a column.
struct Judge<'a> {
    name: &'a str,
    rows: u64,
    ask: Option<Ask>,
    options: &'a Options,
}

/// Why a column is left out, and the parameter with which it is taken.
fn unless(why: &'static str, parameter: &'static str) -> Fate {
    Fate::LeftOut(Reason::from(why).words("; ").parameter(parameter).words(" takes it in"))
}

impl Judge<'_> {
    fn described(&self, kind: Kind, missing: u64, fate: Fate) -> Described {
        Described { name: self.name.to_owned(), kind, missing, levels: None, range: None, fate }
    }

    /// What users asked for that needs no look at the values.
    fn asked(&self) -> Option<(Kind, Fate)> {
        match self.ask? {
            Ask::Ignore => Some((Kind::Unknown, Fate::Ignored)),
            Ask::Id => Some((Kind::Id, Fate::Ignored)),
            Ask::Number | Ask::Category => None,
        }
    }

    fn numbers(&self, unit: Unit, tally: &Tally) -> Result<Described> {
        let missing = self.rows - tally.count;
        let written = match unit {
            Unit::Plain => Written::Point,
            Unit::Truth => Written::Truth,
            Unit::Days => Written::Iso,
        };
        let (kind, fate) = match self.asked() {
            Some(asked) => asked,
            None if tally.count == 0 => (Kind::Empty, Fate::LeftOut("no values".into())),
            None => self.written(written, tally),
        };
        Ok(Described { range: tally.range, ..self.described(kind, missing, fate) })
    }

    /// What becomes of numbers, dates and truths.
    fn written(&self, written: Written, tally: &Tally) -> (Kind, Fate) {
        let taken = Fate::Taken(How::Number(Number::written(written)));
        let wanted = self.ask == Some(Ask::Number);
        match written {
            Written::Iso | Written::DayFirst | Written::MonthFirst if wanted => (Kind::Date, taken),
            Written::Iso | Written::DayFirst | Written::MonthFirst => (Kind::Date, unless("dates", "number")),
            Written::Truth => (Kind::Boolean, taken),
            _ if !wanted && self.rows > 1 && is_called_id(self.name) && tally.all_different_integers() => {
                (Kind::Id, unless("the number of a row, as it seems", "number"))
            }
            _ => (Kind::Number, taken),
        }
    }

    fn texts(&self, levels: &Levels) -> Result<Described> {
        let missing = self.rows - levels.rows();
        let (kind, fate) = match self.asked() {
            Some(asked) => asked,
            None if levels.is_empty() => (Kind::Empty, Fate::LeftOut("no values".into())),
            None if self.ask == Some(Ask::Category) => {
                (Kind::Category, Fate::Taken(How::Category(self.category(levels, missing))))
            }
            None => self.guessed(levels, missing)?,
        };
        let range = match (&fate, kind) {
            (Fate::Taken(How::Number(number)), _) => tally_of(levels, number.written, false).range,
            _ => None,
        };
        Ok(Described { levels: Some(levels.len() as u64), range, ..self.described(kind, missing, fate) })
    }

    fn guessed(&self, levels: &Levels, missing: u64) -> Result<(Kind, Fate)> {
        let wanted = self.ask == Some(Ask::Number);
        let unclear = |what: &str| {
            let reason = format!("{}: {what}", quoted(self.name.as_bytes()));
            Err(Error::parameter("number", reason))
        };
        let nothing = Tally::default();
        Ok(match Guess::of(levels.iter().map(|(text, _)| text)) {
            Guess::Numbers(separators) => self.written(separators.into(), &nothing),
            Guess::Truths => self.written(Written::Truth, &nothing),
            Guess::Dates(dates) => self.written(dates.into(), &nothing),
            Guess::UnclearNumbers if wanted => {
                return unclear("1,234 may be 1234 or 1.234: write it without the comma");
            }
            Guess::UnclearDates if wanted => {
                return unclear("day and month cannot be told apart: write 2026-11-17");
            }
            Guess::Words if wanted => {
                let words = levels.iter().map(|(text, _)| text);
                let odd =
                    words.into_iter().find(|text| Written::Point.number(text).is_none()).unwrap_or_default();
                return unclear(&format!("{} is not a number", quoted(odd.as_bytes())));
            }
            Guess::UnclearNumbers => {
                (Kind::Text, unless("numbers whose comma may be before thousands or decimals", "category"))
            }
            Guess::UnclearDates => {
                (Kind::Date, unless("dates whose day and month cannot be told apart", "category"))
            }
            Guess::Words => self.words(levels, missing),
        })
    }

    fn words(&self, levels: &Levels, missing: u64) -> (Kind, Fate) {
        let (distinct, rows) = (levels.len() as u64, levels.rows());
        let kind = if is_called_id(self.name) { Kind::Id } else { Kind::Text };
        if distinct == rows && rows > 1 {
            return (kind, unless("text, different in every row", "category"));
        }
        if levels.len() > FEW_LEVELS && 2 * distinct > rows {
            return (kind, unless("text, different in most rows", "category"));
        }
        (Kind::Category, Fate::Taken(How::Category(self.category(levels, missing))))
    }

    /// The most frequent levels, in the order of the alphabet.
    fn category(&self, levels: &Levels, missing: u64) -> Category {
        let mut kept: Vec<(&str, u32)> = levels.iter().filter(|&(_, count)| count >= RAREST).collect();
        kept.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        kept.truncate(self.options.most_levels);
        let other = kept.len() < levels.len();
        let mut levels: Vec<String> = kept.into_iter().map(|(text, _)| text.to_owned()).collect();
        levels.sort_unstable();
        Category { levels, other, missing: missing > 0 }
    }
}
