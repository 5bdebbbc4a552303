"""Integer columns: whole numbers exact over all of int64, fractions rounded to the nearest integer, ties to even."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.rows.encode.arrays import (
    Codes,
    Encoder,
    floats_of,
    integers_of,
    is_listed,
    listed_numbers,
    number_texts,
)
from sklar.rows.encode.real import missing_code
from sklar.rows.encode.text import text_of
from sklar.schema import Grid, Integer


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


def rounded(values: npt.NDArray[Any], valid: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Valid floats as the nearest int64, those beyond it clipped."""
    whole = np.rint(np.where(valid, values, 0.0))
    # The largest float below 2^63 converts exactly; anything from 2^63 on must not be converted at all.
    whole_numbers = np.clip(whole, -(2.0**63), np.nextafter(2.0**63, 0)).astype(np.int64)
    whole_numbers[whole >= 2.0**63] = 2**63 - 1
    return whole_numbers
