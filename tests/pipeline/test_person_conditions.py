"""Conditions on whole persons: drawn persons are as asked for, and have the law of those that a filter would leave."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest
from typer.testing import CliRunner

import sklar
from sklar.cli.main import app
from sklar.errors import UnsupportedConditionError, UsageError
from tests.pipeline import test_linked as panel
from tests.pipeline import test_tables as clinic

COUNT = "rows of the person"


@pytest.fixture(scope="module")
def model() -> sklar.Model:
    return panel.scripted(epsilon=9.0)


@pytest.fixture(scope="module")
def family() -> sklar.Model:
    return clinic.scripted(epsilon=9.0)


@pytest.fixture(scope="module")
def everyone(model: sklar.Model) -> list[list[tuple[int, str, str]]]:
    """Many persons, to filter."""
    return [*panel.by_person(model.sample_persons(10_000, seed=1, iid=True)).values()]


def told(persons: list[list[tuple[int, str, str]]]) -> dict[Any, float]:
    """Shares of persons by group, first state, number of rows and last state."""
    counts = Counter((rows[0][1], rows[0][2], len(rows), rows[-1][2]) for rows in persons)
    return {cell: count / len(persons) for cell, count in counts.items()}


def apart(one: dict[Any, float], other: dict[Any, float]) -> float:
    return sum(abs(one.get(cell, 0.0) - other.get(cell, 0.0)) for cell in {*one, *other}) / 2


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"group": "x"}, lambda rows: rows[0][1] == "x"),
        ({COUNT: (2, 3)}, lambda rows: 2 <= len(rows) <= 3),
        ({"first state": "a", "group": "y"}, lambda rows: rows[0][1] == "y" and rows[0][2] == "a"),
        ({"first year": 2001, COUNT: 4}, lambda rows: rows[0][0] == 2001 and len(rows) == 4),
    ],
)  # fmt: skip
def test_persons_have_the_law_of_those_that_a_filter_leaves(
    model: sklar.Model, everyone: list[Any], given: dict[str, Any], kept: Any
) -> None:
    """Over four seeds they are .011 to .040 apart, as two samples of one law are; all persons are .2 to .8 away."""
    table = model.sample_persons(2_000, seed=2, given=given, iid=True)
    found = [*panel.by_person(table).values()]
    assert len(found) == 2_000
    assert all(kept(rows) for rows in found)
    assert all(a[0] < b[0] and a[2] != "end" for rows in found for a, b in itertools.pairwise(rows))
    assert apart(told(found), told([rows for rows in everyone if kept(rows)])) < 0.07
    assert float(table.schema.metadata[b"sklar.effective_sample_size"]) > 500


def test_persons_that_are_chosen_are_as_asked_for_too(model: sklar.Model, everyone: list[Any]) -> None:
    found = [*panel.by_person(model.sample_persons(1_000, seed=3, given={"group": "y"})).values()]
    assert apart(told(found), told([rows for rows in everyone if rows[0][1] == "y"])) < 0.1


def test_rows_and_streams_take_the_same_conditions(model: sklar.Model) -> None:
    whole = model.sample(500, seed=4, given={"group": "x"})
    stream = pa.Table.from_batches(model.stream(500, seed=4, given={"group": "x", COUNT: 4}))
    assert whole.num_rows == stream.num_rows == 500
    assert {*whole["group"].to_pylist(), *stream["group"].to_pylist()} == {"x"}
    lengths = [len(rows) for rows in panel.by_person(stream).values()]
    assert set(lengths[:-1]) == {4}


def test_parents_are_as_asked_for(family: sklar.Model) -> None:
    found = family.sample_persons(1_000, seed=5, given={"kind": "b", COUNT: (1, 3)})
    assert set(found["p"]["kind"].to_pylist()) == {"b"}
    assert np.bincount(found["c"]["of"].to_pylist(), minlength=1_001)[1:].min() == 1
    free = family.sample_persons(3_000, seed=6, iid=True)
    kind = dict(zip(free["p"]["id"].to_pylist(), free["p"]["kind"].to_pylist(), strict=True))
    wards = [row["ward"] for row in free["c"].to_pylist() if kind[row["of"]] == "b"]
    shares = [np.mean([ward == "y" for ward in some]) for some in (found["c"]["ward"].to_pylist(), wards)]
    assert abs(shares[0] - shares[1]) < 0.08


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"state": "a"}, "changes from row to row.*first state"),
        ({"previous state": "a"}, "not a modelled column"),
        ({COUNT: 9}, "no such value"),
        ({"first state": "end", COUNT: 2}, "obeys all rules"),
    ],
)  # fmt: skip
def test_what_no_condition_is_on_is_refused(model: sklar.Model, given: dict[str, Any], says: str) -> None:
    with pytest.raises((UsageError, UnsupportedConditionError), match=says):
        model.sample_persons(10, seed=7, given=given)


def test_the_first_row_of_a_parent_is_no_condition(family: sklar.Model) -> None:
    with pytest.raises(UsageError, match="changes from row to row"):
        family.sample_persons(10, given={"ward": "x"})
    with pytest.raises(UsageError, match="not a modelled column"):
        family.sample_persons(10, given={"first ward": "x"})


def test_the_command_takes_conditions_on_persons(model: sklar.Model, family: sklar.Model, tmp_path: Path) -> None:
    model.save(tmp_path / "panel.sklar")
    family.save(tmp_path / "both.sklar")
    out = tmp_path / "out.csv"
    asked = ["--given", "group=x", "--given", f"{COUNT}=3..", "--persons", "-n", "50", "--seed", "7"]
    ran = CliRunner().invoke(app, ["sample", str(tmp_path / "panel.sklar"), "-o", str(out), *asked])
    assert ran.exit_code == 0, ran.output
    expected = model.sample_persons(50, seed=7, given={"group": "x", COUNT: (3, None)})
    assert csv.read_csv(out).to_pylist() == expected.to_pylist()
    ran = CliRunner().invoke(
        app, ["sample", str(tmp_path / "both.sklar"), "-o", f"{tmp_path}/two/", "-n", "30", "--given", "kind=a"]
    )
    assert ran.exit_code == 0, ran.output
    assert set(csv.read_csv(tmp_path / "two" / "p.csv")["kind"].to_pylist()) == {"a"}
    ran = CliRunner().invoke(
        app, ["sample", str(tmp_path / "panel.sklar"), "-o", str(out), "--force", "--given", "state=a"]
    )
    assert ran.exit_code == 1
    assert "first state" in ran.output
