"""Margins of rows without noise that repeat no single person's value: cells hold several rows each."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sklar.model.margin import Margin
from sklar.schema.table import Schema

Ints = NDArray[np.int64]
ROWS_PER_CELL = 10
"""A base code seen this often keeps its own mass; others share that of a run of codes with about this many rows."""


def smoothed_margin(schema: Schema, name: str, codes: NDArray[np.integer]) -> Margin:
    """The shares of the rows' base codes, with rare values of numeric columns spread over their neighborhood.

    A value shared by ten rows or more, a label, a null keeps its share. The rest of a numeric column is cut into
    cells of about ten rows, uniform inside. The outermost cells reach as far as the mean of their rows suggests (twice
    the mean excess), so that no extreme value shows.
    """
    column = schema[name]
    counts = np.bincount(codes, minlength=column.size).astype(np.float64)
    if not column.numeric:
        return Margin(column=name, starts=np.arange(column.size), mass=counts, size=column.size)
    starts, mass = _cells(counts[: column.value_cells], ROWS_PER_CELL)
    rest = np.arange(column.value_cells, column.size)
    return Margin(
        column=name,
        starts=np.concatenate([starts, rest]),
        mass=np.concatenate([mass, counts[column.value_cells :]]),
        size=column.size,
    )


def _cells(counts: NDArray[np.float64], least: int) -> tuple[Ints, NDArray[np.float64]]:
    """Starts and masses of cells over value codes: frequent codes alone, rare ones in runs of about `least` rows."""
    frequent = counts >= least
    edges = np.flatnonzero(np.diff(np.concatenate([[False], frequent, [False]]).astype(int)) != 0)
    borders = np.unique(np.concatenate([[0], edges, np.flatnonzero(frequent), [len(counts)]]))
    starts: list[int] = []
    mass: list[float] = []
    for low, high in pairwise(borders):
        if frequent[low]:
            starts.append(int(low))
            mass.append(float(counts[low]))
        else:
            _spread(counts, int(low), int(high), least, starts, mass)
    return np.array(starts, dtype=np.int64), np.array(mass)


def _spread(counts: NDArray[np.float64], low: int, high: int, least: int, starts: list[int], mass: list[float]) -> None:
    """Cut the rare codes low..high-1 into cells of about `least` rows; append them."""
    seen = low + np.flatnonzero(counts[low:high])
    rows = np.repeat(seen, counts[seen].astype(np.int64))
    groups = np.array_split(rows, max(len(rows) // least, 1))
    inner = [(int(a[-1]) + int(b[0]) + 1) // 2 for a, b in pairwise(groups)]
    cuts = np.unique([low, *inner, high])
    if len(rows) and low == 0:
        cuts = _trim(cuts, groups[0])
    if len(rows) and high == len(counts):
        cuts = -_trim(-cuts[::-1], -1 - groups[-1])[::-1]
    found = np.diff(np.searchsorted(np.clip(rows, cuts[0], cuts[-1] - 1), cuts))
    if cuts[0] > low:
        starts.append(low)
        mass.append(0.0)
    starts.extend(int(cut) for cut in cuts[:-1])
    mass.extend(float(count) for count in found)
    if cuts[-1] < high:
        starts.append(int(cuts[-1]))
        mass.append(0.0)


def _trim(cuts: Ints, outer: Ints) -> Ints:
    """Move the first cut so that the first cell is centered on the mean of its rows."""
    excess = float(cuts[1]) - 0.5 - float(outer.mean())
    moved = int(np.clip(round(float(cuts[1]) - 2 * excess), cuts[0], cuts[1] - 1))
    return np.concatenate([[moved], cuts[1:]])
