"""Growing a vine tree by tree: which pairs a tree joins, their fits, and the ranks that the next tree works on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from scipy.special import ndtr, ndtri

from sklar.arrays import Floats
from sklar.lab.vines.members import EPSILON, Node, layout
from sklar.lab.vines.pairs import fit_pair, or_kernel
from sklar.model.rvine.vine import FamilyMember, VineEdge
from sklar.model.vine.vine import maximum_spanning_tree

MOST_RANKED = 5_000
"""Rows that the tree criterion is computed from; more are thinned evenly. Its error falls with their root, its time,
for every pair that a tree may join, grows with them."""
REACH, NODES = 5.0, 81
"""Tables of h-functions reach to these normal scores, with so many nodes a side: accuracy against time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowSettings:
    """How pairs are fitted: families, selection, and whether to counts of cells."""

    families: tuple[str, ...]
    selection: str
    grid: bool


@dataclass(slots=True, kw_only=True, eq=False)
class Ranks:
    """Conditional ranks of the rows, made when first asked for."""

    settings: GrowSettings
    known: dict[tuple[int, frozenset[int]], Node]
    edges: dict[tuple[frozenset[int], frozenset[int]], VineEdge] = field(default_factory=dict)

    def node(self, column: int, given: frozenset[int]) -> Node:
        """A column given others, from the edge that joined them."""
        key = (column, given)
        if key not in self.known:
            self.known[key] = self._make(column, given)
        return self.known[key]

    def add(self, fitted: list[VineEdge], level: int) -> None:
        """Remember the edges of a tree for the one after, and drop what no later tree needs."""
        self.edges |= {(frozenset((edge.first, edge.second)), edge.given): edge for edge in fitted}
        self.known = {key: node for key, node in self.known.items() if len(key[1]) >= level}
        self.edges = {key: edge for key, edge in self.edges.items() if len(key[1]) + 1 >= level}

    def _make(self, column: int, given: frozenset[int]) -> Node:
        for last in given:
            edge = self.edges.get((frozenset((column, last)), given - {last}))
            if edge is not None:
                before = (self.known[edge.first, edge.given], self.known[edge.second, edge.given])
                return h_function(edge.pair, *before, given=2 if column == edge.first else 1, grid=self.settings.grid)
        raise KeyError((column, given))


Pairs = list[tuple[int, int, frozenset[int]]]
Chooser = Callable[[int, list[VineEdge], Ranks], Pairs]
"""Names the pairs of a tree, by its number from 0 on, the edges of the tree before, and the ranks."""


def grow(nodes: Sequence[Node], settings: GrowSettings, trees: int, choose: Chooser) -> list[list[VineEdge]]:
    """Fit tree after tree."""
    ranks = Ranks(settings=settings, known={(column, frozenset()): node for column, node in enumerate(nodes)})
    grown: list[list[VineEdge]] = []
    for level in range(trees):
        fitted: list[VineEdge] = []
        for first, second, given in choose(level, grown[-1] if grown else [], ranks):
            one, two = ranks.node(first, given), ranks.node(second, given)
            pair = fit_pair(one, two, settings.families, settings.selection, grid=settings.grid)
            if "tll" in settings.families:
                pair = or_kernel(pair, one, two, settings.selection, grid=settings.grid)
            fitted.append(VineEdge(first=first, second=second, given=given, pair=pair))
        ranks.add(fitted, level)
        grown.append(fitted)
    return grown


def star_pairs(order: Sequence[int]) -> Chooser:
    """Pairs of a C-vine: the last of `order` is the root of tree one, the one before it of tree two..."""

    def choose(level: int, before: list[VineEdge], ranks: Ranks) -> Pairs:
        root, given = order[-1 - level], frozenset(order[len(order) - level :])
        return [(column, root, given) for column in order[: len(order) - 1 - level]]

    return choose


def spanning_pairs(
    size: int, criterion: Callable[[Floats, Floats], float], centre: Sequence[int] | None = None
) -> Chooser:
    """Pairs of maximum spanning trees (Dissmann et al. 2013); the first may be a star on the last of `centre`."""

    def choose(level: int, before: list[VineEdge], ranks: Ranks) -> Pairs:
        if level == 0 and centre is not None:
            return star_pairs(centre)(0, before, ranks)
        if level == 0:
            ends = list(combinations(range(size), 2))
            pairs = [(a, b, frozenset[int]()) for a, b in ends]
        else:
            ends, pairs = allowed_pairs(before)
        weights = [_weight(ranks.node(a, given), ranks.node(b, given), criterion) for a, b, given in pairs]
        count = size if level == 0 else len(before)
        return [pairs[place] for place in maximum_spanning_tree(count, ends, weights)]

    return choose


def allowed_pairs(before: list[VineEdge]) -> tuple[list[tuple[int, int]], Pairs]:
    """Edges of the next tree that proximity allows: pairs of edges of this one that share a node."""
    ends: list[tuple[int, int]] = []
    pairs: Pairs = []
    whole = [edge.given | {edge.first, edge.second} for edge in before]
    for left, right in combinations(range(len(before)), 2):
        shared = whole[left] & whole[right]
        if len(shared) == len(whole[left]) - 1 and _share_node(before[left], before[right]):
            (first,), (second,) = whole[left] - shared, whole[right] - shared
            ends.append((left, right))
            pairs.append((first, second, frozenset(shared)))
    return ends, pairs


def _share_node(left: VineEdge, right: VineEdge) -> bool:
    nodes = {left.given | {left.first}, left.given | {left.second}}
    return bool(nodes & {right.given | {right.first}, right.given | {right.second}})


def _weight(first: Node, second: Node, criterion: Callable[[Floats, Floats], float]) -> float:
    step = -(-len(first.u) // MOST_RANKED)
    return abs(criterion(np.ascontiguousarray(first.u[::step]), np.ascontiguousarray(second.u[::step])))


def h_function(pair: FamilyMember, first: Node, second: Node, *, given: int, grid: bool) -> Node:
    """The second column given the first (`given=1`), or the first given the second (`given=2`)."""
    kept = first if given == 2 else second
    if pair.family == "indep":
        return kept
    if grid and first.kind == second.kind == "c":
        return Node(u=_from_table(pair, first.u, second.u, given))
    copula = pair.bicop((first.kind, second.kind))
    function = copula.hfunc2 if given == 2 else copula.hfunc1
    upper = _keep_inside(function(layout(first, second)), kept.u)
    if kept.lower is None:
        return Node(u=upper)
    lowered = Node(u=kept.lower, lower=kept.lower)
    at = layout(lowered, second) if given == 2 else layout(first, lowered)
    return Node(u=upper, lower=np.minimum(_keep_inside(function(at), kept.lower), upper))


def _keep_inside(values: Floats, instead: Floats) -> Floats:
    return np.clip(np.where(np.isfinite(values), values, instead), EPSILON, 1 - EPSILON)


def _from_table(pair: FamilyMember, first: Floats, second: Floats, given: int) -> Floats:
    """h on a grid of normal scores, itself as a normal score: for the Gaussian copula that table is a plane."""
    from scipy.ndimage import map_coordinates

    scores = np.linspace(-REACH, REACH, NODES)
    a, b = np.meshgrid(ndtr(scores), ndtr(scores), indexing="ij")
    copula = pair.bicop()
    at = np.asfortranarray(np.column_stack([a.ravel(), b.ravel()]))
    values = _keep_inside(copula.hfunc2(at) if given == 2 else copula.hfunc1(at), at[:, 0 if given == 2 else 1])
    table = ndtri(values).reshape(NODES, NODES)
    places = (np.stack([ndtri(first), ndtri(second)]) + REACH) * ((NODES - 1) / (2 * REACH))
    return ndtr(map_coordinates(table, places, order=1, mode="nearest"))
