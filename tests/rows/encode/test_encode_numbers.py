"""Numbers to cells: the kernels agree with slow exact arithmetic for any text and any Arrow type."""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_EVEN, Context, Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sklar.rows.encode import encoder_of
from sklar.schema import Integer, Real

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE | re.ASCII)
SPACES = " \t\n\r\v\f"

INTEGERS = (
    Integer(-5, 20),
    Integer(0, 10**12, nullable=True),
    Integer(-(2**63), 2**63 - 2, missing_value=7),
    Integer(2**53 - 10, 2**53 + 10),
    Integer(0, 100, edges=(0, 1, 50, 101), nullable=True),
)
REALS = (
    Real(0.0, 1.0, bins=10),
    Real(-1e9, 1e9, atoms=(0.0, 0.1), nullable=True),
    Real(-1.7e300, 1.7e300),
    Real(0.0, 1e-300, bins=64, missing_value=1e-300),
    Real(0.0, 100.0, edges=(0.0, 1e-9, 0.1, 99.0, 100.0)),
)

plausible = st.one_of(
    st.integers().map(str),
    st.integers(-30, 120).map(str),
    st.floats().map(repr),
    st.floats(-2, 2).map(repr),
    st.decimals(allow_nan=False, allow_infinity=False, places=25, min_value=-(10**6), max_value=10**6).map(str),
    st.from_regex(NUMBER, fullmatch=True).filter(lambda s: len(s) < 60),
    st.sampled_from(
        ["", " ", "NA", "nan", "inf", "-Infinity", "+INF", "1e400", "-1e400", "1e-400", "12.", ".5", ".", "e5"]
    ),
    st.sampled_from(
        ["0x10", "1_000", "1,5", "--1", "+-1", "1e", "1e+", "1.2.3", "٣", "12 3", "9" * 400, "0" * 400 + "7"]
    ),
    st.sampled_from(["9223372036854775807", "9223372036854775808", "-9223372036854775808", "9007199254740993"]),
    st.sampled_from(
        ["0.5", "1.5", "2.5", "-0.5", "2.50000000000000000000000001", "12.7", "12.0", "0.1", "0.10000000000000001"]
    ),
    st.text(max_size=12),
)
padded = st.tuples(st.sampled_from(["", " ", "\t "]), plausible, st.sampled_from(["", " ", "\r\n"])).map("".join)


def slow_missing(column: Integer | Real) -> int:
    if column.null_code is not None:
        return column.null_code
    value = column.lower if column.missing_value is None else column.missing_value
    return slow_cell(column, value)


def slow_cell(column: Integer | Real, value: float) -> int:
    starts = column.grid.starts.tolist()
    return (
        max(sum(start <= value for start in starts) - 1, 0)
        if len(starts) < 64
        else int(column.grid.code(np.array([value]))[0])
    )


def slow_integer(column: Integer, text: str) -> int:
    text = text.strip(SPACES)
    if INFINITE.fullmatch(text):
        value = -(2**63) if text[0] == "-" else 2**63 - 1
    elif NUMBER.fullmatch(text):
        digits, _, exponent = text.lower().partition("e")
        # Beyond 10^5000 and 10^-5000 all numbers of this length round and clip alike, and Decimal gives up far out.
        exact = Decimal(digits).scaleb(min(max(int(exponent or 0), -5000), 5000), Context(prec=2000))
        whole = int(exact.to_integral_value(ROUND_HALF_EVEN, Context(prec=20_000)))
        value = min(max(whole, -(2**63)), 2**63 - 1)
    else:
        return slow_missing(column)
    return slow_cell(column, value)


def slow_real(column: Real, text: str) -> int:
    text = text.strip(SPACES)
    if not (NUMBER.fullmatch(text) or INFINITE.fullmatch(text)):
        return slow_missing(column)
    return slow_cell(column, float(text))


@given(st.lists(padded, max_size=20), st.sampled_from(INTEGERS))
@example(["9223372036854775806", "-9223372036854775808", "1e18", "922337203685477580.65e1"], INTEGERS[2])
def test_integer_text_agrees_with_decimal_arithmetic(texts: list[str], column: Integer) -> None:
    texts = [t.encode("utf-8", "replace").decode() for t in texts]
    codes = encoder_of(column)(pa.array(texts, pa.string()))
    assert codes.tolist() == [slow_integer(column, text) for text in texts]


@given(st.lists(padded, max_size=20), st.sampled_from(REALS))
@example(["0.1", "0.10000000000000001", "0.100000000000000005551115123125782702118158340454101562500001"], REALS[1])
def test_real_text_agrees_with_python_float(texts: list[str], column: Real) -> None:
    texts = [t.encode("utf-8", "replace").decode() for t in texts]
    codes = encoder_of(column)(pa.array(texts, pa.string()))
    assert codes.tolist() == [slow_real(column, text) for text in texts]


@given(st.lists(st.floats() | st.none(), max_size=30), st.sampled_from(REALS))
def test_real_floats(values: list[float | None], column: Real) -> None:
    codes = encoder_of(column)(pa.array(values, pa.float64()))
    slow = [slow_missing(column) if v is None or math.isnan(v) else slow_cell(column, v) for v in values]
    assert codes.tolist() == slow


@given(st.lists(st.floats() | st.none(), max_size=30), st.sampled_from(INTEGERS))
def test_integer_floats_round_to_nearest_even(values: list[float | None], column: Integer) -> None:
    codes = encoder_of(column)(pa.array(values, pa.float64()))
    slow = [slow_missing(column) if v is None or math.isnan(v) else slow_integer(column, repr(v)) for v in values]
    assert codes.tolist() == slow


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.none(), max_size=30), st.sampled_from(INTEGERS))
def test_integers_are_exact_beyond_two_to_the_53(values: list[int | None], column: Integer) -> None:
    codes = encoder_of(column)(pa.array(values, pa.int64()))
    assert codes.tolist() == [slow_missing(column) if v is None else slow_cell(column, v) for v in values]


@pytest.mark.parametrize("column", [*INTEGERS, *REALS], ids=repr)
def test_every_cell_start_and_its_neighbours_are_found(column: Integer | Real) -> None:
    starts = column.grid.starts
    encode = encoder_of(column)
    assert (encode(pa.array(starts)) == np.arange(len(starts))).all()
    if not column.grid.integer:
        below = np.nextafter(starts[1:], -np.inf)
        assert (encode(pa.array(below)) == column.grid.code(below)).all()
        assert (encode(pa.array([repr(float(x)) for x in below])) == column.grid.code(below)).all()
    else:
        assert (encode(pa.array([str(x) for x in starts])) == np.arange(len(starts))).all()


@pytest.mark.parametrize(
    "array",
    [
        pa.array([3, None, 250], pa.uint8()),
        pa.array([3, None, 2**64 - 1], pa.uint64()),
        pa.array([3, None, 250], pa.int16()),
        pa.array(np.array([3, np.nan, np.inf], np.float16)),
        pa.array([3.0, None, 1e30], pa.float32()),
        pa.array([Decimal("3.00"), None, Decimal("123456789012345678901234567890.12")], pa.decimal128(38, 2)),
        pa.array([Decimal("3"), None, Decimal(10) ** 60], pa.decimal256(70, 0)),
        pa.array(["3", None, "1e9"], pa.string()),
        pa.array(["3", None, "1e9"], pa.large_string()),
        pa.array(["3", None, "1e9"], pa.string_view()),
        pa.array([b"3", None, b"1e9"], pa.binary()),
        pa.array([b"3", None, b"1e9"], pa.binary_view()),
        pa.array([b" 3", None, b"12"], pa.binary(2)),
        pa.array(["3", None, "inf"]).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), pa.array(["3", None, "1e9"])),
        pa.RunEndEncodedArray.from_arrays([1, 2, 3], pa.array([3, None, 77])),
        pa.chunked_array([pa.array([3]), pa.array([None, 50], pa.int64())]),
        pa.array([0, 3, None, 250], pa.int64())[1:],
        pa.array(["x", "3", None, "250"])[1:],
    ],
    ids=lambda a: str(a.type),
)
def test_every_arrow_layout_of_the_same_numbers(array: pa.Array) -> None:
    column = Integer(0, 10, nullable=True)
    expected = [3, 11, 10] if array[2].is_valid else [3, 11, 11]
    assert encoder_of(column)(array).tolist() == expected
    real = Real(0, 10, nullable=True, edges=(0, 3, 4, 10))
    codes = encoder_of(real)(array).tolist()
    assert codes == [
        slow_cell(real, 3.0),
        real.null_code,
        slow_cell(real, 10.0) if expected[2] == 10 else real.null_code,
    ]


@pytest.mark.parametrize("kind", [pa.null(), pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.duration("s")])
def test_what_is_no_number_is_missing(kind: pa.DataType) -> None:
    array = pa.nulls(3, kind) if pa.types.is_null(kind) else pa.array([None, None, None], kind)
    assert encoder_of(Integer(0, 5, missing_value=4))(array).tolist() == [4, 4, 4]
    assert encoder_of(Real(0, 5, nullable=True))(array).tolist() == [Real(0, 5, nullable=True).null_code] * 3


def test_stated_null_texts_and_the_numbers_they_spell() -> None:
    column = Integer(-1000, 1000, nullable=True)
    encode = encoder_of(column, ("-999", "n/k"))
    for array in (pa.array(["-999", "n/k", "5"]), pa.array([-999, None, 5]), pa.array([-999.0, math.nan, 5.0])):
        assert encode(array).tolist() == [column.null_code, column.null_code, 1005]


def test_codes_take_the_smallest_type() -> None:
    assert encoder_of(Integer(0, 255))(pa.array([255])).dtype == np.uint8
    assert encoder_of(Integer(0, 255, nullable=True))(pa.array([None], pa.int8())).dtype == np.uint16
    assert encoder_of(Integer(0, 100_000))(pa.array([5])).dtype == np.uint32
    assert len(encoder_of(Integer(0, 5))(pa.array([], pa.string()))) == 0
