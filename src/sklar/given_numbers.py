"""Numbers that people give: Python's and numpy's alike, told from what is none, and refused in one way."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Number, Real
from typing import Any

import numpy as np

from sklar.errors import UsageError


def is_number(value: Any) -> bool:
    """Whether it is a finite number, and no truth value."""
    if isinstance(value, Integral):
        return not isinstance(value, bool)
    return isinstance(value, Real) and math.isfinite(value)


def is_whole(value: Any, least: int, most: float = math.inf) -> bool:
    """Whether it is a whole number within bounds; 2.0 is none, and neither is True."""
    return isinstance(value, Integral) and not isinstance(value, bool) and least <= int(value) <= most


def whole_number(value: Any, what: str, least: int = 1, most: int | None = None) -> int:
    """A whole number within bounds, or a plain refusal."""
    if not is_whole(value, least, math.inf if most is None else most):
        upper = "" if most is None else f" and at most {most:,}"
        raise UsageError(f"{what} must be a whole number of at least {least}{upper}; found {shown(value)}.")
    return int(value)


def shown(value: Any) -> str:
    """What was found in the place of a number: as it is written, or only its type if it may be a table."""
    return repr(value) if value is None or isinstance(value, str | Number) else f"a {type(value).__name__}"


def plain_options(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Options with Python's own numbers where numpy's were given: they are compared, hashed and written as such."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in (given or {}).items()}
