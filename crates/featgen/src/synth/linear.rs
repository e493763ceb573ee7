//! Relevant features that stand for themselves.

use rand::RngExt;
use rand_distr::Open01;

use super::{Made, Outcome, Problem, Set, Setting, TRUTH, Truth, choose};
use crate::data::Dataset;
use crate::error::Result;

/// The paper's synthetic problem (section 6.1): values from N(0, 1), a few relevant features with weights from
/// U(0, 1), and the label of x is the sign of `x . w - shift`.
///
/// A set with more features begins with the same columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Linear {
    /// Training instances.
    pub rows: usize,
    /// Test instances; may be 0.
    pub test_rows: usize,
    /// Features.
    pub features: usize,
    /// Features with a weight.
    pub relevant: usize,
    /// The part of all values that are not zero; with 1 the storage is dense.
    pub density: f64,
    /// The threshold b.
    pub shift: f64,
    /// What makes the random numbers differ.
    pub seed: u64,
    /// What labels are.
    pub outcome: Outcome,
}

impl Default for Linear {
    fn default() -> Self {
        Self {
            rows: 4096,
            test_rows: 4096,
            features: 4096,
            relevant: 300,
            density: 1.0,
            shift: 0.0,
            seed: 0,
            outcome: Outcome::Signs,
        }
    }
}

impl Linear {
    /// Makes both sets. Dense ones take four bytes per value and hardly more.
    pub fn generate(&self) -> Result<Made> {
        self.problem()?.generate()
    }

    /// Makes the training set alone.
    pub fn train(&self) -> Result<Dataset> {
        self.problem()?.train()
    }

    /// Makes the test set alone.
    pub fn test(&self) -> Result<Dataset> {
        self.problem()?.test()
    }

    /// A set whose columns are made as they are asked for, to be written to a store: it need not fit in memory.
    pub fn on_demand(&self, set: Set) -> Result<Dataset> {
        self.problem()?.on_demand(set)
    }

    /// What makes the labels.
    pub fn truth(&self) -> Result<Truth> {
        Ok(self.problem()?.truth)
    }

    fn problem(&self) -> Result<Problem> {
        let &Self { rows, test_rows, features, relevant, density, shift, seed, outcome } = self;
        let setting = Setting { rows, test_rows, features, density, shift, seed }.checked()?;
        let mut random = setting.random(TRUTH);
        let chosen = choose(relevant, features, "features", &mut random)?;
        let weights = chosen.into_iter().map(|id| (id, random.sample(Open01))).collect();
        Ok(Problem { setting, truth: Truth { weights, shift, ..Truth::default() }, outcome })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_labels, check_refused, values};
    use super::*;

    fn small() -> Linear {
        Linear { rows: 500, test_rows: 300, features: 60, relevant: 7, ..Default::default() }
    }

    #[test]
    fn labels_follow_from_the_truth() {
        for density in [1.0, 0.3] {
            let made = Linear { density, shift: 0.5, ..small() }.generate().unwrap();
            assert_eq!(made.truth.weights.len(), 7);
            assert!(made.truth.weights.iter().all(|&(id, w)| id < 60 && w > 0.0 && w < 1.0));
            assert_eq!(made.truth.shift, 0.5);
            check_labels(&made);
        }
    }

    #[test]
    fn values_are_standard_normal_and_as_dense_as_asked() {
        for density in [1.0, 0.2] {
            let made = Linear { rows: 4000, test_rows: 0, density, ..small() }.generate().unwrap();
            assert!(made.test.labels.is_empty());
            let all: Vec<f64> = (0..60).flat_map(|j| values(&made.train, j)).filter(|&x| x != 0.0).collect();
            let n = all.len() as f64;
            assert!((n / 240_000.0 - density).abs() < 0.01, "{n}");
            let mean = all.iter().sum::<f64>() / n;
            let variance = all.iter().map(|x| x * x).sum::<f64>() / n;
            assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
        }
    }

    #[test]
    fn seed_set_and_column_decide_and_nothing_else() {
        let first = small().generate().unwrap();
        let wider = Linear { features: 90, ..small() }.generate().unwrap();
        let other = Linear { seed: 1, ..small() }.generate().unwrap();
        assert_eq!(values(&first.train, 59), values(&wider.train, 59));
        assert_ne!(values(&first.train, 0), values(&other.train, 0));
        assert_ne!(values(&first.train, 0)[..300], values(&first.test, 0));
        assert_ne!(values(&first.train, 0), values(&first.train, 1));
        assert_ne!(first.truth, other.truth);
    }

    #[test]
    fn a_seed_means_the_same_numbers_for_ever() {
        let made = small().generate().unwrap();
        let start = [-1.1491998434066772, -0.24964013695716858, -0.603470504283905];
        assert_eq!(values(&made.train, 3)[..3], start);
    }

    #[test]
    fn parameters_are_checked() {
        let refused = |linear: Linear, name: &str| check_refused(linear.generate(), name);
        refused(Linear { rows: 0, ..small() }, "rows");
        refused(Linear { rows: 1, ..small() }, "rows");
        refused(Linear { rows: 1 << 33, ..small() }, "rows");
        refused(Linear { features: 0, ..small() }, "features");
        refused(Linear { relevant: 61, ..small() }, "relevant");
        refused(Linear { relevant: 0, ..small() }, "relevant");
        refused(Linear { density: 0.0, ..small() }, "density");
        refused(Linear { density: 1.1, ..small() }, "density");
        refused(Linear { density: f64::NAN, ..small() }, "density");
        refused(Linear { shift: f64::INFINITY, ..small() }, "shift");
        refused(Linear { shift: 1e6, ..small() }, "shift");
    }
}
