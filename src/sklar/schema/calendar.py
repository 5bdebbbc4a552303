"""The calendar of a datetime: a line of years or months, month of the year, day of the week and hour of the day.

A datetime is split into parts that are free of each other, so that each can be measured and paired with other columns,
and composed again from drawn parts. The parts of a column follow from its public bounds and resolution, or from its
`calendar`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sklar.arrays import Floats, Ints
from sklar.schema.grid import RESOLUTIONS

Part = Literal["month", "weekday", "hour"]
PARTS: tuple[Part, ...] = ("month", "weekday", "hour")
"""Parts that a column may request, in addition to its line."""
ENDS: dict[str, tuple[int, int]] = {"month": (1, 12), "weekday": (1, 7), "hour": (0, 23)}
"""First and last number of each part; weeks begin on Monday."""
Line = Literal["year", "month", "day"]

DAY_MICROS = RESOLUTIONS["day"]
MONDAY = 3
"""1970-01-01 was a Thursday, so this makes Mondays multiples of seven."""
MAX_LINE_MONTHS = 24
"""Longest line in months; a longer one is in years, with the month of the year as a part."""
MAX_LINE_DAYS = 62
"""Longest line in days; a longer one has the day of the week as a part."""
MAX_EVENT_YEARS = 30
"""Longest range that has calendar parts by default: longer ranges are dates of birth and the like, whose calendar parts
do not repay their budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """The parts of the datetimes of a column.

    Attributes:
        lower: First tick.
        upper: Last tick.
        ticks_per_day: Ticks of the column's resolution per day.
        line: The unit of its line: a year (from the month of the first tick on), a month or a day.
        parts: Its other parts.
    """

    lower: int
    upper: int
    ticks_per_day: int
    line: Line
    parts: tuple[Part, ...]

    @property
    def ends(self) -> dict[str, tuple[int, int]]:
        """First and last number of the line and of each part."""
        line = self._count_line_units(np.array([self.lower, self.upper]) // self.ticks_per_day)
        return {"line": (int(line[0]), int(line[1])), **{part: ENDS[part] for part in self.parts}}

    def take_apart(self, ticks: Ints) -> dict[str, Ints]:
        """Return the line and the parts of each moment.

        A line of years begins with the year of the first moment, one of months or days with zero.
        """
        days = ticks // self.ticks_per_day
        found: dict[str, Ints] = {"line": self._count_line_units(days)}
        if "month" in self.parts:
            found["month"] = _months(days) % 12 + 1
        if "weekday" in self.parts:
            found["weekday"] = _find_weekdays(days)
        if "hour" in self.parts:
            found["hour"] = (ticks - days * self.ticks_per_day) * 24 // self.ticks_per_day
        return found

    def put_together(self, parts: Mapping[str, Ints], u: tuple[Floats, Floats]) -> Ints:
        """Draw datetimes with these parts, uniformly among those that agree with all and lie inside the bounds.

        Where none agrees (a month before the first day, a weekday that a cut month has not), the line is changed.

        Args:
            parts: As `take_apart` gives them.
            u: Uniforms that choose the day, and the time of the day.
        """
        days = self._days(parts, u[0])
        first, last = days * self.ticks_per_day, (days + 1) * self.ticks_per_day - 1
        if "hour" in self.parts:
            hour = self.ticks_per_day // 24
            first = first + parts["hour"] * hour
            last = first + hour - 1
        first, last = np.maximum(first, self.lower), np.minimum(last, self.upper)
        within = np.maximum(last - first + 1, 1)
        moments = first + np.minimum((u[1] * within).astype(np.int64), within - 1)
        return np.clip(moments, self.lower, self.upper)

    def _count_line_units(self, days: Ints) -> Ints:
        first = np.array([self.lower // self.ticks_per_day])
        if self.line == "day":
            return days - first
        months = _months(days) - _months(first)
        return months // 12 + _months(first) // 12 + 1970 if self.line == "year" else months

    def _days(self, parts: Mapping[str, Ints], u: Floats) -> Ints:
        """Draw one of the days that agree with line, month and weekday, all with equal probability."""
        low, high = self._bounds(parts)
        first, last = self._span(parts, low, high)
        if "weekday" not in self.parts:
            return first + np.minimum((u * (last - first + 1)).astype(np.int64), last - first)
        wanted = parts["weekday"]
        first = first + (wanted - _find_weekdays(first)) % 7
        weeks = np.maximum((last - first) // 7 + 1, 1)
        days = first + 7 * np.minimum((u * weeks).astype(np.int64), weeks - 1)
        return np.where(days > high, days - 7, days)

    def _bounds(self, parts: Mapping[str, Ints]) -> tuple[Ints, Ints]:
        """Return the first and last day that have the hour of each row."""
        ends = np.array([self.lower, self.upper])
        days = ends // self.ticks_per_day
        hours = (ends - days * self.ticks_per_day) * 24 // self.ticks_per_day
        if "hour" not in self.parts:
            return np.full(len(parts["line"]), days[0]), np.full(len(parts["line"]), days[1])
        return days[0] + (parts["hour"] < hours[0]), days[1] - (parts["hour"] > hours[1])

    def _span(self, parts: Mapping[str, Ints], low: Ints, high: Ints) -> tuple[Ints, Ints]:
        """Return the first and last day, inside the bounds, of a step of the line and a month of it."""
        ends = _months(np.array([self.lower, self.upper]) // self.ticks_per_day)
        line = parts["line"] - self.ends["line"][0]
        if self.line == "day":
            days = np.clip(self.lower // self.ticks_per_day + line, low, high)
            return days, days
        if self.line == "month":
            months, length = ends[0] + line, 1
        elif "month" in self.parts:
            months, length = ends[0] + 12 * line + (parts["month"] - 1 - ends[0]) % 12, 1
            months = np.where(months > ends[1], months - 12, months)
        else:
            months, length = ends[0] + 12 * line, 12
        months = np.maximum(months, ends[0])
        return np.maximum(_find_first_day(months), low), np.minimum(_find_first_day(months + length) - 1, high)


def choose_calendar(lower: int, upper: int, resolution: str, wanted: tuple[Part, ...] | None) -> Calendar | None:
    """Return the calendar of a column by its bounds in ticks; None where its line is enough.

    Args:
        lower: First tick.
        upper: Last tick.
        resolution: Name of a tick.
        wanted: The parts that the column requests, or None for those that its span suggests.
    """
    ticks_per_day = DAY_MICROS // RESOLUTIONS[resolution]
    ends = np.array([lower, upper]) // ticks_per_day
    days, months = int(ends[1] - ends[0]) + 1, int(np.diff(_months(ends))[0]) + 1
    if wanted == () or (wanted is None and months > 12 * MAX_EVENT_YEARS):
        return None
    line: Line = "day" if days <= MAX_LINE_DAYS else "month" if months <= MAX_LINE_MONTHS else "year"
    implied: dict[Line, tuple[Part, ...]] = {"day": ("month", "weekday"), "month": ("month",), "year": ()}
    one_hour = ticks_per_day == 1 or lower * 24 // ticks_per_day == upper * 24 // ticks_per_day
    without: tuple[Part, ...] = (*implied[line], *(("hour",) if one_hour else ()))
    parts: tuple[Part, ...] = tuple(part for part in PARTS if part in (wanted or PARTS) and part not in without)
    if not parts:
        return None
    return Calendar(lower=lower, upper=upper, ticks_per_day=ticks_per_day, line=line, parts=parts)


def _months(days: Ints) -> Ints:
    """Return months since January 1970."""
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)


def _find_first_day(months: Ints) -> Ints:
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _find_weekdays(days: Ints) -> Ints:
    return (days + MONDAY) % 7 + 1
