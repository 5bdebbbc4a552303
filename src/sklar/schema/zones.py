"""Conversion between UTC and the local time of a time zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from sklar.arrays import Ints
from sklar.schema.grid import EPOCH, parse_time

MICRO = timedelta(microseconds=1)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ZoneClock:
    """The clock of a zone over a span of time, in microseconds.

    Attributes:
        starts: Moments of UTC since which an offset holds, ascending; the first holds before it, too.
        offsets: How far the clock is ahead of UTC from each of them on.
    """

    starts: Ints
    offsets: Ints

    def to_local(self, utc: Ints) -> Ints:
        """Convert UTC to local time."""
        return utc + self.offsets[np.maximum(np.searchsorted(self.starts, utc, side="right") - 1, 0)]

    def to_utc(self, local: Ints) -> Ints:
        """Convert local time to UTC: the first of two, or the time before the change if a local time does not exist."""
        shown_from = self.starts[1:] + np.maximum(self.offsets[:-1], self.offsets[1:])
        return local - self.offsets[np.searchsorted(shown_from, local, side="right")]


def is_zone(name: object) -> bool:
    """Return whether the machine knows a zone of this name, as Europe/Vienna."""
    try:
        return isinstance(name, str) and bool(ZoneInfo(name))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False


@lru_cache(maxsize=256)
def zone_clock(name: str, lower: str, upper: str) -> ZoneClock:
    """Return the clock of a zone between two ISO times that it shows, and a little beyond.

    Days are gone through one by one: a zone changes its offset at most once a day.
    """
    zone = ZoneInfo(name)
    day = max(parse_time(lower), datetime(2, 1, 1)) - 2 * DAY
    last = min(parse_time(upper), datetime(9998, 12, 31)) + 2 * DAY
    starts, offsets = [day], [_get_offset(zone, day)]
    while day < last:
        if _get_offset(zone, day + DAY) != offsets[-1]:
            starts.append(_change(zone, day, offsets[-1]))
            offsets.append(_get_offset(zone, starts[-1]))
        day += DAY
    return ZoneClock(
        starts=np.array([(start - EPOCH) // MICRO for start in starts], dtype=np.int64),
        offsets=np.array([offset // MICRO for offset in offsets], dtype=np.int64),
    )


def _get_offset(zone: ZoneInfo, utc: datetime) -> timedelta:
    return utc.replace(tzinfo=UTC).astimezone(zone).utcoffset() or timedelta()


def _change(zone: ZoneInfo, day: datetime, before: timedelta) -> datetime:
    """Return the minute of a day at which the offset changes, by bisection."""
    low, high = 0, DAY // MINUTE
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _get_offset(zone, day + middle * MINUTE) == before else (low, middle)
    return day + high * MINUTE
