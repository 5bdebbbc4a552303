"""Coarse tables of pairs of columns: how many groups, how the budget is split, and what they say about dependence."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.unit import Unit
from sklar.methods.vine_axes import Axis, Measured, Plan, measure
from sklar.model.denoise import denoise_pair, mutual_information
from sklar.model.grouping import Groups
from sklar.release.door import Door

ROWS_PER_CELL = 1.5
"""A table of K x K cells is worth its noise while a cell holds this many standard deviations on average."""
CELL_POWER = 0.33
"""Tables get budget in proportion to this power of their number of cells; the optimum is flat."""


def resolution(rows: float, sigma: float) -> float:
    """K = sqrt(rows / (1.5 sigma)): the number of groups per axis that a square table can bear."""
    return float(np.sqrt(max(rows, 0.0) / (ROWS_PER_CELL * sigma)))


def pair_groups(
    axes: Sequence[Axis], sigma: float, rows: float, most_nominal: int, most_ordered: int
) -> tuple[Groups, ...]:
    """Groups of every column for the coarse pair tables."""
    most = int(np.clip(resolution(rows, sigma), 2, most_nominal))
    return tuple(axis.groups(min(most, most_ordered) if axis.numeric else most, sigma, rows) for axis in axes)


def informative_pairs(groups: Sequence[Groups]) -> tuple[tuple[int, int], ...]:
    """All pairs of columns that have at least two groups; one group has nothing to depend on."""
    return tuple(combinations([j for j, group in enumerate(groups) if group.count > 1], 2))


def measure_pairs(
    door: Door,
    allowance: Allowance,
    axes: Sequence[Axis],
    groups: Sequence[Groups],
    pairs: Sequence[tuple[int, int]],
) -> tuple[Measured, ...]:
    """Noisy tables of the given pairs, in one pass."""
    plans = share_out(allowance, door.unit, [((a, b), (groups[a], groups[b])) for a, b in pairs])
    return measure(door, axes, plans, "pairs")


def share_out(
    allowance: Allowance, unit: Unit, tables: Sequence[tuple[tuple[int, ...], tuple[Groups, ...]]]
) -> list[Plan]:
    """Split an allowance over tables by their number of cells."""
    size = np.array([float(np.prod([group.count for group in groups])) for _, groups in tables]) ** CELL_POWER
    # A hair less than the whole, so that rounding never asks for more than the allowance.
    share = (1 - 1e-9) * size / size.sum() if len(size) else size
    return [
        Plan(columns=columns, groups=groups, noise=allowance.part(float(part)).noise(unit))
        for (columns, groups), part in zip(tables, share, strict=True)
    ]


def dependence(table: Measured, rows: float) -> float:
    """Mutual information of a pair table after denoising: zero when nothing stands out of the noise."""
    first, second = table.groups
    return mutual_information(denoise_pair(table.counts, table.sigma, rows, first.mass, second.mass))
