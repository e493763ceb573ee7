//! What work is done with: threads, a way to end it early, how far it is, and how much memory it may take.
//!
//! A program makes one [`Context`] and gives it to whatever reads ([`Reader`](crate::data::read::Reader)), searches
//! ([`Inputs`](crate::space::Inputs)) and fits ([`Machine`](crate::Machine)): they then share its threads, and all of them end
//! soon after the user asks for it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

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
    deadline: Arc<Mutex<Option<Instant>>>,
    memory: Option<u64>,
}

/// A time limit that is in force while this lives.
pub(crate) struct TimeLimit(Option<Context>);

impl Drop for TimeLimit {
    fn drop(&mut self) {
        self.0.iter().for_each(|context| context.set_deadline(None));
    }
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

    /// Whether work is to end: somebody wants it to, or its time is over.
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed) || self.is_late()
    }

    /// Whether the time for work is over.
    pub(crate) fn is_late(&self) -> bool {
        let deadline = *self.deadline.lock().unwrap_or_else(PoisonError::into_inner);
        deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn set_deadline(&self, deadline: Option<Instant>) {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner) = deadline;
    }

    /// Gives all work in this context, and its clones, so many seconds from now on.
    pub(crate) fn limit_time(&self, seconds: Option<f64>) -> TimeLimit {
        // A limit beyond what clocks can show is none.
        let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        TimeLimit(deadline.map(|deadline| {
            self.set_deadline(Some(deadline));
            self.clone()
        }))
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
        let (mut work, mut done) = (Some(work), None);
        self.run_once(&mut || done = work.take().map(|work| work()))?;
        Ok(done.expect("it was done"))
    }

    /// The same, compiled once for all kinds of work.
    fn run_once(&self, work: &mut (dyn FnMut() + Send)) -> Result<()> {
        if self.threads == 0 && rayon::current_thread_index().is_some() {
            work();
            return Ok(());
        }
        let pool = self.started()?;
        if rayon::current_thread_index().is_none() || pool.current_thread_index().is_some() {
            pool.install(work);
            return Ok(());
        }
        // A worker of another pool that waits for this one takes up more work of its own meanwhile, on the same stack: one run on
        // top of the other. A thread in between just waits.
        std::thread::scope(|scope| {
            let waiting = std::thread::Builder::new().spawn_scoped(scope, || pool.install(work));
            let waiting = waiting.map_err(|error| no_threads(&error))?;
            waiting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok(())
        })
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
    fn time_limits_hold_for_clones_and_end() {
        let context = Context::new();
        let limit = context.limit_time(Some(0.0));
        assert!(context.clone().is_interrupted() && context.is_late());
        drop(limit);
        assert!(!context.is_interrupted());
        let _longest = context.limit_time(Some(1e300));
        assert!(!context.is_interrupted());
    }

    #[test]
    fn work_on_threads_stays_on_them_unless_others_are_asked_for() {
        let counted = |context: Context| context.run(rayon::current_num_threads).unwrap();
        let outer = Context::new().threads(3);
        assert_eq!(outer.run(|| counted(Context::new())).unwrap(), 3);
        assert_eq!(outer.run(|| counted(Context::new().threads(1))).unwrap(), 1);
        assert!(outer.pool.lock().unwrap().is_some());
    }

    /// Every task waits for threads of its own. If tasks were taken up while others wait, they would pile up on one stack.
    #[test]
    fn tasks_on_other_threads_do_not_pile_up() {
        use rayon::prelude::*;
        use std::sync::atomic::AtomicUsize;
        thread_local!(static DEPTH: std::cell::Cell<usize> = const { std::cell::Cell::new(0) });
        let deepest = AtomicUsize::new(0);
        let task = |_: usize| {
            let depth = DEPTH.with(|depth| depth.replace(depth.get() + 1)) + 1;
            deepest.fetch_max(depth, Ordering::Relaxed);
            let slow = || std::thread::sleep(std::time::Duration::from_millis(2));
            Context::new().threads(1).run(slow).unwrap();
            DEPTH.with(|depth| depth.set(depth.get() - 1));
        };
        Context::new().threads(2).run(|| (0..20).into_par_iter().with_max_len(1).for_each(task)).unwrap();
        assert_eq!(deepest.into_inner(), 1);
    }

    #[test]
    fn threads_have_a_limit() {
        let asked = Context::new().threads(usize::MAX);
        assert_eq!(asked.threads_in_use(), Context::most_threads());
    }
}
