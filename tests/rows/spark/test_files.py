"""A path given with a master: the tasks read it with the readers of a local fit, row group by row group."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from sklar.errors import SourceError
from sklar.rows import exact_counts, open_rows
from sklar.rows.sources import open_source
from sklar.rows.sources.source import SourceOptions
from sklar.rows.spark import parts as spark_parts
from sklar.rows.spark.parts import read_part, shared_out
from sklar.rows.spark.rows import _local_path
from sklar.schema import Boolean, Category, Datetime, Integer, Real, Schema

pytestmark = pytest.mark.slow

MASTER = "local[2,4]"
SCHEMA = Schema(
    {
        "age": Integer(0, 99, nullable=True),
        "wage": Real(0, 100, bins=16),
        "sex": Category(("F", "M"), nullable=True),
        "member": Boolean(),
        "seen": Datetime("2020-01-01", "2020-12-31", calendar=[]),
        "at": Datetime("2020-01-01", "2020-12-31", calendar=[]),
        "paid": Real(0, 100, bins=20),
        "share": Integer(0, 100),
        "grade": Category(("1.50", "2.25")),
    }
)
SPECS: list[Any] = [((name,), None) for name in SCHEMA.modelled] + [(("age", "sex"), None), (("wage", "member"), None)]


def people(rows: int, seed: int = 1, zone: str | None = None) -> pa.Table:
    """Every type that a column may come in; moments near midnight, where another clock shows another day."""
    rng = np.random.default_rng(seed)
    sexes = rng.choice(np.array(["F", "M", "X", "", None], dtype=object), rows)
    days = rng.integers(-30, 400, rows)
    moments = np.datetime64("2020-01-01T23:30", "us") + (days * 86_400_000_000).astype("timedelta64[us]")
    cents = [Decimal(int(cent)).scaleb(-2) for cent in rng.integers(-500, 12_000, rows)]
    grades = rng.choice(np.array([Decimal("1.50"), Decimal("2.25"), Decimal("3.00")], dtype=object), rows)
    return pa.table(
        {
            "age": pa.array(rng.integers(0, 120, rows).astype(np.uint8), mask=rng.random(rows) < 0.1),
            "wage": rng.normal(50, 40, rows).astype(np.float32),
            "sex": pa.array(sexes, pa.string()).dictionary_encode(),
            "member": rng.random(rows) < 0.3,
            "seen": (np.datetime64("2020-01-01", "D") + days.astype("timedelta64[D]")),
            "at": pa.array(moments, pa.timestamp("us", zone)),
            "paid": pa.array(cents, pa.decimal128(9, 2)),
            "share": pa.array(cents, pa.decimal128(30, 5)),
            "grade": pa.array(grades, pa.decimal128(5, 2)),
            "extra": rng.normal(size=rows),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of both kinds, one without rows, below a name that would be another one in an address."""
    place = tmp_path_factory.mktemp("with space, 100%25 and ä")
    for part, rows in enumerate((1000, 0, 701)):
        pq.write_table(people(rows, part), place / f"{part} %20.parquet", row_group_size=300)
    (place / "below").mkdir()
    feather.write_feather(people(99, 7), place / "below" / "3.feather")
    people(50, 8).to_pandas().to_csv(place / "4.csv", index=False)
    return place


def counts(rows: Any, specs: list[Any] = SPECS) -> list[Any]:
    try:
        return [found.tolist() for found in exact_counts(rows, specs)]
    finally:
        rows.close()


@pytest.fixture(scope="module")
def expected(folder: Path) -> list[Any]:
    return counts(open_rows(folder, SCHEMA))


def test_a_path_gives_the_integers_of_a_local_fit(
    spark: Any, folder: Path, expected: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_parts, "MIN_PART_BYTES", 1)
    rows = open_rows(f"file://{folder}".replace("%", "%25").replace(" ", "%20"), SCHEMA, spark=MASTER)
    assert rows.exact_rows == 1850 and rows._partitions > 5  # type: ignore[attr-defined]
    assert counts(rows) == expected


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_a_frame_gives_the_integers_of_a_local_fit_at_the_same_clock(
    spark: Any, zone: str | None, tmp_path: Path
) -> None:
    pq.write_table(people(500, zone=zone), tmp_path / "0.parquet")
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        frame = spark.read.parquet(str(tmp_path))
        kinds = dict(frame.dtypes)
        assert (kinds["at"], kinds["paid"]) == ("timestamp" if zone else "timestamp_ntz", "decimal(9,2)")
        assert counts(open_rows(frame, SCHEMA)) == counts(open_rows(tmp_path, SCHEMA))
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_text_is_read_as_a_local_fit_reads_it(spark: Any, tmp_path: Path) -> None:
    schema = Schema({"a": Category(("01", "1", "x\ny", 'say "hi"')), "b": Integer(0, 9, nullable=True)})
    (tmp_path / "0.csv").write_text('a;b\n01;1\n1;1e0\n"x\ny";7\n"say ""hi""";8\n')
    (tmp_path / "1.csv").write_text("b;extra;a\n2;CANARY;1\n", encoding="utf-16")
    settings: dict[str, Any] = {"delimiter": ";", "null_values": ["8"]}
    specs: list[Any] = [(("a",), None), (("b",), None)]
    there, here = (counts(open_rows(tmp_path, schema, **settings, spark=s), specs) for s in (MASTER, None))
    assert there == here == [[1, 2, 1, 1, 0], [0, 2, 1, 0, 0, 0, 0, 1, 0, 0, 1]]


def test_a_file_without_a_column_is_refused_by_name(spark: Any, tmp_path: Path) -> None:
    pq.write_table(people(50), tmp_path / "0.parquet")
    pq.write_table(people(50).drop_columns("member"), tmp_path / "1.parquet")
    with pytest.raises(SourceError, match=r"1\.parquet lacks column 'member'"):
        open_rows(tmp_path, SCHEMA, spark=MASTER)
    smaller = open_rows(tmp_path, Schema({"age": Integer(0, 99, nullable=True)}), spark=MASTER)
    assert smaller.exact_rows == 100  # a column nobody needs may lack


def test_files_that_change_come_or_go_are_noticed(spark: Any, tmp_path: Path) -> None:
    pq.write_table(people(50), tmp_path / "0.parquet")
    rows = open_rows(tmp_path, SCHEMA, spark=MASTER)
    pq.write_table(people(50), tmp_path / "1.parquet")
    with pytest.raises(SourceError, match="files came to or left"):
        rows.keep_codes()
    rows = open_rows(tmp_path, SCHEMA, spark=MASTER)
    os.utime(tmp_path / "0.parquet", ns=(1, 1))
    with pytest.raises(SourceError, match="changed while it was being read"):
        rows.keep_codes()


def test_a_task_refuses_a_file_that_is_not_the_one_the_driver_saw(tmp_path: Path) -> None:
    path, options = tmp_path / "0.parquet", SourceOptions(schema=SCHEMA)
    pq.write_table(people(50), path)
    (part,) = shared_out(open_source(str(path), schema=options.schema, read=options), 1)
    assert sum(batch.num_rows for batch in read_part(part, ("age",), options)) == 50
    reading = read_part(part, ("age",), options)
    next(reading)
    os.utime(path, ns=(1, 1))
    with pytest.raises(SourceError, match="changed while it was being read"):
        list(reading)
    path.unlink()
    with pytest.raises(SourceError, match="every machine of the cluster can read"):
        next(read_part(part, ("age",), options))


def test_rows_that_are_not_those_of_the_footer_are_refused(tmp_path: Path) -> None:
    from dataclasses import replace

    options = SourceOptions(schema=SCHEMA)
    pq.write_table(people(50), tmp_path / "0.parquet")
    ((piece,),) = shared_out(open_source(str(tmp_path), schema=options.schema, read=options), 1)
    with pytest.raises(SourceError, match=r"the Parquet file 0\.parquet does not have the number of rows"):
        list(read_part((replace(piece, rows=49),), ("age",), options))


def test_a_damaged_row_group_is_named_and_not_quoted(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "0.parquet"
    pq.write_table(people(5000), path, row_group_size=1000, compression="zstd")
    place = pq.read_metadata(path).row_group(2).column(0).data_page_offset
    content = bytearray(path.read_bytes())
    content[place : place + 400] = bytes(400)
    path.write_bytes(content)
    rows = open_rows(tmp_path, SCHEMA, spark=MASTER)
    with pytest.raises(SourceError, match=r"the Parquet file 0\.parquet could not be read to its end"):
        rows.keep_codes()
    rows.close()


@pytest.mark.parametrize("cores", [1, 3, 50])
@pytest.mark.parametrize("least", [1, 3000, 1 << 30])
def test_parts_hold_every_row_group_once(cores: int, least: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_parts, "MIN_PART_BYTES", least)
    source = open_source(str(folder), schema=SCHEMA)
    parts = shared_out(source, cores)
    pieces = [(piece.stamp.path, group) for part in parts for piece in part for group in piece.groups or (None,)]
    groups = {stamp.path: range(pq.read_metadata(stamp.path).num_row_groups) if "%20" in stamp.path else (None,)
              for stamp in source.stamps}  # fmt: skip
    assert pieces == [(path, at) for path, found in groups.items() for at in found]
    assert sum(piece.rows or 0 for part in parts for piece in part) == 1701
    assert least < 1 << 30 or len(parts) == 1


def test_what_is_a_path_and_what_only_spark_can_reach() -> None:
    assert _local_path("a b/100%25.csv") == "a b/100%25.csv"
    assert _local_path("file:///a%20b/c.parquet") == "/a b/c.parquet"
    assert _local_path("s3a://bucket/c.parquet") is None
    assert _local_path("hdfs://host:9000/c") is None
