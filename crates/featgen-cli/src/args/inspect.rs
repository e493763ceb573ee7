//! What `inspect` can be told.

use std::path::PathBuf;

use clap::Args;

use super::TableArgs;

/// Show the features or groups of a model in order of importance, its rounds, and its certificate; or what the columns of a table are.
#[derive(Args)]
#[command(after_help = "\
Examples:
  featgen inspect model.json             all selected features
  featgen inspect model.json --top 10    the ten most important
  featgen inspect model.json --path      how objective, bound and accuracy developed
  featgen inspect model.json --json      everything, for programs
  featgen inspect data.store             the size of a store, its labels, whether it is undamaged
  featgen inspect data.csv --label y     what the columns of a table are, and what becomes of each")]
pub(crate) struct InspectArgs {
    /// A model saved by `featgen train -o`, a store made by `featgen convert`, or a table
    pub(crate) model: PathBuf,

    /// Show the rounds instead of the features
    #[arg(long, conflicts_with_all = ["json", "top"])]
    pub(crate) path: bool,

    /// Where there are groups, show their features one by one
    #[arg(long, conflicts_with_all = ["json", "path"])]
    pub(crate) members: bool,

    /// Show only the N most important features (groups), or the first columns of a table
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,

    /// Print the model as `train --json` does, without the times
    #[arg(long, conflicts_with = "top")]
    pub(crate) json: bool,

    /// Of a table: the column that holds the labels
    #[arg(long, value_name = "COLUMN", help_heading = "Tables")]
    pub(crate) label: Option<String>,

    #[command(flatten)]
    pub(crate) table: TableArgs,
}
