//! The search for the best pairs: in order of their bounds, until no pair left can be among the best.
//!
//! Partners are held by rows. Where there is no room for all of them, a *part* is held at a time, from those of the largest
//! bounds on, and all features that may matter beside it are taken past it: pairs of parts, each looked at once.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::blocks::Blocks;
use super::room::{BATCH_BYTES, Kept, TAKEN, is_dense};
use super::singles::Bounds;
use super::{Item, PolySpace, ROUNDING};
use crate::data::ColumnView;
use crate::error::{Reason, Result};
use crate::space::ask::{Residuals, length};
use crate::space::ranked::RankedRows;
use crate::space::topb::Tops;
use crate::space::work::{DENSE_SPEED, WORTH_REPORTING, Work};

/// Features that are taken together: first few, for the first pairs decide how much can be skipped; later many.
const FIRST_BATCH: usize = 16;
const LARGEST_BATCH: usize = 1 << 12;

/// Dense features that are multiplied with others together.
const PIVOTS: usize = 64;
/// Sums that are kept at once while rows are read from the first to the last: as many as stay in a cache.
const ROOM: usize = 1 << 18;
/// Features that a thread takes together, at least: a list of the best is made for them.
const FEWEST_TOGETHER: usize = 16;
/// Rows are read from the first to the last where so many rows, or fewer, have one value of the features at hand.
const PER_ROW: usize = 4;

fn advice() -> Reason {
    Reason::from("name the features that may be multiplied with ").parameter("only")
}

/// The values of a part of the features, in order of rank.
enum Held {
    Rows(RankedRows),
    Blocks(Blocks),
}

/// The search for pairs at given duals.
pub(super) struct Search<'a> {
    space: &'a PolySpace<'a>,
    v: Residuals<'a>,
    /// Which instances have dual weight: asked for often, so that it matters how small it is.
    weighs: Vec<bool>,
    /// Positions of the features that may be in a pair worth looking at, by falling bound.
    order: Vec<u32>,
    /// Their bounds.
    bounds: Vec<f64>,
    /// The ranks whose values are held, or are about to be.
    part: Range<usize>,
    held: Held,
    tops: Tops<Item>,
    taken: &'a [Item],
    work: Work<'a>,
    /// Sums that no thread uses, all 0.
    spare: Mutex<Vec<Vec<f64>>>,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        space: &'a PolySpace<'a>,
        v: Residuals<'a>,
        mut bounds: Bounds,
        tops: Tops<Item>,
        taken: &'a [Item],
    ) -> Self {
        let largest = bounds.iter().fold(0.0, |most: f64, &(_, m)| most.max(m));
        let work = Work::new(space.most_work, space.inputs.given_context(), advice());
        let held = Held::Rows(RankedRows::default());
        let weighs = (0..v.rows).map(|row| v.weighs(row)).collect();
        let mut search = Self {
            space,
            v,
            weighs,
            order: Vec::new(),
            bounds: Vec::new(),
            part: 0..0,
            held,
            tops,
            taken,
            work,
            spare: Mutex::default(),
        };
        let least = search.least_partner(largest);
        bounds.retain(|&(_, m)| m >= least);
        bounds.par_sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        (search.order, search.bounds) = bounds.into_iter().unzip();
        search
    }

    /// The best that were found.
    pub(super) fn into_best(self) -> Tops<Item> {
        self.tops
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
    pub(super) fn run(&mut self) -> Result<u128> {
        let (mut scored, mut start) = (0, 0);
        while start < self.order.len() && self.may_pair(start, start) {
            self.part = self.next_part(start);
            self.held = self.empty()?;
            scored += self.run_part()?;
            start = self.part.end;
        }
        Ok(scored)
    }

    /// Looks at all pairs with a partner of the part at hand.
    fn run_part(&mut self) -> Result<u128> {
        let (mut scored, mut first, mut batch) = (0, self.part.start, FIRST_BATCH);
        // Later features have smaller bounds: if the largest partner is not enough, none is.
        while first < self.order.len() && self.may_pair(self.part.start, first) {
            let end = if self.part.contains(&first) { self.part.end } else { self.order.len() };
            let last = self.batch(first..end.min(first + batch));
            let columns = self.columns(first..last)?;
            let (tops, pairs) = self.score(first, &columns)?;
            self.tops = std::mem::replace(&mut self.tops, Tops::new(0)).merge(tops);
            scored += pairs;
            first = last;
            batch = (2 * batch).min(LARGEST_BATCH);
        }
        Ok(scored)
    }

    /// Whether the pair of these ranks may be among the best.
    fn may_pair(&self, partner: usize, rank: usize) -> bool {
        self.bounds[partner] >= self.least_partner(self.bounds[rank])
    }

    /// The ranks from `start` on whose values are held together: as many as there is room for.
    fn next_part(&self, start: usize) -> Range<usize> {
        let kept = Kept::of(self.space.inputs.columns(), self.v.outputs);
        let cost = |filled: u64| kept.bytes(1, filled);
        start..start + self.fitting(start..self.order.len(), self.space.memory / 2, cost)
    }

    /// The end of those of these ranks that are taken together.
    fn batch(&self, ranks: Range<usize>) -> usize {
        let bytes = BATCH_BYTES.min(self.space.memory / 2);
        let copy = Kept::of(self.space.inputs.columns(), self.v.outputs).copy;
        ranks.start + self.fitting(ranks, bytes, |filled| TAKEN * filled + copy)
    }

    /// How many of the first of these ranks take no more than so many bytes, at least one, if `cost` says what one takes that
    /// has so many values.
    fn fitting(&self, ranks: Range<usize>, bytes: u64, cost: impl Fn(u64) -> u64) -> usize {
        let columns = self.space.inputs.columns();
        let mut taken = 0u64;
        let fits = |&&position: &&u32| {
            taken = taken.saturating_add(cost(columns.filled(position as usize) as u64));
            taken <= bytes
        };
        self.order[ranks].iter().take_while(fits).count().max(1)
    }

    /// The columns of some features, without instances that have no dual weight.
    fn columns(&self, ranks: Range<usize>) -> Result<Vec<Vec<(u32, f64)>>> {
        let columns = self.space.inputs.columns();
        let one = |&position: &u32| {
            self.work.go_on()?;
            let kept = |column: ColumnView<'_>| {
                let mut entries = Vec::with_capacity(column.len());
                column.each_nonzero(|row, x| {
                    if self.weighs[row as usize] {
                        entries.push((row, x));
                    }
                });
                entries
            };
            Ok(columns.see(position as usize, kept))
        };
        self.order[ranks].par_iter().map(one).collect()
    }

    /// Nothing held yet, but room for the part at hand.
    fn empty(&self) -> Result<Held> {
        if is_dense(self.space.inputs.columns()) {
            return Ok(Held::Blocks(Blocks::new(self.v, self.part.len())));
        }
        let (columns, kept) = (self.space.inputs.columns(), |row: u32| self.weighs[row as usize]);
        let order = &self.order[self.part.clone()];
        Ok(Held::Rows(RankedRows::new(columns, order, columns.all_ones(), kept, &self.work)?))
    }

    /// Multiplies a batch of features, whose ranks begin with `first`, with all of the part before it that may matter; holds
    /// them if they belong to it.
    fn score(&mut self, first: usize, columns: &[Vec<(u32, f64)>]) -> Result<(Tops<Item>, u128)> {
        let belongs = self.part.contains(&first);
        let place = first - self.part.start;
        match &mut self.held {
            Held::Rows(rows) if belongs => rows.append(place as u32, columns),
            Held::Rows(_) => {}
            Held::Blocks(blocks) => {
                blocks.truncate(place.min(self.part.len()), columns.len());
                columns.iter().for_each(|column| blocks.push(column));
            }
        }
        match &self.held {
            // One output is by far the most common: its loops are compiled for themselves.
            Held::Rows(rows) if self.v.outputs == 1 => self.score_by_rows::<true>(rows, first, columns),
            Held::Rows(rows) => self.score_by_rows::<false>(rows, first, columns),
            Held::Blocks(blocks) => self.score_by_blocks(blocks, first..first + columns.len()),
        }
    }

    fn score_by_rows<const ONE: bool>(
        &self,
        rows: &RankedRows,
        first: usize,
        columns: &[Vec<(u32, f64)>],
    ) -> Result<(Tops<Item>, u128)> {
        let belongs = self.part.contains(&first);
        // The first feature has the largest bound.
        let width = self.v.outputs * self.partners_of(self.bounds[first], first + columns.len());
        let budget = self.tops.best.capacity();
        let share = columns.len().div_ceil(rayon::current_num_threads());
        let together = share.min((ROOM / width.max(1)).max(FEWEST_TOGETHER));
        let parts = columns.par_chunks(together).enumerate();
        let score = |(k, columns): (usize, &[Vec<(u32, f64)>])| {
            let first = first + k * together;
            let values: usize = columns.iter().map(Vec::len).sum();
            let by_rows = belongs && columns.len() * width <= ROOM && values >= self.v.rows / PER_ROW;
            let (mut tops, mut sums) =
                (Tops::new(budget), self.spare_sums(if by_rows { ROOM } else { width }));
            let mut pairs = 0;
            if by_rows {
                pairs += self.score_row_after_row::<ONE>(
                    rows,
                    first..first + columns.len(),
                    &mut sums,
                    &mut tops,
                )?;
            } else {
                for (rank, column) in (first..).zip(columns) {
                    pairs += self.score_column::<ONE>(rows, rank, column, &mut sums, &mut tops)?;
                }
            }
            self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(sums);
            Ok((tops, pairs))
        };
        let none = || (Tops::new(budget), 0);
        parts.map(score).try_reduce(none, |(a, p), (b, q)| Ok((a.merge(b), p + q)))
    }

    fn score_by_blocks(&self, blocks: &Blocks, ranks: Range<usize>) -> Result<(Tops<Item>, u128)> {
        let budget = self.tops.best.capacity();
        let tiles = ranks.len().div_ceil(PIVOTS);
        // Features that do not belong to the part stand after it.
        let place = (ranks.start - self.part.start).min(self.part.len());
        let tile = |k: usize| {
            let pivots = k * PIVOTS..ranks.len().min((k + 1) * PIVOTS);
            self.score_tile(blocks, ranks.start + pivots.start, place + pivots.start..place + pivots.end)
        };
        let merge = |(a, p): (Tops<Item>, u128), (b, q)| Ok((a.merge(b), p + q));
        (0..tiles).into_par_iter().map(tile).try_reduce(|| (Tops::new(budget), 0), merge)
    }

    /// Some features with those of smaller rank, all at once: their ranks begin with `first`, `pivots` are their places.
    fn score_tile(&self, blocks: &Blocks, first: usize, pivots: Range<usize>) -> Result<(Tops<Item>, u128)> {
        let mut tops = Tops::new(self.tops.best.capacity());
        // The first pivot has the largest bound, and so the most partners.
        let partners = self.partners_of(self.bounds[first], first + pivots.len());
        let start = pivots.start;
        let mut pairs = 0;
        let (coefficient, floor) = (self.space.coefficient(Item::Product(0, 1)), self.tops.threshold());
        // By Cauchy and Schwarz the sizes of a pair's terms add up to at most twice its bound: one sign has half of them.
        let error = 2.0 * blocks.error();
        blocks.products(pivots, partners, |pivot, partner, about| {
            pairs += 1;
            let (a, b) = (first + pivot - start, self.part.start + partner);
            let most = coefficient * (about + error * self.bounds[a] * self.bounds[b]);
            if most >= floor && most >= tops.threshold() {
                let score = coefficient * blocks.sum(pivot, partner);
                if score >= floor {
                    tops.offer(score, self.pair(a, b), self.taken);
                }
            }
        });
        self.work.add(pairs * blocks.rows() as u64 / DENSE_SPEED)?;
        Ok((tops, u128::from(pairs)))
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

    /// How many of the part, among those before the rank `end`, may matter beside a feature of bound `m`.
    fn partners_of(&self, m: f64, end: usize) -> usize {
        let least = self.least_partner(m);
        self.bounds[self.part.start..self.part.end.min(end)].partition_point(|&m| m >= least)
    }

    /// How many of the part before this rank may matter beside it.
    fn partners(&self, rank: usize) -> usize {
        self.partners_of(self.bounds[rank], rank)
    }

    /// Some frequent features of the part with those of smaller rank: all rows are read, one after the other. `sums` are all
    /// 0 before and after. Each sum is added up as [`score_column`](Self::score_column) does it, to the last digit.
    fn score_row_after_row<const ONE: bool>(
        &self,
        rows: &RankedRows,
        ranks: Range<usize>,
        sums: &mut [f64],
        tops: &mut Tops<Item>,
    ) -> Result<u128> {
        let partners: Vec<usize> = ranks.clone().map(|rank| self.partners(rank)).collect();
        let width = self.v.outputs * partners.iter().copied().max().unwrap_or(0);
        let first = ranks.start - self.part.start;
        let (mut read, mut pulls) = (0, vec![0.0; self.v.outputs]);
        for row in 0..self.v.rows as u32 {
            let there = rows.ranks(row);
            let begin = there.partition_point(|&place| (place as usize) < first);
            for (at, &place) in there.iter().enumerate().skip(begin) {
                let pivot = place as usize - first;
                let Some(&partners) = partners.get(pivot) else { break };
                let sums = &mut sums[pivot * width..][..width];
                let x = rows.value(row, at);
                read += self.add_row::<ONE>(rows, (row, x), at, partners as u32, &mut pulls, sums) as u64;
            }
            if read >= WORTH_REPORTING {
                self.work.add(std::mem::take(&mut read))?;
            }
        }
        self.work.add(read)?;
        let mut pairs = 0;
        for (rank, (k, &partners)) in ranks.zip(partners.iter().enumerate()) {
            for place in 0..partners {
                pairs += self.take::<ONE>(rank, place, &mut sums[k * width..], tops);
            }
        }
        Ok(pairs)
    }

    /// One feature with those of the part of smaller rank: the rows where it is not 0 are read. `sums` are all 0 before and
    /// after.
    fn score_column<const ONE: bool>(
        &self,
        rows: &RankedRows,
        rank: usize,
        column: &[(u32, f64)],
        sums: &mut [f64],
        tops: &mut Tops<Item>,
    ) -> Result<u128> {
        let partners = self.partners(rank);
        let (mut read, mut unreported, mut pulls) = (0, 0, vec![0.0; self.v.outputs]);
        for &(row, x) in column {
            let before = read;
            read += self.add_row::<ONE>(rows, (row, x), usize::MAX, partners as u32, &mut pulls, sums);
            unreported += read - before;
            if unreported >= WORTH_REPORTING as usize {
                self.work.add(std::mem::take(&mut unreported) as u64)?;
            }
        }
        self.work.add(unreported as u64)?;
        let mut pairs = 0;
        // Sums are looked at where they were added to, or all in a row if that is less.
        if read >= partners {
            (0..partners).for_each(|place| pairs += self.take::<ONE>(rank, place, sums, tops));
        } else {
            for &(row, _) in column {
                rows.each_below(row, usize::MAX, partners as u32, |place, _| {
                    pairs += self.take::<ONE>(rank, place, sums, tops);
                });
            }
        }
        Ok(pairs)
    }

    /// Adds the value of a feature in a row, times the residuals and what else is in the row, to the sums there: of the places
    /// below `limit`, among the first `most`. Returns how many they are. `pulls` is room for a number for every output.
    #[inline(always)]
    fn add_row<const ONE: bool>(
        &self,
        rows: &RankedRows,
        (row, x): (u32, f64),
        most: usize,
        limit: u32,
        pulls: &mut [f64],
        sums: &mut [f64],
    ) -> usize {
        if ONE {
            let pull = self.v.v[row as usize] * x;
            return rows.each_below(row, most, limit, |place, x| sums[place] += pull * x);
        }
        pulls.iter_mut().zip(self.v.of(row as usize)).for_each(|(pull, v)| *pull = v * x);
        add_to_many(rows, row, most, limit, pulls, sums)
    }

    /// Takes the sums of a feature and the one at a place of the part, which become 0, and offers the pair; returns whether
    /// there was a sum. `sums` are the feature's.
    #[inline]
    fn take<const ONE: bool>(
        &self,
        rank: usize,
        place: usize,
        sums: &mut [f64],
        tops: &mut Tops<Item>,
    ) -> u128 {
        let outputs = self.v.outputs;
        let sum = match ONE {
            true => std::mem::take(&mut sums[place]).abs(),
            false => {
                let sums = &mut sums[place * outputs..][..outputs];
                let sum = length(sums.iter().copied());
                sums.fill(0.0);
                sum
            }
        };
        if sum == 0.0 {
            return 0;
        }
        let score = self.space.coefficient(Item::Product(0, 1)) * sum;
        if score >= tops.threshold() && score >= self.tops.threshold() {
            tops.offer(score, self.pair(rank, self.part.start + place), self.taken);
        }
        1
    }

    /// The product of the features of two ranks.
    fn pair(&self, rank: usize, partner: usize) -> Item {
        let (a, b) = (self.order[rank], self.order[partner]);
        Item::Product(a.min(b), a.max(b))
    }
}

/// The same for several outputs.
fn add_to_many(
    rows: &RankedRows,
    row: u32,
    most: usize,
    limit: u32,
    pulls: &[f64],
    sums: &mut [f64],
) -> usize {
    rows.each_below(row, most, limit, |place, x| {
        let sums = &mut sums[place * pulls.len()..][..pulls.len()];
        sums.iter_mut().zip(pulls).for_each(|(sum, pull)| *sum += pull * x);
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::data::{Columns, Sparse, Values};
    use crate::space::poly::room::room;
    use crate::space::{Ask, Candidate, FeatureSpace, Inputs};

    /// Columns of 600 rows, frequent and rare ones: one of them begins with every row.
    fn frequent_and_rare() -> Sparse {
        let (mut pointers, mut indices, mut reals) = (vec![0], Vec::new(), Vec::new());
        for step in (1..40).chain([97, 150, 299, 431]) {
            indices.extend((step % 7..600).step_by(step as usize));
            reals.extend((reals.len()..indices.len()).map(|k| ((k * k) % 17) as f64 * 0.37 - 1.3));
            pointers.push(indices.len() as u64);
        }
        let ids = (0..pointers.len() as u64 - 1).collect();
        Sparse::new(600, 50, ids, pointers, indices, Values::F64(reals)).unwrap()
    }

    #[test]
    fn by_rows_and_by_columns_are_the_same_to_the_last_digit() {
        let columns = frequent_and_rare();
        let v = |n: usize| (0..n).map(|i| if i % 5 == 0 { 0.0 } else { f64::sin(i as f64) }).collect();
        for (v, exhaustive) in [(v(600), false), (v(600), true), (v(1800), false), (v(1800), true)] {
            let v: Vec<f64> = v;
            let space = PolySpace::new(Inputs::over(&columns), 0.7, 1.0).unwrap();
            let space = if exhaustive { space.exhaustive() } else { space };
            let (outputs, residuals) =
                (v.len() / 600, Residuals { v: &v, rows: 600, outputs: v.len() / 600 });
            let (tops, bounds) = space.score_squares(residuals, 2.0, Tops::new(30), &[]).unwrap();
            let mut search = Search::new(&space, residuals, bounds, tops, &[]);
            let order = search.order.clone();
            search.part = 0..order.len();
            let kept = |row: u32| residuals.weighs(row as usize);
            let mut rows = RankedRows::new(&columns, &order, false, kept, &search.work).unwrap();
            let pivots = search.columns(0..order.len()).unwrap();
            rows.append(0, &pivots);
            for ranks in [0..order.len(), 3..11, 20..order.len() - 1] {
                let (mut by_rows, mut by_columns) = (Tops::new(30), Tops::new(30));
                let mut sums = vec![0.0; outputs * order.len() * order.len()];
                let one = outputs == 1;
                let pairs = match one {
                    true => search.score_row_after_row::<true>(&rows, ranks.clone(), &mut sums, &mut by_rows),
                    false => {
                        search.score_row_after_row::<false>(&rows, ranks.clone(), &mut sums, &mut by_rows)
                    }
                };
                let pairs = pairs.unwrap();
                let mut expected = 0;
                for rank in ranks {
                    let (column, tops) = (&pivots[rank], &mut by_columns);
                    let found = match one {
                        true => search.score_column::<true>(&rows, rank, column, &mut sums, tops),
                        false => search.score_column::<false>(&rows, rank, column, &mut sums, tops),
                    };
                    expected += found.unwrap();
                }
                assert!(pairs == expected && pairs > 0);
                assert!(sums.iter().all(|&sum| sum == 0.0));
                let kept = |tops: Tops<Item>| [tops.best.into_sorted(), tops.fresh.into_sorted()];
                assert_eq!(kept(by_rows), kept(by_columns));
            }
        }
    }

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
        let v: Vec<f64> = (0..3 * n).map(|i| if i % 7 == 0 { 0.0 } else { (i as f64 * 1.7).cos() }).collect();
        let found = |columns: &Sparse, every: u64, outputs: usize| {
            let space = PolySpace::new(Inputs::over(columns), 1.0, 0.5).unwrap();
            let best =
                space.worst_case(&Ask::many(&v[..outputs * n], outputs, 30, &HashSet::new())).unwrap().best;
            let inputs = |candidate: &Candidate| match candidate {
                Candidate::Feature(feature) => feature.inputs().iter().map(|id| id / every).collect(),
                Candidate::Group(_) => Vec::new(),
            };
            best.iter().map(|s| (s.score.to_bits(), inputs(&s.item))).collect::<Vec<_>>()
        };
        assert_eq!(found(&dense, 1, 1), found(&sparse, 3, 1));
        assert_eq!(found(&dense, 1, 3), found(&sparse, 3, 3));
    }

    /// More columns than are scored before others are left out: of falling length, and all of the same.
    #[test]
    fn what_is_not_read_cannot_win() {
        let v: Vec<f64> = (0..1200).map(|i| if i % 7 == 0 { 0.0 } else { f64::sin(i as f64) }).collect();
        for (steps, ones) in [(10, true), (10, false), (usize::MAX, true), (usize::MAX, false)] {
            let (mut pointers, mut indices) = (vec![0], Vec::new());
            for column in 0..2500 {
                let step = column / steps + 5;
                indices.extend((column % step..400).step_by(step).map(|row| row as u32));
                pointers.push(indices.len() as u64);
            }
            let reals = (0..indices.len()).map(|k| ((k * k) % 19) as f64 * 0.21 - 1.0).collect();
            let values = if ones { Values::Ones } else { Values::F64(reals) };
            let columns = Sparse::new(400, 2500, (0..2500).collect(), pointers, indices, values).unwrap();
            for (coef0, outputs) in [(0.0, 1), (0.001, 1), (1.0, 1), (0.001, 3), (1.0, 2)] {
                let space = || PolySpace::new(Inputs::over(&columns), 0.7, coef0).unwrap();
                let mut taken = HashSet::new();
                for _ in 0..3 {
                    let ask = Ask::many(&v[..400 * outputs], outputs, 8, &taken);
                    let found = space().worst_case(&ask).unwrap();
                    let expected = space().exhaustive().worst_case(&ask).unwrap();
                    assert_eq!((&found.best, &found.fresh), (&expected.best, &expected.fresh));
                    assert!(found.scored <= expected.scored && found.fresh.len() == 8);
                    taken.extend(found.fresh.into_iter().map(|scored| scored.item));
                }
            }
        }
    }

    /// However little is held at a time, what is found is the same to the bit: one feature, a few, all; by rows and by blocks.
    #[test]
    fn parts_find_what_the_whole_finds() {
        let v = |n: usize| -> Vec<f64> {
            (0..n).map(|i| if i % 7 == 0 { 0.0 } else { (i as f64 * 1.7).cos() }).collect()
        };
        let ones = {
            let all = frequent_and_rare();
            let view = all.view();
            let indices: Vec<u32> = (0..view.len())
                .flat_map(|k| view.gather(&[k])[0].entries().map(|(row, _)| row).collect::<Vec<_>>())
                .collect();
            let lengths = (0..view.len()).scan(0, |sum, k| {
                *sum += view.filled(k) as u64;
                Some(*sum)
            });
            let pointers = [0].into_iter().chain(lengths).collect();
            Sparse::new(600, 50, (0..view.len() as u64).collect(), pointers, indices, Values::Ones).unwrap()
        };
        for columns in [frequent_and_rare(), ones, columns(40, 300, 1), columns(40, 300, 3)] {
            let (v, none) = (v(2 * columns.rows()), HashSet::new());
            let ask = Ask::many(&v, 2, 25, &none);
            let mut space = PolySpace::new(Inputs::over(&columns), 0.7, 0.01).unwrap();
            let all = space.worst_case(&ask).unwrap();
            assert_eq!(all.best.len(), 25);
            let [least, most] = room(&columns, 2, space.most_values());
            assert!(least < most);
            for memory in [0, least, most / 5, most] {
                space.limit(space.vectors() + memory);
                let parts = space.worst_case(&ask).unwrap();
                assert_eq!((&parts.best, &parts.fresh), (&all.best, &all.fresh), "{memory} bytes");
            }
        }
    }
}
