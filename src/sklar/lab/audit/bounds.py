"""From statistics of fits on two neighbouring tables to bounds on the privacy that was lost.

Gaussian noise: telling the tables apart is telling N(0, 1) from N(mu, 1) (Dong, Roth, Su 2022). mu is estimated as the
difference of the means over the common spread, and the bound on mu becomes an epsilon at the claim's delta: epsilon at
delta 1e-9 itself would take billions of fits to see. Laplace noise: for an event E, P'(E) <= e^epsilon P(E) + delta, so
that exact bounds on two shares (Clopper and Pearson 1934) bound epsilon from below. The event, a threshold, is chosen
on other fits than those it is tried on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sklar.accounting.composition.gaussian import analytic_gaussian_epsilon, analytic_gaussian_sigma
from sklar.arrays import Floats
from sklar.lab.audit.statistic import Seen
from sklar.lab.intervals import Estimate, clopper_pearson_high, clopper_pearson_low, normal_quantile, student_quantile

POWER = 0.9


def claimed_mu(epsilon: float, delta: float) -> float:
    """mu of the Gaussian mechanism that has exactly this epsilon and delta."""
    return 1.0 / analytic_gaussian_sigma(epsilon, delta)


def implied_epsilon(mu: float, delta: float) -> float:
    """The epsilon of a Gaussian trade-off at this delta."""
    if mu == math.inf:
        return math.inf
    return 0.0 if mu <= 0 else analytic_gaussian_epsilon(1 / mu, delta)


def seen_mu(mu: float, n: int, m: int, tail: float) -> float:
    """The least mu that would have been told from this one with a chance of 90%."""
    return mu + (student_quantile(n + m - 2, 1 - tail) + normal_quantile(POWER)) * math.sqrt(1 / n + 1 / m)


def epsilon_low(
    train: tuple[Floats, Floats], test: tuple[Floats, Floats], delta: float, tail: float
) -> tuple[float, float]:
    """A lower bound on epsilon, and the threshold behind it, chosen on the training fits."""
    best, threshold, upper = -math.inf, 0.0, True
    for candidate in np.unique(np.quantile(np.concatenate(train), np.linspace(0.005, 0.995, 100))):
        for above in (True, False):
            bound = _bound(train, float(candidate), above, delta, tail)
            if bound > best:
                best, threshold, upper = bound, float(candidate), above
    return max(0.0, _bound(test, threshold, upper, delta, tail)), threshold


def _bound(groups: tuple[Floats, Floats], threshold: float, above: bool, delta: float, tail: float) -> float:
    """For the event "statistic above (or not above) the threshold", which is likelier on the second (first) table."""
    one, other = groups
    hits = [int((group > threshold).sum()) if above else int((group <= threshold).sum()) for group in groups]
    likely, rare = (
        ((hits[1], len(other)), (hits[0], len(one))) if above else ((hits[0], len(one)), (hits[1], len(other)))
    )
    low, high = clopper_pearson_low(*likely, tail / 2), clopper_pearson_high(*rare, tail / 2)
    return math.log((low - delta) / high) if low > delta and high > 0 else -math.inf


def laplace_power(epsilon: float, draws: int, n: int, tail: float, delta: float, rng: np.random.Generator) -> float:
    """The least epsilon that would have been told from the claimed one, for a loss made of so many equal draws.

    Fits with smaller and smaller noise are made up (from the continuous law), and their expected counts are judged.
    """
    factor = 1.0
    while factor < 16:
        factor *= 1.1
        each = factor * epsilon / draws
        noise = rng.laplace(size=(20_000, draws)) / each
        one = (np.abs(noise) - np.abs(noise - 1)).sum(axis=1) * epsilon / draws
        other = (np.abs(noise + 1) - np.abs(noise)).sum(axis=1) * epsilon / draws
        for threshold in np.unique(np.quantile(one, np.linspace(0.02, 0.98, 49))):
            likely, rare = float((other > threshold).mean()), float((one > threshold).mean())
            low, high = (
                clopper_pearson_low(round(likely * n), n, tail / 2),
                clopper_pearson_high(round(rare * n), n, tail / 2),
            )
            if low > delta and math.log((low - delta) / high) > epsilon:
                return factor * epsilon
    return math.inf


ALL = "all tables"


def noise_spreads(groups: Sequence[Sequence[Seen]], tail: float) -> dict[str, Estimate]:
    """Spread found over spread stated, by release and for all tables of counts together; `tail` is shared by all.

    Counts: the exact ones are public here, so residuals are known. Sums: spread around their mean over the fits on one
    table, which is no less than that of the noise even if the question asked changes from fit to fit.
    """
    parts: dict[str, list[tuple[float, float, float]]] = {}
    for seen in (s for group in groups for s in group):
        for label, found in seen.residuals.items():
            for name in (ALL, label):
                parts.setdefault(name, []).append(found)
    for label, found in _sums(groups):
        parts.setdefault(label, []).append(found)
    cut = normal_quantile(1 - tail / max(1, len(parts)))
    return {label: _spread(found, cut) for label, found in parts.items()}


def _spread(found: Sequence[tuple[float, float, float]], cut: float) -> Estimate:
    squares, variance, cells = (math.fsum(part[at] for part in found) for at in range(3))
    share, half = squares / cells, cut * math.sqrt(variance) / cells
    return Estimate(value=math.sqrt(share), low=math.sqrt(max(0.0, share - half)), high=math.sqrt(share + half))


def _sums(groups: Sequence[Sequence[Seen]]) -> list[tuple[str, tuple[float, float, float]]]:
    out: list[tuple[str, tuple[float, float, float]]] = []
    for group in groups:
        for label in {label for seen in group for label in seen.sums}:
            values = [seen.sums[label] for seen in group if label in seen.sums]
            if len(values) < 3 or len({len(v) for v in values}) != 1:
                continue
            matrix = np.array(values)
            degrees = (len(matrix) - 1) * matrix.shape[1]
            # In units of the scale: 1 and kurtosis 3 for Gaussian noise, 2 and kurtosis 6 for Laplace noise.
            variance, kurtosis = (2.0, 6.0) if any(seen.laplace for seen in group) else (1.0, 3.0)
            squares = float(((matrix - matrix.mean(axis=0)) ** 2).sum()) / variance
            out.append((label, (squares, degrees * (kurtosis - 1), float(degrees))))
    return out
