"""What the releases of fits on two neighbouring tables say about the privacy that was lost.

**One fit: a log-likelihood ratio over all its releases.** Tables of counts: the tables are public, so the exact counts
x of the first and the change D towards the second are known for every cell asked for. With noisy values y, a Gaussian
cell adds D (y - x) / sigma^2 (up to a constant), a Laplace cell (|y - x| - |y - x - D|) / scale, each with the scale
that its release states: methods may choose scales as they go. Interactions of tables and most sums are whole numbers
too, and known as well (`exact`); so are the scores of choices, whose probabilities follow from them. How sums over
blocks and samples of rows change is learned from one half of the fits.

**Many fits: bounds.** Gaussian noise: telling the tables apart is telling N(0, 1) from N(mu, 1) (Dong, Roth, Su 2022).
mu is estimated as the difference of the means over the common spread, and the bound on mu becomes an epsilon at the
claim's delta: epsilon at delta 1e-9 itself would take billions of fits to see. Laplace noise: for an event E,
P'(E) <= e^epsilon P(E) + delta, so that exact bounds on two shares (Clopper and Pearson 1934) bound epsilon from below.
The event, a threshold, is chosen on other fits than those it is tried on.
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
from sklar.schema.table import Schema

POWER = 0.9
"""The chance of catching a violation by which `visible` is defined: a convention of reporting, it moves no verdict."""
STANDING_OUT, MANY = 2.5, 8
"""Of sums with more than MANY coordinates, only shifts of so many standard errors are used: fewer add their noise to
the statistic, more lose the shifts of a few fits."""
WIDE = 1_000.0
"""From this scale on the moments of integer noise are those of the continuous one, to six digits."""
ALL = "all releases"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Seen:
    """What one fit released, boiled down.

    Attributes:
        ratio: The log-likelihood ratio of all whose exact values are known, up to a constant where noise is Gaussian.
        information: Sum of D^2 / sigma^2 over Gaussian cells, and what choices add: the squared mu that the exact
            shifts and the stated noise imply.
        residuals: By release: the sum over cells of the squared residual over its variance by the stated noise,
            the variance this sum should have, and the number of cells.
        bits: Entropy of all noise, roughly.
        scale: The smallest noise scale, in whole units.
        moved: Number of cells that differ between the tables.
        sums: Values over their scale of noisy sums whose exact values are not known, by label.
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Side:
    """Base codes of the two tables, which of them the fits saw, and whom the claim protects."""

    schema: Schema
    unit: Unit
    one: Codes
    other: Codes
    is_other: bool


def look(releases: Sequence[Recorded], side: Side) -> Seen:
    """Boil down the releases of one fit."""
    ratio = information = bits = 0.0
    moved, laplace, scale, parts = 0, False, math.inf, list[bytes]()
    sums: dict[str, Floats] = {}
    residuals: dict[str, tuple[float, float, int]] = {}
    for at, step in enumerate(releases):
        for place, release in enumerate(step.releases):
            label = f"{at} {step.label} {place}"
            if isinstance(release, Choice) and release.score is not None:
                one, other = (choice_scores(release.score, codes) for codes in (side.one, side.other))
                scale_of_choice = 2.0 * release.score.sensitivity(side.unit) / release.epsilon
                more = choice_terms(one, other, scale_of_choice, release.indices)
                ratio, information = ratio + more[0], information + more[1]
            elif isinstance(release, Measurement):
                values, noise = _whole(release)
                laplace |= noise.kind == "laplace"
                parts.append(values.tobytes())
                exact = [exact_values(release.query, codes) for codes in (side.one, side.other)]
                if exact[0] is None or exact[1] is None:
                    sums[label] = values / noise.scale
                    continue
                # Where rows share votes, sums are in parts of a vote.
                fine = release.query.resolution / release.resolution
                found = _table(values, noise, fine * exact[0], fine * exact[1], is_other=side.is_other)
                ratio, information, moved = ratio + found[0], information + found[1], moved + found[3]
                residuals[label] = found[2]
                scale = min(scale, noise.scale)
                bits += values.size * max(0.0, math.log2(4 * noise.scale))
    return Seen(
        ratio=ratio, information=information, residuals=residuals, bits=bits, scale=scale, moved=moved, sums=sums,
        laplace=laplace, print=hash(tuple(parts)),
    )  # fmt: skip


def _whole(release: Measurement) -> tuple[Floats, Noise]:
    """The whole numbers of a table, of interactions or of sums, and the noise on them."""
    noise = Noise(kind=release.noise.kind, scale=release.noise.scale / release.resolution)
    return np.rint(release.values.ravel() / release.resolution), noise


def _table(
    noisy: Floats, noise: Noise, exact: Floats, second: Floats, *, is_other: bool
) -> tuple[float, float, tuple[float, float, int], int]:
    """Log-likelihood ratio, information, residuals, and cells that differ between the tables."""
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
    """Second and fourth moment of integer noise, summed over its support."""
    if noise.scale > WIDE:
        return (noise.std**2, 3 * noise.std**4) if noise.kind == "gaussian" else (noise.std**2, 6 * noise.std**4)
    reach = int(np.ceil(40 * noise.scale)) + 10
    k = np.arange(-reach, reach + 1, dtype=np.float64)
    log = -((k / noise.scale) ** 2) / 2 if noise.kind == "gaussian" else -np.abs(k) / noise.scale
    mass = np.exp(log)
    mass /= mass.sum()
    return float((mass * k**2).sum()), float((mass * k**4).sum())


def combined(training: Sequence[tuple[Seen, bool]], tested: Sequence[tuple[Seen, bool]]) -> tuple[Floats, Floats]:
    """The statistic of fits on the first and on the second table, with what had to be learned taken from `training`."""
    directions = _directions(training)
    out: tuple[list[float], list[float]] = ([], [])
    for seen, is_other in tested:
        value, norm = seen.ratio, seen.information
        for label, (direction, spread) in directions.items():
            if label in seen.sums and len(seen.sums[label]) == len(direction):
                value += float(direction @ seen.sums[label])
                norm += spread
        # Divided by its spread under the stated noise, so that fits of different questions count alike.
        out[is_other].append(value / np.sqrt(norm) if norm > 0 and not seen.laplace else value)
    return np.array(out[0]), np.array(out[1])


def _directions(training: Sequence[tuple[Seen, bool]]) -> dict[str, tuple[Floats, float]]:
    """The best weights of sums, by label, and the variance of what they weigh.

    Weights are how far a sum moves over its variance, which is more than that of its noise where the question asked
    changes from fit to fit; with many coordinates only of those that stand out.
    """
    out: dict[str, tuple[Floats, float]] = {}
    labels = {label for seen, _ in training for label in seen.sums}
    for label in labels:
        groups = [[s.sums[label] for s, other in training if label in s.sums and other == flag] for flag in (0, 1)]
        sizes = {len(v) for group in groups for v in group}
        if len(sizes) != 1 or min(len(group) for group in groups) < 10:
            continue
        one, two = (np.array(group) for group in groups)
        direction = two.mean(axis=0) - one.mean(axis=0)
        error = np.sqrt(one.var(axis=0) / len(one) + two.var(axis=0) / len(two))
        if len(direction) > MANY:
            direction = np.where(np.abs(direction) > STANDING_OUT * error, direction, 0.0)
        spread = np.maximum((one.var(axis=0) + two.var(axis=0)) / 2, 1.0)
        weights = direction / spread
        out[label] = weights, float((weights**2 * spread).sum())
    return out


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


def epsilon_low(train: tuple[Floats, Floats], test: tuple[Floats, Floats], delta: float, tail: float) -> float:
    """A lower bound on epsilon from the event that shows most on the training fits."""
    thresholds = np.unique(np.quantile(np.concatenate(train), np.linspace(0.005, 0.995, 100)))
    events = [(float(threshold), above) for threshold in thresholds for above in (True, False)]
    best = max(events, key=lambda event: _event_epsilon(train, *event, delta, tail))
    return max(0.0, _event_epsilon(test, *best, delta, tail))


def _event_epsilon(groups: tuple[Floats, Floats], threshold: float, above: bool, delta: float, tail: float) -> float:
    """For the event "statistic above (or not above) the threshold", which is likelier on the second (first) table."""
    shares = [(int(((group > threshold) == above).sum()), len(group)) for group in groups]
    rare, likely = shares if above else shares[::-1]
    return _counted_epsilon(likely, rare, delta, tail)


def _counted_epsilon(likely: tuple[int, int], rare: tuple[int, int], delta: float, tail: float) -> float:
    """The least epsilon at which an event is so much likelier on one table: (hits, trials) on either."""
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
            likely, rare = (round(float((loss > threshold).mean()) * n) for loss in (other, one))
            if _counted_epsilon((likely, n), (rare, n), delta, tail) > epsilon:
                return factor * epsilon
    return math.inf


def noise_spreads(groups: Sequence[Sequence[Seen]], tail: float) -> dict[str, Estimate]:
    """Spread found over spread stated, by release and for all of them together; `tail` is shared by all.

    The exact values are public here, so residuals are known. Sums over blocks or samples of rows: spread around their
    mean over the fits on one table, which is no less than that of the noise even if the question asked changes from fit
    to fit.
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
