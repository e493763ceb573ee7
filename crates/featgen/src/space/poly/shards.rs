//! The same search where columns are in shards.
//!
//! The driver ranks all features by their bounds, and takes them past the shards batch by batch, as it would take them past the parts
//! that it holds: their columns are fetched from wherever they are, and sent to all shards. Each multiplies them with those of its own
//! columns that come before them, by rank and with bounds that may matter beside the best known to the driver. So every pair is
//! looked at once, in the shard of its feature of larger bound, and what is left out, and counted, is what is in one process.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::search::{Entries, FIRST_BATCH, Held, Pivots, Search, larger};
use super::singles::{Bounds, Values};
use super::{Item, PolySpace};
use crate::data::Columns;
use crate::digest::digest;
use crate::error::{Error, Result};
use crate::space::ask::Residuals;
use crate::space::shards::{self, Memory, SentColumn, ShardColumns, Vectors, remembered, reply};
use crate::space::topb::{TopB, Tops, Wanted};
use crate::space::{Inputs, Scored};

/// What may be asked about products of two, and what the answer is.
#[derive(Serialize, Deserialize)]
pub(in crate::space) enum Question<'a> {
    /// What is known of all values: [`Values`].
    Values,
    /// The best of some inputs: [`Found`].
    Inputs { told: Told<'a>, which: Which<'a> },
    /// The best of the squares of some inputs, and the bounds of these: `(Found, Vec<(u64, f64)>)`.
    Squares { told: Told<'a>, which: Which<'a> },
    /// The best pairs of some features and of columns of the shard that come before them, as far as they reach `floor` and no more
    /// values are to be read for it than are `left`: [`Pairs`].
    Pairs { told: Told<'a>, among: Among, floor: f64, left: u64, pivots: Vec<Pivot> },
}

/// Columns that may matter, whatever they are multiplied with.
#[derive(Clone, Copy, Hash, Serialize, Deserialize)]
pub(in crate::space) struct Among {
    /// They have at least so many values,
    filled: usize,
    /// and their bounds are not below this one, given by its bits.
    bound: u64,
}

/// What a shard is told of the whole.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::space) struct Told<'a> {
    gamma: f64,
    coef0: f64,
    /// The ids of the inputs that may form products; all if `None`.
    only: Option<Cow<'a, [u64]>>,
    pruned: bool,
    values: Values,
    /// Whether columns are multiplied in blocks.
    dense: bool,
    v: Vectors<'a>,
    wanted: Wanted,
    taken: Cow<'a, [Item<u64>]>,
}

/// Some inputs, by their ids.
#[derive(Serialize, Deserialize)]
pub(in crate::space) enum Which<'a> {
    These(Cow<'a, [u64]>),
    AllBut(Cow<'a, [u64]>),
}

/// A feature that is multiplied with others.
#[derive(Serialize, Deserialize)]
pub(in crate::space) struct Pivot {
    id: u64,
    bound: f64,
    column: SentColumn,
}

/// The best that was found, by ids.
#[derive(Default, Serialize, Deserialize)]
struct Found {
    best: Vec<(f64, Item<u64>)>,
    fresh: Vec<(f64, Item<u64>)>,
}

/// The best pairs that were found, how many were scored, and how many values were read for it.
#[derive(Default, Serialize, Deserialize)]
struct Pairs {
    found: Found,
    scored: u128,
    read: u64,
}

// The driver.

/// What is known of the values of each shard.
pub(super) fn ask_values(shards: &ShardColumns<'_>) -> Result<Vec<Values>> {
    shards.ask(shards::Question::Poly(Question::Values))
}

impl PolySpace<'_> {
    pub(super) fn ids(&self, positions: &[u32]) -> Vec<u64> {
        positions.iter().map(|&p| self.inputs.columns().id(p as usize)).collect()
    }

    fn told<'t>(&self, v: Residuals<'t>, wanted: Wanted, taken: &[Item]) -> Told<'t> {
        let columns = self.inputs.columns();
        let id = |position: u32| Some(columns.id(position as usize));
        let only = |marks: &Vec<bool>| {
            let marked = (0..).zip(marks).filter(|(_, marked)| **marked);
            Cow::Owned(marked.map(|(position, _)| columns.id(position)).collect())
        };
        Told {
            gamma: self.gamma,
            coef0: self.coef0,
            only: self.factors.as_ref().map(only),
            pruned: self.pruned,
            values: self.values,
            dense: super::room::is_dense(columns),
            v: Vectors { v: Cow::Borrowed(v.v), outputs: v.outputs },
            wanted,
            taken: Cow::Owned(taken.iter().filter_map(|item| item.renamed(id)).collect()),
        }
    }

    /// Adds what a shard found to the best.
    fn add(&self, tops: &mut Tops<Item>, found: Found) -> Result<()> {
        let position = |id: u64| self.inputs.columns().position(id).map(|p| p as u32);
        let unknown = || Error::Data("a shard found a feature that there is not".into());
        for (list, top) in [(found.best, &mut tops.best), (found.fresh, &mut tops.fresh)] {
            for (score, item) in list {
                top.offer(score, item.renamed(position).ok_or_else(unknown)?);
            }
        }
        Ok(())
    }

    pub(super) fn ask_inputs(
        &self,
        shards: &ShardColumns<'_>,
        which: Which<'_>,
        v: Residuals<'_>,
        wanted: Wanted,
        taken: &[Item],
    ) -> Result<Tops<Item>> {
        let mut tops = Tops::new(wanted);
        let question = Question::Inputs { told: self.told(v, wanted, taken), which };
        for found in shards.ask(shards::Question::Poly(question))? {
            self.add(&mut tops, found)?;
        }
        Ok(tops)
    }

    pub(super) fn ask_squares(
        &self,
        shards: &ShardColumns<'_>,
        which: Which<'_>,
        v: Residuals<'_>,
        wanted: Wanted,
        taken: &[Item],
    ) -> Result<(Tops<Item>, Bounds)> {
        let (mut tops, mut bounds) = (Tops::new(wanted), Vec::new());
        let unknown = || Error::Data("a shard has a column that there is not".into());
        let question = Question::Squares { told: self.told(v, wanted, taken), which };
        for (found, more) in shards.ask::<(Found, Vec<(u64, f64)>)>(shards::Question::Poly(question))? {
            self.add(&mut tops, found)?;
            for (id, bound) in more {
                bounds.push((self.inputs.columns().position(id).ok_or_else(unknown)? as u32, bound));
            }
        }
        Ok((tops, bounds))
    }
}

impl Search<'_> {
    /// Looks at all pairs that may be among the best, where columns are in shards: these have the parts.
    pub(super) fn run_in_shards(
        mut self,
        shards: &ShardColumns<'_>,
        mut tops: Tops<Item>,
    ) -> Result<(Tops<Item>, u128)> {
        let (mut scored, mut first, mut batch) = (0, 0, FIRST_BATCH);
        let told = self.space.told(self.v, tops.wanted(), self.taken);
        let filled = self.order.iter().map(|&position| shards.filled(position as usize)).min().unwrap_or(0);
        let among = Among { filled, bound: self.bounds.last().copied().unwrap_or(0.0).to_bits() };
        self.part = 0..self.order.len();
        while let Some(ranks) = self.next_batch(first, batch) {
            let positions: Vec<usize> = self.order[ranks.clone()].iter().map(|&p| p as usize).collect();
            let columns = shards.gather(&positions);
            let pivot = |((&position, column), &bound)| {
                let column = SentColumn::new(column, |row| self.v.weighs(row as usize));
                Pivot { id: shards.id(position), bound, column }
            };
            let pivots = positions.iter().zip(&columns).zip(&self.bounds[ranks.clone()]).map(pivot).collect();
            let (floor, left) = (self.floor, self.work.left());
            let question = Question::Pairs { told: told.clone(), among, floor, left, pivots };
            for reply in shards.ask::<Pairs>(shards::Question::Poly(question))? {
                self.space.add(&mut tops, reply.found)?;
                scored += reply.scored;
                self.work.add(reply.read)?;
            }
            self.floor = tops.threshold();
            first = ranks.end;
            batch = larger(batch);
        }
        Ok((tops, scored))
    }
}

// A shard.

/// The columns of a shard that may be in a good pair, by falling bounds, for one vector of residuals. The values, too, if there is room
/// for all of them.
pub(in crate::space) struct Partners {
    order: Vec<u32>,
    bounds: Vec<f64>,
    held: Option<Held>,
}

/// Bytes that the values of a shard may take while they are multiplied.
const ROOM: u64 = 1 << 31;

/// The reply to a question. What is remembered saves time when the next features are taken past the same columns.
pub(in crate::space) fn answer(
    question: &Question<'_>,
    hidden: &[u64],
    inputs: Inputs<'_>,
    memory: &Memory<Partners>,
) -> Result<Vec<u8>> {
    match question {
        Question::Values => Ok(reply(&Values::of(&inputs)?)),
        Question::Inputs { told, which } => {
            let (space, v) = (told.space(inputs, u64::MAX), told.v.checked(inputs.rows())?);
            let (taken, wanted) = (told.taken_among(&inputs), told.wanted);
            let tops = match which {
                Which::These(ids) => space.score_columns(&present(&inputs, ids), v, wanted, &taken)?,
                Which::AllBut(ids) => space.score_other_columns(&present(&inputs, ids), v, wanted, &taken)?,
            };
            Ok(reply(&found(tops, |position| inputs.columns().id(position as usize))))
        }
        Question::Squares { told, which } => {
            let (space, v) = (told.space(inputs, u64::MAX), told.v.checked(inputs.rows())?);
            let (taken, wanted) = (told.taken_among(&inputs), told.wanted);
            let (tops, bounds) = match which {
                Which::These(ids) => space.some_squares(&present(&inputs, ids), v, wanted, &taken)?,
                Which::AllBut(ids) => space.other_squares(&present(&inputs, ids), v, wanted, &taken)?,
            };
            let id = |position: u32| inputs.columns().id(position as usize);
            let bounds: Vec<(u64, f64)> = bounds.into_iter().map(|(p, bound)| (id(p), bound)).collect();
            Ok(reply(&(found(tops, id), bounds)))
        }
        Question::Pairs { told, among, floor, left, pivots } => {
            let (space, v) = (told.space(inputs, *left), told.v.checked(inputs.rows())?);
            let mut search = Search::new(&space, v, Vec::new(), (told.wanted, *floor), &[]);
            search.dense = told.dense;
            let make = || search.partners_here(told.wanted, *among);
            let partners = remembered(memory, told.number(hidden, *among), 1, make)?;
            match pairs(told, search, &partners, pivots) {
                // The driver knows how much is too much, and says so.
                Err(Error::GivenUp(_)) => Ok(reply(&Pairs { read: u64::MAX, ..Pairs::default() })),
                pairs => Ok(reply(&pairs?)),
            }
        }
    }
}

/// The positions of those inputs that are here.
fn present(inputs: &Inputs<'_>, ids: &[u64]) -> Vec<u32> {
    ids.iter().filter_map(|&id| inputs.columns().position(id)).map(|p| p as u32).collect()
}

fn found(tops: Tops<Item>, id: impl Fn(u32) -> u64) -> Found {
    let list = |top: TopB<Item>| {
        let named = |s: Scored<Item>| Some((s.score, s.item.renamed(|name| Some(id(name)))?));
        top.into_sorted().into_iter().filter_map(named).collect()
    };
    Found { best: list(tops.best), fresh: list(tops.fresh) }
}

impl Told<'_> {
    /// The space of the columns of a shard.
    fn space<'i>(&self, inputs: Inputs<'i>, most_work: u64) -> PolySpace<'i> {
        PolySpace {
            inputs,
            gamma: self.gamma,
            coef0: self.coef0,
            factors: self.only.as_ref().map(|only| inputs.marked(only.iter().copied())),
            pruned: self.pruned,
            // Which are read first is the driver's to say.
            longest: Vec::new(),
            values: self.values,
            most_work,
            memory: ROOM,
        }
    }

    /// What is taken of features of these inputs alone, in order.
    fn taken_among(&self, inputs: &Inputs<'_>) -> Vec<Item> {
        self.taken_by(|id| inputs.columns().position(id).map(|p| p as u32))
    }

    fn taken_by(&self, name: impl Fn(u64) -> Option<u32>) -> Vec<Item> {
        let mut taken: Vec<Item> = self.taken.iter().filter_map(|item| item.renamed(&name)).collect();
        taken.sort_unstable();
        taken
    }

    /// A number that stands for all that bounds depend on.
    fn number(&self, hidden: &[u64], among: Among) -> u64 {
        let v = bytemuck::cast_slice::<f64, u64>(&self.v.v);
        digest((hidden, v, self.v.outputs, &self.only, self.values.one_signed, self.dense, among))
    }
}

/// The best pairs of `pivots` and of the columns of the shard that come before them.
fn pairs(told: &Told<'_>, search: Search<'_>, partners: &Partners, pivots: &[Pivot]) -> Result<Pairs> {
    let inputs = search.space.inputs;
    pivots.iter().try_for_each(|pivot| pivot.column.check(inputs.rows()))?;
    // Items are ordered as ids are, with those of features that are elsewhere among them.
    let own = partners.order.iter().map(|&p| inputs.columns().id(p as usize));
    let mut ids: Vec<u64> = own.clone().chain(pivots.iter().map(|pivot| pivot.id)).collect();
    ids.sort_unstable();
    ids.dedup();
    let name = |id: u64| ids.binary_search(&id).ok().map(|name| name as u32);
    let taken = told.taken_by(name);
    let mut search: Search<'_> = search;
    search.taken = &taken;
    search.names = Some(own.filter_map(name).collect());
    (search.order, search.bounds) = (partners.order.clone(), partners.bounds.clone());
    let names: Vec<u32> = pivots.iter().filter_map(|pivot| name(pivot.id)).collect();
    let bounds: Vec<f64> = pivots.iter().map(|pivot| pivot.bound).collect();
    let columns: Vec<Entries> = pivots.iter().map(|pivot| search.weighing(pivot.column.view())).collect();
    let before: Vec<usize> = pivots.iter().map(|pivot| search.before(pivot)).collect();
    let (mut tops, mut scored, mut start) = (Tops::new(told.wanted), 0, 0);
    while start < search.order.len() {
        search.part = if partners.held.is_some() { 0..search.order.len() } else { search.next_part(start) };
        let made = if partners.held.is_some() { None } else { Some(search.hold()?) };
        let here = |&before: &usize| before.clamp(search.part.start, search.part.end) - search.part.start;
        let before = before.iter().map(here).collect();
        let pivots = Pivots { names: &names, bounds: &bounds, columns: &columns, before, place: None };
        if let Some(held) = made.as_ref().or(partners.held.as_ref()) {
            let (found, pairs) = search.score(held, &pivots)?;
            tops = tops.merge(found);
            scored += pairs;
        }
        start = search.part.end;
    }
    Ok(Pairs { found: found(tops, |name| ids[name as usize]), scored, read: search.work.done() })
}

impl Search<'_> {
    /// The columns of the shard that may matter, in order of their bounds.
    fn partners_here(&mut self, wanted: Wanted, among: Among) -> Result<Partners> {
        let columns = self.space.inputs.columns();
        let long = |position: &u32| columns.filled(*position as usize) >= among.filled;
        let long: Vec<u32> = (0..columns.len() as u32).filter(long).collect();
        let (_, bounds) = match long.len() > columns.len() / 2 {
            true => self.space.other_squares(&[], self.v, wanted, &[])?,
            false => self.space.some_squares(&long, self.v, wanted, &[])?,
        };
        self.rank(bounds, f64::from_bits(among.bound));
        self.part = if self.order.is_empty() { 0..0 } else { self.next_part(0) };
        let fits = self.part.len() == self.order.len();
        let held = if fits { Some(self.hold()?) } else { None };
        Ok(Partners { order: self.order.clone(), bounds: self.bounds.clone(), held })
    }

    /// The values of the part at hand.
    fn hold(&self) -> Result<Held> {
        let mut held = self.empty()?;
        let mut first = self.part.start;
        while first < self.part.end {
            let last = self.batch(first..self.part.end);
            held.append(first - self.part.start, &self.columns(first..last)?);
            first = last;
        }
        Ok(held)
    }

    /// How many columns of the shard come before a feature, which may be one of them: by their bounds, and by ids where these are equal.
    fn before(&self, pivot: &Pivot) -> usize {
        let columns = self.space.inputs.columns();
        let (mut low, mut high) = (0, self.order.len());
        while low < high {
            let middle = low.midpoint(high);
            let by_bound = pivot.bound.total_cmp(&self.bounds[middle]);
            let earlier = by_bound.then_with(|| columns.id(self.order[middle] as usize).cmp(&pivot.id));
            if earlier.is_lt() { low = middle + 1 } else { high = middle }
        }
        low
    }
}
