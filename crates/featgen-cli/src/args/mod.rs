//! What the user can say. Names, defaults and meanings are a contract; ranges are checked by the library.

mod convert;
mod space;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use featgen::data::ClassWeights;
use featgen::data::read::Reader;
use featgen::{Error, Machine};

pub(crate) use convert::{ConvertArgs, Size};
pub(crate) use space::{GroupingArgs, SpaceArgs, SpaceKind, TreeKind};

#[derive(Parser)]
#[command(
    name = "featgen",
    version,
    about = "Selects the few features that matter out of very many, and proves how good the selection is.",
    after_help = "\
Quick start:
  featgen demo                                          see it work on data made in memory
  featgen train data.svm --features 20 -o model.json    select 20 features and fit a model
  featgen predict model.json new.svm                    classify new data with them",
    after_long_help = "\
Quick start:
  featgen demo                                          see it work on data made in memory
  featgen train data.svm --features 20 -o model.json    select 20 features and fit a model
  featgen predict model.json new.svm                    classify new data with them

Input is recognised by its content: svmlight/LIBSVM text, plain or compressed by gzip or zstd; CSV with a header \
(name the label's column with --label); NumPy .npy (give the labels with --labels). `-` is standard input.

Files that are written appear whole or not at all and never take the place of an input. One that is replaced keeps its \
permissions; a symbolic link is followed, even to a file that is not there yet, and stays.

Exit codes: 0 success; 1 bad input, with one line FILE:LINE:COLUMN: what is wrong; 2 bad usage; 130 interrupted, \
after the model so far was saved and shown."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Train(Box<TrainArgs>),
    Predict(PredictArgs),
    Inspect(InspectArgs),
    Convert(ConvertArgs),
    Synth(SynthArgs),
    Demo(DemoArgs),
}

/// Select features, fit a model, and show what was selected.
#[derive(Args)]
#[command(after_help = "\
Examples:
  featgen train data.svm                                10 features a round until little is gained
  featgen train data.svm.gz --features 50 -o model.json exactly 50 features, model saved
  featgen train data.csv --label sick --json            a table with a header; the result as JSON
  featgen train x.npy --labels y.txt --test xt.npy --test-labels yt.txt
  featgen train data.svm --gap 0.01 -C 1                until proven within 1 % of the optimum
  featgen train genes.csv --label sick --groups pathways.txt --features 5
  featgen train words.svm --space products --degree 3   words, pairs and triples of them
  featgen train huge.svm --checkpoint run.ckpt -o m.json if it is ended, the same again goes on

Ctrl-C ends the run with the model so far, saved and shown (exit code 130); a second Ctrl-C ends it at once.")]
pub(crate) struct TrainArgs {
    /// The data to learn from; `-` for standard input
    pub(crate) data: PathBuf,

    /// Save the model in this file (readable JSON)
    #[arg(short, long, value_name = "MODEL", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// One weight an instance, one a line: how much each counts
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(crate) weights: Option<PathBuf>,

    /// One feature name a line, in order
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(crate) names: Option<PathBuf>,

    /// Data to test the model on
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(crate) test: Option<PathBuf>,

    /// Labels of the test data, one a line (for .npy)
    #[arg(long, value_name = "FILE", requires = "test", help_heading = "Input")]
    pub(crate) test_labels: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) learning: LearningArgs,

    /// Bound on memory, such as 1GB, for data that are mapped: a store, or a plain .npy
    ///
    /// A run that would need more is refused before it begins. Pages of mapped data are not counted: the system gives and
    /// takes them as it likes.
    #[arg(long, value_name = "SIZE", help_heading = "Input")]
    pub(crate) memory: Option<Size>,

    /// Keep the run in this file after every round; if it is there, go on from it
    ///
    /// However a run was ended, the same command given again ends with the same model, bit for bit. The file stays. With
    /// other data or other options it is refused. Only options that change no earlier round may differ: --debias,
    /// --threads, and stopping rules that would not have ended the run earlier (more --max-rounds, a smaller --tol, a
    /// smaller --gap, more --features with the same --budget).
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) checkpoint: Option<PathBuf>,

    /// Print the result as one JSON object, and nothing else, on standard output
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}

/// How data files are to be understood.
#[derive(Args)]
pub(crate) struct InputArgs {
    /// The column of a CSV file that holds the labels
    #[arg(long, value_name = "COLUMN", help_heading = "Input")]
    label: Option<String>,

    /// Labels, one a line (for .npy)
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    labels: Option<PathBuf>,

    /// Threads to use, at most 4 for each processor or 64; results do not depend on it [default: all]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,
}

impl InputArgs {
    pub(crate) fn reader(&self) -> Reader {
        self.reader_with_labels(self.labels.as_ref())
    }

    /// A reader for further data of the same kind, whose labels are elsewhere.
    pub(crate) fn reader_with_labels(&self, labels: Option<&PathBuf>) -> Reader {
        let mut reader = Reader::new().threads(self.threads);
        if let Some(column) = &self.label {
            reader = reader.label_column(column);
        }
        if let Some(file) = labels {
            reader = reader.labels_file(file);
        }
        reader
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    pub(crate) fn labels(&self) -> Option<&Path> {
        self.labels.as_deref()
    }
}

impl Command {
    /// The threads asked for, where a command uses some.
    pub(crate) fn threads(&self) -> Option<usize> {
        match self {
            Self::Train(args) => Some(args.input.threads()),
            Self::Predict(args) => Some(args.input.threads()),
            Self::Convert(args) => Some(args.input.threads()),
            Self::Inspect(_) | Self::Synth(_) | Self::Demo(_) => None,
        }
    }
}

/// How features are selected and weights are found.
#[derive(Args)]
#[command(next_help_heading = "Learning")]
pub(crate) struct LearningArgs {
    /// Stop with exactly K features (groups, with --groups) that carry weight
    ///
    /// If the optimum for the cost holds fewer, the cost is doubled until K do; the cost used is reported. --tol and
    /// --max-rounds then apply only if given.
    #[arg(long, value_name = "K")]
    pub(crate) features: Option<usize>,

    /// Features (groups) added per round [default: 10; with --features K: K/10, within 1 and 50]
    ///
    /// Small numbers select more carefully, large ones need fewer rounds. Worth trying: 1 to 100.
    #[arg(short = 'B', long, value_name = "N")]
    budget: Option<usize>,

    /// Weight of the errors against the size of the weights
    ///
    /// Worth trying: 1 to 100, the upper end for sparse rows of unit length.
    #[arg(short = 'C', long, value_name = "X", default_value_t = 10.0, allow_negative_numbers = true)]
    cost: f64,

    /// How errors count
    ///
    /// With `logistic` the model can predict probabilities.
    #[arg(long, default_value = "squared-hinge", value_parser = PossibleValuesParser::new(["squared-hinge", "logistic"]))]
    loss: String,

    /// Learn no shift: decision values are 0 where all features are
    #[arg(long)]
    no_shift: bool,

    /// How much a class counts, as LABEL=X (may be repeated), or `balanced`
    ///
    /// `balanced` weighs classes inversely to their frequency, so that both together count the same.
    #[arg(long, value_name = "LABEL=X|balanced", allow_hyphen_values = true)]
    weight: Vec<ClassWeight>,

    #[command(flatten)]
    pub(crate) space: SpaceArgs,

    /// Run until the selection is proven to be within this part of the optimum
    ///
    /// 0.01 means 1 %. Features may be proposed again; --tol, --max-rounds and --features then apply only if given.
    #[arg(long, value_name = "G", allow_negative_numbers = true)]
    gap: Option<f64>,

    /// At most this many rounds [default: 20]
    ///
    /// Without --features or --gap, 5 to 20 are usual.
    #[arg(long, value_name = "T")]
    max_rounds: Option<usize>,

    /// Stop when a round lowers the objective by less than this part of its first value [default: 1e-3]
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    tol: Option<f64>,

    /// How exactly each round is solved: its relative duality gap
    #[arg(long, value_name = "E", default_value = "1e-4", allow_negative_numbers = true)]
    inner_tol: f64,

    /// With the solvers apg and pg: end a round by its relative decrease instead
    ///
    /// The rule of the paper (eq. 37); it used 1e-3 ("inexact") and 1e-6 ("exact").
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    inner_decrease: Option<f64>,

    /// What finds the weights in each round
    #[arg(long, default_value = "auto", value_parser = PossibleValuesParser::new(["auto", "newton", "apg", "pg"]))]
    solver: String,

    /// Afterwards, refit with this cost on the selected features only
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    debias: Option<f64>,

    // Last, for its heading is that of all options after it.
    #[command(flatten)]
    pub(crate) grouping: GroupingArgs,
}

impl LearningArgs {
    /// How exactly each round is to be solved.
    pub(crate) fn inner_tol(&self) -> f64 {
        self.inner_tol
    }

    /// The machine with these settings, checked.
    pub(crate) fn machine(&self) -> Result<Machine, Error> {
        let mut machine = Machine::new()
            .cost(self.cost)
            .loss(featgen::objective::by_name(&self.loss)?)
            .shift(!self.no_shift)
            .inner_tol(self.inner_tol)
            .solver(&self.solver)
            .class_weights(class_weights(&self.weight)?);
        machine = given(machine, self.budget, Machine::budget);
        machine = given(machine, self.features, Machine::features);
        machine = given(machine, self.max_rounds, Machine::max_rounds);
        machine = given(machine, self.tol, Machine::tol);
        machine = given(machine, self.inner_decrease, Machine::inner_decrease);
        machine = given(machine, self.gap, Machine::gap);
        machine = given(machine, self.debias, Machine::debias);
        self.space.check()?;
        machine.validate()?;
        Ok(machine)
    }
}

fn given<T>(machine: Machine, value: Option<T>, set: impl FnOnce(Machine, T) -> Machine) -> Machine {
    match value {
        Some(value) => set(machine, value),
        None => machine,
    }
}

/// One `--weight`.
#[derive(Clone)]
enum ClassWeight {
    Balanced,
    Given(String, f64),
}

impl FromStr for ClassWeight {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "balanced" {
            return Ok(Self::Balanced);
        }
        // The label may hold a `=` itself; the number cannot.
        let (label, number) = text.rsplit_once('=').ok_or("expected LABEL=X or balanced")?;
        let weight = number.parse().map_err(|_| format!("{number} is not a number"))?;
        Ok(Self::Given(label.to_owned(), weight))
    }
}

fn class_weights(options: &[ClassWeight]) -> Result<ClassWeights, Error> {
    match options {
        [] => Ok(ClassWeights::Equal),
        [ClassWeight::Balanced] => Ok(ClassWeights::Balanced),
        several => {
            let pair = |option: &ClassWeight| match option {
                ClassWeight::Given(label, weight) => Ok((label.clone(), *weight)),
                ClassWeight::Balanced => Err(Error::parameter("weight", "balanced stands alone")),
            };
            several.iter().map(pair).collect::<Result<_, _>>().map(ClassWeights::Given)
        }
    }
}

/// How much is told on the way.
#[derive(Args)]
pub(crate) struct TalkArgs {
    /// No progress, no notes
    #[arg(short, long, conflicts_with = "verbose", help_heading = "Output")]
    pub(crate) quiet: bool,

    /// A line per round on standard error
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,
}

/// Classify data with a saved model.
///
/// Predictions go to standard output, one a line. If the data have labels, accuracy and area under the ROC curve go to
/// standard error.
///
/// Data may have any number of rows: they are read and predicted in batches, and only the features that the model uses are
/// kept. For the area under the curve, 8 bytes are kept for each row with a label. (A compressed array by columns must fit
/// in memory.) Standard output gets predictions as they come, up to the first mistake in the data: where lines are sent one by
/// one, through a pipe, each is answered at once. A file appears whole.
///
/// Of a table, only the columns that the model uses are looked at, and that of --label: others may hold anything. Features
/// that the data lack count as 0, and a note says so, even with -q if they are half of the model's features or more. If all
/// are lacking, that is an error, unless --missing-ok is given. In svmlight text, where absent means 0, they lack if none of
/// them stands in any line, which is known at the end.
#[derive(Args)]
#[command(after_help = "\
Examples:
  featgen predict model.json new.svm                       labels, one a line
  featgen predict model.json new.svm -o predicted.txt      the same in a file
  featgen predict model.json new.svm --output-kind decision
  featgen predict model.json test.svm --features 10        with the 10 features it had on its path
  tail -f log.svm | featgen predict model.json -           an answer to every line as it comes
  featgen predict model.json test.csv --label sick --json  only how good it is")]
pub(crate) struct PredictArgs {
    /// A model saved by `featgen train -o`
    pub(crate) model: PathBuf,

    /// The data to classify; `-` for standard input
    pub(crate) data: PathBuf,

    /// Write the predictions to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// What to predict
    #[arg(long, value_enum, default_value_t = OutputKind::Label)]
    pub(crate) output_kind: OutputKind,

    /// Use the model as it was on its path when it had K features (groups), or the nearest number below
    #[arg(long, value_name = "K")]
    pub(crate) features: Option<usize>,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// Predict even if the data have none of the features that the model looks at
    #[arg(long, help_heading = "Input")]
    pub(crate) missing_ok: bool,

    /// Print {"n", "accuracy", "auc", "missing"} on standard output; predictions are then only written with -o
    ///
    /// "missing" is how many of the features that the model looks at the data lack.
    #[arg(long)]
    pub(crate) json: bool,

    /// No summary, and no notes but that half of the model's features are missing
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum OutputKind {
    /// The class
    Label,
    /// The decision value: above 0 means the second class
    Decision,
    /// The probability of the second class (models trained with --loss logistic)
    Probability,
}

/// Show the features or groups of a model in order of importance, its rounds, and its certificate.
#[derive(Args)]
#[command(after_help = "\
Examples:
  featgen inspect model.json             all selected features
  featgen inspect model.json --top 10    the ten most important
  featgen inspect model.json --path      how objective, bound and accuracy developed
  featgen inspect model.json --json      everything, for programs
  featgen inspect data.store             the size of a store, its labels, whether it is undamaged")]
pub(crate) struct InspectArgs {
    /// A model saved by `featgen train -o`, or a store made by `featgen convert`
    pub(crate) model: PathBuf,

    /// Show the rounds instead of the features
    #[arg(long, conflicts_with_all = ["json", "top"])]
    pub(crate) path: bool,

    /// Where there are groups, show their features one by one
    #[arg(long, conflicts_with_all = ["json", "path"])]
    pub(crate) members: bool,

    /// Show only the N most important features (groups)
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,

    /// Print the model as `train --json` does, without the times
    #[arg(long, conflicts_with = "top")]
    pub(crate) json: bool,
}

/// Make a data set from a seed, with a known solution.
#[derive(Args)]
#[command(after_help = "\
Examples:
  featgen synth linear -o toy --rows 1000 --features 5000 --relevant 20
  featgen synth linear -o big --features 1000000 --density 0.001
  featgen synth group -o toy --rows 1000 --features 5000 --relevant 20
  featgen synth products -o toy --rows 5000 --features 20000 --relevant 5")]
pub(crate) struct SynthArgs {
    #[command(subcommand)]
    pub(crate) kind: SynthKind,
}

#[derive(Subcommand)]
pub(crate) enum SynthKind {
    Linear(LinearArgs),
    Group(GroupArgs),
    Products(ProductsArgs),
}

/// Two classes apart by a linear rule on a few of many normal features.
///
/// Values are drawn from N(0, 1), the weights of the relevant features from U(0, 1), and the label of x is the sign of
/// x . w - shift. The same seed makes the same data on every machine.
#[derive(Args)]
#[command(after_help = "\
Files (and the same with `test` for `train`):
  PREFIX.train.svm         svmlight text, or
  PREFIX.train.npy         NumPy float32, with
  PREFIX.train.labels.txt  a label a line
  PREFIX.truth.txt         `FEATURE WEIGHT` a line for the relevant features, counted
                           from 1; the shift stands in a comment, `# shift X`

Example:
  featgen synth linear -o toy --rows 1000 --features 5000 --relevant 20")]
pub(crate) struct LinearArgs {
    #[command(flatten)]
    pub(crate) set: SetArgs,

    /// Features with a weight
    #[arg(long, value_name = "K", default_value_t = 300)]
    pub(crate) relevant: usize,
}

/// Two classes apart by a linear rule on a few groups of many normal features.
///
/// Values are drawn from N(0, 1), the weights of all features in the relevant groups from N(0, 1), and the label of x is
/// the sign of x . w - shift. Groups are neighbouring features. The same seed makes the same data on every machine.
#[derive(Args)]
#[command(
    // The paper's sizes, other than those of its problem without groups.
    mut_arg("test_rows", |arg| arg.default_value("2000")),
    mut_arg("features", |arg| arg.default_value("400000")),
    after_help = "\
Files (and the same with `test` for `train`):
  PREFIX.train.svm         svmlight text, or
  PREFIX.train.npy         NumPy float32, with
  PREFIX.train.labels.txt  a label a line
  PREFIX.groups.txt        `gN: FIRST-LAST` a line for every group, counted from 1
  PREFIX.truth.txt         `FEATURE WEIGHT GROUP` a line for the relevant features,
                           counted from 1; the shift stands in a comment, `# shift X`

The defaults are the paper's: 6.6 GB of training data, held in memory while they are made.

Example:
  featgen synth group -o toy --rows 1000 --features 5000 --relevant 20"
)]
pub(crate) struct GroupArgs {
    #[command(flatten)]
    pub(crate) set: SetArgs,

    /// Features in a group; the last may hold fewer
    #[arg(long, value_name = "S", default_value_t = 10)]
    pub(crate) group_size: usize,

    /// Groups whose features have weights
    #[arg(long, value_name = "K", default_value_t = 100)]
    pub(crate) relevant: usize,
}

/// Two classes apart by a few products of many sparse features: by what occurs together.
///
/// Features are rare, some less than others: the one of rank j occurs in a part of the instances that falls like
/// 1/j^skew and is at most a quarter; ranks are scattered over the features. The factors of each relevant product occur
/// together in the part `support` of the instances, and each alone in as many. Weights are from U(0.5, 1), half of them
/// negative, and the label of x is the sign of the weighted sum of the products less a shift, the median. Classes are
/// about equally large where K times `support` is 2 or more. The same seed makes the same data on every machine.
#[derive(Args)]
#[command(after_help = "\
Files (and the same with `test` for `train`):
  PREFIX.train.svm  svmlight text
  PREFIX.truth.txt  `PRODUCT WEIGHT` a line for the relevant products, with factors
                    counted from 1, as in `17*4021 0.83`; the shift stands in a
                    comment, `# shift X`

Examples:
  featgen synth products -o toy --rows 5000 --features 20000 --relevant 5
  featgen synth products -o toy --degree 3 --values real

One of the shape of kddb, of 29 million values:
  featgen synth products -o kddb --rows 1000000 --test-rows 100000 \\
      --features 4590807 --per-row 29 --relevant 100 --support 0.02")]
pub(crate) struct ProductsArgs {
    /// What the names of the files begin with
    #[arg(short, long, value_name = "PREFIX")]
    pub(crate) output: PathBuf,

    /// Training instances
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub(crate) rows: usize,

    /// Test instances; 0 for no test set
    #[arg(long, value_name = "N", default_value_t = 5000)]
    pub(crate) test_rows: usize,

    /// Features
    #[arg(long, value_name = "M", default_value_t = 100_000)]
    pub(crate) features: usize,

    /// Mean number of values of an instance that are not zero
    #[arg(long, value_name = "X", default_value_t = 30.0, allow_negative_numbers = true)]
    pub(crate) per_row: f64,

    /// How fast features become rare; 0 makes all equally frequent, 1 is Zipf's law
    #[arg(long, value_name = "A", default_value_t = 1.0, allow_negative_numbers = true)]
    pub(crate) skew: f64,

    /// Factors of a relevant product
    #[arg(long, value_name = "D", default_value_t = 2)]
    pub(crate) degree: usize,

    /// Products with a weight
    #[arg(long, value_name = "K", default_value_t = 10)]
    pub(crate) relevant: usize,

    /// The part of the instances that the factors of a relevant product are put into together
    #[arg(long, value_name = "P", default_value_t = 0.2, allow_negative_numbers = true)]
    pub(crate) support: f64,

    /// The part of the labels that are turned
    #[arg(long, value_name = "P", default_value_t = 0.05, allow_negative_numbers = true)]
    pub(crate) noise: f64,

    /// What values that are not zero are
    #[arg(long, value_enum, default_value_t = ValueChoice::Ones)]
    pub(crate) values: ValueChoice,

    /// What makes the random numbers differ
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum ValueChoice {
    /// All 1
    Ones,
    /// From U(0, 1)
    Real,
}

/// What kinds of set with normal features are told.
#[derive(Args)]
pub(crate) struct SetArgs {
    /// What the names of the files begin with
    #[arg(short, long, value_name = "PREFIX")]
    pub(crate) output: PathBuf,

    /// Training instances
    #[arg(long, value_name = "N", default_value_t = 4096)]
    pub(crate) rows: usize,

    /// Test instances; 0 for no test set
    #[arg(long, value_name = "N", default_value_t = 4096)]
    pub(crate) test_rows: usize,

    /// Features
    #[arg(long, value_name = "M", default_value_t = 4096)]
    pub(crate) features: usize,

    /// The part of the values that are not zero, above 0 and at most 1
    #[arg(long, value_name = "D", default_value_t = 1.0, allow_negative_numbers = true)]
    pub(crate) density: f64,

    /// The threshold between the classes
    #[arg(long, value_name = "B", default_value_t = 0.0, allow_negative_numbers = true)]
    pub(crate) shift: f64,

    /// What makes the random numbers differ
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Kind of files
    #[arg(long, value_enum, default_value_t = SynthFormat::Auto)]
    pub(crate) format: SynthFormat,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum SynthFormat {
    /// npy if every value is stored, svm otherwise
    Auto,
    /// svmlight text
    Svm,
    /// NumPy float32, columns together
    Npy,
    /// A store, written as it is made: it may be larger than memory
    Store,
}

/// See it work: make data in memory, find the relevant features again, and compare.
#[derive(Args)]
#[command(after_help = "\
Examples:
  featgen demo
  featgen demo --features 100000 --relevant 20 --select 20 --seed 7")]
pub(crate) struct DemoArgs {
    /// Training instances; 1,000 more are for the test
    #[arg(long, value_name = "N", default_value_t = 4000)]
    pub(crate) rows: usize,

    /// Features
    #[arg(long, value_name = "M", default_value_t = 10_000)]
    pub(crate) features: usize,

    /// Features that decide the labels
    #[arg(long, value_name = "R", default_value_t = 30)]
    pub(crate) relevant: usize,

    /// Features to select
    #[arg(long, value_name = "K", default_value_t = 30)]
    pub(crate) select: usize,

    /// What makes the random numbers differ
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
}
