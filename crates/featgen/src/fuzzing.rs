//! Every parser from bytes in memory, and what is done with what it yields: for fuzzing, and for nothing else. May change at
//! any time.
//!
//! Each function takes any bytes. It may refuse them; it must not panic, and what it takes it must be able to use.

use std::path::Path;
use std::sync::LazyLock;

use crate::context::Context;
use crate::data::read::lists::{LabelFile, read_names, read_weights};
use crate::data::read::{Reader, Source, text_from_bytes};
use crate::data::store::Store;
use crate::data::{Columns, Dataset, Names};
use crate::error::Result;
use crate::machine::Machine;
use crate::model::Model;
use crate::space::{
    FeatureSpace, GroupSpace, GroupWeight, Inputs, LinearSpace, TreeFormat, TreeSpace, groups_from_bytes,
    tree_from_bytes,
};
use crate::table::Recipe;

/// One thread for all: starting some takes longer than parsing.
static THREAD: LazyLock<Context> = LazyLock::new(|| Context::new().threads(1));

const ROWS: &str = "1 1:1 2:0.5 4:-2\n-1 1:2 3:1\n1 2:1 3:0.25\n-1 2:3 5:1\n";

fn reader() -> Reader {
    Reader::new().require_labels(false).chunk(64).context(&THREAD)
}

/// A few rows of five features.
static DATA: LazyLock<Dataset> =
    LazyLock::new(|| reader().read_source(Source::from_bytes(ROWS).expect("bytes")).expect("sound data"));

/// The same with names.
static NAMED: LazyLock<Dataset> = LazyLock::new(|| {
    let data = reader().read_source(Source::from_bytes(ROWS).expect("bytes")).expect("sound data");
    let names = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
    Dataset { names: Names::identifying(names), ..data }
});

/// A model for them.
static MODEL: LazyLock<Model> = LazyLock::new(|| {
    let machine = Machine::new().budget(2).max_rounds(2).context(&THREAD);
    machine.fit(&LinearSpace::new(&DATA), &DATA.labels).expect("sound data")
});

/// Reads a source as a whole and in batches, which must be of one mind; and in batches of few columns, of which less can be
/// wrong.
fn both_ways(reader: &Reader, bytes: &[u8]) -> Result<()> {
    if reader.takes_for_table(&mut Source::from_bytes(bytes)?) {
        read_again(reader.clone(), bytes);
        return Ok(());
    }
    let whole = reader.read_source(Source::from_bytes(bytes)?);
    let few = in_batches(reader, bytes, |_| vec![0, 3, 1 << 40]);
    let all = in_batches(reader, bytes, |dimension| (0..dimension.min(1 << 12)).chain([1 << 40]).collect());
    let data = match (whole, all) {
        (Ok(data), Ok(rows)) if rows == data.columns.rows() => data,
        // Entries of a matrix that nobody asked for are not kept to be compared with each other.
        (Err(whole), _) if whole.to_string().ends_with("stands twice") => return Err(whole),
        (Err(whole), Err(parts)) => {
            assert_eq!(whole.to_string(), parts.to_string());
            return Err(whole);
        }
        (whole, parts) => {
            panic!("as a whole {:?}, in parts {parts:?}", whole.map(|data| data.columns.rows()))
        }
    };
    assert_eq!(few.ok(), Some(data.columns.rows()));
    use_data(&data)
}

/// Reads a source in batches of the columns that are wanted, given the number of all if that is known; counts the rows.
fn in_batches(reader: &Reader, bytes: &[u8], wanted: impl Fn(u64) -> Vec<u64>) -> Result<usize> {
    let batches = reader.batches_of(Source::from_bytes(bytes)?)?;
    let (wanted, mut rows) = (wanted(batches.dimension().unwrap_or(0)), 0);
    batches.for_each(&wanted, |batch| {
        assert!(batch.labels.is_empty() || batch.labels.len() == batch.columns.rows());
        assert_eq!(batch.first, rows);
        rows += batch.columns.rows();
        Ok::<_, crate::Error>(())
    })?;
    Ok(rows)
}

/// What training and prediction do with data.
fn use_data(data: &Dataset) -> Result<()> {
    let columns = &*data.columns;
    assert!(data.labels.is_empty() || data.labels.len() == columns.rows());
    assert!(data.labels.codes().iter().all(|&code| (code as usize) < data.labels.classes().len()));
    look_at(columns);
    let _ = MODEL.decision(data);
    let _ = LinearSpace::new(data).size();
    Ok(())
}

fn look_at(columns: &dyn Columns) {
    let held = columns.len().min(64);
    let mut stored = 0;
    columns.visit(0..held, &mut |k, column| {
        assert!(columns.position(columns.id(k)) == Some(k) && columns.id(k) < columns.dimension());
        column.for_each(|row, _| assert!((row as usize) < columns.rows()));
        stored += column.len() as u64;
    });
    assert!(stored <= columns.nonzeros());
    if columns.rows() < 1 << 16 {
        let (v, mut out) = (vec![0.5; columns.rows()], vec![0.0; held]);
        columns.dots(0..held, &v, &mut out);
    }
}

/// Svmlight text, or whatever else is recognised.
pub fn svmlight(bytes: &[u8]) {
    let _ = both_ways(&reader(), bytes);
}

/// A table whose labels are in column `y`.
pub fn csv(bytes: &[u8]) {
    read_again(reader().label_column("y"), bytes);
}

/// A Parquet or Arrow file with labels in column `y`, in the file `path`.
#[cfg(feature = "arrow")]
pub fn typed_table(bytes: &[u8], path: &Path) {
    std::fs::write(path, bytes).expect("a file");
    let reader = reader().label_column("y");
    let Ok(data) = reader.read(path) else { return };
    let _ = use_data(&data);
    let Some(recipe) = &data.recipe else { return };
    let again = reader.clone().recipe(Some(recipe)).read(path).expect("read before");
    assert_eq!(again.names, data.names);
    assert_eq!(sums(&*again.columns), sums(&*data.columns));
    let schema = reader.schema(path).expect("read before");
    assert_eq!(schema.rows, data.columns.rows() as u64);
}

/// What is found out about the columns of a table must lead to the same inputs when it is read again, as a whole and in batches.
fn read_again(reader: Reader, bytes: &[u8]) {
    let Ok(data) = Source::from_bytes(bytes).and_then(|source| reader.read_source(source)) else { return };
    let _ = use_data(&data);
    let Some(recipe) = &data.recipe else { return };
    let written = serde_json::to_vec(recipe).expect("a recipe can always be written");
    assert_eq!(serde_json::from_slice::<Recipe>(&written).ok().as_ref(), Some(recipe));
    let reader = reader.recipe(Some(recipe));
    let again = Source::from_bytes(bytes).and_then(|source| reader.read_source(source)).expect("read before");
    assert_eq!(again.names, data.names);
    assert_eq!(sums(&*again.columns), sums(&*data.columns));
    let rows = in_batches(&reader, bytes, |dimension| (0..dimension.min(1 << 12)).collect());
    assert_eq!(rows.ok(), Some(data.columns.rows()));
}

/// The sum of every column, by id.
fn sums(columns: &dyn Columns) -> Vec<(u64, u64)> {
    let mut sums = Vec::new();
    columns.visit(0..columns.len(), &mut |k, column| {
        let mut sum = 0.0;
        column.for_each(|row, x| sum += f64::from(row + 1) * x);
        sums.push((columns.id(k), f64::to_bits(sum)));
    });
    sums
}

/// An array.
pub fn npy(bytes: &[u8]) {
    let _ = both_ways(&reader(), bytes);
}

/// A Matrix Market file whose rows are instances, and one whose columns are.
pub fn mtx(bytes: &[u8]) {
    for transpose in [false, true] {
        let _ = both_ways(&reader().transpose(transpose), bytes);
    }
}

/// Variants, people, tables about people, or genes: text beside genotypes.
pub fn plink(bytes: &[u8]) {
    let _ = text_from_bytes(bytes);
}

/// A store whose checksums are right.
pub fn store(bytes: &[u8]) {
    let Ok(Ok(store)) = THREAD.run(|| Store::open_bytes(bytes)) else { return };
    look_at(&store);
    if let Ok(data) = store.into_dataset("test") {
        let _ = use_data(&data);
    }
}

/// A model, used as `predict` and `inspect` do.
pub fn model(bytes: &[u8]) {
    let Ok(model) = Model::from_json(bytes, "test") else { return };
    let again = Model::from_json(model.to_json().as_bytes(), "test").expect("what was loaded can be saved");
    assert_eq!(again, model);
    for data in [&*DATA, &*NAMED] {
        let _ = model.decision(data);
        let _ = model.truth(&data.labels);
    }
    for group in model.selected_groups() {
        let _ = model.curve(&group, 0);
    }
    let last = model.rounds.last().map_or(0, |round| round.selected);
    let _ = model.at(last).map(|model| model.decision(&DATA));
    assert!(model.certificate.gap() >= 0.0);
}

/// A checkpoint whose checksum is right, in the file `path`, to be gone on from.
pub fn checkpoint(bytes: &[u8], path: &Path) {
    std::fs::write(path, bytes).expect("a file");
    if let Ok(model) = machine().checkpoint(path).fit(&LinearSpace::new(&DATA), &DATA.labels) {
        let loaded = Model::from_json(model.to_json().as_bytes(), "test");
        loaded.expect("what a checkpoint leads to can be loaded");
    }
}

/// A checkpoint that [`checkpoint`] can go on from.
pub fn sound_checkpoint(path: &Path) -> Vec<u8> {
    let _ = std::fs::remove_file(path);
    let run = machine().max_rounds(1).checkpoint(path).fit(&LinearSpace::new(&DATA), &DATA.labels);
    run.expect("sound data");
    std::fs::read(path).expect("a checkpoint")
}

fn machine() -> Machine {
    Machine::new().budget(1).max_rounds(2).tol(0.0).context(&THREAD)
}

/// Lists of features, as groups and as a tree.
pub fn lists(bytes: &[u8]) {
    for data in [&*DATA, &*NAMED] {
        let inputs = Inputs::new(data);
        let Ok(groups) = groups_from_bytes(bytes, &inputs) else { continue };
        let space = GroupSpace::new(inputs, groups, GroupWeight::None).expect("groups of these data");
        look_at_groups(&space);
    }
    tree(bytes, TreeFormat::Lists);
}

/// Pathways, as groups if they are recognised, and as a tree.
pub fn gmt(bytes: &[u8]) {
    lists(bytes);
    tree(bytes, TreeFormat::Gmt);
}

/// A tree of groups in one of its formats, or in the one that is recognised.
pub fn tree(bytes: &[u8], format: TreeFormat) {
    for format in [Some(format), None] {
        let inputs = Inputs::new(&NAMED);
        let Ok(tree) = tree_from_bytes(bytes, &inputs, format) else { continue };
        let space = TreeSpace::new(inputs, tree, GroupWeight::None).expect("a tree of these data");
        look_at_groups(&space);
    }
}

fn look_at_groups(space: &dyn FeatureSpace) {
    use crate::space::Candidate;
    for g in 0..space.size().min(64) as u32 {
        let group = space.group(&Candidate::Group(g)).expect("a group for every number");
        assert!(group.features.len() <= group.size);
    }
}

/// Names of five features, and of any number.
pub fn names(bytes: &[u8]) {
    for features in [Some(5), None] {
        let names = Source::list_from_bytes(bytes).and_then(|source| read_names(source, features));
        assert!(names.is_err() || features.is_none() || names.is_ok_and(|names| names.list().len() == 5));
    }
}

/// Labels of five instances, read in two parts.
pub fn labels(bytes: &[u8]) {
    let read = || -> Result<()> {
        let mut file = LabelFile::of(Source::from_bytes(bytes)?)?;
        let parts = [file.next_of_many(2)?, file.next_of_many(3)?];
        file.end()?;
        assert_eq!(parts.map(|labels| labels.len()), [2, 3]);
        Ok(())
    };
    let _ = read();
}

/// Weights of five instances.
pub fn weights(bytes: &[u8]) {
    let weights = Source::from_bytes(bytes).and_then(|source| read_weights(source, 5));
    assert!(weights.is_err() || weights.is_ok_and(|weights| weights.len() == 5));
}
