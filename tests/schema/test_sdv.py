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
from sklar.schema.columns import Column
from sklar.schema.persons.tables import Tables
from sklar.schema.sdv import kinds_from_sdv, read_sdv, schema_from_sdv, schema_to_pay, tables_from_sdv, to_sdv
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


@given(schemas(), st.sampled_from(["V1", "V2"]))
def test_kinds_survive_the_round_trip(schema: Schema, version: Any) -> None:
    document = json.loads(json.dumps(to_sdv(schema, version=version)))

    def kind(one: Column) -> str:
        """Reals without digits after the point are whole numbers to V2; unknown values have no order."""
        hidden = {fact for fact, word in one.sources if word in ("from-rows", "pay")}
        whole = version == "V2" and getattr(one, "decimals", None) == 0 and "decimals" not in hidden
        unordered = one.kind == "ordinal" and "values" in hidden
        return "integer" if whole else "category" if unordered else one.kind

    kinds = {name: kind(one) for name, one in schema.items()}
    assert {name: kind.kind for name, kind in kinds_from_sdv(document).items()} == kinds
    assert Schema(dict(schema)) == schema_from_sdv(document, dict(schema))


V2 = {
    "METADATA_SPEC_VERSION": "V2",
    "tables": {
        "people": {
            "primary_key": "id",
            "columns": {
                "id": {"sdtype": "id"},
                "age": {"sdtype": "numerical", "range_is_nullable": False, "range_min": 18, "range_max": 89,
                        "decimal_places": 0},
                "income": {"sdtype": "numerical", "range_is_nullable": True, "range_min": -3.5, "range_max": 60660.37,
                           "decimal_places": 2},
                "size": {"sdtype": "numerical", "range_min": 0.1, "range_max": 0.9, "decimal_places": 15},
                "sex": {"sdtype": "categorical", "range_is_nullable": False, "range_values": ["M", "F"],
                        "high_cardinality": False},
                "ok": {"sdtype": "categorical", "range_is_nullable": True, "range_values": [True, False]},
                "rate": {"sdtype": "ordinal", "range_is_nullable": False, "range_values": [4, 2.0, 5, 1, 3]},
                "tier": {"sdtype": "ordinal", "range_is_nullable": False, "range_values": ["low", "high"]},
                "city": {"sdtype": "categorical", "range_is_nullable": False, "high_cardinality": True},
                "one": {"sdtype": "numerical", "range_min": 1.5, "range_max": 1.5, "decimal_places": 1},
                "day": {"sdtype": "datetime", "range_is_nullable": False, "range_min": "2020-01-02 00:00:00",
                        "range_max": "2022-09-26 00:00:00"},
                "seen": {"sdtype": "datetime", "datetime_format": "%d.%m.%Y %H:%M", "range_is_nullable": False,
                         "range_min": "02.01.2020 07:30", "range_max": "26.09.2022 18:00"},
                "paid": {"sdtype": "boolean", "range_is_nullable": True},
            },
        }
    },
    "relationships": [],
}  # fmt: skip
OPEN = {"city": Category(["Rome"]), "one": Ignore()}


def test_ranges_of_v2_count_as_read_off_the_rows() -> None:
    schema = schema_from_sdv(V2, OPEN)
    bounds = {"lower": "from-rows", "upper": "from-rows", "nullable": "from-rows"}
    values = {"values": "from-rows", "nullable": "from-rows"}
    clock = {**bounds, "resolution": "from-rows"}
    assert dict(schema) == {
        "id": Id(), "age": Integer(18, 89, source=bounds), "city": Category(["Rome"]), "one": Ignore(),
        "income": Real(-3.5, 60660.37, decimals=2, nullable=True, source={**bounds, "decimals": "from-rows"}),
        "size": Real(0.1, 0.9, nullable=True, source=bounds), "sex": Category(["F", "M"], source=values),
        "ok": Boolean(nullable=True, source={"nullable": "from-rows"}),
        "rate": Ordinal([1, 2, 3, 4, 5], source=values), "tier": Ordinal(["low", "high"], source=values),
        "day": Datetime("2020-01-02", "2022-09-26", source=clock),
        "seen": Datetime("2020-01-02T07:30:00", "2022-09-26T18:00:00", format="%d.%m.%Y %H:%M", resolution="minute",
                         source=clock),
        "paid": Boolean(nullable=True, source={"nullable": "from-rows"}),
    }  # fmt: skip
    assert schema.facts_by_provenance("from-rows")
    public = schema_from_sdv(V2, OPEN, ranges="public")
    assert not public.facts_by_provenance("from-rows") and public["age"].provenance("lower") == "public"


def test_what_a_range_leaves_open_is_asked_for() -> None:
    with pytest.raises(SchemaError) as caught:
        schema_from_sdv(V2)
    assert [fault.split(":")[0] for fault in caught.value.faults] == ["column 'city'", "column 'one'"]


def test_ranges_are_paid_for_unless_they_are_public() -> None:
    kinds = {name: kind for name, kind in kinds_from_sdv(V2).items() if name not in ("city", "one")}
    paid = schema_to_pay(kinds)
    assert {name: one.kind for name, one in paid.items()} == {
        "id": "id", "age": "integer", "income": "real", "size": "real", "sex": "category", "ok": "boolean",
        "rate": "integer", "tier": "category", "day": "datetime", "seen": "datetime", "paid": "boolean",
    }  # fmt: skip
    # Nothing that a range states is left, not even as a value that is to be measured.
    assert "89" not in paid.toml() and "low" not in paid.toml().replace("lower", "") and "2022" not in paid.toml()
    assert paid["ok"] == Boolean(nullable=True)
    assert dict(schema_to_pay(kinds, take_ranges=True)) == {
        name: one for name, one in schema_from_sdv(V2, OPEN, ranges="public").items() if name in kinds
    }


def test_what_was_read_off_the_rows_is_not_written() -> None:
    schema = schema_from_sdv(V2, OPEN)
    written = to_sdv(schema)["tables"]["table"]["columns"]
    words = {"range_min", "range_max", "range_values", "range_is_nullable"}
    assert [name for name, column in written.items() if words & set(column)] == ["city"]
    assert written["rate"] == {"sdtype": "ordinal"} and written["age"] == {"sdtype": "numerical", "decimal_places": 0}


def test_ranges_survive_the_round_trip() -> None:
    schema = schema_from_sdv(V2, OPEN, ranges="public")
    again = schema_from_sdv(json.loads(json.dumps(to_sdv(schema))), {"one": Ignore()}, ranges="public")
    assert {n: c for n, c in again.items() if n != "city"} == {n: c for n, c in schema.items() if n != "city"}
    assert again["city"] == Category(["Rome"], source={"values": "public", "nullable": "public"})
    with pytest.raises(UsageError, match="V1 and V2"):
        to_sdv(schema, version="V3")  # type: ignore[arg-type]


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
WORDS = st.sampled_from(["categorical", "ordinal", "numerical", "datetime", "boolean", "id", "email"])
KEYS = st.sampled_from(
    ["sdtype", "order", "order_by", "datetime_format", "computer_representation", "pii", "range_min", "range_max",
     "range_values", "range_is_nullable", "decimal_places"]
)  # fmt: skip


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
        ({"relationships": [{**LINK, "child_foreign_key": "x"}]}, DAYS, "'x' is the key of table 'stays'"),
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
