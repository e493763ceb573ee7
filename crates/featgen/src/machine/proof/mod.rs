//! What is proven of K chosen features (math: section 9): no K candidates of the space, seen or not, have a ridge fit with an objective
//! below the lower bound.
//!
//! A bound comes for free with every look at all candidates. Where more is asked for, branch and bound closes the gap between it and the
//! objective of the best set known: by a better bound, or a better set.

mod candidates;
mod dual;
mod node;
mod relaxation;
mod search;

use std::time::Instant;

use candidates::Candidates;
pub(super) use dual::{Dual, Squares};
use relaxation::Relaxation;
use search::Search;

use super::params::Select;
use super::run::Run;
use super::{Observer, Stop};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::model::{Proof, Seconds};
use crate::space::Candidate;

/// Bytes that columns at hand may take, and nodes that wait, if there is no bound on memory; else a quarter of that for either.
const MOST_BYTES: u64 = 1 << 29;

/// How exactly the final weights of a set that was searched for are solved.
const FINAL: f64 = 1e-9;

/// What the last look at all candidates proves.
pub(super) struct Evidence {
    pub(super) dual: Dual,
    pub(super) squares: Squares,
}

impl Run<'_> {
    /// What is proven of features that were chosen by gain, if the choice came to its end for this reason; and why the run ends. If a
    /// proof is asked for, a better set may be found on the way.
    pub(super) fn prove(
        &mut self,
        stopped: Stop,
        observer: &mut dyn Observer,
    ) -> Result<(Option<Proof>, Stop)> {
        if self.plan.select != Select::Best || !matches!(stopped, Stop::Features | Stop::Exhausted) {
            return Ok((None, stopped));
        }
        let Some(goal) = self.fitting.machine.prove else { return Ok((Some(self.free_proof()), stopped)) };
        let proof = self.search(goal, observer)?;
        let ended = self.fitting.is_interrupted() && proof.gap() > goal;
        Ok((Some(proof), if ended { self.fitting.interruption() } else { stopped }))
    }

    /// What the last look at all candidates proves.
    fn free_proof(&self) -> Proof {
        let fitting = &self.fitting;
        let (objective, lower_bound, size) = (fitting.value, fitting.lower_bound, fitting.space.size());
        let mut proof = Proof { objective, lower_bound, forced: 0, undecided: size, nodes: 0 };
        if let Some(Evidence { dual, squares }) = &fitting.evidence {
            let decided = dual.decide(&*fitting.objective, squares, objective);
            let listed = squares.open.len() - decided.outside(squares).len();
            let possible = match squares.rest <= decided.cut {
                // There is one best set: nobody else has a place in it.
                _ if decided.inside == squares.places => decided.inside as u128,
                true => listed as u128,
                false => size,
            };
            proof.forced = decided.inside;
            proof.undecided = possible - decided.inside as u128;
        }
        proof
    }

    /// Branch and bound, until the gap is at most `goal` or the run is to end.
    fn search(&mut self, goal: f64, observer: &mut dyn Observer) -> Result<Proof> {
        let clock = Instant::now();
        let fitting = &self.fitting;
        let (machine, objective) = (fitting.machine, &*fitting.objective);
        let room = machine.context.memory_allowed().map_or(MOST_BYTES, |bytes| bytes / 4);
        let mut candidates = Candidates::new(fitting.space, objective.outputs(), room)?;
        let chosen = fitting.set.chosen();
        let mut best: Vec<u32> = chosen.iter().map(|candidate| candidates.number(candidate)).collect();
        best.sort_unstable();
        let k = self.plan.features;
        let relaxation =
            Relaxation::new(objective, &fitting.free, &machine.kept, &machine.context, k, candidates);
        let mut search = Search::new(relaxation, k, best, fitting.lower_bound, room)?;
        let searched = search.run(goal, |proof| {
            observer.proof(proof);
            !fitting.is_interrupted()
        });
        match searched {
            Err(_) if fitting.is_interrupted() => {}
            Err(Error::GivenUp(reason)) => observer.given_up(&reason),
            Ok(()) if search.is_full() => observer.given_up(&"the proof takes too much memory".into()),
            other => other?,
        }
        let (proof, set) = (search.proof(), search.set());
        drop(search);
        self.settle_on(&set, proof, clock)
    }

    /// Fits the best set that was found by a search that began at this time: all of it counts as solving.
    fn settle_on(&mut self, set: &[Candidate], proof: Proof, clock: Instant) -> Result<Proof> {
        let fitting = &mut self.fitting;
        fitting.set.select(fitting.space, set)?;
        // Also if the run is to end: it takes little time, and the set is worth nothing without its weights.
        let outcome = fitting.solve_in(&Context::new(), FINAL);
        let seconds = Seconds { solve: clock.elapsed().as_secs_f64(), ..Seconds::default() };
        fitting.lower_bound = fitting.lower_bound.max(proof.lower_bound);
        fitting.value = fitting.value.max(fitting.lower_bound);
        self.path.amend(fitting, self.schedule.cost, &outcome, seconds);
        Ok(Proof { objective: fitting.value, lower_bound: fitting.lower_bound, ..proof })
    }
}
