//! All products of two input features, with the inputs themselves and a constant, as the kernel `(gamma x.z + r)^2`
//! weighs them: r; sqrt(2 gamma r) x_j; gamma x_j^2; sqrt(2) gamma x_j x_k. There may be 10^13 of them; few are looked at.
//!
//! The score of a pair is `|sum_i v_i x_ij x_ik|`, by Cauchy and Schwarz at most `m_j m_k` with `m_j^2 = sum_i |v_i| x_ij^2`.
//! If no feature has values of both signs, the terms of the sum are positive where `v_i` is, or the other way round, so
//! that `m_j^2` may be the larger of the sums over positive and over negative `v_i`.
//!
//! Features come in order of falling `m`. Each is multiplied with those before it, whose values stand by rows in that
//! same order: a row is read until its features are too small for the pair to be among the best, and the search ends with
//! the first feature that is too small even beside the largest. What was not read cannot win, so the result is exact.
//!
//! A column is not read at all if it holds too few values: no sum over it is larger than their number times the largest value
//! and the largest `|v_i|`. Sums of features that occur in many rows are kept together and rows read one after the other;
//! rare features have the rows read that hold them. Both add up in the same order, to the same last digit.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::inputs::LARGEST_SUM;
use super::ranked::RankedRows;
use super::topb::Tops;
use super::work::{Limits, Work};
use super::{Candidate, Feature, FeatureSpace, Group, Inputs, WorstCase};
use crate::error::{Error, Result};

/// The features of the polynomial kernel of degree two.
pub struct PolySpace<'a> {
    inputs: Inputs<'a>,
    gamma: f64,
    coef0: f64,
    /// Positions of the inputs that may form products; all if `None`.
    factors: Option<Vec<bool>>,
    pruned: bool,
    /// Positions of the inputs, those that hold the most values first.
    longest: Vec<u32>,
    values: Values,
    limits: Limits,
}

/// What is known of all values, whatever the duals.
#[derive(Debug, Clone, Copy)]
struct Values {
    /// Whether no feature has values of both signs.
    one_signed: bool,
    /// The largest, without its sign.
    largest: f64,
}

/// A feature by the positions of its inputs. Ordered as [`Feature`]s are: inputs, the constant, products.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Input(u32),
    Constant,
    Product(u32, u32),
}

/// Inputs by their positions, with their bounds `m`.
type Bounds = Vec<(u32, f64)>;

/// Room for rounding between a bound and what it bounds.
const ROUNDING: f64 = 1e-9;

/// Features that are taken together: first few, for the first pairs decide how much can be skipped; later many.
const FIRST_BATCH: usize = 16;
const LARGEST_BATCH: usize = 1 << 12;

/// Sums that are kept at once while rows are read from the first to the last: as many as stay in a cache.
const ROOM: usize = 1 << 18;
/// Features that a thread takes together, at least: a list of the best is made for them.
const FEWEST_TOGETHER: usize = 16;
/// Rows are read from the first to the last where so many rows, or fewer, have one value of the features at hand.
const PER_ROW: usize = 4;
/// Work is reported when there is this much.
const WORTH_REPORTING: usize = 1 << 16;

/// Inputs whose scores decide which others are read at all.
const LONGEST: usize = 1 << 10;
/// Inputs that are read together where they are no neighbours.
const TOGETHER: usize = 1 << 6;

const ADVICE: &str = "name the features that may be multiplied with --only";

impl<'a> PolySpace<'a> {
    /// Products of the features of `inputs` for the kernel `(gamma x.z + coef0)^2`.
    pub fn new(inputs: Inputs<'a>, gamma: f64, coef0: f64) -> Result<Self> {
        if !(gamma.is_finite() && gamma > 0.0) {
            return Err(Error::parameter("gamma", format!("must be a finite number above 0, not {gamma}")));
        }
        if !(coef0.is_finite() && coef0 >= 0.0) {
            return Err(Error::parameter(
                "coef0",
                format!("must be a finite number of at least 0, not {coef0}"),
            ));
        }
        if u32::try_from(inputs.columns().len()).is_err() {
            return Err(Error::Data("more columns than products can be made of".into()));
        }
        let (values, columns) = (Values::of(&inputs), inputs.columns());
        let mut longest: Vec<u32> = (0..columns.len() as u32).collect();
        longest.par_sort_unstable_by_key(|&p| (Reverse(columns.held(p as usize)), p));
        let limits = Limits::default();
        Ok(Self { inputs, gamma, coef0, factors: None, pruned: true, longest, values, limits })
    }

    /// Lets only these inputs, given by their ids, form products and squares.
    pub fn only(mut self, ids: impl IntoIterator<Item = u64>) -> Self {
        self.factors = Some(self.inputs.marked(ids));
        self
    }

    /// Values that a worst case may read before it is given up with an error [default: [`MOST_WORK`](super::MOST_WORK)].
    pub fn most_work(mut self, values: u64) -> Self {
        self.limits.work = values;
        self
    }

    /// Ends a search with an error soon after the flag is set; give the flag to [`Machine::interrupt`](crate::Machine::interrupt)
    /// too, and the run ends with the model so far.
    pub fn interrupt(mut self, flag: Arc<AtomicBool>) -> Self {
        self.limits.interrupt = flag;
        self
    }

    /// Looks at every pair that occurs, whatever its bound, for comparison. The result is the same.
    pub fn exhaustive(mut self) -> Self {
        self.pruned = false;
        self
    }

    fn coefficient(&self, item: Item) -> f64 {
        match item {
            Item::Input(_) => (2.0 * self.gamma * self.coef0).sqrt(),
            Item::Constant => self.coef0,
            Item::Product(j, k) if j == k => self.gamma,
            Item::Product(..) => std::f64::consts::SQRT_2 * self.gamma,
        }
    }

    fn feature(&self, item: Item) -> Feature {
        let id = |position: u32| self.inputs.columns().id(position as usize);
        match item {
            Item::Input(j) => Feature::Input(id(j)),
            Item::Constant => Feature::Product(Vec::new()),
            Item::Product(j, k) => Feature::Product(vec![id(j), id(k)]),
        }
    }

    fn item(&self, candidate: &Candidate) -> Option<Item> {
        let Candidate::Feature(feature) = candidate else { return None };
        let position = |id: u64| self.inputs.columns().position(id).map(|p| p as u32);
        match feature {
            Feature::Input(id) => position(*id).map(Item::Input),
            Feature::Product(ids) => match ids[..] {
                [] => Some(Item::Constant),
                [j, k] if j <= k => Some(Item::Product(position(j)?, position(k)?)),
                _ => None,
            },
            Feature::Step(_) | Feature::Wave(_) => None,
        }
    }

    fn is_factor(&self, position: usize) -> bool {
        self.factors.as_ref().is_none_or(|factors| factors[position])
    }

    /// The inputs that may matter, if `may` says so of the largest `sum of |v_i x_i|` that columns of their length can have;
    /// those that hold the most values first. It holds for all that are longer than one that it holds for.
    fn long(&self, largest: f64, may: impl Fn(f64) -> bool) -> &[u32] {
        let columns = self.inputs.columns();
        let reach = |p: u32| columns.held(p as usize) as f64 * largest * self.values.largest;
        // Sums that may be too large to compute with are looked at in any case.
        let read = |reach: f64| !self.pruned || reach > LARGEST_SUM || may(reach);
        let count = self.longest.partition_point(|&p| read(reach(p)));
        &self.longest[..count]
    }

    /// Offers the constant and the inputs; returns how many of these were scored. `largest` is the largest of the `|v_i|`.
    fn score_inputs(
        &self,
        v: &[f64],
        largest: f64,
        mut tops: Tops<Item>,
        taken: &[Item],
    ) -> Result<(Tops<Item>, usize)> {
        let (constant, linear) = (self.coefficient(Item::Constant), self.coefficient(Item::Input(0)));
        let budget = tops.best.capacity();
        let sum = crate::ordered::sum(v.len(), |i| v[i]);
        tops.offer(constant * sum.abs(), Item::Constant, taken);
        // A few long columns first: beside them most others need not be read. Where inputs do not count, none need.
        let mut done = 0;
        if self.longest.len() > LONGEST && linear > 0.0 {
            tops = tops.merge(self.score_columns(&self.longest[..LONGEST], v, budget, taken)?);
            done = LONGEST;
        }
        let nothing = |score: f64| score <= 0.0 || is_below(score, tops.threshold());
        let long = self.long(largest, |reach| !nothing(linear * reach));
        if long.len() > self.longest.len() / 2 {
            // Neighbours are best read together; what was offered already is not offered again.
            let mut again = vec![false; self.longest.len()];
            self.longest[..done].iter().for_each(|&p| again[p as usize] = true);
            let best_of = |range: Range<usize>, sums: &[f64]| {
                let mut tops = Tops::new(budget);
                for (position, sum) in range.zip(sums).filter(|(position, _)| !again[*position]) {
                    tops.offer(linear * sum.abs(), Item::Input(position as u32), taken);
                }
                tops
            };
            if let Some(inputs) = self.inputs.pulls(v, best_of, Tops::merge)? {
                tops = tops.merge(inputs);
            }
            return Ok((tops, self.longest.len()));
        }
        let scored = done.max(long.len());
        let tops = tops.merge(self.score_columns(&self.longest[done..scored], v, budget, taken)?);
        Ok((tops, scored))
    }

    /// The best of some inputs.
    fn score_columns(
        &self,
        positions: &[u32],
        v: &[f64],
        budget: usize,
        taken: &[Item],
    ) -> Result<Tops<Item>> {
        let linear = self.coefficient(Item::Input(0));
        let best_of = |positions: &[u32]| {
            let mut tops = Tops::new(budget);
            for &position in positions {
                let sum = self.inputs.pull(position as usize, v)?;
                tops.offer(linear * sum.abs(), Item::Input(position), taken);
            }
            Ok(tops)
        };
        let parts = positions.par_chunks(TOGETHER).map(best_of);
        parts.try_reduce(|| Tops::new(budget), |a, b| Ok(a.merge(b)))
    }

    /// Offers the squares; returns the bounds `m` of those inputs that may be factors of something good.
    fn score_squares(
        &self,
        v: &[f64],
        largest: f64,
        mut tops: Tops<Item>,
        taken: &[Item],
    ) -> (Tops<Item>, Bounds) {
        let columns = self.inputs.columns();
        let (budget, pair) = (tops.best.capacity(), self.coefficient(Item::Product(0, 1)));
        let square = |reach: f64| reach * self.values.largest;
        let most = self.longest.first().map_or(0, |&p| columns.held(p as usize)) as f64;
        let most = square(most * largest * self.values.largest);
        let offer = |(position, [up, down]): (u32, [f64; 2]), tops: &mut Tops<Item>| {
            let item = Item::Product(position, position);
            tops.offer(self.gamma * (up - down).abs(), item, taken);
            let bound = if self.values.one_signed { up.max(down) } else { up + down }.sqrt();
            (bound > 0.0).then_some((position, bound))
        };
        let part = |positions: &[u32], sums: Vec<[f64; 2]>| {
            let mut tops = Tops::new(budget);
            let sums = positions.iter().copied().zip(sums).filter(|(p, _)| self.is_factor(*p as usize));
            let bounds: Bounds = sums.filter_map(|sums| offer(sums, &mut tops)).collect();
            (tops, bounds)
        };
        let some = |positions: &[u32]| {
            let sums = |&p: &u32| columns.square_dots(p as usize..p as usize + 1, v)[0];
            part(positions, positions.iter().map(sums).collect())
        };
        let mut bounds = Vec::new();
        let mut add = |parts: Vec<(Tops<Item>, Bounds)>, mut tops: Tops<Item>| {
            for (best, more) in parts {
                tops = tops.merge(best);
                bounds.extend(more);
            }
            tops
        };
        // A few long columns first, as with inputs.
        let done = if self.longest.len() > LONGEST { LONGEST } else { 0 };
        tops = add(self.longest[..done].par_chunks(TOGETHER).map(some).collect(), tops);
        // As good as a square, or as a factor beside the largest.
        let long = self.long(largest, |reach| {
            let score = (self.gamma * square(reach)).max(pair * (square(reach) * most).sqrt());
            !is_below(score, tops.threshold())
        });
        if long.len() <= self.longest.len() / 2 {
            let rest = &long[done.min(long.len())..];
            tops = add(rest.par_chunks(TOGETHER).map(some).collect(), tops);
            return (tops, bounds);
        }
        // Neighbours are best read together; what was offered already is not offered again.
        let all: Vec<u32> = (0..self.longest.len() as u32).collect();
        let mut again = vec![false; all.len()];
        self.longest[..done].iter().for_each(|&p| again[p as usize] = true);
        let batch = |positions: &[u32]| {
            let first = positions[0] as usize;
            let sums = columns.square_dots(first..first + positions.len(), v);
            let new = positions.iter().zip(sums).filter(|(p, _)| !again[**p as usize]);
            let (positions, sums): (Vec<u32>, Vec<_>) = new.map(|(&p, sums)| (p, sums)).unzip();
            part(&positions, sums)
        };
        tops = add(all.par_chunks(columns.batch()).map(batch).collect(), tops);
        (tops, bounds)
    }
}

/// Whether a bound is below a threshold, with room for rounding. Bounds that are no numbers are not.
fn is_below(bound: f64, threshold: f64) -> bool {
    bound < threshold * (1.0 - ROUNDING)
}

impl FeatureSpace for PolySpace<'_> {
    fn inputs(&self) -> &Inputs<'_> {
        &self.inputs
    }

    fn size(&self) -> u128 {
        let m = u128::from(self.inputs.dimension());
        let factors =
            self.factors.as_ref().map_or(m, |factors| factors.iter().filter(|f| **f).count() as u128);
        1 + m + factors * (factors + 1) / 2
    }

    fn worst_case(&self, v: &[f64], budget: usize, taken: &HashSet<Candidate>) -> Result<WorstCase> {
        let mut taken: Vec<Item> = taken.iter().filter_map(|candidate| self.item(candidate)).collect();
        taken.sort_unstable();
        // Nothing is left out beside values that are no numbers: they are found, and named.
        let finite = v.iter().all(|v| v.is_finite());
        let largest =
            if finite { v.iter().fold(0.0, |most: f64, v| most.max(v.abs())) } else { f64::INFINITY };
        let (tops, inputs) = self.score_inputs(v, largest, Tops::new(budget), &taken)?;
        let (tops, bounds) = self.score_squares(v, largest, tops, &taken);
        let scored = 1 + inputs + bounds.len();
        let mut search = Search::new(self, v, bounds, tops, &taken);
        let pairs = search.run()?;
        let tops = search.tops;
        Ok(WorstCase::new(tops, scored as u128 + pairs, |item| Candidate::Feature(self.feature(item))))
    }

    fn group(&self, candidate: &Candidate) -> Result<Group> {
        let mut group = Group::alone(candidate)?;
        let item = self.item(candidate).ok_or_else(|| Error::Data(format!("no feature {candidate:?}")))?;
        group.scale = self.coefficient(item);
        Ok(group)
    }
}

impl Values {
    fn of(inputs: &Inputs<'_>) -> Self {
        let columns = inputs.columns();
        let none = || Self { one_signed: true, largest: 0.0 };
        let one = |position: usize| {
            let (mut signs, mut values) = ([false; 2], none());
            for (_, x) in columns.gather(&[position])[0].entries() {
                signs = [signs[0] || x < 0.0, signs[1] || x > 0.0];
                values.largest = values.largest.max(if x.is_finite() { x.abs() } else { f64::INFINITY });
            }
            values.one_signed = signs != [true; 2];
            values
        };
        let both = |a: Self, b: Self| Self {
            one_signed: a.one_signed && b.one_signed,
            largest: a.largest.max(b.largest),
        };
        match columns.all_ones() {
            true => Self { one_signed: true, largest: 1.0 },
            false => (0..columns.len()).into_par_iter().map(one).reduce(none, both),
        }
    }
}

/// The search for pairs at given duals.
struct Search<'a> {
    space: &'a PolySpace<'a>,
    v: &'a [f64],
    /// Which instances have dual weight: asked for often, so that it matters how small it is.
    weighs: Vec<bool>,
    /// Positions of the features that may be in a pair worth looking at, by falling bound.
    order: Vec<u32>,
    /// Their bounds.
    bounds: Vec<f64>,
    rows: RankedRows,
    tops: Tops<Item>,
    taken: &'a [Item],
    work: Work<'a>,
    /// Sums that no thread uses, all 0.
    spare: Mutex<Vec<Vec<f64>>>,
}

impl<'a> Search<'a> {
    fn new(
        space: &'a PolySpace<'a>,
        v: &'a [f64],
        mut bounds: Bounds,
        tops: Tops<Item>,
        taken: &'a [Item],
    ) -> Self {
        let largest = bounds.iter().fold(0.0, |most: f64, &(_, m)| most.max(m));
        let (order, rows, work) = (Vec::new(), RankedRows::default(), Work::new(&space.limits, ADVICE));
        let weighs = v.iter().map(|v| *v != 0.0).collect();
        let spare = Mutex::default();
        let mut search = Self { space, v, weighs, order, bounds: Vec::new(), rows, tops, taken, work, spare };
        let least = search.least_partner(largest);
        bounds.retain(|&(_, m)| m >= least);
        bounds.par_sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        (search.order, search.bounds) = bounds.into_iter().unzip();
        search
    }

    /// The smallest bound with which a feature can still make a good pair with one of bound `m`.
    fn least_partner(&self, m: f64) -> f64 {
        if !self.space.pruned {
            return 0.0;
        }
        let needed = self.tops.threshold().max(0.0) * (1.0 - ROUNDING);
        needed / (self.space.coefficient(Item::Product(0, 1)) * m)
    }

    /// Looks at all pairs that may be among the best; returns how many were scored.
    fn run(&mut self) -> Result<u128> {
        let (mut scored, mut first, mut batch) = (0, 0, FIRST_BATCH);
        let columns = self.space.inputs.columns();
        self.rows =
            RankedRows::new(columns, &self.order, columns.all_ones(), |row| self.weighs[row as usize]);
        while first < self.order.len() {
            // Later features have smaller bounds: if the largest partner is not enough, none is.
            if self.bounds[0] < self.least_partner(self.bounds[first]) {
                break;
            }
            let last = self.order.len().min(first + batch);
            let columns = self.columns(first..last);
            self.rows.append(first as u32, &columns);
            let (tops, pairs) = self.score(first, &columns)?;
            self.tops = std::mem::replace(&mut self.tops, Tops::new(0)).merge(tops);
            scored += pairs;
            first = last;
            batch = (2 * batch).min(LARGEST_BATCH);
        }
        Ok(scored)
    }

    /// The columns of some features, without instances that have no dual weight.
    fn columns(&self, ranks: Range<usize>) -> Vec<Vec<(u32, f64)>> {
        let columns = self.space.inputs.columns();
        let one = |&position: &u32| {
            let mut entries = Vec::new();
            if !columns.short_column(position as usize, usize::MAX, &mut entries) {
                columns.gather(&[position as usize])[0].each_nonzero(|row, x| entries.push((row, x)));
            }
            entries.retain(|&(row, x)| self.weighs[row as usize] && x != 0.0);
            entries
        };
        self.order[ranks].par_iter().map(one).collect()
    }

    /// Multiplies each of a batch of features, whose ranks begin with `first`, with all before it that may matter.
    fn score(&self, first: usize, columns: &[Vec<(u32, f64)>]) -> Result<(Tops<Item>, u128)> {
        let width = first + columns.len();
        let budget = self.tops.best.capacity();
        let share = columns.len().div_ceil(rayon::current_num_threads());
        let together = share.min((ROOM / width).max(FEWEST_TOGETHER));
        let parts = columns.par_chunks(together).enumerate();
        let score = |(k, columns): (usize, &[Vec<(u32, f64)>])| {
            let first = first + k * together;
            let values: usize = columns.iter().map(Vec::len).sum();
            let by_rows = columns.len() * width <= ROOM && values >= self.v.len() / PER_ROW;
            let (mut tops, mut sums) =
                (Tops::new(budget), self.spare_sums(if by_rows { ROOM } else { width }));
            let mut pairs = 0;
            if by_rows {
                pairs += self.score_by_rows(first..first + columns.len(), &mut sums, &mut tops)?;
            } else {
                for (rank, column) in (first..).zip(columns) {
                    pairs += self.score_by_column(rank, column, &mut sums, &mut tops)?;
                }
            }
            self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(sums);
            Ok((tops, pairs))
        };
        let none = || (Tops::new(budget), 0);
        parts.map(score).try_reduce(none, |(a, p), (b, q)| Ok((a.merge(b), p + q)))
    }

    /// At least so many sums, all 0.
    fn spare_sums(&self, width: usize) -> Vec<f64> {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sums = spare.pop().unwrap_or_default();
        if sums.len() < width {
            sums.resize(width.next_power_of_two(), 0.0);
        }
        sums
    }

    /// How many of the features before this one may matter beside it.
    fn partners(&self, rank: usize) -> usize {
        let least = self.least_partner(self.bounds[rank]);
        self.bounds[..rank].partition_point(|&m| m >= least)
    }

    /// Some frequent features with those of smaller rank: all rows are read, one after the other. `sums` are all 0 before
    /// and after. Each sum is added up as [`score_by_column`](Self::score_by_column) does it, to the last digit.
    fn score_by_rows(&self, ranks: Range<usize>, sums: &mut [f64], tops: &mut Tops<Item>) -> Result<u128> {
        let partners: Vec<usize> = ranks.clone().map(|rank| self.partners(rank)).collect();
        let width = partners.iter().copied().max().unwrap_or(0);
        let mut read = 0;
        for (row, &v) in (0..).zip(self.v) {
            let there = self.rows.ranks(row);
            let begin = there.partition_point(|&rank| (rank as usize) < ranks.start);
            for (at, &rank) in there.iter().enumerate().skip(begin) {
                let Some(&partners) = partners.get(rank as usize - ranks.start) else { break };
                let pull = v * self.rows.value(row, at);
                let sums = &mut sums[(rank as usize - ranks.start) * width..][..width];
                read += self.rows.each_below(row, at, partners as u32, |rank, x| sums[rank] += pull * x);
            }
            if read >= WORTH_REPORTING {
                self.work.add(std::mem::take(&mut read) as u64)?;
            }
        }
        self.work.add(read as u64)?;
        let mut pairs = 0;
        for (k, &partners) in partners.iter().enumerate() {
            for partner in 0..partners {
                pairs += self.take(ranks.start + k, partner, &mut sums[k * width + partner], tops);
            }
        }
        Ok(pairs)
    }

    /// One feature with those of smaller rank: the rows where it is not 0 are read. `sums` are all 0 before and after.
    fn score_by_column(
        &self,
        rank: usize,
        column: &[(u32, f64)],
        sums: &mut [f64],
        tops: &mut Tops<Item>,
    ) -> Result<u128> {
        let partners = self.partners(rank);
        let mut read = 0;
        for &(row, x) in column {
            let pull = self.v[row as usize] * x;
            read += self.rows.each_below(row, usize::MAX, partners as u32, |rank, x| sums[rank] += pull * x);
        }
        self.work.add(read as u64)?;
        let mut pairs = 0;
        // Sums are looked at where they were added to, or all in a row if that is less.
        if read >= partners {
            (0..partners).for_each(|partner| pairs += self.take(rank, partner, &mut sums[partner], tops));
        } else {
            for &(row, _) in column {
                self.rows.each_below(row, usize::MAX, partners as u32, |partner, _| {
                    pairs += self.take(rank, partner, &mut sums[partner], tops);
                });
            }
        }
        Ok(pairs)
    }

    /// Takes the sum of a pair, which becomes 0, and offers the pair; returns whether there was a sum.
    #[inline]
    fn take(&self, rank: usize, partner: usize, sum: &mut f64, tops: &mut Tops<Item>) -> u128 {
        let sum = std::mem::take(sum);
        if sum == 0.0 {
            return 0;
        }
        let score = self.space.coefficient(Item::Product(0, 1)) * sum.abs();
        if score >= tops.threshold() && score >= self.tops.threshold() {
            let (a, b) = (self.order[rank], self.order[partner]);
            tops.offer(score, Item::Product(a.min(b), a.max(b)), self.taken);
        }
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Sparse, Values as Stored};

    /// Columns of 600 rows, frequent and rare ones: one of them begins with every row.
    fn columns() -> Sparse {
        let (mut pointers, mut indices, mut reals) = (vec![0], Vec::new(), Vec::new());
        for step in (1..40).chain([97, 150, 299, 431]) {
            indices.extend((step % 7..600).step_by(step as usize));
            reals.extend((reals.len()..indices.len()).map(|k| ((k * k) % 17) as f64 * 0.37 - 1.3));
            pointers.push(indices.len() as u64);
        }
        let ids = (0..pointers.len() as u64 - 1).collect();
        Sparse::new(600, 50, ids, pointers, indices, Stored::F64(reals)).unwrap()
    }

    #[test]
    fn by_rows_and_by_columns_are_the_same_to_the_last_digit() {
        let columns = columns();
        let v: Vec<f64> = (0..600).map(|i| if i % 5 == 0 { 0.0 } else { f64::sin(i as f64) }).collect();
        for exhaustive in [false, true] {
            let space = PolySpace::new(Inputs::over(&columns), 0.7, 1.0).unwrap();
            let space = if exhaustive { space.exhaustive() } else { space };
            let (tops, bounds) = space.score_squares(&v, 1.0, Tops::new(30), &[]);
            let mut search = Search::new(&space, &v, bounds, tops, &[]);
            let order = search.order.clone();
            search.rows = RankedRows::new(&columns, &order, false, |row| v[row as usize] != 0.0);
            let pivots = search.columns(0..order.len());
            search.rows.append(0, &pivots);
            for ranks in [0..order.len(), 3..11, 20..order.len() - 1] {
                let (mut by_rows, mut by_columns) = (Tops::new(30), Tops::new(30));
                let mut sums = vec![0.0; order.len() * order.len()];
                let pairs = search.score_by_rows(ranks.clone(), &mut sums, &mut by_rows).unwrap();
                let mut expected = 0;
                for rank in ranks {
                    expected +=
                        search.score_by_column(rank, &pivots[rank], &mut sums, &mut by_columns).unwrap();
                }
                assert!(pairs == expected && pairs > 0);
                assert!(sums.iter().all(|&sum| sum == 0.0));
                let kept = |tops: Tops<Item>| [tops.best.into_sorted(), tops.fresh.into_sorted()];
                assert_eq!(kept(by_rows), kept(by_columns));
            }
        }
    }

    /// More columns than are scored before others are left out: of falling length, and all of the same.
    #[test]
    fn what_is_not_read_cannot_win() {
        let v: Vec<f64> = (0..400).map(|i| if i % 7 == 0 { 0.0 } else { f64::sin(i as f64) }).collect();
        for (steps, ones) in [(10, true), (10, false), (usize::MAX, true), (usize::MAX, false)] {
            let (mut pointers, mut indices) = (vec![0], Vec::new());
            for column in 0..2500 {
                let step = column / steps + 5;
                indices.extend((column % step..400).step_by(step).map(|row| row as u32));
                pointers.push(indices.len() as u64);
            }
            let reals = (0..indices.len()).map(|k| ((k * k) % 19) as f64 * 0.21 - 1.0).collect();
            let values = if ones { Stored::Ones } else { Stored::F64(reals) };
            let columns = Sparse::new(400, 2500, (0..2500).collect(), pointers, indices, values).unwrap();
            for coef0 in [0.0, 0.001, 1.0] {
                let space = || PolySpace::new(Inputs::over(&columns), 0.7, coef0).unwrap();
                let mut taken = HashSet::new();
                for _ in 0..3 {
                    let found = space().worst_case(&v, 8, &taken).unwrap();
                    let expected = space().exhaustive().worst_case(&v, 8, &taken).unwrap();
                    assert_eq!((&found.best, &found.fresh), (&expected.best, &expected.fresh));
                    assert!(found.scored <= expected.scored && found.fresh.len() == 8);
                    taken.extend(found.fresh.into_iter().map(|scored| scored.item));
                }
            }
        }
    }
}
