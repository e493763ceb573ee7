//! How many candidates gain as much as a feature, told from the best of those that were not chosen.
//!
//! If candidates have nothing to do with the outcome, the negative logarithm of the probability to gain as much by chance is distributed
//! exponentially: e times fewer gain one more. Where columns have something in common that is not explained yet, or have few values that
//! are not 0, all gain more, and the number of those that gain much falls more slowly. Both show in the best of them: the logarithm that
//! they exceed, and by how much they do on average (the excess over a high threshold: Pickands 1975, Hill 1975).

/// Of so many the excess over the next one tells how fast their number falls.
pub(super) const BEST: usize = 20;

/// How many of the others gain as much as a feature, given the logarithms of the probabilities that chance does.
pub(super) fn that_gain_as_much(own: f64, others: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = others.iter().map(|ln| -ln).collect();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let count = BEST.min(sorted.len().saturating_sub(1));
    if count == 0 {
        return 0.0;
    }
    let threshold = sorted[count];
    let excess = sorted[..count].iter().map(|x| x - threshold).sum::<f64>() / count as f64;
    // Never faster than chance alone: twenty are too few to say so.
    count as f64 * (-(-own - threshold).max(0.0) / excess.max(1.0)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Logarithms of chance as they should be: of n candidates, the k-th best has about ln(n / k).
    fn chance(n: usize) -> Vec<f64> {
        (0..n).map(|k| -(n as f64 / (k as f64 + 0.5)).ln()).collect()
    }

    #[test]
    fn as_many_as_chance_says() {
        let others = chance(1000);
        for own in [8.0f64, 12.0, 20.0] {
            let (found, expected) = (that_gain_as_much(-own, &others), 1000.0 * (-own).exp());
            assert!((0.7..1.5).contains(&(found / expected)), "{own}: {found} {expected}");
        }
        assert_eq!(that_gain_as_much(-1.0, &others), BEST as f64);
        assert_eq!((that_gain_as_much(-9.0, &[]), that_gain_as_much(-9.0, &[-1.0])), (0.0, 0.0));
    }

    /// What all have in common, or a tail that falls more slowly, makes more of them gain as much.
    #[test]
    fn more_where_others_gain_more() {
        let shifted: Vec<f64> = chance(1000).iter().map(|ln| ln - 5.0).collect();
        let slower: Vec<f64> = chance(1000).iter().map(|ln| 2.0 * ln).collect();
        let plain = that_gain_as_much(-15.0, &chance(1000));
        assert!((that_gain_as_much(-20.0, &shifted) / plain - 1.0).abs() < 1e-9);
        assert!((that_gain_as_much(-30.0, &slower) / plain - 1.0).abs() < 0.1);
        // One that is the same as the feature does not hide it.
        let copy: Vec<f64> = chance(1000).into_iter().chain([-30.0]).collect();
        assert!(that_gain_as_much(-30.0, &copy) < 0.01);
    }
}
