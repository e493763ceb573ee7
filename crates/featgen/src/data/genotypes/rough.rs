//! Sums over genotypes that cost little: codes become bytes, with which one instruction multiplies 32 digits.
//!
//! A byte has room for the mean that stands for what is missing, too, up to a small part of it: no genotype is summed apart.

use std::ops::Range;

use super::fixed::fetch;
use super::people::{MISSING, NONE, ONE, TWO};
use super::{GROUP, Genotypes, Variant};
use crate::data::Outputs;
use crate::data::rough::{CodeDigits, LANES, PER_BYTE, Rounded, Sums, Table, add_codes, add_gain_codes};

/// What is to be summed: values, or their squares, times a vector.
#[derive(Clone, Copy)]
struct Job<'v> {
    v: &'v Rounded,
    squared: bool,
}

impl<'v> Job<'v> {
    /// The digits after those for so many chunks of bytes.
    fn digits(&self, before: usize) -> &'v [CodeDigits] {
        &self.v.digits.as_chunks::<PER_BYTE>().0[before..]
    }
}

/// How bytes stand for the values of a variant, or for their squares.
struct Coded {
    table: Table,
    /// How many of a byte are 1.
    scale: f64,
    /// What a missing genotype is worth.
    fill: f64,
    /// The length of the vector of values, beside one that has `fill` everywhere, or more.
    spread: f64,
    /// The length of the vector of what bytes do not tell, or more.
    unknown: f64,
    largest: f64,
}

/// What 1 is in bytes that stand for values up to 2, and for squares up to 4.
const VALUE: f64 = 127.0;
const SQUARE: f64 = 63.0;

/// How many columns ahead of the one that is looked at the processor is told to fetch.
const AHEAD: usize = 2;

/// Bytes of a column whose digits stay in a near cache while several columns go by.
const BLOCK: usize = 1 << 12;

impl<S: AsRef<[u8]> + Send + Sync> Genotypes<S> {
    /// See [`Columns::rough_dots`](crate::data::Columns::rough_dots).
    pub(super) fn rough(&self, range: Range<usize>, v: &Outputs<'_>, out: &mut [f64]) {
        let jobs: Vec<Job<'_>> = self.rounded(v).iter().map(|v| Job { v, squared: false }).collect();
        self.sum_up(range, &jobs, out);
    }

    /// See [`Columns::rough_gain_dots`](crate::data::Columns::rough_gain_dots).
    pub(super) fn rough_gains(&self, range: Range<usize>, both: &Outputs<'_>, out: &mut [f64]) {
        let vectors = self.rounded(both);
        let values = vectors.iter().map(|v| Job { v, squared: false });
        let squares = vectors[vectors.len() / 2..].iter().map(|v| Job { v, squared: true });
        self.sum_up(range, &values.chain(squares).collect::<Vec<_>>(), out);
    }

    /// Vectors of instances with digits where the codes of people are.
    fn rounded<'v>(&self, v: &'v Outputs<'_>) -> &'v [Rounded] {
        let place = |row: usize| {
            let (byte, code) = (self.people.place(row) / PER_BYTE, self.people.place(row) % PER_BYTE);
            (byte / LANES * PER_BYTE + code) * LANES + byte % LANES
        };
        let places = self.people.stride().next_multiple_of(LANES) * PER_BYTE;
        v.rounded_codes(|v| Rounded::new(v, places, place))
    }

    /// The sums of every column of a range, job after job, and after them how far these may be off.
    fn sum_up(&self, range: Range<usize>, jobs: &[Job<'_>], out: &mut [f64]) {
        let (width, (sums, errors)) = (range.len(), out.split_at_mut(out.len() / 2));
        let mut whole = vec![Sums::default(); GROUP * jobs.len()];
        for first in range.clone().step_by(GROUP) {
            let group = first..range.end.min(first + GROUP);
            whole.fill(Sums::default());
            for begin in (0..self.people.stride()).step_by(BLOCK) {
                for (position, whole) in group.clone().zip(whole.chunks_exact_mut(jobs.len())) {
                    if position + AHEAD < self.variants.len() {
                        fetch(block(self.column(position + AHEAD), begin));
                    }
                    let bytes = block(self.column(position), begin);
                    add_up(bytes, begin / LANES, jobs, &self.variants[position], whole);
                }
            }
            for (position, whole) in group.zip(whole.chunks_exact(jobs.len())) {
                for (k, (job, whole)) in jobs.iter().zip(whole).enumerate() {
                    let at = k * width + position - range.start;
                    let coded = self.variants[position].coded(job.squared);
                    sums[at] = job.v.worth(*whole) / coded.scale + coded.fill * job.v.lost;
                    errors[at] = job.v.error(coded.spread, coded.unknown, coded.largest);
                }
            }
        }
    }
}

/// A part of a column that begins after so many bytes.
fn block(column: &[u8], begin: usize) -> &[u8] {
    &column[begin..column.len().min(begin + BLOCK)]
}

/// Adds what some bytes of a column contribute to each job; digits for so many chunks of bytes come before theirs.
fn add_up(bytes: &[u8], before: usize, jobs: &[Job<'_>], variant: &Variant, whole: &mut [Sums]) {
    let table = |squared: bool| variant.coded(squared).table;
    // What the gain of one output is made of.
    if let ([v, d, square], [of_v, of_d, of_square]) = (jobs, &mut *whole)
        && std::ptr::eq(d.v, square.v)
        && [v, d, square].map(|job| job.squared) == [false, false, true]
    {
        let mut sums = [*of_v, *of_d, *of_square];
        add_gain_codes(bytes, [v, d].map(|job| job.digits(before)), [false, true].map(table), &mut sums);
        [*of_v, *of_d, *of_square] = sums;
        return;
    }
    for (job, whole) in jobs.iter().zip(whole) {
        add_codes(bytes, job.digits(before), table(job.squared), whole);
    }
}

impl Variant {
    #[inline]
    fn coded(&self, squared: bool) -> Coded {
        let scale = if squared { SQUARE } else { VALUE };
        let power = |x: f64| if squared { x * x } else { x };
        let fill = power(self.fill);
        // Whatever is out of range of a byte is not told by it.
        let missing = (fill * scale).round() as u8;
        let [two, none] = if self.exchanged { [0.0, 2.0] } else { [2.0, 0.0] };
        let mut table = [0; 4];
        table[TWO] = (power(two) * scale) as u8;
        table[ONE] = scale as u8;
        table[NONE] = (power(none) * scale) as u8;
        table[MISSING] = missing;
        let off = (fill - f64::from(missing) / scale).abs() + f64::EPSILON * fill.abs();
        let unknown = if self.missing == 0 { 0.0 } else { off * f64::from(self.missing).sqrt() };
        // `|x^2 - f^2| = |x + f| |x - f|`.
        let spread =
            if squared { (self.largest.max(2.0) + self.fill.abs()) * self.spread } else { self.spread };
        Coded { table, scale, fill, spread: spread + unknown, unknown, largest: power(self.largest.max(2.0)) }
    }
}
