"""The binary table of Asghar et al. (2020): zeros and ones, one column per value, named as in conditions.

Each value is thresholded on its own, so a row may have several values of one column, or none; rules do not apply.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sklar.errors import UsageError
from sklar.given_numbers import whole_number
from sklar.model.onehot.model import OneHotModel
from sklar.model.protocol import TableModel
from sklar.sample.conditions import NULL, shown_number
from sklar.sample.draw import BLOCK_ROWS
from sklar.sample.rng import seed_entropy, substream
from sklar.schema.columns import Column, Labels
from sklar.schema.coordinates import Coordinates
from sklar.schema.numbers import Datetime, Integer, Real
from sklar.schema.table import Schema

Bits = NDArray[np.uint8]


def binary_model(model: TableModel, by: Coordinates) -> OneHotModel:
    """Return the model, if it has a binary table."""
    if by.rows_of_person is not None:
        raise UsageError("binary=True is not available for per-person models; call sample() without it")
    if not isinstance(model, OneHotModel):
        raise UsageError("binary=True needs a model of dpc-gauss, dpc-laplace, cop, cop-id or cop-1")
    return model


def binary_blocks(model: OneHotModel, rows: int, seed: int | None) -> Iterator[Bits]:
    """Yield independent rows of the binary table, block by block; the same seed gives the same rows."""
    rows, entropy = whole_number(rows, "the number of rows"), seed_entropy(seed)
    starts = range(0, rows, BLOCK_ROWS)
    return (model.simulate_binary(min(BLOCK_ROWS, rows - at), substream(entropy, at // BLOCK_ROWS)) for at in starts)


def binary_names(schema: Schema, model: OneHotModel) -> tuple[str, ...]:
    """Return names of the binary columns: race=White, smoker=true, age=30..39, region=null."""
    names: list[str] = []
    for name, first in zip(schema.modelled, model.binary_codes(), strict=True):
        column, stops = schema[name], [*first[1:].tolist(), schema.size(name)]
        names += [f"{name}={cell_text(column, a, b)}" for a, b in zip(first.tolist(), stops, strict=True)]
    twice = [name for name in set(names) if names.count(name) > 1] if len(set(names)) < len(names) else []
    if twice:
        raise UsageError(f"two columns of the binary table would be called '{min(twice)}': rename one of the labels")
    return tuple(names)


def cell_text(column: Column, first: int, stop: int) -> str:
    """Return the base codes from `first` to before `stop` as text: a value, low..high, or null."""
    if first == column.null_code:
        return NULL
    if isinstance(column, Labels):
        labels = (*column.values, column.other)
        return _format_span(str(labels[first]), str(labels[stop - 1]))
    if not isinstance(column, Integer | Real | Datetime):
        return ("false", "true")[first]
    starts = [*column.grid.starts.tolist(), column.grid.stop]
    # A cell of reals ends where the next one starts; the last one ends at the bound.
    last = min(starts[stop], column.upper) if isinstance(column, Real) else starts[stop] - 1
    return _format_span(shown_number(column, starts[first]), shown_number(column, last))


def _format_span(low: str, high: str) -> str:
    return low if low == high else f"{low}..{high}"
