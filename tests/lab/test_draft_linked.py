"""Drafts of two tables with a key between them, from every container, and what is refused."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.errors import SourceError


def hospital() -> dict[str, pd.DataFrame]:
    """Patients, and stays that name their patient; small numbers of stays are among the running numbers of patients."""
    rng = np.random.default_rng(1)
    of = rng.integers(1, 301, 800)
    stays = pd.DataFrame({"patient": of, "day": rng.integers(0, 900, 800), "ward": rng.choice(["a", "b"], 800)})
    stays["times"] = rng.integers(1, 4, 800)
    patients = pd.DataFrame(
        {"id": np.arange(1, 301), "sex": rng.choice(["F", "M"], 300), "height": rng.integers(150, 199, 300)}
    )
    return {"stays": stays, "patients": patients}


def write(data: dict[str, pd.DataFrame], folder: Path) -> Path:
    folder.mkdir()
    for name, frame in data.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    return folder


def test_a_folder_a_database_and_a_mapping_give_one_draft_with_parents_and_a_key(tmp_path: Path) -> None:
    data = hospital()
    first = sklar.draft_schema(write(data, tmp_path / "both"))
    person = first.person
    assert person is not None and person.parents is not None and person.source == "from-rows"
    assert (person.parents.table, person.parents.key, person.parents.rows) == ("patients", "id", "stays")
    assert (person.key, person.order, person.static) == ("patient", "day", ("sex", "height"))
    assert {name: column.kind for name, column in first.items()} == {
        "patient": "id", "sex": "category", "height": "integer", "day": "integer", "ward": "category",
        "times": "integer",
    }  # fmt: skip
    with sqlite3.connect(tmp_path / "both.sqlite") as store, duckdb.connect(str(tmp_path / "both.duckdb")) as other:
        for name, frame in data.items():
            frame.to_sql(name, store, index=False)
            other.execute(f"create table {name} as select * from frame")
    for source in (data, f"sqlite:///{tmp_path}/both.sqlite", f"duckdb:///{tmp_path}/both.duckdb"):
        assert sklar.draft_schema(source) == first, source
    assert "'patient' of stays holds values of 'id' of patients" in first.remarks[-1]
    with pytest.raises(sklar.errors.SklarError, match="confirm"):
        first.require_confirmed()


def test_of_more_tables_persons_and_their_rows_are_drafted_and_the_others_named(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    data = hospital()
    data["stays"] = data["stays"].assign(stay_id=10_000 + np.arange(800), ward=rng.choice(["w1", "w2", "w3"], 800))
    more = {
        "wards": pd.DataFrame({"ward": ["w1", "w2", "w3"], "beds": [9, 30, 12]}),
        "labs": pd.DataFrame({"stay_id": 10_000 + rng.integers(0, 800, 900), "sodium": rng.integers(130, 150, 900)}),
        "visits": pd.DataFrame({"patient": rng.integers(1, 301, 310), "kind": rng.choice(["a", "b"], 310)}),
        "prices": pd.DataFrame({"item": ["x", "y"], "euro": [3.5, 8.0]}),
    }
    draft = sklar.draft_schema(write(data | more, tmp_path / "all"))
    assert draft.person is not None and draft.person.parents is not None
    assert (draft.person.parents.table, draft.person.parents.rows) == ("patients", "stays")
    for said in (
        "wards is left out: other tables point to it",
        "labs is left out: its rows belong to rows of stays, and only two levels",
        "visits is left out: its rows belong to patients, too",
        "prices is left out: no key joins it",
    ):
        assert said in draft.remarks[-1]


def test_tables_without_a_key_or_with_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    data = hospital()
    with pytest.raises(SourceError, match="no key joins"):
        sklar.draft_schema(data | {"patients": data["patients"].assign(id=np.arange(5_000, 5_300))})
    with pytest.raises(SourceError, match="'ward' is in both"):
        sklar.draft_schema(data | {"patients": data["patients"].assign(ward="a")})


@pytest.mark.slow
def test_a_confirmed_draft_of_two_tables_is_fitted(tmp_path: Path) -> None:
    folder = write(hospital(), tmp_path / "both")
    draft = sklar.draft_schema(folder)
    sure = draft.confirm(*(question.column for question in draft.questions()), by="Ada")
    sure.write(tmp_path / "both.toml")
    found = sklar.fit(folder, sklar.Tables.read(tmp_path / "both.toml"), epsilon=2.0).sample_persons(100, seed=1)
    assert set(found) == {"patients", "stays"}
