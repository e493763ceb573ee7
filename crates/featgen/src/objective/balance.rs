//! Residuals that sum to 0, without any rounding: then an intercept adds nothing to a dual bound, however large it is.

use multiversion::multiversion;

use crate::ordered;

/// Shortens numbers until those above 0 and those below have exactly the same sum.
///
/// They become multiples of a power of two, so coarse that every sum of them is a number without rounding, and yet as fine as
/// the rounding of their sum. The heavier side is scaled down first, so that what is left to be taken off is next to nothing.
pub(super) fn balance(v: &mut [f64]) {
    let Some(grain) = grain(ordered::sum_over([v], |[v]| v.abs())) else { return v.fill(0.0) };
    let [above, below] = sides(v);
    let (heavy, factor) = if above > below { (1.0, below / above) } else { (-1.0, above / below) };
    shorten(v, heavy, factor, grain);
    // From here on all sums are exact.
    let [above, below] = sides(v);
    let (heavy, mut excess) = if above > below { (1.0, above - below) } else { (-1.0, below - above) };
    // Flooring took less than a grain of each number of the other side. That is taken off here too: as many grains of every number as all
    // can give, and then one of as many as it takes.
    while excess > 0.0 {
        let count = v.iter().filter(|v| **v * heavy > 0.0).count();
        let share = (excess / (count as f64 * grain)).floor().max(1.0) * grain;
        for v in v.iter_mut().filter(|v| **v * heavy > 0.0) {
            let part = share.min(v.abs()).min(excess);
            *v -= heavy * part;
            excess -= part;
        }
    }
}

/// Scales the numbers whose sign is `heavy` by `factor`, and makes all of them multiples of `grain` that are no longer.
#[multiversion(targets("x86_64+avx2"))]
fn shorten(v: &mut [f64], heavy: f64, factor: f64, grain: f64) {
    // Both are powers of two: nothing is rounded but down.
    let per = 1.0 / grain;
    for v in v {
        let (sign, a) = (v.signum(), v.abs());
        let a = if sign == heavy { a * factor } else { a };
        *v = sign * ((a * per).floor() * grain);
    }
}

/// The sums of the numbers above 0 and of the sizes of those below.
fn sides(v: &[f64]) -> [f64; 2] {
    ordered::sums_over([v], |[v]| if v > 0.0 { [v, 0.0] } else { [0.0, -v] })
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
    use proptest::prelude::*;

    /// A number as a whole multiple of `grain`.
    fn multiple(x: f64, grain: f64) -> i128 {
        assert_eq!((x / grain).fract(), 0.0, "{x} is no multiple of {grain}");
        (x / grain) as i128
    }

    proptest! {
        #[test]
        fn numbers_balance_without_rounding(rows in prop::collection::vec((0.0f64..50.0, -20i32..44, any::<bool>()), 2..60)) {
            let before: Vec<f64> =
                rows.iter().map(|&(a, e, up)| (if up { a } else { -a }) * 1.3 * 2f64.powi(e)).collect();
            let mut v = before.clone();
            balance(&mut v);
            for (v, before) in v.iter().zip(&before) {
                prop_assert!(v.abs() <= before.abs() && v * before >= 0.0);
            }
            if let Some(least) = v.iter().map(|v| v.abs()).filter(|&a| a > 0.0).reduce(f64::min) {
                // The last digit of the least number is finer than any grain.
                let grain = 2f64.powi(least.log2().floor() as i32 - 54);
                prop_assert_eq!(v.iter().map(|&v| multiple(v, grain)).sum::<i128>(), 0);
            }
        }
    }

    /// One number against a million: what these lose by flooring is taken off that one at once, not a grain at a time.
    #[test]
    fn few_balance_many() {
        let many = 1_000_000;
        let mut v: Vec<f64> = (0..many).map(|i| -1.0 - (i as f64).sin().abs()).collect();
        v.push(1.7 * many as f64);
        balance(&mut v);
        let [above, below] = sides(&v);
        assert_eq!(above, below);
        assert!(above > 1.6 * many as f64);
    }

    #[test]
    fn what_balances_already_is_hardly_smaller() {
        let n = 20_001;
        let mut v: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
        let mean = v.iter().sum::<f64>() / n as f64;
        v.iter_mut().for_each(|v| *v -= mean);
        let before = v.clone();
        balance(&mut v);
        for (v, before) in v.iter().zip(before) {
            assert!((v - before).abs() <= 1e-9 * before.abs() + 1e-11, "{v} of {before}");
        }
    }
}
