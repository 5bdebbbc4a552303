"""A grown vine as plain arrays: the orientation that pyvinecopulib's matrices want, and the flipped pairs it takes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklar.disclosed.vines.members import bicop
from sklar.disclosed.vines.pairs import FittedPair
from sklar.disclosed.vines.trees import GrownEdge
from sklar.model.disclosed_vine import FAMILIES, DisclosedVine


def assemble(grown: list[list[GrownEdge]], size: int, discrete: NDArray[np.bool_], rows: int) -> DisclosedVine:
    """Arrays of all edges, every edge beginning with the column that a sampler draws last."""
    edges = [edge for tree in oriented(grown, size) for edge in tree]
    values = [np.asarray(edge.pair.parameters, dtype=np.float64) for edge in edges]
    return DisclosedVine(
        size=size,
        first=np.array([edge.first for edge in edges], dtype=np.int64),
        second=np.array([edge.second for edge in edges], dtype=np.int64),
        given=np.array([column for edge in edges for column in sorted(edge.given)], dtype=np.int64),
        family=np.array([FAMILIES.index(edge.pair.family) for edge in edges], dtype=np.int64),
        rotation=np.array([edge.pair.rotation for edge in edges], dtype=np.int64),
        parameters=np.concatenate([*values, np.zeros(0)]),
        counts=np.array([len(value) for value in values], dtype=np.int64),
        tau=np.array([_tau(edge.pair) for edge in edges], dtype=np.float64),
        discrete=discrete,
        loglik=float(sum(edge.pair.loglik for edge in edges)),
        rows=rows,
    )


def oriented(grown: list[list[GrownEdge]], size: int) -> list[list[GrownEdge]]:
    """The trees with edges in the order in which columns can be taken away, that column first.

    A column can be taken away if it is in one edge of each tree and in no condition; the rest is a vine again.
    """
    left = [list(tree) for tree in grown]
    columns = list(range(size))
    result: list[list[GrownEdge]] = [[] for _ in grown]
    while len(columns) > 1:
        column = next(c for c in columns if _can_leave(left, c))
        columns.remove(column)
        for level, tree in enumerate(left):
            mine = [edge for edge in tree if column in (edge.first, edge.second)]
            if mine:
                result[level].append(_begin_with(mine[0], column))
                tree.remove(mine[0])
    return result


def _can_leave(left: list[list[GrownEdge]], column: int) -> bool:
    for tree in left:
        touching = [edge for edge in tree if column in (edge.first, edge.second) or column in edge.given]
        if tree and (len(touching) != 1 or column in touching[0].given):
            return False
    return True


def _begin_with(edge: GrownEdge, column: int) -> GrownEdge:
    if edge.first == column:
        return edge
    return GrownEdge(first=edge.second, second=edge.first, given=edge.given, pair=flip(edge.pair))


def flip(pair: FittedPair) -> FittedPair:
    """The pair with its columns exchanged."""
    if pair.family == "indep":
        return pair
    turned = bicop(pair.family, pair.parameters, pair.rotation).flip()
    values = np.asarray(turned.parameters, dtype=np.float64).ravel()
    return FittedPair(family=pair.family, rotation=int(turned.rotation), parameters=values, loglik=pair.loglik)


def _tau(pair: FittedPair) -> float:
    return 0.0 if pair.family == "indep" else float(bicop(pair.family, pair.parameters, pair.rotation).tau)
