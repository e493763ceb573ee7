//! The result as programs read it.

use std::io::{self, Write};

use featgen::Model;
use featgen::data::Dataset;
use featgen::machine::Select;
use featgen::machine::Stop;
use featgen::model::{Certificate, PerOutput, Scores, Stability, StandIn};
use featgen::objective::Output;
use featgen::validate::Estimate;
use serde::Serialize;

use crate::predict;

/// What `train --json` prints, and `inspect --json` without times and test.
#[derive(Serialize)]
pub(crate) struct Report<'a> {
    objective: f64,
    cost: f64,
    select: Select,
    lower_bound: f64,
    gap: f64,
    /// Of a number of features that were chosen by gain.
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<Proof>,
    #[serde(skip_serializing_if = "Option::is_none")]
    discoveries: Option<Discoveries<'a>>,
    /// How often features are selected from random halves of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    stability: Option<&'a Stability>,
    bias: &'a PerOutput,
    stopped: Stop,
    n: u64,
    m: u64,
    nonzeros: u64,
    candidates: u128,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    classes: &'a [String],
    #[serde(skip_serializing_if = "Output::is_classes")]
    output: Output,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kept: Vec<Kept<'a>>,
    selected: Vec<Selected<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    groups: Vec<Group<'a>>,
    rounds: Vec<Round>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    train_accuracy: Option<f64>,
    /// Of outcomes other than classes: the part of the loss without features that is explained.
    #[serde(skip_serializing_if = "Option::is_none")]
    train_explained: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<Quality>,
    /// What cross-validation says, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    cv: Option<Estimate>,
}

/// How far features are discoveries.
#[derive(Serialize)]
struct Discoveries<'a> {
    rate: f64,
    expected_rate: f64,
    considered: usize,
    by_chance: &'a [f64],
}

impl<'a> Discoveries<'a> {
    fn of(found: &'a featgen::model::Discoveries) -> Self {
        let featgen::model::Discoveries { rate, considered, by_chance } = found;
        Self { rate: *rate, expected_rate: found.expected_rate(), considered: *considered, by_chance }
    }
}

/// What is proven of as many features as were asked for.
#[derive(Serialize)]
struct Proof {
    objective: f64,
    lower_bound: f64,
    gap: f64,
    forced: usize,
    undecided: u128,
    nodes: u64,
}

impl Proof {
    fn of(proof: &featgen::model::Proof) -> Self {
        let &featgen::model::Proof { objective, lower_bound, forced, undecided, nodes } = proof;
        Self { objective, lower_bound, gap: proof.gap(), forced, undecided, nodes }
    }
}

#[derive(Serialize)]
struct Selected<'a> {
    feature: &'a str,
    /// With several outputs, the length of the vector of weights.
    weight: f64,
    /// With several outputs, the weight for each.
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<&'a [f64]>,
    round: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a str>,
    /// Of a product, the numbers of its inputs, from 1: names may be those of inputs too. None are the constant.
    #[serde(skip_serializing_if = "Option::is_none")]
    factors: Option<Vec<u64>>,
    /// Where a feature has a curve instead of a weight: its points. The weight is then the length of the curve's weights.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    curve: Vec<[f64; 2]>,
    /// The same for each of several outputs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    curves: Vec<Vec<[f64; 2]>>,
    /// Features with the same values on all training data.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    aliases: &'a [String],
    /// The part of random halves of the data that it is selected from.
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency: Option<f64>,
    /// Inputs that are highly correlated with it.
    #[serde(skip_serializing_if = "<[StandIn]>::is_empty")]
    stand_ins: &'a [StandIn],
}

/// A column that was kept.
#[derive(Serialize)]
struct Kept<'a> {
    feature: &'a str,
    weight: &'a PerOutput,
}

/// A selected group: its features are those of [`Report::selected`] that carry its name.
#[derive(Serialize)]
struct Group<'a> {
    group: &'a str,
    norm: f64,
    members: usize,
    round: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency: Option<f64>,
}

#[derive(Serialize)]
struct Round {
    round: usize,
    selected: usize,
    scored: u128,
    pruned: u128,
    cost: f64,
    objective: f64,
    lower_bound: f64,
    gap: f64,
    inner_iterations: usize,
    inner_gap: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explained: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<RoundSeconds>,
}

#[derive(Serialize)]
struct RoundSeconds {
    score: f64,
    generate: f64,
    solve: f64,
}

/// Where the time went.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Seconds {
    pub(crate) read: f64,
    pub(crate) score: f64,
    pub(crate) generate: f64,
    pub(crate) solve: f64,
    pub(crate) total: f64,
}

impl Seconds {
    /// Those of the rounds, with what only the caller knows. Preparing the space is a part of searching it.
    pub(crate) fn of(model: &Model, read: f64, prepared: f64, total: f64) -> Self {
        let sum = |part: fn(&featgen::model::Seconds) -> f64| {
            model.rounds.iter().fold(0.0, |sum, r| sum + part(&r.seconds))
        };
        Self {
            read,
            score: prepared + sum(|s| s.score),
            generate: sum(|s| s.generate),
            solve: sum(|s| s.solve),
            total,
        }
    }
}

/// How good predictions are: what `predict --json` prints.
#[derive(Clone, Serialize)]
pub(crate) struct Quality {
    pub(crate) n: usize,
    /// Of two classes: `null` where the true ones are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy: Option<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    auc: Option<Option<f64>>,
    /// All other scores, and those of other outcomes.
    #[serde(flatten)]
    rest: Scores,
    #[serde(skip)]
    pub(crate) scores: Option<Scores>,
    /// How many of the features that the model looks at the data lack.
    pub(crate) missing: usize,
}

impl Quality {
    /// Of `n` predictions of a model, as far as the truth is known, from data that lack so many features.
    pub(crate) fn new(model: &Model, n: usize, scores: Option<Scores>, missing: usize) -> Self {
        let mut rest = scores.clone().unwrap_or_default();
        // Programs that look at two classes find these two in any case.
        let two = model.classes.len() == 2;
        let accuracy = two.then(|| rest.accuracy.take());
        let auc = two.then(|| rest.auc.take());
        Self { n, accuracy, auc, rest, scores, missing }
    }

    /// Of a model on data in memory.
    pub(crate) fn of(model: &Model, data: &Dataset) -> featgen::Result<Self> {
        let decision = model.decision(data)?;
        let scores = model.truth(&data.labels).map(|truth| model.scores(&decision, &truth));
        Ok(Self::new(model, data.columns.rows(), scores, predict::lacking_in(model, data).missing.len()))
    }
}

impl<'a> Report<'a> {
    pub(crate) fn new(model: &'a Model, seconds: Option<Seconds>, test: Option<Quality>) -> Self {
        let round = |r: &featgen::model::Round| Round {
            round: r.round,
            selected: r.selected,
            scored: r.scored,
            pruned: r.pruned(model.training.candidates),
            cost: r.cost,
            objective: r.objective,
            lower_bound: r.lower_bound,
            gap: Certificate { objective: r.objective, lower_bound: r.lower_bound }.gap(),
            inner_iterations: r.inner_iterations,
            inner_gap: r.inner_gap,
            accuracy: r.accuracy,
            explained: r.explained,
            seconds: seconds.map(|_| RoundSeconds {
                score: r.seconds.score,
                generate: r.seconds.generate,
                solve: r.seconds.solve,
            }),
        };
        let selected = |&term: &&'a featgen::model::Term| Selected {
            feature: &term.name,
            weight: term.weight.one(),
            weights: (model.outputs() > 1).then_some(&term.weight.0),
            round: term.round,
            group: term.group.map(|g| model.groups[g].name.as_str()),
            factors: term.feature.as_product().map(|ids| ids.iter().map(|id| id + 1).collect()),
            curve: Vec::new(),
            curves: Vec::new(),
            aliases: &term.aliases,
            frequency: term.frequency,
            stand_ins: &term.stand_ins,
        };
        let group = |selected: &featgen::model::Selected<'a>| Group {
            group: &selected.group.name,
            norm: selected.norm,
            members: selected.group.size,
            round: selected.group.round,
            frequency: selected.group.frequency,
        };
        let curve = |selected: &featgen::model::Selected<'a>| Selected {
            feature: &selected.group.name,
            weight: selected.norm,
            weights: None,
            round: selected.group.round,
            group: None,
            factors: None,
            curve: if model.outputs() == 1 { model.curve(selected, 0) } else { Vec::new() },
            curves: if model.outputs() == 1 {
                Vec::new()
            } else {
                (0..model.outputs()).map(|k| model.curve(selected, k)).collect()
            },
            aliases: &[],
            frequency: selected.group.frequency,
            stand_ins: &[],
        };
        let groups = model.selected_groups();
        let (features, groups) = if model.has_curves() {
            (groups.iter().map(curve).collect(), Vec::new())
        } else {
            (model.selected().iter().map(selected).collect(), groups.iter().map(group).collect())
        };
        Self {
            objective: model.certificate.objective,
            cost: model.cost,
            select: model.select,
            lower_bound: model.certificate.lower_bound,
            gap: model.certificate.gap(),
            proof: model.proof.as_ref().map(Proof::of),
            discoveries: model.discoveries.as_ref().map(Discoveries::of),
            stability: model.stability.as_ref(),
            bias: &model.bias,
            stopped: model.stopped,
            n: model.training.n,
            m: model.training.m,
            nonzeros: model.training.nonzeros,
            candidates: model.training.candidates,
            classes: &model.classes,
            output: model.output,
            kept: model.kept.iter().map(|kept| Kept { feature: &kept.name, weight: &kept.weight }).collect(),
            selected: features,
            groups,
            rounds: model.rounds.iter().map(round).collect(),
            seconds,
            train_accuracy: model.training.accuracy,
            train_explained: model.training.explained,
            test,
            cv: None,
        }
    }

    /// The same with what cross-validation says.
    pub(crate) fn with_cv(self, cv: Option<Estimate>) -> Self {
        Self { cv, ..self }
    }
}

/// Writes one JSON value on one line.
pub(crate) fn write(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)
}
