//! Data, parameters, and the command that repeats the run.

use featgen::Model;
use featgen::machine::Select;
use featgen::model::{GivenGroups, Parameters, Weighing};
use featgen::objective::Output;
use serde::Serialize;

use crate::selection::cut;
use crate::words::{count, percent, plural, short};

/// Something known, by name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Fact {
    name: String,
    text: String,
}

fn fact(name: &str, text: impl Into<String>) -> Fact {
    Fact { name: name.to_owned(), text: text.into() }
}

/// Classes that are listed before they are only counted.
const SHOWN_CLASSES: usize = 20;

/// What the model was trained on.
pub(crate) fn data(model: &Model) -> Vec<Fact> {
    let training = &model.training;
    let mut facts = vec![
        fact("instances", count(u128::from(training.n))),
        fact("inputs", count(u128::from(training.m))),
        fact("values", count(u128::from(training.nonzeros))),
        fact("candidates", count(training.candidates)),
    ];
    if model.output == Output::Classes {
        let shown: Vec<String> =
            model.classes.iter().take(SHOWN_CLASSES).map(|class| cut(class, 60)).collect();
        let rest = model.classes.len().saturating_sub(SHOWN_CLASSES);
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        facts.push(fact("classes", shown.join(", ") + &more));
    }
    facts.extend(model.label_column.as_deref().map(|column| fact("label", cut(column, 200))));
    facts.extend(training.accuracy.map(|part| fact("accuracy in training", percent(part))));
    facts.extend(training.explained.map(|part| fact("explained in training", percent(part))));
    facts
}

/// What was asked for, and what came of it.
pub(crate) fn parameters(model: &Model) -> Vec<Fact> {
    let mut facts = vec![fact("loss", &model.loss), fact("cost (C)", short(model.cost))];
    if model.asked_cost < model.cost {
        facts.push(fact("cost asked for", short(model.asked_cost)));
    }
    facts.extend(model.debias.map(|cost| fact("refitted with cost", short(cost))));
    let by = match model.select {
        Select::Best => "by gain, with exchanges and a ridge fit (best)",
        Select::Paper => "by the rounds of the Feature Generating Machine (paper)",
    };
    facts.push(fact("features chosen", by));
    facts.push(fact("added per round (B)", count(model.budget as u128)));
    facts.push(fact("rounds", count(model.rounds.len() as u128)));
    facts.extend(
        model.space.iter().map(|(name, value)| fact(name, if value.is_empty() { "yes" } else { value })),
    );
    if let Some(given) = &model.parameters {
        facts.push(fact("solver", &given.solver));
        facts.push(fact("exactness of rounds", given.inner_tol.to_string()));
        facts.push(fact("shift", if given.shift { "learned" } else { "none" }));
        facts.extend(given.loss.iter().map(|(name, value)| fact(name, value)));
        let weighing = |weighing: &Weighing| match weighing {
            Weighing::Balanced => "balanced".to_owned(),
            Weighing::Each(each) => each.iter().map(f64::to_string).collect::<Vec<_>>().join(", "),
        };
        facts.extend(given.class_weights.as_ref().map(|given| fact("weights of classes", weighing(given))));
    }
    if model.offset {
        facts.push(fact("offset", "added to decision values in training"));
    }
    if !model.kept.is_empty() {
        facts.push(fact("kept", plural(model.kept.len() as u128, "column")));
    }
    facts
}

/// The command line, an argument after the other.
struct Line(Vec<String>);

impl Line {
    fn option(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.0.push(name.to_owned());
            self.0.push(quoted(&value.to_string()));
        }
    }

    fn flag(&mut self, name: &str, given: bool) {
        if given {
            self.0.push(name.to_owned());
        }
    }
}

/// Text as a shell takes it for one argument.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@%+".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// What makes the model again. Where files were given, only their names are known, and of the data not even that.
pub(crate) fn command(model: &Model) -> String {
    let mut line = Line(vec!["featgen".into(), "train".into(), "DATA".into()]);
    let column = model.label_column.as_deref().map(|column| cut(column, 200));
    match model.output {
        Output::Risk if column.is_some() => {
            line.option("--time", column);
            line.option("--event", Some("EVENT"));
        }
        _ => line.option("--label", column),
    }
    line.option("--loss", Some(&model.loss).filter(|&loss| loss != "squared-hinge"));
    let space = |name: &str| model.space.get(name).map(String::as_str);
    line.option("--space", space("space").filter(|&space| space != "linear"));
    for (name, value) in &model.space {
        let told_elsewhere =
            ["space", "only", "groups", "counting", "scale", "tree"].contains(&name.as_str());
        let usual = name == "group-weight" && value == "none";
        line.option(&format!("--{name}"), Some(value).filter(|_| !told_elsewhere && !usual));
    }
    match &model.parameters {
        Some(given) => asked(&mut line, model, given),
        None => line.option("-C", Some(model.asked_cost)),
    }
    let kept: Vec<String> = model.kept.iter().map(|kept| kept.name.clone()).collect();
    line.option("--keep", (!kept.is_empty()).then(|| cut(&kept.join(","), 500)));
    line.option("--offset", model.offset.then_some("FILE"));
    if let Some(cv) = &model.cv {
        line.option("--cv", Some(cv.folds));
        line.option("--repeats", Some(cv.repeats).filter(|&repeats| repeats > 1));
        let usual = featgen::validate::Metric::usual(model.output).name();
        line.option("--metric", Some(&cv.metric).filter(|&metric| metric != usual));
    }
    line.option("-o", Some("MODEL"));
    line.0.join(" ")
}

/// Adds what the run was asked for.
fn asked(line: &mut Line, model: &Model, given: &Parameters) {
    line.option("--features", given.features);
    line.option("--select", given.select.map(Select::name));
    line.option("-C", given.cost);
    line.option("-B", given.budget);
    line.option("--exchange", given.exchange);
    line.option("--scale", given.scale.as_deref());
    line.option("--prove", given.prove);
    line.option("--fdr", given.fdr);
    line.option("--stability", given.stability);
    line.option("--seed", given.seed.filter(|seed| *seed != 0));
    line.option("--stand-ins", given.stand_ins);
    line.option("--time-limit", given.time_limit);
    line.option("--max-rounds", given.max_rounds);
    line.option("--tol", given.tol);
    line.option("--gap", given.gap);
    line.option("--inner-tol", Some(given.inner_tol).filter(|&tol| tol != 1e-4));
    line.option("--inner-decrease", given.inner_decrease);
    line.option("--solver", Some(&given.solver).filter(|&solver| solver != "auto"));
    line.flag("--no-shift", !given.shift);
    line.option("--debias", given.debias);
    for (name, value) in &given.loss {
        line.option(&format!("--{name}"), Some(value));
    }
    match &given.class_weights {
        Some(Weighing::Balanced) => line.option("--weight", Some("balanced")),
        Some(Weighing::Each(weights)) => {
            for (class, weight) in model.classes.iter().zip(weights) {
                line.option("--weight", Some(format!("{}={weight}", cut(class, 60))));
            }
        }
        None => {}
    }
    line.option("--only", given.only.as_ref().map(|_| "LIST"));
    if let Some(GivenGroups { file, format, lists, windows, genes, singletons }) = &given.groups {
        let listed = (!lists.is_empty()).then(|| "GROUPS".to_owned());
        line.option("--groups", file.clone().or(listed));
        line.option("--windows", *windows);
        line.option("--genes", genes.as_deref());
        line.flag("--singletons", *singletons);
        let tree = format.as_ref().map_or_else(|| "--tree".to_owned(), |format| format!("--tree={format}"));
        line.flag(&tree, model.space.contains_key("tree"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_quoted_for_the_shell() {
        assert_eq!(["a-1.5", "", "it's", "<b> $x"].map(quoted), ["a-1.5", "''", "'it'\\''s'", "'<b> $x'"]);
    }
}
