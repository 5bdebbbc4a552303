"""Every source gives the same codes for the same table, in any number of passes."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from sklar.errors import SourceError
from sklar.rows import open_rows
from sklar.rows.sources import FILES, OBJECTS
from sklar.schema import Category, Integer, Schema
from tests.rows.conftest import assert_silent, codes_of
from tests.tiers import slow_unless


@pytest.fixture(scope="module")
def expected(frame: pd.DataFrame, schema: Schema) -> dict[str, list[int]]:
    return codes_of(open_rows(frame, schema))


def test_codes_of_the_frame_are_the_stated_ones(frame: pd.DataFrame, schema: Schema, expected: Any) -> None:
    assert expected["age"] == [min(max(a, 16), 100) - 16 for a in frame["age"]]
    assert expected["sex"] == [{"F": 0, "M": 1, "X": 2}.get(s, 3) for s in frame["sex"].astype(object)]
    assert expected["smoker"] == frame["smoker"].astype(int).tolist()
    assert expected["income"] == schema["income"].grid.code(frame["income"].to_numpy()).tolist()  # type: ignore[attr-defined]


class OnlyStream:
    """An object of an unknown class that offers nothing but its Arrow stream."""

    def __init__(self, table: pa.Table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


FRAMES = {
    "table": lambda t: t,
    "batch": lambda t: t.combine_chunks().to_batches()[0],
    "chunked": lambda t: pa.concat_tables([t.slice(0, 7), t.slice(7, 0), t.slice(7)]),
    "reader": lambda t: t.to_reader(max_chunksize=500),
    "dataset": lambda t: ds.dataset(t),
    "stream": OnlyStream,
    "polars": lambda t: pl.from_arrow(t),
    "lazy": lambda t: pl.from_arrow(t).lazy(),  # type: ignore[union-attr]
    "categorical": lambda t: pl.from_arrow(t).with_columns(pl.col("sex").cast(pl.Categorical)),  # type: ignore[union-attr]
    "pandas": lambda t: t.to_pandas(),
    "pandas arrow": lambda t: t.to_pandas(types_mapper=pd.ArrowDtype),
    "objects": lambda t: t.to_pandas().astype(object),
    "pandas category": lambda t: t.to_pandas().astype({"sex": "category"}),
    "relation": lambda t: duckdb.from_arrow(t),
    "mapping": lambda t: {name: t[name].to_pylist() for name in t.column_names},
    "arrays": lambda t: {name: t[name].to_numpy() for name in t.column_names},
}


@pytest.mark.parametrize("form", FRAMES)
def test_frames_and_streams(form: str, arrow: pa.Table, schema: Schema, expected: Any) -> None:
    rows = open_rows(FRAMES[form](arrow), schema)
    assert codes_of(rows) == expected
    assert codes_of(rows) == expected and rows.exact_rows == 3001 and rows.passes == 1


def _written(folder: Path, form: str, table: pa.Table) -> Path:
    path = folder / form
    if ".csv" in form or ".tsv" in form:
        text = table.to_pandas().to_csv(index=False, sep="\t" if ".tsv" in form else ",").encode()
        path.write_bytes(gzip.compress(text) if form.endswith(".gz") else text)
    elif form.endswith(".parquet"):
        pq.write_table(table, path)
    elif form == "t.arrows":
        with pa.ipc.new_stream(path, table.schema) as sink:
            sink.write_table(table, max_chunksize=1000)
    else:
        feather.write_feather(table, path, chunksize=1000)
    return path


FILE_FORMS = ("t.csv", "t.tsv", "t.csv.gz", "t.parquet", "t.feather", "t.arrow", "t.arrows")


@pytest.mark.parametrize("form", FILE_FORMS)
@pytest.mark.parametrize("cache", [0, 10**9])
def test_files(form: str, cache: int, arrow: pa.Table, schema: Schema, expected: Any, tmp_path: Path) -> None:
    rows = open_rows(_written(tmp_path, form, arrow), schema, cache_bytes=cache)
    assert codes_of(rows) == expected
    assert codes_of(rows) == expected
    assert rows.exact_rows == 3001
    assert rows.passes == (1 if cache else rows.passes) and (cache or rows.passes >= 2)


def test_folder_of_mixed_files(arrow: pa.Table, schema: Schema, expected: Any, tmp_path: Path) -> None:
    (tmp_path / "year=1").mkdir()
    (tmp_path / "_SUCCESS").write_text("")
    _written(tmp_path, "b.csv", arrow.slice(1000))
    _written(tmp_path, "a.parquet", arrow.slice(0, 1000))
    _written(tmp_path / "year=1", "c.feather", arrow.slice(0, 0))
    seen: list[float] = []
    assert codes_of(open_rows(tmp_path, schema, progress=seen.append)) == expected
    assert seen[-1] == 1


@pytest.mark.parametrize("where", ["file", "database", "frame", "query"])
def test_sql(where: str, arrow: pa.Table, schema: Schema, expected: Any, tmp_path: Path) -> None:
    path = _written(tmp_path, "t.parquet", arrow)
    sql = "select * from data"
    data: Any = {"file": path, "frame": arrow, "query": None}.get(where)
    if where == "database":
        data = tmp_path / "people.duckdb"
        with duckdb.connect(data) as connection:
            connection.execute(f"create table data as select * from '{path}'")
    if where == "query":
        sql = f"select * from '{path}'"
    for cache in (0, None):
        assert codes_of(open_rows(data, schema, sql=sql, cache_bytes=cache)) == expected


@pytest.mark.parametrize(
    "sql", ["selec 1", "create table x as select 1", "select 1; select 2", "select age from nowhere", ""]
)
def test_bad_sql(sql: str, schema: Schema) -> None:
    with pytest.raises(SourceError):
        open_rows(None, schema, sql=sql)


def test_sql_errors_quote_no_cell(schema: Schema, write: Any) -> None:
    path = write(
        "age,income,sex,smoker,seen\n" + "1,2,F,true,2020-01-01\n" * 50_000 + "1,CANARY_7f3a,F,true,2020-01-01\n"
    )
    sql = "select * replace (cast(income as int) as income) from data"
    with pytest.raises(SourceError) as caught:
        codes_of(open_rows(path, schema, sql=sql))
    assert_silent(caught.value)


ROW_WISE = [
    "from data",
    "select * exclude (note) replace (lower(sex) as sex) from data where age > 3 and sex in ('F', 'M')",
    "select try_cast(age as int) age, coalesce(income, 0) income, nullif(sex, 'X') sex, not smoker as smoker, "
    "if(age > 3, seen, null) as seen from data as d where d.age between 1 and 90 -- and so on",
]
MORE_THAN_ROWS = [
    "select age, income, sex, smoker, max(seen) over () as seen from data",
    "select max(age) age, income, sex, smoker, seen from data group by all",
    "select count(*) age, 1 income, 'F' sex, true smoker, current_date seen from data",
    "select distinct age, income, sex, smoker, seen from data",
    "select distinct on (sex) * from data",
    "select * from data limit 5",
    "select * from data offset 5",
    "select * from data order by age",
    "select * from data using sample 10",
    "select * from data tablesample 10%",
    "select * from data union all select * from data",
    "select * from data except select * from data where age > 5",
    "select d.* from data d, data e",
    "select d.* from data d join data e using (key)",
    "select d.* from data d positional join data e",
    "select * from (select * from data)",
    "with d as (select * from data) select * from d",
    "select * from data where age = (select max(age) from data)",
    "select * from data where exists (from data)",
    "select * replace (unnest([age, age]) as age) from data",
    "select * replace (random() as income) from data",
    "select * replace (rowid as age) from data",
    "select * from data qualify row_number() over () < 5",
    "select 30 age, 1 income, 'F' sex, true smoker, current_date seen",
    "select * from (values (1)) v(age)",
    "select * from range(5) t(age)",
    "summarize data",
]


@pytest.mark.parametrize("sql", ROW_WISE)
def test_a_query_may_work_on_each_row_by_itself(sql: str, arrow: pa.Table, schema: Schema) -> None:
    with duckdb.connect() as connection:
        connection.register("data", arrow)
        expected = codes_of(open_rows(connection.sql(sql).to_arrow_table(), schema))
    assert codes_of(open_rows(arrow, schema, sql=sql)) == expected


@pytest.mark.parametrize("sql", MORE_THAN_ROWS)
def test_what_more_a_query_does_must_be_vouched_for(sql: str, arrow: pa.Table, schema: Schema) -> None:
    with pytest.raises(SourceError, match="rows_are_rows=True"):
        open_rows(arrow, schema, sql=sql)


@pytest.mark.parametrize("sql", slow_unless(MORE_THAN_ROWS[:3].__contains__, MORE_THAN_ROWS))
def test_what_is_vouched_for_is_not_refused_again(sql: str, arrow: pa.Table, schema: Schema) -> None:
    try:
        open_rows(arrow, schema, sql=sql, rows_are_rows=True)
    except SourceError as other:
        assert "rows_are_rows" not in str(other)


def test_vouched_queries_give_what_duckdb_gives(arrow: pa.Table, schema: Schema, tmp_path: Path) -> None:
    sql = "select d.* from data d join (select distinct sex from data where sex = 'F') e using (sex)"
    women = pa.table(arrow.to_pandas().query("sex == 'F'"))
    expected = sorted(codes_of(open_rows(women, schema))["age"])
    for data in (arrow, _written(tmp_path, "t.parquet", arrow), _written(tmp_path, "t.csv", arrow)):
        assert sorted(codes_of(open_rows(data, schema, sql=sql, rows_are_rows=True))["age"]) == expected


GUESSES = ("'{}'", "read_csv('{}')", "read_csv_auto('{}')", "read_csv('{}', all_varchar=true)", "read_json('{}')",
           "sniff_csv('{}')", "query('from data')", "read_text('{}')", "'{}.gz'", "duckdb_columns()",
           "pg_tables")  # fmt: skip


@pytest.mark.parametrize("vouched", slow_unless(True.__eq__, [False, True]))
@pytest.mark.parametrize("reads", GUESSES)
def test_a_query_reads_no_file_whose_types_are_guessed(
    reads: str, vouched: bool, arrow: pa.Table, schema: Schema, tmp_path: Path
) -> None:
    path = _written(tmp_path, "t.csv", arrow)
    for sql in (f"select * from {reads.format(path)}", f"from data where age in (select 1 from {reads.format(path)})"):
        with pytest.raises(SourceError, match="FROM data"):
            open_rows(arrow, schema, sql=sql, rows_are_rows=vouched)


def test_views_macros_and_relations_that_guess(arrow: pa.Table, schema: Schema, tmp_path: Path) -> None:
    csv, parquet = _written(tmp_path, "t.csv", arrow), _written(tmp_path, "t.parquet", arrow)
    with duckdb.connect(tmp_path / "people.duckdb") as connection:
        connection.execute(f"create view guessed as from '{csv}'")
        connection.execute(f"create table people as from '{parquet}'")
        connection.execute(f"create macro lower(x) as (select max(age) from '{csv}')")
    for sql, fault in (("from guessed", "FROM data"), ("select * replace (lower(sex) as sex) from people", "macro")):
        with pytest.raises(SourceError, match=fault):
            open_rows(tmp_path / "people.duckdb", schema, sql=sql, rows_are_rows=True)
    assert open_rows(tmp_path / "people.duckdb", schema, sql="from people").exact_rows == 3001
    for relation in (duckdb.read_csv(str(csv)), duckdb.sql(f"from '{csv}'"), duckdb.from_df(arrow.to_pandas())):
        with pytest.raises(SourceError):
            open_rows(relation, schema)


@pytest.mark.slow
def test_a_pattern_of_files_must_be_vouched_for(arrow: pa.Table, schema: Schema, tmp_path: Path) -> None:
    path = _written(tmp_path, "t.parquet", arrow)
    for name in (f"'{tmp_path}/*.parquet'", f"read_parquet(['{path}'])", f"read_parquet('{path}', filename=true)"):
        with pytest.raises(SourceError, match="rows_are_rows"):
            open_rows(None, schema, sql=f"from {name}")
        assert open_rows(None, schema, sql=f"from {name}", rows_are_rows=True).exact_rows == 3001
    assert open_rows(None, schema, sql=f"from read_parquet('{path}')").exact_rows == 3001


@pytest.mark.slow
def test_a_text_file_under_a_query_is_read_as_any_text_file(schema: Schema, write: Any) -> None:
    head, row = "age;income;sex;smoker;seen\n", "30;1,5;F;true;2020-01-01\n"
    for data in (write(head + row * 3, encoding="utf-16"), write(head + row * 2 + '31;"2;0";;;\n'), write(head)):
        for vouched in (False, True):
            rows = open_rows(data, schema, sql="select * from data", rows_are_rows=vouched)
            assert codes_of(rows) == codes_of(open_rows(data, schema)) and codes_of(rows) == codes_of(rows)
    with pytest.raises(SourceError, match="ragged"):
        codes_of(open_rows(write(head + "1;2\n"), schema, sql="from data"))
    with pytest.raises(SourceError, match="cannot be queried"):
        open_rows(write("{}", "t.json"), schema, sql="from data")


def test_mixed_objects_are_read_each_by_its_type() -> None:
    schema = Schema({"x": Integer(0, 9, nullable=True), "c": Category(("1", "True", "b"), nullable=True)})
    values = [1, "2", 3.0, None, b"4", "CANARY_7f3a", np.nan, pd.NA, (1, 2), 10**30]
    labels = [1, True, "b", b"b", None, np.nan, 1.5, "", pd.NaT, {}]
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object), "c": pd.Series(labels, dtype=object)})
    found = codes_of(open_rows(frame, schema))
    assert found == {"x": [1, 2, 3, 10, 4, 10, 10, 10, 10, 9], "c": [0, 1, 2, 2, 4, 4, 3, 4, 4, 4]}
    mapping = {"x": values[:7], "c": labels[:7]}
    assert codes_of(open_rows(mapping, schema))["x"] == found["x"][:7]


def test_object_with_a_hostile_text() -> None:
    class Hostile:
        def __str__(self) -> str:
            raise RuntimeError("CANARY_7f3a")

        def __ne__(self, other: object) -> bool:
            return False

    frame = pd.DataFrame({"x": [Hostile(), 1, "2"]})
    assert codes_of(open_rows(frame, Schema({"x": Integer(0, 5, nullable=True)})))["x"] == [6, 1, 2]


def test_integer_column_names_match_by_their_text() -> None:
    assert codes_of(open_rows(pd.DataFrame({0: [1, 2]}), Schema({"0": Integer(0, 5)})))["0"] == [1, 2]


def test_a_stream_is_read_once_and_refused_when_its_codes_do_not_fit(arrow: pa.Table, schema: Schema) -> None:
    with pytest.raises(SourceError, match="only once"):
        codes_of(open_rows(arrow.to_reader(), schema, cache_bytes=10))
    rows = open_rows(arrow.to_reader(), schema, cache_bytes=10)
    for _ in range(2):
        with pytest.raises(SourceError):
            codes_of(rows)


@pytest.mark.parametrize("form", ["t.csv", "t.parquet", "t.feather"])
def test_a_file_that_changes_between_passes(form: str, arrow: pa.Table, schema: Schema, tmp_path: Path) -> None:
    path = _written(tmp_path, form, arrow)
    rows = open_rows(path, schema, cache_bytes=0)
    codes_of(rows)
    _written(tmp_path, form, arrow.slice(1))
    with pytest.raises(SourceError, match="changed"):
        codes_of(rows)


def test_id_and_ignore_columns_are_never_asked_for(arrow: pa.Table, schema: Schema) -> None:
    asked: list[str] = []

    rows = open_rows(arrow, schema)
    scan = rows._source.scan
    rows._source.scan = lambda columns: (asked.extend(columns), scan(columns))[1]  # type: ignore[method-assign]
    codes_of(rows)
    assert asked == list(schema.modelled)


@pytest.mark.parametrize(
    "data", [42, "no such file.csv", "no such file.parquet", [1, 2], None, lambda: 1, {"a": 1}, b"x"]
)
def test_what_is_no_table(data: Any, schema: Schema) -> None:
    with pytest.raises(SourceError):
        open_rows(data, schema)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow"])
@pytest.mark.parametrize("content", [b"", b"CANARY_7f3a" * 100, b"PAR1CANARY_7f3aPAR1", b"ARROW1CANARY_7f3a"])
def test_damaged_binary_files(name: str, content: bytes, schema: Schema, write: Any) -> None:
    with pytest.raises(SourceError) as caught:
        codes_of(open_rows(write(content, name), schema))
    assert_silent(caught.value)


def test_truncated_parquet(arrow: pa.Table, schema: Schema, tmp_path: Path) -> None:
    path = _written(tmp_path, "t.parquet", arrow)
    content = bytearray(path.read_bytes())
    footer = int.from_bytes(content[-8:-4], "little") + 8
    content[4:-footer] = b"\x99" * (len(content) - footer - 4)
    path.write_bytes(content)
    with pytest.raises(SourceError):
        codes_of(open_rows(path, schema))


def test_missing_and_doubled_columns(frame: pd.DataFrame, schema: Schema) -> None:
    with pytest.raises(SourceError, match="'age', 'sex'"):
        open_rows(frame.drop(columns=["age", "sex"]), schema)
    with pytest.raises(SourceError, match="'age' more than once"):
        open_rows(pd.concat([frame, frame[["age"]]], axis=1), schema)
    with pytest.raises(SourceError, match="none of the columns"):
        open_rows(pd.DataFrame({"CANARY_7f3a": [1]}), schema)


def test_zero_rows(frame: pd.DataFrame, schema: Schema) -> None:
    for data in (
        frame[:0],
        pa.Table.from_pandas(frame[:0]),
        pl.from_pandas(frame[:0]),
        {"age": []} | {n: [] for n in schema.names},
    ):
        rows = open_rows(data, schema)
        assert rows.exact_rows == 0 and codes_of(rows) == {name: [] for name in schema.modelled}


def test_registries_list_every_source() -> None:
    from sklar.rows.sources import arrow, folder, frames, office, source, sql, text
    from sklar.rows.sources import columnar as ipc
    from sklar.rows.sources import columnar as parquet

    kinds = {k for m in (arrow, folder, frames, ipc, office, parquet, sql, text) for k in vars(m).values()
             if isinstance(k, type) and issubclass(k, source.Source) and k.__module__ == m.__name__}  # fmt: skip
    others = {"ArrowStream", "NarwhalsFrame", "ColumnMapping", "Folder", "SqlQuery"}
    assert {k.__name__ for k in kinds} == {k.__name__ for k in {*FILES.values(), *OBJECTS.values()}} | others


def test_progress_is_told_in_fractions(arrow: pa.Table, schema: Schema, tmp_path: Path) -> None:
    for form in ("t.csv", "t.parquet", "t.feather"):
        seen: list[float] = []
        codes_of(open_rows(_written(tmp_path, form, arrow), schema, progress=seen.append))
        assert seen == sorted(seen) and seen[-1] == 1 and seen.count(0.0) == 1
