//! The targets on inputs made from their seeds, for about a minute in all: the same inputs every time.

use std::path::Path;
use std::time::{Duration, Instant};

use featgen_fuzz::run::{Counting, run, watch_for_hangs};
use featgen_fuzz::{TARGETS, Target};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Inputs for each target, and the time after which no more are made for it, so that slow machines end in time too.
const EXECUTIONS: u64 = 20_000;
const STEP: u64 = 500;
const TIME: Duration = Duration::from_millis(4500);

fn check(target: &Target, artifacts: &Path) {
    let (clock, mut done) = (Instant::now(), 0);
    while done < EXECUTIONS && clock.elapsed() < TIME {
        // Every step has inputs of its own.
        let report = run(target, STEP, 1 + done, artifacts);
        assert!(report.findings.is_empty(), "{}: {:?}", target.name, report.findings);
        done += report.executions;
    }
}

/// In one test, for memory is counted for the process.
#[test]
fn no_input_is_too_much_for_any_target() {
    watch_for_hangs();
    let artifacts = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz-artifacts");
    TARGETS.iter().for_each(|target| check(target, &artifacts));
}
