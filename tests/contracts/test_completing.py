"""Rows with known codes are completed by the law of the model given these, for every model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from sklar.model.completing import MORE_PARTICLES, complete_codes
from sklar.model.protocol import UNKNOWN_CODE, RowProposals, RowwiseModel
from tests.contracts.conditioned import AGE, CASES, INCOME, REGION, SCHEMA, SMOKER, VISITS, fitted, reference, surprise
from tests.tiers import slow_unless

ROWS, FEWER = 1_500, 500
"""Rows that are completed, and as many where a model weighs particles, which takes seconds for a thousand rows."""
KNOWN = {
    "one": [INCOME],
    "two": [AGE, REGION],
    "three": [VISITS, SMOKER, AGE],
    "none": [],
}


def hidden(rows: np.ndarray, known: list[int]) -> np.ndarray:
    out = np.full_like(rows, UNKNOWN_CODE)
    out[:, known] = rows[:, known]
    return out


QUICK = ("vine", "independent", "dpcopula-kendall")


@pytest.mark.parametrize("name", slow_unless(QUICK.__contains__, CASES))
def test_what_is_hidden_and_drawn_again_has_the_law_of_the_whole(name):
    """Known codes with their own law, the others given these: together the model's law, for any choice of columns."""
    model, rows = fitted(name).table_model, reference(name)
    number = ROWS if isinstance(model, RowwiseModel) else FEWER
    for seed, (label, known) in enumerate(KNOWN.items()):
        given = hidden(rows[:number], known)
        done = complete_codes(model, given, np.random.default_rng(seed))
        assert np.array_equal(done.codes[:, known], rows[:number, known]), label
        assert done.codes.min() >= 0 and (done.codes.max(axis=0) < [SCHEMA.size(n) for n in SCHEMA.modelled]).all()
        assert (done.effective == 0).mean() < 0.02, label
        assert surprise(done.codes, number, rows[number:]) < 1, label


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vine", "vine-few-rows-target", "dpcopula-kendall", "dpcopula-hybrid"])
def test_each_row_is_as_filtered_rows_are(name):
    model, rows = fitted(name).table_model, reference(name)
    pairs, counts = np.unique(rows[:, [VISITS, SMOKER]], axis=0, return_counts=True)
    for visits, smoker in pairs[np.argsort(-counts)[:3]]:
        alike = rows[(rows[:, VISITS] == visits) & (rows[:, SMOKER] == smoker)]
        given = hidden(np.repeat(alike[:1], 2_000, axis=0), [VISITS, SMOKER])
        done = complete_codes(model, given, np.random.default_rng(4))
        assert surprise(done.codes, 2_000, alike) < 1


def test_rows_that_know_different_columns_are_completed_together():
    model, rows = fitted("vine").table_model, reference("vine")[:4_000]
    rng = np.random.default_rng(8)
    given = np.where(rng.random(rows.shape) < 0.5, rows, UNKNOWN_CODE).astype(np.int32)
    done = complete_codes(model, given, rng)
    assert np.array_equal(done.codes[given >= 0], given[given >= 0])
    assert surprise(done.codes, len(rows), reference("vine")[4_000:]) < 1


class Unweighted:
    """A broken model: what it proposes for rows all weighs the same."""

    def __init__(self, model: RowwiseModel):
        self.margins, self.rows_estimate, self.simulate = model.margins, model.rows_estimate, model.simulate
        self.simulate_rounded, self.proposals, self._rows = model.simulate_rounded, model.proposals, model.row_proposals

    def row_proposals(self, first: Sequence[int]) -> RowProposals:
        propose = self._rows(first)
        return lambda known, rng: (propose(known, rng)[0], np.zeros(len(known)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "known"),
    [("vine", [REGION, SMOKER]), ("vine-target", [AGE, REGION]), ("vine-few-rows-target", [INCOME, AGE])],
)
def test_proposals_that_all_weigh_the_same_are_caught(name, known):
    """Known columns that a vine cannot draw first, and those that tell of a class."""
    model, rows = fitted(name).table_model, reference(name)
    assert isinstance(model, RowwiseModel)
    given = hidden(rows[:8_000], known)
    drawn = [complete_codes(one, given, np.random.default_rng(2)).codes for one in (model, Unweighted(model))]
    assert surprise(drawn[0], 8_000, rows[8_000:]) < 1
    assert surprise(drawn[1], 8_000, rows[8_000:]) > 3


@pytest.mark.slow
def test_codes_that_no_row_has_together_are_told():
    model = fitted("cop").table_model
    rows = model.simulate(50, np.random.default_rng(3))
    given = rows.copy()
    given[:, SMOKER] = UNKNOWN_CODE
    given[0, :SMOKER] = [0, 23, 9, 0]  # the youngest, the richest and the most visited: none among many rows
    done = complete_codes(model, given, np.random.default_rng(5))
    assert done.effective[0] == 0 and done.particles[0] == MORE_PARTICLES
    assert np.array_equal(done.codes[0, :SMOKER], given[0, :SMOKER]) and done.codes[0, SMOKER] in (0, 1)
