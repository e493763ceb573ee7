//! The schedule of a run: the cost that errors have and the tolerance that rounds are solved to, when they change, and whether
//! rounds still get on at them.

use serde::{Deserialize, Serialize};

use crate::model::Round;

/// How often the cost may be doubled for the sake of a feature count before giving up.
pub(super) const MAX_DOUBLINGS: usize = 40;

/// The tightest subproblem tolerance that numbers allow.
pub(super) const TIGHTEST: f64 = 1e-14;

/// How much tighter the tolerance becomes where a problem was not solved well enough.
const TIGHTEN: f64 = 0.1;

/// What a round must change to count as progress, as a part of the tolerance that it is solved to, or of the gap asked for:
/// less may be nothing but a problem solved a little better.
const PROGRESS: f64 = 0.01;

/// Cost and tolerance in force, and what they are judged by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Schedule {
    /// The cost in force.
    pub(super) cost: f64,
    /// How often it was doubled.
    pub(super) doublings: usize,
    /// The subproblem tolerance in force.
    pub(super) inner_tol: f64,
    /// What the next round is measured against.
    pub(super) mark: Mark,
    /// The last round as it was before the cost was raised, until that has brought more features.
    pub(super) unraised: Option<Round>,
}

/// Proof that a run gets on. At one cost, every round must lower the objective (or, with a gap asked for, raise the bound)
/// noticeably, or have more features than any since one did. The first can happen only so often, for the objective is bounded
/// from below, and the second no more often than there are features: so every run ends, and none goes round in circles among
/// features that are as good as each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Mark {
    pub(super) objective: f64,
    pub(super) lower_bound: f64,
    /// The most features since.
    pub(super) selected: usize,
}

impl Schedule {
    pub(super) fn new(cost: f64, inner_tol: f64) -> Self {
        Self { cost, doublings: 0, inner_tol, mark: Mark::default(), unraised: None }
    }

    /// Whether a run that is at `now` got further; `gap` is the certified gap asked for, if any.
    pub(super) fn gets_on(&mut self, now: Mark, gap: Option<f64>) -> bool {
        let part = PROGRESS * gap.map_or(self.inner_tol, |gap| gap.min(self.inner_tol));
        let lower = now.objective < (1.0 - part) * self.mark.objective;
        let proven = gap.is_some() && now.lower_bound > (1.0 + part) * self.mark.lower_bound;
        if lower || proven {
            self.mark = now;
        } else if now.selected > self.mark.selected {
            self.mark.selected = now.selected;
        } else {
            return false;
        }
        if self.unraised.as_ref().is_some_and(|round| now.selected > round.selected) {
            self.unraised = None;
        }
        true
    }

    /// Asks for problems to be solved more exactly. Says whether numbers allow it.
    pub(super) fn tighten(&mut self) -> bool {
        let more = self.inner_tol > TIGHTEST;
        if more {
            self.inner_tol = (TIGHTEN * self.inner_tol).max(TIGHTEST);
        }
        more
    }

    /// Whether the cost was doubled as often as is worth trying.
    pub(super) fn is_spent(&self) -> bool {
        self.doublings >= MAX_DOUBLINGS
    }

    /// Notes that the cost was doubled, and whether it is worth doubling again.
    pub(super) fn doubled(&mut self, again: bool) {
        self.doublings = if again { self.doublings + 1 } else { MAX_DOUBLINGS };
    }

    /// Whether a run that began with `first` may have come here.
    pub(super) fn may_follow(&self, first: &Self) -> bool {
        let factor = self.cost / first.cost;
        let doubled = (0..=MAX_DOUBLINGS + 1).any(|k| factor == 2f64.powi(k as i32));
        let tolerances = TIGHTEST.min(first.inner_tol)..=first.inner_tol;
        doubled && self.doublings <= MAX_DOUBLINGS && tolerances.contains(&self.inner_tol)
    }
}
