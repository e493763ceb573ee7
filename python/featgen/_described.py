"""What the engine says of itself: the spaces there are, with their parameters, and what else is chosen by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import _featgen


@dataclass(frozen=True)
class Parameter:
    """A parameter of a space."""

    #: What model files call it.
    id: str
    name: str
    help: str
    #: What is done where it is None, in words.
    otherwise: str
    #: What it must be, in words.
    range: str
    #: "whole", "real" or "features".
    kind: str
    default: Any


@dataclass(frozen=True)
class Kind:
    """A kind of space."""

    name: str
    help: str
    generates: bool
    learns_curves: bool
    takes_negative: bool
    parameters: tuple[Parameter, ...]


def _kind(said: dict[str, Any]) -> Kind:
    return Kind(**{**said, "parameters": tuple(Parameter(**parameter) for parameter in said["parameters"])})


_SAID = _featgen.describe()

SPACES: dict[str, Kind] = {said["name"]: _kind(said) for said in _SAID["spaces"]}
#: Losses as the estimators call them: what the engine calls each, and what its decision values say.
LOSSES: dict[str, tuple[str, str]] = {
    name.replace("-", "_"): (name, output) for name, output, _ in _SAID["losses"]
}


def losses_for(*outputs: str) -> tuple[str, ...]:
    """The losses whose decision values say one of these: classes, number, rate or risk."""
    return tuple(name for name, (_, output) in LOSSES.items() if output in outputs)


#: What each loss is for.
LOSS_HELP: dict[str, str] = {name.replace("-", "_"): help for name, _, help in _SAID["losses"]}
#: What cross-validation may measure, as the estimators call it, and what the engine does.
METRICS: dict[str, str] = {name.replace("-", "_"): name for name, _ in _SAID["metrics"]}
METRIC_HELP: dict[str, str] = {name.replace("-", "_"): help for name, help in _SAID["metrics"]}
SOLVERS: list[str] = _SAID["solvers"]
SELECTS: list[str] = _SAID["selects"]
SCALINGS: list[str] = _SAID["scalings"]
IMPUTES: list[str] = _SAID["imputes"]
GROUP_WEIGHTS: list[str] = _SAID["group_weights"]
TREE_FORMATS: list[str] = _SAID["tree_formats"]
