"""A code is a function of its value alone: in every source, a value among any others has the code it has by itself."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, example, given, seed, settings
from hypothesis import strategies as st

import sklar.rows.codes.label_counts as label_counts
import sklar.rows.encode.arrays as arrays_module
import sklar.rows.encode.text as text_module
from sklar.rows import exact_counts, exact_label_counts, open_rows
from sklar.rows.encode import encoder_of
from sklar.rows.sources import open_source
from sklar.rows.sources.frames import NarwhalsFrame
from sklar.schema import Boolean, Category, Datetime, Integer, Ordinal, Real, Schema, Unknown

NULLS = ("-9", "9.50", "n/a", "2000-01-01", "")
KINDS = (
    Integer(-20, 20, nullable=True),
    Integer(-(10**12), 10**12, bins=64, missing_value=3),
    Real(-50, 50, bins=128, nullable=True),
    Boolean(nullable=True),
    Category(
        ("1", "1.5", "True", "b", "2020-02-29", "2020-02-29 00:00:00", "é", "1180591620717411303424"), nullable=True
    ),
    Ordinal((0, 1, -9, 40)),
    Datetime("1990-01-01", "2030-12-31", nullable=True, calendar=[]),
    Datetime("0001-01-01", "9999-12-31", resolution="microsecond", bins=500, missing_value="2001-01-01"),
    Datetime("1990-01-01", "2030-12-31", format="%d/%m/%Y", nullable=True, calendar=[]),
    Real(-50, 5000, bins=64, format="1.234,56 €", nullable=True),
    Integer(-50, 5000, format="$1,234.56", nullable=True),
    Unknown(),
)
ENCODERS = [encoder_of(column, nulls) for column in KINDS for nulls in ((), NULLS)]
LABELS = Schema({"x": Category(["?"])})
pytestmark = pytest.mark.hypothesis  # run in both tiers, with more examples in the slow one
EXAMPLES = max(2, settings.default.max_examples // 36)
"""Batches a source is tried with: few in the fast tier, more with --slow."""
BATCH = 60 if EXAMPLES > 2 else 24
"""Values of a batch: fewer in the fast tier, since each of them is also read alone."""
FEW = 8
PAIRS = EXAMPLES * BATCH * (BATCH - 1)
"""Ordered pairs of a value and a companion that each source is tried with, at least."""


class Bare:
    """An object without a text."""


class Hostile:
    """An object that refuses everything but its own identity."""

    def __str__(self) -> str:
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = object.__hash__


class NoZone(tzinfo):
    """A zone that refuses to say what it is."""

    def utcoffset(self, dt: datetime | None) -> timedelta:
        raise RuntimeError


class Name(str):
    """A text of a class of its own."""

    __slots__ = ()


ODD = [Bare(), Hostile(), Name("b"), (1, 2), [1], {}, {1}, np.array([1, 2]), Fraction(1, 3), timedelta(days=1),
       pd.NaT, pd.NA, pd.Timestamp("2020-02-29"), pd.Timestamp("2020-02-29", tz="Asia/Tokyo"), pd.Period("2020-02"),
       pd.Interval(0, 1), pd.Timedelta(1), np.datetime64("2020-02"), np.datetime64("NaT"), np.datetime64(2**62, "Y"),
       np.datetime64("2020-02-29T00", "h"), np.timedelta64(3, "D"), np.str_("b"), np.bytes_(b"b"), 1j, bytearray(b"1"),
       memoryview(b"1"), datetime(2020, 2, 29, tzinfo=NoZone()), datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=9))),
       datetime.max.replace(tzinfo=timezone(-timedelta(hours=9))), time(1, 2, 3), time(1, tzinfo=UTC), b"\xff",
       "\ud800", 10**5000, -(2**70), 2**63, Decimal("NaN"), Decimal("-Infinity"), Decimal("1E+99999"), Decimal("1.10"),
       Decimal("-9.000"), float("inf"), -0.0, np.float32(0.1), np.float16(1.5), np.longdouble(1.5),
       np.uint64(2**64 - 1), "unknown", "n/a", "-9", -9, -9.0, True, np.True_, None, float("nan")]  # fmt: skip
NUMPY = st.one_of(
    st.integers(-128, 127).map(np.int8),
    st.integers(0, 2**64 - 1).map(np.uint64),
    st.floats(width=16).map(np.float16),
    st.floats(width=32).map(np.float32),
    st.floats().map(np.float64),
    st.integers(-(2**63) + 1, 2**63 - 1).map(lambda n: np.datetime64(n, "us")),
    st.integers(-(10**5), 10**5).map(lambda n: np.datetime64(n, "D")),
)
TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["1", "1.0", "1.50", " 2 ", "True", "no", "b", "é", "nan", "NaT", "2020-02-29", "29/02/2020", *NULLS]
    ),
    st.floats(-60, 60).map(repr),
    st.dates(date(1980, 1, 1)).map(str),
)
VALUES = st.one_of(
    TEXTS,
    st.integers(-30, 30),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.none(),
    st.decimals(),
    st.fractions(),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.timezones()),
    st.times(),
    st.timedeltas(),
    st.binary(max_size=6),
    NUMPY,
    st.integers(0, len(ODD) - 1).map(lambda at: ODD[at]),
)
Codes = list[tuple[int, ...]]


@pytest.fixture(autouse=True, scope="module")
def few_buckets() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_counts, "BUCKET_BYTES", 1 << 12)
        yield


def codes_of(data: Any, **reader: Any) -> Codes:
    """For each row its codes by all kinds."""
    found: Codes = []
    for batch in open_source(data, schema=None, **reader).column_batches(("x",)):
        found += list(zip(*[encode(batch.columns[0]).tolist() for encode in ENCODERS], strict=True))
    return found


def labels_of(data: Any, **reader: Any) -> Counter[str]:
    rows = open_rows(data, LABELS, null_values=NULLS, **reader)
    return Counter(exact_label_counts(rows, {"x": 1})["x"])


def check(values: Sequence[Any], made: Callable[[Sequence[Any]], Any], **reader: Any) -> int:
    """All values at once, backwards and from the middle on, against each alone; the number of pairs that met."""
    alone = [codes_of(made([value]), **reader)[0] for value in values]
    assert codes_of(made(values), **reader) == alone
    assert codes_of(made(values[::-1]), **reader) == alone[::-1]
    half = len(values) // 2
    assert codes_of(made(values[half:]), **reader) == alone[half:]
    singles = sum((labels_of(made([value]), **reader) for value in values), Counter[str]())
    assert labels_of(made(values), **reader) == singles
    return len(values) * (len(values) - 1)


def check_some(values: Sequence[Any], made: Callable[[Sequence[Any]], Any], **reader: Any) -> int:
    """The same for sources that are slow to open: a few values alone, and all in two orders."""
    whole = codes_of(made(values), **reader)
    assert whole == codes_of(made(values[::-1]), **reader)[::-1]
    assert whole[:FEW] == [codes_of(made([value]), **reader)[0] for value in values[:FEW]]
    halves = labels_of(made(values[:FEW]), **reader) + labels_of(made(values[FEW:]), **reader)
    assert labels_of(made(values), **reader) == halves
    return FEW * (len(values) - 1)


def objects(values: Sequence[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    for at, value in enumerate(values):
        array[at] = value
    return array


OBJECTS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "pandas": lambda values: pd.DataFrame({"x": pd.Series(objects(values), dtype=object)}),
    "mapping of lists": lambda values: {"x": list(values)},
    "mapping of arrays": lambda values: {"x": objects(values)},
    "mapping of series": lambda values: {"x": pd.Series(objects(values), dtype=object)},
    "polars": lambda values: pl.DataFrame({"x": pl.Series(list(values), dtype=pl.Object)}),
    "narwhals": lambda values: nw.from_native(pd.DataFrame({"x": pd.Series(objects(values), dtype=object)})),
}


def many(examples: int) -> Any:
    """Fixed examples, so that a failure is a fault and not bad luck."""
    checks, phases = list(HealthCheck), (Phase.explicit, Phase.generate)
    chosen = settings(max_examples=examples, deadline=None, suppress_health_check=checks, phases=phases, database=None)
    return lambda test: seed(17)(chosen(test))


@pytest.mark.parametrize("source", OBJECTS)
def test_python_objects(source: str) -> None:
    met = 0

    @many(EXAMPLES)
    @given(st.lists(VALUES, min_size=BATCH, max_size=BATCH))
    @example([*ODD, *range(max(0, BATCH - len(ODD)))])
    def run(values: list[Any]) -> None:
        nonlocal met
        met += check(values, OBJECTS[source])

    run()
    assert met >= PAIRS


def distinct(values: Sequence[Any]) -> list[Any]:
    """Values that pandas takes for different categories."""
    kept: dict[Any, Any] = {}
    for value in values:
        try:
            if not isinstance(value, Hostile) and pd.notna(value) is True:
                kept.setdefault(value, value)
        except Exception:
            continue
    found = list(kept.values())
    again = pd.Index(objects(found), dtype=object).duplicated()  # as pandas sees it, which is not quite as Python does
    return [value for value, twice in zip(found, again, strict=True) if not twice]


def categories(values: Sequence[Any]) -> Any:
    index = pd.Index(objects(values), dtype=object)
    return pd.DataFrame({"x": pd.Categorical.from_codes(np.arange(len(values)), categories=index)})


def test_categories_of_objects() -> None:
    met = 0

    @many(EXAMPLES)
    @given(st.lists(VALUES, min_size=2 * BATCH, max_size=2 * BATCH))
    def run(values: list[Any]) -> None:
        nonlocal met
        met += check(distinct(values)[:BATCH], categories)

    run()
    assert met >= PAIRS // 2


@pytest.mark.slow
def test_queries_over_python_objects() -> None:
    met = 0

    @many(2)
    @given(st.lists(VALUES, min_size=BATCH, max_size=BATCH))
    def run(values: list[Any]) -> None:
        nonlocal met
        met += check_some(values, OBJECTS["pandas"], sql="select * from data")

    run()
    assert met >= 2 * FEW * (BATCH - 1)


def text_file(path: Path, values: Sequence[str]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(["x"])
        writer.writerows([value] for value in values)
    return path


PLAIN_TEXTS = TEXTS.map(lambda text: text.encode("utf-8", "replace").decode().replace("\0", ""))


def test_text_files(tmp_path: Path) -> None:
    met = 0

    @many(EXAMPLES)
    @given(st.lists(PLAIN_TEXTS, min_size=BATCH, max_size=BATCH))
    def run(values: list[str]) -> None:
        nonlocal met
        met += check(values, lambda some: text_file(tmp_path / "t.csv", some))

    run()
    assert met >= PAIRS


@pytest.mark.slow
@many(3)
@given(values=st.lists(PLAIN_TEXTS, min_size=BATCH, max_size=BATCH))
def test_queries_over_text_files(values: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("texts")
    check_some(values, lambda some: text_file(folder / "t.csv", some), sql="select trim(x) as x from data")
    path = text_file(folder / "t.csv", values)
    assert codes_of(path, sql="select * from data") == codes_of(path)


def raw(kind: pa.DataType) -> Callable[[list[Any]], pa.Array]:
    """Arrays of a type over any bits of its width."""
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    return lambda values: pa.array(values, width).view(kind)


def of(kind: pa.DataType) -> Callable[[list[Any]], pa.Array]:
    return lambda values: pa.array(values, kind)


def decimals(places: int, top: int) -> st.SearchStrategy[Decimal]:
    return st.integers(-top, top).map(lambda n: Decimal(n).scaleb(-places))


I32, I64 = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
SMALL = st.integers(-40, 40)
TYPED: dict[str, tuple[st.SearchStrategy[Any], Callable[[list[Any]], pa.Array]]] = {
    "int8": (SMALL, of(pa.int8())),
    "int64": (I64 | SMALL, of(pa.int64())),
    "uint64": (st.integers(0, 2**64 - 1), of(pa.uint64())),
    "float16": (st.integers(0, 2**16 - 1), lambda values: pa.array(values, pa.uint16()).view(pa.float16())),
    "float32": (st.floats(width=32), of(pa.float32())),
    "float64": (st.floats() | st.floats(-60, 60), of(pa.float64())),
    "bool": (st.booleans(), of(pa.bool_())),
    "string": (PLAIN_TEXTS, of(pa.string())),
    "view": (PLAIN_TEXTS, of(pa.string_view())),
    "binary": (st.binary(max_size=8), of(pa.binary())),
    "decimal128": (decimals(10, 10**20), of(pa.decimal128(38, 10))),
    "decimal256": (decimals(3, 10**50), of(pa.decimal256(70, 3))),
    "date32": (I32 | SMALL, raw(pa.date32())),
    "date64": (I64, raw(pa.date64())),
    "timestamp s": (I64, raw(pa.timestamp("s"))),
    "timestamp ns": (I64, raw(pa.timestamp("ns"))),
    "timestamp zone": (I64, raw(pa.timestamp("us", "Asia/Tokyo"))),
    "time32": (I32, raw(pa.time32("s"))),
    "time64": (I64, raw(pa.time64("ns"))),
    "duration": (I64, raw(pa.duration("ns"))),
    "dictionary": (PLAIN_TEXTS, lambda values: pa.array(values, pa.string()).dictionary_encode()),
    "list": (st.lists(SMALL, max_size=2), of(pa.list_(pa.int64()))),
}  # fmt: skip


@pytest.mark.parametrize("kind", TYPED)
def test_arrow_arrays(kind: str) -> None:
    strategy, build = TYPED[kind]
    met = 0

    @many(EXAMPLES)
    @given(st.lists(strategy | st.none(), min_size=BATCH, max_size=BATCH))
    def run(values: list[Any]) -> None:
        nonlocal met
        met += check(values, lambda some: pa.table({"x": build(list(some))}))

    run()
    assert met >= PAIRS


@pytest.mark.slow
def test_enough_pairs_meet() -> None:
    """Python objects alone, and typed arrays alone, are tried with some hundred thousand pairs."""
    assert (len(OBJECTS) + 1) * PAIRS > 190_000
    assert (len(OBJECTS) + 1 + len(TYPED)) * PAIRS > 800_000


def as_file(path: Path, table: pa.Table) -> Path:
    pq.write_table(table, path) if path.suffix == ".parquet" else feather.write_feather(table, path)
    return path


TABLES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "parquet": lambda table, folder: as_file(folder / "t.parquet", table),
    "feather": lambda table, folder: as_file(folder / "t.feather", table),
    "relation": lambda table, _: duckdb.from_arrow(table),
    "polars": lambda table, _: pl.from_arrow(table),
    "lazy": lambda table, _: pl.from_arrow(table).lazy(),  # type: ignore[union-attr]
    "pandas": lambda table, _: table.to_pandas(),
    "pandas arrow": lambda table, _: table.to_pandas(types_mapper=pd.ArrowDtype),
}
EVERYWHERE = ("int64", "float64", "bool", "string", "decimal128", "dictionary")
"""Types that every library takes as they are."""


@pytest.mark.parametrize("form", TABLES)
@pytest.mark.parametrize("kind", EVERYWHERE)
def test_typed_tables(form: str, kind: str, tmp_path: Path) -> None:
    strategy, build = TYPED[kind]

    def run(values: list[Any]) -> None:
        table = pa.table({"x": build(values)})
        whole = codes_of(TABLES[form](table, tmp_path))
        assert whole == codes_of(table)
        assert whole[:FEW] == [codes_of(TABLES[form](table.slice(at, 1), tmp_path))[0] for at in range(FEW)]

    many(1 if EXAMPLES == 2 else 2)(given(st.lists(strategy | st.none(), min_size=BATCH, max_size=BATCH))(run))()


@pytest.mark.parametrize("where", ["data", "database", "file"])
def test_queries_over_typed_tables(where: str, tmp_path: Path) -> None:
    def queried(table: pa.Table) -> Codes:
        if where == "data":
            return codes_of(table, sql="select * from data")
        if where == "file":
            return codes_of(None, sql=f"select * from '{as_file(tmp_path / 't.parquet', table)}'")
        path = tmp_path / "t.duckdb"
        path.unlink(missing_ok=True)
        with duckdb.connect(path) as connection:
            connection.register("given", table)
            connection.execute("create table people as select * from given")
        return codes_of(path, sql="select * from people")

    for kind in EVERYWHERE:
        strategy, build = TYPED[kind]

        def run(values: list[Any]) -> None:
            table = pa.table({"x": build(values)})  # noqa: B023
            assert queried(table) == codes_of(table)

        many(1)(given(st.lists(strategy | st.none(), min_size=BATCH, max_size=BATCH))(run))()


DTYPES = {
    "int64": [1, -9, 40], "Int64": [1, None, -9], "float32": [1.5, float("nan"), -9], "Float64": [1.5, None, 9.5],
    "bool": [True, False], "boolean": [True, None], "datetime64[s]": ["2020-02-29", None, "0001-01-01"],
    "datetime64[ns]": ["2020-02-29 01:02:03.5", None], "datetime64[us, Asia/Tokyo]": ["2020-02-29", None],
    "str": ["b", None, "1"], "string[python]": ["b", None, "\ud800", "é"], "string[pyarrow]": ["b", None, "é"],
    "category": ["b", None, "2020-02-29"], "period[M]": ["2020-02", None], "Sparse[float64]": [1.5, 0.0],
    "timedelta64[ns]": [1, None], "complex128": [1j, 2], "interval[int64]": [pd.Interval(0, 1), pd.Interval(1, 2)],
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_pandas_columns_of_every_type(dtype: str) -> None:
    frame = pd.DataFrame({"x": pd.Series(DTYPES[dtype], dtype=dtype)})
    assert codes_of(frame) == [codes_of(frame.iloc[[at]])[0] for at in range(len(frame))]
    assert labels_of(frame) == sum((labels_of(frame.iloc[[at]]) for at in range(len(frame))), Counter[str]())


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps"])
def test_numpy_moments_of_every_unit(unit: str) -> None:
    array = np.array([0, 30, 2**62, -(2**62), np.iinfo(np.int64).min], dtype=f"datetime64[{unit}]")
    whole = codes_of({"x": array})
    assert whole == [codes_of({"x": array[at : at + 1]})[0] for at in range(len(array))]
    assert whole == codes_of({"x": list(array)})
    assert whole[:1] == codes_of({"x": [date(1970, 1, 1)]}) or unit in ("h", "m", "s", "ms", "us", "ns", "ps")


def test_unions_are_read_by_the_type_of_each_value() -> None:
    children = [pa.array(["b", "unknown"]), pa.array([1, None]), pa.array([date(2020, 2, 29)])]
    codes, offsets = pa.array([0, 1, 2, 0, 1, 2], pa.int8()), pa.array([1, 0, 0, 0, 1, 0], pa.int32())
    dense = pa.UnionArray.from_dense(codes, offsets, children)
    expected = codes_of({"x": ["unknown", 1, date(2020, 2, 29), "b", None, date(2020, 2, 29)]})
    assert codes_of(pa.table({"x": dense})) == expected
    assert codes_of(pa.table({"x": dense[2:]})) == expected[2:]
    assert codes_of(pa.table({"x": pa.chunked_array([dense[:1], dense[1:]])})) == expected
    wide = [pa.array(["unknown", "-", "-"]), pa.array([0, 1, 0]), pa.array([date(2020, 2, 29)] * 3)]
    sparse = pa.UnionArray.from_sparse(pa.array([0, 1, 2], pa.int8()), wide)
    assert codes_of(pa.table({"x": sparse[1:]})) == expected[1:3]


@pytest.mark.parametrize("form", ["sparse", "dense"])
def test_a_part_of_a_union_has_the_codes_of_its_own_values(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are cut into pieces, and may be pieces themselves."""
    kinds, texts = np.arange(40) % 3 % 2, [str(at % 4) for at in range(40)]
    children = [pa.array(np.arange(40) % 7), pa.array(texts)]
    places = pa.array(np.arange(40), pa.int32())
    codes = pa.array(kinds, pa.int8())
    union = (
        pa.UnionArray.from_sparse(codes, children)
        if form == "sparse"
        else pa.UnionArray.from_dense(codes, places, children)
    )
    values = [children[kind][at].as_py() for at, kind in enumerate(kinds)]
    for encode in ENCODERS:
        for start, stop in ((0, 40), (0, 13), (1, 40), (7, 8), (17, 29), (39, 40)):
            alone = [encode(pa.array([value]))[0] for value in values[start:stop]]
            assert encode(union[start:stop]).tolist() == alone
    schema = Schema({"x": Integer(0, 9)})
    batch = pa.RecordBatch.from_arrays([union], names=["x"])
    monkeypatch.setattr("sklar.rows.sources.arrow.BATCH_ROWS", 7)
    for part in (batch, batch[5:31]):
        (counts,) = exact_counts(open_rows(part, schema), [(("x",), None)])
        at = slice(None) if part is batch else slice(5, 31)
        assert counts.tolist() == np.bincount([int(value) for value in values[at]], minlength=len(counts)).tolist()
    assert labels_of(batch[5:31]) == dict(Counter(str(value) for value in values[5:31]))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.large_binary()], ids=str)
def test_one_long_text_does_not_silence_a_batch(kind: pa.DataType, monkeypatch: pytest.MonkeyPatch) -> None:
    """More text than is looked at in one piece is looked at in several."""
    expected = codes_of({"x": ["b", "1"]})
    for module in (arrays_module, text_module):
        monkeypatch.setattr(module, "MAX_TEXT_BYTES", 1000)
    table = pa.table({"x": pa.array(["b", "1", "x" * 999, "y" * 5000, *["2020-02-29"] * 50]).cast(kind)})
    assert codes_of(table)[:2] == expected
    assert labels_of(table) == {"b": 1, "1": 1, "2020-02-29": 50}


@pytest.mark.parametrize("kind", ["integer", "real", "category", "boolean", "ordinal"])
def test_a_number_that_stands_for_null_does_so_in_every_type(kind: str) -> None:
    columns: dict[str, Any] = {
        "integer": Integer(-20, 20, nullable=True),
        "real": Real(-20, 20, nullable=True),
        "boolean": Boolean(nullable=True),
        "category": Category(("7",), nullable=True),
        "ordinal": Ordinal((7,), nullable=True),
    }
    column, null = columns[kind], "1" if kind == "boolean" else "-9"
    number = int(null)
    forms = [number, float(number), Decimal(number), np.int8(number), np.float32(number), null, Decimal(f"{null}.000")]
    encode = encoder_of(column, (null,))
    for value in forms:
        (batch,) = open_source({"x": [value]}, schema=None).column_batches(("x",))
        assert encode(batch.columns[0]).tolist() == [column.null_code], value
    for array in (
        of(pa.decimal128(10, 4))([Decimal(number)]),
        of(pa.int64())([number]),
        of(pa.float16())([np.float16(number)]),
    ):
        assert encode(array).tolist() == [column.null_code], array.type


def test_a_float_next_to_the_null_number_is_no_null() -> None:
    column = Integer(-20, 20, nullable=True)
    encode = encoder_of(column, ("-9",))
    assert encode(pa.array([-9.4, -9.0])).tolist() == [11, column.null_code]
    assert encode(pa.array(["-9.4", "-9"])).tolist() == [11, column.null_code]


def test_integers_beyond_two_to_the_53_are_no_null_by_rounding() -> None:
    column = Integer(-(2**60), 2**60, bins=50, nullable=True)
    encode = encoder_of(column, (str(2**53),))
    codes = encode(pa.array([2**53, 2**53 + 1]))
    assert codes[0] == column.null_code and codes[1] != column.null_code


def test_a_date_that_stands_for_null_does_so_in_every_type() -> None:
    column = Datetime("1990-01-01", "2030-12-31", nullable=True, calendar=[])
    encode = encoder_of(column, ("2000-01-01",))
    moment = datetime(2000, 1, 1)
    for kind in (pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("us", "Asia/Tokyo")):
        array = pa.array([moment, moment + timedelta(days=1)], kind)
        assert encode(array).tolist() == [column.null_code, 3653]


@pytest.mark.parametrize("places", range(2, 12))
def test_a_decimal_has_one_code_whatever_the_scale_of_its_column(places: int) -> None:
    values = [Decimal("1.1"), Decimal("0"), Decimal("-9"), Decimal("0.01"), Decimal("1500")]
    array = pa.array(values, pa.decimal128(30, places))
    assert codes_of(pa.table({"x": array})) == codes_of({"x": values})
    assert labels_of(pa.table({"x": array})) == labels_of({"x": values}) == {"1.1": 1, "0": 1, "0.01": 1, "1500": 1}


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_moment_has_one_text_whatever_the_unit_of_its_column(unit: str) -> None:
    moment = datetime(2020, 2, 29, 1, 2, 3)
    clock = pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
    assert labels_of(pa.table({"x": pa.array([moment], pa.timestamp(unit))})) == {"2020-02-29 01:02:03": 1}
    assert labels_of(pa.table({"x": pa.array([moment.time()], clock)})) == {"01:02:03": 1}
    assert labels_of({"x": [moment, pd.Timestamp(moment), moment.time()]}) == {"2020-02-29 01:02:03": 2, "01:02:03": 1}


def test_a_frame_of_another_library_with_objects_is_read_value_by_value() -> None:
    frame = pd.DataFrame({"x": pd.Series([date(2020, 2, 29), "unknown"], dtype=object)})
    (batch,) = NarwhalsFrame(frame, _options()).column_batches(("x",))
    assert [encode(batch.columns[0]).tolist()[0] for encode in ENCODERS] == list(codes_of(frame)[0])


def test_polars_integers_of_128_bits() -> None:
    kind = getattr(pl, "Int128", None)
    if kind is None:  # before polars 1.18 no column is of this type
        return
    series = pl.Series("x", [1, 2**70, None], dtype=kind)
    assert codes_of(pl.DataFrame({"x": series})) == codes_of({"x": [1, 2**70, None]})


@pytest.mark.parametrize(
    ("column", "usual", "odd"),
    [
        (Datetime("2019-01-01", "2021-12-31", nullable=True, calendar=[]), date(2020, 2, 29), "unknown"),
        (
            Datetime("2019-01-01", "2021-12-31", format="%d/%m/%Y", nullable=True, calendar=[]),
            date(2020, 2, 29),
            "unknown",
        ),
        (Real(0, 9, bins=90, nullable=True), 1.5, "n/a"),
        (Boolean(nullable=True), True, "n/a"),
        (Category(("true", "false"), nullable=True), True, "n/a"),
        (Category(("5",), nullable=True), 5.0, "n/a"),
        (Integer(0, 9, nullable=True), 9, 9.5),
        (Real(0, 9, bins=90, nullable=True), Decimal("1.5"), Decimal("1.55")),
        (Category(("1.5", "1.50"), nullable=True), Decimal("1.5"), Decimal("1.55")),
        (Integer(0, 9, nullable=True), 5, 2**70),
        (Category(("5",), nullable=True), 5, "n/a"),
        (Category(("5.0", "5"), nullable=True), 5.0, "n/a"),
        (Category(("2020-02-29",), nullable=True), date(2020, 2, 29), datetime(2020, 1, 1)),
    ],
    ids=str,
)
@pytest.mark.parametrize("source", OBJECTS)
def test_one_odd_row_moves_one_count(source: str, column: Any, usual: Any, odd: Any) -> None:
    schema, made = Schema({"x": column}), OBJECTS[source]

    def counts(values: list[Any]) -> Any:
        return exact_counts(open_rows(made(values), schema, null_values=NULLS), [(("x",), None)])[0]

    change = counts([usual] * 1000 + [odd]) - counts([usual] * 1000)
    assert np.abs(change).sum() == 1


def _options() -> Any:
    from sklar.rows.sources.source import SourceOptions

    return SourceOptions(schema=None)
