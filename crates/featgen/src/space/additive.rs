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
use super::footprint::longest;
use super::group::{group_number, taken_groups};
use super::topb::Tops;
use super::{Candidate, Feature, FeatureSpace, Footprint, Group, Inputs, Settings, WorstCase};
use crate::data::{Bins, Column, Lanes};
use crate::digest::digest;
use crate::error::{Error, Result};
use crate::kernels;
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
    Waves { sigma: Option<f64> },
}

impl<'a> AdditiveSpace<'a> {
    /// The kernel `min(x, z)` of features that are not negative, with so many levels.
    pub fn hik(inputs: Inputs<'a>, levels: usize) -> Result<Self> {
        let space = Self::steps(inputs, levels, 1.0, |position, column| {
            let negative = column.entries().find(|(_, x)| *x < 0.0);
            negative.map_or(Ok(()), |(i, x)| {
                let name = inputs.name(&inputs.feature(position));
                let reason = "hik takes no negative values; intersection takes their size";
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
            Ok(highest(column, power, |_| 1.0))
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
        let one = |_: usize, column: &Column| Ok(sigma.unwrap_or_else(|| deviation(column, n, |_| 1.0)));
        let mut settings = vec![("space", "gaussian".into())];
        settings.extend(sigma.map(|sigma| ("sigma", sigma.to_string())));
        Ok(Self { scales: scales(&inputs, one)?, inputs, basis: Basis::Waves { sigma }, settings })
    }

    /// Levels and deviations as they are where instances count so often; those that count 0 times do not matter.
    pub fn counting(mut self, counts: &[f64]) -> Result<Self> {
        let total = counts.iter().sum();
        let count = |row: u32| counts[row as usize];
        self.scales = match self.basis {
            Basis::Steps { power, .. } => {
                scales(&self.inputs, |_, column| Ok(highest(column, power, count)))?
            }
            Basis::Waves { sigma: None } => {
                scales(&self.inputs, |_, column| Ok(deviation(column, total, count)))?
            }
            Basis::Waves { sigma: Some(_) } => self.scales,
        };
        let counts = digest(bytemuck::cast_slice::<f64, u64>(counts));
        self.settings.push(("counting", format!("with checksum {counts:016x}")));
        Ok(self)
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
            Basis::Waves { .. } => {
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
            Basis::Waves { .. } => 1.0,
        }
    }

    /// What scores cannot exceed, without a look at any value.
    ///
    /// The score is the length of `sum_i v_i phi(x_i)`, so it is at most `R sum |v_i|` over the instances where the input is
    /// not 0, R being the greatest length of phi. That sum, in turn, is at most their number times the largest `|v_i|`, and by
    /// Cauchy and Schwarz the root of their number times the length of v.
    fn bounds(&self, v: &[f64]) -> Vec<f64> {
        let largest = v.iter().fold(0.0, |most: f64, v| v.abs().max(most));
        let square = kernels::dot(v, v);
        // `(cos - 1)^2 + sin^2` is at most 4.
        let waves: f64 = 4.0 * Wave::amplitudes().iter().map(|a| a * a).sum::<f64>();
        let bound = |position: usize| {
            let radius = match self.basis {
                // A unary code has at most all its bits.
                Basis::Steps { .. } => self.scales[position],
                Basis::Waves { .. } => waves,
            };
            let filled = self.inputs.columns().filled(position) as f64;
            (radius * filled * (filled * largest * largest).min(square)).sqrt() * (1.0 + ROUNDING)
        };
        (0..self.scales.len()).map(bound).collect()
    }

    /// The best of the columns whose bounds are as `wanted`, where only scores from `floor` on matter, and how many were scored.
    fn score(
        &self,
        search: &Search<'_>,
        wanted: impl Fn(f64) -> bool + Sync,
        floor: f64,
    ) -> Result<(Tops<u32>, u128)> {
        let batch = self.inputs.columns().batch();
        let part = |(task, bounds): (usize, &[f64])| {
            let (mut tops, mut scored, mut room) = (Tops::new(search.budget), 0, Room::default());
            for (position, &bound) in (task * batch..).zip(bounds) {
                let least = floor.max(tops.threshold());
                if !wanted(bound) || bound < least {
                    continue;
                }
                let Some(square) = self.square(position, search.v, least * least, &mut room) else {
                    continue;
                };
                if !square.is_finite() {
                    return Err(self.inputs.explain(position));
                }
                scored += 1;
                tops.offer(square.sqrt(), position as u32, &search.taken);
            }
            Ok((tops, scored))
        };
        let none = || (Tops::new(search.budget), 0);
        let merge = |(a, p): (Tops<u32>, u128), (b, q)| Ok((a.merge(b), p + q));
        search.bounds.par_chunks(batch).enumerate().map(part).try_reduce(none, merge)
    }

    /// The squared length of an input's vector of sums; `None` if it is known to be below `least` without being computed.
    fn square(&self, position: usize, v: &[f64], least: f64, room: &mut Room) -> Option<f64> {
        match self.basis {
            Basis::Steps { levels, power } => {
                let bins = Bins::new(self.scales[position], power, levels);
                let step = self.scales[position] / f64::from(levels);
                let columns = self.inputs.columns();
                let Room { entries, levels, sums } = room;
                // A histogram is dearer than reading a column that is shorter than it.
                if columns.short_column(position, bins.count(), entries) {
                    levels.clear();
                    levels.extend(entries.iter().map(|&(i, x)| (bins.index(x) as u32, v[i as usize])));
                    if step * most_squared_sums(levels) * (1.0 + ROUNDING) < least {
                        return None;
                    }
                    return Some(step * squared_sums(levels));
                }
                sums.clear();
                sums.resize(bins.count() + 1, Lanes::default());
                columns.histogram(position, v, &bins, sums);
                Some(step * squared_suffix_sums(sums))
            }
            Basis::Waves { .. } => Some(self.operator(position).transpose(v).iter().map(|c| c * c).sum()),
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
            Basis::Waves { .. } => {
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

/// What is looked for in one worst case.
struct Search<'a> {
    v: &'a [f64],
    budget: usize,
    /// In order.
    taken: Vec<u32>,
    /// Of every column's score.
    bounds: Vec<f64>,
}

impl Search<'_> {
    /// The bound that so many columns reach.
    fn bound_of(&self, count: usize) -> f64 {
        let (mut bounds, last) = (self.bounds.clone(), self.bounds.len());
        if count >= last {
            return 0.0;
        }
        *bounds.select_nth_unstable_by(count, |a, b| b.total_cmp(a)).1
    }
}

/// Columns, for each one that is looked for, that are scored first.
const FIRST: usize = 8;

/// Room for rounding between a bound and what it bounds.
const ROUNDING: f64 = 1e-9;

/// The largest `|x|^power` among instances that count.
fn highest(column: &Column, power: f64, count: impl Fn(u32) -> f64) -> f64 {
    let counted = column.entries().filter(|&(row, _)| count(row) > 0.0);
    counted.fold(0.0, |top: f64, (_, x)| top.max(x.abs())).powf(power)
}

/// The standard deviation of `n` instances, each of which counts so often.
fn deviation(column: &Column, n: f64, count: impl Fn(u32) -> f64) -> f64 {
    let mean = column.entries().fold(0.0, |sum, (row, x)| sum + count(row) * x) / n;
    let square = column.entries().fold(0.0, |sum, (row, x)| sum + count(row) * x * x) / n;
    let variance = square - mean * mean;
    if variance > 1e-12 * square { variance.sqrt() } else { square.sqrt().max(f64::MIN_POSITIVE) }
}

/// What scoring a column needs, kept from column to column.
#[derive(Default)]
struct Room {
    entries: Vec<(u32, f64)>,
    levels: Vec<(u32, f64)>,
    sums: Vec<Lanes>,
}

/// The same as [`squared_suffix_sums`] from the levels themselves: between two that occur, the sum does not change.
fn squared_sums(levels: &mut [(u32, f64)]) -> f64 {
    levels.sort_unstable_by_key(|&(level, _)| std::cmp::Reverse(level));
    let (mut above, mut total) = (0.0, 0.0);
    for k in 0..levels.len() {
        above += levels[k].1;
        let next = levels.get(k + 1).map_or(0, |next| next.0);
        total += f64::from(levels[k].0 - next) * above * above;
    }
    total
}

/// What [`squared_sums`] cannot exceed, at a smaller price.
///
/// Let `P_l` be the sum of the positive v at levels from l up, `N_l` that of the negative ones, made positive. Then
/// `(P_l - N_l)^2 <= P_l^2 + N_l^2 <= P_1 P_l + N_1 N_l`, and the sum of all `P_l` is that of every positive v times its level.
fn most_squared_sums(levels: &[(u32, f64)]) -> f64 {
    let (mut sum, mut size, mut area, mut area_size) = (0.0, 0.0, 0.0, 0.0);
    for &(level, v) in levels {
        let height = f64::from(level);
        sum += v;
        size += v.abs();
        area += height * v;
        area_size += height * v.abs();
    }
    // (size + sum) / 2 is P_1, (size - sum) / 2 is N_1, and so on: their products add up to this.
    0.5 * (size * area_size + sum * area)
}

/// `sum over levels l >= 1 of (sum over levels k >= l of h_k)^2` for a histogram `h` in lanes.
///
/// Four stretches of levels are summed side by side, for a chain of additions is slow; then each is moved by what is
/// above it: `sum (s + a)^2 = sum s^2 + 2 a sum s + count a^2`.
fn squared_suffix_sums(sums: &[Lanes]) -> f64 {
    const CHAINS: usize = 4;
    let h = |level: usize| {
        let [a, b, c, d] = sums[level];
        (a + c) + (b + d)
    };
    let count = sums.len() - 1;
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
        let budget = budget.min(self.inputs.columns().len());
        let search = Search { v, budget, taken: taken_groups(taken), bounds: self.bounds(v) };
        // The most promising first: what they reach, others must.
        let cut = search.bound_of(FIRST * budget + search.taken.len());
        let (first, scored) = self.score(&search, |bound| bound >= cut, 0.0)?;
        let floor = first.threshold().max(0.0);
        let (rest, others) = self.score(&search, |bound| bound < cut && bound >= floor, floor)?;
        Ok(WorstCase::new(first.merge(rest), scored + others, Candidate::Group))
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

    fn footprint(&self, selected: usize, threads: usize) -> Footprint {
        let lengths = longest(self.inputs.columns(), selected);
        let (count, values): (u64, u64) = (lengths.len() as u64, lengths.iter().sum());
        let longest = lengths.iter().copied().max().unwrap_or(0);
        // What a value takes in a curve that was selected, and how many columns of the curve a matrix is made of.
        let (value, width) = match self.basis {
            Basis::Steps { .. } => (4 + 2, 0),
            Basis::Waves { .. } => (4 + 16, 2 * HARMONICS as u64),
        };
        // A scale and a bound for every column, and the bounds once more while they are put in order; every thread has a
        // column at hand, as it is and as a curve.
        let search = 24 * self.scales.len() as u64 + threads as u64 * (12 + value) * longest;
        Footprint { least: search, most: search, columns: value * values, width: width * count }
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
    use crate::data::{Dense, Layout, Names, Sparse, Values};
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn suffixes_are_summed_as_they_are_defined(sums in prop::collection::vec([-3.0f64..3.0, -1.0..1.0, -1.0..1.0, -1.0..1.0], 1..60)) {
            let mut h: Vec<f64> = sums.iter().map(|lanes| lanes.iter().sum()).collect();
            crate::operator::suffix_sums(&mut h);
            let expected: f64 = h[1..].iter().map(|s| s * s).sum();
            prop_assert!((squared_suffix_sums(&sums) - expected).abs() <= 1e-12 * (1.0 + expected));
            let lanes = (0..).zip(&sums).flat_map(|(level, lanes)| lanes.map(|v| (level, v)));
            let mut levels: Vec<(u32, f64)> = lanes.collect();
            levels.rotate_left(sums.len());
            prop_assert!(most_squared_sums(&levels) * (1.0 + ROUNDING) >= expected);
            prop_assert!((squared_sums(&mut levels) - expected).abs() <= 1e-12 * (1.0 + expected));
        }

        /// For every kind of curve, also where the bounds are tight: values and duals that are all the same.
        #[test]
        fn no_score_exceeds_its_bound(
            entries in prop::collection::vec((prop::sample::select(vec![0.0f64, 0.3, 1.0, 5.0]), -1.0f64..1.0), 1..40),
            same in any::<bool>(),
        ) {
            let (x, mut v): (Vec<f64>, Vec<f64>) = entries.into_iter().unzip();
            if same {
                v.fill(0.7);
            }
            let rows: Vec<u32> = (0..).zip(&x).filter(|(_, x)| **x != 0.0).map(|(i, _)| i).collect();
            let values = Values::F64(x.iter().copied().filter(|x| *x != 0.0).collect());
            let pointers = vec![0, rows.len() as u64];
            let columns = Sparse::new(x.len(), 1, vec![0], pointers, rows, values).unwrap();
            let inputs = Inputs::over(&columns);
            for space in [
                AdditiveSpace::hik(inputs, 3).unwrap(),
                AdditiveSpace::intersection(inputs, 100, 0.5).unwrap(),
                AdditiveSpace::gaussian(inputs, None).unwrap(),
            ] {
                let square = space.square(0, &v, 0.0, &mut Room::default()).unwrap();
                prop_assert!(space.bounds(&v)[0] >= square.sqrt());
            }
        }
    }
}
