//! `featgen train`: read, select, fit, save, show.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use featgen::data::read::{LeftOut, Reader, read_offsets};
use featgen::data::{Columns, Dataset, Except, Labels, store};
use featgen::model::{CrossValidated, Scores};
use featgen::validate::{Costs, Estimate, Halves, StandInSearch, Validated};
use featgen::{Context, Error, Machine, Model};

use crate::args::{Size, TrainArgs};
use crate::json::{self, Quality, Report, Seconds};
use crate::numbers::{count, plural, seconds};
use crate::progress::Progress;
use crate::style::Style;
use crate::summary;
use crate::validate::Validating;
use crate::{interrupt, keep, predict, space, validate};

pub(crate) fn run(args: &TrainArgs, context: &Context) -> anyhow::Result<u8> {
    let start = Instant::now();
    let mut machine = args.learning.machine()?;
    check_sureness(args)?;
    crate::check_outputs(&inputs(args), &outputs(args))?;
    if let Some(file) = &args.checkpoint {
        machine = machine.checkpoint(file);
    }
    let interrupted = Arc::default();
    let mut context = context.clone().interrupt(Arc::clone(&interrupted));
    if let Some(Size(bytes)) = args.memory {
        context = context.memory(bytes);
    }
    let mut progress = Progress::talking(&args.talk, args.learning.features, &context);
    let (train, test) = read(args, &context, &progress)?;
    let read = start.elapsed().as_secs_f64();
    let validating = Validating::new(args, &train, &context)?;
    interrupt::watch(&interrupted);
    let Fitted { model, notes: of_space, prepared } =
        fit(args, machine.clone(), &train, &mut progress, &context)?;
    // Before anything else is done with it: the work must not be lost.
    let saved = args.output.as_deref().map_or(Ok(()), |path| model.save(path));
    let tested = test.as_ref().map(|test| Quality::of(&model, test)).transpose();
    let trained = Some(&train).filter(|_| !model.offset).and_then(|data| model.decision(data).ok());
    let trained = trained.and_then(|d| Some(model.scores(&d, &model.truth(&train.labels)?)));
    let spent = start.elapsed().as_secs_f64() - if validating.reads_again() { 0.0 } else { read };
    let held_out = held_out(args, machine.clone(), &model, &validating, spent, &progress);
    let mut model = match &held_out {
        Ok(HeldOut::Asked(found)) => {
            Model { cv: Some(CrossValidated::new(found, &found.estimate())), ..model }
        }
        _ => model,
    };
    let sureness = how_sure(args, machine.clone(), &mut model, &train, &validating, &progress);
    // Once more, with what is now known of it.
    let more_known = model.cv.is_some() || args.stability.is_some() || args.stand_ins.is_some();
    let saved = match args.output.as_deref().filter(|_| saved.is_ok() && more_known) {
        Some(path) => model.save(path),
        None => saved,
    };
    progress.finish();

    let result = Shown {
        model: &model,
        labels: &train.labels,
        source: &train.source,
        test: tested.as_ref().ok().cloned().flatten(),
        trained,
        held_out: held_out.as_ref().ok(),
        seconds: Seconds::of(&model, read, prepared, start.elapsed().as_secs_f64()),
        saved_as: args.output.as_deref().filter(|_| saved.is_ok()),
    };
    // Shown even if it could not be saved or tested.
    let printed = crate::print(|out| if args.json { result.as_json(out) } else { result.for_people(out) });
    saved?;
    printed?;
    tested?;
    held_out.map_err(|error| with_source(error, &train.source))?;
    sureness.map_err(|error| with_source(error, &train.source))?;
    if let Some(test) = &test {
        let known = test.labels.is_empty() || model.truth(&test.labels).is_some();
        predict::notes(&model, &test.source, known, &predict::lacking_in(&model, test), args.talk.quiet);
    }
    if !args.talk.quiet {
        std::iter::once(&train).chain(&test).for_each(data_notes);
        let of_folds = validating.note().filter(|_| args.wants_cv() || args.stability.is_some());
        of_space.iter().chain(&of_folds).for_each(|note| crate::note(format_args!("note: {note}")));
        notes(args, &machine, &model);
    }
    Ok(interrupt::exit_code(model.stopped))
}

/// A model, and what is known of the way to it.
pub(crate) struct Fitted {
    pub(crate) model: Model,
    /// What may surprise about the space.
    notes: Vec<String>,
    /// Seconds before the machine ran.
    prepared: f64,
}

/// Runs the machine on data.
pub(crate) fn fit(
    args: &TrainArgs,
    mut machine: Machine,
    data: &Dataset,
    progress: &mut Progress,
    context: &Context,
) -> anyhow::Result<Fitted> {
    let start = Instant::now();
    machine = machine.context(context);
    let kept = keep::kept(args.learning.keep.as_deref(), data)?;
    let others = Except::new(&*data.columns, kept.ids().iter().copied());
    let columns: &dyn Columns = if kept.ids().is_empty() { &*data.columns } else { &others };
    let scale = space::scale(&args.learning, machine.select_in_use()?, columns, data)?;
    let mut chosen = space::chosen(&args.learning, columns, data, progress, context, scale.as_ref())
        .map_err(|error| with_source(error, &data.source))?;
    machine = machine.keep(kept);
    if let Some(file) = &args.learning.offset {
        machine = machine.offset(read_offsets(file, Some(data.columns.rows()))?);
    }
    machine.limit_memory(&mut *chosen.space, &data.labels)?;
    let prepared = start.elapsed().as_secs_f64();
    progress.counting(chosen.unit());
    progress.doing(format!("looking at {} {}s", count(chosen.space.size()), chosen.unit()));
    let model = machine
        .fit_observed(&*chosen.space, &data.labels, progress)
        .map_err(|error| with_source(error, &data.source))?;
    let model = chosen.describe(model).with_scaling(args.learning.scaling());
    let model = model.with_genotypes(data.genotypes.as_ref());
    Ok(Fitted { model: model.with_recipe(data.recipe.as_ref()), notes: chosen.notes, prepared })
}

/// What is known of instances that were not learned from.
enum HeldOut {
    /// What was asked for.
    Asked(Box<Validated>),
    /// One that nobody asked for, as it was quick.
    Quick(Estimate),
    /// There are test data, or the user ended the run.
    Nothing,
    /// None was made: it would have taken too long, or cannot be.
    Unknown,
}

/// Seconds that an estimate may take that nobody asked for.
const QUICK: f64 = 3.0;

/// Cross-validates if that is asked for, or if it is quick, to judge by the seconds that one run took.
fn held_out(
    args: &TrainArgs,
    machine: Machine,
    model: &Model,
    validating: &Validating<'_>,
    spent: f64,
    progress: &Progress,
) -> Result<HeldOut, Error> {
    if model.stopped.is_early() {
        return Ok(HeldOut::Nothing);
    }
    if args.wants_cv() {
        let found = validating.run(machine, Costs::One, progress)?;
        return Ok(found.map_or(HeldOut::Unknown, |found| HeldOut::Asked(Box::new(found))));
    }
    // What programs read does not depend on the clock.
    if args.test.is_some() || args.json {
        return Ok(HeldOut::Nothing);
    }
    let quick = spent * args.cv.drawn() as f64 <= QUICK && args.memory.is_none() && validating.is_possible();
    let found = quick.then(|| validating.run(machine, Costs::One, progress));
    // Small data may be too small for folds.
    Ok(match found {
        Some(Ok(Some(found))) => HeldOut::Quick(found.estimate()),
        _ => HeldOut::Unknown,
    })
}

/// What does not depend on data is told before they are read.
fn check_sureness(args: &TrainArgs) -> Result<(), Error> {
    args.stability.map_or(Ok(()), Halves::check)?;
    args.stand_ins.map_or(Ok(()), StandInSearch::check)
}

/// Notes in the model how often its features are selected from halves of the data, and their stand-ins, as far as that was asked for
/// and nobody ends it.
fn how_sure(
    args: &TrainArgs,
    machine: Machine,
    model: &mut Model,
    data: &Dataset,
    validating: &Validating<'_>,
    progress: &Progress,
) -> Result<(), Error> {
    if model.stopped.is_early() {
        return Ok(());
    }
    if let Some(runs) = args.stability {
        validating.stability(runs, machine, model, progress)?;
    }
    let Some(least) = args.stand_ins else { return Ok(()) };
    progress.doing("looking for stand-ins".to_owned());
    let search = StandInSearch { least, context: validating.context().clone() };
    search.note(model, &*data.columns, &data.names, data.labels.weights())
}

/// What is read.
pub(crate) fn inputs(args: &TrainArgs) -> Vec<(&'static str, &Path)> {
    let files = [
        ("the data", Some(args.data.as_path())),
        ("labels", args.input.labels()),
        ("weights", args.weights.as_deref()),
        ("the offset", args.learning.offset.as_deref()),
        ("names", args.names.as_deref()),
        ("the test data", args.test.as_deref()),
        ("test labels", args.test_labels.as_deref()),
        ("groups", args.learning.grouping.file()),
        ("folds", args.cv.file()),
    ];
    let of_space = args.learning.space.files().map(|(parameter, file)| (parameter.help, file));
    files
        .into_iter()
        .filter_map(|(what, file)| Some((what, file?)))
        .chain(of_space)
        .chain(args.people.files())
        .collect()
}

/// What is written.
pub(crate) fn outputs(args: &TrainArgs) -> Vec<(&'static str, &Path)> {
    let files = [("the model", args.output.as_deref()), ("the checkpoint", args.checkpoint.as_deref())];
    files.into_iter().filter_map(|(what, file)| Some((what, file?))).collect()
}

/// Whether data would have to be read into memory; of what cannot be opened, the reader says why.
fn is_read(path: &Path) -> bool {
    if path == Path::new("-") {
        return true;
    }
    let Ok(file) = File::open(path) else { return false };
    let mut head = Vec::new();
    let begins = file.take(8).read_to_end(&mut head).is_ok();
    let mapped = [&b"\x93NUMPY"[..], b"\x6c\x1b"].iter().any(|magic| head.starts_with(magic));
    !(begins && (mapped || store::is_store(path)))
}

/// A reader of the training data.
pub(crate) fn reader(args: &TrainArgs, context: &Context) -> Result<Reader, Error> {
    let options = args.table.options_without(args.cv.fold_column.as_deref())?;
    let mut reader = args.people.tell(args.input.reader(context)).table(options);
    if let Some(file) = &args.names {
        reader = reader.names_file(file);
    }
    if let Some(file) = &args.weights {
        reader = reader.weights_file(file);
    }
    Ok(reader)
}

/// The training and the test data; both before the work begins, so that mistakes are found early.
pub(crate) fn read(
    args: &TrainArgs,
    context: &Context,
    progress: &Progress,
) -> anyhow::Result<(Dataset, Option<Dataset>)> {
    let files = [
        ("data", Some(&args.data)),
        ("test", args.test.as_ref()),
        ("groups", args.learning.grouping.groups.as_ref()),
    ];
    let mut from_input = files.iter().filter(|(_, file)| file.is_some_and(|path| path == Path::new("-")));
    if let Some((name, _)) = from_input.nth(1) {
        return Err(Error::parameter(name, "standard input can only be read once").into());
    }
    if args.memory.is_some() && is_read(&args.data) {
        let reason = "these data would be read into memory; `featgen convert` makes a store of them first";
        return Err(Error::parameter("memory", reason).into());
    }
    let reader = reader(args, context)?;
    progress.doing(format!("reading {}", args.data.display()));
    let train = reader.read(&args.data).map_err(|error| match error {
        // The column that says who belongs together is ignored by the reader.
        Error::Parameter { name: "ignore", reason }
            if args.cv.fold_column.is_some() && !args.table.ignores() =>
        {
            Error::parameter("fold-column", reason)
        }
        other => other,
    })?;
    let read_test = |path| {
        progress.doing(format!("reading {}", Path::display(path)));
        let mut reader = args.input.reader_with_labels(args.test_labels.as_ref(), context);
        // Of other people: variants mean what they mean in training, and tables about people are about all of them.
        if let Some(genotypes) = &train.genotypes {
            reader = args.people.tell(reader).genotypes(genotypes.genotypes(&train.names));
        }
        reader.recipe(train.recipe.as_ref()).read(path)
    };
    let test = args.test.as_deref().map(read_test).transpose()?;
    Ok((train, test))
}

/// The machine knows only numbers; the user wants to know in which file they are.
pub(crate) fn with_source(error: Error, source: &str) -> Error {
    match error {
        Error::Data(reason) => Error::input(source, reason),
        Error::GivenUp(reason) => Error::input(source, reason),
        Error::Value { .. } => Error::input(source, error.to_string()),
        other => other,
    }
}

/// What may surprise about data.
pub(crate) fn data_notes(data: &Dataset) {
    left_out(data);
    data.notes.iter().for_each(|note| crate::note(format_args!("note: {}: {note}", data.source)));
}

/// Who of the people in a file is no instance.
fn left_out(data: &Dataset) {
    let Some(LeftOut { phenotype, covariates, of }) = data.genotypes.as_ref().map(|facts| facts.left_out)
    else {
        return;
    };
    let why =
        [(phenotype, "whose phenotype is not known"), (covariates, "of whom not all covariates are known")];
    let why: Vec<String> =
        why.iter().filter(|(k, _)| *k > 0).map(|(k, why)| format!("{} {why}", count(*k as u64))).collect();
    if !why.is_empty() {
        let (left, of) = (count((phenotype + covariates) as u64), count(of as u64));
        crate::note(format_args!(
            "note: {}: {left} of {of} people left out: {}",
            data.source,
            why.join(", ")
        ));
    }
}

/// What may surprise.
fn notes(args: &TrainArgs, machine: &Machine, model: &Model) {
    if let Some(file) = args.checkpoint.as_deref().filter(|f| model.stopped.is_early() && f.exists()) {
        crate::note(format_args!("note: the same command again goes on from {}", file.display()));
    }
    let unsolved = model.rounds.iter().filter(|round| machine.is_unsolved(round.inner_gap)).count();
    if unsolved > 0 && !model.stopped.is_early() {
        let (rounds, tol) = (plural(unsolved, "round"), args.learning.inner_tol());
        crate::note(format_args!(
            "note: {rounds} not solved to {tol}: weights may be off, though all that is certified holds; features of very \
             different sizes should be scaled"
        ));
    }
    let selected = model.count();
    if args.learning.features.is_some_and(|wanted| selected < wanted) && !model.stopped.is_early() {
        let found = plural(selected, summary::unit(model));
        crate::note(format_args!("note: only {found}: {}", model.stopped.explain()));
    }
}

/// What is said where nothing but the training data is known.
const FLATTERS: &str = "not measured, and training data flatter; --cv 5 measures it, and so does --test FILE";

/// Everything that is shown at the end.
struct Shown<'a> {
    model: &'a Model,
    labels: &'a Labels,
    source: &'a str,
    test: Option<Quality>,
    /// How good predictions of the training data are.
    trained: Option<Scores>,
    held_out: Option<&'a HeldOut>,
    seconds: Seconds,
    saved_as: Option<&'a Path>,
}

impl Shown<'_> {
    fn as_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let asked = match self.held_out {
            Some(HeldOut::Asked(found)) => Some(found.estimate()),
            _ => None,
        };
        json::write(&Report::new(self.model, Some(self.seconds), self.test.clone()).with_cv(asked), out)
    }

    fn for_people(&self, out: &mut dyn Write) -> io::Result<()> {
        let style = Style::of_stdout();
        writeln!(out, "{}\n", crate::plain(&self.header()))?;
        let model = self.saved_as.map_or_else(|| "MODEL".into(), |path| path.display().to_string());
        let elsewhere = format!(" (featgen inspect {model})");
        summary::selected(out, style, self.model, summary::SHOWN, &elsewhere)?;
        writeln!(out)?;
        summary::outcome(self.model, out, style)?;
        let (trained, test) = (self.trained.as_ref(), self.test.as_ref());
        summary::quality(self.model, test, out, style)?;
        summary::baseline(self.model, self.labels, trained, test, out, style)?;
        match self.held_out {
            Some(HeldOut::Asked(found)) => {
                summary::line(out, style, "held out", &validate::told(&found.estimate()))?;
            }
            Some(HeldOut::Quick(estimate)) => {
                summary::line(out, style, "held out", &validate::told(estimate))?;
            }
            Some(HeldOut::Unknown) => summary::line(out, style, "held out", FLATTERS)?,
            Some(HeldOut::Nothing) | None => {}
        }
        summary::line(out, style, "time", &self.times())?;
        let model = match self.saved_as {
            Some(path) => format!("saved in {}", path.display()),
            None => "not saved; -o FILE saves it".into(),
        };
        summary::line(out, style, "model", &model)
    }

    fn header(&self) -> String {
        let training = &self.model.training;
        format!(
            "{}: {} x {}, {} values; {}",
            self.source,
            count(training.n),
            count(training.m),
            count(training.nonzeros),
            summary::outcomes(self.model, self.labels)
        )
    }

    fn times(&self) -> String {
        let Seconds { read, score, generate, solve, total } = self.seconds;
        format!(
            "{} in all: {} reading, {} searching, {} solving",
            seconds(total),
            seconds(read),
            seconds(score + generate),
            seconds(solve)
        )
    }
}
