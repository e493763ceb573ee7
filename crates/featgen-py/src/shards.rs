//! Columns in shards: a shard in the process of a worker, and a run in that of a driver.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

use featgen::data::store::Store as StoreFile;
use featgen::data::{self, Column, Columns, Layout, Part, dense_of};
use featgen::objective::Kept;
use featgen::space::{Inputs, ShardColumns, ShardServer, Shards};
use featgen::table::Recipe;
use featgen::{Context, Error};
use numpy::{Element, IntoPyArray, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::error::raise;
use crate::fit::{Fitted, Listeners, News, Options, Run, Target};
use crate::learned::Learned;
use crate::matrix::{Matrix, Sparse, Values};
use crate::space::Space;
use crate::store::Store;

/// The rows of a column, where not all are stored, and its values.
type Arrays<'py> = (Option<Bound<'py, PyAny>>, Bound<'py, PyAny>);

/// Some columns, for all rows, and the answers to questions about them.
#[pyclass(frozen, module = "featgen._featgen")]
pub(crate) struct Shard {
    server: ShardServer,
}

#[pymethods]
impl Shard {
    /// The columns of arrays, which are copied, as those from `first` on of a whole of `dimension` columns.
    #[new]
    fn new(
        py: Python<'_>,
        x: Matrix<'_>,
        first: u64,
        dimension: u64,
        threads: usize,
        memory: Option<u64>,
    ) -> PyResult<Self> {
        let columns = x.copied()?;
        let part = py.detach(|| Part::placed(columns, first, dimension)).map_err(raise)?;
        Ok(Self { server: server(part, threads, memory) })
    }

    /// Those columns of a store whose numbers, counted from 0, are in a range. If the store holds no others and has numbers of its
    /// own, they are as many as there are `of` the whole.
    #[staticmethod]
    fn of_store(
        py: Python<'_>,
        path: PathBuf,
        start: u64,
        stop: u64,
        of: Option<u64>,
        threads: usize,
        memory: Option<u64>,
    ) -> PyResult<Self> {
        data::explain_cut_files(None);
        let opened = py.detach(|| {
            let Some(dimension) = of else {
                let store = StoreFile::open_for(&path, start..stop)?;
                let positions = store.positions(start..stop);
                return Part::of(Box::new(store), positions);
            };
            Part::placed(Box::new(StoreFile::open(&path)?), start, dimension)
        });
        Ok(Self { server: server(opened.map_err(raise)?, threads, memory) })
    }

    /// The reply to a request of [`fit_shards`].
    fn answer<'py>(&self, py: Python<'py>, request: &[u8]) -> Bound<'py, PyBytes> {
        let reply = py.detach(|| self.server.answer(request));
        PyBytes::new(py, &reply)
    }

    /// Gives what is mapped of files back to the system until it is asked about again.
    fn let_go(&self) {
        self.server.columns().let_go();
    }

    /// The values of every column, with their rows where not all are stored: what a copy elsewhere is made of.
    fn columns<'py>(&self, py: Python<'py>) -> Vec<Arrays<'py>> {
        let columns = self.server.columns();
        let all: Vec<usize> = (0..columns.len()).collect();
        let arrays = |column: Column| match column {
            Column::Dense(values) => (None, values.into_pyarray(py).into_any()),
            Column::Sparse { rows, values } => {
                (Some(rows.into_pyarray(py).into_any()), values.into_pyarray(py).into_any())
            }
        };
        py.detach(|| columns.gather(&all)).into_iter().map(arrays).collect()
    }
}

/// Copies of columns that only save time may take so much memory; without a bound, what the machine can spare.
fn server(part: Part, threads: usize, memory: Option<u64>) -> ShardServer {
    let context = Context::new().threads(threads);
    let context = memory.into_iter().fold(context, Context::memory);
    ShardServer::new(Box::new(part), &context)
}

impl Matrix<'_> {
    /// A storage of its own.
    fn copied(&self) -> PyResult<Box<dyn Columns>> {
        match self {
            Self::U8(array) => dense(array, data::Values::U8),
            Self::F32(array) => dense(array, data::Values::F32),
            Self::F64(array) => dense(array, data::Values::F64),
            Self::Sparse(sparse) => sparse.copied(),
            Self::Store(_) | Self::Table(_) => Err(raise(Error::Data("a shard is made of arrays".into()))),
        }
    }
}

fn dense<T: Element + Copy>(
    array: &PyReadonlyArray2<'_, T>,
    values: fn(Vec<T>) -> data::Values,
) -> PyResult<Box<dyn Columns>> {
    let [rows, columns] = [array.shape()[0], array.shape()[1]];
    let layout = if array.is_c_contiguous() { Layout::RowMajor } else { Layout::ColumnMajor };
    dense_of(values(array.as_slice()?.to_vec()), rows, columns, layout).map_err(raise)
}

impl Sparse<'_> {
    fn copied(&self) -> PyResult<Box<dyn Columns>> {
        let (rows, dimension) = self.shape;
        let ids = match &self.ids {
            Some(ids) => ids.as_slice()?.to_vec(),
            None => (0..dimension).collect(),
        };
        let values = match &self.values {
            Values::U8(x) if x.as_slice()?.iter().all(|x| *x == 1) => data::Values::Ones,
            Values::F32(x) if x.as_slice()?.iter().all(|x| *x == 1.0) => data::Values::Ones,
            Values::F64(x) if x.as_slice()?.iter().all(|x| *x == 1.0) => data::Values::Ones,
            Values::U8(x) => data::Values::U8(x.as_slice()?.to_vec()),
            Values::F32(x) => data::Values::F32(x.as_slice()?.to_vec()),
            Values::F64(x) => data::Values::F64(x.as_slice()?.to_vec()),
        };
        let (pointers, indices) = (self.pointers.as_slice()?.to_vec(), self.indices.as_slice()?.to_vec());
        let sparse = data::Sparse::new(rows, dimension, ids, pointers, indices, values);
        Ok(Box::new(sparse.map_err(raise)?))
    }
}

/// A request that Python is to hand to every shard.
pub(crate) struct Question {
    ask: Arc<Py<PyAny>>,
    request: Vec<u8>,
    replies: SyncSender<Vec<Vec<u8>>>,
}

impl Question {
    /// Has it answered; the exception if it is not.
    pub(crate) fn put(self) -> PyResult<()> {
        let replies: Vec<PyBackedBytes> =
            Python::attach(|py| self.ask.call1(py, (PyBytes::new(py, &self.request),))?.extract(py))?;
        // Nobody waits for it any more if the run has ended.
        let _ = self.replies.send(replies.iter().map(|reply| reply.to_vec()).collect());
        Ok(())
    }
}

/// Shards that are asked by a function of Python, which is called in the thread that waits for the run: what it raises, Ctrl-C too,
/// ends the run.
pub(crate) struct Asked {
    ask: Arc<Py<PyAny>>,
    news: SyncSender<News>,
}

impl Shards for Asked {
    fn ask(&self, request: &[u8]) -> featgen::Result<Vec<Vec<u8>>> {
        let (replies, answer) = sync_channel(1);
        let question = Question { ask: Arc::clone(&self.ask), request: request.to_vec(), replies };
        let unanswered = || Error::Data("the shards could not be asked".into());
        self.news.send(News::Ask(question)).map_err(|_| unanswered())?;
        answer.recv().map_err(|_| unanswered())
    }
}

impl Asked {
    pub(crate) fn new(ask: &Arc<Py<PyAny>>, news: SyncSender<News>) -> Self {
        Self { ask: Arc::clone(ask), news }
    }
}

/// The same as `fit`, of columns in shards: `ask` is called with a request, and returns the replies of all shards, in the order of
/// their columns. Where these are of a store, it is given too.
#[pyfunction]
pub(crate) fn fit_shards<'py>(
    py: Python<'py>,
    ask: Py<PyAny>,
    store: Option<PyRef<'py, Store>>,
    names: Option<Vec<String>>,
    target: Target<'py>,
    space: Space,
    options: Options,
    listeners: Listeners,
) -> PyResult<Fitted> {
    let run = Run::new(&target, space, &options, recipe(store))?;
    let (names, keep, ask) = (run.names(names), target.keep.clone(), Arc::new(ask));
    let offset = target.offset.as_ref().map(|offset| offset.as_slice()).transpose()?;
    run.attended(py, &listeners, |reporter| {
        let shards = Asked::new(&ask, reporter.sender());
        let all = ShardColumns::new(&shards, &names)?;
        let kept = all.settle(Kept::new(&all, &names, &keep))?;
        let others = (!kept.ids().is_empty()).then(|| all.without(kept.ids())).transpose()?;
        let inputs = Inputs::in_shards(others.as_ref().unwrap_or(&all));
        let (mut model, lacking) = run.fit(inputs, kept, reporter)?;
        let specs = (&run.asked, run.spec.clone());
        let learned = Learned::in_shards(&all, &names, specs, &keep, run.scaling, offset);
        all.settle(run.how_sure(&options, &mut model, &learned))?;
        Ok((model, lacking))
    })
}

/// How a store was made from a table, if it was.
pub(crate) fn recipe(store: Option<PyRef<'_, Store>>) -> Option<Recipe> {
    store.and_then(|store| store.columns().recipe().ok().flatten())
}
