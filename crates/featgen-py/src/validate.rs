//! Cross-validation, with Python free meanwhile.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::sync_channel;

use featgen::Context;
use featgen::data::{ClassWeights, Names};
use featgen::model::{CrossValidated, CrossValidatedPoint};
use featgen::space::Scaling;
use featgen::validate::{Costs, CrossValidation, Curve, Folds, Metric, Split};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::raise;
use crate::fit::{Listeners, Options, Target, attend};
use crate::learned::Learned;
use crate::matrix::Matrix;
use crate::space::Space;

/// Who is held out and what is measured: splits as lists of who is learned from and who is not, or a number of folds with a seed.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Validation {
    splits: Option<Vec<(Vec<usize>, Vec<usize>)>>,
    folds: usize,
    seed: u64,
    metric: Option<String>,
    /// Costs, multiples of the default if `times`; none for that of the machine.
    costs: Option<Vec<f64>>,
    times: bool,
}

impl Validation {
    fn costs(&self) -> Costs {
        match &self.costs {
            None => Costs::One,
            Some(factors) if self.times && factors.is_empty() => Costs::auto(),
            Some(factors) if self.times => Costs::Times(factors.clone()),
            Some(costs) => Costs::Given(costs.clone()),
        }
    }
}

/// What cross-validation found, as far as models keep it: the chosen point, and all others at the same cost.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Found {
    metric: String,
    mean: f64,
    se: f64,
    folds: usize,
    repeats: usize,
    baseline: f64,
    best: usize,
    chosen: usize,
    points: Vec<(usize, f64, f64)>,
}

impl From<Found> for CrossValidated {
    fn from(found: Found) -> Self {
        let there = |se: f64| Some(se).filter(|se| se.is_finite());
        let point = |(features, mean, se)| CrossValidatedPoint { features, mean, se: there(se) };
        Self {
            metric: found.metric,
            mean: found.mean,
            se: there(found.se),
            folds: found.folds,
            repeats: found.repeats,
            baseline: found.baseline,
            best: found.best,
            chosen: found.chosen,
            points: found.points.into_iter().map(point).collect(),
        }
    }
}

/// Cross-validates every number of features. Returns what was found, and what makes the model that is chosen: the number of features,
/// the step and the cost.
#[pyfunction]
pub(crate) fn cross_validate<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    names: Option<Vec<String>>,
    target: Target<'py>,
    space: Space,
    options: Options,
    validation: Validation,
) -> PyResult<Bound<'py, PyDict>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let context = Context::new().threads(options.threads).interrupt(Arc::clone(&interrupted));
    let mut machine = options.unchecked().map_err(raise)?;
    machine = match target.weights.clone() {
        Some(weights) => machine.class_weights(ClassWeights::Each(weights)),
        None if target.balanced => machine.class_weights(ClassWeights::Balanced),
        None => machine,
    };
    let asked = space.spec().map_err(raise)?;
    let labels = target.labels()?;
    let names = names.map(Names::identifying).unwrap_or_default();
    let columns = x.columns()?;
    let offset = target.offset.as_ref().map(|offset| offset.as_slice()).transpose()?;
    let scaling = options.scale.as_deref().and_then(Scaling::find);
    let names = x.recipe().iter().fold(names, Names::of_columns);
    let learned =
        Learned::new(&x, &*columns, &names, &asked, &target.keep, scaling, offset).map_err(raise)?;
    let output = machine.loss_in_use().output();
    let metric = validation.metric.as_deref().and_then(Metric::find).unwrap_or(Metric::usual(output));
    let folds = match &validation.splits {
        Some(splits) => {
            let split =
                |(train, test): &(Vec<usize>, Vec<usize>)| Split { train: train.clone(), test: test.clone() };
            Folds::of(splits.iter().map(split).collect(), labels.len())
        }
        None => Folds::stratified(&labels, output, validation.folds, 1, validation.seed),
    };
    let (folds, costs) = (folds.map_err(raise)?, validation.costs());
    let (found, broken_off) = py.detach(|| {
        std::thread::scope(|scope| {
            let (report, news) = sync_channel(0);
            let (reply, _replies) = sync_channel(0);
            let (labels, learned, machine, context) = (&labels, &learned, &machine, &context);
            let worker = scope.spawn(move || {
                // The run has ended when nobody can report any more.
                let _report = report;
                let path = learned.study().along_path(machine, context, labels)?;
                let validation =
                    CrossValidation { machine: path.clone(), folds, metric, costs, context: context.clone() };
                let found = validation.run(learned.study(), learned, labels, &|_, _| ())?;
                Ok::<_, featgen::Error>(found.map(|found| (found, path)))
            });
            let broken_off = attend(&news, &reply, &Listeners::nobody(), &interrupted);
            (worker.join().map_err(|_| PyRuntimeError::new_err("the engine failed")), broken_off)
        })
    });
    if let Some(broken_off) = broken_off {
        return Err(broken_off);
    }
    let Some((found, path)) = found?.map_err(raise)? else {
        return Err(PyKeyboardInterrupt::new_err("the cross-validation was interrupted"));
    };
    let said = PyDict::new(py);
    said.set_item("metric", found.metric)?;
    said.set_item("best", found.best)?;
    said.set_item("chosen", found.chosen)?;
    said.set_item("cost", found.cost)?;
    said.set_item("cost_index", found.cost_index)?;
    said.set_item("best_cost_index", found.best_cost_index)?;
    said.set_item("baseline", found.baseline)?;
    said.set_item("folds", found.folds)?;
    said.set_item("repeats", found.repeats)?;
    said.set_item("budget", path.budget_in_use().map_err(raise)?)?;
    said.set_item("by_gain", path.select_in_use().map_err(raise)? == featgen::machine::Select::Best)?;
    let point =
        |point: &featgen::validate::Point| (point.features, point.mean, point.se, point.scores.clone());
    let curve = |curve: &Curve| (curve.cost, curve.points.iter().map(point).collect::<Vec<_>>());
    said.set_item("curves", found.costs.iter().map(curve).collect::<Vec<_>>())?;
    Ok(said)
}
