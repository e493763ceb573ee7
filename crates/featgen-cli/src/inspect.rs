//! `featgen inspect`: what a model, a store or a table holds.

use std::io::{self, Write};

use featgen::Model;
use featgen::data::read::Reader;
use featgen::data::store;
use featgen::model::{Certificate, Round};

use crate::args::InspectArgs;
use crate::json::{self, Report};
use crate::numbers::{count, percent, short, small_percent};
use crate::style::Style;
use crate::summary;
use crate::table::Table;
use crate::{columns, stored};

pub(crate) fn run(args: &InspectArgs) -> anyhow::Result<u8> {
    if store::is_store(&args.model) {
        stored::show(&args.model, args.json)?;
        return Ok(crate::SUCCESS);
    }
    if Reader::is_table(&args.model) {
        columns::show(args)?;
        return Ok(crate::SUCCESS);
    }
    let model = Model::load(&args.model)?;
    if args.json {
        crate::print(|out| json::write(&Report::new(&model, None, None), out))?;
    } else {
        crate::print(|out| for_people(args, &model, out))?;
    }
    Ok(crate::SUCCESS)
}

fn for_people(args: &InspectArgs, model: &Model, out: &mut dyn Write) -> io::Result<()> {
    let style = Style::of_stdout();
    let training = &model.training;
    let header = format!(
        "{}: {}, {} loss, trained on {} x {}",
        args.model.display(),
        summary::predicts(model),
        model.loss,
        count(training.n),
        count(training.m)
    );
    writeln!(out, "{}\n", crate::plain(&header))?;
    if args.path {
        path(model).write(out, style)?;
    } else {
        let limit = args.top.unwrap_or(usize::MAX);
        if args.members {
            summary::selection(out, style, &model.selected(), limit, "", |table, shown| {
                summary::with_groups(table, shown, model)
            })?;
        } else {
            summary::selected(out, style, model, limit, "")?;
        }
    }
    writeln!(out)?;
    summary::outcome(model, out, style)?;
    summary::quality(model, None, out, style)
}

/// A row per round; the cost only where it was raised on the way, candidates scored only where not all were.
fn path(model: &Model) -> Table {
    let rounds = &model.rounds;
    let gap = |r: &Round| Certificate { objective: r.objective, lower_bound: r.lower_bound }.gap();
    let mut table = Table::new()
        .numbers("round", rounds.iter().map(|r| r.round.to_string()))
        .numbers(&format!("{}s", summary::unit(model)), rounds.iter().map(|r| count(r.selected as u64)))
        .numbers("objective", rounds.iter().map(|r| short(r.objective)))
        .numbers("lower bound", rounds.iter().map(|r| short(r.lower_bound)))
        .numbers("gap", rounds.iter().map(|r| small_percent(gap(r))))
        .numbers(summary::fit_name(model), rounds.iter().map(|r| percent(r.fit().part())));
    if rounds.iter().any(|r| r.scored < model.training.candidates) {
        table = table.numbers("scored", rounds.iter().map(|r| count(r.scored)));
    }
    if rounds.windows(2).any(|pair| pair[0].cost != pair[1].cost) {
        table = table.numbers("cost", rounds.iter().map(|r| r.cost.to_string()));
    }
    table
}
