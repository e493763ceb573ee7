//! The loop: worst case, columns, subproblem, dual variables; when it stops, and what it proves.

mod checkpoint;
mod held;
mod memory;
mod observer;
mod params;
mod run;
mod stop;

pub use observer::Observer;
pub use params::Machine;
pub use stop::Stop;
