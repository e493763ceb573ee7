//! Runs: many inputs for a target, and what came of them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use memmap2::MmapMut;

use crate::{Target, mutate};

/// What an input may take. The largest demands that are meant come from 64 MiB of decompressed text.
const MOST_TIME: Duration = Duration::from_secs(2);
const MOST_MEMORY: usize = 768 << 20;

/// An input that takes longer than this ends the run.
const HANG: Duration = Duration::from_secs(20);

/// Findings after which a target is left alone.
const MOST_FINDINGS: usize = 10;

/// What came of a target.
pub struct Report {
    /// Inputs that were run.
    pub executions: u64,
    /// What went wrong, with the file that holds the input.
    pub findings: Vec<String>,
    /// The longest time that an input took.
    pub slowest: Duration,
    /// The most memory that an input had at a time.
    pub largest: usize,
    /// All of the time.
    pub time: Duration,
}

/// Runs the seeds of a target, and `executions` inputs made from them. What goes wrong is kept in the folder `artifacts`.
pub fn run(target: &Target, executions: u64, seed: u64, artifacts: &Path) -> Report {
    let seeds = seeds(target.name);
    let clock = Instant::now();
    let mut report = Report {
        executions: 0,
        findings: Vec::new(),
        slowest: Duration::ZERO,
        largest: 0,
        time: Duration::ZERO,
    };
    let mut current = Current::new(target.name);
    let made = (0..executions).map(|k| mutate::input(&seeds, seed, k));
    for input in seeds.iter().cloned().chain(made) {
        current.keep(&input);
        if let Some(wrong) = execute(target, &input, &mut report) {
            let file = artifacts.join(format!("{}-{}", target.name, report.findings.len()));
            let stored = fs::create_dir_all(artifacts).and_then(|()| fs::write(&file, &input));
            let place = if stored.is_ok() { file.display().to_string() } else { format!("{input:?}") };
            report.findings.push(format!("{wrong}: {place}"));
            if report.findings.len() == MOST_FINDINGS {
                break;
            }
        }
        report.executions += 1;
    }
    report.time = clock.elapsed();
    current.remove();
    // What a target may have left.
    let _ = fs::remove_file(scratch(target.name));
    report
}

/// What is wrong with how an input went, if anything.
fn execute(target: &Target, input: &[u8], report: &mut Report) -> Option<String> {
    let before = Counting::begin();
    let clock = Instant::now();
    let panicked = panic::catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_err();
    let (time, memory) = (clock.elapsed(), Counting::most_since(before));
    report.slowest = report.slowest.max(time);
    report.largest = report.largest.max(memory);
    if panicked {
        Some("a panic".into())
    } else if time > MOST_TIME {
        Some(format!("{time:.1?}"))
    } else if memory > MOST_MEMORY {
        Some(format!("{} MiB", memory >> 20))
    } else {
        None
    }
}

/// The files of a target's folder of seeds, and of what libFuzzer found worth keeping.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(name);
    let mut files: Vec<PathBuf> = match fs::read_dir(&folder) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(error) => panic!("{}: {error}", folder.display()),
    };
    // In an order that does not depend on the file system.
    files.sort();
    let mut seeds: Vec<Vec<u8>> = files.iter().filter_map(|file| fs::read(file).ok()).collect();
    if name == "checkpoint" {
        // Goes on only where it was made, by this version.
        let file = scratch("sound-checkpoint");
        seeds.push(featgen::fuzzing::sound_checkpoint(&file));
        let _ = fs::remove_file(file);
    }
    assert!(!seeds.is_empty(), "{}: no seeds", folder.display());
    seeds
}

/// A file of this process that only memory holds, where the system has such.
pub fn scratch(name: &str) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let thread = format!("{:?}", std::thread::current().id()).replace(|c: char| !c.is_ascii_digit(), "");
    folder.join(format!("featgen-fuzz-{}-{thread}-{name}", std::process::id()))
}

/// The input at hand, in a file that outlives a process which is killed.
struct Current {
    path: PathBuf,
    map: Option<MmapMut>,
}

const CURRENT_BYTES: usize = 1 << 16;

impl Current {
    #[allow(unsafe_code)]
    fn new(target: &str) -> Self {
        let path = scratch(&format!("{target}-input"));
        let file = fs::File::options().read(true).write(true).create(true).truncate(true).open(&path);
        let map = file.and_then(|file| {
            file.set_len(CURRENT_BYTES as u64)?;
            // SAFETY: the file is of this process alone, by its name.
            unsafe { MmapMut::map_mut(&file) }
        });
        Self { path, map: map.ok() }
    }

    /// Its length and its bytes.
    fn keep(&mut self, input: &[u8]) {
        if let Some(map) = &mut self.map {
            let length = input.len().min(CURRENT_BYTES - 8);
            map[..8].copy_from_slice(&(length as u64).to_le_bytes());
            map[8..8 + length].copy_from_slice(&input[..length]);
        }
        BEGUN.fetch_add(1, Ordering::Relaxed);
    }

    fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Inputs begun, for whoever watches.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Ends the process if an input takes very long. The input is in the file that `scratch` names then.
pub fn watch_for_hangs() {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if WATCHED.swap(true, Ordering::Relaxed) {
        return;
    }
    std::thread::spawn(|| {
        let mut last = u64::MAX;
        loop {
            let now = BEGUN.load(Ordering::Relaxed);
            if now == last {
                std::process::abort();
            }
            last = now;
            std::thread::sleep(HANG);
        }
    });
}

/// The system's allocator, with a count of what is in use.
pub struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

impl Counting {
    fn begin() -> usize {
        let now = IN_USE.load(Ordering::Relaxed);
        MOST.store(now, Ordering::Relaxed);
        now
    }

    fn most_since(before: usize) -> usize {
        MOST.load(Ordering::Relaxed).saturating_sub(before)
    }

    fn more(bytes: usize) {
        let now = IN_USE.fetch_add(bytes, Ordering::Relaxed) + bytes;
        MOST.fetch_max(now, Ordering::Relaxed);
    }
}

// SAFETY: all is left to the system's allocator.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::more(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::more(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::more(size);
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.realloc(old, layout, size) }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(old, layout) }
    }
}
