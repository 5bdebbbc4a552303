"""Ours, not in the paper: pair copulas of the first tree adjusted until rows drawn from them have the rows' rank
correlation.

Likelihood fits of a family that is not quite right, and the smoothing of kernel estimates, miss the rank correlation
by one or two hundredths. One parameter sets it right: the strength of a parametric family; for a kernel estimate
c(u, v) on a grid the lambda of c(u, v) exp(lambda (u - 1/2) (v - 1/2)), scaled to uniform margins again. Correlations
are those of the levels of the columns, so that columns of few values are treated right, too. Where the fitted family
cannot have the correlation, as with many that were fitted to ties, a Gaussian copula takes its place.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from sklar.arrays import Floats, Ints
from sklar.errors import SklarWarning, warn_user
from sklar.lab.baselines.columns import mid_ranks
from sklar.lab.baselines.shirley.steps import Steps
from sklar.model.rvine.vine import FAMILIES, FamilyMember, RegularVine

if TYPE_CHECKING:
    import pyvinecopulib as pv

STRENGTH = {name: 2 if name == "tawn" else 0 for name in FAMILIES if name not in ("indep", "tll")}
"""Which parameter of a family carries the strength of dependence."""
MOST_TILT = 200.0
"""Bound of lambda, where the search for it gives up."""
CLOSE = 1e-5
"""Correlations that agree so far are the same: well below the hundredth that is to be set right."""
FAR = 0.02
"""A family that misses by more gives way to the Gaussian copula, and a pair that still does is told."""
GAUSSIAN = FamilyMember(family="gaussian", parameters=np.zeros(1))
MOST_CORRELATED = 0.999
"""Bound of the Gaussian copula's parameter."""
NEAR = 0.05
"""The first bracket reaches this share of the fitted strength to either side of it."""
CELLS = 128
"""Cells of the unit interval over which correlations of copulas are summed: accuracy against time."""


def match_ranks(vine: RegularVine, steps: Steps) -> RegularVine:
    """The vine with the strength of every edge of its first tree set by the rows' rank correlation; a warning tells
    of pairs that cannot have it."""
    pairs, tau = [vine.pair_of(edge) for edge in range(len(vine.first))], vine.tau.copy()
    axes = [rank_axis(steps, column) for column in range(vine.size)]
    first = range(min(vine.size - 1, len(pairs)))
    misses: list[float] = []
    for edge in first:
        fitted = pairs[edge]
        pairs[edge], miss = _match_pair(fitted, axes[vine.first[edge]], axes[vine.second[edge]])
        tau[edge] = vine.tau[edge] if pairs[edge] is fitted else pairs[edge].tau
        misses += [miss] if miss > FAR else []
    if misses:
        warn_user(
            f"match_ranks: {len(misses)} of {len(first)} pairs of the first tree cannot have the rank correlation of "
            f"the rows; they miss it by up to {max(misses):.2f}",
            SklarWarning,
        )
    return dataclasses.replace(
        vine,
        family=np.array([FAMILIES.index(pair.family) for pair in pairs], dtype=np.int64),
        rotation=np.array([pair.rotation for pair in pairs], dtype=np.int64),
        parameters=np.concatenate([*(pair.parameters for pair in pairs), np.zeros(0)]),
        counts=np.array([len(pair.parameters) for pair in pairs], dtype=np.int64),
        tau=tau,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankAxis:
    """A variable cut into cells none of which crosses the border of a level.

    Attributes:
        rows: Mid-ranks of the rows.
        points: Middle of each cell.
        weights: Width of each cell.
        borders: Where one cell ends and the next begins, 0 and 1 left out.
        firsts: Position of the first cell of each level.
    """

    rows: Floats
    points: Floats
    weights: Floats
    borders: Floats
    firsts: Ints


def rank_axis(steps: Steps, column: int) -> RankAxis:
    """The axis of one variable. With many levels, every cell stands for one."""
    lower = steps.lower[:, column]
    starts = np.unique(lower)
    edges = np.linspace(0.0, 1.0, CELLS + 1)
    firsts = np.arange(CELLS)
    if len(starts) <= CELLS:
        starts = np.unique(np.concatenate([[0.0], starts[starts < 1.0]]))
        edges = np.unique(np.concatenate([edges, starts]))
        firsts = np.searchsorted(edges, starts)
    points, weights = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    return RankAxis(rows=mid_ranks(lower), points=points, weights=weights, borders=edges[1:-1], firsts=firsts)


def correlation(left: Floats, right: Floats) -> float:
    """Pearson's correlation; NaN if one side is constant."""
    left, right = left - left.mean(), right - right.mean()
    scale = float(np.sqrt((left @ left) * (right @ right)))
    return float(left @ right) / scale if scale > 0 else float("nan")


def copula_correlation(copula: pv.Bicop, one: RankAxis, two: RankAxis) -> float:
    """Rank correlation of rows drawn from a copula and put on the levels of two columns.

    A sampler draws the first column of an edge given the second: each point of the second axis spreads over the cells
    of the first by increments of h(u, v) = P(U <= u | V = v). Kernel estimates have margins that are not quite uniform;
    ranks are taken within the table that is drawn.
    """
    u, v = np.tile(one.borders, len(two.points)), np.repeat(two.points, len(one.borders))
    h = np.asarray(copula.hfunc2(np.asfortranarray(np.column_stack([u, v])))).reshape(len(two.points), -1)
    cells = two.weights[:, None] * np.diff(h, axis=1, prepend=0.0, append=1.0)
    return table_correlation(np.add.reduceat(np.add.reduceat(cells, two.firsts, axis=0), one.firsts, axis=1))


def table_correlation(table: Floats) -> float:
    """Spearman's correlation of a table of probabilities, ranks in the middle of each line and column."""
    lines, columns = table.sum(axis=1), table.sum(axis=0)
    one, two = np.cumsum(lines) - lines / 2, np.cumsum(columns) - columns / 2
    one, two = one - lines @ one / lines.sum(), two - columns @ two / columns.sum()
    scale = float(np.sqrt((lines @ one**2) * (columns @ two**2)))
    return float(one @ table @ two) / scale if scale > 0 else float("nan")


def _match_pair(pair: FamilyMember, one: RankAxis, two: RankAxis) -> tuple[FamilyMember, float]:
    """The pair with the rows' correlation, of its own family or else Gaussian, and by how much it still misses."""
    wanted = correlation(one.rows, two.rows)
    miss = abs(copula_correlation(pair.bicop(), one, two) - wanted)
    if not np.isfinite(miss):
        return pair, 0.0
    if pair.family in (*STRENGTH, "tll"):
        path = _tilt_path(pair) if pair.family == "tll" else _strength_path(pair)
        moved, moved_miss = _along(path, one, two, wanted)
        pair, miss = (moved, moved_miss) if moved_miss < miss else (pair, miss)
    if miss > FAR:
        moved, moved_miss = _along(_strength_path(GAUSSIAN), one, two, wanted)
        pair, miss = (moved, moved_miss) if moved_miss < miss else (pair, miss)
    return pair, miss


def _along(path: Path, one: RankAxis, two: RankAxis, wanted: float) -> tuple[FamilyMember, float]:
    """The copula of a path whose correlation is the wanted one, or closest to it, and its miss."""
    build, start, low, high = path

    def miss(x: float) -> float:
        return copula_correlation(build(x).bicop(), one, two) - wanted

    found = _root(miss, start, low, high)
    tried = [x for x in ((start, low, high) if found is None else (found,)) if np.isfinite(miss(x))]
    best = min(tried, key=lambda x: abs(miss(x)), default=start)
    made = build(best)
    if best != start:
        made = dataclasses.replace(made, parameters=np.asarray(made.bicop().parameters, dtype=np.float64).ravel())
    return made, abs(miss(best))


Path = tuple[Callable[[float], FamilyMember], float, float, float]
"""Copulas by strength, the fitted strength, and the least and largest one."""


def _strength_path(pair: FamilyMember) -> Path:
    place, fitted = STRENGTH[pair.family], pair.bicop()

    def build(x: float) -> FamilyMember:
        changed = pair.parameters.copy()
        changed[place] = x
        return dataclasses.replace(pair, parameters=changed)

    low, high = (float(np.ravel(b)[place]) for b in (fitted.parameters_lower_bounds, fitted.parameters_upper_bounds))
    if pair is GAUSSIAN:
        low, high = -MOST_CORRELATED, MOST_CORRELATED
    return build, float(pair.parameters[place]), low, high


def _tilt_path(pair: FamilyMember) -> Path:
    """A kernel estimate with more or less dependence; its grid is evenly spaced in normal scores."""
    centred = ndtr(np.linspace(-3.25, 3.25, round(len(pair.parameters) ** 0.5))) - 0.5
    tilt = np.outer(centred, centred).ravel()

    def build(x: float) -> FamilyMember:
        return dataclasses.replace(pair, parameters=pair.parameters * np.exp(x * tilt))

    return build, 0.0, -MOST_TILT, MOST_TILT


def _root(miss: Callable[[float], float], start: float, low: float, high: float) -> float | None:
    """Where a monotone function is zero, inside a bracket around the start that is widened until the sign changes.

    None if it is at the start already, or nowhere.
    """
    from scipy.optimize import brentq

    if not abs(miss(start)) >= CLOSE:
        return None
    width = NEAR * (abs(start) + 0.2)
    while True:
        left, right = max(low, start - width), min(high, start + width)
        at_left, at_right = miss(left), miss(right)
        if not (np.isfinite(at_left) and np.isfinite(at_right)):
            return None
        if at_left * at_right <= 0:
            return float(brentq(miss, left, right, xtol=1e-6, rtol=1e-6, maxiter=60))  # type: ignore[arg-type]
        if left <= low and right >= high:
            return None
        width *= 3.0
