//! How many threads work, and their start.

use crate::error::{Error, Result};

/// Threads for each processor, at most: more only wait for each other.
const PER_PROCESSOR: usize = 4;

/// As many may be asked for on any machine.
const ALWAYS: usize = 64;

/// The most threads that are started together: four for each processor, and 64 on small machines. Who asks for more gets
/// these; results do not depend on it.
pub fn most() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    ALWAYS.max(PER_PROCESSOR * processors)
}

/// Threads that work together; 0 for one for each processor.
pub fn pool(threads: usize) -> Result<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.min(most())).build();
    pool.map_err(|e| failure(&e))
}

/// Starts the threads of the process for whatever is not done on a [`pool`] of its own; 0 for one for each processor. For
/// programs, once at their beginning: those that are not started so are started when they are needed, and a failure is a
/// panic then.
pub fn start(threads: usize) -> Result<()> {
    let started = rayon::ThreadPoolBuilder::new().num_threads(threads.min(most())).build_global();
    started.map_err(|e| failure(&e))
}

/// What to say where a thread does not start.
pub(crate) fn failure(error: &dyn std::error::Error) -> Error {
    Error::parameter("threads", format!("the system starts no more threads: ask for fewer ({error})"))
}
