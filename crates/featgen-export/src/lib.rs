//! Models where they are needed: as ONNX, PMML, SQL, C, Python, or a model of LIBLINEAR.
//!
//! A [`Model`] becomes a `Plan` once: columns as they are in the data, the values that a recipe makes of them, what
//! each adds to the decisions, and what decisions say. Each target is a module that writes a plan, and knows nothing of models.

mod c;
mod expr;
mod liblinear;
mod names;
mod onnx;
mod plan;
mod pmml;
mod protobuf;
mod python;
mod sql;

use featgen::{Error, Model, Result};
use plan::Plan;

/// What a model can be written as.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// What users call it.
    pub name: &'static str,
    /// What it is, in a line.
    pub help: &'static str,
    /// How its files end.
    pub ending: &'static str,
    /// Whether it is text that may go to a screen.
    pub is_text: bool,
    write: fn(&Plan, &Options) -> Result<Vec<u8>>,
}

/// All targets.
pub const ALL: [Target; 6] = [
    Target {
        name: "onnx",
        help: "A graph for onnxruntime and other engines: doubles and strings in, all predictions out",
        ending: "onnx",
        is_text: false,
        write: |plan, _| onnx::write(plan),
    },
    Target {
        name: "pmml",
        help: "PMML 4.4 (XML), for scoring engines such as JPMML",
        ending: "pmml",
        is_text: true,
        write: |plan, _| pmml::write(plan).map(String::into_bytes),
    },
    Target {
        name: "sql",
        help: "One SELECT for SQLite, DuckDB and PostgreSQL, which adds predictions to the rows of a table",
        ending: "sql",
        is_text: true,
        write: |plan, options| sql::write(plan, options).map(String::into_bytes),
    },
    Target {
        name: "c",
        help: "One file of C99 that needs nothing but the standard library, and no memory of its own",
        ending: "c",
        is_text: true,
        write: |plan, _| c::write(plan).map(String::into_bytes),
    },
    Target {
        name: "python",
        help: "One file of Python that needs nothing but the standard library, and takes cells as they stand in a table",
        ending: "py",
        is_text: true,
        write: |plan, _| Ok(python::write(plan).into_bytes()),
    },
    Target {
        name: "liblinear",
        help: "A model file of LIBLINEAR: for inputs that are numbers, each with a weight",
        ending: "model",
        is_text: true,
        write: |plan, _| liblinear::write(plan).map(String::into_bytes),
    },
];

impl Target {
    /// The target that is called so.
    pub fn find(name: &str) -> Result<Self> {
        let known = || ALL.map(|target| target.name).join(", ");
        let unknown = || Error::parameter("to", format!("must be one of {}, not {name}", known()));
        ALL.into_iter().find(|target| target.name == name).ok_or_else(unknown)
    }

    /// The target whose files end so.
    pub fn of_ending(ending: &str) -> Result<Self> {
        let known = || ALL.map(|target| format!(".{}", target.ending)).join(", ");
        let unknown = || {
            Error::parameter("to", format!("must be given where a file does not end with one of {}", known()))
        };
        ALL.into_iter().find(|target| target.ending == ending).ok_or_else(unknown)
    }
}

/// What targets may be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The table that SQL selects from.
    pub table: String,
}

impl Default for Options {
    fn default() -> Self {
        Self { table: "data".into() }
    }
}

/// The model as a file of the target. An error says what the target cannot express, and which targets can.
pub fn export(model: &Model, to: Target, options: &Options) -> Result<Vec<u8>> {
    (to.write)(&Plan::new(model)?, options)
}

/// What a target cannot express, and what to do instead.
fn refuse<T>(reason: impl Into<String>) -> Result<T> {
    Err(Error::parameter("to", reason))
}
