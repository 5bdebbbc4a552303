"""Rules that one amount is a bounded multiple of another, and changes that make them hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from sklar.arrays import Mask
from sklar.sample.decode import SampledTable
from sklar.sample.rules.order import to_grid, to_nearest
from sklar.schema.columns import Column
from sklar.schema.numbers import Ranged
from sklar.schema.rules import Ratio
from sklar.schema.table import Schema


def ratio_holds(schema: Schema, rule: Ratio, table: SampledTable) -> Mask:
    """Return the rows where the column lies between the two multiples, or either is null."""
    values, of = table[rule.column], table[rule.of]
    held = values.data >= rule.lower * of.data
    if rule.upper is not None:
        held &= values.data <= rule.upper * of.data
    return values.null | of.null | held


def within_ratio(column: Column, rule: Ratio, wanted: npt.NDArray[Any], of: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the values of the column nearest to `wanted` that are allowed multiples of `of`, if there are any.

    Where `of` is unknown (nan), any value of the column is allowed.
    """
    lower, upper = cast(Ranged, column).span
    low = np.fmax(rule.lower * of, lower)
    high = np.full(len(low), upper) if rule.upper is None else np.fmin(rule.upper * of, upper)
    low, high = (np.clip(end, lower, upper) for end in (low, high))
    found = np.clip(to_nearest(column, wanted), to_grid(column, low, up=True), to_grid(column, high, up=False))
    return np.clip(found, lower, upper)


def keep_ratio(schema: Schema, rule: Ratio, table: SampledTable) -> SampledTable:
    """Repair rows: move the column to the nearest allowed multiple."""
    values, of = table[rule.column], table[rule.of]
    bad = ~ratio_holds(schema, rule, table)
    data = values.data.copy()
    data[bad] = within_ratio(schema[rule.column], rule, data[bad], of.data[bad].astype(np.float64))
    return {**table, rule.column: replace(values, data=data)}
