"""Rules on coordinates: what rules between declared columns say of the coordinates that tell them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from sklar.schema.columns import Column
from sklar.schema.coordinates.parts import CalendarPart, Coordinate, DummyChoice, Same
from sklar.schema.rules import Expression, Function, Label, Never, OneHot, Pairs, Rule, Together
from sklar.schema.rules.dummies import switch_codes
from sklar.schema.rules.impossible import code_of

MOST_COMBINATIONS = 64
"""A combination of values that stands for more combinations of coordinates is left to samples."""

Told = Mapping[str, tuple[Coordinate, ...]]
"""By declared column, the coordinates that tell it; none for those that are computed."""


def carried_rules(columns: Mapping[str, Column], rules: Sequence[Rule], told: Told) -> list[Rule]:
    """What of the rules can be said of coordinates. Nothing that the declared rules do not imply."""
    functions = {rule.column: rule for rule in rules if isinstance(rule, Function) and not told[rule.column]}
    found: list[Rule] = []
    for rule in rules:
        if isinstance(rule, Never):
            found += _never(columns, rule, told, functions)
        elif isinstance(rule, Together):
            found += _together(columns, rule, told)
        elif isinstance(rule, OneHot) and not rule.at_most_one:
            found += [Never(values={part.name: part.none}, source=rule.source) for part in _choice(told, rule.columns)]
        elif isinstance(rule, Expression | Function) and all(_same(told, name) for name in rule.columns):
            found.append(rule)
    taken = {name for rule in found if isinstance(rule, Together) for name in rule.columns}
    return [*found, *(rule for rule in _calendars(columns, told) if not taken & set(rule.columns))]


def _same(told: Told, name: str) -> bool:
    return all(isinstance(part, Same) for part in told[name]) and len(told[name]) == 1


def _choice(told: Told, names: Sequence[str]) -> list[DummyChoice]:
    return [part for part in told[names[0]] if isinstance(part, DummyChoice)]


def _never(
    columns: Mapping[str, Column], rule: Never, told: Told, functions: Mapping[str, Function]
) -> Iterator[Never]:
    """The combination on coordinates; a value may stand for several there, and then it is several combinations."""
    options = [_values(columns, told, functions, name, value) for name, value in rule.pairs]
    known = [option for option in options if option is not None]
    if len(known) < len(options) or prod(map(len, known)) > MOST_COMBINATIONS:
        return
    for pairs in product(*known):
        if all(dict(pairs)[name] == value for name, value in pairs):  # else it asks one coordinate for two values
            yield replace(rule, values=dict(pairs))


def _values(
    columns: Mapping[str, Column], told: Told, functions: Mapping[str, Function], name: str, value: Label
) -> Pairs | None:
    """The values of one coordinate that a value of a declared column stands for; None if it is not as simple."""
    if name in functions:
        of, listed = functions[name].of, {key for key, image in functions[name].pairs if image == value}
        named = getattr(columns[of], "values", ())
        if not _same(told, of) or not named or code_of(columns[name], value) == columns[name].other_code:
            return None
        return tuple((of, one) for one in named if str(one) in listed)
    part = told[name][0] if len(told[name]) == 1 else None
    if isinstance(part, Same):
        return ((name, value),)
    if isinstance(part, DummyChoice):
        is_set = code_of(columns[name], value) == switch_codes(columns[name])[1]
        others = (*(one for one in part.columns if one != name), part.none)
        return ((part.name, name),) if is_set else tuple((part.name, one) for one in others)
    return None


def _together(columns: Mapping[str, Column], rule: Together, told: Told) -> list[Together]:
    """A coordinate is null where the column is that it tells; conditions that cannot be said are left out."""
    names = tuple(dict.fromkeys(part.name for name in rule.columns for part in told[name]))
    wanted: dict[str, tuple[Label, ...]] = {}
    for name, values in rule.wanted:
        options = [_values(columns, told, {}, name, value) for value in values]
        known = [pair for option in options if option is not None for pair in option]
        if None not in options and known[0][0] not in (*wanted, *names):
            wanted[known[0][0]] = tuple(dict.fromkeys(value for _, value in known))
    enough = len(names) >= (1 if wanted else 2)
    return [replace(rule, columns=names, only_if=wanted)] if enough else []


def _calendars(columns: Mapping[str, Column], told: Told) -> Iterator[Together]:
    """The parts of a datetime are null where it is."""
    for name, parts in told.items():
        if len(parts) > 1 and isinstance(parts[0], CalendarPart) and columns[name].null_code is not None:
            yield Together(columns=[part.name for part in parts], source="public")
