//! The search for the best pairs: in order of their bounds, until no pair left can be among the best.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::blocks::Blocks;
use super::singles::Bounds;
use super::{Item, PolySpace, ROUNDING};
use crate::error::Result;
use crate::space::ranked::RankedRows;
use crate::space::topb::Tops;
use crate::space::work::{WORTH_REPORTING, Work};

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

const ADVICE: &str = "name the features that may be multiplied with --only";

/// The values of the features that were reached, in order of rank.
enum Held {
    Rows(RankedRows),
    Blocks(Blocks),
}

/// The search for pairs at given duals.
pub(super) struct Search<'a> {
    space: &'a PolySpace<'a>,
    v: &'a [f64],
    /// Which instances have dual weight: asked for often, so that it matters how small it is.
    weighs: Vec<bool>,
    /// Positions of the features that may be in a pair worth looking at, by falling bound.
    order: Vec<u32>,
    /// Their bounds.
    bounds: Vec<f64>,
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
        v: &'a [f64],
        mut bounds: Bounds,
        tops: Tops<Item>,
        taken: &'a [Item],
    ) -> Self {
        let largest = bounds.iter().fold(0.0, |most: f64, &(_, m)| most.max(m));
        let work = Work::new(space.most_work, space.inputs.watch(), ADVICE);
        let held = Held::Rows(RankedRows::default());
        let weighs = v.iter().map(|v| *v != 0.0).collect();
        let (order, spare) = (Vec::new(), Mutex::default());
        let mut search = Self { space, v, weighs, order, bounds: Vec::new(), held, tops, taken, work, spare };
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
        let columns = self.space.inputs.columns();
        let one = |&position: &u32| {
            self.work.go_on()?;
            let mut entries = Vec::new();
            if !columns.short_column(position as usize, usize::MAX, &mut entries) {
                columns.gather(&[position as usize])[0].each_nonzero(|row, x| entries.push((row, x)));
            }
            entries.retain(|&(row, x)| self.weighs[row as usize] && x != 0.0);
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
        let kept = |row: u32| self.weighs[row as usize];
        Ok(Held::Rows(RankedRows::new(columns, &self.order, columns.all_ones(), kept, &self.work)?))
    }

    /// Takes in a batch of features, whose ranks begin with `first`, and multiplies each with all before it that may matter.
    fn score(&mut self, first: usize, columns: &[Vec<(u32, f64)>]) -> Result<(Tops<Item>, u128)> {
        match &mut self.held {
            Held::Rows(rows) => rows.append(first as u32, columns),
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
                pairs +=
                    self.score_row_after_row(rows, first..first + columns.len(), &mut sums, &mut tops)?;
            } else {
                for (rank, column) in (first..).zip(columns) {
                    pairs += self.score_column(rows, rank, column, &mut sums, &mut tops)?;
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
    /// and after. Each sum is added up as [`score_column`](Self::score_column) does it, to the last digit.
    fn score_row_after_row(
        &self,
        rows: &RankedRows,
        ranks: Range<usize>,
        sums: &mut [f64],
        tops: &mut Tops<Item>,
    ) -> Result<u128> {
        let partners: Vec<usize> = ranks.clone().map(|rank| self.partners(rank)).collect();
        let width = partners.iter().copied().max().unwrap_or(0);
        let mut read = 0;
        for (row, &v) in (0..).zip(self.v) {
            let there = rows.ranks(row);
            let begin = there.partition_point(|&rank| (rank as usize) < ranks.start);
            for (at, &rank) in there.iter().enumerate().skip(begin) {
                let Some(&partners) = partners.get(rank as usize - ranks.start) else { break };
                let pull = v * rows.value(row, at);
                let sums = &mut sums[(rank as usize - ranks.start) * width..][..width];
                read += rows.each_below(row, at, partners as u32, |rank, x| sums[rank] += pull * x) as u64;
            }
            if read >= WORTH_REPORTING {
                self.work.add(std::mem::take(&mut read))?;
            }
        }
        self.work.add(read)?;
        let mut pairs = 0;
        for (k, &partners) in partners.iter().enumerate() {
            for partner in 0..partners {
                pairs += self.take(ranks.start + k, partner, &mut sums[k * width + partner], tops);
            }
        }
        Ok(pairs)
    }

    /// One feature with those of smaller rank: the rows where it is not 0 are read. `sums` are all 0 before and after.
    fn score_column(
        &self,
        rows: &RankedRows,
        rank: usize,
        column: &[(u32, f64)],
        sums: &mut [f64],
        tops: &mut Tops<Item>,
    ) -> Result<u128> {
        let partners = self.partners(rank);
        let (mut read, mut unreported) = (0, 0);
        for &(row, x) in column {
            let pull = self.v[row as usize] * x;
            let before = read;
            read += rows.each_below(row, usize::MAX, partners as u32, |rank, x| sums[rank] += pull * x);
            unreported += read - before;
            if unreported >= WORTH_REPORTING as usize {
                self.work.add(std::mem::take(&mut unreported) as u64)?;
            }
        }
        self.work.add(unreported as u64)?;
        let mut pairs = 0;
        // Sums are looked at where they were added to, or all in a row if that is less.
        if read >= partners {
            (0..partners).for_each(|partner| pairs += self.take(rank, partner, &mut sums[partner], tops));
        } else {
            for &(row, _) in column {
                rows.each_below(row, usize::MAX, partners as u32, |partner, _| {
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
    use std::collections::HashSet;

    use super::*;
    use crate::data::{Sparse, Values};
    use crate::space::{Candidate, FeatureSpace, Inputs};

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
        let v: Vec<f64> = (0..600).map(|i| if i % 5 == 0 { 0.0 } else { f64::sin(i as f64) }).collect();
        for exhaustive in [false, true] {
            let space = PolySpace::new(Inputs::over(&columns), 0.7, 1.0).unwrap();
            let space = if exhaustive { space.exhaustive() } else { space };
            let (tops, bounds) = space.score_squares(&v, 1.0, Tops::new(30), &[]).unwrap();
            let search = Search::new(&space, &v, bounds, tops, &[]);
            let order = search.order.clone();
            let kept = |row: u32| v[row as usize] != 0.0;
            let mut rows = RankedRows::new(&columns, &order, false, kept, &search.work).unwrap();
            let pivots = search.columns(0..order.len()).unwrap();
            rows.append(0, &pivots);
            for ranks in [0..order.len(), 3..11, 20..order.len() - 1] {
                let (mut by_rows, mut by_columns) = (Tops::new(30), Tops::new(30));
                let mut sums = vec![0.0; order.len() * order.len()];
                let pairs =
                    search.score_row_after_row(&rows, ranks.clone(), &mut sums, &mut by_rows).unwrap();
                let mut expected = 0;
                for rank in ranks {
                    let column = &pivots[rank];
                    expected += search.score_column(&rows, rank, column, &mut sums, &mut by_columns).unwrap();
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
            let values = if ones { Values::Ones } else { Values::F64(reals) };
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
