//! The contract that every feature space keeps, checked by brute force over all its features: one routine ([`contract`]), run on
//! every space over every storage, for residuals of one and of several outputs.

#[path = "../common/mod.rs"]
mod common;
mod contract;
mod curves;
mod groups;
mod linear;
mod pairs;
mod products;
mod shards;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// The same random cases every time: a run that fails, fails again.
pub(crate) fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    }
}

pub(crate) fn integers(rng: &mut ChaCha8Rng, n: usize, most: i32, zeros: f64) -> Vec<f64> {
    (0..n).map(|_| if rng.random_bool(zeros) { 0.0 } else { rng.random_range(-most..=most).into() }).collect()
}

pub(crate) fn reals(rng: &mut ChaCha8Rng, n: usize) -> Vec<f64> {
    (0..n).map(|_| rng.sample::<f32, _>(StandardNormal).into()).collect()
}
