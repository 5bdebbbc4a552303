"""From a schema to its coordinates: what public rules leave to be measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from sklar.schema.columns import Boolean, Category, Column, Labels, fresh_name
from sklar.schema.coordinates.carried import carried_rules
from sklar.schema.coordinates.lengths import difference_column, order_differences
from sklar.schema.coordinates.parts import (
    CalendarPart,
    Coordinate,
    Coordinates,
    Difference,
    DummyChoice,
    Quotient,
    RowsOfPerson,
    Same,
    View,
)
from sklar.schema.coordinates.quotients import quotient_column, ratio_quotients
from sklar.schema.coordinates.views import joined_coordinates
from sklar.schema.numbers import Datetime, Integer
from sklar.schema.persons.linked import PARENT, LinkedColumns, LinkedTable, linked_columns, links
from sklar.schema.rules import AtMost, Computing, Function, OneHot, Ratio, Sum, computing_order
from sklar.schema.table import Schema


def plain_coordinates(schema: Schema) -> Coordinates:
    """The declared columns themselves."""
    return Coordinates(declared=schema, schema=schema, parts=tuple(Same(name=name) for name in schema.modelled))


@lru_cache(maxsize=64)
def coordinates(schema: Schema) -> Coordinates:
    """The coordinates of a schema."""
    if links(schema, schema.person):
        return joined_coordinates(schema, linked_views(schema)[1])
    return _of_one_table(schema)


@lru_cache(maxsize=64)
def linked_views(schema: Schema) -> tuple[LinkedColumns, tuple[View, ...]]:
    """The tables that tell persons whose rows are linked."""
    assert schema.person is not None
    wide = linked_columns(schema, schema.rules, schema.person)
    # Columns of parents stay apart: joined to each other they left fewer fine tables across the key.
    return wide, tuple(_view(table, joins=PARENT not in wide.tables) for table in wide.tables.values())


def _view(table: LinkedTable, joins: bool) -> View:
    by = _of_linked(table)
    known = frozenset(part.name for part in by.parts if joins and table.known.issuperset(part.sources))
    return View(name=table.name, by=by, known=known)


def _of_linked(table: LinkedTable) -> Coordinates:
    laid_out = _of_one_table(Schema(table.columns, table.laid_out))
    return replace(laid_out, declared=Schema(table.columns, table.rules))


def _of_one_table(schema: Schema) -> Coordinates:
    computed = {rule.gives for rule in computing_order(schema.rules) if _is_total(schema, rule)}
    choices = [_choice(schema, rule) for rule in schema.rules if isinstance(rule, OneHot)]
    taken = {name for step in choices for name in step.columns}
    taken |= {rule.gives for rule in schema.rules if isinstance(rule, Function | Sum)}
    free = set(schema.modelled) - taken
    quotients = ratio_quotients(schema, [rule for rule in schema.rules if isinstance(rule, Ratio)], free)
    ordered = [rule for rule in schema.rules if isinstance(rule, AtMost)]
    differences = order_differences(schema, ordered, free - {step.column for step in quotients})
    told: dict[str, tuple[Coordinate, ...]] = {step.column: (step,) for step in (*differences, *quotients)}
    for choice in choices:
        told |= {name: (choice,) if name == choice.columns[0] else () for name in choice.columns}
    told |= dict.fromkeys(computed, ())
    for name in schema.modelled:
        if name not in told and (dated := calendar_parts(schema, name)):
            told[name] = dated
    counted = _rows_of_person(schema)
    if not told and counted is None:
        return plain_coordinates(schema)
    parts = {name: told.get(name, (Same(name=name),)) for name in schema.modelled}
    columns: dict[str, Column] = {}
    for name, column in schema.items():
        if not column.modelled:
            columns[name] = column
        for part in parts.get(name, ()):
            columns[part.name] = _column_of(schema, part)
    kept: tuple[Coordinate, ...] = tuple(part for several in parts.values() for part in several)
    if counted is not None and schema.person is not None:
        columns[counted.name], kept = Integer(1, schema.person.bound, source="public"), (*kept, counted)
    telling = dict(parts) | {name: (choice,) for choice in choices for name in choice.columns}
    carried = carried_rules(schema, schema.rules, telling)
    steps = (*differences, *quotients, *choices)
    return Coordinates(declared=schema, schema=Schema(columns, carried), parts=kept, steps=steps)


def _rows_of_person(schema: Schema) -> RowsOfPerson | None:
    """The number of rows of a person, where they share a vote."""
    person = schema.person
    if person is None or not person.shares_vote or not isinstance(person.rows, int):
        return None
    return RowsOfPerson(name=fresh_name(schema, f"rows of one {person.key}"))


def _is_total(schema: Schema, rule: Computing) -> bool:
    """Whether the rule gives its column in every row."""
    return isinstance(rule, Sum) or image_is_total(schema, rule)


def _choice(schema: Schema, rule: OneHot) -> DummyChoice:
    name = fresh_name(schema, " | ".join(rule.columns))
    names = tuple(rule.columns)
    return DummyChoice(name=name, columns=names, at_most_one=rule.at_most_one, none=fresh_name(names, "none"))


def _column_of(columns: Mapping[str, Column], part: Coordinate) -> Column:
    """A coordinate as a column."""
    if isinstance(part, Difference):
        return difference_column(columns, part)
    if isinstance(part, Quotient):
        return quotient_column(columns, part)
    if isinstance(part, DummyChoice):
        return Category(part.columns, other=part.none, nullable=columns[part.columns[0]].null_code is not None)
    if isinstance(part, CalendarPart):
        first, last = part.calendar.ends[part.part]
        return Integer(first, last, nullable=columns[part.column].null_code is not None)
    return columns[part.name]


def calendar_parts(columns: Mapping[str, Column], name: str) -> tuple[CalendarPart, ...]:
    """The parts that a datetime is put together from; none where its line tells everything."""
    column = columns[name]
    calendar = column.calendar_parts if isinstance(column, Datetime) else None
    if calendar is None:
        return ()
    shown = {"line": calendar.line} if calendar.line == "year" else {"line": f"{calendar.line}s"}
    return tuple(
        CalendarPart(
            name=fresh_name(columns, f"{name} ({shown.get(part, part)})"), column=name, part=part, calendar=calendar
        )
        for part in ("line", *calendar.parts)
    )


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
