//! The search for the best pairs: in order of their bounds, until no pair left can be among the best.
//!
//! Partners are held by rows. Where there is no room for all of them, a *part* is held at a time, from those of the largest
//! bounds on, and all features that may matter beside it are taken past it: pairs of parts, each looked at once.

mod by_blocks;
mod by_rows;

use std::ops::Range;
use std::sync::Mutex;

use rayon::prelude::*;

use super::blocks::Blocks;
use super::room::{BATCH_BYTES, Kept, TAKEN, is_dense};
use super::singles::Bounds;
use super::{Item, PolySpace, ROUNDING};
use crate::data::ColumnView;
use crate::error::{Reason, Result};
use crate::space::ask::Residuals;
use crate::space::ranked::RankedRows;
use crate::space::topb::Tops;
use crate::space::work::Work;

/// Features that are taken together: first few, for the first pairs decide how much can be skipped; later many.
const FIRST_BATCH: usize = 16;
const LARGEST_BATCH: usize = 1 << 12;

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

    /// How many of the part, among those before the rank `end`, may matter beside a feature of bound `m`.
    fn partners_of(&self, m: f64, end: usize) -> usize {
        let least = self.least_partner(m);
        self.bounds[self.part.start..self.part.end.min(end)].partition_point(|&m| m >= least)
    }

    /// How many of the part before this rank may matter beside it.
    fn partners(&self, rank: usize) -> usize {
        self.partners_of(self.bounds[rank], rank)
    }

    /// The product of the features of two ranks.
    fn pair(&self, rank: usize, partner: usize) -> Item {
        let (a, b) = (self.order[rank], self.order[partner]);
        Item::Product(a.min(b), a.max(b))
    }
}

#[cfg(test)]
mod tests;
