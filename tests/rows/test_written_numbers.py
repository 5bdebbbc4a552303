"""Numbers in text by a stated format: each cell by its own text, and what is written in another way is unreadable."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklar.errors import SchemaError
from sklar.rows.encode.coordinates import raw_reader
from sklar.schema import Integer, Real, Schema
from sklar.schema.number_formats import APOSTROPHES, SPACES, NumberFormat, read_number_format

CASES: dict[str, dict[str, float | None]] = {
    "1.234,56 €": {
        "1.234,5": 1234.5, "12": 12, "12,50 €": 12.5, "-3,25": -3.25, "1.234.567,8": 1234567.8, "1e3": 1000,
        "- 4": -4, "-,5": -0.5, "1.5": None, "12.5": None, "€ 4": None, "1,2,3": None, "": None, ",": None, "x": None,
        "1.2345": None, "1.234.56": None,
    },
    "$1,234.56": {"$1,234": 1234, "-$3.50": -3.5, "$-3": -3, "12,34": None, "7": 7, "1,234,567.1": 1234567.1},
    "1234,56%": {"12,5%": 12.5, "12,5 %": 12.5, "3": 3, "1.234": None},
    "1 234,56": {"1 234,5": 1234.5, "1\u202f234": 1234, "12 34": None, "1234": 1234},
    "1'234.56": {"1'234.5": 1234.5, "1\u2019234": 1234},
    "CHF 1'234.56": {"CHF 12.5": 12.5, "-CHF 3": -3, "4": 4},
    "1.234": {"1.234": 1234, "12": 12, "1,5": None},
}  # fmt: skip


@pytest.mark.parametrize("example", CASES)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary()], ids=str)
def test_cells(example: str, kind: Any) -> None:
    cells = CASES[example]
    found, missing = raw_reader(Real(0, 1, format=example), ())(
        pa.array([c.encode() for c in cells], pa.binary()).cast(kind)
    )
    assert [None if gone else x for x, gone in zip(found.tolist(), missing, strict=True)] == list(cells.values())
    whole, unread = raw_reader(Integer(0, 1, format=example), ())(pa.array(list(cells)))
    expected = [None if x is None else round(x) for x in cells.values()]
    assert [None if gone else x for x, gone in zip(whole.tolist(), unread, strict=True)] == expected


def test_values_with_a_type_have_no_format_and_null_words_come_first() -> None:
    read = raw_reader(Real(0, 1, format="1.234,56"), ("-9", "k.A."))
    for array in (pa.array([1.5]), pa.array([Decimal("1.5")]), pa.array([Decimal("1.5")], pa.decimal128(20, 9))):
        assert read(array)[0].tolist() == [1.5]
    assert read(pa.array(["-9", "k.A.", "-9,0", "1"]))[1].tolist() == [True, True, False, False]


@pytest.mark.parametrize("bad", ["12.5", "1,234,56", "1.234.56", "abc", "", "1234.5", "-1234.56"])
def test_what_is_no_example_is_refused(bad: str) -> None:
    with pytest.raises(SchemaError, match="the number 1234"):
        Schema({"x": Real(0, 1, format=bad)})


@given(
    st.builds(
        NumberFormat,
        prefix=st.sampled_from(["", "$", "CHF", "€"]),
        separator=st.sampled_from(["", ".", ",", " ", "'"]),
        decimal=st.sampled_from([".", ","]),
        suffix=st.sampled_from(["", "%", "kg", "km/h", "°C"]),
    ),
    st.integers(-(10**9), 10**9),
)
def test_what_a_format_writes_it_reads(form: NumberFormat, cents: int) -> None:
    if form.separator == form.decimal:
        assert read_number_format(form.example) is None
        return
    assert read_number_format(form.example) == form
    whole, rest = divmod(abs(cents), 100)
    digits = f"{whole:,}".replace(",", form.separator) + f"{form.decimal}{rest:02}"
    text = f"{'-' * (cents < 0)}{form.prefix}{digits} {form.suffix}"
    assert raw_reader(Real(0, 1, format=form.example), ())(pa.array([text]))[0].tolist() == [cents / 100]


def test_spaces_and_apostrophes_of_all_kinds_are_alike() -> None:
    for example, marks in (("1 234", SPACES), ("1'234", APOSTROPHES)):
        cells = [f"1{mark}234" for mark in marks]
        assert np.all(raw_reader(Integer(0, 1, format=example), ())(pa.array(cells))[0] == 1234)
