"""Parse conditions on columns into allowed base codes, and exact ranges or points inside them.

Conditions are values, or text on the command line: sex=F, age=30..40, city=Rome,Paris, smoker=null.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import reduce
from typing import Any, cast

import numpy as np

from sklar.arrays import Floats, Mask
from sklar.errors import UsageError
from sklar.sample.decode import (
    CellPoints,
    Heaping,
    Restriction,
    SampledTable,
    Values,
    Window,
    covered_shares,
    row_count,
)
from sklar.schema.columns import Boolean, Column, Labels, Ordinal, parse_truth
from sklar.schema.coordinates import linked_views
from sklar.schema.grid import EPOCH, RESOLUTIONS, find_multiple_range, from_ticks, get_ratio, parse_time
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.persons.linked import has_linked_rows
from sklar.schema.table import Schema

Number = Integer | Real | Datetime
NULL = "null"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Condition:
    """A condition on one column.

    Attributes:
        allowed: For each base code, whether some value of its cell meets the condition.
        restriction: For numbers, the values inside the allowed cells that meet it.
    """

    allowed: Mask
    restriction: Restriction | None = None


Conditions = Mapping[str, Condition]


def read_conditions(schema: Schema, given: Mapping[str, Any] | None) -> Conditions:
    """Parse conditions, as {"sex": "F", "age": (30, 40), "city": ["Rome", "Paris"], "smoker": None}.

    A tuple of two is a closed range (numbers, datetimes, ordinals), a list or set means any of these, None means null.
    For longitudinal data, conditions are on the columns of `condition_columns`.
    """
    columns = condition_columns(schema) if given else {}
    for name in given or {}:
        _require_condition_column(schema, columns, name)
    return {name: _condition(name, columns[name], wanted) for name, wanted in (given or {}).items()}


def condition_columns(schema: Schema) -> Mapping[str, Column]:
    """Return the columns that conditions can be on.

    These are the modelled columns; for longitudinal data, static columns, the number of rows of a person, and columns
    of the first row, as "first income".
    """
    if not has_linked_rows(schema, schema.person):
        return {name: schema[name] for name in schema.modelled}
    wide = linked_views(schema)[0]
    return {name: wide.begins.columns[column] for name, column in wide.person_columns.items()}


def _require_condition_column(schema: Schema, columns: Mapping[str, Column], name: str) -> None:
    """Refuse a name that is not a column for conditions."""
    if name in columns:
        return
    known = ", ".join(list(columns)[:20]) + (", ..." if len(columns) > 20 else "")
    if name in schema.modelled:
        raise UsageError(
            f"given: '{name}' changes from row to row of a person; conditions on persons are on {known}. For other "
            "conditions, filter a sample."
        )
    raise UsageError(f"given: '{name}' is not a modelled column of the schema; it has {known}.")


def allowed_codes(schema: Schema, conditions: Conditions) -> dict[int, Mask]:
    """Return masks over base codes, by position among the modelled columns."""
    return {schema.modelled.index(name): condition.allowed for name, condition in conditions.items()}


def wanted_shares(schema: Schema, conditions: Conditions, heaping: Mapping[str, Heaping]) -> dict[int, Floats]:
    """Return the share of each base code that meets its condition, by position among the modelled columns.

    Of numbers it is relative to the largest share: single numbers are a tiny part of their cells.
    """
    return {
        schema.modelled.index(name): _met_shares(schema[name], condition, heaping.get(name, ()))
        for name, condition in conditions.items()
    }


def _met_shares(column: Column, condition: Condition, heaping: Heaping) -> Floats:
    shares = condition.allowed.astype(np.float64)
    if condition.restriction is not None and isinstance(column, Number):
        covered = covered_shares(column, condition.restriction, heaping)
        # All are 0 where rows have no such number, as between the multiples of a unit.
        shares[: column.grid.cells] *= covered / (covered.max() or 1.0)
    return shares


def list_restrictions(conditions: Conditions) -> dict[str, Restriction]:
    """Return the ranges and points that numbers are restricted to."""
    return {name: c.restriction for name, c in conditions.items() if c.restriction is not None}


def conditions_hold(schema: Schema, conditions: Conditions, table: SampledTable) -> Mask:
    """Return the rows that meet all conditions."""
    held = (meets_condition(schema[name], condition, table[name]) for name, condition in conditions.items())
    return reduce(np.logical_and, held, np.ones(row_count(table), bool))


def _condition(name: str, column: Column, wanted: Any) -> Condition:
    allowed = np.zeros(column.size, bool)
    if isinstance(wanted, tuple):
        return _make_range_condition(name, column, cast("tuple[Any, ...]", wanted), allowed)
    listed = list(cast("list[Any]", wanted)) if isinstance(wanted, list | AbstractSet) else [wanted]
    if not listed:
        raise UsageError(f"given: the list for '{name}' is empty; give at least one value.")
    if any(value is None for value in listed):
        if column.null_code is None:
            raise UsageError(f"given: '{name}' is never null in the schema.")
        allowed[column.null_code] = True
    return _make_list_condition(name, column, [v for v in listed if v is not None], allowed)


def _make_list_condition(name: str, column: Column, listed: Iterable[Any], allowed: Mask) -> Condition:
    if isinstance(column, Number):
        points = sorted({as_window(name, column, (value, value)).low for value in listed})
        allowed[column.grid.code(np.array(points, dtype=column.grid.starts.dtype))] = True
        if not points:
            return Condition(allowed=allowed)
        return Condition(allowed=allowed, restriction=CellPoints(values=tuple(points)))
    if isinstance(column, Labels):
        for value in listed:
            allowed[(*column.values, column.other).index(as_label(name, column, value))] = True
        return Condition(allowed=allowed)
    for value in listed:
        allowed[1 if as_truth(name, value) else 0] = True
    return Condition(allowed=allowed)


def _make_range_condition(name: str, column: Column, wanted: tuple[Any, ...], allowed: Mask) -> Condition:
    if len(wanted) != 2:
        raise UsageError(
            f"given: a range for '{name}' has two ends, such as (low, high); use a list for several values."
        )
    if isinstance(column, Ordinal):
        first, last = (column.values.index(as_label(name, column, end, listed_only=True)) for end in wanted)
        if first > last:
            raise UsageError(f"given: the range for '{name}' is empty: its first label comes after its last.")
        allowed[first : last + 1] = True
        return Condition(allowed=allowed)
    if not isinstance(column, Number):
        raise UsageError(f"given: '{name}' has no order; give values, not a range.")
    return _make_window_condition(column, as_window(name, column, wanted))


def restrict_to_range(name: str, column: Number, low: int | float, high: int | float) -> Condition:
    """Return the condition that a column is between two numbers (ticks for a datetime) inside its bounds."""
    return _make_window_condition(column, _on_multiples(name, column, Window(low=low, high=high)))


def _make_window_condition(column: Number, window: Window) -> Condition:
    ends = column.grid.code(np.array([window.low, window.high], dtype=column.grid.starts.dtype))
    codes = np.arange(column.size)
    return Condition(allowed=(codes >= ends[0]) & (codes <= ends[1]), restriction=window)


def meets_condition(column: Column, condition: Condition, values: Values) -> Mask:
    """Return which values of a column meet its condition."""
    null_wanted = column.null_code is not None and bool(condition.allowed[column.null_code])
    return np.where(values.null, null_wanted, _check_values(column, condition, values))


def _check_values(column: Column, condition: Condition, values: Values) -> Mask:
    limit = condition.restriction
    if isinstance(limit, Window):
        return (values.data >= limit.low) & (values.data <= limit.high)
    if isinstance(limit, CellPoints):
        return np.isin(values.data, np.array(limit.values, dtype=values.data.dtype))
    if isinstance(column, Boolean):
        return condition.allowed[:2][values.data.astype(np.int64)]
    if isinstance(column, Labels) and values.labels is None:
        wanted = [v for v, a in zip((*column.values, column.other), condition.allowed, strict=False) if a]
        return np.isin(values.data, np.array(wanted, dtype=np.int64))
    if isinstance(column, Labels):
        return condition.allowed[values.data]
    return np.zeros(len(values.data), bool)  # a number for which only null is allowed


def as_truth(name: str, value: Any) -> bool:
    """Parse a boolean, written in any of the usual words or as 1 or 0."""
    truth = parse_truth(value)
    if truth is None:
        raise UsageError(f"given: '{name}' must be true or false; got {value!r}.")
    return truth


def as_label(name: str, column: Labels, value: Any, *, listed_only: bool = False) -> str | int:
    """Return the matching label of the schema (or its label for other values); 1 matches "1", and True "yes"."""
    known = column.values if listed_only else (*column.values, column.other)
    plain: Any = getattr(value, "item", lambda: value)()  # numpy scalars as plain ones
    if not isinstance(plain, bool) and plain in known:
        return plain
    same = [label for label in known if label is not None and str(label) == str(plain)]
    if not same and len(column.values) == 2 and parse_truth(plain) is not None:
        same = [label for label in column.values if parse_truth(label) is parse_truth(plain)]
    if len(same) == 1:
        return same[0]
    shown = ", ".join(repr(v) for v in known[:12]) + (", ..." if len(known) > 12 else "")
    raise UsageError(f"given: {value!r} is not a value of '{name}' in the schema, which has {shown}.")


def as_window(name: str, column: Number, ends: tuple[Any, Any]) -> Window:
    """Return the part of a closed range inside the bounds of the column; an end of None is open."""
    lower, upper = column.span
    low = lower if ends[0] is None else _end(name, column, ends[0], round_up=True)
    high = upper if ends[1] is None else _end(name, column, ends[1], round_up=False)
    if low > high:
        raise UsageError(f"given: the range for '{name}' is empty: no value lies between its ends.")
    if low > upper or high < lower:
        span = f"from {shown_number(column, lower)} to {shown_number(column, upper)}"
        raise UsageError(f"given: '{name}' has no such value: its range is {span} in the schema.")
    return _on_multiples(name, column, Window(low=max(low, lower), high=min(high, upper)))


def _end(name: str, column: Number, value: Any, *, round_up: bool) -> int | float:
    if isinstance(column, Datetime):
        return _parse_tick(name, column, value, round_up=round_up)
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real | np.number):
        raise UsageError(f"given: '{name}' must be a number; got {value!r}.")
    if isinstance(value, numbers.Integral):
        return int(value) if isinstance(column, Integer) else float(value)
    number = float(value)  # type: ignore[arg-type]
    if math.isnan(number):
        raise UsageError(f"given: '{name}' cannot be compared with {value!r}; use None for null.")
    if isinstance(column, Real) or math.isinf(number):
        return number
    return math.ceil(number) if round_up else math.floor(number)


def _parse_tick(name: str, column: Datetime, value: Any, *, round_up: bool) -> int:
    try:
        timestamp = parse_time(value) if isinstance(value, str) else _to_timestamp(value)
    except (TypeError, ValueError):
        problem = f"given: '{name}' takes dates or times without a zone, such as 2024-12-31; got {value!r}."
        raise UsageError(problem) from None
    micros, unit = (timestamp - EPOCH) // timedelta(microseconds=1), RESOLUTIONS[column.resolution]
    return -(-micros // unit) if round_up else micros // unit


def _to_timestamp(value: Any) -> datetime:
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, datetime):
        return parse_time(value.isoformat())
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    raise TypeError


def _on_multiples(name: str, column: Number, window: Window) -> Window:
    """Refuse a range that contains no value of the column; with a step, extend it to the ends of its cells."""
    if isinstance(column, Integer) and column.step is not None:
        low, high = -(-int(window.low) // column.step), int(window.high) // column.step
        if low > high:
            raise UsageError(f"given: '{name}' has multiples of {column.step}, and none is in the given range.")
        return Window(low=low * column.step, high=(high + 1) * column.step - 1)
    if not isinstance(column, Real) or column.unit is None:
        return window
    if column.step is None and any(window.low <= atom <= window.high for atom in column.atoms):
        return window
    first, last = find_multiple_range(float(window.low), float(window.high), column.unit)
    if not first <= last:
        has = f"{column.decimals} decimals" if column.step is None else f"multiples of {column.step:g}"
        raise UsageError(f"given: '{name}' has {has}, and no such number is in the given range.")
    if column.step is None or first == last:
        return window
    over, under = get_ratio(column.unit)
    return Window(
        low=(2 * first - 1) * over / under / 2, high=float(np.nextafter((2 * last + 1) * over / under / 2, 0))
    )


def shown_number(column: Number, value: int | float) -> str:
    """Return a number or timestamp as text."""
    if isinstance(column, Datetime):
        timestamp = from_ticks(int(value), column.resolution)
        return str(timestamp.date()) if column.resolution == "day" else timestamp.isoformat()
    return f"{value:g}" if isinstance(value, float) else str(value)


def parse_given(schema: Schema, texts: Iterable[str]) -> dict[str, Any]:
    """Parse texts of the form column=value into the argument of `read_conditions`.

    A value is a label, number, date, true, false or null; low..high is a closed range (either end may be left out);
    commas separate alternatives. A label that contains a comma or dots is matched as a whole first.
    """
    given: dict[str, Any] = {}
    columns = condition_columns(schema)
    for text in texts:
        name, equals, value = _split_text(columns, text)
        if not equals:
            raise UsageError(f"given: write a condition as column=value; got {text!r}.")
        _require_condition_column(schema, columns, name)
        if name in given:
            raise UsageError(f"given: '{name}' is given twice; separate alternatives by commas, such as {name}=a,b.")
        given[name] = _parse_text(name, columns[name], value)
    return given


def _split_text(columns: Mapping[str, Column], text: str) -> tuple[str, str, str]:
    """Split column=value; since a column name may contain an equals sign, the longest matching name is used."""
    fitting = [name for name in columns if text.startswith(f"{name}=")]
    if not fitting:
        return text.partition("=")
    name = max(fitting, key=len)
    return name, "=", text[len(name) + 1 :]


def _parse_text(name: str, column: Column, text: str) -> Any:
    if isinstance(column, Labels) and text in _map_texts_to_labels(column):
        return _map_texts_to_labels(column)[text]
    low, dots, high = text.partition("..")
    if dots and (column.numeric or isinstance(column, Ordinal)):
        open_ends = (column.values[0], column.values[-1]) if isinstance(column, Labels) else (None, None)
        ends = zip((low, high), open_ends, strict=True)
        return tuple(_parse_single_value(name, column, end) if end else open_end for end, open_end in ends)
    parts = [_parse_single_value(name, column, part) for part in text.split(",")]
    return parts[0] if len(parts) == 1 else parts


def _parse_single_value(name: str, column: Column, text: str) -> Any:
    if isinstance(column, Labels):
        return _map_texts_to_labels(column).get(text, None if text == NULL else text)
    if text == NULL:
        return None
    if isinstance(column, Boolean):
        return as_truth(name, text)
    return text if isinstance(column, Datetime) else _parse_number(name, column, text)


def _parse_number(name: str, column: Column, text: str) -> int | float:
    for read in (int, float) if isinstance(column, Integer) else (float,):
        try:
            return read(text)
        except ValueError:
            continue
    raise UsageError(f"given: '{name}' must be a number; got {text!r}.")


def _map_texts_to_labels(column: Labels) -> dict[str, str | int]:
    return {str(label): label for label in (*column.values, column.other) if label is not None}
