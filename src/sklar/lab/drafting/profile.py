"""The profile of one column of the sampled rows: its form, distinct values with counts, and the numbers among them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from sklar.arrays import Floats, Ints
from sklar.model.margins.units import MAX_OTHER_SHARE
from sklar.schema.cell_classes import NULL_WORDS

MISSING_WORDS = frozenset(word.lower() for word in NULL_WORDS) | {"none", "nil", "missing", "not available"}
"""Texts (in lower case) that usually mean a missing value."""
EXCUSES = frozenset({"unknown", "unk", "refused", "declined", "not known", "not stated", "not recorded", "tbd",
                     "not applicable", "pending", "other", "invalid", "error", "#value!", "#ref!",
                     "keine angabe", "unbekannt", "fehlt", "n.v.", "inconnu", "desconocido"})  # fmt: skip
"""Further texts (in lower case) that explain a missing number or time; in a list of words they are values."""
NUMERAL = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
MAX_SCALE_CODES = 12
"""Maximum number of different values of a scale with a code for unknown: more are counts or measurements."""
MIN_NUMERIC_SHARE = 0.95
"""A text column is numeric if this share of its texts, without words for missing values, can be read as numbers."""
MAX_DECIMALS = 9
"""Reals with more decimals are not rounded to a fixed number of them: R writes seven, and more below 0.1."""
MAX_FRACTIONAL = 2.0**53
"""Reals from here on have no decimals."""
FIRST_TEXTS = 200
"""Texts that are parsed first, to skip the rest of a column of words."""
PADDED = re.compile(r"\s*0\d")
MIN_ATOM_SHARE = 0.05
"""A number with more than this share of the rows gets its own cell."""
MAX_FRACTIONS, MIN_ATOM_ROWS = 30, 10
"""Up to this number of different fractions are a list of values (17.5, 22.5, ...): each with these rows gets a cell."""
SENTINELS = frozenset({-1, -7, -8, -9, -77, -88, -99, -777, -888, -999, -9999, 77, 88, 97, 98, 99, 777, 888, 998, 999,
                       9998, 9999, 99999, 999999})  # fmt: skip
"""Numbers that usually mean a missing value if they are far from all others."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profile:
    """The exact content of one column of the sampled rows; private.

    Attributes:
        form: The type of the values: text, integer, real, boolean, moment (date or time), span (duration), clock (time
            of day), or other (such as nested values).
        values: Distinct values that are not missing, in order of first occurrence: str, int, float, bool or datetime.
        order: All labels in ascending order, if the column's type lists and orders them; else empty.
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
        """Check that no value occurs twice."""
        return self.distinct == self.present


def is_missing_word(value: Any) -> bool:
    """Check for a text that usually means a missing value."""
    return isinstance(value, str) and value.strip().lower() in MISSING_WORDS


def is_excuse(value: Any) -> bool:
    """Check for a text that explains why a number or time is missing."""
    return isinstance(value, str) and value.strip().lower() in EXCUSES


@lru_cache(maxsize=1)
def list_excuses(profile: Profile) -> frozenset[str]:
    """Return the texts that explain why a number or time is missing: those usual for it, and a lone word, as NR.

    A word is alone if all other texts have digits, and are more than the values of a scale. Cached for the next guess.
    """
    if profile.form != "text":
        return frozenset()
    usual = frozenset(text for text in profile.values if is_excuse(text))
    lone: set[str] = set()
    for text in profile.values:
        if text not in usual and not is_missing_word(text) and not any(sign.isdigit() for sign in text):
            lone.add(text)
            if len({one.strip().lower() for one in lone}) > 1:
                return usual
    return usual | lone if profile.distinct > MAX_SCALE_CODES else usual


def profile_column(name: str, column: Any) -> Profile:
    """Profile an Arrow array or chunked array."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows, order = len(column), ()
    if pa.types.is_dictionary(column.type):
        order = _declared_order(column)
        column = column.cast(column.type.value_type)
    form, plain = _simplify_type(column)
    if plain is None:
        return Profile(name=name, form=form, rows=rows, values=(), counts=np.array([], np.int64))
    counted = pc.call_function("value_counts", [pc.call_function("drop_null", [plain])])
    values = counted.field("values").to_pylist()
    keep = [not (v != v or (isinstance(v, str) and not v.strip())) for v in values]
    counts = counted.field("counts").to_numpy()[np.array(keep, bool)]
    kept = tuple(v for v, k in zip(values, keep, strict=True) if k)
    return Profile(name=name, form=form, rows=rows, values=kept, counts=counts.astype(np.int64), order=order)


def _declared_order(column: Any) -> tuple[Any, ...]:
    """Return the labels of an ordered dictionary (an ordered category of pandas); else nothing."""
    if not column.type.ordered:
        return ()
    chunks = column.unify_dictionaries().chunks if hasattr(column, "unify_dictionaries") else [column]
    return tuple(value for value in chunks[0].dictionary.to_pylist() if value is not None) if chunks else ()


def _simplify_type(column: Any) -> tuple[str, Any]:
    """Return the form and the values in one of few Arrow types; None for types without a guess."""
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
        # By way of text: Arrow's direct conversion is off by the last bit, and 0.29 would have 16 digits.
        nearest = column.cast(pa.large_string()).cast(pa.float64())
        return ("real", nearest) if kind.scale > 0 else ("integer", _cast_integers(column))
    if types.is_date(kind):
        return "moment", column.cast(pa.timestamp("us"))
    if types.is_timestamp(kind):
        return "moment", column.cast(pa.timestamp("us", kind.tz), safe=False)
    if types.is_duration(kind) or types.is_time(kind):
        return ("span" if types.is_duration(kind) else "clock"), None
    return "other", (pa.nulls(0) if types.is_null(kind) else None)


def _cast_integers(column: Any) -> Any:
    import pyarrow as pa

    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column.cast(pa.float64())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Numbers:
    """The distinct finite numbers of a column.

    Attributes:
        values: In ascending order; integers if all are whole, so that large ones keep every digit.
        unread: Number of rows with text that is neither a number nor a word for a missing value.
        padded: Whether some have leading zeros.
    """

    values: tuple[Any, ...]
    counts: Ints
    whole: bool
    unread: int
    padded: bool

    @property
    def floats(self) -> Floats:
        """Return the values as floats."""
        return np.array([float(v) for v in self.values])

    def quantile(self, share: float) -> float:
        """Return the value below which this share of the rows lies."""
        at = int(np.searchsorted(np.cumsum(self.counts), share * self.counts.sum()))
        return float(self.values[min(at, len(self.values) - 1)])


@lru_cache(maxsize=1)
def parse_numbers(profile: Profile) -> Numbers | None:
    """Parse the numbers of a column; None if it is not numeric. Cached for the next guess about the column."""
    if profile.form in ("integer", "real"):
        return _collect(list(profile.values), profile.counts)
    excuses = list_excuses(profile)
    if profile.form != "text" or not _seems_numeric(profile.values[:FIRST_TEXTS], excuses):
        return None
    numeric = np.array([NUMERAL.fullmatch(v) is not None for v in profile.values], dtype=bool)
    odd = [(profile.values[i], int(profile.counts[i])) for i in np.flatnonzero(~numeric)]
    unread = sum(count for value, count in odd if not is_missing_word(value))
    excused = sum(count for value, count in odd if value in excuses)
    rows = int(profile.counts[numeric].sum())
    if rows < MIN_NUMERIC_SHARE * (rows + unread - excused) or rows < excused:
        return None
    texts = [v for v, n in zip(profile.values, numeric, strict=True) if n]
    padded = any(PADDED.match(v) for v in texts)
    return _collect([_parse_number(v) for v in texts], profile.counts[numeric], unread, padded)


def count_decimals(values: Floats, counts: Ints) -> int | None:
    """Return the number of decimals that suffices for nearly all rows, as in a fit; None if it is large."""
    if not len(values) or np.max(np.abs(values)) >= MAX_FRACTIONAL:
        return None
    for digits in range(MAX_DECIMALS + 1):
        fewer = counts[np.round(values, digits) == values].sum()
        if counts.sum() - fewer <= MAX_OTHER_SHARE * fewer:
            return digits
    return None


def _seems_numeric(texts: Sequence[Any], excuses: frozenset[str]) -> bool:
    """Check whether more than half of the texts, without words for missing values, can be read as numbers."""
    words = [v for v in texts if not (is_missing_word(v) or v in excuses)]
    return sum(NUMERAL.fullmatch(v) is not None for v in words) > len(words) / 2


def _parse_number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _collect(values: list[Any], counts: Ints, unread: int = 0, padded: bool = False) -> Numbers | None:
    """Sort numbers and merge equal ones (1 and 1.0); leave out infinite ones, which a fit clips."""
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


def frequent_numbers(numbers: Numbers) -> tuple[Any, ...]:
    """Return the numbers with more than MIN_ATOM_SHARE of the rows; of few fractions all that are not rare."""
    if not numbers.whole and len(numbers.values) <= MAX_FRACTIONS:
        needed = max(1, min(MIN_ATOM_ROWS, MIN_ATOM_SHARE * numbers.counts.sum()))
        return tuple(numbers.values[i] for i in np.flatnonzero(numbers.counts >= needed))
    return tuple(numbers.values[i] for i in np.flatnonzero(numbers.counts > MIN_ATOM_SHARE * numbers.counts.sum()))


def find_sentinels(numbers: Numbers) -> tuple[Any, ...]:
    """Find typical codes for missing values (-1, 99, 999, ...) that are far outside all other values."""
    needed = max(3, 0.002 * numbers.counts.sum())
    marked = [v for v, count in zip(numbers.values, numbers.counts, strict=True) if v in SENTINELS and count >= needed]
    rest = [v for v in numbers.values if v not in SENTINELS]
    if not marked or len(rest) < 2:
        return ()
    low, high = rest[0], rest[-1]
    gap = max((high - low) / 10, 1)
    return tuple(v for v in marked if v < low - gap or v > high + gap or (v < 0 <= low))
