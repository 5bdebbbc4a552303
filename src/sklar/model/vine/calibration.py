"""Calibration: weights that tilt the vine so that it agrees with every measured table up to its noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sklar.model.axis import Scale, cells_at
from sklar.model.pairs.interactions import noisy_dimensions
from sklar.model.pairs.tables import TableContent
from sklar.model.posterior import Comparison, estimate_strength, sweep_tables, table_offsets

MAX_TABLE_CELLS = 65_535
"""Cells a table may have to take part; particles carry 16-bit cell numbers."""
MASS_TOLERANCE = 2e-3
"""Sweeps end once a table moves less mass than this on average. Less follows the tables closer and takes longer, to no
avail: on Adult, COMPAS and tail6 errors of pairs and triples are the same from 5e-4 to 4e-3, within 1%."""
MIN_STRENGTH = 100.0
"""The least prior strength of all tables together: none is trusted further than the noise of a hundredth of its budget
would let, unless it proves the others wrong."""
EMPTY_CELL_LOG_WEIGHT = -200.0
"""The log-weight of cells that no row can be in: finite, and so little that other tables, which may ask for rows where
only such particles are, cannot bring them back."""
MARGIN_SWEEPS, MARGIN_TOLERANCE = 30, 5e-4
"""Rounds over the tables of single columns, and when they end: these tables are few and soon met."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Partition:
    """One way of grouping a column: the group of each of its margin cells, and the number of groups."""

    column: int
    lookup: np.ndarray
    count: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SoftTable:
    """A released table that the model should agree with, up to its noise.

    Attributes:
        parts: positions of its axes in the list of partitions, slowest first.
        observed: noisy probabilities of its cells, flat.
        variance: squared tolerance of a cell (noise variance times the prior strength c).
        dual: log-weight that the model gives to each cell.
        content: what of it was measured.
        strength: the prior strength in its variance; None for that of the whole model.
        empty: cells that no row can be in, by public rules: they are known without noise, and their dual is fixed.
    """

    parts: tuple[int, ...]
    observed: np.ndarray
    variance: float
    dual: np.ndarray
    content: TableContent = "counts"
    strength: float | None = None
    empty: np.ndarray | None = None

    @property
    def variances(self) -> np.ndarray:
        """The squared tolerance of every cell: 0 where it is known to be empty."""
        same = np.full(len(self.observed), max(self.variance, 1e-16))
        return same if self.empty is None else np.where(self.empty, 0.0, same)

    @property
    def measured_cells(self) -> np.ndarray | slice:
        """The cells that are not known to be empty."""
        return slice(None) if self.empty is None else ~self.empty


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Calibration:
    """A tilt of the vine: row x has weight exp(sum over tables of dual[cell of x] - level).

    Attributes:
        partitions: the axes of the tables, which are in the order of the sweep.
        level: makes the mean weight one under the vine.
        effective: effective sample size of the weights, as a fraction of the particles.
        ceiling: weights of rows that were not part of the fit are cut here: a few of them would otherwise carry much of
            the mass.
    """

    partitions: tuple[Partition, ...]
    tables: tuple[SoftTable, ...]
    level: float
    effective: float
    ceiling: float


NO_TILT = Calibration(partitions=(), tables=(), level=0.0, effective=1.0, ceiling=np.inf)
"""The tilt that changes nothing."""


def part_codes(partitions: Sequence[Partition], scales: Sequence[Scale], particles: np.ndarray) -> np.ndarray:
    """Group of every particle (rows of uniforms) under every partition (row)."""
    cells: dict[int, np.ndarray] = {}
    codes = np.empty((len(partitions), len(particles)), dtype=np.uint16)
    for row, part in zip(codes, partitions, strict=True):
        if part.column not in cells:
            cells[part.column] = cells_at(scales[part.column], particles[:, part.column])
        np.take(part.lookup.astype(np.uint16), cells[part.column], out=row)
    return codes


def table_axes(partitions: Sequence[Partition], tables: Sequence[tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray]:
    """Return partitions of each table (row) and their strides in its flat cells; missing axes have stride 0."""
    most = max((len(axes) for axes in tables), default=1)
    parts = np.zeros((len(tables), most), dtype=np.int64)
    strides = np.zeros_like(parts)
    for k, axes in enumerate(tables):
        counts = [partitions[part].count for part in axes]
        parts[k, : len(counts)] = axes
        strides[k, : len(counts)] = [int(np.prod(counts[i + 1 :])) for i in range(len(counts))]
    return parts, strides


def cell_matrix(calibration: Calibration, scales: Sequence[Scale], particles: np.ndarray) -> np.ndarray:
    """Return the cell of each particle (column) in each table (row)."""
    return table_cells(calibration, part_codes(calibration.partitions, scales, particles))


def table_cells(calibration: Calibration, codes: np.ndarray) -> np.ndarray:
    """Return the cell of each particle in each table from its groups (`part_codes`)."""
    from sklar.model.kernels import all_cells

    return all_cells(codes, *table_axes(calibration.partitions, [table.parts for table in calibration.tables]))


def log_weights(calibration: Calibration, scales: Sequence[Scale], particles: np.ndarray) -> np.ndarray:
    """Return log-weight of every particle, cut at the ceiling; before that the weights have mean one under the vine."""
    return make_weigher(calibration, scales)(particles)


def make_weigher(calibration: Calibration, scales: Sequence[Scale]) -> Callable[[np.ndarray], np.ndarray]:
    """Return `log_weights` with everything prepared that does not depend on the particles."""
    if not calibration.tables:
        return lambda particles: np.zeros(len(particles))
    from sklar.model.kernels import tilt_codes

    duals = [table.dual for table in calibration.tables]
    axes = table_axes(calibration.partitions, [table.parts for table in calibration.tables])
    fixed = (*axes, table_offsets(duals), np.concatenate(duals))
    most = np.log(calibration.ceiling)

    def weigh(particles: np.ndarray) -> np.ndarray:
        codes = part_codes(calibration.partitions, scales, particles)
        return np.minimum(tilt_codes(codes, *fixed) - calibration.level, most)

    return weigh


def prior_strength(partitions: Sequence[Partition], tables: Sequence[SoftTable], cells: np.ndarray) -> float:
    """Return how far the vine may be from the truth, by empirical Bayes.

    c = sum_k (1 - |m_k|^2) / sum_k (|y_k - m_k|^2 - f_k s_k^2), with m_k the vine's own table, y_k the released one,
    s_k its noise and f_k the dimensions that carry it: the inverse of the squared distance that noise does not explain.
    Kept within [100, 1e5]. Here `variance` of the tables is the plain noise variance; `cells` has the cell of every
    particle (column) in each.
    """
    compared: list[Comparison] = []
    for table, cell in zip(tables, cells, strict=True):
        own = np.bincount(cell, minlength=len(table.observed))[table.measured_cells] / len(cell)
        own = own if table.empty is None else own / max(own.sum(), 1e-12)
        observed = table.observed[table.measured_cells]
        compared.append(Comparison(own, observed, table.variance, noisy_cells(partitions, table)))
    return estimate_strength(compared, MIN_STRENGTH)


def noisy_cells(partitions: Sequence[Partition], table: SoftTable) -> int:
    """Return the number of dimensions in which a table carries its own noise: its cells, or fewer if margins were put
    in."""
    known = 0 if table.empty is None else int(table.empty.sum())
    if table.content != "interaction":
        return len(table.observed) - known
    return max(noisy_dimensions(tuple(partitions[part].count for part in table.parts)) - known, 1)


def calibrate(
    partitions: tuple[Partition, ...],
    tables: Sequence[SoftTable],
    cells: np.ndarray,
    sweeps: int = 100,
    tolerance: float = MASS_TOLERANCE,
    most: float = np.inf,
) -> tuple[Calibration, np.ndarray]:
    """Return weights of particles that minimize KL(w || uniform) + sum_k |A_k w - y_k|^2 / (2 v_k).

    Exact minimization over the dual of one table at a time, in turn (soft iterative proportional fitting): with m the
    table's current weighted histogram, each cell solves m e^d + v (lambda + d) = y for d; then lambda += d and the
    weights of its particles are multiplied by e^d. For v -> 0 this is iterative proportional fitting.

    Args:
        tables: the tables; their duals are the starting point.
        cells: cell of each particle (column) in each table (row), 16-bit.
        sweeps: largest number of rounds over all tables; they end earlier once tables move less than `tolerance`.
        most: log-weights that the starting duals give are cut here; fresh particles may be far outside of what the
            duals were fitted on.

    Returns:
        The tilt, and the normalized weights of the particles.
    """
    if not tables:
        return NO_TILT, np.full(cells.shape[1], 1.0 / max(cells.shape[1], 1))
    from sklar.model.kernels import tilt

    offsets = table_offsets([table.observed for table in tables])
    weights = _normalize(np.minimum(tilt(cells, offsets, np.concatenate([table.dual for table in tables])), most))
    fitted = _sweep(tables, cells, weights, sweeps, tolerance)
    logs = tilt(cells, offsets, np.concatenate([table.dual for table in fitted]))
    return _summarize(partitions, fitted, logs), weights / weights.sum()


def start_without_tilt(calibration: Calibration, cells: np.ndarray) -> Calibration:
    """Return the tables with the tilt that they start from: what rules alone leave of the particles."""
    duals = np.concatenate([table.dual for table in calibration.tables])
    from sklar.model.kernels import tilt

    offsets = table_offsets([table.observed for table in calibration.tables])
    return _summarize(calibration.partitions, calibration.tables, tilt(cells, offsets, duals))


def hold_margins(calibration: Calibration, scales: Sequence[Scale], particles: np.ndarray) -> Calibration:
    """Return the tilt with the tables of single columns fitted once more, on particles it has not seen.

    Weights follow the particles they were fitted on a little too well, and are cut at the ceiling on others, which
    bends the margins of rows drawn later. The few numbers of the one-column tables straighten them.
    """
    single = [k for k, table in enumerate(calibration.tables) if len(table.parts) == 1]
    if not single:
        return calibration
    chosen = replace(calibration, tables=tuple(calibration.tables[k] for k in single))
    weights = _normalize(log_weights(calibration, scales, particles))
    fitted = _sweep(chosen.tables, cell_matrix(chosen, scales, particles), weights, MARGIN_SWEEPS, MARGIN_TOLERANCE)
    again = dict(zip(single, fitted, strict=True))
    return replace(calibration, tables=tuple(again.get(k, table) for k, table in enumerate(calibration.tables)))


def _sweep(
    tables: Sequence[SoftTable], cells: np.ndarray, weights: np.ndarray, sweeps: int, tolerance: float
) -> tuple[SoftTable, ...]:
    """Return the tables with their duals after sweeps from given weights, which change in place."""
    observed = [table.observed for table in tables]
    offsets, dual = table_offsets(observed), np.concatenate([table.dual for table in tables])
    sweep_tables(observed, [table.variances for table in tables], dual, cells, weights, sweeps, tolerance)
    parts = zip(tables, offsets[:-1], offsets[1:], strict=True)
    return tuple(replace(table, dual=dual[start:stop].copy()) for table, start, stop in parts)


def _normalize(logs: np.ndarray) -> np.ndarray:
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def _summarize(partitions: tuple[Partition, ...], tables: tuple[SoftTable, ...], logs: np.ndarray) -> Calibration:
    weights = _normalize(logs) * len(logs)
    return Calibration(
        partitions=partitions,
        tables=tables,
        level=float(logs.max() + np.log(np.mean(np.exp(logs - logs.max())))),
        effective=float(1.0 / np.mean(weights**2)),
        ceiling=weight_ceiling(weights),
    )


def weight_ceiling(weights: np.ndarray, excess: float = 0.02, most: float = 50.0) -> float:
    """Return the lowest ceiling c with at most `excess` of the total weight above it, sum (w - c)+ <= excess sum w."""
    ordered = np.sort(weights)[::-1]
    above = np.cumsum(ordered) - ordered * np.arange(1, len(ordered) + 1)
    within = np.flatnonzero(above <= excess * ordered.sum())
    return float(np.clip(ordered[within[-1]], 1.0, most))
