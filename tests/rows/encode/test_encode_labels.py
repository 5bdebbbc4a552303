"""Labels and booleans to codes: exact spelling, numbers by their text, everything else `other` or missing."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklar.rows.encode import encoder_of
from sklar.schema import Boolean, Category, Ordinal

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@given(
    st.lists(words, min_size=1, max_size=30, unique=True),
    st.lists(words | st.none(), max_size=40),
    st.booleans(),
    st.data(),
)
def test_text_agrees_with_a_dictionary(labels: list[str], texts: list, nullable: bool, data: st.DataObject) -> None:
    column = Category(tuple(labels), nullable=nullable)
    texts += data.draw(st.lists(st.sampled_from(labels), max_size=20))
    missing = column.null_code if nullable else column.other_code
    known = {"": missing} | {label: code for code, label in enumerate(labels)}
    slow = [missing if t is None else known.get(t, column.other_code) for t in texts]
    for array in (
        pa.array(texts, pa.string()),
        pa.array(texts, pa.string_view()),
        pa.array(texts, pa.string()).dictionary_encode(),
    ):
        assert encoder_of(column)(array).tolist() == slow


def test_many_labels_all_found() -> None:
    labels = tuple(f"label {i * 7919}" for i in range(70_000))
    codes = encoder_of(Category(labels))(pa.array(labels[::-1]))
    assert codes.dtype == np.uint32 and (codes == np.arange(len(labels))[::-1]).all()


def test_integer_labels_match_integers_and_their_plain_text() -> None:
    column = Ordinal((10, 1, -3), nullable=True)
    other, null = column.other_code, column.null_code
    encode = encoder_of(column)
    assert encode(pa.array(["10", "1", "-3", "1.0", "01", "+1", " 1", "1e0", "", None, "2"])).tolist() == [
        0, 1, 2, 1, other, other, other, other, null, null, other,
    ]  # fmt: skip
    assert encode(pa.array([10, 1, -3, 2, None], pa.int8())).tolist() == [0, 1, 2, other, null]
    assert encode(pa.array([10.0, 1.5, np.nan, np.inf, None], from_pandas=False)).tolist() == [
        0,
        other,
        null,
        other,
        null,
    ]
    assert encode(pa.array([True, False, None])).tolist() == [1, other, null]
    assert encode(pa.array([Decimal("10"), Decimal("11")])).tolist() == [0, other]


def test_text_labels_match_numbers_by_their_text() -> None:
    column = Category(("1", "2.0", "2", "0.1", "true"))
    other = column.other_code
    encode = encoder_of(column)
    assert encode(pa.array([1, 2, 3])).tolist() == [0, 2, other]
    assert encode(pa.array([1.0, 2.0, 0.1, 3.0])).tolist() == [0, 2, 3, other]
    assert encode(pa.array([0.1, 1.0], pa.float32())).tolist() == [3, 0]
    assert encode(pa.array([True, False])).tolist() == [4, other]
    assert encode(pa.array(["01", "1.0", "2.0"])).tolist() == [other, other, 1]


def test_labels_that_spell_no_plain_number() -> None:
    column = Category(("nan", "inf", "1e400", "1e50", "x"), nullable=True)
    for kind in (pa.float64(), pa.float32(), pa.float16()):
        codes = encoder_of(column)(pa.array(np.array([np.nan, np.inf, 1.0]), from_pandas=False).cast(kind))
        assert codes.tolist() == [column.null_code, 1, column.other_code]
    assert encoder_of(column)(pa.array(["nan", "1e400", "x"])).tolist() == [0, 2, 4]


def test_dates_match_their_iso_text() -> None:
    days = pa.array(["2020-02-29", "2021-01-01"]).cast(pa.date32())
    assert encoder_of(Category(("2020-02-29",)))(days).tolist() == [0, 1]


def test_a_listed_label_wins_over_a_null_text() -> None:
    column = Category(("NA", "a"), nullable=True)
    texts = pa.array(["NA", "a", "-", "", "null"])
    assert encoder_of(column, ("NA", "-"))(texts).tolist() == [
        0,
        1,
        column.null_code,
        column.null_code,
        column.other_code,
    ]
    assert encoder_of(Category(("", "a"), nullable=True))(texts).tolist() == [2, 1, 2, 0, 2]


def test_missing_category_without_null_is_other() -> None:
    assert encoder_of(Category(("a",)))(pa.array(["", None, "b"])).tolist() == [1, 1, 1]


@pytest.mark.parametrize("column", [Boolean(nullable=True), Boolean(missing_value=True), Boolean()], ids=repr)
def test_booleans(column: Boolean) -> None:
    missing = column.null_code if column.nullable else int(column.missing_value)
    encode = encoder_of(column)
    texts = ["true", "False", "T", "f", "YES", "nO", "y", "N", "1", "0", "1.0", "0.0", " true ", "", "2", "maybe", None]
    assert encode(pa.array(texts)).tolist() == [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1] + [missing] * 4
    assert encode(pa.array(texts, pa.string_view())).tolist() == encode(pa.array(texts)).tolist()
    assert encode(pa.array([True, False, None])).tolist() == [1, 0, missing]
    assert encode(pa.array([1, 0, 2, -1, None])).tolist() == [1, 0, missing, missing, missing]
    assert encode(pa.array([1.0, 0.0, 0.5, np.nan])).tolist() == [1, 0, missing, missing]
    assert encode(pa.nulls(2)).tolist() == [missing, missing]
    assert encode(pa.array([[1], None])).tolist() == [missing, missing]


def test_boolean_null_texts() -> None:
    assert encoder_of(Boolean(nullable=True), ("0",))(pa.array(["0", "no", "1"])).tolist() == [2, 0, 1]
