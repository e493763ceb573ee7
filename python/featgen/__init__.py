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
['concave points error', 'mean fractal dimension', 'mean texture', 'radius error', 'worst concave points']
>>> model.score(X, y) > 0.95
True
"""

from . import plot
from ._featgen import VERSION as __version__
from ._store import Store, convert, open_store
from .estimators import FGMClassifier, FGMSelector, load
from .spaces import HIK, Gaussian, Groups, Intersection, Linear, Poly2, Products, Space, Tree

__all__ = [
    "HIK",
    "FGMClassifier",
    "FGMSelector",
    "Gaussian",
    "Groups",
    "Intersection",
    "Linear",
    "Poly2",
    "Products",
    "Space",
    "Store",
    "Tree",
    "__version__",
    "convert",
    "load",
    "open_store",
    "plot",
]
