"""Calibrating a fitted vine to every released table (no rows are read)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sklar.methods.vine.axes import MeasuredTable, VineAxis
from sklar.model.vine.calibration import (
    MOST_CELLS,
    NO_TILT,
    Calibration,
    Partition,
    SoftTable,
    calibrate,
    cell_matrix,
    hold_margins,
    prior_strength,
)
from sklar.model.vine.pool import pool_size
from sklar.model.vine.sampling import simulate_vine
from sklar.model.vine.vine import Vine

PARTICLES = 200_000
"""Weights are fitted on particles and used on others, so many are needed for each cell of the tables."""
LEAST_EFFECTIVE = 0.15
MOST_STRENGTH = 1e6
TRIAL_PARTICLES = 25_000
TRIAL_SWEEPS = 10
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
) -> Calibrated:
    """Tilt the vine towards released tables.

    Args:
        vine: the fitted vine.
        axes: the columns.
        pairs: tables that say how wrong the vine may be (prior strength), swept first.
        others: finer tables, swept next in this order; margins should come last.
        rows: (noisy) number of rows.
        rng: source of the particles.
    """
    draft = soft_tables([*pairs, *others], rows)
    if not draft.tables:
        return Calibrated(calibration=draft, strength=0.0)
    scales, size = tuple(axis.scale for axis in axes), pool_size(draft, PARTICLES, 1.0)
    cells = cell_matrix(draft, scales, simulate_vine(vine, size, rng, stratified=True))
    guide = len(pairs) or len(draft.tables)
    strength = prior_strength(draft.tables[:guide], cells[:guide])
    some = np.ascontiguousarray(cells[:, :TRIAL_PARTICLES])
    strength = _bearable(draft, some, strength)
    early, _ = calibrate(draft.partitions, _with_strength(draft, strength), some, sweeps=EARLY_SWEEPS)
    calibration, _ = calibrate(draft.partitions, early.tables, cells)
    held = hold_margins(calibration, scales, simulate_vine(vine, size, rng, stratified=True))
    return Calibrated(calibration=held, strength=strength)


def _with_strength(draft: Calibration, strength: float) -> list[SoftTable]:
    return [replace(table, variance=table.variance * strength) for table in draft.tables]


def _bearable(draft: Calibration, cells: np.ndarray, strength: float) -> float:
    """A prior strength, from the given one up, that leaves the weight on enough particles; found by short trials.

    With very many tables the weights could end up on few particles; then every table is trusted less.
    """
    while strength < MOST_STRENGTH:
        trial, _ = calibrate(draft.partitions, _with_strength(draft, strength), cells, sweeps=TRIAL_SWEEPS)
        if trial.effective >= LEAST_EFFECTIVE:
            break
        strength *= 2
    return strength


def soft_tables(measured: Sequence[MeasuredTable], rows: float) -> Calibration:
    """Released tables as constraints on probabilities, with the plain noise variance and no tilt yet."""
    partitions: dict[tuple[int, int], int] = {}
    listed: list[Partition] = []
    tables: list[SoftTable] = []
    for table in measured:
        if table.counts.size > MOST_CELLS or table.counts.size < 2:
            continue
        parts: list[int] = []
        for column, groups in zip(table.columns, table.groups, strict=True):
            key = column, id(groups)
            if key not in partitions:
                partitions[key] = len(listed)
                listed.append(Partition(column=column, lookup=groups.lookup, count=groups.count))
            parts.append(partitions[key])
        tables.append(_soft(table, tuple(parts), rows))
    return replace(NO_TILT, partitions=tuple(listed), tables=tuple(tables))


def _soft(table: MeasuredTable, parts: tuple[int, ...], rows: float) -> SoftTable:
    observed = table.counts.ravel().astype(float) / rows
    variance = (table.sigma / rows) ** 2
    return SoftTable(parts=parts, observed=observed, variance=variance, dual=np.zeros(len(observed)))
