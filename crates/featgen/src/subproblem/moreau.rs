//! The Moreau projection (Algorithm 3 of the paper): the proximal step of half the squared sum of block norms.

use super::Blocks;

/// How much each block of `u` shrinks in `argmin tau/2 ||x - u||^2 + 1/2 (sum_h ||x_h||)^2`.
///
/// With s = 1/tau and block norms sorted decreasingly, the threshold is `s / (1 + rho s)` times the sum of the rho
/// largest, rho being the last block above its own threshold. A block at or below it vanishes.
pub(crate) fn shrink_factors(blocks: &Blocks, u: &[f64], tau: f64) -> Vec<f64> {
    let norms: Vec<f64> = blocks.norms(u).collect();
    let threshold = threshold(&norms, 1.0 / tau);
    norms.into_iter().map(|o| if o > threshold { 1.0 - threshold / o } else { 0.0 }).collect()
}

fn threshold(norms: &[f64], s: f64) -> f64 {
    let mut sorted = norms.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut threshold) = (0.0, 0.0);
    for (count, o) in (1..).zip(sorted) {
        sum += o;
        let next = s / (1.0 + f64::from(count) * s) * sum;
        if o <= next {
            break;
        }
        threshold = next;
    }
    threshold
}

#[cfg(test)]
mod tests {
    use super::super::norm;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The minimiser is where u - x is a subgradient: tau (u_h - x_h) = S x_h / ||x_h||, at most S in length for x_h = 0.
        #[test]
        fn satisfies_the_optimality_conditions(
            u in prop::collection::vec(-5.0f64..5.0, 6), tau in 0.01f64..100.0,
        ) {
            let mut blocks = Blocks::new(1);
            [0..1, 1..3, 3..6].into_iter().for_each(|columns| blocks.push(columns.map(|j| (j, 1.0))));
            let mut x = u.clone();
            for (range, factor) in blocks.ranges().zip(shrink_factors(&blocks, &u, tau)) {
                x[range].iter_mut().for_each(|x| *x *= factor);
            }
            let s = blocks.norm(&x);
            for range in blocks.ranges() {
                let pull: Vec<f64> = range.clone().map(|k| tau * (u[k] - x[k])).collect();
                let length = norm(&x[range.clone()]);
                if length > 0.0 {
                    for (p, k) in pull.iter().zip(range) {
                        prop_assert!((p - s * x[k] / length).abs() < 1e-9 * (1.0 + s));
                    }
                } else {
                    prop_assert!(norm(&pull) <= s + 1e-9 * (1.0 + s));
                }
            }
        }
    }
}
