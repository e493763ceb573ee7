//! Full columns, eight abreast: what a row holds in eight of them lies together. So rows are packed by reading whole lines, and products
//! go along rows, of which those that add nothing are passed over.

use multiversion::multiversion;

use crate::kernels::{Number, lanes};
use crate::parallel;

/// Columns whose values lie together.
pub(super) const ABREAST: usize = 8;

/// What a row holds in these columns.
type Row<T> = [T; ABREAST];

/// Columns of the same length. Those that are missing from the last panel are 0.
#[derive(Debug, Clone)]
pub(super) struct Panels<T> {
    width: usize,
    panels: Vec<Vec<Row<T>>>,
}

/// Rows of a product that one task computes.
const PART: usize = 1 << 11;

/// Rows whose sums stay in the first-level cache while panels stream by.
const CLOSE: usize = 1 << 7;

/// Rows that one task adds up. Fixed, so that sums are grouped the same way on any number of threads.
const SUMMED: usize = 1 << 15;

/// Panels that are multiplied together: as many as can be read side by side. Sums are read and written once for all of them.
const TOGETHER: usize = 8;

impl<T: Number + Default> Panels<T> {
    pub(super) fn new() -> Self {
        Self { width: 0, panels: Vec::new() }
    }

    /// Number of columns.
    pub(super) fn len(&self) -> usize {
        self.width
    }

    /// Adds a column.
    pub(super) fn push(&mut self, values: impl Iterator<Item = T>) {
        let place = self.width % ABREAST;
        match self.panels.last_mut().filter(|_| place > 0) {
            Some(panel) => panel.iter_mut().zip(values).for_each(|(row, x)| row[place] = x),
            None => self.panels.push(values.map(alone).collect()),
        }
        self.width += 1;
    }

    /// Forgets all but the first columns.
    pub(super) fn truncate(&mut self, width: usize) {
        if width >= self.width {
            return;
        }
        self.width = width;
        self.panels.truncate(width.div_ceil(ABREAST));
        let (last, missing) = (self.panels.last_mut(), width % ABREAST);
        if let Some(panel) = last.filter(|_| missing > 0) {
            panel.iter_mut().for_each(|row| row[missing..].fill(T::default()));
        }
    }

    /// One column after the other.
    pub(super) fn columns(&self) -> impl Iterator<Item = impl Iterator<Item = T>> {
        (0..self.width).map(|j| self.panels[j / ABREAST].iter().map(move |row| row[j % ABREAST]))
    }

    /// Writes what some rows hold in the first columns, as many as a row of `out` is long, row after row.
    pub(super) fn pack(&self, rows: &[(u32, f64)], width: usize, out: &mut [f64]) {
        pack(&self.panels, rows, width, out);
    }

    /// `f += X w`.
    pub(super) fn apply(&self, w: &[f64], f: &mut [f64]) {
        let mut live = Vec::with_capacity(self.panels.len());
        for (panel, w) in self.panels.iter().zip(w.chunks(ABREAST)) {
            if w.iter().any(|&w| w != 0.0) {
                live.push((panel.as_slice(), lanes(|l| w.get(l).copied().unwrap_or(0.0))));
            }
        }
        parallel::chunks_mut(f, PART, &|c, f| {
            for (k, f) in f.chunks_mut(CLOSE).enumerate() {
                apply(&live, c * PART + k * CLOSE, f);
            }
        });
    }

    /// `X' v`.
    pub(super) fn transpose(&self, v: &[f64]) -> Vec<f64> {
        // A residual may be 0 in most rows, as where a hinge is served.
        let counting: usize = v.iter().map(|&v| usize::from(v != 0.0)).sum();
        if 2 * counting < v.len() {
            let few: Vec<(u32, f64)> = (0..).zip(v.iter().copied()).filter(|&(_, v)| v != 0.0).collect();
            return self.transpose_few(&few);
        }
        self.summed(v, |panel, v| dots(panel, v))
    }

    /// `X' v` for a `v` that is zero but for a few rows.
    pub(super) fn transpose_few(&self, v: &[(u32, f64)]) -> Vec<f64> {
        let sums = |k: usize| dots_of_few(&self.panels[k], v);
        self.flattened(parallel::map_runs(self.panels.len(), 2, sums))
    }

    /// `sum_i h_i x_ij^2` of every column.
    pub(super) fn square_sums(&self, h: &[f64]) -> Vec<f64> {
        self.summed(h, |panel, h| squares(panel, h))
    }

    /// The sums over the rows of every panel with the numbers of a vector.
    fn summed(&self, v: &[f64], sums: impl Fn(&[Row<T>], &[f64]) -> Row<f64> + Sync) -> Vec<f64> {
        let parts = v.len().div_ceil(SUMMED).max(1);
        let part = |k: usize| {
            let rows = k % parts * SUMMED..v.len().min((k % parts + 1) * SUMMED);
            sums(&self.panels[k / parts][rows.clone()], &v[rows])
        };
        let sums: Vec<Row<f64>> = parallel::map_runs(self.panels.len() * parts, 2, part);
        self.flattened(
            sums.chunks(parts).map(|parts| parts.iter().copied().fold([0.0; ABREAST], plus)).collect(),
        )
    }

    fn flattened(&self, sums: Vec<Row<f64>>) -> Vec<f64> {
        let mut sums = sums.into_flattened();
        sums.truncate(self.width);
        sums
    }
}

/// A row that has a value in its first column.
fn alone<T: Copy + Default>(x: T) -> Row<T> {
    lanes(|l| if l == 0 { x } else { T::default() })
}

#[inline(always)]
fn plus(a: Row<f64>, b: Row<f64>) -> Row<f64> {
    lanes(|l| a[l] + b[l])
}

#[inline(always)]
fn widened<T: Number>(x: &Row<T>) -> Row<f64> {
    lanes(|l| x[l].wide())
}

#[multiversion(targets("x86_64+avx2"))]
fn pack<T: Number>(panels: &[Vec<Row<T>>], rows: &[(u32, f64)], width: usize, out: &mut [f64]) {
    for (out, &(i, _)) in out.chunks_exact_mut(width).zip(rows) {
        let (out, rest) = out.as_chunks_mut::<ABREAST>();
        for (out, panel) in out.iter_mut().zip(panels) {
            *out = widened(&panel[i as usize]);
        }
        if !rest.is_empty() {
            rest.copy_from_slice(&widened(&panels[out.len()][i as usize])[..rest.len()]);
        }
    }
}

/// Adds what a row holds times the weights of these columns.
#[inline(always)]
fn step_by<T: Number>(sums: Row<f64>, x: &Row<T>, w: &Row<f64>) -> Row<f64> {
    lanes(|l| sums[l] + x[l].wide() * w[l])
}

/// `f += X w` for rows from the first on, no more than are close.
#[multiversion(targets("x86_64+avx2"))]
fn apply<T: Number>(panels: &[(&[Row<T>], Row<f64>)], first: usize, f: &mut [f64]) {
    let mut sums = [[0.0; ABREAST]; CLOSE];
    let sums = &mut sums[..f.len()];
    for panels in panels.chunks(TOGETHER) {
        let (pairs, rest) = panels.as_chunks::<2>();
        for (i, sum) in sums.iter_mut().enumerate() {
            // Each of two sums waits only for itself. A loop over panels whose number is not known is one that the compiler makes vectors
            // of along a row, where values lie together, and not across rows.
            let (mut one, mut other) = (*sum, [0.0; ABREAST]);
            for [(a, u), (b, v)] in pairs {
                one = step_by(one, &a[first + i], u);
                other = step_by(other, &b[first + i], v);
            }
            for (a, u) in rest {
                one = step_by(one, &a[first + i], u);
            }
            *sum = plus(one, other);
        }
    }
    for (f, sum) in f.iter_mut().zip(sums) {
        *f += ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
    }
}

/// Adds `v` times what a row holds.
#[inline(always)]
fn step<T: Number>(sums: Row<f64>, x: &Row<T>, v: f64) -> Row<f64> {
    lanes(|l| sums[l] + x[l].wide() * v)
}

/// The sums of a panel with a vector. Rows in turn to one of four sums, which need not wait for each other.
#[multiversion(targets("x86_64+avx2"))]
fn dots<T: Number>(panel: &[Row<T>], v: &[f64]) -> Row<f64> {
    let ((rows, last), (v, v_last)) = (panel.as_chunks::<4>(), v.as_chunks::<4>());
    let [mut a, mut b, mut c, mut d] = [[0.0; ABREAST]; 4];
    for (x, v) in rows.iter().zip(v) {
        a = step(a, &x[0], v[0]);
        b = step(b, &x[1], v[1]);
        c = step(c, &x[2], v[2]);
        d = step(d, &x[3], v[3]);
    }
    for (x, &v) in last.iter().zip(v_last) {
        a = step(a, x, v);
    }
    plus(plus(a, b), plus(c, d))
}

#[multiversion(targets("x86_64+avx2"))]
fn dots_of_few<T: Number>(panel: &[Row<T>], v: &[(u32, f64)]) -> Row<f64> {
    let (fours, last) = v.as_chunks::<4>();
    let [mut a, mut b, mut c, mut d] = [[0.0; ABREAST]; 4];
    for four in fours {
        a = step(a, &panel[four[0].0 as usize], four[0].1);
        b = step(b, &panel[four[1].0 as usize], four[1].1);
        c = step(c, &panel[four[2].0 as usize], four[2].1);
        d = step(d, &panel[four[3].0 as usize], four[3].1);
    }
    for &(i, v) in last {
        a = step(a, &panel[i as usize], v);
    }
    plus(plus(a, b), plus(c, d))
}

#[multiversion(targets("x86_64+avx2"))]
fn squares<T: Number>(panel: &[Row<T>], h: &[f64]) -> Row<f64> {
    let mut sums = [0.0; ABREAST];
    for (x, &h) in panel.iter().zip(h) {
        sums = step(sums, &lanes::<_, ABREAST>(|l| x[l].wide() * x[l].wide()), h);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Products of any number of columns and rows are those of one value after the other, also where rows or columns add nothing.
    #[test]
    fn products_are_those_of_values() {
        for (n, width) in [(0, 3), (1, 1), (700, 7), (5000, 8), (300, 43), (40_000, 11)] {
            let value = |i: usize, j: usize| ((i * 37 + j * 11) as f64).sin();
            let mut panels = Panels::new();
            for j in 0..width + 3 {
                panels.push((0..n).map(|i| value(i, j)));
            }
            panels.truncate(width);
            assert_eq!(panels.len(), width);
            let columns: Vec<Vec<f64>> = panels.columns().map(Iterator::collect).collect();
            assert!((0..width).all(|j| (0..n).all(|i| columns[j][i] == value(i, j))));

            let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-9, "{n} {width}: {a} {b}");
            for every in [1, 3] {
                let v: Vec<f64> =
                    (0..n).map(|i| if i % every == 0 { (i as f64).cos() } else { 0.0 }).collect();
                let w: Vec<f64> =
                    (0..width).map(|j| if j / 9 % every == 0 { (j as f64).cos() } else { 0.0 }).collect();
                let mut f = v.clone();
                panels.apply(&w, &mut f);
                for i in 0..n {
                    near(f[i], v[i] + (0..width).map(|j| w[j] * value(i, j)).sum::<f64>());
                }
                let few: Vec<(u32, f64)> = (0..).zip(v.clone()).step_by(7).collect();
                let sums = [panels.transpose(&v), panels.transpose_few(&few), panels.square_sums(&v)];
                for j in 0..width {
                    near(sums[0][j], (0..n).map(|i| v[i] * value(i, j)).sum());
                    near(sums[1][j], (0..n).step_by(7).map(|i| v[i] * value(i, j)).sum());
                    near(sums[2][j], (0..n).map(|i| v[i] * value(i, j).powi(2)).sum());
                }
                for first in [1, width / 2, width].into_iter().filter(|&first| first > 0) {
                    let mut packed = vec![f64::NAN; few.len() * first];
                    panels.pack(&few, first, &mut packed);
                    for (&(i, _), row) in few.iter().zip(packed.chunks(first)) {
                        assert!((0..first).all(|j| row[j] == value(i as usize, j)));
                    }
                }
            }
        }
    }
}
