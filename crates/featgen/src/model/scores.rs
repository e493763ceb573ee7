//! How good predictions are.

use super::Model;

/// How good predictions are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scores {
    /// Part of the instances whose class is predicted rightly.
    pub accuracy: f64,
    /// Area under the ROC curve: how often a positive instance has the larger decision value, ties counting half.
    /// `None` if only one class occurs, or if a decision value is not a number: these have no order.
    pub auc: Option<f64>,
}

/// Collects what [`Scores`] are made of as predictions come: one number per instance, for the order of all of them counts.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// The decision values by true class.
    decisions: [Vec<f64>; 2],
    right: usize,
}

impl Tally {
    /// Adds the decision values of some instances, given their true classes.
    pub fn add(&mut self, model: &Model, decision: &[f64], truth: &[usize]) {
        for (&f, &class) in decision.iter().zip(truth) {
            self.decisions[class].push(f);
            self.right += usize::from(model.class(f) == class);
        }
    }

    /// How good all of them are.
    pub fn scores(mut self) -> Scores {
        let all: usize = self.decisions.iter().map(Vec::len).sum();
        self.decisions.iter_mut().for_each(|values| values.sort_unstable_by(f64::total_cmp));
        let [negative, positive] = &self.decisions;
        Scores { accuracy: self.right as f64 / all.max(1) as f64, auc: auc(negative, positive) }
    }
}

impl Model {
    /// How good decision values are, given the true classes.
    pub fn scores(&self, decision: &[f64], truth: &[usize]) -> Scores {
        let mut tally = Tally::default();
        tally.add(self, decision, truth);
        tally.scores()
    }
}

/// From the decision values of both classes, each in order.
fn auc(mut negative: &[f64], positive: &[f64]) -> Option<f64> {
    let pairs = positive.len() as f64 * negative.len() as f64;
    // In order, what is not a number stands at the ends.
    let ends = [negative.first(), negative.last(), positive.first(), positive.last()];
    if pairs == 0.0 || ends.into_iter().flatten().any(|f| f.is_nan()) {
        return None;
    }
    // Walk up the values of positives; each beats the negatives below it and half of its equals.
    let (mut wins, mut below) = (0.0, 0);
    for here in positive.chunk_by(|a, b| a == b) {
        below += take_while(&mut negative, |f| f < here[0]);
        let equal = take_while(&mut negative, |f| f == here[0]);
        wins += here.len() as f64 * (below as f64 + 0.5 * equal as f64);
        below += equal;
    }
    Some(wins / pairs)
}

/// Takes from the front what belongs there; returns how many these are.
fn take_while(values: &mut &[f64], belongs: impl Fn(f64) -> bool) -> usize {
    let count = values.iter().take_while(|&&f| belongs(f)).count();
    *values = &values[count..];
    count
}

#[cfg(test)]
mod tests {
    use super::auc;

    #[test]
    fn auc_counts_pairs() {
        assert_eq!(auc(&[0.1, 0.2], &[0.3, 0.4]), Some(1.0));
        assert_eq!(auc(&[0.3, 0.4], &[0.1, 0.2]), Some(0.0));
        assert_eq!(auc(&[0.5, 0.5], &[0.5, 0.5]), Some(0.5));
        assert_eq!(auc(&[-0.0, 0.0], &[-0.0, 0.0]), Some(0.5));
        assert_eq!(auc(&[0.1, 0.3], &[0.2, 0.4]), Some(0.75));
        assert_eq!(auc(&[], &[0.1, 0.2]), None);
    }

    /// It never ended where a value was not a number.
    #[test]
    fn auc_ends_for_any_values() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        assert_eq!(auc(&[-inf, 0.0], &[0.0, inf]), Some(0.875));
        assert_eq!(auc(&[-inf, inf], &[-inf, inf]), Some(0.5));
        for (negative, positive) in
            [(&[0.0][..], &[nan][..]), (&[nan], &[0.0]), (&[-nan, 1.0], &[-nan, 2.0]), (&[1.0, nan], &[1.0])]
        {
            assert_eq!(auc(negative, positive), None, "{negative:?} {positive:?}");
        }
    }
}
