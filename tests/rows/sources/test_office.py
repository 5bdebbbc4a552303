"""Excel, SAS, SPSS and Stata files: cells by their own type, value labels kept, faults without a cell."""

from __future__ import annotations

import datetime
import gzip
from pathlib import Path

import openpyxl
import pandas as pd
import pyreadstat
import pytest

import sklar
from sklar.errors import SourceError
from sklar.rows.sources import open_source

FRAME = pd.DataFrame({"age": [20.0, 30.5, None] * 20, "sex": [1.0, 2.0, 1.0] * 20, "town": ["Oslo", "Rome", ""] * 20})
LABELS = {"sex": {1: "female", 2: "male"}}


def columns(path: Path) -> dict[str, list[object]]:
    source = open_source(str(path), schema=None)
    batches = list(source.batches(source.column_names))
    return {name: [v for b in batches for v in b.column(i).to_pylist()] for i, name in enumerate(source.column_names)}


def test_a_sheet_of_excel(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    rows = [["n", "when", "yes"], [1, datetime.date(2020, 1, 2), True], [2.5, None, False], [None, None, None]]
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    found = columns(tmp_path / "t.xlsx")
    # A row without any value is a row: else the number of rows would change with what one person says.
    assert found["n"] == [1, 2.5, None] and found["yes"] == [True, False, None]
    assert str(found["when"][0]).startswith("2020-01-02") and found["when"][1] is None


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_value_labels_of_spss_and_stata_are_kept_and_fitted(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta}[ending](FRAME, str(path), variable_value_labels=LABELS)
    found = columns(path)
    assert found["sex"][:3] == ["female", "male", "female"] and found["age"][:3] == [20, 30.5, None]
    schema = sklar.Schema({"age": sklar.Real(0, 99, nullable=True), "sex": sklar.Category(["female", "male"])})
    model = sklar.fit(path, schema, method="independent", epsilon=5.0)
    assert set(model.sample(50, seed=1)["sex"].to_pylist()) >= {"female", "male"}
    assert sklar.draft_schema(path)["sex"].values == ("female", "male")  # type: ignore[attr-defined]


@pytest.mark.parametrize("ending", ["xlsx", "sav", "dta", "sas7bdat"])
def test_a_file_that_is_none_is_refused_without_a_word_of_it(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    path.write_bytes(b"SECRET" * 50)
    with pytest.raises(SourceError) as caught:
        open_source(str(path), schema=None)
    assert "SECRET" not in str(caught.value) and caught.value.__cause__ is None


def test_a_library_that_warns_of_a_cell_is_silent(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """openpyxl quotes a number that is no date; warnings are errors here, so one that escaped would fail, too."""
    book = openpyxl.Workbook()
    for row in (["n", "when"], [1, 987654321987]):
        book.active.append(row)
    book.active["B2"].number_format = "yyyy-mm-dd"
    book.save(tmp_path / "t.xlsx")
    assert columns(tmp_path / "t.xlsx")["n"] == [1]
    assert not [str(one.message) for one in recwarn if "987654321987" in str(one.message)]


def test_a_file_of_sas(tmp_path: Path) -> None:
    """Fisher's iris, as the package haven (MIT licence) brings it along."""
    packed = Path(__file__).parent / "files" / "iris.sas7bdat.gz"
    path = tmp_path / "iris.sas7bdat"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    found = columns(path)
    assert list(found) == ["Sepal_Length", "Sepal_Width", "Petal_Length", "Petal_Width", "Species"]
    assert found["Sepal_Length"][:2] == [5.1, 4.9] and len(found["Species"]) == 150
    schema = sklar.Schema({"Species": sklar.Category(["setosa", "versicolor", "virginica"]),
                           "Sepal_Length": sklar.Real(0, 10)})  # fmt: skip
    assert sklar.fit(path, schema, method="independent", epsilon=5.0).sample(10).num_rows == 10
