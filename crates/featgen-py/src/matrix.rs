//! Arrays of Python as storage: borrowed, never copied.

use std::ops::Deref;

use featgen::data::{Columns, Layout, Names, SparseView, ValuesView, dense_over};
use featgen::table::Recipe;
use numpy::{Element, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::raise;
use crate::store::Store;
use crate::table::Table;

/// A matrix as `featgen._input` hands it over.
#[derive(FromPyObject)]
pub(crate) enum Matrix<'py> {
    U8(PyReadonlyArray2<'py, u8>),
    F32(PyReadonlyArray2<'py, f32>),
    F64(PyReadonlyArray2<'py, f64>),
    Sparse(Sparse<'py>),
    Store(PyRef<'py, Store>),
    Table(PyRef<'py, Table>),
}

/// Compressed columns; `ids` says which features they are, if not all.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Sparse<'py> {
    pub(crate) shape: (usize, u64),
    pub(crate) ids: Option<PyReadonlyArray1<'py, u64>>,
    pub(crate) pointers: PyReadonlyArray1<'py, u64>,
    pub(crate) indices: PyReadonlyArray1<'py, u32>,
    pub(crate) values: Values<'py>,
}

#[derive(FromPyObject)]
pub(crate) enum Values<'py> {
    U8(PyReadonlyArray1<'py, u8>),
    F32(PyReadonlyArray1<'py, f32>),
    F64(PyReadonlyArray1<'py, f64>),
}

/// A storage over arrays that belong to Python, or one that is there already.
pub(crate) enum Lent<'a> {
    Made(Box<dyn Columns + 'a>),
    Known(&'a dyn Columns),
}

impl<'a> Deref for Lent<'a> {
    type Target = dyn Columns + 'a;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Made(columns) => &**columns,
            Self::Known(columns) => *columns,
        }
    }
}

impl Matrix<'_> {
    /// The storage over these arrays.
    pub(crate) fn columns(&self) -> PyResult<Lent<'_>> {
        Ok(match self {
            Self::U8(array) => Lent::Made(dense(array)?),
            Self::F32(array) => Lent::Made(dense(array)?),
            Self::F64(array) => Lent::Made(dense(array)?),
            Self::Sparse(sparse) => Lent::Made(Box::new(sparse.view()?)),
            Self::Store(store) => Lent::Known(store.columns()),
            Self::Table(table) => Lent::Known(&*table.data().columns),
        })
    }

    /// How the columns of a table became these, if they are of one.
    pub(crate) fn recipe(&self) -> Option<Recipe> {
        match self {
            Self::Store(store) => store.columns().recipe().ok().flatten(),
            Self::Table(table) => table.data().recipe.clone(),
            Self::U8(_) | Self::F32(_) | Self::F64(_) | Self::Sparse(_) => None,
        }
    }

    /// The table, if it is one.
    pub(crate) fn table(&self) -> Option<&Table> {
        match self {
            Self::Table(table) => Some(table),
            Self::U8(_) | Self::F32(_) | Self::F64(_) | Self::Sparse(_) | Self::Store(_) => None,
        }
    }

    /// By which names the inputs of a model are found, if not by their places.
    pub(crate) fn names(&self) -> Names {
        match self {
            Self::Table(table) => table.data().names.clone(),
            Self::U8(_) | Self::F32(_) | Self::F64(_) | Self::Sparse(_) | Self::Store(_) => Names::default(),
        }
    }

    /// Whether values taken out of it are to be sparse. Of a table they are not: frames hold no sparse columns.
    pub(crate) fn is_sparse(&self) -> bool {
        match self {
            Self::U8(_) | Self::F32(_) | Self::F64(_) | Self::Table(_) => false,
            Self::Sparse(_) => true,
            Self::Store(store) => !store.columns().is_dense(),
        }
    }
}

fn dense<'a, T: featgen::data::Value + Element>(
    array: &'a PyReadonlyArray2<'_, T>,
) -> PyResult<Box<dyn Columns + 'a>> {
    let [rows, columns] = [array.shape()[0], array.shape()[1]];
    let layout = if array.is_c_contiguous() {
        Layout::RowMajor
    } else if array.is_fortran_contiguous() {
        Layout::ColumnMajor
    } else {
        return Err(PyValueError::new_err("the array is not contiguous"));
    };
    dense_over(T::many(array.as_slice()?), rows, columns, layout).map_err(raise)
}

impl Sparse<'_> {
    pub(crate) fn view(&self) -> PyResult<SparseView<'_>> {
        let values = match &self.values {
            Values::U8(x) => ones(x.as_slice()?, 1).unwrap_or(ValuesView::U8(x.as_slice()?)),
            Values::F32(x) => ones(x.as_slice()?, 1.0).unwrap_or(ValuesView::F32(x.as_slice()?)),
            Values::F64(x) => ones(x.as_slice()?, 1.0).unwrap_or(ValuesView::F64(x.as_slice()?)),
        };
        let ids = self.ids.as_ref().map(|ids| ids.as_slice()).transpose()?;
        let (rows, dimension) = self.shape;
        let (pointers, indices) = (self.pointers.as_slice()?, self.indices.as_slice()?);
        SparseView::new(rows, dimension, ids, pointers, indices, values).map_err(raise)
    }
}

/// Values that are all 1 need not be read again.
fn ones<'a, T: PartialEq>(values: &[T], one: T) -> Option<ValuesView<'a>> {
    values.iter().all(|x| *x == one).then_some(ValuesView::Ones)
}
