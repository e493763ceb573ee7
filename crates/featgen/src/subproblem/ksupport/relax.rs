//! The relaxation over everything that could be chosen: a working set that grows by what it lacks.
//!
//! Each round scores all candidates by the residual. The K largest scores prove a bound for all of them, seen or not; those outside
//! the working set whose score is above its threshold would get weights, and join it.

use super::Solver;
use super::model::{lengths, pulls};
use crate::error::Result;
use crate::objective::{Free, Objective};
use crate::subproblem::{Cache, Goal, Problem, State};

/// All that could be chosen.
pub(crate) trait Candidates {
    /// Scores all candidates by the residual. The columns of those that it returns are added to `cache`.
    fn search(&mut self, wanted: &Wanted<'_>, cache: &mut Cache) -> Result<Found>;
}

/// What a round asks for.
pub(crate) struct Wanted<'a> {
    /// The residual, output after output.
    pub(crate) v: &'a [f64],
    /// How many of the largest squared scores are summed.
    pub(crate) k: usize,
    /// Only candidates with a squared score above this are of use.
    pub(crate) beyond: f64,
    /// How many new ones are wanted: the best.
    pub(crate) most: usize,
}

/// What a round finds.
pub(crate) struct Found {
    /// At least the sum of the K largest squared scores of all candidates, whether or not they were returned before.
    pub(crate) top: f64,
    /// New units: their cached columns, with what these are multiplied by.
    pub(crate) units: Vec<Vec<(u32, f64)>>,
}

/// A relaxation as far as it is solved.
pub(crate) struct Relaxation {
    solver: Solver,
    /// The columns of the working set; before them, those that are kept.
    pub(crate) cache: Cache,
    /// The working set: a block is a unit, in the order in which they were found.
    pub(crate) state: State,
    /// The objective with the norm, at these weights.
    pub(crate) objective: f64,
    /// Below this no weights on any candidates can take it.
    pub(crate) lower_bound: f64,
    /// What proves it.
    pub(crate) dual: Option<Dual>,
    /// Rounds of scoring made.
    pub(crate) rounds: usize,
    /// Newton steps made.
    pub(crate) steps: usize,
}

/// Of the gap over everything, what a round's solver may leave.
const LEFT: f64 = 0.1;

/// Of the gap asked for, what the last rounds' solver may leave.
const LEFT_AT_LAST: f64 = 0.25;

const MAX_ROUNDS: usize = 1000;

impl Relaxation {
    /// Without weights, for the norm with `k` units. The columns kept are the first that are cached.
    pub(crate) fn new(k: usize, objective: &dyn Objective, free: &Free, cache: Cache) -> Self {
        let outputs = objective.outputs();
        Self {
            solver: Solver::new(k, outputs),
            state: State::new(cache.rows(), outputs, free.width()),
            cache,
            objective: f64::INFINITY,
            lower_bound: 0.0,
            dual: None,
            rounds: 0,
            steps: 0,
        }
    }

    /// How far the objective may be from its optimum, relative to itself.
    pub(crate) fn gap(&self) -> f64 {
        ((self.objective - self.lower_bound) / self.objective.max(f64::MIN_POSITIVE)).max(0.0)
    }

    /// Improves weights and bound until the goal is met, or as far as numbers allow.
    pub(crate) fn run(
        &mut self,
        objective: &dyn Objective,
        free: &Free,
        candidates: &mut dyn Candidates,
        goal: &Goal<'_>,
    ) -> Result<()> {
        let norm = self.solver.norm();
        for _ in 0..MAX_ROUNDS {
            let (mut dual, beyond) = self.point(objective, free);
            let most = (2 * norm.k).max(self.state.blocks.len());
            let wanted = Wanted { v: &dual.residual, k: norm.k, beyond, most };
            let found = candidates.search(&wanted, &mut self.cache)?;
            self.rounds += 1;
            dual.top = found.top;
            self.bound(objective, dual);
            // Also where this is the last round: whoever found them will not return them again.
            let complete = found.units.is_empty();
            for unit in found.units {
                self.state.blocks.push(unit);
            }
            self.state.omega.resize(self.state.blocks.columns.len(), 0.0);
            let gap = self.gap();
            if gap <= goal.gap || goal.interrupted() {
                break;
            }
            let allowed = (LEFT * gap).max(LEFT_AT_LAST * goal.gap);
            let problem = Problem { cache: &self.cache, objective, free };
            let goal = Goal { gap: allowed, decrease: None, context: goal.context };
            let outcome = self.solver.solve(&problem, &mut self.state, &goal);
            self.steps += outcome.iterations;
            if complete && outcome.iterations == 0 {
                // Nothing to add, and nothing to improve: rounding keeps the two sides apart.
                break;
            }
        }
        Ok(())
    }

    /// The dual point that the weights make, its largest scores not yet known, and the K-th largest squared score of the working
    /// set.
    fn point(&mut self, objective: &dyn Objective, free: &Free) -> (Dual, f64) {
        let (state, norm) = (&mut self.state, self.solver.norm());
        free.fit(objective, &state.f, &mut state.free);
        let decision = free.decision(&state.f, &state.free);
        self.objective = objective.value(&decision) + norm.value(&lengths(&state.blocks, &state.omega));
        let problem = Problem { cache: &self.cache, objective, free };
        let mut residual = problem.residual(&decision);
        let balanced = objective.make_feasible(&mut residual, free.intercept);
        let scores = lengths(&state.blocks, &pulls(&state.blocks, &problem.transpose(&residual)));
        let linear = free.linear_term(&decision, &residual, balanced);
        (Dual { decision, residual, linear, top: f64::INFINITY }, norm.threshold(&scores).powi(2))
    }

    /// Takes the bound that a point proves.
    fn bound(&mut self, objective: &dyn Objective, dual: Dual) {
        let bound = dual.bound(objective, dual.top);
        if bound > self.lower_bound || self.dual.is_none() {
            self.lower_bound = self.lower_bound.max(bound);
            self.dual = Some(dual);
        }
        // A bound holds whatever was rounded on the way; so if an objective is below, the objective lost to rounding.
        self.objective = self.objective.max(self.lower_bound);
    }
}

/// A feasible point of the dual problem. It bounds what a ridge on any set of units can reach, by the units' squared scores alone:
/// so it bounds the best K of all units, the best with a unit that must be in, and the best with one that must be out.
pub(crate) struct Dual {
    decision: Vec<f64>,
    linear: f64,
    /// What units are scored by: the length of the product of their columns with it.
    pub(crate) residual: Vec<f64>,
    /// At least the sum of the K largest squared scores.
    pub(crate) top: f64,
}

/// How exactly [`Dual::limit`] is found.
const LIMIT_PART: f64 = 1e-9;

impl Dual {
    /// No ridge on units whose squared scores sum to at most `top` reaches an objective below this.
    pub(crate) fn bound(&self, objective: &dyn Objective, top: f64) -> f64 {
        objective.lower_bound(&self.decision, &self.residual, top, self.linear)
    }

    /// Sums of squared scores up to this prove that no ridge on such units reaches `value`; `None` if none does.
    ///
    /// With `s_(K)` the K-th largest squared score: a unit with score s outside the K largest is in no set of K that reaches `value` if
    /// `top - s_(K) + s` is within the limit; one among them is in all such sets if `top - s + s_(K+1)` is.
    pub(crate) fn limit(&self, objective: &dyn Objective, value: f64) -> Option<f64> {
        let proves = |top: f64| self.bound(objective, top) > value;
        let mut high = self.top.max(f64::MIN_POSITIVE);
        let mut low = if proves(high) { high } else { 0.0 };
        if low == 0.0 && !proves(low) {
            return None;
        }
        // Bounds fall to 0 as scores grow.
        while low == high && high < f64::MAX / 2.0 {
            high *= 2.0;
            low = if proves(high) { high } else { low };
        }
        while high - low > LIMIT_PART * high {
            let middle = 0.5 * (low + high);
            *(if proves(middle) { &mut low } else { &mut high }) = middle;
        }
        Some(low)
    }
}
