"""Longitudinal data: tables for the first rows and the transitions of persons, each with one vote per person.

The table of first rows has a row for each person: the first row, and the person's number of rows. The table of steps
has a row for each transition: both rows, static columns, and the number of rows that follow. Rules across rows are
rules between the columns of a step. Where static columns have a table of their own, of parents, that is the first
table: parents with their number of rows, which may be 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sklar.schema.columns import Column, Labels, make_fresh_name
from sklar.schema.numbers import Integer, Ranged, Real
from sklar.schema.persons.person import Person
from sklar.schema.rules import AtMost, Expression, Never, Ratio, Rule, Totals, rule_faults
from sklar.schema.rules.order import root_of

PARENT, FIRST, NEXT = "parent", "first row", "next row"
"""The tables, in the order in which they are drawn."""
PREVIOUS = "previous "
"""Prefix of the name of a column: its value in the row before."""
FIRST_OF = "first "
"""Prefix of the name of a column: its value in a person's first row."""
MAX_LINKED_ROWS = 64
"""Most rows of a person for rows to be linked: a final value is a rule for each number of rows that may follow."""
MAX_ORDER_VALUES = 32
"""Maximum values of an ordinal column that orders rows: each decreasing pair of them is a rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedTable:
    """One of the tables.

    Attributes:
        name: Its name.
        columns: Its columns.
        rules: The rules that each of its rows obeys.
        known: Those columns that are given when a row of it is drawn.
        more: The column with the number of rows of the person, or of rows that follow; "" if there is none.
    """

    name: str
    columns: Mapping[str, Column]
    rules: tuple[Rule, ...]
    known: frozenset[str] = frozenset()
    more: str

    @property
    def laid_out(self) -> tuple[Rule, ...]:
        """The rules that define coordinates; the others are left to the samples.

        No column that is given when a row is drawn is computed from another one.
        """
        tree: dict[str, str] = {}
        kept: list[Rule] = []
        for rule in self.rules:
            backwards = isinstance(rule, Ratio) and rule.column in self.known
            if not backwards and (not isinstance(rule, AtMost) or _join_columns(tree, self.known, rule)):
                kept.append(rule)
        return tuple(kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedColumns:
    """The tables that describe persons.

    Attributes:
        static: Columns that never change.
        moving: Columns that may change from row to row.
        tables: By name, in the order in which they are drawn.
    """

    static: tuple[str, ...]
    moving: tuple[str, ...]
    tables: Mapping[str, LinkedTable]

    @property
    def previous(self) -> dict[str, str]:
        """By moving column, the name of its value in the row before."""
        return {name: PREVIOUS + name for name in self.moving}

    @property
    def begins(self) -> LinkedTable:
        """The first table of persons."""
        return next(iter(self.tables.values()))

    @property
    def person_columns(self) -> dict[str, str]:
        """Names for conditions on whole persons, with the columns of the first table that they mean."""
        own = self.begins.columns
        firsts = {FIRST_OF + name: name for name in self.moving if name in own}
        return firsts | {name: name for name in own if name not in self.moving}


def has_linked_rows(columns: Mapping[str, Column], person: Person | None) -> bool:
    """Return whether rows of a person are modelled as longitudinal data."""
    if person is None or person.linked is False or not isinstance(person.rows, int):
        return False
    if person.parents is not None:
        return (
            person.weights == "votes" and 1 <= person.rows <= MAX_LINKED_ROWS and _has_few_values(columns, person.order)
        )
    ordered = person.order in columns and _has_few_values(columns, person.order)
    return ordered and person.shares_vote and 2 <= person.rows <= MAX_LINKED_ROWS


def keep_modelled_static(columns: Mapping[str, Column], person: Person | None) -> Person | None:
    """Return the person with its modelled static columns; without static columns where rows are not linked."""
    if person is None or (person.parents is not None and not has_linked_rows(columns, person)):
        return person
    kept = [name for name in person.static if _is_modelled(columns, name)] if has_linked_rows(columns, person) else []
    return replace(person, static=kept)


def keep_possible_steps(columns: Mapping[str, Column], rules: Sequence[Rule], person: Person | None) -> Person | None:
    """Return the person without unconfirmed steps that the columns or rules make impossible."""
    if person is None:
        return None
    kept = [rule.source != "from-rows" for rule in person.steps]
    for at in (at for at, stated in enumerate(kept) if not stated):
        tried = [rule for place, rule in enumerate(person.steps) if kept[place] or place == at]
        kept[at] = has_linked_rows(columns, person) and not linked_faults(columns, rules, replace(person, steps=tried))
    return replace(person, steps=[rule for rule, stays in zip(person.steps, kept, strict=True) if stays])


def linked_columns(columns: Mapping[str, Column], rules: Sequence[Rule], person: Person) -> LinkedColumns:
    """Return the tables of a schema whose rows are linked."""
    modelled = {name: column for name, column in columns.items() if column.modelled}
    static = tuple(name for name in modelled if name in person.static)
    moving = tuple(name for name in modelled if name not in static)
    tables = [_make_parents_table(modelled, rules, static, person)] if person.parents is not None else []
    tables.append(_make_first_table(modelled, rules, static, person))
    if person.bound > 1:
        tables.append(_make_steps_table(modelled, rules, (static, moving), person))
    return LinkedColumns(static=static, moving=moving, tables={table.name: table for table in tables})


def linked_faults(columns: Mapping[str, Column], rules: Sequence[Rule], person: Person) -> list[str]:
    """List all faults of what a schema states about longitudinal rows."""
    faults = [f"static: '{name}' is not a modelled column" for name in person.static if not _is_modelled(columns, name)]
    if person.order in person.static:
        faults.append(f"static: '{person.order}' orders the rows, so it changes")
    if not has_linked_rows(columns, person):
        if person.linked or person.static or person.steps:
            faults.append(
                f'linked rows, static columns and steps need order, weights = "votes" and 2 to {MAX_LINKED_ROWS} rows; '
                f"an ordinal order has at most {MAX_ORDER_VALUES} values"
            )
        return faults
    taken = [name for name in columns if name.startswith(PREVIOUS) and name.removeprefix(PREVIOUS) in columns]
    faults += [f"'{name}' is a column, so that the row before has no name for it: rename it" for name in taken]
    if not {name for name, column in columns.items() if column.modelled} - {*person.static}:
        faults.append("static: no column is left that may change from row to row")
    if any(isinstance(rule, Totals) for rule in rules):
        faults.append("totals of rows cannot be met where rows of a person are linked; use linked = false")
    if faults:
        return faults
    wide = linked_columns(columns, rules, person)
    if NEXT in wide.tables and (own := rule_faults(wide.tables[NEXT].columns, person.steps)):
        return [f"steps: {fault}" for fault in own]
    return [
        fault.replace("rule ", "steps: rule " if name == NEXT else f"{name}: rule ", 1)
        for name, table in wide.tables.items()
        for fault in rule_faults(table.columns, table.rules)
    ]


def _make_parents_table(
    columns: Mapping[str, Column], rules: Sequence[Rule], static: Sequence[str], person: Person
) -> LinkedTable:
    count = _count_name(columns)
    own = {name: columns[name] for name in static} | {count: Integer(0, person.bound, source="public")}
    return LinkedTable(name=PARENT, columns=own, rules=_select_rules(rules, own), more=count)


def _make_first_table(
    columns: Mapping[str, Column], rules: Sequence[Rule], static: Sequence[str], person: Person
) -> LinkedTable:
    count = _count_name(columns) if person.bound > 1 else ""
    own = dict(columns) | ({count: Integer(1, person.bound, source="public")} if count else {})
    ends = (
        [*_make_ending_rules(person, count, range(2, person.bound + 1)), *_make_room_rules(columns, person, count, 1)]
        if count
        else []
    )
    known = frozenset([*static, count]) if person.parents is not None else frozenset[str]()
    return LinkedTable(name=FIRST, columns=own, rules=(*_select_rules(rules, own), *ends), known=known, more=count)


def _make_steps_table(
    columns: Mapping[str, Column],
    rules: Sequence[Rule],
    names: tuple[Sequence[str], Sequence[str]],
    person: Person,
) -> LinkedTable:
    static, moving = names
    own = {name: columns[name] for name in static} | {PREVIOUS + name: columns[name] for name in moving}
    known = frozenset(own)
    own |= {name: columns[name] for name in moving}
    left = make_fresh_name(own, "rows after") if person.bound > 2 else ""
    if left:
        own[left] = Integer(0, person.bound - 2, source="public")
    held = (
        *person.steps,
        *_make_order_rules(columns, person.order),
        *rules,
        *_make_ending_rules(person, left, range(1, person.bound - 1)),
        *(_make_room_rules(columns, person, left, 0) if left else []),
    )
    return LinkedTable(name=NEXT, columns=own, rules=held, known=known | {left}, more=left)


def _select_rules(rules: Sequence[Rule], columns: Mapping[str, Column]) -> tuple[Rule, ...]:
    """Return the rules about these columns alone."""
    return tuple(rule for rule in rules if set(rule.columns) <= set(columns))


def _make_order_rules(columns: Mapping[str, Column], order: str | None) -> list[Rule]:
    """Return the rules that rows of a person do not go back in their order."""
    if order is None:
        return []
    column = columns[order]
    if isinstance(column, Ranged):
        return [AtMost(low=PREVIOUS + order, high=order, source="public")]
    values = [*getattr(column, "values", ())]
    return [
        Never(values={PREVIOUS + order: later, order: earlier}, source="public")
        for at, later in enumerate(values)
        for earlier in values[:at]
    ]


def _make_ending_rules(person: Person, name: str, numbers: range) -> list[Rule]:
    """Return the rules that no row has a final value while more rows follow."""
    return [
        Never(
            values={**{key.removeprefix(PREVIOUS): value for key, value in rule.pairs}, name: number}, source="public"
        )
        for rule in person.steps
        if isinstance(rule, Never) and all(column.startswith(PREVIOUS) for column in rule.columns)
        for number in numbers
    ]


def _make_room_rules(columns: Mapping[str, Column], person: Person, name: str, own: int) -> list[Rule]:
    """Return the rules that a rising value leaves room for the rows that follow (`own` counts the row itself)."""
    rises = {rule.high: rule.at_least for rule in person.steps
             if isinstance(rule, AtMost) and rule.low == PREVIOUS + rule.high and rule.at_least > 0}  # fmt: skip
    return [
        Expression(f"`{rising}` + {step!r} * (`{name}` - {own}) <= {column.upper!r}", source="public")
        for rising, step in rises.items()
        if isinstance(column := columns.get(rising), Integer | Real) and "`" not in rising + name
    ]


def _join_columns(tree: dict[str, str], known: frozenset[str], rule: AtMost) -> bool:
    """Join the two columns of a rule, unless both have a given column in their tree, which names the tree."""
    low, high = root_of(tree, rule.low), root_of(tree, rule.high)
    if low in known and high in known:
        return False
    if low != high:
        tree.update({high: low} if low in known else {low: high})
    return True


def _has_few_values(columns: Mapping[str, Column], order: str | None) -> bool:
    """Return whether an order has few values, if it is one of labels."""
    column = None if order is None else columns.get(order)
    return not isinstance(column, Labels) or column.value_cells <= MAX_ORDER_VALUES


def _is_modelled(columns: Mapping[str, Column], name: str) -> bool:
    return name in columns and columns[name].modelled


def _count_name(columns: Mapping[str, Column]) -> str:
    return make_fresh_name(columns, "rows of the person")
