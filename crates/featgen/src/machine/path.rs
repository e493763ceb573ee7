//! The path of a run: its rounds in order, each with the weights that it left.

use super::Observer;
use super::fitting::Fitting;
use crate::model::{Round, Seconds};
use crate::subproblem::Outcome;

/// The rounds made so far. The last one may still change, so it is reported when the next begins, or the run ends.
#[derive(Default)]
pub(super) struct Path {
    pub(super) rounds: Vec<Round>,
}

impl Path {
    /// Adds the round that left the fit as it is.
    pub(super) fn record(
        &mut self,
        fitting: &Fitting<'_>,
        cost: f64,
        outcome: &Outcome,
        scored: u128,
        seconds: Seconds,
    ) {
        let set = &fitting.set;
        let weights = set.weights();
        let terms = set.nonzero_terms(&weights);
        let outputs = fitting.objective.outputs();
        let ((bias, kept), quality) = (fitting.free_weights(), fitting.quality());
        self.rounds.push(Round {
            round: self.rounds.len() + 1,
            selected: set.selected(&weights).len(),
            scored,
            cost,
            objective: fitting.value,
            lower_bound: fitting.lower_bound,
            inner_iterations: outcome.iterations,
            inner_gap: outcome.gap,
            accuracy: quality.accuracy(),
            explained: quality.explained(),
            bias,
            kept,
            weights: terms.iter().flat_map(|&t| &weights[t * outputs..][..outputs]).copied().collect(),
            terms,
            seconds,
        });
    }

    /// The last round becomes what the fit is now.
    pub(super) fn amend(&mut self, fitting: &Fitting<'_>, cost: f64, outcome: &Outcome, more: Seconds) {
        if let Some(Round { inner_iterations, scored, mut seconds, .. }) = self.rounds.pop() {
            seconds += more;
            self.record(fitting, cost, outcome, scored, seconds);
            let last = self.rounds.last_mut().expect("just recorded");
            last.inner_iterations += inner_iterations;
        }
    }

    /// Notes what was proven, by a look at all candidates, of the last round.
    pub(super) fn certify(&mut self, fitting: &Fitting<'_>) {
        if let Some(round) = self.rounds.last_mut() {
            (round.objective, round.lower_bound) = (fitting.value, fitting.lower_bound);
        }
    }

    /// The time of scores that only certify, and of exchanges that were not kept, belongs to the round that stays as it was.
    pub(super) fn confirmed_in(&mut self, seconds: Seconds) {
        if let Some(round) = self.rounds.last_mut() {
            round.seconds += seconds;
        }
    }

    /// Reports the last round, once nothing can change it any more.
    pub(super) fn report(&self, observer: &mut dyn Observer) {
        if let Some(round) = self.rounds.last() {
            observer.round(round);
        }
    }

    /// The first round with the most features, by its place.
    pub(super) fn widest(&self) -> Option<usize> {
        let most = self.rounds.iter().map(|round| round.selected).max()?;
        self.rounds.iter().position(|round| round.selected == most)
    }
}
