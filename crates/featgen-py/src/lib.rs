//! The engine of the Python package: arrays in, arrays out. No learning code, and no policy: what users meet is written in
//! Python, in `python/featgen`.

mod described;
mod error;
mod fit;
mod learned;
mod matrix;
mod model;
mod report;
mod shards;
mod space;
mod store;
mod table;
mod validate;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command with these arguments, the first of which is its name, and returns its exit code. Signals are the
/// command's own affair: the caller gives them back their default handlers first, for Python's would wait in vain.
#[pyfunction]
fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| featgen_cli::run(arguments))
}

#[pymodule]
mod _featgen {
    #[pymodule_export]
    use crate::command;
    #[pymodule_export]
    use crate::described::describe;
    #[pymodule_export]
    use crate::fit::fit;
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::report::report;
    #[pymodule_export]
    use crate::report::write_text;
    #[pymodule_export]
    use crate::shards::Shard;
    #[pymodule_export]
    use crate::shards::fit_shards;
    #[pymodule_export]
    use crate::store::Maker;
    #[pymodule_export]
    use crate::store::Store;
    #[pymodule_export]
    use crate::store::convert;
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::validate::cross_validate;
    #[pymodule_export]
    use crate::validate::cross_validate_shards;

    /// The version of the engine.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
