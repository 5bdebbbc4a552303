"""Exact composition: privacy loss distributions of tables of counts and vectors of sums, through dp-accounting.

One person moves one cell of a table by one (add-remove), or one cell down and another up (replace). All other cells
have the same law on both neighbours, so a table is exactly one draw (two draws) of scalar integer noise shifted by 1,
whatever the table's shape and whichever columns it counts. A vector of sums with Gaussian noise is one Gaussian shifted
by the vector's length, by the lemma in `lattice`. Each of these has a fixed pair of laws that dominates it, and
mechanisms chosen adaptively, each dominated by its fixed pair, are dominated by the product of the pairs (Zhu, Dong,
Wang 2022, Theorem 10). Hence:

* the noise scales and the number of tables must be set before any release; what is counted may depend on releases. Of a
  vector of sums, the ratio of length and noise must be set; its scale may depend on releases;
* the order of the measurements, and stopping early, may depend on releases too: all draws can be made first and be
  shown in any order, or not at all, which is post-processing of the product.

Gaussian shifts add up in squares, so all vectors together are one Gaussian. Tables of counts with Gaussian noise join
it where scalar draws do not serve: with several rows per person, whose rows may share a cell or not; and where draws or
scales are too many or too large to be composed on a grid. Vectors with Laplace noise, and choices, are left to zCDP.

The library works on a grid of losses. Values between grid points are split over their two neighbors so that both laws
keep their mass (connect the dots; Doroshenko et al. 2022), which makes the approximation an upper bound and adds at
most h^2/4 to the variance of each draw's loss, h the grid step. We take h so that this adds at most 10^-4 of the
variance of the sum, for any number of tables, where the library's default step is far too coarse for thousands of them.
What remains are rounding errors: of the Fourier transforms, below 10^-14 in tests and covered by `SLACK`, and of the
masses on the grid, below 10^-4 of delta and covered by `RELATIVE_SLACK`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sklar.accounting.events import CountEvent, Event
from sklar.accounting.gaussian import analytic_gaussian_delta, analytic_gaussian_epsilon
from sklar.accounting.lattice import squared_shift, why_no_shift
from sklar.accounting.noise import Noise
from sklar.errors import BudgetError

MAX_DRAWS = 4_000
"""Beyond this many draws rounding errors grow."""
MAX_SCALES = 24
"""Each distinct scale costs a transform."""
SMALLEST_DELTA = 1e-11
"""Below this the slack for rounding would cost more than exactness gains."""
SLACK = 1e-13
"""Added to every delta: an upper bound on the rounding errors of the transforms and on truncated tails."""
RELATIVE_SLACK = 1e-4
"""Every delta is raised by this share, for rounding errors in the masses on the grid."""
SMALLEST_SCALE = 0.25
"""Less noise than this leaves most cells exact: a few atoms of huge loss, of no use and hard to represent."""
WIDEST = 20_000.0
"""Largest sum of distinct scales: the library walks over all integers within 12 scales, one by one."""
GRID = 0.02
"""Grid step in units of the loss's standard deviation over the root of the number of draws; see above."""
FEW_DRAWS = 400
"""Fewer draws than this get the grid of this many: a finer one is free there."""

Draws = tuple[tuple[Noise, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The pair of laws that dominates some events: a product of scalar draws and one Gaussian.

    Attributes:
        draws: Integer noise shifted by 1, and how often.
        shift: Shift of the Gaussian in its own standard deviations; 0 for none.
    """

    draws: Draws = ()
    shift: float = 0.0


def why_not_exact(events: Iterable[Event], delta: float) -> str | None:
    """Why exact composition does not apply to these events at `delta`, as a clause; None if it does."""
    if delta < SMALLEST_DELTA:
        return f"delta is below {SMALLEST_DELTA:g}"
    found = _dominating(tuple(events))
    return found if isinstance(found, str) else None


def pair_of(events: Iterable[Event]) -> Pair:
    """The pair of laws that dominates the events together; BudgetError if there is none."""
    found = _dominating(tuple(events))
    if isinstance(found, str):
        raise BudgetError(f"exact composition does not apply: {found}.")
    return found


def _dominating(events: tuple[Event, ...]) -> Pair | str:
    """The pair, or why there is none. Tables are scalar draws if they can be, else Gaussian ones join the Gaussian."""
    tables = [e for e in events if isinstance(e, CountEvent) and e.unit.rows_per_person == 1]
    if _why_not_composed(_draws(tables)) is not None:
        tables = [table for table in tables if table.noise.kind == "laplace"]
    drawn = set(tables)
    others = [event for event in events if event not in drawn]
    reasons = [_why_not_composed(_draws(tables)), *(why_no_shift(event) for event in others)]
    for reason in reasons:
        if reason is not None:
            return reason
    return Pair(draws=_draws(tables), shift=math.sqrt(math.fsum(squared_shift(event) for event in others)))


def _why_not_composed(draws: Draws) -> str | None:
    scales = [noise.scale for noise, _ in draws]
    if len(scales) > MAX_SCALES:
        return f"there are more than {MAX_SCALES} different noise scales"
    if sum(times for _, times in draws) > MAX_DRAWS:
        return f"there are more than {MAX_DRAWS:,} draws"
    if scales and min(scales) < SMALLEST_SCALE:
        return f"a noise scale is below {SMALLEST_SCALE:g}"
    return f"the noise scales sum to more than {WIDEST:,.0f}" if math.fsum(scales) > WIDEST else None


def _draws(tables: Sequence[CountEvent]) -> Draws:
    """Scalar draws of noise shifted by 1 that tables amount to, with one row per person, grouped by noise."""
    times: Counter[Noise] = Counter()
    for event in tables:
        times[event.noise] += event.tables * (1 if event.unit.neighbours == "add-remove" else 2)
    return tuple(sorted(times.items(), key=lambda item: (item[0].kind, item[0].scale)))


@lru_cache(maxsize=256)
def exact_delta(pair: Pair, epsilon: float) -> float:
    """An upper bound, tight to about 0.1%, on the delta at `epsilon` of what the pair dominates."""
    if pair == Pair():
        return 0.0
    if pair.draws:
        found = float(_composed(pair).get_delta_for_epsilon(epsilon))
    else:
        found = analytic_gaussian_delta(1 / pair.shift, epsilon)
    return min(1.0, max(found, 0.0) * (1 + RELATIVE_SLACK) + SLACK)


def exact_epsilon(pair: Pair, delta: float) -> float:
    """An upper bound on the epsilon at `delta` of what the pair dominates."""
    if pair == Pair():
        return 0.0
    if delta <= SLACK:
        raise BudgetError(f"exact composition needs a delta above {SLACK:g}.")
    within = (delta - SLACK) / (1 + RELATIVE_SLACK)
    if not pair.draws:
        return analytic_gaussian_epsilon(1 / pair.shift, within)
    return max(0.0, float(_composed(pair).get_epsilon_for_delta(within)))


@lru_cache(maxsize=8)
def _composed(pair: Pair) -> Any:
    step = _grid_step(pair)
    parts = [_one_draw(noise, step).self_compose(times) for noise, times in pair.draws]
    if pair.shift:
        parts.append(_gaussian(pair.shift, step))
    total = parts[0]
    for part in parts[1:]:
        total = total.compose(part, tail_mass_truncation=1e-15)
    return total


def _gaussian(shift: float, step: float) -> Any:
    """Loss distribution of a Gaussian moved by `shift` standard deviations, rounded so as to overstate the loss."""
    from dp_accounting.pld import privacy_loss_distribution as loss  # slow to load (scipy.stats)

    return loss.from_gaussian_mechanism(
        1 / shift, sensitivity=1, value_discretization_interval=step, use_connect_dots=True
    )


def _one_draw(noise: Noise, step: float) -> Any:
    """Loss distribution of one integer moved by 1 under this noise, rounded so as to overstate the loss."""
    from dp_accounting.pld import privacy_loss_distribution as loss  # slow to load (scipy.stats)

    if noise.kind == "gaussian":
        return loss.from_discrete_gaussian_mechanism(
            noise.scale, sensitivity=1, value_discretization_interval=step, use_connect_dots=True
        )
    # The library's parameter of the discrete Laplace is the inverse of a scale.
    return loss.from_discrete_laplace_mechanism(
        1 / noise.scale, sensitivity=1, value_discretization_interval=step, use_connect_dots=True
    )


def _grid_step(pair: Pair) -> float:
    """GRID / sqrt(number of draws) times the standard deviation of the total loss, about sqrt(sum of 1 / scale^2)."""
    squares = [times / noise.scale**2 for noise, times in pair.draws]
    draws = sum(times for _, times in pair.draws) + (pair.shift > 0)
    return GRID * math.sqrt(math.fsum([*squares, pair.shift**2])) / math.sqrt(max(draws, FEW_DRAWS))
