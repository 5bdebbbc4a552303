"""What a draft states comes from rows: one odd row changes it, so a fit refuses it until somebody vouches for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sklar
from sklar.errors import SchemaError, UnconfirmedFactError
from sklar.schema.table import schema_from_toml

ROWS = 200
REPEATS = "Several rows share a key"


def write(path: Path, lab: str) -> Path:
    """A table of whole numbers, in which the last row has the given text."""
    lines = [f"{700 + i % 40},{'FM'[i % 2]},{i % 5 + 1},2020-01-{i % 28 + 1:02d}" for i in range(ROWS)]
    path.write_text("\n".join(["lab,sex,ward,day", *lines, f"{lab},F,1,2020-01-01"]) + "\n")
    return path


def test_one_row_changes_a_kind_which_is_therefore_marked(tmp_path: Path) -> None:
    plain = sklar.draft_schema(write(tmp_path / "a.csv", "712"))
    odd = sklar.draft_schema(write(tmp_path / "b.csv", "712.5"))
    assert (plain["lab"].kind, odd["lab"].kind) == ("integer", "real")
    for draft in (plain, odd):
        assert all(column.provenance(fact) == "from-rows" for column in draft.values() for fact in column.facts)
        assert "'lab': all facts" in _refusal(tmp_path / "b.csv", draft)


def _refusal(data: Path, schema: sklar.Schema) -> str:
    with pytest.raises(UnconfirmedFactError) as caught:
        sklar.fit(data, schema, method="independent", epsilon=1.0)
    return str(caught.value)


@pytest.mark.parametrize("fact", ["kind", "integer_labels", "other", "format", "resolution", "missing_value"])
def test_each_fact_is_refused_until_it_is_confirmed_and_then_listed(tmp_path: Path, fact: str) -> None:
    data = write(tmp_path / "a.csv", "712")
    known = {"lab": sklar.Integer(0, 999, missing_value=0), "ward": sklar.Category([1, 2, 3, 4, 5])}
    known |= {"day": sklar.Datetime("2020-01-01", "2020-12-31", format="%Y-%m-%d")}
    name = next(name for name, column in known.items() if fact in column.facts and column.states(fact))
    marked: Any = type(known[name])
    facts = {f: getattr(known[name], f) for f in marked.__match_args__} | {
        f: getattr(known[name], f) for f in ("missing_value", "format") if f in known[name].facts
    }
    schema = sklar.Schema({**known, name: marked(**facts, source={fact: "from-rows"})})
    assert f"'{name}': {fact}" in _refusal(data, schema)
    claim = sklar.fit(data, sklar.Schema(known), method="independent", epsilon=1.0).claim
    assert f"{name}.{fact}" in claim.assumed


def test_a_confirmed_draft_is_fitted_and_its_kinds_are_in_the_claim(tmp_path: Path) -> None:
    data = write(tmp_path / "b.csv", "712.5")
    text = sklar.draft_schema(data).toml()
    assert 'source = "from-rows"' in text and 'source = "assumed"' in text
    confirmed = schema_from_toml(text.replace('"from-rows"', '"assumed"'))
    claim = sklar.fit(data, confirmed, method="independent", epsilon=1.0).claim
    assert {"lab.kind", "sex.kind", "ward.kind", "day.resolution"} <= set(claim.assumed)
    assert "the kind of every column" in str(claim)
    with pytest.raises(SchemaError, match=r"kind.* cannot be measured"):
        schema_from_toml(text.replace('"from-rows"', '"pay"'))


def test_the_to_do_list_tells_how_to_confirm(tmp_path: Path) -> None:
    todo = sklar.draft_schema(write(tmp_path / "a.csv", "712")).todo
    assert 'source = "assumed"' in todo and 'source = { lower = "pay", upper = "pay" }' in todo
    assert "cannot be measured, only confirmed" in todo.replace("\n", " ")


def test_types_of_a_file_are_from_rows_too() -> None:
    draft = sklar.draft_schema(pa.table({"x": pa.array([1.5, 2.5] * 20), "y": pa.array([True, False] * 20)}))
    assert ("x", "kind") in draft.facts_by_provenance("from-rows")
    assert ("y", "kind") in draft.facts_by_provenance("from-rows")


VISITS = pa.table({"patient_id": [i // 2 for i in range(400)], "age": [20 + i % 50 for i in range(400)]})


@pytest.mark.parametrize(
    "columns",
    [
        None,
        {"patient_id": {"sdtype": "id"}, "age": {"sdtype": "numerical"}},
        {"patient_id": {"sdtype": "ssn", "pii": True}, "age": {"sdtype": "numerical"}},
        {"patient_id": {"sdtype": "numerical"}, "age": {"sdtype": "numerical"}},
    ],
    ids=["rows", "id", "personal", "number"],
)
def test_that_a_key_repeats_is_told_on_every_route(columns: dict[str, Any] | None) -> None:
    draft = sklar.draft_schema(VISITS, sdv=None if columns is None else {"columns": columns})
    assert REPEATS in " ".join(draft.notes["patient_id"]) and "rows_per_person" in draft.todo
    assert REPEATS in draft.toml().replace("\n#  ", "") and REPEATS not in " ".join(draft.notes["age"])
    primary = sklar.draft_schema(
        VISITS, sdv={"primary_key": "patient_id", "columns": {"patient_id": {"sdtype": "email"}}}
    )
    assert REPEATS in " ".join(primary.notes["patient_id"])
    once = VISITS.set_column(0, "patient_id", pa.array(range(400)))
    document = {"columns": columns or {"patient_id": {"sdtype": "id"}}}
    assert REPEATS not in sklar.draft_schema(once, sdv=document).todo


def test_days_and_amounts_that_each_occur_twice_are_no_keys() -> None:
    days = [f"{1 + i % 28:02}/{1 + i // 28 % 12:02}/{1990 + i // 336}" for i in range(400) for _ in range(2)]
    years = [f"{i / 100:.2f}".replace(".", ",") for i in range(200, 600) for _ in range(2)]
    codes = [f"P{i:04}/A" for i in range(400) for _ in range(2)]
    draft = sklar.draft_schema(pa.table({"day": days, "years": years, "code": codes}))
    assert {name: column.kind for name, column in draft.items()} == {"day": "datetime", "years": "real", "code": "id"}


def test_numbers_in_equally_many_rows_are_the_persons_of_a_panel() -> None:
    numbers, years = [13 * i for i in range(150) for _ in range(4)], [1990, 1991, 1992, 1993] * 150
    panel = sklar.draft_schema(pa.table({"nr": numbers, "year": years, "x": [i % 7 for i in range(600)]}))
    assert panel["nr"].kind == "id" and REPEATS in " ".join(panel.notes["nr"])
    assert panel["year"].kind != "id"
    floats = sklar.draft_schema(pa.table({"nr": [float(x) for x in numbers], "x": [i % 7 for i in range(600)]}))
    halves = sklar.draft_schema(pa.table({"nr": [x + 0.5 for x in numbers], "x": [i % 7 for i in range(600)]}))
    assert (floats["nr"].kind, halves["nr"].kind) == ("id", "real")
    short = sklar.draft_schema(pa.table({"nr": numbers[:-1], "year": years[:-1]}))
    assert short["nr"].kind == "id" and "150 whole numbers, about 4 rows each" in short.todo


def test_values_that_repeat_without_a_scale_are_asked_about() -> None:
    rng = np.random.default_rng(2)
    marks = np.repeat(rng.permutation(5_000)[:400], rng.integers(1, 60, 400))  # lecturers with 1 to 59 marks each
    seconds = rng.integers(0, 3_600, len(marks))
    incomes = rng.lognormal(7, 0.5, len(marks)).astype(int)
    table = {"lecturer": rng.permutation(marks), "second": seconds, "income": incomes}
    draft = sklar.draft_schema(pd.DataFrame(table))
    assert {name: column.kind for name, column in draft.items()} == {
        "lecturer": "id", "second": "integer", "income": "integer",
    }  # fmt: skip
    assert draft.person is not None and draft.person.key == "lecturer"
    asked = {question.column: str(question) for question in draft.questions()}
    assert "400 whole numbers" in asked["lecturer"] and "identify a person" in asked["lecturer"]
    assert "identify a person" in asked["second"] and "identify" not in asked["income"]


def test_a_table_that_tells_the_row_before_itself_is_drafted_with_rows_that_stand_alone() -> None:
    rows = {"id": [at // 3 for at in range(300)], "year": [2019 + at % 3 for at in range(300)]}
    table = pa.table({**rows, "x": [at % 7 for at in range(300)], "previous x": [(at - 1) % 7 for at in range(300)]})
    person = sklar.draft_schema(table).person
    assert person is not None and person.key == "id" and person.linked is False
