"""Real columns: numbers, decimals and text to the cells of the public grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Ints, Mask
from sklar.rows.encode.arrays import (
    Codes,
    Encoder,
    floats_of,
    integers_of,
    is_listed,
    listed_numbers,
    number_texts,
)
from sklar.rows.encode.text import Text, text_of
from sklar.schema import Grid, Integer, Real


def real_encoder(column: Real, null_values: tuple[str, ...]) -> Encoder:
    """Values outside the bounds are clipped, infinities too; NaN and unreadable text count as missing."""
    from sklar.rows.kernels.cells import finder, number_cells

    grid, nulls, null_texts = column.grid, listed_numbers(null_values), number_texts(null_values)
    search = finder(grid.starts.astype(np.float64))
    place = (search.starts, search.first, search.low, search.inverse)
    missing = missing_code(column)

    def encode(array: Any) -> Codes:
        numbers = floats_of(array) or integers_of(array)
        if numbers is None:
            return _text_cells(text_of(array, null_texts), place, missing, grid)
        values, valid = numbers
        if nulls:
            valid = valid & ~is_listed(array, values, nulls)
        out = np.empty(len(values), dtype=np.int32)
        number_cells(values.astype(np.float64, copy=False), valid, *place, missing, out)
        return out

    return encode


def missing_code(column: Any) -> int:
    """Code of a missing number: null if the column may be null, else the cell of `missing_value` or the lower bound."""
    if column.null_code is not None:
        return column.null_code
    value = column.lower if column.missing_value is None else column.missing_value
    if column.kind == "datetime":
        value = column.tick(value)
    return int(column.grid.code(np.array([value], dtype=column.grid.starts.dtype))[0])


def _text_cells(text: Text, place: Any, missing: int, grid: Any) -> Codes:
    from sklar.rows.kernels.decimals import real_text_cells

    count = len(text)
    out, doubtful = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.uint8)
    starts, first, low, inverse = place
    cells = (text.data, text.begins, text.ends, text.valid)
    real_text_cells(*cells, starts, first, low, inverse, missing, out, doubtful)
    for i in np.flatnonzero(doubtful).tolist():
        # Too close to a cell start for the quick way; the kernel has already checked that it reads as a number.
        value = float(text.entry(i))
        out[i] = grid.code(np.array([value]))[0]
    return out


def integer_encoder(column: Integer, null_values: tuple[str, ...]) -> Encoder:
    """Values outside the bounds are clipped, infinities too; NaN and unreadable text count as missing."""
    from sklar.rows.kernels.cells import finder, number_cells, unit_cells
    from sklar.rows.kernels.decimals import integer_text_cells

    search, nulls, null_texts = finder(column.grid.starts), listed_numbers(null_values), number_texts(null_values)
    unit, lowest, highest = unit_range(column.grid)
    place = (search.starts, search.first, search.low, search.inverse)
    missing = missing_code(column)

    def encode(array: Any) -> Codes:
        out = np.empty(len(array), dtype=np.int32)
        numbers = integers_of(array) or floats_of(array)
        if numbers is None:
            text = text_of(array, null_texts)
            integer_text_cells(text.data, text.begins, text.ends, text.valid, *place, missing, out)
            return out
        values, valid = numbers
        if nulls:
            valid = valid & ~is_listed(array, values, nulls)
        if values.dtype == np.float64:
            values = rounded(values, valid)
        if unit:
            unit_cells(values, valid, lowest, highest, missing, out)
        else:
            number_cells(values, valid, *place, missing, out)
        return out

    return encode


def unit_range(grid: Grid) -> tuple[bool, np.int64, np.int64]:
    """(whether every integer is a cell, the lowest, the highest)."""
    lowest, highest = grid.starts[[0, -1]]
    return int(highest) - int(lowest) == grid.cells - 1, lowest, highest


def rounded(values: npt.NDArray[Any], valid: Mask) -> Ints:
    """Valid floats as the nearest int64, those beyond it clipped."""
    whole = np.rint(np.where(valid, values, 0.0))
    # The largest float below 2^63 converts exactly; anything from 2^63 on must not be converted at all.
    whole_numbers = np.clip(whole, -(2.0**63), np.nextafter(2.0**63, 0)).astype(np.int64)
    whole_numbers[whole >= 2.0**63] = 2**63 - 1
    return whole_numbers
