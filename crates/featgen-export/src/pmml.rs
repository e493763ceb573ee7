//! PMML 4.4: values and decisions as derived fields, and a regression that says what decisions mean.

use std::fmt::Write as _;

use featgen::Result;
use featgen::objective::Output;

use crate::expr::Expr;
use crate::plan::{Kind, Plan, Texts, Value};

/// Text as XML has it, also in attributes, where line breaks would become blanks.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' | '<' | '>' | '"' | '\'' | '\t' | '\n' | '\r' => {
                write!(escaped, "&#{};", c as u32).expect("strings take all")
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// Whether XML can hold a character.
fn is_sound(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r') || (c >= ' ' && c != '\u{fffe}' && c != '\u{ffff}')
}

fn constant(x: f64) -> String {
    format!("<Constant dataType=\"double\">{x:?}</Constant>")
}

fn text_constant(text: &str) -> String {
    format!("<Constant dataType=\"string\">{}</Constant>", escaped(text))
}

fn field(name: &str) -> String {
    format!("<FieldRef field=\"{}\"/>", escaped(name))
}

fn apply(function: &str, arguments: &[String]) -> String {
    format!("<Apply function=\"{function}\">{}</Apply>", arguments.concat())
}

/// An operation on two, on many: halves of halves, so that expressions are not deep.
fn fold(function: &str, arguments: &[String]) -> String {
    match arguments {
        [one] => one.clone(),
        many => {
            let (left, right) = many.split_at(many.len() / 2);
            apply(function, &[fold(function, left), fold(function, right)])
        }
    }
}

/// Fields that are derived from the columns.
struct Fields<'p> {
    plan: &'p Plan,
    prefix: String,
    derived: String,
    count: usize,
}

impl Fields<'_> {
    fn derive(&mut self, name: &str, kind: &str, how: &str) {
        let optype = if kind == "double" { "continuous" } else { "categorical" };
        let name = escaped(name);
        self.derived += &format!(
            "    <DerivedField name=\"{name}\" optype=\"{optype}\" dataType=\"{kind}\">{how}</DerivedField>\n"
        );
    }

    fn value_name(&self, value: usize) -> String {
        format!("{}value_{}", self.prefix, value + 1)
    }

    fn text_name(&self, column: usize) -> String {
        format!("{}text_{}", self.prefix, column + 1)
    }

    fn values(&mut self) {
        let plan = self.plan;
        for (k, column) in plan.columns.iter().enumerate() {
            if let Kind::Text(texts) = &column.kind {
                // What is missing spoils every comparison, so it is a text, too.
                let how = format!(
                    "<FieldRef field=\"{}\" mapMissingTo=\"{}\"/>",
                    escaped(&column.name),
                    nothing(texts, &self.prefix)
                );
                self.derive(&self.text_name(k), "string", &how);
            }
        }
        for (k, value) in plan.values.iter().enumerate() {
            let how = match *value {
                Value::Number(column) => match plan.columns[column].kind {
                    Kind::Number { fill: Some(fill), .. } => {
                        format!(
                            "<FieldRef field=\"{}\" mapMissingTo=\"{fill:?}\"/>",
                            escaped(&plan.columns[column].name)
                        )
                    }
                    _ => field(&plan.columns[column].name),
                },
                Value::Missing(column) => {
                    let is = apply("isMissing", &[field(&plan.columns[column].name)]);
                    apply("if", &[is, constant(1.0), constant(0.0)])
                }
                Value::Place(column, place) => {
                    let Kind::Text(texts) = &plan.columns[column].kind else { unreachable!("a text") };
                    let is = has_place(
                        &field(&self.text_name(column)),
                        texts,
                        &nothing(texts, &self.prefix),
                        place,
                    );
                    apply("if", &[is, constant(1.0), constant(0.0)])
                }
            };
            self.derive(&self.value_name(k), "double", &how);
        }
    }

    fn written(&mut self, expr: &Expr) -> String {
        let mut all = |of: &[Expr]| of.iter().map(|one| self.written(one)).collect::<Vec<_>>();
        match expr {
            Expr::Number(x) => constant(*x),
            Expr::Value(value) => field(&self.value_name(*value)),
            Expr::Sum(terms) => fold("+", &all(terms)),
            Expr::Product(factors) => fold("*", &all(factors)),
            Expr::Sine(x) => apply("sin", &[self.written(x)]),
            Expr::Size(x) => apply("abs", &[self.written(x)]),
            Expr::Stairs(x, points) => self.stairs(x, points),
        }
    }

    /// Stairs are a field that is made of intervals of another.
    fn stairs(&mut self, x: &Expr, points: &[(f64, f64)]) -> String {
        self.count += 1;
        let names = ["of", "height"].map(|what| format!("{}{what}_{}", self.prefix, self.count));
        let of = self.written(x);
        self.derive(&names[0], "double", &of);
        let ends = points.iter().skip(1).map(|(above, _)| Some(*above)).chain([None]);
        let bins: String = points
            .iter()
            .zip(ends)
            .map(|((above, height), end)| {
                let interval = match end {
                    Some(end) => {
                        format!("closure=\"openClosed\" leftMargin=\"{above:?}\" rightMargin=\"{end:?}\"")
                    }
                    None => format!("closure=\"openOpen\" leftMargin=\"{above:?}\""),
                };
                format!("<DiscretizeBin binValue=\"{height:?}\"><Interval {interval}/></DiscretizeBin>")
            })
            .collect();
        let how = format!(
            "<Discretize field=\"{}\" defaultValue=\"0.0\" dataType=\"double\">{bins}</Discretize>",
            escaped(&names[0])
        );
        self.derive(&names[1], "double", &how);
        field(&names[1])
    }
}

/// The text that stands for no text: an empty one, unless a level is called so.
fn nothing(texts: &Texts, prefix: &str) -> String {
    let is_level = |text: &str| texts.levels.iter().any(|level| level == text);
    let mut nothing = String::new();
    while is_level(&nothing) {
        nothing += prefix;
    }
    nothing
}

/// Whether a text has a place.
fn has_place(text: &str, texts: &Texts, nothing: &str, place: usize) -> String {
    let equal = |to: &str| apply("equal", &[text.to_owned(), text_constant(to)]);
    let mut any = Vec::new();
    any.extend(texts.levels.get(place).map(|level| equal(level)));
    if texts.missing == Some(place) {
        any.push(equal(nothing));
    }
    if texts.other == Some(place) {
        let known = texts.levels.iter().map(String::as_str).chain([nothing]).map(text_constant);
        any.push(apply("isNotIn", &std::iter::once(text.to_owned()).chain(known).collect::<Vec<_>>()));
    }
    fold("or", &any)
}

pub(crate) fn write(plan: &Plan) -> Result<String> {
    plan.check_names("pmml", is_sound)?;
    plan.check_texts("pmml", is_sound)?;
    let mut fields = Fields { plan, prefix: plan.own_prefix(), derived: String::new(), count: 0 };
    fields.values();
    let decisions: Vec<String> =
        (0..plan.outputs()).map(|k| format!("{}decision_{}", fields.prefix, k + 1)).collect();
    for (k, name) in decisions.iter().enumerate() {
        let how = fields.written(&plan.decision(k));
        fields.derive(name, "double", &how);
    }
    let outcome = outcome(plan);
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<PMML xmlns=\"http://www.dmg.org/PMML-4_4\" version=\"4.4\">\n  <Header>\
         <Application name=\"featgen\"/></Header>\n  <DataDictionary>\n",
    );
    for column in &plan.columns {
        let kind = match column.kind {
            Kind::Number { .. } => "optype=\"continuous\" dataType=\"double\"",
            Kind::Text(_) => "optype=\"categorical\" dataType=\"string\"",
        };
        text += &format!("    <DataField name=\"{}\" {kind}/>\n", escaped(&column.name));
    }
    text += &match plan.output {
        Output::Classes => {
            let class = |class: &String| format!("<Value value=\"{}\"/>", escaped(class));
            format!(
                "    <DataField name=\"{outcome}\" optype=\"categorical\" dataType=\"string\">{}</DataField>\n",
                plan.classes.iter().map(class).collect::<String>()
            )
        }
        _ => format!("    <DataField name=\"{outcome}\" optype=\"continuous\" dataType=\"double\"/>\n"),
    };
    text += &format!(
        "  </DataDictionary>\n  <TransformationDictionary>\n{}  </TransformationDictionary>\n",
        fields.derived
    );
    text += &model(plan, &outcome, &decisions);
    Ok(text + "</PMML>\n")
}

/// What the outcome is called, beside the columns.
fn outcome(plan: &Plan) -> String {
    let label = plan.label.as_deref().filter(|label| !label.is_empty() && label.chars().all(is_sound));
    escaped(&plan.own_name(label.unwrap_or("outcome")))
}

/// The model over the decisions.
fn model(plan: &Plan, outcome: &str, decisions: &[String]) -> String {
    let (function, normalised) = match plan.output {
        Output::Classes => ("classification", "softmax"),
        Output::Rate => ("regression", "exp"),
        Output::Number | Output::Risk => ("regression", "none"),
    };
    let mut text = format!(
        "  <RegressionModel modelName=\"featgen\" functionName=\"{function}\" normalizationMethod=\"{normalised}\">\n    <MiningSchema>\n"
    );
    for column in &plan.columns {
        text += &format!(
            "      <MiningField name=\"{}\" invalidValueTreatment=\"asIs\"/>\n",
            escaped(&column.name)
        );
    }
    text += &format!("      <MiningField name=\"{outcome}\" usageType=\"target\"/>\n    </MiningSchema>\n");
    text += &outputs(plan, outcome, decisions);
    let decides = |name: &String| format!("<NumericPredictor name=\"{}\" coefficient=\"1\"/>", escaped(name));
    let table = |class: Option<&String>, predictor: String| {
        let class = class.map_or_else(String::new, |class| format!(" targetCategory=\"{}\"", escaped(class)));
        format!("    <RegressionTable intercept=\"0\"{class}>{predictor}</RegressionTable>\n")
    };
    match (plan.output, decisions) {
        (Output::Classes, [one]) => {
            text += &table(Some(&plan.classes[1]), decides(one));
            text += &table(Some(&plan.classes[0]), String::new());
        }
        (Output::Classes, many) => {
            many.iter()
                .zip(&plan.classes)
                .for_each(|(name, class)| text += &table(Some(class), decides(name)));
        }
        (_, many) => text += &table(None, decides(&many[0])),
    }
    text + "  </RegressionModel>\n"
}

/// What is computed beside the prediction itself.
fn outputs(plan: &Plan, outcome: &str, decisions: &[String]) -> String {
    let own = |name: &str| {
        let name = plan.own_name(name);
        if escaped(&name) == outcome { name + "_" } else { escaped(&name) }
    };
    let numbered = |what: &str, k: usize, count: usize| {
        own(&if count == 1 { what.into() } else { format!("{what}_{}", k + 1) })
    };
    let mut text = String::from("    <Output>\n");
    let kind = if plan.output == Output::Classes {
        "optype=\"categorical\" dataType=\"string\""
    } else {
        "optype=\"continuous\" dataType=\"double\""
    };
    text +=
        &format!("      <OutputField name=\"{}\" {kind} feature=\"predictedValue\"/>\n", own("prediction"));
    for (k, name) in decisions.iter().enumerate() {
        text += &format!(
            "      <OutputField name=\"{}\" optype=\"continuous\" dataType=\"double\" feature=\"transformedValue\">{}</OutputField>\n",
            numbered("decision", k, decisions.len()),
            field(name)
        );
    }
    if plan.probabilities {
        // Of two classes that share a decision, the second.
        let classes = if decisions.len() == 1 { &plan.classes[1..] } else { &plan.classes[..] };
        for (k, class) in classes.iter().enumerate() {
            text += &format!(
                "      <OutputField name=\"{}\" optype=\"continuous\" dataType=\"double\" feature=\"probability\" value=\"{}\"/>\n",
                numbered("probability", k, classes.len()),
                escaped(class)
            );
        }
    }
    text + "    </Output>\n"
}
