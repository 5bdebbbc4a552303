"""Codes of coordinates: of a column as it is, or computed from the values of several columns of one row.

Each value is first read and clipped by its own column's rules, so that a coordinate agrees with the declared columns. A
code depends on the values of its own row alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from sklar.arrays import Mask
from sklar.rows.encode import encoder_of
from sklar.rows.encode.arrays import Encoder, plain_codes
from sklar.rows.encode.moment import moment_values
from sklar.rows.encode.numbers import MISSING, integer_values, real_values
from sklar.schema.coordinates import (
    CalendarPart,
    Coordinate,
    Coordinates,
    Difference,
    DummyChoice,
    Quotient,
    pair_codes,
)
from sklar.schema.numbers import Datetime, Integer
from sklar.schema.rules.dummies import switch_codes

RowEncoder = Callable[..., npt.NDArray[Any]]
"""From one array for each source of a coordinate to its codes, in the smallest type that fits."""
ValueReader = Callable[[Any], tuple[npt.NDArray[Any], Mask]]
"""From an array to values, and a mark on some of them."""
READERS: dict[str, Callable[[Any, tuple[str, ...]], Encoder]] = {
    "integer": integer_values,
    "real": real_values,
    "datetime": moment_values,
}


def coordinate_encoder(by: Coordinates, part: Coordinate, null_values: tuple[str, ...] = ()) -> RowEncoder:
    """Return the function that computes the codes of a coordinate from Arrow arrays of its sources."""
    if isinstance(part, Difference | Quotient):
        return _pair_encoder(by, part, null_values)
    if isinstance(part, DummyChoice):
        return _choice_encoder(by, part, null_values)
    if isinstance(part, CalendarPart):
        return _make_calendar_encoder(by, part, null_values)
    return encoder_of(by.declared[part.name], null_values)


def _choice_encoder(by: Coordinates, part: DummyChoice, null_values: tuple[str, ...]) -> RowEncoder:
    """Return the encoder of the first dummy column that is set; null if any of them is, `other` if none is set."""
    column, dummies = by.schema[part.name], [by.declared[name] for name in part.columns]
    encoders = [encoder_of(dummy, null_values) for dummy in dummies]
    none, dtype = len(dummies), np.min_scalar_type(max(column.size - 1, 0))

    def encode(*arrays: Any) -> npt.NDArray[Any]:
        found = np.full(len(arrays[0]), none)
        null = np.zeros(len(found), bool)
        for place in reversed(range(none)):  # the first one has the last word
            codes = encoders[place](arrays[place])
            found[codes == switch_codes(dummies[place])[1]] = place
            if dummies[place].null_code is not None:
                null |= codes == dummies[place].null_code
        return np.where(null, none if column.null_code is None else column.null_code, found).astype(dtype)

    return encode


def _pair_encoder(by: Coordinates, part: Difference | Quotient, null_values: tuple[str, ...]) -> RowEncoder:
    """Return the encoder of a difference or ratio, from arrays of a column and its anchor."""
    read_anchor = value_reader(by.declared[part.anchor], null_values)
    read_column, code = value_reader(by.declared[part.column], null_values), pair_codes(by, part)

    def encode(anchors: Any, values: Any) -> npt.NDArray[Any]:
        return code(read_anchor(anchors), read_column(values))

    return encode


def _make_calendar_encoder(by: Coordinates, part: CalendarPart, null_values: tuple[str, ...]) -> RowEncoder:
    column, read = cast(Integer, by.schema[part.name]), value_reader(by.declared[part.column], null_values)
    dtype = np.min_scalar_type(max(column.size - 1, 0))

    def encode(array: Any) -> npt.NDArray[Any]:
        ticks, null = read(array)
        codes = part.calendar.take_apart(ticks)[part.part] - column.lower
        return np.where(null, 0 if column.null_code is None else column.null_code, codes).astype(dtype)

    return encode


def raw_reader(column: Any, null_values: tuple[str, ...]) -> ValueReader:
    """Return a function that reads numbers or ticks in any range, and marks those that are missing or unreadable."""
    read = READERS[column.kind](column, null_values)

    def values(array: Any) -> tuple[npt.NDArray[Any], Mask]:
        found = plain_codes(array, read)
        return found, np.isnan(found) if found.dtype == np.float64 else found == MISSING

    return values


def value_reader(column: Any, null_values: tuple[str, ...]) -> ValueReader:
    """Return a function that reads values and marks nulls.

    Values are clipped to the bounds; if the column is not nullable, a missing value becomes `missing_value`.
    """
    read, (lower, upper) = raw_reader(column, null_values), column.span
    default = lower
    if column.missing_value is not None:
        default = column.tick(column.missing_value) if isinstance(column, Datetime) else column.missing_value

    def values(array: Any) -> tuple[npt.NDArray[Any], Mask]:
        found, missing = read(array)
        clipped = np.clip(np.where(missing, default, found), lower, upper)
        return clipped, missing if column.nullable else np.zeros(len(found), bool)

    return values
