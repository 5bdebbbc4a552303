"""From a schema to its coordinates: what public rules leave to be measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from sklar.schema.columns import Boolean, Category, Column, Labels
from sklar.schema.coordinates.lengths import difference_column, free_name, order_differences
from sklar.schema.coordinates.parts import Choice, Coordinate, Coordinates, Difference, Same
from sklar.schema.numbers import Integer
from sklar.schema.rules import AtMost, Computing, Function, OneHot, Sum, computing_order
from sklar.schema.table import Schema


def plain_coordinates(schema: Schema) -> Coordinates:
    """The declared columns themselves."""
    return Coordinates(declared=schema, schema=schema, parts=tuple(Same(name=name) for name in schema.modelled))


@lru_cache(maxsize=64)
def coordinates(schema: Schema) -> Coordinates:
    """The coordinates of a schema."""
    computed = {rule.gives for rule in computing_order(schema.rules) if _is_total(schema, rule)}
    choices = [_choice(schema, rule) for rule in schema.rules if isinstance(rule, OneHot)]
    taken = {name for step in choices for name in step.columns}
    taken |= {rule.gives for rule in schema.rules if isinstance(rule, Function | Sum)}
    ordered = [rule for rule in schema.rules if isinstance(rule, AtMost)]
    steps = (*order_differences(schema, ordered, set(schema.modelled) - taken), *choices)
    if not computed and not steps:
        return plain_coordinates(schema)
    parts: dict[str, Coordinate | None] = dict.fromkeys(computed)
    for step in steps:
        parts |= dict.fromkeys(step.sources, None) if isinstance(step, Choice) else {}
        parts[step.columns[0] if isinstance(step, Choice) else step.column] = step
    kept = {name: part for name in schema if (part := parts.get(name, Same(name=name))) is not None}
    columns = {part.name: _column(schema, part) for part in kept.values()}
    modelled = tuple(part for name, part in kept.items() if schema[name].modelled)
    return Coordinates(declared=schema, schema=Schema(columns), parts=modelled, steps=steps)


def _is_total(schema: Schema, rule: Computing) -> bool:
    """Whether the rule gives its column in every row."""
    return isinstance(rule, Sum) or image_is_total(schema, rule)


def _choice(schema: Schema, rule: OneHot) -> Choice:
    name = free_name(schema, " | ".join(rule.columns))
    return Choice(name=name, columns=tuple(rule.columns), at_most_one=rule.at_most_one)


def _column(schema: Schema, part: Coordinate) -> Column:
    """A coordinate as a column."""
    if isinstance(part, Difference):
        return difference_column(schema, part)
    if isinstance(part, Choice):
        other = free_name(part.columns, "none")
        return Category(part.columns, other=other, nullable=schema[part.columns[0]].null_code is not None)
    return schema[part.name]


def fitted_coordinates(schema: Schema, names: Iterable[str]) -> Coordinates:
    """The coordinates of a model with margins of these names: methods that read rows in the lab keep to columns."""
    return plain_coordinates(schema) if tuple(names) == schema.modelled else coordinates(schema)


def image_is_total(columns: Mapping[str, Column], rule: Function) -> bool:
    """Whether a function says what its column is in every row, so that it need not be measured.

    It must list every value of its argument (`other` and null aside), and its column may be null only if the argument
    may: else nulls of its own would be lost.
    """
    of, column = columns[rule.of], columns[rule.column]
    if column.null_code is not None and of.null_code is None:
        return False
    keys = {key for key, _ in rule.pairs}
    if isinstance(of, Labels):
        return all(str(value) in keys for value in of.values)
    if isinstance(of, Boolean):
        return {key.lower() for key in keys} == {"true", "false"}
    return isinstance(of, Integer) and {int(key) for key in keys} >= _small_range(of, len(keys))


def _small_range(of: Integer, most: int) -> set[int]:
    """All values, or one that no table lists if there are more than `most`."""
    return set(range(of.lower, of.upper + 1)) if of.upper - of.lower < most else {of.lower - 1}
