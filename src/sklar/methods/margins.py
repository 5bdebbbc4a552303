"""Margins through a Door: histograms measured with noise, and the margins fitted to them.

One pass counts every column on public bins, integer columns with a long range value by value too, and reals that
declare no digits by their digits; a second pass counts numeric columns on bins cut finer where the first pass found
mass. What is counted second depends on releases, but the number of tables and their noise follow from the schema, the
options and the allowance alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.methods.margin_plan import (
    COARSE,
    DIGITS,
    FINER,
    VALUES,
    WHOLE,
    MarginOptions,
    Step,
    line_label,
    margin_noise,
    steps_of,
)
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
    with_digits,
)
from sklar.model.margin_fit import Histogram, fit_cells, pool_total, repaired, spread
from sklar.release.door import Door
from sklar.release.requests import RecodedTable

Ints = NDArray[np.int64]
_Request = tuple[int, Ints, Noise]

LEAST_SIGMA = 1e-3
"""Noise smaller than this (at epsilon in the hundreds) is treated as this, to keep the arithmetic finite."""
PART_SIGMAS = 4.0
"""A bin of the second histogram should hold this many standard deviations of its noise."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredMargins:
    """Fitted margins and everything that was released for them.

    Attributes:
        margins: One per modelled column, in schema order.
        histograms: Those released of each column, the first one first, as far as the column's digits allow.
        rows: Estimated (or public) number of rows.
        rows_sigma: Its standard deviation; 0 when it is public.
    """

    margins: tuple[Margin, ...]
    histograms: tuple[tuple[Histogram, ...], ...]
    rows: float
    rows_sigma: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Column:
    """One column on its way to a margin: noise of its histograms, what was seen, digits found, atoms and finer bins."""

    name: str
    layout: Layout
    noise: dict[Step, Noise]
    seen: tuple[Histogram, ...] = ()
    digits: int | None = None
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
    before = Total(rows=total, sigma=total_sigma) if door.rows is None else Total(rows=max(door.rows, 1), sigma=0.0)
    columns = _measure_first(door, _columns(door, allowance, options))
    columns = _measure_finer(door, columns, _pool(columns, before))
    pooled = _pool(columns, before)
    return MeasuredMargins(
        margins=tuple(_margin(column, pooled, options) for column in columns),
        histograms=tuple(column.seen for column in columns),
        rows=pooled.rows,
        rows_sigma=pooled.sigma,
    )


def _columns(door: Door, allowance: Allowance, options: MarginOptions) -> list[_Column]:
    by_line = margin_noise(door.schema, allowance, door.unit, options)
    columns: list[_Column] = []
    for name in door.schema.modelled:
        layout = lay_out_column(door.schema[name])
        noise: dict[Step, Noise] = {step: by_line[line_label(step, layout)] for step in steps_of(layout, options)}
        columns.append(_Column(name=name, layout=layout, noise=noise, atoms=np.zeros(0, dtype=np.int64)))
    return columns


def _measure_first(door: Door, columns: Sequence[_Column]) -> list[_Column]:
    """First histograms of all columns, and single values and digits where they are looked for, in one pass."""
    asked: list[_Request] = []
    for i, column in enumerate(columns):
        asked.append((i, first_lookup(column.layout), column.noise[WHOLE if WHOLE in column.noise else COARSE]))
        if VALUES in column.noise:
            asked.append((i, np.arange(column.layout.size), column.noise[VALUES]))
        if column.layout.digits is not None and DIGITS in column.noise:
            asked.append((i, column.layout.digits.lookup, column.noise[DIGITS]))
    return [_find_digits(door, column) for column in _measure(door, columns, asked, "margins")]


def _find_digits(door: Door, column: _Column) -> _Column:
    """The column by the digits that its last histogram tells of, if it was counted to tell them."""
    search = column.layout.digits
    if search is None or DIGITS not in column.noise:
        return column
    *seen, by_digits = column.seen
    digits = search.found(by_digits.counts, by_digits.sigma)
    if digits is None:
        return replace(column, seen=tuple(seen))
    layout = with_digits(column.layout, door.schema[column.name], digits)
    return replace(column, layout=layout, digits=digits, seen=tuple(histogram.on(layout) for histogram in seen))


def _measure_finer(door: Door, columns: Sequence[_Column], total: Total) -> list[_Column]:
    """Second histograms of the columns on coarse cells, cut where the first ones found mass, in one pass."""
    columns = [_cut_finer(column, total) if FINER in column.noise else column for column in columns]
    asked = [(i, c.finer, c.noise[FINER]) for i, c in enumerate(columns) if c.finer is not None]
    return _measure(door, columns, asked, "finer margins") if asked else columns


def _measure(door: Door, columns: Sequence[_Column], asked: Sequence[_Request], label: str) -> list[_Column]:
    """Count the asked histograms in one pass and add them to what was seen of their columns."""
    tables = [
        RecodedTable(columns=(columns[i].name,), lookups=(lookup.astype(np.int32),), noise=noise)
        for i, lookup, noise in asked
    ]
    grown = list(columns)
    for (i, lookup, _), noisy in zip(asked, door.count_recoded(tables, label), strict=True):
        seen = Histogram(lookup=lookup, counts=noisy.counts.astype(np.float64), sigma=max(noisy.noise.std, LEAST_SIGMA))
        grown[i] = replace(grown[i], seen=(*grown[i].seen, seen))
    return grown


def _cut_finer(column: _Column, total: Total) -> _Column:
    layout, atoms = column.layout, _atoms(column)
    starts = cell_starts(layout, layout.coarse, atoms)
    mass = fit_cells(layout, starts, atoms, column.seen, total)
    part_mass = PART_SIGMAS * column.noise[FINER].std / total.rows
    return replace(column, atoms=atoms, finer=finer_lookup(layout, atoms, mass, part_mass))


def _atoms(column: _Column) -> Ints:
    """Single values worth a cell of their own, by the first histograms."""
    layout, first = column.layout, column.seen[0]
    if layout.searched:
        values = column.seen[1]
        return heavy_values(layout, values.counts, values.sigma, first.counts[: int(layout.coarse[-1]) + 1])
    return significant_candidates(layout, first.lookup, first.counts, first.sigma)


def _margin(column: _Column, total: Total, options: MarginOptions) -> Margin:
    layout = column.layout
    if options.repair != "density":
        first = column.seen[0]
        return spread(column.name, layout, first.lookup, repaired(first, total, options.repair))
    labels = layout.coarse if column.finer is None else column.finer[: layout.values]
    starts = cell_starts(layout, labels, column.atoms)
    mass = fit_cells(layout, starts, column.atoms, column.seen, total)
    cell = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, layout.size)))
    return replace(spread(column.name, layout, cell, mass), decimals=column.digits)


def _pool(columns: Sequence[_Column], before: Total) -> Total:
    return pool_total([seen for column in columns for seen in column.seen], before)
