//! `featgen path`: every number of features, cross-validated.

use std::io::{self, Write};
use std::time::Instant;

use featgen::data::Dataset;
use featgen::machine::Select;
use featgen::model::CrossValidated;
use featgen::validate::{Costs, Curve, Validated};
use featgen::{Context, Error, Machine, Model};
use serde::Serialize;

use crate::args::{Size, TrainArgs};
use crate::json::{self, Quality};
use crate::numbers::{count, plural, seconds, short};
use crate::progress::Progress;
use crate::style::{Paint, Style};
use crate::summary;
use crate::table::{Align, Cell, Table};
use crate::train;
use crate::validate::{self, Validating, error_shown, shown};

pub(crate) fn run(args: &TrainArgs, context: &Context) -> anyhow::Result<u8> {
    let start = Instant::now();
    if args.checkpoint.is_some() {
        return Err(Error::parameter("checkpoint", "goes with `train`: a path is many runs").into());
    }
    for (name, given) in [("stability", args.stability.is_some()), ("stand-ins", args.stand_ins.is_some())] {
        if given {
            return Err(Error::parameter(name, "goes with `train`, which makes one model").into());
        }
    }
    // What does not depend on data is told before they are read.
    asked(args)?.along_path(u128::MAX)?;
    crate::check_outputs(&train::inputs(args), &train::outputs(args))?;
    let mut context = context.clone();
    if let Some(Size(bytes)) = args.memory {
        context = context.memory(bytes);
    }
    let mut progress = Progress::talking(&args.talk, None, &context);
    let (data, test) = train::read(args, &context, &progress)?;
    let validating = Validating::new(args, &data, &context)?;
    let machine = validating
        .study()
        .and_then(|study| study.along_path(&asked(args)?, &context, &data.labels))
        .map_err(|error| train::with_source(error, &data.source))?;
    let costs = match args.learning.costs() {
        // The machine's own: with --select paper it may be doubled.
        Costs::Given(costs) if costs.len() == 1 => Costs::One,
        costs => costs,
    };
    let found = validating
        .run(machine.clone(), costs, &progress)
        .map_err(|error| train::with_source(error, &data.source))?;
    let Some(found) = found else { anyhow::bail!("the cross-validation was interrupted") };
    if found.chosen == 0 {
        return Err(Error::input(data.source.as_str(), "no feature helps in any fold").into());
    }
    let model = match args.output.is_some() || test.is_some() {
        true => Some(Model {
            cv: Some(CrossValidated::new(&found, &found.chosen_estimate())),
            ..refit(args, &machine, &found, &data, &mut progress, &context)?
        }),
        false => None,
    };
    if let (Some(path), Some(model)) = (&args.output, &model) {
        model.save(path)?;
    }
    let tested =
        model.as_ref().zip(test.as_ref()).map(|(model, test)| Quality::of(model, test)).transpose()?;
    progress.finish();
    let result = Shown {
        args,
        data: &data,
        found: &found,
        model: model.as_ref(),
        test: tested,
        spent: start.elapsed().as_secs_f64(),
    };
    crate::print(|out| if args.json { result.as_json(out) } else { result.for_people(out) })?;
    if !args.talk.quiet {
        train::data_notes(&data);
        validating.note().into_iter().for_each(|note| crate::note(format_args!("note: {note}")));
    }
    Ok(crate::SUCCESS)
}

/// The machine that is asked for, before it is known how many features there are.
fn asked(args: &TrainArgs) -> Result<Machine, Error> {
    let cost = match args.learning.costs() {
        Costs::Given(costs) if costs.len() == 1 => Some(costs[0]),
        _ => None,
    };
    args.learning.unchecked(cost)
}

/// The model of all data with as many features, and at the cost, that were chosen.
fn refit(
    args: &TrainArgs,
    path: &Machine,
    found: &Validated,
    data: &Dataset,
    progress: &mut Progress,
    context: &Context,
) -> anyhow::Result<Model> {
    let machine = asked(args)?.at_point(path, found.chosen, found.cost)?;
    let model = train::fit(args, machine, data, progress, context)?.model;
    Ok(match model.select {
        Select::Best => model,
        Select::Paper => model.at_most(found.chosen).unwrap_or(model),
    })
}

/// Everything that is shown at the end.
struct Shown<'a> {
    args: &'a TrainArgs,
    data: &'a Dataset,
    found: &'a Validated,
    model: Option<&'a Model>,
    test: Option<Quality>,
    spent: f64,
}

#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    found: &'a Validated,
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<Quality>,
    seconds: f64,
}

impl Shown<'_> {
    fn as_json(&self, out: &mut dyn Write) -> io::Result<()> {
        json::write(&Report { found: self.found, test: self.test.clone(), seconds: self.spent }, out)
    }

    fn for_people(&self, out: &mut dyn Write) -> io::Result<()> {
        let (style, found) = (Style::of_stdout(), self.found);
        let (rows, columns) = (self.data.columns.rows(), self.data.columns.dimension());
        writeln!(out, "{}: {} x {}\n", crate::plain(&self.data.source), count(rows as u64), count(columns))?;
        self.points().write(out, style)?;
        writeln!(out)?;
        if style.has_bars() {
            for line in crate::plot::path(&found.points, found.metric, found.chosen, style) {
                writeln!(out, "{line}")?;
            }
            writeln!(out)?;
        }
        if found.costs.len() > 1 {
            self.costs().write(out, style)?;
            writeln!(out)?;
        }
        summary::line(out, style, "chosen", &self.chosen())?;
        summary::line(out, style, "held out", &validate::told(&found.chosen_estimate()))?;
        if let Some((model, test)) = self.model.zip(self.test.as_ref()) {
            summary::quality(model, Some(test), out, style)?;
        }
        summary::line(out, style, "time", &seconds(self.spent))?;
        let model = match &self.args.output {
            Some(path) => format!("saved in {}: {}", path.display(), self.repeated()),
            None => format!("not saved; -o FILE saves it: {}", self.repeated()),
        };
        summary::line(out, style, "model", &model)
    }

    /// All numbers of features.
    fn points(&self) -> Table {
        let found = self.found;
        let mark = |features: usize| match (features == found.chosen, features == found.best) {
            (true, true) => Cell::painted(Paint::Bold, "chosen, and the best"),
            (true, false) => Cell::painted(Paint::Bold, "chosen"),
            (false, true) => Cell::from("best".to_owned()),
            _ => Cell::from(String::new()),
        };
        Table::new()
            .numbers("features", found.points.iter().map(|point| count(point.features as u64)))
            .numbers(found.metric, found.points.iter().map(|point| shown(found.metric, point.mean)))
            .numbers("±", found.points.iter().map(|point| error_shown(found.metric, point.se)))
            .column("", Align::Left, found.points.iter().map(|point| mark(point.features)))
    }

    /// The best number of features at each cost.
    fn costs(&self) -> Table {
        let found = self.found;
        let metric = featgen::validate::Metric::find(found.metric);
        let merit = |mean: f64| metric.map_or(mean, |metric| metric.merit(mean));
        let best = |curve: &Curve| {
            let points = curve.points.iter();
            points.max_by(|a, b| merit(a.mean).total_cmp(&merit(b.mean))).cloned()
        };
        let of = |show: fn(&str, &featgen::validate::Point) -> String| {
            found
                .costs
                .iter()
                .map(move |curve| best(curve).map_or_else(String::new, |p| show(found.metric, &p)))
        };
        let mark = |k: usize| if k == found.cost_index { "chosen" } else { "" };
        Table::new()
            .numbers("cost", found.costs.iter().map(|curve| short(curve.cost)))
            .numbers("best with", of(|_, point| plural(point.features, "feature")))
            .numbers(found.metric, of(|metric, point| shown(metric, point.mean)))
            .numbers("±", of(|metric, point| error_shown(metric, point.se)))
            .column("", Align::Left, (0..found.costs.len()).map(|k| Cell::from(mark(k).to_owned())))
    }

    fn chosen(&self) -> String {
        let found = self.found;
        let chosen = plural(found.chosen, "feature");
        let text = match found.chosen == found.best {
            true => format!("{chosen}: the best, and no smaller number is within one standard error of it"),
            false => format!("{chosen}: the fewest within one standard error of the best ({})", found.best),
        };
        match found.points.last() {
            Some(last) if last.features == found.best => text + "; --features N tries more",
            _ => text,
        }
    }

    /// What the model is.
    fn repeated(&self) -> String {
        format!("{} at cost {}", plural(self.found.chosen, "feature"), short(self.found.cost))
    }
}
