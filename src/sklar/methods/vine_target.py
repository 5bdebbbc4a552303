"""A declared target: fine tables of every column with it, and coarse tables of every pair with it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.methods.vine_axes import Axis, Measured, Plan, measure
from sklar.methods.vine_pairs import ROWS_PER_CELL, share_out
from sklar.model.grouping import Groups
from sklar.release.door import Door

TARGET_GROUPS = 8
FINE_GROUPS = 64
TRIPLE_GROUPS = 10


def measure_with_target(
    door: Door, allowance: Allowance, axes: Sequence[Axis], target: int, rows: float
) -> tuple[Measured, ...]:
    """A table (a, target) for every other column a, as fine as the noise permits, with equal shares."""
    others = [column for column in range(len(axes)) if column != target]
    if not others:
        return ()
    noise = allowance.part(1 - 1e-9).noise(door.unit, tables=len(others))
    last = axes[target].groups(TARGET_GROUPS, noise.std, rows)
    most = int(np.clip(rows / (ROWS_PER_CELL * noise.std * last.count), 2, FINE_GROUPS))
    plans = [
        Plan(columns=(column, target), groups=(axes[column].groups(most, noise.std, rows), last), noise=noise)
        for column in others
    ]
    return measure(door, axes, [plan for plan in plans if _worth_asking(plan.groups)], "target")


def measure_triples(
    door: Door,
    allowance: Allowance,
    axes: Sequence[Axis],
    target: int,
    rows: float,
    pairs: Sequence[tuple[int, int]] | None,
) -> tuple[Measured, ...]:
    """Coarse tables (a, b, target) of the given pairs, or of all of them, with budget by their number of cells."""
    wanted = list(combinations(range(len(axes)), 2)) if pairs is None else pairs
    wanted = [pair for pair in wanted if target not in pair]
    if not wanted:
        return ()
    sigma = allowance.noise(door.unit, tables=len(wanted)).std
    last = axes[target].groups(TARGET_GROUPS, sigma, rows)
    most = int(np.clip(np.sqrt(rows / (ROWS_PER_CELL * sigma * last.count)), 2, TRIPLE_GROUPS))
    groups = [axis.groups(most, sigma, rows) for axis in axes]
    tables = [((a, b, target), (groups[a], groups[b], last)) for a, b in wanted]
    plans = share_out(allowance, door.unit, [table for table in tables if _worth_asking(table[1])])
    return measure(door, axes, plans, "target triples")


def _worth_asking(groups: tuple[Groups, ...]) -> bool:
    return all(group.count > 1 for group in groups)
