"""The folder of a studio: names of tables and models, what is kept, what is refused."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

import sklar
from sklar.errors import OutputError, UsageError
from sklar.studio.folder import StudioFolder


def test_a_table_is_kept_with_what_belongs_to_it(tmp_path: Path) -> None:
    (tmp_path / "my people.csv").write_text("x\n1\n")
    folder = StudioFolder(tmp_path)
    entry = folder.new_table("my people.csv", "", {"delimiter": ";", "encoding": ""})
    assert (entry.name, entry.schema, entry.ledger) == ("my_people", "my_people.toml", "my_people.ledger")
    folder.change("my_people", by="Ada")
    again = StudioFolder(tmp_path).table("my_people")
    assert again.by == "Ada" and again.reading == {"delimiter": ";"}
    assert (tmp_path / ".sklar-studio" / "tables.json").stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="already"):
        folder.new_table("my people.csv", "my_people", {})
    assert folder.candidates() == []


def test_the_ledger_beside_the_rows_is_used_if_it_is_there(tmp_path: Path) -> None:
    for name in ("a.csv", "a.csv.ledger", "b.csv"):
        (tmp_path / name).write_text("x\n")
    folder = StudioFolder(tmp_path)
    assert folder.new_table("a.csv", "", {}).ledger == "a.csv.ledger"
    assert folder.new_table("b.csv", "", {}).ledger == "b.ledger"


def test_numbers_of_models_and_samples_are_never_used_again(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n")
    folder = StudioFolder(tmp_path)
    entry = folder.new_table("t.csv", "", {})
    for name in ("t-1.sklar", "t-2.public.html", "t-1.sample-3.csv", "tt-9.sklar", "t-x.sklar"):
        (tmp_path / name).touch()
    assert folder.models(entry) == [1] and folder.next_model(entry) == 3 and folder.next_sample(entry, 1) == 4


@pytest.mark.parametrize("name", ["", "a/b", "ä", "-", "a b", "x" * 41, "../x"])
def test_odd_names_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "+.csv").write_text("x\n")
    with pytest.raises(UsageError, match="letters"):
        StudioFolder(tmp_path).new_table("+.csv", name, {})


def test_database_tables_are_taken_up_without_passwords(tmp_path: Path) -> None:
    folder = StudioFolder(tmp_path)
    assert folder.new_table("postgresql://host/db?table=visits", "visits", {}).source.startswith("postgresql://")
    for address in ("postgresql://a:b@h/d", "postgresql://h/d?Password=x", "postgresql://a:1 b@h/d"):
        with pytest.raises(UsageError, match="leave the password out"):
            folder.new_table(address, "t", {})
    for address in (
        "sqlite:////etc/x.db?table=t",
        "duckdb://../x.duckdb?table=t",
        "file:///etc/passwd",
        "http://h/t.csv",
    ):
        with pytest.raises(UsageError, match="files lie in the folder"):
            folder.new_table(address, "t", {})


def test_a_table_in_a_database_file_is_named(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "my clinic.sqlite") as database:
        database.execute("create table visits (age integer, sex text)")
        database.executemany("insert into visits values (?, ?)", [(30, "F"), (40, "M")] * 30)
    database.close()
    folder = StudioFolder(tmp_path)
    with pytest.raises(UsageError, match="name one of them"):
        folder.new_table("my clinic.sqlite", "clinic", {})
    entry = folder.new_table("my clinic.sqlite", "", {"table": "visits"})
    assert entry.name == "visits" and folder.candidates() == ["my clinic.sqlite"]
    with contextlib.chdir(tmp_path):
        assert sklar.draft_schema(entry.source).names == ("age", "sex")
    (tmp_path / "t.csv").write_text("x\n1\n")
    with pytest.raises(UsageError, match="one table"):
        folder.new_table("t.csv", "t", {"table": "visits"})


def test_a_damaged_list_and_a_folder_without_rights_are_told(tmp_path: Path) -> None:
    folder = StudioFolder(tmp_path)
    (folder.state / "tables.json").write_text("[")
    with pytest.raises(UsageError, match="delete it"):
        folder.tables()
    with pytest.raises(UsageError, match="no folder"):
        StudioFolder(tmp_path / "none")
    (tmp_path / "file").mkdir()
    (tmp_path / "file" / ".sklar-studio").write_text("")
    with pytest.raises(OutputError, match="can write"):
        StudioFolder(tmp_path / "file")
