"""Delta of a plan by direct sums of positive numbers, without transforms or grids; and random plans to try it on.

The loss of k draws of Gaussian noise moved by D is (2 D S + k D^2) / (2 sigma^2), S being the sum of the draws. From
sigma = 4 on S has itself the law of a discrete Gaussian of parameter sigma sqrt(k), to 60 digits (Poisson summation);
below, its law is convolved directly. Losses of different noises are summed over one another, or convolved directly
where their lattices have a common step. Whatever is cut off makes the sum smaller, by a share below 10^-12.

`python -m tests.accounting.direct_sums 2000` tries as many plans, and half as many hard ones; it takes ten minutes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.signal import lfilter
from scipy.special import gammaln

from sklar.accounting.budget import Budget
from sklar.accounting.calibrate import PlannedTables, calibrate, plan_events
from sklar.accounting.composition.exact import MIN_DELTA, exact_epsilon, find_pair
from sklar.accounting.events import CountEvent
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit

ACCURACY = 1e-11
"""Relative error of the direct sums: thousands of positive terms and exponents up to 100, in 53 bits."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Law:
    """Losses `first`, `first` + `step`, ... and their probabilities."""

    first: float
    step: float
    masses: np.ndarray

    @property
    def losses(self) -> np.ndarray:
        return self.first + self.step * np.arange(len(self.masses))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A plan that claims (epsilon, delta)."""

    events: tuple[CountEvent, ...]
    epsilon: float
    delta: float


def law_of(event: CountEvent) -> Law:
    """The total loss of all tables of an event, for one person whose rows share a cell."""
    draws = event.tables * (1 if event.unit.neighbours == "add-remove" else 2)
    scale, moved = event.noise.scale, event.unit.rows_per_person
    if event.noise.kind == "laplace":
        ups = np.arange(draws + 1)
        chances = gammaln(draws + 1) - gammaln(ups + 1) - gammaln(draws - ups + 1)
        logs = chances - ups * np.log1p(np.exp(-1 / scale)) - (draws - ups) * np.log1p(np.exp(1 / scale))
        return Law(first=-draws / scale, step=2 / scale, masses=np.exp(logs))
    masses = _sum_of_draws(scale, draws)
    reach = len(masses) // 2
    first = (draws * moved**2 - 2 * moved * reach) / (2 * scale**2)
    return Law(first=first, step=moved / scale**2, masses=masses)


def _sum_of_draws(scale: float, draws: int) -> np.ndarray:
    """Probabilities of the sum at -reach, ..., reach."""
    if scale >= 4:
        x = np.arange(-int(13 * scale * math.sqrt(draws)) - 1, int(13 * scale * math.sqrt(draws)) + 2)
        return _scaled(np.exp(-0.5 * (x / (scale * math.sqrt(draws))) ** 2))
    x = np.arange(-int(14 * scale) - 2, int(14 * scale) + 3)
    power, law = _scaled(np.exp(-0.5 * (x / scale) ** 2)), np.ones(1)
    while draws:
        if draws & 1:
            law = _trimmed(np.convolve(law, power))
        power, draws = _trimmed(np.convolve(power, power)), draws >> 1
    return law


def _scaled(masses: np.ndarray) -> np.ndarray:
    return masses / math.fsum(masses)


def _trimmed(masses: np.ndarray) -> np.ndarray:
    """The middle part, as long on both sides, with all that is not below 10^-45."""
    kept = np.flatnonzero(masses > 1e-45)
    side = min(kept[0], len(masses) - 1 - kept[-1])
    return masses[side : len(masses) - side]


def direct_delta(laws: Sequence[Law], epsilon: float) -> float:
    """E (1 - e^(epsilon - L))^+ for the sum of independent losses."""
    *outer, inner = sorted(laws, key=lambda law: len(law.masses))
    losses, masses = np.zeros(1), np.ones(1)
    for law in outer:
        losses = np.add.outer(losses, law.losses).ravel()
        masses = np.multiply.outer(masses, law.masses).ravel()
        losses, masses = losses[masses > 1e-45], masses[masses > 1e-45]
    return math.fsum(masses * _one_law(inner, epsilon - losses))


def _one_law(law: Law, epsilons: np.ndarray) -> np.ndarray:
    """Delta of one law at many epsilons.

    With A_i the mass from point i on and D_i the delta at point i: D_i = (1 - q) A_(i+1) + q D_(i+1), q = e^-step, and
    the same from an epsilon between two points to the upper one.
    """
    mass = np.cumsum(law.masses[::-1])
    keep = math.exp(-law.step)
    delta = lfilter([-math.expm1(-law.step)], [1.0, -keep], np.concatenate([[0.0], mass[:-1]]))[::-1]
    mass = mass[::-1]
    above = np.floor((epsilons - law.first) / law.step).astype(np.int64) + 1
    above = np.maximum(above, 0)
    inside = above < len(mass)
    at = np.where(inside, above, 0)
    left = np.maximum(law.first + law.step * at - epsilons, 0.0)
    return np.where(inside, -np.expm1(-left) * mass[at] + np.exp(-left) * delta[at], 0.0)


def convolved(laws: Sequence[Law]) -> Law:
    """One law for losses whose steps are whole multiples of the smallest."""
    step = min(law.step for law in laws)
    wide = []
    for law in laws:
        times = round(law.step / step)
        assert abs(law.step / step - times) < 1e-12
        masses = np.zeros((len(law.masses) - 1) * times + 1)
        masses[::times] = law.masses
        wide.append(_trimmed(masses))
    masses = reduce(lambda a, b: _trimmed(np.convolve(a, b)), sorted(wide, key=len))
    middle = math.fsum(law.first + law.step * (len(law.masses) // 2) for law in laws)
    return Law(first=middle - step * (len(masses) // 2), step=step, masses=masses)


def true_delta(tried: Tried) -> float:
    """Delta of a plan at the epsilon it claims."""
    laws = [law_of(event) for event in tried.events]
    if len(laws) > 3:
        laws = [convolved(laws)]
    return direct_delta(laws, tried.epsilon)


def share_used(tried: Tried) -> float:
    """True delta over the delta that is claimed."""
    return true_delta(tried) / tried.delta


def random_plan(rng: np.random.Generator, *, least: float, hard: bool = False) -> Tried:
    """A plan calibrated to an epsilon between 0.1 and 10 and a delta from `least` to 10^-5.

    Hard ones have thousands of draws, all of one scale, and the smallest delta: rounding errors add up there.
    """
    unit = Unit(neighbours=("add-remove", "replace")[int(rng.integers(2))])
    epsilon, delta = 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(math.log10(least), -5)
    most = 4000 if unit.neighbours == "add-remove" else 2000
    kind = rng.choice(["one", "two", "many", "mixed", "persons"], p=[0.4, 0.15, 0.1, 0.25, 0.1])
    if hard:
        kind, delta = rng.choice(["one", "laplace"]), least
    if kind == "laplace":
        return _laplace(rng, unit, epsilon, delta)
    if kind == "mixed":
        return _mixed(rng, unit, epsilon, delta)
    lines = [(int(10 ** rng.uniform(3.3 if hard else 0, math.log10(most))), 1.0)]
    if kind == "two":
        lines = [(int(10 ** rng.uniform(0, 2)), 10 ** rng.uniform(-1, 1)) for _ in range(2)]
    if kind == "many":
        epsilon = 10 ** rng.uniform(0.5, 1)
        tables = [int(t) for t in rng.integers(1, 6, int(rng.integers(4, 25)))]
        lines = [(t, float(t * (rng.integers(1, 5) if i else 1))) for i, t in enumerate(tables)]
    if kind == "persons":
        unit = Unit(neighbours=unit.neighbours, rows_per_person=int(rng.integers(2, 5)))
    plan = [PlannedTables(label=f"{i}", tables=t, weight=w) for i, (t, w) in enumerate(lines)]
    events = plan_events(calibrate(Budget(epsilon=epsilon, delta=delta), unit, plan), unit, plan)
    return Tried(events=tuple(e for e in events if isinstance(e, CountEvent)), epsilon=epsilon, delta=delta)


def _mixed(rng: np.random.Generator, unit: Unit, epsilon: float, delta: float) -> Tried:
    """Gaussian and Laplace tables whose losses spread about as those of a Gaussian within (epsilon, delta) would."""
    shares = rng.dirichlet(np.ones(2))
    tables = [int(10 ** rng.uniform(0, 2.5)) for _ in shares]
    spread = epsilon / math.sqrt(2 * math.log(1 / delta))
    scales = [max(math.sqrt(t * unit.l1 / s) / spread, 0.3) for t, s in zip(tables, shares, strict=True)]
    noises = [Noise(kind="gaussian", scale=scales[0]), Noise(kind="laplace", scale=scales[1])]
    events = tuple(
        CountEvent(label=noise.kind, noise=noise, tables=t, unit=unit) for noise, t in zip(noises, tables, strict=True)
    )
    return Tried(events=events, epsilon=exact_epsilon(find_pair(events), delta), delta=delta)


def _laplace(rng: np.random.Generator, unit: Unit, epsilon: float, delta: float) -> Tried:
    tables = int(rng.integers(1000, 4001 if unit.neighbours == "add-remove" else 2001))
    scale = math.sqrt(tables * unit.l1 * 2 * math.log(1 / delta)) / epsilon
    event = CountEvent(label="l", noise=Noise(kind="laplace", scale=scale), tables=tables, unit=unit)
    return Tried(events=(event,), epsilon=exact_epsilon(find_pair([event]), delta), delta=delta)


def main() -> None:
    """Print how many of many plans are above their delta, and the largest share of it that one uses."""
    for count, hard in ((int(sys.argv[1]), False), (int(sys.argv[1]) // 2, True)):
        plans = (random_plan(np.random.default_rng([17, i]), least=MIN_DELTA, hard=hard) for i in range(count))
        shares = np.array([share_used(plan) for plan in plans])
        above = int((shares > 1 + ACCURACY).sum())
        print(f"{'hard' if hard else 'any'}: {above} of {count} above delta; largest share {shares.max():.9f}")


if __name__ == "__main__":
    main()
