"""Distances between rows: how many columns differ on a coarse public grid, or numbers and labels mixed.

`lab.metrics.support` has another search, over dense points. Distances agree to rounding, but of equally near rows the
two take different ones, which moves scores of tables with many ties.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklar.arrays import Floats, Ints
from sklar.lab.learning.features import standardize
from sklar.lab.tables.table import CoarseGrid, ExactTable, coarse_codes, ordered_values

Words = npt.NDArray[np.uint64]
WORKERS = 2
"""Threads of one search: attacks and comparisons run several searches side by side already."""
CHUNK = 64
"""Targets that a thread takes at a time: fewer share the work more evenly, at more calls."""
FARTHEST = 1e6
"""Standard deviations at which numbers are clipped, so that squares stay finite."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Packed:
    """Rows as words, several columns a word; `columns` is the greatest possible Hamming distance."""

    words: Words
    low: np.uint64
    high: np.uint64
    columns: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowPoints:
    """Rows as numbers in units of the real spread, and labels."""

    numbers: Floats
    labels: Packed

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.numbers)


def packed(table: ExactTable, grid: CoarseGrid) -> Packed:
    """Coarse cells of all columns."""
    return _pack(coarse_codes(table, grid))


def _pack(cells: npt.NDArray[Any]) -> Packed:
    """Codes, one row of the matrix a column, in lanes of 8, 16 or 32 bits."""
    bits = min(cells.dtype.itemsize, 4) * 8
    lanes = 64 // bits
    columns, rows = cells.shape
    filled = np.zeros((-(-columns // lanes) * lanes, rows), dtype=f"u{bits // 8}")
    filled[:columns] = cells
    words = np.ascontiguousarray(filled.T).view(np.uint64).reshape(rows, -1 if columns else 0)
    ones = sum(1 << (bits * lane) for lane in range(lanes))
    return Packed(
        words=words, low=np.uint64(ones * ((1 << (bits - 1)) - 1)), high=np.uint64(ones << (bits - 1)), columns=columns
    )


def hamming_histograms(targets: Packed, others: Packed) -> Ints:
    """For each target, how many other rows differ from it in 0, 1, 2, ... columns."""
    from sklar.lab.kernels import hamming_counts

    out = np.zeros((len(targets.words), targets.columns + 1), dtype=np.int64)
    _in_threads(len(out), lambda s: hamming_counts(targets.words[s], others.words, targets.low, targets.high, out[s]))
    return out


def points(real: ExactTable, tables: Sequence[ExactTable], names: Sequence[str] | None = None) -> list[RowPoints]:
    """Points of the tables in the units of the real one; null is the real mean and a mark of its own."""
    chosen = real.names if names is None else tuple(names)
    ordered = [name for name in chosen if real.schema[name].ordered]
    labels = [name for name in chosen if not real.schema[name].ordered]
    return [RowPoints(numbers=_numbers(real, table, ordered), labels=_pack(_labels(table, labels))) for table in tables]


def _numbers(real: ExactTable, table: ExactTable, names: Sequence[str]) -> Floats:
    columns = [np.empty((table.rows, 0))]
    for name in names:
        scaled = standardize(ordered_values(real, name), ordered_values(table, name), FARTHEST)
        marked = table.schema[name].null_code is not None or table.schema[name].other_code is not None
        columns.append(scaled if marked else scaled[:, :1])
    return np.ascontiguousarray(np.concatenate(columns, axis=1))


def _labels(table: ExactTable, names: Sequence[str]) -> npt.NDArray[Any]:
    widest = max([2, *(table.schema.size(name) for name in names)])
    labels = np.empty((len(names), table.rows), dtype=np.min_scalar_type(widest - 1))
    for at, name in enumerate(names):
        labels[at] = table.codes[name]
    return labels


def nearest_points(targets: RowPoints, others: RowPoints, own: Ints | None = None) -> tuple[Floats, Ints]:
    """Distance to, and place of, the nearest other row; `own` are the places of the targets among the others."""
    from sklar.lab.kernels import mixed_nearest

    skip = np.full(targets.rows, -1, dtype=np.int64) if own is None else own.astype(np.int64)
    distance, place = np.empty(targets.rows), np.empty(targets.rows, dtype=np.int64)
    _in_threads(
        targets.rows,
        lambda s: mixed_nearest(
            targets.numbers[s], targets.labels.words[s], others.numbers, others.labels.words, targets.labels.low,
            targets.labels.high, skip[s], distance[s], place[s],
        ),
    )  # fmt: skip
    return np.sqrt(distance), place


def within_radii(targets: RowPoints, others: RowPoints, radii: Floats, scale: float, eta: float) -> tuple[Ints, Floats]:
    """For each target and each radius (growing): how many rows lie within it, and the sum of their -log distances."""
    from sklar.lab.kernels import mixed_within

    counts = np.zeros((targets.rows, len(radii)), dtype=np.int64)
    scores = np.zeros((targets.rows, len(radii)))
    _in_threads(
        targets.rows,
        lambda s: mixed_within(
            targets.numbers[s], targets.labels.words[s], others.numbers, others.labels.words, targets.labels.low,
            targets.labels.high, radii**2, scale, eta, counts[s], scores[s],
        ),
    )  # fmt: skip
    return counts, scores


def diameter(tables: Sequence[RowPoints]) -> float:
    """An upper bound on all distances between the rows of these tables."""
    numbers = np.concatenate([table.numbers for table in tables])
    span = numbers.max(axis=0) - numbers.min(axis=0) if numbers.shape[1] else np.zeros(0)
    return math.sqrt(float((span**2).sum()) + tables[0].labels.columns) or 1.0


def _in_threads(rows: int, work: Callable[[slice], Any]) -> None:
    """Do the work on chunks of rows, side by side; the compiled loops let go of the interpreter's lock."""
    chunks = [slice(start, min(start + CHUNK, rows)) for start in range(0, rows, CHUNK)]
    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(work, chunks))
