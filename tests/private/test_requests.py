"""Only frozen data passes the threshold of the Door."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.accounting.noise import Noise
from sklar.errors import DoorError
from sklar.private.requests import check_noise, check_score, check_tables
from sklar.release.charges import request_digest
from sklar.release.door import Candidate, RecodedTable, Table, TableDistance
from sklar.schema import Boolean, Category, Id, Schema

NOISE = Noise(kind="gaussian", scale=2.0)
SCHEMA = Schema({"sex": Category(["F", "M"]), "smoker": Boolean(), "key": Id()})


def recoded(*lookups: np.ndarray) -> RecodedTable:
    return RecodedTable(columns=("sex", "smoker")[: len(lookups)], lookups=lookups, noise=NOISE)


def test_a_plain_table_passes() -> None:
    check_tables([Table(columns=("sex", "smoker"), noise=NOISE)], Table, SCHEMA)
    check_tables([recoded(np.array([0, 1, 1]), np.array([0, 1]))], RecodedTable, SCHEMA)


class Spy(Noise):
    """A noise that would carry rows out."""


@pytest.mark.parametrize(
    "tables",
    [
        [lambda rows: rows],
        [Table(columns=("sex",), noise=lambda: 0)],  # type: ignore[arg-type]
        [Table(columns=["sex"], noise=NOISE)],  # type: ignore[arg-type]
        [Table(columns=(lambda: "sex",), noise=NOISE)],  # type: ignore[arg-type]
        [Table(columns=("sex",), noise=Spy(kind="gaussian", scale=2.0))],
        [Table(columns=("key",), noise=NOISE)],
        [Table(columns=("nobody",), noise=NOISE)],
        [Table(columns=("sex", "sex"), noise=NOISE)],
        [],
        (t for t in [Table(columns=("sex",), noise=NOISE)]),
    ],
)
def test_anything_else_is_refused(tables: object) -> None:
    with pytest.raises(DoorError):
        check_tables(tables, Table, SCHEMA)  # type: ignore[arg-type]


def test_a_table_with_a_hidden_callable_is_refused() -> None:
    table = Table(columns=("sex",), noise=NOISE)
    object.__setattr__(table, "columns", ("sex", print))
    with pytest.raises(DoorError):
        check_tables([table], Table, SCHEMA)


def test_a_lookup_that_stays_writable_is_refused() -> None:
    table = recoded(np.array([0, 1, 1]))
    object.__setattr__(table, "lookups", (np.array([0, 1, 1], dtype=np.int32),))
    with pytest.raises(DoorError):
        check_tables([table], RecodedTable, SCHEMA)


def test_a_lookup_is_copied_so_that_later_changes_do_not_reach_the_door() -> None:
    mine = np.array([0, 1, 1], dtype=np.int32)
    table = recoded(mine)
    mine[:] = 0
    assert table.lookups[0].tolist() == [0, 1, 1]


@pytest.mark.parametrize("lookup", [np.array([0, 1]), np.array([0, 1, 1, 1])])
def test_a_lookup_must_fit_the_column(lookup: np.ndarray) -> None:
    with pytest.raises(DoorError):
        check_tables([recoded(lookup)], RecodedTable, SCHEMA)


@pytest.mark.parametrize("lookup", [np.array([0.0, 1.0]), np.array([-1, 0]), np.array([[0], [1]]), [0, 1], print])
def test_a_lookup_must_be_groups(lookup: object) -> None:
    with pytest.raises(DoorError):
        recoded(lookup)  # type: ignore[arg-type]


def test_noise_must_be_plain() -> None:
    check_noise(NOISE)
    broken = Noise(kind="gaussian", scale=1.0)
    object.__setattr__(broken, "scale", float("nan"))
    with pytest.raises(DoorError):
        check_noise(broken)


def test_a_score_must_be_candidates_of_the_schema() -> None:
    lookup = np.array([0, 1, 1])
    good = Candidate(columns=("sex",), lookups=(lookup,), estimate=np.array([1.0, 2.0]))
    check_score(TableDistance(candidates=(good,)), 1.0, 1, SCHEMA)
    bad = Candidate(columns=("sex",), lookups=(lookup,), estimate=np.array([1.0, np.nan]))
    for score, epsilon, picks in [
        (TableDistance(candidates=(bad,)), 1.0, 1),
        (TableDistance(candidates=(good,)), 0.0, 1),
        (TableDistance(candidates=(good,)), 1.0, 2),
        (TableDistance(candidates=()), 1.0, 1),
        (lambda rows: 0, 1.0, 1),
    ]:
        with pytest.raises(DoorError):
            check_score(score, epsilon, picks, SCHEMA)  # type: ignore[arg-type]


def test_the_digest_tells_requests_apart() -> None:
    one, same, other = recoded(np.array([0, 1, 1])), recoded(np.array([0, 1, 1])), recoded(np.array([0, 1, 0]))
    assert request_digest(one) == request_digest(same) != request_digest(other)
