"""Models as JSON and arrays, without pickle: the classes of `registry`, and nothing else, are rebuilt."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sklar.errors import ModelFileError
from sklar.model.registry import class_of, word_of


def encode(value: Any, arrays: list[np.ndarray]) -> Any:
    """Plain JSON for `value`; its arrays are appended to `arrays` and referred to by position."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else {"float": repr(float(value))}
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, tuple | list):
        return [encode(item, arrays) for item in value]
    if isinstance(value, dict):
        return {"pairs": [[encode(k, arrays), encode(v, arrays)] for k, v in value.items()]}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        stored = [field.name for field in dataclasses.fields(value) if field.init]
        fields = {name: encode(getattr(value, name), arrays) for name in stored}
        return {"class": word_of(type(value)), "fields": fields}
    raise ModelFileError(f"a model cannot be saved: it holds a {type(value).__name__}")


def decode(tree: Any, arrays: Sequence[np.ndarray]) -> Any:
    """Inverse of `encode`; sequences come back as tuples."""
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
