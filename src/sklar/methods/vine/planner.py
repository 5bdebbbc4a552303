"""Decide what to measure after a first model: tables that are far from it, and pairs measured again, at one price.

A first model is fitted to margins, sums, pairs and tree one. Then one noisy vector of L1 distances states how far the
rows are from it in every candidate table: all measured pairs, and all triples of the workload at several resolutions.
Measuring a table of D cells with budget rho brings its distance d down to

    e(rho) = d / sqrt(1 + (2 rho / s^2) (d / (a D))^2),    a = sqrt(2 / pi),

the posterior of cells whose prior deviation is d / (a D), where s is the L2 sensitivity of the table. Errors add in
squares: a triple at distance f (its finest table) gains f - sqrt(f^2 - d^2 + e^2) by a coarser table of itself, or of
one of its pairs. The reserve is spent at one price: each table gets the budget at which its gain per budget equals the
price, and each set of columns its best resolution.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.arrays import Floats
from sklar.methods.evidence import Measure
from sklar.methods.method import Outline
from sklar.methods.vine.axes import TablePlan, VineAxis, requests_of, table_partitions
from sklar.methods.vine.options import VineShares
from sklar.methods.vine.pairs import ROWS_PER_CELL, interaction_noise
from sklar.model.axis import cells_at
from sklar.model.pairs.grouping import Groups
from sklar.model.pairs.tables import MeasuredTable
from sklar.model.vine.model import VineModel
from sklar.model.vine.pool import POLISHING_SWEEPS, draw_pool
from sklar.release.charges import get_lattice_step
from sklar.release.counts import Counts
from sklar.release.distances import Distances
from sklar.release.measurements import Measurement, Request

DISTANCES, PLANNED = "distances from the first model", "planned tables"
"""Labels of the steps."""
DISTANCES_SHARE, RESERVE_SHARE = 0.02, 0.8
"""Parts of the budget of pairs: for the distances, and for what is planned by them. Measurements of one table add up
by precision, so that what pairs get later is not lost. Shares of .01 to .05 for distances, and of .6 to .8 for the
reserve, differ by less than fits with other noise do on two tables of the American Community Survey."""
WORKLOAD_MARGINS, WORKLOAD_TREE = 0.75, 0.5
"""Parts of their budgets that margins and tree one keep where a workload says which tables matter; the rest goes to the
reserve. On the American Community Survey's family set this gains 3 points of k-marginal at epsilon 10 and 8 at 1."""
MAX_DISTANCE_NOISE = 0.06
"""Standard deviation of one distance, as a fraction of the rows, above which nothing is planned: noise would choose the
tables. Known before anything is spent. compas and OFP at epsilon 1 (.1 and more) lose 2 to 10% of the error of pairs by
planning; tail6 and a rule of three columns (.03 to .045) need it."""
FIRST_LEVEL, LEVEL_RATIO, MAX_LEVELS = 50, 4, 3
"""Cells of the coarsest tables of triples, how much finer each level is, and the number of levels that compete."""
MAX_CANDIDATES = 1_500
"""Most tables of triples that compete: with many columns each triple has fewer levels, then only some triples do."""
MAX_TABLE_SHARE = 0.1
"""Part of the reserve that the finest level is made for: cells must hold their noise if a table gets this much."""
MIN_PARTICLES_PER_CELL = 40
"""Particles behind each cell of the finest level: weights of cells with few of them follow the chance of these
particles, which others do not share. With 2 (no limit below 65,535 cells) the errors of pairs and triples of diamonds
rise from epsilon 30 to 100; with 160 the American Community Survey's family and industry sets lose 3 points at 10."""
MAX_TRIPLES = 100
"""Most tables of triples: a limit of computing, not of privacy."""
OUTLINE_TABLES = 30
"""Planned tables, for outlines: how many there are depends on the distances."""
MAX_GROUPS_PER_AXIS = 64
"""Most groups of a column in a table of a triple."""
PARTICLES = 2**17
"""Simulated rows behind the first model's tables."""
BUDGET_STEPS = 40
"""Budgets between 0.03% and all of the reserve among which the best one of each table is sought."""

Columns = tuple[int, ...]
MEAN_ABSOLUTE = math.sqrt(2 / math.pi)
"""Mean absolute deviation of a standard normal."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CandidateTable:
    """A table that may be measured: its columns and groups, the level of its resolution (0 for a pair)."""

    columns: Columns
    groups: tuple[Groups, ...]
    level: int

    @property
    def cells(self) -> int:
        """Number of cells."""
        return math.prod(group.count for group in self.groups)


def cell_levels(rows: float, triples: int, reserve: Allowance, unit: Unit) -> tuple[int, ...]:
    """Return the numbers of cells that tables of triples aim at, coarsest first."""
    most = min(MAX_LEVELS, max(1, MAX_CANDIDATES // max(triples, 1)))
    above_noise = rows / (ROWS_PER_CELL * reserve.part(MAX_TABLE_SHARE).noise(unit).std)
    affordable = min(above_noise, PARTICLES / MIN_PARTICLES_PER_CELL)
    finest = max(0, math.floor(math.log(max(affordable / FIRST_LEVEL, 1.0), LEVEL_RATIO)))
    return tuple(FIRST_LEVEL * LEVEL_RATIO**k for k in range(max(0, finest - most + 1), finest + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedBudget:
    """The budget of a fit that plans: for the distances, for what they lead to, and how the rest is cut.

    Attributes:
        distances: For the distances from the first model.
        reserve: For the tables that they lead to.
        shares: What margins, pairs and tree one have left.
        tables: Number of distances, at most.
        triples: Number of triples that compete, at most.
    """

    distances: Allowance
    reserve: Allowance
    shares: VineShares
    tables: int
    triples: int

    def outline(self, rows: float, unit: Unit) -> list[Outline]:
        """Return both steps for people; how many tables are measured, and how fine, depends on the distances."""
        cells = cell_levels(rows, self.triples, self.reserve, unit)[-1]
        noise = _distance_noise(self.distances, self.tables, unit)
        each = self.reserve.noise(unit, tables=OUTLINE_TABLES)
        return [
            Outline(label=DISTANCES, tables=1, cells=self.tables, noise=noise),
            Outline(label=PLANNED, tables=OUTLINE_TABLES, cells=cells, noise=each),
        ]


def plan_budget(
    weights: Mapping[Columns, float], allowance: Allowance, shares: VineShares, rows: float, unit: Unit
) -> PlannedBudget | None:
    """Return what planning may spend, mostly of the share of pairs; None where distances would be below their noise.

    Args:
        weights: Of sets of columns, by how much their errors count.
        allowance: What `shares` are fractions of.
        shares: How it is cut without planning.
        rows: The (noisy) number of rows.
        unit: Whose privacy is protected.
    """
    columns = len({column for own in weights for column in own})
    triples = min(sum(len(own) == 3 for own in weights), MAX_CANDIDATES)
    if columns < 3:
        return None
    # Without a workload margins and tree one matter by themselves, and numbers need them most.
    all_count = len(weights) == math.comb(columns, 2) + math.comb(columns, 3)
    left = replace(
        shares,
        margins=shares.margins * (1.0 if all_count else WORKLOAD_MARGINS),
        tree=shares.tree * (1.0 if all_count else WORKLOAD_TREE),
        pairs=shares.pairs * (1 - DISTANCES_SHARE - RESERVE_SHARE),
    )
    distances = allowance.part(shares.pairs * DISTANCES_SHARE)
    used = left.margins + left.tree + left.pairs + shares.pairs * DISTANCES_SHARE
    reserve = allowance.part(shares.margins + shares.tree + shares.pairs - used)
    tables = math.comb(columns, 2) + triples * len(cell_levels(rows, triples, reserve, unit))
    if _distance_noise(distances, tables, unit).std > MAX_DISTANCE_NOISE * rows:
        return None
    return PlannedBudget(distances=distances, reserve=reserve, shares=left, tables=tables, triples=triples)


def _distance_noise(allowance: Allowance, tables: int, unit: Unit) -> Noise:
    return allowance.sum_noise(l1=tables * unit.l1, l2=math.sqrt(tables) * unit.l1, resolution=unit.resolution)


def candidate_tables(
    axes: Sequence[VineAxis], pairs: Sequence[MeasuredTable], triples: Sequence[Columns], levels: Sequence[int],
    rows: float,
) -> tuple[CandidateTable, ...]:  # fmt: skip
    """Return all tables that may be measured: every measured pair on its groups, every triple at every level."""
    grids = _Grids(axes, rows)
    found = [CandidateTable(columns=table.columns, groups=table.groups, level=0) for table in pairs]
    for columns in triples:
        shapes = set[tuple[int, ...]]()
        for cells in levels:
            groups = grids.groups_within(columns, cells)
            shape = tuple(group.count for group in groups)
            if min(shape) > 1 and shape not in shapes:
                shapes.add(shape)
                found.append(CandidateTable(columns=columns, groups=groups, level=cells))
    return tuple(found)


class _Grids:
    """Groups of each column by their number; columns with few values keep them all."""

    def __init__(self, axes: Sequence[VineAxis], rows: float):
        self._axes, self._rows, self._made = axes, rows, dict[tuple[int, int], Groups]()

    def groups_within(self, columns: Columns, cells: int) -> tuple[Groups, ...]:
        """Return the finest groups of some columns, equally many a side, with at most `cells` cells in all."""
        best = tuple(self._groups(column, 2) for column in columns)
        for side in range(3, MAX_GROUPS_PER_AXIS + 1):
            finer = tuple(self._groups(column, side) for column in columns)
            if math.prod(group.count for group in finer) > cells:
                break
            best = finer
        return best

    def _groups(self, column: int, most: int) -> Groups:
        key = column, min(most, len(self._axes[column].scale.starts))
        if key not in self._made:
            self._made[key] = self._axes[column].groups(max(key[1], 2), 0.0, self._rows)
        return self._made[key]


def request_distances(
    axes: Sequence[VineAxis], candidates: Sequence[CandidateTable], expected: Sequence[Floats], allowance: Allowance,
    unit: Unit,
) -> Measure:  # fmt: skip
    """Ask for the distance of every candidate table from the model."""
    partition = table_partitions(axes)
    tables = tuple(
        Counts(
            columns=tuple(axes[c].name for c in one.columns),
            partitions=tuple(partition(c, g) for c, g in zip(one.columns, one.groups, strict=True)),
        )
        for one in candidates
    )
    query = Distances(tables=tables, expected=np.rint(np.concatenate(expected)).astype(np.int32))
    l1, l2 = query.sensitivity(unit)
    noise = allowance.sum_noise(l1=l1, l2=l2, resolution=get_lattice_step(query, unit))
    return Measure(label=DISTANCES, requests=(Request(query=query, noise=noise),))


def expected_counts(
    model: VineModel, candidates: Sequence[CandidateTable], rows: float, rng: np.random.Generator
) -> list[Floats]:
    """Return the model's counts in the cells of each candidate."""
    # Weights that were fitted to other particles would be cut at their ceiling: these are fitted to their own.
    pool = draw_pool(model.vine, model.scales, model.calibration, PARTICLES, rng, POLISHING_SWEEPS)
    particles, weights = pool.particles, rows * pool.weights
    cells = [cells_at(scale, particles[:, column]) for column, scale in enumerate(model.scales)]
    codes: dict[int, np.ndarray] = {}
    tables: list[Floats] = []
    for one in candidates:
        flat = np.zeros(len(particles), dtype=np.int64)
        for column, groups in zip(one.columns, one.groups, strict=True):
            if id(groups) not in codes:
                codes[id(groups)] = groups.lookup[cells[column]]
            flat = flat * groups.count + codes[id(groups)]
        tables.append(np.bincount(flat, weights, one.cells).astype(np.float64))
    return tables


def request_planned(
    measured: Measurement, axes: Sequence[VineAxis], candidates: Sequence[CandidateTable],
    weights: Mapping[Columns, float], reserve: Allowance, unit: Unit, *, interactions: bool,
) -> Measure | None:  # fmt: skip
    """Ask for the tables that the distances lead to: triples as counts, pairs again as they were measured before."""
    moved = np.array([_compute_squared_sensitivity(one, unit, interactions=interactions) for one in candidates])
    distances = shrink_distances(measured.values.astype(np.float64), measured.sigma, candidates)
    counts, pairs = [], []
    for number, share in split_reserve(candidates, distances, moved, weights, reserve.amount):
        one, part = candidates[number], reserve.part(share * (1 - 1e-9))
        again = one.level == 0 and interactions
        noise = interaction_noise(part, unit, tuple(g.count for g in one.groups)) if again else part.noise(unit)
        (pairs if again else counts).append(TablePlan(columns=one.columns, groups=one.groups, noise=noise))
    requests = (*requests_of(axes, pairs, interactions=True), *requests_of(axes, counts))
    return Measure(label=PLANNED, requests=requests) if requests else None


def _compute_squared_sensitivity(one: CandidateTable, unit: Unit, *, interactions: bool) -> float:
    """Return the squared L2 sensitivity of a candidate as it would be measured."""
    if one.level or not interactions:
        return unit.l2**2
    return float(np.prod([1 - 1 / group.count for group in one.groups])) * unit.l2**2


def shrink_distances(noisy: Floats, sigma: float, candidates: Sequence[CandidateTable]) -> Floats:
    """Shrink noisy distances towards those of tables of their kind (order and level), by empirical Bayes.

    A kind's distances are taken to grow with the square root of the cells; their spread beyond the noise decides how
    much single ones count. No distance is below one row.
    """
    root = np.sqrt([float(one.cells) for one in candidates])
    kinds = np.array([one.level for one in candidates])
    shrunk = np.empty_like(noisy)
    for kind in np.unique(kinds):
        own = kinds == kind
        mean = np.maximum(root[own] * (root[own] @ noisy[own]) / (root[own] @ root[own]), 1.0)
        spread = max(0.0, float(np.mean((noisy[own] - mean) ** 2)) - sigma**2)
        shrunk[own] = mean + spread / (spread + sigma**2) * (noisy[own] - mean)
    return np.maximum(shrunk, 1.0)


def split_reserve(
    candidates: Sequence[CandidateTable], distances: Floats, moved: Floats, weights: Mapping[Columns, float],
    reserve: float,
) -> list[tuple[int, float]]:  # fmt: skip
    """Return the candidates to measure and each one's share of the reserve, which together spend all of it.

    Args:
        candidates: All tables that may be measured.
        distances: How far each is from the model, in rows.
        moved: Squared L2 sensitivity of each.
        weights: Of sets of columns, by how much their errors count.
        reserve: In rho.
    """
    budgets = reserve * np.logspace(-3.5, 0.0, BUDGET_STEPS)
    gains = _gains(candidates, distances, moved, weights, budgets)
    sets: dict[Columns, list[int]] = {}
    for number, one in enumerate(candidates):
        sets.setdefault(one.columns, []).append(number)
    low, high = 1e-12, 1e12  # price per rho at which all, and none, of the tables are bought
    for _ in range(100):
        price = math.sqrt(low * high)
        chosen, spent = _choose_affordable(gains - price * budgets, candidates, sets, budgets)
        low, high = (price, high) if sum(spent) > reserve else (low, price)
    chosen, spent = _choose_affordable(gains - high * budgets, candidates, sets, budgets)
    total = sum(spent)
    return [(number, cost / total) for number, cost in zip(chosen, spent, strict=True)]


def _choose_affordable(
    net: Floats, candidates: Sequence[CandidateTable], sets: Mapping[Columns, Sequence[int]], budgets: Floats
) -> tuple[list[int], list[float]]:
    """Return the best table of each set of columns whose gain exceeds its price, and what is spent on each."""
    best = net.max(axis=1)
    wanted = [max(own, key=lambda number: best[number]) for own in sets.values()]
    wanted = sorted((number for number in wanted if best[number] > 0), key=lambda number: -best[number])
    pairs = [number for number in wanted if candidates[number].level == 0]
    triples = [number for number in wanted if candidates[number].level > 0][:MAX_TRIPLES]
    chosen = sorted(pairs + triples)
    return chosen, [float(budgets[net[number].argmax()]) for number in chosen]


def _gains(
    candidates: Sequence[CandidateTable], distances: Floats, moved: Floats, weights: Mapping[Columns, float],
    budgets: Floats,
) -> Floats:  # fmt: skip
    """Return the gain of each candidate (row) at each budget (column), in weighted rows of distance."""
    cells = np.array([float(one.cells) for one in candidates])
    precision = 2 * budgets / moved[:, None] * ((distances / (MEAN_ABSOLUTE * cells)) ** 2)[:, None]
    left = distances[:, None] / np.sqrt(1 + precision)
    finest: dict[Columns, float] = {}
    for one, distance in zip(candidates, distances.tolist(), strict=True):
        if one.level:
            finest[one.columns] = max(finest.get(one.columns, 0.0), distance)
    own = {one.columns: distance for one, distance in zip(candidates, distances.tolist(), strict=True) if not one.level}
    # Errors of pairs and of triples count equally, each relative to what they are now.
    by_order = [sum(weights.get(columns, 0.0) * d for columns, d in known.items()) for known in (own, finest)]
    scale = {2: 1.0 / max(by_order[0], 1.0), 3: 1.0 / max(by_order[1], 1.0)}
    weights = {columns: weight * scale[len(columns)] for columns, weight in weights.items()}
    gains = np.zeros((len(candidates), len(budgets)))
    for number, one in enumerate(candidates):
        if one.level:
            inside: list[Columns] = [one.columns]
        else:
            inside = [columns for columns in finest if set(one.columns) <= set(columns)]
            gains[number] = weights.get(one.columns, 0.0) * (distances[number] - left[number])
        for columns in inside:
            whole = finest[columns]
            known = min(float(distances[number]), whole)
            rest = np.sqrt(np.maximum(whole**2 - known**2 + np.minimum(left[number], known) ** 2, 0.0))
            gains[number] += weights.get(columns, 0.0) * (whole - rest)
    return gains


def weigh_workload(names: Sequence[str], workload: Sequence[str] | None) -> dict[Columns, float]:
    """Return the weight of pairs and triples of columns: 1 for all, or for those that a workload names and their parts.

    Args:
        names: The modelled columns.
        workload: Sets of two or three columns, their names separated by spaces; `*` stands for any column.
    """
    everything = {own: 1.0 for order in (2, 3) for own in combinations(range(len(names)), order)}
    if workload is None:
        return everything
    wanted = [own for own in everything if any(_matches(pattern.split(), own, names) for pattern in workload)]
    return dict.fromkeys(wanted, 1.0)


def _matches(pattern: Sequence[str], own: Columns, names: Sequence[str]) -> bool:
    """Return whether a set of columns has all names of a pattern, and its number of columns."""
    named = {name for name in pattern if name != "*"}
    return len(pattern) == len(own) and named <= {names[column] for column in own}
