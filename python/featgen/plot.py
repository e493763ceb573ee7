"""Pictures of fitted models. Each function draws into given axes, or new ones, and returns them.

matplotlib is only imported when something is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .estimators import _Machine

__all__ = ["convergence", "curves", "path", "weights"]

_BLUE, _ORANGE, _GREY = "#1f6fb2", "#d9730d", "#9aa0a6"


def path(model: _Machine, ax: Axes | None = None, top: int = 10) -> Axes:
    """Weights against the number of features, over the rounds of the run.

    Parameters
    ----------
    model : FGMClassifier or FGMSelector
        Fitted.
    ax : matplotlib axes, default=None
        Where to draw; new axes if None.
    top : int, default=10
        How many features are named, those of the largest final weights.

    Returns
    -------
    ax : matplotlib axes
        The axes drawn into.
    """
    ax = _axes(ax)
    points = model.path_
    coef = points.coef.toarray() if sp.issparse(points.coef) else points.coef
    largest = np.argsort(-np.abs(coef[-1]), kind="stable")[:top] if len(coef) else ()
    named = [k for k in largest if coef[-1, k] != 0]
    for k in range(coef.shape[1]):
        if k not in named:
            ax.plot(points.n_features, coef[:, k], color=_GREY, linewidth=0.6, alpha=0.6)
    for k in named:
        ax.plot(points.n_features, coef[:, k], linewidth=1.4)
    if named:
        _name_lines(ax, points.n_features[-1], [(coef[-1, k], points.features[k]) for k in named])
    ax.axhline(0, color="black", linewidth=0.5)
    ax.set_xlabel("features with weight")
    ax.set_ylabel("weight")
    ax.set_title("path")
    return ax


def convergence(model: _Machine, ax: Axes | None = None) -> Axes:
    """The objective and the lower bound on the optimum, round by round: what lies between is the certified gap.

    Parameters
    ----------
    model : FGMClassifier or FGMSelector
        Fitted.
    ax : matplotlib axes, default=None
        Where to draw; new axes if None.

    Returns
    -------
    ax : matplotlib axes
        The axes drawn into.
    """
    ax = _axes(ax)
    points = model.path_
    rounds = np.arange(1, len(points.objective) + 1)
    ax.fill_between(rounds, points.lower_bound, points.objective, color=_GREY, alpha=0.25, linewidth=0)
    ax.plot(rounds, points.objective, color=_BLUE, marker=".", label="objective")
    ax.plot(rounds, points.lower_bound, color=_ORANGE, marker=".", linestyle="--", label="lower bound")
    ax.set_xlabel("round")
    ax.set_ylabel("objective")
    ax.locator_params(axis="x", integer=True)
    ax.set_title(f"gap {100 * model.gap_:.3g} %")
    ax.legend(frameon=False)
    return ax


def weights(model: _Machine, ax: Axes | None = None, top: int = 20) -> Axes:
    """The largest weights as bars.

    Parameters
    ----------
    model : FGMClassifier or FGMSelector
        Fitted.
    ax : matplotlib axes, default=None
        Where to draw; new axes if None.
    top : int, default=20
        How many are shown.

    Returns
    -------
    ax : matplotlib axes
        The axes drawn into.
    """
    ax = _axes(ax)
    table = model.selected_
    names, values = list(table["feature"])[:top], np.asarray(table["weight"])[:top]
    places = np.arange(len(names))
    ax.barh(places, values, color=[_BLUE if value > 0 else _ORANGE for value in values])
    ax.set_yticks(places, names)
    ax.invert_yaxis()
    ax.axvline(0, color="black", linewidth=0.5)
    ax.set_xlabel("weight")
    ax.set_title(
        f"{len(names)} largest of {model.n_selected_}" if model.n_selected_ > len(names) else "weights"
    )
    return ax


def curves(model: _Machine, ax: Axes | None = None, top: int = 6) -> Axes:
    """The curves of an additive model: what a feature adds to the decision value, by its value.

    Parameters
    ----------
    model : FGMClassifier or FGMSelector
        Fitted in a space that learns curves, such as ``"gaussian"``.
    ax : matplotlib axes, default=None
        Where to draw; new axes if None.
    top : int, default=6
        How many are shown.

    Returns
    -------
    ax : matplotlib axes
        The axes drawn into.
    """
    if not model.curves_:
        raise ValueError(
            "the model has weights, not curves: its space is none of hik, intersection and gaussian"
        )
    ax = _axes(ax)
    for name, points in list(model.curves_.items())[:top]:
        ax.plot(points[:, 0], points[:, 1], label=name)
    ax.axhline(0, color="black", linewidth=0.5)
    ax.set_xlabel("value of the feature")
    ax.set_ylabel("added to the decision value")
    ax.legend(frameon=False)
    return ax


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]


def _name_lines(ax: Axes, x: float, ends: list[tuple[float, Any]]) -> None:
    """Names beside the ends of lines, moved apart where they would overlap."""
    low, high = ax.get_ylim()
    step = 0.045 * (high - low)
    at = -np.inf
    for value, name in sorted(ends):
        at = max(value, at + step)
        ax.annotate(
            str(name),
            (x, value),
            (6, 0),
            xycoords="data",
            textcoords="offset points",
            fontsize=8,
            va="center",
        ).set_position((6, (at - value) / (high - low) * ax.bbox.height * 72 / ax.figure.dpi))
    ax.set_xlim(right=x + 0.02 * max(x, 1))
