//! What a point of the dual problem proves of sets of candidates, by their squared scores alone (math: section 9).

use crate::objective::{Free, Objective};
use crate::space::{Ask, Precision, SquaresAtMost, WorstCase};

/// A feasible point of the dual problem. It bounds what a ridge fit on any set can reach: the best K of all candidates, the best K
/// with one that must be in, and the best K with one that must be out.
pub(in crate::machine) struct Dual {
    decision: Vec<f64>,
    /// What candidates are scored by, output after output.
    pub(in crate::machine) residual: Vec<f64>,
    linear: f64,
}

/// How exactly [`Dual::limit`] is found, relative to itself.
const LIMIT_PART: f64 = 1e-7;

impl Dual {
    /// The point that decision values make.
    pub(in crate::machine) fn at(objective: &dyn Objective, free: &Free, decision: Vec<f64>) -> Self {
        let mut residual = vec![0.0; decision.len()];
        objective.residual(&decision, &mut residual);
        let balanced = objective.make_feasible(&mut residual, free.intercept);
        let linear = free.linear_term(&decision, &residual, balanced);
        Self { decision, residual, linear }
    }

    /// No ridge fit on candidates whose squared scores sum to at most `top` reaches an objective below this.
    pub(in crate::machine) fn bound(&self, objective: &dyn Objective, top: f64) -> f64 {
        objective.lower_bound(&self.decision, &self.residual, top, self.linear)
    }

    /// Sums of squared scores up to this prove that no ridge fit on such candidates reaches `value`; `None` if none does. `top` is
    /// where to begin to look.
    fn limit(&self, objective: &dyn Objective, value: f64, top: f64) -> Option<f64> {
        let proves = |top: f64| self.bound(objective, top) > value;
        let mut high = top.max(f64::MIN_POSITIVE);
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

    /// What is certain of the candidates of all sets of K that reach `value`.
    pub(super) fn decide(&self, objective: &dyn Objective, squares: &Squares, value: f64) -> Decided {
        let top = squares.top();
        match self.limit(objective, value, top) {
            Some(limit) => squares.decide(top, limit),
            None => Decided { inside: 0, cut: 0.0 },
        }
    }
}

/// The squared scores of all candidates, none of them below the truth.
pub(in crate::machine) struct Squares {
    /// The sum over those that are in every set.
    pub(super) inside: f64,
    /// How many others a set may hold.
    pub(super) places: usize,
    /// The others by number, the largest first.
    pub(super) open: Vec<(u32, f64)>,
    /// What that of any other that is not listed is at most.
    pub(super) rest: f64,
}

/// What rounding may do to sums of squares, relative to them: far more than that.
const SLACK: f64 = 1e-11;

impl Squares {
    /// Those of the best that were found for `places` candidates; numbers are places among them.
    pub(in crate::machine) fn of_best(
        ask: &Ask<'_>,
        worst: &WorstCase,
        precision: Precision,
        places: usize,
    ) -> Self {
        let most = SquaresAtMost::new(ask, precision);
        let best = (0..).zip(&worst.best).map(|(place, scored)| (place, most.of(scored.score)));
        Self { inside: 0.0, places, open: best.collect(), rest: most.of(worst.rest(ask.budget)) }
    }

    fn at(&self, rank: usize) -> f64 {
        self.open.get(rank).map_or(self.rest, |(_, square)| *square)
    }

    /// At least the sum of squared scores of any set.
    pub(super) fn top(&self) -> f64 {
        let places = self.open.iter().take(self.places).map(|(_, square)| square).sum::<f64>();
        let missing = self.places.saturating_sub(self.open.len()) as f64 * self.rest;
        (self.inside + places + missing) * (1.0 + SLACK)
    }

    /// A candidate beyond the places is in no set whose squares sum to more than `limit` if with it in the last place they do not; one
    /// in the places is in all such sets if with the first beyond them instead of it they do not.
    fn decide(&self, top: f64, limit: f64) -> Decided {
        let room = limit - top * (1.0 + SLACK);
        let Some(last) = self.places.checked_sub(1) else { return Decided { inside: 0, cut: room } };
        let needed = self.at(self.places) - room;
        let first = &self.open[..self.places.min(self.open.len())];
        let inside = first.iter().take_while(|(_, square)| *square >= needed).count();
        Decided { inside, cut: self.at(last) + room }
    }
}

/// What is certain of all sets that are as good as the best known.
pub(super) struct Decided {
    /// So many of the listed, from the first on, are in all of them.
    pub(super) inside: usize,
    /// Candidates beyond the places with no larger square are in none.
    pub(super) cut: f64,
}

impl Decided {
    /// Those of the listed that are in none of the sets, from the first on.
    pub(super) fn outside<'a>(&self, squares: &'a Squares) -> &'a [(u32, f64)] {
        let beyond = &squares.open[squares.places.min(squares.open.len())..];
        &beyond[beyond.partition_point(|(_, square)| *square > self.cut)..]
    }
}
