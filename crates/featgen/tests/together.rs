//! Folds and halves of large data read them together: once for all, and each finds what it would find alone.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use featgen::data::{Column, ColumnView, Columns, Dense, Labels, Layout, Names};
use featgen::model::GivenGroup;
use featgen::objective::LossSpec;
use featgen::space::SpaceSpec;
use featgen::space::spec::Grouping;
use featgen::validate::{Costs, CrossValidation, Folds, Halves, Metric, Study, Validated};
use featgen::{Context, LinearSpace, Machine, Model, Result};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

const ROWS: usize = 320;
const COLUMNS: usize = 3300;

/// A matrix that counts how many of its columns are read, and may end the work when that is so many.
struct Counted {
    matrix: Dense<f64, Vec<f64>>,
    read: AtomicU64,
    last: u64,
    end: Arc<AtomicBool>,
}

impl Counted {
    fn new(matrix: Dense<f64, Vec<f64>>) -> Self {
        Self { matrix, read: AtomicU64::new(0), last: u64::MAX, end: Arc::default() }
    }

    fn count(&self, columns: usize) {
        let read = self.read.fetch_add(columns as u64, Ordering::Relaxed);
        if read >= self.last {
            self.end.store(true, Ordering::Relaxed);
        }
    }
}

impl Columns for Counted {
    fn rows(&self) -> usize {
        self.matrix.rows()
    }

    fn len(&self) -> usize {
        self.matrix.len()
    }

    fn dimension(&self) -> u64 {
        self.matrix.dimension()
    }

    fn nonzeros(&self) -> u64 {
        self.matrix.nonzeros()
    }

    fn id(&self, position: usize) -> u64 {
        self.matrix.id(position)
    }

    fn position(&self, id: u64) -> Option<usize> {
        self.matrix.position(id)
    }

    fn batch(&self) -> usize {
        self.matrix.batch()
    }

    fn dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        self.count(range.len());
        self.matrix.dots(range, v, out);
    }

    fn gather(&self, positions: &[usize]) -> Vec<Column> {
        self.matrix.gather(positions)
    }

    fn visit(&self, range: Range<usize>, each: &mut dyn FnMut(usize, ColumnView<'_>)) {
        self.matrix.visit(range, each);
    }
}

/// Columns of which the first few decide, and what they decide: a number.
fn made(seed: u64) -> (Dense<f64, Vec<f64>>, Vec<f64>) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let values: Vec<f64> = (0..ROWS * COLUMNS).map(|_| random.sample(StandardNormal)).collect();
    let signal = |i: usize| (0..5).map(|j| values[j * ROWS + i]).sum::<f64>();
    let numbers = (0..ROWS).map(|i| signal(i) + random.sample::<f64, _>(StandardNormal)).collect();
    (Dense::new(values, ROWS, COLUMNS, Layout::ColumnMajor).unwrap(), numbers)
}

fn labels(loss: &str, numbers: &[f64]) -> Labels {
    match loss {
        "squared" => Labels::from_numbers(numbers.to_vec()),
        "softmax" => Labels::from_text(
            numbers.iter().map(|y| ["low", "high", "top"][usize::from(*y > -1.0) + usize::from(*y > 1.0)]),
        ),
        _ => Labels::from_text(numbers.iter().map(|y| (*y > 0.0).to_string())),
    }
}

fn machine(loss: &str) -> Machine {
    Machine::new().features(6).budget(2).loss(LossSpec::find(loss).unwrap().make(&[]).unwrap())
}

fn spec(groups: bool) -> SpaceSpec {
    let spec = SpaceSpec::named("linear").unwrap();
    let group = |g: usize| GivenGroup { name: None, features: (3 * g as u64..3 * g as u64 + 3).collect() };
    match groups {
        true => spec.with_groups(Grouping::of_columns((0..COLUMNS / 3).map(group).collect())).unwrap(),
        false => spec,
    }
}

fn study<'a>(columns: &'a Counted, names: &'a Names, groups: bool) -> Study<'a> {
    let spec = spec(groups);
    Study { columns, names, spec, scaling: None, keep: vec![], offset: None, shards: None }
}

/// One by one, as with a bound on memory, or together.
fn context(apart: bool, threads: usize) -> Context {
    let context = Context::new().threads(threads);
    if apart { context.memory(1 << 40) } else { context }
}

fn validated(study: &Study<'_>, loss: &str, labels: &Labels, context: Context) -> Result<Option<Validated>> {
    let machine = machine(loss);
    let output = machine.loss_in_use().output();
    let folds = Folds::stratified(labels, output, 5, 1, 3).unwrap();
    let metric = Metric::usual(output);
    let validation = CrossValidation { machine, folds, metric, costs: Costs::One, context };
    validation.run(study, study, labels, &|_, _| ())
}

#[test]
fn folds_find_what_they_find_alone_with_less_reading() {
    let (matrix, numbers) = made(1);
    let (columns, names) = (Counted::new(matrix), Names::default());
    for (loss, groups, keep) in [
        ("squared-hinge", false, vec![]),
        ("squared", false, vec![2, 1000]),
        ("softmax", false, vec![]),
        ("logistic", true, vec![]),
    ] {
        let labels = labels(loss, &numbers);
        let study = Study { keep, ..study(&columns, &names, groups) };
        let run = |apart: bool, threads: usize| {
            columns.read.store(0, Ordering::Relaxed);
            let found = validated(&study, loss, &labels, context(apart, threads)).unwrap().unwrap();
            (found, columns.read.load(Ordering::Relaxed))
        };
        let (alone, apart) = run(true, 1);
        for threads in [1, 2, 7] {
            let (found, together) = run(false, threads);
            assert_eq!(found, alone, "{loss} on {threads} threads");
            // Of five folds; one that looks at candidates more often than the others reads alone then.
            assert!(3 * together <= apart, "{loss} on {threads} threads: {together} of {apart} columns");
        }
    }
}

#[test]
fn halves_find_what_they_find_alone() {
    let (matrix, numbers) = made(2);
    let (columns, names) = (Counted::new(matrix), Names::default());
    let labels = labels("squared-hinge", &numbers);
    let study = study(&columns, &names, false);
    let machine = machine("squared-hinge");
    let model = machine.fit(&LinearSpace::over(&columns), &labels).unwrap();
    let run = |apart: bool| -> (Model, u64) {
        columns.read.store(0, Ordering::Relaxed);
        let mut model = model.clone();
        let halves = Halves { machine: machine.clone(), runs: 8, seed: 5, context: context(apart, 2) };
        assert!(halves.judge(&mut model, &study, &labels, &|_, _| ()).unwrap());
        (model, columns.read.load(Ordering::Relaxed))
    };
    let ((alone, apart), (found, together)) = (run(true), run(false));
    assert_eq!(found.stability, alone.stability);
    assert!(4 * together <= apart, "{together} of {apart} columns");
}

/// Whoever waits for others must not do so for ever.
#[test]
fn an_interrupt_ends_all() {
    let (matrix, numbers) = made(3);
    let columns = Counted { last: 5 * COLUMNS as u64 / 2, ..Counted::new(matrix) };
    let names = Names::default();
    let study = study(&columns, &names, false);
    let context = context(false, 2).interrupt(Arc::clone(&columns.end));
    let found = validated(&study, "squared", &labels("squared", &numbers), context).unwrap();
    assert!(found.is_none() && columns.end.load(Ordering::Relaxed));
}

#[test]
fn an_error_ends_all() {
    let (matrix, numbers) = made(4);
    let mut values: Vec<f64> = Vec::new();
    matrix.visit(0..COLUMNS, &mut |_, column| {
        let mut own = vec![0.0; ROWS];
        column.for_each(|row, value| own[row as usize] = value);
        values.extend(own);
    });
    values[700 * ROWS + 3] = f64::NAN;
    let columns = Counted::new(Dense::new(values, ROWS, COLUMNS, Layout::ColumnMajor).unwrap());
    let names = Names::default();
    let study = study(&columns, &names, false);
    let error = validated(&study, "squared", &labels("squared", &numbers), context(false, 2)).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("row 4, feature 701") && text.contains("fold "), "{text}");
}
