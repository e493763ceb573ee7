//! How much a search may do before it is given up: a bound on what bad luck, or bad data, can cost.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::context::Context;
use crate::error::{Error, Reason, Result};

/// Values that one worst case may read before it ends with an error, unless told otherwise: some minutes to an hour.
///
/// What is read does not depend on threads, so a search is given up on any number of them or on none.
pub const MOST_WORK: u64 = 1 << 38;

/// Values that a product of matrices goes through in the time in which one is read anywhere else.
pub(super) const DENSE_SPEED: u64 = 64;

/// Work is reported when there is this much.
pub(super) const WORTH_REPORTING: u64 = 1 << 16;

/// An error if someone wants the search to end.
pub(super) fn go_on(context: &Context) -> Result<()> {
    match context.is_interrupted() {
        true => Err(Error::Data("the search for features was interrupted".into())),
        false => Ok(()),
    }
}

/// The work of one worst case, shared by its threads.
pub(super) struct Work<'a> {
    context: Option<&'a Context>,
    most: u64,
    done: AtomicU64,
    /// What a user can do about a search that is too long.
    advice: Reason,
}

impl<'a> Work<'a> {
    pub(super) fn new(most: u64, context: Option<&'a Context>, advice: impl Into<Reason>) -> Self {
        let advice = advice.into();
        Self { context, most, done: AtomicU64::new(0), advice }
    }

    /// An error if someone wants the search to end.
    pub(super) fn go_on(&self) -> Result<()> {
        self.context.map_or(Ok(()), go_on)
    }

    /// Values that were read.
    pub(super) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Values that may still be read.
    pub(super) fn left(&self) -> u64 {
        self.most.saturating_sub(self.done())
    }

    /// Notes that so many values were read. An error if that makes too many, or if someone wants the search to end.
    pub(super) fn add(&self, values: u64) -> Result<()> {
        self.go_on()?;
        let done = self.done.fetch_add(values, Ordering::Relaxed).saturating_add(values);
        if let Some(context) = self.context {
            context.set_searched(done);
        }
        if done > self.most {
            let most = self.most;
            let reason =
                format!("the search for the best features was given up after reading {most} values; ");
            return Err(Error::GivenUp(Reason::from(reason).and(self.advice.clone())));
        }
        Ok(())
    }
}

impl Drop for Work<'_> {
    /// The search has ended: nothing is being read.
    fn drop(&mut self) {
        if let Some(context) = self.context {
            context.set_searched(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn a_search_can_be_watched_and_ended() {
        let flag = Arc::new(AtomicBool::new(false));
        let context = Context::new().interrupt(Arc::clone(&flag));
        let work = Work::new(100, Some(&context), "read less");
        assert!(work.add(60).is_ok() && work.add(40).is_ok());
        assert_eq!(context.searched(), 100);
        assert!(work.add(1).unwrap_err().to_string().ends_with("after reading 100 values; read less"));
        flag.store(true, Ordering::Relaxed);
        assert!(work.add(0).unwrap_err().to_string().contains("interrupted"));
        drop(work);
        assert_eq!(context.searched(), 0);
    }
}
