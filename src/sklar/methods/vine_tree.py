"""Tree one: the spanning tree of the strongest measured pairs, and a finer table for each of its edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.methods.vine_axes import Axis, Measured, Plan, measure
from sklar.methods.vine_pairs import resolution
from sklar.model.paircopula import IndependentPair
from sklar.model.pairfit import fit_pair
from sklar.model.spanning import maximum_spanning_tree
from sklar.model.vine import Edge
from sklar.release.door import Door

MOST_GROUPS = 32
FINE_GROUPS = 48


def choose_tree(size: int, strengths: Mapping[tuple[int, int], float]) -> tuple[tuple[int, int], ...]:
    """The maximum spanning forest of the measured pairs."""
    pairs = list(strengths)
    return tuple(pairs[i] for i in maximum_spanning_tree(size, pairs, [strengths[pair] for pair in pairs]))


def measure_tree(
    door: Door, allowance: Allowance, axes: Sequence[Axis], forest: Sequence[tuple[int, int]], rows: float
) -> tuple[Measured, ...]:
    """A finer noisy table for each edge, in one pass, with equal shares."""
    if not forest:
        return ()
    noise = allowance.part(1 - 1e-9).noise(door.unit, tables=len(forest))
    return measure(door, axes, [_plan(axes, pair, noise, rows) for pair in forest], "tree one")


def _plan(axes: Sequence[Axis], pair: tuple[int, int], noise: Noise, rows: float) -> Plan:
    """Rectangular where it pays: a column with few cells leaves room for a finer partner."""
    sigma = noise.std
    most = int(np.clip(resolution(rows, sigma), 2, MOST_GROUPS))
    sizes = [len(axes[column].scale.starts) for column in pair]
    first, second = (min(most, size) for size in sizes)
    limits = (
        min(sizes[0], max(most, most * most // second), MOST_GROUPS),
        min(sizes[1], max(most, most * most // first), MOST_GROUPS),
    )
    groups = tuple(axes[c].groups(limit, sigma, rows) for c, limit in zip(pair, limits, strict=True))
    return Plan(columns=pair, groups=groups, noise=noise)


def fit_tree(axes: Sequence[Axis], tables: Sequence[Measured], rows: float) -> tuple[Edge, ...]:
    """Tree one: fitted pair copulas on the measured edges, independent ones to connect what is left."""
    edges = [_fit_edge(axes, table, rows) for table in tables]
    measured = [(edge.first, edge.second) for edge in edges]
    chain = [(0, column) for column in range(1, len(axes))]
    weights = [1.0] * len(measured) + [0.0] * len(chain)
    kept = maximum_spanning_tree(len(axes), measured + chain, weights)
    return tuple(edges[i] if i < len(edges) else independent_edge(*chain[i - len(edges)]) for i in kept)


def independent_edge(first: int, second: int) -> Edge:
    """An edge that only keeps the tree connected."""
    return Edge(first=first, second=second, given=(), copula=IndependentPair(), family="independent", tau=0.0)


def _fit_edge(axes: Sequence[Axis], table: Measured, rows: float) -> Edge:
    first, second = table.columns
    fine, tops = None, (axes[first].top, axes[second].top)
    if axes[first].ordered and axes[second].ordered:
        fine = axes[first].groups(FINE_GROUPS, 0.0, rows), axes[second].groups(FINE_GROUPS, 0.0, rows)
    pair = fit_pair(table.counts, table.sigma, rows, (table.groups[0], table.groups[1]), fine, table.hint, tops)
    return Edge(first=first, second=second, given=(), copula=pair.copula, family=pair.family, tau=pair.tau)
