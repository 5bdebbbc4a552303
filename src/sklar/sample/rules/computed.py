"""Compute columns that public rules derive from others of the same row, in order of dependence."""

from __future__ import annotations

import numpy as np

from sklar.arrays import Mask
from sklar.sample.decode import SampledTable, Values
from sklar.sample.rules.function import apply_function
from sklar.sample.rules.order import to_nearest
from sklar.schema.numbers import Real
from sklar.schema.rules import Function, Sum, computing_order
from sklar.schema.table import Schema

SUM_TOLERANCE_ULPS = 8.0
"""Units in the last place by which a sum of reals without decimals may differ from one in another order."""


def compute(schema: Schema, table: SampledTable) -> SampledTable:
    """Return the table with every column that a rule computes."""
    out = dict(table)
    for rule in computing_order(schema.rules):
        out[rule.gives] = apply_function(schema, rule, out) if isinstance(rule, Function) else add_up(schema, rule, out)
    return out


def add_up(schema: Schema, rule: Sum, table: SampledTable) -> Values:
    """Return the sum of the parts, null where one of them is; reals with decimals are added as integers."""
    parts, factors = [table[name] for name in rule.needs], [factor for _, factor in rule.factors]
    null, total = np.logical_or.reduce([part.null for part in parts]), schema[rule.total]
    digits = _last_digit(schema, rule) if rule.exact and isinstance(total, Real) else None
    if digits is not None:
        scale = 10.0**digits
        units = [factor * np.rint(part.data * scale) for part, factor in zip(parts, factors, strict=True)]
        data = (np.sum(units, axis=0) + round(rule.offset * scale)) / scale
    else:
        whole = rule.exact and not isinstance(total, Real)
        terms = [(int(f) if whole else f) * part.data for part, f in zip(parts, factors, strict=True)]
        data = np.sum(terms, axis=0) + (int(rule.offset) if whole else rule.offset)
        data = data if rule.exact else to_nearest(total, data)
    data = data.astype(np.float64 if isinstance(total, Real) else np.int64)
    return Values(data=np.where(null, 0, data), null=null)


def _last_digit(schema: Schema, rule: Sum) -> int | None:
    """Return the decimals of the parts and the offset; None if a part does not state them."""
    columns = [schema[name] for name in rule.needs]
    digits = [column.decimals if isinstance(column, Real) else 0 for column in columns]
    shown = next((d for d in range(16) if round(rule.offset, d) == rule.offset), None)
    known = [d for d in (*digits, shown) if d is not None]
    return max(known) if len(known) == len(digits) + 1 else None


def sum_holds(schema: Schema, rule: Sum, table: SampledTable) -> Mask:
    """Return the rows whose total is the sum of its parts and a value of its column."""
    found, want = table[rule.total], add_up(schema, rule, table)
    lower, upper = schema[rule.total].span  # type: ignore[attr-defined]
    slack = 0.0
    if isinstance(schema[rule.total], Real):
        slack = SUM_TOLERANCE_ULPS * np.spacing(
            np.max([np.abs(table[name].data) for name in rule.columns], axis=0).astype(float)
        )
    inside = (np.abs(found.data - want.data) <= slack) & (found.data >= lower) & (found.data <= upper)
    return (found.null == want.null) & (found.null | inside)
