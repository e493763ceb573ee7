//! The library reports, the callers show.

use std::path::Path;

use crate::error::{Error, Reason};
use crate::model::{Proof, Round};

/// Gets every round as it ends. To end a run early, interrupt its [`Context`](crate::Context).
pub trait Observer: Send {
    /// A round has ended.
    fn round(&mut self, round: &Round);

    /// The run goes on from a [checkpoint](crate::Machine::checkpoint) with these rounds. The last is reported when it is certain.
    fn resumed(&mut self, _rounds: &[Round]) {}

    /// The run ends, since the search for further features was given up.
    fn given_up(&mut self, _reason: &Reason) {}

    /// A proof goes on: this is what is proven so far.
    fn proof(&mut self, _proof: &Proof) {}

    /// The checkpoint was written to this file.
    fn saved(&mut self, _path: &Path) {}

    /// The checkpoint could not be written. The run goes on, and the last checkpoint stays.
    fn not_saved(&mut self, _error: &Error) {}
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
