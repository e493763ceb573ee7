//! What cross-validation said of a model, kept with it so that whoever gets the file knows how good it is.

use serde::{Deserialize, Serialize};

use crate::validate::{Estimate, Validated};

/// How good a model is on instances held out, and how good other numbers of features are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrossValidated {
    /// What was measured.
    pub metric: String,
    /// Its mean over all folds, of models made as this one was.
    pub mean: f64,
    /// The standard error of that; not there of one fold alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub se: Option<f64>,
    /// Folds that instances were put into.
    pub folds: usize,
    /// How often that was done.
    pub repeats: usize,
    /// What would be reached without any feature.
    pub baseline: f64,
    /// The number of features that are best in the mean.
    pub best: usize,
    /// The smallest number that is within one standard error of the best.
    pub chosen: usize,
    /// In order of the number of features, at the cost of the model.
    pub points: Vec<CrossValidatedPoint>,
}

/// A number of features, and how good they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrossValidatedPoint {
    /// How many: features, or groups where there are groups.
    pub features: usize,
    /// The mean over all folds.
    pub mean: f64,
    /// Its standard error; not there of one fold alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub se: Option<f64>,
}

impl CrossValidated {
    /// From all that was found, and what it says of the model.
    pub fn new(found: &Validated, estimate: &Estimate) -> Self {
        let there = |se: f64| Some(se).filter(|se| se.is_finite());
        let points = found.points.iter();
        Self {
            metric: found.metric.to_owned(),
            mean: estimate.mean,
            se: there(estimate.se),
            folds: found.folds,
            repeats: found.repeats,
            baseline: found.baseline,
            best: found.best,
            chosen: found.chosen,
            points: points
                .map(|point| CrossValidatedPoint {
                    features: point.features,
                    mean: point.mean,
                    se: there(point.se),
                })
                .collect(),
        }
    }

    /// All its numbers.
    pub(super) fn numbers(&self) -> impl Iterator<Item = f64> + '_ {
        let points = self.points.iter().flat_map(|point| [point.mean, point.se.unwrap_or(0.0)]);
        [self.mean, self.se.unwrap_or(0.0), self.baseline].into_iter().chain(points)
    }
}
