"""Pictures are drawn, and what only they need is only then imported."""

import subprocess
import sys

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

from featgen import FGMClassifier, plot
from matplotlib import pyplot


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def models(data):
    X, y = data
    return {
        "usual": FGMClassifier(n_features=15, budget=2).fit(X, y),
        "one round": FGMClassifier(n_features=1).fit(X, y),
        "products": FGMClassifier(n_features=4, space="poly2").fit(X, y),
        "groups": FGMClassifier(groups=[[2, 5], [11, 17]]).fit(X, y),
        "curves": FGMClassifier(n_features=2, space="gaussian").fit(X, y),
        "nothing": FGMClassifier().fit(np.zeros((4, 2)), [0, 1, 0, 1]),
    }


@pytest.mark.parametrize("draw", [plot.path, plot.convergence, plot.weights])
def test_pictures(data, draw):
    for model in models(data).values():
        ax = draw(model)
        ax.figure.canvas.draw()
        assert (ax.get_xlabel() and ax.get_ylabel()) or draw is plot.weights
        _, given = pyplot.subplots()
        assert draw(model, ax=given) is given


def test_path_names_the_largest(data):
    model = FGMClassifier(n_features=15, budget=2).fit(*data)
    ax = plot.path(model, top=3)
    assert {text.get_text() for text in ax.texts} == set(model.selected_["feature"][:3])
    assert len(ax.lines) == len(model.path_.features) + 1


def test_convergence_has_both_lines(data):
    model = FGMClassifier(n_features=15, budget=2).fit(*data)
    ax = plot.convergence(model)
    objective, bound = ax.lines
    np.testing.assert_array_equal(objective.get_ydata(), model.path_.objective)
    np.testing.assert_array_equal(bound.get_ydata(), model.path_.lower_bound)


def test_weights_are_bars(data):
    model = FGMClassifier(n_features=15, budget=2).fit(*data)
    ax = plot.weights(model, top=5)
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], model.selected_["weight"][:5])
    assert ax.get_title() == "5 largest of 15"


def test_curves(data):
    X, y = data
    model = FGMClassifier(n_features=3, space="gaussian").fit(X, y)
    ax = plot.curves(model, top=2)
    assert [panel.get_title() for panel in ax.child_axes] == list(model.curves_)[:2]
    with pytest.raises(ValueError, match="not curves"):
        plot.curves(FGMClassifier().fit(X, y))


def test_imports_are_lean():
    """Of what is not needed, nothing that scikit-learn does not import by itself."""
    program = (
        "import sys, sklearn.base, sklearn.feature_selection\n"
        "packages = {'matplotlib', 'pandas', 'polars', 'pyarrow', 'IPython'} - sys.modules.keys()\n"
        "import featgen, featgen.plot\n"
        "print(sorted(packages & sys.modules.keys()), 'matplotlib' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "[] False\n"
