//! How much may come out of how little: a few hundred bytes, compressed over and over, can stand for any amount of text.
//!
//! Limits follow the bytes that were really read. Whoever sends a large file may have much memory used for it; whoever sends
//! a small one may not.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What decompression may yield: so many bytes in any case, and so many for each byte that was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    always: u64,
    times: u64,
}

/// All of a source with data. Twice what gzip can do at best (1032 times): only zeros and repetitions come close.
pub(super) const DATA: Limit = Limit { always: 64 << 20, times: 2048 };

/// All of a source with names or groups, which are hardly alike.
pub(super) const LISTS: Limit = Limit { always: 8 << 20, times: 32 };

/// One line or record, which must fit into memory several times over. Half a million cells of twenty characters are 10 MB.
pub(super) const LINE: Limit = Limit { always: 32 << 20, times: 16 };

/// A line longer than this is taken for a file that is not text.
const LONGEST_LINE: u64 = 1 << 30;

impl Limit {
    fn most(self, stored: u64) -> u64 {
        self.always.max(stored.saturating_mul(self.times))
    }
}

/// Bytes as they are stored, counted as they are read.
#[derive(Debug, Clone, Default)]
pub(super) struct Stored(Arc<AtomicU64>);

impl Stored {
    /// The same bytes, counted here.
    pub(super) fn counted<R: Read>(&self, bytes: R) -> Counted<R> {
        Counted { bytes, stored: self.clone() }
    }

    /// What a decompressor yields, up to its limit.
    pub(super) fn limited<R: Read>(&self, bytes: R, limit: Limit) -> Limited<R> {
        Limited { bytes, limit, yielded: 0, stored: self.clone() }
    }

    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// The longest line that is read as yet. It grows as more is read.
    pub(super) fn longest_line(&self) -> usize {
        LINE.most(self.count()).min(LONGEST_LINE) as usize
    }

    /// What to say of a line that is longer.
    pub(super) fn too_long(&self) -> String {
        let longest = self.longest_line() as u64;
        let size = longest >> 20;
        match longest == LONGEST_LINE {
            true => format!("a line of more than {size} MiB: this is not text"),
            false => format!(
                "{} compressed bytes make a line of more than {size} MiB: if that is meant, decompress them first",
                self.count()
            ),
        }
    }
}

pub(super) struct Counted<R> {
    bytes: R,
    stored: Stored,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(out)?;
        self.stored.0.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

pub(super) struct Limited<R> {
    bytes: R,
    limit: Limit,
    yielded: u64,
    stored: Stored,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(out)?;
        self.yielded += read as u64;
        if self.yielded <= self.limit.always || self.yielded <= self.limit.most(self.stored.count()) {
            return Ok(read);
        }
        let (stored, most) = (self.stored.count(), self.limit.most(self.stored.count()) >> 20);
        Err(Refused::error(format!(
            "{stored} compressed bytes make more than {most} MiB: if that is meant, decompress them first"
        )))
    }
}

/// Input that is well-formed, as far as is known, but too much. Travels as an error of the system's, where only those fit.
#[derive(Debug)]
pub(super) struct Refused(String);

impl Refused {
    pub(super) fn error(reason: String) -> io::Error {
        io::Error::other(Self(reason))
    }

    /// Why, if that is what an error is about.
    pub(super) fn reason(error: &io::Error) -> Option<&str> {
        error.get_ref()?.downcast_ref::<Self>().map(|refused| refused.0.as_str())
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}
