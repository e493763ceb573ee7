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

use faer::linalg::matmul::matmul;
use faer::linalg::solvers::DenseSolveCore;
use faer::prelude::Solve;
use faer::{Accum, Mat, MatRef, Par, Side};

use crate::kernels;
use crate::subproblem::model::Quadratic;

/// `I + H`.
pub(super) enum Hessian {
    Matrix(Mat<f64>),
    Rows(Rows),
}

/// What `I + H` is made of.
pub(super) struct Rows {
    /// R, a row for each instance and for each free weight.
    values: Mat<f64>,
    /// The diagonal of S.
    signs: Vec<f64>,
}

/// The inverse of `I + H` over some columns, of which some may have been removed since.
pub(super) enum Inverse {
    Matrix(Mat<f64>),
    Rows {
        /// R, with 0 for columns that were removed.
        values: Mat<f64>,
        /// K.
        kernel: Mat<f64>,
        /// The diagonal of the inverse, if coordinates are removed one by one: it costs little to follow then, and much to find anew.
        diagonal: Option<Vec<f64>>,
    },
}

/// What columns gain beside some that are held, once these have followed.
pub(super) enum Beside<'a> {
    Matrix {
        matrix: &'a Mat<f64>,
        held: &'a [usize],
        new: &'a [usize],
        /// What the held columns make of every new one, and of the slope along themselves.
        images: Mat<f64>,
        step: Mat<f64>,
    },
    Rows {
        rows: &'a Rows,
        /// `S + R R'` over those that are held, and `K R` times the slope along them.
        outer: Mat<f64>,
        step: Mat<f64>,
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

fn matrix(model: &Quadratic<'_>, output: usize) -> Mat<f64> {
    let outputs = model.blocks.outputs();
    let width = model.blocks.columns.len() / outputs;
    let at = |j: usize| j * outputs + output;
    let mut matrix = Mat::zeros(width, width);
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
        let signs = weighted.iter().map(|_| 1.0).chain(taken.iter().map(|_| -1.0)).collect::<Vec<f64>>();
        let value = |i: usize, j: usize| {
            let k = j * outputs + output;
            let (column, scale) = (model.blocks.columns[k] as usize, model.blocks.scales[k]);
            scale
                * match weighted.get(i) {
                    Some((_, weight)) => weight.sqrt() * packed[i * cached + column],
                    None => taken[i - weighted.len()].1.sqrt() * taken[i - weighted.len()].0[column],
                }
        };
        let values = Mat::from_fn(signs.len(), model.blocks.columns.len() / outputs, value);
        Some(Self { values, signs })
    }

    /// `part^-1 S + R R'` over some columns, given their part of R.
    fn outer(&self, values: &Mat<f64>, part: f64) -> Mat<f64> {
        let mut outer = values * values.transpose();
        self.signs.iter().enumerate().for_each(|(i, sign)| outer[(i, i)] += sign / part);
        outer
    }
}

impl Hessian {
    /// A times a vector.
    pub(super) fn apply(&self, w: &[f64]) -> Vec<f64> {
        match self {
            Self::Matrix(matrix) => entries(&(matrix * column(w))),
            Self::Rows(rows) => {
                let mut f = &rows.values * column(w);
                rows.signs.iter().enumerate().for_each(|(i, sign)| f[(i, 0)] *= sign);
                let image = rows.values.transpose() * f;
                w.iter().enumerate().map(|(j, w)| w + image[(j, 0)]).collect()
            }
        }
    }

    /// The solution of `(I + part H) u = target`; `None` if numbers do not allow it.
    pub(super) fn solve(&self, part: f64, target: Vec<f64>) -> Option<Vec<f64>> {
        match self {
            Self::Matrix(matrix) => {
                let width = target.len();
                let lower = Mat::from_fn(width, width, |i, j| {
                    part * matrix[(i, j)] + (1.0 - part) * f64::from(u8::from(i == j))
                });
                Some(entries(&lower.llt(Side::Lower).ok()?.solve(column(&target))))
            }
            Self::Rows(rows) => {
                let factor = rows.outer(&rows.values, part).partial_piv_lu();
                let image = rows.values.transpose() * factor.solve(&rows.values * column(&target));
                finite(target.iter().enumerate().map(|(j, x)| x - image[(j, 0)]).collect())
            }
        }
    }

    /// The inverse over some columns, which will be removed one by one or not.
    pub(super) fn inverse(&self, columns: &[usize], one_by_one: bool) -> Option<Inverse> {
        match self {
            Self::Matrix(matrix) => {
                let factor = match columns.len() == matrix.ncols() {
                    true => matrix.llt(Side::Lower),
                    false => submatrix(matrix, columns, columns).llt(Side::Lower),
                };
                Some(Inverse::Matrix(factor.ok()?.inverse()))
            }
            Self::Rows(rows) => {
                let values = selected(&rows.values, columns);
                let kernel = rows.outer(&values, 1.0).partial_piv_lu().inverse();
                let sound = (0..kernel.ncols()).all(|j| kernel.col_as_slice(j).iter().all(|x| x.is_finite()));
                let images = one_by_one.then(|| &kernel * &values);
                let diagonal = images.map(|images| {
                    let taken = |j: usize| kernels::dot(values.col_as_slice(j), images.col_as_slice(j));
                    (0..columns.len()).map(|j| 1.0 - taken(j)).collect()
                });
                sound.then_some(Inverse::Rows { values, kernel, diagonal })
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
                let factor = submatrix(matrix, held, held).llt(Side::Lower).ok()?;
                let images = factor.solve(submatrix(matrix, held, new));
                Beside::Matrix { matrix, held, new, images, step: factor.solve(column(slope)) }
            }
            Self::Rows(rows) => {
                let values = selected(&rows.values, held);
                let outer = rows.outer(&values, 1.0);
                let step = outer.partial_piv_lu().solve(values * column(slope));
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
                let reduced = Mat::from_fn(own.len(), own.len(), |a, b| {
                    matrix[(own[a], own[b])] - along(a, &|i| images[(i, place(b))])
                });
                let left = Mat::from_fn(own.len(), 1, |a, _| slope[a] - along(a, &|i| step[(i, 0)]));
                let solved = reduced.llt(Side::Lower).ok()?.solve(&left);
                (left, solved)
            }
            Self::Rows { rows, outer, step } => {
                let values = selected(&rows.values, own);
                let left = column(slope) - values.transpose() * step;
                let factor = (outer + &values * values.transpose()).partial_piv_lu();
                let solved = &left - values.transpose() * factor.solve(&values * &left);
                (left, solved)
            }
        };
        let gain = kernels::dot(left.col_as_slice(0), solved.col_as_slice(0));
        Some(gain).filter(|gain| gain.is_finite())
    }
}

impl Inverse {
    /// Its product with a vector, while no coordinate has been removed.
    pub(super) fn apply(&self, v: &[f64]) -> Vec<f64> {
        match self {
            Self::Matrix(inverse) => entries(&(inverse * column(v))),
            Self::Rows { values, kernel, .. } => {
                let image = values.transpose() * (kernel * (values * column(v)));
                v.iter().enumerate().map(|(j, v)| v - image[(j, 0)]).collect()
            }
        }
    }

    pub(super) fn diagonal(&self, k: usize) -> f64 {
        match self {
            Self::Matrix(inverse) => inverse[(k, k)],
            Self::Rows { diagonal: Some(diagonal), .. } => diagonal[k],
            Self::Rows { values, kernel, .. } => {
                let image = kernel * values.col(k).as_mat();
                1.0 - kernels::dot(values.col_as_slice(k), image.col_as_slice(0))
            }
        }
    }

    /// What it holds between some coordinates.
    pub(super) fn block(&self, own: &[usize]) -> Mat<f64> {
        match self {
            Self::Matrix(inverse) => submatrix(inverse, own, own),
            Self::Rows { values, kernel, .. } => {
                let values = selected(values, own);
                let mut block = values.transpose() * (kernel * &values) * -1.0;
                (0..own.len()).for_each(|i| block[(i, i)] += 1.0);
                block
            }
        }
    }

    /// Does without some coordinates, together with a vector that follows: what either knows through these is taken away.
    pub(super) fn remove(&mut self, own: &[usize], follows: &mut [f64]) {
        // Where rounding has left a block that is not positive, there is nothing to take away.
        if let Ok(factor) = self.block(own).llt(Side::Lower) {
            let parts = factor.solve(column_of(own.iter().map(|&k| follows[k])));
            match self {
                Self::Matrix(inverse) => {
                    let columns = selected(inverse, own);
                    kernels::add_scaled(-1.0, (&columns * parts).col_as_slice(0), follows);
                    let solved = factor.solve(columns.transpose());
                    matmul(inverse, Accum::Add, &columns, &solved, -1.0, Par::Seq);
                }
                Self::Rows { values, kernel, diagonal } => {
                    let images = &*kernel * selected(values, own);
                    let along = values.transpose() * (&images * &parts);
                    kernels::add_scaled(1.0, along.col_as_slice(0), follows);
                    let solved = factor.solve(images.transpose());
                    if let Some(diagonal) = diagonal {
                        let (left, right) = (values.transpose() * &images, &solved * &*values);
                        for (j, diagonal) in diagonal.iter_mut().enumerate() {
                            *diagonal -= (0..own.len()).map(|i| left[(j, i)] * right[(i, j)]).sum::<f64>();
                        }
                    }
                    matmul(kernel, Accum::Add, &images, &solved, 1.0, Par::Seq);
                }
            }
        }
        own.iter().for_each(|&k| follows[k] = 0.0);
        match self {
            Self::Matrix(inverse) => {
                own.iter().for_each(|&k| inverse.col_as_slice_mut(k).fill(0.0));
                (0..inverse.ncols()).for_each(|j| own.iter().for_each(|&k| inverse[(k, j)] = 0.0));
            }
            Self::Rows { values, diagonal, .. } => {
                own.iter().for_each(|&k| values.col_as_slice_mut(k).fill(0.0));
                diagonal.iter_mut().for_each(|diagonal| own.iter().for_each(|&k| diagonal[k] = 0.0));
            }
        }
    }
}

fn column_of(numbers: impl ExactSizeIterator<Item = f64>) -> Mat<f64> {
    let numbers: Vec<f64> = numbers.collect();
    column(&numbers).to_owned()
}

fn column(v: &[f64]) -> MatRef<'_, f64> {
    MatRef::from_column_major_slice(v, v.len(), 1)
}

fn entries(column: &Mat<f64>) -> Vec<f64> {
    column.col_as_slice(0).to_vec()
}

fn submatrix(matrix: &Mat<f64>, rows: &[usize], columns: &[usize]) -> Mat<f64> {
    Mat::from_fn(rows.len(), columns.len(), |i, j| matrix[(rows[i], columns[j])])
}

fn selected(values: &Mat<f64>, columns: &[usize]) -> Mat<f64> {
    Mat::from_fn(values.nrows(), columns.len(), |i, j| values[(i, columns[j])])
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
        let values = Mat::from_fn(4, WIDTH, |i, j| match i {
            3 => 0.3 * ((7 * j) as f64).sin(),
            _ => ((i * 37 + j * 11) as f64).sin() + ((7 * j) as f64).sin(),
        });
        let signs = vec![1.0, 1.0, 1.0, -1.0];
        let signed = Mat::from_fn(4, WIDTH, |i, j| signs[i] * values[(i, j)]);
        let matrix = values.transpose() * signed + Mat::<f64>::identity(WIDTH, WIDTH);
        [Hessian::Matrix(matrix), Hessian::Rows(Rows { values, signs })]
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
                (0..3).for_each(|k| same(blocks[0].col_as_slice(k), blocks[form].col_as_slice(k)));
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
