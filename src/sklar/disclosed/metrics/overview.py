"""Plain pictures of two tables: shares of each coarse cell by column, and joint shares of the strongest pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sklar.disclosed.metrics.counting import counts_of
from sklar.disclosed.metrics.grid import CoarseGrid, coarse_codes
from sklar.disclosed.metrics.table import ExactTable
from sklar.schema import Column

SHOWN = 30
"""Labels of a column that are shown; the rest is summed up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginPicture:
    """One column: shares of its cells in both tables."""

    column: str
    kind: str
    labels: tuple[str, ...]
    real: tuple[float, ...]
    synthetic: tuple[float, ...]
    numeric: bool
    low: str = ""
    high: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairPicture:
    """Two columns: joint shares of their value cells in both tables."""

    columns: tuple[str, str]
    real: npt.NDArray[np.float64]
    synthetic: npt.NDArray[np.float64]


def margin_pictures(real: ExactTable, synthetic: ExactTable, grid: CoarseGrid) -> tuple[MarginPicture, ...]:
    """A picture of every column."""
    return tuple(_margin(real, synthetic, grid, name) for name in real.names)


def pair_pictures(
    real: ExactTable, synthetic: ExactTable, grid: CoarseGrid, pairs: Sequence[tuple[str, str]]
) -> tuple[PairPicture, ...]:
    """Pictures of some pairs."""
    return tuple(_pair(real, synthetic, grid, pair) for pair in pairs)


def _margin(real: ExactTable, synthetic: ExactTable, grid: CoarseGrid, name: str) -> MarginPicture:
    column = real.schema[name]
    lookup, size = grid.lookups[name], grid.sizes[name]
    one, two = (np.bincount(lookup[table.codes[name]], minlength=size) / table.rows for table in (real, synthetic))
    labels = _labels(column, grid.value_cells[name], size)
    if not column.ordered:
        order = np.argsort(-(one + two), kind="stable")
        one, two, labels = one[order], two[order], [labels[i] for i in order]
    keep = [i for i in range(size) if i < grid.value_cells[name] or one[i] + two[i] > 0]
    one, two, labels = one[keep], two[keep], [labels[i] for i in keep]
    if not column.numeric and len(labels) > SHOWN:
        one, two = (np.append(x[: SHOWN - 1], x[SHOWN - 1 :].sum()) for x in (one, two))
        labels = [*labels[: SHOWN - 1], f"{len(labels) - SHOWN + 1} more"]
    low, high = bounds(column)
    return MarginPicture(
        column=name, kind=column.kind, labels=tuple(labels), real=tuple(one.tolist()), synthetic=tuple(two.tolist()),
        numeric=column.numeric, low=low, high=high,
    )  # fmt: skip


def _labels(column: Column, value_cells: int, size: int) -> list[str]:
    if column.kind == "boolean":
        values = ["false", "true"]
    elif column.numeric:
        values = [""] * value_cells
    else:
        values = [str(v) for v in column.values]  # type: ignore[attr-defined]
    if column.other_code is not None:
        values.append(f"{column.other} (other)")  # type: ignore[attr-defined]
    return [*values, *["null"] * (size - len(values))]


def bounds(column: Column) -> tuple[str, str]:
    """The public bounds of a numeric column as text."""
    if not column.numeric:
        return "", ""
    low, high = column.lower, column.upper  # type: ignore[attr-defined]
    return (low, high) if isinstance(low, str) else (f"{low:,.6g}", f"{high:,.6g}")


def _pair(real: ExactTable, synthetic: ExactTable, grid: CoarseGrid, pair: tuple[str, str]) -> PairPicture:
    sizes = [grid.sizes[name] for name in pair]
    pictures = []
    for table in (real, synthetic):
        counts = counts_of(coarse_codes(table, grid, pair), sizes, [(0, 1)])[0]
        pictures.append(counts[: grid.value_cells[pair[0]], : grid.value_cells[pair[1]]] / table.rows)
    return PairPicture(columns=pair, real=pictures[0], synthetic=pictures[1])
