//! Of numbers and counts: what was predicted, against what is true.

use featgen::Model;
use featgen::objective::Output;
use serde::Serialize;

use super::{quantile_bins, thinned};
use crate::words::drawn;

/// Instances that are drawn, at most.
const MOST_POINTS: usize = 3_000;

/// Parts of the instances whose means are drawn.
const BINS: usize = 10;

/// What was predicted, against what is true.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Numbers {
    /// Whether these are counts.
    counts: bool,
    n: usize,
    /// Predicted and true, in order of what was predicted; some of many.
    points: Vec<[f64; 2]>,
    /// The means of both in tenths of the instances, from the smallest predictions on.
    means: Vec<[f64; 2]>,
}

impl Numbers {
    pub(crate) fn new(model: &Model, decision: &[f64], truth: &[f64]) -> Self {
        let predicted: Vec<f64> = decision.iter().map(|&f| model.number(f)).collect();
        let mut points: Vec<[f64; 2]> =
            predicted.iter().zip(truth).map(|(&p, &y)| [drawn(p), drawn(y)]).collect();
        points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        Self {
            counts: model.output == Output::Rate,
            n: truth.len(),
            points: thinned(&points, MOST_POINTS),
            means: means(&predicted, truth),
        }
    }
}

fn means(predicted: &[f64], truth: &[f64]) -> Vec<[f64; 2]> {
    let bins = quantile_bins(predicted, BINS);
    let mut sums = [[0.0; 3]; BINS];
    for ((&bin, &p), &y) in bins.iter().zip(predicted).zip(truth) {
        let [n, of_p, of_y] = &mut sums[bin];
        (*n, *of_p, *of_y) = (*n + 1.0, *of_p + p, *of_y + y);
    }
    sums.iter().filter(|sums| sums[0] > 0.0).map(|[n, p, y]| [drawn(p / n), drawn(y / n)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_those_of_tenths() {
        let predicted: Vec<f64> = (0..40).map(f64::from).collect();
        let truth: Vec<f64> = predicted.iter().map(|p| 2.0 * p).collect();
        let found = means(&predicted, &truth);
        assert_eq!((found.len(), found[0], found[9]), (10, [1.5, 3.0], [37.5, 75.0]));
    }
}
