//! One file of Python that needs the standard library only: tables of the model, its decisions, and a runtime that is always the same.

use std::fmt::Write as _;

use featgen::objective::Output;
use featgen::table::Written;

use crate::expr::Language;
use crate::plan::{Kind, Plan, Texts, Value};

const HEAD: &str = r#""""A model made by featgen, for Python 3.8 or newer; it needs no package.

decision(row), predict(row) and probabilities(row) take a row of data as it stands in a table: a dictionary by the names in
COLUMNS, or a sequence in their order (where columns have no names: a whole row, or a dictionary by numbers from 1). Cells are
numbers, dates or text; None, NaN and "" are missing. As a program it reads a table (CSV) and prints predictions:

    python3 THIS_FILE < table.csv
"""

import csv
import math
import os
import sys
from bisect import bisect_left
from datetime import date, datetime, timedelta, timezone

"#;

const RUNTIME: &str = include_str!("python/runtime.py");

struct Python;

impl Language for Python {
    const SINE: &'static str = "math.sin";
    const SIZE: &'static str = "abs";

    fn number(&self, x: f64) -> String {
        format!("{x:?}")
    }

    fn value(&self, value: usize) -> String {
        format!("v[{value}]")
    }

    fn stairs(&mut self, x: String, points: &[(f64, f64)]) -> String {
        let list = |of: fn(&(f64, f64)) -> f64| {
            points.iter().map(|point| format!("{:?},", of(point))).collect::<String>()
        };
        format!("_stairs({x}, ({}), ({}))", list(|p| p.0), list(|p| p.1))
    }
}

/// A string of Python.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            ' '..='~' => quoted.push(c),
            c if c.is_alphanumeric() => quoted.push(c),
            c => write!(quoted, "\\U{:08x}", c as u32).expect("strings take all"),
        }
    }
    quoted + "\""
}

fn place(place: Option<usize>) -> String {
    place.map_or("None".into(), |place| place.to_string())
}

fn texts(texts: &Texts) -> String {
    let levels: Vec<String> =
        texts.levels.iter().enumerate().map(|(k, level)| format!("{}: {k}", quoted(level))).collect();
    format!("({{{}}}, {}, {})", levels.join(", "), place(texts.other), place(texts.missing))
}

fn written(written: Written) -> &'static str {
    match written {
        Written::Point => "point",
        Written::Grouped => "grouped",
        Written::Comma => "comma",
        Written::Truth => "truth",
        Written::Iso => "iso",
        Written::DayFirst => "day-first",
        Written::MonthFirst => "month-first",
    }
}

pub(crate) fn write(plan: &Plan) -> String {
    let mut text = HEAD.to_owned();
    text += "#: Name, how cells are written, and what takes the place of a missing number; of text, the places of levels, of all\n\
             #: others and of none.\nCOLUMNS = (\n";
    for column in &plan.columns {
        let (how, rest) = match &column.kind {
            Kind::Number { written: how, fill } => {
                (written(*how), fill.map_or("None".into(), |x| format!("{x:?}")))
            }
            Kind::Text(known) => ("text", texts(known)),
        };
        text += &format!("    ({}, \"{how}\", {rest}),\n", quoted(&column.name));
    }
    text += ")\n#: The cells of a row, where columns have no names.\n";
    text += &format!("WIDTH = {}\n", plan.width.map_or("None".into(), |width| width.to_string()));
    text += "#: What terms are made of: a column, by its place, and what of it.\nVALUES = (\n";
    for value in &plan.values {
        text += &match *value {
            Value::Number(column) => format!("    ({column}, None),\n"),
            Value::Missing(column) => format!("    ({column}, \"missing\"),\n"),
            Value::Place(column, place) => format!("    ({column}, {place}),\n"),
        };
    }
    let classes: String = plan.classes.iter().map(|class| quoted(class) + ", ").collect();
    let output = match plan.output {
        Output::Classes => "classes",
        Output::Number => "number",
        Output::Rate => "rate",
        Output::Risk => "risk",
    };
    let probabilities = if plan.probabilities { "True" } else { "False" };
    text +=
        &format!(")\nOUTPUT = \"{output}\"\nCLASSES = ({classes})\nPROBABILITIES = {probabilities}\n\n\n");
    text += "def _decisions(v):\n    return [\n";
    for k in 0..plan.outputs() {
        text += &format!("    {},\n", Python.written(&plan.decision(k)));
    }
    text += "    ]\n";
    text + RUNTIME
}
