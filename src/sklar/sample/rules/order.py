"""Rules that one column is at most another, and the smallest changes that make them hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from sklar.arrays import Mask
from sklar.sample.decode import SampledTable, Values
from sklar.schema.columns import Column
from sklar.schema.grid import get_ratio
from sklar.schema.numbers import Integer, Ranged, Real
from sklar.schema.rules import AtMost
from sklar.schema.table import Schema

DIFFERENCE_TOLERANCE_ULPS = 4.0
"""Units in the last place by which rounding may move the difference of two reals over a limit."""


def at_most_holds(schema: Schema, rule: AtMost, table: SampledTable) -> Mask:
    """Return the rows where the difference of high and low is within the rule's limits, or either is null."""
    low, high = table[rule.low], table[rule.high]
    return low.null | high.null | _is_within(rule, low.data, high.data)


def _is_within(rule: AtMost, low: npt.NDArray[Any], high: npt.NDArray[Any]) -> Mask:
    if rule.at_least == 0 and rule.at_most is None:
        return low <= high
    gap, slack = high - low, 0.0
    if gap.dtype.kind == "f":
        slack = DIFFERENCE_TOLERANCE_ULPS * np.spacing(np.maximum(np.abs(low), np.abs(high)).astype(np.float64))
    held = gap >= rule.at_least - slack
    return held if rule.at_most is None else held & (gap <= rule.at_most + slack)


def move_at_most(schema: Schema, table: SampledTable) -> SampledTable:
    """Move pairs that break a rule: low to where high can follow, then high within its limits.

    Chains (a <= b <= c) need one pass per link; the caller checks the result.
    """
    rules = [rule for rule in schema.rules if isinstance(rule, AtMost)]
    moved = dict(table)
    for _ in rules:
        for rule in rules:
            moved |= _move_pair(schema, rule, moved[rule.low], moved[rule.high])
    return moved


def _move_pair(schema: Schema, rule: AtMost, low: Values, high: Values) -> dict[str, Values]:
    low_column, high_column = schema[rule.low], schema[rule.high]
    bad = ~low.null & ~high.null & ~_is_within(rule, low.data, high.data)
    if not bad.any():
        return {}
    low_data, high_data = low.data.copy(), high.data.copy()
    least, most = cast(Ranged, high_column).span
    starts = np.minimum(low_data[bad], most - rule.at_least)
    if rule.at_most is not None:
        starts = np.maximum(starts, least - rule.at_most)
    low_data[bad] = to_grid(low_column, starts, up=False)
    ends = np.maximum(high_data[bad], low_data[bad] + rule.at_least)
    if rule.at_most is not None:
        ends = np.minimum(ends, low_data[bad] + rule.at_most)
    high_data[bad] = to_grid(high_column, ends, up=True)
    return {rule.low: replace(low, data=low_data), rule.high: replace(high, data=high_data)}


def to_grid(column: Column, values: npt.NDArray[Any], *, up: bool) -> npt.NDArray[Any]:
    """Return the nearest values above (or below) that the column can take."""
    toward = np.ceil if up else np.floor
    if not isinstance(column, Real):
        step = (column.step or 1) if isinstance(column, Integer) else 1
        whole = values if values.dtype.kind == "i" else toward(values).astype(np.int64)
        return whole if step == 1 else (-(-whole // step) if up else whole // step) * step
    if column.unit is None:
        return values.astype(np.float64)
    (over, under), step = get_ratio(column.unit), 1.0 if up else -1.0
    shifted = toward(values * under / over)
    nearer = (shifted - step) * over / under  # the quotient is rounded, so the step before may do as well
    return np.where(nearer >= values if up else nearer <= values, nearer, shifted * over / under)


def to_nearest(column: Column, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the nearest values that the column can take."""
    below, above = to_grid(column, values, up=False), to_grid(column, values, up=True)
    return np.where(values - below <= above - values, below, above)
