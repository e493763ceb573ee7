//! Exchange: candidates that gain much come in beside the chosen, and of all together those go that are cheapest to do without.

use serde::{Deserialize, Serialize};

use super::super::Stop;
use super::super::params::Plan;
use super::super::run::Run;
use super::COMPARED;
use crate::error::Result;
use crate::model::Seconds;
use crate::space::Candidate;
use crate::subproblem::Thinned;

/// By how much, relative to itself, the objective must fall for an exchange to be kept.
const WORTHWHILE: f64 = 1e-3;

/// The first exchange lets in half as many as are chosen, but not fewer than this where as many are chosen: of a few features, it
/// may take all others to find the one that is better in their place.
const FIRST_FEW: usize = 20;

/// Nor more than this: what an exchange costs grows with the third power of the features in it.
const FIRST_MANY: usize = 100;

/// Candidates that a run takes at most for each feature wanted. All have their columns cached.
const TAKEN: usize = 3;

/// How far the exchange has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::machine) struct Exchange {
    /// How many are let in at a time; halved whenever that did not help.
    pub(in crate::machine) swap: usize,
    /// Steps that may still be made.
    pub(in crate::machine) steps: usize,
}

impl Exchange {
    pub(in crate::machine) fn new(plan: &Plan) -> Self {
        let swap = (plan.features / 2).clamp(plan.features.min(FIRST_FEW), FIRST_MANY);
        Self { swap, steps: plan.exchange }
    }

    /// Columns that are held at most where so many features are wanted, each a column: those taken, and those of a trial.
    pub(in crate::machine) fn most_held(&self, features: usize) -> usize {
        match self.steps {
            0 => features,
            _ => TAKEN.saturating_add(1).saturating_mul(features).saturating_add(self.swap),
        }
    }
}

impl Run<'_> {
    /// Lets in the first of `proposals`, and does without as many. As long as that does not lower the objective, half as many.
    pub(super) fn exchange(
        &mut self,
        chosen: Vec<Candidate>,
        proposals: &[Candidate],
        mut seconds: Seconds,
    ) -> Result<Option<Stop>> {
        let room = (TAKEN * self.plan.features).saturating_sub(self.fitting.set.taken.len());
        let mut swap = self.exchange.swap.min(proposals.len()).min(room);
        if self.exchange.steps == 0 || swap == 0 {
            self.path.certified_in(seconds.score);
            return Ok(Some(Stop::Features));
        }
        self.exchange.steps -= 1;
        let (thinning, units) =
            self.timed(&mut seconds.solve, |run| run.fitting.thinning(&proposals[..swap]))?;
        let all: Vec<&Candidate> = chosen.iter().chain(proposals).collect();
        let tolerance = self.schedule.inner_tol.min(COMPARED);
        let before = (self.fitting.set.snapshot(), self.fitting.value, self.fitting.decision.clone());
        let mut tried = Vec::new();
        while swap > 0 && !self.fitting.is_interrupted() {
            let Thinned { stay, decrease } = self
                .timed(&mut seconds.solve, |_| thinning.keep(&units[..chosen.len() + swap], chosen.len()));
            if decrease >= WORTHWHILE * before.1 && stay != tried {
                let others: Vec<Candidate> = stay.iter().map(|&k| all[k].clone()).collect();
                let (outcome, spent) = self.fit_to(&others, tolerance, Seconds::default())?;
                seconds.generate += spent.generate;
                seconds.solve += spent.solve;
                if self.fitting.value < (1.0 - WORTHWHILE) * before.1 && !self.fitting.is_interrupted() {
                    self.exchange.swap = swap;
                    self.path.amend(&self.fitting, self.schedule.cost, &outcome, seconds);
                    return Ok(None);
                }
                self.fitting.set.restore_snapshot(before.0.clone());
                (self.fitting.value, self.fitting.decision) = (before.1, before.2.clone());
                tried = stay;
            }
            swap /= 2;
        }
        self.path.certified_in(seconds.score);
        Ok(Some(if self.fitting.is_interrupted() { self.fitting.interruption() } else { Stop::Features }))
    }

    /// What `work` makes, and the time that it takes.
    fn timed<T>(&mut self, seconds: &mut f64, work: impl FnOnce(&mut Self) -> T) -> T {
        let clock = std::time::Instant::now();
        let made = work(self);
        *seconds += clock.elapsed().as_secs_f64();
        made
    }
}
