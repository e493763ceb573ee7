//! Which inputs are scored: those that hold many or large values first, then whoever may reach what these reached.

use super::steps::{Levels, Room};
use super::{AdditiveSpace, Basis};
use crate::data::ColumnView;
use crate::error::Result;
use crate::feature::Waves;
use crate::kernels;
use crate::operator::LinearOperator;
use crate::parallel;
use crate::space::ask::Residuals;
use crate::space::group::taken_groups;
use crate::space::topb::{TopB, Tops, Wanted};
use crate::space::{Ask, Candidate, WorstCase};

/// Columns that are known to be promising, at most, and how many of them one thread takes at a time.
pub(super) const PROMISING: usize = 1 << 14;
const TOGETHER: usize = 64;

/// Columns, for each one that is looked for, that are scored first.
const FIRST: usize = 8;

/// Room for rounding between a bound and what it bounds.
pub(super) const ROUNDING: f64 = 1e-9;

impl AdditiveSpace<'_> {
    /// The worst case.
    pub(super) fn best(&self, ask: &Ask<'_>) -> Result<WorstCase> {
        let search = Search::of(self, ask)?;
        // The most promising first: what they reach, others must.
        let promising = self.promising.get_or_init(|| self.promising());
        let count = (FIRST * search.wanted.best + search.taken.len()).min(promising.len());
        let mut first = promising[..count].to_vec();
        first.sort_unstable();
        let (tops, scored) = self.score_some(&search, &first)?;
        let (rest, others) = self.score_others(&search, &first, tops.threshold().max(0.0))?;
        Ok(WorstCase::new(tops.merge(rest), scored + others, Candidate::Group))
    }

    /// What the square of a score cannot exceed, without a look at any value.
    ///
    /// The score is the length of `sum_i v_i phi(x_i)` over all outputs, so it is at most `R sum |v_i|` over the instances where the
    /// input is not 0, R being the greatest length of phi and `|v_i|` the length of an instance's residuals. That sum, in turn,
    /// is at most their number times the largest `|v_i|`, and by Cauchy and Schwarz the root of their number times the length of v.
    fn bound(&self, position: usize, filled: usize, search: &Search<'_>) -> f64 {
        let filled = filled as f64;
        let square = (filled * search.largest * search.largest).min(search.square);
        self.greatest_square(position) * filled * square * (1.0 + ROUNDING)
    }

    /// Inputs whose bounds are high whatever the duals, the highest first.
    fn promising(&self) -> Vec<u32> {
        let mut top = TopB::new(PROMISING);
        for position in 0..self.scales.len() {
            let filled = self.inputs.columns().filled(position) as f64;
            top.offer(self.greatest_square(position) * filled * filled, position as u32);
        }
        top.into_sorted().into_iter().map(|scored| scored.item).collect()
    }

    /// Scores the columns at some positions.
    pub(in crate::space) fn score_some(
        &self,
        search: &Search<'_>,
        positions: &[u32],
    ) -> Result<(Tops<u32>, u128)> {
        if let Some(shards) = self.inputs.shards() {
            let Search { v, wanted, taken, .. } = search;
            let (tops, scored) = shards.some_curves(&self.curves, *v, *wanted, taken, positions)?;
            return Ok((tops.map(|position| position as u32), scored));
        }
        let part = |some: &[u32]| {
            let mut scoring = Scoring::new(self, search, 0.0);
            for position in some.iter().map(|&p| p as usize) {
                scoring.scored += 1;
                self.inputs.columns().see(position, |column| scoring.add(position, column));
            }
            scoring.end()
        };
        let some: Vec<&[u32]> = positions.chunks(TOGETHER).collect();
        let best = parallel::reduce(some.len(), |k| part(some[k]), merge)?;
        Ok(best.unwrap_or_else(|| (Tops::new(search.wanted), 0)))
    }

    /// Scores all but the columns at `done`, which are in order, as far as they may reach `floor`.
    pub(in crate::space) fn score_others(
        &self,
        search: &Search<'_>,
        done: &[u32],
        floor: f64,
    ) -> Result<(Tops<u32>, u128)> {
        if let Some(shards) = self.inputs.shards() {
            let Search { v, wanted, taken, .. } = search;
            let (tops, scored) = shards.other_curves(&self.curves, *v, *wanted, taken, done, floor)?;
            return Ok((tops.map(|position| position as u32), scored));
        }
        let (columns, count) = (self.inputs.columns(), self.scales.len());
        let batch = columns.batch();
        let part = |task: usize| {
            let mut scoring = Scoring::new(self, search, floor);
            columns.visit(task * batch..count.min((task + 1) * batch), &mut |p, column| {
                let bound = self.bound(p, column.len(), search);
                if bound >= floor * floor && done.binary_search(&(p as u32)).is_err() {
                    // Counted before others of the same task, which depend on how tasks are cut, may rule it out.
                    scoring.scored += 1;
                    if bound >= scoring.least() {
                        scoring.add(p, column);
                    }
                }
            });
            scoring.end()
        };
        let best = parallel::reduce(count.div_ceil(batch), part, merge)?;
        Ok(best.unwrap_or_else(|| (Tops::new(search.wanted), 0)))
    }

    /// The squared length of an input's vector of sums; `None` if it is known to be below `least` without being computed.
    fn square(
        &self,
        position: usize,
        column: ColumnView<'_>,
        search: &Search<'_>,
        least: f64,
        room: &mut Room,
    ) -> Option<f64> {
        let v = search.v;
        match self.curves.basis {
            Basis::Steps { levels, power } => {
                Levels::new(self.scales[position], power, levels).square(column, v, least, room)
            }
            Basis::Waves { .. } => {
                let waves = Waves::on_some(column, self.scales[position], |row| search.counts[row]);
                Some(v.each().flat_map(|v| waves.transpose(v)).map(|c| c * c).sum())
            }
        }
    }
}

/// What is looked for in one worst case.
pub(in crate::space) struct Search<'a> {
    v: Residuals<'a>,
    /// The largest `|v_i|`, and the sum of their squares.
    largest: f64,
    square: f64,
    wanted: Wanted,
    /// In order.
    taken: Vec<u32>,
    /// Whether the residuals of an instance are not all 0, as they may be of most where a hinge is served.
    counts: Vec<bool>,
}

impl<'a> Search<'a> {
    /// Positions that are taken are in order.
    pub(in crate::space) fn new(v: Residuals<'a>, wanted: Wanted, taken: Vec<u32>) -> Self {
        let (largest, square) = (v.largest(), kernels::dot(v.v, v.v));
        let counts = (0..v.rows).map(|row| v.of(row).any(|v| v != 0.0)).collect();
        Self { v, largest, square, wanted, taken, counts }
    }

    fn of(space: &AdditiveSpace<'_>, ask: &'a Ask<'_>) -> Result<Self> {
        let v = ask.residuals(space.inputs.rows())?;
        let wanted = ask.wanted(space.inputs.columns().len());
        Ok(Self::new(v, wanted, taken_groups(&ask.taken)))
    }
}

/// Columns that are scored by one thread, one after the other.
struct Scoring<'a> {
    space: &'a AdditiveSpace<'a>,
    search: &'a Search<'a>,
    /// Only scores from here on matter.
    floor: f64,
    tops: Tops<u32>,
    scored: u128,
    /// The first column whose score is no number.
    wrong: Option<usize>,
    room: Room,
}

impl<'a> Scoring<'a> {
    fn new(space: &'a AdditiveSpace<'a>, search: &'a Search<'a>, floor: f64) -> Self {
        let (tops, room) = (Tops::new(search.wanted), Room::default());
        Self { space, search, floor, tops, scored: 0, wrong: None, room }
    }

    /// The square of what a score must reach to matter.
    fn least(&self) -> f64 {
        let least = self.floor.max(self.tops.threshold());
        least * least
    }

    fn add(&mut self, position: usize, column: ColumnView<'_>) {
        let least = self.least();
        if let Some(square) = self.space.square(position, column, self.search, least, &mut self.room) {
            if !square.is_finite() {
                self.wrong.get_or_insert(position);
            }
            self.tops.offer(square.sqrt(), position as u32, &self.search.taken);
        }
    }

    fn end(self) -> Result<(Tops<u32>, u128)> {
        match self.wrong {
            Some(position) => Err(self.space.inputs.explain(position)),
            None => Ok((self.tops, self.scored)),
        }
    }
}

fn merge((a, p): (Tops<u32>, u128), (b, q): (Tops<u32>, u128)) -> (Tops<u32>, u128) {
    (a.merge(b), p + q)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::data::{Sparse, Values};
    use crate::space::Inputs;
    use proptest::prelude::*;

    proptest! {
        /// For every kind of curve, also where the bounds are tight: values and duals that are all the same.
        #[test]
        fn no_score_exceeds_its_bound(
            entries in prop::collection::vec((prop::sample::select(vec![0.0f64, 0.3, 1.0, 5.0]), [-1.0f64..1.0, -1.0..1.0, -1.0..1.0]), 1..40),
            same in any::<bool>(), outputs in 1usize..4,
        ) {
            let (x, v): (Vec<f64>, Vec<[f64; 3]>) = entries.into_iter().unzip();
            let mut v: Vec<f64> = (0..outputs).flat_map(|k| v.iter().map(move |v| v[k])).collect();
            if same {
                v.fill(0.7);
            }
            let rows: Vec<u32> = (0..).zip(&x).filter(|(_, x)| **x != 0.0).map(|(i, _)| i).collect();
            let values = Values::F64(x.iter().copied().filter(|x| *x != 0.0).collect());
            let pointers = vec![0, rows.len() as u64];
            let columns = Sparse::new(x.len(), 1, vec![0], pointers, rows, values).unwrap();
            let inputs = Inputs::over(&columns);
            for space in [
                AdditiveSpace::hik(inputs, 3).unwrap(),
                AdditiveSpace::intersection(inputs, 100, 0.5).unwrap(),
                AdditiveSpace::gaussian(inputs, None).unwrap(),
            ] {
                let inputs = space.inputs.columns();
                let none = HashSet::new();
                let ask = Ask::many(&v, outputs, 1, &none);
                let search = Search::of(&space, &ask).unwrap();
                let square = inputs.see(0, |x| space.square(0, x, &search, 0.0, &mut Room::default())).unwrap();
                prop_assert!(space.bound(0, inputs.filled(0), &search) >= square);
                if let Basis::Steps { levels, power } = space.curves.basis {
                    let most = inputs.see(0, |x| Levels::new(space.scales[0], power, levels).most(x, search.v));
                    prop_assert!(most * (1.0 + ROUNDING) >= square, "{most} {square}");
                }
            }
        }
    }
}
