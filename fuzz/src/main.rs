//! The runner: `featgen-fuzz --executions N [--target T] [--seed S]`, so many inputs for each target.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::Path;
use std::process::ExitCode;

use featgen_fuzz::TARGETS;
use featgen_fuzz::run::{Counting, run, watch_for_hangs};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const USAGE: &str = "usage: featgen-fuzz --executions N [--target T] [--seed S] [--artifacts FOLDER]";

struct Options {
    executions: u64,
    target: Option<String>,
    seed: u64,
    artifacts: String,
}

fn options() -> Option<Options> {
    let mut options =
        Options { executions: 0, target: None, seed: 1, artifacts: "fuzz/artifacts/runner".into() };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        let value = args.next()?;
        match name.as_str() {
            "--executions" => options.executions = value.parse().ok()?,
            "--target" => options.target = Some(value),
            "--seed" => options.seed = value.parse().ok()?,
            "--artifacts" => options.artifacts = value,
            _ => return None,
        }
    }
    let known = |name: &String| TARGETS.iter().any(|target| target.name == name);
    (options.executions > 0 && options.target.as_ref().is_none_or(known)).then_some(options)
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("{USAGE}\ntargets: {}", names.join(" "));
        return ExitCode::from(2);
    };
    watch_for_hangs();
    let (mut executions, mut findings) = (0, 0);
    println!(
        "{:<12} {:>12} {:>9} {:>10} {:>10} {:>9}",
        "target", "executions", "a second", "slowest", "largest", "findings"
    );
    for target in
        TARGETS.iter().filter(|target| options.target.as_deref().is_none_or(|name| name == target.name))
    {
        let report = run(target, options.executions, options.seed, Path::new(&options.artifacts));
        let speed = report.executions as f64 / report.time.as_secs_f64();
        println!(
            "{:<12} {:>12} {speed:>9.0} {:>8.1}ms {:>7}KiB {:>9}",
            target.name,
            report.executions,
            report.slowest.as_secs_f64() * 1e3,
            report.largest >> 10,
            report.findings.len()
        );
        report.findings.iter().for_each(|finding| println!("    {finding}"));
        executions += report.executions;
        findings += report.findings.len();
    }
    println!("{executions} executions, {findings} findings");
    if findings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
