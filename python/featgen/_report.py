"""Pages about models: what was selected, how good it is, what is proven, and how it does on test data."""

from __future__ import annotations

from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from . import _featgen, _html
from ._selection import is_fitted
from ._target import numbers_of, times_of

if TYPE_CHECKING:
    from ._machine import Machine

#: How high the page is in a notebook, in pixels.
_HEIGHT = 800


class Page:
    """A page about a model, for a browser or a notebook: one text that asks nothing of the network.

    Attributes
    ----------
    html : str
        The page.
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file, which appears whole or not at all.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        _featgen.write_text(path, self.html)

    def __repr__(self) -> str:
        return f"<featgen page of {len(self.html.encode()) // 1000} kB; save(path) writes it to a file>"

    def _repr_html_(self) -> str:
        # A page of its own: its style is not the notebook's, and the notebook's not its own.
        page = escape(self.html, quote=True)
        style = f"width:100%;height:{_HEIGHT}px;border:0"
        return f'<iframe title="featgen" sandbox="allow-scripts" style="{style}" srcdoc="{page}"></iframe>'


class Shown:
    """How estimators are shown: by scikit-learn's own diagram with what was selected below it, and by a page."""

    def report(
        self: Any,
        path: str | PathLike[str] | None = None,
        X_test: Any = None,
        y_test: ArrayLike | None = None,
        offset_test: ArrayLike | None = None,
    ) -> Page:
        """Make a page about the model: what was selected, how good it is, what is proven, and how to repeat it.

        Parameters
        ----------
        path : str or path-like, default=None
            A file to write the page to; it appears whole or not at all.
        X_test : array, sparse matrix, frame or store of shape (n_samples, n_features), default=None
            Data that the model was not learned from. The page then has a confusion matrix, ROC curve and calibration;
            predicted against true and residuals; or Kaplan-Meier curves by thirds of the risk, as fits the outcome.
        y_test : array-like of shape (n_samples,), default=None
            What is true of them.
        offset_test : array-like of shape (n_samples,), default=None
            A number that is added to the decision value of each sample.

        Returns
        -------
        page : Page
            What notebooks show as a page; its ``html`` is the text, and ``save`` writes it to a file.
        """
        check_is_fitted(self)
        return _made(self, type(self).__name__, f"{self!r}.fit(X, y)", path, X_test, y_test, offset_test)

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._summary()  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in shown:
            shown["text/html"] += self._summary()
        return shown

    def _summary(self: Any) -> str:
        return _html.summary(self) if is_fitted(self) else ""


def report(
    model: Any,
    path: str | PathLike[str] | None = None,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
) -> Page:
    """Make a page about a model, or about a pipeline that ends with one.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator of featgen, or a pipeline that ends with one. Its features are called, and its weights are,
        as they are after the steps before it.
    path : str or path-like, default=None
        A file to write the page to; it appears whole or not at all.
    X_test : array, sparse matrix or frame of shape (n_samples, n_features), default=None
        Data that the model was not learned from, as the pipeline takes them.
    y_test : array-like of shape (n_samples,), default=None
        What is true of them.

    Returns
    -------
    page : Page
        What notebooks show as a page; its ``html`` is the text, and ``save`` writes it to a file.

    Examples
    --------
    >>> import featgen
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> pipeline = make_pipeline(StandardScaler(), featgen.FGMClassifier(n_features=5)).fit(X[:400], y[:400])
    >>> page = featgen.report(pipeline, X_test=X[400:], y_test=y[400:])
    >>> page.html.startswith("<!doctype html>")
    True
    """
    machine = model
    while isinstance(machine, Pipeline):
        before = machine[:-1]
        X_test = before.transform(X_test) if X_test is not None and len(before) else X_test
        machine = machine[-1]
    if not isinstance(machine, Shown):
        raise TypeError(f"{type(machine).__name__} has no page: it is no estimator of featgen")
    check_is_fitted(machine)
    return _made(machine, type(machine).__name__, f"{model!r}.fit(X, y)", path, X_test, y_test, None)


def _made(
    machine: Any,
    title: str,
    repeat: str,
    path: str | PathLike[str] | None,
    X_test: Any,
    y_test: ArrayLike | None,
    offset_test: ArrayLike | None,
) -> Page:
    tested = None
    if X_test is not None:
        if y_test is None:
            raise ValueError("y_test: must be given with X_test")
        tested = _tested(machine, X_test, y_test, offset_test)
    elif y_test is not None or offset_test is not None:
        raise ValueError("X_test: must be given with y_test")
    page = Page(_featgen.report(machine._model, title, repeat, tested))
    if path is not None:
        page.save(path)
    return page


def _tested(machine: Machine, X: Any, y: ArrayLike, offset: ArrayLike | None) -> dict[str, Any]:
    """Predictions, and what is true, as the engine takes them."""
    check_consistent_length(X, y)
    tested: dict[str, Any] = {"name": "X_test", "codes": None, "numbers": None}
    output = machine._facts["output"]
    if output == "classes":
        labels, known = column_or_1d(y, warn=True), {c: k for k, c in enumerate(machine.classes_.tolist())}
        tested["codes"] = np.array([known.get(label, -1) for label in labels.tolist()], dtype=np.int64)
    else:
        tested["numbers"] = times_of(y) if output == "risk" else numbers_of(y)
        if output == "rate" and (tested["numbers"] < 0).any():
            raise ValueError("y_test: counts must be at least 0")
    tested["x"] = machine._needed(machine._validated(X))
    decision = machine._model.decision(tested["x"])
    if offset is not None:
        if decision.shape[1] > 1:
            raise ValueError("offset_test: only models with one decision value a sample take one")
        check_consistent_length(X, offset)
        decision = decision + numbers_of(offset)[:, np.newaxis]
    tested["decision"] = np.ascontiguousarray(decision)
    return tested
