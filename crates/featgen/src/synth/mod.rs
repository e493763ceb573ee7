//! Data sets made from a seed: the same on every machine and for any number of threads.
//!
//! [`Linear`] and [`Grouped`] differ in what weights they draw; their values come from the same streams, one a column.
//! [`Products`] are made by rows, for there features occur together. A [`Genome`] and a [`Table`]
//! are written as they are made.

mod drawn;
mod genome;
mod group;
mod linear;
mod outcome;
mod products;
mod table;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use drawn::Drawn;
pub use genome::Genome;
pub use group::Grouped;
pub use linear::Linear;
pub use outcome::Outcome;
pub use products::Products;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{OpenClosed01, StandardNormal};
pub use table::{About, Table, TableFormat};

use crate::context::Context;
use crate::data::{Columns, Dataset, Dense, Layout, Names, Sparse, Values};
use crate::error::{Error, Result};
use crate::files::write_whole;
use crate::parallel;
use crate::space::Feature;

/// A problem with its solution.
pub struct Made {
    /// What to learn from.
    pub train: Dataset,
    /// More of the same, unseen.
    pub test: Dataset,
    /// What made the labels.
    pub truth: Truth,
}

/// The weights behind the labels.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Truth {
    /// Id and weight of every relevant feature, by id.
    pub weights: Vec<(u64, f64)>,
    /// The threshold b.
    pub shift: f64,
    /// How many neighbouring features are relevant together; `None` where each stands for itself.
    pub group_size: Option<u64>,
    /// Ids of the factors, in order, and weight of every relevant product, in order; empty where none are.
    pub products: Vec<(Vec<u64>, f64)>,
}

impl Truth {
    /// The weight of a feature; `None` if it is irrelevant.
    pub fn weight(&self, id: u64) -> Option<f64> {
        self.weights.binary_search_by_key(&id, |&(id, _)| id).ok().map(|k| self.weights[k].1)
    }

    /// The group of a feature, relevant or not, counted from 0; `None` if there are no groups.
    pub fn group(&self, id: u64) -> Option<u64> {
        id.checked_div(self.group_size?)
    }

    /// The relevant groups, counted from 0, in order; empty if there are no groups.
    pub fn groups(&self) -> Vec<u64> {
        let mut groups: Vec<u64> = self.weights.iter().filter_map(|&(id, _)| self.group(id)).collect();
        groups.dedup();
        groups
    }

    /// Writes a line `FEATURE WEIGHT`, or `FEATURE WEIGHT GROUP` if there are groups, for every relevant feature, counted
    /// from 1, and a line `PRODUCT WEIGHT`, as in `17*4021 0.83`, for every relevant product, after comments (`#`) with
    /// the shift.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let head = match self.group_size {
            Some(_) => {
                "relevant features, their weights and their groups (features and groups counted from 1)"
            }
            None if !self.products.is_empty() => {
                "relevant products (factors counted from 1) and their weights"
            }
            None => "relevant features (counted from 1) and their weights",
        };
        let names = Names::default();
        write_whole(path.as_ref(), |out| {
            writeln!(out, "# {head}")?;
            writeln!(out, "# shift {}", self.shift)?;
            self.weights.iter().try_for_each(|&(id, weight)| match self.group(id) {
                Some(group) => writeln!(out, "{} {weight} {}", id + 1, group + 1),
                None => writeln!(out, "{} {weight}", id + 1),
            })?;
            self.products.iter().try_for_each(|(ids, weight)| {
                writeln!(out, "{} {weight}", Feature::product(ids.clone()).show(|id| names.show(id)))
            })
        })
    }

    /// The decision value of every instance.
    fn decision(&self, columns: &dyn Columns) -> Vec<f64> {
        let mut decision = vec![-self.shift; columns.rows()];
        let inputs = self.weights.iter().map(|&(id, weight)| (Feature::input(id), weight));
        let products = self.products.iter().map(|(ids, weight)| (Feature::product(ids.clone()), *weight));
        for (feature, weight) in inputs.chain(products) {
            if let Some(column) = feature.column(columns, |id| columns.position(id)) {
                column.add_to(weight, &mut decision);
            }
        }
        decision
    }
}

/// The two sets draw from different streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Set {
    /// What to learn from.
    Train = 0,
    /// More of the same, unseen.
    Test = 1,
}

/// The stream of the weights; columns take theirs from 0 up.
const TRUTH: u64 = u64::MAX;

/// Those of labels: one for each set.
const LABELS: u64 = TRUTH - 8;

/// Columns that one thread draws one after the other.
const DRAWN: usize = 64;

/// What every kind of problem is told.
#[derive(Clone)]
struct Setting {
    rows: usize,
    test_rows: usize,
    features: usize,
    density: f64,
    shift: f64,
    seed: u64,
}

impl Setting {
    fn checked(self) -> Result<Self> {
        check_size(self.rows, self.test_rows, self.features)?;
        let wrong = |name, reason: String| Err(Error::parameter(name, reason));
        if !(self.density > 0.0 && self.density <= 1.0) {
            return wrong("density", format!("must be above 0 and at most 1, not {}", self.density));
        }
        if !self.shift.is_finite() {
            return wrong("shift", format!("must be a finite number, not {}", self.shift));
        }
        Ok(self)
    }

    fn random(&self, stream: u64) -> ChaCha8Rng {
        random(self.seed, stream)
    }

    /// Every column is a stream of its own, so columns are made in parallel, and a set with more features begins with
    /// the same columns.
    fn column_random(&self, set: Set, column: usize) -> ChaCha8Rng {
        self.random(2 * column as u64 + set as u64)
    }

    fn rows(&self, set: Set) -> usize {
        match set {
            Set::Train => self.rows,
            Set::Test => self.test_rows,
        }
    }

    fn columns(&self, set: Set) -> Result<Box<dyn Columns>> {
        let rows = self.rows(set);
        if self.density < 1.0 {
            Ok(Box::new(self.sparse(set, rows)?))
        } else {
            Ok(Box::new(self.dense(set, rows)?))
        }
    }

    fn dense(&self, set: Set, rows: usize) -> Result<Dense<f32, Vec<f32>>> {
        let len = rows.checked_mul(self.features).ok_or_else(|| self.too_large(rows))?;
        self.check_room::<f32>(rows, len)?;
        let mut values = vec![0f32; len];
        parallel::chunks_mut(&mut values, rows.max(1), &|column, values| {
            self.dense_column(set, column, |normal| values.fill_with(normal));
        });
        Dense::new(values, rows, self.features, Layout::ColumnMajor)
    }

    /// Calls `fill` with what draws the values of a column, one after the other.
    fn dense_column(&self, set: Set, column: usize, fill: impl FnOnce(&mut dyn FnMut() -> f32)) {
        let mut random = self.column_random(set, column);
        fill(&mut || random.sample(StandardNormal));
    }

    fn sparse(&self, set: Set, rows: usize) -> Result<Sparse> {
        self.check_room::<(Vec<u32>, Vec<f32>)>(rows, self.features)?;
        let columns: Vec<(Vec<u32>, Vec<f32>)> =
            parallel::map_runs(self.features, DRAWN, |column| self.sparse_column(set, rows, column));
        let held = columns.iter().map(|(rows, _)| rows.len()).sum();
        let (mut ids, mut pointers) = (Vec::new(), vec![0u64]);
        let (mut indices, mut values) = (Vec::with_capacity(held), Vec::with_capacity(held));
        for (id, (mut column_rows, mut column_values)) in (0..).zip(columns) {
            if !column_rows.is_empty() {
                ids.push(id);
                indices.append(&mut column_rows);
                values.append(&mut column_values);
                pointers.push(indices.len() as u64);
            }
        }
        Sparse::new(rows, self.features as u64, ids, pointers, indices, Values::F32(values))
    }

    fn sparse_column(&self, set: Set, rows: usize, column: usize) -> (Vec<u32>, Vec<f32>) {
        let mut random = self.column_random(set, column);
        let mut kept = Vec::new();
        each(rows, self.density, &mut random, |row| kept.push(row as u32));
        let values = kept.iter().map(|_| random.sample(StandardNormal)).collect();
        (kept, values)
    }

    fn check_room<T>(&self, rows: usize, len: usize) -> Result<()> {
        if fits::<T>(len) { Ok(()) } else { Err(self.too_large(rows)) }
    }

    fn too_large(&self, rows: usize) -> Error {
        Error::Data(format!("{rows} x {} values do not fit in memory", self.features))
    }
}

fn check_size(rows: usize, test_rows: usize, features: usize) -> Result<()> {
    let wrong = |name, reason: String| Err(Error::parameter(name, reason));
    for (name, rows) in [("rows", rows), ("test-rows", test_rows)] {
        if u32::try_from(rows).is_err() {
            return wrong(name, format!("at most {} are supported, not {rows}", u32::MAX));
        }
    }
    if rows < 2 {
        return wrong("rows", format!("two classes take at least 2 instances, not {rows}"));
    }
    if features == 0 {
        return wrong("features", "must be at least 1".into());
    }
    Ok(())
}

/// Asked for once on trial: an allocation that fails later would end the program.
fn fits<T>(len: usize) -> bool {
    Vec::<T>::new().try_reserve_exact(len).is_ok()
}

pub(crate) fn random(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream);
    random
}

/// Calls `found` for each of `0..all` with probability `part`, independently and in order.
///
/// The distances between those found are geometric: one random number for each of them instead of one for all.
fn each(all: usize, part: f64, random: &mut ChaCha8Rng, mut found: impl FnMut(usize)) {
    if part <= 0.0 {
        return;
    }
    let log_skip = (-part).ln_1p();
    let mut skip = || {
        let u: f64 = random.sample(OpenClosed01);
        (u.ln() / log_skip) as u64
    };
    let mut next = skip();
    while next < all as u64 {
        found(next as usize);
        next = next.saturating_add(1).saturating_add(skip());
    }
}

/// Runs on the threads at hand, or on new ones: those that cannot be started are no panic.
fn on_threads<T: Send>(make: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    Context::new().run(make)?
}

/// What a kind of problem turns into: all that is needed to make its sets, one at a time.
struct Problem {
    setting: Setting,
    truth: Truth,
    outcome: Outcome,
}

impl Problem {
    fn generate(self) -> Result<Made> {
        Ok(Made { train: self.train()?, test: self.test()?, truth: self.truth })
    }

    fn train(&self) -> Result<Dataset> {
        self.with_two_classes(self.set(Set::Train, "synthetic training set")?)
    }

    fn with_two_classes(&self, train: Dataset) -> Result<Dataset> {
        if let [only] = train.labels.classes() {
            let reason = format!(
                "all {} training instances fall into class {only}: a shift nearer to 0 or more rows are needed",
                self.setting.rows
            );
            return Err(Error::parameter("shift", reason));
        }
        Ok(train)
    }

    fn test(&self) -> Result<Dataset> {
        self.set(Set::Test, "synthetic test set")
    }

    /// A set whose columns are made as they are asked for.
    fn on_demand(&self, set: Set) -> Result<Dataset> {
        let columns = Drawn { setting: self.setting.clone(), set };
        let decision = on_threads(|| Ok(self.truth.decision(&columns)))?;
        let data = self.dataset(Box::new(columns), &decision, set, "synthetic data");
        if set == Set::Train { self.with_two_classes(data) } else { Ok(data) }
    }

    fn set(&self, set: Set, source: &str) -> Result<Dataset> {
        let columns = on_threads(|| self.setting.columns(set))?;
        let decision = self.truth.decision(columns.as_ref());
        Ok(self.dataset(columns, &decision, set, source))
    }

    fn dataset(&self, columns: Box<dyn Columns>, decision: &[f64], set: Set, source: &str) -> Dataset {
        dataset(columns, decision, source, (self.outcome, &mut self.setting.random(LABELS - set as u64)))
    }
}

/// Labels are made of the decision values, as the outcome says.
fn dataset(
    columns: Box<dyn Columns>,
    decision: &[f64],
    source: &str,
    (outcome, random): (Outcome, &mut ChaCha8Rng),
) -> Dataset {
    let labels = outcome.labels(decision, random);
    Dataset::new(columns, labels, Names::default(), source)
}

/// Which `relevant` of `all` features or groups (`things`) are relevant; every choice is equally likely.
fn choose(relevant: usize, all: usize, things: &str, random: &mut ChaCha8Rng) -> Result<BTreeSet<u64>> {
    if relevant == 0 || relevant > all {
        let reason = format!("must be within 1 and the number of {things}, {all}, not {relevant}");
        return Err(Error::parameter("relevant", reason));
    }
    // Floyd's sampling: no list of all is needed.
    let mut places = BTreeSet::new();
    for last in (all - relevant) as u64..all as u64 {
        let place = random.random_range(0..=last);
        places.insert(if places.contains(&place) { last } else { place });
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Labels;

    pub(super) fn values(data: &Dataset, position: usize) -> Vec<f64> {
        let mut values = vec![0.0; data.columns.rows()];
        data.columns.gather(&[position])[0].add_to(1.0, &mut values);
        values
    }

    pub(super) fn check_labels(made: &Made) {
        for data in [&made.train, &made.test] {
            let mut decision = vec![-made.truth.shift; data.columns.rows()];
            let inputs = made.truth.weights.iter().map(|&(id, weight)| (vec![id], weight));
            for (ids, weight) in inputs.chain(made.truth.products.iter().cloned()) {
                let factors = ids.iter().map(|&id| values(data, data.columns.position(id).unwrap()));
                let product = factors.reduce(|a, b| a.iter().zip(b).map(|(a, b)| a * b).collect()).unwrap();
                decision.iter_mut().zip(product).for_each(|(f, x)| *f += weight * x);
            }
            let expected = Labels::from_text(decision.iter().map(|f| if *f > 0.0 { "+1" } else { "-1" }));
            assert_eq!(data.labels, expected);
        }
    }

    pub(super) fn check_refused<T>(result: Result<T>, name: &str) {
        let error = result.err().expect("refused").to_string();
        assert!(error.starts_with(&format!("{name}: ")), "{error}");
    }

    #[test]
    fn kinds_share_their_columns() {
        for density in [1.0, 0.3] {
            let linear =
                Linear { rows: 50, test_rows: 40, features: 30, relevant: 3, density, ..Default::default() };
            let group =
                Grouped { rows: 50, test_rows: 40, features: 30, relevant: 3, density, ..Default::default() };
            let (linear, group) = (linear.generate().unwrap(), group.generate().unwrap());
            for j in 0..30 {
                assert_eq!(values(&linear.train, j), values(&group.train, j));
                assert_eq!(values(&linear.test, j), values(&group.test, j));
            }
        }
    }

    #[test]
    fn what_does_not_fit_in_memory_is_refused() {
        for density in [1.0, 0.5] {
            let error = Linear { features: usize::MAX / 2, density, ..Default::default() }.train().err();
            let error = error.expect("refused").to_string();
            assert!(error.ends_with("values do not fit in memory"), "{error}");
        }
    }
}
