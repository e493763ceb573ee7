"""Stores: data on disk, larger than memory if need be, made by ``featgen convert``."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from . import _featgen
from ._checks import given, integer, truth


class Store:
    """An open store, to be given to estimators in the place of X. Made by :func:`open_store`.

    Attributes
    ----------
    shape : tuple of int
        Samples and features.
    y : array of shape (n_samples,) or None
        The labels, as numbers where all are numbers; None if the store has none.
    sample_weight : array of shape (n_samples,) or None
        The weights of the samples, if the store has some.
    feature_names : list of str or None
        The names of the features, if the store has some.
    """

    def __init__(self, path: str | PathLike[str], *, columns: bool = True) -> None:
        # Without columns, nothing of them is read: others look at them.
        self._store = _featgen.Store(path, columns)
        self.shape = self._store.shape
        self.feature_names = self._store.names

    @property
    def y(self) -> NDArray[Any] | None:
        classes, codes = self._store.labels()
        return as_values(classes)[codes] if classes else self._store.numbers()

    @property
    def sample_weight(self) -> NDArray[np.float64] | None:
        return self._store.sample_weight

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> NoReturn:
        raise TypeError(
            "a store is used as a whole: samples cannot be taken out of it, as cross-validation does. "
            "Make a store of each part of the data"
        )

    def __repr__(self) -> str:
        return repr(self._store)


def open_store(path: str | PathLike[str]) -> Store:
    """Open a store made by ``featgen convert``. All of it is read once and compared with its checksums.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    store : Store
        To be given to ``fit`` and ``predict`` in the place of X. Nothing is copied: columns are read where they are.

    Examples
    --------
    >>> import featgen
    >>> store = featgen.open_store("genes.store")  # doctest: +SKIP
    >>> model = featgen.FGMClassifier(n_features=20).fit(store, store.y)  # doctest: +SKIP
    """
    return Store(path)


def convert(
    data: str | PathLike[str],
    store: str | PathLike[str],
    *,
    label: str | None = None,
    labels: str | PathLike[str] | None = None,
    names: str | PathLike[str] | None = None,
    transpose: bool = False,
    memory: int = 2**30,
    copy: bool = True,
) -> Store:
    """Turn a file into a store, in bounded memory, as ``featgen convert`` does.

    Parameters
    ----------
    data : str or path-like
        svmlight text, CSV with a header, a Matrix Market ``.mtx``, or a NumPy ``.npy``; text may be compressed by gzip
        or zstd.
    store : str or path-like
        The file to write; it appears whole or not at all.
    label : str, default=None
        The column of a CSV that holds the labels.
    labels : str or path-like, default=None
        A file of labels, one a line.
    names : str or path-like, default=None
        A file of feature names, one a line.
    transpose : bool, default=False
        Whether the columns of a ``.mtx`` are samples and its rows features, as in files of 10x Genomics.
    memory : int, default=2**30
        Bytes that data may take meanwhile.
    copy : bool, default=True
        Whether large dense columns are also kept in one byte a value, from which most scores are computed: a quarter
        more room on disk (an eighth with 64-bit floats), and searches that are several times faster.

    Returns
    -------
    store : Store
        Open.

    Examples
    --------
    >>> import os, tempfile
    >>> import featgen
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "data.svm")
    ...     with open(path, "w") as file:
    ...         _ = file.write("1 1:1 3:2\\n0 2:1\\n1 1:3\\n0 2:2 3:1\\n")
    ...     store = featgen.convert(path, os.path.join(folder, "data.store"))
    >>> store.shape
    (4, 3)
    >>> model = featgen.FGMClassifier().fit(store, store.y)
    >>> model.predict(store)
    array([1, 0, 1, 0])
    """
    bytes_at_once = given("memory", integer("memory", memory))
    transposed, copied = truth("transpose", transpose), truth("copy", copy)
    _featgen.convert(data, store, label, labels, names, transposed, (bytes_at_once, copied))
    return Store(store)


def as_values(classes: Sequence[str]) -> NDArray[Any]:
    """Classes of a file as numbers or truth values where all are such and stay different, else as they are."""
    if set(classes) == {"False", "True"}:
        return np.array([name == "True" for name in classes])
    for kind in (int, float):
        try:
            values = [kind(name) for name in classes]
        except ValueError:
            continue
        if len(set(values)) == len(classes) and np.isfinite(values).all():
            return np.array(values)
    return np.array(classes)
