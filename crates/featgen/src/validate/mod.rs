//! How many features, how good they are, and how sure: cross-validation over the whole path, selection from halves, and stand-ins.
//!
//! | room | what it knows |
//! |---|---|
//! | `folds` | who is held out, and when |
//! | `metric` | what is measured of those held out, and what no features at all would reach |
//! | `study` | a run in which some instances do not count |
//! | `side_by_side` | runs that leave instances out, several at a time |
//! | `together` | one reading of the data for several runs |
//! | `cross` | all folds at all costs |
//! | `stability` | how often features are selected from halves of the instances |
//! | `stand_ins` | other columns that say much the same as a feature |
//! | `result` | the mean and its error at every number of features, the best and the one to choose |
//!
//! A fold is a run of the machine in which the instances held out count 0 times. Nothing of them reaches it: the default cost and the
//! scales of columns are those of the instances that count, and what is learned of the values of a table is learned anew.

mod cross;
mod folds;
mod metric;
mod result;
mod side_by_side;
mod stability;
mod stand_ins;
mod study;
mod together;

pub use cross::{Costs, CrossValidation};
pub use folds::{Folds, Split};
pub use metric::Metric;
pub use result::{Curve, Estimate, Point, UNEVEN, Validated};
pub use stability::Halves;
pub use stand_ins::StandInSearch;
pub use study::{Study, Subject};
