//! How much features matter: weights are in units of the data, and a feature with small values has a large weight.

use std::collections::HashMap;

use featgen::Model;
use featgen::data::{Columns, Names};
use featgen::model::Term;

/// How much each feature changes decision values over some data: the standard deviation of what it adds. Data may come in parts.
pub struct Effects<'m> {
    model: &'m Model,
    /// Where the data have the model's inputs, if that is known by name.
    found: Option<HashMap<u64, u64>>,
    /// In the order in which the page has them.
    parts: Vec<Part<'m>>,
    n: f64,
}

/// A feature, or the features of a curve together.
struct Part<'m> {
    terms: Vec<&'m Term>,
    /// The mean and the sum of squares around it, for each output; of a feature, those of its values.
    moments: Vec<[f64; 2]>,
}

impl<'m> Effects<'m> {
    /// Nothing yet, of data whose features are called so.
    pub fn new(model: &'m Model, names: &Names) -> Self {
        let found = (model.by_name && names.identify()).then(|| {
            let index: HashMap<&str, u64> = names.list().iter().map(String::as_str).zip(0..).collect();
            let place =
                |input: &featgen::model::NamedInput| Some((input.id, *index.get(input.name.as_str())?));
            model.inputs.iter().filter_map(place).collect()
        });
        let parts: Vec<Vec<&Term>> = match model.has_curves() {
            true => model.selected_groups().into_iter().map(|selected| selected.terms).collect(),
            false => model.selected().into_iter().map(|term| vec![term]).collect(),
        };
        let part = |terms: Vec<&'m Term>| {
            let outputs = if model.has_curves() { model.outputs() } else { 1 };
            Part { terms, moments: vec![[0.0; 2]; outputs] }
        };
        Self { model, found, parts: parts.into_iter().map(part).collect(), n: 0.0 }
    }

    /// Adds some instances.
    pub fn add(&mut self, columns: &dyn Columns) {
        let rows = columns.rows();
        let Self { model, found, parts, n } = self;
        let at = |id: u64| columns.position(found.as_ref().map_or(Some(id), |of| of.get(&id).copied())?);
        for Part { terms, moments } in parts {
            for (output, before) in moments.iter_mut().enumerate() {
                let mut values = vec![0.0; rows];
                for term in terms.iter() {
                    let weight = if model.has_curves() { term.weight.0[output] } else { 1.0 };
                    if let Some(column) = term.feature.column(columns, at) {
                        column.add_to(weight, &mut values);
                    }
                }
                *before = joined(*before, *n, moments_of(&values), rows as f64);
            }
        }
        *n += rows as f64;
    }

    /// The effects, in the order of the model's selection.
    pub fn finish(self) -> Vec<f64> {
        let n = self.n.max(1.0);
        let effect = |Part { terms, moments }: Part<'_>| {
            let deviation = (moments.iter().map(|[_, squares]| squares / n).sum::<f64>()).sqrt();
            match self.model.has_curves() {
                true => deviation,
                false => deviation * terms[0].weight.length(),
            }
        };
        self.parts.into_iter().map(effect).collect()
    }
}

/// The mean, and the sum of squares around it.
fn moments_of(values: &[f64]) -> [f64; 2] {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    [mean, values.iter().map(|x| (x - mean) * (x - mean)).sum()]
}

/// The moments of so many values and others together (Chan, Golub and LeVeque 1979).
fn joined([mean, squares]: [f64; 2], n: f64, [other, more]: [f64; 2], k: f64) -> [f64; 2] {
    if n + k == 0.0 {
        return [0.0; 2];
    }
    let off = other - mean;
    [mean + off * k / (n + k), squares + more + off * off * n * k / (n + k)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_join_to_the_whole() {
        let values: Vec<f64> = (0..50).map(|i| f64::from(i * i % 17) + 1e6).collect();
        let mut so_far = ([0.0; 2], 0.0);
        for part in values.chunks(7) {
            so_far = (
                joined(so_far.0, so_far.1, moments_of(part), part.len() as f64),
                so_far.1 + part.len() as f64,
            );
        }
        let [mean, squares] = moments_of(&values);
        assert!((so_far.0[0] - mean).abs() < 1e-6 && (so_far.0[1] / squares - 1.0).abs() < 1e-9);
        assert_eq!(joined([0.0; 2], 0.0, moments_of(&[]), 0.0), [0.0; 2]);
    }
}
