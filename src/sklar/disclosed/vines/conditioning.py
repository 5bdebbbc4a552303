"""h-functions of fitted pairs, row by row: evaluated where rows are few, read off a table where they are many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from sklar.disclosed.vines.members import bicop
from sklar.disclosed.vines.nodes import EPSILON, Node, layout
from sklar.disclosed.vines.pairs import FittedPair

Floats = NDArray[np.float64]
REACH = 5.0
NODES = 81


def given_second(pair: FittedPair, first: Node, second: Node, *, grid: bool) -> Node:
    """The first column given the second."""
    return _conditioned(pair, first, second, which=2, grid=grid)


def given_first(pair: FittedPair, first: Node, second: Node, *, grid: bool) -> Node:
    """The second column given the first."""
    return _conditioned(pair, first, second, which=1, grid=grid)


def _conditioned(pair: FittedPair, first: Node, second: Node, *, which: int, grid: bool) -> Node:
    kept = first if which == 2 else second
    if pair.family == "indep":
        return kept
    if grid and first.kind == second.kind == "c":
        return Node(u=_from_table(pair, first.u, second.u, which))
    copula = bicop(pair.family, pair.parameters, pair.rotation, (first.kind, second.kind))
    function = copula.hfunc2 if which == 2 else copula.hfunc1
    upper = _open(function(layout(first, second)), kept.u)
    if kept.lower is None:
        return Node(u=upper)
    lowered = Node(u=kept.lower, lower=kept.lower)
    at = layout(lowered, second) if which == 2 else layout(first, lowered)
    return Node(u=upper, lower=np.minimum(_open(function(at), kept.lower), upper))


def _open(values: Floats, instead: Floats) -> Floats:
    return np.clip(np.where(np.isfinite(values), values, instead), EPSILON, 1 - EPSILON)


def _from_table(pair: FittedPair, first: Floats, second: Floats, which: int) -> Floats:
    """h on a grid of normal scores, itself as a normal score: for the Gaussian copula that table is a plane."""
    from sklar.disclosed.vines.kernels import read_table

    scores = np.linspace(-REACH, REACH, NODES)
    a, b = np.meshgrid(ndtr(scores), ndtr(scores), indexing="ij")
    copula = bicop(pair.family, pair.parameters, pair.rotation)
    at = np.asfortranarray(np.column_stack([a.ravel(), b.ravel()]))
    values = _open(copula.hfunc2(at) if which == 2 else copula.hfunc1(at), at[:, 0 if which == 2 else 1])
    table = ndtri(values).reshape(NODES, NODES)
    return ndtr(read_table(table, -REACH, 2 * REACH / (NODES - 1), ndtri(first), ndtri(second)))
