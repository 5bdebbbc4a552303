"""Tables of a real PostgreSQL server: types, one moment for all passes, and what is said when something is wrong."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sklar
from sklar.errors import MissingExtraError, NewMomentWarning, SourceError, UsageError
from sklar.private.session import hold_snapshot
from sklar.rows import exact_counts, open_rows
from sklar.rows.sources import open_source
from sklar.rows.sources.databases import KINDS
from sklar.rows.sources.source import BATCH_ROWS
from sklar.schema import Boolean, Category, Datetime, Integer, Real, Schema
from sklar.schema.reading import ReadOptions
from tests.rows.conftest import assert_silent, codes_of

Run = Callable[..., list[tuple[Any, ...]]]

ODD: dict[str, tuple[str, Any, list[tuple[str, Any]]]] = {
    # type of PostgreSQL: the column of a schema, its Arrow type, values as SQL and as Arrow have them
    "int2": (Integer(-5, 5), pa.int16(), [("0", 0), ("-32768", -32768), ("32767", 32767), ("NULL", None)]),
    "int8": (Integer(-(10**18), 10**18, bins=50), pa.int64(), [("9223372036854775807", 2**63 - 1), ("7", 7)]),
    "float4": (Real(0, 1, bins=10), pa.float32(), [("'NaN'", float("nan")), ("0.1", 0.1), ("'-Infinity'", -np.inf)]),
    "float8": (Real(-1, 1), pa.float64(), [("'-0'", -0.0), ("'Infinity'", np.inf), ("5e-324", 5e-324), ("0.5", 0.5)]),
    "bool": (Boolean(nullable=True), pa.bool_(), [("true", True), ("NULL", None), ("false", False)]),
    "text": (Category(("a", " a", "ä", "日本", "'"), nullable=True), pa.string(),
             [("'a'", "a"), ("' a'", " a"), ("'ä'", "ä"), ("'日本'", "日本"), ("''''", "'"), ("''", ""), ("'A'", "A")]),
    "varchar(9)": (Integer(0, 9), pa.string(), [("'7'", "7"), ("' 7.4 '", " 7.4 "), ("'x'", "x"), ("'1e99'", "1e99")]),
    "date": (Datetime("1000-01-01", "2100-01-01", calendar=[]), pa.date32(),
             [("'2020-02-29'", date(2020, 2, 29)), ("'0044-03-15 BC'", -735_577), ("'5874897-12-31'", 2_145_042_905)]),
    "timestamp": (Datetime("2000-01-01", "2100-01-01", resolution="hour", calendar=[]), pa.timestamp("us"),
                  [("'2020-02-29 23:59:59.999999'", datetime(2020, 2, 29, 23, 59, 59, 999999)), ("NULL", None)]),
}  # fmt: skip


@pytest.mark.parametrize("kind", ODD)
def test_a_value_of_the_server_is_the_same_value_in_arrow(kind: str, postgres: Any, run: Run) -> None:
    column, arrow, values = ODD[kind]
    run("DROP TABLE IF EXISTS odd")
    run(f"CREATE TABLE odd AS SELECT x::{kind} FROM (VALUES {', '.join(f'({sql})' for sql, _ in values)}) AS v(x)")
    schema = Schema({"x": column})
    numbers = [x for _, x in values]
    storage = pa.int32() if kind == "date" and any(isinstance(x, int) for x in numbers) else arrow
    local = pa.array([(x - date(1970, 1, 1)).days if isinstance(x, date) and storage != arrow else x for x in numbers])
    local = local.cast(storage).cast(arrow) if storage != arrow else pa.array(numbers, arrow)
    found = codes_of(open_rows(f"{postgres.get_uri()}&table=odd", schema))["x"]
    assert found == codes_of(open_rows(pa.table({"x": local}), schema))["x"]


@pytest.mark.parametrize(
    ("value", "column", "code"),
    [
        ("1.50::numeric", Category(("1.5", "1.50")), 0),  # a decimal is its digits, whatever the scale of its column
        ("'NaN'::numeric", Real(0, 1, nullable=True, bins=4), "null"),
        ("'Infinity'::numeric", Real(0, 1, edges=(0, 0.5, 1)), "last"),
        ("1e400::numeric", Integer(0, 9), 9),
        ("12.5::numeric(9,3)", Integer(0, 99), 12),
        ("'ok'::mood", Category(("sad", "ok")), 1),
        ("'F'::char(5)", Category(("F", "M")), 0),
        ("'Infinity'::date", Datetime("2000-01-01", "2000-01-09", calendar=[]), 8),
        ("'-infinity'::timestamptz", Datetime("2000-01-01", "2000-01-09", calendar=[]), 0),
        ("'infinity'::timestamp", Datetime("2000-01-01", "2000-01-09", calendar=[]), 8),
        ("'294276-12-31'::timestamp", Datetime("2000-01-01", "2000-01-09", calendar=[]), 8),
        ("'2000-01-02 00:30+02'::timestamptz", Datetime("2000-01-01", "2000-01-09", calendar=[]), 0),
        ("7::money", Integer(0, 9), 7),
        ("'00000000-0000-0000-0000-000000000001'::uuid", Category(("00000000-0000-0000-0000-000000000001",)), 0),
        ("5::small", Integer(0, 9), 5),
        ("4294967295::oid", Integer(0, 2**32, edges=(0, 4294967295, 2**32 + 1)), 1),
        ("'192.168.0.1/24'::inet", Category(("192.168.0.1/24",)), 0),
    ],
)
def test_what_arrow_has_no_type_for_is_read_as_what_it_is(
    value: str, column: Any, code: Any, postgres: Any, run: Run
) -> None:
    for old in ("TABLE IF EXISTS odd", "TYPE IF EXISTS mood", "DOMAIN IF EXISTS small"):
        run(f"DROP {old}")
    run("CREATE TYPE mood AS ENUM ('ok', 'sad')")
    run("CREATE DOMAIN small AS int2 CHECK (VALUE < 10)")
    run(f"CREATE TABLE odd AS SELECT {value} AS x")
    wanted = {"null": column.null_code, "last": column.size - 1}.get(code, code)
    rows = open_rows(f"{postgres.get_uri()}&table=odd", Schema({"x": column}))
    assert codes_of(rows)["x"] == [wanted]
    rows.close()


@pytest.mark.parametrize(
    ("kind", "word"), [("int[]", "arrays"), ("jsonb", "jsonb"), ("interval", "durations"), ("int4range", "ranges")]
)
def test_values_that_are_neither_numbers_nor_words_are_refused(kind: str, word: str, postgres: Any, run: Run) -> None:
    run("DROP TABLE IF EXISTS odd")
    run(f"CREATE TABLE odd (x {kind}, y int4)")
    address = f"{postgres.get_uri()}&table=odd"
    with pytest.raises(SourceError, match=f"column 'x' .* holds .*{word}"):
        open_rows(address, Schema({"x": Integer(0, 1)})).keep_codes()
    assert open_rows(address, Schema({"y": Integer(0, 1)})).exact_rows == 0


def test_a_draft_leaves_out_what_cannot_be_read(visits: str) -> None:
    drafted = sklar.draft_schema(visits)
    assert drafted["tags"].kind == "ignore"
    assert drafted["age"].kind == "integer"


def test_all_passes_see_one_moment(visits: str, visits_schema: Schema, run: Run) -> None:
    rows = open_rows(visits, visits_schema, ReadOptions(cache_bytes=0))
    before = exact_counts(rows, [(("age",), None)])[0]
    run("INSERT INTO visits SELECT * FROM visits LIMIT 100")
    run("DELETE FROM visits WHERE age = 7")
    assert exact_counts(rows, [(("age",), None)])[0].tolist() == before.tolist()
    assert rows.passes > 1
    rows.close()


def test_all_openings_of_a_fit_see_one_moment(visits: str, visits_schema: Schema, run: Run) -> None:
    with hold_snapshot(visits, ReadOptions()) as data:
        first = open_rows(data, visits_schema).exact_rows
        run("INSERT INTO visits SELECT * FROM visits LIMIT 10")
        assert open_rows(data, visits_schema).exact_rows == first
    assert open_rows(visits, visits_schema).exact_rows == first + 10


def test_batches_are_bounded_and_progress_is_told(postgres: Any, run: Run) -> None:
    run("DROP TABLE IF EXISTS long")
    run("CREATE TABLE long AS SELECT i FROM generate_series(1, 400000) AS i")
    run("ANALYZE long")
    told: list[float] = []
    address = f"{postgres.get_uri()}&table=long"
    source = open_source(address, schema=Schema({"i": Integer(0, 9)}), read=ReadOptions(progress=told.append))
    sizes = [batch.num_rows for batch in source.batches(["i"])]
    assert sum(sizes) == 400_000
    assert max(sizes) <= BATCH_ROWS
    assert told[0] == 0
    assert 0 < told[1] <= told[-1] < 1


def test_a_view_needs_a_word_that_the_claim_repeats(
    postgres: Any, visits: str, visits_schema: Schema, run: Run, tmp_path: Path
) -> None:
    run("CREATE OR REPLACE VIEW adults AS SELECT * FROM visits WHERE age > 17")
    address = visits.replace("table=visits", "table=public.adults")
    with pytest.raises(SourceError, match="is a view"):
        open_rows(address, visits_schema)
    model = sklar.fit(
        address, visits_schema, epsilon=1.0, method="independent", ledger=tmp_path / "l", new_ledger=True,
        read={"rows_are_rows": True},
    )  # fmt: skip
    assert "rows of the table but that person's own (rows_are_rows)" in str(model.claim)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("{}&table=nowhere", "there is no table"),
        ("{}", "name the table"),
        ("{}x&table=visits", "no server accepts connections"),
        ("postgresql://localhost:1/db?table=visits", "no server accepts connections"),
    ],
)
def test_what_is_not_there_is_said(address: str, words: str, postgres: Any, visits_schema: Schema) -> None:
    with pytest.raises((SourceError, UsageError), match=words):
        open_rows(address.format(postgres.get_uri()), visits_schema)


def test_rows_elsewhere_need_a_ledger_that_is_named(visits: str, visits_schema: Schema) -> None:
    with pytest.raises(UsageError, match="name one with ledger="):
        sklar.fit(visits, visits_schema, epsilon=1.0)


def test_a_query_is_not_asked_of_a_server(visits: str, visits_schema: Schema) -> None:
    with pytest.raises(SourceError, match="create a view"):
        open_rows(visits, visits_schema, ReadOptions(sql="SELECT 1"))


def test_the_driver_is_an_extra(monkeypatch: pytest.MonkeyPatch, visits: str, visits_schema: Schema) -> None:
    monkeypatch.setitem(__import__("sys").modules, "adbc_driver_postgresql", None)
    with pytest.raises(MissingExtraError, match=r"\.\[postgres\]"):
        open_rows(visits, visits_schema)


def test_a_server_that_goes_away_in_a_pass_leaves_the_books_right(
    visits: str, visits_schema: Schema, run: Run, tmp_path: Path
) -> None:
    """The first pass after a charge is cut; the ledger shows the fit as unfinished, and the same fit goes on."""
    from sklar.accounting.ledger import read_ledger

    place = tmp_path / "visits.ledger"
    wanted = {"epsilon": 1.0, "method": "independent", "ledger": place}
    cut = {"passes": 0}

    def cutting(fraction: float) -> None:
        cut["passes"] += fraction == 0
        if fraction == 0 and cut["passes"] == 2:
            run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query <> ''")

    read = ReadOptions(cache_bytes=0, progress=cutting)
    with pytest.raises(SourceError, match="went away") as told:
        sklar.fit(visits, visits_schema, read=read, new_ledger=True, **wanted)
    assert_silent(told.value)
    (unfinished,) = read_ledger(place).unfinished
    assert unfinished.id
    with pytest.warns(NewMomentWarning, match="interrupted and is resumed"):
        model = sklar.fit(visits, visits_schema, **wanted)
    assert model.claim.guarantee
    assert not read_ledger(place).unfinished


def test_every_kind_of_database_is_listed() -> None:
    here = Path(sklar.__file__).parent / "rows/sources/databases"
    assert {path.stem for path in here.glob("*.py")} - {"__init__", "snapshot"} == {
        kind.__module__.rpartition(".")[2] for kind in KINDS.values()
    }
