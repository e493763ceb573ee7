//! What `train` can be told, other than how to learn.

use std::path::PathBuf;

use clap::Args;

use super::{CvArgs, InputArgs, LearningArgs, PeopleArgs, Size, TableArgs, TalkArgs};

/// Select features, fit a model, and show what was selected.
#[derive(Args)]
#[command(after_help = "\
Examples:
  featgen train data.svm                                10 features a round until little is gained
  featgen train data.svm.gz --features 50 -o model.json exactly 50 features, model saved
  featgen train data.csv --label sick --json            a table with a header; the result as JSON
  featgen train x.npy --labels y.txt --test xt.npy --test-labels yt.txt
  featgen train x.mtx --transpose --labels y.txt        columns are instances, as of 10x Genomics
  featgen train data.svm --gap 0.01 -C 1                until proven within 1 % of the optimum
  featgen train genes.csv --label sick --groups pathways.gmt --features 5
  featgen train x.bed --pheno traits.txt --label bmi --covar pcs.txt --loss squared --features 20
  featgen train data.svm --features 20 --cv 5           with an honest estimate of how good they are
  featgen train data.svm --features 20 --stability 100  and how often each is selected from half of the data
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

    #[command(flatten)]
    pub(crate) people: PeopleArgs,

    /// One weight an instance, one a line: how much each counts
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(crate) weights: Option<PathBuf>,

    /// One feature name a line, in order
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(crate) names: Option<PathBuf>,

    /// Data to test the model on
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(crate) test: Option<PathBuf>,

    /// Labels of the test data, one a line (for .npy and .mtx)
    #[arg(long, value_name = "FILE", requires = "test", help_heading = "Input")]
    pub(crate) test_labels: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) table: TableArgs,

    #[command(flatten)]
    pub(crate) learning: LearningArgs,

    #[command(flatten)]
    pub(crate) cv: CvArgs,

    /// Select from R random halves of the instances too, and say how often each feature is selected
    ///
    /// Halves come in pairs that have no instance in common, so R is even; 100 are usual. The result has a bound on how many of the
    /// features that are often selected are expected to be there by chance.
    #[arg(long, value_name = "R", help_heading = "How sure")]
    pub(crate) stability: Option<usize>,

    /// For each feature, name others whose correlation with it is at least R, such as 0.9
    #[arg(long, value_name = "R", help_heading = "How sure", allow_negative_numbers = true)]
    pub(crate) stand_ins: Option<f64>,

    /// Bound on memory, such as 1GB, for data that are mapped: a store, a plain .npy or a .bed
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
    /// smaller --gap, and with --select paper more --features with the same --budget).
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) checkpoint: Option<PathBuf>,

    /// Print the result as one JSON object, and nothing else, on standard output
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}

impl TrainArgs {
    /// Whether cross-validation is asked for.
    pub(crate) fn wants_cv(&self) -> bool {
        self.cv.is_wanted(self.stability.is_none())
    }
}
