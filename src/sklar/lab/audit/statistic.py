"""Test statistics and bounds on the privacy loss from the releases of fits on two neighbouring tables.

**One fit: a log-likelihood ratio over all its releases.** The tables are public, so the exact counts x of the first and
the change D towards the second are known for every cell that is queried. With noisy values y, a Gaussian cell adds
D (y - x) / sigma^2 (up to a constant), a Laplace cell (|y - x| - |y - x - D|) / scale, each with the scale stated in
its release: methods may choose scales adaptively. Interactions of tables and most sums are whole numbers, too, with
known exact values (`exact`); so are the scores of choices, which determine their probabilities. How sums over blocks
and samples of rows change is learned from one half of the fits.

**Many fits: bounds.** With Gaussian noise, distinguishing the tables is distinguishing N(0, 1) from N(mu, 1) (Dong,
Roth, Su 2022). mu is estimated as the difference of the means over the common spread, and the bound on mu is converted
to an epsilon at the claim's delta: observing epsilon at delta 1e-9 directly would take billions of fits. With Laplace
noise, P'(E) <= e^epsilon P(E) + delta for every event E, so that exact bounds on two frequencies (Clopper and Pearson
1934) bound epsilon from below. The event, a threshold, is chosen on other fits than those it is tested on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sklar.accounting.composition.gaussian import analytic_gaussian_epsilon, analytic_gaussian_sigma
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.arrays import Floats
from sklar.lab.audit.exact import Codes, choice_scores, choice_terms, exact_values
from sklar.lab.intervals import Estimate, clopper_pearson_high, clopper_pearson_low, normal_quantile, student_quantile
from sklar.release.measurements import Choice, Measurement, Recorded

DETECTION_POWER = 0.9
"""The probability of detection that defines `visible`: a reporting convention that changes no verdict."""
MIN_SHIFT_ERRORS, MAX_UNSCREENED_SIZE = 2.5, 8
"""In sums with more coordinates than the second, only shifts of the first number of standard errors are used: a lower
limit adds noise to the statistic, a higher one loses shifts when there are few fits."""
MAX_SUMMED_SCALE = 1_000.0
"""Above this scale the moments of integer noise equal those of continuous noise to six digits."""
ALL = "all releases"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FitSummary:
    """The releases of one fit, summarized.

    Attributes:
        ratio: The log-likelihood ratio of all releases with known exact values, up to a constant for Gaussian noise.
        information: Sum of D^2 / sigma^2 over Gaussian cells and of the variances of choices: the squared mu implied
            by the exact shifts and the stated noise.
        residuals: By release: the sum over cells of the squared residual over its stated variance, the expected
            variance of this sum, and the number of cells.
        bits: Approximate entropy of all noise.
        scale: The smallest noise scale, in whole units.
        moved: Number of cells that differ between the tables.
        sums: Noisy sums without known exact values, divided by their scale, by label.
        laplace: Whether any noise was Laplace.
        print: Fingerprint of all released values.
    """

    ratio: float
    information: float
    residuals: Mapping[str, tuple[float, float, int]]
    bits: float
    scale: float
    moved: int
    sums: Mapping[str, Floats]
    laplace: bool
    print: int


def summarize_fit(
    releases: Sequence[Recorded], tables: tuple[Codes, Codes], unit: Unit, *, is_other: bool
) -> FitSummary:
    """Summarize the releases of one fit, given the base codes of both tables and whether the second was fitted."""
    ratio = information = bits = 0.0
    moved, laplace, scale, parts = 0, False, math.inf, list[bytes]()
    sums: dict[str, Floats] = {}
    residuals: dict[str, tuple[float, float, int]] = {}
    for at, step in enumerate(releases):
        for place, release in enumerate(step.releases):
            label = f"{at} {step.label} {place}"
            if isinstance(release, Choice) and release.score is not None:
                one, other = (choice_scores(release.score, codes) for codes in tables)
                scale_of_choice = 2.0 * release.score.sensitivity(unit) / release.epsilon
                more = choice_terms(one, other, scale_of_choice, release.indices)
                ratio, information = ratio + more[0], information + more[1]
            elif isinstance(release, Measurement):
                values, noise = _scale_to_integers(release)
                laplace |= noise.kind == "laplace"
                parts.append(values.tobytes())
                exact = [exact_values(release.query, codes) for codes in tables]
                if exact[0] is None or exact[1] is None:
                    sums[label] = values / noise.scale
                    continue
                # If rows share votes, sums are in fractions of a vote.
                fine = release.query.resolution / release.resolution
                found = _compare_values(values, noise, fine * exact[0], fine * exact[1], is_other=is_other)
                ratio, information, moved = ratio + found[0], information + found[1], moved + found[3]
                residuals[label] = found[2]
                scale = min(scale, noise.scale)
                bits += values.size * max(0.0, math.log2(4 * noise.scale))
    return FitSummary(
        ratio=ratio, information=information, residuals=residuals, bits=bits, scale=scale, moved=moved, sums=sums,
        laplace=laplace, print=hash(tuple(parts)),
    )  # fmt: skip


def _scale_to_integers(release: Measurement) -> tuple[Floats, Noise]:
    """Return the values of a measurement in whole units, and their noise."""
    noise = Noise(kind=release.noise.kind, scale=release.noise.scale / release.resolution)
    return np.rint(release.values.ravel() / release.resolution), noise


def _compare_values(
    noisy: Floats, noise: Noise, exact: Floats, second: Floats, *, is_other: bool
) -> tuple[float, float, tuple[float, float, int], int]:
    """Return log-likelihood ratio, information, residuals, and the number of cells that differ between the tables."""
    change, scale = second - exact, noise.scale
    away = noisy - exact
    moved = np.flatnonzero(change)
    if noise.kind == "gaussian":
        ratio = float((change[moved] * away[moved]).sum()) / scale**2
        information = float((change[moved] ** 2).sum()) / scale**2
    else:
        ratio = float((np.abs(away[moved]) - np.abs(away[moved] - change[moved])).sum()) / scale
        information = 0.0
    residual = away - change if is_other else away
    variance, fourth = noise_moments(noise)
    spread = len(residual) * (fourth / variance**2 - 1)
    return ratio, information, (float((residual**2).sum()) / variance, spread, len(residual)), len(moved)


@lru_cache(maxsize=4096)
def noise_moments(noise: Noise) -> tuple[float, float]:
    """Return the second and fourth moment of integer noise, summed over its support."""
    if noise.scale > MAX_SUMMED_SCALE:
        return (noise.std**2, 3 * noise.std**4) if noise.kind == "gaussian" else (noise.std**2, 6 * noise.std**4)
    reach = int(np.ceil(40 * noise.scale)) + 10
    k = np.arange(-reach, reach + 1, dtype=np.float64)
    log = -((k / noise.scale) ** 2) / 2 if noise.kind == "gaussian" else -np.abs(k) / noise.scale
    mass = np.exp(log)
    mass /= mass.sum()
    return float((mass * k**2).sum()), float((mass * k**4).sum())


def combine_releases(
    training: Sequence[tuple[FitSummary, bool]], tested: Sequence[tuple[FitSummary, bool]]
) -> tuple[Floats, Floats]:
    """Compute the statistics of fits on the first and the second table; weights of sums are learned from `training`."""
    weights = _learn_weights(training)
    out: tuple[list[float], list[float]] = ([], [])
    for fit, is_other in tested:
        value, norm = fit.ratio, fit.information
        for label, (weight, spread) in weights.items():
            if label in fit.sums and len(fit.sums[label]) == len(weight):
                value += float(weight @ fit.sums[label])
                norm += spread
        # Divided by its standard deviation under the stated noise, so that fits with different queries are comparable.
        out[is_other].append(value / np.sqrt(norm) if norm > 0 and not fit.laplace else value)
    return np.array(out[0]), np.array(out[1])


def _learn_weights(training: Sequence[tuple[FitSummary, bool]]) -> dict[str, tuple[Floats, float]]:
    """Return the best weights of sums, by label, and the variance of the weighted sum.

    A weight is the shift of a sum over its variance, which exceeds that of its noise if queries differ between fits.
    With many coordinates only significant shifts are used.
    """
    out: dict[str, tuple[Floats, float]] = {}
    for label in {label for fit, _ in training for label in fit.sums}:
        groups = [[s.sums[label] for s, other in training if label in s.sums and other == flag] for flag in (0, 1)]
        sizes = {len(v) for group in groups for v in group}
        if len(sizes) != 1 or min(len(group) for group in groups) < 10:
            continue
        one, two = (np.array(group) for group in groups)
        direction = two.mean(axis=0) - one.mean(axis=0)
        error = np.sqrt(one.var(axis=0) / len(one) + two.var(axis=0) / len(two))
        if len(direction) > MAX_UNSCREENED_SIZE:
            direction = np.where(np.abs(direction) > MIN_SHIFT_ERRORS * error, direction, 0.0)
        spread = np.maximum((one.var(axis=0) + two.var(axis=0)) / 2, 1.0)
        weights = direction / spread
        out[label] = weights, float((weights**2 * spread).sum())
    return out


def claimed_mu(epsilon: float, delta: float) -> float:
    """Return mu of the Gaussian mechanism with exactly this epsilon and delta."""
    return 1.0 / analytic_gaussian_sigma(epsilon, delta)


def implied_epsilon(mu: float, delta: float) -> float:
    """Return the epsilon of a Gaussian trade-off at this delta."""
    if mu == math.inf:
        return math.inf
    return 0.0 if mu <= 0 else analytic_gaussian_epsilon(1 / mu, delta)


def detectable_mu(mu: float, n: int, m: int, tail: float) -> float:
    """Return the smallest mu that would be distinguished from this one with a probability of 90%."""
    return mu + (student_quantile(n + m - 2, 1 - tail) + normal_quantile(DETECTION_POWER)) * math.sqrt(1 / n + 1 / m)


def epsilon_low(train: tuple[Floats, Floats], test: tuple[Floats, Floats], delta: float, tail: float) -> float:
    """Return a lower bound on epsilon from the event with the greatest bound on the training fits."""
    thresholds = np.unique(np.quantile(np.concatenate(train), np.linspace(0.005, 0.995, 100)))
    events = [(float(threshold), above) for threshold in thresholds for above in (True, False)]
    best = max(events, key=lambda event: _event_epsilon(train, *event, delta, tail))
    return max(0.0, _event_epsilon(test, *best, delta, tail))


def _event_epsilon(groups: tuple[Floats, Floats], threshold: float, above: bool, delta: float, tail: float) -> float:
    """Bound epsilon by the event "statistic above (not above) the threshold", likelier on the second (first) table."""
    shares = [(int(((group > threshold) == above).sum()), len(group)) for group in groups]
    rare, likely = shares if above else shares[::-1]
    return _counted_epsilon(likely, rare, delta, tail)


def _counted_epsilon(likely: tuple[int, int], rare: tuple[int, int], delta: float, tail: float) -> float:
    """Return the smallest epsilon consistent with the frequencies (hits, trials) of an event on the two tables."""
    low, high = clopper_pearson_low(*likely, tail / 2), clopper_pearson_high(*rare, tail / 2)
    return math.log((low - delta) / high) if low > delta and high > 0 else -math.inf


def laplace_power(epsilon: float, draws: int, n: int, tail: float, delta: float, rng: np.random.Generator) -> float:
    """Return the smallest epsilon that would be detected, for a loss composed of `draws` equal Laplace draws.

    Fits with smaller and smaller (continuous) noise are simulated, and the bound is computed from expected counts.
    """
    factor = 1.0
    while factor < 16:
        factor *= 1.1
        each = factor * epsilon / draws
        noise = rng.laplace(size=(20_000, draws)) / each
        one = (np.abs(noise) - np.abs(noise - 1)).sum(axis=1) * epsilon / draws
        other = (np.abs(noise + 1) - np.abs(noise)).sum(axis=1) * epsilon / draws
        for threshold in np.unique(np.quantile(one, np.linspace(0.02, 0.98, 49))):
            likely, rare = (round(float((loss > threshold).mean()) * n) for loss in (other, one))
            if _counted_epsilon((likely, n), (rare, n), delta, tail) > epsilon:
                return factor * epsilon
    return math.inf


def noise_spreads(groups: Sequence[Sequence[FitSummary]], tail: float) -> dict[str, Estimate]:
    """Estimate observed over stated standard deviation, by release and for all of them; all share `tail`.

    Residuals are known because the exact values are public. For sums over blocks or samples of rows, the spread around
    their mean over the fits on one table is used: at least that of the noise, even if queries differ between fits.
    """
    parts: dict[str, list[tuple[float, float, float]]] = {}
    for fit in (fit for group in groups for fit in group):
        for label, found in fit.residuals.items():
            for name in (ALL, label):
                parts.setdefault(name, []).append(found)
    for label, found in _sum_residuals(groups):
        parts.setdefault(label, []).append(found)
    cut = normal_quantile(1 - tail / max(1, len(parts)))
    return {label: _estimate_spread(found, cut) for label, found in parts.items()}


def _estimate_spread(found: Sequence[tuple[float, float, float]], cut: float) -> Estimate:
    squares, variance, cells = (math.fsum(part[at] for part in found) for at in range(3))
    share, half = squares / cells, cut * math.sqrt(variance) / cells
    return Estimate(value=math.sqrt(share), low=math.sqrt(max(0.0, share - half)), high=math.sqrt(share + half))


def _sum_residuals(groups: Sequence[Sequence[FitSummary]]) -> list[tuple[str, tuple[float, float, float]]]:
    out: list[tuple[str, tuple[float, float, float]]] = []
    for group in groups:
        for label in {label for fit in group for label in fit.sums}:
            values = [fit.sums[label] for fit in group if label in fit.sums]
            if len(values) < 3 or len({len(v) for v in values}) != 1:
                continue
            matrix = np.array(values)
            degrees = (len(matrix) - 1) * matrix.shape[1]
            # In units of the scale: variance 1 and kurtosis 3 for Gaussian noise, 2 and 6 for Laplace noise.
            variance, kurtosis = (2.0, 6.0) if any(fit.laplace for fit in group) else (1.0, 3.0)
            squares = float(((matrix - matrix.mean(axis=0)) ** 2).sum()) / variance
            out.append((label, (squares, degrees * (kurtosis - 1), float(degrees))))
    return out
