"""Every rule a schema can break gives a plain fault, all at once, and never another exception."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pytest

from sklar.errors import SchemaError, UnconfirmedFactError
from sklar.schema import Boolean, Category, Column, Datetime, Id, Ignore, Integer, Ordinal, Price, Real, Schema
from sklar.schema.columns import MEASURED_WITH_KIND
from sklar.schema.table import MAX_COLUMNS, schema_from_toml

HUGE = 10**400

BROKEN: list[tuple[Column, str]] = [
    (Integer(5, 4), "lower <= upper"),
    (Integer(0.5, 4), "lower must be an integer"),  # type: ignore[arg-type]
    (Integer(True, 4), "lower must be an integer"),
    (Integer(0, 2**63), "64-bit"),
    (Integer(0, 2**63 - 1), "64-bit"),
    (Integer(0, HUGE), "64-bit"),
    (Integer(0, 4, missing_value=5), "missing_value must lie"),
    (Integer(0, 4, missing_value="x"), "missing_value must be an integer"),  # type: ignore[arg-type]
    (Integer(0, 4, missing_value=True), "missing_value must be an integer"),
    (Integer(0, 4, bins=0), "bins must be"),
    (Integer(0, 4, bins=True), "bins must be"),
    (Integer(0, 4, bins=2.0), "bins must be"),  # type: ignore[arg-type]
    (Integer(0, 4, bins=10**7), "bins must be"),
    (Integer(0, 4, bins=2, edges=(0, 5)), "not both"),
    (Integer(0, 4, edges=(0, 4)), "end at upper + 1"),
    (Integer(0, 4, edges=(0, 3, 2, 5)), "edges must increase"),
    (Integer(0, 4, edges=(0, 2.5, 5)), "edges must be integers"),  # type: ignore[arg-type]
    (Integer(0, 4, atoms=(True,)), "atoms must be integers"),
    (Integer(0, 4, atoms=(7,)), "atoms must lie"),
    (Integer(0, 4, nullable="no"), "nullable must be true or false"),  # type: ignore[arg-type]
    (Integer(0, 4, source="guessed"), "it must be one of"),
    (Integer(0, 4, source={"values": "public"}), "which this kind of column does not have"),
    (Real(1, 1), "lower must be below upper"),
    (Real(0, float("nan")), "finite"),
    (Real(float("-inf"), 0), "finite"),
    (Real(0, HUGE), "finite"),
    (Real(-HUGE, 0), "finite"),
    (Real(-1.7e308, 1.7e308), "distance finite"),
    (Real(True, 4), "finite numbers"),
    (Real("0", 4), "finite numbers"),  # type: ignore[arg-type]
    (Real(0, 4, decimals=16), "decimals"),
    (Real(0, 4, decimals=True), "decimals"),
    (Real(0, 4, decimals=-16), "decimals"),
    (Real(0, 4, missing_value=float("nan")), "finite numbers"),
    (Real(0, 4, missing_value=9), "missing_value must lie"),
    (Real(0, 4, atoms=(float("nan"),)), "atoms must lie"),
    (Real(0, 4, atoms=("x",)), "must be numbers"),  # type: ignore[arg-type]
    (Real(0, 4, edges=(0, float("nan"), 4)), "edges must increase"),
    (Real(0, 4, edges=(0, HUGE)), "edges must start at lower"),
    (Datetime("2020-02-30", "2021-01-01"), "ISO dates"),
    (Datetime(5, 6), "ISO dates"),  # type: ignore[arg-type]
    (Datetime("2021-01-01", "2020-01-01"), "lower must not be after upper"),
    (Datetime("2020-01-01", "2021-01-01", missing_value="2022-01-01"), "missing_value must lie"),
    (Datetime("2020-01-01", "2021-01-01", resolution="week"), "resolution"),
    (Datetime("2020-01-01", "2021-01-01", bins=-1), "bins"),
    (Datetime("2020-01-01", "2021-01-01", format="%Q"), "format"),
    (Datetime("2020-01-01", "2021-01-01", format="%H:%M"), "format"),
    (Datetime("2020-01-01", "2021-01-01", format=5), "format"),  # type: ignore[arg-type]
    (Datetime(datetime(2020, 1, 1, tzinfo=UTC), "2021-01-01"), "without a zone"),  # type: ignore[arg-type]
    (Category([]), "at least one label"),  # type: ignore[arg-type]
    (Category("FM"), "list of labels"),  # type: ignore[arg-type]
    (Category(["a", 1]), "all text or all integers"),  # type: ignore[arg-type]
    (Category([True, False]), "all text or all integers"),  # type: ignore[arg-type]
    (Category([1.5]), "all text or all integers"),  # type: ignore[arg-type]
    (Category(["a", "a"]), "label twice"),  # type: ignore[arg-type]
    (Category(["a"], other="a"), "other may not equal"),  # type: ignore[arg-type]
    (Category(["a"], other=1), "same type"),  # type: ignore[arg-type]
    (Category([1, 2], other=True), "same type"),  # type: ignore[arg-type]
    (Category([HUGE]), "64-bit"),  # type: ignore[arg-type]
    (Ordinal(["\ud800"]), "Unicode"),  # type: ignore[arg-type]
    (Boolean(missing_value=1), "missing_value must be true or false"),  # type: ignore[arg-type]
    (Boolean(nullable=None), "nullable must be true or false"),  # type: ignore[arg-type]
    (Id(prefix=5), "prefix must be text"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("column", "words"), BROKEN, ids=[f"{c.kind}-{i}" for i, (c, _) in enumerate(BROKEN)])
def test_a_broken_column_says_which_rule(column: Column, words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema({"x": column, "fine": Integer(0, 1)})
    assert len(caught.value.faults) == 1, caught.value.faults
    assert words in caught.value.faults[0]
    assert caught.value.faults[0].startswith("column 'x': ")


def test_all_faults_are_reported_at_once() -> None:
    with pytest.raises(SchemaError) as caught:
        Schema({f"c{i}": column for i, (column, _) in enumerate(BROKEN)})
    assert len(caught.value.faults) == len(BROKEN)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({}, "no columns"),
        ({"": Integer(0, 1)}, "blank"),
        ({" \t": Integer(0, 1)}, "blank"),
        ({5: Integer(0, 1)}, "blank or not text"),
        ({"\udc80": Integer(0, 1)}, "blank or not text"),
        ({"x": Integer}, "not one of the column kinds"),
        ({"x": Column()}, "not one of the column kinds"),
        ({"x": Id(), "y": Ignore()}, "no column to model"),
        ({str(i): Ignore() for i in range(MAX_COLUMNS + 1)}, "at most"),
    ],
)
def test_a_broken_table_says_which_rule(columns: Any, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        Schema(columns)


TEXTS = [
    ("", ["needs a table"]),
    ("columns = 3", ["needs a table"]),
    ("[columns]", ["no columns"]),
    ("x = 1\nversion = 2\n[columns.a]\nkind = 'boolean'", ["unknown entry 'x'", "version must be 1"]),
    ("version = true\n[columns.a]\nkind = 'boolean'", ["version must be 1"]),
    ("[columns]\na = 1", ["must be a table"]),
    ("[columns.a]\nkind = ['integer']", ["kind must be one of"]),
    ("[columns.a]\nkind = 'integer'", ["'lower' is missing", "'upper' is missing"]),
    ("[columns.a]\nkind = 'integer'\nlower = 0\nupper = 9\nlevels = 3", ["has no 'levels'"]),
    ("[columns.a]\nkind = 'integer'\nlower = 2020-01-01\nupper = 9", ["lower must be an integer"]),
    ("[columns.a]\nkind = 'integer'\nlower = 0.0\nupper = 9", ["lower must be an integer"]),
    ("[columns.a]\nkind = 'integer'\nlower = false\nupper = 9", ["lower must be an integer"]),
    ("[columns.a]\nkind = 'integer'\nlower = 0\nupper = 9\nedges = 5", ["'edges' has the wrong type"]),
    ("[columns.a]\nkind = 'integer'\nlower = [0]\nupper = 9", ["'lower' has the wrong type"]),
    ("[columns.a]\nkind = 'integer'\nlower = 0\nupper = 9\nmissing_value = 1979-05-27", ["must be an integer"]),
    (f"[columns.a]\nkind = 'integer'\nlower = 0\nupper = {HUGE}", ["64-bit"]),
    (f"[columns.a]\nkind = 'integer'\nlower = 0\nupper = {'9' * 5000}", ["not valid TOML"]),
    (f"[columns.a]\nkind = 'real'\nlower = 0\nupper = {HUGE}", ["finite"]),
    (f"[columns.a]\nkind = 'real'\nlower = 0\nupper = 1\natoms = [{HUGE}]", ["atoms must lie"]),
    ("[columns.a]\nkind = 'real'\nlower = nan\nupper = inf", ["finite"]),
    ("[columns.a]\nkind = 'real'\nlower = 0\nupper = 07:32:00", ["finite"]),
    ("[columns.a]\nkind = 'datetime'\nlower = 07:32:00\nupper = 2020-01-01", ["ISO dates"]),
    ("[columns.a]\nkind = 'datetime'\nlower = 2020-01-01T00:00:00Z\nupper = 2021-01-01", ["without a zone"]),
    ("[columns.a]\nkind = 'datetime'\nlower = 2020\nupper = 2021", ["ISO dates"]),
    ("[columns.a]\nkind = 'category'\nvalues = [true, false]", ["'values' has the wrong type"]),
    ("[columns.a]\nkind = 'category'\nvalues = 'FM'", ["'values' has the wrong type"]),
    ("[columns.a]\nkind = 'category'\nvalues = [1, 2]\nother = true", ["same type"]),
    ("[columns.a]\nkind = 'boolean'\nnullable = 1", ["'nullable' has the wrong type"]),
    ("[columns.a]\nkind = 'boolean'\nmissing_value = 'no'", ["missing_value must be true or false"]),
    ("[columns.a]\nkind = 'boolean'\nsource = { nullable = 1 }", ["'source' has the wrong type"]),
    ("[columns.a]\nkind = 'id'\nsource = 'pay'", ["kind, prefix cannot be measured"]),
    ("[columns.a]\nkind = 'integer'\nlower = 0\nupper = 9\nsource = 'pay'", ["kind, missing_value cannot be measured"]),
    ("prices = 3\n[columns.a]\nkind = 'boolean'", ["prices must be a list"]),
    ("[columns.a]\nkind = 'boolean'\n[[prices]]\nfit = 'x'", ["price 1: it needs exactly"]),
    ("rules = 3\n[columns.a]\nkind = 'boolean'", ["rules must be a list"]),
    ("rules = [3]\n[columns.a]\nkind = 'boolean'", ["rule 1: kind"]),
    ("[columns.a]\nkind = 'boolean'\n[[rules]]\nkind = []", ["rule 1: kind"]),
    ("[columns.a]\nkind = 'boolean'\n[[rules]]\nkind = 'never'", ["needs exactly values"]),
    ("[columns.a]\nkind = 'boolean'\n[[rules]]\nkind = 'never'\nvalues = { a = [1] }", ["is not a value"]),
    ("[columns.a]\nkind = 'x'\n[[rules]]\nkind = 'never'\nvalues = { a = 1 }", ["kind must be one of"]),
    ("a = " + "[" * 3000 + "]" * 3000, ["not valid TOML"]),
    ("[columns.a]\nkind = 'boolean'\n[columns.a]\nkind = 'boolean'", ["not valid TOML"]),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS, ids=[str(i) for i in range(len(TEXTS))])
def test_a_broken_file_says_which_rule(text: str, expected: list[str]) -> None:
    with pytest.raises(SchemaError) as caught:
        schema_from_toml(text)
    assert len(caught.value.faults) == len(expected), caught.value.faults
    assert all(words in fault for words, fault in zip(expected, caught.value.faults, strict=True))


def test_numpy_numbers_and_dates_are_taken_as_plain_ones() -> None:
    assert Integer(np.int64(0), np.int32(9), atoms=np.array([3])) == Integer(0, 9, atoms=(3,))  # type: ignore[arg-type]
    assert Real(np.float32(0), np.float64(2.5), edges=np.array([0, 1, 2.5])) == Real(0, 2.5, edges=(0, 1, 2.5))  # type: ignore[arg-type]
    assert Category(np.array(["a", "b"])) == Category(["a", "b"])  # type: ignore[arg-type]
    assert Category(np.array([1, 2])).integer_labels  # type: ignore[arg-type]
    assert Datetime(date(2020, 1, 1), date(2020, 1, 9)) == Datetime("2020-01-01", "2020-01-09")  # type: ignore[arg-type]
    Schema({"x": Integer(np.int64(0), np.int64(9)), "c": Category(np.array([1, 2]))})  # type: ignore[arg-type]


def test_facts_from_rows_are_refused_until_confirmed() -> None:
    schema = Schema({"x": Integer(0, 9, source={"upper": "from-rows"}), "y": Boolean(source="from-rows")})
    with pytest.raises(UnconfirmedFactError) as caught:
        schema.require_confirmed()
    assert len(caught.value.faults) == 2
    assert caught.value.faults == ("column 'x': upper", "column 'y': all facts")
    assert "are not confirmed" in str(caught.value) and "schema.questions()" in str(caught.value)
    Schema({"x": Integer(0, 9, source={"upper": "pay"}), "y": Boolean(source="measured")}).require_confirmed()


@pytest.mark.parametrize("column", [Id(source="from-rows"), Ignore(source="from-rows")], ids=str)
def test_that_a_column_is_a_key_or_left_out_is_a_fact(column: Column) -> None:
    with pytest.raises(UnconfirmedFactError, match=r"'a': (kind|all facts)"):
        Schema({"a": column, "b": Boolean()}).require_confirmed()


@pytest.mark.parametrize("word", ["pay", "measured"])
@pytest.mark.parametrize(
    ("column", "fact"),
    [
        (lambda source: Integer(0, 9, source=source), "kind"),
        (lambda source: Real(0, 9, source=source), "missing_value"),
        (lambda source: Category([1, 2], source=source), "integer_labels"),
        (lambda source: Category(["a"], source=source), "other"),
        (lambda source: Datetime("2020-01-01", "2020-01-02", source=source), "format"),
        (lambda source: Ignore(source=source), "kind"),
    ],
)
def test_what_cannot_be_measured_cannot_be_paid_for(column: Any, fact: str, word: str) -> None:
    if word == "measured" and fact in MEASURED_WITH_KIND:  # with the classes of cells of an unknown column
        assert Schema({"a": column({fact: word}), "b": Boolean()}).unpriced == (("a", fact),)
        return
    with pytest.raises(SchemaError, match=f"{fact} cannot be measured.*assumed"):
        Schema({"a": column({fact: word}), "b": Boolean()})
    assert column(word).provenance(fact) == "assumed"


def _price(**changes: Any) -> Price:
    whole = {"fit": "a", "ledger": "people", "epsilon": 1, "delta": 0.0, "rho": 0.1, "neighbours": "replace"}
    return Price(**{**whole, "rows_per_person": 1, "facts": ["b.nullable"], **changes})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon": 0}, "epsilon must be"), ({"epsilon": float("nan")}, "epsilon must be"), ({"rho": -1}, "rho must"),
        ({"epsilon": True}, "epsilon must be"), ({"delta": 1}, "delta must be"), ({"delta": -1e-9}, "delta must be"),
        ({"neighbours": "both"}, "neighbours must"), ({"rows_per_person": 0}, "rows_per_person must"),
        ({"fit": ""}, "fit must name"), ({"ledger": "a\nb"}, "ledger must be text"), ({"facts": "age"}, "facts must"),
    ],
)  # fmt: skip
def test_faults_of_prices(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        Schema({"b": Boolean()}, prices=[_price(**changes)])


def test_one_measurement_has_one_price() -> None:
    Schema({"b": Boolean()}, prices=[_price(), _price(fit="b")])
    with pytest.raises(SchemaError, match="same fit"):
        Schema({"b": Boolean()}, prices=[_price(), _price(epsilon=2)])


def test_provenance_of_each_fact() -> None:
    column = Integer(0, 9, source={"upper": "public", "lower": "assumed"})
    assert column.provenance("upper") == "public"
    assert column.provenance("lower") == column.provenance("bins") == "assumed"
    assert column == Integer(0, 9, source=(("upper", "public"),))
    schema = Schema({"x": column})
    assert schema.facts_by_provenance("public") == (("x", "upper"),)
    assert ("x", "nullable") in schema.facts_by_provenance("assumed")
