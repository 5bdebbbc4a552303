"""The DP vine: margins, pairs and a tree measured with noise; everything deeper is made from those releases alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.errors import UsageError
from sklar.methods.margins import MeasuredMargins, measure_margins
from sklar.methods.vine_axes import Axis, Measured, lay_out_axes
from sklar.methods.vine_calibrate import Calibrated, calibrate_vine
from sklar.methods.vine_pairs import dependence, informative_pairs, measure_pairs, pair_groups, resolution
from sklar.methods.vine_tree import choose_tree, fit_tree, measure_tree
from sklar.model.calibration import empty_calibration
from sklar.model.deeper import PairTable, grow
from sklar.model.table import TableModel
from sklar.model.vine import Vine
from sklar.model.vine_model import VineFacts, VineModel
from sklar.release.door import Door
from sklar.release.requests import RecodedTable

TOTAL_SHARE = 0.003
SMALL_RESOLUTION = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What may be changed about the method; the defaults need no tuning.

    Attributes:
        shares: budget for margins, pairs and tree one (and, with a target, for its fine tables and its triples).
        depth: largest number of trees; those after the first cost nothing.
        groups: most groups of a category and of a number in a pair table.
        calibration: whether the vine is tilted towards all released tables.
        target: a column that users will predict; budget moves to its tables.
    """

    shares: tuple[float, ...] | None = None
    depth: int = 6
    groups: tuple[int, int] = (16, 10)
    calibration: bool = True
    target: str | None = None


def fit(door: Door, options: Options, rng: np.random.Generator) -> TableModel:
    """Fit the DP vine through a Door, or the small model where pair tables would drown in noise."""
    check_options(options, door)
    shares = budget_shares(options)
    total = measure_total(door)
    allowance = door.allowance if door.rows is not None else door.allowance.part(1 - TOTAL_SHARE)
    if _too_small(door, allowance.part(shares[1]), total):
        from sklar.methods.small import fit_small

        return fit_small(door, allowance, total, options, rng)
    return fit_vine(door, allowance, total, shares, options, rng)


def check_options(options: Options, door: Door) -> None:
    """Refuse options that make no sense, before anything is spent."""
    columns = door.schema.modelled
    if options.target is not None and options.target not in columns:
        raise UsageError(f"the target must be a modelled column; '{options.target}' is not one of {', '.join(columns)}")
    wanted = 5 if options.target is not None else 3
    if options.shares is not None and (len(options.shares) != wanted or min(options.shares) <= 0):
        raise UsageError(f"shares must be {wanted} positive numbers; {options.shares} was given")
    if options.depth < 1 or min(options.groups) < 2:
        raise UsageError("depth must be at least 1, and groups at least 2")


def budget_shares(options: Options) -> tuple[float, ...]:
    """Fractions of the budget for margins, pairs, tree one, and with a target its fine tables and triples."""
    shares = options.shares or ((2.0, 4.0, 1.0) if options.target is None else (2.0, 4.0, 1.0, 2.0, 3.0))
    return tuple(share / sum(shares) for share in shares)


def measure_total(door: Door) -> float:
    """The number of rows: public under replace-one, else one noisy count."""
    if door.rows is not None:
        return float(max(door.rows, 1))
    name = door.schema.modelled[0]
    everything = np.zeros(door.schema.size(name), dtype=np.int32)
    noise = door.allowance.part(TOTAL_SHARE).noise(door.unit)
    (noisy,) = door.count_recoded([RecodedTable(columns=(name,), lookups=(everything,), noise=noise)], "rows")
    return float(max(noisy.counts.sum(), 1))


def _too_small(door: Door, allowance: Allowance, total: float) -> bool:
    """Whether pair tables of five groups a side would hold too few rows for their noise."""
    columns = len(door.schema.modelled)
    tables = max(min(columns * (columns - 1) // 2, most_pairs(columns)), 1)
    return columns > 2 and resolution(total, allowance.noise(door.unit, tables=tables).std) < SMALL_RESOLUTION


def most_pairs(columns: int) -> int:
    """Number of pair tables to measure at most."""
    return max(780, 4 * columns)


def fit_vine(
    door: Door,
    allowance: Allowance,
    total: float,
    shares: tuple[float, ...],
    options: Options,
    rng: np.random.Generator,
) -> VineModel:
    """Measure margins, pairs and tree one; then fit deeper trees and calibrate without looking at rows again."""
    margins = measure_margins(door, allowance.part(shares[0]), total)
    axes = lay_out_axes(
        door.schema, margins.margins, {name: lookup for name, lookup, _ in reversed(margins.histograms)}
    )
    rows = max(margins.rows, 1.0)
    pairs = _pairs(door, allowance.part(shares[1]), axes, rows, options)
    forest = choose_tree(len(axes), {(t.columns[0], t.columns[1]): dependence(t, rows) for t in pairs})
    fine = measure_tree(door, allowance.part(shares[2]), axes, forest, rows)
    vine = grow(
        Vine(size=len(axes), trees=(fit_tree(axes, fine, rows),)),
        {(t.columns[0], t.columns[1]): _pair_table(t) for t in pairs},
        _eligible(axes, pairs),
        rows,
        options.depth,
        rng,
    )
    histograms = histogram_tables(axes, margins)
    calibrated = Calibrated(calibration=empty_calibration(), strength=0.0)
    if options.calibration and len(axes) > 1:
        calibrated = calibrate_vine(vine, axes, pairs, [*fine, *histograms], rows, rng)
    return VineModel(
        margins=margins.margins,
        scales=tuple(axis.scale for axis in axes),
        vine=vine,
        calibration=calibrated.calibration,
        facts=VineFacts(rows=rows, margin_error=(), strength=calibrated.strength, pairs=len(pairs)),
    )


def _pairs(
    door: Door, allowance: Allowance, axes: Sequence[Axis], rows: float, options: Options
) -> tuple[Measured, ...]:
    columns = len(axes)
    sigma = allowance.noise(door.unit, tables=max(columns * (columns - 1) // 2, 1)).std
    groups = pair_groups(axes, sigma, rows, *options.groups)
    return measure_pairs(door, allowance, axes, groups, informative_pairs(groups))


def _pair_table(table: Measured) -> PairTable:
    first, second = table.groups
    return PairTable(observed=table.counts, sigma=table.sigma, edges1=first.edges, edges2=second.edges)


def _eligible(axes: Sequence[Axis], pairs: Sequence[Measured]) -> set[int]:
    """Columns that a Gaussian pair copula can speak about: ordered ones, and those with two groups."""
    found = {column for column, axis in enumerate(axes) if axis.ordered}
    for table in pairs:
        found.update(c for c, groups in zip(table.columns, table.groups, strict=True) if groups.count == 2)
    return found


def histogram_tables(axes: Sequence[Axis], margins: MeasuredMargins) -> list[Measured]:
    """The released histograms of single columns that can be read off margin cells, as tables to calibrate to."""
    from sklar.model.grouping import Groups

    position = {axis.name: column for column, axis in enumerate(axes)}
    tables: list[Measured] = []
    for name, lookup, noisy in margins.histograms:
        column = position[name]
        scale = axes[column].scale
        cells = lookup[scale.starts]
        if not np.array_equal(np.repeat(cells, scale.widths), lookup):
            continue
        groups = Groups(lookup=cells, edges=np.zeros(noisy.counts.size + 1))
        tables.append(Measured(columns=(column,), groups=(groups,), counts=noisy.counts, sigma=noisy.noise.std))
    return tables
