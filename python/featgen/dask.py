"""The estimators on a cluster of Dask, for data that are larger than one machine.

Columns are kept in shards on the workers, loaded once; the estimator itself runs here, and asks them in every round.
The model is the same, byte for byte, as that of the plain estimator on the same data in one piece, for any number of
workers.

>>> import dask.array as da
>>> from distributed import Client
>>> from featgen.dask import DaskFGMClassifier
>>> client = Client(n_workers=2, threads_per_worker=1, dashboard_address=None)  # doctest: +SKIP
>>> X = da.random.default_rng(0).normal(size=(1000, 5000), chunks=(100, 5000))  # doctest: +SKIP
>>> y = X[:, 0] - X[:, 1] > 0  # doctest: +SKIP
>>> model = DaskFGMClassifier(n_features=2).fit(X, y)  # doctest: +SKIP
>>> model.get_support(indices=True)  # doctest: +SKIP
array([0, 1])
"""

from __future__ import annotations

import os
from concurrent.futures import CancelledError
from dataclasses import replace
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any, NoReturn

import distributed
import numpy as np
from dask import delayed, is_dask_collection

from ._checks import level
from ._machine import Machine
from ._progress import loading
from ._shards import Shard, Sharded, StoreShard, cut, joined, ranges, telling_what_to_do, value_type
from ._store import Store
from .estimators import FGMClassifier, FGMRegressor, FGMSurvival
from .validated import FGMClassifierCV, FGMRegressorCV, FGMSurvivalCV

if TYPE_CHECKING:
    from typing import Self

__all__ = [
    "DaskFGMClassifier",
    "DaskFGMClassifierCV",
    "DaskFGMRegressor",
    "DaskFGMRegressorCV",
    "DaskFGMSurvival",
    "DaskFGMSurvivalCV",
]

#: How often the scheduler has a task done again that raised an exception.
_RETRIES = 2

#: How often a request is sent again whose copies were lost with workers.
_TRIES = 5

#: The part of a worker's memory that a shard may take for what only saves time, or for what is mapped of a store.
_PART_OF_LIMIT = 0.25

#: Requests of more bytes go to the workers once, beside the tasks.
_LARGE = 1 << 16


class _OnDask(Machine):
    """An estimator that is fitted where the data are: on the workers of a cluster."""

    _client: Any = None

    @property
    def client(self) -> Any:
        """The client of the cluster: the one that was set, or else the one at hand (``distributed.get_client``)."""
        return distributed.get_client() if self._client is None else self._client

    @client.setter
    def client(self, client: Any) -> None:
        self._client = client

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None, groups: Any = None
    ) -> Self:
        """Select features and fit them, with the columns of X in shards on the workers.

        Parameters
        ----------
        X : dask array, dask dataframe or path of shape (n_samples, n_features)
            Training data. Arrays may be chunked in any way, and their blocks may be sparse matrices of scipy.
            Dataframes hold numbers. A path is that of a store of ``featgen convert`` that the workers and this process
            can read.
        y : dask array, dask series or array-like of shape (n_samples,), default=None
            Labels: classes, numbers, counts or times, as the loss needs them. Of a store, those in it by default.
        sample_weight : dask array, dask series or array-like of shape (n_samples,), default=None
            How much each sample counts.
        offset : dask array, dask series or array-like of shape (n_samples,), default=None
            A number that is added to the decision value of each sample.
        groups : dask array, dask series or array-like of shape (n_samples,), default=None
            Only of estimators that cross-validate: which samples belong together.

        Returns
        -------
        self : object
            The fitted estimator, which needs no cluster any more. After Ctrl-C it holds what was reached, and
            KeyboardInterrupt is raised. After any other error, such as one on a worker, it is as it was before.
        """
        client = self.client
        if client.asynchronous:
            raise ValueError("client: an asynchronous client cannot be waited for; give one that is not")
        y, sample_weight, offset = (_local(client, given) for given in (y, sample_weight, offset))
        more = {} if groups is None else {"groups": _local(client, groups)}
        client.wait_for_workers(1)
        if isinstance(X, (str, PathLike)):
            store = Store(X, columns=False)
            y = store.y if y is None else y
            data, parts = _store_parts(client, store, os.path.abspath(X))
        else:
            data, parts = _parts(client, X)
        # Tasks whose results stay where they are; should they be lost with a worker, the scheduler has them done again.
        shards = client.compute(parts, retries=_RETRIES)
        try:
            with loading(level("verbose", self.verbose), len(shards)):
                distributed.wait(shards)
            shape = (0 if y is None else len(y), data.shape[1])
            data = replace(data, ask=_Asking(client, shards), shape=shape)
            with telling_what_to_do():
                return super().fit(data, y, sample_weight, offset, **more)
        finally:
            client.cancel(shards, force=True)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        # A client is of one process and one cluster.
        state.pop("_client", None)
        return state


_ABOUT = """:class:`featgen.{plain}` on a cluster of Dask. The parameters are the same.

    The client is the one at hand, or the one that the attribute ``client`` is set to. Once fitted, the estimator needs
    no cluster: it predicts, is saved and reported as any other.
    """


class DaskFGMClassifier(_OnDask, FGMClassifier):
    __doc__ = _ABOUT.format(plain="FGMClassifier")


class DaskFGMRegressor(_OnDask, FGMRegressor):
    __doc__ = _ABOUT.format(plain="FGMRegressor")


class DaskFGMSurvival(_OnDask, FGMSurvival):
    __doc__ = _ABOUT.format(plain="FGMSurvival")


class DaskFGMClassifierCV(_OnDask, FGMClassifierCV):
    __doc__ = _ABOUT.format(plain="FGMClassifierCV")


class DaskFGMRegressorCV(_OnDask, FGMRegressorCV):
    __doc__ = _ABOUT.format(plain="FGMRegressorCV")


class DaskFGMSurvivalCV(_OnDask, FGMSurvivalCV):
    __doc__ = _ABOUT.format(plain="FGMSurvivalCV")


def _local(client: Any, given: Any) -> Any:
    """Labels, or anything else with a number for each sample, here."""
    return client.compute(given, sync=True) if is_dask_collection(given) else given


def _workers(client: Any) -> int:
    return len(client.scheduler_info(n_workers=-1)["workers"])


def _unasked(request: bytes) -> NoReturn:
    raise AssertionError("shards are asked when there are some")


def _store_parts(client: Any, store: Store, path: str) -> tuple[Sharded, list[Any]]:
    """A store, and tasks that make shards of it: each opens it where it runs."""
    data = Sharded(_unasked, store.shape, store.feature_names, store._store)
    cuts = ranges(store.shape[1], _workers(client))
    size = os.path.getsize(path) // len(cuts)
    return data, [delayed(_of_store)(path, start, stop, size) for start, stop in cuts]


def _parts(client: Any, X: Any) -> tuple[Sharded, list[Any]]:
    """Data, whose number of rows may not be known yet, and tasks that make shards of them."""
    if not (is_dask_collection(X) and hasattr(X, "to_delayed") and getattr(X, "ndim", 0) == 2):
        raise TypeError(
            f"X: a dask array, a dask dataframe or the path of a store is needed, not {type(X).__name__}; "
            "featgen's plain estimators take all else"
        )
    names, order = None, "C"
    if hasattr(X, "columns"):
        shown = [str(name) for name in X.columns]
        names = shown if shown == list(X.columns) else None
        # As pandas keeps the columns of files.
        dtype, order = value_type(list(X.dtypes), shown), "F"
        edges, blocks = [0, len(shown)], [[part] for part in X.to_delayed()]
    else:
        if np.isnan(X.chunks[1]).any():
            raise ValueError("X: the number of columns must be known; X.compute_chunk_sizes() finds it out")
        dtype = value_type([X.dtype])
        edges, blocks = np.cumsum([0, *X.chunks[1]]).tolist(), X.to_delayed().tolist()
    width = edges[-1]
    cuts = ranges(width, _workers(client))
    parts = [delayed(_load)(_panel(blocks, edges, *part, dtype), order, part[0], width) for part in cuts]
    return Sharded(_unasked, (0, width), names), parts


def _panel(blocks: list[list[Any]], edges: list[int], start: int, stop: int, dtype: Any) -> list[list[Any]]:
    """Some columns of all blocks, given as rows of blocks and by the edges between them; cut where they are."""
    panel = []
    for row in blocks:
        cuts = []
        for block, (first, end) in zip(row, pairwise(edges)):
            low, high = max(start, first), min(stop, end)
            if low < high:
                cuts.append(delayed(cut)(block, low - first, high - first, dtype))
        panel.append(cuts)
    return panel


def _load(panel: list[list[Any]], order: str, first: int, width: int) -> Shard:
    return Shard(joined(panel, order), first, width, _threads(), _memory())


def _of_store(path: str, start: int, stop: int, size: int) -> StoreShard:
    memory = _memory()
    # Dask counts what is mapped of files as memory of the worker, and pauses workers that come near their limit.
    return StoreShard(path, start, stop, None, _threads(), memory, memory is not None and size > memory)


def _memory() -> int | None:
    """What a shard may take of the worker's memory beside its data."""
    limit = distributed.get_worker().memory_manager.memory_limit
    return None if limit is None else int(_PART_OF_LIMIT * limit)


def _threads() -> int:
    """As many threads as the worker has: it answers with all of them."""
    return int(distributed.get_worker().state.nthreads)


def _answer(shard: Shard | StoreShard, request: bytes) -> bytes:
    return shard.answer(request)


class _Asking:
    """Asks all shards by tasks, which depend on them and on the request alone."""

    def __init__(self, client: Any, shards: list[Any]) -> None:
        self._client, self._shards = client, shards

    def __call__(self, request: bytes) -> list[bytes]:
        for left in reversed(range(_TRIES)):
            try:
                return self._ask(request)
            # The only copy of the request was with a worker that is gone, or that went while it was sent.
            except (CancelledError, distributed.client.FutureCancelledError, OSError, TimeoutError):
                if not left:
                    raise
        raise AssertionError

    def _ask(self, request: bytes) -> list[bytes]:
        large = len(request) > _LARGE
        sent = self._client.scatter(request, broadcast=True, hash=False) if large else request
        ask = lambda shard: self._client.submit(_answer, shard, sent, pure=False, retries=_RETRIES)
        replies = [ask(shard) for shard in self._shards]
        try:
            return self._client.gather(replies)
        except BaseException:
            self._client.cancel(replies, force=True)
            raise
