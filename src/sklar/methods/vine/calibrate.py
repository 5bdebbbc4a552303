"""Calibrating a fitted vine to every released table (no rows are read)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np

from sklar.arrays import Floats
from sklar.methods.vine.axes import VineAxis
from sklar.model.pairs.interactions import centre
from sklar.model.pairs.tables import MeasuredTable
from sklar.model.posterior import Comparison, estimate_strength
from sklar.model.significance import critical_deviations
from sklar.model.vine.calibration import (
    EMPTY_CELL_LOG_WEIGHT,
    MAX_TABLE_CELLS,
    MIN_STRENGTH,
    NO_TILT,
    Calibration,
    Partition,
    SoftTable,
    calibrate,
    cell_matrix,
    hold_margins,
    noisy_cells,
    prior_strength,
    start_without_tilt,
)
from sklar.model.vine.pool import pool_size
from sklar.model.vine.sampling import simulate_vine
from sklar.model.vine.vine import Vine

PARTICLES = 2**17
"""Weights are fitted on particles and used on others, so each cell of the tables needs many."""
MIN_EFFECTIVE_SHARE = 0.15
"""Least effective number of particles, relative to that under the rules alone: with fewer, tables are trusted less."""
TARGET_TRUST, FEW_ROWS, MANY_ROWS = 0.3, 3_000, 15_000
"""Part of the prior strength that tables with a declared target get, so that they count more than others, up to
FEW_ROWS rows, and all of it from MANY_ROWS on: the strength comes from tables of pairs, most of which show little
dependence, and flattens what few rows show of the target. On 2,700 rows of HMEQ the AUC of predictions rises by .11 +-
.02; on 3,000 of Adult and compas it falls by .01. On all 26,000 of Adult it would cost .005, and 6% of the error of
pairs."""
MAX_CALIBRATION_STRENGTH = 1e6
"""Largest prior strength: beyond it a table has next to no weight."""
MIN_TOLERANCE_ROWS = 1.0
"""No table is trusted further than to this many rows: with v = MIN_TOLERANCE_ROWS / rows, one row too few in a cell
moves the log-weight of its rows by one. Noise below that (epsilon 30 and more) would be answered with weights of
exp(hundreds), which mean nothing on other particles: on Adult with a target at epsilon 100 next to no particle had
weight, and the AUC was .922 in place of .924. The error of pairs is the same."""
TRIAL_PARTICLES, TRIAL_SWEEPS = 2**14, 10
"""Particles and rounds of the trials that find how far tables can be trusted."""
EARLY_SWEEPS = 50
"""Rounds on the particles of the trials before those on all particles, which then have less far to go, at 8 times the
time each."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Calibrated:
    """A calibration and the prior strength c it used."""

    calibration: Calibration
    strength: float


def calibrate_vine(
    vine: Vine,
    axes: Sequence[VineAxis],
    pairs: Sequence[MeasuredTable],
    others: Sequence[MeasuredTable],
    rows: float,
    rng: np.random.Generator,
    target: int | None = None,
) -> Calibrated:
    """Tilt the vine towards released tables.

    Args:
        vine: the fitted vine.
        axes: the columns.
        pairs: tables that say how wrong the vine may be (prior strength), swept first; before them those of triples,
            whose own prior strengths come from a calibration without them.
        others: finer tables, swept next in this order; margins should come last.
        rows: (noisy) number of rows.
        rng: source of the particles.
        target: a column whose tables count more, or None.
    """
    draft = soft_tables([*pairs, *others], rows)
    if not draft.tables:
        return Calibrated(calibration=draft, strength=0.0)
    scales, size = tuple(axis.scale for axis in axes), pool_size(draft, PARTICLES, 1.0)
    cells = cell_matrix(draft, scales, simulate_vine(vine, size, rng, even=True))
    alone = sum(1 for _ in takewhile(_has_three_columns, draft.tables))
    after = replace(draft, tables=draft.tables[alone:])
    guide = len(pairs) - alone or len(after.tables)
    strength = prior_strength(after.partitions, after.tables[:guide], cells[alone : alone + guide])
    trust = _target_trust(rows)
    usual = np.array([_own_strength(draft, table, strength, target, trust) for table in draft.tables])
    tables, raised = _keep_effective(after, cells[alone:], usual[alone:], rows)
    strength, usual = raised * strength, raised * usual
    # Most of the way on few particles.
    some = np.ascontiguousarray(cells[alone:, :TRIAL_PARTICLES])
    early, _ = calibrate(after.partitions, tables, some, sweeps=EARLY_SWEEPS)
    calibration, weights = calibrate(after.partitions, early.tables, cells[alone:])
    draft = replace(draft, tables=(*_with_model(draft, alone, cells, weights), *after.tables))
    if alone:
        usual[:alone] = _own_strengths(draft, alone, cells, weights)
    start = replace(draft, tables=(*draft.tables[:alone], *calibration.tables))
    each = _significant_strengths(draft, usual, cells, weights)
    if each is not None:
        tables, _ = _keep_effective(draft, cells, each, rows, start)
        calibration, _ = calibrate(draft.partitions, tables, cells)
    held = hold_margins(calibration, scales, simulate_vine(vine, size, rng, even=True))
    return Calibrated(calibration=held, strength=strength)


def _target_trust(rows: float) -> float:
    """Return the part of the strength for tables with the target, by the number of rows."""
    part = np.log(max(rows, 1.0) / FEW_ROWS) / np.log(MANY_ROWS / FEW_ROWS)
    return float(TARGET_TRUST ** (1.0 - np.clip(part, 0.0, 1.0)))


def _own_strength(draft: Calibration, table: SoftTable, strength: float, target: int | None, trust: float) -> float:
    """Return the strength of all tables; less with a target; the least, where a posterior mean has taken care of the
    noise."""
    if table.content == "derived":
        return MIN_STRENGTH
    columns = [draft.partitions[part].column for part in table.parts]
    return trust * strength if len(columns) > 1 and target in columns else strength


def _has_three_columns(table: SoftTable) -> bool:
    """Return whether a table has three columns or more; leading ones are fitted after a calibration without them."""
    return len(table.parts) > 2


def _own_strengths(draft: Calibration, alone: int, cells: np.ndarray, weights: np.ndarray) -> Floats:
    """Return the prior strengths of the first tables by how far they are from a model that was calibrated without them.

    The excess e = |y - m|^2 - f s^2, over 1 - |m|^2, estimates 1 / c of one table; e has variance 2 f s^4 + 4 s^2 e.
    The estimate is shrunk towards the mean of all tables, weighted by precision (empirical Bayes).
    """
    inverse, variance = np.empty(alone), np.empty(alone)
    for k, (table, cell) in enumerate(zip(draft.tables[:alone], cells[:alone], strict=True)):
        own, known = np.bincount(cell, weights, len(table.observed)), table.measured_cells
        degrees, noise, scale = noisy_cells(draft.partitions, table), table.variance, 1.0 - float(own @ own)
        excess = float(np.sum((table.observed[known] - own[known]) ** 2)) - degrees * noise
        inverse[k] = excess / scale
        variance[k] = (2 * degrees * noise**2 + 4 * noise * max(excess, 0.0)) / scale**2
    mean = float(np.average(inverse, weights=1 / np.maximum(variance, 1e-300)))
    spread = max(0.0, float(np.mean((inverse - mean) ** 2 - variance)))
    shrunk = mean + spread / np.maximum(spread + variance, 1e-300) * (inverse - mean)
    return 1.0 / np.maximum(shrunk, 1.0 / MAX_CALIBRATION_STRENGTH)


def _with_model(draft: Calibration, alone: int, cells: np.ndarray, weights: np.ndarray) -> list[SoftTable]:
    """Return the first tables, released without lower-order margins, with these put in from the calibrated model."""
    tables: list[SoftTable] = []
    for table, cell in zip(draft.tables[:alone], cells[:alone], strict=True):
        if table.content != "interaction":
            tables.append(table)
            continue
        own = np.bincount(cell, weights, len(table.observed)).astype(np.float64)
        shape = [draft.partitions[part].count for part in table.parts]
        lower = own - centre(own.reshape(shape)).ravel()
        tables.append(replace(table, observed=table.observed + lower))
    return tables


def _with_strengths(draft: Calibration, strengths: Floats, rows: float, start: Calibration) -> list[SoftTable]:
    plain = np.maximum([table.variance for table in draft.tables], 1e-16)
    strengths = np.maximum(strengths, MIN_TOLERANCE_ROWS / (rows * plain))
    return [
        replace(table, variance=variance, strength=strength, dual=known.dual)
        for table, variance, strength, known in zip(
            draft.tables, (strengths * plain).tolist(), strengths.tolist(), start.tables, strict=True
        )
    ]


def _significant_strengths(
    draft: Calibration, strengths: Floats, cells: np.ndarray, weights: np.ndarray
) -> Floats | None:
    """Return the strength of each table once those that contradict the calibrated model count more; None if there are
    none.

    One strength for all comes from tables of pairs; a rule of three columns that the vine knows nothing of would be
    ignored with it.
    """
    raised, deviations = strengths.copy(), critical_deviations(sum(len(table.parts) > 1 for table in draft.tables))
    for k, (table, cell) in enumerate(zip(draft.tables, cells, strict=True)):
        if len(table.parts) > 1:
            own = np.bincount(cell, weights, len(table.observed)).astype(np.float64)
            cells_seen = table.measured_cells
            seen = Comparison(
                own[cells_seen], table.observed[cells_seen], table.variance, noisy_cells(draft.partitions, table)
            )
            raised[k] = min(raised[k], estimate_strength([seen], 0.0, deviations, np.inf))
    return raised if np.any(raised < strengths) or _has_three_columns(draft.tables[0]) else None


def _keep_effective(
    draft: Calibration, cells: np.ndarray, strengths: Floats, rows: float, start: Calibration | None = None
) -> tuple[list[SoftTable], float]:
    """Return the tables with prior strengths that leave the weight on enough particles: by one factor above the given
    ones.

    With very many tables the weights could end up on few particles; then every table is trusted less. Found by short
    trials.
    """
    some, factor = np.ascontiguousarray(cells[:, :TRIAL_PARTICLES]), 1.0
    possible = start_without_tilt(draft, some).effective
    while True:
        tables = _with_strengths(draft, factor * strengths, rows, start or draft)
        if factor * strengths.max() >= MAX_CALIBRATION_STRENGTH:
            return tables, factor
        trial, _ = calibrate(draft.partitions, tables, some, sweeps=TRIAL_SWEEPS)
        if trial.effective >= MIN_EFFECTIVE_SHARE * possible:
            return tables, factor
        factor *= 2


def soft_tables(measured: Sequence[MeasuredTable], rows: float) -> Calibration:
    """Return released tables as constraints on probabilities, with the plain noise variance and no tilt yet."""
    partitions: dict[tuple[int, int], int] = {}
    listed: list[Partition] = []
    tables: list[SoftTable] = []
    for table in measured:
        if table.counts.size > MAX_TABLE_CELLS or table.counts.size < 2:
            continue
        parts: list[int] = []
        for column, groups in zip(table.columns, table.groups, strict=True):
            key = column, id(groups)
            if key not in partitions:
                partitions[key] = len(listed)
                listed.append(Partition(column=column, lookup=groups.lookup, count=groups.count))
            parts.append(partitions[key])
        tables.append(_soften_table(table, tuple(parts), rows))
    return replace(NO_TILT, partitions=tuple(listed), tables=tuple(tables))


def _soften_table(table: MeasuredTable, parts: tuple[int, ...], rows: float) -> SoftTable:
    observed = table.counts.ravel().astype(float) / rows
    variance = (table.sigma / rows) ** 2
    empty = None if table.empty is None else table.empty.ravel()
    dual = np.zeros(len(observed)) if empty is None else np.where(empty, EMPTY_CELL_LOG_WEIGHT, 0.0)
    return SoftTable(parts=parts, observed=observed, variance=variance, dual=dual, content=table.content, empty=empty)
