//! Exchange: the features that are cheapest to do without make room for the ones that gain most.

use serde::{Deserialize, Serialize};

use super::super::Stop;
use super::super::params::Plan;
use super::super::run::Run;
use super::COMPARED;
use crate::error::Result;
use crate::model::Seconds;
use crate::space::Candidate;

/// By how much, relative to itself, the objective must fall for an exchange to be kept.
const WORTHWHILE: f64 = 1e-4;

/// The part of the features that the first exchange tries to replace: one in five.
const FIRST_PART: usize = 5;

/// How far the exchange has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::machine) struct Exchange {
    /// How many features are replaced at a time; halved whenever that did not help.
    pub(in crate::machine) swap: usize,
    /// Steps that may still be made.
    pub(in crate::machine) steps: usize,
}

impl Exchange {
    pub(in crate::machine) fn new(plan: &Plan) -> Self {
        Self { swap: (plan.features / FIRST_PART).max(1), steps: plan.exchange }
    }
}

impl Run<'_> {
    /// Replaces some of the chosen by the first of `proposals`. As long as it does not lower the objective, by half as many.
    pub(super) fn exchange(
        &mut self,
        chosen: Vec<Candidate>,
        proposals: &[Candidate],
        mut seconds: Seconds,
    ) -> Result<Option<Stop>> {
        let mut swap = self.exchange.swap.min(proposals.len());
        if self.exchange.steps == 0 || swap == 0 {
            self.path.certified_in(seconds.score);
            return Ok(Some(Stop::Features));
        }
        self.exchange.steps -= 1;
        let costs = self.fitting.removal_costs();
        let mut order: Vec<usize> = (0..chosen.len()).collect();
        order.sort_by(|&a, &b| costs[a].total_cmp(&costs[b]).then(chosen[a].cmp(&chosen[b])));
        let tolerance = self.schedule.inner_tol.min(COMPARED);
        let before = (self.fitting.set.snapshot(), self.fitting.value, self.fitting.decision.clone());
        while swap > 0 && !self.fitting.is_interrupted() {
            let mut stay: Vec<usize> = order[swap..].to_vec();
            stay.sort_unstable();
            let stay = stay.into_iter().map(|k| chosen[k].clone());
            let others: Vec<Candidate> = stay.chain(proposals[..swap].iter().cloned()).collect();
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
            swap /= 2;
        }
        self.path.certified_in(seconds.score);
        Ok(Some(if self.fitting.is_interrupted() { self.fitting.interruption() } else { Stop::Features }))
    }
}
