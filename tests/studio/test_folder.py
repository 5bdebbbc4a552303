"""The folder of a studio: names of tables and models, what is kept, what is refused."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import sklar
from sklar.errors import OutputError, UsageError
from sklar.studio.folder import StudioFolder


def test_a_table_is_kept_with_what_belongs_to_it(tmp_path: Path) -> None:
    (tmp_path / "my people.csv").write_text("x\n1\n")
    folder = StudioFolder(tmp_path)
    entry = folder.new_table("my people.csv", "", {"delimiter": ";", "encoding": ""})
    assert (entry.name, entry.schema, entry.ledger) == ("my_people", "my_people.toml", "my people.csv.ledger")
    folder.change("my_people", by="Ada")
    again = StudioFolder(tmp_path).table("my_people")
    assert again.by == "Ada" and again.reading == {"delimiter": ";"}
    assert (tmp_path / ".sklar-studio" / "tables.json").stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="already"):
        folder.new_table("my people.csv", "my_people", {})
    assert [one.name for one in folder.candidates()] == []


def test_the_ledger_is_the_one_beside_the_rows_unless_there_is_one_called_after_the_table(tmp_path: Path) -> None:
    for name in ("a.csv", "a.csv.ledger", "a.ledger", "b.csv", "c.csv", "c.ledger"):
        (tmp_path / name).write_text("x\n")
    folder = StudioFolder(tmp_path)
    assert folder.new_table("a.csv", "", {}).ledger == "a.csv.ledger"
    assert folder.new_table("b.csv", "", {}).ledger == "b.csv.ledger"
    assert folder.new_table("c.csv", "", {}).ledger == "c.ledger"


def test_the_same_rows_are_taken_up_once(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv", "db.sqlite"):
        (tmp_path / name).write_text("x\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "a.csv")
    os.link(tmp_path / "a.csv", tmp_path / "hard.csv")
    os.link(tmp_path / "db.sqlite", tmp_path / "again.sqlite")
    folder = StudioFolder(tmp_path)
    folder.new_table("a.csv", "first", {})
    folder.new_table("db.sqlite", "visits", {"table": "visits"})
    folder.new_table("postgresql://ada@Host:5432/db?table=visits", "served", {})
    for source, table, known in (
        ("a.csv", "", "first"),
        ("link.csv", "", "first"),
        ("hard.csv", "", "first"),
        ("db.sqlite", "Visits", "visits"),
        ("again.sqlite", "visits", "visits"),
        ("postgres://bob@host/db?sslmode=require&table=public.visits", "", "served"),
    ):
        with pytest.raises(UsageError, match=f"are already the table {known}"):
            folder.new_table(source, "second", {"table": table})
    folder.new_table("b.csv", "", {})
    folder.new_table("db.sqlite", "", {"table": "people"})
    for number, address in enumerate(("host/db?table=people", "host/db2?table=visits", "other/db?table=visits")):
        folder.new_table(f"postgresql://{address}", f"p{number}", {})
    assert len(folder.tables()) == 8


def test_of_changes_at_the_same_time_none_is_lost(tmp_path: Path) -> None:
    folder = StudioFolder(tmp_path)

    def take_up(number: int) -> None:
        (tmp_path / f"t{number}.csv").write_text("x\n")
        folder.new_table(f"t{number}.csv", "", {})
        folder.change(f"t{number}", by="Ada")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(take_up, range(24)))
    assert {one.by for one in folder.tables().values()} == {"Ada"} and len(folder.tables()) == 24
    folder.forget("t3")
    assert "t3" not in folder.tables() and (tmp_path / "t3.csv").exists()


def test_numbers_of_models_and_samples_are_never_used_again(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n")
    folder = StudioFolder(tmp_path)
    entry = folder.new_table("t.csv", "", {})
    for name in ("t-1.sklar", "t-2.public.html", "t-1.sample-3.csv", "tt-9.sklar", "t-x.sklar"):
        (tmp_path / name).touch()
    assert folder.models(entry) == [1] and folder.next_model(entry) == 3 and folder.next_sample(entry, 1) == 4


def test_files_are_offered_unless_they_hold_synthetic_rows(tmp_path: Path) -> None:
    own = ("survey-2023.csv", "wave-1.csv", "patients.csv")
    for name in (*own, "wave_1-1.sample-2.csv", "wave_1-1.sample-1.sqlite", "wave_1-1.synthetic.csv", "wave_1-1.sklar"):
        (tmp_path / name).write_text("x\n1\n")
    assert [one.name for one in StudioFolder(tmp_path).candidates()] == sorted(own)


@pytest.mark.parametrize("name", ["", "a/b", "ä", "-", "a b", "x" * 41, "../x"])
def test_odd_names_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "+.csv").write_text("x\n")
    with pytest.raises(UsageError, match="letters"):
        StudioFolder(tmp_path).new_table("+.csv", name, {})


def test_database_tables_are_taken_up_without_passwords(tmp_path: Path) -> None:
    folder = StudioFolder(tmp_path)
    assert folder.new_table("postgresql://host/db?table=visits", "visits", {}).source.startswith("postgresql://")
    for address in ("postgresql://a:b@h/d", "postgresql://h/d?Password=x", "postgresql://a:1 b@h/d"):
        with pytest.raises(UsageError, match="omit the password"):
            folder.new_table(address, "t", {})
    for address in (
        "sqlite:////etc/x.db?table=t",
        "duckdb://../x.duckdb?table=t",
        "file:///etc/passwd",
        "http://h/t.csv",
    ):
        with pytest.raises(UsageError, match="files must be in the folder"):
            folder.new_table(address, "t", {})


def test_a_table_in_a_database_file_is_named(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "my clinic.sqlite") as database:
        database.execute("create table visits (age integer, sex text)")
        database.executemany("insert into visits values (?, ?)", [(30, "F"), (40, "M")] * 30)
    database.close()
    folder = StudioFolder(tmp_path)
    assert folder.new_table("my clinic.sqlite", "clinic", {}).source == "sqlite://my%20clinic.sqlite"  # as a whole
    with pytest.raises(UsageError, match="already the table clinic"):
        folder.new_table("my clinic.sqlite", "", {"table": "visits"})
    folder.forget("clinic")
    entry = folder.new_table("my clinic.sqlite", "", {"table": "visits"})
    assert entry.name == "visits" and [one.name for one in folder.candidates()] == ["my clinic.sqlite"]
    with contextlib.chdir(tmp_path):
        assert sklar.draft_schema(entry.source).names == ("age", "sex")
    (tmp_path / "t.csv").write_text("x\n1\n")
    with pytest.raises(UsageError, match="one table"):
        folder.new_table("t.csv", "t", {"table": "visits"})


def test_a_folder_of_tables_is_offered_unless_a_file_leads_out_of_it(tmp_path: Path) -> None:
    clinic = tmp_path / "clinic"
    clinic.mkdir()
    for name in ("patients.csv", "stays.csv"):
        (clinic / name).write_text("id\n1\n")
    (tmp_path / "notes").mkdir()
    folder = StudioFolder(tmp_path)
    (found,) = folder.candidates()
    assert (found.name, found.size, found.is_folder) == ("clinic", "2 tables", True)
    assert folder.new_table("clinic", "", {}).ledger == "clinic.ledger" and folder.candidates() == []
    with pytest.raises(UsageError, match="already the table"):
        folder.new_table("clinic", "again", {})
    (tmp_path / "elsewhere.csv").write_text("id\n1\n")
    (clinic / "more.csv").symlink_to(tmp_path / "elsewhere.csv")
    for wrong in ("clinic", ".sklar-studio", "..", "clinic/patients.csv"):
        with pytest.raises(UsageError, match="must be directly in the folder"):
            folder.place(wrong, folder=True)
    with pytest.raises(UsageError, match="must be directly in the folder"):
        folder.place("clinic")  # a folder is never handed out as a file


def test_a_damaged_list_and_a_folder_without_rights_are_told(tmp_path: Path) -> None:
    folder = StudioFolder(tmp_path)
    for text in ("[", '[{"name": "t"}]', "[{}]", "[1]"):
        (folder.state / "tables.json").write_text(text)
        with pytest.raises(UsageError, match="delete it"):
            folder.tables()
    with pytest.raises(UsageError, match="does not exist"):
        StudioFolder(tmp_path / "none")
    (tmp_path / "file").mkdir()
    (tmp_path / "file" / ".sklar-studio").write_text("")
    with pytest.raises(OutputError, match="can write"):
        StudioFolder(tmp_path / "file")
