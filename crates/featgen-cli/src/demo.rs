//! `featgen demo`: make data, forget the truth, find it again, compare.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use featgen::model::Term;
use featgen::space::Feature;
use featgen::synth::{Linear, Made};
use featgen::{Error, LinearSpace, Machine, Model};

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

/// Features that are shown before the list is cut.
const SHOWN: usize = 20;

pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<ExitCode> {
    if args.select == 0 || args.select > args.features {
        return Err(Error::parameter("select", format!("must be within 1 and {}", args.features)).into());
    }
    let mut progress = Progress::new(Some(args.select));
    progress.doing("making data");
    let &DemoArgs { rows, features, relevant, seed, .. } = args;
    let made =
        Linear { rows, test_rows: TEST_ROWS, features, relevant, seed, ..Linear::default() }.generate()?;
    let start = Instant::now();
    // Small enough a cost for a telling certificate; the refit makes up for what it takes from the weights.
    let machine = Machine::new().features(args.select).cost(20.0 / rows as f64).debias(1.0);
    let machine = machine.interrupt(interrupt::flag());
    let model = machine.fit_observed(&LinearSpace::new(&made.train), &made.train.labels, &mut progress)?;
    let spent = start.elapsed().as_secs_f64();
    progress.finish();
    let decision = model.decision(&made.test)?;
    let scores = model.truth(&made.test).map(|truth| model.scores(&decision, &truth));
    let test = Quality::new(decision.len(), scores);
    crate::print(|out| show(args, &made, &model, test, spent, out))?;
    Ok(ExitCode::SUCCESS)
}

fn show(
    args: &DemoArgs,
    made: &Made,
    model: &Model,
    test: Quality,
    spent: f64,
    out: &mut dyn Write,
) -> io::Result<()> {
    let style = Style::of_stdout();
    let weight = |term: &&Term| {
        let Feature::Input(id) = term.feature else { return None };
        made.truth.weight(id)
    };
    writeln!(
        out,
        "{} of {}, of which {} decide the class. Which?\n",
        plural(args.rows, "instance"),
        plural(args.features, "normal feature"),
        count(args.relevant as u64)
    )?;
    let selected = model.selected();
    let (shown, rest) = selected.split_at(selected.len().min(SHOWN));
    let truth = |term: &&Term| match weight(term) {
        Some(weight) => Cell::from(short(weight)),
        None => Cell::painted(Paint::Dim, "irrelevant"),
    };
    summary::features(shown, style)
        .column("true weight", Align::Right, shown.iter().map(truth))
        .write(out, style)?;
    if !rest.is_empty() {
        let more = format!("  ... and {} more", count(rest.len() as u64));
        writeln!(out, "{}", style.paint(Paint::Dim, &more))?;
    }
    writeln!(out)?;
    summary::outcome(model, out, style)?;
    summary::line(out, style, "accuracy", &summary::accuracy(model, Some(test)))?;
    let found = selected.iter().filter(|term| weight(term).is_some()).count();
    let by_chance = selected.len() as f64 * args.relevant as f64 / args.features as f64;
    let text = format!(
        "{} of the {} selected are truly relevant; chance would find {by_chance:.1}",
        count(found as u64),
        count(selected.len() as u64)
    );
    summary::line(out, style, "truth", &text)?;
    summary::line(out, style, "time", &format!("{} for selecting", seconds(spent)))?;
    let &DemoArgs { rows, features, relevant, .. } = args;
    writeln!(out, "\nMore of this, as files:")?;
    writeln!(out, "  featgen synth linear -o toy --rows {rows} --features {features} --relevant {relevant}")
}
