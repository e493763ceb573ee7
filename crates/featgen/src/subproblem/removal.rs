//! What it would cost to do without a feature: how much the objective rises if its weights go to 0 and all others adapt.
//!
//! At the minimum, with the Hessian A = I + H over one block of all features, that is `1/2 w' ((A^-1)_gg)^-1 w` of the feature's
//! weights w, to second order. Not `1/2 w' A_gg w`, which takes no account of features that can stand in for it.

use faer::linalg::solvers::DenseSolveCore;
use faer::prelude::Solve;
use faer::{Mat, Side};

use super::model::Quadratic;

/// Twice those costs, for units of coordinates; `omega` are the weights. Outputs have no curvature in common, so that each has a
/// matrix of its own.
pub(super) fn costs(quadratic: &Quadratic<'_>, omega: &[f64], units: &[Vec<usize>]) -> Vec<f64> {
    let outputs = quadratic.blocks.outputs();
    let inverses: Option<Vec<Mat<f64>>> = (0..outputs).map(|output| inverse(quadratic, output)).collect();
    let Some(inverses) = inverses else {
        // Without a matrix the others are taken not to adapt.
        let alone = |k: usize| omega[k] * omega[k] * (1.0 + quadratic.diagonal(k));
        return units.iter().map(|unit| unit.iter().map(|&k| alone(k)).sum()).collect();
    };
    let cost = |unit: &Vec<usize>| {
        (0..outputs).map(|output| of_output(&inverses[output], omega, unit, outputs, output)).sum()
    };
    units.iter().map(cost).collect()
}

/// `(I + H)^-1` over the coordinates of one output; `None` if H is not known.
fn inverse(quadratic: &Quadratic<'_>, output: usize) -> Option<Mat<f64>> {
    if !quadratic.has_matrix() {
        return None;
    }
    let outputs = quadratic.blocks.outputs();
    let width = quadratic.blocks.columns.len() / outputs;
    let at = |j: usize| j * outputs + output;
    let mut matrix = Mat::zeros(width, width);
    for j in 0..width {
        let row = quadratic.row(at(j));
        (0..width).for_each(|i| matrix[(i, j)] = row(at(i)) + f64::from(u8::from(i == j)));
    }
    let factor = matrix.llt(Side::Lower).ok()?;
    Some(factor.inverse())
}

/// What one output contributes to the cost of a unit.
fn of_output(inverse: &Mat<f64>, omega: &[f64], unit: &[usize], outputs: usize, output: usize) -> f64 {
    let own: Vec<usize> = unit.iter().copied().filter(|k| k % outputs == output).collect();
    if let [k] = own[..] {
        return omega[k] * omega[k] / inverse[(k / outputs, k / outputs)];
    }
    let part = Mat::from_fn(own.len(), own.len(), |i, j| inverse[(own[i] / outputs, own[j] / outputs)]);
    let w = Mat::from_fn(own.len(), 1, |i, _| omega[own[i]]);
    let Ok(factor) = part.llt(Side::Lower) else { return f64::INFINITY };
    let solved = factor.solve(&w);
    (0..own.len()).map(|i| w[(i, 0)] * solved[(i, 0)]).sum()
}
