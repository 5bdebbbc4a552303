"""Budgets that promise little are told: a large epsilon before the fit, a large delta by the noisy number of rows."""

from __future__ import annotations

import warnings

import pytest

import sklar
from sklar.errors import WeakPromiseWarning
from sklar.pipeline.fit.pay import pay
from tests.hostile.checks import QUICK, SCHEMA

ROWS = {"x": [1, 2] * 500, "c": ["a", "b"] * 500}


def told(**settings: object) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sklar.fit(ROWS, SCHEMA, **{**QUICK, **settings})
    ours = [w for w in caught if issubclass(w.category, WeakPromiseWarning)]
    assert all(w.filename == __file__ for w in ours)
    return [str(w.message) for w in ours]


def test_an_epsilon_above_ten() -> None:
    (warning,) = told(epsilon=12.0)
    assert "epsilon = 12" in warning and "exp(12)" in warning
    assert told(epsilon=10.0) == []
    assert "epsilon = " in told(epsilon=None, rho=5.0, delta=1e-9)[0]
    assert told(epsilon=None, rho=0.1, delta=1e-9) == []


def test_it_comes_before_anything_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sklar.pipeline.fit.run.open_book", None)
    with pytest.warns(WeakPromiseWarning), pytest.raises(TypeError):
        sklar.fit(ROWS, SCHEMA, **{**QUICK, "epsilon": 12.0})


def test_facts_that_are_paid_for_with_a_large_epsilon() -> None:
    schema = sklar.Schema({"x": sklar.Integer(0, 9, source={"lower": "pay", "upper": "pay"})})
    with pytest.warns(WeakPromiseWarning, match="epsilon = 12"):
        pay(ROWS, schema, epsilon=12.0)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_delta_above_one_over_the_rows(neighbours: str) -> None:
    # The noise of the number of rows is below 100 but once in 1e9 fits.
    (warning,) = told(delta=2e-3, neighbours=neighbours)
    assert "delta = 0.002" in warning and "number of rows" in warning
    assert told(delta=1e-4, neighbours=neighbours) == []
    assert told(delta=0.0, neighbours=neighbours) == []
