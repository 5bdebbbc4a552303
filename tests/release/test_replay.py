"""The Door of recorded releases refuses every release that does not answer the request, down to its noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sklar.accounting.allowance import Allowance
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.errors import DoorError
from sklar.release.charges import request_digest
from sklar.release.door import Discovery, Interaction, PairTables, RecodedTable, Table, TailNorms
from sklar.release.replay import ReplayDoor
from sklar.release.values import NoisyChoice, NoisyCounts, NoisyLabels, NoisyPairs, NoisySums, Recorded
from sklar.schema import Integer, Schema

SCHEMA = Schema({"a": Integer(0, 3), "b": Integer(0, 5)})
UNIT = Unit(neighbours="add-remove")
NOISE, LESS = Noise(kind="gaussian", scale=2.0), Noise(kind="gaussian", scale=1.0)
HALVES = (np.arange(4) // 2, np.arange(6) // 3)
TABLE = Table(columns=("a", "b"), noise=NOISE)
RECODED = RecodedTable(columns=("a", "b"), lookups=HALVES, noise=NOISE)
PAIRS = PairTables(columns=("a", "b"), lookups=HALVES, noise=NOISE)
JOINT = Interaction(columns=("a", "b"), lookups=HALVES, noise=NOISE)
TAIL = TailNorms(column="a", lookup=np.arange(4), penalties=np.ones(4))
LABELS = Discovery(column="a", noise=NOISE, threshold=9, floor=2)

Case = tuple[Callable[[ReplayDoor], Any], str, Any, list[dict[str, Any]]]
CASES: dict[str, Case] = {
    "count": (
        lambda door: door.count([TABLE], "step"), request_digest((TABLE,)),
        NoisyCounts(columns=("a", "b"), counts=np.ones((4, 6), dtype=np.int64), noise=NOISE),
        [{"noise": LESS}, {"columns": ("b", "a")}, {"counts": np.ones((6, 4), dtype=np.int64)}],
    ),
    "count_recoded": (
        lambda door: door.count_recoded([RECODED], "step"), request_digest((RECODED,)),
        NoisyCounts(columns=("a", "b"), counts=np.ones((2, 2), dtype=np.int64), noise=NOISE),
        [{"noise": LESS}, {"columns": ("b", "a")}, {"counts": np.ones((4, 6), dtype=np.int64)}],
    ),
    "count_pairs": (
        lambda door: door.count_pairs(PAIRS, "step"), request_digest(PAIRS),
        NoisyPairs(columns=("a", "b"), sizes=(2, 2), counts=np.ones(4, dtype=np.int64), noise=NOISE),
        [{"noise": LESS}, {"columns": ("b", "a")}, {"sizes": (1, 4)}, {"counts": np.ones(3, dtype=np.int64)}],
    ),
    "count_interactions": (
        lambda door: door.count_interactions([JOINT], "step"), request_digest((JOINT,)),
        NoisySums(values=np.ones((2, 2)), noise=NOISE, resolution=0.25),
        [{"noise": LESS}, {"resolution": 0.5}, {"values": np.ones(4)}],
    ),
    "choose": (
        lambda door: door.choose(TAIL, 1.0, "step", picks=2), request_digest(TAIL, 1.0, 2),
        NoisyChoice(indices=(1, 3)),
        [{"indices": (1,)}, {"indices": (1, 2, 3)}],
    ),
    "discover": (
        lambda door: door.discover([LABELS], "step"), request_digest((LABELS,)),
        NoisyLabels(column="a", labels=("x",), counts=np.array([20]), noise=NOISE, threshold=9, floor=2),
        [{"noise": LESS}, {"threshold": 8}, {"column": "b"}],
    ),
}  # fmt: skip


def replaying(digest: str, release: Any) -> ReplayDoor:
    step = Recorded(step=0, label="step", request=digest, releases=(release,))
    allowance = Allowance(measure="rho", amount=1.0)
    return ReplayDoor(schema=SCHEMA, allowance=allowance, unit=UNIT, recorded=[step], strict=True)


@pytest.mark.parametrize("verb", CASES)
def test_a_release_that_answers_is_handed_out(verb: str) -> None:
    ask, digest, release, _ = CASES[verb]
    found = ask(replaying(digest, release))
    assert (found[0] if isinstance(found, tuple) else found) is release


@pytest.mark.parametrize("verb", CASES)
def test_a_changed_release_is_refused(verb: str) -> None:
    ask, digest, release, changes = CASES[verb]
    for change in changes:
        with pytest.raises(DoorError, match="does not answer"):
            ask(replaying(digest, replace(release, **change)))


@pytest.mark.parametrize("verb", CASES)
def test_a_changed_request_is_refused(verb: str) -> None:
    ask, _, release, _ = CASES[verb]
    with pytest.raises(DoorError, match="does not answer"):
        ask(replaying("another digest", release))
