//! Groups, end to end: disjoint, overlapping, weighted and nested, against a conic solver over explicit copies of columns.

mod common;

use std::collections::HashSet;

use common::{Problem, nested, optimum, overlapping};
use featgen::data::Columns;
use featgen::machine::{Select, Stop};
use featgen::model::{Round, Seconds};
use featgen::space::{FeatureSpace, GroupSpace, GroupWeight, Groups, Inputs, Tree, TreeSpace};
use featgen::{Context, LinearSpace, Machine, Model};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// How groups lie to each other.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Disjoint,
    Overlapping,
    Tree,
}

/// A problem with groups of its columns.
struct Grouped {
    problem: Problem,
    kind: Kind,
    groups: Vec<Vec<usize>>,
    weight: GroupWeight,
}

impl Grouped {
    fn new(problem: Problem, kind: Kind, weight: GroupWeight) -> Self {
        let rng = &mut ChaCha8Rng::seed_from_u64(problem.seed + 1000);
        let m = problem.columns.len();
        let groups = match kind {
            Kind::Disjoint => {
                let count = rng.random_range(1..=m);
                let mut groups = vec![Vec::new(); count];
                (0..m).for_each(|j| groups[rng.random_range(0..count)].push(j));
                groups.retain(|group| !group.is_empty());
                groups
            }
            Kind::Overlapping => overlapping(rng, m),
            Kind::Tree => nested(rng, m),
        };
        Self { problem, kind, groups, weight }
    }

    fn space<'a>(&self, columns: &'a dyn Columns) -> Box<dyn FeatureSpace + 'a> {
        let inputs = Inputs::over(columns);
        let mut lists = Groups::over(&inputs).unwrap();
        for group in &self.groups {
            lists.push(&inputs, None, group.iter().map(|&j| columns.id(j))).unwrap();
        }
        match self.kind {
            Kind::Tree => Box::new(TreeSpace::new(inputs, Tree::new(&lists).unwrap(), self.weight).unwrap()),
            _ => Box::new(GroupSpace::new(inputs, lists, self.weight).unwrap()),
        }
    }

    /// The reference: a copy of a column for every group that holds it, over the group's weight.
    fn optimum(&self, cost: f64) -> f64 {
        let eta = |group: &[usize]| match self.weight {
            GroupWeight::None => 1.0,
            GroupWeight::Sqrt => (group.len() as f64).sqrt(),
        };
        let copies = |group: &Vec<usize>| {
            let eta = eta(group);
            let scaled = |&j: &usize| self.problem.columns[j].iter().map(|x| x / eta).collect::<Vec<_>>();
            group.iter().map(scaled).collect::<Vec<_>>()
        };
        let columns: Vec<Vec<f64>> = self.groups.iter().flat_map(copies).collect();
        let sizes: Vec<usize> = self.groups.iter().map(Vec::len).collect();
        let Problem { signs, loss, budget, shift, .. } = &self.problem;
        optimum(&columns, &sizes, signs, &self.problem.costs(cost), *loss, *budget, *shift)
    }
}

impl std::fmt::Display for Grouped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {:?} {} groups, {}", self.kind, self.weight, self.groups.len(), self.problem)
    }
}

/// Problems that go through all kinds and weights, and with every seventh seed soon through storages, losses and shifts.
fn problems(count: u64, make: fn(u64) -> Problem) -> impl Iterator<Item = Grouped> + Send {
    let kinds = [Kind::Disjoint, Kind::Overlapping, Kind::Tree];
    let weights = [GroupWeight::None, GroupWeight::Sqrt];
    let all = kinds.into_iter().flat_map(move |kind| weights.map(|weight| (kind, weight)));
    all.flat_map(move |(kind, weight)| (0..count).map(move |k| Grouped::new(make(7 * k), kind, weight)))
}

const GAP: f64 = 1e-6;

/// The machine, run to a certified gap, finds what the conic solver finds.
fn agrees(solver: &str, count: u64, make: fn(u64) -> Problem, closes: bool) {
    // One problem a thread: they are small, and plain gradients take long.
    problems(count, make).par_bridge().for_each(|grouped| {
        let (problem, columns) = (&grouped.problem, grouped.problem.store());
        let space = grouped.space(&*columns);
        let model = problem
            .machine()
            .gap(GAP)
            .solver(solver)
            .context(&Context::new().threads(1))
            .fit(&*space, &problem.labels())
            .unwrap();
        let (found, expected) = (model.certificate.objective, grouped.optimum(problem.cost));
        let (rounds, gap) = (model.rounds.len(), model.certificate.gap());
        let away = (found - expected) / expected;
        assert!(away.abs() <= GAP, "{grouped}: {found}, not {expected}: {away:e} away after {rounds} rounds");
        assert!(gap <= GAP || !closes, "{grouped}: a gap of {gap:e} after {rounds} rounds");
    });
}

#[test]
fn newton_agrees() {
    agrees("newton", 25, Problem::random, true);
}

/// Where columns outnumber the rows by far, steps work with the rows: they reach their gap, and neither solver refutes the other.
#[test]
fn newton_agrees_where_rows_are_few() {
    problems(10, Problem::low).par_bridge().for_each(|grouped| {
        let (problem, columns) = (&grouped.problem, grouped.problem.store());
        let space = grouped.space(&*columns);
        let [newton, apg] = ["newton", "apg"].map(|solver| {
            let machine = problem.machine().gap(1e-5).solver(solver).context(&Context::new().threads(1));
            machine.fit(&*space, &problem.labels()).unwrap().certificate
        });
        assert!(newton.gap() <= 1e-5, "{grouped}: a gap of {:e}", newton.gap());
        assert!(newton.lower_bound <= apg.objective * (1.0 + 1e-9), "{grouped}: {newton:?}, {apg:?}");
        assert!(apg.lower_bound <= newton.objective * (1.0 + 1e-9), "{grouped}: {newton:?}, {apg:?}");
    });
}

#[test]
fn apg_agrees() {
    agrees("apg", 10, Problem::random, true);
}

#[test]
fn pg_agrees() {
    // The first would take a minute or two.
    agrees("pg", 2, |seed| Problem::mild(seed + 7), false);
}

/// The bounds of every round enclose the optimum.
fn check_bounds(grouped: &Grouped, model: &Model) {
    let optimum = grouped.optimum(grouped.problem.cost);
    for round in &model.rounds {
        let (t, objective, bound) = (round.round, round.objective, round.lower_bound);
        assert!(bound <= optimum * (1.0 + 1e-8), "{grouped}, round {t}: {bound} above the optimum {optimum}");
        assert!(objective >= optimum * (1.0 - 1e-8), "{grouped}, round {t}: {objective} below {optimum}");
    }
}

/// Every round counts its groups, and the path leads back to it.
fn check_path(grouped: &Grouped, model: &Model) {
    for round in &model.rounds {
        let t = round.round;
        let groups: HashSet<_> = round.terms.iter().map(|&k| model.terms[k].group.unwrap()).collect();
        assert_eq!(round.selected, groups.len(), "{grouped}, round {t}");
        let at = model.at(round.selected).unwrap();
        assert_eq!(at.count(), round.selected, "{grouped}, round {t}");
    }
    assert_eq!(model.count(), model.rounds.last().map_or(0, |round| round.selected), "{grouped}");
}

/// Groups enter whole: every feature of a selected group that has anything to say carries weight.
fn check_groups(grouped: &Grouped, columns: &dyn Columns, model: &Model) {
    for selected in model.selected_groups() {
        let number: usize = selected.group.name.parse().expect("groups without names are numbered");
        let members = &grouped.groups[number - 1];
        assert_eq!(selected.group.size, members.len(), "{grouped}");
        let ids: HashSet<u64> = members.iter().map(|&j| columns.id(j)).collect();
        for term in &selected.terms {
            let id = term.feature.as_input().expect("an input");
            assert!(ids.contains(&id), "{grouped}: feature {id} is not in group {number}");
            assert_eq!(term.round, selected.group.round, "{grouped}");
        }
        assert!(selected.terms.len() <= members.len(), "{grouped}");
    }
}

#[test]
fn every_round_is_certified() {
    for grouped in problems(20, Problem::random) {
        let columns = grouped.problem.store();
        let space = grouped.space(&*columns);
        let machine = grouped.problem.machine().tol(1e-9);
        let mut seen = 0;
        let mut observer = |_: &Round| seen += 1;
        let model = machine.fit_observed(&*space, &grouped.problem.labels(), &mut observer).unwrap();
        assert_eq!(seen, model.rounds.len(), "{grouped}");
        check_bounds(&grouped, &model);
        check_path(&grouped, &model);
        check_groups(&grouped, &*columns, &model);
    }
}

#[test]
fn a_wanted_number_of_groups_is_reached() {
    for grouped in problems(10, Problem::contradictory) {
        let columns = grouped.problem.store();
        let space = grouped.space(&*columns);
        let wanted = grouped.groups.len().min(3);
        for &select in Select::ALL {
            let machine = grouped.problem.machine().select(select).features(wanted);
            let model = machine.fit(&*space, &grouped.problem.labels()).unwrap();
            // Groups of the same columns, or of none that matter, may leave nothing to choose.
            let found = model.count();
            assert!(found == wanted || model.stopped != Stop::Features, "{grouped}: {found}");
            assert!(found <= wanted, "{grouped}");
            check_path(&grouped, &model);
            check_groups(&grouped, &*columns, &model);
        }
    }
}

/// Without what groups and clocks add.
fn plain(mut model: Model) -> Model {
    model.groups.clear();
    model.terms.iter_mut().for_each(|term| term.group = None);
    model.rounds.iter_mut().for_each(|round| {
        round.seconds = Seconds::default();
        round.scored = 0;
    });
    model.training.candidates = 0;
    model.space.clear();
    model
}

/// Groups of one are features: the same model to the last bit, in a list and in a tree, with and without weights.
#[test]
fn groups_of_one_are_features() {
    for problem in (0..40).map(Problem::random) {
        let columns = problem.store();
        let three = problem.machine().select(Select::Paper).features(3).debias(1.0);
        for machine in [problem.machine(), problem.machine().gap(1e-4), three] {
            let expected = plain(machine.fit(&LinearSpace::over(&*columns), &problem.labels()).unwrap());
            for (kind, weight) in [(Kind::Disjoint, GroupWeight::None), (Kind::Tree, GroupWeight::Sqrt)] {
                let groups = (0..problem.columns.len()).map(|j| vec![j]).collect();
                let grouped = Grouped { problem: Problem::random(problem.seed), kind, groups, weight };
                let model = machine.fit(&*grouped.space(&*columns), &problem.labels()).unwrap();
                assert!(plain(model) == expected, "{grouped}: not the linear model");
            }
        }
    }
}

/// The refit is an l2 model on the features of the selected groups, each once: whatever groups share them.
#[test]
fn a_refit_forgets_groups() {
    for grouped in problems(10, Problem::random).filter(|g| g.kind != Kind::Disjoint) {
        let (problem, columns) = (&grouped.problem, grouped.problem.store());
        let machine = problem.machine().max_rounds(2).inner_tol(1e-10).debias(0.7);
        let model = machine.fit(&*grouped.space(&*columns), &problem.labels()).unwrap();
        let mut held: Vec<usize> = Vec::new();
        for selected in model.selected_groups() {
            let number: usize = selected.group.name.parse().unwrap();
            held.extend(&grouped.groups[number - 1]);
        }
        held.sort_unstable();
        held.dedup();
        if held.is_empty() {
            continue;
        }
        // The same by another way: one block of all these columns is ridge regression.
        let kept: Vec<Vec<f64>> = held.iter().map(|&j| problem.columns[j].clone()).collect();
        let expected = optimum(
            &kept,
            &[kept.len()],
            &problem.signs,
            &problem.costs(0.7),
            problem.loss,
            1,
            problem.shift,
        );
        let mut weights = vec![0.0; problem.columns.len()];
        for term in &model.terms {
            let id = term.feature.as_input().expect("an input");
            weights[columns.position(id).unwrap()] += term.weight.one();
        }
        let found = 0.5 * weights.iter().map(|w| w * w).sum::<f64>()
            + problem.total_loss(&weights, model.bias.one(), 0.7);
        assert!((found / expected - 1.0).abs() < 1e-6, "{grouped}: {found}, not {expected}");
    }
}

/// A tree and the same groups in a list are the same problem.
#[test]
fn a_tree_is_a_faster_list() {
    for grouped in problems(20, Problem::random).filter(|g| g.kind == Kind::Tree) {
        let (problem, columns) = (&grouped.problem, grouped.problem.store());
        let fit = |kind: Kind, machine: &Machine| {
            let groups = grouped.groups.clone();
            let same =
                Grouped { problem: Problem::random(problem.seed), kind, groups, weight: grouped.weight };
            machine.fit(&*same.space(&*columns), &problem.labels()).unwrap()
        };
        let machine = problem.machine().gap(1e-8);
        let [a, b] = [Kind::Tree, Kind::Overlapping].map(|kind| fit(kind, &machine).certificate.objective);
        assert!((a / b - 1.0).abs() < 1e-7, "{grouped}: {a} and {b}");
    }
}

/// Files keep groups, and predictions follow from the weights.
#[test]
fn models_with_groups_are_saved_whole() {
    let folder = tempfile::tempdir().unwrap();
    for grouped in problems(2, Problem::random) {
        let columns = grouped.problem.store();
        let model =
            grouped.problem.machine().fit(&*grouped.space(&*columns), &grouped.problem.labels()).unwrap();
        let path = folder.path().join("model.json");
        model.save(&path).unwrap();
        let mut loaded = Model::load(&path).unwrap();
        for (loaded, round) in loaded.rounds.iter_mut().zip(&model.rounds) {
            loaded.seconds = round.seconds;
        }
        assert!(loaded == model, "{grouped}");
    }
}

/// A group with more members than a matrix of them would be wise: solved without one, and as well.
#[test]
fn a_very_wide_group_needs_no_matrix() {
    let (n, m) = (40, 10_000);
    let rng = &mut ChaCha8Rng::seed_from_u64(7);
    let columns: Vec<Vec<f64>> = (0..m)
        .map(|_| {
            (0..n).map(|_| if rng.random_bool(0.1) { rng.random_range(-1.0..1.0) } else { 0.0 }).collect()
        })
        .collect();
    let stored = common::Storage::Sparse.store(&columns, &(0..m as u64).collect::<Vec<_>>());
    let inputs = Inputs::over(&*stored);
    let labels = featgen::data::Labels::from_text((0..n).map(|i| if i % 3 == 0 { "a" } else { "b" }));
    let fit = |members: u64| {
        let mut lists = Groups::over(&inputs).unwrap();
        lists.push(&inputs, Some("wide"), 0..members).unwrap();
        let space = GroupSpace::new(inputs, lists, GroupWeight::None).unwrap();
        Machine::new().cost(0.1).budget(1).gap(1e-6).fit(&space, &labels).unwrap()
    };
    for members in [8_000, 10_000] {
        let model = fit(members);
        assert_eq!((model.stopped, model.count()), (Stop::Gap, 1), "{members} members");
        assert!(model.terms.len() > members as usize / 2, "{members} members");
    }
}
