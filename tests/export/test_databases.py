"""Samples in tables of real databases: types and names, all or nothing, and nothing overwritten."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import sklar
from sklar.errors import OutputError, UsageError
from sklar.export.databases import OPENERS, write_tables_to_database
from sklar.export.write import require_table_output, write_stream
from sklar.rows.sources import open_source
from sklar.schema.address import DATABASES, table_address

TABLE = pa.table(
    {
        "age": pa.array([1, 2, None], pa.int64()),
        "pay": pa.array([0.5, None, -1.25]),
        "a b": pa.array(["x", "ä'\"", None]),
        "seen": pa.array([0, 18_000, None], pa.date32()),
        "yes": pa.array([True, False, None]),
    }
)
Ask = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture(params=["postgresql", "duckdb", "sqlite"])
def place(request: pytest.FixtureRequest, postgres: Any, tmp_path: Path) -> Iterator[tuple[str, Ask]]:
    """An address to which a table's name is added, and what asks the database about it."""
    from adbc_driver_postgresql import dbapi

    def ask(statement: str) -> list[tuple[Any, ...]]:
        if request.param == "postgresql":
            with dbapi.connect(postgres.get_uri(), autocommit=True) as connection, connection.cursor() as cursor:
                cursor.execute(statement)
                return cursor.fetchall() if cursor.description else []
        opened: Any = duckdb if request.param == "duckdb" else sqlite3
        connection = opened.connect(str(tmp_path / "t.db"))
        found = connection.execute(statement).fetchall()
        if request.param == "sqlite":
            connection.commit()
        connection.close()
        return found

    if request.param == "postgresql":
        yield f"{postgres.get_uri()}&table=", ask
        for name in ("made", "old"):
            ask(f"DROP TABLE IF EXISTS {name}")
    else:
        yield f"{request.param}://{tmp_path}/t.db?table=", ask


def read(address: str) -> list[dict[str, Any]]:
    source = open_source(address, schema=None)
    found = [line for batch in source.batches(source.column_names) for line in batch.to_pylist()]
    source.close()
    return found


def test_a_table_comes_back_as_it_went(place: tuple[str, Ask]) -> None:
    address, _ = place
    told: list[int] = []
    write_stream([TABLE, TABLE.slice(0, 1)], f"{address}made", written=told.append)
    found = read(f"{address}made")
    wanted = [*TABLE.to_pylist(), *TABLE.slice(0, 1).to_pylist()]
    if "sqlite" in address:  # it has neither dates nor truth values
        wanted = [
            {**line, "seen": line["seen"] and line["seen"].isoformat(), "yes": line["yes"] and int(line["yes"])}
            for line in wanted
        ]
    assert found == wanted
    assert told == [3, 1]


def test_several_tables_are_written_under_their_names(place: tuple[str, Ask]) -> None:
    base = table_address(place[0].replace("&table=", "").replace("?table=", ""))
    assert base is not None and base.table is None
    write_tables_to_database({"made": TABLE.select(["age"]), "old": TABLE.select(["pay"])}, base)
    assert read(f"{place[0]}made") == TABLE.select(["age"]).to_pylist()
    assert read(f"{place[0]}old") == TABLE.select(["pay"]).to_pylist()


def test_types_may_be_those_of_another_table(place: tuple[str, Ask]) -> None:
    address, ask = place
    ask('CREATE TABLE old (pay numeric(9,2), age smallint, "a b" varchar(9), seen date, yes boolean, other int)')
    write_stream([TABLE], f"{address}made&like=old")
    if "sqlite" in address:
        types = dict(line[1:3] for line in ask("PRAGMA table_info(made)"))
    else:
        types = dict(ask("SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'made'"))
    assert list(types) == TABLE.column_names
    assert types["age"].lower() == "smallint"
    assert types["pay"].lower().startswith(("numeric", "decimal"))
    assert ask("SELECT count(*), sum(age) FROM made") == [(3, 3)]


def test_an_empty_table_is_filled_and_a_full_one_is_refused(place: tuple[str, Ask]) -> None:
    address, ask = place
    ask('CREATE TABLE made (age smallint, pay real, "a b" text, seen date, yes boolean)')
    require_table_output(f"{address}made")
    write_stream([TABLE], f"{address}made")
    with pytest.raises(OutputError, match="already contains rows"):
        require_table_output(f"{address}made")
    with pytest.raises(OutputError, match="already contains rows"):
        write_stream([TABLE], f"{address}made")
    assert ask("SELECT count(*) FROM made") == [(3,)]


def test_what_fails_half_way_leaves_nothing(place: tuple[str, Ask], tmp_path: Path) -> None:
    address, ask = place

    def failing() -> Iterator[pa.Table]:
        yield TABLE
        raise RuntimeError("the sampler broke")

    with pytest.raises(OutputError, match="Nothing was written"):
        write_stream(failing(), f"{address}made")
    if "postgresql" in address:
        assert ask("SELECT to_regclass('made')::text") == [(None,)]
    else:
        assert not (tmp_path / "t.db").exists()


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("postgresql://u:geheim@localhost:1/db?table=x", "no server accepts connections"),
        ("duckdb:///nowhere/x.duckdb?table=x", "folder does not exist"),
        ("sqlite:///tmp/none.sqlite", "name the table"),
        ("mysql://u:geheim@host/db", "unknown format"),
    ],
)
def test_what_cannot_be_written_is_refused_at_once(address: str, words: str) -> None:
    with pytest.raises((OutputError, UsageError), match=words) as error:
        require_table_output(address)
    assert "geheim" not in str(error.value)


def test_types_of_a_table_that_is_not_there(place: tuple[str, Ask]) -> None:
    with pytest.raises(OutputError, match="to copy the types of"):
        write_stream([TABLE], f"{place[0]}made&like=nowhere")


def test_a_model_samples_into_a_database(place: tuple[str, Ask]) -> None:
    address, ask = place
    schema = sklar.Schema({"n": sklar.Integer(0, 9), "word": sklar.Category(["a", "b"])})
    data = {"n": list(range(10)) * 20, "word": ["a", "b"] * 100}
    model = sklar.fit(data, schema, "independent", epsilon=5.0)
    assert model.write_rows(f"{address}made", 50, seed=3) == 50
    rows = {(int(n), word) for n, word in ask("SELECT n, word FROM made")}
    assert rows == {(line["n"], line["word"]) for line in model.sample(50, seed=3).to_pylist()}


def test_every_kind_of_database_can_be_written() -> None:
    assert set(OPENERS) == set(DATABASES.values())
