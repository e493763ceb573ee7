//! `docs/extending.md`, followed as an outside crate would: a loss and a space of one's own, fitted, certified, saved and loaded.

use std::sync::Arc;

use featgen::data::{Column, Dataset, Labels, read::Reader};
use featgen::feature::Feature;
use featgen::objective::{Loss, Objective, Output};
use featgen::operator::{LinearOperator, Operator};
use featgen::space::{
    Ask, Candidate, DataFacts, Demand, FeatureSpace, Footprint, Inputs, Members, Precision, Scored, Settings,
    WorstCase,
};
use featgen::{Error, LinearSpace, Machine, Model, Result};

/// `log cosh(y - f)`: squared near the target, absolute far from it, smooth everywhere.
struct LogCosh;

impl Loss for LogCosh {
    fn name(&self) -> &str {
        "log-cosh"
    }

    fn output(&self) -> Output {
        Output::Number
    }

    fn objective(&self, labels: &Labels, costs: Vec<f64>) -> Result<Box<dyn Objective>> {
        Ok(Box::new(SumOfLogCosh { y: labels.numbers()?.into_owned(), costs }))
    }
}

struct SumOfLogCosh {
    y: Vec<f64>,
    costs: Vec<f64>,
}

impl SumOfLogCosh {
    fn each<'a>(&'a self, d: &'a [f64]) -> impl Iterator<Item = (f64, f64)> + 'a {
        self.y.iter().zip(d).zip(&self.costs).map(|((y, d), cost)| (y - d, *cost))
    }
}

impl Objective for SumOfLogCosh {
    fn costs(&self) -> &[f64] {
        &self.costs
    }

    fn rescale(&mut self, factor: f64) {
        self.costs.iter_mut().for_each(|cost| *cost *= factor);
    }

    fn value(&self, d: &[f64]) -> f64 {
        // log cosh r = |r| + log(1 + exp(-2 |r|)) - log 2: nothing overflows.
        let one = |r: f64| r.abs() + (-2.0 * r.abs()).exp().ln_1p() - std::f64::consts::LN_2;
        self.each(d).map(|(r, cost)| cost * one(r).max(0.0)).sum()
    }

    fn residual(&self, d: &[f64], v: &mut [f64]) {
        self.each(d).zip(v).for_each(|((r, cost), v)| *v = cost * r.tanh());
    }

    fn curvature(&self, d: &[f64], h: &mut [f64]) {
        self.each(d).zip(h).for_each(|((r, cost), h)| *h = cost * (1.0 - r.tanh().powi(2)));
    }
}

/// The square of every input, and nothing else.
struct Squares<'a> {
    inputs: Inputs<'a>,
    /// Whether their columns are written down.
    written: bool,
}

impl Squares<'_> {
    fn feature(&self, position: usize) -> Feature {
        let id = self.inputs.columns().id(position);
        Feature::product([id, id])
    }
}

impl FeatureSpace for Squares<'_> {
    fn data(&self) -> &dyn DataFacts {
        &self.inputs
    }

    fn size(&self) -> u128 {
        u128::from(self.inputs.dimension())
    }

    fn worst_case(&self, ask: &Ask<'_>) -> Result<WorstCase> {
        let rows = self.inputs.rows();
        let mut best = Vec::new();
        for position in 0..self.inputs.columns().len() {
            let column = &self.inputs.columns().gather(&[position])[0];
            let of_output = |v: &[f64]| column.entries().map(|(i, x)| v[i as usize] * x * x).sum::<f64>();
            let score = ask.v.chunks_exact(rows).map(|v| of_output(v).powi(2)).sum::<f64>().sqrt();
            if score > 0.0 {
                best.push(Scored { score, item: Candidate::Feature(self.feature(position)) });
            }
        }
        best.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.item.cmp(&b.item)));
        let scored = best.len() as u128;
        let mut fresh: Vec<_> =
            best.iter().filter(|found| !ask.taken.contains(&found.item)).cloned().collect();
        best.truncate(ask.budget);
        fresh.truncate(ask.budget);
        Ok(WorstCase { best, fresh, scored, ..WorstCase::default() })
    }

    fn precision(&self) -> Result<Precision> {
        Ok(Precision { radius: self.inputs.largest()?.powi(2), operations: 16 })
    }

    fn group(&self, candidate: &Candidate) -> Result<Members> {
        match candidate {
            Candidate::Feature(feature) => {
                Ok(Members { name: None, size: 1, features: vec![feature.clone()], ..Members::default() })
            }
            _ => Err(Error::Data("squares come one by one".into())),
        }
    }

    fn generate(&self, features: &[Feature]) -> Result<Vec<Operator>> {
        if self.written {
            return Ok(self.inputs.generate(features)?.into_iter().map(Operator::Column).collect());
        }
        let roots: Vec<Feature> =
            features.iter().map(|feature| Feature::input(feature.inputs()[0])).collect();
        let square = |root: Column| Operator::Implicit(Arc::new(SquareOf(root)));
        Ok(self.inputs.generate(&roots)?.into_iter().map(square).collect())
    }

    fn settings(&self) -> Settings {
        vec![("space", "squares".into())]
    }

    fn footprint(&self, demand: &Demand) -> Footprint {
        let [measured, columns] =
            [demand.measured, demand.held].map(|count| (8 * self.inputs.rows() * count) as u64);
        Footprint { least: measured, most: measured, columns, width: demand.held as u64 }
    }
}

/// The square of a column, never written down.
#[derive(Debug)]
struct SquareOf(Column);

impl SquareOf {
    fn entries(&self) -> impl Iterator<Item = (usize, f64)> {
        self.0.entries().map(|(i, x)| (i as usize, x * x))
    }
}

impl LinearOperator for SquareOf {
    fn width(&self) -> usize {
        1
    }

    fn apply(&self, w: &[f64], f: &mut [f64]) {
        self.entries().for_each(|(i, x)| f[i] += w[0] * x);
    }

    fn transpose(&self, v: &[f64]) -> Vec<f64> {
        vec![self.entries().map(|(i, x)| v[i] * x).sum()]
    }

    fn squares(&self, v: &[f64]) -> Vec<f64> {
        vec![self.entries().map(|(i, x)| v[i] * x * x).sum()]
    }

    fn pack(&self, rows: &[(u32, f64)], stride: usize, out: &mut [f64]) {
        self.0.pack(rows, stride, out);
        out.iter_mut().step_by(stride).for_each(|x| *x *= *x);
    }

    fn restrict(&self, place: &[Option<u32>]) -> Operator {
        match self.0.restrict(place) {
            Operator::Column(root) => Operator::Implicit(Arc::new(Self(root))),
            other => other,
        }
    }
}

fn data() -> (tempfile::TempDir, Dataset) {
    let folder = tempfile::tempdir().unwrap();
    let value = |i: usize, j: usize| ((i * 37 + j * 61) as f64 * 0.7371).sin() * 1.5;
    let line = |i: usize| {
        let x: Vec<f64> = (0..8).map(|j| value(i, j)).collect();
        // A wild number now and then.
        let y = x[2] * x[2] - 0.5 * x[5] + if i.is_multiple_of(40) { 30.0 } else { 0.0 };
        let cells: String = x.iter().enumerate().map(|(j, x)| format!(" {}:{x}", j + 1)).collect();
        format!("{y}{cells}\n")
    };
    std::fs::write(folder.path().join("d.svm"), (0..300).map(line).collect::<String>()).unwrap();
    let data = Reader::new().read(folder.path().join("d.svm")).unwrap();
    (folder, data)
}

#[test]
fn a_loss_of_ones_own_is_fitted_certified_saved_and_loaded() {
    let (folder, data) = data();
    let machine = Machine::new().loss(Arc::new(LogCosh)).cost(0.3).budget(2).gap(1e-5);
    let model = machine.fit(&LinearSpace::new(&data), &data.labels).unwrap();
    assert!(model.certificate.gap() <= 1e-5, "{:?}", model.certificate);
    // Gradient and norm say the same as the certificate: at the optimum the largest pulls are equal to the weights' norm.
    let decision = model.decision(&data).unwrap();
    let objective = LogCosh.objective(&data.labels, vec![0.3; 300]).unwrap();
    assert!(objective.value(&decision) < model.certificate.objective);
    let path = folder.path().join("model.json");
    model.save(&path).unwrap();
    let again = Model::load(&path).unwrap();
    assert_eq!(again, model_without_times(model));
    assert_eq!((again.loss.as_str(), again.output), ("log-cosh", Output::Number));
    assert_eq!(again.decision(&data).unwrap(), decision);
    let scores = again.scores(&decision, &again.truth(&data.labels).unwrap());
    assert!(scores.r2.is_some() && scores.accuracy.is_none());
}

/// Times are not saved.
fn model_without_times(mut model: Model) -> Model {
    model.rounds.iter_mut().for_each(|round| round.seconds = Default::default());
    model
}

#[test]
fn a_space_of_ones_own_is_searched_saved_and_loaded() {
    let (folder, data) = data();
    let space = Squares { inputs: Inputs::new(&data), written: true };
    let machine =
        Machine::new().loss(Arc::new(LogCosh)).cost(1.0).features(1).checkpoint(folder.path().join("c"));
    let model = machine.fit(&space, &data.labels).unwrap();
    assert_eq!(model.selected()[0].name, "3^2");
    let again = machine.fit(&space, &data.labels).unwrap();
    assert_eq!(model_without_times(again), model_without_times(model.clone()));
    let path = folder.path().join("model.json");
    model.save(&path).unwrap();
    assert_eq!(Model::load(&path).unwrap().decision(&data).unwrap(), model.decision(&data).unwrap());
}

#[test]
fn an_operator_of_ones_own_is_solved_as_its_columns_are() {
    let (_folder, data) = data();
    let fit = |written: bool| {
        let machine = Machine::new().loss(Arc::new(LogCosh)).cost(0.3).budget(2).gap(1e-6).inner_tol(1e-10);
        machine.fit(&Squares { inputs: Inputs::new(&data), written }, &data.labels).unwrap()
    };
    let (columns, operators) = (fit(true), fit(false));
    assert!(columns.selected().len() > 1);
    assert_eq!(columns.selected().len(), operators.selected().len());
    for (a, b) in columns.selected().iter().zip(operators.selected()) {
        assert_eq!(a.feature, b.feature);
        assert!((a.weight.one() - b.weight.one()).abs() < 1e-6, "{a:?} {b:?}");
    }
}
