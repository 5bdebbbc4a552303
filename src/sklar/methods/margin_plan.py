"""The public plan of margins: how many histograms are counted and with what noise, before any row is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from sklar.accounting.allowance import Allowance
from sklar.accounting.calibrate import PlannedTables, plan_noise
from sklar.accounting.noise import Noise, NoiseKind
from sklar.accounting.unit import Unit
from sklar.errors import UsageError
from sklar.methods.method import Outline
from sklar.model.margin_bins import MOST_FINE_BINS, Layout, first_lookup, lay_out_column
from sklar.schema.table import Schema

Repair = Literal["density", "simplex", "clip"]

FINER_SHARE = 0.3
"""Part of a numeric column's share that goes to its second, finer histogram."""
VALUES_SHARE = 0.1
"""Part of the whole that goes to the search for heavy single values."""

WHOLE, COARSE, VALUES, FINER = "margins", "coarse margins", "single values", "finer margins"


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
    tables = {label: len(found) for label, found in _lines(layouts, options).items()}
    share = (1.0 - (VALUES_SHARE if tables[VALUES] else 0.0)) / len(layouts)
    weights = {
        WHOLE: tables[WHOLE] * share,
        COARSE: tables[COARSE] * share * (1.0 - FINER_SHARE),
        VALUES: VALUES_SHARE,
        FINER: tables[FINER] * share * FINER_SHARE,
    }
    return tuple(PlannedTables(label=x, tables=tables[x], weight=weights[x]) for x in weights if tables[x])


def outline_margins(
    schema: Schema, allowance: Allowance, unit: Unit, options: MarginOptions | None = None
) -> tuple[Outline, ...]:
    """What `measure_margins` will measure, for people: tables, cells of the largest of them, noise."""
    options = options or MarginOptions()
    lines = _lines([lay_out_column(schema[name]) for name in schema.modelled], options)
    noise = margin_noise(schema, allowance, unit, options)
    return tuple(
        Outline(label=label, tables=len(lines[label]), cells=max(map(_CELLS[label], lines[label])), noise=noise[label])
        for label in noise
    )


_CELLS: dict[str, Callable[[Layout], int]] = {
    WHOLE: lambda layout: int(first_lookup(layout).max()) + 1,
    COARSE: lambda layout: int(first_lookup(layout).max()) + 1,
    VALUES: lambda layout: layout.size,
    FINER: lambda layout: min(MOST_FINE_BINS, layout.size),
}


def _lines(layouts: Sequence[Layout], options: MarginOptions | None) -> dict[str, list[Layout]]:
    """The columns behind each line of the plan."""
    smooth = options is None or options.repair == "density"
    refined = [layout for layout in layouts if layout.refined and smooth]
    return {
        WHOLE: [layout for layout in layouts if not (layout.refined and smooth)],
        COARSE: refined,
        VALUES: [layout for layout in refined if layout.searched],
        FINER: refined,
    }


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
    return Noise(kind="laplace", scale=math.sqrt(unit.l1 * unit.largest * tables / (2.0 * allowance.amount)))
