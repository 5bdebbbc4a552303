"""Whole numbers beyond 64 bits: kept exactly in two words, noised as a whole, and never refused for their size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sklar.accounting.allowance import Allowance
from sklar.accounting.budget import Budget
from sklar.accounting.ledger import memory_ledger
from sklar.accounting.noise import Noise
from sklar.accounting.unit import Unit
from sklar.counting.batches import CodeBatch
from sklar.counting.evaluate import SumJob, exact_interactions
from sklar.counting.jobs import CodedPart
from sklar.counting.sphere import exact_pair_sums
from sklar.counting.whole_numbers import MAX_INT64_SUM, carry_words, join_words, split_words
from sklar.errors import BudgetError, DoorError
from sklar.private.door import PrivateDoor
from sklar.private.noise import SYSTEM, add_noise
from sklar.private.recorder import Recorder
from sklar.release.charges import hash_request
from sklar.release.measurements import Recorded, Request
from sklar.release.replay import ReplayDoor
from sklar.release.scores import SUM_VOTE_BITS, Scores
from sklar.release.sphere import Contrasts, PairSums
from sklar.rows import open_rows
from sklar.schema import Integer, Schema

NUMBERS = [
    0,
    1,
    -1,
    MAX_INT64_SUM - 1,
    MAX_INT64_SUM,
    -MAX_INT64_SUM,
    -MAX_INT64_SUM - 1,
    7 * MAX_INT64_SUM,
    3**60,
    -(5**40),
]


class Scripted:
    """Adds a number that is known."""

    def __init__(self, noise: int):
        self.noise, self.seen = noise, list[Any]()

    def add(self, exact_tables: Sequence[Any], noises: Sequence[Noise], cells: Any = None) -> list[Any]:
        assert all(table.dtype == np.int64 for table in exact_tables)
        return [table + self.noise for table in exact_tables]

    def pick(self, *given: Any) -> tuple[int, ...]:
        raise NotImplementedError


@pytest.mark.parametrize("noise", [0, 12_345, -(2**62), 2**62 - 1])
def test_noise_is_on_the_whole_number(noise: int) -> None:
    numbers = np.array(NUMBERS, dtype=object)
    (noisy,) = add_noise(Scripted(noise), [numbers], [Noise(kind="gaussian", scale=1.0)])
    assert noisy.tolist() == [number + noise for number in NUMBERS]


def test_small_numbers_go_to_the_noise_as_they_are() -> None:
    exact = np.array([3, -4, MAX_INT64_SUM - 1])
    (noisy,) = add_noise(Scripted(5), [exact], [Noise(kind="gaussian", scale=1.0)])
    assert noisy.dtype == np.int64 and noisy.tolist() == [8, 1, MAX_INT64_SUM + 4]


def test_words_add_up_to_the_sum() -> None:
    rng = np.random.default_rng(1)
    upper = lower = np.zeros(4, dtype=np.int64)
    total = np.zeros(4, dtype=object)
    for _ in range(50):
        sums, weight = rng.integers(-(2**59), 2**59, 4), int(rng.integers(1, 1 << SUM_VOTE_BITS))
        more = split_words(sums, weight)
        upper, lower = carry_words(upper + more[0], lower + more[1])
        total += sums.astype(object) * weight
    assert np.abs(total).max() > 2**63
    assert join_words(upper, lower).tolist() == total.tolist()
    few = join_words(*split_words(np.array([-5, 7]), 3))
    assert few.dtype == np.int64 and few.tolist() == [-15, 21]


@pytest.mark.parametrize("sign", [1, -1])
def test_sums_of_either_sign_do_not_overflow(sign: int) -> None:
    sums = np.array([sign * 2**59, 3])
    assert join_words(*split_words(sums, 1 << 20)).tolist() == [sign * 2**79, 3 << 20]


class Crowd(CodedPart):
    """The same rows again and again, a whole vote each: as many persons as one likes."""

    threads, votes = 1, True
    schema = Schema({name: Integer(0, 1) for name in ("a", "b", "t")})

    def __init__(self, times: int):
        self.times = times

    def read_codes(self, columns: Sequence[str]) -> Iterator[CodeBatch]:
        ones = np.ones(1 << 16, dtype=np.int32)
        return (CodeBatch(rows=len(ones), columns=(ones,) * len(columns), weight=1 << 20) for _ in range(self.times))


def test_sums_over_more_persons_than_64_bits_hold() -> None:
    """Two million persons with parts of a vote, of scores and of contrasts."""
    score, contrast = np.array([0, 3 << 10], dtype=np.int32), np.array([0, 1 << 10], dtype=np.int32)
    scores = Scores(columns=("a", "b"), lookups=(score, score))
    feature = PairSums(scores=scores, contrasts=Contrasts(column="t", lookups=(contrast,), bits=10))
    found = join_words(*SumJob(query=feature)(Crowd(32)))
    (one,) = exact_pair_sums(feature, np.ones((1, 3), dtype=np.int32)).tolist()
    assert found.tolist() == [32 * (1 << 16) * one << SUM_VOTE_BITS]
    assert found[0] > 2**63


def test_weights_count_only_where_rows_share_votes() -> None:
    """A row of a plain table that counted more than once would move counts by more than was charged."""
    crowd = Crowd(1)
    with pytest.raises(DoorError, match="share votes"):
        next(crowd.code_matrix_batches(["a"]))
    assert next(crowd.batches(["a"])).weight == 1 << 20
    crowd.votes = False
    with pytest.raises(DoorError, match="weight 1 unless"):
        next(crowd.batches(["a"]))


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 5)])
def test_interactions_of_more_persons_than_64_bits_hold(shape: tuple[int, ...]) -> None:
    small = np.random.default_rng(2).integers(0, 100, shape)
    large = exact_interactions(small << 52)
    assert large.dtype == object and np.abs(large).max() > MAX_INT64_SUM
    assert (large == exact_interactions(small).astype(object) * 2**52).all()


def test_sums_are_refused_before_a_charge_where_their_noise_would_leave_64_bits() -> None:
    """In units of a feature noise is far larger than in counts: the proof of `add_noise` rests on its bound there."""
    ledger, unit = memory_ledger(), Unit(neighbours="add-remove")
    allowance = Allowance(measure="rho", amount=0.1)
    account = ledger.reserve(
        method="x", budget=Budget(rho=0.1, delta=1e-6), allowance=allowance, unit=unit, seed=1, fingerprint="f" * 64
    )
    rows = open_rows(pd.DataFrame({"a": [0, 1], "b": [1, 1]}), Schema({"a": Integer(0, 1), "b": Integer(0, 1)}))
    door = PrivateDoor(rows, rows.schema, unit, Recorder(account, None), SYSTEM)
    score = np.array([0, 3 << 10], dtype=np.int32)
    feature = PairSums(scores=Scores(columns=("a", "b"), lookups=(score, score)))
    loud, fine = (Request(query=feature, noise=Noise(kind="gaussian", scale=2.0**bits * feature.resolution))
                  for bits in (57, 40))  # fmt: skip
    with pytest.raises(BudgetError, match="64-bit"):
        door.measure([loud], "pairs")
    assert not account.record.steps
    (measured,) = door.measure([fine], "pairs")
    for resolution, fits in ((measured.resolution, True), (2 * measured.resolution, False)):
        releases = (replace(measured, resolution=resolution),)
        step = Recorded(step=0, label="pairs", request=hash_request((fine,)), releases=releases)
        again = ReplayDoor(unit=unit, recorded=[step])
        with nullcontext() if fits else pytest.raises(DoorError):
            assert again.measure([fine], "pairs")[0].values.size == 1
