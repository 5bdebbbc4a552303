"""The audit: true claims pass, planted faults are caught, and bounds cover what they should."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sklar
from sklar.accounting.noise import Noise
from sklar.errors import UsageError
from sklar.lab.audit import audit
from sklar.lab.audit.neighbours import SCHEMA, neighbour_pairs
from sklar.lab.audit.statistic import claimed_mu, epsilon_low, implied_epsilon, laplace_power, noise_moments
from sklar.lab.intervals import hedges_difference
from sklar.methods.registry import METHODS
from sklar.pipeline.fit.request import FitRequest, fit_request
from sklar.pipeline.fit.run import open_fit, run_for_releases
from sklar.private.noise import NoiseSource, SystemNoise
from sklar.release.measurements import Choice
from sklar.rows.persons import rows as person_rows
from tests.tiers import slow_unless

SURE = 1 - 1e-6
"""All bounds of an audit hold together with this confidence, so that a true claim fails a test once in a million."""
PAIRS = ("lone label", "all null")
Tables = Sequence[np.ndarray]
CASES: list[tuple[str, dict[str, Any]]] = [
    ("independent", {"repair": "clip"}),
    ("independent", {"repair": "clip", "delta": 0.0}),
    ("independent", {"repair": "clip", "neighbours": "replace"}),
    ("vine", {}),
    ("dpcopula-kendall", {}),
    ("dpcopula-mle", {}),
    ("dpcopula-hybrid", {}),
    ("dpc-gauss", {"rounds": 0, "bins": 3}),
    ("dpc-laplace", {"rounds": 0, "bins": 3}),
]
FAST = ("independent", "vine", "dpcopula-kendall")
"""Methods audited in the fast tier: tables of counts alone, tables chosen by releases, and sums."""


def test_every_method_is_audited() -> None:
    assert {name for name, _ in CASES} == set(METHODS)


@pytest.mark.parametrize(("method", "options"), slow_unless(lambda case: case[0] in FAST, CASES), ids=str)
def test_true_claims_pass(method: str, options: dict[str, Any]) -> None:
    found = sklar.audit(method, 1.0, runs=10, pairs=["extreme value"], confidence=SURE, **options)
    assert found.passed, found.verdict
    assert found.epsilon_low <= 1.0 < found.visible
    assert "proves nothing" in found.verdict
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("independent", {"repair": "clip", "neighbours": "replace"}),
        ("independent", {"repair": "clip", "delta": 0.0}),
        pytest.param("vine", {}, marks=pytest.mark.slow),
        pytest.param("dpcopula-hybrid", {}, marks=pytest.mark.slow),
        pytest.param("dpc-gauss", {"rounds": 0, "bins": 3}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_true_claims_about_whole_persons_pass(method: str, options: dict[str, Any]) -> None:
    found = sklar.audit(method, 1.0, persons=5, runs=10, pairs=["extreme value"], confidence=SURE, **options)
    assert found.passed, found.verdict
    assert found.epsilon_low <= 1.0 < found.visible


@pytest.mark.slow
def test_a_person_with_five_votes_is_caught_and_one_with_one_shows_what_is_claimed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As for rows: mu is about that of the claim, since the pair is a worst case, within six standard errors."""
    ask = partial(sklar.audit, "independent", 8.0, pairs=PAIRS, runs=60, repair="clip", confidence=SURE, persons=5)
    found = ask()
    assert found.passed and found.mu is not None and found.claimed_mu is not None
    assert abs(found.mu.value - found.claimed_mu) < 6 * math.sqrt(2 / 30) * (1 + found.claimed_mu / 4)
    monkeypatch.setattr(person_rows, "vote_weight", lambda rows: 1 << 20)  # pyright: ignore[reportUnknownLambdaType]
    assert not ask().passed


@pytest.mark.parametrize("method", ["dpcopula-kendall", "dpcopula-mle"])
def test_methods_of_whole_rows_are_not_audited_by_votes(method: str) -> None:
    with pytest.raises(UsageError, match="share one vote"):
        sklar.audit(method, 1.0, persons=5)


@pytest.mark.slow
def test_the_statistic_has_the_stated_spread_and_shift() -> None:
    """At a large epsilon mu is large, and few fits show it: about that of the claim, since the pair is a worst case."""
    found = sklar.audit("independent", 8.0, pairs=PAIRS, runs=60, repair="clip", confidence=SURE)
    assert found.passed and len(found.pairs) == 2
    for pair in found.pairs:
        assert pair.mu is not None and pair.noise is not None and found.claimed_mu is not None
        assert pair.stated_mu == pytest.approx(found.claimed_mu, rel=0.02)
        assert pair.mu.low < found.claimed_mu < pair.mu.high
        assert pair.noise.low < 1 < pair.noise.high


def fit_with(noise: NoiseSource) -> Callable[..., sklar.Model]:
    """What `sklar.fit` does, behind a Door that draws from this source."""

    def fit(data: Any, schema: sklar.Schema, method: str, **settings: Any) -> sklar.Model:
        known = {name: settings.pop(name) for name in ("epsilon", "delta", "neighbours")}
        request = FitRequest(data=data, schema=schema, method=method, **known, options=settings)
        with open_fit(request, noise) as model:
            return model

    return fit


class HalvedNoise(SystemNoise):
    def add(self, exact_tables: Tables, noises: Sequence[Noise], cells: Any = None) -> list[np.ndarray]:
        return super().add(exact_tables, [replace(noise, scale=noise.scale / 2) for noise in noises], cells)


class RepeatedNoise(SystemNoise):
    def add(self, exact_tables: Tables, noises: Sequence[Noise], cells: Any = None) -> list[np.ndarray]:
        rng = np.random.default_rng(0)
        drawn = zip(exact_tables, noises, strict=True)
        return [table + np.rint(rng.normal(0, noise.scale, table.shape)).astype(np.int64) for table, noise in drawn]


class ForgetfulNoise(SystemNoise):
    """Leaves the last table as it is."""

    def add(self, exact_tables: Tables, noises: Sequence[Noise], cells: Any = None) -> list[np.ndarray]:
        return [*super().add(exact_tables[:-1], noises[:-1]), exact_tables[-1]]


class GreedyNoise(SystemNoise):
    """Gives each table of a step the whole budget of the step."""

    @staticmethod
    def share(noise: Noise, tables: int) -> Noise:
        return replace(noise, scale=noise.scale / tables**0.5)

    def add(self, exact_tables: Tables, noises: Sequence[Noise], cells: Any = None) -> list[np.ndarray]:
        return super().add(exact_tables, [self.share(noise, len(noises)) for noise in noises], cells)


def test_the_door_that_is_handed_in_is_the_real_one() -> None:
    """The control of the tests below: without a fault in the noise, nothing is found."""
    found = audited(SystemNoise(), 1.0, runs=20, pairs=["lone label"], confidence=SURE)
    assert found.passed, found.verdict


def audited(noise: NoiseSource, epsilon: float, **settings: Any) -> sklar.results.Audit:
    return sklar.audit("independent", epsilon, repair="clip", fit=fit_with(noise), **settings)


def test_halved_noise_is_caught_by_its_spread() -> None:
    """500 residuals with half their spread: their mean square is 30 standard errors off."""
    found = audited(HalvedNoise(), 1.0, runs=20, pairs=["lone label"], confidence=SURE)
    assert (
        not found.passed and "times the stated standard deviation" in found.verdict and "CONTRADICTED" in found.verdict
    )


@pytest.mark.slow
def test_halved_noise_is_caught_by_mu() -> None:
    """mu is 2.5, twice the claimed one, with an error of 0.2; below a bound of 1.6 it comes once in 1e10 audits."""
    found = audited(HalvedNoise(), 8.0, runs=220, pairs=["lone label"], confidence=0.9)
    assert any("by the estimate of mu" in fault for fault in found.pairs[0].faults)


def test_noise_that_repeats_is_caught() -> None:
    found = audited(RepeatedNoise(), 1.0, runs=20, pairs=["all null"], confidence=SURE)
    assert any("the noise repeats" in fault for fault in found.pairs[0].faults)


class WeakNoise(SystemNoise):
    """Puts four fifths of its noise on the first table of each step, and all of it on the others."""

    def add(self, exact_tables: Tables, noises: Sequence[Noise], cells: Any = None) -> list[np.ndarray]:
        weak = [replace(noises[0], scale=0.8 * noises[0].scale), *noises[1:]]
        return super().add(exact_tables, weak, cells)


@pytest.mark.slow
def test_a_fifth_too_little_noise_on_one_table_is_caught() -> None:
    """3,250 residuals of one table have a mean square of 0.64, with an error of 0.016."""
    found = audited(WeakNoise(), 1.0, runs=250, pairs=["lone label"], confidence=SURE)
    faults = [fault for fault in found.pairs[0].faults if "times the stated standard deviation" in fault]
    assert faults and all(float(fault.split(" has ")[1].split()[0]) < 1 for fault in faults)


class WeakStep(SystemNoise):
    """Puts four fifths of its noise on what one step of each fit releases."""

    def __init__(self, weak: int, steps: int):
        self.weak, self.steps, self.calls = weak, steps, 0

    def add(self, exact_tables: Tables, noises: Sequence[Noise], cells: Any = None) -> list[np.ndarray]:
        scale = 0.8 if self.calls % self.steps == self.weak else 1.0
        self.calls += 1
        return super().add(exact_tables, [replace(noise, scale=scale * noise.scale) for noise in noises], cells)


@pytest.mark.slow
@pytest.mark.parametrize("weak", [0, 3])
def test_a_fifth_too_little_noise_on_any_one_release_is_caught(weak: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Coefficients of three columns, then three taus: 900 residuals of these have a mean square of 0.64 +- 0.03, and
    one of 0.84 would be caught."""
    monkeypatch.setattr(audit, "run_for_releases", partial(run_for_releases, noise=WeakStep(weak, 4)))
    found = sklar.audit("dpcopula-kendall", 1.0, runs=300, pairs=["lone label"], margins="privelet")
    faults = [
        fault
        for fault in found.faults
        if "times the stated standard deviation" in fault and ("tau" in fault) == bool(weak)
    ]
    assert faults and "CONTRADICTED" in found.verdict


@pytest.mark.parametrize(
    ("method", "options"),
    [("dpcopula-kendall", {"margins": "privelet"}), ("independent", {"histogram": "efpa"})],
    ids=str,
)
def test_sums_and_choices_are_their_exact_values_and_the_stated_noise(method: str, options: dict[str, Any]) -> None:
    """Nothing is learned from fits; the shifts of sums and choices nearly add up to the claim."""
    found = sklar.audit(method, 8.0, runs=40, pairs=["extreme value"], confidence=SURE, **options)
    (pair,) = found.pairs
    assert found.passed and pair.stated_mu is not None and found.claimed_mu is not None and pair.noise is not None
    assert pair.noise.low < 1 < pair.noise.high
    assert 0.5 * found.claimed_mu < pair.stated_mu <= found.claimed_mu


def test_pairs_together_cover_and_are_narrower_than_one() -> None:
    rng = np.random.default_rng(2)
    outside = 0
    for _ in range(400):
        shared = rng.normal(0, 1, 80)
        first = [0.6 * shared + 0.8 * rng.normal(0, 1, 80) for _ in range(3)]
        pairs = [(one, rng.normal(1, 1, 80)) for one in first]
        found = audit.combine_pairs(pairs, 0.025)
        alone = hedges_difference(*pairs[0], 0.025)
        assert found is not None and found.high - found.low < 0.9 * (alone.high - alone.low)
        outside += not found.contains(1.0)
    assert outside <= 40  # 5% of 400 is 20, with a standard deviation of 4.4
    assert audit.combine_pairs([None], 0.1) is None and audit.combine_pairs([(np.zeros(5), np.ones(5))], 0.1) is None


@pytest.mark.parametrize("method", slow_unless(FAST.__contains__, sorted(METHODS)))
def test_a_fit_that_ends_with_its_last_release_has_released_all(method: str) -> None:
    table = neighbour_pairs(method, METHODS[method].neighbours)[0].one
    settings: dict[str, Any] = {"method": method, "epsilon": 20.0, **dict(CASES).get(method, {})}
    whole = run_for_releases(fit_request(table, SCHEMA, **settings))
    labels = [step.label for step in whole]
    short_text = run_for_releases(fit_request(table, SCHEMA, **settings), labels[-1])
    assert [step.label for step in short_text] == labels
    # The audit compares each release with exact values: it needs to know what was asked.
    choices = [release for step in short_text for release in step.releases if isinstance(release, Choice)]
    assert all(choice.score is not None for choice in choices)


def test_a_table_left_without_noise_is_caught() -> None:
    assert not audited(ForgetfulNoise(), 1.0, runs=20, pairs=["lone label"], confidence=SURE).passed


def test_scales_that_do_not_add_up_to_the_claim_are_caught() -> None:
    """Each table gets the whole budget, its release says so, and the ledger is told otherwise; no luck is needed."""
    honest = fit_with(GreedyNoise())

    def greedy(*table: Any, **settings: Any) -> Any:
        model = honest(*table, **settings)
        stated = [
            replace(step, releases=tuple(_stated(release, len(step.releases)) for release in step.releases))
            for step in model.releases
        ]
        return SimpleNamespace(releases=stated, coordinates=model.coordinates, fit_facts=model.fit_facts)

    found = sklar.audit("independent", 1.0, runs=10, pairs=["lone label"], confidence=SURE, repair="clip", fit=greedy)
    assert any("too small for the claim" in fault for fault in found.pairs[0].faults)
    assert not any("times the stated standard deviation" in fault for fault in found.pairs[0].faults)


def _stated(release: Any, tables: int) -> Any:
    return replace(release, noise=GreedyNoise.share(release.noise, tables))


def test_laplace_is_bounded_by_counting() -> None:
    rng = np.random.default_rng(0)
    noise = rng.laplace(size=(4, 4000)) / 3.0  # epsilon 3
    ratio = [3 * (np.abs(x + at) - np.abs(x + at - 1)) for x, at in zip(noise, (0, 1, 0, 1), strict=True)]
    low = epsilon_low((ratio[0], ratio[1]), (ratio[2], ratio[3]), 0.0, 1e-3)
    assert 2.0 < low <= 3.0
    swapped = epsilon_low((ratio[0], ratio[2]), (ratio[2], ratio[0]), 0.0, 1e-3)
    assert swapped == 0.0


def test_mu_covers() -> None:
    rng = np.random.default_rng(1)
    outside = 0
    for _ in range(500):
        found = hedges_difference(rng.normal(0, 2, 60), rng.normal(1, 2, 60), 0.025)
        outside += not found.low <= 0.5 <= found.high
    assert outside <= 45  # 5% of 500 is 25, with a standard deviation of 5


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-9), (0.3, 1e-6), (8.0, 1e-9)])
def test_mu_and_epsilon_are_inverse(epsilon: float, delta: float) -> None:
    assert implied_epsilon(claimed_mu(epsilon, delta), delta) == pytest.approx(epsilon, rel=1e-6)
    assert implied_epsilon(0.0, delta) == 0.0 and implied_epsilon(-1.0, delta) == 0.0


def test_more_runs_see_smaller_violations() -> None:
    few, many = (laplace_power(1.0, 2, runs, 1e-2, 0.0, np.random.default_rng(0)) for runs in (200, 20_000))
    assert 1.0 < many < few


def test_moments_of_noise() -> None:
    assert noise_moments(Noise(kind="gaussian", scale=8.0)) == pytest.approx((64.0, 3 * 64.0**2), rel=1e-9)
    variance, fourth = noise_moments(Noise(kind="laplace", scale=50.0))
    assert variance == pytest.approx(2 * 50**2, rel=1e-3) and fourth == pytest.approx(24 * 50**4, rel=1e-2)
    assert noise_moments(Noise(kind="gaussian", scale=0.3))[0] < 0.09


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_pairs_are_neighbours(relation: Any) -> None:
    for pair in neighbour_pairs("vine", relation):
        one, other = pair.one.to_pylist(), pair.other.to_pylist()
        assert other[: len(one) - 1] == one[:-1] and set(pair.one.column_names) == set(SCHEMA.names)
        assert len(other) - len(one) == (1 if relation == "add-remove" else 0) and one[-1] != other[-1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"method": "magic"}, "no method 'magic'"),
        ({"method": "independent", "runs": 5}, "at least 10 runs"),
        ({"method": "independent", "pairs": ["nobody"]}, "no pair of neighbours 'nobody'"),
        ({"method": "independent", "confidence": 1.0}, "confidence must be"),
        ({"method": "dpcopula-kendall", "neighbours": "add-remove"}, "needs neighbours='replace'"),
    ],
)
def test_bad_input_is_told(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        sklar.audit(**arguments)
