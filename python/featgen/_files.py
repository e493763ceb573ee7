"""Models as files: also of pipelines, as one model of the data as they are."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from . import _featgen, _parameters, spaces
from ._machine import Machine
from ._store import as_values
from .estimators import FGMClassifier, FGMRegressor, FGMSurvival

#: A column times a factor, plus an offset: an array of each.
_Scaling = tuple[NDArray[np.float64], NDArray[np.float64]]

#: The estimator for what decision values say.
_KINDS: dict[str, type[FGMClassifier] | type[FGMRegressor] | type[FGMSurvival]] = {
    "classes": FGMClassifier,
    "number": FGMRegressor,
    "rate": FGMRegressor,
    "risk": FGMSurvival,
}


def load(path: str | PathLike[str]) -> FGMClassifier | FGMRegressor | FGMSurvival:
    """Load a model saved by :meth:`FGMClassifier.save` or by the command line.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    model : FGMClassifier, FGMRegressor or FGMSurvival
        Fitted, with the parameters it was trained with: ``clone(model).fit(X, y)`` on the same data gives the same
        model. ``n_jobs``, ``verbose``, ``callback`` and ``checkpoint``, which change no result, are not in the file.
        Where the model knows its features by name, frames with their columns in any order are understood; those of a
        store must stand as they did in the training data. Of a table, the file knows the columns that the model uses:
        ``feature_names_in_`` has these. What was said of columns, from ``ignore`` to ``most_levels``, is not in it.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import featgen
    >>> X = np.eye(4)[[0, 1, 2, 3] * 5]
    >>> model = featgen.FGMClassifier().fit(X, X[:, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model.json"))
    ...     again = featgen.load(os.path.join(folder, "model.json"))
    >>> again.predict(np.eye(4))
    array([0., 1., 0., 0.])
    """
    model = _featgen.Model.load(path)
    facts = model.facts()
    classes = None
    if facts["output"] == "classes":
        classes = np.array(facts["classes"]) if facts["classes_are_text"] else as_values(facts["classes"])
    kind = _KINDS[facts["output"]]
    parameters = _parameters.from_facts(facts, [] if classes is None else classes.tolist())
    known = kind().get_params(deep=False)
    estimator = kind(**{name: value for name, value in parameters.items() if name in known})
    inputs, columns = spaces.Inputs(facts["m"], None), model.columns()
    if columns is not None:
        inputs.columns, inputs.made = [name for name, _ in columns], [made for _, made in columns]
    estimator._know(inputs, by_name=bool(facts["by_name"]))
    estimator._keep(model, classes)
    return estimator


def save(model: Any, path: str | PathLike[str]) -> None:
    """Save a model, or a pipeline of scalers and a model, as one file for data as they are.

    The scalers become part of the weights and of the intercept: for raw data, the file gives the decision values of the
    whole pipeline, at every point of its path. Columns are called as in the data that the pipeline was fitted to. What
    the file says of the fit, such as certificate and parameters, is about the scaled data.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator of featgen, or a pipeline that ends with one. Before it may be ``StandardScaler``,
        ``MinMaxScaler`` without ``clip``, and ``MaxAbsScaler``. Products can be saved where no scaler shifts columns,
        curves not at all.
    path : str or path-like
        The file; it appears whole or not at all. :func:`load` and the command read it.

    Examples
    --------
    >>> import os, tempfile
    >>> import featgen
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> pipeline = make_pipeline(StandardScaler(), featgen.FGMClassifier(n_features=5)).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     featgen.save(pipeline, os.path.join(folder, "model.json"))
    ...     model = featgen.load(os.path.join(folder, "model.json"))
    >>> bool((model.predict(X) == pipeline.predict(X)).all())
    True
    """
    *scalers, machine = _steps(model) or [model]
    if not isinstance(machine, Machine):
        raise TypeError(f"{_kind(machine)} cannot be saved: it is no estimator of featgen")
    check_is_fitted(machine)
    if not scalers:
        machine.save(path)
        return
    if machine._made is not None:
        raise ValueError("a model of a frame with gaps or categories cannot be saved together with scalers")
    factors, offsets = np.ones(machine.n_features_in_), np.zeros(machine.n_features_in_)
    for scaler in scalers:
        factor, offset = _scaling(scaler)
        factors, offsets = factors * factor, offsets * factor + offset
    names = getattr(scalers[0], "feature_names_in_", None)
    machine._model.unscaled(factors, offsets, None if names is None else list(names)).save(path)


def _steps(model: Any) -> list[Any]:
    """What data pass through, one after the other."""
    if isinstance(model, Pipeline):
        return [step for _, part in model.steps for step in _steps(part)]
    return [] if model is None or isinstance(model, str) else [model]


def _scaling(scaler: Any) -> _Scaling:
    """What a scaler does to columns."""
    # Of these classes only: what is derived from them may do anything.
    if type(scaler) not in (StandardScaler, MinMaxScaler, MaxAbsScaler):
        raise TypeError(f"{_kind(scaler)} cannot be saved: only scalers become a part of the weights")
    check_is_fitted(scaler)
    if getattr(scaler, "clip", False):
        raise ValueError(f"{_kind(scaler)}(clip=True) cannot be saved: no weight cuts values off")
    if isinstance(scaler, MinMaxScaler):
        return scaler.scale_, scaler.min_
    one, nothing = np.ones(scaler.n_features_in_), np.zeros(scaler.n_features_in_)
    factor = one if scaler.scale_ is None else 1 / scaler.scale_
    shifts = isinstance(scaler, StandardScaler) and scaler.with_mean
    return factor, -scaler.mean_ * factor if shifts else nothing


def _kind(step: Any) -> str:
    return type(step).__name__
