"""Counts made in a database are those of the kernels, to the last integer, for every kind and odd value."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from sklar.errors import StreamedWarning
from sklar.rows import exact_counts, open_rows
from sklar.rows.pushdown.rows import PushedRows
from sklar.schema import Boolean, Category, Datetime, Integer, Schema
from sklar.schema.reading import ReadOptions
from tests.rows.pushdown.conftest import SQL_TYPES, TIMES, Make, columns_of

NULLS = ((), ("-9", "1.5", "NA", "1e-400", "x"))
CASES = [(where, kind, nulls) for where, kinds in SQL_TYPES.items() for kind in kinds for nulls in NULLS]


@pytest.mark.parametrize(("where", "kind", "nulls"), [c for c in CASES if not (columns_of(c[1]) is TIMES and c[2])])
def test_counts_in_the_database_are_those_here(where: str, kind: str, nulls: tuple[str, ...], made: Make) -> None:
    schema, address = Schema(columns_of(kind)), made(where, kind)
    here = open_rows(address, schema, ReadOptions(null_values=nulls))
    there = open_rows(address, schema, ReadOptions(null_values=nulls, counts="database"))
    assert isinstance(there, PushedRows)
    specs = [((name,), None) for name in schema.modelled]
    for name, own, other in zip(schema.modelled, exact_counts(there, specs), exact_counts(here, specs), strict=True):
        assert own.tolist() == other.tolist(), name
    assert there.exact_rows == here.exact_rows
    here.close()
    there.close()


@pytest.mark.parametrize(
    ("kind", "column", "nulls", "words"),
    [
        ("text", Integer(0, 9), (), "numbers that come as text"),
        ("text", Datetime("2020-01-01", "2020-12-31", calendar=[]), (), "timestamps that come as text"),
        ("date", Category(("2020-02-29",)), (), "labels that are moments"),
        ("moment", Boolean(), (), "truth values that are moments"),
        ("date", Datetime("2020-01-01", "2020-12-31", calendar=[]), ("2020-02-02",), "moments that stand for null"),
        ("zoned", Datetime("2020-01-01", "2020-12-31", zone="Europe/Berlin", calendar=[]), (), "another time zone"),
        ("date", Datetime("2000-01-01", "2030-12-31", calendar=["month", "weekday"]), (), "a calendar"),
    ],
)
@pytest.mark.parametrize("where", ["postgres", "duckdb"])
def test_what_sql_cannot_say_exactly_is_streamed_in_words(
    where: str, kind: str, column: Any, nulls: tuple[str, ...], words: str, made: Make
) -> None:
    schema = Schema({"x": column})
    with pytest.warns(StreamedWarning, match=rf"column .* has .*{words}.* streamed"):
        rows = open_rows(made(where, kind), schema, ReadOptions(null_values=nulls, counts="database"))
    assert not isinstance(rows, PushedRows)
    assert rows.exact_rows
    rows.close()


def test_other_sources_are_streamed_in_words() -> None:
    with pytest.warns(StreamedWarning, match="only tables of PostgreSQL and DuckDB"):
        open_rows({"x": [1, 2]}, Schema({"x": Integer(0, 9)}), ReadOptions(counts="database"))


def test_nothing_is_said_when_nothing_was_asked(made: Make) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_rows(made("duckdb", "text"), Schema({"x": Integer(0, 9)})).close()
