"""Means, spreads, quantiles and nulls of both tables: the numbers pandas gives, shifts by hand, and what is said."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.lab.evaluation import ALONE, ANSWER_POSITIONS, QUESTIONS
from sklar.lab.metrics.moments import REPORTED_QUANTILES, compare_moments, summarise
from tests.lab.pairs import read

SCHEMA = sklar.Schema(
    {
        "amount": sklar.Real(0, 10_000, nullable=True),
        "visits": sklar.Integer(0, 50),
        "owner": sklar.Boolean(nullable=True),
        "region": sklar.Category(["n", "s"], nullable=True),
        "sex": sklar.Category(["F", "M"]),
        "since": sklar.Datetime("2010-01-01", "2020-01-01"),
        "seen": sklar.Datetime("2010-01-01T00:00:00", "2020-01-01T00:00:00"),
    }
)


def frame(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    days = rng.integers(0, 3650, rows)
    return pd.DataFrame(
        {
            "amount": np.where(rng.random(rows) < 0.05, np.nan, rng.lognormal(5, 0.6, rows)),
            "visits": rng.poisson(4, rows),
            "owner": pd.array(np.where(rng.random(rows) < 0.1, None, rng.random(rows) < 0.3), dtype="boolean"),
            "region": np.where(rng.random(rows) < 0.02, None, np.where(rng.random(rows) < 0.5, "n", "s")),
            "sex": np.where(rng.random(rows) < 0.5, "F", "M"),
            "since": pd.Timestamp("2010-01-01") + pd.to_timedelta(days, "D"),
            "seen": pd.Timestamp("2010-01-01") + pd.to_timedelta(days * 24 + 7, "h"),
        }
    )


def test_numbers_are_those_of_pandas() -> None:
    data = frame(2_000, 1)
    table = read(data, SCHEMA)
    for name in ("amount", "visits"):
        found = summarise(table, table, name).real
        assert found.mean == pytest.approx(data[name].mean()) and found.sd == pytest.approx(data[name].std(ddof=0))
        np.testing.assert_allclose(found.quantiles, data[name].quantile(list(REPORTED_QUANTILES)))
        assert found.null == pytest.approx(data[name].isna().mean())
    owner = summarise(table, table, "owner").real
    assert owner.mean == pytest.approx(data.owner.mean()) and owner.null == pytest.approx(data.owner.isna().mean())
    region = summarise(table, table, "region").real
    assert region.null == pytest.approx(data.region.isna().mean()) and region.mean is None and region.quantiles == ()
    since = summarise(table, table, "since")
    assert since.text(since.real.quantiles[3]) == str(data.since.quantile(0.5).date())
    assert since.text(since.real.sd, length=True) == f"{data.since.std(ddof=0) / pd.Timedelta(days=1):.4g} days"
    seen = summarise(table, table, "seen")
    middle = pd.Timestamp(seen.to_dict()["real"]["quantiles"]["0.5"])
    assert abs(middle - data.seen.quantile(0.5)) < pd.Timedelta(days=2)  # the width of a cell
    assert seen.to_dict()["real"]["sd"] == pytest.approx(since.to_dict()["real"]["sd"], rel=1e-3)
    assert compare_moments(table, table).value == 0.0
    assert "sex" not in {part.columns[0] for part in compare_moments(table, table).parts}


def test_shifts_by_hand() -> None:
    schema = sklar.Schema({"x": sklar.Real(-100, 100, nullable=True)})
    real = read(pd.DataFrame({"x": [-1.0, 1.0] * 50}), schema)

    def shifts(values: list[float]) -> tuple[float, ...]:
        return summarise(real, read(pd.DataFrame({"x": values}), schema), "x").shifts

    assert shifts([-0.9, 1.1] * 50) == pytest.approx((0.1, 0.0, 0.1, 0.0))
    assert shifts([-1.5, 1.5] * 50) == pytest.approx((0.0, np.log(1.5), 0.5 * 6 / 7, 0.0))  # the median stays
    assert shifts([-1.0, 1.0] * 45 + [np.nan] * 10)[3] == pytest.approx(0.1 / np.sqrt(0.05 * 0.95))
    assert shifts([np.nan] * 100) == (1.0, 1.0, 1.0, 1.0)
    assert shifts([3.0] * 100) == pytest.approx((1.0, 1.0, 1.0, 0.0))


def test_huge_numbers_have_moments() -> None:
    schema = sklar.Schema({"x": sklar.Real(-1e300, 1e300)})
    table = read(pd.DataFrame({"x": [-1e300, 1e300]}), schema)
    found = summarise(table, table, "x").real
    assert found.mean == 0.0 and found.sd == pytest.approx(1e300)


def level(found: sklar.results.Evaluation) -> tuple[int, str]:
    said = next(line for line in found.verdict if line.startswith(ALONE))
    return next(i for i, answer in enumerate(QUESTIONS[ALONE][1]) if answer in said), said


@pytest.mark.slow
def test_a_thin_far_tail_and_lost_nulls_are_told() -> None:
    """2% of the rows moved into a far tail, and no nulls any more: small on a grid and in ranks, and plain to see."""
    real, fresh = frame(3_000, 1), frame(3_000, 2)
    bad = fresh.copy()
    bad.loc[bad.index[:60], "amount"] = 1_400.0
    bad["owner"] = bad.owner.fillna(False)
    good, wrong = (sklar.evaluate(real, x, SCHEMA, learners="tree", targets=["visits"]) for x in (fresh, bad))
    assert level(good)[0] <= 1 and "; worst:" not in level(good)[1]
    at, said = level(wrong)
    assert at > level(good)[0] and at < len(ANSWER_POSITIONS) + 1
    assert "amount (standard deviation" in said and "owner (null in 0.0% against" in said
    assert wrong["tvd1"].value < 0.05 and wrong["ks"].value < 0.03
    plain = json.loads(json.dumps(wrong.to_dict()))["columns"]
    assert list(plain) == list(SCHEMA.names)
    assert plain["amount"]["synthetic"]["sd"] > 1.5 * plain["amount"]["real"]["sd"]
    assert plain["amount"]["distance"] > 5 * plain["amount"]["floor"]
    assert wrong.columns[0].column == "amount" and wrong.columns[0].synthetic.null == pytest.approx(0.05, abs=0.02)
