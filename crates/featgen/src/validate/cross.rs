//! All folds at all costs. Each is a run of its own; a run gives all points of its path.

use std::collections::{BTreeMap, BTreeSet};

use super::result::{Measured, Validated};
use super::side_by_side::{Splits, learned_from};
use super::{Folds, Metric, Split, Study, Subject};
use crate::context::Context;
use crate::data::Labels;
use crate::error::{Error, Result};
use crate::machine::Machine;
use crate::model::{Model, Scores, Truth};
use crate::objective::Output;
use crate::space::FeatureSpace;

/// The costs that are tried.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Costs {
    /// The one that the machine has, or its default: in a fold, that of the fold.
    #[default]
    One,
    /// So many times the default.
    Times(Vec<f64>),
    /// These.
    Given(Vec<f64>),
}

impl Costs {
    /// Multiples of the default that are worth trying.
    pub fn auto() -> Self {
        Self::Times(vec![0.1, 0.3, 1.0, 3.0])
    }

    /// What they come to.
    pub(super) fn of(
        &self,
        machine: &Machine,
        space: &dyn FeatureSpace,
        labels: &Labels,
    ) -> Result<Vec<f64>> {
        Ok(match self {
            Self::One => vec![machine.cost_in_use(space, labels)?],
            Self::Times(factors) => {
                let one = machine.default_cost(space, labels)?;
                factors.iter().map(|factor| factor * one).collect()
            }
            Self::Given(costs) => costs.clone(),
        })
    }

    /// The machine at each of them.
    pub(super) fn machines(
        &self,
        machine: &Machine,
        space: &dyn FeatureSpace,
        labels: &Labels,
    ) -> Result<Vec<Machine>> {
        match self {
            Self::One => Ok(vec![machine.clone()]),
            _ => Ok(self.of(machine, space, labels)?.into_iter().map(|c| machine.clone().cost(c)).collect()),
        }
    }

    fn check(&self) -> Result<()> {
        let (Self::Times(costs) | Self::Given(costs)) = self else { return Ok(()) };
        match costs.iter().find(|cost| !(cost.is_finite() && **cost > 0.0)) {
            Some(cost) => {
                Err(Error::parameter("cost", format!("must be a finite number above 0, not {cost}")))
            }
            None if costs.is_empty() => Err(Error::parameter("cost", "no cost is given")),
            None => Ok(()),
        }
    }
}

/// Cross-validation of a machine.
///
/// ```
/// use featgen::space::SpaceSpec;
/// use featgen::validate::{Costs, CrossValidation, Folds, Metric, Study};
/// use featgen::{Context, Machine, synth};
/// # fn main() -> featgen::Result<()> {
/// let data = synth::Linear { rows: 200, features: 300, relevant: 5, ..Default::default() }.generate()?.train;
/// let study = Study {
///     columns: &*data.columns,
///     names: &data.names,
///     spec: SpaceSpec::named("linear")?,
///     scaling: None,
///     keep: Vec::new(),
///     offset: None,
///     shards: None,
/// };
/// let validation = CrossValidation {
///     machine: Machine::new().features(10).budget(1),
///     folds: Folds::stratified(&data.labels, Default::default(), 5, 1, 0)?,
///     metric: Metric::Accuracy,
///     costs: Costs::One,
///     context: Context::new(),
/// };
/// let found = validation.run(&study, &study, &data.labels, &|_, _| ())?.expect("nobody interrupts it");
/// assert_eq!(found.points.len(), 10);
/// assert!(found.chosen <= found.best);
/// # Ok(())
/// # }
/// ```
pub struct CrossValidation {
    /// What is repeated. Its checkpoint is not: it would be of one run.
    pub machine: Machine,
    /// Who is held out.
    pub folds: Folds,
    /// What is measured.
    pub metric: Metric,
    /// The costs that are tried.
    pub costs: Costs,
    /// Threads, memory, and whether to end.
    pub context: Context,
}

impl CrossValidation {
    /// Runs all folds. `study` is of all data; `subject` makes that of each fold; `told` is told how many of how many folds are done.
    /// `None` if it was interrupted. Folds run side by side unless memory or time is bounded, and read large data together; results do
    /// not depend on that.
    pub fn run(
        &self,
        study: &Study<'_>,
        subject: &dyn Subject,
        labels: &Labels,
        told: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Option<Validated>> {
        self.costs.check()?;
        self.metric.check(self.machine.loss_in_use().name(), labels.classes().len())?;
        let (folds, machine, context) = (&self.folds, &self.machine, &self.context);
        let splits = Splits { folds, called: "fold", machine, context, subject, told };
        let one = |k: usize, split: &Split, subject: &dyn Subject, context: &Context| {
            self.split(k, split, subject, context, labels)
        };
        let Some(measured) = splits.each(one)? else { return Ok(None) };
        let costs = study.costs(&self.machine, &self.costs, &self.context, labels)?;
        Ok(Some(Validated::new(self.metric, &self.folds, labels, &costs, &measured)))
    }

    /// What is measured of who is held out of one run, for each cost.
    fn split(
        &self,
        k: usize,
        split: &Split,
        subject: &dyn Subject,
        context: &Context,
        labels: &Labels,
    ) -> Result<Vec<Measured>> {
        let (known, counted) = learned_from(split, labels);
        let held: Vec<usize> =
            split.test.iter().copied().filter(|&i| labels.weights().is_none_or(|w| w[i] > 0.0)).collect();
        let mut measured = Vec::new();
        let machine = self.machine.clone();
        subject.known_from(&known, &mut |study| {
            study.fits(&machine, &self.costs, context, &counted, &mut |model| {
                measured.push(self.measure(k, &model, study, labels, &held)?);
                Ok(())
            })
        })?;
        Ok(measured)
    }

    /// The metric at every number of features that a model's path has, and of the model itself.
    fn measure(
        &self,
        k: usize,
        model: &Model,
        study: &Study<'_>,
        labels: &Labels,
        held: &[usize],
    ) -> Result<Measured> {
        let counts = model.rounds.iter().map(|round| round.selected).chain([model.count()]);
        let mut points = BTreeMap::new();
        for count in counts.collect::<BTreeSet<usize>>() {
            let at = model.at_most(count).expect("the path has it");
            points.insert(count, self.value(k, scores(&at, &study.decision(&at)?, labels, held).as_ref())?);
        }
        let own = scores(model, &study.decision(model)?, labels, held);
        let (last, balanced) = (self.value(k, own.as_ref())?, own.and_then(|own| own.balanced_accuracy));
        Ok(Measured { points, last, balanced })
    }

    /// The metric among the scores of fold `k`.
    fn value(&self, k: usize, scores: Option<&Scores>) -> Result<f64> {
        let none = || {
            let (name, why) = (self.metric.name(), self.metric.why_none());
            Error::parameter("metric", format!("{name} has no value in fold {}: {why}", k + 1))
        };
        scores.and_then(|scores| self.metric.of(scores)).filter(|x| x.is_finite()).ok_or_else(none)
    }
}

/// How good decision values are, given those of all instances, for those of some.
fn scores(model: &Model, decision: &[f64], labels: &Labels, held: &[usize]) -> Option<Scores> {
    let outputs = model.outputs();
    let decision: Vec<f64> =
        held.iter().flat_map(|&i| &decision[i * outputs..(i + 1) * outputs]).copied().collect();
    let truth = match model.truth(labels)? {
        Truth::Classes(classes) => Truth::Classes(held.iter().map(|&i| classes[i]).collect()),
        Truth::Numbers(numbers) => Truth::Numbers(held.iter().map(|&i| numbers[i]).collect()),
    };
    Some(model.scores(&decision, &truth)).filter(|_| !held.is_empty() || model.output != Output::Classes)
}
