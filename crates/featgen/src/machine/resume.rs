//! A run that is saved after every round, and goes on from where one was saved.

use std::borrow::Cow;

use super::Observer;
use super::checkpoint::{Checkpoint, Progress, Saved};
use super::run::Run;
use crate::error::{Error, Result};
use crate::model::{Certificate, Round};
use crate::space::Candidate;

/// How far a checkpoint's numbers may be from what they are computed from: they were added up in another order.
const CONSISTENT: f64 = 1e-6;

impl Run<'_> {
    /// The checkpoint, if there is to be one; goes on from it if it is there.
    pub(super) fn open_checkpoint(&mut self, observer: &mut dyn Observer) -> Result<Option<Checkpoint>> {
        let (machine, space) = (self.fitting.machine, self.fitting.space);
        let Some(path) = &machine.checkpoint else { return Ok(None) };
        let opened =
            Checkpoint::open(path, machine, &self.plan, space, self.fitting.labels, self.fitting.cost);
        // A run that is to end before it began needs none; but one that is there has a model that is not known yet.
        if opened.is_err() && self.fitting.is_interrupted() && !path.exists() {
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
            observer.resumed(&self.path.rounds);
        }
        Ok(Some(checkpoint))
    }

    pub(super) fn save(&self, checkpoint: &Checkpoint) -> Result<()> {
        let (fitting, set) = (&self.fitting, &self.fitting.set);
        let progress = Progress {
            schedule: self.schedule.clone(),
            cut: self.cut,
            exchange: self.exchange,
            caution: self.caution,
            free: set.state.free.clone(),
            objective: fitting.value,
            null: fitting.null,
            decrease: Some(self.decrease).filter(|decrease| decrease.is_finite()),
            lower_bound: fitting.lower_bound,
            taken: set.history(),
            blocks: set.blocks().to_vec(),
            rounds: self.path.rounds.clone(),
        };
        let mut arrays = vec![Cow::Borrowed(set.state.f.as_slice()), Cow::Borrowed(&set.state.omega)];
        arrays.extend(fitting.solver.kept());
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
        let fitting = &mut self.fitting;
        if !progress.taken.iter().flatten().all(sound)
            || !fitting.set.restore(fitting.space, &progress.taken, progress.blocks)?
        {
            return Err(strange("its blocks"));
        }
        let (outputs, kept) = (fitting.objective.outputs(), fitting.free.columns.len());
        let (terms, state) = (fitting.set.terms.len(), &mut fitting.set.state);
        let fits = f.len() == state.f.len() && progress.free.len() == state.free.len();
        let columns = state.blocks.columns.len();
        if !fits || omega.len() != columns || progress.free.iter().any(|x| !x.is_finite()) {
            return Err(strange("its weights"));
        }
        (state.f, state.omega, state.free) = (f, omega, progress.free);
        let sound = |round: &Round| {
            let paired = round.has_outputs(outputs) && round.kept.len() == kept;
            let known = round.terms.iter().all(|&t| t < terms);
            let Round { objective, lower_bound, .. } = *round;
            (paired && known && round.is_finite() && Certificate { objective, lower_bound }.is_sound())
                && fitting.set.candidates_of(round.weighty()) == round.selected
        };
        let Progress { schedule, rounds, .. } = progress;
        let ordered = rounds.iter().zip(1..).all(|(round, k)| round.round == k);
        let unraised = schedule.unraised.as_ref().filter(|r| !(1..=rounds.len()).contains(&r.round));
        if !ordered || unraised.is_some() || !rounds.iter().chain(&schedule.unraised).all(sound) {
            return Err(strange("its rounds"));
        }
        if !schedule.may_follow(&self.schedule) || !progress.caution.is_sound() {
            return Err(strange("its costs and tolerances"));
        }
        // Doubling is exact, so that once is as good as step by step.
        fitting.rescale(schedule.cost / self.schedule.cost);
        self.schedule = schedule;
        self.cut = progress.cut;
        self.exchange = progress.exchange;
        self.caution = progress.caution;
        self.decrease = progress.decrease.unwrap_or(f64::INFINITY);
        self.path.rounds = rounds;
        fitting.value = progress.objective;
        fitting.null = progress.null;
        fitting.lower_bound = progress.lower_bound;
        fitting.update_decision();
        if !self.is_consistent() {
            return Err(strange("its weights and their objective"));
        }
        let fitting = &mut self.fitting;
        match fitting.solver.resume(arrays.collect(), outputs, &fitting.set.cache) {
            true => Ok(()),
            false => Err(strange("the solver's numbers")),
        }
    }

    /// Whether decision values are those of the weights, and the objective is theirs, but for what rounding explains.
    fn is_consistent(&self) -> bool {
        let fitting = &self.fitting;
        let close = |a: f64, b: f64, size: f64| size.is_finite() && (a - b).abs() <= CONSISTENT * size;
        let again = fitting.set.apply();
        let size = again.iter().fold(1.0, |most: f64, f| most.max(f.abs()));
        let objective = fitting.objective.value(&fitting.decision) + fitting.penalty();
        fitting.set.state.f.iter().zip(&again).all(|(&a, &b)| close(a, b, size))
            && close(objective, fitting.value, objective)
            && fitting.lower_bound <= fitting.value
    }
}
