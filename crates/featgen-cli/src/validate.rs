//! Cross-validation of what `train` and `path` are told to learn.

use std::path::Path;

use featgen::data::read::{Reader, read_folds, read_offsets};
use featgen::data::{Columns, Dataset, Except, Labels, store};
use featgen::space::Inputs;
use featgen::table::Recipe;
use featgen::validate::{Costs, CrossValidation, Estimate, Folds, Halves, Metric, Study, Subject, Validated};
use featgen::{Context, Error, Machine, Model, Result};

use crate::args::TrainArgs;
use crate::numbers::{percent, plural};
use crate::progress::Progress;
use crate::{keep, space, train};

/// Data, and what of a run is the same in all folds.
pub(crate) struct Validating<'a> {
    args: &'a TrainArgs,
    data: &'a Dataset,
    offset: Option<Vec<f64>>,
    context: &'a Context,
}

/// Whether something was learned of the values of data that folds must learn anew.
fn has_learned(data: &Dataset) -> bool {
    data.genotypes.is_some() || data.recipe.as_ref().is_some_and(|recipe| !Recipe::is_plain(recipe))
}

fn is_input(path: &Path) -> bool {
    path == Path::new("-")
}

impl<'a> Validating<'a> {
    pub(crate) fn new(args: &'a TrainArgs, data: &'a Dataset, context: &'a Context) -> Result<Self> {
        let rows = data.columns.rows();
        let offset = args.learning.offset.as_ref().map(|file| read_offsets(file, Some(rows))).transpose()?;
        Ok(Self { args, data, offset, context })
    }

    pub(crate) fn context(&self) -> &Context {
        self.context
    }

    /// Whether data can be read again for each fold, where they must be.
    pub(crate) fn is_possible(&self) -> bool {
        !(has_learned(self.data) && is_input(&self.args.data))
    }

    /// Whether data are read again for each fold.
    pub(crate) fn reads_again(&self) -> bool {
        has_learned(self.data) && !store::is_store(&self.args.data)
    }

    /// What may surprise.
    pub(crate) fn note(&self) -> Option<String> {
        let fixed = has_learned(self.data) && store::is_store(&self.args.data);
        fixed.then(|| {
            let source = &self.data.source;
            format!("{source}: a store has the levels of categories, and what stands for missing numbers, from all rows: folds share them")
        })
    }

    /// The data as they are where all instances are known.
    pub(crate) fn study(&self) -> Result<Study<'_>> {
        self.study_of(self.data)
    }

    fn study_of<'d>(&'d self, data: &'d Dataset) -> Result<Study<'d>> {
        let learning = &self.args.learning;
        let kept = keep::kept(learning.keep.as_deref(), data)?;
        let others = Except::new(&*data.columns, kept.ids().iter().copied());
        let columns: &dyn Columns = if kept.ids().is_empty() { &*data.columns } else { &others };
        let (spec, _) = space::described(learning, &Inputs::called(columns, &data.names), data)?;
        Ok(Study {
            columns: &*data.columns,
            names: &data.names,
            spec,
            scaling: learning.scaling(),
            keep: kept.ids().to_vec(),
            offset: self.offset.as_deref(),
            shards: None,
        })
    }

    fn reader(&self) -> Result<Reader> {
        train::reader(self.args, self.context)
    }

    fn folds(&self, machine: &Machine) -> Result<Folds> {
        let (cv, labels) = (&self.args.cv, &self.data.labels);
        let together: Option<Labels> = match (&cv.fold_column, cv.file()) {
            (Some(_), _) if is_input(&self.args.data) => {
                return Err(Error::parameter("fold-column", "standard input can only be read once"));
            }
            (Some(column), _) => Some(self.reader()?.column(&self.args.data, column)?),
            (None, Some(file)) => Some(read_folds(file, labels.len())?),
            (None, None) => None,
        };
        match together {
            Some(together) => Folds::grouped(&together, cv.count(), cv.repeats(), cv.seed()),
            None => {
                let output = machine.loss_in_use().output();
                Folds::stratified(labels, output, cv.drawn(), cv.repeats(), cv.seed())
            }
        }
    }

    /// Notes in a model how often its features are selected from halves of the data, unless somebody ends that.
    pub(crate) fn stability(
        &self,
        runs: usize,
        machine: Machine,
        model: &mut Model,
        progress: &Progress,
    ) -> Result<()> {
        self.check("stability")?;
        let halves = Halves { machine, runs, seed: self.args.cv.seed(), context: self.context.clone() };
        let study = self.study()?;
        let told = |done, of| progress.doing(format!("{done} of {of} halves"));
        halves.judge(model, self.subject(&study), &self.data.labels, &told).map(|_| ())
    }

    /// Where the data of each run come from.
    fn subject<'s>(&'s self, study: &'s Study<'s>) -> &'s dyn Subject {
        if self.reads_again() { self } else { study }
    }

    /// An error if data that must be read again cannot be.
    fn check(&self, parameter: &'static str) -> Result<()> {
        let reason = "a table is read again for each run: it must be a file, not standard input";
        if self.is_possible() { Ok(()) } else { Err(Error::parameter(parameter, reason)) }
    }

    /// Runs all folds; `None` if somebody ended that.
    pub(crate) fn run(
        &self,
        machine: Machine,
        costs: Costs,
        progress: &Progress,
    ) -> Result<Option<Validated>> {
        self.check("cv")?;
        let output = machine.loss_in_use().output();
        let validation = CrossValidation {
            folds: self.folds(&machine)?,
            metric: self.args.cv.metric().unwrap_or(Metric::usual(output)),
            machine,
            costs,
            context: self.context.clone(),
        };
        let study = self.study()?;
        let told = |done, of| progress.fold(done, of);
        validation.run(&study, self.subject(&study), &self.data.labels, &told)
    }
}

impl Subject for Validating<'_> {
    fn known_from(&self, known: &[bool], see: &mut dyn FnMut(&Study<'_>) -> Result<()>) -> Result<()> {
        let data = self.reader()?.learning_from(known.to_vec()).read(&self.args.data)?;
        see(&self.study_of(&data)?)
    }
}

/// The value of a metric as people read it.
pub(crate) fn shown(metric: &str, value: f64) -> String {
    match is_part(metric) {
        true => percent(value),
        false => format!("{value:.4}"),
    }
}

fn is_part(metric: &str) -> bool {
    matches!(metric, "accuracy" | "balanced-accuracy" | "deviance")
}

/// Its standard error likewise.
pub(crate) fn error_shown(metric: &str, se: f64) -> String {
    match (se.is_nan(), is_part(metric)) {
        (true, _) => String::new(),
        (_, true) => format!("{:.2}", 100.0 * se),
        (_, false) => format!("{se:.4}"),
    }
}

/// A mean with its error: `91.43 % ± 1.20`.
pub(crate) fn with_error(metric: &str, mean: f64, se: f64) -> String {
    match error_shown(metric, se) {
        none if none.is_empty() => shown(metric, mean),
        error => format!("{} ± {error}", shown(metric, mean)),
    }
}

/// An estimate in words.
pub(crate) fn told(estimate: &Estimate) -> String {
    let &Estimate { metric, mean, se, folds, repeats, baseline, balanced_accuracy } = estimate;
    let name = if metric == "accuracy" { String::new() } else { format!("{metric} ") };
    let again = if repeats > 1 { format!(", {repeats} times") } else { String::new() };
    let measured = with_error(metric, mean, se);
    let balanced = balanced_accuracy.map_or_else(String::new, |b| format!(", balanced {}", percent(b)));
    let verdict = match estimate.is_noise() {
        true => format!(
            "; no better than no features at all ({}): this looks like noise",
            shown(metric, baseline)
        ),
        false => format!("; no features at all would reach {}", shown(metric, baseline)),
    };
    format!("{name}{measured}{balanced} on instances held out ({}{again}){verdict}", plural(folds, "fold"))
}
