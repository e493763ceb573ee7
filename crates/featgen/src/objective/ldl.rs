//! Small symmetric systems that may be singular: `L D L'`, where directions without curvature are left out.

/// A factorisation of a symmetric matrix of few rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ldl {
    /// The rows of L, without its diagonal of ones.
    lower: Vec<Vec<f64>>,
    /// The diagonal of D; 0 where a row says nothing that those before it do not.
    pub(crate) pivots: Vec<f64>,
}

/// Of a diagonal entry, what may be left by rounding alone.
const ROUNDING: f64 = 1e-12;

impl Ldl {
    /// From the rows of the matrix, of which only the lower triangle is read.
    pub(crate) fn new(rows: Vec<Vec<f64>>) -> Self {
        let mut factor = Self::default();
        for (i, mut row) in rows.into_iter().enumerate() {
            let whole = row[i];
            for j in 0..i {
                // First row[j] is L_ij D_j, then L_ij.
                let known: f64 = (0..j).map(|k| row[k] * factor.lower[j][k] * factor.pivots[k]).sum();
                let pivot = factor.pivots[j];
                row[j] = if pivot > 0.0 { (row[j] - known) / pivot } else { 0.0 };
            }
            let explained: f64 = (0..i).map(|k| row[k] * row[k] * factor.pivots[k]).sum();
            let pivot = whole - explained;
            factor.pivots.push(if pivot > ROUNDING * whole { pivot } else { 0.0 });
            row.truncate(i);
            factor.lower.push(row);
        }
        factor
    }

    /// `L^-1 b`, for a `b` whose entries may themselves be rows of numbers.
    pub(crate) fn forward(&self, b: &mut [Vec<f64>]) {
        for i in 0..b.len() {
            let (done, rest) = b.split_at_mut(i);
            for (l, row) in self.lower[i].iter().zip(done) {
                crate::kernels::add_scaled(-l, row, &mut rest[0]);
            }
        }
    }

    /// `L'^-1 b`.
    pub(crate) fn backward(&self, b: &mut [f64]) {
        for i in (0..b.len()).rev() {
            for j in 0..i {
                b[j] -= self.lower[i][j] * b[i];
            }
        }
    }

    /// A solution of the system; where there are many, one that is 0 in the directions left out.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        for i in 0..b.len() {
            b[i] -= (0..i).map(|j| self.lower[i][j] * b[j]).sum::<f64>();
        }
        for (b, &pivot) in b.iter_mut().zip(&self.pivots) {
            *b = if pivot > 0.0 { *b / pivot } else { 0.0 };
        }
        self.backward(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_what_can_be_solved() {
        let rows = vec![vec![4.0, 2.0, 2.0], vec![2.0, 5.0, 1.0], vec![2.0, 1.0, 6.0]];
        let mut x = vec![8.0, 8.0, 9.0];
        Ldl::new(rows).solve(&mut x);
        assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-14), "{x:?}");
        // The second row repeats the first, twice as large.
        let factor = Ldl::new(vec![vec![1.0, 2.0], vec![2.0, 4.0]]);
        assert_eq!(factor.pivots, [1.0, 0.0]);
        let mut x = vec![3.0, 6.0];
        factor.solve(&mut x);
        assert_eq!(x, [3.0, 0.0]);
    }
}
