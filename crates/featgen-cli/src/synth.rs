//! `featgen synth`: data sets with a known solution, as files.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use featgen::data::Dataset;
use featgen::synth::{Group, Linear, Truth};

use crate::args::{GroupArgs, LinearArgs, SetArgs, SynthArgs, SynthFormat, SynthKind};
use crate::progress::Progress;

pub(crate) fn run(args: &SynthArgs) -> anyhow::Result<ExitCode> {
    match &args.kind {
        SynthKind::Linear(args) => linear(args),
        SynthKind::Group(args) => group(args),
    }
}

fn linear(args: &LinearArgs) -> anyhow::Result<ExitCode> {
    let &LinearArgs { ref set, relevant } = args;
    let &SetArgs { rows, test_rows, features, density, shift, seed, .. } = set;
    let problem = Linear { rows, test_rows, features, relevant, density, shift, seed };
    let command = write_all(set, || problem.truth(), || problem.train(), || problem.test())?;
    show_next(set, relevant, "features", command)
}

fn group(args: &GroupArgs) -> anyhow::Result<ExitCode> {
    let &GroupArgs { ref set, group_size, relevant } = args;
    let &SetArgs { rows, test_rows, features, density, shift, seed, .. } = set;
    let problem = Group { rows, test_rows, features, group_size, relevant, density, shift, seed };
    let mut command = write_all(set, || problem.truth(), || problem.train(), || problem.test())?;
    let groups = with_suffix(&set.output, "groups.txt");
    problem.write_groups(&groups)?;
    command.push(format!("--groups {}", shown(&groups)));
    show_next(set, relevant, "groups", command)
}

/// Makes and writes what every kind has; returns the beginning of the command that learns from it.
fn write_all(
    args: &SetArgs,
    truth: impl FnOnce() -> featgen::Result<Truth>,
    train: impl FnOnce() -> featgen::Result<Dataset>,
    test: impl FnOnce() -> featgen::Result<Dataset>,
) -> featgen::Result<Vec<String>> {
    let truth_file = truth_file(args);
    featgen::files::check_writable(&truth_file)?;
    let truth = truth()?;
    let progress = Progress::new(None);
    let mut command = vec!["featgen train".to_owned()];
    progress.doing("making the training set");
    command.extend(write(train()?, args, "train", ["", "--labels "])?);
    if args.test_rows > 0 {
        progress.doing("making the test set");
        command.extend(write(test()?, args, "test", ["--test ", "--test-labels "])?);
    }
    truth.write(&truth_file)?;
    progress.finish();
    Ok(command)
}

fn show_next(
    args: &SetArgs,
    relevant: usize,
    things: &str,
    mut command: Vec<String>,
) -> anyhow::Result<ExitCode> {
    let model = with_suffix(&args.output, "model.json");
    command.push(format!("--features {relevant} -o {}", shown(&model)));
    crate::print(|out| {
        writeln!(out, "The {relevant} relevant {things} are in {}. Next:\n", shown(&truth_file(args)))?;
        writeln!(out, "  {}", command.join(" "))
    })?;
    Ok(ExitCode::SUCCESS)
}

fn truth_file(args: &SetArgs) -> PathBuf {
    with_suffix(&args.output, "truth.txt")
}

/// Writes one set; returns the arguments, after their `options`, with which `train` reads it.
///
/// The set is let go before the next one is made: together they may not fit in memory.
fn write(
    data: Dataset,
    args: &SetArgs,
    set: &str,
    [data_option, labels_option]: [&str; 2],
) -> featgen::Result<Vec<String>> {
    let as_text = match args.format {
        SynthFormat::Auto => args.density < 1.0,
        SynthFormat::Svm => true,
        SynthFormat::Npy => false,
    };
    if as_text {
        let path = with_suffix(&args.output, &format!("{set}.svm"));
        data.write_svmlight(&path)?;
        return Ok(vec![format!("{data_option}{}", shown(&path))]);
    }
    let path = with_suffix(&args.output, &format!("{set}.npy"));
    let labels = with_suffix(&args.output, &format!("{set}.labels.txt"));
    data.write_npy(&path)?;
    data.write_labels(&labels)?;
    Ok(vec![format!("{data_option}{}", shown(&path)), format!("{labels_option}{}", shown(&labels))])
}

fn with_suffix(prefix: &Path, suffix: &str) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

/// A path as a shell takes it.
fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+=,:@".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_where_a_shell_needs_it() {
        assert_eq!(shown(Path::new("a/b.train.svm")), "a/b.train.svm");
        assert_eq!(shown(Path::new("it's here")), r"'it'\''s here'");
    }
}
