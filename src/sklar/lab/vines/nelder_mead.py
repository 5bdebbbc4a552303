"""The lowest point of a function of few parameters that costs little: a simplex that walks downhill."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter

Cost = Callable[[Sequence[float]], float]
Corner = tuple[float, list[float]]
_HEIGHT = itemgetter(0)


def lowest(cost: Cost, begin: Sequence[float], step: float, *, near: float, level: float, evaluations: int) -> Corner:
    """The least cost found and where, by the simplex of Nelder and Mead (1965) on plain numbers.

    A library's version works on arrays, which for two or three parameters takes longer than the costs themselves.

    Args:
        step: How far from `begin` the other corners lie, one along each axis.
        near: Done when all corners are this near the best one, along every axis,
        level: and their costs differ by no more than this.
        evaluations: Or when the function was asked this often (a shrinking simplex may end a few later).
    """
    sides = [[value + step if at == axis else value for at, value in enumerate(begin)] for axis in range(len(begin))]
    corners = sorted(((cost(point), point) for point in [list(begin), *sides]), key=_HEIGHT)
    used = len(corners)
    while used < evaluations and not _settled(corners, near, level):
        middle = [sum(values) / (len(corners) - 1) for values in zip(*(p for _, p in corners[:-1]), strict=True)]
        corners, asked = _walk(cost, corners, middle)
        corners.sort(key=_HEIGHT)
        used += asked
    return corners[0]


def _walk(cost: Cost, corners: list[Corner], middle: list[float]) -> tuple[list[Corner], int]:
    """One move of the worst corner: mirror it, and go further, stop halfway, or draw all corners to the best."""
    best, worst = corners[0], corners[-1]

    def ask(along: float) -> Corner:
        point = _between(middle, worst[1], along)
        return cost(point), point

    mirrored = ask(-1.0)
    if mirrored[0] < best[0]:
        return [*corners[:-1], min(mirrored, ask(-2.0), key=_HEIGHT)], 2
    if mirrored[0] < corners[-2][0]:
        return [*corners[:-1], mirrored], 1
    halfway = ask(0.5 if mirrored[0] >= worst[0] else -0.5)
    if halfway[0] < min(mirrored[0], worst[0]):
        return [*corners[:-1], halfway], 2
    drawn = [_between(best[1], point, 0.5) for _, point in corners[1:]]
    return [best, *((cost(point), point) for point in drawn)], 2 + len(drawn)


def _settled(corners: list[Corner], near: float, level: float) -> bool:
    best = corners[0]
    if corners[-1][0] - best[0] > level:
        return False
    return all(abs(a - b) <= near for _, point in corners[1:] for a, b in zip(point, best[1], strict=True))


def _between(start: list[float], end: list[float], along: float) -> list[float]:
    return [a + along * (b - a) for a, b in zip(start, end, strict=True)]
