//! The loop: worst case, columns, subproblem, dual variables; when it stops, and what it proves.
//!
//! | room | what it knows |
//! |---|---|
//! | `params` | what a user may set, checked once |
//! | `working_set` | candidates taken, their columns, blocks and weights |
//! | `fitting` | the weights reached, their decision values and objective, the bound proven |
//! | `schedule` | cost and tolerance in force, and whether rounds get on at them |
//! | `run` | step after step, until there is a reason to stop |
//! | `rounds` | the paper's steps (Algorithm 1) |
//! | `relaxation` | steps to a certified gap, on features |
//! | `best` | steps by gain, at what cost candidates are looked at, and exchange |
//! | `chance` | what candidates without effect would gain |
//! | `discoveries` | which of the chosen are expected to be true |
//! | `rivals` | how many candidates could stand in for a feature |
//! | `path` | the rounds made |
//! | `proof` | what is proven of K features, and branch and bound |
//! | `refit` | the l2 model afterwards |
//! | `assemble` | the model from all that |
//! | `checkpoint`, `resume` | a run in a file, and from it |
//! | `memory` | what a run needs, known before it begins |

mod assemble;
mod best;
mod chance;
mod checkpoint;
mod discoveries;
mod fitting;
mod memory;
mod observer;
mod params;
mod path;
mod proof;
mod refit;
mod relaxation;
mod resume;
mod rivals;
mod rounds;
mod run;
mod schedule;
mod stop;
mod working_set;

pub use observer::Observer;
pub use params::{Machine, Select};
pub use stop::Stop;
