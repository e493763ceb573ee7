//! Hostile inputs for every parser of featgen: one function for each, which takes any bytes and must neither panic, nor take
//! long, nor ask for much memory. Two things call them.
//!
//! The runner of this package makes inputs from seeds with a mutator of its own, from a number that repeats them. It needs
//! nothing but stable Rust, and also runs as an ordinary test:
//!
//! ```text
//! cargo run --release -p featgen-fuzz -- --executions 1000000 [--target csv] [--seed 7]
//! ```
//!
//! libFuzzer is guided by coverage. It needs a nightly toolchain, or leave to do what only those may:
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 cargo fuzz run --features libfuzzer --sanitizer none csv fuzz/corpus/csv fuzz/seeds/csv
//! ```

mod mutate;
mod repair;
pub mod run;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use featgen::fuzzing;
use featgen::space::TreeFormat;

/// A parser to be tried.
#[derive(Clone, Copy)]
pub struct Target {
    /// What it is called here, and its folder of seeds.
    pub name: &'static str,
    /// What is called with every input.
    pub run: fn(&[u8]),
}

/// All parsers.
pub const TARGETS: [Target; 18] = [
    Target { name: "svmlight", run: svmlight },
    Target { name: "csv", run: csv },
    Target { name: "npy", run: npy },
    Target { name: "mtx", run: mtx },
    Target { name: "plink", run: plink },
    Target { name: "parquet", run: parquet },
    Target { name: "arrow", run: arrow },
    Target { name: "store", run: store },
    Target { name: "model", run: model },
    Target { name: "checkpoint", run: checkpoint },
    Target { name: "lists", run: lists },
    Target { name: "paths", run: paths },
    Target { name: "parents", run: parents },
    Target { name: "newick", run: newick },
    Target { name: "gmt", run: gmt },
    Target { name: "names", run: names },
    Target { name: "labels", run: labels },
    Target { name: "weights", run: weights },
];

/// Svmlight text, plain or compressed.
pub fn svmlight(bytes: &[u8]) {
    fuzzing::svmlight(bytes);
}

/// A table.
pub fn csv(bytes: &[u8]) {
    fuzzing::csv(bytes);
}

/// An array.
pub fn npy(bytes: &[u8]) {
    fuzzing::npy(bytes);
}

/// A Matrix Market file.
pub fn mtx(bytes: &[u8]) {
    fuzzing::mtx(bytes);
}

/// Text beside genotypes.
pub fn plink(bytes: &[u8]) {
    fuzzing::plink(bytes);
}

/// A Parquet file.
pub fn parquet(bytes: &[u8]) {
    in_a_file("parquet", bytes, fuzzing::typed_table);
}

/// An Arrow file. (Streams come from the memory of Python alone.)
pub fn arrow(bytes: &[u8]) {
    in_a_file("arrow", bytes, fuzzing::typed_table);
}

/// Calls `act` with bytes, and with a file of this thread that it may write them to.
fn in_a_file(name: &str, bytes: &[u8], act: impl Fn(&[u8], &Path)) {
    thread_local! {
        static FILES: RefCell<HashMap<String, PathBuf>> = RefCell::default();
    }
    FILES.with_borrow_mut(|files| {
        act(bytes, files.entry(name.to_owned()).or_insert_with(|| run::scratch(name)))
    });
}

/// A store as it is, with its checksums made right, and with its arrays where they would have to be.
pub fn store(bytes: &[u8]) {
    fuzzing::store(bytes);
    for sizes_too in [false, true] {
        if let Some(repaired) = repair::store(bytes, sizes_too) {
            fuzzing::store(&repaired);
        }
    }
}

/// A model.
pub fn model(bytes: &[u8]) {
    fuzzing::model(bytes);
}

/// A checkpoint with its checksum and the length of its header made right.
pub fn checkpoint(bytes: &[u8]) {
    if let Some(repaired) = repair::checkpoint(bytes) {
        in_a_file("checkpoint", &repaired, fuzzing::checkpoint);
    }
}

/// Groups as lists.
pub fn lists(bytes: &[u8]) {
    fuzzing::lists(bytes);
}

/// A tree of groups as paths.
pub fn paths(bytes: &[u8]) {
    fuzzing::tree(bytes, TreeFormat::Paths);
}

/// A tree of groups as edges.
pub fn parents(bytes: &[u8]) {
    fuzzing::tree(bytes, TreeFormat::Parents);
}

/// A tree of groups in Newick's format.
pub fn newick(bytes: &[u8]) {
    fuzzing::tree(bytes, TreeFormat::Newick);
}

/// Pathways.
pub fn gmt(bytes: &[u8]) {
    fuzzing::gmt(bytes);
}

/// Names of features.
pub fn names(bytes: &[u8]) {
    fuzzing::names(bytes);
}

/// Labels of instances.
pub fn labels(bytes: &[u8]) {
    fuzzing::labels(bytes);
}

/// Weights of instances.
pub fn weights(bytes: &[u8]) {
    fuzzing::weights(bytes);
}
