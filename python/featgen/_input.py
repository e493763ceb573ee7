"""Data of users as the engine takes them: without copies where their layout allows.

=============================================  =======================================================================
input                                          what is copied
=============================================  =======================================================================
NumPy float32, float64; C or Fortran order     nothing, memory-mapped arrays included
NumPy views with gaps                          once, as they are
NumPy of other dtypes, lists                   once, as float64
pandas, one float dtype in one block           nothing
pandas otherwise                               once; several dtypes as float64
polars                                         once, unless its columns lie side by side in memory
pyarrow                                        once
scipy CSC, float32 or float64                  the column pointers; unsorted data once, 64-bit indices become 32-bit
scipy CSR                                      transposed once; for predictions only the columns selected
other sparse formats                           once, to CSC
=============================================  =======================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

#: What scikit-learn's validation is asked for.
ACCEPTED: dict[str, Any] = {
    "accept_sparse": ("csc", "csr"),
    "dtype": (np.float64, np.float32),
    "accept_large_sparse": True,
}


def matrix(X: Any) -> Any:
    """A validated array or sparse matrix, as the engine takes it."""
    return compressed(X.tocsc()) if sp.issparse(X) else dense(X)


def some_columns(X: Any, columns: NDArray[np.int64]) -> Any:
    """The same, but of sparse data only some columns, which increase: all that a prediction looks at."""
    if not sp.issparse(X):
        return dense(X)
    part = compressed(X[:, columns].tocsc())
    part["shape"], part["ids"] = X.shape, columns.astype(np.uint64)
    return part


def dense(X: NDArray[Any]) -> NDArray[Any]:
    X = np.asarray(X)
    contiguous = X.flags.c_contiguous or X.flags.f_contiguous
    return X if contiguous and X.flags.aligned else np.ascontiguousarray(X)


def compressed(X: Any) -> dict[str, Any]:
    """A CSC matrix by its arrays."""
    if not X.has_canonical_format:
        X = X.copy()
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
        "values": np.ascontiguousarray(X.data),
    }
