//! Pairs of features that are 0 in most rows: partners stand by rows, and sums of products are added up row after row.

use std::ops::Range;
use std::sync::PoisonError;

use super::{Pivots, Search};
use crate::error::Result;
use crate::parallel;
use crate::space::ask::length;
use crate::space::poly::Item;
use crate::space::poly::room::ROOM;
use crate::space::ranked::RankedRows;
use crate::space::topb::Tops;
use crate::space::work::WORTH_REPORTING;

/// Features that a thread takes together, at least: a list of the best is made for them.
const FEWEST_TOGETHER: usize = 16;
/// Rows are read from the first to the last where so many rows, or fewer, have one value of the features at hand.
const PER_ROW: usize = 4;

impl Search<'_> {
    /// Multiplies features with all of the part before them that may matter.
    pub(super) fn score_by_rows<const ONE: bool>(
        &self,
        rows: &RankedRows,
        pivots: &Pivots<'_>,
    ) -> Result<(Tops<Item>, u128)> {
        let most = (0..pivots.len()).map(|k| self.partners(pivots, k)).max().unwrap_or(0);
        let width = self.v.outputs * most;
        let share = pivots.len().div_ceil(rayon::current_num_threads());
        let together = share.min((ROOM / width.max(1)).max(FEWEST_TOGETHER)).max(1);
        let score = |k: usize| {
            let some = k * together..pivots.len().min((k + 1) * together);
            let values: usize = pivots.columns[some.clone()].iter().map(Vec::len).sum();
            let by_rows =
                pivots.place.is_some() && some.len() * width <= ROOM && values >= self.v.rows / PER_ROW;
            let width = if by_rows { some.len() * width } else { width };
            let (mut tops, mut sums) = (Tops::new(self.wanted), self.spare_sums(width));
            let mut pairs = 0;
            if by_rows {
                pairs += self.score_row_after_row::<ONE>(rows, pivots, some, &mut sums, &mut tops)?;
            } else {
                for k in some {
                    pairs += self.score_column::<ONE>(rows, pivots, k, &mut sums, &mut tops)?;
                }
            }
            self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(sums);
            Ok((tops, pairs))
        };
        let merge = |(a, p): (Tops<Item>, u128), (b, q)| (a.merge(b), p + q);
        let best = parallel::reduce(pivots.len().div_ceil(together), score, merge)?;
        Ok(best.unwrap_or_else(|| (Tops::new(self.wanted), 0)))
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

    /// Some frequent features of the part with those of smaller rank: all rows are read, one after the other. `sums` are all
    /// 0 before and after. Each sum is added up as [`score_column`](Self::score_column) does it, to the last digit.
    pub(super) fn score_row_after_row<const ONE: bool>(
        &self,
        rows: &RankedRows,
        pivots: &Pivots<'_>,
        some: Range<usize>,
        sums: &mut [f64],
        tops: &mut Tops<Item>,
    ) -> Result<u128> {
        let partners: Vec<usize> = some.clone().map(|k| self.partners(pivots, k)).collect();
        let width = self.v.outputs * partners.iter().copied().max().unwrap_or(0);
        let first = pivots.place.unwrap_or(0) + some.start;
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
        for (k, (at, &partners)) in some.zip(partners.iter().enumerate()) {
            for place in 0..partners {
                pairs += self.take::<ONE>(pivots.names[k], place, &mut sums[at * width..], tops);
            }
        }
        Ok(pairs)
    }

    /// One feature with those of the part of smaller rank: the rows where it is not 0 are read. `sums` are all 0 before and
    /// after.
    pub(super) fn score_column<const ONE: bool>(
        &self,
        rows: &RankedRows,
        pivots: &Pivots<'_>,
        k: usize,
        sums: &mut [f64],
        tops: &mut Tops<Item>,
    ) -> Result<u128> {
        let (partners, name, column) = (self.partners(pivots, k), pivots.names[k], &pivots.columns[k]);
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
            (0..partners).for_each(|place| pairs += self.take::<ONE>(name, place, sums, tops));
        } else {
            for &(row, _) in column {
                rows.each_below(row, usize::MAX, partners as u32, |place, _| {
                    pairs += self.take::<ONE>(name, place, sums, tops);
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
        name: u32,
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
        if score >= tops.threshold() && score >= self.floor {
            tops.offer(score, self.pair(name, self.part.start + place), self.taken);
        }
        1
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
