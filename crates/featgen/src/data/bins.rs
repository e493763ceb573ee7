//! Levels of a feature's values, equal steps of `|x|^power` from 0 up to a top, and histograms over them.

use multiversion::multiversion;

use crate::kernels::{self, Number, RowNumber};

/// Which level a value has. Only 0 itself has level 0, so that sparse data stay sparse.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bins {
    /// Levels per unit of `|x|^power`.
    density: f64,
    power: f64,
    count: usize,
    /// The same as a number.
    most: f64,
}

/// Sums that a level has: neighbours in a column are added to different ones, so that equal levels in a row need not
/// wait for each other. What counts is the total.
pub(crate) const LANES: usize = 4;

/// What is added up at one level.
pub type Lanes = [f64; LANES];

/// Added to a small number it leaves room for the whole part alone: the sum's last bits are the nearest whole number.
const WHOLE: f64 = (1u64 << 52) as f64;

impl Bins {
    /// `count` levels up to `top`, which is a value of `|x|^power`.
    pub fn new(top: f64, power: f64, count: u32) -> Self {
        let density = if top > 0.0 { f64::from(count) / top } else { 0.0 };
        Self { density, power, count: count as usize, most: count.into() }
    }

    /// Number of levels above 0.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The level of a value: the nearest (the even one of two), but at least 1 and at most the top.
    #[inline]
    pub fn index(&self, x: f64) -> usize {
        let size = if self.power == 1.0 { x.abs() } else { x.abs().powf(self.power) };
        self.level(size) as usize
    }

    /// The same from `|x|^power`. Without a branch, for this is done for every value in every round.
    #[inline(always)]
    fn level(&self, size: f64) -> u64 {
        let (level, least) = (size * self.density, f64::from(u8::from(size != 0.0)));
        let level = if level < self.most { level } else { self.most };
        let level = if level > least { level } else { least };
        (level + WHOLE).to_bits() - WHOLE.to_bits()
    }

    /// Adds `v[rows[k]]` to the level of every value `x[k]`, for every output that `sums` have levels for.
    pub(crate) fn add<R: RowNumber, T: Number>(&self, rows: &[R], x: &[T], v: &[f64], sums: &mut [Lanes]) {
        let levels = self.count + 1;
        if self.power == 1.0 {
            add_up(rows, x, |x| self.level(x.abs()), v, sums, levels);
        } else {
            add_up(rows, x, |x| self.level(x.abs().powf(self.power)), v, sums, levels);
        }
    }

    /// The same for a value in every row.
    pub(crate) fn add_dense<T: Number>(&self, x: &[T], v: &[f64], sums: &mut [Lanes]) {
        let levels = self.count + 1;
        if self.power == 1.0 {
            add_up_dense(x, |x| self.level(x.abs()), v, sums, levels);
        } else {
            add_up_dense(x, |x| self.level(x.abs().powf(self.power)), v, sums, levels);
        }
    }

    /// The same where every value is 1.
    pub(crate) fn add_ones<R: RowNumber>(&self, rows: &[R], v: &[f64], sums: &mut [Lanes]) {
        let (level, levels) = (self.index(1.0), self.count + 1);
        let n = rows_of(v, sums, levels);
        for (v, sums) in v.chunks(n).zip(sums.chunks_mut(levels)) {
            sums[level][0] += kernels::sum_at(rows, v);
        }
    }
}

/// Rows that each output has, at least 1, if `sums` have so many levels for each.
fn rows_of(v: &[f64], sums: &[Lanes], levels: usize) -> usize {
    (v.len() / (sums.len() / levels).max(1)).max(1)
}

/// Values whose levels are found together, by vector instructions, before any is counted.
const TOGETHER: usize = 64;

#[multiversion(targets("x86_64+avx2"))]
fn add_up<R: RowNumber, T: Number, L: Fn(f64) -> u64>(
    rows: &[R],
    x: &[T],
    level: L,
    v: &[f64],
    sums: &mut [Lanes],
    levels: usize,
) {
    let (n, height) = (rows_of(v, sums, levels), levels);
    let mut levels = [0; TOGETHER];
    for (rows, x) in rows.chunks(TOGETHER).zip(x.chunks(TOGETHER)) {
        levels.iter_mut().zip(x).for_each(|(l, x)| *l = level(x.wide()));
        for (v, sums) in v.chunks(n).zip(sums.chunks_mut(height)) {
            for (k, (&i, &level)) in rows.iter().zip(&levels).enumerate() {
                sums[level as usize][k % LANES] += v[i.at()];
            }
        }
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn add_up_dense<T: Number, L: Fn(f64) -> u64>(
    x: &[T],
    level: L,
    v: &[f64],
    sums: &mut [Lanes],
    levels: usize,
) {
    let (n, height) = (rows_of(v, sums, levels), levels);
    let mut levels = [0; TOGETHER];
    for (first, x) in (0..).step_by(TOGETHER).zip(x.chunks(TOGETHER)) {
        levels.iter_mut().zip(x).for_each(|(l, x)| *l = level(x.wide()));
        for (v, sums) in v.chunks(n).zip(sums.chunks_mut(height)) {
            for (k, (v, &level)) in v[first..][..x.len()].iter().zip(&levels).enumerate() {
                sums[level as usize][k % LANES] += v;
            }
        }
    }
}
