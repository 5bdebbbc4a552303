"""A value has one code in every container: typed and object columns, categories with and without an odd one, Arrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sklar.rows.codes.label_counts as label_counts
from sklar.rows import exact_counts, exact_label_counts, open_rows
from sklar.rows.encode import encoder_of
from sklar.rows.encode.arrays import texts_of
from sklar.rows.sources import open_source
from sklar.schema import Boolean, Category, Datetime, Integer, Ordinal, Real, Schema
from tests.tiers import slow_unless

NULLS = ("-9", "9.50", "0.1", "n/a", "29/02/2020", "2020-02-29", str(2**63 - 1), str(2**64 - 1), "b", "")
TOP = str(2**64 - 1)
COLUMNS = (
    Integer(-20, 20, nullable=True),
    Integer(-(10**12), 10**12, bins=64, missing_value=3),
    Real(-50, 50, bins=128, nullable=True),
    Real(0, 1e20, bins=40, nullable=True),
    Boolean(nullable=True),
    Category(("1", "1.5", "0.1", "0.10000000149011612", "True", "b", "2020-02-29", "é", TOP), nullable=True),
    Category(("5", "5.0", "true", "false", "2020-02-29 00:00:00", "01:02:03", "0.25")),
    Category(("1.0", "5.0", "-9.0", "40.0")),
    Ordinal((0, 1, -9, 40)),
    Datetime("1990-01-01", "2030-12-31", nullable=True, calendar=[]),
    Datetime("1990-01-01", "2030-12-31", format="%d/%m/%Y", nullable=True, calendar=[]),
    Datetime("1990-01-01", "2030-12-31", format="%Y-%m-%d", nullable=True, calendar=[]),
    Datetime("1990-01-01", "2030-12-31", zone="Asia/Tokyo", resolution="hour", nullable=True, calendar=[]),
    Datetime("0001-01-01", "9999-12-31", resolution="microsecond", bins=500, missing_value="2001-01-01"),
)
ENCODERS = [encoder_of(column, nulls) for column in COLUMNS for nulls in ((), NULLS)]
ODD = "an odd one"
LABELS = Schema({"x": Category(["?"])})
MOMENTS = [datetime(2020, 2, 29), datetime(2020, 2, 29, 1, 2, 3, 500), datetime(1989, 5, 6), datetime(2031, 1, 1)]
KINDS: dict[str, tuple[list[Any], pa.DataType, str | None, Any]] = {
    "int8": ([1, 0, -9, 40], pa.int8(), "int8", pl.Int8),
    "int64": ([1, 0, -9, 40, 2**60, 2**63 - 1, -(2**63)], pa.int64(), "int64", pl.Int64),
    "uint8": ([1, 0, 5, 40], pa.uint8(), "uint8", pl.UInt8),
    "uint64": ([1, 5, 2**62, 2**63 - 1, 2**63, 2**64 - 1], pa.uint64(), "uint64", pl.UInt64),
    "Int64": ([1, 0, -9, 40, None], pa.int64(), "Int64", pl.Int64),
    "UInt64": ([1, None, 2**63, 2**64 - 1], pa.uint64(), "UInt64", pl.UInt64),
    "float32": ([1.5, 0.1, 0.25, -9, 9.5, 99.99, 1 / 3, 5, 1e-30], pa.float32(), "float32", pl.Float32),
    "float64": ([1.5, 0.1, -9, 9.5, 1 / 3, 5, 2.0**63, 1e300, -0.0, float("inf")], pa.float64(), "float64", pl.Float64),
    "gaps": ([1, None, -9, 0.1], pa.float64(), "float64", pl.Float64),
    "Float32": ([0.1, None, 9.5], pa.float32(), "Float32", pl.Float32),
    "Float64": ([0.1, None, 9.5], pa.float64(), "Float64", pl.Float64),
    "bool": ([True, False], pa.bool_(), "bool", pl.Boolean),
    "boolean": ([True, False, None], pa.bool_(), "boolean", pl.Boolean),
    "text": (["b", "é", "1", "29/02/2020", "2020-02-29", "n/a", " 5 ", None], pa.string(), "str", pl.String),
    "string": (["b", None, "-9", "9.5"], pa.large_string(), "string[python]", pl.String),
    "bytes": ([b"b", b"1", None], pa.binary(), None, pl.Binary),
    "decimal": ([Decimal("1.50"), Decimal(-9), Decimal("9.5"), None, Decimal(5)], pa.decimal128(20, 5), None, None),
    "date": ([date(2020, 2, 29), date(1989, 1, 2), None], pa.date32(), None, pl.Date),
    "time": ([time(1, 2, 3), time(4), None], pa.time64("us"), None, pl.Time),
    "seconds": ([datetime(2020, 2, 29), datetime(1600, 1, 1), None], pa.timestamp("s"), "datetime64[s]", None),
    "micros": ([*MOMENTS, None], pa.timestamp("us"), "datetime64[us]", pl.Datetime("us")),
    "nanos": ([*MOMENTS, None], pa.timestamp("ns"), "datetime64[ns]", pl.Datetime("ns")),
    "zoned": (
        [*(at.replace(tzinfo=UTC) for at in MOMENTS), None], pa.timestamp("us", "UTC"), "datetime64[us, UTC]",
        pl.Datetime("us", "UTC"),
    ),
    "duration": ([timedelta(days=1), None], pa.duration("us"), "timedelta64[us]", pl.Duration("us")),
}  # fmt: skip
"""Values, and their types in Arrow, pandas and polars, where there are such."""


def codes_of(data: Any, **options: Any) -> list[tuple[int, ...]]:
    """For each row its codes by every column of the contract."""
    found: list[tuple[int, ...]] = []
    for batch in open_source(data, schema=None, **options).column_batches(("x",)):
        found += zip(*[encode(batch.columns[0]).tolist() for encode in ENCODERS], strict=True)
    return found


def labels_of(data: Any) -> Counter[str]:
    return Counter(exact_label_counts(open_rows(data, LABELS, null_values=("-9", "n/a")), {"x": 1})["x"])


@pytest.fixture(autouse=True, scope="module")
def few_buckets() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_counts, "BUCKET_BYTES", 1 << 12)
        yield


def with_odd(series: Any) -> Any:
    """The same values as objects, and an odd one behind them."""
    return pd.Series([*series.astype(object).tolist(), ODD], dtype=object)


def odd_category(series: Any) -> Any:
    """The same values as categories, with an odd one that nobody has."""
    return series.astype("category").cat.add_categories([ODD])


def many_categories(series: Any) -> Any:
    """The same values as categories, with an odd one in the last row."""
    some = odd_category(series)
    return pd.Series(pd.Categorical.from_codes([*some.cat.codes, len(some.cat.categories) - 1], dtype=some.dtype))


def frame(series: Any) -> Any:
    return pd.DataFrame({"x": series})


PANDAS: dict[str, Callable[[Any], Any]] = {
    "typed": lambda series: series,
    "object": lambda series: series.astype(object),
    "object and odd": with_odd,
    "category": lambda series: series.astype("category"),
    "category and odd": odd_category,
    "odd category": many_categories,
    "slice": lambda series: pd.concat([series, series]).iloc[len(series) :],
    "other labels of rows": lambda series: series.set_axis(np.linspace(-1.5, 1.5, len(series))),
}


def containers(kind: str) -> Iterator[tuple[str, Any]]:
    """The values of a kind in every container; what is odd stands behind them."""
    values, arrow, dtype, polars = KINDS[kind]
    array = pa.array(values, arrow)
    half = len(values) // 2
    yield "chunked", pa.table({"x": pa.chunked_array([array[:half], array[half:]])})
    yield "part", pa.table({"x": pa.concat_arrays([array, array])}).slice(len(values))
    yield "dictionary", pa.table({"x": array.dictionary_encode()})
    yield (
        "runs",
        pa.table({"x": pa.RunEndEncodedArray.from_arrays(np.arange(1, len(values) + 1, dtype=np.int32), array)}),
    )
    yield "list", {"x": pa.array(values, arrow).to_pylist()}
    series = {"arrow": pd.Series(array, dtype=pd.ArrowDtype(arrow))}
    if dtype is not None:
        series["own"] = pd.Series(values, dtype=dtype)
    for name, one in series.items():
        for form, made in PANDAS.items():
            yield f"pandas {name}, {form}", frame(made(one))
            yield f"mapping of pandas {name}, {form}", {"x": made(one)}
    if dtype is not None and dtype.islower():  # integers of pandas that may be missing become floats in numpy
        yield "numpy", {"x": series["own"].to_numpy()}
    if polars is not None:
        column = pl.Series(values, dtype=polars)
        yield "polars", pl.DataFrame({"x": column})
        yield "polars lazy", pl.LazyFrame({"x": column})
        yield "mapping of polars", {"x": column}
        if polars is pl.String:
            yield "polars categories", pl.DataFrame({"x": column.cast(pl.Categorical)})
            yield "polars enum", pl.DataFrame({"x": column.cast(pl.Enum([ODD, *column.drop_nulls()]))})


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_has_one_code_in_every_container(kind: str) -> None:
    values, arrow, _, _ = KINDS[kind]
    table = pa.table({"x": pa.array(values, arrow)})
    codes, labels = codes_of(table), labels_of(table)
    for name, data in containers(kind):
        found = codes_of(data)
        assert found[: len(values)] == codes, name
        counts = labels_of(data)
        assert counts - Counter({ODD: len(found) - len(values)}) == labels, name


QUERIED = ("gaps",)
"""Kinds of the fast tier: a query takes a twentieth of a second."""


@pytest.mark.parametrize("kind", slow_unless(lambda kind: kind in QUERIED, KINDS))
def test_a_query_sees_the_text_of_a_value_whatever_the_frame(kind: str) -> None:
    values, arrow, _, _ = KINDS[kind]
    texts = pa.table({"x": texts_of(pa.array(values, arrow))})
    codes = codes_of(texts)
    for name, data in containers(kind):
        if isinstance(data, pa.Table) or (kind in QUERIED and ("mapping" in name or "arrow" in name)):
            continue
        found = codes_of(data, sql="select x || '' as x from data")  # fails for what is not text
        assert found[: len(values)] == codes, name


@pytest.mark.parametrize("labels", [("1", "2"), ("1.0", "2.0"), ("1.0", "1", "2"), (1, 2)], ids=str)
def test_one_missing_value_moves_one_count(labels: tuple[Any, ...]) -> None:
    """pandas makes floats of a column of integers for it."""
    schema = Schema({"x": Category(labels, nullable=True)})

    def counts(values: list[Any]) -> Any:
        return exact_counts(open_rows(frame(pd.Series(values)), schema), [(("x",), None)])[0]

    assert np.abs(counts([1, 2] * 100 + [None]) - counts([1, 2] * 100)).sum() == 1


@pytest.mark.parametrize(
    ("extension", "storage", "values"),
    [("uuid", pa.array([UUID(int=5).bytes, None], pa.binary(16)), [UUID(int=5), None]),
     ("bool8", pa.array([1, 0, None], pa.int8()), [True, False, None])],
)  # fmt: skip
def test_extensions_of_arrow_are_read_as_their_values(extension: str, storage: Any, values: list[Any]) -> None:
    kind = getattr(pa, extension, None)
    if kind is None:  # before pyarrow 18 no array is of these types
        return
    table = pa.table({"x": pa.ExtensionArray.from_storage(kind(), storage)})
    assert codes_of(table) == codes_of({"x": values})
    assert labels_of(table) == labels_of({"x": values})


def test_texts_of_any_length_of_numpy_are_texts() -> None:
    kind = getattr(np.dtypes, "StringDType", None)
    if kind is None:  # before numpy 2
        return
    for missing in (None, np.nan):
        values = np.array(["b", "é", missing, "29/02/2020"], dtype=kind(na_object=missing))
        assert codes_of({"x": values}) == codes_of({"x": ["b", "é", None, "29/02/2020"]})
        assert labels_of({"x": values}) == labels_of({"x": ["b", "é", None, "29/02/2020"]})


def test_nanoseconds_are_kept_in_every_container() -> None:
    """Python's moments have none: a timestamp of pandas that is taken for one would lose them, and change its label."""
    series = pd.Series(pd.to_datetime(["2020-02-29 01:02:03.123456789"]).astype("datetime64[ns]"))
    labels = labels_of(frame(series))
    assert labels == Counter({"2020-02-29 01:02:03.123456789": 1})
    for form, made in PANDAS.items():
        assert labels_of(frame(made(series))) - Counter([ODD]) == labels, form


class Day(datetime):
    """A moment of a class of its own, as libraries for dates have."""


class Level(IntEnum):
    LOW = 1


class Word(str, Enum):  # noqa: UP042 - its text is not its value
    B = "b"


@pytest.mark.parametrize("value", [Day(2020, 2, 29), Level.LOW, Word.B], ids=str)
def test_values_of_derived_classes_are_read_as_what_they_are(value: Any) -> None:
    """pandas and Arrow convert them by the class they are derived from, but only where all values allow it."""
    plain = {Day: datetime(2020, 2, 29), Level: 1, Word: "b"}[type(value)]
    assert codes_of({"x": [value]}) == codes_of({"x": [plain]}) == codes_of(frame(pd.Series([value])))
    assert labels_of({"x": [value]}) == labels_of({"x": [plain]})


@pytest.mark.parametrize("form", PANDAS)
@pytest.mark.parametrize("stated", ["%d/%m/%Y", None])
def test_one_odd_date_moves_one_count(form: str, stated: str | None) -> None:
    schema = Schema({"x": Datetime("2019-01-01", "2021-12-31", format=stated, nullable=True, calendar=[])})
    dates = pd.Series(pd.date_range("2019-03-01", periods=500))

    def counts(values: Any) -> Any:
        return exact_counts(open_rows(frame(values), schema), [(("x",), None)])[0]

    without = counts(dates)
    assert without[-1] == 0
    assert np.abs(counts(PANDAS[form](dates)) - without).sum() == ("odd" in form and form != "category and odd")
