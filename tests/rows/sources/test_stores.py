"""Files in an object store, folders and patterns: the same rows as from files of this machine."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import sklar
from sklar.errors import SourceError, UsageError
from sklar.rows import open_rows
from sklar.rows.sources import open_source
from sklar.schema import Integer, Schema
from tests.rows.conftest import codes_of
from tests.rows.sources.store import store

SCHEMA = Schema({"a": Integer(0, 99)})
TABLE = pa.table({"a": list(range(50))})


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that is also the bucket `people`; the environment says where the store is."""
    folder = tmp_path / "people"
    (folder / "months").mkdir(parents=True)
    pq.write_table(TABLE, folder / "a.parquet")
    feather.write_feather(TABLE, str(folder / "a.feather"))
    text = TABLE.to_pandas().to_csv(index=False)
    (folder / "a.csv").write_text(text)
    (folder / "a.csv.gz").write_bytes(gzip.compress(text.encode()))
    for month in (1, 2):
        pq.write_table(TABLE.slice(month * 10, 10), folder / f"months/{month}.parquet")
    (folder / "months/_hidden.parquet").write_bytes(b"")
    with store(tmp_path) as host:
        for name, value in (
            ("AWS_ENDPOINT_URL", f"http://{host}"), ("AWS_REGION", "us-east-1"), ("AWS_ACCESS_KEY_ID", "key"),
            ("AWS_SECRET_ACCESS_KEY", "secret"), ("AWS_EC2_METADATA_DISABLED", "true"),
        ):  # fmt: skip
            monkeypatch.setenv(name, value)
        # One that was opened before remembers where it was.
        from sklar.rows.sources import stores

        stores._open_store.cache_clear()
        yield folder


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.csv", "a.csv.gz", "months", "months/"])
def test_a_store_gives_the_rows_of_the_files(bucket: Path, name: str) -> None:
    stored = codes_of(open_rows(f"s3://people/{name}", SCHEMA))
    assert stored == codes_of(open_rows(bucket / name, SCHEMA))


def test_the_store_may_be_named_in_the_address(bucket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    host = os.environ["AWS_ENDPOINT_URL"].removeprefix("http://")
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    for name in ("months", "a.csv.gz"):
        found = codes_of(open_rows(f"s3://people/{name}?endpoint_override={host}&scheme=http", SCHEMA))
        assert found == codes_of(open_rows(bucket / name, SCHEMA))


def test_an_object_that_changes_between_passes_is_refused(bucket: Path) -> None:
    rows = open_rows("s3://people/a.csv", SCHEMA, cache_bytes=0)
    assert rows.exact_rows == 50
    (bucket / "a.csv").write_text("a\n1\n")
    with pytest.raises(SourceError, match="changed while it was being read"):
        codes_of(rows)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("s3://people/none.parquet", "no such object"),
        ("s3://key:geheim@people/none.parquet", "no such object"),
        ("s3://people/a.unknown", "no known ending"),
        ("ftp://u:geheim@people/a.csv", "not a known kind of address"),
    ],
)
def test_what_is_not_there_is_said_without_secrets(bucket: Path, address: str, words: str) -> None:
    with pytest.raises(SourceError, match=words) as error:
        open_rows(address, SCHEMA)
    assert "geheim" not in str(error.value)


def test_a_fit_from_a_store_names_its_ledger(bucket: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="name one with ledger="):
        sklar.fit("s3://people/a.parquet", SCHEMA, epsilon=1.0)
    model = sklar.fit(
        "s3://people/a.parquet", SCHEMA, "independent", epsilon=1.0, ledger=tmp_path / "l", new_ledger=True
    )
    assert model.sample(5, seed=1).num_rows == 5


@pytest.mark.parametrize(("pattern", "rows"), [("months/*.parquet", 20), ("**/*.parquet", 70), ("a.cs[v]", 50)])
def test_a_pattern_is_one_table(bucket: Path, pattern: str, rows: int) -> None:
    assert open_rows(bucket / pattern, SCHEMA).exact_rows == rows


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(tmp_path: Path) -> None:
    pd.DataFrame({"a": [1]}).to_csv(tmp_path / "a[1].csv", index=False)
    assert open_rows(tmp_path / "a[1].csv", SCHEMA).exact_rows == 1


def test_patterns_that_match_nothing_or_have_no_ledger(bucket: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="nothing that matches"):
        open_source(bucket / "x*.csv", schema=SCHEMA)
    with pytest.raises(UsageError, match="name one with ledger="):
        sklar.fit(bucket / "months/*.parquet", SCHEMA, epsilon=1.0)
    fitted = sklar.fit(
        bucket / "months/*.parquet", SCHEMA, "independent", epsilon=1.0, ledger=tmp_path / "l", new_ledger=True
    )
    assert fitted.claim.guarantee
