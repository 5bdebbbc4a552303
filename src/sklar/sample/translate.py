"""Translate conditions on declared columns into conditions on the coordinates that a model draws.

A condition on a column that is a coordinate stays as it is; one on a function of another column becomes one on its
argument, and one on a dummy column one on its category. Columns that are filled together share the condition of being
filled. A range of a sum bounds each of its parts, and a range of a column given by a difference or ratio bounds its
anchor. What cannot be expressed on coordinates is left to rejection: rows that do not meet it are drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from sklar.arrays import Ints
from sklar.errors import UsageError
from sklar.sample.conditions import Condition, Conditions, Number, meets_condition, read_conditions, restrict_to_range
from sklar.sample.decode import CellPoints, Restriction, Values, Window, decode_codes
from sklar.sample.rules.dummies import set_dummy
from sklar.sample.rules.function import apply_function
from sklar.sample.rules.order import to_grid
from sklar.schema.calendar import Calendar
from sklar.schema.columns import Column
from sklar.schema.coordinates import CalendarPart, Coordinates, Difference, DummyChoice, Quotient
from sklar.schema.numbers import Integer, Ranged, Real
from sklar.schema.rules import Function, Sum, Together, computing_order
from sklar.schema.table import Schema

RELATIVE_SLACK = 1e-9
"""Bounds of parts are wider by this part than those of their sum, which is rounded."""


def on_coordinates(by: Coordinates, conditions: Conditions) -> Conditions:
    """Return conditions on the coordinates of a model; rows must still be checked for the conditions on columns."""
    return _translated(by, _with_companions(by.declared, conditions))[0]


def exactly_on_coordinates(by: Coordinates, conditions: Conditions) -> Conditions:
    """Return equivalent conditions on coordinates.

    Raises:
        UsageError: A condition is on a column that is computed from several coordinates.
    """
    conditions_left, left = _translated(by, conditions)
    if left:
        raise UsageError(
            f"given: '{left[0]}' is computed from '{by.find_coordinate(left[0])}' and others, so no count of it was "
            "released"
        )
    return conditions_left


def _translated(by: Coordinates, conditions: Conditions) -> tuple[dict[str, Condition], list[str]]:
    """Return conditions on coordinates, and the columns for which these are not sufficient."""
    conditions_left, coordinates, left = dict(conditions), by.coordinate_of_column, list[str]()
    for rule in reversed(computing_order(by.declared.rules)):
        if rule.gives in conditions_left and rule.gives not in coordinates:
            condition = conditions_left.pop(rule.gives)
            if isinstance(rule, Function):
                conditions_left[rule.of] = _both(conditions_left.get(rule.of), _on_argument(by, rule, condition))
            else:
                left.append(rule.gives)
                for name, found in _on_parts(by.declared, rule, condition).items():
                    conditions_left[name] = _both(conditions_left.get(name), found)
    for step in reversed(by.steps):
        if not isinstance(step, DummyChoice) and step.column in conditions_left:
            for name, found in _on_anchor(by.declared, step, conditions_left[step.column]).items():
                conditions_left[name] = _both(conditions_left.get(name), found)
    parts, dated, out = by.by_name, by.dated, dict[str, Condition]()
    for name, condition in conditions_left.items():
        part = parts[coordinates[name]]
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
    """Add that columns which are null together with a filled one are filled, with the values this depends on."""
    conditions_left = dict(conditions)
    for rule in schema.rules:
        if isinstance(rule, Together) and any(
            n in conditions_left and not _may_be_null(schema[n], conditions_left[n]) for n in rule.columns
        ):
            for name in rule.columns:
                conditions_left[name] = _both(conditions_left.get(name), _exclude_null(schema[name]))
            for name, found in read_conditions(schema, {name: list(values) for name, values in rule.wanted}).items():
                conditions_left[name] = _both(conditions_left.get(name), found)
    return conditions_left


def _may_be_null(column: Column, condition: Condition) -> bool:
    return column.null_code is not None and bool(condition.allowed[column.null_code])


def _exclude_null(column: Column) -> Condition:
    return Condition(allowed=np.arange(column.size) != column.null_code)


def _on_null(difference: Column, column: Column, condition: Condition) -> Condition:
    """Allow all values of a difference if any value of its column is allowed, and null if that is."""
    allowed = np.full(difference.size, bool(condition.allowed[: column.value_cells].any()))
    if difference.null_code is not None:
        allowed[difference.null_code] = _may_be_null(column, condition)
    return Condition(allowed=allowed)


def _on_choice(by: Coordinates, part: DummyChoice, name: str, condition: Condition) -> Condition:
    """Allow the values of a category for which a dummy column meets its condition."""
    column, place = by.schema[part.name], np.arange(by.schema.size(part.name))
    image = set_dummy(by.declared[name], place == part.columns.index(name), place == column.null_code)
    return Condition(allowed=meets_condition(by.declared[name], condition, image))


def _on_argument(by: Coordinates, rule: Function, condition: Condition) -> Condition:
    """Allow the cells of the argument with a value whose image meets the condition."""
    of = by.declared[rule.of]
    codes, values = _all_values(of)
    image = apply_function(by.declared, rule, {rule.of: values})
    wanted = meets_condition(by.declared[rule.column], condition, image)
    allowed = np.zeros(of.size, bool)
    allowed[codes[wanted]] = True
    return Condition(allowed=allowed)


def _on_anchor(schema: Schema, part: Difference | Quotient, condition: Condition) -> dict[str, Condition]:
    """Return the range of the anchor of a difference or ratio, if it is not null and the column meets its condition."""
    limit, anchor = condition.restriction, schema[part.anchor]
    if limit is None or _may_be_null(schema[part.column], condition):
        return {}
    low, high = _get_ends(limit)
    if isinstance(part, Quotient):
        reach = low / part.most, high / part.least if part.least > 0 else math.inf
    else:
        reach = (low - part.most, high - part.least) if part.above else (low + part.least, high + part.most)
    slack = RELATIVE_SLACK * max(abs(low), abs(high)) if isinstance(anchor, Real) else 0
    found = _window(schema, part.anchor, (reach[0] - slack, reach[1] + slack))
    if found is None:
        return {}
    allowed = found.allowed | (np.arange(anchor.size) == anchor.null_code)
    return {part.anchor: replace(found, allowed=allowed)}


def _get_ends(limit: Restriction) -> tuple[int | float, int | float]:
    return (limit.low, limit.high) if isinstance(limit, Window) else (limit.values[0], limit.values[-1])


def _on_parts(schema: Schema, rule: Sum, condition: Condition) -> dict[str, Condition]:
    """Return the range of each part of a sum if the total meets its condition, for any values of the other parts."""
    total, limit = schema[rule.total], condition.restriction
    if limit is None or _may_be_null(total, condition):
        return {}
    low, high = _get_ends(limit)
    rounded = 0.0 if rule.exact else 0.5 * 10.0 ** -(getattr(total, "decimals", None) or 0)
    slack = rounded + RELATIVE_SLACK * max(abs(low), abs(high), abs(rule.offset))
    ends = {name: sorted(factor * end for end in cast(Ranged, schema[name]).span) for name, factor in rule.factors}
    conditions_left: dict[str, Condition] = {}
    for name, factor in rule.factors:
        least = sum(ends[other][0] for other in ends if other != name) + rule.offset
        most = sum(ends[other][1] for other in ends if other != name) + rule.offset
        reach = sorted(((low - most - slack) / factor, (high - least + slack) / factor))
        found = _window(schema, name, (reach[0], reach[1]))
        conditions_left |= {} if found is None else {name: found}
    return conditions_left


def _window(schema: Schema, name: str, reach: tuple[int | float, int | float]) -> Condition | None:
    """Return the condition that a column is between two numbers; None if that excludes none of its values, or all.

    (In the latter case no row can meet the conditions, which drawing rows will show.)
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
    return None if first > last or (low, high) == (lower, upper) else restrict_to_range(name, column, low, high)


def _on_calendar(by: Coordinates, parts: Sequence[CalendarPart], condition: Condition) -> dict[str, Condition]:
    """Allow, for each calendar part, the numbers that timestamps meeting the condition have."""
    calendar, column = parts[0].calendar, by.declared[parts[0].column]
    null, any_time = column.null_code, condition.restriction is None and bool(condition.allowed[0])
    apart, conditions_left = (
        calendar.take_apart(_representative_times(calendar, condition.restriction)),
        dict[str, Condition](),
    )
    for part in parts:
        allowed = np.full(by.schema.size(part.name), any_time)
        allowed[apart[part.part] - calendar.ends[part.part][0]] = True
        if null is not None:
            allowed[-1] = condition.allowed[null]
        conditions_left[part.name] = Condition(allowed=allowed)
    return conditions_left


def _representative_times(calendar: Calendar, limit: Restriction | None) -> Ints:
    """Return timestamps that together have every calendar part of timestamps within the limit."""
    if limit is None:
        return np.zeros(0, dtype=np.int64)
    if isinstance(limit, CellPoints):
        return np.array(limit.values, dtype=np.int64)
    hours = np.arange(24) * (calendar.ticks_per_day // 24) if "hour" in calendar.parts else np.zeros(1, np.int64)
    day = calendar.ticks_per_day
    days = np.arange(limit.low // day, limit.high // day + 1, dtype=np.int64) * day
    times = np.append((days[:, None] + hours).ravel(), [int(limit.low), int(limit.high)])
    return times[(times >= limit.low) & (times <= limit.high)]


def _all_values(column: Column) -> tuple[np.ndarray, Values]:
    """Return the base code of every value of a column of listed values, including null, and the values."""
    if not isinstance(column, Integer):
        codes = np.arange(column.size)
        return codes, decode_codes(column, codes)
    data, null = np.arange(column.lower, column.upper + 1), np.zeros(column.upper - column.lower + 1, bool)
    codes = column.grid.code(data)
    if column.null_code is not None:
        data, null, codes = np.append(data, 0), np.append(null, True), np.append(codes, column.null_code)
    return codes, Values(data=data, null=null)


def _both(one: Condition | None, other: Condition) -> Condition:
    """Return the conjunction of two conditions; if both restrict values inside cells, the first restriction is kept."""
    if one is None:
        return other
    return replace(one if one.restriction is not None else other, allowed=one.allowed & other.allowed)
