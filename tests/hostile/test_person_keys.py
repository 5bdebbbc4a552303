"""Keys of persons, planted as markers, are looked for in everything that leaves; and bad input about persons."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import sklar
from sklar.accounting.ledger import read_ledger
from sklar.errors import SklarError
from sklar.rows.persons import gather
from tests.hostile.test_canary import texts_of

CANARY = "CANARY7f3aK"
COLUMNS = {"year": sklar.Integer(2000, 2009), "ill": sklar.Category(["no", "yes"])}


def panel(**person: Any) -> sklar.Schema:
    return sklar.Schema({"id": sklar.Id(), **COLUMNS}, person=sklar.Person(**{"key": "id", "rows": 3, **person}))


def pair(**said: Any) -> sklar.Tables:
    tables = {
        "people": sklar.Schema({"id": sklar.Id(), "sex": sklar.Category(["F", "M"])}),
        "visits": sklar.Schema({"of": sklar.Id(), **COLUMNS}, person=sklar.Person(key="of", rows=3, order="year")),
    }
    return sklar.Tables(**{"tables": tables, "keys": {"visits": ("of", "people")}, "person": "people", **said})


KINDS: dict[str, sklar.Schema] = {
    "flat": panel(linked=False),
    "ordered": panel(order="year"),
    "two tables": pair().schema,
}


def visits(key: str = "id", persons: int = 150) -> pa.Table:
    """Persons of 1 to 6 rows in random order; the keys carry the marker."""
    rng = np.random.default_rng(3)
    of = rng.permutation(np.repeat(np.arange(persons), rng.integers(1, 7, persons)))
    years, ill = rng.integers(2000, 2010, len(of)), rng.choice(["no", "yes"], len(of))
    return pa.table({key: [f"{CANARY}-{k}" for k in of], "year": years, "ill": ill})


def written(folder: Path, kind: str) -> Path:
    """Files with the rows; those of a person lie in several."""
    folder.mkdir()
    if kind == "two tables":
        pyarrow.csv.write_csv(visits("of"), folder / "visits.csv")
        people = {"id": [f"{CANARY}-{k}" for k in range(160)], "sex": ["F", "M"] * 80}
        pyarrow.csv.write_csv(pa.table(people), folder / "people.csv")
    else:
        pyarrow.csv.write_csv(visits()[::2], folder / "a.csv")
        pyarrow.csv.write_csv(visits()[1::2], folder / "b.csv")
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_no_key_in_anything_that_leaves(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any, caplog: Any
) -> None:
    data, public, scratch = written(tmp_path / "private", kind), tmp_path / "public", tmp_path / "scratch"
    public.mkdir()
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.setattr(gather.Gathering.__init__, "__defaults__", (1_000,))  # rows of persons go to disk
    caplog.set_level("DEBUG")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = sklar.fit(data, KINDS[kind], epsilon=2.0, ledger=public / "l.ledger", new_ledger=True)
    model.save(public / "m.sklar")
    model.report(public / "report.html")
    model.write_rows(f"{public}/synthetic/" if kind == "two tables" else public / "synthetic.csv", 50, seed=1)
    found = sklar.verify(public / "m.sklar", ledger=public / "l.ledger")
    assert found.ok
    sampled = model.sample(50, seed=1) if kind == "flat" else model.sample_persons(30, seed=1)
    said = [repr(model), str(model.claim), repr(model.inspect()), repr(model.claim), str(found), repr(sampled)]
    said += [str(warning.message) for warning in told] + [caplog.text, *capfd.readouterr()]
    rows = sampled if isinstance(sampled, dict) else {"rows": sampled}
    said += [str(table.to_pylist()) for table in rows.values()]
    assert len(texts_of(public)) > 4
    for name, text in {**texts_of(public), **texts_of(scratch), **dict(enumerate(said))}.items():
        assert CANARY not in text, name
    assert not list(scratch.iterdir())


DRIVER = """
import os, signal, sys, tempfile
import sklar
from sklar.rows.persons import gather
from tests.hostile.test_person_keys import KINDS
data, ledger = sys.argv[1:]
gather.Gathering.__init__.__defaults__ = (1_000,)
real = gather.Gathering.parts
def parts(self):
    yield from list(real(self))[:1]
    os.kill(os.getpid(), signal.SIGKILL)
gather.Gathering.parts = parts
sklar.fit(data, KINDS["ordered"], epsilon=2.0, ledger=ledger, new_ledger=True)
"""


@pytest.mark.slow
def test_a_fit_that_is_killed_while_rows_are_on_disk_leaves_no_key(tmp_path: Path) -> None:
    data, scratch = written(tmp_path / "private", "ordered"), tmp_path / "scratch"
    scratch.mkdir()
    environment = {**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-c", DRIVER, str(data), str(tmp_path / "l.ledger")],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    assert run.returncode == -signal.SIGKILL, run.stderr
    left = {name: text for name, text in texts_of(tmp_path).items() if name not in ("a.csv", "b.csv")}
    assert set(left) <= {"l.ledger"}
    for name, text in {**left, "said": run.stdout + run.stderr}.items():
        assert CANARY not in text, name
    assert not list(scratch.iterdir())


def with_years(values: list[Any]) -> pa.Table:
    return visits().set_column(1, "year", pa.array(values))


def keyed(values: list[Any]) -> pa.Table:
    return visits().set_column(0, "id", pa.array(values, pa.string()))


N = len(visits())
GAPS = panel(order="year", linked=False).with_columns({"year": sklar.Integer(2000, 2009, nullable=True)})
WORKS: dict[str, tuple[pa.Table, sklar.Schema]] = {
    "one key for all rows": (keyed([CANARY] * N), panel(linked=False)),
    "all keys null": (keyed([None] * N), panel(linked=False)),
    "order with ties": (with_years([2003] * N), panel(order="year", linked=False)),
    "order with nulls": (with_years([None, 2001, *[2003] * (N - 2)]), GAPS),
    "order of nulls alone": (with_years(pa.nulls(N, pa.int64()).to_pylist()), GAPS),
}


@pytest.mark.filterwarnings("ignore::sklar.errors.SklarWarning")
@pytest.mark.parametrize("case", WORKS)
def test_odd_keys_and_orders_work_as_documented(case: str) -> None:
    rows, facts = WORKS[case]
    model = sklar.fit(rows, facts, method="independent", epsilon=200.0)
    alone = case in ("one key for all rows", "all keys null")
    # Noise at this epsilon is far below one person.
    assert abs(model.table_model.rows_estimate - (1 if alone else 150)) < 10
    assert CANARY not in str(model.claim)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklar.errors.SklarWarning")
def test_a_child_without_a_parent_and_parents_with_one_key_work_as_documented(tmp_path: Path) -> None:
    parents = pa.table({"id": [f"{CANARY}-{k // 2}" for k in range(160)], "sex": ["F", "M"] * 80})
    data = {"people": parents, "visits": visits("of")}  # 80 parents, each twice; half of the children have none
    model = sklar.fit(data, pair(), epsilon=200.0, ledger=tmp_path / "l", new_ledger=True)
    found = model.sample_persons(seed=1)
    assert abs(found["people"].num_rows - 80) < 10
    assert set(found["visits"]["of"].to_pylist()) <= set(found["people"]["id"].to_pylist())


def refused(what: Callable[[Path], Any], folder: Path) -> str:
    with pytest.raises(SklarError) as caught:
        what(folder)
    return str(caught.value)


ASKED: dict[str, Any] = {"epsilon": 1.0, "new_ledger": True}
REFUSED: dict[str, tuple[Callable[[Path], Any], str]] = {
    **{
        f"rows = {rows}": (lambda _, rows=rows: panel(rows=rows), "rows must be a whole number from 1 to 1,000")
        for rows in (0, -1, 10**9, 2.5, "many", True)
    },
    "a key that is not there": (
        lambda folder: sklar.fit(visits("other"), panel(), ledger=folder / "l", **ASKED),
        "lacks column 'id'",
    ),
    "a key twice": (
        lambda folder: sklar.fit(
            pa.Table.from_arrays([*visits().columns, visits()["id"]], ["id", "year", "ill", "id"]),
            panel(), ledger=folder / "l", **ASKED,
        ),
        "'id'",
    ),
    "an order that is no number": (lambda _: panel(order="ill"), "order must be a modelled column of kind"),
    "keys in a circle": (
        lambda _: pair(keys={"visits": ("of", "people"), "people": ("id", "visits")}),
        "two tables are joined by one key",
    ),
    "a table that is its own parent": (lambda _: pair(keys={"people": ("id", "people")}), "points to its own table"),
    "no table of parents": (
        lambda folder: sklar.fit({"visits": visits("of")}, pair(), ledger=folder / "l", **ASKED),
        "no table 'people'",
    ),
    "rows without their key": (
        lambda folder: sklar.fit({"people": visits(), "visits": visits()}, pair(), ledger=folder / "l", **ASKED),
        "column",
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklar.errors.SklarWarning")
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_said_without_a_key_and_charges_nothing(case: str, tmp_path: Path) -> None:
    what, words = REFUSED[case]
    said = refused(what, tmp_path)
    assert words in said and CANARY not in said
    assert not (tmp_path / "l").exists() or not read_ledger(tmp_path / "l").fits
