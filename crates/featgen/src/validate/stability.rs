//! How often features are selected from random halves of the instances.

use std::collections::{BTreeMap, BTreeSet};

use super::side_by_side::{Splits, learned_from};
use super::{Costs, Folds, Split, Study, Subject};
use crate::context::Context;
use crate::data::Labels;
use crate::error::{Error, Result};
use crate::feature::Feature;
use crate::machine::Machine;
use crate::model::{Model, Stability, StableFeature, Term};

/// Points of a path at which frequencies are kept, at most.
const POINTS: usize = 50;

/// Selection from random halves of the instances, in pairs that have no instance in common.
///
/// ```
/// use featgen::space::SpaceSpec;
/// use featgen::validate::{Halves, Study};
/// use featgen::{Context, LinearSpace, Machine, synth};
/// # fn main() -> featgen::Result<()> {
/// let data = synth::Linear { rows: 200, features: 300, relevant: 5, ..Default::default() }.generate()?.train;
/// let study = Study {
///     columns: &*data.columns,
///     names: &data.names,
///     spec: SpaceSpec::named("linear")?,
///     scaling: None,
///     keep: Vec::new(),
///     offset: None,
///     shards: None,
/// };
/// let machine = Machine::new().features(5);
/// let mut model = machine.fit(&LinearSpace::new(&data), &data.labels)?;
/// let halves = Halves { machine, runs: 20, seed: 0, context: Context::new() };
/// assert!(halves.judge(&mut model, &study, &data.labels, &|_, _| ())?, "nobody interrupts it");
/// assert!(model.terms.iter().all(|term| term.frequency.is_some()));
/// # Ok(())
/// # }
/// ```
pub struct Halves {
    /// What is repeated.
    pub machine: Machine,
    /// Halves to select from: an even number.
    pub runs: usize,
    /// The same seed draws the same halves.
    pub seed: u64,
    /// Threads, memory, and whether to end.
    pub context: Context,
}

/// What one run selected, by what tells features apart.
struct Selected {
    features: BTreeMap<String, Entered>,
    count: usize,
}

/// A feature, and the numbers of features along the path at which it came or went.
struct Entered {
    name: String,
    feature: Option<Feature>,
    changes: Vec<usize>,
}

impl Halves {
    /// An error if there cannot be so many.
    pub fn check(runs: usize) -> Result<()> {
        match runs > 0 && runs.is_multiple_of(2) {
            true => Ok(()),
            false => {
                let reason = format!("halves come in pairs: must be an even number, 2 or more, not {runs}");
                Err(Error::parameter("stability", reason))
            }
        }
    }

    /// Notes in the model how often each of its features is selected; not if somebody ended that, which the answer says. `subject` makes
    /// the data of each half, `told` is told how many of how many halves are done.
    pub fn judge(
        &self,
        model: &mut Model,
        subject: &dyn Subject,
        labels: &Labels,
        told: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<bool> {
        Self::check(self.runs)?;
        let output = self.machine.loss_in_use().output();
        let halves = Folds::halves(labels, output, self.runs / 2, self.seed)?;
        let (folds, machine, context) = (&halves, &self.machine, &self.context);
        let splits = Splits { folds, called: "half", machine, context, subject, told };
        let one = |_: usize, split: &Split, subject: &dyn Subject, context: &Context| {
            self.half(split, subject, context, labels)
        };
        let Some(selected) = splits.each(one)? else { return Ok(false) };
        note(model, &selected);
        if let Some(parameters) = &mut model.parameters {
            (parameters.stability, parameters.seed) = (Some(self.runs), Some(self.seed));
        }
        Ok(true)
    }

    /// What is selected from one half.
    fn half(
        &self,
        split: &Split,
        subject: &dyn Subject,
        context: &Context,
        labels: &Labels,
    ) -> Result<Selected> {
        let (known, counted) = learned_from(split, labels);
        let mut selected = None;
        subject.known_from(&known, &mut |study: &Study<'_>| {
            study.fits(&self.machine, &Costs::One, context, &counted, &mut |model| {
                selected = Some(Selected::from(&model));
                Ok(())
            })
        })?;
        Ok(selected.expect("one cost is one model"))
    }
}

impl From<&Model> for Selected {
    fn from(model: &Model) -> Self {
        let own = (0..model.terms.len()).filter(|&t| !model.terms[t].weight.is_zero());
        let mut points: BTreeMap<usize, BTreeSet<usize>> =
            model.rounds.iter().map(|round| (round.selected, round.weighty().collect())).collect();
        points.insert(model.count(), own.collect());
        let mut features: BTreeMap<String, Entered> = BTreeMap::new();
        let mut before: BTreeMap<String, &Term> = BTreeMap::new();
        for (&count, terms) in &points {
            let terms = terms.iter().map(|&t| &model.terms[t]);
            let here: BTreeMap<String, &Term> = terms.map(|term| (model.key_of(term), term)).collect();
            let came = here.iter().filter(|(key, _)| !before.contains_key(*key));
            let went = before.iter().filter(|(key, _)| !here.contains_key(*key));
            for (key, term) in came.chain(went) {
                let entered = features.entry(key.clone()).or_insert_with(|| {
                    let (name, feature) = model.shown(term);
                    Entered { name, feature, changes: Vec::new() }
                });
                entered.changes.push(count);
            }
            before = here;
        }
        Self { features, count: model.count() }
    }
}

/// Whether a feature that came and went at these numbers of features is there at `count`.
fn is_there(changes: &[usize], count: usize) -> bool {
    changes.partition_point(|&change| change <= count) % 2 == 1
}

/// The numbers of features up to the last at which frequencies are kept.
fn points(last: usize) -> Vec<usize> {
    let point = |k: usize| (k * last).div_ceil(POINTS.min(last));
    (1..=POINTS.min(last)).map(point).collect()
}

/// Notes in a model what was selected in all runs.
fn note(model: &mut Model, selected: &[Selected]) {
    let runs = selected.len();
    let counts = points(selected.iter().map(|run| run.count).max().unwrap_or(0));
    let mut times: BTreeMap<&str, (&Entered, Vec<u32>)> = BTreeMap::new();
    for run in selected {
        for (key, entered) in &run.features {
            let (_, times) = times.entry(key).or_insert_with(|| (entered, vec![0; counts.len()]));
            let there = counts.iter().map(|&count| u32::from(is_there(&entered.changes, count)));
            times.iter_mut().zip(there).for_each(|(times, there)| *times += there);
        }
    }
    let part = |times: u32| f64::from(times) / runs as f64;
    let last = |times: &[u32]| part(times.last().copied().unwrap_or(0));
    let frequency = times.iter().map(|(key, (_, times))| ((*key).to_owned(), last(times))).collect();
    let listed = times.values().filter(|(_, times)| last(times) >= Stability::LISTED);
    let mut features: Vec<StableFeature> = listed
        .map(|(entered, times)| StableFeature {
            name: entered.name.clone(),
            feature: entered.feature.clone(),
            frequency: last(times),
            path: times.iter().map(|&times| part(times)).collect(),
        })
        .collect();
    features.sort_by(|a, b| b.frequency.total_cmp(&a.frequency));
    let q = selected.iter().map(|run| run.count).sum::<usize>() as f64 / runs as f64;
    let (p, threshold) = (model.training.candidates as f64, Stability::THRESHOLD);
    let expected_false = Stability::bound(q, p, threshold);
    let found = Stability { runs, selected: q, threshold, expected_false, counts, features };
    model.set_stability(found, &frequency);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_end_with_the_last() {
        assert_eq!(points(0), Vec::<usize>::new());
        assert_eq!(points(3), [1, 2, 3]);
        let many = points(1234);
        assert_eq!((many.len(), many[0], many[49]), (50, 25, 1234));
        assert!(many.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn what_came_and_went() {
        let there = |count| is_there(&[2, 5, 7], count);
        assert_eq!([1, 2, 4, 5, 6, 7, 9].map(there), [false, true, true, false, false, true, true]);
    }
}
