//! A table about people: numbers, categories, yes and no, dates, and cells without a value.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::{Block, Column, Type};

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
pub(super) const DECIDING: [&str; 7] =
    ["age", "years", "education", "marital", "occupation", "gain", "hours"];

/// What they decide on.
pub(super) const LABEL: &str = "income";

pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::new("age", Type::Number),
        Column::new("workplace", Type::Text).without("?"),
        Column::new("weight", Type::Number),
        Column::new("education", Type::Text),
        Column::new("years", Type::Number),
        Column::new("marital", Type::Text),
        Column::new("occupation", Type::Text).without("?"),
        Column::new("household", Type::Text),
        Column::new("member", Type::Truth),
        Column::new("gain", Type::Number),
        Column::new("loss", Type::Number),
        Column::new("hours", Type::Number).without("NA"),
        Column::new("country", Type::Text),
        Column::new("joined", Type::Date),
        Column::new(LABEL, Type::Text),
    ]
}

/// One of a list, the first more often than the last.
fn one_of(random: &mut ChaCha8Rng, count: usize) -> usize {
    let x: f64 = random.random();
    ((x * x * count as f64) as usize).min(count - 1)
}

/// Adds a person.
pub(super) fn row(random: &mut ChaCha8Rng, block: &mut Block) {
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
    block.perhaps(random.random::<f64>() >= 0.03, age);
    block.perhaps(random.random::<f64>() >= 0.05, workplace);
    block.cell(weight);
    block.cell(EDUCATION[education]);
    block.cell(years);
    block.cell(MARITAL[marital]);
    block.perhaps(random.random::<f64>() >= 0.06, OCCUPATIONS[occupation]);
    block.cell(household);
    block.cell(if member { "TRUE" } else { "FALSE" });
    block.cell(gain);
    block.cell(loss);
    block.perhaps(random.random::<f64>() >= 0.01, hours);
    block.cell(format_args!("C{country}"));
    block.cell(format_args!("20{:02}-{:02}-{:02}", 10 + joined.0, joined.1, joined.2));
    block.cell(if score > 0.6 { ">50K" } else { "<=50K" });
}
