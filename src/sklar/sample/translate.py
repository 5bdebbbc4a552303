"""Conditions on declared columns as conditions on the coordinates that a model draws.

A condition on a column that is a coordinate stands as it is; one on a function of another column is one on its
argument. What cannot be said of a coordinate, as a range of a column that is computed from two, is left to rejection:
rows that are not as asked for are drawn again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from sklar.arrays import Ints, Mask
from sklar.errors import UsageError
from sklar.sample.conditions import Condition, Conditions, holds
from sklar.sample.decode import CellPoints, Restriction, Values, decode_column
from sklar.sample.rng import generator
from sklar.sample.rules.computed import in_order
from sklar.sample.rules.function import apply_function
from sklar.schema.calendar import Calendar
from sklar.schema.columns import Column
from sklar.schema.coordinates import CalendarPart, Coordinates, Same
from sklar.schema.numbers import Integer
from sklar.schema.rules import Function


def on_coordinates(by: Coordinates, conditions: Conditions) -> Conditions:
    """What is asked of the coordinates of a model; rows must still be checked for what is asked of the columns."""
    if by.plain:
        return conditions
    asked, drawn = dict(conditions), {part.name for part in by.parts if isinstance(part, Same)}
    for rule in reversed(in_order(by.declared)):
        if rule.column in asked and rule.column not in drawn:
            found = _on_argument(by, rule, asked.pop(rule.column))
            asked[rule.of] = _both(asked.get(rule.of), found)
    for name, parts in by.dated.items():
        if name in asked:
            asked |= _on_calendar(by, parts, asked.pop(name))
            drawn |= {part.name for part in parts}
    return {name: condition for name, condition in asked.items() if name in drawn}


def exactly_on_coordinates(by: Coordinates, conditions: Conditions) -> Conditions:
    """The same where coordinates tell all that is asked for.

    Raises:
        UsageError: A condition is on a column that is computed from several coordinates.
    """
    computed = {part.column: part.name for part in by.steps}
    computed |= {name: parts[0].name for name, parts in by.dated.items()}
    for name in sorted({name for name in _arguments(by, conditions) if name in computed}):
        raise UsageError(
            f"given: '{name}' is computed from '{computed[name]}' and others, so no count of it was released"
        )
    return on_coordinates(by, conditions)


def _arguments(by: Coordinates, names: Iterable[str]) -> set[str]:
    """The columns, and instead of functions their arguments."""
    of = {rule.column: rule.of for rule in in_order(by.declared)}
    found: set[str] = set()
    for name in names:
        while name in of and name not in by.schema:
            name = of[name]
        found.add(name)
    return found


def _on_argument(by: Coordinates, rule: Function, condition: Condition) -> Condition:
    """The cells of the argument that hold a value which is mapped to what is asked for."""
    of = by.declared[rule.of]
    codes, values = _all_values(of)
    image = apply_function(by.declared, rule, {rule.of: values})
    wanted = holds(by.declared[rule.column], condition, image)
    allowed = np.zeros(of.size, bool)
    allowed[codes[wanted]] = True
    return Condition(allowed=allowed)


def _on_calendar(by: Coordinates, parts: Sequence[CalendarPart], condition: Condition) -> dict[str, Condition]:
    """For each part of a calendar, the numbers that the moments asked for have."""
    calendar, null = parts[0].calendar, by.declared[parts[0].column].null_code
    apart, asked = calendar.take_apart(_telling_moments(calendar, condition.restriction)), dict[str, Condition]()
    for part in parts:
        allowed = np.zeros(by.schema.size(part.name), bool)
        allowed[apart[part.part] - calendar.ends[part.part][0]] = True
        if null is not None:
            allowed[-1] = condition.allowed[null]
        asked[part.name] = Condition(allowed=allowed)
    return asked


def _telling_moments(calendar: Calendar, limit: Restriction | None) -> Ints:
    """Moments that have, between them, every part that a moment asked for can have."""
    if limit is None:
        return np.zeros(0, dtype=np.int64)
    if isinstance(limit, CellPoints):
        return np.array(limit.values, dtype=np.int64)
    hours = np.arange(24) * (calendar.ticks_per_day // 24) if "hour" in calendar.parts else np.zeros(1, np.int64)
    day = calendar.ticks_per_day
    days = np.arange(limit.low // day, limit.high // day + 1, dtype=np.int64) * day
    moments = np.append((days[:, None] + hours).ravel(), [int(limit.low), int(limit.high)])
    return moments[(moments >= limit.low) & (moments <= limit.high)]


def _all_values(column: Column) -> tuple[np.ndarray, Values]:
    """Every value that a column of listed values can have, null too, and its base code."""
    if isinstance(column, Integer):
        data, null = np.arange(column.lower, column.upper + 1), np.zeros(column.upper - column.lower + 1, bool)
        codes = column.grid.code(data)
        if column.null_code is not None:
            data, null, codes = np.append(data, 0), np.append(null, True), np.append(codes, column.null_code)
        return codes, Values(data=data, null=null)
    codes = np.arange(column.size)
    return codes, decode_column(column, codes, generator(0))  # labels and truth values are not drawn


def _both(one: Condition | None, other: Condition) -> Condition:
    """Both conditions at once."""
    if one is None:
        return other
    allowed: Mask = one.allowed & other.allowed
    return replace(one, allowed=allowed)
