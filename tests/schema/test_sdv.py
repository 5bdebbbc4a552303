"""SDV metadata: kinds survive the round trip, gaps and contradictions are listed, odd documents are refused plainly."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklar.errors import SchemaError, UsageError
from sklar.schema import Boolean, Category, Datetime, Id, Ignore, Integer, Ordinal, Person, Real, Schema
from sklar.schema.persons.tables import Tables
from sklar.schema.sdv import kinds_from_sdv, read_sdv, schema_from_sdv, tables_from_sdv, to_sdv
from tests.schema.schemas import schemas, texts

HOTEL = {
    "METADATA_SPEC_VERSION": "V1",
    "tables": {
        "guests": {
            "primary_key": "guest",
            "alternate_keys": ["card"],
            "columns": {
                "guest": {"sdtype": "email", "pii": True},
                "card": {"sdtype": "credit_card_number"},
                "home": {"sdtype": "address", "pii": True},
                "city": {"sdtype": "city", "pii": False},
                "rewards": {"sdtype": "boolean"},
                "room": {"sdtype": "categorical"},
                "tier": {"sdtype": "categorical", "order": ["low", "high"]},
                "size": {"sdtype": "categorical", "order_by": "numerical_value"},
                "fee": {"sdtype": "numerical"},
                "nights": {"sdtype": "numerical", "computer_representation": "UInt8"},
                "rate": {"sdtype": "numerical", "computer_representation": "Float"},
                "arrival": {"sdtype": "datetime", "datetime_format": "%d %b %Y"},
                "left": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
                "what": {"sdtype": "unknown"},
            },
        }
    },
    "relationships": [],
}
SINGLE = {"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", **HOTEL["tables"]["guests"]}  # type: ignore[index,dict-item]


def test_kinds() -> None:
    kinds = kinds_from_sdv(HOTEL)
    assert {name: stated.kind for name, stated in kinds.items()} == {
        "guest": "id", "card": "id", "home": "ignore", "city": "category", "rewards": "boolean", "room": "category",
        "tier": "ordinal", "size": "category", "fee": "number", "nights": "integer", "rate": "real",
        "arrival": "datetime", "left": "datetime", "what": "ignore",
    }  # fmt: skip
    assert kinds["arrival"].format == "%d %b %Y" and kinds["left"].format is None
    assert kinds["tier"].values == ("low", "high")
    assert kinds["size"].notes
    assert kinds_from_sdv(SINGLE) == kinds


@given(schemas())
def test_kinds_survive_the_round_trip(schema: Schema) -> None:
    document = json.loads(json.dumps(to_sdv(schema)))
    assert {n: k.kind for n, k in kinds_from_sdv(document).items()} == {n: c.kind for n, c in schema.items()}
    assert Schema(dict(schema)) == schema_from_sdv(document, dict(schema))


def test_domains_complete_the_metadata() -> None:
    domains = {
        "room": Category(["single", "double"]), "city": Category(["Rome"]), "size": Ordinal([1, 2]),
        "fee": Integer(0, 9), "nights": Integer(1, 30), "rate": Real(0, 999), "left": Ignore(),
        "arrival": Datetime("2020-01-01", "2020-12-31", format="%d %b %Y"),
    }  # fmt: skip
    schema = schema_from_sdv(HOTEL, domains)
    assert schema["tier"] == Ordinal(["low", "high"])
    assert schema["guest"] == Id() and schema["rewards"] == Boolean() and schema["home"] == Ignore()


def test_gaps_and_contradictions_are_listed_at_once() -> None:
    with pytest.raises(SchemaError) as caught:
        schema_from_sdv(HOTEL, {"room": Integer(0, 9), "nobody": Boolean()})
    faults = "; ".join(caught.value.faults)
    assert len(caught.value.faults) == 9
    assert "column 'fee': numerical needs lower and upper" in faults
    assert "column 'size': categorical needs values" in faults
    assert "say categorical, but it is given as integer" in faults
    assert "'nobody' is not in the metadata" in faults


@pytest.mark.parametrize(
    "document",
    [
        None, [], {}, 3, {"columns": {}}, {"columns": 3}, {"tables": {}}, {"tables": 3}, {"columns": {"a": 3}},
        {"columns": {"a": {}}}, {"columns": {"a": {"sdtype": 3}}}, {"tables": {"t": {"columns": None}}},
    ],
)  # fmt: skip
def test_odd_documents_are_refused(document: Any) -> None:
    with pytest.raises(SchemaError):
        kinds_from_sdv(document)


def test_several_tables_need_a_name() -> None:
    both = {"tables": {"a": {"columns": {"x": {"sdtype": "boolean"}}}, "b": {"columns": {"y": {"sdtype": "id"}}}}}
    with pytest.raises(UsageError, match="name one of a, b"):
        kinds_from_sdv(both)
    assert list(kinds_from_sdv(both, "b")) == ["y"]
    with pytest.raises(UsageError, match="no table 'c'"):
        kinds_from_sdv(both, "c")


def test_files(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(json.dumps(HOTEL))
    assert read_sdv(tmp_path / "m.json") == kinds_from_sdv(HOTEL)
    (tmp_path / "bad.json").write_bytes(b"\xff{")
    with pytest.raises(SchemaError, match="not JSON"):
        read_sdv(tmp_path / "bad.json")
    with pytest.raises(UsageError, match="cannot read"):
        read_sdv(tmp_path / "absent.json")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
WORDS = st.sampled_from(["categorical", "numerical", "datetime", "boolean", "id", "email"])
KEYS = st.sampled_from(["sdtype", "order", "order_by", "datetime_format", "computer_representation", "pii"])


@given(st.dictionaries(texts, st.dictionaries(KEYS, anything | WORDS), max_size=3), anything, anything)
def test_any_document_gives_kinds_or_a_plain_error(columns: Any, primary: Any, alternate: Any) -> None:
    with contextlib.suppress(SchemaError):
        kinds_from_sdv({"columns": columns, "primary_key": primary, "alternate_keys": alternate})


HOSPITAL: dict[str, Any] = {
    "tables": {
        "patients": {
            "primary_key": "id",
            "alternate_keys": ["passport"],
            "columns": {"id": {"sdtype": "id"}, "passport": {"sdtype": "id"}, "smokes": {"sdtype": "boolean"}},
        },
        "stays": {
            "primary_key": "stay",
            "columns": {
                "stay": {"sdtype": "id"}, "patient": {"sdtype": "numerical"}, "urgent": {"sdtype": "boolean"},
                "day": {"sdtype": "numerical", "computer_representation": "Int64"},
            },
        },
    },
    "relationships": [
        {"parent_table_name": "patients", "parent_primary_key": "id", "child_table_name": "stays",
         "child_foreign_key": "patient"},
    ],
}  # fmt: skip
FLAGS = {"columns": {"smokes": {"sdtype": "boolean"}, "urgent": {"sdtype": "boolean"}}}
LINK = HOSPITAL["relationships"][0]
DAYS = {"stays": {"day": Integer(0, 365)}}


def test_two_tables_and_their_key_come_from_a_relationship() -> None:
    found = tables_from_sdv(HOSPITAL, DAYS, Person(key="patient", rows=4, order="day"))
    patients = Schema({"id": Id(), "smokes": Boolean()})
    columns = {"stay": Id(), "patient": Id(), "urgent": Boolean(), "day": Integer(0, 365)}
    stays = Schema(columns, person=Person(key="patient", rows=4, order="day"))
    assert found == Tables({"patients": patients, "stays": stays}, keys={"stays": ("patient", "patients")},
                           person="patients")  # fmt: skip


@pytest.mark.parametrize(
    ("change", "domains", "says"),
    [
        ({"tables": {**HOSPITAL["tables"], "drugs": {}}}, DAYS, "have 3: patients, stays, drugs"),
        ({"relationships": []}, DAYS, "exactly one of 'relationships'"),
        ({"relationships": HOSPITAL["relationships"] * 2}, DAYS, "exactly one of 'relationships'"),
        ({"relationships": [{**LINK, "child_foreign_key": ["a", "b"]}]}, DAYS, "child_foreign"),
        ({"relationships": [{**LINK, "child_table_name": "x"}]}, DAYS, "one of the tables"),
        ({"relationships": [{**LINK, "child_foreign_key": "x"}]}, DAYS, "'x' is the key of 'stays'"),
        ({"relationships": [{**LINK, "child_foreign_key": "smokes"}],
          "tables": {**HOSPITAL["tables"], "stays": FLAGS}},
         {}, "rename it"),
        ({"tables": {"patients": {}, "stays": {}}}, DAYS, "without 'columns'"),
        ({}, {}, "table 'stays': column 'day': numerical needs lower and upper"),
        ({}, {**DAYS, "drugs": {}}, "no table 'drugs'"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_metadata_of_two_tables_is_said(change: Any, domains: Any, says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        tables_from_sdv({**HOSPITAL, **change}, domains)


@given(anything, anything)
def test_any_relationship_gives_tables_or_a_plain_error(columns: Any, links: Any) -> None:
    stays = {**HOSPITAL["tables"]["stays"], "columns": columns}
    for document in (
        {**HOSPITAL, "relationships": links},
        {**HOSPITAL, "tables": {"patients": {}, "stays": stays}},
        columns,
    ):
        with contextlib.suppress(SchemaError):
            tables_from_sdv(document, DAYS)
