//! A model of scaled inputs as one of the columns that they were made of.

use super::{Model, NamedInput};
use crate::error::{Error, Result};
use crate::feature::Scaled;

impl Scaled {
    /// Puts the scale of something into the weights that it has, and what was added to it into the bias, output by output.
    fn put_into(self, weights: &mut [f64], bias: &mut [f64]) {
        for (weight, bias) in weights.iter_mut().zip(bias) {
            *bias -= *weight * self.offset;
            *weight *= self.factor;
        }
    }
}

impl Model {
    /// The model that makes of the columns what this one makes of its inputs, at every point of its path, where `made` says how each
    /// input was made from its column. All else it says is of the fit, on the inputs as they were.
    ///
    /// An error names the first feature that cannot be had of the columns: one that has a curve, or a product of inputs with offsets.
    pub fn unscaled(mut self, made: impl Fn(u64) -> Scaled) -> Result<Self> {
        let terms: Vec<Scaled> = self
            .terms
            .iter()
            .map(|term| {
                let refuse = |reason| Error::Data(format!("feature {}: {reason}", term.name));
                term.feature.unscaled(&made).map_err(refuse)
            })
            .collect::<Result<_>>()?;
        let kept: Vec<Scaled> = self.kept.iter().map(|kept| made(kept.id)).collect();
        for (scaled, term) in terms.iter().zip(&mut self.terms) {
            scaled.put_into(&mut term.weight.0, &mut self.bias.0);
        }
        for (scaled, term) in kept.iter().zip(&mut self.kept) {
            scaled.put_into(&mut term.weight.0, &mut self.bias.0);
        }
        let outputs = self.bias.0.len();
        for round in &mut self.rounds {
            for (&term, weights) in round.terms.iter().zip(round.weights.chunks_exact_mut(outputs)) {
                terms[term].put_into(weights, &mut round.bias.0);
            }
            for (scaled, weight) in kept.iter().zip(&mut round.kept) {
                scaled.put_into(&mut weight.0, &mut round.bias.0);
            }
        }
        Ok(self)
    }

    /// Calls inputs by these names, of which there is one for each: other data that have names are matched by them.
    pub fn with_names(mut self, names: &[String]) -> Self {
        let name = |id: u64| names[id as usize].clone();
        for term in &mut self.terms {
            term.name = term.feature.show(name);
            // Of these, only the old names are known.
            term.aliases.clear();
        }
        self.kept.iter_mut().for_each(|kept| kept.name = name(kept.id));
        let terms = self.terms.iter().flat_map(|term| term.feature.inputs()).copied();
        let mut used: Vec<u64> = terms.chain(self.kept.iter().map(|kept| kept.id)).collect();
        used.sort_unstable();
        used.dedup();
        self.inputs = used.into_iter().map(|id| NamedInput { id, name: name(id), genotype: None }).collect();
        self.by_name = true;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;
    use crate::data::{Columns, Dense, Except, Labels, Layout, Names};
    use crate::objective::{self, Kept};
    use crate::space::{AdditiveSpace, FeatureSpace, Inputs, LinearSpace, PolySpace};

    const ROWS: usize = 60;

    /// Four columns of different sizes.
    fn columns() -> Vec<Vec<f64>> {
        let value = |i: usize, j: usize| (((i * 37 + j * 101) % 53) as f64 - 20.0) * 10f64.powi(j as i32 - 1);
        (0..4).map(|j| (0..ROWS).map(|i| value(i, j)).collect()).collect()
    }

    fn made(id: u64) -> Scaled {
        Scaled { factor: 0.3 / 10f64.powi(id as i32), offset: id as f64 - 1.5 }
    }

    fn without_offset(id: u64) -> Scaled {
        Scaled { offset: 0.0, ..made(id) }
    }

    fn storage(made: Option<fn(u64) -> Scaled>) -> Dense<f64, Vec<f64>> {
        let scale = |(id, column): (u64, Vec<f64>)| {
            let Scaled { factor, offset } = made.map_or(Scaled { factor: 1.0, offset: 0.0 }, |made| made(id));
            column.into_iter().map(move |x| factor * x + offset)
        };
        let values = (0..).zip(columns()).flat_map(scale).collect();
        Dense::new(values, ROWS, 4, Layout::ColumnMajor).unwrap()
    }

    fn labels(classes: usize) -> Labels {
        let columns = columns();
        let class = |i: usize| (columns[1][i] + columns[2][i] / 7.0).abs() as usize % classes;
        Labels::from_text((0..ROWS).map(|i| class(i).to_string()))
    }

    fn decisions(model: &Model, columns: &dyn Columns) -> Vec<f64> {
        model.predictor(&Names::default(), "data").decision(columns).unwrap()
    }

    /// The model of scaled columns says the same of these as its other form says of the columns, with every number of features.
    fn same(model: &Model, made: fn(u64) -> Scaled) {
        let plain = model.clone().unscaled(made).unwrap();
        let (scaled, raw) = (storage(Some(made)), storage(None));
        let check = |model: &Model, plain: &Model| {
            let (expected, found) = (decisions(model, &scaled), decisions(plain, &raw));
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-11 * (1.0 + a.abs());
            assert!(expected.iter().zip(&found).all(close), "{} features", model.count());
        };
        check(model, &plain);
        for count in model.rounds.iter().map(|round| round.selected) {
            check(&model.at(count).unwrap(), &plain.at(count).unwrap());
        }
        assert_eq!((plain.certificate, plain.count()), (model.certificate, model.count()));
    }

    fn fit(space: &dyn FeatureSpace, machine: &Machine, classes: usize) -> Model {
        machine.fit(space, &labels(classes)).unwrap()
    }

    #[test]
    fn linear_models_change_units() {
        let storage = storage(Some(made));
        for (loss, classes) in [("logistic", 2), ("softmax", 3)] {
            let machine =
                Machine::new().loss(objective::by_name(loss).unwrap()).cost(1.0).features(2).budget(1);
            same(&fit(&LinearSpace::over(&storage), &machine, classes), made);
            same(&fit(&LinearSpace::over(&storage), &machine.debias(3.0).shift(false), classes), made);
        }
    }

    #[test]
    fn columns_that_are_kept_change_units() {
        let storage = storage(Some(made));
        let others = Except::new(&storage, [3]);
        let kept = Kept::new(&storage, &Names::default(), &[3]).unwrap();
        let machine = Machine::new().cost(1.0).features(2).budget(1).keep(kept);
        let model = fit(&LinearSpace::over(&others), &machine, 2);
        assert_eq!(model.kept.len(), 1);
        same(&model, made);
    }

    #[test]
    fn products_change_units_where_nothing_was_added() {
        let machine = Machine::new().cost(1.0).features(4).budget(1);
        let scaled = storage(Some(without_offset));
        let model = fit(&PolySpace::new(Inputs::over(&scaled), 1.0, 1.0).unwrap(), &machine, 2);
        assert!(model.terms.iter().any(|term| term.feature.inputs().len() == 2));
        same(&model, without_offset);
        let refused = model.unscaled(made).unwrap_err().to_string();
        assert!(
            refused.ends_with("a product of shifted columns is no product of the columns as they are"),
            "{refused}"
        );
    }

    #[test]
    fn curves_are_refused() {
        let scaled = storage(Some(made));
        let space = AdditiveSpace::gaussian(Inputs::over(&scaled), None).unwrap();
        let refused = fit(&space, &Machine::new().features(1), 2).unscaled(made).unwrap_err().to_string();
        assert!(
            refused.ends_with("a curve over a scaled column is none over the column as it is"),
            "{refused}"
        );
    }

    #[test]
    fn inputs_get_names() {
        let storage = storage(None);
        let machine = Machine::new().cost(1.0).features(2);
        let model = fit(&LinearSpace::over(&storage), &machine, 2);
        let names = ["a", "b", "c", "d"].map(str::to_owned);
        let named = model.clone().with_names(&names);
        assert!(named.by_name);
        assert_eq!(named.inputs.len(), named.terms.len());
        for (term, old) in named.terms.iter().zip(&model.terms) {
            assert_eq!(term.name, names[old.feature.inputs()[0] as usize]);
        }
    }
}
