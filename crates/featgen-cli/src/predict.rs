//! `featgen predict`: decision values, labels or probabilities for data, and how good they are.

use std::collections::{BTreeSet, HashSet};
use std::io::{self, BufWriter, Stdout, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use featgen::data::Names;
use featgen::data::read::Batch;
use featgen::files::WholeFile;
use featgen::model::{Predictor, Tally};
use featgen::{Error, Model};

use crate::args::{OutputKind, PredictArgs};
use crate::interrupt;
use crate::json::{self, Quality};
use crate::numbers::{percent, plural};

pub(crate) fn run(args: &PredictArgs) -> anyhow::Result<ExitCode> {
    crate::check_outputs(&inputs(args), args.output.as_deref().map(|file| ("predictions", file)).as_slice())?;
    let model = at_features(Model::load(&args.model)?, args.features)?;
    if args.output_kind == OutputKind::Probability && model.probability(0.0).is_none() {
        let reason = format!("probabilities take a model trained with --loss logistic, not {}", model.loss);
        return Err(Error::parameter("output-kind", reason).into());
    }
    let batches = args.input.reader().require_labels(false).batches(&args.data)?;
    let (source, names) = (batches.source().to_owned(), batches.names().clone());
    let predictor = model.predictor(&names, &source);
    let mut predictions = Predictions::new(&model, &predictor, Sink::new(args)?, args.output_kind);
    batches.for_each(predictor.inputs(), |batch| predictions.take(&batch))?;
    let (quality, known) = predictions.finish()?;
    if args.json {
        crate::print(|out| json::write(&quality, out))?;
    }
    if !args.quiet {
        notes(&model, &source, &names, known);
        if !args.json {
            summary(&quality);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What is read.
fn inputs(args: &PredictArgs) -> Vec<(&'static str, &Path)> {
    let labels = args.input.labels().map(|file| ("labels", file));
    [("the model", &*args.model), ("the data", &*args.data)].into_iter().chain(labels).collect()
}

/// The model at the point of its path with `features` features, if that is wanted.
fn at_features(model: Model, features: Option<usize>) -> Result<Model, Error> {
    // The last point is the model itself, refitted or not.
    let Some(features) = features.filter(|&k| k != model.count()) else { return Ok(model) };
    model.at(features).ok_or_else(|| {
        let counts: BTreeSet<usize> = model.rounds.iter().map(|round| round.selected).collect();
        let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
        let reason = format!("the model's path has no point with {features}; it has {}", counts.join(", "));
        Error::parameter("features", reason)
    })
}

/// Where predictions go, as they come.
enum Sink {
    Nowhere,
    Screen(BufWriter<Stdout>),
    File(WholeFile),
}

impl Sink {
    fn new(args: &PredictArgs) -> anyhow::Result<Self> {
        Ok(match &args.output {
            Some(path) => {
                let file = WholeFile::create(path)?;
                file.unfinished().map(interrupt::remove_at_end);
                Self::File(file)
            }
            None if args.json => Self::Nowhere,
            None => Self::Screen(BufWriter::new(io::stdout())),
        })
    }

    fn write(&mut self, fill: impl Fn(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
        match self {
            Self::Nowhere => Ok(()),
            Self::Screen(out) => fill(out).and_then(|()| out.flush()).context("standard output"),
            Self::File(file) => Ok(fill(file).map_err(|e| file.error(e))?),
        }
    }

    fn finish(self) -> anyhow::Result<()> {
        match self {
            Self::Nowhere | Self::Screen(_) => Ok(()),
            Self::File(file) => Ok(file.finish()?),
        }
    }
}

/// Predicts batch after batch, and counts how good that is.
struct Predictions<'a> {
    model: &'a Model,
    predictor: &'a Predictor<'a>,
    sink: Sink,
    kind: OutputKind,
    n: usize,
    /// Labels that are the model's classes; `None` once there were others, or none.
    tally: Option<Tally>,
    labelled: bool,
}

impl<'a> Predictions<'a> {
    fn new(model: &'a Model, predictor: &'a Predictor<'a>, sink: Sink, kind: OutputKind) -> Self {
        Self { model, predictor, sink, kind, n: 0, tally: Some(Tally::default()), labelled: false }
    }

    fn take(&mut self, batch: &Batch) -> anyhow::Result<()> {
        let decision = self.predictor.decision(&*batch.columns)?;
        self.n += decision.len();
        self.labelled |= !batch.labels.is_empty();
        let truth = self.model.truth(&batch.labels);
        self.tally = self.tally.take().zip(truth).map(|(mut tally, truth)| {
            tally.add(self.model, &decision, &truth);
            tally
        });
        let &mut Self { model, kind, .. } = self;
        self.sink.write(|out| decision.iter().try_for_each(|&f| write_one(out, model, kind, f)))
    }

    /// How good all predictions are, and whether labels, if there are any, are the model's classes.
    fn finish(self) -> anyhow::Result<(Quality, bool)> {
        self.sink.finish()?;
        let known = self.tally.is_some() || !self.labelled;
        Ok((Quality::new(self.n, self.tally.map(Tally::scores)), known))
    }
}

fn write_one(out: &mut dyn Write, model: &Model, kind: OutputKind, f: f64) -> io::Result<()> {
    match kind {
        OutputKind::Label => writeln!(out, "{}", model.classes[model.class(f)]),
        OutputKind::Decision => writeln!(out, "{f}"),
        OutputKind::Probability => {
            writeln!(out, "{}", model.probability(f).expect("checked before anything was read"))
        }
    }
}

/// Names that a note has room for.
const SHOWN: usize = 3;

/// What may surprise about data: labels (`known` says that they are the model's classes) or features.
pub(crate) fn notes(model: &Model, source: &str, names: &Names, known: bool) {
    if !known {
        let [a, b] = &model.classes;
        crate::note(format_args!(
            "note: {source}: its labels are not the model's classes, {a} and {b}: no accuracy"
        ));
    }
    let used: HashSet<u64> =
        model.selected().iter().flat_map(|term| term.feature.inputs()).copied().collect();
    let missing = missing_inputs(model, &used, names);
    if !missing.is_empty() {
        let (k, n) = (missing.len(), plural(used.len(), "feature"));
        let some = missing[..k.min(SHOWN)].join(", ") + if k > SHOWN { ", ..." } else { "" };
        crate::note(format_args!(
            "note: {source} lacks {k} of the {n} that the model looks at, counted as 0: {some}"
        ));
    }
}

/// Inputs in use that the data lack. Only names tell: a number may just not occur.
fn missing_inputs<'m>(model: &'m Model, used: &HashSet<u64>, names: &Names) -> Vec<&'m str> {
    if !(model.by_name && names.identify()) {
        return Vec::new();
    }
    let known: HashSet<&str> = names.list().iter().map(String::as_str).collect();
    let needed =
        model.inputs.iter().filter(|input| used.contains(&input.id)).map(|input| input.name.as_str());
    needed.filter(|name| !known.contains(name)).collect()
}

fn summary(quality: &Quality) {
    let Some(accuracy) = quality.accuracy else { return };
    let auc = quality.auc.map_or_else(String::new, |auc| format!(", AUC {auc:.4}"));
    crate::note(format_args!("accuracy {} of {}{auc}", percent(accuracy), plural(quality.n, "instance")));
}
