//! One number that stands for many, to tell whether they are the same.

use std::hash::{Hash, Hasher};

use xxhash_rust::xxh3::Xxh3;

/// The digest of anything that has a hash. Not for files that are to outlive this version of the program.
pub(crate) fn digest(what: impl Hash) -> u64 {
    let mut hasher = Xxh3::new();
    what.hash(&mut hasher);
    hasher.finish()
}
