//! What conjugate gradients are preconditioned by: the diagonal of a system, and, of curves that are stairs, their whole part of it.
//!
//! Columns that are nested, each the one before it on fewer rows, are nearly the same as their neighbours, so that a diagonal says
//! little about them. The product of two is the diagonal entry of the later one. With w the differences of these entries, and S the
//! running sums of a vector, their part of the system is
//!
//! ```text
//! S' diag(w) S + c I = S' (diag(w) + c T) S,   T = S'^-1 S^-1, which is tridiagonal
//! ```
//!
//! and is solved exactly in a few operations a column.

use super::system::{Live, System};

pub(super) struct Preconditioner {
    /// One over the diagonal.
    scale: Vec<f64>,
    nested: Vec<Nested>,
}

/// A run of coordinates whose columns are nested.
struct Nested {
    first: usize,
    /// From one coordinate to the next: the outputs of a column follow each other.
    stride: usize,
    /// What is added to the diagonal.
    shift: f64,
    /// Of the tridiagonal matrix, factorised.
    pivots: Vec<f64>,
}

impl Preconditioner {
    pub(super) fn new(system: &System<'_>) -> Self {
        let mut scale = vec![0.0; system.units.len()];
        let mut nested = Vec::new();
        for Live { range, across, along } in &system.live {
            for k in range.clone() {
                let square = system.units[k] * system.units[k];
                let curve = across * (1.0 - square) + (system.share + along) * square;
                scale[k] = 1.0 / (system.quadratic.diagonal(k) + curve);
            }
            let diagonal = |k: usize| system.quadratic.diagonal(k);
            let runs = system.quadratic.nested(range.clone());
            nested.extend(runs.map(|run| Nested::new(run, *across, diagonal)));
        }
        Self { scale, nested }
    }

    /// The residual as it would be if the system were the identity.
    pub(super) fn apply(&self, r: &[f64]) -> Vec<f64> {
        let mut out: Vec<f64> = r.iter().zip(&self.scale).map(|(r, s)| r * s).collect();
        self.nested.iter().for_each(|nested| nested.solve(r, &mut out));
        out
    }
}

impl Nested {
    fn new(Run { first, stride, count }: Run, shift: f64, diagonal: impl Fn(usize) -> f64) -> Self {
        let diagonal = |l: usize| if l < count { diagonal(first + l * stride) } else { 0.0 };
        let mut pivots = Vec::with_capacity(count);
        let mut lost = 0.0;
        for l in 0..count {
            let turns = if l + 1 < count { 2.0 } else { 1.0 };
            let pivot = (diagonal(l) - diagonal(l + 1)).max(0.0) + turns * shift - lost;
            lost = shift * shift / pivot;
            pivots.push(pivot);
        }
        Self { first, stride, shift, pivots }
    }

    fn solve(&self, r: &[f64], out: &mut [f64]) {
        let (count, at) = (self.pivots.len(), |l: usize| self.first + l * self.stride);
        // Differences, forward, ...
        let mut before = 0.0;
        for l in 0..count {
            let next = if l + 1 < count { r[at(l + 1)] } else { 0.0 };
            before = r[at(l)] - next + if l > 0 { self.shift / self.pivots[l - 1] * before } else { 0.0 };
            out[at(l)] = before;
        }
        // ... and backward.
        let mut after = 0.0;
        for l in (0..count).rev() {
            after = (out[at(l)] + self.shift * after) / self.pivots[l];
            out[at(l)] = after;
        }
        for l in (1..count).rev() {
            out[at(l)] -= out[at(l - 1)];
        }
    }
}

/// Coordinates of nested columns, in their order: every `stride`-th from the first on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) first: usize,
    pub(super) stride: usize,
    pub(super) count: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns count rows from 9, 6, 6, 2 and 1 on; the numbers between those of the run belong to somebody else.
    #[test]
    fn the_part_of_nested_columns_is_solved_exactly() {
        let (squares, shift, run) = ([9.0, 6.0, 6.0, 2.0, 1.0], 0.3, Run { first: 1, stride: 2, count: 5 });
        let nested = Nested::new(run, shift, |k| squares[k / 2]);
        let x = [0.7, -1.3, 2.9, 0.0, 4.1];
        let mut r = [f64::NAN; 11];
        for l in 0..5 {
            let products = (0..5).map(|k| squares[l.max(k)] * x[k]);
            r[2 * l + 1] = products.sum::<f64>() + shift * x[l];
        }
        let mut out = [7.0; 11];
        nested.solve(&r, &mut out);
        for (l, x) in x.iter().enumerate() {
            assert!((out[2 * l + 1] - x).abs() < 1e-12, "{l}: {} for {x}", out[2 * l + 1]);
        }
        assert!(out.iter().step_by(2).all(|x| *x == 7.0));
    }
}
