//! Cross-validation, with Python free meanwhile.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

use featgen::Machine;
use featgen::model::{CrossValidated, CrossValidatedPoint};
use featgen::space::ShardColumns;
use featgen::table::Recipe;
use featgen::validate::{Costs, CrossValidation, Curve, Folds, Metric, Split, Validated};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::raise;
use crate::fit::{Listeners, News, Options, Run, Target, attend};
use crate::learned::Learned;
use crate::matrix::Matrix;
use crate::shards::{Asked, recipe};
use crate::space::Space;
use crate::store::Store;

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
    let trial = Trial::new(&target, space, &options, &validation, x.recipe())?;
    let (names, columns) = (trial.run.names(names), x.columns()?);
    let offset = target.offset.as_ref().map(|offset| offset.as_slice()).transpose()?;
    let Run { asked, scaling, .. } = &trial.run;
    let learned = Learned::new(&x, &*columns, &names, asked, &target.keep, *scaling, offset);
    let learned = learned.map_err(raise)?;
    trial.tried(py, |_| trial.validate(&learned))
}

/// The same of columns in shards: see `fit_shards`.
#[pyfunction]
pub(crate) fn cross_validate_shards<'py>(
    py: Python<'py>,
    ask: Py<PyAny>,
    store: Option<PyRef<'py, Store>>,
    names: Option<Vec<String>>,
    target: Target<'py>,
    space: Space,
    options: Options,
    validation: Validation,
) -> PyResult<Bound<'py, PyDict>> {
    let trial = Trial::new(&target, space, &options, &validation, recipe(store))?;
    let (names, keep, ask) = (trial.run.names(names), target.keep.clone(), Arc::new(ask));
    let offset = target.offset.as_ref().map(|offset| offset.as_slice()).transpose()?;
    let Run { asked, spec, scaling, .. } = &trial.run;
    trial.tried(py, |news| {
        let shards = Asked::new(&ask, news);
        let all = ShardColumns::new(&shards, &names)?;
        let learned = Learned::in_shards(&all, &names, (asked, spec.clone()), &keep, *scaling, offset);
        all.settle(trial.validate(&learned))
    })
}

/// What is tried out, before it is known where the data are.
struct Trial {
    run: Run,
    folds: Folds,
    metric: Metric,
    costs: Costs,
}

/// What was found, and the machine whose path was looked at; `None` if somebody ended it.
type Tried = Option<(Validated, Machine)>;

impl Trial {
    fn new(
        target: &Target<'_>,
        space: Space,
        options: &Options,
        validation: &Validation,
        recipe: Option<Recipe>,
    ) -> PyResult<Self> {
        let run = Run::of(options.unchecked().map_err(raise)?, target, space, options, recipe)?;
        let output = run.machine.loss_in_use().output();
        let metric = validation.metric.as_deref().and_then(Metric::find).unwrap_or(Metric::usual(output));
        let split =
            |(train, test): &(Vec<usize>, Vec<usize>)| Split { train: train.clone(), test: test.clone() };
        let folds = match &validation.splits {
            Some(splits) => Folds::of(splits.iter().map(split).collect(), run.labels.len()),
            None => Folds::stratified(&run.labels, output, validation.folds, 1, validation.seed),
        };
        let (folds, costs) = (folds.map_err(raise)?, validation.costs());
        Ok(Self { run, folds, metric, costs })
    }

    fn validate(&self, learned: &Learned<'_>) -> featgen::Result<Tried> {
        let Run { context, machine, labels, .. } = &self.run;
        let (study, context) = (learned.study(), context.clone());
        let path = study.along_path(machine, &context, labels)?;
        let (machine, folds, costs) = (path.clone(), self.folds.clone(), self.costs.clone());
        let validation = CrossValidation { machine, folds, metric: self.metric, costs, context };
        let found = validation.run(study, learned, labels, &|_, _| ())?;
        Ok(found.map(|found| (found, path)))
    }

    /// Has it tried by a thread, while this one hands on its questions and looks for Ctrl-C.
    fn tried<'py>(
        &self,
        py: Python<'py>,
        work: impl FnOnce(SyncSender<News>) -> featgen::Result<Tried> + Send,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (found, broken_off) = py.detach(|| {
            std::thread::scope(|scope| {
                let (report, news) = sync_channel(0);
                let (reply, _replies) = sync_channel(0);
                // The run has ended when nobody can report any more.
                let worker = scope.spawn(|| work(report));
                let broken_off = attend(&news, &reply, &Listeners::nobody(), &self.run.interrupted);
                (worker.join().map_err(|_| PyRuntimeError::new_err("the engine failed")), broken_off)
            })
        });
        if let Some(broken_off) = broken_off {
            return Err(broken_off);
        }
        let Some((found, path)) = found?.map_err(raise)? else {
            return Err(PyKeyboardInterrupt::new_err("the cross-validation was interrupted"));
        };
        said(py, &found, &path)
    }
}

/// What was found, for Python.
fn said<'py>(py: Python<'py>, found: &Validated, path: &Machine) -> PyResult<Bound<'py, PyDict>> {
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
