"""Columns that are null together, and filled only for some values of other columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from sklar.arrays import Ints, Mask
from sklar.sample.decode import SampledTable, Values, row_count
from sklar.sample.rules.never import find_equal
from sklar.schema.rules import Together
from sklar.schema.table import Schema


def together_holds(schema: Schema, rule: Together, table: SampledTable) -> Mask:
    """Return the rows where all columns are null, or none is and the others allow it."""
    nulls = np.array([table[name].null for name in rule.columns])
    return nulls.all(axis=0) | (~nulls.any(axis=0) & may_be_filled(rule, table))


def may_be_filled(rule: Together, table: SampledTable) -> Mask:
    """Return the rows where the other columns have the values that the rule requires."""
    held = (reduce(np.logical_or, (find_equal(table[name], v) for v in values)) for name, values in rule.wanted)
    return reduce(np.logical_and, held, np.ones(row_count(table), bool))


def share_nulls(
    rule: Together, coordinates_of: Mapping[str, Sequence[str]], drawn: SampledTable, rng: np.random.Generator
) -> SampledTable:
    """Make coordinates null together: the first decides, and values that others lack are copied from other rows.

    So the share of nulls is that of the first column, and the distribution of each other column given that it is filled
    is unchanged. A column may depend on several coordinates.
    """
    null, out = drawn[coordinates_of[rule.columns[0]][0]].null, dict(drawn)
    for column in rule.columns:
        empty = np.logical_or.reduce([drawn[name].null for name in coordinates_of[column]])
        lacking, having = np.flatnonzero(~null & empty), np.flatnonzero(~empty)
        donors = rng.choice(having, len(lacking)) if len(having) else lacking
        for name in coordinates_of[column]:
            out[name] = _set_null(_copy_rows(drawn[name], lacking, donors), null)
    return out


def fill_only_where(rule: Together, table: SampledTable, rng: np.random.Generator) -> SampledTable:
    """Move values from rows where the rule allows none to rows that lack them, all columns of a row together.

    Every filled row of the real table is an allowed one, so this keeps the number of filled rows.
    """
    if not rule.wanted:
        return table
    may, null = may_be_filled(rule, table), table[rule.columns[0]].null
    givers, takers = rng.permutation(np.flatnonzero(~may & ~null)), rng.permutation(np.flatnonzero(may & null))
    moved = min(len(givers), len(takers))
    out = dict(table)
    for name in rule.columns:
        out[name] = _set_null(_copy_rows(table[name], takers[:moved], givers[:moved]), ~may)
    return out


def _copy_rows(values: Values, to: Ints, source: Ints) -> Values:
    data, null = values.data.copy(), values.null.copy()
    data[to], null[to] = values.data[source], values.null[source]
    return replace(values, data=data, null=null)


def _set_null(values: Values, null: Mask) -> Values:
    data = values.data.copy()
    data[null] = 0
    return replace(values, data=data, null=values.null | null)
