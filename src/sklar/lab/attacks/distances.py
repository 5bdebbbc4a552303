"""Distances between rows: the number of columns that differ on a coarse public grid, or numbers and labels mixed.

`lab.metrics.support` has another search, over dense points. Distances agree to rounding, but ties are broken
differently, which changes the scores of tables with many ties.
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
SEARCH_THREADS = 2
"""Threads of one search: attacks and comparisons already run several searches in parallel."""
TARGETS_PER_CHUNK = 64
"""Targets that a thread takes at a time: fewer share the work more evenly but need more calls."""
MAX_STANDARD_DEVIATIONS = 1e6
"""Numbers are clipped at this number of standard deviations, so that squares stay finite."""
MAX_RELEASE_ROWS = 200_000
"""Synthetic rows in which attacks search for the closest row, at most: more find more copies and take more time."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Packed:
    """Rows packed into 64-bit words, several columns per word; `columns` is the greatest Hamming distance."""

    words: Words
    low: np.uint64
    high: np.uint64
    columns: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowPoints:
    """Rows as numbers in units of the real standard deviation, and labels."""

    numbers: Floats
    labels: Packed

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.numbers)


def pack_table(table: ExactTable, grid: CoarseGrid) -> Packed:
    """Pack the coarse cells of all columns."""
    return _pack(coarse_codes(table, grid))


def _pack(cells: npt.NDArray[Any]) -> Packed:
    """Pack a matrix of codes, one matrix row per column, into lanes of 8, 16 or 32 bits."""
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
    """Count for each target the other rows that differ from it in 0, 1, 2, ... columns."""
    from sklar.lab.kernels import hamming_counts

    out = np.zeros((len(targets.words), targets.columns + 1), dtype=np.int64)
    _run_in_threads(
        len(out), lambda s: hamming_counts(targets.words[s], others.words, targets.low, targets.high, out[s])
    )
    return out


def row_points(real: ExactTable, tables: Sequence[ExactTable], names: Sequence[str] | None = None) -> list[RowPoints]:
    """Convert tables to points in units of the real one; null is the real mean and an indicator."""
    chosen = real.names if names is None else tuple(names)
    ordered = [name for name in chosen if real.schema[name].ordered]
    labels = [name for name in chosen if not real.schema[name].ordered]
    return [
        RowPoints(numbers=_scale_numbers(real, table, ordered), labels=_pack(_label_codes(table, labels)))
        for table in tables
    ]


def _scale_numbers(real: ExactTable, table: ExactTable, names: Sequence[str]) -> Floats:
    columns = [np.empty((table.rows, 0))]
    for name in names:
        scaled = standardize(ordered_values(real, name), ordered_values(table, name), MAX_STANDARD_DEVIATIONS)
        marked = table.schema[name].null_code is not None or table.schema[name].other_code is not None
        columns.append(scaled if marked else scaled[:, :1])
    return np.ascontiguousarray(np.concatenate(columns, axis=1))


def _label_codes(table: ExactTable, names: Sequence[str]) -> npt.NDArray[Any]:
    widest = max([2, *(table.schema.size(name) for name in names)])
    labels = np.empty((len(names), table.rows), dtype=np.min_scalar_type(widest - 1))
    for at, name in enumerate(names):
        labels[at] = table.codes[name]
    return labels


def nearest_points(targets: RowPoints, others: RowPoints, own: Ints | None = None) -> tuple[Floats, Ints]:
    """Find distance and position of the nearest other row; `own` are the targets' own positions, to skip."""
    from sklar.lab.kernels import mixed_nearest

    skip = np.full(targets.rows, -1, dtype=np.int64) if own is None else own.astype(np.int64)
    distance, place = np.empty(targets.rows), np.empty(targets.rows, dtype=np.int64)
    _run_in_threads(
        targets.rows,
        lambda s: mixed_nearest(
            targets.numbers[s], targets.labels.words[s], others.numbers, others.labels.words, targets.labels.low,
            targets.labels.high, skip[s], distance[s], place[s],
        ),
    )  # fmt: skip
    return np.sqrt(distance), place


def within_radii(targets: RowPoints, others: RowPoints, radii: Floats, scale: float, eta: float) -> tuple[Ints, Floats]:
    """Count the rows within each radius (ascending) of each target, and sum their -log distances."""
    from sklar.lab.kernels import mixed_within

    counts = np.zeros((targets.rows, len(radii)), dtype=np.int64)
    scores = np.zeros((targets.rows, len(radii)))
    _run_in_threads(
        targets.rows,
        lambda s: mixed_within(
            targets.numbers[s], targets.labels.words[s], others.numbers, others.labels.words, targets.labels.low,
            targets.labels.high, radii**2, scale, eta, counts[s], scores[s],
        ),
    )  # fmt: skip
    return counts, scores


def bound_diameter(tables: Sequence[RowPoints]) -> float:
    """Return an upper bound on all distances between the rows of these tables."""
    numbers = np.concatenate([table.numbers for table in tables])
    span = numbers.max(axis=0) - numbers.min(axis=0) if numbers.shape[1] else np.zeros(0)
    return math.sqrt(float((span**2).sum()) + tables[0].labels.columns) or 1.0


def _run_in_threads(rows: int, work: Callable[[slice], Any]) -> None:
    """Run the work on chunks of rows in threads; the compiled loops release the interpreter's lock."""
    starts = range(0, rows, TARGETS_PER_CHUNK)
    with ThreadPoolExecutor(SEARCH_THREADS) as pool:
        list(pool.map(work, [slice(start, min(start + TARGETS_PER_CHUNK, rows)) for start in starts]))
