"""Python objects as Arrow: each value is taken by its own type, so that no value changes how another is read.

None, NaN, NaT and NA are null. Text, bytes, truth values, floats, dates and timestamps keep their type; integers too,
but those beyond 64 bits become their digits, as whole decimals do. Other decimals have the places that their digits
need, since Arrow's decimals have one precision for all. A zoned time is taken in UTC. Nested values and durations
are null, as they are in Arrow columns. A value of a derived class is taken as what it is derived from: pandas and Arrow
do so where all values of a column allow it. Any other object stands for its text, or for null if it has none of its
own.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from sklar.rows.encode.spelling import plain_decimal
from sklar.schema.grid import EPOCH

MICROSECOND = datetime.timedelta(microseconds=1)
NESTED = (list, tuple, dict, set, frozenset, memoryview, np.ndarray)
NULL, TEXT, BYTES, BOOL, INT, DATE = "null", "large_string", "large_binary", "bool", "int64", "date32"
NULLS = (NULL, None)
TIMESTAMP_UNITS = ("s", "ms", "us", "ns")
TIMES = {"Y": "D", "M": "D", "W": "D", "D": "D", "h": "s", "m": "s", "s": "s", "ms": "ms", "us": "us"}
"""NumPy time unit to the unit that is used for it; finer units are cut to nanoseconds."""
MAX_DECIMAL_DIGITS = 38
"""Most digits of a decimal of 128 bits."""
Kinded = tuple[str, Any]
"""The name of an Arrow type, and the value as that type takes it."""


def object_array(values: Sequence[Any]) -> Any:
    """Return a dense union with a child for each Arrow type that occurs."""
    if set(map(type, values)) <= {str, type(None)}:  # the usual case, with the same result and less work
        kinds, taken = [TEXT] * len(values), values
    else:
        kinds, taken = zip(*[_choose_conversion(type(value))(value) for value in values], strict=True)
    order = {kind: at for at, kind in enumerate(dict.fromkeys([*kinds, NULL]))}
    codes = np.fromiter(map(order.__getitem__, kinds), dtype=np.int8, count=len(kinds))
    offsets = np.empty(len(kinds), dtype=np.int32)
    children: list[Any] = []
    for kind, code in order.items():
        places = np.flatnonzero(codes == code)
        offsets[places] = np.arange(len(places))
        children.append(_make_array(kind, [taken[at] for at in places.tolist()]))
    return pa.UnionArray.from_dense(pa.array(codes), pa.array(offsets), children)


def _make_array(kind: str, values: list[Any]) -> Any:
    if kind.startswith("decimal"):
        return pa.array(values, type=pa.decimal128(MAX_DECIMAL_DIGITS, int(kind.split()[1])))
    if kind.startswith("timestamp"):
        _, unit, *zone = kind.split()
        return pa.array(values, type=pa.int64()).cast(pa.timestamp(unit, *zone))
    if kind == DATE:
        return pa.array(values, type=pa.int32()).cast(pa.date32())
    if kind != TEXT:
        return pa.array(values, type=pa.type_for_alias(kind))
    try:
        return pa.array(values, type=pa.large_string())
    except UnicodeEncodeError:  # half a surrogate pair: it alone is replaced
        return pa.array([str.encode(text, "utf-8", "replace").decode() for text in values], type=pa.large_string())


@cache
def _choose_conversion(kind: type) -> Callable[[Any], Kinded]:
    """Return the function that converts values of this type to a kind and a plain value."""
    if issubclass(kind, np.generic):  # some are derived from Python's numbers and texts
        return _from_numpy
    # The module differs: `pandas._libs.tslibs.timestamps` before pandas 3, `pandas` since.
    of_pandas = {base.__name__ for base in kind.__mro__ if base.__module__.split(".")[0] == "pandas"}
    if of_pandas & {"NaTType", "NAType"}:
        return _null
    if "Timestamp" in of_pandas:
        return _from_pandas_timestamp
    for base in kind.__mro__:
        if base in KINDS:
            return KINDS[base]
    bare = kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__
    if bare or issubclass(kind, (*NESTED, datetime.timedelta)):  # the bare text of an object is its address
        return _null
    return _from_any


def _null(_: Any) -> Kinded:
    return NULLS


def _from_float(value: float) -> Kinded:
    return NULLS if value != value else ("float64", value)


def _from_int(value: int) -> Kinded:
    # By way of a decimal, since Python refuses to spell integers of more than some thousands of digits.
    return (INT, value) if -(2**63) <= value < 2**63 else (TEXT, f"{Decimal(value):f}")


def _of_decimal(value: Decimal) -> Kinded:
    """Keep a decimal with a fraction: its text has a point, which may not be the decimal sign of the column."""
    text = plain_decimal(value)
    if text is None:
        return NULLS
    digits = text.lstrip("-").replace(".", "", 1)
    if "." not in text or not digits.isdigit() or len(digits) > MAX_DECIMAL_DIGITS:
        return TEXT, text
    return f"decimal {len(text.partition('.')[2])}", Decimal(text)


def _from_datetime(value: datetime.datetime) -> Kinded:
    try:
        offset = value.utcoffset()
    except Exception:  # a zone may be an object of any class
        return NULLS
    micros = (value.replace(tzinfo=None) - EPOCH) // MICROSECOND
    return ("timestamp us", micros) if offset is None else ("timestamp us UTC", micros - offset // MICROSECOND)


def _from_time(value: datetime.time) -> Kinded:
    return ("time64[us]", value) if value.tzinfo is None else _from_any(value)


def _from_pandas_timestamp(value: Any) -> Kinded:
    kind, ticks = _from_datetime64(value.asm8)  # in UTC if it has a zone
    return (kind, ticks) if kind == NULL or value.tzinfo is None else (f"{kind} UTC", ticks)


def _from_datetime64(value: np.datetime64) -> Kinded:
    if np.isnat(value):
        return NULLS
    unit, step = np.datetime_data(value.dtype)
    known = unit if step == 1 and unit in TIMESTAMP_UNITS else TIMES.get(unit, "ns")
    try:
        ticks = int(value.astype(f"datetime64[{known}]").view(np.int64))
    except OverflowError:
        return NULLS
    return (DATE, min(max(ticks, -(2**31)), 2**31 - 1)) if known == "D" else (f"timestamp {known}", ticks)


def _from_numpy(value: Any) -> Kinded:
    kind = value.dtype.kind
    if kind == "b":
        return BOOL, bool(value)
    if kind in "iu":
        return _from_int(int(value))
    if kind == "f":
        return _from_float(float(value))
    if kind == "M":
        return _from_datetime64(value)
    if kind in "US":
        return (TEXT, str(value)) if kind == "U" else (BYTES, bytes(value))
    return NULLS if kind in "mV" else _from_any(value)


def _from_any(value: Any) -> Kinded:
    try:
        return TEXT, str.encode(str(value), "utf-8", "replace").decode()
    except Exception:  # an object of any class may refuse anything
        return NULLS


KINDS: dict[type, Callable[[Any], Kinded]] = {
    type(None): _null,
    str: lambda value: (TEXT, str.__str__(value)),
    bytes: lambda value: (BYTES, bytes(value)),
    bytearray: lambda value: (BYTES, bytes(value)),
    bool: lambda value: (BOOL, value),
    int: lambda value: _from_int(int.__int__(value)),
    float: lambda value: _from_float(float.__float__(value)),
    Decimal: _of_decimal,
    datetime.date: lambda value: (DATE, value.toordinal() - EPOCH.toordinal()),
    datetime.datetime: _from_datetime,
    datetime.time: _from_time,
}
"""Type to the function that converts its values, and those of types derived from it."""
