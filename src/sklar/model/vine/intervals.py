"""Error bars for counting queries: promised where a released table answers them, noise only where the model must."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from statistics import NormalDist
from typing import Any

import numpy as np

from sklar.errors import UsageError
from sklar.model.axis import Scale, cells_at
from sklar.model.pairs.interactions import centre
from sklar.model.vine.calibration import Partition, SoftTable, calibrate
from sklar.model.vine.model import VineModel
from sklar.model.vine.pool import POLISHING_SWEEPS, draw_pool

PROMISED = "promised"
NOISE_ONLY = "noise only, model error not included"
POOL_PARTICLES = 30_000
"""Particles that answer a query: their own noise against the time of calibrating them again for every replicate."""
REPLICATES = 25
"""Fresh noises from which the spread is taken; its own error falls with the root of their number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An answer to "how many rows lie inside these sets", with error bars.

    Attributes:
        estimate: the answer, in rows, between the ends `low` and `high`.
        coverage: probability that the interval holds the true count, over the noise of the fit.
        label: what the coverage means: "promised", or "noise only, model error not included".
    """

    estimate: float
    low: float
    high: float
    coverage: float
    label: str


def count_interval(
    model: VineModel, allowed: Mapping[int, np.ndarray], rng: np.random.Generator, coverage: float = 0.95
) -> Interval:
    """Return rows of the fitted table with every column of `allowed` inside its set of base codes (position -> mask).

    The generator is used only where no released table answers the query.
    """
    if not 0 < coverage < 1:
        raise UsageError(f"coverage must lie between 0 and 1; {coverage:g} was given")
    return released_interval(model, allowed, coverage) or noise_interval(model, allowed, rng, coverage)


def released_interval(model: VineModel, allowed: Mapping[int, np.ndarray], coverage: float) -> Interval | None:
    """Return the interval of the released table that answers the query with least noise, or None if none answers it.

    The estimate is the sum of the table's noisy counts inside the sets; its noise is the sum of one draw for each,
    whose distribution is known. The choice among tables uses their noise only, never their counts, so the coverage is
    not affected.
    """
    best: Interval | None = None
    for table in model.calibration.tables:
        found = _with_details(model, table, allowed, coverage)
        if found is not None and (best is None or found[1] < best.high - best.estimate):
            estimate, width = found
            low, high = estimate - width, estimate + width
            best = Interval(estimate=estimate, low=low, high=high, coverage=coverage, label=PROMISED)
    return best


def _with_details(
    model: VineModel, table: SoftTable, allowed: Mapping[int, np.ndarray], coverage: float
) -> tuple[float, float] | None:
    """Return the answer of one table, and half the width of its interval; None if it cannot answer."""
    chosen = _chosen_groups(model, table, allowed)
    if chosen is None or table.content == "derived":
        return None
    if table.content == "interaction":
        return _interval_with_margins(model, table, chosen, allowed, coverage)
    inside = _outer(chosen).ravel()
    width = half_width(model.facts.noise, _std(model, table), max(int(inside.sum()), 1), coverage)
    return float(table.observed[inside].sum()) * model.facts.rows, width


def _interval_with_margins(
    model: VineModel,
    table: SoftTable,
    chosen: Sequence[np.ndarray],
    allowed: Mapping[int, np.ndarray],
    coverage: float,
) -> tuple[float, float] | None:
    """Return the interactions of a pair, with margins from the released histograms of its two columns.

    With shares a, b of the groups of either column inside the sets A, B, the count is the sum of interactions over
    A x B, plus b n(A) + a n(B) - a b n. All noise is Gaussian and independent, so variances add: that of the first sum
    is K a (1 - a) L b (1 - b) times that of one cell.
    """
    if len(table.parts) > 2:  # pairs are part of it, which the model gave
        return None
    parts = [model.calibration.partitions[part] for part in table.parts]
    shares = [float(inside.mean()) for inside in chosen]
    spread = math.prod(part.count * a * (1 - a) for part, a in zip(parts, shares, strict=True))
    variance = _std(model, table) ** 2 * spread
    inside = centre(table.observed.reshape([part.count for part in parts]))[np.ix_(*chosen)]
    estimate = float(inside.sum()) * model.facts.rows
    for part, own, other in zip(parts, shares, shares[::-1], strict=True):
        content = _quietest_histogram(model, part.column, allowed.get(part.column))
        if content is None:
            return None
        histogram, mask = content
        weight = other * (mask - own / 2)
        estimate += float(weight @ histogram.observed) * model.facts.rows
        variance += _std(model, histogram) ** 2 * float(weight @ weight)
    return estimate, half_width("gaussian", math.sqrt(variance), 1, coverage)


def _quietest_histogram(model: VineModel, column: int, mask: np.ndarray | None) -> tuple[SoftTable, np.ndarray] | None:
    """Return the released table of one column with least noise that counts a set of its codes (all, without one)."""
    wanted = {} if mask is None else {column: mask}
    found: list[tuple[float, SoftTable, np.ndarray]] = []
    for table in model.calibration.tables:
        if len(table.parts) == 1 and model.calibration.partitions[table.parts[0]].column == column:
            chosen = _chosen_groups(model, table, wanted)
            if chosen is not None and table.content == "counts":
                found.append((_std(model, table) * math.sqrt(max(int(chosen[0].sum()), 1)), table, chosen[0]))
    return min(found, key=lambda one: one[0])[1:] if found else None


def _std(model: VineModel, table: SoftTable) -> float:
    """Return the standard deviation of the noise on one count: tables carry c s^2 / rows^2."""
    return float(np.sqrt(table.variance / (table.strength or model.facts.strength))) * model.facts.rows


def _chosen_groups(model: VineModel, table: SoftTable, allowed: Mapping[int, np.ndarray]) -> list[np.ndarray] | None:
    """Return groups of each axis of a table that make up the query exactly, or None if no groups do."""
    parts = [model.calibration.partitions[i] for i in table.parts]
    if not set(allowed) <= {part.column for part in parts}:
        return None
    chosen: list[np.ndarray] = []
    for part in parts:
        inside: np.ndarray | None = np.ones(part.count, dtype=bool)
        if part.column in allowed:
            inside = _groups_inside(model.scales[part.column], part.lookup, part.count, allowed[part.column])
        if inside is None:
            return None
        chosen.append(inside)
    return chosen


def _outer(chosen: Sequence[np.ndarray]) -> np.ndarray:
    return reduce(np.logical_and.outer, chosen)


def _groups_inside(scale: Scale, lookup: np.ndarray, count: int, mask: np.ndarray) -> np.ndarray | None:
    """Return groups whose codes are all allowed, if no group is allowed in part."""
    group = np.repeat(lookup, scale.widths)
    codes = np.bincount(group, minlength=count)
    share = np.bincount(group, np.asarray(mask, dtype=float), count)
    if np.any((share > 0) & (share < codes)):
        return None
    return (share == codes) & (codes > 0)


def noise_interval(
    model: VineModel, allowed: Mapping[int, np.ndarray], rng: np.random.Generator, coverage: float
) -> Interval:
    """Return the model's answer, with the spread that fresh noise on the released tables would give it.

    Each replicate adds noise of the known size to the released tables and calibrates the same particles again. How far
    the vine itself is from the truth is not included: no measurement can show that.
    """
    pool = draw_pool(model.vine, model.scales, model.calibration, POOL_PARTICLES, rng, POLISHING_SWEEPS)
    inside = np.ones(len(pool.particles))
    for column, mask in allowed.items():
        scale = model.scales[column]
        share = np.add.reduceat(np.asarray(mask, dtype=float), scale.starts) / scale.widths
        inside *= share[cells_at(scale, pool.particles[:, column])]
    rows = model.facts.rows
    answers = [rows * float(_fresh_weights(model, pool.table_cells, rng) @ inside) for _ in range(REPLICATES)]
    estimate = rows * float(pool.weights @ inside)
    width = NormalDist().inv_cdf((1 + coverage) / 2) * float(np.std(answers, ddof=1))
    return Interval(estimate=estimate, low=estimate - width, high=estimate + width, coverage=coverage, label=NOISE_ONLY)


def _fresh_weights(model: VineModel, cells: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return weights calibrated to the tables with fresh noise; margins that were put into tables carry that of
    histograms."""
    calibration, rows = model.calibration, model.facts.rows
    drawn = [rng.normal(0.0, _std(model, table) / rows, len(table.dual)) for table in calibration.tables]
    histograms: dict[int, tuple[SoftTable, np.ndarray]] = {}
    for table, fresh in zip(calibration.tables, drawn, strict=True):
        column = calibration.partitions[table.parts[0]].column
        if len(table.parts) == 1 and (
            column not in histograms or _std(model, table) < _std(model, histograms[column][0])
        ):
            histograms[column] = table, fresh
    tables: list[SoftTable] = []
    for table, noise in zip(calibration.tables, drawn, strict=True):
        fresh = _with_fresh_margins(model, table, noise, histograms) if table.content == "interaction" else noise
        tables.append(replace(table, observed=table.observed + fresh))
    return calibrate(calibration.partitions, tables, cells, sweeps=10, tolerance=0.0)[1]


def _with_fresh_margins(
    model: VineModel, table: SoftTable, noise: np.ndarray, histograms: Mapping[int, tuple[SoftTable, np.ndarray]]
) -> np.ndarray:
    """Return fresh noise of interactions, and the fresh noise of the margins of both columns in the place of theirs."""
    parts = [model.calibration.partitions[part] for part in table.parts]
    fresh = centre(noise.reshape([part.count for part in parts]))
    for axis, part in enumerate(parts):
        if part.column in histograms and len(parts) == 2:
            shift = _moved_groups(model, part, *histograms[part.column])
            fresh = fresh + np.expand_dims(shift, tuple(i for i in range(len(parts)) if i != axis)) * (
                part.count / fresh.size
            )
    return fresh.ravel()


def _moved_groups(model: VineModel, part: Partition, histogram: SoftTable, fresh: np.ndarray) -> np.ndarray:
    """Return how noise on the cells of a histogram moves the shares of groups of the same column; the total stays."""
    mass, cell = model.scales[part.column].mass, model.calibration.partitions[histogram.parts[0]].lookup
    inside = np.bincount(cell, mass, len(fresh))
    each = mass * (fresh / np.maximum(inside, 1e-12))[cell]
    moved = np.bincount(part.lookup, each, part.count)
    return moved - np.bincount(part.lookup, mass, part.count) * moved.sum()


def half_width(kind: str, std: float, terms: int, coverage: float) -> float:
    """Return the t with P(|sum of `terms` draws| <= t) >= coverage, for noise of a kind and the deviation of one draw.

    Gaussian: sums of discrete Gaussians are sub-Gaussian with their own variance and follow the normal distribution up
        to the
    rounding to integers, for which half a unit is added. Laplace: Chernoff's bound, with the moment generating function
    1 / (1 - (scale h)^2) of the continuous distribution, which exceeds that of the discrete one.
    """
    if kind == "gaussian":
        return NormalDist().inv_cdf((1 + coverage) / 2) * std * math.sqrt(terms) + 0.5
    return _laplace_bound(std / math.sqrt(2), terms, (1 - coverage) / 2)


def _laplace_bound(scale: float, terms: int, tail: float) -> float:
    """Return min over h of (log(1/tail) - terms log(1 - (scale h)^2)) / h, by a search over x = scale h in (0, 1).

    The function of x is convex over x times x, hence unimodal; any x gives a bound that holds.
    """
    from scipy.optimize import minimize_scalar  # not at import time: scipy.optimize is slow to load

    def bound(x: float) -> float:
        return (math.log(1 / tail) - terms * math.log1p(-x * x)) / x

    lowest: Any = minimize_scalar(bound, bounds=(1e-6, 1 - 1e-9), method="bounded", options={"xatol": 1e-9})
    return scale * bound(float(lowest.x))
