"""Audit a method's claim: fit it many times on worst-case neighbours and bound, from its releases, what it gives away.

The fits run as any user's do, through the real pipeline, Door and noise, on small public tables. The audit sees every
noisy value (white-box). What it finds is a lower bound on the privacy loss: a claim that it does not contradict is not
proved by it. The proof is in the accounting and in the contracts of record and replay.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sklar.accounting.unit import Neighbours, Unit, unit_of
from sklar.arrays import Floats
from sklar.errors import SklarWarning, UsageError
from sklar.lab.audit.neighbours import KEY, SCHEMA, NeighbourPair, neighbour_pairs
from sklar.lab.audit.statistic import (
    ALL,
    Seen,
    claimed_mu,
    combined,
    epsilon_low,
    implied_epsilon,
    laplace_power,
    look,
    noise_spreads,
    seen_mu,
)
from sklar.lab.intervals import Estimate, hedges_difference, student_quantile, within
from sklar.methods.registry import find_method
from sklar.notebook import notebook_bar
from sklar.pipeline.fit.request import DEFAULT_DELTA, fit_request
from sklar.pipeline.fit.run import releases
from sklar.pipeline.model import Model
from sklar.release.measurements import Recorded
from sklar.sample.rng import generator
from sklar.schema import Person, Schema
from sklar.schema.reading import ReadOptions

LABEL = "a lower bound on the privacy loss: an audit that finds nothing proves nothing"
LEAST_RUNS = 10
"""Fewer fits leave no half to learn from."""
SMOOTH = 1.0
"""From this scale on integer Gaussian noise is told from the continuous one by nobody."""
ENOUGH_BITS = 80.0
"""Noise of this entropy does not come out the same twice."""
KNOWN = 0.9
"""Where the noise on counts alone amounts to so much of the claimed mu, nothing is learned from fits kept for it."""
Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAudit:
    """What one pair of neighbouring tables showed.

    Attributes:
        name: In which respect the person is alone.
        mu: Estimated mu of the Gaussian trade-off; None with Laplace noise.
        epsilon_of_mu: The epsilon at the claim's delta that this mu amounts to; None with Laplace noise.
        epsilon_low: Lower bound on epsilon at the claim's delta from shares of fits alone.
        noise: Spread of the noise found, over the one stated.
        stated_mu: mu by the exact shifts between the tables and the noise that the releases state, as a mean over fits;
            None with Laplace noise.
        visible: The least true epsilon that would have been caught with a chance of 90%.
        faults: What contradicts the claim, in plain sentences.
    """

    name: str
    mu: Estimate | None
    epsilon_of_mu: Estimate | None
    epsilon_low: float
    noise: Estimate | None
    stated_mu: float | None
    visible: float
    faults: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        facts = {**asdict(self), "visible_epsilon": _finite(self.visible), "faults": list(self.faults)}
        del facts["visible"]
        return facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What an audit found; `passed` says that nothing contradicts the claim, not that the claim is proved.

    Attributes:
        mu: The mean of the mu of all pairs, which the claim bounds as it bounds each; its interval is the narrower for
            all the fits in it. None with Laplace noise.
        faults: What contradicts the claim, in plain sentences.
    """

    method: str
    epsilon: float
    delta: float
    neighbours: str
    runs: int
    confidence: float
    claimed_mu: float | None
    pairs: tuple[PairAudit, ...]
    mu: Estimate | None
    faults: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing contradicts the claim."""
        return not self.faults

    @property
    def epsilon_low(self) -> float:
        """The greatest lower bound on epsilon that was found."""
        bounds = [0.0 if p.epsilon_of_mu is None else p.epsilon_of_mu.low for p in self.pairs]
        together = 0.0 if self.mu is None else implied_epsilon(self.mu.low, self.delta)
        return max([together, *bounds, *(pair.epsilon_low for pair in self.pairs)])

    @property
    def visible(self) -> float:
        """The least true epsilon that would have been caught, on the pair that shows most, with a chance of 90%."""
        return min(pair.visible for pair in self.pairs)

    @property
    def verdict(self) -> str:
        """One plain sentence or two."""
        if not self.passed:
            return f"THE CLAIM IS CONTRADICTED for method '{self.method}': {self.faults[0]}"
        seen = f"{self.visible:.3g}" if math.isfinite(self.visible) else "any that noise of this kind could have"
        return (
            f"Nothing contradicts the claim of method '{self.method}' (epsilon {self.epsilon:g}): the bound found is "
            f"{self.epsilon_low:.3g}. A true epsilon of {seen} or more would probably have been caught. "
            f"This is {LABEL}."
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {
            **asdict(self), "label": LABEL, "passed": self.passed, "verdict": self.verdict,
            "epsilon_low": self.epsilon_low, "visible_epsilon": _finite(self.visible),
            "pairs": [pair.to_dict() for pair in self.pairs], "faults": list(self.faults),
        }  # fmt: skip


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def audit(
    method: str = "vine",
    epsilon: float = 1.0,
    delta: float = DEFAULT_DELTA,
    *,
    runs: int = 2_000,
    neighbours: Neighbours | None = None,
    persons: int | None = None,
    pairs: Sequence[str] | None = None,
    confidence: float = 0.99,
    progress: Progress | None = None,
    fit: Callable[..., Model] | None = None,
    **options: Any,
) -> Audit:
    """Audit a DP method.

    Args:
        method: A name from `sklar methods`.
        epsilon: The epsilon to claim.
        delta: The delta to claim.
        runs: Fits for each pair of neighbouring tables, one half on either table.
        neighbours: "add-remove" or "replace"; by default what the method prefers.
        persons: If given, neighbours differ by a whole person, of whose many rows so many are used and share one vote.
        pairs: Any of "lone label", "extreme value", "all null"; all of them by default.
        confidence: Of all bounds together: the chance that a true claim is not called contradicted.
        progress: Told what is being done, and the fraction that is done.
        fit: What fits, in the place of a fit that ends with its last release: say, one with a planted fault, to see
            that it is caught.
        options: Options of the method.
    """
    chosen = find_method(method)
    if runs < LEAST_RUNS:
        raise UsageError(f"an audit needs at least {LEAST_RUNS} runs; found {runs}.")
    if not 0.5 <= confidence < 1:
        raise UsageError(f"confidence must be at least 0.5 and below 1; found {confidence}.")
    relation = neighbours or chosen.neighbours
    schema = SCHEMA if persons is None else SCHEMA.with_person(Person(key=KEY, rows=persons))
    unit = unit_of(schema.person, relation, options.get("rows_per_person", 1))
    chosen.require_unit(unit)
    tables = neighbour_pairs(method, relation, pairs, schema)
    tell = progress or notebook_bar("auditing") or (lambda what, fraction: None)
    settings = {"method": method, "epsilon": epsilon, "delta": delta, "neighbours": relation, **options}
    source = _Fits(fit, schema, settings) if fit is not None else _Releases(schema, settings)
    run = _Run(source=source, settings=settings, unit=unit, half=runs // 2, tell=tell)
    found = run.judge(tables, 1 - confidence)
    mu = together([judged.told for judged in found], (1 - confidence) / (1 + len(found)))
    tell("done", 1.0)
    faults = [fault for judged in found for fault in judged.pair.faults]
    if mu is not None and implied_epsilon(mu.low, delta) > epsilon:
        low = implied_epsilon(mu.low, delta)
        faults.append(f"all pairs together: epsilon is at least {low:.3g} at delta {delta:g}, by the estimate of mu.")
    return Audit(
        method=method, epsilon=epsilon, delta=delta, neighbours=relation, runs=runs, confidence=confidence,
        claimed_mu=claimed_mu(epsilon, delta) if delta > 0 else None, pairs=tuple(judged.pair for judged in found),
        mu=mu, faults=tuple(faults),
    )  # fmt: skip


class _Fits:
    """Whole fits, by whatever fits."""

    def __init__(self, fit: Callable[..., Model], schema: Schema, settings: Mapping[str, Any]):
        self._fit, self._schema, self._settings = fit, schema, settings

    def __call__(self, table: Any) -> Sequence[Recorded]:
        return self._fit(table, self._schema, **self._settings).releases


class _Releases:
    """Fits that end with their last release, by the label of the last one of a whole fit on a table of their own.

    Should a fit on another table go on after a step of that label, then what comes later is not looked at: a bound from
    below stays one.
    """

    def __init__(self, schema: Schema, settings: Mapping[str, Any]):
        self._schema = schema
        self._settings = {"read": ReadOptions(threads=1), **settings}  # starting more takes longer than so few rows do
        self._last: str | None = None

    def __call__(self, table: Any) -> Sequence[Recorded]:
        found = releases(fit_request(table, self._schema, **self._settings), self._last)
        if self._last is None:
            self._last = found[-1].label
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """What a pair showed, and the statistics of its fits on either table; None with Laplace noise."""

    pair: PairAudit
    told: tuple[Floats, Floats] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """The fits of one audit."""

    source: Callable[[Any], Sequence[Recorded]]
    settings: Mapping[str, Any]
    unit: Unit
    half: int
    tell: Progress

    def judge(self, tables: Sequence[NeighbourPair], tail: float) -> list[_Judged]:
        """Fit the table that all pairs begin with, then each neighbour, and see what tells them apart."""
        steps, sides = 1 + len(tables), [pair.side(self.unit, is_other=False) for pair in tables]
        fits = self._fits(tables[0].one, "fitting the first table", 0, steps)
        first = [[look(fit, side) for side in sides] for fit in fits]
        out: list[_Judged] = []
        for at, pair in enumerate(tables):
            fits = self._fits(pair.other, f"fitting its neighbour: {pair.name}", at + 1, steps)
            side = pair.side(self.unit, is_other=True)
            second = [look(fit, side) for fit in fits]
            share = tail / (1 + len(tables))  # one part is for all pairs together
            out.append(_judge(pair.name, [seen[at] for seen in first], second, self.settings, share))
        return out

    def _fits(self, table: Any, what: str, step: int, steps: int) -> Iterator[Sequence[Recorded]]:
        """The releases of each fit."""
        for at in range(self.half):
            self.tell(what, (step + at / self.half) / steps)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SklarWarning)
                told = self.source(table)
            yield told


def _judge(
    name: str, first: Sequence[Seen], second: Sequence[Seen], settings: Mapping[str, Any], tail: float
) -> _Judged:
    """Bounds from the fits; the chance of a false alarm is shared by three checks."""
    epsilon, delta, tail = settings["epsilon"], settings["delta"], tail / 3
    seen = [*first, *second]
    gaussian = delta > 0 and not any(s.laplace for s in seen) and min(s.scale for s in seen) >= SMOOTH
    labelled = [[(s, False) for s in first], [(s, True) for s in second]]
    cut = len(first) // 2
    train, test = ([*labelled[0][s], *labelled[1][s]] for s in (slice(None, cut), slice(cut, None)))
    chosen, tried = combined(train, train), combined(train, test)
    low = epsilon_low(chosen, tried, delta, tail)
    # Where nothing had to be learned from the fits, all of them may be used for mu.
    known = np.median([math.sqrt(s.information) for s in seen])
    learned = any(s.sums for s in seen) and (not gaussian or known < KNOWN * claimed_mu(epsilon, delta))
    one, other = tried if learned else combined([], [*labelled[0], *labelled[1]])
    mu = hedges_difference(one, other, tail) if gaussian else None
    implied = None if mu is None else Estimate(**{k: implied_epsilon(v, delta) for k, v in mu.to_dict().items()})
    stated = [math.sqrt(s.information) for s in seen] if gaussian else []
    if gaussian:
        visible = implied_epsilon(seen_mu(claimed_mu(epsilon, delta), len(one), len(other), tail), delta)
    else:
        draws = max(1, *(s.moved for s in second))
        visible = laplace_power(epsilon, draws, len(tried[0]), tail, delta, generator(0))
    noise = noise_spreads((first, second), tail)
    pair = PairAudit(
        name=name, mu=mu, epsilon_of_mu=implied, epsilon_low=low, noise=noise.get(ALL),
        stated_mu=float(np.mean(stated)) if gaussian else None, visible=visible,
        faults=tuple(_faults(name, epsilon, delta, implied, low, noise, max(stated, default=None), seen)),
    )  # fmt: skip
    return _Judged(pair=pair, told=(one, other) if gaussian else None)


def together(pairs: Sequence[tuple[Floats, Floats] | None], tail: float) -> Estimate | None:
    """The mean of the standardized differences of several pairs of samples, the first of which come from the same fits.

    Each sample is divided by the common spread of its pair. Fits on the first table are told apart once for each pair,
    so that their mean over pairs is what counts; those on the others are independent. The error of the spreads adds the
    mu^2 / (2 (n + n')) of `hedges_difference`, as if all pairs shared it.
    """
    found = [pair for pair in pairs if pair is not None]
    if not found or len(found) < len(pairs):
        return None
    spreads = [math.sqrt((one.var(ddof=1) + other.var(ddof=1)) / 2) for one, other in found]
    if min(spreads) <= 0:
        return None
    first = np.mean([one / s for (one, _), s in zip(found, spreads, strict=True)], axis=0)
    others = [other / s for (_, other), s in zip(found, spreads, strict=True)]
    mu, fits = float(np.mean([other.mean() for other in others]) - first.mean()), len(first)
    error = first.var(ddof=1) / fits + sum(other.var(ddof=1) / len(other) for other in others) / len(others) ** 2
    error += mu**2 / (4 * fits)
    return within(mu, student_quantile(2 * fits - 2, 1 - tail) * math.sqrt(error))


def _faults(
    name: str, epsilon: float, delta: float, implied: Estimate | None, low: float, noise: Mapping[str, Estimate],
    stated: float | None, seen: Sequence[Seen],
) -> list[str]:  # fmt: skip
    faults: list[str] = []
    if implied is not None and implied.low > epsilon:
        faults.append(f"{name}: epsilon is at least {implied.low:.3g} at delta {delta:g}, by the estimate of mu.")
    if low > epsilon:
        faults.append(f"{name}: epsilon is at least {low:.3g} at delta {delta:g}, by counting fits.")
    for label, found in noise.items():
        if found.high < 1:
            faults.append(f"{name}: noise ({label}) has {found.value:.3g} times the spread that its release states.")
    if stated is not None and implied_epsilon(stated, delta) > epsilon * 1.001:
        faults.append(f"{name}: the noise that the releases state is too small for the claim.")
    prints = [s.print for s in seen]
    if len(set(prints)) < len(prints) and min(s.bits for s in seen) >= ENOUGH_BITS:
        faults.append(f"{name}: two fits released exactly the same values; the noise repeats.")
    return faults
