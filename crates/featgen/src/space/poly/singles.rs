//! The features of one input: the input itself and its square. Those that occur too rarely to matter are not read.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::shards::Which;
use super::{Item, PolySpace, ROUNDING};
use crate::data::ColumnView;
use crate::error::Result;
use crate::parallel;
use crate::space::Inputs;
use crate::space::ask::{Residuals, length};
use crate::space::inputs::LARGEST_SUM;
use crate::space::topb::{Tops, Wanted};

/// Inputs by their positions, with their bounds `m`.
pub(super) type Bounds = Vec<(u32, f64)>;

/// Inputs whose scores decide which others are read at all.
const LONGEST: usize = 1 << 10;
/// Inputs that are read together where they are no neighbours.
const TOGETHER: usize = 1 << 6;

/// What is known of all values, whatever the duals.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(in crate::space) struct Values {
    /// Whether no feature has values of both signs.
    pub(super) one_signed: bool,
    /// The largest, without its sign.
    pub(super) largest: f64,
}

impl Values {
    pub(super) fn of(inputs: &Inputs<'_>) -> Result<Self> {
        let columns = inputs.columns();
        let none = || Self { one_signed: true, largest: 0.0 };
        // A shard may have no values of any kind.
        if columns.nonzeros() == 0 {
            return Ok(none());
        }
        let one = |column: ColumnView<'_>| {
            let (mut signs, mut values) = ([false; 2], none());
            column.for_each(|_, x| {
                signs = [signs[0] || x < 0.0, signs[1] || x > 0.0];
                values.largest = values.largest.max(if x.is_finite() { x.abs() } else { f64::INFINITY });
            });
            values.one_signed = signs != [true; 2];
            values
        };
        let both = |a: Self, b: Self| Self {
            one_signed: a.one_signed && b.one_signed,
            largest: a.largest.max(b.largest),
        };
        if columns.all_ones() {
            return Ok(Self { one_signed: true, largest: 1.0 });
        }
        let each = match inputs.shards() {
            Some(shards) => super::shards::ask_values(shards)?,
            None => columns.see_all(|_, column| one(column)),
        };
        Ok(each.into_iter().fold(none(), both))
    }
}

impl PolySpace<'_> {
    /// The inputs that may matter, if `may` says so of the largest `sum of |v_i x_i|` that columns of their length can have;
    /// those that hold the most values first. It holds for all that are longer than one that it holds for.
    fn long(&self, largest: f64, may: impl Fn(f64) -> bool) -> &[u32] {
        let columns = self.inputs.columns();
        let reach = |p: u32| columns.filled(p as usize) as f64 * largest * self.values.largest;
        // Sums that may be too large to compute with are looked at in any case.
        let read = |reach: f64| !self.pruned || reach > LARGEST_SUM || may(reach);
        let count = self.longest.partition_point(|&p| read(reach(p)));
        &self.longest[..count]
    }

    /// Offers the constant and the inputs; returns how many of these were scored. `largest` is the largest of the
    /// `|v_i|`.
    pub(super) fn score_inputs(
        &self,
        v: Residuals<'_>,
        largest: f64,
        mut tops: Tops<Item>,
        taken: &[Item],
    ) -> Result<(Tops<Item>, usize)> {
        if self.coef0 == 0.0 {
            return Ok((tops, 0));
        }
        let (constant, linear) = (self.coefficient(Item::Constant), self.coefficient(Item::Input(0)));
        let wanted = tops.wanted();
        let sum = length(v.each().map(|v| crate::ordered::sum_over([v], |[v]| v)));
        tops.offer(constant * sum, Item::Constant, taken);
        // A few long columns first: beside them most others need not be read.
        let mut done = 0;
        if self.longest.len() > LONGEST {
            tops = tops.merge(self.score_columns(&self.longest[..LONGEST], v, wanted, taken)?);
            done = LONGEST;
        }
        let nothing = |score: f64| score <= 0.0 || is_below(score, tops.threshold());
        let long = self.long(largest, |reach| !nothing(linear * reach));
        if long.len() > self.longest.len() / 2 {
            let tops = tops.merge(self.score_other_columns(&self.longest[..done], v, wanted, taken)?);
            return Ok((tops, 1 + self.longest.len()));
        }
        let scored = done.max(long.len());
        let tops = tops.merge(self.score_columns(&self.longest[done..scored], v, wanted, taken)?);
        Ok((tops, 1 + scored))
    }

    /// The best of all inputs but those done. Neighbours are best read together.
    pub(super) fn score_other_columns(
        &self,
        done: &[u32],
        v: Residuals<'_>,
        wanted: Wanted,
        taken: &[Item],
    ) -> Result<Tops<Item>> {
        if let Some(shards) = self.inputs.shards() {
            return self.ask_inputs(shards, Which::AllBut(self.ids(done).into()), v, wanted, taken);
        }
        let (again, linear) = (self.marks(done), self.coefficient(Item::Input(0)));
        let best_of = |range: Range<usize>, lengths: &[f64]| {
            let mut tops = Tops::new(wanted);
            for (position, length) in range.zip(lengths).filter(|(position, _)| !again[*position]) {
                tops.offer(linear * length.abs(), Item::Input(position as u32), taken);
            }
            tops
        };
        Ok(self.inputs.pulls(v, best_of, Tops::merge)?.unwrap_or_else(|| Tops::new(wanted)))
    }

    /// Which inputs are at these positions.
    fn marks(&self, positions: &[u32]) -> Vec<bool> {
        let mut marks = vec![false; self.inputs.columns().len()];
        positions.iter().for_each(|&p| marks[p as usize] = true);
        marks
    }

    /// The best of some inputs.
    pub(super) fn score_columns(
        &self,
        positions: &[u32],
        v: Residuals<'_>,
        wanted: Wanted,
        taken: &[Item],
    ) -> Result<Tops<Item>> {
        if let Some(shards) = self.inputs.shards() {
            return self.ask_inputs(shards, Which::These(self.ids(positions).into()), v, wanted, taken);
        }
        let linear = self.coefficient(Item::Input(0));
        let some: Vec<&[u32]> = positions.chunks(TOGETHER).collect();
        let best_of = |k: usize| {
            let mut tops = Tops::new(wanted);
            for &position in some[k] {
                let sum = self.inputs.pull(position as usize, v)?;
                tops.offer(linear * sum, Item::Input(position), taken);
            }
            Ok(tops)
        };
        let best = parallel::reduce(some.len(), best_of, Tops::merge)?;
        Ok(best.unwrap_or_else(|| Tops::new(wanted)))
    }

    /// Offers the squares; returns the bounds `m` of those inputs that may be factors of something good.
    pub(super) fn score_squares(
        &self,
        v: Residuals<'_>,
        largest: f64,
        mut tops: Tops<Item>,
        taken: &[Item],
    ) -> Result<(Tops<Item>, Bounds)> {
        let (wanted, pair) = (tops.wanted(), self.coefficient(Item::Product(0, 1)));
        let square = |reach: f64| reach * self.values.largest;
        let most = square(self.most_values() as f64 * largest * self.values.largest);
        // A few long columns first, as with inputs.
        let done = if self.longest.len() > LONGEST { LONGEST } else { 0 };
        let (best, mut bounds) = self.some_squares(&self.longest[..done], v, wanted, taken)?;
        tops = tops.merge(best);
        // As good as a square, or as a factor beside the largest.
        let long = self.long(largest, |reach| {
            let score = (self.gamma * square(reach)).max(pair * (square(reach) * most).sqrt());
            !is_below(score, tops.threshold())
        });
        let (best, more) = match long.len() <= self.longest.len() / 2 {
            true => self.some_squares(&long[done.min(long.len())..], v, wanted, taken)?,
            false => self.other_squares(&self.longest[..done], v, wanted, taken)?,
        };
        bounds.extend(more);
        Ok((tops.merge(best), bounds))
    }

    /// The best of the squares of some inputs, and their bounds.
    pub(super) fn some_squares(
        &self,
        positions: &[u32],
        v: Residuals<'_>,
        wanted: Wanted,
        taken: &[Item],
    ) -> Result<(Tops<Item>, Bounds)> {
        if positions.is_empty() {
            return Ok((Tops::new(wanted), Vec::new()));
        }
        if let Some(shards) = self.inputs.shards() {
            return self.ask_squares(shards, Which::These(self.ids(positions).into()), v, wanted, taken);
        }
        let columns = self.inputs.columns();
        let some: Vec<&[u32]> = positions.chunks(TOGETHER).collect();
        let part = |k: usize| {
            let sums = |&p: &u32| columns.see(p as usize, |column| self.square(column, v));
            self.best_squares(some[k], some[k].iter().map(sums).collect(), wanted, taken)
        };
        together(parallel::try_map(some.len(), part)?, wanted)
    }

    /// The same of all inputs but those done. Neighbours are best read together.
    pub(super) fn other_squares(
        &self,
        done: &[u32],
        v: Residuals<'_>,
        wanted: Wanted,
        taken: &[Item],
    ) -> Result<(Tops<Item>, Bounds)> {
        if let Some(shards) = self.inputs.shards() {
            return self.ask_squares(shards, Which::AllBut(self.ids(done).into()), v, wanted, taken);
        }
        let (columns, again) = (self.inputs.columns(), self.marks(done));
        let (len, batch) = (columns.len(), columns.batch().max(1));
        let part = |task: usize| {
            let (mut new, mut sums) = (Vec::new(), Vec::new());
            columns.visit(task * batch..len.min((task + 1) * batch), &mut |position, column| {
                if !again[position] {
                    new.push(position as u32);
                    sums.push(self.square(column, v));
                }
            });
            self.best_squares(&new, sums, wanted, taken)
        };
        together(parallel::try_map(len.div_ceil(batch), part)?, wanted)
    }

    /// The best of the squares of some inputs, given their sums, and their bounds.
    fn best_squares(
        &self,
        positions: &[u32],
        sums: Vec<Square>,
        wanted: Wanted,
        taken: &[Item],
    ) -> Result<(Tops<Item>, Bounds)> {
        self.inputs.go_on()?;
        // No score of a pair is above the larger of these.
        for (&p, square) in positions.iter().zip(&sums) {
            self.inputs.check(p as usize, &[square.size], 1)?;
        }
        let (mut tops, mut bounds) = (Tops::new(wanted), Vec::new());
        let factors = positions.iter().copied().zip(sums).filter(|(p, _)| self.is_factor(*p as usize));
        for (position, square) in factors {
            tops.offer(self.gamma * square.score, Item::Product(position, position), taken);
            let bound = square.bound.sqrt();
            bounds.extend((bound > 0.0).then_some((position, bound)));
        }
        Ok((tops, bounds))
    }

    /// What the sums of `v_i x_i^2` come to.
    fn square(&self, column: ColumnView<'_>, v: Residuals<'_>) -> Square {
        if v.outputs == 1 {
            return self.square_of(&[column.signed_sums(v.v, |v, x| v * x * x)]);
        }
        let mut sums = vec![[0.0; 2]; v.outputs];
        column.add_signed_sums(v.v, |v, x| v * x * x, &mut sums);
        self.square_of(&sums)
    }

    /// The same from the sums of every output over positive and, made positive, over negative `v_i`.
    fn square_of(&self, sums: &[[f64; 2]]) -> Square {
        let size = length(sums.iter().map(|[up, down]| up + down));
        let score = length(sums.iter().map(|[up, down]| up - down));
        let larger = || length(sums.iter().map(|[up, down]| up.max(*down)));
        Square { score, bound: if self.values.one_signed { larger() } else { size }, size }
    }
}

/// What was found in parts, as one.
fn together(parts: Vec<(Tops<Item>, Bounds)>, wanted: Wanted) -> Result<(Tops<Item>, Bounds)> {
    let (mut tops, mut bounds) = (Tops::new(wanted), Vec::new());
    for (best, more) in parts {
        tops = tops.merge(best);
        bounds.extend(more);
    }
    Ok((tops, bounds))
}

/// What an input's square, and its products with others, may score.
struct Square {
    /// The length of the outputs' sums: the score, without the coefficient.
    score: f64,
    /// `m^2`.
    bound: f64,
    /// The length of the sums of sizes.
    size: f64,
}

/// Whether a bound is below a threshold, with room for rounding. Bounds that are no numbers are not.
fn is_below(bound: f64, threshold: f64) -> bool {
    bound < threshold * (1.0 - ROUNDING)
}
