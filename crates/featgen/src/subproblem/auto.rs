//! The default: Newton steps while their matrix is of a reasonable size, or where they need none; first-order steps beyond.

use std::borrow::Cow;

use super::apg::Apg;
use super::model::SumOfNorms;
use super::newton::Newton;
use super::{Cache, Goal, Outcome, Problem, State, Subproblem, Thinning};

/// Cached columns up to which H is formed: half a GiB. A large group may bring in more at once.
pub(crate) const WIDEST: usize = 1 << 13;

pub(super) struct Auto {
    newton: Newton<SumOfNorms>,
    apg: Apg,
}

impl Default for Auto {
    fn default() -> Self {
        Self { newton: Newton::default(), apg: Apg::accelerated() }
    }
}

impl Subproblem for Auto {
    fn solve(&mut self, problem: &Problem<'_>, state: &mut State, goal: &Goal<'_>) -> Outcome {
        let tables = problem.cache.has_tables();
        if problem.cache.len() > WIDEST && !tables {
            // The cache only grows: H is not needed again.
            self.newton = Newton::default();
            return self.apg.solve(problem, state, goal);
        }
        let reached = self.newton.solve(problem, state, goal);
        if reached.gap <= goal.gap || !tables || goal.interrupted() {
            return reached;
        }
        // Without a matrix there is nothing to factorise when systems are too hard for conjugate gradients.
        let outcome = self.apg.solve(problem, state, goal);
        Outcome { iterations: reached.iterations + outcome.iterations, ..outcome }
    }

    fn thinning(&mut self, problem: &Problem<'_>, state: &State) -> Thinning {
        match problem.cache.len() > WIDEST && !problem.cache.has_tables() {
            true => self.apg.thinning(problem, state),
            false => self.newton.thinning(problem, state),
        }
    }

    fn forget(&mut self, cache: &Cache) {
        self.newton.forget(cache);
    }

    fn kept(&self) -> Vec<Cow<'_, [f64]>> {
        let mut kept = self.apg.kept();
        kept.extend(self.newton.kept());
        kept
    }

    fn resume(&mut self, mut kept: Vec<Vec<f64>>, outputs: usize, cache: &Cache) -> bool {
        let newton = kept.split_off(kept.len().min(1));
        self.apg.resume(kept, outputs, cache) && self.newton.resume(newton, outputs, cache)
    }
}
