"""Datetimes of a declared zone: read from every form that carries a zone, and written with it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import sklar
from sklar.export.arrow import to_arrow
from sklar.export.write import write_table
from sklar.rows.encode import encoder_of
from sklar.sample.decode import decode_column
from sklar.sample.rng import generator
from sklar.schema.grid import to_ticks

VIENNA = sklar.Datetime(
    "2024-01-01T00:00", "2024-12-31T23:59", resolution="minute", zone="Europe/Vienna", bins=1_000_000
)
WINTER, SUMMER = datetime(2024, 1, 5, 0, 30), datetime(2024, 7, 5, 0, 30)
"""What the clock in Vienna shows; in UTC both are of the day before."""


def _codes(array: pa.Array, column: sklar.Datetime = VIENNA) -> list[int]:
    return encoder_of(column)(array).tolist()


EXPECTED = [to_ticks(m.isoformat(), "minute") - to_ticks(VIENNA.lower, "minute") for m in (WINTER, SUMMER)]


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["2024-01-05T00:30", "2024-07-05 00:30:00"]),
        pa.array(["2024-01-04T23:30Z", "2024-07-04T22:30:00+00:00"]),
        pa.array(["2024-01-05T00:30+01:00", "2024-07-04T18:30-0400"]),
        pa.array([m.replace(tzinfo=ZoneInfo("Europe/Vienna")) for m in (WINTER, SUMMER)]),
        pa.array([m.replace(tzinfo=ZoneInfo("Europe/Vienna")) for m in (WINTER, SUMMER)]).cast(
            pa.timestamp("ns", "Asia/Tokyo")
        ),
        pa.array([WINTER, SUMMER]),
    ],
    ids=["plain text", "UTC text", "offsets", "Vienna", "Tokyo", "no zone"],
)
def test_a_moment_is_what_the_clock_of_the_zone_shows(array: pa.Array) -> None:
    assert _codes(array) == EXPECTED


def test_texts_in_a_format_with_a_zone() -> None:
    column = sklar.Datetime(
        VIENNA.lower,
        VIENNA.upper,
        resolution="minute",
        zone="Europe/Vienna",
        format="%d.%m.%Y %H:%M %z",
        bins=1_000_000,
    )
    assert _codes(pa.array(["04.01.2024 23:30 +0000", "04.07.2024 22:30 +0000"]), column) == EXPECTED


def test_without_a_zone_moments_are_taken_to_utc_as_ever() -> None:
    plain = sklar.Datetime(VIENNA.lower, VIENNA.upper, resolution="minute", bins=1_000_000)
    read = _codes(pa.array(["2024-01-05T00:30+01:00", "2024-07-05T00:30+02:00"]), plain)
    assert read == [EXPECTED[0] - 60, EXPECTED[1] - 120]


def test_a_sample_carries_the_zone_and_reads_back(tmp_path: Path) -> None:
    schema = sklar.Schema({"t": VIENNA})
    codes = encoder_of(VIENNA)(pa.array([WINTER, SUMMER]))
    table = to_arrow(schema, {"t": decode_column(VIENNA, codes, generator(1))})
    assert table.schema.field("t").type == pa.timestamp("s", "Europe/Vienna")
    assert [m.replace(tzinfo=None) for m in table["t"].to_pylist()] == [WINTER, SUMMER]
    write_table(table, tmp_path / "t.csv", schema)
    assert (tmp_path / "t.csv").read_text().splitlines() == [
        "t", "2024-01-05T00:30:00+01:00", "2024-07-05T00:30:00+02:00",
    ]  # fmt: skip
    write_table(table, tmp_path / "t.parquet", schema)
    texts = pa_csv.read_csv(tmp_path / "t.csv", convert_options=pa_csv.ConvertOptions(column_types={"t": pa.string()}))
    assert _codes(texts["t"]) == _codes(pq.read_table(tmp_path / "t.parquet")["t"]) == EXPECTED


def test_the_schema_file_keeps_zone_and_calendar(tmp_path: Path) -> None:
    for parts in (["month"], [], None):
        column = sklar.Datetime("2019-01-01", "2023-12-31", zone="America/Lima", calendar=parts)
        sklar.Schema({"day": column}).write(tmp_path / "s.toml")
        assert sklar.Schema.read(tmp_path / "s.toml")["day"] == column


@pytest.mark.parametrize(
    ("facts", "fault"),
    [
        ({"zone": "Europe/Nowhere"}, "zone must be the name of a time zone"),
        ({"calendar": ["minute"]}, "calendar must list parts among month, weekday, hour"),
        ({"calendar": ["month", "month"]}, "calendar must list parts"),
        ({"calendar": "month"}, "calendar must list parts"),
    ],
)
def test_faults_are_named(facts: dict[str, object], fault: str) -> None:
    with pytest.raises(sklar.errors.SchemaError, match=fault):
        sklar.Schema({"day": sklar.Datetime("2019-01-01", "2023-12-31", **facts)})  # type: ignore[arg-type]


def test_a_draft_keeps_the_zone_of_a_typed_column() -> None:
    times = [datetime(2024, 1 + k % 12, 1 + k % 28, 8 + k % 9, 15, tzinfo=ZoneInfo("Asia/Kolkata")) for k in range(400)]
    drafted = sklar.draft_schema(pa.table({"seen": pa.array(times), "x": list(range(400))}))["seen"]
    assert isinstance(drafted, sklar.Datetime)
    assert drafted.zone == "Asia/Kolkata"
    assert drafted.provenance("zone") == "from-rows"
