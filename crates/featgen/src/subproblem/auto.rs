//! The default: Newton steps, with a matrix of a reasonable size or with none; first-order steps where these do not get there.

use std::borrow::Cow;

use super::apg::Apg;
use super::model::SumOfNorms;
use super::newton::{MAX_STEPS, Newton};
use super::{Cache, Goal, Outcome, Problem, State, Subproblem, Thinning};

/// Cached columns up to which H is formed: half a GiB. A large group may bring in more at once.
pub(crate) const WIDEST: usize = 1 << 13;

/// Sparse columns up to which H is formed in any case. Beyond, products with the columns may cost less than with H.
const NARROW: usize = 1 << 12;

/// How many entries of H are read in the time that a product takes for a value of sparse columns.
const ENTRIES_A_VALUE: usize = 4;

/// Newton steps without a matrix. They take few, or else are not the way.
const STEPS_WITHOUT_MATRIX: usize = 50;

pub(super) struct Auto {
    newton: Newton<SumOfNorms>,
    apg: Apg,
}

impl Default for Auto {
    fn default() -> Self {
        Self { newton: Newton::default(), apg: Apg::accelerated() }
    }
}

impl Auto {
    /// Lets Newton steps have a matrix where that is best for the columns of `cache`; says whether they have none.
    fn settle(&mut self, cache: &Cache) -> bool {
        let (width, values) = (cache.len(), cache.filled());
        let cheaper = cache.sparse().is_some() && width * width > ENTRIES_A_VALUE * values;
        let widest = if cheaper { NARROW } else { WIDEST };
        let without = !cache.has_tables() && width > widest;
        self.newton.limit(widest, if without { STEPS_WITHOUT_MATRIX } else { MAX_STEPS });
        without || cache.has_tables()
    }
}

impl Subproblem for Auto {
    fn solve(&mut self, problem: &Problem<'_>, state: &mut State, goal: &Goal<'_>) -> Outcome {
        let without_matrix = self.settle(problem.cache);
        let reached = self.newton.solve(problem, state, goal);
        if reached.gap <= goal.gap || !without_matrix || goal.interrupted() {
            return reached;
        }
        // Without a matrix there is nothing to factorise when systems are too hard for conjugate gradients.
        let outcome = self.apg.solve(problem, state, goal);
        Outcome { iterations: reached.iterations + outcome.iterations, ..outcome }
    }

    fn thinning(&mut self, problem: &Problem<'_>, state: &State) -> Thinning {
        self.settle(problem.cache);
        self.newton.thinning(problem, state)
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
