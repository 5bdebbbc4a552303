"""Fits of whole numbers that were declared as reals: the digits are found, paid for, written down and kept to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sklar
from sklar.model.latent.model import LatentNormalModel
from sklar.pipeline.plan import plan

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


@pytest.mark.parametrize("method", ["vine", "independent", "dpcopula-kendall", "dpcopula-mle"])
def test_digits_are_found_and_kept_to(method: str, tmp_path: Path):
    """At epsilon 20 the counts of digits have noise below 10, and thresholds are hundreds away."""
    rows = table()
    model = sklar.fit(rows, SCHEMA, method=method, epsilon=20.0)
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


def test_digits_are_found_where_rows_are_few():
    """1,000 rows at epsilon 6 are too few for tables of pairs, and enough for counts of digits (noise below 20)."""
    rows = {name: column[:1_000] for name, column in table().items()}
    more = {f"x{i}": np.random.default_rng(i).integers(0, 5, 1_000) for i in range(30)}
    columns = {**{name: SCHEMA[name] for name in SCHEMA}, **{name: sklar.Integer(0, 4) for name in more}}
    model = sklar.fit({**rows, **more}, sklar.Schema(columns), method="vine", epsilon=6.0, delta=1e-6)
    assert isinstance(model.table_model, LatentNormalModel)
    assert [getattr(model.schema[name], "decimals", None) for name in SCHEMA] == [0, 1, None, 2]
    drawn = model.sample(1_000, seed=1).to_pydict()
    days, score = np.array([x for x in drawn["days"] if x is not None]), np.array(drawn["score"])
    assert np.array_equal(days, np.round(days)) and np.array_equal(score, np.round(score, 1))
    assert len(set(drawn["weight"])) > 900


def test_nothing_is_found_where_noise_hides_it():
    """At epsilon 0.05 the noise of a count of digits is 1,200, and 15 times that would be needed."""
    model = sklar.fit(table(), SCHEMA, method="independent", epsilon=0.05)
    assert model.schema == SCHEMA and model.claim.measured == ()


def test_digits_cost_nothing_where_none_are_sought():
    declared = sklar.Schema({"x": sklar.Real(0, 9, decimals=2), "n": sklar.Integer(0, 900)})
    assert "digits" in repr(plan(SCHEMA, method="independent", epsilon=1.0))
    assert "digits" not in repr(plan(declared, method="independent", epsilon=1.0))
