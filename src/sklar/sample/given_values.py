"""The values a caller names in a condition, checked against the public facts of their column."""

from __future__ import annotations

import math
import numbers
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from sklar.errors import UsageError
from sklar.sample.within import Window
from sklar.schema.columns import Labels
from sklar.schema.decimals import decimal_span
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.ticks import EPOCH, RESOLUTIONS, from_ticks, parse_time

Number = Integer | Real | Datetime


def as_label(name: str, column: Labels, value: Any, *, listed_only: bool = False) -> str | int:
    """A label of the schema (or its label for other values)."""
    known = column.values if listed_only else (*column.values, column.other)
    plain: Any = getattr(value, "item", lambda: value)()  # numpy scalars as plain ones
    if not isinstance(plain, bool) and plain in known:
        return plain
    shown = ", ".join(repr(v) for v in known[:12]) + (", ..." if len(known) > 12 else "")
    raise UsageError(f"given: {value!r} is not a value of '{name}' in the schema, which lists {shown}.")


def as_number(name: str, column: Number, value: Any) -> int | float:
    """One value of a numeric column: inside its bounds, and one that a sample can hold exactly."""
    return as_window(name, column, (value, value)).low


def as_window(name: str, column: Number, ends: tuple[Any, Any]) -> Window:
    """The part of a closed range that lies inside the bounds of the column; an end None is open."""
    lower, upper = bounds(column)
    low = lower if ends[0] is None else _end(name, column, ends[0], round_up=True)
    high = upper if ends[1] is None else _end(name, column, ends[1], round_up=False)
    if low > high:
        raise UsageError(f"given: the range for '{name}' is empty: no value lies between its ends.")
    if low > upper or high < lower:
        span = f"from {_shown(column, lower)} to {_shown(column, upper)}"
        raise UsageError(f"given: '{name}' has no such value: it goes {span} by the schema.")
    window = Window(low=max(low, lower), high=min(high, upper))
    _require_decimals(name, column, window)
    return window


def bounds(column: Number) -> tuple[int | float, int | float]:
    """Smallest and largest value of the column (ticks, for datetimes)."""
    if isinstance(column, Datetime):
        return column.tick(column.lower), column.tick(column.upper)
    return column.lower, column.upper


def _end(name: str, column: Number, value: Any, *, round_up: bool) -> int | float:
    if isinstance(column, Datetime):
        return _tick(name, column, value, round_up=round_up)
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real | np.number):
        raise UsageError(f"given: '{name}' is a number; found {value!r}.")
    if isinstance(value, numbers.Integral):
        return int(value) if isinstance(column, Integer) else float(value)
    number = float(value)  # type: ignore[arg-type]
    if math.isnan(number):
        raise UsageError(f"given: '{name}' cannot be compared with {value!r}; use None for null.")
    if isinstance(column, Real) or math.isinf(number):
        return number
    return math.ceil(number) if round_up else math.floor(number)


def _tick(name: str, column: Datetime, value: Any, *, round_up: bool) -> int:
    try:
        moment = parse_time(value) if isinstance(value, str) else _moment(value)
    except (TypeError, ValueError):
        raise UsageError(
            f"given: '{name}' takes dates or times without a zone, as 2024-12-31; found {value!r}."
        ) from None
    micros, unit = (moment - EPOCH) // timedelta(microseconds=1), RESOLUTIONS[column.resolution]
    return -(-micros // unit) if round_up else micros // unit


def _moment(value: Any) -> datetime:
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, datetime):
        return parse_time(value.isoformat())
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    raise TypeError


def _require_decimals(name: str, column: Number, window: Window) -> None:
    """A range between two neighbouring decimals holds no value that the column can take."""
    if not isinstance(column, Real) or column.decimals is None:
        return
    if any(window.low <= atom <= window.high for atom in column.atoms):
        return
    first, last = decimal_span(float(window.low), float(window.high), column.decimals)
    if not first <= last:
        raise UsageError(
            f"given: '{name}' has {column.decimals} decimals, and no such number lies in the range asked for."
        )


def _shown(column: Number, value: int | float) -> str:
    if isinstance(column, Datetime):
        moment = from_ticks(int(value), column.resolution)
        return str(moment.date()) if column.resolution == "day" else moment.isoformat()
    return f"{value:g}" if isinstance(value, float) else str(value)
