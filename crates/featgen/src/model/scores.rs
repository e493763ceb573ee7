//! How good predictions are.

use serde::Serialize;

use super::Model;
use crate::data::Labels;
use crate::objective::Output;

/// How good predictions are; only what fits the outcome is there.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Scores {
    /// Part of the instances whose class is predicted rightly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// The same of each class that occurs, all classes counting the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balanced_accuracy: Option<f64>,
    /// Area under the ROC curve: how often an instance of the second of two classes has the larger decision value, ties counting
    /// half. Not there if only one class occurs, or if a decision value is not a number: these have no order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auc: Option<f64>,
    /// Mean of minus the logarithm of the probability of the true class, where there are probabilities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_loss: Option<f64>,
    /// Of more than two classes: how many instances of each (rows) were taken for each (columns).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confusion: Option<Vec<Vec<u64>>>,
    /// Of numbers: the part of their variance that is explained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r2: Option<f64>,
    /// Of numbers: the root of the mean squared error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rmse: Option<f64>,
    /// Of counts: the part of their Poisson deviance that is explained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviance_explained: Option<f64>,
    /// Of times: how often, of two instances of which it is known who had the event first, that one has the larger risk, ties
    /// counting half.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concordance: Option<f64>,
}

/// What is known to be true of instances.
#[derive(Debug, Clone, PartialEq)]
pub enum Truth {
    /// The index of the class, in the model's order.
    Classes(Vec<usize>),
    /// Numbers, counts or times.
    Numbers(Vec<f64>),
}

/// Collects what [`Scores`] are made of as predictions come: a few numbers per instance, for the order of all of them counts.
#[derive(Debug, Clone)]
pub struct Tally<'m> {
    model: &'m Model,
    counted: Counted,
}

#[derive(Debug, Clone)]
enum Counted {
    /// Decision values by true class where there are two and one output; and how often each class was taken for each.
    Classes {
        decisions: [Vec<f64>; 2],
        confusion: Vec<Vec<u64>>,
        surprise: Option<f64>,
    },
    Numbers {
        count: f64,
        sum: f64,
        squares: f64,
        errors: f64,
    },
    Counts {
        count: f64,
        sum: f64,
        entropy: f64,
        deviance: f64,
    },
    Times(Vec<(f64, f64)>),
}

impl<'m> Tally<'m> {
    /// Nothing yet, of predictions of this model.
    pub fn new(model: &'m Model) -> Self {
        let classes = model.classes.len();
        let counted = match model.output {
            Output::Classes => Counted::Classes {
                decisions: [Vec::new(), Vec::new()],
                confusion: vec![vec![0; classes]; classes],
                surprise: model.has_probabilities().then_some(0.0),
            },
            Output::Number => Counted::Numbers { count: 0.0, sum: 0.0, squares: 0.0, errors: 0.0 },
            Output::Rate => Counted::Counts { count: 0.0, sum: 0.0, entropy: 0.0, deviance: 0.0 },
            Output::Risk => Counted::Times(Vec::new()),
        };
        Self { model, counted }
    }

    /// Adds the decision values of some instances, given what is true of them.
    pub fn add(&mut self, decision: &[f64], truth: &Truth) {
        let model = self.model;
        let rows = decision.chunks_exact(model.outputs());
        match (&mut self.counted, truth) {
            (Counted::Classes { decisions, confusion, surprise }, Truth::Classes(truth)) => {
                for (d, &class) in rows.zip(truth) {
                    if let ([f], Some(of_class)) = (d, decisions.get_mut(class)) {
                        of_class.push(*f);
                    }
                    confusion[class][model.class(d)] += 1;
                    if let (Some(surprise), Some(p)) = (surprise.as_mut(), model.probabilities(d)) {
                        *surprise -= p[class].max(f64::MIN_POSITIVE).ln();
                    }
                }
            }
            (Counted::Numbers { count, sum, squares, errors }, Truth::Numbers(truth)) => {
                for (&f, &y) in decision.iter().zip(truth) {
                    // Running mean and squares around it, which do not cancel.
                    *count += 1.0;
                    let off = y - *sum;
                    *sum += off / *count;
                    *squares += off * (y - *sum);
                    *errors += (y - f) * (y - f);
                }
            }
            (Counted::Counts { count, sum, entropy, deviance }, Truth::Numbers(truth)) => {
                for (&f, &y) in decision.iter().zip(truth) {
                    let log = if y > 0.0 { y * y.ln() } else { 0.0 };
                    *count += 1.0;
                    *sum += y;
                    *entropy += log;
                    *deviance += f.exp() - y * f - y + log;
                }
            }
            (Counted::Times(pairs), Truth::Numbers(truth)) => {
                pairs.extend(truth.iter().copied().zip(decision.iter().copied()));
            }
            _ => {}
        }
    }

    /// How good all of them are.
    pub fn scores(self) -> Scores {
        match self.counted {
            Counted::Classes { mut decisions, confusion, surprise } => {
                decisions.iter_mut().for_each(|values| values.sort_unstable_by(f64::total_cmp));
                let [negative, positive] = &decisions;
                let all = confusion.iter().flatten().sum::<u64>().max(1) as f64;
                let right = confusion.iter().enumerate().map(|(k, row)| row[k]).sum::<u64>() as f64;
                Scores {
                    accuracy: Some(right / all),
                    balanced_accuracy: balanced(&confusion),
                    auc: auc(negative, positive),
                    log_loss: surprise.map(|sum| sum / all),
                    confusion: (confusion.len() > 2).then_some(confusion),
                    ..Scores::default()
                }
            }
            Counted::Numbers { count, squares, errors, .. } => Scores {
                r2: (squares > 0.0).then(|| 1.0 - errors / squares),
                rmse: (count > 0.0).then(|| (errors / count).sqrt()),
                ..Scores::default()
            },
            Counted::Counts { count, sum, entropy, deviance } => {
                let whole = entropy - sum * (sum / count.max(1.0)).max(f64::MIN_POSITIVE).ln();
                let explained = (whole > 0.0).then(|| 1.0 - deviance / whole);
                Scores { deviance_explained: explained, ..Scores::default() }
            }
            Counted::Times(pairs) => Scores { concordance: concordance(pairs), ..Scores::default() },
        }
    }
}

impl Model {
    /// How good decision values are, given what is true.
    pub fn scores(&self, decision: &[f64], truth: &Truth) -> Scores {
        let mut tally = Tally::new(self);
        tally.add(decision, truth);
        tally.scores()
    }

    /// What labels say is true, in terms of the model; `None` if there are no labels, or others than it can be compared with.
    pub fn truth(&self, labels: &Labels) -> Option<Truth> {
        if self.output != Output::Classes {
            let numbers = labels.numbers().ok()?.into_owned();
            let sound = |&y: &f64| match self.output {
                Output::Rate => y >= 0.0,
                Output::Risk => y != 0.0,
                Output::Classes | Output::Number => true,
            };
            return numbers.iter().all(sound).then_some(Truth::Numbers(numbers));
        }
        let same = |a: &str, b: &str| a == b || crate::target::same_number(a, b);
        let class_of = |label: &String| self.classes.iter().position(|class| same(class, label));
        let classes: Option<Vec<usize>> = labels.classes().iter().map(class_of).collect();
        let classes = classes.filter(|_| !labels.is_empty() && labels.has_classes())?;
        Some(Truth::Classes(labels.codes().iter().map(|&code| classes[code as usize]).collect()))
    }
}

/// The mean, over the classes that occur, of the part that is predicted rightly.
fn balanced(confusion: &[Vec<u64>]) -> Option<f64> {
    let of_class = |(k, row): (usize, &Vec<u64>)| {
        let all = row.iter().sum::<u64>();
        (all > 0).then(|| row[k] as f64 / all as f64)
    };
    let parts: Vec<f64> = confusion.iter().enumerate().filter_map(of_class).collect();
    (!parts.is_empty()).then(|| parts.iter().sum::<f64>() / parts.len() as f64)
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

/// Harrell's index, from times, negative where there was no event until then, and risks. `None` if no two can be compared, or if a
/// risk is not a number.
fn concordance(mut pairs: Vec<(f64, f64)>) -> Option<f64> {
    if pairs.iter().any(|(_, risk)| risk.is_nan()) {
        return None;
    }
    // From the latest on; of the same time, those without event last longer.
    pairs.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()).then_with(|| a.0.total_cmp(&b.0)));
    let mut ranks: Vec<f64> = pairs.iter().map(|&(_, risk)| risk + 0.0).collect();
    ranks.sort_by(f64::total_cmp);
    ranks.dedup();
    let mut later = Counts(vec![0; ranks.len() + 1]);
    let (mut comparable, mut wins, mut seen) = (0.0, 0.0, 0u64);
    for ties in pairs.chunk_by(|a, b| a.0 == b.0) {
        let rank = |risk: f64| ranks.partition_point(|&r| r < risk);
        if ties[0].0 > 0.0 {
            for &(_, risk) in ties {
                let (below, equal) = (later.before(rank(risk)), later.before(rank(risk) + 1));
                comparable += seen as f64;
                wins += below as f64 + 0.5 * (equal - below) as f64;
            }
        }
        for &(_, risk) in ties {
            later.add(rank(risk));
            seen += 1;
        }
    }
    (comparable > 0.0).then(|| wins / comparable)
}

/// How many there are of each rank, so that those below any are found at once (Fenwick's tree).
struct Counts(Vec<u64>);

impl Counts {
    fn add(&mut self, rank: usize) {
        let mut at = rank + 1;
        while at < self.0.len() {
            self.0[at] += 1;
            at += at & at.wrapping_neg();
        }
    }

    /// How many are of a smaller rank.
    fn before(&self, rank: usize) -> u64 {
        let (mut at, mut sum) = (rank, 0);
        while at > 0 {
            sum += self.0[at];
            at &= at - 1;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// Against the definition, pair by pair.
    #[test]
    fn concordance_counts_pairs() {
        let pairs: Vec<(f64, f64)> = (0..60)
            .map(|i| {
                let time = f64::from((i * 7) % 11 + 1) * if i % 3 == 0 { -1.0 } else { 1.0 };
                (time, f64::from((i * 5) % 8))
            })
            .collect();
        let (mut comparable, mut wins) = (0.0, 0.0);
        for &(t, f) in pairs.iter().filter(|(t, _)| *t > 0.0) {
            for &(u, g) in &pairs {
                if u.abs() > t || u == -t {
                    comparable += 1.0;
                    wins += if f > g {
                        1.0
                    } else if f == g {
                        0.5
                    } else {
                        0.0
                    };
                }
            }
        }
        assert_eq!(concordance(pairs), Some(wins / comparable));
        assert_eq!(concordance(vec![(-1.0, 0.5), (-2.0, 0.7)]), None);
    }
}
