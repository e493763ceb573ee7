//! What labels are made of decision values.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1, Poisson, StandardNormal};

use crate::data::Labels;

/// What the labels of a set are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Outcome {
    /// Two classes: the sign of the decision value.
    #[default]
    Signs,
    /// The decision value with noise of a third of its spread.
    Numbers,
    /// Draws from Poisson distributions, whose means are exponentials of the decision value over its spread.
    Counts,
    /// So many classes of about the same size, by the decision value with noise of a third of its spread.
    Classes(usize),
    /// Times to an event, whose rates are exponentials of the decision value over its spread; negative where the observation ended
    /// before, at a time of mean 2.
    Times,
}

impl Outcome {
    /// The loss of the command for such labels; `None` for the default.
    pub fn loss(self) -> Option<&'static str> {
        match self {
            Self::Signs => None,
            Self::Numbers => Some("squared"),
            Self::Counts => Some("poisson"),
            Self::Classes(_) => Some("softmax"),
            Self::Times => Some("cox"),
        }
    }

    /// The label of every decision value.
    pub(super) fn labels(self, decision: &[f64], random: &mut ChaCha8Rng) -> Labels {
        let n = decision.len().max(1) as f64;
        let mean = decision.iter().sum::<f64>() / n;
        let variance = decision.iter().map(|f| (f - mean) * (f - mean)).sum::<f64>() / n;
        let spread = if variance > 0.0 { variance.sqrt() } else { 1.0 };
        let mut noisy = |f: f64| f + spread / 3.0 * random.sample::<f64, _>(StandardNormal);
        match self {
            Self::Signs => Labels::from_text(decision.iter().map(|&f| if f > 0.0 { "+1" } else { "-1" })),
            Self::Numbers => Labels::from_numbers(decision.iter().map(|&f| noisy(f)).collect()),
            Self::Classes(count) => {
                // Nearly the distribution function of a normal number, so that classes are of about the same size.
                let share = |f: f64| 1.0 / (1.0 + (-1.6 * f / spread).exp());
                let mut class = |f: f64| ((count as f64 * share(noisy(f - mean))) as usize).min(count - 1);
                Labels::from_text(decision.iter().map(|&f| (class(f) + 1).to_string()).collect::<Vec<_>>())
            }
            Self::Counts => {
                let mut count = |f: f64| {
                    let mean = (f / spread).clamp(-20.0, 20.0).exp();
                    Poisson::new(mean).map_or(0.0, |poisson| poisson.sample(random))
                };
                Labels::from_numbers(decision.iter().map(|&f| count(f)).collect())
            }
            Self::Times => {
                let mut time = |f: f64| {
                    let event = random.sample::<f64, _>(Exp1) / (f / spread).clamp(-20.0, 20.0).exp();
                    let end = 2.0 * random.sample::<f64, _>(Exp1);
                    let time = event.min(end).max(f64::MIN_POSITIVE);
                    if event <= end { time } else { -time }
                };
                Labels::from_numbers(decision.iter().map(|&f| time(f)).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Linear, Set};
    use super::*;
    use crate::objective::by_name;
    use crate::{LinearSpace, Machine};

    /// Every outcome is one for its loss, the same from the same seed, and told by the relevant features.
    #[test]
    fn every_outcome_can_be_learned() {
        for outcome in
            [Outcome::Numbers, Outcome::Counts, Outcome::Classes(4), Outcome::Times, Outcome::Signs]
        {
            let made =
                Linear { rows: 400, test_rows: 50, features: 60, relevant: 3, outcome, ..Default::default() };
            let (data, truth) = (made.train().unwrap(), made.truth().unwrap());
            assert_eq!(data.labels, made.train().unwrap().labels);
            assert_eq!(data.labels, made.on_demand(Set::Train).unwrap().labels);
            assert_ne!(data.labels.part(0..50), made.test().unwrap().labels);
            let loss = by_name(outcome.loss().unwrap_or("squared-hinge")).unwrap();
            let machine = Machine::new().loss(loss).features(3).budget(1).cost(1.0);
            let model = machine.fit(&LinearSpace::new(&data), &data.labels).unwrap();
            for term in model.selected() {
                assert!(truth.weight(term.feature.inputs()[0]).is_some(), "{outcome:?}: {}", term.name);
            }
        }
    }
}
