"""The estimators: a classifier that selects its features, and the same without the classifier's face."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from joblib import cpu_count, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Bunch, ClassifierTags, assert_all_finite, check_array
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from . import _featgen, _html, _input, spaces
from ._checks import function, given, integer, level, one_of, path, real, share, truth
from ._progress import going_on, reporter
from ._store import Store, as_values

if TYPE_CHECKING:
    from typing import Self

__all__ = ["FGMClassifier", "FGMSelector", "load"]

#: Coefficients of more than this many features are kept sparse.
DENSE_LIMIT = 1_000_000

#: What is meant differently, unless changed, where a number of features or a gap is asked for.
_USUAL_BUDGET, _USUAL_ROUNDS, _USUAL_TOL = 10, 20, 1e-3

_LOSSES = {"squared_hinge": "squared-hinge", "logistic": "logistic"}

_SOLVERS = ("auto", "newton", "apg", "pg")

#: Messages name at most this many columns.
_NAMED = 5

#: A round counts as solved if its gap is at most this many times ``inner_tol``.
_INNER_SLACK = 10


def _is_fitted(machine: _Machine) -> bool:
    return hasattr(machine, "_model")


def _selects_inputs(machine: _Machine) -> bool:
    return not machine._searched()._generates


def _has_probabilities(machine: _Machine) -> bool:
    return (machine._facts["loss"] if _is_fitted(machine) else machine.loss) == "logistic"


class _Machine(SelectorMixin, BaseEstimator):
    """What both estimators are: a fit that selects, and what can be known of it."""

    n_features_in_: int
    feature_names_in_: NDArray[Any]
    classes_: NDArray[Any]
    intercept_: NDArray[np.float64]
    rounds_: list[dict[str, Any]]
    n_iter_: int
    n_selected_: int
    n_candidates_: int
    C_: float
    objective_: float
    lower_bound_: float
    gap_: float
    stopped_: str

    def __init__(
        self,
        n_features: int | None = None,
        budget: int | None = _USUAL_BUDGET,
        C: float = 10.0,
        loss: str = "squared_hinge",
        fit_intercept: bool = True,
        space: spaces.Space | str = "linear",
        groups: Any = None,
        tree: bool = False,
        max_rounds: int | None = _USUAL_ROUNDS,
        tol: float | None = _USUAL_TOL,
        inner_tol: float = 1e-4,
        gap: float | None = None,
        class_weight: dict[Any, float] | str | None = None,
        debias: float | None = None,
        solver: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> None:
        self.n_features = n_features
        self.budget = budget
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.space = space
        self.groups = groups
        self.tree = tree
        self.max_rounds = max_rounds
        self.tol = tol
        self.inner_tol = inner_tol
        self.gap = gap
        self.class_weight = class_weight
        self.debias = debias
        self.solver = solver
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.checkpoint = checkpoint

    # Fitting

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Select features and fit them.

        Parameters
        ----------
        X : array, sparse matrix, frame or store of shape (n_samples, n_features)
            Training data. Float32 and float64 arrays in C or Fortran order and CSC matrices are used as they are; CSR
            is transposed once; everything else is converted.
        y : array-like of shape (n_samples,)
            Labels: any two values.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts. A weight of 2 is the sample twice.

        Returns
        -------
        self : object
            The fitted estimator. After Ctrl-C it holds what was reached, and KeyboardInterrupt is raised; with a
            ``checkpoint``, the next fit goes on from there. After any other error it is as it was before.

        Warns
        -----
        ConvergenceWarning
            If the number of features, the gap or the exactness of the rounds asked for was not reached.
        """
        space, options = self._space(), self._options()
        verbose, callback = level("verbose", self.verbose), function("callback", self.callback)
        X, y, inputs = self._seen(X, y)
        classes, second = _two_classes(y)
        counts = None if sample_weight is None else _sample_weights(sample_weight, X)
        target = {
            "classes": tuple(_as_text(c) for c in classes.tolist()),
            "text": all(isinstance(c, str) for c in classes.tolist()),
            "second": second,
            "counts": counts,
            "weights": self._weights(classes, second, counts),
        }
        described = space._describe(inputs)
        with reporter(verbose, options["n_features"]) as report:
            listeners = {
                "round": _both(report, callback),
                "resumed": going_on if verbose else None,
            }
            model, broken_off = _featgen.fit(
                _input.matrix(X), inputs.names, target, described, options, listeners
            )
        self._know(inputs)
        self._keep(model, classes)
        if broken_off is not None:
            raise broken_off
        self._warn_if_short(options)
        return self

    def _seen(self, X: Any, y: Any) -> tuple[Any, Any, spaces.Inputs]:
        """Data as validation leaves them, and their inputs. Nothing is set: a fit may still fail."""
        if isinstance(X, Store):
            if y is None:
                raise ValueError("y: labels must be given; where the store has some, they are its y")
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
            return X, y, spaces.Inputs(X.shape[1], X.feature_names)
        told = copy.copy(self)
        X, y = validate_data(told, X, y, **_input.ACCEPTED)
        names = getattr(told, "feature_names_in_", None)
        return X, y, spaces.Inputs(X.shape[1], None if names is None else list(names))

    def _space(self) -> spaces.Space:
        tree = truth("tree", self.tree)
        if self.groups is None:
            if tree:
                raise ValueError("tree=True says that groups form a tree: groups must be given")
            return spaces.by_name(self.space)
        if not (self.space == "linear" or isinstance(self.space, spaces.Linear)):
            raise ValueError("groups are of the features as they are: space must be 'linear'")
        return spaces.Tree(self.groups) if tree else spaces.Groups(self.groups)

    def _options(self) -> dict[str, Any]:
        open_ended = self.n_features is not None or self.gap is not None
        usual_rounds = open_ended and self.max_rounds == _USUAL_ROUNDS
        usual_tol = open_ended and self.tol == _USUAL_TOL
        n_features, budget = integer("n_features", self.n_features), integer("budget", self.budget)
        if n_features is not None and budget == _USUAL_BUDGET:
            # All at once would take near copies of the best one.
            budget = min(budget, max(1, n_features // 10))
        return {
            "n_features": n_features,
            "budget": budget,
            "cost": real("C", given("C", self.C)),
            "loss": _LOSSES[one_of("loss", self.loss, _LOSSES)],
            "fit_intercept": truth("fit_intercept", self.fit_intercept),
            "max_rounds": None if usual_rounds else integer("max_rounds", self.max_rounds),
            "tol": None if usual_tol else real("tol", self.tol),
            "inner_tol": real("inner_tol", given("inner_tol", self.inner_tol)),
            "gap": share("gap", self.gap),
            "debias": real("debias", self.debias),
            "solver": one_of("solver", self.solver, _SOLVERS),
            "threads": _threads(self.n_jobs),
            "checkpoint": path("checkpoint", self.checkpoint),
        }

    def _weights(
        self, classes: NDArray[Any], second: NDArray[np.bool_], counts: NDArray[np.float64] | None
    ) -> list[float] | None:
        """Weights of the two classes, if they are not the same."""
        if self.class_weight is None:
            return None
        totals = np.bincount(second, counts, minlength=2).astype(np.float64)
        for name, total in zip(classes.tolist(), totals):
            if total == 0:
                raise ValueError(f"no instance of class {name} has a positive weight")
        return _class_weights(self.class_weight, classes.tolist(), totals).tolist()

    def _know(self, inputs: spaces.Inputs, by_name: bool = False) -> None:
        """Sets what is known of the inputs, and whether they are looked for by their names."""
        self.n_features_in_ = inputs.count
        if inputs.names is not None:
            self.feature_names_in_ = np.array(inputs.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._found_by_name = by_name

    def _keep(self, model: _featgen.Model, classes: NDArray[Any]) -> None:
        """Sets what a fit leaves."""
        facts = model.facts()
        self._model = model
        self._facts = facts
        self._terms = model.terms()
        self.classes_ = classes
        self.intercept_ = np.array([facts["intercept"]])
        self.coef_ = self._coefficients()
        self.rounds_ = model.rounds()
        self.n_iter_ = len(self.rounds_)
        self.n_selected_ = facts["count"]
        self.n_candidates_ = facts["candidates"]
        self.C_ = facts["cost"]
        self.objective_ = facts["objective"]
        self.lower_bound_ = facts["lower_bound"]
        self.gap_ = facts["gap"]
        self.stopped_ = facts["stopped"]

    def _warn_if_short(self, options: dict[str, Any]) -> None:
        """Says what was asked for and not reached, unless the run was to end early."""
        if self.stopped_ == "interrupted":
            return
        n_features, gap, inner_tol = options["n_features"], options["gap"], options["inner_tol"]
        short = []
        if n_features is not None and self.n_selected_ < n_features:
            short.append(
                f"n_features={n_features} was asked for, but n_selected_ is {self.n_selected_} "
                f"(of {self.n_candidates_} candidates)"
            )
        if gap is not None and self.gap_ > gap:
            short.append(f"gap={gap} was asked for, but gap_ is {self.gap_:.3g}")
        inner_gap = self.rounds_[-1]["inner_gap"] if self.rounds_ else 0.0
        if inner_gap > _INNER_SLACK * inner_tol:
            short.append(
                f"inner_tol={inner_tol} was asked for, but the last round was solved to {inner_gap:.3g} only"
            )
        if short:
            why = f"the run ended because {self._facts['explained']} (stopped_ is {self.stopped_!r})"
            warnings.warn("; ".join([*short, why]), ConvergenceWarning, stacklevel=3)

    # What was selected

    def _searched(self) -> type[spaces.Space]:
        """The kind of space that was searched or, before a fit, will be: parameters may have changed since."""
        return spaces.kind(spaces.from_settings(self._facts["space"]) if _is_fitted(self) else self.space)

    def _carrying(self) -> NDArray[np.intp]:
        """The terms that carry weight."""
        return np.flatnonzero(self._terms["weight"])

    def _coefficients(self) -> Any:
        terms, weights = self._carrying(), self._terms["weight"]
        space = self._searched()
        if space._generates or space._learns_curves:
            return weights[terms][np.newaxis]
        return self._over_inputs([self._terms["inputs"][t][0] for t in terms], weights[terms])

    def _over_inputs(self, inputs: Sequence[int], values: NDArray[np.float64]) -> Any:
        """A row as wide as the inputs that has the sums of these values at these places."""
        shape = (1, self.n_features_in_)
        row = sp.csr_array((values, (np.zeros(len(inputs), dtype=np.intp), inputs)), shape=shape)
        return row.toarray() if self.n_features_in_ <= DENSE_LIMIT else row

    @property
    def feature_importances_(self) -> Any:
        """How much weight the features made of each input carry: the length of the vector of their weights.

        Of shape (n_features,), or a sparse row where there are more than a million inputs. For ``SelectFromModel`` and
        ``RFE`` around a space that makes features, with ``importance_getter="feature_importances_"``.
        """
        check_is_fitted(self)
        parts = [
            (i, self._terms["weight"][t]) for t in self._carrying() for i in set(self._terms["inputs"][t])
        ]
        inputs, weights = [i for i, _ in parts], np.array([weight for _, weight in parts])
        lengths = np.sqrt(self._over_inputs(inputs, weights**2))
        return lengths if sp.issparse(lengths) else lengths[0]

    def _support(self) -> NDArray[np.int64]:
        """The inputs that anything selected is made of, in order."""
        inputs = {i for t in self._carrying() for i in self._terms["inputs"][t]}
        return np.array(sorted(inputs), dtype=np.int64)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self._support()] = True
        return mask

    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """Which inputs were selected, or are factors of products selected.

        Parameters
        ----------
        indices : bool, default=False
            Whether to return their indices rather than a mask.

        Returns
        -------
        support : array
            A mask of shape (n_features,), or indices.
        """
        check_is_fitted(self)
        return self._support() if indices else self._get_support_mask()

    def _selection(self) -> dict[str, Any]:
        """The columns of the table of what was selected."""
        check_is_fitted(self)
        curves = self._model.curves()
        if curves:
            feature, weight, round, _ = zip(*curves)
            return {"feature": list(feature), "weight": np.array(weight), "round": np.array(round)}
        terms = self._carrying()
        terms = terms[np.argsort(-np.abs(self._terms["weight"][terms]), kind="stable")]
        columns = {
            "feature": [self._terms["feature"][t] for t in terms],
            "weight": self._terms["weight"][terms],
            "round": self._terms["round"][terms],
        }
        if self._terms["groups"]:
            columns["group"] = [self._terms["groups"][g] for g in self._terms["group"][terms]]
        return columns

    @property
    def selected_(self) -> Any:
        """What was selected, most important first: a table with the columns feature, weight, round and, where there are
        groups, group.

        A pandas frame where pandas is installed, a polars frame where only polars is, else a dictionary of arrays. A
        feature that has a curve instead of a weight has here the length of the curve's vector of weights; a feature in
        several groups has a row for each.
        """
        return _table(self._selection())

    @property
    def curves_(self) -> dict[str, NDArray[np.float64]]:
        """The curve of every feature selected, as points (value of the feature, what it adds to the decision value).

        Empty unless the space learns curves.
        """
        check_is_fitted(self)
        return {feature: points for feature, _, _, points in self._model.curves()}

    @property
    def path_(self) -> Bunch:
        """The path of the run, one row per round.

        ``coef`` has the weights of all features that any round used, which ``features`` names; ``intercept``,
        ``n_features``, ``objective`` and ``lower_bound`` have one value per round.
        """
        check_is_fitted(self)
        path, features = self._model.path(), self._terms["feature"]
        shape = (self.n_iter_, len(features))
        coef = sp.csr_array((path["weights"], path["terms"], path["pointers"]), shape=shape)

        def column(name: str, kind: type = float) -> NDArray[Any]:
            return np.array([round[name] for round in self.rounds_], dtype=kind)

        return Bunch(
            coef=coef.toarray() if coef.shape[0] * coef.shape[1] <= DENSE_LIMIT else coef,
            features=np.array(features, dtype=object),
            intercept=path["intercepts"],
            n_features=column("selected", int),
            objective=column("objective"),
            lower_bound=column("lower_bound"),
        )

    def at(self, n_features: int) -> Self:
        """The estimator as it was with fewer features, without fitting again.

        Parameters
        ----------
        n_features : int
            How many features (groups, where there are groups). If the path never had so many, the nearest number below
            is taken, and a warning says which.

        Returns
        -------
        estimator : object
            A fitted copy; this one stays as it is.
        """
        check_is_fitted(self)
        n_features = given("n_features", integer("n_features", n_features))
        model = self._model.at(n_features)
        if model is None:
            fewest = min(round["selected"] for round in self.rounds_)
            raise ValueError(f"no round had at most {n_features} features: the fewest are {fewest}")
        point = copy.copy(self)
        rounds = self.rounds_
        point._keep(model, self.classes_)
        if point.n_selected_ != n_features:
            warnings.warn(
                f"the path has no point with {n_features} features: "
                f"this is the nearest below, with {point.n_selected_}",
                UserWarning,
                stacklevel=2,
            )
        # The engine's copy does not know how long its rounds took.
        point.rounds_ = rounds[: point.n_iter_]
        return point

    # Transforming

    def transform(self, X: Any) -> Any:
        """The selected features of X.

        Parameters
        ----------
        X : array, sparse matrix, frame or store of shape (n_samples, n_features)
            Data with the features of the training data. Of a store, the selected columns are copied; where the space
            learns curves, they cannot be.

        Returns
        -------
        X_new : array or sparse matrix of shape (n_samples, n_selected)
            The columns selected or, where the space makes features such as products, their values. Sparse data stay
            sparse.
        """
        check_is_fitted(self)
        made, stored = self._searched()._generates, isinstance(X, Store)
        if stored and self._searched()._learns_curves:
            raise ValueError(
                "columns that have curves are not taken out of a store: transform needs an array"
            )
        found = stored or self._names_to_find(X) is not None
        if not made and not found and not (sp.issparse(X) and X.shape[1] > DENSE_LIMIT):
            return super().transform(X)
        X = self._validated(X)
        chosen = self._carrying() if made else self._support()
        if len(chosen) == 0:
            warnings.warn("No features were selected.", UserWarning, stacklevel=2)
        if made or stored:
            terms = chosen if made else self._terms_of(chosen)
            return _input.values_like(X, self._model.values(self._needed(X), list(terms)), len(terms))
        return _input.rows_like(X, _input.take(X, chosen)) if sp.issparse(X) else X[:, chosen]

    def _terms_of(self, inputs: NDArray[np.int64]) -> list[int]:
        """For each of these inputs, a term that is nothing but it."""
        term = {self._terms["inputs"][t][0]: t for t in self._carrying()}
        return [term[i] for i in inputs.tolist()]

    @available_if(_selects_inputs)
    def inverse_transform(self, X: Any) -> Any:
        """Put selected columns back where they were, with zeros elsewhere.

        Parameters
        ----------
        X : array of shape (n_samples, n_selected)
            What :meth:`transform` returned.

        Returns
        -------
        X_original : array of shape (n_samples, n_features)
            As wide as the training data.
        """
        return super().inverse_transform(X)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Names of the selected features, in the order of the columns of :meth:`transform`.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the inputs, if the training data had none.

        Returns
        -------
        feature_names_out : array of str
            Products are called by their factors: ``a*b``, ``a^2``.
        """
        check_is_fitted(self)
        inputs = _check_feature_names_in(self, input_features, generate_names=False)
        if inputs is None:
            found = {i: name for name, i in self._model.inputs().items()}
            name = lambda i: found.get(i, f"x{i}")
        else:
            name = inputs.__getitem__
        if self._searched()._generates:
            shown = (_product([name(i) for i in self._terms["inputs"][t]]) for t in self._carrying())
        else:
            shown = (name(i) for i in self._support())
        return np.array(list(shown), dtype=object)

    # Data

    def _names_to_find(self, X: Any) -> list[str] | None:
        """The names of the columns of X, if this model looks for its inputs by name."""
        return _column_names(X) if self._found_by_name else None

    def _validated(self, X: Any) -> Any:
        if isinstance(X, Store):
            self._check_store(X)
            return X
        names = self._names_to_find(X)
        if names is None:
            return validate_data(self, X, reset=False, **_input.ACCEPTED)
        return self._in_place(check_array(X, **_input.ACCEPTED), names)

    def _check_store(self, X: Store) -> None:
        """Columns of a store are read where they are: they must stand where they stood in the training data."""
        if self._found_by_name:
            expected = self._model.inputs()
        else:
            expected = {name: at for at, name in enumerate(getattr(self, "feature_names_in_", ()))}
        if X.feature_names is not None:
            _check_present(expected, X.feature_names)
            _check_order(expected, X.feature_names)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but {self.n_features_in_} were expected")

    def _in_place(self, X: Any, names: list[str]) -> Any:
        """Columns where they stood in the training data; those that the model does not look at may be missing."""
        where = {name: at for at, name in enumerate(names)}
        used = self._model.inputs()
        _check_present(used, names)
        found = [where[name] for name in used]
        ids = list(used.values())
        if found == ids and len(names) == self.n_features_in_:
            return X
        shape = (X.shape[0], self.n_features_in_)
        if sp.issparse(X):
            part = X[:, found].tocoo()
            return sp.csr_array((part.data, (part.row, np.array(ids)[part.col])), shape=shape)
        placed = np.zeros(shape, dtype=X.dtype, order="F")
        placed[:, ids] = X[:, found]
        return placed

    def _needed(self, X: Any) -> Any:
        used = sorted({i for inputs in self._terms["inputs"] for i in inputs})
        return _input.some_columns(X, np.array(used, dtype=np.int64))

    def _decision(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self._model.decision(self._needed(self._validated(X)))

    # Files and pictures

    def save(self, path: str | PathLike[str]) -> None:
        """Save the model as a file that the command line reads too.

        Parameters
        ----------
        path : str or path-like
            The file; it appears whole or not at all.
        """
        check_is_fitted(self)
        self._model.save(path)

    # The diagram of scikit-learn; once fitted, with what was selected below it.

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._summary()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown = super()._repr_mimebundle_(**kwargs)
        if "text/html" in shown:
            shown["text/html"] += self._summary()
        return shown

    def _summary(self) -> str:
        return _html.summary(self) if _is_fitted(self) else ""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = spaces.kind(self.space)._wants_no_negatives
        tags.target_tags.required = True
        return tags


_PARAMETERS = """
    Parameters
    ----------
    n_features : int, default=None
        Stop with exactly this many features (groups, where there are groups). If the optimum for this C holds fewer, C
        is doubled until that many carry weight; ``C_`` has the value used.
    budget : int or None, default=10
        Features (groups) added per round: the paper's B. Fewer is more exact and slower. With ``n_features``, the
        default adds at most a tenth of them per round. None stands for 10 or, with ``n_features``, for a tenth of it,
        at least 1 and at most 50.
    C : float, default=10.0
        Weight of the loss.
    loss : {{"squared_hinge", "logistic"}}, default="squared_hinge"
        How errors count.{proba}
    fit_intercept : bool, default=True
        Whether an intercept is learned.
    space : str or Space, default="linear"
        Where features are searched: "linear", "poly2", "products", "hik", "intersection", "gaussian", or an object of
        :mod:`featgen.spaces` with parameters.
    groups : dict, list of lists, or path, default=None
        Groups of features to select as a whole, as in :class:`featgen.Groups`.
    tree : bool, default=False
        Whether the groups form a tree.
    max_rounds : int, default=20
        Most rounds. With ``n_features`` or ``gap`` there is no limit, unless a value other than the default is given.
    tol : float, default=1e-3
        Stop when a round lowers the objective by less than this part of its first value. With ``n_features`` or ``gap``
        the rule is off, unless a value other than the default is given.
    inner_tol : float, default=1e-4
        How exactly each round is solved: its relative duality gap.
    gap : float, default=None
        Run until the certified relative gap to the optimum over all features, a number between 0 and 1, is below this.
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    debias : float, default=None
        Afterwards, refit an l2 model with this C on the selected features only.
    solver : {{"auto", "newton", "apg", "pg"}}, default="auto"
        Solver of the rounds.
    n_jobs : int, default=None
        Threads; None is 1 (or what joblib's context says), -1 all, and never more than there are processors. Results do
        not depend on it.
    verbose : int, default=0
        1 shows progress, 2 a line per round.
    callback : callable, default=None
        Called after every round with a dictionary as in ``rounds_``. If it returns something true, the run ends with
        the round after it.
    checkpoint : str or path-like, default=None
        A file in which the run is kept after every round. A fit that finds the file goes on from it and ends with the
        same model, bit for bit, as if nothing had ended the run; the file stays. It is an error if the file is of other
        data or parameters: only ``debias``, ``n_jobs`` and rules that would not have ended the run before may be
        others. So it is for a single fit: in cross-validation or a grid search, every fit has other data and all but
        the first would be refused.
"""

_ATTRIBUTES = """
    Attributes
    ----------
    selected_ : table
        What was selected, most important first: feature, weight, round, group.
    coef_ : array or sparse array of shape (1, n_features)
        Weights of the inputs; sparse where there are more than a million. Where the space makes features, their weights
        in the order of :meth:`get_feature_names_out`; where it learns curves, the weights of their parts.
    feature_importances_ : array of shape (n_features,)
        For each input, the length of the vector of the weights of all features made of it.
    intercept_ : array of shape (1,)
        The intercept.
    classes_ : array of shape (2,)
        The two classes.
    objective_, lower_bound_, gap_ : float
        The certificate: no weights on any features of the space have an objective below ``lower_bound_``; ``gap_`` is
        the difference, relative to the objective.
    C_ : float
        The C that these belong to.
    n_selected_ : int
        Features (groups) selected.
    n_candidates_ : int
        Features (groups) to choose from.
    n_iter_ : int
        Rounds made.
    rounds_ : list of dict
        What happened in each round.
    path_ : Bunch
        Weights after each round.
    curves_ : dict
        Curves, where the space learns them.
    stopped_ : str
        Why the run ended.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : array of str
        Their names, if the training data had names.
"""


class FGMClassifier(ClassifierMixin, _Machine):
    __doc__ = f"""A sparse classifier: the feature generating machine.

    Selects few features out of very many, exactly, and certifies how far the result may be from the optimum over all of
    them. It is a classifier for two classes and, in a pipeline, a selector for whatever comes after it.
    {_PARAMETERS.format(proba=" With logistic, there are probabilities.")}{_ATTRIBUTES}
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


class FGMSelector(_Machine):
    __doc__ = f"""Selects features for whatever comes after: the feature generating machine without predictions.

    The same engine and parameters as :class:`FGMClassifier`, for pipelines in which another classifier does the rest.
    {_PARAMETERS.format(proba="")}{_ATTRIBUTES}
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
        Fitted. Where the model knows its features by name, frames with their columns in any order are understood; those
        of a store must stand as they did in the training data.

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
    losses = {engine: name for name, engine in _LOSSES.items()}
    estimator = FGMClassifier(
        C=facts["asked_cost"],
        budget=facts["budget"],
        loss=losses[facts["loss"]],
        space=spaces.from_settings(facts["space"]),
    )
    estimator._know(spaces.Inputs(facts["m"], None), by_name=bool(facts["by_name"]))
    classes = facts["classes"]
    estimator._keep(model, np.array(classes) if facts["classes_are_text"] else as_values(classes))
    return estimator


def _two_classes(y: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The two classes, and who is of the second."""
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    try:
        classes, codes = np.unique(y, return_inverse=True)
        if y.dtype.kind != "f" or len(classes) != 2:
            check_classification_targets(y)
    except TypeError as error:
        if y.dtype != object:
            raise
        raise ValueError("y: labels must all be of one type, such as strings or numbers") from error
    if len(classes) == 1:
        raise ValueError(f"y has one class only, {classes.tolist()[0]!r}: two classes are needed")
    if len(classes) != 2:
        kind = type_of_target(y)
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}: y has {len(classes)} classes"
        )
    return classes, codes.astype(bool)


def _as_text(label: Any) -> str:
    """A label as files have it."""
    text = str(label)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"y: the label {text!r} is not text that can be written as UTF-8") from error
    return text


def _class_weights(class_weight: Any, classes: list[Any], totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of the two classes, of whose samples these are the total weights."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        return totals.sum() / (2 * totals)
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight: must be a dictionary, 'balanced' or None, not {class_weight!r}")
    without = [name for name in classes if name not in class_weight]
    if without and len(class_weight) + len(without) > len(classes):
        raise ValueError(f"class_weight: has other classes, but not {', '.join(map(repr, without))}")
    weights = np.array([real("class_weight", class_weight.get(name, 1.0)) for name in classes], dtype=float)
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(f"class_weight: must be finite numbers of at least 0, not {class_weight!r}")
    return weights


def _sample_weights(sample_weight: ArrayLike, X: Any) -> NDArray[np.float64]:
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return np.ascontiguousarray(weights)


def _threads(n_jobs: int | None) -> int:
    whole = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not whole or n_jobs == 0):
        raise ValueError(f"n_jobs: must be an integer other than 0, or None, not {n_jobs!r}")
    # More threads than processors only take time.
    return min(effective_n_jobs(n_jobs), max(1, cpu_count()))


def _check_present(expected: Iterable[str], names: Sequence[str]) -> None:
    present = set(names)
    missing = [name for name in expected if name not in present]
    if missing:
        more = ", ..." if len(missing) > _NAMED else ""
        raise ValueError(f"X lacks columns that the model expects: {', '.join(missing[:_NAMED])}{more}")


def _check_order(expected: Mapping[str, int], names: Sequence[str]) -> None:
    for name, at in sorted(expected.items(), key=lambda item: item[1]):
        if at >= len(names) or names[at] != name:
            raise ValueError(
                "The feature names should match those that were passed during fit: the columns of this store stand in "
                f"another order. {name!r} was column {at} and is column {names.index(name)}"
            )


def _column_names(X: Any) -> list[str] | None:
    """The names of a frame's columns, if all are strings."""
    columns = getattr(X, "columns", None)
    columns = getattr(X, "column_names", columns)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return list(columns)


def _both(
    report: Callable[[dict[str, Any]], Any] | None, callback: Callable[[dict[str, Any]], Any] | None
) -> Callable[[dict[str, Any]], Any] | None:
    if report is None or callback is None:
        return callback or report

    def on_round(round: dict[str, Any]) -> Any:
        report(round)
        return callback(round)

    return on_round


def _product(factors: Sequence[str]) -> str:
    """What a product of these inputs is called: ``a*b``, ``a^2``, ``1``."""
    powers: dict[str, int] = {}
    for factor in factors:
        powers[factor] = powers.get(factor, 0) + 1
    return "*".join(name if power == 1 else f"{name}^{power}" for name, power in powers.items()) or "1"


def _table(columns: dict[str, Any]) -> Any:
    for package in ("pandas", "polars"):
        try:
            frames = __import__(package)
        except ImportError:
            continue
        return frames.DataFrame(columns)
    return {name: np.asarray(values) for name, values in columns.items()}
