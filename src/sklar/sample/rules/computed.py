"""Columns that public rules compute from others of the same row, each after those it is computed from."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Mask
from sklar.sample.decode import SampledTable, Values
from sklar.sample.rules.function import apply_function
from sklar.schema.numbers import Real
from sklar.schema.rules import Function, Sum, computing_order
from sklar.schema.table import Schema

ROUNDING = 8.0
"""Units in the last place by which a sum of reals without decimals may differ from one in another order."""


def compute(schema: Schema, table: SampledTable) -> SampledTable:
    """The table with every column that a rule computes."""
    out = dict(table)
    for rule in computing_order(schema.rules):
        out[rule.gives] = apply_function(schema, rule, out) if isinstance(rule, Function) else add_up(schema, rule, out)
    return out


def add_up(schema: Schema, rule: Sum, table: SampledTable) -> Values:
    """The sum of the parts, null where one of them is; reals on decimals are added as integers of their last digit."""
    parts = [table[name] for name in rule.parts]
    null = np.logical_or.reduce([part.null for part in parts])
    columns = [schema[name] for name in rule.parts]
    digits = [column.decimals if isinstance(column, Real) else 0 for column in columns]
    known = [d for d in digits if d is not None]
    if len(known) == len(digits) and isinstance(schema[rule.total], Real):
        scale = 10.0 ** max(known)
        total: npt.NDArray[Any] = np.sum([np.rint(part.data * scale) for part in parts], axis=0) / scale
    else:
        total = np.sum([part.data for part in parts], axis=0)
    data = total.astype(np.float64) if isinstance(schema[rule.total], Real) else total
    return Values(data=np.where(null, 0, data), null=null)


def sum_holds(schema: Schema, rule: Sum, table: SampledTable) -> Mask:
    """The rows whose total is the sum of its parts and a value of its column."""
    found, want = table[rule.total], add_up(schema, rule, table)
    lower, upper = schema[rule.total].span  # type: ignore[attr-defined]
    slack = 0.0
    if isinstance(schema[rule.total], Real):
        slack = ROUNDING * np.spacing(np.max([np.abs(table[name].data) for name in rule.columns], axis=0).astype(float))
    inside = (np.abs(found.data - want.data) <= slack) & (found.data >= lower) & (found.data <= upper)
    return (found.null == want.null) & (found.null | inside)
