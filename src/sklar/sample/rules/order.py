"""Rows where one column is at most another, and the smallest moves that make it so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sklar.arrays import Mask
from sklar.sample.conditions import bounds
from sklar.sample.decode import SampledTable, Values
from sklar.schema.columns import Column
from sklar.schema.grid import ratio
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.rules import AtMost
from sklar.schema.table import Schema


def at_most_holds(schema: Schema, rule: AtMost, table: SampledTable) -> Mask:
    """The rows where low is at most high, or either is null."""
    low, high = table[rule.low], table[rule.high]
    return low.null | high.null | (low.data <= high.data)


def move_at_most(schema: Schema, table: SampledTable) -> SampledTable:
    """Moves pairs that break low <= high: low down to the largest value of high, then high up to low.

    Chains (a <= b <= c) need one pass a link; the caller checks what came of it.
    """
    rules = [rule for rule in schema.rules if isinstance(rule, AtMost)]
    moved = dict(table)
    for _ in rules:
        for rule in rules:
            moved |= _move_pair(schema, rule, moved[rule.low], moved[rule.high])
    return moved


def _move_pair(schema: Schema, rule: AtMost, low: Values, high: Values) -> dict[str, Values]:
    low_column, high_column = schema[rule.low], schema[rule.high]
    bad = ~low.null & ~high.null & (low.data > high.data)
    if not bad.any():
        return {}
    low_data, high_data = low.data.copy(), high.data.copy()
    assert isinstance(high_column, Integer | Real | Datetime)
    low_data[bad] = _to_grid(low_column, np.minimum(low_data[bad], bounds(high_column)[1]), up=False)
    high_data[bad] = _to_grid(high_column, np.maximum(high_data[bad], low_data[bad]), up=True)
    return {rule.low: replace(low, data=low_data), rule.high: replace(high, data=high_data)}


def _to_grid(column: Column, values: np.ndarray, *, up: bool) -> np.ndarray:
    """The nearest values above (or below) that the column can take."""
    toward = np.ceil if up else np.floor
    if not isinstance(column, Real):
        step = (column.step or 1) if isinstance(column, Integer) else 1
        whole = values if values.dtype.kind == "i" else toward(values).astype(np.int64)
        return whole if step == 1 else (-(-whole // step) if up else whole // step) * step
    if column.unit is None:
        return values.astype(np.float64)
    (over, under), step = ratio(column.unit), 1.0 if up else -1.0
    shifted = toward(values * under / over)
    nearer = (shifted - step) * over / under  # the quotient is rounded, so the step before may do as well
    return np.where(nearer >= values if up else nearer <= values, nearer, shifted * over / under)
