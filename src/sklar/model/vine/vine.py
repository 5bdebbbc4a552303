"""The regular vine: its trees of pair copulas, the proximity condition, and the order in which columns are sampled."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sklar.model.pairs.copula import Checkerboard, ClassPairs, GaussianPair, IndependentPair


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One pair copula of a vine: of columns `first` and `second` given the columns in `given`, which increase.

    The name of its family and its Kendall's tau are for people.
    """

    first: int
    second: int
    given: tuple[int, ...]
    copula: Checkerboard | ClassPairs | GaussianPair | IndependentPair
    family: str
    tau: float

    @property
    def columns(self) -> frozenset[int]:
        """All columns of the edge."""
        return frozenset((self.first, self.second, *self.given))

    @property
    def nodes(self) -> tuple[frozenset[int], frozenset[int]]:
        """The two nodes of its tree that the edge joins, each named by its columns."""
        return frozenset((self.first, *self.given)), frozenset((self.second, *self.given))

    def partner(self, column: int) -> int:
        """Return the other end."""
        return self.second if column == self.first else self.first


@dataclass(frozen=True, slots=True, kw_only=True)
class Vine:
    """A regular vine on columns 0 .. size - 1, truncated after its last tree.

    Each tree spans the edges of the one before (the columns, for the first), and joins two of them only if they
    share a node (Bedford and Cooke, Annals of Statistics 2002).
    """

    size: int
    trees: tuple[tuple[Edge, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeCandidate:
    """An edge that the proximity condition allows in the next tree; `left`, `right` are positions in the last tree."""

    left: int
    right: int
    first: int
    second: int
    given: tuple[int, ...]


def list_candidate_edges(tree: tuple[Edge, ...]) -> Iterable[EdgeCandidate]:
    """Yield every edge allowed in the tree after `tree`: pairs of its edges that share a node."""
    at_node: dict[frozenset[int], list[int]] = {}
    for position, edge in enumerate(tree):
        for node in edge.nodes:
            at_node.setdefault(node, []).append(position)
    for node, members in at_node.items():
        for left, right in combinations(members, 2):
            (first,), (second,) = tree[left].columns - node, tree[right].columns - node
            yield EdgeCandidate(left=left, right=right, first=first, second=second, given=tuple(sorted(node)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Sampling of one column given the ones before: `chain[k]` is its edge in tree k + 1."""

    column: int
    chain: tuple[Edge, ...]


def sampling_order(vine: Vine, first: Collection[int] = ()) -> tuple[Step, ...]:
    """Return an order in which each column is drawn given earlier ones with pair copulas of the vine only.

    Works backwards: a column can come last if it is in exactly one edge of each tree, and never as a condition.
    Taking it away leaves a vine on the other columns. Two columns can always come last, so any one column can be
    put first; several columns in `first` come as early as the vine permits.
    """
    alive = [set(range(len(tree))) for tree in vine.trees]
    members = [[set[int]() for _ in range(vine.size)] for _ in vine.trees]
    for level, tree in enumerate(vine.trees):
        for position, edge in enumerate(tree):
            for column in edge.columns:
                members[level][column].add(position)
    left = sorted(range(vine.size), key=lambda column: (column in first, column))
    steps: list[Step] = []
    while len(left) > 1:
        column = next(c for c in left if _can_leave(vine, alive, members, c))
        chain = _take_away(vine, alive, members, column)
        steps.append(Step(column=column, chain=chain))
        left.remove(column)
    return (Step(column=left[0], chain=()), *reversed(steps))


def _can_leave(vine: Vine, alive: list[set[int]], members: list[list[set[int]]], column: int) -> bool:
    for level, tree in enumerate(vine.trees):
        if not alive[level]:
            return True
        inside = members[level][column]
        if len(inside) != 1 or column in tree[next(iter(inside))].given:
            return False
    return True


def _take_away(vine: Vine, alive: list[set[int]], members: list[list[set[int]]], column: int) -> tuple[Edge, ...]:
    chain: list[Edge] = []
    for level, tree in enumerate(vine.trees):
        if not alive[level]:
            break
        position = next(iter(members[level][column]))
        chain.append(tree[position])
        alive[level].discard(position)
        for other in tree[position].columns:
            members[level][other].discard(position)
    return tuple(chain)


def maximum_spanning_tree(nodes: int, ends: Sequence[tuple[int, int]], weights: Sequence[float]) -> tuple[int, ...]:
    """Return positions in `ends` of the edges of a maximum spanning forest, heaviest first (ties: earlier edge first).

    Nodes are named 0 .. nodes - 1; each edge has two ends and a weight.
    """
    root = list(range(nodes))
    kept: list[int] = []
    for position in np.argsort(-np.asarray(weights, dtype=float), kind="stable"):
        first, second = (_find(root, node) for node in ends[position])
        if first != second:
            root[first] = second
            kept.append(int(position))
    return tuple(kept)


def _find(root: list[int], node: int) -> int:
    while root[node] != node:
        root[node] = root[root[node]]
        node = root[node]
    return node
