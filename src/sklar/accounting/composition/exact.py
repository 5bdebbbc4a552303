"""Exact composition: the privacy loss of tables of counts and vectors of sums together, as one distribution.

One person moves one cell of a table by one (add-remove), or one cell down and another up (replace). All other cells
have the same distribution on both neighbours, so a table of any shape and columns is exactly one draw (two draws) of
scalar integer noise shifted by 1. A vector of sums with Gaussian noise is one Gaussian shifted by the vector's length,
by the lemma in `lattice`. Each of these has a fixed pair of distributions that dominates it, and mechanisms chosen
adaptively, each dominated by its fixed pair, are dominated by the product of the pairs (Zhu, Dong, Wang 2022, Theorem
10). Hence:

* the noise scales and the number of tables must be set before any release; what is counted may depend on releases. Of a
  vector of sums, the ratio of length and noise must be set; its scale may depend on releases;
* the order of the measurements, and stopping early, may depend on releases too: all draws can be made first and be
  shown in any order, or not at all, which is post-processing of the product.

Gaussian shifts add up in squares, so all vectors together are one Gaussian. Tables of counts with Gaussian noise join
it where scalar draws do not serve: with several rows per person, whose rows may share a cell or not, or share one vote
on a finer lattice; where draws or scales are too many; and where the scale is so large (`FINE_LATTICE`) that the lemma
costs next to nothing. Vectors with Laplace noise, and choices, are left to zCDP.

A plan is kept to within `ROUNDING`: noise may be that much less than planned. So all scales are taken to be that much
smaller than stated.

The distribution of the total loss lies on a grid, as an upper bound, which adds at most h^2/4 to the variance of each
draw's loss, h being the grid's step. We take h so that this adds at most 10^-4 of the variance of the sum, for any
number of draws; delta then comes out 0.2% too large. `tilted` has the computation and the proof that no rounding
error makes it too small: its own error bound is part of what it gives, relative errors below 4 x 10^-7
are covered by `RELATIVE_SLACK`, and what was cut off, with the lemma's own cost, by `SLACK`. For a Gaussian alone the
formula is raised by its rounding (`gaussian`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from sklar.accounting.budget import ROUNDING
from sklar.accounting.composition.gaussian import analytic_gaussian_delta, analytic_gaussian_epsilon
from sklar.accounting.composition.lattice import FINE_LATTICE, squared_shift, why_no_shift
from sklar.accounting.events import CountEvent, Event
from sklar.accounting.noise import Noise
from sklar.errors import BudgetError

MAX_DRAWS = 4_000
"""Most scalar draws: with more the grid becomes long, and a Gaussian is as good."""
MAX_SCALES = 24
"""Most distinct noise scales: each costs a transform."""
MIN_DELTA = 1e-11
"""No promise we know of needs less, and tests go down to here."""
SLACK = 1e-20
"""Added to every delta: above the mass cut off in `tilted` (10^-38) and the cost of the lemma in `lattice` (10^-21)."""
RELATIVE_SLACK = 1e-6
"""Every delta is raised by this share: above the relative rounding errors, which `tilted` adds up."""
MIN_SCALE = 0.25
"""Least noise scale: with less, most cells stay exact, and the loss has a few huge atoms that are hard to represent."""
GRID_STEP = 0.02
"""Grid step in units of the loss's standard deviation over the root of the number of draws; see above."""
MIN_GRID_DRAWS = 400
"""The grid is at least as fine as for this number of draws: below it a finer grid costs little."""

Draws = tuple[tuple[Noise, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DominatingPair:
    """The pair of distributions that dominates some events.

    Attributes:
        draws: Scalar draws of noise shifted by 1, each with its number of times.
        shift: Shift of one Gaussian in its standard deviations, 0 for none.
    """

    draws: Draws = ()
    shift: float = 0.0


def why_not_exact(events: Iterable[Event], delta: float) -> str | None:
    """Explain in a clause why exact composition does not apply to these events at `delta`; None if it does."""
    if delta < MIN_DELTA:
        return f"delta is below {MIN_DELTA:g}"
    found = _dominate(tuple(events))
    return found if isinstance(found, str) else None


def find_pair(events: Iterable[Event]) -> DominatingPair:
    """Return the pair of distributions that dominates the events together; BudgetError if there is none."""
    found = _dominate(tuple(events))
    if isinstance(found, str):
        raise BudgetError(f"exact composition does not apply: {found}.")
    return found


def _dominate(events: tuple[Event, ...]) -> DominatingPair | str:
    """Return the pair, or why there is none. Tables are scalar draws if possible, else Gaussian ones add a shift."""
    if any(event.delta for event in events):
        return "labels that are found have a delta of their own"
    tables = [e for e in events if isinstance(e, CountEvent) and e.unit.rows_per_person == 1 and not e.unit.votes]
    tables = [table for table in tables if table.noise.kind == "laplace" or table.noise.scale < FINE_LATTICE]
    if _find_composition_obstacle(_count_draws(tables)) is not None:
        tables = [table for table in tables if table.noise.kind == "laplace"]
    drawn = set(tables)
    others = [event for event in events if event not in drawn]
    reasons = [_find_composition_obstacle(_count_draws(tables)), *(why_no_shift(event) for event in others)]
    for reason in reasons:
        if reason is not None:
            return reason
    shift = math.sqrt(math.fsum(squared_shift(event) for event in others))
    return DominatingPair(draws=_count_draws(tables), shift=shift * (1 + 2 * ROUNDING))


def _find_composition_obstacle(draws: Draws) -> str | None:
    if len(draws) > MAX_SCALES:
        return f"there are more than {MAX_SCALES} different noise scales"
    if sum(times for _, times in draws) > MAX_DRAWS:
        return f"there are more than {MAX_DRAWS:,} draws"
    small = any(noise.scale < MIN_SCALE * (1 - ROUNDING) for noise, _ in draws)
    return f"a noise scale is below {MIN_SCALE:g}" if small else None


def _count_draws(tables: Sequence[CountEvent]) -> Draws:
    """Count the scalar draws of noise shifted by 1 that tables amount to, with one row per person, by noise."""
    times: Counter[Noise] = Counter()
    for event in tables:
        noise = replace(event.noise, scale=event.noise.scale * (1 - ROUNDING))
        times[noise] += event.tables * (1 if event.unit.neighbours == "add-remove" else 2)
    return tuple(sorted(times.items(), key=lambda item: (item[0].kind, item[0].scale)))


@lru_cache(maxsize=256)
def exact_delta(pair: DominatingPair, epsilon: float) -> float:
    """Return an upper bound, tight to about 0.2%, on the delta at `epsilon` of what the pair dominates."""
    if pair == DominatingPair():
        return 0.0
    if pair.draws:
        from sklar.accounting.composition.tilted import tail_bound  # not at import time: numpy is slow to load

        found = tail_bound(pair.draws, pair.shift, _choose_grid_step(pair), epsilon)
    else:
        found = analytic_gaussian_delta(1 / pair.shift, epsilon)
    return min(1.0, found * (1 + RELATIVE_SLACK) + SLACK)


def exact_epsilon(pair: DominatingPair, delta: float) -> float:
    """Return an upper bound on the epsilon at `delta` of what the pair dominates."""
    if pair == DominatingPair():
        return 0.0
    if delta <= SLACK:
        raise BudgetError(f"exact composition needs a delta above {SLACK:g}.")
    if not pair.draws:
        return analytic_gaussian_epsilon(1 / pair.shift, (delta - SLACK) / (1 + RELATIVE_SLACK))
    return _solve_epsilon(pair, delta)


def _solve_epsilon(pair: DominatingPair, delta: float) -> float:
    """Solve by regula falsi (with Illinois weights) on the log of delta, from the epsilon of a Gaussian."""

    def excess(epsilon: float) -> float:
        return math.log(exact_delta(pair, epsilon) / delta)

    if excess(0.0) <= 0:
        return 0.0
    low = high = max(analytic_gaussian_epsilon(1 / _compute_loss_std(pair), delta), 1e-9)
    above = below = excess(high)
    width = 1e-3
    while below > 0:
        low, above, high = high, below, high * (1 + width)
        below, width = excess(high), 4 * width
    while above <= 0:
        high, below, low = low, above, low / (1 + width)
        above, width = excess(low), 4 * width
    while high - low > 1e-9 * high:
        middle = low + (high - low) * min(max(above / (above - below), 1e-3), 1 - 1e-3)
        found = excess(middle)
        if found > 0:
            low, above, below = middle, found, below / 2
        else:
            high, below, above = middle, found, above / 2
    return high


def _compute_loss_std(pair: DominatingPair) -> float:
    """Return the standard deviation of the total loss, about sqrt(sum of 1 / scale^2)."""
    return math.sqrt(math.fsum([*(times / noise.scale**2 for noise, times in pair.draws), pair.shift**2]))


def _choose_grid_step(pair: DominatingPair) -> float:
    """Return GRID_STEP / sqrt(number of draws) times the standard deviation of the total loss."""
    draws = sum(times for _, times in pair.draws) + (pair.shift > 0)
    return GRID_STEP * _compute_loss_std(pair) / math.sqrt(max(draws, MIN_GRID_DRAWS))
