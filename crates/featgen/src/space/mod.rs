//! Who proposes features. A space knows features and their scores; whether it stores them is its own affair.

mod additive;
mod ask;
mod facts;
mod footprint;
mod group;
mod groupfile;
mod inputs;
mod linear;
mod poly;
mod products;
mod ranked;
mod scale;
mod shards;
pub mod spec;
mod topb;
mod tree;
mod work;

use serde::{Deserialize, Serialize};

pub use additive::AdditiveSpace;
pub use ask::{Ask, Fresh, Gain};
pub use facts::DataFacts;
pub use footprint::{Demand, Footprint};
pub use group::{GroupSpace, GroupWeight, Groups, Lacking, MOST_MEMBERS};
pub use groupfile::{TreeFormat, read_features, read_groups, read_tree};
pub(crate) use groupfile::{groups_from_bytes, tree_from_bytes};
pub use inputs::Inputs;
pub use linear::LinearSpace;
pub use poly::PolySpace;
pub use products::ProductSpace;
pub use scale::{Scale, Scaling};
pub use shards::{ShardColumns, ShardServer, Shards};
pub use spec::SpaceSpec;
use topb::Tops;
pub use topb::{Scored, TopB};
pub use tree::{Crossing, Tree, TreeSpace};
pub use work::MOST_WORK;

use crate::error::{Error, Result};
pub use crate::feature::{Feature, MOST_FACTORS, MOST_LEVELS, Step, Wave};
use crate::operator::Operator;
use crate::rounding;

/// What a space proposes and a machine selects as a whole: a feature, or a group of features.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Candidate {
    /// A feature for itself.
    Feature(Feature),
    /// A group of the space, counted from 0.
    Group(u32),
}

/// What a candidate consists of.
#[derive(Debug, Clone, PartialEq)]
pub struct Members {
    /// What a user calls the group; `None` if the candidate is just a feature.
    pub name: Option<String>,
    /// Features that belong to it, whether or not they occur in the data.
    pub size: usize,
    /// Those that occur.
    pub features: Vec<Feature>,
    /// `1 / eta`: its columns count times this, and so does its score (math: section 5, group weights).
    pub scale: f64,
    /// What the column of each feature counts times besides; empty where that is 1.
    pub column_scales: Vec<f64>,
    /// Where it makes a curve over one input: the values of the input that occur.
    pub range: Option<[f64; 2]>,
}

impl Default for Members {
    /// No features; they would count once.
    fn default() -> Self {
        Self { name: None, size: 1, features: Vec::new(), scale: 1.0, column_scales: Vec::new(), range: None }
    }
}

impl Members {
    /// What the column of each feature counts times, all in all.
    pub(crate) fn scales(&self) -> Vec<f64> {
        let own = |k: usize| self.column_scales.get(k).copied().unwrap_or(1.0);
        (0..self.features.len()).map(|k| self.scale * own(k)).collect()
    }

    /// A candidate that is a single feature.
    fn alone(candidate: &Candidate) -> Result<Self> {
        match candidate {
            Candidate::Feature(feature) => {
                Ok(Self { name: None, size: 1, features: vec![feature.clone()], ..Self::default() })
            }
            Candidate::Group(g) => Err(Error::Data(format!("no group {g} in a space of single features"))),
        }
    }
}

/// A set of candidates to choose from, each with a score for given residuals.
///
/// Two operations are all the machine needs: find the best-scored candidates, and generate their columns.
pub trait FeatureSpace: Send + Sync {
    /// What is to be known of the data, which may be elsewhere.
    fn data(&self) -> &dyn DataFacts;

    /// Number of candidates.
    fn size(&self) -> u128;

    /// The worst-case analysis (Algorithms 2 and 5 of the paper): as many candidates of largest score as are asked for, exactly,
    /// ties broken by the smaller candidate; and the same, or those that are of use, among those that are not taken.
    ///
    /// The score of a feature is the length of the vector that has `sum_i v_ik x_i` for every output k, that of a group the
    /// length of the vector of all its features' sums over the group's weight; candidates of score 0 are never proposed.
    fn worst_case(&self, ask: &Ask<'_>) -> Result<WorstCase>;

    /// How far rounding may take scores. May read all values once; an error if one of them is not a finite number.
    fn precision(&self) -> Result<Precision>;

    /// What a candidate consists of.
    fn group(&self, candidate: &Candidate) -> Result<Members>;

    /// The columns of `features` on the training data, in that order; features of one group may come as one operator.
    fn generate(&self, features: &[Feature]) -> Result<Vec<Operator>>;

    /// For each of `features` the others whose columns are the same on the training data, so that nothing tells them apart: the
    /// first `most` of them, in order. Only spaces that propose equal columns once have any.
    fn aliases(&self, features: &[Feature], _most: usize) -> Result<Vec<Vec<Feature>>> {
        Ok(vec![Vec::new(); features.len()])
    }

    /// What the space was made with, other than the data: options of the command with their values. Spaces over the same data
    /// with the same settings must propose the same: a [checkpoint](crate::Machine::checkpoint) goes on only in such a one.
    fn settings(&self) -> Settings;

    /// A cost that suits a ridge fit of so many candidates in the units of the space, on instances that count as often as `weights`
    /// say; `None` if none is known. May read all values once.
    fn suggested_cost(&self, _features: usize, _weights: Option<&[f64]>) -> Result<Option<f64>> {
        Ok(None)
    }

    /// What the space takes beside the data in a run that asks no more of it than this.
    fn footprint(&self, demand: &Demand) -> Footprint;

    /// Lets searches take no more than these bytes, if they can: [`footprint`](Self::footprint) says what they need at least.
    /// What is found is the same; how much is looked at may not be.
    fn limit(&mut self, _bytes: u64) {}

    /// What a user calls `feature`.
    fn name(&self, feature: &Feature) -> String {
        feature.show(|id| self.data().input_name(id))
    }
}

/// Options by name, with their values as text; those that have none, with none.
pub type Settings = Vec<(&'static str, String)>;

/// What a certificate must know of scores, also of those that were never computed, to hold in spite of rounding.
///
/// A sum over n instances is off by at most n rounding errors of the sum of the sizes of its terms, and that is at most
/// `sum |v_i|` times the greatest length of what a candidate makes of an instance. With several outputs, a score is off by no
/// more than the length of the vector that has this for each of them, and by a rounding error for each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Precision {
    /// The greatest length of the vector that a candidate, over its weight, makes of one instance.
    pub radius: f64,
    /// Operations that a score goes through, at most, beside the sum over instances.
    pub operations: usize,
}

/// Operations in the making of a feature and of its score: factors, waves, coefficients, a square root, and the bounds by
/// which candidates are left out.
const OPERATIONS: usize = 256;

impl Precision {
    /// Of single features of this radius.
    fn of_features(radius: f64) -> Self {
        Self { radius, operations: OPERATIONS }
    }

    /// Of groups of up to so many features.
    fn of_groups(radius: f64, members: usize) -> Self {
        Self { radius, operations: OPERATIONS + members.saturating_sub(1) }
    }
}

/// Squares of scores as large as they may be without rounding.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SquaresAtMost {
    relative: f64,
    absolute: f64,
}

impl SquaresAtMost {
    /// Of scores that answer `ask`, in a space of this precision.
    pub(crate) fn new(ask: &Ask<'_>, precision: Precision) -> Self {
        let (size, terms) = ask.size_and_terms();
        let relative = rounding::relative(terms + precision.operations);
        Self { relative, absolute: relative * precision.radius * size }
    }

    /// A number that the square of a score is surely not above. No candidate whose score came out smaller is above it either.
    pub(crate) fn of(&self, score: f64) -> f64 {
        (score * (1.0 + 2.0 * self.relative) + self.absolute).powi(2)
    }

    /// A score for which that is at most `square`; at least 0.
    pub(crate) fn score_within(&self, square: f64) -> f64 {
        const ROUNDING: f64 = 1e-14;
        let score = (square.max(0.0).sqrt() - self.absolute) / (1.0 + 2.0 * self.relative);
        (score * (1.0 - ROUNDING)).max(0.0)
    }
}

/// What a worst-case analysis finds, best first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WorstCase {
    /// The best of all candidates: they make the lower bound.
    pub best: Vec<Scored<Candidate>>,
    /// The best of those not taken yet: they make the next block. Their scores are gains if [`by_gain`](Self::by_gain) says so.
    pub fresh: Vec<Scored<Candidate>>,
    /// Whether the fresh are the best by [gain](Gain), as was asked for. Not every space can tell.
    #[serde(default)]
    pub by_gain: bool,
    /// Candidates whose score was computed; all others were known to be worse without it.
    pub scored: u128,
}

impl WorstCase {
    /// From the best of all and the best of the fresh, given by whatever a space finds its candidates by.
    fn new<T: Ord>(tops: Tops<T>, scored: u128, candidate: impl Fn(T) -> Candidate) -> Self {
        let named = |top: TopB<T>| {
            let of = |s: Scored<T>| Scored { score: s.score, item: candidate(s.item) };
            top.into_sorted().into_iter().map(of).collect()
        };
        Self { best: named(tops.best), fresh: named(tops.fresh), by_gain: false, scored }
    }

    /// The sum of squared scores of the best: the dual norm's square (math: sum of the B largest s_g).
    pub fn top(&self) -> f64 {
        self.best.iter().map(|scored| scored.score * scored.score).sum()
    }

    /// The worst case of two spaces together that have no candidate in common, given that of each, for the same question. Exact,
    /// if each of them has as many as are asked for, or all that there are.
    pub fn merge(self, other: Self, ask: &Ask<'_>) -> Self {
        let wanted = ask.wanted(usize::MAX);
        let by_gain = self.by_gain && other.by_gain;
        let fresh = ask.gain.as_ref().filter(|_| by_gain).map_or(wanted.fresh, |gain| gain.wanted);
        let merged = |mut a: Vec<Scored<Candidate>>, b: Vec<Scored<Candidate>>, most: usize| {
            a.extend(b);
            a.sort_by(Scored::rank);
            a.truncate(most);
            a
        };
        Self {
            best: merged(self.best, other.best, wanted.best),
            fresh: merged(self.fresh, other.fresh, fresh),
            by_gain,
            scored: self.scored.saturating_add(other.scored),
        }
    }

    /// The score that no candidate beside the best is above, where `budget` were asked for: fewer are found only if all others have none.
    pub(crate) fn rest(&self, budget: usize) -> f64 {
        self.best.last().filter(|_| self.best.len() >= budget).map_or(0.0, |last| last.score)
    }

    /// A number that the same is surely not above, for `count` candidates of a space of this precision: scores may have come
    /// out too small, and so may those that seem to be below the best. `ask` is what was asked for.
    pub fn top_at_most(&self, count: usize, ask: &Ask<'_>, precision: Precision) -> f64 {
        let most = SquaresAtMost::new(ask, precision);
        let best: f64 = self.best.iter().take(count).map(|scored| most.of(scored.score)).sum();
        let others = count.saturating_sub(self.best.len()) as f64 * most.of(0.0);
        (best + others) * (1.0 + rounding::relative(self.best.len() + 8))
    }
}
