//! The same data and parameters give the same model, bit for bit, on any number of threads.

mod common;

use common::{Loss, Storage};
use featgen::data::Labels;
use featgen::machine::Select;
use featgen::model::Seconds;
use featgen::{Context, LinearSpace, Machine, Model};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// More rows than are summed in one piece, and more columns than are scored in one.
const ROWS: usize = 10_000;
const COLUMNS: usize = 150;

fn data() -> (Vec<Vec<f64>>, Labels) {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut normal = || f64::from(rng.sample::<f32, _>(StandardNormal));
    let columns: Vec<Vec<f64>> =
        (0..COLUMNS).map(|_| (0..ROWS).map(|_| normal().max(0.0)).collect()).collect();
    let f = |i: usize| (0..30).map(|j| columns[j][i] * (j as f64 - 14.5)).sum::<f64>();
    let labels = Labels::from_text((0..ROWS).map(|i| if f(i) + 10.0 * normal() > 0.0 { "1" } else { "0" }));
    (columns, labels)
}

fn same_on_any_number_of_threads(loss: Loss, set: impl Fn(Machine) -> Machine) {
    let (columns, labels) = data();
    for storage in Storage::ALL {
        let stored = storage.store(&columns, &(0..COLUMNS as u64).collect::<Vec<_>>());
        assert!(stored.batch() < COLUMNS, "{storage:?}: only one batch");
        let fit = |threads: usize| -> Model {
            let loss = featgen::objective::by_name(loss.name()).unwrap();
            let machine = set(Machine::new().cost(0.1).loss(loss).context(&Context::new().threads(threads)));
            let mut model = machine.fit(&LinearSpace::over(&*stored), &labels).unwrap();
            model.rounds.iter_mut().for_each(|round| round.seconds = Seconds::default());
            model
        };
        let first = fit(1);
        assert!(first.rounds.len() > 1, "{storage:?}: one round proves little");
        for threads in [1, 2, 3] {
            assert!(fit(threads) == first, "{storage:?}, {loss:?}: another model on {threads} threads");
        }
    }
}

fn paper(machine: Machine) -> Machine {
    machine.select(Select::Paper).features(30).budget(10)
}

#[test]
fn squared_hinge() {
    same_on_any_number_of_threads(Loss::SquaredHinge, paper);
}

#[test]
fn logistic() {
    same_on_any_number_of_threads(Loss::Logistic, paper);
}

#[test]
fn chosen_by_gain() {
    same_on_any_number_of_threads(Loss::SquaredHinge, |machine| machine.features(30));
    same_on_any_number_of_threads(Loss::Logistic, |machine| machine.features(30));
}

#[test]
fn with_repeated_features() {
    same_on_any_number_of_threads(Loss::SquaredHinge, |machine| machine.gap(0.05).budget(8));
}

#[test]
fn first_order() {
    same_on_any_number_of_threads(Loss::Logistic, |machine| machine.solver("apg").max_rounds(2));
}
