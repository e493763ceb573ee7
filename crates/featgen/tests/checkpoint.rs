//! A run that ends anywhere goes on from its checkpoint to the same model, bit for bit, or says why it cannot.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{Loss, Storage};
use featgen::data::read::Reader;
use featgen::data::store::{Conversion, convert};
use featgen::data::{ClassWeights, Columns, Dataset, Labels, Names};
use featgen::machine::{Observer, Select, Stop};
use featgen::model::Round;
use featgen::space::{
    AdditiveSpace, FeatureSpace, GroupWeight, Groups, Inputs, PolySpace, ProductSpace, Tree,
};
use featgen::{Context, Error, GroupSpace, LinearSpace, Machine, Model, TreeSpace};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64;

/// Values within 0 and 1, half of them 0, of which products decide the class.
fn values(rows: usize, columns: usize, seed: u64) -> (Vec<Vec<f64>>, Labels) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut value = || if rng.random_bool(0.5) { f64::from(rng.random_range(1..=64)) / 64.0 } else { 0.0 };
    let x: Vec<Vec<f64>> = (0..columns).map(|_| (0..rows).map(|_| value()).collect()).collect();
    let f = |i: usize| x[0][i] + x[1][i] * x[2][i] - x[3][i] - 0.5 * x[4][i] + 0.3 * x[5][i] * x[5][i] - 0.2;
    let mut signs: Vec<bool> = (0..rows).map(|i| f(i) + rng.random_range(-0.4..0.4) > 0.0).collect();
    (signs[0], signs[1]) = (true, false);
    (x, Labels::from_text(signs.iter().map(|&sign| if sign { "yes" } else { "no" })))
}

fn stored(x: &[Vec<f64>], storage: Storage) -> Box<dyn Columns> {
    storage.store(x, &(0..x.len() as u64).collect::<Vec<_>>())
}

type Make = for<'a> fn(Inputs<'a>) -> Box<dyn FeatureSpace + 'a>;

fn groups(inputs: &Inputs<'_>, lists: &[std::ops::Range<u64>]) -> Groups {
    let mut groups = Groups::over(inputs).unwrap();
    lists.iter().for_each(|list| groups.push(inputs, None, list.clone()).unwrap());
    groups
}

const SPACES: [(&str, Make); 8] = [
    ("linear", |inputs| Box::new(LinearSpace::from(inputs))),
    ("groups", |inputs| {
        let lists: Vec<_> = (0..10).map(|g| 2 * g..2 * g + 4).collect();
        Box::new(GroupSpace::new(inputs, groups(&inputs, &lists), GroupWeight::Sqrt).unwrap())
    }),
    ("tree", |inputs| {
        let lists: Vec<_> =
            (0..5).map(|g| 4 * g..4 * g + 4).chain((0..10).map(|g| 2 * g..2 * g + 2)).collect();
        let tree = Tree::new(&groups(&inputs, &lists)).unwrap();
        Box::new(TreeSpace::new(inputs, tree, GroupWeight::None).unwrap())
    }),
    ("poly2", |inputs| Box::new(PolySpace::new(inputs, 0.5, 1.0).unwrap())),
    ("products", |inputs| Box::new(ProductSpace::new(inputs, 3).unwrap())),
    ("hik", |inputs| Box::new(AdditiveSpace::hik(inputs, 10).unwrap())),
    ("intersection", |inputs| Box::new(AdditiveSpace::intersection(inputs, 10, 0.5).unwrap())),
    ("gaussian", |inputs| Box::new(AdditiveSpace::gaussian(inputs, None).unwrap())),
];

type Set = fn(Machine) -> Machine;

const WAYS: [(&str, Set); 13] = [
    ("rounds", |machine| machine.max_rounds(4).budget(3).tol(0.0)),
    ("best", |machine| machine.features(7).budget(3).cost(0.1)),
    ("best by itself", |machine| machine.features(9)),
    ("count", |machine| machine.select(Select::Paper).features(7).budget(3).cost(0.01)),
    ("doubling", |machine| machine.select(Select::Paper).features(9).budget(2).cost(1e-4)),
    ("gap", |machine| machine.gap(1e-3).cost(0.3).budget(4)),
    ("gap and count", |machine| machine.gap(1e-7).features(12).budget(2)),
    ("refit", |machine| machine.max_rounds(3).budget(2).debias(5.0)),
    ("newton", |machine| machine.solver("newton").max_rounds(3).budget(2).inner_tol(1e-8)),
    ("apg", |machine| machine.solver("apg").max_rounds(3).budget(2)),
    ("pg", |machine| machine.solver("pg").max_rounds(3).budget(2).cost(1.0).tol(0.0)),
    ("mkl", |machine| machine.solver("mkl").max_rounds(3).budget(2).cost(0.1)),
    ("by decrease", |machine| machine.solver("apg").inner_decrease(1e-3).max_rounds(4).budget(2)),
];

/// Copies every checkpoint as it is written.
#[derive(Default)]
struct Copies {
    files: Vec<Vec<u8>>,
    rounds: usize,
    resumed: Option<usize>,
    failed: Vec<String>,
    /// Set as soon as one was written.
    stop: Option<Arc<AtomicBool>>,
}

impl Observer for Copies {
    fn round(&mut self, _round: &Round) {
        self.rounds += 1;
    }

    fn resumed(&mut self, rounds: &[Round]) {
        self.resumed = Some(rounds.len());
    }

    fn saved(&mut self, path: &Path) {
        self.files.push(fs::read(path).unwrap());
        self.stop.iter().for_each(|flag| flag.store(true, Ordering::Relaxed));
    }

    fn not_saved(&mut self, error: &Error) {
        self.failed.push(error.to_string());
    }
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ckpt");
    (folder, path)
}

/// Runs to the end, then again from every checkpoint that was ever there. All models must be the same.
fn same_from_everywhere(what: &str, machine: &Machine, space: &dyn FeatureSpace, labels: &Labels) -> usize {
    let (_folder, path) = folder();
    let expected = machine.fit(space, labels).unwrap().to_json();
    let machine = machine.clone().checkpoint(&path);
    let mut copies = Copies::default();
    let whole = machine.fit_observed(space, labels, &mut copies).unwrap();
    assert!(whole.to_json() == expected, "{what}: another model because of checkpoints");
    assert!(copies.resumed.is_none() && copies.failed.is_empty(), "{what}");
    assert!(!copies.files.is_empty() && !whole.rounds.is_empty(), "{what}");
    assert!(fs::read(&path).unwrap() == *copies.files.last().unwrap(), "{what}: the last one stays");
    let last = copies.files.len() - 1;
    for (k, file) in copies.files.iter().enumerate() {
        fs::write(&path, file).unwrap();
        let machine = machine.clone();
        // As far as the next checkpoint is far enough, if that is the same.
        let flag: Arc<AtomicBool> = Arc::default();
        let to_the_end = [0, last / 2, last].contains(&k);
        let mut again = Copies { stop: Some(Arc::clone(&flag)).filter(|_| !to_the_end), ..Copies::default() };
        let model = machine
            .context(&Context::new().threads(1 + k % 3).interrupt(flag))
            .fit_observed(space, labels, &mut again)
            .unwrap();
        assert!(again.resumed.is_some(), "{what}");
        if to_the_end {
            assert!(model.to_json() == expected, "{what}: another model from checkpoint {k}");
            assert!(again.files == copies.files[k + 1..], "{what}: other checkpoints after {k}");
        } else {
            assert_eq!(model.stopped, Stop::Interrupted);
            assert!(again.files == [&copies.files[k + 1][..]], "{what}: another checkpoint after {k}");
        }
    }
    copies.files.len()
}

fn every_way_goes_on(space: usize) {
    let (x, labels) = values(90, 22, 7);
    let (name, make) = SPACES[space];
    let mut turns = 0;
    for (k, (way, set)) in WAYS.into_iter().enumerate() {
        for loss in Loss::ALL {
            let columns = stored(&x, Storage::ALL[(k + space) % 5]);
            let machine = set(Machine::new()
                .context(&Context::new().threads(1))
                .loss(featgen::objective::by_name(loss.name()).unwrap()));
            let machine = machine.class_weights(ClassWeights::Balanced).shift(k % 4 != 3);
            let what = format!("{name}, {way}, {loss:?}");
            turns += same_from_everywhere(&what, &machine, &*make(Inputs::over(&*columns)), &labels);
        }
    }
    assert!(turns > 3 * 2 * WAYS.len(), "{name}: {turns} turns");
}

#[test]
fn linear_goes_on() {
    every_way_goes_on(0);
}

#[test]
fn groups_go_on() {
    every_way_goes_on(1);
}

#[test]
fn trees_go_on() {
    every_way_goes_on(2);
}

#[test]
fn products_of_two_go_on() {
    every_way_goes_on(3);
}

#[test]
fn products_go_on() {
    every_way_goes_on(4);
}

#[test]
fn curves_go_on() {
    (5..8).for_each(every_way_goes_on);
}

/// Some columns are sparse at first and dense later: how they are held must be the same again.
#[test]
fn columns_are_held_as_they_were() {
    let (mut x, labels) = values(600, 40, 3);
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for column in &mut x[10..] {
        column.iter_mut().for_each(|x| *x *= f64::from(u8::from(rng.random_bool(0.1))));
    }
    let columns = stored(&x, Storage::Sparse);
    for (loss, solver) in [(Loss::Logistic, "newton"), (Loss::SquaredHinge, "apg"), (Loss::Logistic, "auto")]
    {
        let loss = featgen::objective::by_name(loss.name()).unwrap();
        let machine = Machine::new().select(Select::Paper).features(30).budget(3);
        let machine = machine.loss(loss).cost(0.1).solver(solver);
        same_from_everywhere(solver, &machine, &LinearSpace::over(&*columns), &labels);
    }
}

/// Without a difference between runs of Ctrl-C, where the round at hand is left half done.
#[test]
fn interrupted_runs_go_on() {
    let (x, labels) = values(90, 22, 8);
    let columns = stored(&x, Storage::Sparse);
    let both = |space| Select::ALL.iter().map(move |&select| (space, select));
    for ((name, make), select) in SPACES.into_iter().flat_map(both) {
        let space = make(Inputs::over(&*columns));
        let machine = Machine::new()
            .select(select)
            .features(8)
            .budget(1)
            .cost(0.05)
            .loss(featgen::objective::by_name("logistic").unwrap());
        let expected = machine.fit(&*space, &labels).unwrap();
        let (_folder, path) = folder();
        let mut runs = 0;
        let last = loop {
            let flag = Arc::new(AtomicBool::new(false));
            let (seen, mut reported) = (Arc::clone(&flag), 0);
            let mut stop_soon = move |_: &Round| {
                reported += 1;
                seen.store(reported == 2, Ordering::Relaxed);
            };
            let machine = machine.clone().checkpoint(&path).context(&Context::new().interrupt(flag));
            let model = machine.fit_observed(&*space, &labels, &mut stop_soon).unwrap();
            runs += 1;
            if model.stopped != Stop::Interrupted {
                break model;
            }
            assert!(runs < 50, "{name}: no progress");
        };
        assert!(runs > 2, "{name}: never interrupted");
        assert!(last.to_json() == expected.to_json(), "{name}");
        // At the end the run is there, and comes to the same end.
        let mut copies = Copies::default();
        let again = machine.clone().checkpoint(&path).fit_observed(&*space, &labels, &mut copies).unwrap();
        assert!(again.to_json() == expected.to_json(), "{name}");
        assert_eq!((copies.resumed, copies.files.len()), (Some(expected.rounds.len()), 0), "{name}");
    }
}

/// A first model without features is better than none, but not better than the one that a checkpoint would lead to.
#[test]
fn a_run_that_is_ended_at_once_loses_nothing() {
    let (x, labels) = values(40, 10, 8);
    let columns = stored(&x, Storage::Sparse);
    let ended = Arc::new(AtomicBool::new(true));
    let context = Context::new().interrupt(Arc::clone(&ended));
    let (_folder, path) = folder();
    let machine = Machine::new().max_rounds(2).checkpoint(&path);
    let watched = LinearSpace::from(Inputs::over(&*columns).context(&context));
    let model = machine
        .clone()
        .context(&Context::new().interrupt(Arc::clone(&ended)))
        .fit(&watched, &labels)
        .unwrap();
    assert_eq!((model.stopped, model.rounds.len(), path.exists()), (Stop::Interrupted, 0, false));
    machine.fit(&LinearSpace::over(&*columns), &labels).unwrap();
    let error = machine.clone().context(&Context::new().interrupt(ended)).fit(&watched, &labels).unwrap_err();
    assert!(error.to_string().ends_with("run.ckpt: interrupted while the data were compared with it"));
}

/// A small run that has made some rounds.
struct Begun {
    _folder: TempDir,
    path: PathBuf,
    x: Vec<Vec<f64>>,
    labels: Labels,
    machine: Machine,
}

impl Begun {
    fn new(set: Set) -> Self {
        let (x, labels) = values(20, 8, 1);
        let (folder, path) = folder();
        let machine = set(Machine::new().context(&Context::new().threads(1))).checkpoint(&path);
        let begun = Self { _folder: folder, path, x, labels, machine };
        begun.fit(&begun.machine).unwrap();
        begun
    }

    fn fit(&self, machine: &Machine) -> Result<Model, Error> {
        self.fit_data(machine, &self.x, &self.labels)
    }

    fn fit_data(&self, machine: &Machine, x: &[Vec<f64>], labels: &Labels) -> Result<Model, Error> {
        machine.fit(&LinearSpace::over(&*stored(x, Storage::Sparse)), labels)
    }

    /// What is said about going on, without the file's name.
    fn says(&self, result: Result<Model, Error>) -> String {
        let message = result.unwrap_err().to_string();
        let name = format!("{}: ", self.path.display());
        message.strip_prefix(&name).unwrap_or_else(|| panic!("{message}")).to_owned()
    }

    fn refuses(&self, set: impl Fn(Machine) -> Machine, expected: &str) {
        assert_eq!(self.says(self.fit(&set(self.machine.clone()))), expected);
    }

    /// Going on with other rules is as if they had been given from the start.
    fn extends(&self, set: impl Fn(Machine) -> Machine) {
        let (_folder, fresh) = folder();
        let expected = self.fit(&set(self.machine.clone()).checkpoint(fresh)).unwrap();
        let kept = fs::read(&self.path).unwrap();
        assert_eq!(self.fit(&set(self.machine.clone())).unwrap().to_json(), expected.to_json());
        fs::write(&self.path, kept).unwrap();
    }
}

#[test]
fn other_parameters_are_named() {
    let begun = Begun::new(|machine| machine.budget(1).max_rounds(3).cost(1.0).tol(1e-4));
    let logistic = || featgen::objective::by_name("logistic").unwrap();
    begun.refuses(|m| m.cost(10.0), "the checkpoint was made with --cost 1, not 10");
    begun.refuses(|m| m.budget(3), "the checkpoint was made with --budget 1, not 3");
    begun.refuses(|m| m.loss(logistic()), "the checkpoint was made with --loss squared-hinge, not logistic");
    begun.refuses(|m| m.solver("newton"), "the checkpoint was made with --solver auto, not newton");
    begun.refuses(|m| m.inner_tol(1e-5), "the checkpoint was made with --inner-tol 0.0001, not 0.00001");
    begun.refuses(|m| m.shift(false), "the checkpoint was made without --no-shift, not with it");
    begun.refuses(
        |m| m.class_weights(ClassWeights::Balanced),
        "the checkpoint was made without --weight, not with it",
    );
    begun.refuses(|m| m.features(5), "the checkpoint was made without --features, not with it");
    begun.refuses(|m| m.gap(0.1), "the checkpoint was made without --gap, not with it");
    begun.refuses(|m| m.max_rounds(2), "the checkpoint has 3 rounds already: --max-rounds 2 is too few");
    begun.refuses(
        |m| m.tol(0.01),
        "the checkpoint was made with --tol 0.0001, not 0.01: a run goes on only with a --tol that would not have ended it before",
    );
    let weighted = Begun::new(|machine| {
        machine.max_rounds(3).class_weights(ClassWeights::Given(vec![("no".into(), 2.0)]))
    });
    weighted.refuses(
        |m| m.class_weights(ClassWeights::Given(vec![("no".into(), 3.0), ("yes".into(), 2.0)])),
        "the checkpoint was made with --weight no=2, not no=3 yes=2",
    );
    weighted.refuses(
        |m| m.class_weights(ClassWeights::Equal),
        "the checkpoint was made with --weight no=2, not without it",
    );
}

#[test]
fn other_rules_go_on_where_nothing_would_have_been_different() {
    let begun = Begun::new(|machine| machine.budget(1).max_rounds(3).cost(1.0).tol(1e-3));
    begun.extends(|m| m);
    begun.extends(|m| m.max_rounds(6));
    begun.extends(|m| m.max_rounds(6).tol(1e-6));
    begun.extends(|m| m.tol(0.0).debias(2.0));
    let gap = Begun::new(|machine| machine.gap(0.1).cost(0.3).budget(3));
    gap.extends(|m| m.gap(1e-4));
    gap.extends(|m| m.gap(1e-4).debias(1.0));
    gap.refuses(
        |m| m.gap(0.2),
        "the checkpoint was made with --gap 0.1, not 0.2: a run goes on only with a --gap that would not have ended it before",
    );
    fn paper(machine: Machine) -> Machine {
        machine.select(Select::Paper).features(3).cost(0.01)
    }
    let count = Begun::new(|machine| paper(machine).budget(1));
    count.extends(|m| m.features(6));
    count.refuses(|m| m.features(2), "the checkpoint was made with --features 3, not 2");
    let default = Begun::new(paper);
    default.extends(|m| m.features(6));
    default.refuses(|m| m.features(60), "the checkpoint was made with --budget 1, not 6");
    // Chosen by gain, some of the three may have been exchanged for others.
    let best = Begun::new(|machine| machine.features(3).cost(0.01));
    best.extends(|m| m);
    best.refuses(|m| m.features(6), "the checkpoint was made with --features 3, not 6");
    best.refuses(|m| m.select(Select::Paper), "the checkpoint was made with --select best, not paper");
}

#[test]
fn a_block_that_was_cut_is_final() {
    let cut = Begun::new(|machine| machine.select(Select::Paper).features(3).budget(2).cost(0.1));
    cut.extends(|m| m);
    cut.refuses(
        |m| m.features(5),
        "the checkpoint was made with --features 3, not 5: its last block was made smaller for that number",
    );
}

#[test]
fn other_data_are_named() {
    let begun = Begun::new(|machine| machine.budget(2).max_rounds(3));
    let says = |x: &[Vec<f64>], labels: &Labels| begun.says(begun.fit_data(&begun.machine, x, labels));
    let (longer, more) = values(25, 8, 1);
    assert_eq!(says(&longer, &more), "the checkpoint is for other data: 20 rows, not 25");
    let (wider, _) = values(20, 9, 1);
    assert_eq!(says(&wider, &begun.labels), "the checkpoint is for other data: 8 features, not 9");
    let mut x = begun.x.clone();
    let filled = (0..20).find(|&i| x[3][i] != 0.0).unwrap();
    x[3][filled] = 0.0;
    let nonzeros: usize = begun.x.iter().flatten().filter(|x| **x != 0.0).count();
    let fewer = format!("the checkpoint is for other data: {nonzeros} values, not {}", nonzeros - 1);
    assert_eq!(says(&x, &begun.labels), fewer);
    x[3][filled] = begun.x[3][filled] + 1e-9;
    assert!(says(&x, &begun.labels).starts_with("the checkpoint is for other values in the data, or "));
    x[3][filled] = begun.x[3][filled];
    x.swap(6, 7);
    let same_count = |j: usize| begun.x[j].iter().filter(|x| **x != 0.0).count();
    assert!(same_count(6) > 0 && says(&x, &begun.labels).starts_with("the checkpoint is for other values"));

    let text = |code: &u32| ["no", "yes"][*code as usize];
    let mut turned: Vec<&str> = begun.labels.codes().iter().map(text).collect();
    let renamed = Labels::from_text(turned.iter().map(|class| class.replace("yes", "sure")));
    let classes = "the checkpoint is for other data: classes no and yes, not no and sure";
    assert_eq!(says(&begun.x, &renamed), classes);
    turned.swap(0, 1);
    let labels = Labels::from_text(turned);
    assert_eq!(says(&begun.x, &labels), "the checkpoint is for other data: other labels");
    let weighted = begun.labels.clone().with_weights(vec![2.0; 20]).unwrap();
    assert_eq!(says(&begun.x, &weighted), "the checkpoint is for other data: other weights of the instances");

    let names = Names::shown((0..8).map(|j| format!("x{j}")).collect());
    let columns = stored(&begun.x, Storage::Sparse);
    let named = LinearSpace::from(Inputs::called(&*columns, &names));
    let other_names = begun.says(begun.machine.fit(&named, &begun.labels));
    assert_eq!(other_names, "the checkpoint is for other data: other names of the features");
}

#[test]
fn other_spaces_are_named() {
    let (x, labels) = values(30, 22, 2);
    let columns = stored(&x, Storage::Sparse);
    let inputs = Inputs::over(&*columns);
    let (_folder, path) = folder();
    let machine = Machine::new().max_rounds(2).checkpoint(&path);
    let check = |made: &dyn FeatureSpace, now: &dyn FeatureSpace, expected: &str| {
        let _ = fs::remove_file(&path);
        machine.fit(made, &labels).unwrap();
        let message = machine.fit(now, &labels).unwrap_err().to_string();
        assert_eq!(message, format!("{}: the checkpoint was made {expected}", path.display()));
    };
    let poly = |gamma| PolySpace::new(inputs, gamma, 1.0).unwrap();
    let products = |degree| ProductSpace::new(inputs, degree).unwrap();
    let hik = |levels| AdditiveSpace::hik(inputs, levels).unwrap();
    let linear = LinearSpace::from(inputs);
    check(&linear, &poly(1.0), "with --space linear, not poly2");
    check(&poly(1.0), &poly(0.5), "with --gamma 1, not 0.5");
    check(&products(2), &products(3), "with --degree 2, not 3");
    check(&products(2), &products(2).min_support(2), "with --min-support 1, not 2");
    check(&products(2), &products(2).only([1, 2, 3]), "without --only, not with it");
    check(&hik(10), &hik(11), "with --levels 10, not 11");
    check(&hik(10), &hik(10).counting(&[1.0; 30]).unwrap(), "without --counting, not with it");
    let gaussian = |sigma| AdditiveSpace::gaussian(inputs, sigma).unwrap();
    check(&gaussian(Some(0.5)), &gaussian(None), "with --sigma 0.5, not without it");
    let halves = [0..11, 11..22];
    let grouped = |weight| GroupSpace::new(inputs, groups(&inputs, &halves), weight).unwrap();
    check(&linear, &grouped(GroupWeight::None), "without --groups, not with it");
    check(&grouped(GroupWeight::None), &grouped(GroupWeight::Sqrt), "with --group-weight none, not sqrt");
    let tree = Tree::new(&groups(&inputs, &halves)).unwrap();
    let _ = fs::remove_file(&path);
    machine.fit(&grouped(GroupWeight::None), &labels).unwrap();
    let others = GroupSpace::new(inputs, groups(&inputs, &[0..12, 12..22]), GroupWeight::None).unwrap();
    let message = machine.fit(&others, &labels).unwrap_err().to_string();
    assert!(message.contains("made with --groups of 2 groups with checksum "), "{message}");
    let tree = TreeSpace::new(inputs, tree, GroupWeight::None).unwrap();
    assert!(machine.fit(&tree, &labels).is_err());
}

/// The same data by columns, sparse or dense, are the same; text and store too.
#[test]
fn the_fingerprint_is_of_values_not_of_storage() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("data.svm");
    let (x, labels) = values(300, 70, 5);
    let line = |i: usize| {
        let pair = |j: usize| format!(" {}:{}", j + 1, x[j][i]);
        let filled: String = (0..x.len()).filter(|&j| x[j][i] != 0.0).map(pair).collect();
        format!("{}{filled}\n", labels.codes()[i])
    };
    fs::write(&text, (0..300).map(line).collect::<String>()).unwrap();
    let read = Dataset::read(&text).unwrap();
    let print = |columns: &dyn Columns| Inputs::over(columns).fingerprint().unwrap();
    let expected = print(&*read.columns);
    assert_eq!(print(&*stored(&x, Storage::Sparse)), expected);
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(|| print(&*read.columns)), expected);
    }
    let store = folder.path().join("data.store");
    let conversion = Conversion { memory: 1 << 20, shards: Some(3), ..Conversion::default() };
    convert(&Reader::new(), &text, &store, &conversion, &mut |_| ()).unwrap();
    assert_eq!(print(&*Dataset::read(&store).unwrap().columns), expected);
    let mut other = x.clone();
    other[17].swap(3, 4);
    assert!(x[17][3] != x[17][4] && print(&*stored(&other, Storage::Sparse)) != expected);
}

#[test]
fn damage_is_found_wherever_it_is() {
    let begun = Begun::new(|machine| machine.budget(1).max_rounds(2));
    let good = fs::read(&begun.path).unwrap();
    let wrong = |file: &[u8], what: &str| {
        fs::write(&begun.path, file).unwrap();
        let message = begun.says(begun.fit(&begun.machine));
        let known = ["not a featgen checkpoint", "the checkpoint is incomplete or damaged"];
        assert!(known.contains(&message.as_str()), "{what}: {message}");
        assert!(fs::read(&begun.path).unwrap() == file, "{what}: it was written over");
    };
    for at in 0..good.len() {
        let mut file = good.clone();
        file[at] ^= 1 << (at % 8);
        wrong(&file, &format!("byte {at}"));
    }
    (0..good.len()).for_each(|length| wrong(&good[..length], &format!("{length} bytes")));
    wrong(&[&good[..], b"x"].concat(), "one byte more");
    wrong(b"{\"format\": \"featgen-model\"}", "a model");
    fs::write(&begun.path, &good).unwrap();
    begun.fit(&begun.machine).unwrap();
}

/// Files that are whole, but say what cannot be.
#[test]
fn strange_checkpoints_are_refused() {
    type Change<'a> = &'a dyn Fn(&mut Value);
    let begun = Begun::new(|machine| machine.budget(2).max_rounds(3));
    let good = fs::read(&begun.path).unwrap();
    let length = u64::from_le_bytes(good[16..24].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&good[24..24 + length]).unwrap();
    let says = |change: Change<'_>| {
        let mut header = header.clone();
        change(&mut header);
        let text = serde_json::to_vec(&header).unwrap();
        let mut file = good[..16].to_vec();
        file.extend((text.len() as u64).to_le_bytes());
        file.extend(text);
        file.extend(&good[24 + length..good.len() - 8]);
        let checksum = xxh3_64(&file);
        file.extend(checksum.to_le_bytes());
        fs::write(&begun.path, file).unwrap();
        begun.fit(&begun.machine).map_err(|error| error.to_string()).map(drop)
    };
    says(&|_| {}).unwrap();
    let changes: [(&str, Change<'_>); 24] = [
        ("strange", &|h| h["progress"]["blocks"][0][0] = 77.into()),
        ("strange", &|h| h["progress"]["blocks"][0] = serde_json::json!([])),
        ("strange", &|h| h["progress"]["blocks"][0] = serde_json::json!([1, 0])),
        ("strange", &|h| h["progress"]["taken"][1] = h["progress"]["taken"][0].clone()),
        ("strange", &|h| h["progress"]["taken"][0] = serde_json::json!([])),
        ("strange", &|h| h["progress"]["taken"][0][0] = serde_json::json!({"group": 0})),
        ("no feature 99", &|h| h["progress"]["taken"][0][0] = serde_json::json!({"feature": {"input": 99}})),
        ("strange", &|h| {
            let step = serde_json::json!({"input": 1, "level": 3, "of": 0, "top": 1.0, "power": 1.0});
            h["progress"]["taken"][0][0] = serde_json::json!({"feature": {"step": step}});
        }),
        ("strange", &|h| h["progress"]["rounds"][0]["terms"][0] = 77.into()),
        ("strange", &|h| h["progress"]["rounds"][0]["round"] = 2.into()),
        ("strange", &|h| h["progress"]["rounds"][0]["weights"] = serde_json::json!([])),
        ("strange", &|h| h["progress"]["schedule"]["cost"] = 15.0.into()),
        ("strange", &|h| h["progress"]["schedule"]["inner_tol"] = 1.0.into()),
        ("strange", &|h| h["progress"]["schedule"]["doublings"] = 1000.into()),
        ("strange", &|h| h["progress"]["caution"]["part"] = 0.3.into()),
        ("strange", &|h| h["progress"]["free"] = Value::Null),
        // Numbers that are none of this run would end in a model that nobody can load.
        ("weights and their objective", &|h| h["progress"]["free"][0] = 1e300.into()),
        ("weights and their objective", &|h| h["progress"]["objective"] = 1e300.into()),
        ("weights and their objective", &|h| h["progress"]["lower_bound"] = 1e300.into()),
        ("strange", &|h| {
            h["progress"]["schedule"]["unraised"] = h["progress"]["rounds"][0].clone();
            h["progress"]["schedule"]["unraised"]["round"] = 77.into();
        }),
        ("strange", &|h| h["progress"]["rounds"][0]["weights"][0] = Value::Null),
        ("damaged", &|h| h["lengths"][0] = u64::MAX.into()),
        ("damaged", &|h| h["lengths"][0] = 3.into()),
        ("featgen 9.9", &|h| h["made"]["program"] = "featgen 9.9".into()),
    ];
    for (expected, change) in changes {
        let message = says(change).unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
    // Lengths that come to the same sum: the solver sees it.
    let message = says(&|h| {
        let lengths = h["lengths"].as_array_mut().unwrap();
        let last = lengths.len() - 1;
        lengths.swap(last, last - 1);
    });
    assert!(message.unwrap_err().contains("the solver's numbers do not fit"));
    let mut newer = good.clone();
    newer[8] += 1;
    let end = newer.len() - 8;
    let checksum = xxh3_64(&newer[..end]);
    newer[end..].copy_from_slice(&checksum.to_le_bytes());
    fs::write(&begun.path, newer).unwrap();
    let message = begun.says(begun.fit(&begun.machine));
    assert_eq!(message, "the checkpoint has version 9; this featgen reads version 8");
}

/// Moves the folder away once something is in it.
struct MoveAway {
    from: PathBuf,
    to: PathBuf,
    failures: Vec<String>,
}

impl Observer for MoveAway {
    fn round(&mut self, _round: &Round) {}

    fn saved(&mut self, _path: &Path) {
        fs::rename(&self.from, &self.to).unwrap();
    }

    fn not_saved(&mut self, error: &Error) {
        self.failures.push(error.to_string());
    }
}

#[test]
fn what_cannot_be_written_ends_no_run() {
    let outer = tempfile::tempdir().unwrap();
    let [from, to] = ["here", "there"].map(|name| outer.path().join(name));
    fs::create_dir(&from).unwrap();
    let (x, labels) = values(60, 20, 6);
    let columns = stored(&x, Storage::Sparse);
    let space = LinearSpace::over(&*columns);
    let machine = Machine::new().budget(2).max_rounds(5).tol(0.0);
    let expected = machine.fit(&space, &labels).unwrap().to_json();
    let mut observer = MoveAway { from: from.clone(), to: to.clone(), failures: Vec::new() };
    let model =
        machine.clone().checkpoint(from.join("run")).fit_observed(&space, &labels, &mut observer).unwrap();
    assert_eq!(model.to_json(), expected);
    assert_eq!(observer.failures.len(), 4);
    assert!(observer.failures[0].starts_with(&from.join("run").display().to_string()));
    // The last one that could be written is whole, and alone.
    assert_eq!(fs::read_dir(&to).unwrap().count(), 1);
    assert_eq!(machine.clone().checkpoint(to.join("run")).fit(&space, &labels).unwrap().to_json(), expected);
    // What can never be written is said before the work.
    for nowhere in [from.join("run"), outer.path().to_path_buf()] {
        let mut copies = Copies::default();
        assert!(machine.clone().checkpoint(nowhere).fit_observed(&space, &labels, &mut copies).is_err());
        assert_eq!(copies.rounds, 0);
    }
}
