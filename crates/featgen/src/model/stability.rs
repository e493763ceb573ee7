//! How often the features of a model are selected from half of the instances.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Model, Term};
use crate::feature::Feature;

/// Selected features in many random halves of the data (stability selection: Meinshausen and Bühlmann 2010), which come in pairs that
/// have no instance in common (Shah and Samworth 2013).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stability {
    /// Halves that features were selected from.
    pub runs: usize,
    /// Features (groups, where there are groups) selected from a half, on average.
    pub selected: f64,
    /// A feature is stable if it is selected from this part of the halves, at least.
    pub threshold: f64,
    /// Stable features of which no more are expected, see [`Stability::bound`].
    pub expected_false: f64,
    /// The numbers of features at which [`StableFeature::path`] says how often each was selected.
    pub counts: Vec<usize>,
    /// All features that are stable, or selected from at least [`Stability::LISTED`] of the halves: the most frequent first.
    pub features: Vec<StableFeature>,
}

/// A feature, or a group, and how often it is selected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StableFeature {
    /// What the user calls it.
    pub name: String,
    /// What it is, where it has no name of its own; of a curve its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<Feature>,
    /// The part of the halves that it is selected from.
    pub frequency: f64,
    /// The same at each of [`Stability::counts`] along the path.
    pub path: Vec<f64>,
}

impl Stability {
    /// The part of the halves from which a feature is selected to be stable.
    pub const THRESHOLD: f64 = 0.75;

    /// The part from which features are listed.
    pub const LISTED: f64 = 0.5;

    /// How [`bound`](Self::bound) reads.
    pub const FORMULA: &str = "q^2 / ((2 t - 1) p)";

    /// How many features that are selected no more often than by chance, `q` of `p` a half, can be expected to reach the threshold `t`:
    /// `q^2 / ((2 t - 1) p)`. No assumption is made (Shah and Samworth 2013, theorem 1).
    pub fn bound(q: f64, p: f64, t: f64) -> f64 {
        if p > 0.0 { q * q / ((2.0 * t - 1.0) * p) } else { 0.0 }
    }

    /// The largest number of features a half for which the bound is at most 1, among so many candidates.
    pub fn most_for_one(&self, candidates: u128) -> usize {
        ((2.0 * self.threshold - 1.0) * candidates as f64).sqrt() as usize
    }

    /// The features that are stable.
    pub fn stable(&self) -> impl Iterator<Item = &StableFeature> {
        self.features.iter().filter(|feature| feature.frequency >= self.threshold)
    }

    /// Whether there is a frequency for every point of the path.
    pub(super) fn is_sound(&self) -> bool {
        let whole = |feature: &StableFeature| feature.path.len() == self.counts.len();
        self.features.iter().all(whole)
            && self.features.iter().filter_map(|f| f.feature.as_ref()).all(Feature::is_sound)
    }

    /// All its numbers.
    pub(super) fn numbers(&self) -> impl Iterator<Item = f64> + '_ {
        let features = self
            .features
            .iter()
            .flat_map(|feature| std::iter::once(feature.frequency).chain(feature.path.iter().copied()));
        [self.selected, self.threshold, self.expected_false].into_iter().chain(features)
    }
}

impl Model {
    /// Notes how often its features are selected from half of the instances: `frequency` has that by [`key`](Self::key_of).
    pub(crate) fn set_stability(&mut self, found: Stability, frequency: &BTreeMap<String, f64>) {
        let of = |key: &str| Some(frequency.get(key).copied().unwrap_or(0.0));
        self.groups.iter_mut().for_each(|group| group.frequency = of(&group.name));
        if self.groups.is_empty() {
            let keys: Vec<String> = self.terms.iter().map(|term| self.key_of(term)).collect();
            self.terms.iter_mut().zip(keys).for_each(|(term, key)| term.frequency = of(&key));
        }
        self.stability = Some(found);
    }

    /// All numbers that say how sure its features are.
    pub(super) fn sureness(&self) -> impl Iterator<Item = f64> + '_ {
        let of_terms = self
            .terms
            .iter()
            .flat_map(|term| term.stand_ins.iter().map(|other| other.correlation).chain(term.frequency));
        let of_groups = self.groups.iter().filter_map(|group| group.frequency);
        self.stability.iter().flat_map(Stability::numbers).chain(of_terms).chain(of_groups)
    }

    /// What users call the feature of a term (its group, where there are groups), and what it is if that has no name of its own.
    pub(crate) fn shown(&self, term: &Term) -> (String, Option<Feature>) {
        let group = term.group.and_then(|g| self.groups.get(g));
        let feature = match group {
            Some(_) if !term.feature.is_part_of_curve() => None,
            Some(_) => term.feature.inputs().first().map(|&id| Feature::input(id)),
            None => Some(term.feature.clone()),
        };
        let name = group.map_or(&term.name, |group| &group.name);
        (name.clone(), feature.filter(|_| !self.by_name))
    }

    /// What tells the feature of a term (its group, where there are groups) from others, also in data in which numbers mean others.
    pub(crate) fn key_of(&self, term: &Term) -> String {
        match term.group.and_then(|g| self.groups.get(g)) {
            Some(group) => group.name.clone(),
            None if self.by_name => term.name.clone(),
            None => term.feature.show(|id| (u128::from(id) + 1).to_string()),
        }
    }
}
