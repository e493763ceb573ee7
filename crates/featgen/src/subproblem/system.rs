//! The linear system of a Newton step on a quadratic model: `(H + the regulariser's second derivative) d = r`.
//!
//! Where weights are not zero, the second derivative of half a squared norm of lengths has three parts: what it costs to turn a
//! block, what it costs to lengthen one alone, and what it costs to lengthen all together.

use std::ops::Range;

use super::model::Quadratic;
use super::precondition::Preconditioner;
use crate::kernels;
use crate::linalg::{Cholesky, Matrix};

/// The system on blocks that are not zero; all others stay where they are.
pub(super) struct System<'a> {
    pub(super) quadratic: &'a Quadratic<'a>,
    /// The blocks.
    pub(super) live: Vec<Live>,
    /// The direction of each block, or 0 where its curvature is the same in all directions.
    pub(super) units: Vec<f64>,
    /// The curvature along all these directions at once.
    pub(super) share: f64,
}

/// A block that is not zero.
#[derive(Clone)]
pub(super) struct Live {
    /// Its coordinates.
    pub(super) range: Range<usize>,
    /// The curvature across its direction.
    pub(super) across: f64,
    /// The curvature along its direction, beside what all have in common.
    pub(super) along: f64,
}

/// How much of the error, as the preconditioner measures it, conjugate gradients leave.
const SOLVED: f64 = 1e-6;

/// The same where a product costs a pass over many rows: there, more steps are cheaper than exact ones.
const ROUGHLY_SOLVED: f64 = 1e-2;

/// Systems up to this width are factorised when conjugate gradients take long.
const WIDEST_FACTOR: usize = 1 << 12;

/// Products with the matrix in the time that a factorisation takes, on about any machine: on wide systems, what they cost grows with the
/// square of the width, for they read the whole matrix, and the factorisation with the cube, but at many times the speed.
const A_FACTORISATION: usize = 48;

/// Conjugate gradients where there is nothing to factorise.
const MOST_GRADIENTS: usize = 500;

impl System<'_> {
    /// The solution: by a factorisation if the matrix is known and not too wide, else by conjugate gradients. Where these are to be tried
    /// `first`, they may take as long as the factorisation would: never more than twice as long as who knows beforehand what is faster.
    pub(super) fn solve(&self, r: Vec<f64>, first: bool) -> Vec<f64> {
        let width: usize = self.live.iter().map(|block| block.range.len()).sum();
        let factor = width <= WIDEST_FACTOR && self.quadratic.has_matrix();
        let most = match (factor, first) {
            (true, true) => (width / 8 + 8).min(A_FACTORISATION),
            (true, false) => 0,
            (false, _) => MOST_GRADIENTS,
        };
        let (d, solved) = self.iterate(r.clone(), most);
        if solved || !factor {
            return d;
        }
        self.factorise(&r).unwrap_or(d)
    }

    /// Conjugate gradients. Says whether they got there.
    fn iterate(&self, mut r: Vec<f64>, most: usize) -> (Vec<f64>, bool) {
        let preconditioner = Preconditioner::new(self);
        let mut d = vec![0.0; r.len()];
        let mut s = preconditioner.apply(&r);
        let mut direction = s.clone();
        let mut rho: f64 = kernels::dot(&r, &s);
        let cheap = self.quadratic.has_matrix() || self.quadratic.rows_of(0).is_some();
        let enough = if cheap { SOLVED } else { ROUGHLY_SOLVED } * rho;
        for _ in 0..most {
            if rho <= enough {
                return (d, true);
            }
            let image = self.apply(&direction);
            let curvature = kernels::dot(&direction, &image);
            if curvature <= 0.0 {
                break;
            }
            let step = rho / curvature;
            kernels::add_scaled(step, &direction, &mut d);
            kernels::add_scaled(-step, &image, &mut r);
            s = preconditioner.apply(&r);
            let next = kernels::dot(&r, &s);
            let keep = next / rho;
            direction.iter_mut().zip(&s).for_each(|(d, s)| *d = s + keep * *d);
            rho = next;
        }
        (d, rho <= enough)
    }

    /// The matrix of the system times `d`.
    pub(super) fn apply(&self, d: &[f64]) -> Vec<f64> {
        let (blocks, width) = (self.quadratic.blocks, self.quadratic.width());
        let image = self.quadratic.apply(&blocks.gather(d, width));
        let along = |range: &Range<usize>| kernels::dot(&self.units[range.clone()], &d[range.clone()]);
        let sum = self.share * self.live.iter().map(|block| along(&block.range)).sum::<f64>();
        let mut out = vec![0.0; d.len()];
        for block in &self.live {
            let length = along(&block.range);
            let sum = sum + block.along * length;
            for k in block.range.clone() {
                let unit = self.units[k];
                out[k] = blocks.pull(k, &image, width) + unit * sum + block.across * (d[k] - unit * length);
            }
        }
        out
    }

    /// Cholesky, with just enough on the diagonal to survive rounding; `None` if even so it fails.
    fn factorise(&self, r: &[f64]) -> Option<Vec<f64>> {
        let parts = self.live.iter().enumerate();
        let at: Vec<(usize, usize)> =
            parts.flat_map(|(h, block)| block.range.clone().map(move |k| (h, k))).collect();
        let mut matrix = Matrix::zeros(at.len(), at.len());
        for (j, &(h, l)) in at.iter().enumerate() {
            let curvature = self.quadratic.row(l);
            // Only the lower triangle is read.
            for (i, &(g, k)) in at.iter().enumerate().skip(j) {
                let unit = self.units[k] * self.units[l];
                let Live { across, along, .. } = self.live[g];
                let own =
                    if g == h { across * (f64::from(u8::from(k == l)) - unit) + along * unit } else { 0.0 };
                matrix[(i, j)] = curvature(k) + self.share * unit + own;
            }
        }
        // In parts of each entry, not of all: columns may be of very different sizes.
        let more = 1.0 + 1e-15 * at.len() as f64;
        (0..at.len()).for_each(|i| matrix[(i, i)] *= more);
        let mut solution: Vec<f64> = at.iter().map(|(_, k)| r[*k]).collect();
        Cholesky::new(matrix)?.solve(&mut solution);
        let mut d = vec![0.0; r.len()];
        at.iter().zip(solution).for_each(|((_, k), x)| d[*k] = x);
        Some(d)
    }
}
