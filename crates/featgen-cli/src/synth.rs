//! `featgen synth`: data sets with a known solution, as files.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use featgen::data::Dataset;
use featgen::synth::Linear;

use crate::args::{LinearArgs, SynthArgs, SynthFormat, SynthKind};
use crate::progress::Progress;

pub(crate) fn run(args: &SynthArgs) -> anyhow::Result<ExitCode> {
    match &args.kind {
        SynthKind::Linear(args) => linear(args),
    }
}

fn linear(args: &LinearArgs) -> anyhow::Result<ExitCode> {
    let truth = with_suffix(&args.output, "truth.txt");
    featgen::files::check_writable(&truth)?;
    let progress = Progress::new(None);
    progress.doing("making random numbers");
    let problem = Linear {
        rows: args.rows,
        test_rows: args.test_rows,
        features: args.features,
        relevant: args.relevant,
        density: args.density,
        shift: args.shift,
        seed: args.seed,
    };
    let made = problem.generate()?;
    progress.doing("writing");
    let as_text = match args.format {
        SynthFormat::Auto => args.density < 1.0,
        SynthFormat::Svm => true,
        SynthFormat::Npy => false,
    };
    let mut command = vec!["featgen train".to_owned()];
    command.extend(write(&made.train, &args.output, "train", as_text, ["", "--labels "])?);
    if args.test_rows > 0 {
        command.extend(write(&made.test, &args.output, "test", as_text, ["--test ", "--test-labels "])?);
    }
    made.truth.write(&truth)?;
    progress.finish();
    let model = with_suffix(&args.output, "model.json");
    command.push(format!("--features {} -o {}", args.relevant, shown(&model)));
    crate::print(|out| {
        writeln!(out, "The {} relevant features are in {}. Next:\n", args.relevant, shown(&truth))?;
        writeln!(out, "  {}", command.join(" "))
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Writes one set; returns the arguments, after their `options`, with which `train` reads it.
fn write(
    data: &Dataset,
    prefix: &Path,
    set: &str,
    as_text: bool,
    [data_option, labels_option]: [&str; 2],
) -> featgen::Result<Vec<String>> {
    if as_text {
        let path = with_suffix(prefix, &format!("{set}.svm"));
        data.write_svmlight(&path)?;
        return Ok(vec![format!("{data_option}{}", shown(&path))]);
    }
    let path = with_suffix(prefix, &format!("{set}.npy"));
    let labels = with_suffix(prefix, &format!("{set}.labels.txt"));
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
