//! A copy of full columns in one byte a value, made when it pays.

use std::ops::Range;
use std::sync::OnceLock;

use memmap2::MmapMut;

use super::facts::{FactNumbers, Facts};
use super::{LANES, Rounded, Sums, add_bytes};
use crate::data::{Columns, Outputs, ValuesView};

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
        // Of data by rows, the columns that need an exact look would cost as much as all.
        let apart = columns.by_blocks().is_none() && columns.bytes_by_rows() == 0;
        let fits = full && apart && Self::is_of_use(rows, len, columns.value_bytes());
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
        columns.visit_ahead(range, &mut |_, column, next| {
            let Some(bytes) = places.next() else { return };
            let facts = match (column.full(), next.and_then(|next| next.full())) {
                (Some(ValuesView::F32(x)), Some(ValuesView::F32(next))) => Facts::copy_ahead(x, next, bytes),
                (Some(ValuesView::F64(x)), Some(ValuesView::F64(next))) => Facts::copy_ahead(x, next, bytes),
                (Some(ValuesView::U8(x)), _) => Facts::copy_whole(x, bytes),
                (Some(ValuesView::F32(x)), _) => Facts::copy(x, bytes),
                (Some(ValuesView::F64(x)), _) => Facts::copy(x, bytes),
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
