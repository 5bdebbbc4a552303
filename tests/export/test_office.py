"""Samples as files of Excel, SPSS and Stata: labels, dates and nulls survive, and are read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

import sklar
from sklar.errors import MissingExtraError, OutputError
from sklar.export import office
from sklar.export.write import require_table_output, write_table
from sklar.rows.sources import open_source

SCHEMA = sklar.Schema({
    "age": sklar.Integer(0, 120), "pay (EUR)": sklar.Real(0, 9e5, decimals=2, nullable=True),
    "sex": sklar.Category(["female", "male"], nullable=True), "school": sklar.Ordinal(["low", "high"]),
    "code": sklar.Category([7, 9]), "ok": sklar.Boolean(nullable=True),
    "day": sklar.Datetime("2000-01-01", "2030-01-01"),
    "seen": sklar.Datetime("2000-01-01T00:00:00", "2030-01-01T00:00:00"), "pay [EUR]": sklar.Integer(0, 9),
})  # fmt: skip


def rows(count: int) -> dict[str, list[Any]]:
    return {
        "age": [20, 30, 40, 50] * count, "pay (EUR)": [1.25, None, 3.5, 4.0] * count,
        "sex": ["female", "male", None, "other"] * count, "school": ["low", "high", "low", "low"] * count,
        "code": [7, 9, 7, 9] * count, "ok": [True, False, None, True] * count,
        "day": [pd.Timestamp("2020-01-02").date()] * 4 * count,
        "seen": [pd.Timestamp("2020-01-02 03:04:05").to_pydatetime()] * 4 * count, "pay [EUR]": [1, 2, 3, 4] * count,
    }  # fmt: skip


def read_back(path: Path) -> dict[str, list[Any]]:
    source = open_source(str(path), schema=None)
    batches = list(source.batches(source.column_names))
    return {name: [v for b in batches for v in b.column(i).to_pylist()] for i, name in enumerate(source.column_names)}


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta"])
def test_labels_dates_and_nulls_survive(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    write_table(pa.table(rows(3)), path, SCHEMA)
    found = read_back(path)
    assert list(found) == ["age", "pay_EUR", "sex", "school", "code", "ok", "day", "seen", "pay_EUR_2"]
    assert found["sex"][:4] == ["female", "male", None, "other"] and found["code"][:2] == [7, 9]
    assert found["pay_EUR"][:4] == [1.25, None, 3.5, 4] and found["ok"][:3] == ["true", "false", None]
    assert str(found["day"][0])[:10] == "2020-01-02" and str(found["seen"][0])[:19] == "2020-01-02 03:04:05"
    read = pyreadstat.read_dta if ending == "dta" else pyreadstat.read_sav
    frame, about = read(path)
    assert about.column_names_to_labels["pay_EUR"] == "pay (EUR)"  # the name that the table has
    assert about.variable_value_labels["school"] == {1: "low", 2: "high", 3: "other"}
    assert list(frame["school"][:3]) == [1, 2, 1]
    if ending == "dta":
        assert list(pd.read_stata(path)["sex"][:2]) == ["female", "male"]
    else:
        assert about.variable_measure["school"] == "ordinal" and about.variable_measure["sex"] == "nominal"


def test_a_sheet_holds_values_and_no_formulas(tmp_path: Path) -> None:
    table = pa.table({**rows(1), "note": ["=1+1", "+49", "plain", None]})
    write_table(table, tmp_path / "t.xlsx", SCHEMA)
    found = read_back(tmp_path / "t.xlsx")
    assert list(found) == table.column_names
    assert found["note"] == ["=1+1", "+49", "plain", None] and found["ok"] == [True, False, None, True]
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx").worksheets[0]
    assert {cell.data_type for cell in sheet["J"]} <= {"s", "n"}  # no formula
    write_table(table, tmp_path / "safe.xlsx", SCHEMA, safe=True)
    assert read_back(tmp_path / "safe.xlsx")["note"][0] == "'=1+1"


def test_a_table_beyond_a_sheet_is_refused_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office, "MAX_EXCEL_ROWS", 3)
    with pytest.raises(OutputError, match="at most 3 rows"):
        write_table(pa.table(rows(1)), tmp_path / "t.xlsx", SCHEMA)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["xlsx", "sav", "dta"])
def test_a_sample_is_written_and_fitted_again(tmp_path: Path, ending: str) -> None:
    schema = sklar.Schema({"age": sklar.Integer(0, 99), "sex": sklar.Category(["F", "M"])})
    model = sklar.fit({"age": [20, 30] * 100, "sex": ["F", "M"] * 100}, schema, method="independent", epsilon=9.0)
    path = tmp_path / f"s.{ending}"
    model.write_rows(path, 300, seed=1)
    again = sklar.fit(path, schema, method="independent", epsilon=9.0)
    assert set(again.sample(100, seed=1)["sex"].to_pylist()) >= {"F", "M"}


def test_names_are_made_plain_and_differ() -> None:
    names = ["a b", "a-b", "A_B", "1st", "ä", "x" * 40, "x" * 41]
    found = office.plain_names(names, 32)
    assert list(found) == names and len({name.lower() for name in found.values()}) == len(names)
    assert found["1st"] == "v_1st" and all(len(name) <= 32 for name in found.values())


@pytest.mark.parametrize("ending", ["xlsx", "sav", "dta"])
def test_a_package_that_is_missing_is_found_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr(office, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="pip install"):
        require_table_output(tmp_path / f"t.{ending}")
