//! The fit that a run works on: the weights reached, the decision values that they make, and the bound that is proven so far.
//! Every way of choosing features shares it; which features come next, and when to stop, is not decided here.

use super::Stop;
use super::params::{Machine, Plan, Select};
use super::proof::{Dual, Evidence};
use super::working_set::{Mark, Snapshot, WorkingSet};
use crate::context::Context;
use crate::data::{ClassWeights, Labels};
use crate::error::{Error, Result};
use crate::model::{Certificate, Fit, PerOutput, predicted_class};
use crate::objective::{Free, Objective, Output};
use crate::space::{Ask, Candidate, FeatureSpace, Fresh, Precision, WorstCase};
use crate::subproblem::{self, Goal, Outcome, Problem, Subproblem, Thinning, norm};

/// Relative difference below which two objectives count as the same.
pub(super) const SAME: f64 = 1e-9;

/// The cost of the paper's rounds, unless one is asked for.
const PAPER_COST: f64 = 10.0;

/// Objectives above this cannot be computed with: squares of what they consist of must be finite.
const LARGEST_OBJECTIVE: f64 = 1e140;

impl Machine {
    /// The objective for these labels.
    pub(super) fn objective(&self, labels: &Labels, cost: f64) -> Result<Box<dyn Objective>> {
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
        loss.objective(labels, self.class_weights.costs(labels, cost)?)
    }

    /// The cost unless one is asked for: where features are chosen by gain, the one that the space suggests for the instances that
    /// count.
    pub fn default_cost(&self, space: &dyn FeatureSpace, labels: &Labels) -> Result<f64> {
        let suggested = match (self.select_in_use()?, self.most_features()) {
            (Select::Best, Some(features)) => space.suggested_cost(features, labels.weights())?,
            _ => None,
        };
        Ok(suggested.filter(|cost| cost.is_finite() && *cost > 0.0).unwrap_or(PAPER_COST))
    }

    /// The cost asked for, or else the default.
    pub(crate) fn cost_in_use(&self, space: &dyn FeatureSpace, labels: &Labels) -> Result<f64> {
        self.cost.map_or_else(|| self.default_cost(space, labels), Ok)
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

/// Weights on a working set, and what follows from them.
pub(super) struct Fitting<'a> {
    pub(super) machine: &'a Machine,
    pub(super) space: &'a dyn FeatureSpace,
    pub(super) labels: &'a Labels,
    /// The cost that the run began with.
    pub(super) cost: f64,
    /// How errors count, at the cost in force.
    pub(super) objective: Box<dyn Objective>,
    /// What is never penalised.
    pub(super) free: Free,
    pub(super) solver: Box<dyn Subproblem>,
    pub(super) set: WorkingSet,
    /// Decision values, output after output.
    pub(super) decision: Vec<f64>,
    /// The sum of the loss and the norm at the weights reached.
    pub(super) value: f64,
    /// The objective without features, at the cost in force.
    pub(super) null: f64,
    /// The best lower bound over all candidates at the cost in force.
    pub(super) lower_bound: f64,
    /// What the last look at all candidates proves of sets of as many features as are wanted.
    pub(super) evidence: Option<Evidence>,
    /// How far rounding may take the scores that bounds come from, once that was asked for.
    precision: Option<Precision>,
}

/// A fit that may be come back to.
pub(super) struct TurningPoint {
    mark: Mark,
    snapshot: Snapshot,
    value: f64,
    decision: Vec<f64>,
}

impl<'a> Fitting<'a> {
    /// Of no features: only what is never penalised has weights.
    pub(super) fn new(
        machine: &'a Machine,
        plan: &Plan,
        space: &'a dyn FeatureSpace,
        labels: &'a Labels,
    ) -> Result<Self> {
        let rows = space.data().rows();
        if labels.len() != rows {
            return Err(Error::Data(format!("{} labels for {rows} instances", labels.len())));
        }
        let cost = machine.cost_in_use(space, labels)?;
        let objective = machine.objective(labels, cost)?;
        let free = machine.free(&*objective, rows)?;
        let solver = match plan.on_features {
            true => subproblem::on_features(plan.budget, objective.outputs()),
            false => subproblem::by_name(&machine.solver)?,
        };
        if let Some(reason) = solver.refuses(&*objective, &free) {
            return Err(Error::parameter("solver", reason));
        }
        let mut fitting = Self {
            machine,
            space,
            labels,
            cost,
            solver,
            set: WorkingSet::new(rows, &machine.kept, objective.outputs(), free.width()),
            decision: Vec::new(),
            value: 0.0,
            null: 0.0,
            lower_bound: 0.0,
            evidence: None,
            precision: None,
            objective,
            free,
        };
        fitting.check_costs()?;
        let state = &mut fitting.set.state;
        fitting.free.fit(&*fitting.objective, &state.f, &mut state.free);
        fitting.update_decision();
        fitting.value = fitting.objective.value(&fitting.decision);
        fitting.null = fitting.value;
        Ok(fitting)
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

    /// The worst-case analysis for `budget` candidates, and the bound that its scores prove (math: section 2).
    pub(super) fn worst_case(&mut self, budget: usize) -> Result<WorstCase> {
        self.worst_case_at(&self.dual(), budget, None)
    }

    /// The same at a point of the dual problem, where of candidates that are not taken only some may be of use.
    pub(super) fn worst_case_at(
        &mut self,
        dual: &Dual,
        budget: usize,
        fresh: Option<Fresh>,
    ) -> Result<WorstCase> {
        let taken = self.set.in_blocks();
        let ask = Ask { fresh, ..Ask::many(&dual.residual, self.objective.outputs(), budget, &taken) };
        let worst = self.space.worst_case(&ask)?;
        self.bound(dual, &ask, &worst, budget)?;
        Ok(worst)
    }

    /// Raises the bound on what any `budget` candidates can reach, by the scores of the best at a point. Returns how exact scores are.
    pub(super) fn bound(
        &mut self,
        dual: &Dual,
        ask: &Ask<'_>,
        worst: &WorstCase,
        budget: usize,
    ) -> Result<Precision> {
        let precision = match self.precision {
            Some(precision) => precision,
            None => *self.precision.insert(self.space.precision()?),
        };
        let count = budget.min(usize::try_from(self.space.size()).unwrap_or(usize::MAX));
        let bound = dual.bound(&*self.objective, worst.top_at_most(count, ask, precision));
        self.lower_bound = self.lower_bound.max(bound);
        // A bound holds whatever was rounded on the way; so if an objective is below, the objective lost to rounding.
        self.value = self.value.max(self.lower_bound);
        Ok(precision)
    }

    /// A model of what candidates are worth beside each other, and the units of it: those of the candidates chosen, in their order,
    /// then those of the others.
    pub(super) fn thinning(&mut self, others: &[Candidate]) -> Result<(Thinning, Vec<Vec<usize>>)> {
        let back = self.turning_point();
        let all: Vec<Candidate> = self.set.chosen().into_iter().chain(others.iter().cloned()).collect();
        self.set.select(self.space, &all)?;
        let problem = Problem { cache: &self.set.cache, objective: &*self.objective, free: &self.free };
        let thinning = self.solver.thinning(&problem, &self.set.state);
        let units = self.set.units(&all);
        self.turn_back(back);
        Ok((thinning, units))
    }

    /// Where the fit is now, to come back to.
    pub(super) fn turning_point(&self) -> TurningPoint {
        let (mark, snapshot) = (self.set.mark(), self.set.snapshot());
        TurningPoint { mark, snapshot, value: self.value, decision: self.decision.clone() }
    }

    /// Comes back to where the fit was, and forgets what was taken since.
    pub(super) fn turn_back(&mut self, back: TurningPoint) {
        self.set.restore_snapshot(back.snapshot);
        self.set.forget(&back.mark);
        self.solver.forget(&self.set.cache);
        (self.value, self.decision) = (back.value, back.decision);
    }

    /// The point of the dual problem at the decision values reached, by whose residual features are scored.
    pub(super) fn dual(&self) -> Dual {
        Dual::at(&*self.objective, &self.free, self.decision.clone())
    }

    /// Solves the problem on the working set to this relative gap, from the weights that are there.
    pub(super) fn solve(&mut self, gap: f64) -> Outcome {
        self.solve_in(&self.machine.context, gap)
    }

    /// The same, with a context that says when to end.
    pub(super) fn solve_in(&mut self, context: &Context, gap: f64) -> Outcome {
        let goal = Goal { gap, decrease: self.machine.inner_decrease, context };
        let problem = Problem { cache: &self.set.cache, objective: &*self.objective, free: &self.free };
        let outcome = self.solver.solve(&problem, &mut self.set.state, &goal);
        self.update_decision();
        self.value = outcome.objective;
        outcome
    }

    /// A new block that got no weight only because it ties with those that have it (copies of the same columns, say) may
    /// take its share: the optimum is not unique, and more features are wanted. Keeps the share if the objective stays and no
    /// other feature has to give up its weight for it. `solve` solves the problem again.
    pub(super) fn share(
        &mut self,
        new: std::ops::Range<usize>,
        tol: f64,
        solve: impl FnOnce(&mut Self) -> Outcome,
    ) -> Option<Outcome> {
        let (before, value, decision) = (self.set.state.clone(), self.value, self.decision.clone());
        let selected = self.selected();
        let (cache, v) = (&self.set.cache, self.dual().residual);
        let c: Vec<f64> = v.chunks_exact(cache.rows()).flat_map(|v| cache.transpose(v)).collect();
        let (state, width) = (&mut self.set.state, cache.len());
        let correlation: Vec<f64> = new.clone().map(|k| state.blocks.pull(k, &c, width)).collect();
        let (length, size) = (norm(&correlation), state.blocks.norm(&state.omega));
        if size > 0.0 && length >= (1.0 - tol) * size {
            let part = new.len() as f64 / state.omega.len() as f64;
            state.omega.iter_mut().for_each(|w| *w *= 1.0 - part);
            let own = state.omega[new].iter_mut().zip(correlation);
            own.for_each(|(w, c)| *w = part * size * c / length);
            self.set.state.f = self.set.apply();
            let shared = solve(self);
            if self.value <= (1.0 + SAME) * value && self.selected() > selected {
                return Some(shared);
            }
        }
        (self.set.state, self.value, self.decision) = (before, value, decision);
        None
    }

    /// Lets errors cost so many times what they did.
    pub(super) fn rescale(&mut self, factor: f64) {
        self.objective.rescale(factor);
        self.null *= factor;
    }

    /// Whether a larger cost changes nothing any more but by accident: there is next to no loss left, or the norm is next to
    /// nothing beside what the features have gained. (At a cost that is far too small the norm is small as well, but the gain is
    /// no larger.) Nor can costs grow for ever.
    pub(super) fn is_saturated(&self, tol: f64) -> bool {
        let (part, gain) = (self.penalty(), self.null - self.value);
        let settled = gain > tol * self.null && part < tol * gain;
        settled || part > (1.0 - tol) * self.value || 2.0 * self.null > LARGEST_OBJECTIVE
    }

    /// What the weights cost for themselves: half the square of their norm.
    pub(super) fn penalty(&self) -> f64 {
        self.solver.penalty(&self.set.state.blocks, &self.set.state.omega)
    }

    /// Computes the decision values at the weights that are there.
    pub(super) fn update_decision(&mut self) {
        self.decision = self.free.decision(&self.set.state.f, &self.set.state.free);
    }

    pub(super) fn has_weight(&self, coordinates: &std::ops::Range<usize>) -> bool {
        self.set.state.omega[coordinates.clone()].iter().any(|&w| w != 0.0)
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.machine.context.is_interrupted()
    }

    /// Why a run that was [interrupted](Self::is_interrupted) ends.
    pub(super) fn interruption(&self) -> Stop {
        if self.machine.context.is_late() { Stop::Time } else { Stop::Interrupted }
    }

    pub(super) fn certificate(&self) -> Certificate {
        Certificate { objective: self.value, lower_bound: self.lower_bound }
    }

    /// How many candidates carry weight.
    pub(super) fn selected(&self) -> usize {
        self.set.selected(&self.set.weights()).len()
    }

    /// How well the weights fit the training data: of classes the part that is right, of all else the part of the loss without
    /// features that they explain.
    pub(super) fn quality(&self) -> Fit {
        if self.machine.loss_in_use().output() == Output::Classes {
            return Fit::Accuracy(accuracy(self.labels, &self.decision));
        }
        let explained = 1.0 - self.objective.value(&self.decision) / self.null;
        Fit::Explained(if self.null > 0.0 { explained } else { 0.0 })
    }

    /// The shift b, which is minus the intercept, and the weights of the columns kept, each with all of its outputs.
    pub(super) fn free_weights(&self) -> (PerOutput, Vec<PerOutput>) {
        let (width, outputs) = (self.free.width(), self.objective.outputs());
        let column =
            |r: usize| (0..outputs).map(|k| self.set.state.free[k * width + r]).collect::<Vec<f64>>();
        let first = usize::from(self.free.intercept);
        let bias = if first == 1 { column(0) } else { vec![0.0; outputs] };
        let bias = bias.into_iter().map(|intercept| 0.0 - intercept).collect();
        (PerOutput(bias), (first..width).map(|r| PerOutput(column(r))).collect())
    }

    /// Sets what [`free_weights`](Self::free_weights) returns.
    pub(super) fn set_free_weights(&mut self, bias: &PerOutput, kept: &[PerOutput]) {
        let (width, first) = (self.free.width(), usize::from(self.free.intercept));
        for (k, free) in self.set.state.free.chunks_exact_mut(width.max(1)).enumerate() {
            free[..first].fill(0.0 - bias.0[k]);
            free[first..].iter_mut().zip(kept).for_each(|(free, weight)| *free = weight.0[k]);
        }
    }
}

/// The part of the instances, each as often as it counts, whose class is that of the decision values.
fn accuracy(labels: &Labels, d: &[f64]) -> f64 {
    let (codes, n) = (labels.codes(), labels.len());
    let right = |i: usize| match d.len() == n {
        true => predicted_class(std::iter::once(d[i])) == codes[i] as usize,
        false => predicted_class(d.iter().skip(i).step_by(n).copied()) == codes[i] as usize,
    };
    match labels.weights() {
        None => (0..n).filter(|&i| right(i)).count() as f64 / n as f64,
        Some(weights) => {
            let counted = (0..n).filter(|&i| right(i)).map(|i| weights[i]);
            counted.sum::<f64>() / weights.iter().sum::<f64>()
        }
    }
}
