//! Decision values for new data.

use std::collections::HashMap;

use super::{KeptTerm, Model, Term, predicted_class};
use crate::data::read::Batch;
use crate::data::{Columns, Dataset, Names};
use crate::error::{Error, Result};
use crate::feature::{Curve, Feature};
use crate::objective::{LossSpec, Output};

/// A model made ready for data from one source: it knows where its features are there.
pub struct Predictor<'m> {
    bias: &'m [f64],
    parts: Vec<Part<'m>>,
    /// Where the data have the model's inputs, by id; those that they lack are missing.
    found: HashMap<u64, u64>,
    inputs: Vec<u64>,
    source: String,
}

/// Decision values of instances that follow each other.
#[derive(Debug)]
pub struct Decisions {
    /// Those of each instance, all its outputs together, up to the first instance that has none.
    pub values: Vec<f64>,
    /// What is wrong with that one: it holds what is not a number, or what is too large to compute with.
    pub fault: Option<Error>,
}

/// What adds to the decision value: a term, or those of a curve together, so that a value is looked up once.
struct Part<'m> {
    name: &'m str,
    feature: Feature,
    /// What it adds to each output.
    effects: Vec<Effect>,
}

/// What a part adds to an output.
enum Effect {
    Weight(f64),
    Curve(Box<dyn Curve>),
}

impl<'m> Part<'m> {
    /// From a term, or the terms of a curve.
    fn new(model: &'m Model, terms: &[&'m Term]) -> Self {
        let first = terms[0];
        let curves: Option<Vec<Effect>> =
            (0..model.outputs()).map(|k| model.sum_of_parts(terms, k).map(Effect::Curve)).collect();
        match curves {
            Some(effects) => {
                let name = first.group.map_or(&first.name, |g| &model.groups[g].name);
                Self { name, feature: Feature::input(first.feature.inputs()[0]), effects }
            }
            None => {
                let effects = first.weight.0.iter().map(|&weight| Effect::Weight(weight)).collect();
                Self { name: &first.name, feature: first.feature.clone(), effects }
            }
        }
    }

    /// From a column that is kept.
    fn kept(term: &'m KeptTerm) -> Self {
        let effects = term.weight.0.iter().map(|&weight| Effect::Weight(weight)).collect();
        Self { name: &term.name, feature: Feature::input(term.id), effects }
    }
}

impl Predictor<'_> {
    /// The inputs that are needed, by their ids in the data.
    pub fn inputs(&self) -> &[u64] {
        &self.inputs
    }

    /// The decision values of every instance of the source, all outputs of one before those of the next, and all of them finite; an
    /// error names the first instance that has none.
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
        let (n, outputs) = (columns.rows(), self.bias.len());
        let mut by_output: Vec<Vec<f64>> = self.bias.iter().map(|bias| vec![-bias; n]).collect();
        let mut faults = Vec::new();
        for Part { name, feature, effects } in &self.parts {
            let Some(column) = feature.column(columns, position) else { continue };
            let strange = column.entries().find(|(_, x)| !x.is_finite());
            faults.extend(strange.map(|(row, x)| (row as usize, Some((name, x)))));
            for (effect, values) in effects.iter().zip(&mut by_output) {
                match effect {
                    Effect::Weight(weight) => column.add_to(*weight, values),
                    Effect::Curve(curve) => column.map(|x| curve.at(x)).add_to(1.0, values),
                }
            }
        }
        let mut values = match by_output.len() {
            1 => by_output.swap_remove(0),
            _ => (0..n).flat_map(|i| by_output.iter().map(move |values| values[i])).collect(),
        };
        // Of a value that is not finite and the sum that it spoils, the value is told: it comes first.
        faults.extend(values.iter().position(|f| !f.is_finite()).map(|at| (at / outputs, None)));
        let fault = faults.into_iter().min_by_key(|&(row, _)| row).map(|(row, value)| {
            let own = &values[row * outputs..(row + 1) * outputs];
            let (place, f) =
                (before + row + 1, own.iter().copied().find(|f| !f.is_finite()).unwrap_or(own[0]));
            values.truncate(row * outputs);
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
        let weighty: Vec<&Term> = self.terms.iter().filter(|term| !term.weight.is_zero()).collect();
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
            bias: &self.bias.0,
            parts: weighty
                .chunk_by(same_curve)
                .map(|terms| Part::new(self, terms))
                .chain(self.kept.iter().map(Part::kept))
                .collect(),
            inputs: found.values().copied().collect(),
            found,
            source: source.to_owned(),
        }
    }

    /// The decision values of every instance, all outputs of one before those of the next. Features that the data lack count as 0; others of the data are ignored.
    pub fn decision(&self, data: &Dataset) -> Result<Vec<f64>> {
        self.predictor(&data.names, &data.source).decision(&*data.columns)
    }

    /// The index of the class (in [`Model::classes`]) that the decision values of an instance say.
    pub fn class(&self, decision: &[f64]) -> usize {
        predicted_class(decision.iter().copied())
    }

    /// Whether there are probabilities of classes.
    pub fn has_probabilities(&self) -> bool {
        LossSpec::find(&self.loss).is_some_and(|spec| spec.probabilities.is_some())
    }

    /// The probabilities of all classes for the decision values of an instance, if the loss is a likelihood.
    pub fn probabilities(&self, decision: &[f64]) -> Option<Vec<f64>> {
        LossSpec::find(&self.loss)?.probabilities.map(|of| of(decision))
    }

    /// What decision value `f` predicts where that is a number: the number, the expected count, or the logarithm of the risk.
    pub fn number(&self, f: f64) -> f64 {
        match self.output {
            Output::Classes | Output::Number | Output::Risk => f,
            Output::Rate => f.exp(),
        }
    }
}
