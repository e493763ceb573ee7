//! How many features, and how good they are: cross-validation over the whole path.
//!
//! | room | what it knows |
//! |---|---|
//! | `folds` | who is held out, and when |
//! | `metric` | what is measured of those held out, and what no features at all would reach |
//! | `study` | a run in which some instances do not count |
//! | `cross` | all folds at all costs |
//! | `result` | the mean and its error at every number of features, the best and the one to choose |
//!
//! A fold is a run of the machine in which the instances held out count 0 times. Nothing of them reaches it: the default cost and the
//! scales of columns are those of the instances that count, and what is learned of the values of a table is learned anew.

mod cross;
mod folds;
mod metric;
mod result;
mod study;

pub use cross::{Costs, CrossValidation};
pub use folds::{Folds, Split};
pub use metric::Metric;
pub use result::{Curve, Estimate, Point, Validated};
pub use study::{Study, Subject};
