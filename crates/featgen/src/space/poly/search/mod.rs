//! The search for the best pairs: in order of their bounds, until no pair left can be among the best.
//!
//! Partners are held by rows. Where there is no room for all of them, a *part* is held at a time, from those of the largest
//! bounds on, and all features that may matter beside it are taken past it: pairs of parts, each looked at once. Where columns are in
//! shards, the parts are the shards: all features that may matter are taken past each of them ([`shards`](super::shards)).

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
use crate::parallel;
use crate::space::ask::Residuals;
use crate::space::ranked::RankedRows;
use crate::space::topb::{Tops, Wanted};
use crate::space::work::Work;

/// Features that are taken together: first few, for the first pairs decide how much can be skipped; later many.
pub(super) const FIRST_BATCH: usize = 16;
const LARGEST_BATCH: usize = 1 << 12;

fn advice() -> Reason {
    Reason::from("name the features that may be multiplied with ").parameter("only")
}

/// A column where it is not 0.
pub(super) type Entries = Vec<(u32, f64)>;

/// The values of a part of the features, in order of rank.
pub(super) enum Held {
    Rows(RankedRows),
    Blocks(Blocks),
}

/// Features that are multiplied with those of a part that come before them, in order of rank.
pub(super) struct Pivots<'p> {
    /// What items call them.
    pub(super) names: &'p [u32],
    pub(super) bounds: &'p [f64],
    pub(super) columns: &'p [Entries],
    /// How many of the part come before each.
    pub(super) before: Vec<usize>,
    /// Where the first of them is in the part, if they belong to it.
    pub(super) place: Option<usize>,
}

impl Pivots<'_> {
    fn len(&self) -> usize {
        self.columns.len()
    }
}

/// The search for pairs at given duals.
pub(super) struct Search<'a> {
    pub(super) space: &'a PolySpace<'a>,
    pub(super) v: Residuals<'a>,
    /// Which instances have dual weight: asked for often, so that it matters how small it is.
    weighs: Vec<bool>,
    /// Positions of the features that may be in a pair worth looking at, by falling bound.
    pub(super) order: Vec<u32>,
    /// What items call them, if not by their positions.
    pub(super) names: Option<Vec<u32>>,
    /// Their bounds.
    pub(super) bounds: Vec<f64>,
    /// The ranks whose values are held, or are about to be.
    pub(super) part: Range<usize>,
    /// Whether they are held by blocks.
    pub(super) dense: bool,
    wanted: Wanted,
    /// What a pair must reach to be among the best: those found before the features at hand were taken.
    pub(super) floor: f64,
    pub(super) taken: &'a [Item],
    pub(super) work: Work<'a>,
    /// Sums that no thread uses, all 0.
    spare: Mutex<Vec<Vec<f64>>>,
}

impl<'a> Search<'a> {
    /// For pairs of features of these bounds that reach `floor`.
    pub(super) fn new(
        space: &'a PolySpace<'a>,
        v: Residuals<'a>,
        bounds: Bounds,
        (wanted, floor): (Wanted, f64),
        taken: &'a [Item],
    ) -> Self {
        let largest = bounds.iter().fold(0.0, |most: f64, &(_, m)| most.max(m));
        let mut search = Self {
            space,
            v,
            weighs: (0..v.rows).map(|row| v.weighs(row)).collect(),
            order: Vec::new(),
            names: None,
            bounds: Vec::new(),
            part: 0..0,
            dense: is_dense(space.inputs.columns()),
            wanted,
            floor,
            taken,
            work: Work::new(space.most_work, space.inputs.given_context(), advice()),
            spare: Mutex::default(),
        };
        search.rank(bounds, search.least_partner(largest));
        search
    }

    /// Ranks the features whose bounds are not below the least.
    pub(super) fn rank(&mut self, mut bounds: Bounds, least: f64) {
        bounds.retain(|&(_, m)| m >= least);
        bounds.par_sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        (self.order, self.bounds) = bounds.into_iter().unzip();
    }

    /// The smallest bound with which a feature can still make a good pair with one of bound `m`.
    pub(super) fn least_partner(&self, m: f64) -> f64 {
        if !self.space.pruned {
            return 0.0;
        }
        let needed = self.floor.max(0.0) * (1.0 - ROUNDING);
        needed / (self.space.coefficient(Item::Product(0, 1)) * m)
    }

    /// Looks at all pairs that may be among the best, beside those known; what are the best then, and how many were scored.
    pub(super) fn run(mut self, mut tops: Tops<Item>) -> Result<(Tops<Item>, u128)> {
        if let Some(shards) = self.space.inputs.shards() {
            return self.run_in_shards(shards, tops);
        }
        let (mut scored, mut start) = (0, 0);
        while start < self.order.len() && self.may_pair(start, start) {
            self.part = self.next_part(start);
            let pairs;
            (tops, pairs) = self.run_part(tops)?;
            scored += pairs;
            start = self.part.end;
        }
        Ok((tops, scored))
    }

    /// Looks at all pairs with a partner of the part at hand.
    fn run_part(&mut self, mut tops: Tops<Item>) -> Result<(Tops<Item>, u128)> {
        let (mut scored, mut first, mut batch) = (0, self.part.start, FIRST_BATCH);
        let mut held = self.empty()?;
        while let Some(ranks) = self.next_batch(first, batch) {
            let columns = self.columns(ranks.clone())?;
            let pivots = self.pivots(first, &columns);
            if let Some(place) = pivots.place {
                held.append(place, &columns);
            }
            let (found, pairs) = self.score(&held, &pivots)?;
            tops = tops.merge(found);
            self.floor = tops.threshold();
            scored += pairs;
            first = ranks.end;
            batch = larger(batch);
        }
        Ok((tops, scored))
    }

    /// The ranks that are taken together from `first` on, about so many; none if no later feature can matter beside the part.
    pub(super) fn next_batch(&self, first: usize, batch: usize) -> Option<Range<usize>> {
        // Later features have smaller bounds: if the largest partner is not enough, none is.
        if first >= self.order.len() || !self.may_pair(self.part.start, first) {
            return None;
        }
        let end = if self.part.contains(&first) { self.part.end } else { self.order.len() };
        Some(first..self.batch(first..end.min(first + batch)))
    }

    /// Whether the pair of these ranks may be among the best.
    fn may_pair(&self, partner: usize, rank: usize) -> bool {
        self.bounds[partner] >= self.least_partner(self.bounds[rank])
    }

    /// The ranks from `start` on whose values are held together: as many as there is room for.
    pub(super) fn next_part(&self, start: usize) -> Range<usize> {
        let kept = Kept::of(self.space.inputs.columns(), self.dense, self.v.outputs);
        let cost = |filled: u64| kept.bytes(1, filled);
        start..start + self.fitting(start..self.order.len(), self.space.memory / 2, cost)
    }

    /// The end of those of these ranks that are taken together.
    pub(super) fn batch(&self, ranks: Range<usize>) -> usize {
        let bytes = BATCH_BYTES.min(self.space.memory / 2);
        let copy = Kept::of(self.space.inputs.columns(), self.dense, self.v.outputs).copy;
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
    pub(super) fn columns(&self, ranks: Range<usize>) -> Result<Vec<Entries>> {
        let columns = self.space.inputs.columns();
        let order = &self.order[ranks];
        let one = |k: usize| {
            self.work.go_on()?;
            Ok(columns.see(order[k] as usize, |column| self.weighing(column)))
        };
        parallel::try_map(order.len(), one)
    }

    /// A column in the instances that have dual weight.
    pub(super) fn weighing(&self, column: ColumnView<'_>) -> Entries {
        let mut entries = Vec::with_capacity(column.len());
        column.each_nonzero(|row, x| {
            if self.weighs[row as usize] {
                entries.push((row, x));
            }
        });
        entries
    }

    /// Nothing held yet, but room for the part at hand.
    pub(super) fn empty(&self) -> Result<Held> {
        if self.dense {
            return Ok(Held::Blocks(Blocks::new(self.v, self.part.len())));
        }
        let (columns, kept) = (self.space.inputs.columns(), |row: u32| self.weighs[row as usize]);
        let order = &self.order[self.part.clone()];
        Ok(Held::Rows(RankedRows::new(columns, order, columns.all_ones(), kept, &self.work)?))
    }

    /// The features of the ranks that begin with `first`, as pivots beside the part at hand.
    fn pivots<'p>(&'p self, first: usize, columns: &'p [Entries]) -> Pivots<'p> {
        let (start, ranks) = (self.part.start, first..first + columns.len());
        Pivots {
            names: &self.order[ranks.clone()],
            bounds: &self.bounds[ranks.clone()],
            columns,
            before: ranks.map(|rank| (rank - start).min(self.part.len())).collect(),
            place: self.part.contains(&first).then(|| first - start),
        }
    }

    /// Multiplies features with all of the part before them that may matter.
    pub(super) fn score(&self, held: &Held, pivots: &Pivots<'_>) -> Result<(Tops<Item>, u128)> {
        match held {
            // One output is by far the most common: its loops are compiled for themselves.
            Held::Rows(rows) if self.v.outputs == 1 => self.score_by_rows::<true>(rows, pivots),
            Held::Rows(rows) => self.score_by_rows::<false>(rows, pivots),
            Held::Blocks(blocks) => self.score_by_blocks(blocks, pivots),
        }
    }

    /// How many of the part may matter beside a feature of bound `m`.
    fn may_matter(&self, m: f64) -> usize {
        let least = self.least_partner(m);
        self.bounds[self.part.clone()].partition_point(|&m| m >= least)
    }

    /// How many of the part before a pivot may matter beside it.
    fn partners(&self, pivots: &Pivots<'_>, k: usize) -> usize {
        self.may_matter(pivots.bounds[k]).min(pivots.before[k])
    }

    /// The product of a feature of that name and the one of a rank.
    fn pair(&self, name: u32, rank: usize) -> Item {
        let other = self.names.as_ref().map_or(self.order[rank], |names| names[rank]);
        Item::Product(name.min(other), name.max(other))
    }
}

/// How many features are taken together after so many.
pub(super) fn larger(batch: usize) -> usize {
    (2 * batch).min(LARGEST_BATCH)
}

impl Held {
    /// Holds more columns, of the places that begin with `place`.
    pub(super) fn append(&mut self, place: usize, columns: &[Entries]) {
        match self {
            Self::Rows(rows) => rows.append(place as u32, columns),
            Self::Blocks(blocks) => columns.iter().for_each(|column| blocks.push(column)),
        }
    }
}

#[cfg(test)]
mod tests;
