//! The outer loop (Algorithm 1 of the paper): ask the space, refit, ask again with what the fit leaves unexplained.

mod assemble;
mod resume;

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::held::Held;
use super::params::{Machine, Plan};
use super::{Observer, Stop};
use crate::data::{ClassWeights, Labels};
use crate::error::{Error, Result};
use crate::model::{Certificate, Fit, Model, PerOutput, Round, Seconds, predicted_class};
use crate::objective::{Free, Objective, Output};
use crate::space::{Ask, Candidate, FeatureSpace, Precision, Scored, WorstCase};
use crate::subproblem::{self, Goal, Outcome, Problem, State, Subproblem, norm};

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
        let rows = space.data().rows();
        if labels.len() != rows {
            return Err(Error::Data(format!("{} labels for {rows} instances", labels.len())));
        }
        let objective = self.objective(labels)?;
        let free = self.free(&*objective, rows)?;
        let run = Run {
            machine: self,
            space,
            solver: subproblem::by_name(&self.solver)?,
            cost: self.cost,
            inner_tol: self.inner_tol,
            doublings: 0,
            held: Held::new(rows, &self.kept),
            state: State::new(rows, objective.outputs(), free.width()),
            d: Vec::new(),
            value: 0.0,
            first: 0.0,
            decrease: f64::INFINITY,
            lower_bound: 0.0,
            mark: Mark::default(),
            unraised: None,
            precision: None,
            rounds: Vec::new(),
            cut: false,
            plan,
            objective,
            free,
            labels,
        };
        self.context.run(|| run.run(observer))?
    }

    /// The objective for these labels.
    pub(super) fn objective(&self, labels: &Labels) -> Result<Box<dyn Objective>> {
        let loss = self.loss_in_use();
        if self.loss.is_none() {
            labels.two_classes()?;
        }
        if loss.output() != Output::Classes && self.class_weights != ClassWeights::Equal {
            return Err(Error::parameter(
                "weight",
                format!("the loss {} has no classes to weigh", loss.name()),
            ));
        }
        loss.objective(labels, self.class_weights.costs(labels, self.cost)?)
    }

    /// What is never penalised: the intercept, if one is learned, and the columns kept.
    fn free(&self, objective: &dyn Objective, rows: usize) -> Result<Free> {
        let mut free = Free::new(rows, self.shift && !objective.ignores_constants());
        free.columns.clone_from(&self.kept.columns);
        if free.columns.iter().any(|x| x.len() != rows) {
            return Err(Error::parameter("keep", format!("columns of other lengths than {rows} instances")));
        }
        if let Some(offset) = &self.offset {
            let refuse = |reason: String| Err(Error::parameter("offset", reason));
            if offset.len() != rows {
                return refuse(format!("{} numbers for {rows} instances", offset.len()));
            }
            if objective.outputs() > 1 {
                return refuse("only losses with one decision value an instance take one".into());
            }
            if let Some(i) = offset.iter().position(|x| !x.is_finite()) {
                return refuse(format!("that of instance {} is {}, not a finite number", i + 1, offset[i]));
            }
            free.offset = Some(offset.clone());
        }
        Ok(free)
    }
}

/// Everything that changes during a run.
struct Run<'a> {
    machine: &'a Machine,
    plan: Plan,
    space: &'a dyn FeatureSpace,
    labels: &'a Labels,
    /// How errors count, at the cost in force.
    objective: Box<dyn Objective>,
    /// What is never penalised.
    free: Free,
    solver: Box<dyn Subproblem>,
    /// The cost in force.
    cost: f64,
    /// How often it was doubled.
    doublings: usize,
    /// The subproblem tolerance in force.
    inner_tol: f64,
    held: Held,
    state: State,
    /// Decision values, output after output.
    d: Vec<f64>,
    /// The sum of the loss and the norm at the weights reached.
    value: f64,
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
    fn run(mut self, observer: &mut dyn Observer) -> Result<Model> {
        self.check_costs()?;
        self.start_without_features();
        let checkpoint = self.open_checkpoint(observer)?;
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
        let total: f64 = self.objective.costs().iter().sum();
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
        self.free.fit(&*self.objective, &self.state.f, &mut self.state.free);
        self.d = self.decisions();
        self.value = self.objective.value(&self.d);
        self.first = self.value;
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
            (round.objective, round.lower_bound) = (self.value, self.lower_bound);
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
        let before = self.value;
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
        self.decrease = before - self.value;
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
        let (before, clock) = (self.value, Instant::now());
        if self.unraised.is_none() {
            self.unraised = self.rounds.last().cloned();
        }
        let outcome = self.double_cost();
        let seconds = Seconds { solve: clock.elapsed().as_secs_f64(), ..Seconds::default() };
        self.keep(&outcome, seconds, observer);
        // Where nothing is left to pay for, or next to nothing but errors, no cost brings in more.
        let more = self.value > (1.0 + SAME) * before && !self.is_saturated();
        self.doublings = if more { self.doublings + 1 } else { MAX_DOUBLINGS };
        None
    }

    /// Whether the last refit brought the run further, see [`Mark`].
    fn gets_on(&mut self) -> bool {
        let part = PROGRESS * self.machine.gap.map_or(self.inner_tol, |gap| gap.min(self.inner_tol));
        let lower = self.value < (1.0 - part) * self.mark.objective;
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
        self.mark = Mark { objective: self.value, lower_bound: self.lower_bound, selected };
    }

    /// The worst-case analysis, and the bound that its scores prove (math: section 2).
    fn score(&mut self) -> Result<WorstCase> {
        let (v, balanced) = self.residual();
        let taken = self.held.in_blocks();
        let ask = Ask::many(&v, self.objective.outputs(), self.plan.budget, &taken);
        let worst = self.space.worst_case(&ask)?;
        let precision = match self.precision {
            Some(precision) => precision,
            None => *self.precision.insert(self.space.precision()?),
        };
        let count = self.plan.budget.min(usize::try_from(self.space.size()).unwrap_or(usize::MAX));
        let top = worst.top_at_most(count, &ask, precision);
        let linear = self.free.linear_term(&self.d, &v, balanced);
        let bound = self.objective.lower_bound(&self.d, &v, top, linear);
        self.lower_bound = self.lower_bound.max(bound);
        // A bound holds whatever was rounded on the way; so if an objective is below, the objective lost to rounding.
        self.value = self.value.max(self.lower_bound);
        Ok(worst)
    }

    /// The residual at the decision values reached, by which features are scored: feasible for the dual problem. Says whether it
    /// is orthogonal to a constant without any rounding.
    fn residual(&self) -> (Vec<f64>, bool) {
        let mut v = vec![0.0; self.d.len()];
        self.objective.residual(&self.d, &mut v);
        let balanced = self.objective.make_feasible(&mut v, self.free.intercept);
        (v, balanced)
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
        let goal = Goal { gap, decrease: self.machine.inner_decrease, context: &self.machine.context };
        let problem = Problem { cache: &self.held.cache, objective: &*self.objective, free: &self.free };
        let outcome = self.solver.solve(&problem, &mut self.state, &goal);
        self.d = self.decisions();
        self.value = outcome.objective;
        outcome
    }

    /// The decision values at the weights reached.
    fn decisions(&self) -> Vec<f64> {
        self.free.decision(&self.state.f, &self.state.free)
    }

    fn carries_weight(&self, coordinates: &std::ops::Range<usize>) -> bool {
        self.state.omega[coordinates.clone()].iter().any(|&w| w != 0.0)
    }

    /// A new block that got no weight only because it ties with those that have it (copies of the same columns, say) may
    /// take its share: the optimum is not unique, and more features are wanted. Keeps the share if the objective stays and no
    /// other feature has to give up its weight for it.
    fn share(&mut self, new: std::ops::Range<usize>, outcome: &mut Outcome) -> bool {
        let (before, value, d) = (self.state.clone(), self.value, self.d.clone());
        let selected = self.selected();
        let (cache, (v, _)) = (&self.held.cache, self.residual());
        let c: Vec<f64> = v.chunks_exact(cache.rows()).flat_map(|v| cache.transpose(v)).collect();
        let width = cache.len();
        let pull: Vec<f64> = new.clone().map(|k| self.state.blocks.pull(k, &c, width)).collect();
        let (length, size) = (norm(&pull), self.state.blocks.norm(&self.state.omega));
        if size > 0.0 && length >= (1.0 - self.inner_tol) * size {
            let part = new.len() as f64 / self.state.omega.len() as f64;
            self.state.omega.iter_mut().for_each(|w| *w *= 1.0 - part);
            self.state.omega[new.clone()]
                .iter_mut()
                .zip(pull)
                .for_each(|(w, p)| *w = part * size * p / length);
            self.state.f = self.held.apply(&self.state);
            let shared = self.refit();
            if self.value <= (1.0 + SAME) * value && self.selected() > selected {
                *outcome = shared;
                return true;
            }
        }
        (self.state, self.value, self.d) = (before, value, d);
        false
    }

    /// Lets errors cost so many times what they did.
    fn rescale(&mut self, factor: f64) {
        self.objective.rescale(factor);
        self.first *= factor;
    }

    fn double_cost(&mut self) -> Outcome {
        self.cost *= 2.0;
        self.rescale(2.0);
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
        let (part, gain) = (0.5 * norm * norm, self.first - self.value);
        let settled = gain > self.inner_tol * self.first && part < self.inner_tol * gain;
        settled || part > (1.0 - self.inner_tol) * self.value || 2.0 * self.first > LARGEST_OBJECTIVE
    }

    fn interrupted(&self) -> bool {
        self.machine.context.is_interrupted()
    }

    fn certificate(&self) -> Certificate {
        Certificate { objective: self.value, lower_bound: self.lower_bound }
    }

    /// How many candidates carry weight.
    fn selected(&self) -> usize {
        self.held.selected(&self.held.weights(&self.state)).len()
    }

    /// How well the model fits the training data: of classes the part that is right, of all else the part of the loss without
    /// features that they explain.
    fn fit(&self) -> Fit {
        if self.machine.loss_in_use().output() == Output::Classes {
            return Fit::Accuracy(accuracy(self.labels, &self.d));
        }
        let explained = 1.0 - self.objective.value(&self.d) / self.first;
        Fit::Explained(if self.first > 0.0 { explained } else { 0.0 })
    }

    fn record(&mut self, outcome: &Outcome, scored: u128, seconds: Seconds) {
        let weights = self.held.weights(&self.state);
        let terms = self.held.weighty(&weights);
        let outputs = self.objective.outputs();
        let ((bias, kept), fit) = (self.free_weights(), self.fit());
        self.rounds.push(Round {
            round: self.rounds.len() + 1,
            selected: self.held.selected(&weights).len(),
            scored,
            cost: self.cost,
            objective: self.value,
            lower_bound: self.lower_bound,
            inner_iterations: outcome.iterations,
            inner_gap: outcome.gap,
            accuracy: fit.accuracy(),
            explained: fit.explained(),
            bias,
            kept,
            weights: terms.iter().flat_map(|&t| &weights[t * outputs..][..outputs]).copied().collect(),
            terms,
            seconds,
        });
    }

    /// The shift b, which is minus the intercept, and the weights of the columns kept, each with all of its outputs.
    pub(super) fn free_weights(&self) -> (PerOutput, Vec<PerOutput>) {
        let (width, outputs) = (self.free.width(), self.objective.outputs());
        let column = |r: usize| (0..outputs).map(|k| self.state.free[k * width + r]).collect::<Vec<f64>>();
        let first = usize::from(self.free.intercept);
        let bias = if first == 1 { column(0) } else { vec![0.0; outputs] };
        let bias = bias.into_iter().map(|intercept| 0.0 - intercept).collect();
        (PerOutput(bias), (first..width).map(|r| PerOutput(column(r))).collect())
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

/// The part of the instances, each as often as it counts, whose class is that of the decision values.
fn accuracy(labels: &Labels, d: &[f64]) -> f64 {
    let (codes, n) = (labels.codes(), labels.len());
    let right = |i: usize| predicted_class(d.iter().skip(i).step_by(n).copied()) == codes[i] as usize;
    match labels.weights() {
        None => (0..n).filter(|&i| right(i)).count() as f64 / n as f64,
        Some(weights) => {
            let counted = (0..n).filter(|&i| right(i)).map(|i| weights[i]);
            counted.sum::<f64>() / weights.iter().sum::<f64>()
        }
    }
}
