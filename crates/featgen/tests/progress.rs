//! Every run ends: features that are as good as each other do not replace each other for ever.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::Loss;
use featgen::data::{Labels, Sparse, Values};
use featgen::machine::{Select, Stop};
use featgen::model::Round;
use featgen::{Context, LinearSpace, Machine, Model};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// More rounds than any of these problems needs.
const TOO_MANY: usize = 3000;

/// Rows of random columns of which each comes several times: as it is, negated or scaled.
struct Repeated {
    columns: Sparse,
    labels: Labels,
}

impl Repeated {
    fn new(seed: u64, rows: usize, distinct: usize, copies: usize, others: usize, scaled: bool) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut columns: Vec<Vec<(u32, f64)>> = Vec::new();
        for k in 0..distinct + others {
            let part = [0.02, 0.05, 0.1, 0.3][rng.random_range(0..4)];
            let filled: Vec<u32> = (0..rows as u32).filter(|_| rng.random_bool(part)).collect();
            for _ in 0..if k < distinct { rng.random_range(2..=copies) } else { 1 } {
                let value = if scaled { [1.0, -1.0, 2.0, 0.5][rng.random_range(0..4)] } else { 1.0 };
                columns.push(filled.iter().map(|&row| (row, value)).collect());
            }
        }
        for k in (1..columns.len()).rev() {
            columns.swap(k, rng.random_range(0..=k));
        }
        let mut f: Vec<f64> = (0..rows).map(|_| rng.random_range(-0.8..0.8)).collect();
        for column in &columns {
            let weight = if rng.random_bool(0.3) { rng.random_range(-2.0..2.0) } else { 0.0 };
            column.iter().for_each(|&(row, x)| f[row as usize] += weight * x);
        }
        (f[0], f[1]) = (1.0, -1.0);
        let pointers = columns.iter().scan(0, |sum, column| {
            *sum += column.len() as u64;
            Some(*sum)
        });
        let pointers = [0].into_iter().chain(pointers).collect();
        let rows_of = columns.iter().flatten().map(|entry| entry.0).collect();
        let values = Values::F64(columns.iter().flatten().map(|entry| entry.1).collect());
        let m = columns.len() as u64;
        Self {
            columns: Sparse::new(rows, m, (0..m).collect(), pointers, rows_of, values).unwrap(),
            labels: Labels::from_text(f.iter().map(|&f| if f > 0.0 { "+1" } else { "-1" })),
        }
    }

    /// Fits; a run that goes on for too long is ended from outside.
    fn fit(&self, machine: Machine) -> Model {
        let interrupt = Arc::new(AtomicBool::new(false));
        let mut rounds = 0;
        let mut observer = |_: &Round| {
            rounds += 1;
            interrupt.fetch_or(rounds > TOO_MANY, Ordering::Relaxed);
        };
        let machine = machine.context(&Context::new().interrupt(Arc::clone(&interrupt)));
        machine.fit_observed(&LinearSpace::over(&self.columns), &self.labels, &mut observer).unwrap()
    }
}

fn loss(seed: u64) -> Arc<dyn featgen::objective::Loss> {
    featgen::objective::by_name(Loss::ALL[(seed % 2) as usize].name()).unwrap()
}

/// The paper's rounds, one feature each.
fn machine() -> Machine {
    Machine::new().select(Select::Paper).budget(1)
}

/// What a user wants from such data: the features there are, or nearly, and an end.
#[test]
fn equal_columns_do_not_replace_each_other_for_ever() {
    // These made runs without an end: few rows, many copies, more features wanted than there are directions.
    let cases = [
        (108, 60, 100, 2, 0, 100, 0.1),
        (116, 100, 10, 5, 0, 100, 1.0),
        (123, 30, 30, 2, 300, 181, 1.0),
        (7, 200, 100, 3, 100, 150, 10.0),
    ];
    for (seed, rows, distinct, copies, others, wanted, cost) in cases {
        for scaled in [false, true] {
            let data = Repeated::new(seed, rows, distinct, copies, others, scaled);
            for loss in [0, 1].map(loss) {
                let machine = machine().cost(cost).features(wanted).loss(loss);
                let model = data.fit(machine);
                let case = format!("seed {seed}, scaled {scaled}, {}", model.loss);
                assert_ne!(model.stopped, Stop::Interrupted, "{case}");
                assert!(model.count() <= wanted, "{case}");
                let most = model.rounds.iter().map(|round| round.selected).max();
                assert_eq!(Some(model.count()), most, "{case}");
            }
        }
    }
}

#[test]
fn runs_end_near_the_rank_and_beyond() {
    for seed in 0..60 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (rows, distinct) = (rng.random_range(10..60), rng.random_range(2..40));
        let others = rng.random_range(0..20);
        let data = Repeated::new(seed, rows, distinct, rng.random_range(2..6), others, seed % 3 == 0);
        let wanted = rng.random_range(1..2 * (distinct + others));
        let cost = 10f64.powf(rng.random_range(-2.0..3.0));
        let machine = machine().cost(cost).loss(loss(seed));
        let by_gain = machine.clone().select(Select::Best).features(wanted);
        let (by_count, by_gap) = (machine.clone().features(wanted), machine.clone().gap(1e-6));
        for machine in [by_gain, by_count, by_gap, machine.gap(1e-4).features(wanted)] {
            assert_ne!(data.fit(machine).stopped, Stop::Interrupted, "seed {seed}");
        }
    }
}

/// A cost that is raised without bringing more features is raised in vain: the model has the cost that was asked for.
#[test]
fn a_cost_raised_in_vain_is_not_kept() {
    for seed in 0..20 {
        let data = Repeated::new(seed, 30, 4, 3, 2, false);
        for loss in [0, 1].map(loss) {
            let model = data.fit(machine().cost(10.0).features(40).loss(loss));
            let first = model.rounds.iter().find(|round| round.selected == model.count()).unwrap();
            assert_eq!(model.cost, first.cost, "seed {seed}");
            assert!(model.cost < 1e8, "seed {seed}: cost {}", model.cost);
        }
    }
}

/// A cost that is far too small is raised until there are as many features as are wanted.
#[test]
fn a_cost_far_too_small_is_raised() {
    for seed in 0..10 {
        let data = Repeated::new(seed, 100, 0, 2, 40, false);
        for loss in [0, 1].map(loss) {
            let model = data.fit(machine().cost(1e-9).features(5).loss(loss));
            assert_eq!(
                (model.count(), model.stopped),
                (5, Stop::Features),
                "seed {seed}: cost {}",
                model.cost
            );
        }
    }
}
