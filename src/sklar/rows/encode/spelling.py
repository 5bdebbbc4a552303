"""Any Arrow array as text, each value by itself: what a value is spelled like never depends on its neighbours.

Text stands for itself, an integer for its digits, a truth value for true or false. A whole float stands for the digits
of the integer, any other float for its shortest text: at 32 bits if these represent the number, for any width of its
column, since one odd value may make 64 of 32. A decimal stands for its plain digits without zeros at the end, for any
scale of its column; dates and times for ISO text without zeros at the end of the fraction, in any unit. What lies
outside the calendar, and values without a text (nested ones, durations), are null.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sklar.arrays import Mask
from sklar.schema.grid import EPOCH

MAX_WHOLE_FLOAT = 2.0**63
"""Whole floats below this are spelled as integers."""
MAX_PLAIN_DIGITS = 400
"""Decimals with more digits than this before or after the point are spelled with an exponent."""
UNIT_PLACES = {"s": 0, "ms": 3, "us": 6, "ns": 9}
"""Decimal places of a second in each of Arrow's units."""
DAY_SECONDS = 86_400
Spell = Callable[[Any], str | None]


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type holds text or raw bytes, which are read as text."""
    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_binary,
              pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary)  # fmt: skip
    return any(check(kind) for check in checks)


def valid_of(array: Any) -> Mask:
    """Return which entries of an Arrow array are not null."""
    if array.null_count == 0:
        return np.ones(len(array), dtype=bool)
    return array.is_valid().to_numpy(zero_copy_only=False)


def spell_values(array: Any) -> Any:
    """Return a plain Arrow array as strings or bytes; null where a value has no text."""
    kind = array.type
    if is_text(kind):
        return array
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return array.cast(pa.large_string())
    if pa.types.is_decimal(kind):
        return _decimal_texts(array)
    if pa.types.is_floating(kind):
        return _each(array.to_numpy(zero_copy_only=False).astype(np.float64), valid_of(array), _format_float)
    spell = _clock_speller(kind)
    if spell is None:
        return pa.nulls(len(array), pa.large_string())
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    return _each(array.view(width).fill_null(0).to_numpy(zero_copy_only=False), valid_of(array), spell)


def plain_decimal(number: Decimal) -> str | None:
    """Return a decimal's plain digits without zeros at the end; None for what is not a number."""
    if number.is_nan():
        return None
    _, _, exponent = number.as_tuple()
    if not isinstance(exponent, int) or exponent < -MAX_PLAIN_DIGITS or number.adjusted() > MAX_PLAIN_DIGITS:
        return str(number)
    text = f"{number:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _each(values: npt.NDArray[Any], valid: Mask, spell: Spell) -> Any:
    """Convert values to text, each distinct value once."""
    distinct, places = np.unique(np.where(valid, values, values.dtype.type(0)), return_inverse=True)
    texts = pa.array([spell(value) for value in distinct.tolist()], type=pa.large_string())
    return texts.take(pa.array(places, mask=~valid))


def single_text(x: float) -> str:
    """Return the shortest text of the float of 32 bits next to a number."""
    with np.errstate(over="ignore"):
        return str(np.float32(x))


def _format_float(x: float) -> str | None:
    if x != x:
        return None
    if abs(x) < MAX_WHOLE_FLOAT and x == int(x):
        return str(int(x))
    with np.errstate(over="ignore"):
        return single_text(x) if float(np.float32(x)) == x else str(x)


def _decimal_texts(array: Any) -> Any:
    """Spell decimals as Arrow does, with plain digits; those that Arrow writes with an exponent one by one."""
    texts = array.cast(pa.large_string())
    if array.type.scale == 0:
        return texts
    pointed = pc.call_function("match_substring", [texts], pc.MatchSubstringOptions("."))
    cut = pc.call_function("utf8_rtrim", [texts], pc.TrimOptions("0"))
    cut = pc.call_function("utf8_rtrim", [cut], pc.TrimOptions("."))
    texts = pc.call_function("if_else", [pointed, cut, texts])
    powers = pc.call_function("match_substring", [texts], pc.MatchSubstringOptions("E")).fill_null(False)
    if not powers.true_count:
        return texts
    plain = [plain_decimal(number) for number in array.filter(powers).to_pylist()]
    return pc.call_function("replace_with_mask", [texts, powers, pa.array(plain, type=pa.large_string())])


def _clock_speller(kind: Any) -> Spell | None:
    """Return the spelling of dates, timestamps and times of day; None for any other type."""
    if pa.types.is_date32(kind):
        return _format_date
    if pa.types.is_date64(kind):
        return lambda millis: _format_date(millis // (1000 * DAY_SECONDS))
    if pa.types.is_timestamp(kind):
        zone = "" if kind.tz is None else "Z"  # a zoned timestamp holds the time in UTC
        return lambda ticks: _format_timestamp(ticks, UNIT_PLACES[kind.unit], zone)
    if pa.types.is_time(kind):
        return lambda ticks: _format_time(ticks, UNIT_PLACES[kind.unit])
    return None


def _format_date(days: int) -> str | None:
    try:
        return date.fromordinal(days + EPOCH.toordinal()).isoformat()
    except (ValueError, OverflowError):
        return None


def _format_timestamp(ticks: int, places: int, zone: str) -> str | None:
    seconds, rest = divmod(ticks, 10**places)
    try:
        return f"{EPOCH + timedelta(seconds=seconds)}{_format_fraction(rest, places)}{zone}"
    except OverflowError:
        return None


def _format_time(ticks: int, places: int) -> str | None:
    seconds, rest = divmod(ticks, 10**places)
    if not 0 <= seconds < DAY_SECONDS:
        return None
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{_format_fraction(rest, places)}"


def _format_fraction(rest: int, places: int) -> str:
    return f".{rest:0{places}}".rstrip("0") if rest else ""
