//! How sure a selection is: frequencies in halves of the instances, and stand-ins.

use std::collections::BTreeMap;

use featgen::data::{Columns, Dense, Labels, Layout, Names};
use featgen::feature::Feature;
use featgen::model::{GivenGroup, Stability};
use featgen::space::spec::Grouping;
use featgen::space::{Inputs, SpaceSpec};
use featgen::validate::{Folds, Halves, StandInSearch, Study};
use featgen::{Context, LinearSpace, Machine, Model};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

type Store = Dense<f64, Vec<f64>>;

/// Independent columns; the class is the sign of the sum of the first `relevant`, with noise. None: it is chance.
fn sample(seed: u64, rows: usize, features: usize, relevant: usize) -> (Store, Labels) {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let values: Vec<f64> = (0..rows * features).map(|_| rng.sample(StandardNormal)).collect();
    let value = |i: usize, j: usize| values[j * rows + i];
    let noise: Vec<f64> = (0..rows).map(|_| rng.sample(StandardNormal)).collect();
    let score = |i: usize| (0..relevant).map(|j| 2.0 * value(i, j)).sum::<f64>() + noise[i];
    let labels = Labels::from_text((0..rows).map(|i| if score(i) > 0.0 { "a" } else { "b" }.to_owned()));
    (Dense::new(values, rows, features, Layout::ColumnMajor).unwrap(), labels)
}

fn study<'a>(columns: &'a dyn Columns, names: &'a Names) -> Study<'a> {
    let spec = SpaceSpec::named("linear").unwrap();
    Study { columns, names, spec, scaling: None, keep: Vec::new(), offset: None, shards: None }
}

/// A run as a study makes it: columns are weighed by their scales.
fn fit(data: &Store, labels: &Labels, machine: &Machine) -> Model {
    let (spec, inputs) = (SpaceSpec::named("linear").unwrap(), Inputs::over(data));
    let scale = spec.scale(None, machine.select_in_use().unwrap(), &inputs, None).unwrap().unwrap();
    machine.fit(&LinearSpace::from(inputs.scaled(&scale)), labels).unwrap()
}

/// The model of all instances, with how often its features are selected from halves.
fn judged(data: &Store, labels: &Labels, machine: &Machine, runs: usize, threads: usize) -> Model {
    let names = Names::default();
    let study = study(data, &names);
    let mut model = fit(data, labels, machine);
    let context = Context::new().threads(threads);
    let halves = Halves { machine: machine.clone(), runs, seed: 7, context };
    assert!(halves.judge(&mut model, &study, labels, &|_, _| ()).unwrap());
    model
}

/// The rows of a half, as data of their own.
fn half(data: &Store, labels: &Labels, rows: &[usize]) -> (Store, Labels) {
    let positions: Vec<usize> = (0..data.len()).collect();
    let mut values = Vec::new();
    for column in data.gather(&positions) {
        let mut x = vec![0.0; data.rows()];
        column.add_to(1.0, &mut x);
        values.extend(rows.iter().map(|&i| x[i]));
    }
    let class = |i: &usize| labels.classes()[labels.codes()[*i] as usize].clone();
    let part = Dense::new(values, rows.len(), data.len(), Layout::ColumnMajor).unwrap();
    (part, Labels::from_text(rows.iter().map(class)))
}

/// A frequency is the part of separate fits to the rows of each half in which the feature is selected, at every point of the path.
#[test]
fn frequencies_are_those_of_separate_fits() {
    let (data, labels) = sample(1, 160, 60, 3);
    let machine = Machine::new().features(6).budget(1).cost(0.05);
    let model = judged(&data, &labels, &machine, 10, 1);
    let found = model.stability.clone().unwrap();
    let halves = Folds::stratified(&labels, Default::default(), 2, 5, 7).unwrap();
    let mut times: BTreeMap<(String, usize), u32> = BTreeMap::new();
    for split in halves.splits() {
        let (part, labels) = half(&data, &labels, &split.train);
        let fitted = fit(&part, &labels, &machine);
        for count in 1..=6 {
            for term in fitted.at_most(count).unwrap().selected() {
                *times.entry((term.name.clone(), count)).or_default() += 1;
            }
        }
    }
    assert_eq!(found.counts, [1, 2, 3, 4, 5, 6]);
    assert!(!found.features.is_empty());
    for feature in &found.features {
        for (&count, &part) in found.counts.iter().zip(&feature.path) {
            let expected = times.get(&(feature.name.clone(), count)).copied().unwrap_or(0);
            assert_eq!(part, f64::from(expected) / 10.0, "{} at {count}", feature.name);
        }
    }
    for term in &model.terms {
        let expected = times.get(&(term.name.clone(), 6)).copied().unwrap_or(0);
        assert_eq!(term.frequency, Some(f64::from(expected) / 10.0), "{}", term.name);
    }
    // What matters is there again and again.
    let stable: Vec<&str> = found.stable().map(|feature| feature.name.as_str()).collect();
    assert!(["1", "2", "3"].iter().all(|name| stable.contains(name)), "{stable:?}");
}

#[test]
fn any_number_of_threads_says_the_same() {
    let (data, labels) = sample(2, 60, 100, 2);
    let machine = Machine::new().features(5);
    let one = judged(&data, &labels, &machine, 6, 1);
    assert_eq!(one.to_json(), judged(&data, &labels, &machine, 6, 3).to_json());
    let again = Model::from_json(one.to_json().as_bytes(), "again").unwrap();
    assert_eq!(again.stability, one.stability);
    // Frequencies are those of the whole path's end.
    let point = one.at(2).unwrap();
    assert!(point.stability.is_none() && point.terms.iter().all(|term| term.frequency.is_none()));
}

/// On pure noise, stable features are no more than the bound says, on average.
#[test]
fn the_bound_holds_on_noise() {
    let (mut stable, mut bound) = (0, 0.0);
    for seed in 0..20 {
        let (data, labels) = sample(100 + seed, 60, 200, 0);
        let model = judged(&data, &labels, &Machine::new().features(10), 20, 1);
        let found = model.stability.unwrap();
        stable += found.stable().count();
        bound += found.expected_false;
    }
    assert!(stable as f64 <= bound, "{stable} stable features, at most {bound} expected");
    assert_eq!(Stability::bound(10.0, 200.0, 0.75), 1.0);
}

#[test]
fn groups_have_frequencies() {
    let (data, labels) = sample(3, 80, 60, 3);
    let lists: Vec<(String, Vec<u64>)> =
        (0..20).map(|g| (format!("g{g}"), (3 * g..3 * g + 3).collect())).collect();
    let given = lists.into_iter().map(|(name, features)| GivenGroup { name: Some(name), features });
    let spec = SpaceSpec::named("linear").unwrap();
    let spec = spec.with_groups(Grouping::of_columns(given.collect())).unwrap();
    let space = spec.build(Inputs::over(&data), None).unwrap().space;
    let machine = Machine::new().features(2);
    let mut model = machine.fit(&*space, &labels).unwrap();
    let names = Names::default();
    let study = Study { spec, ..study(&data, &names) };
    let halves = Halves { machine, runs: 10, seed: 0, context: Context::new() };
    assert!(halves.judge(&mut model, &study, &labels, &|_, _| ()).unwrap());
    let first = model.groups.iter().find(|group| group.name == "g0").unwrap();
    assert!(first.frequency.unwrap() >= 0.9, "{:?}", model.groups);
    assert!(model.terms.iter().all(|term| term.frequency.is_none()));
    assert_eq!(model.stability.unwrap().features[0].name, "g0");
}

#[test]
fn halves_come_in_pairs() {
    for runs in [0, 1, 7] {
        let said = Halves::check(runs).unwrap_err().to_string();
        assert!(said.starts_with("stability: halves come in pairs"), "{said}");
    }
    assert!(StandInSearch::check(0.0).is_err() && StandInSearch::check(f64::NAN).is_err());
    let (data, labels) = sample(4, 4, 5, 0);
    let one_class = Labels::from_text(labels.codes().iter().map(|_| "a".to_owned()));
    let names = Names::default();
    let machine = Machine::new().features(1);
    let model =
        machine.fit(&LinearSpace::over(&data), &Labels::from_text(["a", "b", "a", "b"].map(str::to_owned)));
    let halves = Halves { machine, runs: 2, seed: 0, context: Context::new() };
    let mut model = model.unwrap();
    assert!(halves.judge(&mut model, &study(&data, &names), &one_class, &|_, _| ()).is_err());
    let rare = Labels::from_text(["a", "b", "a", "a"].map(str::to_owned));
    let said = halves.judge(&mut model, &study(&data, &names), &rare, &|_, _| ()).unwrap_err().to_string();
    assert_eq!(said, "stability: class b has 1 instance, fewer than the 2 halves");
}

/// Correlations by their definition.
fn correlation(a: &[f64], b: &[f64], weights: &[f64]) -> f64 {
    let total: f64 = weights.iter().sum();
    let mean = |x: &[f64]| x.iter().zip(weights).map(|(x, w)| w * x).sum::<f64>() / total;
    let (ma, mb) = (mean(a), mean(b));
    let product = |f: &dyn Fn(usize) -> f64| (0..a.len()).map(|i| weights[i] * f(i)).sum::<f64>();
    let covariance = product(&|i| (a[i] - ma) * (b[i] - mb));
    covariance / (product(&|i| (a[i] - ma).powi(2)) * product(&|i| (b[i] - mb).powi(2))).sqrt()
}

#[test]
fn stand_ins_are_the_columns_of_largest_correlation() {
    let rng = &mut ChaCha8Rng::seed_from_u64(5);
    let (rows, features) = (50, 80);
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for j in 0..features {
        let fresh: Vec<f64> = (0..rows).map(|_| rng.sample(StandardNormal)).collect();
        // Every column has something of the one four before it, some with the other sign; one is constant, one nearly a copy.
        columns.push(match j {
            40 => vec![3.0; rows],
            41 => columns[10].iter().zip(&fresh).map(|(x, e)| 5.0 - 1e6 * (x + 0.05 * e)).collect(),
            _ if j < 4 => fresh,
            _ => {
                let sign = if j % 2 == 0 { 1.0 } else { -1.0 };
                (0..rows).map(|i| sign * 0.9 * columns[j - 4][i] + 0.4 * fresh[i]).collect()
            }
        });
    }
    let labels = Labels::from_text((0..rows).map(|i| (columns[10][i] + columns[21][i] > 0.0).to_string()));
    let data = Dense::new(columns.concat(), rows, features, Layout::ColumnMajor).unwrap();
    let counts: Vec<f64> = (0..rows).map(|i| (i % 4) as f64).collect();
    let names = Names::default();
    for weights in [None, Some(counts)] {
        let machine = Machine::new().features(6);
        let labels = match &weights {
            Some(weights) => labels.clone().with_weights(weights.clone()).unwrap(),
            None => labels.clone(),
        };
        let mut model = machine.fit(&LinearSpace::over(&data), &labels).unwrap();
        let search = StandInSearch { least: 0.6, context: Context::new().threads(2) };
        search.note(&mut model, &data, &names, weights.as_deref()).unwrap();
        let ones = vec![1.0; rows];
        let weights = weights.as_deref().unwrap_or(&ones);
        let mut some = false;
        for term in model.selected() {
            let own = term.feature.as_input().unwrap();
            let of = |j: usize| correlation(&columns[own as usize], &columns[j], weights);
            let mut expected: Vec<(usize, f64)> = (0..features)
                .filter(|&j| j as u64 != own && j != 40)
                .map(|j| (j, of(j)))
                .filter(|(_, r)| r.abs() >= 0.6)
                .collect();
            expected.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
            expected.truncate(8);
            assert_eq!(term.stand_ins.len(), expected.len(), "{}", term.name);
            for (found, (j, r)) in term.stand_ins.iter().zip(expected) {
                assert_eq!((found.input, &found.name), (j as u64, &(j + 1).to_string()));
                assert!((found.correlation - r).abs() < 1e-9, "{found:?} for {r}");
                some = true;
            }
        }
        assert!(some);
    }
}

/// The inputs of a product are no stand-ins of it, but others may be.
#[test]
fn products_have_stand_ins() {
    let (rows, zeros) = (40, vec![0.0; 40]);
    let bit = |i: usize, k: usize| f64::from(u8::from((i >> k) & 1 == 1));
    let mut columns: Vec<Vec<f64>> = (0..4).map(|k| (0..rows).map(|i| bit(i, k)).collect()).collect();
    // The product itself, and something that never occurs.
    columns.push((0..rows).map(|i| bit(i, 0) * bit(i, 1)).collect());
    columns.push(zeros);
    let data = Dense::new(columns.concat(), rows, 6, Layout::ColumnMajor).unwrap();
    let labels = Labels::from_text((0..rows).map(|i| (bit(i, 0) * bit(i, 1) > 0.0).to_string()));
    let mut model = Machine::new().features(1).fit(&LinearSpace::over(&data), &labels).unwrap();
    model.terms[0].feature = Feature::product([0, 1]);
    let search = StandInSearch { least: 0.3, context: Context::new() };
    search.note(&mut model, &data, &Names::default(), None).unwrap();
    let inputs: Vec<u64> = model.terms[0].stand_ins.iter().map(|other| other.input).collect();
    assert_eq!(inputs, [4]);
    assert!((model.terms[0].stand_ins[0].correlation - 1.0).abs() < 1e-12);
}
