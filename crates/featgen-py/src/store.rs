//! A store of `featgen convert`, open.

use std::path::PathBuf;

use featgen::data::read::Reader;
use featgen::data::store::{Conversion, StoreBuilder};
use featgen::data::{self, Columns, Labels, Names};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::raise;
use crate::matrix::Matrix;

/// Data on disk, mapped: columns are read where they are. Made by `featgen convert`.
#[pyclass(frozen, module = "featgen._featgen")]
pub(crate) struct Store {
    store: data::store::Store,
    labels: Labels,
    names: Names,
    path: PathBuf,
}

impl Store {
    pub(crate) fn columns(&self) -> &data::store::Store {
        &self.store
    }
}

#[pymethods]
impl Store {
    /// Opens a store and compares all of it with its checksums; without its columns, only what else is in it.
    #[new]
    #[pyo3(signature = (path, columns=true))]
    fn new(py: Python<'_>, path: PathBuf, columns: bool) -> PyResult<Self> {
        let source = path.display().to_string();
        // Should the file be cut short while it is in use, the process ends, but not without a word.
        data::explain_cut_files(None);
        py.detach(|| {
            let store = match columns {
                true => data::store::Store::open(&path)?,
                false => data::store::Store::open_for(&path, 0..0)?,
            };
            let (labels, names) = store.labels_and_names(&source)?;
            Ok(Self { store, labels, names, path })
        })
        .map_err(raise)
    }

    /// Rows and features.
    #[getter]
    fn shape(&self) -> (usize, u64) {
        (self.store.rows(), self.store.dimension())
    }

    /// Stored values.
    #[getter]
    fn nnz(&self) -> u64 {
        self.store.nonzeros()
    }

    /// Names of the features, if there are any.
    #[getter]
    fn names(&self) -> Option<Vec<String>> {
        Some(self.names.list().to_vec()).filter(|names| !names.is_empty())
    }

    /// The labels, where they are numbers and no classes.
    fn numbers<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        let numbers = self.labels.numbers().ok().filter(|_| !self.labels.has_classes())?;
        Some(PyArray1::from_slice(py, &numbers))
    }

    /// The classes, and for every row the index of its class.
    fn labels<'py>(&self, py: Python<'py>) -> (Vec<String>, Bound<'py, PyArray1<u32>>) {
        (self.labels.classes().to_vec(), PyArray1::from_slice(py, self.labels.codes()))
    }

    /// How much each row counts, where the store says so.
    #[getter]
    fn sample_weight<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.labels.weights().map(|weights| PyArray1::from_slice(py, weights))
    }

    fn __repr__(&self) -> String {
        let (rows, features) = self.shape();
        format!("<featgen store {:?}, {rows} x {features}>", self.path.display().to_string())
    }

    /// It is opened again where it is unpickled.
    fn __getnewargs__(&self) -> (PathBuf,) {
        (self.path.clone(),)
    }
}

/// Converts a file to a store, within so much memory, with a copy in bytes or without. Returns rows, features and stored values.
#[pyfunction]
pub(crate) fn convert(
    py: Python<'_>,
    data: PathBuf,
    store: PathBuf,
    label: Option<String>,
    labels: Option<PathBuf>,
    names: Option<PathBuf>,
    transpose: bool,
    memory_and_copy: (u64, bool),
) -> PyResult<(u64, u64, u64)> {
    let mut reader = Reader::new().transpose(transpose);
    if let Some(column) = label {
        reader = reader.label_column(column);
    }
    if let Some(file) = labels {
        reader = reader.labels_file(file);
    }
    if let Some(file) = names {
        reader = reader.names_file(file);
    }
    let (memory, copy) = memory_and_copy;
    let options = Conversion { memory, copy, ..Conversion::default() };
    let made = py.detach(|| data::store::convert(&reader, &data, &store, &options, &mut |_| ()));
    made.map(|made| (made.rows, made.dimension, made.nonzeros)).map_err(raise)
}

/// A store in the making, of parts that come one after the other.
#[pyclass(module = "featgen._featgen")]
pub(crate) struct Maker {
    builder: Option<StoreBuilder>,
}

#[pymethods]
impl Maker {
    #[new]
    fn new(path: PathBuf, memory: u64) -> PyResult<Self> {
        let options = Conversion { memory, ..Conversion::default() };
        Ok(Self { builder: Some(StoreBuilder::create(path, options).map_err(raise)?) })
    }

    /// Adds some rows, or all rows of some columns.
    fn add(&mut self, py: Python<'_>, part: Matrix<'_>, by_columns: bool) -> PyResult<()> {
        let builder = self.builder.as_mut().ok_or_else(finished)?;
        let done = match &part {
            Matrix::Sparse(sparse) => {
                let view = sparse.view()?;
                py.detach(|| if by_columns { builder.columns(view) } else { builder.rows(view) })
            }
            Matrix::U8(_) | Matrix::F32(_) | Matrix::F64(_) => builder.dense_rows(&*part.columns()?),
            Matrix::Store(_) => return Err(PyValueError::new_err("a store is one already")),
            Matrix::Table(_) => return Err(PyValueError::new_err("a table is no part of a store")),
        };
        done.map_err(raise)
    }

    /// Writes the store, with the classes and for every row the index of its class, or numbers; and names of the features.
    fn finish(
        &mut self,
        py: Python<'_>,
        classes: Vec<String>,
        codes: Option<PyReadonlyArray1<'_, u32>>,
        numbers: Option<PyReadonlyArray1<'_, f64>>,
        names: Option<Vec<String>>,
    ) -> PyResult<()> {
        let builder = self.builder.take().ok_or_else(finished)?;
        let labels = match (codes, numbers) {
            (Some(codes), _) => {
                let codes = codes.as_slice()?.to_vec();
                if codes.iter().any(|&code| code as usize >= classes.len()) {
                    return Err(PyValueError::new_err("a label of no class"));
                }
                Labels::from_codes(classes, codes)
            }
            (None, Some(numbers)) => Labels::from_numbers(numbers.as_slice()?.to_vec()),
            (None, None) => Labels::default(),
        };
        let names = names.map(Names::identifying).unwrap_or_default();
        py.detach(|| builder.finish(&labels, &names)).map(drop).map_err(raise)
    }
}

fn finished() -> PyErr {
    PyValueError::new_err("the store is finished")
}
