"""Points in time as exact integers: ticks of a stated resolution since 1970-01-01, without time zones."""

from __future__ import annotations

from datetime import datetime, timedelta

RESOLUTIONS: dict[str, int] = {
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
"""Microseconds in one tick."""

EPOCH = datetime(1970, 1, 1)


def parse_time(text: str) -> datetime:
    """Read an ISO 8601 date or date and time without a zone; ValueError otherwise."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        raise ValueError("time zones are not supported in bounds; give UTC without a zone")
    return moment


def to_ticks(text: str, resolution: str) -> int:
    """Ticks of an ISO date or time, rounded down to the resolution."""
    return (parse_time(text) - EPOCH) // timedelta(microseconds=1) // RESOLUTIONS[resolution]


def from_ticks(tick: int, resolution: str) -> datetime:
    """The moment at which a tick starts."""
    return EPOCH + timedelta(microseconds=tick * RESOLUTIONS[resolution])
