"""Public rules hold in every sample: rows that break one are drawn again, then mended, then replaced by others."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from graphlib import TopologicalSorter
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Ints, Mask
from sklar.errors import UnsupportedConditionError
from sklar.sample.conditions import bounds
from sklar.sample.decode import SampledTable, Values, replace_rows, row_count, take
from sklar.schema.columns import Boolean, Column
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.rules import AtMost, Function, Label, Never, Rule
from sklar.schema.table import Schema

Draw = Callable[[int], SampledTable]
"""Draws this many fresh rows from the model."""

Check = Callable[[SampledTable], Mask]
"""Tells which rows are as they should be."""

ROUNDS = 25
"""Rounds of drawing again: the more, the rarer rows may be before they are mended, which bends their law."""
SMALLEST_REDRAW = 10_000
"""A round may draw as many rows as the sample has, and at least this many."""


def enforce(
    schema: Schema, table: SampledTable, draw: Draw, rng: np.random.Generator, also: Check | None
) -> SampledTable:
    """The table with every row that breaks a rule replaced by one that obeys all of them.

    Drawing again until a row is accepted gives the model's law given the rules. Only what is left after a bounded
    number of rounds (rules of tiny probability) is mended by moving `at most` columns, or copied from accepted rows.

    With `also` come further conditions on rows, as those of a conditional sample.

    Raises:
        UnsupportedConditionError: No row was found that obeys all rules.
    """
    if not schema.rules and also is None:
        return table

    def holds(rows: SampledTable) -> Mask:
        kept = rules_hold(schema, rows)
        return kept if also is None else kept & also(rows)

    table = apply_functions(schema, table)
    table, bad = _draw_again(schema, table, draw, holds)
    return _mend(schema, table, bad, holds, rng) if len(bad) else table


def _draw_again(schema: Schema, table: SampledTable, draw: Draw, holds: Check) -> tuple[SampledTable, Ints]:
    """Rejection sampling in rounds; the table and the rows that still break a rule."""
    bad = np.flatnonzero(~holds(table))
    drawn, accepted, most = row_count(table), row_count(table) - len(bad), max(row_count(table), SMALLEST_REDRAW)
    for _ in range(ROUNDS):
        if not len(bad):
            break
        wanted = min(most, 16 + math.ceil(1.1 * len(bad) * (drawn + 1) / (accepted + 1)))
        fresh = apply_functions(schema, draw(wanted))
        good = np.flatnonzero(holds(fresh))
        drawn, accepted = drawn + wanted, accepted + len(good)
        good = good[: len(bad)]
        table, bad = replace_rows(table, bad[: len(good)], fresh, good), bad[len(good) :]
    return table, bad


def _mend(schema: Schema, table: SampledTable, bad: Ints, holds: Check, rng: np.random.Generator) -> SampledTable:
    """Bad rows moved to obey, or copied from good ones."""
    mended = apply_functions(schema, _move_at_most(schema, take(table, bad)))
    table = replace_rows(table, bad, mended, np.arange(len(bad)))
    kept = holds(table)
    good, bad = np.flatnonzero(kept), np.flatnonzero(~kept)
    if not len(good):
        raise UnsupportedConditionError(
            "no row drawn from the model obeys all rules of the schema and the values asked for; "
            "check that the rules can hold together, or ask for less."
        )
    return replace_rows(table, bad, table, rng.choice(good, len(bad))) if len(bad) else table


def _move_at_most(schema: Schema, table: SampledTable) -> SampledTable:
    """Moves pairs that break low <= high: low down to the largest value of high, then high up to low.

    Chains (a <= b <= c) need one pass a link; the caller checks what came of it.
    """
    rules = [rule for rule in schema.rules if isinstance(rule, AtMost)]
    moved = dict(table)
    for _ in rules:
        for rule in rules:
            moved |= _move_pair(schema, rule, moved[rule.low], moved[rule.high])
    return moved


def _move_pair(schema: Schema, rule: AtMost, low: Values, high: Values) -> dict[str, Values]:
    low_column, high_column = schema[rule.low], schema[rule.high]
    bad = ~low.null & ~high.null & (low.data > high.data)
    if not bad.any():
        return {}
    low_data, high_data = low.data.copy(), high.data.copy()
    assert isinstance(high_column, Integer | Real | Datetime)
    low_data[bad] = _to_grid(low_column, np.minimum(low_data[bad], bounds(high_column)[1]), up=False)
    high_data[bad] = _to_grid(high_column, np.maximum(high_data[bad], low_data[bad]), up=True)
    return {rule.low: replace(low, data=low_data), rule.high: replace(high, data=high_data)}


def _to_grid(column: Column, values: np.ndarray, *, up: bool) -> np.ndarray:
    """The nearest values above (or below) that the column can take."""
    toward = np.ceil if up else np.floor
    if not isinstance(column, Real):
        return values if values.dtype.kind == "i" else toward(values).astype(np.int64)
    if column.decimals is None:
        return values.astype(np.float64)
    scale, step = 10.0**column.decimals, 1.0 if up else -1.0
    shifted = toward(values * scale)
    nearer = (shifted - step) / scale  # the product is rounded, so the step before may do as well
    return np.where(nearer >= values if up else nearer <= values, nearer, shifted / scale)


def rules_hold(schema: Schema, table: SampledTable) -> Mask:
    """The rows that obey all rules; a null obeys every rule that speaks of it."""
    held = (rule_holds(schema, rule, table) for rule in schema.rules)
    return reduce(np.logical_and, held, np.ones(row_count(table), bool))


def rule_holds(schema: Schema, rule: Rule, table: SampledTable) -> Mask:
    """The rows that obey one rule."""
    if isinstance(rule, AtMost):
        low, high = table[rule.low], table[rule.high]
        return low.null | high.null | (low.data <= high.data)
    if isinstance(rule, Never):
        return ~reduce(np.logical_and, (equals(table[name], value) for name, value in rule.pairs))
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


def equals(values: Values, value: Label) -> Mask:
    """The rows whose value is `value`; nulls are not."""
    if values.labels is not None and value not in values.labels:
        return np.zeros(len(values.data), bool)
    return ~values.null & (values.data == _stored_value(values, value))


def _stored_value(values: Values, value: Label) -> Any:
    """How a value of the schema is stored in an array of values."""
    return values.labels.index(str(value)) if values.labels is not None else value


def _images(of_column: Column, rule: Function, of: Values, values: Values) -> tuple[Mask, npt.NDArray[Any]]:
    """The rows whose argument the function lists, and the value it gives there."""
    pairs = {_parse_key(of_column, of, key): _stored_value(values, value) for key, value in rule.pairs}
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
