//! The input features as they are: the score of a column is the length of its vector of correlations with the residuals.

use super::ask::{Gain, Residuals};
use super::inputs::Sieve;
use super::topb::{TopB, Tops, Wanted};
use super::{
    Ask, Candidate, DataFacts, Demand, Feature, FeatureSpace, Footprint, Inputs, Members, Precision,
    Settings, WorstCase,
};
use crate::data::{Columns, Dataset};
use crate::error::Result;
use crate::operator::Operator;

/// Every column of a storage is a feature.
pub struct LinearSpace<'a> {
    inputs: Inputs<'a>,
    sieve: Sieve,
}

impl<'a> LinearSpace<'a> {
    /// The features of a data set, with its names.
    pub fn new(data: &'a Dataset) -> Self {
        Inputs::new(data).into()
    }

    /// The features of any storage, called by their numbers.
    pub fn over(columns: &'a dyn Columns) -> Self {
        Inputs::over(columns).into()
    }

    /// For one search alone, in which rough scores may take so many bytes.
    pub(in crate::space) fn for_one_search(self, bytes: u64) -> Self {
        Self { sieve: Sieve::for_one_search(bytes), ..self }
    }
}

impl<'a> From<Inputs<'a>> for LinearSpace<'a> {
    fn from(inputs: Inputs<'a>) -> Self {
        Self { inputs, sieve: Sieve::default() }
    }
}

/// Where gain follows score: columns of largest score whose gains are computed, for each that is wanted by gain, but not more than
/// so many beyond these.
const EXACTLY: usize = 4;
const BEYOND: usize = 64;

impl LinearSpace<'_> {
    /// The best of all columns by score, and of those that are not taken by gain.
    fn by_gain(
        &self,
        v: Residuals<'_>,
        gain: &Gain<'_>,
        wanted: Wanted,
        taken: &[usize],
    ) -> Result<Tops<usize>> {
        let fresh = gain.wanted.min(self.inputs.columns().len());
        let exactly = (EXACTLY * fresh).min(fresh + BEYOND);
        if self.inputs.gain_follows_score(exactly) {
            let mut tops = self.by_score(v, Wanted { fresh: exactly, ..wanted }, taken)?;
            let shortlist = std::mem::replace(&mut tops.fresh, TopB::new(fresh)).into_sorted();
            let positions: Vec<usize> = shortlist.iter().map(|scored| scored.item).collect();
            for (&position, gain) in positions.iter().zip(self.inputs.gains_at(&positions, v, gain)?) {
                tops.fresh.offer(gain, position);
            }
            return Ok(tops);
        }
        self.by_every_gain(v, gain, Wanted { fresh, ..wanted }, taken)
    }

    /// The same after a look at the gain of every column.
    pub(super) fn by_every_gain(
        &self,
        v: Residuals<'_>,
        gain: &Gain<'_>,
        wanted: Wanted,
        taken: &[usize],
    ) -> Result<Tops<usize>> {
        if let Some(shards) = self.inputs.shards() {
            return shards.by_gain(self.inputs.scale(), v, gain, wanted, taken);
        }
        self.inputs.best_by_gain(v, gain, wanted, taken, &self.sieve)
    }

    /// The best columns by score, of all and of those that are not taken.
    pub(super) fn by_score(&self, v: Residuals<'_>, wanted: Wanted, taken: &[usize]) -> Result<Tops<usize>> {
        if let Some(shards) = self.inputs.shards() {
            return shards.by_score(self.inputs.scale(), v, wanted, taken);
        }
        self.inputs.best_by_score(v, wanted, taken, &self.sieve)
    }
}

impl FeatureSpace for LinearSpace<'_> {
    fn data(&self) -> &dyn DataFacts {
        &self.inputs
    }

    fn size(&self) -> u128 {
        u128::from(self.inputs.dimension())
    }

    fn worst_case(&self, ask: &Ask<'_>) -> Result<WorstCase> {
        let v = ask.residuals(self.inputs.rows())?;
        let held = self.inputs.columns().len();
        let wanted = ask.wanted(held);
        let position = |candidate: &Candidate| match candidate {
            Candidate::Feature(feature) => self.inputs.position(feature),
            Candidate::Group(_) => None,
        };
        let mut taken: Vec<usize> = ask.taken.iter().filter_map(position).collect();
        taken.sort_unstable();
        let named = |p: usize| Candidate::Feature(self.inputs.feature(p));
        let tops = match &ask.gain {
            Some(gain) => self.by_gain(v, gain, wanted, &taken)?,
            None => self.by_score(v, wanted, &taken)?,
        };
        Ok(WorstCase { by_gain: ask.gain.is_some(), ..WorstCase::new(tops, held as u128, named) })
    }

    fn precision(&self) -> Result<Precision> {
        Ok(Precision::of_features(self.inputs.radius()?))
    }

    fn group(&self, candidate: &Candidate) -> Result<Members> {
        let alone = Members::alone(candidate)?;
        Ok(Members { column_scales: self.inputs.scales_of(&alone.features), ..alone })
    }

    fn generate(&self, features: &[Feature]) -> Result<Vec<Operator>> {
        self.inputs.operators(features)
    }

    fn settings(&self) -> Settings {
        [("space", "linear".into())].into_iter().chain(self.inputs.scale_setting()).collect()
    }

    fn suggested_cost(&self, features: usize, weights: Option<&[f64]>) -> Result<Option<f64>> {
        self.inputs.suggested_cost(features, weights)
    }

    fn footprint(&self, demand: &Demand) -> Footprint {
        let columns = self.inputs.columns();
        // A gain has three sums for each output, of which the first two are made together.
        let (made, together) = if demand.measured > 0 { (3, 2) } else { (1, 1) };
        let batches = demand.threads * columns.batch();
        let kept = if columns.by_blocks().is_some() { columns.len() } else { 0 };
        let sums = 8 * (made * demand.outputs * (kept + batches)) as u64;
        let laid = columns.laid_bytes(together * demand.outputs) + self.inputs.sift_bytes();
        let footprint = Footprint::of_inputs(sums + laid + self.inputs.scale_bytes(), columns, demand);
        let spared = columns.rough_bytes().saturating_add(self.inputs.rare_bytes(demand.outputs));
        Footprint { most: footprint.most.saturating_add(spared), ..footprint }
    }

    fn limit(&mut self, _bytes: u64) {
        // What tells which columns need no exact look is all that can be done without.
        self.sieve.room = 0;
    }
}
