"""Rows of a vine from independent uniforms: the inverse Rosenblatt transform, with quantiles by Newton's method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyvinecopulib as pv

Floats = NDArray[np.float64]
SEARCHED = ("frank", "bb1", "bb6", "bb7", "bb8", "tawn")
"""Families whose conditional quantiles pyvinecopulib finds by bisection, twenty to forty evaluations a row."""
LEAST = 1e-10
ROUNDS = 100
PATIENCE = 8
"""Rounds of Newton's method alone; from then on every other one halves the interval."""
CLOSE = 1e-10
"""A row is done when its conditional probability is this close."""
NARROW = 1e-14
"""Or when the interval around its quantile is this narrow."""


def inverse_rosenblatt(vine: pv.Vinecop, w: Floats) -> Floats:
    """Independent uniforms as dependent ones, column by column from the last of the vine's order to the first.

    With columns numbered by that order, x[t, j] is column j given its t conditioning columns of tree t: x[t, j] is the
    quantile of pair copula (t, j) at probability x[t + 1, j], given its second column, which is x[t, k] or, where k's
    condition holds one column more, the forward step y[t, k].

    Reference: Dissmann, Brechmann, Czado, Kurowicka (2013), "Selecting and estimating regular vine copulae and
    application to financial returns", algorithm 2.2.
    """
    structure, order = vine.structure, [int(column) - 1 for column in vine.order]
    size, depth = len(order), int(vine.trunc_lvl)
    result = np.empty_like(w, order="F")
    x: dict[tuple[int, int], Floats] = {}
    y: dict[tuple[int, int], Floats] = {}
    for j in reversed(range(size)):
        trees = min(depth, size - 1 - j)
        x[trees, j] = w[:, order[j]]
        for tree in reversed(range(trees)):
            least = int(structure.min_array(tree, j))
            direct = least == int(structure.struct_array(tree, j, True))
            beside = (x if direct else y)[tree, least - 1]
            copula = vine.get_pair_copula(tree, j)
            x[tree, j] = quantile_given_second(copula, x[tree + 1, j], beside)
            if structure.needed_hfunc1(tree, j):
                y[tree + 1, j] = _open(copula.hfunc1(_pairs(x[tree, j], beside)))
        result[:, order[j]] = x[0, j]
    return result


def quantile_given_second(copula: pv.Bicop, level: Floats, second: Floats) -> Floats:
    """x with P(U <= x | V = second) = level.

    With z the normal score of x, Newton's method goes to the zero of Phi^-1(h(x, v)) - Phi^-1(level), which is a
    straight line in z for the Gaussian copula; it starts from that copula's solution at the same Kendall's tau. A step
    that leaves the interval known to hold the solution is replaced by a bisection, and so is every other one of a row
    that takes long.
    """
    if copula.family.name not in SEARCHED:
        return _open(copula.hinv2(_pairs(level, second)))
    level, second = _open(level), _open(second)
    if copula.family.name == "frank":
        return _open(_frank(float(copula.parameters[0, 0]), level, second))
    from scipy.special import ndtr, ndtri

    goal = ndtri(level)
    corr = np.sin(np.pi / 2 * np.clip(copula.tau, -0.99, 0.99))
    z = corr * ndtri(second) + np.sqrt(1 - corr**2) * goal
    x = _open(ndtr(z))
    low, high = np.zeros(len(x)), np.ones(len(x))
    active = np.arange(len(x))
    for round_ in range(ROUNDS):
        at = _pairs(x[active], second[active])
        reached = copula.hfunc2(at)
        miss = reached - level[active]
        low[active] = np.where(miss < 0, x[active], low[active])
        high[active] = np.where(miss < 0, high[active], x[active])
        go_on = (np.abs(miss) > CLOSE) & (high[active] - low[active] > NARROW)
        if not go_on.any():
            break
        active, at, reached = active[go_on], np.asfortranarray(at[go_on]), reached[go_on]
        middle = (low[active] + high[active]) / 2
        if round_ > PATIENCE and round_ % 2:
            x[active] = middle
            continue
        moved = _stepped(x[active], reached, goal[active], copula.pdf(at))
        x[active] = np.where((moved > low[active]) & (moved < high[active]), moved, middle)
    return _open(x)


def _frank(theta: float, level: Floats, second: Floats) -> Floats:
    """The quantile of Frank's copula: h(x, v) = level solved for x, with only positive terms.

    x = -log((a (1 - w) + w exp(-theta)) / (a (1 - w) + w)) / theta with a = exp(-theta v), w = level and theta > 0;
    for theta < 0, h(x, v) of theta is 1 - h(1 - x, v) of -theta.
    """
    if abs(theta) < 1e-6:
        return level
    turned = 1 - level if theta < 0 else level
    size = abs(theta)
    other = np.exp(-size * second) * (1 - turned)
    found = -np.log((other + turned * np.exp(-size)) / (other + turned)) / size
    return 1 - found if theta < 0 else found


def _stepped(x: Floats, reached: Floats, goal: Floats, density: Floats) -> Floats:
    """One step of Newton's method on the scale of normal scores; the slope is c(x, v) phi(z) / phi(Phi^-1(h))."""
    from scipy.special import ndtr, ndtri

    z, score = ndtri(x), ndtri(_open(reached))
    slope = density * np.exp(np.clip((score**2 - z**2) / 2, -700, 700))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return ndtr(z - (score - goal) / slope)


def _pairs(first: Floats, second: Floats) -> Floats:
    return np.asfortranarray(np.column_stack([first, second]))


def _open(values: Floats) -> Floats:
    return np.clip(values, LEAST, 1 - LEAST)
