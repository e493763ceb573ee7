//! What `predict` can be told.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{InputArgs, PeopleArgs};

/// Classify data with a saved model.
///
/// Predictions go to standard output, one a line. If the data have labels, accuracy and area under the ROC curve go to
/// standard error.
///
/// Data may have any number of rows: they are read and predicted in batches, and only the features that the model uses are
/// kept. For the area under the curve, 8 bytes are kept for each row with a label. (A compressed array by columns must fit
/// in memory, and so must the columns used of a Matrix Market file, which is read whole.) Standard output gets predictions as they come, up to the first mistake in the data: where lines are sent one by
/// one, through a pipe, each is answered at once. A file appears whole.
///
/// Of a table, only the columns that the model uses are looked at, and that of --label: others may hold anything. Features
/// that the data lack count as 0, and a note says so, even with -q if they are half of the model's features or more. If all
/// are lacking, that is an error, unless --missing-ok is given. In svmlight text, where absent means 0, they lack if none of
/// them stands in any line, which is known at the end.
///
/// Variants of a .bed are found by their names, and count the allele that counted in training, whichever comes first; one whose
/// alleles are others is an error. A missing genotype has the mean of the people who were trained on.
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

    /// A number an instance, one a line, that is added to its decision value
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(crate) offset: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) people: PeopleArgs,

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
    /// The class; the number, the expected count, or the logarithm of the risk
    Label,
    /// The decision value: of two classes, above 0 means the second; of more, one each
    Decision,
    /// The probability of the second class (--loss logistic), or of all (--loss softmax)
    Probability,
}
