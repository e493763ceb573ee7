"""What tasks of Spark do. They run in processes that start with this module, so that it imports little."""

from __future__ import annotations

import os
import pickle
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import _featgen, _input
from ._shards import StoreShard

#: Bytes that data may take while a store is made of them.
_AT_ONCE = 1 << 28


def numbers(width: int, rows: list[Any]) -> Any:
    return np.array([row[:width] for row in rows], dtype=np.float64).reshape(len(rows), width)


def arrays(width: int, rows: list[Any]) -> Any:
    _check_widths(width, (len(row[0]) for row in rows))
    return np.array([row[0] for row in rows], dtype=np.float64).reshape(len(rows), width)


def vectors(width: int, rows: list[Any]) -> Any:
    from pyspark.ml.linalg import DenseVector, SparseVector, Vectors

    vectors = [row[0] for row in rows]
    _check_widths(width, (len(vector) for vector in vectors))
    if all(isinstance(vector, DenseVector) for vector in vectors):
        return np.array([vector.array for vector in vectors], dtype=np.float64).reshape(len(rows), width)
    vectors = [
        vector if isinstance(vector, SparseVector) else Vectors.sparse(width, _nonzeros(vector.array))
        for vector in vectors
    ]
    pointers = np.cumsum([0, *(len(vector.indices) for vector in vectors)])
    indices = np.concatenate([vector.indices for vector in vectors])
    values = np.concatenate([vector.values for vector in vectors])
    return sp.csr_array((values, indices, pointers), shape=(len(rows), width))


def _nonzeros(values: Any) -> dict[int, float]:
    return {int(at): float(values[at]) for at in np.flatnonzero(values)}


def _check_widths(width: int, found: Iterable[int]) -> None:
    other = next((count for count in found if count != width), None)
    if other is not None:
        raise ValueError(f"a row has {other} features, another {width}")


def split(
    read: Any,
    cuts: list[tuple[int, int]],
    given: list[bool],
    sparse: bool,
    width: int,
    index: int,
    rows: Iterator[Any],
) -> Iterator[tuple[int, bytes]]:
    """The rows of a partition cut into shards, each with a number that stands for all of them; and their labels."""
    held = list(rows)
    if not held:
        return
    first = len(held[0]) - sum(given)
    X = read(held)
    X = sp.csc_array(X) if sparse else (X.toarray() if sp.issparse(X) else X)
    numbers = iter(np.array(column) for column in zip(*(row[first:] for row in held)))
    labels = [next(numbers) if there else None for there in given]
    stands = zlib.crc32(pickle.dumps((X.data if sparse else X, X.indices if sparse else None, labels)))
    order = (index, len(held), stands)
    for number, (start, stop) in enumerate(cuts):
        yield number, pickle.dumps((order, X[:, start:stop]), protocol=5)
    yield len(cuts), pickle.dumps((order, labels), protocol=5)


def ordered(parts: Iterable[tuple[int, bytes]]) -> list[tuple[Any, Any]]:
    """The pieces of a shard, or of labels, in the order of the partitions that they are from."""
    return sorted((pickle.loads(piece) for _, piece in parts), key=lambda piece: piece[0])


def made_shard(
    folder: str, cuts: list[tuple[int, int]], of: int | None, threads: int, number: int, parts: Iterator[Any]
) -> Iterator[tuple[Any, ...]]:
    """Writes a shard as a store into a local directory of the executor; where it is, and what stands for its rows."""
    pieces = ordered(parts)
    if number == len(cuts) or not pieces:
        return
    local = os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).split(",")[0]
    os.makedirs(os.path.join(local, folder), exist_ok=True)
    path = os.path.join(local, folder, f"{number}.store")
    start, stop = cuts[number]
    maker = _featgen.Maker(path, _AT_ONCE)
    for _, block in pieces:
        if of is None:
            part = _input.compressed(sp.csc_array(block))
            part["shape"] = (block.shape[0], cuts[-1][1])
            part["ids"] = np.arange(start, stop, dtype=np.uint64)
            maker.add(part, False)
        else:
            maker.add(np.ascontiguousarray(block), False)
    maker.finish([], None, None, None)
    yield [order for order, _ in pieces], path, (start, stop, of, threads)


#: The shard that this process had last, with the folders of others: processes are used again for other tasks.
_HELD: dict[str, StoreShard] = {}


def answered(request: bytes | None, sent: Any, shards: Iterator[Any]) -> list[tuple[Any, bytes | None]]:
    """The reply of a shard; None if it is not where this task runs."""
    # To the end: a process that left something would not be used again.
    ((rows, path, made),) = shards
    if not os.path.exists(path):
        return [(rows, None)]
    if path not in _HELD:
        folder = os.path.dirname(path)
        for other in [held for held in _HELD if os.path.dirname(held) != folder]:
            del _HELD[other]
        _HELD[path] = StoreShard(path, *made)
    return [(rows, _HELD[path].answer(sent.value if request is None else request))]


def removed(shards: Iterator[Any]) -> list[None]:
    for _, path, _ in shards:
        _HELD.pop(path, None)
        with suppress(OSError):
            os.remove(path)
            # With the last of them, the folder too.
            os.rmdir(os.path.dirname(path))
    return []
