//! What candidates that have nothing to do with the outcome look like: how much the best of very many gains by chance.

use super::fitting::Fitting;
use crate::kernels;

/// What candidates without effect gain over a fit.
pub(super) struct Chance {
    /// By how much the objective falls for one coordinate, on average.
    mean: f64,
    /// How many candidates there are.
    candidates: f64,
}

impl Chance {
    /// How many of all candidates would lower the objective by as much, if none had any effect and each had so much freedom.
    pub(super) fn expected(&self, decrease: f64, freedom: usize) -> f64 {
        match self.mean > 0.0 {
            true => self.candidates * chi_squared_above(decrease / self.mean, freedom),
            false => self.candidates,
        }
    }
}

impl Fitting<'_> {
    /// What is gained by chance over the fit that is there.
    pub(super) fn chance(&self) -> Chance {
        Chance { mean: self.gain_by_chance(), candidates: self.space.size() as f64 }
    }

    /// By how much the objective falls, on average, for a coordinate whose values have nothing to do with the outcome: of such values
    /// x, of mean 0 and variance 1, `(sum v x)^2` is `sum v^2` on average, and `1 + sum d x^2` is `1 + sum d`.
    pub(super) fn gain_by_chance(&self) -> f64 {
        0.5 * self.squares(&self.dual().residual) / (1.0 + self.curvature().iter().sum::<f64>())
    }

    /// How many instances, times outputs, have a say in gains: those that a hinge has passed have none, and those that are almost sure
    /// have little. `(sum d)^2 / sum d^2` of the curvature.
    pub(super) fn instances_in_play(&self) -> f64 {
        let d = self.curvature();
        let squares = self.squares(&d);
        if squares > 0.0 { d.iter().sum::<f64>().powi(2) / squares } else { 0.0 }
    }

    /// The sum of the squares of what instances contribute, output after output. An instance that counts w times is w instances, each of
    /// which contributes the w-th part.
    pub(super) fn squares(&self, values: &[f64]) -> f64 {
        let Some(weights) = self.labels.weights() else { return kernels::dot(values, values) };
        let counted = values.iter().zip(weights.iter().cycle()).filter(|(_, weight)| **weight > 0.0);
        counted.map(|(value, weight)| value * value / weight).sum()
    }
}

/// The probability that a chi-squared variable with so many degrees of freedom is above `x`.
pub(super) fn chi_squared_above(x: f64, freedom: usize) -> f64 {
    ln_chi_squared_above(x, freedom).exp()
}

/// The logarithm of the probability that a chi-squared variable with so many degrees of freedom is above `x`: a sum of positive terms,
/// so that small probabilities keep their digits.
pub(super) fn ln_chi_squared_above(x: f64, freedom: usize) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let half = 0.5 * x;
    // Q(a + 1, x) = Q(a, x) + x^a e^-x / gamma(a + 1), from Q(1/2, x) = erfc(sqrt(x)) or Q(1, x) = e^-x on.
    let odd = freedom % 2 == 1;
    let (mut above, mut a) = if odd { (ln_erfc_sqrt(half), 0.5) } else { (-half, 1.0) };
    let mut term = a * half.ln() - half - libm::lgamma(a + 1.0);
    while a < 0.5 * freedom as f64 {
        let (more, less) = if term > above { (term, above) } else { (above, term) };
        above = more + (less - more).exp().ln_1p();
        a += 1.0;
        term += half.ln() - a.ln();
    }
    above.min(0.0)
}

/// The logarithm of `erfc(sqrt(x))`, by the first terms of its asymptotic series where it is too small for a number.
fn ln_erfc_sqrt(x: f64) -> f64 {
    if x < 300.0 {
        return libm::erfc(x.sqrt()).ln();
    }
    let part = 0.5 / x;
    -x - 0.5 * (std::f64::consts::PI * x).ln() + (3.0 * part * part - part).ln_1p()
}

#[cfg(test)]
mod tests {
    use super::{chi_squared_above, ln_chi_squared_above};

    /// Values of the distribution as tables have them.
    #[test]
    fn tails_of_chi_squared() {
        for (x, freedom, above) in [
            (3.841458820694124, 1, 0.05),
            (5.991464547107979, 2, 0.05),
            (7.814727903251179, 3, 0.05),
            (18.307038053275146, 10, 0.05),
            (124.34211340400407, 100, 0.05),
            (23.92812697687947, 1, 1e-6),
            (59.24, 1, 1.3957e-14),
        ] {
            let found = chi_squared_above(x, freedom);
            assert!((found - above).abs() <= 1e-3 * above, "{x} with {freedom}: {found} for {above}");
        }
        assert_eq!(chi_squared_above(0.0, 3), 1.0);
        assert!(chi_squared_above(1e4, 1) < 1e-300);
    }

    /// Beyond the smallest number the tail goes on as before.
    #[test]
    fn tails_have_no_end() {
        for freedom in [1, 2, 3, 8, 11] {
            let slope = |x: f64| ln_chi_squared_above(x + 1.0, freedom) - ln_chi_squared_above(x, freedom);
            let [before, after] = [slope(598.0), slope(600.5)];
            assert!((before - after).abs() < 1e-4, "{freedom}: {before} {after}");
            let far = ln_chi_squared_above(1e6, freedom);
            assert!((-5e5 - 20.0..-5e5 + 80.0).contains(&far), "{freedom}: {far}");
        }
    }
}
