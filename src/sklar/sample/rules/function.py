"""Columns that are functions of others: overwritten wherever neither is null."""

from __future__ import annotations

from dataclasses import replace
from graphlib import TopologicalSorter
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Mask
from sklar.sample.decode import SampledTable, Values
from sklar.sample.rules.never import stored_value
from sklar.schema.columns import Boolean, Column
from sklar.schema.numbers import Datetime, Real
from sklar.schema.rules import Function
from sklar.schema.table import Schema


def function_holds(schema: Schema, rule: Function, table: SampledTable) -> Mask:
    """The rows whose value is that of the function, if it lists one; a null obeys."""
    values = table[rule.column]
    listed, image = _images(schema[rule.of], rule, table[rule.of], values)
    return values.null | ~listed | (values.data == image)


def apply_functions(schema: Schema, table: SampledTable) -> SampledTable:
    """The table with every column that is a function of another overwritten, wherever neither is null."""
    out = dict(table)
    for rule in _in_order([r for r in schema.rules if isinstance(r, Function)]):
        values = out[rule.column]
        listed, image = _images(schema[rule.of], rule, out[rule.of], values)
        data = np.where(listed & ~values.null, image, values.data)
        out[rule.column] = replace(values, data=data)
    return out


def _images(of_column: Column, rule: Function, of: Values, values: Values) -> tuple[Mask, npt.NDArray[Any]]:
    """The rows whose argument the function lists, and the value it gives there."""
    pairs = {_parse_key(of_column, of, key): stored_value(values, value) for key, value in rule.pairs}
    keys = sorted(pairs)
    arguments = np.array(keys, dtype=of.data.dtype)
    images = np.array([pairs[key] for key in keys], dtype=values.data.dtype)
    place = np.minimum(np.searchsorted(arguments, of.data), len(keys) - 1)
    return ~of.null & (arguments[place] == of.data), images[place]


def _parse_key(column: Column, of: Values, key: str) -> Any:
    """How the value that a key of a function stands for is stored; the schema checked that it is a value."""
    if of.labels is not None:
        return of.labels.index(key)
    if isinstance(column, Boolean):
        return key.lower() == "true"
    if isinstance(column, Datetime):
        return column.tick(key)
    return float(key) if isinstance(column, Real) else int(key)


def _in_order(functions: list[Function]) -> list[Function]:
    """Each function after the one that gives its argument (the schema allows no circles)."""
    given = {f.column: f for f in functions}
    columns = TopologicalSorter({f.column: [f.of] for f in functions}).static_order()
    return [given[column] for column in columns if column in given]
