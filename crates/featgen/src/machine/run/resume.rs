//! A run that is saved after every round, and goes on from where one was saved.

use std::borrow::Cow;

use super::{MAX_DOUBLINGS, Run, TIGHTEST};
use crate::error::{Error, Result};
use crate::machine::Observer;
use crate::machine::checkpoint::{Checkpoint, Progress, Saved};
use crate::model::{Certificate, Round};
use crate::space::Candidate;
use crate::subproblem::State;

/// How far a checkpoint's numbers may be from what they are computed from: they were added up in another order.
const CONSISTENT: f64 = 1e-6;

impl Run<'_> {
    /// The checkpoint, if there is to be one; goes on from it if it is there.
    pub(super) fn open_checkpoint(&mut self, observer: &mut dyn Observer) -> Result<Option<Checkpoint>> {
        let Some(path) = &self.machine.checkpoint else { return Ok(None) };
        let opened = Checkpoint::open(path, self.machine, &self.plan, self.space, self.labels);
        // A run that is to end before it began needs none; but one that is there has a model that is not known yet.
        if opened.is_err() && self.interrupted() && !path.exists() {
            return Ok(None);
        }
        let (checkpoint, saved) = opened?;
        if let Some(saved) = saved {
            let name = checkpoint.path().display().to_string();
            let here =
                |reason: String| Error::input(name.as_str(), format!("a strange checkpoint: {reason}"));
            self.restore(saved).map_err(|error| match error {
                Error::Data(reason) => here(reason),
                other => other,
            })?;
            observer.resumed(&self.rounds);
        }
        Ok(Some(checkpoint))
    }

    pub(super) fn save(&self, checkpoint: &Checkpoint) -> Result<()> {
        let progress = Progress {
            cost: self.cost,
            doublings: self.doublings,
            inner_tol: self.inner_tol,
            cut: self.cut,
            free: self.state.free.clone(),
            objective: self.value,
            first: self.first,
            decrease: Some(self.decrease).filter(|decrease| decrease.is_finite()),
            lower_bound: self.lower_bound,
            mark: self.mark,
            unraised: self.unraised.clone(),
            taken: self.held.history(),
            blocks: self.held.blocks().to_vec(),
            rounds: self.rounds.clone(),
        };
        let mut arrays = vec![Cow::Borrowed(self.state.f.as_slice()), Cow::Borrowed(&self.state.omega)];
        arrays.extend(self.solver.kept());
        checkpoint.save(&progress, &arrays)
    }

    /// Goes back to where a run was when it [`save`](Self::save)d. Its data and parameters are known to be the same; that
    /// numbers fit each other is checked here.
    fn restore(&mut self, Saved { progress, arrays }: Saved) -> Result<()> {
        let strange = |what: &str| Error::Data(format!("{what} do not fit"));
        let sound = |candidate: &Candidate| match candidate {
            Candidate::Feature(feature) => feature.is_sound(),
            Candidate::Group(_) => true,
        };
        let mut arrays = arrays.into_iter();
        let (Some(f), Some(omega)) = (arrays.next(), arrays.next()) else {
            return Err(strange("its arrays"));
        };
        if !progress.taken.iter().flatten().all(sound)
            || !self.held.restore(self.space, &progress.taken, progress.blocks, &mut self.state)?
        {
            return Err(strange("its blocks"));
        }
        let columns = self.state.blocks.columns.len();
        let fits = f.len() == self.state.f.len() && progress.free.len() == self.state.free.len();
        if !fits || omega.len() != columns || progress.free.iter().any(|x| !x.is_finite()) {
            return Err(strange("its weights"));
        }
        (self.state.f, self.state.omega, self.state.free) = (f, omega, progress.free);
        let (outputs, kept) = (self.objective.outputs(), self.free.columns.len());
        let terms = self.held.terms.len();
        let sound = |round: &Round| {
            let paired = round.has_outputs(outputs) && round.kept.len() == kept;
            let known = round.terms.iter().all(|&t| t < terms);
            let Round { objective, lower_bound, .. } = *round;
            (paired && known && round.is_finite() && Certificate { objective, lower_bound }.is_sound())
                && self.held.candidates_of(round.weighty()) == round.selected
        };
        let ordered = progress.rounds.iter().zip(1..).all(|(round, k)| round.round == k);
        let unraised = progress.unraised.as_ref().filter(|r| !(1..=progress.rounds.len()).contains(&r.round));
        if !ordered || unraised.is_some() || !progress.rounds.iter().chain(&progress.unraised).all(sound) {
            return Err(strange("its rounds"));
        }
        let factor = progress.cost / self.cost;
        let doubled = (0..=MAX_DOUBLINGS + 1).any(|k| factor == 2f64.powi(k as i32));
        let tolerances = TIGHTEST.min(self.inner_tol)..=self.inner_tol;
        if !doubled || progress.doublings > MAX_DOUBLINGS || !tolerances.contains(&progress.inner_tol) {
            return Err(strange("its costs and tolerances"));
        }
        // Doubling is exact, so that once is as good as step by step.
        self.rescale(factor);
        self.cost = progress.cost;
        self.doublings = progress.doublings;
        self.inner_tol = progress.inner_tol;
        self.cut = progress.cut;
        self.value = progress.objective;
        self.first = progress.first;
        self.decrease = progress.decrease.unwrap_or(f64::INFINITY);
        self.lower_bound = progress.lower_bound;
        (self.mark, self.unraised) = (progress.mark, progress.unraised);
        self.rounds = progress.rounds;
        self.d = self.decisions();
        if !self.is_consistent() {
            return Err(strange("its weights and their objective"));
        }
        match self.solver.resume(arrays.collect(), outputs, &self.held.cache) {
            true => Ok(()),
            false => Err(strange("the solver's numbers")),
        }
    }

    /// Whether decision values are those of the weights, and the objective is theirs, but for what rounding explains.
    fn is_consistent(&self) -> bool {
        let State { blocks, omega, f, .. } = &self.state;
        let close = |a: f64, b: f64, size: f64| size.is_finite() && (a - b).abs() <= CONSISTENT * size;
        let again = self.held.apply(&self.state);
        let size = again.iter().fold(1.0, |most: f64, f| most.max(f.abs()));
        let norm = blocks.norm(omega);
        let objective = self.objective.value(&self.d) + 0.5 * norm * norm;
        f.iter().zip(&again).all(|(&a, &b)| close(a, b, size))
            && close(objective, self.value, objective)
            && self.lower_bound <= self.value
    }
}
