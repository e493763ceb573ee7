//! One file of C99: no memory of its own, nothing but the standard library.

use std::fmt::Write as _;

use featgen::Result;
use featgen::objective::Output;

use crate::expr::Language;
use crate::names::identifiers;
use crate::plan::{Kind, Plan, Value};

const HEAD: &str = r#"/* A model made by featgen. Compile it with your program, and declare what you call:

   void featgen_decisions(const double *number, const char *const *text, double *decision);

   number  the numbers of a row; NAN where one is missing. Truths are 1 and 0, dates days since 1970.
   text    the texts of a row, in UTF-8; NULL or "" where one is missing. NULL if the model takes none.

   Which number or text stands where is said by the constants and the names below. A decision is NAN where a number is missing
   that the training data always had. */

#include <math.h>
#include <stddef.h>
#include <string.h>

"#;

const PLACE: &str = r#"/* The place of a text among the inputs of its column; levels are in the order of their bytes. */
static int featgen_place(const char *text, const char *const *level, int levels, int other, int missing)
{
    int low = 0, high = levels;
    while (text != NULL && low < high) {
        int middle = low + (high - low) / 2;
        int order = strcmp(text, level[middle]);
        if (order == 0) return middle;
        if (order < 0) high = middle; else low = middle + 1;
    }
    return text == NULL || *text == '\0' ? missing : other;
}

"#;

const STAIRS: &str = r#"/* What stands at the last of the points that x is above. */
static double featgen_stairs(double x, int points, const double *above, const double *height)
{
    int low = 0, high = points;
    if (isnan(x)) return x;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (x > above[middle]) low = middle + 1; else high = middle;
    }
    return low == 0 ? 0.0 : height[low - 1];
}

"#;

const DECISION: &str = r"
/* The decision of a row. */
double featgen_decision(const double *number, const char *const *text)
{
    double decision[1];
    featgen_decisions(number, text, decision);
    return decision[0];
}
";

const CLASS: &str = r"
/* The class that a decision says, by its place in featgen_classes. */
int featgen_class(const double *decision)
{
    return decision[0] > 0.0;
}
";

const LARGEST: &str = r"
/* The class that decisions say, by its place in featgen_classes. */
int featgen_class(const double *decision)
{
    int best = 0, k;
    for (k = 1; k < FEATGEN_DECISIONS; k++)
        if (decision[k] > decision[best]) best = k;
    return best;
}
";

const LOGISTIC: &str = r"
/* The probabilities of both classes. */
void featgen_probabilities(const double *decision, double *probability)
{
    probability[0] = 1.0 / (1.0 + exp(decision[0]));
    probability[1] = 1.0 / (1.0 + exp(-decision[0]));
}
";

const SOFTMAX: &str = r"
/* The probabilities of all classes. */
void featgen_probabilities(const double *decision, double *probability)
{
    double top = decision[featgen_class(decision)], sum = 0.0;
    int k;
    for (k = 0; k < FEATGEN_DECISIONS; k++) {
        probability[k] = exp(decision[k] - top);
        sum += probability[k];
    }
    for (k = 0; k < FEATGEN_DECISIONS; k++) probability[k] /= sum;
}
";

/// Expressions of C, and the tables that they look into.
#[derive(Default)]
struct C {
    tables: Vec<String>,
}

impl Language for C {
    const SINE: &'static str = "sin";
    const SIZE: &'static str = "fabs";

    fn number(&self, x: f64) -> String {
        format!("{x:?}")
    }

    fn value(&self, value: usize) -> String {
        format!("v[{value}]")
    }

    fn stairs(&mut self, x: String, points: &[(f64, f64)]) -> String {
        if points.is_empty() {
            return format!("0.0 * {x}");
        }
        let list = |of: fn(&(f64, f64)) -> f64| {
            points.iter().map(|point| format!("{:?}", of(point))).collect::<Vec<_>>()
        };
        let (k, above, height) = (self.tables.len(), list(|p| p.0), list(|p| p.1));
        self.tables.push(format!(
            "static const double featgen_above_{k}[] = {{{}}};\nstatic const double featgen_height_{k}[] = {{{}}};\n",
            above.join(", "),
            height.join(", ")
        ));
        format!("featgen_stairs({x}, {}, featgen_above_{k}, featgen_height_{k})", points.len())
    }
}

/// A string of C. Octal digits are three, so that nothing after them is taken for one; `??` would begin a trigraph.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'?' => quoted.extend(['\\', byte as char]),
            b' '..=b'~' => quoted.push(byte as char),
            _ => write!(quoted, "\\{byte:03o}").expect("strings take all"),
        }
    }
    quoted + "\""
}

fn strings<'a>(name: &str, texts: impl Iterator<Item = &'a str>) -> String {
    let texts: Vec<String> = texts.map(quoted).collect();
    format!("{name}[] = {{\n    {}\n}};\n", texts.join(",\n    "))
}

pub(crate) fn write(plan: &Plan) -> Result<String> {
    plan.check_texts("c", |c| c != '\0')?;
    plan.check_columns("c", |c| c != '\0')?;
    let mut language = C::default();
    let decisions: Vec<String> = (0..plan.outputs()).map(|k| language.written(&plan.decision(k))).collect();
    let mut text = HEAD.to_owned();
    text += &inputs(plan);
    if plan.values.iter().any(|value| matches!(value, Value::Place(..))) {
        text += PLACE;
    }
    if !language.tables.is_empty() {
        text += STAIRS;
        language.tables.iter().for_each(|table| text += table);
        text.push('\n');
    }
    text += &values(plan);
    for (k, decision) in decisions.iter().enumerate() {
        text += &format!("    decision[{k}] = {decision};\n");
    }
    text += "}\n";
    if plan.outputs() == 1 {
        text += DECISION;
    }
    Ok(text + &predictions(plan))
}

/// Where a column's cells are in the arrays of numbers and of texts.
fn places(plan: &Plan) -> Vec<usize> {
    let (mut numbers, mut texts) = (0, 0);
    let mut place = |kind: &Kind| {
        let next = if matches!(kind, Kind::Number { .. }) { &mut numbers } else { &mut texts };
        *next += 1;
        *next - 1
    };
    plan.columns
        .iter()
        .map(|c| if plan.width.is_some() { c.place as usize } else { place(&c.kind) })
        .collect()
}

/// How many there are of everything, and what columns are called.
fn inputs(plan: &Plan) -> String {
    let of_kind =
        |number: bool| plan.columns.iter().filter(move |c| matches!(c.kind, Kind::Number { .. }) == number);
    let numbers = plan.width.unwrap_or(of_kind(true).count() as u64);
    let mut text = format!(
        "#define FEATGEN_NUMBERS {numbers}\n#define FEATGEN_TEXTS {}\n#define FEATGEN_DECISIONS {}\n",
        of_kind(false).count(),
        plan.outputs()
    );
    if !plan.classes.is_empty() {
        text += &format!("#define FEATGEN_CLASSES {}\n", plan.classes.len());
    }
    text.push('\n');
    if plan.width.is_some() {
        return text + "/* Rows are whole: number[0] is the first column of the data. */\n\n";
    }
    for (kind, number) in [("number", true), ("text", false)] {
        let names: Vec<&str> = of_kind(number).map(|column| column.name.as_str()).collect();
        if names.is_empty() {
            continue;
        }
        let places = identifiers(names.iter().copied()).into_iter().enumerate();
        let places = places.map(|(k, name)| format!("    FEATGEN_{}_{name} = {k}", kind.to_uppercase()));
        text += &format!("enum {{\n{}\n}};\n", places.collect::<Vec<_>>().join(",\n"));
        text += &strings(&format!("const char *const featgen_{kind}_names"), names.into_iter());
        text.push('\n');
    }
    text
}

/// The head of the function that computes decisions, up to the values.
fn values(plan: &Plan) -> String {
    let (mut tables, mut code) = (String::new(), String::new());
    let places = places(plan);
    for (column, at) in plan.columns.iter().zip(&places) {
        if let Kind::Text(texts) = &column.kind {
            // C has no empty tables; where there are no levels, nothing is looked for.
            let levels = texts.levels.iter().map(String::as_str).chain(texts.levels.is_empty().then_some(""));
            tables += &strings(&format!("static const char *const featgen_levels_{at}"), levels);
            let place = |place: Option<usize>| place.map_or("-1".to_owned(), |place| place.to_string());
            code += &format!(
                "    const int place_{at} = featgen_place(text[{at}], featgen_levels_{at}, {}, {}, {});\n",
                texts.levels.len(),
                place(texts.other),
                place(texts.missing)
            );
        }
    }
    code += &format!("    double v[{}];\n", plan.values.len());
    for (k, value) in plan.values.iter().enumerate() {
        let value = match *value {
            Value::Number(column) => match plan.columns[column].kind {
                Kind::Number { fill: Some(fill), .. } => {
                    format!("isnan(number[{0}]) ? {fill:?} : number[{0}]", places[column])
                }
                _ => format!("number[{}]", places[column]),
            },
            Value::Missing(column) => format!("isnan(number[{}]) ? 1.0 : 0.0", places[column]),
            Value::Place(column, place) => format!("place_{} == {place} ? 1.0 : 0.0", places[column]),
        };
        code += &format!("    v[{k}] = {value};\n");
    }
    let unused = [("number", true), ("text", false)].into_iter().filter(|&(_, number)| {
        !plan.columns.iter().any(|column| matches!(column.kind, Kind::Number { .. }) == number)
    });
    let unused: String = unused.map(|(name, _)| format!("    (void){name};\n")).collect();
    format!(
        "{tables}\n/* The decisions of a row. */\nvoid featgen_decisions(const double *number, const char *const *text, double \
         *decision)\n{{\n{code}{unused}"
    )
}

/// What decisions say.
fn predictions(plan: &Plan) -> String {
    let prediction = |what: &str, number: &str| {
        format!(
            "\n/* {what} that a decision says. */\ndouble featgen_prediction(double decision)\n{{\n    return {number};\n}}\n"
        )
    };
    let classes = || {
        let names = strings("const char *const featgen_classes", plan.classes.iter().map(String::as_str));
        format!("\n/* The classes, in order. */\n{names}")
    };
    match (plan.output, plan.outputs(), plan.probabilities) {
        (Output::Classes, 1, false) => classes() + CLASS,
        (Output::Classes, 1, true) => classes() + CLASS + LOGISTIC,
        (Output::Classes, _, false) => classes() + LARGEST,
        (Output::Classes, _, true) => classes() + LARGEST + SOFTMAX,
        (Output::Number, ..) => prediction("The number", "decision"),
        (Output::Rate, ..) => prediction("The expected count", "exp(decision)"),
        (Output::Risk, ..) => prediction("The logarithm of the risk", "decision"),
    }
}
