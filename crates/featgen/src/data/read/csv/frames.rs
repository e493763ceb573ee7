//! Tables as they come: columns are found out, or are read as a recipe says.

use std::collections::HashSet;

use csv::ByteRecord;

use super::lines::Records;
use crate::data::read::header::{Header, Label};
use crate::data::read::source::Source;
use crate::data::read::spellings::Spellings;
use crate::data::read::{number, quoted};
use crate::data::{Labels, Names};
use crate::error::{Error, Reason, Result, reserve};
use crate::table::cells::{Guess, is_missing};
use crate::table::{
    Ask, Frame, How, Impute, Options, Recipe, Series, Survey, Surveyed, Texts, Unit, Written, asked,
};

/// Of so many cells that are numbers, one may be something else by mistake.
const MISTAKEN: u64 = 9;

/// A table whose header was read.
pub(in crate::data::read) struct Frames {
    records: Records,
    record: ByteRecord,
    header: Header,
    labels: Spellings,
    /// How each column is read.
    plan: Vec<Take>,
    columns: Vec<Words>,
    numbers: Vec<f64>,
    rows: usize,
    /// Rows that were handed on before.
    before: u64,
    /// The line of the first row.
    first_line: u64,
    /// Whether a number is missing anywhere.
    gaps: bool,
    fault: Option<Error>,
}

/// How the cells of a column are read.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Take {
    /// Not at all.
    Skip,
    /// As numbers, as long as they are.
    Numbers,
    /// As text, of the column of that number, from some row on: before there were numbers, which are kept in their place.
    Turned(usize),
    /// As text, of the column of that number.
    Texts(usize),
    /// As numbers that are written so; whether one may be missing.
    Written(Written, bool),
}

impl Take {
    /// Whether its column has a place among the numbers.
    fn has_place(self) -> bool {
        !matches!(self, Self::Skip | Self::Texts(_))
    }
}

/// A column of text.
#[derive(Default)]
struct Words {
    texts: Texts,
    /// The line of the first cell that is no number.
    odd: u64,
    /// Whether numbers came before it turned out to be text.
    after_numbers: bool,
}

/// What became of a table whose columns are to be found out.
pub(in crate::data::read) enum Found {
    /// The table with its labels; and whether anything is missing in its numbers.
    Table { frame: Box<Frame>, labels: Option<Labels>, gaps: bool },
    /// These columns turned out to be text after they seemed to be numbers: it must be read again.
    Again(Vec<usize>),
}

/// The same of one that is only looked at.
pub(in crate::data::read) enum Surveyor {
    Done(Survey),
    Again(Vec<usize>),
}

impl Frames {
    /// Reads the header.
    pub(in crate::data::read) fn open(source: Source, delimiter: u8, label: Label<'_>) -> Result<Self> {
        let file = source.name().to_owned();
        let mut records = Records::new(source, delimiter)?;
        let mut record = ByteRecord::new();
        let first = records.next(&mut record)?.unwrap_or(1);
        let header = Header::new(file, first, &record, label)?;
        Ok(Self {
            records,
            record,
            header,
            labels: Spellings::default(),
            plan: Vec::new(),
            columns: Vec::new(),
            numbers: Vec::new(),
            rows: 0,
            before: 0,
            first_line: 0,
            gaps: false,
            fault: None,
        })
    }

    /// The file, for messages.
    pub(in crate::data::read) fn file(&self) -> &str {
        &self.header.file
    }

    /// What the columns are called.
    pub(in crate::data::read) fn names(&self) -> &[String] {
        &self.header.names
    }

    /// The columns that say what is to be predicted.
    pub(in crate::data::read) fn outcome(&self) -> Vec<usize> {
        self.header.outcome().collect()
    }

    /// Names of inputs made of this table.
    pub(in crate::data::read) fn input_names(&self, names: Vec<String>) -> Names {
        self.header.beside_label(names)
    }

    /// Reads all rows, and finds out what the columns hold. Those of `texts` are known to hold text.
    pub(in crate::data::read) fn find_out(&mut self, options: &Options, texts: &[usize]) -> Result<Found> {
        let asked = asked(options, &self.header.names)?;
        self.begin_finding(&asked, texts);
        while self.row(Some(&asked))? {}
        if self.rows == 0 {
            return Err(self.header.no_rows());
        }
        let width = self.width();
        let again = self.judge(&asked, |_, place| {
            self.numbers.iter().skip(place).step_by(width).filter(|x| !x.is_nan()).count() as u64
        })?;
        if !again.is_empty() {
            return Ok(Found::Again(again));
        }
        let labels = self.take_labels();
        let gaps = self.gaps;
        Ok(Found::Table { frame: Box::new(self.take_frame()), labels, gaps })
    }

    /// The same for who keeps no rows: what is known of the columns when all were seen, about so many numbers of them at a time.
    pub(in crate::data::read) fn survey(
        &mut self,
        options: &Options,
        texts: &[usize],
        size: usize,
    ) -> Result<Surveyor> {
        let asked = asked(options, &self.header.names)?;
        self.begin_finding(&asked, texts);
        let mut survey = Survey::new(options.impute == Impute::Median);
        loop {
            let more = self.row(Some(&asked))?;
            if self.rows > 0 && (!more || self.rows * self.plan.len() >= size) {
                self.before += self.rows as u64;
                survey.add(&self.numbers_so_far());
                let _ = self.take_labels();
            }
            if !more {
                break;
            }
        }
        if self.before == 0 {
            return Err(self.header.no_rows());
        }
        let again = self.judge(&asked, |k, _| match &survey.columns[k] {
            Surveyed::Numbers(_, tally) => tally.count,
            _ => 0,
        })?;
        if !again.is_empty() {
            return Ok(Surveyor::Again(again));
        }
        for (k, take) in self.plan.iter().enumerate() {
            if let Take::Texts(t) | Take::Turned(t) = take {
                survey.columns[k] = Surveyed::Texts(self.columns[*t].texts.levels().clone());
            }
        }
        Ok(Surveyor::Done(survey))
    }

    /// The numbers of the rows so far, and no rows left; of text, levels stay.
    fn numbers_so_far(&mut self) -> Frame {
        self.columns.iter_mut().for_each(|words| words.texts.forget_rows());
        let (plan, columns) = (self.plan.clone(), std::mem::take(&mut self.columns));
        self.columns.resize_with(columns.len(), Words::default);
        let mut frame = self.take_frame();
        let text = frame.columns.iter_mut().filter(|series| matches!(series, Series::Texts(_)));
        text.for_each(|series| *series = Series::Unread);
        (self.plan, self.columns) = (plan, columns);
        frame
    }

    fn begin_finding(&mut self, asked: &[Option<Ask>], texts: &[usize]) {
        let texts: HashSet<usize> = texts.iter().copied().collect();
        for k in 0..self.header.names.len() {
            let take = match asked[k] {
                _ if self.header.is_outcome(k) => Take::Skip,
                Some(Ask::Ignore | Ask::Id) => Take::Skip,
                Some(Ask::Category) => self.new_texts(Texts::default(), 0),
                _ if texts.contains(&k) => self.new_texts(Texts::default(), 0),
                _ => Take::Numbers,
            };
            self.plan.push(take);
        }
    }

    fn new_texts(&mut self, texts: Texts, odd: u64) -> Take {
        self.columns.push(Words { texts, odd, after_numbers: false });
        Take::Texts(self.columns.len() - 1)
    }

    /// From now on reads the columns of a recipe, and of them only those that are wanted.
    pub(in crate::data::read) fn follow(&mut self, recipe: &Recipe, wanted: impl Fn(&str) -> bool) {
        self.plan = vec![Take::Skip; self.header.names.len()];
        let places = self.header.places();
        for column in recipe.columns().iter().filter(|column| wanted(&column.column)) {
            let Some(&k) = places.get(&column.column) else { continue };
            self.plan[k] = match &column.how {
                How::Number(number) => Take::Written(number.written, number.missing.is_some()),
                How::Category(_) => self.new_texts(Texts::default(), 0),
            };
        }
    }

    /// The next rows, of about `most` cells, as the recipe that is followed says, and their labels; `None` at the end. Rows before
    /// a mistake come first, and the mistake the next time. If `eager`, rows that are there do not wait for more.
    pub(in crate::data::read) fn read(
        &mut self,
        most: usize,
        eager: bool,
    ) -> Result<Option<(Frame, Option<Labels>)>> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let cells = self.plan.iter().filter(|take| **take != Take::Skip).count().max(1);
        while self.rows == 0 || (self.rows * cells < most && !(eager && self.records.pauses())) {
            match self.row(None) {
                Ok(true) => {}
                Ok(false) => break,
                Err(fault) if self.rows == 0 => return Err(fault),
                Err(fault) => {
                    self.undo_row();
                    self.fault = Some(fault);
                    break;
                }
            }
        }
        if self.rows == 0 {
            return if self.before == 0 { Err(self.header.no_rows()) } else { Ok(None) };
        }
        self.before += self.rows as u64;
        let labels = self.take_labels();
        Ok(Some((self.next_frame(), labels)))
    }

    fn take_labels(&mut self) -> Option<Labels> {
        self.header.label.map(|_| self.labels.take(&self.header.file))
    }

    /// The rows so far, and none left.
    fn next_frame(&mut self) -> Frame {
        let plan = self.plan.clone();
        let kept = self.columns.iter().map(|_| Words::default()).collect();
        let frame = self.take_frame();
        (self.plan, self.columns) = (plan, kept);
        frame
    }

    fn take_frame(&mut self) -> Frame {
        let mut width = 0;
        let mut place = || {
            width += 1;
            width - 1
        };
        let mut columns = Vec::with_capacity(self.plan.len());
        for take in std::mem::take(&mut self.plan) {
            columns.push(match take {
                Take::Skip => Series::Unread,
                Take::Numbers => Series::Numbers(place(), Unit::Plain),
                Take::Written(written, _) => Series::Numbers(place(), unit(written)),
                Take::Texts(t) => Series::Texts(std::mem::take(&mut self.columns[t].texts)),
                Take::Turned(t) => {
                    // All that is at its place is that nothing was there.
                    place();
                    Series::Texts(std::mem::take(&mut self.columns[t].texts))
                }
            });
        }
        self.columns.clear();
        let mut numbers = std::mem::take(&mut self.numbers);
        numbers.shrink_to_fit();
        let rows = std::mem::take(&mut self.rows);
        Frame { names: self.header.names.clone(), columns, rows, width, numbers }
    }

    /// Numbers that are kept of a row.
    fn width(&self) -> usize {
        self.plan.iter().filter(|take| take.has_place()).count()
    }

    /// Forgets what was read of a row with a mistake in it.
    fn undo_row(&mut self) {
        self.numbers.truncate(self.rows * self.width());
        self.columns.iter_mut().for_each(|words| words.texts.truncate(self.rows));
    }

    /// Reads one row; `false` at the end. What columns are is found out with what users `asked` for, if that is to be.
    fn row(&mut self, asked: Option<&[Option<Ask>]>) -> Result<bool> {
        let Some(line) = self.records.next(&mut self.record)? else { return Ok(false) };
        self.header.check_length(line, &self.record)?;
        if self.rows == 0 && self.before == 0 && asked.is_some() {
            self.first_line = line;
            self.look_at_first(line)?;
        }
        reserve(&mut self.numbers, self.plan.len(), &self.header.file)?;
        for k in 0..self.plan.len() {
            let cell = self.record[k].trim_ascii();
            match self.plan[k] {
                Take::Skip => {}
                Take::Numbers => match number::parse(cell) {
                    Some(x) => self.numbers.push(x),
                    None if is_missing(cell) => {
                        self.gaps = true;
                        self.numbers.push(f64::NAN);
                    }
                    None => self.turn(k, line)?,
                },
                Take::Turned(t) => {
                    self.numbers.push(f64::NAN);
                    push_text(&mut self.columns[t], &self.header, line, k, cell)?;
                }
                Take::Texts(t) => push_text(&mut self.columns[t], &self.header, line, k, cell)?,
                Take::Written(written, may_miss) => {
                    let x = read_number(&self.header, (line, k), cell, written, may_miss)?;
                    self.numbers.push(x);
                }
            }
        }
        self.header.read_outcome(line, &self.record, &mut self.labels)?;
        self.rows += 1;
        Ok(true)
    }

    /// Columns that do not begin with numbers are text: they need no place among the numbers.
    fn look_at_first(&mut self, line: u64) -> Result<()> {
        if self.record.iter().map(<[u8]>::trim_ascii).eq(self.header.names.iter().map(String::as_bytes)) {
            return Err(self.header.wrong(line, 0, "the header once more: a table has one"));
        }
        for k in 0..self.plan.len() {
            let cell = self.record[k].trim_ascii();
            if self.plan[k] == Take::Numbers && number::parse(cell).is_none() && !is_missing(cell) {
                self.plan[k] = self.new_texts(Texts::default(), line);
            }
        }
        Ok(())
    }

    /// A column of numbers turns out to be text.
    fn turn(&mut self, k: usize, line: u64) -> Result<()> {
        let place = self.plan[..k].iter().filter(|take| take.has_place()).count();
        let width = self.width();
        let mut above = (0..self.rows).map(|row| self.numbers[row * width + place]);
        let after_numbers = self.before > 0 || above.any(|x| !x.is_nan());
        self.columns.push(Words { texts: Texts::after(self.rows), odd: line, after_numbers });
        let t = self.columns.len() - 1;
        self.plan[k] = Take::Turned(t);
        self.numbers.push(f64::NAN);
        push_text(&mut self.columns[t], &self.header, line, k, self.record[k].trim_ascii())
    }

    /// Which columns must be read again as text; an error for numbers among which something else stands by mistake. `above` says
    /// how many numbers there were, before it turned, in a column and at a place of a row.
    fn judge(&self, asked: &[Option<Ask>], above: impl Fn(usize, usize) -> u64) -> Result<Vec<usize>> {
        let (mut again, mut place) = (Vec::new(), 0);
        for (k, take) in self.plan.iter().enumerate() {
            let at = place;
            place += usize::from(take.has_place());
            let (words, above) = match take {
                Take::Texts(t) => (&self.columns[*t], 0),
                Take::Turned(t) => (&self.columns[*t], above(k, at)),
                _ => continue,
            };
            if asked[k] != Some(Ask::Category) {
                self.check_words(k, words, above, asked[k] == Some(Ask::Number))?;
            }
            if words.after_numbers {
                again.push(k);
            }
        }
        Ok(again)
    }

    /// Whether a column of text should have been one of numbers; `above` more of which came before.
    fn check_words(&self, k: usize, words: &Words, above: u64, wanted: bool) -> Result<()> {
        let levels = words.texts.levels();
        let is_number = |text: &str| number::parse(text.as_bytes()).is_some();
        let inside: u64 = levels.iter().filter(|(text, _)| is_number(text)).map(|(_, n)| u64::from(n)).sum();
        let (numbers, others) = (above + inside, levels.rows() - inside);
        let few = others > 0 && (numbers >= MISTAKEN * others || (others == 1 && numbers > 1));
        if !few && !wanted {
            return Ok(());
        }
        if Guess::of(levels.iter().map(|(text, _)| text)) != Guess::Words {
            return Ok(());
        }
        let odd = levels.iter().map(|(text, _)| text).find(|text| !is_number(text)).unwrap_or_default();
        let said = format!(
            "{}: {} {}",
            self.header.column(k),
            quoted(odd.as_bytes()),
            number::complaint(odd.as_bytes())
        );
        let reason = match (wanted, others) {
            (true, _) => Reason::from(said),
            (false, 1) if words.odd == self.first_line => Reason::from(said)
                .words(", as all below it are: if this line belongs to the header, take it out"),
            _ => {
                let said = Reason::from(format!("{said}, as {numbers} others of the column are; "));
                said.parameter("category")
                    .words(" takes the column as it is, ")
                    .parameter("ignore")
                    .words(" leaves it out")
            }
        };
        Err(self.header.wrong(words.odd, k, reason))
    }
}

/// What numbers stand for that are written so.
fn unit(written: Written) -> Unit {
    match written {
        Written::Point | Written::Grouped | Written::Comma => Unit::Plain,
        Written::Truth => Unit::Truth,
        Written::Iso | Written::DayFirst | Written::MonthFirst => Unit::Days,
    }
}

fn push_text(words: &mut Words, header: &Header, line: u64, k: usize, cell: &[u8]) -> Result<()> {
    if is_missing(cell) {
        words.texts.push_missing();
        return Ok(());
    }
    let text = std::str::from_utf8(cell).ok().filter(|text| !text.contains('\0'));
    let Some(text) = text else {
        let reason = format!("{}: {} is not text in UTF-8", header.column(k), quoted(cell));
        return Err(header.wrong(line, k, reason));
    };
    let new = words.texts.push(text);
    if new && words.odd == 0 && number::parse(cell).is_none() {
        words.odd = line;
    }
    Ok(())
}

fn read_number(
    header: &Header,
    (line, k): (u64, usize),
    cell: &[u8],
    written: Written,
    may_miss: bool,
) -> Result<f64> {
    let plain = if written == Written::Point { number::parse(cell) } else { None };
    let found = plain.or_else(|| written.number(std::str::from_utf8(cell).ok()?));
    match found {
        Some(x) => Ok(x),
        None if is_missing(cell) && may_miss => Ok(f64::NAN),
        None if is_missing(cell) => {
            let reason =
                "the value is missing, and no other is known, for none was missing in the training data";
            Err(header.wrong(line, k, format!("{}: {reason}", header.column(k))))
        }
        None => {
            let reason =
                if written == Written::Point { number::complaint(cell) } else { written.complaint() };
            Err(header.wrong(line, k, format!("{}: {} {reason}", header.column(k), quoted(cell))))
        }
    }
}
