//! Of two classes: the ROC curve, and whether probabilities are to be believed.

use featgen::Model;
use serde::Serialize;

use super::{quantile_bins, thinned};
use crate::words::drawn;

/// Points of the ROC curve on the page, at most.
const MOST_POINTS: usize = 500;

/// Bins of the calibration, at most, and instances that each must have: what few say is chance.
const BINS: usize = 10;
const FEWEST: usize = 10;

/// How well two classes are told apart by their decision values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Ranking {
    /// What is looked for: the second class.
    positive: String,
    /// Part of the others, and part of those looked for, that are above a threshold, from the highest threshold on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    roc: Vec<[f64; 2]>,
    /// Where the model itself stands on it, with the threshold 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<[f64; 2]>,
    /// The area under it; `None` if only one class occurs.
    pub(crate) auc: Option<f64>,
    /// Whether the calibration is one of probabilities; else it is of decision values.
    probabilities: bool,
    calibration: Vec<Bin>,
}

/// Instances with about the same prediction.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Bin {
    /// The mean prediction.
    predicted: f64,
    /// The part that is of the second class.
    observed: f64,
    /// Where that part of all such instances lies, with a probability of 95 % (Wilson 1927).
    low: f64,
    high: f64,
    n: usize,
}

impl Ranking {
    pub(crate) fn new(model: &Model, decision: &[f64], truth: &[usize]) -> Self {
        let rows = || decision.chunks_exact(model.outputs());
        // Of two outputs the difference says which is larger.
        let value = |d: &[f64]| if let [a, b] = d { b - a } else { d[0] };
        let values: Vec<f64> = rows().map(value).collect();
        let positive: Vec<bool> = truth.iter().map(|&class| class == 1).collect();
        let probabilities: Option<Vec<f64>> = rows().map(|d| model.probabilities(d).map(|p| p[1])).collect();
        let (points, auc) = roc(&values, &positive);
        Self {
            positive: model.classes[1].clone(),
            at: auc.map(|_| rates(&values, &positive)),
            roc: thinned(&points, MOST_POINTS).into_iter().map(|point| point.map(drawn)).collect(),
            auc,
            probabilities: probabilities.is_some(),
            calibration: calibration(&probabilities.unwrap_or(values), &positive),
        }
    }
}

/// The parts of both classes that are above 0.
fn rates(values: &[f64], positive: &[bool]) -> [f64; 2] {
    let part = |of: bool| {
        let own = values.iter().zip(positive).filter(|&(_, &positive)| positive == of);
        let (n, above) = own.fold((0.0, 0.0), |(n, above), (&f, _)| (n + 1.0, above + f64::from(f > 0.0)));
        drawn(above / f64::max(n, 1.0))
    };
    [part(false), part(true)]
}

/// The corners of the ROC curve, and the area under it. Nothing if only one class occurs.
fn roc(values: &[f64], positive: &[bool]) -> (Vec<[f64; 2]>, Option<f64>) {
    let mut pairs: Vec<(f64, bool)> = values.iter().copied().zip(positive.iter().copied()).collect();
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
    let of = pairs.iter().filter(|(_, positive)| *positive).count() as f64;
    let others = pairs.len() as f64 - of;
    if of == 0.0 || others == 0.0 {
        return (Vec::new(), None);
    }
    let (mut points, mut area, mut here) = (vec![[0.0, 0.0]], 0.0, [0.0, 0.0]);
    for ties in pairs.chunk_by(|a, b| a.0 == b.0) {
        let hits = ties.iter().filter(|(_, positive)| *positive).count() as f64;
        let next = [here[0] + (ties.len() as f64 - hits) / others, here[1] + hits / of];
        area += (next[0] - here[0]) * (next[1] + here[1]) / 2.0;
        // A corner only where the direction changes.
        if let [.., before, last] = points[..] {
            let turn =
                (last[0] - before[0]) * (next[1] - last[1]) - (last[1] - before[1]) * (next[0] - last[0]);
            if turn.abs() < 1e-15 {
                points.pop();
            }
        }
        points.push(next);
        here = next;
    }
    (points, Some(area))
}

/// What is observed where predictions are about the same.
fn calibration(predicted: &[f64], positive: &[bool]) -> Vec<Bin> {
    let parts = (predicted.len() / FEWEST).clamp(2, BINS);
    let bins = quantile_bins(predicted, parts);
    let bin = |k: usize| {
        let own = || (0..predicted.len()).filter(|&i| bins[i] == k);
        let n = own().count();
        let hits = own().filter(|&i| positive[i]).count();
        let sum: f64 = own().map(|i| predicted[i]).sum();
        let [low, high] = wilson(hits, n);
        (n > 0).then(|| Bin {
            predicted: drawn(sum / n as f64),
            observed: drawn(hits as f64 / n as f64),
            low: drawn(low),
            high: drawn(high),
            n,
        })
    };
    (0..parts).filter_map(bin).collect()
}

/// Wilson's interval of 95 % for a part.
fn wilson(hits: usize, n: usize) -> [f64; 2] {
    const Z: f64 = 1.959_963_984_540_054;
    let (n, part) = (n.max(1) as f64, hits as f64 / n.max(1) as f64);
    let middle = (part + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (part * (1.0 - part) / n + Z * Z / (4.0 * n * n)).sqrt();
    [(middle - half).max(0.0), (middle + half).min(1.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roc_has_a_corner_where_it_turns() {
        let (points, auc) = roc(&[0.9, 0.8, 0.7, 0.6], &[true, true, false, false]);
        assert_eq!((points, auc), (vec![[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]], Some(1.0)));
        let (points, auc) = roc(&[0.5, 0.5], &[true, false]);
        assert_eq!((points, auc), (vec![[0.0, 0.0], [1.0, 1.0]], Some(0.5)));
        assert_eq!(roc(&[0.5, 0.1], &[true, true]), (Vec::new(), None));
    }

    /// By the definition: how often one of a pair beats the other.
    #[test]
    fn the_area_counts_pairs() {
        let values: Vec<f64> = (0..200).map(|i| f64::from((i * 37) % 41)).collect();
        let positive: Vec<bool> = (0..200).map(|i| (i * 13) % 7 < 3).collect();
        let (mut wins, mut pairs) = (0.0, 0.0);
        for i in (0..200).filter(|&i| positive[i]) {
            for j in (0..200).filter(|&j| !positive[j]) {
                pairs += 1.0;
                wins += f64::from(values[i] > values[j]) + 0.5 * f64::from(values[i] == values[j]);
            }
        }
        let found = roc(&values, &positive).1.unwrap();
        assert!((found - wins / pairs).abs() < 1e-12);
    }

    /// Numbers of Wilson's interval from Brown, Cai and DasGupta: 10 of 50.
    #[test]
    fn intervals_are_those_of_wilson() {
        let [low, high] = wilson(10, 50);
        assert!((low - 0.1124).abs() < 1e-4 && (high - 0.3304).abs() < 1e-4, "{low} {high}");
        assert_eq!(wilson(0, 10)[0], 0.0);
    }
}
