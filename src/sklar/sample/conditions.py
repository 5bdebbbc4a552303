"""What a conditional sample was asked for, as allowed base codes and exact ranges or points inside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from sklar.errors import UsageError
from sklar.sample.given_values import as_label, as_number, as_window
from sklar.sample.values import Mask, SampledTable, Values
from sklar.sample.within import Points, Restriction, Window, covered
from sklar.schema.columns import Boolean, Column, Labels, Ordinal
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.table import Schema


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Condition:
    """What one column must be.

    Attributes:
        allowed: For each base code, whether some value of its cell is asked for.
        restriction: For numbers, the part of the allowed cells that is asked for.
        share: For each base code, how much of its cell is asked for, relative to the most that is of any cell.
            One number stands for all.
    """

    allowed: Mask
    restriction: Restriction | None = None
    share: npt.NDArray[np.float64] | float = 1.0


Conditions = Mapping[str, Condition]


def read_conditions(schema: Schema, given: Mapping[str, Any] | None) -> Conditions:
    """Conditions on columns, as {"sex": "F", "age": (30, 40), "city": ["Rome", "Paris"], "smoker": None}.

    A tuple of two is a closed range (numbers, datetimes, ordinals), a list or set means any of these, None means null.
    """
    for name in given or {}:
        if name not in schema.modelled:
            known = ", ".join(schema.modelled[:20]) + (", ..." if len(schema.modelled) > 20 else "")
            raise UsageError(f"given: '{name}' is not a modelled column of the schema; it has {known}.")
    return {name: _condition(name, schema[name], wanted) for name, wanted in (given or {}).items()}


def allowed_codes(schema: Schema, conditions: Conditions) -> dict[int, Mask]:
    """Masks over base codes by position among the modelled columns, as models take them."""
    return {schema.modelled.index(name): condition.allowed for name, condition in conditions.items()}


def wanted_shares(schema: Schema, conditions: Conditions) -> dict[int, npt.NDArray[np.float64]]:
    """How much of each base code is asked for, by position among the modelled columns."""
    return {schema.modelled.index(name): np.where(c.allowed, c.share, 0.0) for name, c in conditions.items()}


def restrictions(conditions: Conditions) -> dict[str, Restriction]:
    """The ranges and points that numbers must keep to."""
    return {name: c.restriction for name, c in conditions.items() if c.restriction is not None}


def conditions_hold(schema: Schema, conditions: Conditions, table: SampledTable) -> Mask:
    """The rows that are as asked for."""
    rows = len(next(iter(table.values())).data)
    hold = np.ones(rows, bool)
    for name, condition in conditions.items():
        hold &= _holds(schema[name], condition, table[name])
    return hold


def _condition(name: str, column: Column, wanted: Any) -> Condition:
    allowed = np.zeros(column.size, bool)
    if isinstance(wanted, tuple):
        return _range_condition(name, column, cast("tuple[Any, ...]", wanted), allowed)
    listed = list(cast("list[Any]", wanted)) if isinstance(wanted, list | AbstractSet) else [wanted]
    if not listed:
        raise UsageError(f"given: the list for '{name}' is empty; name at least one value.")
    if any(value is None for value in listed):
        if column.null_code is None:
            raise UsageError(f"given: '{name}' is never null by the schema.")
        allowed[column.null_code] = True
    return _list_condition(name, column, [v for v in listed if v is not None], allowed)


def _list_condition(name: str, column: Column, listed: Iterable[Any], allowed: Mask) -> Condition:
    if isinstance(column, Integer | Real | Datetime):
        points = sorted({as_number(name, column, value) for value in listed})
        allowed[column.grid.code(np.array(points, dtype=column.grid.starts.dtype))] = True
        if not points:
            return Condition(allowed=allowed)
        return _numeric(column, allowed, Points(values=tuple(points)))
    if isinstance(column, Labels):
        for value in listed:
            allowed[(*column.values, column.other).index(as_label(name, column, value))] = True
        return Condition(allowed=allowed)
    for value in listed:
        if not isinstance(value, bool | np.bool_):
            raise UsageError(f"given: '{name}' is true or false; found {value!r}.")
        allowed[1 if value else 0] = True
    return Condition(allowed=allowed)


def _range_condition(name: str, column: Column, wanted: tuple[Any, ...], allowed: Mask) -> Condition:
    if len(wanted) != 2:
        raise UsageError(f"given: a range for '{name}' has two ends, as (low, high); use a list for several values.")
    if isinstance(column, Ordinal):
        first, last = (column.values.index(as_label(name, column, end, listed_only=True)) for end in wanted)
        if first > last:
            raise UsageError(f"given: the range for '{name}' is empty: its first label comes after its last.")
        allowed[first : last + 1] = True
        return Condition(allowed=allowed)
    if not isinstance(column, Integer | Real | Datetime):
        raise UsageError(f"given: '{name}' has no order, so it takes values but no range.")
    window = as_window(name, column, wanted)
    ends = column.grid.code(np.array([window.low, window.high], dtype=column.grid.starts.dtype))
    allowed[ends[0] : ends[1] + 1] = True
    return _numeric(column, allowed, window)


def _numeric(column: Integer | Real | Datetime, allowed: Mask, limit: Restriction) -> Condition:
    """Codes are drawn by the mass of whole cells, so a cell of which only a part is asked for counts by that part."""
    part = covered(column.grid, limit) / column.grid.widths
    share = np.ones(column.size)
    share[: column.grid.cells] = part / part.max()
    return Condition(allowed=allowed, restriction=limit, share=share)


def _holds(column: Column, condition: Condition, values: Values) -> Mask:
    null_wanted = column.null_code is not None and bool(condition.allowed[column.null_code])
    return np.where(values.null, null_wanted, _values_hold(column, condition, values))


def _values_hold(column: Column, condition: Condition, values: Values) -> Mask:
    limit = condition.restriction
    if isinstance(limit, Window):
        return (values.data >= limit.low) & (values.data <= limit.high)
    if isinstance(limit, Points):
        return np.isin(values.data, np.array(limit.values, dtype=values.data.dtype))
    if isinstance(column, Boolean):
        return condition.allowed[:2][values.data.astype(np.int64)]
    if isinstance(column, Labels) and values.labels is None:
        wanted = [v for v, a in zip((*column.values, column.other), condition.allowed, strict=False) if a]
        return np.isin(values.data, np.array(wanted, dtype=np.int64))
    if isinstance(column, Labels):
        return condition.allowed[values.data]
    return np.zeros(len(values.data), bool)  # a number of which only null is asked for
