//! The features of one input: the input itself and its square. Those that occur too rarely to matter are not read.

use std::ops::Range;

use rayon::prelude::*;

use super::{Item, PolySpace, ROUNDING};
use crate::data::ColumnView;
use crate::error::{Error, Result};
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
#[derive(Debug, Clone, Copy)]
pub(super) struct Values {
    /// Whether no feature has values of both signs.
    one_signed: bool,
    /// The largest, without its sign.
    pub(super) largest: f64,
}

impl Values {
    pub(super) fn of(inputs: &Inputs<'_>) -> Self {
        let columns = inputs.columns();
        let none = || Self { one_signed: true, largest: 0.0 };
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
        match columns.all_ones() {
            true => Self { one_signed: true, largest: 1.0 },
            false => columns.see_all(|_, column| one(column)).into_iter().fold(none(), both),
        }
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
            // Neighbours are best read together; what was offered already is not offered again.
            let mut again = vec![false; self.longest.len()];
            self.longest[..done].iter().for_each(|&p| again[p as usize] = true);
            let best_of = |range: Range<usize>, lengths: &[f64]| {
                let mut tops = Tops::new(wanted);
                for (position, length) in range.zip(lengths).filter(|(position, _)| !again[*position]) {
                    tops.offer(linear * length.abs(), Item::Input(position as u32), taken);
                }
                tops
            };
            if let Some(inputs) = self.inputs.pulls(v, best_of, Tops::merge)? {
                tops = tops.merge(inputs);
            }
            return Ok((tops, 1 + self.longest.len()));
        }
        let scored = done.max(long.len());
        let tops = tops.merge(self.score_columns(&self.longest[done..scored], v, wanted, taken)?);
        Ok((tops, 1 + scored))
    }

    /// The best of some inputs.
    fn score_columns(
        &self,
        positions: &[u32],
        v: Residuals<'_>,
        wanted: Wanted,
        taken: &[Item],
    ) -> Result<Tops<Item>> {
        let linear = self.coefficient(Item::Input(0));
        let best_of = |positions: &[u32]| {
            let mut tops = Tops::new(wanted);
            for &position in positions {
                let sum = self.inputs.pull(position as usize, v)?;
                tops.offer(linear * sum, Item::Input(position), taken);
            }
            Ok(tops)
        };
        let parts = positions.par_chunks(TOGETHER).map(best_of);
        parts.try_reduce(|| Tops::new(wanted), |a, b| Ok(a.merge(b)))
    }

    /// Offers the squares; returns the bounds `m` of those inputs that may be factors of something good.
    pub(super) fn score_squares(
        &self,
        v: Residuals<'_>,
        largest: f64,
        mut tops: Tops<Item>,
        taken: &[Item],
    ) -> Result<(Tops<Item>, Bounds)> {
        let columns = self.inputs.columns();
        let (wanted, pair) = (tops.wanted(), self.coefficient(Item::Product(0, 1)));
        let square = |reach: f64| reach * self.values.largest;
        let most = square(self.most_values() as f64 * largest * self.values.largest);
        let offer = |(position, square): (u32, Square), tops: &mut Tops<Item>| {
            let item = Item::Product(position, position);
            tops.offer(self.gamma * square.score, item, taken);
            let bound = square.bound.sqrt();
            (bound > 0.0).then_some((position, bound))
        };
        let part = |positions: &[u32], sums: Vec<Square>| {
            self.inputs.go_on()?;
            // No score of a pair is above the larger of these.
            for (&p, square) in positions.iter().zip(&sums) {
                self.inputs.check(p as usize, &[square.size], 1)?;
            }
            let mut tops = Tops::new(wanted);
            let sums = positions.iter().copied().zip(sums).filter(|(p, _)| self.is_factor(*p as usize));
            let bounds: Bounds = sums.filter_map(|sums| offer(sums, &mut tops)).collect();
            Ok((tops, bounds))
        };
        let some = |positions: &[u32]| {
            let sums = |&p: &u32| columns.see(p as usize, |column| self.square(column, v));
            part(positions, positions.iter().map(sums).collect())
        };
        let mut bounds = Vec::new();
        let mut add = |parts: Result<Vec<(Tops<Item>, Bounds)>>, mut tops: Tops<Item>| {
            for (best, more) in parts? {
                tops = tops.merge(best);
                bounds.extend(more);
            }
            Ok::<_, Error>(tops)
        };
        // A few long columns first, as with inputs.
        let done = if self.longest.len() > LONGEST { LONGEST } else { 0 };
        tops = add(self.longest[..done].par_chunks(TOGETHER).map(some).collect(), tops)?;
        // As good as a square, or as a factor beside the largest.
        let long = self.long(largest, |reach| {
            let score = (self.gamma * square(reach)).max(pair * (square(reach) * most).sqrt());
            !is_below(score, tops.threshold())
        });
        if long.len() <= self.longest.len() / 2 {
            let rest = &long[done.min(long.len())..];
            tops = add(rest.par_chunks(TOGETHER).map(some).collect(), tops)?;
            return Ok((tops, bounds));
        }
        // Neighbours are best read together; what was offered already is not offered again.
        let all: Vec<u32> = (0..self.longest.len() as u32).collect();
        let mut again = vec![false; all.len()];
        self.longest[..done].iter().for_each(|&p| again[p as usize] = true);
        let batch = |positions: &[u32]| {
            let first = positions[0] as usize;
            let (mut new, mut sums) = (Vec::new(), Vec::new());
            columns.visit(first..first + positions.len(), &mut |position, column| {
                if !again[position] {
                    new.push(position as u32);
                    sums.push(self.square(column, v));
                }
            });
            part(&new, sums)
        };
        tops = add(all.par_chunks(columns.batch()).map(batch).collect(), tops)?;
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
