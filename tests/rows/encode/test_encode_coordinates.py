"""Codes of differences: the same from every form of a table, from the values of the row alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sklar.rows import exact_counts, open_rows
from sklar.rows.encode.coordinates import coordinate_encoder, value_reader
from sklar.schema import AtMost, Boolean, Category, Datetime, Function, Integer, OneHot, Ratio, Real, Schema
from sklar.schema.coordinates import coordinates

SCHEMA = Schema(
    {
        "in": Datetime("2020-01-01", "2021-12-31", calendar=[]),
        "out": Datetime("2020-01-01", "2021-12-31", nullable=True),
        "low": Integer(0, 500, nullable=True),
        "high": Integer(0, 500, nullable=True),
        "debt": Real(0, 1000, decimals=2),
        "value": Real(0, 1000, decimals=2),
        "town": Category(["u", "v"]),
        "region": Category(["N", "S"]),
    },
    rules=[
        AtMost(low="in", high="out"),
        AtMost(low="low", high="high"),
        AtMost(low="debt", high="value"),
        Function(column="region", of="town", table={"u": "N", "v": "S"}),
    ],
)
NAMES = ("in", "out - in", "low", "high - low", "debt", "value - debt", "town")


def table(rows: int = 2000) -> pa.Table:
    rng = np.random.default_rng(3)
    first = np.datetime64("2019-12-20") + rng.integers(0, 760, rows).astype("timedelta64[D]")
    stay = rng.integers(-3, 90, rows).astype("timedelta64[D]")
    low = rng.integers(-10, 520, rows)
    return pa.table(
        {
            "in": first,
            "out": pa.array(first + stay, mask=rng.random(rows) < 0.2),
            "low": pa.array(low, mask=rng.random(rows) < 0.2),
            "high": pa.array(low + rng.integers(-5, 60, rows), mask=rng.random(rows) < 0.2),
            "debt": np.round(rng.uniform(-5, 900, rows), 2),
            "value": np.round(rng.uniform(0, 1100, rows), 2),
            "town": rng.choice(np.array(["u", "v", "w"]), rows),
        }
    )


def codes_of(data: Any, **reader: Any) -> np.ndarray:
    """Exact counts are enough: they are what any fit sees."""
    rows = open_rows(data, SCHEMA, **reader)
    assert rows.schema.modelled == NAMES
    found = exact_counts(rows, [((name,), None) for name in NAMES] + [(("in", "out - in"), None)])
    return np.concatenate([counts.ravel() for counts in found])


def with_region(real: pa.Table) -> pa.Table:
    return real.append_column("region", pa.nulls(len(real), pa.string()))


def test_every_form_of_a_table_gives_the_same_codes(tmp_path: Path) -> None:
    real = with_region(table())
    expected = codes_of(real)
    real.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    pq.write_table(real, tmp_path / "t.parquet")
    objects = real.to_pandas().astype(object)
    dictionary = real.set_column(0, "in", real["in"].combine_chunks().dictionary_encode())
    forms = {"csv": tmp_path / "t.csv", "parquet": tmp_path / "t.parquet", "pandas": real.to_pandas(),
             "objects": objects, "dictionary": dictionary}  # fmt: skip
    for form, data in forms.items():
        assert np.array_equal(codes_of(data), expected), form
    assert np.array_equal(codes_of(tmp_path / "t.csv", cache_bytes=0), expected)


def test_a_column_that_is_computed_is_not_read(tmp_path: Path) -> None:
    real = table()
    one, other = (real.append_column("region", pa.array([word] * len(real))) for word in ("N", "CANARY_7f3a"))
    assert np.array_equal(codes_of(one), codes_of(other))


def difference(low: Any, high: Any, schema: Schema = SCHEMA, name: str = "high - low") -> list[Any]:
    """Differences as numbers: the start of each cell, None for null."""
    by = coordinates(schema)
    column: Any = by.schema[name]
    codes = coordinate_encoder(by, by.by_name[name])(pa.array([low]), pa.array([high])).tolist()
    return [None if code == column.null_code else column.grid.starts[code].item() for code in codes]


@pytest.mark.parametrize(
    ("low", "high", "length"),
    [
        (3, 10, 7),
        (10, 3, 0),  # rows that break the rule
        (3, None, None),
        (None, 5, 5),  # a null start: the distance from the end of the range
        (None, None, None),
        (-100, 7, 7),  # clipped before it is subtracted
        (490, 10**9, 10),
        ("x", "9", 9),
        (2.6, 9.4, 6),
        ("1e1", "12.5", 2),
    ],
)
def test_odd_values(low: Any, high: Any, length: int | None) -> None:
    assert difference(low, high) == [length]


def test_a_missing_value_that_may_not_be_null_is_the_one_of_its_column() -> None:
    columns = {"low": Integer(0, 500, missing_value=4), "high": Integer(0, 500)}
    schema = Schema(columns, [AtMost(low="low", high="high")])
    assert difference(None, 10, schema) == [6] and difference(3, None, schema) == [0]


def test_decimals_are_subtracted_exactly() -> None:
    for cents in range(8):
        low, high = 0.1, round(0.1 + cents / 100, 2)
        found = difference(low, high, name="value - debt")[0]
        assert found == cents / 100
        assert difference(str(low), str(high), name="value - debt") == [found]


def test_a_code_depends_on_its_own_row_alone() -> None:
    by, real = coordinates(SCHEMA), table(300).to_pandas()
    for part in by.parts:
        whole = coordinate_encoder(by, part)(*(pa.array(real[name]) for name in part.sources))
        for at in range(0, 300, 37):
            alone = coordinate_encoder(by, part)(*(pa.array(real[name].iloc[[at]]) for name in part.sources))
            assert alone.tolist() == [whole[at]]


def test_words_for_null_are_null_in_differences_too() -> None:
    frame = pd.DataFrame({name: ["n/a"] for name in SCHEMA.names})
    rows = open_rows(frame, SCHEMA, null_values=("n/a",))
    (counts,) = exact_counts(rows, [(("high - low",), None)])
    assert counts[-1] == 1 and counts.sum() == 1


DUMMIES = Schema(
    {"x": Boolean(nullable=True), "y": Integer(0, 1, nullable=True), "z": Category(["1", "0"], nullable=True)},
    rules=[OneHot(columns=["x", "y", "z"])],
)


@pytest.mark.parametrize(
    ("x", "y", "z", "found"),
    [
        ("true", "0", "0", "x"),
        ("false", "1", "0", "y"),
        ("no", "0", "1", "z"),
        ("true", "1", "1", "x"),  # several: the first
        ("false", "0", "0", "none"),
        ("false", "0", "2", "none"),
        ("false", None, "1", None),
        (None, None, None, None),
    ],
)
def test_which_dummy_is_set(x: Any, y: Any, z: Any, found: str | None) -> None:
    by = coordinates(DUMMIES)
    column: Any = by.schema["x | y | z"]
    texts = [pa.array([text], type=pa.string()) for text in (x, y, z)]
    (code,) = coordinate_encoder(by, by.parts[0])(*texts).tolist()
    assert (None if code == column.null_code else (*column.values, column.other)[code]) == found


@pytest.mark.parametrize(("listed", "price"), [(5e-324, 1e300), (1e-300, 1e10), (0.0, 1e300), (5e-324, 0.0)])
def test_a_ratio_beyond_all_numbers_is_the_largest_one_and_warns_of_nothing(listed: float, price: float) -> None:
    """A warning of the library would tell that one row has such amounts; all warnings are errors here."""
    rule = Ratio(column="price", of="listed", lower=0.5, upper=2)
    by = coordinates(Schema({"listed": Real(0, 1e10), "price": Real(0, 1e300)}, [rule]))
    column = by.schema["price / listed"]
    encode = coordinate_encoder(by, by.parts[1])
    found = encode(pa.array([10.0, listed]), pa.array([5.0, price]))
    assert found[0] == 0 and found[1] == (column.size - 1 if price > 0 and listed > 0 else 0)


@pytest.mark.parametrize("far", [["-1e30", str(-(2**63))], [-1e30, -(2.0**63)], [-(2**63), -(2**63) + 1]])
def test_what_lies_as_far_down_as_can_be_is_clipped_and_not_missing(far: list[Any]) -> None:
    values, null = value_reader(Integer(5, 500, nullable=True, missing_value=9), ())(pa.array([*far, None]))
    assert values.tolist() == [5, 5, 9] and null.tolist() == [False, False, True]
