//! A model as people read it: the parts that several subcommands show.

use std::collections::HashSet;
use std::io::{self, Write};

use featgen::Model;
use featgen::model::{MOST_ALIASES, Selected, Term};
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
        let shown: Vec<String> = shown.map(|term| format!("{} {}", term.name, short(term.weight))).collect();
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
    table
        .numbers("members", groups.iter().map(|selected| count(selected.group.size as u64)))
        .numbers("round", groups.iter().map(|selected| selected.group.round.to_string()))
        .column("strongest", Align::Left, groups.iter().map(strongest))
}

/// Features with curves: name, the length of the curve's weights with a bar, the round that brought it, and the curve.
fn curves(model: &Model, curves: &[Selected<'_>], style: Style) -> Table {
    let largest = curves.iter().map(|selected| selected.norm).fold(0.0, f64::max);
    let bar_of = |selected: &Selected<'_>| Cell::painted(Paint::Positive, bar(selected.norm / largest));
    let points: Vec<Vec<[f64; 2]>> = curves.iter().map(|selected| model.curve(selected)).collect();
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
    let largest = terms.iter().map(|term| term.weight.abs()).fold(0.0, f64::max);
    let bar_of = |term: &&Term| {
        let paint = if term.weight < 0.0 { Paint::Negative } else { Paint::Positive };
        Cell::painted(paint, bar(term.weight.abs() / largest))
    };
    let mut table = Table::new()
        .column("feature", align, terms.iter().map(|term| term.name.clone()))
        .numbers("weight", terms.iter().map(|term| short(term.weight)));
    if style.has_bars() {
        table = table.column("", Align::Left, terms.iter().map(bar_of));
    }
    table = table.numbers("round", terms.iter().map(|term| term.round.to_string()));
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

/// A line of the summary: what it is about, then what there is to say.
pub(crate) fn line(out: &mut dyn Write, style: Style, about: &str, text: &str) -> io::Result<()> {
    writeln!(out, "{}  {}", style.paint(Paint::Bold, &format!("{about:<9}")), crate::plain(text))
}

/// How many features, by what, why no more, and how good the selection is.
pub(crate) fn outcome(model: &Model, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let asked = model.asked_cost;
    let raised = if asked < model.cost { format!(" (raised from {asked})") } else { String::new() };
    let refitted = model.debias.map_or_else(String::new, |cost| format!(", then refitted with cost {cost}"));
    let text = format!(
        "{} in {}, B = {}, C = {}{raised}{refitted}",
        selected_count(model),
        plural(model.rounds.len(), "round"),
        count(model.budget as u64),
        model.cost
    );
    line(out, style, "selected", &text)?;
    line(out, style, "stopped", model.stopped.explain())?;
    let certificate = &model.certificate;
    let text = format!(
        "{}, no selection can be below {}: within {} of the optimum over all {} {}s",
        short(certificate.objective),
        short(certificate.lower_bound),
        small_percent(certificate.gap()),
        count(model.training.candidates),
        unit(model)
    );
    line(out, style, "objective", &text)
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

/// Accuracy on the training data and, where there is one, on a test set.
pub(crate) fn accuracy(model: &Model, test: Option<Quality>) -> String {
    let mut text = format!("{} on the training data", percent(model.training.accuracy));
    if let Some(Quality { n, accuracy: Some(accuracy), auc, .. }) = test {
        text += &format!("; {} on {}", percent(accuracy), plural(n, "test instance"));
        text += &auc.map_or_else(String::new, |auc| format!(" (AUC {auc:.4})"));
    }
    text
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
