"""Nominal values are never merged blindly: 42 of them, one with most of the rows, through all methods that bin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.errors import UsageError
from sklar.methods.dpc.tables import merge_values, values_below_noise
from sklar.methods.dpcopula.margins import public_bins, rank_bins

LABELS = [f"c{i:02}" for i in range(42)]
LARGE, SHARE, ROWS = 17, 0.897, 20_000
FACTS = sklar.Schema({"country": sklar.Category(LABELS), "flag": sklar.Boolean(), "age": sklar.Integer(0, 99)})


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    p = np.full(42, (1 - SHARE) / 41)
    p[LARGE] = SHARE
    country = rng.choice(42, ROWS, p=p)
    flag = rng.random(ROWS) < np.where(country == LARGE, 0.75, 0.25)
    return pd.DataFrame({"country": [LABELS[i] for i in country], "flag": flag, "age": rng.integers(0, 100, ROWS)})


TABLE = people()
PURE: dict[str, Any] = {"epsilon": 2.0, "delta": 0.0}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("dpc-gauss", {"epsilon": 2.0}),
    ("dpc-gauss", {"epsilon": 2.0, "most_values": 30}),
    ("dpc-gauss", {"epsilon": 0.9, "published": True}),
    ("dpc-laplace", {"epsilon": 2.0}),
    ("dpc-laplace", {"epsilon": 2.0, "published": True}),
    ("cop", {"no_guarantee": True}),
    ("cop-id", {"no_guarantee": True}),
    ("dpcopula-hybrid", {"epsilon": 2.0}),
    ("dpcopula-kendall", {"margins": "efpa", **PURE}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "options"), CASES, ids=str)
def test_a_value_of_most_rows_keeps_them_and_its_neighbours_get_none(method: str, options: dict[str, Any]) -> None:
    """0.04 are 800 rows: more than 30 standard deviations of the noise that dpc puts on a count here (at most 25)."""
    model = sklar.fit(TABLE, FACTS, method=method, **options)
    real = TABLE["country"].value_counts(normalize=True).reindex(LABELS, fill_value=0.0).to_numpy()
    made = model.table_model.margins[0].dense()
    assert len(made) == 43 and made[LARGE] == pytest.approx(SHARE, abs=0.04)
    assert np.abs(made[:42] - real)[np.arange(42) != LARGE].max() < 0.04  # merged blindly, a neighbour has 0.45
    drawn = model.sample(4_000, seed=1).column("country").to_pylist()
    assert drawn.count(LABELS[LARGE]) / 4_000 == pytest.approx(made[LARGE], abs=0.03)


def test_dependence_on_the_large_value_is_kept_beside_a_rest() -> None:
    model = sklar.fit(TABLE, FACTS, method="dpc-gauss", epsilon=9.0, most_values=4)
    record: Any = model.table_model
    assert len(record.rest[0]) == 38 and LARGE not in record.rest[0] and len(record.groups[0]) == 6
    made = model.sample(20_000, seed=1).to_pandas()
    rate = made.groupby(made["country"] == LABELS[LARGE])["flag"].mean()
    assert rate[True] == pytest.approx(0.75, abs=0.05) and rate[False] == pytest.approx(0.25, abs=0.12)
    # All values of the rest are drawn, by the released histogram.
    shares = made["country"].value_counts(normalize=True).reindex(LABELS, fill_value=0.0)
    assert shares.drop(LABELS[LARGE]).between(0.0005, 0.008).all()
    bits = model.sample(20_000, seed=1, binary=True).to_pandas()
    assert [f"country={label}" for label in LABELS] == list(bits.columns[:42])
    assert bits.iloc[:, :42].mean().to_numpy() == pytest.approx(shares.to_numpy(), abs=0.02)


def test_a_model_with_a_rest_survives_saving(tmp_path: Any) -> None:
    model = sklar.fit(TABLE[:2_000], FACTS, method="dpc-gauss", epsilon=9.0, most_values=4)
    model.save(tmp_path / "m.sklar")
    assert sklar.load(tmp_path / "m.sklar").sample(200, seed=1).equals(model.sample(200, seed=1))


def test_thousands_of_values_share_a_rest_or_are_refused() -> None:
    facts = sklar.Schema({"code": sklar.Category([f"x{i}" for i in range(10_500)]), "flag": sklar.Boolean()})
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"code": [f"x{i}" for i in rng.geometric(0.2, 3_000)], "flag": rng.random(3_000) < 0.5})
    model = sklar.fit(table, facts, method="dpc-gauss", epsilon=3.0, most_values=40, rounds=0)
    assert model.table_model.margins[0].dense()[1] == pytest.approx(0.2, abs=0.1)
    with pytest.raises(UsageError, match="scores"):
        sklar.fit(table, facts, method="dpc-gauss", epsilon=0.9, published=True)
    with pytest.raises(UsageError, match="scores"):
        sklar.fit(table, facts, method="cop", no_guarantee=True)


def test_bins_of_nominal_columns_are_their_values() -> None:
    column = sklar.Category(LABELS, nullable=True)
    np.testing.assert_array_equal(public_bins(column, 4), np.arange(44))
    np.testing.assert_array_equal(np.unique(public_bins(sklar.Ordinal(LABELS), 4)), np.arange(5))
    drowned = values_below_noise(np.array([100.0, 3.0, 50.0, -7.0, 40.0]), 10.0, 2)
    np.testing.assert_array_equal(drowned, [False, True, False, True, True])
    np.testing.assert_array_equal(merge_values(np.arange(7, dtype=np.int32), drowned), [0, 4, 1, 4, 4, 2, 3])
    alone = np.array([True, False])
    np.testing.assert_array_equal(merge_values(np.arange(3, dtype=np.int32), alone), [0, 1, 2])


def test_ranks_of_nominal_columns_follow_released_counts() -> None:
    column = sklar.Category(list("abcdef"))
    counts = np.array([1.0, 1.0, 90.0, 4.0, 4.0, -3.0, 50.0])
    np.testing.assert_array_equal(rank_bins(column, 3, counts), [0, 0, 1, 2, 2, 2, 3])
    np.testing.assert_array_equal(rank_bins(column, 6, counts), np.arange(7))
    np.testing.assert_array_equal(rank_bins(sklar.Integer(0, 5), 3, counts), [0, 0, 1, 1, 2, 2])


def test_many_labels_keep_what_sets_them_apart() -> None:
    """60 codes, each with its own share of women and its own mean age, as far as the counts bear it."""
    rng = np.random.default_rng(3)
    share, level, code = rng.uniform(0.05, 0.95, 60), rng.permutation(60), rng.integers(0, 60, 20_000)
    data = pd.DataFrame(
        {
            "code": np.char.add("c", code.astype(str)),
            "sex": np.where(rng.random(20_000) < share[code], "F", "M"),
            "age": np.clip(rng.normal(20 + level[code], 5), 0, 99).astype(int),
        }
    )
    codes = [f"c{i}" for i in range(60)]
    columns = {"code": sklar.Category(codes), "sex": sklar.Category(["F", "M"]), "age": sklar.Integer(0, 99)}
    rows = (
        sklar.fit(data, sklar.Schema(columns), method="vine", epsilon=10.0, delta=1e-9)
        .sample(20_000, seed=1)
        .to_pandas()
    )
    found = rows.assign(woman=rows.sex == "F").groupby("code")[["woman", "age"]].mean().reindex(codes)
    # Of 16 groups it was .79 and .70; now it is .993 and .9995, where the last digit varies.
    assert np.corrcoef(found["woman"], share)[0, 1] > 0.95 and np.corrcoef(found["age"], level)[0, 1] > 0.95
