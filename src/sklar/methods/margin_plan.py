"""Which histograms margins are measured by, and how they share the budget: the plan, the noise and the outline."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from sklar.accounting.allowance import Allowance
from sklar.accounting.calibrate import PlannedTables, plan_noise
from sklar.accounting.noise import Noise, NoiseKind
from sklar.accounting.unit import Unit
from sklar.errors import UsageError
from sklar.methods.method import Outline
from sklar.model.margins.bins import MOST_FINE_BINS, BinLayout, first_lookup, lay_out_column
from sklar.schema.table import Schema

Repair = Literal["density", "simplex", "clip"]
HistogramKind = Literal["margins", "coarse margins", "single values", "round numbers", "finer margins"]
WHOLE: HistogramKind = "margins"
COARSE: HistogramKind = "coarse margins"
VALUES: HistogramKind = "single values"
UNITS: HistogramKind = "round numbers"
FINER: HistogramKind = "finer margins"

FINER_SHARE = 0.3
"""Part of a numeric column's share that goes to its second, finer histogram."""
VALUES_SHARE = 0.1
"""Part of the whole that goes to the search for heavy single values, and at most half a column's share each."""
UNITS_SHARE, MOST_UNITS_SHARE = 0.012, 0.03
"""Part of the whole that goes to the unit and the heaping of a column of numbers, and most for all of them: of 13
columns with 5,960 rows at epsilon 1 a count then has a noise of 90, enough to see that loans are in hundreds."""
CELLS_POWER = 1.0 / 3.0
"""A column's share grows with its number of bins to this power: more bins, more error at the same noise."""
MOST_WEIGHTED_CELLS = 1024
_PARTS: dict[HistogramKind, float] = {WHOLE: 1.0, COARSE: 1.0 - FINER_SHARE, FINER: FINER_SHARE}


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
    """Return every table that margins will be counted on, with weights that sum to one."""
    layouts = [lay_out_column(schema[name]) for name in schema.modelled]
    steps: list[tuple[HistogramKind, BinLayout]] = [
        (step, layout) for layout in layouts for step in steps_of(layout, options)
    ]
    sought: dict[HistogramKind, int] = {kind: sum(step == kind for step, _ in steps) for kind in (VALUES, UNITS)}
    aside: dict[HistogramKind, float] = {
        VALUES: min(VALUES_SHARE, 0.5 * sought[VALUES] / len(layouts)),
        UNITS: min(UNITS_SHARE * sought[UNITS], MOST_UNITS_SHARE),
    }
    unit = (1.0 - sum(aside.values())) / sum(_weigh_column(layout) for layout in layouts)
    tables: dict[str, int] = {}
    weights: dict[str, float] = {}
    for step, layout in steps:
        label = line_label(step, layout)
        weight = aside[step] / sought[step] if step in aside else unit * _weigh_column(layout) * _PARTS[step]
        tables[label] = tables.get(label, 0) + 1
        weights[label] = weights.get(label, 0.0) + weight
    return tuple(PlannedTables(label=label, tables=n, weight=weights[label]) for label, n in tables.items())


def steps_of(layout: BinLayout, options: MarginOptions | None) -> tuple[HistogramKind, ...]:
    """Return the histograms measured of a column."""
    if not layout.refined or (options is not None and options.repair != "density"):
        return (WHOLE,)
    values: tuple[HistogramKind, ...] = (VALUES,) if layout.searched else ()
    units: tuple[HistogramKind, ...] = () if layout.units is None else (UNITS,)
    return (COARSE, *values, *units, FINER)


def line_label(step: HistogramKind, layout: BinLayout) -> str:
    """Return the line of the plan, hence the noise, of one histogram: columns with about equal numbers of bins share a
    line."""
    return step if step in (VALUES, UNITS) else f"{step} of about {_rounded_bins(layout)} cells"


def _rounded_bins(layout: BinLayout) -> int:
    """Return the number of bins of the first histogram to the nearest power of two, so that plans have few different
    scales."""
    bins = min(int(first_lookup(layout).max()) + 1, MOST_WEIGHTED_CELLS)
    return 2 ** max(round(math.log2(bins)), 1)


def _weigh_column(layout: BinLayout) -> float:
    return float(_rounded_bins(layout)) ** CELLS_POWER


def outline_margins(
    schema: Schema, allowance: Allowance, unit: Unit, options: MarginOptions | None = None
) -> tuple[Outline, ...]:
    """Return what will be measured of margins, for people: tables, cells of the largest of them, noise."""
    options = options or MarginOptions()
    noise = margin_noise(schema, allowance, unit, options)
    cells: dict[str, list[int]] = {label: [] for label in noise}
    for layout in (lay_out_column(schema[name]) for name in schema.modelled):
        for step in steps_of(layout, options):
            cells[line_label(step, layout)].append(_cells(step, layout))
    return tuple(Outline(label=x, tables=len(cells[x]), cells=max(cells[x]), noise=noise[x]) for x in noise)


def _cells(step: HistogramKind, layout: BinLayout) -> int:
    if step == VALUES:
        return layout.size
    if step == UNITS and layout.units is not None:
        return layout.units.classes + 1
    return min(MOST_FINE_BINS, layout.size) if step == FINER else int(first_lookup(layout).max()) + 1


def margin_noise(schema: Schema, allowance: Allowance, unit: Unit, options: MarginOptions) -> dict[str, Noise]:
    """Return the noise of each line of the plan, by label."""
    plan = plan_margins(schema, options)
    if options.noise == "gaussian" and allowance.measure == "epsilon":
        raise UsageError("Gaussian noise needs delta above 0; with delta = 0 use Laplace noise.")
    if options.noise == "laplace" and allowance.measure == "rho":
        return {line.label: _laplace(allowance.part(line.weight), unit, line.tables) for line in plan}
    return dict(zip((line.label for line in plan), plan_noise(allowance, unit, plan), strict=True))


def _laplace(allowance: Allowance, unit: Unit, tables: int) -> Noise:
    """Return discrete Laplace noise within a rho: (l1/b) tanh(m/(2b)) <= l1 m / (2 b^2) = rho / tables, m the largest
    move."""
    return Noise(kind="laplace", scale=math.sqrt(unit.l1 * unit.largest * tables / (2.0 * allowance.spendable.amount)))
