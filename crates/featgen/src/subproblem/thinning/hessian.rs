//! `A = I + H` over the coordinates of one output: as a matrix, or, where columns outnumber the rows by far, as the rows themselves.
//!
//! With the rows that have curvature as a matrix R, each times the root of its weight, and below them what the free weights take away,
//! `H = R' S R`: S is 1 for instances and -1 for what is taken away. By Woodbury's identity,
//!
//! ```text
//! A^-1 = I - R' K R,   K = (S + R R')^-1,   and beside some columns g:   (A_gg less what the others make of it) = I + R_g' K R_g
//! ```
//!
//! so that all that is ever factorised, or kept up to date, has a row and a column for each instance.

use crate::kernels;
use crate::linalg::{Cholesky, Matrix, product};
use crate::subproblem::model::Quadratic;

/// `I + H`.
pub(super) enum Hessian {
    Matrix(Matrix),
    Rows(Rows),
}

/// What `I + H` is made of.
pub(super) struct Rows {
    /// R, a row for each instance and for each free weight.
    values: Matrix,
    /// How many of its rows are instances: there S is 1.
    instances: usize,
}

/// The inverse of `I + H` over some columns, of which some may have been removed since.
pub(super) enum Inverse {
    Matrix(Matrix),
    Rows {
        /// R, with 0 for columns that were removed.
        values: Matrix,
        /// K.
        kernel: Matrix,
        /// The diagonal of the inverse, if coordinates are removed one by one: it costs little to follow then, and much to find anew.
        diagonal: Option<Vec<f64>>,
    },
}

/// What columns gain beside some that are held, once these have followed.
pub(super) enum Beside<'a> {
    Matrix {
        matrix: &'a Matrix,
        held: &'a [usize],
        new: &'a [usize],
        /// What the held columns make of every new one, a row each, and of the slope along themselves.
        images: Matrix,
        step: Vec<f64>,
    },
    Rows {
        rows: &'a Rows,
        /// `S + R R'` over those that are held, and `K R` times the slope along them.
        outer: Matrix,
        step: Vec<f64>,
    },
}

/// `I + H` of every output, if H is known or the rows are few.
pub(super) fn of_outputs(model: &Quadratic<'_>) -> Option<Vec<Hessian>> {
    let outputs = model.blocks.outputs();
    let form = match model.has_matrix() {
        true => |model: &Quadratic<'_>, output| Some(Hessian::Matrix(matrix(model, output))),
        false => |model: &Quadratic<'_>, output| Rows::new(model, output).map(Hessian::Rows),
    };
    (0..outputs).map(|output| form(model, output)).collect()
}

fn matrix(model: &Quadratic<'_>, output: usize) -> Matrix {
    let outputs = model.blocks.outputs();
    let width = model.blocks.columns.len() / outputs;
    let at = |j: usize| j * outputs + output;
    let mut matrix = Matrix::zeros(width, width);
    for j in 0..width {
        let row = model.row(at(j));
        (0..width).for_each(|i| matrix[(i, j)] = row(at(i)) + f64::from(u8::from(i == j)));
    }
    matrix
}

impl Rows {
    fn new(model: &Quadratic<'_>, output: usize) -> Option<Self> {
        let (rows, taken) = model.rows_of(output)?;
        let (cached, outputs) = (model.width(), model.blocks.outputs());
        let weighted: Vec<(u32, f64)> = (0..).zip(rows.iter().copied()).filter(|(_, h)| *h > 0.0).collect();
        let mut packed = vec![0.0; weighted.len() * cached];
        model.cache.pack(&weighted, cached, &mut packed);
        let value = |i: usize, j: usize| {
            let k = j * outputs + output;
            let (column, scale) = (model.blocks.columns[k] as usize, model.blocks.scales[k]);
            scale
                * match weighted.get(i) {
                    Some((_, weight)) => weight.sqrt() * packed[i * cached + column],
                    None => taken[i - weighted.len()].1.sqrt() * taken[i - weighted.len()].0[column],
                }
        };
        let rows = weighted.len() + taken.len();
        let values = Matrix::from_fn(rows, model.blocks.columns.len() / outputs, value);
        Some(Self { values, instances: weighted.len() })
    }

    /// The diagonal of S.
    fn sign(&self, row: usize) -> f64 {
        if row < self.instances { 1.0 } else { -1.0 }
    }

    /// `part^-1 S + R R'` over some columns, given their part of R.
    fn outer(&self, values: &Matrix, part: f64) -> Matrix {
        let mut outer = product(values.view(), values.transposed());
        (0..outer.columns()).for_each(|i| outer[(i, i)] += self.sign(i) / part);
        outer
    }

    /// The factor of such a matrix. Its last rows are minus what would be positive definite: the free weights take away no more than
    /// there is.
    fn factor(&self, outer: Matrix) -> Option<Cholesky> {
        Cholesky::signed(outer, self.instances)
    }
}

impl Hessian {
    /// A times a vector.
    pub(super) fn apply(&self, w: &[f64]) -> Vec<f64> {
        match self {
            Self::Matrix(matrix) => matrix.apply(w),
            Self::Rows(rows) => {
                let mut f = rows.values.apply(w);
                f.iter_mut().enumerate().for_each(|(i, f)| *f *= rows.sign(i));
                w.iter().zip(rows.values.transpose_apply(&f)).map(|(w, image)| w + image).collect()
            }
        }
    }

    /// The solution of `(I + part H) u = target`; `None` if numbers do not allow it.
    pub(super) fn solve(&self, part: f64, mut target: Vec<f64>) -> Option<Vec<f64>> {
        match self {
            Self::Matrix(matrix) => {
                let width = target.len();
                let matrix = Matrix::from_fn(width, width, |i, j| {
                    part * matrix[(i, j)] + (1.0 - part) * f64::from(u8::from(i == j))
                });
                Cholesky::new(matrix)?.solve(&mut target);
            }
            Self::Rows(rows) => {
                let mut f = rows.values.apply(&target);
                rows.factor(rows.outer(&rows.values, part))?.solve(&mut f);
                kernels::add_scaled(-1.0, &rows.values.transpose_apply(&f), &mut target);
            }
        }
        finite(target)
    }

    /// The inverse over some columns, which will be removed one by one or not.
    pub(super) fn inverse(&self, columns: &[usize], one_by_one: bool) -> Option<Inverse> {
        match self {
            Self::Matrix(matrix) => {
                Some(Inverse::Matrix(Cholesky::new(matrix.crossing(columns, columns))?.inverse()))
            }
            Self::Rows(rows) => {
                let values = rows.values.select(columns);
                let kernel = rows.factor(rows.outer(&values, 1.0))?.inverse();
                let images = one_by_one.then(|| product(kernel.view(), values.view()));
                let diagonal = images.map(|images| {
                    let taken = |j: usize| kernels::dot(values.column(j), images.column(j));
                    (0..columns.len()).map(|j| 1.0 - taken(j)).collect()
                });
                Some(Inverse::Rows { values, kernel, diagonal })
            }
        }
    }

    /// What `new` columns gain beside those that are held, along which there is this slope.
    pub(super) fn beside<'a>(
        &'a self,
        held: &'a [usize],
        slope: &[f64],
        new: &'a [usize],
    ) -> Option<Beside<'a>> {
        Some(match self {
            Self::Matrix(matrix) => {
                let factor = Cholesky::new(matrix.crossing(held, held))?;
                let images = factor.solve_rows(matrix.crossing(new, held));
                let mut step = slope.to_vec();
                factor.solve(&mut step);
                Beside::Matrix { matrix, held, new, images, step }
            }
            Self::Rows(rows) => {
                let values = rows.values.select(held);
                let outer = rows.outer(&values, 1.0);
                let mut step = values.apply(slope);
                rows.factor(outer.clone())?.solve(&mut step);
                Beside::Rows { rows, outer, step }
            }
        })
    }
}

impl Beside<'_> {
    /// Twice the gain of some of the new columns, which are not held, along which there is this slope; `None` if the held columns make
    /// them up.
    pub(super) fn gain(&self, own: &[usize], slope: &[f64]) -> Option<f64> {
        let (left, solved) = match self {
            Self::Matrix { matrix, held, new, images, step } => {
                let place = |a: usize| new.partition_point(|other| *other < own[a]);
                let along = |a: usize, image: &dyn Fn(usize) -> f64| {
                    (0..held.len()).map(|i| matrix[(held[i], own[a])] * image(i)).sum::<f64>()
                };
                let reduced = Matrix::from_fn(own.len(), own.len(), |a, b| {
                    matrix[(own[a], own[b])] - along(a, &|i| images[(place(b), i)])
                });
                let left: Vec<f64> = (0..own.len()).map(|a| slope[a] - along(a, &|i| step[i])).collect();
                let mut solved = left.clone();
                Cholesky::new(reduced)?.solve(&mut solved);
                (left, solved)
            }
            Self::Rows { rows, outer, step } => {
                let values = rows.values.select(own);
                let mut left = slope.to_vec();
                kernels::add_scaled(-1.0, &values.transpose_apply(step), &mut left);
                let mut outer = outer.clone();
                outer.add_product(1.0, values.view(), values.transposed());
                let mut f = values.apply(&left);
                rows.factor(outer)?.solve(&mut f);
                let mut solved = left.clone();
                kernels::add_scaled(-1.0, &values.transpose_apply(&f), &mut solved);
                (left, solved)
            }
        };
        let gain = kernels::dot(&left, &solved);
        Some(gain).filter(|gain| gain.is_finite())
    }
}

impl Inverse {
    /// Its product with a vector, while no coordinate has been removed.
    pub(super) fn apply(&self, v: &[f64]) -> Vec<f64> {
        match self {
            Self::Matrix(inverse) => inverse.apply(v),
            Self::Rows { values, kernel, .. } => {
                let image = values.transpose_apply(&kernel.apply(&values.apply(v)));
                v.iter().zip(image).map(|(v, image)| v - image).collect()
            }
        }
    }

    pub(super) fn diagonal(&self, k: usize) -> f64 {
        match self {
            Self::Matrix(inverse) => inverse[(k, k)],
            Self::Rows { diagonal: Some(diagonal), .. } => diagonal[k],
            Self::Rows { values, kernel, .. } => {
                1.0 - kernels::dot(values.column(k), &kernel.apply(values.column(k)))
            }
        }
    }

    /// What it holds between some coordinates.
    pub(super) fn block(&self, own: &[usize]) -> Matrix {
        match self {
            Self::Matrix(inverse) => inverse.crossing(own, own),
            Self::Rows { values, kernel, .. } => {
                let values = values.select(own);
                let mut block = Matrix::zeros(own.len(), own.len());
                (0..own.len()).for_each(|i| block[(i, i)] = 1.0);
                block.add_product(-1.0, values.transposed(), product(kernel.view(), values.view()).view());
                block
            }
        }
    }

    /// Does without some coordinates, together with a vector that follows: what either knows through these is taken away.
    pub(super) fn remove(&mut self, own: &[usize], follows: &mut [f64]) {
        // Where rounding has left a block that is not positive, there is nothing to take away.
        if let Some(factor) = Cholesky::new(self.block(own)) {
            let mut parts: Vec<f64> = own.iter().map(|&k| follows[k]).collect();
            factor.solve(&mut parts);
            match self {
                Self::Matrix(inverse) => {
                    let columns = inverse.select(own);
                    kernels::add_scaled(-1.0, &columns.apply(&parts), follows);
                    let solved = factor.solve_rows(columns.clone());
                    inverse.add_product(-1.0, columns.view(), solved.transposed());
                }
                Self::Rows { values, kernel, diagonal } => {
                    let images = product(kernel.view(), values.select(own).view());
                    let along = values.transpose_apply(&images.apply(&parts));
                    kernels::add_scaled(1.0, &along, follows);
                    let solved = factor.solve_rows(images.clone());
                    if let Some(diagonal) = diagonal {
                        let along = |matrix: &Matrix| product(values.transposed(), matrix.view());
                        let (left, right) = (along(&images), along(&solved));
                        for (j, diagonal) in diagonal.iter_mut().enumerate() {
                            *diagonal -= (0..own.len()).map(|i| left[(j, i)] * right[(j, i)]).sum::<f64>();
                        }
                    }
                    kernel.add_product(1.0, images.view(), solved.transposed());
                }
            }
        }
        own.iter().for_each(|&k| follows[k] = 0.0);
        match self {
            Self::Matrix(inverse) => {
                own.iter().for_each(|&k| inverse.column_mut(k).fill(0.0));
                (0..inverse.columns()).for_each(|j| own.iter().for_each(|&k| inverse[(k, j)] = 0.0));
            }
            Self::Rows { values, diagonal, .. } => {
                own.iter().for_each(|&k| values.column_mut(k).fill(0.0));
                diagonal.iter_mut().for_each(|diagonal| own.iter().for_each(|&k| diagonal[k] = 0.0));
            }
        }
    }
}

/// What a factorisation gave, unless it broke down.
fn finite(numbers: Vec<f64>) -> Option<Vec<f64>> {
    numbers.iter().all(|x| x.is_finite()).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: usize = 30;

    /// Three instances and one free weight, which takes away what the first column has.
    fn both_forms() -> [Hessian; 2] {
        let values = Matrix::from_fn(4, WIDTH, |i, j| match i {
            3 => 0.3 * ((7 * j) as f64).sin(),
            _ => ((i * 37 + j * 11) as f64).sin() + ((7 * j) as f64).sin(),
        });
        let rows = Rows { values, instances: 3 };
        let signed = Matrix::from_fn(4, WIDTH, |i, j| rows.sign(i) * rows.values[(i, j)]);
        let mut matrix = product(rows.values.transposed(), signed.view());
        (0..WIDTH).for_each(|i| matrix[(i, i)] += 1.0);
        [Hessian::Matrix(matrix), Hessian::Rows(rows)]
    }

    fn same(a: &[f64], b: &[f64]) {
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * (1.0 + a.abs());
        assert!(a.len() == b.len() && a.iter().zip(b).all(near), "{a:?}\n{b:?}");
    }

    #[test]
    fn rows_say_what_the_matrix_says() {
        let [matrix, rows] = both_forms();
        let v: Vec<f64> = (0..WIDTH).map(|j| 1.0 + (j as f64).cos()).collect();
        same(&matrix.apply(&v), &rows.apply(&v));
        for part in [1.0, 0.1] {
            same(&matrix.solve(part, v.clone()).unwrap(), &rows.solve(part, v.clone()).unwrap());
        }

        let columns: Vec<usize> = (0..WIDTH).filter(|j| j % 3 != 1).collect();
        let inverse = |hessian: &Hessian, one_by_one| hessian.inverse(&columns, one_by_one).unwrap();
        let mut inverses = [inverse(&matrix, false), inverse(&rows, false), inverse(&rows, true)];
        let products = inverses.each_ref().map(|inverse| inverse.apply(&v[..columns.len()]));
        products[1..].iter().for_each(|product| same(&products[0], product));
        for removed in [&[4][..], &[0, 11], &[7]] {
            let stay = [1, 5, 8];
            let diagonals = inverses.each_ref().map(|inverse| stay.map(|k| inverse.diagonal(k)));
            let blocks = inverses.each_ref().map(|inverse| inverse.block(&stay));
            let mut followed = [(); 3].map(|()| products[0].clone());
            inverses.iter_mut().zip(&mut followed).for_each(|(inverse, v)| inverse.remove(removed, v));
            for form in 1..3 {
                same(&diagonals[0], &diagonals[form]);
                (0..3).for_each(|k| same(blocks[0].column(k), blocks[form].column(k)));
                same(&followed[0], &followed[form]);
            }
            assert!(removed.iter().all(|&k| followed[0][k] == 0.0));
        }

        let (held, new) = ([0, 3, 6, 9], [1, 2, 4, 20, 21]);
        let beside = [&matrix, &rows].map(|hessian| hessian.beside(&held, &v[..4], &new).unwrap());
        for own in [&[1][..], &[2, 20], &[1, 4, 21]] {
            let [a, b] = [0, 1].map(|k| beside[k].gain(own, &v[7..7 + own.len()]).unwrap());
            same(&[a], &[b]);
        }
    }
}
