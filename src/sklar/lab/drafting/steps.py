"""Guess: what holds from every row of a person to the next in all rows looked at, as rules that the custodian confirms.

A rule is proposed only where rows given to persons at random would break it: what rises by a fixed amount, never falls
or never goes back. Of columns that mostly stay the same it is asked whether they ever change, and of numbers that
mostly rise by one amount whether their change is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sklar.arrays import Floats, Ints
from sklar.lab.drafting.relations import BY_CHANCE, FEW_ROWS
from sklar.lab.tables.table import ExactTable
from sklar.schema.columns import Boolean
from sklar.schema.numbers import Integer, Real
from sklar.schema.persons.linked import PREVIOUS, links, with_possible_steps
from sklar.schema.persons.person import Person
from sklar.schema.rules import AtMost, Never, Rule

MOSTLY = 0.8
"""A column that keeps its value, or changes by one amount, in so many steps is asked about, if rows at random would do
so in fewer."""
OUTSIDE = 0.001
"""Share of steps that a proposed bound on a change leaves out on each side: slips of the pen are some."""
READ_OFF = "from-rows"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Steps:
    """Values of one column in all steps: in the row before, in the row itself, and in a row of any other person."""

    before: Floats
    after: Floats
    apart: Floats

    @property
    def differences(self) -> Floats:
        """By how much the column rises."""
        return self.after - self.before

    def holds(self, sign: int) -> bool:
        """Return whether the column never falls (or rises, if the sign is -1), though at random it would."""
        falls = sign * self.differences < 0
        moves = (self.differences != 0).any()
        return bool(moves and not falls.any() and np.mean(sign * (self.apart - self.before) < 0) >= BY_CHANCE)


def with_steps(
    person: Person | None, table: ExactTable, keys: Ints, rng: np.random.Generator
) -> tuple[Person | None, Mapping[str, Sequence[str]]]:
    """Return the drafted person with the steps that hold in all rows seen, and questions about other columns.

    Args:
        person: As drafted so far.
        table: The rows looked at.
        keys: The person of each row; below 0 for none.
        rng: Gives rows to persons at random.
    """
    columns = dict(table.schema)
    if person is None or not links(columns, person) or person.order is None:
        return person, {}
    order = np.lexsort((_values(table, person.order), keys))
    order = order[keys[order] >= 0]
    later = np.flatnonzero(keys[order][1:] == keys[order][:-1]) + 1
    rules: list[Rule] = []
    notes: dict[str, list[str]] = {}
    for name in (name for name in table.names if name not in person.static):
        values = _values(table, name)[order]
        both = ~(np.isnan(values[later]) | np.isnan(values[later - 1]))
        before, after = values[later - 1][both], values[later][both]
        if len(before) < FEW_ROWS:
            continue
        steps = _Steps(before=before, after=after, apart=rng.permutation(after))
        found = list(_rules(name, table, steps, person.order))
        rules += found
        asked = None if found else _question(name, table, steps)
        notes |= {} if asked is None else {name: [asked]}
    proposed = replace(person, steps=(*person.steps, *rules))
    return with_possible_steps(columns, table.schema.rules, proposed), notes


def _rules(name: str, table: ExactTable, steps: _Steps, order: str) -> Iterator[Rule]:
    """The rule that a column obeys in all steps, if any."""
    column, differences, previous = table.schema[name], steps.differences, PREVIOUS + name
    if isinstance(column, Integer):
        low, high = int(differences.min()), int(differences.max())
        if low == high and low and np.mean(steps.apart - steps.before != low) >= BY_CHANCE:
            ends = (previous, name) if low > 0 else (name, previous)
            yield AtMost(low=ends[0], high=ends[1], at_least=abs(low), at_most=abs(low), source=READ_OFF)
            return
    if isinstance(column, Integer | Real):
        least = 1 if isinstance(column, Integer) and np.abs(differences).min() >= 1 else 0
        if steps.holds(1) and not (name == order and not least):  # rows never go back in their order anyway
            yield AtMost(low=previous, high=name, at_least=least, source=READ_OFF)
        elif steps.holds(-1):
            yield AtMost(low=name, high=previous, at_least=least, source=READ_OFF)
    elif isinstance(column, Boolean):
        for sign, stays in ((1, True), (-1, False)):
            if steps.holds(sign):
                yield Never(values={previous: stays, name: not stays}, source=READ_OFF)


def _question(name: str, table: ExactTable, steps: _Steps) -> str | None:
    """What to ask about a column that mostly keeps its value, or changes by one amount; None if it does neither."""
    whole = isinstance(table.schema[name], Integer)
    change = float(np.median(steps.differences)) if whole else 0.0
    share, by_chance = (np.mean(after - steps.before == change) for after in (steps.after, steps.apart))
    if share < MOSTLY or 1 - share >= (1 - by_chance) / 2:
        return None
    where = f"in {share:.0%} of the steps from a row of a person to the next"
    if not change:
        return (
            f"It stays the same {where}; a fit measures how often, with noise. Does it ever change? If it never does, "
            "name it in static of [person]."
        )
    low, high = (round(float(end)) for end in np.quantile(steps.differences, [OUTSIDE, 1 - OUTSIDE]))
    rule = f'kind = "at-most", low = "{PREVIOUS}{name}", high = "{name}", at_least = {low}, at_most = {high}'
    verb = "rises" if change > 0 else "falls"
    return (
        f"It {verb} by {abs(change):g} {where}. Is its change bounded, and are other changes errors? If so, add "
        f'[[steps]] with {rule}, source = "from-rows": then its change is measured, and not each value anew.'
    )


def _values(table: ExactTable, name: str) -> Floats:
    """Numbers, or codes of labels; NaN where there is none. Codes of booleans are 0 for false and 1 for true."""
    if name in table.numbers:
        return table.numbers[name]
    codes = table.codes[name].astype(np.float64)
    codes[codes >= table.schema[name].value_cells] = np.nan
    return codes
