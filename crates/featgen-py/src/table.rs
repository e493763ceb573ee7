//! A frame of Python as a table: pandas, polars, pyarrow and others hand over a stream of Arrow's C interface, in a capsule.

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::SchemaRef;
use featgen::Dataset;
use featgen::data::read::Reader;
use featgen::table::{Impute, Options, Recipe};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

use crate::error::{parameter_name, raise};
use crate::model::Model;

/// What messages call a frame.
const NAME: &str = "X";

/// How users want the columns to be taken.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Wishes {
    ignore: Vec<String>,
    id: Vec<String>,
    number: Vec<String>,
    category: Vec<String>,
    impute: Option<String>,
    most_levels: Option<usize>,
}

impl Wishes {
    fn options(self) -> featgen::Result<Options> {
        let Self { ignore, id, number, category, impute, most_levels } = self;
        let default = Options::default();
        let impute = impute.as_deref().and_then(Impute::find).unwrap_or(default.impute);
        let most_levels = most_levels.unwrap_or(default.most_levels);
        let options = Options { ignore, id, number, category, impute, most_levels };
        options.check()?;
        Ok(options)
    }
}

/// The inputs that were made of a frame.
#[pyclass(frozen, module = "featgen._featgen")]
pub(crate) struct Table {
    data: Dataset,
    /// What it was made of, where its columns were found out.
    frame: Option<Frame>,
}

/// A frame as it was handed over, and how its columns are to be taken. Arrow's batches are shared with the frame, not copied.
struct Frame {
    batches: Vec<RecordBatch>,
    schema: SchemaRef,
    options: Options,
}

impl Frame {
    fn read(&self, reader: Reader) -> featgen::Result<Dataset> {
        let batches = self.batches.clone().into_iter().map(Ok);
        let batches = Box::new(RecordBatchIterator::new(batches, self.schema.clone()));
        reader.table(self.options.clone()).require_labels(false).read_batches(batches, NAME)
    }
}

impl Table {
    /// The same inputs, in which what is learned of values is learned from these rows alone; `None` if nothing was learned.
    pub(crate) fn learned_from(&self, known: &[bool]) -> Option<featgen::Result<Dataset>> {
        let frame =
            self.frame.as_ref().filter(|_| !self.data.recipe.as_ref().is_none_or(Recipe::is_plain))?;
        Some(frame.read(Reader::new().learning_from(known.to_vec())))
    }

    pub(crate) fn data(&self) -> &Dataset {
        &self.data
    }
}

#[pymethods]
impl Table {
    /// Finds out what the columns are, and makes inputs of them.
    #[staticmethod]
    fn learn(py: Python<'_>, stream: &Bound<'_, PyCapsule>, wishes: Wishes) -> PyResult<Self> {
        let (batches, options) = (batches(stream)?, wishes.options().map_err(raise)?);
        py.detach(|| {
            let schema = batches.schema();
            let batches = batches.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
            let frame = Frame { batches, schema, options };
            let data = frame.read(Reader::new()).map_err(raise)?;
            Ok(Self { data, frame: Some(frame) })
        })
    }

    /// Makes the inputs of a model, which knows how.
    #[staticmethod]
    fn follow(py: Python<'_>, stream: &Bound<'_, PyCapsule>, model: &Model) -> PyResult<Self> {
        let batches = Box::new(batches(stream)?);
        let reader = Reader::new().recipe(Some(&model.recipe())).require_labels(false);
        let data = py.detach(|| reader.read_batches(batches, NAME)).map_err(raise)?;
        Ok(Self { data, frame: None })
    }

    /// Rows and inputs.
    #[getter]
    fn shape(&self) -> (usize, u64) {
        (self.data.columns.rows(), self.data.columns.dimension())
    }

    /// What the inputs are called.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.data.names.list().to_vec()
    }

    /// The columns that make inputs, and the inputs of each.
    #[getter]
    fn columns(&self) -> Vec<(String, Vec<u64>)> {
        let columns = self.data.recipe.iter().flat_map(Recipe::ranges);
        columns.map(|(column, range)| (column.column.clone(), range.collect())).collect()
    }

    /// The inputs of a column, without the first level of a category.
    fn independent(&self, column: &str) -> Option<Vec<u64>> {
        self.data.recipe.as_ref()?.independent(column).map(Iterator::collect)
    }

    /// What may surprise.
    #[getter]
    fn notes(&self) -> Vec<String> {
        let spelled = |id: &str| format!("{}=[...]", parameter_name(id));
        self.data.notes.iter().map(|note| note.spelled(spelled)).collect()
    }
}

/// The batches of a stream, which can be had once.
fn batches(capsule: &Bound<'_, PyCapsule>) -> PyResult<RecordBatchStreamReader> {
    let stream = moved_out(capsule)?;
    RecordBatchStreamReader::try_new(stream).map_err(unreadable)
}

fn unreadable(error: arrow_schema::ArrowError) -> PyErr {
    PyValueError::new_err(format!("{NAME}: {error}"))
}

#[allow(unsafe_code)]
fn moved_out(capsule: &Bound<'_, PyCapsule>) -> PyResult<FFI_ArrowArrayStream> {
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: a capsule of this name holds such a stream. What is left in it is marked as released, so that nobody frees it twice.
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(stream.cast().as_ptr()) })
}
