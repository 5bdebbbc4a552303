"""Rows on Spark: the same integers as the local engine, whatever fails on the way, and nothing but integers."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sklar
from sklar.counting.blocks import MomentJob
from sklar.errors import SourceError, UsageError
from sklar.pipeline.sampling.spark import spark_frame
from sklar.release.blocks import BlockMeans
from sklar.release.scores import Scores
from sklar.rows import exact_counts, exact_ones, open_rows
from sklar.rows.sources.source import SourceOptions
from sklar.rows.spark import rows as spark_rows
from sklar.rows.spark import tasks
from sklar.rows.spark.connection import read_store
from sklar.schema import Boolean, Category, Datetime, Integer, Real, Schema
from sklar.schema.coordinates import coordinates

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning"),
]
MARK = "CANARY_7f3a"
SCHEMA = Schema(
    {
        "age": Integer(16, 100, nullable=True),
        "income": Real(0, 50_000, bins=64),
        "sex": Category(("F", "M"), nullable=True),
        "smoker": Boolean(),
        "old": Boolean(),
        "seen": Datetime("2020-01-01", "2022-12-31", calendar=[]),
    }
)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(5)
    n = 4001
    return pa.table(
        {
            "extra": pa.array([MARK] * n),
            "age": pa.array(rng.integers(0, 120, n), mask=rng.random(n) < 0.1),
            "income": rng.lognormal(9, 1, n),
            "sex": pa.array(rng.choice(np.array(["F", "M", "X", None], dtype=object), n).tolist()),
            "smoker": rng.random(n) < 0.3,
            "old": rng.random(n) < 0.5,
            "seen": np.datetime64("2019-12-01") + rng.integers(0, 1200, n).astype("timedelta64[D]"),
        }
    )


@pytest.fixture(scope="module")
def path(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> str:
    import pyarrow.parquet as pq

    place = tmp_path_factory.mktemp("people")
    for part in range(5):
        pq.write_table(table.slice(part * 801, 801), place / f"{part}.parquet")
    pq.write_table(table.slice(0, 0), place / "5.parquet")
    return str(place)


@pytest.fixture(scope="module")
def frame(spark: Any, path: str) -> Any:
    return spark.read.parquet(path).repartition(3)


SPECS: list[Any] = [
    *[((a, b), None) for a, b in combinations(["age", "income", "sex", "smoker"], 2)],
    ((), None), (("seen",), None), (("age",), (np.arange(86) // 10,)),
]  # fmt: skip


def counts(rows: Any, specs: list[Any] = SPECS) -> list[Any]:
    return [found.tolist() for found in exact_counts(rows, specs)]


@pytest.fixture(scope="module")
def expected(table: pa.Table) -> list[Any]:
    return counts(open_rows(table, SCHEMA))


def test_same_integers_in_one_pass(frame: Any, expected: list[Any], table: pa.Table) -> None:
    told: list[float] = []
    rows = open_rows(frame, SCHEMA, progress=told.append)
    assert counts(rows) == expected
    assert told.count(0.0) == 1 and told[-1] == 1.0  # later requests are answered from the codes
    assert np.array_equal(exact_ones(rows, ["smoker", "old"]), exact_ones(open_rows(table, SCHEMA), ["smoker", "old"]))
    assert rows.exact_rows == 4001 and rows.passes == 1
    rows.close()


def test_a_tree_of_any_shape_adds_up_the_same(frame: Any, expected: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_rows, "FAN_IN", 2)
    monkeypatch.setattr(spark_rows, "DRIVER_BYTES", 0)
    assert counts(open_rows(frame, SCHEMA)) == expected


@pytest.mark.parametrize("fault", ["raise", "die"])
def test_a_failing_task_is_repeated_and_counted_once(fault: str, frame: Any, expected: list[Any]) -> None:
    def fail_first(batches: Any) -> Any:
        import os

        from pyspark import TaskContext

        context = TaskContext.get()
        first = context.partitionId() == 1 and context.attemptNumber() == 0
        for batch in batches:
            yield batch
            if first and fault == "raise":
                raise RuntimeError(MARK)
            if first:
                os.kill(os.getpid(), 9)

    failing = frame.mapInArrow(fail_first, frame.schema)
    assert counts(open_rows(failing, SCHEMA)) == expected


def pythons_of_executors() -> list[int]:
    """Processes that run tasks of the session of this very process."""
    children: dict[int, list[int]] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            children.setdefault(int(place.read_text().rsplit(")", 1)[1].split()[1]), []).append(int(place.parent.name))
    family, found = [os.getpid()], list[int]()
    for process in family:
        family += children.get(process, [])
        with suppress(OSError):
            found += [process] if b"pyspark.daemon" in Path(f"/proc/{process}/cmdline").read_bytes() else []
    return found


def test_executors_that_lose_their_python_fail_in_plain_words_or_count_the_same(
    spark: Any, path: str, expected: list[Any]
) -> None:
    rows = open_rows(path, SCHEMA, spark="local[2,4]")
    rows.keep_codes()
    ended = pythons_of_executors()
    assert ended
    for process in ended:
        with suppress(ProcessLookupError):  # those of a daemon end with it
            os.kill(process, signal.SIGKILL)
    found: list[Any] = []
    for _ in ended:  # each dead process that Spark still trusts fails one attempt, and it allows four of a task
        try:
            found = counts(rows)
            break
        except SourceError as error:
            assert "an executor died" in str(error)
    assert found == expected
    rows.close()


def test_a_task_that_always_fails_is_told_without_a_cell_and_leaves_no_codes(frame: Any) -> None:
    def fail(batches: Any) -> Any:
        raise RuntimeError(MARK)
        yield

    rows = open_rows(frame.coalesce(1).mapInArrow(fail, frame.schema), SCHEMA)
    with pytest.raises(SourceError) as caught:
        rows.keep_codes()
    assert MARK not in str(caught.value) and caught.value.__context__ is None
    codes = rows._codes
    assert codes.storageLevel.useMemory
    rows.close()
    assert not codes.storageLevel.useMemory


def test_rows_that_change_between_passes_are_noticed(spark: Any) -> None:
    rows = open_rows(spark.range(100).selectExpr("cast(id as int) as x"), Schema({"x": Integer(0, 99)}))
    rows.keep_codes()
    rows._codes.unpersist()
    encoding = tasks.Encoding(by=coordinates(SCHEMA), options=SourceOptions(schema=SCHEMA))
    rows._codes = spark.range(0).mapInArrow(tasks.encoding_task(encoding), tasks.CODES_TYPE)
    with pytest.raises(SourceError, match="other rows"):
        exact_counts(rows, [(("x",), None)])


def test_rows_with_equal_codes_meet(frame: Any, table: pa.Table) -> None:
    lookups = (np.arange(87, dtype=np.int32), np.array([0, 1], dtype=np.int32))
    feature = BlockMeans(scores=Scores(columns=("age", "smoker"), lookups=lookups), blocks=7, seed=3)
    job = MomentJob(feature=feature)
    there, here = open_rows(frame, SCHEMA).run_group_job(job), open_rows(table, SCHEMA).run_group_job(job)
    assert all(np.array_equal(a, b) for a, b in zip(there, here, strict=True))


def test_a_fit_from_a_frame(frame: Any) -> None:
    model = sklar.fit(frame, SCHEMA, method="independent", epsilon=1000.0)
    # Discrete Gaussian noise at this budget has a standard deviation far below 1 a table: off by 100 never happens.
    assert abs(model.rows_estimate - 4001) < 100
    assert model.sample(10, seed=1).num_rows == 10


def test_rows_without_a_guarantee_say_so_on_spark(spark: Any) -> None:
    data = pa.table({"x": [1, 2, 3, 4] * 20, "y": [1, 1, 2, 2] * 20})
    schema = Schema({"x": Integer(0, 9), "y": Integer(0, 9)})
    model = sklar.fit(data, schema, method="plain-gaussian", no_guarantee=True)
    frame = model.sample(10, to="spark", seed=7)
    assert frame.count() == 10
    assert all(field.metadata["sklar.guarantee"].startswith("NO DP GUARANTEE") for field in frame.schema)


def test_moments_are_those_of_the_session_clock(spark: Any) -> None:
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        # Made from numbers, since what day Spark makes of a moment of pandas depends on the versions of both.
        moments = spark.sql(
            "SELECT timestamp_seconds(s) AS seen FROM VALUES (1577889000), (1577971800), (1577982600) t(s)"
        )
        assert moments.dtypes == [("seen", "timestamp")]
        shown = [row[0][:10] for row in moments.selectExpr("CAST(seen AS string)").collect()]
        assert shown == ["2020-01-01", "2020-01-02", "2020-01-03"]
        rows = open_rows(moments, Schema({"seen": Datetime("2020-01-01", "2020-01-03", calendar=[])}))
        assert counts(rows, [(("seen",), None)]) == [[1, 1, 1]]
        # A declared zone is over that of the session: here the last two are of the same day.
        rows = open_rows(moments, Schema({"seen": Datetime("2020-01-01", "2020-01-03", zone="Europe/Vienna")}))
        assert counts(rows, [(("seen",), None)]) == [[1, 2, 0]]
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


def test_names_that_differ_in_case_or_need_quotes_are_told_apart(spark: Any) -> None:
    frame = spark.range(10).selectExpr("id % 2 AS `A`", "id % 3 AS `a`", "id % 5 AS `a``.b c`")
    schema = Schema({"a": Integer(0, 9), "a`.b c": Integer(0, 9)})
    specs: list[Any] = [((name,), None) for name in schema.modelled]
    assert [found[:6] for found in counts(open_rows(frame, schema), specs)] == [[4, 3, 3, 0, 0, 0], [2, 2, 2, 2, 2, 0]]


@pytest.mark.parametrize(
    ("reader", "words"),
    [
        ({"sql": "select 1"}, "sql"), ({"delimiter": ";"}, "delimiter"), ({"threads": 3}, "threads"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_on_spark(frame: Any, reader: dict[str, Any], words: str) -> None:
    with pytest.raises(SourceError, match=words):
        open_rows(frame, SCHEMA, **reader)


def test_missing_columns_and_labels_are_refused(frame: Any) -> None:
    with pytest.raises(SourceError, match="'age'"):
        open_rows(frame.drop("age"), SCHEMA)
    with pytest.raises(SourceError, match="labels"):
        next(iter(open_rows(frame, SCHEMA).raw_batches(["sex"])))


def test_a_sample_on_spark_is_the_stream(spark: Any) -> None:
    schema = Schema(
        {"age": Integer(0, 90), "sex": Category(("F", "M")), "seen": Datetime("2020-01-01", "2022-12-31", calendar=[])}
    )
    data = pa.table({"age": [3, 50, 90], "sex": ["F", "M", "F"], "seen": pa.array(["2020-05-05"] * 3)})
    model = sklar.fit(data, schema, method="independent", epsilon=1.0)
    rows = 65_536 + 500
    frame = spark_frame(model._stored, rows, seed=7, part_rows=65_536)
    assert frame.exceptAll(model.sample(rows, to="spark", seed=7)).count() == 0
    stream = pa.Table.from_batches(model.stream(rows, seed=7)).to_pandas()
    there = frame.groupBy("age", "sex", "seen").count().collect()
    here = stream.groupby(["age", "sex", "seen"]).size()
    assert {tuple(row)[:3]: row[3] for row in there} == here.to_dict()
    with pytest.raises(UsageError):
        model.sample(0, to="spark")
    with pytest.raises(UsageError, match="independent"):
        model.sample(5, to="spark", iid=True)


def test_a_cell_has_the_code_it_has_alone(spark: Any) -> None:
    """Types are those of Spark's schema; each row among all others is counted as it is by itself."""
    from decimal import Decimal

    schema = Schema(
        {
            "day": Datetime("2019-01-01", "2021-12-31", format="%d/%m/%Y", nullable=True, calendar=[]),
            "price": Category(("1.5", "2", "-9"), nullable=True),
            "score": Integer(-20, 20, nullable=True),
        }
    )
    kinds = "day string, price decimal(30, 10), score decimal(20, 4)"
    values = [
        ("29/02/2020", Decimal("1.5"), Decimal("-9")), ("unknown", Decimal("1.55"), Decimal("-9.4")),
        (None, None, None), ("2020-02-29", Decimal(2), Decimal(10) ** 15),
    ]  # fmt: skip

    def codes(rows: list[Any], nulls: tuple[str, ...]) -> Any:
        opened = open_rows(spark.createDataFrame(rows, kinds), schema, null_values=nulls)
        found = exact_counts(opened, [((name,), None) for name in schema.modelled])
        opened.close()
        return found

    for nulls in ((), ("-9.0", "unknown")):
        alone = [codes([row], nulls) for row in values]
        together = codes(values, nulls)
        for at in range(len(schema.modelled)):
            assert np.array_equal(together[at], sum(one[at] for one in alone))
        plain = {name: [row[at] for row in values] for at, name in enumerate(schema.modelled)}
        local = exact_counts(open_rows(plain, schema, null_values=nulls), [((n,), None) for n in schema.modelled])
        assert all(np.array_equal(one, other) for one, other in zip(together, local, strict=True))


def test_names_of_folders_are_text(spark: Any, tmp_path: Path) -> None:
    """One more folder does not change what the names of the others mean."""
    import pyarrow.parquet as pq

    schema = Schema({"age": Integer(0, 9), "month": Category(("01", "02"))})
    for month in ("01", "02", "unknown"):
        (tmp_path / f"month={month}").mkdir()
        pq.write_table(pa.table({"age": [3]}), tmp_path / f"month={month}" / "a.parquet")
    # Files that the tasks read have no columns but their own, as in a local fit; another store's folders are text.
    with pytest.raises(SourceError, match="month"):
        open_rows(str(tmp_path), schema, spark="local[2]")
    for odd in (True, False):
        kinds = dict(read_store(spark, str(tmp_path)).dtypes)
        assert kinds["month"] == "string"
        if odd:
            (tmp_path / "month=unknown" / "a.parquet").unlink()
            (tmp_path / "month=unknown").rmdir()


def test_coordinates_are_the_same_on_a_cluster(spark: Any, tmp_path: Path) -> None:
    from tests.contracts import stays

    schema, real = stays.schema(), stays.stays(700)
    specs = [((name,), None) for name in stays.MEASURED] + [(("admitted (year)", "left - admitted"), None)]
    expected = counts(open_rows(real, schema), specs)
    real.to_parquet(tmp_path / "stays.parquet")
    assert counts(open_rows(tmp_path / "stays.parquet", schema, spark="local[2]"), specs) == expected
    assert counts(open_rows(spark.read.parquet(str(tmp_path / "stays.parquet")), schema), specs) == expected
