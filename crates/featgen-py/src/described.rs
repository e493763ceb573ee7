//! What the engine says of itself: spaces with their parameters, and what else is chosen by name.

use featgen::machine::Select;
use featgen::space::Scaling;
use featgen::space::spec::{self, Kind, Makes, Parameter, Range, Value};
use featgen::table::Impute;
use featgen::validate::Metric;
use featgen::{objective, subproblem};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::error::parameter_name;

/// The spaces, solvers, weights of groups and formats of trees that there are.
#[pyfunction]
pub(crate) fn describe(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    let spaces = spec::ALL.iter().map(|kind| space(py, kind)).collect::<PyResult<Vec<_>>>()?;
    all.set_item("spaces", PyList::new(py, spaces)?)?;
    let losses =
        objective::ALL.iter().map(|loss| (loss.name, format!("{:?}", loss.output).to_lowercase(), loss.help));
    all.set_item("losses", losses.collect::<Vec<_>>())?;
    all.set_item("solvers", names(subproblem::ALL.iter().map(|solver| solver.name)))?;
    all.set_item("selects", names(Select::ALL.iter().map(|select| select.name())))?;
    all.set_item("scalings", names(Scaling::ALL.iter().map(|scaling| scaling.name())))?;
    all.set_item("imputes", names(Impute::ALL.iter().map(|(name, ..)| *name)))?;
    all.set_item(
        "metrics",
        Metric::ALL.iter().map(|metric| (metric.name(), metric.help())).collect::<Vec<_>>(),
    )?;
    all.set_item("group_weights", names(spec::GROUP_WEIGHTS.iter().map(|choice| choice.name)))?;
    let formats = spec::TREE_FORMATS.iter().filter(|choice| choice.value.is_some());
    all.set_item("tree_formats", names(formats.map(|choice| choice.name)))?;
    Ok(all)
}

fn names(names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    names.collect()
}

fn space<'py>(py: Python<'py>, kind: &Kind) -> PyResult<Bound<'py, PyDict>> {
    let said = PyDict::new(py);
    said.set_item("name", kind.name)?;
    said.set_item("help", kind.help)?;
    said.set_item("generates", kind.makes == Makes::Products)?;
    said.set_item("learns_curves", kind.makes == Makes::Curves)?;
    said.set_item("takes_negative", kind.takes_negative)?;
    let parameters = kind.parameters.iter().map(|of| parameter(py, of)).collect::<PyResult<Vec<_>>>()?;
    said.set_item("parameters", PyList::new(py, parameters)?)?;
    Ok(said)
}

fn parameter<'py>(py: Python<'py>, of: &Parameter) -> PyResult<Bound<'py, PyDict>> {
    let said = PyDict::new(py);
    said.set_item("id", of.id)?;
    said.set_item("name", parameter_name(of.id))?;
    said.set_item("help", of.help)?;
    said.set_item("otherwise", of.otherwise)?;
    said.set_item("range", of.range.to_string())?;
    let kind = match of.range {
        Range::Whole(..) => "whole",
        Range::Above(_) | Range::AtLeast(_) => "real",
        Range::Features => "features",
    };
    said.set_item("kind", kind)?;
    match &of.default {
        Some(Value::Whole(x)) => said.set_item("default", x)?,
        Some(Value::Real(x)) => said.set_item("default", x)?,
        Some(Value::Features(_)) | None => said.set_item("default", py.None())?,
    }
    Ok(said)
}
