"""Data of users as the engine takes them: without copies where their layout allows.

=============================================  ================================================================"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import _featgen
from ._store import Store

#: What scikit-learn's validation is asked for.
ACCEPTED: dict[str, Any] = {
    "accept_sparse": ("csc", "csr"),
    "dtype": (np.float64, np.float32, np.uint8, np.bool_),
    "accept_large_sparse": True,
}

#: Bytes from which it is worthwhile not to read an array once more.
LARGE = 1 << 24


def is_large(X: Any) -> bool:
    """Whether X is an array so large that whether its values are finite is better left to the engine."""
    return type(X) is np.ndarray and X.dtype in ACCEPTED["dtype"] and X.nbytes >= LARGE


def matrix(X: Any) -> Any:
    """A validated array or sparse matrix, a store, or what was made of a frame, as the engine takes it."""
    if isinstance(X, (Store, _featgen.Table)):
        return of_engine(X)
    if not sp.issparse(X):
        return dense(X)
    check_indices(X)
    if X.format == "csr" and X.shape[1] > X.nnz:
        return some_columns(X, np.unique(X.indices))
    return compressed(X.tocsc())


def of_engine(X: Store | _featgen.Table) -> _featgen.Store | _featgen.Table:
    """What the engine has already."""
    return X._store if isinstance(X, Store) else X


def check_indices(X: Any) -> None:
    """Refuses a CSC or CSR matrix with indices outside its shape: scipy trusts them, and reads wherever they say."""
    rows, columns = X.shape
    kind, count, other, across = (
        ("row", rows, "column", columns) if X.format == "csc" else ("column", columns, "row", rows)
    )
    pointers, indices = X.indptr, X.indices
    stored = min(len(indices), len(X.data))
    if (
        len(pointers) != across + 1
        or pointers[0] != 0
        or pointers[-1] > stored
        or (np.diff(pointers) < 0).any()
    ):
        raise ValueError(f"X: the pointers to its {other}s do not fit a sparse matrix of {rows} x {columns}")
    used = indices[: pointers[-1]]
    if len(used):
        least, most = int(used.min()), int(used.max())
        if least < 0 or most >= count:
            wrong = least if least < 0 else most
            raise ValueError(f"X: {kind} index {wrong} is not within its {count} {kind}s")


def some_columns(X: Any, columns: NDArray[Any]) -> Any:
    """The same, but of sparse data only some columns, which increase: all that a prediction looks at."""
    if isinstance(X, (Store, _featgen.Table)):
        return of_engine(X)
    if not sp.issparse(X):
        return dense(X)
    part = compressed(take(X, columns))
    part["shape"], part["ids"] = X.shape, columns.astype(np.uint64)
    return part


def take(X: Any, columns: NDArray[Any]) -> Any:
    """Some columns, which increase, of a CSC or CSR matrix, as CSC. Nothing made on the way is as long as X is wide."""
    check_indices(X)
    if X.format == "csc" or len(columns) == 0:
        return X[:, columns].tocsc()
    at = np.searchsorted(columns, X.indices)
    at[at == len(columns)] = 0
    there = columns[at] == X.indices
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[there]
    return sp.csc_array((X.data[there], (row, at[there])), shape=(X.shape[0], len(columns)))


def values_like(X: Any, values: Any, width: int) -> Any:
    """What the engine computed from X: an array or, by its parts, a sparse matrix; both as X was given."""
    if isinstance(values, tuple):
        return rows_like(X, sp.csc_array(values, shape=(X.shape[0], width)))
    return values if isinstance(X, (Store, _featgen.Table)) else values.astype(kept_as(X), copy=False)


def rows_like(X: Any, columns: Any) -> Any:
    """A CSC matrix as CSR, with the type of X's values, and a matrix or an array as X is."""
    if isinstance(X, Store):
        return columns.tocsr()
    rows = columns.astype(kept_as(X), copy=False).tocsr()
    return sp.csr_array(rows) if isinstance(X, (sp.csr_array, sp.csc_array)) else sp.csr_matrix(rows)


def kept_as(X: Any) -> np.dtype[Any]:
    """The type of values that are made of X: products of bytes, say, may be too large for bytes."""
    return X.dtype if X.dtype.kind == "f" else np.dtype(np.float64)


def dense(X: NDArray[Any]) -> NDArray[Any]:
    X = as_bytes(np.asarray(X))
    contiguous = X.flags.c_contiguous or X.flags.f_contiguous
    return X if contiguous and X.flags.aligned else X.copy(order="C")


def as_bytes(values: NDArray[Any]) -> NDArray[Any]:
    """What is true or false as 1 or 0."""
    return values.view(np.uint8) if values.dtype == np.bool_ else values


def compressed(X: Any) -> dict[str, Any]:
    """A CSC matrix by its arrays."""
    if not X.has_canonical_format:
        # Sums of bytes may be too large for bytes.
        X = X.astype(kept_as(X))
        X.sum_duplicates()
    if X.indices.dtype == np.int32:
        indices = np.ascontiguousarray(X.indices).view(np.uint32)
    else:
        indices = X.indices.astype(np.uint32)
    return {
        "shape": X.shape,
        "ids": None,
        "pointers": X.indptr.astype(np.uint64),
        "indices": indices,
        "values": as_bytes(np.ascontiguousarray(X.data)),
    }
