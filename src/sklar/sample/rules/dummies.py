"""One-hot dummy columns: decode them from a category, check them and repair them."""

from __future__ import annotations

import numpy as np

from sklar.arrays import Ints, Mask
from sklar.sample.decode import SampledTable, Values, decode_codes
from sklar.schema.columns import Column
from sklar.schema.coordinates import Coordinates, DummyChoice
from sklar.schema.rules import OneHot
from sklar.schema.rules.dummies import switch_codes
from sklar.schema.table import Schema


def one_hot_holds(schema: Schema, rule: OneHot, table: SampledTable) -> Mask:
    """Return the rows with the required number of columns set, where all columns are null or none is."""
    nulls = np.array([table[name].null for name in rule.columns])
    count = np.sum([_is_set(schema[name], table[name]) for name in rule.columns], axis=0)
    return np.where(nulls.any(axis=0), nulls.all(axis=0), (count == 1) | (rule.at_most_one & (count == 0)))


def keep_one(schema: Schema, rule: OneHot, table: SampledTable) -> SampledTable:
    """Repair rows: keep the first column that is set (the first of all if one must be), and nulls of the first."""
    codes = np.full(len(table[rule.columns[0]].data), len(rule.columns) if rule.at_most_one else 0)
    for place in reversed(range(len(rule.columns))):
        codes[_is_set(schema[rule.columns[place]], table[rule.columns[place]])] = place
    null = table[rule.columns[0]].null
    return {**table, **{n: set_dummy(schema[n], codes == at, null) for at, n in enumerate(rule.columns)}}


def from_choice(by: Coordinates, part: DummyChoice, drawn: Values) -> tuple[dict[str, Values], Mask]:
    """Return the dummy columns of a category, and the rows where none is set though one should be."""
    none = ~drawn.null & (drawn.data == len(part.columns))
    place = np.where(none & (not part.at_most_one), 0, drawn.data)
    columns = {n: set_dummy(by.declared[n], place == at, drawn.null) for at, n in enumerate(part.columns)}
    return columns, none if not part.at_most_one else np.zeros(len(none), bool)


def set_dummy(column: Column, on: Mask, null: Mask) -> Values:
    """Return a dummy column that is set and null in the given rows."""
    off_code, on_code = switch_codes(column)
    codes: Ints = np.where(on, on_code, off_code)
    return decode_codes(column, codes if column.null_code is None else np.where(null, column.null_code, codes))


def _is_set(column: Column, values: Values) -> Mask:
    one = decode_codes(column, np.array([switch_codes(column)[1]]))
    return ~values.null & (values.data == one.data[0])
