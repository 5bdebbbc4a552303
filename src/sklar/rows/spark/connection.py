"""A Spark session, and stores that only it can reach; clear words where Java or the right Spark lacks."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

from sklar.errors import MissingExtraError, SourceError
from sklar.rows.spark.faults import on_cluster

OLDEST = (3, 5)
GUESS_SETTING = "spark.sql.sources.partitionColumnTypeInference.enabled"


def require_pyspark() -> Any:
    """The library, or how to get it."""
    try:
        import pyspark
    except ImportError:
        raise MissingExtraError("rows on Spark need PySpark: pip install 'sklar[spark]'") from None
    _require_version(pyspark.__version__, "PySpark")
    return pyspark


def connect(master: str) -> tuple[Any, bool]:
    """(a session on this master, whether it was started here)."""
    require_pyspark()
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is not None:
        return session, False
    builder: Any = SparkSession.builder
    builder = builder.master(master).appName("sklar")
    for key, value in _settings(master).items():
        builder = builder.config(key, value)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session = builder.getOrCreate()
    except Exception as error:
        fault = _start_fault(str(error), master)
    else:
        session.sparkContext.setLogLevel("OFF")  # its messages may quote cells; failures are told in our own words
        require_version(session)
        return session, True
    raise SourceError(fault)


def require_version(session: Any) -> None:
    """Refuse a cluster that is too old for what is sent to it."""
    _require_version(str(session.version), "the Spark cluster")


def read_store(session: Any, path: str) -> Any:
    """Parquet or CSV in a store that only Spark knows how to reach, as a data frame; every cell of a CSV is text."""
    if not path.lower().rstrip("/").endswith((".csv", ".csv.gz", ".tsv")):
        return on_cluster(lambda: _with_text_folders(session, lambda: session.read.parquet(path)))
    mark = "\t" if path.lower().endswith(".tsv") else ","
    settings = {"header": True, "sep": mark, "multiLine": True, "escape": '"', "mode": "FAILFAST"}
    settings["enforceSchema"] = False  # else files with other orders of columns would be read by position
    return on_cluster(lambda: session.read.options(**settings).csv(path))


def _with_text_folders(session: Any, read: Callable[[], Any]) -> Any:
    """Values in the names of folders (month=01) as text: else Spark would guess one type from all of them."""
    before = session.conf.get(GUESS_SETTING)
    session.conf.set(GUESS_SETTING, "false")
    try:
        return read()
    finally:
        session.conf.set(GUESS_SETTING, before)


def _settings(master: str) -> dict[str, str]:
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    if master.startswith("local"):
        # The tasks of a local master run on this machine: with this Python, and with the package as it is found here.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
        known = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        settings["spark.executorEnv.PYTHONPATH"] = os.pathsep.join(known)
    return settings


def _start_fault(text: str, master: str) -> str:
    if "JAVA_GATEWAY_EXITED" in text or "Java gateway process exited" in text or "JAVA_HOME" in text:
        return "Spark needs Java, and none that works was found; install Java 17 and set JAVA_HOME to it"
    return f"no Spark session could be started on '{master}'; check the address of the master and that it runs"


def _require_version(version: str, what: str) -> None:
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers < OLDEST:
        raise SourceError(f"{what} has version {version}; rows on Spark need {OLDEST[0]}.{OLDEST[1]} or later")
