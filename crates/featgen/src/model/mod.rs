//! What is kept of a run: terms and weights, the path they came by, and the certificate.

mod file;
mod predict;

use serde::{Deserialize, Serialize};

pub use predict::Scores;

use crate::machine::Stop;
use crate::space::Feature;

/// A fitted model: the decision value of an instance is `sum over terms of weight * feature - bias`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// The loss it was fitted with.
    pub loss: String,
    /// The class of negative and that of positive decision values.
    pub classes: [String; 2],
    /// Features per round (B).
    pub budget: usize,
    /// The cost (C) that the objective belongs to.
    pub cost: f64,
    /// The cost of the final l2 refit, if there was one.
    pub debias: Option<f64>,
    /// The shift b.
    pub bias: f64,
    /// How good the selection is, before any refit.
    pub certificate: Certificate,
    /// Why the run ended.
    pub stopped: Stop,
    /// What it was trained on.
    pub training: Training,
    /// Whether features of other data are found by name rather than by number.
    pub by_name: bool,
    /// Every feature that carried weight in any round.
    pub terms: Vec<Term>,
    /// The path: one entry per round.
    pub rounds: Vec<Round>,
}

/// A feature of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// What the user calls it.
    pub name: String,
    /// What it is.
    pub feature: Feature,
    /// The round that brought it, counted from 1.
    pub round: usize,
    /// Its weight in the final model; 0 if only earlier rounds used it.
    pub weight: f64,
}

/// Facts about the training data, and the fit to them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// Instances.
    pub n: u64,
    /// Input features.
    pub m: u64,
    /// Stored values.
    pub nonzeros: u64,
    /// Part of the instances that the final model classifies rightly.
    pub accuracy: f64,
}

/// An upper and a lower bound on the optimum over all features of the space.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// The objective reached.
    pub objective: f64,
    /// No weights on any features can have a lower objective than this.
    pub lower_bound: f64,
}

impl Certificate {
    /// How far the objective may at most be from the optimum, relative to the objective.
    pub fn gap(&self) -> f64 {
        if self.objective > 0.0 {
            ((self.objective - self.lower_bound) / self.objective).max(0.0)
        } else {
            0.0
        }
    }
}

/// One round: a point of the path of feature counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Counted from 1.
    pub round: usize,
    /// Features that carry weight after it.
    pub selected: usize,
    /// The cost in force.
    pub cost: f64,
    /// The subproblem's objective at these weights.
    pub objective: f64,
    /// The best lower bound known after this round, over all features.
    pub lower_bound: f64,
    /// Iterations of the subproblem's solver.
    pub inner_iterations: usize,
    /// The relative duality gap that the subproblem was solved to.
    pub inner_gap: f64,
    /// Part of the training instances classified rightly.
    pub accuracy: f64,
    /// The shift b.
    pub bias: f64,
    /// Which terms carry weight, by their index in [`Model::terms`]. An observer sees other numbers: that list is only
    /// made when the run ends.
    pub terms: Vec<usize>,
    /// Their weights.
    pub weights: Vec<f64>,
    /// Time spent; not saved, so that equal runs give equal files.
    #[serde(skip)]
    pub seconds: Seconds,
}

/// Where the time of a round went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Seconds {
    /// Worst-case analysis.
    pub score: f64,
    /// Fetching the chosen columns.
    pub generate: f64,
    /// The subproblem.
    pub solve: f64,
}

impl Model {
    /// The features that carry weight, most important (largest weight) first.
    pub fn selected(&self) -> Vec<&Term> {
        let mut terms: Vec<&Term> = self.terms.iter().filter(|term| term.weight != 0.0).collect();
        terms.sort_by(|a, b| {
            b.weight.abs().total_cmp(&a.weight.abs()).then_with(|| a.feature.cmp(&b.feature))
        });
        terms
    }

    /// The model as it was at the last round with `features` features; `None` if no round had that many.
    pub fn at(&self, features: usize) -> Option<Self> {
        let round = self.rounds.iter().rposition(|r| r.selected == features)?;
        let mut model = self.clone();
        model.rounds.truncate(round + 1);
        let point = &model.rounds[round];
        model.terms.iter_mut().for_each(|term| term.weight = 0.0);
        for (&term, &weight) in point.terms.iter().zip(&point.weights) {
            model.terms[term].weight = weight;
        }
        model.bias = point.bias;
        model.cost = point.cost;
        model.debias = None;
        model.certificate = Certificate { objective: point.objective, lower_bound: point.lower_bound };
        model.training.accuracy = point.accuracy;
        Some(model)
    }
}
