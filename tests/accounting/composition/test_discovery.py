"""The threshold of a discovery keeps its promise, by its exact law, on small neighbours, and is as low as can be."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from sklar.accounting.budget import Budget
from sklar.accounting.composition.adaptive import adaptive_allowance, shift_cost, why_not_gaussian
from sklar.accounting.composition.discovery import (
    LABEL_RESOLUTION,
    discovery_delta,
    discovery_settings,
    find_noise_quantile,
    noise_tail,
)
from sklar.accounting.composition.exact import why_not_exact
from sklar.accounting.composition.gaussian import analytic_gaussian_delta
from sklar.accounting.composition.zcdp import rho_to_epsilon
from sklar.accounting.events import CountEvent, DiscoveryEvent
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.errors import BudgetError

MAX_DRAW_SCALES = 400
SEEN = 150
"""Noisy counts told apart; beyond these counts lie far above all exact ones, and the ratio of the laws is constant."""


def law(noise: Noise) -> np.ndarray:
    """P(Z = z) for z from -MAX_DRAW_SCALES to MAX_DRAW_SCALES."""
    z = np.arange(-MAX_DRAW_SCALES, MAX_DRAW_SCALES + 1, dtype=float)
    weight = np.exp(-(z**2) / (2 * noise.scale**2)) if noise.kind == "gaussian" else np.exp(-np.abs(z) / noise.scale)
    return weight / weight.sum()


def shown(count: int, noise: Noise, threshold: int, floor: int) -> np.ndarray:
    """Law of what is shown of one label: hidden first, then each noisy count from the threshold on."""
    if count < floor:
        return np.concatenate([[1.0], np.zeros(SEEN + 1)])
    whole = law(noise)
    first = threshold - count + MAX_DRAW_SCALES
    return np.concatenate([[whole[:first].sum()], whole[first : first + SEEN], [whole[first + SEEN :].sum()]])


def excess(
    one: dict[str, int], other: dict[str, int], noise: Noise, threshold: int, floor: int, epsilon: float
) -> float:
    """The exact delta at epsilon between two tables: sum over outputs of max(0, P - e^epsilon P')."""
    p, q = np.ones(1), np.ones(1)
    for label in sorted({*one, *other}):
        counts = one.get(label, 0), other.get(label, 0)
        if counts[0] == counts[1]:
            continue
        p = np.multiply.outer(p, shown(counts[0], noise, threshold, floor)).ravel()
        q = np.multiply.outer(q, shown(counts[1], noise, threshold, floor)).ravel()
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def neighbours(unit: Unit, crowd: int) -> list[tuple[dict[str, int], dict[str, int]]]:
    """All pairs of small tables that differ by one person, beside labels 'a' and 'b' of `crowd` rows each."""
    pairs: list[tuple[dict[str, int], dict[str, int]]] = []
    rows = [
        combo
        for size in range(unit.rows_per_person + 1)
        for combo in itertools.combinations_with_replacement("abcd", size)
    ]
    base = Counter({"a": crowd, "b": crowd})
    for mine, yours in itertools.product(rows, rows):
        if unit.neighbours == "add-remove" and yours:
            continue
        if unit.neighbours == "replace" and len(mine) != len(yours):
            continue
        pairs += [(dict(base + Counter(mine)), dict(base + Counter(yours)))]
        pairs += [(dict(base + Counter(yours)), dict(base + Counter(mine)))]
    return [pair for pair in pairs if sum(pair[0].get(x, 0) != pair[1].get(x, 0) for x in "abcd") <= 2]


UNITS = [Unit(neighbours=relation, rows_per_person=k) for relation in ("add-remove", "replace") for k in (1, 2)]  # type: ignore[arg-type]


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("floor", [1, 3])
def test_laplace_noise_keeps_epsilon_and_delta_exactly(unit: Unit, floor: int) -> None:
    noise = Noise(kind="laplace", scale=1.5 * unit.l1)
    threshold = floor - 1 + unit.rows_per_person + find_noise_quantile(noise, 0.02 / unit.rows_per_person)
    event = DiscoveryEvent(label="x", noise=noise, threshold=threshold, floor=floor, unit=unit)
    worst = max(
        excess(one, other, noise, threshold, floor, event.epsilon)
        for crowd in (0, floor - 1, floor, threshold)
        for one, other in neighbours(unit, crowd)
    )
    assert worst <= event.delta * (1 + 1e-12)
    if unit.rows_per_person == 1:
        assert worst > 0.5 * event.delta  # a lone label, or one lifted over the floor: the bound is nearly reached


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_gaussian_noise_keeps_rho_and_delta(unit: Unit) -> None:
    noise, floor, slack = Noise(kind="gaussian", scale=2.0 * unit.l2), 2, 0.01
    threshold = floor - 1 + unit.rows_per_person + find_noise_quantile(noise, 0.01 / unit.rows_per_person)
    event = DiscoveryEvent(label="x", noise=noise, threshold=threshold, floor=floor, unit=unit)
    epsilon = rho_to_epsilon(event.rho, slack)
    for crowd in (0, 1, 2, threshold):
        for one, other in neighbours(unit, crowd):
            assert excess(one, other, noise, threshold, floor, epsilon) <= event.delta + slack


def test_a_threshold_that_ignores_delta_breaks_the_promise() -> None:
    """The negative control: the exact law of a lone label exceeds a delta that the threshold was not made for."""
    noise, unit = Noise(kind="laplace", scale=1.5), UNITS[0]
    wanted = 1e-3
    threshold, floor = discovery_settings(noise, unit, wanted)
    assert excess({"c": 1}, {}, noise, threshold, 1, 1 / 1.5) <= wanted
    assert excess({"c": 1}, {}, noise, 3, 1, 1 / 1.5) > 10 * wanted
    # A floor that the threshold does not pay for breaks it too: a label that one row lifts over the floor is seen.
    assert excess({"c": 6}, {"c": 5}, noise, threshold - floor + 1, 6, 1 / 1.5) > 10 * wanted


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
@pytest.mark.parametrize("scale", [0.3, 1.0, 7.5, 40.0])
def test_the_tail_bounds_the_true_tail(kind: str, scale: float) -> None:
    noise = Noise(kind=kind, scale=scale)  # type: ignore[arg-type]
    z = np.arange(0, int(40 * scale) + 40, dtype=float)
    weight = np.exp(-(z**2) / (2 * scale**2)) if kind == "gaussian" else np.exp(-z / scale)
    whole = 2 * weight.sum() - 1
    for t in (1, 2, 3, 10, int(4 * scale) + 1):
        true = weight[t:].sum() / whole
        assert noise_tail(noise, t) >= true * (1 - 1e-9)
        if kind == "laplace":
            assert noise_tail(noise, t) == pytest.approx(true, rel=1e-9)


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("noise", [Noise(kind="laplace", scale=20.0), Noise(kind="gaussian", scale=13.7)], ids=str)
def test_settings_spend_delta_and_no_less(noise: Noise, delta: float, unit: Unit) -> None:
    threshold, floor = discovery_settings(noise, unit, delta)
    assert discovery_delta(noise, unit, threshold, floor) <= delta * (1 + 1e-9)
    assert discovery_delta(noise, unit, threshold - 1, floor) > delta
    assert 1 <= floor <= 1 + threshold / 10


def test_a_discovery_costs_as_one_table_and_a_delta() -> None:
    for unit, noise in itertools.product(UNITS, [Noise(kind="laplace", scale=9.0), Noise(kind="gaussian", scale=9.0)]):
        table = CountEvent(label="x", noise=noise, tables=1, unit=unit)
        found = DiscoveryEvent(label="x", noise=noise, threshold=200, floor=5, unit=unit)
        assert (found.rho, found.epsilon) == (table.rho, table.epsilon)
        assert (table.delta, found.delta > 0) == (0.0, True)


def adaptive_laws(noise: Noise, thresholds: tuple[int, int], floor: int) -> list[np.ndarray]:
    """Exact laws, for both neighbours, of a noisy count, a discovery whose threshold it decides, and a second one.

    One table has a person more, who brings a label of its own to the first discovery, and another, that some have, to
    the second. Outcomes are flat arrays of equal length.
    """
    laws: list[np.ndarray] = []
    for extra in (1, 0):
        parts: list[np.ndarray] = []
        for y, mass in zip(range(-MAX_DRAW_SCALES + extra, MAX_DRAW_SCALES + 1 + extra), law(noise), strict=True):
            if not -60 <= y <= 60:
                continue
            alone = shown(extra, noise, thresholds[y > 0], floor)
            shared = shown(30 + extra, noise, thresholds[y > 0], floor)
            parts.append(mass * np.multiply.outer(alone[:40], shared[:40]).ravel())
        laws.append(np.concatenate(parts))
    return laws


def test_squared_shifts_and_deltas_of_an_adaptive_fit_bound_its_exact_loss() -> None:
    """By all outcomes of a count and two discoveries. Negative control: without their deltas the bound is false."""
    noise, floor, thresholds = Noise(kind="gaussian", scale=5.0), 1, (12, 14)
    one, other = adaptive_laws(noise, thresholds, floor)
    count = CountEvent(label="n", noise=noise, tables=1, unit=UNITS[0])
    found = DiscoveryEvent(label="x", noise=noise, threshold=min(thresholds), floor=floor, unit=UNITS[0])
    events = [count, found, found]
    assert why_not_gaussian(events) is None
    shift, deltas = math.sqrt(2 * shift_cost(events)), sum(event.delta for event in events)
    for epsilon in (0.5, 1.0, 2.0, 3.0):
        exact = max(float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) for p, q in ((one, other), (other, one)))
        alone = analytic_gaussian_delta(1 / shift, epsilon)
        assert exact <= alone + deltas
        assert epsilon < 2.0 or exact > 2 * alone


def test_labels_of_persons_with_votes_are_whole_numbers_to_the_filter() -> None:
    """Their tables are on a finer lattice; as if labels were, too, a discovery would cost less than it does."""
    voters = Unit(neighbours="add-remove", votes=True)
    noise = Noise(kind="gaussian", scale=5.0)
    table = CountEvent(label="t", noise=noise, tables=1, unit=voters)
    for unit in (UNITS[0], voters):
        found = DiscoveryEvent(label="x", noise=noise, threshold=40, floor=1, unit=unit)
        assert shift_cost([found]) == pytest.approx(0.5 / (5.0**2 - 2.0**2))
    assert shift_cost([table]) == pytest.approx(0.5 / 5.0**2)
    whole = adaptive_allowance(Budget(epsilon=20.0, delta=1e-6), 1e-7)
    assert whole is not None
    own = whole.noise(voters, resolution=LABEL_RESOLUTION)
    found = DiscoveryEvent(label="x", noise=own, threshold=400, floor=1, unit=voters)
    assert shift_cost([found]) == pytest.approx(whole.amount, rel=1e-8)


def test_no_bound_forgets_the_delta_of_a_discovery() -> None:
    found = DiscoveryEvent(label="x", noise=Noise(kind="gaussian", scale=90.0), threshold=700, floor=5, unit=UNITS[0])
    assert why_not_exact([found], 1e-9) is not None
    laplace = DiscoveryEvent(label="x", noise=Noise(kind="laplace", scale=90.0), threshold=7000, floor=5, unit=UNITS[0])
    assert why_not_gaussian([laplace]) is not None


def test_refusals() -> None:
    noise, unit = Noise(kind="laplace", scale=2.0), Unit(neighbours="add-remove", rows_per_person=3)
    with pytest.raises(BudgetError, match="delta above 0"):
        discovery_settings(noise, unit, 0.0)
    with pytest.raises(BudgetError, match="hides no one"):
        DiscoveryEvent(label="x", noise=noise, threshold=7, floor=5, unit=unit)
    with pytest.raises(BudgetError):
        DiscoveryEvent(label="x", noise=noise, threshold=70, floor=0, unit=unit)
