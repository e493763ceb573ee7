//! The few loops where the time goes, written so that the compiler turns them into vector instructions.
//!
//! Each is compiled for several instruction sets and the best is chosen at run time. Sums run over eight lanes that are
//! added in a fixed order, without fused operations: the same bits on every machine and for any number of threads.

use multiversion::multiversion;

use crate::data::Tile;

/// How many partial sums a dot product keeps.
pub(crate) const LANES: usize = 8;

/// A number as it is stored.
pub trait Number: Copy + Send + Sync + 'static {
    /// Whole numbers in the order of the absolute values that they stand for.
    type Size: Copy + Ord + Default;

    /// The number as it is computed with.
    fn wide(self) -> f64;

    /// What stands for its absolute value: the bits without the sign are in the order of the values, and those of NaN come last.
    fn size(self) -> Self::Size;

    /// The value that this stands for.
    fn of_size(size: Self::Size) -> Self;
}

impl Number for f32 {
    type Size = i32;

    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn size(self) -> i32 {
        self.abs().to_bits() as i32
    }

    fn of_size(size: i32) -> Self {
        Self::from_bits(size as u32)
    }
}

impl Number for f64 {
    type Size = i64;

    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }

    #[inline(always)]
    fn size(self) -> i64 {
        self.abs().to_bits() as i64
    }

    fn of_size(size: i64) -> Self {
        Self::from_bits(size as u64)
    }
}

impl Number for u8 {
    type Size = Self;

    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn size(self) -> Self {
        self
    }

    fn of_size(size: Self) -> Self {
        size
    }
}

/// The number of a row as it is stored. Loops over rows are compiled for each kind, and add in the same order for all.
pub trait RowNumber: Copy + Ord + Into<u32> + Send + Sync + 'static {
    /// The number as it is counted with.
    #[inline(always)]
    fn wide(self) -> u32 {
        self.into()
    }

    /// Where the row is among all.
    #[inline(always)]
    fn at(self) -> usize {
        self.wide() as usize
    }

    /// Many of them, of whichever kind.
    fn many(rows: &[Self]) -> RowNumbers<'_>;
}

impl RowNumber for u16 {
    fn many(rows: &[Self]) -> RowNumbers<'_> {
        RowNumbers::U16(rows)
    }
}

impl RowNumber for u32 {
    fn many(rows: &[Self]) -> RowNumbers<'_> {
        RowNumbers::U32(rows)
    }
}

/// Rows in order, as they are stored.
#[derive(Debug, Clone, Copy)]
pub enum RowNumbers<'a> {
    /// So many, from the first on, without a gap.
    All(usize),
    /// Some, by 16 bits.
    U16(&'a [u16]),
    /// Some, by 32 bits.
    U32(&'a [u32]),
}

/// Partial sums that are added in a fixed order at the end.
pub(crate) type Sums = [f64; LANES];

/// An array of what `make` makes of every place. Of this plain loop the compiler makes vector instructions wherever it stands; what the
/// standard library has for it, `from_fn` and `map`, may stay calls, one for every number.
#[inline(always)]
pub(crate) fn lanes<T: Copy + Default, const N: usize>(make: impl Fn(usize) -> T) -> [T; N] {
    let mut lanes = [T::default(); N];
    for l in 0..N {
        lanes[l] = make(l);
    }
    lanes
}

/// Has the value at a place, if there is one, come from memory with its neighbours, and does not wait for them.
#[inline(always)]
pub(crate) fn fetch<T>(x: &[T], place: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(x) = x.get(place) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: nothing is read or written: it is a hint, and one for an address that there is.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(x).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (x, place);
}

/// Eight more products. As a whole array at a time, so that sums stay in registers and lanes become vectors.
#[inline(always)]
fn step<T: Number>(sums: Sums, x: &[T; LANES], v: &[f64; LANES]) -> Sums {
    lanes(|l| sums[l] + x[l].wide() * v[l])
}

/// The last, fewer than eight, products, and the total.
#[inline(always)]
fn finish<T: Number>(mut sums: Sums, x: &[T], v: &[f64]) -> f64 {
    for (sum, (x, v)) in sums.iter_mut().zip(x.iter().zip(v)) {
        *sum += x.wide() * v;
    }
    ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]))
}

/// `sum_i x[i] * v[i]`.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn dot<T: Number>(x: &[T], v: &[f64]) -> f64 {
    let (x, x_rest) = x.as_chunks();
    let (v, v_rest) = v.as_chunks();
    let sums = x.iter().zip(v).fold([0.0; LANES], |sums, (x, v)| step(sums, x, v));
    finish(sums, x_rest, v_rest)
}

/// Four dot products with one reading of `v`; each as [`dot`] gives it, to the bit.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn dot4<T: Number>([a, b, c, d]: [&[T]; 4], v: &[f64]) -> [f64; 4] {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks(), b.as_chunks());
    let ((c, c_rest), (d, d_rest)) = (c.as_chunks(), d.as_chunks());
    let (v, v_rest) = v.as_chunks();
    let (mut sa, mut sb, mut sc, mut sd) = ([0.0; LANES], [0.0; LANES], [0.0; LANES], [0.0; LANES]);
    for ((((v, a), b), c), d) in v.iter().zip(a).zip(b).zip(c).zip(d) {
        sa = step(sa, a, v);
        sb = step(sb, b, v);
        sc = step(sc, c, v);
        sd = step(sd, d, v);
    }
    [
        finish(sa, a_rest, v_rest),
        finish(sb, b_rest, v_rest),
        finish(sc, c_rest, v_rest),
        finish(sd, d_rest, v_rest),
    ]
}

/// `sum_i x[i]^2 * v[i]`.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn square_dot<T: Number>(x: &[T], v: &[f64]) -> f64 {
    let squares = |x: &[T; LANES]| lanes(|l| x[l].wide() * x[l].wide());
    let (x, x_rest) = x.as_chunks();
    let (v, v_rest) = v.as_chunks();
    let sums = x.iter().zip(v).fold([0.0; LANES], |sums, (x, v)| step(sums, &squares(x), v));
    let mut last = [0.0; LANES];
    last.iter_mut().zip(x_rest).for_each(|(last, x)| *last = x.wide() * x.wide());
    finish(sums, &last[..x_rest.len()], v_rest)
}

/// `sum x v`, `sum x d` and `sum x^2 d` with one reading of the column; each as [`dot`] and [`square_dot`] give it, to the bit.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn dots_and_square<T: Number>(x: &[T], v: &[f64], d: &[f64]) -> [f64; 3] {
    let (x, x_rest) = x.as_chunks::<LANES>();
    let ((v, v_rest), (d, d_rest)) = (v.as_chunks(), d.as_chunks());
    let (mut sv, mut sd, mut squares) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    for ((x, v), d) in x.iter().zip(v).zip(d) {
        let x = lanes(|l| x[l].wide());
        sv = step(sv, &x, v);
        sd = step(sd, &x, d);
        squares = step(squares, &lanes(|l| x[l] * x[l]), d);
    }
    let mut last = [0.0; LANES];
    last.iter_mut().zip(x_rest).for_each(|(last, x)| *last = x.wide() * x.wide());
    let rest = &last[..x_rest.len()];
    [finish(sv, x_rest, v_rest), finish(sd, x_rest, d_rest), finish(squares, rest, d_rest)]
}

/// The same sums, each over one row after the other.
pub(crate) fn sums_in_order<T: Number>(x: &[T], v: &[f64], d: &[f64]) -> [f64; 3] {
    let [mut sv, mut sd, mut squares] = [0.0; 3];
    for ((x, v), d) in x.iter().zip(v).zip(d) {
        let x = x.wide();
        sv += v * x;
        sd += d * x;
        squares += d * (x * x);
    }
    [sv, sd, squares]
}

/// A part of the dot product of a column, which begins where the parts before it left off: with [`finish_dot`] at the end, it is
/// as [`dot`] gives it, to the bit. Parts are of whole lanes: of a multiple of [`LANES`] rows.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn add_dot<T: Number>(sums: &mut Sums, x: &[T], v: &[f64]) {
    let ((x, _), (v, _)) = (x.as_chunks(), v.as_chunks());
    *sums = x.iter().zip(v).fold(*sums, |sums, (x, v)| step(sums, x, v));
}

/// The same with four vectors and one reading of the column.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn add_dot4<T: Number>(sums: &mut [Sums; 4], x: &[T], [a, b, c, d]: [&[f64]; 4]) {
    let ((a, _), (b, _)) = (a.as_chunks(), b.as_chunks());
    let ((c, _), (d, _)) = (c.as_chunks(), d.as_chunks());
    let (x, _) = x.as_chunks::<LANES>();
    let [mut sa, mut sb, mut sc, mut sd] = *sums;
    for ((((x, a), b), c), d) in x.iter().zip(a).zip(b).zip(c).zip(d) {
        let x = lanes(|l| x[l].wide());
        sa = step(sa, &x, a);
        sb = step(sb, &x, b);
        sc = step(sc, &x, c);
        sd = step(sd, &x, d);
    }
    *sums = [sa, sb, sc, sd];
}

/// The total of partial sums and what is left of a column after its whole lanes.
pub(crate) fn finish_dot<T: Number>(sums: Sums, x: &[T], v: &[f64]) -> f64 {
    finish(sums, x, v)
}

/// The largest absolute value, infinite if a value is not a number; 0 of none.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn largest<T: Number>(x: &[T]) -> f64 {
    const LANES: usize = 32;
    let (chunks, rest) = x.as_chunks::<LANES>();
    let step = |most: [T::Size; LANES], x: &[T; LANES]| lanes(|l| most[l].max(x[l].size()));
    let most = chunks.iter().fold([T::Size::default(); LANES], step);
    let most = most.into_iter().chain(rest.iter().map(|x| x.size())).fold(T::Size::default(), T::Size::max);
    let most = T::of_size(most).wide();
    if most.is_nan() { f64::INFINITY } else { most }
}

/// How many rows are added with one reading and writing of the sums.
pub(crate) const ROWS: usize = 8;

/// `out += sum over r of v[r] * rows[r]`, rows added in order.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn add_rows<T: Number>(rows: [&[T]; ROWS], v: [f64; ROWS], out: &mut [f64]) {
    let n = out.len();
    let rows = rows.map(|row| &row[..n]);
    for j in 0..n {
        let mut sum = out[j];
        for r in 0..ROWS {
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

/// `out = weight * x`, and adds that to the sums, which are as many.
#[multiversion(targets("x86_64+avx2+avx512f+avx512dq+avx512vl+avx512bw", "x86_64+avx2"))]
pub(crate) fn weigh(weight: f64, x: &[f64], out: &mut [f64], sums: &mut [f64]) {
    for ((x, out), sum) in x.iter().zip(out).zip(sums) {
        *out = weight * x;
        *sum += *out;
    }
}

/// `sum_k x[k] * v[rows[k]]`: the dot product of a sparse column.
#[inline]
pub(crate) fn dot_sparse<R: RowNumber, T: Number>(rows: &[R], x: &[T], v: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (r4, r_rest) = rows.as_chunks::<4>();
    let (x4, x_rest) = x.as_chunks::<4>();
    for (r, x) in r4.iter().zip(x4) {
        for l in 0..4 {
            sums[l] += x[l].wide() * v[r[l].at()];
        }
    }
    for (l, (&r, x)) in r_rest.iter().zip(x_rest).enumerate() {
        sums[l] += x.wide() * v[r.at()];
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}

/// `sum_k v[rows[k]]`: the same where every value is 1.
#[inline]
pub(crate) fn sum_at<R: RowNumber>(rows: &[R], v: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (r4, r_rest) = rows.as_chunks::<4>();
    for r in r4 {
        for l in 0..4 {
            sums[l] += v[r[l].at()];
        }
    }
    for (l, &r) in r_rest.iter().enumerate() {
        sums[l] += v[r.at()];
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}

/// The dot products of a sparse column with several vectors that lie row by row; each as [`dot_sparse`] gives it, to the bit.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn dot_tiles<R: RowNumber, T: Number>(rows: &[R], x: &[T], v: &[Tile]) -> Tile {
    total(fold_tiles(rows, x, v, |sum: Tile, x, v| lanes(|k| sum[k] + x * v[k])))
}

/// The same, and those of the squares of the column, each as [`square_dot_sparse`] gives it, to the bit.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn dot_and_square_tiles<R: RowNumber, T: Number>(rows: &[R], x: &[T], v: &[Tile]) -> [Tile; 2] {
    let add = |[dots, squares]: [Tile; 2], x: f64, v: &Tile| {
        [lanes(|k| dots[k] + x * v[k]), lanes(|k| squares[k] + x * x * v[k])]
    };
    let sums = fold_tiles(rows, x, v, add);
    [0, 1].map(|k| total(sums.map(|sum| sum[k])))
}

/// `sum_k x[k] v[rows[k]]`, the same of d, and `sum_k x[k]^2 d[rows[k]]`, where tiles begin with v and d. One look at each row.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn gain_tiles<R: RowNumber, T: Number>(rows: &[R], x: &[T], both: &[Tile]) -> [f64; 3] {
    let add = |[v, d, dd, _]: Tile, x: f64, both: &Tile| {
        [v + x * both[0], d + x * both[1], dd + x * x * both[1], 0.0]
    };
    let [v, d, dd, _] = total(fold_tiles(rows, x, both, add));
    [v, d, dd]
}

/// Four partial sums of what a column makes of tiles.
#[inline(always)]
fn fold_tiles<R: RowNumber, T: Number, S: Copy + Default>(
    rows: &[R],
    x: &[T],
    v: &[Tile],
    add: impl Fn(S, f64, &Tile) -> S,
) -> [S; 4] {
    let [mut a, mut b, mut c, mut d] = [S::default(); 4];
    let (r4, r_rest) = rows.as_chunks::<4>();
    let (x4, x_rest) = x.as_chunks::<4>();
    for (r, x) in r4.iter().zip(x4) {
        a = add(a, x[0].wide(), &v[r[0].at()]);
        b = add(b, x[1].wide(), &v[r[1].at()]);
        c = add(c, x[2].wide(), &v[r[2].at()]);
        d = add(d, x[3].wide(), &v[r[3].at()]);
    }
    for ((&r, &x), sum) in r_rest.iter().zip(x_rest).zip([&mut a, &mut b, &mut c, &mut d]) {
        *sum = add(*sum, x.wide(), &v[r.at()]);
    }
    [a, b, c, d]
}

/// The same where every value is 1.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn sum_tiles<R: RowNumber>(rows: &[R], v: &[Tile]) -> Tile {
    let add = |sum: Tile, v: &Tile| lanes(|k| sum[k] + v[k]);
    let [mut a, mut b, mut c, mut d] = [Tile::default(); 4];
    let (r4, r_rest) = rows.as_chunks::<4>();
    for r in r4 {
        a = add(a, &v[r[0].at()]);
        b = add(b, &v[r[1].at()]);
        c = add(c, &v[r[2].at()]);
        d = add(d, &v[r[3].at()]);
    }
    for (&r, sum) in r_rest.iter().zip([&mut a, &mut b, &mut c, &mut d]) {
        *sum = add(*sum, &v[r.at()]);
    }
    total([a, b, c, d])
}

/// The total of four partial sums of every output.
#[inline(always)]
fn total([a, b, c, d]: [Tile; 4]) -> Tile {
    lanes(|k| (a[k] + c[k]) + (b[k] + d[k]))
}

/// `sum_k x[k]^2 * v[rows[k]]`.
#[inline]
pub(crate) fn square_dot_sparse<R: RowNumber, T: Number>(rows: &[R], x: &[T], v: &[f64]) -> f64 {
    let (r4, r_rest) = rows.as_chunks::<4>();
    let (x4, x_rest) = x.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (r, x) in r4.iter().zip(x4) {
        for l in 0..4 {
            sums[l] += x[l].wide() * x[l].wide() * v[r[l].at()];
        }
    }
    for (l, (&r, x)) in r_rest.iter().zip(x_rest).enumerate() {
        sums[l] += x.wide() * x.wide() * v[r.at()];
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}

/// What four columns add up to, as [`add_moments`] adds it row by row, over the rows of positive weight.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn moments4<T: Number>(
    [a, b, c, d]: [&[T]; 4],
    weights: &[f64],
) -> ([f64; 4], [f64; 4], [u32; 4], [f64; 4]) {
    let (mut sums, mut squares, mut nonzeros, mut largest) = ([0.0; 4], [0.0; 4], [0; 4], [0.0; 4]);
    let rows = weights.iter().zip(a).zip(b).zip(c).zip(d);
    for ((((&weight, &a), &b), &c), &d) in rows.filter(|((((weight, _), _), _), _)| **weight > 0.0) {
        let x = [a.wide(), b.wide(), c.wide(), d.wide()];
        for k in 0..4 {
            sums[k] += weight * x[k];
            squares[k] += weight * x[k] * x[k];
            nonzeros[k] += u32::from(x[k] != 0.0);
            largest[k] = if x[k].abs() > largest[k] { x[k].abs() } else { largest[k] };
        }
    }
    (sums, squares, nonzeros, largest)
}

/// Adds a row to what its columns add up to: `weight * x`, `weight * x^2`, how many values are not 0, the largest size.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn add_moments<T: Number>(
    weight: f64,
    x: &[T],
    sums: &mut [f64],
    squares: &mut [f64],
    nonzeros: &mut [u32],
    largest: &mut [f64],
) {
    let columns = sums.iter_mut().zip(squares).zip(nonzeros.iter_mut().zip(largest));
    for (x, ((sum, square), (nonzeros, largest))) in x.iter().zip(columns) {
        let x = x.wide();
        *sum += weight * x;
        *square += weight * x * x;
        *nonzeros += u32::from(x != 0.0);
        *largest = if x.abs() > *largest { x.abs() } else { *largest };
    }
}

/// `out += weight * x^2`.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn add_scaled_squares<T: Number>(weight: f64, x: &[T], out: &mut [f64]) {
    for (o, x) in out.iter_mut().zip(x) {
        *o += weight * (x.wide() * x.wide());
    }
}

#[cfg(test)]
mod tests {
    use super::largest;

    #[test]
    fn largest_without_sign() {
        assert_eq!(largest::<f64>(&[]), 0.0);
        let mut x: Vec<f64> = (0..20).map(|i| f64::from(i) * if i % 2 == 0 { 1.0 } else { -1.5 }).collect();
        assert_eq!(largest(&x), 28.5);
        for bad in [f64::NAN, -f64::NAN, f64::NEG_INFINITY] {
            for at in [3, 19] {
                let before = std::mem::replace(&mut x[at], bad);
                assert_eq!(largest(&x), f64::INFINITY);
                x[at] = before;
            }
        }
        assert_eq!(largest(&[f32::MIN_POSITIVE, -0.5]), 0.5);
    }
}
