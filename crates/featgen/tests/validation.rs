//! Cross-validation: it is what separate fits would be, and nothing of who is held out reaches a fold.

use std::path::Path;
use std::sync::Arc;

use featgen::data::read::Reader;
use featgen::data::{ClassWeights, Columns, Dense, Labels, Layout, Names};
use featgen::model::Truth;
use featgen::objective::{LossSpec, Output};
use featgen::space::{Inputs, SpaceSpec};
use featgen::validate::{Costs, CrossValidation, Folds, Metric, Split, Study, Validated};
use featgen::{Context, Machine, Model};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// Random columns, of which the first few decide.
struct Made {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
    signal: Vec<f64>,
}

fn made(rows: usize, columns: usize, seed: u64) -> Made {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let values: Vec<f64> = (0..rows * columns).map(|_| random.sample(StandardNormal)).collect();
    let signal = (0..rows)
        .map(|i| {
            let noise: f64 = random.sample(StandardNormal);
            (0..4).map(|j| values[i * columns + j]).sum::<f64>() + 0.5 * noise
        })
        .collect();
    Made { rows, columns, values, signal }
}

impl Made {
    fn matrix(&self) -> Dense<f64, Vec<f64>> {
        Dense::new(self.values.clone(), self.rows, self.columns, Layout::RowMajor).unwrap()
    }

    /// Some rows alone.
    fn part(&self, rows: &[usize]) -> Self {
        let values = rows.iter().flat_map(|&i| &self.values[i * self.columns..(i + 1) * self.columns]);
        let (values, signal) = (values.copied().collect(), rows.iter().map(|&i| self.signal[i]).collect());
        Self { rows: rows.len(), columns: self.columns, values, signal }
    }

    fn labels(&self, output: Output) -> Labels {
        match output {
            Output::Classes => {
                Labels::from_text(self.signal.iter().map(|f| if *f > 0.3 { "yes" } else { "no" }))
            }
            Output::Number => Labels::from_numbers(self.signal.clone()),
            Output::Rate => {
                Labels::from_numbers(self.signal.iter().map(|f| f.exp().round().min(50.0)).collect())
            }
            Output::Risk => {
                let time = |(i, f): (usize, &f64)| if i % 3 == 0 { -(-f).exp() } else { (-f).exp() };
                Labels::from_numbers(self.signal.iter().enumerate().map(time).collect())
            }
        }
    }
}

fn study<'a>(columns: &'a dyn Columns, names: &'a Names, space: &str) -> Study<'a> {
    let spec = SpaceSpec::named(space).unwrap();
    Study { columns, names, spec, scaling: None, keep: Vec::new(), offset: None, shards: None }
}

fn machine(loss: &str, features: usize) -> Machine {
    let spec = LossSpec::find(loss).unwrap();
    Machine::new().features(features).budget(2).loss(spec.make(&[]).unwrap())
}

fn validated(study: &Study<'_>, machine: &Machine, folds: &Folds, labels: &Labels) -> Validated {
    let metric = Metric::usual(machine.loss_in_use().output());
    let (machine, folds) = (machine.clone(), folds.clone());
    let validation = CrossValidation { machine, folds, metric, costs: Costs::One, context: Context::new() };
    validation.run(study, study, labels, &|_, _| ()).unwrap().unwrap()
}

/// The model of instances that count as labels say.
fn fitted(columns: &dyn Columns, space: &str, machine: &Machine, labels: &Labels) -> Model {
    let (spec, inputs) = (SpaceSpec::named(space).unwrap(), Inputs::over(columns));
    let scale = spec.scale(None, machine.select_in_use().unwrap(), &inputs, labels.weights()).unwrap();
    let inputs = scale.as_ref().map_or(inputs, |scale| inputs.scaled(scale));
    machine.fit(&*spec.build(inputs, labels.weights()).unwrap().space, labels).unwrap()
}

/// The decision values of some rows.
fn decision(model: &Model, columns: &dyn Columns, rows: &[usize]) -> Vec<f64> {
    let all = model.predictor(&Names::default(), "").decision(columns).unwrap();
    let outputs = model.outputs();
    rows.iter().flat_map(|&i| all[i * outputs..(i + 1) * outputs].to_vec()).collect()
}

fn score(model: &Model, columns: &dyn Columns, labels: &Labels, rows: &[usize]) -> f64 {
    let truth = match model.truth(labels).unwrap() {
        Truth::Classes(all) => Truth::Classes(rows.iter().map(|&i| all[i]).collect()),
        Truth::Numbers(all) => Truth::Numbers(rows.iter().map(|&i| all[i]).collect()),
    };
    let scores = model.scores(&decision(model, columns, rows), &truth);
    Metric::usual(model.output).of(&scores).unwrap()
}

const CASES: [(&str, &str); 6] = [
    ("squared-hinge", "linear"),
    ("logistic", "linear"),
    ("squared", "linear"),
    ("poisson", "linear"),
    ("cox", "linear"),
    ("squared-hinge", "gaussian"),
];

#[test]
fn the_path_is_that_of_separate_fits_fold_by_fold() {
    let data = made(90, 60, 1);
    let (matrix, names) = (data.matrix(), Names::default());
    for (loss, space) in CASES {
        let machine = machine(loss, 8);
        let labels = data.labels(machine.loss_in_use().output());
        let folds = Folds::stratified(&labels, machine.loss_in_use().output(), 4, 1, 3).unwrap();
        let found = validated(&study(&matrix, &names, space), &machine, &folds, &labels);
        let counts: Vec<usize> = found.points.iter().map(|point| point.features).collect();
        assert_eq!(counts, [2, 4, 6, 8], "{loss} {space}");
        for (k, split) in folds.splits().iter().enumerate() {
            // To the bit, where those held out have no weight.
            let counted = labels.counting(|i| split.train.binary_search(&i).is_ok());
            let model = fitted(&matrix, space, &machine, &counted);
            for point in &found.points {
                let at = model.at_most(point.features).unwrap();
                let own = score(&at, &matrix, &labels, &split.test);
                assert_eq!(own.to_bits(), point.scores[k].to_bits(), "{loss} {space} fold {k}");
            }
            // But for rounding, where they are not there at all.
            let alone = data.part(&split.train);
            let without = fitted(&alone.matrix(), space, &machine, &part(&labels, &split.train));
            let chosen = |model: &Model| -> Vec<_> {
                let mut chosen: Vec<_> = model.selected().iter().map(|term| term.feature.clone()).collect();
                chosen.sort();
                chosen
            };
            assert_eq!(chosen(&model), chosen(&without), "{loss} {space} fold {k}");
            let [a, b] = [&model, &without].map(|model| decision(model, &matrix, &split.test));
            let apart = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(apart < 1e-10, "{loss} {space} fold {k}: {apart:e} apart");
        }
    }
}

fn part(labels: &Labels, rows: &[usize]) -> Labels {
    match labels.has_classes() {
        true => Labels::from_text(rows.iter().map(|&i| &labels.classes()[labels.codes()[i] as usize])),
        false => Labels::from_numbers(rows.iter().map(|&i| labels.numbers().unwrap()[i]).collect()),
    }
}

/// Rows that are neither learned from nor measured may hold anything: if scales, levels of curves, the default cost or weights of
/// classes were learned from them, something would change.
#[test]
fn nothing_of_other_instances_reaches_a_fold() {
    let data = made(120, 40, 2);
    let mut spoiled = made(120, 40, 2);
    let mut random = ChaCha8Rng::seed_from_u64(9);
    for i in 80..120 {
        spoiled.signal[i] = -spoiled.signal[i];
        for j in 0..40 {
            spoiled.values[i * 40 + j] = random.sample::<f64, _>(StandardNormal) * 50.0 * (j + 1) as f64;
        }
    }
    let (clean, other, names) = (data.matrix(), spoiled.matrix(), Names::default());
    let split = Split { train: (0..60).collect(), test: (60..80).collect() };
    let folds = Folds::of(vec![split], 120).unwrap();
    for (loss, space) in CASES {
        let mut machine = machine(loss, 6);
        let output = machine.loss_in_use().output();
        if output == Output::Classes {
            machine = machine.class_weights(ClassWeights::Balanced);
        }
        let [a, b] = [(&clean, &data), (&other, &spoiled)].map(|(matrix, made)| {
            validated(&study(matrix, &names, space), &machine, &folds, &made.labels(output))
        });
        let scores = |found: &Validated| -> Vec<u64> {
            found.points.iter().map(|point| point.scores[0].to_bits()).collect()
        };
        assert_eq!(scores(&a), scores(&b), "{loss} {space}");
        // What would be seen if they counted.
        let [a, b] = [(&clean, &data), (&other, &spoiled)].map(|(matrix, made)| {
            let model = fitted(matrix, space, &machine, &made.labels(output));
            score(&model, &clean, &data.labels(output), &(60..80).collect::<Vec<_>>())
        });
        assert!(a != b, "{loss} {space}: spoiled rows change nothing");
    }
}

#[test]
fn noise_is_seen_as_noise() {
    let (mut estimates, mut within, mut noise) = (Vec::new(), 0, 0);
    for seed in 0..100 {
        let data = made(60, 300, 100 + seed);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        // As many of each, in any order.
        let mut classes: Vec<&str> = (0..60).map(|i| if i % 2 == 0 { "a" } else { "b" }).collect();
        for i in (1..60).rev() {
            classes.swap(i, random.random_range(0..=i));
        }
        let labels = Labels::from_text(classes);
        let (matrix, names) = (data.matrix(), Names::default());
        let machine = machine("squared-hinge", 10);
        let folds = Folds::stratified(&labels, Output::Classes, 5, 1, seed).unwrap();
        let found = validated(&study(&matrix, &names, "linear"), &machine, &folds, &labels).estimate();
        assert!(fitted(&matrix, "linear", &machine, &labels).training.accuracy >= Some(0.7));
        within += usize::from((found.mean - 0.5).abs() <= 2.0 * found.error_elsewhere());
        noise += usize::from(found.is_noise());
        estimates.push(found.mean);
    }
    let n = estimates.len() as f64;
    let mean = estimates.iter().sum::<f64>() / n;
    let variance = estimates.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let error = (variance / n).sqrt();
    assert!((mean - 0.5).abs() <= 2.0 * error, "{mean} +- {error}");
    assert!(within >= 80 && noise >= 90, "{within} within two errors, {noise} called noise");
}

#[test]
fn results_do_not_depend_on_threads() {
    let data = made(100, 50, 4);
    let (matrix, names) = (data.matrix(), Names::default());
    let labels = data.labels(Output::Classes);
    let run = |threads: usize| {
        let validation = CrossValidation {
            machine: machine("squared-hinge", 8),
            folds: Folds::stratified(&labels, Output::Classes, 5, 2, 0).unwrap(),
            metric: Metric::Auc,
            costs: Costs::auto(),
            context: Context::new().threads(threads),
        };
        let study = study(&matrix, &names, "linear");
        validation.run(&study, &study, &labels, &|_, _| ()).unwrap().unwrap()
    };
    let one = run(1);
    assert_eq!(one, run(3));
    assert_eq!((one.costs.len(), one.folds, one.repeats, one.points[0].scores.len()), (4, 5, 2, 10));
    let costs: Vec<f64> = one.costs.iter().map(|curve| curve.cost / one.costs[2].cost).collect();
    assert!(costs.iter().zip([0.1, 0.3, 1.0, 3.0]).all(|(a, b)| (a - b).abs() < 1e-12));
}

#[test]
fn a_fold_that_says_nothing_is_refused_and_an_interrupt_ends_all() {
    let data = made(60, 10, 5);
    let (matrix, names) = (data.matrix(), Names::default());
    let labels = data.labels(Output::Classes);
    let of = |class: u32| (0..60).filter(|&i| labels.codes()[i] == class).collect::<Vec<usize>>();
    let run = |split: Split, metric, context: Context| {
        let folds = Folds::of(vec![split], 60).unwrap();
        let machine = machine("squared-hinge", 2);
        let validation = CrossValidation { machine, folds, metric, costs: Costs::One, context };
        let study = study(&matrix, &names, "linear");
        validation.run(&study, &study, &labels, &|_, _| ())
    };
    let said = run(Split { train: of(0), test: of(1) }, Metric::Accuracy, Context::new()).unwrap_err();
    assert_eq!(said.to_string(), "fold 1: no instance of class yes has a positive weight");
    let few: Vec<usize> = of(1)[..3].to_vec();
    let train: Vec<usize> = (0..60).filter(|i| !few.contains(i)).collect();
    let said = run(Split { train, test: few }, Metric::Auc, Context::new()).unwrap_err().to_string();
    assert_eq!(said, "metric: auc has no value in fold 1: it holds instances of one class only");
    let flag = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let split = Split { train: (0..40).collect(), test: (40..60).collect() };
    assert!(run(split, Metric::Accuracy, Context::new().interrupt(flag)).unwrap().is_none());
}

/// What is learned of the values of a table is learned from the rows that are known, as if there were no others.
#[test]
fn recipes_of_folds_know_nothing_of_other_rows() {
    let folder = tempfile::tempdir().unwrap();
    let cell = |k: usize| {
        let colour = if k >= 30 { "violet" } else { ["red", "blue", "green"][k % 3] };
        let size = if k.is_multiple_of(5) || k >= 40 { String::new() } else { (k % 7).to_string() };
        let age = if k >= 30 { 1000 } else { k };
        format!("{colour},{size},{age},{}\n", if k.is_multiple_of(2) { "yes" } else { "no" })
    };
    let write = |name: &str, rows: usize| {
        let text: String = (0..rows).map(cell).collect();
        let path = folder.path().join(name);
        std::fs::write(&path, format!("colour,size,age,sick\n{text}")).unwrap();
        path
    };
    let (all, known) = (write("all.csv", 50), write("known.csv", 30));
    let reader = Reader::new().label_column("sick");
    let read = |path: &Path, rows: Option<Vec<bool>>| {
        let reader = rows.into_iter().fold(reader.clone(), Reader::learning_from);
        reader.read(path).unwrap()
    };
    let fold = read(&all, Some((0..50).map(|k| k < 30).collect()));
    let (whole, alone) = (read(&all, None), read(&known, None));
    assert_eq!(fold.recipe, alone.recipe);
    assert_ne!(fold.recipe, whole.recipe);
    assert_eq!(fold.columns.rows(), 50);
    for position in 0..fold.columns.len() {
        let values = |columns: &dyn Columns| {
            let mut values = vec![0.0; columns.rows()];
            columns.gather(&[position])[0].add_to(1.0, &mut values);
            values
        };
        assert_eq!(values(&*fold.columns)[..30], values(&*alone.columns)[..]);
    }
    assert_eq!(reader.column(&all, "colour").unwrap().classes(), ["blue", "green", "red", "violet"]);
}
