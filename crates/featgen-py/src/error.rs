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
        Error::Parameter { name, reason } => {
            PyValueError::new_err(format!("{}: {reason}", parameter_name(name)))
        }
        Error::Input { place, reason } => {
            PyValueError::new_err(format!("{place}: {}", with_parameters(&reason)))
        }
        other => PyValueError::new_err(with_parameters(&other.to_string())),
    }
}

/// A text with parameters for the command's options: `--max-rounds 2` becomes `max_rounds 2`.
fn with_parameters(text: &str) -> String {
    let mut parts = text.split("--");
    let mut said = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        // Elsewhere, dashes are part of something quoted.
        match !name.is_empty() && said.ends_with([' ', '(']) {
            true => said += &parameter_name(name),
            false => said.extend(["--", name]),
        }
        said += rest;
    }
    said
}

/// What the estimators call a parameter of the engine.
pub(crate) fn parameter_name(name: &str) -> String {
    match name {
        "cost" => "C".into(),
        "features" => "n_features".into(),
        "group-weight" => "weight".into(),
        "no-shift" => "fit_intercept=False".into(),
        "threads" => "n_jobs".into(),
        "weight" => "class_weight".into(),
        "weights" => "sample_weight".into(),
        other => other.replace('-', "_"),
    }
}
