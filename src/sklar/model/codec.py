"""Models as JSON and arrays, without pickle: the classes of `registry`, and nothing else, are rebuilt."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sklar.errors import ModelFileError
from sklar.model.registry import class_of, word_of

Keep = Callable[[np.ndarray], int]
"""Keeps an array and returns the number by which it is referred to."""


class ArrayPool:
    """The arrays of encoded values, in order.

    Args:
        distinct: Whether equal arrays are stored once: hundreds of tables share the partition of a column.
    """

    def __init__(self, *, distinct: bool) -> None:
        self.arrays: list[np.ndarray] = []
        self._distinct = distinct
        self._places: dict[tuple[str, tuple[int, ...], bytes], int] = {}

    def keep(self, array: np.ndarray) -> int:
        """Store an array and return its number."""
        if not self._distinct:
            self.arrays.append(array)
            return len(self.arrays) - 1
        place = self._places.setdefault((array.dtype.str, array.shape, array.tobytes()), len(self.arrays))
        if place == len(self.arrays):
            self.arrays.append(array)
        return place


def encode(value: Any, keep: Keep) -> Any:
    """Return plain JSON for `value`; its arrays are kept and referred to by number."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else {"float": repr(float(value))}
    if isinstance(value, np.ndarray):
        return {"array": keep(value)}
    if isinstance(value, tuple | list):
        return [encode(item, keep) for item in value]
    if isinstance(value, dict):
        return {"pairs": [[encode(k, keep), encode(v, keep)] for k, v in value.items()]}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        stored = [field.name for field in dataclasses.fields(value) if field.init]
        fields = {name: encode(getattr(value, name), keep) for name in stored}
        return {"class": word_of(type(value)), "fields": fields}
    raise ModelFileError(f"a model cannot be saved: it holds a {type(value).__name__}")


def decode(tree: Any, arrays: Sequence[np.ndarray]) -> Any:
    """Return the inverse of `encode`; sequences come back as tuples."""
    if isinstance(tree, list):
        return tuple(decode(item, arrays) for item in tree)
    if not isinstance(tree, dict):
        return tree
    if "array" in tree:
        return arrays[tree["array"]]
    if "float" in tree:
        return float(tree["float"])
    if "pairs" in tree:
        return {decode(k, arrays): decode(v, arrays) for k, v in tree["pairs"]}
    return class_of(tree["class"])(**{name: decode(value, arrays) for name, value in tree["fields"].items()})
