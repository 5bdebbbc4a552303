"""Columns that public rules compute from others of the same row, each after those it is computed from."""

from __future__ import annotations

from graphlib import TopologicalSorter

from sklar.sample.decode import SampledTable
from sklar.sample.rules.function import apply_function
from sklar.schema.rules import Function
from sklar.schema.table import Schema


def compute(schema: Schema, table: SampledTable) -> SampledTable:
    """The table with every column that a rule computes."""
    out = dict(table)
    for rule in in_order(schema):
        out[rule.column] = apply_function(schema, rule, out)
    return out


def in_order(schema: Schema) -> list[Function]:
    """Rules that compute a column, each after those that compute what it needs (the schema allows no circles)."""
    given = {rule.column: rule for rule in schema.rules if isinstance(rule, Function)}
    columns = TopologicalSorter({name: [rule.of] for name, rule in given.items()}).static_order()
    return [given[column] for column in columns if column in given]
