//! Sparse columns of few values, of which most need no look: how much so few can add up to is known beforehand.
//!
//! By Cauchy and Schwarz the score of a column is at most its own length times that of the residuals in its rows, and these are no longer
//! than the largest residuals, as many as the column has values. With S the column's own curvature, and `rho` its part of all curvature,
//! which an intercept takes away, its gain is at most
//!
//! ```text
//! S V / (1 + S (1 - rho)),   V = the sum of v_i^2 / d_i over its rows
//! ```
//!
//! Both grow with the number of values. The columns that have many are looked at first; the best of these tell from how many values on
//! others may be better. What is found is what a look at all columns would find, to the bit.

use std::ops::Range;

use super::Inputs;
use super::sift::{Sieve, is_below, runs};
use crate::error::Result;
use crate::parallel;
use crate::space::ask::{Gain, Residuals, SMALL};
use crate::space::topb::{Tops, Wanted};

/// It is worth it for so many columns, and where no more than one of so many values is other than 0.
const MANY: usize = 1 << 12;
const SPARSE: u64 = 8;

/// Columns that are looked at first: about one of so many.
const FIRST: usize = 512;

/// It is in vain where more than one of so many columns may be as good as these.
const MANY_LEFT: usize = 16;

/// With more values than that, a column is looked at in any case.
const MOST_VALUES: usize = 1 << 12;

/// Columns whose values are counted in one go, and runs of columns that are looked at so.
const TOGETHER: usize = 1 << 14;
const RUNS: usize = 1 << 8;

/// What covers the rounding of scores, gains and bounds.
const SLACK: f64 = 1.0 + 1e-9;

/// How many values columns have, and what those with few can be.
pub(super) struct Rare {
    counts: Vec<u32>,
    /// Columns that are looked at first, in runs of neighbours.
    first: Vec<Range<usize>>,
    /// By numbers of values, from 0 on: what no column of that many, or fewer, is longer than. Those with more than there are here are
    /// looked at first.
    lengths: Vec<f64>,
    /// How many columns, of those that are not, have so many values or more.
    others: Vec<usize>,
}

/// By numbers of values: what no column of that many, or fewer, is better than. Not a number, or infinite, where nothing is known.
pub(super) struct Reach {
    score: Vec<f64>,
    gain: Vec<f64>,
}

impl Rare {
    /// What is to be known of these columns; `None` if it is not worth it.
    pub(super) fn new(inputs: &Inputs<'_>) -> Result<Option<Self>> {
        let columns = inputs.columns();
        let (len, rows) = (columns.len(), inputs.rows());
        let mut counts = vec![0u32; len];
        parallel::chunks_mut(&mut counts, TOGETHER, &|k, counts| {
            let positions = k * TOGETHER..;
            counts.iter_mut().zip(positions).for_each(|(count, p)| *count = columns.filled(p) as u32);
        });
        let mut having = vec![0usize; MOST_VALUES];
        counts.iter().for_each(|&count| having[(count as usize).min(MOST_VALUES - 1)] += 1);
        let mut first = 0;
        let few = having.iter().rposition(|having| {
            first += having;
            first > len / FIRST
        });
        // If too many have many values, there is nothing to spare.
        let Some(few) = few.filter(|&few| few > 0 && few + 1 < MOST_VALUES) else { return Ok(None) };

        let mut squares = vec![0.0; len];
        let ones = vec![1.0; rows];
        parallel::try_chunks_mut(&mut squares, columns.batch(), &|k, squares| {
            inputs.go_on()?;
            let range = k * columns.batch()..k * columns.batch() + squares.len();
            columns.square_dots(range.clone(), &ones, squares);
            squares.iter_mut().for_each(|square| *square = lifted(*square));
            inputs.weigh(&range, squares, 2);
            Ok(())
        })?;
        let mut lengths = vec![0.0_f64; few + 1];
        for (&count, square) in
            counts.iter().zip(squares).filter(|(count, _)| (1..=few).contains(&(**count as usize)))
        {
            let longest = &mut lengths[count as usize];
            // A length that is no number is any.
            *longest = if square.is_finite() { longest.max(square.sqrt()) } else { f64::INFINITY };
        }
        (1..=few).for_each(|count| lengths[count] = lengths[count].max(lengths[count - 1]));
        having.truncate(few + 1);
        having.push(0);
        (0..=few).rev().for_each(|count| having[count] += having[count + 1]);
        let first = runs((0..len).filter(|&p| counts[p] as usize > few), columns.batch());
        Ok(Some(Self { counts, first, lengths, others: having }))
    }

    /// Bytes that it takes, and what is made on the way, of so many columns, rows and outputs.
    pub(super) fn bytes(columns: usize, rows: usize, outputs: usize) -> u64 {
        let (made, searched) = (8 * columns, 8 * rows * (outputs + 2));
        (4 * columns + made.max(searched) + columns / MANY_LEFT * size_of::<Range<usize>>()) as u64
    }

    /// The columns that are not looked at first and have so many values or more, in runs of neighbours.
    fn others(&self, least: usize, most: usize) -> Vec<Range<usize>> {
        if self.others[least] == 0 {
            return Vec::new();
        }
        let values = least as u32..self.lengths.len() as u32;
        runs((0..self.counts.len()).filter(|&p| values.contains(&self.counts[p])), most)
    }

    /// How good columns can be, by score and, if asked for, by gain.
    pub(super) fn reach(&self, v: Residuals<'_>, gain: Option<&Gain<'_>>) -> Reach {
        let few = self.lengths.len() - 1;
        let of_rows = |size: &dyn Fn(usize) -> f64| greatest((0..v.rows).map(size).collect(), few);
        let squares = of_rows(&|row| v.of(row).map(|v| v * v).sum());
        let score =
            self.lengths.iter().zip(&squares).map(|(length, square)| length * lifted(*square).sqrt() * SLACK);
        let score: Vec<f64> = score.collect();
        let gain = gain.map_or_else(Vec::new, |gain| self.gains(v, gain, &score));
        Reach { score, gain }
    }

    fn gains(&self, v: Residuals<'_>, gain: &Gain<'_>, score: &[f64]) -> Vec<f64> {
        let few = self.lengths.len() - 1;
        let d = Residuals { v: &gain.curvature, ..v };
        let part = |(v, d): (f64, f64)| if v == 0.0 { 0.0 } else { v * (v / d) };
        let parts = greatest((0..v.rows).map(|row| v.of(row).zip(d.of(row)).map(part).sum()).collect(), few);
        // What is left of 1 after the part of the curvature, and the largest curvature, in any output.
        let (mut left, mut largest) = (vec![1.0_f64; few + 1], 0.0_f64);
        for (d, total) in d.each().zip(gain.totals(v.rows)) {
            let sums = greatest(d.to_vec(), few);
            largest = largest.max(sums.get(1).copied().unwrap_or(0.0));
            if gain.intercept && total > 0.0 {
                left.iter_mut().zip(sums).for_each(|(left, sum)| *left = left.min(1.0 - sum / total));
            }
        }
        let bound = |k: usize| {
            let own = self.lengths[k] * self.lengths[k] * largest;
            let by_curvature = lifted(parts[k]) * own / (1.0 + own * left[k].max(0.0)) * SLACK;
            // Nor does the denominator make it more than the square of the score.
            lifted(by_curvature.min(score[k] * score[k]))
        };
        (0..=few).map(bound).collect()
    }
}

impl Reach {
    /// From how many values on a column may be among the best by score.
    pub(super) fn least_by_score(&self, threshold: f64) -> usize {
        least(&self.score, threshold)
    }

    /// The same by gain.
    pub(super) fn least_by_gain(&self, threshold: f64) -> usize {
        least(&self.gain, threshold)
    }
}

/// A number, or one that is no smaller where it may have lost digits, or all of itself. What is not a number stays so.
fn lifted(x: f64) -> f64 {
    if x < SMALL { SMALL } else { x }
}

/// The first that is not surely below.
fn least(most: &[f64], threshold: f64) -> usize {
    most.iter().position(|&most| !is_below(most, threshold)).unwrap_or(most.len())
}

/// The sums of the greatest of these numbers: of none, of one, and so on up to `count`.
fn greatest(mut numbers: Vec<f64>, count: usize) -> Vec<f64> {
    let first = count.min(numbers.len());
    if first < numbers.len() {
        numbers.select_nth_unstable_by(first, |a, b| b.total_cmp(a));
    }
    numbers.truncate(first);
    numbers.sort_unstable_by(|a, b| b.total_cmp(a));
    numbers.resize(count, 0.0);
    let mut sum = 0.0;
    let sums = numbers.into_iter().map(|number| {
        sum += number;
        sum
    });
    std::iter::once(0.0).chain(sums).collect()
}

impl Inputs<'_> {
    /// Whether most values of many columns are 0, and columns are at hand.
    pub(super) fn is_very_sparse(&self) -> bool {
        let (len, values) = (self.columns().len(), self.columns().nonzeros());
        let cells = (self.rows() as u64).saturating_mul(len as u64);
        len >= MANY && values.saturating_mul(SPARSE) <= cells && self.columns().by_blocks().is_none()
    }

    /// The best of all columns, most of those of few values left out. `exact` offers the columns of a range; `least` tells from how many
    /// values on columns may be among the best, given the best of those that have many.
    pub(super) fn best_of_frequent(
        &self,
        rare: &Rare,
        wanted: Wanted,
        exact: impl Fn(Range<usize>, &mut Tops<usize>) -> Result<()> + Sync,
        least: impl Fn(&Tops<usize>) -> usize,
        sieve: &Sieve,
    ) -> Result<Tops<usize>> {
        let (len, batch) = (self.columns().len(), self.columns().batch());
        let look = |runs: &[Range<usize>], together: usize| {
            let some = |k: usize| {
                let mut tops = Tops::new(wanted);
                let runs = &runs[k * together..runs.len().min((k + 1) * together)];
                runs.iter().try_for_each(|run| exact(run.clone(), &mut tops))?;
                Ok(tops)
            };
            let best = parallel::reduce(runs.len().div_ceil(together), some, Tops::merge)?;
            Ok(best.unwrap_or_else(|| Tops::new(wanted)))
        };
        let first = look(&rare.first, RUNS)?;
        let least = least(&first);
        if rare.others[least] > len / MANY_LEFT {
            // Columns side by side are faster to look at.
            sieve.was_in_vain();
            let all: Vec<Range<usize>> = (0..len).step_by(batch).map(|p| p..len.min(p + batch)).collect();
            return look(&all, 1);
        }
        Ok(first.merge(look(&rare.others(least, batch), RUNS)?))
    }
}

#[cfg(test)]
mod tests {
    use super::greatest;

    #[test]
    fn greatest_are_added_up() {
        assert_eq!(greatest(vec![1.0, 5.0, -2.0, 3.0], 2), [0.0, 5.0, 8.0]);
        assert_eq!(greatest(vec![2.0], 3), [0.0, 2.0, 2.0, 2.0]);
        assert_eq!(greatest(vec![], 1), [0.0, 0.0]);
        assert!(greatest(vec![1.0, f64::INFINITY, 2.0], 1)[1].is_infinite());
        assert!(greatest(vec![1.0, f64::NAN, 2.0], 1)[1].is_nan());
    }
}
