//! Runs that leave instances out, several at a time.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::together::Together;
use super::{Folds, Split, Study, Subject};
use crate::context::{Context, no_threads};
use crate::data::Labels;
use crate::error::{Error, Result};
use crate::machine::Machine;
use crate::parallel;
use crate::space::spec::Makes;

/// Runs that read data together, at most: each holds the columns that it has chosen.
const AT_ONCE: usize = 8;

/// Values of data from which on reading takes longer than waiting for each other.
const WORTHWHILE: u64 = 1 << 20;

/// Runs of the machine, one for each split of the instances.
pub(super) struct Splits<'a> {
    pub(super) folds: &'a Folds,
    /// What users call a split.
    pub(super) called: &'static str,
    pub(super) machine: &'a Machine,
    pub(super) context: &'a Context,
    pub(super) subject: &'a dyn Subject,
    /// Is told how many of how many are done.
    pub(super) told: &'a (dyn Fn(usize, usize) + Sync),
}

/// What is made of a split, given its number, where its data come from, and the threads that it has.
pub(super) trait One<T>: Fn(usize, &Split, &dyn Subject, &Context) -> Result<T> + Sync {}

impl<T, F: Fn(usize, &Split, &dyn Subject, &Context) -> Result<T> + Sync> One<T> for F {}

impl Splits<'_> {
    /// What `one` makes of every split, in order. `None` if somebody ended it.
    ///
    /// Splits run side by side unless memory or time is bounded; those of the same large data read them together. Results do not
    /// depend on that.
    pub(super) fn each<T: Send>(&self, one: impl One<T>) -> Result<Option<Vec<T>>> {
        let context = self.context;
        let bounded = self.machine.has_time_limit() || context.memory_allowed().is_some();
        let shared = self.subject.same_for_all().filter(|study| !bounded && is_worthwhile(study));
        let splits: Vec<(usize, &Split)> = self.folds.splits().iter().enumerate().collect();
        let at_once = match shared {
            Some(_) => splits.len().div_ceil(splits.len().div_ceil(AT_ONCE)),
            None if bounded => 1,
            None => context.threads_in_use().max(1),
        };
        let done = AtomicUsize::new(0);
        let one = |k: usize, split: &Split, subject: &dyn Subject, context: &Context| {
            let found = one(k, split, subject, context).map_err(|error| self.of_split(k, error));
            (self.told)(done.fetch_add(1, Ordering::Relaxed) + 1, splits.len());
            found
        };
        let mut made = Vec::with_capacity(splits.len());
        for wave in splits.chunks(at_once.max(1)) {
            let found: Vec<Result<T>> = match shared {
                Some(study) => together(study, context, wave, &one)?,
                None => {
                    let one = |at: usize| one(wave[at].0, wave[at].1, self.subject, context);
                    context.run(|| parallel::map(wave.len(), one))?
                }
            };
            // Whatever a run came to that was told to end, it is not what was asked for.
            if context.is_interrupted() {
                return Ok(None);
            }
            made.extend(found.into_iter().collect::<Result<Vec<_>>>()?);
        }
        Ok(Some(made))
    }

    /// An error in a split, whose number from 1 helps to find it.
    fn of_split(&self, k: usize, error: Error) -> Error {
        match error {
            Error::Data(_) | Error::Value { .. } => {
                Error::Data(format!("{} {}: {error}", self.called, k + 1))
            }
            other => other,
        }
    }
}

/// Whether runs gain by reading the data of a study together: sums over all columns are what takes time, and columns can be read one
/// after the other. Shards answer each run by themselves.
fn is_worthwhile(study: &Study<'_>) -> bool {
    let columns = study.columns;
    study.shards.is_none()
        && study.spec.kind().makes == Makes::Inputs
        && columns.nonzeros() >= WORTHWHILE
        && columns.rows() > 0
        && columns.by_blocks().is_none()
}

/// What `one` makes of these splits, each on threads of its own, with one reading of the data for all.
fn together<T: Send>(
    study: &Study<'_>,
    context: &Context,
    wave: &[(usize, &Split)],
    one: &impl One<T>,
) -> Result<Vec<Result<T>>> {
    // Threads of their own, for those that runs are on wait.
    let reading = context.clone().threads(context.threads_in_use().max(1));
    let together = Together::new(study.columns, &reading, wave.len());
    let threads = together.threads_each();
    std::thread::scope(|scope| {
        let mut started = Vec::with_capacity(wave.len());
        for (place, &(k, split)) in wave.iter().enumerate() {
            let together = &together;
            let run = move || {
                let seat = together.begin(place);
                one(k, split, &study.with_columns(&seat), &context.clone().threads(threads))
            };
            match std::thread::Builder::new().spawn_scoped(scope, run) {
                Ok(run) => started.push(run),
                Err(error) => {
                    (place..wave.len()).for_each(|_| together.leave_out());
                    return Err(no_threads(&error));
                }
            }
        }
        let ended = |run: std::thread::ScopedJoinHandle<'_, Result<T>>| {
            run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        Ok(started.into_iter().map(ended).collect())
    })
}

/// Who is learned from, and the labels in which only they count.
pub(super) fn learned_from(split: &Split, labels: &Labels) -> (Vec<bool>, Labels) {
    let mut known = vec![false; labels.len()];
    split.train.iter().for_each(|&i| known[i] = true);
    let counted = labels.counting(|i| known[i]);
    (known, counted)
}
