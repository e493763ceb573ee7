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
//! Where most values are not 0, the same goes by blocks of features instead of rows.

use std::collections::HashSet;
use std::ops::Range;

use rayon::prelude::*;

use super::blocks::Blocks;
use super::ranked::RankedRows;
use super::topb::Tops;
use super::work::{MOST_WORK, WORTH_REPORTING, Work};
use super::{Candidate, Feature, FeatureSpace, Group, Inputs, Settings, WorstCase};
use crate::digest::digest;
use crate::error::{Error, Result};

/// The features of the polynomial kernel of degree two.
pub struct PolySpace<'a> {
    inputs: Inputs<'a>,
    gamma: f64,
    coef0: f64,
    /// Positions of the inputs that may form products; all if `None`.
    factors: Option<Vec<bool>>,
    pruned: bool,
    /// Whether no feature has values of both signs.
    one_signed: bool,
    most_work: u64,
}

/// A feature by the positions of its inputs. Ordered as [`Feature`]s are: inputs, the constant, products.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Input(u32),
    Constant,
    Product(u32, u32),
}

/// Room for rounding between a bound and what it bounds.
const ROUNDING: f64 = 1e-9;

/// Features that are taken together: first few, for the first pairs decide how much can be skipped; later many.
const FIRST_BATCH: usize = 16;
const LARGEST_BATCH: usize = 1 << 12;

/// Dense features that are multiplied with others together.
const PIVOTS: usize = 64;

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
        let one_signed = one_signed(&inputs);
        Ok(Self { inputs, gamma, coef0, factors: None, pruned: true, one_signed, most_work: MOST_WORK })
    }

    /// Lets only these inputs, given by their ids, form products and squares.
    pub fn only(mut self, ids: impl IntoIterator<Item = u64>) -> Self {
        self.factors = Some(self.inputs.marked(ids));
        self
    }

    /// Values that a worst case may read before it is given up with an error [default: [`MOST_WORK`]].
    pub fn most_work(mut self, values: u64) -> Self {
        self.most_work = values;
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

    /// Offers the constant and the inputs.
    fn score_inputs(&self, v: &[f64], tops: Tops<Item>, taken: &[Item]) -> Result<Tops<Item>> {
        let (constant, linear) = (self.coefficient(Item::Constant), self.coefficient(Item::Input(0)));
        let budget = tops.best.capacity();
        let best_of = |range: Range<usize>, sums: &[f64]| {
            let mut tops = Tops::new(budget);
            for (position, sum) in range.zip(sums) {
                tops.offer(linear * sum.abs(), Item::Input(position as u32), taken);
            }
            tops
        };
        let mut tops = match self.inputs.pulls(v, best_of, Tops::merge)? {
            Some(inputs) => tops.merge(inputs),
            None => tops,
        };
        let sum = crate::ordered::sum(v.len(), |i| v[i]);
        tops.offer(constant * sum.abs(), Item::Constant, taken);
        Ok(tops)
    }

    /// Offers the squares; returns the bound `m` of every input that may be a factor.
    fn score_squares(
        &self,
        v: &[f64],
        mut tops: Tops<Item>,
        taken: &[Item],
    ) -> Result<(Tops<Item>, Vec<f64>)> {
        let columns = self.inputs.columns();
        let batch = columns.batch();
        let mut bounds = vec![0.0; columns.len()];
        let squares = bounds.par_chunks_mut(batch).enumerate().map(|(b, bounds)| {
            self.inputs.go_on()?;
            let first = b * batch;
            let mut tops = Tops::new(tops.best.capacity());
            let sums = columns.square_dots(first..first + bounds.len(), v);
            // No score of a pair is above the larger of these.
            self.inputs.check(first, &sums.iter().map(|[up, down]| up + down).collect::<Vec<_>>())?;
            for (k, [up, down]) in sums.into_iter().enumerate() {
                let position = first + k;
                if self.is_factor(position) {
                    let item = Item::Product(position as u32, position as u32);
                    tops.offer(self.gamma * (up - down).abs(), item, taken);
                    bounds[k] = if self.one_signed { up.max(down) } else { up + down }.sqrt();
                }
            }
            Ok(tops)
        });
        if let Some(squares) = squares.try_reduce_with(|a, b| Ok(a.merge(b))) {
            tops = tops.merge(squares?);
        }
        Ok((tops, bounds))
    }
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
        let tops = self.score_inputs(v, Tops::new(budget), &taken)?;
        let (tops, bounds) = self.score_squares(v, tops, &taken)?;
        let factors = bounds.iter().filter(|&&m| m > 0.0).count();
        let inputs = 1 + self.inputs.columns().len() + factors;
        let mut search = Search::new(self, v, bounds, tops, &taken);
        let pairs = search.run()?;
        let tops = search.tops;
        Ok(WorstCase::new(tops, inputs as u128 + pairs, |item| Candidate::Feature(self.feature(item))))
    }

    fn group(&self, candidate: &Candidate) -> Result<Group> {
        let mut group = Group::alone(candidate)?;
        let item = self.item(candidate).ok_or_else(|| Error::Data(format!("no feature {candidate:?}")))?;
        group.scale = self.coefficient(item);
        Ok(group)
    }

    fn settings(&self) -> Settings {
        let (gamma, coef0) = (self.gamma.to_string(), self.coef0.to_string());
        let mut settings = vec![("space", "poly2".into()), ("gamma", gamma), ("coef0", coef0)];
        settings.extend(self.factors.as_deref().map(only));
        // The result is the same, but not how much was looked at.
        settings.extend((!self.pruned).then(|| ("exhaustive", String::new())));
        settings
    }
}

/// The setting of a space in which only the marked inputs may be multiplied.
pub(super) fn only(marked: &[bool]) -> (&'static str, String) {
    let count = marked.iter().filter(|m| **m).count();
    ("only", format!("of {count} features with checksum {:016x}", digest(marked)))
}

/// Whether no feature has values of both signs.
fn one_signed(inputs: &Inputs<'_>) -> bool {
    let columns = inputs.columns();
    let one = |position: usize| {
        let signs = |[below, above]: [bool; 2], x: f64| [below || x < 0.0, above || x > 0.0];
        let column = &columns.gather(&[position])[0];
        column.entries().fold([false; 2], |seen, (_, x)| signs(seen, x)) != [true; 2]
    };
    columns.all_ones() || (0..columns.len()).into_par_iter().all(one)
}

/// The values of the features that were reached, in order of rank.
enum Held {
    Rows(RankedRows),
    Blocks(Blocks),
}

/// The search for pairs at given duals.
struct Search<'a> {
    space: &'a PolySpace<'a>,
    v: &'a [f64],
    /// Positions of the features that may be in a pair worth looking at, by falling bound.
    order: Vec<u32>,
    /// Their bounds.
    bounds: Vec<f64>,
    held: Held,
    tops: Tops<Item>,
    taken: &'a [Item],
    work: Work<'a>,
}

impl<'a> Search<'a> {
    fn new(
        space: &'a PolySpace<'a>,
        v: &'a [f64],
        bounds: Vec<f64>,
        tops: Tops<Item>,
        taken: &'a [Item],
    ) -> Self {
        let largest = bounds.iter().fold(0.0, |most: f64, &m| most.max(m));
        let work = Work::new(space.most_work, space.inputs.watch(), ADVICE);
        let held = Held::Rows(RankedRows::default());
        let mut search = Self { space, v, order: Vec::new(), bounds: Vec::new(), held, tops, taken, work };
        let least = search.least_partner(largest);
        search.order = (0..bounds.len() as u32)
            .into_par_iter()
            .filter(|&p| bounds[p as usize] > 0.0 && bounds[p as usize] >= least)
            .collect();
        let by_bound = |&a: &u32, &b: &u32| bounds[b as usize].total_cmp(&bounds[a as usize]).then(a.cmp(&b));
        search.order.par_sort_unstable_by(by_bound);
        search.bounds = search.order.iter().map(|&p| bounds[p as usize]).collect();
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
        self.held = self.room()?;
        while first < self.order.len() {
            // Later features have smaller bounds: if the largest partner is not enough, none is.
            if self.bounds[0] < self.least_partner(self.bounds[first]) {
                break;
            }
            let last = self.order.len().min(first + batch);
            let columns = self.columns(first..last)?;
            let (tops, pairs) = self.score(first, &columns)?;
            self.tops = std::mem::replace(&mut self.tops, Tops::new(0)).merge(tops);
            scored += pairs;
            first = last;
            batch = (2 * batch).min(LARGEST_BATCH);
        }
        Ok(scored)
    }

    /// The columns of some features, without instances that have no dual weight.
    fn columns(&self, ranks: Range<usize>) -> Result<Vec<Vec<(u32, f64)>>> {
        let one = |&position: &u32| {
            self.work.go_on()?;
            let mut entries = Vec::new();
            self.space.inputs.columns().gather(&[position as usize])[0].each_nonzero(|row, x| {
                if self.v[row as usize] != 0.0 {
                    entries.push((row, x));
                }
            });
            Ok(entries)
        };
        self.order[ranks].par_iter().map(one).collect()
    }

    /// Room for the features of `order`: by rows, or, where most values are not 0, as they are.
    fn room(&self) -> Result<Held> {
        let columns = self.space.inputs.columns();
        let held = columns.rows() as u64 * columns.len() as u64;
        if columns.nonzeros() >= held / 2 && !columns.all_ones() {
            return Ok(Held::Blocks(Blocks::new(self.v, self.order.len())));
        }
        let kept = |row: u32| self.v[row as usize] != 0.0;
        Ok(Held::Rows(RankedRows::new(columns, &self.order, columns.all_ones(), kept, &self.work)?))
    }

    /// Takes in a batch of features, whose ranks begin with `first`, and multiplies each with all before it that may matter.
    fn score(&mut self, first: usize, columns: &[Vec<(u32, f64)>]) -> Result<(Tops<Item>, u128)> {
        match &mut self.held {
            Held::Rows(rows) => {
                for (rank, column) in (first as u32..).zip(columns) {
                    column.iter().for_each(|&(row, x)| _ = rows.push(row, rank, x));
                }
            }
            Held::Blocks(blocks) => columns.iter().for_each(|column| blocks.push(column)),
        }
        match &self.held {
            Held::Rows(rows) => self.score_by_rows(rows, first, columns),
            Held::Blocks(blocks) => self.score_by_blocks(blocks, first..first + columns.len()),
        }
    }

    fn score_by_rows(
        &self,
        rows: &RankedRows,
        first: usize,
        columns: &[Vec<(u32, f64)>],
    ) -> Result<(Tops<Item>, u128)> {
        let width = first + columns.len();
        let budget = self.tops.best.capacity();
        let start = || (Tops::new(budget), 0, vec![0.0; width]);
        let pivots = columns.par_iter().enumerate().with_min_len(1);
        let done = pivots.try_fold(start, |(mut tops, pairs, mut sums), (k, column)| {
            let more = self.score_pivot(rows, first + k, column, &mut sums, &mut tops)?;
            Ok((tops, pairs + more, sums))
        });
        let done = done.map(|part| part.map(|(tops, pairs, _)| (tops, pairs)));
        done.try_reduce(|| (Tops::new(budget), 0), |(a, p), (b, q)| Ok((a.merge(b), p + q)))
    }

    fn score_by_blocks(&self, blocks: &Blocks, ranks: Range<usize>) -> Result<(Tops<Item>, u128)> {
        let budget = self.tops.best.capacity();
        let tiles = ranks.len().div_ceil(PIVOTS);
        let tile = |k: usize| {
            let first = ranks.start + k * PIVOTS;
            self.score_tile(blocks, first..ranks.end.min(first + PIVOTS))
        };
        let merge = |(a, p): (Tops<Item>, u128), (b, q)| Ok((a.merge(b), p + q));
        (0..tiles).into_par_iter().map(tile).try_reduce(|| (Tops::new(budget), 0), merge)
    }

    /// Some features with those of smaller rank, all at once.
    fn score_tile(&self, blocks: &Blocks, pivots: Range<usize>) -> Result<(Tops<Item>, u128)> {
        let mut tops = Tops::new(self.tops.best.capacity());
        // The first pivot has the largest bound, and so the most partners.
        let least = self.least_partner(self.bounds[pivots.start]);
        let partners = self.bounds[..pivots.end].partition_point(|&m| m >= least);
        let mut pairs = 0;
        let (coefficient, floor) = (self.space.coefficient(Item::Product(0, 1)), self.tops.threshold());
        // By Cauchy and Schwarz the sizes of a pair's terms add up to at most twice its bound: one sign has half of them.
        let error = 2.0 * blocks.error();
        blocks.products(pivots, partners, |pivot, partner, about| {
            pairs += 1;
            let most = coefficient * (about.abs() + error * self.bounds[pivot] * self.bounds[partner]);
            if most >= floor && most >= tops.threshold() {
                let score = coefficient * blocks.sum(pivot, partner).abs();
                let (a, b) = (self.order[pivot], self.order[partner]);
                if score >= floor {
                    tops.offer(score, Item::Product(a.min(b), a.max(b)), self.taken);
                }
            }
        });
        self.work.add(pairs * blocks.rows() as u64)?;
        Ok((tops, u128::from(pairs)))
    }

    /// One feature with those of smaller rank; `sums` are all 0 before and after.
    fn score_pivot(
        &self,
        rows: &RankedRows,
        rank: usize,
        column: &[(u32, f64)],
        sums: &mut [f64],
        tops: &mut Tops<Item>,
    ) -> Result<u128> {
        let least = self.least_partner(self.bounds[rank]);
        let partners = self.bounds[..rank].partition_point(|&m| m >= least);
        let mut read = 0;
        for &(row, x) in column {
            let pull = self.v[row as usize] * x;
            let count = rows.ranks(row).partition_point(|&rank| (rank as usize) < partners);
            rows.each(row, count, |rank, x| sums[rank] += pull * x);
            read += count as u64;
            if read >= WORTH_REPORTING {
                self.work.add(std::mem::take(&mut read))?;
            }
        }
        self.work.add(read)?;
        let coefficient = self.space.coefficient(Item::Product(0, 1));
        let mut pairs = 0;
        for (partner, sum) in sums[..partners].iter_mut().enumerate().filter(|(_, sum)| **sum != 0.0) {
            pairs += 1;
            let score = coefficient * sum.abs();
            *sum = 0.0;
            if score >= tops.threshold() && score >= self.tops.threshold() {
                let (a, b) = (self.order[rank], self.order[partner]);
                tops.offer(score, Item::Product(a.min(b), a.max(b)), self.taken);
            }
        }
        Ok(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Sparse, Values};

    /// Every `every`-th column is filled, the others are empty; some are equal, so that there are ties.
    fn columns(n: usize, filled: usize, every: usize) -> Sparse {
        let value = |i: usize, j: usize| ((i * i + 31 * (j % 50) * (i + 3)) as f64).sin();
        let values = (0..filled).flat_map(|j| (0..n).map(move |i| value(i, j))).collect();
        let indices = (0..filled).flat_map(|_| 0..n as u32).collect();
        let ids = (0..(filled * every) as u64).collect();
        let pointers = (0..=filled * every).map(|k| (k.div_ceil(every) * n) as u64).collect();
        Sparse::new(n, (filled * every) as u64, ids, pointers, indices, Values::F64(values)).unwrap()
    }

    /// Blocks find what rows find, to the bit and in the same order.
    #[test]
    fn blocks_and_rows_agree() {
        let (n, filled) = (40, 700);
        let (dense, sparse) = (columns(n, filled, 1), columns(n, filled, 3));
        let v: Vec<f64> = (0..n).map(|i| if i % 7 == 0 { 0.0 } else { (i as f64 * 1.7).cos() }).collect();
        let found = |columns: &Sparse, every: u64| {
            let space = PolySpace::new(Inputs::over(columns), 1.0, 0.5).unwrap();
            let best = space.worst_case(&v, 30, &HashSet::new()).unwrap().best;
            let inputs = |candidate: &Candidate| match candidate {
                Candidate::Feature(feature) => feature.inputs().iter().map(|id| id / every).collect(),
                Candidate::Group(_) => Vec::new(),
            };
            best.iter().map(|s| (s.score.to_bits(), inputs(&s.item))).collect::<Vec<_>>()
        };
        assert_eq!(found(&dense, 1), found(&sparse, 3));
    }
}
