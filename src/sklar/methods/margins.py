"""Margins through a Door: histograms measured with noise, and the margins fitted to them.

One pass counts every column on public bins (and integer columns with a long range value by value); a second pass counts
numeric columns on bins cut finer where the first pass found mass. What is counted second depends on releases, but the
number of tables and their noise follow from the schema, the options and the allowance alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.methods.margin_plan import COARSE, FINER, VALUES, WHOLE, MarginOptions, margin_noise
from sklar.model.density_likelihood import Total
from sklar.model.margin import Margin
from sklar.model.margin_bins import (
    Layout,
    cell_starts,
    finer_lookup,
    first_lookup,
    heavy_values,
    lay_out_column,
    significant_candidates,
)
from sklar.model.margin_fit import Histogram, fit_cells, pool_total, repaired, spread
from sklar.release.door import Door
from sklar.release.requests import RecodedTable
from sklar.release.values import NoisyCounts

Ints = NDArray[np.int64]
Released = tuple[str, NDArray[np.int32], NoisyCounts]

PART_SIGMAS = 4.0
"""A bin of the second histogram should hold this many standard deviations of its noise."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredMargins:
    """Fitted margins and everything that was released for them.

    Attributes:
        margins: One per modelled column, in schema order.
        histograms: (column, bin of every base code, noisy counts); a column's first histogram comes first.
        rows: Estimated (or public) number of rows.
        rows_sigma: Its standard deviation; 0 when it is public.
    """

    margins: tuple[Margin, ...]
    histograms: tuple[tuple[str, NDArray[np.int32], NoisyCounts], ...]
    rows: float
    rows_sigma: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Column:
    """One column on its way to a margin."""

    name: str
    layout: Layout
    seen: tuple[Histogram, ...] = ()
    atoms: Ints
    finer: Ints | None = None


def measure_margins(
    door: Door,
    allowance: Allowance,
    total: float = 0.0,
    total_sigma: float = math.inf,
    options: MarginOptions | None = None,
) -> MeasuredMargins:
    """Measure all margins in two passes over the rows (one if no column needs a finer look) and fit them.

    Args:
        door: The way to the rows.
        allowance: What to spend on margins.
        total: A noisy number of rows known from before.
        total_sigma: Its standard deviation; without it `total` is not used.
        options: How to measure and fit.
    """
    options = options or MarginOptions()
    noise = margin_noise(door.schema, allowance, door.unit, options)
    before = Total(rows=total, sigma=total_sigma) if door.rows is None else Total(rows=max(door.rows, 1), sigma=0.0)
    nothing = np.zeros(0, dtype=np.int64)
    columns = [_Column(name=n, layout=lay_out_column(door.schema[n]), atoms=nothing) for n in door.schema.modelled]
    columns, released = _measure_first(door, columns, noise)
    if options.repair == "density":
        columns, finer = _measure_finer(door, columns, noise, _pool(columns, before))
        released += finer
    pooled = _pool(columns, before)
    fitted = [
        _margin(c, pooled) if options.repair == "density" else _repaired_margin(c, pooled, options) for c in columns
    ]
    return MeasuredMargins(margins=tuple(fitted), histograms=tuple(released), rows=pooled.rows, rows_sigma=pooled.sigma)


def _measure_first(
    door: Door, columns: Sequence[_Column], noise: dict[str, Noise]
) -> tuple[list[_Column], list[Released]]:
    """First histograms of all columns, and single values of those that are searched for heavy ones, in one pass."""
    asked: list[tuple[int, Ints, str]] = []
    for i, column in enumerate(columns):
        refined = column.layout.refined and COARSE in noise
        asked.append((i, first_lookup(column.layout), COARSE if refined else WHOLE))
    if VALUES in noise:
        asked += [(i, np.arange(c.layout.size), VALUES) for i, c in enumerate(columns) if c.layout.searched]
    released = _count(door, columns, asked, noise, "margins")
    return _extended(columns, asked, released), released


def _measure_finer(
    door: Door, columns: Sequence[_Column], noise: dict[str, Noise], total: Total
) -> tuple[list[_Column], list[Released]]:
    """Second histograms of the columns on coarse cells, cut where the first ones found mass, in one pass."""
    if FINER not in noise:
        return list(columns), []
    part_mass = PART_SIGMAS * noise[FINER].std / total.rows
    columns = [_cut_finer(column, total, part_mass) for column in columns]
    asked = [(i, column.finer, FINER) for i, column in enumerate(columns) if column.finer is not None]
    released = _count(door, columns, asked, noise, "finer margins")
    return _extended(columns, asked, released), released


def _cut_finer(column: _Column, total: Total, part_mass: float) -> _Column:
    layout = column.layout
    if not layout.refined:
        return column
    atoms = _atoms(column)
    starts = cell_starts(layout, layout.coarse, atoms)
    mass = fit_cells(layout, starts, atoms, column.seen, total)
    return replace(column, atoms=atoms, finer=finer_lookup(layout, atoms, mass, part_mass))


def _atoms(column: _Column) -> Ints:
    """Single values worth a cell of their own, by the first histograms."""
    layout, first = column.layout, column.seen[0]
    if layout.searched:
        values = column.seen[1]
        return heavy_values(layout, values.counts, values.sigma, first.counts[: int(layout.coarse[-1]) + 1])
    return significant_candidates(layout, first.counts, first.sigma)


def _margin(column: _Column, total: Total) -> Margin:
    layout = column.layout
    labels = layout.coarse if column.finer is None else column.finer[: layout.values]
    starts = cell_starts(layout, labels, column.atoms)
    mass = fit_cells(layout, starts, column.atoms, column.seen, total)
    cell = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, layout.size)))
    return spread(column.name, layout, cell, mass)


def _repaired_margin(column: _Column, total: Total, options: MarginOptions) -> Margin:
    first = column.seen[0]
    return spread(column.name, column.layout, first.lookup, repaired(first, total, options.repair))


def _count(
    door: Door, columns: Sequence[_Column], asked: Sequence[tuple[int, Ints, str]], noise: dict[str, Noise], label: str
) -> list[Released]:
    tables = [
        RecodedTable(columns=(columns[i].name,), lookups=(lookup,), noise=noise[line]) for i, lookup, line in asked
    ]
    counted = door.count_recoded(tables, label)
    return [(table.columns[0], table.lookups[0], noisy) for table, noisy in zip(tables, counted, strict=True)]


def _extended(
    columns: Sequence[_Column], asked: Sequence[tuple[int, Ints, str]], released: Sequence[Released]
) -> list[_Column]:
    """The columns with the new releases added to what was seen of them."""
    grown = list(columns)
    for (i, lookup, _), (_, _, noisy) in zip(asked, released, strict=True):
        seen = Histogram(lookup=lookup, counts=noisy.counts.astype(np.float64), sigma=max(noisy.noise.std, 1e-3))
        grown[i] = replace(grown[i], seen=(*grown[i].seen, seen))
    return grown


def _pool(columns: Sequence[_Column], before: Total) -> Total:
    return pool_total([seen for column in columns for seen in column.seen], before)
