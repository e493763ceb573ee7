//! `H = X' D X` over the cached columns, kept up to date instead of rebuilt: the cost of a Newton step.

use std::borrow::Cow;

use super::cache::Cache;
use super::row_view::RowView;
use crate::linalg::{self, View};
use crate::parallel;
use crate::{kernels, ordered};

/// A weighted Gram matrix that follows its weights.
///
/// Between steps few rows change sides (squared hinge), or weights change little (logistic): only rows whose weight
/// moved by more than a [part](LAG) of itself are updated, so the matrix belongs to [`weights`](Gram::weights), which are near,
/// not always equal, to the ones asked for. That only slows the last digits of a Newton iteration, never bends them:
/// gradients are exact.
#[derive(Default)]
pub(super) struct Gram {
    width: usize,
    /// Both triangles, column by column.
    entries: Vec<f64>,
    /// `X' h`: the products with a column of ones, which the shift needs.
    sums: Vec<f64>,
    weights: Vec<f64>,
    by_rows: RowView,
    /// Room for rows packed together, kept from step to step.
    packed: Vec<f64>,
    weighted: Vec<f64>,
}

/// How far, relative to itself, a row's weight may lag behind. What lags makes more steps, and steps cost passes over the columns; what
/// does not makes more updates, and a row costs as many products as the matrix has entries.
const LAG: f64 = 0.2;

/// The same where few digits are wanted.
const ROUGH_LAG: f64 = 0.25;

/// There, a row may also be off by this part of the mean weight of rows that cost as much: most may have small weights, which matter little
/// beside the others.
const ROUGH_PART: f64 = 0.1;

/// But not by more than this part of itself: what many small weights come to is to be of the right size, too.
const WILD: f64 = 0.75;

/// Rows handled together: what they hold in all columns should stay in the second-level cache.
const ROWS: usize = 512;

/// Columns of the result that one task computes.
const TILE: usize = 32;

/// Sides of the squares in which a triangle is copied.
const SQUARE: usize = 16;

/// Columns whose products with a vector one task computes.
const APPLIED: usize = 128;

impl Gram {
    /// The weights that the matrix belongs to.
    pub(super) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// `X' h` for those weights.
    pub(super) fn sums(&self) -> &[f64] {
        &self.sums
    }

    pub(super) fn column(&self, j: usize) -> &[f64] {
        &self.entries[j * self.width..][..self.width]
    }

    /// `H w`.
    pub(super) fn apply(&self, w: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.width];
        let part = |c: usize, out: &mut [f64]| {
            let column = |j: usize| self.column(c * APPLIED + j);
            let (fours, rest) = out.as_chunks_mut::<4>();
            for (j, four) in fours.iter_mut().enumerate() {
                *four = kernels::dot4(std::array::from_fn(|k| column(4 * j + k)), w);
            }
            let done = 4 * fours.len();
            rest.iter_mut().enumerate().for_each(|(j, out)| *out = kernels::dot(column(done + j), w));
        };
        match self.width > APPLIED {
            true => parallel::chunks_mut(&mut out, APPLIED, &part),
            false => part(0, &mut out),
        }
        out
    }

    /// Brings the matrix up to the columns of `cache` and near the weights `h`. Where a rough matrix will do, `rough` holds the costs of
    /// instances.
    pub(super) fn update(&mut self, cache: &Cache, h: &[f64], rough: Option<&[f64]>) {
        let old = self.width;
        self.resize(cache);
        if let Some(columns) = cache.sparse().filter(|_| self.by_rows.is_empty()) {
            self.by_rows = RowView::new(columns, cache.rows());
        }
        self.weights.resize(h.len(), 0.0);
        let active = h.iter().filter(|&&h| h > 0.0).count();
        let mut moved = self.moved(h, rough);
        if old > 0 && 2 * moved.len() > active {
            // Starting afresh is cheaper, and forgets rounding errors.
            self.entries.fill(0.0);
            self.sums.fill(0.0);
            self.weights.fill(0.0);
            moved = self.moved(h, rough);
        }
        let changes: Vec<(u32, f64)> =
            moved.iter().map(|&i| (i, h[i as usize] - self.weights[i as usize])).collect();
        moved.iter().for_each(|&i| self.weights[i as usize] = h[i as usize]);
        self.accumulate(cache, &changes, 0..old);
        if old < self.width {
            let weighted = self.weights.iter().zip(0..).filter(|(h, _)| **h > 0.0);
            let weighted: Vec<(u32, f64)> = weighted.map(|(&h, i)| (i, h)).collect();
            self.accumulate(cache, &weighted, old..self.width);
        }
    }

    /// Rows whose weights are too far from these.
    fn moved(&self, h: &[f64], rough: Option<&[f64]>) -> Vec<u32> {
        // A row that costs twice as much is as good as two of them.
        let (lag, part) = match rough {
            Some(costs) => (ROUGH_LAG, ROUGH_PART * h.iter().sum::<f64>() / costs.iter().sum::<f64>()),
            None => (LAG, 0.0),
        };
        let mut far = vec![0.0; h.len()];
        // Without costs, no part of them counts: any numbers will do.
        let costs = rough.unwrap_or(h);
        ordered::fill_from(
            [h, &self.weights, costs],
            &mut far,
            #[inline(always)]
            |[h, weight, cost]| {
                let (off, most) = ((h - weight).abs(), h.max(weight));
                f64::from(u8::from(off > (part * cost).max(lag * most) || off > WILD * most))
            },
        );
        (0..).zip(far).filter(|(_, far)| *far != 0.0).map(|(i, _)| i).collect()
    }

    /// What the matrix was made from is not enough to make it again: its roundings come from all the changes it went through.
    pub(super) fn kept(&self) -> Vec<Cow<'_, [f64]>> {
        let upper = (0..self.width).map(|j| &self.column(j)[..=j]);
        [self.weights.as_slice(), &self.sums].into_iter().chain(upper).map(Cow::Borrowed).collect()
    }

    /// The matrix whose numbers were [`kept`](Self::kept), over the first columns of `cache`; `None` if it cannot be one.
    pub(super) fn resume(kept: Vec<Vec<f64>>, cache: &Cache) -> Option<Self> {
        let mut kept = kept.into_iter();
        let (weights, sums) = (kept.next()?, kept.next()?);
        let width = sums.len();
        let rows = if width == 0 { weights.len() } else { cache.rows() };
        let fits = |(j, column): (usize, &Vec<f64>)| column.len() == j + 1;
        let sound = width <= cache.len() && kept.len() == width && weights.len() == rows;
        if !sound || !kept.as_slice().iter().enumerate().all(fits) {
            return None;
        }
        let mut entries = vec![0.0; width * width];
        for (j, column) in kept.enumerate() {
            for (i, x) in column.into_iter().enumerate() {
                entries[j * width + i] = x;
                entries[i * width + j] = x;
            }
        }
        Some(Self { width, entries, sums, weights, ..Self::default() })
    }

    /// Brings the matrix to the columns of `cache`, which are more than it has, with 0 for those, or fewer.
    pub(super) fn resize(&mut self, cache: &Cache) {
        let (old, new) = (self.width, cache.len());
        if old == new {
            return;
        }
        let mut entries = vec![0.0; new * new];
        for j in 0..old.min(new) {
            entries[j * new..][..old.min(new)].copy_from_slice(&self.column(j)[..old.min(new)]);
        }
        self.entries = entries;
        self.sums.resize(new, 0.0);
        self.width = new;
        self.by_rows = RowView::default();
    }

    /// Adds `sum over rows of weight * x x'` to the part of the matrix that `columns` make with the columns before and
    /// among them.
    fn accumulate(&mut self, cache: &Cache, rows: &[(u32, f64)], columns: std::ops::Range<usize>) {
        if rows.is_empty() || columns.is_empty() {
            return;
        }
        match cache.sparse() {
            None => self.accumulate_packed(cache, rows, columns.clone()),
            Some(_) => self.accumulate_by_rows(rows, columns.clone()),
        }
        self.mirror(columns);
    }

    /// Copies what these columns hold above the diagonal below it: square by square, so that what is read and written stays in a cache.
    fn mirror(&mut self, columns: std::ops::Range<usize>) {
        let (width, last) = (self.width, columns.end);
        for j in columns.step_by(SQUARE) {
            let js = j..last.min(j + SQUARE);
            for i in (0..js.end).step_by(SQUARE) {
                for j in js.clone() {
                    for i in i..j.min(i + SQUARE) {
                        self.entries[i * width + j] = self.entries[j * width + i];
                    }
                }
            }
        }
    }

    fn accumulate_by_rows(&mut self, rows: &[(u32, f64)], columns: std::ops::Range<usize>) {
        let width = self.width;
        let mut seen: Vec<(usize, f64)> = Vec::new();
        for &(i, weight) in rows {
            seen.clear();
            self.by_rows.see(i as usize, |j, x| {
                // A row's columns increase: those up to j make the upper triangle.
                seen.push((j, x));
                if columns.contains(&j) {
                    let (scale, out) = (weight * x, &mut self.entries[j * width..][..width]);
                    self.sums[j] += scale;
                    seen.iter().for_each(|&(k, y)| out[k] += scale * y);
                }
            });
        }
    }

    fn accumulate_packed(&mut self, cache: &Cache, rows: &[(u32, f64)], columns: std::ops::Range<usize>) {
        let (width, first, last, wide) = (self.width, columns.start, columns.end, columns.len());
        for rows in rows.chunks(ROWS) {
            // Row after row: what a product of matrices reads side by side lies side by side.
            let packed = room(&mut self.packed, rows.len() * last);
            cache.pack(rows, last, packed);
            let weighted = room(&mut self.weighted, rows.len() * wide);
            let sums = &mut self.sums[columns.clone()];
            let both = packed.chunks_exact(last).zip(weighted.chunks_exact_mut(wide));
            for ((row, weighted), &(_, weight)) in both.zip(rows) {
                kernels::weigh(weight, &row[first..], weighted, sums);
            }
            let left = View::by_rows(packed, rows.len(), last);
            let right = View::by_rows(weighted, rows.len(), wide);
            let entries = &mut self.entries[first * width..last * width];
            parallel::chunks_mut(entries, TILE * width, &|t, out| {
                let count = out.len() / width;
                // The upper triangle: rows up to the tile's last column.
                let high = first + t * TILE + count;
                let left = left.part(0..rows.len(), 0..high).transposed();
                let right = right.part(0..rows.len(), t * TILE..t * TILE + count);
                linalg::add_product(1.0, left, right, out, width);
            });
        }
    }
}

/// So many numbers of any value, in room that is kept.
fn room(kept: &mut Vec<f64>, count: usize) -> &mut [f64] {
    if kept.len() < count {
        kept.resize(count, 0.0);
    }
    &mut kept[..count]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Column;
    use crate::operator::Operator;

    fn column(n: usize, j: usize, every: usize) -> Column {
        let filled: Vec<usize> = (0..n).filter(|i| (i * 7 + j * 3).is_multiple_of(every)).collect();
        let values = filled.iter().map(|i| ((i * 31 + j * 17) % 23) as f64 - 11.0).collect();
        Column::Sparse { rows: filled.iter().map(|&i| i as u32).collect(), values }
    }

    /// Follows columns and weights through several changes, dense and sparse, as if computed afresh.
    #[test]
    fn follows_columns_and_weights() {
        let n = 700;
        for every in [2, 40] {
            let (mut cache, mut gram) = (Cache::new(n), Gram::default());
            for step in 0..6 {
                if step % 2 == 0 {
                    cache
                        .extend((0..20).map(|j| Operator::Column(column(n, 20 * step + j, every))).collect());
                }
                let h: Vec<f64> = (0..n).map(|i| if (i + step) % 9 < 3 { 2.0 } else { 0.0 }).collect();
                gram.update(&cache, &h, None);
                assert_eq!(gram.weights(), h);
                for (a, b) in gram.sums().iter().zip(cache.transpose(&h)) {
                    assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{a} {b}");
                }
                let unit =
                    |j: usize| (0..cache.len()).map(|k| f64::from(u8::from(k == j))).collect::<Vec<_>>();
                for j in 0..cache.len() {
                    let weighted: Vec<f64> =
                        cache.apply(&unit(j)).iter().zip(&h).map(|(x, h)| x * h).collect();
                    for (a, b) in gram.column(j).iter().zip(cache.transpose(&weighted)) {
                        assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{a} {b}");
                    }
                }
            }
        }
    }
}
