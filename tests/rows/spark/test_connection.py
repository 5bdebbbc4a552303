"""Clear words where Spark, Java or the right version is missing; none of these tests starts Spark."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

from sklar.errors import MissingExtraError, SourceError
from sklar.rows import open_rows
from sklar.rows.spark import connection
from sklar.rows.spark.connection import guarded_task, on_cluster
from sklar.schema import Integer, Schema

pytestmark = pytest.mark.slow

MARK = "CANARY_7f3a"
SCHEMA = Schema({"a": Integer(0, 9)})


def test_no_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingExtraError, match=r"\.\[spark\]"):
        open_rows("people.parquet", SCHEMA, spark="local[2]")


@pytest.mark.parametrize("version", ["2.4.8", "3.4.1", "3.0.0-SNAPSHOT"])
def test_an_old_spark_is_refused(version: str) -> None:
    with pytest.raises(SourceError, match=r"3\.5 or later"):
        connection.require_version(version)


@pytest.mark.parametrize("version", ["3.5.0", "4.0.1", "4.3.0", "10.0.0"])
def test_later_ones_are_fine(version: str) -> None:
    connection.require_version(version)


def test_no_java_and_no_master() -> None:
    assert "Java 17" in connection._describe_start_fault(
        "[JAVA_GATEWAY_EXITED] Java gateway process exited", "local[2]"
    )
    assert "spark://x:1" in connection._describe_start_fault("All masters are unresponsive", "spark://x:1")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (f"ModuleNotFoundError: No module named 'sklar' {MARK}", "no module 'sklar'"),
        (f"PYTHON_VERSION_MISMATCH {MARK}", "another version of Python"),
        (f"bigger than spark.driver.maxResultSize {MARK}", "maxResultSize"),
        (f"Job aborted: ExecutorLostFailure {MARK}", "an executor died"),
        (f"Malformed record: [1,sklar.errors.SourceError: {MARK}]", "an executor died"),
        ("Traceback\nsklar.errors.SourceError: the file is ragged\n", "^the file is ragged$"),
    ],
)
def test_what_a_cluster_says_is_not_passed_on(said: str, words: str) -> None:
    def fail() -> Any:
        raise RuntimeError(said)

    with pytest.raises(SourceError, match=words) as caught:
        on_cluster(fail)
    assert MARK not in str(caught.value) and caught.value.__context__ is None


def test_a_task_tells_spark_nothing_about_cells() -> None:
    def work(batches: Any) -> Any:
        yield from batches
        raise ValueError(MARK)

    task, seen = guarded_task(work)(iter([1, 2])), []
    with pytest.raises(SourceError) as caught:
        seen.extend(task)
    assert MARK not in str(caught.value) and caught.value.__context__ is None


def test_what_tasks_of_this_machine_hand_on_is_encrypted_and_for_nobody_else() -> None:
    settings = connection._make_settings("local[2]")
    assert settings["spark.io.encryption.enabled"] == "true"
    assert os.stat(settings["spark.local.dir"]).st_mode & 0o777 == 0o700
    assert "spark.local.dir" not in connection._make_settings("spark://x:1")
