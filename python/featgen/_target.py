"""What a fit learns from: classes, numbers or times, and how much samples and classes count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from ._checks import real


def classes_of(y: Any) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """The classes, two or more, and the class of each sample."""
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    try:
        classes, codes = np.unique(y, return_inverse=True)
        if y.dtype.kind != "f" or len(classes) != 2:
            check_classification_targets(y)
    except TypeError as error:
        if y.dtype != object:
            raise
        raise ValueError("y: labels must all be of one type, such as strings or numbers") from error
    if len(classes) == 1:
        raise ValueError(f"y has one class only, {classes.tolist()[0]!r}: two classes are needed")
    return classes, np.ascontiguousarray(codes, dtype=np.uint32)


def numbers_of(y: Any) -> NDArray[np.float64]:
    """A finite number for each sample."""
    y = column_or_1d(y, warn=True)
    try:
        numbers = np.ascontiguousarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("y: must be numbers") from error
    assert_all_finite(numbers, input_name="y")
    return numbers


def times_of(y: Any) -> NDArray[np.float64]:
    """Times, negative where there was no event until then: from those, or from a structured array of event and time."""
    y = np.asarray(y)
    if y.dtype.names is None:
        return numbers_of(y)
    if len(y.dtype.names) != 2:
        raise ValueError(
            f"y: a structured array of event and time is needed, not of {', '.join(y.dtype.names)}"
        )
    event, time = (y[name] for name in y.dtype.names)
    if event.dtype.kind != "b":
        raise ValueError(
            f"y: the first field, {y.dtype.names[0]!r}, must say whether there was an event: True or False"
        )
    time = numbers_of(time)
    if (time <= 0).any():
        raise ValueError("y: times must be above 0")
    return np.where(event, time, -time)


def as_text(label: Any) -> str:
    """A label as files have it."""
    text = str(label)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"y: the label {text!r} is not text that can be written as UTF-8") from error
    return text


def class_weights(class_weight: Any, classes: list[Any]) -> list[float] | None:
    """Weights of the classes, if they are given."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return None
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight: must be a dictionary, 'balanced' or None, not {class_weight!r}")
    without = [name for name in classes if name not in class_weight]
    if without and len(class_weight) + len(without) > len(classes):
        raise ValueError(f"class_weight: has other classes, but not {', '.join(map(repr, without))}")
    weights = np.array([real("class_weight", class_weight.get(name, 1.0)) for name in classes], dtype=float)
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(f"class_weight: must be finite numbers of at least 0, not {class_weight!r}")
    return weights.tolist()


def sample_weights(sample_weight: ArrayLike, X: Any) -> NDArray[np.float64]:
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return np.ascontiguousarray(weights)
