"""Servers with other defaults: another encoding, and backslashes that escape in texts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from sklar.errors import StreamedWarning
from sklar.export.databases import write_to_database
from sklar.rows import exact_counts, open_rows
from sklar.rows.pushdown.rows import PushedRows
from sklar.schema import Category, Integer, Schema
from sklar.schema.address import table_address
from sklar.schema.reading import ReadOptions

WORDS = ["é", "Ł", "ž", "a", "b\\c", "\\", "\\'", "'", "x' OR true --", "é"]
MANY = tuple(f"l{k}" for k in range(40))
"""More labels than are compared one by one."""
LABELS = {"few": tuple(dict.fromkeys(WORDS)), "many": (*dict.fromkeys(WORDS), *MANY), "foreign": ("é", "日本", *MANY)}


@pytest.fixture(scope="module", params=["UTF8", "LATIN2", "SQL_ASCII"])
def server(request: pytest.FixtureRequest, postgres: Any) -> tuple[str, str]:
    """(encoding, address of a database that has it, and other defaults than usual)."""
    from adbc_driver_postgresql import dbapi

    encoding = request.param
    name = f"odd_{encoding.lower()}"
    made = f"CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    with dbapi.connect(postgres.get_uri(), autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(made)
        cursor.execute(f"ALTER DATABASE {name} SET standard_conforming_strings = off")
        cursor.execute(f"ALTER DATABASE {name} SET client_encoding = '{'LATIN2' if encoding == 'UTF8' else encoding}'")
    address = postgres.get_uri().replace("/postgres?", f"/{name}?")
    lines = ", ".join(f"({quoted(word)}, {at})" for at, word in enumerate(WORDS))
    with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("SET client_encoding = 'UTF8'")
        cursor.execute("CREATE TABLE words (x text, n int)")
        cursor.execute(f"INSERT INTO words VALUES {lines}")
    return encoding, address


def quoted(word: str) -> str:
    return "E'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def counts(rows: Any) -> list[int]:
    found = exact_counts(rows, [(("x",), None)])[0].tolist()
    rows.close()
    return found


@pytest.mark.parametrize("labels", LABELS)
def test_words_are_those_of_the_table(labels: str, server: tuple[str, str]) -> None:
    encoding, address = server
    schema, known = Schema({"x": Category(LABELS[labels])}), Counter(WORDS)
    expected = [known[label] for label in LABELS[labels]]
    expected.append(len(WORDS) - sum(expected))
    assert counts(open_rows(f"{address}&table=words", schema)) == expected
    read = ReadOptions(counts="database")
    if encoding == "UTF8":
        rows = open_rows(f"{address}&table=words", schema, read)
        assert isinstance(rows, PushedRows)
    else:
        with pytest.warns(StreamedWarning, match=f"text of a server whose encoding is {encoding}"):
            rows = open_rows(f"{address}&table=words", schema, read)
    assert counts(rows) == expected


def test_numbers_are_counted_on_any_server(server: tuple[str, str]) -> None:
    rows = open_rows(f"{server[1]}&table=words", Schema({"n": Integer(0, 9)}), ReadOptions(counts="database"))
    assert isinstance(rows, PushedRows)
    assert exact_counts(rows, [(("n",), None)])[0].tolist() == [1] * 10
    rows.close()


def test_words_are_written_as_they_are(server: tuple[str, str]) -> None:
    _, address = server
    place = table_address(f"{address}&table=written", None)
    assert place is not None
    write_to_database([pa.table({"x": WORDS})], place)
    expected = [1, WORDS.count("é"), len(WORDS) - 1 - WORDS.count("é")]
    assert counts(open_rows(f"{address}&table=written", Schema({"x": Category(("Ł", "é"))}))) == expected
