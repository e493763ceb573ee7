//! What is known of test data: scores, and what pictures are made of.

mod confusion;
mod numbers;
mod ranking;
mod survival;

use featgen::Model;
use featgen::model::{Scores, Truth};
use featgen::objective::Output;
use serde::Serialize;

use crate::Test;
use crate::words::{Figure, percent, plural, short};
use confusion::Confusion;
use numbers::Numbers;
use ranking::Ranking;
use survival::Survival;

/// What is known of test data.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Tested {
    name: String,
    n: usize,
    figures: Vec<Figure>,
    /// What must be known of the data, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confusion: Option<Confusion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranking: Option<Ranking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    numbers: Option<Numbers>,
    #[serde(skip_serializing_if = "Option::is_none")]
    survival: Option<Survival>,
}

impl Tested {
    pub(crate) fn new(model: &Model, test: &Test<'_>) -> Self {
        let outputs = model.outputs();
        let n = test.decision.len() / outputs;
        let scores = model.scores(test.decision, test.truth);
        let (mut confusion, mut ranking, mut numbers, mut survival) = (None, None, None, None);
        match test.truth {
            Truth::Classes(truth) => {
                confusion = Some(Confusion::new(model, test.decision, truth));
                ranking = (model.classes.len() == 2).then(|| Ranking::new(model, test.decision, truth));
            }
            Truth::Numbers(times) if model.output == Output::Risk => {
                survival = Some(Survival::new(test.decision, times));
            }
            Truth::Numbers(truth) => numbers = Some(Numbers::new(model, test.decision, truth)),
        }
        let auc = scores.auc.or_else(|| ranking.as_ref().and_then(|ranking| ranking.auc));
        Self {
            name: test.name.to_owned(),
            n,
            figures: figures(&Scores { auc, ..scores }, test.truth, model),
            notes: notes(model, test),
            confusion,
            ranking,
            numbers,
            survival,
        }
    }

    /// The score that is to be seen first.
    pub(crate) fn headline(&self) -> Option<Figure> {
        let first = self.figures.first()?;
        let told = format!("on {}; {}", plural(self.n as u128, "test instance"), first.told);
        Some(Figure { name: format!("{} on test data", first.name), text: first.text.clone(), told })
    }
}

/// Scores as people read them.
fn figures(scores: &Scores, truth: &Truth, model: &Model) -> Vec<Figure> {
    let most = match truth {
        Truth::Classes(truth) => {
            let mut counts = vec![0usize; model.classes.len()];
            truth.iter().for_each(|&class| counts[class] += 1);
            counts.into_iter().max().unwrap_or(0) as f64 / truth.len().max(1) as f64
        }
        Truth::Numbers(_) => 0.0,
    };
    let always = format!("always the most frequent class: {}", percent(most));
    let all = [
        scores.accuracy.map(|x| Figure::new("accuracy", &percent(x), &always)),
        scores
            .balanced_accuracy
            .map(|x| Figure::new("balanced accuracy", &percent(x), "all classes counting the same")),
        scores.auc.map(|x| {
            Figure::new("area under the ROC curve", &format!("{x:.4}"), "0.5 is chance, 1 a perfect order")
        }),
        scores.log_loss.map(|x| Figure::new("log loss", &format!("{x:.4}"), "less is better")),
        scores
            .r2
            .map(|x| Figure::new("R²", &format!("{x:.4}"), "the part of the variance that is explained")),
        scores.rmse.map(|x| Figure::new("typical error (RMSE)", &short(x), "in units of the label")),
        scores
            .deviance_explained
            .map(|x| Figure::new("deviance explained", &percent(x), "0 % is the mean for everybody")),
        scores.concordance.map(|x| {
            let told = "how often the one with the larger risk has the event first; 0.5 is chance";
            Figure::new("concordance", &format!("{x:.4}"), told)
        }),
    ];
    all.into_iter().flatten().collect()
}

/// What must be known of the data.
fn notes(model: &Model, test: &Test<'_>) -> Vec<String> {
    const SHOWN: usize = 5;
    let lacking = test.lacking;
    let mut notes = Vec::new();
    if !lacking.missing.is_empty() {
        let shown: Vec<String> =
            lacking.missing.iter().take(SHOWN).map(|name| crate::selection::cut(name, 60)).collect();
        let dots = if lacking.missing.len() > SHOWN { ", …" } else { "" };
        let inputs = plural(lacking.of as u128, "input");
        notes.push(format!(
            "The data lack {} of the {inputs} that the model looks at, counted as 0: {}{dots}.",
            lacking.missing.len(),
            shown.join(", ")
        ));
    }
    if model.output == Output::Classes && !model.has_probabilities() {
        notes.push(format!(
            "The loss {} gives no probabilities: calibration is shown over decision values. The loss logistic gives some.",
            model.loss
        ));
    }
    notes
}

/// Some of many, evenly, both ends among them.
fn thinned<T: Clone>(all: &[T], most: usize) -> Vec<T> {
    match all.len() {
        n if n <= most => all.to_vec(),
        n => (0..most).map(|k| all[k * (n - 1) / (most - 1)].clone()).collect(),
    }
}

/// Into which of so many parts of about the same size each value falls: as many quantiles are below it. Equal values are together.
fn quantile_bins(values: &[f64], parts: usize) -> Vec<usize> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    let edge = |k: usize| {
        let place = k as f64 * last as f64 / parts as f64;
        let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
        low + (high - low) * place.fract()
    };
    let edges: Vec<f64> = (1..parts).filter(|_| !sorted.is_empty()).map(edge).collect();
    values.iter().map(|value| edges.partition_point(|edge| edge < value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_part_evenly_and_keep_equals_together() {
        let values: Vec<f64> = (0..100).rev().map(f64::from).collect();
        let bins = quantile_bins(&values, 10);
        assert!((0..10).all(|bin| bins.iter().filter(|&&b| b == bin).count() == 10));
        assert_eq!(quantile_bins(&[1.0, 1.0, 1.0, 1.0, 2.0], 4), [0, 0, 0, 0, 3]);
        assert_eq!(quantile_bins(&[], 3), [0usize; 0]);
        assert_eq!(quantile_bins(&[5.0], 3), [0]);
    }

    #[test]
    fn both_ends_stay() {
        let some = thinned(&(0..1000).collect::<Vec<_>>(), 7);
        assert_eq!((some.len(), some[0], some[6]), (7, 0, 999));
    }
}
