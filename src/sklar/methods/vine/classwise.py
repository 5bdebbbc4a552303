"""A vine rooted at a declared target: all pairs are conditioned on the class, and differ by class where tables do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sklar.arrays import Floats
from sklar.methods.vine.axes import VineAxis
from sklar.methods.vine.tree import fit_tree, independent_edge
from sklar.model.axis import interval_of
from sklar.model.pairs.copula import Checkerboard, ClassPairs, fit_margins, kendall_tau, make_checkerboard
from sklar.model.pairs.posterior import merge_edges
from sklar.model.pairs.tables import MeasuredTable
from sklar.model.posterior import GridTable, estimate_on_grid, estimate_strength, margins_of_grid, move_to_tables
from sklar.model.vine.calibration import MIN_STRENGTH
from sklar.model.vine.deeper import ClassTables
from sklar.model.vine.sampling import simulate_vine
from sklar.model.vine.vine import Edge, Vine

PARTICLES = 2**17
"""Particles that show what tree one expects of each column and the target."""
LINK_STRENGTH_FACTOR = 4.0
"""Times the prior strength of links with the target: their tables are used once more in the calibration, and noise
that is counted twice stays. On compas 4 and 1 were within noise of each other (error of pairs 1.2 +- 0.7% and 1.8 +-
0.7% above that without classes); 4 is the cautious choice."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TargetTables:
    """The released tables with a declared target, their last column: of each other column, and of each pair."""

    target: int
    links: tuple[MeasuredTable, ...]
    triples: Mapping[tuple[int, int], MeasuredTable]

    @property
    def edges(self) -> Floats:
        """Where classes end on the target's axis: the groups that tables of pairs distinguish."""
        return next(iter(self.triples.values())).groups[2].edges

    @property
    def by_class(self) -> ClassTables:
        """The tables of pairs in each class."""
        each = [{pair: _slice(table, c) for pair, table in self.triples.items()} for c in range(len(self.edges) - 1)]
        return ClassTables(column=self.target, edges=self.edges, tables=tuple(each))


def target_tables(target: int, tables: Sequence[MeasuredTable]) -> TargetTables | None:
    """Return the tables with the target, if there are any of pairs."""
    triples = {t.pair: t for t in tables if len(t.columns) == 3}
    links = tuple(t for t in tables if len(t.columns) == 2)
    return TargetTables(target=target, links=links, triples=triples) if triples else None


def _slice(table: MeasuredTable, number: int) -> MeasuredTable:
    """Return the table of a pair in one class."""
    return MeasuredTable(
        columns=table.pair, groups=table.groups[:2], counts=table.counts[:, :, number], sigma=table.sigma
    )


def root_at_target(
    axes: Sequence[VineAxis],
    chain: Vine,
    fine: Sequence[MeasuredTable],
    target_tables: TargetTables,
    rows: float,
    rng: np.random.Generator,
) -> Vine:
    """Return trees one and two of a vine whose root is the target: each column with it, and pairs of columns given it.

    Args:
        axes: the columns.
        chain: tree one without a root, which gives what is expected of a column and the target.
        fine: a table for each pair of tree two, a spanning tree of the other columns.
        target_tables: the released tables with the target.
        rows: (noisy) number of rows.
        rng: source of particles.
    """
    others = [column for column in range(len(axes)) if column != target_tables.target]
    linked = {edge.first: edge for edge in _link(chain, target_tables, rows, rng)}
    star = {column: linked.get(column, independent_edge(column, target_tables.target)) for column in others}
    place = {column: number for number, column in enumerate(others)}
    among = [replace(table, columns=(place[table.columns[0]], place[table.columns[1]])) for table in fine]
    tree = fit_tree([axes[column] for column in others], among, (), rows)
    named = [replace(edge, first=others[edge.first], second=others[edge.second]) for edge in tree]
    return Vine(
        size=len(axes),
        trees=(tuple(star.values()), tuple(_given_class(edge, star, target_tables, rows) for edge in named)),
    )


def _link(chain: Vine, target_tables: TargetTables, rows: float, rng: np.random.Generator) -> list[Edge]:
    """Return the copula of each column and the target: what the chain expects, moved towards the released table.

    How far is one strength for all of them, by empirical Bayes, as in the calibration. Independence would be a poor
    thing to start from: a column predicts the target through others, also where its own table is below the noise level.
    """
    particles = simulate_vine(chain, PARTICLES, rng, even=True)
    joints: list[tuple[Floats, GridTable]] = []
    for table in target_tables.links:
        first, last = table.groups
        row, column = (interval_of(g.edges, particles[:, c]) for g, c in zip(table.groups, table.columns, strict=True))
        own = np.bincount(row * last.count + column, minlength=table.counts.size).reshape(table.counts.shape)
        own = own if table.empty is None else np.where(table.empty, 0.0, own)
        joint = fit_margins(own / PARTICLES, first.mass, last.mass)
        cells = np.arange(joint.size)
        joints.append((joint, GridTable(cells=cells, observed=table.counts / rows, variance=(table.sigma / rows) ** 2)))
    strength = LINK_STRENGTH_FACTOR * estimate_strength([seen.compare(joint) for joint, seen in joints], MIN_STRENGTH)
    edges: list[Edge] = []
    for table, (joint, seen) in zip(target_tables.links, joints, strict=True):
        first, last = table.groups
        margins = margins_of_grid(joint.shape, first.mass, last.mass)
        moved = move_to_tables(joint, [replace(seen, variance=strength * seen.variance), *margins])
        copula = make_checkerboard(first.edges, last.edges, moved)
        tau = kendall_tau(copula)
        edge = Edge(
            first=table.columns[0], second=target_tables.target, given=(), copula=copula, family="checkerboard", tau=tau
        )
        edges.append(edge)
    return edges


def _given_class(edge: Edge, star: Mapping[int, Edge], target_tables: TargetTables, rows: float) -> Edge:
    """Return an edge between two columns given the target, with a copula for each class.

    The distribution of both columns and the class is the nearest one to the pooled copula (in relative entropy) that
    agrees with the columns' links with the target, moved towards the released table of all three by its precision.
    """
    alone = replace(edge, given=(target_tables.target,))
    table = target_tables.triples.get((edge.first, edge.second))
    if table is None or not isinstance(edge.copula, Checkerboard):
        return alone
    ends = zip((edge.copula.edges1, edge.copula.edges2), table.groups[:2], strict=True)
    cuts = [merge_edges(own, groups.edges) for own, groups in ends]
    below = [
        _class_margin(star[c], target_tables.edges, cut) for c, cut in zip((edge.first, edge.second), cuts, strict=True)
    ]
    joint = _class_distribution(
        _refine(edge.copula, cuts[0], cuts[1]), (below[0], below[1]), (cuts[0], cuts[1]), table, rows
    )
    pairs = tuple(
        make_checkerboard(low, high, joint[:, :, c]) for c, (low, high) in enumerate(zip(*below, strict=True))
    )
    copula = ClassPairs(column=target_tables.target, edges=target_tables.edges, pairs=pairs)
    tau = float(np.diff(target_tables.edges) @ [kendall_tau(pair) for pair in pairs])
    return replace(alone, copula=copula, family=f"{edge.family} by class", tau=tau)


def _class_distribution(
    pooled: Floats, below: tuple[Floats, Floats], cuts: tuple[Floats, Floats], table: MeasuredTable, rows: float
) -> Floats:
    """Return probabilities of the cells of two columns (by the pooled copula) and of the classes."""
    first, second, last = table.groups
    joint = pooled[:, :, None] * last.mass
    row, column, number = np.indices(joint.shape).reshape(3, -1)
    a, b = (interval_of(g.edges, (cut[1:] + cut[:-1]) / 2) for g, cut in zip((first, second), cuts, strict=True))
    coarse = (a[row] * second.count + b[column]) * last.count + number
    if table.empty is not None:
        joint = np.where(table.empty.ravel()[coarse], 0.0, joint.ravel()).reshape(joint.shape)
    margins = [
        GridTable(cells=at * last.count + number, observed=np.diff(cdf).T * last.mass)
        for at, cdf in ((row, below[0]), (column, below[1]))
    ]
    joint = move_to_tables(joint, [GridTable(cells=row * pooled.shape[1] + column, observed=pooled), *margins])
    seen = GridTable(cells=coarse, observed=table.counts / rows, variance=(table.sigma / rows) ** 2)
    return estimate_on_grid(joint, [seen], margins, MIN_STRENGTH)


def _class_margin(link: Edge, classes: Floats, cuts: Floats) -> Floats:
    """Return P(U <= cut | class) of a column linked with the target, a row for each class."""
    if not isinstance(link.copula, Checkerboard):
        return np.tile(cuts, (len(classes) - 1, 1))
    board = link.copula
    joint = np.zeros((len(board.edges1), len(board.edges2)))
    joint[1:, 1:] = np.cumsum(np.cumsum(board.mass, axis=0), axis=1)
    at_cuts = np.array([np.interp(cuts, board.edges1, column) for column in joint.T])
    inside = np.diff([np.interp(classes, board.edges2, row) for row in at_cuts.T]).T
    return inside / inside[:, -1:]


def _refine(board: Checkerboard, cuts1: Floats, cuts2: Floats) -> Floats:
    """Return cell masses of a checkerboard on a grid that cuts its cells further."""
    row, column = (interval_of(e, (c[1:] + c[:-1]) / 2) for e, c in ((board.edges1, cuts1), (board.edges2, cuts2)))
    part1, part2 = np.diff(cuts1) / np.diff(board.edges1)[row], np.diff(cuts2) / np.diff(board.edges2)[column]
    return board.mass[row][:, column] * np.outer(part1, part2)
