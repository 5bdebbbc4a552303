"""Tables over several columns, looked up and not, counted in databases; and whole fits that leave the rows there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sklar
from sklar.counting.tables import exact_pair_counts
from sklar.errors import SourceError, StreamedWarning, UsageError
from sklar.rows import exact_counts, open_rows
from sklar.rows.pushdown import engines
from sklar.rows.pushdown.dialects import DuckDB, hint_table
from sklar.rows.pushdown.rows import PushedRows
from sklar.schema import Boolean, Category, Datetime, Id, Integer, Person, Real, Schema
from sklar.schema.reading import ReadOptions

SCHEMA = Schema(
    {
        "age": Integer(0, 90),
        "income": Real(0, 6_000, nullable=True),
        "sex": Category(("F", "M"), nullable=True),
        "smoker": Boolean(),
        "seen": Datetime("2020-01-01", "2021-12-31", calendar=[]),
    }
)
MAKE = """
CREATE TABLE people AS SELECT (i * 7 % 103)::smallint AS age, (i * 131 % 60007) / 10.0::float8 AS income,
  CASE i % 4 WHEN 0 THEN 'F' WHEN 1 THEN 'M' WHEN 2 THEN 'X' END AS sex, i % 3 = 0 AS smoker,
  date '2019-12-30' + (i * 13 % 900)::int AS seen, i % 2 AS bit
FROM generate_series(1, 4000) AS {}
"""


@pytest.fixture(scope="module", params=["postgres", "duckdb"])
def people(request: pytest.FixtureRequest, postgres: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    from adbc_driver_postgresql import dbapi

    if request.param == "postgres":
        with dbapi.connect(postgres.get_uri(), autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(MAKE.format("i"))
        return f"{postgres.get_uri()}&table=people"
    place = tmp_path_factory.mktemp("people") / "people.duckdb"
    with duckdb.connect(str(place)) as connection:
        connection.execute(MAKE.format("s(i)"))
    return f"duckdb://{place}?table=people"


@pytest.mark.parametrize("cache_bytes", [None, 0])
def test_tables_of_several_columns_and_groups(
    people: str, cache_bytes: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One, two and three columns, asked for twice, looked up, in one scan and in several."""
    monkeypatch.setattr(engines, "TABLES_PER_SCAN", 2)
    rng = np.random.default_rng(3)
    lookups = {name: rng.integers(0, 5, SCHEMA[name].size).astype(np.int32) for name in SCHEMA.modelled}
    specs: list[Any] = [
        (("age",), None), (("age", "sex"), None), (("sex", "smoker", "age"), None), (("age",), None),
        (("age", "income"), (lookups["age"], lookups["income"])), (("seen", "sex"), (lookups["seen"], lookups["sex"])),
        (("income",), None), (("smoker",), None),
    ]  # fmt: skip
    here = open_rows(people, SCHEMA)
    there = open_rows(people, SCHEMA, ReadOptions(counts="database", cache_bytes=cache_bytes))
    assert isinstance(there, PushedRows)
    for own, other in zip(exact_counts(there, specs), exact_counts(here, specs), strict=True):
        np.testing.assert_array_equal(own, other)
    names = ["age", "sex", "income"]
    pairs = [exact_pair_counts(rows, names, [lookups[name] for name in names]) for rows in (there, here)]
    np.testing.assert_array_equal(*pairs)
    assert there.passes
    there.close()


@pytest.mark.parametrize("method", ["vine", "independent", "dpcopula-kendall"])
def test_a_fit_reads_no_row_out_of_the_database(people: str, method: str, tmp_path: Path) -> None:
    """No warning of streaming (which would be an error here), and a model as any other."""
    told: list[float] = []
    read = ReadOptions(counts="database", progress=told.append)
    model = sklar.fit(people, SCHEMA, method, epsilon=50.0, ledger=tmp_path / "l", new_ledger=True, read=read)
    assert set(told) == {0.0}  # scans begun; a stream would tell how far it is
    women = model.sample(4000, seed=1).column("sex").to_pylist().count("F")
    assert 700 < women < 1300


def test_what_is_no_count_is_streamed_in_words(people: str) -> None:
    schema = Schema({"smoker": Boolean(), "bit": Boolean()})
    here = open_rows(people, schema)
    there = open_rows(people, schema, ReadOptions(counts="database"))
    identity = [np.arange(2, dtype=np.int32)] * 2
    with pytest.warns(StreamedWarning, match="whole rows"):
        found = exact_pair_counts(there, ["smoker", "bit"], identity)
    np.testing.assert_array_equal(found, exact_pair_counts(here, ["smoker", "bit"], identity))
    there.close()


def test_persons_are_streamed_in_words(people: str) -> None:
    schema = Schema({"age": Integer(0, 90), "bit": Id()}, person=Person(key="bit", rows=3))
    with pytest.warns(StreamedWarning, match="share one vote"):
        rows = open_rows(people, schema, ReadOptions(counts="database"))
    assert rows.exact_persons == 2
    rows.close()


def test_a_database_that_goes_away_says_nothing_of_its_rows(postgres: Any, people: str) -> None:
    if people.startswith("duckdb"):
        rows = open_rows(people, SCHEMA, ReadOptions(counts="database"))
        rows._engine._source.connection.close()  # type: ignore[union-attr]
    else:
        from adbc_driver_postgresql import dbapi

        rows = open_rows(people, SCHEMA, ReadOptions(counts="database"))
        with dbapi.connect(postgres.get_uri(), autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
            cursor.fetchall()
    with pytest.raises(SourceError, match=r"went away|query failed") as error:
        exact_counts(rows, [(("age",), None)])
    assert error.value.__cause__ is None


@pytest.mark.slow
def test_the_command_says_where_it_counted(people: str, tmp_path: Path) -> None:
    SCHEMA.write(tmp_path / "s.toml")
    ended = subprocess.run(
        [sys.executable, "-m", "sklar", "fit", people, "-s", str(tmp_path / "s.toml"), "-e", "5", "-m", "independent",
         "--ledger", str(tmp_path / "l"), "--new-ledger", "-o", str(tmp_path / "m.sklar"), "--counts", "database"],
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert "The rows were counted in the database" in ended.stderr


def test_a_place_that_nobody_knows_is_refused() -> None:
    with pytest.raises(UsageError, match="'here' or 'database'"):
        ReadOptions(counts="elsewhere")


@given(
    st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=60, unique=True),
    st.lists(st.floats(allow_nan=False), min_size=1, max_size=40),
)
def test_hints_find_the_cell_of_every_number(listed: list[float], values: list[float]) -> None:
    """Starts as close together as floats can be, numbers on them, beside them and beyond."""
    starts = np.unique(np.array([*listed, *np.nextafter(listed, np.inf)]))
    found = DuckDB().cell("t", "base.x", starts)
    if found is None:
        assert hint_table(starts) is None
        return
    numbers = np.array([*values, *starts, *np.nextafter(starts, -np.inf)])
    (table, condition) = found.joins["t"]
    with duckdb.connect() as connection:
        connection.register("base", {"x": numbers, "place": np.arange(len(numbers))})
        connection.register("t", table)
        query = f"SELECT {found.sql} AS cell FROM base LEFT JOIN t ON {condition} ORDER BY place"
        cells = connection.execute(query).fetchnumpy()["cell"]
    wanted = np.clip(np.searchsorted(starts, numbers, side="right") - 1, 0, len(starts) - 1)
    np.testing.assert_array_equal(cells, wanted)
