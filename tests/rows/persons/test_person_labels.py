"""Labels that persons name: one each, whatever their rows, wherever these lie and however little memory there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import sklar
from sklar.rows import exact_label_counts, open_rows
from sklar.rows.persons import gather, labels
from sklar.rows.persons import rows as person_rows
from sklar.rows.persons.keys import Secret

COLUMNS = {"x": sklar.Category(["?"]), "y": sklar.Category(["?"], nullable=True)}
SCHEMA = sklar.Schema(COLUMNS, person=sklar.Person(key="id", rows=3))


@pytest.fixture(autouse=True)
def _one_secret(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setattr(person_rows, "Secret", lambda: Secret(words=(1, 2, 3, 4, 5)))


def made(persons: int = 400, seed: int = 3) -> pa.Table:
    """Persons of 1 to 6 rows with labels that are often, seldom or once used; and some without a key."""
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(persons), rng.integers(1, 7, persons))
    once = np.array([f"only {k}" for k in range(len(of))])
    x = np.where(rng.random(len(of)) < 0.1, once, rng.choice(["ä", "b", " b", "c" * 200], len(of)))
    y = [None if k % 3 == 0 else "yes" if k % 3 == 1 else "z" * 201 for k in of]
    table = pa.table({"id": [None if k < 9 else f"p{k}" for k in of], "x": x, "y": y})
    return table.take(rng.permutation(len(of)))


def counts(data: Any, floor: int = 1, **read: Any) -> dict[str, dict[str, int]]:
    return exact_label_counts(open_rows(data, SCHEMA, **read), {"x": floor, "y": floor})


def test_each_person_names_one_label() -> None:
    table = made()
    found = counts(table)
    persons = len(set(table["id"].drop_null().to_pylist()))
    assert sum(found["x"].values()) == persons
    assert set(found["x"]) <= set(table["x"].to_pylist())
    keys = {row["id"] for row in table.to_pylist() if row["y"] == "yes" and row["id"] is not None}
    assert found["y"] == {"yes": len(keys)}
    often = {label: count for label, count in found["x"].items() if count >= 20}
    assert counts(table, 20)["x"] == often and len(often) == 4


@pytest.mark.slow
def test_the_same_in_files_and_in_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made()
    expected = counts(table, 2)
    half = len(table) // 2
    pyarrow.csv.write_csv(table[:half], tmp_path / "a.csv")
    pyarrow.csv.write_csv(table[half:], tmp_path / "b.csv")
    assert counts(tmp_path, 2) == expected
    assert counts(table.take(np.random.default_rng(1).permutation(len(table))), 2) == expected
    monkeypatch.setattr(labels, "MEMORY_BYTES", 600)
    monkeypatch.setattr(gather, "MIN_PART_ROWS", 10)
    assert counts(table, 2) == expected


@pytest.mark.parametrize("which", ["one label", "many labels", "beyond the bound", "no key"])
def test_one_person_moves_one_label_by_one(which: str) -> None:
    rows = {
        "one label": ["new"] * 3,
        "many labels": ["new", "newer", "b"],
        "beyond the bound": [f"n{k}" for k in range(50)],
    }
    own = rows.get(which, ["new", "b"])
    key = None if which == "no key" else "a person"
    base = made().filter(pa.compute.is_valid(made()["id"]))
    person = pa.table({"id": pa.array([key] * len(own), pa.string()), "x": own, "y": [None] * len(own)})
    before, after = (
        counts(base)["x"],
        counts(pa.concat_tables([person[::2], base, person[1::2]], promote_options="permissive"))["x"],
    )
    moved = {label: after.get(label, 0) - before.get(label, 0) for label in {*before, *after}}
    assert sorted(filter(None, moved.values())) == ([] if which == "no key" else [1])


def test_persons_with_the_same_rows_name_different_labels() -> None:
    """Each has one row of either label: about half of them name either, as if each threw a coin."""
    table = pa.table({"id": np.repeat(np.arange(1_000), 2), "x": ["a", "b"] * 1_000, "y": ["c"] * 2_000})
    found = counts(table)["x"]
    assert found["a"] + found["b"] == 1_000 and 350 < found["a"] < 650


def test_listed_labels_are_counted_below_the_floor_and_without_persons() -> None:
    table = made()
    every = counts(table)
    rare = min(every["x"], key=lambda label: every["x"][label])
    rows = open_rows(table, SCHEMA)
    found = exact_label_counts(rows, {"x": 20, "y": 10**6}, {"x": (rare, "absent"), "y": ("yes",)})
    often = {label: count for label, count in every["x"].items() if count >= 20}
    assert found == {"x": {**often, rare: every["x"][rare], "absent": 0}, "y": every["y"]}
