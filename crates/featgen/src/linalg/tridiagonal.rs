//! A symmetric matrix as `Q T Q'` with Q orthogonal and T tridiagonal: `A + shift I` is solved for any shift in a few operations a row.

use super::Matrix;
use crate::kernels;

/// A symmetric matrix in this form.
pub(crate) struct Tridiagonal {
    /// The diagonal of T, and what is beside it.
    diagonal: Vec<f64>,
    beside: Vec<f64>,
    /// Q is the product of reflections `I - u u'`: of the k-th, u is in column k, from row k + 1 on.
    reflections: Matrix,
}

impl Tridiagonal {
    /// By Householder's reflections, each of which clears a column below what T keeps of it. Both triangles must be there.
    pub(crate) fn new(mut matrix: Matrix) -> Self {
        let width = matrix.columns();
        let (mut diagonal, mut beside) = (Vec::with_capacity(width), Vec::with_capacity(width));
        for k in 0..width {
            diagonal.push(matrix[(k, k)]);
            if k + 1 == width {
                break;
            }
            let mut u = matrix.column(k)[k + 1..].to_vec();
            beside.push(reflection(&mut u));
            // With w = A u - (u' A u / 2) u, the rest becomes A - u w' - w u'.
            let mut w = vec![0.0; u.len()];
            for (j, &u) in u.iter().enumerate() {
                kernels::add_scaled(u, &matrix.column(k + 1 + j)[k + 1..], &mut w);
            }
            kernels::add_scaled(-0.5 * kernels::dot(&u, &w), &u, &mut w);
            for j in 0..u.len() {
                let column = &mut matrix.column_mut(k + 1 + j)[k + 1..];
                kernels::add_scaled(-w[j], &u, column);
                kernels::add_scaled(-u[j], &w, column);
            }
            matrix.column_mut(k)[k + 1..].copy_from_slice(&u);
        }
        Self { diagonal, beside, reflections: matrix }
    }

    /// `v = Q' v`.
    pub(crate) fn rotate(&self, v: &mut [f64]) {
        (1..v.len()).for_each(|k| self.reflect(k, v));
    }

    /// `v = Q v`.
    pub(crate) fn rotate_back(&self, v: &mut [f64]) {
        (1..v.len()).rev().for_each(|k| self.reflect(k, v));
    }

    fn reflect(&self, k: usize, v: &mut [f64]) {
        let u = &self.reflections.column(k - 1)[k..];
        let along = kernels::dot(u, &v[k..]);
        kernels::add_scaled(-along, u, &mut v[k..]);
    }

    /// `T v`.
    pub(crate) fn apply(&self, v: &[f64]) -> Vec<f64> {
        let mut out: Vec<f64> = self.diagonal.iter().zip(v).map(|(d, v)| d * v).collect();
        for (k, beside) in self.beside.iter().enumerate() {
            out[k] += beside * v[k + 1];
            out[k + 1] += beside * v[k];
        }
        out
    }

    /// No eigenvalue is larger.
    pub(crate) fn largest(&self) -> f64 {
        let beside = |k: Option<usize>| k.and_then(|k| self.beside.get(k)).map_or(0.0, |x| x.abs());
        let row = |(k, d): (usize, &f64)| d + beside(Some(k)) + beside(k.checked_sub(1));
        self.diagonal.iter().enumerate().map(row).fold(f64::MIN, f64::max)
    }

    /// The solution of `(scale T + shift I) x = v`, which must be positive definite but for rounding.
    pub(crate) fn solve(&self, scale: f64, shift: f64, v: &[f64]) -> Vec<f64> {
        let mut x = v.to_vec();
        let mut pivots: Vec<f64> = self.diagonal.iter().map(|d| scale * d + shift).collect();
        let least = pivots.iter().fold(f64::MIN_POSITIVE, |a: f64, b| a.max(f64::EPSILON * b.abs()));
        for k in 0..self.beside.len() {
            pivots[k] = pivots[k].max(least);
            let beside = scale * self.beside[k];
            let part = beside / pivots[k];
            pivots[k + 1] -= part * beside;
            x[k + 1] -= part * x[k];
        }
        for k in (0..x.len()).rev() {
            let after = self.beside.get(k).map_or(0.0, |beside| scale * beside * x[k + 1]);
            x[k] = (x[k] - after) / pivots[k].max(least);
        }
        x
    }
}

/// Of a vector makes `u` so that `I - u u'` turns it into so much of its first coordinate, and nothing of the others; a `u` of 0 leaves
/// all as it is.
fn reflection(v: &mut [f64]) -> f64 {
    let first = v[0];
    let length = kernels::dot(v, v).sqrt();
    if length <= first.abs() {
        v.fill(0.0);
        return first;
    }
    // Away from the first coordinate, so that no digits are lost.
    let image = -length.copysign(first);
    v[0] -= image;
    let scale = 1.0 / (length * (length + first.abs())).sqrt();
    v.iter_mut().for_each(|x| *x *= scale);
    image
}

#[cfg(test)]
mod tests {
    use super::super::tests::{made, near};
    use super::super::{Cholesky, product};
    use super::*;

    #[test]
    fn solves_what_the_matrix_says() {
        for width in [1, 2, 3, 40, 111] {
            let root = made(width, width.div_ceil(2));
            let matrix = product(root.view(), root.transposed());
            let form = Tridiagonal::new(matrix.clone());
            let v: Vec<f64> = (0..width).map(|k| 1.0 + (k as f64).cos()).collect();

            let mut image = v.clone();
            form.rotate(&mut image);
            let mut image = form.apply(&image);
            form.rotate_back(&mut image);
            let expected = matrix.apply(&v);
            near(&Matrix::from_fn(width, 1, |i, _| image[i]), |i, _| expected[i]);

            for (scale, shift) in [(1.0, 0.5), (0.3, 2.0), (0.0, 4.0)] {
                let mut shifted = Matrix::from_fn(width, width, |i, j| scale * matrix[(i, j)]);
                (0..width).for_each(|i| shifted[(i, i)] += shift);
                let mut expected = v.clone();
                Cholesky::new(shifted).unwrap().solve(&mut expected);
                let mut rotated = v.clone();
                form.rotate(&mut rotated);
                let mut solved = form.solve(scale, shift, &rotated);
                form.rotate_back(&mut solved);
                near(&Matrix::from_fn(width, 1, |i, _| solved[i]), |i, _| expected[i]);
            }
            // No vector is stretched more.
            let stretched = kernels::dot(&v, &matrix.apply(&v)) / kernels::dot(&v, &v);
            assert!(form.largest() >= stretched);
        }
    }
}
