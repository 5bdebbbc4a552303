"""Both tails of a density: the smooth tail times a soft end, averaged over where it lies, or the bulk's own curve.

Where counts are below the noise level a log-density has two modes: an empty tail, and a flat one at the mean of the
noise. Laplace's method sees only the mode that it stands on, so that m empty cells would get about sigma sqrt(m) rows
in half of all fits, spread up to the public bound. Here the cells beyond the outermost clearly occupied one have one
more parameter, where they end, which is summed out exactly on a grid; or they go on as the bulk does. What a tail does
not hold the bulk does, so the sum of the bulk's counts says something about the tails, too: of 432 rows with a spike of
322 it shows the other 110, though each of their 52 cells is below its noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sklar.arrays import Floats, Ints, Mask
from sklar.model.margins.likelihood import CellSupport, KnownTotal, Observation, seen_alone
from sklar.model.significance import critical_deviations

TAIL_ENDS = np.geomspace(0.1, 16.0, 18)
"""Where a tail may end, in extents of the bulk: distances from its median to its edge."""
USUAL_END, END_SPREAD = 2.0, 0.7
"""The prior of the end's logarithm is a Laplace density about the usual one; flat near this choice."""
PRIOR_WITHOUT_END = 0.5
"""Prior probability that the smooth tail needs no end; between .3 and .5 it hardly matters."""
PRIOR_OF_CURVE = 0.5
"""Prior probability that the bulk's own curve goes on beyond the edge; else it is the smooth tail, with an end or none.
Above .75 light tails, as of a gamma, come out too heavy; below .5 those of lognormal columns too light."""
CURVE_FROM, CURVE_CELLS, PARABOLA_CELLS = 0.2, 8, 4
"""The curve is read off the cells beyond this part of the bulk (.1 to .5 do as well) if they have at least this number
(of 4 that were cut where mass was found, noise would be read); of fewer than four it is a line."""
MIN_EQUAL_CELLS = 2
"""Minimum number of bulk cells when all cells are equally wide: of counts that are mostly 0, cells 0 and 1 show more
of the rest than noise does (earlier offences of COMPAS: mean absolute log ratio of deviations .26 before, .15 now)."""
LEAST_SLOPE, LEAST_FALL = 1.0, 3.0
"""A curve falls at the edge at least by the first power of the distance (else the bulk just ends, as even numbers do),
and goes on by the second at least, so that it has a variance."""
LARGEST_MOMENT, STEEPNESS = 1.0, 2.0
"""Smooth tails whose second moment about the edge exceeds this many squared extents are less plausible, by this power:
what distorts a standard deviation most must be seen clearest. (The curve was seen: in the bulk.)"""
MIN_TAIL_SHARE = 0.02
"""The moment is per row of the smooth tail, or of this share of all rows if that is more."""
WIDTH_TOLERANCE = 1e-6
"""Widths that differ by a smaller part are one."""
MAX_DISTANCE = 1e100
"""Distances are cut here, in extents, so that their squares are numbers."""
_MIN_MASS = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Beside:
    """The cells between both tails, which hold the rows that a tail does not, and the noise of the number of rows."""

    bulk: Ints
    sigma: float


def with_tails(support: CellSupport, observations: Sequence[Observation], total: KnownTotal, mass: Floats) -> Floats:
    """Return the fitted masses with both tails replaced by their posterior means; the cells between make room."""
    chain = np.flatnonzero(support.chained)
    occupied = clearly_occupied(support, observations, chain)
    if not occupied.any():
        return mass
    first, last = int(np.argmax(occupied)), len(chain) - 1 - int(np.argmax(occupied[::-1]))
    counts = mass * max(total.rows, 1.0)
    after = counts.copy()
    bulk, tails = chain[first : last + 1], np.concatenate([chain[:first], chain[last + 1 :]])
    for outwards, edge in ((chain, last), (chain[::-1], len(chain) - 1 - first)):
        if edge + 1 < len(outwards):
            beside = Beside(bulk=bulk, sigma=total.sigma)
            after[outwards[edge + 1 :]] = expected_tail(support, observations, counts, outwards, edge, beside)
    room, held = counts[chain].sum() - after[tails].sum(), counts[bulk].sum()
    if room <= 0 or held <= 0:
        return mass
    after[bulk] *= room / held
    return after / after.sum()


def clearly_occupied(support: CellSupport, observations: Sequence[Observation], chain: Ints) -> Mask:
    """Return which chained cells exceed the noise, alone or, where a bin holds several, as the best of them."""
    limit = critical_deviations(len(chain))
    counts, sigma = seen_alone(observations, len(support.width))
    z = np.where(np.isfinite(sigma), counts / np.where(np.isfinite(sigma), sigma, 1.0), 0.0)
    clear = z > limit
    for seen in observations:
        held = np.bincount(seen.parent[seen.parent >= 0], minlength=len(seen.counts))
        for one in np.flatnonzero((seen.counts > limit * seen.sigma) & (held > 1)):
            inside = seen.parent == one
            cells, atoms = np.flatnonzero(inside & support.chained), np.flatnonzero(inside & ~support.chained)
            # What single values hold, which are no part of the chain, says nothing about their neighbours.
            left = seen.counts[one] - counts[atoms].sum()
            noise = np.sqrt(seen.sigma[one] ** 2 + (sigma[atoms] ** 2).sum())
            if len(cells) and not clear[cells].any() and left > limit * noise:
                clear[cells[int(np.argmax(z[cells]))]] = True
    return clear[chain]


def expected_tail(
    support: CellSupport, observations: Sequence[Observation], counts: Floats, outwards: Ints, edge: int, beside: Beside
) -> Floats:
    """Return posterior mean counts of the cells beyond an edge, given those of all others.

    Args:
        support: The cells.
        observations: Everything seen of them.
        counts: Smooth counts of all cells.
        outwards: The chain, from the far end of the bulk to the end of the tail.
        edge: Place in `outwards` of the outermost clearly occupied cell.
        beside: The bulk, which gets the rows that the tail does not hold.
    """
    beyond = outwards[edge + 1 :]
    far = np.concatenate([[0.0], np.cumsum(support.width[beyond])])
    extent = _extent(support.width[outwards], counts[outwards], edge)
    # Where most rows of the bulk have its outermost value, it has no extent: a tail may end anywhere.
    distance = (far[1:] + far[:-1]) / (2.0 * (far[-1] / TAIL_ENDS[-1] if extent is None else extent))
    distance = np.minimum(distance, MAX_DISTANCE)
    ends = np.exp(-np.minimum((distance / TAIL_ENDS[:, None]) ** 2, 700.0))
    curve = continued_curve(support.width[outwards], counts[outwards], edge)
    tails = np.vstack([counts[beyond] * ends, counts[beyond], *([] if curve is None else [curve])])
    rows = max(float(counts[beyond].sum()), MIN_TAIL_SHARE * float(counts[outwards].sum()), _MIN_MASS)
    log = _log_prior(curve is not None)
    if extent is not None:
        moment = tails[: len(TAIL_ENDS) + 1] @ distance**2 / rows
        log[: len(moment)] -= STEEPNESS * np.maximum(np.log(np.maximum(moment, _MIN_MASS) / LARGEST_MOMENT), 0.0)
    for seen in observations:
        log += _log_likelihood(seen, counts, tails, beyond) + _bulk_log_likelihood(seen, counts, tails, beyond, beside)
    weight = np.exp(log - log.max())
    return weight @ tails / weight.sum()


def continued_curve(width: Floats, counts: Floats, edge: int) -> Floats | None:
    """Return counts beyond the edge if the bulk's curve goes on: its log-density as a parabola of the log-distance.

    Lognormal, Pareto and gamma tails are such curves or close to them. Distances are from the far end of the cells,
    which lead outwards. None where too few cells show a curve, or it does not fall.
    """
    held = np.cumsum(counts[: edge + 1])
    bulk = np.arange(int(np.searchsorted(held, CURVE_FROM * held[-1])), edge + 1)
    bulk = bulk[(counts[bulk] > 0) & (width[bulk] > 1e-9 * width.sum())]
    even = float(np.ptp(width)) <= WIDTH_TOLERANCE * float(width.max())
    if len(bulk) < (MIN_EQUAL_CELLS if even else CURVE_CELLS):
        return None
    at = np.maximum(np.cumsum(width) - width / 2, _MIN_MASS)  # a first cell may be a value alone, without a width
    at, level = np.log(at / at[bulk[-1]]), np.log(counts[bulk] / width[bulk])
    parabola = _concave_parabola(at[bulk], level, counts[bulk])
    if parabola[1] > -LEAST_SLOPE:
        return None
    parabola[1] = min(parabola[1], -LEAST_FALL)
    curve = np.vander(at[edge + 1 :], 3, increasing=True) @ parabola
    return np.exp(np.minimum(curve, level[-1])) * width[edge + 1 :]


def _concave_parabola(x: Floats, y: Floats, weight: Floats) -> Floats:
    """Return coefficients of the concave parabola, or line, through weighted points."""
    root, found = np.sqrt(weight), np.zeros(3)
    for degree in (2, 1) if len(x) >= PARABOLA_CELLS else (1,):
        found[:] = 0.0
        powers = np.vander(x, degree + 1, increasing=True) * root[:, None]
        found[: degree + 1] = np.linalg.lstsq(powers, y * root, rcond=None)[0]
        if found[degree] <= 0:
            break
    return found


def _extent(width: Floats, counts: Floats, edge: int) -> float | None:
    """Return the distance from the median of the bulk to its edge; None if the median is the outermost cell itself."""
    back, held = np.cumsum(width[: edge + 1][::-1]), np.cumsum(counts[: edge + 1][::-1])
    median = min(int(np.searchsorted(held, 0.5 * held[-1])), edge)
    return max(float(back[median]), _MIN_MASS) if median else None


def _log_prior(curve: bool) -> Floats:
    """Return the evidence of every end, of none, and last of the bulk's curve, if there is one."""
    log = -np.abs(np.log(TAIL_ENDS / USUAL_END)) / END_SPREAD
    ends = np.append(log - np.log(np.exp(log).sum()) + np.log(1.0 - PRIOR_WITHOUT_END), np.log(PRIOR_WITHOUT_END))
    return np.append(ends + np.log(1.0 - PRIOR_OF_CURVE), np.log(PRIOR_OF_CURVE)) if curve else ends


def _log_likelihood(seen: Observation, counts: Floats, tails: Floats, beyond: Ints) -> Floats:
    """Return the evidence of every tail, by the bins that reach into it; the other cells of these bins keep their
    smooth counts."""
    parent = seen.parent[beyond]
    bins = np.unique(parent[parent >= 0])
    rest = seen.parent >= 0
    rest[beyond] = False
    fixed = np.bincount(seen.parent[rest], counts[rest], minlength=len(seen.counts))[bins]
    expected = tails @ (parent[:, None] == bins).astype(np.float64) + fixed
    variance = seen.sigma[bins] ** 2 + expected
    return -0.5 * ((seen.counts[bins] - expected) ** 2 / variance + np.log(variance)).sum(axis=1)


def _bulk_log_likelihood(seen: Observation, counts: Floats, tails: Floats, beyond: Ints, beside: Beside) -> Floats:
    """Return the evidence of every tail, by the sum of the bins inside the bulk, which holds all rows that the tails do
    not.

    The sum has the noise of its bins and of the number of rows alone: which rows are in the table is given.
    """
    inside = np.zeros(len(counts), dtype=bool)
    inside[beside.bulk] = True
    known = seen.parent >= 0
    outside = np.bincount(seen.parent[known & ~inside], minlength=len(seen.counts)) > 0
    bins = np.setdiff1d(seen.parent[known & inside], np.flatnonzero(outside))
    if not len(bins):
        return np.zeros(len(tails))
    cells = inside & np.isin(seen.parent, bins)
    factor = 1.0 + (counts[beyond].sum() - tails.sum(axis=1)) / max(float(counts[beside.bulk].sum()), _MIN_MASS)
    variance = float((seen.sigma[bins] ** 2).sum()) + min(beside.sigma, 1e9) ** 2
    return -0.5 * (seen.counts[bins].sum() - np.maximum(factor, 0.0) * counts[cells].sum()) ** 2 / variance
