//! Features of which only a given part may be false: over many samples, no more than that part is, in every kind of space.

use std::collections::HashSet;
use std::sync::Arc;

use featgen::data::{Dense, Labels, Layout};
use featgen::machine::Stop;
use featgen::objective::Squared;
use featgen::space::{GroupSpace, GroupWeight, Groups, Inputs, ProductSpace};
use featgen::{Context, LinearSpace, Machine, Model};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use rayon::prelude::*;

/// A sample whose outcome depends on some of its columns.
struct Sample {
    columns: Vec<Vec<f64>>,
    relevant: HashSet<u64>,
    numbers: Vec<f64>,
}

impl Sample {
    /// Columns that are correlated with their neighbours by `rho`; the outcome's noise has this standard deviation, its signal one of
    /// about 1.
    fn new(seed: u64, [rows, features, relevant]: [usize; 3], rho: f64, noise: f64) -> Self {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let mut columns: Vec<Vec<f64>> = Vec::with_capacity(features);
        for j in 0..features {
            let own = (1.0 - rho * rho).sqrt();
            let value = |i: usize, rng: &mut ChaCha8Rng| -> f64 {
                let fresh: f64 = rng.sample(StandardNormal);
                if j == 0 { fresh } else { rho * columns[j - 1][i] + own * fresh }
            };
            let column = (0..rows).map(|i| value(i, rng)).collect();
            columns.push(column);
        }
        let chosen: Vec<usize> = (0..relevant).map(|k| (2 * k + 1) * features / (2 * relevant)).collect();
        let scale = (relevant as f64).sqrt().max(1.0);
        let outcome = |i: usize, rng: &mut ChaCha8Rng| {
            let sign = |k: usize| if k.is_multiple_of(2) { 1.0 } else { -1.0 };
            let signal: f64 = chosen.iter().enumerate().map(|(k, &j)| sign(k) * columns[j][i]).sum();
            signal / scale + noise * rng.sample::<f64, _>(StandardNormal)
        };
        let numbers = (0..rows).map(|i| outcome(i, rng)).collect();
        Self { relevant: chosen.into_iter().map(|j| j as u64).collect(), columns, numbers }
    }

    fn classes(&self) -> Labels {
        Labels::from_text(self.numbers.iter().map(|y| (*y > 0.0).to_string()))
    }

    /// The discoveries in columns one by one.
    fn discover(&self, machine: &Machine, labels: &Labels) -> Model {
        machine.fit(&LinearSpace::over(&store(&self.columns)), labels).unwrap()
    }
}

fn store(columns: &[Vec<f64>]) -> Dense<f64, Vec<f64>> {
    Dense::new(columns.concat(), columns[0].len(), columns.len(), Layout::ColumnMajor).unwrap()
}

fn inputs_of(model: &Model) -> HashSet<u64> {
    model.selected().iter().flat_map(|term| term.feature.inputs()).copied().collect()
}

/// The false part and the found part, on average, and the standard error of the first.
fn rates(seeds: u64, each: impl Fn(u64) -> [f64; 2] + Sync + Send) -> (f64, f64, f64) {
    let all: Vec<[f64; 2]> = (0..seeds).into_par_iter().map(each).collect();
    let mean = |k: usize| all.iter().map(|rates| rates[k]).sum::<f64>() / seeds as f64;
    let spread = all.iter().map(|rates| (rates[0] - mean(0)).powi(2)).sum::<f64>() / seeds as f64;
    (mean(0), (spread / seeds as f64).sqrt(), mean(1))
}

fn rates_of(found: &HashSet<u64>, relevant: &HashSet<u64>) -> [f64; 2] {
    let right = found.intersection(relevant).count();
    [(found.len() - right) as f64 / found.len().max(1) as f64, right as f64 / relevant.len() as f64]
}

#[test]
fn the_false_part_is_within_the_rate() {
    for (rho, classes, least) in [(0.0, false, 0.8), (0.5, false, 0.8), (0.0, true, 0.7), (0.5, true, 0.7)] {
        let (wrong, error, found) = rates(40, |seed| {
            let noise = if classes { 0.3 } else { 1.0 };
            let sample = Sample::new(seed, [200, 400, 8], rho, noise);
            let machine = Machine::new().fdr(0.1);
            let model = match classes {
                true => sample.discover(&machine, &sample.classes()),
                false => sample.discover(
                    &machine.loss(Arc::new(Squared)),
                    &Labels::from_numbers(sample.numbers.clone()),
                ),
            };
            rates_of(&inputs_of(&model), &sample.relevant)
        });
        assert!(wrong <= 0.1 + 2.0 * error, "{rho} {classes}: {wrong} +- {error}");
        assert!(found >= least, "{rho} {classes}: only {found} found");
    }
}

/// Where all columns have something in common, any product of them gains much as long as that is not explained. Those that only stand
/// in for others are no discoveries.
#[test]
fn what_all_columns_share_is_no_discovery() {
    let (wrong, error, found) = rates(60, |seed| {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let mut normal =
            |count: usize| -> Vec<f64> { (0..count).map(|_| rng.sample(StandardNormal)).collect() };
        let shared = normal(300);
        let columns: Vec<Vec<f64>> = (0..40)
            .map(|_| {
                normal(300).iter().zip(&shared).map(|(own, shared)| f64::from(own + shared > 0.0)).collect()
            })
            .collect();
        let noise = normal(300);
        let pairs: Vec<[u64; 2]> = (0..5).map(|k| [2 * k, 2 * k + 1 + 7 * (seed % 4)]).collect();
        let sign = |pair: &[u64; 2]| if (pair[0] / 2 + seed).is_multiple_of(3) { -1.0 } else { 1.0 };
        let product = |i: usize, pair: &[u64; 2]| columns[pair[0] as usize][i] * columns[pair[1] as usize][i];
        let numbers = (0..300)
            .map(|i| pairs.iter().map(|pair| sign(pair) * product(i, pair)).sum::<f64>() + 0.8 * noise[i]);
        let labels = Labels::from_numbers(numbers.collect());
        let store = store(&columns);
        let space = ProductSpace::new(Inputs::over(&store), 2).unwrap();
        let model = Machine::new().fdr(0.1).loss(Arc::new(Squared)).fit(&space, &labels).unwrap();
        let right = |inputs: &[u64]| inputs.try_into().is_ok_and(|pair: [u64; 2]| pairs.contains(&pair));
        let right = model.selected().iter().filter(|term| right(term.feature.inputs())).count() as f64;
        [(model.count() as f64 - right) / model.count().max(1) as f64, right / 5.0]
    });
    assert!(wrong <= 0.1 + 2.0 * error, "{wrong} +- {error}");
    assert!(found >= 0.4, "only {found} found");
}

#[test]
fn nothing_is_found_in_noise() {
    let empty = (0..40u64).into_par_iter().filter(|&seed| {
        let mut sample = Sample::new(seed, [100, 1000, 1], 0.0, 1.0);
        let rng = &mut ChaCha8Rng::seed_from_u64(1000 + seed);
        sample.numbers.iter_mut().for_each(|y| *y = rng.sample(StandardNormal));
        let model = sample.discover(&Machine::new().fdr(0.1), &sample.classes());
        assert_eq!((model.stopped, model.rounds.len()), (Stop::Discoveries, model.count().max(1)));
        model.count() == 0
    });
    // One false one is all false: that happens to one sample in ten.
    let empty = empty.count();
    assert!(empty >= 32, "{empty}");
}

#[test]
fn groups_and_products_are_told_from_chance_too() {
    let (wrong, error, found) = rates(20, |seed| {
        let sample = Sample::new(seed, [300, 400, 5], 0.0, 0.3);
        let store = store(&sample.columns);
        let inputs = Inputs::over(&store);
        let mut groups = Groups::over(&inputs).unwrap();
        (0..100).for_each(|g| groups.push(&inputs, None, 4 * g..4 * g + 4).unwrap());
        let space = GroupSpace::new(inputs, groups, GroupWeight::default()).unwrap();
        let model = Machine::new().fdr(0.1).fit(&space, &sample.classes()).unwrap();
        let of_groups = |ids: HashSet<u64>| ids.into_iter().map(|id| id / 4).collect::<HashSet<u64>>();
        rates_of(&of_groups(inputs_of(&model)), &of_groups(sample.relevant))
    });
    assert!(wrong <= 0.1 + 2.0 * error && found > 0.6, "{wrong} +- {error}, {found}");

    // Pairs of 0/1 columns.
    let (wrong, error, found) = rates(10, |seed| {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let columns: Vec<Vec<f64>> = (0..60)
            .map(|_| (0..400).map(|_| f64::from(u8::from(rng.random::<f64>() < 0.4))).collect())
            .collect();
        let pairs = [(3, 17), (25, 40), (8, 55)];
        let sum =
            |i: usize| pairs.iter().map(|&(a, b)| 3.0 * columns[a][i] * columns[b][i]).sum::<f64>() - 1.4;
        let labels = Labels::from_text(
            (0..400).map(|i| (sum(i) + rng.sample::<f64, _>(StandardNormal) > 0.0).to_string()),
        );
        let store = store(&columns);
        let space = ProductSpace::new(Inputs::over(&store), 2).unwrap();
        let model = Machine::new().fdr(0.1).fit(&space, &labels).unwrap();
        let (selected, products) = (model.selected(), model.count().max(1) as f64);
        let planted = |inputs: &[u64]| pairs.iter().any(|&(a, b)| inputs == [a as u64, b as u64]);
        let right = selected.iter().filter(|term| planted(term.feature.inputs())).count() as f64;
        [if model.count() == 0 { 0.0 } else { 1.0 - right / products }, right / 3.0]
    });
    assert!(wrong <= 0.1 + 2.0 * error && found > 0.6, "{wrong} +- {error}, {found}");
}

/// The path adds discoveries one by one; threads change no bit; files keep all of it.
#[test]
fn the_path_is_nested_and_the_file_complete() {
    let sample = Sample::new(3, [200, 400, 8], 0.3, 0.3);
    let labels = sample.classes();
    let run = |threads: usize| {
        sample.discover(&Machine::new().fdr(0.1).context(&Context::new().threads(threads)), &labels)
    };
    let model = run(1);
    let found = model.discoveries.clone().unwrap();
    assert_eq!((found.by_chance.len(), found.rate), (model.count(), 0.1));
    assert!(found.expected_rate() <= 0.1 && found.considered >= 20);
    for k in 1..model.count() {
        let (less, more) = (model.at(k).unwrap(), model.at(k + 1).unwrap());
        assert!(inputs_of(&less).is_subset(&inputs_of(&more)) && less.count() == k, "{k}");
        assert!(less.certificate.objective >= more.certificate.objective);
        assert_eq!(less.discoveries, None);
    }
    let without_times = |mut model: Model| {
        model.rounds.iter_mut().for_each(|round| round.seconds = featgen::model::Seconds::default());
        model
    };
    assert_eq!(without_times(run(3)), without_times(model.clone()));
    assert_eq!(Model::from_json(model.to_json().as_bytes(), "model").unwrap(), without_times(model));
    // Chosen from no more than are asked for.
    let few = sample.discover(&Machine::new().fdr(0.1).features(4), &labels);
    assert!(few.count() <= 4 && few.discoveries.unwrap().considered == 4);
}

#[test]
fn what_does_not_go_together_is_refused() {
    let refused = |machine: Machine| machine.validate().unwrap_err().to_string();
    for rate in [0.0, 1.0, -0.1, f64::NAN] {
        assert!(refused(Machine::new().fdr(rate)).contains("between 0 and 1"), "{rate}");
    }
    assert!(refused(Machine::new().fdr(0.1).features(3).prove(0.1)).contains("proof"));
    assert!(refused(Machine::new().fdr(0.1).checkpoint("somewhere")).contains("checkpoint"));
    assert!(refused(Machine::new().fdr(0.1).gap(0.1)).contains("only"));
    let along_path = Machine::new().fdr(0.1).along_path(100).map(drop);
    assert!(along_path.unwrap_err().to_string().contains("how many"));
}
