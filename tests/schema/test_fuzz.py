"""Whatever a schema file holds, reading it gives a schema or a SchemaError, and nothing else."""

from __future__ import annotations

import contextlib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sklar.errors import SchemaError
from sklar.schema import Schema
from sklar.schema.table import schema_from_dict, schema_from_toml, schema_to_dict, schema_to_toml
from sklar.schema.toml import KINDS
from tests.schema.schemas import schemas, texts

scalars = (
    st.booleans()
    | st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | texts
    | st.dates()
    | st.datetimes()
    | st.times()
    | st.just(10**400)
    | st.sampled_from(["from-rows", "pay", "2020-01-01", "day", "%Y-%m-%d"])
)
anything: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
FIELDS = sorted({f for kind in KINDS.values() for f in kind.__dataclass_fields__} - {"_"})
entries = st.builds(
    lambda kind, rest: {"kind": kind, **rest},
    st.sampled_from([*KINDS, "never"]),
    st.dictionaries(st.sampled_from(FIELDS), anything, max_size=6),
)
rules = st.builds(
    lambda kind, rest: {"kind": kind, **rest},
    st.sampled_from(["at-most", "never", "function"]) | anything,
    st.dictionaries(st.sampled_from(["low", "high", "values", "column", "of", "table"]), anything, max_size=4),
)


def read(document: Any) -> Schema | None:
    with contextlib.suppress(SchemaError):
        return schema_from_dict(document)
    return None


@given(st.dictionaries(texts, entries, max_size=3), st.lists(rules, max_size=2))
def test_documents_of_odd_types(columns: dict[str, Any], rules: list[Any]) -> None:
    schema = read({"columns": columns, "rules": rules})
    if schema is not None:
        assert schema_from_toml(schema_to_toml(schema)) == schema


@given(schemas(), st.data())
def test_one_odd_value_in_a_good_schema(schema: Schema, data: st.DataObject) -> None:
    document = schema_to_dict(schema)
    name = data.draw(st.sampled_from(sorted(document["columns"])))
    field = data.draw(st.sampled_from(FIELDS))
    document["columns"][name][field] = data.draw(anything)
    changed = read(document)
    if changed is not None:
        assert all(column.size > 0 for column in changed.values() if column.modelled)


@given(schemas(), st.integers(0, 2**16), texts)
def test_damaged_text(schema: Schema, place: int, junk: str) -> None:
    text = schema_to_toml(schema)
    place %= len(text)
    for damaged in (text[:place], text[:place] + junk + text[place + 1 :]):
        with contextlib.suppress(SchemaError):
            schema_from_toml(damaged)
