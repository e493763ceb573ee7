//! Ctrl-C: the first ends the run with the model so far, the second ends the program.

use std::path::Path;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use featgen::machine::Stop;

/// The exit code of interrupted programs, as shells count it.
const EXIT_CODE: u8 = 130;

/// Requests that come within this time are one.
const AT_ONCE: Duration = Duration::from_millis(500);

/// Success, unless the run was ended early: scripts should not take half a result for a whole one.
pub(crate) fn exit_code(stopped: Stop) -> u8 {
    if stopped == Stop::Interrupted { EXIT_CODE } else { crate::SUCCESS }
}

/// A flag that Ctrl-C (or a request to terminate) sets.
pub(crate) fn flag() -> Arc<AtomicBool> {
    let flag = Arc::default();
    watch(&flag);
    flag
}

/// Makes Ctrl-C set a flag, from now on.
pub(crate) fn watch(flag: &Arc<AtomicBool>) {
    let (seen, mut first) = (Arc::clone(flag), None);
    let handler = move || {
        if seen.swap(true, Ordering::Relaxed) {
            // Some programs ask twice at once, as `timeout` does: the process, and the group it is in.
            if first.is_none_or(|first: Instant| first.elapsed() > AT_ONCE) {
                process::exit(EXIT_CODE.into());
            }
            return;
        }
        first = Some(Instant::now());
        // The terminal shows ^C on the line of the progress.
        crate::note("");
        crate::note("ending with the model so far; press Ctrl-C again to end at once");
    };
    // Without a handler Ctrl-C simply ends the program: no reason not to go on.
    let _ = ctrlc::set_handler(handler);
}

/// Makes Ctrl-C (or a request to terminate) end the program at once, and leave nothing half-written.
pub(crate) fn remove_at_end(unfinished: &Path) {
    featgen::data::remove_if_cut(unfinished);
    let unfinished = unfinished.to_owned();
    let handler = move || {
        // It may have got its final name just now.
        let _ = std::fs::remove_file(&unfinished);
        process::exit(EXIT_CODE.into());
    };
    let _ = ctrlc::set_handler(handler);
}
