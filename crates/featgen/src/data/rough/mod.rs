//! Sums that cost little and are off by little: enough to tell which few columns need an exact look.
//!
//! Values in a byte or less, and vectors rounded to 14 bits, are multiplied in whole numbers, 32 at a time. How far such a sum may be
//! from the exact one is known of every column (see [`Columns::rough_dots`](super::Columns::rough_dots)), so that whoever looks for the
//! largest sums finds the same as with exact ones, to the bit.

mod copy;
mod facts;
mod kernels;
mod many;

pub(crate) use copy::{BytesView, Chunk, Copied};
pub(crate) use facts::{FactNumbers, Facts};
pub(super) use kernels::{CodeDigits, LANES, PER_BYTE, Sums, Table, add_codes, add_gain_codes};
use kernels::{Digits, add_bytes};
pub(crate) use many::{ByteColumns, COLUMNS};

use crate::rounding;

/// A vector as whole multiples of a unit: digits to the base of 128, and how far the vector is from that.
pub(crate) struct Rounded {
    /// Both digits of 32 places after the other.
    pub(super) digits: Vec<Digits>,
    /// What a multiple of 1 is worth.
    unit: f64,
    /// What is lost, the vector less its multiples: its sum.
    pub(super) lost: f64,
    /// Its length, or more.
    lost_length: f64,
    /// The sum of the vector.
    pub(super) sum: f64,
    /// The length of the vector, or more.
    length: f64,
    /// How far rounding may take a sum over the vector, for values of size 1.
    rounding: f64,
}

/// The largest multiple: both digits are 63 then.
const MOST: f64 = (63 * BASE + 63) as f64;

const BASE: i64 = 128;

/// A number whose neighbours are whole, and so are the sums with it.
const WHOLE: f64 = 1.5 * (1u64 << 52) as f64;

/// What covers the rounding of a bound itself.
const SLACK: f64 = 1.0 + 1e-6;

/// Less than any sum that matters; more than what is lost where numbers are so small that they become 0.
const TINY: f64 = 1e-290;

impl Rounded {
    /// Of a vector whose numbers are at the places that `place` says, of so many; 0 at all others.
    pub(crate) fn new(v: &[f64], places: usize, place: impl Fn(usize) -> usize) -> Self {
        let most = v.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let unit = if v.iter().all(|x| x.is_finite()) { most / MOST } else { f64::NAN };
        let up = if unit > 0.0 { 1.0 / unit } else { 0.0 };
        let mut digits = vec![Digits::default(); places.div_ceil(LANES)];
        let mut lost = Vec::with_capacity(v.len());
        for (i, &x) in v.iter().enumerate() {
            // Rounded to a whole number, for that is what numbers of this size are.
            let multiple = (x * up + WHOLE - WHOLE).clamp(-MOST, MOST);
            lost.push(x - unit * multiple);
            let (place, number) = (place(i), multiple as i32);
            let high = (number + BASE as i32 / 2) >> BASE.ilog2();
            let both = &mut digits[place / LANES];
            both[0][place % LANES] = high as i8;
            both[1][place % LANES] = (number - BASE as i32 * high) as i8;
        }
        let length = length(v.iter().copied()) * SLACK;
        let size: f64 = v.iter().map(|x| x.abs()).sum();
        Self {
            digits,
            unit,
            lost: lost.iter().sum(),
            lost_length: (self::length(lost.iter().copied()) + length * f64::EPSILON) * SLACK,
            sum: v.iter().sum(),
            length,
            rounding: 16.0 * rounding::relative(v.len() + 16) * size * SLACK + TINY,
        }
    }

    /// What the sums with both digits stand for.
    pub(super) fn worth(&self, [high, low]: Sums) -> f64 {
        (BASE * high + low) as f64 * self.unit
    }

    /// How far a sum over the vector may be from the one that was made of the multiples, where values are known up to a vector of
    /// length `unknown`, those known are at most `spread` in length beside a constant, and all are at most `largest` in size.
    pub(super) fn error(&self, spread: f64, unknown: f64, largest: f64) -> f64 {
        (spread * self.lost_length + unknown * self.length + largest * self.rounding) * SLACK + TINY
    }

    /// Bytes that a vector of so many places takes.
    pub(crate) fn bytes(places: usize) -> u64 {
        (places.div_ceil(LANES) * size_of::<Digits>()) as u64
    }
}

/// The length of a vector of numbers of any size.
fn length(numbers: impl Iterator<Item = f64> + Clone) -> f64 {
    let unit = numbers.clone().fold(0.0, |most: f64, x| most.max(x.abs()));
    // No larger than can be turned around.
    if unit < f64::MIN_POSITIVE {
        return unit * (numbers.count() as f64).sqrt();
    }
    unit * numbers.map(|x| (x / unit) * (x / unit)).sum::<f64>().sqrt()
}
