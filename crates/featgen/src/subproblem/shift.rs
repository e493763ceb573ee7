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

/// Dual variables at margins `z`, feasible as the very numbers they are: within the loss's limits and, with a shift, of the
/// same sum in both classes, without any rounding.
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
        balance(&mut alpha, signs);
    }
    alpha
}

/// Lowers dual variables until both classes have exactly the same sum.
///
/// They become multiples of a power of two, so coarse that every sum of them is a number without rounding, and yet as fine as
/// the rounding of their sum. The heavier class is scaled down first, so that what is left to be taken off is next to nothing.
fn balance(alpha: &mut [f64], signs: &[f64]) {
    let Some(grain) = grain(ordered::sum(alpha.len(), |i| alpha[i])) else { return alpha.fill(0.0) };
    // Both are powers of two: nothing is rounded but down.
    let per = 1.0 / grain;
    let floor = |a: f64| (a * per).floor() * grain;
    let [positive, negative] = by_class(alpha, signs);
    let (heavy, factor) =
        if positive > negative { (1.0, negative / positive) } else { (-1.0, positive / negative) };
    for (a, &sign) in alpha.iter_mut().zip(signs) {
        *a = floor(if sign == heavy { *a * factor } else { *a });
    }
    // From here on all sums are exact.
    let [positive, negative] = by_class(alpha, signs);
    let (heavy, mut excess) =
        if positive > negative { (1.0, positive - negative) } else { (-1.0, negative - positive) };
    // Flooring left less than a grain of each: one is enough, of as many as it takes.
    while excess > 0.0 {
        for (a, _) in alpha.iter_mut().zip(signs).filter(|(a, sign)| **sign == heavy && **a > 0.0) {
            if excess > 0.0 {
                *a -= grain;
                excess -= grain;
            }
        }
    }
}

/// The sums over the positive and the negative class.
fn by_class(alpha: &[f64], signs: &[f64]) -> [f64; 2] {
    ordered::sums(alpha.len(), |i| if signs[i] > 0.0 { [alpha[i], 0.0] } else { [0.0, alpha[i]] })
}

/// A power of two of which numbers with about this total are fewer than 2^53 times: sums of its multiples are exact. `None` if
/// it would be too small to compute with, or the total is no number.
fn grain(total: f64) -> Option<f64> {
    let exponent = (total.is_finite() && total > 1e-280).then(|| total.log2().ceil() as i32 + 1)?;
    Some(2f64.powi(exponent - 53))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Logistic, SquaredHinge};
    use proptest::prelude::*;

    /// A number as a whole multiple of `grain`.
    fn multiple(x: f64, grain: f64) -> i128 {
        assert_eq!((x / grain).fract(), 0.0, "{x} is no multiple of {grain}");
        (x / grain) as i128
    }

    proptest! {
        #[test]
        fn dual_variables_balance_without_rounding(
            rows in prop::collection::vec((-50.0f64..50.0, -20i32..44), 2..60), positive in 1usize..40,
        ) {
            let signs: Vec<f64> = (0..rows.len()).map(|i| if i < positive.min(rows.len() - 1) { 1.0 } else { -1.0 }).collect();
            let costs: Vec<f64> = rows.iter().map(|row| 1.3 * 2f64.powi(row.1)).collect();
            let z: Vec<f64> = rows.iter().map(|row| row.0).collect();
            for loss in [&SquaredHinge as &dyn Loss, &Logistic] {
                let alpha = feasible_duals(loss, &z, &signs, &costs, true);
                let Some(least) = alpha.iter().copied().filter(|&a| a > 0.0).reduce(f64::min) else { continue };
                // The last digit of the least number is finer than any grain.
                let grain = 2f64.powi(least.log2().floor() as i32 - 54);
                let sum = alpha.iter().zip(&signs).map(|(&a, &y)| y as i128 * multiple(a, grain)).sum::<i128>();
                prop_assert_eq!(sum, 0);
                for i in 0..alpha.len() {
                    prop_assert!((0.0..=costs[i] * loss.dual(z[i])).contains(&alpha[i]));
                }
            }
        }
    }

    #[test]
    fn balanced_duals_are_hardly_smaller() {
        let n = 20_001;
        let signs: Vec<f64> = (0..n).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
        let f: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
        let costs = vec![0.7; n];
        let b = best_shift(&Logistic, &f, &signs, &costs, 0.0);
        let z: Vec<f64> = (0..n).map(|i| signs[i] * (f[i] - b)).collect();
        let alpha = feasible_duals(&Logistic, &z, &signs, &costs, true);
        for i in 0..n {
            let before = costs[i] * Logistic.dual(z[i]);
            assert!(alpha[i] > before * (1.0 - 1e-9), "{} of {before}", alpha[i]);
        }
    }
}
