//! A run, with Python free meanwhile: rounds are reported to it, Ctrl-C is asked for ten times a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use featgen::data::{Labels, Names};
use featgen::machine::Observer;
use featgen::model::Round;
use featgen::space::{FeatureSpace, Inputs, Watch};
use featgen::{Error, LinearSpace, Machine, loss};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error::raise;
use crate::matrix::Matrix;
use crate::model::{Model, round_dict};
use crate::space::Space;

/// How often a run looks for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(100);

/// What the machine is told; `None` is the engine's default.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    n_features: Option<usize>,
    budget: Option<usize>,
    cost: f64,
    loss: String,
    fit_intercept: bool,
    max_rounds: Option<usize>,
    tol: Option<f64>,
    inner_tol: f64,
    gap: Option<f64>,
    debias: Option<f64>,
    solver: String,
    threads: usize,
}

/// The two classes, who is of the second, how often each instance counts, and what its errors weigh then.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Target<'py> {
    classes: (String, String),
    second: PyReadonlyArray1<'py, bool>,
    counts: Option<PyReadonlyArray1<'py, f64>>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
}

/// Selects features and fits them. Returns the model and, if the run was broken off by an exception, that exception:
/// the model is then what was reached.
#[pyfunction]
#[pyo3(signature = (x, names, target, space, options, on_round = None))]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    names: Option<Vec<String>>,
    target: Target<'py>,
    space: Option<Space>,
    options: Options,
    on_round: Option<Py<PyAny>>,
) -> PyResult<(Model, Option<PyErr>)> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let watch = Watch::new(Arc::clone(&interrupted));
    let threads = options.threads;
    let machine = options.machine().map_err(raise)?.interrupt(Arc::clone(&interrupted));
    let labels = target.labels()?;
    let counts = target.counts.as_ref().map(|counts| counts.as_slice()).transpose()?;
    let names = names.map(Names::identifying).unwrap_or_default();
    let columns = x.columns()?;
    let columns = &*columns;
    py.detach(|| {
        std::thread::scope(|scope| {
            let (report, rounds) = sync_channel(0);
            let (reply, replies) = sync_channel(0);
            let work = {
                let (labels, space, machine) = (&labels, space.as_ref(), &machine);
                let inputs = Inputs::called(columns, &names).watched(&watch);
                move || {
                    let mut reporter = Reporter { report, replies };
                    let build = |inputs| match space {
                        Some(space) => space.over(inputs, counts),
                        None => Ok(Box::new(LinearSpace::from(inputs)) as Box<dyn FeatureSpace + '_>),
                    };
                    run(machine, threads, &build, inputs, labels, &mut reporter)
                }
            };
            let worker = scope.spawn(work);
            let broken_off = attend(&rounds, &reply, on_round.as_ref(), &interrupted);
            let model = worker.join().map_err(|_| PyRuntimeError::new_err("the engine failed"))?;
            Ok((Model::new(model.map_err(raise)?), broken_off))
        })
    })
}

/// Everything that may take long. The pool ends with the run: nothing is left behind that a fork would break.
fn run<'a>(
    machine: &Machine,
    threads: usize,
    space: &(dyn Fn(Inputs<'a>) -> featgen::Result<Box<dyn FeatureSpace + 'a>> + Sync),
    inputs: Inputs<'a>,
    labels: &Labels,
    reporter: &mut Reporter,
) -> featgen::Result<featgen::Model> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|e| Error::parameter("threads", e.to_string()))?;
    let space = pool.install(|| space(inputs))?;
    drop(pool);
    machine.fit_observed(&*space, labels, reporter)
}

/// Sends every round to the thread that Python waits in, and goes on when it has been looked at.
struct Reporter {
    report: SyncSender<Round>,
    replies: Receiver<()>,
}

impl Observer for Reporter {
    fn round(&mut self, round: &Round) {
        if self.report.send(round.clone()).is_ok() {
            // Nobody there to answer is an answer too.
            let _ = self.replies.recv();
        }
    }
}

/// Hands rounds to `on_round` and looks for Ctrl-C until the run ends. Returns the first exception; it, or a true value
/// returned by `on_round`, sets `interrupted`.
fn attend(
    rounds: &Receiver<Round>,
    reply: &SyncSender<()>,
    on_round: Option<&Py<PyAny>>,
    interrupted: &AtomicBool,
) -> Option<PyErr> {
    let mut broken_off = None;
    let mut stop = |outcome: PyResult<bool>| {
        if matches!(outcome, Ok(false)) {
            return;
        }
        interrupted.store(true, Ordering::Relaxed);
        if let Err(error) = outcome {
            broken_off.get_or_insert(error);
        }
    };
    loop {
        match rounds.recv_timeout(PATIENCE) {
            Ok(round) => {
                if let Some(on_round) = on_round {
                    stop(Python::attach(|py| on_round.call1(py, (round_dict(py, &round)?,))?.is_truthy(py)));
                }
                let _ = reply.send(());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        stop(Python::attach(|py| py.check_signals().map(|()| false)));
    }
    broken_off
}

impl Options {
    fn machine(&self) -> featgen::Result<Machine> {
        let mut machine = Machine::new()
            .cost(self.cost)
            .loss(loss::by_name(&self.loss)?)
            .shift(self.fit_intercept)
            .inner_tol(self.inner_tol)
            .solver(&self.solver)
            .threads(self.threads);
        if let Some(features) = self.n_features {
            machine = machine.features(features);
        }
        if let Some(budget) = self.budget {
            machine = machine.budget(budget);
        }
        if let Some(rounds) = self.max_rounds {
            machine = machine.max_rounds(rounds);
        }
        if let Some(tol) = self.tol {
            machine = machine.tol(tol);
        }
        if let Some(gap) = self.gap {
            machine = machine.gap(gap);
        }
        if let Some(cost) = self.debias {
            machine = machine.debias(cost);
        }
        machine.validate()?;
        Ok(machine)
    }
}

impl Target<'_> {
    fn labels(&self) -> PyResult<Labels> {
        let (negative, positive) = self.classes.clone();
        let labels = Labels::of_two([negative, positive], self.second.as_slice()?.iter().copied());
        match &self.weights {
            Some(weights) => labels.with_weights(weights.as_slice()?.to_vec()).map_err(raise),
            None => Ok(labels),
        }
    }
}
