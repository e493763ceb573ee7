"""Pictures are drawn, and what only they need is only then imported."""

import subprocess
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("Agg")

from featgen import FGMClassifier, plot
from matplotlib import pyplot
from sklearn.exceptions import NotFittedError


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
    with pytest.raises(ValueError, match="nothing was selected"):
        plot.curves(FGMClassifier(space="gaussian").fit(np.zeros((4, 2)), [0, 1, 0, 1]))


@pytest.mark.parametrize("draw", [plot.path, plot.convergence, plot.weights, plot.curves])
def test_nothing_is_drawn_before_a_fit(draw):
    with pytest.raises(NotFittedError):
        draw(FGMClassifier(space="gaussian"))
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize(
    ("draw", "top"),
    [(plot.curves, 0), (plot.curves, -1), (plot.path, -1), (plot.weights, -1), (plot.weights, 1.5)],
)
def test_numbers_that_cannot_be_shown(data, draw, top):
    model = FGMClassifier(n_features=2, space="gaussian").fit(*data)
    with pytest.raises(ValueError, match="top"):
        draw(model, top=top)
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("space", ["linear", "gaussian"])
def test_names_are_shown_as_they_are(data, space):
    X, y = data
    names = [f"$\\frac{{{i}$ \\" for i in range(24)]
    frame = pd.DataFrame(X, columns=names)
    model = FGMClassifier(n_features=3, budget=1, space=space).fit(frame, np.array(["$^$", "$_$"])[y])
    for draw in (plot.path, plot.weights, *([plot.curves] if space == "gaussian" else [])):
        ax = draw(model)
        ax.figure.canvas.draw()
    groups = FGMClassifier(groups={"$\\x$": [2, 5], "$\\y$": [11]}).fit(X, y)
    plot.weights(groups).figure.canvas.draw()


@pytest.mark.parametrize("missing", [[], ["pandas"], ["pandas", "polars"]])
def test_shown_whichever_frames_are_installed(data, monkeypatch, missing):
    X, y = data
    model = FGMClassifier(n_features=2, groups=[[2, 5], [11], [17]]).fit(X, y)
    for package in missing:
        monkeypatch.setitem(sys.modules, package, None)
    kind = {0: "pandas", 1: "polars", 2: "builtins"}[len(missing)]
    assert type(model.selected_).__module__.split(".")[0] == kind
    assert "2 of 3 groups" in model._repr_html_()
    assert len(plot.weights(model).get_yticklabels()) == 3


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
