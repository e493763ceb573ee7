//! `featgen demo`: make data, forget the truth, find it again, compare.

use std::io::{self, Write};
use std::time::Instant;

use featgen::model::Term;
use featgen::synth::{Linear, Truth};
use featgen::{Context, Error, LinearSpace, Machine, Model};

use crate::args::DemoArgs;
use crate::interrupt;
use crate::json::Quality;
use crate::numbers::{count, plural, seconds, short};
use crate::progress::Progress;
use crate::style::{Paint, Style};
use crate::summary;
use crate::table::{Align, Cell};

/// Instances that the model is tested on.
const TEST_ROWS: usize = 1000;

/// How near to the best the features are to be proven, and for how many seconds that is tried.
const PROVEN: f64 = 0.01;
const PATIENCE: f64 = 20.0;

pub(crate) fn run(args: &DemoArgs, context: &Context) -> anyhow::Result<u8> {
    if args.select == 0 || args.select > args.features {
        return Err(Error::parameter("select", format!("must be within 1 and {}", args.features)).into());
    }
    let mut progress = Progress::new(Some(args.select), context);
    progress.doing("making data");
    let &DemoArgs { rows, features, relevant, seed, .. } = args;
    let made =
        Linear { rows, test_rows: TEST_ROWS, features, relevant, seed, ..Linear::default() }.generate()?;
    let start = Instant::now();
    // Small enough a cost for a proof in no time; the refit makes up for what it takes from the weights.
    let machine = Machine::new().features(args.select).cost(2.0 / rows as f64).debias(1.0);
    let machine =
        machine.prove(PROVEN).time_limit(PATIENCE).context(&context.clone().interrupt(interrupt::flag()));
    let model = machine.fit_observed(&LinearSpace::new(&made.train), &made.train.labels, &mut progress)?;
    let spent = start.elapsed().as_secs_f64();
    progress.finish();
    let test = Quality::of(&model, &made.test)?;
    crate::print(|out| {
        show(args, &made.truth, &model, out)?;
        compare(args, &made.truth, &model, test, spent, out)
    })?;
    Ok(interrupt::exit_code(model.stopped))
}

/// The weight that made the labels; `None` if the feature had none.
fn true_weight(truth: &Truth, term: &Term) -> Option<f64> {
    truth.weight(term.feature.as_input()?)
}

/// The question, and the features that the machine found.
fn show(args: &DemoArgs, truth: &Truth, model: &Model, out: &mut dyn Write) -> io::Result<()> {
    let style = Style::of_stdout();
    writeln!(
        out,
        "{} of {}, of which {} decide the class. Which?\n",
        plural(args.rows, "instance"),
        plural(args.features, "normal feature"),
        count(args.relevant as u64)
    )?;
    let cell = |term: &&Term| match true_weight(truth, term) {
        Some(weight) => Cell::from(short(weight)),
        None => Cell::painted(Paint::Dim, "irrelevant"),
    };
    summary::selection(out, style, &model.selected(), summary::SHOWN, "", |table, shown| {
        table.column("true weight", Align::Right, shown.iter().map(cell))
    })
}

/// How good they are, and how many are the true ones.
fn compare(
    args: &DemoArgs,
    truth: &Truth,
    model: &Model,
    test: Quality,
    spent: f64,
    out: &mut dyn Write,
) -> io::Result<()> {
    let style = Style::of_stdout();
    writeln!(out)?;
    summary::outcome(model, out, style)?;
    summary::quality(model, Some(&test), out, style)?;
    let &DemoArgs { rows, features, relevant, .. } = args;
    let selected = model.selected();
    let found = selected.iter().filter(|term| true_weight(truth, term).is_some()).count();
    let by_chance = selected.len() as f64 * relevant as f64 / features as f64;
    let text = format!(
        "{} of the {} selected are truly relevant; chance would find {by_chance:.1}",
        count(found as u64),
        count(selected.len() as u64)
    );
    summary::line(out, style, "truth", &text)?;
    summary::line(out, style, "time", &format!("{} for selecting", seconds(spent)))?;
    writeln!(out, "\nMore of this, as files:")?;
    writeln!(out, "  featgen synth linear -o toy --rows {rows} --features {features} --relevant {relevant}")
}
