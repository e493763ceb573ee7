//! Choosing K features well (math: section 6): rounds by gain with a ridge fit on all that were chosen, then exchange.
//!
//! A score says how much the objective falls for a small step along a feature, so it favours what is large or frequent. A gain says
//! how much it falls for the best step. Rounds take the candidates of largest gain; once there are K, the cheapest to do without
//! make room for better ones as long as that lowers the objective.

mod caution;
mod exchange;
mod gain;

use std::time::Instant;

pub(super) use caution::Caution;
pub(super) use exchange::Exchange;
pub(super) use gain::SHORTLIST;

use super::run::Run;
use super::schedule::TIGHTEST;
use super::{Observer, Stop};
use crate::error::Result;
use crate::model::Seconds;
use crate::space::Candidate;
use crate::subproblem::Outcome;

/// Fits that are compared with others are solved to at least this relative gap, far below what an exchange must gain.
const COMPARED: f64 = 1e-5;

/// How much more exactly fits are solved in which a chosen candidate has no weight.
const TIGHTER: f64 = 1e-3;

/// A candidate that gains less than this part of the objective changes nothing.
const NOTHING: f64 = 1e-13;

impl Run<'_> {
    /// One turn: score all candidates, then take the best new ones while fewer are chosen than wanted, else exchange some. Returns
    /// why the run ends, if it does.
    pub(super) fn step_by_gain(&mut self, observer: &mut dyn Observer) -> Result<Option<Stop>> {
        let wanted = self.plan.features;
        let chosen = self.fitting.set.chosen();
        let complete = chosen.len() >= wanted;
        let mut seconds = Seconds::default();
        let found = match complete {
            true => self.timed(&mut seconds.score, |run| run.fitting.proposals(wanted, run.exchange.swap)),
            false => self.look(self.plan.budget.min(wanted - chosen.len()), &mut seconds),
        };
        let (proposals, scored) = match self.unless_ended(found, observer)? {
            Ok(found) => found,
            Err(stopped) => return Ok(Some(stopped)),
        };
        self.path.certify(&self.fitting);
        if complete {
            return self.exchange(chosen, &proposals, seconds);
        }
        if let Some(stopped) = self.ends_early(&proposals) {
            self.path.confirmed_in(seconds);
            return Ok(Some(stopped));
        }
        let all: Vec<Candidate> = chosen.into_iter().chain(proposals).collect();
        // Those that are not yet complete only say what to take next.
        let compared = all.len() >= wanted;
        let tolerance = self.schedule.inner_tol.min(if compared { COMPARED } else { f64::INFINITY });
        let before = self.fitting.value;
        let (outcome, seconds) = self.fit_to(&all, tolerance, seconds)?;
        self.decrease = before - self.fitting.value;
        self.path.report(observer);
        self.path.record(&self.fitting, self.schedule.cost, &outcome, scored, seconds);
        Ok(None)
    }

    /// Why there are no more rounds although more features are wanted.
    fn ends_early(&self, proposals: &[Candidate]) -> Option<Stop> {
        if proposals.is_empty() {
            Some(Stop::Exhausted)
        } else if self.path.rounds.len() >= self.plan.max_rounds {
            Some(Stop::Rounds)
        } else if self.hardly_falls() {
            Some(Stop::Tolerance)
        } else {
            None
        }
    }

    /// Fits these candidates, and no others, with a ridge penalty, to this relative gap.
    pub(super) fn fit_to(
        &mut self,
        chosen: &[Candidate],
        tolerance: f64,
        mut seconds: Seconds,
    ) -> Result<(Outcome, Seconds)> {
        let clock = Instant::now();
        self.fitting.set.select(self.fitting.space, chosen)?;
        seconds.generate += clock.elapsed().as_secs_f64();
        let clock = Instant::now();
        let mut outcome = self.fitting.solve(tolerance);
        // One that gains less than the tolerance may have been left without a weight, but was counted on.
        let mut tighter = TIGHTER * tolerance;
        while self.fitting.selected() < chosen.len() && tighter > TIGHTEST && !self.fitting.is_interrupted() {
            outcome = self.fitting.solve(tighter);
            tighter *= TIGHTER;
        }
        seconds.solve += clock.elapsed().as_secs_f64();
        Ok((outcome, seconds))
    }
}
