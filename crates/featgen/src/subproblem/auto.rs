//! The default: Newton steps while their matrix is of a reasonable size, first-order steps without any matrix beyond. These
//! are as good where columns are tables, so that a step costs the same for any number of them.

use std::borrow::Cow;

use super::apg::Apg;
use super::newton::Newton;
use super::{Cache, Goal, Outcome, Problem, State, Subproblem};

/// Cached columns up to which H is formed: half a GiB. A large group may bring in more at once.
const WIDEST: usize = 1 << 13;

pub(super) struct Auto {
    newton: Newton,
    apg: Apg,
}

impl Default for Auto {
    fn default() -> Self {
        Self { newton: Newton::default(), apg: Apg::accelerated() }
    }
}

impl Subproblem for Auto {
    fn solve(&mut self, problem: &Problem<'_>, state: &mut State, goal: &Goal<'_>) -> Outcome {
        if problem.cache.len() <= WIDEST && !problem.cache.has_tables() {
            return self.newton.solve(problem, state, goal);
        }
        // The cache only grows: H is not needed again.
        self.newton = Newton::default();
        self.apg.solve(problem, state, goal)
    }

    fn kept(&self) -> Vec<Cow<'_, [f64]>> {
        let mut kept = self.apg.kept();
        kept.extend(self.newton.kept());
        kept
    }

    fn resume(&mut self, mut kept: Vec<Vec<f64>>, cache: &Cache) -> bool {
        let newton = kept.split_off(kept.len().min(1));
        self.apg.resume(kept, cache) && self.newton.resume(newton, cache)
    }
}
