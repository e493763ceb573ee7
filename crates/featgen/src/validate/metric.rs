//! What is measured of instances held out, and what no features at all would reach.

use crate::data::Labels;
use crate::error::{Error, Result};
use crate::model::Scores;
use crate::objective::{LossSpec, Output};

/// What says how good predictions are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// The part of the instances whose class is predicted.
    Accuracy,
    /// The same of each class, all classes counting the same.
    BalancedAccuracy,
    /// The area under the ROC curve.
    Auc,
    /// Mean of minus the logarithm of the probability of the true class: the less, the better.
    LogLoss,
    /// The part of the variance that is explained.
    R2,
    /// The part of the Poisson deviance that is explained.
    Deviance,
    /// How often, of two instances, the one with the larger risk has the event first.
    Concordance,
}

impl Metric {
    /// All of them, in the order in which users see them.
    pub const ALL: &[Self] = &[
        Self::Accuracy,
        Self::BalancedAccuracy,
        Self::Auc,
        Self::LogLoss,
        Self::R2,
        Self::Deviance,
        Self::Concordance,
    ];

    /// What users call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy",
            Self::BalancedAccuracy => "balanced-accuracy",
            Self::Auc => "auc",
            Self::LogLoss => "log-loss",
            Self::R2 => "r2",
            Self::Deviance => "deviance",
            Self::Concordance => "concordance",
        }
    }

    /// What it is, on one line.
    pub fn help(self) -> &'static str {
        match self {
            Self::Accuracy => "Of classes: the part that is predicted rightly",
            Self::BalancedAccuracy => "The same, with all classes counting the same however many are of each",
            Self::Auc => "Of two classes: how often one of the second has the larger decision value",
            Self::LogLoss => {
                "With the losses logistic and softmax: how improbable the true classes are; less is better"
            }
            Self::R2 => "Of numbers: the part of their variance that is explained",
            Self::Deviance => "Of counts: the part of their deviance that is explained",
            Self::Concordance => "Of times: how often the one with the larger risk has the event first",
        }
    }

    /// The one of that name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|metric| metric.name() == name)
    }

    /// The usual one of an outcome.
    pub fn usual(output: Output) -> Self {
        match output {
            Output::Classes => Self::Accuracy,
            Output::Number => Self::R2,
            Output::Rate => Self::Deviance,
            Output::Risk => Self::Concordance,
        }
    }

    /// An error if it says nothing of what a loss predicts, of so many classes.
    pub fn check(self, loss: &str, classes: usize) -> Result<()> {
        let spec = LossSpec::find(loss);
        let output = spec.map_or(Output::Classes, |spec| spec.output);
        let likelihood = spec.is_some_and(|spec| spec.probabilities.is_some());
        let fits = match self {
            Self::Accuracy | Self::BalancedAccuracy => output == Output::Classes,
            Self::Auc => output == Output::Classes && classes == 2 && loss != "softmax",
            Self::LogLoss => likelihood,
            Self::R2 => output == Output::Number,
            Self::Deviance => output == Output::Rate,
            Self::Concordance => output == Output::Risk,
        };
        match fits {
            true => Ok(()),
            false => {
                let (name, usual) = (self.name(), Self::usual(output).name());
                let reason = format!("{name} does not fit the loss {loss} and these labels; {usual} does");
                Err(Error::parameter("metric", reason))
            }
        }
    }

    /// Its value among scores; `None` if it has none on these instances.
    pub fn of(self, scores: &Scores) -> Option<f64> {
        match self {
            Self::Accuracy => scores.accuracy,
            Self::BalancedAccuracy => scores.balanced_accuracy,
            Self::Auc => scores.auc,
            Self::LogLoss => scores.log_loss,
            Self::R2 => scores.r2,
            Self::Deviance => scores.deviance_explained,
            Self::Concordance => scores.concordance,
        }
    }

    /// A value such that more is better.
    pub fn merit(self, value: f64) -> f64 {
        if self == Self::LogLoss { -value } else { value }
    }

    /// Why it may have no value on the instances of a fold.
    pub(super) fn why_none(self) -> &'static str {
        match self {
            Self::Auc => "it holds instances of one class only",
            Self::R2 | Self::Deviance => "all its labels are the same",
            Self::Concordance => "of no two of its instances it is known who had the event first",
            _ => "it holds no instance that counts",
        }
    }

    /// What predictions reach that look at no feature: always the most frequent class, or the mean.
    pub fn without_features(self, labels: &Labels) -> f64 {
        let mut counts = vec![0u64; labels.classes().len()];
        labels.codes().iter().for_each(|&code| counts[code as usize] += 1);
        let parts = counts.iter().map(|&count| count as f64 / labels.len().max(1) as f64);
        match self {
            Self::Accuracy => parts.fold(0.0, f64::max),
            Self::BalancedAccuracy => 1.0 / counts.len().max(1) as f64,
            Self::LogLoss => parts.filter(|&part| part > 0.0).map(|part| -part * part.ln()).sum(),
            Self::Auc | Self::Concordance => 0.5,
            Self::R2 | Self::Deviance => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_outcome_has_metrics_of_its_own() {
        for loss in crate::objective::ALL {
            let usual = Metric::usual(loss.output);
            usual.check(loss.name, 2).unwrap();
            let fitting = Metric::ALL.iter().filter(|metric| metric.check(loss.name, 2).is_ok()).count();
            assert!((1..=4).contains(&fitting), "{}", loss.name);
        }
        assert!(Metric::Auc.check("squared-hinge", 3).is_err());
        let said = Metric::LogLoss.check("squared-hinge", 2).unwrap_err().to_string();
        assert_eq!(
            said,
            "metric: log-loss does not fit the loss squared-hinge and these labels; accuracy does"
        );
        assert!(Metric::ALL.iter().all(|&metric| Metric::find(metric.name()) == Some(metric)));
    }

    #[test]
    fn no_features_reach_what_the_labels_say() {
        let labels = Labels::from_text(["a", "a", "a", "b"]);
        assert_eq!(Metric::Accuracy.without_features(&labels), 0.75);
        assert_eq!(Metric::BalancedAccuracy.without_features(&labels), 0.5);
        let entropy = -(0.75f64 * 0.75f64.ln() + 0.25 * 0.25f64.ln());
        assert!((Metric::LogLoss.without_features(&labels) - entropy).abs() < 1e-15);
        assert!(Metric::LogLoss.merit(0.2) > Metric::LogLoss.merit(0.3));
    }
}
