"""Who proposes features: spaces to search for them in.

A space is given to an estimator as an object or, with default parameters, by its name: ``space=Poly2(gamma=0.5)`` or
``space="poly2"``. Its parameters can be searched over as those of other nested estimators, ``space__gamma`` say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike, fspath
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ._checks import given, integer, one_of, real, truth

__all__ = [
    "HIK",
    "Gaussian",
    "Groups",
    "Intersection",
    "Linear",
    "Poly2",
    "Products",
    "Space",
    "Tree",
    "by_name",
]


class Space(BaseEstimator):
    """Base class of all spaces."""

    #: Whether features are made that are not among the inputs, such as products.
    _generates = False

    #: Whether a feature has a curve instead of a weight.
    _learns_curves = False

    #: Whether values below 0 are refused.
    _wants_no_negatives = False

    def _describe(self, inputs: Inputs) -> dict[str, Any] | None:
        """What the engine is told about a search over these inputs."""
        raise NotImplementedError


class Linear(Space):
    """The input features as they are.

    Examples
    --------
    >>> from featgen import FGMClassifier, Linear
    >>> FGMClassifier(space=Linear())
    FGMClassifier(space=Linear())
    """

    def _describe(self, inputs: Inputs) -> None:
        return None


class Groups(Space):
    """Groups of input features, selected as a whole. Groups may overlap.

    Parameters
    ----------
    groups : dict, list of lists, or path
        Which features belong together: by group name, or one list a group; features by index or by name. Or a file of
        groups as the command line reads it (``name: 3 5 9-12``, counted from 1).
    weight : {"none", "sqrt"}, default="none"
        How much its size counts against a group. With "none" larger groups tend to win.
    singletons : bool, default=False
        Whether every feature in no group becomes a group of its own. Otherwise it cannot be selected.

    Examples
    --------
    >>> from featgen import FGMClassifier, Groups
    >>> model = FGMClassifier(space=Groups({"size": [0, 2, 3], "shape": [1, 4]}))
    """

    def __init__(self, groups: Any, weight: str = "none", singletons: bool = False) -> None:
        self.groups = groups
        self.weight = weight
        self.singletons = singletons

    def _describe(self, inputs: Inputs) -> dict[str, Any]:
        lists, singletons = _lists(self.groups, inputs), truth("singletons", self.singletons)
        if not lists and not singletons:
            raise ValueError("groups: there must be at least one group")
        return {
            "groups": lists,
            "tree": False,
            "format": None,
            "weight": one_of("weight", self.weight, ("none", "sqrt")),
            "singletons": singletons,
        }


class Tree(Groups):
    """Groups of input features that form a tree: any two are disjoint, or one holds the other.

    The search goes down the tree from the best groups and leaves most of a large tree alone.

    Parameters
    ----------
    groups : dict, list of lists, or path
        As in :class:`Groups`; or a file that describes a tree in another way, see ``format``.
    weight : {"none", "sqrt"}, default="none"
        How much its size counts against a group.
    singletons : bool, default=False
        Whether every feature in no group becomes a group of its own.
    format : {"lists", "parents", "newick", "paths"} or None, default=None
        The format of a file; recognised if None.

    Examples
    --------
    >>> from featgen import FGMClassifier, Tree
    >>> model = FGMClassifier(space=Tree({"all": [0, 1, 2, 3], "left": [0, 1]}))
    """

    def __init__(
        self, groups: Any, weight: str = "none", singletons: bool = False, format: str | None = None
    ) -> None:
        super().__init__(groups, weight, singletons)
        self.format = format

    def _describe(self, inputs: Inputs) -> dict[str, Any]:
        if self.format is not None:
            one_of("format", self.format, ("lists", "parents", "newick", "paths"))
        return {**super()._describe(inputs), "tree": True, "format": self.format}


class Poly2(Space):
    """Inputs, squares and all products of two: the features of the kernel ``(gamma x.z + coef0)^2``.

    Parameters
    ----------
    gamma : float, default=1.0
        Weight of products of two.
    coef0 : float, default=1.0
        Weight of the inputs themselves; with 0 there are only squares and products.
    only : list, default=None
        The features that may be multiplied, by index or by name; all if None.

    Examples
    --------
    >>> import numpy as np
    >>> from featgen import FGMClassifier
    >>> X = np.random.default_rng(0).normal(size=(300, 20))
    >>> y = X[:, 3] * X[:, 7] > 0
    >>> FGMClassifier(n_features=1, space="poly2").fit(X, y).get_feature_names_out()
    array(['x3*x7'], dtype=object)
    """

    _generates = True

    def __init__(self, gamma: float = 1.0, coef0: float = 1.0, only: Any = None) -> None:
        self.gamma = gamma
        self.coef0 = coef0
        self.only = only

    def _describe(self, inputs: Inputs) -> dict[str, Any]:
        return {
            "gamma": real("gamma", given("gamma", self.gamma)),
            "coef0": real("coef0", given("coef0", self.coef0)),
            "only": _only(self.only, inputs),
        }


class Products(Space):
    """All products of up to ``degree`` different inputs, for values from 0 to 1.

    Parameters
    ----------
    degree : int, default=2
        Most factors of a product.
    min_support : int, default=1
        Products that are not 0 in fewer instances are left out.
    only : list, default=None
        The features that may be multiplied, by index or by name; all if None.

    Examples
    --------
    >>> import numpy as np
    >>> from featgen import FGMClassifier, Products
    >>> X = (np.random.default_rng(0).random((500, 30)) < 0.4).astype(float)
    >>> y = X[:, 2] * X[:, 5] * X[:, 11] > 0
    >>> FGMClassifier(n_features=1, space=Products(degree=3)).fit(X, y).get_feature_names_out()
    array(['x2*x5*x11'], dtype=object)
    """

    _generates = True
    _wants_no_negatives = True

    def __init__(self, degree: int = 2, min_support: int = 1, only: Any = None) -> None:
        self.degree = degree
        self.min_support = min_support
        self.only = only

    def _describe(self, inputs: Inputs) -> dict[str, Any]:
        return {
            "degree": integer("degree", given("degree", self.degree)),
            "min_support": integer("min_support", given("min_support", self.min_support)),
            "only": _only(self.only, inputs),
        }


class HIK(Space):
    """A curve of steps for every feature selected, as the histogram intersection kernel ``min(x, z)`` learns.

    Values must not be negative; see :class:`Intersection` where they are.

    Parameters
    ----------
    levels : int, default=100
        Number of steps. Time and memory hardly depend on it.

    Examples
    --------
    >>> from featgen import FGMClassifier, HIK
    >>> model = FGMClassifier(space=HIK(levels=20))
    """

    _learns_curves = True
    _wants_no_negatives = True

    def __init__(self, levels: int = 100) -> None:
        self.levels = levels

    def _describe(self, inputs: Inputs) -> dict[str, Any]:
        return {"levels": integer("levels", given("levels", self.levels)), "power": None}


class Intersection(Space):
    """A curve of steps on ``|x|^power`` for every feature selected.

    Parameters
    ----------
    levels : int, default=100
        Number of steps.
    power : float, default=1.0
        The power of the values that levels are equal parts of.

    Examples
    --------
    >>> from featgen import FGMClassifier, Intersection
    >>> model = FGMClassifier(space=Intersection(power=0.5))
    """

    _learns_curves = True

    def __init__(self, levels: int = 100, power: float = 1.0) -> None:
        self.levels = levels
        self.power = power

    def _describe(self, inputs: Inputs) -> dict[str, Any]:
        return {
            "levels": integer("levels", given("levels", self.levels)),
            "power": real("power", given("power", self.power)),
        }


class Gaussian(Space):
    """A smooth curve for every feature selected, as the kernel ``exp(-(x - z)^2 / (2 sigma^2))`` learns.

    Parameters
    ----------
    sigma : float, default=None
        Width of the kernel; each feature's standard deviation if None.

    Examples
    --------
    >>> import numpy as np
    >>> from featgen import FGMClassifier
    >>> X = np.random.default_rng(0).normal(size=(400, 10))
    >>> y = np.abs(X[:, 4]) < 1
    >>> model = FGMClassifier(n_features=1, space="gaussian").fit(X, y)
    >>> list(model.curves_)
    ['x4']
    >>> model.score(X, y) > 0.9
    True
    """

    _learns_curves = True

    def __init__(self, sigma: float | None = None) -> None:
        self.sigma = sigma

    def _describe(self, inputs: Inputs) -> dict[str, Any]:
        return {"sigma": real("sigma", self.sigma)}


_KINDS: dict[str, type[Space]] = {
    "linear": Linear,
    "poly2": Poly2,
    "products": Products,
    "hik": HIK,
    "intersection": Intersection,
    "gaussian": Gaussian,
}


def kind(space: Any) -> type[Space]:
    """The class of a space or of its name; the base class if it is neither."""
    if isinstance(space, str):
        return _KINDS.get(space, Space)
    return type(space) if isinstance(space, Space) else Space


def by_name(space: Space | str) -> Space:
    """The space itself, or that of a name with its default parameters."""
    if isinstance(space, Space):
        return space
    if isinstance(space, str) and space in _KINDS:
        return _KINDS[space]()
    raise ValueError(f"space must be one of {', '.join(map(repr, _KINDS))} or a featgen.Space, not {space!r}")


def named(space: Space) -> Space | str:
    """The name of a space that has its default parameters; any other as it is."""
    for name, kind in _KINDS.items():
        if type(space) is kind and space.get_params() == kind().get_params():
            return name
    return space


def from_settings(settings: Mapping[str, str], only: list[int] | None = None) -> Space:
    """The space of a model file; that of groups as the features they are of."""
    types = {
        "gamma": float,
        "coef0": float,
        "degree": int,
        "min-support": int,
        "levels": int,
        "power": float,
        "sigma": float,
    }
    values = {name.replace("-", "_"): types[name](value) for name, value in settings.items() if name in types}
    if only is not None:
        values["only"] = only
    return _KINDS[settings.get("space", "linear")](**values)


def given_groups(kept: Mapping[str, Any]) -> Any:
    """The groups of a model file as they were given: a path, a dictionary or a list. None if the file does not say."""
    file, lists = kept.get("file"), kept.get("lists")
    if not lists:
        return lists if file is None else file
    return [features for _, features in lists] if lists[0][0] is None else dict(lists)


class Inputs:
    """The inputs of a fit, by number and by name."""

    def __init__(self, count: int, names: list[str] | None) -> None:
        self.count = count
        self.names = names
        self._index: dict[str, int] | None = None
        self._repeated: set[str] = set()

    def some(self, parameter: str, features: Any) -> list[int]:
        """Their indices; features are given by index or by name."""
        if isinstance(features, str) or not _can_be_read_again(features):
            raise ValueError(f"{parameter}: must be a list of features, not {features!r}")
        # Millions of plain numbers are looked at together.
        plain = type(features) is list and set(map(type, features)) == {int}
        if plain and min(features) >= 0 and max(features) < self.count:
            return features
        return [self._one(parameter, feature) for feature in features]

    def _one(self, parameter: str, feature: Any) -> int:
        if isinstance(feature, (int, np.integer)) and not isinstance(feature, bool):
            if not 0 <= feature < self.count:
                raise ValueError(f"{parameter}: no feature {feature}: indices are from 0 to {self.count - 1}")
            return int(feature)
        if self._index is None:
            names = self.names or []
            self._index = {name: i for i, name in enumerate(names)}
            self._repeated = {name for name, count in Counter(names).items() if count > 1}
        if not isinstance(feature, str) or feature not in self._index:
            raise ValueError(f"{parameter}: no feature is called {feature!r}")
        if feature in self._repeated:
            raise ValueError(f"{parameter}: several features are called {feature!r}")
        return self._index[feature]


def _lists(groups: Any, inputs: Inputs) -> Any:
    """Groups as pairs of a name, if there is one, and indices; a file as it is."""
    if isinstance(groups, (str, PathLike)):
        return fspath(groups)
    if isinstance(groups, Mapping):
        return [(str(name), inputs.some("groups", features)) for name, features in groups.items()]
    if not _can_be_read_again(groups):
        raise ValueError(f"groups: must be a dictionary, a list of lists or a path, not {groups!r}")
    return [(None, inputs.some("groups", features)) for features in groups]


def _can_be_read_again(values: Any) -> bool:
    """Whether these are values that the next fit finds again: a generator gives them once."""
    return isinstance(values, Iterable) and not isinstance(values, Iterator)


def _only(only: Any, inputs: Inputs) -> list[int] | None:
    return None if only is None else inputs.some("only", only)
