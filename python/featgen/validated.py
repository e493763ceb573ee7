"""Estimators that choose the number of their features, and the cost, by cross-validation."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import GroupKFold
from sklearn.utils.validation import check_consistent_length

from . import _featgen
from ._checks import given, integer, one_of, real, truth
from ._described import METRICS
from ._help import CV_ATTRIBUTES, CV_PARAMETERS
from ._machine import Machine
from ._shards import Sharded
from .estimators import FGMClassifier, FGMRegressor, FGMSurvival

if TYPE_CHECKING:
    from typing import Self

__all__ = ["FGMClassifierCV", "FGMRegressorCV", "FGMSurvivalCV"]

#: What these estimators can be told beside what the others can.
_ADDED = {"cv": 5, "scoring": None, "Cs": None, "one_se": True}


def _init(base: type[Machine]) -> Callable[..., None]:
    """What takes the parameters of an estimator, all by name, and those of cross-validation."""
    of_base = inspect.signature(base).parameters.values()
    added = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=x) for name, x in _ADDED.items()]
    named = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=p.empty) for p in of_base] + added
    self_ = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([self_, *named])

    def init(self: Any, **parameters: Any) -> None:
        bound = signature.bind(self, **parameters)
        bound.apply_defaults()
        self._take(bound.arguments)

    init.__signature__ = signature  # type: ignore[attr-defined]
    return init


class _CrossValidated(Machine):
    """What chooses how many features to keep."""

    n_features_: int
    best_n_features_: int
    cv_results_: dict[str, NDArray[Any]]
    cv_score_: float
    cv_error_: float
    baseline_score_: float

    cv: Any
    scoring: Any
    Cs: Any
    one_se: Any
    random_state: Any

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Cross-validate every number of features, choose one, and fit it to all samples.

        Parameters
        ----------
        X : array, sparse matrix, frame or store of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Labels: classes, numbers, counts or times, as the loss needs them.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts where it is learned from; where it is held out, all count the same, but those
            of weight 0 do not.
        offset : array-like of shape (n_samples,), default=None
            A number that is added to the decision value of each sample; for losses with one decision value a sample.
        groups : array-like of shape (n_samples,), default=None
            Which samples belong together, such as those of a patient: they are never in two folds.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        found: dict[str, Any] = {}

        def choose(engine: tuple[Any, ...], options: dict[str, Any]) -> int | None:
            x, names, target, space = engine
            told = (names, target, space, options, self._validation(target, groups))
            if isinstance(x, Sharded):
                found.update(_featgen.cross_validate_shards(x.ask, x.store, *told))
            else:
                found.update(_featgen.cross_validate(x, *told))
            at_cost = found["cost_index"]
            if not truth("one_se", self.one_se):
                found["chosen"], at_cost = found["best"], found["best_cost_index"]
            found["at_cost"] = at_cost
            if found["chosen"] == 0:
                raise ValueError("X: no feature helps in any fold")
            options["cost"] = found["curves"][at_cost][0]
            if not found["by_gain"]:
                return found["chosen"]
            options["n_features"], options["budget"] = found["chosen"], found["budget"]
            return None

        self._fit(X, y, sample_weight, offset, choose)
        self._found(found)
        return self

    def _found(self, found: dict[str, Any]) -> None:
        """Sets what cross-validation found."""
        rows = [(cost, *point) for cost, points in found["curves"] for point in points]
        costs, counts, means, errors, scores = zip(*rows)
        splits = np.array(scores)
        self.n_features_ = found["chosen"]
        self.best_n_features_ = found["best"]
        self.baseline_score_ = found["baseline"]
        self.cv_results_ = {
            "n_features": np.array(counts),
            "C": np.array(costs),
            "mean_test_score": np.array(means),
            "std_test_score": splits.std(axis=1),
            "se_test_score": np.array(errors),
            **{f"split{k}_test_score": splits[:, k] for k in range(splits.shape[1])},
        }
        points = found["curves"][found["at_cost"]][1]
        self.cv_score_, self.cv_error_ = next(p[1:3] for p in points if p[0] == found["chosen"])
        kept = {key: found[key] for key in ("metric", "folds", "repeats", "baseline", "best", "chosen")}
        kept |= {"mean": self.cv_score_, "se": self.cv_error_, "points": [point[:3] for point in points]}
        self._model = self._model.with_cv(kept)

    def _validation(self, target: dict[str, Any], groups: ArrayLike | None) -> dict[str, Any]:
        """What the engine is told about folds, metric and costs."""
        scoring = None if self.scoring is None else METRICS[one_of("scoring", self.scoring, METRICS)]
        costs, times = self._costs()
        y = target["codes"] if target["codes"] is not None else target["numbers"]
        splits = self._splits(y, groups)
        return {
            "splits": splits,
            "folds": self.cv if splits is None else 0,
            "seed": integer("random_state", given("random_state", self.random_state)),
            "metric": scoring,
            "costs": costs,
            "times": times,
        }

    def _costs(self) -> tuple[list[float] | None, bool]:
        """The costs, and whether they are multiples of the default; an empty list for those that are worth trying."""
        if self.Cs is None:
            return None, False
        if isinstance(self.Cs, str):
            one_of("Cs", self.Cs, ["auto"])
            return [], True
        return [float(given("Cs", real("Cs", c))) for c in self.Cs], False

    def _splits(self, y: NDArray[Any], groups: ArrayLike | None) -> list[tuple[list[int], list[int]]] | None:
        """Who is learned from, and who is held out; None for the folds of the engine."""
        cv: Any = self.cv
        if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
            if groups is None:
                integer("cv", cv)
                if cv > len(y):
                    raise ValueError(f"cv: {cv} folds of {len(y)} sample{'' if len(y) == 1 else 's'}")
                return None
            cv = GroupKFold(int(cv))
        nothing = np.zeros(len(y))
        if groups is not None:
            check_consistent_length(nothing, groups)
        try:
            if isinstance(cv, str):
                raise TypeError("a text")
            pairs = cv.split(nothing, y, groups) if hasattr(cv, "split") else cv
            return [(_places(train, len(y)), _places(test, len(y))) for train, test in pairs]
        except TypeError as error:
            raise ValueError(f"cv: must be an integer, a splitter or splits, not {self.cv!r}") from error


def _places(of: Any, rows: int) -> list[int]:
    """Samples by their places, in order; from places or from a mask."""
    array = np.asarray(of)
    if array.dtype.kind == "b":
        if len(array) != rows:
            raise ValueError(f"cv: a mask of {len(array)} samples for {rows}")
        return np.flatnonzero(array).tolist()
    if array.dtype.kind not in "iu" or array.ndim != 1 or (array < 0).any():
        raise ValueError("cv: splits must be places of samples, from 0 on")
    return np.sort(array).tolist()


class FGMClassifierCV(_CrossValidated, FGMClassifier):
    __doc__ = f"""A sparse classifier that finds out how many features to keep.

    Every number of features up to ``n_features`` is cross-validated, with one run a fold, and the smallest that is
    within one standard error of the best is fitted to all samples.
    {CV_PARAMETERS}
    {CV_ATTRIBUTES}
    See Also
    --------
    FGMClassifier : The same with a number of features that is given. All its parameters and attributes are here, too.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from featgen import FGMClassifierCV
    >>> X, y = make_classification(
    ...     n_samples=300, n_features=1000, n_informative=4, n_redundant=0, class_sep=2, shuffle=False, random_state=0
    ... )
    >>> model = FGMClassifierCV(n_features=10, budget=1).fit(X, y)
    >>> model.n_features_ <= 10 and model.n_selected_ == model.n_features_
    True
    >>> model.cv_score_ > model.baseline_score_ + 0.2
    True
    """

    __init__ = _init(FGMClassifier)


class FGMRegressorCV(_CrossValidated, FGMRegressor):
    __doc__ = f"""A sparse regressor that finds out how many features to keep.
    {CV_PARAMETERS}
    {CV_ATTRIBUTES}
    See Also
    --------
    FGMRegressor : The same with a number of features that is given. All its parameters and attributes are here, too.
    """

    __init__ = _init(FGMRegressor)


class FGMSurvivalCV(_CrossValidated, FGMSurvival):
    __doc__ = f"""Sparse survival analysis that finds out how many features to keep.
    {CV_PARAMETERS}
    {CV_ATTRIBUTES}
    See Also
    --------
    FGMSurvival : The same with a number of features that is given. All its parameters and attributes are here, too.
    """

    __init__ = _init(FGMSurvival)
