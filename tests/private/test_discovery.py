"""Only labels above the threshold leave the wall, and only well-formed requests are heard."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget
from sklar.accounting.composition.discovery import discovery_settings
from sklar.accounting.ledger import memory_ledger
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.errors import BudgetError, DoorError, OverspendError
from sklar.private.door import PrivateDoor, add_noise_to_labels
from sklar.private.noise import SYSTEM
from sklar.private.recorder import Recorder
from sklar.private.requests import check_discoveries
from sklar.release.charges import hash_request
from sklar.release.choices import Discovery
from sklar.release.measurements import Recorded, decode_step, encode_step, is_valid_discovery
from sklar.release.replay import ReplayDoor
from sklar.rows import open_rows

SCHEMA = sklar.Schema({"city": sklar.Category(["?"]), "age": sklar.Integer(0, 9)})
QUIET = Noise(kind="laplace", scale=0.01)
"""Noise of 0, except with probability 1e-43."""
UNIT = Unit(neighbours="add-remove")


def asked(**changes: Any) -> Discovery:
    return dataclasses.replace(Discovery(column="city", noise=QUIET, threshold=10, floor=3), **changes)


def test_labels_below_the_threshold_are_hidden() -> None:
    (found,) = add_noise_to_labels([asked()], {"city": {"rome": 10, "oslo": 9, "bern": 500, "lone": 1}}, SYSTEM)
    assert found.labels == ("bern", "rome") and found.counts.tolist() == [500, 10]


def test_the_floor_hides_whatever_the_noise_says() -> None:
    loud = Noise(kind="gaussian", scale=1e6)
    exact = {"city": {f"a{i}": 3 for i in range(200)} | {f"b{i}": 2 for i in range(200)}}
    (found,) = add_noise_to_labels([asked(noise=loud)], exact, SYSTEM)
    assert 40 < len(found.labels) < 160
    assert all(label.startswith("a") for label in found.labels) and found.counts.min() >= 10


def test_listed_labels_are_shown_whatever_their_counts() -> None:
    exact = {"city": {"rome": 2, "bern": 500, "lone": 1}}
    (found,) = add_noise_to_labels([asked(listed=("rome", "oslo"))], exact, SYSTEM)
    assert found.labels == ("bern", "oslo", "rome") and found.counts.tolist() == [500, 0, 2]
    assert is_valid_discovery(found)
    cut = dataclasses.replace(found, labels=("bern", "rome"), counts=found.counts[[0, 2]])
    assert not is_valid_discovery(cut)
    loud = asked(listed=tuple(f"w{i}" for i in range(400)), noise=Noise(kind="gaussian", scale=1e6))
    (found,) = add_noise_to_labels([loud], {"city": {}}, SYSTEM)
    assert len(found.labels) == 400 and 100 < (found.counts < 0).sum() < 300


ALLOWANCE = Allowance(measure="rho", amount=0.02, delta=1e-6)


def door(rows: int = 1000, given: Allowance = ALLOWANCE) -> PrivateDoor:
    frame = pd.DataFrame({"city": ["rome"] * (rows - 1) + ["SECRET"], "age": np.arange(rows) % 10})
    account = memory_ledger().reserve(
        method="x",
        budget=Budget(rho=given.amount, delta=2e-6),
        allowance=given,
        unit=UNIT,
        seed=1,
        fingerprint="f" * 64,
    )
    return PrivateDoor(open_rows(frame, SCHEMA), SCHEMA, UNIT, Recorder(account, None), SYSTEM)


def affordable_request() -> Discovery:
    """A discovery that costs the whole allowance."""
    noise = ALLOWANCE.noise(UNIT)
    threshold, floor = discovery_settings(noise, UNIT, ALLOWANCE.delta)
    return Discovery(column="city", noise=noise, threshold=threshold, floor=floor)


def test_the_door_finds_frequent_labels_and_records_them() -> None:
    wanted = affordable_request()
    (found,) = door().discover([wanted], "labels")
    assert found.labels == ("rome",) and abs(found.counts[0] - 999) < 100
    step = Recorded(step=0, label="labels", request=hash_request((wanted,)), releases=(found,))
    line = decode_step(encode_step(step))
    other = dataclasses.replace(wanted, threshold=wanted.threshold + 1)
    for recorded in (line, step):
        (same,) = ReplayDoor(unit=UNIT, recorded=[recorded]).discover([wanted], "labels")
        assert (same.labels, same.counts.tolist()) == (found.labels, found.counts.tolist())
        assert same.discovery == found.discovery == wanted
        with pytest.raises(DoorError):
            ReplayDoor(unit=UNIT, recorded=[recorded]).discover([other], "labels")
    # Even if the digest were that of the other request, the recorded discovery in full is not.
    forged = dataclasses.replace(step, request=hash_request((other,)))
    with pytest.raises(DoorError):
        ReplayDoor(unit=UNIT, recorded=[forged]).discover([other], "labels")


def test_a_discovery_that_is_not_paid_for_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sklar.private.door.exact_label_counts", lambda *_: pytest.fail("rows were read"))
    opened = door()
    wanted = affordable_request()
    cheap = dataclasses.replace(wanted, threshold=wanted.threshold - 5)
    with pytest.raises(OverspendError):
        opened.discover([cheap], "labels")
    with pytest.raises(BudgetError):
        opened.discover([dataclasses.replace(cheap, threshold=cheap.floor)], "labels")
    no_delta = door(given=Allowance(measure="rho", amount=0.02))
    with pytest.raises(OverspendError):
        no_delta.discover([wanted], "labels")


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        [lambda rows: rows],
        [asked(column="age")],
        [asked(column="nowhere")],
        [asked(noise="quiet")],
        [asked(threshold=3.5)],
        [asked(floor=0)],
        [asked(listed=["rome"])],
        [asked(listed=(1,))],
        [asked(), asked()],
        iter([asked()]),
    ],
    ids=lambda wrong: re.sub(r" at 0x[0-9a-f]+", "", str(wrong))[:40],
)
def test_odd_requests_are_refused(wrong: Any) -> None:
    with pytest.raises(DoorError):
        check_discoveries(wrong, SCHEMA)
