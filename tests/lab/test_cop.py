"""dpc without noise and its extremes: observed margins and pairs, independence, and one score for all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.errors import UsageError
from sklar.lab.baselines.cop import CopOptions, count_pairs
from sklar.lab.tables.table import ExactTable

FACTS = sklar.Schema(
    {
        "area": sklar.Category(list("nesw")),
        "age": sklar.Integer(0, 99),
        "smoker": sklar.Boolean(),
        "old": sklar.Boolean(),
    }
)


def people(rows: int = 6_000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    area = rng.choice(list("nesw"), rows, p=[0.4, 0.3, 0.2, 0.1])
    age = np.clip(rng.normal(40 + 15 * (area == "n"), 12), 0, 99).astype(int)
    smoker = rng.random(rows) < np.where(area == "w", 0.8, 0.2)
    return pd.DataFrame({"area": area, "age": age, "smoker": smoker, "old": age > 50})


def fitted(method: str, table: pd.DataFrame | None = None, **options: Any):
    given = people() if table is None else table
    return sklar.fit(given, FACTS, method=method, no_guarantee=True, **({"bins": 8} | options))


def decoded(method: str, **options: Any) -> pd.DataFrame:
    return fitted(method, **options).sample(20_000, seed=1).to_pandas()


@pytest.mark.parametrize("method", ["cop", "cop-id", "cop-1"])
def test_margins_hold_and_the_label_is_there(method):
    model = fitted(method)
    assert str(model.claim).startswith("NO DP GUARANTEE") and not model.claim.guarantee
    made, real = model.sample(20_000, seed=1).to_pandas(), people()
    for column in ("area", "smoker", "old"):
        gap = real[column].value_counts(normalize=True).sub(made[column].value_counts(normalize=True), fill_value=0)
        assert gap.abs().max() < 0.015


def test_cop_has_the_observed_pairs():
    made, real = decoded("cop", rounds=3, projection="weighted"), people()
    gap = made.groupby("area")["smoker"].mean() - real.groupby("area")["smoker"].mean()
    assert gap[list("nesw")].abs().max() < 0.05
    assert made.groupby("old")["age"].mean().diff().iloc[-1] > 15


def test_the_identity_has_no_dependence():
    made = decoded("cop-id")
    smokers = made.groupby("area")["smoker"].mean()[list("nesw")]
    assert smokers.max() - smokers.min() < 0.05
    assert abs(made["smoker"].astype(float).corr(made["old"].astype(float))) < 0.03


def test_ones_nest_the_values_of_the_binary_table():
    """With one score for all, the rarer value implies the more frequent one."""
    bits = fitted("cop-1")._stored.model.simulate_binary(20_000, np.random.default_rng(0))
    both, share = bits.T.astype(float) @ bits / len(bits), bits.mean(axis=0)
    area = range(4)
    for i in area:
        for j in (*area, bits.shape[1] - 1):
            assert both[i, j] > 0.97 * min(share[i], share[j]) - 1e-3
    identity = fitted("cop-id")._stored.model.simulate_binary(20_000, np.random.default_rng(0)).astype(float)
    assert abs(np.corrcoef(identity[:, :2].T)[0, 1]) < 0.03


def test_exact_tables_are_those_of_the_rows():
    table = people(500)
    codes = {"smoker": table["smoker"].to_numpy().astype(int), "old": table["old"].to_numpy().astype(int)}
    schema = sklar.Schema({"smoker": sklar.Boolean(), "old": sklar.Boolean()})
    counted = count_pairs(ExactTable(schema=schema, codes=codes, numbers={}, total=500), 8)
    np.testing.assert_array_equal(counted.counts.reshape(2, 2), pd.crosstab(table["smoker"], table["old"]).to_numpy())


@pytest.mark.parametrize("method", ["cop", "cop-id", "cop-1"])
def test_hostile_tables_still_give_rows(method):
    for table in (people(1), pd.concat([people(1)] * 30, ignore_index=True)):
        assert fitted(method, table).sample(40, seed=0).num_rows == 40


@pytest.mark.parametrize("options", [{"bins": 1}, {"rounds": -1}, {"bins": 2.5}])
def test_options_outside_the_rules_are_refused(options):
    with pytest.raises(UsageError, match=r"bins|rounds"):
        CopOptions(**options)
