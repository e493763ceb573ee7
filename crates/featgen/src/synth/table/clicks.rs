//! A table of the shape of Criteo's logs of advertisements: skewed counts, and categories of up to a million levels of which few
//! are frequent and most are not.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{Block, Column, Type};

/// What is decided on.
pub(super) const LABEL: &str = "click";

const NUMBERS: usize = 13;
const CATEGORIES: usize = 26;

/// Of each count, the mean and the spread of its logarithm, and the part of the rows without one.
const COUNTS: [(f64, f64, f64); NUMBERS] = [
    (0.5, 1.2, 0.45),
    (1.5, 1.8, 0.0),
    (1.8, 1.4, 0.21),
    (1.6, 0.9, 0.21),
    (7.5, 2.0, 0.03),
    (3.5, 1.5, 0.22),
    (1.6, 1.4, 0.04),
    (2.1, 1.0, 0.001),
    (4.0, 1.3, 0.04),
    (0.3, 0.5, 0.45),
    (0.9, 0.8, 0.04),
    (0.2, 1.0, 0.77),
    (1.6, 1.1, 0.21),
];

/// Of each category, how many levels there are, and the part of the rows without one.
const LEVELS: [(u32, f64); CATEGORIES] = [
    (1_400, 0.0),
    (550, 0.0),
    (1_000_000, 0.03),
    (600_000, 0.03),
    (300, 0.0),
    (20, 0.12),
    (12_000, 0.0),
    (600, 0.0),
    (3, 0.0),
    (90_000, 0.0),
    (5_600, 0.0),
    (800_000, 0.03),
    (3_200, 0.0),
    (27, 0.0),
    (14_000, 0.0),
    (700_000, 0.03),
    (10, 0.0),
    (5_500, 0.0),
    (2_100, 0.44),
    (4, 0.44),
    (900_000, 0.03),
    (18, 0.76),
    (15, 0.0),
    (280_000, 0.03),
    (100, 0.44),
    (140_000, 0.44),
];

/// Counts that decide, by their places, with the weights of their logarithms.
const DECIDING_COUNTS: [(usize, f64); 3] = [(1, 0.25), (6, -0.5), (10, 0.6)];

/// Categories that decide, by their places, with the spread of their levels' effects.
const DECIDING_CATEGORIES: [(usize, f64); 6] =
    [(1, 0.4), (4, 0.3), (8, 0.8), (10, 0.5), (13, 0.4), (25, 0.6)];

/// Crosses that decide: two categories, by their places, the rank of a level of each, and what both together weigh. No column of
/// theirs decides for itself.
const CROSSES: [([(usize, u32); 2], f64); 3] =
    [([(5, 0), (16, 0)], 1.6), ([(7, 0), (22, 1)], -1.8), ([(0, 0), (17, 0)], 2.0)];

/// Where the outcome is even.
const SHIFT: f64 = 1.6;

pub(super) fn columns() -> Vec<Column> {
    let numbers = (1..=NUMBERS).map(|k| Column::new(format!("n{k}"), Type::Number));
    let categories = (1..=CATEGORIES).map(|k| Column::new(format!("c{k}"), Type::Text));
    let label = std::iter::once(Column::new(LABEL, Type::Number));
    numbers.chain(categories).chain(label).collect()
}

/// The columns that decide for themselves, and the crosses of levels.
pub(super) fn deciding() -> Vec<String> {
    let counts = DECIDING_COUNTS.iter().map(|(at, _)| format!("n{}", at + 1));
    let categories = DECIDING_CATEGORIES.iter().map(|(at, _)| format!("c{}", at + 1));
    let level = |(at, rank): (usize, u32)| format!("c{} = {:08x}", at + 1, code(at, rank));
    let crosses = CROSSES.iter().map(|(levels, _)| levels.map(level).join(" & "));
    counts.chain(categories).chain(crosses).collect()
}

/// What the level of a rank looks like, as 32 bits. Their four first bits are not a digit, so that no column looks like numbers.
fn code(at: usize, rank: u32) -> u32 {
    xxh3_64_with_seed(&rank.to_le_bytes(), at as u64) as u32 | 0xa000_0000
}

/// The effect of a level: fixed by its code, of mean 0 and spread 1.
fn effect(code: u32) -> f64 {
    let bits = xxh3_64_with_seed(&code.to_le_bytes(), u64::MAX);
    (bits as f64 / 2f64.powi(64) - 0.5) * 12f64.sqrt()
}

/// Adds a row.
pub(super) fn row(random: &mut ChaCha8Rng, block: &mut Block) {
    let mut score = -SHIFT;
    for (at, (mean, spread, missing)) in COUNTS.into_iter().enumerate() {
        let there = random.random::<f64>() >= missing;
        let count = (mean + spread * random.sample::<f64, _>(StandardNormal)).exp().floor();
        if let Some((_, weight)) = DECIDING_COUNTS.iter().find(|(deciding, _)| *deciding == at && there) {
            score += weight * (count.ln_1p() - mean);
        }
        block.perhaps(there, count);
    }
    let mut ranks = [u32::MAX; CATEGORIES];
    for (at, (levels, missing)) in LEVELS.into_iter().enumerate() {
        let there = random.random::<f64>() >= missing;
        // Zipf's law, nearly: the logarithm of the rank is uniform.
        let rank = (f64::from(levels + 1).powf(random.random()) as u32 - 1).min(levels - 1);
        let code = code(at, rank);
        if there {
            ranks[at] = rank;
            let deciding = DECIDING_CATEGORIES.iter().find(|(deciding, _)| *deciding == at);
            score += deciding.map_or(0.0, |(_, size)| size * effect(code));
        }
        block.perhaps(there, format_args!("{code:08x}"));
    }
    for ([one, other], weight) in CROSSES {
        score += if ranks[one.0] == one.1 && ranks[other.0] == other.1 { weight } else { 0.0 };
    }
    let chance = 1.0 / (1.0 + (-score).exp());
    block.cell(u8::from(random.random::<f64>() < chance));
}
