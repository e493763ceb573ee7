"""The feature generating machine as an estimator: what the public estimators have in common."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from . import _featgen, _frames, _input, _parameters, spaces
from ._checks import function, level
from ._columns import check_order, check_present, column_names, kept_columns, product
from ._progress import going_on, proving, reporter
from ._report import Shown
from ._selection import DENSE_LIMIT, Selection, is_fitted
from ._shards import Sharded
from ._store import Store
from ._target import as_text, class_weights, classes_of, numbers_of, sample_weights, times_of
from ._written import Files

if TYPE_CHECKING:
    from typing import Self

#: A round counts as solved if its gap is at most this many times ``inner_tol``.
_INNER_SLACK = 10


def _selects_columns(machine: Machine) -> bool:
    return not machine._searched()._generates and machine._made is None


class Machine(Shown, Files, Selection, BaseEstimator):
    """What all estimators are: a fit that selects, and what can be known of it."""

    #: The losses that estimators of this kind take.
    _losses: tuple[str, ...] = ()

    loss: str
    keep: Any
    verbose: int
    callback: Callable[[dict[str, Any]], Any] | None

    feature_names_in_: NDArray[Any]
    input_names_: NDArray[Any]
    classes_: NDArray[Any]
    coef_: Any
    intercept_: Any
    rounds_: list[dict[str, Any]]
    n_iter_: int
    n_selected_: int
    n_candidates_: int
    C_: float
    objective_: float
    lower_bound_: float
    gap_: float
    proof_: dict[str, Any] | None
    discoveries_: dict[str, Any] | None
    support_fdr_: NDArray[np.bool_] | None
    stability_: dict[str, Any] | None
    stopped_: str

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

    def _take(self, arguments: dict[str, Any]) -> None:
        """Keeps what a constructor was given, each under its name."""
        for name in self._get_param_names():
            setattr(self, name, arguments[name])

    # Fitting

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> Self:
        """Select features and fit them.

        Parameters
        ----------
        X : array, sparse matrix, frame or store of shape (n_samples, n_features)
            Training data. Float32 and float64 arrays in C or Fortran order and CSC matrices are used as they are; CSR
            is transposed once; everything else is converted. The columns of a frame may be of any kind, with gaps.
        y : array-like of shape (n_samples,)
            Labels: classes, numbers, counts or times, as the loss needs them.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts. A weight of 2 is the sample twice.
        offset : array-like of shape (n_samples,), default=None
            A number that is added to the decision value of each sample; for losses with one decision value a sample.

        Returns
        -------
        self : object
            The fitted estimator. After Ctrl-C it holds what was reached, and KeyboardInterrupt is raised; with a
            ``checkpoint``, the next fit goes on from there. After any other error it is as it was before.

        Warns
        -----
        ConvergenceWarning
            If the number of features, the gap or the exactness of the rounds asked for was not reached.
        TableWarning
            If columns of a frame are left out.
        """
        return self._fit(X, y, sample_weight, offset)

    def _fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        offset: ArrayLike | None,
        choose: Callable[[tuple[Any, ...], dict[str, Any]], int | None] | None = None,
    ) -> Self:
        """The same; ``choose``, with what the engine is told of the data, may first set options, and say at how many
        features of the path the model is to be.
        """
        space, options = _parameters.space(self), _parameters.options(self)
        verbose, callback = level("verbose", self.verbose), function("callback", self.callback)
        given, finite = (X, y), not _input.is_large(X)
        X, y, inputs = self._seen(X, y, finite)
        target, classes = self._target(y, options)
        target["counts"] = None if sample_weight is None else sample_weights(sample_weight, X)
        target["offset"] = None if offset is None else _numbers_for(X, offset, "offset")
        target["keep"] = kept_columns(self.keep, inputs)
        matrix: Any = X if isinstance(X, Sharded) else _input.matrix(X)
        told = (matrix, inputs.names, target, space._describe(inputs))
        with self._refused(*given, finite):
            at = None if choose is None else choose(told, options)
            with reporter(verbose, options["n_features"]) as report:
                listeners = {
                    "round": _both(report, callback),
                    "resumed": going_on if verbose else None,
                    "proof": proving if verbose else None,
                }
                # Called from here: warnings of the engine are shown where the estimator was called.
                if isinstance(X, Sharded):
                    model, broken_off, lacking = _featgen.fit_shards(
                        X.ask, X.store, *told[1:], options, listeners
                    )
                else:
                    model, broken_off, lacking = _featgen.fit(*told, options, listeners, finite)
        if at is not None:
            model = model.at(at) or model
        self._know(inputs)
        self._keep(model, classes)
        if broken_off is not None:
            raise broken_off
        self._warn_if_short(options)
        _warn_of_pathways(lacking)
        return self

    def _target(self, y: Any, options: dict[str, Any]) -> tuple[dict[str, Any], NDArray[Any] | None]:
        """What the engine is told to learn, and the classes if there are any."""
        output = _parameters.output(options["loss"])
        target: dict[str, Any] = {
            "classes": [],
            "codes": None,
            "numbers": None,
            "text": False,
            "weights": None,
            "balanced": False,
        }
        if output != "classes":
            target["numbers"] = times_of(y) if output == "risk" else numbers_of(y)
            if self._class_weight() is not None:
                raise ValueError(f"class_weight: the loss {options['loss']!r} has no classes to weigh")
            return target, None
        classes, codes = classes_of(y)
        if options["loss"] == "logistic" and len(classes) > 2:
            # As logistic regression of several classes is understood in scikit-learn.
            options["loss"] = "softmax"
        target["classes"] = [as_text(c) for c in classes.tolist()]
        target["text"] = all(isinstance(c, str) for c in classes.tolist())
        target["codes"] = codes
        target["weights"] = class_weights(self._class_weight(), classes.tolist())
        target["balanced"] = isinstance(self._class_weight(), str)
        return target, classes

    def _class_weight(self) -> Any:
        return getattr(self, "class_weight", None)

    def _seen(self, X: Any, y: Any, finite: bool) -> tuple[Any, Any, spaces.Inputs]:
        """Data as validation leaves them, and their inputs. Nothing is set: a fit may still fail. Values are refused
        because they are not finite only if that is asked for.
        """
        wishes = _parameters.columns(self)
        said = next((name for name, wish in wishes.items() if wish is not None), None)
        if _frames.is_frame(X) and (said or not _frames.only_numbers(X)):
            return self._learned(X, y, wishes)
        if said:
            raise ValueError(f"{said}: only a frame has columns of kinds, and X is none")
        if isinstance(X, (Store, Sharded)):
            return X, _labels_for(X, y), spaces.Inputs(X.shape[1], X.feature_names)
        told, accepted = copy.copy(self), {**_input.ACCEPTED, "ensure_all_finite": finite}
        try:
            if _is_structured(y):
                check_consistent_length(X, y)
                checked = validate_data(told, X, **accepted)
            else:
                checked, y = validate_data(told, X, y, **accepted)
        except ValueError:
            if not _frames.has_gaps(X):
                raise
            if _frames.is_frame(X):
                return self._learned(X, y, wishes)
            raise _frames.no_gaps_in_arrays() from None
        names = getattr(told, "feature_names_in_", None)
        return checked, y, spaces.Inputs(checked.shape[1], None if names is None else list(names))

    @contextmanager
    def _refused(self, X: Any, y: Any, finite: bool) -> Iterator[None]:
        """Errors because of values that are not finite, where these were not looked for, are those of validation."""
        try:
            yield
        except ValueError:
            if not finite:
                self._seen(X, y, True)
            raise

    def _learned(self, X: Any, y: Any, wishes: dict[str, Any]) -> tuple[Any, Any, spaces.Inputs]:
        """The same of a frame with columns of all kinds."""
        y = _labels_for(X, y)
        _frames.check(X)
        # Whether names are mixed with other things is looked at there.
        validate_data(copy.copy(self), X, skip_check_array=True)
        table = _frames.learned(X, wishes)
        _frames.warn(table)
        return table, y, _frames.Inputs(table, X)

    def _know(self, inputs: spaces.Inputs, by_name: bool = False) -> None:
        """Sets what is known of the inputs, and whether they are looked for by their names."""
        self._n_inputs, self._made = inputs.count, inputs.made
        self.n_features_in_ = inputs.count if inputs.made is None else len(inputs.made)
        for attribute, names in (("feature_names_in_", inputs.columns), ("input_names_", inputs.names)):
            if names is not None:
                setattr(self, attribute, np.array(names, dtype=object))
            elif hasattr(self, attribute):
                delattr(self, attribute)
        self._found_by_name = by_name

    def _keep(self, model: _featgen.Model, classes: NDArray[Any] | None) -> None:
        """Sets what a fit leaves."""
        facts = model.facts()
        self._model = model
        self._facts = facts
        self._terms = model.terms()
        if classes is not None:
            self.classes_ = classes
        self._set_weights()
        self.rounds_ = model.rounds()
        self.n_iter_ = len(self.rounds_)
        self.n_selected_ = facts["count"]
        self.n_candidates_ = facts["candidates"]
        self.C_ = facts["cost"]
        self.objective_ = facts["objective"]
        self.lower_bound_ = facts["lower_bound"]
        self.gap_ = facts["gap"]
        self.proof_ = facts["proof"]
        self.discoveries_ = facts["discoveries"]
        self.support_fdr_ = None if self.discoveries_ is None else self._get_support_mask()
        self.stability_ = facts["stability"]
        self.stopped_ = facts["stopped"]

    def _set_weights(self) -> None:
        """Sets the weights as estimators of this kind have them: a row for each output."""
        self.intercept_ = np.array(self._facts["intercept"])
        self.coef_ = self._coefficients()

    # Copies and pickles

    def __copy__(self) -> Self:
        copied = self.__class__.__new__(self.__class__)
        copied.__dict__.update(self.__dict__)
        return copied

    def __getstate__(self) -> dict[str, Any]:
        """Plain values, for pickle, joblib and skops: the engine's model as its file has it."""
        state = super().__getstate__().copy()
        if is_fitted(self):
            state["_model"] = self._model.to_json()
            # What the model says when it is asked again.
            del state["_facts"], state["_terms"], state["coef_"], state["intercept_"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if is_fitted(self):
            self._model = _featgen.Model(state["_model"])
            self._facts, self._terms = self._model.facts(), self._model.terms()
            self._set_weights()

    def _warn_if_short(self, options: dict[str, Any]) -> None:
        """Says what was asked for and not reached, unless the run was to end early."""
        if self.stopped_ == "interrupted":
            return
        n_features, gap, inner_tol = options["n_features"], options["gap"], options["inner_tol"]
        short = []
        if n_features is not None and self.n_selected_ < n_features and self.discoveries_ is None:
            short.append(
                f"n_features={n_features} was asked for, but n_selected_ is {self.n_selected_} "
                f"(of {self.n_candidates_} candidates)"
            )
        prove = options["prove"]
        if prove is not None and self.proof_ is not None and self.proof_["gap"] > prove:
            short.append(f"prove={prove} was asked for, but the gap of proof_ is {self.proof_['gap']:.3g}")
        if gap is not None and self.gap_ > gap:
            short.append(f"gap={gap} was asked for, but gap_ is {self.gap_:.3g}")
        inner_gap = self.rounds_[-1]["inner_gap"] if self.rounds_ else 0.0
        if inner_gap > _INNER_SLACK * inner_tol:
            short.append(
                f"inner_tol={inner_tol} was asked for, but the last round was solved to {inner_gap:.3g} only"
            )
        if short:
            why = f"the run ended because {self._facts['explained']} (stopped_ is {self.stopped_!r})"
            warnings.warn("; ".join([*short, why]), ConvergenceWarning, stacklevel=4)

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
            sparse. Of a frame with columns of all kinds, the inputs selected, such as levels of a category.
        """
        check_is_fitted(self)
        made, stored = self._searched()._generates, isinstance(X, Store)
        if stored and self._searched()._learns_curves:
            raise ValueError(
                "columns that have curves are not taken out of a store: transform needs an array"
            )
        found = stored or self._takes_tables(X) or self._names_to_find(X) is not None
        if not made and not found and not (sp.issparse(X) and X.shape[1] > DENSE_LIMIT):
            return super().transform(X)
        X = self._validated(X)
        chosen = self._carrying() if made else self._support()
        if len(chosen) == 0:
            warnings.warn("No features were selected.", UserWarning, stacklevel=2)
        if made or isinstance(X, (Store, _featgen.Table)):
            compute = self._model.values if made else self._model.take
            return _input.values_like(X, compute(self._needed(X), chosen.tolist()), len(chosen))
        return _input.rows_like(X, _input.take(X, chosen)) if sp.issparse(X) else X[:, chosen]

    @available_if(_selects_columns)
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
            Products are called by their factors: ``a*b``, ``a^2``; levels of a category, ``colour = red``.
        """
        check_is_fitted(self)
        inputs = _check_feature_names_in(self, input_features, generate_names=False)
        name: Callable[[int], str]
        if self._made is not None and hasattr(self, "input_names_"):
            name = self.input_names_.__getitem__
        elif inputs is None or self._made is not None:
            found = {i: name for name, i in self._model.inputs().items()}
            name = lambda i: found.get(i, f"x{i}")
        else:
            name = inputs.__getitem__
        if self._searched()._generates:
            shown = (product([name(i) for i in self._terms["inputs"][t]]) for t in self._carrying())
        else:
            shown = (name(i) for i in self._support())
        return np.array(list(shown), dtype=object)

    # Data

    #: Whether columns are looked for by their names, in any order: a model of a file does not know the others.
    _found_by_name = False

    def _names_to_find(self, X: Any) -> list[str] | None:
        """The names of the columns of X, if this model looks for its inputs by name."""
        return column_names(X) if self._found_by_name else None

    def _takes_tables(self, X: Any) -> bool:
        """Whether X is to be read as a table: the model is of one, or of some columns of one."""
        if self._made is not None or not _frames.is_frame(X):
            return self._made is not None
        names = column_names(X)
        if self._found_by_name:
            return names is not None and not _frames.only_numbers(X)
        # A store holds what was made of a table.
        return self._facts["of_table"] and names != list(getattr(self, "feature_names_in_", ()))

    def _validated(self, X: Any) -> Any:
        if isinstance(X, Store):
            self._check_store(X)
            return X
        if self._takes_tables(X):
            return self._followed(X)
        names = self._names_to_find(X)
        try:
            if names is None:
                return validate_data(self, X, reset=False, **_input.ACCEPTED)
            return self._in_place(check_array(X, **_input.ACCEPTED), names)
        except ValueError:
            if not _frames.has_gaps(X):
                raise
            if names is not None:
                return self._followed(X)
            if _frames.is_frame(X):
                raise _frames.no_gaps_known() from None
            raise _frames.no_gaps_in_arrays() from None

    def _followed(self, X: Any) -> _featgen.Table:
        """What the model wants to know of a frame."""
        if not _frames.is_frame(X):
            raise ValueError(
                "the model is of a table: X must be a frame with its columns, or a store of such a table"
            )
        _frames.check(X)
        if self._made is not None and not self._found_by_name:
            validate_data(self, X, reset=False, skip_check_array=True)
        else:
            columns = self._model.columns()
            expected = self._model.inputs() if columns is None else [name for name, _ in columns]
            check_present(expected, _frames.called(X))
        table = _frames.followed(X, self._model)
        _frames.warn(table)
        return table

    def _check_store(self, X: Store) -> None:
        """Columns of a store are read where they are: they must stand where they stood in the training data."""
        if self._found_by_name or self._made is not None:
            expected = self._model.inputs()
        else:
            expected = {name: at for at, name in enumerate(getattr(self, "feature_names_in_", ()))}
        if X.feature_names is not None:
            check_present(expected, X.feature_names)
            check_order(expected, X.feature_names)
        if X.shape[1] != self._n_inputs:
            raise ValueError(f"X has {X.shape[1]} features, but {self._n_inputs} were expected")

    def _in_place(self, X: Any, names: list[str]) -> Any:
        """Columns where they stood in the training data; those that the model does not look at may be missing."""
        where = {name: at for at, name in enumerate(names)}
        used = self._model.inputs()
        check_present(used, names)
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
        kept = {i for i, _, _ in self._facts["kept"]}
        used = sorted({i for inputs in self._terms["inputs"] for i in inputs} | kept)
        return _input.some_columns(X, np.array(used, dtype=np.int64))

    def _decision(
        self, X: Any, n_features: int | None = None, offset: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Decision values, a column for each output."""
        check_is_fitted(self)
        machine = self if n_features is None else self.at(n_features)
        decision = machine._model.decision(machine._needed(machine._validated(X)))
        if offset is not None:
            if decision.shape[1] > 1:
                raise ValueError("offset: only models with one decision value a sample take one")
            decision += _numbers_for(X, offset, "offset")[:, np.newaxis]
        return decision

    @property
    def kept_(self) -> dict[str, NDArray[np.float64]]:
        """The columns that were kept, by name, with their weights: one for each output."""
        check_is_fitted(self)
        names = getattr(self, "input_names_", None)
        shown = lambda i, name: f"x{i}" if names is None and self._made is None else name
        return {shown(i, name): np.array(weight) for i, name, weight in self._facts["kept"]}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = spaces.kind(self.space)._wants_no_negatives
        tags.target_tags.required = True
        return tags


def _labels_for(X: Any, y: Any) -> NDArray[Any]:
    """A label for each sample of X."""
    if y is None:
        raise ValueError("y: labels must be given; where X is a store that has some, they are its y")
    y = np.asarray(y)
    check_consistent_length(X, y)
    return y


def _is_structured(y: Any) -> bool:
    return getattr(getattr(y, "dtype", None), "names", None) is not None


def _numbers_for(X: Any, numbers: ArrayLike, name: str) -> NDArray[np.float64]:
    """A finite number for each sample of X."""
    array = np.ascontiguousarray(column_or_1d(numbers), dtype=np.float64)
    if len(array) != X.shape[0]:
        raise ValueError(f"{name}: {len(array)} numbers for {X.shape[0]} samples")
    return array


def _both(
    report: Callable[[dict[str, Any]], Any] | None, callback: Callable[[dict[str, Any]], Any] | None
) -> Callable[[dict[str, Any]], Any] | None:
    if report is None or callback is None:
        return callback or report

    def on_round(round: dict[str, Any]) -> Any:
        report(round)
        return callback(round)

    return on_round


def _warn_of_pathways(lacking: Sequence[int] | None) -> None:
    """Says what X lacks of pathways, where groups are left out for it."""
    if lacking is None or not lacking[2]:
        return
    members, of_members, groups, of_groups = lacking
    warnings.warn(
        f"genes of pathways that X lacks: {members} of {of_members}; "
        f"pathways left out, for it has none of theirs: {groups} of {of_groups}",
        UserWarning,
        stacklevel=4,
    )
