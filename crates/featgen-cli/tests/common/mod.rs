//! What the tests of the command share.

use std::path::Path;

use assert_cmd::Command;

/// The command, to be run in `folder`.
pub(crate) fn featgen(folder: &Path) -> Command {
    let mut command = assert_cmd::cargo::cargo_bin_cmd!("featgen");
    command.current_dir(folder);
    command
}

/// The command where no file may be larger than so many blocks of 512 bytes: writing more fails as on a full disk.
#[cfg(unix)]
#[allow(dead_code, reason = "not every file of tests needs it")]
pub(crate) fn featgen_on_full_disk(folder: &Path, blocks: u32) -> Command {
    let mut command = Command::new("sh");
    let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    command.args(["-c", &limited]).arg(assert_cmd::cargo::cargo_bin!("featgen")).current_dir(folder);
    command
}

/// Two classes, told apart by the first of six features: svmlight text.
#[allow(dead_code, reason = "not every file of tests needs it")]
pub(crate) fn two_classes(rows: usize) -> String {
    let value = |i: usize, j: usize| ((i * 7 + j * 13) % 11) as f64 / 11.0 - 0.5;
    let line = |i: usize| {
        let sign = if i.is_multiple_of(2) { "+1" } else { "-1" };
        let first = if i.is_multiple_of(2) { 1.0 } else { -1.0 } + 0.3 * value(i, 1);
        let rest: String = (2..=6).map(|j| format!(" {j}:{}", value(i, j))).collect();
        format!("{sign} 1:{first}{rest}\n")
    };
    (0..rows).map(line).collect()
}
