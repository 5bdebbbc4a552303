"""Persons of whom rows are known: these stay, rows that follow have the law of a filter, and rules across rows hold."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pytest
from typer.testing import CliRunner

import sklar
from sklar.cli.main import app
from sklar.errors import SklarWarning, UsageError
from tests.pipeline import test_linked as panel
from tests.pipeline import test_tables as clinic

Rows = list[tuple[int, str, str]]


@pytest.fixture(scope="module")
def model() -> sklar.Model:
    return panel.scripted(epsilon=9.0)


@pytest.fixture(scope="module")
def family() -> sklar.Model:
    return clinic.scripted(epsilon=9.0)


@pytest.fixture(scope="module")
def everyone(model: sklar.Model) -> list[Rows]:
    return [*panel.by_person(model.sample_persons(20_000, seed=1, iid=True)).values()]


def known(history: Rows, persons: int) -> pa.Table:
    """So many persons with the same rows."""
    columns = {name: [row[at] for row in history] * persons for at, name in enumerate(("year", "group", "state"))}
    return pa.table({"id": np.repeat(np.arange(persons), len(history)), **columns})


def law(persons: list[Rows]) -> dict[Any, float]:
    """Shares of persons by their number of rows, and the year and state of the last."""
    counts = Counter((len(rows), rows[-1][0], rows[-1][2]) for rows in persons)
    return {cell: count / len(persons) for cell, count in counts.items()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("history", "near"),
    [
        ([(2000, "x", "b")], 0.08),
        ([(2001, "y", "a"), (2002, "y", "a")], 0.1),
        ([(2000, "x", "b"), (2002, "x", "b")], 0.1),
        ([(2000, "x", "b"), (2001, "x", "end")], 0.0),
    ],
)  # fmt: skip
def test_rows_follow_as_those_that_a_filter_leaves(
    model: sklar.Model, everyone: list[Rows], history: Rows, near: float
) -> None:
    """They are .04 to .05 apart, as halves of those that a filter leaves are from each other; nobody goes on from an
    end."""
    found = [*panel.by_person(model.complete(known(history, 2_000), seed=2)).values()]
    assert len(found) == 2_000
    assert all(rows[: len(history)] == history for rows in found)
    assert all(a[0] < b[0] and a[2] != "end" for rows in found for a, b in itertools.pairwise(rows))
    one, other = law(found), law([rows for rows in everyone if rows[: len(history)] == history])
    assert sum(abs(one.get(cell, 0.0) - other.get(cell, 0.0)) for cell in {*one, *other}) / 2 <= near


def test_given_cells_stay_and_gaps_are_filled(model: sklar.Model) -> None:
    given = pa.table({
        "note": [1, 2, 3, 4], "id": ["q", "p", "q", "r"], "year": [2003, 2000, 2001, 2005],
        "group": [None, "y", "x", None], "state": ["b", None, "a", "a"],
    })  # fmt: skip
    done = model.complete(given, seed=3)
    assert done.column_names == given.column_names
    persons: dict[str, list[Any]] = {}
    for row in done.to_pylist():
        persons.setdefault(row["id"], []).append(row)
    assert list(persons) == ["q", "p", "r"]  # as they came
    assert [row["note"] for row in persons["q"]][:2] == [3, 1]
    assert {row["group"] for row in persons["q"]} == {"x"}
    assert persons["p"][0]["state"] in ("a", "b", "end")
    assert persons["r"][0]["group"] in ("x", "y")
    assert all(row["note"] is None for rows in persons.values() for row in rows[2:])
    assert b"no privacy is promised" in done.schema.metadata[b"sklar.completed"]
    assert done.equals(model.complete(given, seed=3))


def test_what_a_first_row_says_nothing_of_is_drawn_from_the_model(model: sklar.Model, everyone: list[Rows]) -> None:
    """Groups of persons who begin with b: 80% are x; of all a half."""
    done = model.complete(pa.table({"id": range(2_000), "state": ["b"] * 2_000}), seed=4)
    found = [*panel.by_person(done).values()]
    share = [np.mean([rows[0][1] == "x" for rows in some]) for some in
             (found, [rows for rows in everyone if rows[0][2] == "b"])]  # fmt: skip
    assert abs(share[0] - share[1]) < 0.05
    assert share[0] > 0.65


def test_more_rows_than_any_person_has_stay_as_they_are(model: sklar.Model) -> None:
    history: Rows = [(2000 + at, "x", "b") for at in range(6)]
    assert panel.by_person(model.complete(known(history, 3), seed=5)) == dict.fromkeys(range(3), history)


def test_rows_that_break_a_rule_across_rows_are_named(model: sklar.Model) -> None:
    given = known([(2000, "x", "b"), (2001, "x", "end"), (2002, "x", "a")], 1)
    with pytest.warns(SklarWarning, match=r"1 of 3 rows.*\(rows 3\)"):
        done = model.complete(given, seed=6)
    assert done.column("state").to_pylist()[:3] == ["b", "end", "a"]


def test_rows_are_drawn_for_known_parents(family: sklar.Model) -> None:
    parents = pa.table({"id": [f"P{at}" for at in range(1_500)], "kind": ["b"] * 1_500, "name": ["n"] * 1_500})
    found = family.complete({"p": parents}, seed=7)
    assert found["p"].equals(parents)
    assert set(found["c"]["of"].to_pylist()) <= set(parents["id"].to_pylist())
    free = family.sample_persons(3_000, seed=8, given={"kind": "b"}, iid=True)
    names = {key: at for at, key in enumerate(parents["id"].to_pylist())}
    told = [
        (np.bincount(np.bincount(owner, minlength=persons), minlength=4) / persons, np.mean([w == "y" for w in wards]))
        for owner, wards, persons in (
            ([names[key] for key in found["c"]["of"].to_pylist()], found["c"]["ward"].to_pylist(), 1_500),
            ([key - 1 for key in free["c"]["of"].to_pylist()], free["c"]["ward"].to_pylist(), 3_000),
        )
    ]
    assert np.abs(told[0][0] - told[1][0]).max() < 0.08
    assert abs(told[0][1] - told[1][1]) < 0.06
    assert all(b["day"] >= a["day"] for a, b in itertools.pairwise(found["c"].to_pylist()) if a["of"] == b["of"])


def test_rows_of_parents_go_on(family: sklar.Model) -> None:
    parents = pa.table({"id": range(200), "kind": ["a"] * 200})
    rows = pa.table({"of": [*range(100)] * 2, "day": [8] * 100 + [3] * 100, "ward": ["x"] * 200})
    found = family.complete({"p": parents, "c": rows}, seed=9)["c"].to_pylist()
    first = {key: [row["day"] for row in found if row["of"] == key] for key in range(200)}
    assert all(first[key][:2] == [3, 8] and len(first[key]) <= 3 for key in range(100))
    assert any(len(first[key]) == 3 for key in range(100))
    assert any(len(first[key]) > 0 for key in range(100, 200))


def test_tables_without_rows_stay_without(model: sklar.Model, family: sklar.Model, tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("id,state\n")
    for none in (pa.table({"id": pa.array([], pa.string()), "state": pa.array([], pa.string())}),
                 pd.DataFrame({"id": [], "state": []}), tmp_path / "none.csv"):  # fmt: skip
        done = model.complete(none, seed=1)
        assert len(done) == 0
        names = done.column_names if isinstance(done, pa.Table) else list(done)
        assert set(names) == {"id", *model.schema.modelled}
    parents = pa.table({"id": range(30), "kind": ["a"] * 30})
    alone, none = ({"p": parents}, {"p": parents, "c": pa.table({"of": pa.array([], pa.int64())})})
    assert family.complete(none, seed=2)["c"].equals(family.complete(alone, seed=2)["c"])


def test_keys_are_told_apart_as_in_a_fit(model: sklar.Model, family: sklar.Model) -> None:
    """Spaces and a fraction of zeros tell no two persons, leading zeros do; bytes are texts."""
    given = pa.table({"id": ["7", "07", " 7.0 "], "year": [2000, 2000, 2001], "state": ["a", "b", "b"]})
    persons: dict[Any, Any] = {**panel.by_person(model.complete(given, seed=1))}
    assert list(persons) == ["7", "07"]
    assert [row[::2] for row in persons["7"][:2]] == [(2000, "a"), (2001, "b")]
    bare = pa.table({"id": pa.array([b"\xff", b"\xfe"]), "state": ["a", "b"]})
    assert set(model.complete(bare, seed=1)["id"].to_pylist()) == {b"\xff", b"\xfe"}
    parents = pa.table({"id": [7.0, 8.0], "kind": ["a", "b"]})
    found = family.complete(
        {"p": parents, "c": pa.table({"of": [" 8", "7"], "day": [9, 9], "ward": ["x", "y"]})}, seed=1
    )
    assert [(row["of"], row["ward"]) for row in found["c"].to_pylist() if row["day"] == 9][:1] == [(7.0, "y")]


@pytest.mark.parametrize(
    "key", [pa.array([[1], [2]]), pa.array([{"k": 1}, {"k": 2}]), pa.array([1, 2], pa.duration("s"))], ids=str
)
def test_what_is_no_key_is_refused(model: sklar.Model, family: sklar.Model, key: pa.Array) -> None:
    with pytest.raises(UsageError, match="'id' identifies persons"):
        model.complete(pa.table({"id": key, "state": ["a", "b"]}))
    with pytest.raises(UsageError, match="'id' identifies persons"):
        family.complete({"p": pa.table({"id": key, "kind": ["a", "b"]})})


@pytest.mark.parametrize("nulls", ["draw", "keep"])
def test_what_never_changes_is_given_once(model: sklar.Model, nulls: Any) -> None:
    """Else a given cell would be changed; which person it is, is not told."""
    given = {"id": ["other", "secret", "secret"], "year": [2000, 2000, 2001], "state": ["a"] * 3}
    with pytest.raises(UsageError, match="'group' is static") as told:
        model.complete(pa.table({**given, "group": ["y", "x", "y"]}), nulls=nulls)
    assert "secret" not in str(told.value)
    done = model.complete(pa.table({**given, "group": ["y", "x", "x"]}), nulls=nulls, seed=1)
    assert {row["group"] for row in done.to_pylist() if row["id"] == "secret"} == {"x"}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"state": ["a"]}, "no column 'id'"),
        ({"id": [1], "other": [1]}, "no column of the model"),
        ({"id": [1, 1], "year": [2001, None], "state": ["a", "b"]}, "are ordered by 'year'"),
    ],
)  # fmt: skip
def test_what_cannot_go_on_is_refused(model: sklar.Model, given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        model.complete(pa.table(given))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"c": pa.table({"of": ["secret"], "day": [1]})}, "no table 'p'"),
        ({"p": pa.table({"id": ["secret", "secret"], "kind": ["a", "b"]})}, "needs its own key"),
        ({"p": pa.table({"id": ["k"], "kind": ["a"]}), "c": pa.table({"of": ["secret"]})}, "no row of 'p' has"),
        ({"p": pa.table({"kind": ["a"]})}, "no column 'id'"),
        (pa.table({"id": [1]}), "mapping of them by name"),
    ],
)  # fmt: skip
def test_parents_that_cannot_be_told_apart_are_refused(family: sklar.Model, data: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says) as told:
        family.complete(data)
    assert "secret" not in str(told.value)


def test_the_command_goes_on_from_files(model: sklar.Model, family: sklar.Model, tmp_path: Path) -> None:
    given = known([(2000, "x", "b")], 30)
    csv.write_csv(given, tmp_path / "now.csv")
    model.save(tmp_path / "m.sklar")
    family.save(tmp_path / "f.sklar")
    out = tmp_path / "later.csv"
    ran = CliRunner().invoke(
        app, ["complete", str(tmp_path / "m.sklar"), str(tmp_path / "now.csv"), "-o", str(out), "--seed", "1"]
    )
    assert ran.exit_code == 0, ran.output
    assert csv.read_csv(out).to_pylist() == model.complete(given, seed=1).to_pylist()
    (tmp_path / "in").mkdir()
    csv.write_csv(pa.table({"id": range(20), "kind": ["a"] * 20}), tmp_path / "in" / "p.csv")
    ran = CliRunner().invoke(
        app, ["complete", str(tmp_path / "f.sklar"), str(tmp_path / "in"), "-o", f"{tmp_path}/out/", "--seed", "1"]
    )
    assert ran.exit_code == 0, ran.output
    assert csv.read_csv(tmp_path / "out" / "p.csv").num_rows == 20
    assert set(csv.read_csv(tmp_path / "out" / "c.csv")["of"].to_pylist()) <= set(range(20))


def completed(family: sklar.Model, folder: Path, output: str, *more: str, parents: Any = None) -> Any:
    """What the command makes of parents in a folder."""
    family.save(folder / "f.sklar")
    (folder / "in").mkdir()
    csv.write_csv(pa.table(parents or {"id": range(20), "kind": ["a"] * 20}), folder / "in" / "p.csv")
    return CliRunner().invoke(app, ["complete", str(folder / "f.sklar"), str(folder / "in"), "-o", output, *more])


def test_the_command_tells_what_is_noted_of_both_tables(family: sklar.Model, tmp_path: Path) -> None:
    ran = completed(family, tmp_path, f"{tmp_path}/new/out/", "--json")
    assert ran.exit_code == 0, ran.output
    told = json.loads(ran.output)
    assert list(told["tables"]) == ["p", "c"]
    assert told["tables"]["p"]["rows"] == 20
    assert told["rows"] == sum(one["rows"] for one in told["tables"].values())
    assert all("no privacy is promised" in one["sklar.completed"] for one in told["tables"].values())


@pytest.mark.parametrize(
    "output", ["postgresql://u:secret@h/db", "postgresql://u:secret@h/db/", "s3://b/out/", "out", "out.csv"]
)
def test_two_tables_are_completed_into_a_folder_only(
    family: sklar.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = completed(family, tmp_path, output)
    assert ran.exit_code == 1
    assert "FOLDER/" in ran.output and "secret" not in ran.output
    assert sorted(one.name for one in tmp_path.iterdir()) == ["f.sklar", "in"]


def test_what_is_refused_leaves_no_folder(family: sklar.Model, tmp_path: Path) -> None:
    ran = completed(family, tmp_path, f"{tmp_path}/new/out/", parents={"kind": ["a"]})
    assert ran.exit_code == 1
    assert "no column 'id'" in ran.output
    assert not (tmp_path / "new").exists()
