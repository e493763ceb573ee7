//! Features that are relevant in groups.

use std::io::Write;
use std::ops::Range;
use std::path::Path;

use rand::RngExt;
use rand_distr::StandardNormal;

use super::{Made, Outcome, Problem, Set, Setting, TRUTH, Truth, choose};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::files::write_whole;

/// The paper's synthetic problem with groups: values from N(0, 1), neighbouring features in groups, a few relevant
/// groups whose features all have weights from N(0, 1), and the label of x is the sign of `x . w - shift`.
///
/// The columns are those of [`Linear`](super::Linear) with the same seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Grouped {
    /// Training instances.
    pub rows: usize,
    /// Test instances; may be 0.
    pub test_rows: usize,
    /// Features.
    pub features: usize,
    /// Features in a group; the last group is smaller where this does not divide the number of features.
    pub group_size: usize,
    /// Groups whose features have weights.
    pub relevant: usize,
    /// The part of all values that are not zero; with 1 the storage is dense.
    pub density: f64,
    /// The threshold b.
    pub shift: f64,
    /// What makes the random numbers differ.
    pub seed: u64,
    /// What labels are.
    pub outcome: Outcome,
}

impl Default for Grouped {
    fn default() -> Self {
        Self {
            rows: 4096,
            test_rows: 2000,
            features: 400_000,
            group_size: 10,
            relevant: 100,
            density: 1.0,
            shift: 0.0,
            seed: 0,
            outcome: Outcome::Signs,
        }
    }
}

impl Grouped {
    /// Makes both sets. Dense ones take four bytes per value and hardly more.
    pub fn generate(&self) -> Result<Made> {
        self.problem()?.generate()
    }

    /// Makes the training set alone: both need not be in memory together.
    pub fn train(&self) -> Result<Dataset> {
        self.problem()?.train()
    }

    /// Makes the test set alone.
    pub fn test(&self) -> Result<Dataset> {
        self.problem()?.test()
    }

    /// A set whose columns are made as they are asked for, to be written to a store: it need not fit in memory.
    pub fn on_demand(&self, set: Set) -> Result<Dataset> {
        self.problem()?.on_demand(set)
    }

    /// What makes the labels.
    pub fn truth(&self) -> Result<Truth> {
        Ok(self.problem()?.truth)
    }

    /// Writes a line `gN: FIRST-LAST`, or `gN: ONLY` for a single feature, for every group; groups and features count
    /// from 1.
    pub fn write_groups(&self, path: impl AsRef<Path>) -> Result<()> {
        self.check_groups()?;
        write_whole(path.as_ref(), |out| {
            (0..self.groups()).try_for_each(|group| {
                let members = self.members(group as u64);
                let (number, first, last) = (group + 1, members.start + 1, members.end);
                if first == last {
                    writeln!(out, "g{number}: {first}")
                } else {
                    writeln!(out, "g{number}: {first}-{last}")
                }
            })
        })
    }

    fn check_groups(&self) -> Result<()> {
        let &Self { group_size, features, .. } = self;
        if group_size == 0 || group_size > features {
            let reason = format!("must be within 1 and the number of features, {features}, not {group_size}");
            return Err(Error::parameter("group-size", reason));
        }
        Ok(())
    }

    fn groups(&self) -> usize {
        self.features.div_ceil(self.group_size)
    }

    /// The ids of a group's features.
    fn members(&self, group: u64) -> Range<u64> {
        let (size, features) = (self.group_size as u64, self.features as u64);
        let first = group * size;
        first..first.saturating_add(size).min(features)
    }

    fn problem(&self) -> Result<Problem> {
        let &Self { rows, test_rows, features, group_size, relevant, density, shift, seed, outcome } = self;
        let setting = Setting { rows, test_rows, features, density, shift, seed }.checked()?;
        self.check_groups()?;
        let mut random = setting.random(TRUTH);
        let chosen = choose(relevant, self.groups(), "groups", &mut random)?;
        let ids = chosen.into_iter().flat_map(|group| self.members(group));
        let weights = ids.map(|id| (id, random.sample(StandardNormal))).collect();
        let truth = Truth { weights, shift, group_size: Some(group_size as u64), ..Truth::default() };
        Ok(Problem { setting, truth, outcome })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_labels, check_refused, values};
    use super::*;

    /// Groups of four; the last of the 16 holds two features.
    fn small() -> Grouped {
        Grouped { rows: 500, test_rows: 300, features: 62, group_size: 4, relevant: 5, ..Default::default() }
    }

    fn written(write: impl Fn(&Path) -> Result<()>) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        write(file.path()).unwrap();
        std::fs::read_to_string(file.path()).unwrap()
    }

    #[test]
    fn labels_follow_from_the_truth() {
        for density in [1.0, 0.3] {
            let made = Grouped { density, shift: 0.5, ..small() }.generate().unwrap();
            assert_eq!(made.truth.shift, 0.5);
            check_labels(&made);
        }
    }

    #[test]
    fn relevant_groups_are_whole() {
        for seed in 0..20 {
            let truth = Grouped { seed, ..small() }.truth().unwrap();
            let groups = truth.groups();
            assert_eq!(groups.len(), 5);
            let relevant = |id| groups.contains(&(id / 4));
            assert!((0..62).all(|id| truth.weight(id).is_some() == relevant(id)), "{groups:?}");
            assert!(truth.weights.iter().all(|&(id, _)| id < 62));
        }
    }

    #[test]
    fn weights_are_standard_normal() {
        let truth = Grouped { features: 40_000, relevant: 4000, group_size: 10, ..small() }.truth().unwrap();
        let n = truth.weights.len() as f64;
        assert_eq!(n, 40_000.0);
        let mean = truth.weights.iter().map(|(_, w)| w).sum::<f64>() / n;
        let variance = truth.weights.iter().map(|(_, w)| w * w).sum::<f64>() / n;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }

    #[test]
    fn one_set_at_a_time_is_the_same() {
        let made = small().generate().unwrap();
        let (train, test) = (small().train().unwrap(), small().test().unwrap());
        assert_eq!(small().truth().unwrap(), made.truth);
        assert_eq!((&train.labels, &test.labels), (&made.train.labels, &made.test.labels));
        assert_eq!(values(&train, 61), values(&made.train, 61));
        assert_eq!(values(&test, 61), values(&made.test, 61));
    }

    #[test]
    fn a_seed_means_the_same_numbers_for_ever() {
        let made = small().generate().unwrap();
        let start = [-1.1491998434066772, -0.24964013695716858, -0.603470504283905];
        assert_eq!(values(&made.train, 3)[..3], start);
        assert_eq!(made.truth.groups(), [0, 1, 8, 11, 15]);
        assert_eq!(made.truth.weights[..2], [(0, 1.0721019753815775), (1, 0.6672749048691861)]);
    }

    #[test]
    fn files_count_from_one() {
        let groups = written(|path| Grouped { features: 7, group_size: 3, ..small() }.write_groups(path));
        assert_eq!(groups, "g1: 1-3\ng2: 4-6\ng3: 7\n");
        let weights = vec![(3, 0.5), (6, -2.0)];
        let truth = Truth { weights, shift: 1.5, group_size: Some(3), ..Truth::default() };
        let truth = written(|path| truth.write(path));
        let lines: Vec<&str> = truth.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(lines, ["4 0.5 2", "7 -2 3"]);
        assert!(truth.contains("# shift 1.5\n"), "{truth}");
    }

    #[test]
    fn parameters_are_checked() {
        let refused = |group: Grouped, name: &str| check_refused(group.generate(), name);
        refused(Grouped { rows: 1, ..small() }, "rows");
        refused(Grouped { test_rows: 1 << 33, ..small() }, "test-rows");
        refused(Grouped { features: 0, ..small() }, "features");
        refused(Grouped { group_size: 0, ..small() }, "group-size");
        refused(Grouped { group_size: 63, ..small() }, "group-size");
        refused(Grouped { relevant: 0, ..small() }, "relevant");
        refused(Grouped { relevant: 17, ..small() }, "relevant");
        refused(Grouped { density: 0.0, ..small() }, "density");
        refused(Grouped { shift: f64::NAN, ..small() }, "shift");
        refused(Grouped { shift: 1e6, ..small() }, "shift");
        check_refused(Grouped { group_size: 0, ..small() }.write_groups("unused"), "group-size");
    }
}
