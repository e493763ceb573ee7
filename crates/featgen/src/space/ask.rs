//! What a machine asks a space: the worst case for given residuals, which may be of several outputs.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::Candidate;
use super::topb::Wanted;
use crate::error::{Error, Result};

/// A question for a worst case. It can be written down, and so be sent to wherever the data are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ask<'a> {
    /// The residuals of every output, one after the other: that of instance i for output k is `v[k * rows + i]`.
    pub v: Cow<'a, [f64]>,
    /// Number of outputs.
    pub outputs: usize,
    /// How many candidates are wanted.
    pub budget: usize,
    /// Candidates that are in use already.
    pub taken: Cow<'a, HashSet<Candidate>>,
    /// What candidates that are not taken are of use, if not just as many as are wanted.
    #[serde(default)]
    pub fresh: Option<Fresh>,
    /// Whether candidates that are not taken compete by gain instead of by score, where the space can tell it.
    #[serde(default)]
    pub gain: Option<Gain<'a>>,
}

/// Candidates that are of use among those that are not taken. A space may return others as well; the fewer it has to find, the
/// more it can leave out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fresh {
    /// At most so many: the best.
    pub most: usize,
    /// Only those with a score above this.
    pub above: f64,
}

/// What the gain of a candidate depends on: by how much it would lower a quadratic model of the objective, twice over.
///
/// Of a feature that is `sum_k c_k^2 / (1 + h_k)` over the outputs k, with `c_k = sum_i v_ik x_i` and the curvature
/// `h_k = sum_i d_ik x_i^2`, less what an intercept takes away from it: `(sum_i d_ik x_i)^2 / sum_i d_ik`. Unlike a score it hardly
/// depends on the scale of the feature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gain<'a> {
    /// The second derivatives d of the objective, laid out as the residuals are.
    pub curvature: Cow<'a, [f64]>,
    /// Whether there is an intercept, which is fitted along with every feature.
    pub intercept: bool,
    /// How many candidates are wanted by gain.
    pub wanted: usize,
}

impl Gain<'_> {
    /// The part of one output in the gain of a feature, from its sums `c`, `sum d x` and `sum d x^2` there, and the output's sum of `d`.
    #[inline(always)]
    pub(super) fn in_output(&self, [c, first, second]: [f64; 3], total: f64) -> f64 {
        let lost = if self.intercept && total > 0.0 { first * first / total } else { 0.0 };
        c * c / (1.0 + (second - lost).max(0.0))
    }

    /// The sum of the curvature of every output.
    pub(crate) fn totals(&self, rows: usize) -> Vec<f64> {
        let output = |d: &[f64]| crate::ordered::sum(rows, |i| d[i]);
        self.curvature.chunks_exact(rows.max(1)).map(output).collect()
    }
}

impl<'a> Ask<'a> {
    /// About residuals of one output.
    pub fn one(v: &'a [f64], budget: usize, taken: &'a HashSet<Candidate>) -> Self {
        Self::many(v, 1, budget, taken)
    }

    /// About residuals of several outputs.
    pub fn many(v: &'a [f64], outputs: usize, budget: usize, taken: &'a HashSet<Candidate>) -> Self {
        Self { v: Cow::Borrowed(v), outputs, budget, taken: Cow::Borrowed(taken), fresh: None, gain: None }
    }

    /// The same, with candidates that are not taken by gain.
    pub fn by_gain(self, gain: Gain<'a>) -> Self {
        Self { gain: Some(gain), ..self }
    }

    /// The same, where only these are of use among candidates that are not taken.
    pub fn with_fresh(self, fresh: Fresh) -> Self {
        Self { fresh: Some(fresh), ..self }
    }

    /// How many of `held` candidates are to be kept.
    pub(super) fn wanted(&self, held: usize) -> Wanted {
        let fresh = self.fresh.unwrap_or(Fresh { most: self.budget, above: 0.0 });
        Wanted { best: self.budget.min(held), fresh: fresh.most.min(held), above: fresh.above.max(0.0) }
    }

    /// The residuals, if they are those of so many instances.
    pub(super) fn residuals(&self, rows: usize) -> Result<Residuals<'_>> {
        let (held, outputs) = (self.v.len(), self.outputs);
        if self.gain.as_ref().is_some_and(|gain| gain.curvature.len() != held) {
            return Err(Error::Data(format!("a curvature for {held} residuals is of another length")));
        }
        match outputs > 0 && rows.checked_mul(outputs) == Some(held) {
            true => Ok(Residuals { v: &self.v, rows, outputs }),
            false => Err(Error::Data(format!(
                "{held} residuals, not those of {rows} instances and {outputs} outputs"
            ))),
        }
    }

    /// What a bound on rounding must know of the residuals: the length of the outputs' sums of `|v_ik|`, and how many numbers
    /// a sum over them is made of, at most.
    pub(super) fn size_and_terms(&self) -> (f64, usize) {
        let rows = self.v.len() / self.outputs.max(1);
        let output = |k: usize| &self.v[k * rows..(k + 1) * rows];
        let size = |k: usize| crate::ordered::sum_over([output(k)], |[v]| v.abs());
        let terms = |k: usize| output(k).iter().filter(|v| **v != 0.0).count();
        let most = (0..self.outputs).map(terms).max().unwrap_or(0);
        (length((0..self.outputs).map(size)), most + self.outputs.saturating_sub(1))
    }
}

/// The residuals of an [`Ask`], known to be as many as they should be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Residuals<'a> {
    /// Of every output, one after the other.
    pub(super) v: &'a [f64],
    pub(super) rows: usize,
    pub(super) outputs: usize,
}

impl<'a> Residuals<'a> {
    /// Those of one output.
    pub(super) fn output(&self, k: usize) -> &'a [f64] {
        &self.v[k * self.rows..(k + 1) * self.rows]
    }

    /// Those of every output, in turn.
    pub(super) fn each(self) -> impl Iterator<Item = &'a [f64]> + Clone {
        (0..self.outputs).map(move |k| self.output(k))
    }

    /// Those of one instance, in turn.
    pub(super) fn of(self, row: usize) -> impl Iterator<Item = f64> + Clone + 'a {
        (0..self.outputs).map(move |k| self.v[k * self.rows + row])
    }

    /// Whether an instance has a residual that is not 0.
    pub(super) fn weighs(&self, row: usize) -> bool {
        self.of(row).any(|v| v != 0.0)
    }

    /// The length of an instance's vector of residuals: no sum over instances is longer than that of their lengths.
    fn row_length(&self, row: usize) -> f64 {
        length(self.of(row))
    }

    /// The greatest of these lengths, infinite if a residual is no finite number.
    pub(super) fn largest(&self) -> f64 {
        let finite = self.v.iter().all(|v| v.is_finite());
        let most = |most: f64, row: usize| most.max(self.row_length(row));
        if finite { (0..self.rows).fold(0.0, most) } else { f64::INFINITY }
    }
}

/// Squares whose sum is smaller may have lost digits, or all of themselves.
pub(super) const SMALL: f64 = 1e-280;

/// The length of the vector of these numbers; of one, its size.
#[inline]
pub(super) fn length(mut numbers: impl Iterator<Item = f64> + Clone) -> f64 {
    let all = numbers.clone();
    match (numbers.next(), numbers.next()) {
        (None, _) => 0.0,
        (Some(alone), None) => alone.abs(),
        _ => length_of_many(all),
    }
}

fn length_of_many(numbers: impl Iterator<Item = f64> + Clone) -> f64 {
    let square: f64 = numbers.clone().map(|x| x * x).sum();
    if square >= SMALL || square.is_nan() {
        return square.sqrt();
    }
    let unit = numbers.clone().fold(0.0, |most: f64, x| most.max(x.abs()));
    if unit == 0.0 { 0.0 } else { unit * numbers.map(|x| (x / unit) * (x / unit)).sum::<f64>().sqrt() }
}

/// The sums over some columns, by outputs: those of all columns for the first output, and so on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sums<'s> {
    sums: &'s [f64],
    columns: usize,
}

impl<'s> Sums<'s> {
    pub(super) fn new(sums: &'s [f64], columns: usize) -> Self {
        Self { sums, columns }
    }

    /// The sums of a column with every output.
    fn of(&self, column: usize) -> impl Iterator<Item = f64> + Clone + 's {
        let (sums, columns) = (self.sums, self.columns);
        sums.iter().skip(column).step_by(columns.max(1)).copied()
    }

    /// The score of a column: the length of its vector of sums.
    #[inline]
    pub(super) fn length(&self, column: usize) -> f64 {
        if self.sums.len() == self.columns { self.sums[column].abs() } else { length(self.of(column)) }
    }

    /// The scores of all columns; they may have a sign, for those of one output are the sums themselves.
    pub(super) fn lengths(&self) -> Cow<'s, [f64]> {
        match self.sums.len() == self.columns {
            true => Cow::Borrowed(self.sums),
            false => Cow::Owned((0..self.columns).map(|column| self.length(column)).collect()),
        }
    }

    /// The square of the score.
    #[inline]
    pub(super) fn square(&self, column: usize) -> f64 {
        if self.sums.len() == self.columns {
            return self.sums[column] * self.sums[column];
        }
        self.of(column).map(|c| c * c).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_any_size() {
        let of = |numbers: &[f64]| length(numbers.iter().copied());
        assert_eq!([of(&[]), of(&[-3.0]), of(&[3.0, -4.0]), of(&[0.0; 4])], [0.0, 3.0, 5.0, 0.0]);
        assert_eq!(of(&[5e-324]), 5e-324);
        let small = of(&[3e-200, 4e-200, 0.0]);
        assert!((small / 5e-200 - 1.0).abs() < 1e-15, "{small}");
        assert!(of(&[1.0, f64::NAN]).is_nan() && of(&[1.0, f64::INFINITY]) == f64::INFINITY);
    }

    #[test]
    fn residuals_of_another_number_of_instances_are_refused() {
        let (v, none) = ([1.0, 2.0, 2.0, -4.0, 0.0, 1.0], HashSet::new());
        let ask = Ask::many(&v, 2, 1, &none);
        let residuals = ask.residuals(3).unwrap();
        assert_eq!((residuals.output(1), residuals.of(0).collect::<Vec<_>>()), (&v[3..], vec![1.0, -4.0]));
        assert_eq!(residuals.largest(), 17f64.sqrt());
        assert_eq!(ask.size_and_terms(), (50f64.sqrt(), 4));
        let error = ask.residuals(4).unwrap_err().to_string();
        assert!(error.contains("6 residuals, not those of 4 instances and 2 outputs"), "{error}");
        assert!(Ask::many(&v, 0, 1, &none).residuals(6).is_err());
        assert!(Ask::many(&[], 3, 1, &none).residuals(0).is_ok());
    }
}
