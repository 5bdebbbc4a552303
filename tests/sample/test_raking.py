"""Choosing persons: nobody twice, and nearer to what is expected than the persons as they were drawn."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.model.kernels import swap_persons
from sklar.sample.decode import SampledTable, Values
from sklar.sample.raking import RowsOf, choose_persons
from sklar.schema.columns import Category
from sklar.schema.numbers import Integer
from sklar.schema.persons.linked import FIRST, NEXT, LinkedTable

FIRST_ROWS = LinkedTable(name=FIRST, columns={"a": Category(["x", "y"]), "n": Integer(1, 3)}, rules=(), more="n")
STEPS = LinkedTable(
    name=NEXT,
    columns={"previous b": Integer(0, 99), "b": Integer(0, 99), "left": Integer(0, 1)},
    rules=(),
    known=frozenset({"previous b", "left"}),
    more="left",
)


def values(data: np.ndarray, labels: tuple[str, ...] | None = None) -> Values:
    return Values(data=data, null=np.zeros(len(data), bool), labels=labels)


def first_rows(share: float, rows: int, rng: np.random.Generator) -> SampledTable:
    return {
        "a": values((rng.random(rows) < share).astype(np.int64), labels=("x", "y")),
        "n": values(rng.integers(1, 4, rows)),
    }


def steps(drift: float, left: np.ndarray, rng: np.random.Generator) -> SampledTable:
    before = rng.integers(0, 100, len(left))
    now = np.clip(before + np.round(rng.normal(drift, 20, len(left))), 0, 99).astype(np.int64)
    return {"previous b": values(before), "b": values(now), "left": values(left)}


def law(name: str, rows: int) -> tuple[SampledTable, float]:
    """Half of the persons are y, and b stays where it is on average; three quarters of the votes are for last steps."""
    rng = np.random.default_rng(1)
    left = (rng.random(rows) < 0.25).astype(np.int64)
    return (first_rows(0.5, rows, rng) if name == FIRST else steps(0.0, left, rng)), rows


@pytest.fixture(scope="module")
def drawn() -> list[RowsOf]:
    """4,000 persons, of whom too many are y, and whose b falls."""
    rng = np.random.default_rng(2)
    heads = first_rows(0.6, 4_000, rng)
    more = heads["n"].data - 1
    left = np.concatenate([np.arange(m)[::-1] for m in more])
    person = np.repeat(np.arange(4_000), more)
    return [
        RowsOf(table=FIRST_ROWS, values=heads, person=np.arange(4_000)),
        RowsOf(table=STEPS, values=steps(-8.0, left, rng), person=person),
    ]


def test_chosen_persons_are_as_expected_together(drawn: list[RowsOf]) -> None:
    chosen = choose_persons(drawn, 4_000, 2_000, 1, law, np.random.default_rng(3))
    assert len(np.unique(chosen)) == 2_000
    heads, rows = drawn[0].values, drawn[1]
    assert abs(heads["a"].data[chosen].mean() - 0.5) < 0.01 < abs(heads["a"].data.mean() - 0.5)
    numbers = np.bincount(heads["n"].data[chosen], minlength=4)[1:] / 2_000
    assert np.abs(numbers - 1 / 3).max() < 0.02
    votes = 1.0 / np.bincount(rows.person)[rows.person]
    fall = rows.values["b"].data - rows.values["previous b"].data
    kept = np.isin(rows.person, chosen)
    as_drawn, as_chosen = np.average(fall, weights=votes), np.average(fall[kept], weights=votes[kept])
    assert as_drawn < -5 and abs(as_chosen) < 1.5


def test_the_same_stream_chooses_the_same_persons(drawn: list[RowsOf]) -> None:
    one, two = (choose_persons(drawn, 4_000, 2_000, 1, law, np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(one, two)


def test_swaps_keep_count_and_never_raise_the_error() -> None:
    rng = np.random.default_rng(4)
    person = np.sort(rng.integers(0, 60, 200))
    cells, votes = rng.integers(0, 12, (200, 3)).astype(np.int32), rng.random(200)
    starts, expected, weight = np.searchsorted(person, np.arange(61)), rng.random(12) * 20, rng.random(12)

    def counts(chosen: np.ndarray) -> np.ndarray:
        rows = np.isin(person, chosen)
        return np.bincount(cells[rows].ravel(), np.repeat(votes[rows], 3), minlength=12)

    chosen, excess = np.arange(20), -expected
    before = float(weight @ (counts(chosen) - expected) ** 2)
    swap_persons(cells, votes, starts, excess, weight, chosen, np.arange(20), rng.integers(0, 60, (20, 5)))
    assert len(np.unique(chosen)) == 20
    assert np.allclose(excess, counts(chosen) - expected)
    assert float(weight @ (counts(chosen) - expected) ** 2) < before
