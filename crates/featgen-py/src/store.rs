//! A store of `featgen convert`, open.

use std::path::PathBuf;

use featgen::data::read::Reader;
use featgen::data::store::Conversion;
use featgen::data::{self, Columns, Labels, Names};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::error::raise;

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
    /// Opens a store and compares all of it with its checksums.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let source = path.display().to_string();
        // Should the file be cut short while it is in use, the process ends, but not without a word.
        data::explain_cut_files(None);
        py.detach(|| {
            let store = data::store::Store::open(&path)?;
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

/// Converts a file to a store. Returns rows, features and stored values.
#[pyfunction]
pub(crate) fn convert(
    py: Python<'_>,
    data: PathBuf,
    store: PathBuf,
    label: Option<String>,
    labels: Option<PathBuf>,
    names: Option<PathBuf>,
    memory: u64,
) -> PyResult<(u64, u64, u64)> {
    let mut reader = Reader::new();
    if let Some(column) = label {
        reader = reader.label_column(column);
    }
    if let Some(file) = labels {
        reader = reader.labels_file(file);
    }
    if let Some(file) = names {
        reader = reader.names_file(file);
    }
    let options = Conversion { memory, shards: None };
    let made = py.detach(|| data::store::convert(&reader, &data, &store, &options, &mut |_| ()));
    made.map(|made| (made.rows, made.dimension, made.nonzeros)).map_err(raise)
}
