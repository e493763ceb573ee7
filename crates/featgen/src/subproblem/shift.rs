//! The shift b, minimised exactly: then the dual variables balance, and every dual bound is a true one.

use crate::bracket::Bracket;
use crate::loss::Loss;
use crate::ordered;

/// The b that minimises `sum_i cost_i loss(y_i (f_i - b))`: Newton's method kept inside a bracket by bisection.
pub(crate) fn best_shift(loss: &dyn Loss, f: &[f64], signs: &[f64], costs: &[f64], start: f64) -> f64 {
    let mut b = start;
    let mut bracket = Bracket { low: f64::NEG_INFINITY, high: f64::INFINITY };
    for _ in 0..200 {
        let [slope, size, curvature] = loss.slopes(f, b, signs, costs);
        if slope.abs() <= 1e-14 * size {
            break;
        }
        let outwards = b - slope.signum() * (1.0 + b.abs());
        let next = bracket.next(b, slope <= 0.0, b - slope / curvature, outwards);
        if next == b || (next - b).abs() <= 1e-16 * b.abs() {
            break;
        }
        b = next;
    }
    b
}

/// Dual variables at margins `z`, made exactly feasible: with a shift, those of the heavier class are scaled down by
/// the rounding error that is left, so that both classes balance.
pub(crate) fn feasible_duals(
    loss: &dyn Loss,
    z: &[f64],
    signs: &[f64],
    costs: &[f64],
    shift: bool,
) -> Vec<f64> {
    let mut alpha = vec![0.0; z.len()];
    loss.duals(z, costs, &mut alpha);
    if shift {
        let each = |i: usize| if signs[i] > 0.0 { [alpha[i], 0.0] } else { [0.0, alpha[i]] };
        let [positive, negative] = ordered::sums(z.len(), each);
        let (heavy, factor) =
            if positive > negative { (1.0, negative / positive) } else { (-1.0, positive / negative) };
        if factor < 1.0 {
            alpha.iter_mut().zip(signs).filter(|(_, s)| **s == heavy).for_each(|(a, _)| *a *= factor);
        }
    }
    alpha
}
