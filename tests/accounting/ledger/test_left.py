"""What is left is told in epsilon, and it is true: a fit of it is admitted by any accounting, one above is not."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sklar
from sklar.accounting.budget import Budget
from sklar.accounting.calibrate import PlannedTables, PlannedVector, calibrate, plan_events
from sklar.accounting.composition.adaptive import adaptive_allowance
from sklar.accounting.ledger import Ledger, memory_ledger, read_ledger
from sklar.accounting.ledger.totals import describe_left, format_rounded_down
from sklar.accounting.unit import Unit
from sklar.errors import OverspendError
from tests.tiers import slow_unless

ONE = Unit(neighbours="add-remove")
PLANS = {
    "one table": (PlannedTables(label="t", tables=1, weight=1),),
    "many tables": (PlannedTables(label="t", tables=13, weight=3), PlannedTables(label="u", tables=4, weight=1)),
    "tables and sums": (PlannedTables(label="t", tables=6, weight=2), PlannedVector(label="v", weight=1)),
}
CLEARLY = 1.12
"""By zCDP fits of 5% more epsilon than by squared shifts are admitted at delta 1e-9, and of up to 11% more at 1e-6."""


def reserve(ledger: Ledger, epsilon: float, delta: float, way: str) -> None:
    budget = Budget(epsilon=epsilon, delta=delta)
    plan = None
    if way == "gaussian":
        allowance = adaptive_allowance(budget)
        assert allowance is not None
    elif way in PLANS:
        allowance = calibrate(budget, ONE, PLANS[way])
        plan = plan_events(allowance, ONE, PLANS[way])
    else:
        allowance = calibrate(budget, ONE, discovery=delta / 4 if way == "labels" else 0.0)
    ledger.reserve(method="m", budget=budget, allowance=allowance, unit=ONE, seed=1, fingerprint="f", plan=plan)


Fits = list[tuple[float, float, str]]
CASES: dict[str, tuple[dict[str, float], Fits]] = {
    "new": ({"epsilon": 3, "delta": 3e-9}, []),
    "new with a large delta": ({"epsilon": 1, "delta": 1e-5}, []),
    "new with a small delta": ({"epsilon": 1, "delta": 1e-13}, []),
    "new and pure": ({"epsilon": 1, "delta": 0}, []),
    "new with a part set aside": ({"epsilon": 2, "delta": 1e-8, "set_aside": 9e-9}, []),
    "zcdp": ({"epsilon": 3, "delta": 3e-9}, [(1, 1e-9, "zcdp"), (0.5, 1e-9, "zcdp")]),
    "zcdp after a gaussian fit": ({"epsilon": 3, "delta": 3e-9}, [(1, 1e-9, "gaussian")]),
    "zcdp after an exact fit": ({"epsilon": 10, "delta": 1e-8}, [(2, 1e-9, "one table")]),
    "zcdp after labels": ({"epsilon": 2, "delta": 1e-8}, [(0.5, 1e-9, "labels")]),
    "zcdp with a part set aside": (
        {"epsilon": 2, "delta": 1e-8, "set_aside": 1e-9},
        [(0.7, 1e-9, "gaussian"), (0.5, 1e-9, "labels")],
    ),
    "zcdp with a pure fit": ({"epsilon": 3, "delta": 3e-9}, [(1, 1e-9, "zcdp"), (0.3, 0, "pure")]),
    "zcdp, nearly spent": ({"epsilon": 1, "delta": 1e-9}, [(0.999, 1e-9, "zcdp")]),
    "pure by its first fit": ({"epsilon": 1, "delta": 1e-9}, [(0.7, 0, "pure")]),
    "full": ({"epsilon": 1, "delta": 1e-9}, [(1, 1e-9, "gaussian")]),
}


@pytest.fixture(params=CASES)
def make(request: pytest.FixtureRequest) -> Callable[[], Ledger]:
    """Makes the same ledger anew, as often as wanted."""
    cap, fits = CASES[request.param]

    def made() -> Ledger:
        ledger = memory_ledger("t", **cap)
        for fit in fits:
            reserve(ledger, *fit)
        return ledger

    return made


def ways(delta: float) -> Iterator[str]:
    yield from ("zcdp", *(("gaussian", *PLANS) if delta >= 1e-10 else ())) if delta else ("pure",)


@pytest.mark.parametrize("delta", slow_unless((1e-9, 1e-13, 0.0).__contains__, [1e-9, 1e-6, 1e-10, 1e-13, 0.0]))
def test_what_is_left_is_admitted_and_clearly_more_is_not(make: Any, delta: float) -> None:
    left = make().left(delta=delta)
    for way in ways(delta):
        if left:
            reserve(make(), left * (1 - 1e-6), delta, way)
        with pytest.raises(OverspendError):
            reserve(make(), max(left * CLEARLY, 1e-5), delta, way)


@pytest.mark.parametrize("delta", [1e-9, 1e-6])
def test_it_is_sharp_where_gaussian_noise_is_added_up(make: Any, delta: float) -> None:
    if make().fits and make().left(delta=delta):
        with pytest.raises(OverspendError):
            reserve(make(), make().left(delta=delta) * 1.001, delta, "gaussian")


def test_it_is_told_in_words_and_the_words_are_true(make: Any) -> None:
    ledger = make()
    told = describe_left(ledger.header, ledger.fits)
    if "nothing" in told:
        assert ledger.left() == 0
        return
    epsilon, delta = (float(told.split(word)[1].split()[0]) for word in ("up to ", "delta "))
    assert epsilon > 0.98 * ledger.left(delta)
    for way in ways(delta):
        reserve(make(), epsilon, delta, way)


def test_a_refusal_tells_the_same_number(make: Any) -> None:
    ledger = make()
    delta = 0.0 if not ledger.left() else 1e-9
    with pytest.raises(OverspendError) as refused:
        reserve(ledger, 20.0, delta, "zcdp" if delta else "pure")
    said = str(refused.value)
    assert said.startswith("this fit requests epsilon 20 at delta")  # people set epsilon, so that comes first
    assert f"leaves {describe_left(ledger.header, ledger.fits, delta)}. In detail: " in said


def test_it_can_be_spent_to_the_end() -> None:
    """A fit of what is left, again and again, never leaves the cap and soon finds nothing left."""
    ledger = memory_ledger("t", epsilon=1, delta=1e-9)
    reserve(ledger, 0.5, 1e-9, "zcdp")
    fits = 0
    while ledger.left() > 0.01:
        reserve(ledger, ledger.left(), 1e-9, "gaussian")
        fits += 1
    assert fits == 1


@pytest.mark.parametrize("way", ["gaussian", *PLANS])
def test_what_is_set_aside_for_labels_is_kept_from_a_first_fit(way: str) -> None:
    """A fit that is covered alone would take all of the cap, and leave nothing to find labels with."""
    ledger = memory_ledger("t", epsilon=2, delta=1e-8, set_aside=9e-9)
    with pytest.raises(OverspendError):
        reserve(ledger, 2, 1e-8, way)
    reserve(ledger, ledger.left(1e-8) / 2, 1e-8, way)
    reserve(ledger, 0.1, 1e-8, "labels")


def test_no_cap_no_limit() -> None:
    ledger = memory_ledger()
    assert ledger.left() == math.inf and "no cap" in describe_left(ledger.header, ledger.fits)


def test_the_public_class(tmp_path: Path) -> None:
    ledger = sklar.Ledger.create(tmp_path / "people.ledger", name="people", epsilon=3, delta=3e-9)
    assert ledger.left(delta=1e-9) >= 3
    reserve(ledger, 1.0, 1e-9, "gaussian")
    again = sklar.Ledger.open(tmp_path / "people.ledger")
    assert again.left(delta=1e-9) == ledger.left(delta=1e-9) == read_ledger(again.path).left_epsilon(1e-9)
    assert 2 < again.left(delta=1e-9) < 3


@pytest.mark.parametrize(
    ("number", "text"), [(1.0, "1"), (1 - 0.9, "0.1"), (0.8129, "0.812"), (0.00012345, "0.000123"), (12.39, "12.3")]
)
def test_numbers_are_rounded_down(number: float, text: str) -> None:
    assert format_rounded_down(number) == text
