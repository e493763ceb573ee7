//! A table as people have them: numbers, categories, yes and no, dates, and cells without a value.

use std::io::Write;
use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::Set;
use crate::error::{Error, Result};
use crate::files::write_whole;

/// A table of 15 columns about people, of which some decide on the last, `income`.
#[derive(Debug, Clone, Copy)]
pub struct People {
    /// Training instances.
    pub rows: usize,
    /// Test instances.
    pub test_rows: usize,
    /// What makes the random numbers differ.
    pub seed: u64,
}

impl Default for People {
    fn default() -> Self {
        Self { rows: 30_000, test_rows: 5000, seed: 0 }
    }
}

const WORKPLACES: [&str; 6] = ["private", "own", "state", "city", "federal", "none at all"];
const EDUCATION: [&str; 9] =
    ["school", "college", "bachelor", "vocational", "master", "11th", "associate", "doctor", "preschool"];
const MARITAL: [&str; 5] = ["married", "never married", "divorced", "widowed", "separated"];
const OCCUPATIONS: [&str; 12] = [
    "craft",
    "executive",
    "professional",
    "clerical",
    "sales",
    "service",
    "machines",
    "transport",
    "cleaning",
    "farming",
    "tech, support",
    "protection",
];
const HOUSEHOLDS: [&str; 5] = ["couple", "alone", "own child", "other relative", "unmarried"];

/// The columns that decide, in the order in which they are drawn.
pub const DECIDING: [&str; 7] = ["age", "years", "education", "marital", "occupation", "gain", "hours"];

impl People {
    /// Writes one of the sets as CSV.
    pub fn write(&self, set: Set, path: impl AsRef<Path>) -> Result<()> {
        let (rows, stream) = match set {
            Set::Train => (self.rows, 0),
            Set::Test => (self.test_rows, 1),
        };
        if rows == 0 {
            return Err(Error::parameter("rows", "must be at least 1"));
        }
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(stream);
        write_whole(path.as_ref(), |out| {
            writeln!(
                out,
                "age,workplace,weight,education,years,marital,occupation,household,member,gain,loss,hours,country,joined,income"
            )?;
            (0..rows).try_for_each(|_| writeln!(out, "{}", person(&mut random)))
        })
    }
}

/// One of a list, the first more often than the last.
fn one_of(random: &mut ChaCha8Rng, count: usize) -> usize {
    let x: f64 = random.random();
    ((x * x * count as f64) as usize).min(count - 1)
}

/// A cell, or in a part of all rows what stands for none.
fn perhaps(random: &mut ChaCha8Rng, part: f64, none: &str, cell: String) -> String {
    if random.random::<f64>() < part { none.to_owned() } else { cell }
}

fn person(random: &mut ChaCha8Rng) -> String {
    let normal = |random: &mut ChaCha8Rng| random.sample::<f64, _>(StandardNormal);
    let age = (39.0 + 13.0 * normal(random)).clamp(17.0, 90.0).round();
    let education = one_of(random, EDUCATION.len());
    let years =
        (9.0 + 2.0 * normal(random) + if education == 7 { 6.0 } else { 0.0 }).clamp(1.0, 20.0).round();
    let marital = one_of(random, MARITAL.len());
    let occupation = one_of(random, OCCUPATIONS.len());
    let gain = if random.random::<f64>() < 0.08 { (8.0 + normal(random)).exp().round() } else { 0.0 };
    let hours = (40.0 + 11.0 * normal(random)).clamp(1.0, 99.0).round();
    let score = 0.05 * (age - 39.0)
        + 0.35 * (years - 9.0)
        + 0.04 * (hours - 40.0)
        + (gain / 2000.0).min(4.0)
        + [-0.5, 0.2, 0.8, 0.0, 1.2, -1.0, 0.0, 1.8, -2.0][education]
        + [1.4, -1.3, -0.6, -0.3, -0.6][marital]
        + if occupation == 1 || occupation == 2 { 0.9 } else { -0.3 }
        + 0.8 * normal(random);
    let workplace = WORKPLACES[one_of(random, WORKPLACES.len())];
    let weight = (12.0 + 0.5 * normal(random)).exp().round();
    let household = HOUSEHOLDS[one_of(random, HOUSEHOLDS.len())];
    let member = random.random::<f64>() < 0.3;
    let loss = if random.random::<f64>() < 0.05 { (7.5 + 0.2 * normal(random)).exp().round() } else { 0.0 };
    let country = one_of(random, 60) * one_of(random, 60) / 20;
    let joined = (random.random_range(0..12), random.random_range(1..=12), random.random_range(1..=28));
    [
        perhaps(random, 0.03, "", age.to_string()),
        perhaps(random, 0.05, "?", workplace.to_owned()),
        weight.to_string(),
        EDUCATION[education].to_owned(),
        years.to_string(),
        MARITAL[marital].to_owned(),
        perhaps(random, 0.06, "?", quoted(OCCUPATIONS[occupation])),
        household.to_owned(),
        if member { "TRUE" } else { "FALSE" }.to_owned(),
        gain.to_string(),
        loss.to_string(),
        perhaps(random, 0.01, "NA", hours.to_string()),
        format!("C{country}"),
        format!("20{:02}-{:02}-{:02}", 10 + joined.0, joined.1, joined.2),
        if score > 0.6 { ">50K" } else { "<=50K" }.to_owned(),
    ]
    .join(",")
}

/// A cell as CSV has it.
fn quoted(cell: &str) -> String {
    if cell.contains(',') { format!("\"{cell}\"") } else { cell.to_owned() }
}
