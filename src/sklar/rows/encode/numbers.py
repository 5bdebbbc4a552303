"""Integer and real columns: numbers, decimals and text to the cells of the public grid; integers exact over int64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats, Ints, Mask
from sklar.rows.encode.arrays import Codes, Encoder, floats_of, integers_of, is_listed, listed_numbers
from sklar.rows.encode.text import Text
from sklar.rows.encode.written_numbers import number_text
from sklar.schema import Datetime, Grid, Integer, Real


def real_encoder(column: Real, null_values: tuple[str, ...]) -> Encoder:
    """Return the encoder of reals: values outside the bounds are clipped, NaN and unreadable text are missing."""
    from sklar.rows.kernels.cells import make_finder, number_cells

    nulls, text_of = listed_numbers(null_values), number_text(column, null_values)
    search, missing = make_finder(column.grid.starts.astype(np.float64)), missing_code(column)

    def encode(array: Any) -> Codes:
        numbers = floats_of(array) or integers_of(array)
        if numbers is None:
            return _encode_texts(text_of(array), search, missing, column.grid)
        values, valid = numbers
        if nulls:
            valid = valid & ~is_listed(array, values, nulls)
        out = np.empty(len(values), dtype=np.int32)
        number_cells(values.astype(np.float64, copy=False), valid, *search, missing, out)
        return out

    return encode


def _encode_texts(text: Text, search: tuple[Any, Any, Any, Any], missing: int, grid: Grid) -> Codes:
    from sklar.rows.kernels.decimals import UNREAD, real_text_cells

    out, doubtful = np.empty(len(text), dtype=np.int32), np.empty(len(text), dtype=np.uint8)
    real_text_cells(text.data, text.begins, text.ends, text.valid, *search, missing, out, doubtful)
    for i in np.flatnonzero(doubtful).tolist():
        # Too close to a cell start for the quick way; the kernel has already checked that it reads as a number.
        out[i] = grid.code(np.array([float(text.entry(i))]))[0]
    if len(unread := np.flatnonzero(out == UNREAD)):
        out[unread] = _find_cells_carefully(text.some(unread), search, missing)
    return out


def _find_cells_carefully(text: Text, search: tuple[Any, Any, Any, Any], missing: int) -> Codes:
    """Return cells of any text, such as one with an exponent; a doubtful value is within REAL_TOLERANCE."""
    from sklar.rows.kernels.cells import number_cells

    def cells(values: Floats) -> Codes:
        out = np.empty(len(values), dtype=np.int32)
        number_cells(values, text.valid, *search, missing, out)
        return out

    values, doubtful = _read_reals(text)
    finite = np.isfinite(values)
    slack = np.where(doubtful & finite, np.abs(values) * REAL_TOLERANCE + 1e-280, 0.0)
    with np.errstate(over="ignore"):  # the largest numbers may become infinite, which are clipped as they are
        unsure = (doubtful & ~finite) | (cells(values - slack) != cells(values + slack))
    for i in np.flatnonzero(unsure).tolist():
        values[i] = float(text.entry(i))
    return cells(values)


REAL_TOLERANCE = 1e-15
"""Relative error of a real read from text: four units in the last place."""


def _read_reals(text: Text) -> tuple[Floats, Mask]:
    """Return each text as a number, NaN where it is none, and which may not be rounded right."""
    from sklar.rows.kernels.decimals import real_text_values

    values, doubtful = np.empty(len(text), dtype=np.float64), np.empty(len(text), dtype=bool)
    real_text_values(text.data, text.begins, text.ends, text.valid, values, doubtful)
    return values, doubtful


def _read_integers(text: Text) -> tuple[Ints, Mask]:
    """Return each text as the nearest integer, and which of them are numbers."""
    from sklar.rows.kernels.decimals import integer_text_values

    values, fine = np.empty(len(text), dtype=np.int64), np.empty(len(text), dtype=bool)
    integer_text_values(text.data, text.begins, text.ends, text.valid, values, fine)
    return values, fine


def integer_encoder(column: Integer, null_values: tuple[str, ...]) -> Encoder:
    """Return the encoder of integers: values outside the bounds are clipped, fractions rounded, ties to even."""
    from sklar.rows.kernels.cells import make_finder
    from sklar.rows.kernels.decimals import UNREAD, integer_text_cells

    nulls, text_of = listed_numbers(null_values), number_text(column, null_values)
    search, missing, cells = make_finder(column.grid.starts), missing_code(column), integer_cells(column)

    def encode(array: Any) -> Codes:
        numbers = integers_of(array) or floats_of(array)
        if numbers is None:
            text, out = text_of(array), np.empty(len(array), dtype=np.int32)
            integer_text_cells(text.data, text.begins, text.ends, text.valid, *search, missing, out)
            if len(unread := np.flatnonzero(out == UNREAD)):
                out[unread] = cells(*_read_integers(text.some(unread)))
            return out
        values, valid = numbers
        if nulls:
            valid = valid & ~is_listed(array, values, nulls)
        return cells(round_floats(values, valid) if values.dtype == np.float64 else values, valid)

    return encode


MISSING = -(2**63)
"""Stands for a missing integer among values; no column whose values are read has such a value."""


def integer_values(column: Integer, null_values: tuple[str, ...]) -> Encoder:
    """Return a reader of whole numbers as in `integer_encoder`, MISSING where there is none."""
    nulls, text_of = listed_numbers(null_values), number_text(column, null_values)

    def encode(array: Any) -> Ints:
        numbers = integers_of(array) or floats_of(array)
        if numbers is None:
            values, fine = _read_integers(text_of(array))
            return or_missing(values, fine)
        values, valid = numbers
        if nulls:
            valid = valid & ~is_listed(array, values, nulls)
        return or_missing(round_floats(values, valid) if values.dtype == np.float64 else values.astype(np.int64), valid)

    return encode


def or_missing(values: Ints, valid: Mask) -> Ints:
    """Return the valid integers, MISSING elsewhere; a valid integer equal to MISSING becomes its neighbour."""
    return np.where(valid, np.maximum(values, MISSING + 1), MISSING)


def real_values(column: Real, null_values: tuple[str, ...]) -> Encoder:
    """Return a reader of reals as in `real_encoder`, NaN where there is none."""
    nulls, text_of = listed_numbers(null_values), number_text(column, null_values)

    def encode(array: Any) -> Floats:
        numbers = floats_of(array) or integers_of(array)
        if numbers is None:
            text = text_of(array)
            out, doubtful = _read_reals(text)
            for i in np.flatnonzero(doubtful).tolist():
                out[i] = float(text.entry(i))
            return out
        values, valid = numbers
        if nulls:
            valid = valid & ~is_listed(array, values, nulls)
        return np.where(valid, values.astype(np.float64, copy=False), np.nan)

    return encode


def integer_cells(column: Integer | Datetime) -> Callable[[npt.NDArray[Any], Mask], Codes]:
    """Return the function from integers, or ticks, and which of them are valid, to the cells of the grid."""
    from sklar.rows.kernels.cells import make_finder, number_cells, unit_cells

    search, missing = make_finder(column.grid.starts), missing_code(column)
    unit, lowest, highest = unit_range(column.grid)

    def cells(values: npt.NDArray[Any], valid: Mask) -> Codes:
        out = np.empty(len(values), dtype=np.int32)
        if unit:
            unit_cells(values, valid, lowest, highest, missing, out)
        else:
            number_cells(values, valid, *search, missing, out)
        return out

    return cells


def missing_code(column: Any) -> int:
    """Return the code of a missing number: null if allowed, else the cell of `missing_value` or the lower bound."""
    if column.null_code is not None:
        return column.null_code
    value = column.lower if column.missing_value is None else column.missing_value
    if column.kind == "datetime":
        value = column.tick(value)
    return int(column.grid.code(np.array([value], dtype=column.grid.starts.dtype))[0])


def unit_range(grid: Grid) -> tuple[bool, np.int64, np.int64]:
    """Return (whether every integer is a cell, the lowest, the highest)."""
    lowest, highest = grid.starts[[0, -1]]
    return int(highest) - int(lowest) == grid.cells - 1, lowest, highest


def round_floats(values: npt.NDArray[Any], valid: Mask) -> Ints:
    """Round valid floats to the nearest int64, those beyond it clipped."""
    whole = np.rint(np.where(valid, values, 0.0))
    # The largest float below 2^63 converts exactly; anything from 2^63 on must not be converted at all.
    whole_numbers = np.clip(whole, -(2.0**63), np.nextafter(2.0**63, 0)).astype(np.int64)
    whole_numbers[whole >= 2.0**63] = 2**63 - 1
    return whole_numbers
