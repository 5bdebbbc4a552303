"""Fits of numbers whose unit nobody declared: digits, steps and heaps are found, paid for and kept to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sklar
from sklar.model.latent.model import LatentNormalModel
from sklar.pipeline.plan import plan
from tests.golden.cases import scripted_fit

ROWS = 4_000
SCHEMA = sklar.Schema(
    {
        "days": sklar.Real(0, 180, nullable=True),
        "score": sklar.Real(-3, 12),
        "weight": sklar.Real(30, 200),
        "cents": sklar.Real(0, 9, decimals=2),
    }
)


def table(seed: int = 0) -> dict[str, Any]:
    """Days: whole, mostly 1, some null. Score: one digit. Weight: all digits. Cents: two, which is declared."""
    rng = np.random.default_rng(seed)
    days = np.where(rng.random(ROWS) < 0.6, 1.0, rng.geometric(0.08, ROWS)).clip(0, 180)
    latent = rng.normal(size=ROWS)
    return {
        "days": [None if gone else float(x) for x, gone in zip(days, rng.random(ROWS) < 0.1, strict=True)],
        "score": np.round(4 + 2 * latent, 1).clip(-3, 12),
        "weight": (70 + 12 * latent + rng.normal(0, 5, ROWS)).clip(30, 200),
        "cents": np.round(rng.gamma(2, 1, ROWS), 2).clip(0, 9),
    }


AMOUNTS = sklar.Schema(
    {"loan": sklar.Integer(0, 9_000), "fee": sklar.Real(0, 300, bins=4096), "rent": sklar.Real(0, 3_000)}
)


def amounts() -> dict[str, Any]:
    """Loans in tens, a third of them in hundreds; fees in quarters; rents of any digits, 40% of them in fifties."""
    rng = np.random.default_rng(3)
    loans, rents = 10 * np.round(rng.gamma(4, 45, ROWS)), rng.gamma(6, 120, ROWS)
    return {
        "loan": np.where(rng.random(ROWS) < 1 / 3, 100 * np.round(loans / 100), loans).clip(10, 8_990).astype(int),
        "fee": (np.round(rng.gamma(3, 20, ROWS) * 4) / 4).clip(0.25, 299),
        "rent": np.where(rng.random(ROWS) < 0.4, 50 * np.round(rents / 50), rents).clip(1, 2_990),
    }


def multiples(values: Any, unit: float) -> float:
    return float(np.mean(np.asarray(values) / unit == np.round(np.asarray(values) / unit)))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["vine", "independent", "dpcopula-kendall", "dpcopula-mle"])
def test_digits_are_found_and_kept_to(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rows = table()
    model = scripted_fit(pa.table(rows), SCHEMA, {"method": method, "epsilon": 20.0}, monkeypatch)
    model.save(tmp_path / "m.sklar")
    assert sklar.verify(tmp_path / "m.sklar")["facts"].ok
    for made in (model, sklar.load(tmp_path / "m.sklar")):
        assert [getattr(made.schema[name], "decimals", None) for name in SCHEMA] == [0, 1, None, 2]
        assert made.claim.measured == ("days.decimals", "score.decimals")
        assert "days.decimals" not in (*made.claim.assumed, *made.claim.public)
        drawn = made.sample(ROWS, seed=1).to_pydict()
        days = np.array([x for x in drawn["days"] if x is not None])
        assert np.array_equal(days, np.round(days))
        assert np.array_equal(drawn["score"], np.round(drawn["score"], 1))
        assert len(set(drawn["weight"])) > 0.9 * ROWS
        real = np.array([x for x in rows["days"] if x is not None])
        for value in (0, 1, 2, 3, 8):
            assert abs(np.mean(days == value) - np.mean(real == value)) < 0.01
    assert SCHEMA["days"] == sklar.Real(0, 180, nullable=True)


@pytest.mark.slow
def test_units_are_found_where_rows_are_few(monkeypatch: pytest.MonkeyPatch):
    """1,000 rows at epsilon 6 are too few for tables of pairs, and enough for counts of round numbers."""
    rows = {name: column[:1_000] for name, column in {**table(), "loan": amounts()["loan"]}.items()}
    more = {f"x{i}": np.random.default_rng(i).integers(0, 5, 1_000) for i in range(30)}
    schema = sklar.Schema({**dict(SCHEMA.items()), "loan": AMOUNTS["loan"], **dict.fromkeys(more, sklar.Integer(0, 4))})
    case = {"method": "vine", "epsilon": 6.0, "delta": 1e-6}
    model = scripted_fit(pa.table({**rows, **more}), schema, case, monkeypatch)
    assert isinstance(model.table_model, LatentNormalModel)
    assert [getattr(model.schema[name], "decimals", None) for name in SCHEMA] == [0, 1, None, 2]
    drawn = model.sample(1_000, seed=1).to_pydict()
    days, score = np.array([x for x in drawn["days"] if x is not None]), np.array(drawn["score"])
    assert np.array_equal(days, np.round(days)) and np.array_equal(score, np.round(score, 1))
    assert len(set(drawn["weight"])) > 900 and multiples(drawn["loan"], 10) == 1


def test_nothing_is_found_where_noise_hides_it():
    """At epsilon 0.05 the noise of a count of digits is 1,200, and 15 times that would be needed."""
    model = sklar.fit(table(), SCHEMA, method="independent", epsilon=0.05)
    assert model.schema == SCHEMA and model.claim.measured == ()


def test_nothing_is_paid_where_no_unit_is_sought():
    short = sklar.Schema({"x": sklar.Real(0, 9, bins=50), "n": sklar.Integer(0, 60)})
    labels = [
        [line.label for line in plan(schema, method="independent", epsilon=1.0).lines] for schema in (SCHEMA, short)
    ]
    assert "round numbers" in labels[0] and "round numbers" not in labels[1]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["vine", "independent"])
def test_steps_and_heaps_are_found_and_kept_to(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rows = amounts()
    model = scripted_fit(pa.table(rows), AMOUNTS, {"method": method, "epsilon": 10.0}, monkeypatch)
    model.save(tmp_path / "m.sklar")
    assert sklar.verify(tmp_path / "m.sklar").ok
    assert model.schema["loan"] == AMOUNTS["loan"] and getattr(model.schema["fee"], "decimals", None) == 2
    for made in (model, sklar.load(tmp_path / "m.sklar")):
        drawn = made.sample(ROWS, seed=1).to_pydict()
        assert multiples(drawn["loan"], 10) == multiples(drawn["fee"], 0.25) == 1
        for name, unit in (("loan", 100), ("rent", 50)):
            assert abs(multiples(drawn[name], unit) - multiples(rows[name], unit)) < 0.05
        for name, column in rows.items():
            assert min(drawn[name]) >= 0 and max(drawn[name]) <= AMOUNTS[name].upper
            assert abs(np.mean(drawn[name]) - np.mean(column)) < 0.1 * np.std(column)
    told = {margin["column"]: margin.get("rounded to", {}) for margin in model.inspect()["margins"]}
    assert set(told["loan"]) >= {"10", "100"} and told["fee"] == {"0.25": 1.0} and set(told["rent"]) >= {"50"}
    asked = model.sample(300, given={"loan": (1_005, 1_095), "rent": (601, 649)}, seed=2).to_pydict()
    assert set(asked["loan"]) <= set(range(1_010, 1_100, 10))
    assert min(asked["rent"]) >= 601 and max(asked["rent"]) <= 649
