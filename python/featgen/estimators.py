"""The estimators: a classifier that selects its features, and the same without the classifier's face."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import ClassifierTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from . import _featgen, _parameters, spaces
from ._help import ATTRIBUTES, PARAMETERS
from ._machine import Machine, is_fitted
from ._store import as_values

__all__ = ["FGMClassifier", "FGMSelector", "load"]


def _has_probabilities(machine: Machine) -> bool:
    return (machine._facts["loss"] if is_fitted(machine) else machine.loss) == "logistic"


class FGMClassifier(ClassifierMixin, Machine):
    __doc__ = f"""A sparse classifier: the feature generating machine.

    Selects few features out of very many, exactly, and certifies how far the result may be from the optimum over all of
    them. It is a classifier for two classes and, in a pipeline, a selector for whatever comes after it.
    {PARAMETERS.format(proba=" With logistic, there are probabilities.")}{ATTRIBUTES}
    See Also
    --------
    FGMSelector : The same without predictions.

    References
    ----------
    Tan, Tsang, Wang: Towards Ultrahigh Dimensional Feature Selection for Big Data. JMLR 15, 2014.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from featgen import FGMClassifier
    >>> X, y = make_classification(
    ...     n_samples=500, n_features=2000, n_informative=5, n_redundant=0, shuffle=False, random_state=0
    ... )
    >>> model = FGMClassifier(n_features=5, budget=1).fit(X, y)
    >>> model.get_support(indices=True)
    array([0, 1, 2, 3, 4])
    >>> model.at(2).get_support(indices=True)
    array([0, 1])
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def decision_function(self, X: Any, n_features: int | None = None) -> NDArray[np.float64]:
        """Decision values: positive for the second class.

        Parameters
        ----------
        X : array, sparse matrix, frame or store of shape (n_samples, n_features)
            Data with the features of the training data.
        n_features : int, default=None
            Use the point of the path with at most this many features.

        Returns
        -------
        decision : array of shape (n_samples,)
            Decision values.
        """
        check_is_fitted(self)
        return (self if n_features is None else self.at(n_features))._decision(X)

    def predict(self, X: Any, n_features: int | None = None) -> NDArray[Any]:
        """Classes.

        Parameters
        ----------
        X : array, sparse matrix, frame or store of shape (n_samples, n_features)
            Data with the features of the training data.
        n_features : int, default=None
            Use the point of the path with at most this many features.

        Returns
        -------
        y : array of shape (n_samples,)
            The class of each sample.
        """
        second = self.decision_function(X, n_features) > 0
        return self.classes_[second.astype(np.intp)]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any, n_features: int | None = None) -> NDArray[np.float64]:
        """Probabilities of the classes; with the logistic loss only.

        Parameters
        ----------
        X : array, sparse matrix, frame or store of shape (n_samples, n_features)
            Data with the features of the training data.
        n_features : int, default=None
            Use the point of the path with at most this many features.

        Returns
        -------
        p : array of shape (n_samples, 2)
            In the order of ``classes_``.
        """
        decision = self.decision_function(X, n_features)
        # Of the smaller one, no digits are lost by taking it from 1.
        return np.column_stack([self._model.probability(f) for f in (-decision, decision)])

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any, n_features: int | None = None) -> NDArray[np.float64]:
        """Logarithms of :meth:`predict_proba`.

        Parameters
        ----------
        X : array, sparse matrix, frame or store of shape (n_samples, n_features)
            Data with the features of the training data.
        n_features : int, default=None
            Use the point of the path with at most this many features.

        Returns
        -------
        log_p : array of shape (n_samples, 2)
            In the order of ``classes_``.
        """
        decision = self.decision_function(X, n_features)
        # What is too small to be added may well vanish.
        with np.errstate(under="ignore"):
            return -np.column_stack([np.logaddexp(0.0, decision), np.logaddexp(0.0, -decision)])

    def score(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, n_features: int | None = None
    ) -> float:
        """Accuracy: the part of the samples whose class is predicted.

        Parameters
        ----------
        X : array, sparse matrix, frame or store of shape (n_samples, n_features)
            Data with the features of the training data.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts.
        n_features : int, default=None
            Use the point of the path with at most this many features: one fit is enough to compare them all.

        Returns
        -------
        score : float
            From 0 to 1.
        """
        predicted = self.predict(X, n_features)
        if predicted.dtype.kind == "f":
            # Classes such as 0.5 are not taken for classes by scikit-learn.
            check_consistent_length(y, predicted)
            y, predicted = column_or_1d(y) == predicted, np.ones(len(predicted), dtype=bool)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))


class FGMSelector(Machine):
    __doc__ = f"""Selects features for whatever comes after: the feature generating machine without predictions.

    The same engine and parameters as :class:`FGMClassifier`, for pipelines in which another classifier does the rest.
    {PARAMETERS.format(proba="")}{ATTRIBUTES}
    See Also
    --------
    FGMClassifier : The same with predictions.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from featgen import FGMSelector
    >>> X, y = make_classification(
    ...     n_samples=300, n_features=1000, n_informative=5, n_redundant=0, shuffle=False, random_state=0
    ... )
    >>> model = make_pipeline(FGMSelector(n_features=10, budget=2), RandomForestClassifier(random_state=0))
    >>> model.fit(X, y).score(X, y)
    1.0
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # No classifier, but it learns from two classes.
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags


def load(path: str | PathLike[str]) -> FGMClassifier:
    """Load a model saved by :meth:`FGMClassifier.save` or by the command line.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    model : FGMClassifier
        Fitted, with the parameters it was trained with: ``clone(model).fit(X, y)`` on the same data gives the same
        model. ``n_jobs``, ``verbose``, ``callback`` and ``checkpoint``, which change no result, are not in the file.
        Where the model knows its features by name, frames with their columns in any order are understood; those of a
        store must stand as they did in the training data.

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
    classes = np.array(facts["classes"]) if facts["classes_are_text"] else as_values(facts["classes"])
    estimator = FGMClassifier(**_parameters.from_facts(facts, classes.tolist()))
    estimator._know(spaces.Inputs(facts["m"], None), by_name=bool(facts["by_name"]))
    estimator._keep(model, classes)
    return estimator
