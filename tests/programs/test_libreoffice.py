"""LibreOffice opens workbooks and text files that are written. Needs soffice."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

import sklar
from sklar.export.write import write_table

pytestmark = pytest.mark.slow

SCHEMA = sklar.Schema({
    "age": sklar.Integer(0, 120, nullable=True), "pay (EUR)": sklar.Real(0, 9e5, decimals=2),
    "sex": sklar.Category(["female", "männlich"], nullable=True), "ok": sklar.Boolean(),
    "day": sklar.Datetime("2000-01-01", "2030-01-01"),
})  # fmt: skip
TABLE = pa.table({
    "age": [20, None, 40], "pay (EUR)": [1.25, 30000.5, 3.0], "sex": ["female", "männlich", None],
    "ok": [True, False, True], "day": pa.array(["2020-01-02", "2021-03-04", "2022-05-06"]).cast(pa.date32()),
    "note": ["=1+1", "a,b", 'say "yes"'],
})  # fmt: skip
COMMA_UTF8 = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false"
"""LibreOffice's filter for its own output: delimiter, quotes, UTF-8, first line, formats of cells as shown."""


def opened(path: Path) -> list[dict[str, str]]:
    """Return the cells of a file as LibreOffice shows them."""
    home, out = path.parent / "home", path.parent / "out"
    words = [f"-env:UserInstallation={home.as_uri()}", "--headless", "--convert-to", COMMA_UTF8, "--outdir", out, path]
    subprocess.run(["soffice", *words], check=True, capture_output=True, timeout=300)
    with (out / f"{path.stem}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_workbook_has_the_values_the_dates_and_no_formula(tmp_path: Path) -> None:
    write_table(TABLE, tmp_path / "t.xlsx", SCHEMA)
    found = opened(tmp_path / "t.xlsx")
    assert [row["age"] for row in found] == ["20", "", "40"] and found[1]["pay (EUR)"].startswith("30000.5")
    assert [row["sex"] for row in found] == ["female", "männlich", ""]
    assert [row["ok"].lower() for row in found] == ["true", "false", "true"]
    assert [row["note"] for row in found] == ["=1+1", "a,b", 'say "yes"']
    assert "2020" in found[0]["day"] or found[0]["day"].endswith("/20")
