"""The estimators on a cluster of Spark, as estimators of ``pyspark.ml``.

One shuffle turns rows into column shards, which executors keep as stores in their local directories; the estimator
itself runs in the driver, and asks them in every round by an ordinary job of Spark. The model is the same, byte for
byte, for any number of shards.

>>> from featgen.spark import SparkFGMClassifier
>>> classifier = SparkFGMClassifier(features_col="features", label_col="label", n_features=20)  # doctest: +SKIP
>>> model = classifier.fit(frame)  # doctest: +SKIP
>>> model.estimator.save("model.json")  # doctest: +SKIP
"""

from __future__ import annotations

import copy
import inspect
import os
import tempfile
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar
from uuid import uuid4

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pyspark import StorageLevel
from pyspark.ml import Estimator, Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import SparseVector, VectorUDT
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasLabelCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
    HasWeightCol,
)
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import functions as sql
from pyspark.sql.types import ArrayType, DoubleType, NumericType, StringType
from pyspark.sql.utils import is_remote

from . import _files, _spark
from ._checks import level
from ._machine import Machine
from ._progress import loading
from ._shards import Sharded, ranges, telling_what_to_do
from .estimators import FGMClassifier, FGMRegressor, FGMSurvival
from .validated import FGMClassifierCV, FGMRegressorCV, FGMSurvivalCV

__all__ = [
    "SparkFGMClassifier",
    "SparkFGMClassifierCV",
    "SparkFGMModel",
    "SparkFGMRegressor",
    "SparkFGMRegressorCV",
    "SparkFGMSurvival",
    "SparkFGMSurvivalCV",
]

#: How often shards are loaded again that are not where they were.
_TRIES = 3

#: Requests of more bytes are broadcast instead of being part of a task.
_LARGE = 1 << 20


def _parameters(plain: type[Machine]) -> dict[str, Any]:
    """The parameters of a plain estimator, with their defaults."""
    signature = inspect.signature(plain.__init__).parameters
    return {name: signature[name].default for name in plain._get_param_names()}


class _Columns(
    HasFeaturesCol, HasLabelCol, HasWeightCol, HasPredictionCol, HasProbabilityCol, HasRawPredictionCol
):
    """Which columns of a frame are what."""

    featuresCols: Param[list[str]] = Param(  # noqa: N815
        Params._dummy(),
        "featuresCols",
        "columns of numbers that are features, instead of one column of vectors",
        typeConverter=TypeConverters.toListString,
    )
    censorCol: Param[str] = Param(  # noqa: N815
        Params._dummy(),
        "censorCol",
        "of times, the column that is 1 where there was an event, and 0 where there was none until then",
        typeConverter=TypeConverters.toString,
    )

    def _features(self) -> str | list[str]:
        return self.getOrDefault(self.featuresCols) or self.getOrDefault(self.featuresCol)


class _SparkFGM(_Columns, Estimator, DefaultParamsReadable, DefaultParamsWritable):
    """An estimator of ``pyspark.ml`` over a plain one. Each parameter of that is one of this."""

    _plain: ClassVar[type[Machine]]

    numWorkers: Param[int] = Param(  # noqa: N815
        Params._dummy(), "numWorkers", "number of column shards, each asked by a task", TypeConverters.toInt
    )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in _parameters(cls._plain):
            setattr(cls, name, Param(Params._dummy(), name, f"{name} of featgen.{cls._plain.__name__}"))

    def __init__(
        self,
        *,
        features_col: str | Sequence[str] = "features",
        label_col: str = "label",
        weight_col: str | None = None,
        censor_col: str | None = None,
        prediction_col: str = "prediction",
        probability_col: str = "probability",
        raw_prediction_col: str = "rawPrediction",
        num_workers: int | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__()
        known = _parameters(self._plain)
        unknown = [name for name in parameters if name not in known]
        if unknown:
            raise TypeError(f"{type(self).__name__} has no parameter {unknown[0]!r}")
        self._setDefault(featuresCols=[], numWorkers=0, **known)
        columns: dict[str, Any] = {
            "labelCol": label_col,
            "predictionCol": prediction_col,
            "probabilityCol": probability_col,
            "rawPredictionCol": raw_prediction_col,
            "weightCol": weight_col,
            "censorCol": censor_col,
            "numWorkers": num_workers,
        }
        features = "featuresCol" if isinstance(features_col, str) else "featuresCols"
        columns[features] = features_col
        self._set(**{name: value for name, value in columns.items() if value is not None}, **parameters)

    def _fit(self, dataset: Any) -> SparkFGMModel:
        plain = self._plain(**{name: self.getOrDefault(name) for name in _parameters(self._plain)})
        with _Loaded(dataset, self) as loaded, telling_what_to_do():
            y, weights = loaded.labels
            plain.fit(loaded.data, self._labels(y), weights, None)
        return self._copyValues(SparkFGMModel(plain))

    def _labels(self, y: Any) -> Any:
        return y


class SparkFGMClassifier(_SparkFGM):
    """:class:`featgen.FGMClassifier` as an estimator of ``pyspark.ml``.

    Parameters
    ----------
    features_col : str or list of str, default="features"
        A column of vectors or of arrays of numbers, or several columns of numbers.
    label_col : str, default="label"
        The column of classes: numbers or texts.
    weight_col : str, default=None
        The column that says how much each row counts.
    censor_col : str, default=None
        Only for survival analysis.
    prediction_col, probability_col, raw_prediction_col : str
        The columns that the model adds; probabilities with the losses logistic and softmax only.
    num_workers : int, default=None
        Number of column shards; by default as many as Spark has tasks at a time.
    **parameters
        Those of :class:`featgen.FGMClassifier`.
    """

    _plain = FGMClassifier

    def _labels(self, y: Any) -> Any:
        # Classes are whole numbers that Spark keeps as doubles.
        return y.astype(np.int64) if y.dtype.kind == "f" and (y == np.floor(y)).all() else y


class SparkFGMRegressor(_SparkFGM):
    """:class:`featgen.FGMRegressor` as an estimator of ``pyspark.ml``.

    Columns are as in :class:`SparkFGMClassifier`, all other parameters those of :class:`featgen.FGMRegressor`.
    """

    _plain = FGMRegressor


class SparkFGMSurvival(_SparkFGM):
    """:class:`featgen.FGMSurvival` as an estimator of ``pyspark.ml``.

    Columns are as in :class:`SparkFGMClassifier`: labels are times, ``censor_col`` is 1 where there was an event and
    0 where there was none until then. All other parameters are those of :class:`featgen.FGMSurvival`.
    """

    _plain = FGMSurvival


class SparkFGMClassifierCV(SparkFGMClassifier):
    """:class:`featgen.FGMClassifierCV` as an estimator of ``pyspark.ml``. The same shards answer for all folds.

    Columns are as in :class:`SparkFGMClassifier`, all other parameters those of :class:`featgen.FGMClassifierCV`.
    """

    _plain = FGMClassifierCV


class SparkFGMRegressorCV(_SparkFGM):
    """:class:`featgen.FGMRegressorCV` as an estimator of ``pyspark.ml``.

    Columns are as in :class:`SparkFGMClassifier`, all other parameters those of :class:`featgen.FGMRegressorCV`.
    """

    _plain = FGMRegressorCV


class SparkFGMSurvivalCV(_SparkFGM):
    """:class:`featgen.FGMSurvivalCV` as an estimator of ``pyspark.ml``.

    Columns are as in :class:`SparkFGMSurvival`, all other parameters those of :class:`featgen.FGMSurvivalCV`.
    """

    _plain = FGMSurvivalCV


# Loading


class _Loaded:
    """A frame as column shards that executors keep, for as long as they are needed."""

    def __init__(self, dataset: Any, columns: _SparkFGM) -> None:
        if is_remote():
            raise RuntimeError(
                "Spark Connect has no access to partitions: featgen needs a session of its own cluster"
            )
        self._context = dataset.sparkSession.sparkContext
        read, width, names, sparse = _reader(dataset, columns._features())
        workers = columns.getOrDefault(columns.numWorkers) or self._context.defaultParallelism
        self._cuts = ranges(width, workers)
        threads = int(self._context.getConf().get("spark.task.cpus", "1"))
        given = [
            columns.getOrDefault(name) if columns.isSet(name) else None for name in ("weightCol", "censorCol")
        ]
        numbers = [columns.getOrDefault(columns.labelCol), *given]
        chosen = dataset.select(*_selected(columns._features()), *(sql.col(name) for name in numbers if name))
        split = partial(_spark.split, read, self._cuts, [name is not None for name in numbers], sparse, width)
        count = len(self._cuts)
        # The last part is that of labels: they come by the same way as values, so that their order is the same.
        shuffled = chosen.rdd.mapPartitionsWithIndex(split).partitionBy(count + 1, int)
        folder = f"featgen-{uuid4().hex}"
        made = partial(_spark.made_shard, folder, self._cuts, None if sparse else width, threads)
        self._shards = shuffled.mapPartitionsWithIndex(made).persist(StorageLevel.MEMORY_AND_DISK)
        self._rows: Any = None
        with loading(level("verbose", columns.getOrDefault("verbose")), count):
            found = self._context.runJob(shuffled, _spark.ordered, [count])
        self._rows, self.labels = _together(found)
        self.data = Sharded(self._ask, (len(self.labels[0]), width), names)

    def __enter__(self) -> _Loaded:
        return self

    def __exit__(self, *_: object) -> None:
        # Local directories are removed with the executors at the latest.
        with suppress(Exception):
            self._context.runJob(self._shards, _spark.removed, list(range(len(self._cuts))))
        self._shards.unpersist()

    def _ask(self, request: bytes) -> list[bytes]:
        sent = self._context.broadcast(request) if len(request) > _LARGE else None
        answer = partial(_spark.answered, request if sent is None else None, sent)
        try:
            for _ in range(_TRIES):
                replies = self._context.runJob(self._shards, answer, list(range(len(self._cuts))))
                if all(reply is not None for _, reply in replies):
                    break
                # A task was not done where its shard is: load them again.
                self._shards.unpersist(True)
                self._shards.persist(StorageLevel.MEMORY_AND_DISK)
            else:
                raise RuntimeError(
                    "executors cannot keep shards in their local directories, or lose them at once"
                )
        finally:
            if sent is not None:
                sent.destroy()
        if any(rows != self._rows for rows, _ in replies):
            raise RuntimeError(
                "rows were in another order when a part of the data that was lost was computed again; "
                "give a frame that is always the same, such as one that was written to disk or checkpointed"
            )
        return [reply for _, reply in replies]


def _selected(features: str | list[str]) -> list[Any]:
    return [sql.col(name) for name in ([features] if isinstance(features, str) else features)]


def _reader(dataset: Any, features: str | list[str]) -> tuple[Any, int, list[str] | None, bool]:
    """What reads rows of a partition, the number of features, their names if any, and whether values are sparse."""
    if not isinstance(features, str):
        for name in features:
            kind = dataset.schema[name].dataType
            if not isinstance(kind, NumericType) and kind.typeName() != "boolean":
                raise ValueError(
                    f"the column {name!r} is of type {kind.simpleString()}: features must be numbers; index and "
                    "encode categories first (StringIndexer, OneHotEncoder), and fill gaps (Imputer)"
                )
        return partial(_spark.numbers, len(features)), len(features), list(features), False
    first = dataset.select(features).first()
    if first is None or first[0] is None:
        raise ValueError("the frame has no rows" if first is None else f"the column {features!r} has gaps")
    kind = dataset.schema[features].dataType
    if isinstance(kind, VectorUDT):
        return partial(_spark.vectors, len(first[0])), len(first[0]), None, isinstance(first[0], SparseVector)
    if isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType):
        return partial(_spark.arrays, len(first[0])), len(first[0]), None, False
    raise ValueError(
        f"the column {features!r} is of type {kind.simpleString()}: vectors or arrays of numbers are needed"
    )


def _together(pieces: list[tuple[Any, Any]]) -> tuple[list[Any], tuple[Any, Any]]:
    """What stands for all rows, in order; labels, of times negative where there was no event; and weights."""
    if not pieces:
        raise ValueError("the frame has no rows")
    columns = zip(*(labels for _, labels in pieces))
    y: Any
    y, weights, events = (None if column[0] is None else np.concatenate(column) for column in columns)
    if y.dtype == object and any(label is None for label in y):
        raise ValueError("the column of labels has gaps")
    if events is not None:
        y = np.where(events.astype(float) > 0, y, -y)
    return [order for order, _ in pieces], (y, weights)


# Models


class SparkFGMModel(_Columns, Model, MLReadable, MLWritable):
    """A fitted estimator as a transformer of ``pyspark.ml``: it adds predictions to a frame.

    Parameters
    ----------
    estimator : FGMClassifier, FGMRegressor or FGMSurvival
        The fitted estimator, such as :func:`featgen.load` gives for the file of a model.
    features_col : str or list of str, default="features"
        A column of vectors or of arrays of numbers, or several columns of numbers.

    Attributes
    ----------
    estimator : FGMClassifier, FGMRegressor or FGMSurvival
        The plain estimator: it predicts, is saved and reported as any other.
    """

    def __init__(self, estimator: Any = None, features_col: str | Sequence[str] = "features") -> None:
        super().__init__()
        self.estimator = estimator
        self._setDefault(featuresCols=[])
        self._set(**{"featuresCol" if isinstance(features_col, str) else "featuresCols": features_col})

    def _transform(self, dataset: Any) -> Any:
        features, plain = self._features(), copy.copy(self.estimator)
        # It may be anything, and has nothing to do with predictions.
        plain.callback = None
        used = sorted(
            {i for inputs in plain._terms["inputs"] for i in inputs} | {i for i, *_ in plain._facts["kept"]}
        )
        numbers = ArrayType(DoubleType())
        if isinstance(features, str):
            values = sql.udf(lambda row: [float(row[i]) for i in used], numbers)(sql.col(features))
        else:
            values = sql.array(*(sql.col(features[i]).cast("double") for i in used)).cast(numbers)
        text = isinstance(plain, FGMClassifier) and plain.classes_.dtype.kind not in "biuf"
        added = {"predict": self.getPredictionCol()}
        if isinstance(plain, FGMClassifier):
            added["decision_function"] = self.getRawPredictionCol()
            if hasattr(plain, "predict_proba"):
                added["predict_proba"] = self.getProbabilityCol()
        found = dataset
        for method, column in added.items():
            kind = (StringType() if text else DoubleType()) if method == "predict" else numbers
            predicted = _predictor(plain, used, method, kind)(values)
            found = found.withColumn(column, predicted if method == "predict" else array_to_vector(predicted))
        return found

    def copy(self, extra: Any = None) -> SparkFGMModel:
        copied = super().copy(extra)
        copied.estimator = self.estimator
        return copied

    def write(self) -> _Writer:
        """What writes the model: ``model.write().overwrite().save(path)``."""
        return _Writer(self)

    @classmethod
    def read(cls) -> _Reader:
        """What reads a model: ``SparkFGMModel.load(path)``."""
        return _Reader(cls)


def _predictor(plain: Machine, used: list[int], method: str, kind: Any) -> Any:
    """What a method of an estimator says of rows of which the values of the inputs used are known."""

    def predict(values):  # type: ignore[no-untyped-def]
        held = np.array(values.tolist(), dtype=np.float64).reshape(len(values), len(used))
        at = (
            np.repeat(np.arange(len(values)), len(used)),
            np.tile(np.array(used, dtype=np.int64), len(values)),
        )
        X = sp.csr_array((held.ravel(), at), shape=(len(values), plain._n_inputs))
        with warnings.catch_warnings(action="ignore"):
            found = getattr(plain, method)(X)
        if method == "decision_function" and found.ndim == 1:
            found = np.column_stack([-found, found])
        if found.ndim == 1 and found.dtype.kind in "biuf":
            found = found.astype(np.float64)
        return pd.Series(list(found))

    predict.__annotations__ = {"values": pd.Series, "return": pd.Series}
    return sql.pandas_udf(predict, kind)


class _Writer(MLWriter):
    def __init__(self, model: SparkFGMModel) -> None:
        super().__init__()
        self._model = model

    def saveImpl(self, path: str) -> None:  # noqa: N802
        DefaultParamsWriter.saveMetadata(self._model, path, self.sc)
        text = self._model.estimator._model.to_json().decode()
        self.sc.parallelize([text], 1).saveAsTextFile(os.path.join(path, "model"))


class _Reader(MLReader):
    def __init__(self, kind: type[SparkFGMModel]) -> None:
        super().__init__()
        self._kind = kind

    def load(self, path: str) -> SparkFGMModel:
        metadata = DefaultParamsReader.loadMetadata(path, self.sc)
        text = "\n".join(self.sc.textFile(os.path.join(path, "model")).collect())
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "model.json")
            with open(file, "w", encoding="utf-8") as out:
                out.write(text)
            model = self._kind(_files.load(file))
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model
