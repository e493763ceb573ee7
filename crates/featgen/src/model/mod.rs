//! What is kept of a run: terms and weights, the path they came by, and the certificate.

mod cross_validated;
mod curve;
mod discoveries;
mod file;
mod formula;
mod lacking;
mod output;
mod parameters;
mod predict;
mod proof;
mod scores;
mod stability;
mod stand_in;
mod unscaled;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use serde::{Deserialize, Serialize};

pub use cross_validated::{CrossValidated, CrossValidatedPoint};
pub use discoveries::Discoveries;
pub use lacking::Lacking;
pub use output::{Fit, PerOutput, predicted_class};
pub use parameters::{GivenGroup, GivenGroups, Parameters, Weighing};
pub use predict::{Decisions, Predictor};
pub use proof::Proof;
pub use scores::{Scores, Tally, Truth};
pub use stability::{Stability, StableFeature};
pub use stand_in::StandIn;

use crate::data::genotypes::Genotype;
use crate::data::read::Genotyped;
use crate::feature::Feature;
use crate::machine::{Select, Stop};
use crate::objective::Output;
use crate::space::Scaling;
use crate::table::Recipe;

/// A fitted model: the decision value of an instance is `sum over terms of weight * feature - bias`, and the same of columns that
/// are kept; with several outputs there is one for each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// The program that made it, with its version; older files do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
    /// The loss it was fitted with.
    pub loss: String,
    /// What decision values say.
    #[serde(default, skip_serializing_if = "Output::is_classes")]
    pub output: Output,
    /// Of classes, their names: with one output that of negative and that of positive decision values, else that of each output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// Whether they are known to be words, though they may look like numbers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub classes_are_text: bool,
    /// The column of the training table that held the classes; `None` if they came from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_column: Option<String>,
    /// Where its features were searched: options of the command with their values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub space: BTreeMap<String, String>,
    /// Features per round (B).
    pub budget: usize,
    /// The cost (C) that the objective belongs to.
    pub cost: f64,
    /// How its features were chosen.
    #[serde(default = "paper", skip_serializing_if = "is_paper")]
    pub select: Select,
    /// The cost asked for; less than [`cost`](Self::cost) if it was raised for the sake of a number of features.
    pub asked_cost: f64,
    /// The cost of the final l2 refit, if there was one.
    pub debias: Option<f64>,
    /// What the run was asked for; older files do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Parameters>,
    /// The shift b: minus the intercept.
    pub bias: PerOutput,
    /// Columns that were kept: always in the model, never penalised.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<KeptTerm>,
    /// Whether training added an offset to decision values; predictions need one then, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offset: bool,
    /// How good the selection is, before any refit.
    pub certificate: Certificate,
    /// What is proven of the features, where a number of them was chosen [by gain](Select::Best).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// How far its features are discoveries, where a [rate](crate::Machine::fdr) of false ones was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discoveries: Option<Discoveries>,
    /// What cross-validation says, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cv: Option<CrossValidated>,
    /// How often features are selected from half of the instances, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stability: Option<Stability>,
    /// Why the run ended.
    pub stopped: Stop,
    /// What it was trained on.
    pub training: Training,
    /// Of a table: how its columns became inputs, as far as terms are made of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<Recipe>,
    /// Whether features of other data are found by name rather than by number.
    pub by_name: bool,
    /// What the inputs of the terms are called, where they are found by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<NamedInput>,
    /// Every group that carried weight in any round; empty if features were selected one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    /// Every feature that carried weight in any round; one in several groups has a term in each.
    pub terms: Vec<Term>,
    /// The path: one entry per round.
    pub rounds: Vec<Round>,
}

/// An input feature that terms are computed from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedInput {
    /// Its id, counted from 0; in files from 1.
    #[serde(with = "crate::feature::from_one::id")]
    pub id: u64,
    /// What the user calls it.
    pub name: String,
    /// Of a variant, what its values mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub genotype: Option<Genotype>,
}

/// A column that was kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptTerm {
    /// The id of the input, counted from 0; in files from 1.
    #[serde(with = "crate::feature::from_one::id")]
    pub id: u64,
    /// What the user calls it.
    pub name: String,
    /// Its weight.
    pub weight: PerOutput,
}

/// A group of features, selected as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// What the user calls it.
    pub name: String,
    /// Features that belong to it, whether or not they occur in the training data.
    pub size: usize,
    /// The round that brought it, counted from 1.
    pub round: usize,
    /// Where it makes a curve over one input: the values of the input that occur in the training data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// The part of random halves of the instances that it is selected from, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency: Option<f64>,
}

/// Aliases of a feature that are kept.
pub const MOST_ALIASES: usize = 16;

/// A feature of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// What the user calls it.
    pub name: String,
    /// What it is.
    pub feature: Feature,
    /// The group it was selected with, by its index in [`Model::groups`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<usize>,
    /// The round that brought it, counted from 1.
    pub round: usize,
    /// Other features that have the same values on all training data, as far as they are known and at most
    /// [`MOST_ALIASES`]: nothing there tells which of them is meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The part of random halves of the instances that it is selected from, where that was asked for; of a term of a group, the group
    /// has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency: Option<f64>,
    /// Inputs that are highly correlated with it, where that was asked for: the most alike first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stand_ins: Vec<StandIn>,
    /// Its weight in the final model; 0 if only earlier rounds used it. A feature in several groups weighs their sum.
    pub weight: PerOutput,
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
    /// Features, or groups of them, to choose from.
    pub candidates: u128,
    /// Of classes: part of the instances, each as often as it counts, that the final model classifies rightly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// Of all else: part of the loss without features that the final model explains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explained: Option<f64>,
}

impl Training {
    /// How well the final model fits.
    pub fn fit(&self) -> Fit {
        Fit::new(self.accuracy, self.explained)
    }
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
    /// Whether the bound is not above what it bounds, but for rounding.
    pub(crate) fn is_sound(&self) -> bool {
        const ROUNDING: f64 = 1e-12;
        self.lower_bound <= self.objective + ROUNDING * self.objective.abs()
    }

    /// How far the objective may at most be from the optimum, relative to the objective.
    pub fn gap(&self) -> f64 {
        if self.objective > 0.0 {
            ((self.objective - self.lower_bound) / self.objective).max(0.0)
        } else {
            0.0
        }
    }
}

/// A group that carries weight.
#[derive(Debug, Clone, PartialEq)]
pub struct Selected<'a> {
    /// The group.
    pub group: &'a Group,
    /// The length of its vector of weights.
    pub norm: f64,
    /// Its features that carry weight, most important first.
    pub terms: Vec<&'a Term>,
}

/// How features were chosen before there was a choice.
fn paper() -> Select {
    Select::Paper
}

fn is_paper(select: &Select) -> bool {
    *select == Select::Paper
}

/// One round: a point of the path of feature counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Counted from 1.
    pub round: usize,
    /// Features, or groups where there are groups, that carry weight after it.
    pub selected: usize,
    /// Candidates whose scores were computed to find what it brought; all others were known to be worse.
    pub scored: u128,
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
    /// Of classes: part of the training instances classified rightly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// Of all else: part of the loss without features that is explained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explained: Option<f64>,
    /// The shift b.
    pub bias: PerOutput,
    /// The weights of the columns kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<PerOutput>,
    /// Which terms carry weight, by their index in [`Model::terms`]. An observer sees other numbers: that list is only
    /// made when the run ends.
    pub terms: Vec<usize>,
    /// Their weights; with several outputs, all of a term before those of the next.
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

impl std::ops::AddAssign for Seconds {
    fn add_assign(&mut self, more: Self) {
        self.score += more.score;
        self.generate += more.generate;
        self.solve += more.solve;
    }
}

impl Round {
    /// Whether all its numbers are finite.
    pub(crate) fn is_finite(&self) -> bool {
        self.numbers().all(|x| x.is_finite())
    }

    /// All its numbers.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = f64> + '_ {
        let few = [self.cost, self.objective, self.lower_bound, self.inner_gap, self.fit().part()];
        let free = std::iter::once(&self.bias).chain(&self.kept).flat_map(|weight| &weight.0);
        few.into_iter().chain(free.chain(&self.weights).copied())
    }

    /// How well it fits the training data.
    pub fn fit(&self) -> Fit {
        Fit::new(self.accuracy, self.explained)
    }

    /// The terms that carry weight, by number.
    pub(crate) fn weighty(&self) -> impl Iterator<Item = usize> + '_ {
        let outputs = self.bias.0.len();
        let weights = self.weights.chunks(outputs.max(1));
        self.terms.iter().zip(weights).filter(|(_, w)| w.iter().any(|&w| w != 0.0)).map(|(&t, _)| t)
    }

    /// Whether it has weights for so many outputs.
    pub(crate) fn has_outputs(&self, outputs: usize) -> bool {
        let free = std::iter::once(&self.bias).chain(&self.kept).all(|weight| weight.0.len() == outputs);
        free && self.weights.len() == outputs * self.terms.len()
    }

    /// How many of so many candidates were known to be worse without computing their scores.
    pub fn pruned(&self, candidates: u128) -> u128 {
        candidates.saturating_sub(self.scored)
    }
}

impl Model {
    /// Notes how the space was described, as far as the space itself does not know: the groups as they were given, and the
    /// inputs that may be multiplied.
    pub fn with_description(mut self, groups: Option<GivenGroups>, only: Option<Vec<u64>>) -> Self {
        if let Some(parameters) = &mut self.parameters {
            (parameters.groups, parameters.only) = (groups, only);
        }
        self
    }

    /// Notes what the values of variants mean, where the model was trained on genotypes.
    pub fn with_genotypes(mut self, data: Option<&Genotyped>) -> Self {
        if let Some(data) = data {
            self.inputs.iter_mut().for_each(|input| input.genotype = data.genotype(input.id));
        }
        self
    }

    /// What the values of its variants mean, by name; `None` if it was not trained on genotypes.
    pub fn genotypes(&self) -> Option<HashMap<String, Genotype>> {
        let variants = self.inputs.iter().filter_map(|input| Some((&input.name, input.genotype.as_ref()?)));
        let known: HashMap<String, Genotype> =
            variants.map(|(name, genotype)| (name.clone(), genotype.clone())).collect();
        Some(known).filter(|known| !known.is_empty())
    }

    /// Notes how columns are weighed, as it was asked for.
    pub fn with_scaling(mut self, scaling: Option<Scaling>) -> Self {
        if let Some(parameters) = &mut self.parameters {
            parameters.scale = scaling.map(|scaling| scaling.name().to_owned());
        }
        self
    }

    /// Notes how the columns of a table became the inputs that it was trained on.
    pub fn with_recipe(mut self, recipe: Option<&Recipe>) -> Self {
        let used: Vec<u64> = self.inputs.iter().map(|input| input.id).collect();
        let used = |range: Range<u64>| used.iter().any(|id| range.contains(id));
        let learned = recipe.filter(|recipe| !recipe.is_plain());
        self.recipe = learned.map(|recipe| recipe.only(|_, range| used(range)));
        self
    }

    /// Decision values of an instance.
    pub fn outputs(&self) -> usize {
        self.bias.0.len()
    }

    /// The features that carry weight, most important (largest weight) first.
    pub fn selected(&self) -> Vec<&Term> {
        let mut terms: Vec<&Term> = self.terms.iter().filter(|term| !term.weight.is_zero()).collect();
        terms.sort_by(|a, b| {
            b.weight.length().total_cmp(&a.weight.length()).then_with(|| a.feature.cmp(&b.feature))
        });
        terms
    }

    /// The groups that carry weight, that of the largest norm first, each with its terms, that of the largest weight first.
    pub fn selected_groups(&self) -> Vec<Selected<'_>> {
        let mut by_group: Vec<Vec<&Term>> = vec![Vec::new(); self.groups.len()];
        for term in self.selected() {
            if let Some(terms) = term.group.and_then(|g| by_group.get_mut(g)) {
                terms.push(term);
            }
        }
        let square = |term: &&Term| term.weight.0.iter().map(|w| w * w).sum::<f64>();
        let norm = |terms: &[&Term]| terms.iter().map(square).sum::<f64>().sqrt();
        let mut selected: Vec<Selected<'_>> = self
            .groups
            .iter()
            .zip(by_group)
            .filter(|(_, terms)| !terms.is_empty())
            .map(|(group, terms)| Selected { group, norm: norm(&terms), terms })
            .collect();
        selected.sort_by(|a, b| b.norm.total_cmp(&a.norm));
        selected
    }

    /// How many features, or groups where there are groups, carry weight: what a run with a wanted number counts.
    pub fn count(&self) -> usize {
        if self.groups.is_empty() { self.selected().len() } else { self.selected_groups().len() }
    }

    /// The model with `features` features (groups, where there are groups) or, if its path never had that many, with the
    /// nearest number below: [`count`](Self::count) says which. `None` if every round had more.
    ///
    /// The last point is the model itself, refitted or not.
    pub fn at_most(&self, features: usize) -> Option<Self> {
        let own = self.count();
        let counts = self.rounds.iter().map(|round| round.selected).chain([own]);
        let nearest = counts.filter(|&count| count <= features).max()?;
        if nearest == own { Some(self.clone()) } else { self.at(nearest) }
    }

    /// The model as it was at the last round with `features` features (groups, where there are groups); `None` if no
    /// round had that many.
    pub fn at(&self, features: usize) -> Option<Self> {
        let round = self.rounds.iter().rposition(|r| r.selected == features)?;
        let mut model = self.clone();
        model.rounds.truncate(round + 1);
        let point = &model.rounds[round];
        let outputs = self.outputs();
        model.terms.iter_mut().for_each(|term| term.weight.0.fill(0.0));
        for (&term, weights) in point.terms.iter().zip(point.weights.chunks_exact(outputs)) {
            model.terms[term].weight.0.copy_from_slice(weights);
        }
        model.bias = point.bias.clone();
        for (kept, weight) in model.kept.iter_mut().zip(&point.kept) {
            kept.weight = weight.clone();
        }
        model.cost = point.cost;
        model.debias = None;
        model.certificate = Certificate { objective: point.objective, lower_bound: point.lower_bound };
        // What is proven is proven of the last point.
        let last = round + 1 == self.rounds.len();
        model.proof = self.proof.filter(|_| last);
        model.discoveries = self.discoveries.clone().filter(|_| last);
        // And measured of the model itself, as are frequencies.
        model.cv = None;
        model.stability = None;
        model.groups.iter_mut().for_each(|group| group.frequency = None);
        model.terms.iter_mut().for_each(|term| term.frequency = None);
        (model.training.accuracy, model.training.explained) = (point.accuracy, point.explained);
        Some(model)
    }
}
