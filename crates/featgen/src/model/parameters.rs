//! What a run was asked for, kept so that the same run can be made again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::machine::Select;

/// The parameters of a run as the user gave them; those left to featgen are absent. Cost, loss and space are parts of the
/// [`Model`](super::Model) itself. What changes no result, such as the number of threads, is not kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// The number of features asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<usize>,
    /// How features are chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select: Option<Select>,
    /// Most exchanges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<usize>,
    /// The cost; absent where it was left to featgen, and in older files, where it is the cost asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// How columns are weighed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<String>,
    /// The gap to which the features are to be proven the best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prove: Option<f64>,
    /// The part of the features that may be false discoveries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fdr: Option<f64>,
    /// Random halves of the instances that features were selected from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stability: Option<usize>,
    /// What these were drawn from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The least correlation of stand-ins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stand_ins: Option<f64>,
    /// Seconds after which the run is to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<f64>,
    /// Features per round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<usize>,
    /// Most rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<usize>,
    /// The relative decrease of the objective at which to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tol: Option<f64>,
    /// The certified gap at which to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<f64>,
    /// How exactly rounds are solved.
    pub inner_tol: f64,
    /// The paper's rule for ending a round, in the place of `inner_tol`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inner_decrease: Option<f64>,
    /// What finds the weights.
    pub solver: String,
    /// Whether the shift is learned.
    pub shift: bool,
    /// The cost of the final refit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debias: Option<f64>,
    /// The parameters of the loss, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub loss: BTreeMap<String, String>,
    /// How much the classes count, if not the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_weights: Option<Weighing>,
    /// The groups, where there are groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<GivenGroups>,
    /// The inputs that may be multiplied, where not all may.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "ids")]
    pub only: Option<Vec<u64>>,
}

/// How much classes count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weighing {
    /// Inversely to their frequency.
    Balanced,
    /// As given, in the order of the classes.
    Each(Vec<f64>),
}

/// Groups as they were given: the name of a file, the lists themselves, or what makes them of the positions of variants.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GivenGroups {
    /// The file that holds them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The format of that file, if it was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Without a file: the groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lists: Vec<GivenGroup>,
    /// Bases of the windows in which variants are a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<u64>,
    /// The file of genes whose variants are groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub genes: Option<String>,
    /// Whether every feature in no group is a group of its own.
    pub singletons: bool,
}

/// A group as it was given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GivenGroup {
    /// Its name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The ids of its features, counted from 0; in files from 1.
    #[serde(with = "crate::feature::from_one::ids")]
    pub features: Vec<u64>,
}

/// An optional list of ids, which are counted from 1 in files.
mod ids {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Ids(#[serde(with = "crate::feature::from_one::ids")] Vec<u64>);

    pub(super) fn serialize<S: Serializer>(ids: &Option<Vec<u64>>, to: S) -> Result<S::Ok, S::Error> {
        ids.clone().map(Ids).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<u64>>, D::Error> {
        Ok(Option::<Ids>::deserialize(from)?.map(|ids| ids.0))
    }
}
