"""Where the nodes of a tree (or of several) go: roots at the left, one leaf a row, parents beside their children."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Place of a node: steps from its root, and row (a parent may lie between rows)."""

    depth: int
    row: float


def lay_out_forest(nodes: Sequence[str], edges: Iterable[tuple[str, str]]) -> dict[str, Placed]:
    """Places of all nodes; trees come one below the other, the largest first, each hanging from its center."""
    near: dict[str, list[str]] = {node: [] for node in nodes}
    for a, b in edges:
        near[a].append(b)
        near[b].append(a)
    places: dict[str, Placed] = {}
    row = 0
    for tree in sorted(_trees(near), key=len, reverse=True):
        row = _place_tree(_center(tree, near), near, places, row)
    return places


def _trees(near: dict[str, list[str]]) -> list[list[str]]:
    """Nodes of each connected part."""
    seen: set[str] = set()
    trees: list[list[str]] = []
    for node in near:
        if node not in seen:
            part = _walk(node, near)
            seen.update(part)
            trees.append(part)
    return trees


def _walk(start: str, near: dict[str, list[str]]) -> list[str]:
    """Nodes in order of distance from `start`."""
    order, seen = [start], {start}
    for node in order:
        for other in near[node]:
            if other not in seen:
                seen.add(other)
                order.append(other)
    return order


def _center(tree: Sequence[str], near: dict[str, list[str]]) -> str:
    """The middle of a longest path: the root that makes the tree least deep."""
    one_end = _walk(tree[0], near)[-1]
    parents: dict[str, str] = {}
    order = [one_end]
    for node in order:
        for other in near[node]:
            if other != parents.get(node):
                parents[other] = node
                order.append(other)
    path = [order[-1]]
    while path[-1] != one_end:
        path.append(parents[path[-1]])
    return path[len(path) // 2]


def _place_tree(root: str, near: dict[str, list[str]], places: dict[str, Placed], row: int) -> int:
    """Place a tree from a row on; returns the next free row. Without recursion: chains may be long."""
    parents: dict[str, str] = {}
    depths = {root: 0}
    waiting, order = [root], list[str]()
    while waiting:
        node = waiting.pop()
        order.append(node)
        below = [other for other in near[node] if other != parents.get(node)]
        for other in reversed(below):
            parents[other], depths[other] = node, depths[node] + 1
            waiting.append(other)
    rows: dict[str, float] = {}
    for node in order:
        if all(other == parents.get(node) for other in near[node]):
            rows[node] = row
            row += 1
    for node in reversed(order):
        if node not in rows:
            below = [rows[other] for other in near[node] if other != parents.get(node)]
            rows[node] = (min(below) + max(below)) / 2
    places.update({node: Placed(depth=depths[node], row=rows[node]) for node in order})
    return row
