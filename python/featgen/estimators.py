"""The estimators: a classifier, a regressor and survival analysis that select their features; and a selector."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, d2_tweedie_score, r2_score
from sklearn.utils import ClassifierTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, column_or_1d

from . import spaces
from ._described import LOSSES, losses_for
from ._help import (
    ALL_LOSSES,
    ATTRIBUTES,
    CLASS_ATTRIBUTES,
    CLASS_LOSSES,
    CLASS_WEIGHT,
    MORE_PARAMETERS,
    NUMBER_LOSSES,
    ONE_ATTRIBUTES,
    PARAMETERS,
    TIME_LOSSES,
)
from ._machine import Machine
from ._selection import is_fitted
from ._target import times_of

__all__ = ["FGMClassifier", "FGMRegressor", "FGMSelector", "FGMSurvival"]


def _has_probabilities(machine: Machine) -> bool:
    loss = machine._facts["loss"] if is_fitted(machine) else machine.loss
    return loss in ("logistic", "softmax")


class FGMClassifier(ClassifierMixin, Machine):
    __doc__ = f"""A sparse classifier: the feature generating machine.

    Selects few features out of very many, and certifies how far the result may be from the best. It is a classifier for
    any number of classes, with one set of features for all and, in a pipeline, a selector for whatever comes after it.
    {PARAMETERS.format(losses=CLASS_LOSSES)}{CLASS_WEIGHT}{MORE_PARAMETERS}{ATTRIBUTES.format(classes=CLASS_ATTRIBUTES)}
    See Also
    --------
    FGMRegressor : For numbers and counts.
    FGMSurvival : For times to an event.
    FGMSelector : The same without predictions.

    References
    ----------
    Tan, Tsang, Wang: Towards Ultrahigh Dimensional Feature Selection for Big Data. JMLR 15, 2014.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from featgen import FGMClassifier
    >>> X, y = make_classification(
    ...     n_samples=500, n_features=2000, n_informative=4, n_redundant=0, class_sep=2, shuffle=False, random_state=0
    ... )
    >>> model = FGMClassifier(n_features=4, budget=1).fit(X, y)
    >>> model.get_support(indices=True)
    array([0, 1, 2, 3])
    >>> model.at(2).get_support(indices=True)
    array([0, 1])
    """

    _losses = losses_for("classes")

    def __init__(
        self,
        n_features: int | None = None,
        budget: int | None = None,
        C: float | None = None,
        select: str | None = None,
        exchange: int | None = None,
        prove: bool | float | None = None,
        fdr: float | None = None,
        stability: int | None = None,
        stand_ins: float | None = None,
        time_limit: float | None = None,
        scale: str | None = None,
        loss: str = "squared_hinge",
        fit_intercept: bool = True,
        keep: Any = None,
        ignore: Any = None,
        category: Any = None,
        number: Any = None,
        id: Any = None,
        impute: str | None = None,
        most_levels: int | None = None,
        space: spaces.Space | str = "linear",
        groups: Any = None,
        tree: bool = False,
        max_rounds: int | None = None,
        tol: float | None = None,
        inner_tol: float = 1e-4,
        gap: float | None = None,
        class_weight: dict[Any, float] | str | None = None,
        debias: float | None = None,
        solver: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
        checkpoint: str | PathLike[str] | None = None,
        random_state: int = 0,
    ) -> None:
        self._take(locals())

    def decision_function(
        self, X: Any, n_features: int | None = None, offset: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Decision values: of two classes positive for the second, of more the largest for the class predicted.

        Parameters
        ----------
        X : array, sparse matrix, frame or store of shape (n_samples, n_features)
            Data with the features of the training data.
        n_features : int, default=None
            Use the point of the path with at most this many features.
        offset : array-like of shape (n_samples,), default=None
            A number that is added to the decision value of each sample.

        Returns
        -------
        decision : array of shape (n_samples,), or (n_samples, n_classes)
            Decision values.
        """
        decision = self._decision(X, n_features, offset)
        if decision.shape[1] == 1:
            return decision[:, 0]
        # Two classes with an output each have one decision value, as in all of scikit-learn.
        return decision if decision.shape[1] > 2 else decision[:, 1] - decision[:, 0]

    def predict(self, X: Any, n_features: int | None = None, offset: ArrayLike | None = None) -> NDArray[Any]:
        """Classes.

        Parameters
        ----------
        X : array, sparse matrix, frame or store of shape (n_samples, n_features)
            Data with the features of the training data.
        n_features : int, default=None
            Use the point of the path with at most this many features.
        offset : array-like of shape (n_samples,), default=None
            A number that is added to the decision value of each sample.

        Returns
        -------
        y : array of shape (n_samples,)
            The class of each sample.
        """
        decision = self.decision_function(X, n_features, offset)
        chosen = decision > 0 if decision.ndim == 1 else np.argmax(decision, axis=1)
        return self.classes_[chosen.astype(np.intp)]

    @available_if(_has_probabilities)
    def predict_proba(
        self, X: Any, n_features: int | None = None, offset: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Probabilities of the classes; with the losses logistic and softmax only.

        Parameters
        ----------
        X : array, sparse matrix, frame or store of shape (n_samples, n_features)
            Data with the features of the training data.
        n_features : int, default=None
            Use the point of the path with at most this many features.
        offset : array-like of shape (n_samples,), default=None
            A number that is added to the decision value of each sample.

        Returns
        -------
        p : array of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        with np.errstate(under="ignore"):
            return np.exp(self.predict_log_proba(X, n_features, offset))

    @available_if(_has_probabilities)
    def predict_log_proba(
        self, X: Any, n_features: int | None = None, offset: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Logarithms of :meth:`predict_proba`.

        Parameters
        ----------
        X : array, sparse matrix, frame or store of shape (n_samples, n_features)
            Data with the features of the training data.
        n_features : int, default=None
            Use the point of the path with at most this many features.
        offset : array-like of shape (n_samples,), default=None
            A number that is added to the decision value of each sample.

        Returns
        -------
        log_p : array of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        decision = self._decision(X, n_features, offset)
        # What is too small to be added may well vanish.
        with np.errstate(under="ignore"):
            if decision.shape[1] == 1:
                decision = decision[:, 0]
                return -np.column_stack([np.logaddexp(0.0, decision), np.logaddexp(0.0, -decision)])
            return decision - np.logaddexp.reduce(decision, axis=1, keepdims=True)

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


class _OneOutput(Machine):
    """An estimator with one decision value and no classes: its weights are one row."""

    def _set_weights(self) -> None:
        super()._set_weights()
        self.intercept_ = float(self.intercept_[0])
        if not sp.issparse(self.coef_):
            self.coef_ = self.coef_[0]


class FGMRegressor(RegressorMixin, _OneOutput):
    __doc__ = f"""A sparse regressor: the feature generating machine for numbers and counts.
    {PARAMETERS.format(losses=NUMBER_LOSSES)}{MORE_PARAMETERS}{ATTRIBUTES.format(classes=ONE_ATTRIBUTES)}
    See Also
    --------
    FGMClassifier : For classes.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from featgen import FGMRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = FGMRegressor(n_features=4, budget=1, C=100).fit(X, y)
    >>> sorted(model.get_feature_names_out())
    ['bmi', 'bp', 's1', 's5']
    >>> round(model.score(X, y), 2)
    0.49
    """

    _losses = losses_for("number", "rate")

    def __init__(
        self,
        n_features: int | None = None,
        budget: int | None = None,
        C: float | None = None,
        select: str | None = None,
        exchange: int | None = None,
        prove: bool | float | None = None,
        fdr: float | None = None,
        stability: int | None = None,
        stand_ins: float | None = None,
        time_limit: float | None = None,
        scale: str | None = None,
        loss: str = "squared",
        delta: float = 1.35,
        fit_intercept: bool = True,
        keep: Any = None,
        ignore: Any = None,
        category: Any = None,
        number: Any = None,
        id: Any = None,
        impute: str | None = None,
        most_levels: int | None = None,
        space: spaces.Space | str = "linear",
        groups: Any = None,
        tree: bool = False,
        max_rounds: int | None = None,
        tol: float | None = None,
        inner_tol: float = 1e-4,
        gap: float | None = None,
        debias: float | None = None,
        solver: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
        checkpoint: str | PathLike[str] | None = None,
        random_state: int = 0,
    ) -> None:
        self._take(locals())

    def predict(
        self, X: Any, n_features: int | None = None, offset: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Numbers; with the Poisson loss, expected counts.

        Parameters
        ----------
        X : array, sparse matrix, frame or store of shape (n_samples, n_features)
            Data with the features of the training data.
        n_features : int, default=None
            Use the point of the path with at most this many features.
        offset : array-like of shape (n_samples,), default=None
            A number that is added to the decision value of each sample; with the Poisson loss, to the logarithm of the
            count.

        Returns
        -------
        y : array of shape (n_samples,)
            The number of each sample.
        """
        decision = self._decision(X, n_features, offset)[:, 0]
        return np.exp(decision) if self._facts["output"] == "rate" else decision

    def score(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, n_features: int | None = None
    ) -> float:
        """The part of the variance that is explained (R2); with the Poisson loss, of the deviance (D2).

        Parameters
        ----------
        X : array, sparse matrix, frame or store of shape (n_samples, n_features)
            Data with the features of the training data.
        y : array-like of shape (n_samples,)
            Their numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts.
        n_features : int, default=None
            Use the point of the path with at most this many features: one fit is enough to compare them all.

        Returns
        -------
        score : float
            At most 1.
        """
        predicted = self.predict(X, n_features)
        if self._facts["output"] == "rate":
            return float(d2_tweedie_score(y, predicted, sample_weight=sample_weight, power=1))
        return float(r2_score(y, predicted, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.loss == "poisson"
        return tags


class FGMSurvival(_OneOutput):
    __doc__ = f"""Sparse survival analysis: the feature generating machine with Cox's proportional hazards.

    ``y`` is a structured array of event (whether there was one) and time, as scikit-survival has it, or times that are
    negative where there was no event until then.
    {PARAMETERS.format(losses=TIME_LOSSES)}{MORE_PARAMETERS}{ATTRIBUTES.format(classes=ONE_ATTRIBUTES)}
    See Also
    --------
    FGMRegressor : For numbers and counts.

    Examples
    --------
    >>> import numpy as np
    >>> from featgen import FGMSurvival
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 1000))
    >>> time = rng.exponential(np.exp(-X[:, 3] - X[:, 7]))
    >>> y = np.array([(t < 2, min(t, 2.0)) for t in time], dtype=[("event", bool), ("time", float)])
    >>> model = FGMSurvival(n_features=2, budget=1).fit(X, y)
    >>> model.get_support(indices=True)
    array([3, 7])
    >>> model.score(X, y) > 0.7
    True
    """

    _losses = losses_for("risk")

    def predict(
        self, X: Any, n_features: int | None = None, offset: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Risks: logarithms of hazards relative to each other. The larger, the sooner the event.

        Parameters
        ----------
        X : array, sparse matrix, frame or store of shape (n_samples, n_features)
            Data with the features of the training data.
        n_features : int, default=None
            Use the point of the path with at most this many features.
        offset : array-like of shape (n_samples,), default=None
            A number that is added to the risk of each sample.

        Returns
        -------
        risk : array of shape (n_samples,)
            The risk of each sample.
        """
        return self._decision(X, n_features, offset)[:, 0]

    def score(self, X: Any, y: ArrayLike, n_features: int | None = None) -> float:
        """Concordance: of two samples, how often the one that is known to have had the event first has the larger risk.

        Parameters
        ----------
        X : array, sparse matrix, frame or store of shape (n_samples, n_features)
            Data with the features of the training data.
        y : structured array of shape (n_samples,), or times
            Whether there was an event, and when.
        n_features : int, default=None
            Use the point of the path with at most this many features: one fit is enough to compare them all.

        Returns
        -------
        score : float
            From 0 to 1; 0.5 is chance. NaN if no two samples can be compared.
        """
        risk, times = self.predict(X, n_features), times_of(y)
        check_consistent_length(risk, times)
        concordance = self._model.concordance(risk, times)
        return float("nan") if concordance is None else concordance

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Times are above 0; the sign says that there was no event.
        tags.target_tags.positive_only = True
        return tags


class FGMSelector(Machine):
    __doc__ = f"""Selects features for whatever comes after: the feature generating machine without predictions.

    The same engine and parameters as the other estimators, for pipelines in which another model does the rest. The loss
    says what ``y`` is: classes, numbers, counts or times.
    {PARAMETERS.format(losses=ALL_LOSSES)}{CLASS_WEIGHT}{MORE_PARAMETERS}{ATTRIBUTES.format(classes=CLASS_ATTRIBUTES)}
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

    _losses = tuple(LOSSES)

    def __init__(
        self,
        n_features: int | None = None,
        budget: int | None = None,
        C: float | None = None,
        select: str | None = None,
        exchange: int | None = None,
        prove: bool | float | None = None,
        fdr: float | None = None,
        stability: int | None = None,
        stand_ins: float | None = None,
        time_limit: float | None = None,
        scale: str | None = None,
        loss: str = "squared_hinge",
        delta: float = 1.35,
        fit_intercept: bool = True,
        keep: Any = None,
        ignore: Any = None,
        category: Any = None,
        number: Any = None,
        id: Any = None,
        impute: str | None = None,
        most_levels: int | None = None,
        space: spaces.Space | str = "linear",
        groups: Any = None,
        tree: bool = False,
        max_rounds: int | None = None,
        tol: float | None = None,
        inner_tol: float = 1e-4,
        gap: float | None = None,
        class_weight: dict[Any, float] | str | None = None,
        debias: float | None = None,
        solver: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
        checkpoint: str | PathLike[str] | None = None,
        random_state: int = 0,
    ) -> None:
        self._take(locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.loss in FGMClassifier._losses:
            # No classifier, but it learns from classes.
            tags.classifier_tags = ClassifierTags()
        return tags
