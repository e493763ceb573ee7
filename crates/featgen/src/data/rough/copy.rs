//! A copy of full columns in one byte a value, made when it pays.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use multiversion::multiversion;
use rayon::prelude::*;

use super::{LANES, Rounded, SLACK, Sums, WHOLE, add_bytes};
use crate::data::{Columns, Outputs, ValuesView};
use crate::kernels::{self, Number};

/// The copy that a storage has, if one was ever made.
#[derive(Default)]
pub(crate) struct Copied {
    /// How often somebody asked for it.
    asked: AtomicUsize,
    copy: OnceLock<Option<Bytes>>,
}

/// Bytes u that stand for the values of columns: `low + step * u`.
struct Bytes {
    bytes: Vec<Chunk>,
    columns: Vec<FactNumbers>,
}

/// The bytes of so many values of a column.
pub(crate) type Chunk = [u8; LANES];

/// The same, wherever they are.
#[derive(Clone, Copy)]
pub(crate) struct BytesView<'a> {
    /// Chunks of a column.
    stride: usize,
    /// Column after column; each begins anew, and is filled up with 0.
    bytes: &'a [Chunk],
    columns: &'a [FactNumbers],
}

/// [`Facts`] as they are kept.
pub(crate) type FactNumbers = [f64; 5];

/// What the bytes of a column stand for, and how well.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Facts {
    low: f64,
    step: f64,
    /// The length of the vector of what the bytes do not tell; not a number if they tell nothing.
    unknown: f64,
    /// The length of the vector of what they tell, beside the constant [`MIDDLE`].
    spread: f64,
    largest: f64,
}

/// The middle of all bytes.
const MIDDLE: f64 = 128.0;

/// Data of so many bytes as they are, or fewer, are as fast to read as a copy is, for they stay in a cache.
const SMALL: u64 = 1 << 24;

/// Sums over more rows than these tell columns of noise apart no better than the bytes of a copy are off, and with fewer rows there is
/// nothing to spare.
const ROWS: Range<usize> = 1 << 7..1 << 15;

/// How often scores were asked for when it is time for a copy. It takes as long as seven of them and saves two thirds of each, so that it
/// pays in long runs only. Made when about as much was spent as it would have saved, it never costs a run much, be the run short or long.
const ASKED: usize = 8;

/// Columns that one thread copies in one go.
const TOGETHER: usize = 16;

impl Copied {
    /// Whether there is a copy. It is made when it was asked for a few times, if it takes no more than so many bytes and there is
    /// memory to spare.
    pub(crate) fn is_there(&self, columns: &dyn Columns, room: u64) -> bool {
        if let Some(copy) = self.copy.get() {
            return copy.is_some();
        }
        let bytes = Self::most_bytes(columns);
        if bytes == 0 || bytes > room || self.asked.fetch_add(1, Ordering::Relaxed) < ASKED {
            return false;
        }
        let spare = available().is_none_or(|available| bytes <= available / 2);
        self.copy.get_or_init(|| spare.then(|| Bytes::of(columns))).is_some()
    }

    /// Bytes that a copy takes; 0 if none is ever made of these columns.
    pub(crate) fn most_bytes(columns: &dyn Columns) -> u64 {
        let (rows, len) = (columns.rows(), columns.len() as u64);
        let full = columns.nonzeros() == (rows as u64).saturating_mul(len);
        let each = if columns.is_narrow() { 4 } else { 8 };
        // Of data by rows, the columns that need an exact look would cost as much as all.
        let apart = columns.by_blocks().is_none() && columns.bytes_by_rows() == 0;
        let fits = full && apart && Self::is_of_use(rows, len, each);
        if fits { len * (rows.next_multiple_of(LANES) + size_of::<FactNumbers>()) as u64 } else { 0 }
    }

    /// Whether a copy of so many full columns, with so many bytes a value, makes scores faster.
    pub(crate) fn is_of_use(rows: usize, columns: u64, each: u64) -> bool {
        (rows as u64 * each).saturating_mul(columns) > SMALL && ROWS.contains(&rows)
    }

    /// See [`Columns::rough_dots`]; false, and nothing done, if there is no copy.
    pub(crate) fn dots(&self, range: Range<usize>, v: &Outputs<'_>, out: &mut [f64]) -> bool {
        let Some(copy) = self.copy.get().and_then(Option::as_ref) else { return false };
        copy.view().rough_dots(range, v, out);
        true
    }
}

impl Bytes {
    /// Of full columns. Reads them once.
    fn of(columns: &dyn Columns) -> Self {
        let (stride, len) = (columns.rows().div_ceil(LANES), columns.len());
        let mut copy =
            Self { bytes: vec![[0; LANES]; stride * len], columns: vec![FactNumbers::default(); len] };
        let parts = copy.bytes.par_chunks_mut(stride * TOGETHER).zip(copy.columns.par_chunks_mut(TOGETHER));
        parts.enumerate().for_each(|(k, (bytes, facts))| {
            let first = k * TOGETHER;
            let (mut bytes, mut facts) = (bytes.chunks_exact_mut(stride), facts.iter_mut());
            columns.visit(first..first + facts.len(), &mut |_, column| {
                let (Some(bytes), Some(facts)) = (bytes.next(), facts.next()) else { return };
                let made = match column.full() {
                    Some(ValuesView::F32(x)) => Facts::copy(x, bytes.as_flattened_mut()),
                    Some(ValuesView::F64(x)) => Facts::copy(x, bytes.as_flattened_mut()),
                    _ => Facts::NONE,
                };
                *facts = made.into();
            });
        });
        copy
    }

    fn view(&self) -> BytesView<'_> {
        let stride = self.bytes.len() / self.columns.len();
        BytesView { stride, bytes: &self.bytes, columns: &self.columns }
    }
}

impl<'a> BytesView<'a> {
    /// Of columns of so many rows. Nothing if bytes and facts are not those of the same columns.
    pub(crate) fn new(rows: usize, bytes: &'a [Chunk], columns: &'a [FactNumbers]) -> Option<Self> {
        let stride = rows.div_ceil(LANES);
        let fits = bytes.len() == stride.checked_mul(columns.len())?;
        fits.then_some(Self { stride, bytes, columns })
    }

    /// Whether bytes could say of the columns what they are said to.
    pub(crate) fn may_be(&self) -> bool {
        self.facts().all(|facts| facts.may_be())
    }

    /// The largest absolute value, infinite if a value is not a number.
    pub(crate) fn largest(&self) -> f64 {
        self.facts().fold(0.0, |most, facts| facts.largest.max(most))
    }

    /// See [`Columns::rough_dots`].
    pub(crate) fn rough_dots(&self, range: Range<usize>, v: &Outputs<'_>, out: &mut [f64]) {
        let (sums, errors) = out.split_at_mut(out.len() / 2);
        let vectors = v.rounded(|v| Rounded::new(v, v.len(), |row| row));
        let width = range.len();
        for first in range.clone().step_by(TOGETHER) {
            let some = first..range.end.min(first + TOGETHER);
            let at = some.start - range.start..some.end - range.start;
            let each = vectors.iter().zip(sums.chunks_mut(width).zip(errors.chunks_mut(width)));
            for (v, (sums, errors)) in each {
                self.dots(some.clone(), v, &mut sums[at.clone()], &mut errors[at.clone()]);
            }
        }
    }

    fn facts(&self) -> impl Iterator<Item = Facts> {
        self.columns.iter().copied().map(Facts::from)
    }

    fn column(&self, position: usize) -> &'a [Chunk] {
        &self.bytes[position * self.stride..(position + 1) * self.stride]
    }

    fn dots(&self, range: Range<usize>, v: &Rounded, sums: &mut [f64], errors: &mut [f64]) {
        for (k, first) in range.clone().enumerate().step_by(4) {
            // Where there are fewer than four, the last is summed again.
            let four = std::array::from_fn(|c| self.column((first + c).min(range.end - 1)));
            let mut whole = [[0; 2]; 4];
            add_bytes(four, &v.digits, &mut whole);
            let each = sums[k..].iter_mut().zip(&mut errors[k..]).zip(&self.columns[first..]);
            for (((sum, error), facts), whole) in each.zip(whole) {
                (*sum, *error) = Facts::from(*facts).dot(v, whole);
            }
        }
    }
}

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
    const NONE: Self = Self { low: 0.0, step: 0.0, unknown: f64::NAN, spread: 0.0, largest: 0.0 };

    /// Fills the bytes of a column.
    pub(crate) fn copy<T: Number>(x: &[T], bytes: &mut [u8]) -> Self {
        let largest = kernels::largest(x);
        let [low, high] = ends(x);
        let step = (high - low) / 255.0;
        // Values that are not numbers, and those so large or so near each other that steps cannot be computed with.
        let sound = largest.is_finite() && step.is_finite() && (step > 1e-280 || high == low);
        if !sound {
            return Self { largest, ..Self::NONE };
        }
        let up = if step > 0.0 { 1.0 / step } else { 0.0 };
        let [unknown, spread] = fill(x, low, up, bytes);
        let unknown = (unknown.sqrt() + 1e-12 * (x.len() as f64).sqrt()) * step * SLACK;
        Self { low, step, unknown, spread: spread.sqrt() * step * SLACK, largest }
    }

    /// Whether bytes could say this of a column.
    fn may_be(&self) -> bool {
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

/// The smallest and the largest value.
#[multiversion(targets("x86_64+avx2"))]
fn ends<T: Number>(x: &[T]) -> [f64; 2] {
    let (chunks, rest) = x.as_chunks::<{ kernels::LANES }>();
    let (mut low, mut high) = ([f64::INFINITY; kernels::LANES], [f64::NEG_INFINITY; kernels::LANES]);
    let less = |a: f64, b: f64| if a < b { a } else { b };
    let more = |a: f64, b: f64| if a > b { a } else { b };
    for x in chunks {
        low = std::array::from_fn(|l| less(x[l].wide(), low[l]));
        high = std::array::from_fn(|l| more(x[l].wide(), high[l]));
    }
    let rest = || rest.iter().map(|x| x.wide());
    [
        low.into_iter().chain(rest()).fold(f64::INFINITY, less),
        high.into_iter().chain(rest()).fold(f64::NEG_INFINITY, more),
    ]
}

/// Fills the bytes of values with the nearest of `(x - low) * up`, and adds up the squares of what is lost of that, and those of the
/// bytes beside their middle.
#[multiversion(targets("x86_64+avx2"))]
fn fill<T: Number>(x: &[T], low: f64, up: f64, bytes: &mut [u8]) -> [f64; 2] {
    const LANES: usize = kernels::LANES;
    let exact = |x: T| (x.wide() - low) * up;
    // From 0 to 255, or so little beyond that it is rounded to these. Beside so large a number it is whole, and the last bits tell which.
    let whole = |exact: f64| exact + WHOLE;
    let (mut lost, mut told) = ([0.0; LANES], [0.0; LANES]);
    let (chunks, rest) = x.as_chunks::<LANES>();
    for (x, place) in chunks.iter().zip(bytes.as_chunks_mut::<LANES>().0) {
        let exact: [f64; LANES] = std::array::from_fn(|l| exact(x[l]));
        let whole: [f64; LANES] = std::array::from_fn(|l| whole(exact[l]));
        *place = std::array::from_fn(|l| whole[l].to_bits() as u8);
        let off: [f64; LANES] = std::array::from_fn(|l| exact[l] - (whole[l] - WHOLE));
        let on: [f64; LANES] = std::array::from_fn(|l| whole[l] - WHOLE - MIDDLE);
        lost = std::array::from_fn(|l| lost[l] + off[l] * off[l]);
        told = std::array::from_fn(|l| told[l] + on[l] * on[l]);
    }
    for (k, x) in rest.iter().enumerate() {
        let exact = exact(*x);
        let whole = whole(exact);
        bytes[chunks.len() * LANES + k] = whole.to_bits() as u8;
        let (off, on) = (exact - (whole - WHOLE), whole - WHOLE - MIDDLE);
        lost[0] += off * off;
        told[0] += on * on;
    }
    [lost.iter().sum(), told.iter().sum()]
}

/// Bytes of memory that the system could give, where it tells.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A copy that somebody else has written is taken for one only if it could be.
    #[test]
    fn copies_that_cannot_be_are_refused() {
        let (rows, x) = (40, [[1.5f32; 20], [-3.0; 20]].concat());
        let mut bytes = [Chunk::default(); 2];
        let facts = FactNumbers::from(Facts::copy(&x, bytes.as_flattened_mut()));
        assert!(BytesView::new(rows, &bytes, &[facts]).unwrap().may_be());
        assert!(BytesView::new(rows, &bytes[..1], &[facts]).is_none());
        assert!(BytesView::new(rows, &bytes, &[facts, facts]).is_none());
        assert!(BytesView::new(rows + 30, &bytes, &[facts]).is_none());
        for (place, wrong) in [(0, f64::INFINITY), (1, -1.0), (2, f64::INFINITY), (3, f64::NAN), (4, -0.5)] {
            let mut facts = facts;
            facts[place] = wrong;
            assert!(!BytesView::new(rows, &bytes, &[facts]).unwrap().may_be(), "{place}");
        }
    }
}
