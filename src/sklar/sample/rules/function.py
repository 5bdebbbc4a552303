"""Columns that are functions of others: computed from their argument, or overwritten where neither is null."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Mask
from sklar.sample.decode import SampledTable, Values, decode_missing
from sklar.sample.rules.never import stored_value
from sklar.schema.columns import Boolean, Column
from sklar.schema.numbers import Datetime, Real
from sklar.schema.rules import Function
from sklar.schema.table import Schema


def function_holds(schema: Schema, rule: Function, table: SampledTable) -> Mask:
    """Return the rows whose value is that of the function, or for which it has none; nulls obey."""
    values = table[rule.column]
    listed, image = _images(schema[rule.of], rule, table[rule.of], values)
    return values.null | ~listed | (values.data == image)


def apply_function(schema: Schema, rule: Function, table: SampledTable) -> Values:
    """Return the column of a function; drawn values, if any, stay where the function is not defined.

    A column that was not drawn has the value of a missing cell there: null if allowed, else `other` or its
    `missing_value`.
    """
    of = table[rule.of]
    if rule.column in table:
        values = table[rule.column]
        listed, image = _images(schema[rule.of], rule, of, values)
        return replace(values, data=np.where(listed & ~values.null, image, values.data))
    values = decode_missing(schema[rule.column], len(of.data))
    listed, image = _images(schema[rule.of], rule, of, values)
    return replace(values, data=np.where(listed, image, values.data), null=values.null & ~listed)


def _images(of_column: Column, rule: Function, of: Values, values: Values) -> tuple[Mask, npt.NDArray[Any]]:
    """Return the rows whose argument the function lists, and the value it gives there."""
    pairs = {_parse_key(of_column, of, key): stored_value(values, value) for key, value in rule.pairs}
    keys = sorted(pairs)
    arguments = np.array(keys, dtype=of.data.dtype)
    images = np.array([pairs[key] for key in keys], dtype=values.data.dtype)
    place = np.minimum(np.searchsorted(arguments, of.data), len(keys) - 1)
    return ~of.null & (arguments[place] == of.data), images[place]


def _parse_key(column: Column, of: Values, key: str) -> Any:
    """Return the stored form of a key of a function; the schema has validated it."""
    if of.labels is not None:
        return of.labels.index(key)
    if isinstance(column, Boolean):
        return key.lower() == "true"
    if isinstance(column, Datetime):
        return column.tick(key)
    return float(key) if isinstance(column, Real) else int(key)
