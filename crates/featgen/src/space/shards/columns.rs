//! The columns of all shards, as the driver sees them.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use serde::de::DeserializeOwned;

use super::Shards;
use super::message::{Best, Facts, Question, Request, Search, Vectors, Weighing, read_reply, write_request};
use crate::data::{Column, ColumnView, Columns, GoOn, Moments};
use crate::error::{Error, Result};
use crate::space::additive::Curves;
use crate::space::ask::Residuals;
use crate::space::topb::{Tops, Wanted};
use crate::space::{Gain, Scale};

/// A storage whose columns are in shards. It holds where each column is, and nothing of its values.
pub struct ShardColumns<'a> {
    shards: &'a dyn Shards,
    /// The ids of columns that are there, but hidden.
    hidden: Vec<u64>,
    rows: usize,
    dimension: u64,
    nonzeros: u64,
    /// Ids that follow each other, in order, and the position of the first of each range.
    ids: Vec<(Range<u64>, usize)>,
    len: usize,
    bytes_by_rows: u64,
    narrow: bool,
    ones: bool,
    /// How many values columns have, once somebody asked for it.
    filled: OnceLock<Vec<u32>>,
    /// Why shards could not be asked for sums or columns, if they could not.
    failure: Mutex<Option<Error>>,
}

impl<'a> ShardColumns<'a> {
    /// The columns of these shards, which are in the order of their columns. An error if they do not belong together.
    pub fn new(shards: &'a dyn Shards) -> Result<Self> {
        Self::without(shards, Vec::new())
    }

    /// The same without the columns of these ids, which a model has in any case.
    pub fn without(shards: &'a dyn Shards, hidden: Vec<u64>) -> Result<Self> {
        let mut columns = Self {
            shards,
            hidden,
            rows: 0,
            dimension: 0,
            nonzeros: 0,
            ids: Vec::new(),
            len: 0,
            bytes_by_rows: 0,
            narrow: true,
            ones: true,
            filled: OnceLock::new(),
            failure: Mutex::new(None),
        };
        let facts: Vec<Facts> = columns.ask(Question::Facts)?;
        columns.rows = facts.first().ok_or_else(|| Error::Data("there are no shards".into()))?.rows;
        facts.into_iter().try_for_each(|facts| columns.add(facts))?;
        Ok(columns)
    }

    /// Adds what is known of the next shard.
    fn add(&mut self, facts: Facts) -> Result<()> {
        if facts.rows != self.rows {
            let reason = format!("a shard has {} rows, another {}", facts.rows, self.rows);
            return Err(Error::Data(reason));
        }
        self.dimension = self.dimension.max(facts.dimension);
        self.nonzeros = self.nonzeros.saturating_add(facts.nonzeros);
        self.bytes_by_rows = self.bytes_by_rows.saturating_add(facts.bytes_by_rows);
        // Where there are no values, nothing is said of them.
        self.narrow &= facts.narrow || facts.ids.is_empty();
        self.ones &= facts.ones || facts.ids.is_empty();
        for range in facts.ids {
            let follows = self.ids.last().is_none_or(|(last, _)| last.end <= range.start);
            let count = range.end.checked_sub(range.start).and_then(|count| usize::try_from(count).ok());
            let len = count.and_then(|count| self.len.checked_add(count));
            let len = len.filter(|_| follows && range.start < range.end);
            let confused = || Error::Data("the columns of the shards do not follow each other".into());
            let start = std::mem::replace(&mut self.len, len.ok_or_else(confused)?);
            match self.ids.last_mut().filter(|(last, _)| last.end == range.start) {
                Some((last, _)) => last.end = range.end,
                None => self.ids.push((range, start)),
            }
        }
        Ok(())
    }

    /// The replies of all shards.
    fn ask<T: DeserializeOwned>(&self, question: Question<'_>) -> Result<Vec<T>> {
        let request = write_request(&Request { hidden: Cow::Borrowed(&self.hidden), question })?;
        self.shards.ask(&request)?.iter().map(|reply| read_reply(reply)).collect()
    }

    /// The same where the replies are numbers for columns: those of all, so many.
    fn ask_each<T: DeserializeOwned>(&self, question: Question<'_>, count: usize) -> Result<Vec<T>> {
        let all: Vec<T> = self.ask::<Vec<T>>(question)?.into_iter().flatten().collect();
        let fits = all.len() == count;
        fits.then_some(all).ok_or_else(|| Error::Data("a shard has other columns than it said".into()))
    }

    /// What came of something that has no way to fail, for which shards are asked.
    fn or_note<T>(&self, result: Result<T>) -> Option<T> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        result.map_err(|error| failure.get_or_insert(error)).ok()
    }

    /// A result, unless it came about as shards could not be asked: then, why. Sums and columns cannot fail, so that whoever computes
    /// with them asks here in the end.
    pub fn settle<T>(&self, result: Result<T>) -> Result<T> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.take().map_or(result, Err)
    }

    fn sums(&self, range: Range<usize>, v: &[f64], squared: bool, out: &mut [f64]) {
        let outputs = out.len() / range.len().max(1);
        if range.is_empty() || outputs == 0 {
            return;
        }
        let ids = self.id(range.start)..self.id(range.end - 1) + 1;
        let v = Vectors { v: Cow::Borrowed(v), outputs };
        let replies = self.ask::<Vec<f64>>(Question::Sums { ids, v, squared });
        let fits = |replies: &Vec<Vec<f64>>| replies.iter().map(Vec::len).sum::<usize>() == out.len();
        let other = || Error::Data("a shard has other columns than it said".into());
        let replies = replies.and_then(|replies| Some(replies).filter(fits).ok_or_else(other));
        let Some(replies) = self.or_note(replies) else { return out.fill(0.0) };
        // Each shard has its sums output after output, and so has the whole.
        for (k, out) in out.chunks_mut(range.len()).enumerate() {
            let parts = replies.iter().flat_map(|sums| {
                let width = sums.len() / outputs;
                &sums[k * width..(k + 1) * width]
            });
            out.iter_mut().zip(parts).for_each(|(out, sum)| *out = *sum);
        }
    }

    fn ids_of(&self, positions: impl IntoIterator<Item = usize>) -> Vec<u64> {
        positions.into_iter().map(|position| self.id(position)).collect()
    }

    /// The best of all shards, by their positions.
    fn best(&self, question: Question<'_>, wanted: Wanted) -> Result<(Tops<usize>, u128)> {
        let (mut tops, mut scored) = (Tops::new(wanted), 0u128);
        let unknown = || Error::Data("a shard found a column that it does not have".into());
        for reply in self.ask::<Best>(question)? {
            for (score, id) in reply.best {
                tops.best.offer(score, self.position(id).ok_or_else(unknown)?);
            }
            for (score, id) in reply.fresh {
                tops.fresh.offer(score, self.position(id).ok_or_else(unknown)?);
            }
            scored = scored.saturating_add(reply.scored);
        }
        Ok((tops, scored))
    }

    fn search<'q>(
        &self,
        scale: Option<&'q Scale>,
        v: Residuals<'q>,
        wanted: Wanted,
        taken: impl IntoIterator<Item = usize>,
    ) -> Search<'q> {
        let taken = Cow::Owned(self.ids_of(taken));
        Search { weighing: scale.map(weighing), v: vectors(v), wanted, taken }
    }

    /// The best columns by score, of all and of those that are not taken.
    pub(in crate::space) fn by_score(
        &self,
        scale: Option<&Scale>,
        v: Residuals<'_>,
        wanted: Wanted,
        taken: &[usize],
    ) -> Result<Tops<usize>> {
        let search = self.search(scale, v, wanted, taken.iter().copied());
        Ok(self.best(Question::ByScore { search }, wanted)?.0)
    }

    /// The best columns by score and, of those that are not taken, by gain.
    pub(in crate::space) fn by_gain(
        &self,
        scale: Option<&Scale>,
        v: Residuals<'_>,
        gain: &Gain<'_>,
        wanted: Wanted,
        taken: &[usize],
    ) -> Result<Tops<usize>> {
        let search = self.search(scale, v, wanted, taken.iter().copied());
        Ok(self.best(Question::ByGain { search, gain: borrowed(gain) }, wanted)?.0)
    }

    /// The gains of the columns at these positions.
    pub(in crate::space) fn gains_at(
        &self,
        scale: Option<&Scale>,
        positions: &[usize],
        v: Residuals<'_>,
        gain: &Gain<'_>,
    ) -> Result<Vec<f64>> {
        let (weighing, ids) = (scale.map(weighing), self.ids_of(positions.iter().copied()));
        let question =
            Question::Gains { weighing, v: vectors(v), gain: borrowed(gain), ids: Cow::Borrowed(&ids) };
        in_order(&ids, self.ask(question)?)
    }

    /// The scale of every curve.
    pub(in crate::space) fn curve_scales(&self, curves: &Curves) -> Result<Vec<f64>> {
        self.ask_each(Question::CurveScales { curves: Cow::Borrowed(curves) }, self.len)
    }

    /// The best curves of the inputs at some positions.
    pub(in crate::space) fn some_curves(
        &self,
        curves: &Curves,
        v: Residuals<'_>,
        wanted: Wanted,
        taken: &[u32],
        positions: &[u32],
    ) -> Result<(Tops<usize>, u128)> {
        let ids = Cow::Owned(self.ids_of(positions.iter().map(|&p| p as usize)));
        let search = self.search(None, v, wanted, taken.iter().map(|&p| p as usize));
        self.best(Question::SomeCurves { curves: Cow::Borrowed(curves), search, ids }, wanted)
    }

    /// The best curves of all inputs but those at the positions `done`, as far as they may reach `floor`.
    pub(in crate::space) fn other_curves(
        &self,
        curves: &Curves,
        v: Residuals<'_>,
        wanted: Wanted,
        taken: &[u32],
        done: &[u32],
        floor: f64,
    ) -> Result<(Tops<usize>, u128)> {
        let done = Cow::Owned(self.ids_of(done.iter().map(|&p| p as usize)));
        let search = self.search(None, v, wanted, taken.iter().map(|&p| p as usize));
        let question = Question::OtherCurves { curves: Cow::Borrowed(curves), search, done, floor };
        self.best(question, wanted)
    }
}

fn vectors(v: Residuals<'_>) -> Vectors<'_> {
    Vectors { v: Cow::Borrowed(v.v), outputs: v.outputs }
}

fn borrowed<'g>(gain: &'g Gain<'_>) -> Gain<'g> {
    Gain { curvature: Cow::Borrowed(&gain.curvature), ..*gain }
}

fn weighing(scale: &Scale) -> Weighing<'_> {
    Weighing { scaling: scale.scaling, weights: scale.weights.as_deref().map(Cow::Borrowed) }
}

/// What was found for ids, in the order in which they were asked for.
fn in_order<T>(ids: &[u64], replies: Vec<Vec<(u64, T)>>) -> Result<Vec<T>> {
    let mut found: std::collections::HashMap<u64, T> = replies.into_iter().flatten().collect();
    let missing = || Error::Data("a shard lacks a column that it had".into());
    ids.iter().map(|id| found.remove(id).ok_or_else(missing)).collect()
}

impl Columns for ShardColumns<'_> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn len(&self) -> usize {
        self.len
    }

    fn dimension(&self) -> u64 {
        self.dimension
    }

    fn nonzeros(&self) -> u64 {
        self.nonzeros
    }

    fn id(&self, position: usize) -> u64 {
        let at = self.ids.partition_point(|(_, first)| *first <= position) - 1;
        let (range, first) = &self.ids[at];
        range.start + (position - first) as u64
    }

    fn position(&self, id: u64) -> Option<usize> {
        let at = self.ids.partition_point(|(range, _)| range.start <= id).checked_sub(1)?;
        let (range, first) = &self.ids[at];
        range.contains(&id).then(|| first + (id - range.start) as usize)
    }

    /// All: one request is enough.
    fn batch(&self) -> usize {
        self.len.max(1)
    }

    fn dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        self.sums(range, v, false, out);
    }

    fn square_dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        self.sums(range, v, true, out);
    }

    fn moments(&self, range: Range<usize>, weights: &[f64]) -> Vec<Moments> {
        let all = self.ask_each(Question::Moments { weights: Cow::Borrowed(weights) }, self.len);
        let all = self.or_note(all).unwrap_or_else(|| vec![Moments::default(); self.len]);
        all[range].to_vec()
    }

    fn gather(&self, positions: &[usize]) -> Vec<Column> {
        let ids = self.ids_of(positions.iter().copied());
        // A column that is wanted twice comes once.
        let mut once = ids.clone();
        once.sort_unstable();
        once.dedup();
        let replies = self.ask(Question::Columns { ids: Cow::Borrowed(&once) });
        let none = || Column::Sparse { rows: Vec::new(), values: Vec::new() };
        match self.or_note(replies.and_then(|replies| in_order::<Column>(&once, replies))) {
            Some(columns) => {
                let column =
                    |id: &u64| once.binary_search(id).map_or_else(|_| none(), |at| columns[at].clone());
                ids.iter().map(column).collect()
            }
            None => ids.iter().map(|_| none()).collect(),
        }
    }

    fn visit(&self, range: Range<usize>, each: &mut dyn FnMut(usize, ColumnView<'_>)) {
        let columns = self.gather(&range.clone().collect::<Vec<_>>());
        range.zip(&columns).for_each(|(position, column)| each(position, column.view()));
    }

    fn filled(&self, position: usize) -> usize {
        let count = || self.or_note(self.ask_each(Question::Filled, self.len)).unwrap_or_default();
        self.filled.get_or_init(count).get(position).map_or(self.rows, |&filled| filled as usize)
    }

    fn bytes_by_rows(&self) -> u64 {
        self.bytes_by_rows
    }

    fn is_narrow(&self) -> bool {
        self.narrow
    }

    fn all_ones(&self) -> bool {
        self.ones
    }

    fn laid_bytes(&self, _outputs: usize) -> u64 {
        0
    }

    fn largest(&self, go_on: GoOn<'_>) -> Result<f64> {
        go_on()?;
        Ok(self.ask::<f64>(Question::Largest)?.into_iter().fold(0.0, f64::max))
    }
}
