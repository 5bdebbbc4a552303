"""Maximum spanning trees (Kruskal)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def maximum_spanning_tree(nodes: int, ends: Sequence[tuple[int, int]], weights: Sequence[float]) -> tuple[int, ...]:
    """Positions in `ends` of the edges of a maximum spanning forest, heaviest first (ties: earlier edge first).

    Args:
        nodes: number of nodes, named 0 .. nodes - 1.
        ends: the two nodes of each edge.
        weights: the weight of each edge.
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
