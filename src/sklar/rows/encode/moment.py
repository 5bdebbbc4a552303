"""Datetime columns: dates, timestamps and text to ticks of the resolution, by the clock of a zone, or of UTC.

What comes with a zone is converted; what comes without is taken for what that clock shows.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from sklar.arrays import Ints, Mask
from sklar.rows.encode.arrays import Encoder
from sklar.rows.encode.numbers import integer_cells, or_missing
from sklar.rows.encode.spelling import valid_of
from sklar.rows.encode.text import Text, strings_of, text_of
from sklar.schema import Datetime
from sklar.schema.grid import EPOCH, RESOLUTIONS
from sklar.schema.zones import ZoneClock, zone_clock

UNIT_NANOS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
DAY_NANOS = 86_400_000_000_000
Reader = Callable[[bytes], int | None]
Moments = tuple[Ints, Mask]


def moment_encoder(column: Datetime, null_values: tuple[str, ...]) -> Encoder:
    """Return the encoder of datetimes: those outside the bounds are clipped, text in another format is missing."""
    cells, ticks = integer_cells(column), _make_ticks_reader(column, null_values)
    return lambda array: cells(*ticks(array))


def moment_values(column: Datetime, null_values: tuple[str, ...]) -> Encoder:
    """Return a reader of ticks as in `moment_encoder`, MISSING where there is none."""
    ticks = _make_ticks_reader(column, null_values)

    def encode(array: Any) -> Ints:
        return or_missing(*ticks(array))

    return encode


def _make_ticks_reader(column: Datetime, null_values: tuple[str, ...]) -> Callable[[Any], Moments]:
    tick_micros = RESOLUTIONS[column.resolution]
    clock = None if column.zone is None else zone_clock(column.zone, column.lower, column.upper)
    read = None if column.format is None else _reader(column.format, null_values, column.zone)
    nulls = null_micros(column.format, null_values)

    def ticks(array: Any) -> Moments:
        moments = _typed_ticks(array, tick_micros, nulls, clock)
        if moments is None:
            micros, valid = _formatted_micros(array, read) if read else _parse_iso_micros(array, null_values, clock)
            moments = micros // tick_micros, valid
        return moments

    return ticks


def null_micros(form: str | None, null_values: tuple[str, ...]) -> tuple[int, ...]:
    """Return the datetimes among the texts that stand for null, for values that are dates rather than text."""
    if form is not None:
        moments = [_read_moment(text.encode("utf-8", "replace"), form) for text in null_values]
        return tuple(moment for moment in moments if moment is not None)
    texts = [text.encode("utf-8", "replace").decode() for text in null_values]
    micros, fine = _parse_iso_micros(pa.array(texts, type=pa.large_string()), ())
    return tuple(micros[fine].tolist())


def _typed_ticks(array: Any, tick_micros: int, null_micros: tuple[int, ...], clock: ZoneClock | None) -> Moments | None:
    """Return the ticks of an Arrow array of dates or timestamps; None for any other."""
    if isinstance(array, Text):
        return None
    if pa.types.is_date32(array.type):
        nanos, raw = DAY_NANOS, array.cast(pa.int32()).cast(pa.int64())
    elif pa.types.is_date64(array.type):
        nanos, raw = UNIT_NANOS["ms"], array.cast(pa.int64())
    elif pa.types.is_timestamp(array.type):
        # A zoned timestamp already holds the time in UTC.
        nanos, raw = UNIT_NANOS[array.type.unit], array.cast(pa.int64())
    else:
        return None
    valid, values = valid_of(raw), raw.fill_null(0).to_numpy(zero_copy_only=False)
    if null_micros:
        listed = [micros * 1000 // nanos for micros in null_micros if micros * 1000 % nanos == 0]
        listed = [number for number in listed if abs(number) < 2**63]
        valid = valid & ~np.isin(values, np.array(listed, dtype=np.int64))
    if clock is not None and getattr(array.type, "tz", None) is not None:
        return clock.to_local(_to_ticks(values, nanos, 1000)) // tick_micros, valid
    return _to_ticks(values, nanos, tick_micros * 1000), valid


def _to_ticks(values: Ints, unit: int, tick: int) -> Ints:
    """Convert units to ticks, rounded down; one length divides the other, and overflow is far outside any range."""
    if tick >= unit:
        from sklar.rows.kernels.cells import floor_quotients

        ticks = np.empty(len(values), dtype=np.int64)
        floor_quotients(values, np.int64(tick // unit), ticks)
        return ticks
    factor = unit // tick
    top = (2**63 - 1) // factor
    return np.clip(values, -top, top) * factor


def _parse_iso_micros(array: Any, null_values: tuple[str, ...], clock: ZoneClock | None = None) -> Moments:
    from sklar.rows.kernels.moments import iso_micros

    text = text_of(array, null_values)
    micros = np.empty(len(text), dtype=np.int64)
    fine, zoned = np.empty(len(text), dtype=bool), np.empty(len(text), dtype=bool)
    iso_micros(text.data, text.begins, text.ends, text.valid, micros, fine, zoned)
    return (micros if clock is None else np.where(zoned, clock.to_local(micros), micros)), fine


def _formatted_micros(array: Any, read: Reader) -> Moments:
    """Parse texts in a format; each distinct text is read once, since dates repeat."""
    distinct = strings_of(array).dictionary_encode()
    moments = [read(text) for text in distinct.dictionary.cast(pa.large_binary()).to_pylist()]
    micros = np.array([m or 0 for m in moments] + [0], dtype=np.int64)
    fine = np.array([m is not None for m in moments] + [False], dtype=bool)
    indices = distinct.indices.fill_null(len(moments)).to_numpy(zero_copy_only=False)
    return micros[indices], fine[indices]


def _reader(form: str, null_values: tuple[str, ...], zone: str | None) -> Reader:
    """Return a reader of one text in the given format, with a cache of recent texts."""
    nulls = {text.encode("utf-8", "surrogatepass") for text in null_values}
    clock = UTC if zone is None else ZoneInfo(zone)

    @lru_cache(maxsize=1 << 16)
    def read(text: bytes) -> int | None:
        return None if text in nulls else _read_moment(text, form, clock)

    return read


def _read_moment(text: bytes, form: str, clock: tzinfo = UTC) -> int | None:
    """Return microseconds since 1970-01-01 of a text in the given format and time zone; None if it is not one."""
    try:
        moment = datetime.strptime(text.decode().strip(), form)
        if moment.tzinfo is not None:
            moment = moment.astimezone(clock).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
    return (moment - EPOCH) // timedelta(microseconds=1)
