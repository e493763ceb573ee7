//! Columns in bytes that are multiplied with many vectors at once: a product of matrices, in whole numbers.

use std::ops::Range;

use super::Rounded;
use super::facts::Facts;
use super::kernels::{LANES, Sums, add_bytes_twice};

/// Columns in one byte a value, one after the other.
pub(crate) struct ByteColumns {
    /// Chunks of bytes of a column.
    stride: usize,
    bytes: Vec<[u8; LANES]>,
    facts: Vec<Facts>,
}

/// Columns that [`ByteColumns::dots`] is best asked for at a time: their sums with some dozens of vectors stay in a cache.
pub(crate) const COLUMNS: usize = 64;

/// Chunks that are multiplied with all vectors before the next ones are. As many as stay in a cache, for some dozens of vectors.
const CHUNKS: usize = 128;

impl ByteColumns {
    /// No columns yet, but room for `count`.
    pub(crate) fn new(rows: usize, count: usize) -> Self {
        let stride = rows.div_ceil(LANES);
        Self { stride, bytes: Vec::with_capacity(stride * count), facts: Vec::with_capacity(count) }
    }

    /// Bytes that a column takes.
    pub(crate) fn bytes(rows: usize) -> u64 {
        (rows.next_multiple_of(LANES) + size_of::<Facts>()) as u64
    }

    /// Adds a column.
    pub(crate) fn push(&mut self, x: &[f64]) {
        let start = self.bytes.len();
        self.bytes.resize(start + self.stride, [0; LANES]);
        self.facts.push(Facts::copy(x, self.bytes[start..].as_flattened_mut()));
    }

    /// About the sums of these columns with all vectors, and how far each may be off: vector after vector. An error that is not a number
    /// says that nothing is known.
    pub(crate) fn dots(&self, range: Range<usize>, vectors: &[Rounded]) -> Vec<(f64, f64)> {
        let whole = self.whole_sums(range.clone(), vectors);
        let mut dots = Vec::with_capacity(whole.len());
        for (v, sums) in vectors.iter().zip(whole.chunks(range.len().max(1))) {
            dots.extend(self.facts[range.clone()].iter().zip(sums).map(|(facts, &sums)| facts.dot(v, sums)));
        }
        dots
    }

    /// The sums in whole numbers: vector after vector.
    fn whole_sums(&self, range: Range<usize>, vectors: &[Rounded]) -> Vec<Sums> {
        let mut whole = vec![Sums::default(); range.len() * vectors.len()];
        for chunk in (0..self.stride).step_by(CHUNKS) {
            let chunks = chunk..self.stride.min(chunk + CHUNKS);
            for first in range.clone().step_by(4) {
                // Where there are fewer than four, the last is summed again.
                let four = std::array::from_fn(|c| {
                    let column = (first + c).min(range.end - 1);
                    &self.bytes[column * self.stride..][chunks.clone()]
                });
                let at = first - range.start;
                for (two, whole) in vectors.chunks(2).zip(whole.chunks_mut(2 * range.len())) {
                    let (one, other) = whole.split_at_mut(range.len());
                    let other = other.get_mut(at..).unwrap_or_default();
                    // Of one vector alone, the sums are made twice, and those of the second time have no place.
                    let digits = [&two[0], &two[two.len() - 1]].map(|v| &v.digits[chunks.clone()]);
                    add_bytes_twice(four, digits, [&mut one[at..], other]);
                }
            }
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of every sum holds: for columns of many kinds, and of any number of rows.
    #[test]
    fn sums_are_within_their_errors() {
        for rows in [1, 31, 200, 4096, 9001] {
            let mut columns = ByteColumns::new(rows, 11);
            let value = |k: usize, i: usize| match k {
                0 => 3.5,
                1 => (i % 3) as f64,
                2 => 0.0,
                3 => 1e-300 * (i as f64).sin(),
                4 => 1e200 * (i as f64).cos(),
                5 => {
                    if i == 0 {
                        1e6
                    } else {
                        1e-3
                    }
                }
                _ => ((i * i + 7 * k * i) as f64).sin() + k as f64,
            };
            let all: Vec<Vec<f64>> = (0..11).map(|k| (0..rows).map(|i| value(k, i)).collect()).collect();
            all.iter().for_each(|x| columns.push(x));
            let vectors: Vec<Vec<f64>> = (0..5)
                .map(|k| (0..rows).map(|i| (k as f64 - 1.0) * ((i * (k + 3)) as f64).sin()).collect())
                .collect();
            let rounded: Vec<Rounded> = vectors.iter().map(|v| Rounded::new(v, rows, |row| row)).collect();
            for range in [0..11, 3..4, 2..9] {
                let dots = columns.dots(range.clone(), &rounded);
                for ((v, x), (about, error)) in
                    vectors.iter().flat_map(|v| all[range.clone()].iter().map(move |x| (v, x))).zip(dots)
                {
                    let exact: f64 = v.iter().zip(x).map(|(v, x)| v * x).sum();
                    assert!(error.is_nan() || (about - exact).abs() <= error, "{about} {exact} {error}");
                }
            }
        }
    }

    /// Two bits are told without loss that matters: the bound is what rounding the vector takes, and no more.
    #[test]
    fn errors_are_small() {
        let rows = 5000;
        let x: Vec<f64> = (0..rows).map(|i| ((i * i) % 3) as f64).collect();
        let v: Vec<f64> = (0..rows).map(|i| (i as f64 * 0.3).sin()).collect();
        let mut columns = ByteColumns::new(rows, 1);
        columns.push(&x);
        let (_, error) = columns.dots(0..1, &[Rounded::new(&v, rows, |row| row)])[0];
        let length = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert!(error < 0.003 * length(&x) * length(&v));
    }
}
