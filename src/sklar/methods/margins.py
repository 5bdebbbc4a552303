"""Margins through a Door: histograms measured with noise, and the margins fitted to them.

One pass counts every column on public bins, integer columns with a long range value by value too, and numbers by what
they are multiples of; a second pass counts numeric columns on bins cut finer where the first pass found
mass. What is counted second depends on releases, but the number of tables and their noise follow from the schema, the
options and the allowance alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.calibrate import PlannedTables, plan_noise
from sklar.accounting.noise import Noise, NoiseKind
from sklar.accounting.unit import Unit
from sklar.arrays import Ints
from sklar.errors import UsageError
from sklar.methods.method import Outline
from sklar.methods.prior import PublicMargin, lean_margins
from sklar.model.margins.bins import (
    COARSE_CELLS,
    MOST_FINE_BINS,
    BinLayout,
    cell_starts,
    finer_lookup,
    first_lookup,
    heavy_values,
    joint_labels,
    lay_out_column,
    significant_candidates,
    unless_crowded,
    with_unit,
    with_weights,
)
from sklar.model.margins.fit import Histogram, chained_cells, fit_cells, pool_total, repair_counts, spread
from sklar.model.margins.heaps import Rounding, find_rounding
from sklar.model.margins.likelihood import KnownTotal, Observation
from sklar.model.margins.margin import Margin
from sklar.model.margins.slopes import tilt_cells
from sklar.model.margins.units import base_unit
from sklar.release.door import Door, RecodedTable, settled
from sklar.schema.columns import Column
from sklar.schema.numbers import Integer, Real
from sklar.schema.table import Schema

_Request = tuple[int, Ints, Noise]

LEAST_SIGMA = 1e-3
"""Noise smaller than this (at epsilon in the hundreds) is treated as this, to keep the arithmetic finite."""
PART_SIGMAS = 4.0
"""A bin of the second histogram should hold this many standard deviations of its noise."""
WIDE = 16
"""Numbers that a coarse cell must be able to hold for heaps to be told by coarse cells, and to shape finer ones. With
fewer a heavy single number (40 hours) looks like a heap (of all multiples of 20)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredMargins:
    """Fitted margins and everything that was released for them.

    Attributes:
        margins: One per modelled column, in schema order.
        histograms: Those released of each column, the first one first, as far as the column's unit allows.
        rows: Estimated (or public) number of rows.
        rows_sigma: Its standard deviation; 0 when it is public.
    """

    margins: tuple[Margin, ...]
    histograms: tuple[tuple[Histogram, ...], ...]
    rows: float
    rows_sigma: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Column:
    """One column on its way to a margin.

    Attributes:
        layout: Its bins: first as counted, then as the first histogram suggests to fit them.
        noise: That of its histograms.
        seen: What was released of it.
        by_unit: The histogram by what numbers are multiples of, where it was asked for.
        found: The unit that it tells of.
        atoms: Values with a cell of their own.
        finer: Bins of the second histogram.
        cuts: Coarse cells as counted.
        rounding: How its numbers are rounded, once that is known.
    """

    name: str
    layout: BinLayout
    noise: dict[Step, Noise]
    seen: tuple[Histogram, ...] = ()
    by_unit: Histogram | None = None
    found: Fraction | None = None
    atoms: Ints
    finer: Ints | None = None
    cuts: Ints | None = None
    rounding: Rounding | None = None


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
    before = (
        KnownTotal(rows=total, sigma=total_sigma)
        if door.rows is None
        else KnownTotal(rows=max(door.rows, 1), sigma=0.0)
    )
    columns = _measure_first(door, _columns(door, allowance, options))
    pooled = _pool(columns, before)
    columns = _measure_finer(door, columns, pooled, _lean(door, columns, pooled))
    pooled = _pool(columns, before)
    leaning = _lean(door, columns, pooled)
    return MeasuredMargins(
        margins=tuple(_margin(door.schema[column.name], column, pooled, options, leaning) for column in columns),
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
    """First histograms of all columns, and single values and units where they are looked for, in one pass."""
    asked: list[_Request] = []
    for i, column in enumerate(columns):
        asked.append((i, first_lookup(column.layout), column.noise[WHOLE if WHOLE in column.noise else COARSE]))
        if VALUES in column.noise:
            asked.append((i, np.arange(column.layout.size), column.noise[VALUES]))
        if column.layout.units is not None and UNITS in column.noise:
            asked.append((i, column.layout.units.lookup, column.noise[UNITS]))
    return [_find_unit(door, column) for column in _measure(door, columns, asked, "margins")]


def _find_unit(door: Door, column: _Column) -> _Column:
    """The column by the unit that its last histogram tells of, if it was counted to tell it."""
    search = column.layout.units
    if search is None or UNITS not in column.noise:
        return column
    *seen, by_unit = column.seen
    found = settled(door, "unit", search.find_unit(by_unit.counts, by_unit.sigma))
    if found is None:
        return replace(column, seen=tuple(seen), by_unit=by_unit)
    layout = with_unit(column.layout, door.schema[column.name], found)
    seen = tuple(histogram.on(layout) for histogram in seen)
    return replace(column, layout=layout, found=found, seen=seen, by_unit=by_unit)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Leaning:
    """What a public table, if there is one, expects of the columns."""

    margins: Mapping[str, PublicMargin]

    def on(self, column: _Column, starts: Ints, total: KnownTotal) -> tuple[Observation, ...]:
        """What it adds to the histograms of a column."""
        return (self.margins[column.name].cells(starts, total.rows),) if column.name in self.margins else ()


def _lean(door: Door, columns: Sequence[_Column], total: KnownTotal) -> _Leaning:
    seen = {column.name: column.seen for column in columns}
    return _Leaning(margins=lean_margins(door.prior, door.schema, seen, total.rows))


def _measure_finer(door: Door, columns: Sequence[_Column], total: KnownTotal, leaning: _Leaning) -> list[_Column]:
    """Second histograms of the columns on coarse cells, cut where the first ones found mass, in one pass."""
    columns = [_cut_finer(door, column, total, leaning) if FINER in column.noise else column for column in columns]
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


def _cut_finer(door: Door, column: _Column, total: KnownTotal, leaning: _Leaning) -> _Column:
    atoms, first = _atoms(column), column.seen[0]
    layout = unless_crowded(column.layout, first.lookup, first.counts)
    starts = cell_starts(layout, layout.coarse, atoms)
    mass = fit_cells(layout, starts, atoms, column.seen, total, leaning.on(column, starts, total))
    part_mass = PART_SIGMAS * column.noise[FINER].std / total.rows
    rough, declared = Margin(column=column.name, starts=starts, mass=mass, size=layout.size), door.schema[column.name]
    rounding = _find_rounding(declared, column, rough, total.rows) if _is_wide(declared, column.found) else None
    layout, atoms, finer = settled(door, "bins", (layout, atoms, finer_lookup(layout, atoms, mass, part_mass)))
    cuts = column.layout.coarse
    return replace(column, layout=layout, atoms=atoms, finer=finer, cuts=cuts, rounding=rounding)


def _is_wide(column: Column, found: Fraction | None) -> bool:
    """Whether coarse cells hold so many numbers that heaps do not shape their masses."""
    if not isinstance(column, Integer | Real):
        return False
    unit = found or base_unit(column)
    return unit is None or float(column.upper - column.lower) >= WIDE * COARSE_CELLS * unit


def _find_rounding(declared: Column, column: _Column, margin: Margin, rows: float) -> Rounding | None:
    """How numbers are rounded, if that was counted."""
    search, by_unit = column.layout.units, column.by_unit
    if search is None or by_unit is None or not isinstance(declared, Integer | Real):
        return None
    return find_rounding(margin, declared, column.found, (search, by_unit.counts, by_unit.sigma), rows)


def _atoms(column: _Column) -> Ints:
    """Single values worth a cell of their own, by the first histograms."""
    layout, first = column.layout, column.seen[0]
    if layout.searched:
        values = column.seen[1]
        counts = values.counts[values.lookup]
        return heavy_values(layout, counts, values.sigma, first.counts[: int(layout.coarse[-1]) + 1])
    return significant_candidates(layout, first.lookup, first.counts, first.sigma)


def _margin(declared: Column, column: _Column, total: KnownTotal, options: MarginOptions, leaning: _Leaning) -> Margin:
    layout = column.layout
    if options.repair != "density":
        first = column.seen[0]
        return spread(column.name, layout, first.lookup, repair_counts(first, total, options.repair))
    starts = cell_starts(layout, joint_labels(layout, column.finer), column.atoms)
    rounding = column.rounding
    layout = _rounded(layout, declared, rounding)
    mass = fit_cells(layout, starts, column.atoms, column.seen, total, leaning.on(column, starts, total))
    if layout.refined:
        starts, mass = tilt_cells(layout, starts, mass, chained_cells(layout, starts, column.atoms))
    if rounding is None or not rounding.differs:  # then heaps are of single numbers inside these cells
        cells = Margin(column=column.name, starts=starts, mass=mass, size=layout.size)
        rounding = _find_rounding(declared, column, cells, total.rows)
    rounded = _rounded(layout, declared, rounding)
    cell = np.repeat(np.arange(len(starts)), np.diff(starts, append=layout.size))
    margin = spread(column.name, rounded, cell, mass, column.cuts)
    return margin if rounding is None else rounding.on(margin)


def _rounded(layout: BinLayout, declared: Column, rounding: Rounding | None) -> BinLayout:
    if rounding is None or not rounding.heaps or not isinstance(declared, Integer | Real):
        return layout
    return with_weights(layout, rounding.weights(declared.grid))


def _pool(columns: Sequence[_Column], before: KnownTotal) -> KnownTotal:
    return pool_total([seen for column in columns for seen in column.seen], before)


Repair = Literal["density", "simplex", "clip"]
Step = Literal["margins", "coarse margins", "single values", "round numbers", "finer margins"]
WHOLE: Step = "margins"
COARSE: Step = "coarse margins"
VALUES: Step = "single values"
UNITS: Step = "round numbers"
FINER: Step = "finer margins"

FINER_SHARE = 0.3
"""Part of a numeric column's share that goes to its second, finer histogram."""
VALUES_SHARE = 0.1
"""Part of the whole that goes to the search for heavy single values, and at most half a column's share each."""
UNITS_SHARE, MOST_UNITS_SHARE = 0.012, 0.03
"""Part of the whole that goes to the unit and the heaps of a column of numbers, and most for all of them: of 13 columns
with 5,960 rows at epsilon 1 a count then has a noise of 90, which tells loans in hundreds."""
CELLS_POWER = 1.0 / 3.0
"""A column's share grows with its number of bins to this power: more bins, more error at the same noise."""
MOST_WEIGHTED_CELLS = 1024
_PARTS: dict[Step, float] = {WHOLE: 1.0, COARSE: 1.0 - FINER_SHARE, FINER: FINER_SHARE}


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginOptions:
    """How margins are measured and fitted.

    Attributes:
        repair: "density" (smooth density from two histograms) or, from one histogram, "simplex" or "clip".
        noise: None for what the allowance buys, or "laplace" for discrete Laplace noise under a rho allowance.
    """

    repair: Repair = "density"
    noise: NoiseKind | None = None


def plan_margins(schema: Schema, options: MarginOptions | None = None) -> tuple[PlannedTables, ...]:
    """Every table that `measure_margins` will count, with weights that sum to one."""
    layouts = [lay_out_column(schema[name]) for name in schema.modelled]
    steps: list[tuple[Step, BinLayout]] = [(step, layout) for layout in layouts for step in steps_of(layout, options)]
    sought: dict[Step, int] = {kind: sum(step == kind for step, _ in steps) for kind in (VALUES, UNITS)}
    aside: dict[Step, float] = {
        VALUES: min(VALUES_SHARE, 0.5 * sought[VALUES] / len(layouts)),
        UNITS: min(UNITS_SHARE * sought[UNITS], MOST_UNITS_SHARE),
    }
    unit = (1.0 - sum(aside.values())) / sum(_column_weight(layout) for layout in layouts)
    tables: dict[str, int] = {}
    weights: dict[str, float] = {}
    for step, layout in steps:
        label = line_label(step, layout)
        weight = aside[step] / sought[step] if step in aside else unit * _column_weight(layout) * _PARTS[step]
        tables[label] = tables.get(label, 0) + 1
        weights[label] = weights.get(label, 0.0) + weight
    return tuple(PlannedTables(label=label, tables=n, weight=weights[label]) for label, n in tables.items())


def steps_of(layout: BinLayout, options: MarginOptions | None) -> tuple[Step, ...]:
    """The histograms measured of a column."""
    if not layout.refined or (options is not None and options.repair != "density"):
        return (WHOLE,)
    values: tuple[Step, ...] = (VALUES,) if layout.searched else ()
    units: tuple[Step, ...] = () if layout.units is None else (UNITS,)
    return (COARSE, *values, *units, FINER)


def line_label(step: Step, layout: BinLayout) -> str:
    """The line of the plan, hence the noise, of one histogram: columns with about as many bins share a line."""
    return step if step in (VALUES, UNITS) else f"{step} of about {_rounded_bins(layout)} cells"


def _rounded_bins(layout: BinLayout) -> int:
    """Number of bins of the first histogram to the nearest power of two, so that plans have few different scales."""
    bins = min(int(first_lookup(layout).max()) + 1, MOST_WEIGHTED_CELLS)
    return 2 ** max(round(math.log2(bins)), 1)


def _column_weight(layout: BinLayout) -> float:
    return float(_rounded_bins(layout)) ** CELLS_POWER


def outline_margins(
    schema: Schema, allowance: Allowance, unit: Unit, options: MarginOptions | None = None
) -> tuple[Outline, ...]:
    """What `measure_margins` will measure, for people: tables, cells of the largest of them, noise."""
    options = options or MarginOptions()
    noise = margin_noise(schema, allowance, unit, options)
    cells: dict[str, list[int]] = {label: [] for label in noise}
    for layout in (lay_out_column(schema[name]) for name in schema.modelled):
        for step in steps_of(layout, options):
            cells[line_label(step, layout)].append(_cells(step, layout))
    return tuple(Outline(label=x, tables=len(cells[x]), cells=max(cells[x]), noise=noise[x]) for x in noise)


def _cells(step: Step, layout: BinLayout) -> int:
    if step == VALUES:
        return layout.size
    if step == UNITS and layout.units is not None:
        return layout.units.classes + 1
    return min(MOST_FINE_BINS, layout.size) if step == FINER else int(first_lookup(layout).max()) + 1


def margin_noise(schema: Schema, allowance: Allowance, unit: Unit, options: MarginOptions) -> dict[str, Noise]:
    """The noise of each line of the plan, by label."""
    plan = plan_margins(schema, options)
    if options.noise == "gaussian" and allowance.measure == "epsilon":
        raise UsageError("Gaussian noise needs delta above 0; with delta = 0 use Laplace noise.")
    if options.noise == "laplace" and allowance.measure == "rho":
        return {line.label: _laplace(allowance.part(line.weight), unit, line.tables) for line in plan}
    return dict(zip((line.label for line in plan), plan_noise(allowance, unit, plan), strict=True))


def _laplace(allowance: Allowance, unit: Unit, tables: int) -> Noise:
    """Discrete Laplace noise within a rho: (l1/b) tanh(m/(2b)) <= l1 m / (2 b^2) = rho / tables, m the largest move."""
    return Noise(kind="laplace", scale=math.sqrt(unit.l1 * unit.largest * tables / (2.0 * allowance.spendable.amount)))
