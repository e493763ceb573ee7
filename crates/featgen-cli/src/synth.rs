//! `featgen synth`: data sets with a known solution, as files.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use featgen::Context;
use featgen::data::Dataset;
use featgen::data::store::Conversion;
use featgen::files::write_whole;
use featgen::synth::{Genome, Grouped, Linear, Outcome, Products, Set, Table, TableFormat, Truth};

use crate::args::{
    BedArgs, GroupArgs, LinearArgs, ProductsArgs, SetArgs, SynthArgs, SynthFormat, SynthKind, SynthTableArgs,
    TableChoice, ValueChoice,
};
use crate::convert;
use crate::progress::Progress;

pub(crate) fn run(args: &SynthArgs) -> anyhow::Result<u8> {
    match &args.kind {
        SynthKind::Linear(args) => linear(args),
        SynthKind::Group(args) => group(args),
        SynthKind::Products(args) => products(args),
        SynthKind::Bed(args) => bed(args),
        SynthKind::Table(args) => table(args),
    }
}

fn linear(args: &LinearArgs) -> anyhow::Result<u8> {
    let &LinearArgs { ref set, relevant } = args;
    let &SetArgs { rows, test_rows, features, density, shift, seed, .. } = set;
    let outcome = set.outcome.outcome();
    let problem = Linear { rows, test_rows, features, relevant, density, shift, seed, outcome };
    let files = Files::of(set, false);
    let train = || if files.is_store() { problem.on_demand(Set::Train) } else { problem.train() };
    let test = || if files.is_store() { problem.on_demand(Set::Test) } else { problem.test() };
    let command = write_all(&files, || problem.truth(), train, test)?;
    show_next(&files, relevant, "features", outcome, command)
}

fn group(args: &GroupArgs) -> anyhow::Result<u8> {
    let &GroupArgs { ref set, group_size, relevant } = args;
    let &SetArgs { rows, test_rows, features, density, shift, seed, .. } = set;
    let outcome = set.outcome.outcome();
    let problem = Grouped { rows, test_rows, features, group_size, relevant, density, shift, seed, outcome };
    let files = Files::of(set, true);
    let train = || if files.is_store() { problem.on_demand(Set::Train) } else { problem.train() };
    let test = || if files.is_store() { problem.on_demand(Set::Test) } else { problem.test() };
    let mut command = write_all(&files, || problem.truth(), train, test)?;
    let groups = files.groups();
    problem.write_groups(&groups)?;
    command.push(format!("--groups {}", shown(&groups)));
    show_next(&files, relevant, "groups", outcome, command)
}

fn products(args: &ProductsArgs) -> anyhow::Result<u8> {
    let &ProductsArgs { rows, test_rows, features, per_row, skew, degree, .. } = args;
    let &ProductsArgs { relevant, support, noise, values, seed, .. } = args;
    let (real, outcome) = (values == ValueChoice::Real, args.outcome.outcome());
    let problem = Products {
        rows,
        test_rows,
        features,
        per_row,
        skew,
        degree,
        relevant,
        support,
        noise,
        real,
        seed,
        outcome,
    };
    let files = Files { prefix: &args.output, format: SynthFormat::Svm, test: test_rows > 0, groups: false };
    let mut command = write_all(&files, || problem.truth(), || problem.train(), || problem.test())?;
    command.push(match degree {
        2 => "--space poly2".to_owned(),
        _ => format!("--space products --degree {degree}"),
    });
    show_next(&files, relevant, "products", outcome, command)
}

fn bed(args: &BedArgs) -> anyhow::Result<u8> {
    let &BedArgs { rows, test_rows, features, relevant, heritability, linkage, .. } = args;
    let &BedArgs { missing, confounding, quantitative, seed, .. } = args;
    let genome = Genome {
        people: rows,
        test_people: test_rows,
        variants: features,
        relevant,
        heritability,
        linkage,
        missing,
        confounding,
        quantitative,
        seed,
    };
    let prefix = args.output.as_path();
    check_prefix(prefix)?;
    let (train, test) = (Genome::files(prefix, Set::Train), Genome::files(prefix, Set::Test));
    let (truth, covariates) = (Genome::truth(prefix), Genome::covariates(prefix));
    let mut files = vec![("the truth", &*truth)];
    files.extend(train.iter().map(|file| ("the training set", file.as_path())));
    files.extend(test.iter().filter(|_| test_rows > 0).map(|file| ("the test set", file.as_path())));
    files.extend((confounding > 0.0).then_some(("the covariates", &*covariates)));
    crate::check_outputs(&[], &files)?;
    let progress = Progress::new(None, &Context::new());
    progress.doing("making genotypes");
    genome.write(prefix)?;
    progress.finish();

    let mut command = vec![format!("featgen train {}", shown(&train[0]))];
    command.extend((confounding > 0.0).then(|| format!("--covar {}", shown(&covariates))));
    command.extend((test_rows > 0).then(|| format!("--test {}", shown(&test[0]))));
    command.extend(quantitative.then(|| "--loss squared".to_owned()));
    let files = Files { prefix, format: SynthFormat::Svm, test: test_rows > 0, groups: false };
    show_next(&files, relevant, "variants", Outcome::Signs, command)
}

/// The names of files must begin with something.
fn check_prefix(prefix: &Path) -> featgen::Result<()> {
    if prefix.as_os_str().to_string_lossy().ends_with(std::path::is_separator) {
        let reason = "this is the name of a folder; the names of the files must begin with something";
        return Err(featgen::Error::input(prefix.display().to_string().as_str(), reason));
    }
    Ok(())
}

fn table(args: &SynthTableArgs) -> anyhow::Result<u8> {
    let &SynthTableArgs { about, rows, test_rows, seed, format, .. } = args;
    let files = Files { prefix: &args.output, format: SynthFormat::Auto, test: test_rows > 0, groups: false };
    let (format, ending) = match format {
        TableChoice::Csv => (TableFormat::Csv, "csv"),
        TableChoice::Parquet => (TableFormat::Parquet, "parquet"),
    };
    let [train, test] = ["train", "test"].map(|set| files.named(&format!("{set}.{ending}")));
    check_prefix(files.prefix)?;
    let mut outputs = vec![("the training set", train.as_path()), ("the test set", test.as_path())];
    outputs.truncate(1 + usize::from(files.test));
    let truth = files.truth();
    outputs.push(("the truth", &truth));
    crate::check_outputs(&[], &outputs)?;
    let table = Table { about: about.into(), rows, test_rows, seed };
    let progress = Progress::new(None, &Context::new());
    progress.doing("making the table");
    table.write(Set::Train, &train, format)?;
    let mut command = format!("featgen train {} --label {}", shown(&train), table.label());
    if files.test {
        table.write(Set::Test, &test, format)?;
        command += &format!(" --test {}", shown(&test));
    }
    let deciding = table.deciding();
    write_whole(&truth, |out| deciding.iter().try_for_each(|column| writeln!(out, "{column}")))?;
    progress.finish();
    let columns = deciding.iter().filter(|deciding| !deciding.contains(" & ")).count();
    let model = files.named("model.json");
    crate::print(|out| {
        writeln!(out, "The {columns} deciding columns are in {}. Next:\n", shown(&truth))?;
        writeln!(out, "  featgen inspect {} --label {}", shown(&train), table.label())?;
        writeln!(out, "  {command} --features {columns} -o {}", shown(&model))
    })?;
    Ok(crate::SUCCESS)
}

/// Which files are written.
struct Files<'a> {
    prefix: &'a Path,
    /// Never [`SynthFormat::Auto`].
    format: SynthFormat,
    test: bool,
    groups: bool,
}

impl<'a> Files<'a> {
    fn of(args: &'a SetArgs, groups: bool) -> Self {
        let format = match args.format {
            SynthFormat::Auto if args.density < 1.0 => SynthFormat::Svm,
            SynthFormat::Auto => SynthFormat::Npy,
            given => given,
        };
        Self { prefix: &args.output, format, test: args.test_rows > 0, groups }
    }

    /// Whether all of them can be written: the work may take long.
    fn check(&self) -> featgen::Result<()> {
        check_prefix(self.prefix)?;
        let mut files = vec![("the truth", self.truth())];
        files.extend(self.groups.then(|| ("the groups", self.groups())));
        files.extend(self.of_set("train").into_iter().map(|file| ("the training set", file)));
        files
            .extend(self.of_set("test").into_iter().filter(|_| self.test).map(|file| ("the test set", file)));
        let outputs: Vec<(&str, &Path)> = files.iter().map(|(what, file)| (*what, file.as_path())).collect();
        crate::check_outputs(&[], &outputs)
    }

    /// The data of a set and, where these cannot hold them, their labels.
    fn of_set(&self, set: &str) -> Vec<PathBuf> {
        match self.format {
            SynthFormat::Svm => vec![self.named(&format!("{set}.svm"))],
            SynthFormat::Store => vec![self.named(&format!("{set}.store"))],
            SynthFormat::Npy | SynthFormat::Auto => {
                vec![self.named(&format!("{set}.npy")), self.named(&format!("{set}.labels.txt"))]
            }
        }
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

    fn groups(&self) -> PathBuf {
        self.named("groups.txt")
    }
}

/// Makes and writes what every kind has; returns the beginning of the command that learns from it.
fn write_all(
    files: &Files<'_>,
    truth: impl FnOnce() -> featgen::Result<Truth>,
    train: impl FnOnce() -> featgen::Result<Dataset>,
    test: impl FnOnce() -> featgen::Result<Dataset>,
) -> featgen::Result<Vec<String>> {
    files.check()?;
    let truth = truth()?;
    let progress = Progress::new(None, &Context::new());
    let mut command = vec!["featgen train".to_owned()];
    progress.doing("making the training set");
    command.extend(write(&train()?, files, "train", ["", "--labels "], &progress)?);
    if files.test {
        progress.doing("making the test set");
        command.extend(write(&test()?, files, "test", ["--test ", "--test-labels "], &progress)?);
    }
    truth.write(files.truth())?;
    progress.finish();
    Ok(command)
}

fn show_next(
    files: &Files<'_>,
    relevant: usize,
    things: &str,
    outcome: Outcome,
    mut command: Vec<String>,
) -> anyhow::Result<u8> {
    let model = files.named("model.json");
    command.extend(outcome.loss().map(|loss| format!("--loss {loss}")));
    command.push(format!("--features {relevant} -o {}", shown(&model)));
    crate::print(|out| {
        writeln!(out, "The {relevant} relevant {things} are in {}. Next:\n", shown(&files.truth()))?;
        writeln!(out, "  {}", command.join(" "))
    })?;
    Ok(crate::SUCCESS)
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
    let paths = files.of_set(set);
    match files.format {
        SynthFormat::Svm => data.write_svmlight(&paths[0])?,
        SynthFormat::Store => {
            let options = Conversion { memory: 1 << 28, ..Conversion::default() };
            data.write_store(&paths[0], &options, &mut |step| convert::show(progress, step)).map(drop)?;
        }
        SynthFormat::Npy | SynthFormat::Auto => {
            data.write_npy(&paths[0])?;
            data.write_labels(&paths[1])?;
        }
    }
    let options = [data_option, labels_option];
    Ok(paths.iter().zip(options).map(|(path, option)| format!("{option}{}", shown(path))).collect())
}

/// A path as a shell takes it.
fn shown(path: &Path) -> String {
    let text = crate::plain(&path.display().to_string());
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
