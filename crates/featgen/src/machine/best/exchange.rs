//! Exchange: candidates that gain much come in beside the chosen, and of all together those go that are cheapest to do without.

use serde::{Deserialize, Serialize};

use super::super::Stop;
use super::super::chance::Chance;
use super::super::params::Plan;
use super::super::run::Run;
use super::COMPARED;
use crate::error::Result;
use crate::model::Seconds;
use crate::space::Candidate;
use crate::subproblem::{Thinned, Thinning};

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
    /// Whether an exchange must gain more than chance would. Only a proof goes on without: it is about the lowest objective.
    pub(in crate::machine) cautious: bool,
}

impl Exchange {
    pub(in crate::machine) fn new(plan: &Plan) -> Self {
        Self { swap: first_swap(plan.features), steps: plan.exchange, cautious: true }
    }

    /// Columns that are held at most where so many features are wanted, each a column: those taken, and those let in.
    pub(in crate::machine) fn most_held(&self, features: usize) -> usize {
        match self.steps {
            0 => features,
            _ => TAKEN.saturating_mul(features).saturating_add(self.swap),
        }
    }
}

/// How many are let in at first where so many features are wanted.
fn first_swap(features: usize) -> usize {
    (features / 2).clamp(features.min(FIRST_FEW), FIRST_MANY)
}

/// Whether the newcomers among the units that stay, which come after the `chosen`, gain no more beside the others than chance
/// explains: as much, on average, as one or more of all candidates would if none had any effect.
fn is_chance(
    thinning: &Thinning,
    chance: &Chance,
    units: &[Vec<usize>],
    stay: &[usize],
    chosen: usize,
) -> bool {
    let (new, old): (Vec<usize>, Vec<usize>) = stay.iter().copied().partition(|&k| k >= chosen);
    let stay: Vec<Vec<usize>> = old.iter().chain(&new).map(|&k| units[k].clone()).collect();
    let gains = thinning.gains_beside(&stay, old.len());
    let (gain, columns) = (gains.iter().sum::<f64>(), new.iter().map(|&k| units[k].len()).sum::<usize>());
    let count = new.len().max(1);
    chance.expected(gain / count as f64, columns / count) > 1.0
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
        let before = self.fitting.value;
        let (chance, cautious) = (self.fitting.chance(), self.exchange.cautious);
        let mut tried = Vec::new();
        while swap > 0 && !self.fitting.is_interrupted() {
            let Thinned { stay, decrease } = self
                .timed(&mut seconds.solve, |_| thinning.keep(&units[..chosen.len() + swap], chosen.len()));
            let is_worth = |decrease: f64| decrease >= WORTHWHILE * before;
            // On few instances exchanges would follow chance, and what they choose would predict worse.
            let follows_chance = |_: &mut Self| is_chance(&thinning, &chance, &units, &stay, chosen.len());
            if is_worth(decrease)
                && stay != tried
                && !(cautious && self.timed(&mut seconds.solve, follows_chance))
            {
                let back = self.fitting.turning_point();
                let others: Vec<Candidate> = stay.iter().map(|&k| all[k].clone()).collect();
                let (outcome, spent) = self.fit_to(&others, tolerance, Seconds::default())?;
                seconds.generate += spent.generate;
                seconds.solve += spent.solve;
                if is_worth(before - self.fitting.value) && !self.fitting.is_interrupted() {
                    self.exchange.swap = swap;
                    self.path.amend(&self.fitting, self.schedule.cost, &outcome, seconds);
                    return Ok(None);
                }
                self.fitting.turn_back(back);
                tried = stay;
            }
            swap /= 2;
        }
        self.path.certified_in(seconds.score);
        if self.fitting.is_interrupted() {
            return Ok(Some(self.fitting.interruption()));
        }
        if self.exchange.cautious && self.fitting.machine.prove.is_some() {
            (self.exchange.cautious, self.exchange.swap) = (false, first_swap(self.plan.features));
            return Ok(None);
        }
        Ok(Some(Stop::Features))
    }

    /// What `work` makes, and the time that it takes.
    pub(super) fn timed<T>(&mut self, seconds: &mut f64, work: impl FnOnce(&mut Self) -> T) -> T {
        let clock = std::time::Instant::now();
        let made = work(self);
        *seconds += clock.elapsed().as_secs_f64();
        made
    }
}
