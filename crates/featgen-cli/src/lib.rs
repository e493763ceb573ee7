//! The command `featgen`: argument parsing, progress, tables and JSON around the library. No learning code.
//!
//! It is a library so that the Python package can bring the command along; the program is [`run`] and nothing else.

mod args;
mod columns;
mod convert;
mod demo;
mod export;
mod inspect;
mod interrupt;
mod json;
mod keep;
mod lists;
mod numbers;
mod path;
mod plot;
mod predict;
mod progress;
mod report;
mod space;
mod stored;
mod style;
mod summary;
mod synth;
mod table;
mod train;
mod validate;

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use args::{Cli, Command};
use clap::Parser;
use featgen::Context;
use featgen::files::Identity;
use lists::Combination;

/// The exit code of what went well.
const SUCCESS: u8 = 0;

/// Runs the command with these arguments, the first of which is the name it was called by, and returns its exit code.
///
/// It is the whole program: results go to standard output, everything else to standard error, and handlers for Ctrl-C,
/// requests to terminate and files that are cut short replace those that are there. A second Ctrl-C ends the process.
pub fn run<I>(arguments: I) -> u8
where
    I: IntoIterator,
    I::Item: Into<OsString> + Clone,
{
    featgen::data::explain_cut_files(Some(1));
    let arguments = arguments.into_iter().map(Into::into).collect();
    let combinations = match lists::combinations(arguments) {
        Ok(combinations) => combinations,
        Err(error) => return explain(&error.into()),
    };
    let parsed = |one: &Combination| Ok((Cli::try_parse_from(&one.arguments)?.command, one.values.clone()));
    match combinations.iter().map(parsed).collect::<Result<Vec<_>, clap::Error>>() {
        Ok(commands) => command(&commands).unwrap_or_else(|error| explain(&error)),
        Err(error) => {
            // Help and version are "errors" too, of code 0. If nobody reads them there is nothing to do about it.
            let _ = error.print();
            u8::try_from(error.exit_code()).unwrap_or(2)
        }
    }
}

/// Runs a command: the first, or all where `path` compares what they ask for. Each comes with what it has of lists.
fn command(commands: &[(Command, Vec<(&'static str, String)>)]) -> anyhow::Result<u8> {
    let command = &commands[0].0;
    let asked = command.threads().unwrap_or(0);
    let most = Context::most_threads();
    if asked > most {
        note(format_args!("note: {most} threads, not {asked}: more would only wait for each other"));
    }
    let context = Context::new().threads(asked);
    // All of it on the same threads.
    context.run(|| match command {
        Command::Train(args) => train::run(args, &context),
        Command::Path(_) => {
            let asked = commands.iter().filter_map(|(command, values)| match command {
                Command::Path(args) => Some(path::Asked { args: &args.train, values }),
                _ => None,
            });
            path::run(&asked.collect::<Vec<_>>(), &context)
        }
        Command::Predict(args) => predict::run(args, &context),
        Command::Inspect(args) => inspect::run(args),
        Command::Report(args) => report::run(args, &context),
        Command::Export(args) => export::run(args),
        Command::Convert(args) => convert::run(args, &context),
        Command::Synth(args) => synth::run(args),
        Command::Demo(args) => demo::run(args, &context),
    })?
}

/// One line that says what went wrong, and the exit code that goes with it.
fn explain(error: &anyhow::Error) -> u8 {
    if error.chain().any(is_broken_pipe) {
        // The reader (`| head`) has seen enough: nothing is wrong.
        return SUCCESS;
    }
    let (line, code) = match error.downcast_ref::<featgen::Error>() {
        Some(featgen::Error::Parameter { name, reason }) => (format!("error: --{name}: {reason}"), 2),
        Some(error) => (error.to_string(), 1),
        None => (format!("{error:#}"), 1),
    };
    note(one_line(&line));
    code
}

/// Messages quote what stands in files: that must not fill the screen.
fn one_line(text: &str) -> String {
    const LONGEST: usize = 500;
    match text.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

/// Text with names in it as it may be shown. Names of classes, features and files are whatever somebody gave them: what could
/// move the cursor, change colours or begin a line stays visible, but does nothing.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn is_broken_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

/// Writes to standard output through `fill`; the one place where results leave the command.
fn print(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    fill(&mut out).and_then(|()| out.flush()).context("standard output")
}

/// Whether everything that is to be written can be, and would take no input's place. Standard output counts: if it is appended
/// to an input that is still being read, neither would ever end.
fn check_outputs(inputs: &[(&str, &Path)], outputs: &[(&str, &Path)]) -> featgen::Result<()> {
    let beside: Vec<(&str, PathBuf)> = inputs.iter().flat_map(|(_, path)| beside_genotypes(path)).collect();
    let beside = beside.iter().map(|(what, path)| (*what, path.as_path()));
    let inputs: Vec<(&str, &Path)> = inputs.iter().copied().chain(beside).collect();
    featgen::files::check_outputs(&inputs, outputs)?;
    let screen = Identity::of_stdout();
    let same = |&&(_, path): &&(&str, &Path)| screen.is_some() && Identity::of_input(path) == screen;
    match inputs.iter().chain(outputs).find(same) {
        Some((what, path)) => {
            let reason = format!("this is the file of {what}: standard output must go elsewhere");
            Err(featgen::Error::input(path.display().to_string().as_str(), reason))
        }
        None => Ok(()),
    }
}

/// The files that are read beside genotypes, if that is what a path looks like.
fn beside_genotypes(path: &Path) -> Vec<(&'static str, PathBuf)> {
    match path.extension().is_some_and(|end| end == "bed") {
        true => vec![("variants", path.with_extension("bim")), ("people", path.with_extension("fam"))],
        false => Vec::new(),
    }
}

/// Tells the user something that is not a result, on one line.
fn note(text: impl std::fmt::Display) {
    // If even this cannot be written there is nobody to tell.
    let _ = writeln!(io::stderr(), "{}", plain(&text.to_string()));
}
