"""Rows of persons on Spark: the same rows used, with the same weights, as in memory, wherever they lie."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import sklar
from sklar.counting.tables import exact_pair_counts
from sklar.errors import SourceError
from sklar.rows import exact_counts, open_rows
from sklar.rows.codes.table import stored_tables
from sklar.rows.persons import rows as person_rows
from sklar.rows.persons.keys import Secret
from sklar.rows.spark import rows as spark_rows
from tests.rows.spark.test_spark_rows import MARK

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning"),
]
COLUMNS = {"year": sklar.Integer(2000, 2029), "sex": sklar.Category(["F", "M"]), "ward": sklar.Integer(0, 6)}


@pytest.fixture(autouse=True)
def _one_secret(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Which rows are used depends on the secret: it is drawn by the driver, here and on the cluster."""
    for module in (person_rows, spark_rows):
        monkeypatch.setattr(module, "Secret", lambda: Secret(words=(1, 2, 3, 4, 5)))
    monkeypatch.setattr(spark_rows, "TASKS_PER_CORE", 1)  # fewer tasks are quicker here


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Persons of 1 to 8 rows in random order, some beyond the bound, some equal; and rows without a key."""
    rng = np.random.default_rng(7)
    of = np.repeat(np.arange(300), rng.integers(1, 9, 300))
    keys = [None if k < 20 else f" {k}" for k in of]
    n = len(of)
    rows = {"id": keys, "year": rng.integers(2000, 2006, n), "sex": rng.choice(["F", "M"], n)}
    return pa.table({**rows, "ward": rng.integers(0, 4, n)}).take(rng.permutation(n))


@pytest.fixture(scope="module")
def folder(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The rows of a person in several files of both kinds."""
    place: Path = tmp_path_factory.mktemp("persons")
    third = len(table) // 3
    pq.write_table(table[:third], place / "a.parquet", row_group_size=100)
    pq.write_table(table[third : 2 * third], place / "b.parquet")
    pyarrow.csv.write_csv(table[2 * third :], place / "c.csv")
    return str(place)


def schema(order: str | None = "year", weights: str = "votes", rows: int = 3, **more: Any) -> sklar.Schema:
    person = sklar.Person(key="id", rows=rows, order=order, weights=weights, **{"linked": False, **more})
    return sklar.Schema({"id": sklar.Id(), **COLUMNS}, person=person)


def told(rows: Any) -> list[Any]:
    """All pairs of columns that stand beside each other, table by table, and the number of persons."""
    tables = stored_tables(rows.schema)
    counts = [exact_counts(rows, [*((pair, None) for pair in pairwise(names)), ((), None)]) for names in tables]
    return [*([found.tolist() for found in table] for table in counts), rows.exact_persons]


CASES = {
    "in order": schema(),
    "no order": schema(None),
    "whole rows": schema(None, "rows"),
    "linked": schema(linked=True, static=["sex"]),
}


@pytest.mark.parametrize("case", CASES)
def test_the_same_integers_as_in_memory(spark: Any, table: pa.Table, folder: str, case: str) -> None:
    rows = open_rows(folder, CASES[case], spark="local[2,4]")
    assert told(rows) == told(open_rows(table, CASES[case]))
    rows.close()


def test_a_frame_has_the_same_pairs(spark: Any, table: pa.Table) -> None:
    frame = spark.createDataFrame(table.to_pylist(), "id string, year long, sex string, ward long").repartition(3)
    names = ["year", "sex", "ward"]
    lookups = [np.arange(COLUMNS[name].size, dtype=np.int32) for name in names]
    there, here = open_rows(frame, schema()), open_rows(table, schema())
    assert np.array_equal(exact_pair_counts(there, names, lookups), exact_pair_counts(here, names, lookups))
    there.close()


def test_codes_that_are_worked_out_again_are_of_the_same_rows(spark: Any, table: pa.Table, folder: str) -> None:
    """As on executors that have no room for codes."""
    facts = schema(None)
    rows = open_rows(folder, facts, spark="local[2,4]")
    rows.keep_codes()
    rows._codes.unpersist()
    assert told(rows) == told(open_rows(table, facts))
    rows.close()


def test_a_fit_of_persons_from_a_frame(spark: Any, table: pa.Table) -> None:
    frame = spark.createDataFrame(table.to_pylist(), "id string, year long, sex string, ward long")
    model = sklar.fit(frame, schema(), method="independent", epsilon=1000.0)
    # Noise at this budget has a standard deviation below 1 a table, so it is never off by 100.
    assert abs(model.rows_estimate - open_rows(table, schema()).exact_rows) < 100
    assert "any one person, with any number of rows" in str(model.claim)


def test_what_has_no_place_on_spark_says_so(spark: Any, table: pa.Table) -> None:
    with pytest.raises(SourceError, match="'id'"):
        open_rows(spark.range(3).selectExpr("id as year", "id as sex", "id as ward"), schema())
    keys = sklar.Tables(
        {"p": sklar.Schema({"id": sklar.Id(), "sex": COLUMNS["sex"]}),
         "s": sklar.Schema({"of": sklar.Id(), "ward": COLUMNS["ward"]})},
        keys={"s": ("of", "p")}, person="p",
    )  # fmt: skip
    with pytest.raises(SourceError, match="two tables"):
        open_rows("some/folder", keys.schema, spark="local[2,4]")


def test_no_key_in_what_a_failing_cluster_says(spark: Any) -> None:
    frame = spark.createDataFrame([(MARK, 2000, "F", 1)], "id string, year long, sex string, ward long")

    def fail(batches: Any) -> Any:
        raise RuntimeError(MARK)
        yield

    with pytest.raises(SourceError) as caught:
        open_rows(frame.mapInArrow(fail, frame.schema), schema()).keep_codes()
    assert MARK not in str(caught.value) and caught.value.__context__ is None
