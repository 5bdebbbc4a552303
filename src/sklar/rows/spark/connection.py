"""A Spark session, stores that only it can reach, and messages for a missing Java or Spark."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import tempfile
import threading
import uuid
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from sklar.errors import MissingExtraError, SklarError, SourceError
from sklar.rows.sources.source import Progress

MIN_SPARK_VERSION = (3, 5)
GUESS_SETTING = "spark.sql.sources.partitionColumnTypeInference.enabled"


def require_pyspark() -> Any:
    """Return the library, or how to get it."""
    try:
        import pyspark
    except ImportError:
        raise MissingExtraError("rows on Spark need PySpark: pip install '.[spark]' in the folder of Sklar") from None
    require_version(pyspark.__version__, "PySpark")
    return pyspark


def connect(master: str) -> tuple[Any, bool]:
    """Return (a session on this master, whether it was started here)."""
    require_pyspark()
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is not None:
        return session, False
    builder: Any = SparkSession.builder
    builder = builder.master(master).appName("sklar")
    for key, value in _make_settings(master).items():
        builder = builder.config(key, value)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session = builder.getOrCreate()
    except Exception as error:
        fault = _describe_start_fault(str(error), master)
    else:
        session.sparkContext.setLogLevel("OFF")  # its messages may quote cells; failures are explained in our own words
        require_version(session.version)
        return session, True
    raise SourceError(fault)


def require_version(version: str, what: str = "the Spark cluster") -> None:
    """Refuse a version that is too old."""
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers < MIN_SPARK_VERSION:
        raise SourceError(
            f"{what} has version {version}; rows on Spark need {MIN_SPARK_VERSION[0]}.{MIN_SPARK_VERSION[1]} or later"
        )


def read_store(session: Any, path: str) -> Any:
    """Read Parquet or CSV in a store that only Spark can reach, as a data frame; every cell of a CSV is text."""
    if not path.lower().rstrip("/").endswith((".csv", ".csv.gz", ".tsv")):
        return on_cluster(lambda: _with_text_folders(session, lambda: session.read.parquet(path)))
    mark = "\t" if path.lower().endswith(".tsv") else ","
    settings = {"header": True, "sep": mark, "multiLine": True, "escape": '"', "mode": "FAILFAST"}
    settings["enforceSchema"] = False  # else files with other orders of columns would be read by position
    return on_cluster(lambda: session.read.options(**settings).csv(path))


def _with_text_folders(session: Any, read: Callable[[], Any]) -> Any:
    """Return values in the names of folders (month=01) as text: else Spark would guess one type from all of them."""
    before = session.conf.get(GUESS_SETTING)
    session.conf.set(GUESS_SETTING, "false")
    try:
        return read()
    finally:
        session.conf.set(GUESS_SETTING, before)


def _make_settings(master: str) -> dict[str, str]:
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    if master.startswith("local"):
        # The tasks of a local master run on this machine: with this Python, and with the package as it is found here.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
        known = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        settings["spark.executorEnv.PYTHONPATH"] = os.pathsep.join(known)
        # What tasks hand to one another lies on this disk, and stays there if the process is killed.
        settings |= {"spark.local.dir": _own_folder(), "spark.io.encryption.enabled": "true"}
    return settings


@cache
def _own_folder() -> str:
    """Return a private folder that is deleted when the process ends."""
    folder = tempfile.mkdtemp(prefix="sklar-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _describe_start_fault(text: str, master: str) -> str:
    if "JAVA_GATEWAY_EXITED" in text or "Java gateway process exited" in text or "JAVA_HOME" in text:
        return "Spark needs Java, and none that works was found; install Java 17 and set JAVA_HOME to it"
    return f"no Spark session could be started on '{master}'; check the address of the master and that it runs"


T = TypeVar("T")
OWN_FAULT = re.compile(r"^[ \t]*sklar\.errors\.\w+: ([^\n]+)", re.MULTILINE)
"""The last line of a traceback; inside a line the same words could be those of a cell that Spark quotes."""
MISSING_MODULE = re.compile(r"No module named '([\w.]+)'")


def on_cluster(call: Callable[[], T]) -> T:
    """Run a job, and raise SourceError for any failure of Spark, without a trace of what it said.

    As in `shielded`, the error is raised after the handler has ended.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Spark says about other libraries is not for our users
            return call()
    except (SklarError, MemoryError):
        raise
    except Exception as error:
        fault = _describe_fault(str(error))
    raise SourceError(fault)


def _describe_fault(text: str) -> str:
    own = OWN_FAULT.search(text)
    if own is not None:  # our own messages quote no cell
        return own.group(1).strip()
    missing = MISSING_MODULE.search(text)
    if missing is not None:
        return (
            f"the Python of the Spark executors has no module '{missing.group(1).split('.')[0]}'; install sklar there, "
            "and point spark.pyspark.python or PYSPARK_PYTHON to it"
        )
    if "PYTHON_VERSION_MISMATCH" in text or "different version" in text:
        return "the Spark executors run another version of Python than this process; point PYSPARK_PYTHON to the same"
    if "maxResultSize" in text:
        return "the tables of counts are larger than spark.driver.maxResultSize; raise it, or use coarser grids (bins)"
    return (
        "a Spark job failed: an executor died, or a task failed as often as Spark allows. Nothing was released by it; "
        "see the log of the cluster, then run the same fit again: it resumes"
    )


def guarded_task(work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a task whose failures reach Spark's log without the text of any library, which could quote a cell."""

    def run(batches: Any) -> Any:
        try:
            yield from work(batches)
        except (SklarError, ImportError, MemoryError, GeneratorExit):
            raise
        except Exception:
            failed = True
        else:
            failed = False
        if failed:
            raise SourceError("a part of the rows could not be processed")

    return run


POLL_SECONDS = 0.3
"""Seconds between two polls of the progress of a job."""
MIN_PROGRESS = 0.001
"""Progress of a job that has just begun: 0.0 would mean that a pass over the rows begins."""


def run_watched(session: Any, call: Callable[[], T], progress: Progress | None, begins: bool) -> T:
    """Run a job and report its progress, if requested; a job that reads the rows begins a pass."""
    if progress is None:
        return call()
    progress(0.0 if begins else MIN_PROGRESS)
    context, group, done = session.sparkContext, f"sklar-{uuid.uuid4()}", threading.Event()
    context.setJobGroup(group, "sklar: counting")
    watcher = threading.Thread(target=_watch, args=(context, group, progress, done), daemon=True)
    watcher.start()
    try:
        found = call()
    finally:
        done.set()
        watcher.join()
        context.setLocalProperty("spark.jobGroup.id", None)
    progress(1.0)  # the final value, in any case
    return found


def _watch(context: Any, group: str, progress: Progress, done: threading.Event) -> None:
    tracker = context.statusTracker()
    while not done.wait(POLL_SECONDS):
        try:
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
            stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        except Exception:  # only a picture of progress is lost
            return
        tasks = [(stage.numCompletedTasks, stage.numTasks) for stage in stages if stage]
        total = sum(count for _, count in tasks)
        if total:
            progress(max(min(sum(finished for finished, _ in tasks) / total, 0.99), MIN_PROGRESS))
