//! Decision values for new data.

use std::collections::HashMap;

use super::curve::Curve;
use super::{Model, Term};
use crate::data::read::Batch;
use crate::data::{Columns, Dataset, Labels, Names};
use crate::error::{Error, Result};
use crate::loss;
use crate::space::Feature;

/// A model made ready for data from one source: it knows where its features are there.
pub struct Predictor<'m> {
    bias: f64,
    parts: Vec<Part<'m>>,
    /// Where the data have the model's inputs, by id; those that they lack are missing.
    found: HashMap<u64, u64>,
    inputs: Vec<u64>,
    source: String,
}

/// Decision values of instances that follow each other.
#[derive(Debug)]
pub struct Decisions {
    /// One for each instance, up to the first that has none.
    pub values: Vec<f64>,
    /// What is wrong with that one: it holds what is not a number, or what is too large to compute with.
    pub fault: Option<Error>,
}

/// What adds to the decision value: a term, or those of a curve together, so that a value is looked up once.
struct Part<'m> {
    name: &'m str,
    feature: Feature,
    shape: Shape,
}

enum Shape {
    Weight(f64),
    Curve(Curve),
}

impl<'m> Part<'m> {
    /// From a term, or the terms of a curve.
    fn new(model: &'m Model, terms: &[&'m Term]) -> Self {
        let first = terms[0];
        match Curve::new(model, terms) {
            Some(curve) => {
                let name = first.group.map_or(&first.name, |g| &model.groups[g].name);
                let feature = Feature::Input(first.feature.inputs()[0]);
                Self { name, feature, shape: Shape::Curve(curve) }
            }
            None => {
                Self { name: &first.name, feature: first.feature.clone(), shape: Shape::Weight(first.weight) }
            }
        }
    }
}

impl Predictor<'_> {
    /// The inputs that are needed, by their ids in the data.
    pub fn inputs(&self) -> &[u64] {
        &self.inputs
    }

    /// The decision value of every instance of the source, all of them finite; an error names the first that has none.
    pub fn decision(&self, columns: &dyn Columns) -> Result<Vec<f64>> {
        let Decisions { values, fault } = self.decisions(columns, 0);
        fault.map_or(Ok(values), Err)
    }

    /// The decision values of some rows of the source.
    pub fn decision_of(&self, batch: &Batch) -> Decisions {
        self.decisions(&*batch.columns, batch.first)
    }

    /// The decision values of instances that come after so many others. Each depends on nothing but its own values.
    fn decisions(&self, columns: &dyn Columns, before: usize) -> Decisions {
        let position = |id: u64| self.found.get(&id).and_then(|&id| columns.position(id));
        let mut values = vec![-self.bias; columns.rows()];
        let mut faults = Vec::new();
        for Part { name, feature, shape } in &self.parts {
            let Some(column) = feature.column(columns, position) else { continue };
            let strange = column.entries().find(|(_, x)| !x.is_finite());
            faults.extend(strange.map(|(row, x)| (row as usize, Some((name, x)))));
            match shape {
                Shape::Weight(weight) => column.add_to(*weight, &mut values),
                Shape::Curve(curve) => column.map(|x| curve.at(x)).add_to(1.0, &mut values),
            }
        }
        // Of a value that is not finite and the sum that it spoils, the value is told: it comes first.
        faults.extend(values.iter().position(|f| !f.is_finite()).map(|row| (row, None)));
        let fault = faults.into_iter().min_by_key(|&(row, _)| row).map(|(row, value)| {
            let (place, f) = (before + row + 1, values[row]);
            values.truncate(row);
            let reason = match value {
                Some((name, x)) => format!("row {place}, feature {name}: {x} is not a finite number"),
                None => {
                    format!("row {place}: its values are too large for this model: its decision value is {f}")
                }
            };
            Error::input(self.source.as_str(), reason)
        });
        Decisions { values, fault }
    }
}

impl Model {
    /// Makes the model ready for data whose features are called so. Features that the data lack count as 0; others of the
    /// data are ignored. `source` is for messages.
    pub fn predictor(&self, names: &Names, source: &str) -> Predictor<'_> {
        let weighty: Vec<&Term> = self.terms.iter().filter(|term| term.weight != 0.0).collect();
        let used = self.used_inputs();
        let found: HashMap<u64, u64> = if self.by_name && names.identify() {
            let index: HashMap<&str, u64> =
                names.list().iter().zip(0..).map(|(name, id)| (name.as_str(), id)).collect();
            let inputs = self.inputs.iter().filter(|input| used.binary_search(&input.id).is_ok());
            inputs.filter_map(|input| Some((input.id, *index.get(input.name.as_str())?))).collect()
        } else {
            used.into_iter().map(|id| (id, id)).collect()
        };
        // The parts of a curve stand together.
        let same_curve = |a: &&Term, b: &&Term| {
            a.feature.is_part_of_curve() && a.group == b.group && a.feature.inputs() == b.feature.inputs()
        };
        Predictor {
            bias: self.bias,
            parts: weighty.chunk_by(same_curve).map(|terms| Part::new(self, terms)).collect(),
            inputs: found.values().copied().collect(),
            found,
            source: source.to_owned(),
        }
    }

    /// The decision value of every instance. Features that the data lack count as 0; others of the data are ignored.
    pub fn decision(&self, data: &Dataset) -> Result<Vec<f64>> {
        self.predictor(&data.names, &data.source).decision(&*data.columns)
    }

    /// The index of the class (in [`Model::classes`]) of a decision value.
    pub fn class(&self, decision: f64) -> usize {
        usize::from(decision > 0.0)
    }

    /// The probability of the positive class, if the loss is a likelihood.
    pub fn probability(&self, decision: f64) -> Option<f64> {
        loss::by_name(&self.loss).ok()?.probability(decision)
    }

    /// Which of the model's classes each label is; `None` if there are no labels, or others than these.
    pub fn truth(&self, labels: &Labels) -> Option<Vec<usize>> {
        let same = |a: &str, b: &str| a == b || crate::data::same_number(a, b);
        let class_of = |label: &String| self.classes.iter().position(|class| same(class, label));
        let classes: Option<Vec<usize>> = labels.classes().iter().map(class_of).collect();
        let classes = classes.filter(|_| !labels.is_empty())?;
        Some(labels.codes().iter().map(|&code| classes[code as usize]).collect())
    }
}
