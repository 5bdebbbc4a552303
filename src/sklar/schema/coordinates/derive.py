"""Derives the coordinates of a schema and their rules: what remains to be measured, given its public rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import prod

from sklar.schema.columns import Boolean, Category, Column, Labels, make_fresh_name
from sklar.schema.coordinates.lengths import (
    find_differences,
    find_quotients,
    make_difference_column,
    make_quotient_column,
)
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
from sklar.schema.coordinates.views import join_coordinates
from sklar.schema.numbers import Datetime, Integer
from sklar.schema.persons.linked import PARENT, LinkedColumns, LinkedTable, has_linked_rows, linked_columns
from sklar.schema.rules import (
    AtMost,
    Expression,
    Function,
    Label,
    Never,
    OneHot,
    Pairs,
    Ratio,
    Rule,
    Sum,
    Together,
    computing_order,
)
from sklar.schema.rules.dummies import switch_codes
from sklar.schema.rules.impossible import code_of
from sklar.schema.table import Schema


def keep_columns(schema: Schema) -> Coordinates:
    """Return the declared columns themselves."""
    return Coordinates(declared=schema, schema=schema, parts=tuple(Same(name=name) for name in schema.modelled))


@lru_cache(maxsize=64)
def coordinates(schema: Schema) -> Coordinates:
    """Return the coordinates of a schema."""
    if has_linked_rows(schema, schema.person):
        return join_coordinates(schema, linked_views(schema)[1])
    return _derive_table(schema)


@lru_cache(maxsize=64)
def linked_views(schema: Schema) -> tuple[LinkedColumns, tuple[View, ...]]:
    """Return the tables that describe persons whose rows are linked."""
    assert schema.person is not None
    wide = linked_columns(schema, schema.rules, schema.person)
    # Columns of parents are not joined first: that would leave fewer fine tables across the key.
    return wide, tuple(_make_view(table, joins=PARENT not in wide.tables) for table in wide.tables.values())


def _make_view(table: LinkedTable, joins: bool) -> View:
    laid_out = _derive_table(Schema(table.columns, table.laid_out))
    by = replace(laid_out, declared=Schema(table.columns, table.rules))
    known = frozenset(part.name for part in by.parts if joins and table.known.issuperset(part.sources))
    return View(name=table.name, by=by, known=known)


def _derive_table(schema: Schema) -> Coordinates:
    computing = computing_order(schema.rules)
    computed = {rule.gives for rule in computing if isinstance(rule, Sum) or image_is_total(schema, rule)}
    choices = [_make_choice(schema, rule) for rule in schema.rules if isinstance(rule, OneHot)]
    taken = {name for step in choices for name in step.columns}
    taken |= {rule.gives for rule in schema.rules if isinstance(rule, Function | Sum)}
    free = set(schema.modelled) - taken
    quotients = find_quotients(schema, [rule for rule in schema.rules if isinstance(rule, Ratio)], free)
    ordered = [rule for rule in schema.rules if isinstance(rule, AtMost)]
    differences = find_differences(schema, ordered, free - {step.column for step in quotients})
    parts_of: dict[str, tuple[Coordinate, ...]] = {step.column: (step,) for step in (*differences, *quotients)}
    for choice in choices:
        parts_of |= {name: (choice,) if name == choice.columns[0] else () for name in choice.columns}
    parts_of |= dict.fromkeys(computed, ())
    for name in schema.modelled:
        if name not in parts_of and (dated := calendar_parts(schema, name)):
            parts_of[name] = dated
    counted = _make_rows_of_person(schema)
    if not parts_of and counted is None:
        return keep_columns(schema)
    parts = {name: parts_of.get(name, (Same(name=name),)) for name in schema.modelled}
    columns: dict[str, Column] = {}
    for name, column in schema.items():
        if not column.modelled:
            columns[name] = column
        for part in parts.get(name, ()):
            columns[part.name] = _make_column(schema, part)
    kept: tuple[Coordinate, ...] = tuple(part for several in parts.values() for part in several)
    if counted is not None and schema.person is not None:
        columns[counted.name], kept = Integer(1, schema.person.bound, source="public"), (*kept, counted)
    parts_by_column = dict(parts) | {name: (choice,) for choice in choices for name in choice.columns}
    carried = carry_rules(schema, schema.rules, parts_by_column)
    steps = (*differences, *quotients, *choices)
    return Coordinates(declared=schema, schema=Schema(columns, carried), parts=kept, steps=steps)


def _make_rows_of_person(schema: Schema) -> RowsOfPerson | None:
    """Return the coordinate for the number of rows of a person; None where rows share no vote."""
    person = schema.person
    if person is None or not person.shares_vote or not isinstance(person.rows, int):
        return None
    return RowsOfPerson(name=make_fresh_name(schema, f"rows of one {person.key}"))


def _make_choice(schema: Schema, rule: OneHot) -> DummyChoice:
    name = make_fresh_name(schema, " | ".join(rule.columns))
    names = tuple(rule.columns)
    return DummyChoice(name=name, columns=names, at_most_one=rule.at_most_one, none=make_fresh_name(names, "none"))


def _make_column(columns: Mapping[str, Column], part: Coordinate) -> Column:
    """Return a coordinate as a column."""
    if isinstance(part, Difference):
        return make_difference_column(columns, part)
    if isinstance(part, Quotient):
        return make_quotient_column(columns, part)
    if isinstance(part, DummyChoice):
        return Category(part.columns, other=part.none, nullable=columns[part.columns[0]].null_code is not None)
    if isinstance(part, CalendarPart):
        first, last = part.calendar.ends[part.part]
        return Integer(first, last, nullable=columns[part.column].null_code is not None)
    return columns[part.name]


def calendar_parts(columns: Mapping[str, Column], name: str) -> tuple[CalendarPart, ...]:
    """Return the parts that a datetime is composed of; none where its line is enough."""
    column = columns[name]
    calendar = column.calendar_parts if isinstance(column, Datetime) else None
    if calendar is None:
        return ()
    shown = {"line": calendar.line} if calendar.line == "year" else {"line": f"{calendar.line}s"}
    return tuple(
        CalendarPart(
            name=make_fresh_name(columns, f"{name} ({shown.get(part, part)})"),
            column=name,
            part=part,
            calendar=calendar,
        )
        for part in ("line", *calendar.parts)
    )


def fitted_coordinates(schema: Schema, names: Iterable[str]) -> Coordinates:
    """Return the coordinates of a model with margins of these names: methods of the lab use the declared columns."""
    return keep_columns(schema) if tuple(names) == schema.modelled else coordinates(schema)


def image_is_total(columns: Mapping[str, Column], rule: Function) -> bool:
    """Return whether a function determines its column in every row, so that it need not be measured.

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
    if not isinstance(of, Integer) or of.upper - of.lower >= len(keys):  # a wide range is not enumerated
        return False
    return {int(key) for key in keys} >= set(range(of.lower, of.upper + 1))


MAX_COMBINATIONS = 64
"""Most combinations of coordinates for one combination of values; with more, the rule is left to samples."""

PartsByColumn = Mapping[str, tuple[Coordinate, ...]]
"""By declared column, the coordinates that it is computed from; none for those that rules compute."""


def carry_rules(columns: Mapping[str, Column], rules: Sequence[Rule], parts: PartsByColumn) -> list[Rule]:
    """Return the rules on coordinates that the declared rules imply and that can be stated simply."""
    functions = {rule.column: rule for rule in rules if isinstance(rule, Function) and not parts[rule.column]}
    found: list[Rule] = []
    for rule in rules:
        if isinstance(rule, Never):
            found += _never(columns, rule, parts, functions)
        elif isinstance(rule, Together):
            found += _together(columns, rule, parts)
        elif isinstance(rule, OneHot) and not rule.at_most_one:
            found += [
                Never(values={part.name: part.none}, source=rule.source) for part in _find_choice(parts, rule.columns)
            ]
        elif isinstance(rule, Expression | Function) and all(_is_same(parts, name) for name in rule.columns):
            found.append(rule)
    taken = {name for rule in found if isinstance(rule, Together) for name in rule.columns}
    for name, dated in parts.items():  # the parts of a datetime are null where it is
        if len(dated) > 1 and isinstance(dated[0], CalendarPart) and columns[name].null_code is not None:
            names = [part.name for part in dated]
            found += [] if taken & set(names) else [Together(columns=names, source="public")]
    return found


def _is_same(parts: PartsByColumn, name: str) -> bool:
    return all(isinstance(part, Same) for part in parts[name]) and len(parts[name]) == 1


def _find_choice(parts: PartsByColumn, names: Sequence[str]) -> list[DummyChoice]:
    return [part for part in parts[names[0]] if isinstance(part, DummyChoice)]


def _never(
    columns: Mapping[str, Column], rule: Never, parts: PartsByColumn, functions: Mapping[str, Function]
) -> Iterator[Never]:
    """Yield the combination on coordinates; a value that stands for several of them gives several combinations."""
    options = [_values(columns, parts, functions, name, value) for name, value in rule.pairs]
    known = [option for option in options if option is not None]
    if len(known) < len(options) or prod(map(len, known)) > MAX_COMBINATIONS:
        return
    for pairs in product(*known):
        if all(dict(pairs)[name] == value for name, value in pairs):  # else one coordinate would need two values
            yield replace(rule, values=dict(pairs))


def _values(
    columns: Mapping[str, Column], parts: PartsByColumn, functions: Mapping[str, Function], name: str, value: Label
) -> Pairs | None:
    """Return the values of one coordinate that a value of a declared column stands for; None if there is no such."""
    if name in functions:
        of, listed = functions[name].of, {key for key, image in functions[name].pairs if image == value}
        named = getattr(columns[of], "values", ())
        if not _is_same(parts, of) or not named or code_of(columns[name], value) == columns[name].other_code:
            return None
        return tuple((of, one) for one in named if str(one) in listed)
    part = parts[name][0] if len(parts[name]) == 1 else None
    if isinstance(part, Same):
        return ((name, value),)
    if isinstance(part, DummyChoice):
        is_set = code_of(columns[name], value) == switch_codes(columns[name])[1]
        others = (*(one for one in part.columns if one != name), part.none)
        return ((part.name, name),) if is_set else tuple((part.name, one) for one in others)
    return None


def _together(columns: Mapping[str, Column], rule: Together, parts: PartsByColumn) -> list[Together]:
    """Return the rule that coordinates are null where their columns are; unknown conditions are left out."""
    names = tuple(dict.fromkeys(part.name for name in rule.columns for part in parts[name]))
    wanted: dict[str, tuple[Label, ...]] = {}
    for name, values in rule.wanted:
        options = [_values(columns, parts, {}, name, value) for value in values]
        known = [pair for option in options if option is not None for pair in option]
        if None not in options and known[0][0] not in (*wanted, *names):
            wanted[known[0][0]] = tuple(dict.fromkeys(value for _, value in known))
    enough = len(names) >= (1 if wanted else 2)
    return [replace(rule, columns=names, only_if=wanted)] if enough else []
