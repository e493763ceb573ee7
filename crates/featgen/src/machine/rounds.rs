//! The paper's rounds (Algorithm 1): ask the space for the candidates of largest score, refit, ask again with what the fit leaves
//! unexplained.

use std::time::Instant;

use super::fitting::{Fitting, SAME};
use super::run::Run;
use super::schedule::{Mark, Schedule};
use super::{Observer, Stop};
use crate::error::Result;
use crate::model::{Round, Seconds};
use crate::space::{Candidate, Scored, WorstCase};
use crate::subproblem::Outcome;

/// How much more exactly than the certified gap each round is solved.
const INNER_PART: f64 = 0.1;

impl Run<'_> {
    /// One turn of the loop: score, choose, refit. Returns why the run ends, if it does.
    pub(super) fn round(&mut self, observer: &mut dyn Observer) -> Result<Option<Stop>> {
        let clock = Instant::now();
        let found = self.fitting.worst_case(self.plan.budget);
        let worst = match self.unless_ended(found, observer)? {
            Ok(worst) => worst,
            Err(stopped) => return Ok(Some(stopped)),
        };
        let mut seconds = Seconds { score: clock.elapsed().as_secs_f64(), ..Seconds::default() };
        self.path.certify(&self.fitting);
        let scored = worst.scored;
        let (block, cut) = self.choose(worst);
        let reason = self.rule().or(block.is_empty().then_some(Stop::Exhausted));
        if reason.is_some() {
            self.path.confirmed_in(seconds);
            return Ok(reason);
        }
        self.cut |= cut;
        let clock = Instant::now();
        let new = self.fitting.set.insert(self.fitting.space, &block)?;
        seconds.generate = clock.elapsed().as_secs_f64();
        let clock = Instant::now();
        let before = self.fitting.value;
        let mut outcome = self.solve();
        let mut helps = new.as_ref().is_some_and(|range| self.fitting.has_weight(range));
        if let Some(range) = new.filter(|_| !helps && self.fitting.machine.features.is_some()) {
            let schedule = &self.schedule;
            let solve = |fitting: &mut Fitting<'_>| fitting.solve(tolerance(fitting, schedule));
            let shared = self.fitting.share(range, schedule.inner_tol, solve);
            helps = shared.is_some();
            outcome = shared.unwrap_or(outcome);
        }
        self.fitting.set.remove_idle_blocks();
        seconds.solve = clock.elapsed().as_secs_f64();
        let now = self.mark();
        if !(helps && self.schedule.gets_on(now, self.fitting.machine.gap)) {
            self.keep(&outcome, seconds, observer);
            return Ok(self.no_block_helps(&outcome, observer));
        }
        self.decrease = before - self.fitting.value;
        self.path.report(observer);
        self.path.record(&self.fitting, self.schedule.cost, &outcome, scored, seconds);
        Ok(None)
    }

    /// The best block got no weight: solve more exactly, or let errors cost more, or stop.
    fn no_block_helps(&mut self, last: &Outcome, observer: &mut dyn Observer) -> Option<Stop> {
        let machine = self.fitting.machine;
        if self.fitting.is_interrupted() {
            return Some(self.fitting.interruption());
        }
        // The block seemed to help only because the subproblem was not solved well enough.
        if machine.gap.is_some() && self.schedule.tighten() {
            return None;
        }
        if machine.features.is_none() || self.schedule.is_spent() {
            // With a gap asked for, it is still open. At costs raised beyond all measure, nothing is solved exactly.
            let unsolved = self.schedule.doublings == 0 && machine.is_unsolved(last.gap);
            let open = machine.gap.is_some() || unsolved;
            return Some(if open { Stop::Stalled } else { Stop::Optimal });
        }
        // No new feature helps at this cost, but more are wanted.
        let (before, clock) = (self.fitting.value, Instant::now());
        if self.schedule.unraised.is_none() {
            self.schedule.unraised = self.path.rounds.last().cloned();
        }
        let outcome = self.double_cost();
        let seconds = Seconds { solve: clock.elapsed().as_secs_f64(), ..Seconds::default() };
        self.keep(&outcome, seconds, observer);
        // Where nothing is left to pay for, or next to nothing but errors, no cost brings in more.
        let more = self.fitting.value > (1.0 + SAME) * before;
        self.schedule.doubled(more && !self.fitting.is_saturated(self.schedule.inner_tol));
        None
    }

    fn double_cost(&mut self) -> Outcome {
        self.schedule.cost *= 2.0;
        self.fitting.rescale(2.0);
        // A bound for a smaller cost is one for a larger: the optimum only grows.
        let outcome = self.solve();
        self.fitting.set.remove_idle_blocks();
        self.schedule.mark = self.mark();
        outcome
    }

    /// Where the run is, as its progress is measured.
    pub(super) fn mark(&self) -> Mark {
        let Fitting { value, lower_bound, .. } = self.fitting;
        Mark { objective: value, lower_bound, selected: self.fitting.selected() }
    }

    fn solve(&mut self) -> Outcome {
        self.fitting.solve(tolerance(&self.fitting, &self.schedule))
    }

    /// The next block, and whether there was no room for all of it. Repeated candidates only where a certified gap is asked for;
    /// never more new ones than are wanted.
    fn choose(&self, worst: WorstCase) -> (Vec<Candidate>, bool) {
        let machine = self.fitting.machine;
        let candidates = if machine.gap.is_some() { worst.best } else { worst.fresh };
        let mut room = machine.features.map_or(usize::MAX, |k| k.saturating_sub(self.fitting.selected()));
        let known = self.fitting.set.in_blocks();
        let mut fits = |candidate: &Candidate| {
            let repeated = known.contains(candidate);
            let fits = repeated || room > 0;
            room -= usize::from(fits && !repeated);
            fits
        };
        let found = candidates.len();
        let block: Vec<Candidate> =
            candidates.into_iter().map(|Scored { item, .. }| item).filter(|c| fits(c)).collect();
        let cut = block.len() < found;
        (block, cut)
    }

    /// The first stopping rule that holds.
    pub(super) fn rule(&self) -> Option<Stop> {
        let (machine, plan) = (self.fitting.machine, &self.plan);
        if machine.features.is_some_and(|k| self.fitting.selected() >= k) {
            Some(Stop::Features)
        } else if machine.gap.is_some_and(|gap| self.fitting.certificate().gap() <= gap) {
            Some(Stop::Gap)
        } else if self.path.rounds.len() >= plan.max_rounds {
            Some(Stop::Rounds)
        } else if self.hardly_falls() {
            Some(Stop::Tolerance)
        } else {
            None
        }
    }

    /// Whether the last round lowered the objective by less than is asked of it.
    pub(super) fn hardly_falls(&self) -> bool {
        self.plan.tol > 0.0 && self.decrease / self.fitting.null <= self.plan.tol
    }

    /// A refit that brought the run no further still moved weights, or the cost: the last round becomes what it left, unless
    /// that has fewer features. A point with more may be the best there is.
    fn keep(&mut self, outcome: &Outcome, seconds: Seconds, observer: &mut dyn Observer) {
        let cost = self.schedule.cost;
        if self.path.rounds.last().is_some_and(|round| self.fitting.selected() < round.selected) {
            self.path.report(observer);
            self.path.record(&self.fitting, cost, outcome, 0, seconds);
        } else {
            self.path.amend(&self.fitting, cost, outcome, seconds);
        }
    }

    /// A cost that was raised and brought no more features was raised in vain: the round has its own again.
    pub(super) fn undo_vain_costs(&mut self) {
        if let Some(round) = self.schedule.unraised.take() {
            let place = round.round - 1;
            self.path.rounds[place] = round;
        }
    }

    /// Goes back to the first point of the path with the most features, if the run is elsewhere: raising the cost may have lost
    /// some, or brought no others.
    pub(super) fn go_back(&mut self) {
        let Some(best) = self.path.widest() else { return };
        let (fitting, rounds) = (&mut self.fitting, &mut self.path.rounds);
        let Round { cost, objective, lower_bound, selected, .. } = rounds[best];
        let elsewhere = fitting.selected() < selected || self.schedule.cost != cost;
        if fitting.machine.features.is_none() || !elsewhere {
            return;
        }
        rounds.truncate(best + 1);
        fitting.rescale(cost / self.schedule.cost);
        self.schedule.cost = cost;
        (fitting.value, fitting.lower_bound) = (objective, lower_bound);
        let Round { terms, weights, bias, kept, .. } = &rounds[best];
        fitting.set.set_weights(terms, weights);
        fitting.set_free_weights(bias, kept);
        fitting.update_decision();
    }
}

/// How exactly a problem is to be solved: as the schedule says, and where a certified gap is asked for, more exactly than the gap
/// that is still open.
pub(super) fn tolerance(fitting: &Fitting<'_>, schedule: &Schedule) -> f64 {
    match fitting.machine.gap {
        Some(wanted) => schedule.inner_tol.min(INNER_PART * fitting.certificate().gap().max(wanted)),
        None => schedule.inner_tol,
    }
}
