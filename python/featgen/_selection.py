"""What a fitted machine has selected: weights, tables, curves and the path."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from . import _featgen, spaces
from ._checks import given, integer
from ._columns import table

if TYPE_CHECKING:
    from typing import Self

#: Coefficients of more than this many features are kept sparse.
DENSE_LIMIT = 1_000_000


def is_fitted(machine: Any) -> bool:
    return hasattr(machine, "_model")


class Selection(SelectorMixin):
    """The part of an estimator that says what was selected."""

    space: spaces.Space | str
    n_features_in_: int
    #: How many inputs there are and, where they were made of the columns of a frame, those of each.
    _n_inputs: int
    _made: list[list[int]] | None = None
    classes_: NDArray[Any]
    rounds_: list[dict[str, Any]]
    n_iter_: int
    n_selected_: int
    _model: _featgen.Model
    _facts: dict[str, Any]
    _terms: dict[str, Any]

    def _keep(self, model: _featgen.Model, classes: NDArray[Any] | None) -> None:
        raise NotImplementedError

    def _searched(self) -> type[spaces.Space]:
        """The kind of space that was searched or, before a fit, will be: parameters may have changed since."""
        return spaces.kind(spaces.from_settings(self._facts["space"]) if is_fitted(self) else self.space)

    def _carrying(self) -> NDArray[np.intp]:
        """The terms that carry weight."""
        return np.flatnonzero(self._terms["weight"])

    def _coefficients(self) -> Any:
        """A row of weights for each output."""
        terms, weights = self._carrying(), self._terms["weights"]
        space = self._searched()
        if space._generates or space._learns_curves:
            return np.ascontiguousarray(weights[terms].T)
        inputs = [self._terms["inputs"][t][0] for t in terms] + [i for i, _, _ in self._facts["kept"]]
        kept = np.reshape([weight for _, _, weight in self._facts["kept"]], (-1, weights.shape[1]))
        return self._over_inputs(inputs, np.concatenate([weights[terms], kept]))

    def _over_inputs(self, inputs: Sequence[int], values: NDArray[np.float64]) -> Any:
        """Rows as wide as the inputs, one for each column of the values, that have their sums at these places."""
        count = values.shape[1]
        shape = (count, self._n_inputs)
        columns, rows = (
            np.repeat(np.asarray(inputs, dtype=np.int64), count),
            np.tile(np.arange(count), len(inputs)),
        )
        matrix = sp.csr_array((values.ravel(), (rows, columns)), shape=shape)
        return matrix.toarray() if count * self._n_inputs <= DENSE_LIMIT else matrix

    @property
    def feature_importances_(self) -> Any:
        """How much weight the features made of each column carry: the length of the vector of their weights.

        Of shape (n_features,), or a sparse row where there are more than a million inputs. For ``SelectFromModel`` and
        ``RFE`` around a space that makes features, with ``importance_getter="feature_importances_"``.
        """
        check_is_fitted(self)
        parts = [
            (i, self._terms["weight"][t]) for t in self._carrying() for i in set(self._terms["inputs"][t])
        ]
        inputs, weights = [i for i, _ in parts], np.array([weight for _, weight in parts], dtype=float)
        squares = self._over_inputs(inputs, weights[:, np.newaxis] ** 2)
        if self._made is not None:
            squares = np.array([[squares[0, of].sum() for of in self._made]])
        lengths = np.sqrt(squares)
        return lengths if sp.issparse(lengths) else lengths[0]

    def _support(self) -> NDArray[np.int64]:
        """The inputs that anything selected is made of, in order."""
        inputs = {i for t in self._carrying() for i in self._terms["inputs"][t]}
        if not self._searched()._generates:
            inputs.update(i for i, _, _ in self._facts["kept"])
        return np.array(sorted(inputs), dtype=np.int64)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        mask = np.zeros(self._n_inputs, dtype=bool)
        mask[self._support()] = True
        return mask if self._made is None else np.array([mask[of].any() for of in self._made], dtype=bool)

    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """Which columns were selected, or are factors of products selected.

        Of a frame with columns of all kinds, these are the columns of which any input was selected.

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
        if indices and self._made is None:
            return self._support()
        return np.flatnonzero(self._get_support_mask()) if indices else self._get_support_mask()

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
        if self._terms["weights"].shape[1] > 1:
            for name, weights in zip(self.classes_.tolist(), self._terms["weights"][terms].T):
                columns[f"weight of {name}"] = weights
        if self.stability_ is not None:
            columns["frequency"] = self._terms["frequency"][terms]
        if any(self._terms["stand_ins"][t] for t in terms):
            columns["stand_ins"] = [self._terms["stand_ins"][t] for t in terms]
        if self._terms["groups"]:
            columns["group"] = [self._terms["groups"][g] for g in self._terms["group"][terms]]
        return columns

    @property
    def selected_(self) -> Any:
        """What was selected, most important first: a table with the columns feature, weight, round and, where there are
        groups, group. With ``stability`` it has the frequency of each, with ``stand_ins`` their names and correlations.

        A pandas frame where pandas is installed, a polars frame where only polars is, else a dictionary of arrays. A
        feature that has a curve instead of a weight has here the length of the curve's vector of weights; a feature in
        several groups has a row for each.
        """
        return table(self._selection())

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

        ``coef`` has the weights of all features that any round used, which ``features`` names; of several classes in
        the shape (rounds, classes, features). ``intercept``, ``n_features``, ``objective`` and ``lower_bound`` have one
        value per round.
        """
        check_is_fitted(self)
        path, features = self._model.path(), self._terms["feature"]
        shape, outputs = (self.n_iter_, len(features)), self._terms["weights"].shape[1]
        each = path["weights"].reshape(-1, outputs).T
        coefs = [sp.csr_array((w, path["terms"], path["pointers"]), shape=shape) for w in each]
        dense = outputs * shape[0] * shape[1] <= DENSE_LIMIT
        coefs = [coef.toarray() if dense else coef for coef in coefs]

        def column(name: str, kind: type = float) -> NDArray[Any]:
            return np.array([round[name] for round in self.rounds_], dtype=kind)

        return Bunch(
            coef=coefs[0] if outputs == 1 else np.stack(coefs, axis=1) if dense else coefs,
            features=np.array(features, dtype=object),
            intercept=path["intercepts"][:, 0] if outputs == 1 else path["intercepts"],
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
        point._keep(model, getattr(self, "classes_", None))
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
