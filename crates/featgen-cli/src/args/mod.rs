//! What the user can say. Names, defaults and meanings are a contract; ranges are checked by the library.

mod convert;
mod cv;
mod demo;
mod described;
mod export;
mod input;
mod inspect;
mod learning;
mod path;
mod people;
mod predict;
mod report;
mod space;
mod synth;
mod table;
mod train;

use clap::{Args, Parser, Subcommand};

pub(crate) use convert::{ConvertArgs, Size};
pub(crate) use cv::CvArgs;
pub(crate) use demo::DemoArgs;
pub(crate) use export::ExportArgs;
pub(crate) use input::InputArgs;
pub(crate) use inspect::InspectArgs;
pub(crate) use learning::LearningArgs;
pub(crate) use path::PathArgs;
pub(crate) use people::PeopleArgs;
pub(crate) use predict::{OutputKind, PredictArgs};
pub(crate) use report::ReportArgs;
pub(crate) use space::{GroupingArgs, SpaceArgs};
pub(crate) use synth::{
    BedArgs, GroupArgs, LinearArgs, ProductsArgs, SetArgs, SynthArgs, SynthFormat, SynthKind, SynthTableArgs,
    TableChoice, ValueChoice,
};
pub(crate) use table::TableArgs;
pub(crate) use train::TrainArgs;

#[derive(Parser)]
#[command(
    name = "featgen",
    version,
    about = "Selects the few features that matter out of very many, and proves how good the selection is.",
    after_help = "\
Quick start:
  featgen demo                                          see it work on data made in memory
  featgen train data.svm --features 20 -o model.json    select 20 features and fit a model
  featgen path data.svm                                 how many features, and how good they are
  featgen predict model.json new.svm                    classify new data with them
  featgen report model.json -o page.html                a page about it, for a browser",
    after_long_help = "\
Quick start:
  featgen demo                                          see it work on data made in memory
  featgen train data.svm --features 20 -o model.json    select 20 features and fit a model
  featgen path data.svm                                 how many features, and how good they are
  featgen predict model.json new.svm                    classify new data with them
  featgen report model.json -o page.html                a page about it, for a browser

Input is recognised by its content: svmlight/LIBSVM text, plain or compressed by gzip or zstd; CSV with a header \
(name the label's column with --label; columns may be numbers, categories, dates and text, with values missing); Parquet \
and Arrow files likewise; Matrix Market .mtx and NumPy .npy (give the labels with --labels); PLINK .bed, with .bim and .fam \
beside it (--pheno, --covar). `-` is standard input.

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
    Path(Box<PathArgs>),
    Predict(PredictArgs),
    Inspect(InspectArgs),
    Report(ReportArgs),
    Export(ExportArgs),
    Convert(ConvertArgs),
    Synth(SynthArgs),
    Demo(DemoArgs),
}

impl Command {
    /// The threads asked for, where a command uses some.
    pub(crate) fn threads(&self) -> Option<usize> {
        match self {
            Self::Train(args) => Some(args.input.threads()),
            Self::Path(args) => Some(args.train.input.threads()),
            Self::Predict(args) => Some(args.input.threads()),
            Self::Report(args) => Some(args.input.threads()),
            Self::Convert(args) => Some(args.input.threads()),
            Self::Inspect(_) | Self::Export(_) | Self::Synth(_) | Self::Demo(_) => None,
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
