"""Who proposes features: spaces to search for them in.

A space is given to an estimator as an object or, with default parameters, by its name: ``space=Poly2(gamma=0.5)`` or
``space="poly2"``. Its parameters can be searched over as those of other nested estimators, ``space__gamma`` say.
"""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from numbers import Integral, Real
from os import PathLike, fspath
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ._checks import one_of, truth
from ._described import GROUP_WEIGHTS, SPACES, TREE_FORMATS, Kind, Parameter

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


#: The classes of spaces, by what the engine calls them.
_KINDS: dict[str, type[Space]] = {}


class Space(BaseEstimator):
    """Base class of all spaces.

    A subclass says what the engine calls its space, ``class Poly2(Space, engine="poly2")``, and has the parameters that
    the engine says the space has.
    """

    #: What the engine says of the space.
    _kind: Kind = SPACES["linear"]

    #: Whether features are made that are not among the inputs, such as products.
    _generates = False

    #: Whether a feature has a curve instead of a weight.
    _learns_curves = False

    #: Whether values below 0 are refused.
    _wants_no_negatives = False

    def __init_subclass__(cls, engine: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if engine is not None:
            cls._kind = SPACES[engine]
            cls._generates = cls._kind.generates
            cls._learns_curves = cls._kind.learns_curves
            cls._wants_no_negatives = not cls._kind.takes_negative
            _KINDS[engine] = cls

    def _describe(self, inputs: Inputs) -> dict[str, Any]:
        """What the engine is told about a search over these inputs."""
        values = [(p.id, _told(p, getattr(self, p.name), inputs)) for p in self._kind.parameters]
        return {
            "space": self._kind.name,
            "values": [(id, value) for id, value in values if value is not None],
            "grouping": self._grouping(inputs),
        }

    def _grouping(self, inputs: Inputs) -> dict[str, Any] | None:
        """The groups, where there are groups."""
        return None


def _told(parameter: Parameter, value: Any, inputs: Inputs) -> str | list[int] | None:
    """A value as the engine is told it: features as indices, numbers as text, whose range it looks at."""
    if value is None and parameter.default is None:
        return None
    if parameter.kind == "features":
        return inputs.some(parameter.name, value)
    if isinstance(value, Integral) and not isinstance(value, bool) and parameter.kind == "whole":
        return str(max(-sys.maxsize, min(int(value), sys.maxsize)))
    if isinstance(value, Real) and not isinstance(value, bool) and parameter.kind == "real":
        with suppress(OverflowError):
            return repr(float(value))
    raise ValueError(f"{parameter.name}: must be {parameter.range}, not {value!r}")


class Linear(Space, engine="linear"):
    """The input features as they are.

    Examples
    --------
    >>> from featgen import FGMClassifier, Linear
    >>> FGMClassifier(space=Linear())
    FGMClassifier(space=Linear())
    """


class Groups(Space):
    """Groups of input features, selected as a whole. Groups may overlap.

    Parameters
    ----------
    groups : dict, list of lists, or path
        Which features belong together: by group name, or one list a group; features by index or by name. Or a file of
        groups as the command line reads it: ``name: 3 5 9-12``, counted from 1, or pathways (``.gmt``), of whose genes
        those that the data lack are skipped.
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

    def _grouping(self, inputs: Inputs) -> dict[str, Any]:
        lists, singletons = _lists(self.groups, inputs), truth("singletons", self.singletons)
        if not lists and not singletons:
            raise ValueError("groups: there must be at least one group")
        return {
            "groups": lists,
            "tree": False,
            "format": None,
            "weight": one_of("weight", self.weight, GROUP_WEIGHTS),
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
    format : {"lists", "parents", "newick", "paths", "gmt"} or None, default=None
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

    def _grouping(self, inputs: Inputs) -> dict[str, Any]:
        if self.format is not None:
            one_of("format", self.format, TREE_FORMATS)
        return {**super()._grouping(inputs), "tree": True, "format": self.format}


class Poly2(Space, engine="poly2"):
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

    def __init__(self, gamma: float = 1.0, coef0: float = 1.0, only: Any = None) -> None:
        self.gamma = gamma
        self.coef0 = coef0
        self.only = only


class Products(Space, engine="products"):
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

    def __init__(self, degree: int = 2, min_support: int = 1, only: Any = None) -> None:
        self.degree = degree
        self.min_support = min_support
        self.only = only


class HIK(Space, engine="hik"):
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

    def __init__(self, levels: int = 100) -> None:
        self.levels = levels


class Intersection(Space, engine="intersection"):
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

    def __init__(self, levels: int = 100, power: float = 1.0) -> None:
        self.levels = levels
        self.power = power


class Gaussian(Space, engine="gaussian"):
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

    def __init__(self, sigma: float | None = None) -> None:
        self.sigma = sigma


def made(kind: Kind) -> type[Space]:
    """A class for a space of the engine that has none above: its parameters are those that the engine says."""

    class Made(Space, engine=kind.name):
        def __init__(self, **values: Any) -> None:
            for parameter in kind.parameters:
                setattr(self, parameter.name, values.pop(parameter.name, parameter.default))
            if values:
                raise TypeError(f"{kind.name} has no parameter {', '.join(values)}")

    # Where scikit-learn looks for parameters, and people for help.
    told = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)]
    told += [
        inspect.Parameter(parameter.name, inspect.Parameter.KEYWORD_ONLY, default=parameter.default)
        for parameter in kind.parameters
    ]
    Made.__init__.__signature__ = inspect.Signature(told)  # type: ignore[attr-defined]
    Made.__name__ = Made.__qualname__ = kind.name.capitalize()
    lines = [f"{kind.help}.", "", "Parameters", "----------"]
    for parameter in kind.parameters:
        lines += [
            f"{parameter.name} : default={parameter.default!r}",
            f"    {parameter.help}: {parameter.range}",
        ]
    Made.__doc__ = "\n".join(lines)
    return Made


for _said in SPACES.values():
    if _said.name not in _KINDS:
        globals()[_said.name.capitalize()] = made(_said)


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
    space = _KINDS.get(settings.get("space", "linear"), Space)
    number = {"whole": int, "real": float}
    values: dict[str, Any] = {
        parameter.name: number[parameter.kind](settings[parameter.id])
        for parameter in space._kind.parameters
        if parameter.kind in number and parameter.id in settings
    }
    if only is not None:
        values["only"] = only
    return space(**values)


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
        #: What the columns of the data are called, and the inputs made of each, if they are not the inputs themselves.
        self.columns = names
        self.made: list[list[int]] | None = None
        self._index: dict[str, int] | None = None
        self._repeated: set[str] = set()

    def some(self, parameter: str, features: Any) -> list[int]:
        """Their indices; features are given by index or by name."""
        if isinstance(features, str) or not _can_be_read_again(features):
            raise ValueError(f"{parameter}: must be a list of features, not {features!r}")
        return self._each(parameter, features)

    def _each(self, parameter: str, features: Any) -> list[int]:
        # Millions of plain numbers are looked at together.
        plain = type(features) is list and set(map(type, features)) == {int}
        if plain and min(features) >= 0 and max(features) < self.count:
            return features
        return [self.one(parameter, feature) for feature in features]

    def kept(self, column: Any) -> list[int]:
        """The indices of a column that is to be kept, given by index, from the end too, or by name."""
        if isinstance(column, str):
            if column not in self.indices():
                raise ValueError(f"keep: no column is called {column!r}")
            return [self.indices()[column]]
        if not isinstance(column, (int, np.integer)) or isinstance(column, bool):
            raise ValueError(f"keep: must be indices or names of columns, not {column!r}")
        if not -self.count <= column < self.count:
            raise ValueError(f"keep: no column {column}: there are {self.count}")
        return [int(column) % self.count]

    def one(self, parameter: str, feature: Any) -> int:
        """The index of a feature, given by index or by name."""
        if isinstance(feature, (int, np.integer)) and not isinstance(feature, bool):
            if not 0 <= feature < self.count:
                raise ValueError(f"{parameter}: no feature {feature}: indices are from 0 to {self.count - 1}")
            return int(feature)
        index = self.indices()
        if not isinstance(feature, str) or feature not in index:
            raise ValueError(f"{parameter}: no feature is called {feature!r}")
        if feature in self._repeated:
            raise ValueError(f"{parameter}: several features are called {feature!r}")
        return index[feature]

    def indices(self) -> dict[str, int]:
        """Where each name is, the last of those that are the same."""
        if self._index is None:
            names = self.names or []
            self._index = {name: i for i, name in enumerate(names)}
            self._repeated = {name for name, count in Counter(names).items() if count > 1}
        return self._index


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
