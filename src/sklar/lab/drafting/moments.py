"""Guess dates and times from Arrow types or from texts in one format."""

from __future__ import annotations

import re
from calendar import monthrange
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sklar.arrays import Ints
from sklar.lab.drafting.guess import DATE_WORDS, Guess, has_word, leave_out, rough_share
from sklar.lab.drafting.profile import Profile, is_missing_word, list_excuses
from sklar.schema.calendar import ENDS, MAX_EVENT_YEARS, Part
from sklar.schema.grid import EPOCH, RESOLUTIONS
from sklar.schema.numbers import Datetime

ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?([.,]\d+)?\s*(Z|[+-]\d\d:?\d\d)?)?", re.ASCII | re.IGNORECASE
)
DATES = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%d %b %Y", "%d %B %Y",
         "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y", "%d-%b-%y", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y")  # fmt: skip
TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", ", %H:%M")
SPACED = ("%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S")
"""ISO 8601 without the T, as pandas, R and databases write it. The output then has the same format."""
COMPACT_DATE = "%Y%m%d"
CLOCK = re.compile(r"([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d([.,]\d+)?)?( ?[ap]\.?m\.?)?", re.ASCII | re.IGNORECASE)
MAX_CATEGORY_TIMES = 12
"""Up to this number of different times of day become a category."""
MIN_FORMAT_SHARE = 0.98
"""Share of the texts that must follow a format: the others are errors and become null."""
MIN_CALENDAR_ROWS = 200
"""Minimum number of rows for a proposed calendar: fewer gather by chance."""
MIN_CALENDAR_EXCESS = 1.5
"""A part of the calendar of a long range is proposed if one of its values has this multiple of its even share."""
MAX_UNUSED = 0.05
"""Share of the range of times by which rounded bounds may exceed it: the coarsest unit is used that stays below. A
larger share gives rounder bounds, which quote the rows less exactly, and more times that no row has."""
FIELDS = ("year", "month", "day", "hour", "minute", "second", "microsecond")
FIRST_VALUES = {"month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0, "microsecond": 0}
LAST_VALUES = {"month": 12, "day": 31, "hour": 23, "minute": 59, "second": 59, "microsecond": 999_999}
"""Parts of a time from the coarsest on, and the values with which a rounded bound ends."""
FIRST_TEXTS = 200
"""Texts that are parsed before all others: they rule out most formats."""


def guess_datetime(profile: Profile) -> Guess | None:
    """Guess a datetime if nearly all texts follow one format."""
    if profile.form == "moment":
        return draft_datetime(profile, None)
    if profile.form == "integer" and has_word(profile.name, DATE_WORDS) and _has_compact_dates(profile):
        return draft_datetime(profile, COMPACT_DATE)
    if profile.form != "text":
        return None
    excuses = list_excuses(profile)
    texts = [v for v in profile.values if not (is_missing_word(v) or v in excuses)]
    fitting = [form for form in _list_candidate_formats(profile.name) if _fits(texts, form)]
    if not fitting:
        return None
    spaced = (form for form in SPACED if fitting[0] is None and all(_parse(t, form) is not None for t in texts))
    guess = draft_datetime(profile, next(spaced, fitting[0]))
    return guess.with_notes(*_describe_ambiguity(fitting)) if guess else None


def guess_clock(profile: Profile) -> Guess | None:
    """Leave out durations and times of day, with a note on what to write instead."""
    if profile.form == "span":
        return leave_out(
            "durations are not read. Convert them to numbers, for example seconds (pandas: x.dt.total_seconds()), and "
            "draft again, or make it `real` with lower and upper."
        )
    excuses = list_excuses(profile)
    texts = [v for v in profile.values if isinstance(v, str) and not (is_missing_word(v) or v in excuses)]
    written = profile.form == "text" and len(texts) > MAX_CATEGORY_TIMES
    if profile.form == "clock" or (written and all(CLOCK.fullmatch(t.strip()) for t in texts)):
        return leave_out(
            "times of day are not read. Convert them to numbers, for example minutes since midnight (08:30 as 510), "
            "and draft again, or make it `integer` from 0 to 1439."
        )
    return None


def draft_datetime(profile: Profile, form: str | None) -> Guess | None:
    """Draft a column of times in the given format (ISO if None)."""
    zone = _find_zone(profile)
    read = [(_parse(v, form, zone), int(c)) for v, c in zip(profile.values, profile.counts, strict=True)]
    times = [m for m, _ in read if m is not None]
    if not times:
        return None
    resolution = _coarsest_resolution(times)
    lower, upper = _round_bounds(min(times), max(times), resolution)
    unread = sum(c for (m, c), v in zip(read, profile.values, strict=True) if m is None and not is_missing_word(v))
    seen = sum(c for m, c in read if m is not None)
    column = Datetime(lower, upper, resolution=resolution, format=form, zone=zone, nullable=seen < profile.rows)
    parts = _find_calendar([m for m, _ in read], profile.counts, resolution) if _is_long(times) else ()
    column = replace(column, calendar=parts) if parts else column
    written = f", written as {form}" if form else f", in the time zone {zone}" if zone else ""
    notes = [
        f"times to the {resolution}{written}, from {lower} to {upper}, at or beyond those of the rows. What range can "
        "it have?"
    ]
    if parts:
        notes.append(
            f"They gather at some values of the {' and the '.join(parts)}: `calendar` keeps that, at a price. Does it "
            "matter?"
        )
    if unread:
        notes.append(f"{rough_share(unread, profile.present).capitalize()} of the texts do not fit and become null.")
    return Guess(column=column, notes=tuple(notes))


def _is_long(times: list[datetime]) -> bool:
    """Check whether the calendar of a range this long is not modelled by default."""
    return max(times) - min(times) > timedelta(days=365 * MAX_EVENT_YEARS)


def _find_calendar(times: list[datetime | None], counts: Ints, resolution: str) -> tuple[Part, ...]:
    """Return the parts of the calendar whose most frequent value has far more rows than its share of the days."""
    known = [(time, count) for time, count in zip(times, counts.tolist(), strict=True) if time is not None]
    rows = sum(count for _, count in known)
    if rows < MIN_CALENDAR_ROWS:
        return ()
    values: dict[Part, Callable[[datetime], int]] = {
        "month": lambda time: time.month,
        "weekday": lambda time: time.weekday(),
    }
    if RESOLUTIONS[resolution] < RESOLUTIONS["day"]:
        values["hour"] = lambda time: time.hour
    found: list[Part] = []
    for part, value_of in values.items():
        seen = Counter[int]()
        for time, count in known:
            seen[value_of(time)] += count
        low, high = ENDS[part]
        if max(seen.values()) > MIN_CALENDAR_EXCESS * rows / (high - low + 1):
            found.append(part)
    return tuple(found)


def _find_zone(profile: Profile) -> str | None:
    """Return the time zone of a column of times, if it has one."""
    zones = {getattr(v.tzinfo, "key", None) for v in profile.values if isinstance(v, datetime)}
    return zones.pop() if len(zones) == 1 else None


def _list_candidate_formats(name: str) -> list[str | None]:
    compact = [COMPACT_DATE] if has_word(name, DATE_WORDS) else []
    return [None, *compact, *(day + time for time in TIMES for day in DATES)]


def _fits(texts: list[str], form: str | None) -> bool:
    """Check whether nearly all texts have a format: a few texts first, and every seventh of very many."""
    for part in (texts[:10], texts[:FIRST_TEXTS], texts[::7] if len(texts) > 20_000 else texts):
        if sum(_parse(t, form) is not None for t in part) < MIN_FORMAT_SHARE * len(part) or not part:
            return False
    return True


def _parse(value: Any, form: str | None, zone: str | None = None) -> datetime | None:
    if isinstance(value, datetime):
        clock = UTC if zone is None else value.tzinfo
        return value.astimezone(clock).replace(tzinfo=None) if value.tzinfo else value
    text = str(value).strip()
    if form is None and not ISO.fullmatch(text):
        return None
    try:
        read = datetime.fromisoformat(text.replace(",", ".")) if form is None else datetime.strptime(text, form)
    except ValueError:
        return None
    return read.astimezone(UTC).replace(tzinfo=None) if read.tzinfo else read


def _has_compact_dates(profile: Profile) -> bool:
    in_range = all(19000101 <= v <= 21001231 for v in profile.values)
    return in_range and _fits([str(v) for v in profile.values], COMPACT_DATE)


def _coarsest_resolution(times: list[datetime]) -> str:
    """Return the coarsest resolution without loss."""
    micros = [(time - EPOCH) // timedelta(microseconds=1) for time in times]
    return next((name for name, unit in RESOLUTIONS.items() if all(m % unit == 0 for m in micros)), "microsecond")


def _round_bounds(first: datetime, last: datetime, resolution: str) -> tuple[str, str]:
    """Round outward to whole years, or else months, days, hours and so on: the first that leaves little unused."""
    span = (last - first) or timedelta(days=1000)  # a single time gets its month
    lower, upper = first, last
    for unit in range(1, len(FIELDS) + 1):
        lower, upper = _cut(first, FIRST_VALUES, unit), _cut(last, LAST_VALUES, unit)
        if (first - lower) + (upper - last) - timedelta(microseconds=RESOLUTIONS[resolution]) <= MAX_UNUSED * span:
            break
    if resolution == "day":
        return lower.date().isoformat(), upper.date().isoformat()
    upper -= timedelta(microseconds=((upper - EPOCH) // timedelta(microseconds=1)) % RESOLUTIONS[resolution])
    return lower.isoformat(), upper.isoformat()


def _cut(time: datetime, values: Mapping[str, int], unit: int) -> datetime:
    """Replace all parts of a time after the first ones by their first or last values."""
    parts = {name: values[name] for name in FIELDS[unit:]}
    month = parts.get("month", time.month)
    if "day" in parts:
        parts["day"] = min(parts["day"], monthrange(time.year, month)[1])
    return time.replace(**parts)  # type: ignore[arg-type]


def _describe_ambiguity(fitting: list[str | None]) -> list[str]:
    others = [form for form in fitting[1:3] if form]
    if not fitting[0] or not others:
        return []
    return [f"The texts also fit {' and '.join(others)}: check which of day and month comes first."]
