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
        Error::Parameter { name, reason } => PyValueError::new_err(format!("{}: {reason}", parameter(name))),
        other => PyValueError::new_err(other.to_string()),
    }
}

fn parameter(name: &str) -> String {
    match name {
        "cost" => "C".into(),
        "features" => "n_features".into(),
        "threads" => "n_jobs".into(),
        "weights" => "sample_weight".into(),
        other => other.replace('-', "_"),
    }
}
