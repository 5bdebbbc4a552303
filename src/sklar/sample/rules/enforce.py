"""Replace rows that break a rule: draw them again, then repair them, then copy others."""

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
"""Rows from the model, and which are inconsistent and had to be adjusted: they are used only as a last resort."""

Draw = Callable[[int], Drawn]
"""Draws a number of fresh rows."""

Check = Callable[[SampledTable], Mask]
"""Returns which rows are acceptable."""

REDRAW_ROUNDS = 25
"""Rounds of drawing again; rows that are still rejected are repaired, which distorts their distribution."""
MAX_SILENT_COPIES = 0.01
"""A larger share of copied rows causes a warning."""
MIN_REDRAW_ROWS = 10_000
"""A round draws at most the number of rows of the sample, or this number if that is larger."""


def enforce(schema: Schema, first: Drawn, draw: Draw, rng: np.random.Generator, also: Check | None) -> SampledTable:
    """Replace every row that breaks a rule, or is inconsistent, by one that obeys all rules.

    Drawing again until a row is accepted gives the model's distribution given the rules. Only rows left after a bounded
    number of rounds (rules of tiny probability) are repaired by moving values, or copied from accepted rows. `also`
    has further conditions on rows, as those of a conditional sample.

    Raises:
        UnsupportedConditionError: No row was found that obeys all rules.
    """
    if not schema.rules and also is None:
        return first[0]

    def holds(rows: SampledTable) -> Mask:
        kept = rules_hold(schema, rows)
        return kept if also is None else kept & also(rows)

    table, bad = _draw_again(first, draw, holds)
    return _repair(schema, table, bad, holds, rng) if len(bad) else table


def _draw_again(first: Drawn, draw: Draw, holds: Check) -> tuple[SampledTable, Ints]:
    """Sample by rejection in rounds; return the table and the rows that still break a rule."""
    table, adjusted = first
    bad = np.flatnonzero(adjusted | ~holds(table))
    drawn, accepted, most = row_count(table), row_count(table) - len(bad), max(row_count(table), MIN_REDRAW_ROWS)
    for _ in range(REDRAW_ROUNDS):
        if not len(bad):
            break
        wanted = min(most, 16 + math.ceil(1.1 * len(bad) * (drawn + 1) / (accepted + 1)))
        fresh, adjusted = draw(wanted)
        good = np.flatnonzero(holds(fresh) & ~adjusted)
        drawn, accepted = drawn + wanted, accepted + len(good)
        good = good[: len(bad)]
        table, bad = replace_rows(table, bad[: len(good)], fresh, good), bad[len(good) :]
    return table, bad


def _repair(schema: Schema, table: SampledTable, bad: Ints, holds: Check, rng: np.random.Generator) -> SampledTable:
    """Repair bad rows, or copy good ones in their place."""
    repaired = move_at_most(schema, take(table, bad))
    for rule in schema.rules:
        if isinstance(rule, OneHot):
            repaired = keep_one(schema, rule, repaired)
        elif isinstance(rule, Ratio):
            repaired = keep_ratio(schema, rule, repaired)
    repaired = compute(schema, repaired)
    table = replace_rows(table, bad, repaired, np.arange(len(bad)))
    kept = holds(table)
    good, bad = np.flatnonzero(kept), np.flatnonzero(~kept)
    if not len(good):
        raise UnsupportedConditionError(
            "no row drawn from the model obeys all rules of the schema and the given conditions; "
            "check that the rules can hold together, or use fewer conditions."
        )
    if len(bad) > MAX_SILENT_COPIES * len(kept):
        warn_user(
            f"rows that meet all conditions are so rare in the model that {len(bad):,} of {len(kept):,} are copies of "
            "others; use weaker conditions, or draw fewer rows.",
            SklarWarning,
        )
    return replace_rows(table, bad, table, rng.choice(good, len(bad))) if len(bad) else table
