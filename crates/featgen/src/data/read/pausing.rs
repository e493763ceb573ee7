//! Input that is made while it is read, by a program at the other end of a pipe or by hand: it says when it pauses.

use std::fs::File;
use std::io::{self, Read};

/// How long nothing must come for it to be a pause. Long against what moving some bytes takes, so that nothing is handed on in
/// small pieces while more is coming; short against what a person notices, or a program that waits for an answer.
#[cfg(unix)]
const PAUSE: rustix::event::Timespec = rustix::event::Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// A stream that says of every pause once, by an error of the kind [`io::ErrorKind::WouldBlock`]: whoever reads can hand on what
/// is there. The next read waits. Decompressors pass the error on and can be asked again.
pub(super) struct Pausing {
    file: File,
    said: bool,
}

impl Pausing {
    pub(super) fn new(file: File) -> Self {
        Self { file, said: false }
    }

    /// Whether there is something to read, or the end. Waits for it if the pause was said already, else only for a moment.
    #[cfg(unix)]
    fn is_ready(&self) -> io::Result<bool> {
        use rustix::event::{PollFd, PollFlags, poll};
        let mut files = [PollFd::new(&self.file, PollFlags::IN)];
        Ok(poll(&mut files, (!self.said).then_some(&PAUSE))? > 0)
    }

    #[cfg(not(unix))]
    fn is_ready(&self) -> io::Result<bool> {
        Ok(true)
    }
}

impl Read for Pausing {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if !self.is_ready()? {
            self.said = true;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.said = false;
        self.file.read(out)
    }
}

/// Standard input, without a buffer of its own.
#[cfg(unix)]
pub(super) fn standard_input() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}

#[cfg(windows)]
pub(super) fn standard_input() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(io::stdin().as_handle().try_clone_to_owned()?.into())
}
