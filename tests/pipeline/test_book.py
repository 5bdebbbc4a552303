"""One ledger a table: a named one must exist, a new one is told, and a file has one ledger under all its names."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pandas as pd
import pytest

import sklar
from sklar.accounting.ledger import create_ledger, read_ledger
from sklar.errors import LedgerError, NewLedgerWarning, OtherLedgerWarning, SklarWarning, UsageError
from sklar.pipeline.fit.pay import pay
from tests.hostile.checks import QUICK, SCHEMA, run

ROWS = "x,c\n" + "1,a\n2,b\n" * 40


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "people.csv").write_text(ROWS)
    SCHEMA.write(tmp_path / "people.toml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fit(data: object, **settings: object) -> list[str]:
    """Fit, and give the warnings about ledgers."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sklar.fit(data, SCHEMA, **{**QUICK, **settings})
    about = [w for w in caught if issubclass(w.category, NewLedgerWarning | OtherLedgerWarning)]
    assert all(w.filename == __file__ for w in about)  # they point at the call
    return [str(w.message) for w in about]


def fits(ledger: Path) -> int:
    return len(read_ledger(ledger).fits)


def test_a_named_ledger_must_exist(place: Path) -> None:
    for call in (
        lambda: fit("people.csv", ledger="mine.ledger"),
        lambda: fit({"x": [1], "c": ["a"]}, ledger=place / "mine.ledger"),
        lambda: fit("people.csv", ledger="people.csv.ledger"),
        lambda: pay("people.csv", paying(), epsilon=1.0, ledger="mine.ledger"),
    ):
        with pytest.raises(LedgerError, match=r"sklar ledger create.*--new-ledger.*Nothing was read"):
            call()
    assert not list(place.glob("*.ledger"))


def paying() -> sklar.Schema:
    return sklar.Schema({"x": sklar.Integer(0, 9, nullable=True, source={"lower": "pay", "upper": "pay"})})


def test_a_new_one_is_made_if_asked_for_and_said_aloud(place: Path) -> None:
    (told,) = fit("people.csv", ledger="mine.ledger", new_ledger=True)
    assert told.startswith(f"new ledger without a cap: {place / 'mine.ledger'}.")
    assert fit("people.csv", ledger="mine.ledger") == [] and fits(place / "mine.ledger") == 2
    with pytest.warns(NewLedgerWarning, match="new ledger without a cap"):
        pay("people.csv", paying(), epsilon=1.0, ledger="facts.ledger", new_ledger=True)


def test_new_ledger_needs_a_name(place: Path) -> None:
    with pytest.raises(UsageError, match="name one"):
        fit({"x": [1], "c": ["a"]}, new_ledger=True)


def test_the_default_ledger_is_said_aloud_once(place: Path) -> None:
    (told,) = fit("people.csv")
    assert told.startswith(f"new ledger without a cap: {place / 'people.csv.ledger'}.")
    assert fit("people.csv") == []


def test_a_fit_that_failed_before_anything_was_reserved_does_not_make_the_next_one_silent(place: Path) -> None:
    (place / "people.csv").write_text("nothing\n")
    with pytest.raises(sklar.errors.SklarError):
        fit("people.csv")
    (place / "people.csv").write_text(ROWS)
    assert "new ledger without a cap" in fit("people.csv")[0]


def test_a_ledger_with_a_cap_needs_no_words(place: Path) -> None:
    create_ledger("people.ledger", "people", epsilon=3, delta=3e-9)
    assert fit("people.csv", ledger="people.ledger") == []


@pytest.mark.parametrize(
    "name", ["people.csv", "./people.csv", "sub/../people.csv", "link.csv", "sub/link.csv", "hard.csv"]
)
def test_one_file_has_one_ledger_under_all_its_names(place: Path, name: str) -> None:
    (place / "sub").mkdir()
    (place / "link.csv").symlink_to(place / "people.csv")
    (place / "sub" / "link.csv").symlink_to(place / "people.csv")
    fit(place / "people.csv")
    os.link(place / "people.csv", place / "hard.csv")
    assert fit(name) == []
    assert fits(place / "people.csv.ledger") == 2
    assert {path.name for path in place.rglob("*.ledger")} == {"people.csv.ledger"}


def test_a_folder_of_rows_behind_a_link(place: Path) -> None:
    (place / "rows").mkdir()
    (place / "people.csv").rename(place / "rows" / "people.csv")
    (place / "link").symlink_to(place / "rows")
    fit("link")
    assert fit("rows") == [] and fits(place / "rows.ledger") == 2 and not (place / "link.ledger").exists()


@pytest.fixture
def nested(place: Path) -> Path:
    """A folder of rows with one file in a folder of its own."""
    (place / "rows" / "2020").mkdir(parents=True)
    (place / "people.csv").rename(place / "rows" / "2020" / "people.csv")
    return place


@pytest.mark.parametrize("folder", ["rows", "rows/2020"])
def test_a_used_up_folder_stops_a_fit_of_a_file_in_it(nested: Path, folder: str) -> None:
    """The review's case: the ledger beside the file would have said "the only fit so far"."""
    cap = nested / f"{folder}.ledger"
    create_ledger(cap, "rows", epsilon=1, delta=0)
    fit("rows/2020/people.csv", ledger=cap)
    spent = cap.read_bytes()
    for call in (
        lambda: fit("rows/2020/people.csv"),
        lambda: pay("rows/2020/people.csv", paying(), epsilon=1.0),
    ):
        with pytest.raises(LedgerError, match=rf"{cap} is also a ledger.*--ledger"):
            call()
    with pytest.raises(sklar.errors.OverspendError):
        fit("rows/2020/people.csv", ledger=cap)
    assert cap.read_bytes() == spent and [path.name for path in nested.rglob("*.ledger")] == [cap.name]


@pytest.mark.parametrize("name", ["people.csv.ledger", "people.ledger"])
def test_a_used_up_file_stops_a_fit_of_its_folder(nested: Path, name: str) -> None:
    cap = nested / "rows" / "2020" / name
    create_ledger(cap, "people", epsilon=1, delta=0)
    fit("rows/2020/people.csv", ledger=cap)
    for folder in ("rows", "rows/2020", "rows/../rows"):
        with pytest.raises(LedgerError, match=rf"{cap} is also a ledger.*--ledger"):
            fit(folder)
    assert len(list(nested.rglob("*.ledger"))) == 1


def test_a_ledger_that_is_named_is_taken_and_the_other_is_told(nested: Path) -> None:
    create_ledger("rows.ledger", "rows", epsilon=9, delta=0)
    create_ledger("mine.ledger", "mine", epsilon=9, delta=0)
    assert fit("rows/2020/people.csv", ledger="rows.ledger") == []
    (told,) = fit("rows/2020/people.csv", ledger="mine.ledger")
    assert f"{nested / 'rows.ledger'} is also a ledger" in told


def test_the_ledger_of_one_of_two_tables_stops_a_fit_of_both(place: Path) -> None:
    (place / "homes.csv").write_text("home,size\n1,2\n2,3\n")
    (place / "people.csv").write_text("home,x\n1,1\n2,2\n")
    homes = sklar.Schema({"home": sklar.Id(), "size": sklar.Integer(0, 9)})
    people = sklar.Schema({"home": sklar.Id(), "x": sklar.Integer(0, 9)})
    both = sklar.Tables({"homes": homes, "people": people}, keys={"people": ("home", "homes")}, person="homes")
    create_ledger("people.csv.ledger", "people", epsilon=1, delta=0)
    with pytest.raises(LedgerError, match=r"people.csv.ledger is also a ledger"):
        sklar.fit({"homes": "homes.csv", "people": "people.csv"}, both, epsilon=1.0)


def test_ledgers_of_other_folders_and_of_no_file_stop_nothing(nested: Path) -> None:
    create_ledger("row.ledger", "row", epsilon=9, delta=0)
    create_ledger("rows/2021.ledger", "2021", epsilon=9, delta=0)
    (nested / "rows" / "2020" / "notes.ledger").write_text("no ledger at all")
    assert len(fit("rows/2020/people.csv")) == 1


def test_a_ledger_behind_a_link_is_the_same_ledger(place: Path) -> None:
    create_ledger("people.ledger", "people", epsilon=3, delta=0)
    (place / "link.ledger").symlink_to(place / "people.ledger")
    assert fit("people.csv", ledger="link.ledger") == []
    assert sklar.Ledger.open("link.ledger").path == place / "people.ledger"
    assert read_ledger("link.ledger").path == place / "people.ledger"


def test_the_default_ledger_is_noticed_when_another_is_named(place: Path) -> None:
    fit("people.csv")
    create_ledger("mine.ledger", "mine", epsilon=3, delta=0)
    (told,) = fit("people.csv", ledger="mine.ledger")
    assert f"{place / 'people.csv.ledger'} is also a ledger of these rows" in told
    assert str(place / "mine.ledger") in told


@pytest.mark.parametrize(
    ("file", "name"), [("people.ledger", "anyone"), ("a.ledger", "people"), ("b.ledger", "people.csv")]
)
def test_a_ledger_of_the_same_name_beside_the_rows_stops_a_fit_that_names_none(
    place: Path, file: str, name: str
) -> None:
    """It was only warned of, once the new ledger beside the rows had been charged beyond its cap."""
    create_ledger(file, name, epsilon=1, delta=0)
    fit("people.csv", ledger=file)
    with pytest.raises(LedgerError, match=rf"{place / file} is also a ledger.*--ledger"):
        fit("people.csv")
    assert [path.name for path in place.glob("*.ledger")] == [file]


@pytest.mark.parametrize(
    ("file", "name"), [("rows/rows.ledger", "any"), ("rows/budget.ledger", "rows"), ("all.ledger", "rows")]
)
def test_a_ledger_in_a_folder_or_of_its_dataset_stops_a_fit_that_names_none(nested: Path, file: str, name: str) -> None:
    create_ledger(file, name, epsilon=1, delta=0)
    for rows in ("rows", "rows/2020/people.csv"):
        with pytest.raises(LedgerError, match=rf"{nested / file} is also a ledger.*--ledger"):
            fit(rows)
    assert [path.name for path in nested.rglob("*.ledger")] == [Path(file).name]


def test_a_used_up_file_stops_a_fit_of_a_folder_that_links_to_it(place: Path) -> None:
    fit("people.csv")
    (place / "links").mkdir()
    (place / "links" / "p.csv").symlink_to(place / "people.csv")
    with pytest.raises(LedgerError, match=r"people.csv.ledger is also a ledger"):
        fit("links")


@pytest.mark.parametrize("file", ["'homes.parquet'", '"homes.parquet"', "read_parquet($$homes.parquet$$)"])
def test_a_used_up_file_stops_a_query_that_reads_it(place: Path, file: str) -> None:
    """The query was charged to the ledger of the file that it was handed, whatever it read."""
    frame = pd.read_csv("people.csv")
    frame.to_parquet(place / "homes.parquet")
    fit("homes.parquet")
    read = sklar.ReadOptions(sql=f"SELECT * FROM {file}")
    for rows in ("people.csv", frame):
        with pytest.raises(
            LedgerError, match=r"homes.parquet.ledger is also a ledger of rows of .*homes.parquet.*--ledger"
        ):
            fit(rows, read=read)
    create_ledger("both.ledger", "both", epsilon=9, delta=0)
    fit("people.csv", read=read, ledger="both.ledger")
    assert fit("homes.parquet", read=read) == []


def test_ledgers_of_other_tables_are_not_noticed(place: Path) -> None:
    create_ledger("hospital.ledger", "hospital", epsilon=3, delta=3e-9)
    (place / "people.csv.old.ledger").write_text("no ledger at all")
    os.mkfifo(place / "pipe.ledger")
    assert len(fit("people.csv")) == 1


def test_a_damaged_ledger_that_goes_by_the_name_of_the_rows_is_noticed(place: Path) -> None:
    (place / "people.ledger").write_text("no ledger at all")
    with pytest.raises(LedgerError, match=r"people.ledger is also a ledger"):
        fit("people.csv")
    create_ledger("mine.ledger", "mine", epsilon=3, delta=0)
    assert "is also a ledger" in fit("people.csv", ledger="mine.ledger")[0]


def test_the_command_says_it_on_standard_error(place: Path) -> None:
    words = ["people.csv", "-s", "people.toml", "-e", 1, "--delta", 0, "-m", "independent", "-O", "repair=clip"]
    refused = run("fit", *words, "--ledger", "mine.ledger", "-o", "m.sklar")
    assert (
        refused.code == 1 and refused.err.startswith("Error: the ledger mine.ledger does not exist") and not refused.out
    )
    made = run("synth", *words, "--ledger", "mine.ledger", "--new-ledger", "-o", "out.csv", "--json")
    assert made.code == 0 and f'{{"warning": "new ledger without a cap: {place / "mine.ledger"}' in made.err
    assert "new ledger" not in made.out
    other = run("fit", *words, "-o", "m.sklar")
    assert "Warning: new ledger" in other.err and "is also a ledger" not in other.err
    both = run("fit", *words, "--ledger", "mine.ledger", "-o", "n.sklar")
    assert both.code == 0 and "people.csv.ledger" in both.err and both.err.startswith("Warning: by its name, ")


def test_all_warnings_have_one_base() -> None:
    from sklar import errors

    ours = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Warning)]
    assert len(ours) >= 5 and all(issubclass(kind, SklarWarning) for kind in ours)
