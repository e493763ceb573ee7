//! What `export` can be told.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};

/// Write a model as something that runs without featgen.
///
/// What is written takes data as they are: products, curves, categories, missing values and scaling are part of it. It gives
/// the decision value, the prediction (the class; the number, the expected count, or the logarithm of the risk) and, where the
/// model has them, probabilities. What a target cannot express is an error that says which targets can.
#[derive(Args)]
#[command(after_help = "\
Examples:
  featgen export model.json --to onnx -o model.onnx             for onnxruntime
  featgen export model.json --to sql --table people | sqlite3 people.db
  featgen export model.json --to c -o model.c                   to be compiled with a program
  featgen export model.json --to python --features 10 -o m.py   with the 10 features of its path")]
pub(crate) struct ExportArgs {
    /// A model saved by `featgen train -o`
    pub(crate) model: PathBuf,

    /// What to write
    #[arg(long, value_name = "TARGET", value_parser = targets())]
    pub(crate) to: String,

    /// Write to this file; without it, or with `-`, text goes to standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Use the model as it was on its path when it had K features (groups), or the nearest number below
    #[arg(long, value_name = "K")]
    pub(crate) features: Option<usize>,

    /// The table that SQL selects from
    #[arg(long, value_name = "NAME", default_value = "data")]
    pub(crate) table: String,

    /// No notes
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

fn targets() -> PossibleValuesParser {
    featgen_export::ALL.map(|target| PossibleValue::new(target.name).help(target.help)).into()
}
