//! What is to be predicted: classes, numbers, counts, or times; and how much each instance counts.

mod labels;
mod weights;

pub use labels::Labels;
pub(crate) use labels::{number, same_number};
pub use weights::ClassWeights;
