"""Columns in shards, in the memory of other processes: what Dask and Spark have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import _featgen, _input

#: What to do with a table that is more than numbers.
ADVICE = (
    "make a store of the table, which knows categories and gaps (featgen.convert), and give its path, "
    "or make numbers of it first"
)


@contextmanager
def telling_what_to_do() -> Iterator[None]:
    """Adds to errors about values that are missing what can be done about them."""
    try:
        yield
    except ValueError as error:
        if "NaN is not a finite number" not in str(error):
            raise
        raise ValueError(f"{error}: data in shards must not have gaps; {ADVICE}") from error


@dataclass(frozen=True, eq=False)
class Sharded:
    """Data in shards, in the place of X. ``ask`` hands a request to every shard and returns the replies, in order."""

    ask: Callable[[bytes], Sequence[bytes]]
    shape: tuple[int, int]
    feature_names: list[str] | None
    store: _featgen.Store | None = None

    def __len__(self) -> int:
        return self.shape[0]


class Shard:
    """Some columns, for all rows, in this process. A copy of it can be sent to another one.

    What it makes of them to save time takes no more than ``memory`` bytes.
    """

    def __init__(self, X: Any, first: int, width: int, threads: int, memory: int | None = None) -> None:
        X = X.tocsc() if sp.issparse(X) else _input.dense(X)
        matrix = _input.compressed(X) if sp.issparse(X) else X
        order = None if sp.issparse(X) else ("C" if X.flags.c_contiguous else "F")
        self._made = (X.shape, X.dtype, order, first, width, threads, memory)
        self._nbytes = _bytes(X)
        self._engine = _featgen.Shard(matrix, first, width, threads, memory)

    def answer(self, request: bytes) -> bytes:
        return self._engine.answer(request)

    def __sizeof__(self) -> int:
        return self._nbytes

    def __reduce__(self) -> tuple[Any, ...]:
        return _copy, (self._engine.columns(), *self._made)


def _copy(
    columns: list[tuple[NDArray[np.uint32] | None, NDArray[np.float64]]],
    shape: tuple[int, int],
    dtype: Any,
    order: Any,
    *made: Any,
) -> Shard:
    """A shard of the columns of another one, as they were stored there."""
    if order is not None:
        X = np.empty(shape, dtype, order=order)
        for at, (_, values) in enumerate(columns):
            X[:, at] = values
        return Shard(X, *made)
    counts = [len(values) for _, values in columns]
    rows = [rows for rows, _ in columns if rows is not None]
    parts = (
        np.concatenate([np.zeros(0), *(values for _, values in columns)]).astype(dtype),
        np.concatenate([np.zeros(0, np.int64), *rows]),
        np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]),
    )
    return Shard(sp.csc_array(parts, shape=shape), *made)


class StoreShard:
    """The same of columns in a store that every process can read: a copy of it opens the store again.

    They are those in a range of all columns in the store; or all of them, and in a range ``of`` so many elsewhere.
    With ``lets_go``, what the system maps of the store does not count as memory of the process between two requests.
    """

    def __init__(
        self,
        path: str,
        start: int,
        stop: int,
        of: int | None,
        threads: int,
        memory: int | None = None,
        lets_go: bool = False,
    ) -> None:
        self._made = (path, start, stop, of, threads, memory, lets_go)
        self._engine = _featgen.Shard.of_store(path, start, stop, of, threads, memory)
        self._lets_go = lets_go
        self._let_go()

    def answer(self, request: bytes) -> bytes:
        reply = self._engine.answer(request)
        self._let_go()
        return reply

    def _let_go(self) -> None:
        if self._lets_go:
            self._engine.let_go()

    def __reduce__(self) -> tuple[Any, ...]:
        return StoreShard, self._made


def ranges(width: int, count: int) -> list[tuple[int, int]]:
    """So many columns in about equal parts, none of which is empty."""
    count = max(1, min(count, width))
    ends = [width * k // count for k in range(count + 1)]
    return list(pairwise(ends))


def cut(piece: Any, start: int, stop: int, dtype: Any) -> Any:
    """Some columns of a block of rows: an array, a sparse matrix or a frame."""
    if hasattr(piece, "iloc"):
        return piece.iloc[:, start:stop].to_numpy(dtype=dtype)
    if hasattr(piece, "to_scipy_sparse"):
        piece = piece.to_scipy_sparse()
    if sp.issparse(piece):
        return piece.tocsc()[:, start:stop].astype(dtype, copy=False)
    return np.ascontiguousarray(np.asarray(piece)[:, start:stop], dtype=dtype)


def joined(pieces: Sequence[Sequence[Any]], order: str) -> Any:
    """Blocks, given as rows of blocks, as one matrix."""
    if any(sp.issparse(piece) for row in pieces for piece in row):
        return sp.vstack([sp.hstack(list(row), format="csc") for row in pieces], format="csc")
    rows = [np.hstack(list(row)) for row in pieces]
    return np.asarray(np.vstack(rows), order=order)  # type: ignore[call-overload]


def value_type(dtypes: Sequence[Any], names: Sequence[str] | None = None) -> np.dtype[Any]:
    """The type in which values of all these types are kept, as of an array or a frame in one piece."""
    for at, dtype in enumerate(dtypes):
        if not isinstance(dtype, np.dtype) or dtype.kind not in "biuf":
            column = "X" if names is None else f"the column {names[at]!r}"
            raise ValueError(f"{column} is of type {dtype}: data in shards must be numbers; {ADVICE}")
    found = np.result_type(*dtypes) if len(dtypes) else np.dtype(np.float64)
    return found if found in (np.float32, np.float64) else np.dtype(np.float64)


def _bytes(X: Any) -> int:
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) if sp.issparse(X) else int(X.nbytes)
