"""The loop of every fit: steps are asked for in order, measured once, and results are remembered for one fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.errors import DoorError
from sklar.methods.evidence import Choose, Evidence, Measure, Step, ask_in_order, evidence_of, measure_all, remembered
from sklar.methods.independent import INDEPENDENT, IndependentOptions
from sklar.methods.margins import FIRST, SECOND
from sklar.methods.vine.fit import VINE
from sklar.methods.vine.options import VineOptions
from sklar.pipeline.verify.checks import model_difference
from sklar.release.choices import TailNorms
from sklar.release.counts import Counts
from sklar.release.measurements import Request
from sklar.release.replay import ReplayDoor
from sklar.schema.columns import Boolean
from sklar.schema.numbers import Integer
from sklar.schema.table import Schema
from tests.methods.fits import make_setting, open_door

SCHEMA = Schema({"age": Integer(0, 99), "smoker": Boolean()})
ROWS = 400
CODES = {
    "age": np.random.default_rng(1).integers(0, 100, ROWS),
    "smoker": np.random.default_rng(2).integers(0, 2, ROWS),
}
PARTITION = np.arange(100, dtype=np.int32) // 10


def measure(label: str) -> Measure:
    query = Counts(columns=("age",), partitions=(PARTITION,))
    return Measure(label=label, requests=(Request(query=query, noise=Noise(kind="gaussian", scale=1e-3)),))


def choose(label: str) -> Choose:
    score = TailNorms(column="age", partition=PARTITION, penalties=np.arange(5.0))
    return Choose(label=label, score=score, epsilon=1.0, picks=2)


def ask(evidence: Evidence[Any]) -> Step | None:
    return ask_in_order(
        evidence, lambda _: measure("one"), lambda _: None, lambda _: choose("two"), lambda _: measure("three")
    )


def test_steps_are_measured_in_order_and_once() -> None:
    door = open_door(SCHEMA, CODES)
    evidence = measure_all(ask, make_setting(SCHEMA, None, 1.0), door)
    assert door.labels == list(evidence.releases) == ["one", "two", "three"]
    assert ask(evidence) is None
    (counts,) = evidence.measured("one")
    assert np.array_equal(counts.values, np.bincount(PARTITION[CODES["age"]])) and counts.label == "one"
    assert len(evidence.chosen("two")) == 2
    assert evidence.measured("never") == evidence.found("never") == () and "never" not in evidence


@pytest.mark.parametrize(
    ("last", "labels"), [("one", ["one"]), ("two", ["one", "two"]), (None, ["one", "two", "three"])]
)
def test_measuring_stops_after_the_last_step(last: str | None, labels: list[str]) -> None:
    door = open_door(SCHEMA, CODES)
    evidence = measure_all(ask, make_setting(SCHEMA, None, 1.0), door, last)
    assert door.labels == list(evidence.releases) == labels


def test_evidence_grows_without_changing_what_was_there() -> None:
    evidence = Evidence(setting=make_setting(SCHEMA, None, 1.0))
    more = evidence.add("one", open_door(SCHEMA, CODES).measure(measure("one").requests, "one"))
    assert "one" in more and "one" not in evidence and more.known is evidence.known


def test_results_are_remembered_within_one_fit_alone() -> None:
    calls: list[int] = []

    @remembered
    def result(evidence: Evidence[Any]) -> int:
        calls.append(1)
        return len(calls)

    setting = make_setting(SCHEMA, None, 1.0)
    first, second = Evidence(setting=setting), Evidence(setting=setting)
    assert result(first) == result(first.add("one", ())) == 1
    assert result(second) == 2 and result(first) == 1
    part = first.part("key", setting, {})
    assert result(part) == 3 and result(first.part("key", setting, {})) == 3
    assert result(first.part("other", setting, {})) == 4 and result(first) == 1


def test_what_is_recorded_is_evidence_again() -> None:
    door, setting = open_door(SCHEMA, CODES), make_setting(SCHEMA, None, 1.0)
    evidence = measure_all(ask, setting, door)
    again = evidence_of(setting, door.recorded)
    assert again.releases == evidence.releases and not again.known


@pytest.mark.parametrize(("method", "options"), [(INDEPENDENT, IndependentOptions()), (VINE, VineOptions())])
def test_a_fit_is_its_steps_and_an_estimate_from_them(method: Any, options: Any) -> None:
    door, setting = open_door(SCHEMA, CODES), make_setting(SCHEMA, options, 0.5)
    model = method.fit(setting, door)
    assert {FIRST, SECOND} <= set(door.labels) and 0.49 < door.spent() <= 0.5 * (1 + 1e-9)
    assert model_difference(model, method.refit(evidence_of(setting, door.recorded))) == 0.0
    replay = ReplayDoor(unit=Unit(neighbours="add-remove"), recorded=door.recorded)
    assert model_difference(model, method.fit(setting, replay)) == 0.0
    replay.require_end()


def test_an_estimate_follows_its_measurements() -> None:
    """Other values of the same queries give another model, without any question."""
    door, setting = open_door(SCHEMA, CODES), make_setting(SCHEMA, VineOptions(), 0.5)
    model = VINE.fit(setting, door)
    moved = [
        replace(step, releases=tuple(replace(one, values=one.values + 7) for one in step.releases))  # type: ignore[call-arg]
        for step in door.recorded
    ]
    other = VINE.refit(evidence_of(setting, moved))
    assert model_difference(model, other) != 0.0
    assert model_difference(other, VINE.refit(evidence_of(setting, moved))) == 0.0


def test_a_step_that_was_read_before_it_was_measured_stops_the_fit() -> None:
    evidence = Evidence(setting=make_setting(SCHEMA, None, 1.0))
    assert evidence.measured("margins") == ()
    with pytest.raises(DoorError, match="read before they were measured: margins"):
        evidence.add("margins", ())
    part = evidence.part("view", evidence.setting, {})
    part.measured("pairs")
    with pytest.raises(DoorError, match="read before they were measured: pairs"):
        evidence.part("view", evidence.setting, {"pairs": ()})


def test_a_step_that_is_asked_for_twice_is_not_charged_twice() -> None:
    door = open_door(SCHEMA, CODES)
    with pytest.raises(DoorError, match="'same' is requested twice"):
        measure_all(lambda evidence: measure("same"), make_setting(SCHEMA, None, 1.0), door)
    assert door.labels == ["same"]
