"""Rows that break a rule are drawn again, then mended, then replaced by others."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sklar.arrays import Ints, Mask
from sklar.errors import SklarWarning, UnsupportedConditionError, warn_user
from sklar.sample.decode import SampledTable, replace_rows, row_count, take
from sklar.sample.rules.computed import compute
from sklar.sample.rules.dummies import keep_one
from sklar.sample.rules.every import rules_hold
from sklar.sample.rules.order import move_at_most
from sklar.sample.rules.ratio import keep_ratio
from sklar.schema.rules import OneHot, Ratio
from sklar.schema.table import Schema

Drawn = tuple[SampledTable, Mask]
"""Rows from the model, and which of them had to be bent to be rows at all: these are only taken if nothing else is."""

Draw = Callable[[int], Drawn]
"""Draws this many fresh rows."""

Check = Callable[[SampledTable], Mask]
"""Tells which rows are as they should be."""

ROUNDS = 25
"""Rounds of drawing again: the more, the rarer rows may be before they are mended, which bends their law."""
SEEN_COPIES = 0.01
"""A larger share of rows that had to be copied is told."""
SMALLEST_REDRAW = 10_000
"""A round may draw as many rows as the sample has, and at least this many."""


def enforce(schema: Schema, first: Drawn, draw: Draw, rng: np.random.Generator, also: Check | None) -> SampledTable:
    """The rows of a first draw with every one that breaks a rule, or is bent, replaced by one that obeys all rules.

    Drawing again until a row is accepted gives the model's law given the rules. Only what is left after a bounded
    number of rounds (rules of tiny probability) is mended by moving `at most` columns, or copied from accepted rows.

    With `also` come further conditions on rows, as those of a conditional sample.

    Raises:
        UnsupportedConditionError: No row was found that obeys all rules.
    """
    if not schema.rules and also is None:
        return first[0]

    def holds(rows: SampledTable) -> Mask:
        kept = rules_hold(schema, rows)
        return kept if also is None else kept & also(rows)

    table, bad = _draw_again(first, draw, holds)
    return _mend(schema, table, bad, holds, rng) if len(bad) else table


def _draw_again(first: Drawn, draw: Draw, holds: Check) -> tuple[SampledTable, Ints]:
    """Rejection sampling in rounds; the table and the rows that still break a rule."""
    table, bent = first
    bad = np.flatnonzero(bent | ~holds(table))
    drawn, accepted, most = row_count(table), row_count(table) - len(bad), max(row_count(table), SMALLEST_REDRAW)
    for _ in range(ROUNDS):
        if not len(bad):
            break
        wanted = min(most, 16 + math.ceil(1.1 * len(bad) * (drawn + 1) / (accepted + 1)))
        fresh, bent = draw(wanted)
        good = np.flatnonzero(holds(fresh) & ~bent)
        drawn, accepted = drawn + wanted, accepted + len(good)
        good = good[: len(bad)]
        table, bad = replace_rows(table, bad[: len(good)], fresh, good), bad[len(good) :]
    return table, bad


def _mend(schema: Schema, table: SampledTable, bad: Ints, holds: Check, rng: np.random.Generator) -> SampledTable:
    """Bad rows moved to obey, or copied from good ones."""
    mended = move_at_most(schema, take(table, bad))
    for rule in schema.rules:
        if isinstance(rule, OneHot):
            mended = keep_one(schema, rule, mended)
        elif isinstance(rule, Ratio):
            mended = keep_ratio(schema, rule, mended)
    mended = compute(schema, mended)
    table = replace_rows(table, bad, mended, np.arange(len(bad)))
    kept = holds(table)
    good, bad = np.flatnonzero(kept), np.flatnonzero(~kept)
    if not len(good):
        raise UnsupportedConditionError(
            "no row drawn from the model obeys all rules of the schema and the values asked for; "
            "check that the rules can hold together, or ask for less."
        )
    if len(bad) > SEEN_COPIES * len(kept):
        warn_user(
            f"rows as asked for are so rare in the model that {len(bad):,} of {len(kept):,} are copies of others; "
            "ask for more of what can occur, or for fewer rows.",
            SklarWarning,
        )
    return replace_rows(table, bad, table, rng.choice(good, len(bad))) if len(bad) else table
