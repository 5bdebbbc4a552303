"""Dates and times to cells: text, dates and timestamps of every unit agree with Python's datetime."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklar.rows.encode import encoder_of
from sklar.schema import Datetime
from sklar.schema.grid import EPOCH, RESOLUTIONS

COLUMNS = (
    Datetime("1990-01-01", "2030-12-31"),
    Datetime("1990-01-01", "2030-12-31", nullable=True, resolution="hour"),
    Datetime("2000-01-01T00:00:00", "2020-06-30T12:00:00", bins=1000),
    Datetime("0001-01-01", "9999-12-31", resolution="microsecond", missing_value="2000-01-01"),
)
moments = st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30))
zones = st.integers(-23 * 60, 23 * 60).map(lambda m: timezone(timedelta(minutes=m)))


def slow_cell(column: Datetime, moment: datetime | None) -> int:
    if moment is None:
        return (
            column.null_code
            if column.nullable
            else int(column.grid.code([column.tick(column.missing_value or column.lower)])[0])
        )
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    tick = (moment - EPOCH) // timedelta(microseconds=1) // RESOLUTIONS[column.resolution]
    return int(column.grid.code([tick])[0])


@given(
    st.lists(moments | st.tuples(moments, zones).map(lambda p: p[0].replace(tzinfo=p[1])), max_size=15),
    st.sampled_from(COLUMNS),
    st.sampled_from("T "),
)
def test_iso_text(values: list[datetime], column: Datetime, separator: str) -> None:
    texts = [value.isoformat(separator) for value in values]
    assert encoder_of(column)(pa.array(texts, pa.string())).tolist() == [slow_cell(column, v) for v in values]


@given(
    st.text("0123456789-:T .Z+", max_size=22)
    | st.from_regex(
        r"\d{4}-?\d{2}-?\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?(Z|[+-]\d{2}(:?\d{2})?)?", fullmatch=True
    )
)
def test_other_text_is_missing_or_the_moment_python_reads(text: str) -> None:
    column = Datetime("1990-01-01", "2030-12-31", nullable=True)
    (code,) = encoder_of(column)(pa.array([text]))
    try:
        expected = slow_cell(column, datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError):
        expected = column.null_code
    assert code in (expected, column.null_code)


@pytest.mark.parametrize(
    "text",
    [
        "2020-02-30",
        "2019-02-29",
        "20-01-01",
        "2020-13-01",
        "2020-01-01T25:00",
        "2020-01-01x",
        "",
        "NA",
        "2020-1-1",
        "0000-01-01",
        "2020-01-01T10:00:60",
        "2020-01-01T10:00:00.",
        "2020-01-01T10",
        "CANARY",
    ],
)
def test_bad_dates_are_missing(text: str) -> None:
    column = Datetime("1990-01-01", "2030-12-31", nullable=True)
    assert encoder_of(column)(pa.array([text])).tolist() == [column.null_code]


@given(
    st.lists(st.none() | st.datetimes(datetime(1700, 1, 1), datetime(2250, 1, 1)), max_size=15),
    st.sampled_from(COLUMNS),
)
def test_arrow_dates_and_timestamps(values: list[datetime | None], column: Datetime) -> None:
    whole = [None if v is None else v.replace(microsecond=0) for v in values]
    days = [None if v is None else v.replace(hour=0, minute=0, second=0) for v in whole]
    for unit in ("s", "ms", "us", "ns"):
        slow = [slow_cell(column, v) for v in whole]
        assert encoder_of(column)(pa.array(whole, pa.timestamp(unit))).tolist() == slow
        assert encoder_of(column)(pa.array(whole, pa.timestamp(unit, "Asia/Tokyo"))).tolist() == slow
    for kind in (pa.date32(), pa.date64()):
        array = pa.array([None if v is None else v.date() for v in days], kind)
        assert encoder_of(column)(array).tolist() == [slow_cell(column, v) for v in days]


def test_timestamps_far_outside_any_calendar_are_clipped() -> None:
    column = Datetime("1990-01-01", "2030-12-31", resolution="microsecond")
    array = pa.array([-(2**62), 2**62], pa.int64()).cast(pa.timestamp("s"))
    assert encoder_of(column)(array).tolist() == [0, column.grid.cells - 1]


def test_a_stated_format_is_the_only_one() -> None:
    column = Datetime("1990-01-01", "2030-12-31", format="%d/%m/%Y", nullable=True)
    texts = ["31/12/1999", "1999-12-31", "12/31/1999", None, "n/k", " 01/01/2000 "]
    expected = [
        slow_cell(column, datetime(1999, 12, 31)),
        *[column.null_code] * 4,
        slow_cell(column, datetime(2000, 1, 1)),
    ]
    for array in (
        pa.array(texts),
        pa.array(texts, pa.string_view()),
        pa.array(texts).dictionary_encode(),
        pa.array(texts).cast(pa.binary()),
    ):
        assert encoder_of(column)(array).tolist() == expected
    zoned = Datetime("1990-01-01T00:00:00", "2030-12-31T00:00:00", format="%Y-%m-%d %H:%M %z")
    assert encoder_of(zoned)(pa.array(["2020-01-01 00:00 +0200"])).tolist() == [
        slow_cell(zoned, datetime(2019, 12, 31, 22))
    ]
    years = Datetime("1990-01-01", "2030-12-31", format="%Y")
    assert encoder_of(years)(pa.array([2005, 1980])).tolist() == [slow_cell(years, datetime(2005, 1, 1)), 0]


def test_bytes_that_are_no_text_are_missing() -> None:
    array = pa.array([b"\xff\xfe", b"2020-01-01", None])
    for form in (None, "%Y-%m-%d"):
        column = Datetime("1990-01-01", "2030-12-31", format=form, nullable=True)
        assert encoder_of(column, ("2020-01-02",))(array).tolist() == [
            column.null_code,
            slow_cell(column, datetime(2020, 1, 1)),
            column.null_code,
        ]
