//! The bytes of a column, and what they stand for.

use std::ops::{Add, Mul, Range, Sub};

use multiversion::multiversion;

use super::{Rounded, SLACK, Sums};
use crate::kernels::{self, Number, lanes};

/// [`Facts`] as they are kept.
pub(crate) type FactNumbers = [f64; 5];

/// What the bytes of a column stand for, and how well.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Facts {
    low: f64,
    step: f64,
    /// The length of the vector of what the bytes do not tell; not a number if they tell nothing.
    unknown: f64,
    /// The length of the vector of what they tell, beside the constant [`MIDDLE`], or more.
    spread: f64,
    pub(super) largest: f64,
}

/// The steps from the smallest value to the largest.
const STEPS: f64 = 255.0;

/// The middle of all bytes: none is farther from it than this.
const MIDDLE: f64 = 128.0;

impl From<FactNumbers> for Facts {
    fn from([low, step, unknown, spread, largest]: FactNumbers) -> Self {
        Self { low, step, unknown, spread, largest }
    }
}

impl From<Facts> for FactNumbers {
    fn from(Facts { low, step, unknown, spread, largest }: Facts) -> Self {
        [low, step, unknown, spread, largest]
    }
}

impl Facts {
    /// The bytes tell nothing: whatever they add up to, it may be off by any number.
    pub(super) const NONE: Self = Self { low: 0.0, step: 0.0, unknown: f64::NAN, spread: 0.0, largest: 0.0 };

    /// Fills the bytes of a column.
    pub(crate) fn copy<T: Stepped>(x: &[T], bytes: &mut [u8]) -> Self {
        Self::copy_ahead(x, &[], bytes)
    }

    /// The same. Meanwhile the `next` values come from memory.
    pub(super) fn copy_ahead<T: Stepped>(x: &[T], next: &[T], bytes: &mut [u8]) -> Self {
        let (low, high) = ends(x);
        let step = (high.wide() - low.wide()) / STEPS;
        if !(T::SOUND.contains(&step) || high == low) {
            return Self::nothing_of(x);
        }
        let up = if step > 0.0 { T::narrow(1.0 / step) } else { T::default() };
        let (lost, root) = (fill(x, low, up, next, bytes), (x.len() as f64).sqrt());
        // A sum of squares with one that is not a number is none either.
        if !lost.is_finite() {
            return Self::nothing_of(x);
        }
        Self {
            low: low.wide(),
            step,
            unknown: (lost.sqrt() + T::OFF * root) * step * SLACK,
            spread: MIDDLE * root * step * SLACK,
            largest: low.wide().abs().max(high.wide().abs()),
        }
    }

    /// The same of values that are bytes themselves: these tell all.
    pub(crate) fn copy_whole(x: &[u8], bytes: &mut [u8]) -> Self {
        bytes[..x.len()].copy_from_slice(x);
        let spread = MIDDLE * (x.len() as f64).sqrt() * SLACK;
        Self { low: 0.0, step: 1.0, unknown: 0.0, spread, largest: kernels::largest(x) }
    }

    fn nothing_of<T: Number>(x: &[T]) -> Self {
        Self { largest: kernels::largest(x), ..Self::NONE }
    }

    /// Whether bytes could say this of a column.
    pub(super) fn may_be(&self) -> bool {
        let Self { low, step, unknown, spread, largest } = *self;
        let nothing = unknown.is_nan();
        nothing
            || (low.is_finite()
                && [step, unknown, spread, largest].iter().all(|x| x.is_finite() && *x >= 0.0))
    }

    /// About the sum of the column with a vector, given what its bytes add up to, and how far that may be off.
    pub(super) fn dot(&self, v: &Rounded, whole: Sums) -> (f64, f64) {
        let sum = self.low * v.sum + self.step * (v.worth(whole) + MIDDLE * v.lost);
        (sum, v.error(self.spread, self.unknown, self.largest))
    }
}

/// Numbers that are turned into steps in their own precision: twice as many at a time if they are half as long.
pub(crate) trait Stepped:
    Number + Default + PartialEq + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
    /// Whole numbers in the order of these. NaN comes before or after all others, as its sign says.
    type Rank: Ord + Copy;

    /// A number whose neighbours are whole, and so are the sums with it. The last bits of such a sum are a whole number's.
    const WHOLE: Self;

    /// Steps that can be computed with: neither they nor 1 by them are too small or too large.
    const SOUND: Range<f64>;

    /// Steps that a value may be off, because of rounding, from where it was computed to be, and what rounding does to the length of as
    /// many such distances.
    const OFF: f64;

    /// See [`Rank`](Self::Rank).
    fn rank(self) -> Self::Rank;

    /// The number of this rank.
    fn of_rank(rank: Self::Rank) -> Self;

    /// The nearest such number.
    fn narrow(x: f64) -> Self;

    /// The last eight bits.
    fn last_bits(self) -> u8;
}

/// Both precisions differ in their constants alone.
macro_rules! stepped {
    ($float:ty, $rank:ty, whole: $whole:expr, sound: $sound:expr, off: $off:expr) => {
        impl Stepped for $float {
            type Rank = $rank;

            const WHOLE: Self = $whole;
            const SOUND: Range<f64> = $sound;
            const OFF: f64 = $off;

            #[inline(always)]
            fn rank(self) -> $rank {
                let bits = self.to_bits().cast_signed();
                // Of negative numbers, the larger ones have the smaller bits beside the sign.
                bits ^ ((bits >> (<$rank>::BITS - 1)) & <$rank>::MAX)
            }

            #[inline(always)]
            fn of_rank(rank: $rank) -> Self {
                let bits = rank ^ ((rank >> (<$rank>::BITS - 1)) & <$rank>::MAX);
                Self::from_bits(bits.cast_unsigned())
            }

            #[inline(always)]
            fn narrow(x: f64) -> Self {
                x as Self
            }

            #[inline(always)]
            fn last_bits(self) -> u8 {
                self.to_bits() as u8
            }
        }
    };
}

stepped!(f32, i32, whole: 1.5 * (1u32 << 23) as Self, sound: 1e-30..1e30, off: 2e-4);
stepped!(f64, i64, whole: super::WHOLE, sound: 1e-280..1e280, off: 1e-12);

/// Values that are looked at together: enough that none waits for the one before.
const ABREAST: usize = 16;

/// The smallest and the largest value; one of them is NaN if any value is.
#[multiversion(targets("x86_64+avx2"))]
fn ends<T: Stepped>(x: &[T]) -> (T, T) {
    // The compiler makes vector instructions of comparisons of whole numbers, but not of these.
    let first = x.first().copied().unwrap_or_default().rank();
    let (mut low, mut high) = (first, first);
    for x in x {
        let rank = x.rank();
        low = low.min(rank);
        high = high.max(rank);
    }
    (T::of_rank(low), T::of_rank(high))
}

/// Squares that are added up in the numbers' own precision, before they are added to the others.
const SUMMED: usize = 1 << 12;

/// Fills the bytes of values with the nearest of `(x - low) * up`, and adds up the squares of what is lost of that. The `next` values are
/// fetched meanwhile.
#[multiversion(targets("x86_64+avx2"))]
fn fill<T: Stepped>(x: &[T], low: T, up: T, next: &[T], bytes: &mut [u8]) -> f64 {
    let mut lost = 0.0;
    for (k, (x, bytes)) in x.chunks(SUMMED).zip(bytes.chunks_mut(SUMMED)).enumerate() {
        lost += fill_some(x, low, up, next.get(k * SUMMED..).unwrap_or_default(), bytes);
    }
    lost
}

#[inline(always)]
fn fill_some<T: Stepped>(x: &[T], low: T, up: T, next: &[T], bytes: &mut [u8]) -> f64 {
    let exact = |x: T| (x - low) * up;
    // From 0 to 255, or so little beyond that it is rounded to these.
    let whole = |exact: T| exact + T::WHOLE;
    let mut lost = [T::default(); ABREAST];
    let (chunks, rest) = x.as_chunks::<ABREAST>();
    for (k, (x, place)) in chunks.iter().zip(bytes.as_chunks_mut::<ABREAST>().0).enumerate() {
        kernels::fetch(next, k * ABREAST);
        let exact: [T; ABREAST] = lanes(|l| exact(x[l]));
        let whole: [T; ABREAST] = lanes(|l| whole(exact[l]));
        *place = lanes(|l| whole[l].last_bits());
        let off: [T; ABREAST] = lanes(|l| exact[l] - (whole[l] - T::WHOLE));
        lost = lanes(|l| lost[l] + off[l] * off[l]);
    }
    for (k, x) in rest.iter().enumerate() {
        let exact = exact(*x);
        let whole = whole(exact);
        bytes[chunks.len() * ABREAST + k] = whole.last_bits();
        let off = exact - (whole - T::WHOLE);
        lost[0] = lost[0] + off * off;
    }
    let mut sum = 0.0;
    for lost in lost {
        sum += lost.wide();
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_those_of_numbers_of_all_sizes() {
        let sizes = [0.0f32, -0.0, 1.0, -1.0, 1e-40, -1e-40, f32::MAX, f32::MIN, f32::INFINITY, 3.5, -2.5];
        for first in 0..sizes.len() {
            for end in first + 1..=sizes.len() {
                let some = &sizes[first..end];
                let wide: Vec<f64> = some.iter().copied().map(f64::from).collect();
                let expected = some.iter().fold((some[0], some[0]), |(a, b), &x| (a.min(x), b.max(x)));
                assert_eq!(ends(some), expected);
                assert_eq!(ends(&wide), (expected.0.into(), expected.1.into()));
            }
        }
        for nan in [f32::NAN, -f32::NAN] {
            let (low, high) = ends(&[1.0, nan, 2.0]);
            assert!(low.is_nan() || high.is_nan());
        }
        assert_eq!(ends::<f64>(&[]), (0.0, 0.0));
    }
}
