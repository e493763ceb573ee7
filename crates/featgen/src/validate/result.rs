//! What cross-validation found: the mean and its error at every number of features, the best, and the one to choose.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Folds, Metric};
use crate::data::Labels;

/// Classes are uneven where the most frequent has at least so many times its even share.
pub const UNEVEN: f64 = 1.2;

/// What was measured in one run at one cost.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured {
    /// By the number of features.
    pub(super) points: BTreeMap<usize, f64>,
    /// Of the model that the run ended with.
    pub(super) last: f64,
    /// Of classes: the accuracy of that model where all classes count the same.
    pub(super) balanced: Option<f64>,
}

impl Measured {
    /// At so many features, or the nearest number below.
    fn at_most(&self, features: usize) -> Option<f64> {
        self.points.range(..=features).next_back().map(|(_, score)| *score)
    }
}

/// A number of features, and how good they are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// How many: features, or groups where there are groups.
    pub features: usize,
    /// The mean over all folds.
    pub mean: f64,
    /// Its standard error; not a number of one fold alone.
    pub se: f64,
    /// The value in each fold.
    pub scores: Vec<f64>,
}

/// All numbers of features at one cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// The cost, as it comes to on all data.
    pub cost: f64,
    /// In order of the number of features.
    pub points: Vec<Point>,
    /// How good the models are that the runs ended with.
    #[serde(skip)]
    pub last: Point,
}

/// How good a model is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimate {
    /// What was measured.
    pub metric: &'static str,
    /// Its mean over all folds.
    pub mean: f64,
    /// The standard error of that.
    pub se: f64,
    /// Folds that instances were put into.
    pub folds: usize,
    /// How often that was done.
    pub repeats: usize,
    /// What would be reached without any feature.
    pub baseline: f64,
    /// Of classes that are uneven: the mean accuracy where all classes count the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balanced_accuracy: Option<f64>,
}

/// What cross-validation found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Validated {
    /// What was measured.
    pub metric: &'static str,
    /// Every number of features at the cost that is chosen.
    pub points: Vec<Point>,
    /// The number of features that are best in the mean, at any cost.
    pub best: usize,
    /// The smallest number that is within one standard error of the best, at any cost.
    pub chosen: usize,
    /// The cost at which these are: on all data.
    pub cost: f64,
    /// Which of the costs that is.
    #[serde(skip)]
    pub cost_index: usize,
    /// Which of the costs has the best.
    #[serde(skip)]
    pub best_cost_index: usize,
    /// Folds that instances were put into.
    pub folds: usize,
    /// How often that was done.
    pub repeats: usize,
    /// What would be reached without any feature.
    pub baseline: f64,
    /// Of classes that are uneven: the mean accuracy of the models that the runs at the first cost ended with, where all classes count
    /// the same.
    #[serde(skip)]
    pub balanced_accuracy: Option<f64>,
    /// All costs that were tried, where these are several.
    #[serde(skip_serializing_if = "is_single")]
    pub costs: Vec<Curve>,
}

fn is_single(curves: &[Curve]) -> bool {
    curves.len() < 2
}

impl Validated {
    /// From what was measured: in each run, at each of these costs.
    pub(super) fn new(
        metric: Metric,
        folds: &Folds,
        labels: &Labels,
        costs: &[f64],
        measured: &[Vec<Measured>],
    ) -> Self {
        let curve = |(k, &cost): (usize, &f64)| {
            let runs: Vec<&Measured> = measured.iter().map(|run| &run[k]).collect();
            Curve::new(cost, &runs, folds.repeats())
        };
        let curves: Vec<Curve> = costs.iter().enumerate().map(curve).collect();
        let (best, chosen) = choose(&curves, |mean| metric.merit(mean));
        let balanced: Option<Vec<f64>> = measured.iter().map(|run| run[0].balanced).collect();
        let uneven = UNEVEN * Metric::BalancedAccuracy.without_features(labels);
        let uneven = Metric::Accuracy.without_features(labels) >= uneven;
        Self {
            metric: metric.name(),
            points: curves[chosen.curve].points.clone(),
            best: curves[best.curve].points[best.point].features,
            chosen: curves[chosen.curve].points[chosen.point].features,
            cost: curves[chosen.curve].cost,
            cost_index: chosen.curve,
            best_cost_index: best.curve,
            folds: folds.len() / folds.repeats(),
            repeats: folds.repeats(),
            baseline: metric.without_features(labels),
            balanced_accuracy: balanced.filter(|_| uneven).map(|balanced| mean(&balanced)),
            costs: curves,
        }
    }

    /// The best of some points, at any cost the one of fewest features among equals.
    pub fn best_of<'p>(&self, points: &'p [Point]) -> Option<&'p Point> {
        let metric = Metric::find(self.metric).unwrap_or(Metric::Accuracy);
        points.iter().rev().max_by(|a, b| metric.merit(a.mean).total_cmp(&metric.merit(b.mean)))
    }

    /// How good the number is that is best.
    pub fn best_point(&self) -> &Point {
        let points = &self.costs[self.best_cost_index].points;
        points.iter().find(|point| point.features == self.best).unwrap_or(&points[0])
    }

    /// How good the number chosen is.
    pub fn chosen_point(&self) -> &Point {
        self.points.iter().find(|point| point.features == self.chosen).unwrap_or(&self.points[0])
    }

    /// How good models are that the same machine makes with the first of the costs.
    pub fn estimate(&self) -> Estimate {
        let balanced_accuracy = self.balanced_accuracy;
        Estimate { balanced_accuracy, ..self.estimate_of(&self.costs[0].last) }
    }

    /// How good the number chosen is, as an estimate.
    pub fn chosen_estimate(&self) -> Estimate {
        self.estimate_of(self.chosen_point())
    }

    fn estimate_of(&self, point: &Point) -> Estimate {
        let &Self { metric, folds, repeats, baseline, .. } = self;
        let balanced_accuracy = None;
        Estimate { metric, mean: point.mean, se: point.se, folds, repeats, baseline, balanced_accuracy }
    }
}

impl Estimate {
    /// How far the mean may be from that of other instances. Folds learn from mostly the same instances, so that their spread alone
    /// says too little; of k folds it counts `sqrt(1 + k / (k - 1))` times (Nadeau and Bengio 2003).
    pub fn error_elsewhere(&self) -> f64 {
        let k = self.folds as f64;
        self.se * (1.0 + k / (k - 1.0)).sqrt()
    }

    /// Whether no more is reached than without any feature, as far as that can be told: within two such errors.
    pub fn is_noise(&self) -> bool {
        let metric = Metric::find(self.metric).unwrap_or(Metric::Accuracy);
        let slack = if self.se.is_nan() { 0.0 } else { 2.0 * self.error_elsewhere() };
        metric.merit(self.mean) - slack <= metric.merit(self.baseline)
    }
}

impl Curve {
    /// Numbers of features at or below which every run had some; where a run had not just that many, the nearest below counts.
    fn new(cost: f64, runs: &[&Measured], repeats: usize) -> Self {
        let counts: BTreeSet<usize> = runs.iter().flat_map(|run| run.points.keys().copied()).collect();
        let point = |&features: &usize| {
            let scores: Option<Vec<f64>> = runs.iter().map(|run| run.at_most(features)).collect();
            scores.map(|scores| Point::new(features, scores, repeats))
        };
        let points: Vec<Point> = counts.iter().filter_map(point).collect();
        let widest = counts.last().copied().unwrap_or(0);
        let last = Point::new(widest, runs.iter().map(|run| run.last).collect(), repeats);
        Self { cost, points, last }
    }
}

impl Point {
    fn new(features: usize, scores: Vec<f64>, repeats: usize) -> Self {
        Self { features, mean: mean(&scores), se: standard_error(&scores, repeats), scores }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard error of the mean. Repeats measure the same instances again: they make the mean less a matter of how folds were drawn,
/// but are no further instances, so that the error is that of one repeat.
fn standard_error(scores: &[f64], repeats: usize) -> f64 {
    let folds = scores.len() / repeats.max(1);
    let variance = |scores: &[f64]| {
        let middle = mean(scores);
        scores.iter().map(|score| (score - middle).powi(2)).sum::<f64>() / (scores.len() as f64 - 1.0)
    };
    let variances: Vec<f64> = scores.chunks(folds.max(1)).map(variance).collect();
    (mean(&variances) / folds as f64).sqrt()
}

/// A point on one of several curves.
#[derive(Debug, Clone, Copy, PartialEq)]
struct At {
    curve: usize,
    point: usize,
}

/// The best point, and among those within one standard error of it the one with the fewest features; of as many, the better.
fn choose(curves: &[Curve], merit: impl Fn(f64) -> f64) -> (At, At) {
    let all: Vec<At> = curves
        .iter()
        .enumerate()
        .flat_map(|(curve, c)| (0..c.points.len()).map(move |point| At { curve, point }))
        .collect();
    let of = |at: At| &curves[at.curve].points[at.point];
    let better = |a: &At, b: &At| {
        let (a, b) = (of(*a), of(*b));
        merit(b.mean).total_cmp(&merit(a.mean)).then(a.features.cmp(&b.features))
    };
    let best = all.iter().copied().min_by(better).expect("every run has a point");
    let se = if of(best).se.is_nan() { 0.0 } else { of(best).se };
    let enough = |at: &At| merit(of(*at).mean) >= merit(of(best).mean) - se;
    let fewest = |a: &At, b: &At| of(*a).features.cmp(&of(*b).features).then_with(|| better(a, b));
    let chosen = all.iter().copied().filter(enough).min_by(fewest).unwrap_or(best);
    (best, chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(cost: f64, points: &[(usize, [f64; 4])]) -> Curve {
        let run = |k: usize| Measured {
            points: points.iter().map(|(features, scores)| (*features, scores[k])).collect(),
            last: points[points.len() - 1].1[k],
            balanced: None,
        };
        let runs: Vec<Measured> = (0..4).map(run).collect();
        Curve::new(cost, &runs.iter().collect::<Vec<_>>(), 1)
    }

    #[test]
    fn the_smallest_within_one_standard_error_is_chosen() {
        let flat = curve(1.0, &[(1, [0.5; 4]), (2, [0.78, 0.84, 0.8, 0.82]), (4, [0.8, 0.86, 0.78, 0.84])]);
        assert!((flat.points[2].mean - 0.82).abs() < 1e-12);
        assert!((flat.points[2].se - (0.004f64 / 3.0 / 4.0).sqrt()).abs() < 1e-12);
        let other = curve(2.0, &[(1, [0.6; 4]), (2, [0.805; 4])]);
        let (best, chosen) = choose(&[flat.clone(), other.clone()], |x| x);
        assert_eq!((best, chosen), (At { curve: 0, point: 2 }, At { curve: 0, point: 1 }));
        // Of as many features the better; and where less is better, the other way round.
        let (best, chosen) = choose(&[flat, other], |x| -x);
        assert_eq!((best, chosen), (At { curve: 0, point: 0 }, At { curve: 0, point: 0 }));
    }

    #[test]
    fn repeats_are_no_further_instances() {
        let once = standard_error(&[0.1, 0.2, 0.3], 1);
        assert!((standard_error(&[0.1, 0.2, 0.3, 0.3, 0.1, 0.2], 2) - once).abs() < 1e-15);
        assert!(standard_error(&[0.4], 1).is_nan());
    }

    #[test]
    fn runs_of_other_counts_count_with_the_nearest_below() {
        let run = |points: &[(usize, f64)]| Measured {
            points: points.iter().copied().collect(),
            last: 0.0,
            balanced: None,
        };
        let (a, b) = (run(&[(2, 0.5), (5, 0.7)]), run(&[(3, 0.6), (6, 0.9)]));
        let found = Curve::new(1.0, &[&a, &b], 1);
        let shown: Vec<(usize, Vec<f64>)> =
            found.points.iter().map(|point| (point.features, point.scores.clone())).collect();
        assert_eq!(shown, [(3, vec![0.5, 0.6]), (5, vec![0.7, 0.6]), (6, vec![0.7, 0.9])]);
    }
}
