//! A copy of full columns in one byte a value, made when it pays.

use std::ops::{Add, Mul, Range, Sub};
use std::sync::OnceLock;

use memmap2::MmapMut;
use multiversion::multiversion;

use super::{LANES, Rounded, SLACK, Sums, add_bytes};
use crate::data::{Columns, Outputs, ValuesView};
use crate::kernels::{self, Number, lanes};

/// The copy that a storage has, if it was decided to have one.
#[derive(Default)]
pub(crate) struct Copied(OnceLock<Option<Bytes>>);

/// Bytes u that stand for the values of columns: `low + step * u`.
struct Bytes {
    /// Some columns after the other. They are copied when they are first asked for, so that this can be given up at any time, and all
    /// threads have a share in it.
    parts: Vec<OnceLock<Part>>,
    /// Columns of a part.
    together: usize,
}

/// Neighbours that are copied together.
struct Part {
    bytes: MmapMut,
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
    /// The length of the vector of what they tell, beside the constant [`MIDDLE`], or more.
    spread: f64,
    largest: f64,
}

/// The steps from the smallest value to the largest.
const STEPS: f64 = 255.0;

/// The middle of all bytes: none is farther from it than this.
const MIDDLE: f64 = 128.0;

/// Data of so many bytes as they are, or fewer, are as fast to read as a copy is, for they stay in a cache.
const SMALL: u64 = 1 << 24;

/// Sums over more rows than these tell columns of noise apart no better than the bytes of a copy are off, and with fewer rows there is
/// nothing to spare.
const ROWS: Range<usize> = 1 << 7..1 << 15;

/// Bytes of a part: room enough for a huge page, where the system has any. It takes long to hand out as many small ones.
const PART: usize = 1 << 22;

/// Columns that are summed in one go.
const TOGETHER: usize = 16;

impl Copied {
    /// Whether there is a copy. There is one if it takes no more than so many bytes and there is memory to spare. It takes little longer to
    /// make than the scores take without it, and halves the next ones at least.
    pub(crate) fn is_there(&self, columns: &dyn Columns, room: u64) -> bool {
        if let Some(copy) = self.0.get() {
            return copy.is_some();
        }
        let bytes = Self::most_bytes(columns);
        if bytes == 0 || bytes > room {
            return false;
        }
        let spare = available().is_none_or(|available| bytes <= available / 2);
        self.0.get_or_init(|| spare.then(|| Bytes::of(columns))).is_some()
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

    /// See [`Columns::rough_dots`]; false, and nothing done, if there is no copy of these columns.
    pub(crate) fn dots(
        &self,
        columns: &dyn Columns,
        range: Range<usize>,
        v: &Outputs<'_>,
        out: &mut [f64],
    ) -> bool {
        let Some(copy) = self.0.get().and_then(Option::as_ref) else { return false };
        rough_dots(range, copy.together, v, out, |k| {
            copy.parts[k]
                .get_or_init(|| Part::of(columns, copy.columns(k, columns.len())))
                .view(columns.rows())
        });
        true
    }

    /// The largest absolute value, infinite if a value is not a number; nothing if not all columns have been copied.
    pub(crate) fn largest(&self) -> Option<f64> {
        let copy = self.0.get()?.as_ref()?;
        let mut facts = copy.parts.iter().map(|part| part.get().map(|part| largest(&part.columns)));
        facts.try_fold(0.0, |most, largest| Some(largest?.max(most)))
    }
}

impl Bytes {
    /// Of full columns.
    fn of(columns: &dyn Columns) -> Self {
        let stride = columns.rows().next_multiple_of(LANES).max(LANES);
        let together = (PART / stride).next_multiple_of(TOGETHER);
        let parts = (0..columns.len().div_ceil(together)).map(|_| OnceLock::new()).collect();
        Self { parts, together }
    }

    /// The columns of the k-th part, of so many in all.
    fn columns(&self, k: usize, len: usize) -> Range<usize> {
        k * self.together..len.min((k + 1) * self.together)
    }
}

impl Part {
    /// Copies some columns, all full.
    fn of(columns: &dyn Columns, range: Range<usize>) -> Self {
        let stride = columns.rows().div_ceil(LANES);
        let mut part = Self { bytes: room(stride * LANES * range.len()), columns: Vec::new() };
        let mut places = part.bytes.chunks_exact_mut(stride * LANES);
        columns.visit(range, &mut |_, column| {
            let Some(bytes) = places.next() else { return };
            let facts = match column.full() {
                Some(ValuesView::F32(x)) => Facts::copy(x, bytes),
                Some(ValuesView::F64(x)) => Facts::copy(x, bytes),
                _ => Facts::NONE,
            };
            part.columns.push(facts.into());
        });
        part
    }

    fn view(&self, rows: usize) -> BytesView<'_> {
        let bytes = &self.bytes.as_chunks().0[..rows.div_ceil(LANES) * self.columns.len()];
        BytesView { stride: rows.div_ceil(LANES), bytes, columns: &self.columns }
    }
}

/// So many bytes that are 0, in huge pages if the system has some.
fn room(bytes: usize) -> MmapMut {
    let map = MmapMut::map_anon(bytes.max(1));
    // As when a vector finds no memory.
    let map = map.unwrap_or_else(|_| std::alloc::handle_alloc_error(std::alloc::Layout::new::<Chunk>()));
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage);
    map
}

/// See [`Columns::rough_dots`], where `view` is of the k-th part, of so many columns `together`.
fn rough_dots<'b>(
    range: Range<usize>,
    together: usize,
    v: &Outputs<'_>,
    out: &mut [f64],
    view: impl Fn(usize) -> BytesView<'b>,
) {
    let (sums, errors) = out.split_at_mut(out.len() / 2);
    let vectors = v.rounded(|v| Rounded::new(v, v.len(), |row| row));
    let width = range.len();
    let mut start = range.start;
    while start < range.end {
        let k = start / together;
        let end = range.end.min((k + 1) * together).min(start + TOGETHER);
        let at = start - range.start..end - range.start;
        let (view, some) = (view(k), start - k * together..end - k * together);
        let each = vectors.iter().zip(sums.chunks_mut(width).zip(errors.chunks_mut(width)));
        for (v, (sums, errors)) in each {
            view.dots(some.clone(), v, &mut sums[at.clone()], &mut errors[at.clone()]);
        }
        start = end;
    }
}

/// The largest absolute value of columns, infinite if a value is not a number.
fn largest(columns: &[FactNumbers]) -> f64 {
    columns.iter().fold(0.0, |most, &facts| Facts::from(facts).largest.max(most))
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
        self.columns.iter().all(|&facts| Facts::from(facts).may_be())
    }

    /// The largest absolute value, infinite if a value is not a number.
    pub(crate) fn largest(&self) -> f64 {
        largest(self.columns)
    }

    /// See [`Columns::rough_dots`].
    pub(crate) fn rough_dots(&self, range: Range<usize>, v: &Outputs<'_>, out: &mut [f64]) {
        rough_dots(range, self.columns.len(), v, out, |_| *self);
    }

    fn column(&self, position: usize) -> &'a [Chunk] {
        &self.bytes[position * self.stride..(position + 1) * self.stride]
    }

    fn dots(&self, range: Range<usize>, v: &Rounded, sums: &mut [f64], errors: &mut [f64]) {
        for (position, (sum, error)) in range.zip(sums.iter_mut().zip(errors)) {
            let mut whole = Sums::default();
            add_bytes(self.column(position), &v.digits, &mut whole);
            (*sum, *error) = Facts::from(self.columns[position]).dot(v, whole);
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
    pub(crate) fn copy<T: Stepped>(x: &[T], bytes: &mut [u8]) -> Self {
        let (low, high) = ends(x);
        let step = (high.wide() - low.wide()) / STEPS;
        if !(T::SOUND.contains(&step) || high == low) {
            return Self::nothing_of(x);
        }
        let up = if step > 0.0 { T::narrow(1.0 / step) } else { T::default() };
        let (lost, root) = (fill(x, low, up, bytes), (x.len() as f64).sqrt());
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

    fn nothing_of<T: Number>(x: &[T]) -> Self {
        Self { largest: kernels::largest(x), ..Self::NONE }
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

impl Stepped for f32 {
    type Rank = i32;

    const WHOLE: Self = 1.5 * (1u32 << 23) as Self;
    const SOUND: Range<f64> = 1e-30..1e30;
    const OFF: f64 = 2e-4;

    #[inline(always)]
    fn rank(self) -> i32 {
        let bits = self.to_bits().cast_signed();
        // Of negative numbers, the larger ones have the smaller bits beside the sign.
        bits ^ ((bits >> (i32::BITS - 1)) & i32::MAX)
    }

    #[inline(always)]
    fn of_rank(rank: i32) -> Self {
        let bits = rank ^ ((rank >> (i32::BITS - 1)) & i32::MAX);
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

impl Stepped for f64 {
    type Rank = i64;

    const WHOLE: Self = super::WHOLE;
    const SOUND: Range<f64> = 1e-280..1e280;
    const OFF: f64 = 1e-12;

    #[inline(always)]
    fn rank(self) -> i64 {
        let bits = self.to_bits().cast_signed();
        // Of negative numbers, the larger ones have the smaller bits beside the sign.
        bits ^ ((bits >> (i64::BITS - 1)) & i64::MAX)
    }

    #[inline(always)]
    fn of_rank(rank: i64) -> Self {
        let bits = rank ^ ((rank >> (i64::BITS - 1)) & i64::MAX);
        Self::from_bits(bits.cast_unsigned())
    }

    #[inline(always)]
    fn narrow(x: f64) -> Self {
        x
    }

    #[inline(always)]
    fn last_bits(self) -> u8 {
        self.to_bits() as u8
    }
}

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

/// Fills the bytes of values with the nearest of `(x - low) * up`, and adds up the squares of what is lost of that.
#[multiversion(targets("x86_64+avx2"))]
fn fill<T: Stepped>(x: &[T], low: T, up: T, bytes: &mut [u8]) -> f64 {
    let mut lost = 0.0;
    for (x, bytes) in x.chunks(SUMMED).zip(bytes.chunks_mut(SUMMED)) {
        lost += fill_some(x, low, up, bytes);
    }
    lost
}

#[inline(always)]
fn fill_some<T: Stepped>(x: &[T], low: T, up: T, bytes: &mut [u8]) -> f64 {
    let exact = |x: T| (x - low) * up;
    // From 0 to 255, or so little beyond that it is rounded to these.
    let whole = |exact: T| exact + T::WHOLE;
    let mut lost = [T::default(); ABREAST];
    let (chunks, rest) = x.as_chunks::<ABREAST>();
    for (x, place) in chunks.iter().zip(bytes.as_chunks_mut::<ABREAST>().0) {
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

/// Bytes of memory that the system could give, where it tells.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
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
