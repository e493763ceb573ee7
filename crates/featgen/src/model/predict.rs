//! Decision values for new data, and how good they are.

use std::collections::HashMap;

use super::curve::Curve;
use super::{Model, Term};
use crate::data::{Column, Dataset};
use crate::error::{Error, Result};
use crate::loss;
use crate::space::{Feature, Inputs};

/// How good predictions are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scores {
    /// Part of the instances whose class is predicted rightly.
    pub accuracy: f64,
    /// Area under the ROC curve: how often a positive instance has the larger decision value, ties counting half.
    /// `None` if only one class occurs.
    pub auc: Option<f64>,
}

impl Model {
    /// The decision value of every instance. Features that the data lack count as 0; others of the data are ignored.
    pub fn decision(&self, data: &Dataset) -> Result<Vec<f64>> {
        self.decision_on(&Inputs::new(data), &data.source)
    }

    /// The same for any storage; `source` is for messages.
    pub fn decision_on(&self, inputs: &Inputs<'_>, source: &str) -> Result<Vec<f64>> {
        let columns = inputs.columns();
        let by_name = self.by_name && inputs.named();
        let index: HashMap<&str, u64> = if by_name {
            inputs.names().iter().zip(0..).map(|(name, id)| (name.as_str(), id)).collect()
        } else {
            HashMap::new()
        };
        let known: HashMap<u64, u64> = self
            .inputs
            .iter()
            .filter_map(|input| Some((input.id, *index.get(input.name.as_str())?)))
            .collect();
        let position = |id: u64| {
            let id = if by_name { known.get(&id).copied() } else { Some(id) };
            id.and_then(|id| columns.position(id))
        };
        let mut f = vec![-self.bias; columns.rows()];
        let weighty: Vec<&Term> = self.terms.iter().filter(|term| term.weight != 0.0).collect();
        // The parts of a curve stand together, and are evaluated together: a look-up per value.
        let same_curve = |a: &&Term, b: &&Term| {
            a.feature.is_part_of_curve() && a.group == b.group && a.feature.inputs() == b.feature.inputs()
        };
        for terms in weighty.chunk_by(same_curve) {
            let curve = Curve::new(terms);
            let feature = match &curve {
                Some(_) => &Feature::Input(terms[0].feature.inputs()[0]),
                None => &terms[0].feature,
            };
            let Some(column) = feature.column(columns, position) else { continue };
            check_finite(&column, &terms[0].name, source)?;
            match curve {
                Some(curve) => column.map(|x| curve.at(x)).add_to(1.0, &mut f),
                None => column.add_to(terms[0].weight, &mut f),
            }
        }
        Ok(f)
    }

    /// The index of the class (in [`Model::classes`]) of a decision value.
    pub fn class(&self, decision: f64) -> usize {
        usize::from(decision > 0.0)
    }

    /// The probability of the positive class, if the loss is a likelihood.
    pub fn probability(&self, decision: f64) -> Option<f64> {
        loss::by_name(&self.loss).ok()?.probability(decision)
    }

    /// Which of the model's classes each label of `data` is; `None` if the data have no labels or others than these.
    pub fn truth(&self, data: &Dataset) -> Option<Vec<usize>> {
        let same = |a: &str, b: &str| a == b || crate::data::same_number(a, b);
        let class_of = |label: &String| self.classes.iter().position(|class| same(class, label));
        let classes: Option<Vec<usize>> = data.labels.classes().iter().map(class_of).collect();
        let classes = classes.filter(|_| !data.labels.is_empty())?;
        Some(data.labels.codes().iter().map(|&code| classes[code as usize]).collect())
    }

    /// How good decision values are, given the true classes.
    pub fn scores(&self, decision: &[f64], truth: &[usize]) -> Scores {
        let right = decision.iter().zip(truth).filter(|&(&f, &t)| self.class(f) == t).count();
        Scores { accuracy: right as f64 / truth.len().max(1) as f64, auc: auc(decision, truth) }
    }
}

fn check_finite(column: &Column, name: &str, source: &str) -> Result<()> {
    let (Column::Dense(values) | Column::Sparse { values, .. }) = column;
    if values.iter().all(|x| x.is_finite()) {
        return Ok(());
    }
    Err(Error::input(source, format!("feature {name} holds a value that is not a finite number")))
}

fn auc(decision: &[f64], truth: &[usize]) -> Option<f64> {
    let mut order: Vec<usize> = (0..truth.len()).collect();
    order.sort_by(|&a, &b| decision[a].total_cmp(&decision[b]));
    let positives = truth.iter().filter(|&&t| t == 1).count();
    let negatives = truth.len() - positives;
    if positives == 0 || negatives == 0 {
        return None;
    }
    // Walk up groups of equal decision values; each positive beats the negatives below it and half of its equals.
    let (mut wins, mut below, mut at) = (0.0, 0usize, 0);
    while at < order.len() {
        let value = decision[order[at]];
        let end = at + order[at..].iter().take_while(|&&i| decision[i] == value).count();
        let here = order[at..end].iter().filter(|&&i| truth[i] == 1).count();
        let other = end - at - here;
        wins += here as f64 * (below as f64 + 0.5 * other as f64);
        below += other;
        at = end;
    }
    Some(wins / (positives as f64 * negatives as f64))
}

#[cfg(test)]
mod tests {
    use super::auc;

    #[test]
    fn auc_counts_pairs() {
        assert_eq!(auc(&[0.1, 0.2, 0.3, 0.4], &[0, 0, 1, 1]), Some(1.0));
        assert_eq!(auc(&[0.4, 0.3, 0.2, 0.1], &[0, 0, 1, 1]), Some(0.0));
        assert_eq!(auc(&[0.5, 0.5, 0.5, 0.5], &[0, 1, 0, 1]), Some(0.5));
        assert_eq!(auc(&[0.1, 0.3, 0.2, 0.4], &[0, 0, 1, 1]), Some(0.75));
        assert_eq!(auc(&[0.1, 0.2], &[1, 1]), None);
    }
}
