//! What work is done with: threads, a way to end it early, how far it is, and how much memory it may take.
//!
//! A program makes one [`Context`] and gives it to whatever reads ([`Reader`](crate::data::read::Reader)), searches
//! ([`Inputs`](crate::space::Inputs)) and fits ([`Machine`](crate::Machine)): they then share its threads, and all of them end
//! soon after the user asks for it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, Result};

/// Threads for each processor, at most: more only wait for each other.
const PER_PROCESSOR: usize = 4;

/// As many may be asked for on any machine.
const ALWAYS: usize = 64;

/// Threads, interrupt, progress and memory. Clones share them all.
///
/// ```
/// use featgen::{Context, LinearSpace, Machine, synth};
/// # fn main() -> featgen::Result<()> {
/// let made = synth::Linear { rows: 100, features: 200, relevant: 5, ..Default::default() }.generate()?;
/// let machine = Machine::new().features(5).context(&Context::new().threads(2));
/// assert_eq!(machine.fit(&LinearSpace::new(&made.train), &made.train.labels)?.count(), 5);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Context {
    threads: usize,
    /// Started when they are first needed; they end with the last clone.
    pool: Arc<Mutex<Option<Arc<ThreadPool>>>>,
    interrupt: Arc<AtomicBool>,
    searched: Arc<AtomicU64>,
    memory: Option<u64>,
}

impl Context {
    /// The threads at hand, or else one for each processor; no bound on memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// The most threads that are started together: four for each processor, and 64 on small machines. Who asks for more gets
    /// these.
    pub fn most_threads() -> usize {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        ALWAYS.max(PER_PROCESSOR * processors)
    }

    /// How many threads work. Results do not depend on it. With 0, work that already runs on threads of rayon stays on them, and
    /// any other gets one for each processor.
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: threads.min(Self::most_threads()), pool: Arc::default(), ..self }
    }

    /// Work ends soon after this flag is set: a run with the model so far, anything else with an error.
    pub fn interrupt(self, flag: Arc<AtomicBool>) -> Self {
        Self { interrupt: flag, ..self }
    }

    /// Bytes that a run may take beside the data; one that may need more is refused before it begins.
    pub fn memory(self, bytes: u64) -> Self {
        Self { memory: Some(bytes), ..self }
    }

    /// Whether work is to end.
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Values that the search for products at hand has read so far; 0 while there is none.
    pub fn searched(&self) -> u64 {
        self.searched.load(Ordering::Relaxed)
    }

    /// Notes how many values the search at hand has read.
    pub(crate) fn set_searched(&self, values: u64) {
        self.searched.store(values, Ordering::Relaxed);
    }

    pub(crate) fn memory_allowed(&self) -> Option<u64> {
        self.memory
    }

    pub(crate) fn threads_in_use(&self) -> usize {
        if self.threads > 0 { self.threads } else { rayon::current_num_threads() }
    }

    /// Does some work on these threads; an error if they cannot be started.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        if self.threads == 0 && rayon::current_thread_index().is_some() {
            return Ok(work());
        }
        Ok(self.started()?.install(work))
    }

    fn started(&self) -> Result<Arc<ThreadPool>> {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = &*pool {
            return Ok(Arc::clone(pool));
        }
        let started = ThreadPoolBuilder::new().num_threads(self.threads).build();
        let started = Arc::new(started.map_err(|error| no_threads(&error))?);
        *pool = Some(Arc::clone(&started));
        Ok(started)
    }
}

/// What to say where a thread does not start.
pub(crate) fn no_threads(error: &dyn std::error::Error) -> Error {
    Error::parameter("threads", format!("the system starts no more threads: ask for fewer ({error})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_threads_and_the_interrupt() {
        let context = Context::new().threads(2);
        let clone = context.clone();
        let ids = [&context, &clone].map(|context| Arc::as_ptr(&context.started().unwrap()));
        assert_eq!(ids[0], ids[1]);
        assert_eq!(clone.run(rayon::current_num_threads).unwrap(), 2);
        context.interrupt.store(true, Ordering::Relaxed);
        assert!(clone.is_interrupted() && !Context::new().is_interrupted());
    }

    #[test]
    fn work_on_threads_stays_on_them_unless_others_are_asked_for() {
        let counted = |context: Context| context.run(rayon::current_num_threads).unwrap();
        let outer = Context::new().threads(3);
        assert_eq!(outer.run(|| counted(Context::new())).unwrap(), 3);
        assert_eq!(outer.run(|| counted(Context::new().threads(1))).unwrap(), 1);
        assert!(outer.pool.lock().unwrap().is_some());
    }

    #[test]
    fn threads_have_a_limit() {
        let asked = Context::new().threads(usize::MAX);
        assert_eq!(asked.threads_in_use(), Context::most_threads());
    }
}
