//! Which classes were taken for which.

use featgen::Model;
use serde::Serialize;

/// Classes whose counts make a table; of more, the most frequent mistakes are listed.
const MOST_CLASSES: usize = 60;

/// Mistakes that are listed.
const MOST_MISTAKES: usize = 50;

/// How often each class was taken for each.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Confusion {
    classes: Vec<String>,
    /// The true class down, the predicted one across; empty of very many classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    counts: Vec<Vec<u64>>,
    /// Of each class, the part that was recognised; `None` if it does not occur.
    recall: Vec<Option<f64>>,
    /// Of what was taken for each class, the part that was right.
    precision: Vec<Option<f64>>,
    /// Of very many classes, the most frequent mistakes: true, predicted, how often.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mistakes: Vec<(usize, usize, u64)>,
}

impl Confusion {
    pub(crate) fn new(model: &Model, decision: &[f64], truth: &[usize]) -> Self {
        let classes = model.classes.len();
        let mut counts = vec![vec![0u64; classes]; classes];
        for (d, &class) in decision.chunks_exact(model.outputs()).zip(truth) {
            counts[class][model.class(d)] += 1;
        }
        Self::of(model.classes.clone(), counts)
    }

    fn of(classes: Vec<String>, counts: Vec<Vec<u64>>) -> Self {
        let part = |of: u64, all: u64| (all > 0).then(|| crate::words::drawn(of as f64 / all as f64));
        let recall = counts.iter().enumerate().map(|(k, row)| part(row[k], row.iter().sum()));
        let taken = |k: usize| counts.iter().map(|row| row[k]).sum::<u64>();
        let precision = (0..classes.len()).map(|k| part(counts[k][k], taken(k)));
        let (recall, precision) = (recall.collect(), precision.collect());
        if classes.len() <= MOST_CLASSES {
            return Self { classes, counts, recall, precision, mistakes: Vec::new() };
        }
        let mut mistakes: Vec<(usize, usize, u64)> = counts
            .iter()
            .enumerate()
            .flat_map(|(k, row)| row.iter().enumerate().map(move |(l, &n)| (k, l, n)))
            .filter(|&(k, l, n)| k != l && n > 0)
            .collect();
        mistakes.sort_by_key(|&(k, l, n)| (std::cmp::Reverse(n), k, l));
        mistakes.truncate(MOST_MISTAKES);
        Self { classes, counts: Vec::new(), recall, precision, mistakes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_of_rows_and_columns() {
        let found = Confusion::of(vec!["a".into(), "b".into()], vec![vec![3, 1], vec![0, 0]]);
        assert_eq!(found.recall, [Some(0.75), None]);
        assert_eq!(found.precision, [Some(1.0), Some(0.0)]);
    }

    #[test]
    fn of_many_classes_the_frequent_mistakes_are_listed() {
        let mut counts = vec![vec![0; 100]; 100];
        (counts[3][7], counts[8][2], counts[5][5]) = (2, 9, 50);
        let found = Confusion::of((0..100).map(|k| k.to_string()).collect(), counts);
        assert!(found.counts.is_empty());
        assert_eq!(found.mistakes, [(8, 2, 9), (3, 7, 2)]);
    }
}
