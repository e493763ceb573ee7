//! Every outcome, run to a certified gap of 1e-6, agrees with a conic solver: with and without intercept, kept columns, offset and
//! weights, over single features, groups that overlap or not, and products.

mod common;

use common::conic::{Design, Outcome};
use common::{Loss, Storage};
use featgen::data::{Labels, Names};
use featgen::objective::{Kept, LossSpec};
use featgen::space::{GroupSpace, GroupWeight, Groups, Inputs, PolySpace};
use featgen::{Context, LinearSpace, Machine, Model};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use rayon::prelude::*;

const GAP: f64 = 1e-6;

/// Names of losses with whether they are for several classes.
const LOSSES: [&str; 8] =
    ["squared", "huber", "poisson", "softmax", "squared-hinge", "many hinges", "logistic", "cox"];

const SPACES: [&str; 4] = ["linear", "groups", "overlapping", "poly2"];

struct Case {
    seed: u64,
    loss: &'static str,
    space: &'static str,
    columns: Vec<Vec<f64>>,
    kept: Vec<Vec<f64>>,
    groups: Vec<Vec<usize>>,
    labels: Labels,
    outcome: Outcome,
    offset: Option<Vec<f64>>,
    weights: Option<Vec<f64>>,
    intercept: bool,
    budget: usize,
    cost: f64,
}

fn case(seed: u64) -> Case {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let pick = |k: u64, of: u64| (seed / k % of) as usize;
    let (loss, space) = (LOSSES[pick(1, 8)], SPACES[pick(8, 4)]);
    let variant = pick(32, 6);
    let (n, m) = (rng.random_range(12..=30), rng.random_range(3..=if space == "poly2" { 5 } else { 14 }));
    let mut normal = |count: usize, size: f64| -> Vec<f64> {
        (0..count).map(|_| size * rng.sample::<f64, _>(StandardNormal)).collect()
    };
    let columns: Vec<Vec<f64>> = (0..m).map(|j| normal(n, [1.0, 0.4, 2.0][j % 3])).collect();
    let kept: Vec<Vec<f64>> =
        if variant == 2 || variant == 5 { (0..2).map(|_| normal(n, 1.0)).collect() } else { Vec::new() };
    let noise = normal(n, 1.0);
    let offset = (variant == 3 && !matches!(loss, "softmax" | "many hinges")).then(|| normal(n, 0.5));
    let f: Vec<f64> = (0..n)
        .map(|i| columns[0][i] - 0.5 * columns[1][i] + noise[i] + kept.first().map_or(0.0, |z| z[i]))
        .collect();
    let weights = (variant == 4).then(|| {
        (0..n).map(|i| if i == n - 1 { 0.0 } else { 0.2 + (i % 5) as f64 * 0.5 }).collect::<Vec<f64>>()
    });
    let classes: Vec<usize> = f
        .iter()
        .enumerate()
        .map(|(i, &f)| {
            if i < 3 {
                i
            } else if f < -0.6 {
                0
            } else {
                1 + usize::from(f > 0.7)
            }
        })
        .collect();
    let signs: Vec<f64> =
        f.iter().enumerate().map(|(i, &f)| if i == 0 || (i > 1 && f > 0.0) { 1.0 } else { -1.0 }).collect();
    let counts: Vec<f64> = f.iter().map(|f| (0.4 * f + 0.5).exp().round()).collect();
    let times: Vec<f64> = f
        .iter()
        .enumerate()
        .map(|(i, &f)| {
            (1.0 + (4.0 * (-0.5 * f).exp()).floor()) * if i > 0 && i % 4 == 0 { -1.0 } else { 1.0 }
        })
        .collect();
    let of_signs = || Labels::from_text(signs.iter().map(|y| y.to_string()));
    let of_classes = || Labels::from_text(classes.iter().map(|k| k.to_string()));
    let (labels, outcome) = match loss {
        "squared" => (Labels::from_numbers(f.clone()), Outcome::Squared(f)),
        "huber" => (Labels::from_numbers(f.clone()), Outcome::Huber(f, 0.8)),
        "poisson" => (Labels::from_numbers(counts.clone()), Outcome::Poisson(counts)),
        "softmax" => (of_classes(), Outcome::Softmax(classes, 3)),
        "many hinges" => (of_classes(), Outcome::Hinges(classes, 3)),
        "squared-hinge" => (of_signs(), Outcome::Margin(Loss::SquaredHinge, signs)),
        "logistic" => (of_signs(), Outcome::Margin(Loss::Logistic, signs)),
        _ => (
            Labels::from_numbers(times.clone()),
            Outcome::Cox(times, weights.clone().unwrap_or_else(|| vec![1.0; n])),
        ),
    };
    let groups = match space {
        "groups" => (0..m).collect::<Vec<_>>().chunks(3).map(<[usize]>::to_vec).collect(),
        "overlapping" => common::overlapping(&mut rng, m),
        _ => Vec::new(),
    };
    let budget = rng.random_range(1..=4);
    let cost = 10f64.powf(rng.random_range(-1.5..0.7));
    Case {
        seed,
        loss,
        space,
        columns,
        kept,
        groups,
        labels,
        outcome,
        offset,
        weights,
        intercept: variant != 1 && loss != "cox",
        budget,
        cost,
    }
}

impl Case {
    fn fit(&self, change: impl FnOnce(Machine) -> Machine) -> Model {
        let ids: Vec<u64> = (0..self.columns.len() as u64).collect();
        let columns = Storage::ALL[(self.seed % 5) as usize].store(&self.exact(), &ids);
        let name = if self.loss == "many hinges" { "squared-hinge" } else { self.loss };
        let given: &[(&str, f64)] = if self.loss == "huber" { &[("delta", 0.8)] } else { &[] };
        let loss = LossSpec::find(name).unwrap().make(given).unwrap();
        let mut machine = Machine::new()
            .loss(loss)
            .budget(self.budget)
            .cost(self.cost)
            .shift(self.intercept)
            .context(&Context::new().threads(1));
        if !self.kept.is_empty() {
            // Ids that the space does not have.
            let ids: Vec<u64> = (1000..).take(self.kept.len()).collect();
            let stored = Storage::Sparse.store(&self.kept, &ids);
            machine = machine.keep(Kept::new(&*stored, &Names::default(), &ids).unwrap());
        }
        if let Some(offset) = &self.offset {
            machine = machine.offset(offset.clone());
        }
        let labels = match &self.weights {
            Some(weights) => self.labels.clone().with_weights(weights.clone()).unwrap(),
            None => self.labels.clone(),
        };
        let (inputs, machine) = (Inputs::over(&*columns), change(machine));
        let fitted = match self.space {
            "linear" => machine.fit(&LinearSpace::from(inputs), &labels),
            "poly2" => machine.fit(&PolySpace::new(inputs, 1.0, 1.0).unwrap(), &labels),
            _ => {
                let mut lists = Groups::over(&inputs).unwrap();
                for group in &self.groups {
                    lists.push(&inputs, None, group.iter().map(|&j| columns.id(j))).unwrap();
                }
                machine.fit(&GroupSpace::new(inputs, lists, GroupWeight::None).unwrap(), &labels)
            }
        };
        fitted.unwrap_or_else(|error| panic!("{self}: {error}"))
    }

    /// Columns as 32-bit storages hold them.
    fn exact(&self) -> Vec<Vec<f64>> {
        self.columns.iter().map(|x| x.iter().map(|&x| f64::from(x as f32)).collect()).collect()
    }

    fn optimum(&self, cost: f64) -> f64 {
        let plain = self.exact();
        let (columns, groups): (Vec<Vec<f64>>, Vec<usize>) = match self.space {
            "linear" => (plain.clone(), vec![1; plain.len()]),
            "poly2" => {
                let all = products(&plain);
                let sizes = vec![1; all.len()];
                (all, sizes)
            }
            _ => (
                self.groups.iter().flatten().map(|&j| plain[j].clone()).collect(),
                self.groups.iter().map(Vec::len).collect(),
            ),
        };
        let weight = |i: usize| self.weights.as_ref().map_or(1.0, |w| w[i]);
        let costs: Vec<f64> = (0..plain[0].len()).map(|i| cost * weight(i)).collect();
        let design = Design {
            columns: &columns,
            groups: &groups,
            kept: &self.kept,
            offset: self.offset.as_deref(),
            costs: &costs,
            budget: self.budget,
            intercept: self.intercept,
        };
        design.optimum(&self.outcome)
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { seed, loss, space, columns, kept, offset, weights, intercept, budget, cost, .. } = self;
        let (n, m, kept, offset, weighted) =
            (columns[0].len(), columns.len(), kept.len(), offset.is_some(), weights.is_some());
        write!(
            f,
            "seed {seed}: {loss} over {space} ({n} x {m}, kept {kept}, offset {offset}, weighted {weighted}, "
        )?;
        write!(f, "intercept {intercept}, B {budget}, C {cost:.4})")
    }
}

/// The explicit features of a polynomial of degree 2 with gamma = r = 1.
fn products(columns: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let (n, root) = (columns[0].len(), 2f64.sqrt());
    let mut all = vec![vec![1.0; n]];
    for (j, x) in columns.iter().enumerate() {
        all.push(x.iter().map(|x| root * x).collect());
        all.push(x.iter().map(|x| x * x).collect());
        all.extend(columns[..j].iter().map(|y| x.iter().zip(y).map(|(x, y)| root * x * y).collect()));
    }
    all
}

/// At least 300 problems: all losses, spaces and variants.
#[test]
fn all_outcomes_agree_with_a_conic_solver() {
    (0..8 * 4 * 6 * 2u64).into_par_iter().for_each(|seed| {
        let case = case(seed);
        let model = case.fit(|machine| machine.gap(0.5 * GAP));
        let (found, expected) = (model.certificate.objective, case.optimum(case.cost));
        let (rounds, gap) = (model.rounds.len(), model.certificate.gap());
        let away = (found - expected) / expected;
        // Kept columns may separate the classes, and leave nothing to explain.
        if expected < 1e-9 && found < 1e-9 {
            return;
        }
        assert!(away.abs() <= GAP, "{case}: {found}, not {expected}: {away:e} away after {rounds} rounds");
        assert!(gap <= GAP, "{case}: a gap of {gap:e} after {rounds} rounds, {:?}", model.stopped);
        // Every bound on the way is below the optimum, and every objective above.
        for round in &model.rounds {
            assert!(
                round.lower_bound <= expected * (1.0 + 1e-7),
                "{case}: {} above {expected}",
                round.lower_bound
            );
            assert!(
                round.objective >= expected * (1.0 - 1e-7),
                "{case}: {} below {expected}",
                round.objective
            );
        }
    });
}
