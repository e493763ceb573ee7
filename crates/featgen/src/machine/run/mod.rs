//! The outer loop (Algorithm 1 of the paper): ask the space, refit, ask again with what the fit leaves unexplained.

mod assemble;
mod resume;

use std::sync::atomic::Ordering;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::held::Held;
use super::params::{Machine, Plan};
use super::{Observer, Stop};
use crate::data::{Binary, Labels};
use crate::error::{Error, Result};
use crate::model::{Certificate, Model, Round, Seconds};
use crate::space::{Candidate, FeatureSpace, Precision, Scored, WorstCase};
use crate::subproblem::{self, Goal, Outcome, Problem, State, Subproblem, best_shift, feasible_duals, norm};

/// How often the cost may be doubled for the sake of a feature count before giving up.
const MAX_DOUBLINGS: usize = 40;

/// Relative difference below which two objectives count as the same.
const SAME: f64 = 1e-9;

/// The tightest subproblem tolerance that numbers allow.
const TIGHTEST: f64 = 1e-14;

/// How much more exactly than the certified gap each round is solved.
const INNER_PART: f64 = 0.1;

/// What a round must change to count as progress, as a part of the tolerance that it is solved to, or of the gap asked for:
/// less may be nothing but a problem solved a little better.
const PROGRESS: f64 = 0.01;

/// Objectives above this cannot be computed with: squares of what they consist of must be finite.
const LARGEST_OBJECTIVE: f64 = 1e140;

impl Machine {
    /// Selects features and fits them.
    pub fn fit(&self, space: &dyn FeatureSpace, labels: &Labels) -> Result<Model> {
        self.fit_observed(space, labels, &mut ())
    }

    /// The same, reporting every round.
    pub fn fit_observed(
        &self,
        space: &dyn FeatureSpace,
        labels: &Labels,
        observer: &mut dyn Observer,
    ) -> Result<Model> {
        let plan = self.check()?;
        let rows = space.inputs().rows();
        if labels.len() != rows {
            return Err(Error::Data(format!("{} labels for {rows} instances", labels.len())));
        }
        let source = labels;
        let labels = labels.binary(self.cost, &self.class_weights)?;
        let pool = crate::threads::pool(self.threads)?;
        let run = Run {
            machine: self,
            space,
            solver: subproblem::by_name(&self.solver)?,
            cost: self.cost,
            inner_tol: self.inner_tol,
            doublings: 0,
            held: Held::new(rows),
            state: State { f: vec![0.0; rows], ..State::default() },
            margins: Vec::new(),
            objective: 0.0,
            first: 0.0,
            decrease: f64::INFINITY,
            lower_bound: 0.0,
            mark: Mark::default(),
            unraised: None,
            precision: None,
            rounds: Vec::new(),
            cut: false,
            plan,
            labels,
            counts: source.weights(),
        };
        pool.install(|| run.run(source, observer))
    }
}

/// Everything that changes during a run.
struct Run<'a> {
    machine: &'a Machine,
    plan: Plan,
    space: &'a dyn FeatureSpace,
    labels: Binary,
    /// How often instances count, if not all count once.
    counts: Option<&'a [f64]>,
    solver: Box<dyn Subproblem>,
    /// The cost in force.
    cost: f64,
    /// How often it was doubled.
    doublings: usize,
    /// The subproblem tolerance in force.
    inner_tol: f64,
    held: Held,
    state: State,
    margins: Vec<f64>,
    objective: f64,
    /// The objective without features, at the cost in force.
    first: f64,
    /// By how much the last round lowered it.
    decrease: f64,
    /// The best lower bound over all candidates at the cost in force.
    lower_bound: f64,
    /// What the next round is measured against.
    mark: Mark,
    /// The last round as it was before the cost was raised, until that has brought more features.
    unraised: Option<Round>,
    /// How far rounding may take the scores that bounds come from, once that was asked for.
    precision: Option<Precision>,
    rounds: Vec<Round>,
    /// Whether a block was ever made smaller so as not to have more features than wanted.
    cut: bool,
}

/// Proof that a run gets on. At one cost, every round must lower the objective (or, with a gap asked for, raise the bound)
/// noticeably, or have more features than any since one did. The first can happen only so often, for the objective is bounded
/// from below, and the second no more often than there are features: so every run ends, and none goes round in circles among
/// features that are as good as each other.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Mark {
    objective: f64,
    lower_bound: f64,
    /// The most features since.
    selected: usize,
}

impl Run<'_> {
    fn run(mut self, labels: &Labels, observer: &mut dyn Observer) -> Result<Model> {
        self.check_costs()?;
        self.start_without_features();
        let checkpoint = self.open_checkpoint(labels, observer)?;
        let stopped = loop {
            if self.interrupted() {
                break Stop::Interrupted;
            }
            if let Some(reason) = self.round(observer)? {
                break reason;
            }
            // What an interrupt left half done is not a point from which to go on.
            if let Some(checkpoint) = checkpoint.as_ref().filter(|_| !self.interrupted()) {
                match self.save(checkpoint) {
                    Ok(()) => observer.saved(checkpoint.path()),
                    Err(error) => observer.not_saved(&error),
                }
            }
        };
        if stopped != Stop::Interrupted {
            self.unraise();
        }
        self.report(observer);
        self.finish(stopped)
    }

    /// Nothing is computed at costs that would overflow.
    fn check_costs(&self) -> Result<()> {
        let total: f64 = self.labels.costs.iter().sum();
        let costs = [("cost", Some(self.cost)), ("debias", self.machine.debias)];
        for (name, cost) in costs.into_iter().filter_map(|(name, cost)| Some((name, cost?))) {
            let total = total / self.cost * cost;
            if total.is_nan() || total > LARGEST_OBJECTIVE {
                return Err(Error::parameter(name, "errors would cost more than can be computed with"));
            }
        }
        Ok(())
    }

    fn start_without_features(&mut self) {
        let Binary { signs, costs, .. } = &self.labels;
        if self.machine.shift {
            self.state.bias = best_shift(&*self.machine.loss, &self.state.f, signs, costs, 0.0);
        }
        self.margins = signs.iter().map(|y| -y * self.state.bias).collect();
        self.objective = self.machine.loss.total(&self.state.f, self.state.bias, signs, costs);
        self.first = self.objective;
        self.set_mark();
    }

    /// One turn of the loop: score, choose, refit. Returns why the run ends, if it does.
    fn round(&mut self, observer: &mut dyn Observer) -> Result<Option<Stop>> {
        let clock = Instant::now();
        let worst = match self.score() {
            // A search that was told to end has nothing to say.
            Err(_) if self.interrupted() => return Ok(Some(Stop::Interrupted)),
            // What was found before, and proven of it, stays.
            Err(Error::GivenUp(reason)) if !self.rounds.is_empty() => {
                observer.given_up(&reason);
                return Ok(Some(Stop::Search));
            }
            worst => worst?,
        };
        let mut seconds = Seconds { score: clock.elapsed().as_secs_f64(), ..Seconds::default() };
        if let Some(round) = self.rounds.last_mut() {
            (round.objective, round.lower_bound) = (self.objective, self.lower_bound);
        }
        let scored = worst.scored;
        let (block, cut) = self.choose(worst);
        let reason = self.rule().or(block.is_empty().then_some(Stop::Exhausted));
        if reason.is_some() {
            // The last scores only certify: their time belongs to the round that they certify.
            if let Some(round) = self.rounds.last_mut() {
                round.seconds.score += seconds.score;
            }
            return Ok(reason);
        }
        self.cut |= cut;
        let clock = Instant::now();
        let new = self.held.add_block(self.space, &block, &mut self.state)?;
        seconds.generate = clock.elapsed().as_secs_f64();
        let clock = Instant::now();
        let before = self.objective;
        let mut outcome = self.refit();
        let mut helps = new.as_ref().is_some_and(|range| self.carries_weight(range));
        if let Some(range) = new.filter(|_| !helps && self.machine.features.is_some()) {
            helps = self.share(range, &mut outcome);
        }
        self.held.drop_idle_blocks(&mut self.state);
        seconds.solve = clock.elapsed().as_secs_f64();
        if !(helps && self.gets_on()) {
            self.keep(&outcome, seconds, observer);
            return Ok(self.no_block_helps(&outcome, observer));
        }
        self.decrease = before - self.objective;
        self.report(observer);
        self.record(&outcome, scored, seconds);
        Ok(None)
    }

    /// The best block got no weight: solve more exactly, or let errors cost more, or stop.
    fn no_block_helps(&mut self, last: &Outcome, observer: &mut dyn Observer) -> Option<Stop> {
        if self.interrupted() {
            return Some(Stop::Interrupted);
        }
        if self.machine.gap.is_some() && self.inner_tol > TIGHTEST {
            // The block seemed to help only because the subproblem was not solved well enough.
            self.inner_tol = (0.1 * self.inner_tol).max(TIGHTEST);
            return None;
        }
        if self.machine.features.is_none() || self.doublings >= MAX_DOUBLINGS {
            // With a gap asked for, it is still open. At costs raised beyond all measure, nothing is solved exactly.
            let unsolved = self.doublings == 0 && self.machine.is_unsolved(last.gap);
            let open = self.machine.gap.is_some() || unsolved;
            return Some(if open { Stop::Stalled } else { Stop::Optimal });
        }
        // No new feature helps at this cost, but more are wanted.
        let (before, clock) = (self.objective, Instant::now());
        if self.unraised.is_none() {
            self.unraised = self.rounds.last().cloned();
        }
        let outcome = self.double_cost();
        let seconds = Seconds { solve: clock.elapsed().as_secs_f64(), ..Seconds::default() };
        self.keep(&outcome, seconds, observer);
        // Where nothing is left to pay for, or next to nothing but errors, no cost brings in more.
        let more = self.objective > (1.0 + SAME) * before && !self.is_saturated();
        self.doublings = if more { self.doublings + 1 } else { MAX_DOUBLINGS };
        None
    }

    /// Whether the last refit brought the run further, see [`Mark`].
    fn gets_on(&mut self) -> bool {
        let part = PROGRESS * self.machine.gap.map_or(self.inner_tol, |gap| gap.min(self.inner_tol));
        let lower = self.objective < (1.0 - part) * self.mark.objective;
        let proven = self.machine.gap.is_some() && self.lower_bound > (1.0 + part) * self.mark.lower_bound;
        let selected = self.selected();
        if lower || proven {
            self.set_mark();
        } else if selected > self.mark.selected {
            self.mark.selected = selected;
        } else {
            return false;
        }
        if self.unraised.as_ref().is_some_and(|round| selected > round.selected) {
            self.unraised = None;
        }
        true
    }

    fn set_mark(&mut self) {
        let selected = self.selected();
        self.mark = Mark { objective: self.objective, lower_bound: self.lower_bound, selected };
    }

    /// The worst-case analysis, and the bound that its scores prove (math: section 2).
    fn score(&mut self) -> Result<WorstCase> {
        let alpha = self.duals();
        let taken = self.held.in_blocks();
        let v = self.signed(&alpha);
        let worst = self.space.worst_case(&v, self.plan.budget, &taken)?;
        let precision = match self.precision {
            Some(precision) => precision,
            None => *self.precision.insert(self.space.precision()?),
        };
        let count = self.plan.budget.min(usize::try_from(self.space.size()).unwrap_or(usize::MAX));
        let top = worst.top_at_most(count, &v, precision);
        let bound = self.machine.loss.bound(&alpha, &self.labels.costs, top);
        self.lower_bound = self.lower_bound.max(bound);
        // A bound holds whatever was rounded on the way; so if an objective is below, the objective lost to rounding.
        self.objective = self.objective.max(self.lower_bound);
        Ok(worst)
    }

    /// Feasible dual variables at the margins reached.
    fn duals(&self) -> Vec<f64> {
        let Binary { signs, costs, .. } = &self.labels;
        feasible_duals(&*self.machine.loss, &self.margins, signs, costs, self.machine.shift)
    }

    /// `v = alpha * y`, by which features are scored.
    fn signed(&self, alpha: &[f64]) -> Vec<f64> {
        alpha.iter().zip(&self.labels.signs).map(|(a, y)| a * y).collect()
    }

    /// The next block, and whether there was no room for all of it. Repeated candidates only where a certified gap is asked for;
    /// never more new ones than are wanted.
    fn choose(&self, worst: WorstCase) -> (Vec<Candidate>, bool) {
        let candidates = if self.machine.gap.is_some() { worst.best } else { worst.fresh };
        let mut room = self.machine.features.map_or(usize::MAX, |k| k.saturating_sub(self.selected()));
        let held = self.held.in_blocks();
        let mut fits = |candidate: &Candidate| {
            let repeated = held.contains(candidate);
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
    fn rule(&self) -> Option<Stop> {
        if self.machine.features.is_some_and(|k| self.selected() >= k) {
            Some(Stop::Features)
        } else if self.machine.gap.is_some_and(|gap| self.certificate().gap() <= gap) {
            Some(Stop::Gap)
        } else if self.rounds.len() >= self.plan.max_rounds {
            Some(Stop::Rounds)
        } else if self.decrease / self.first <= self.plan.tol && self.plan.tol > 0.0 {
            Some(Stop::Tolerance)
        } else {
            None
        }
    }

    /// Solves the round's problem from where the last one ended.
    fn refit(&mut self) -> Outcome {
        let reached = INNER_PART * self.certificate().gap().max(self.machine.gap.unwrap_or(0.0));
        let gap = if self.machine.gap.is_some() { self.inner_tol.min(reached) } else { self.inner_tol };
        let goal = Goal { gap, decrease: self.machine.inner_decrease, interrupt: &self.machine.interrupt };
        let problem = Problem {
            cache: &self.held.cache,
            signs: &self.labels.signs,
            costs: &self.labels.costs,
            loss: &*self.machine.loss,
            shift: self.machine.shift,
        };
        let outcome = self.solver.solve(&problem, &mut self.state, &goal);
        self.margins = self.margins_reached();
        self.objective = outcome.objective;
        outcome
    }

    fn margins_reached(&self) -> Vec<f64> {
        let State { f, bias, .. } = &self.state;
        f.iter().zip(&self.labels.signs).map(|(f, y)| y * (f - bias)).collect()
    }

    fn carries_weight(&self, coordinates: &std::ops::Range<usize>) -> bool {
        self.state.omega[coordinates.clone()].iter().any(|&w| w != 0.0)
    }

    /// A new block that got no weight only because it ties with those that have it (copies of the same columns, say) may
    /// take its share: the optimum is not unique, and more features are wanted. Keeps the share if the objective stays and no
    /// other feature has to give up its weight for it.
    fn share(&mut self, new: std::ops::Range<usize>, outcome: &mut Outcome) -> bool {
        let (before, objective, margins) = (self.state.clone(), self.objective, self.margins.clone());
        let selected = self.selected();
        let c = self.held.cache.transpose(&self.signed(&self.duals()));
        let pull: Vec<f64> = new.clone().map(|k| self.state.blocks.pull(k, &c)).collect();
        let (length, size) = (norm(&pull), self.state.blocks.norm(&self.state.omega));
        if size > 0.0 && length >= (1.0 - self.inner_tol) * size {
            let part = new.len() as f64 / self.state.omega.len() as f64;
            self.state.omega.iter_mut().for_each(|w| *w *= 1.0 - part);
            self.state.omega[new.clone()]
                .iter_mut()
                .zip(pull)
                .for_each(|(w, p)| *w = part * size * p / length);
            let w = self.state.blocks.gather(&self.state.omega, self.held.cache.len());
            self.state.f = self.held.cache.apply(&w);
            let shared = self.refit();
            if self.objective <= (1.0 + SAME) * objective && self.selected() > selected {
                *outcome = shared;
                return true;
            }
        }
        (self.state, self.objective, self.margins) = (before, objective, margins);
        false
    }

    fn double_cost(&mut self) -> Outcome {
        self.cost *= 2.0;
        self.first *= 2.0;
        self.labels.costs.iter_mut().for_each(|cost| *cost *= 2.0);
        // A bound for a smaller cost is one for a larger: the optimum only grows.
        let outcome = self.refit();
        self.held.drop_idle_blocks(&mut self.state);
        self.set_mark();
        outcome
    }

    /// Whether a larger cost changes nothing any more but by accident: there is next to no loss left, or the norm is next to
    /// nothing beside what the features have gained. (At a cost that is far too small the norm is small as well, but the gain is
    /// no larger.) Nor can costs grow for ever.
    fn is_saturated(&self) -> bool {
        let norm = self.state.blocks.norm(&self.state.omega);
        let (part, gain) = (0.5 * norm * norm, self.first - self.objective);
        let settled = gain > self.inner_tol * self.first && part < self.inner_tol * gain;
        settled || part > (1.0 - self.inner_tol) * self.objective || 2.0 * self.first > LARGEST_OBJECTIVE
    }

    fn interrupted(&self) -> bool {
        self.machine.interrupt.load(Ordering::Relaxed)
    }

    fn certificate(&self) -> Certificate {
        Certificate { objective: self.objective, lower_bound: self.lower_bound }
    }

    /// How many candidates carry weight.
    fn selected(&self) -> usize {
        self.held.selected(&self.held.weights(&self.state)).len()
    }

    fn accuracy(&self) -> f64 {
        // As in prediction, a decision value of exactly 0 counts as negative.
        let right = |(&z, &y): (&f64, &f64)| z > 0.0 || (z == 0.0 && y < 0.0);
        let pairs = || self.margins.iter().zip(&self.labels.signs);
        match self.counts {
            None => pairs().filter(|&pair| right(pair)).count() as f64 / self.margins.len() as f64,
            Some(counts) => {
                let counted = pairs().zip(counts).filter(|(pair, _)| right(*pair));
                counted.map(|(_, count)| count).sum::<f64>() / counts.iter().sum::<f64>()
            }
        }
    }

    fn record(&mut self, outcome: &Outcome, scored: u128, seconds: Seconds) {
        let weights = self.held.weights(&self.state);
        let terms: Vec<usize> = (0..weights.len()).filter(|&t| weights[t] != 0.0).collect();
        self.rounds.push(Round {
            round: self.rounds.len() + 1,
            selected: self.held.selected(&weights).len(),
            scored,
            cost: self.cost,
            objective: self.objective,
            lower_bound: self.lower_bound,
            inner_iterations: outcome.iterations,
            inner_gap: outcome.gap,
            accuracy: self.accuracy(),
            bias: self.state.bias,
            weights: terms.iter().map(|&t| weights[t]).collect(),
            terms,
            seconds,
        });
    }

    /// Reports the last round, once nothing can change it any more.
    fn report(&self, observer: &mut dyn Observer) {
        if let Some(round) = self.rounds.last() {
            observer.round(round);
        }
    }

    /// A refit that brought the run no further still moved weights, or the cost: the last round becomes what it left, unless
    /// that has fewer features. A point with more may be the best there is.
    fn keep(&mut self, outcome: &Outcome, seconds: Seconds, observer: &mut dyn Observer) {
        if self.rounds.last().is_some_and(|round| self.selected() < round.selected) {
            self.report(observer);
            self.record(outcome, 0, seconds);
        } else {
            self.amend(outcome, seconds);
        }
    }

    /// The last round becomes what the last refit left.
    fn amend(&mut self, outcome: &Outcome, more: Seconds) {
        if let Some(Round { inner_iterations, scored, mut seconds, .. }) = self.rounds.pop() {
            seconds.score += more.score;
            seconds.generate += more.generate;
            seconds.solve += more.solve;
            self.record(outcome, scored, seconds);
            let last = self.rounds.last_mut().expect("just recorded");
            last.inner_iterations += inner_iterations;
        }
    }
}
