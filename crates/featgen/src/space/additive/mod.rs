//! Additive kernels: every input feature is a group, whose columns make a curve over it. Nothing is expanded: not when
//! scoring, not when solving.
//!
//! - *Histogram intersection*, `min(x, z)`, and `min(|x|^a, |z|^a)`: the unary code of the level of x, each bit weighing the
//!   root of a step ([`steps`]).
//! - *Gaussian*, `exp(-(x - z)^2 / (2 sigma^2))`: waves on a regular grid of frequencies (math: section 5), relative to their
//!   values at 0 so that sparse data stay sparse; with a shift, scores are the same ([`waves`]).
//!
//! Which inputs are scored at all is a matter of bounds on their scores ([`search`]).

mod search;
mod steps;
mod waves;

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use self::search::PROMISING;
pub(super) use self::search::Search as CurveSearch;
use self::steps::highest;
use self::waves::deviation;
use super::footprint::longest;
use super::group::group_number;
use super::spec::{LEVELS, POWER, SIGMA, Value};
use super::{
    Ask, Candidate, DataFacts, Demand, Feature, FeatureSpace, Footprint, Inputs, Members, Precision,
    Settings, WorstCase,
};
use crate::data::{ColumnView, Lanes};
use crate::digest::digest;
use crate::error::{Error, Result};
use crate::feature::{Step, Steps, WAVES, Wave, Waves};
use crate::operator::Operator;

/// A curve for every input feature.
pub struct AdditiveSpace<'a> {
    inputs: Inputs<'a>,
    curves: Curves,
    /// Of every column: the top of its levels, or its sigma.
    scales: Vec<f64>,
    /// Those to score first, once they were needed.
    promising: OnceLock<Vec<u32>>,
    settings: Settings,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Basis {
    Steps { levels: u32, power: f64 },
    Waves { sigma: Option<f64> },
}

/// Which curves inputs have: all that their scales depend on beside the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Curves {
    basis: Basis,
    /// Whether values below 0 are refused.
    nonnegative: bool,
    /// How often instances count, if not once each.
    counts: Option<Vec<f64>>,
}

impl Curves {
    fn new(basis: Basis) -> Self {
        Self { basis, nonnegative: false, counts: None }
    }

    pub(super) fn counts(&self) -> Option<&[f64]> {
        self.counts.as_deref()
    }

    /// Of every column: the top of its levels, or its sigma. An error if a value cannot be used.
    pub(super) fn scales(&self, inputs: &Inputs<'_>) -> Result<Vec<f64>> {
        if let Some(shards) = inputs.shards() {
            return shards.curve_scales(self);
        }
        let counts = self.counts();
        let total = counts.map_or(inputs.rows() as f64, |counts| counts.iter().sum());
        let count = |row: u32| counts.map_or(1.0, |counts| counts[row as usize]);
        let scale = |position: usize, column: ColumnView<'_>| {
            self.check(inputs, position, column)?;
            Ok(match self.basis {
                Basis::Steps { power, .. } => highest(column, power, count),
                Basis::Waves { sigma } => sigma.unwrap_or_else(|| deviation(column, total, count)),
            })
        };
        inputs.columns().see_all(scale).into_iter().collect()
    }

    /// An error if a value of a column cannot be used.
    fn check(&self, inputs: &Inputs<'_>, position: usize, column: ColumnView<'_>) -> Result<()> {
        if column.find(|x| !x.is_finite()).is_some() {
            return Err(inputs.explain(position));
        }
        let negative = column.find(|x| x < 0.0).filter(|_| self.nonnegative);
        negative.map_or(Ok(()), |(row, x)| {
            let reason = format!("{x}: hik takes no negative values; intersection takes their size");
            Err(inputs.refuse(position, Some(row), reason))
        })
    }
}

impl<'a> AdditiveSpace<'a> {
    /// These curves, whose scales are known, over the inputs that they were made for.
    pub(super) fn with_scales(inputs: Inputs<'a>, curves: Curves, scales: Vec<f64>) -> Self {
        Self { inputs, curves, scales, promising: OnceLock::new(), settings: Settings::new() }
    }

    fn new(inputs: Inputs<'a>, curves: Curves, settings: Settings) -> Result<Self> {
        let scales = curves.scales(&inputs)?;
        Ok(Self { settings, ..Self::with_scales(inputs, curves, scales) })
    }

    /// The kernel `min(x, z)` of features that are not negative, with so many levels.
    pub fn hik(inputs: Inputs<'a>, levels: usize) -> Result<Self> {
        let curves = Curves { nonnegative: true, ..Self::steps(levels, 1.0)? };
        Self::new(inputs, curves, vec![("space", "hik".into()), ("levels", levels.to_string())])
    }

    /// The kernel `min(|x|^power, |z|^power)`, with so many levels.
    pub fn intersection(inputs: Inputs<'a>, levels: usize, power: f64) -> Result<Self> {
        let settings = vec![
            ("space", "intersection".into()),
            ("levels", levels.to_string()),
            ("power", power.to_string()),
        ];
        Self::new(inputs, Self::steps(levels, power)?, settings)
    }

    fn steps(levels: usize, power: f64) -> Result<Curves> {
        LEVELS.check(Value::Whole(levels))?;
        POWER.check(Value::Real(power))?;
        Ok(Curves::new(Basis::Steps { levels: levels as u32, power }))
    }

    /// The kernel `exp(-(x - z)^2 / (2 sigma^2))` of each feature; without a sigma, each has its own standard deviation.
    pub fn gaussian(inputs: Inputs<'a>, sigma: Option<f64>) -> Result<Self> {
        sigma.map(|sigma| SIGMA.check(Value::Real(sigma))).transpose()?;
        let mut settings = vec![("space", "gaussian".into())];
        settings.extend(sigma.map(|sigma| ("sigma", sigma.to_string())));
        Self::new(inputs, Curves::new(Basis::Waves { sigma }), settings)
    }

    /// Levels and deviations as they are where instances count so often; those that count 0 times do not matter.
    pub fn counting(mut self, counts: &[f64]) -> Result<Self> {
        self.curves.counts = Some(counts.to_vec());
        self.scales = self.curves.scales(&self.inputs)?;
        let counts = digest(bytemuck::cast_slice::<f64, u64>(counts));
        self.settings.push(("counting", format!("with checksum {counts:016x}")));
        Ok(self)
    }

    /// The columns of an input's curve.
    fn operator(&self, position: usize) -> Operator {
        let scale = self.scales[position];
        self.inputs.columns().see(position, |column| {
            Operator::Implicit(match self.curves.basis {
                Basis::Steps { levels, power } => Arc::new(Steps::of(column, levels, scale, power)),
                Basis::Waves { .. } => Waves::of(column, scale),
            })
        })
    }

    /// The greatest squared length of what an input's values are turned into.
    fn greatest_square(&self, position: usize) -> f64 {
        match self.curves.basis {
            // A unary code has at most all its bits.
            Basis::Steps { .. } => self.scales[position],
            Basis::Waves { .. } => Waves::greatest_square(),
        }
    }

    /// The least and the greatest value of an input, 0 among them if it occurs.
    fn occurring(&self, column: ColumnView<'_>) -> Option<[f64; 2]> {
        let zeros = column.len() < self.inputs.rows();
        let mut range = zeros.then_some([0.0; 2]);
        column.for_each(|_, x| {
            let [low, high] = range.unwrap_or([x; 2]);
            range = Some([low.min(x), high.max(x)]);
        });
        range
    }

    /// The features of an input's curve.
    fn features(&self, position: usize) -> Vec<Feature> {
        let (input, scale) = (self.inputs.columns().id(position), self.scales[position]);
        match self.curves.basis {
            Basis::Steps { levels, power } => {
                Step::all(input, levels, scale, power).map(Feature::from).collect()
            }
            Basis::Waves { .. } => Wave::all(input, scale).map(Feature::from).collect(),
        }
    }
}

impl FeatureSpace for AdditiveSpace<'_> {
    fn data(&self) -> &dyn DataFacts {
        &self.inputs
    }

    fn size(&self) -> u128 {
        u128::from(self.inputs.dimension())
    }

    fn worst_case(&self, ask: &Ask<'_>) -> Result<WorstCase> {
        self.best(ask)
    }

    fn precision(&self) -> Result<Precision> {
        let square =
            (0..self.scales.len()).map(|position| self.greatest_square(position)).fold(0.0, f64::max);
        let levels = match self.curves.basis {
            Basis::Steps { levels, .. } => levels as usize,
            Basis::Waves { .. } => WAVES,
        };
        // Sums over levels are sums of sums.
        Ok(Precision::of_groups(square.sqrt(), 2 * levels))
    }

    fn group(&self, candidate: &Candidate) -> Result<Members> {
        let position = group_number(candidate, self.scales.len())?;
        let range = self.inputs.columns().see(position, |column| self.occurring(column));
        let features = self.features(position);
        Ok(Members {
            name: Some(self.inputs.name(&self.inputs.feature(position))),
            size: features.len(),
            features,
            scale: 1.0,
            range,
            column_scales: Vec::new(),
        })
    }

    fn settings(&self) -> Settings {
        self.settings.clone()
    }

    fn footprint(&self, demand: &Demand) -> Footprint {
        let lengths = |count: usize| longest(self.inputs.columns(), count);
        let values = |count: usize| lengths(count).iter().sum::<u64>();
        let count = demand.held.min(self.inputs.columns().len()) as u64;
        let longest = values(1);
        // What a value takes in a curve that was selected, and how many columns of the curve a matrix is made of.
        let (value, width, levels) = match self.curves.basis {
            Basis::Steps { levels, .. } => (4 + 2, 0, u64::from(levels) + 1),
            Basis::Waves { .. } => (4 + 16, WAVES as u64, 0),
        };
        // A scale for every column, and an entry in a heap for some; every thread has a column at hand, as it is and as a
        // curve, and a histogram for every output.
        let histograms = size_of::<Lanes>() as u64 * levels * demand.outputs as u64;
        let at_hand = (12 + value) * longest + histograms + self.inputs.columns().visit_bytes();
        let search = 8 * self.scales.len() as u64 + 16 * PROMISING as u64 + demand.threads as u64 * at_hand;
        let search = search + value * values(demand.measured);
        Footprint { least: search, most: search, columns: value * values(demand.held), width: width * count }
    }

    fn generate(&self, features: &[Feature]) -> Result<Vec<Operator>> {
        // A group's features come together and in order: one operator is all of them.
        let mut operators = Vec::new();
        for curve in features.chunk_by(|a, b| a.inputs() == b.inputs()) {
            let position = match curve[0].inputs() {
                &[input] => self.inputs.columns().position(input).filter(|&p| curve == self.features(p)),
                _ => None,
            };
            let unknown = || Error::Data(format!("no curve with {}", self.name(&curve[0])));
            operators.push(self.operator(position.ok_or_else(unknown)?));
        }
        Ok(operators)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dense, Layout, Names};

    #[test]
    fn what_is_no_curve_is_refused() {
        let (values, names) = ([1.0, 5.0, -2.0, 9.0], Names::default());
        let column = Dense::new(&values[..], 4, 1, Layout::ColumnMajor).unwrap();
        let space = AdditiveSpace::gaussian(Inputs::called(&column, &names), None).unwrap();
        let curve = space.features(0);
        assert_eq!(space.generate(&curve).unwrap().len(), 1);
        for strange in
            [&[Feature::product([])][..], &[Feature::input(0)], &[Feature::product([0, 0])], &curve[1..]]
        {
            assert!(space.generate(strange).is_err(), "{strange:?}");
        }
    }

    #[test]
    fn to_count_twice_is_to_stand_there_twice() {
        let (some, repeated) = ([1.0, 5.0, -2.0, 9.0], [1.0, 5.0, 5.0, -2.0, -2.0, -2.0]);
        let counts = [1.0, 2.0, 3.0, 0.0];
        let (names, layout) = (Names::default(), Layout::ColumnMajor);
        let some = Dense::new(&some[..], 4, 1, layout).unwrap();
        let repeated = Dense::new(&repeated[..], 6, 1, layout).unwrap();
        let (some, repeated) = (Inputs::called(&some, &names), Inputs::called(&repeated, &names));
        let same = |a: AdditiveSpace<'_>, b: AdditiveSpace<'_>| {
            let a = a.counting(&counts).unwrap();
            assert!((a.scales[0] - b.scales[0]).abs() < 1e-12, "{:?} {:?}", a.scales, b.scales);
        };
        let gaussian = |inputs, sigma| AdditiveSpace::gaussian(inputs, sigma).unwrap();
        same(gaussian(some, None), gaussian(repeated, None));
        same(gaussian(some, Some(3.0)), gaussian(repeated, Some(3.0)));
        let intersection = |inputs| AdditiveSpace::intersection(inputs, 10, 0.5).unwrap();
        same(intersection(some), intersection(repeated));
    }

    /// Points in time differ little from each other, and are far from 0.
    #[test]
    fn a_column_far_from_zero_has_its_own_width_and_range() {
        let names = Names::default();
        let late: Vec<f64> = (0..100).map(|i| 1.7e9 + f64::from(i)).collect();
        let early: Vec<f64> = (0..100).map(f64::from).collect();
        let large: Vec<f64> = (0..100).map(|i| 1e200 * f64::from(i)).collect();
        let of = |values: &[f64]| {
            let column = Dense::new(values, 100, 1, Layout::ColumnMajor).unwrap();
            let space = AdditiveSpace::gaussian(Inputs::called(&column, &names), None).unwrap();
            (space.scales[0], space.group(&Candidate::Group(0)).unwrap().range)
        };
        let (expected, range) = of(&early);
        assert!((expected - (9999.0f64 / 12.0).sqrt()).abs() < 1e-9);
        assert_eq!(range, Some([0.0, 99.0]));
        let (sigma, range) = of(&late);
        assert!((sigma - expected).abs() < 1e-6);
        assert_eq!(range, Some([1.7e9, 1.7e9 + 99.0]));
        assert!((of(&large).0 / 1e200 - expected).abs() < 1e-9);
        assert_eq!(of(&[5.0; 100]).0, 5.0);
    }
}
