"""Error bars for counting queries: promised where a released table answers them, noise only where the model must."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from sklar.errors import UsageError
from sklar.model.axis import Scale, cells_at
from sklar.model.vine.calibration import SoftTable, calibrate
from sklar.model.vine.model import VineModel
from sklar.model.vine.pool import POLISHING_SWEEPS, draw_pool

PROMISED = "promised"
NOISE_ONLY = "noise only, model error not included"
POOL = 30_000
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
    """Rows of the fitted table with every column of `allowed` inside its set of base codes (position -> mask).

    The generator is used only where no released table answers the query.
    """
    if not 0 < coverage < 1:
        raise UsageError(f"coverage must lie between 0 and 1; {coverage:g} was given")
    return released_interval(model, allowed, coverage) or noise_interval(model, allowed, rng, coverage)


def released_interval(model: VineModel, allowed: Mapping[int, np.ndarray], coverage: float) -> Interval | None:
    """The interval of the released table that answers the query with least noise, or None if none answers it.

    The estimate is the sum of the table's noisy counts inside the sets; its noise is the sum of as many draws, whose
    law is known. The choice among tables uses their noise only, never their counts, so the coverage is not affected.
    """
    best: Interval | None = None
    for table in model.calibration.tables:
        inside = _cells_inside(model, table, allowed)
        if inside is None:
            continue
        estimate = float(table.observed[inside].sum()) * model.facts.rows
        width = half_width(model.facts.noise, _std(model, table), max(int(inside.sum()), 1), coverage)
        if best is None or width < best.high - best.estimate:
            low, high = estimate - width, estimate + width
            best = Interval(estimate=estimate, low=low, high=high, coverage=coverage, label=PROMISED)
    return best


def _std(model: VineModel, table: SoftTable) -> float:
    """Standard deviation of the noise on one count: tables carry c s^2 / rows^2."""
    return float(np.sqrt(table.variance / model.facts.strength)) * model.facts.rows


def _cells_inside(model: VineModel, table: SoftTable, allowed: Mapping[int, np.ndarray]) -> np.ndarray | None:
    """Cells of a table that make up the query exactly, or None if the table cannot tell."""
    parts = [model.calibration.partitions[i] for i in table.parts]
    if not set(allowed) <= {part.column for part in parts}:
        return None
    inside = np.ones(1, dtype=bool)
    for part in parts:
        chosen = np.ones(part.count, dtype=bool)
        if part.column in allowed:
            found = _groups_inside(model.scales[part.column], part.lookup, part.count, allowed[part.column])
            if found is None:
                return None
            chosen = found
        inside = np.logical_and.outer(inside, chosen).ravel()
    return inside


def _groups_inside(scale: Scale, lookup: np.ndarray, count: int, mask: np.ndarray) -> np.ndarray | None:
    """Groups whose codes are all allowed, if no group is allowed in part."""
    group = np.repeat(lookup, scale.widths)
    codes = np.bincount(group, minlength=count)
    share = np.bincount(group, np.asarray(mask, dtype=float), count)
    if np.any((share > 0) & (share < codes)):
        return None
    return (share == codes) & (codes > 0)


def noise_interval(
    model: VineModel, allowed: Mapping[int, np.ndarray], rng: np.random.Generator, coverage: float
) -> Interval:
    """The model's answer, with the spread that fresh noise on the released tables would give it.

    Each replicate adds noise of the known size to the released tables and calibrates the same particles again. How far
    the vine itself is from the truth is not included: nobody can know that from the releases.
    """
    pool = draw_pool(model.vine, model.scales, model.calibration, POOL, rng, POLISHING_SWEEPS)
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
    tables: list[SoftTable] = []
    for table in model.calibration.tables:
        fresh = rng.normal(0.0, _std(model, table) / model.facts.rows, len(table.dual))
        tables.append(replace(table, observed=table.observed + fresh))
    return calibrate(model.calibration.partitions, tables, cells, sweeps=10, tolerance=0.0)[1]


def half_width(kind: str, std: float, terms: int, coverage: float) -> float:
    """The t with P(|sum of `terms` draws| <= t) >= coverage, for noise of a kind and the deviation of one draw.

    Gaussian: sums of discrete Gaussians are sub-Gaussian with their own variance and follow the normal law up to the
    rounding to integers, for which half a unit is added. Laplace: Chernoff's bound, with the moment generating function
    1 / (1 - (scale h)^2) of the continuous law, which exceeds that of the discrete one.
    """
    if kind == "gaussian":
        return NormalDist().inv_cdf((1 + coverage) / 2) * std * math.sqrt(terms) + 0.5
    return _laplace_bound(std / math.sqrt(2), terms, (1 - coverage) / 2)


def _laplace_bound(scale: float, terms: int, tail: float) -> float:
    """min over h of (log(1/tail) - terms log(1 - (scale h)^2)) / h, by a search over x = scale h in (0, 1).

    The function of x is convex over x times x, hence unimodal; any x gives a bound that holds.
    """

    def bound(x: float) -> float:
        return (math.log(1 / tail) - terms * math.log1p(-x * x)) / x

    lowest: Any = minimize_scalar(bound, bounds=(1e-6, 1 - 1e-9), method="bounded", options={"xatol": 1e-9})
    return scale * bound(float(lowest.x))
