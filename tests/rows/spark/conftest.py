"""One local Spark session for all tests; they are skipped where Spark or Java is missing."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest

NO_JAVA = os.environ.get("JAVA_HOME") is None and shutil.which("java") is None


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark")
    if NO_JAVA:
        pytest.skip("no Java on this machine")
    from sklar.rows.spark.connection import connect

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session, started = connect("local[2,4]")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    yield session
    if started:
        session.stop()
