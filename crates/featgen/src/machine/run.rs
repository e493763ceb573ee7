//! A run: step after step, each saved if that is wanted, until there is a reason to stop; then the model.

use super::best::{Caution, Exchange};
use super::checkpoint::Checkpoint;
use super::fitting::Fitting;
use super::params::{Machine, Plan, Select};
use super::path::Path;
use super::rounds::tolerance;
use super::schedule::Schedule;
use super::{Observer, Stop, refit};
use crate::data::Labels;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::space::FeatureSpace;

impl Machine {
    /// Selects features and fits them.
    pub fn fit(&self, space: &dyn FeatureSpace, labels: &Labels) -> Result<Model> {
        self.fit_observed(space, labels, &mut ())
    }

    /// The same, reporting every round.
    pub fn fit_observed(
        &self,
        space: &dyn FeatureSpace,
        labels: &Labels,
        observer: &mut dyn Observer,
    ) -> Result<Model> {
        let plan = self.check()?;
        let _limit = self.context.limit_time(self.time_limit);
        self.context.run(|| {
            let fitting = Fitting::new(self, &plan, space, labels)?;
            Run::new(plan, fitting).run(observer)
        })?
    }
}

/// A run: the fit, and what decides how it goes on.
pub(super) struct Run<'a> {
    pub(super) plan: Plan,
    pub(super) fitting: Fitting<'a>,
    pub(super) schedule: Schedule,
    pub(super) path: Path,
    /// By how much the last round lowered the objective.
    pub(super) decrease: f64,
    /// Whether a block was ever made smaller so as not to have more features than wanted.
    pub(super) cut: bool,
    /// How far the exchange of features has come, where features are chosen by gain.
    pub(super) exchange: Exchange,
    /// How far the cost was lowered at which candidates are looked at, where features are chosen by gain.
    pub(super) caution: Caution,
}

impl<'a> Run<'a> {
    fn new(plan: Plan, fitting: Fitting<'a>) -> Self {
        let mut run = Self {
            schedule: Schedule::new(fitting.cost, fitting.machine.inner_tol),
            path: Path::default(),
            decrease: f64::INFINITY,
            cut: false,
            exchange: Exchange::new(&plan),
            caution: Caution::new(),
            plan,
            fitting,
        };
        run.schedule.mark = run.mark();
        run
    }

    fn run(mut self, observer: &mut dyn Observer) -> Result<Model> {
        let checkpoint = self.open_checkpoint(observer)?;
        let mut stopped = self.steps(checkpoint.as_ref(), observer)?;
        if !stopped.is_early() {
            self.undo_vain_costs();
        }
        let discoveries = match self.fitting.machine.fdr {
            Some(rate) => self.discover(rate, &mut stopped, observer)?,
            None => None,
        };
        let (proof, stopped) = self.prove(stopped, observer)?;
        self.path.report(observer);
        if !stopped.is_early() && discoveries.is_none() {
            self.go_back();
        }
        let certificate = self.fitting.certificate();
        if let Some(cost) = self.fitting.machine.debias {
            let tol = tolerance(&self.fitting, &self.schedule);
            refit::run(&mut self.fitting, cost / self.schedule.cost, tol);
        }
        self.assemble(stopped, certificate, proof, discoveries)
    }

    /// Step after step, until there is a reason to stop.
    pub(super) fn steps(
        &mut self,
        checkpoint: Option<&Checkpoint>,
        observer: &mut dyn Observer,
    ) -> Result<Stop> {
        loop {
            if self.fitting.is_interrupted() {
                return Ok(self.fitting.interruption());
            }
            let step = match self.plan.select {
                Select::Paper if self.plan.on_features => self.relax(observer),
                Select::Paper => self.round(observer),
                Select::Best => self.step_by_gain(observer),
            };
            if let Some(reason) = step? {
                return Ok(reason);
            }
            // What an interrupt left half done is not a point from which to go on.
            if let Some(checkpoint) = checkpoint.filter(|_| !self.fitting.is_interrupted()) {
                match self.save(checkpoint) {
                    Ok(()) => observer.saved(checkpoint.path()),
                    Err(error) => observer.not_saved(&error),
                }
            }
        }
    }

    /// What a search found; or why the run ends, if a search that failed is no error: one that was told to end, or that was given up
    /// after others had come to something.
    pub(super) fn unless_ended<T>(
        &self,
        found: Result<T>,
        observer: &mut dyn Observer,
    ) -> Result<Result<T, Stop>> {
        match found {
            // A search that was told to end has nothing to say.
            Err(_) if self.fitting.is_interrupted() => Ok(Err(self.fitting.interruption())),
            // What was found before, and proven of it, stays.
            Err(Error::GivenUp(reason)) if !self.path.rounds.is_empty() => {
                observer.given_up(&reason);
                Ok(Err(Stop::Search))
            }
            found => found.map(Ok),
        }
    }
}
