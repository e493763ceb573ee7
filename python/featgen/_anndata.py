"""Stores of annotated data (AnnData, ``.h5ad``), as single cells come in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import _featgen
from ._checks import given, integer
from ._input import check_indices, compressed, dense
from ._store import Store

#: Bytes that a value takes while it is on its way, at most: of sparse data as it was read, by columns, and as indices.
_SPARSE, _DENSE = 64, 24

#: Rows or columns that are looked at first, to see how many values they have.
_FIRST = 256

#: More different labels than this are measurements, as in files of labels.
_MOST_CLASSES = 1000


def convert_anndata(
    data: Any,
    store: str | PathLike[str],
    *,
    label: str | None = None,
    layer: str | None = None,
    memory: int = 2**30,
) -> Store:
    """Turn annotated data into a store, in bounded memory: cells become samples, ``var_names`` the names of features.

    Parameters
    ----------
    data : AnnData or path
        The data, in memory or backed by a file; or the ``.h5ad`` file itself, of which only what is needed is read
        (this takes the package anndata). X may be sparse, by rows or by columns, or dense. It is read some rows at a
        time, or some columns where it is by columns.
    store : str or path-like
        The file to write; it appears whole or not at all.
    label : str, default=None
        The column of ``obs`` that holds the labels. Without one the store has none: give them to ``fit``.
    layer : str, default=None
        The layer to take the values from, in place of X.
    memory : int, default=2**30
        Bytes that data may take meanwhile.

    Returns
    -------
    store : Store
        Open.

    Examples
    --------
    >>> import featgen
    >>> store = featgen.convert_anndata("cells.h5ad", "cells.store", label="cell_type")  # doctest: +SKIP
    >>> model = featgen.FGMClassifier(n_features=20).fit(store, store.y)  # doctest: +SKIP
    """
    bytes_at_once = given("memory", integer("memory", memory))
    with _opened(data, layer) as (X, obs, var_names):
        labels = _no_labels() if label is None else _labels(obs, label)
        names = _names(var_names)
        maker = _featgen.Maker(store, bytes_at_once)
        for part, by_columns in _parts(X, bytes_at_once):
            maker.add(part, by_columns)
        maker.finish(*labels, names)
    return Store(store)


@contextmanager
def _opened(data: Any, layer: str | None) -> Iterator[tuple[Any, Any, Any]]:
    """The values, the table of samples and the names of features."""
    if not isinstance(data, (str, PathLike)):
        yield _values(data, layer), data.obs, data.var_names
        return
    try:
        import h5py
        from anndata.io import read_elem, sparse_dataset
    except ImportError as error:
        raise ImportError("convert_anndata reads .h5ad files by the package anndata: install it") from error
    path = fspath(data)
    with h5py.File(path, "r") as file:
        place = "X" if layer is None else f"layers/{layer}"
        if not {"obs", "var"} <= set(file) or (layer is None and place not in file):
            raise ValueError(f"{path}: not annotated data: it lacks X, obs or var")
        if place not in file:
            raise ValueError(f"layer: {path} has no layer {layer!r}")
        held = file[place]
        X = held if isinstance(held, h5py.Dataset) else sparse_dataset(held)
        yield X, read_elem(file["obs"]), read_elem(file["var"]).index


def _values(data: Any, layer: str | None) -> Any:
    """The values of annotated data in memory."""
    if layer is None:
        if data.X is None:
            raise ValueError("the data have no X; say which layer")
        return data.X
    if layer not in data.layers:
        raise ValueError(f"layer: the data have no layer {layer!r}")
    return data.layers[layer]


def _names(var_names: Any) -> list[str]:
    names = [str(name) for name in var_names]
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(
                f"var_names: several are {name!r}; var_names_make_unique() of the data makes them different"
            )
        seen.add(name)
    return names


#: The classes and, for every sample, the index of its class; or else a number for every sample.
_Labels = tuple[list[str], NDArray[np.uint32] | None, NDArray[np.float64] | None]


def _no_labels() -> _Labels:
    return [], None, None


def _labels(obs: Any, label: str) -> _Labels:
    """The labels in a column of the table of samples."""
    if label not in obs.columns:
        raise ValueError(f"label: obs has no column {label!r}")
    column = obs[label]
    missing = int(column.isna().sum())
    if missing:
        raise ValueError(f"label: {missing} samples have no {label!r}")
    values = column.to_numpy()
    classes, codes = np.unique(values.astype(str), return_inverse=True)
    if len(classes) <= _MOST_CLASSES:
        return [str(name) for name in classes], codes.astype(np.uint32), None
    if values.dtype.kind not in "iuf":
        raise ValueError(f"label: {label!r} has more than {_MOST_CLASSES} values that are not numbers")
    return [], None, values.astype(np.float64)


def _parts(X: Any, memory: int) -> Iterator[tuple[Any, bool]]:
    """Some rows at a time as the engine takes them, or columns, where values lie by columns; and which."""
    sparse_format = getattr(X, "format", None)
    if sp.issparse(X) and sparse_format not in ("csr", "csc"):
        X, sparse_format = X.tocsr(), "csr"
    if sparse_format not in ("csr", "csc"):
        step = max(1, memory // (_DENSE * max(1, X.shape[1])))
        for first in range(0, X.shape[0], step):
            yield dense(_floats(np.asarray(X[first : first + step]))), False
        return
    by_columns = sparse_format == "csc"
    total = X.shape[1] if by_columns else X.shape[0]
    first, step, most = 0, _FIRST, 1.0
    while first < total:
        some = slice(first, min(total, first + step))
        part = X[:, some] if by_columns else X[some]
        most = max(most, part.nnz / (some.stop - some.start))
        yield _compressed(part, X.shape, first if by_columns else None), by_columns
        first = some.stop
        # Those that follow may be fuller: steps grow slowly.
        step = max(1, min(4 * step, int(memory / (_SPARSE * most))))


def _compressed(part: Any, shape: tuple[int, int], first_column: int | None) -> dict[str, Any]:
    """Some rows, or some columns from one on, without columns and entries that hold nothing."""
    check_indices(part)
    # What is changed here must not be the user's.
    columns = part.tocsc(copy=True)
    columns.sum_duplicates()
    columns.data = _floats(columns.data)
    columns.eliminate_zeros()
    held = np.flatnonzero(np.diff(columns.indptr))
    made = compressed(columns)
    made["shape"] = (columns.shape[0], shape[1])
    made["ids"] = (held + (first_column or 0)).astype(np.uint64)
    made["pointers"] = np.concatenate([[0], columns.indptr[1:][held]]).astype(np.uint64)
    return made


def _floats(values: NDArray[Any]) -> NDArray[Any]:
    """Values as the engine takes them."""
    if values.dtype.kind not in "fiub":
        raise ValueError(f"X: values of type {values.dtype} are not numbers")
    if values.dtype.kind != "f" or values.dtype.itemsize not in (4, 8):
        values = values.astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError("X: contains NaN or infinity")
    return values
