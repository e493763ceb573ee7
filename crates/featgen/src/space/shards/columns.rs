//! The columns of all shards, as the driver sees them.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde::de::DeserializeOwned;

use super::Shards;
use super::message::{Best, Facts, Question, Request, Search, Vectors, Weighing, read_reply, write_request};
use crate::data::{Column, ColumnView, Columns, GoOn, Moments, Names};
use crate::error::{Error, Result};
use crate::space::additive::Curves;
use crate::space::ask::Residuals;
use crate::space::topb::{Tops, Wanted};
use crate::space::{Gain, Scale};

/// A storage whose columns are in shards. It holds where each column is, and nothing of its values.
pub struct ShardColumns<'a> {
    shards: &'a dyn Shards,
    names: &'a Names,
    /// The ids of columns that are there, but hidden.
    hidden: Vec<u64>,
    rows: usize,
    dimension: u64,
    nonzeros: u64,
    /// The first id of each shard that has columns.
    firsts: Vec<u64>,
    /// Ids that follow each other, in order, and the position of the first of each range.
    ids: Vec<(Range<u64>, usize)>,
    len: usize,
    bytes_by_rows: u64,
    value_bytes: u64,
    ones: bool,
    /// How many values columns have, once somebody asked for it.
    filled: OnceLock<Vec<u32>>,
    /// Columns that were here lately.
    fetched: Arc<Mutex<Fetched>>,
    /// Why shards could not be asked for sums or columns, if they could not.
    failure: Mutex<Option<Error>>,
}

impl<'a> ShardColumns<'a> {
    /// The columns of these shards, which are in the order of their columns, called by `names`. An error if they do not belong
    /// together.
    pub fn new(shards: &'a dyn Shards, names: &'a Names) -> Result<Self> {
        Self::made(shards, names, Vec::new(), Arc::default())
    }

    /// The same without the columns of these ids, which a model has in any case.
    pub fn without(&self, hidden: &[u64]) -> Result<Self> {
        Self::made(self.shards, self.names, hidden.to_vec(), Arc::clone(&self.fetched))
    }

    fn made(
        shards: &'a dyn Shards,
        names: &'a Names,
        hidden: Vec<u64>,
        fetched: Arc<Mutex<Fetched>>,
    ) -> Result<Self> {
        let mut columns = Self {
            shards,
            names,
            hidden,
            rows: 0,
            dimension: 0,
            nonzeros: 0,
            firsts: Vec::new(),
            ids: Vec::new(),
            len: 0,
            bytes_by_rows: 0,
            value_bytes: 0,
            ones: true,
            filled: OnceLock::new(),
            fetched,
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
        if !facts.ids.is_empty() {
            self.value_bytes = self.value_bytes.max(facts.value_bytes);
            self.ones &= facts.ones;
        }
        self.firsts.extend(facts.ids.first().map(|range| range.start));
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

    /// The first id of each shard that has columns: a shard can tell by its own which of them it is.
    pub(in crate::space) fn firsts(&self) -> &[u64] {
        &self.firsts
    }

    /// What features are called.
    pub(in crate::space) fn names(&self) -> &'a Names {
        self.names
    }

    /// The replies of all shards.
    pub(in crate::space) fn ask<T: DeserializeOwned>(&self, question: Question<'_>) -> Result<Vec<T>> {
        let request = write_request(&Request { hidden: Cow::Borrowed(&self.hidden), question })?;
        let name = |id: u64| self.names.show(id);
        self.shards.ask(&request)?.iter().map(|reply| read_reply(reply, name)).collect()
    }

    /// The same where the replies are numbers for columns: those of all, so many.
    pub(in crate::space) fn ask_each<T: DeserializeOwned>(
        &self,
        question: Question<'_>,
        count: usize,
    ) -> Result<Vec<T>> {
        let all: Vec<T> = self.ask::<Vec<T>>(question)?.into_iter().flatten().collect();
        let fits = all.len() == count;
        fits.then_some(all).ok_or_else(|| Error::Data("a shard has other columns than it said".into()))
    }

    fn lock_fetched(&self) -> MutexGuard<'_, Fetched> {
        self.fetched.lock().unwrap_or_else(PoisonError::into_inner)
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
        Search { weighing: scale.map(weighing), v: Vectors::of(v), wanted, taken }
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
            Question::Gains { weighing, v: Vectors::of(v), gain: borrowed(gain), ids: Cow::Borrowed(&ids) };
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

/// Bytes of columns that are kept when they were fetched.
const MOST_KEPT: usize = 1 << 27;

/// Bytes of columns that are fetched together, about, where all are visited.
const AT_ONCE: usize = 1 << 26;

/// Columns that were fetched lately: a run, and what judges its model, asks for the same ones again and again.
#[derive(Default)]
struct Fetched {
    columns: HashMap<u64, Arc<Column>>,
    bytes: usize,
}

impl Fetched {
    /// Those of some columns that are here, and the ids of the others, each once and in order.
    fn some(&self, ids: &[u64]) -> (HashMap<u64, Arc<Column>>, Vec<u64>) {
        let here = ids.iter().filter_map(|id| Some((*id, Arc::clone(self.columns.get(id)?))));
        let missing = ids.iter().copied().filter(|id| !self.columns.contains_key(id));
        (here.collect(), missing.collect::<BTreeSet<u64>>().into_iter().collect())
    }

    /// Keeps these as well, and forgets all others where they are too many. What is too large by itself is not kept.
    fn keep(&mut self, new: &[(u64, Arc<Column>)]) {
        let size = |column: &Column| match column {
            Column::Dense(values) => size_of_val(&values[..]),
            Column::Sparse { rows, values } => size_of_val(&rows[..]) + size_of_val(&values[..]),
        };
        let bytes: usize = new.iter().map(|(_, column)| size(column)).sum();
        if self.bytes + bytes > MOST_KEPT {
            *self = Self::default();
        }
        if bytes <= MOST_KEPT {
            self.bytes += bytes;
            self.columns.extend(new.iter().cloned());
        }
    }
}

fn borrowed<'g>(gain: &'g Gain<'_>) -> Gain<'g> {
    Gain { curvature: Cow::Borrowed(&gain.curvature), ..*gain }
}

fn weighing(scale: &Scale) -> Weighing<'_> {
    Weighing { scaling: scale.scaling, weights: scale.weights.as_deref().map(Cow::Borrowed) }
}

/// What was found for ids, in the order in which they were asked for.
fn in_order<T>(ids: &[u64], replies: Vec<Vec<(u64, T)>>) -> Result<Vec<T>> {
    let mut found: HashMap<u64, T> = replies.into_iter().flatten().collect();
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
        let (mut here, missing) = self.lock_fetched().some(&ids);
        if !missing.is_empty() {
            let replies = self.ask(Question::Columns { ids: Cow::Borrowed(&missing) });
            if let Some(columns) = self.or_note(replies.and_then(|replies| in_order(&missing, replies))) {
                let new: Vec<(u64, Arc<Column>)> =
                    missing.into_iter().zip(columns.into_iter().map(Arc::new)).collect();
                self.lock_fetched().keep(&new);
                here.extend(new);
            }
        }
        let none = || Column::Sparse { rows: Vec::new(), values: Vec::new() };
        ids.iter().map(|id| here.get(id).map_or_else(none, |column| (**column).clone())).collect()
    }

    /// Fetches them, a few at a time. Nothing that looks at every column should do it this way.
    fn visit(&self, range: Range<usize>, each: &mut dyn FnMut(usize, ColumnView<'_>)) {
        let together = (AT_ONCE / (12 * self.rows.max(1))).max(1);
        for first in range.clone().step_by(together) {
            let some: Vec<usize> = (first..range.end.min(first + together)).collect();
            let columns = self.gather(&some);
            some.into_iter().zip(&columns).for_each(|(position, column)| each(position, column.view()));
        }
    }

    fn filled(&self, position: usize) -> usize {
        let count = || self.or_note(self.ask_each(Question::Filled, self.len)).unwrap_or_default();
        self.filled.get_or_init(count).get(position).map_or(self.rows, |&filled| filled as usize)
    }

    fn bytes_by_rows(&self) -> u64 {
        self.bytes_by_rows
    }

    fn value_bytes(&self) -> u64 {
        self.value_bytes
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
