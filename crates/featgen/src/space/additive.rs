//! Additive kernels: every input feature is a group, whose columns make a curve over it. Nothing is expanded: not when
//! scoring, not when solving.
//!
//! - *Histogram intersection*, `min(x, z)`, and `min(|x|^a, |z|^a)`: the unary code of the level of x, each bit weighing the
//!   root of a step. The score of an input is a histogram of the duals over levels, and its suffix sums: a constant
//!   time per value, for any number of levels.
//! - *Gaussian*, `exp(-(x - z)^2 / (2 sigma^2))`: waves on a regular grid of frequencies (math: section 5), relative to their
//!   values at 0 so that sparse data stay sparse; with a shift, scores are the same.

use std::collections::HashSet;

use rayon::prelude::*;

use super::feature::{HARMONICS, Real, Step, Wave};
use super::group::{group_number, taken_groups};
use super::topb::Tops;
use super::{Candidate, Feature, FeatureSpace, Group, Inputs, Settings, WorstCase};
use crate::data::{Bins, Column};
use crate::error::{Error, Result};
use crate::operator::Operator;

/// The most levels.
pub const MOST_LEVELS: usize = u16::MAX as usize;

/// A curve for every input feature.
pub struct AdditiveSpace<'a> {
    inputs: Inputs<'a>,
    basis: Basis,
    /// Of every column: the top of its levels, or its sigma.
    scales: Vec<f64>,
    settings: Settings,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Basis {
    Steps { levels: u32, power: f64 },
    Waves,
}

impl<'a> AdditiveSpace<'a> {
    /// The kernel `min(x, z)` of features that are not negative, with so many levels.
    pub fn hik(inputs: Inputs<'a>, levels: usize) -> Result<Self> {
        let space = Self::steps(inputs, levels, 1.0, |position, column| {
            let negative = column.entries().find(|(_, x)| *x < 0.0);
            negative.map_or(Ok(()), |(i, x)| {
                let name = inputs.name(&inputs.feature(position));
                let reason = "hik takes no negative values; --space intersection takes their size";
                Err(Error::Data(format!("row {}, feature {name}: {x}: {reason}", i + 1)))
            })
        })?;
        Ok(Self { settings: vec![("space", "hik".into()), ("levels", levels.to_string())], ..space })
    }

    /// The kernel `min(|x|^power, |z|^power)`, with so many levels.
    pub fn intersection(inputs: Inputs<'a>, levels: usize, power: f64) -> Result<Self> {
        Self::steps(inputs, levels, power, |_, _| Ok(()))
    }

    fn steps(
        inputs: Inputs<'a>,
        levels: usize,
        power: f64,
        check: impl Fn(usize, &Column) -> Result<()> + Sync,
    ) -> Result<Self> {
        if !(2..=MOST_LEVELS).contains(&levels) {
            let reason = format!("must be within 2 and {MOST_LEVELS}, not {levels}");
            return Err(Error::parameter("levels", reason));
        }
        if !(power.is_finite() && power > 0.0) {
            return Err(Error::parameter("power", format!("must be a finite number above 0, not {power}")));
        }
        let top = |position: usize, column: &Column| {
            check(position, column)?;
            Ok(column.entries().fold(0.0, |top: f64, (_, x)| top.max(x.abs())).powf(power))
        };
        Ok(Self {
            scales: scales(&inputs, top)?,
            inputs,
            basis: Basis::Steps { levels: levels as u32, power },
            settings: vec![
                ("space", "intersection".into()),
                ("levels", levels.to_string()),
                ("power", power.to_string()),
            ],
        })
    }

    /// The kernel `exp(-(x - z)^2 / (2 sigma^2))` of each feature; without a sigma, each has its own standard deviation.
    pub fn gaussian(inputs: Inputs<'a>, sigma: Option<f64>) -> Result<Self> {
        if let Some(sigma) = sigma.filter(|s| !(s.is_finite() && *s > 0.0)) {
            return Err(Error::parameter("sigma", format!("must be a finite number above 0, not {sigma}")));
        }
        let n = inputs.rows() as f64;
        let deviation = |column: &Column| {
            let mean = column.entries().fold(0.0, |sum, (_, x)| sum + x) / n;
            let square = column.entries().fold(0.0, |sum, (_, x)| sum + x * x) / n;
            let variance = square - mean * mean;
            if variance > 1e-12 * square { variance.sqrt() } else { square.sqrt().max(f64::MIN_POSITIVE) }
        };
        let scales = scales(&inputs, |_, column| Ok(sigma.unwrap_or_else(|| deviation(column))))?;
        let mut settings = vec![("space", "gaussian".into())];
        settings.extend(sigma.map(|sigma| ("sigma", sigma.to_string())));
        Ok(Self { inputs, basis: Basis::Waves, scales, settings })
    }

    /// The columns of an input's curve.
    fn operator(&self, position: usize) -> Operator {
        let column = &self.inputs.columns().gather(&[position])[0];
        let filled = column.entries().filter(|(_, x)| *x != 0.0);
        match self.basis {
            Basis::Steps { levels, power } => {
                let bins = Bins::new(self.scales[position], power, levels);
                let (rows, levels) = filled.map(|(i, x)| (i, bins.index(x) as u16)).unzip();
                Operator::Steps { rows, levels, count: bins.count(), height: self.height(position) }
            }
            Basis::Waves => {
                let sigma = self.scales[position];
                let (rows, phases) = filled.map(|(i, x)| (i, Wave::phase(sigma, x))).unzip();
                Operator::Waves { rows, phases, amplitudes: Wave::amplitudes() }
            }
        }
    }

    /// What a bit of an input's unary code weighs.
    fn height(&self, position: usize) -> f64 {
        match self.basis {
            Basis::Steps { levels, .. } => (self.scales[position] / f64::from(levels)).sqrt(),
            Basis::Waves => 1.0,
        }
    }

    /// The squared length of an input's vector of sums.
    fn square(&self, position: usize, v: &[f64], room: &mut Room) -> f64 {
        match self.basis {
            Basis::Steps { levels, power } => {
                let bins = Bins::new(self.scales[position], power, levels);
                let columns = self.inputs.columns();
                let sum = if columns.short_column(position, SHORT, &mut room.entries) {
                    let entries = room.entries.iter().map(|&(i, x)| (bins.index(x), v[i as usize]));
                    room.levels.clear();
                    room.levels.extend(entries);
                    squared_sums_of_few(&mut room.levels)
                } else {
                    room.sums.clear();
                    room.sums.resize(2 * (bins.count() + 1), 0.0);
                    columns.histogram(position, v, &bins, &mut room.sums);
                    squared_suffix_sums(&room.sums)
                };
                self.scales[position] / f64::from(levels) * sum
            }
            Basis::Waves => self.operator(position).transpose(v).iter().map(|c| c * c).sum(),
        }
    }

    /// The features of an input's curve.
    fn features(&self, position: usize) -> Vec<Feature> {
        let (input, scale) = (self.inputs.columns().id(position), Real(self.scales[position]));
        match self.basis {
            Basis::Steps { levels, power } => {
                let step = |level| Step { input, level, of: levels, top: scale, power: Real(power) };
                (1..=levels).map(|level| Feature::Step(step(level))).collect()
            }
            Basis::Waves => {
                let wave = |harmonic, sine| Feature::Wave(Wave { input, harmonic, sine, sigma: scale });
                (1..=HARMONICS as u32).flat_map(|k| [wave(k, false), wave(k, true)]).collect()
            }
        }
    }
}

/// A number for every column.
fn scales(inputs: &Inputs<'_>, scale: impl Fn(usize, &Column) -> Result<f64> + Sync) -> Result<Vec<f64>> {
    let columns = inputs.columns();
    let one = |position: usize| {
        let column = &columns.gather(&[position])[0];
        let finite = column.entries().all(|(_, x)| x.is_finite());
        if finite { scale(position, column) } else { Err(inputs.explain(position)) }
    };
    (0..columns.len()).into_par_iter().map(one).collect()
}

/// What scoring a column needs, kept from column to column.
#[derive(Default)]
struct Room {
    entries: Vec<(u32, f64)>,
    levels: Vec<(usize, f64)>,
    sums: Vec<f64>,
}

/// Values up to which a column's levels are sorted instead of counted.
const SHORT: usize = 24;

/// The same as [`squared_suffix_sums`] from the levels themselves: between two that occur, the sum does not change.
fn squared_sums_of_few(levels: &mut [(usize, f64)]) -> f64 {
    // For so few, insertion is the fastest way to sort.
    for k in 1..levels.len() {
        let mut at = k;
        while at > 0 && levels[at - 1].0 < levels[at].0 {
            levels.swap(at - 1, at);
            at -= 1;
        }
    }
    let (mut above, mut total) = (0.0, 0.0);
    for k in 0..levels.len() {
        above += levels[k].1;
        let next = levels.get(k + 1).map_or(0, |next| next.0);
        total += (levels[k].0 - next) as f64 * above * above;
    }
    total
}

/// `sum over levels l >= 1 of (sum over levels k >= l of h_k)^2` for a histogram `h` in two lanes.
///
/// Four stretches of levels are summed side by side, for a chain of additions is slow; then each is moved by what is
/// above it: `sum (s + a)^2 = sum s^2 + 2 a sum s + count a^2`.
fn squared_suffix_sums(lanes: &[f64]) -> f64 {
    const CHAINS: usize = 4;
    let h = |level: usize| lanes[2 * level] + lanes[2 * level + 1];
    let count = lanes.len() / 2 - 1;
    let length = count / CHAINS;
    let (mut above, mut total) = (0.0, 0.0);
    for level in (CHAINS * length + 1..=count).rev() {
        above += h(level);
        total += above * above;
    }
    let (mut suffix, mut sums, mut squares) = ([0.0; CHAINS], [0.0; CHAINS], [0.0; CHAINS]);
    for k in 0..length {
        for c in 0..CHAINS {
            suffix[c] += h((c + 1) * length - k);
            sums[c] += suffix[c];
            squares[c] += suffix[c] * suffix[c];
        }
    }
    for c in (0..CHAINS).rev() {
        total += squares[c] + above * (2.0 * sums[c] + length as f64 * above);
        above += suffix[c];
    }
    total.max(0.0)
}

impl FeatureSpace for AdditiveSpace<'_> {
    fn inputs(&self) -> &Inputs<'_> {
        &self.inputs
    }

    fn size(&self) -> u128 {
        u128::from(self.inputs.dimension())
    }

    fn worst_case(&self, v: &[f64], budget: usize, taken: &HashSet<Candidate>) -> Result<WorstCase> {
        let count = self.inputs.columns().len();
        let (budget, taken, batch) = (budget.min(count), taken_groups(taken), self.inputs.columns().batch());
        let score = |task: usize| {
            let (mut tops, mut room) = (Tops::new(budget), Room::default());
            for position in task * batch..count.min((task + 1) * batch) {
                let square = self.square(position, v, &mut room);
                if !square.is_finite() {
                    return Err(self.inputs.explain(position));
                }
                tops.offer(square.sqrt(), position as u32, &taken);
            }
            Ok(tops)
        };
        let merge = |a: Tops<u32>, b| Ok(a.merge(b));
        let tops =
            (0..count.div_ceil(batch)).into_par_iter().map(score).try_reduce_with(merge).transpose()?;
        Ok(WorstCase::new(tops.unwrap_or_else(|| Tops::new(0)), count as u128, Candidate::Group))
    }

    fn group(&self, candidate: &Candidate) -> Result<Group> {
        let position = group_number(candidate, self.scales.len())?;
        let column = &self.inputs.columns().gather(&[position])[0];
        let ends = |[low, high]: [f64; 2], x: f64| [low.min(x), high.max(x)];
        let features = self.features(position);
        Ok(Group {
            name: Some(self.inputs.name(&self.inputs.feature(position))),
            size: features.len(),
            features,
            scale: 1.0,
            range: Some(column.entries().fold([0.0, 0.0], |range, (_, x)| ends(range, x))),
        })
    }

    fn settings(&self) -> Settings {
        self.settings.clone()
    }

    fn generate(&self, features: &[Feature]) -> Result<Vec<Operator>> {
        // A group's features come together and in order: one operator is all of them.
        let mut operators = Vec::new();
        for curve in features.chunk_by(|a, b| a.inputs() == b.inputs()) {
            let input = Feature::Input(curve[0].inputs()[0]);
            let position = self.inputs.position(&input).filter(|&p| curve == self.features(p));
            let unknown = || Error::Data(format!("no curve over feature {}", self.name(&input)));
            operators.push(self.operator(position.ok_or_else(unknown)?));
        }
        Ok(operators)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn suffixes_are_summed_as_they_are_defined(lanes in prop::collection::vec(-3.0f64..3.0, 2..60)) {
            let lanes = &lanes[..lanes.len() / 2 * 2];
            let mut h: Vec<f64> = lanes.chunks(2).map(|pair| pair[0] + pair[1]).collect();
            crate::operator::suffix_sums(&mut h);
            let expected: f64 = h[1..].iter().map(|s| s * s).sum();
            prop_assert!((squared_suffix_sums(lanes) - expected).abs() <= 1e-12 * (1.0 + expected));
            let mut levels: Vec<(usize, f64)> = lanes.iter().enumerate().map(|(k, &x)| (k / 2, x)).collect();
            levels.rotate_left(lanes.len() / 3);
            prop_assert!((squared_sums_of_few(&mut levels) - expected).abs() <= 1e-12 * (1.0 + expected));
        }
    }
}
