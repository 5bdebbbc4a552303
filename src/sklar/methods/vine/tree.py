"""Tree one: the spanning tree of the strongest measured pairs, and a finer table for each of its edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.methods.evidence import Measure
from sklar.methods.vine.axes import TablePlan, VineAxis, request_tables
from sklar.methods.vine.pairs import ROWS_PER_CELL, counts_every_cell, interaction_noise, share_out, supported_groups
from sklar.model.pairs.copula import IndependentPair
from sklar.model.pairs.grouping import Groups
from sklar.model.pairs.posterior import estimate_pair
from sklar.model.pairs.tables import MeasuredTable
from sklar.model.vine.vine import Edge, maximum_spanning_tree

MAX_FINE_GROUPS, MAX_FINE_LABELS = 32, 64
"""Most groups of an axis of numbers, which have an order, and of one of labels, which have none."""
FINE_GROUPS = 48
"""Groups of each column in the copula of an edge, whose table is spread over them."""
TREE, TARGET, TRIPLES = "tree one", "target", "target triples"
"""Labels of the steps."""


def choose_tree(
    size: int, strengths: Mapping[tuple[int, int], float], known: frozenset[int] = frozenset()
) -> tuple[tuple[int, int], ...]:
    """Return the maximum spanning forest of the measured pairs.

    Columns that are known whenever a row is drawn are joined to each other first: then the others can be drawn given
    them. Else particles stand for what is known, and few of them count: on made clinic visits 4% or 32% of them
    instead of 70% or more, with tables of neighbouring rows 1.2 to 1.5 times as far off.
    """
    pairs = list(strengths)
    first = 1.0 + 2.0 * max(map(abs, strengths.values()), default=0.0)
    weights = [strengths[pair] + first * known.issuperset(pair) for pair in pairs]
    return tuple(pairs[i] for i in maximum_spanning_tree(size, pairs, weights))


def request_tree(
    unit: Unit, allowance: Allowance, axes: Sequence[VineAxis], forest: Sequence[tuple[int, int]], rows: float
) -> Measure | None:
    """Ask for a finer table for each edge, in one pass, with equal shares."""
    if not forest:
        return None
    noise = allowance.part(1 - 1e-9).noise(unit, tables=len(forest))
    return request_tables(axes, [_plan(axes, pair, noise, rows) for pair in forest], TREE)


def _plan(axes: Sequence[VineAxis], pair: tuple[int, int], noise: Noise, rows: float) -> TablePlan:
    """Return the groups of a fine table: where one column has few cells, the other gets more groups."""
    sigma = noise.std
    caps = [MAX_FINE_GROUPS if axes[column].numeric else MAX_FINE_LABELS for column in pair]
    most = int(np.clip(supported_groups(rows, sigma), 2, max(caps)))
    sizes = [min(len(axes[column].scale.starts), cap) for column, cap in zip(pair, caps, strict=True)]
    first, second = (min(most, size) for size in sizes)
    limits = (
        min(sizes[0], max(most, most * most // second)),
        min(sizes[1], max(most, most * most // first)),
    )
    if counts_every_cell([axes[column] for column in pair], supported_groups(rows, sigma)):
        return TablePlan(columns=pair, groups=tuple(axes[c].every_cell(sigma, rows) for c in pair), noise=noise)
    groups = tuple(axes[c].groups(limit, sigma, rows) for c, limit in zip(pair, limits, strict=True))
    return TablePlan(columns=pair, groups=groups, noise=noise)


def fit_tree(
    axes: Sequence[VineAxis], tables: Sequence[MeasuredTable], coarse: Sequence[MeasuredTable], rows: float
) -> tuple[Edge, ...]:
    """Estimate tree one: a pair copula for each measured edge, independent ones to connect the other columns.

    Args:
        axes: The columns.
        tables: The finest table of each edge.
        coarse: Further tables of pairs, which may include those of edges.
        rows: The (noisy) number of rows.
    """
    others = {table.columns: table for table in coarse}
    edges = [_fit_edge(axes, table, others.get(table.columns), rows) for table in tables]
    measured = [(edge.first, edge.second) for edge in edges]
    chain = [(0, column) for column in range(1, len(axes))]
    weights = [1.0] * len(measured) + [0.0] * len(chain)
    kept = maximum_spanning_tree(len(axes), measured + chain, weights)
    return tuple(edges[i] if i < len(edges) else independent_edge(*chain[i - len(edges)]) for i in kept)


def independent_edge(first: int, second: int) -> Edge:
    """Return an edge that only keeps the tree connected."""
    return Edge(first=first, second=second, given=(), copula=IndependentPair(), family="independent", tau=0.0)


def _fit_edge(axes: Sequence[VineAxis], table: MeasuredTable, coarse: MeasuredTable | None, rows: float) -> Edge:
    first, second = table.columns
    fine = None
    if axes[first].ordered and axes[second].ordered:
        fine = axes[first].groups(FINE_GROUPS, 0.0, rows).edges, axes[second].groups(FINE_GROUPS, 0.0, rows).edges
    tables = [table] if coarse is None or coarse is table else [table, coarse]
    pair = estimate_pair(tables, rows, fine)
    return Edge(first=first, second=second, given=(), copula=pair.copula, family=pair.family, tau=pair.tau)


TARGET_GROUPS = 8
"""Most groups of the target in tables with it."""
TARGET_FINE_GROUPS = 64
"""Most groups of another column in a table with the target."""
TRIPLE_GROUPS = 10
"""Most groups of each of two columns in a table with the target."""
ROWS_PER_LINK = 2.5
"""Standard deviations that a cell of the only table of a column and the target holds on average: twice the number,
hence half the groups, cost 2% of the error of pairs on HMEQ and 1% on compas (3,000 rows), and win no prediction."""


def request_target_tables(
    unit: Unit, allowance: Allowance, axes: Sequence[VineAxis], target: int, rows: float
) -> Measure | None:
    """Ask for a table (a, target) for every other column a, as fine as the noise permits, with equal shares."""
    others = [column for column in range(len(axes)) if column != target]
    if not others:
        return None
    noise = allowance.part(1 - 1e-9).noise(unit, tables=len(others))
    last = axes[target].groups(TARGET_GROUPS, noise.std, rows)
    most = int(np.clip(rows / (ROWS_PER_CELL * noise.std * last.count), 2, TARGET_FINE_GROUPS))
    # Single amounts may determine the class, as Adult's capital gains do.
    own = [axes[column].groups(most, noise.std, rows, fine=True) for column in others]
    plans = [TablePlan(columns=(c, target), groups=(g, last), noise=noise) for c, g in zip(others, own, strict=True)]
    return request_tables(axes, [plan for plan in plans if _can_depend(plan.groups)], TARGET)


def request_links(
    unit: Unit, allowance: Allowance, axes: Sequence[VineAxis], target: int, rows: float
) -> Measure | None:
    """Ask for the interactions (a, target) of every other column a in few groups, with equal shares.

    These pairs have no other query. Margins are known from elsewhere; few groups suffer less from the noise
    than many, and prediction gains from that.
    """
    others = [column for column in range(len(axes)) if column != target]
    if not others:
        return None
    each = allowance.part((1 - 1e-9) / len(others))
    sigma = each.noise(unit).std
    last = axes[target].groups(TARGET_GROUPS, sigma, rows)
    most = int(np.clip(rows / (ROWS_PER_LINK * sigma * last.count), 2, TARGET_FINE_GROUPS))
    plans: list[TablePlan] = []
    for column in others:
        pair = (column, target) if column < target else (target, column)
        own = axes[column].groups(most, sigma, rows)
        groups = (own, last) if column < target else (last, own)
        if _can_depend(groups):
            noise = interaction_noise(each, unit, (groups[0].count, groups[1].count))
            plans.append(TablePlan(columns=pair, groups=groups, noise=noise))
    return request_tables(axes, plans, TARGET, interactions=True)


def request_triples(
    unit: Unit, allowance: Allowance, axes: Sequence[VineAxis], target: int, rows: float,
    pairs: Sequence[tuple[int, int]] | None,
) -> Measure | None:  # fmt: skip
    """Ask for coarse tables (a, b, target) of the given pairs, or of all of them, with budget by their size."""
    wanted = list(combinations(range(len(axes)), 2)) if pairs is None else pairs
    wanted = [pair for pair in wanted if target not in pair]
    if not wanted:
        return None
    sigma = allowance.noise(unit, tables=len(wanted)).std
    last = axes[target].groups(TARGET_GROUPS, sigma, rows)
    most = int(np.clip(np.sqrt(rows / (ROWS_PER_CELL * sigma * last.count)), 2, TRIPLE_GROUPS))
    groups = [axis.groups(most, sigma, rows) for axis in axes]
    tables = [((a, b, target), (groups[a], groups[b], last)) for a, b in wanted]
    plans = share_out(allowance, unit, [table for table in tables if _can_depend(table[1])])
    return request_tables(axes, plans, TRIPLES)


def _can_depend(groups: tuple[Groups, ...]) -> bool:
    return all(group.count > 1 for group in groups)
