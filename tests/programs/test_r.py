"""The page about R runs in R, and R's readers open what is written. Needs Rscript with reticulate and haven."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import sklar
from sklar.export.write import write_table

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```r\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ENVIRONMENT = {**os.environ, "SKLAR_PYTHON": sys.executable, "PYTHONPATH": str(ROOT / "src")}
SCHEMA = sklar.Schema({
    "age": sklar.Integer(0, 120, nullable=True), "sex": sklar.Category(["female", "male"], nullable=True),
    "school": sklar.Ordinal(["low", "high"]), "day": sklar.Datetime("2000-01-01", "2030-01-01"),
})  # fmt: skip
TABLE = pa.table({
    "age": [20, None, 40], "sex": ["female", "male", None], "school": ["low", "high", "low"],
    "day": pa.array(["2020-01-02", "2021-03-04", "2022-05-06"]).cast(pa.date32()),
})  # fmt: skip
READ = """
found <- haven::{read}("{path}")
stopifnot(identical(as.numeric(found$age), c(20, NA, 40)))
stopifnot(identical(as.character(haven::as_factor(found$sex)), c("female", "male", NA)))
stopifnot(identical(as.character(haven::as_factor(found$school)), c("low", "high", "low")))
stopifnot(identical(format(found$day), c("2020-01-02", "2021-03-04", "2022-05-06")))
cat("read")
"""


def run_r(code: str, folder: Path) -> str:
    """Return what an R script prints."""
    (folder / "script.R").write_text(code)
    done = subprocess.run(
        ["Rscript", "--vanilla", "script.R"], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_the_page_about_r_runs_in_r(tmp_path: Path) -> None:
    blocks = BLOCK.findall((ROOT / "docs" / "r.md").read_text())
    assert len(blocks) >= 4
    said = run_r("".join(blocks), tmp_path)
    assert "epsilon = 1," in said and re.search(r"[\d.]+ from [\d.]+ to [\d.]+", said)
    assert {"people.sklar", "synthetic.csv", "synthetic.dta"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize(("ending", "read"), [("sav", "read_sav"), ("zsav", "read_sav"), ("dta", "read_dta")])
def test_haven_reads_values_labels_dates_and_nulls(tmp_path: Path, ending: str, read: str) -> None:
    path = tmp_path / f"t.{ending}"
    write_table(TABLE, path, SCHEMA)
    assert run_r(READ.format(read=read, path=path), tmp_path) == "read"


def test_read_csv_reads_values_and_nulls(tmp_path: Path) -> None:
    write_table(TABLE, tmp_path / "t.csv", SCHEMA)
    code = 'found <- read.csv("t.csv", na.strings = ""); stopifnot(identical(found$age, c(20L, NA, 40L)))\n'
    code += 'stopifnot(identical(found$sex, c("female", "male", NA))); cat(class(as.Date(found$day)))'
    assert run_r(code, tmp_path) == "Date"
