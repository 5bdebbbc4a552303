"""The binary table as an output: names in the words of conditions, the model's margins, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import sklar
from sklar.cli.main import app
from sklar.errors import UsageError

FACTS = sklar.Schema(
    {
        "race": sklar.Category(["White", "Black", "Asian"], nullable=True),
        "age": sklar.Integer(16, 95),
        "income": sklar.Real(0, 100, bins=4),
        "grade": sklar.Ordinal(["low", "mid", "high"]),
        "smoker": sklar.Boolean(),
        "since": sklar.Datetime("2020-01-01", "2020-01-08"),
    }
)
NAMES = [
    "race=White", "race=Black", "race=Asian", "race=other", "race=null",
    "age=16..35", "age=36..55", "age=56..75", "age=76..95",
    "income=0..25", "income=25..50", "income=50..100", "income=100",
    "grade=low", "grade=mid", "grade=high", "grade=other",
    "smoker=false", "smoker=true",
    "since=2020-01-01..2020-01-02", "since=2020-01-03..2020-01-04",
    "since=2020-01-05..2020-01-06", "since=2020-01-07..2020-01-08",
]  # fmt: skip


def people(rows: int = 4_000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    race = rng.choice(["White", "Black", "Asian"], rows, p=[0.7, 0.2, 0.1])
    return pd.DataFrame(
        {
            "race": race, "age": rng.integers(16, 96, rows), "income": rng.uniform(0, 100, rows),
            "grade": rng.choice(["low", "mid", "high"], rows), "smoker": rng.random(rows) < 0.3,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 8, rows), unit="D"),
        }
    )  # fmt: skip


@pytest.fixture(scope="module")
def model() -> sklar.Model:
    return sklar.fit(people(), FACTS, method="cop", no_guarantee=True, bins=4)


def test_names_are_values_ranges_and_null(model: sklar.Model) -> None:
    table = model.sample(3_000, seed=1, binary=True)
    assert table.column_names == NAMES
    assert set(table.schema.types) == {pa.uint8()}
    assert any(b"NO DP GUARANTEE" in said for said in (table.schema.metadata or {}).values())
    bits = table.to_pandas()
    assert set(np.unique(bits)) == {0, 1}
    # A share of 3,000 rows has a standard deviation below 0.0092: 0.06 is six and more, a false alarm below 1e-8.
    for name, share in (("race=White", 0.7), ("race=Asian", 0.1), ("smoker=true", 0.3), ("grade=mid", 1 / 3)):
        assert bits[name].mean() == pytest.approx(share, abs=0.06)
    assert (bits["smoker=true"] + bits["smoker=false"] == 1).all()
    assert (bits[NAMES[13:17]].sum(axis=1) != 1).any()


def test_seeds_files_and_the_command_give_the_same_rows(model: sklar.Model, tmp_path: Path) -> None:
    table = model.sample(700, seed=7, binary=True)
    assert table.equals(model.sample(700, seed=7, binary=True))
    assert not table.equals(model.sample(700, seed=8, binary=True))
    assert model.write_rows(tmp_path / "a.parquet", 700, seed=7, binary=True) == 700
    assert pyarrow.parquet.read_table(tmp_path / "a.parquet").equals(table)
    model.save(tmp_path / "m.sklar")
    words = ["sample", str(tmp_path / "m.sklar"), "-n", "700", "--seed", "7", "--binary", "-o"]
    assert CliRunner().invoke(app, [*words, str(tmp_path / "b.parquet")]).exit_code == 0
    assert pyarrow.parquet.read_table(tmp_path / "b.parquet").equals(table)
    assert CliRunner().invoke(app, [*words, f"{tmp_path}/parts/"]).exit_code == 2


def test_what_has_no_binary_table_is_refused(model: sklar.Model) -> None:
    other = sklar.fit(people(100), FACTS, method="independent", epsilon=1.0)
    with pytest.raises(UsageError, match="dpc"):
        other.sample(5, binary=True)
    with pytest.raises(UsageError, match="conditions"):
        model.sample(5, binary=True, given={"smoker": True})
    clash = sklar.Schema({"a": sklar.Category(["null"], nullable=True), "b": sklar.Boolean()})
    table = pd.DataFrame({"a": ["null"] * 20, "b": [True, False] * 10})
    with pytest.raises(UsageError, match="a=null"):
        sklar.fit(table, clash, method="cop", no_guarantee=True).sample(5, binary=True)
