//! All products of up to `D` distinct input features, for values within 0 and 1: presence, indicators, scaled counts. Of
//! 10^5 features there are 10^23 products of up to 5; few are looked at.
//!
//! A product only shrinks with every further factor. So with `u(S)` the larger of `sum of v_i x_iS` over positive and over
//! negative `v_i`, the score `|sum_i v_i x_iS|` of `S` and of all products that contain it is at most `u(S)`: a depth-first
//! search leaves out everything beyond a product whose `u` is below the worst of the best known ([`search`]).
//!
//! With several outputs, the score is the length of the vector of their sums, and `u(S)` the length of the vector of their `u`.
//!
//! **Equal columns are one candidate.** Where one factor implies another, or inputs are equal, many products have the same
//! values in all training instances. They stand for each other, so each column is proposed once, as the *first* of its
//! products in the order of [`Feature`]s: that of the fewest factors, and of those the one whose list of ids is smallest. It is
//! taken as soon as any of its products is. Others are found by [`FeatureSpace::aliases`].

mod aliases;
mod distinct;
mod search;
pub(super) mod shards;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use self::distinct::{Found, Item, Key, Tops};
use self::search::Search;
use super::ask::{Residuals, length};
use super::footprint::longest;
use super::poly::only;
use super::ranked::RankedRows;
use super::work::{MOST_WORK, Work};
use super::{
    Ask, Candidate, DataFacts, Demand, Feature, FeatureSpace, Footprint, Inputs, MOST_FACTORS, Members,
    Precision, Scored, Settings, WorstCase,
};
use crate::error::{Error, Reason, Result};
use crate::operator::Operator;
use crate::parallel;

/// The products of up to a given number of distinct features.
pub struct ProductSpace<'a> {
    inputs: Inputs<'a>,
    rules: Rules,
    most_work: u64,
    /// Positions of the inputs that may form products; all if `None`.
    allowed: Option<Vec<bool>>,
    /// Those of them that are needed: equal ones can stand for each other.
    factors: Vec<bool>,
    /// Of every input: what tells its column apart, and where it is not 0.
    columns: Vec<Known>,
    /// The columns of products that were taken: worst cases ask for the same ones again and again.
    taken: Mutex<HashMap<Feature, Key>>,
    /// Where columns are in shards: those that were passed on to all of them.
    passed_on: Mutex<HashSet<u64>>,
}

/// What decides which products there are.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Rules {
    degree: usize,
    min_support: usize,
    /// Whether there are no values but 0 and 1.
    binary: bool,
}

impl Rules {
    fn has_support(&self, instances: usize) -> bool {
        instances >= self.min_support.max(1)
    }
}

/// What is known of a column, whatever the duals.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Known {
    key: Key,
    support: u32,
    /// Whether a value is neither 0 nor 1.
    graded: bool,
}

/// Room for rounding between a bound and what it bounds.
const ROUNDING: f64 = 1e-9;

fn advice() -> Reason {
    let less = Reason::from("allow a smaller ").parameter("degree");
    let less = less.words(", ask for a larger ").parameter("min-support");
    less.words(", or name few features with ").parameter("only")
}

impl<'a> ProductSpace<'a> {
    /// Products of up to `degree` features of `inputs`, whose values must be within 0 and 1.
    pub fn new(inputs: Inputs<'a>, degree: usize) -> Result<Self> {
        if !(1..=MOST_FACTORS).contains(&degree) {
            return Err(Error::parameter(
                "degree",
                format!("must be within 1 and {MOST_FACTORS}, not {degree}"),
            ));
        }
        if u32::try_from(inputs.columns().len()).is_err() {
            return Err(Error::Data("more columns than products can be made of".into()));
        }
        let columns = survey(&inputs)?;
        let binary = columns.iter().all(|column| !column.graded);
        let mut space = Self {
            inputs,
            rules: Rules { degree, min_support: 1, binary },
            most_work: MOST_WORK,
            allowed: None,
            factors: Vec::new(),
            columns,
            taken: Mutex::default(),
            passed_on: Mutex::default(),
        };
        space.factors = space.distinct_factors();
        Ok(space)
    }

    /// Proposes only what is not 0 in at least so many training instances, inputs included [default: 1].
    pub fn min_support(mut self, instances: usize) -> Self {
        self.rules.min_support = instances;
        self
    }

    /// Lets only these inputs, given by their ids, form products. The others are still proposed for themselves.
    pub fn only(mut self, ids: impl IntoIterator<Item = u64>) -> Self {
        self.allowed = Some(self.inputs.marked(ids));
        self.factors = self.distinct_factors();
        self
    }

    /// Values that a worst case may read before it is given up with an error [default: [`MOST_WORK`]].
    pub fn most_work(mut self, values: u64) -> Self {
        self.most_work = values;
        self
    }

    fn is_allowed(&self, position: usize) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed[position])
    }

    /// Of equal inputs that may form products, only the first are needed: put in the place of others, they make the same
    /// column with a smaller list of ids. One is enough if its values are their own squares; if not, as many as there are
    /// factors.
    fn distinct_factors(&self) -> Vec<bool> {
        let mut order: Vec<usize> = (0..self.columns.len()).filter(|&p| self.is_allowed(p)).collect();
        order.par_sort_unstable_by_key(|&p| (self.columns[p].key, p));
        let mut factors = vec![false; self.columns.len()];
        for equal in order.chunk_by(|&a, &b| self.columns[a].key == self.columns[b].key) {
            let needed = if self.columns[equal[0]].graded { self.rules.degree } else { 1 };
            equal.iter().take(needed).for_each(|&position| factors[position] = true);
        }
        factors
    }

    fn feature(&self, item: &Item) -> Feature {
        let id = |&position: &u32| self.inputs.columns().id(position as usize);
        match &item.0[..] {
            [position] => Feature::input(id(position)),
            positions => Feature::product(positions.iter().map(id).collect::<Vec<_>>()),
        }
    }

    /// The positions of a feature of this space, in order.
    fn item(&self, feature: &Feature) -> Option<Item> {
        let ids = feature.inputs();
        let position = |&id: &u64| self.inputs.columns().position(id).map(|p| p as u32);
        let positions: Arc<[u32]> = ids.iter().map(position).collect::<Option<_>>()?;
        let is_product = feature.as_product().is_some_and(|factors| {
            (2..=self.rules.degree).contains(&factors.len())
                && factors.is_sorted_by(|a, b| a < b)
                && positions.iter().all(|&p| self.is_allowed(p as usize))
        });
        (is_product || feature.as_input().is_some()).then_some(Item(positions))
    }

    /// What tells the columns of features of this space apart.
    fn keys_of(&self, features: &[&Feature]) -> Result<Vec<Key>> {
        let mut cache = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = |feature: &&&Feature| feature.as_input().is_none() && !cache.contains_key(**feature);
        let new: Vec<Feature> = features.iter().filter(is_new).map(|&feature| feature.clone()).collect();
        for (column, feature) in self.inputs.generate(&new)?.iter().zip(new) {
            let mut key = Key::default();
            column.each_nonzero(|row, value| key.add(row, value));
            cache.insert(feature, key);
        }
        let key = |feature: &&Feature| match self.inputs.position(feature) {
            Some(position) => self.columns[position].key,
            None => cache.get(*feature).copied().unwrap_or_default(),
        };
        Ok(features.iter().map(key).collect())
    }

    /// The same of those that are taken, as far as they are of this space.
    fn keys<'t>(&self, taken: impl Iterator<Item = &'t Candidate>) -> Result<HashSet<Key>> {
        let feature = |candidate: &'t Candidate| match candidate {
            Candidate::Feature(feature) => self.item(feature).map(|_| feature),
            Candidate::Group(_) => None,
        };
        Ok(self.keys_of(&taken.filter_map(feature).collect::<Vec<_>>())?.into_iter().collect())
    }

    /// Offers the inputs; returns the bound `u` of each that may be a factor.
    fn score_inputs(&self, v: Residuals<'_>, tops: Tops, taken: &HashSet<Key>) -> Result<(Tops, Vec<f64>)> {
        let batch = self.inputs.columns().batch();
        let mut bounds = vec![0.0; self.columns.len()];
        let known = match self.inputs.shards() {
            Some(shards) => Some(shards::ask_scores(shards, v, self.columns.len())?),
            None => None,
        };
        let offer = |b: usize, bounds: &mut [f64]| {
            self.inputs.go_on()?;
            let mut tops = Tops::new(tops.wanted());
            let range = b * batch..b * batch + bounds.len();
            let scores = known.as_ref().map(|known| Cow::Borrowed(&known[range.clone()]));
            let scores = scores.unwrap_or_else(|| Cow::Owned(scores_of(&self.inputs, range.clone(), v)));
            for ((position, &[score, bound]), held) in range.zip(&*scores).zip(bounds) {
                let Known { key, support, .. } = self.columns[position];
                if self.rules.has_support(support as usize) {
                    let item = Item(Arc::new([position as u32]));
                    tops.offer(&Found { score, item, key }, taken);
                    *held = if self.factors[position] { bound } else { 0.0 };
                }
            }
            Ok(tops)
        };
        let tops = match parallel::reduce_chunks_mut(&mut bounds, batch, offer, |a, b| a.merge(&b))? {
            Some(inputs) => tops.merge(&inputs),
            None => tops,
        };
        Ok((tops, bounds))
    }
}

/// The score and the bound of some columns.
fn scores_of(inputs: &Inputs<'_>, range: Range<usize>, v: Residuals<'_>) -> Vec<[f64; 2]> {
    let mut scores = Vec::with_capacity(range.len());
    let mut sums = vec![[0.0; 2]; v.outputs];
    inputs.columns().visit(range, &mut |_, column| {
        if let [sums] = &mut sums[..] {
            *sums = column.signed_sums(v.v, |v, x| v * x);
        } else {
            sums.fill([0.0; 2]);
            column.add_signed_sums(v.v, |v, x| v * x, &mut sums);
        }
        scores.push([score(&sums), bound(&sums)]);
    });
    scores
}

/// The score of a product, given its sums of `v_i x_i` for every output: over positive and, made positive, over negative `v_i`.
#[inline]
fn score(sums: &[[f64; 2]]) -> f64 {
    if let [[up, down]] = sums { (up - down).abs() } else { length(sums.iter().map(|[up, down]| up - down)) }
}

/// What no product that contains it can exceed: `u`.
#[inline]
fn bound(sums: &[[f64; 2]]) -> f64 {
    if let [[up, down]] = sums { up.max(*down) } else { length(sums.iter().map(|[up, down]| up.max(*down))) }
}

impl FeatureSpace for ProductSpace<'_> {
    fn data(&self) -> &dyn DataFacts {
        &self.inputs
    }

    fn size(&self) -> u128 {
        let m = u128::from(self.inputs.dimension());
        let factors =
            self.allowed.as_ref().map_or(m, |allowed| allowed.iter().filter(|a| **a).count() as u128);
        (2..=self.rules.degree as u128).fold(m, |sum, d| sum.saturating_add(binomial(factors, d)))
    }

    fn worst_case(&self, ask: &Ask<'_>) -> Result<WorstCase> {
        let v = ask.residuals(self.inputs.rows())?;
        let taken = self.keys(ask.taken.iter())?;
        let (tops, bounds) = self.score_inputs(v, Tops::new(ask.wanted(usize::MAX)), &taken)?;
        let work = Work::new(self.most_work, self.inputs.given_context(), advice());
        let mut search = Search::new(self.rules, v, &bounds, tops, &taken, &work);
        let products = match self.inputs.shards() {
            _ if self.rules.degree < 2 => 0,
            Some(shards) => self.run_in_shards(&mut search, shards)?,
            None => search.run(self.inputs.columns())?,
        };
        let named = |found: Vec<Found>| {
            let candidate = |f: Found| {
                let item = Candidate::Feature(self.feature(&f.item));
                Scored { score: f.score, item }
            };
            found.into_iter().map(candidate).collect()
        };
        let [best, fresh] = search.into_tops().into_sorted().map(named);
        Ok(WorstCase { best, fresh, by_gain: false, scored: self.columns.len() as u128 + products })
    }

    fn precision(&self) -> Result<Precision> {
        // All values are within 0 and 1, and so are their products.
        Ok(Precision::of_features(1.0))
    }

    fn group(&self, candidate: &Candidate) -> Result<Members> {
        let group = Members::alone(candidate)?;
        match group.features.iter().all(|feature| self.item(feature).is_some()) {
            true => Ok(group),
            false => Err(Error::Data(format!("no feature {candidate:?}"))),
        }
    }

    fn generate(&self, features: &[Feature]) -> Result<Vec<Operator>> {
        self.inputs.operators(features)
    }

    fn settings(&self) -> Settings {
        let (degree, support) = (self.rules.degree.to_string(), self.rules.min_support.to_string());
        let mut settings = vec![("space", "products".into()), ("degree", degree), ("min-support", support)];
        settings.extend(self.allowed.as_deref().map(only));
        settings
    }

    fn footprint(&self, demand: &Demand) -> Footprint {
        let &Demand { outputs, threads, .. } = demand;
        let columns = self.inputs.columns();
        let per_input = (size_of::<Known>() + 2 + 8 + 12 + (16 * outputs + 4) * threads) as u64;
        if self.inputs.shards().is_some() {
            let search = per_input * columns.len() as u64 + 2 * shards::MOST_SENT;
            let longest = longest(columns, 1).iter().sum();
            return Footprint::of_products([search; 2], columns.rows(), longest, demand);
        }
        // A search may have to follow every feature, and to hold all rows for that.
        let held = per_input * columns.len() as u64
            + RankedRows::ROW_SIZE * columns.rows() as u64
            + (RankedRows::value_size(self.rules.binary) + search::MEMBER) * columns.nonzeros();
        let walks = threads as u64 * (self.rules.degree as u64 * search::HANDED_ON + columns.visit_bytes());
        let longest = longest(columns, 1).iter().sum();
        Footprint::of_products([held + walks; 2], columns.rows(), longest, demand)
    }

    fn aliases(&self, features: &[Feature], most: usize) -> Result<Vec<Vec<Feature>>> {
        self.find_aliases(features, most)
    }
}

/// The number of ways to choose `d` of `m`, at most the largest number there is. `d` is small, `m` below 2^64.
fn binomial(m: u128, d: u128) -> u128 {
    if d > m {
        return 0;
    }
    let mut ways = 1u128;
    for k in 1..=d {
        // ways (m - d + k) / k without a product that is larger than the result; k divides it.
        let (factor, rest) = (m - d + k, ways % k);
        match (ways / k).checked_mul(factor).and_then(|w| w.checked_add(rest * factor / k)) {
            Some(more) => ways = more,
            None => return u128::MAX,
        }
    }
    ways
}

/// One pass over all values: what is known of each column.
fn survey(inputs: &Inputs<'_>) -> Result<Vec<Known>> {
    if let Some(shards) = inputs.shards() {
        return shards::ask_survey(shards);
    }
    let columns = inputs.columns();
    let batch = columns.batch();
    let part = |b: usize, known: &mut [Known]| {
        let (first, mut bad) = (b * batch, None);
        columns.visit(first..first + known.len(), &mut |position, column| {
            let known = &mut known[position - first];
            column.each_nonzero(|row, x| {
                if !(0.0..=1.0).contains(&x) {
                    bad.get_or_insert((position, row, x));
                }
                known.graded |= x != 1.0;
                known.key.add(row, x);
                known.support += 1;
            });
        });
        Ok::<_, Infallible>(bad)
    };
    let mut known = vec![Known::default(); columns.len()];
    // The first bad value is named, on any number of threads.
    let Ok(bad) = parallel::reduce_chunks_mut(&mut known, batch, part, Option::or);
    if let Some((position, row, x)) = bad.flatten() {
        let reason = format!(
            "{x} is not within 0 and 1, as products of several features need; scale the values, or leave the feature out"
        );
        return Err(inputs.refuse(position, Some(row), reason));
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binomials() {
        assert_eq!([0, 1, 2, 5, 6, 7].map(|d| binomial(6, d)), [1, 6, 15, 6, 1, 0]);
        assert_eq!(binomial(100_000, 5), 83325000291662500020000);
        assert_eq!(binomial(u128::from(u64::MAX), 2), u128::from(u64::MAX) * u128::from(u64::MAX - 1) / 2);
        assert_eq!(binomial(u128::from(u64::MAX), 16), u128::MAX);
    }
}
