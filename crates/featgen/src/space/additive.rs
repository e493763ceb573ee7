//! Additive kernels: every input feature is a group, whose columns make a curve over it. Nothing is expanded: not when
//! scoring, not when solving.
//!
//! - *Histogram intersection*, `min(x, z)`, and `min(|x|^a, |z|^a)`: the unary code of the level of x, each bit weighing the
//!   root of a step. The score of an input is a histogram of the duals over levels, and its suffix sums: a constant
//!   time per value, for any number of levels.
//! - *Gaussian*, `exp(-(x - z)^2 / (2 sigma^2))`: waves on a regular grid of frequencies (math: section 5), relative to their
//!   values at 0 so that sparse data stay sparse; with a shift, scores are the same.

use std::collections::HashSet;
use std::sync::{LazyLock, OnceLock};

use rayon::prelude::*;

use super::feature::{HARMONICS, Real, Step, Wave};
use super::footprint::longest;
use super::group::{group_number, taken_groups};
use super::topb::{TopB, Tops};
use super::{Candidate, Feature, FeatureSpace, Footprint, Group, Inputs, Precision, Settings, WorstCase};
use crate::data::{Bins, ColumnView, Lanes};
use crate::digest::digest;
use crate::error::{Error, Result};
use crate::kernels;
use crate::operator::Operator;

/// The most levels.
pub const MOST_LEVELS: usize = u16::MAX as usize;

/// The greatest squared length of an input's waves: `(cos - 1)^2 + sin^2` is at most 4.
static WAVES: LazyLock<f64> = LazyLock::new(|| 4.0 * Wave::amplitudes().iter().map(|a| a * a).sum::<f64>());

/// A curve for every input feature.
pub struct AdditiveSpace<'a> {
    inputs: Inputs<'a>,
    basis: Basis,
    /// Of every column: the top of its levels, or its sigma.
    scales: Vec<f64>,
    /// Those to score first, once they were needed.
    promising: OnceLock<Vec<u32>>,
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
            let negative = column.find(|x| x < 0.0);
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
        check: impl Fn(usize, ColumnView<'_>) -> Result<()> + Sync,
    ) -> Result<Self> {
        if !(2..=MOST_LEVELS).contains(&levels) {
            let reason = format!("must be within 2 and {MOST_LEVELS}, not {levels}");
            return Err(Error::parameter("levels", reason));
        }
        if !(power.is_finite() && power > 0.0) {
            return Err(Error::parameter("power", format!("must be a finite number above 0, not {power}")));
        }
        let top = |position: usize, column: ColumnView<'_>| {
            check(position, column)?;
            Ok(highest(column, power, |_| 1.0))
        };
        Ok(Self {
            scales: scales(&inputs, top)?,
            inputs,
            promising: OnceLock::new(),
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
        let one =
            |_: usize, column: ColumnView<'_>| Ok(sigma.unwrap_or_else(|| deviation(column, n, |_| 1.0)));
        let mut settings = vec![("space", "gaussian".into())];
        settings.extend(sigma.map(|sigma| ("sigma", sigma.to_string())));
        let promising = OnceLock::new();
        Ok(Self { scales: scales(&inputs, one)?, inputs, promising, basis: Basis::Waves { sigma }, settings })
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
        self.inputs.columns().see(position, |column| self.curve(position, column))
    }

    fn curve(&self, position: usize, column: ColumnView<'_>) -> Operator {
        let scale = self.scales[position];
        match self.basis {
            Basis::Steps { levels, power } => {
                let bins = Bins::new(scale, power, levels);
                let (rows, levels) = made(column, |x| bins.index(x) as u16);
                Operator::Steps { rows, levels, count: bins.count(), height: self.height(position) }
            }
            Basis::Waves { .. } => {
                let (rows, phases) = made(column, |x| Wave::phase(scale, x));
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

    /// The greatest squared length of what an input's values are turned into.
    fn greatest_square(&self, position: usize) -> f64 {
        match self.basis {
            // A unary code has at most all its bits.
            Basis::Steps { .. } => self.scales[position],
            Basis::Waves { .. } => *WAVES,
        }
    }

    /// What the square of a score cannot exceed, without a look at any value.
    ///
    /// The score is the length of `sum_i v_i phi(x_i)`, so it is at most `R sum |v_i|` over the instances where the input is
    /// not 0, R being the greatest length of phi. That sum, in turn, is at most their number times the largest `|v_i|`, and by
    /// Cauchy and Schwarz the root of their number times the length of v.
    fn bound(&self, position: usize, filled: usize, search: &Search<'_>) -> f64 {
        let filled = filled as f64;
        let square = (filled * search.largest * search.largest).min(search.square);
        self.greatest_square(position) * filled * square * (1.0 + ROUNDING)
    }

    /// Inputs whose bounds are high whatever the duals, the highest first.
    fn promising(&self) -> Vec<u32> {
        let mut top = TopB::new(PROMISING);
        for position in 0..self.scales.len() {
            let filled = self.inputs.columns().filled(position) as f64;
            top.offer(self.greatest_square(position) * filled * filled, position as u32);
        }
        top.into_sorted().into_iter().map(|scored| scored.item).collect()
    }

    /// Scores the columns at some positions.
    fn score_some(&self, search: &Search<'_>, positions: &[u32]) -> Result<(Tops<u32>, u128)> {
        let part = |positions: &[u32]| {
            let mut scoring = Scoring::new(self, search, 0.0);
            for position in positions.iter().map(|&p| p as usize) {
                self.inputs.columns().see(position, |column| scoring.add(position, column));
            }
            scoring.end()
        };
        let none = || (Tops::new(search.budget), 0);
        positions.par_chunks(TOGETHER).map(part).try_reduce(none, merge)
    }

    /// Scores all but the columns at `done`, which are in order, as far as they may reach `floor`.
    fn score_others(&self, search: &Search<'_>, done: &[u32], floor: f64) -> Result<(Tops<u32>, u128)> {
        let (columns, count) = (self.inputs.columns(), self.scales.len());
        let batch = columns.batch();
        let part = |task: usize| {
            let mut scoring = Scoring::new(self, search, floor);
            columns.visit(task * batch..count.min((task + 1) * batch), &mut |p, column| {
                if scoring.may_reach(p, column.len()) && done.binary_search(&(p as u32)).is_err() {
                    scoring.add(p, column);
                }
            });
            scoring.end()
        };
        let none = || (Tops::new(search.budget), 0);
        (0..count.div_ceil(batch)).into_par_iter().map(part).try_reduce(none, merge)
    }

    /// The squared length of an input's vector of sums; `None` if it is known to be below `least` without being computed.
    fn square(
        &self,
        position: usize,
        column: ColumnView<'_>,
        v: &[f64],
        least: f64,
        room: &mut Room,
    ) -> Option<f64> {
        let Basis::Steps { levels, power } = self.basis else {
            return Some(self.curve(position, column).transpose(v).iter().map(|c| c * c).sum());
        };
        let bins = Bins::new(self.scales[position], power, levels);
        let step = self.scales[position] / f64::from(levels);
        // A histogram is dearer than reading a column that is shorter than it.
        if !column.is_dense() && column.len() <= bins.count() {
            if most_squared_sums(column, v, power, step) * (1.0 + ROUNDING) < least {
                return None;
            }
            room.levels.clear();
            column.each_nonzero(|i, x| room.levels.push((bins.index(x) as u32, v[i as usize])));
            return Some(step * squared_sums(&mut room.levels));
        }
        room.sums.clear();
        room.sums.resize(bins.count() + 1, Lanes::default());
        column.histogram(v, &bins, &mut room.sums);
        Some(step * squared_suffix_sums(&room.sums))
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
fn scales(
    inputs: &Inputs<'_>,
    scale: impl Fn(usize, ColumnView<'_>) -> Result<f64> + Sync,
) -> Result<Vec<f64>> {
    let one = |position: usize, column: ColumnView<'_>| {
        let finite = column.find(|x| !x.is_finite()).is_none();
        if finite { scale(position, column) } else { Err(inputs.explain(position)) }
    };
    inputs.columns().see_all(one).into_iter().collect()
}

/// The rows whose value is not 0, and what is made of their values.
fn made<T>(column: ColumnView<'_>, make: impl Fn(f64) -> T) -> (Vec<u32>, Vec<T>) {
    let (mut rows, mut made) = (Vec::with_capacity(column.len()), Vec::with_capacity(column.len()));
    column.each_nonzero(|row, x| {
        rows.push(row);
        made.push(make(x));
    });
    (rows, made)
}

/// What is looked for in one worst case.
struct Search<'a> {
    v: &'a [f64],
    /// The largest `|v_i|`, and the sum of their squares.
    largest: f64,
    square: f64,
    budget: usize,
    /// In order.
    taken: Vec<u32>,
}

/// Columns that are scored by one thread, one after the other.
struct Scoring<'a> {
    space: &'a AdditiveSpace<'a>,
    search: &'a Search<'a>,
    /// Only scores from here on matter.
    floor: f64,
    tops: Tops<u32>,
    scored: u128,
    /// The first column whose score is no number.
    wrong: Option<usize>,
    room: Room,
}

impl<'a> Scoring<'a> {
    fn new(space: &'a AdditiveSpace<'a>, search: &'a Search<'a>, floor: f64) -> Self {
        let (tops, room) = (Tops::new(search.budget), Room::default());
        Self { space, search, floor, tops, scored: 0, wrong: None, room }
    }

    /// The square of what a score must reach to matter.
    fn least(&self) -> f64 {
        let least = self.floor.max(self.tops.threshold());
        least * least
    }

    /// Whether a column with so many values may matter.
    fn may_reach(&self, position: usize, filled: usize) -> bool {
        self.space.bound(position, filled, self.search) >= self.least()
    }

    fn add(&mut self, position: usize, column: ColumnView<'_>) {
        let least = self.least();
        if let Some(square) = self.space.square(position, column, self.search.v, least, &mut self.room) {
            if !square.is_finite() {
                self.wrong.get_or_insert(position);
            }
            self.scored += 1;
            self.tops.offer(square.sqrt(), position as u32, &self.search.taken);
        }
    }

    fn end(self) -> Result<(Tops<u32>, u128)> {
        match self.wrong {
            Some(position) => Err(self.space.inputs.explain(position)),
            None => Ok((self.tops, self.scored)),
        }
    }
}

fn merge((a, p): (Tops<u32>, u128), (b, q): (Tops<u32>, u128)) -> Result<(Tops<u32>, u128)> {
    Ok((a.merge(b), p + q))
}

/// Columns that are known to be promising, at most, and how many of them one thread takes at a time.
const PROMISING: usize = 1 << 14;
const TOGETHER: usize = 64;

/// Columns, for each one that is looked for, that are scored first.
const FIRST: usize = 8;

/// Room for rounding between a bound and what it bounds.
const ROUNDING: f64 = 1e-9;

/// The largest `|x|^power` among instances that count.
fn highest(column: ColumnView<'_>, power: f64, count: impl Fn(u32) -> f64) -> f64 {
    let mut top = 0.0;
    column.for_each(|row, x| top = if count(row) > 0.0 { x.abs().max(top) } else { top });
    top.powf(power)
}

/// The standard deviation of `n` instances, each of which counts so often; the size of the values if they are all the same.
///
/// About the mean, which takes a pass of its own: values far from 0, such as points in time, may differ little from each
/// other. In units of the largest, so that no square is too large.
fn deviation(column: ColumnView<'_>, n: f64, count: impl Fn(u32) -> f64) -> f64 {
    let unit = highest(column, 1.0, &count);
    if unit == 0.0 {
        return f64::MIN_POSITIVE;
    }
    let (mut sum, mut filled) = (0.0, 0.0);
    column.for_each(|row, x| {
        sum += count(row) * (x / unit);
        filled += count(row);
    });
    let mean = sum / n;
    let mut squares = (n - filled).max(0.0) * mean * mean;
    column.for_each(|row, x| squares += count(row) * (x / unit - mean) * (x / unit - mean));
    let deviation = (squares / n).sqrt();
    unit * if deviation > EQUAL { deviation } else { 1.0 }
}

/// Values that differ by less, in parts of the largest, differ by rounding.
const EQUAL: f64 = 1e-12;

/// What scoring a column needs, kept from column to column.
#[derive(Default)]
struct Room {
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

/// What the step times [`squared_sums`] of a column cannot exceed, at the price of about a dot product.
///
/// Let `P_l` be the sum of the positive v at levels from l up, `N_l` that of the negative ones, made positive. Then
/// `(P_l - N_l)^2 <= P_l^2 + N_l^2 <= P_1 P_l + N_1 N_l`, and the sum of all `P_l` is that of every positive v times its level. A
/// level is at most 1 above the size of its value in steps.
fn most_squared_sums(column: ColumnView<'_>, v: &[f64], power: f64, step: f64) -> f64 {
    let size = |x: f64| if power == 1.0 { x.abs() } else { x.abs().powf(power) };
    let (mut sum, mut length, mut dot, mut dot_length) = (0.0, 0.0, 0.0, 0.0);
    column.for_each(|row, x| {
        let (v, size) = (v[row as usize], size(x));
        sum += v;
        length += v.abs();
        dot += v * size;
        dot_length += v.abs() * size;
    });
    // (length + sum) / 2 is P_1, (length - sum) / 2 is N_1, and so on: their products add up to this.
    0.5 * (length * (dot_length + step * length) + sum * (dot + step * sum))
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
        let largest = v.iter().fold(0.0, |most: f64, v| v.abs().max(most));
        let search = Search { v, largest, square: kernels::dot(v, v), budget, taken: taken_groups(taken) };
        // The most promising first: what they reach, others must.
        let promising = self.promising.get_or_init(|| self.promising());
        let count = (FIRST * budget + search.taken.len()).min(promising.len());
        let mut first = promising[..count].to_vec();
        first.sort_unstable();
        let (tops, scored) = self.score_some(&search, &first)?;
        let (rest, others) = self.score_others(&search, &first, tops.threshold().max(0.0))?;
        Ok(WorstCase::new(tops.merge(rest), scored + others, Candidate::Group))
    }

    fn precision(&self) -> Result<Precision> {
        let square =
            (0..self.scales.len()).map(|position| self.greatest_square(position)).fold(0.0, f64::max);
        let levels = match self.basis {
            Basis::Steps { levels, .. } => levels as usize,
            Basis::Waves { .. } => 2 * HARMONICS,
        };
        // Sums over levels are sums of sums.
        Ok(Precision::of_groups(square.sqrt(), 2 * levels))
    }

    fn group(&self, candidate: &Candidate) -> Result<Group> {
        let position = group_number(candidate, self.scales.len())?;
        let range = self.inputs.columns().see(position, |column| self.occurring(column));
        let features = self.features(position);
        Ok(Group {
            name: Some(self.inputs.name(&self.inputs.feature(position))),
            size: features.len(),
            features,
            scale: 1.0,
            range,
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
        // A scale for every column, and an entry in a heap for some; every thread has a column at hand, as it is and as a
        // curve.
        let at_hand = (12 + value) * longest + self.inputs.columns().visit_bytes();
        let search = 8 * self.scales.len() as u64 + 16 * PROMISING as u64 + threads as u64 * at_hand;
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
                let inputs = space.inputs.columns();
                let square = inputs.see(0, |x| space.square(0, x, &v, 0.0, &mut Room::default())).unwrap();
                let (square_of, largest) = (kernels::dot(&v, &v), v.iter().fold(0.0, |a: f64, v| v.abs().max(a)));
                let search = Search { v: &v, largest, square: square_of, budget: 1, taken: vec![] };
                prop_assert!(space.bound(0, inputs.filled(0), &search) >= square);
                if let Basis::Steps { levels, power } = space.basis {
                    let step = space.scales[0] / f64::from(levels);
                    let most = inputs.see(0, |x| most_squared_sums(x, &v, power, step));
                    prop_assert!(most * (1.0 + ROUNDING) >= square, "{most} {square}");
                }
            }
        }
    }
}
