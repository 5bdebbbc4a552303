"""Find rules that hold from each row of a person to the next in all sampled rows; the custodian has to confirm them.

A rule is proposed only if rows assigned to persons at random would break it: a number rises by a fixed amount or never
falls, or a boolean never goes back. For columns that mostly stay the same there is a question whether they ever change,
and for numbers that mostly rise by one amount whether their change is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sklar.arrays import Floats, Ints
from sklar.lab.drafting.relations import FROM_ROWS, MIN_BROKEN_AT_RANDOM, MIN_RULE_ROWS
from sklar.lab.tables.table import ExactTable
from sklar.schema.columns import Boolean
from sklar.schema.numbers import Integer, Real
from sklar.schema.persons.linked import PREVIOUS, has_linked_rows, keep_possible_steps
from sklar.schema.persons.person import Person
from sklar.schema.rules import AtMost, Never, Rule

MIN_EQUAL_CHANGES = 0.8
"""Share of steps with the same change (or none) from which on there is a question about a column."""
SHARE_OUTSIDE_BOUND = 0.001
"""Share of steps outside a proposed bound on a change, on each side: some are errors."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Steps:
    """Values of one column in all steps: in the previous row, in the row, and in a random row."""

    before: Floats
    after: Floats
    apart: Floats

    @property
    def differences(self) -> Floats:
        """Return the increases of the column."""
        return self.after - self.before

    def holds(self, sign: int) -> bool:
        """Check whether the column never falls (or rises, if the sign is -1), although at random it would."""
        falls = sign * self.differences < 0
        broken_at_random = np.mean(sign * (self.apart - self.before) < 0)
        moves = (self.differences != 0).any()
        return bool(moves and not falls.any() and broken_at_random >= MIN_BROKEN_AT_RANDOM)


def find_steps(
    person: Person | None, table: ExactTable, keys: Ints, rng: np.random.Generator
) -> tuple[Person | None, Mapping[str, Sequence[str]]]:
    """Add the rules that hold in all steps to the drafted person, and return questions about other columns.

    Args:
        person: The person as drafted so far.
        table: The sampled rows.
        keys: The person of each row; below 0 if missing.
        rng: Assigns rows to persons at random.
    """
    columns = dict(table.schema)
    if person is None or not has_linked_rows(columns, person) or person.order is None:
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
        if len(before) < MIN_RULE_ROWS:
            continue
        steps = _Steps(before=before, after=after, apart=rng.permutation(after))
        found = list(_find_rules(name, table, steps, person.order))
        bound, note = (None, None) if found else _describe_usual_change(name, table, steps)
        rules += found if bound is None else [bound]
        notes |= {} if note is None else {name: [note]}
    proposed = replace(person, steps=(*person.steps, *rules))
    return keep_possible_steps(columns, table.schema.rules, proposed), notes


def _find_rules(name: str, table: ExactTable, steps: _Steps, order: str) -> Iterator[Rule]:
    """Find the rule that a column obeys in all steps, if any."""
    column, differences, previous = table.schema[name], steps.differences, PREVIOUS + name
    if isinstance(column, Integer):
        low, high = int(differences.min()), int(differences.max())
        if low == high and low and np.mean(steps.apart - steps.before != low) >= MIN_BROKEN_AT_RANDOM:
            ends = (previous, name) if low > 0 else (name, previous)
            yield AtMost(low=ends[0], high=ends[1], at_least=abs(low), at_most=abs(low), source=FROM_ROWS)
            return
    if isinstance(column, Integer | Real):
        least = 1 if isinstance(column, Integer) and np.abs(differences).min() >= 1 else 0
        if steps.holds(1) and not (name == order and not least):  # the order column never falls anyway
            yield AtMost(low=previous, high=name, at_least=least, source=FROM_ROWS)
        elif steps.holds(-1):
            yield AtMost(low=name, high=previous, at_least=least, source=FROM_ROWS)
    elif isinstance(column, Boolean):
        for sign, stays in ((1, True), (-1, False)):
            if steps.holds(sign):
                yield Never(values={previous: stays, name: not stays}, source=FROM_ROWS)


def _describe_usual_change(name: str, table: ExactTable, steps: _Steps) -> tuple[AtMost | None, str | None]:
    """Return a bound on the change of a number that mostly changes by one amount, and a note about usual changes."""
    whole = isinstance(table.schema[name], Integer)
    change = float(np.median(steps.differences)) if whole else 0.0
    share, by_chance = (np.mean(after - steps.before == change) for after in (steps.after, steps.apart))
    if share < MIN_EQUAL_CHANGES or 1 - share >= (1 - by_chance) / 2:
        return None, None
    percent = "more than 99%" if share > 0.99 else f"{share:.0%}"
    where = f"in {percent} of the steps from a row of a person to the next"
    if not change:
        return None, (
            f"It stays the same {where}; a fit measures how often, with noise. Does it ever change? If not, name it "
            "among the columns that never change: static of [person]."
        )
    low, high = (
        round(float(end)) for end in np.quantile(steps.differences, [SHARE_OUTSIDE_BOUND, 1 - SHARE_OUTSIDE_BOUND])
    )
    bound = AtMost(low=PREVIOUS + name, high=name, at_least=low, at_most=high, source=FROM_ROWS)
    verb = "rises" if change > 0 else "falls"
    return bound, (
        f"It {verb} by {abs(change):g} {where}. If its change is bounded (see the rules), its change is measured "
        "instead of each value."
    )


def _values(table: ExactTable, name: str) -> Floats:
    """Return numbers, or codes of labels and booleans (0 for false, 1 for true); NaN for nulls."""
    if name in table.numbers:
        return table.numbers[name]
    codes = table.codes[name].astype(np.float64)
    codes[codes >= table.schema[name].value_cells] = np.nan
    return codes
