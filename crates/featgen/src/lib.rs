//! featgen selects the few features that matter out of very many, and proves how good the selection is.
//!
//! It is the Feature Generating Machine of Tan, Tsang and Wang (JMLR 2014): each round finds, exactly, the features that
//! violate optimality most, and refits. The same search yields a lower bound on the optimum over *all* features, so
//! every result comes with a certified gap.
//!
//! ```
//! use featgen::{LinearSpace, Machine, synth};
//! # fn main() -> featgen::Result<()> {
//! let made = synth::Linear { rows: 200, features: 500, relevant: 10, ..Default::default() }.generate()?;
//! let model = Machine::new().budget(5).cost(10.0).features(20).fit(&LinearSpace::new(&made.train), &made.train.labels)?;
//! println!("{} features, gap {:.1e}", model.selected().len(), model.certificate.gap());
//! assert_eq!(model.selected().len(), 20);
//! # Ok(())
//! # }
//! ```
//!
//! | module | what it knows |
//! |---|---|
//! | [`data`] | where instances live: storage and readers |
//! | [`table`] | what the columns of a table mean, and how they become features |
//! | [`target`] | what is to be predicted: classes, numbers, counts, times |
//! | [`objective`] | how errors count, and what is never penalised |
//! | [`feature`] | what a feature is, one file a kind |
//! | [`space`] | who proposes features |
//! | [`operator`] | their columns, written down or not |
//! | [`subproblem`] | what weights they get |
//! | [`machine`] | the loop, its stopping rules and its certificate |
//! | [`model`] | what is kept: terms and weights, prediction, files |
//! | [`validate`] | how many features, and how good they are: cross-validation over the path |
//! | [`synth`] | data sets made from a seed |
//! | [`files`] | files that appear whole or not at all |

mod bracket;
mod context;
pub mod data;
mod digest;
mod elementary;
pub mod error;
pub mod feature;
pub mod files;
#[doc(hidden)]
pub mod fuzzing;
mod kernels;
mod linalg;
pub mod machine;
pub mod model;
pub mod objective;
pub mod operator;
mod ordered;
mod parallel;
mod rounding;
pub mod space;
pub mod subproblem;
pub mod synth;
pub mod table;
pub mod target;
pub mod validate;

pub use context::Context;
pub use data::Dataset;
pub use error::{Error, Result};
pub use machine::Machine;
pub use model::Model;
pub use space::{GroupSpace, LinearSpace, TreeSpace};
