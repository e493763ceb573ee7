//! `featgen path`: every number of features, cross-validated.

use std::io::{self, Write};
use std::time::Instant;

use featgen::data::Dataset;
use featgen::machine::Select;
use featgen::model::CrossValidated;
use featgen::validate::{Costs, Metric, Point, Validated};
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

/// One of the combinations that are compared: what is asked for, and what it has of lists.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) args: &'a TrainArgs,
    pub(crate) values: &'a [(&'static str, String)],
}

/// A combination, its machine, and what was found.
struct Compared<'a> {
    asked: Asked<'a>,
    machine: Machine,
    found: Validated,
}

pub(crate) fn run(combinations: &[Asked<'_>], context: &Context) -> anyhow::Result<u8> {
    let start = Instant::now();
    let args = combinations[0].args;
    if args.checkpoint.is_some() {
        return Err(Error::parameter("checkpoint", "goes with `train`: a path is many runs").into());
    }
    for (name, given) in [("stability", args.stability.is_some()), ("stand-ins", args.stand_ins.is_some())] {
        if given {
            return Err(Error::parameter(name, "goes with `train`, which makes one model").into());
        }
    }
    // What does not depend on data is told before they are read.
    let outputs = combinations
        .iter()
        .map(|one| Ok(asked(one.args)?.along_path(u128::MAX)?.loss_in_use().output()))
        .collect::<Result<Vec<_>, Error>>()?;
    if outputs.iter().any(|output| *output != outputs[0]) {
        return Err(
            Error::parameter("loss", "losses that are compared must be of the same kind of outcome").into()
        );
    }
    crate::check_outputs(&train::inputs(args), &train::outputs(args))?;
    let mut context = context.clone();
    if let Some(Size(bytes)) = args.memory {
        context = context.memory(bytes);
    }
    let mut progress = Progress::talking(&args.talk, None, &context);
    let (data, test) = train::read(args, &context, &progress)?;
    let compared = combinations
        .iter()
        .map(|&asked| compared(asked, &data, &progress, &context))
        .collect::<anyhow::Result<Vec<Compared<'_>>>>()?;
    let chosen = best_of(&compared);
    let Compared { asked: Asked { args, .. }, machine, found } = &compared[chosen];
    if found.chosen == 0 {
        return Err(Error::input(data.source.as_str(), "no feature helps in any fold").into());
    }
    let model = match args.output.is_some() || test.is_some() {
        true => Some(Model {
            cv: Some(CrossValidated::new(found, &found.chosen_estimate())),
            ..refit(args, machine, found, &data, &mut progress, &context)?
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
        found,
        compared: &compared,
        chosen,
        model: model.as_ref(),
        test: tested,
        spent: start.elapsed().as_secs_f64(),
    };
    crate::print(|out| if args.json { result.as_json(out) } else { result.for_people(out) })?;
    if !args.talk.quiet {
        train::data_notes(&data);
        let note = Validating::new(args, &data, &context)?.note();
        note.into_iter().for_each(|note| crate::note(format_args!("note: {note}")));
    }
    Ok(crate::SUCCESS)
}

/// Runs all folds of one combination.
fn compared<'a>(
    combination: Asked<'a>,
    data: &Dataset,
    progress: &Progress,
    context: &Context,
) -> anyhow::Result<Compared<'a>> {
    let args = combination.args;
    let validating = Validating::new(args, data, context)?;
    let machine = validating
        .study()
        .and_then(|study| study.along_path(&asked(args)?, context, &data.labels))
        .map_err(|error| train::with_source(error, &data.source))?;
    let costs = match args.learning.costs() {
        // The machine's own: with --select paper it may be doubled.
        Costs::Given(costs) if costs.len() == 1 => Costs::One,
        costs => costs,
    };
    let found = validating
        .run(machine.clone(), costs, progress)
        .map_err(|error| train::with_source(error, &data.source))?;
    let Some(found) = found else { anyhow::bail!("the cross-validation was interrupted") };
    Ok(Compared { asked: combination, machine, found })
}

/// The combination whose best number of features is best; of equals the first.
fn best_of(compared: &[Compared<'_>]) -> usize {
    let metric = Metric::find(compared[0].found.metric);
    let merit = |k: usize| {
        let mean = compared[k].found.best_point().mean;
        metric.map_or(mean, |metric| metric.merit(mean))
    };
    (0..compared.len()).rev().max_by(|&a, &b| merit(a).total_cmp(&merit(b))).unwrap_or(0)
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
    compared: &'a [Compared<'a>],
    /// Which of these was found best.
    chosen: usize,
    model: Option<&'a Model>,
    test: Option<Quality>,
    spent: f64,
}

#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    found: &'a Validated,
    /// What was found best of lists.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    options: Vec<Choice<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    combinations: Vec<Listed<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<Quality>,
    seconds: f64,
}

/// One of the combinations of what is listed, with its best number of features.
#[derive(Serialize)]
struct Listed<'a> {
    options: Vec<Choice<'a>>,
    best: usize,
    mean: f64,
    se: f64,
}

impl<'a> Listed<'a> {
    fn new(one: &'a Compared<'_>) -> Self {
        let point = one.found.best_point();
        Self { options: options(one.asked.values), best: point.features, mean: point.mean, se: point.se }
    }
}

/// An option that was a list, and one of its values.
#[derive(Serialize)]
struct Choice<'a> {
    name: &'static str,
    value: &'a str,
}

/// What a combination has of lists.
fn options<'a>(values: &'a [(&'static str, String)]) -> Vec<Choice<'a>> {
    values.iter().map(|(name, value)| Choice { name, value }).collect()
}

impl Shown<'_> {
    fn as_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let several = self.compared.iter().filter(|_| self.compared.len() > 1);
        let report = Report {
            found: self.found,
            options: options(self.compared[self.chosen].asked.values),
            combinations: several.map(Listed::new).collect(),
            test: self.test.clone(),
            seconds: self.spent,
        };
        json::write(&report, out)
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
        if self.compared.len() > 1 {
            self.combinations().write(out, style)?;
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
        let of = |show: fn(&str, &Point) -> String| {
            found.costs.iter().map(move |curve| {
                found.best_of(&curve.points).map_or_else(String::new, |point| show(found.metric, point))
            })
        };
        let mark = |k: usize| if k == found.cost_index { "chosen" } else { "" };
        Table::new()
            .numbers("cost", found.costs.iter().map(|curve| short(curve.cost)))
            .numbers("best with", of(|_, point| plural(point.features, "feature")))
            .numbers(found.metric, of(|metric, point| shown(metric, point.mean)))
            .numbers("±", of(|metric, point| error_shown(metric, point.se)))
            .column("", Align::Left, (0..found.costs.len()).map(|k| Cell::from(mark(k).to_owned())))
    }

    /// The best number of features of each combination of what is listed.
    fn combinations(&self) -> Table {
        let (found, compared) = (self.found, self.compared);
        let of = |show: fn(&str, &Point) -> String| {
            compared.iter().map(move |one| show(found.metric, one.found.best_point()))
        };
        let mark = |k: usize| if k == self.chosen { "chosen" } else { "" };
        let lists = 0..compared[0].asked.values.len();
        let table = lists.fold(Table::new(), |table, k| {
            let values = compared.iter().map(move |one| Cell::from(one.asked.values[k].1.clone()));
            table.column(compared[0].asked.values[k].0, Align::Left, values)
        });
        table
            .numbers("best with", of(|_, point| plural(point.features, "feature")))
            .numbers(found.metric, of(|metric, point| shown(metric, point.mean)))
            .numbers("±", of(|metric, point| error_shown(metric, point.se)))
            .column("", Align::Left, (0..compared.len()).map(|k| Cell::from(mark(k).to_owned())))
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
        let listed = self.compared[self.chosen].asked.values.iter();
        let listed: String = listed.map(|(name, value)| format!(", --{name} {value}")).collect();
        format!("{} at cost {}{listed}", plural(self.found.chosen, "feature"), short(self.found.cost))
    }
}
