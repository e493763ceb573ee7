//! Errors as Python has them.

use featgen::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyOSError, PyValueError};

/// What the engine says, with parameters called as the estimators call them.
pub(crate) fn raise(error: Error) -> PyErr {
    match error {
        Error::Io { path, source } => match source.raw_os_error() {
            // Python finds the subclass, such as FileNotFoundError, by the number.
            Some(code) => PyOSError::new_err((code, source.to_string(), path)),
            None => PyOSError::new_err(format!("{path}: {source}")),
        },
        error => PyValueError::new_err(error.spelled(parameter_name)),
    }
}

/// What the estimators call a parameter of the engine.
pub(crate) fn parameter_name(name: &str) -> String {
    match name {
        "cost" => "C".into(),
        "features" => "n_features".into(),
        "group-weight" => "weight".into(),
        "tree-format" => "format".into(),
        "metric" => "scoring".into(),
        "no-shift" => "fit_intercept=False".into(),
        "threads" => "n_jobs".into(),
        "weight" => "class_weight".into(),
        "weights" => "sample_weight".into(),
        other => other.replace('-', "_"),
    }
}
