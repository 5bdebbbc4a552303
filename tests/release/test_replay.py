"""The Door of recorded releases refuses every release that does not answer the request, down to its noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.errors import DoorError, ModelFileError
from sklar.release.charges import hash_request
from sklar.release.choices import Discovery, TailNorms
from sklar.release.counts import Counts, Interaction, PairCounts
from sklar.release.measurements import (
    Choice,
    FoundLabels,
    Measurement,
    Query,
    Recorded,
    Request,
    decode_step,
    encode_step,
    list_queries,
)
from sklar.release.replay import ReplayDoor

UNIT = Unit(neighbours="add-remove")
NOISE, LESS = Noise(kind="gaussian", scale=2.0), Noise(kind="gaussian", scale=1.0)
HALVES = (np.arange(4) // 2, np.arange(6) // 2)
TABLE = Counts(columns=("a", "b"), partitions=HALVES)
SWAPPED = Counts(columns=("b", "a"), partitions=HALVES)
PAIRS = PairCounts(columns=("a", "b"), partitions=HALVES)
JOINT = Interaction(columns=("a", "b"), partitions=HALVES)
TAIL = TailNorms(column="a", partition=np.arange(4), penalties=np.ones(4))
LABELS = Discovery(column="a", noise=NOISE, threshold=9, floor=2)

Case = tuple[Callable[[ReplayDoor], Any], str, Any, list[dict[str, Any]]]


def measured(query: Query, values: np.ndarray, changes: list[dict[str, Any]], resolution: float = 1.0) -> Case:
    """A request for one query, its recorded measurement, and changes of it that no longer answer the request."""
    request = Request(query=query, noise=NOISE)
    recorded = Measurement(query=query, values=values, noise=NOISE, resolution=resolution, label="step")
    return lambda door: door.measure([request], "step"), hash_request((request,)), recorded, changes


WHOLE = np.ones((2, 3), dtype=np.int64)
CASES: dict[str, Case] = {
    "counts": measured(
        TABLE, WHOLE,
        [{"noise": LESS}, {"query": SWAPPED}, {"query": JOINT}, {"values": WHOLE.T}, {"values": WHOLE * np.nan},
         {"values": WHOLE.astype(np.float64)}, {"resolution": 0.5}],
    ),
    "pair counts": measured(
        PAIRS, np.ones(6, dtype=np.int64), [{"noise": LESS}, {"query": TABLE}, {"values": np.ones(5, dtype=np.int64)}],
    ),
    "interactions": measured(
        JOINT, np.ones((2, 3)),
        [{"noise": LESS}, {"resolution": 0.5}, {"resolution": np.nan}, {"values": np.ones(6)}, {"values": WHOLE}],
        resolution=1 / 6,
    ),
    "choose": (
        lambda door: door.choose(TAIL, 1.0, "step", picks=2), hash_request(TAIL, 1.0, 2),
        Choice(indices=(1, 3), epsilon=1.0, score=TAIL),
        [{"indices": (1,)}, {"indices": (1, 2, 3)}, {"indices": (1, 1)}, {"indices": (1, 4)}, {"epsilon": 1e-9}],
    ),
    "discover": (
        lambda door: door.discover([LABELS], "step"), hash_request((LABELS,)),
        FoundLabels(discovery=LABELS, labels=("x",), counts=np.array([20])),
        [{"discovery": replace(LABELS, noise=LESS)}, {"discovery": replace(LABELS, threshold=8)},
         {"counts": np.array([8])}, {"counts": np.array([20, 30])}, {"counts": np.array([20.0])},
         {"labels": ("x", "x"), "counts": np.array([20, 20])}, {"labels": ("y", "x"), "counts": np.array([20, 20])}],
    ),
}  # fmt: skip


def replaying(digest: str, release: Any) -> ReplayDoor:
    return ReplayDoor(unit=UNIT, recorded=[Recorded(step=0, label="step", request=digest, releases=(release,))])


@pytest.mark.parametrize("verb", ["counts", "pair counts", "interactions"])
def test_a_line_whose_values_are_not_those_of_its_query_is_refused(verb: str) -> None:
    _, digest, release, changes = CASES[verb]
    step = Recorded(step=0, label="step", request=digest, releases=(release,))
    again = decode_step(encode_step(step)).join(list_queries(step))
    assert np.array_equal(again.releases[0].values, release.values)
    for change in (one for one in changes if "values" in one or one.get("resolution") is np.nan):
        forged = replace(step, releases=(replace(release, **change),))
        with pytest.raises(ModelFileError, match="cannot be read"):
            decode_step(encode_step(forged)).join(list_queries(step))


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
