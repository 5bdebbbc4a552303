"""NIST's k-marginal score agrees with a plain one, and the share of real rows with parts of known size."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sklar
from benchmarks import nist
from sklar.lab.metrics.k_marginal import _share_at, k_marginal, pair_distance, real_rows_share
from sklar.lab.tables.reading import read_table
from sklar.lab.tables.table import ExactTable

SCHEMA = sklar.Schema({
    "AGEP": sklar.Integer(0, 99), "NOC": sklar.Integer(0, 19, nullable=True), "SEX": sklar.Category(["1", "2"]),
    "PINCP": sklar.Integer(-9_000, 1_341_000, nullable=True), "PUMA": sklar.Category(["a", "b", "c"]),
})  # fmt: skip


def survey(seed: int, rows: int) -> pd.DataFrame:
    """Text, as NIST's excerpts have it."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 99, rows)
    income = np.where(age < 15, "N", (rng.lognormal(10, 1, rows) // 100 * 100).astype(int).astype(str))
    children = np.where(rng.random(rows) < 0.3, "N", rng.integers(0, 6, rows).astype(str))
    return pd.DataFrame({
        "AGEP": age.astype(str), "NOC": children, "SEX": rng.choice(["1", "2"], rows), "PINCP": income,
        "PUMA": rng.choice(["a", "b", "c"], rows),
    })  # fmt: skip


def read(frame: pd.DataFrame) -> ExactTable:
    return read_table(nist.to_types(frame), SCHEMA, np.random.default_rng(0), role="real")


@pytest.mark.parametrize("seed", [0, 1])
def test_it_is_the_plain_score_of_the_texts_with_and_without_areas(seed: int) -> None:
    real, made = survey(seed, 900), survey(seed + 10, 700)
    found = pair_distance(read(real), read(made), "PUMA")
    assert found is not None and 1000 * (1 - found) == pytest.approx(nist.k_marginal(real, made), abs=1e-9)
    few = [name for name in real if name != "PUMA"]
    plain = sklar.Schema({name: SCHEMA[name] for name in few})
    pair = [read_table(nist.to_types(one[few]), plain, np.random.default_rng(0), role="real") for one in (real, made)]
    assert k_marginal(*pair).value == pytest.approx(nist.k_marginal(real[few], made[few]), abs=1e-9)


def test_equal_tables_have_1000_and_one_column_has_none() -> None:
    table = read(survey(0, 300))
    assert k_marginal(table, table).value == 1000
    alone = read_table(
        {"x": [1, 2, 3]}, sklar.Schema({"x": sklar.Integer(0, 9)}), np.random.default_rng(0), role="real"
    )
    assert (
        k_marginal(alone, alone).value is None and real_rows_share(alone, alone, np.random.default_rng(0)).value is None
    )


@pytest.mark.parametrize("share", [0.05, 0.25, 0.6])
def test_a_part_is_as_close_as_its_share(share: float) -> None:
    real = read(survey(0, 6000))
    part = real.sample(round(share * real.rows), np.random.default_rng(5))
    found = real_rows_share(real, part, np.random.default_rng(1)).value
    assert found == pytest.approx(share, rel=0.15)


def test_a_fresh_sample_is_as_close_as_a_third_and_another_population_is_not() -> None:
    real = read(survey(0, 6000))
    assert real_rows_share(real, read(survey(1, 6000)), np.random.default_rng(1)).value == pytest.approx(
        1 / 3, abs=0.05
    )
    other = survey(1, 6000).assign(SEX="1")
    poor = real_rows_share(real, read(other), np.random.default_rng(1))
    assert poor.value is not None and poor.value < 0.05


def test_a_part_with_exactly_the_tables_of_all_rows_has_no_logarithm() -> None:
    found, _ = _share_at(np.array([0.1, 0.5, 0.9]), np.array([0.2, 0.0, 0.05]), 0.1)
    assert 0.1 < found < 0.9
