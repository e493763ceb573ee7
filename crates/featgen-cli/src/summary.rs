//! A model as people read it: the parts that several subcommands show.

use std::collections::HashSet;
use std::io::{self, Write};

use featgen::Model;
use featgen::data::Labels;
use featgen::machine::Select;
use featgen::model::{
    Discoveries, Fit, KeptTerm, MOST_ALIASES, Proof, Scores, Selected, Stability, StandIn, Term,
};
use featgen::objective::Output;
use featgen::space::Feature;

use crate::json::Quality;
use crate::numbers::{count, percent, plural, short, small_percent};
use crate::style::{Paint, Style, bar};
use crate::table::{Align, Cell, Table};

/// Features that are shown unless more are asked for.
pub(crate) const SHOWN: usize = 20;

/// The selected features, cut after `limit`; `extend` may add columns, `elsewhere` says where to see the rest.
pub(crate) fn selection(
    out: &mut dyn Write,
    style: Style,
    selected: &[&Term],
    limit: usize,
    elsewhere: &str,
    extend: impl FnOnce(Table, &[&Term]) -> Table,
) -> io::Result<()> {
    if selected.is_empty() {
        return writeln!(out, "  no feature helps");
    }
    let (shown, rest) = selected.split_at(selected.len().min(limit));
    extend(features(shown, style), shown).write(out, style)?;
    more(out, style, rest.len(), elsewhere)
}

/// What a model's counts count.
pub(crate) fn unit(model: &Model) -> &'static str {
    if model.groups.is_empty() || model.has_curves() { "feature" } else { "group" }
}

/// What was selected, most important first: features, or groups where there are groups.
pub(crate) fn selected(
    out: &mut dyn Write,
    style: Style,
    model: &Model,
    limit: usize,
    elsewhere: &str,
) -> io::Result<()> {
    if model.groups.is_empty() {
        return selection(out, style, &model.selected(), limit, elsewhere, |table, _| table);
    }
    let selected = model.selected_groups();
    let (shown, rest) = selected.split_at(selected.len().min(limit));
    let table = if model.has_curves() { curves(model, shown, style) } else { groups(shown, style) };
    table.write(out, style)?;
    more(out, style, rest.len(), elsewhere)
}

/// Says how many were not shown.
fn more(out: &mut dyn Write, style: Style, rest: usize, elsewhere: &str) -> io::Result<()> {
    if rest == 0 {
        return Ok(());
    }
    let more = format!("  ... and {} more{elsewhere}", count(rest as u64));
    writeln!(out, "{}", style.paint(Paint::Dim, &crate::plain(&more)))
}

/// Groups: name, norm with a bar, members, the round that brought them, and their strongest features.
fn groups(groups: &[Selected<'_>], style: Style) -> Table {
    const STRONGEST: usize = 3;
    let largest = groups.iter().map(|selected| selected.norm).fold(0.0, f64::max);
    let strongest = |selected: &Selected<'_>| {
        let shown = selected.terms.iter().take(STRONGEST);
        let shown: Vec<String> =
            shown.map(|term| format!("{} {}", term.name, short(term.weight.one()))).collect();
        let dots = if selected.terms.len() > STRONGEST { ", ..." } else { "" };
        shown.join(", ") + dots
    };
    let bar_of = |selected: &Selected<'_>| Cell::painted(Paint::Positive, bar(selected.norm / largest));
    let mut table = Table::new()
        .column("group", Align::Left, groups.iter().map(|selected| selected.group.name.clone()))
        .numbers("norm", groups.iter().map(|selected| short(selected.norm)));
    if style.has_bars() {
        table = table.column("", Align::Left, groups.iter().map(bar_of));
    }
    let table = table
        .numbers("members", groups.iter().map(|selected| count(selected.group.size as u64)))
        .numbers("round", groups.iter().map(|selected| selected.group.round.to_string()));
    with_frequency(table, groups.iter().map(|selected| selected.group.frequency)).column(
        "strongest",
        Align::Left,
        groups.iter().map(strongest),
    )
}

/// Features with curves: name, the length of the curve's weights with a bar, the round that brought it, and the curve.
fn curves(model: &Model, curves: &[Selected<'_>], style: Style) -> Table {
    let largest = curves.iter().map(|selected| selected.norm).fold(0.0, f64::max);
    let bar_of = |selected: &Selected<'_>| Cell::painted(Paint::Positive, bar(selected.norm / largest));
    let points: Vec<Vec<[f64; 2]>> = curves.iter().map(|selected| model.curve(selected, 0)).collect();
    let end = |points: &Vec<[f64; 2]>, at: fn(&[[f64; 2]]) -> Option<&[f64; 2]>, k: usize| {
        at(points).map_or_else(String::new, |point| short(point[k]))
    };
    let names = curves.iter().map(|selected| selected.group.name.clone());
    let numbered = curves.iter().all(|selected| selected.group.name.bytes().all(|b| b.is_ascii_digit()));
    let mut table = Table::new()
        .column("feature", if numbered { Align::Right } else { Align::Left }, names)
        .numbers("norm", curves.iter().map(|selected| short(selected.norm)));
    if style.has_bars() {
        table = table.column("", Align::Left, curves.iter().map(bar_of));
    }
    table
        .numbers("round", curves.iter().map(|selected| selected.group.round.to_string()))
        .numbers("from", points.iter().map(|points| end(points, <[_]>::first, 0)))
        .column("curve", Align::Left, points.iter().map(|points| sketch(points)))
        .column("to", Align::Left, points.iter().map(|points| end(points, <[_]>::last, 0)))
        .numbers("lowest", points.iter().map(|points| short(extremes(points)[0])))
        .numbers("highest", points.iter().map(|points| short(extremes(points)[1])))
}

/// The least and the largest value of a curve.
fn extremes(points: &[[f64; 2]]) -> [f64; 2] {
    points.iter().fold([0.0, 0.0], |[low, high], point| [low.min(point[1]), high.max(point[1])])
}

/// A curve as a line of blocks, from its lowest to its highest value.
fn sketch(points: &[[f64; 2]]) -> String {
    const WIDTH: usize = 24;
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let [low, high] = extremes(points);
    if points.is_empty() || high <= low {
        return String::new();
    }
    let value = |k: usize| points[k * (points.len() - 1) / (WIDTH - 1)][1];
    let block = |k: usize| BLOCKS[(((value(k) - low) / (high - low)) * 7.0).round() as usize];
    (0..WIDTH).map(block).collect()
}

/// Features with the groups they were selected in.
pub(crate) fn with_groups(table: Table, terms: &[&Term], model: &Model) -> Table {
    if model.groups.is_empty() {
        return table;
    }
    let name = |term: &&Term| term.group.map_or_else(String::new, |g| model.groups[g].name.clone());
    table.column("group", Align::Left, terms.iter().map(name))
}

/// Features, most important first: name, weight with a bar, and the round that brought it.
fn features(terms: &[&Term], style: Style) -> Table {
    let numbered = terms.iter().all(|term| term.name.bytes().all(|b| b.is_ascii_digit()));
    let align = if numbered { Align::Right } else { Align::Left };
    let largest = terms.iter().map(|term| term.weight.length()).fold(0.0, f64::max);
    let bar_of = |term: &&Term| {
        let paint = if term.weight.one() < 0.0 { Paint::Negative } else { Paint::Positive };
        Cell::painted(paint, bar(term.weight.length() / largest))
    };
    let mut table = Table::new()
        .column("feature", align, terms.iter().map(|term| term.name.clone()))
        .numbers("weight", terms.iter().map(|term| short(term.weight.one())));
    if style.has_bars() {
        table = table.column("", Align::Left, terms.iter().map(bar_of));
    }
    table = table.numbers("round", terms.iter().map(|term| term.round.to_string()));
    table = with_frequency(table, terms.iter().map(|term| term.frequency));
    if terms.iter().any(|term| !term.stand_ins.is_empty()) {
        table = table.column("stand-ins", Align::Left, terms.iter().map(|term| stand_ins(&term.stand_ins)));
    }
    if terms.iter().any(|term| !term.aliases.is_empty()) {
        table = table.column("same values", Align::Left, terms.iter().map(|term| aliases(&term.aliases)));
    }
    table
}

/// What has the same values as a feature, in short.
fn aliases(names: &[String]) -> String {
    const SHOWN: usize = 2;
    let (shown, rest) = names.split_at(names.len().min(SHOWN));
    match (names.len(), rest.len()) {
        (0, _) => String::new(),
        (_, 0) => format!("= {}", shown.join(", ")),
        // No more were looked for.
        (MOST_ALIASES, more) => format!("= {} and at least {more} more", shown.join(", ")),
        (_, more) => format!("= {} and {more} more", shown.join(", ")),
    }
}

/// What is highly correlated with a feature, in short.
fn stand_ins(others: &[StandIn]) -> String {
    const SHOWN: usize = 2;
    let shown = others.iter().take(SHOWN).map(|other| format!("{} ({:.2})", other.name, other.correlation));
    let more = others.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| format!("{more} more"));
    shown.chain(more).collect::<Vec<_>>().join(", ")
}

/// A line of the summary: what it is about, then what there is to say.
pub(crate) fn line(out: &mut dyn Write, style: Style, about: &str, text: &str) -> io::Result<()> {
    writeln!(out, "{}  {}", style.paint(Paint::Bold, &format!("{about:<9}")), crate::plain(text))
}

/// How many features, by what, why no more, and how good the selection is.
pub(crate) fn outcome(model: &Model, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let asked = model.asked_cost;
    let raised = if asked < model.cost { format!(" (raised from {asked})") } else { String::new() };
    // One that was left to featgen has more digits than anybody wants to see.
    let by_default =
        model.select == Select::Best && model.parameters.as_ref().is_some_and(|p| p.cost.is_none());
    let cost = if by_default { short(model.cost) } else { model.cost.to_string() };
    let refitted = model.debias.map_or_else(String::new, |cost| format!(", then refitted with cost {cost}"));
    let text = format!(
        "{} in {}, B = {}, C = {cost}{raised}{refitted}",
        selected_count(model),
        plural(model.rounds.len(), "round"),
        count(model.budget as u64),
    );
    line(out, style, "selected", &text)?;
    if !model.kept.is_empty() {
        let one = |kept: &KeptTerm| format!("{} {}", kept.name, short(kept.weight.one()));
        line(out, style, "kept", &model.kept.iter().map(one).collect::<Vec<_>>().join(", "))?;
    }
    line(out, style, "stopped", model.stopped.explain())?;
    line(out, style, "objective", &certified(model))?;
    if let Some(proof) = &model.proof {
        line(out, style, "proof", &proven(model, proof))?;
    }
    if let Some(discoveries) = &model.discoveries {
        line(out, style, "false", &false_ones(model, discoveries))?;
    }
    match &model.stability {
        Some(stability) => line(out, style, "stable", &stable_ones(model, stability)),
        None => Ok(()),
    }
}

/// How many features are selected again and again, and how many of them chance explains.
fn stable_ones(model: &Model, stability: &Stability) -> String {
    let Stability { runs, selected: q, threshold, expected_false, .. } = stability;
    let (unit, p) = (unit(model), model.training.candidates);
    let stable = stability.stable().count();
    let (formula, often) = (Stability::FORMULA, percent_of(*threshold));
    let which = match stable {
        0 => format!("no {unit} is"),
        1 => format!("1 {unit} is"),
        many => format!("{} are", plural(many, unit)),
    };
    let mut text = format!(
        "{which} selected from at least {often} of {runs} halves of the data; by chance at most {} would be: {formula}, \
         q = {q:.1} a half, t = {threshold}, p = {}",
        short(*expected_false),
        count(p),
    );
    let most = stability.most_for_one(p);
    if *expected_false > 1.0 && most > 0 {
        text.push_str(&format!("; with --features {most} or fewer at most 1"));
    }
    text
}

/// A part as a whole number of per cent.
fn percent_of(part: f64) -> String {
    format!("{:.0} %", 100.0 * part)
}

/// The part of halves of the data that features are selected from, where that is known.
fn with_frequency(table: Table, frequencies: impl Iterator<Item = Option<f64>> + Clone) -> Table {
    match frequencies.clone().any(|frequency| frequency.is_some()) {
        true => table.numbers("stability", frequencies.map(|part| part.map_or_else(String::new, percent_of))),
        false => table,
    }
}

/// How many of the features are expected to be there by chance.
fn false_ones(model: &Model, discoveries: &Discoveries) -> String {
    let considered = plural(discoveries.considered, unit(model));
    if discoveries.by_chance.is_empty() {
        return format!(
            "none of {considered} looked at stands out from chance, and from others that could take its place"
        );
    }
    let (expected, rate) = (small_percent(discoveries.expected_rate()), small_percent(discoveries.rate));
    format!(
        "{expected} of these are expected to be false discoveries, at most {rate} were allowed; {considered} were looked at"
    )
}

/// The objective, and what is proven of it.
fn certified(model: &Model) -> String {
    let certificate = &model.certificate;
    let (objective, bound) = (short(certificate.objective), short(certificate.lower_bound));
    let (gap, all) = (small_percent(certificate.gap()), count(model.training.candidates));
    match model.select {
        Select::Paper => format!(
            "{objective}, no selection can be below {bound}: within {gap} of the optimum over all {all} {}s",
            unit(model)
        ),
        Select::Best => objective,
    }
}

/// Gaps up to this are rounding.
const NOTHING: f64 = 1e-9;

/// A bound further than this from the objective says next to nothing.
const TELLING: f64 = 0.5;

/// What is proven of the features that were chosen.
fn proven(model: &Model, proof: &Proof) -> String {
    let (chosen, all) = (plural(model.count(), unit(model)), count(model.training.candidates));
    let bound = short(proof.lower_bound);
    let decided = decided(model, proof);
    match proof.gap() {
        gap if gap <= NOTHING => {
            format!("these are the best {chosen} out of {all}: no others do better{decided}")
        }
        gap if gap <= TELLING => format!(
            "no {chosen} out of {all} can do better than {bound}; these are within {}{decided}",
            small_percent(gap)
        ),
        _ => {
            let more = if proof.nodes == 0 { ", and so does --prove" } else { "" };
            format!(
                "open: no {chosen} out of {all} can do better than {bound}; a smaller cost (-C) lets more be proven{more}"
            )
        }
    }
}

/// Which features are known to be in the best sets.
fn decided(model: &Model, proof: &Proof) -> String {
    let (forced, chosen) = (proof.forced, model.count());
    let others = proof.undecided.saturating_sub((chosen - forced.min(chosen)) as u128);
    let few = others < model.training.candidates / 10;
    match (forced, others) {
        _ if forced == chosen => "; no other set is as good".into(),
        (0, _) if !few => String::new(),
        (0, _) => format!("; only {} others could be in a better set", count(others)),
        (_, 0) => format!("; {} of them are in every best set", count(forced as u64)),
        _ if few => format!(
            "; {} of them are in every best set, and only {} others could be",
            count(forced as u64),
            count(others)
        ),
        _ => format!("; {} of them are in every best set", count(forced as u64)),
    }
}

/// How much was selected; of groups also how many features that makes.
fn selected_count(model: &Model) -> String {
    let selected = plural(model.count(), unit(model));
    if model.groups.is_empty() || model.has_curves() {
        return selected;
    }
    let features: HashSet<&Feature> = model.selected().into_iter().map(|term| &term.feature).collect();
    format!("{selected} ({})", plural(features.len(), "feature"))
}

/// What a model predicts.
pub(crate) fn predicts(model: &Model) -> String {
    match (model.output, model.classes.as_slice()) {
        (Output::Classes, [negative, positive]) => format!("{negative} against {positive}"),
        (Output::Classes, classes) => format!("{} classes ({})", classes.len(), some_of(classes)),
        (Output::Number, _) => "a number".into(),
        (Output::Rate, _) => "a count".into(),
        (Output::Risk, _) => "a risk".into(),
    }
}

/// What the instances of a training set are labelled with.
pub(crate) fn outcomes(model: &Model, labels: &Labels) -> String {
    if model.output == Output::Classes {
        let mut counts = vec![0u64; model.classes.len()];
        labels.codes().iter().for_each(|&code| counts[code as usize] += 1);
        let one = |(class, n): (&String, &u64)| format!("{} of class {class}", count(*n));
        let (shown, rest) = (
            model.classes.iter().zip(&counts).take(SHOWN_CLASSES),
            model.classes.len().saturating_sub(SHOWN_CLASSES),
        );
        let list = shown.map(one).collect::<Vec<_>>().join(", ");
        return if rest == 0 { list } else { format!("{list}, and {rest} classes more") };
    }
    let Ok(numbers) = labels.numbers() else { return String::new() };
    if model.output == Output::Risk {
        let events = numbers.iter().filter(|t| **t > 0.0).count();
        return format!("{}, {} censored", plural(events, "event"), count((numbers.len() - events) as u64));
    }
    let ends =
        numbers.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], &y| [low.min(y), high.max(y)]);
    format!("labels from {} to {}", short(ends[0]), short(ends[1]))
}

/// Classes that are listed before they are only counted.
const SHOWN_CLASSES: usize = 10;

fn some_of(names: &[String]) -> String {
    let (shown, rest) = names.split_at(names.len().min(SHOWN_CLASSES));
    shown.join(", ") + if rest.is_empty() { "" } else { ", ..." }
}

/// What the fit of a model's outcome is called.
pub(crate) fn fit_name(model: &Model) -> &'static str {
    match model.training.fit() {
        Fit::Accuracy(_) => "accuracy",
        Fit::Explained(_) => "explained",
    }
}

/// What an accuracy is to be compared with: the most frequent class and, where classes are uneven, accuracies in which all classes
/// count the same.
pub(crate) fn baseline(
    model: &Model,
    labels: &Labels,
    trained: Option<&Scores>,
    test: Option<&Quality>,
    out: &mut dyn Write,
    style: Style,
) -> io::Result<()> {
    // Numbers of few different values are read as classes, too.
    if model.output != Output::Classes {
        return Ok(());
    }
    let mut counts = vec![0u64; model.classes.len()];
    labels.codes().iter().for_each(|&code| counts[code as usize] += 1);
    let Some((class, most)) = model.classes.iter().zip(counts).max_by_key(|(_, count)| *count) else {
        return Ok(());
    };
    let part = most as f64 / labels.len().max(1) as f64;
    let mut text = format!("always class {class} would reach {}", percent(part));
    if part * model.classes.len() as f64 >= featgen::validate::UNEVEN {
        let tested = test.and_then(|test| test.scores.as_ref());
        let balanced = [(trained, "the training data"), (tested, "the test data")]
            .into_iter()
            .filter_map(|(scores, on)| Some(format!("{} on {on}", percent(scores?.balanced_accuracy?))));
        let balanced = balanced.collect::<Vec<_>>().join(", ");
        if !balanced.is_empty() {
            text += &format!("; balanced accuracy {balanced}");
        }
    }
    line(out, style, "baseline", &text)
}

/// How well a model fits the training data and, where there are some, test data.
pub(crate) fn quality(
    model: &Model,
    test: Option<&Quality>,
    out: &mut dyn Write,
    style: Style,
) -> io::Result<()> {
    let fit = percent(model.training.fit().part());
    let mut text = match (model.training.fit(), model.output) {
        (Fit::Accuracy(_), _) => format!("{fit} on the training data"),
        (Fit::Explained(_), Output::Number) => format!("{fit} of the loss on the training data"),
        (Fit::Explained(_), _) => format!("{fit} of the deviance on the training data"),
    };
    let tested = test.and_then(|test| Some((test, test.scores.as_ref()?)));
    if let Some((test, scores)) = tested {
        text += &match scores.accuracy {
            Some(accuracy) => {
                let more = more_scores(scores);
                let more = if more.is_empty() { String::new() } else { format!(" ({more})") };
                format!("; {} on {}{more}", percent(accuracy), plural(test.n, "test instance"))
            }
            None => format!("; {}", told(scores, &plural(test.n, "test instance"))),
        };
    }
    line(out, style, fit_name(model), &text)
}

/// Scores beside the accuracy, as a list.
fn more_scores(scores: &Scores) -> String {
    let all = [
        scores.auc.map(|auc| format!("AUC {auc:.4}")),
        scores.log_loss.map(|loss| format!("log loss {loss:.4}")),
        scores.r2.map(|r2| format!("R² {r2:.4}")),
        scores.rmse.map(|rmse| format!("RMSE {}", short(rmse))),
        scores.deviance_explained.map(|part| format!("deviance explained {}", percent(part))),
        scores.concordance.map(|c| format!("concordance {c:.4}")),
    ];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// How good predictions for so many instances are.
pub(crate) fn told(scores: &Scores, instances: &str) -> String {
    let more = more_scores(scores);
    match scores.accuracy {
        Some(accuracy) if more.is_empty() => format!("accuracy {} of {instances}", percent(accuracy)),
        Some(accuracy) => format!("accuracy {} of {instances}, {more}", percent(accuracy)),
        None => format!("{more} on {instances}"),
    }
}

/// How often each class was taken for each: the true ones down, the predicted ones across.
pub(crate) fn confusion(classes: &[String], counts: &[Vec<u64>]) -> String {
    let mut table = Table::new().column("true", Align::Left, classes.iter().map(|class| crate::plain(class)));
    for (k, class) in classes.iter().enumerate() {
        table = table.numbers(&crate::plain(class), counts.iter().map(|row| count(row[k])));
    }
    let mut text = Vec::new();
    // Memory takes all that is written.
    let _ = table.write(&mut text, Style::plain());
    String::from_utf8_lossy(&text).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_are_short() {
        let names = |n: usize| (1..=n).map(|k| format!("a*{k}")).collect::<Vec<_>>();
        let shown = [0, 1, 2, 5, MOST_ALIASES].map(|n| aliases(&names(n)));
        let expected =
            ["", "= a*1", "= a*1, a*2", "= a*1, a*2 and 3 more", "= a*1, a*2 and at least 14 more"];
        assert_eq!(shown, expected);
    }
}
