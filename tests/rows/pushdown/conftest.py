"""Tables with every kind of value, odd ones included, in both databases."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sklar.schema import Boolean, Category, Datetime, Integer, Ordinal, Real

WORDS = ["a", "A", " a", "a ", "ä", "a\u0308", "日本", "'", '"', "\\", "\\x41", "", "NA", "-9", "-9.0", "1", "1.0",
         "true", " Yes\t", "FALSE", "no", "İ", "🂡", "1e5", "%", "\n"]  # fmt: skip
INTEGERS = [0, 1, 2, -1, -9, 99, 100, 101, 5000, 5001, 2**31 - 1, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63)]
REALS = ["0", "-0.0", "5e-324", "1e-310", "0.5", "1.5", "2.5", "-0.5", "0.1", "0.30000000000000004", "50",
         "49.99999999999999", "99.5", "1e300", "-1e300", "9.3e18", "9.223372036854775e18", "-9.3e18", "nan", "inf",
         "-inf", "-9", "1"]  # fmt: skip
SINGLES = ["0", "-0.0", "0.1", "0.5", "1.5", "2.5", "16777217", "1e38", "nan", "inf", "-inf", "-9", "1"]
DECIMALS = ["0", "0.5", "1.5", "2.5", "-0.5", "-1.5", "0.1", "1.10", "100.00", "-9.00", "99.999", "1", "123456789.123"]
HUGE = ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-400", "4.9e-324", "2.4e-324", "2.5e-324", "1e308",
        "1.7976931348623158e308", "1.7976931348623159e308", "9223372036854775807.5", "1234567890123456789.7",
        "-9223372036854775808.5", "0.49999999999999999999999", "0.50000000000000000000001", "12345678.5"]  # fmt: skip
DATES = ["1970-01-01", "2020-02-29", "1969-12-31", "0001-01-01", "9999-12-31", "infinity", "-infinity"]
MOMENTS = ["1970-01-01 00:00:00", "1969-12-31 23:59:59.999999", "2020-02-29 12:34:56.789012", "2020-03-29 02:30:00",
           "infinity", "-infinity", "9999-12-31 23:59:59.999999"]  # fmt: skip
BC = {"postgres": ["0044-03-15 BC", "4713-01-01 BC"], "duckdb": ["0044-03-15 (BC)", "4713-01-01 (BC)"]}

LABELS = {
    "labels": Category(("a", " a", "ä", "日本", "'", "1", "NA", "\\"), nullable=True),
    "many labels": Category((*(f"x{k}" for k in range(60)), "a", "ä", "日本", "1.1", "1")),
    "integer labels": Ordinal(("0", "1", "2", "99"), nullable=True),
    "integers": Category((0, 1, 99, 2**53 + 1)),
    "many integers": Category(tuple(range(60)), nullable=True),
    "truth": Boolean(nullable=True),
    "certain truth": Boolean(),
}
NUMBERS = {
    "unit": Integer(0, 100, nullable=True),
    "wide": Integer(-5000, 5_000_000, bins=77),
    "huge": Integer(-(2**63), 2**63 - 2, bins=31),
    "edges": Integer(0, 100, edges=(0, 1, 2, 50, 100, 101), nullable=True),
    "steps": Integer(0, 100, step=25, missing_value=50),
    "real": Real(0, 50, nullable=True),
    "fine": Real(-1e300, 1e300, bins=64),
    "atoms": Real(0, 100, bins=10, atoms=(0.5, 1.5, 99.5)),
    "cut": Real(0, 100, edges=(0, 0.1, 0.3, 0.5, 100)),
    "half steps": Real(0, 100, step=0.5),
}
TIMES = {
    "days": Datetime("1960-01-01", "2030-12-31", calendar=[], nullable=True),
    "hours": Datetime("1969-12-31", "1970-01-02", resolution="hour", calendar=[]),
    "micros": Datetime("1969-12-31T23:59:59", "1970-01-01T00:00:01", resolution="microsecond", calendar=[]),
    "bins": Datetime("1900-01-01", "2030-12-31", bins=50, calendar=[], nullable=True),
}
MOST = {**LABELS, **NUMBERS}

SQL_TYPES: dict[str, dict[str, str]] = {
    "postgres": {
        "integer": "int8", "real": "float8", "single": "float4", "text": "text", "truth": "bool",
        "decimal": "numeric(15,3)", "date": "date", "moment": "timestamp", "zoned": "timestamptz", "huge": "numeric",
    },
    "duckdb": {
        "integer": "BIGINT", "real": "DOUBLE", "single": "FLOAT", "text": "VARCHAR COLLATE NOCASE", "truth": "BOOLEAN",
        "decimal": "DECIMAL(15,3)", "date": "DATE", "moment": "TIMESTAMP", "zoned": "TIMESTAMPTZ",
    },
}  # fmt: skip
VALUES: dict[str, list[Any]] = {
    "integer": INTEGERS, "real": REALS, "single": SINGLES, "text": WORDS, "truth": ["true", "false"],
    "decimal": DECIMALS, "date": DATES, "moment": MOMENTS, "zoned": MOMENTS, "huge": HUGE,
}  # fmt: skip

Make = Callable[[str, str], Any]


def columns_of(kind: str) -> dict[str, Any]:
    """All sorts of columns that values of a kind may be read as, and counted in the database."""
    return LABELS if kind == "text" else TIMES if kind in ("date", "moment", "zoned") else MOST


def quoted(value: Any) -> str:
    return "'" + str(value).replace("'", "''") + "'"


@pytest.fixture(scope="session")
def made(postgres: Any, tmp_path_factory: pytest.TempPathFactory) -> Make:
    """The address of a table in a database, all of whose columns hold the same: each value of a kind, and null."""
    from adbc_driver_postgresql import dbapi

    known: dict[tuple[str, str], str] = {}
    folder = tmp_path_factory.mktemp("duckdb")

    def table(where: str, kind: str) -> str:
        if (where, kind) in known:
            return known[where, kind]
        more = BC[where] if kind in ("date", "moment", "zoned") else []
        values = [quoted(value) for value in [*VALUES[kind], *more]]
        names = [*columns_of(kind), "x"]
        lines = ", ".join(f"({', '.join([value] * len(names))})" for value in [*values, values[1], values[1], "NULL"])
        declared = ", ".join(f'"{name}" {SQL_TYPES[where][kind]}' for name in names)
        create = f"CREATE TABLE odd_{kind} ({declared})"
        insert = f"INSERT INTO odd_{kind} VALUES {lines}"
        if where == "postgres":
            with dbapi.connect(postgres.get_uri(), autocommit=True) as connection, connection.cursor() as cursor:
                cursor.execute(create)
                cursor.execute(insert)
            known[where, kind] = f"{postgres.get_uri()}&table=odd_{kind}"
        else:
            place: Path = folder / f"{kind}.duckdb"
            with warnings.catch_warnings(), duckdb.connect(str(place)) as connection:
                connection.execute("SET TimeZone = 'UTC'")
                connection.execute(create)
                connection.execute(insert)
            known[where, kind] = f"duckdb://{place}?table=odd_{kind}"
        return known[where, kind]

    return table
