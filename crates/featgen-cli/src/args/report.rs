//! What `report` can be told.

use std::path::PathBuf;

use clap::Args;

use super::{InputArgs, PeopleArgs};

/// Make a page about a model: what was selected, how good it is, what is proven, and how to repeat it.
///
/// The page is one file that any browser shows and prints, light or dark, also on a phone. It asks nothing of the network, so it can be
/// sent and archived. With --test it has what fits the outcome: a confusion matrix, ROC curve and calibration for classes; predicted
/// against true and residuals for numbers and counts; Kaplan-Meier curves by thirds of the risk for times.
///
/// How good other numbers of features are is shown from the cross-validation of `featgen path -o` or `featgen train --cv`, which is kept
/// with the model; else from the training data, and the page says so.
#[derive(Args)]
#[command(after_help = "\
Examples:
  featgen report model.json -o page.html                           what was selected, and what is proven
  featgen report model.json --test test.svm -o page.html           and how good it is on other data
  featgen report model.json --test test.csv --label sick -o page.html")]
pub(crate) struct ReportArgs {
    /// A model saved by `featgen train -o`
    pub(crate) model: PathBuf,

    /// Data with labels that the model was not learned from; `-` for standard input
    #[arg(long, value_name = "DATA")]
    pub(crate) test: Option<PathBuf>,

    /// Write the page to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// A number for each test instance, one a line, that is added to its decision value
    #[arg(long, value_name = "FILE", requires = "test", help_heading = "Input")]
    pub(crate) offset: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) people: PeopleArgs,

    /// Show predictions even if the test data have none of the features that the model looks at
    #[arg(long, requires = "test", help_heading = "Input")]
    pub(crate) missing_ok: bool,

    /// No notes but that half of the model's features are missing
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
