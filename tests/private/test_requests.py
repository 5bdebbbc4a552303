"""Only frozen data passes the threshold of the Door."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sklar.accounting.noise import Noise
from sklar.errors import DoorError
from sklar.private.requests import check_noise, check_requests, check_score
from sklar.release.charges import hash_request
from sklar.release.choices import Candidate, TableDistance
from sklar.release.counts import Counts, Interaction, PairCounts
from sklar.release.measurements import Request
from sklar.release.scores import Scores
from sklar.release.sphere import PairSums
from sklar.release.taus import SampledTaus, TauVector
from sklar.schema import Boolean, Category, Id, Schema

NOISE = Noise(kind="gaussian", scale=2.0)
SCHEMA = Schema({"sex": Category(["F", "M"]), "smoker": Boolean(), "key": Id()})


CODES = {name: np.arange(SCHEMA.size(name)) for name in SCHEMA.modelled}
"""Partitions of base codes into groups of one."""


def table(*partitions: np.ndarray) -> Counts:
    return Counts(columns=("sex", "smoker")[: len(partitions)], partitions=partitions)


def plain(*columns: Any, noise: Any = NOISE) -> Request:
    """A table of base codes; columns that the schema lacks have one code."""
    partitions = tuple(CODES.get(name, np.zeros(1, dtype=int)) for name in columns)
    return Request(query=Counts(columns=columns, partitions=partitions), noise=noise)


def check(*queries: Any, public_rows: int | None = None) -> None:
    check_requests([Request(query=query, noise=NOISE) for query in queries], SCHEMA, public_rows)


def test_listed_queries_pass() -> None:
    check_requests([plain("sex", "smoker")], SCHEMA, None)
    both = {"columns": ("sex", "smoker"), "partitions": (np.array([0, 1, 1]), np.array([0, 1]))}
    check(Counts(**both))
    check(Counts(**both), PairCounts(**both), Interaction(**both), Counts(columns=(), partitions=()))


class Spy(Noise):
    """A noise that would carry rows out."""


class SpyCounts(Counts):
    """A query that could do anything when it is asked for its columns."""


class SpyScores(Scores):
    """Scores that count themselves as fewer, so that less is charged, under the name of the real module."""

    __module__ = Scores.__module__

    @property
    def count(self) -> int:
        return 1


class SpyRequest(Request):
    """A request that could do anything when it is asked for its query."""


@pytest.mark.parametrize(
    ("requests", "why"),
    [
        ([lambda rows: rows], "only Request objects"),
        ([plain("sex").query], "only Request objects"),
        ([SpyRequest(query=plain("sex").query, noise=NOISE)], "only Request objects"),
        ([Request(query=PairSums(scores=SpyScores(columns=("sex",), lookups=(CODES["sex"],))), noise=NOISE)],
         "never functions"),
        ([Request(query=lambda rows: rows, noise=NOISE)], "never functions"),  # type: ignore[arg-type]
        ([Request(query=NOISE, noise=NOISE)], "only the listed queries"),  # type: ignore[arg-type]
        ([Request(query=SpyCounts(columns=("sex",), partitions=(CODES["sex"],)), noise=NOISE)], "never functions"),
        ([plain("sex", noise=lambda: 0)], "never functions"),
        ([Request(query=Counts(columns=["sex"], partitions=(CODES["sex"],)), noise=NOISE)], "never functions"),  # type: ignore[arg-type]
        ([plain(lambda: "sex")], "never functions"),
        ([plain("sex", noise=Spy(kind="gaussian", scale=2.0))], "never functions"),
        ([plain("key")], "'key' is not a modelled column"),
        ([plain("nobody")], "'nobody' is not a modelled column"),
        ([plain("sex", "sex")], "names a column twice"),
        ([plain("smoker"), plain("sex", "sex")], "names a column twice"),
        ([Request(query=Counts(columns=("sex", "smoker"), partitions=(CODES["sex"],)), noise=NOISE)], "one partition"),
        ([Request(query=PairCounts(columns=("sex",), partitions=(CODES["sex"],)), noise=NOISE)], "two or more columns"),
        ([], "at least one request"),
        ((request for request in [plain("sex")]), "list or tuple"),
    ],
)  # fmt: skip
def test_anything_else_is_refused(requests: Any, why: str) -> None:
    with pytest.raises(DoorError, match=why):
        check_requests(requests, SCHEMA, None)


def test_a_table_with_a_hidden_callable_is_refused() -> None:
    request = plain("sex")
    object.__setattr__(request.query, "columns", ("sex", print))
    with pytest.raises(DoorError, match="never functions"):
        check_requests([request], SCHEMA, None)


def test_a_partition_that_stays_writable_is_refused() -> None:
    query = table(np.array([0, 1, 1]))
    object.__setattr__(query, "partitions", (np.array([0, 1, 1], dtype=np.int32),))
    with pytest.raises(DoorError, match="read-only"):
        check(query)


def test_a_partition_is_copied_so_that_later_changes_do_not_reach_the_door() -> None:
    mine = np.array([0, 1, 1], dtype=np.int32)
    query = table(mine)
    mine[:] = 0
    assert query.partitions[0].tolist() == [0, 1, 1]


@pytest.mark.parametrize("partition", [np.array([0, 1]), np.array([0, 1, 1, 1])])
def test_a_partition_must_fit_the_column(partition: np.ndarray) -> None:
    with pytest.raises(DoorError, match="one group for each"):
        check(table(partition))


@pytest.mark.parametrize("partition", [np.array([0.0, 1.0]), np.array([-1, 0]), np.array([[0], [1]]), [0, 1], print])
def test_a_partition_must_be_groups(partition: object) -> None:
    with pytest.raises(DoorError):
        table(partition)  # type: ignore[arg-type]


def test_lookups_of_sums_must_fit_the_columns() -> None:
    score = np.array([0, 100, 200])
    check(PairSums(scores=Scores(columns=("sex", "sex"), lookups=(score, -score))))
    with pytest.raises(DoorError, match="one entry per base code"):
        check(PairSums(scores=Scores(columns=("sex", "smoker"), lookups=(score, score))))
    with pytest.raises(DoorError, match="'key' is not a modelled column"):
        check(PairSums(scores=Scores(columns=("sex", "key"), lookups=(score, score))))


@pytest.mark.parametrize("public_rows", [None, 10])
def test_taus_are_of_the_public_number_of_rows(public_rows: int | None) -> None:
    ranks = {"columns": ("sex", "smoker"), "lookups": (np.arange(3), np.arange(2))}
    if public_rows is not None:
        check(TauVector(**ranks, rows=10), SampledTaus(**ranks, rows=10, seed=1), public_rows=public_rows)
        check(SampledTaus(**ranks, rows=9, seed=1), public_rows=public_rows)
    for rows in (9, 11) if public_rows else (9, 10, 11):
        with pytest.raises(DoorError, match="not that of the table"):
            check(TauVector(**ranks, rows=rows), public_rows=public_rows)
    with pytest.raises(DoorError, match="more rows than the table"):
        check(SampledTaus(**ranks, rows=11, seed=1), public_rows=public_rows)


def test_noise_must_be_plain() -> None:
    check_noise(NOISE)
    broken = Noise(kind="gaussian", scale=1.0)
    object.__setattr__(broken, "scale", float("nan"))
    with pytest.raises(DoorError):
        check_noise(broken)


def test_a_score_must_be_candidates_of_the_schema() -> None:
    partition = np.array([0, 1, 1])
    good = Candidate(columns=("sex",), partitions=(partition,), estimate=np.array([1.0, 2.0]))
    check_score(TableDistance(candidates=(good,)), 1.0, 1, SCHEMA)
    bad = Candidate(columns=("sex",), partitions=(partition,), estimate=np.array([1.0, np.nan]))
    for score, epsilon, picks in [
        (TableDistance(candidates=(bad,)), 1.0, 1),
        (TableDistance(candidates=(good,)), 0.0, 1),
        (TableDistance(candidates=(good,)), 1.0, 2),
        (TableDistance(candidates=()), 1.0, 1),
        (lambda rows: 0, 1.0, 1),
    ]:
        with pytest.raises(DoorError):
            check_score(score, epsilon, picks, SCHEMA)  # type: ignore[arg-type]


def test_the_digest_distinguishes_requests() -> None:
    one, same, other = table(np.array([0, 1, 1])), table(np.array([0, 1, 1])), table(np.array([0, 1, 0]))
    assert hash_request(one) == hash_request(same) != hash_request(other)
