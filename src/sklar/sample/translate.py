"""Conditions on declared columns as conditions on the coordinates that a model draws.

A condition on a column that is a coordinate stands as it is; one on a function of another column is one on its
argument. What cannot be said of a coordinate, as a range of a column that is computed from two, is left to rejection:
rows that are not as asked for are drawn again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from sklar.arrays import Mask
from sklar.errors import UsageError
from sklar.sample.conditions import Condition, Conditions, holds
from sklar.sample.decode import Values, decode_column
from sklar.sample.rng import generator
from sklar.sample.rules.computed import in_order
from sklar.sample.rules.function import apply_function
from sklar.schema.columns import Column
from sklar.schema.coordinates import Coordinates, Same
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
    return {name: condition for name, condition in asked.items() if name in drawn}


def exactly_on_coordinates(by: Coordinates, conditions: Conditions) -> Conditions:
    """The same where coordinates tell all that is asked for.

    Raises:
        UsageError: A condition is on a column that is computed from several coordinates.
    """
    computed = {part.column: part.name for part in by.steps}
    for name in sorted({name for name in _arguments(by, conditions) if name in computed}):
        raise UsageError(
            f"given: '{name}' is computed from '{computed[name]}' and another column, so no count of it was released"
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
