//! A run, with Python free meanwhile: it is told what happens, Ctrl-C is asked for ten times a second.

use std::ffi::CString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use featgen::data::{ClassWeights, Columns, Except, Labels, Names};
use featgen::machine::{Observer, Select};
use featgen::model::{Proof, Round};
use featgen::objective::{Kept, LossSpec};
use featgen::space::{Inputs, Lacking, Scaling, SpaceSpec};
use featgen::table::Recipe;
use featgen::validate::{Halves, StandInSearch};
use featgen::{Context, Error, Machine};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyRuntimeWarning};
use pyo3::prelude::*;

use crate::error::{parameter_name, raise};
use crate::learned::Learned;
use crate::matrix::Matrix;
use crate::model::{Model, proof_dict, round_dict};
use crate::shards::Question;
use crate::space::{self, Space};

/// How often a run looks for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(100);

/// What the machine is told; `None` is the engine's default.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    n_features: Option<usize>,
    budget: Option<usize>,
    cost: Option<f64>,
    select: Option<String>,
    exchange: Option<usize>,
    prove: Option<f64>,
    fdr: Option<f64>,
    stability: Option<usize>,
    stand_ins: Option<f64>,
    seed: u64,
    time_limit: Option<f64>,
    pub(crate) scale: Option<String>,
    loss: String,
    delta: Option<f64>,
    fit_intercept: bool,
    max_rounds: Option<usize>,
    tol: Option<f64>,
    inner_tol: f64,
    gap: Option<f64>,
    debias: Option<f64>,
    solver: String,
    pub(crate) threads: usize,
    checkpoint: Option<PathBuf>,
}

/// Who is told, with a round, that it has ended, or that a run goes on from a checkpoint after it; or how far a proof is.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Listeners {
    round: Option<Py<PyAny>>,
    resumed: Option<Py<PyAny>>,
    proof: Option<Py<PyAny>>,
}

/// Classes, whether they are words, and the class of each instance; or numbers. How often each instance counts, what the errors of
/// each class weigh (`balanced` if that is asked for), what is added to decision values, and the columns that are kept.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Target<'py> {
    classes: Vec<String>,
    codes: Option<PyReadonlyArray1<'py, u32>>,
    numbers: Option<PyReadonlyArray1<'py, f64>>,
    text: bool,
    counts: Option<PyReadonlyArray1<'py, f64>>,
    pub(crate) weights: Option<Vec<f64>>,
    pub(crate) balanced: bool,
    pub(crate) offset: Option<PyReadonlyArray1<'py, f64>>,
    pub(crate) keep: Vec<u64>,
}

/// What the data lack of pathways: members and of how many, groups and of how many.
type LackingCounts = [usize; 4];

/// A model; if the run was broken off by an exception, that exception: the model is then what was reached; and of groups that may
/// name features that are not there, how many are not.
pub(crate) type Fitted = (Model, Option<PyErr>, Option<LackingCounts>);

/// Selects features and fits them. Unless all values are known to be `finite`, that is made sure of as well.
#[pyfunction]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    names: Option<Vec<String>>,
    target: Target<'py>,
    space: Space,
    options: Options,
    listeners: Listeners,
    finite: bool,
) -> PyResult<Fitted> {
    let run = Run::new(&target, space, &options, x.recipe())?;
    let names = run.names(names);
    let columns = x.columns()?;
    let columns = &*columns;
    let all = Inputs::called(columns, &names).context(&run.context);
    let offset = target.offset.as_ref().map(|offset| offset.as_slice()).transpose()?;
    let learned = Learned::new(&x, columns, &names, &run.asked, &target.keep, run.scaling, offset);
    let learned = learned.map_err(raise)?;
    let kept = Kept::new(columns, &names, &target.keep).map_err(raise)?;
    let others = Except::new(columns, kept.ids().iter().copied());
    let columns: &dyn Columns = if kept.ids().is_empty() { columns } else { &others };
    let inputs = Inputs::called(columns, &names);
    run.attended(py, &listeners, |reporter| {
        let (mut model, lacking) = run.fit(inputs, kept, reporter)?;
        if !finite && !model.stopped.is_early() {
            // Searches do not read what counts for nothing; copies of the columns that they made know it already.
            run.context.run(|| all.largest())??;
        }
        run.how_sure(&options, &mut model, &learned)?;
        Ok((model, lacking))
    })
}

/// A run, before it is known where the data are.
pub(crate) struct Run {
    pub(crate) interrupted: Arc<AtomicBool>,
    pub(crate) context: Context,
    pub(crate) machine: Machine,
    pub(crate) labels: Labels,
    /// The space as it was asked for, and as it is for columns of a table.
    pub(crate) asked: SpaceSpec,
    pub(crate) spec: SpaceSpec,
    recipe: Option<Recipe>,
    pub(crate) scaling: Option<Scaling>,
    text: bool,
}

/// What the engine finds: a model, and what the data lack of groups.
type Found = (featgen::Model, Option<Lacking>);

impl Run {
    pub(crate) fn new(
        target: &Target<'_>,
        space: Space,
        options: &Options,
        recipe: Option<Recipe>,
    ) -> PyResult<Self> {
        Self::of(options.machine().map_err(raise)?, target, space, options, recipe)
    }

    /// The same of a machine that may not have all that is needed yet.
    pub(crate) fn of(
        machine: Machine,
        target: &Target<'_>,
        space: Space,
        options: &Options,
        recipe: Option<Recipe>,
    ) -> PyResult<Self> {
        let interrupted = Arc::new(AtomicBool::new(false));
        // Its threads end with the run: nothing is left behind that a fork would break.
        let context = Context::new().threads(options.threads).interrupt(Arc::clone(&interrupted));
        let mut machine = machine.context(&context);
        machine = match target.weights.clone() {
            Some(weights) => machine.class_weights(ClassWeights::Each(weights)),
            None if target.balanced => machine.class_weights(ClassWeights::Balanced),
            None => machine,
        };
        if let Some(offset) = &target.offset {
            machine = machine.offset(offset.as_slice()?.to_vec());
        }
        let asked = space.spec().map_err(raise)?;
        let spec = asked.clone().or_columns_of(recipe.as_ref()).map_err(raise)?;
        let scaling = options.scale.as_deref().and_then(Scaling::find);
        let labels = target.labels()?;
        Ok(Self { interrupted, context, machine, labels, asked, spec, recipe, scaling, text: target.text })
    }

    /// What inputs are called.
    pub(crate) fn names(&self, names: Option<Vec<String>>) -> Names {
        let names = names.map(Names::identifying).unwrap_or_default();
        self.recipe.iter().fold(names, Names::of_columns)
    }

    /// Fits these inputs, and besides them the columns that are kept.
    pub(crate) fn fit(
        &self,
        inputs: Inputs<'_>,
        kept: Kept,
        reporter: &mut Reporter,
    ) -> featgen::Result<Found> {
        let (inputs, machine) = (inputs.context(&self.context), self.machine.clone().keep(kept));
        let counts = self.labels.weights();
        let scale = self.spec.scale(self.scaling, machine.select_in_use()?, &inputs, counts)?;
        let inputs = scale.as_ref().map_or(inputs, |scale| inputs.scaled(scale));
        let built = self.spec.build(inputs, counts)?;
        let model = machine.fit_observed(&*built.space, &self.labels, reporter)?;
        Ok((model, built.omitted.lacking))
    }

    /// Notes in the model how often its features are selected from halves of the samples, and their stand-ins, as far as that is
    /// asked for and nobody ends it.
    pub(crate) fn how_sure(
        &self,
        options: &Options,
        model: &mut featgen::Model,
        learned: &Learned<'_>,
    ) -> featgen::Result<()> {
        if model.stopped.is_early() {
            return Ok(());
        }
        let context = self.context.clone();
        if let Some(runs) = options.stability {
            let (machine, context) = (self.machine.clone(), context.clone());
            let halves = Halves { machine, runs, seed: options.seed, context };
            halves.judge(model, learned, &self.labels, &|_, _| ())?;
        }
        match options.stand_ins.filter(|_| !context.is_interrupted()) {
            Some(least) => {
                let (search, study) = (StandInSearch { least, context }, learned.study());
                search.note(model, study.columns, study.names, self.labels.weights())
            }
            None => Ok(()),
        }
    }

    /// Has some work done by a thread, while this one hands on its news and looks for Ctrl-C.
    pub(crate) fn attended(
        &self,
        py: Python<'_>,
        listeners: &Listeners,
        work: impl FnOnce(&mut Reporter) -> featgen::Result<Found> + Send,
    ) -> PyResult<Fitted> {
        py.detach(|| {
            std::thread::scope(|scope| {
                let (report, news) = sync_channel(0);
                let (reply, replies) = sync_channel(0);
                let worker = scope
                    .spawn(move || work(&mut Reporter { report, replies, not_saved: false, next_node: 0 }));
                let broken_off = attend(&news, &reply, listeners, &self.interrupted);
                let model = worker.join().map_err(|_| PyRuntimeError::new_err("the engine failed"))?;
                match (model, broken_off) {
                    (Ok((model, lacking)), broken_off) => {
                        let lacking = lacking.map(|l| [l.members, l.of_members, l.groups, l.of_groups]);
                        Ok((Model::new(self.described(model)), broken_off, lacking))
                    }
                    // Broken off before there was a model: the engine says only that, the exception why.
                    (Err(_), Some(broken_off)) => Err(broken_off),
                    (Err(error), None) => Err(raise(error)),
                }
            })
        })
    }

    /// The model with what it was asked to be.
    fn described(&self, model: featgen::Model) -> featgen::Model {
        let model = space::describe(&self.asked, model).with_scaling(self.scaling);
        featgen::Model { classes_are_text: self.text, ..model.with_recipe(self.recipe.as_ref()) }
    }
}

/// What happens in a run.
pub(crate) enum News {
    Round(Round),
    Resumed(Round),
    Proof(Proof),
    NotSaved(String),
    /// Somebody must be asked in the thread that Python waits in.
    Ask(Question),
}

/// Sends all news to the thread that Python waits in, and goes on when they have been looked at.
pub(crate) struct Reporter {
    report: SyncSender<News>,
    replies: Receiver<()>,
    /// Whether it was said that a checkpoint could not be written: once is enough.
    not_saved: bool,
    /// Nodes of a proof at which there are news of it again.
    next_node: u64,
}

impl Reporter {
    /// Where other news may be sent to.
    pub(crate) fn sender(&self) -> SyncSender<News> {
        self.report.clone()
    }

    fn tell(&self, news: News) {
        if self.report.send(news).is_ok() {
            // Nobody there to answer is an answer too.
            let _ = self.replies.recv();
        }
    }
}

impl Observer for Reporter {
    fn round(&mut self, round: &Round) {
        self.tell(News::Round(round.clone()));
    }

    fn resumed(&mut self, rounds: &[Round]) {
        if let Some(last) = rounds.last() {
            self.tell(News::Resumed(last.clone()));
        }
    }

    fn proof(&mut self, proof: &Proof) {
        // Nodes may be many: news of them become rarer.
        if proof.nodes >= self.next_node {
            self.next_node = proof.nodes + proof.nodes / 4 + 1;
            self.tell(News::Proof(*proof));
        }
    }

    fn not_saved(&mut self, error: &Error) {
        if !std::mem::replace(&mut self.not_saved, true) {
            self.tell(News::NotSaved(error.spelled(parameter_name)));
        }
    }
}

impl Listeners {
    /// Nobody is told anything.
    pub(crate) fn nobody() -> Self {
        Self { round: None, resumed: None, proof: None }
    }

    /// Hands news on. Returns whether the run is to end.
    fn hear(&self, py: Python<'_>, news: &News) -> PyResult<bool> {
        let (listener, news) = match news {
            News::Round(round) => (&self.round, round_dict(py, round)?),
            News::Resumed(round) => (&self.resumed, round_dict(py, round)?),
            News::Proof(proof) => (&self.proof, proof_dict(py, proof)?),
            News::NotSaved(reason) => return warn_not_saved(py, reason).map(|()| false),
            News::Ask(_) => return Ok(false),
        };
        match listener {
            Some(listener) => listener.call1(py, (news,))?.is_truthy(py),
            None => Ok(false),
        }
    }
}

fn warn_not_saved(py: Python<'_>, reason: &str) -> PyResult<()> {
    let text = format!("the run goes on, but its checkpoint cannot be written: {reason}");
    // Three levels up is whoever called the estimator.
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &CString::new(text)?, 3)
}

/// Hands news to the listeners and looks for Ctrl-C until the run ends. Returns the first exception; it, or a true value
/// returned by a listener, sets `interrupted`.
pub(crate) fn attend(
    news: &Receiver<News>,
    reply: &SyncSender<()>,
    listeners: &Listeners,
    interrupted: &AtomicBool,
) -> Option<PyErr> {
    let mut broken_off: Option<PyErr> = None;
    let mut stop = |outcome: PyResult<bool>| {
        if matches!(outcome, Ok(false)) {
            return;
        }
        interrupted.store(true, Ordering::Relaxed);
        if let Err(error) = outcome {
            broken_off.get_or_insert(error);
        }
    };
    let mut failed = None;
    loop {
        match news.recv_timeout(PATIENCE) {
            Ok(News::Ask(question)) => match question.put() {
                Ok(()) => {}
                // What was reached stays only where somebody wants an end.
                Err(error) if is_interrupt(&error) => stop(Err(error)),
                Err(error) => failed = failed.or(Some(error)),
            },
            Ok(news) => {
                stop(Python::attach(|py| listeners.hear(py, &news)));
                let _ = reply.send(());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        stop(Python::attach(|py| py.check_signals().map(|()| false)));
    }
    broken_off.or(failed)
}

fn is_interrupt(error: &PyErr) -> bool {
    Python::attach(|py| error.is_instance_of::<PyKeyboardInterrupt>(py))
}

impl Options {
    fn loss(&self) -> featgen::Result<Arc<dyn featgen::objective::Loss>> {
        let spec = LossSpec::find(&self.loss);
        let unknown = || Error::parameter("loss", format!("{} is not a loss", self.loss));
        spec.ok_or_else(unknown)?
            .make(&self.delta.map(|delta| ("delta", delta)).into_iter().collect::<Vec<_>>())
    }

    fn machine(&self) -> featgen::Result<Machine> {
        let machine = self.unchecked()?;
        machine.validate()?;
        self.stability.map_or(Ok(()), Halves::check)?;
        self.stand_ins.map_or(Ok(()), StandInSearch::check)?;
        Ok(machine)
    }

    /// The machine before all is known that is to be checked.
    pub(crate) fn unchecked(&self) -> featgen::Result<Machine> {
        let mut machine = Machine::new()
            .loss(self.loss()?)
            .shift(self.fit_intercept)
            .inner_tol(self.inner_tol)
            .solver(&self.solver);
        if let Some(features) = self.n_features {
            machine = machine.features(features);
        }
        if let Some(cost) = self.cost {
            machine = machine.cost(cost);
        }
        if let Some(select) = self.select.as_deref().and_then(Select::find) {
            machine = machine.select(select);
        }
        if let Some(steps) = self.exchange {
            machine = machine.exchange(steps);
        }
        if let Some(gap) = self.prove {
            machine = machine.prove(gap);
        }
        if let Some(rate) = self.fdr {
            machine = machine.fdr(rate);
        }
        if let Some(seconds) = self.time_limit {
            machine = machine.time_limit(seconds);
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
        if let Some(path) = &self.checkpoint {
            machine = machine.checkpoint(path);
        }
        Ok(machine)
    }
}

impl Target<'_> {
    pub(crate) fn labels(&self) -> PyResult<Labels> {
        let labels = match (&self.codes, &self.numbers) {
            (Some(codes), _) => Labels::from_classes(self.classes.clone(), codes.as_slice()?.to_vec()),
            (None, Some(numbers)) => Labels::from_numbers(numbers.as_slice()?.to_vec()),
            (None, None) => Labels::default(),
        };
        match &self.counts {
            Some(counts) => labels.with_weights(counts.as_slice()?.to_vec()).map_err(raise),
            None => Ok(labels),
        }
    }
}
