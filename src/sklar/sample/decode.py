"""From base codes to values: labels, numbers drawn inside their cells, true or false, and nulls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.sample.values import Mask, SampledTable, Values
from sklar.sample.within import Points, Restriction, Window, draw_integers, draw_points, draw_reals
from sklar.schema.columns import Column, Id, Ignore, Labels
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.table import Schema

Codes = npt.NDArray[np.int32]


def decode(
    schema: Schema,
    codes: Codes,
    rng: np.random.Generator,
    restrictions: Mapping[str, Restriction] | None = None,
) -> SampledTable:
    """Values of the modelled columns.

    Args:
        schema: The public facts about the columns.
        codes: Base codes, one row a record and one column a modelled column in schema order.
        rng: Draws the place of each number inside its cell.
        restrictions: Ranges or points that numbers of some columns must keep to inside their cells.

    Returns:
        Values by column name; keys (`id` columns) are added by `with_keys`.
    """
    limits = restrictions or {}
    return {
        name: decode_column(schema[name], codes[:, j], rng, limits.get(name)) for j, name in enumerate(schema.modelled)
    }


def decode_column(column: Column, codes: Codes, rng: np.random.Generator, limit: Restriction | None = None) -> Values:
    """Values of one column."""
    if isinstance(column, Labels):
        return _decode_labels(column, codes)
    null = np.zeros(len(codes), bool) if column.null_code is None else codes == column.null_code
    cells = np.where(null, 0, codes) if null.any() else codes
    return Values(data=_zero_where(null, _draw(column, cells, rng, limit)), null=null)


def with_keys(schema: Schema, table: SampledTable, rows: int, first_key: int = 1) -> SampledTable:
    """The table in schema order with fresh keys first_key, first_key + 1, ... in its id columns."""
    keys = Values(data=np.arange(first_key, first_key + rows, dtype=np.int64), null=np.zeros(rows, bool))
    kept = {name: column for name, column in schema.items() if not isinstance(column, Ignore)}
    return {name: keys if isinstance(column, Id) else table[name] for name, column in kept.items()}


def _decode_labels(column: Labels, codes: Codes) -> Values:
    """Positions of text labels (the last one is `other`), or the labels themselves if they are integers."""
    null = np.zeros(len(codes), bool) if column.null_code is None else codes == column.null_code
    positions = np.where(null, 0, codes).astype(np.int32)
    labels = (*column.values, column.other)
    if column.integer_labels:
        return Values(data=_zero_where(null, np.array(labels, dtype=np.int64)[positions]), null=null)
    return Values(data=positions, null=null, labels=tuple(str(label) for label in labels))


def _draw(
    column: Column, cells: npt.NDArray[np.integer], rng: np.random.Generator, limit: Restriction | None
) -> npt.NDArray[Any]:
    if isinstance(column, Integer | Real | Datetime):
        if isinstance(limit, Points):
            return draw_points(column.grid, cells, limit, rng)
        window = limit if isinstance(limit, Window) else None
        if isinstance(column, Real):
            return draw_reals(column, cells, window, rng)
        return draw_integers(column.grid, cells, window, rng)
    return cells == 1  # boolean: False, then True


def _zero_where(null: Mask, data: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The filler of nulls is zero, so that nothing about a null depends on the draw."""
    if null.any():
        data = data.copy()
        data[null] = 0
    return data
