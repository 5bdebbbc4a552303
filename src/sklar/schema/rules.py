"""Public rules that every synthetic row obeys. The custodian states them; they cost nothing and always hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from sklar.schema.columns import Boolean, Column, Labels
from sklar.schema.grid import parse_time
from sklar.schema.numbers import Datetime, Integer, Real

Label = str | int | bool
Pairs = tuple[tuple[str, Label], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AtMost:
    """In every row the value of `low` is at most the value of `high` (rows where either is null are free)."""

    low: str
    high: str

    kind: ClassVar[str] = "at-most"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.low, self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Never:
    """No row has all of these values at once (a structural zero), as {"sex": "M", "pregnant": True}."""

    values: Mapping[str, Label] | Pairs

    kind: ClassVar[str] = "never"

    def __post_init__(self) -> None:
        pairs = self.values.items() if isinstance(self.values, Mapping) else self.values
        object.__setattr__(self, "values", tuple(dict(pairs).items()))

    @property
    def pairs(self) -> Pairs:
        """The forbidden combination as pairs of column and value."""
        return tuple(self.values)  # type: ignore[arg-type]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """The value of `column` is a public function of the value of `of`, as a region of its town.

    Values of `of` that the table does not list leave `column` as it was drawn.
    """

    column: str
    of: str
    table: Mapping[str, Label] | Pairs

    kind: ClassVar[str] = "function"

    def __post_init__(self) -> None:
        pairs = self.table.items() if isinstance(self.table, Mapping) else self.table
        object.__setattr__(self, "table", tuple({_key(key): value for key, value in pairs}.items()))

    @property
    def pairs(self) -> Pairs:
        """The function as pairs of a value of `of` (as text) and the value of `column`."""
        return tuple(self.table)  # type: ignore[arg-type]

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column, self.of)


def _key(value: object) -> str:
    """A value of the argument column as the schema file writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


Rule = AtMost | Never | Function
RULES: dict[str, type[Rule]] = {rule.kind: rule for rule in (AtMost, Never, Function)}


def rule_faults(columns: Mapping[str, Column], rules: Iterable[Rule]) -> list[str]:
    """Everything that is wrong with the rules of a schema."""
    faults: list[str] = []
    for i, rule in enumerate(rules, 1):
        faults += [f"rule {i} ({rule.kind}): {fault}" for fault in _faults_of(columns, rule)]
    return faults or _function_chain_faults([c for c in rules if isinstance(c, Function)])


def _faults_of(columns: Mapping[str, Column], rule: Rule) -> list[str]:
    unknown = [name for name in rule.columns if name not in columns or not columns[name].modelled]
    if unknown:
        return [f"'{name}' is not a modelled column" for name in unknown]
    if isinstance(rule, AtMost):
        if rule.low == rule.high:
            return ["it needs two different columns"]
        return _at_most_faults(columns[rule.low], columns[rule.high])
    if isinstance(rule, Never):
        if not rule.pairs:
            return ["it names no values"]
        return [f"'{v}' is not a value of '{n}'" for n, v in rule.pairs if not _is_value(columns[n], v)]
    return _function_faults(columns, rule)


def _function_faults(columns: Mapping[str, Column], rule: Function) -> list[str]:
    faults = [] if rule.pairs else ["its table is empty"]
    faults += [f"'{k}' is not a value of '{rule.of}'" for k, _ in rule.pairs if not _is_key(columns[rule.of], k)]
    column = columns[rule.column]
    return faults + [f"'{v}' is not a value of '{rule.column}'" for _, v in rule.pairs if not _is_value(column, v)]


def _at_most_faults(low: Column, high: Column) -> list[str]:
    if isinstance(low, Datetime) and isinstance(high, Datetime):
        if low.resolution != high.resolution:
            return ["both datetimes must have the same resolution"]
        return [] if low.tick(low.lower) <= high.tick(high.upper) else ["it can never hold with these bounds"]
    if isinstance(low, Integer | Real) and isinstance(high, Integer | Real):
        return [] if low.lower <= high.upper else ["it can never hold with these bounds"]
    return ["both columns must be numbers, or both datetimes"]


def _is_value(column: Column, value: Label) -> bool:
    if isinstance(column, Labels):
        same_type = type(value) is type(column.other)  # else true would pass for the label 1
        return same_type and (value in column.values or value == column.other)
    if isinstance(column, Boolean):
        return isinstance(value, bool)
    if isinstance(column, Integer):
        return type(value) is int and column.lower <= value <= column.upper
    return False


def _is_key(column: Column, key: str) -> bool:
    """Whether a text stands for a value of the column; the table of a function lists its arguments as text."""
    if isinstance(column, Labels):
        return key in (str(v) for v in (*column.values, column.other))
    if isinstance(column, Boolean):
        return key.lower() in ("true", "false")
    try:
        if isinstance(column, Datetime):
            return parse_time(column.lower) <= parse_time(key) <= parse_time(column.upper)
        if isinstance(column, Integer):
            return column.lower <= int(key) <= column.upper
        return isinstance(column, Real) and column.lower <= float(key) <= column.upper
    except ValueError:
        return False


def _function_chain_faults(functions: list[Function]) -> list[str]:
    """A column may be given by one function only, and functions may not go round in a circle."""
    given = [f.column for f in functions]
    faults = [f"column '{name}' is given by two functions" for name in sorted(set(given)) if given.count(name) > 1]
    parent = {f.column: f.of for f in functions}
    for name in parent:
        seen, at = {name}, parent[name]
        while at in parent and at not in seen:
            seen.add(at)
            at = parent[at]
        if at == name:
            faults.append(f"the functions that give '{name}' go round in a circle")
    return faults
