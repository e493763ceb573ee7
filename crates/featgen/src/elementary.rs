//! Exponentials, logarithms and waves without a branch or a table: in a loop over many numbers the compiler makes vector instructions
//! of them. They are off by less than two units in the last place, sines and cosines by as much of 1.

use std::f64::consts::{FRAC_2_PI, LOG2_E, SQRT_2};

/// Neighbours of this number are whole: what is added to it is rounded, and its last bits tell to what.
const WHOLE: f64 = 1.5 * (1u64 << 52) as f64;

/// ln 2 in two parts, of which the first has so few digits that multiples up to 2^11 are exact.
const LN2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];

const MANTISSA_BITS: u32 = 52;
const MANTISSA: u64 = (1 << MANTISSA_BITS) - 1;
const BIAS: u64 = 1023;

/// Below this, exponentials have lost digits, and are said to be 0.
const LOWEST: f64 = -708.0;

/// `exp(x)` for an x that is not above 0.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    let x_kept = if x >= LOWEST { x } else { LOWEST };
    let shifted = x_kept * LOG2_E + WHOLE;
    let n = shifted - WHOLE;
    let r = (x_kept - n * LN2[0]) - n * LN2[1];
    // Of |r| up to ln(2) / 2 the series has all digits.
    let p = polynomial(
        r,
        [
            1.0 / 6_227_020_800.0,
            1.0 / 479_001_600.0,
            1.0 / 39_916_800.0,
            1.0 / 3_628_800.0,
            1.0 / 362_880.0,
            1.0 / 40_320.0,
            1.0 / 5_040.0,
            1.0 / 720.0,
            1.0 / 120.0,
            1.0 / 24.0,
            1.0 / 6.0,
            0.5,
        ],
    );
    let power = f64::from_bits((shifted.to_bits().wrapping_add(BIAS)) << MANTISSA_BITS);
    let value = (1.0 + (r + r * r * p)) * power;
    if x >= LOWEST { value } else { 0.0 }
}

/// `ln(x)` for a finite x that is neither below the smallest normal number nor 0.
#[inline(always)]
pub(crate) fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mantissa = f64::from_bits((bits & MANTISSA) | (BIAS << MANTISSA_BITS));
    // A small whole number beside 2^52, whose neighbours are whole.
    let exponent = f64::from_bits((bits >> MANTISSA_BITS) | ((BIAS + 52) << MANTISSA_BITS))
        - ((1u64 << 52) + BIAS) as f64;
    let above = mantissa > SQRT_2;
    let mantissa = if above { 0.5 * mantissa } else { mantissa };
    let exponent = if above { exponent + 1.0 } else { exponent };
    let (m, z) = (mantissa - 1.0, (mantissa - 1.0) / (mantissa + 1.0));
    // ln(1 + m) = 2 atanh(z) = m - z (m - 2 z^2 (1/3 + z^2/5 + ...)): the largest part is exact.
    let square = z * z;
    let p = polynomial(
        square,
        [
            2.0 / 25.0,
            2.0 / 23.0,
            2.0 / 21.0,
            2.0 / 19.0,
            2.0 / 17.0,
            2.0 / 15.0,
            2.0 / 13.0,
            2.0 / 11.0,
            2.0 / 9.0,
            2.0 / 7.0,
            2.0 / 5.0,
            2.0 / 3.0,
        ],
    );
    exponent * LN2[0] + (m - (z * (m - square * p) - exponent * LN2[1]))
}

/// `ln(1 + x)` for an x from -1/2 to 1.
#[inline(always)]
pub(crate) fn ln_1p(x: f64) -> f64 {
    let z = x / (2.0 + x);
    let square = z * z;
    let p = polynomial(
        square,
        [
            2.0 / 35.0,
            2.0 / 33.0,
            2.0 / 31.0,
            2.0 / 29.0,
            2.0 / 27.0,
            2.0 / 25.0,
            2.0 / 23.0,
            2.0 / 21.0,
            2.0 / 19.0,
            2.0 / 17.0,
            2.0 / 15.0,
            2.0 / 13.0,
            2.0 / 11.0,
            2.0 / 9.0,
            2.0 / 7.0,
            2.0 / 5.0,
            2.0 / 3.0,
        ],
    );
    x - z * (x - square * p)
}

/// A quarter of a turn in three parts: multiples of the first two, up to 2^20, are exact.
const QUARTER: [f64; 3] = [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_795_950_6e-21];

/// Angles up to this size are reduced to less than half a quarter of a turn without loss.
pub(crate) const LARGEST_ANGLE: f64 = 1e6;

/// Cosine and sine of an angle that is at most [`LARGEST_ANGLE`] in size.
#[inline(always)]
pub(crate) fn cos_sin(x: f64) -> [f64; 2] {
    let shifted = x * FRAC_2_PI + WHOLE;
    let (n, quarters) = (shifted - WHOLE, shifted.to_bits() & 3);
    let r = ((x - n * QUARTER[0]) - n * QUARTER[1]) - n * QUARTER[2];
    let square = r * r;
    let p = polynomial(
        square,
        [
            1.0 / 355_687_428_096_000.0,
            -1.0 / 1_307_674_368_000.0,
            1.0 / 6_227_020_800.0,
            -1.0 / 39_916_800.0,
            1.0 / 362_880.0,
            -1.0 / 5_040.0,
            1.0 / 120.0,
            -1.0 / 6.0,
        ],
    );
    let sine = r + r * square * p;
    let p = polynomial(
        square,
        [
            1.0 / 20_922_789_888_000.0,
            -1.0 / 87_178_291_200.0,
            1.0 / 479_001_600.0,
            -1.0 / 3_628_800.0,
            1.0 / 40_320.0,
            -1.0 / 720.0,
            1.0 / 24.0,
        ],
    );
    let cosine = 1.0 - square * (0.5 - square * p);
    let (c, s) = if quarters & 1 == 0 { (cosine, sine) } else { (sine, cosine) };
    // Cosines are negative in the second and third quarter, sines in the third and fourth.
    let turned = |x: f64, turn: bool| if turn { -x } else { x };
    [turned(c, (quarters + 1) & 2 == 2), turned(s, quarters & 2 == 2)]
}

/// The polynomial with these coefficients, the highest first: every fourth power apart, which need not wait for each other.
#[inline(always)]
fn polynomial<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let square = x * x;
    let fourth = square * square;
    let mut sums = [0.0; 4];
    for k in 0..N {
        // The last is a constant.
        let kind = (N - 1 - k) % 4;
        sums[kind] = if k < 4 { coefficients[k] } else { sums[kind] * fourth + coefficients[k] };
    }
    (sums[0] + x * sums[1]) + square * (sums[2] + x * sums[3])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many units in the last place two numbers are apart, at most.
    fn most_apart(numbers: impl Iterator<Item = f64>, ours: fn(f64) -> f64, theirs: fn(f64) -> f64) -> f64 {
        let apart = |x: f64| {
            let (a, b) = (ours(x), theirs(x));
            if a == b { 0.0 } else { (a - b).abs() / (b.abs() * f64::EPSILON) }
        };
        numbers.map(apart).fold(0.0, f64::max)
    }

    /// Numbers of all sizes between two.
    fn spread(low: f64, high: f64, count: usize) -> impl Iterator<Item = f64> {
        (0..=count).map(move |k| low + (high - low) * (k as f64 / count as f64))
    }

    /// The same, as the C library has them, whose error is below one unit.
    #[test]
    fn they_are_what_the_standard_library_says() {
        let many = 300_000;
        let tiny = || spread(-300.0, 0.0, many).map(|x| 10.0f64.powf(x));
        let below = spread(-708.0, 0.0, many).chain(spread(-1.0, 0.0, many)).chain(tiny().map(|x| -x));
        assert!(most_apart(below, exp, f64::exp) <= 2.0);
        let positive = spread(1e-9, 4.0, many).chain(tiny()).chain(spread(0.99, 1.01, many));
        assert!(most_apart(positive, ln, f64::ln) <= 2.0);
        let around = spread(-0.5, 1.0, many).chain(tiny()).chain(tiny().map(|x| -0.5 * x));
        assert!(most_apart(around, ln_1p, f64::ln_1p) <= 2.0);
    }

    #[test]
    fn waves_are_what_the_standard_library_says() {
        let many = 300_000;
        let angles = spread(-10.0, 10.0, many).chain(spread(-LARGEST_ANGLE, LARGEST_ANGLE, many));
        for x in angles.chain((0..1000).map(|k| f64::from(k) * std::f64::consts::FRAC_PI_2)) {
            let ([c, s], (sine, cosine)) = (cos_sin(x), x.sin_cos());
            assert!((c - cosine).abs().max((s - sine).abs()) <= f64::EPSILON, "{x}: {c} {s}");
        }
        assert_eq!(cos_sin(0.0), [1.0, 0.0]);
    }

    #[test]
    fn ends_are_exact() {
        assert_eq!([exp(0.0), exp(-0.0), exp(-1e9), exp(f64::NEG_INFINITY)], [1.0, 1.0, 0.0, 0.0]);
        assert_eq!([ln(1.0), ln_1p(0.0), ln_1p(-0.0)], [0.0; 3]);
        assert_eq!(ln(2.0), std::f64::consts::LN_2);
        assert!(ln(f64::MAX).is_finite() && ln(f64::MIN_POSITIVE).is_finite());
    }
}
