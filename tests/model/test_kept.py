"""A model of transitions copies values of the row before as often as is wanted, and draws the rest given them."""

from __future__ import annotations

import numpy as np
import pytest

from sklar.model.completing import complete_codes
from sklar.model.independent import IndependentModel
from sklar.model.kept import KeptModel, copied_as_in, keep_values, without_copies
from sklar.model.margins.margin import margin_from_dense
from sklar.model.protocol import UNKNOWN_CODE

BEFORE, AFTER = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.1, 0.2, 0.3, 0.4])
BASE = IndependentModel(
    margins=(margin_from_dense("previous x", BEFORE), margin_from_dense("x", AFTER), margin_from_dense("y", BEFORE)),
    rows_estimate=500,
)
MODEL = keep_values(BASE, {(0, 1): 0.9})
ROWS = 40_000


@pytest.mark.parametrize("how", ["simulate", "simulate_rounded"])
def test_rows_keep_values_as_often_as_wanted(how: str) -> None:
    codes = getattr(MODEL, how)(ROWS, np.random.default_rng(1))
    by_chance = float(BEFORE @ AFTER)
    assert np.mean(codes[:, 0] == codes[:, 1]) == pytest.approx(0.9 + 0.1 * by_chance, abs=0.01)
    assert MODEL.rows_estimate == 500 and len(MODEL.margins) == 3
    found = np.bincount(codes[:, 1], minlength=4) / ROWS
    np.testing.assert_allclose(MODEL.margins[1].dense(), 0.9 * BEFORE + 0.1 * AFTER, atol=1e-9)
    np.testing.assert_allclose(found, MODEL.margins[1].dense(), atol=0.01)


def test_rows_are_completed_with_copies_unless_the_value_is_known() -> None:
    known = np.full((ROWS, 3), UNKNOWN_CODE, dtype=np.int32, order="F")
    known[:, 0] = np.arange(ROWS) % 4
    known[: ROWS // 2, 1] = 3
    done = complete_codes(MODEL, known, np.random.default_rng(2)).codes
    assert (done[: ROWS // 2, 1] == 3).all() and (done[:, 0] == known[:, 0]).all()
    later = done[ROWS // 2 :]
    assert np.mean(later[:, 0] == later[:, 1]) == pytest.approx(0.9 + 0.1 / 4, abs=0.01)


def test_a_value_that_the_model_does_not_have_is_not_copied() -> None:
    empty = np.array([0.0, 0.3, 0.3, 0.4])
    base = IndependentModel(margins=(BASE.margins[0], margin_from_dense("x", empty)), rows_estimate=9)
    known = np.array([[0, UNKNOWN_CODE]] * 100, dtype=np.int32)
    done = complete_codes(keep_values(base, {(0, 1): 1.0}), known, np.random.default_rng(3))
    assert (done.codes[:, 1] > 0).all() and (done.effective > 0).all()


def test_without_pairs_the_model_stays_as_it_is() -> None:
    assert keep_values(BASE, {}) is BASE and without_copies(MODEL) is BASE and without_copies(BASE) is BASE
    assert copied_as_in(BASE, BASE) is BASE
    again = copied_as_in(MODEL, BASE)
    assert isinstance(again, KeptModel) and again.copied == (0.9,)
