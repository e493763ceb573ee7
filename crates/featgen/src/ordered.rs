//! Parallel loops over instances whose results do not depend on the number of threads.

use std::ops::Range;

use multiversion::multiversion;
use rayon::prelude::*;

/// Rows that one task handles. Fixed, so that sums are grouped the same way on any number of threads.
const CHUNK: usize = 1 << 13;

/// Partial sums within a chunk: additions that need not wait for each other.
const LANES: usize = 4;

/// Several sums over the places of some vectors of one length: `terms` makes a term of each of what the vectors hold there.
///
/// The same to the bit as [`sums`], without an index that must be checked: the compiler makes vector instructions of it.
pub(crate) fn sums_over<const N: usize, const K: usize>(
    x: [&[f64]; N],
    terms: impl Fn([f64; N]) -> [f64; K] + Sync,
) -> [f64; K] {
    by_chunks(x[0].len(), |rows| sums_of_part(x.map(|x| &x[rows.clone()]), &terms))
}

#[multiversion(targets("x86_64+avx2"))]
fn sums_of_part<const N: usize, const K: usize, F: Fn([f64; N]) -> [f64; K]>(
    x: [&[f64]; N],
    terms: &F,
) -> [f64; K] {
    let n = x[0].len();
    let whole = x.map(|x| x[..n].as_chunks::<LANES>().0);
    let rest = x.map(|x| x[..n].as_chunks::<LANES>().1);
    let mut lanes = [[0.0; LANES]; K];
    for at in 0..n / LANES {
        let terms: [[f64; K]; LANES] = std::array::from_fn(|l| terms(whole.map(|x| x[at][l])));
        lanes = std::array::from_fn(|k| std::array::from_fn(|l| lanes[k][l] + terms[l][k]));
    }
    for l in 0..n % LANES {
        let terms = terms(rest.map(|x| x[l]));
        (0..K).for_each(|k| lanes[k][l] += terms[k]);
    }
    lanes.map(|lanes| (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]))
}

/// `sum_{i < n} terms(i)` for several sums at once.
pub(crate) fn sums<const K: usize>(n: usize, terms: impl Fn(usize) -> [f64; K] + Sync) -> [f64; K] {
    by_chunks(n, |rows| {
        let (first, end) = (rows.start, rows.end);
        let whole = first + (end - first) / LANES * LANES;
        let mut lanes = [[0.0; K]; LANES];
        for i in (first..whole).step_by(LANES) {
            lanes = std::array::from_fn(|l| add(lanes[l], terms(i + l)));
        }
        (whole..end).for_each(|i| lanes[i - whole] = add(lanes[i - whole], terms(i)));
        add(add(lanes[0], lanes[2]), add(lanes[1], lanes[3]))
    })
}

/// The sums of all chunks of `0..n`: they may be computed anywhere, and are added in order.
fn by_chunks<const K: usize>(n: usize, part: impl Fn(Range<usize>) -> [f64; K] + Sync) -> [f64; K] {
    if n <= CHUNK {
        return part(0..n);
    }
    let part = |c: usize| part(c * CHUNK..n.min((c + 1) * CHUNK));
    let parts: Vec<[f64; K]> = (0..n.div_ceil(CHUNK)).into_par_iter().map(part).collect();
    parts.into_iter().fold([0.0; K], add)
}

fn add<const K: usize>(a: [f64; K], b: [f64; K]) -> [f64; K] {
    std::array::from_fn(|k| a[k] + b[k])
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
    each_chunk(out, |first, part| fill_part(x.map(|x| &x[first..][..part.len()]), part, &value));
}

#[multiversion(targets("x86_64+avx2"))]
fn fill_part<const N: usize, F: Fn([f64; N]) -> f64>(x: [&[f64]; N], out: &mut [f64], value: &F) {
    let x = x.map(|x| &x[..out.len()]);
    for i in 0..out.len() {
        out[i] = value(x.map(|x| x[i]));
    }
}

/// Calls `each` with every chunk of `out` and the place where it begins, anywhere.
fn each_chunk(out: &mut [f64], each: impl Fn(usize, &mut [f64]) + Sync) {
    if out.len() <= CHUNK {
        each(0, out);
    } else {
        out.par_chunks_mut(CHUNK).enumerate().for_each(|(c, part)| each(c * CHUNK, part));
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
