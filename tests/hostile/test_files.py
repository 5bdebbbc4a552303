"""Files of every broken form: refused in a plain sentence before they cost anything, or read as they are."""

from __future__ import annotations

import bz2
import codecs
import gzip
import os
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import sklar
from sklar.rows import open_rows
from tests.hostile.checks import CANARY, QUICK, SCHEMA, assert_sane, names_in, refused, run

GOOD = b"x,c\n1,a\n2,b\n,zzz\n"
CELL = CANARY.encode()
WIDE = ",".join(["x", "c", *(f"v{i}" for i in range(99_998))]).encode()

WORKS: dict[str, tuple[str, bytes, int]] = {
    "header only": ("t.csv", b"x,c\n", 0),
    "header without line break": ("t.csv", b"x,c", 0),
    "header and a bare carriage return": ("t.csv", b"x,c\r", 0),
    "one row": ("t.csv", b"x,c\n1,a", 1),
    "UTF-8 mark": ("t.csv", codecs.BOM_UTF8 + GOOD, 3),
    "UTF-16": ("t.csv", GOOD.decode().encode("utf-16"), 3),
    "UTF-16 big end first": ("t.csv", codecs.BOM_UTF16_BE + GOOD.decode().encode("utf-16-be"), 3),
    "UTF-32": ("t.csv", GOOD.decode().encode("utf-32"), 3),
    "huge cell of a column that is read": ("t.csv", b"x,c\n1," + b"z" * 10_000_000 + b"\n2,b\n", 2),
    "huge number": ("t.csv", b"x,c\n" + b"9" * 10_000_000 + b",a\n2,b\n", 2),
    "huge quoted cell": ("t.csv", b'x,c,t\n1,a,"' + b'z""\n,' * 2_000_000 + b'"\n2,b,\n', 2),
    "100,000 columns": ("t.csv", WIDE + b"\n" + (b"1,a" + b",7" * 99_998 + b"\n") * 2, 2),
    "quote inside a name": ("t.csv", b'x,c,5" pipe\n1,a,q\n2,b,"q"\n', 2),
    "name with blanks": ("t.csv", b' x ,"c"\n1,a\n', 1),
    "semicolons": ("t.csv", GOOD.replace(b",", b";"), 3),
    "gzip": ("t.csv.gz", gzip.compress(GOOD), 3),
    "bzip2": ("t.csv.bz2", bz2.compress(GOOD), 3),
}


@pytest.mark.parametrize("case", WORKS)
def test_odd_files_that_are_tables(case: str, tmp_path: Path) -> None:
    name, content, rows = WORKS[case]
    (tmp_path / name).write_bytes(content)
    begun = time.monotonic()
    assert open_rows(tmp_path / name, SCHEMA).exact_rows == rows
    assert_sane(sklar.fit(tmp_path / name, SCHEMA, **QUICK))
    assert time.monotonic() - begun < 60


REFUSED: dict[str, tuple[str, bytes, str]] = {
    "empty": ("t.csv", b"", "empty"),
    "blank lines": ("t.csv", b"\r\n\n\n", "empty"),
    "a name alone": ("t.csv", b"x", "lacks column 'c'"),
    "short row": ("t.csv", b"x,c\n1,a\n" + CELL, "ragged"),
    "long row": ("t.csv", b"x,c\n1,a\n1,a," + CELL, "ragged"),
    "doubled name": ("t.csv", b"x,c,x\n1,a," + CELL, "'x'"),
    "blank name": ("t.csv", b"x,,c\n1,2," + CELL, "no name for column number 2"),
    "NUL": ("t.csv", b"x,c\n1,a\0" + CELL, "NUL"),
    "UTF-16 without mark": ("t.csv", GOOD.decode().encode("utf-16-le"), "NUL"),
    "half a UTF-16 character": ("t.csv", GOOD.decode().encode("utf-16") + b"x", "not utf-16"),
    "wrong delimiter": ("t.tsv", b"x,c\n1," + CELL, "none of the columns"),
    "no header": ("t.csv", b"1,a\n2," + CELL, "none of the columns"),
    "quote left open": ("t.csv", b'x,c\n1,"a\n2,' + CELL, "never closed"),
    "quote left open in the header": ("t.csv", b'x,c,"n\n1,a,' + CELL, "never closed"),
    "one long line": ("t.csv", b"x,c" + b"y" * 10_000_000, "lacks column 'c'"),
    "endless header": ("t.csv", b"x,c" + b',"a"' * 4_500_000, "16 MB"),
    "endless quotes": ("t.csv", b'"' * 17_000_000, "16 MB"),
    "gzip that is none": ("t.csv.gz", GOOD, "damaged"),
    "gzip cut short": ("t.csv.gz", gzip.compress(GOOD * 50)[:-12], "damaged"),
    "gzip with a changed byte": ("t.csv.gz", gzip.compress(GOOD, mtime=0)[:-6] + b"\0\0\0\0\0\0", "damaged"),
    "bzip2 that is none": ("t.csv.bz2", GOOD, "damaged"),
    "zstd that is none": ("t.csv.zst", GOOD, "damaged"),
    "no Parquet": ("t.parquet", GOOD, "Parquet"),
    "empty Parquet": ("t.parquet", b"", "Parquet"),
    "Parquet by its ends": ("t.parquet", b"PAR1" + CELL + b"PAR1", "Parquet"),
    "no Arrow": ("t.arrow", GOOD, "Arrow"),
    "Arrow by its start": ("t.feather", b"ARROW1\0\0" + CELL, "Arrow"),
    "unknown ending": ("t.xlsx", GOOD, "ending"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_files_that_are_no_tables(case: str, tmp_path: Path) -> None:
    name, content, words = REFUSED[case]
    (tmp_path / name).write_bytes(content)
    begun = time.monotonic()
    assert words in refused(lambda: sklar.fit(tmp_path / name, SCHEMA, **QUICK))
    assert time.monotonic() - begun < 30
    left = names_in(tmp_path) - {name, f"{name}.ledger"}
    assert all(extra.endswith((".lock", ".releases")) for extra in left)


@pytest.mark.parametrize("case", ["empty", "blank name", "wrong delimiter", "no Parquet", "endless quotes"])
def test_the_command_refuses_them_too(case: str, tmp_path: Path) -> None:
    name, content, words = REFUSED[case]
    (tmp_path / name).write_bytes(content)
    SCHEMA.write(tmp_path / "t.toml")
    for command in (["fit", "-o", tmp_path / "m.sklar"], ["synth", "-o", tmp_path / "o.csv"]):
        word, *output = command
        ended = run(word, tmp_path / name, "-s", tmp_path / "t.toml", "-e", 1, "-m", "independent", *output)
        assert ended.code == 1 and not ended.out
        assert ended.err.startswith("Error: ") and words in ended.err and ended.err.count("\n") == 1
        assert CANARY not in ended.err
    assert names_in(tmp_path) == {name, "t.toml"}  # a fault that the header shows costs nothing: there is no ledger


def _parquet(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, row_group_size=500)


WRITERS: dict[str, Any] = {"t.parquet": _parquet, "t.feather": feather.write_feather}


@pytest.mark.parametrize("name", WRITERS)
def test_binary_files_damaged_anywhere(name: str, tmp_path: Path) -> None:
    """A changed or missing byte is noticed or makes other values; it never shows one, and never crashes."""
    table = pa.table({"x": list(range(2_000)), "c": [CANARY] * 2_000})
    WRITERS[name](table, tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    noticed = 0
    for k in range(40):
        place = len(whole) * k // 40
        damaged = bytearray(whole[:place] if k % 4 == 0 else whole)
        if k % 4:
            damaged[place] ^= 0xFF
        (tmp_path / name).write_bytes(damaged)
        try:
            open_rows(tmp_path / name, SCHEMA).exact_rows
            list(open_rows(tmp_path / name, SCHEMA).batches(["x", "c"]))
        except sklar.errors.SklarError as error:
            assert CANARY not in str(error)
            noticed += 1
    assert noticed >= 10  # at least all files that were cut


def test_places_that_are_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.csv")
    os.symlink("loop.csv", "loop.csv")
    (tmp_path / "folder.csv").mkdir()
    for path in ("pipe.csv", "loop.csv", "folder.csv", ".", "/", "", "a\0b", "no.csv", "http://127.0.0.1/t.csv"):
        refused(lambda path=path: sklar.fit(path, SCHEMA, **QUICK))


def test_a_folder_has_its_ledger_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "t.csv").write_bytes(GOOD)
    monkeypatch.chdir(tmp_path / "folder")
    assert_sane(sklar.fit(".", SCHEMA, **QUICK))
    assert names_in(tmp_path) == {"folder", "folder.ledger"}


@pytest.mark.parametrize("name", ["line\nbreak.csv", "n" * 205 + ".csv", "=cmd.csv", "-e.csv", "😀 'q\".csv"])
def test_odd_file_names(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(GOOD)
    assert_sane(sklar.fit(tmp_path / name, SCHEMA, **QUICK))


@pytest.mark.parametrize("reader", [
    {"delimiter": "||"}, {"delimiter": ""}, {"encoding": "klingon"}, {"encoding": "base64"}, {"encoding": "undefined"},
    {"null_values": "NA"}, {"null_values": [5]}, {"sql": "drop table data"}, {"sql": ""},
], ids=str)  # fmt: skip
def test_senseless_reading(reader: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(GOOD)
    refused(lambda: sklar.fit(tmp_path / "t.csv", SCHEMA, read=reader, **QUICK))
