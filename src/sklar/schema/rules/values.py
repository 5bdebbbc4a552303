"""Values that rules name: as a row has them, or as text in the table of a function."""

from __future__ import annotations

import math

from sklar.schema.columns import Boolean, Column, Labels
from sklar.schema.grid import parse_time
from sklar.schema.numbers import Datetime, Integer, Real

Label = str | int | bool
Pairs = tuple[tuple[str, Label], ...]


def is_value(column: Column, value: Label) -> bool:
    """Return whether a row may have this value."""
    if isinstance(column, Labels):
        same_type = type(value) is type(column.other)  # else true would pass for the label 1
        return same_type and (value in column.values or value == column.other)
    if isinstance(column, Boolean):
        return isinstance(value, bool)
    if isinstance(column, Integer):
        return type(value) is int and column.lower <= value <= column.upper
    return False


def is_key(column: Column, key: str) -> bool:
    """Return whether a text stands for a value of the column; the table of a function lists its arguments as text."""
    if isinstance(column, Labels):
        return key in (str(v) for v in (*column.values, column.other))
    if isinstance(column, Boolean):
        return key.lower() in ("true", "false")
    try:
        if isinstance(column, Datetime):
            return parse_time(column.lower) <= parse_time(key) <= parse_time(column.upper)
        if isinstance(column, Integer):
            return column.lower <= int(key) <= column.upper
        return isinstance(column, Real) and column.lower <= float(key) <= column.upper
    except ValueError:
        return False


def key_text(value: object) -> str:
    """Return a value of the argument column as the schema file writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_number(value: object) -> bool:
    """Return whether a rule may count with it: finite, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
