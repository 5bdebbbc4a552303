"""Disks that fill up at any byte, and names and labels made to trick whoever reads the output."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sklar
from sklar.accounting.ledger import read_ledger
from sklar.export.write import FORMULA, write_table
from sklar.pipeline.sampling.write import SampleRequest, sample_to_file
from sklar.rows import open_rows
from tests.hostile.checks import QUICK, SCHEMA, Ended, assert_sane, full_disk, names_in, run


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text("x,c\n" + "1,a\n2,b\n" * 20)
    SCHEMA.write(tmp_path / "t.toml")
    rows = {"x": [1, 2] * 20, "c": ["a", "b"] * 20}
    model = sklar.fit(rows, SCHEMA, **{**QUICK, "epsilon": 50.0})  # no column comes out constant
    model.sample(10, seed=1)  # what is compiled is kept on the disk, too: before it is full
    model.save(tmp_path / "m.sklar")
    return tmp_path


def plain(ended: Ended) -> bool:
    return ended.code == 1 and not ended.out and ended.err.startswith("Error: ") and "unexpected" not in ended.err


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "feather", "arrow"])
def test_a_full_disk_leaves_no_half_sample(ending: str, place: Path) -> None:
    out = place / f"out.{ending}"
    for room in (0, 100, 1000):
        with full_disk(room):
            ended = run("sample", place / "m.sklar", "-n", 3000, "-o", out)
        assert plain(ended) and "cannot write" in ended.err
        assert names_in(place) == {"t.csv", "t.toml", "m.sklar"}
    out.write_text("before")
    with full_disk(500):
        assert plain(run("sample", place / "m.sklar", "-n", 3000, "-o", out, "--force"))
    assert out.read_text() == "before"


@pytest.mark.parametrize("room", [0, 50, 300, 600, 900, 1200, 1500, 1800, 2100])
def test_a_full_disk_leaves_a_ledger_that_reads_and_a_fit_that_resumes(room: int, place: Path) -> None:
    # At epsilon 50 the noise of a count is 0 but once in a billion draws: no warning about it mixes in.
    words = ["fit", place / "t.csv", "-s", place / "t.toml", "-e", 50, "--delta", 0, "-m", "independent"]
    words += ["-O", "repair=clip", "-o", place / "out.sklar"]
    ledger = place / "t.csv.ledger"
    with full_disk(room):
        ended = run(*words)
    told = [line for line in ended.err.splitlines() if not re.match("Warning: (epsilon = 50|new ledger)", line)]
    assert plain(ended._replace(err="\n".join(told))) and not (place / "out.sklar").exists()
    before = read_ledger(ledger).fits if ledger.exists() else ()
    assert run(*words).code == 0
    after = read_ledger(ledger)
    unfinished = [fit for fit in before if not fit.closed]
    assert len(after.fits) == len(before) + (not unfinished) and all(fit.closed for fit in after.fits)
    assert not [name for name in names_in(place) if name.endswith((".tmp", ".new", ".releases", ".lock"))]


def test_a_full_disk_and_everything_else_that_writes(place: Path) -> None:
    before = names_in(place)
    with full_disk(60):
        assert plain(run("ledger", "create", place / "new.ledger", "--name", "t"))
        assert plain(run("schema", "draft", place / "t.csv", "-o", place / "draft.toml"))
        with pytest.raises(sklar.errors.SklarError, match="cannot write"):
            SCHEMA.write(place / "other.toml")
        with pytest.raises(sklar.errors.SklarError, match="cannot write"):
            sklar.load(place / "m.sklar").save(place / "other.sklar")
    assert names_in(place) == before


NAMES = [
    "../../x", "a/b", "/etc/passwd", "con", "nul.csv", "n" * 100_000, "😀", "new\nline", "tab\there", "=cmd()",
    "\u202eevil", 'quote"d', "a,b", "a;b", " lead", "trail ", "A", "e\u0301", "'; drop table data; --", "%s{0}",
    "-o", "\x7f", "0", "None", "rows", "data", "other", "null", "kind", "columns", "version", "rules", "source",
    "__class__", "self", "mass", "column", "name", "margins", "seed", "epsilon", "__index_level_0__", "index", "count",
    "class", "array", "pairs",
]  # fmt: skip


def test_names_made_to_trick(tmp_path: Path) -> None:
    """All in one table: schema file, model file, samples and conditions keep them, and no other file appears."""
    schema = sklar.Schema({name: sklar.Integer(0, 3) for name in NAMES})
    schema.write(tmp_path / "t.toml")
    assert sklar.Schema.read(tmp_path / "t.toml") == schema
    rows = {name: [0, 1, 2, 3] * 20 for name in NAMES}
    sklar.fit(rows, schema, **{**QUICK, "epsilon": 1000.0}).save(tmp_path / "m.sklar")
    model = sklar.load(tmp_path / "m.sklar")
    for ending in ("csv", "tsv", "parquet"):
        sample_to_file(model, tmp_path / f"o.{ending}", SampleRequest(rows=5, seed=1))
        assert open_rows(tmp_path / f"o.{ending}", schema).exact_rows == 5
    assert pq.read_table(tmp_path / "o.parquet").column_names == NAMES
    with (tmp_path / "o.csv").open(newline="", encoding="utf-8") as file:
        assert next(csv.reader(file)) == NAMES
    assert run("inspect", tmp_path / "m.sklar").code == 0
    for name in ("../../x", "new\nline", "self", "😀"):
        assert set(model.sample(5, given={name: 2}, seed=1)[name].to_pylist()) == {2}
    assert names_in(tmp_path) == {"t.toml", "m.sklar", "o.csv", "o.tsv", "o.parquet"}


@pytest.mark.parametrize("name", ["self", "rows", "\u202eevil", "new\nline", "a/b"])
def test_tricky_names_in_a_vine(name: str, tmp_path: Path) -> None:
    schema = sklar.Schema({name: sklar.Integer(0, 3), "other": sklar.Category(["a"]), "kind": sklar.Boolean()})
    rows = {name: [0, 1, 2] * 9, "other": ["a", "b", "c"] * 9, "kind": [True, False, True] * 9}
    model = sklar.fit(rows, schema, method="vine", epsilon=1.0, target=name)
    model.save(tmp_path / "m.sklar")
    assert_sane(sklar.load(tmp_path / "m.sklar"))


LABELS = [
    "a,b", 'q"q', '"', '""', "new\nline", "cr\rx", "\r\n", "=1+1", "+1", "-1", "@x", "\tx", " sp ", "'", "null", "NA",
    "NaN", "None", "true", "1", "1.0", "007", "1e5", "😀", "a;b", "a|b", "a\tb", "\ufeff", "\x1a", "\u2028",
    "é", "e\u0301",
    "#N/A", "\\N", "%s", "x" * 10_000, "\xa0nb\xa0", "\x0bvt\x0c", "\x1c", "../../x", "<script>alert(1)</script>",
]  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "feather"])
def test_labels_come_back_as_they_were(ending: str, tmp_path: Path) -> None:
    schema = sklar.Schema({"l": sklar.Category(LABELS, nullable=True), "m": sklar.Integer(0, 1)})
    schema.write(tmp_path / "t.toml")
    assert sklar.Schema.read(tmp_path / "t.toml") == schema
    table = pa.table({"l": [*LABELS, None], "m": [0] * (len(LABELS) + 1)})
    write_table(table, tmp_path / f"t.{ending}", schema)
    found = [code for batch in open_rows(tmp_path / f"t.{ending}", schema).batches(["l"]) for code in batch.codes[0]]
    assert found == [*range(len(LABELS)), len(LABELS) + 1]


def test_safe_csv_leaves_no_formula_in_names_or_labels(tmp_path: Path) -> None:
    schema = sklar.Schema({"=name()": sklar.Category(LABELS), "@n": sklar.Category(["\r=1", "-cmd"])})
    table = pa.table({"=name()": LABELS, "@n": ["\r=1", "-cmd"] * 20 + ["-cmd"]})
    write_table(table, tmp_path / "t.csv", schema, safe=True)
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert len(cells) == 2 * (len(LABELS) + 1)
    starts = tuple("=+-@\t\r")
    assert not [cell for cell in cells if cell.startswith(starts)] and FORMULA
    assert "'=1+1" in cells and "'=name()" in cells
