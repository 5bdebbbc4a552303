"""Drafts from files, frames and metadata, on the command line and in Python."""

from __future__ import annotations

import datetime as dt
import json
import os
import sqlite3
import stat
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sklar
from sklar.cli.main import app
from sklar.errors import SourceError, UsageError
from sklar.schema.sdv import to_sdv
from sklar.schema.table import schema_from_toml
from tests.lab.tables import odd_table

CSV = "id,age,sex,when\n" + "".join(f"{i},{20 + i % 50},{'FM'[i % 2]},2020-01-{1 + i % 28:02d}\n" for i in range(200))
KINDS = {"id": "id", "age": "integer", "sex": "category", "when": "datetime"}


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(CSV)
    return path


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def kinds(schema: sklar.Schema) -> dict[str, str]:
    return {name: column.kind for name, column in schema.items()}


def test_all_sources_give_the_same_draft(people: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(people, dtype=str)
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "people.parquet")
    (tmp_path / "people.tsv").write_text(CSV.replace(",", "\t"))
    (tmp_path / "semicolon.csv").write_text(CSV.replace(",", ";"))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.csv").write_text(CSV)
    first = sklar.draft_schema(people)
    assert kinds(first) == KINDS
    others = [frame, pl.from_pandas(frame), tmp_path / "people.parquet", tmp_path / "people.tsv"]
    for data in (*others, tmp_path / "semicolon.csv", folder):
        assert sklar.draft_schema(data) == first


def panel() -> pd.DataFrame:
    """Persons with eight rows each, flags that a gap turns into fractions, floats that are whole, and codes."""
    rng = np.random.default_rng(3)
    person = np.repeat(rng.permutation(20_000)[:150], 8)
    rows = len(person)
    return pd.DataFrame(
        {
            "nr": person.astype(float),
            "year": np.tile(np.arange(1980, 1988), 150),
            "union": rng.choice(["no", "yes"], rows),
            "flag": np.where(rng.random(rows) < 0.1, np.nan, rng.integers(0, 2, rows)),
            "grade": rng.integers(1, 6, rows).astype(float),
            "wage": rng.normal(1.5, 0.5, rows).round(3),
            "serial": rng.permutation(900_000)[:rows] + 100_000,
            "category": np.where(rng.random(rows) < 0.1, np.nan, rng.integers(1, 6, rows)),
        }
    )


def test_one_table_has_one_draft_in_every_container(tmp_path: Path) -> None:
    frame = panel()
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    with sqlite3.connect(tmp_path / "t.sqlite") as store:
        frame.to_sql("t", store, index=False)
    with duckdb.connect(str(tmp_path / "t.duckdb")) as store:
        store.execute("create table t as select * from frame")
    first = sklar.draft_schema(tmp_path / "t.csv")
    assert kinds(first) == {
        "nr": "id", "year": "integer", "union": "boolean", "flag": "boolean", "grade": "integer", "wage": "real",
        "serial": "integer", "category": "category",
    }  # fmt: skip
    assert first["category"].values == (1, 2, 3, 4, 5)  # type: ignore[attr-defined]
    assert first.person is not None and first.person.key == "nr" and first.person.rows == 8
    assert sklar.draft_schema(tmp_path / "t.parquet") == sklar.draft_schema(frame) == first
    for store in ("t.sqlite", "t.duckdb"):
        assert sklar.draft_schema(tmp_path / store, read=sklar.ReadOptions(table="t")) == first


def test_a_draft_is_a_schema_that_a_fit_refuses(people: Path, tmp_path: Path) -> None:
    draft = sklar.draft_schema(people)
    assert isinstance(draft, sklar.Schema)
    draft.write(tmp_path / "s.toml")
    read = sklar.Schema.read(tmp_path / "s.toml")
    assert read == draft
    assert stat.S_IMODE(os.stat(tmp_path / "s.toml").st_mode) == 0o600
    with pytest.raises(sklar.errors.SklarError, match="from-rows"):
        read.require_confirmed()
    confirmed = schema_from_toml(draft.toml().replace('"from-rows"', '"assumed"'))
    confirmed.require_confirmed()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("a,b\n", "no rows"),
        ("a,,c\n1,2,3\n", "no name"),
        ("a,a\n1,2\n", "same name"),
        ("id\n" + "".join(f"{i}\n" for i in range(50)), "no column"),
    ],
)
def test_files_without_anything_to_draft(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(SourceError, match=words):
        sklar.draft_schema(tmp_path / "x.csv")


def test_frames_with_unusable_names() -> None:
    with pytest.raises(SourceError, match="same name"):
        sklar.draft_schema(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]))
    with pytest.raises(SourceError, match="no name"):
        sklar.draft_schema(pa.table({" ": [1]}))
    with pytest.raises(UsageError, match="at least one row"):
        sklar.draft_schema(pa.table({"a": [1]}), rows=0)


def test_metadata_state_kinds_and_rows_give_domains(people: Path, tmp_path: Path) -> None:
    stated = {"age": "categorical", "sex": "unknown", "when": "datetime", "id": "numerical", "gone": "boolean"}
    document = {"columns": {name: {"sdtype": sdtype} for name, sdtype in stated.items()}}
    (tmp_path / "meta.json").write_text(json.dumps(document))
    draft = sklar.draft_schema(people, sdv=tmp_path / "meta.json")
    assert kinds(draft) == {"id": "integer", "age": "category", "sex": "ignore", "when": "datetime"}
    assert "'gone'" in draft.todo
    wrong = sklar.draft_schema(people, sdv={"columns": {"sex": {"sdtype": "numerical"}}})
    assert wrong["sex"].kind == "category" and "does not fit" in " ".join(wrong.notes["sex"])


@pytest.mark.slow
def test_a_draft_along_its_own_metadata_keeps_all_kinds() -> None:
    table = odd_table()
    plain = sklar.draft_schema(table)
    # Somebody confirmed it: what was read off the rows is not written.
    known = sklar.Schema({name: replace(column, source=()) for name, column in plain.items()})
    again = sklar.draft_schema(table, sdv=to_sdv(known))
    assert kinds(again) == kinds(plain)


def test_command(people: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "s.toml")
    result = run("schema", "draft", str(people), "-o", out)
    assert result.exit_code == 0, result.output
    assert "Next: sklar schema confirm" in result.stdout and "* age (integer)" in result.stdout
    assert kinds(sklar.Schema.read(out)) == KINDS
    assert run("schema", "draft", str(people), "-o", out).exit_code == 2
    again = run("schema", "draft", str(people), "-o", out, "--force", "--json")
    assert json.loads(again.stdout)["columns"]["age"]["kind"] == "integer"
    printed = run("schema", "draft", str(people), "-o", "-")
    assert schema_from_toml(printed.stdout) == sklar.Schema.read(out)
    assert "To do" in printed.stderr


def test_command_audit(people: Path, tmp_path: Path) -> None:
    schema = sklar.Schema({"age": sklar.Integer(30, 60), "sex": sklar.Category(["F"])})
    schema.write(tmp_path / "s.toml")
    plain = run("schema", "check", str(tmp_path / "s.toml"), str(people))
    assert plain.exit_code == 0 and "Exact counts of private rows" in plain.stdout
    assert "age: 76 of 200 values lie outside its bounds." in plain.stdout
    assert "sex: only 100 of 200 values are labels of the schema." in plain.stdout
    assert "Exact" not in run("schema", "check", str(tmp_path / "s.toml"), str(people), "--no-look").stdout
    words = sklar.Schema({"sex": sklar.Real(0, 9)})
    words.write(tmp_path / "w.toml")
    told = run("schema", "check", str(tmp_path / "w.toml"), str(people)).stdout
    assert "sex: none of 200 values can be read as numbers with a decimal point." in told
    audited = run("schema", "check", str(tmp_path / "s.toml"), str(people), "--audit", "--json")
    columns = {c["column"]: c for c in json.loads(audited.stdout)["audit"]["columns"]}
    assert (columns["age"]["below"], columns["age"]["above"], columns["age"]["inside"]) == (40, 36, 124)
    assert columns["sex"]["other"] == 100
    shown = run("schema", "check", str(tmp_path / "s.toml"), str(people), "--audit").stdout
    assert "Exact counts of private rows" in shown
    assert run("schema", "check", str(tmp_path / "s.toml"), "--audit").exit_code == 2


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(columns)


UNNAMED = '"",x,colour\n' + "".join(f'"car {i}",{i % 7},{"red" if i % 3 else "blue"}\n' for i in range(60))


def test_row_names_without_a_name_are_a_key_and_a_fit_needs_none(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(UNNAMED)
    draft = sklar.draft_schema(tmp_path / "r.csv")
    assert kinds(draft) == {"row": "id", "x": "integer", "colour": "category"}
    assert "row names" in " ".join(draft.notes["row"])
    confirmed = schema_from_toml(draft.toml().replace('"from-rows"', '"assumed"'))
    model = sklar.fit(tmp_path / "r.csv", confirmed, method="independent", epsilon=1.0, new_ledger=True)
    assert model.sample(5, seed=1).column_names == ["row", "x", "colour"]


@pytest.mark.parametrize("name", ["", "  ", "Unnamed: 0", "...1", "rownames"])
def test_an_index_in_front_is_a_key_in_every_source(name: str) -> None:
    table = pa.table([pa.array([7, 7, 9] * 10), pa.array(["a", "b", "c"] * 10)], names=[name, "row"])
    for data in (table, table.to_pandas(), pl.DataFrame({name: [7, 7, 9] * 10, "row": ["a", "b", "c"] * 10})):
        draft = sklar.draft_schema(data)
        assert kinds(draft) == {name if name.strip() else "row_2": "id", "row": "category"}


@pytest.mark.parametrize("name", ["X", "V1", "_c0", "column_0", "column0", "column00", "index", "level_0"])
def test_names_that_programs_give_an_index_mean_one_where_nothing_speaks_against_it(name: str) -> None:
    rows, colours = list(range(5, 35)), ["a", "b", "c"] * 10
    assert kinds(sklar.draft_schema(frame(**{name: rows, "colour": colours})))[name] == "id"
    assert kinds(sklar.draft_schema(pl.DataFrame({name: rows, "colour": colours})))[name] == "id"
    repeated = sklar.draft_schema(frame(**{name: [7, 7, 9] * 10, "colour": colours}))
    assert kinds(repeated)[name] != "id"
    numbered = sklar.draft_schema(frame(**{name: [3 * x * x for x in rows], name.rstrip("01") + "2": colours}))
    assert (kinds(numbered)[name] != "id") == (name != "index")  # whatever stands beside it, an index is one
    measured = sklar.draft_schema(frame(**{name: [x / 7 for x in rows], "colour": colours}))
    assert kinds(measured)[name] == "real"


def test_only_the_first_column_may_lack_a_name(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b,\n1,2,3\n")
    with pytest.raises(SourceError, match="number 3"):
        sklar.draft_schema(tmp_path / "x.csv")
    unnamed_later = sklar.draft_schema(frame(**{"a": [1, 2, 3] * 9, "Unnamed: 0": [3, 1, 2] * 9}))
    assert unnamed_later["Unnamed: 0"].kind == "integer"


def test_ordered_categories_keep_their_order_and_unseen_labels() -> None:
    order = ["wenig", "viel", "alles"]
    words = pd.Categorical(["viel", "alles", None] * 10, categories=order, ordered=True)
    draft = sklar.draft_schema(frame(x=words, y=pd.Categorical([3, 1] * 15, categories=[3, 2, 1], ordered=True)))
    assert draft["x"] == sklar.Ordinal(order, nullable=True, source="from-rows")
    assert draft["y"] == sklar.Ordinal([3, 2, 1], source="from-rows")
    plain = sklar.draft_schema(frame(x=pd.Categorical(["viel", "alles"] * 15, categories=order)))
    assert plain["x"].kind == "category"
    arrow = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 15), pa.array(order), ordered=True)
    assert sklar.draft_schema(pa.table({"x": arrow}))["x"] == sklar.Ordinal(order, source="from-rows")


def test_decimals_spans_times_of_day_and_zones() -> None:
    hours = pd.to_timedelta([1, 2, 5] * 20, unit="h")
    clock = [dt.time(i % 24, 7 * i % 60) for i in range(60)]
    zoned = pd.date_range("2024-01-01", periods=60, freq="h", tz="Europe/Berlin")
    money = [Decimal(i) / 100 + 100 for i in range(0, 6000, 100)]
    data = frame(
        spent=hours, at=clock, text_at=[t.isoformat() for t in clock], when=zoned, price=money, sure=[1, 0] * 30
    )
    draft = sklar.draft_schema(data)
    notes = {name: " ".join(draft.notes[name]) for name in draft}
    assert kinds(draft) == {
        "spent": "ignore", "at": "ignore", "text_at": "ignore", "when": "datetime", "price": "integer",
        "sure": "boolean",
    }  # fmt: skip
    assert "seconds" in notes["spent"] and "midnight" in notes["at"] and "midnight" in notes["text_at"]
    assert getattr(draft["when"], "zone") == "Europe/Berlin"  # noqa: B009
    cents = pa.array([Decimal(i) / 100 for i in range(60)], pa.decimal128(10, 2))
    assert getattr(sklar.draft_schema(pa.table({"price": cents}))["price"], "decimals") == 2  # noqa: B009


def test_metadata_of_several_tables_need_a_name(people: Path, tmp_path: Path) -> None:
    entry = {"columns": {"sex": {"sdtype": "unknown"}}}
    document = {"tables": {"people": entry, "stays": {"columns": {"x": {"sdtype": "boolean"}}}}}
    (tmp_path / "meta.json").write_text(json.dumps(document))
    command = ("schema", "draft", str(people), "-o", str(tmp_path / "s.toml"), "--sdv", str(tmp_path / "meta.json"))
    refused = run(*command)
    assert refused.exit_code == 1 and "--table" in refused.stderr and "people, stays" in refused.stderr
    assert run(*command, "--table", "people").exit_code == 0
    assert sklar.Schema.read(tmp_path / "s.toml")["sex"].kind == "ignore"
    assert run(*command, "--table", "cats", "--force").exit_code == 1
    with pytest.raises(UsageError, match="metadata"):
        sklar.draft_schema(people, table="people")


ROWS = ("39,State-gov,77516,13", "f,39,yes", "ann,3.5e2", "b,1984,7%", "1,Smith,F", "1,2,Smith", "1998,1999,Smith",
        "1990-01-01,Smith", "$5,Smith", "5.,Smith", "a,03/11/1950 10:00", "x," + "9" * 5000)  # fmt: skip


@pytest.mark.parametrize("line", ROWS)
def test_a_row_in_place_of_the_header_gives_no_names(line: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(line + "\n" + line + "\n")
    with pytest.raises(SourceError, match="has a number or a day for a name") as told:
        sklar.draft_schema(tmp_path / "t.csv")
    assert not any(cell in str(told.value) for cell in line.split(",") if len(cell) > 2)


def test_names_that_are_labels_of_their_columns_are_those_of_a_row(tmp_path: Path) -> None:
    rows = "".join(f"{'MF'[i % 2]},{'yes' if i % 3 else 'no'},person {i}\n" for i in range(40))
    (tmp_path / "t.csv").write_text("F,no,person z\n" + rows)
    with pytest.raises(SourceError, match="seems to be a row"):
        sklar.draft_schema(tmp_path / "t.csv")
    (tmp_path / "u.csv").write_text("sex,no,who\n" + rows)
    assert set(sklar.draft_schema(tmp_path / "u.csv")) == {"sex", "no", "who"}


@pytest.mark.parametrize("line", ["country,1999,2000,2001", "0,1,2", "1", ",0,1", "x1,x2", "age,nan"])
def test_columns_may_be_counted(line: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(line + "\n" + ",".join(str(5 + i) for i, _ in enumerate(line.split(","))) + "\n")
    assert set(line.split(",")) - set(sklar.draft_schema(tmp_path / "t.csv")) <= {""}
