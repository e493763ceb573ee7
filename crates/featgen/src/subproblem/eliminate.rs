//! What is never penalised, taken out of a quadratic model: wherever the weights go, the free ones follow to the model's minimum.

use super::Problem;
use super::curvature::Curvature;
use crate::objective::Ldl;
use crate::{kernels, ordered};

/// A row over the cached columns that is taken away times itself, and how often.
pub(super) type Taken = (Vec<f64>, f64);

/// The Schur complement of one output: `H` becomes `H - P' M^-1 P`, with `M = Z' D Z` and `P = Z' D X` over the cached columns.
///
/// With `M = L D L'` that is a sum over the rows of `L^-1 P`, each times one over its pivot.
#[derive(Default)]
pub(super) struct Eliminated {
    /// The rows of `L^-1 P`, each with one over its pivot. Rows without a pivot are left out by 0.
    pub(super) rows: Vec<Taken>,
    factor: Ldl,
    /// `P` itself.
    products: Vec<Vec<f64>>,
    /// Whether the first row is a constant that has no weight, for nothing depends on it.
    unlearned: bool,
}

impl Eliminated {
    pub(super) fn new(problem: &Problem<'_>, curvature: &Curvature) -> Self {
        let (free, width) = (problem.free, curvature.width());
        // An objective that ignores constants has no curvature along one, though its diagonal has.
        let unlearned = !free.intercept && problem.objective.ignores_constants();
        let constant = free.intercept || unlearned;
        let kept = free.columns.len();
        let h = curvature.weights();
        let total = if constant { ordered::sum_over([h], |[h]| h) } else { 0.0 };
        let of_kept = |r: usize| match curvature.matrix() {
            Some(gram) => gram.column(r).to_vec(),
            None => curvature
                .apply(problem.cache, &(0..width).map(|j| f64::from(u8::from(j == r))).collect::<Vec<f64>>()),
        };
        let mut products: Vec<Vec<f64>> = Vec::new();
        if constant {
            products.push(curvature.sums().to_vec());
        }
        products.extend((0..kept).map(of_kept));
        // The columns kept are the first that are cached.
        let entry = |row: usize, column: usize| match (constant, column) {
            (true, 0) if row == 0 => total,
            (true, 0) => products[0][row - 1],
            _ => products[row][column - usize::from(constant)],
        };
        let matrix = (0..products.len()).map(|i| (0..=i).map(|j| entry(i, j)).collect()).collect();
        let factor = Ldl::new(matrix);
        let mut rows = products.clone();
        factor.forward(&mut rows);
        let part = |pivot: &f64| if *pivot > 0.0 { 1.0 / pivot } else { 0.0 };
        let rows = rows.into_iter().zip(factor.pivots.iter().map(part)).collect();
        Self { rows, factor, products, unlearned }
    }

    /// How the free weights follow a change `dw` of the others.
    pub(super) fn follow(&self, dw: &[f64]) -> Vec<f64> {
        let pivots = &self.factor.pivots;
        let along = |((row, _), &pivot): (&(Vec<f64>, f64), &f64)| match pivot > 0.0 {
            true => -(kernels::dot(row, dw) / pivot),
            false => 0.0,
        };
        let mut change: Vec<f64> = self.rows.iter().zip(pivots).map(along).collect();
        self.factor.backward(&mut change);
        if self.unlearned {
            change.remove(0);
        }
        change
    }

    /// `H`'s image of a change of the free weights, over the cached columns, subtracted from `out`.
    pub(super) fn subtract_image(&self, change: &[f64], out: &mut [f64]) {
        let skipped = usize::from(self.unlearned);
        for (row, change) in self.products[skipped..].iter().zip(change) {
            kernels::add_scaled(-change, row, out);
        }
    }
}
