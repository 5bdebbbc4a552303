"""What is seen in the rows of one column: its form, how much is missing, its distinct values with their counts, and the
numbers among them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from sklar.arrays import Floats, Ints
from sklar.model.margins.units import RARE

MISSING_WORDS = frozenset(
    {"na", "n/a", "#n/a", "null", "none", "nan", "nil", "?", "-", "--", ".", "missing", "<na>", "\\n", "not available"}
)
"""Texts (in small letters) that usually stand for a missing value."""
EXCUSES = frozenset({"unknown", "unk", "refused", "declined", "not known", "not stated", "not recorded", "n.a.", "tbd",
                     "not applicable", "pending", "other", "invalid", "error", "#value!", "#ref!"})  # fmt: skip
"""Further texts (in small letters) that stand for no number or time; in a list of words they are values."""
NUMERAL = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
ENOUGH = 0.95
"""A column of text is one of numbers if this share of what is not a word for missing reads as a number."""
MOST_DECIMALS = 9
"""Reals with more digits after the point are taken to have any number of them: R writes seven, and more below 0.1."""
LARGEST_EXACT = 2.0**53
"""From here on reals have no digits after the point."""
FIRST = 200
"""Texts that are looked at first, to spare the rest of a column of words."""
PADDED = re.compile(r"\s*0\d")
SHARE = 0.05
"""A number that holds more than this share of the rows gets a cell of its own."""
SENTINELS = frozenset({-1, -7, -8, -9, -77, -88, -99, -777, -888, -999, -9999, 77, 88, 97, 98, 99, 777, 888, 998, 999,
                       9998, 9999, 99999, 999999})  # fmt: skip
"""Numbers that usually stand for a missing value where they lie far from all others."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profile:
    """The exact content of one column of the sampled rows; private.

    Attributes:
        form: How the values come: text, integer, real, boolean, moment, span (of time), clock (time of day), or other
            (nested values and the like).
        values: Distinct values that are not missing, in order of first occurrence: str, int, float, bool or datetime.
        order: All labels from low to high, where the column's type lists and orders them; else empty.
    """

    name: str
    form: str
    rows: int
    values: tuple[Any, ...]
    counts: Ints
    order: tuple[Any, ...] = ()

    @property
    def present(self) -> int:
        """Number of rows with a value."""
        return int(self.counts.sum())

    @property
    def missing(self) -> int:
        """Number of rows without a value."""
        return self.rows - self.present

    @property
    def distinct(self) -> int:
        """Number of distinct values."""
        return len(self.values)

    @property
    def unique(self) -> bool:
        """Whether no value occurs twice."""
        return self.distinct == self.present


def is_missing_word(value: Any) -> bool:
    """Whether a value is a text that usually stands for a missing value."""
    return isinstance(value, str) and value.strip().lower() in MISSING_WORDS


def is_excuse(value: Any) -> bool:
    """Whether a value is a text that tells why there is no number or time."""
    return isinstance(value, str) and value.strip().lower() in EXCUSES


def profile_of(name: str, column: Any) -> Profile:
    """Profile an Arrow array or chunked array."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows, order = len(column), ()
    if pa.types.is_dictionary(column.type):
        order = _declared_order(column)
        column = column.cast(column.type.value_type)
    form, plain = _plain(column)
    if plain is None:
        return Profile(name=name, form=form, rows=rows, values=(), counts=np.array([], np.int64))
    counted = pc.call_function("value_counts", [pc.call_function("drop_null", [plain])])
    values = counted.field("values").to_pylist()
    keep = [not (v != v or (isinstance(v, str) and not v.strip())) for v in values]
    counts = counted.field("counts").to_numpy()[np.array(keep, bool)]
    kept = tuple(v for v, k in zip(values, keep, strict=True) if k)
    return Profile(name=name, form=form, rows=rows, values=kept, counts=counts.astype(np.int64), order=order)


def _declared_order(column: Any) -> tuple[Any, ...]:
    """The labels of an ordered dictionary, as pandas has for ordered categories; else nothing."""
    if not column.type.ordered:
        return ()
    chunks = column.unify_dictionaries().chunks if hasattr(column, "unify_dictionaries") else [column]
    return tuple(value for value in chunks[0].dictionary.to_pylist() if value is not None) if chunks else ()


def _plain(column: Any) -> tuple[str, Any]:
    """(form, values in one of few Arrow types); no values for types that no guess is made for."""
    import pyarrow as pa

    kind, types = column.type, pa.types
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text", column.cast(pa.large_string())
    if types.is_boolean(kind):
        return "boolean", column
    if types.is_integer(kind):
        return "integer", column
    if types.is_floating(kind):
        return "real", column.cast(pa.float64())
    if types.is_decimal(kind):
        # By way of their text: Arrow's own conversion is off by the last bit, and 0.29 would have 16 digits.
        nearest = column.cast(pa.large_string()).cast(pa.float64())
        return ("real", nearest) if kind.scale > 0 else ("integer", _integers(column))
    if types.is_date(kind):
        return "moment", column.cast(pa.timestamp("us"))
    if types.is_timestamp(kind):
        return "moment", column.cast(pa.timestamp("us", kind.tz), safe=False)
    if types.is_duration(kind) or types.is_time(kind):
        return ("span" if types.is_duration(kind) else "clock"), None
    return "other", (pa.nulls(0) if types.is_null(kind) else None)


def _integers(column: Any) -> Any:
    import pyarrow as pa

    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column.cast(pa.float64())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Numbers:
    """The distinct finite numbers of a column.

    Attributes:
        values: Ascending; plain integers where all are whole, so that large ones keep every digit.
        unread: Number of rows with text that is neither a number nor a word for missing.
        padded: Whether some are written with leading zeros.
    """

    values: tuple[Any, ...]
    counts: Ints
    whole: bool
    unread: int
    padded: bool

    @property
    def floats(self) -> Floats:
        """The values as reals."""
        return np.array([float(v) for v in self.values])

    def quantile(self, share: float) -> float:
        """The value below which this share of the rows lies."""
        at = int(np.searchsorted(np.cumsum(self.counts), share * self.counts.sum()))
        return float(self.values[min(at, len(self.values) - 1)])


@lru_cache(maxsize=1)
def numbers_of(profile: Profile) -> Numbers | None:
    """The numbers of a column, or None if it is not one of numbers. Kept for the next guess about the same column."""
    if profile.form in ("integer", "real"):
        return _collect(list(profile.values), profile.counts)
    if profile.form != "text" or not _seems_numeric(profile.values[:FIRST]):
        return None
    numeric = np.array([NUMERAL.fullmatch(v) is not None for v in profile.values], dtype=bool)
    odd = [(profile.values[i], int(profile.counts[i])) for i in np.flatnonzero(~numeric)]
    unread = sum(count for value, count in odd if not is_missing_word(value))
    excused = sum(count for value, count in odd if is_excuse(value))
    rows = int(profile.counts[numeric].sum())
    if rows < ENOUGH * (rows + unread - excused) or rows < excused:
        return None
    texts = [v for v, n in zip(profile.values, numeric, strict=True) if n]
    padded = any(PADDED.match(v) for v in texts)
    return _collect([_number(v) for v in texts], profile.counts[numeric], unread, padded)


def decimals_of(values: Floats, counts: Ints) -> int | None:
    """Digits after the point that are enough for nearly all rows, as a fit finds them; None if many are needed."""
    if not len(values) or np.max(np.abs(values)) >= LARGEST_EXACT:
        return None
    for digits in range(MOST_DECIMALS + 1):
        fewer = counts[np.round(values, digits) == values].sum()
        if counts.sum() - fewer <= RARE * fewer:
            return digits
    return None


def _seems_numeric(texts: Sequence[Any]) -> bool:
    """Whether more than half of what is not a word for missing, or an excuse, reads as a number."""
    words = [v for v in texts if not (is_missing_word(v) or is_excuse(v))]
    return sum(NUMERAL.fullmatch(v) is not None for v in words) > len(words) / 2


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _collect(values: list[Any], counts: Ints, unread: int = 0, padded: bool = False) -> Numbers | None:
    """Numbers in order, equal ones (1 and 1.0) together; infinite ones, which are clipped, are left out."""
    floats = np.array(values, dtype=np.float64)
    finite = np.isfinite(floats)
    if not finite.any():
        return None
    whole = bool(np.all(np.floor(floats[finite]) == floats[finite]))
    if whole:
        found = Counter[int]()
        for i in np.flatnonzero(finite):
            found[int(values[i])] += int(counts[i])
        ordered = sorted(found)
        sums = np.array([found[v] for v in ordered], dtype=np.int64)
    else:
        distinct, place = np.unique(floats[finite], return_inverse=True)
        ordered = distinct.tolist()
        sums = np.bincount(place, weights=counts[finite]).astype(np.int64)
    return Numbers(values=tuple(ordered), counts=sums, whole=whole, unread=unread, padded=padded)


def shared_values(numbers: Numbers) -> tuple[Any, ...]:
    """The numbers that hold more than SHARE of the rows."""
    return tuple(numbers.values[i] for i in np.flatnonzero(numbers.counts > SHARE * numbers.counts.sum()))


def sentinels(numbers: Numbers) -> tuple[Any, ...]:
    """Typical codes for missing (-1, 99, 999, ...) that stand far outside all other values."""
    often = max(3, 0.002 * numbers.counts.sum())
    marked = [v for v, count in zip(numbers.values, numbers.counts, strict=True) if v in SENTINELS and count >= often]
    rest = [v for v in numbers.values if v not in SENTINELS]
    if not marked or len(rest) < 2:
        return ()
    low, high = rest[0], rest[-1]
    gap = max((high - low) / 10, 1)
    return tuple(v for v in marked if v < low - gap or v > high + gap or (v < 0 <= low))
