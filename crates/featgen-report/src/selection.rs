//! What was selected: features, groups, curves, columns kept.

use std::collections::HashMap;

use featgen::Model;
use featgen::feature::Feature;
use featgen::model::{Selected, Term};
use serde::Serialize;

use crate::words::{drawn, unit};

/// Rows of the page's table, at most; the rest is counted.
const MOST_ROWS: usize = 10_000;

/// Classes whose weights have columns of their own, at most.
const MOST_CLASSES: usize = 10;

/// Points of curves on a page, at most: they must not make it too large to send.
const MOST_POINTS: usize = 60_000;

/// Bytes of names on a page, before long ones are cut.
const MOST_NAME_BYTES: usize = 600_000;

/// What long names are cut to, in characters.
const SHORT_NAME: usize = 100;

/// How inputs without names are called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Naming {
    /// By their numbers from 1, as the command does.
    #[default]
    FromOne,
    /// `x0`, `x1` and so on, as scikit-learn does.
    FromZero,
}

/// What was selected.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Selection {
    /// `feature` or `group`.
    pub(crate) unit: &'static str,
    /// Of all, whether or not there is a row for each.
    pub(crate) count: usize,
    pub(crate) rows: Vec<Row>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    groups: Vec<GroupRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kept: Vec<KeptRow>,
    /// The classes whose weights rows have, in that order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    classes: Vec<String>,
    /// What the weights speak for: of two classes, the one of negative and the one of positive weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    sides: Option<[String; 2]>,
    /// Whether rows are curves, and weights their lengths.
    curves: bool,
}

/// A feature.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) weight: f64,
    /// How much it changes decision values over the test data.
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    weights: Vec<f64>,
    round: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    /// Of a product, its factors.
    #[serde(skip_serializing_if = "Option::is_none")]
    factors: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    curve: Option<Curve>,
    /// In how many of many runs on parts of the data it was selected, as a part of 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    stability: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stand_ins: Vec<StandIn>,
}

/// What a feature adds to the decision value, as a function of its input: values at evenly spaced places, for each output.
#[derive(Debug, Clone, Serialize)]
struct Curve {
    from: f64,
    to: f64,
    values: Vec<Vec<f64>>,
}

/// A group of features.
#[derive(Debug, Clone, Serialize)]
struct GroupRow {
    name: String,
    norm: f64,
    members: usize,
    weighing: usize,
    round: usize,
}

/// A column that was kept.
#[derive(Debug, Clone, Serialize)]
struct KeptRow {
    name: String,
    weights: Vec<f64>,
}

/// A feature that might stand in for a selected one.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct StandIn {
    name: String,
    correlation: f64,
}

/// Text with so many characters at most.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What makes the rows of a model.
struct Rows<'a> {
    model: &'a Model,
    naming: Naming,
    inputs: HashMap<u64, &'a str>,
    /// Points of curves that still fit.
    points: usize,
}

impl Selection {
    pub(crate) fn new(model: &Model, naming: Naming, effects: Option<&[f64]>) -> Self {
        let inputs = model.inputs.iter().map(|input| (input.id, input.name.as_str())).collect();
        let mut rows = Rows { model, naming, inputs, points: MOST_POINTS };
        let groups = model.selected_groups();
        let curves = model.has_curves();
        let many = model.outputs() > 1;
        let classes =
            if many && model.outputs() <= MOST_CLASSES { model.classes.clone() } else { Vec::new() };
        let sides = match model.classes.as_slice() {
            [a, b] if !many => Some([a.clone(), b.clone()]),
            _ => None,
        };
        let mut listed: Vec<Row> = match curves {
            true => groups.iter().take(MOST_ROWS).map(|selected| rows.curve(selected)).collect(),
            false => model.selected().into_iter().take(MOST_ROWS).map(|term| rows.feature(term)).collect(),
        };
        if let Some(effects) = effects {
            listed.iter_mut().zip(effects).for_each(|(row, effect)| row.effect = Some(drawn(*effect)));
            // What matters most comes first.
            listed.sort_by(|a, b| b.effect.unwrap_or(0.0).total_cmp(&a.effect.unwrap_or(0.0)));
        }
        let group = |selected: &Selected<'_>| GroupRow {
            name: selected.group.name.clone(),
            norm: drawn(selected.norm),
            members: selected.group.size,
            weighing: selected.terms.len(),
            round: selected.group.round,
        };
        let kept = model.kept.iter().map(|kept| KeptRow {
            name: rows.called(&kept.name, &Feature::input(kept.id)),
            weights: kept.weight.0.iter().copied().map(drawn).collect(),
        });
        let mut selection = Self {
            unit: unit(model),
            count: if curves { groups.len() } else { model.selected().len() },
            rows: listed,
            kept: kept.collect(),
            groups: groups.iter().filter(|_| !curves).take(MOST_ROWS).map(group).collect(),
            classes,
            sides,
            curves,
        };
        selection.cut_names();
        selection
    }

    /// Cuts long names where they would make the page too large.
    fn cut_names(&mut self) {
        let mut names: Vec<&mut String> = self.groups.iter_mut().map(|group| &mut group.name).collect();
        names.extend(self.kept.iter_mut().map(|kept| &mut kept.name));
        for row in &mut self.rows {
            names.push(&mut row.name);
            names.extend(row.group.iter_mut());
            names.extend(row.factors.iter_mut().flatten());
            names.extend(row.aliases.iter_mut());
            names.extend(row.stand_ins.iter_mut().map(|other| &mut other.name));
        }
        if names.iter().map(|name| name.len()).sum::<usize>() > MOST_NAME_BYTES {
            names.into_iter().for_each(|name| *name = cut(name, SHORT_NAME));
        }
    }
}

impl Rows<'_> {
    /// What a feature is called.
    fn called(&self, name: &str, feature: &Feature) -> String {
        let by_number = || feature.show(|id| (u128::from(id) + 1).to_string()) == name;
        match self.naming {
            Naming::FromZero if !self.model.by_name && by_number() => feature.show(|id| format!("x{id}")),
            _ => name.to_owned(),
        }
    }

    /// What an input is called.
    fn input(&self, id: u64) -> String {
        match (self.inputs.get(&id), self.naming) {
            (Some(name), _) => (*name).to_owned(),
            (None, Naming::FromOne) => (u128::from(id) + 1).to_string(),
            (None, Naming::FromZero) => format!("x{id}"),
        }
    }

    /// What may stand in for a term.
    fn stand_ins(&self, term: &Term) -> Vec<StandIn> {
        let one = |other: &featgen::model::StandIn| StandIn {
            name: self.called(&other.name, &Feature::input(other.input)),
            correlation: drawn(other.correlation),
        };
        term.stand_ins.iter().map(one).collect()
    }

    fn feature(&self, term: &Term) -> Row {
        let many = self.model.outputs() > 1 && self.model.outputs() <= MOST_CLASSES;
        let weights = term.weight.0.iter().copied().filter(|_| many);
        Row {
            name: self.called(&term.name, &term.feature),
            weight: drawn(term.weight.one()),
            effect: None,
            weights: weights.map(drawn).collect(),
            round: term.round,
            group: term.group.map(|group| self.model.groups[group].name.clone()),
            factors: term.feature.as_product().map(|ids| ids.iter().map(|&id| self.input(id)).collect()),
            aliases: term.aliases.clone(),
            curve: None,
            stability: term.frequency.or_else(|| self.model.groups[term.group?].frequency).map(drawn),
            stand_ins: self.stand_ins(term),
        }
    }

    fn curve(&mut self, selected: &Selected<'_>) -> Row {
        let first = selected.terms.first();
        let outputs: Vec<Vec<[f64; 2]>> =
            (0..self.model.outputs()).map(|output| self.model.curve(selected, output)).collect();
        let size: usize = outputs.iter().map(Vec::len).sum();
        let ends = outputs.first().and_then(|points| Some((points.first()?[0], points.last()?[0])));
        // Nobody can tell so many lines apart.
        let few = self.model.outputs() <= MOST_CLASSES;
        let curve = ends.filter(|_| few && size <= self.points).map(|(from, to)| Curve {
            from,
            to,
            values: outputs
                .iter()
                .map(|points| points.iter().map(|[_, value]| crate::words::rounded(*value, 4)).collect())
                .collect(),
        });
        self.points -= if curve.is_some() { size } else { 0 };
        let name = &selected.group.name;
        Row {
            name: first.map_or_else(
                || name.clone(),
                |term| self.called(name, &Feature::input(term.feature.inputs()[0])),
            ),
            weight: drawn(selected.norm),
            effect: None,
            weights: Vec::new(),
            round: selected.group.round,
            group: None,
            factors: None,
            aliases: Vec::new(),
            curve,
            stability: selected.group.frequency.map(drawn),
            stand_ins: first.map(|term| self.stand_ins(term)).unwrap_or_default(),
        }
    }
}
