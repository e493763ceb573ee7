//! Runs that leave instances out, several at a time.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::{Folds, Split};
use crate::context::Context;
use crate::data::Labels;
use crate::error::{Error, Result};
use crate::machine::Machine;

/// What `one` makes of every split, in order; it is given the number of the split, counted from 0. `None` if somebody ended it.
/// `told` is told how many of how many are done.
///
/// Splits run side by side unless memory or time is bounded; results do not depend on that.
pub(super) fn each_split<T: Send>(
    folds: &Folds,
    machine: &Machine,
    context: &Context,
    told: &(dyn Fn(usize, usize) + Sync),
    one: impl Fn(usize, &Split) -> Result<T> + Sync,
) -> Result<Option<Vec<T>>> {
    let bounded = machine.has_time_limit() || context.memory_allowed().is_some();
    let together = if bounded { 1 } else { context.threads_in_use().max(1) };
    let done = AtomicUsize::new(0);
    let splits: Vec<(usize, &Split)> = folds.splits().iter().enumerate().collect();
    let mut made = Vec::with_capacity(splits.len());
    for wave in splits.chunks(together) {
        let one = |&(k, split): &(usize, &Split)| {
            let found = one(k, split).map_err(|error| of_fold(k, error));
            told(done.fetch_add(1, Ordering::Relaxed) + 1, splits.len());
            found
        };
        let found: Vec<Result<_>> = context.run(|| wave.par_iter().with_max_len(1).map(one).collect())?;
        // Whatever a run came to that was told to end, it is not what was asked for.
        if context.is_interrupted() {
            return Ok(None);
        }
        made.extend(found.into_iter().collect::<Result<Vec<_>>>()?);
    }
    Ok(Some(made))
}

/// Who is learned from, and the labels in which only they count.
pub(super) fn learned_from(split: &Split, labels: &Labels) -> (Vec<bool>, Labels) {
    let mut known = vec![false; labels.len()];
    split.train.iter().for_each(|&i| known[i] = true);
    let counted = labels.counting(|i| known[i]);
    (known, counted)
}

/// An error in a fold, whose number from 1 helps to find it.
fn of_fold(k: usize, error: Error) -> Error {
    match error {
        Error::Data(reason) => Error::Data(format!("fold {}: {reason}", k + 1)),
        other => other,
    }
}
