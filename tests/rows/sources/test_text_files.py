"""Delimited text: dialects stated or seen in the header, and every structural fault named without quoting anything."""

from __future__ import annotations

import codecs
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklar.errors import SklarError, SourceError, UsageError
from sklar.rows import open_rows
from sklar.rows.sources import open_source
from sklar.rows.sources.text import header_end
from sklar.schema import Category, Integer, Schema
from tests.rows.conftest import assert_silent, codes_of

SCHEMA = Schema({"x": Integer(0, 9, nullable=True), "c": Category(("a", "ü", "b;c", ""), nullable=True)})
GOOD = {"x": [1, 2, 10], "c": [0, 1, 3]}


@pytest.mark.parametrize("line", ["\n", "\r\n", "\r"], ids=repr)
@pytest.mark.parametrize("mark", [",", ";", "\t", "|"], ids=repr)
@pytest.mark.parametrize("end", [True, False])
def test_dialect_is_seen_in_the_header(line: str, mark: str, end: bool, write: Any) -> None:
    cells = [["c", "x", "other"], ["a", "1", "9"], ["ü", "2", ""], ['""', "CANARY_7f3a", ""]]
    text = line.join(mark.join(row) for row in cells) + line * end
    assert codes_of(open_rows(write(text), SCHEMA)) == GOOD


@pytest.mark.parametrize(
    ("encoding", "stated"),
    [("utf-8", None), ("utf-8-sig", None), ("utf-16", None), ("utf-16-le", "utf-16-le"), ("latin-1", "latin-1"),
     ("cp1252", "windows-1252"), ("utf-32", None), ("utf-8", "UTF8"), ("utf-8-sig", "utf-8"), ("utf-16", "utf-16")],
)  # fmt: skip
def test_encodings(encoding: str, stated: str | None, write: Any) -> None:
    path = write("x,c\n1,a\n2,ü\n,\n", encoding=encoding)
    assert codes_of(open_rows(path, SCHEMA, encoding=stated)) == GOOD


def test_cells_that_are_not_utf8_are_windows_1252_each_by_itself(write: Any) -> None:
    """A file may mix both, and the bytes of one cell say nothing about another; so do quotes and the header."""
    cells = [(b"1", "ü".encode()), (b"2", b"\xfc"), (b"", b'"b;c"'), (b"3", b'"\xfc"'), (b"4", b"\x80")]
    schema = Schema({"x": SCHEMA["x"], "c": Category(["ü", "b;c", "€"])})
    content = b"x,c,gr\xf6\xdfe\n" + b"".join(x + b"," + c + b",\xe4\n" for x, c in cells)
    assert codes_of(open_rows(write(content), schema))["c"] == [0, 0, 1, 0, 2]
    assert open_source(write(content), schema=None).column_names[2] == "größe"
    with pytest.raises(SourceError, match="not utf-8"):
        codes_of(open_rows(write(content), schema, encoding="utf-8"))


def test_stated_delimiter_and_null_texts(write: Any) -> None:
    path = write("x^c\n7^a\n2^-\nNA^b;c\n")
    rows = open_rows(path, SCHEMA, delimiter="^", null_values=["7", "-"])
    assert codes_of(rows) == {"x": [10, 2, 10], "c": [0, 5, 2]}


def test_quotes_line_breaks_and_blank_lines(write: Any) -> None:
    text = '\n\n"x","no""te",c\n1,"a\n""b"", c",a\n\n2,,"ü"\n" 12.0 ","x\r\ny",b;c\n\n'
    assert codes_of(open_rows(write(text), SCHEMA)) == {"x": [1, 2, 9], "c": [0, 1, 2]}


def test_header_only_has_zero_rows(write: Any) -> None:
    for text in ("x,c", "x,c\n", "x,c\r\n\r\n"):
        rows = open_rows(write(text), SCHEMA)
        assert codes_of(rows) == {"x": [], "c": []} and rows.exact_rows == 0


def test_types_are_never_guessed_from_values(write: Any) -> None:
    schema = Schema({"c": Category(("007", "1e5", "true", "2020-01-01", "NA"), nullable=True)})
    assert codes_of(open_rows(write("c\n007\n1e5\ntrue\n2020-01-01\nNA\n7\nTrue\n"), schema))["c"] == [
        0,
        1,
        2,
        3,
        4,
        5,
        5,
    ]


def test_big_file_in_many_blocks(write: Any) -> None:
    lines = [f'{i % 10},"some\nlong, text {"x" * 90}",{"ab"[i % 2]}' for i in range(120_000)]
    rows = open_rows(write("x,t,c\n" + "\n".join(lines)), SCHEMA, cache_bytes=0)
    found = codes_of(rows)
    assert found["x"] == [i % 10 for i in range(120_000)]
    assert found["c"] == [0 if i % 2 == 0 else 4 for i in range(120_000)]
    assert sum(1 for _ in rows.batches(["x"])) > 2


FAULTS = {
    "empty": (b"", "empty"),
    "only breaks": (b"\n\n\r\n", "empty"),
    "only a mark": (codecs.BOM_UTF8, "empty"),
    "no header": (b"CANARY_7f3a,a\n2,CANARY_7f3a\n", "none of the columns"),
    "missing column": (b"x,CANARY_7f3a\n2,CANARY_7f3a\n", "lacks column 'c'"),
    "short row": (b"x,c\n1,a\nCANARY_7f3a\n", "ragged"),
    "long row": (b"x,c\n1,a\nCANARY_7f3a,2,3\n", "ragged"),
    "late ragged row": (b"x,c\n" + b"1,a\n" * 2_000_000 + b"CANARY_7f3a,2,3\n", "ragged"),
    "doubled name": (b"x,c,x\n1,CANARY_7f3a,2\n", "'x'"),
    "doubled name outside": (b"x,c,CANARY_7f3a,CANARY_7f3a\n1,2,3,4\n", "columns number 3 and 4"),
    "blank name": (b"x,,c\n1,CANARY_7f3a,2\n", "column number 2"),
    "NUL": (b"x,c\n1,CANARY_7f3a\0\n", "NUL"),
    "UTF-16 without mark": ("x,c\n1,CANARY_7f3a\n".encode("utf-16-le"), "NUL"),
    "open quote": (b'x,c\n1,"CANARY_7f3a\n2,b\n', "quote"),
    "binary": (bytes(range(1, 256)) * 20, "none of the columns"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("cache", [0, None])
def test_structural_faults(fault: str, cache: int | None, write: Any) -> None:
    content, words = FAULTS[fault]
    with pytest.raises(SourceError, match=words) as caught:
        codes_of(open_rows(write(content), SCHEMA, cache_bytes=cache))
    assert_silent(caught.value)


@pytest.mark.parametrize("delimiter", ["ab", '"', "", "§", "\n"])
def test_bad_delimiter(delimiter: str, write: Any) -> None:
    with pytest.raises(SourceError, match="delimiter"):
        open_rows(write("x,c\n1,a\n"), SCHEMA, delimiter=delimiter)


@pytest.mark.parametrize("options", [{"encoding": "klingon"}, {"encoding": "base64"}])
def test_bad_options(options: dict[str, Any], write: Any) -> None:
    with pytest.raises(SourceError):
        open_rows(write("x,c\n1,a\n"), SCHEMA, **options)


def test_null_values_are_a_list(write: Any) -> None:
    with pytest.raises(UsageError, match="list of texts"):
        open_rows(write("x,c\n1,a\n"), SCHEMA, null_values="NA")


def test_a_quote_inside_a_cell_is_not_open(write: Any) -> None:
    found = codes_of(open_rows(write('x,t,c\n1,5" pipe,a\n2,"q""",ü\n,"a"b",""\n'), SCHEMA))
    assert found == GOOD


def test_wrong_stated_encoding(write: Any) -> None:
    with pytest.raises(SourceError, match="not utf-32") as caught:
        codes_of(open_rows(write("x,c\n1,CANARY_7f3a\n"), SCHEMA, encoding="utf-32"))
    assert_silent(caught.value)


def test_huge_cell(write: Any) -> None:
    huge = "z" * 3_000_000
    assert codes_of(open_rows(write(f"x,t,c\n1,{huge},a\n2,,ü\n,,\n"), SCHEMA)) == GOOD


@pytest.mark.slow
def test_wide_file_and_wide_schema(write: Any) -> None:
    names = [f"v{i}" for i in range(10_000)]
    text = ",".join(names) + "\n" + "\n".join(",".join(str((i + r) % 3) for i in range(10_000)) for r in range(4))
    schema = Schema({name: Integer(0, 2) for name in names})
    found = codes_of(open_rows(write(text), schema))
    assert all(found[f"v{i}"] == [(i + r) % 3 for r in range(4)] for i in range(10_000))
    few = Schema({"v5": Integer(0, 2), "v9999": Integer(0, 2)})
    assert codes_of(open_rows(write(text), few)) == {"v5": found["v5"], "v9999": found["v9999"]}


@given(content=st.one_of(
    st.binary(max_size=200),
    st.text('xc,\n\r"a1 ;\t', max_size=80).map(str.encode),
    st.text('xc,\n\r"a1\0é', max_size=60).map(lambda s: b"x,c\n" + s.encode()),
))  # fmt: skip
def test_any_bytes_are_read_or_refused(content: bytes, write: Any) -> None:
    try:
        found = codes_of(open_rows(write(content), SCHEMA))
    except SklarError:
        return
    assert len(found["x"]) == len(found["c"])


@given(st.lists(st.text('ab,"\n\r;é', max_size=5), min_size=1, max_size=5))
def test_header_end_is_where_the_csv_module_ends_the_first_row(names: list[str]) -> None:
    line = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    assert header_end((line + "\nrest,of\nfile").encode()) == len((line + "\n").encode())


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".zst", ".lz4"])
def test_compressed_files(ending: str, write: Any) -> None:
    codec = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}[ending]
    buffer = pa.BufferOutputStream()
    with pa.CompressedOutputStream(buffer, codec) as sink:
        sink.write("x,c\n1,a\n2,ü\n,\n".encode())
    content = buffer.getvalue().to_pybytes()
    assert codes_of(open_rows(write(content, f"t.csv{ending}"), SCHEMA, cache_bytes=0)) == GOOD
    for damaged in (content[:-6], b"CANARY_7f3a" + content, b""):
        with pytest.raises(SourceError) as caught:
            codes_of(open_rows(write(damaged, f"t.csv{ending}"), SCHEMA))
        assert_silent(caught.value)


def test_a_hundred_thousand_columns(write: Any) -> None:
    names = ",".join(["x", *(f"v{i}" for i in range(99_998)), "c"])
    row = ",".join(["1", *["0"] * 99_998, "a"])
    assert codes_of(open_rows(write(f"{names}\n{row}\n{row}\n"), SCHEMA)) == {"x": [1, 1], "c": [0, 0]}
