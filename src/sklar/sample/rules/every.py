"""The check of each kind of rule, including expressions."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from sklar.arrays import Mask
from sklar.sample.decode import SampledTable, row_count
from sklar.sample.rules.computed import sum_holds
from sklar.sample.rules.dummies import one_hot_holds
from sklar.sample.rules.function import function_holds
from sklar.sample.rules.never import never_holds
from sklar.sample.rules.nulls import together_holds
from sklar.sample.rules.order import at_most_holds
from sklar.sample.rules.ratio import ratio_holds
from sklar.sample.rules.totals import totals_hold
from sklar.schema.grid import RESOLUTIONS
from sklar.schema.numbers import Datetime
from sklar.schema.rules import AtMost, Expression, Function, Never, OneHot, Ratio, Sum, Together, Totals
from sklar.schema.rules.expression import RowValues, evaluate_expression
from sklar.schema.rules.parsing import parse_expression
from sklar.schema.table import Schema


def expression_holds(schema: Schema, rule: Expression, table: SampledTable) -> Mask:
    """Return the rows where an expression is true, or unknown because of a null."""
    tree, rows = parse_expression(rule.text), row_count(table)
    found = evaluate_expression(tree, schema, lambda name: _read_values(schema, name, table), rows)
    return found.data.astype(bool) | found.unknown


def _read_values(schema: Schema, name: str, table: SampledTable) -> RowValues:
    values, column = table[name], schema[name]
    if values.labels is not None:
        return RowValues(np.array(values.labels)[values.data], values.null)
    if isinstance(column, Datetime):
        return RowValues(values.data * (RESOLUTIONS[column.resolution] / RESOLUTIONS["day"]), values.null)
    return RowValues(values.data, values.null)


HOLDS: dict[type, Callable[[Schema, Any, SampledTable], Mask]] = {
    AtMost: at_most_holds,
    Ratio: ratio_holds,
    Never: never_holds,
    Function: function_holds,
    Sum: sum_holds,
    Together: together_holds,
    OneHot: one_hot_holds,
    Expression: expression_holds,
    Totals: totals_hold,
}
"""For each kind of rule, the function that returns the rows that obey it; nulls obey every rule."""


def rules_hold(schema: Schema, table: SampledTable) -> Mask:
    """Return the rows that obey all rules."""
    held = (HOLDS[type(rule)](schema, rule, table) for rule in schema.rules)
    return reduce(np.logical_and, held, np.ones(row_count(table), bool))
