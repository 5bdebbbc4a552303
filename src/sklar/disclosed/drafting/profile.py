"""What is seen in the rows of one column: its form, how much is missing, and its distinct values with their counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

MISSING_WORDS = frozenset(
    {"na", "n/a", "#n/a", "null", "none", "nan", "nil", "?", "-", "--", ".", "missing", "<na>", "\\n", "not available"}
)
"""Texts (in small letters) that usually stand for a missing value."""


EXCUSES = frozenset(
    {
        "unknown",
        "unk",
        "refused",
        "declined",
        "not known",
        "not stated",
        "not recorded",
        "not applicable",
        "n.a.",
        "tbd",
    }
    | {"pending", "other", "invalid", "error", "#value!", "#ref!"}
)
"""Further texts (in small letters) that stand for no number or time; in a list of words they are values."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profile:
    """The exact content of one column of the sampled rows; private.

    Attributes:
        name: Name of the column.
        form: How the values come: text, integer, real, boolean, moment, or other (nested values and the like).
        rows: Number of rows looked at.
        values: Distinct values that are not missing, in order of first occurrence: str, int, float, bool or datetime.
        counts: How often each occurs.
    """

    name: str
    form: str
    rows: int
    values: tuple[Any, ...]
    counts: npt.NDArray[np.int64]

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

    def kept(self, keep: list[bool]) -> Profile:
        """The profile of the rows whose value is kept; the others count as missing."""
        values = tuple(v for v, k in zip(self.values, keep, strict=True) if k)
        return Profile(
            name=self.name, form=self.form, rows=self.rows, values=values, counts=self.counts[np.array(keep, bool)]
        )


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

    rows = len(column)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    form, plain = _plain(column)
    if plain is None:
        return Profile(name=name, form="other", rows=rows, values=(), counts=np.array([], np.int64))
    counted = pc.call_function("value_counts", [pc.call_function("drop_null", [plain])])
    values = counted.field("values").to_pylist()
    keep = [not (v != v or (isinstance(v, str) and not v.strip())) for v in values]
    counts = counted.field("counts").to_numpy()[np.array(keep, bool)]
    kept = tuple(v for v, k in zip(values, keep, strict=True) if k)
    return Profile(name=name, form=form, rows=rows, values=kept, counts=counts.astype(np.int64))


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
        return ("real", column.cast(pa.float64())) if kind.scale > 0 else ("integer", _integers(column))
    if types.is_date(kind):
        return "moment", column.cast(pa.timestamp("us"))
    if types.is_timestamp(kind):
        return "moment", column.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.timestamp("us"))
    return "other", (pa.nulls(0) if types.is_null(kind) else None)


def _integers(column: Any) -> Any:
    import pyarrow as pa

    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column.cast(pa.float64())
