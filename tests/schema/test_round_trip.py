"""Writing a schema and reading it back gives an equal schema, whatever the schema."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklar.errors import OutputError, SchemaError, UsageError
from sklar.schema import Category, Datetime, Integer, Real, Schema
from sklar.schema.columns import Column
from sklar.schema.table import schema_from_dict, schema_from_toml, schema_to_dict, schema_to_toml
from sklar.schema.toml import format_document
from tests.schema.schemas import columns, schemas, texts


@given(schemas())
def test_text_round_trip(schema: Schema) -> None:
    back = schema_from_toml(schema_to_toml(schema))
    assert back == schema
    assert back.names == schema.names
    assert back.rules == schema.rules
    assert back.fingerprint == schema.fingerprint
    assert hash(back) == hash(schema)


@given(columns, st.lists(texts, max_size=3))
def test_notes_change_nothing_but_comments(column: Column, notes: list[str]) -> None:
    schema = Schema({"x": column, "y": Integer(0, 1)})
    text = schema_to_toml(schema, {"x": notes})
    assert schema_from_toml(text) == schema
    kept = [line for line in text.split("\n") if not line.startswith("#")]
    assert kept == [line for line in schema_to_toml(schema).split("\n") if not line.startswith("#")]


def test_document_is_what_toml_reads() -> None:
    schema = Schema({"a.b": Category(['"', "\\", "\x7f", "é\n"]), "c": Real(-1.5, 1e22, edges=[-1.5, 0, 1e22])})
    document = schema_to_dict(schema)
    assert tomllib.loads(format_document(document, {})) == document
    assert schema_from_dict(document) == schema


@pytest.mark.parametrize("x", [5e-324, 1e-7, 0.1 + 0.2, 1e22, 1.7e308, -0.0, 123456789.123456789])
def test_reals_keep_every_bit(x: float) -> None:
    schema = Schema({"x": Real(min(x, 0.0) - 1, max(x, 0.0) + 1, atoms=[x])})
    column = schema_from_toml(schema_to_toml(schema))["x"]
    assert isinstance(column, Real)
    assert column.atoms == (x,)
    assert math.copysign(1, column.atoms[0]) == math.copysign(1, x)


def test_integers_beyond_float_precision_keep_every_digit() -> None:
    schema = Schema({"x": Integer(-(2**63), 2**63 - 2, atoms=[2**53 + 1])})
    assert schema_from_toml(schema_to_toml(schema)) == schema


def test_facts_are_marked_one_by_one_or_all_at_once() -> None:
    whole = Schema({"x": Integer(0, 1, source="from-rows")})
    single = Schema({"x": Integer(0, 1, source={"upper": "measured"})})
    assert 'source = "from-rows"' in schema_to_toml(whole)
    assert 'source = { upper = "measured" }' in schema_to_toml(single)


def test_toml_dates_are_bounds(tmp_path: Path) -> None:
    text = "[columns.t]\nkind = 'datetime'\nlower = 2020-01-01\nupper = 2020-12-31\n"
    assert schema_from_toml(text) == Schema({"t": Datetime("2020-01-01", "2020-12-31")})
    timed = text.replace("2020-12-31", "2020-12-31T10:00:00")
    assert schema_from_toml(timed)["t"] == Datetime("2020-01-01", "2020-12-31T10:00:00", resolution="second")


def test_file_round_trip_and_byte_order_mark(tmp_path: Path) -> None:
    schema = Schema({"naïve": Category(["a", "b"], nullable=True)})
    path = tmp_path / "s.toml"
    schema.write(path)
    assert Schema.read(path) == schema
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert Schema.read(path) == schema
    assert [p.name for p in tmp_path.iterdir()] == ["s.toml"]


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the schema"):
        Schema.read(tmp_path / "absent.toml")
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9")
    with pytest.raises(SchemaError, match="UTF-8"):
        Schema.read(tmp_path / "latin.toml")
    with pytest.raises(OutputError, match="cannot write"):
        Schema({"x": Integer(0, 1)}).write(tmp_path / "no" / "folder.toml")
