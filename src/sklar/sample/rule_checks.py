"""Which rows obey the public rules of a schema, and columns that are a public function of another."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.sample.values import Mask, SampledTable, Values, row_count
from sklar.schema.columns import Boolean, Column
from sklar.schema.constraints import AtMost, Constraint, Function, Label, Never
from sklar.schema.numbers import Datetime, Real
from sklar.schema.table import Schema


def rules_hold(schema: Schema, table: SampledTable) -> Mask:
    """The rows that obey all rules; a null obeys every rule that speaks of it."""
    hold = np.ones(row_count(table), bool)
    for rule in schema.constraints:
        hold &= rule_holds(schema, rule, table)
    return hold


def rule_holds(schema: Schema, rule: Constraint, table: SampledTable) -> Mask:
    """The rows that obey one rule."""
    if isinstance(rule, AtMost):
        low, high = table[rule.low], table[rule.high]
        return low.null | high.null | (low.data <= high.data)
    if isinstance(rule, Never):
        broken = np.ones(row_count(table), bool)
        for name, value in rule.pairs:
            broken &= equals(table[name], value)
        return ~broken
    return _function_holds(schema, rule, table)


def apply_functions(schema: Schema, table: SampledTable) -> SampledTable:
    """The table with every column that is a function of another overwritten, wherever neither is null."""
    out = dict(table)
    for rule in _in_order([r for r in schema.constraints if isinstance(r, Function)]):
        values = out[rule.column]
        listed, image = _images(schema[rule.of], rule, out[rule.of], values)
        data = np.where(listed & ~values.null, image, values.data)
        out[rule.column] = Values(data=data, null=values.null, labels=values.labels)
    return out


def equals(values: Values, value: Label) -> Mask:
    """The rows whose value is `value`; nulls are not."""
    if values.labels is not None and value not in values.labels:
        return np.zeros(len(values.data), bool)
    return ~values.null & (values.data == _stored(values, value))


def _stored(values: Values, value: Label) -> Any:
    """How a value of the schema is stored in an array of values."""
    return values.labels.index(str(value)) if values.labels is not None else value


def _function_holds(schema: Schema, rule: Function, table: SampledTable) -> Mask:
    values = table[rule.column]
    listed, image = _images(schema[rule.of], rule, table[rule.of], values)
    return values.null | ~listed | (values.data == image)


def _images(of_column: Column, rule: Function, of: Values, values: Values) -> tuple[Mask, npt.NDArray[Any]]:
    """The rows whose argument the function lists, and the value it gives there."""
    pairs = {_parsed(of_column, of, key): _stored(values, value) for key, value in rule.pairs}
    keys = sorted(pairs)
    arguments = np.array(keys, dtype=of.data.dtype)
    images = np.array([pairs[key] for key in keys], dtype=values.data.dtype)
    place = np.minimum(np.searchsorted(arguments, of.data), len(keys) - 1)
    return ~of.null & (arguments[place] == of.data), images[place]


def _parsed(column: Column, of: Values, key: str) -> Any:
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
    order: dict[str, Function] = {}

    def place(rule: Function) -> None:
        if rule.of in given and rule.of not in order:
            place(given[rule.of])
        order[rule.column] = rule

    for rule in functions:
        place(rule)
    return list(order.values())
