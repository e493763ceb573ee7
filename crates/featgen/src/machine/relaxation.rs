//! Rounds to a certified gap, on features instead of blocks (math: section 9).
//!
//! The paper's problem is one over all features, under a norm that prices sets of B of them. Blocks of B are a way to its optimum,
//! but a long one where B is large: a block says one thing about all of its features. Here each candidate has a weight of its own,
//! under that norm. A round adds the candidates whose scores say that they would get weights, and solves again.

use std::time::Instant;

use super::fitting::Fitting;
use super::rounds::tolerance;
use super::run::Run;
use super::schedule::Mark;
use super::{Observer, Stop};
use crate::error::Result;
use crate::model::Seconds;
use crate::space::{Candidate, Fresh, WorstCase};
use crate::subproblem::ksupport::KSupport;

impl Run<'_> {
    /// One turn: score, add what is missing, solve. Returns why the run ends, if it does.
    pub(super) fn relax(&mut self, observer: &mut dyn Observer) -> Result<Option<Stop>> {
        let clock = Instant::now();
        let found = self.fitting.missing(self.plan.budget);
        let worst = match self.unless_ended(found, observer)? {
            Ok(worst) => worst,
            Err(stopped) => return Ok(Some(stopped)),
        };
        let mut seconds = Seconds { score: clock.elapsed().as_secs_f64(), ..Seconds::default() };
        self.path.certify(&self.fitting);
        let reason = self.rule().or(worst.best.is_empty().then_some(Stop::Exhausted));
        if reason.is_some() {
            self.path.confirmed_in(seconds);
            return Ok(reason);
        }
        let clock = Instant::now();
        let missing: Vec<Candidate> = worst.fresh.into_iter().map(|scored| scored.item).collect();
        self.fitting.set.insert_each(self.fitting.space, &missing)?;
        seconds.generate = clock.elapsed().as_secs_f64();
        let (clock, before) = (Instant::now(), self.fitting.value);
        let tolerance = tolerance(&self.fitting, &self.schedule);
        let outcome = self.fitting.solve(tolerance);
        seconds.solve = clock.elapsed().as_secs_f64();
        // Nothing leaves the working set, so that it can grow only so often. That it grew means nothing if it cannot be solved.
        let known = if outcome.gap <= tolerance { self.fitting.set.blocks().len() } else { 0 };
        let now = Mark { selected: known, ..self.mark() };
        if !self.schedule.gets_on(now, self.fitting.machine.gap) {
            self.path.amend(&self.fitting, self.schedule.cost, &outcome, seconds);
            return Ok(self.ends_or_tightens());
        }
        self.decrease = before - self.fitting.value;
        self.path.report(observer);
        self.path.record(&self.fitting, self.schedule.cost, &outcome, worst.scored, seconds);
        Ok(None)
    }

    /// Nothing was missing, or it made no difference, and the gap is still open: the problem must be solved more exactly.
    fn ends_or_tightens(&mut self) -> Option<Stop> {
        if self.fitting.is_interrupted() {
            return Some(self.fitting.interruption());
        }
        (!self.schedule.tighten()).then_some(Stop::Stalled)
    }
}

impl Fitting<'_> {
    /// The worst-case analysis for `budget` candidates, with those outside the working set that would get weights: the best,
    /// but not more than the working set has, so that columns which matter only at first do not pile up.
    fn missing(&mut self, budget: usize) -> Result<WorstCase> {
        let dual = self.dual();
        let most = self.set.blocks().len().max(2 * budget);
        let fresh = Fresh { most, above: self.threshold(&dual.residual, budget) };
        let mut worst = self.worst_case_at(&dual, budget, Some(fresh))?;
        worst.fresh.retain(|scored| scored.score > fresh.above);
        worst.fresh.truncate(most);
        Ok(worst)
    }

    /// The score that a candidate outside the working set must exceed to get a weight, once the problem is solved.
    fn threshold(&self, v: &[f64], budget: usize) -> f64 {
        let (cache, blocks) = (&self.set.cache, &self.set.state.blocks);
        let c: Vec<f64> = v.chunks_exact(cache.rows().max(1)).flat_map(|v| cache.transpose(v)).collect();
        let pulls: Vec<f64> = (0..blocks.columns.len()).map(|k| blocks.pull(k, &c, cache.len())).collect();
        KSupport::new(budget).threshold(&blocks.norms(&pulls).collect::<Vec<f64>>())
    }
}
