"""Numbers that people give: numpy's are as good as Python's, and what is none is refused by name."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.errors import UsageError
from sklar.given_numbers import is_number, is_whole, whole_number
from sklar.pipeline.fit.request import fit_request
from sklar.sample.rng import seed_entropy

SCHEMA = sklar.Schema({"a": sklar.Integer(0, 9), "b": sklar.Category(["x", "y"])})


@pytest.mark.parametrize("value", [0, 2.5, 10**400, np.float64(0.1), np.float32(0.1), np.int8(3)])
def test_numbers_are_numbers_whoever_made_them(value: Any) -> None:
    assert is_number(value)


@pytest.mark.parametrize(
    "value", [True, np.True_, "1", None, float("nan"), np.float32("inf"), 1j, [1], pd.DataFrame({"a": [1]})]
)
def test_what_is_none(value: Any) -> None:
    assert not is_number(value) and not is_whole(value, -(10**9))


def test_whole_numbers_within_bounds() -> None:
    assert type(whole_number(np.uint8(7), "rows", 7, 7)) is int
    for value, words in ((2.0, "at least 3"), (2, "at most 1,000"), (1001, "found 1001"), (True, "True")):
        with pytest.raises(UsageError, match=f"rows must be a whole number.*{words}"):
            whole_number(value, "rows", 3, 1000)


def test_a_table_in_the_place_of_a_number_is_not_shown() -> None:
    frame = pd.DataFrame({"name": ["Alice"]})
    for refused in (lambda: sklar.plan(SCHEMA, epsilon=1.0, rows=frame), lambda: seed_entropy(frame)):
        with pytest.raises(UsageError, match=r"(found|got) a DataFrame") as told:
            refused()
        assert "Alice" not in str(told.value)


@pytest.mark.parametrize("sums", [np.float64(0.1), np.float32(0.1)])
def test_an_option_may_be_one_of_numpys_numbers(sums: Any) -> None:
    request = fit_request(None, SCHEMA, epsilon=1.0, sums=sums)
    assert request.private_method()[1].sums == pytest.approx(0.1)
    assert json.dumps(request.options)
    planned, plain = (sklar.plan(SCHEMA, epsilon=1.0, rows=500, options={"sums": x}) for x in (sums, float(sums)))
    assert planned == plain
