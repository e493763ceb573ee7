//! How good any number of features is: from cross-validation, or else from the rounds of training.

use std::collections::BTreeMap;

use featgen::Model;
use serde::Serialize;

use crate::words::{drawn, is_part, metric_name, plural, unit};

/// Points of the picture, at most.
const MOST_POINTS: usize = 500;

/// How good any number of features is.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Counts {
    /// Whether it was measured on instances held out.
    held_out: bool,
    /// What was measured.
    pub(crate) name: String,
    /// Whether it is a part of a whole, to be shown in percent.
    percent: bool,
    points: Vec<Point>,
    /// What would be reached without any feature.
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<f64>,
    /// The number that cross-validation chooses, and the best.
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<usize>,
    /// The model itself.
    model: Point,
    told: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Point {
    features: usize,
    mean: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    se: Option<f64>,
}

impl Point {
    fn new(features: usize, mean: f64, se: Option<f64>) -> Self {
        Self { features, mean: drawn(mean), se: se.map(drawn) }
    }
}

impl Counts {
    pub(crate) fn new(model: &Model) -> Self {
        Self::held_out(model).unwrap_or_else(|| Self::in_training(model))
    }

    fn held_out(model: &Model) -> Option<Self> {
        let cv = model.cv.as_ref()?;
        let points = cv.points.iter().map(|point| Point::new(point.features, point.mean, point.se));
        let again = if cv.repeats > 1 { format!(", {} times", cv.repeats) } else { String::new() };
        let best = plural(cv.best as u128, unit(model));
        let least = match cv.best == cv.chosen {
            true => "and no fewer come within one standard error of it".to_owned(),
            false => format!("and the fewest within one standard error of it are {}", cv.chosen),
        };
        let told = format!(
            "Measured on instances that were not learned from: cross-validation with {} folds{again}. The band is one standard error to \
             each side. The best mean is that of {best}, {least}.",
            cv.folds
        );
        Some(Self {
            held_out: true,
            name: metric_name(&cv.metric).to_owned(),
            percent: is_part(&cv.metric),
            points: thinned(points.collect()),
            baseline: Some(drawn(cv.baseline)),
            chosen: Some(cv.chosen),
            best: Some(cv.best),
            model: Point::new(model.count(), cv.mean, cv.se),
            told,
        })
    }

    fn in_training(model: &Model) -> Self {
        // The last round with as many features is what a model of that many is.
        let by_count: BTreeMap<usize, f64> =
            model.rounds.iter().map(|round| (round.selected, round.fit().part())).collect();
        let fit = model.training.fit();
        let name = if fit.accuracy().is_some() { "accuracy" } else { "part explained" };
        Self {
            held_out: false,
            name: name.to_owned(),
            percent: true,
            points: thinned(by_count.into_iter().map(|(count, part)| Point::new(count, part, None)).collect()),
            baseline: None,
            chosen: None,
            best: None,
            model: Point::new(model.count(), fit.part(), None),
            told: "Measured on the training data, which flatters: more features always look better there. Cross-validation \
                   (featgen path, featgen train --cv 5) measures it on instances held out, and is kept with the model."
                .to_owned(),
        }
    }
}

/// Some of many points, evenly, the last among them.
fn thinned(points: Vec<Point>) -> Vec<Point> {
    let n = points.len();
    if n <= MOST_POINTS {
        return points;
    }
    (0..MOST_POINTS).map(|k| points[k * (n - 1) / (MOST_POINTS - 1)].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_points_are_thinned_to_both_ends() {
        let points: Vec<Point> = (0..12_345).map(|k| Point::new(k, 0.5, None)).collect();
        let some = thinned(points);
        assert_eq!((some.len(), some[0].features, some[499].features), (500, 0, 12_344));
    }
}
