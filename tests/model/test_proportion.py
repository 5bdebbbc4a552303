"""Rows from votes: each person's rows come as often as it has them, under conditions and row by row too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sklar.model.completing import complete_codes
from sklar.model.conditioning import simulate_given
from sklar.model.margins.margin import margin_from_dense
from sklar.model.proportion import RowwiseInProportion, in_proportion
from sklar.model.protocol import UNKNOWN_CODE


class TwoKinds:
    """As many persons with one row, who have 0 of two values, as with three rows, who have either alike."""

    def __init__(self) -> None:
        self.margins = (
            margin_from_dense("value", np.array([0.75, 0.25])),
            margin_from_dense("rows", np.array([0.5, 0.0, 0.5])),
        )
        self.rows_estimate = 1_000

    def simulate(self, rows: int, rng: np.random.Generator) -> Any:
        three = rng.random(rows) < 0.5
        value = three & (rng.random(rows) < 0.5)
        return np.asfortranarray(np.column_stack([value, 2 * three]).astype(np.int32))

    simulate_rounded = simulate

    def proposals(self, allowed: object) -> Any:
        return lambda rows, rng: (self.simulate(rows, rng), np.zeros(rows))  # pyright: ignore[reportUnknownLambdaType]


class Rowwise(TwoKinds):
    """The same, with a draw for each row."""

    def row_proposals(self, first: object) -> Any:
        def propose(known: Any, rng: np.random.Generator) -> Any:
            drawn = self.simulate(len(known), rng)
            fits = ((known == UNKNOWN_CODE) | (known == drawn)).all(axis=1)
            return np.where(known == UNKNOWN_CODE, drawn, known), np.where(fits, 0.0, -np.inf)

        return propose


ROWS = 40_000
NAMES = ("value", "rows")


def share(hits: Any) -> float:
    return float(np.mean(hits))


@pytest.mark.parametrize("how", ["simulate", "simulate_rounded"])
def test_rows_come_as_often_as_persons_have_them(how: str) -> None:
    """Of four rows three are of the persons who have three, and half of these have value 1."""
    model = in_proportion(TwoKinds(), NAMES, "rows")
    codes = getattr(model, how)(ROWS, np.random.default_rng(1))
    assert codes.shape == (ROWS, 2)
    assert share(codes[:, 1] == 2) == pytest.approx(3 / 4, abs=0.02)
    assert share(codes[:, 0]) == pytest.approx(3 / 8, abs=0.02)
    assert model.rows_estimate == 2_000


def test_a_model_without_shared_votes_is_left_alone() -> None:
    votes = TwoKinds()
    assert in_proportion(votes, NAMES, None) is votes


def test_conditions_are_met_in_proportion() -> None:
    """Given value 0: one row of a person alone, and half of three."""
    model = in_proportion(TwoKinds(), NAMES, "rows")
    codes, worth = simulate_given(model, ROWS, {0: np.array([1.0, 0.0])}, np.random.default_rng(2))
    assert not codes[:, 0].any()
    assert share(codes[:, 1] == 0) == pytest.approx(1 / 2.5, abs=0.02)
    assert 0 < worth <= ROWS


@pytest.mark.parametrize("votes", [TwoKinds(), Rowwise()], ids=["matching", "rowwise"])
def test_rows_are_completed_in_proportion(votes: Any) -> None:
    model = in_proportion(votes, NAMES, "rows")
    assert isinstance(model, RowwiseInProportion) == isinstance(votes, Rowwise)
    known = np.full((4_000, 2), UNKNOWN_CODE, dtype=np.int32)
    known[:, 0] = 0
    done = complete_codes(model, known, np.random.default_rng(3))
    assert share(done.codes[:, 1] == 0) == pytest.approx(1 / 2.5, abs=0.05)
