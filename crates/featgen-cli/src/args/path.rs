//! What `path` can be told: all that `train` can.

use clap::Args;

use super::TrainArgs;

/// How many features: cross-validate every number of them, and choose.
#[derive(Args)]
#[command(after_help = "\
Examples:
  featgen path data.svm                                 up to 50 features, 5 folds
  featgen path genes.csv --label sick --features 30 --repeats 5
  featgen path data.svm -C auto -o model.json           costs too; the model of the number chosen is saved
  featgen path data.svm --loss logistic,squared-hinge -B 1,5      the best combination of what is listed
  featgen path visits.csv --label sick --fold-column patient --cv 10
  featgen path data.svm --json                          the result as JSON

One run a fold gives every number of features up to --features [default: 50, or all there are]. Of --select best, these are the features \
as rounds take them, before any exchange, unless --exchange is given. -C takes several costs (0.01,0.1,1), or `auto`: 0.1, 0.3, 1 and 3 times \
the default of each fold. --loss, -B, --scale, --delta, --space and the numbers of spaces take lists as well: all combinations are \
cross-validated, and the one with the best mean is chosen. The number chosen is the smallest whose mean is within one standard error of the best. With -o, the machine is run \
once more, on all data, with that number and cost. Ctrl-C ends at once; nothing is written.")]
pub(crate) struct PathArgs {
    #[command(flatten)]
    pub(crate) train: TrainArgs,
}
