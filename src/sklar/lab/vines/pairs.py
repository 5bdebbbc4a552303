"""Fit one pair copula: screen all members of all families on a grid of cells, then optimize from the best few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np

from sklar.arrays import Floats
from sklar.lab.vines.members import (
    KINDS,
    Node,
    cells_as_points,
    count_rows,
    log_masses,
    make_dictionary,
    rows_as_points,
)
from sklar.model.rvine.vine import INDEPENDENT, FamilyMember, import_pyvinecopulib

COUNT_CELLS = 32
"""Cells along each axis if counts replace the rows: more are more accurate; time grows with their square."""
SCREENING_CELLS = 16
"""Cells along each axis if counts only find starting points for an optimization on the rows."""
ROTATIONS = (0, 90, 180, 270)
MAX_STARTS = 4
"""Maximum number of families (with their rotation) that are optimized."""
MIN_INDEPENDENCE_MARGIN = 1.0
"""Independence is chosen without optimization if it beats every grid member by more than this in the criterion."""
MAX_START_DEFICIT, MAX_START_DEFICIT_SHARE = 5.0, 0.03
"""A start that is worse than the best by more, in units of AIC plus a share of its gain, is not optimized."""
SIMPLEX_STEP, MAX_EVALUATIONS = 0.3, 60
"""First steps of the simplex on the unbounded scale, and the maximum number of likelihood evaluations."""
PARAMETER_TOLERANCE, LIKELIHOOD_TOLERANCE = 0.1, 0.01
"""The optimization ends when parameters on the unbounded scale, and log-likelihoods, differ by no more."""
MAX_KERNEL_ROWS = 10_000
"""Maximum number of rows of a kernel estimate; more are thinned evenly. Its grid has only 30 x 30 points."""
Cost = Callable[[Sequence[float]], float]
Corner = tuple[float, list[float]]
_COST = itemgetter(0)


def fit_pair(first: Node, second: Node, families: tuple[str, ...], selection: str, *, grid: bool) -> FamilyMember:
    """Return the best member of the families by AIC or BIC.

    Args:
        families: Names, including "indep" if independence may be chosen.
        selection: "aic", "bic" or "loglik".
        grid: Fit to counts of cells (many rows) and not to the rows.
    """
    cells = COUNT_CELLS if grid else SCREENING_CELLS
    counts = count_rows(first, second, cells)
    price = parameter_penalty(selection, len(first.u))
    starts = screen_members(counts, families, price)
    optional = "indep" in families
    if optional and (not starts or information_criterion(starts[0], price) > MIN_INDEPENDENCE_MARGIN):
        return INDEPENDENT
    likelihood = _make_likelihood(first, second, counts, grid=grid)
    ties = "d" in (first.kind, second.kind)
    found = [refine_start(start, likelihood, wide=ties) for start in promising_starts(starts, price)]
    if ties and not grid:  # the optimization used cells
        rows = rows_as_points(first, second)
        found = [replace(pair, loglik=rows.loglik(pair.bicop(rows.kinds))) for pair in found]
    best = min(found, key=lambda pair: information_criterion(pair, price))
    return INDEPENDENT if optional and information_criterion(best, price) >= 0 else best


def parameter_penalty(selection: str, rows: int) -> float:
    """Return the penalty per parameter on the scale of minus twice the log-likelihood."""
    return {"aic": 2.0, "bic": float(np.log(rows)), "loglik": 0.0}[selection]


def information_criterion(pair: FamilyMember, price: float) -> float:
    """Return AIC or BIC for a penalty per parameter; independence has 0."""
    return price * len(pair.parameters) - 2 * pair.loglik


def promising_starts(starts: list[FamilyMember], price: float) -> list[FamilyMember]:
    """Return the first few starts that are close to the best: optimization improves little over the grid."""
    scores = [information_criterion(start, price) for start in starts[:MAX_STARTS]]
    reach = scores[0] + MAX_START_DEFICIT + MAX_START_DEFICIT_SHARE * max(-scores[0], 0.0)
    return [start for start, score in zip(starts, scores, strict=False) if score <= reach]


def screen_members(counts: Floats, families: tuple[str, ...], price: float) -> list[FamilyMember]:
    """Return the best grid member of every family and rotation, best first, by one matrix product.

    Rotating a copula is equivalent to rotating the counts, so one set of cells serves all four rotations.
    """
    members = make_dictionary(families, len(counts))
    turned = np.stack([turn_counts(counts, turn).ravel() for turn in ROTATIONS], axis=1).astype(np.float32)
    scores = members.logs @ turned
    found: list[FamilyMember] = []
    names = np.array(members.family)
    for family in dict.fromkeys(members.family):
        rows = np.flatnonzero(names == family)
        turns = KINDS[family].turns
        for column, turn in enumerate(ROTATIONS if turns else ROTATIONS[:2]):
            best = rows[int(np.argmax(scores[rows, column]))]
            value, loglik = np.array(members.parameters[best]), float(scores[best, column])
            if not turns and turn == 90:
                value[0] = -value[0]
            found.append(FamilyMember(family=family, rotation=turn if turns else 0, parameters=value, loglik=loglik))
    return sorted(found, key=lambda pair: information_criterion(pair, price))


def turn_counts(counts: Floats, turn: int) -> Floats:
    """Rotate counts to the frame in which a copula rotated by `turn` is not rotated (as in vinecopulib)."""
    if turn == 90:
        return counts[::-1, :].T
    if turn == 180:
        return counts[::-1, ::-1]
    return counts[:, ::-1].T if turn == 270 else counts


def refine_start(start: FamilyMember, likelihood: Callable[[FamilyMember], float], *, wide: bool) -> FamilyMember:
    """Maximize the likelihood near the start in its family and rotation."""
    from scipy.optimize import minimize_scalar

    kind = KINDS[start.family]

    def member(x: Sequence[float]) -> FamilyMember:
        return replace(start, parameters=kind.from_free(x), loglik=0.0)

    def cost(x: Sequence[float]) -> float:
        return -likelihood(member(x))

    begin = [float(x) for x in kind.to_free(start.parameters)]
    if len(begin) == 1:
        low, high = _bracket(start, begin[0], wide=wide)
        options = {"xatol": 1e-3 * (high - low)}
        done: Any = minimize_scalar(lambda x: cost((x,)), bounds=(low, high), method="bounded", options=options)
        least, best = float(done.fun), [float(done.x)]
    else:
        least, best = minimize_simplex(cost, begin, SIMPLEX_STEP * (2 if wide else 1))
    return replace(member(best), loglik=-least)


def minimize_simplex(
    cost: Cost,
    begin: Sequence[float],
    step: float,
    *,
    near: float = PARAMETER_TOLERANCE,
    level: float = LIKELIHOOD_TOLERANCE,
    evaluations: int = MAX_EVALUATIONS,
) -> Corner:
    """Return the smallest cost found and its position, by the simplex of Nelder and Mead (1965) on plain floats.

    scipy works on arrays, which for two or three parameters takes longer than the costs themselves.

    Args:
        step: Distance of the other corners from `begin`, one along each axis.
        near: Stop if all corners are this near the best one along every axis,
        level: and their costs differ by no more than this.
        evaluations: Or stop after this number of evaluations (a shrinking simplex may use a few more).
    """
    sides = [[value + step if at == axis else value for at, value in enumerate(begin)] for axis in range(len(begin))]
    corners = sorted(((cost(point), point) for point in [list(begin), *sides]), key=_COST)
    used = len(corners)
    while used < evaluations and not _has_converged(corners, near, level):
        middle = [sum(values) / (len(corners) - 1) for values in zip(*(p for _, p in corners[:-1]), strict=True)]
        corners, more = _move_worst(cost, corners, middle)
        corners.sort(key=_COST)
        used += more
    return corners[0]


def _move_worst(cost: Cost, corners: list[Corner], middle: list[float]) -> tuple[list[Corner], int]:
    """Reflect the worst corner, and expand, contract, or shrink all corners; also return the evaluations used."""
    best, worst = corners[0], corners[-1]

    def evaluate(along: float) -> Corner:
        point = _interpolate(middle, worst[1], along)
        return cost(point), point

    reflected = evaluate(-1.0)
    if reflected[0] < best[0]:
        return [*corners[:-1], min(reflected, evaluate(-2.0), key=_COST)], 2
    if reflected[0] < corners[-2][0]:
        return [*corners[:-1], reflected], 1
    contracted = evaluate(0.5 if reflected[0] >= worst[0] else -0.5)
    if contracted[0] < min(reflected[0], worst[0]):
        return [*corners[:-1], contracted], 2
    shrunk = [_interpolate(best[1], point, 0.5) for _, point in corners[1:]]
    return [best, *((cost(point), point) for point in shrunk)], 2 + len(shrunk)


def _has_converged(corners: list[Corner], near: float, level: float) -> bool:
    best = corners[0]
    if corners[-1][0] - best[0] > level:
        return False
    return all(abs(a - b) <= near for _, point in corners[1:] for a, b in zip(point, best[1], strict=True))


def _interpolate(start: list[float], end: list[float], along: float) -> list[float]:
    return [a + along * (b - a) for a, b in zip(start, end, strict=True)]


def _bracket(start: FamilyMember, begin: float, *, wide: bool) -> tuple[float, float]:
    """Return the neighbours of the start on its family's grid, or the ends of the whole grid if `wide`."""
    kind = KINDS[start.family]
    ladder = np.sort([kind.to_free(values)[0] for values in kind.grid])
    if not kind.turns and start.parameters[0] < 0:
        ladder = np.sort(-ladder)
    ends = [ladder[0] - (ladder[1] - ladder[0]), *ladder, ladder[-1] + (ladder[-1] - ladder[-2])]
    if wide:
        return float(ends[0]), float(ends[-1])
    place = int(np.clip(np.argmin(np.abs(np.array(ends) - begin)), 1, len(ends) - 2))
    return float(ends[place - 1]), float(ends[place + 1])


def _make_likelihood(first: Node, second: Node, counts: Floats, *, grid: bool) -> Callable[[FamilyMember], float]:
    """Return the log-likelihood of members: on cell counts, or on rows; rows with ties are merged by cells, too."""
    ties = "d" in (first.kind, second.kind)
    if grid and not ties:
        return lambda pair: float(np.vdot(counts, log_masses(pair.bicop(), COUNT_CELLS)))
    points = cells_as_points(first, second, COUNT_CELLS) if grid or ties else rows_as_points(first, second)
    made: dict[tuple[str, int], Any] = {}

    def likelihood(pair: FamilyMember) -> float:
        key = (pair.family, pair.rotation)
        if key not in made:
            made[key] = pair.bicop(points.kinds)
        made[key].parameters = np.asfortranarray(pair.parameters.reshape(-1, 1))
        return points.loglik(made[key])

    return likelihood


def compare_with_kernel(best: FamilyMember, first: Node, second: Node, selection: str, *, grid: bool) -> FamilyMember:
    """Return the kernel estimate if AIC or BIC, with its effective number of parameters, prefers it to `best`.

    If most rows of columns treated as continuous tie, there is no density to estimate, and a dependent family is kept.
    """
    common = first.kind == second.kind == "c" and rows_as_points(first, second).weights is not None
    if best.family != "indep" and common:
        return best
    kernel, size = kernel_pair(first, second)
    points = cells_as_points(first, second, COUNT_CELLS) if grid else rows_as_points(first, second)
    price = parameter_penalty(selection, len(first.u))
    gained = points.loglik(kernel.bicop(points.kinds))
    had = 0.0 if best.family == "indep" else points.loglik(best.bicop(points.kinds))
    better = price * size - 2 * gained < price * len(best.parameters) - 2 * had
    return replace(kernel, loglik=gained) if better else best


def kernel_pair(first: Node, second: Node) -> tuple[FamilyMember, float]:
    """Fit a transformation local likelihood estimate (Geenens et al. 2017); return its effective size, too."""
    pv = import_pyvinecopulib()
    step = -(-len(first.u) // MAX_KERNEL_ROWS)
    rows = np.column_stack([first.spread()[::step], second.spread()[::step]])
    controls = pv.FitControlsBicop(family_set=[pv.BicopFamily.tll])
    found = pv.Bicop.from_data(np.asfortranarray(np.clip(rows, 1e-10, 1 - 1e-10)), controls)
    return FamilyMember(family="tll", parameters=np.asarray(found.parameters, dtype=float).ravel()), float(found.npars)
