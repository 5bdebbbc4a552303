"""Conditions on declared columns as conditions on the coordinates that a model draws.

A condition on a column that is a coordinate stands as it is; one on a function of another column is one on its
argument, and one on a dummy column is one on the category it belongs to. Columns that are filled together are asked for
together. A range of a sum bounds each of its parts, and one of a column that a difference or ratio tells its anchor.
What cannot be said of a coordinate is left to rejection: rows that are not as asked for are drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from sklar.arrays import Ints
from sklar.errors import UsageError
from sklar.sample.conditions import Condition, Conditions, Number, holds, read_conditions, within
from sklar.sample.decode import CellPoints, Restriction, Values, Window, decode_codes
from sklar.sample.rules.dummies import switched
from sklar.sample.rules.function import apply_function
from sklar.sample.rules.order import to_grid
from sklar.schema.calendar import Calendar
from sklar.schema.columns import Column
from sklar.schema.coordinates import CalendarPart, Coordinates, Difference, DummyChoice, Quotient
from sklar.schema.numbers import Integer, Ranged, Real
from sklar.schema.rules import Function, Sum, Together, computing_order
from sklar.schema.table import Schema

HAIR = 1e-9
"""Relative: bounds of parts are so much wider than those of their sum, which is rounded."""


def on_coordinates(by: Coordinates, conditions: Conditions) -> Conditions:
    """What is asked of the coordinates of a model; rows must still be checked for what is asked of the columns."""
    return _translated(by, _with_companions(by.declared, conditions))[0]


def exactly_on_coordinates(by: Coordinates, conditions: Conditions) -> Conditions:
    """The same where coordinates tell all that is asked for.

    Raises:
        UsageError: A condition is on a column that is computed from several coordinates.
    """
    asked, left = _translated(by, conditions)
    if left:
        raise UsageError(
            f"given: '{left[0]}' is computed from '{by.telling(left[0])}' and others, so no count of it was released"
        )
    return asked


def _translated(by: Coordinates, conditions: Conditions) -> tuple[dict[str, Condition], list[str]]:
    """Conditions on coordinates, and the columns of which these do not tell all."""
    asked, told, left = dict(conditions), by.told_by, list[str]()
    for rule in reversed(computing_order(by.declared.rules)):
        if rule.gives in asked and rule.gives not in told:
            condition = asked.pop(rule.gives)
            if isinstance(rule, Function):
                asked[rule.of] = _both(asked.get(rule.of), _on_argument(by, rule, condition))
            else:
                left.append(rule.gives)
                for name, found in _on_parts(by.declared, rule, condition).items():
                    asked[name] = _both(asked.get(name), found)
    for step in reversed(by.steps):
        if not isinstance(step, DummyChoice) and step.column in asked:
            for name, found in _on_anchor(by.declared, step, asked[step.column]).items():
                asked[name] = _both(asked.get(name), found)
    parts, dated, out = by.by_name, by.dated, dict[str, Condition]()
    for name, condition in asked.items():
        part = parts[told[name]]
        if name in dated:
            found = _on_calendar(by, dated[name], condition)
            left.append(name)
        elif isinstance(part, Difference | Quotient):
            found = {part.name: _on_null(by.schema[part.name], by.declared[name], condition)}
            left += [name] if found[part.name].allowed[0] else []
        else:
            found = {part.name: _on_choice(by, part, name, condition) if isinstance(part, DummyChoice) else condition}
        out |= {coordinate: _both(out.get(coordinate), one) for coordinate, one in found.items()}
    return out, left


def _with_companions(schema: Schema, conditions: Conditions) -> dict[str, Condition]:
    """Where a column must be filled, so must those that are null together with it, and what it depends on is known."""
    asked = dict(conditions)
    for rule in schema.rules:
        if isinstance(rule, Together) and any(
            n in asked and not _may_be_null(schema[n], asked[n]) for n in rule.columns
        ):
            for name in rule.columns:
                asked[name] = _both(asked.get(name), _filled(schema[name]))
            for name, found in read_conditions(schema, {name: list(values) for name, values in rule.wanted}).items():
                asked[name] = _both(asked.get(name), found)
    return asked


def _may_be_null(column: Column, condition: Condition) -> bool:
    return column.null_code is not None and bool(condition.allowed[column.null_code])


def _filled(column: Column) -> Condition:
    return Condition(allowed=np.arange(column.size) != column.null_code)


def _on_null(difference: Column, column: Column, condition: Condition) -> Condition:
    """All values of a difference if any of its column is asked for, and null if that is."""
    allowed = np.full(difference.size, bool(condition.allowed[: column.value_cells].any()))
    if difference.null_code is not None:
        allowed[difference.null_code] = _may_be_null(column, condition)
    return Condition(allowed=allowed)


def _on_choice(by: Coordinates, part: DummyChoice, name: str, condition: Condition) -> Condition:
    """The values of a category by which a dummy column is as asked for."""
    column, place = by.schema[part.name], np.arange(by.schema.size(part.name))
    image = switched(by.declared[name], place == part.columns.index(name), place == column.null_code)
    return Condition(allowed=holds(by.declared[name], condition, image))


def _on_argument(by: Coordinates, rule: Function, condition: Condition) -> Condition:
    """The cells of the argument that hold a value which is mapped to what is asked for."""
    of = by.declared[rule.of]
    codes, values = _all_values(of)
    image = apply_function(by.declared, rule, {rule.of: values})
    wanted = holds(by.declared[rule.column], condition, image)
    allowed = np.zeros(of.size, bool)
    allowed[codes[wanted]] = True
    return Condition(allowed=allowed)


def _on_anchor(schema: Schema, part: Difference | Quotient, condition: Condition) -> dict[str, Condition]:
    """The range that the anchor of a difference or ratio must lie in, if it is known and the column is as asked for."""
    limit, anchor = condition.restriction, schema[part.anchor]
    if limit is None or _may_be_null(schema[part.column], condition):
        return {}
    low, high = _ends(limit)
    if isinstance(part, Quotient):
        reach = low / part.most, high / part.least if part.least > 0 else math.inf
    else:
        reach = (low - part.most, high - part.least) if part.above else (low + part.least, high + part.most)
    slack = HAIR * max(abs(low), abs(high)) if isinstance(anchor, Real) else 0
    found = _window(schema, part.anchor, (reach[0] - slack, reach[1] + slack))
    if found is None:
        return {}
    allowed = found.allowed | (np.arange(anchor.size) == anchor.null_code)
    return {part.anchor: replace(found, allowed=allowed)}


def _ends(limit: Restriction) -> tuple[int | float, int | float]:
    return (limit.low, limit.high) if isinstance(limit, Window) else (limit.values[0], limit.values[-1])


def _on_parts(schema: Schema, rule: Sum, condition: Condition) -> dict[str, Condition]:
    """The range that each part of a sum must lie in if the total is as asked for, whatever the other parts are."""
    total, limit = schema[rule.total], condition.restriction
    if limit is None or _may_be_null(total, condition):
        return {}
    low, high = _ends(limit)
    rounded = 0.0 if rule.exact else 0.5 * 10.0 ** -(getattr(total, "decimals", None) or 0)
    slack = rounded + HAIR * max(abs(low), abs(high), abs(rule.offset))
    ends = {name: sorted(factor * end for end in cast(Ranged, schema[name]).span) for name, factor in rule.factors}
    asked: dict[str, Condition] = {}
    for name, factor in rule.factors:
        least = sum(ends[other][0] for other in ends if other != name) + rule.offset
        most = sum(ends[other][1] for other in ends if other != name) + rule.offset
        reach = sorted(((low - most - slack) / factor, (high - least + slack) / factor))
        found = _window(schema, name, (reach[0], reach[1]))
        asked |= {} if found is None else {name: found}
    return asked


def _window(schema: Schema, name: str, reach: tuple[int | float, int | float]) -> Condition | None:
    """A column between two numbers; None if that leaves out none of its values, or leaves none.

    (Then no row can be as asked for, which those who draw them will find.)
    """
    column = cast(Number, schema[name])
    lower, upper = column.span
    low, high = max(reach[0], lower), min(reach[1], upper)
    if not isinstance(column, Real):
        low, high = math.ceil(low), math.floor(high)
    first, last = low, high
    if (isinstance(column, Real) and column.unit is not None) or getattr(column, "step", None):
        first, last = to_grid(column, np.array([low, high]), up=False)
        last = last if first < last else lower - 1
    return None if first > last or (low, high) == (lower, upper) else within(name, column, low, high)


def _on_calendar(by: Coordinates, parts: Sequence[CalendarPart], condition: Condition) -> dict[str, Condition]:
    """For each part of a calendar, the numbers that the moments asked for have."""
    calendar, column = parts[0].calendar, by.declared[parts[0].column]
    null, any_moment = column.null_code, condition.restriction is None and bool(condition.allowed[0])
    apart, asked = calendar.take_apart(_telling_moments(calendar, condition.restriction)), dict[str, Condition]()
    for part in parts:
        allowed = np.full(by.schema.size(part.name), any_moment)
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
    if not isinstance(column, Integer):
        codes = np.arange(column.size)
        return codes, decode_codes(column, codes)
    data, null = np.arange(column.lower, column.upper + 1), np.zeros(column.upper - column.lower + 1, bool)
    codes = column.grid.code(data)
    if column.null_code is not None:
        data, null, codes = np.append(data, 0), np.append(null, True), np.append(codes, column.null_code)
    return codes, Values(data=data, null=null)


def _both(one: Condition | None, other: Condition) -> Condition:
    """Both conditions at once; of two that cut cells, the first does."""
    if one is None:
        return other
    return replace(one if one.restriction is not None else other, allowed=one.allowed & other.allowed)
