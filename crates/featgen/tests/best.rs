//! K features chosen by gain, with exchange and a ridge fit: exactly K, near the best of all sets on small data, in any units.

use std::sync::Arc;

use featgen::data::{Dense, Labels, Layout};
use featgen::machine::{Select, Stop};
use featgen::objective::{self, Loss};
use featgen::space::{GroupSpace, GroupWeight, Groups, Inputs, PolySpace, Scale, Scaling};
use featgen::{LinearSpace, Machine, Model};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Normal columns, and labels that some of them decide together with noise.
struct Planted {
    columns: Vec<Vec<f64>>,
    labels: Vec<f64>,
}

fn normal(random: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

impl Planted {
    fn new(seed: u64, n: usize, p: usize, relevant: usize, noise: f64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let columns: Vec<Vec<f64>> = (0..p).map(|_| (0..n).map(|_| normal(&mut random)).collect()).collect();
        let label =
            |i: usize| columns[..relevant].iter().map(|x| x[i]).sum::<f64>() + noise * normal(&mut random);
        let labels = (0..n).map(label).collect();
        Self { columns, labels }
    }

    fn storage(&self) -> Dense<f64, Vec<f64>> {
        let (n, p) = (self.labels.len(), self.columns.len());
        Dense::new(self.columns.concat(), n, p, Layout::ColumnMajor).unwrap()
    }

    /// Two classes, or numbers, as the loss needs them.
    fn labels(&self, loss: &dyn Loss) -> Labels {
        match loss.name() {
            "squared-hinge" | "logistic" => {
                Labels::from_text(self.labels.iter().map(|&y| if y > 0.0 { "yes" } else { "no" }.to_owned()))
            }
            "poisson" => {
                Labels::from_numbers(self.labels.iter().map(|y| y.exp().floor().min(50.0)).collect())
            }
            _ => Labels::from_numbers(self.labels.clone()),
        }
    }
}

fn chosen(model: &Model) -> Vec<u64> {
    let mut ids: Vec<u64> = model.selected().iter().map(|term| term.feature.inputs()[0]).collect();
    ids.sort_unstable();
    ids
}

/// The objective of a ridge fit on these columns alone.
fn ridge(machine: &Machine, data: &Planted, set: &[usize], labels: &Labels) -> f64 {
    let columns = set.iter().map(|&j| data.columns[j].clone()).collect();
    let some = Planted { columns, labels: data.labels.clone() };
    let machine = machine.clone().features(set.len()).exchange(0).budget(set.len()).inner_tol(1e-9);
    machine.fit(&LinearSpace::over(&some.storage()), labels).unwrap().certificate.objective
}

fn sets(p: usize, k: usize) -> Vec<Vec<usize>> {
    if k == 0 {
        return vec![Vec::new()];
    }
    let with = |last: usize| {
        sets(last, k - 1).into_iter().map(move |mut set| {
            set.push(last);
            set
        })
    };
    (k - 1..p).flat_map(with).collect()
}

/// On small data all sets can be tried: the chosen one is never below the best, its bound never above, and most often it is the best.
#[test]
fn chosen_sets_are_near_the_best() {
    let (mut found, mut tried) = (0, 0);
    for seed in 0..12 {
        let data = Planted::new(seed, 100, 9, 3, 2.0);
        for name in ["squared-hinge", "logistic", "squared", "poisson"] {
            let loss = objective::by_name(name).unwrap();
            let labels = data.labels(&*loss);
            let machine = Machine::new().loss(Arc::clone(&loss)).cost(0.1);
            let all: Vec<f64> = sets(9, 3).iter().map(|set| ridge(&machine, &data, set, &labels)).collect();
            let best = all.iter().copied().fold(f64::INFINITY, f64::min);
            let storage = data.storage();
            let model = machine.clone().features(3).fit(&LinearSpace::over(&storage), &labels).unwrap();
            let certificate = &model.certificate;
            assert_eq!((model.count(), model.stopped), (3, Stop::Features), "{name} {seed}");
            assert!(certificate.objective >= (1.0 - 1e-6) * best, "{name} {seed}: below the best");
            assert!(certificate.lower_bound <= (1.0 + 1e-9) * best, "{name} {seed}: a wrong bound");
            assert!(
                certificate.objective <= 1.1 * best,
                "{name} {seed}: {} for {best}",
                certificate.objective
            );
            found += usize::from(certificate.objective <= (1.0 + 1e-5) * best);
            tried += 1;
        }
    }
    assert!(found * 10 >= tried * 8, "{found} of {tried}");
}

/// Of a rare class, columns of few values explain an instance or two more than others by chance: they do not take the place of what was
/// chosen, however much that would lower the objective.
#[test]
fn columns_of_few_values_are_not_exchanged_for_what_they_fit_by_chance() {
    let (n, p) = (400, 2000);
    let is_rare = |i: usize| i < n / 10;
    for seed in 0..3 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut column = |j: usize| -> Vec<f64> {
            let rate = |i: usize| if is_rare(i) && j < 20 { 0.2 } else { 0.01 };
            (0..n).map(|i| f64::from(u8::from(random.random::<f64>() < rate(i)))).collect()
        };
        let columns = (0..p).map(&mut column).collect();
        let labels = (0..n).map(|i| if is_rare(i) { 1.0 } else { -1.0 }).collect();
        let data = Planted { columns, labels };
        let (storage, labels) = (data.storage(), data.labels(&*objective::by_name("squared-hinge").unwrap()));
        let fit = |steps: usize| {
            let machine = Machine::new().features(8).exchange(steps);
            chosen(&machine.fit(&LinearSpace::over(&storage), &labels).unwrap())
        };
        assert_eq!(fit(15), fit(0), "seed {seed}");
    }
}

/// Where nothing stands out from chance, features are chosen by what each says alone: not by what is left of the noise once others are
/// fitted to it.
#[test]
fn without_signal_features_are_judged_alone() {
    for seed in 0..5 {
        let data = Planted::new(seed, 40, 300, 0, 1.0);
        let correlation = |x: &[f64]| {
            let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
            let (a, b) = (mean(x), mean(&data.labels));
            let sum = |f: &dyn Fn(usize) -> f64| (0..x.len()).map(f).sum::<f64>();
            sum(&|i| (x[i] - a) * (data.labels[i] - b)).abs() / sum(&|i| (x[i] - a).powi(2)).sqrt()
        };
        let mut alone: Vec<u64> = (0..300).collect();
        alone.sort_by(|&j, &k| {
            let of = |j: u64| correlation(&data.columns[j as usize]);
            of(k).total_cmp(&of(j))
        });
        let storage = data.storage();
        let scale = Scale::new(Scaling::Auto, &Inputs::over(&storage), None).unwrap();
        let space = LinearSpace::from(Inputs::over(&storage).scaled(&scale));
        let labels = Labels::from_numbers(data.labels.clone());
        let loss = objective::by_name("squared").unwrap();
        let model = Machine::new().loss(loss).features(10).fit(&space, &labels).unwrap();
        let same = chosen(&model).iter().filter(|id| alone[..10].contains(id)).count();
        assert!(same >= 8, "{seed}: {same} of 10");
    }
}

/// The weights are those of the ridge fit on the chosen set, at every point of the path.
#[test]
fn points_of_the_path_are_ridge_fits() {
    let data = Planted::new(3, 80, 40, 6, 1.0);
    let loss = objective::by_name("squared-hinge").unwrap();
    let (labels, storage) = (data.labels(&*loss), data.storage());
    let machine = Machine::new().cost(0.3);
    let model = machine.clone().features(8).budget(2).fit(&LinearSpace::over(&storage), &labels).unwrap();
    for count in [2, 4, 6, 8] {
        let point = model.at(count).unwrap();
        let set: Vec<usize> = chosen(&point).iter().map(|&id| id as usize).collect();
        let expected = ridge(&machine, &data, &set, &labels);
        let found = point.certificate.objective;
        assert!((found - expected).abs() <= 1e-5 * expected, "{count}: {found} {expected}");
    }
}

/// Columns of any size: with scaled columns the units do not matter, and the planted ones are found.
#[test]
fn units_do_not_matter() {
    let plain = Planted::new(5, 200, 300, 5, 0.5);
    let mut strange = Planted { columns: plain.columns.clone(), labels: plain.labels.clone() };
    for (j, column) in strange.columns.iter_mut().enumerate() {
        let unit = [1e6, 1e-3, 1.0, 250.0][j % 4];
        // Far from 0, too: an intercept takes care of that.
        column.iter_mut().for_each(|x| *x = unit * (*x + 10.0 * (j % 3) as f64));
    }
    let loss = objective::by_name("squared-hinge").unwrap();
    let labels = plain.labels(&*loss);
    for scaling in [Scaling::Auto, Scaling::Std] {
        let fit = |data: &Planted| {
            let storage = data.storage();
            let scale = Scale::new(scaling, &Inputs::over(&storage), None).unwrap();
            let space = LinearSpace::from(Inputs::over(&storage).scaled(&scale));
            Machine::new().features(5).fit(&space, &labels).unwrap()
        };
        let (model, other) = (fit(&plain), fit(&strange));
        assert_eq!(chosen(&model), [0, 1, 2, 3, 4]);
        assert_eq!(chosen(&other), [0, 1, 2, 3, 4]);
        assert!((model.training.accuracy.unwrap() - other.training.accuracy.unwrap()).abs() < 0.02);
        // Weights are those of the data: the same decision values, but for how exactly problems are solved.
        let weight = |model: &Model, id: u64| {
            model.selected().iter().find(|t| t.feature.inputs() == [id]).unwrap().weight.0[0]
        };
        let ratio = weight(&other, 0) / weight(&model, 0) * 1e6;
        assert!((ratio - 1.0).abs() < 1e-2, "{ratio}");
    }
}

/// Groups and products are measured by what they gain, too.
#[test]
fn groups_and_products_are_chosen_by_gain() {
    let data = Planted::new(8, 150, 40, 0, 1.0);
    let label = |i: usize| data.columns[4][i] + data.columns[5][i] - data.columns[22][i] * 2.0;
    let planted = Planted { columns: data.columns.clone(), labels: (0..150).map(label).collect() };
    let loss = objective::by_name("squared").unwrap();
    let (labels, storage) = (planted.labels(&*loss), planted.storage());
    let inputs = Inputs::over(&storage);
    // Twenty pairs; a label needs the third and the twelfth.
    let mut groups = Groups::over(&inputs).unwrap();
    (0..20).for_each(|g| groups.push(&inputs, None, [2 * g, 2 * g + 1]).unwrap());
    let space = GroupSpace::new(inputs, groups, GroupWeight::None).unwrap();
    let model = Machine::new().loss(Arc::clone(&loss)).cost(1.0).features(2).fit(&space, &labels).unwrap();
    assert_eq!(model.count(), 2);
    let mut names: Vec<String> =
        model.selected_groups().iter().map(|group| group.group.name.clone()).collect();
    names.sort();
    assert_eq!(names, ["12", "3"]);

    let product: Vec<f64> = (0..150).map(|i| data.columns[7][i] * data.columns[31][i]).collect();
    let planted = Planted { columns: data.columns.clone(), labels: product };
    let labels = planted.labels(&*loss);
    let space = PolySpace::new(Inputs::over(&storage), 1.0, 1.0).unwrap();
    let model = Machine::new().loss(loss).cost(1.0).features(1).fit(&space, &labels).unwrap();
    assert_eq!(model.selected()[0].feature.inputs(), [7, 31]);
}

/// A column that is constant has nothing to add, and no scale: groups are chosen for their other columns.
#[test]
fn groups_may_hold_constant_columns() {
    let mut data = Planted::new(4, 100, 20, 4, 1.0);
    (0..20).step_by(5).for_each(|j| data.columns[j] = vec![if j == 5 { 0.0 } else { 7.0 }; 100]);
    let loss = objective::by_name("squared-hinge").unwrap();
    let (labels, storage) = (data.labels(&*loss), data.storage());
    let scale = Scale::new(Scaling::Auto, &Inputs::over(&storage), None).unwrap();
    let inputs = Inputs::over(&storage).scaled(&scale);
    let mut groups = Groups::over(&inputs).unwrap();
    (0..4).for_each(|g| groups.push(&inputs, None, 5 * g..5 * g + 5).unwrap());
    let space = GroupSpace::new(inputs, groups, GroupWeight::None).unwrap();
    let model = Machine::new().features(2).fit(&space, &labels).unwrap();
    assert_eq!((model.count(), model.stopped), (2, Stop::Features));
    assert_eq!(model.selected().len(), 8);
    assert!(model.selected_groups().iter().all(|selected| selected.group.size == 5));
}

/// A number of features is chosen by gain, unless a gap is asked for: that is for the paper's rounds.
#[test]
fn the_default_depends_on_what_is_asked_for() {
    let chosen = |machine: Machine| machine.select_in_use().unwrap();
    assert_eq!(chosen(Machine::new().features(3)), Select::Best);
    assert_eq!(chosen(Machine::new().features(3).exchange(2)), Select::Best);
    assert_eq!(chosen(Machine::new().features(3).select(Select::Paper)), Select::Paper);
    assert_eq!(chosen(Machine::new().features(3).gap(0.1)), Select::Paper);
    assert_eq!(chosen(Machine::new().gap(0.1)), Select::Paper);
    assert_eq!(chosen(Machine::new()), Select::Paper);
}

/// Rules that end rounds end these, too, if they are given.
#[test]
fn runs_end_by_rounds_and_by_tolerance() {
    let data = Planted::new(2, 60, 20, 3, 1.0);
    let loss = objective::by_name("squared-hinge").unwrap();
    let (labels, storage) = (data.labels(&*loss), data.storage());
    let fit = |machine: Machine| machine.fit(&LinearSpace::over(&storage), &labels).unwrap();
    let rounds = fit(Machine::new().features(15).max_rounds(4));
    assert_eq!((rounds.count(), rounds.stopped), (4, Stop::Rounds));
    let tolerance = fit(Machine::new().features(15).tol(0.05));
    assert_eq!(tolerance.stopped, Stop::Tolerance);
    assert!((1..15).contains(&tolerance.count()), "{}", tolerance.count());
}

/// A feature that gains next to nothing is still one of those that were asked for.
#[test]
fn every_feature_that_is_counted_has_a_weight() {
    let mut data = Planted::new(2, 60, 4, 2, 0.1);
    // All but explained by the others, and all but nothing.
    let faint: Vec<f64> = (0..60).map(|i| 1e-5 * data.columns[3][i] + 1e-6 * (i % 7) as f64).collect();
    data.columns.push(faint);
    let labels = data.labels(&*objective::by_name("squared-hinge").unwrap());
    for budget in [1, 5] {
        let machine = Machine::new().cost(0.1).features(5).budget(budget);
        let model = machine.fit(&LinearSpace::over(&data.storage()), &labels).unwrap();
        assert_eq!((model.count(), model.stopped), (5, Stop::Features));
        let counts: Vec<usize> = model.rounds.iter().map(|round| round.selected).collect();
        assert!(counts.is_sorted_by(|a, b| a < b), "{counts:?}");
    }
}

/// What cannot be had is refused, or said.
#[test]
fn strange_wishes() {
    let data = Planted::new(1, 30, 5, 2, 1.0);
    let loss = objective::by_name("squared-hinge").unwrap();
    let (labels, storage) = (data.labels(&*loss), data.storage());
    let space = LinearSpace::over(&storage);
    let refused = |machine: Machine| machine.fit(&space, &labels).unwrap_err().to_string();
    assert_eq!(refused(Machine::new().select(Select::Best)), "select: best needs the number of features");
    let gap = Machine::new().select(Select::Best).features(2).gap(0.1);
    assert_eq!(refused(gap), "gap: only the paper's rounds come to a certified gap");
    let exchange = Machine::new().exchange(3).max_rounds(2);
    assert_eq!(refused(exchange), "exchange: only features chosen by gain are exchanged");
    // More than there are; a constant column and one that is empty are nothing to gain from.
    let mut more = Planted { columns: data.columns.clone(), labels: data.labels.clone() };
    more.columns.extend([vec![7.0; 30], vec![0.0; 30], data.columns[0].clone()]);
    let storage = more.storage();
    let model = Machine::new().features(50).fit(&LinearSpace::over(&storage), &labels).unwrap();
    assert_eq!((model.count(), model.stopped), (6, Stop::Exhausted));
    assert!(!chosen(&model).contains(&5) && !chosen(&model).contains(&6));
}
