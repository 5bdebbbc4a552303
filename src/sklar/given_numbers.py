"""Validate numeric arguments (Python or NumPy) and reject everything else with one message."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Number, Real
from typing import Any

import numpy as np

from sklar.errors import UsageError


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number, and not a boolean."""
    if isinstance(value, Integral):
        return not isinstance(value, bool)
    return isinstance(value, Real) and math.isfinite(value)


def is_whole(value: Any, least: int, most: float = math.inf) -> bool:
    """Return whether a value is an integer within bounds; 2.0 and True are not."""
    return isinstance(value, Integral) and not isinstance(value, bool) and least <= int(value) <= most


def whole_number(value: Any, what: str, least: int = 1, most: int | None = None) -> int:
    """Return an integer within bounds; refuse anything else."""
    if not is_whole(value, least, math.inf if most is None else most):
        upper = "" if most is None else f" and at most {most:,}"
        raise UsageError(f"{what} must be a whole number of at least {least}{upper}; found {describe_given(value)}.")
    return int(value)


def describe_given(value: Any) -> str:
    """Return a value for an error message: its text, or only its type if it may be a table."""
    return repr(value) if value is None or isinstance(value, str | Number) else f"a {type(value).__name__}"


def plain_options(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return options with NumPy scalars converted to Python, since they are compared, hashed and stored."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in (given or {}).items()}
