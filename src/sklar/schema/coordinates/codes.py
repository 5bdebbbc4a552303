"""Codes of differences and ratios, from values of the two columns of one row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from sklar.arrays import Mask
from sklar.schema.coordinates.parts import Coordinates, Difference, Quotient
from sklar.schema.numbers import Integer, Ranged, Real

Known = tuple[npt.NDArray[Any], Mask]
"""Values inside their bounds, and which are null."""
MIN_RANGE = 1e-300
"""Least width of a range, which avoids a division by zero for a range of one value."""


def pair_codes(by: Coordinates, part: Difference | Quotient) -> Callable[[Known, Known], npt.NDArray[Any]]:
    """Return the function that computes codes of a difference or ratio from the anchor, the column and their nulls."""
    column = cast("Integer | Real", by.schema[part.name])
    dtype = np.min_scalar_type(max(column.size - 1, 0))
    place = _make_length_encoder(by, part) if isinstance(part, Difference) else _make_ratio_encoder(by, part)

    def encode(anchor: Known, value: Known) -> npt.NDArray[Any]:
        codes = column.grid.code(place(*anchor, value[0]))
        return np.where(value[1], codes if column.null_code is None else column.null_code, codes).astype(dtype)

    return encode


def _make_length_encoder(by: Coordinates, part: Difference) -> Callable[..., npt.NDArray[Any]]:
    start, end = cast(Ranged, by.declared[part.column]).span

    def length(anchor: npt.NDArray[Any], unknown: Mask, value: npt.NDArray[Any]) -> npt.NDArray[Any]:
        found = np.clip(value - anchor if part.above else anchor - value, part.least, part.most)
        alone = part.least + (value - start if part.above else end - value)
        found = np.where(unknown, alone, found)
        return found if part.decimals is None else np.round(found, part.decimals)

    return length


def _make_ratio_encoder(by: Coordinates, part: Quotient) -> Callable[..., npt.NDArray[Any]]:
    start, end = cast(Ranged, by.declared[part.column]).span

    def ratio(anchor: npt.NDArray[Any], unknown: Mask, value: npt.NDArray[Any]) -> npt.NDArray[Any]:
        found = np.full(len(value), part.least)
        with np.errstate(all="ignore"):  # what a library warns of may depend on one row
            np.divide(value, anchor, out=found, where=anchor > 0)
        alone = part.least + (value - start) / max(end - start, MIN_RANGE) * (part.most - part.least)
        return np.clip(np.where(unknown, alone, found), part.least, part.most)

    return ratio
