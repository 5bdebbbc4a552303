"""Fitting one pair copula: all members of all families at once on a grid of cells, then a search from the best few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sklar.arrays import Floats
from sklar.lab.vines.members import KINDS, Node, cells_as_points, counts_of, dictionary, log_masses, rows_as_points
from sklar.lab.vines.nelder_mead import lowest
from sklar.model.rvine.vine import INDEPENDENT, FamilyMember, import_pyvinecopulib

CELLS = 32
"""Cells along each axis where counts stand for the rows: accuracy against time, which goes with their square."""
FEWER_CELLS = 16
"""The same where cells only find starts for a search on the rows."""
TURNS = (0, 90, 180, 270)
KEPT = 4
"""Families (with their rotation) that are searched further, best first."""
CLEARLY_WORSE = 1.0
"""Independence is taken without a search if no member of the grids comes closer than this to beating it."""
SLACK, SLACK_SHARE = 5.0, 0.03
"""A start further than this behind the best, in units of AIC and as a share of its gain, is not searched from."""
STEP, EVALUATIONS = 0.3, 60
"""First steps of the simplex on the free scale of the parameters, and how often it may ask for a likelihood."""
NEAR, LEVEL = 0.1, 0.01
"""A search ends when parameters on their free scale, and log-likelihoods, differ by no more."""


def fit_pair(first: Node, second: Node, families: tuple[str, ...], selection: str, *, grid: bool) -> FamilyMember:
    """The best member of the families by AIC or BIC.

    Args:
        families: Names; "indep" among them if independence may be chosen.
        selection: "aic", "bic" or "loglik".
        grid: Fit to counts of cells (many rows) and not to the rows.
    """
    cells = CELLS if grid else FEWER_CELLS
    counts = counts_of(first, second, cells)
    price = penalty(selection, len(first.u))
    starts = screen(counts, families, price)
    optional = "indep" in families
    if optional and (not starts or criterion(starts[0], price) > CLEARLY_WORSE):
        return INDEPENDENT
    likelihood = _likelihood(first, second, counts, grid=grid)
    ties = "d" in (first.kind, second.kind)
    found = [refine(start, likelihood, wide=ties) for start in promising_starts(starts, price)]
    if ties and not grid:  # searched on cells
        rows = rows_as_points(first, second)
        found = [replace(pair, loglik=rows.loglik(pair.bicop(rows.kinds))) for pair in found]
    best = min(found, key=lambda pair: criterion(pair, price))
    return INDEPENDENT if optional and criterion(best, price) >= 0 else best


def penalty(selection: str, rows: int) -> float:
    """What a parameter costs on the scale of minus twice the log-likelihood."""
    return {"aic": 2.0, "bic": float(np.log(rows)), "loglik": 0.0}[selection]


def criterion(pair: FamilyMember, price: float) -> float:
    """AIC or BIC by the price of a parameter; independence has 0."""
    return price * len(pair.parameters) - 2 * pair.loglik


def promising_starts(starts: list[FamilyMember], price: float) -> list[FamilyMember]:
    """The first few starts, as far as they lie within reach of the best: a search gains little over a grid."""
    scores = [criterion(start, price) for start in starts[:KEPT]]
    reach = scores[0] + SLACK + SLACK_SHARE * max(-scores[0], 0.0)
    return [start for start, score in zip(starts, scores, strict=False) if score <= reach]


def screen(counts: Floats, families: tuple[str, ...], price: float) -> list[FamilyMember]:
    """The best grid member of every family and rotation, best first: one product of matrices.

    Rotating a copula is the same as rotating the counts, so that one set of cells serves all four rotations.
    """
    members = dictionary(families, len(counts))
    turned = np.stack([turn_counts(counts, turn).ravel() for turn in TURNS], axis=1).astype(np.float32)
    scores = members.logs @ turned
    found: list[FamilyMember] = []
    names = np.array(members.family)
    for family in dict.fromkeys(members.family):
        rows = np.flatnonzero(names == family)
        turns = KINDS[family].turns
        for column, turn in enumerate(TURNS if turns else TURNS[:2]):
            best = rows[int(np.argmax(scores[rows, column]))]
            value, loglik = np.array(members.parameters[best]), float(scores[best, column])
            if not turns and turn == 90:
                value[0] = -value[0]
            found.append(FamilyMember(family=family, rotation=turn if turns else 0, parameters=value, loglik=loglik))
    return sorted(found, key=lambda pair: criterion(pair, price))


def turn_counts(counts: Floats, turn: int) -> Floats:
    """Counts in the frame in which a copula turned by `turn` is not turned (rotations as in vinecopulib)."""
    if turn == 90:
        return counts[::-1, :].T
    if turn == 180:
        return counts[::-1, ::-1]
    return counts[:, ::-1].T if turn == 270 else counts


def refine(start: FamilyMember, likelihood: Callable[[FamilyMember], float], *, wide: bool) -> FamilyMember:
    """The member of the start's family and rotation with the largest likelihood near the start."""
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
        step = STEP * (2 if wide else 1)
        least, best = lowest(cost, begin, step, near=NEAR, level=LEVEL, evaluations=EVALUATIONS)
    return replace(member(best), loglik=-least)


def _bracket(start: FamilyMember, begin: float, *, wide: bool) -> tuple[float, float]:
    """Neighbours of the start on its family's grid, or the whole grid upward of weak dependence."""
    kind = KINDS[start.family]
    ladder = np.sort([kind.to_free(values)[0] for values in kind.grid])
    if not kind.turns and start.parameters[0] < 0:
        ladder = np.sort(-ladder)
    ends = [ladder[0] - (ladder[1] - ladder[0]), *ladder, ladder[-1] + (ladder[-1] - ladder[-2])]
    if wide:
        return float(ends[0]), float(ends[-1])
    place = int(np.clip(np.argmin(np.abs(np.array(ends) - begin)), 1, len(ends) - 2))
    return float(ends[place - 1]), float(ends[place + 1])


def _likelihood(first: Node, second: Node, counts: Floats, *, grid: bool) -> Callable[[FamilyMember], float]:
    """Log-likelihood of a member: of cell counts, or of rows at their points; rows with ties are put into cells too."""
    ties = "d" in (first.kind, second.kind)
    if grid and not ties:
        return lambda pair: float(np.vdot(counts, log_masses(pair.bicop(), CELLS)))
    points = cells_as_points(first, second, CELLS) if grid or ties else rows_as_points(first, second)
    made: dict[tuple[str, int], Any] = {}

    def likelihood(pair: FamilyMember) -> float:
        key = (pair.family, pair.rotation)
        if key not in made:
            made[key] = pair.bicop(points.kinds)
        made[key].parameters = np.asfortranarray(pair.parameters.reshape(-1, 1))
        return points.loglik(made[key])

    return likelihood


MOST_ROWS = 10_000
"""Rows a kernel estimate is made of at most; more are thinned evenly. Its grid has 30 x 30 points anyway."""


def or_kernel(best: FamilyMember, first: Node, second: Node, selection: str, *, grid: bool) -> FamilyMember:
    """The kernel estimate if AIC or BIC, with its effective number of parameters, prefers it to the best family.

    Where most rows lie on common points of a column taken as continuous there is no density to estimate: a family that
    was found is kept.
    """
    common = first.kind == second.kind == "c" and rows_as_points(first, second).weights is not None
    if best.family != "indep" and common:
        return best
    kernel, size = kernel_pair(first, second)
    points = cells_as_points(first, second, CELLS) if grid else rows_as_points(first, second)
    price = penalty(selection, len(first.u))
    gained = points.loglik(kernel.bicop(points.kinds))
    had = 0.0 if best.family == "indep" else points.loglik(best.bicop(points.kinds))
    better = price * size - 2 * gained < price * len(best.parameters) - 2 * had
    return replace(kernel, loglik=gained) if better else best


def kernel_pair(first: Node, second: Node) -> tuple[FamilyMember, float]:
    """Transformation local likelihood (Geenens et al. 2017), ties spread over their steps; and its effective size."""
    pv = import_pyvinecopulib()
    step = -(-len(first.u) // MOST_ROWS)
    rows = np.column_stack([first.spread()[::step], second.spread()[::step]])
    controls = pv.FitControlsBicop(family_set=[pv.BicopFamily.tll])
    found = pv.Bicop.from_data(np.asfortranarray(np.clip(rows, 1e-10, 1 - 1e-10)), controls)
    return FamilyMember(family="tll", parameters=np.asarray(found.parameters, dtype=float).ravel()), float(found.npars)
