"""Adjust the pair copulas of the first tree to the observed rank correlation (an extension, not in the paper).

Likelihood fits of an imperfect family, and the smoothing of kernel estimates, miss the rank correlation by one or two
hundredths. One parameter corrects it: the strength of a parametric family, or for a kernel estimate c(u, v) on a grid
the lambda of c(u, v) exp(lambda (u - 1/2) (v - 1/2)), rescaled to uniform margins. Correlations are those of the levels
of the columns, so that columns with few values are handled correctly. If the fitted family cannot have the correlation,
as often with ties, a Gaussian copula replaces it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
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
"""The index of the parameter of each family that controls the strength of dependence."""
MAX_TILT = 200.0
"""Bound of lambda, where the search stops."""
CORRELATION_TOLERANCE = 1e-5
"""Correlations that differ by less are equal: well below the hundredth to be corrected."""
MAX_ERROR = 0.02
"""A family with a larger error is replaced by the Gaussian copula, and a pair that still has one is reported."""
GAUSSIAN = FamilyMember(family="gaussian", parameters=np.zeros(1))
MAX_GAUSSIAN_PARAMETER = 0.999
"""Bound of the Gaussian copula's parameter."""
FIRST_BRACKET = 0.05
"""The first bracket of the search extends by this share of the fitted strength to either side."""
AXIS_CELLS = 128
"""Cells of the unit interval in sums for correlations of copulas: more are more accurate and slower."""


def match_ranks(vine: RegularVine, steps: Steps) -> RegularVine:
    """Set the strength of every edge of the first tree by the rows' rank correlation; warn of pairs that miss it."""
    pairs, tau = [vine.pair_of(edge) for edge in range(len(vine.first))], vine.tau.copy()
    axes = [rank_axis(steps, column) for column in range(vine.size)]
    first = range(min(vine.size - 1, len(pairs)))
    misses: list[float] = []
    for edge in first:
        fitted = pairs[edge]
        pairs[edge], miss = _match_pair(fitted, axes[vine.first[edge]], axes[vine.second[edge]])
        tau[edge] = vine.tau[edge] if pairs[edge] is fitted else pairs[edge].tau
        misses += [miss] if miss > MAX_ERROR else []
    if misses:
        warn_user(
            f"match_ranks: {len(misses)} of {len(first)} pairs of the first tree cannot reach the rank correlation of "
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
    """A variable cut into cells, none of which crosses the border of a level.

    Attributes:
        rows: Mid-ranks of the rows.
        points: Middle of each cell.
        weights: Width of each cell.
        borders: Inner borders of the cells, without 0 and 1.
        firsts: Position of the first cell of each level.
    """

    rows: Floats
    points: Floats
    weights: Floats
    borders: Floats
    firsts: Ints


def rank_axis(steps: Steps, column: int) -> RankAxis:
    """Cut the axis of one variable into cells; with many levels, every cell counts as one level."""
    lower = steps.lower[:, column]
    starts = np.unique(lower)
    edges = np.linspace(0.0, 1.0, AXIS_CELLS + 1)
    firsts = np.arange(AXIS_CELLS)
    if len(starts) <= AXIS_CELLS:
        starts = np.unique(np.concatenate([[0.0], starts[starts < 1.0]]))
        edges = np.unique(np.concatenate([edges, starts]))
        firsts = np.searchsorted(edges, starts)
    points, weights = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    return RankAxis(rows=mid_ranks(lower), points=points, weights=weights, borders=edges[1:-1], firsts=firsts)


def pearson_correlation(left: Floats, right: Floats) -> float:
    """Return Pearson's correlation; NaN if one side is constant."""
    left, right = left - left.mean(), right - right.mean()
    scale = float(np.sqrt((left @ left) * (right @ right)))
    return float(left @ right) / scale if scale > 0 else float("nan")


def copula_correlation(copula: pv.Bicop, one: RankAxis, two: RankAxis) -> float:
    """Compute the rank correlation of rows drawn from a copula and mapped to the levels of two columns.

    A sampler draws the first column of an edge given the second: each point of the second axis spreads over the cells
    of the first by increments of h(u, v) = P(U <= u | V = v). The margins of kernel estimates are not exactly uniform,
    so ranks are taken within the resulting table.
    """
    u, v = np.tile(one.borders, len(two.points)), np.repeat(two.points, len(one.borders))
    h = np.asarray(copula.hfunc2(np.asfortranarray(np.column_stack([u, v])))).reshape(len(two.points), -1)
    cells = two.weights[:, None] * np.diff(h, axis=1, prepend=0.0, append=1.0)
    return table_correlation(np.add.reduceat(np.add.reduceat(cells, two.firsts, axis=0), one.firsts, axis=1))


def table_correlation(table: Floats) -> float:
    """Return Spearman's correlation of a table of probabilities, with mid-ranks of lines and columns."""
    lines, columns = table.sum(axis=1), table.sum(axis=0)
    one, two = np.cumsum(lines) - lines / 2, np.cumsum(columns) - columns / 2
    one, two = one - lines @ one / lines.sum(), two - columns @ two / columns.sum()
    scale = float(np.sqrt((lines @ one**2) * (columns @ two**2)))
    return float(one @ table @ two) / scale if scale > 0 else float("nan")


def _match_pair(pair: FamilyMember, one: RankAxis, two: RankAxis) -> tuple[FamilyMember, float]:
    """Adjust a pair to the rows' correlation, in its own family or else Gaussian; return the remaining error."""
    wanted = pearson_correlation(one.rows, two.rows)
    miss = abs(copula_correlation(pair.bicop(), one, two) - wanted)
    if not np.isfinite(miss):
        return pair, 0.0
    if pair.family in (*STRENGTH, "tll"):
        path = _tilt_path(pair) if pair.family == "tll" else _make_strength_path(pair)
        pair, miss = min((pair, miss), _search_path(path, one, two, wanted), key=itemgetter(1))
    if miss > MAX_ERROR:
        pair, miss = min((pair, miss), _search_path(_make_strength_path(GAUSSIAN), one, two, wanted), key=itemgetter(1))
    return pair, miss


def _search_path(path: Path, one: RankAxis, two: RankAxis, wanted: float) -> tuple[FamilyMember, float]:
    """Return the copula of a path whose correlation is closest to the wanted one, and its error."""
    build, start, low, high = path

    def miss(x: float) -> float:
        return copula_correlation(build(x).bicop(), one, two) - wanted

    found = _find_root(miss, start, low, high)
    tried = [x for x in ((start, low, high) if found is None else (found,)) if np.isfinite(miss(x))]
    best = min(tried, key=lambda x: abs(miss(x)), default=start)
    made = build(best)
    if best != start:
        made = dataclasses.replace(made, parameters=np.asarray(made.bicop().parameters, dtype=np.float64).ravel())
    return made, abs(miss(best))


Path = tuple[Callable[[float], FamilyMember], float, float, float]
"""A function from strength to copula, the fitted strength, and the smallest and largest strength."""


def _make_strength_path(pair: FamilyMember) -> Path:
    place, fitted = STRENGTH[pair.family], pair.bicop()

    def build(x: float) -> FamilyMember:
        changed = pair.parameters.copy()
        changed[place] = x
        return dataclasses.replace(pair, parameters=changed)

    low, high = (float(np.ravel(b)[place]) for b in (fitted.parameters_lower_bounds, fitted.parameters_upper_bounds))
    if pair is GAUSSIAN:
        low, high = -MAX_GAUSSIAN_PARAMETER, MAX_GAUSSIAN_PARAMETER
    return build, float(pair.parameters[place]), low, high


def _tilt_path(pair: FamilyMember) -> Path:
    """Return kernel estimates with more or less dependence; the grid is evenly spaced in normal scores."""
    centred = ndtr(np.linspace(-3.25, 3.25, round(len(pair.parameters) ** 0.5))) - 0.5
    tilt = np.outer(centred, centred).ravel()

    def build(x: float) -> FamilyMember:
        return dataclasses.replace(pair, parameters=pair.parameters * np.exp(x * tilt))

    return build, 0.0, -MAX_TILT, MAX_TILT


def _find_root(miss: Callable[[float], float], start: float, low: float, high: float) -> float | None:
    """Find the zero of a monotone function in a bracket around the start, widened until the sign changes.

    Returns None if the start is already a zero, or if there is none.
    """
    from scipy.optimize import brentq

    if not abs(miss(start)) >= CORRELATION_TOLERANCE:
        return None
    width = FIRST_BRACKET * (abs(start) + 0.2)
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
