//! One SELECT that adds predictions to the rows of a table: for SQLite (3.35 or newer), DuckDB and PostgreSQL.

use featgen::Result;
use featgen::objective::Output;
use featgen::table::Written;

use crate::Options;
use crate::expr::Language;
use crate::plan::{Kind, Plan, Texts, Value};

const HEAD: &str = "\
-- A model made by featgen: every row of a table, and what the model says of it. For SQLite (3.35 or newer), DuckDB and
-- PostgreSQL. Missing values are NULL or empty, truths are true and false or 1 and 0, dates are numbers of days since 1970.
";

/// A number that no engine takes for a decimal of limited length.
fn number(x: f64) -> String {
    format!("{x:e}")
}

/// What the table is called in the query. Columns stand after it: SQLite takes one that the table lacks for a text, if it stands alone.
const TABLE: &str = "\"d\"";

/// A column of the table.
fn column_of_table(column: &str) -> String {
    format!("{TABLE}.{}", name(column))
}

/// The name of a column or table.
fn name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

struct Sql<'p>(&'p Plan);

impl Language for Sql<'_> {
    const SINE: &'static str = "SIN";
    const SIZE: &'static str = "ABS";

    fn number(&self, x: f64) -> String {
        number(x)
    }

    /// Values stand where they are used: tables have a limited number of columns.
    fn value(&self, value: usize) -> String {
        let column = |k: usize| &self.0.columns[k];
        match self.0.values[value] {
            Value::Number(k) => {
                let Kind::Number { written, fill } = column(k).kind else { unreachable!("a number") };
                let cell = cell(&column(k).name, written, fill);
                fill.map_or_else(|| cell.clone(), |fill| format!("COALESCE({cell}, {})", number(fill)))
            }
            Value::Missing(k) => {
                let Kind::Number { written, fill } = column(k).kind else { unreachable!("a number") };
                format!("CASE WHEN {} IS NULL THEN 1e0 ELSE 0e0 END", cell(&column(k).name, written, fill))
            }
            Value::Place(k, place) => {
                let Kind::Text(texts) = &column(k).kind else { unreachable!("a text") };
                indicator(&column(k).name, texts, place)
            }
        }
    }

    fn stairs(&mut self, x: String, points: &[(f64, f64)]) -> String {
        let mut text = format!("CASE WHEN {x} IS NULL THEN NULL");
        for (above, height) in points.iter().rev() {
            text += &format!(" WHEN {x} > {} THEN {}", number(*above), number(*height));
        }
        text + " ELSE 0e0 END"
    }
}

/// The number of a column. Truths may be texts, too; whatever a column is, its text says which. Where values may be missing, they may
/// also be empty texts, as in tables that were imported without types.
fn cell(column: &str, written: Written, fill: Option<f64>) -> String {
    let column = column_of_table(column);
    let text = format!("CAST({column} AS VARCHAR)");
    let number = format!("CAST({column} AS DOUBLE PRECISION)");
    match (written, fill) {
        (Written::Truth, _) => format!(
            "CASE WHEN LOWER({text}) IN ('true', 'yes', 't', 'y', '1', '1.0') THEN 1e0 \
             WHEN LOWER({text}) IN ('false', 'no', 'f', 'n', '0', '0.0') THEN 0e0 END"
        ),
        (_, Some(_)) => format!("CASE WHEN {text} <> '' THEN {number} END"),
        (_, None) => number,
    }
}

/// 1 where a text has a place.
fn indicator(column: &str, texts: &Texts, place: usize) -> String {
    let text = format!("CAST({} AS VARCHAR)", column_of_table(column));
    let list = || texts.levels.iter().map(|level| quoted(level)).collect::<Vec<_>>().join(", ");
    let is_level = |place: usize| texts.levels.get(place).map(|level| format!("{text} = {}", quoted(level)));
    let mut cases = Vec::new();
    cases.extend(is_level(place).map(|is| (is, "1e0")));
    if texts.missing == Some(place) || texts.other == Some(place) {
        // An empty text is missing, unless there is a level that is called so.
        let empty = if texts.levels.iter().any(String::is_empty) {
            String::new()
        } else {
            format!(" OR {text} = ''")
        };
        let missing = if texts.missing == Some(place) { "1e0" } else { "0e0" };
        cases.push((format!("{text} IS NULL{empty}"), missing));
    }
    if texts.other == Some(place) {
        match texts.levels.is_empty() {
            true => cases.push(("1 = 1".into(), "1e0")),
            false => cases.push((format!("{text} NOT IN ({})", list()), "1e0")),
        }
    }
    let cases: String = cases.into_iter().map(|(when, then)| format!(" WHEN {when} THEN {then}")).collect();
    format!("CASE{cases} ELSE 0e0 END")
}

pub(crate) fn write(plan: &Plan, options: &Options) -> Result<String> {
    plan.check_names("sql", |c| c != '\0')?;
    plan.check_texts("sql", |c| c != '\0')?;
    if options.table.is_empty() || options.table.contains('\0') {
        return Err(featgen::Error::parameter("table", "must be the name of a table"));
    }
    let own = Own::new(plan);
    let decisions: Vec<String> = (0..plan.outputs())
        .map(|k| format!("  {} AS {}", Sql(plan).written(&plan.decision(k)), own.decisions[k]))
        .collect();
    let mut text = format!(
        "{HEAD}SELECT {rows}.*,\n{predictions}\nFROM (SELECT {TABLE}.*,\n{decisions}\n  FROM {table} AS {TABLE}) AS {rows}",
        rows = own.rows,
        table = name(&options.table),
        decisions = decisions.join(",\n"),
        predictions = own.predictions(plan).join(",\n"),
    );
    text += ";\n";
    Ok(text)
}

/// What the query names.
struct Own {
    rows: String,
    decisions: Vec<String>,
    prediction: String,
    probabilities: Vec<String>,
}

impl Own {
    fn new(plan: &Plan) -> Self {
        // The table may have columns that the model does not know: these names are hardly theirs.
        let own = |what: &str| name(&(plan.own_prefix() + what));
        let numbered = |what: &str, count: usize| match count {
            1 => vec![own(what)],
            _ => (1..=count).map(|k| own(&format!("{what}_{k}"))).collect(),
        };
        Self {
            rows: own("rows"),
            decisions: numbered("decision", plan.outputs()),
            prediction: own("prediction"),
            probabilities: numbered("probability", plan.outputs()),
        }
    }

    /// What decisions say. Exponentials are only taken where they are finite and not 0: PostgreSQL refuses others.
    fn predictions(&self, plan: &Plan) -> Vec<String> {
        let (f, mut all) = (&self.decisions, Vec::new());
        let prediction = match (plan.output, f.as_slice()) {
            (Output::Classes, [f]) => {
                let [negative, positive] = [0, 1].map(|k| quoted(&plan.classes[k]));
                if plan.probabilities {
                    all.push(format!(
                        "  CASE WHEN {f} < -700e0 THEN 0e0 WHEN {f} > 700e0 THEN 1e0 ELSE 1e0 / (1e0 + EXP(-{f})) END AS {}",
                        self.probabilities[0]
                    ));
                }
                format!("CASE WHEN {f} > 0 THEN {positive} WHEN {f} <= 0 THEN {negative} END")
            }
            (Output::Classes, many) => {
                if plan.probabilities {
                    all.extend(self.softmax());
                }
                // Above all that come later is enough: one that an earlier one is above has been passed over for it.
                let is_largest = |k: usize| {
                    let above = many[k + 1..].iter().map(|other| format!("{} >= {other}", many[k]));
                    let all: Vec<String> = above.collect();
                    if all.is_empty() { format!("{} IS NOT NULL", many[k]) } else { all.join(" AND ") }
                };
                let cases = plan.classes.iter().enumerate();
                let cases: String = cases
                    .map(|(k, class)| format!(" WHEN {} THEN {}", is_largest(k), quoted(class)))
                    .collect();
                format!("CASE{cases} END")
            }
            (Output::Rate, f) => format!("EXP({})", f[0]),
            (Output::Number | Output::Risk, f) => f[0].clone(),
        };
        all.insert(0, format!("  {prediction} AS {}", self.prediction));
        all
    }

    /// The probability of a class is 1 in the sum of what the others are against it.
    fn softmax(&self) -> impl Iterator<Item = String> {
        let against = |own: &String| {
            let one = |other: &String| {
                let d = format!("({other} - {own})");
                format!("CASE WHEN {d} > 700e0 THEN 1e304 WHEN {d} < -700e0 THEN 0e0 ELSE EXP{d} END")
            };
            self.decisions.iter().map(one).collect::<Vec<_>>().join(" + ")
        };
        self.decisions
            .iter()
            .zip(&self.probabilities)
            .map(move |(own, to)| format!("  1e0 / ({}) AS {to}", against(own)))
    }
}
