//! How much a search may do before it is given up: a bound on what bad luck, or bad data, can cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Values that one worst case may read before it ends with an error, unless told otherwise: some minutes to an hour.
///
/// What is read does not depend on threads, so a search is given up on any number of them or on none.
pub const MOST_WORK: u64 = 1 << 38;

/// The limits of a search, as a space keeps them.
#[derive(Clone)]
pub(super) struct Limits {
    pub(super) work: u64,
    pub(super) interrupt: Arc<AtomicBool>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { work: MOST_WORK, interrupt: Arc::default() }
    }
}

/// The work of one worst case, shared by its threads.
pub(super) struct Work<'a> {
    limits: &'a Limits,
    done: AtomicU64,
    /// What a user can do about a search that is too long.
    advice: &'static str,
}

impl<'a> Work<'a> {
    pub(super) fn new(limits: &'a Limits, advice: &'static str) -> Self {
        Self { limits, done: AtomicU64::new(0), advice }
    }

    /// Notes that so many values were read. An error if that makes too many, or if someone wants the search to end.
    pub(super) fn add(&self, values: u64) -> Result<()> {
        let done = self.done.fetch_add(values, Ordering::Relaxed).saturating_add(values);
        if self.limits.interrupt.load(Ordering::Relaxed) {
            return Err(Error::Data("the search for features was interrupted".into()));
        }
        if done > self.limits.work {
            let (most, advice) = (self.limits.work, self.advice);
            return Err(Error::Data(format!(
                "the search for the best features was given up after reading {most} values; {advice}"
            )));
        }
        Ok(())
    }
}
