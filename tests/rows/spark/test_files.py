"""Parquet files behind a Spark frame: read by the tasks where provably the same, refused where a column lacks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sklar.errors import SourceError
from sklar.rows import exact_counts, open_rows
from sklar.rows.spark import footers
from sklar.schema import Boolean, Category, Datetime, Integer, Real, Schema

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning")
SCHEMA = Schema(
    {
        "age": Integer(0, 99, nullable=True),
        "wage": Real(0, 100, bins=16),
        "sex": Category(("F", "M"), nullable=True),
        "member": Boolean(),
        "seen": Datetime("2020-01-01", "2020-12-31"),
        "at": Datetime("2020-01-01", "2020-12-31"),
    }
)
SPECS: list[Any] = [((name,), None) for name in SCHEMA.modelled] + [(("age", "sex"), None), (("wage", "member"), None)]


def people(rows: int, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    sexes = rng.choice(np.array(["F", "M", "X", "", None], dtype=object), rows)
    days = rng.integers(-30, 400, rows)
    return pa.table(
        {
            "age": pa.array(rng.integers(0, 120, rows).astype(np.uint8), mask=rng.random(rows) < 0.1),
            "wage": rng.normal(50, 40, rows).astype(np.float32),
            "sex": pa.array(sexes, pa.string()).dictionary_encode(),
            "member": rng.random(rows) < 0.3,
            "seen": (np.datetime64("2020-01-01", "D") + days.astype("timedelta64[D]")),
            "at": pa.array(np.datetime64("2020-01-01", "ms") + (days * 86_400_000).astype("timedelta64[ms]")),
            "extra": rng.normal(size=rows),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("with space, 100%25 and ä")
    for part, rows in enumerate((1000, 0, 701)):
        pq.write_table(people(rows, part), place / f"{part} %20.parquet", row_group_size=300)
    return place


def counts(rows: Any, specs: list[Any] = SPECS) -> list[Any]:
    try:
        return [found.tolist() for found in exact_counts(rows, specs)]
    finally:
        rows.close()


@pytest.fixture(scope="module")
def expected(folder: Path) -> list[Any]:
    return counts(open_rows(folder, SCHEMA))


def test_files_are_read_by_the_tasks(
    spark: Any, folder: Path, expected: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(footers, "LEAST_BYTES", 1)
    rows = open_rows(spark.read.parquet(str(folder)), SCHEMA)
    assert len(rows._parts) > 3 and rows.exact_rows == 1701
    assert counts(rows) == expected


def test_files_listed_twice_are_read_as_often_as_spark_does(spark: Any, folder: Path) -> None:
    file = str(folder / "0 %20.parquet")
    frame = spark.read.parquet(file, file)
    rows = open_rows(frame, SCHEMA)
    assert rows._parts and rows.exact_rows == frame.count()
    rows.close()


CHANGES = {
    "filtered": lambda frame: frame.where("age < 50"),
    "not null": lambda frame: frame.where("age is not null"),
    "limited": lambda frame: frame.limit(100),
    "sampled": lambda frame: frame.sample(0.5, seed=1),
    "worked out": lambda frame: frame.withColumn("wage", frame["wage"] * 2),
    "swapped": lambda frame: frame.selectExpr("age AS extra", "extra AS age", "wage", "sex", "member", "seen", "at"),
    "twice": lambda frame: frame.union(frame),
    "distinct": lambda frame: frame.select("sex", "age", "wage", "member", "seen", "at").distinct(),
    "with zone": lambda frame: frame.withColumn("at", frame["at"].cast("timestamp")),
    "joined": lambda frame: frame.join(frame.select("age").where("age < 9").distinct(), "age"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_frames_that_are_more_than_files_are_read_by_spark(change: str, spark: Any, folder: Path) -> None:
    frame = CHANGES[change](spark.read.parquet(str(folder)))
    rows = open_rows(frame, SCHEMA)
    assert not rows._parts
    rows.close()


def test_both_ways_give_the_same(spark: Any, folder: Path, expected: list[Any]) -> None:
    frame = spark.read.parquet(str(folder))
    assert counts(open_rows(frame.where("extra is not null"), SCHEMA)) == expected
    cut = frame.where("age < 50")
    assert counts(open_rows(cut, SCHEMA), [((), None)]) == [cut.count()]


@pytest.mark.parametrize(
    ("name", "value"),
    [("spark.sql.files.ignoreCorruptFiles", "true"), ("spark.sql.parquet.datetimeRebaseModeInRead", "LEGACY")],
)
def test_settings_that_change_what_is_read_leave_it_to_spark(name: str, value: str, spark: Any, folder: Path) -> None:
    before = spark.conf.get(name)
    spark.conf.set(name, value)
    try:
        assert not open_rows(spark.read.parquet(str(folder)), SCHEMA)._parts
    finally:
        spark.conf.set(name, before)
    asked = spark.read.option("datetimeRebaseMode", "LEGACY").parquet(str(folder))
    assert not open_rows(asked, SCHEMA)._parts


def test_types_that_mean_something_else_are_left_to_spark(spark: Any, tmp_path: Path) -> None:
    table = people(50)
    pq.write_table(table, tmp_path / "0.parquet", use_deprecated_int96_timestamps=True)
    assert not open_rows(spark.read.parquet(str(tmp_path)), SCHEMA)._parts
    pq.write_table(table.replace_schema_metadata({"org.apache.spark.legacyDateTime": ""}), tmp_path / "0.parquet")
    assert not open_rows(spark.read.parquet(str(tmp_path)), SCHEMA)._parts


def test_columns_made_of_folders_are_left_to_spark(spark: Any, tmp_path: Path) -> None:
    for age in (20, 30):
        (tmp_path / f"age={age}").mkdir()
        pq.write_table(people(50).drop_columns("age"), tmp_path / f"age={age}" / "0.parquet")
    rows = open_rows(spark.read.parquet(str(tmp_path)), SCHEMA)
    ages = np.zeros(101, dtype=int)
    ages[[20, 30]] = 50
    assert not rows._parts and counts(rows, [(("age",), None)]) == [ages.tolist()]


def test_a_file_without_a_column_is_refused(spark: Any, tmp_path: Path) -> None:
    pq.write_table(people(50), tmp_path / "0.parquet")
    pq.write_table(people(50).drop_columns("member"), tmp_path / "1.parquet")
    frame = spark.read.parquet(str(tmp_path))
    for wanted in (frame, frame.where("age > 10"), frame.repartition(3)):
        with pytest.raises(SourceError, match=r"1\.parquet lacks column 'member'"):
            open_rows(wanted, SCHEMA)
    with pytest.raises(SourceError, match=r"1\.parquet lacks column 'member'"):
        open_rows(tmp_path, SCHEMA, spark="local[2,4]")
    smaller = Schema({"age": Integer(0, 99, nullable=True)})
    assert open_rows(frame, smaller).exact_rows == 100  # a column nobody needs may lack


def test_nulls_may_be_asked_for(spark: Any, tmp_path: Path) -> None:
    pq.write_table(people(50), tmp_path / "0.parquet")
    pq.write_table(people(40).drop_columns("sex"), tmp_path / "1.parquet")
    rows = open_rows(spark.read.option("mergeSchema", "true").parquet(str(tmp_path)), SCHEMA)
    assert not rows._parts
    assert counts(rows, [(("sex",), None)])[0][-1] >= 40


def test_a_file_that_changes_is_noticed(spark: Any, tmp_path: Path) -> None:
    pq.write_table(people(50), tmp_path / "0.parquet")
    rows = open_rows(spark.read.parquet(str(tmp_path)), SCHEMA)
    assert rows._parts
    os.utime(tmp_path / "0.parquet", ns=(1, 1))
    with pytest.raises(SourceError, match="changed while it was being read"):
        rows.keep_codes()
    rows.close()


def test_a_damaged_row_group_is_named_and_not_quoted(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "0.parquet"
    pq.write_table(people(5000), path, row_group_size=1000, compression="zstd")
    place = pq.read_metadata(path).row_group(2).column(0).data_page_offset
    content = bytearray(path.read_bytes())
    content[place : place + 400] = bytes(400)
    path.write_bytes(content)
    rows = open_rows(spark.read.parquet(str(tmp_path)), SCHEMA)
    assert rows._parts
    with pytest.raises(SourceError, match=r"the Parquet file 0\.parquet could not be read to its end"):
        rows.keep_codes()
    rows.close()


@pytest.mark.parametrize("cores", [1, 3, 50])
@pytest.mark.parametrize("least", [1, 3000, 1 << 30])
def test_parts_hold_every_row_group_once(cores: int, least: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(footers, "LEAST_BYTES", least)
    found = footers._footers([str(path) for path in sorted(folder.iterdir())])
    assert found is not None
    parts = footers._shared_out(found, cores)
    pieces = [(piece.stamp.path, group) for part in parts for piece in part for group in piece.groups]
    assert pieces == [(footer.stamp.path, at) for footer in found for at in range(len(footer.groups))]
    assert sum(piece.rows for part in parts for piece in part) == 1701
    assert least < 1 << 30 or len(parts) == 1
