"""Rows of a person that follow one another: the columns of a first row, and of a row together with the one before.

Persons are told by two tables, each of one vote a person. The table of first rows has a row for each person: its
first row, and how many rows the person has. The table of steps has a row for each row with one before it: both rows, what
never changes, and how many rows come after. Rules across rows are rules between the columns of a step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sklar.schema.columns import Column, Labels
from sklar.schema.numbers import Integer, Ranged
from sklar.schema.person import Person
from sklar.schema.rules import AtMost, Never, Ratio, Rule, Totals, rule_faults

PREVIOUS = "previous "
"""Before the name of a column: its value in the row before."""
MOST_LINKED = 64
"""Most rows of a person for rows to be linked: what ends a person is a rule for each number of rows that may follow."""
MOST_ORDINALS = 32
"""Most values of an ordinal that tells the order: each pair of them that goes down is a rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedColumns:
    """The columns and rules of the two tables.

    Attributes:
        moving: Columns that may change from row to row.
        static: Columns that never do.
        count: Name of the column of first rows that tells the number of rows of the person.
        left: Name of the column of steps that tells how many rows come after; "" where none can.
        first: The columns of a first row.
        first_rules: The rules of first rows.
        steps: The columns of a step: what never changes, the row before, the row itself, the number of rows after.
        step_rules: The rules of steps.
    """

    moving: tuple[str, ...]
    static: tuple[str, ...]
    count: str
    left: str
    first: Mapping[str, Column]
    first_rules: tuple[Rule, ...]
    steps: Mapping[str, Column]
    step_rules: tuple[Rule, ...]

    @property
    def laid_out(self) -> tuple[Rule, ...]:
        """The rules of steps by which a step is taken apart; the others are left to the samples.

        No column that is known when a row is drawn, static or of the row before, is told by another one.
        """
        known = {*self.static, *self.previous.values(), self.left}
        tree: dict[str, str] = {}
        kept: list[Rule] = []
        for rule in self.step_rules:
            if isinstance(rule, Ratio) and rule.column in known:
                continue
            if isinstance(rule, AtMost) and not _joined(tree, known, rule):
                continue
            kept.append(rule)
        return tuple(kept)

    @property
    def previous(self) -> dict[str, str]:
        """By moving column, the name of its value in the row before."""
        return {name: PREVIOUS + name for name in self.moving}


def links(columns: Mapping[str, Column], person: Person | None) -> bool:
    """Whether rows of a person are told as following one another."""
    if person is None or person.order is None or person.linked is False or not person.shares_vote:
        return False
    order = columns.get(person.order)
    few = not isinstance(order, Labels) or order.value_cells <= MOST_ORDINALS
    return isinstance(person.rows, int) and 2 <= person.rows <= MOST_LINKED and order is not None and few


def linked_columns(columns: Mapping[str, Column], rules: Sequence[Rule], person: Person) -> LinkedColumns:
    """The columns and rules of both tables, of a schema whose rows are linked."""
    modelled = {name: column for name, column in columns.items() if column.modelled}
    static = tuple(name for name in modelled if name in person.static)
    moving = tuple(name for name in modelled if name not in static)
    steps = {name: modelled[name] for name in static}
    steps |= {PREVIOUS + name: modelled[name] for name in moving} | {name: modelled[name] for name in moving}
    count, left = _fresh(steps, "rows of the person"), _fresh(steps, "rows after") if person.bound > 2 else ""
    if left:
        steps[left] = Integer(0, person.bound - 2, source="public")
    ends = [rule for rule in person.steps if isinstance(rule, Never) and not {*rule.columns} - _before(moving)]
    return LinkedColumns(
        moving=moving,
        static=static,
        count=count,
        left=left,
        first=modelled | {count: Integer(1, person.bound, source="public")},
        first_rules=(*rules, *_ending(ends, count, range(2, person.bound + 1))),
        steps=steps,
        step_rules=(
            *person.steps,
            *_in_order(modelled, person.order or ""),
            *rules,
            *_ending(ends, left, range(1, person.bound - 1)),
        ),
    )


def linked_faults(columns: Mapping[str, Column], rules: Sequence[Rule], person: Person) -> list[str]:
    """Everything that is wrong with what a schema says about rows that follow one another."""
    faults = [f"static: '{name}' is not a modelled column" for name in person.static if not _modelled(columns, name)]
    if person.order in person.static:
        faults.append(f"static: '{person.order}' tells the order of rows, so it changes")
    if not links(columns, person):
        if person.linked or person.static or person.steps:
            faults.append(
                f'linked rows, static columns and steps need order, weights = "votes" and 2 to {MOST_LINKED} rows; '
                f"an ordinal order has at most {MOST_ORDINALS} values"
            )
        return faults
    taken = [name for name in columns if name.startswith(PREVIOUS) and name.removeprefix(PREVIOUS) in columns]
    faults += [f"'{name}' is a column, so that the row before has no name for it: rename it" for name in taken]
    if any(isinstance(rule, Totals) for rule in rules):
        faults.append("totals of rows cannot be met where rows of a person are linked; use linked = false")
    if faults:
        return faults
    wide = linked_columns(columns, rules, person)
    return [
        *(fault.replace("rule ", "steps: rule ", 1) for fault in rule_faults(wide.steps, wide.step_rules)),
        *(fault.replace("rule ", "first rows: rule ", 1) for fault in rule_faults(wide.first, wide.first_rules)),
    ]


def _in_order(columns: Mapping[str, Column], order: str) -> list[Rule]:
    """Rows of a person do not go back in their order."""
    column = columns[order]
    if isinstance(column, Ranged):
        return [AtMost(low=PREVIOUS + order, high=order, source="public")]
    values = [*getattr(column, "values", ())]
    return [
        Never(values={PREVIOUS + order: later, order: earlier}, source="public")
        for at, later in enumerate(values)
        for earlier in values[:at]
    ]


def _before(moving: Sequence[str]) -> set[str]:
    return {PREVIOUS + name for name in moving}


def _ending(ends: Sequence[Never], name: str, numbers: range) -> list[Rule]:
    """No row is what nothing comes after while there are more rows to come."""
    return [
        Never(
            values={**{key.removeprefix(PREVIOUS): value for key, value in rule.pairs}, name: number}, source="public"
        )
        for rule in ends
        for number in numbers
    ]


def _joined(tree: dict[str, str], known: set[str], rule: AtMost) -> bool:
    """Join the two columns of a rule, unless both sides have a known one; a tree is named by its known column."""
    low, high = _root(tree, rule.low), _root(tree, rule.high)
    if low in known and high in known:
        return False
    if low != high:
        tree.update({high: low} if low in known else {low: high})
    return True


def _root(tree: Mapping[str, str], name: str) -> str:
    while name in tree:
        name = tree[name]
    return name


def _modelled(columns: Mapping[str, Column], name: str) -> bool:
    return name in columns and columns[name].modelled


def _fresh(taken: Mapping[str, Column], name: str) -> str:
    while name in taken:
        name = f"({name})"
    return name
