//! Parallel loops over instances whose results do not depend on the number of threads.

use rayon::prelude::*;

/// Rows that one task handles. Fixed, so that sums are grouped the same way on any number of threads.
const CHUNK: usize = 1 << 13;

/// Partial sums within a chunk: additions that need not wait for each other.
const LANES: usize = 4;

/// `sum_{i < n} terms(i)` for several sums at once: chunks may run anywhere, their sums are added in order.
pub(crate) fn sums<const K: usize>(n: usize, terms: impl Fn(usize) -> [f64; K] + Sync) -> [f64; K] {
    let add = |a: [f64; K], b: [f64; K]| std::array::from_fn(|k| a[k] + b[k]);
    let part = |c: usize| {
        let (first, end) = (c * CHUNK, n.min((c + 1) * CHUNK));
        let whole = first + (end - first) / LANES * LANES;
        let mut lanes = [[0.0; K]; LANES];
        for i in (first..whole).step_by(LANES) {
            lanes = std::array::from_fn(|l| add(lanes[l], terms(i + l)));
        }
        (whole..end).for_each(|i| lanes[i - whole] = add(lanes[i - whole], terms(i)));
        add(add(lanes[0], lanes[2]), add(lanes[1], lanes[3]))
    };
    if n <= CHUNK {
        return part(0);
    }
    let parts: Vec<[f64; K]> = (0..n.div_ceil(CHUNK)).into_par_iter().map(part).collect();
    parts.into_iter().fold([0.0; K], add)
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

/// Numbers below which one thread makes a vector sooner than several fill one that must be zeroed first.
const FEW: usize = 1 << 18;

/// The numbers of a vector, each through `f`.
pub(crate) fn map(x: &[f64], f: impl Fn(f64) -> f64 + Sync) -> Vec<f64> {
    if x.len() < FEW {
        return x.iter().map(|&x| f(x)).collect();
    }
    let mut out = vec![0.0; x.len()];
    fill(&mut out, |i| f(x[i]));
    out
}

/// `out[i] = value(i)`.
pub(crate) fn fill(out: &mut [f64], value: impl Fn(usize) -> f64 + Sync) {
    let part = |(c, part): (usize, &mut [f64])| {
        part.iter_mut().enumerate().for_each(|(k, out)| *out = value(c * CHUNK + k));
    };
    if out.len() <= CHUNK {
        part((0, out));
    } else {
        out.par_chunks_mut(CHUNK).enumerate().for_each(part);
    }
}
