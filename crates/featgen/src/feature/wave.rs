//! Waves: Fourier features of an input. All the waves of an input together make a smooth curve over it.

use std::sync::{Arc, LazyLock};

use multiversion::multiversion;
use serde::{Deserialize, Serialize};

use super::{Curve, ExactF64, Feature, FeatureKind, Negative, from_one};
use crate::data::{Column, ColumnView, ValuesView};
use crate::elementary::{self, LARGEST_ANGLE};
use crate::operator::{self, Coded, Codes, LinearOperator, Operator};

/// Harmonics of the additive Gaussian kernel: with the constant, eleven dimensions.
const HARMONICS: usize = 5;

/// Waves of an input: a cosine and a sine of each harmonic.
pub(crate) const WAVES: usize = 2 * HARMONICS;

/// Distance of their frequencies, times sigma. The kernel is periodic then, with a period of about eleven sigma.
const SPACING: f64 = 0.55;

/// The waves' amplitudes by harmonic: the Gaussian's spectrum on a regular grid, with a sum that makes `k(x, x)` 1.
static AMPLITUDES: LazyLock<[f64; HARMONICS]> = LazyLock::new(|| {
    let density = |k: usize| (-0.5 * (k as f64 * SPACING).powi(2)).exp();
    let total: f64 = 1.0 + 2.0 * (1..=HARMONICS).map(density).sum::<f64>();
    std::array::from_fn(|k| (2.0 * density(k + 1) / total).sqrt())
});

/// A Fourier feature of an input, relative to its value at 0: products approximate `exp(-(x - z)^2 / (2 sigma^2))`, less
/// what is constant in x or z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Wave {
    /// The input's id.
    #[serde(with = "from_one::id")]
    pub input: u64,
    /// The harmonic, from 1 on.
    pub harmonic: u32,
    /// Whether it is the sine rather than the cosine.
    pub sine: bool,
    /// The kernel's width.
    pub sigma: ExactF64,
}

const FORMULA: &str = "{\"wave\": {input, harmonic, sine, sigma}}: a(h) * sin(h * t) if sine is true, else a(h) * (cos(h * t) - 1), \
where h is the harmonic, t = 0.55 * x / sigma and x is the value of the input; a(h) = sqrt(2 * d(h) / (1 + 2 * (d(1) + d(2) + \
d(3) + d(4) + d(5)))) with d(k) = exp(-(0.55 * k)^2 / 2).";

impl Wave {
    /// All waves of an input, in the order of the columns of [`Waves`].
    pub(crate) fn all(input: u64, sigma: f64) -> impl Iterator<Item = Self> {
        let wave = move |harmonic, sine| Self { input, harmonic, sine, sigma: ExactF64(sigma) };
        (1..=HARMONICS as u32).flat_map(move |k| [wave(k, false), wave(k, true)])
    }

    /// Its value where the input is `x`.
    fn value(&self, x: f64) -> f64 {
        let mut value = 0.0;
        each_harmonic(phase(self.sigma.0, x), |k, waves| {
            if k + 1 == self.harmonic as usize {
                value = waves[usize::from(self.sine)];
            }
        });
        value
    }

    /// Which of the columns of [`Waves`] it is.
    fn place(&self) -> usize {
        2 * (self.harmonic as usize).saturating_sub(1) + usize::from(self.sine)
    }
}

/// The greatest squared length of all waves of one value: `(cos - 1)^2 + sin^2` is at most 4.
static GREATEST_SQUARE: LazyLock<f64> = LazyLock::new(|| 4.0 * AMPLITUDES.iter().map(|a| a * a).sum::<f64>());

/// Cosine and sine of the first harmonic at `x`.
fn phase(sigma: f64, x: f64) -> [f64; 2] {
    let angle = SPACING / sigma * x;
    if angle.abs() <= LARGEST_ANGLE {
        return elementary::cos_sin(angle);
    }
    let (sine, cosine) = angle.sin_cos();
    [cosine, sine]
}

/// The same of many values, to the bit.
#[multiversion(targets("x86_64+avx2+avx512f+avx512dq+avx512vl+avx512bw", "x86_64+avx2"))]
fn phases(sigma: f64, x: &[f64], cosines: &mut [f64], sines: &mut [f64]) {
    let turn = SPACING / sigma;
    for ((x, cosine), sine) in x.iter().zip(cosines.iter_mut()).zip(sines.iter_mut()) {
        [*cosine, *sine] = elementary::cos_sin(turn * x);
    }
    for (k, x) in x.iter().enumerate().filter(|(_, x)| (turn * **x).abs() > LARGEST_ANGLE) {
        [cosines[k], sines[k]] = phase(sigma, *x);
    }
}

/// Calls `each` with the number of every harmonic, from 0, and its two waves: `a (cos k t - 1)` and `a sin k t`, where `a` is the
/// amplitude, and the phase `t` is given by its cosine and sine.
#[inline]
fn each_harmonic([c1, s1]: [f64; 2], mut each: impl FnMut(usize, [f64; 2])) {
    let (mut c, mut s) = (1.0, 0.0);
    for (k, a) in AMPLITUDES.iter().enumerate() {
        (c, s) = (c * c1 - s * s1, s * c1 + c * s1);
        each(k, [a * (c - 1.0), a * s]);
    }
}

impl Feature {
    /// The wave, if this is one.
    pub fn as_wave(&self) -> Option<&Wave> {
        if let Self::Wave(wave) = self { Some(wave) } else { None }
    }
}

impl FeatureKind for Wave {
    fn formula(&self, _negative: Negative) -> &'static str {
        FORMULA
    }

    fn inputs(&self) -> &[u64] {
        std::slice::from_ref(&self.input)
    }

    fn is_sound(&self) -> bool {
        (1..=HARMONICS).contains(&(self.harmonic as usize)) && self.sigma.0.is_finite() && self.sigma.0 > 0.0
    }

    fn show(&self, name: &dyn Fn(u64) -> String) -> String {
        let kind = if self.sine { "sin" } else { "cos" };
        format!("{kind}{}({})", self.harmonic, name(self.input))
    }

    fn column(&self, mut inputs: Vec<Column>, _rows: usize) -> Column {
        inputs.swap_remove(0).map(|x| self.value(x))
    }

    fn first_of_curve(&self) -> Option<Feature> {
        Some(Feature::Wave(Self { harmonic: 1, sine: false, ..*self }))
    }

    fn curve(&self, parts: &[(&Feature, f64)], _negative: Negative) -> Option<Box<dyn Curve>> {
        let mut weights = [0.0; WAVES];
        for (wave, weight) in parts.iter().filter_map(|&(part, weight)| Some((part.as_wave()?, weight))) {
            if let Some(sum) = weights.get_mut(wave.place()) {
                *sum += weight;
            }
        }
        Some(Box::new(SumOfWaves { sigma: self.sigma.0, weights }))
    }
}

/// The sum of waves: a smooth curve.
struct SumOfWaves {
    sigma: f64,
    /// The weight of every wave, in the order of the columns of [`Waves`].
    weights: [f64; WAVES],
}

impl Curve for SumOfWaves {
    fn at(&self, x: f64) -> f64 {
        let (mut sum, weights) = (0.0, &self.weights);
        each_harmonic(phase(self.sigma, x), |k, [c, s]| sum += weights[2 * k] * c + weights[2 * k + 1] * s);
        sum
    }
}

/// All the waves of an input on some rows, two columns a harmonic: from the cosine and sine of each phase, higher harmonics are a
/// few multiplications.
#[derive(Debug)]
pub(crate) struct Waves {
    /// Where the phase is not 0; rows increase.
    rows: Vec<u32>,
    /// Cosine and sine of the phases there.
    cosines: Vec<f64>,
    sines: Vec<f64>,
}

/// Rows that are computed with at a time.
const ABREAST: usize = 8;

/// Phases of some rows, and after a while those of higher harmonics, all without amplitude.
type Few = [f64; ABREAST];

impl Waves {
    /// The waves of a column of values.
    pub(crate) fn new(column: ColumnView<'_>, sigma: f64) -> Self {
        Self::on_some(column, sigma, |_| true)
    }

    /// The same, by the value of a row where values are few, as of counts, pixels or ages.
    pub(crate) fn of(column: ColumnView<'_>, sigma: f64) -> Arc<dyn LinearOperator> {
        let Some((codes, values)) = Codes::of_few(column) else { return Arc::new(Self::new(column, sigma)) };
        // Code 0 is for the value 0, which waves are relative to.
        let by_code: Vec<f64> = std::iter::once(0.0).chain(values).collect();
        let waves = Self::new(ColumnView::dense(ValuesView::F64(&by_code)), sigma);
        Arc::new(Coded::new(codes, by_code.len(), Arc::new(waves)))
    }

    /// The same on some rows alone: on all others they are 0.
    pub(crate) fn on_some(column: ColumnView<'_>, sigma: f64, wanted: impl Fn(usize) -> bool) -> Self {
        let (mut rows, mut x, mut count) = (vec![0; column.len()], vec![0.0; column.len()], 0);
        // Written always, and kept or written over: nobody could foretell which.
        column.for_each(|row, value| {
            (rows[count], x[count]) = (row, value);
            count += usize::from((value != 0.0) & wanted(row as usize));
        });
        rows.truncate(count);
        x.truncate(count);
        let (mut cosines, mut sines) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        phases(sigma, &x, &mut cosines, &mut sines);
        Self { rows, cosines, sines }
    }

    /// The greatest squared length of a row, whatever the value.
    pub(crate) fn greatest_square() -> f64 {
        *GREATEST_SQUARE
    }

    /// Calls `see` with some rows after the other and their phases. The last are filled up with phases of 0.
    #[inline(always)]
    fn each_few(&self, mut see: impl FnMut(&[u32], [Few; 2])) {
        let (rows, few) = self.rows.as_chunks::<ABREAST>();
        let (cosines, sines) = (self.cosines.as_chunks().0, self.sines.as_chunks().0);
        for ((rows, cosines), sines) in rows.iter().zip(cosines).zip(sines) {
            see(rows, [*cosines, *sines]);
        }
        if !few.is_empty() {
            let (mut c, mut s, done) = ([1.0; ABREAST], [0.0; ABREAST], self.rows.len() - few.len());
            c[..few.len()].copy_from_slice(&self.cosines[done..]);
            s[..few.len()].copy_from_slice(&self.sines[done..]);
            see(few, [c, s]);
        }
    }

    /// The phase of a row that has one.
    fn phase(&self, place: usize) -> [f64; 2] {
        [self.cosines[place], self.sines[place]]
    }
}

/// Calls `each` with the number of every harmonic and its waves, without amplitude, of some phases.
#[inline(always)]
fn each_harmonic_of_few([c1, s1]: [Few; 2], mut each: impl FnMut(usize, &Few, &Few)) {
    let (mut c, mut s) = ([1.0; ABREAST], [0.0; ABREAST]);
    for k in 0..HARMONICS {
        let mut less = [0.0; ABREAST];
        for l in 0..ABREAST {
            (c[l], s[l]) = (c[l] * c1[l] - s[l] * s1[l], s[l] * c1[l] + c[l] * s1[l]);
            less[l] = c[l] - 1.0;
        }
        each(k, &less, &s);
    }
}

#[multiversion(targets("x86_64+avx2+avx512f+avx512dq+avx512vl+avx512bw", "x86_64+avx2"))]
fn apply(waves: &Waves, w: &[f64; WAVES], f: &mut [f64]) {
    waves.each_few(|rows, phases| {
        let mut sums = [0.0; ABREAST];
        each_harmonic_of_few(phases, |k, c, s| {
            for l in 0..ABREAST {
                sums[l] += w[2 * k] * c[l] + w[2 * k + 1] * s[l];
            }
        });
        rows.iter().zip(sums).for_each(|(&i, sum)| f[i as usize] += sum);
    });
}

/// The sums over all rows of `v` times what `of` makes of each wave, without amplitude.
#[multiversion(targets("x86_64+avx2+avx512f+avx512dq+avx512vl+avx512bw", "x86_64+avx2"))]
fn transpose<F: Fn(f64) -> f64>(waves: &Waves, v: &[f64], of: F) -> [f64; WAVES] {
    let mut sums = [[0.0; ABREAST]; WAVES];
    waves.each_few(|rows, phases| {
        let mut few = [0.0; ABREAST];
        rows.iter().zip(&mut few).for_each(|(&i, few)| *few = v[i as usize]);
        each_harmonic_of_few(phases, |k, c, s| {
            for l in 0..ABREAST {
                sums[2 * k][l] += few[l] * of(c[l]);
                sums[2 * k + 1][l] += few[l] * of(s[l]);
            }
        });
    });
    sums.map(|sums| sums.iter().sum())
}

/// Writes the waves of some phases row after row, a row being so long.
#[multiversion(targets("x86_64+avx2"))]
fn write(phases: [Few; 2], stride: usize, out: &mut [f64]) {
    let mut waves = [[0.0; ABREAST]; WAVES];
    each_harmonic_of_few(phases, |k, c, s| {
        for l in 0..ABREAST {
            waves[2 * k][l] = AMPLITUDES[k] * c[l];
            waves[2 * k + 1][l] = AMPLITUDES[k] * s[l];
        }
    });
    for (l, row) in out.chunks_mut(stride).enumerate() {
        for k in 0..WAVES {
            row[k] = waves[k][l];
        }
    }
}

impl LinearOperator for Waves {
    fn width(&self) -> usize {
        WAVES
    }

    fn apply(&self, w: &[f64], f: &mut [f64]) {
        let mut scaled = [0.0; WAVES];
        for (k, scaled) in scaled.iter_mut().enumerate() {
            *scaled = AMPLITUDES[k / 2] * w[k];
        }
        apply(self, &scaled, f);
    }

    fn transpose(&self, v: &[f64]) -> Vec<f64> {
        let sums = transpose(self, v, |x| x);
        sums.iter().enumerate().map(|(k, sum)| AMPLITUDES[k / 2] * sum).collect()
    }

    fn squares(&self, v: &[f64]) -> Vec<f64> {
        let sums = transpose(self, v, |x| x * x);
        sums.iter().enumerate().map(|(k, sum)| AMPLITUDES[k / 2].powi(2) * sum).collect()
    }

    fn pack(&self, rows: &[(u32, f64)], stride: usize, out: &mut [f64]) {
        let mut out = out.chunks_mut(ABREAST * stride);
        let (mut cosines, mut sines) = ([1.0; ABREAST], [0.0; ABREAST]);
        operator::find_rows(rows, &self.rows, |at, found| {
            let l = at % ABREAST;
            [cosines[l], sines[l]] = found.map_or([1.0, 0.0], |found| self.phase(found));
            if l + 1 == ABREAST || at + 1 == rows.len() {
                out.next().into_iter().for_each(|out| write([cosines, sines], stride, out));
            }
        });
    }

    fn restrict(&self, place: &[Option<u32>]) -> Operator {
        let (rows, from) = operator::moved_rows(&self.rows, place);
        let [cosines, sines] = [&self.cosines, &self.sines].map(|x| from.iter().map(|&k| x[k]).collect());
        Operator::Implicit(Arc::new(Self { rows, cosines, sines }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::tests::is_the_matrix;

    const VALUES: [f64; 6] = [0.3, 0.0, -1.0, 2.5, 0.0, 0.1];
    const SIGMA: f64 = 0.8;

    /// All waves of the values, by their definition.
    fn matrix() -> Vec<Vec<f64>> {
        let wave = |wave: Wave| {
            let t = |x: f64| f64::from(wave.harmonic) * 0.55 * x / SIGMA;
            let a = AMPLITUDES[wave.harmonic as usize - 1];
            let value = |x: f64| if wave.sine { a * t(x).sin() } else { a * (t(x).cos() - 1.0) };
            VALUES.map(value).to_vec()
        };
        Wave::all(0, SIGMA).map(wave).collect()
    }

    #[test]
    fn waves_together_are_the_waves_one_by_one() {
        let column = Column::Dense(VALUES.to_vec());
        is_the_matrix(&Waves::new(column.view(), SIGMA), &matrix());
        // Of few values, which occur again and again.
        let values = [VALUES; 4].concat();
        let again: Vec<Vec<f64>> = matrix().into_iter().map(|wave| wave.repeat(4)).collect();
        let coded = Waves::of(Column::Dense(values).view(), SIGMA);
        assert!(coded.coded().is_some());
        is_the_matrix(&*coded, &again);
        for (wave, expected) in Wave::all(0, SIGMA).zip(matrix()) {
            let mut written = vec![0.0; VALUES.len()];
            wave.column(vec![column.clone()], VALUES.len()).add_to(1.0, &mut written);
            assert!(written.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-14), "{wave:?}");
        }
    }

    #[test]
    fn a_curve_is_the_sum_of_its_parts() {
        let waves: Vec<Feature> = Wave::all(0, SIGMA).map(Feature::Wave).collect();
        let parts: Vec<(&Feature, f64)> = waves.iter().zip((1..).map(f64::from)).collect();
        let curve = waves[0].curve(&parts, Negative::BySize).unwrap();
        for (i, &x) in VALUES.iter().enumerate() {
            let sum: f64 = matrix().iter().zip(&parts).map(|(wave, (_, weight))| weight * wave[i]).sum();
            assert!((curve.at(x) - sum).abs() < 1e-13, "{x}");
        }
    }
}
