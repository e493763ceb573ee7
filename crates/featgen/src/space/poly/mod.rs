//! All products of two input features, with the inputs themselves and a constant, as the kernel `(gamma x.z + r)^2`
//! weighs them: r; sqrt(2 gamma r) x_j; gamma x_j^2; sqrt(2) gamma x_j x_k. There may be 10^13 of them; few are looked at.
//!
//! The score of a pair is `|sum_i v_i x_ij x_ik|`, by Cauchy and Schwarz at most `m_j m_k` with `m_j^2 = sum_i |v_i| x_ij^2`.
//! If no feature has values of both signs, the terms of the sum are positive where `v_i` is, or the other way round, so
//! that `m_j^2` may be the larger of the sums over positive and over negative `v_i`.
//!
//! With several outputs, the score is the length of the vector of their sums. It is at most `m_j m_k` with `m_j^2` the length of the
//! vector that has `m_j^2` of each output: Cauchy and Schwarz once more.
//!
//! Features come in order of falling `m`. Each is multiplied with those before it, whose values stand by rows in that
//! same order: a row is read until its features are too small for the pair to be among the best, and the search ends with
//! the first feature that is too small even beside the largest. What was not read cannot win, so the result is exact.
//! Where most values are not 0, the same goes by blocks of features instead of rows.
//!
//! A column is not read at all if it holds too few values: no sum over it is larger than their number times the largest value
//! and the largest `|v_i|`. Sums of features that occur in many rows are kept together and rows read one after the other;
//! rare features have the rows read that hold them. Both add up in the same order, to the same last digit.

mod blocks;
mod room;
mod search;
pub(super) mod shards;
mod singles;

use std::cmp::Reverse;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use self::search::Search;
use self::singles::Values;
use super::inputs::LARGEST_SUM;
use super::ranked::RankedRows;
use super::topb::Tops;
use super::work::MOST_WORK;
use super::{
    Ask, Candidate, DataFacts, Demand, Feature, FeatureSpace, Footprint, Inputs, Members, Precision,
    Settings, WorstCase,
};
use crate::digest::digest;
use crate::error::{Error, Result};
use crate::operator::Operator;
use crate::parallel;

/// The features of the polynomial kernel of degree two.
pub struct PolySpace<'a> {
    inputs: Inputs<'a>,
    gamma: f64,
    coef0: f64,
    /// Positions of the inputs that may form products; all if `None`.
    factors: Option<Vec<bool>>,
    pruned: bool,
    /// Positions of the inputs, those that hold the most values first.
    longest: Vec<u32>,
    values: Values,
    most_work: u64,
    /// Bytes that the values at hand may take in a search.
    memory: u64,
}

/// A feature by the positions of its inputs. Ordered as [`Feature`]s are: inputs, the constant, products.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Item<T = u32> {
    Input(T),
    Constant,
    Product(T, T),
}

impl<T> Item<T> {
    /// The same with inputs by other names, if each has one.
    fn renamed<U>(self, name: impl Fn(T) -> Option<U>) -> Option<Item<U>> {
        Some(match self {
            Self::Input(j) => Item::Input(name(j)?),
            Self::Constant => Item::Constant,
            Self::Product(j, k) => Item::Product(name(j)?, name(k)?),
        })
    }
}

/// Columns whose lengths one thread notes one after the other.
const MEASURED: usize = 1 << 12;

/// Room for rounding between a bound and what it bounds.
const ROUNDING: f64 = 1e-9;

impl<'a> PolySpace<'a> {
    /// Products of the features of `inputs` for the kernel `(gamma x.z + coef0)^2`.
    pub fn new(inputs: Inputs<'a>, gamma: f64, coef0: f64) -> Result<Self> {
        if !(gamma.is_finite() && gamma > 0.0) {
            return Err(Error::parameter("gamma", format!("must be a finite number above 0, not {gamma}")));
        }
        if !(coef0.is_finite() && coef0 >= 0.0) {
            return Err(Error::parameter(
                "coef0",
                format!("must be a finite number of at least 0, not {coef0}"),
            ));
        }
        if u32::try_from(inputs.columns().len()).is_err() {
            return Err(Error::Data("more columns than products can be made of".into()));
        }
        let (values, columns) = (Values::of(&inputs)?, inputs.columns());
        // Lengths are noted while positions are sorted: asking for them again and again takes longer than all else.
        let length = |p: u32| Reverse(columns.filled(p as usize) as u32);
        let mut longest = parallel::map_runs(columns.len(), MEASURED, |p| (length(p as u32), p as u32));
        longest.par_sort_unstable();
        let longest = longest.into_iter().map(|(_, p)| p).collect();
        let (factors, most_work, memory) = (None, MOST_WORK, u64::MAX);
        Ok(Self { inputs, gamma, coef0, factors, pruned: true, longest, values, most_work, memory })
    }

    /// Lets only these inputs, given by their ids, form products and squares.
    pub fn only(mut self, ids: impl IntoIterator<Item = u64>) -> Self {
        self.factors = Some(self.inputs.marked(ids));
        self
    }

    /// Values that a worst case may read before it is given up with an error [default: [`MOST_WORK`]].
    pub fn most_work(mut self, values: u64) -> Self {
        self.most_work = values;
        self
    }

    /// Looks at every pair that occurs, whatever its bound, for comparison. The result is the same.
    pub fn exhaustive(mut self) -> Self {
        self.pruned = false;
        self
    }

    fn coefficient(&self, item: Item) -> f64 {
        match item {
            Item::Input(_) => (2.0 * self.gamma * self.coef0).sqrt(),
            Item::Constant => self.coef0,
            Item::Product(j, k) if j == k => self.gamma,
            Item::Product(..) => std::f64::consts::SQRT_2 * self.gamma,
        }
    }

    fn feature(&self, item: Item) -> Feature {
        let id = |position: u32| self.inputs.columns().id(position as usize);
        match item {
            Item::Input(j) => Feature::input(id(j)),
            Item::Constant => Feature::product([]),
            Item::Product(j, k) => Feature::product([id(j), id(k)]),
        }
    }

    fn item(&self, candidate: &Candidate) -> Option<Item> {
        let Candidate::Feature(feature) = candidate else { return None };
        let position = |id: u64| self.inputs.columns().position(id).map(|p| p as u32);
        if let Some(id) = feature.as_input() {
            return position(id).map(Item::Input);
        }
        match *feature.as_product()? {
            [] => Some(Item::Constant),
            [j, k] if j <= k => Some(Item::Product(position(j)?, position(k)?)),
            _ => None,
        }
    }

    /// Bytes of what a search has for each input and for each instance: order, bounds while they are sorted, marks; where rows
    /// are, and which have a dual weight.
    fn vectors(&self) -> u64 {
        let columns = self.inputs.columns();
        48 * columns.len() as u64 + (RankedRows::ROW_SIZE + 1) * columns.rows() as u64
    }

    /// The largest number of values of an input.
    fn most_values(&self) -> u64 {
        self.longest.first().map_or(0, |&p| self.inputs.columns().filled(p as usize)) as u64
    }

    fn is_factor(&self, position: usize) -> bool {
        self.factors.as_ref().is_none_or(|factors| factors[position])
    }
}

impl FeatureSpace for PolySpace<'_> {
    fn data(&self) -> &dyn DataFacts {
        &self.inputs
    }

    fn size(&self) -> u128 {
        let m = u128::from(self.inputs.dimension());
        let factors =
            self.factors.as_ref().map_or(m, |factors| factors.iter().filter(|f| **f).count() as u128);
        // Without coef0, the constant and the inputs weigh nothing.
        let singles = if self.coef0 > 0.0 { 1 + m } else { 0 };
        singles + factors * (factors + 1) / 2
    }

    fn worst_case(&self, ask: &Ask<'_>) -> Result<WorstCase> {
        let v = ask.residuals(self.inputs.rows())?;
        let mut taken: Vec<Item> = ask.taken.iter().filter_map(|candidate| self.item(candidate)).collect();
        taken.sort_unstable();
        // Nothing is left out beside values that are no numbers: they are found, and named.
        let largest = v.largest();
        let (tops, inputs) = self.score_inputs(v, largest, Tops::new(ask.wanted(usize::MAX)), &taken)?;
        let (tops, bounds) = self.score_squares(v, largest, tops, &taken)?;
        let scored = inputs + bounds.len();
        let search = Search::new(self, v, bounds, (tops.wanted(), tops.threshold()), &taken);
        let (tops, pairs) = search.run(tops)?;
        let worst =
            WorstCase::new(tops, scored as u128 + pairs, |item| Candidate::Feature(self.feature(item)));
        match worst.top().sqrt() <= LARGEST_SUM {
            true => Ok(worst),
            false => Err(Error::Data(
                "products are too large to compute with: scale the features, or choose a smaller gamma or coef0".into(),
            )),
        }
    }

    fn precision(&self) -> Result<Precision> {
        // Known since the space was made; where a value is not finite, the other says which.
        let largest =
            if self.values.largest.is_finite() { self.values.largest } else { self.inputs.largest()? };
        let input = self.coefficient(Item::Input(0)) * largest;
        let product = self.coefficient(Item::Product(0, 1)) * largest * largest;
        Ok(Precision::of_features(self.coefficient(Item::Constant).max(input).max(product)))
    }

    fn group(&self, candidate: &Candidate) -> Result<Members> {
        let mut group = Members::alone(candidate)?;
        let item = self.item(candidate).ok_or_else(|| Error::Data(format!("no feature {candidate:?}")))?;
        group.scale = self.coefficient(item);
        Ok(group)
    }

    fn generate(&self, features: &[Feature]) -> Result<Vec<Operator>> {
        self.inputs.operators(features)
    }

    fn settings(&self) -> Settings {
        let (gamma, coef0) = (self.gamma.to_string(), self.coef0.to_string());
        let mut settings = vec![("space", "poly2".into()), ("gamma", gamma), ("coef0", coef0)];
        settings.extend(self.factors.as_deref().map(only));
        // The result is the same, but not how much was looked at.
        settings.extend((!self.pruned).then(|| ("exhaustive", String::new())));
        settings
    }

    fn footprint(&self, demand: &Demand) -> Footprint {
        let &Demand { outputs, threads, .. } = demand;
        let (columns, vectors) = (self.inputs.columns(), self.vectors());
        let longest = self.most_values();
        if self.inputs.shards().is_some() {
            // Values are elsewhere, but for those that are passed on.
            return Footprint::of_products(
                [vectors + 2 * room::BATCH_BYTES; 2],
                columns.rows(),
                longest,
                demand,
            );
        }
        let visits = threads as u64 * columns.visit_bytes();
        let sums = room::sums_by_rows(columns, outputs, threads) + self.inputs.sums_bytes(outputs);
        let search =
            room::room(columns, outputs, longest).map(|room| (vectors + visits + sums).saturating_add(room));
        Footprint::of_products(search, columns.rows(), longest, demand)
    }

    fn limit(&mut self, bytes: u64) {
        if self.inputs.shards().is_some() {
            return;
        }
        let left = bytes.saturating_sub(self.vectors());
        // Where there is next to nothing, threads are few: they do not get more than the values at hand.
        let sums = room::sums_by_rows(self.inputs.columns(), usize::MAX, room::THREADS);
        self.memory = left - sums.min(left / 2);
    }
}

/// The setting of a space in which only the marked inputs may be multiplied.
pub(super) fn only(marked: &[bool]) -> (&'static str, String) {
    let count = marked.iter().filter(|m| **m).count();
    ("only", format!("of {count} features with checksum {:016x}", digest(marked)))
}
