"""Tables of a real server, and what is run there beside Sklar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sklar.schema import Boolean, Category, Datetime, Integer, Real, Schema


@pytest.fixture(scope="session")
def run(postgres: Any) -> Callable[..., list[tuple[Any, ...]]]:
    """Runs one statement, and gives its answer if it has one."""
    from adbc_driver_postgresql import dbapi

    def run_one(statement: str) -> list[tuple[Any, ...]]:
        with dbapi.connect(postgres.get_uri(), autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall() if cursor.description else []

    return run_one


@pytest.fixture(scope="session")
def visits(postgres: Any, run: Callable[..., Any]) -> str:
    """Address of a table of 5,000 rows."""
    run(
        """
        CREATE TABLE visits AS SELECT 'CANARY_7f3a' || i AS key, (i * 7 % 91)::int2 AS age,
          (i * 131 % 60007)::numeric / 10 AS income, (ARRAY['F', 'M', 'X', NULL])[1 + i % 4]::char(3) AS sex,
          i % 3 = 0 AS smoker, date '2020-01-01' + i % 900 AS seen, ARRAY[i] AS tags
        FROM generate_series(1, 5000) AS i
        """
    )
    return f"{postgres.get_uri()}&table=visits"


@pytest.fixture(scope="session")
def visits_schema() -> Schema:
    return Schema(
        {
            "age": Integer(0, 100),
            "income": Real(0, 5_000, bins=64),
            "sex": Category(("F", "M"), nullable=True),
            "smoker": Boolean(),
            "seen": Datetime("2020-01-01", "2022-12-31", calendar=[]),
        }
    )
