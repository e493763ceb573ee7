"""Columns of data, and what they are called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

#: Messages name at most this many columns.
_NAMED = 5


def check_present(expected: Iterable[str], names: Sequence[str]) -> None:
    present = set(names)
    missing = [name for name in expected if name not in present]
    if missing:
        more = ", ..." if len(missing) > _NAMED else ""
        raise ValueError(f"X lacks columns that the model expects: {', '.join(missing[:_NAMED])}{more}")


def check_order(expected: Mapping[str, int], names: Sequence[str]) -> None:
    for name, at in sorted(expected.items(), key=lambda item: item[1]):
        if at >= len(names) or names[at] != name:
            raise ValueError(
                "The feature names should match those that were passed during fit: the columns of this store stand in "
                f"another order. {name!r} was column {at} and is column {names.index(name)}"
            )


def column_names(X: Any) -> list[str] | None:
    """The names of a frame's columns, if all are strings."""
    columns = getattr(X, "columns", None)
    columns = getattr(X, "column_names", columns)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return list(columns)


def product(factors: Sequence[str]) -> str:
    """What a product of these inputs is called: ``a*b``, ``a^2``, ``1``; of levels of categories, ``a = x & b = y``."""
    powers: dict[str, int] = {}
    for factor in factors:
        powers[factor] = powers.get(factor, 0) + 1
    shown = [name if power == 1 else f"{name}^{power}" for name, power in powers.items()]
    levels = len(shown) > 1 and all(" = " in factor for factor in shown)
    return (" & " if levels else "*").join(shown) or "1"


def table(columns: dict[str, Any]) -> Any:
    for package in ("pandas", "polars"):
        try:
            frames = __import__(package)
        except ImportError:
            continue
        return frames.DataFrame(columns)
    return {name: np.asarray(values) for name, values in columns.items()}


def kept_columns(keep: Any, inputs: Any) -> list[int]:
    """The places of the columns to keep, which are given by place or by name."""
    if keep is None:
        return []
    if isinstance(keep, (str, bytes)) or not isinstance(keep, Iterable):
        raise ValueError(f"keep: must be a list of columns, by index or by name, not {keep!r}")
    return sorted({place for column in keep for place in inputs.kept(column)})
