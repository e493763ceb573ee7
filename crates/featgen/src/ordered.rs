//! Parallel loops over instances whose results do not depend on the number of threads.

use crate::parallel;
use std::ops::Range;

use multiversion::multiversion;

/// Rows that one task handles. Fixed, so that sums are grouped the same way on any number of threads.
const CHUNK: usize = 1 << 13;

/// Terms that are made before they are added.
const BLOCK: usize = 1 << 6;

/// Partial sums within a chunk: additions that need not wait for each other.
const LANES: usize = 4;

/// Several sums over the places of some vectors of one length: `terms` makes a term of each of what the vectors hold there.
///
/// The same to the bit as [`sums`], without an index that must be checked: the compiler makes vector instructions of it.
pub(crate) fn sums_over<const N: usize, const K: usize>(
    x: [&[f64]; N],
    terms: impl Fn([f64; N]) -> [f64; K] + Sync,
) -> [f64; K] {
    by_chunks(x[0].len(), |rows| sums_of_part(rows_of(&x, rows), &terms))
}

#[multiversion(targets("x86_64+avx2+avx512f+avx512dq+avx512vl+avx512bw", "x86_64+avx2"))]
fn sums_of_part<const N: usize, const K: usize, F: Fn([f64; N]) -> [f64; K]>(
    x: [&[f64]; N],
    terms: &F,
) -> [f64; K] {
    let n = x[0].len();
    let mut lanes = [[0.0; LANES]; K];
    for first in (0..n).step_by(BLOCK) {
        let count = (n - first).min(BLOCK);
        // First all terms, one like the other, whatever they take: of such a loop, whose length is known, the compiler makes vector
        // instructions alone. The last block is filled up; what its last terms are does not matter.
        let mut block = [[0.0; BLOCK]; N];
        for j in 0..N {
            block[j][..count].copy_from_slice(&x[j][first..first + count]);
        }
        let mut made = [[0.0; BLOCK]; K];
        for i in 0..BLOCK {
            let terms = terms(values_at(&block, i));
            for k in 0..K {
                made[k][i] = terms[k];
            }
        }
        for k in 0..K {
            let (fours, rest) = made[k][..count].as_chunks::<LANES>();
            for four in fours {
                for l in 0..LANES {
                    lanes[k][l] += four[l];
                }
            }
            for l in 0..rest.len() {
                lanes[k][l] += rest[l];
            }
        }
    }
    let mut sums = [0.0; K];
    for k in 0..K {
        sums[k] = (lanes[k][0] + lanes[k][2]) + (lanes[k][1] + lanes[k][3]);
    }
    sums
}

/// What some vectors hold at a place. Plain loops in this file: `array::map` takes the compiler much longer, and callers are many.
#[inline(always)]
fn values_at<X: AsRef<[f64]>, const N: usize>(x: &[X; N], place: usize) -> [f64; N] {
    let mut values = [0.0; N];
    for j in 0..N {
        values[j] = x[j].as_ref()[place];
    }
    values
}

/// The same part of every vector.
#[inline(always)]
fn rows_of<'a, const N: usize>(x: &[&'a [f64]; N], rows: Range<usize>) -> [&'a [f64]; N] {
    let mut part = *x;
    for j in 0..N {
        part[j] = &x[j][rows.clone()];
    }
    part
}

/// `sum_{i < n} terms(i)` for several sums at once.
pub(crate) fn sums<const K: usize>(n: usize, terms: impl Fn(usize) -> [f64; K] + Sync) -> [f64; K] {
    by_chunks(n, |rows| {
        let (first, end) = (rows.start, rows.end);
        let whole = first + (end - first) / LANES * LANES;
        let mut lanes = [[0.0; K]; LANES];
        for i in (first..whole).step_by(LANES) {
            for l in 0..LANES {
                lanes[l] = add(lanes[l], terms(i + l));
            }
        }
        for i in whole..end {
            lanes[i - whole] = add(lanes[i - whole], terms(i));
        }
        add(add(lanes[0], lanes[2]), add(lanes[1], lanes[3]))
    })
}

/// The sums of all chunks of `0..n`: they may be computed anywhere, and are added in order.
fn by_chunks<const K: usize>(n: usize, part: impl Fn(Range<usize>) -> [f64; K] + Sync) -> [f64; K] {
    if n <= CHUNK {
        return part(0..n);
    }
    let mut parts = vec![0.0; n.div_ceil(CHUNK) * K];
    parallel::chunks_mut(&mut parts, K, &|c, sums| {
        sums.copy_from_slice(&part(c * CHUNK..n.min((c + 1) * CHUNK)));
    });
    let mut sums = [0.0; K];
    for (place, part) in parts.into_iter().enumerate() {
        sums[place % K] += part;
    }
    sums
}

fn add<const K: usize>(mut a: [f64; K], b: [f64; K]) -> [f64; K] {
    for k in 0..K {
        a[k] += b[k];
    }
    a
}

/// How many additions a term of [`sums`] goes through at most.
pub(crate) fn depth(n: usize) -> usize {
    CHUNK.min(n).div_ceil(LANES) + 2 + n.div_ceil(CHUNK)
}

/// `sum_{i < n} term(i)`.
pub(crate) fn sum(n: usize, term: impl Fn(usize) -> f64 + Sync) -> f64 {
    let [sum] = sums(n, |i| [term(i)]);
    sum
}

/// One sum over the places of some vectors, see [`sums_over`].
pub(crate) fn sum_over<const N: usize>(x: [&[f64]; N], term: impl Fn([f64; N]) -> f64 + Sync) -> f64 {
    let [sum] = sums_over(x, |x| [term(x)]);
    sum
}

/// Numbers below which one thread makes a vector sooner than several fill one that must be zeroed first.
const FEW: usize = 1 << 18;

/// The numbers of a vector, each through `f`.
pub(crate) fn map(x: &[f64], f: impl Fn(f64) -> f64 + Sync) -> Vec<f64> {
    if x.len() < FEW {
        return x.iter().map(|&x| f(x)).collect();
    }
    let mut out = vec![0.0; x.len()];
    fill_from([x], &mut out, |[x]| f(x));
    out
}

/// `out[i] = value(i)`.
pub(crate) fn fill(out: &mut [f64], value: impl Fn(usize) -> f64 + Sync) {
    each_chunk(out, |first, part| {
        part.iter_mut().enumerate().for_each(|(k, out)| *out = value(first + k));
    });
}

/// Fills `out` with what `value` makes of the numbers that some vectors of the same length hold at each place.
pub(crate) fn fill_from<const N: usize>(
    x: [&[f64]; N],
    out: &mut [f64],
    value: impl Fn([f64; N]) -> f64 + Sync,
) {
    each_chunk(out, |first, part| fill_part(rows_of(&x, first..first + part.len()), part, &value));
}

#[multiversion(targets("x86_64+avx2+avx512f+avx512dq+avx512vl+avx512bw", "x86_64+avx2"))]
fn fill_part<const N: usize, F: Fn([f64; N]) -> f64>(x: [&[f64]; N], out: &mut [f64], value: &F) {
    let x = rows_of(&x, 0..out.len());
    for i in 0..out.len() {
        out[i] = value(values_at(&x, i));
    }
}

/// Calls `each` with every chunk of `out` and the place where it begins, anywhere.
fn each_chunk(out: &mut [f64], each: impl Fn(usize, &mut [f64]) + Sync) {
    if out.len() <= CHUNK {
        each(0, out);
    } else {
        parallel::chunks_mut(out, CHUNK, &|c, part| each(c * CHUNK, part));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whichever way a loop is written, and however long the vectors are.
    #[test]
    fn vectors_and_indices_give_the_same_bits() {
        for n in [0, 1, 3, 4, 7, 1000, CHUNK, CHUNK + 1, 2 * CHUNK + 6] {
            let x: Vec<f64> = (0..n).map(|i| (i as f64 * 1.7).sin()).collect();
            let y: Vec<f64> = (0..n).map(|i| (i as f64 * 0.3).sin().exp() - 1.4).collect();
            let each = |x: f64, y: f64| [x * y, (x - y).max(0.0), y.abs()];
            assert_eq!(sums_over([&x, &y], |[x, y]| each(x, y)), sums(n, |i| each(x[i], y[i])), "{n}");
            assert_eq!(sum_over([&x], |[x]| x), sum(n, |i| x[i]));
            let (mut a, mut b) = (vec![0.0; n], vec![0.0; n]);
            fill(&mut a, |i| x[i] / y[i]);
            fill_from([&x, &y], &mut b, |[x, y]| x / y);
            assert_eq!(a, b);
            assert_eq!(map(&x, |x| 2.0 * x), x.iter().map(|x| 2.0 * x).collect::<Vec<f64>>());
        }
    }
}
