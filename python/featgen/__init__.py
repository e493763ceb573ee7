"""Selects the few features that matter out of very many, and proves how good the selection is.

featgen is the Feature Generating Machine of Tan, Tsang and Wang (JMLR 2014): each round finds, exactly, the features
that violate optimality most, and refits. The same search yields a lower bound on the optimum over *all* features, so
that every result comes with a certified gap.

>>> from sklearn.datasets import load_breast_cancer
>>> from featgen import FGMClassifier
>>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
>>> X = (X - X.mean()) / X.std()
>>> model = FGMClassifier(n_features=5, budget=1).fit(X, y)
>>> sorted(model.get_feature_names_out())
['radius error', 'worst concave points', 'worst radius', 'worst smoothness', 'worst texture']
>>> model.score(X, y) > 0.95
True
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from ._featgen import VERSION as __version__

if TYPE_CHECKING:
    from . import plot
    from ._anndata import convert_anndata
    from ._files import load, save
    from ._frames import TableWarning
    from ._report import Page, report
    from ._store import Store, convert, open_store
    from .estimators import FGMClassifier, FGMRegressor, FGMSelector, FGMSurvival
    from .spaces import HIK, Gaussian, Groups, Intersection, Linear, Poly2, Products, Space, Tree
    from .validated import FGMClassifierCV, FGMRegressorCV, FGMSurvivalCV

__all__ = [
    "HIK",
    "FGMClassifier",
    "FGMClassifierCV",
    "FGMRegressor",
    "FGMRegressorCV",
    "FGMSelector",
    "FGMSurvival",
    "FGMSurvivalCV",
    "Gaussian",
    "Groups",
    "Intersection",
    "Linear",
    "Page",
    "Poly2",
    "Products",
    "Space",
    "Store",
    "TableWarning",
    "Tree",
    "__version__",
    "convert",
    "convert_anndata",
    "load",
    "open_store",
    "plot",
    "report",
    "save",
]

#: Where things are. They are imported when they are asked for: the command, which is part of the package, must not wait
#: for scikit-learn.
_HOMES = {
    "_anndata": ("convert_anndata",),
    "_files": ("load", "save"),
    "_frames": ("TableWarning",),
    "_report": ("Page", "report"),
    "_store": ("Store", "convert", "open_store"),
    "estimators": ("FGMClassifier", "FGMRegressor", "FGMSelector", "FGMSurvival"),
    "spaces": (
        "HIK",
        "Gaussian",
        "Groups",
        "Intersection",
        "Linear",
        "Poly2",
        "Products",
        "Space",
        "Tree",
    ),
    "validated": ("FGMClassifierCV", "FGMRegressorCV", "FGMSurvivalCV"),
}


def __getattr__(name: str) -> Any:
    if name in ("estimators", "plot", "spaces"):
        return _import_module(f".{name}", __name__)
    for module, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(_import_module(f".{module}", __name__), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "estimators", "spaces"})
