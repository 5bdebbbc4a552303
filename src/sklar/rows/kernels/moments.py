"""Reading ISO 8601 dates and times written as text, straight to microseconds, without an error for any text.

Accepted, after stripping ASCII spaces: YYYY-MM-DD or YYYYMMDD, then optionally T or a space, HH:MM, :SS and a fraction
after a point or comma, and Z or +HH:MM, +HHMM or +HH. A text with a zone is converted to UTC.
"""

# pyright: reportMissingParameterType=false
from __future__ import annotations

import numpy as np

from sklar.arrays import compiled, compiled_part
from sklar.rows.kernels.decimals import is_space

MONTH_DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
DAYS_BEFORE = np.cumsum(MONTH_DAYS) - MONTH_DAYS


@compiled_part(error_model="numpy")
def days_from_civil(year, month, day):
    """Return days since 1970-01-01 in the Gregorian calendar, for years from 1 on."""
    before = np.uint32(year - 1)
    leap_days = before // np.uint32(4) - before // np.uint32(100) + before // np.uint32(400)
    leap = month > 2 and is_leap(year)
    return 365 * np.int64(before) + np.int64(leap_days) + DAYS_BEFORE[month - 1] + day + (1 if leap else 0) - 719163


@compiled_part(error_model="numpy")
def is_leap(year):
    """Return whether a year of the Gregorian calendar has a 29th of February."""
    return year & 3 == 0 and (year % np.uint32(100) != 0 or year % np.uint32(400) == 0)


@compiled_part(error_model="numpy")
def _digits(data, at, end):
    """Return the number written with exactly two digits, or -1."""
    if at + 2 > end or not (48 <= data[at] <= 57 and 48 <= data[at + 1] <= 57):
        return -1
    return int(data[at]) * 10 + int(data[at + 1]) - 528


@compiled_part(error_model="numpy")
def _zone_minutes(data, at, end):
    """Return (minutes east of UTC, whether the text is a zone)."""
    if end - at == 1 and (data[at] | 32) == 122:
        return 0, True
    if data[at] != 43 and data[at] != 45:
        return 0, False
    sign = -1 if data[at] == 45 else 1
    hours, minutes = _digits(data, at + 1, end), 0
    at += 3
    if at < end:
        at += 1 if data[at] == 58 else 0
        minutes = _digits(data, at, end)
        at += 2
    fine = at == end and 0 <= hours < 24 and 0 <= minutes < 60
    return sign * (hours * 60 + minutes), fine


@compiled_part(error_model="numpy")
def _date_days(data, at, end):
    """Return (days since 1970, place after the date, whether it is a date)."""
    century, year = _digits(data, at, end), _digits(data, at + 2, end)
    dashed = at + 4 < end and data[at + 4] == 45
    step = 1 if dashed else 0
    month = _digits(data, at + 4 + step, end)
    if dashed and (at + 7 >= end or data[at + 7] != 45):
        return 0, at, False
    day = _digits(data, at + 6 + 2 * step, end)
    if century < 0 or year < 0 or century + year == 0 or not 1 <= month <= 12 or day < 1:
        return 0, at, False
    year += 100 * century
    if day > MONTH_DAYS[month - 1] + (1 if month == 2 and is_leap(year) else 0):
        return 0, at, False
    return days_from_civil(year, month, day), at + 8 + 2 * step, True


@compiled_part(error_model="numpy")
def _clock_micros(data, at, end):
    """Return (microseconds since midnight, place after the time, whether it is a time)."""
    hour, minute = _digits(data, at, end), _digits(data, at + 3, end)
    if not 0 <= hour < 24 or not 0 <= minute < 60 or data[at + 2] != 58:
        return 0, at, False
    at += 5
    seconds, micros = 0, 0
    if at < end and data[at] == 58:
        seconds = _digits(data, at + 1, end)
        if not 0 <= seconds < 60:
            return 0, at, False
        at += 3
        if at < end and (data[at] == 46 or data[at] == 44):
            at += 1
            unit, start = 100_000, at
            while at < end and 48 <= data[at] <= 57:
                micros += unit * (int(data[at]) - 48)
                unit //= 10
                at += 1
            if at == start:
                return 0, at, False
    return ((hour * 60 + minute) * 60 + seconds) * 1_000_000 + micros, at, True


@compiled(error_model="numpy")
def iso_micros(data, begins, ends, valid, micros, fine, zoned):
    """Return microseconds since 1970-01-01 of each text, with `fine` False where it is not a date or time, and `zoned`
    True where it names a zone: then they are those of UTC, else those of its own clock.
    """
    for i in range(len(begins)):
        fine[i] = zoned[i] = False
        micros[i] = 0
        if not valid[i]:
            continue
        at, end = np.int64(begins[i]), np.int64(ends[i])
        while at < end and is_space(data[at]):
            at += 1
        while end > at and is_space(data[end - 1]):
            end -= 1
        days, at, good = _date_days(data, at, end)
        moment = days * 86_400_000_000
        if good and at < end:
            good = (data[at] | 32) == 116 or data[at] == 32
            if good:
                clock, at, good = _clock_micros(data, at + 1, end)
                moment += clock
            if good and at < end:
                minutes, good = _zone_minutes(data, at, end)
                moment -= minutes * 60_000_000
                zoned[i] = good
        fine[i] = good
        micros[i] = moment
