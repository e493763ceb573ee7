//! `featgen train`: read, select, fit, save, show.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use featgen::data::read::{LeftOut, read_offsets};
use featgen::data::{Columns, Dataset, Except, Labels, store};
use featgen::{Context, Error, Machine, Model};

use crate::args::{Size, TrainArgs};
use crate::json::{self, Quality, Report, Seconds};
use crate::numbers::{count, plural, seconds};
use crate::progress::Progress;
use crate::style::Style;
use crate::summary;
use crate::{interrupt, keep, predict, space};

pub(crate) fn run(args: &TrainArgs, context: &Context) -> anyhow::Result<u8> {
    let start = Instant::now();
    let mut machine = args.learning.machine()?;
    crate::check_outputs(&inputs(args), &outputs(args))?;
    if let Some(file) = &args.checkpoint {
        machine = machine.checkpoint(file);
    }
    let interrupted = Arc::default();
    let mut context = context.clone().interrupt(Arc::clone(&interrupted));
    if let Some(Size(bytes)) = args.memory {
        context = context.memory(bytes);
    }
    machine = machine.context(&context);
    let mut progress = Progress::talking(&args.talk, args.learning.features, &context);
    let (train, test) = read(args, &context, &progress)?;
    let read = start.elapsed().as_secs_f64();
    let kept = keep::kept(args.learning.keep.as_deref(), &train)?;
    let others = Except::new(&*train.columns, kept.ids().iter().copied());
    let columns: &dyn Columns = if kept.ids().is_empty() { &*train.columns } else { &others };
    let scale = space::scale(&args.learning, machine.select_in_use()?, columns, &train)?;
    let mut chosen = space::chosen(&args.learning, columns, &train, &progress, &context, scale.as_ref())
        .map_err(|error| with_source(error, &train.source))?;
    machine = machine.keep(kept);
    if let Some(file) = &args.learning.offset {
        machine = machine.offset(read_offsets(file, Some(train.columns.rows()))?);
    }
    machine.limit_memory(&mut *chosen.space, &train.labels)?;
    let prepared = start.elapsed().as_secs_f64() - read;
    progress.counting(chosen.unit());
    progress.doing(format!("looking at {} {}s", count(chosen.space.size()), chosen.unit()));
    interrupt::watch(&interrupted);
    let model = machine
        .fit_observed(&*chosen.space, &train.labels, &mut progress)
        .map_err(|error| with_source(error, &train.source))?;
    let model = chosen.describe(model).with_scaling(args.learning.scaling());
    let model = model.with_genotypes(train.genotypes.as_ref());
    let model = model.with_recipe(train.recipe.as_ref());
    let tested = test.as_ref().map(|test| Quality::of(&model, test)).transpose();
    progress.finish();

    let saved = args.output.as_deref().map_or(Ok(()), |path| model.save(path));
    let result = Shown {
        model: &model,
        labels: &train.labels,
        source: &train.source,
        test: tested.as_ref().ok().cloned().flatten(),
        seconds: Seconds::of(&model, read, prepared, start.elapsed().as_secs_f64()),
        saved_as: args.output.as_deref().filter(|_| saved.is_ok()),
    };
    // Shown even if it could not be saved or tested: the work must not be lost.
    let printed = crate::print(|out| if args.json { result.as_json(out) } else { result.for_people(out) });
    saved?;
    printed?;
    tested?;
    if let Some(test) = &test {
        let known = test.labels.is_empty() || model.truth(&test.labels).is_some();
        predict::notes(&model, &test.source, known, &predict::lacking_in(&model, test), args.talk.quiet);
    }
    if !args.talk.quiet {
        [Some(&train), test.as_ref()].into_iter().flatten().for_each(left_out);
        for data in std::iter::once(&train).chain(&test) {
            data.notes.iter().for_each(|note| crate::note(format_args!("note: {}: {note}", data.source)));
        }
        chosen.notes.iter().for_each(|note| crate::note(format_args!("note: {note}")));
        notes(args, &machine, &model);
    }
    Ok(interrupt::exit_code(model.stopped))
}

/// What is read.
fn inputs(args: &TrainArgs) -> Vec<(&'static str, &Path)> {
    let files = [
        ("the data", Some(args.data.as_path())),
        ("labels", args.input.labels()),
        ("weights", args.weights.as_deref()),
        ("the offset", args.learning.offset.as_deref()),
        ("names", args.names.as_deref()),
        ("the test data", args.test.as_deref()),
        ("test labels", args.test_labels.as_deref()),
        ("groups", args.learning.grouping.file()),
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
fn outputs(args: &TrainArgs) -> Vec<(&'static str, &Path)> {
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

/// The training and the test data; both before the work begins, so that mistakes are found early.
fn read(
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
    let mut reader = args.people.tell(args.input.reader(context)).table(args.table.options()?);
    if let Some(file) = &args.names {
        reader = reader.names_file(file);
    }
    if let Some(file) = &args.weights {
        reader = reader.weights_file(file);
    }
    progress.doing(format!("reading {}", args.data.display()));
    let train = reader.read(&args.data)?;
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
fn with_source(error: Error, source: &str) -> Error {
    match error {
        Error::Data(reason) => Error::input(source, reason),
        Error::GivenUp(reason) => Error::input(source, reason),
        other => other,
    }
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

/// Everything that is shown at the end.
struct Shown<'a> {
    model: &'a Model,
    labels: &'a Labels,
    source: &'a str,
    test: Option<Quality>,
    seconds: Seconds,
    saved_as: Option<&'a Path>,
}

impl Shown<'_> {
    fn as_json(&self, out: &mut dyn Write) -> io::Result<()> {
        json::write(&Report::new(self.model, Some(self.seconds), self.test.clone()), out)
    }

    fn for_people(&self, out: &mut dyn Write) -> io::Result<()> {
        let style = Style::of_stdout();
        writeln!(out, "{}\n", crate::plain(&self.header()))?;
        let model = self.saved_as.map_or_else(|| "MODEL".into(), |path| path.display().to_string());
        let elsewhere = format!(" (featgen inspect {model})");
        summary::selected(out, style, self.model, summary::SHOWN, &elsewhere)?;
        writeln!(out)?;
        summary::outcome(self.model, out, style)?;
        summary::quality(self.model, self.test.as_ref(), out, style)?;
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
