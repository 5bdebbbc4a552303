"""SQL dialects of PostgreSQL and DuckDB for the expressions that codes are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sklar.schema.address import quote_literal

MAX_COMPARED = 32
"""Maximum number of constants that a CASE compares one by one; more are searched by bisection."""
MOST_BUCKETS, MOST_STEPS = 1 << 16, 12
"""Buckets of a table of hints, and most cell starts in three neighbouring buckets."""
LARGEST, SMALLEST = 2**63 - 1, -(2**63)
SPACES = " \t\n\v\f\r"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coded:
    """A whole number for each row, as SQL over a row of `base`.

    Attributes:
        sql: The expression.
        joins: Tables of constants it needs, by name, each with the condition that joins it.
    """

    sql: str
    joins: Mapping[str, tuple[pa.Table, str]] = field(default_factory=dict[str, Any])

    def inside(self, before: str, after: str) -> Coded:
        """Return the code within a larger expression."""
        return Coded(sql=before + self.sql + after, joins=self.joins)


class Dialect(Protocol):
    """SQL of one database. An argument `x` is an expression that is not null and not NaN where it matters."""

    double: str
    nan: str
    over: str  # divides whole numbers that divide evenly

    def text(self, x: str) -> str:
        """Return a text that equals others byte by byte only."""
        ...

    def constant(self, value: Any) -> str | None:
        """Return a text of that kind, or a number, as SQL; None if no value of the database can equal it."""
        ...

    def stripped(self, x: str) -> str:
        """Return a text without ASCII spaces at either end."""
        ...

    def half_even(self, x: str) -> str:
        """Return a double rounded to the nearest whole number, ties to even."""
        ...

    def decimal_as_double(self, x: str) -> str:
        """Return the double that is nearest to a decimal."""
        ...

    def days(self, x: str) -> str:
        """Return days since 1970 of a date."""
        ...

    def micros(self, x: str) -> str:
        """Return microseconds since 1970 of a timestamp, in UTC if it has a zone."""
        ...

    def cell(self, name: str, x: str, starts: npt.NDArray[Any]) -> Coded | None:
        """Return the cell of a number, those beyond the ends in the first and last; None if it cannot be said."""
        ...

    def member(self, name: str, x: str, codes: Mapping[Any, int], other: int) -> Coded:
        """Return the code of the value that x equals, `other` if it equals none."""
        ...

    def looked_up(self, code: str, lookup: npt.NDArray[Any]) -> str:
        """Return the entry of a lookup for a code."""
        ...


def format_number(value: Any) -> str:
    """Return a number as SQL."""
    if isinstance(value, float):
        return f"'{value!r}'::float8"
    # The least 64-bit integer has no sign of its own in SQL.
    return f"({int(value)})::bigint" if int(value) > SMALLEST else f"({SMALLEST + 1} - 1)::bigint"


def compare_each(x: str, codes: Mapping[str, int], other: int) -> str:
    """Return the code of the constant that x equals, one by one."""
    cases = "".join(f" WHEN {word} THEN {code}" for word, code in codes.items())
    return f"CASE {x}{cases} ELSE {other} END" if codes else str(other)


def keep_possible(dialect: Dialect, codes: Mapping[Any, int]) -> dict[Any, int]:
    """Return the values that the database can store."""
    return {value: code for value, code in codes.items() if dialect.constant(value) is not None}


class Postgres:
    """PostgreSQL 14 and later."""

    double, nan, over = "float8", "'NaN'::float8", "/"

    def text(self, x: str) -> str:
        return f'({x}) COLLATE "C"'

    def constant(self, value: Any) -> str | None:
        if not isinstance(value, str):
            return format_number(value)
        return None if "\0" in value or not _is_utf8(value) else quote_literal(value)

    def stripped(self, x: str) -> str:
        return f"btrim({x}, E' \\t\\n\\v\\f\\r')"

    def half_even(self, x: str) -> str:
        return f"round({x})"  # of doubles, as the machine rounds

    def decimal_as_double(self, x: str) -> str:
        """Return a cast with explicit cases for what becomes 0 or infinite, which the plain cast refuses."""
        with localcontext() as context:
            context.prec = 2000
            least = f"{Decimal(2) ** -1075:f}"
            most = f"{Decimal(2) ** 1024 - Decimal(2) ** 970:f}"
        return (
            f"CASE WHEN abs({x}) <= {least} THEN 0 WHEN {x} >= {most} THEN 'Infinity' "
            f"WHEN {x} <= -{most} THEN '-Infinity' ELSE ({x})::float8 END"
        )

    def days(self, x: str) -> str:
        return f"({x} - date '1970-01-01')::int8"

    def micros(self, x: str) -> str:
        return f"(extract(epoch FROM {x}) * 1000000)::int8"

    def cell(self, name: str, x: str, starts: npt.NDArray[Any]) -> Coded:
        kind = "int8" if starts.dtype.kind == "i" else "float8"
        listed = ",".join(map(repr, starts.tolist()))
        return Coded(sql=f"greatest(width_bucket(({x})::{kind}, '{{{listed}}}'::{kind}[]) - 1, 0)")

    def member(self, name: str, x: str, codes: Mapping[Any, int], other: int) -> Coded:
        known = keep_possible(self, codes)
        if len(known) <= MAX_COMPARED:
            return Coded(sql=compare_each(x, {str(self.constant(value)): code for value, code in known.items()}, other))
        sample = next(iter(known))
        kind = "text" if isinstance(sample, str) else "float8" if isinstance(sample, float) else "int8"
        order = sorted(known, key=lambda value: value.encode() if isinstance(value, str) else value)
        listed = f"ARRAY[{', '.join(str(self.constant(value)) for value in order)}]::{kind}[]"
        place = f"width_bucket({x}, {listed})"
        found = f"({_format_integers([known[value] for value in order])})[{place}]"
        return Coded(sql=f"CASE WHEN ({listed})[{place}] = {x} THEN {found} ELSE {other} END")

    def looked_up(self, code: str, lookup: npt.NDArray[Any]) -> str:
        return f"({_format_integers(lookup.tolist())})[{code} + 1]"


class DuckDB:
    """DuckDB: what is searched is joined, for lists are slow there."""

    double, nan, over = "DOUBLE", "'NaN'::DOUBLE", "//"

    def text(self, x: str) -> str:
        return f"encode({x})"  # a column may be declared to equal without regard to letters

    def constant(self, value: Any) -> str | None:
        if not isinstance(value, str):
            return format_number(value)
        return "'" + "".join(f"\\x{byte:02X}" for byte in value.encode()) + "'::BLOB" if _is_utf8(value) else None

    def stripped(self, x: str) -> str:
        return f"trim({x}, {' || '.join(f'chr({ord(space)})' for space in SPACES)})"

    def half_even(self, x: str) -> str:
        return f"round_even({x}, 0)"

    def decimal_as_double(self, x: str) -> str:
        return f"({x})::VARCHAR::DOUBLE"  # a decimal's own cast rounds twice

    def days(self, x: str) -> str:
        return f"({x} - DATE '1970-01-01')"

    def micros(self, x: str) -> str:
        top = f"CASE WHEN {x} > '1970-01-01' THEN {LARGEST} ELSE {-LARGEST} END"
        return f"CASE WHEN isinf({x}) THEN {top} ELSE epoch_us({x}) END"

    def cell(self, name: str, x: str, starts: npt.NDArray[Any]) -> Coded | None:
        hints = hint_table(starts)
        if hints is None:
            return None
        table, low, inverse = hints
        first, last = starts[0].item(), starts[-1].item()
        kind = "BIGINT" if starts.dtype.kind == "i" else "DOUBLE"
        inside = f"least(greatest(({x})::{kind}, {format_number(first)}), {format_number(last)})"
        place = f"(({inside})::DOUBLE - {low!r}::DOUBLE) * {inverse!r}::DOUBLE"
        bucket = f"least(greatest(floor({place}), 0), {table.num_rows - 1})::INTEGER"
        steps = [f"({name}.{step} <= {inside})::INTEGER" for step in table.column_names[2:]]
        return Coded(sql=" + ".join([f"{name}.cell", *steps]), joins={name: (table, f"{name}.bucket = {bucket}")})

    def member(self, name: str, x: str, codes: Mapping[Any, int], other: int) -> Coded:
        known = keep_possible(self, codes)
        if len(known) <= MAX_COMPARED:
            return Coded(sql=compare_each(x, {str(self.constant(value)): code for value, code in known.items()}, other))
        values = [value.encode() if isinstance(value, str) else value for value in known]
        table = pa.table({"value": pa.array(values), "code": pa.array(list(known.values()), pa.int32())})
        return Coded(sql=f"coalesce({name}.code, {other})", joins={name: (table, f"{name}.value = {x}")})

    def looked_up(self, code: str, lookup: npt.NDArray[Any]) -> str:
        return f"list_extract([{', '.join(map(str, lookup.tolist()))}]::INTEGER[], {code} + 1)"


def hint_table(starts: npt.NDArray[Any]) -> tuple[pa.Table, float, float] | None:
    """Return (buckets: a lower bound of the cell, and the starts that may follow; low end; buckets per unit).

    The bucket of a number may be off by one for rounding, so a bucket's cell is that of the left edge of the one
    before, and the starts reach up to the right edge of the one after. None where too many starts lie together.
    """
    low, high, last = float(starts[0]), float(starts[-1]), len(starts) - 1
    buckets = max(4 * len(starts), 16)
    while buckets <= MOST_BUCKETS:
        inverse = buckets / (high - low) if high > low else 0.0
        if not np.isfinite(inverse):
            return None
        edges = low + np.arange(-1, buckets + 2) * ((high - low) / buckets)
        cells = np.clip(np.searchsorted(starts.astype(np.float64), edges, side="right") - 1, 0, last)
        first = np.maximum(cells[:buckets] - 1, 0)  # starts beyond 2^53 are themselves rounded here
        most = int((np.minimum(cells[3 : buckets + 3] + 1, last) - first[: len(cells) - 3]).max(initial=0))
        if most <= MOST_STEPS:
            return _make_hints(starts, first, most), low, inverse
        buckets *= 4
    return None


def _make_hints(starts: npt.NDArray[Any], first: npt.NDArray[Any], most: int) -> pa.Table:
    beyond = np.array([LARGEST if starts.dtype.kind == "i" else np.inf], dtype=starts.dtype)
    padded = np.concatenate([starts, np.repeat(beyond, most + 1)])
    steps = {f"start{step}": padded[first + step] for step in range(1, most + 1)}
    return pa.table({"bucket": np.arange(len(first), dtype=np.int32), "cell": first.astype(np.int32), **steps})


def _is_utf8(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def _format_integers(numbers: Sequence[int]) -> str:
    return f"'{{{','.join(map(str, numbers))}}}'::int4[]"
