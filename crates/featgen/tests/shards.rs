//! Columns in shards, asked in writing: the model is the same, byte for byte, for any number of shards and wherever they are.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};

use common::Storage;
use featgen::data::{Columns, Except, Labels, Layout, Names, Part};
use featgen::machine::Select;
use featgen::model::GivenGroup;
use featgen::objective::Kept;
use featgen::space::spec::{GroupSource, Grouping, Shape};
use featgen::space::{
    Ask, Feature, FeatureSpace, GroupWeight, Inputs, PolySpace, ProductSpace, Scaling, ShardColumns,
    ShardServer, Shards, SpaceSpec,
};
use featgen::validate::{Costs, CrossValidation, Folds, Halves, Metric, StandInSearch, Study};
use featgen::{Context, Error, LinearSpace, Machine, Result};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const ROWS: usize = 80;
const COLUMNS: usize = 40;

/// Values within 0 and 1, half of them 0 if they are to be sparse; some columns are the same, so that they tie.
fn values(seed: u64, dense: bool) -> Vec<Vec<f64>> {
    wide_values(seed, dense, COLUMNS)
}

fn wide_values(seed: u64, dense: bool, columns: usize) -> Vec<Vec<f64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut value = || match dense || rng.random_bool(0.5) {
        true => f64::from(rng.random_range(1..=64)) / 64.0,
        false => 0.0,
    };
    let mut x: Vec<Vec<f64>> = (0..columns).map(|_| (0..ROWS).map(|_| value()).collect()).collect();
    for (copy, of) in [(17, 0), (30, 1), (39, 2)] {
        x[copy] = x[of].clone();
    }
    x
}

/// Labels that suit a loss.
fn labels(x: &[Vec<f64>], loss: &str) -> Labels {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let f: Vec<f64> = (0..ROWS)
        .map(|i| 2.0 * x[0][i] - 2.0 * x[1][i] + x[2][i] + x[25][i] - x[33][i] + rng.random_range(-0.3..0.3))
        .collect();
    match loss {
        "squared-hinge" | "logistic" => {
            Labels::from_text(f.iter().map(|f| if *f > 0.5 { "yes" } else { "no" }))
        }
        "softmax" => Labels::from_text(f.iter().map(|f| {
            if *f > 1.0 {
                "c"
            } else if *f > 0.2 {
                "b"
            } else {
                "a"
            }
        })),
        "poisson" => Labels::from_numbers(f.iter().map(|f| f.abs().round()).collect()),
        "cox" => Labels::from_numbers(
            f.iter().enumerate().map(|(i, f)| (-f).exp() * if i % 4 == 0 { -1.0 } else { 1.0 }).collect(),
        ),
        _ => Labels::from_numbers(f),
    }
}

/// The columns in so many shards, the second of which is empty if there are enough.
fn in_shards(x: &[Vec<f64>], storage: Storage, count: usize) -> Vec<ShardServer> {
    let context = Context::new().threads(2);
    let mut ends: Vec<usize> = (1..=count).map(|k| k * x.len() / count).collect();
    if count > 2 {
        ends[1] = ends[0];
    }
    let mut first = 0;
    let part = |end: usize| {
        let range = std::mem::replace(&mut first, end)..end;
        let columns = match range.is_empty() {
            // A range of nothing, of other columns of the same rows.
            true => Part::of(storage.store(x, &(0..x.len() as u64).collect::<Vec<_>>()), 3..3),
            false => {
                let ids: Vec<u64> = (0..range.len() as u64).collect();
                Part::placed(storage.store(&x[range.clone()], &ids), range.start as u64, x.len() as u64)
            }
        };
        ShardServer::new(Box::new(columns.unwrap()), &context)
    };
    ends.into_iter().map(part).collect()
}

/// A way to fit.
struct Case<'a> {
    spec: &'a SpaceSpec,
    machine: Machine,
    scaling: Option<Scaling>,
    keep: &'a [u64],
    labels: &'a Labels,
}

impl Case<'_> {
    fn fit(&self, inputs: Inputs<'_>, kept: Kept) -> Result<String> {
        let (machine, counts) = (self.machine.clone().keep(kept), self.labels.weights());
        let scale = self.spec.scale(self.scaling, machine.select_in_use()?, &inputs, counts)?;
        let inputs = scale.as_ref().map_or(inputs, |scale| inputs.scaled(scale));
        let built = self.spec.build(inputs, counts)?;
        Ok(machine.fit(&*built.space, self.labels)?.to_json())
    }

    fn here(&self, columns: &dyn Columns, names: &Names) -> Result<String> {
        let kept = Kept::new(columns, names, self.keep)?;
        let others = Except::new(columns, self.keep.iter().copied());
        let columns = if self.keep.is_empty() { columns } else { &others };
        self.fit(Inputs::called(columns, names), kept)
    }

    fn elsewhere(&self, shards: &dyn Shards, names: &Names) -> Result<String> {
        let all = ShardColumns::new(shards, names)?;
        let kept = all.settle(Kept::new(&all, names, self.keep))?;
        let columns = all.without(kept.ids())?;
        self.fit(Inputs::in_shards(&columns), kept)
    }
}

fn names() -> Names {
    Names::identifying((0..COLUMNS).map(|j| format!("x{j}")).collect())
}

/// The same whatever the number of shards.
fn same_in_shards(what: &str, x: &[Vec<f64>], storage: Storage, case: &Case<'_>) {
    let names = Names::identifying((0..x.len()).map(|j| format!("x{j}")).collect());
    let whole = storage.store(x, &(0..x.len() as u64).collect::<Vec<_>>());
    let expected = case.here(&*whole, &names).unwrap_or_else(|error| panic!("{what}: {error}"));
    for count in [1, 2, 3, 7] {
        let shards = in_shards(x, storage, count);
        let found = case.elsewhere(&shards, &names).unwrap();
        assert!(found == expected, "{what}, {storage:?}, {count} shards:\n{found}\n{expected}");
    }
}

fn grouped(shape: Shape, weight: GroupWeight) -> SpaceSpec {
    let list = |ids: std::ops::Range<u64>| GivenGroup { name: None, features: ids.collect() };
    // Groups that cross shards, and in a tree others within them.
    let mut lists: Vec<GivenGroup> = (0..8).map(|g| list(5 * g..5 * g + 5)).collect();
    match shape {
        Shape::Tree(_) => lists.extend((0..8).map(|g| list(5 * g + 1..5 * g + 3))),
        Shape::Any => lists.extend((0..7).map(|g| list(5 * g + 3..5 * g + 9))),
    }
    let grouping = Grouping { source: GroupSource::Lists(lists), shape, weight, singletons: true };
    SpaceSpec::named("linear").unwrap().with_groups(grouping).unwrap()
}

fn spaces() -> Vec<(&'static str, SpaceSpec)> {
    let named = |name: &str| SpaceSpec::named(name).unwrap();
    vec![
        ("linear", named("linear")),
        ("groups", grouped(Shape::Any, GroupWeight::Sqrt)),
        ("tree", grouped(Shape::Tree(None), GroupWeight::None)),
        ("hik", named("hik").with("levels", "10").unwrap()),
        ("intersection", named("intersection").with("power", "0.5").unwrap()),
        ("gaussian", named("gaussian")),
        ("poly2", named("poly2").with("gamma", "0.3").unwrap()),
        ("products", named("products").with("degree", "3").unwrap().with("min-support", "2").unwrap()),
    ]
}

const LOSSES: [&str; 7] = ["squared-hinge", "logistic", "softmax", "squared", "huber", "poisson", "cox"];

type Set = fn(Machine) -> Machine;

const WAYS: [(&str, Set); 5] = [
    ("rounds", |machine| machine.max_rounds(3).budget(3)),
    ("best", |machine| machine.features(6)),
    ("count", |machine| machine.select(Select::Paper).features(5).budget(2).cost(0.01)),
    ("gap", |machine| machine.gap(1e-3).cost(0.3).budget(4)),
    ("proof", |machine| machine.features(3).cost(0.05).prove(0.5)),
];

fn every_way(space: usize) {
    let (name, spec) = &spaces()[space];
    let context = Context::new().threads(2);
    for (k, loss) in LOSSES.into_iter().enumerate() {
        for (w, (way, set)) in WAYS.into_iter().enumerate() {
            let turn = k + w + space;
            let x = values(7, turn.is_multiple_of(2));
            let mut labels = labels(&x, loss);
            if turn.is_multiple_of(3) {
                let weights = (0..ROWS).map(|i| [1.0, 2.0, 0.0, 0.5][i % 4]).collect();
                labels = labels.with_weights(weights).unwrap();
            }
            let machine = Machine::new().loss(featgen::objective::by_name(loss).unwrap()).context(&context);
            let keep: &[u64] = if turn.is_multiple_of(4) { &[4, 22] } else { &[] };
            let case = Case { spec, machine: set(machine), scaling: None, keep, labels: &labels };
            let storage = Storage::ALL[turn % Storage::ALL.len()];
            same_in_shards(&format!("{name}, {way}, {loss}"), &x, storage, &case);
        }
    }
}

#[test]
fn linear_is_the_same() {
    every_way(0);
}

#[test]
fn groups_are_the_same() {
    every_way(1);
}

#[test]
fn trees_are_the_same() {
    every_way(2);
}

#[test]
fn curves_are_the_same() {
    (3..6).for_each(every_way);
}

#[test]
fn products_of_two_are_the_same() {
    every_way(6);
}

#[test]
fn products_are_the_same() {
    every_way(7);
}

/// Zeros and ones, of which many columns and products are equal.
fn binary(seed: u64, columns: usize, rows: usize) -> Vec<Vec<f64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let share = |j: usize| if j.is_multiple_of(5) { 0.7 } else { 0.15 };
    let column = |j: usize| (0..rows).map(|_| f64::from(u8::from(rng.random_bool(share(j))))).collect();
    let mut x: Vec<Vec<f64>> = (0..columns).map(column).collect();
    for copy in 1..4 {
        x[columns - copy] = x[5 * copy].clone();
    }
    x
}

/// More columns than a batch has, values of all kinds, several outputs, a choice of factors, and products that nothing tells apart.
#[test]
fn products_of_many_columns_are_the_same() {
    let named = |name: &str| SpaceSpec::named(name).unwrap();
    let only = || featgen::space::spec::Value::Features((0..150).step_by(2).collect());
    let specs = [
        ("poly2", named("poly2")),
        ("only", named("poly2").with("coef0", "0").unwrap().with_value("only", only()).unwrap()),
        ("pairs", named("products")),
        ("four", named("products").with("degree", "4").unwrap().with("min-support", "3").unwrap()),
        ("only", named("products").with("degree", "3").unwrap().with_value("only", only()).unwrap()),
    ];
    let kinds = [
        ("ones", binary(3, 200, ROWS), Storage::Sparse),
        ("sparse", sparse_values(200), Storage::Sparse),
        ("dense", wide_values(4, true, 200), Storage::F64(Layout::ColumnMajor)),
        ("rows", wide_values(4, true, 90), Storage::F32(Layout::RowMajor)),
    ];
    for (what, x, storage) in &kinds {
        for (k, (name, spec)) in specs.iter().enumerate() {
            for loss in ["squared-hinge", "softmax"] {
                let labels = labels(x, loss);
                let loss = featgen::objective::by_name(loss).unwrap();
                let machine = Machine::new().loss(loss).max_rounds(2).budget(4).tol(0.0);
                let keep: &[u64] = if k == 0 { &[6] } else { &[] };
                let case = Case { spec, machine, scaling: None, keep, labels: &labels };
                same_in_shards(&format!("{what}, {name}"), x, *storage, &case);
            }
        }
    }
}

/// Most of them 0, the others within 0 and 1.
fn sparse_values(columns: usize) -> Vec<Vec<f64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let mut value = || if rng.random_bool(0.2) { f64::from(rng.random_range(1..=8)) / 8.0 } else { 0.0 };
    (0..columns).map(|_| (0..ROWS).map(|_| value()).collect()).collect()
}

/// A search that takes too long is given up, wherever columns are.
#[test]
fn products_that_take_too_long_are_given_up() {
    let (x, v) = (sparse_values(60), (0..ROWS).map(|i| (i as f64).sin()).collect::<Vec<_>>());
    let (names, none, shards) = (names(), Default::default(), in_shards(&x, Storage::Sparse, 3));
    let columns = ShardColumns::new(&shards, &names).unwrap();
    let inputs = Inputs::in_shards(&columns);
    let ask = Ask::one(&v, 5, &none);
    let spaces: [Box<dyn FeatureSpace + '_>; 2] = [
        Box::new(PolySpace::new(inputs, 1.0, 1.0).unwrap().most_work(1000)),
        Box::new(ProductSpace::new(inputs, 3).unwrap().most_work(1000)),
    ];
    for space in spaces {
        let error = space.worst_case(&ask).unwrap_err();
        assert!(matches!(error, Error::GivenUp(_)), "{error}");
        assert!(error.to_string().contains("given up after reading 1000 values"), "{error}");
    }
}

/// Products that nothing tells apart are found wherever their factors are.
#[test]
fn aliases_are_the_same() {
    let (x, names) = (binary(5, 40, ROWS), names());
    let whole = Storage::Sparse.store(&x, &(0..40).collect::<Vec<_>>());
    let features: Vec<Feature> = vec![
        Feature::input(5),
        Feature::product(vec![5, 10]),
        Feature::product(vec![0, 5, 15]),
        Feature::product(vec![10, 38]),
    ];
    let space = ProductSpace::new(Inputs::called(&*whole, &names), 3).unwrap();
    let expected = space.aliases(&features, 20).unwrap();
    assert!(expected.iter().all(|aliases| !aliases.is_empty()));
    for count in [1, 2, 3, 7] {
        let shards = in_shards(&x, Storage::Sparse, count);
        let columns = ShardColumns::new(&shards, &names).unwrap();
        let space = ProductSpace::new(Inputs::in_shards(&columns), 3).unwrap();
        assert_eq!(space.aliases(&features, 20).unwrap(), expected);
    }
}

/// Scaled columns, weighed instances, and full columns of which only the best by score are measured by gain.
#[test]
fn scaled_columns_are_the_same() {
    let context = Context::new().threads(2);
    for (k, scaling) in Scaling::ALL.iter().enumerate() {
        for (_, spec) in &spaces()[..3] {
            for dense in [true, false] {
                let x = values(11, dense);
                let weights = (0..ROWS).map(|i| [1.0, 2.0, 0.0, 0.5][i % 4]).collect();
                let labels = labels(&x, "squared-hinge");
                let labels = if k % 2 == 0 { labels.with_weights(weights).unwrap() } else { labels };
                let machine = Machine::new().features(2).budget(1).context(&context);
                let case = Case { spec, machine, scaling: Some(*scaling), keep: &[], labels: &labels };
                let storage = Storage::F64(if k == 1 { Layout::RowMajor } else { Layout::ColumnMajor });
                same_in_shards(scaling.name(), &x, storage, &case);
            }
        }
    }
}

/// Full columns that are scaled alike: only those of largest score, over all shards, are measured by gain.
#[test]
fn gains_of_the_best_by_score_are_the_same() {
    let x = wide_values(13, true, 2000);
    let (labels, spec) = (labels(&x, "squared-hinge"), SpaceSpec::named("linear").unwrap());
    for layout in [Layout::ColumnMajor, Layout::RowMajor] {
        let machine = Machine::new().features(4).budget(1).exchange(2);
        let case = Case { spec: &spec, machine, scaling: None, keep: &[7], labels: &labels };
        same_in_shards("best by score", &x, Storage::F32(layout), &case);
    }
}

/// Folds and halves are rows that count 0, in shards as elsewhere; and inputs that stand in for others may be in any shard.
#[test]
fn validation_is_the_same() {
    let (x, names, context) = (values(9, false), names(), Context::new().threads(2));
    let labels = labels(&x, "squared-hinge");
    let whole = Storage::Sparse.store(&x, &(0..COLUMNS as u64).collect::<Vec<_>>());
    for (name, spec) in spaces() {
        let machine = Machine::new().features(3).budget(1).exchange(1).context(&context);
        let validated = |columns: &dyn Columns, shards: Option<&ShardColumns<'_>>| -> Result<String> {
            let (names, spec) = (&names, spec.clone());
            let study = Study { columns, names, spec, scaling: None, keep: vec![3], offset: None, shards };
            let validation = CrossValidation {
                machine: machine.clone(),
                folds: Folds::stratified(&labels, Default::default(), 3, 1, 0)?,
                metric: Metric::Accuracy,
                costs: Costs::One,
                context: context.clone(),
            };
            let found = validation.run(&study, &study, &labels, &|_, _| ())?.unwrap();
            let mut model = Machine::new().features(2).fit(&LinearSpace::over(&*whole), &labels)?;
            let halves = Halves { machine: machine.clone(), runs: 2, seed: 1, context: context.clone() };
            halves.judge(&mut model, &study, &labels, &|_, _| ())?;
            let search = StandInSearch { least: 0.1, context: context.clone() };
            search.note(&mut model, columns, names, labels.weights())?;
            Ok(format!("{:?} {:?} {}", found.points, found.baseline, model.to_json()))
        };
        let expected = validated(&*whole, None).unwrap();
        assert!(expected.contains("stand_ins") && expected.contains("stability"));
        for count in [1, 3] {
            let shards = in_shards(&x, Storage::Sparse, count);
            let columns = ShardColumns::new(&shards, &names).unwrap();
            assert_eq!(validated(&columns, Some(&columns)).unwrap(), expected, "{name}, {count} shards");
        }
        let failing = Failing { shards: in_shards(&x, Storage::Sparse, 2), left: AtomicUsize::new(12) };
        let columns = ShardColumns::new(&failing, &names).unwrap();
        let error = validated(&columns, Some(&columns)).unwrap_err().to_string();
        assert!(error.ends_with("worker 3 is gone"), "{name}: {error}");
    }
}

/// A run that was begun in one process goes on in another number of shards, and the other way round.
#[test]
fn checkpoints_are_the_same() {
    let x = values(5, false);
    let (labels, names) = (labels(&x, "logistic"), names());
    for (name, spec) in spaces() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.ckpt");
        let machine = Machine::new().max_rounds(2).budget(2).tol(0.0);
        let machine = machine.loss(featgen::objective::by_name("logistic").unwrap()).checkpoint(&path);
        let case = Case { spec: &spec, machine, scaling: None, keep: &[], labels: &labels };
        let whole = Storage::Sparse.store(&x, &(0..COLUMNS as u64).collect::<Vec<_>>());
        case.here(&*whole, &names).unwrap();
        let saved = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        case.elsewhere(&in_shards(&x, Storage::Sparse, 3), &names).unwrap();
        assert!(std::fs::read(&path).unwrap() == saved, "{name}");
        let on = Case { machine: case.machine.clone().max_rounds(4), ..case };
        let expected = on.here(&*whole, &names).unwrap();
        std::fs::write(&path, saved).unwrap();
        assert_eq!(on.elsewhere(&in_shards(&x, Storage::Sparse, 2), &names).unwrap(), expected, "{name}");
    }
}

/// Shards that are new for every request, as if every worker was lost after each.
struct Forgetful<'a>(&'a [Vec<f64>]);

impl Shards for Forgetful<'_> {
    fn ask(&self, request: &[u8]) -> Result<Vec<Vec<u8>>> {
        in_shards(self.0, Storage::Sparse, 3).ask(request)
    }
}

#[test]
fn nothing_is_remembered_that_matters() {
    let (x, names) = (values(9, false), names());
    let weights = (0..ROWS).map(|i| [1.0, 2.0, 0.0, 0.5][i % 4]).collect();
    let labels = labels(&x, "squared-hinge").with_weights(weights).unwrap();
    for (name, spec) in spaces() {
        let case = Case {
            spec: &spec,
            machine: Machine::new().features(4),
            scaling: None,
            keep: &[3],
            labels: &labels,
        };
        let expected = case.elsewhere(&in_shards(&x, Storage::Sparse, 3), &names).unwrap();
        assert_eq!(case.elsewhere(&Forgetful(&x), &names).unwrap(), expected, "{name}");
    }
}

/// Shards that cannot be asked any more after some requests.
struct Failing {
    shards: Vec<ShardServer>,
    left: AtomicUsize,
}

impl Shards for Failing {
    fn ask(&self, request: &[u8]) -> Result<Vec<Vec<u8>>> {
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        left.map_err(|_| Error::Data("worker 3 is gone".into()))?;
        self.shards.ask(request)
    }
}

#[test]
fn a_shard_that_cannot_be_asked_is_said_wherever_it_happens() {
    let (x, names) = (values(9, false), names());
    let labels = labels(&x, "squared-hinge");
    for (name, spec) in spaces() {
        let case = Case {
            spec: &spec,
            machine: Machine::new().features(4),
            scaling: None,
            keep: &[3],
            labels: &labels,
        };
        for left in 0.. {
            let shards = Failing { shards: in_shards(&x, Storage::Sparse, 2), left: AtomicUsize::new(left) };
            match case.elsewhere(&shards, &names) {
                Err(error) => assert_eq!(error.to_string(), "worker 3 is gone", "{name}, {left}"),
                Ok(_) if left > 4 => break,
                Ok(_) => panic!("{name}: not asked more than {left} times"),
            }
        }
    }
}

#[test]
fn what_cannot_be_is_said() {
    let (mut x, names) = (values(9, false), names());
    let labels = labels(&x, "squared-hinge");
    let refused = |spec: &str, shards: &dyn Shards| {
        let spec = SpaceSpec::named(spec).unwrap();
        let machine = Machine::new().features(4);
        let case = Case { spec: &spec, machine, scaling: None, keep: &[], labels: &labels };
        case.elsewhere(shards, &names).unwrap_err().to_string()
    };
    let mut turned = in_shards(&x, Storage::Sparse, 2);
    turned.reverse();
    assert!(refused("linear", &turned).contains("do not follow each other"));
    assert!(refused("linear", &Vec::new()).contains("no shards"));
    x[30][7] = f64::NAN;
    let shards = in_shards(&x, Storage::Sparse, 3);
    for space in ["linear", "hik", "poly2"] {
        assert_eq!(refused(space, &shards), "row 8, feature x30: NaN is not a finite number", "{space}");
    }
    assert!(refused("products", &shards).starts_with("row 8, feature x30: NaN is not within 0 and 1"));
}

/// Requests and replies that are damaged, or of another version, are errors.
#[test]
fn strange_bytes_are_refused() {
    struct Strange(Vec<u8>);
    impl Shards for Strange {
        fn ask(&self, _request: &[u8]) -> Result<Vec<Vec<u8>>> {
            Ok(vec![self.0.clone()])
        }
    }
    struct Seen(std::sync::Mutex<Vec<Vec<u8>>>, Vec<ShardServer>);
    impl Shards for Seen {
        fn ask(&self, request: &[u8]) -> Result<Vec<Vec<u8>>> {
            self.0.lock().unwrap().push(request.to_vec());
            self.1.ask(request)
        }
    }
    let x = values(9, false);
    let (labels, names) = (labels(&x, "softmax"), names());
    let seen = Seen(Default::default(), in_shards(&x, Storage::Sparse, 2));
    for space in ["linear", "poly2", "products"] {
        let spec = SpaceSpec::named(space).unwrap();
        let machine = Machine::new().features(3).loss(featgen::objective::by_name("softmax").unwrap());
        let case = Case { spec: &spec, machine, scaling: None, keep: &[], labels: &labels };
        case.elsewhere(&seen, &names).unwrap();
    }
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for request in seen.0.into_inner().unwrap() {
        for _ in 0..20 {
            // What comes of it is a reply in any case.
            let mut strange = request.clone();
            let at = rng.random_range(14..strange.len().max(15));
            if rng.random_bool(0.5) {
                strange.truncate(rng.random_range(1..=strange.len()));
            }
            strange.iter_mut().skip(at).take(1).for_each(|byte| *byte = rng.random());
            assert!(seen.1.iter().all(|shard| !shard.answer(&strange).is_empty()));
        }
        let mut newer = request.clone();
        newer[9] += 1;
        let reply = seen.1[0].answer(&newer);
        let error = ShardColumns::new(&Strange(reply), &names).err().unwrap().to_string();
        assert!(error.contains("both need the same version"), "{error}");
    }
    for reply in [&b""[..], b"\x00", b"\x01\xff\xff\xff\xff\xff", b"\x00\x01\x02\x03\x04"] {
        assert!(ShardColumns::new(&Strange(reply.to_vec()), &names).is_err(), "{reply:?}");
    }
}
