//! The quadratic model of a Newton step, and its minimiser. It touches no data: a product with H costs (t B)^2.
//!
//! ```text
//! min over x of   -c'(x - omega) + 1/2 (x - omega)' H (x - omega) + 1/2 (sum_h ||x_h||)^2
//! ```
//!
//! Block-wise proximal steps decide which blocks are zero; on the others the objective is smooth, and Newton steps by
//! conjugate gradients do the rest. Either alone is slow: the first where columns are correlated, the second where blocks
//! come and go.

use super::gram::Gram;
use super::{Blocks, norm};
use crate::kernels;

/// The quadratic: gradient and curvature at `omega`, with the shift b eliminated.
pub(super) struct Quadratic<'a> {
    pub(super) gram: &'a Gram,
    pub(super) blocks: &'a Blocks,
    /// The loss's negative gradient per cached column.
    pub(super) c: &'a [f64],
    /// `X' h` and `sum h`, if b is learned: H is the Gram matrix less `p p' / total`.
    pub(super) shift: Option<(&'a [f64], f64)>,
}

/// Where the minimisation stands.
pub(super) struct Minimiser<'a> {
    quadratic: Quadratic<'a>,
    /// The weights, per coordinate.
    pub(super) x: Vec<f64>,
    /// `c - H (x - omega)` per cached column: the negative gradient of the quadratic at x.
    residual: Vec<f64>,
    norms: Vec<f64>,
    lipschitz: Vec<f64>,
}

impl Quadratic<'_> {
    /// `H w`.
    fn apply(&self, w: &[f64]) -> Vec<f64> {
        let width = self.gram.width();
        let mut out = vec![0.0; width];
        let column = |j: usize| self.gram.column(j);
        let fours = width / 4 * 4;
        for j in (0..fours).step_by(4) {
            let four = [column(j), column(j + 1), column(j + 2), column(j + 3)];
            out[j..j + 4].copy_from_slice(&kernels::dot4(four, w));
        }
        for j in fours..width {
            out[j] = kernels::dot(column(j), w);
        }
        if let Some((p, total)) = self.shift {
            kernels::add_scaled(-kernels::dot(p, w) / total, p, &mut out);
        }
        out
    }

    fn diagonal(&self, j: usize) -> f64 {
        let eliminated = self.shift.map_or(0.0, |(p, total)| p[j] * p[j] / total);
        (self.gram.column(j)[j] - eliminated).max(0.0)
    }

    /// An upper bound on the curvature of block `h`: the smaller of trace and largest absolute row sum.
    fn lipschitz(&self, h: usize) -> f64 {
        let columns = &self.blocks.columns[self.blocks.range(h)];
        let trace: f64 = columns.iter().map(|&j| self.diagonal(j as usize)).sum();
        let row = |&j: &u32| -> f64 {
            let entry = |&k: &u32| {
                let eliminated =
                    self.shift.map_or(0.0, |(p, total)| p[j as usize] * p[k as usize] / total);
                (self.gram.column(j as usize)[k as usize] - eliminated).abs()
            };
            columns.iter().map(entry).sum()
        };
        columns.iter().map(row).fold(0.0, f64::max).min(trace).max(f64::MIN_POSITIVE)
    }
}

impl<'a> Minimiser<'a> {
    pub(super) fn new(quadratic: Quadratic<'a>, omega: &[f64]) -> Self {
        Self {
            x: omega.to_vec(),
            residual: quadratic.c.to_vec(),
            norms: quadratic.blocks.norms(omega).collect(),
            lipschitz: (0..quadratic.blocks.len()).map(|h| quadratic.lipschitz(h)).collect(),
            quadratic,
        }
    }

    /// Minimises until the model's own duality gap is at most `gap`, or `rounds` have passed.
    pub(super) fn run(&mut self, gap: f64, rounds: usize) {
        for _ in 0..rounds {
            self.sweep();
            if self.gap() <= gap {
                break;
            }
            self.newton(gap);
            if self.gap() <= gap {
                break;
            }
        }
    }

    fn gap(&self) -> f64 {
        self.quadratic.blocks.gap(&self.x, &self.residual)
    }

    /// One proximal step for each block in turn: with the others fixed, and the curvature of the block replaced by its
    /// bound L, the minimiser is `max(0, L ||u|| - rest) / (L + 1)` along `u = x_h + residual_h / L`.
    fn sweep(&mut self) {
        let blocks = self.quadratic.blocks;
        let mut total: f64 = self.norms.iter().sum();
        for (h, range) in blocks.ranges().enumerate() {
            let l = self.lipschitz[h];
            let columns = &blocks.columns[range.clone()];
            let step = |(&x, &j): (&f64, &u32)| x + self.residual[j as usize] / l;
            let u: Vec<f64> = self.x[range.clone()].iter().zip(columns).map(step).collect();
            let (length, rest) = (norm(&u), (total - self.norms[h]).max(0.0));
            let target = ((l * length - rest) / (l + 1.0)).max(0.0);
            if target == 0.0 && self.norms[h] == 0.0 {
                continue;
            }
            let factor = if length > 0.0 { target / length } else { 0.0 };
            for ((x, u), &j) in self.x[range].iter_mut().zip(u).zip(columns) {
                let change = factor * u - *x;
                *x = factor * u;
                if change != 0.0 {
                    kernels::add_scaled(-change, self.quadratic.gram.column(j as usize), &mut self.residual);
                    if let Some((p, sum)) = self.quadratic.shift {
                        kernels::add_scaled(change * p[j as usize] / sum, p, &mut self.residual);
                    }
                }
            }
            total += target - self.norms[h];
            self.norms[h] = target;
        }
    }

    /// A Newton step on the blocks that are not zero, as exact as the aim asks for, with a line search.
    fn newton(&mut self, aim: f64) {
        let blocks = self.quadratic.blocks;
        let live: Vec<(usize, std::ops::Range<usize>)> =
            blocks.ranges().enumerate().filter(|(h, _)| self.norms[*h] > 0.0).collect();
        if live.is_empty() {
            return;
        }
        let total: f64 = self.norms.iter().sum();
        let mut gradient = vec![0.0; self.x.len()];
        for (h, range) in &live {
            for k in range.clone() {
                let pull = self.residual[blocks.columns[k] as usize];
                gradient[k] = pull - total / self.norms[*h] * self.x[k];
            }
        }
        let direction = self.solve(&live, total, gradient, aim);
        let moved = self.quadratic.apply(&blocks.gather(&direction, self.quadratic.gram.width()));
        let step = self.line_search(&live, total, &direction, &moved);
        if step == 0.0 {
            return;
        }
        kernels::add_scaled(step, &direction, &mut self.x);
        kernels::add_scaled(-step, &moved, &mut self.residual);
        for (h, range) in live {
            self.norms[h] = norm(&self.x[range]);
        }
    }

    /// Conjugate gradients for `(H + regulariser's Hessian) d = r` on the live blocks, preconditioned by the diagonal.
    fn solve(
        &self,
        live: &[(usize, std::ops::Range<usize>)],
        total: f64,
        mut r: Vec<f64>,
        aim: f64,
    ) -> Vec<f64> {
        let blocks = self.quadratic.blocks;
        let mut scale = vec![0.0; r.len()];
        for (h, range) in live {
            for k in range.clone() {
                let along = self.x[k] / self.norms[*h];
                let curve = total / self.norms[*h] * (1.0 - along * along) + along * along;
                scale[k] = 1.0 / (self.quadratic.diagonal(blocks.columns[k] as usize) + curve);
            }
        }
        let precondition = |r: &[f64]| r.iter().zip(&scale).map(|(r, s)| r * s).collect::<Vec<f64>>();
        let mut d = vec![0.0; r.len()];
        let mut s = precondition(&r);
        let mut direction = s.clone();
        let mut rho: f64 = kernels::dot(&r, &s);
        // Twice the decrease still to be had is about rho: a part of the aim is enough.
        let enough = f64::max(1e-4 * rho, 0.05 * aim);
        for _ in 0..(2 * r.len()).min(500) {
            if rho <= enough {
                break;
            }
            let image = self.hessian(live, total, &direction);
            let curvature = kernels::dot(&direction, &image);
            if curvature <= 0.0 {
                break;
            }
            let step = rho / curvature;
            kernels::add_scaled(step, &direction, &mut d);
            kernels::add_scaled(-step, &image, &mut r);
            s = precondition(&r);
            let next = kernels::dot(&r, &s);
            let keep = next / rho;
            direction.iter_mut().zip(&s).for_each(|(d, s)| *d = s + keep * *d);
            rho = next;
        }
        d
    }

    /// `(H + Hessian of 1/2 (sum ||x_h||)^2) d` on the live blocks.
    fn hessian(&self, live: &[(usize, std::ops::Range<usize>)], total: f64, d: &[f64]) -> Vec<f64> {
        let blocks = self.quadratic.blocks;
        let image = self.quadratic.apply(&blocks.gather(d, self.quadratic.gram.width()));
        let along =
            |h: usize, range: &std::ops::Range<usize>| kernels::dot(&self.x[range.clone()], &d[range.clone()]) / self.norms[h];
        let sum: f64 = live.iter().map(|(h, range)| along(*h, range)).sum();
        let mut out = vec![0.0; d.len()];
        for (h, range) in live {
            let (length, along) = (self.norms[*h], along(*h, range));
            for k in range.clone() {
                let unit = self.x[k] / length;
                out[k] = image[blocks.columns[k] as usize] + unit * sum + total / length * (d[k] - unit * along);
            }
        }
        out
    }

    /// The longest of 1, 1/2, 1/4 ... that lowers the model enough; 0 if none does.
    fn line_search(
        &self,
        live: &[(usize, std::ops::Range<usize>)],
        total: f64,
        d: &[f64],
        moved: &[f64],
    ) -> f64 {
        let blocks = self.quadratic.blocks;
        let (mut linear, mut square, mut slope) = (0.0, 0.0, 0.0);
        let mut parts = Vec::with_capacity(live.len());
        for (h, range) in live {
            let (mut xd, mut dd) = (0.0, 0.0);
            for k in range.clone() {
                let j = blocks.columns[k] as usize;
                linear -= self.residual[j] * d[k];
                square += moved[j] * d[k];
                xd += self.x[k] * d[k];
                dd += d[k] * d[k];
            }
            slope += total * xd / self.norms[*h];
            parts.push((self.norms[*h] * self.norms[*h], xd, dd));
        }
        slope += linear;
        if slope >= 0.0 {
            return 0.0;
        }
        let mut step = 1.0;
        for _ in 0..30 {
            let norm: f64 =
                parts.iter().map(|(xx, xd, dd)| (xx + step * (2.0 * xd + step * dd)).max(0.0).sqrt()).sum();
            let change = step * (linear + 0.5 * step * square) + 0.5 * (norm * norm - total * total);
            if change <= 1e-4 * step * slope {
                return step;
            }
            step *= 0.5;
        }
        0.0
    }
}
