//! The library reports, the callers show.

use crate::model::Round;

/// Gets every round as it ends. To end a run early, set the flag of [`Machine::interrupt`](crate::Machine::interrupt).
pub trait Observer: Send {
    /// A round has ended.
    fn round(&mut self, round: &Round);
}

/// Watches nothing.
impl Observer for () {
    fn round(&mut self, _round: &Round) {}
}

/// Any function of a round watches.
impl<F: FnMut(&Round) + Send> Observer for F {
    fn round(&mut self, round: &Round) {
        self(round);
    }
}
