//! The engine of the Python package: arrays in, arrays out. No learning code, and no policy: what users meet is written in
//! Python, in `python/featgen`.

mod error;
mod fit;
mod matrix;
mod model;
mod space;
mod store;

use pyo3::prelude::*;

#[pymodule]
mod _featgen {
    #[pymodule_export]
    use crate::fit::fit;
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::store::Store;
    #[pymodule_export]
    use crate::store::convert;

    /// The version of the engine.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
