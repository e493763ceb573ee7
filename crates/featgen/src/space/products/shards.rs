//! The same search where columns are in shards.
//!
//! Everything that follows a feature is looked at by one shard: what is found, left out and counted then is what is in one process. The
//! features of a batch take turns among the shards, each with what is the best before the batch. For a walk, a shard needs the columns
//! of all features of larger bounds, wherever they are: the driver passes on those that may matter, and only those, and shards keep
//! them for the next questions. A shard that lacks some, as it was lost and loaded again, says which, and is sent them.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::aliases::{Goal, inputs_above};
use super::distinct::{Found, Item, Key, Tops};
use super::search::Search;
use super::{Known, ProductSpace, Rules, advice, scores_of, survey};
use crate::data::{Column, Columns};
use crate::error::{Error, Reason, Result};
use crate::parallel;
use crate::space::Inputs;
use crate::space::ask::Residuals;
use crate::space::ranked::RankedRows;
use crate::space::shards::{self, SentColumn, ShardColumns, Vectors, reply};
use crate::space::topb::Wanted;
use crate::space::work::Work;

/// Bytes of columns that are passed on at a time, at most.
pub(super) const MOST_SENT: u64 = 1 << 30;

/// How often columns are passed on that shards say they lack, before all are.
const TRIES: usize = 3;

/// Values that a shard keeps of the columns of others, beside those that it is asked about.
const MOST_KEPT: usize = 1 << 26;

/// What may be asked about products, and what the answer is.
#[derive(Serialize, Deserialize)]
pub(in crate::space) enum Question<'a> {
    /// What is known of every column: `Vec<Known>`.
    Survey,
    /// The score and the bound of every column: `Vec<[f64; 2]>`.
    Scores { v: Vectors<'a> },
    /// Of each of some products the inputs that are at least as large in all its rows: `Vec<Vec<u64>>`.
    Above { goals: Vec<SentColumn> },
    /// The best of everything that follows some features: [`Walked`].
    Walks(Box<Walks<'a>>),
}

/// Features whose turn it is. Products are spoken of by the positions of their factors in the whole.
#[derive(Serialize, Deserialize)]
pub(in crate::space) struct Walks<'a> {
    rules: Rules,
    v: Vectors<'a>,
    wanted: Wanted,
    /// What is the best before.
    best: [Vec<Met>; 2],
    taken: Cow<'a, [Key]>,
    /// Values that may be read.
    left: u64,
    /// Ids and positions of all features up to the last whose turn it is, by falling bound.
    order: Vec<(u64, u32)>,
    /// The rank of the first whose turn it is.
    first: usize,
    /// The first ids of the shards, which take turns.
    turns: Cow<'a, [u64]>,
    /// Columns of these features that some shards may not have.
    columns: Vec<(u64, SentColumn)>,
}

/// A product: its score, its factors and what tells its column apart.
type Met = (f64, Vec<u32>, Key);

/// What came of walks.
#[derive(Serialize, Deserialize)]
enum Walked {
    /// Nothing, for want of the columns of these ids.
    Lacks(Vec<u64>),
    /// The best, how many products were scored, and how many values were read for it.
    Found { best: [Vec<Met>; 2], scored: u128, read: u64 },
}

fn met(tops: Tops) -> [Vec<Met>; 2] {
    tops.into_sorted()
        .map(|list| list.into_iter().map(|found| (found.score, found.item.0.to_vec(), found.key)).collect())
}

fn tops(wanted: Wanted, met: &[Vec<Met>; 2]) -> Tops {
    let found =
        |(score, factors, key): &Met| Found { score: *score, item: Item(factors[..].into()), key: *key };
    let list = |met: &Vec<Met>| met.iter().map(found).collect();
    Tops::of_lists(wanted, [list(&met[0]), list(&met[1])])
}

// The driver.

pub(super) fn ask_survey(shards: &ShardColumns<'_>) -> Result<Vec<Known>> {
    shards.ask_each(shards::Question::Products(Question::Survey), shards.len())
}

pub(super) fn ask_scores(shards: &ShardColumns<'_>, v: Residuals<'_>, count: usize) -> Result<Vec<[f64; 2]>> {
    shards.ask_each(shards::Question::Products(Question::Scores { v: Vectors::of(v) }), count)
}

impl ProductSpace<'_> {
    /// For each goal, the positions of the inputs that are at least as large in all its rows.
    pub(super) fn ask_inputs_above(
        &self,
        shards: &ShardColumns<'_>,
        goals: &[Goal],
    ) -> Result<Vec<Vec<u32>>> {
        let mut above = vec![Vec::new(); goals.len()];
        let sent = goals.iter().map(|goal| SentColumn::new(&goal.column(), |_| true)).collect();
        let question = shards::Question::Products(Question::Above { goals: sent });
        for reply in shards.ask::<Vec<Vec<u64>>>(question)? {
            for (above, ids) in above.iter_mut().zip(reply) {
                above.extend(ids.into_iter().filter_map(|id| shards.position(id)).map(|p| p as u32));
            }
        }
        Ok(above)
    }

    /// Looks at all products of two and more that may be among the best; returns how many were scored.
    pub(super) fn run_in_shards(&self, search: &mut Search<'_>, shards: &ShardColumns<'_>) -> Result<u128> {
        search.each_batch(|search, ranks| {
            let order = search.order[..ranks.end].iter().map(|&p| (shards.id(p as usize), p)).collect();
            let mut walks = Walks {
                rules: search.rules,
                v: Vectors::of(search.v),
                wanted: search.tops.wanted(),
                best: met(search.tops.clone()),
                taken: search.taken.iter().copied().collect::<BTreeSet<_>>().into_iter().collect(),
                left: search.work.left(),
                order,
                first: ranks.start,
                turns: Cow::Borrowed(shards.firsts()),
                columns: Vec::new(),
            };
            let (mut found, mut scored) = (search.tops.clone(), 0);
            for walked in self.ask_walks(shards, &mut walks)? {
                if let Walked::Found { best, scored: more, read } = walked {
                    found = found.merge(&tops(walks.wanted, &best));
                    scored += more;
                    search.work.add(read)?;
                }
            }
            Ok((found, scored))
        })
    }

    /// Has walks done, for which columns are passed on that shards lack.
    fn ask_walks(&self, shards: &ShardColumns<'_>, walks: &mut Walks<'_>) -> Result<Vec<Walked>> {
        let mut passed_on = self.passed_on.lock().unwrap_or_else(PoisonError::into_inner);
        let mut missing: BTreeSet<u64> = walks.order.iter().map(|(id, _)| *id).collect();
        missing.retain(|id| !passed_on.contains(id));
        for tried in 0..=TRIES {
            walks.columns = self.to_pass_on(shards, &missing)?;
            let question = shards::Question::Products(Question::Walks(Box::new(walks.borrowed())));
            let walked: Vec<Walked> = shards.ask(question)?;
            passed_on.extend(&missing);
            let lacked = |walked: &Walked| match walked {
                Walked::Lacks(ids) => ids.clone(),
                Walked::Found { .. } => Vec::new(),
            };
            missing.extend(walked.iter().flat_map(lacked));
            if walked.iter().all(|walked| matches!(walked, Walked::Found { .. })) {
                return Ok(walked);
            }
            if tried + 1 == TRIES {
                missing.extend(walks.order.iter().map(|(id, _)| *id));
            }
        }
        Err(Error::Data("shards lose the columns that they are sent".into()))
    }

    /// The columns of these ids. An error if they are too many to be passed on.
    fn to_pass_on(&self, shards: &ShardColumns<'_>, ids: &BTreeSet<u64>) -> Result<Vec<(u64, SentColumn)>> {
        let positions: Vec<usize> = ids.iter().filter_map(|&id| shards.position(id)).collect();
        let values: u64 = positions.iter().map(|&p| u64::from(self.columns[p].support)).sum();
        let bytes = RankedRows::value_size(self.rules.binary).saturating_mul(values);
        if bytes > MOST_SENT {
            let reason = format!(
                "the columns that products may be made of have {values} values, too many to be passed on between shards; "
            );
            return Err(Error::GivenUp(Reason::from(reason).and(advice())));
        }
        let columns = shards.gather(&positions);
        let sent = |column: &Column| SentColumn::new(column, |_| true);
        Ok(ids.iter().copied().zip(columns.iter().map(sent)).collect())
    }
}

impl Walks<'_> {
    /// The same, to be sent.
    fn borrowed(&mut self) -> Walks<'_> {
        Walks {
            rules: self.rules,
            v: Vectors { v: Cow::Borrowed(&self.v.v), outputs: self.v.outputs },
            wanted: self.wanted,
            best: self.best.clone(),
            taken: Cow::Borrowed(&self.taken),
            left: self.left,
            order: self.order.clone(),
            first: self.first,
            turns: Cow::Borrowed(&self.turns),
            columns: std::mem::take(&mut self.columns),
        }
    }
}

// A shard.

/// Columns of other shards, by their ids.
#[derive(Default)]
pub(in crate::space) struct Factors(Mutex<HashMap<u64, Arc<SentColumn>>>);

/// The reply to a question.
pub(in crate::space) fn answer(
    question: &Question<'_>,
    inputs: Inputs<'_>,
    factors: &Factors,
) -> Result<Vec<u8>> {
    let columns = inputs.columns();
    Ok(match question {
        Question::Survey => reply(&survey(&inputs)?),
        Question::Scores { v } => {
            let v = v.checked(inputs.rows())?;
            let (len, batch) = (columns.len(), columns.batch().max(1));
            let part = |task: usize| scores_of(&inputs, task * batch..len.min((task + 1) * batch), v);
            reply(&parallel::map(len.div_ceil(batch), part).concat())
        }
        Question::Above { goals } => {
            goals.iter().try_for_each(|goal| goal.check(inputs.rows()))?;
            let goals: Vec<Goal> = goals.iter().map(Goal::sent).collect();
            let filled = |position: usize| columns.filled(position) as u32;
            let above = inputs_above(&inputs, &goals, filled)?;
            let ids = |positions: Vec<u32>| positions.into_iter().map(|p| columns.id(p as usize)).collect();
            reply(&above.into_iter().map(ids).collect::<Vec<Vec<u64>>>())
        }
        Question::Walks(walks) => match walks.walk(columns, factors) {
            // The driver knows how much is too much, and says so.
            Err(Error::GivenUp(_)) => {
                reply(&Walked::Found { best: <_>::default(), scored: 0, read: u64::MAX })
            }
            walked => reply(&walked?),
        },
    })
}

impl Walks<'_> {
    fn walk(&self, columns: &dyn Columns, factors: &Factors) -> Result<Walked> {
        let v = self.v.checked(columns.rows())?;
        self.columns.iter().try_for_each(|(_, column)| column.check(v.rows))?;
        let nothing = Walked::Found { best: <_>::default(), scored: 0, read: 0 };
        let turn = |&id: &u64| !columns.is_empty() && columns.id(0) == id;
        let Some(turn) = self.turns.iter().position(turn) else { return Ok(nothing) };
        let mine = |rank: usize| rank >= self.first && (rank - self.first) % self.turns.len() == turn;
        if !(self.first..self.order.len()).any(mine) {
            return Ok(nothing);
        }
        let others = factors.others(self, columns);
        let lacked = |(id, _): &&(u64, u32)| columns.position(*id).is_none() && !others.contains_key(id);
        let lacks: Vec<u64> = self.order.iter().filter(lacked).map(|(id, _)| *id).collect();
        if !lacks.is_empty() {
            return Ok(Walked::Lacks(lacks));
        }
        let values = |id: u64| {
            let mut values = Vec::new();
            match (columns.position(id), others.get(&id)) {
                (Some(at), _) => {
                    columns.see(at, |column| column.each_nonzero(|row, x| values.push((row, x))))
                }
                (None, Some(column)) => column.view().each_nonzero(|row, x| values.push((row, x))),
                (None, None) => {}
            }
            values
        };
        let mut counts = vec![0u32; v.rows];
        for (id, _) in &self.order {
            values(*id).iter().for_each(|(row, _)| counts[*row as usize] += 1);
        }
        let (work, taken) = (Work::new(self.left, None, advice()), self.taken.iter().copied().collect());
        let mut search = Search {
            rules: self.rules,
            v,
            order: self.order.iter().map(|(_, position)| *position).collect(),
            bounds: Vec::new(),
            rows: RankedRows::with_room(counts, self.rules.binary, |_| true),
            tops: tops(self.wanted, &self.best),
            taken: &taken,
            work: &work,
        };
        let mut pivots = Vec::new();
        for (rank, (id, _)) in self.order.iter().enumerate() {
            let pivot = search.pivot(rank as u32, &values(*id));
            pivots.extend(mine(rank).then_some((rank as u32, pivot)));
        }
        let (found, scored) = search.score(self.order.len(), &pivots)?;
        Ok(Walked::Found { best: met(found), scored, read: work.done() })
    }
}

impl Factors {
    /// Those columns of other shards that walks are about, as far as they are known here. What was sent is kept for later.
    fn others(&self, walks: &Walks<'_>, own: &dyn Columns) -> HashMap<u64, Arc<SentColumn>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let foreign = walks.columns.iter().filter(|(id, _)| own.position(*id).is_none());
        kept.extend(foreign.map(|(id, column)| (*id, Arc::new(column.clone()))));
        let known = |(id, _): &(u64, u32)| Some((*id, Arc::clone(kept.get(id)?)));
        let others: HashMap<u64, Arc<SentColumn>> = walks.order.iter().filter_map(known).collect();
        if kept.values().map(|column| column.len()).sum::<usize>() > MOST_KEPT {
            kept.retain(|id, _| others.contains_key(id));
        }
        others
    }
}

impl Goal {
    fn column(&self) -> Column {
        let (rows, values) = self.entries.iter().copied().unzip();
        Column::Sparse { rows, values }
    }

    /// From what was sent; only where it is not 0 is known.
    fn sent(column: &SentColumn) -> Self {
        let mut entries = Vec::new();
        column.view().each_nonzero(|row, x| entries.push((row, x)));
        Self { item: Item(Arc::new([])), key: Key::default(), entries }
    }
}
