"""Audit a method's claim: fit it many times on worst-case neighbours and bound its privacy loss from the releases.

The fits run as any user's do, through the real pipeline, Door and noise, on small public tables. The audit sees every
noisy value (white-box). The result is a lower bound on the privacy loss: an audit that finds no contradiction does not
prove the claim. The proof is in the accounting and in the contracts of record and replay.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sklar.accounting.unit import Neighbours, Unit, make_unit
from sklar.arrays import Floats
from sklar.errors import SklarWarning, UsageError
from sklar.lab.audit.neighbours import KEY, SCHEMA, NeighbourPair, neighbour_pairs
from sklar.lab.audit.statistic import (
    ALL,
    FitSummary,
    claimed_mu,
    combine_releases,
    detectable_mu,
    epsilon_low,
    implied_epsilon,
    laplace_power,
    noise_spreads,
    summarize_fit,
)
from sklar.lab.intervals import Estimate, hedges_difference, student_quantile, symmetric_interval
from sklar.methods.registry import find_method
from sklar.notebook import notebook_bar
from sklar.pipeline.fit.request import DEFAULT_DELTA, fit_request
from sklar.pipeline.fit.run import run_for_releases
from sklar.pipeline.model import Model
from sklar.release.measurements import Recorded
from sklar.sample.rng import generator
from sklar.schema import Person, Schema
from sklar.schema.reading import ReadOptions

LABEL = "a lower bound on the privacy loss: an audit that finds nothing proves nothing"
MIN_RUNS = 10
"""Minimum number of fits: half of them are used for training."""
MIN_GAUSSIAN_SCALE = 1.0
"""From this scale on, integer Gaussian noise is indistinguishable from continuous Gaussian noise."""
MIN_UNIQUE_BITS = 80.0
"""Noise with this entropy does not repeat by chance, so equal releases are a fault."""
MAX_STATED_MU_SHARE = 0.9
"""If the noise on counts alone already implies this share of the claimed mu, no fits are kept for training."""
Progress = Callable[[str, float], None]
Source = Callable[[Any], Sequence[Recorded]]
"""Fits a table and returns the releases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAudit:
    """The result for one pair of neighbouring tables.

    Attributes:
        name: The property that makes the differing person unique.
        mu: Estimated mu of the Gaussian trade-off; None with Laplace noise.
        epsilon_of_mu: The epsilon at the claim's delta implied by this mu; None with Laplace noise.
        epsilon_low: Lower bound on epsilon at the claim's delta from frequencies of fits.
        noise: Observed over stated standard deviation of the noise.
        stated_mu: mu implied by the exact shifts between the tables and the stated noise, averaged over fits; None with
            Laplace noise.
        visible: The smallest true epsilon that would be detected with a probability of 90%.
        faults: Contradictions of the claim, in plain sentences.
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
        """Return plain data for JSON."""
        facts = {**asdict(self), "visible_epsilon": _drop_infinite(self.visible), "faults": list(self.faults)}
        del facts["visible"]
        return facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The result of an audit; `passed` means that nothing contradicts the claim, which is no proof of it.

    Attributes:
        mu: The mean of mu over all pairs, which the claim bounds as it bounds each; its interval is narrower because it
            uses all fits. None with Laplace noise.
        faults: Contradictions of the claim, in plain sentences.
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

    def __repr__(self) -> str:
        """Return the verdict; `to_dict()` has all numbers."""
        return f"Audit of {self.method} at epsilon {self.epsilon:g} ({self.runs:,} fits): {self.verdict}"

    @property
    def passed(self) -> bool:
        """Check that nothing contradicts the claim."""
        return not self.faults

    @property
    def epsilon_low(self) -> float:
        """Return the greatest lower bound on epsilon that was found."""
        bounds = [0.0 if p.epsilon_of_mu is None else p.epsilon_of_mu.low for p in self.pairs]
        together = 0.0 if self.mu is None else implied_epsilon(self.mu.low, self.delta)
        return max([together, *bounds, *(pair.epsilon_low for pair in self.pairs)])

    @property
    def visible(self) -> float:
        """Return the smallest true epsilon that the most sensitive pair would detect with a probability of 90%."""
        return min(pair.visible for pair in self.pairs)

    @property
    def verdict(self) -> str:
        """State the result in one or two plain sentences."""
        if not self.passed:
            return f"THE CLAIM IS CONTRADICTED for method '{self.method}': {self.faults[0]}"
        power = "With this number of fits, even a far greater epsilon might not be detected. "
        if math.isfinite(self.visible):
            power = f"A true epsilon of {self.visible:.3g} or more would probably have been detected. "
        return (
            f"Nothing contradicts the claim of method '{self.method}' (epsilon {self.epsilon:g}): the lower bound is "
            f"{self.epsilon_low:.3g}. {power}This is {LABEL}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            **asdict(self), "label": LABEL, "passed": self.passed, "verdict": self.verdict,
            "epsilon_low": self.epsilon_low, "visible_epsilon": _drop_infinite(self.visible),
            "pairs": [pair.to_dict() for pair in self.pairs], "faults": list(self.faults),
        }  # fmt: skip


def _drop_infinite(value: float) -> float | None:
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
        runs: Fits for each pair of neighbouring tables, half of them on each table.
        neighbours: "add-remove" or "replace"; by default the preferred relation of the method.
        persons: If given, neighbours differ by a whole person; this number of the person's rows shares one vote.
        pairs: Any of "lone label", "extreme value", "all null"; all of them by default.
        confidence: Joint confidence of all bounds: the probability that a true claim is not called contradicted.
        progress: Called with the current step and the fraction completed.
        fit: A replacement for the fit, for example with a planted fault, to test that the audit detects it.
        options: Options of the method.
    """
    chosen = find_method(method)
    if runs < MIN_RUNS:
        raise UsageError(f"an audit needs at least {MIN_RUNS} runs; found {runs}.")
    if not 0.5 <= confidence < 1:
        raise UsageError(f"confidence must be at least 0.5 and below 1; found {confidence}.")
    relation = neighbours or chosen.neighbours
    schema = SCHEMA if persons is None else SCHEMA.with_person(Person(key=KEY, rows=persons))
    unit = make_unit(schema.person, relation, options.get("rows_per_person", 1))
    chosen.require_unit(unit)
    tables = neighbour_pairs(method, relation, pairs, schema)
    report = progress or notebook_bar("auditing") or (lambda what, fraction: None)
    settings = {"method": method, "epsilon": epsilon, "delta": delta, "neighbours": relation, **options}
    source = _full_fits(fit, schema, settings) if fit is not None else _partial_fits(schema, settings)
    run = _Run(source=source, settings=settings, unit=unit, half=runs // 2, report=report)
    found = run.audit_pairs(tables, 1 - confidence)
    mu = combine_pairs([statistics for _, statistics in found], (1 - confidence) / (1 + len(found)))
    report("done", 1.0)
    faults = [fault for pair, _ in found for fault in pair.faults]
    if mu is not None and implied_epsilon(mu.low, delta) > epsilon:
        low = implied_epsilon(mu.low, delta)
        faults.append(f"all pairs together: epsilon is at least {low:.3g} at delta {delta:g}, by the estimate of mu.")
    return Audit(
        method=method, epsilon=epsilon, delta=delta, neighbours=relation, runs=runs, confidence=confidence,
        claimed_mu=claimed_mu(epsilon, delta) if delta > 0 else None, pairs=tuple(pair for pair, _ in found), mu=mu,
        faults=tuple(faults),
    )  # fmt: skip


def _full_fits(fit: Callable[..., Model], schema: Schema, settings: Mapping[str, Any]) -> Source:
    """Return the releases of complete fits by the given function."""
    return lambda table: fit(table, schema, **settings).releases


def _partial_fits(schema: Schema, settings: Mapping[str, Any]) -> Source:
    """Return the releases of fits that stop after their last release, without estimating a model.

    The label of the last release is taken from the first, complete fit. If a fit on another table would continue after
    that label, its later releases are ignored: a lower bound stays one.
    """
    last: list[str] = []
    settings = {"read": ReadOptions(threads=1), **settings}  # starting threads takes longer than reading a few rows

    def run(table: Any) -> Sequence[Recorded]:
        found = run_for_releases(fit_request(table, schema, **settings), last[0] if last else None)
        last[:] = last or [found[-1].label]
        return found

    return run


Statistics = tuple[Floats, Floats]
"""The test statistics of the fits on the first and on the second table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """The fits of one audit."""

    source: Source
    settings: Mapping[str, Any]
    unit: Unit
    half: int
    report: Progress

    def audit_pairs(self, tables: Sequence[NeighbourPair], tail: float) -> list[tuple[PairAudit, Statistics | None]]:
        """Fit the table that all pairs share and each neighbour, and audit each pair."""
        steps = 1 + len(tables)
        fits = self._fit_repeatedly(tables[0].one, "fitting the first table", 0, steps)
        first = [[summarize_fit(fit, pair.codes, self.unit, is_other=False) for pair in tables] for fit in fits]
        out: list[tuple[PairAudit, Statistics | None]] = []
        for at, pair in enumerate(tables):
            fits = self._fit_repeatedly(pair.other, f"fitting its neighbour: {pair.name}", at + 1, steps)
            second = [summarize_fit(fit, pair.codes, self.unit, is_other=True) for fit in fits]
            share = tail / (1 + len(tables))  # one part is for all pairs together
            out.append(_audit_pair(pair.name, [fit[at] for fit in first], second, self.settings, share))
        return out

    def _fit_repeatedly(self, table: Any, what: str, step: int, steps: int) -> Iterator[Sequence[Recorded]]:
        for at in range(self.half):
            self.report(what, (step + at / self.half) / steps)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SklarWarning)
                found = self.source(table)
            yield found


def _audit_pair(
    name: str, first: Sequence[FitSummary], second: Sequence[FitSummary], settings: Mapping[str, Any], tail: float
) -> tuple[PairAudit, Statistics | None]:
    """Bound the privacy loss from the fits; three checks share the probability of a false alarm.

    The statistics of the fits are None with Laplace noise.
    """
    epsilon, delta, tail = settings["epsilon"], settings["delta"], tail / 3
    fits = [*first, *second]
    gaussian = delta > 0 and not any(s.laplace for s in fits) and min(s.scale for s in fits) >= MIN_GAUSSIAN_SCALE
    labelled = [[(s, False) for s in first], [(s, True) for s in second]]
    cut = len(first) // 2
    train, test = ([*labelled[0][s], *labelled[1][s]] for s in (slice(None, cut), slice(cut, None)))
    chosen, tried = combine_releases(train, train), combine_releases(train, test)
    low = epsilon_low(chosen, tried, delta, tail)
    # If nothing had to be learned from the fits, all of them may be used for mu.
    stated = [math.sqrt(s.information) for s in fits]
    learned = any(s.sums for s in fits) and (
        not gaussian or np.median(stated) < MAX_STATED_MU_SHARE * claimed_mu(epsilon, delta)
    )
    one, other = tried if learned else combine_releases([], [*labelled[0], *labelled[1]])
    mu = hedges_difference(one, other, tail) if gaussian else None
    implied = None if mu is None else Estimate(**{k: implied_epsilon(v, delta) for k, v in mu.to_dict().items()})
    if gaussian:
        visible = implied_epsilon(detectable_mu(claimed_mu(epsilon, delta), len(one), len(other), tail), delta)
    else:
        draws = max(1, *(s.moved for s in second))
        visible = laplace_power(epsilon, draws, len(tried[0]), tail, delta, generator(0))
    noise = noise_spreads((first, second), tail)
    pair = PairAudit(
        name=name, mu=mu, epsilon_of_mu=implied, epsilon_low=low, noise=noise.get(ALL),
        stated_mu=float(np.mean(stated)) if gaussian else None, visible=visible,
        faults=tuple(_find_faults(name, epsilon, delta, implied, low, noise, max(stated) if gaussian else None, fits)),
    )  # fmt: skip
    return pair, (one, other) if gaussian else None


def combine_pairs(pairs: Sequence[Statistics | None], tail: float) -> Estimate | None:
    """Estimate the mean standardized difference of several pairs of samples that share the fits on the first table.

    Each sample is divided by the common spread of its pair. Fits on the first table have one statistic per pair, so
    their mean over pairs is used; those on the other tables are independent. The error of the spreads adds the
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
    return symmetric_interval(mu, student_quantile(2 * fits - 2, 1 - tail) * math.sqrt(error))


def _find_faults(
    name: str, epsilon: float, delta: float, implied: Estimate | None, low: float, noise: Mapping[str, Estimate],
    stated: float | None, fits: Sequence[FitSummary],
) -> list[str]:  # fmt: skip
    faults: list[str] = []
    if implied is not None and implied.low > epsilon:
        faults.append(f"{name}: epsilon is at least {implied.low:.3g} at delta {delta:g}, by the estimate of mu.")
    if low > epsilon:
        faults.append(f"{name}: epsilon is at least {low:.3g} at delta {delta:g}, by counting fits.")
    for label, found in noise.items():
        if found.high < 1:
            faults.append(f"{name}: noise ({label}) has {found.value:.3g} times the stated standard deviation.")
    if stated is not None and implied_epsilon(stated, delta) > epsilon * 1.001:
        faults.append(f"{name}: the noise that the releases state is too small for the claim.")
    if len({s.print for s in fits}) < len(fits) and min(s.bits for s in fits) >= MIN_UNIQUE_BITS:
        faults.append(f"{name}: two fits released exactly the same values; the noise repeats.")
    return faults
