"""Parametric pair copulas: families as a table of facts, CDFs from pyvinecopulib, and their fit to noisy cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.model.hints import Hint
from sklar.model.scale import NO_NULLS, clip_open, split_edges

if TYPE_CHECKING:
    import pyvinecopulib

STUDENT_DF = 4.0
TAUS = (0.03, 0.07, 0.13, 0.2, 0.28, 0.37, 0.47, 0.58, 0.7, 0.82, 0.92)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What the search needs to know of a family.

    Attributes:
        rotations: turns of the unit square that give distinct members with positive Kendall's tau at 0 and 180.
        symmetric: whether a negative parameter gives negative dependence (else rotations by 90 and 270 do).
        handicap: chi-square a member must gain over simpler families before it is preferred.
    """

    rotations: tuple[int, ...]
    symmetric: bool
    handicap: float


FAMILIES: dict[str, Family] = {
    "gaussian": Family(rotations=(0,), symmetric=True, handicap=0.0),
    "frank": Family(rotations=(0,), symmetric=True, handicap=0.0),
    "student": Family(rotations=(0,), symmetric=True, handicap=1.0),
    "clayton": Family(rotations=(0, 180), symmetric=False, handicap=1.0),
    "gumbel": Family(rotations=(0, 180), symmetric=False, handicap=1.0),
    "joe": Family(rotations=(0, 180), symmetric=False, handicap=1.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParametricPair:
    """A member of a parametric family, evaluated by pyvinecopulib.

    Attributes:
        family: a key of FAMILIES.
        rotation: 0, 90, 180 or 270 degrees, as in vinecopulib.
        tau: Kendall's tau, from which the first parameter follows.
    """

    family: str
    rotation: int
    tau: float

    def pdf(self, u1: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """Density at (u1, u2)."""
        return self._bicop().pdf(_points(u1, u2))

    def cdf(self, u1: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """P(U1 <= u1, U2 <= u2)."""
        return self._bicop().cdf(_points(u1, u2))

    def hfunc1(self, u1: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """P(U2 <= u2 | U1 = u1)."""
        return self._bicop().hfunc1(_points(u1, u2))

    def hfunc2(self, u1: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """P(U1 <= u1 | U2 = u2)."""
        return self._bicop().hfunc2(_points(u1, u2))

    def hinv1(self, u1: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The u2 with hfunc1(u1, u2) = p."""
        return self._bicop().hinv1(_points(u1, p))

    def hinv2(self, p: np.ndarray, u2: np.ndarray) -> np.ndarray:
        """The u1 with hfunc2(u1, u2) = p."""
        return self._bicop().hinv2(_points(p, u2))

    def _bicop(self) -> pyvinecopulib.Bicop:
        import pyvinecopulib as pv

        kind = getattr(pv.BicopFamily, self.family)
        tau = self.tau if FAMILIES[self.family].symmetric else abs(self.tau)
        if self.family in ("gaussian", "student"):
            parameters = [[np.sin(np.pi / 2 * tau)]] + ([[STUDENT_DF]] if self.family == "student" else [])
        else:
            parameters = pv.Bicop(kind).tau_to_parameters(tau)
        return pv.Bicop(kind, self.rotation, np.asarray(parameters, dtype=float))


def _points(u1: np.ndarray, u2: np.ndarray) -> np.ndarray:
    return np.column_stack([clip_open(u1), clip_open(u2)])


def cell_masses(
    member: ParametricPair, edges1: np.ndarray, edges2: np.ndarray, tops: tuple[float, float] = NO_NULLS
) -> np.ndarray:
    """Exact probability of each cell of a grid: second differences of the CDF at its corners.

    Beyond `tops` an axis holds nulls. They are independent of the other column, and the member speaks about what is
    below: C(u, v) = t1 t2 M(u / t1, v / t2) for u <= t1, v <= t2.
    """
    (below1, above1), (below2, above2) = (split_edges(e, top) for e, top in zip((edges1, edges2), tops, strict=True))
    first, second = np.meshgrid(below1 / tops[0], below2 / tops[1], indexing="ij")
    corners = member.cdf(first.ravel(), second.ravel()).reshape(first.shape)
    corners[below1 <= 0, :], corners[:, below2 <= 0] = 0.0, 0.0
    corners[below1 >= tops[0], :] = below2 / tops[1]
    corners[:, below2 >= tops[1]] = (below1 / tops[0])[:, None]
    corners = tops[0] * tops[1] * corners + np.outer(above1, below2) + np.outer(below1 + above1, above2)
    return np.maximum(np.diff(np.diff(corners, axis=0), axis=1), 0.0)


def fit_family(
    counts: np.ndarray,
    sigma: float,
    rows: float,
    edges1: np.ndarray,
    edges2: np.ndarray,
    hint: Hint | None = None,
    tops: tuple[float, float] = NO_NULLS,
) -> ParametricPair | None:
    """The family member nearest to a noisy table, or None when independence explains it as well.

    Minimizes sum (count - rows p)^2 / (sigma^2 + rows p0) over members, p0 being independence: binned weighted least
    squares. A hint about the correlation is one more term. A member must beat independence by 4, the price of a family
    and a parameter.
    """
    independent = np.outer(np.diff(edges1), np.diff(edges2))
    weight = 1.0 / (sigma**2 + rows * np.maximum(independent, 1e-6))

    def distance(masses: np.ndarray) -> float:
        return float(np.sum(weight * (counts - rows * masses) ** 2)) + (0.0 if hint is None else hint.misfit(masses))

    def misfit(member: ParametricPair) -> float:
        return distance(cell_masses(member, edges1, edges2, tops)) + FAMILIES[member.family].handicap

    nothing = distance(independent) - 4.0
    scored = [(misfit(member), member) for member in _members(_sign(counts, rows, independent, edges1, edges2))]
    best, member = min(scored, key=lambda pair: pair[0])
    if not np.isfinite(best) or best >= nothing:
        return None
    return _refine(member, misfit)


def _sign(
    counts: np.ndarray, rows: float, independent: np.ndarray, edges1: np.ndarray, edges2: np.ndarray
) -> tuple[float, ...]:
    """Signs of dependence to try: both, unless the rank covariance of the table is far from zero."""
    middle1, middle2 = edges1[1:] + edges1[:-1] - 1, edges2[1:] + edges2[:-1] - 1
    slope = float(middle1 @ (counts / rows - independent) @ middle2) * 3.0
    return (1.0, -1.0) if abs(slope) < 0.15 else (np.sign(slope),)


def _members(signs: tuple[float, ...]) -> Iterator[ParametricPair]:
    """The grid of members that the search starts from."""
    for name, family in FAMILIES.items():
        for sign in signs:
            turn = 0 if sign > 0 or family.symmetric else 90
            for rotation in family.rotations:
                for tau in TAUS:
                    yield ParametricPair(family=name, rotation=rotation + turn, tau=float(sign * tau))
    # Dependence without a direction: both tails heavy, Kendall's tau zero.
    yield ParametricPair(family="student", rotation=0, tau=0.0)


def _refine(member: ParametricPair, misfit: Callable[[ParametricPair], float]) -> ParametricPair:
    """Search for Kendall's tau between the neighbors of the best grid point."""
    from scipy.optimize import minimize_scalar

    if member.tau == 0:
        return member
    place = TAUS.index(abs(member.tau))
    low = TAUS[place - 1] if place > 0 else 0.005
    high = TAUS[place + 1] if place + 1 < len(TAUS) else 0.97
    sign = np.sign(member.tau)

    def at(size: float) -> ParametricPair:
        return ParametricPair(family=member.family, rotation=member.rotation, tau=float(sign * size))

    found: Any = minimize_scalar(
        lambda size: misfit(at(size)), bounds=(low, high), method="bounded", options={"xatol": 1e-3}
    )
    return at(float(found.x))
