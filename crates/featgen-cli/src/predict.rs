//! `featgen predict`: decision values, labels or probabilities for data, and how good they are.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::path::Path;

use anyhow::Context as _;
use featgen::data::Dataset;
use featgen::data::read::{Batch, read_offsets};
use featgen::files::WholeFile;
use featgen::model::{Decisions, Lacking, Predictor, Tally};
use featgen::objective::{self, Output};
use featgen::{Context, Error, Model};

use crate::args::{OutputKind, PredictArgs};
use crate::interrupt;
use crate::json::{self, Quality};
use crate::numbers::plural;
use crate::summary;

pub(crate) fn run(args: &PredictArgs, context: &Context) -> anyhow::Result<u8> {
    crate::check_outputs(&inputs(args), args.output.as_deref().map(|file| ("predictions", file)).as_slice())?;
    let model = at_features(Model::load(&args.model)?, &args.model, args.features, args.quiet)?;
    if args.output_kind == OutputKind::Probability && !model.has_probabilities() {
        let able = objective::ALL.iter().filter(|spec| spec.probabilities.is_some()).map(|spec| spec.name);
        let able = able.collect::<Vec<_>>().join(" or ");
        let reason = format!("probabilities take a model trained with --loss {able}, not {}", model.loss);
        return Err(Error::parameter("output-kind", reason).into());
    }
    let mut reader = args.people.tell(args.input.reader(context).require_labels(false));
    if let Some(genotypes) = model.genotypes() {
        reader = reader.genotypes(genotypes);
    }
    let batches = reader.recipe(model.recipe.as_ref()).batches(&args.data)?;
    let strangers = batches.strangers();
    let (source, names) = (batches.source().to_owned(), batches.names().clone());
    let mut lacking = model.lacking(&names, batches.dimension());
    refuse_if_all(&lacking, &source, args.missing_ok)?;
    let predictor = model.predictor(&names, &source);
    let offset = Offset::read(&model, args.offset.as_deref(), args.quiet)?;
    let mut predictions = Predictions::new(&model, &predictor, Sink::new(args)?, args.output_kind, offset);
    batches.for_each(predictor.inputs(), |batch| predictions.take(&batch))?;
    if !predictions.has_features {
        lacking = model.lacking_all();
        refuse_if_all(&lacking, &source, args.missing_ok)?;
    }
    let (quality, known) = predictions.finish(lacking.missing.len())?;
    if args.json {
        crate::print(|out| json::write(&quality, out))?;
    }
    notes(&model, &source, known, &lacking, args.quiet);
    if !args.quiet {
        strangers.notes().iter().for_each(|note| crate::note(format_args!("note: {source}: {note}")));
    }
    if !args.quiet && !args.json {
        tell(&model, &quality);
    }
    Ok(crate::SUCCESS)
}

/// What is read.
fn inputs(args: &PredictArgs) -> Vec<(&'static str, &Path)> {
    let labels = args.input.labels().map(|file| ("labels", file));
    let offset = args.offset.as_deref().map(|file| ("the offset", file));
    let files = [("the model", &*args.model), ("the data", &*args.data)];
    files.into_iter().chain(labels).chain(offset).chain(args.people.files()).collect()
}

/// The model at the point of its path with as many features as are wanted, or the nearest below.
pub(crate) fn at_features(
    model: Model,
    file: &Path,
    features: Option<usize>,
    quiet: bool,
) -> Result<Model, Error> {
    let Some(wanted) = features else { return Ok(model) };
    let Some(point) = model.at_most(wanted) else {
        let fewest = model.rounds.iter().map(|round| round.selected).min().unwrap_or(0);
        let reason = format!("the model's path has no point with at most {wanted}: the fewest are {fewest}");
        return Err(Error::parameter("features", reason));
    };
    let found = point.count();
    if found != wanted && !quiet {
        crate::note(format_args!(
            "note: {}: its path has no point with {wanted}; this is the nearest below, with {found}",
            file.display()
        ));
    }
    Ok(point)
}

/// Data with nothing to look at are hardly those that were meant: every answer would be the same.
pub(crate) fn refuse_if_all(lacking: &Lacking, source: &str, missing_ok: bool) -> Result<(), Error> {
    if missing_ok || !lacking.all() {
        return Ok(());
    }
    let reason = match lacking.of {
        1 => "lacks the 1 feature that the model looks at".to_owned(),
        n => format!("lacks all {} that the model looks at", plural(n, "feature")),
    };
    Err(Error::input(source, format!("{reason}, {}; --missing-ok predicts all the same", some_of(lacking))))
}

/// Numbers that are added to decision values.
pub(crate) struct Offset {
    file: String,
    numbers: Option<Vec<f64>>,
}

impl Offset {
    /// Of the file that is given. A model that was trained with one should have one.
    pub(crate) fn read(model: &Model, given: Option<&Path>, quiet: bool) -> Result<Self, Error> {
        let file = given.map_or_else(String::new, |file| file.display().to_string());
        if given.is_some() && model.outputs() > 1 {
            return Err(Error::parameter(
                "offset",
                "only models with one decision value an instance take one",
            ));
        }
        if given.is_none() && model.offset && !quiet {
            crate::note(format_args!(
                "note: the model was trained with --offset, and predictions are made without one"
            ));
        }
        let numbers = given.map(|file| read_offsets(file, None)).transpose()?;
        Ok(Self { file, numbers })
    }

    /// Adds the numbers of instances after so many others.
    pub(crate) fn add(&self, before: usize, decision: &mut [f64]) -> Result<(), Error> {
        let Some(numbers) = &self.numbers else { return Ok(()) };
        let Some(own) = numbers.get(before..before + decision.len()) else {
            let (given, needed) = (numbers.len(), before + decision.len());
            let reason = format!("{given} numbers for at least {needed} instances");
            return Err(Error::input(self.file.as_str(), reason));
        };
        decision.iter_mut().zip(own).for_each(|(f, offset)| *f += offset);
        Ok(())
    }

    /// All instances have come, so many.
    pub(crate) fn end(&self, rows: usize) -> Result<(), Error> {
        match &self.numbers {
            Some(numbers) if numbers.len() != rows => Err(Error::input(
                self.file.as_str(),
                format!("{} numbers for {rows} instances", numbers.len()),
            )),
            _ => Ok(()),
        }
    }
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
            // What is not a regular file may have a reader that waits.
            Self::File(file) => Ok(fill(file).and_then(|()| file.flush()).map_err(|e| file.error(e))?),
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
    /// Whether any instance so far has any of the features that the model looks at.
    has_features: bool,
    /// The classes as they are written.
    classes: Vec<String>,
    offset: Offset,
    /// Labels that the model can be compared with; `None` once there were others, or none.
    tally: Option<Tally<'a>>,
    labelled: bool,
}

impl<'a> Predictions<'a> {
    fn new(
        model: &'a Model,
        predictor: &'a Predictor<'a>,
        sink: Sink,
        kind: OutputKind,
        offset: Offset,
    ) -> Self {
        let on_terminal = matches!(&sink, Sink::Screen(out) if out.get_ref().is_terminal());
        let shown = |class: &String| if on_terminal { crate::plain(class) } else { class.clone() };
        let classes = model.classes.iter().map(shown).collect();
        let tally = Some(Tally::new(model));
        Self {
            model,
            predictor,
            sink,
            kind,
            n: 0,
            has_features: false,
            classes,
            offset,
            tally,
            labelled: false,
        }
    }

    /// Writes the predictions of a batch; of a batch that holds an instance without one, those before it.
    fn take(&mut self, batch: &Batch) -> anyhow::Result<()> {
        let Decisions { values: mut decision, fault } = self.predictor.decision_of(batch);
        self.offset.add(self.n, &mut decision)?;
        self.n += decision.len() / self.model.outputs();
        self.has_features |= batch.has_wanted;
        self.labelled |= !batch.labels.is_empty();
        let truth = self.model.truth(&batch.labels);
        self.tally = self.tally.take().zip(truth).map(|(mut tally, truth)| {
            tally.add(&decision, &truth);
            tally
        });
        let Self { model, kind, classes, sink, .. } = self;
        let rows = decision.chunks_exact(model.outputs());
        sink.write(|out| rows.clone().try_for_each(|d| write_one(out, model, classes, *kind, d)))?;
        Ok(fault.map_or(Ok(()), Err)?)
    }

    /// How good all predictions are, from data that lack so many features, and whether labels, if there are any, are the
    /// model's classes.
    fn finish(self, missing: usize) -> anyhow::Result<(Quality, bool)> {
        self.offset.end(self.n)?;
        self.sink.finish()?;
        let known = self.tally.is_some() || !self.labelled;
        let scores = self.tally.map(Tally::scores);
        Ok((Quality::new(self.model, self.n, scores, missing), known))
    }
}

fn write_one(
    out: &mut dyn Write,
    model: &Model,
    classes: &[String],
    kind: OutputKind,
    d: &[f64],
) -> io::Result<()> {
    match kind {
        OutputKind::Label if model.output == Output::Classes => writeln!(out, "{}", classes[model.class(d)]),
        OutputKind::Label => writeln!(out, "{}", model.number(d[0])),
        OutputKind::Decision => write_row(out, d),
        OutputKind::Probability => {
            let p = model.probabilities(d).expect("checked before anything was read");
            // Of two classes that share an output, the second.
            write_row(out, if d.len() == 1 { &p[1..] } else { &p })
        }
    }
}

/// Numbers of an instance, with blanks between them.
fn write_row(out: &mut dyn Write, numbers: &[f64]) -> io::Result<()> {
    for (k, x) in numbers.iter().enumerate() {
        let blank = if k == 0 { "" } else { " " };
        write!(out, "{blank}{x}")?;
    }
    writeln!(out)
}

/// What may surprise about data: labels (`known` says that they are the model's classes) or features.
pub(crate) fn notes(model: &Model, source: &str, known: bool, lacking: &Lacking, quiet: bool) {
    if !known && !quiet {
        match model.classes.as_slice() {
            [a, b] => crate::note(format_args!(
                "note: {source}: its labels are not the model's classes, {a} and {b}: no accuracy"
            )),
            [] => crate::note(format_args!(
                "note: {source}: its labels are nothing that a model with --loss {} predicts: no scores",
                model.loss
            )),
            _ => crate::note(format_args!(
                "note: {source}: some labels are none of the model's classes: no accuracy"
            )),
        }
    }
    if !lacking.missing.is_empty() && (!quiet || lacking.most()) {
        let (k, n, some) = (lacking.missing.len(), plural(lacking.of, "feature"), some_of(lacking));
        crate::note(format_args!(
            "note: {source} lacks {k} of the {n} that the model looks at, counted as 0: {some}"
        ));
    }
}

/// Some of the features that are missing.
fn some_of(lacking: &Lacking) -> String {
    const SHOWN: usize = 3;
    let (shown, rest) = lacking.missing.split_at(lacking.missing.len().min(SHOWN));
    shown.join(", ") + if rest.is_empty() { "" } else { ", ..." }
}

/// What data in memory lack.
pub(crate) fn lacking_in(model: &Model, data: &Dataset) -> Lacking {
    let predictor = model.predictor(&data.names, &data.source);
    match predictor.inputs().iter().any(|&id| data.columns.position(id).is_some()) {
        true => model.lacking(&data.names, Some(data.columns.dimension())),
        false => model.lacking_all(),
    }
}

fn tell(model: &Model, quality: &Quality) {
    let Some(scores) = &quality.scores else { return };
    crate::note(format_args!("{}", summary::told(scores, &plural(quality.n, "instance"))));
    if let Some(confusion) = &scores.confusion {
        for line in summary::confusion(&model.classes, confusion).lines() {
            crate::note(format_args!("{line}"));
        }
    }
}
