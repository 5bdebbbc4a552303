"""Persons whose rows follow one another, from the fit to samples: what rows remember, rules across rows, keys."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sklar
from sklar.errors import UsageError
from sklar.model.kept import without_copies
from sklar.pipeline.sampling.write import SampleRequest, sample_to_file
from sklar.schema.coordinates import linked_views
from tests.golden.cases import scripted_fit

STAY = 0.9
"""Chance that a state stays: states of neighbouring rows agree far more often than those of two persons."""


def schema(**person: Any) -> sklar.Schema:
    said: dict[str, Any] = {
        "static": ["group"],
        "steps": [sklar.rules.AtMost(low="previous year", high="year", at_least=1),
                  sklar.rules.Never(values={"previous state": "end"})],
    }  # fmt: skip
    return sklar.Schema(
        {
            "id": sklar.Id(),
            "year": sklar.Integer(2000, 2009),
            "group": sklar.Category(["x", "y"]),
            "state": sklar.Category(["a", "b", "end"]),
        },
        person=sklar.Person(key="id", rows=4, order="year", **{**said, **person}),
    )


def made(persons: int = 3_000, seed: int = 5) -> pa.Table:
    """A state that mostly stays, in years that go by one or two, until it ends or four rows are full."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[str, int, str, str]] = []
    for person in range(persons):
        group, year = "xy"[rng.integers(2)], int(rng.integers(2000, 2002))
        state = "ab"[int(rng.random() < (0.8 if group == "x" else 0.2))]
        for _ in range(4):
            rows.append((f"secret-{person}", year, group, state))
            if state == "end":
                break
            state = "end" if rng.random() < 0.1 else state if rng.random() < STAY else "ab"[state == "a"]
            year += int(rng.integers(1, 3))
    mixed = [rows[at] for at in rng.permutation(len(rows))]
    return pa.table({name: [row[at] for row in mixed] for at, name in enumerate(("id", "year", "group", "state"))})


def scripted(epsilon: float) -> sklar.Model:
    """A fit with scripted noise: what is measured on it is the same in every run."""
    with pytest.MonkeyPatch.context() as patch:
        return scripted_fit(made(), schema(), {"epsilon": epsilon}, patch)


@pytest.fixture(scope="module")
def model() -> sklar.Model:
    return sklar.fit(made(), schema(), epsilon=9.0)


def by_person(table: pa.Table) -> dict[int, list[tuple[int, str, str]]]:
    persons: dict[int, list[tuple[int, str, str]]] = {}
    for row in table.to_pylist():
        persons.setdefault(row["id"], []).append((row["year"], row["group"], row["state"]))
    return persons


@pytest.mark.slow
def test_samples_are_persons_with_keys_and_ordered_rows(model: sklar.Model) -> None:
    table = model.sample_persons(500, seed=1)
    persons, keys = by_person(table), table["id"].to_pylist()
    assert sorted(persons) == list(range(1, 501))
    assert keys == sorted(keys)
    for rows in persons.values():
        assert 1 <= len(rows) <= 4
        assert all(a[0] < b[0] for a, b in itertools.pairwise(rows))
        assert len({group for _, group, _ in rows}) == 1
        assert all(state != "end" for _, _, state in rows[:-1])


@pytest.mark.slow
def test_rows_remember_the_row_before(model: sklar.Model) -> None:
    """The share of states that stay was .884 to .906 in 50 fits; for rows of mixed persons it is about a half."""
    persons = by_person(model.sample_persons(2_000, seed=2)).values()
    steps = [(a[2], b[2]) for rows in persons for a, b in itertools.pairwise(rows) if b[2] != "end"]
    assert 0.8 < np.mean([a == b for a, b in steps]) < 0.97


def test_what_is_known_of_a_next_row_is_joined_in_its_vine(model: sklar.Model) -> None:
    """Else few of the particles count that a next row is chosen from.

    A noisy count says that a column keeps its value more often than the vine draws it in some fits, not in all.
    """
    part, steps = without_copies(model.table_model.part("next row")), linked_views(model.schema)[1][-1]
    known = {at for at, name in enumerate(steps.by.schema.modelled) if name in steps.known}
    joined = [edge for edge in part.vine.trees[0] if {edge.first, edge.second} <= known]
    assert len(joined) == len(known) - 1 > 1


@pytest.mark.slow
def test_what_never_changes_is_remembered_too(model: sklar.Model) -> None:
    rows = [rows[-1] for rows in by_person(model.sample_persons(2_000, seed=3)).values() if rows[-1][2] != "end"]
    share = {g: np.mean([state == "b" for _, group, state in rows if group == g]) for g in "xy"}
    assert share["x"] - share["y"] > 0.1


def test_the_same_seed_gives_the_same_persons(model: sklar.Model) -> None:
    assert model.sample(200, seed=4).equals(model.sample(200, seed=4))
    assert not model.sample(200, seed=4).equals(model.sample(200, seed=5))
    assert model.sample(200, seed=4).num_rows == 200


def test_streams_have_keys_that_belong_to_one_person(model: sklar.Model) -> None:
    table = pa.Table.from_batches(model.stream(300, seed=6, batch_rows=100))
    assert table.num_rows == 300
    assert all(len({group for _, group, _ in rows}) == 1 for rows in by_person(table).values())


def test_a_model_file_has_it_all_and_is_verified(model: sklar.Model, tmp_path: Path) -> None:
    path = tmp_path / "m.sklar"
    model.save(path)
    assert sklar.load(path).sample(100, seed=7).equals(model.sample(100, seed=7))
    assert sklar.verify(path).ok
    assert b"secret-" not in path.read_bytes()
    assert "any one person, with any number of rows" in str(model.claim)
    assert sklar.load(path).claim == model.claim


@pytest.mark.slow
def test_whole_persons_in_a_file_are_verified(model: sklar.Model, tmp_path: Path) -> None:
    model.save(tmp_path / "m.sklar")
    sample_to_file(model, tmp_path / "some.csv", SampleRequest(rows=60, seed=3, persons=True))
    assert sklar.verify(tmp_path / "m.sklar", rows=tmp_path / "some.csv", seed=3).ok
    assert not sklar.verify(tmp_path / "m.sklar", rows=tmp_path / "some.csv", seed=4).ok


def test_the_claim_lists_what_was_taken_as_known_of_persons(model: sklar.Model) -> None:
    said = str(model.claim)
    assert "What never changes within a person: group." in said and "person (key, rows, static)" in said
    assert all(rule.describe() in said for rule in model.schema.person.steps)


@pytest.mark.slow
def test_whoever_replaces_whom(tmp_path: Path) -> None:
    model = sklar.fit(made(400), schema(), epsilon=9.0, neighbours="replace")
    model.save(tmp_path / "m.sklar")
    assert sklar.verify(tmp_path / "m.sklar").ok
    assert 1 < model.rows_estimate / 400 < 4


@pytest.mark.slow
def test_evaluation_tells_transitions(model: sklar.Model) -> None:
    from sklar.lab.metrics.trajectories import compare_trajectories

    real = made()
    same, found = compare_trajectories(real, real, schema()), compare_trajectories(real, model.sample(seed=8), schema())
    assert max(same.transitions.values()) == max(same.second.values()) == same.rows == 0.0
    assert found.transitions["state"] < found.mixed / 2
    real_share, synthetic_share = found.between["state"]
    assert abs(synthetic_share / real_share - 1) < 0.5


@pytest.mark.parametrize(
    "ask",
    [lambda m: m.implicates(2),
     lambda m: m.interval({"state": "a"})],
)  # fmt: skip
def test_what_is_for_rows_alone_is_refused(model: sklar.Model, ask: Any) -> None:
    with pytest.raises(UsageError, match="linked=False"):
        ask(model)


@pytest.mark.parametrize("settings", [{"method": "independent"}, {"check_share": 0.1}, {"prior": made(50)}])
def test_settings_for_rows_alone_are_refused_before_anything_is_spent(settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="linked=False"):
        sklar.fit(made(20), schema(), epsilon=1.0, **settings)


def test_rows_that_stand_alone_have_no_persons() -> None:
    flat = sklar.fit(made(200), schema(static=[], steps=[], linked=False), epsilon=9.0)
    with pytest.raises(UsageError, match="independent rows"):
        flat.sample_persons(3)
