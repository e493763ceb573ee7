//! `featgen synth`: data sets with a known solution, as files.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use featgen::data::Dataset;
use featgen::data::store::Conversion;
use featgen::space::Watch;
use featgen::synth::{Group, Linear, Products, Set, Truth};

use crate::args::{
    GroupArgs, LinearArgs, ProductsArgs, SetArgs, SynthArgs, SynthFormat, SynthKind, ValueChoice,
};
use crate::convert;
use crate::progress::Progress;

pub(crate) fn run(args: &SynthArgs) -> anyhow::Result<ExitCode> {
    match &args.kind {
        SynthKind::Linear(args) => linear(args),
        SynthKind::Group(args) => group(args),
        SynthKind::Products(args) => products(args),
    }
}

fn linear(args: &LinearArgs) -> anyhow::Result<ExitCode> {
    let &LinearArgs { ref set, relevant } = args;
    let &SetArgs { rows, test_rows, features, density, shift, seed, .. } = set;
    let problem = Linear { rows, test_rows, features, relevant, density, shift, seed };
    let files = Files::of(set);
    let train = || if files.is_store() { problem.on_demand(Set::Train) } else { problem.train() };
    let test = || if files.is_store() { problem.on_demand(Set::Test) } else { problem.test() };
    let command = write_all(&files, || problem.truth(), train, test)?;
    show_next(&files, relevant, "features", command)
}

fn group(args: &GroupArgs) -> anyhow::Result<ExitCode> {
    let &GroupArgs { ref set, group_size, relevant } = args;
    let &SetArgs { rows, test_rows, features, density, shift, seed, .. } = set;
    let problem = Group { rows, test_rows, features, group_size, relevant, density, shift, seed };
    let files = Files::of(set);
    let train = || if files.is_store() { problem.on_demand(Set::Train) } else { problem.train() };
    let test = || if files.is_store() { problem.on_demand(Set::Test) } else { problem.test() };
    let mut command = write_all(&files, || problem.truth(), train, test)?;
    let groups = files.named("groups.txt");
    problem.write_groups(&groups)?;
    command.push(format!("--groups {}", shown(&groups)));
    show_next(&files, relevant, "groups", command)
}

fn products(args: &ProductsArgs) -> anyhow::Result<ExitCode> {
    let &ProductsArgs { rows, test_rows, features, per_row, skew, degree, .. } = args;
    let &ProductsArgs { relevant, support, noise, values, seed, .. } = args;
    let real = values == ValueChoice::Real;
    let problem =
        Products { rows, test_rows, features, per_row, skew, degree, relevant, support, noise, real, seed };
    let files = Files { prefix: &args.output, format: SynthFormat::Svm, test: test_rows > 0 };
    let mut command = write_all(&files, || problem.truth(), || problem.train(), || problem.test())?;
    command.push(match degree {
        2 => "--space poly2".to_owned(),
        _ => format!("--space products --degree {degree}"),
    });
    show_next(&files, relevant, "products", command)
}

/// Which files are written.
struct Files<'a> {
    prefix: &'a Path,
    /// Never [`SynthFormat::Auto`].
    format: SynthFormat,
    test: bool,
}

impl<'a> Files<'a> {
    fn of(args: &'a SetArgs) -> Self {
        let format = match args.format {
            SynthFormat::Auto if args.density < 1.0 => SynthFormat::Svm,
            SynthFormat::Auto => SynthFormat::Npy,
            given => given,
        };
        Self { prefix: &args.output, format, test: args.test_rows > 0 }
    }

    fn is_store(&self) -> bool {
        self.format == SynthFormat::Store
    }

    fn named(&self, suffix: &str) -> PathBuf {
        let mut name = self.prefix.as_os_str().to_owned();
        name.push(".");
        name.push(suffix);
        name.into()
    }

    fn truth(&self) -> PathBuf {
        self.named("truth.txt")
    }
}

/// Makes and writes what every kind has; returns the beginning of the command that learns from it.
fn write_all(
    files: &Files<'_>,
    truth: impl FnOnce() -> featgen::Result<Truth>,
    train: impl FnOnce() -> featgen::Result<Dataset>,
    test: impl FnOnce() -> featgen::Result<Dataset>,
) -> featgen::Result<Vec<String>> {
    let truth_file = files.truth();
    featgen::files::check_writable(&truth_file)?;
    let truth = truth()?;
    let progress = Progress::new(None, &Watch::default());
    let mut command = vec!["featgen train".to_owned()];
    progress.doing("making the training set");
    command.extend(write(&train()?, files, "train", ["", "--labels "], &progress)?);
    if files.test {
        progress.doing("making the test set");
        command.extend(write(&test()?, files, "test", ["--test ", "--test-labels "], &progress)?);
    }
    truth.write(&truth_file)?;
    progress.finish();
    Ok(command)
}

fn show_next(
    files: &Files<'_>,
    relevant: usize,
    things: &str,
    mut command: Vec<String>,
) -> anyhow::Result<ExitCode> {
    let model = files.named("model.json");
    command.push(format!("--features {relevant} -o {}", shown(&model)));
    crate::print(|out| {
        writeln!(out, "The {relevant} relevant {things} are in {}. Next:\n", shown(&files.truth()))?;
        writeln!(out, "  {}", command.join(" "))
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Writes one set; returns the arguments, after their `options`, with which `train` reads it.
///
/// The set is let go before the next one is made: together they may not fit in memory.
fn write(
    data: &Dataset,
    files: &Files<'_>,
    set: &str,
    [data_option, labels_option]: [&str; 2],
    progress: &Progress,
) -> featgen::Result<Vec<String>> {
    if files.format == SynthFormat::Svm {
        let path = files.named(&format!("{set}.svm"));
        data.write_svmlight(&path)?;
        return Ok(vec![format!("{data_option}{}", shown(&path))]);
    }
    if files.is_store() {
        let path = files.named(&format!("{set}.store"));
        let options = Conversion { memory: 1 << 28, shards: None };
        data.write_store(&path, &options, &mut |step| convert::show(progress, step))?;
        return Ok(vec![format!("{data_option}{}", shown(&path))]);
    }
    let path = files.named(&format!("{set}.npy"));
    let labels = files.named(&format!("{set}.labels.txt"));
    data.write_npy(&path)?;
    data.write_labels(&labels)?;
    Ok(vec![format!("{data_option}{}", shown(&path)), format!("{labels_option}{}", shown(&labels))])
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
