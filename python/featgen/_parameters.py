"""Parameters of the estimators as the engine is told them, and back from what a model keeps of them.

A parameter that is None is left to the engine, the one place where defaults are decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from joblib import cpu_count, effective_n_jobs

from . import spaces
from ._checks import given, integer, one_of, path, real, share, truth
from ._described import IMPUTES, LOSSES, SCALINGS, SELECTS, SOLVERS

#: The gap of a proof that is asked for without one.
_PROVEN = 0.01

#: The cost of the paper's rounds if none is given.
_PAPER_COST = 10.0


def options(estimator: Any) -> dict[str, Any]:
    """What the engine is told about a run."""
    return {
        "n_features": integer("n_features", estimator.n_features),
        "budget": integer("budget", estimator.budget),
        "cost": real("C", estimator.C),
        "select": None if estimator.select is None else one_of("select", estimator.select, SELECTS),
        "exchange": integer("exchange", estimator.exchange),
        "prove": _proof(estimator.prove),
        "fdr": share("fdr", estimator.fdr),
        "stability": integer("stability", estimator.stability),
        "stand_ins": real("stand_ins", estimator.stand_ins),
        "seed": integer("random_state", given("random_state", estimator.random_state)),
        "time_limit": real("time_limit", estimator.time_limit),
        "scale": None if estimator.scale is None else one_of("scale", estimator.scale, SCALINGS),
        **_loss(estimator),
        "max_rounds": integer("max_rounds", estimator.max_rounds),
        "tol": real("tol", estimator.tol),
        "inner_tol": real("inner_tol", given("inner_tol", estimator.inner_tol)),
        "gap": share("gap", estimator.gap),
        "debias": real("debias", estimator.debias),
        "solver": one_of("solver", estimator.solver, SOLVERS),
        "threads": _threads(estimator.n_jobs),
        "checkpoint": path("checkpoint", estimator.checkpoint),
    }


def columns(estimator: Any) -> dict[str, Any]:
    """How the columns of a frame are to be taken."""
    impute = estimator.impute
    return {
        **{name: getattr(estimator, name) for name in ("ignore", "category", "number", "id")},
        "impute": None if impute is None else one_of("impute", impute, IMPUTES),
        "most_levels": integer("most_levels", estimator.most_levels),
    }


def _proof(prove: Any) -> float | None:
    """The gap that a proof is to come to. True asks for one without saying which."""
    if isinstance(prove, (bool, np.bool_)):
        return _PROVEN if prove else None
    return share("prove", prove)


def _loss(estimator: Any) -> dict[str, Any]:
    """The loss, its parameter, and whether it has an intercept. Survival analysis has one loss and no intercept."""
    loss = one_of("loss", getattr(estimator, "loss", "cox"), estimator._losses)
    delta = real("delta", given("delta", getattr(estimator, "delta", 1.35)))
    return {
        "loss": LOSSES[loss][0],
        "delta": delta if loss == "huber" else None,
        "fit_intercept": truth("fit_intercept", getattr(estimator, "fit_intercept", True)),
    }


def output(loss: str) -> str:
    """What the decision values of a loss, as the engine calls it, say: classes, number, rate or risk."""
    return dict(LOSSES.values())[loss]


def space(estimator: Any) -> spaces.Space:
    """The space that ``space``, ``groups`` and ``tree`` describe."""
    tree = truth("tree", estimator.tree)
    if estimator.groups is None:
        if tree:
            raise ValueError("tree=True says that groups form a tree: groups must be given")
        return spaces.by_name(estimator.space)
    if not (estimator.space == "linear" or isinstance(estimator.space, spaces.Linear)):
        raise ValueError("groups are of the features as they are: space must be 'linear'")
    return spaces.Tree(estimator.groups) if tree else spaces.Groups(estimator.groups)


def from_facts(facts: dict[str, Any], classes: Sequence[Any]) -> dict[str, Any]:
    """The parameters of the run that made a model: a fit with them makes it again."""
    kept = facts["parameters"]
    names = (
        "n_features",
        "select",
        "exchange",
        "prove",
        "fdr",
        "stability",
        "stand_ins",
        "random_state",
        "time_limit",
        "scale",
        "budget",
        "fit_intercept",
        "max_rounds",
        "tol",
        "inner_tol",
        "gap",
        "debias",
        "solver",
    )
    parameters = {name: kept[name] for name in names if name in kept}
    # Older files have what the run came to, not what was asked for.
    parameters.setdefault("budget", facts["budget"])
    by_default = parameters.get("select") is None and parameters.get("gap") is None
    if by_default and parameters.get("n_features") is not None and facts["select"] == "paper":
        # As it was when older files were made.
        parameters["select"] = "paper"
    weights = kept.get("class_weight")
    if weights is not None:
        parameters["class_weight"] = weights if weights == "balanced" else dict(zip(classes, weights))
    if "delta" in kept.get("loss", {}):
        parameters["delta"] = float(kept["loss"]["delta"])
    if facts["kept"]:
        by_name = facts["of_table"]
        parameters["keep"] = [name if by_name else i for i, name, _ in facts["kept"]]
    losses = {engine: name for name, (engine, _) in LOSSES.items()}
    cost = kept.get("cost")
    if cost is None and facts["select"] == "paper" and facts["asked_cost"] != _PAPER_COST:
        # Older files have it only there.
        cost = facts["asked_cost"]
    return {"C": cost, "loss": losses[facts["loss"]], **parameters, **_space_from(facts, kept)}


def _space_from(facts: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    """The parameters that describe the space, in the simplest way that says the same."""
    settings = facts["space"]
    # The columns of a table are groups by themselves.
    if "groups" not in settings or (facts["of_table"] and "lists" not in kept):
        return {"space": spaces.named(spaces.from_settings(settings, kept.get("only")))}
    weight, tree = settings.get("group-weight", "none"), "tree" in settings
    groups, singletons, format = spaces.given_groups(kept), kept.get("singletons", False), kept.get("format")
    if groups is not None and weight == "none" and not singletons and format is None:
        return {"groups": groups, "tree": tree}
    if tree:
        return {"space": spaces.Tree(groups, weight, singletons, format)}
    return {"space": spaces.Groups(groups, weight, singletons)}


def _threads(n_jobs: int | None) -> int:
    whole = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not whole or n_jobs == 0):
        raise ValueError(f"n_jobs: must be an integer other than 0, or None, not {n_jobs!r}")
    # More threads than processors only take time.
    return min(effective_n_jobs(n_jobs), max(1, cpu_count()))
