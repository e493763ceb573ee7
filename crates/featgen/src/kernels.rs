//! The few loops where the time goes, written so that the compiler turns them into vector instructions.
//!
//! Each is compiled for several instruction sets and the best is chosen at run time. Sums run over eight lanes that are
//! added in a fixed order, without fused operations: the same bits on every machine and for any number of threads.

use multiversion::multiversion;

/// How many partial sums a dot product keeps.
pub(crate) const LANES: usize = 8;

/// A number as it is stored.
pub trait Number: Copy + Send + Sync + 'static {
    /// The number as it is computed with.
    fn wide(self) -> f64;
}

impl Number for f32 {
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
}

impl Number for f64 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
}

#[inline(always)]
fn fold(s: [f64; LANES]) -> f64 {
    ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
}

/// `sum_i x[i] * v[i]`.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn dot<T: Number>(x: &[T], v: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (x8, x_rest) = x.as_chunks::<LANES>();
    let (v8, v_rest) = v.as_chunks::<LANES>();
    for (x, v) in x8.iter().zip(v8) {
        for l in 0..LANES {
            sums[l] += x[l].wide() * v[l];
        }
    }
    for (l, (x, v)) in x_rest.iter().zip(v_rest).enumerate() {
        sums[l] += x.wide() * v;
    }
    fold(sums)
}

/// Four dot products with one reading of `v`; each as [`dot`] gives it, to the bit.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn dot4<T: Number>(x: [&[T]; 4], v: &[f64]) -> [f64; 4] {
    let mut sums = [[0.0; LANES]; 4];
    let (v8, v_rest) = v.as_chunks::<LANES>();
    let chunked = x.map(|x| &x.as_chunks::<LANES>().0[..v8.len()]);
    for (k, v) in v8.iter().enumerate() {
        for c in 0..4 {
            for l in 0..LANES {
                sums[c][l] += chunked[c][k][l].wide() * v[l];
            }
        }
    }
    for c in 0..4 {
        let rest = &x[c][v8.len() * LANES..];
        for (l, (x, v)) in rest.iter().zip(v_rest).enumerate() {
            sums[c][l] += x.wide() * v;
        }
    }
    sums.map(fold)
}

/// `out += sum over r of v[r] * rows[r]`, rows added in order.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn add_rows4<T: Number>(rows: [&[T]; 4], v: [f64; 4], out: &mut [f64]) {
    let n = out.len();
    let rows = rows.map(|row| &row[..n]);
    for j in 0..n {
        let mut sum = out[j];
        for r in 0..4 {
            sum += v[r] * rows[r][j].wide();
        }
        out[j] = sum;
    }
}

/// `out += weight * x`.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn add_scaled<T: Number>(weight: f64, x: &[T], out: &mut [f64]) {
    for (o, x) in out.iter_mut().zip(x) {
        *o += weight * x.wide();
    }
}

/// `sum_k x[k] * v[rows[k]]`: the dot product of a sparse column.
#[inline]
pub(crate) fn dot_sparse<T: Number>(rows: &[u32], x: &[T], v: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (r4, r_rest) = rows.as_chunks::<4>();
    let (x4, x_rest) = x.as_chunks::<4>();
    for (r, x) in r4.iter().zip(x4) {
        for l in 0..4 {
            sums[l] += x[l].wide() * v[r[l] as usize];
        }
    }
    for (l, (&r, x)) in r_rest.iter().zip(x_rest).enumerate() {
        sums[l] += x.wide() * v[r as usize];
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}

/// `sum_k v[rows[k]]`: the same where every value is 1.
#[inline]
pub(crate) fn sum_at(rows: &[u32], v: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (r4, r_rest) = rows.as_chunks::<4>();
    for r in r4 {
        for l in 0..4 {
            sums[l] += v[r[l] as usize];
        }
    }
    for (l, &r) in r_rest.iter().enumerate() {
        sums[l] += v[r as usize];
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}
