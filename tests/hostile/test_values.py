"""Cells of every strange value and type: the value rules hold silently, and a fit comes to rows inside the domain."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sklar
from sklar.rows import open_rows
from tests.hostile.checks import CANARY, QUICK, assert_sane, refused

KINDS: dict[str, sklar.Schema] = {
    name: sklar.Schema({"q": column})
    for name, column in {
        "integer": sklar.Integer(0, 9, nullable=True),
        "real": sklar.Real(0, 1, bins=8),
        "category": sklar.Category(["a", "1"], nullable=True),
        "ordinal": sklar.Ordinal([1, 2]),
        "boolean": sklar.Boolean(nullable=True),
        "datetime": sklar.Datetime("2020-01-01", "2021-01-01", nullable=True, calendar=[]),
    }.items()
}
TEXTS = [
    "NaN", "inf", "-inf", "1e400", "-1e400", "1e-400", "9" * 400, "0." + "0" * 400 + "1", str(2**63),
    str(-(2**63) - 1),
    str(2**64), "1e18", "0x10", "1_000", "1,5", "+1", "--1", "1e", "e5", ".", "-", "\u0661", "½", " 1 ", "1.0",
    "TRUE", "yes",
    "2020-02-30", "2020-13-01", "2020-1-1", "0000-00-00", "9999-12-31", "10000-01-01", "2020-06-01T25:00:00",
    "2020-06-01T12:00:00+99:00", "2020-06-01T12:00:00Z", "31.12.2020", CANARY, "", "null", "None", "\ufeff1",
    "a\n", "\x01",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_any_text_in_any_column(kind: str, tmp_path: Path) -> None:
    """As CSV cells, as Parquet, as Python objects: the same codes, and a model."""
    schema = KINDS[kind]
    lines = ['"' + text.replace('"', '""') + '"' for text in TEXTS]
    (tmp_path / "t.csv").write_text("q\n" + "\n".join(lines) + "\n", newline="")
    pq.write_table(pa.table({"q": TEXTS}), tmp_path / "t.parquet")
    codes = [_codes(data, schema) for data in (tmp_path / "t.csv", tmp_path / "t.parquet", {"q": TEXTS})]
    assert codes[0] == codes[1] == codes[2]
    assert len(codes[0]) == len(TEXTS) and all(0 <= code < schema.size("q") for code in codes[0])
    assert_sane(sklar.fit(tmp_path / "t.csv", schema, **QUICK))


def test_numbers_beyond_all_bounds_are_clipped_and_no_numbers_are_null() -> None:
    schema = KINDS["integer"]
    assert _codes({"q": [2**63, 2**64, 10**30, -(10**30)]}, schema) == [9, 9, 9, 0]
    assert _codes({"q": [np.inf, -np.inf, np.nan, 1e300]}, schema) == [9, 0, 10, 9]
    assert _codes({"q": [str(2**63), "1e400", "-1e400", "nan"]}, schema) == [9, 9, 0, 10]
    wide = sklar.Schema({"q": sklar.Integer(-(2**63), 2**63 - 2)})
    top = wide.size("q") - 1
    assert _codes({"q": pa.array([2**64 - 1, 0], pa.uint64())}, wide)[0] == top
    assert _codes({"q": [2**63 - 2, -(2**63)]}, wide) == [top, 0]
    assert_sane(sklar.fit({"q": [2**63 - 2, -(2**63)]}, wide, **QUICK))


def _union() -> pa.Array:
    places = [pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32())]
    return pa.UnionArray.from_dense(*places, [pa.array([1, 2]), pa.array(["a"])])


def _broken_text() -> pa.Array:
    """Bytes that are no UTF-8 in an array that says it holds text."""
    ends = pa.py_buffer(np.array([0, 1, 2, 3], np.int32))
    return pa.Array.from_buffers(pa.string(), 3, [None, ends, pa.py_buffer(b"\xff1\xfe")])


def _stored(kind: Any, values: list[Any], storage: pa.DataType) -> pa.Array:
    return pa.ExtensionArray.from_storage(kind, pa.array(values, storage))


ARRAYS: dict[str, Any] = {
    "null": pa.nulls(3),
    "list": pa.array([[1], [2, 3], None]),
    "struct": pa.array([{"a": 1}, None, {"a": 2}]),
    "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    "decimal": pa.array([decimal.Decimal("1.5"), None, decimal.Decimal("-3")]),
    "decimal256": pa.array([decimal.Decimal(10) ** 60, None, decimal.Decimal(1)], pa.decimal256(70, 2)),
    "binary": pa.array([b"a", b"\xff", None]),
    "fixed binary": pa.array([b"ab", b"\0\xff", None], pa.binary(2)),
    "duration": pa.array([1, 2, None], pa.duration("s")),
    "time": pa.array([1, 2, None], pa.time64("us")),
    "uint64": pa.array([2**64 - 1, 0, None], pa.uint64()),
    "half": pa.array(np.array([1, np.inf, np.nan], np.float16)),
    "floats": pa.array([np.inf, -np.inf, np.nan]),
    "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["a", None])),
    "dictionary of numbers": pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array([1, 2])),
    "text view": pa.array(["a", "b", None], pa.string_view()),
    "runs": pa.RunEndEncodedArray.from_arrays([2, 3], pa.array(["a", None])),
    "zoned": pa.array([0, 1, None], pa.timestamp("ns", "Europe/Berlin")),
    "far times": pa.array([2**62, -(2**62), None], pa.timestamp("s")),
    "far days": pa.array([0, 2**30, -(2**30)], pa.date32()),
    "intervals": pa.array([(1, 2, 3), None, (4, 5, 6)], pa.month_day_nano_interval()),
    "uuid": _stored(pa.uuid(), [b"a" * 16, None, b"b" * 16], pa.binary(16)),
    "bool8": _stored(pa.bool8(), [1, 0, None], pa.int8()),
    "union": _union(),
    "broken text": _broken_text(),
    "pandas periods": pd.Series(pd.period_range("2020", periods=3, freq="D")),
    "pandas intervals": pd.Series(pd.interval_range(0, 3)),
    "pandas sparse": pd.Series(pd.arrays.SparseArray([0, 0, 1])),
    "pandas complex": pd.Series(np.array([1j, 2, 3])),
    "pandas timedeltas": pd.Series(pd.to_timedelta([1, 2, None])),
    "pandas nothings": pd.Series([np.nan, None, pd.NaT], dtype=object),
    "pandas nested": pd.Series([[1], {2: 3}, (4,)], dtype=object),
    "pandas dates": pd.Series([datetime.date(1, 1, 1), datetime.datetime(9999, 12, 31), None], dtype=object),
    "polars objects": pl.Series("q", [object(), 1, CANARY], dtype=pl.Object),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("array", ARRAYS)
def test_any_type_in_any_column(array: str, kind: str) -> None:
    values, schema = ARRAYS[array], KINDS[kind]
    frame = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame}.get(type(values), pa.table)({"q": values})
    codes = _codes(frame, schema)
    assert len(codes) == 3 and all(0 <= code < schema.size("q") for code in codes)


def test_frames_with_unusable_columns() -> None:
    schema = sklar.Schema({"x": sklar.Integer(0, 9), "c": sklar.Category(["a"])})
    pairs = pd.MultiIndex.from_tuples([("x", "1"), ("c", "2")])
    for frame in (
        pd.DataFrame(),
        pd.DataFrame([[1, CANARY]], columns=pairs),
        pd.DataFrame([[1, CANARY, 2]], columns=["x", "c", "x"]),
        pa.table([pa.array([1]), pa.array([CANARY]), pa.array([2])], names=["x", "c", "x"]),
        pd.DataFrame({"x": [1], "c": pd.Series(np.zeros(1, "V4"))}),
        pl.DataFrame({"x": [1]}),
        {"x": [1], "c": [CANARY, CANARY]},
        {"x": 1, "c": CANARY},
        {},
    ):
        refused(lambda frame=frame: sklar.fit(frame, schema, **QUICK))
    other = pa.table([pa.array([1]), pa.array(["a"]), pa.array([2]), pa.array([2])], names=["x", "c", "z", "z"])
    assert_sane(sklar.fit(other, schema, **QUICK))


def _codes(data: Any, schema: sklar.Schema) -> list[int]:
    return [code for batch in open_rows(data, schema).batches(["q"]) for code in batch.codes[0].tolist()]
