//! What is proven of K features, beside brute force: on small data all sets can be tried.

use std::sync::Arc;

use featgen::data::{Dense, Except, Labels, Layout, Names};
use featgen::machine::{Select, Stop};
use featgen::model::Proof;
use featgen::objective::{self, Kept, Loss};
use featgen::space::{GroupSpace, GroupWeight, Groups, Inputs, PolySpace, Scale, Scaling};
use featgen::{LinearSpace, Machine, Model, synth};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// What makes a problem special.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Variant {
    Plain,
    NoShift,
    Weights,
    Kept,
    Scaled,
    Copies,
    Groups,
}

const VARIANTS: [Variant; 7] = [
    Variant::Plain,
    Variant::NoShift,
    Variant::Weights,
    Variant::Kept,
    Variant::Scaled,
    Variant::Copies,
    Variant::Groups,
];

const LOSSES: [&str; 7] = ["squared-hinge", "logistic", "softmax", "squared", "huber", "poisson", "cox"];

/// Columns to choose from, one that may be kept, and labels that some of them decide with noise.
struct Problem {
    variant: Variant,
    columns: Vec<Vec<f64>>,
    kept: Vec<f64>,
    labels: Labels,
    machine: Machine,
    k: usize,
}

impl Problem {
    fn new(seed: u64, loss: &'static str, variant: Variant) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (n, p, k) = (random.random_range(24..50), random.random_range(6..10), random.random_range(2..5));
        let draw = |random: &mut ChaCha8Rng| (0..n).map(|_| random.sample(StandardNormal)).collect();
        let mut columns: Vec<Vec<f64>> = (0..p).map(|_| draw(&mut random)).collect();
        let (kept, noise): (Vec<f64>, Vec<f64>) = (draw(&mut random), draw(&mut random));
        // Columns that stand in for each other make it hard.
        for i in 0..n {
            columns[1][i] = 0.7 * columns[0][i] + 0.7 * columns[1][i];
            columns[2][i] += 0.5 * columns[3][i];
        }
        if variant == Variant::Copies {
            columns[4] = columns[0].clone();
            columns[5] = columns[2].iter().map(|x| -x).collect();
        }
        let signal = |i: usize| columns[0][i] - columns[2][i] + 0.7 * columns[3][i] + 0.5 * kept[i];
        let f: Vec<f64> = (0..n).map(|i| signal(i) + noise[i]).collect();
        let loss = objective::by_name(loss).unwrap();
        let mut labels = labels(&*loss, &f);
        if variant == Variant::Weights {
            labels = labels.with_weights((0..n).map(|i| [1.0, 2.0, 0.5, 0.0][i % 4]).collect()).unwrap();
        }
        let cost = 10f64.powf(random.random_range(-2.0..0.5));
        let machine = Machine::new().loss(loss).cost(cost).shift(variant != Variant::NoShift);
        let k = if variant == Variant::Groups { 2 } else { k };
        Self { variant, columns, kept, labels, machine, k }
    }

    /// Candidates by number: columns, or overlapping groups of them.
    fn candidates(&self) -> Vec<Vec<u64>> {
        let p = self.columns.len() as u64;
        match self.variant {
            Variant::Groups => (0..p).map(|g| vec![g, (g + 1) % p]).collect(),
            _ => (0..p).map(|j| vec![j]).collect(),
        }
    }

    /// Fits with a choice of these candidates only.
    fn fit(&self, machine: &Machine, candidates: &[Vec<u64>]) -> Model {
        let (n, p) = (self.kept.len(), self.columns.len());
        let values = [self.columns.concat(), self.kept.clone()].concat();
        let all = Dense::new(values, n, p + 1, Layout::ColumnMajor).unwrap();
        let ids = if self.variant == Variant::Kept { vec![p as u64] } else { Vec::new() };
        let machine = machine.clone().keep(Kept::new(&all, &Names::default(), &ids).unwrap());
        let single = |id: u64| candidates.contains(&vec![id]);
        let grouped = self.variant == Variant::Groups;
        let others = Except::new(&all, (0..=p as u64).filter(|&id| !grouped && !single(id)));
        let inputs = Inputs::over(&others);
        let scale = Scale::new(Scaling::Auto, &inputs, self.labels.weights()).unwrap();
        let inputs = if self.variant == Variant::Scaled { inputs.scaled(&scale) } else { inputs };
        if !grouped {
            return machine.fit(&LinearSpace::from(inputs), &self.labels).unwrap();
        }
        let mut groups = Groups::over(&inputs).unwrap();
        candidates.iter().for_each(|ids| groups.push(&inputs, None, ids.iter().copied()).unwrap());
        machine.fit(&GroupSpace::new(inputs, groups, GroupWeight::None).unwrap(), &self.labels).unwrap()
    }

    /// The objective of the ridge fit on every set of K candidates.
    fn brute_force(&self) -> Vec<(Vec<usize>, f64)> {
        let candidates = self.candidates();
        let machine = self
            .machine
            .clone()
            .select(Select::Best)
            .features(self.k)
            .budget(self.k)
            .exchange(0)
            .inner_tol(1e-10);
        let objective = |set: Vec<usize>| {
            let some: Vec<Vec<u64>> = set.iter().map(|&g| candidates[g].clone()).collect();
            let value = self.fit(&machine, &some).certificate.objective;
            (set, value)
        };
        sets(candidates.len(), self.k).into_iter().map(objective).collect()
    }

    fn proven(&self, goal: Option<f64>) -> (Model, Proof) {
        let machine = self.machine.clone().select(Select::Best).features(self.k);
        let machine = match goal {
            Some(goal) => machine.prove(goal),
            None => machine,
        };
        let model = self.fit(&machine, &self.candidates());
        let proof = model.proof.expect("a proof");
        (model, proof)
    }
}

fn labels(loss: &dyn Loss, f: &[f64]) -> Labels {
    let class = |(i, f): (usize, &f64)| match (loss.name(), i) {
        ("softmax", 0..3) => i,
        ("softmax", _) => usize::from(*f > -0.7) + usize::from(*f > 0.7),
        (_, 0..2) => i,
        _ => usize::from(*f > 0.0),
    };
    match loss.name() {
        "squared" | "huber" => Labels::from_numbers(f.to_vec()),
        "poisson" => Labels::from_numbers(f.iter().map(|f| (0.5 * f).exp().floor()).collect()),
        // A negative time is one after which nothing was seen.
        "cox" => {
            let time = |(i, f): (usize, &f64)| (-f).exp() * if i % 4 == 3 { -1.0 } else { 1.0 };
            Labels::from_numbers(f.iter().enumerate().map(time).collect())
        }
        _ => Labels::from_text(f.iter().enumerate().map(|label| class(label).to_string())),
    }
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

/// Differences that are but rounding, or a fit that is not exact.
const SAME: f64 = 1e-8;

#[test]
fn the_best_set_is_found_and_proven() {
    let mut problems = 0;
    for (seed, (loss, variant)) in
        (0..).zip((0..7).flat_map(|_| LOSSES).flat_map(|loss| VARIANTS.map(|variant| (loss, variant))))
    {
        let problem = Problem::new(seed, loss, variant);
        let all = problem.brute_force();
        let best = all.iter().map(|(_, value)| *value).fold(f64::INFINITY, f64::min);
        let optimal: Vec<&Vec<usize>> =
            all.iter().filter(|(_, value)| *value <= best * (1.0 + SAME)).map(|(set, _)| set).collect();
        let in_all = optimal[0].iter().filter(|j| optimal.iter().all(|set| set.contains(j))).count();
        let mut in_any: Vec<usize> = optimal.iter().flat_map(|set| set.iter().copied()).collect();
        in_any.sort_unstable();
        in_any.dedup();
        for goal in [None, Some(0.05), Some(1e-6)] {
            let (model, proof) = problem.proven(goal);
            let case = format!("{seed} {loss} {variant:?} {goal:?}: {proof:?}, best {best}");
            assert_eq!(model.count(), problem.k, "{case}");
            assert!(proof.lower_bound <= best * (1.0 + 1e-10), "{case}: a wrong bound");
            assert!(proof.objective >= best * (1.0 - SAME), "{case}: below the best");
            assert!(proof.forced <= in_all, "{case}: {in_all} are in every best set");
            assert!(proof.forced as u128 + proof.undecided >= in_any.len() as u128, "{case}: {in_any:?}");
            assert_eq!(proof.nodes == 0, goal.is_none(), "{case}");
            if let Some(goal) = goal {
                assert_eq!(model.stopped, Stop::Features, "{case}");
                assert!(proof.gap() <= goal, "{case}: a gap of {}", proof.gap());
                assert!(proof.objective <= best / (1.0 - goal) * (1.0 + SAME), "{case}");
            }
        }
        problems += 1;
    }
    assert!(problems >= 300);
}

/// Sets of five out of sixteen, most of them nearly as good as each other.
#[test]
fn larger_sets_are_found() {
    for seed in 0..2 {
        let mut random = ChaCha8Rng::seed_from_u64(900 + seed);
        let mut problem = Problem::new(seed, "squared", Variant::Plain);
        let n = problem.kept.len();
        problem.columns = (0..16).map(|_| (0..n).map(|_| random.sample(StandardNormal)).collect()).collect();
        (problem.k, problem.machine) = (5, problem.machine.cost(0.1));
        let best = problem.brute_force().into_iter().map(|(_, value)| value).fold(f64::INFINITY, f64::min);
        let (_, proof) = problem.proven(Some(1e-6));
        assert!((proof.objective - best).abs() <= 2e-6 * best, "{proof:?}, best {best}");
        assert!(proof.lower_bound <= best * (1.0 + 1e-10));
    }
}

/// Planted features among many are proven in no time, and to the same bits on any number of threads.
#[test]
fn planted_features_are_proven() {
    let made = synth::Linear { rows: 400, features: 2000, relevant: 6, ..Default::default() };
    let data = made.train().unwrap();
    let fit = |threads: usize| {
        let context = featgen::Context::new().threads(threads);
        let machine =
            Machine::new().select(Select::Best).features(6).cost(3e-3).prove(1e-3).context(&context);
        machine.fit(&LinearSpace::new(&data), &data.labels).unwrap()
    };
    let (one, three) = (fit(1), fit(3));
    let proof = one.proof.unwrap();
    assert!(proof.gap() <= 1e-3 && proof.undecided < 100, "{proof:?}");
    assert_eq!((one.proof, one.terms), (three.proof, three.terms));
}

/// Products that were never written down are excluded, too.
#[test]
fn products_are_proven() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let (n, p) = (300, 60);
    let columns: Vec<Vec<f64>> =
        (0..p).map(|_| (0..n).map(|_| random.sample(StandardNormal)).collect()).collect();
    let signal = |i: usize| columns[3][i] * columns[40][i] - columns[7][i] * columns[8][i];
    let labels = Labels::from_numbers((0..n).map(|i| signal(i) + 0.3 * columns[1][i]).collect());
    let storage = Dense::new(columns.concat(), n, p, Layout::ColumnMajor).unwrap();
    let space = PolySpace::new(Inputs::over(&storage), 1.0, 1.0).unwrap();
    let loss: Arc<dyn Loss> = objective::by_name("squared").unwrap();
    let machine = Machine::new().loss(loss).cost(0.01).select(Select::Best).features(2).prove(1e-4);
    let model = machine.fit(&space, &labels).unwrap();
    let proof = model.proof.unwrap();
    assert!(proof.gap() <= 1e-4 && proof.forced == 2 && proof.undecided == 0, "{proof:?}");
    let mut chosen: Vec<Vec<u64>> = model.selected().iter().map(|t| t.feature.inputs().to_vec()).collect();
    chosen.sort();
    assert_eq!(chosen, [[3, 40], [7, 8]]);
}

/// A proof that takes too long ends with what is there, and says so.
#[test]
fn a_time_limit_ends_a_proof() {
    let made = synth::Linear { rows: 100, features: 300, relevant: 20, ..Default::default() };
    let data = made.train().unwrap();
    let machine = Machine::new().select(Select::Best).features(12).cost(1.0);
    let model = |machine: Machine| machine.fit(&LinearSpace::new(&data), &data.labels).unwrap();
    let free = model(machine.clone());
    let proven = model(machine.clone().prove(1e-9).time_limit(0.5));
    assert_eq!((free.stopped, proven.stopped), (Stop::Features, Stop::Time));
    let (free, proven) = (free.proof.unwrap(), proven.proof.unwrap());
    assert!(proven.objective <= free.objective * (1.0 + SAME) && proven.lower_bound >= free.lower_bound);
    assert!(proven.nodes > 0 && proven.lower_bound <= proven.objective);
    // So does a search.
    let none = model(machine.clone().time_limit(1e-9));
    assert_eq!((none.stopped, none.count(), none.proof), (Stop::Time, 0, None));
    let refused =
        |machine: Machine| machine.fit(&LinearSpace::new(&data), &data.labels).unwrap_err().to_string();
    assert_eq!(
        refused(machine.clone().time_limit(-1.0)),
        "time-limit: must be a finite number above 0, not -1"
    );
    assert_eq!(refused(machine.clone().prove(0.0)), "prove: must be a finite number above 0, not 0");
    assert!(refused(Machine::new().prove(0.1)).starts_with("prove: only a number of features"));
}
