"""Rows for which an expression over their columns is not false."""

from __future__ import annotations

import numpy as np

from sklar.arrays import Mask
from sklar.sample.decode import SampledTable, row_count
from sklar.schema.grid import RESOLUTIONS
from sklar.schema.numbers import Datetime
from sklar.schema.rules import Expression
from sklar.schema.rules.expression import RowValues, evaluate_expression
from sklar.schema.rules.parsing import parse_expression
from sklar.schema.table import Schema


def expression_holds(schema: Schema, rule: Expression, table: SampledTable) -> Mask:
    """The rows where it is true, or a null leaves it open."""
    tree, rows = parse_expression(rule.text), row_count(table)
    found = evaluate_expression(tree, schema, lambda name: _known(schema, name, table), rows)
    return found.data.astype(bool) | found.unknown


def _known(schema: Schema, name: str, table: SampledTable) -> RowValues:
    values, column = table[name], schema[name]
    if values.labels is not None:
        return RowValues(np.array(values.labels)[values.data], values.null)
    if isinstance(column, Datetime):
        return RowValues(values.data * (RESOLUTIONS[column.resolution] / RESOLUTIONS["day"]), values.null)
    return RowValues(values.data, values.null)
