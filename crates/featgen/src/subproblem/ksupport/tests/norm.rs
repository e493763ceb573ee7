//! The norm, its dual and its proximal step, against their definitions.

use proptest::prelude::*;

use crate::subproblem::ksupport::KSupport;
use crate::subproblem::ksupport::norm::sorted;

/// The square of the norm by its definition: for a multiplier mu, `d_u = min(1, a_u / mu)`; the right one by bisection.
fn by_definition(lengths: &[f64], k: usize) -> f64 {
    let held = |mu: f64| lengths.iter().map(move |a| if mu > 0.0 { (a / mu).min(1.0) } else { 1.0 });
    let (mut low, mut high) = (0.0, lengths.iter().sum::<f64>().max(1e-300));
    for _ in 0..200 {
        let mu = 0.5 * (low + high);
        *(if held(mu).sum::<f64>() > k as f64 { &mut low } else { &mut high }) = mu;
    }
    lengths.iter().zip(held(high)).filter(|(a, _)| **a > 0.0).map(|(a, d)| a * a / d).sum()
}

/// The proximal threshold by bisection.
fn threshold_by_bisection(lengths: &[f64], k: usize, l: f64) -> f64 {
    if lengths.iter().filter(|o| **o > 0.0).count() <= k {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, l * lengths.iter().fold(0.0, |a: f64, b| a.max(*b)));
    for _ in 0..2000 {
        let theta = 0.5 * (low + high);
        let sum: f64 = lengths.iter().map(|o| ((o - theta / l).max(0.0) / theta).min(1.0)).sum();
        *(if sum > k as f64 { &mut low } else { &mut high }) = theta;
    }
    high
}

fn lengths() -> impl Strategy<Value = Vec<f64>> {
    // Zeros, ties, and sizes that differ by much.
    let length = prop_oneof![Just(0.0), Just(1.0), 0.0..3.0f64, (-9.0..9.0f64).prop_map(|e| 10f64.powf(e))];
    prop::collection::vec(length, 1..25)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_norm_is_the_one_defined(lengths in lengths(), k in 1usize..28) {
        let (found, expected) = (2.0 * KSupport::new(k).value(&lengths), by_definition(&lengths, k));
        prop_assert!((found - expected).abs() <= 1e-12 * expected, "{found} {expected}");
    }

    /// Any vector's product with any other is at most the product of the norm of one and the dual norm of the other; there is one
    /// for which it is the same.
    #[test]
    fn the_dual_norm_is_the_dual(lengths in lengths(), others in lengths(), k in 1usize..28) {
        let norm = KSupport::new(k);
        let product: f64 = lengths.iter().zip(&others).map(|(a, b)| a * b).sum();
        let squares: Vec<f64> = others.iter().map(|x| x * x).collect();
        let most = (2.0 * norm.value(&lengths) * norm.dual_square(&squares)).sqrt();
        prop_assert!(product <= most * (1.0 + 1e-12), "{product} {most}");
        let order = sorted(&lengths);
        let split = norm.split(&order);
        let gradient: Vec<f64> =
            order.iter().enumerate().map(|(u, &a)| if u < split.top { a } else { split.theta }).collect();
        let squares: Vec<f64> = gradient.iter().map(|x| x * x).collect();
        let product: f64 = order.iter().zip(&gradient).map(|(a, g)| a * g).sum();
        prop_assert!((product - 2.0 * split.value).abs() <= 1e-12 * product);
        prop_assert!((norm.dual_square(&squares) - 2.0 * split.value).abs() <= 1e-12 * product);
    }

    /// What is left of a unit by bisection is a small difference of large numbers.
    #[test]
    fn the_proximal_threshold_is_the_one_of_bisection(lengths in lengths(), k in 1usize..28, l in -6.0..6.0f64) {
        let l = 10f64.powf(l);
        let theta = threshold_by_bisection(&lengths, k, l);
        for (o, factor) in lengths.iter().zip((KSupport::new(k)).shrink(&lengths, l)) {
            let expected = (o * l / (l + 1.0)).min((o - theta / l).max(0.0));
            prop_assert!((factor * o - expected).abs() <= 1e-12 * (1.0 + l) * o, "{o} becomes {}, not {expected}", factor * o);
        }
    }

    /// What a proximal step leaves is a subgradient: the step and the point have the product of their norms.
    #[test]
    fn the_proximal_step_is_optimal(lengths in lengths(), k in 1usize..28, l in -6.0..6.0f64) {
        let (norm, l) = (KSupport::new(k), 10f64.powf(l));
        let factors = norm.shrink(&lengths, l);
        let x: Vec<f64> = lengths.iter().zip(&factors).map(|(o, factor)| o * factor).collect();
        let left: Vec<f64> = lengths.iter().zip(&x).map(|(o, x)| l * (o - x)).collect();
        let squares: Vec<f64> = left.iter().map(|g| g * g).collect();
        let product: f64 = x.iter().zip(&left).map(|(x, g)| x * g).sum();
        let gap = norm.value(&x) + 0.5 * norm.dual_square(&squares) - product;
        let size = lengths.iter().map(|o| o * o).sum::<f64>() * l;
        prop_assert!(gap.abs() <= 1e-12 * size, "{gap} of {size}");
    }
}
