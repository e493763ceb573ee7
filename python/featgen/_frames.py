"""Frames with columns of any kind, as the engine takes them: by Arrow's stream, which all kinds of frames hand over.

What the columns are, and what becomes of them, is the engine's affair, as it is for tables in files.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from . import _featgen, spaces
from ._columns import column_names

#: Types of plain numbers as pandas, polars and pyarrow call them, in small letters.
_NUMBER = re.compile(r"(sparse\[)?(u?int\d+|float\d*|halffloat|double)(\[pyarrow\])?(, .*\])?")

_PACKAGE = str(Path(__file__).parent)


class TableWarning(UserWarning):
    """What may surprise about a frame: columns that are left out, or values that the model does not know."""


def is_frame(X: Any) -> bool:
    """Whether these are columns that can be handed over by Arrow's stream."""
    return hasattr(X, "__arrow_c_stream__") and len(getattr(X, "shape", ())) == 2


def only_numbers(X: Any) -> bool:
    """Whether the columns of a frame are numbers by their types. Some may be missing all the same."""
    types = getattr(getattr(X, "schema", None), "types", None)
    if types is None:
        types = getattr(X, "dtypes", None)
    return (
        X.shape[1] > 0
        and isinstance(types, Iterable)
        and all(_NUMBER.fullmatch(str(kind).lower()) for kind in types)
    )


def has_gaps(X: Any) -> bool:
    """Whether anything is missing in data that can be made an array of numbers, or in a frame of pandas."""
    if hasattr(X, "isna"):
        return bool(X.isna().to_numpy().any())
    try:
        X = check_array(X, accept_sparse=True, ensure_all_finite=False, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return bool(np.isnan(X.data if sp.issparse(X) else X).any())


def no_gaps_in_arrays() -> ValueError:
    return ValueError(
        "Input X contains NaN, and an array must have none. Give a frame (pandas, polars or pyarrow), where missing "
        "numbers get the mean of their column and an input that says so; or fill them first, as "
        "sklearn.impute.SimpleImputer does"
    )


def no_gaps_known() -> ValueError:
    return ValueError(
        "Input X contains NaN or nulls, and the model knows nothing to put there, as nothing was missing in the "
        "training data"
    )


def learned(X: Any, wishes: dict[str, Any]) -> _featgen.Table:
    """The inputs that are made of the columns of a frame, which are found out."""
    said = {name: _names(name, wishes[name], X) for name in ("ignore", "id", "number", "category")}
    return _featgen.Table.learn(_stream(X), {**wishes, **said})


def followed(X: Any, model: _featgen.Model) -> _featgen.Table:
    """Those that a model wants."""
    return _featgen.Table.follow(_stream(X), model)


def check(X: Any) -> None:
    """Refuses columns that cannot be told apart, and none at all."""
    if X.shape[1] == 0:
        raise ValueError("X has 0 columns, and at least 1 is needed")
    repeated = [name for name, count in Counter(called(X)).items() if count > 1]
    if repeated:
        raise ValueError(f"X: two columns are called {repeated[0]!r}")


def _names(parameter: str, columns: Any, X: Any) -> list[str]:
    """Columns that are listed by name, by pattern or by index, by names and patterns."""
    if columns is None:
        return []
    if isinstance(columns, (str, bytes)) or not isinstance(columns, Iterable):
        raise ValueError(
            f"{parameter}: must be a list of columns, by name, pattern or index, not {columns!r}"
        )
    known, names = called(X), []
    for column in columns:
        if isinstance(column, (int, np.integer)) and not isinstance(column, bool):
            if not -len(known) <= column < len(known):
                raise ValueError(f"{parameter}: no column {column}: there are {len(known)}")
            names.append(known[int(column)])
        elif isinstance(column, str):
            names.append(column)
        else:
            raise ValueError(f"{parameter}: must be names, patterns or indices of columns, not {column!r}")
    return names


def called(X: Any) -> list[str]:
    """What the columns of a frame are called; those without names as scikit-learn calls them."""
    return column_names(X) or [f"x{i}" for i in range(X.shape[1])]


def _stream(X: Any) -> Any:
    """The columns of a frame, in a capsule."""
    if hasattr(X, "index") and hasattr(X, "dtypes"):
        # The rows of pandas have labels, which are no column.
        X = X.copy(deep=False)
        X.index, X.columns = range(len(X)), called(X)
    try:
        return X.__arrow_c_stream__()
    except ImportError as error:
        raise ImportError(
            "pandas hands over columns that are not all numbers by the package pyarrow: install it"
        ) from error
    except (ArithmeticError, NotImplementedError, TypeError, ValueError) as error:
        # pyarrow says first what is wrong, then in which column.
        why = ": ".join(str(part) for part in reversed(error.args))
        raise ValueError(
            f"X: {why}. The values of a column must be of one type: astype makes them so, drop leaves the column out"
        ) from error


def warn(table: _featgen.Table) -> None:
    """Says what may surprise, to whoever called the package."""
    if not table.notes:
        return
    depth, frame = 1, sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        depth, frame = depth + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn("X: " + "; ".join(table.notes), TableWarning, stacklevel=depth)


class Inputs(spaces.Inputs):
    """The inputs that were made of the columns of a frame. Columns stand for all of theirs."""

    def __init__(self, table: _featgen.Table, X: Any) -> None:
        super().__init__(table.shape[1], table.names)
        self._table, self._called, of = table, called(X), dict(table.columns)
        self._frame = spaces.Inputs(len(self._called), self._called)
        self.columns = column_names(X)
        #: None, where the column is left out.
        self.made = [of.get(name, []) for name in self._called]

    def _each(self, parameter: str, features: Any) -> list[int]:
        return [i for feature in features for i in self._of(parameter, feature)]

    def _of(self, parameter: str, feature: Any) -> list[int]:
        """The inputs of a column, given by name or by index; or an input, by its name."""
        if isinstance(feature, str) and feature not in self._frame.indices():
            return [self.one(parameter, feature)]
        column = self._frame.one(parameter, feature)
        return self._some(parameter, column, (self.made or [])[column])

    def kept(self, column: Any) -> list[int]:
        if isinstance(column, str) and column not in self._frame.indices():
            return super().kept(column)
        (at,) = self._frame.kept(column)
        return self._some("keep", at, self._table.independent(self._called[at]) or [])

    def _some(self, parameter: str, column: int, inputs: list[int]) -> list[int]:
        if not inputs:
            raise ValueError(f"{parameter}: nothing is made of the column {self._called[column]!r}")
        return inputs
