//! Data sets made from a seed: the same on every machine and for any number of threads.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Open01, OpenClosed01, StandardNormal};
use rayon::prelude::*;

use crate::data::{Columns, Dataset, Dense, Labels, Layout, Names, Sparse, Values};
use crate::error::{Error, Result};
use crate::files::write_whole;

/// The paper's synthetic problem (section 6.1): values from N(0, 1), a few relevant features with weights from
/// U(0, 1), and the label of x is the sign of `x . w - shift`.
///
/// Every column is a random stream of its own, so columns are made in parallel, and a set with more features begins
/// with the same columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Linear {
    /// Training instances.
    pub rows: usize,
    /// Test instances; may be 0.
    pub test_rows: usize,
    /// Features.
    pub features: usize,
    /// Features with a weight.
    pub relevant: usize,
    /// The part of all values that are not zero; with 1 the storage is dense.
    pub density: f64,
    /// The threshold b.
    pub shift: f64,
    /// What makes the random numbers differ.
    pub seed: u64,
}

impl Default for Linear {
    fn default() -> Self {
        Self { rows: 4096, test_rows: 4096, features: 4096, relevant: 300, density: 1.0, shift: 0.0, seed: 0 }
    }
}

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
#[derive(Debug, Clone, PartialEq)]
pub struct Truth {
    /// Id and weight of every relevant feature, by id.
    pub weights: Vec<(u64, f64)>,
    /// The threshold b.
    pub shift: f64,
}

impl Truth {
    /// The weight of a feature; `None` if it is irrelevant.
    pub fn weight(&self, id: u64) -> Option<f64> {
        self.weights.binary_search_by_key(&id, |&(id, _)| id).ok().map(|k| self.weights[k].1)
    }

    /// Writes a line `FEATURE WEIGHT` for every relevant feature, counted from 1, after comments (`#`) with the shift.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        write_whole(path.as_ref(), |out| {
            writeln!(out, "# relevant features (counted from 1) and their weights")?;
            writeln!(out, "# shift {}", self.shift)?;
            self.weights.iter().try_for_each(|(id, weight)| writeln!(out, "{} {weight}", id + 1))
        })
    }
}

/// The two sets draw from different streams.
#[derive(Clone, Copy)]
enum Set {
    Train = 0,
    Test = 1,
}

/// The stream of the weights; columns take theirs from 0 up.
const TRUTH: u64 = u64::MAX;

impl Linear {
    /// Makes the sets. Dense ones take four bytes per value and hardly more.
    pub fn generate(&self) -> Result<Made> {
        self.check()?;
        let pool = rayon::ThreadPoolBuilder::new().build();
        let pool = pool.map_err(|e| Error::Data(format!("no threads can be started: {e}")))?;
        let truth = self.truth();
        let make = |set, rows| pool.install(|| self.set(set, rows, &truth));
        let train = make(Set::Train, self.rows)?;
        if let [only] = train.labels.classes() {
            let reason = format!(
                "all {} training instances fall into class {only}: a shift nearer to 0 or more rows are needed",
                self.rows
            );
            return Err(Error::parameter("shift", reason));
        }
        let test = make(Set::Test, self.test_rows)?;
        Ok(Made { train, test, truth })
    }

    fn check(&self) -> Result<()> {
        let wrong = |name, reason: String| Err(Error::parameter(name, reason));
        for (name, rows) in [("rows", self.rows), ("test-rows", self.test_rows)] {
            if u32::try_from(rows).is_err() {
                return wrong(name, format!("at most {} are supported, not {rows}", u32::MAX));
            }
        }
        if self.rows < 2 {
            return wrong("rows", format!("two classes take at least 2 instances, not {}", self.rows));
        }
        if self.features == 0 {
            return wrong("features", "must be at least 1".into());
        }
        if self.relevant == 0 || self.relevant > self.features {
            let (r, m) = (self.relevant, self.features);
            return wrong("relevant", format!("must be within 1 and the number of features, {m}, not {r}"));
        }
        if !(self.density > 0.0 && self.density <= 1.0) {
            return wrong("density", format!("must be above 0 and at most 1, not {}", self.density));
        }
        if !self.shift.is_finite() {
            return wrong("shift", format!("must be a finite number, not {}", self.shift));
        }
        Ok(())
    }

    fn random(&self, stream: u64) -> ChaCha8Rng {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(stream);
        random
    }

    fn column_random(&self, set: Set, column: usize) -> ChaCha8Rng {
        self.random(2 * column as u64 + set as u64)
    }

    fn truth(&self) -> Truth {
        let mut random = self.random(TRUTH);
        // Floyd's sampling: every choice of places is equally likely, and no list of all features is needed.
        let mut places = BTreeSet::new();
        for last in (self.features - self.relevant) as u64..self.features as u64 {
            let place = random.random_range(0..=last);
            places.insert(if places.contains(&place) { last } else { place });
        }
        let weights = places.into_iter().map(|id| (id, random.sample(Open01))).collect();
        Truth { weights, shift: self.shift }
    }

    fn set(&self, set: Set, rows: usize, truth: &Truth) -> Result<Dataset> {
        let columns: Box<dyn Columns> = if self.density < 1.0 {
            Box::new(self.sparse(set, rows)?)
        } else {
            Box::new(self.dense(set, rows)?)
        };
        let mut decision = vec![-truth.shift; rows];
        for &(id, weight) in &truth.weights {
            if let Some(position) = columns.position(id) {
                columns.gather(&[position])[0].add_to(weight, &mut decision);
            }
        }
        let labels = Labels::from_text(decision.iter().map(|&f| if f > 0.0 { "+1" } else { "-1" }));
        let source = match set {
            Set::Train => "synthetic training set",
            Set::Test => "synthetic test set",
        };
        Ok(Dataset { columns, labels, names: Names::default(), source: source.into() })
    }

    fn dense(&self, set: Set, rows: usize) -> Result<Dense<f32, Vec<f32>>> {
        let too_large = || Error::Data(format!("{rows} x {} values do not fit in memory", self.features));
        let len = rows.checked_mul(self.features).ok_or_else(too_large)?;
        // Asked for once on trial: an allocation that fails later would end the program.
        Vec::<f32>::new().try_reserve_exact(len).map_err(|_| too_large())?;
        let mut values = vec![0f32; len];
        values.par_chunks_mut(rows.max(1)).enumerate().for_each(|(column, values)| {
            let mut random = self.column_random(set, column);
            values.iter_mut().for_each(|x| *x = random.sample(StandardNormal));
        });
        Dense::new(values, rows, self.features, Layout::ColumnMajor)
    }

    fn sparse(&self, set: Set, rows: usize) -> Result<Sparse> {
        let columns: Vec<(Vec<u32>, Vec<f32>)> =
            (0..self.features).into_par_iter().map(|column| self.sparse_column(set, rows, column)).collect();
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

    /// Rows are kept independently with probability `density`, so the distances between kept rows are geometric: one
    /// random number per kept value instead of one per row.
    fn sparse_column(&self, set: Set, rows: usize, column: usize) -> (Vec<u32>, Vec<f32>) {
        let mut random = self.column_random(set, column);
        let log_skip = (-self.density).ln_1p();
        let mut skip = || {
            let u: f64 = random.sample(OpenClosed01);
            (u.ln() / log_skip) as u64
        };
        let mut kept = Vec::new();
        let mut row = skip();
        while row < rows as u64 {
            kept.push(row as u32);
            row = row.saturating_add(1).saturating_add(skip());
        }
        let values = kept.iter().map(|_| random.sample(StandardNormal)).collect();
        (kept, values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Linear {
        Linear { rows: 500, test_rows: 300, features: 60, relevant: 7, ..Default::default() }
    }

    fn values(data: &Dataset, position: usize) -> Vec<f64> {
        let mut values = vec![0.0; data.columns.rows()];
        data.columns.gather(&[position])[0].add_to(1.0, &mut values);
        values
    }

    #[test]
    fn labels_follow_from_the_truth() {
        for density in [1.0, 0.3] {
            let made = Linear { density, shift: 0.5, ..small() }.generate().unwrap();
            assert_eq!(made.truth.weights.len(), 7);
            assert!(made.truth.weights.iter().all(|&(id, w)| id < 60 && w > 0.0 && w < 1.0));
            for data in [&made.train, &made.test] {
                let mut decision = vec![-0.5; data.columns.rows()];
                for &(id, weight) in &made.truth.weights {
                    let column = values(data, data.columns.position(id).unwrap());
                    decision.iter_mut().zip(column).for_each(|(f, x)| *f += weight * x);
                }
                let expected = Labels::from_text(decision.iter().map(|f| if *f > 0.0 { "+1" } else { "-1" }));
                assert_eq!(data.labels, expected);
            }
        }
    }

    #[test]
    fn values_are_standard_normal_and_as_dense_as_asked() {
        for density in [1.0, 0.2] {
            let made = Linear { rows: 4000, test_rows: 0, density, ..small() }.generate().unwrap();
            assert!(made.test.labels.is_empty());
            let all: Vec<f64> = (0..60).flat_map(|j| values(&made.train, j)).filter(|&x| x != 0.0).collect();
            let n = all.len() as f64;
            assert!((n / 240_000.0 - density).abs() < 0.01, "{n}");
            let mean = all.iter().sum::<f64>() / n;
            let variance = all.iter().map(|x| x * x).sum::<f64>() / n;
            assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
        }
    }

    #[test]
    fn seed_set_and_column_decide_and_nothing_else() {
        let first = small().generate().unwrap();
        let wider = Linear { features: 90, ..small() }.generate().unwrap();
        let other = Linear { seed: 1, ..small() }.generate().unwrap();
        assert_eq!(values(&first.train, 59), values(&wider.train, 59));
        assert_ne!(values(&first.train, 0), values(&other.train, 0));
        assert_ne!(values(&first.train, 0)[..300], values(&first.test, 0));
        assert_ne!(values(&first.train, 0), values(&first.train, 1));
        assert_ne!(first.truth, other.truth);
    }

    #[test]
    fn a_seed_means_the_same_numbers_for_ever() {
        let made = small().generate().unwrap();
        let start = [-1.1491998434066772, -0.24964013695716858, -0.603470504283905];
        assert_eq!(values(&made.train, 3)[..3], start);
    }

    #[test]
    fn parameters_are_checked() {
        let refused = |linear: Linear, name: &str| {
            let error = linear.generate().err().expect("refused").to_string();
            assert!(error.starts_with(&format!("{name}: ")), "{error}");
        };
        refused(Linear { rows: 0, ..small() }, "rows");
        refused(Linear { rows: 1, ..small() }, "rows");
        refused(Linear { rows: 1 << 33, ..small() }, "rows");
        refused(Linear { features: 0, ..small() }, "features");
        refused(Linear { relevant: 61, ..small() }, "relevant");
        refused(Linear { relevant: 0, ..small() }, "relevant");
        refused(Linear { density: 0.0, ..small() }, "density");
        refused(Linear { density: 1.1, ..small() }, "density");
        refused(Linear { density: f64::NAN, ..small() }, "density");
        refused(Linear { shift: f64::INFINITY, ..small() }, "shift");
        refused(Linear { shift: 1e6, ..small() }, "shift");
    }
}
