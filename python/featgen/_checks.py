"""Parameters, looked at before the engine sees them: errors call them as the estimators do."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from numbers import Integral, Real
from os import PathLike, fsdecode, fspath
from typing import Any

import numpy as np


def integer(name: str, value: Any) -> int | None:
    """An integer of at least 0, or None."""
    if value is None:
        return None
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise ValueError(f"{name}: must be an integer, not {value!r}")
    if value < 0:
        raise ValueError(f"{name}: must not be negative, as {value} is")
    return min(int(value), sys.maxsize)


def real(name: str, value: Any) -> float | None:
    """A number, or None."""
    if value is None:
        return None
    if not isinstance(value, Real) or isinstance(value, bool):
        raise ValueError(f"{name}: must be a number, not {value!r}")
    try:
        return float(value)
    except OverflowError as error:
        raise ValueError(f"{name}: must be a number that a float can hold") from error


def share(name: str, value: Any) -> float | None:
    """A number between 0 and 1, or None."""
    part = real(name, value)
    if part is not None and not 0 < part < 1:
        raise ValueError(f"{name}: must lie between 0 and 1, not be {value!r}")
    return part


def truth(name: str, value: Any) -> bool:
    """True or False, or 1 or 0."""
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, Integral) and value in (0, 1)):
        return bool(value)
    raise ValueError(f"{name}: must be True or False, not {value!r}")


def level(name: str, value: Any) -> int:
    """An integer of at least 0; True is 1."""
    return integer(name, int(value) if isinstance(value, (bool, np.bool_)) else given(name, value)) or 0


def function(name: str, value: Any) -> Any:
    """Something to be called, or None."""
    if value is not None and not callable(value):
        raise TypeError(f"{name}: {value!r} is not callable")
    return value


def path(name: str, value: Any) -> str | None:
    """A path as text, or None."""
    if value is None:
        return None
    if not isinstance(value, (str, PathLike)) or not fspath(value):
        raise ValueError(f"{name}: must be a path, not {value!r}")
    return fsdecode(value)


def given(name: str, value: Any) -> Any:
    """What must not be None."""
    if value is None:
        raise ValueError(f"{name}: must not be None")
    return value


def one_of(name: str, value: Any, known: Iterable[str]) -> str:
    """One of some names."""
    known = list(known)
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name}: must be one of {', '.join(map(repr, known))}, not {value!r}")
    return value
