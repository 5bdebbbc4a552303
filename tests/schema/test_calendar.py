"""The calendar of a datetime: parts come back from moments that were put together from them."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest

from sklar.errors import SchemaError
from sklar.schema import Datetime, Schema
from sklar.schema.calendar import Calendar, choose_calendar
from sklar.schema.grid import EPOCH, RESOLUTIONS, to_ticks

SPANS = [
    ("2019-01-01T00:00", "2023-12-31T23:59", "minute", "year", ("month", "weekday", "hour")),
    ("2018-11-17T07:30", "2024-02-29T18:15", "second", "year", ("month", "weekday", "hour")),
    ("1961-03-02", "1969-07-20", "day", "year", ("month", "weekday")),
    ("2021-05-10", "2022-06-01", "day", "month", ("weekday",)),
    ("2021-05-10T00:00", "2022-06-01T23:00", "hour", "month", ("weekday", "hour")),
    ("2024-01-30T11:00", "2024-03-02T09:00", "minute", "day", ("hour",)),
]


def _calendar(lower: str, upper: str, resolution: str) -> Calendar:
    found = choose_calendar(to_ticks(lower, resolution), to_ticks(upper, resolution), resolution, None)
    assert found is not None
    return found


@pytest.mark.parametrize(("lower", "upper", "resolution", "line", "parts"), SPANS)
def test_bounds_and_resolution_tell_the_parts(
    lower: str, upper: str, resolution: str, line: str, parts: tuple[str, ...]
) -> None:
    calendar = _calendar(lower, upper, resolution)
    assert (calendar.line, calendar.parts) == (line, parts)


def test_a_line_that_tells_everything_has_no_parts() -> None:
    def found(lower: str, upper: str) -> Calendar | None:
        return choose_calendar(to_ticks(lower, "day"), to_ticks(upper, "day"), "day", None)

    assert found("2024-01-01", "2024-01-01") is None
    assert found("2024-01-01", "2024-02-20") is None
    assert found("1920-01-01", "2006-12-31") is None  # dates of birth
    births = choose_calendar(to_ticks("1920-01-01", "day"), to_ticks("2006-12-31", "day"), "day", ("weekday",))
    assert births is not None
    assert births.parts == ("weekday",)


@pytest.mark.parametrize(("lower", "upper", "resolution"), [span[:3] for span in SPANS])
def test_parts_are_those_of_the_standard_library(lower: str, upper: str, resolution: str) -> None:
    calendar = _calendar(lower, upper, resolution)
    ticks = np.linspace(calendar.lower, calendar.upper, 997).astype(np.int64)
    apart = calendar.take_apart(ticks)
    for i, tick in enumerate(ticks.tolist()):
        moment: datetime = EPOCH + timedelta(microseconds=tick * RESOLUTIONS[resolution])
        parts = {"month": moment.month, "weekday": moment.isoweekday(), "hour": moment.hour}
        assert {part: apart[part][i] for part in calendar.parts} == {part: parts[part] for part in calendar.parts}
    assert (apart["line"].min(), apart["line"].max()) == calendar.ends["line"]
    if calendar.line == "year":
        assert calendar.ends["line"][0] == int(lower[:4])


@pytest.mark.parametrize(("lower", "upper", "resolution"), [span[:3] for span in SPANS])
def test_moments_put_together_agree_with_all_their_parts(lower: str, upper: str, resolution: str) -> None:
    calendar, rng = _calendar(lower, upper, resolution), np.random.default_rng(3)
    apart = calendar.take_apart(rng.integers(calendar.lower, calendar.upper, 20_000, endpoint=True))
    moments = calendar.put_together(apart, (rng.random(20_000), rng.random(20_000)))
    assert calendar.lower <= moments.min() <= moments.max() <= calendar.upper
    again = calendar.take_apart(moments)
    for name, wanted in apart.items():
        np.testing.assert_array_equal(again[name], wanted)


@pytest.mark.parametrize(("lower", "upper", "resolution"), [span[:3] for span in SPANS])
def test_parts_that_no_moment_has_stay_inside_the_bounds(lower: str, upper: str, resolution: str) -> None:
    calendar, rng = _calendar(lower, upper, resolution), np.random.default_rng(4)
    parts = {name: rng.integers(*ends, 20_000, endpoint=True) for name, ends in calendar.ends.items()}
    moments = calendar.put_together(parts, (rng.random(20_000), rng.random(20_000)))
    assert calendar.lower <= moments.min() <= moments.max() <= calendar.upper
    if "month" in calendar.parts:  # the year gives way, not the month
        np.testing.assert_array_equal(calendar.take_apart(moments)["month"], parts["month"])


def test_days_that_agree_are_equally_likely() -> None:
    calendar, rng = _calendar("2019-01-01", "2023-12-31", "day"), np.random.default_rng(5)
    rows = 60_000
    parts = {"line": np.full(rows, 2020), "month": np.full(rows, 5), "weekday": np.full(rows, 6)}
    days, counts = np.unique(calendar.put_together(parts, (rng.random(rows), rng.random(rows))), return_counts=True)
    saturdays = [to_ticks(f"2020-05-{day:02}", "day") for day in (2, 9, 16, 23, 30)]
    assert days.tolist() == saturdays
    assert np.abs(counts - rows / 5).max() < 6 * np.sqrt(rows / 5)


@pytest.mark.parametrize("part", ["month", "weekday", "hour"])
@pytest.mark.parametrize(
    ("lower", "upper"), [("2020-03-01", "2020-03-01"), ("2020-03-01T05:00:00", "2020-03-01T05:59:59")]
)
def test_a_calendar_of_one_day_or_one_hour_is_refused(lower: str, upper: str, part: str):
    with pytest.raises(SchemaError, match="column 'seen': calendar lists parts that follow from its bounds"):
        Schema({"seen": Datetime(lower, upper, calendar=[part])})
