//! `featgen inspect DATA.csv`: what the columns of a table are, and what becomes of each.

use std::io::{self, Write};

use featgen::Result;
use featgen::data::read::Reader;
use featgen::table::{Described, Fate, How, Schema, Written};
use serde::Serialize;

use crate::args::InspectArgs;
use crate::json;
use crate::numbers::{count, plural, short};
use crate::style::Style;
use crate::table::{Align, Table};

#[derive(Serialize)]
struct Report<'a> {
    rows: u64,
    columns: Vec<Column<'a>>,
}

#[derive(Serialize)]
struct Column<'a> {
    column: &'a str,
    kind: &'a str,
    missing: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    levels: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<[f64; 2]>,
    inputs: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<String>,
}

/// Reads the whole table and shows what was found.
pub(crate) fn show(args: &InspectArgs) -> anyhow::Result<()> {
    let schema = schema(args)?;
    crate::print(|out| match args.json {
        true => json::write(&report(&schema), out),
        false => for_people(args, &schema, out),
    })
}

fn schema(args: &InspectArgs) -> Result<Schema> {
    let mut reader = Reader::new().require_labels(args.label.is_some()).table(args.table.options()?);
    if let Some(label) = &args.label {
        reader = reader.label_column(label);
    }
    reader.schema(&args.model)
}

fn report(schema: &Schema) -> Report<'_> {
    Report { rows: schema.rows, columns: schema.columns.iter().map(reported).collect() }
}

fn reported(column: &Described) -> Column<'_> {
    let left_out = match &column.fate {
        Fate::LeftOut(why) => Some(why.to_string()),
        Fate::Ignored => Some("as asked".to_owned()),
        Fate::Taken(_) | Fate::Outcome => None,
    };
    Column {
        column: &column.name,
        kind: column.kind.name(),
        missing: column.missing,
        levels: column.levels,
        range: column.range,
        inputs: column.fate.inputs(),
        left_out,
    }
}

fn for_people(args: &InspectArgs, schema: &Schema, out: &mut dyn Write) -> io::Result<()> {
    let style = Style::of_stdout();
    let all = &schema.columns;
    let (inputs, left) =
        (all.iter().map(|c| c.fate.inputs()).sum(), all.iter().filter(|c| c.fate.inputs() > 0).count());
    let header = format!(
        "{}: a table of {} rows and {}, of which {} make {}",
        args.model.display(),
        count(schema.rows),
        plural(all.len(), "column"),
        count(left as u64),
        plural(inputs, "input")
    );
    writeln!(out, "{}\n", crate::plain(&header))?;
    let shown = &all[..all.len().min(args.top.unwrap_or(usize::MAX))];
    let missing = |column: &Described| match column.missing {
        0 => String::new(),
        n => count(n),
    };
    Table::new()
        .column("column", Align::Left, shown.iter().map(|column| column.name.clone()))
        .column("kind", Align::Left, shown.iter().map(|column| column.kind.name().to_owned()))
        .numbers("missing", shown.iter().map(missing))
        .column("values", Align::Left, shown.iter().map(values))
        .column("becomes", Align::Left, shown.iter().map(|column| becomes(&column.fate)))
        .write(out, style)?;
    match all.len() - shown.len() {
        0 => Ok(()),
        more => writeln!(out, "  ... and {} more", count(more as u64)),
    }
}

/// The range of numbers, or how many levels there are.
fn values(column: &Described) -> String {
    match (column.range, column.levels, &column.fate) {
        (Some([low, high]), ..) => format!("{} to {}", short(low), short(high)),
        (None, Some(n), _) => format!("{} different", count(n)),
        (None, None, _) => String::new(),
    }
}

/// What becomes of a column, and why it is left out.
fn becomes(fate: &Fate) -> String {
    match fate {
        Fate::Outcome => "what is to be predicted".into(),
        Fate::Ignored => "left out, as asked".into(),
        Fate::LeftOut(why) => format!("left out: {why}"),
        Fate::Taken(How::Number(number)) => {
            let what = match number.written {
                Written::Point => "a number",
                Written::Grouped => "a number, of thousands apart",
                Written::Comma => "a number, with a decimal comma",
                Written::Truth => "1 if true, 0 if false",
                Written::Iso | Written::DayFirst | Written::MonthFirst => "days since 1970",
            };
            let also = if number.indicator { ", and whether it is missing" } else { "" };
            format!("{what}{also}")
        }
        Fate::Taken(How::Category(category)) => {
            let also = match (category.other, category.missing) {
                (true, true) => ", other and missing",
                (true, false) => " and other",
                (false, true) => " and missing",
                (false, false) => "",
            };
            format!("{}{also}", plural(category.levels.len(), "level"))
        }
    }
}
