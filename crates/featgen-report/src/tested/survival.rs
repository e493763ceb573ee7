//! Of times to an event: how many are left without it, by thirds of the risk (Kaplan and Meier 1958).

use serde::Serialize;

use super::{quantile_bins, thinned};
use crate::words::drawn;

/// Steps of a curve on the page, at most.
const MOST_STEPS: usize = 800;

/// Times at which those still watched are counted.
const TIMES: usize = 6;

/// How many are left without an event, by risk.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Survival {
    thirds: Vec<Third>,
    /// Times at which those still watched are counted.
    times: Vec<f64>,
}

/// Instances of about the same risk.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Third {
    name: &'static str,
    n: usize,
    events: usize,
    /// Time, and the part that is left from then on; from 0 to the last time that anybody was watched.
    steps: Vec<[f64; 2]>,
    /// The time at which half are left; `None` if more are left to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    median: Option<f64>,
    /// How many were still watched at each of the times.
    at_risk: Vec<usize>,
}

impl Survival {
    /// From risks and times, which are negative where there was no event until then.
    pub(crate) fn new(risks: &[f64], times: &[f64]) -> Self {
        const NAMES: [&str; 3] = ["low risk", "middle risk", "high risk"];
        let bins = quantile_bins(risks, NAMES.len());
        let last = times.iter().fold(0.0, |last, time| f64::max(last, time.abs()));
        let at: Vec<f64> = (0..TIMES).map(|k| drawn(last * k as f64 / TIMES as f64)).collect();
        let third = |(k, name): (usize, &'static str)| {
            let own: Vec<f64> = (0..times.len()).filter(|&i| bins[i] == k).map(|i| times[i]).collect();
            let steps = kaplan_meier(&own);
            (!own.is_empty()).then(|| Third {
                name,
                n: own.len(),
                events: own.iter().filter(|&&time| time > 0.0).count(),
                median: steps.iter().find(|step| step[1] <= 0.5).map(|step| drawn(step[0])),
                at_risk: at.iter().map(|&at| own.iter().filter(|time| time.abs() >= at).count()).collect(),
                steps: thinned(&steps, MOST_STEPS).into_iter().map(|step| step.map(drawn)).collect(),
            })
        };
        Self { thirds: NAMES.into_iter().enumerate().filter_map(third).collect(), times: at }
    }
}

/// The part that is left after each time with an event, from 0 on; the last time that anybody was watched ends it.
fn kaplan_meier(times: &[f64]) -> Vec<[f64; 2]> {
    let mut ordered = times.to_vec();
    ordered.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let (mut left, mut steps, mut watched) = (1.0, vec![[0.0, 1.0]], ordered.len());
    for ties in ordered.chunk_by(|a, b| a.abs() == b.abs()) {
        let events = ties.iter().filter(|&&time| time > 0.0).count();
        if events > 0 {
            left *= 1.0 - events as f64 / watched as f64;
            steps.push([ties[0].abs(), left]);
        }
        watched -= ties.len();
    }
    if let Some(last) = ordered.last().filter(|last| last.abs() > steps[steps.len() - 1][0]) {
        steps.push([last.abs(), left]);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The remission times of 6-MP in Freireich et al. 1963, with the well-known table of what is left.
    #[test]
    fn steps_are_those_of_a_textbook() {
        let times = [
            6.0, 6.0, 6.0, -6.0, 7.0, -9.0, 10.0, -10.0, -11.0, 13.0, 16.0, -17.0, -19.0, -20.0, 22.0, 23.0,
            -25.0, -32.0, -32.0, -34.0, -35.0,
        ];
        let found = kaplan_meier(&times);
        let expected = [
            [0.0, 1.0],
            [6.0, 0.857],
            [7.0, 0.807],
            [10.0, 0.753],
            [13.0, 0.690],
            [16.0, 0.627],
            [22.0, 0.538],
            [23.0, 0.448],
            [35.0, 0.448],
        ];
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                found[0] == expected[0] && (found[1] - expected[1]).abs() < 6e-4,
                "{found:?} {expected:?}"
            );
        }
    }

    #[test]
    fn thirds_are_by_risk() {
        let (risks, times): (Vec<f64>, Vec<f64>) = (0..9).map(|i| (f64::from(i), f64::from(9 - i))).unzip();
        let found = Survival::new(&risks, &times);
        assert_eq!(found.thirds.iter().map(|third| third.n).collect::<Vec<_>>(), [3, 3, 3]);
        assert_eq!((found.thirds[0].median, found.thirds[2].median), (Some(8.0), Some(2.0)));
        assert_eq!(found.thirds[2].at_risk, [3, 2, 1, 0, 0, 0]);
        assert_eq!(Survival::new(&[1.0, 1.0], &[2.0, -3.0]).thirds.len(), 1);
    }
}
