//! A shard: some columns, and the answers to questions about them.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use super::message::{Best, Facts, Question, Request, Search, Vectors, Weighing, read_request, write_reply};
use crate::context::Context;
use crate::data::{Columns, Except, Outputs};
use crate::digest::digest;
use crate::error::{Error, Result};
use crate::parallel;
use crate::space::additive::{AdditiveSpace, CurveSearch, Curves};
use crate::space::ask::Residuals;
use crate::space::topb::{TopB, Tops};
use crate::space::{Inputs, LinearSpace, Scale, poly, products};

/// The columns of a shard. What it answers depends on them and on the request alone; what is remembered from one request to the next
/// only saves time.
pub struct ShardServer {
    columns: Box<dyn Columns>,
    context: Context,
    scale: Memory<Scale>,
    curves: Memory<Vec<f64>>,
    partners: Memory<poly::shards::Partners>,
    factors: products::shards::Factors,
}

/// The last of what was made, each with a number that stands for what it was made for.
pub(in crate::space) type Memory<T> = Mutex<VecDeque<(u64, Arc<T>)>>;

/// How many are remembered of what is small: folds that run side by side each have their own.
const REMEMBERED: usize = 8;

impl ShardServer {
    /// Answers for these columns, which have the ids that they have in the whole: see [`Part`](crate::data::Part). The memory of the
    /// context bounds copies that only save time.
    pub fn new(columns: Box<dyn Columns>, context: &Context) -> Self {
        Self {
            columns,
            context: context.clone(),
            scale: Mutex::default(),
            curves: Mutex::default(),
            partners: Mutex::default(),
            factors: products::shards::Factors::default(),
        }
    }

    /// The columns.
    pub fn columns(&self) -> &dyn Columns {
        &*self.columns
    }

    /// The reply to a request. It is a reply also where something is wrong: the driver reads what.
    pub fn answer(&self, request: &[u8]) -> Vec<u8> {
        let answered = self.context.run(|| {
            let request = read_request(request)?;
            let hidden = Except::new(&*self.columns, request.hidden.iter().copied());
            let columns: &dyn Columns = if request.hidden.is_empty() { &*self.columns } else { &hidden };
            let shard = Shard { server: self, columns, inputs: Inputs::over(columns).context(&self.context) };
            shard.answer(&request)
        });
        let failed = |error: Error| write_reply(&Err::<(), _>(error.into()));
        answered.and_then(|answer| answer).unwrap_or_else(failed)
    }
}

/// What `make` makes, unless the same was one of the last `most` that were made. The number stands for all that it depends on.
///
/// Nothing is locked while it is made: a thread that waits for others in the middle of it may take up another request, which asks
/// here too.
pub(in crate::space) fn remembered<T>(
    memory: &Memory<T>,
    number: u64,
    most: usize,
    make: impl FnOnce() -> Result<T>,
) -> Result<Arc<T>> {
    let last = || memory.lock().unwrap_or_else(PoisonError::into_inner);
    // Room is made first: what is remembered may be large.
    let make_room = |last: &mut VecDeque<_>| last.truncate(most.saturating_sub(1));
    {
        let mut last = last();
        if let Some((_, made)) = last.iter().find(|(known, _)| *known == number) {
            return Ok(Arc::clone(made));
        }
        make_room(&mut last);
    }
    let made = Arc::new(make()?);
    let mut last = last();
    make_room(&mut last);
    last.push_front((number, Arc::clone(&made)));
    Ok(made)
}

/// A shard as one request sees it.
struct Shard<'s> {
    server: &'s ShardServer,
    columns: &'s dyn Columns,
    inputs: Inputs<'s>,
}

impl Shard<'_> {
    /// The columns as features, scored roughly first where there is memory for that.
    fn linear<'i>(&self, inputs: Inputs<'i>) -> LinearSpace<'i> {
        LinearSpace::from(inputs).for_one_search(self.server.context.memory_allowed().unwrap_or(u64::MAX))
    }

    fn answer(&self, request: &Request<'_>) -> Result<Vec<u8>> {
        let hidden = &request.hidden;
        Ok(match &request.question {
            Question::Facts => reply(&self.facts()),
            Question::Filled => {
                let filled = (0..self.columns.len()).map(|position| self.columns.filled(position) as u32);
                reply(&filled.collect::<Vec<u32>>())
            }
            Question::Largest => reply(&self.inputs.largest()?),
            Question::Sums { ids, v, squared } => {
                let ids = ids.start..ids.end.max(ids.start);
                reply(&self.sums(self.inputs.positions(&ids), v.checked(self.columns.rows())?, *squared))
            }
            Question::Moments { weights } => {
                self.check_length(weights)?;
                reply(&self.each_batch(|range| self.columns.moments(range, weights)).concat())
            }
            Question::Columns { ids } => {
                let (ids, positions) = self.present(ids);
                reply(&ids.into_iter().zip(self.columns.gather(&positions)).collect::<Vec<_>>())
            }
            Question::ByScore { search } => {
                let v = search.v.checked(self.columns.rows())?;
                self.weighed(hidden, search.weighing.as_ref(), |inputs| {
                    let tops = self.linear(inputs).by_score(v, search.wanted, &self.taken(search))?;
                    Ok(reply(&self.found(tops, self.columns.len() as u128)))
                })?
            }
            Question::ByGain { search, gain } => {
                let v = search.v.checked(self.columns.rows())?;
                self.check_curvature(&gain.curvature, &search.v)?;
                self.weighed(hidden, search.weighing.as_ref(), |inputs| {
                    let space = self.linear(inputs);
                    let tops = space.by_every_gain(v, gain, search.wanted, &self.taken(search))?;
                    Ok(reply(&self.found(tops, self.columns.len() as u128)))
                })?
            }
            Question::Gains { weighing, v, gain, ids } => {
                let residuals = v.checked(self.columns.rows())?;
                self.check_curvature(&gain.curvature, v)?;
                let (ids, positions) = self.present(ids);
                self.weighed(hidden, weighing.as_ref(), |inputs| {
                    let gains = inputs.gains_at(&positions, residuals, gain)?;
                    Ok(reply(&ids.into_iter().zip(gains).collect::<Vec<_>>()))
                })?
            }
            Question::CurveScales { curves } => reply(&*self.curve_scales(hidden, curves)?),
            Question::SomeCurves { curves, search, ids } => {
                let (_, positions) = self.present(ids);
                let positions: Vec<u32> = positions.into_iter().map(|p| p as u32).collect();
                self.best_curves(hidden, curves, search, |space, ask| space.score_some(ask, &positions))?
            }
            Question::OtherCurves { curves, search, done, floor } => {
                let (_, positions) = self.present(done);
                let done: Vec<u32> = positions.into_iter().map(|p| p as u32).collect();
                self.best_curves(hidden, curves, search, |space, ask| space.score_others(ask, &done, *floor))?
            }
            Question::Poly(question) => {
                poly::shards::answer(question, hidden, self.inputs, &self.server.partners)?
            }
            Question::Products(question) => {
                products::shards::answer(question, self.inputs, &self.server.factors)?
            }
        })
    }

    fn facts(&self) -> Facts {
        let columns = self.columns;
        let mut ids: Vec<Range<u64>> = Vec::new();
        for id in (0..columns.len()).map(|position| columns.id(position)) {
            match ids.last_mut().filter(|last| last.end == id) {
                Some(last) => last.end = id + 1,
                None => ids.push(id..id + 1),
            }
        }
        Facts {
            rows: columns.rows(),
            dimension: columns.dimension(),
            nonzeros: columns.nonzeros(),
            ids,
            bytes_by_rows: columns.bytes_by_rows(),
            value_bytes: columns.value_bytes(),
            ones: columns.all_ones(),
        }
    }

    /// Those of some columns that are here, in order: their ids and positions.
    fn present(&self, ids: &[u64]) -> (Vec<u64>, Vec<usize>) {
        let mut present: Vec<(u64, usize)> =
            ids.iter().filter_map(|&id| Some((id, self.columns.position(id)?))).collect();
        present.sort_unstable();
        present.into_iter().unzip()
    }

    fn taken(&self, search: &Search<'_>) -> Vec<usize> {
        self.present(&search.taken).1
    }

    fn check_length(&self, numbers: &[f64]) -> Result<()> {
        let (held, rows) = (numbers.len(), self.columns.rows());
        let other = || Error::Data(format!("{held} numbers for {rows} rows"));
        (held == rows).then_some(()).ok_or_else(other)
    }

    fn check_curvature(&self, curvature: &[f64], v: &Vectors<'_>) -> Result<()> {
        let other = || Error::Data("a curvature of another length than residuals".into());
        (curvature.len() == v.v.len()).then_some(()).ok_or_else(other)
    }

    /// What `make` makes of every batch of columns, in order.
    fn each_batch<T: Send>(&self, make: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
        let (len, batch) = (self.columns.len(), self.columns.batch().max(1));
        let part = |task: usize| make(task * batch..len.min((task + 1) * batch));
        parallel::map(len.div_ceil(batch), part)
    }

    /// The sums of a range of columns, output after output.
    fn sums(&self, range: Range<usize>, v: Residuals<'_>, squared: bool) -> Vec<f64> {
        let (laid, width) = (Outputs::new(v.v, v.rows), range.len());
        let parts = self.each_batch(|batch| {
            let part =
                batch.start.max(range.start)..batch.end.min(range.end).max(batch.start.max(range.start));
            let mut sums = vec![0.0; v.outputs * part.len()];
            match squared {
                _ if part.is_empty() => {}
                true => self.columns.square_dots(part, v.v, &mut sums),
                false => self.columns.dots_with(part, &laid, &mut sums),
            }
            sums
        });
        let mut sums = Vec::with_capacity(v.outputs * width);
        for k in 0..v.outputs {
            for part in &parts {
                let width = part.len() / v.outputs;
                sums.extend(&part[k * width..(k + 1) * width]);
            }
        }
        sums
    }

    /// What `see` sees of the columns as they are weighed.
    fn weighed<T>(
        &self,
        hidden: &[u64],
        weighing: Option<&Weighing<'_>>,
        see: impl FnOnce(Inputs<'_>) -> Result<T>,
    ) -> Result<T> {
        let Some(Weighing { scaling, weights }) = weighing else { return see(self.inputs) };
        let weights = weights.as_deref();
        weights.map_or(Ok(()), |weights| self.check_length(weights))?;
        let number = digest((hidden, scaling.name(), weights.map(bytemuck::cast_slice::<f64, u64>)));
        let make = || Scale::new(*scaling, &self.inputs, weights);
        let scale = remembered(&self.server.scale, number, REMEMBERED, make)?;
        see(self.inputs.scaled(&scale))
    }

    fn curve_scales(&self, hidden: &[u64], curves: &Curves) -> Result<Arc<Vec<f64>>> {
        curves.counts().map_or(Ok(()), |counts| self.check_length(counts))?;
        let written = postcard::to_allocvec(curves).unwrap_or_default();
        let number = digest((hidden, written));
        remembered(&self.server.curves, number, REMEMBERED, || curves.scales(&self.inputs))
    }

    fn best_curves(
        &self,
        hidden: &[u64],
        curves: &Curves,
        search: &Search<'_>,
        find: impl FnOnce(&AdditiveSpace<'_>, &CurveSearch<'_>) -> Result<(Tops<u32>, u128)>,
    ) -> Result<Vec<u8>> {
        let v = search.v.checked(self.columns.rows())?;
        let scales = self.curve_scales(hidden, curves)?;
        let space = AdditiveSpace::with_scales(self.inputs, curves.clone(), scales.to_vec());
        let taken = self.taken(search).into_iter().map(|p| p as u32).collect();
        let (tops, scored) = find(&space, &CurveSearch::new(v, search.wanted, taken))?;
        Ok(reply(&self.found(tops.map(|p| p as usize), scored)))
    }

    /// What was found, by ids.
    fn found(&self, tops: Tops<usize>, scored: u128) -> Best {
        let named = |top: TopB<usize>| {
            top.into_sorted().into_iter().map(|found| (found.score, self.columns.id(found.item))).collect()
        };
        Best { best: named(tops.best), fresh: named(tops.fresh), scored }
    }
}

pub(in crate::space) fn reply(reply: &impl Serialize) -> Vec<u8> {
    write_reply(&Ok(reply))
}
