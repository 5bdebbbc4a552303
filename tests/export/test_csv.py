from __future__ import annotations

import csv
import io
from datetime import datetime

import pyarrow as pa
import pytest

from sklar.export.arrow import to_arrow
from sklar.export.write import csv_header, csv_lines
from sklar.schema.columns import Labels


def text_of(table: pa.Table, schema=None, **options) -> str:
    return (csv_header(table.column_names, **options) + b"".join(csv_lines(table, schema, **options))).decode()


def read_back(text: str, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter))


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_a_strict_reader_gets_every_text_back(schema, sampled, delimiter: str):
    table = to_arrow(schema, sampled)
    header, *rows = read_back(text_of(table, schema, delimiter=delimiter), delimiter)
    assert header == table.column_names and len(rows) == table.num_rows
    for name in (n for n in schema if isinstance(schema[n], Labels)):
        at = header.index(name)
        expected = ["" if x is None else str(x) for x in table[name].to_pylist()]
        assert [row[at] for row in rows] == expected


def test_numbers_times_and_truth_read_back_exactly(schema, sampled):
    table = to_arrow(schema, sampled)
    header, *rows = read_back(text_of(table, schema))
    back = {name: [row[i] for row in rows] for i, name in enumerate(header)}
    assert [float(x) if x else None for x in back["real"]] == table["real"].to_pylist()
    assert [int(x) if x else None for x in back["count"]] == table["count"].to_pylist()
    assert [datetime.strptime(x, "%d.%m.%Y").date() for x in back["german"]] == table["german"].to_pylist()
    assert [datetime.strptime(x, "%d/%m/%y %H:%M:%S.%f") for x in back["micro"]] == table["micro"].to_pylist()
    for name in ("second", "milli", "hour"):
        assert [datetime.fromisoformat(x) if x else None for x in back[name]] == table[name].to_pylist()
        assert all("T" in x for x in back[name] if x)
    assert set(back["flag"]) == {"true", "false", ""}


def test_reals_look_like_reals_unless_they_have_no_decimals():
    from sklar.schema import Real, Schema

    table = pa.table({"a": [5.0, -3.0, 0.25, 1e20], "b": [5.0, 6.0, 7.0, 8.0]})
    schema = Schema({"a": Real(-10, 1e21), "b": Real(0, 10, decimals=0)})
    assert text_of(table, schema) == "a,b\n5.0,5\n-3.0,6\n0.25,7\n1e+20,8\n"


def test_null_and_empty_text_differ():
    assert text_of(pa.table({"a": ["", None, "x"], "b": [1, 2, 3]})) == 'a,b\n"",1\n,2\nx,3\n'


def test_quotes_only_where_needed():
    assert text_of(pa.table({"a": ["x y", "x,y", 'x"y', "x\ny"]})) == 'a\nx y\n"x,y"\n"x""y"\n"x\ny"\n'


def test_a_lone_null_is_not_an_empty_line():
    assert len(read_back(text_of(pa.table({"a": pa.array([None, "x", None])})))) == 4


def test_formulas_are_disarmed_on_request_in_text_cells_only():
    table = pa.table(
        {"=name": ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "x=1", None], "number": [-5, 1, 2, 3, 4, 5, 6, 7]}
    )
    header, *rows = read_back(text_of(table, safe=True))
    assert header == ["'=name", "number"]
    assert [r[0] for r in rows] == ["'=1+1", "'+x", "'-x", "'@x", "'\tx", "'\rx", "x=1", ""]
    assert rows[0][1] == "-5"
    assert read_back(text_of(table))[1][0] == "=1+1"


def test_batches_do_not_change_the_text(schema, sampled, monkeypatch):
    from sklar.export import write as csv_module

    table = to_arrow(schema, sampled)
    whole = text_of(table, schema)
    monkeypatch.setattr(csv_module, "TEXT_BATCH_ROWS", 7)
    assert text_of(table, schema) == whole
    sliced = read_back(text_of(table.slice(13, 50), schema))[1:]
    assert sliced == read_back(whole)[14:64]
