"""Public rules hold in every sample: rows that break one are drawn again, then mended, then replaced by others."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sklar.errors import UnsupportedConditionError
from sklar.sample.rule_checks import apply_functions, rules_hold
from sklar.sample.values import Index, Mask, SampledTable, Values, replace_rows, row_count, take
from sklar.schema.columns import Column
from sklar.schema.constraints import AtMost
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.table import Schema

Draw = Callable[[int], SampledTable]
"""Draws this many fresh rows from the model."""

ROUNDS = 25
SMALLEST_REDRAW = 10_000
"""A round may draw as many rows as the sample has, and at least this many."""


def enforce(
    schema: Schema,
    table: SampledTable,
    draw: Draw,
    rng: np.random.Generator,
    also: Callable[[SampledTable], Mask] | None = None,
) -> SampledTable:
    """The table with every row that breaks a rule replaced by one that obeys all of them.

    Drawing again until a row is accepted gives the model's law given the rules. Only what is left after a bounded
    number of rounds (rules of tiny probability) is mended by moving `at most` columns, or copied from accepted rows.

    Args:
        schema: Holds the rules.
        table: Rows as drawn.
        draw: Draws more rows from the same law.
        rng: Chooses which accepted rows are copied.
        also: Further conditions on rows, as those of a conditional sample.

    Raises:
        UnsupportedConditionError: No row was found that obeys all rules.
    """
    if not schema.constraints and also is None:
        return table

    def holds(rows: SampledTable) -> Mask:
        kept = rules_hold(schema, rows)
        return kept if also is None else kept & also(rows)

    table = apply_functions(schema, table)
    table, bad = _draw_again(schema, table, draw, holds)
    return _mend(schema, table, bad, holds, rng) if len(bad) else table


def _draw_again(
    schema: Schema, table: SampledTable, draw: Draw, holds: Callable[[SampledTable], Mask]
) -> tuple[SampledTable, Index]:
    """Rejection sampling in rounds; the table and the rows that still break a rule."""
    bad = np.flatnonzero(~holds(table))
    drawn, accepted, most = row_count(table), row_count(table) - len(bad), max(row_count(table), SMALLEST_REDRAW)
    for _ in range(ROUNDS):
        if not len(bad):
            break
        wanted = min(most, 16 + math.ceil(1.1 * len(bad) * (drawn + 1) / (accepted + 1)))
        fresh = apply_functions(schema, draw(wanted))
        good = np.flatnonzero(holds(fresh))
        drawn, accepted = drawn + wanted, accepted + len(good)
        good = good[: len(bad)]
        table, bad = replace_rows(table, bad[: len(good)], fresh, good), bad[len(good) :]
    return table, bad


def _mend(
    schema: Schema, table: SampledTable, bad: Index, holds: Callable[[SampledTable], Mask], rng: np.random.Generator
) -> SampledTable:
    mended = apply_functions(schema, _move_at_most(schema, take(table, bad)))
    table = replace_rows(table, bad, mended, np.arange(len(bad)))
    kept = holds(table)
    good, bad = np.flatnonzero(kept), np.flatnonzero(~kept)
    if not len(good):
        raise UnsupportedConditionError(
            "no row drawn from the model obeys all constraints of the schema and the values asked for; "
            "check that the constraints can hold together, or ask for less."
        )
    return replace_rows(table, bad, table, rng.choice(good, len(bad))) if len(bad) else table


def _move_at_most(schema: Schema, table: SampledTable) -> SampledTable:
    """Moves pairs that break low <= high: low down to the largest value of high, then high up to low.

    Chains (a <= b <= c) need one pass a link; the caller checks what came of it.
    """
    rules = [rule for rule in schema.constraints if isinstance(rule, AtMost)]
    moved = dict(table)
    for _ in rules:
        for rule in rules:
            moved |= _moved_pair(schema, rule, moved[rule.low], moved[rule.high])
    return moved


def _moved_pair(schema: Schema, rule: AtMost, low: Values, high: Values) -> dict[str, Values]:
    low_column, high_column = schema[rule.low], schema[rule.high]
    bad = ~low.null & ~high.null & (low.data > high.data)
    if not bad.any():
        return {}
    low_data, high_data = low.data.copy(), high.data.copy()
    low_data[bad] = _moved(low_column, np.minimum(low_data[bad], _largest(high_column)), up=False)
    high_data[bad] = _moved(high_column, np.maximum(high_data[bad], low_data[bad]), up=True)
    return {
        rule.low: Values(data=low_data, null=low.null, labels=None),
        rule.high: Values(data=high_data, null=high.null, labels=None),
    }


def _largest(column: Column) -> int | float:
    if isinstance(column, Datetime):
        return column.tick(column.upper)
    assert isinstance(column, Integer | Real)
    return column.upper


def _moved(column: Column, values: np.ndarray, *, up: bool) -> np.ndarray:
    """The nearest values above (or below) that the column can take."""
    toward = np.ceil if up else np.floor
    if not isinstance(column, Real):
        return values if values.dtype.kind == "i" else toward(values).astype(np.int64)
    if column.decimals is None:
        return values.astype(np.float64)
    scale, step = 10.0**column.decimals, 1.0 if up else -1.0
    shifted = toward(values * scale)
    nearer = (shifted - step) / scale  # the product is rounded, so the step before may do as well
    return np.where(nearer >= values if up else nearer <= values, nearer, shifted / scale)
