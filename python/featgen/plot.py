"""Pictures of fitted models. Each function draws into given axes, or new ones, and returns them.

Blue speaks for the second class, orange for the first. matplotlib is only imported when something is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ._checks import given, integer
from ._text import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._machine import Machine

__all__ = ["convergence", "curves", "path", "weights"]

#: Told apart by everybody (Okabe and Ito); lines beyond these are dashed, then dotted.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_STYLES = ("-", "--", ":")
_BLUE, _ORANGE = _COLOURS[:2]
_GREY = "#9aa0a6"

#: Of names, in points.
_SMALL = 8

#: Of texts with names in them: a $ is a $.
_AS_IT_IS: dict[str, Any] = {"parse_math": False}


def path(model: Machine, ax: Axes | None = None, top: int = 10) -> Axes:
    """Weights against the number of features, over the rounds of the run.

    Of several rounds with the same number of features the last is shown, as :meth:`FGMClassifier.at` takes it. Where
    groups or curves are selected, a line is the length of the vector of their weights.

    Parameters
    ----------
    model : FGMClassifier or FGMSelector
        Fitted.
    ax : matplotlib axes, default=None
        Where to draw; new axes if None.
    top : int, default=10
        How many features are named, at most: those of the largest final weights. The others are grey.

    Returns
    -------
    ax : matplotlib axes
        The axes drawn into.

    Examples
    --------
    >>> import numpy as np
    >>> from featgen import FGMClassifier, plot
    >>> X = np.random.default_rng(0).normal(size=(100, 50))
    >>> model = FGMClassifier(n_features=5, budget=1).fit(X, X[:, 3] + X[:, 7] > 0)
    >>> plot.path(model).get_title()
    '5 of 50 features in 5 rounds'
    """
    top = _at_least(0, top)
    counts, lines, names = _path(model)
    ax = _axes(ax)
    final = lines[-1] if len(lines) else np.zeros(0)
    order = np.argsort(-np.abs(final), kind="stable")
    order = order[final[order] != 0]
    ax.axhline(0, color="black", linewidth=0.5)
    for k in np.setdiff1d(np.arange(lines.shape[1]), order[:top]):
        ax.plot(counts, _alive(lines[:, k]), color=_GREY, linewidth=0.6, alpha=0.7)
    ends = []
    for rank, k in enumerate(order[:top]):
        style = _STYLES[rank // len(_COLOURS) % len(_STYLES)]
        colour = _COLOURS[rank % len(_COLOURS)]
        ax.plot(counts, _alive(lines[:, k]), style, color=colour, linewidth=1.5, marker=".", markersize=4)
        ends.append((final[k], names[k], colour))
    groups = _grouped(model)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel(f"{_unit(model)} that carry weight")
    lengths = groups or model._terms["weights"].shape[1] > 1
    ax.set_ylabel("length of their weights" if lengths else "weight")
    ax.set_title(f"{_selected(model)} in {model.n_iter_} round{'s' * (model.n_iter_ != 1)}")
    if ends:
        _name_ends(ax, counts[-1], ends)
    return ax


def convergence(model: Machine, ax: Axes | None = None) -> Axes:
    """The objective and the lower bound on the optimum, round by round: what lies between is the certified gap.

    Where C had to be raised to reach the number of features asked for, objective and bound jump; dotted lines mark
    these places.

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

    Examples
    --------
    >>> import numpy as np
    >>> from featgen import FGMClassifier, plot
    >>> X = np.random.default_rng(0).normal(size=(100, 50))
    >>> model = FGMClassifier(C=0.01, gap=0.05).fit(X, X[:, 3] + X[:, 7] > 0)
    >>> plot.convergence(model).get_xlabel()
    'round'
    """
    check_is_fitted(model)
    ax = _axes(ax)
    rounds = np.arange(1, model.n_iter_ + 1)
    objective, bound, cost = (
        np.array([round[name] for round in model.rounds_]) for name in ("objective", "lower_bound", "cost")
    )
    raised = np.flatnonzero(np.diff(cost)) + 1
    for part in np.split(np.arange(len(rounds)), raised):
        ax.fill_between(rounds[part], bound[part], objective[part], color=_GREY, alpha=0.25, linewidth=0)
        ax.plot(rounds[part], objective[part], "-", color=_BLUE, marker=".")
        ax.plot(rounds[part], bound[part], "--", color=_ORANGE, marker=".")
    for place in raised:
        ax.axvline(place + 0.5, color=_GREY, linewidth=0.8, linestyle=":")
    if len(rounds) == 1:
        ax.vlines(rounds, bound, objective, color=_GREY, alpha=0.5, linewidth=6)
    if len(raised) and min(bound) > 0:
        ax.set_yscale("log")
    else:
        ax.set_ylim(bottom=min([0.0, *bound]))
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel(
        "round" if not len(raised) else f"round (dotted: C raised, from {cost[0]:.4g} to {cost[-1]:.4g})"
    )
    ax.set_ylabel("objective")
    best = "The best choice" if model._facts["select"] == "best" else "The optimum"
    ax.set_title(f"{best} lies at most {percent(model.gap_)} below")
    if len(rounds):
        ends = [(objective[-1], "objective", _BLUE), (bound[-1], "lower bound", _ORANGE)]
        _name_ends(ax, rounds[-1], ends)
    return ax


def weights(model: Machine, ax: Axes | None = None, top: int = 20) -> Axes:
    """The largest weights as bars.

    Parameters
    ----------
    model : FGMClassifier or FGMSelector
        Fitted.
    ax : matplotlib axes, default=None
        Where to draw; new axes if None.
    top : int, default=20
        How many are shown, at most.

    Returns
    -------
    ax : matplotlib axes
        The axes drawn into.

    Examples
    --------
    >>> import numpy as np
    >>> from featgen import FGMClassifier, plot
    >>> X = np.random.default_rng(0).normal(size=(100, 50))
    >>> model = FGMClassifier(n_features=5, budget=1).fit(X, X[:, 3] + X[:, 7] > 0)
    >>> plot.weights(model, top=3).get_title()
    '3 largest of 5'
    """
    top = _at_least(0, top)
    table = model._selection()
    values = table["weight"]
    names = [_short(name) for name in table["feature"][:top]]
    if "group" in table:
        names = [f"{name} ({_short(group, 16)})" for name, group in zip(names, table["group"])]
    shown = values[:top]
    ax = _axes(ax, height=1.1 + 0.24 * len(names))
    places = np.arange(len(names))
    ax.barh(places, shown, height=0.7, color=[_BLUE if value > 0 else _ORANGE for value in shown])
    ax.set_yticks(places, names, **_AS_IT_IS)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.axvline(0, color="black", linewidth=0.5)
    if model.curves_:
        ax.set_xlabel("length of the curve's weights")
    else:
        ends = _ends(model, 20)
        sides = f" (\N{LEFTWARDS ARROW} {ends[0]}, {ends[1]} \N{RIGHTWARDS ARROW})" if ends else ""
        many = model._terms["weights"].shape[1] > 1
        ax.set_xlabel("length of the weights of all classes" if many else f"weight{sides}", **_AS_IT_IS)
    more = len(values) > len(names)
    ax.set_title(f"{len(names)} largest of {len(values)}" if more else _selected(model))
    return ax


def curves(model: Machine, ax: Axes | None = None, top: int = 6) -> Axes:
    """The curves of an additive model: what a feature adds to the decision value, by its value.

    Each curve has a panel of its own, for features have their own units; all have the same height, so that they can be
    compared. Above the line a value speaks for the second class, below it for the first.

    Parameters
    ----------
    model : FGMClassifier or FGMSelector
        Fitted in a space that learns curves, such as ``"gaussian"``.
    ax : matplotlib axes, default=None
        Where to draw; new axes if None.
    top : int, default=6
        How many are shown, at most.

    Returns
    -------
    ax : matplotlib axes
        The axes drawn into; the panels are its ``child_axes``.

    Examples
    --------
    >>> import numpy as np
    >>> from featgen import FGMClassifier, plot
    >>> X = np.random.default_rng(0).normal(size=(400, 10))
    >>> model = FGMClassifier(n_features=1, space="gaussian").fit(X, np.abs(X[:, 4]) < 1)
    >>> [panel.get_title() for panel in plot.curves(model).child_axes]
    ['x4']
    """
    top = _at_least(1, top)
    found = list(model.curves_.items())
    if not model._searched()._learns_curves:
        raise ValueError(
            "the model has weights, not curves: its space is none of hik, intersection and gaussian"
        )
    if not found:
        raise ValueError("nothing was selected: there are no curves to draw")
    found = found[:top]
    across = min(3, len(found))
    down = -(-len(found) // across)
    ax = _axes(ax, height=1.1 + 1.7 * down)
    ax.spines[:].set_visible(False)
    ax.set_xticks([])
    ax.set_yticks([])
    width, height = 1 / (across + 0.15 * (across - 1)), 1 / (down + 0.45 * (down - 1))
    low, high = (1.08 * end(0.0, *(end(points[:, 1:].ravel()) for _, points in found)) for end in (min, max))
    many = found[0][1].shape[1] > 2
    panels: list[Axes] = []
    for k, (name, points) in enumerate(found):
        row, column = divmod(k, across)
        place = (1.15 * width * column, 1.45 * height * (down - 1 - row), width, height)
        panel = ax.inset_axes(place, sharey=panels[0] if panels else None)
        panel.axhline(0, color="black", linewidth=0.5)
        if many:
            for name_of, values in zip(model.classes_.tolist(), points[:, 1:].T):
                panel.plot(points[:, 0], values, linewidth=1.4, label=_short(str(name_of), 12))
        else:
            panel.axhspan(0, high, color=_BLUE, alpha=0.12, linewidth=0)
            panel.axhspan(low, 0, color=_ORANGE, alpha=0.12, linewidth=0)
            panel.plot(points[:, 0], points[:, 1], color="black", linewidth=1.4)
        panel.set_ylim(low, high)
        panel.set_title(_short(name, 26), fontsize=_SMALL + 1, **_AS_IT_IS)
        panel.tick_params(labelsize=_SMALL, labelleft=column == 0)
        panel.locator_params(axis="x", nbins=5)
        panel.spines[["top", "right"]].set_visible(False)
        panels.append(panel)
    if many:
        panels[-1].legend(fontsize=_SMALL)
    ends = _ends(model, 12)
    ax.set_xlabel("value of the feature", labelpad=18)
    sides = (
        f"{ends[0]} \N{LEFTWARDS ARROW} decision \N{RIGHTWARDS ARROW} {ends[1]}" if ends else "decision value"
    )
    ax.set_ylabel(sides, labelpad=30, **_AS_IT_IS)
    return ax


def _ends(model: Machine, width: int) -> list[str] | None:
    """What small and large decision values mean: two classes; None if that is not two names."""
    output = model._facts["output"]
    if output == "risk":
        return ["later", "sooner"]
    if output != "classes" or model._terms["weights"].shape[1] > 1:
        return None
    return [_short(str(c), width) for c in model.classes_.tolist()]


def _axes(ax: Axes | None, height: float = 4.2) -> Axes:
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(6.4, height), layout="constrained")[1]


def _at_least(least: int, top: Any) -> int:
    """How many are shown, at most."""
    most = given("top", integer("top", top))
    if most < least:
        raise ValueError(f"top: must be at least {least}, not {most}")
    return int(most)


def _grouped(model: Machine) -> bool:
    """Whether what is selected has many weights: a group, or a curve."""
    return bool(model._terms["groups"])


def _unit(model: Machine) -> str:
    return "groups" if _grouped(model) and not model.curves_ else "features"


def _selected(model: Machine) -> str:
    return f"{model.n_selected_:,} of {model.n_candidates_:,} {_unit(model)}"


def _short(name: Any, most: int = 32) -> str:
    """A name with its middle left out if it is long."""
    name = str(name)
    return (
        name
        if len(name) <= most
        else f"{name[: most // 2]}\N{HORIZONTAL ELLIPSIS}{name[most // 2 + 1 - most :]}"
    )


def _path(model: Machine) -> tuple[NDArray[Any], NDArray[Any], list[str]]:
    """Numbers of features, and for each the weights of what was selected on the way, with their names."""
    points = model.path_
    last = {count: round for round, count in enumerate(points.n_features.tolist())}
    counts = np.array(sorted(last))
    rows = [last[count] for count in counts.tolist()]
    several = isinstance(points.coef, list) or points.coef.ndim == 3
    each = (
        points.coef
        if isinstance(points.coef, list)
        else np.moveaxis(points.coef, 1, 0)
        if several
        else [points.coef]
    )
    outputs = [coef[rows].toarray() if sp.issparse(coef) else coef[rows] for coef in each]
    # Of several classes, a line is the length of the vector of their weights.
    lines = np.sqrt(sum(coef**2 for coef in outputs)) if several else outputs[0]
    if not _grouped(model):
        return counts, lines, list(points.features)
    names = model._terms["groups"]
    lengths = np.zeros((len(counts), len(names)))
    for k, group in enumerate(model._terms["group"]):
        lengths[:, group] = np.hypot(lengths[:, group], lines[:, k])
    return counts, lengths, names


def _alive(line: NDArray[Any]) -> NDArray[Any]:
    """The line without its parts that are 0, which would lie over each other."""
    used = line != 0
    beside = np.append(used[1:], False) | np.insert(used[:-1], 0, False)
    return np.where(used | beside, line, np.nan)


def _name_ends(ax: Axes, x: float, ends: list[tuple[float, Any, str]]) -> None:
    """Names on the right, tied to the ends of their lines and moved apart where they would overlap."""
    ax.margins(x=0.03)
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    ax.set_ylim(ax.get_ylim())
    points = ax.bbox.height * 72 / ax.figure.dpi
    step = 1.3 * _SMALL / points
    ends = sorted(ends[: max(1, int(1 / step))], key=lambda end: end[0])
    places = ax.transData.transform([(x, value) for value, _, _ in ends])
    wanted = ax.transAxes.inverted().transform(places)[:, 1]
    for (value, name, colour), place in zip(ends, _apart(wanted, step)):
        ax.annotate(
            _short(name),
            (x, value),
            (1.06, place),
            textcoords="axes fraction",
            fontsize=_SMALL,
            va="center",
            **_AS_IT_IS,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 2},
        )


def _apart(wanted: NDArray[Any], step: float) -> NDArray[Any]:
    """Places at least ``step`` apart within 0 and 1, in the same order, as near to the wanted ones as can be."""
    shifts = step * np.arange(len(wanted))
    blocks: list[list[float]] = []
    for value in wanted - shifts:
        blocks.append([value])
        while len(blocks) > 1 and np.mean(blocks[-2]) > np.mean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    even = np.array([mean for block in blocks for mean in [np.mean(block)] * len(block)])
    room = max(1 - step * (len(wanted) - 1), 0)
    return np.clip(even, 0, room) + shifts
