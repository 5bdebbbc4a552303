"""Grow a vine tree by tree: the pairs of a tree, their fits, and the conditional ranks for the next tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from scipy.special import ndtr, ndtri

from sklar.arrays import Floats
from sklar.lab.vines.members import UNIFORM_MARGIN, Node, stack_limits
from sklar.lab.vines.pairs import compare_with_kernel, fit_pair
from sklar.model.rvine.vine import FamilyMember, VineEdge
from sklar.model.vine.vine import maximum_spanning_tree

MAX_CRITERION_ROWS = 5_000
"""Maximum number of rows for the tree criterion; more are thinned evenly. Its error decreases with their square root;
its time, for every possible pair, grows with them."""
MAX_NORMAL_SCORE, TABLE_NODES = 5.0, 81
"""Tables of h-functions extend to these normal scores, with this number of nodes per side: more are more accurate and
slower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowSettings:
    """Settings of pair fits: families, selection, and whether they use counts of cells."""

    families: tuple[str, ...]
    selection: str
    grid: bool


@dataclass(slots=True, kw_only=True, eq=False)
class Ranks:
    """Conditional ranks of the rows, computed on first use."""

    settings: GrowSettings
    known: dict[tuple[int, frozenset[int]], Node]
    edges: dict[tuple[frozenset[int], frozenset[int]], VineEdge] = field(default_factory=dict)

    def node(self, column: int, given: frozenset[int]) -> Node:
        """Return a column given others, from the edge that joined them."""
        key = (column, given)
        if key not in self.known:
            self.known[key] = self._compute(column, given)
        return self.known[key]

    def add(self, fitted: list[VineEdge], level: int) -> None:
        """Keep the edges of a tree for the next one, and drop what no later tree needs."""
        self.edges |= {(frozenset((edge.first, edge.second)), edge.given): edge for edge in fitted}
        self.known = {key: node for key, node in self.known.items() if len(key[1]) >= level}
        self.edges = {key: edge for key, edge in self.edges.items() if len(key[1]) + 1 >= level}

    def _compute(self, column: int, given: frozenset[int]) -> Node:
        for last in given:
            edge = self.edges.get((frozenset((column, last)), given - {last}))
            if edge is not None:
                before = (self.known[edge.first, edge.given], self.known[edge.second, edge.given])
                return h_function(edge.pair, *before, given=2 if column == edge.first else 1, grid=self.settings.grid)
        raise KeyError((column, given))


Pairs = list[tuple[int, int, frozenset[int]]]
Chooser = Callable[[int, list[VineEdge], Ranks], Pairs]
"""Returns the pairs of a tree, from its number (starting at 0), the edges of the previous tree, and the ranks."""


def grow_trees(nodes: Sequence[Node], settings: GrowSettings, trees: int, choose: Chooser) -> list[list[VineEdge]]:
    """Fit one tree after another."""
    ranks = Ranks(settings=settings, known={(column, frozenset()): node for column, node in enumerate(nodes)})
    grown: list[list[VineEdge]] = []
    for level in range(trees):
        fitted: list[VineEdge] = []
        for first, second, given in choose(level, grown[-1] if grown else [], ranks):
            one, two = ranks.node(first, given), ranks.node(second, given)
            pair = fit_pair(one, two, settings.families, settings.selection, grid=settings.grid)
            if "tll" in settings.families:
                pair = compare_with_kernel(pair, one, two, settings.selection, grid=settings.grid)
            fitted.append(VineEdge(first=first, second=second, given=given, pair=pair))
        ranks.add(fitted, level)
        grown.append(fitted)
    return grown


def star_pairs(order: Sequence[int]) -> Chooser:
    """Choose the pairs of a C-vine: the last of `order` is the root of tree one, the one before it of tree two..."""

    def choose(level: int, before: list[VineEdge], ranks: Ranks) -> Pairs:
        root, given = order[-1 - level], frozenset(order[len(order) - level :])
        return [(column, root, given) for column in order[: len(order) - 1 - level]]

    return choose


def spanning_pairs(
    size: int, criterion: Callable[[Floats, Floats], float], centre: Sequence[int] | None = None
) -> Chooser:
    """Choose maximum spanning trees (Dissmann et al. 2013); the first may be a star on the last of `centre`."""

    def choose(level: int, before: list[VineEdge], ranks: Ranks) -> Pairs:
        if level == 0 and centre is not None:
            return star_pairs(centre)(0, before, ranks)
        if level == 0:
            ends = list(combinations(range(size), 2))
            pairs = [(a, b, frozenset[int]()) for a, b in ends]
        else:
            ends, pairs = allowed_pairs(before)
        weights = [_compute_weight(ranks.node(a, given), ranks.node(b, given), criterion) for a, b, given in pairs]
        count = size if level == 0 else len(before)
        return [pairs[place] for place in maximum_spanning_tree(count, ends, weights)]

    return choose


def allowed_pairs(before: list[VineEdge]) -> tuple[list[tuple[int, int]], Pairs]:
    """Return the edges of the next tree that satisfy the proximity condition: pairs of edges that share a node."""
    ends: list[tuple[int, int]] = []
    pairs: Pairs = []
    whole = [edge.given | {edge.first, edge.second} for edge in before]
    for left, right in combinations(range(len(before)), 2):
        shared = whole[left] & whole[right]
        if len(shared) == len(whole[left]) - 1 and _shares_node(before[left], before[right]):
            (first,), (second,) = whole[left] - shared, whole[right] - shared
            ends.append((left, right))
            pairs.append((first, second, frozenset(shared)))
    return ends, pairs


def _shares_node(left: VineEdge, right: VineEdge) -> bool:
    nodes = {left.given | {left.first}, left.given | {left.second}}
    return bool(nodes & {right.given | {right.first}, right.given | {right.second}})


def _compute_weight(first: Node, second: Node, criterion: Callable[[Floats, Floats], float]) -> float:
    step = -(-len(first.u) // MAX_CRITERION_ROWS)
    return abs(criterion(np.ascontiguousarray(first.u[::step]), np.ascontiguousarray(second.u[::step])))


def h_function(pair: FamilyMember, first: Node, second: Node, *, given: int, grid: bool) -> Node:
    """Return the second column given the first (`given=1`), or the first given the second (`given=2`)."""
    kept = first if given == 2 else second
    if pair.family == "indep":
        return kept
    if grid and first.kind == second.kind == "c":
        return Node(u=_interpolate_h(pair, first.u, second.u, given))
    copula = pair.bicop((first.kind, second.kind))
    function = copula.hfunc2 if given == 2 else copula.hfunc1
    upper = _keep_inside(function(stack_limits(first, second)), kept.u)
    if kept.lower is None:
        return Node(u=upper)
    lowered = Node(u=kept.lower, lower=kept.lower)
    at = stack_limits(lowered, second) if given == 2 else stack_limits(first, lowered)
    return Node(u=upper, lower=np.minimum(_keep_inside(function(at), kept.lower), upper))


def _keep_inside(values: Floats, instead: Floats) -> Floats:
    return np.clip(np.where(np.isfinite(values), values, instead), UNIFORM_MARGIN, 1 - UNIFORM_MARGIN)


def _interpolate_h(pair: FamilyMember, first: Floats, second: Floats, given: int) -> Floats:
    """Interpolate h on a grid of normal scores, as a normal score: for the Gaussian copula this is a plane."""
    from scipy.ndimage import map_coordinates

    scores = np.linspace(-MAX_NORMAL_SCORE, MAX_NORMAL_SCORE, TABLE_NODES)
    a, b = np.meshgrid(ndtr(scores), ndtr(scores), indexing="ij")
    copula = pair.bicop()
    at = np.asfortranarray(np.column_stack([a.ravel(), b.ravel()]))
    values = _keep_inside(copula.hfunc2(at) if given == 2 else copula.hfunc1(at), at[:, 0 if given == 2 else 1])
    table = ndtri(values).reshape(TABLE_NODES, TABLE_NODES)
    places = (np.stack([ndtri(first), ndtri(second)]) + MAX_NORMAL_SCORE) * ((TABLE_NODES - 1) / (2 * MAX_NORMAL_SCORE))
    return ndtr(map_coordinates(table, places, order=1, mode="nearest"))
