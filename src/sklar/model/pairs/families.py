"""Fit a member of a parametric family of copulas to a noisy table by weighted least squares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sklar.arrays import Floats
from sklar.model.axis import NO_NULLS, Tops, split_edges
from sklar.model.pairs.hints import Hint, Pair
from sklar.model.pairs.parametric import FAMILIES, ParametricPair

START_TAUS = (0.03, 0.07, 0.13, 0.2, 0.28, 0.37, 0.47, 0.58, 0.7, 0.82, 0.92)
"""Kendall's taus that the search starts from: each costs one CDF on the grid for every family, rotation and sign."""
PARAMETER_PRICE = 2.0
"""Chi-square that each parameter must gain, by Akaike's criterion: of a deeper edge of the vine, and twice as much
of a pair here, for its parameter and for the choice of its family."""


def cell_masses(member: ParametricPair, edges1: Floats, edges2: Floats, tops: Tops = NO_NULLS) -> Floats:
    """Return exact probability of each cell of a grid: second differences of the CDF at its corners.

    Beyond `tops` an axis holds nulls. They are independent of the other column, and the member speaks about what is
    below: C(u, v) = t1 t2 M(u / t1, v / t2) for u <= t1, v <= t2.
    """
    (below1, above1), (below2, above2) = (split_edges(e, top) for e, top in zip((edges1, edges2), tops, strict=True))
    corners = member.cdf(below1 / tops[0], below2 / tops[1])
    corners[below1 <= 0, :], corners[:, below2 <= 0] = 0.0, 0.0
    corners[below1 >= tops[0], :] = below2 / tops[1]
    corners[:, below2 >= tops[1]] = (below1 / tops[0])[:, None]
    corners = tops[0] * tops[1] * corners + np.outer(above1, below2) + np.outer(below1 + above1, above2)
    return np.maximum(np.diff(np.diff(corners, axis=0), axis=1), 0.0)


def fit_family(
    counts: Floats, sigma: float, rows: float, edges: Pair, hint: Hint | None = None, tops: Tops = NO_NULLS
) -> ParametricPair | None:
    """Return the family member nearest to a noisy table, or None when independence explains it as well.

    Minimizes sum (count - rows p)^2 / (sigma^2 + rows p0) over members, p0 being independence: binned weighted least
    squares. A hint about the correlation is one more term. A member must beat independence by twice PARAMETER_PRICE.
    """
    independent = np.outer(np.diff(edges[0]), np.diff(edges[1]))
    weight = 1.0 / (sigma**2 + rows * np.maximum(independent, 1e-6))

    def distance(masses: Floats) -> float:
        return float(np.sum(weight * (counts - rows * masses) ** 2)) + (0.0 if hint is None else hint.misfit(masses))

    def misfit(member: ParametricPair) -> float:
        return distance(cell_masses(member, *edges, tops)) + FAMILIES[member.family].handicap

    nothing = distance(independent) - 2 * PARAMETER_PRICE
    scored = [(misfit(member), member) for member in _members(_sign(counts, rows, independent, *edges))]
    best, member = min(scored, key=lambda pair: pair[0])
    if not np.isfinite(best) or best >= nothing:
        return None
    return _refine(member, misfit)


def _sign(counts: Floats, rows: float, independent: Floats, edges1: Floats, edges2: Floats) -> tuple[float, ...]:
    """Return signs of dependence to try: both, unless the rank covariance of the table is far from zero."""
    middle1, middle2 = edges1[1:] + edges1[:-1] - 1, edges2[1:] + edges2[:-1] - 1
    slope = float(middle1 @ (counts / rows - independent) @ middle2) * 3.0
    return (1.0, -1.0) if abs(slope) < 0.15 else (np.sign(slope),)


def _members(signs: tuple[float, ...]) -> Iterator[ParametricPair]:
    """Yield the grid of members that the search starts from."""
    for name, family in FAMILIES.items():
        for sign in signs:
            turn = 0 if sign > 0 or family.symmetric else 90
            for rotation in family.rotations:
                for tau in START_TAUS:
                    yield ParametricPair(family=name, rotation=rotation + turn, tau=float(sign * tau))
    # Dependence without a direction: both tails heavy, Kendall's tau zero.
    yield ParametricPair(family="student", rotation=0, tau=0.0)


def _refine(member: ParametricPair, misfit: Callable[[ParametricPair], float]) -> ParametricPair:
    """Search for Kendall's tau between the neighbours of the best grid point."""
    from scipy.optimize import minimize_scalar

    if member.tau == 0:
        return member
    place, sign = START_TAUS.index(abs(member.tau)), np.sign(member.tau)
    low = START_TAUS[place - 1] if place > 0 else 0.005
    high = START_TAUS[place + 1] if place + 1 < len(START_TAUS) else 0.97

    def at(size: float) -> ParametricPair:
        return replace(member, tau=float(sign * size))

    found: Any = minimize_scalar(
        lambda size: misfit(at(size)), bounds=(low, high), method="bounded", options={"xatol": 1e-3}
    )
    return at(float(found.x))
