"""Margins: histograms measured with noise, and the margins fitted to them.

One pass counts every column on public bins, integer columns with a long range value by value too, and numbers by what
they are multiples of; a second pass counts numeric columns on bins cut finer where the first pass found
mass. What is counted second depends on releases, but the number of tables and their noise follow from the schema, the
options and the allowance alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.arrays import Floats, Ints
from sklar.methods.evidence import Evidence, Measure, Setting, Step, ask_in_order, remembered
from sklar.methods.margin_plan import (
    COARSE,
    FINER,
    UNITS,
    VALUES,
    WHOLE,
    HistogramKind,
    MarginOptions,
    line_label,
    margin_noise,
    steps_of,
)
from sklar.methods.prior import PublicMargin, shrink_margins_to_prior
from sklar.model.margins.bins import (
    COARSE_CELLS,
    BinLayout,
    cell_starts,
    coarse_counts,
    find_lumps,
    finer_lookup,
    first_lookup,
    heavy_values,
    joint_labels,
    lay_out_column,
    lump_values,
    significant_candidates,
    unless_crowded,
    weight_layout,
    with_unit,
)
from sklar.model.margins.fit import Histogram, chained_cells, fit_cells, pool_total, repair_counts, spread
from sklar.model.margins.heaping import Rounding, find_rounding
from sklar.model.margins.likelihood import KnownTotal, Observation
from sklar.model.margins.margin import Margin
from sklar.model.margins.slopes import tilt_cells
from sklar.model.margins.units import base_unit
from sklar.model.significance import critical_deviations
from sklar.release.counts import Counts
from sklar.release.measurements import Measurement, Request
from sklar.schema.columns import Column
from sklar.schema.grid import has_multiples
from sklar.schema.numbers import Integer, Real
from sklar.schema.table import Schema

FIRST, SECOND = "margins", "finer margins"
"""Labels of the two steps."""
MIN_SIGMA = 1e-3
"""Noise smaller than this (at epsilon in the hundreds) is treated as this, to keep the arithmetic finite."""
PART_SIGMAS = 4.0
"""A bin of the second histogram should hold this many standard deviations of its noise."""
MIN_NUMBERS_PER_COARSE_CELL = 16
"""Numbers that a coarse cell must be able to hold for heaping to be measured by coarse cells, and to shape finer ones.
With fewer a heavy single number (40 hours) looks like a heap (of all multiples of 20)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredMargins:
    """Fitted margins and everything that was released for them.

    Attributes:
        margins: One per modelled column, in schema order.
        histograms: Those of each column in the order measured, without the one by units; recoded if a unit was found.
        rows: Estimated (or public) number of rows.
        rows_sigma: Its standard deviation; 0 when it is public.
    """

    margins: tuple[Margin, ...]
    histograms: tuple[tuple[Histogram, ...], ...]
    rows: float
    rows_sigma: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MarginStage:
    """How margins are measured and estimated.

    Attributes:
        setting: That of the fit.
        allowance: What to spend on margins.
        total: The number of rows that is known before margins: public, or measured.
        options: How to measure and fit.
    """

    setting: Setting[Any]
    allowance: Allowance
    total: KnownTotal
    options: MarginOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginSteps:
    """How a method measures and estimates margins.

    Attributes:
        ask: The next step for margins, or None.
        estimate: The margins, once all of these steps are measured.
    """

    ask: Callable[[Evidence[Any]], Step | None]
    estimate: Callable[[Evidence[Any]], MeasuredMargins]


def margin_steps(stage_of: Callable[[Evidence[Any]], MarginStage]) -> MarginSteps:
    """Return the steps of a method whose margins have this stage."""

    @remembered
    def stage(evidence: Evidence[Any]) -> MarginStage:
        return stage_of(evidence)

    @remembered
    def ask_first(evidence: Evidence[Any]) -> Measure:
        return request_first(stage(evidence))

    @remembered
    def columns(evidence: Evidence[Any]) -> list[_Column]:
        return _cut_columns(stage(evidence), evidence.measured(FIRST))

    @remembered
    def ask_finer(evidence: Evidence[Any]) -> Measure | None:
        return _request_finer(columns(evidence))

    @remembered
    def estimate(evidence: Evidence[Any]) -> MeasuredMargins:
        return _estimate(stage(evidence), columns(evidence), evidence.measured(SECOND))

    def ask(evidence: Evidence[Any]) -> Step | None:
        return ask_in_order(evidence, ask_first, ask_finer)

    return MarginSteps(ask=ask, estimate=estimate)


def known_total(setting: Setting[Any], total: float = 0.0, sigma: float = math.inf) -> KnownTotal:
    """Return the number of rows as it is known before margins: public, or measured with noise of this deviation."""
    if setting.rows is not None:
        return KnownTotal(rows=max(setting.rows, 1), sigma=0.0)
    return KnownTotal(rows=total, sigma=sigma)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Column:
    """One column on its way to a margin.

    Attributes:
        layout: Its bins: first as counted, then as the first histogram suggests to fit them.
        noise: That of its histograms.
        seen: What was released of it.
        by_unit: The histogram by what numbers are multiples of, where it was requested.
        found: The unit that the numbers are multiples of, as that histogram shows.
        atoms: Values with a cell of their own.
        lumps: Coarse cells that may hold a lump of one value, and its rows.
        finer: Bins of the second histogram.
        cuts: Coarse cells as counted.
        rounding: How its numbers are rounded, once that is known.
    """

    name: str
    layout: BinLayout
    noise: dict[HistogramKind, Noise]
    seen: tuple[Histogram, ...] = ()
    by_unit: Histogram | None = None
    found: Fraction | None = None
    atoms: Ints
    lumps: Mapping[int, float] = field(default_factory=dict[int, float])
    finer: Ints | None = None
    cuts: Ints | None = None
    rounding: Rounding | None = None


def request_first(stage: MarginStage) -> Measure:
    """Return the first step: histograms of all columns, and single values and units where they are looked for."""
    requests: list[Request] = []
    for column in _lay_out_columns(stage):
        first = column.noise[WHOLE if WHOLE in column.noise else COARSE]
        requests.append(_request_histogram(column.name, first_lookup(column.layout), first))
        if VALUES in column.noise:
            requests.append(_request_histogram(column.name, np.arange(column.layout.size), column.noise[VALUES]))
        if column.layout.units is not None and UNITS in column.noise:
            requests.append(_request_histogram(column.name, column.layout.units.lookup, column.noise[UNITS]))
    return Measure(label=FIRST, requests=tuple(requests))


def _request_histogram(column: str, lookup: Ints, noise: Noise) -> Request:
    return Request(query=Counts(columns=(column,), partitions=(lookup.astype(np.int32),)), noise=noise)


def _lay_out_columns(stage: MarginStage) -> list[_Column]:
    schema = stage.setting.schema
    by_line = margin_noise(schema, stage.allowance, stage.setting.unit, stage.options)
    columns: list[_Column] = []
    for name in schema.modelled:
        layout = lay_out_column(schema[name])
        noise: dict[HistogramKind, Noise] = {
            step: by_line[line_label(step, layout)] for step in steps_of(layout, stage.options)
        }
        columns.append(_Column(name=name, layout=layout, noise=noise, atoms=np.zeros(0, dtype=np.int64)))
    return columns


def _cut_columns(stage: MarginStage, first: Sequence[Measurement]) -> list[_Column]:
    """Return columns with their first histograms, and where their second ones are to be cut."""
    schema = stage.setting.schema
    columns = [_find_unit(schema[column.name], column) for column in _with_histograms(_lay_out_columns(stage), first)]
    total = _pool_totals(columns, stage.total)
    prior = _compare_prior(stage, columns, total)
    return [_cut_finer(schema, column, total, prior) if FINER in column.noise else column for column in columns]


def _request_finer(columns: Sequence[_Column]) -> Measure | None:
    requests = [_request_histogram(c.name, c.finer, c.noise[FINER]) for c in columns if c.finer is not None]
    return Measure(label=SECOND, requests=tuple(requests)) if requests else None


def _estimate(stage: MarginStage, columns: Sequence[_Column], finer: Sequence[Measurement]) -> MeasuredMargins:
    bins = {one.query.columns[0]: _get_bins(one) for one in finer}
    columns = [replace(column, finer=bins.get(column.name, column.finer)) for column in columns]
    columns = [_with_late_atoms(column) for column in _with_histograms(columns, finer)]
    total = _pool_totals(columns, stage.total)
    prior, schema = _compare_prior(stage, columns, total), stage.setting.schema
    return MeasuredMargins(
        margins=tuple(_estimate_margin(schema[column.name], column, total, stage.options, prior) for column in columns),
        histograms=tuple(column.seen for column in columns),
        rows=total.rows,
        rows_sigma=total.sigma,
    )


def _with_histograms(columns: Sequence[_Column], measured: Sequence[Measurement]) -> list[_Column]:
    """Return columns with these histograms added to what was measured of them before."""
    seen: dict[str, list[Histogram]] = {}
    for one in measured:
        sigma = max(one.noise.std, MIN_SIGMA)
        histogram = Histogram(lookup=_get_bins(one), counts=one.values.astype(np.float64), sigma=sigma)
        seen.setdefault(one.query.columns[0], []).append(histogram)
    return [replace(column, seen=(*column.seen, *seen.get(column.name, ()))) for column in columns]


def _get_bins(measurement: Measurement) -> Ints:
    assert isinstance(measurement.query, Counts)
    return measurement.query.partitions[0].astype(np.int64)


def _find_unit(declared: Column, column: _Column) -> _Column:
    """Return the column with the unit of its numbers, if its last histogram was measured to find one."""
    search = column.layout.units
    if search is None or UNITS not in column.noise:
        return column
    *seen, by_unit = column.seen
    found = search.find_unit(by_unit.counts, by_unit.sigma)
    if found is None:
        return replace(column, seen=tuple(seen), by_unit=by_unit)
    layout = with_unit(column.layout, declared, found)
    seen = tuple(histogram.on(layout) for histogram in seen)
    return replace(column, layout=layout, found=found, seen=seen, by_unit=by_unit)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _PriorMargins:
    """What a public table, if there is one, expects of the columns."""

    margins: Mapping[str, PublicMargin]

    def on(self, column: _Column, starts: Ints, total: KnownTotal) -> tuple[Observation, ...]:
        """Return the observations that the public table adds to the histograms of a column."""
        return (self.margins[column.name].cells(starts, total.rows),) if column.name in self.margins else ()


def _compare_prior(stage: MarginStage, columns: Sequence[_Column], total: KnownTotal) -> _PriorMargins:
    seen = {column.name: column.seen for column in columns}
    return _PriorMargins(margins=shrink_margins_to_prior(stage.setting.prior, stage.setting.schema, seen, total.rows))


def _cut_finer(schema: Schema, column: _Column, total: KnownTotal, prior: _PriorMargins) -> _Column:
    atoms, first = _atoms(column), column.seen[0]
    layout = unless_crowded(column.layout, first.lookup, first.counts)
    starts = cell_starts(layout, layout.coarse, atoms)
    mass = fit_cells(layout, starts, atoms, column.seen, total, prior.on(column, starts, total)).mass
    part_mass = PART_SIGMAS * column.noise[FINER].std / total.rows
    rough, declared = Margin(column=column.name, starts=starts, mass=mass, size=layout.size), schema[column.name]
    rounding = _find_rounding(declared, column, rough, total.rows) if _is_wide(declared, column.found) else None
    lumps = find_lumps(layout, first.lookup, first.counts, first.sigma)
    finer = finer_lookup(layout, atoms, mass, part_mass, lumps)
    cuts = column.layout.coarse
    return replace(
        column, layout=layout, atoms=atoms, lumps=lumps, finer=finer, cuts=cuts, rounding=rounding
    )  # fmt: skip


def _is_wide(column: Column, found: Fraction | None) -> bool:
    """Return whether coarse cells are so wide that heaping at round numbers hardly changes their counts."""
    if not isinstance(column, Integer | Real):
        return False
    unit = found or base_unit(column)
    return unit is None or float(column.upper - column.lower) >= MIN_NUMBERS_PER_COARSE_CELL * COARSE_CELLS * unit


def _find_rounding(declared: Column, column: _Column, margin: Margin, rows: float) -> Rounding | None:
    """Return how numbers are rounded, if that was counted."""
    search, by_unit = column.layout.units, column.by_unit
    if search is None or by_unit is None or not isinstance(declared, Integer | Real):
        return None
    return find_rounding(margin, declared, column.found, (search, by_unit.counts, by_unit.sigma), rows)


def _atoms(column: _Column) -> Ints:
    """Return single values that get a cell of their own, by the first histograms."""
    layout, first = column.layout, column.seen[0]
    if layout.searched:
        values = column.seen[1]
        counts = values.counts[values.lookup]
        return heavy_values(layout, counts, values.sigma, coarse_counts(layout, first.lookup, first.counts))
    return significant_candidates(layout, first.lookup, first.counts, first.sigma)


def _with_late_atoms(column: _Column) -> _Column:
    """Return the column with the values as atoms that lumps stand on, by the second histogram."""
    if column.finer is None or not column.lumps:
        return column
    second = column.seen[-1]
    found = lump_values(column.layout, column.lumps, second.lookup, second.counts, second.sigma)
    return replace(column, atoms=np.union1d(column.atoms, found))


def _estimate_margin(
    declared: Column, column: _Column, total: KnownTotal, options: MarginOptions, prior: _PriorMargins
) -> Margin:
    layout = column.layout
    if options.repair != "density":
        first = column.seen[0]
        return spread(column.name, layout, first.lookup, repair_counts(first, total, options.repair))
    starts = cell_starts(layout, joint_labels(layout, column.finer), column.atoms)
    rounding, (layout, mass) = _choose_rounding(declared, column, starts, total, prior)
    if layout.refined:
        starts, mass = tilt_cells(layout, starts, mass, chained_cells(layout, starts, column.atoms))
    if column.rounding is None or not column.rounding.differs:  # then heaping is at single numbers inside these cells
        cells = Margin(column=column.name, starts=starts, mass=mass, size=layout.size)
        rounding = _find_rounding(declared, column, cells, total.rows)
    rounded = _weight_by_rounding(layout, declared, rounding)
    cell = np.repeat(np.arange(len(starts)), np.diff(starts, append=layout.size))
    margin = spread(column.name, rounded, cell, mass, column.cuts)
    return margin if rounding is None else rounding.on(margin)


def _choose_rounding(
    declared: Column, column: _Column, starts: Ints, total: KnownTotal, prior: _PriorMargins
) -> tuple[Rounding | None, tuple[BinLayout, Floats]]:
    """Return how numbers are rounded, the layout that follows, and the masses of its cells.

    Heaping was found by coarse cells. Numbers that crowd around a round one look like it there, but not in the finer
    histogram: it is kept if it makes that one, and what was counted by units, significantly more probable, or if most
    of it are lumps that stand on multiples.
    """
    more, found = prior.on(column, starts, total), column.rounding
    doubted = found is not None and found.differs and not _is_due_to_lumps(declared, column, found, total.rows)
    fits: list[tuple[float, Rounding | None, tuple[BinLayout, Floats]]] = []
    for rounding in (found, found.without_heaping()) if found is not None and doubted else (found,):
        layout = _weight_by_rounding(column.layout, declared, rounding)
        fitted = fit_cells(layout, starts, column.atoms, column.seen, total, more)
        evidence = fitted.log_evidence
        if doubted and rounding is not None and column.layout.units is not None and column.by_unit is not None:
            assert isinstance(declared, Integer | Real)
            margin = Margin(column=column.name, starts=starts, mass=fitted.mass, size=layout.size)
            seen = (column.layout.units, column.by_unit.counts, column.by_unit.sigma)
            price = critical_deviations() ** 2 if rounding.differs else 0.0
            evidence -= 0.5 * (rounding.misfit(margin, declared.grid, seen, total.rows) + price)
        fits.append((evidence, rounding, (layout, fitted.mass)))
    return max(fits, key=lambda one: one[0])[1:]


def _is_due_to_lumps(declared: Column, column: _Column, rounding: Rounding, rows: float) -> bool:
    """Return whether lumps that stand on multiples of units have most of the rows that are said to be rounded."""
    atoms = column.atoms[~column.layout.candidate[column.atoms]]
    units = {unit: part for unit, part in rounding.heaping.items() if part < 1.0}
    if not isinstance(declared, Integer | Real) or not len(atoms):
        return False
    on_multiples = atoms[np.any([has_multiples(declared.grid, unit)[atoms] for unit in units], axis=0)]
    standing = sum(column.lumps.get(int(cell), 0.0) for cell in set(column.layout.coarse[on_multiples].tolist()))
    return standing > 0.5 * rows * sum(units.values())


def _weight_by_rounding(layout: BinLayout, declared: Column, rounding: Rounding | None) -> BinLayout:
    if rounding is None or not rounding.heaping or not isinstance(declared, Integer | Real):
        return layout
    return weight_layout(layout, rounding.weights(declared.grid))


def _pool_totals(columns: Sequence[_Column], before: KnownTotal) -> KnownTotal:
    return pool_total([seen for column in columns for seen in column.seen], before)
