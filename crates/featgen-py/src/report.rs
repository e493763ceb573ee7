//! Pages about models.

use std::io::Write;
use std::path::PathBuf;

use featgen::model::{Lacking, Truth};
use featgen_report::{About, Effects, Naming, Report, Test};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::raise;
use crate::matrix::Matrix;
use crate::model::Model;

/// Test data, predictions for them, and what is true: the places of classes, or numbers.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Tested<'py> {
    name: String,
    x: Matrix<'py>,
    decision: PyReadonlyArray2<'py, f64>,
    codes: Option<PyReadonlyArray1<'py, i64>>,
    numbers: Option<PyReadonlyArray1<'py, f64>>,
}

impl Tested<'_> {
    fn truth(&self, model: &featgen::Model) -> PyResult<Truth> {
        let wrong = |what: &str| PyValueError::new_err(format!("y_test: {what}"));
        let truth = match (&self.codes, &self.numbers) {
            (Some(codes), _) => {
                let known =
                    |&code: &i64| usize::try_from(code).ok().filter(|&code| code < model.classes.len());
                let codes: Option<Vec<usize>> = codes.as_slice()?.iter().map(known).collect();
                Truth::Classes(codes.ok_or_else(|| wrong("some labels are none of the model's classes"))?)
            }
            (None, Some(numbers)) => Truth::Numbers(numbers.as_slice()?.to_vec()),
            (None, None) => return Err(wrong("must be given with X_test")),
        };
        match count(&truth) == self.decision.as_slice()?.len() / model.outputs() {
            true => Ok(truth),
            false => Err(wrong("must have a label for each sample of X_test")),
        }
    }
}

fn count(truth: &Truth) -> usize {
    match truth {
        Truth::Classes(truth) => truth.len(),
        Truth::Numbers(truth) => truth.len(),
    }
}

/// The page about a model, as text.
#[pyfunction]
pub(crate) fn report(
    model: &Model,
    title: &str,
    repeat: String,
    tested: Option<Tested<'_>>,
) -> PyResult<String> {
    let about = About { title: Some(title), naming: Naming::FromZero, repeat: Some(repeat) };
    let Some(tested) = tested else { return Ok(Report::new(model.get(), &about, None).to_html()) };
    let truth = tested.truth(model.get())?;
    // Columns that are missing are an error before it comes to this.
    let lacking = Lacking { missing: Vec::new(), of: model.get().inputs.len() };
    let decision = tested.decision.as_slice()?;
    let mut effects = Effects::new(model.get(), &tested.x.names());
    effects.add(&*tested.x.columns()?);
    let effects = effects.finish();
    let test = Test { name: &tested.name, decision, truth: &truth, lacking: &lacking, effects };
    Ok(Report::new(model.get(), &about, Some(&test)).to_html())
}

/// Writes text to a file, which appears whole or not at all.
#[pyfunction]
pub(crate) fn write_text(path: PathBuf, text: &str) -> PyResult<()> {
    featgen::files::write_whole(&path, |out| out.write_all(text.as_bytes())).map_err(raise)
}
