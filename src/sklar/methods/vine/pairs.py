"""Coarse tables of pairs of columns: how many groups, how the budget is split, and what they say about dependence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.methods.evidence import Choose, Measure, Setting
from sklar.methods.vine.axes import MIN_GROUP_SIGMAS, TablePlan, VineAxis, request_tables
from sklar.methods.vine.options import CELL_POWER, VineOptions
from sklar.model.pairs.grouping import Groups, base_lookup
from sklar.model.vine.calibration import MAX_TABLE_CELLS
from sklar.release.choices import Candidate, TableDistance
from sklar.release.counts import interaction_sensitivity
from sklar.release.lookups import freeze_partition

MIN_VALUE_MASS = 0.005
"""A value with less mass than this does not make a column more than two-valued, and need not exceed its noise."""
ROWS_PER_CELL = 1.5
"""Standard deviations of noise that a cell of a table holds on average, which limits its number of cells."""


NO_GROUP_LIMIT = 0
"""Stands for no limit on the number of groups."""


def supported_groups(rows: float, sigma: float) -> float:
    """Return K = sqrt(rows / (1.5 sigma)): the number of groups per axis that a square table supports."""
    return float(np.sqrt(max(rows, 0.0) / (ROWS_PER_CELL * sigma)))


def counts_every_cell(axes: Sequence[VineAxis], most: float) -> bool:
    """Return whether all cells of two columns hold MIN_GROUP_SIGMAS of noise, also those of a light value that is not
    rare.

    Coarser groups would hide what repeats from value to value, such as a quarter that follows from a date. Where one
    class holds 3% of the rows, 300 cells of an income within it would hold noise. Groups of a hierarchy are its nodes
    in any case.
    """
    few, many = sorted(axes, key=lambda axis: len(axis.scale.starts))
    values, cells = few.scale.mass[few.scale.mass >= MIN_VALUE_MASS], len(many.scale.starts)
    enough = len(values) > 0 and MIN_GROUP_SIGMAS * cells <= ROWS_PER_CELL * most * most * float(values.min())
    return enough and len(few.scale.starts) * cells <= MAX_TABLE_CELLS and not any(axis.nested for axis in axes)


class PairGroups:
    """Groups of the columns in coarse pair tables: the number that a square table supports, and of labels, which have
    no order, more beside a column that has few. Columns have one partition for each number of groups.
    """

    def __init__(self, axes: Sequence[VineAxis], sigma: float, rows: float, most: tuple[int, int]):
        self._axes, self._sigma, self._rows, self._nominal = axes, sigma, rows, most[0]
        self._square = int(np.clip(supported_groups(rows, sigma), 2, most[0]))
        self._known: dict[tuple[int, int], Groups] = {}
        limits = (min(self._square, most[1]) if axis.numeric else self._square for axis in axes)
        self.square = tuple(self._groups(column, limit) for column, limit in enumerate(limits))

    def of_pair(self, first: int, second: int) -> tuple[Groups, Groups]:
        """Return the groups of two columns in their table: all of their cells, where these exceed their noise."""
        if counts_every_cell((self._axes[first], self._axes[second]), supported_groups(self._rows, self._sigma)):
            return self._every_cell(first), self._every_cell(second)
        return self._beside(first, second), self._beside(second, first)

    def _beside(self, column: int, other: int) -> Groups:
        if self._axes[column].numeric or self.square[column].count < self._square:
            return self.square[column]
        return self._groups(column, min(self._square**2 // self.square[other].count, self._nominal))

    def _every_cell(self, column: int) -> Groups:
        if (column, NO_GROUP_LIMIT) not in self._known:
            self._known[column, NO_GROUP_LIMIT] = self._axes[column].every_cell(self._sigma, self._rows)
        return self._known[column, NO_GROUP_LIMIT]

    def _groups(self, column: int, limit: int) -> Groups:
        if (column, limit) not in self._known:
            self._known[column, limit] = self._axes[column].groups(limit, self._sigma, self._rows)
        return self._known[column, limit]


def informative_pairs(groups: Sequence[Groups]) -> tuple[tuple[int, int], ...]:
    """Return all pairs of columns that have at least two groups; one group has nothing to depend on."""
    return tuple(combinations([j for j, group in enumerate(groups) if group.count > 1], 2))


def request_pairs(
    setting: Setting[VineOptions], allowance: Allowance, axes: Sequence[VineAxis], groups: PairGroups,
    pairs: Sequence[tuple[int, int]], *, interactions: bool,
) -> Measure | None:  # fmt: skip
    """Ask for the tables of the given pairs, in one pass."""
    tables = [(pair, groups.of_pair(*pair)) for pair in pairs]
    plans = share_out(allowance, setting.unit, tables, interactions=interactions)
    return request_tables(axes, plans, PAIRS, interactions=interactions)


def share_out(
    allowance: Allowance,
    unit: Unit,
    tables: Sequence[tuple[tuple[int, ...], tuple[Groups, ...]]],
    *,
    interactions: bool = False,
) -> list[TablePlan]:
    """Split an allowance over tables, of counts or of interactions, by their number of cells."""
    shapes = [tuple(group.count for group in groups) for _, groups in tables]
    size = np.array([float(math.prod(shape)) for shape in shapes]) ** CELL_POWER
    # Slightly less than the whole, so that rounding never exceeds the allowance.
    share = (1 - 1e-9) * size / size.sum() if len(size) else size
    noise = interaction_noise if interactions else _count_noise
    return [
        TablePlan(columns=columns, groups=groups, noise=noise(allowance.part(float(part)), unit, shape))
        for (columns, groups), part, shape in zip(tables, share, shapes, strict=True)
    ]


def _count_noise(allowance: Allowance, unit: Unit, shape: tuple[int, ...]) -> Noise:
    return allowance.noise(unit)


def interaction_noise(allowance: Allowance, unit: Unit, shape: tuple[int, ...]) -> Noise:
    """Return noise for the interactions of one table of this shape, in units of counts."""
    l1, l2 = interaction_sensitivity(shape, unit)
    return allowance.sum_noise(l1=l1, l2=l2, resolution=1 / math.prod(shape))


PAIRS, CHOICE = "pairs", "choose pairs"
"""Labels of the steps: tables of pairs, and the private selection of which ones."""
MAX_PAIRS = 780
"""Up to this many pairs (40 columns) every pair is measured, and it is also the most that are ever measured."""
PAIRS_PER_COLUMN = 6
"""Pairs of columns that are measured for each column, where not all of them are: each vine needs one a column."""
CANDIDATE_COLUMNS = 200
"""Columns that may depend on others, those with most variety first: distances of their pairs are released at once."""
CHOICE_SHARE = 0.15
"""Part of the budget of pairs by which they are chosen, where not all of them are measured."""
CHOICE_GROUPS = 5
"""Groups of each column in the tables by which pairs are chosen."""
USEFUL_GROUPS = 5.0
"""Pairs are left out until the tables of the others support this number of groups a side."""


def chooses_pairs(columns: int) -> bool:
    """Return whether there are too many pairs of columns to measure them all."""
    return columns * (columns - 1) // 2 > MAX_PAIRS


def pairs_to_measure(columns: int) -> int:
    """Return how many pair tables a fit measures at most; a public number."""
    return min(PAIRS_PER_COLUMN * columns, MAX_PAIRS) if chooses_pairs(columns) else columns * (columns - 1) // 2


def affordable_pairs(allowance: Allowance, unit: Unit, rows: float, wanted: int) -> int:
    """Return the largest number of pairs whose tables support five groups a side, at least one."""
    pairs = max(wanted, 1)
    while pairs > 1 and rows < USEFUL_GROUPS**2 * ROWS_PER_CELL * allowance.noise(unit, tables=pairs).std:
        pairs = max(int(pairs * 0.8), 1)
    return pairs


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairChoice:
    """Which pairs are measured where there are too many for all.

    Attributes:
        given: Pairs that are measured without asking: those with a declared target.
        candidates: Pairs among which the others are picked.
        step: The private selection; None where nothing is left to pick.
    """

    given: tuple[tuple[int, int], ...]
    candidates: tuple[tuple[int, int], ...]
    step: Choose | None

    def chosen(self, picked: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """Return the pairs to be measured, once candidates were picked."""
        return tuple(sorted([*self.given, *(self.candidates[i] for i in picked)]))


def choose_pairs(
    allowance: Allowance, axes: Sequence[VineAxis], rows: float, picks: int, always: int | None
) -> PairChoice:
    """Pick pairs by how far their coarse table is from independence under the released margins.

    The score of a pair is the L1 distance between its exact table and a public estimate, which one row moves by one, or
    by two if it is replaced (mutual information would move by much more), minus what chance alone would give. Each pick
    is an exponential mechanism on one and the same list of scores.

    Args:
        allowance: for all picks together.
        axes: the columns.
        rows: (noisy) number of rows.
        picks: number of pairs wanted.
        always: a column with all of its pairs measured (a declared target), or None.
    """
    groups = [axis.groups(CHOICE_GROUPS, 0.0, rows) for axis in axes]
    given = [] if always is None else _with(always, groups)
    candidates = [pair for pair in combinations(_most_even_columns(groups), 2) if always not in pair]
    picks = min(picks - len(given), len(candidates))
    if picks <= 0:
        kept = given[: max(picks + len(given), 0)] or given
        return PairChoice(given=tuple(kept), candidates=(), step=None)
    partitions = [freeze_partition(base_lookup(group, axis.scale)) for group, axis in zip(groups, axes, strict=True)]
    score = TableDistance(
        candidates=tuple(_candidate(axes, groups, partitions, pair, rows) for pair in candidates),
        bonuses=tuple(-_chance(groups, pair, rows) for pair in candidates),
    )
    epsilon = allowance.part((1 - 1e-9) / picks).choice_epsilon()
    step = Choose(label=CHOICE, score=score, epsilon=epsilon, picks=picks)
    return PairChoice(given=tuple(given), candidates=tuple(candidates), step=step)


def _with(column: int, groups: Sequence[Groups]) -> list[tuple[int, int]]:
    others = (j for j, group in enumerate(groups) if j != column and group.count > 1)
    return [(min(j, column), max(j, column)) for j in others]


def _most_even_columns(groups: Sequence[Groups]) -> list[int]:
    """Return columns that can depend on others: not constant, and at most `CANDIDATE_COLUMNS`, those of largest Gini
    index first."""
    spread = np.array([1.0 - np.sum(group.mass**2) for group in groups])
    order = np.argsort(-spread, kind="stable")[:CANDIDATE_COLUMNS]
    return sorted(int(j) for j in order if groups[j].count > 1)


def _candidate(
    axes: Sequence[VineAxis],
    groups: Sequence[Groups],
    partitions: Sequence[np.ndarray],
    pair: tuple[int, int],
    rows: float,
) -> Candidate:
    a, b = pair
    return Candidate(
        columns=(axes[a].name, axes[b].name),
        partitions=(partitions[a], partitions[b]),
        estimate=rows * np.outer(groups[a].mass, groups[b].mass),
    )


def _chance(groups: Sequence[Groups], pair: tuple[int, int], rows: float) -> float:
    """Return expected distance of an independent pair: sum over cells of E|X - mean| = sqrt(2 rows p / pi)."""
    a, b = pair
    return float(np.sqrt(2 * rows / np.pi) * np.sqrt(groups[a].mass).sum() * np.sqrt(groups[b].mass).sum())
