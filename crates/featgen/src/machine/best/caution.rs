//! At what cost candidates are looked at: that of the model as long as they stand out from chance, then less.
//!
//! What a fit leaves unexplained of the instances that it was made from is less than what it leaves of others, above all of features
//! that were picked from very many because they fit. Later candidates then follow noise. So once those that would be taken next do not
//! stand out from what as many candidates without effect would show, candidates are measured on the residuals of a fit that holds back:
//! of the same features, at a quarter of the cost. Should they not stand out there either, at a quarter of that, and so on; in the end
//! every candidate is judged almost alone, as if nothing was chosen yet. Many weak features need not stand out one by one: it is enough
//! if chance explains at most half of those that would be taken together. The model itself, all points of the path and exchanges are at
//! the full cost.

use serde::{Deserialize, Serialize};

use super::super::chance;
use super::super::fitting::Fitting;
use super::super::run::Run;
use crate::error::Result;
use crate::model::Seconds;
use crate::operator::Operator;
use crate::space::Candidate;
use crate::subproblem::Problem;

/// The part of the cost that is left each time that it becomes smaller. A power of two, so that costs come back to what they were.
const PART: f64 = 0.25;

/// At costs at which the curvature of all instances sums to this, a feature of variance 1 gets a tenth of its weight: candidates are
/// judged almost alone, and a smaller cost changes nothing.
const LEAST_CURVATURE: f64 = 0.1;

/// Of candidates that are taken together, the part that chance may explain.
pub(super) const MOSTLY_TRUE: f64 = 0.5;

/// How far the cost at which candidates are looked at was lowered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct Caution {
    /// The part of the cost at which they are.
    part: f64,
}

impl Caution {
    pub(in crate::machine) fn new() -> Self {
        Self { part: 1.0 }
    }

    /// Whether a run may have come here.
    pub(in crate::machine) fn is_sound(self) -> bool {
        self.part > 0.0 && self.part <= 1.0 && self.part.log2() % PART.log2() == 0.0
    }
}

impl Run<'_> {
    /// Up to `step` candidates to take next beside the chosen, best first, and how many were scored to find them.
    pub(super) fn look(&mut self, step: usize, seconds: &mut Seconds) -> Result<(Vec<Candidate>, u128)> {
        loop {
            let full = self.caution.part == 1.0;
            let found = match full {
                true => self.timed(&mut seconds.score, |run| run.fitting.look(run.plan.features, step))?,
                false => self.look_at_lower_cost(step, seconds)?,
            };
            // What gains next to nothing gains nothing at a low cost, but was asked for.
            if found.candidates.is_empty() && !full {
                return self.timed(&mut seconds.score, |run| run.fitting.proposals(run.plan.features, step));
            }
            if found.stand_out || found.candidates.is_empty() {
                return Ok((found.candidates, found.scored));
            }
            self.caution.part *= PART;
        }
    }

    /// A look at all candidates where a fit at the lower cost would be. The fit itself stays what it is.
    fn look_at_lower_cost(&mut self, step: usize, seconds: &mut Seconds) -> Result<Found> {
        let (part, features) = (self.caution.part, self.plan.features);
        let (back, bound) = (self.fitting.turning_point(), self.fitting.lower_bound);
        self.timed(&mut seconds.solve, |run| run.fitting.hold_back(part));
        let found = self.timed(&mut seconds.score, |run| run.fitting.look(features, step));
        let fitting = &mut self.fitting;
        fitting.rescale(1.0 / part);
        // A bound for a smaller cost is one for a larger, for the optimum only grows. Which candidates it leaves is another matter.
        fitting.lower_bound = fitting.lower_bound.max(bound);
        fitting.evidence = None;
        fitting.turn_back(back);
        found
    }
}

/// What a look at all candidates found.
struct Found {
    candidates: Vec<Candidate>,
    scored: u128,
    /// Whether they are beyond chance, or there is no use in looking at a lower cost.
    stand_out: bool,
}

impl Fitting<'_> {
    /// A look at all candidates beside the fit that is there.
    fn look(&mut self, features: usize, step: usize) -> Result<Found> {
        let (candidates, scored) = self.proposals(features, step)?;
        // Discoveries are judged by what they gain beside each other, and are chosen so.
        let stand_out = self.machine.fdr.is_some() || self.stand_out(&candidates)?;
        Ok(Found { candidates, scored, stand_out })
    }

    /// What is measured where a fit of these candidates alone would be, about. The fit itself stays what it is.
    pub(super) fn beside<T>(&mut self, chosen: &[Candidate], measure: impl FnOnce(&Self) -> T) -> Result<T> {
        let (back, bound) = (self.turning_point(), self.lower_bound);
        self.set.select(self.space, chosen)?;
        self.hold_back(1.0);
        let measured = measure(self);
        self.lower_bound = bound;
        self.turn_back(back);
        Ok(measured)
    }

    /// Goes to about where a fit of the same features at a part of the cost would be, by the quadratic model of the fit that is there.
    fn hold_back(&mut self, part: f64) {
        if !self.set.state.omega.is_empty() {
            let problem = Problem { cache: &self.set.cache, objective: &*self.objective, free: &self.free };
            self.set.state.omega = self.solver.thinning(&problem, &self.set.state).minimum_at(part);
            self.set.state.f = self.set.apply();
        }
        self.rescale(part);
        let state = &mut self.set.state;
        self.free.fit(&*self.objective, &state.f, &mut state.free);
        self.update_decision();
        self.value = self.objective.value(&self.decision) + self.penalty();
        self.lower_bound = 0.0;
    }

    /// Whether candidates, best first, correlate more with the residuals than chance explains: fewer than one of all that there are would
    /// do so as much as the first if none had anything to do with the outcome, or, for some of them, at most half as many as do.
    /// Groups and curves are not tested, and count as if they did.
    fn stand_out(&self, candidates: &[Candidate]) -> Result<bool> {
        let d = self.curvature();
        if self.set.state.omega.is_empty() || d.iter().sum::<f64>() <= LEAST_CURVATURE {
            return Ok(true);
        }
        let residual = self.dual().residual;
        let mut by_chance = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let made = self.space.generate(&self.space.group(candidate)?.features)?;
            let [column] = made.as_slice() else { return Ok(true) };
            if column.width() > 1 {
                return Ok(true);
            }
            by_chance.push(self.by_chance(column, &residual, &d));
            if by_chance[0] <= 1.0 {
                return Ok(true);
            }
        }
        by_chance.sort_by(f64::total_cmp);
        Ok((1..).zip(&by_chance).any(|(count, alike)| *alike <= MOSTLY_TRUE * f64::from(count)))
    }

    /// How many of all candidates would correlate as much with the residuals as this column if none had anything to do with them.
    fn by_chance(&self, column: &Operator, residual: &[f64], d: &[f64]) -> f64 {
        self.alike(self.squared_z(column, residual, d))
    }

    /// How many of all candidates would correlate so much if none had anything to do with the residuals.
    pub(super) fn alike(&self, squared_z: f64) -> f64 {
        self.space.size() as f64 * chance::chi_squared_above(squared_z, self.objective.outputs())
    }

    /// How much a column correlates with the residuals, as chi-squared with a degree of freedom for every output.
    pub(super) fn squared_z(&self, column: &Operator, residual: &[f64], d: &[f64]) -> f64 {
        let rows = self.space.data().rows();
        let mut x = vec![0.0; rows];
        column.apply(&[1.0], &mut x);
        let outputs = residual.chunks_exact(rows).zip(d.chunks_exact(rows));
        let z = outputs.map(|(v, d)| {
            let terms = terms(&x, v, d, self.free.intercept);
            squared_z(terms.iter().sum(), self.squares(&terms))
        });
        z.sum()
    }
}

/// What instances contribute to the correlation of `x` with the residuals `v`. An intercept takes away the mean as the curvature `d`
/// weighs it.
fn terms(x: &[f64], v: &[f64], d: &[f64], intercept: bool) -> Vec<f64> {
    let total: f64 = d.iter().sum();
    let weighed: f64 = d.iter().zip(x).map(|(d, x)| d * x).sum();
    let mean = if intercept && total > 0.0 { weighed / total } else { 0.0 };
    x.iter().zip(v).map(|(x, v)| v * (x - mean)).collect()
}

/// The square of a sum over what it is on average if its terms have mean 0, whatever their variances are: chi-squared with one degree of
/// freedom.
fn squared_z(sum: f64, squares: f64) -> f64 {
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_three_values_is_worth_three_at_most() {
        let z = |x: &[f64], v: &[f64], intercept: bool| {
            let terms = terms(x, v, &[1.0; 6], intercept);
            squared_z(terms.iter().sum(), terms.iter().map(|term| term * term).sum())
        };
        let x = [0.0, 0.0, 5.0, 5.0, 5.0, 0.0];
        let v = [-1.0, 1.0, 2.0, 2.0, 2.0, 0.5];
        assert!((z(&x, &v, false) - 3.0).abs() < 1e-12);
        // Whatever its unit, and however large the residuals.
        assert!((z(&x.map(|x| 1e6 * x), &v.map(|v| 1e-3 * v), false) - 3.0).abs() < 1e-9);
        // With an intercept a constant says nothing.
        assert_eq!(z(&[2.0; 6], &v, true), 0.0);
    }

    #[test]
    fn parts_are_powers_of_the_first() {
        assert!(Caution::new().is_sound());
        assert!(Caution { part: PART.powi(7) }.is_sound());
        for part in [0.0, 0.5, 4.0, -0.25, 0.2, f64::NAN] {
            assert!(!Caution { part }.is_sound(), "{part}");
        }
    }
}
