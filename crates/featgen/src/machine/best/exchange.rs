//! Exchange: candidates that gain much come in beside the chosen, and of all together those go that are cheapest to do without.

use serde::{Deserialize, Serialize};

use super::super::Stop;
use super::super::params::Plan;
use super::super::run::Run;
use super::COMPARED;
use super::caution::MOSTLY_TRUE;
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

/// What an exchange would be: candidates that were chosen and stay, and newcomers beside them.
struct Change<'a> {
    thinning: &'a Thinning,
    /// The coordinates of all candidates, those chosen first.
    units: &'a [Vec<usize>],
    /// Those that stay, by number.
    old: Vec<usize>,
    /// Those that come in.
    new: Vec<usize>,
}

impl Change<'_> {
    /// By how much a newcomer lowers the objective beside those that stay, on average, by the model; and its coordinates.
    fn mean_gain(&self) -> (f64, usize) {
        let stay: Vec<Vec<usize>> =
            self.old.iter().chain(&self.new).map(|&k| self.units[k].clone()).collect();
        let gains = self.thinning.gains_beside(&stay, self.old.len());
        let (count, columns) =
            (self.new.len().max(1), self.new.iter().map(|&k| self.units[k].len()).sum::<usize>());
        (gains.iter().sum::<f64>() / count as f64, columns / count)
    }

    /// How many candidates without effect may correlate as much as the average newcomer.
    fn may_be_alike(&self) -> f64 {
        (MOSTLY_TRUE * self.new.len() as f64).max(1.0)
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
            self.path.confirmed_in(seconds);
            return Ok(Some(Stop::Features));
        }
        self.exchange.steps -= 1;
        let (thinning, units) =
            self.timed(&mut seconds.solve, |run| run.fitting.thinning(&proposals[..swap]))?;
        let all: Vec<&Candidate> = chosen.iter().chain(proposals).collect();
        let tolerance = self.schedule.inner_tol.min(COMPARED);
        let before = self.fitting.value;
        let cautious = self.exchange.cautious;
        let mut tried = Vec::new();
        while swap > 0 && !self.fitting.is_interrupted() {
            let Thinned { stay, decrease } = self
                .timed(&mut seconds.solve, |_| thinning.keep(&units[..chosen.len() + swap], chosen.len()));
            let is_worth = |decrease: f64| decrease >= WORTHWHILE * before;
            if is_worth(decrease) && stay != tried {
                let (old, new) = stay.iter().copied().partition(|&k| k < chosen.len());
                let change = Change { thinning: &thinning, units: &units, old, new };
                let follows_chance = |run: &mut Self| Ok(cautious && run.is_chance(&change, &all)?);
                if !self.timed(&mut seconds.solve, follows_chance)? {
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
                }
                tried = stay;
            }
            swap /= 2;
        }
        self.path.confirmed_in(seconds);
        if self.fitting.is_interrupted() {
            return Ok(Some(self.fitting.interruption()));
        }
        if self.exchange.cautious && self.fitting.machine.prove.is_some() {
            (self.exchange.cautious, self.exchange.swap) = (false, first_swap(self.plan.features));
            return Ok(None);
        }
        Ok(Some(Stop::Features))
    }

    /// Whether newcomers may be among the best of so many candidates by chance. On few instances exchanges would follow it, and what they
    /// choose would predict worse.
    ///
    /// Their mean gain beside those that stay is compared with what one of all candidates would reach if none had any effect. Columns are
    /// also compared by how they correlate with what the others leave unexplained: one of few values may lower the objective much by
    /// fitting an instance or two, for there are very many such columns, and still say little.
    fn is_chance(&mut self, change: &Change<'_>, all: &[&Candidate]) -> Result<bool> {
        let fitting = &mut self.fitting;
        let (gain, freedom) = change.mean_gain();
        if fitting.chance().expected(gain, freedom) > 1.0 {
            return Ok(true);
        }
        let outputs = fitting.objective.outputs();
        if change.new.iter().any(|&k| change.units[k].len() != outputs) {
            return Ok(false);
        }
        let mut features = Vec::with_capacity(change.new.len());
        for &k in &change.new {
            features.extend(fitting.space.group(all[k])?.features);
        }
        let columns = fitting.space.generate(&features)?;
        let old: Vec<Candidate> = change.old.iter().map(|&k| all[k].clone()).collect();
        let mean = fitting.beside(&old, |fitting| {
            let (residual, d) = (fitting.dual().residual, fitting.curvature());
            let sum: f64 = columns.iter().map(|column| fitting.squared_z(column, &residual, &d)).sum();
            sum / columns.len().max(1) as f64
        })?;
        Ok(fitting.alike(mean) > change.may_be_alike())
    }

    /// What `work` makes, and the time that it takes.
    pub(super) fn timed<T>(&mut self, seconds: &mut f64, work: impl FnOnce(&mut Self) -> T) -> T {
        let clock = std::time::Instant::now();
        let made = work(self);
        *seconds += clock.elapsed().as_secs_f64();
        made
    }
}
